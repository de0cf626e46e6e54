/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "core.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static const char *const ordering_names[] = {"auto",  "amd",     "metis", "scotch", "rcm",
                                             "given", "natural", "nd",    "gmc"};
static const char *const method_names[] = {"auto", "ldlt", "ildlt", "jacobi", "ilu0", "none"};
static const char *const krylov_names[] = {"auto", "none",  "sqmr",   "minres",   "symmlq",
                                           "cg",   "gmres", "fgmres", "bicgstab", "idr"};
static const char *const strategy_names[] = {"auto", "br", "rb", "rbr"};
static const char *const type_names[] = {"ldlt", "llt", "ldu"};
static const char *const pivoting_names[] = {"none", "static", "bk", "rook", "complete"};
static const char *const schedule_names[] = {"pull", "subsets", "atomic", "jacobi"};
static const char *const precision_names[] = {"double", "single"};
static const char *const switch_names[] = {"off", "on", "auto"};

/* One row for each option: its key, how its text is read, where it lies, what it may be. */
enum kind { INTEGER, INT64, REAL, CHOICE };
static const struct option {
    const char *key;
    enum kind kind;
    size_t offset;
    const char *const *names; /* CHOICE: the words */
    int count;
    double least, most; /* numbers: the range */
} table[] = {
#define AT(field) offsetof(mpk_options, field)
    {"method", CHOICE, AT(method), method_names, 6, 0, 0},
    {"ordering", CHOICE, AT(ordering), ordering_names, 9, 0, 0},
    {"matching", CHOICE, AT(matching), switch_names, 3, 0, 0},
    {"scaling", CHOICE, AT(scaling), switch_names, 3, 0, 0},
    {"pivot_threshold", REAL, AT(pivot_threshold), NULL, 0, 0, 0.5},
    {"zero_tolerance", REAL, AT(zero_tolerance), NULL, 0, -1, 1},
    {"static_shift", REAL, AT(static_shift), NULL, 0, 0, 1},
    {"threads", INTEGER, AT(threads), NULL, 0, 0, 1024},
    {"model_threads", INTEGER, AT(model_threads), NULL, 0, 1, 1024},
    {"refine", INTEGER, AT(refine), NULL, 0, 0, 1000},
    {"accuracy", REAL, AT(accuracy), NULL, 0, -1, 1},
    {"deterministic", CHOICE, AT(deterministic), switch_names, 3, 0, 0},
    {"condition", CHOICE, AT(condition), switch_names, 3, 0, 0},
    {"seed", INT64, AT(seed), NULL, 0, -9e18, 9e18},
    {"memory_limit", REAL, AT(memory_limit), NULL, 0, 0, 1e18},
    {"krylov", CHOICE, AT(krylov), krylov_names, 10, 0, 0},
    {"tolerance", REAL, AT(tolerance), NULL, 0, -1, 1},
    {"max_iterations", INTEGER, AT(max_iterations), NULL, 0, 0, 1e9},
    {"restart", INTEGER, AT(restart), NULL, 0, 1, 100000},
    {"shadow", INTEGER, AT(shadow), NULL, 0, 1, 64},
    {"direct", CHOICE, AT(direct), switch_names, 3, 0, 0},
    {"strategy", CHOICE, AT(strategy), strategy_names, 4, 0, 0},
    {"block", INTEGER, AT(block), NULL, 0, 1, 128},
    {"grid", CHOICE, AT(grid), switch_names, 3, 0, 0},
    {"similarity", REAL, AT(similarity), NULL, 0, 0, 1},
    {"level", INTEGER, AT(level), NULL, 0, -1, 1000000},
    {"fill_factor", REAL, AT(fill_factor), NULL, 0, 0, 1e9},
    {"drop_tolerance", REAL, AT(drop_tolerance), NULL, 0, 0, 1},
    {"factor_type", CHOICE, AT(factor_type), type_names, 3, 0, 0},
    {"pivoting", CHOICE, AT(pivoting), pivoting_names, 5, 0, 0},
    {"stages", INTEGER, AT(stages), NULL, 0, 1, 1000},
    {"butterfly", CHOICE, AT(butterfly), switch_names, 3, 0, 0},
    {"schedule", CHOICE, AT(schedule), schedule_names, 4, 0, 0},
    {"sweeps", INTEGER, AT(sweeps), NULL, 0, 1, 10000},
    {"jacobi_epsilon", REAL, AT(jacobi_epsilon), NULL, 0, 0, 1},
    {"jacobi_decay", REAL, AT(jacobi_decay), NULL, 0, 0, 1},
    {"shift", REAL, AT(shift), NULL, 0, 0, 1},
    {"precision", CHOICE, AT(precision), precision_names, 2, 0, 0},
    {"solve_sweeps", INTEGER, AT(solve_sweeps), NULL, 0, 0, 10000},
#undef AT
};
enum { TABLE_SIZE = sizeof table / sizeof *table };

void mpk_options_init(mpk_options *options) {
    if (!options) return;
    *options = (mpk_options){.struct_size = sizeof *options,
                             .method = MPK_METHOD_AUTO,
                             .ordering = MPK_ORDERING_AUTO,
                             .matching = MPK_AUTO,
                             .scaling = MPK_AUTO,
                             .pivot_threshold = 0.01,
                             .zero_tolerance = -1,
                             .model_threads = 2,
                             .refine = 10,
                             .accuracy = -1,
                             .deterministic = MPK_ON,
                             .seed = 1,
                             .tolerance = -1,
                             .max_iterations = 1000,
                             .restart = 50,
                             .shadow = 4,
                             .direct = MPK_AUTO,
                             .block = 32,
                             .grid = MPK_OFF,
                             .similarity = 0.8,
                             .level = 1,
                             .fill_factor = 4,
                             .drop_tolerance = 1e-4,
                             .pivoting = MPK_PIVOTING_ROOK,
                             .stages = 1,
                             .butterfly = MPK_OFF,
                             .sweeps = 8,
                             .jacobi_epsilon = 0.1,
                             .jacobi_decay = 0.95};
}

/* The same key with dashes or underscores. */
static bool key_equal(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b)) return false;
    return *a == *b;
}

static mpk_status bad(mpk_context *ctx, const char *key, const char *value, const char *want) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1, "%s = '%s': expected %s", key, value,
                      want);
}

/* strtod, but with a decimal point whatever the caller's locale has. */
static double read_real(const char *text, char **end) {
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* always there: costs nothing */
    const double x = c ? strtod_l(text, end, c) : strtod(text, end);
    if (c) freelocale(c);
    return x;
}

mpk_status mpk_options_set(mpk_context *ctx, mpk_options *options, const char *key,
                           const char *value) {
    mpki_clear_error(ctx);
    if (!options || !key || !value || options->struct_size != sizeof *options)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1,
                          "options were not set up by mpk_options_init()");
    for (int k = 0; k < TABLE_SIZE; k++) {
        const struct option *o = &table[k];
        if (!key_equal(o->key, key)) continue;
        char *field = (char *)options + o->offset;
        if (o->kind == CHOICE) {
            char words[128] = "";
            for (int c = 0; c < o->count; c++) {
                if (!strcmp(o->names[c], value)) {
                    *(int *)field = c;
                    return MPK_OK;
                }
                strcat(strcat(words, c ? " | " : ""), o->names[c]);
            }
            return bad(ctx, key, value, words);
        }
        char *end;
        errno = 0;
        if (o->kind == REAL) {
            double x = read_real(value, &end);
            if (end == value || *end || !(x >= o->least && x <= o->most))
                return bad(ctx, key, value, "a number in its range");
            *(double *)field = x;
        } else {
            long long x = strtoll(value, &end, 10);
            if (end == value || *end || errno || (double)x < o->least || (double)x > o->most)
                return bad(ctx, key, value, "an integer in its range");
            if (o->kind == INTEGER)
                *(int *)field = (int)x;
            else
                *(int64_t *)field = x;
        }
        return MPK_OK;
    }
    return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1, "there is no option '%s'", key);
}

mpk_status mpki_options_resolve(mpk_context *ctx, const mpk_options *given, mpk_options *full) {
    mpk_options_init(full);
    if (given) {
        if (given->struct_size < offsetof(mpk_options, seed) || given->struct_size > 4096)
            return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1,
                              "options were not set up by mpk_options_init()");
        size_t known = given->struct_size < sizeof *full ? given->struct_size : sizeof *full;
        memcpy(full, given, known);
        full->struct_size = sizeof *full;
    }
    for (int k = 0; k < TABLE_SIZE; k++) {
        const char *field = (const char *)full + table[k].offset;
        double x = table[k].kind == REAL    ? *(const double *)field
                   : table[k].kind == INT64 ? (double)*(const int64_t *)field
                                            : (double)*(const int *)field;
        double most = table[k].kind == CHOICE ? table[k].count - 1 : table[k].most;
        if (!(x >= table[k].least && x <= most))
            return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1, "%s = %g is out of its range",
                              table[k].key, x);
    }
    if (full->threads == 0) full->threads = mpki_threads_default();
    return MPK_OK;
}

int mpki_threads_default(void) {
    const char *omp = getenv("OMP_NUM_THREADS");
    if (omp) {
        long asked = strtol(omp, NULL, 10);
        if (asked >= 1 && asked <= 1024) return (int)asked;
    }
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int cores = CPU_COUNT(&set);
    return cores > 0 ? cores : 1;
}

const char *mpk_option_word(const char *key, int value) {
    for (int k = 0; key && k < TABLE_SIZE; k++)
        if (table[k].kind == CHOICE && key_equal(table[k].key, key))
            return value >= 0 && value < table[k].count ? table[k].names[value] : "unknown";
    return "unknown";
}

const char *mpk_ordering_name(mpk_ordering ordering) {
    return mpk_option_word("ordering", (int)ordering);
}

const char *mpk_method_name(mpk_method method) {
    return mpk_option_word("method", (int)method);
}
