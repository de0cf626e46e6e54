/* SPDX-License-Identifier: BSD-3-Clause */
/* The command: runs random systems and named cases, and judges them (docs/design/oracle.md). */
#include "plan.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "oracle [--named [NAME]] [--cases N] [--seed S] [--case K] [--family F] [--path P]\n"
    "       [--device cuda] [--jobs J] [--seconds T] [--patience T] [--most N] [--except KIND] "
    "[--shrink] "
    "[--print] [--list]\n"
    "Without --named, --cases and --case: all cases with names, and 20000 random ones.\n"
    "  --case K      the random case number K of the seed alone\n"
    "  --most N      lines for a kind of finding and path; 0: all (default 20)\n"
    "  --except KIND findings of this kind are told and counted, and are no failure\n"
    "  --shrink      make the failing case small, and print it as C\n"
    "  --list        names of families, paths and cases\n";

static void list(void) {
    printf("families:");
    for (int k = 0; k < FAMILIES; k++) printf(" %s", family_name(k));
    printf("\npaths:");
    for (int k = 0; k < PATHS; k++) printf(" %s", path_name(k));
    printf("\ncases:\n");
    for (int k = 0; k < cases_count(); k++) printf("  %s\n", case_name(k));
}

static void print_trials(const tally *t) {
    printf("\n%-14s", "trials");
    for (int p = 0; p < PATHS; p++) printf(" %9.9s", path_name(p));
    printf(" %9s\n", "all");
    for (int f = 0; f <= FAMILIES; f++) {
        int64_t sum = 0;
        for (int p = 0; p < PATHS; p++) sum += t->trials[f][p];
        if (!sum) continue;
        printf("%-14s", f < FAMILIES ? family_name(f) : "with names");
        for (int p = 0; p < PATHS; p++) printf(" %9lld", (long long)t->trials[f][p]);
        printf(" %9lld\n", (long long)sum);
    }
}

static int64_t print_rows(const char *title, const int64_t (*row)[PATHS], int rows,
                          const char *(*name)(int)) {
    int64_t all = 0;
    printf("%s\n", title);
    for (int k = 0; k < rows; k++) {
        int64_t sum = 0;
        for (int p = 0; p < PATHS; p++) sum += row[k][p];
        all += sum;
        if (!sum) continue;
        printf("  %-12s", name(k));
        for (int p = 0; p < PATHS; p++) printf(" %9lld", (long long)row[k][p]);
        printf(" %9lld\n", (long long)sum);
    }
    return all;
}

/* What each family found. */
static void print_families(const tally *t) {
    for (int f = 0; f <= FAMILIES; f++) {
        int64_t sum = 0;
        for (int w = 0; w < WRONGS; w++) sum += t->by_family[f][w];
        if (!sum) continue;
        printf("  %-14s", f < FAMILIES ? family_name(f) : "with names");
        for (int w = 0; w < WRONGS; w++)
            if (t->by_family[f][w])
                printf(" %s %lld", wrong_name(w), (long long)t->by_family[f][w]);
        printf("\n");
    }
}

static int64_t sum_of(const int64_t row[PATHS]) {
    int64_t sum = 0;
    for (int p = 0; p < PATHS; p++) sum += row[p];
    return sum;
}

static int64_t print_tally(const tally *t, int except) {
    static const int wrong_ok[] = {WRONG_NOT_FINITE,    WRONG_INACCURATE,  WRONG_UNCONVERGED,
                                   WRONG_INCONSISTENT,  WRONG_CONSISTENCY, WRONG_NORMWISE,
                                   WRONG_COMPONENTWISE, WRONG_RELATIVE,    WRONG_KRYLOV};
    int64_t trials = 0, ok = 0;
    print_trials(t);
    print_rows("counted", t->counted, COUNTS, counted_name);
    const int64_t wrong = print_rows("wrong", t->wrong, WRONGS, wrong_name);
    print_families(t);
    for (int f = 0; f <= FAMILIES; f++) trials += sum_of(t->trials[f]);
    for (size_t k = 0; k < sizeof wrong_ok / sizeof *wrong_ok; k++)
        ok += sum_of(t->wrong[wrong_ok[k]]);
    printf(
        "systems %lld, certified %lld, wrong certificates %lld, wrong ok %lld, false singular %lld,"
        " hangs %lld, crashes %lld\n",
        (long long)trials,
        (long long)(sum_of(t->counted[COUNT_CERTIFIED]) + sum_of(t->counted[COUNT_UNCHECKED])),
        (long long)sum_of(t->wrong[WRONG_INERTIA]), (long long)ok,
        (long long)sum_of(t->wrong[WRONG_SINGULAR]), (long long)sum_of(t->wrong[WRONG_HANG]),
        (long long)sum_of(t->wrong[WRONG_CRASH]));
    printf("%lld trials, %lld wrong verdicts\n", (long long)trials, (long long)wrong);
    return except < 0 ? wrong : wrong - sum_of(t->wrong[except]);
}

static int wrong_find(const char *name) {
    for (int k = 0; k < WRONGS; k++)
        if (!strcmp(wrong_name(k), name)) return k;
    return -1;
}

static int fail(const char *what, const char *word) {
    fprintf(stderr, "oracle: %s '%s'\n%s", what, word, usage);
    return 2;
}

typedef struct wish {
    int shrink, print;
} wish;

/* Read the arguments. Returns 0: go on; else the exit code plus one. */
static int arguments(int argc, char **argv, plan *p, wish *w) {
    int told = 0;
    for (int k = 1; k < argc; k++) {
        const char *key = argv[k];
        const char *value = k + 1 < argc && strncmp(argv[k + 1], "--", 2) ? argv[k + 1] : NULL;
        if (!strcmp(key, "--list")) return list(), 1;
        if (!strcmp(key, "--help")) return printf("%s", usage), 1;
        if (!strcmp(key, "--shrink") || !strcmp(key, "--print")) {
            w->shrink |= key[2] == 's';
            w->print |= key[2] == 'p';
            continue;
        }
        if (!strcmp(key, "--named")) {
            p->named = value ? value : "";
            told = 1;
            k += value != NULL;
            continue;
        }
        if (!value) return 1 + fail("no value, or unknown:", key);
        k++;
        if (!strcmp(key, "--cases"))
            p->cases = strtoll(value, NULL, 10), told |= 2;
        else if (!strcmp(key, "--case"))
            p->first = strtoll(value, NULL, 10), p->cases = 1, told |= 2;
        else if (!strcmp(key, "--seed"))
            p->seed = strtoull(value, NULL, 10);
        else if (!strcmp(key, "--jobs"))
            p->jobs = (int)strtol(value, NULL, 10);
        else if (!strcmp(key, "--seconds"))
            p->seconds = strtod(value, NULL);
        else if (!strcmp(key, "--patience"))
            p->patience = strtod(value, NULL);
        else if (!strcmp(key, "--most"))
            p->most = strtoll(value, NULL, 10);
        else if (!strcmp(key, "--family")) {
            if ((p->family = family_find(value)) < 0) return 1 + fail("no family", value);
        } else if (!strcmp(key, "--device")) {
            p->device = strcmp(value, "cuda") ? MPK_ON_CPU : MPK_ON_CUDA;
        } else if (!strcmp(key, "--except")) {
            if ((p->except = wrong_find(value)) < 0) return 1 + fail("no kind", value);
        } else if (!strcmp(key, "--path")) {
            if ((p->path = path_find(value)) < 0) return 1 + fail("no path", value);
        } else {
            return 1 + fail("unknown:", key);
        }
    }
    if (!told) p->named = "", p->cases = 20000;
    if (p->jobs < 1 || p->jobs > 256) return 1 + fail("jobs must be 1 .. 256, not", "that");
    return 0;
}

int main(int argc, char **argv) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    plan p = {.seed = 1,
              .family = -1,
              .path = -1,
              .device = MPK_ON_CPU,
              .except = -1,
              .jobs = cores > 0 && cores < 256 ? (int)cores : 2,
              .patience = 30,
              .most = 20};
    wish w = {0};
    tally sum;
    const int code = arguments(argc, argv, &p, &w);
    if (code) return code - 1;
    if (w.shrink || w.print) {
        trial t;
        if (plan_count(&p) == 0) return fail("no case for", w.shrink ? "--shrink" : "--print");
        plan_trial(&p, 0, &t);
        if (w.print) trial_print(&t);
        if (w.shrink) trial_shrink(&t, p.patience);
        trial_free(&t);
        return 0;
    }
    if (plan_count(&p) == 0) return fail("no case named", p.named ? p.named : "");
    plan_run(&p, &sum);
    return print_tally(&sum, p.except) != 0;
}
