/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run asked for: kept by event, written as text. */
#define _GNU_SOURCE
#include "report.h"

#include "handles.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1000000 }; /* events that are kept: 100 MB */

static struct {
    pthread_mutex_t mutex;
    unsigned forks; /* ip_forks() where the mutex was made: a child keeps a run of its own */
    double began, written;
    ip_run run;
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const char *path(void) {
    const char *name = getenv("METAPACK_IPOPT_REPORT");
    return name && *name ? name : NULL;
}

bool ip_report_wanted(void) {
    return path() != NULL;
}

double ip_report_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void begin(void) {
    if (all.forks != ip_forks()) {
        pthread_mutex_init(&all.mutex, NULL);
        all.forks = ip_forks();
        all.run.count = 0;
        all.run.lost = 0;
    }
    pthread_mutex_lock(&all.mutex);
}

int ip_report_pattern(int n, int64_t nnz) {
    int number = 0;
    if (!ip_report_wanted()) return 0;
    begin();
    struct ip_shape *more = realloc(all.run.shape, (size_t)(all.run.patterns + 1) * sizeof *more);
    if (more) {
        all.run.shape = more;
        more[all.run.patterns] = (struct ip_shape){n, nnz};
        number = ++all.run.patterns;
    }
    pthread_mutex_unlock(&all.mutex);
    return number;
}

int ip_report_factorization(const ip_event *event) {
    int number = 0;
    begin();
    ip_run *run = &all.run;
    if (run->count == run->capacity && run->capacity < MOST) {
        const int capacity = run->capacity ? 2 * run->capacity : 256;
        ip_event *more = realloc(run->event, (size_t)capacity * sizeof *more);
        if (more) {
            run->event = more;
            run->capacity = capacity;
        }
    }
    if (run->count < run->capacity) {
        if (run->count == 0) all.began = ip_report_clock() - event->time_s - event->analysis_s;
        run->event[run->count] = *event;
        run->event[run->count].at_s = ip_report_clock() - all.began;
        number = ++run->count;
    } else {
        run->lost++;
    }
    pthread_mutex_unlock(&all.mutex);
    return number;
}

void ip_report_solve(int event, int sides, double seconds) {
    if (event < 1) return;
    begin();
    if (event <= all.run.count) {
        ip_event *e = &all.run.event[event - 1];
        e->solves++;
        e->sides += sides;
        e->solve_s += seconds;
    }
    pthread_mutex_unlock(&all.mutex);
}

/* ---- what it says ---------------------------------------------------------------------------- */

bool ip_report_refused(const ip_run *run, int k) {
    return run->event[k].solves == 0 && k + 1 < run->count;
}

void ip_report_sum(const ip_run *run, ip_sums *s) {
    memset(s, 0, sizeof *s);
    for (int k = 0; k < run->count; k++) {
        const ip_event *e = &run->event[k];
        s->analyses += e->analysis_s > 0;
        s->analysis_s += e->analysis_s;
        s->factor_s += e->time_s;
        s->solve_s += e->solve_s;
        s->solves += e->solves;
        s->failed += mpk_failed(e->status);
        s->singular += ip_report_refused(run, k) && e->status == MPK_SINGULAR;
        s->again += ip_report_refused(run, k) && e->status == MPK_OK;
        s->kept += !ip_report_refused(run, k);
        s->shifted += e->shift[0] != 0 || e->shift[1] != 0;
        s->tighter += k > 0 && e->u > run->event[k - 1].u;
        if (e->solves > s->most_solves) s->most_solves = e->solves;
        for (int side = 0; side < 2; side++)
            if (e->shift[side] > s->most_shift) s->most_shift = e->shift[side];
    }
    if (run->count)
        s->total_s = run->event[run->count - 1].at_s + run->event[run->count - 1].solve_s;
}

void ip_report_summary(const ip_run *run, FILE *out, const char *before, const char *after) {
    ip_sums s;
    ip_report_sum(run, &s);
    const double inside = s.analysis_s + s.factor_s + s.solve_s;
    fprintf(out, "%sFactorizations: %d, analyses: %d, solves: %lld, in %.3g s%s\n", before,
            run->count, s.analyses, (long long)s.solves, s.total_s, after);
    fprintf(
        out,
        "%sLinear solver: %.3g s (analysis %.3g, factorization %.3g, solves %.3g); Ipopt and the "
        "problem's functions: %.3g s%s\n",
        before, inside, s.analysis_s, s.factor_s, s.solve_s,
        s.total_s > inside ? s.total_s - inside : 0, after);
    fprintf(
        out,
        "%sNot accepted: %d, %d of them singular, %d with an inertia that Ipopt did not want%s\n",
        before, run->count - s.kept, s.singular, s.again, after);
    if (s.failed) fprintf(out, "%sFailed: %d factorizations%s\n", before, s.failed, after);
    fprintf(out, "%sCorrections of the diagonal alone: %d", before, s.shifted);
    if (s.shifted) fprintf(out, ", the largest by %.2g", s.most_shift);
    fprintf(out, "; a tighter pivot tolerance: %d times%s\n", s.tighter, after);
    fprintf(out,
            "%sSolves of an accepted factor: %.3g in the mean, %d at most (steps, corrections and "
            "Ipopt's refinement)%s\n",
            before, s.kept ? (double)s.solves / s.kept : 0, s.most_solves, after);
    for (int k = 0; k < run->patterns; k++)
        fprintf(out, "%sPattern %d: order %d, %lld entries%s\n", before, k + 1, run->shape[k].n,
                (long long)run->shape[k].nnz, after);
    if (run->lost)
        fprintf(out, "%s%lld later factorizations are not kept%s\n", before, (long long)run->lost,
                after);
}

static void write_text(const ip_run *run, FILE *out) {
    fprintf(out, "METAPACK %s under Ipopt\n\n", mpk_version());
    ip_report_summary(run, out, "", "");
    fprintf(out, "\n%6s %10s %10s %10s %3s %9s %9s %6s %8s %9s %9s %9s %8s %6s %10s\n", "no",
            "at s", "analysis s", "factor s", "pat", "positive", "negative", "zero", "u", "added",
            "taken", "entries L", "delayed", "solves", "solve s");
    for (int k = 0; k < run->count; k++) {
        const ip_event *e = &run->event[k];
        fprintf(
            out,
            "%6d %10.4f %10.2g %10.2g %3d %9d %9d %6d %8.1g %9.1e %9.1e %9lld %8lld %6d %10.2g%s\n",
            k + 1, e->at_s, e->analysis_s, e->time_s, e->pattern, e->positive, e->negative, e->zero,
            e->u, e->shift[0], e->shift[1], (long long)e->nnz, (long long)e->delayed, e->solves,
            e->solve_s,
            mpk_failed(e->status)       ? "  failed"
            : e->status == MPK_SINGULAR ? "  singular"
            : ip_report_refused(run, k) ? "  not accepted"
                                        : "");
    }
}

/* Into a file beside it, then renamed: a reader never sees half of one. */
static void write_report(void) {
    const char *name = path();
    char file[1024], part[1100];
    if (!name) return;
    const char *end = strrchr(name, '.');
    const bool page = end && (!strcmp(end, ".html") || !strcmp(end, ".htm"));
    if (ip_forks() && end && !strchr(end, '/'))
        snprintf(file, sizeof file, "%.*s-%ld%s", (int)(end - name), name, (long)getpid(), end);
    else if (ip_forks())
        snprintf(file, sizeof file, "%s-%ld", name, (long)getpid());
    else
        snprintf(file, sizeof file, "%s", name);
    snprintf(part, sizeof part, "%s.part", file);
    FILE *out = all.run.count ? fopen(part, "w") : NULL;
    if (out) {
        locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = (locale_t)0;
        if (c) before = uselocale(c); /* points in numbers, not commas */
        (page ? ip_report_page : write_text)(&all.run, out);
        if (c) {
            uselocale(before);
            freelocale(c);
        }
        const bool whole = !ferror(out);
        if (fclose(out) || !whole || rename(part, file)) remove(part);
    }
    all.written = ip_report_clock();
}

void ip_report_write(void) {
    begin();
    if (ip_report_clock() - all.written >= 1)
        write_report(); /* a thousand solvers are not a thousand files */
    pthread_mutex_unlock(&all.mutex);
}

__attribute__((destructor)) static void at_the_end(void) {
    begin();
    write_report();
    pthread_mutex_unlock(&all.mutex);
    free(all.run.event);
    free(all.run.shape);
    memset(&all.run, 0, sizeof all.run);
}
