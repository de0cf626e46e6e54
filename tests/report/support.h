/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_REPORT_SUPPORT_H
#define TEST_REPORT_SUPPORT_H
/** A run to report, and a look at what came of it. */
#include "problem/support.h"

#include "report/json.h"
#include "report/report.h"
#include <math.h>

/** The keys of the report of a solve. */
#define ALL_KEYS                                                                                   \
    "schema version n nnz scalar symmetry method backend threads ordering ordered_for status "     \
    "inertia{positive negative zero certified examined} rank{verdict structural} "                 \
    "backward_error{normwise componentwise unrefined} relative_residual iterations "               \
    "accuracy{reached solved componentwise_asked} "                                                \
    "time_s{read analyse factorize solve} "                                                        \
    "factor{nnz flops bytes peak_bytes rejected stages two_by_two growth precision} "              \
    "options{method ordering matching scaling pivot_threshold zero_tolerance static_shift "        \
    "threads "                                                                                     \
    "model_threads refine accuracy deterministic condition seed memory_limit krylov "              \
    "precision symmetry_tolerance device updates}}"

/* 3 x 3: 4 . . / 1 0 . / . 2 5, with a stored zero on the diagonal. */
static const int64_t small_ap[] = {0, 2, 4, 5};
static const int32_t small_ai[] = {0, 1, 1, 2, 2};
static const double small_ax[] = {4, -1, 0, 2, 5};

static inline mpk_run small_run(void) {
    return (mpk_run){.source = "small.mtx",
                     .problem = {3, 5, MPK_D, MPK_SYMMETRIC, small_ap, small_ai, small_ax},
                     .time_read_s = 0.25,
                     .have_analysis = 1,
                     .have_factor = 1,
                     .have_solve = 1,
                     .analysis = {.n = 3,
                                  .nnz = 5,
                                  .ordering = MPK_ORDERING_METIS,
                                  .matching = 1,
                                  .scaling = 2,
                                  .structural_rank = 3,
                                  .supernodes = 1234,
                                  .tree_height = 2,
                                  .max_front = 3,
                                  .factor_nnz = 6,
                                  .factor_flops = 14,
                                  .factor_bytes = 48,
                                  .peak_bytes = 96,
                                  .time_s = 0.5,
                                  .time_match_s = 0.125,
                                  .time_order_s = 0.25},
                     .factor = {.inertia = {.positive = 2, .negative = 1},
                                .nnz = 7,
                                .flops = 2e9,
                                .bytes = 56,
                                .peak_bytes = 112,
                                .rejected = 4,
                                .stages = 1,
                                .two_by_two = 1,
                                .growth = 1.5,
                                .min_pivot = 0.5,
                                .max_front = 3,
                                .threads = 2,
                                .time_s = 0.5},
                     .solve = {.iterations = 1,
                               .normwise = 1e-17,
                               .componentwise = 1.2e-16,
                               .solved = 1,
                               .unrefined = 3e-12,
                               .relative_residual = 2e-16,
                               .time_s = 0.125},
                     .options = {.accuracy = -1, .tolerance = -1},
                     .nrhs = 1,
                     .status = MPK_OK,
                     .backend = "cpu-test",
                     .peak_bytes = 4096};
}

/* A copy in which lines that were broken are whole again. */
static inline char *unbroken(const char *text) {
    char *copy = calloc(1, strlen(text) + 1), *out = copy;
    for (; *text; text++) {
        if (!strncmp(text, "\n              ", 15)) {
            *out++ = ' ';
            text += 14;
        } else
            *out++ = *text;
    }
    return copy;
}

/* The keys of all objects in order, "a b{c d} e": what a reader of the schema relies on. */
static inline void json_keys(const char *text, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (const char *s = text; *s; s++) {
        if (*s == '"') {
            const char *end = json_string(s);
            assert_non_null(end);
            bool is_key = *json_blank(end) == ':';
            if (is_key)
                used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                         used && out[used - 1] != '{' ? " " : "",
                                         (int)(end - s - 2), s + 1);
            s = end - 1;
        } else if ((*s == '{' || *s == '}') && used) {
            used += (size_t)snprintf(out + used, size - used, "%c", *s);
        }
        assert_true(used < size);
    }
}

#endif
