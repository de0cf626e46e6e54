/* SPDX-License-Identifier: BSD-3-Clause */
/** The KKT systems of a solver written in C that gives their upper triangle by columns: analysed once,
 *  factorized with new values, solved without refinement, since such solvers measure what they reach.
 *  Included by plugins/osqp and plugins/qoco, which say of what type their indices are (kkt_int). */
#ifndef METAPACK_KKT_H
#define METAPACK_KKT_H
#include <metapack/metapack.h>
#include <stdlib.h>

typedef struct kkt {
    int64_t n;
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options options;
} kkt;

/** The text of the last failure: never NULL. */
static inline const char *kkt_text(const kkt *k, mpk_status status) {
    const char *text = NULL;
    if (k->ctx) mpk_last_error(k->ctx, NULL, NULL, &text);
    return text && *text ? text : mpk_status_text(status);
}

/** A pattern with its first values. The arrays are read here alone. k is to be freed in any case. */
static inline mpk_status kkt_analyse(kkt *k, mpk_scalar scalar, kkt_int n, const kkt_int *p,
                                     const kkt_int *i, const void *x) {
    const size_t columns = (size_t)n + 1, entries = (size_t)p[n];
    int64_t *ap = malloc(columns * sizeof *ap);
    int32_t *ai = malloc((entries + 1) * sizeof *ai);
    mpk_status status = ap && ai ? MPK_OK : MPK_ERR_MEMORY;
    if (n > INT32_MAX) status = MPK_ERR_SIZE;
    if (!mpk_failed(status)) status = mpk_context_create(NULL, &k->ctx);
    if (!mpk_failed(status)) {
        for (size_t j = 0; j < columns; j++) ap[j] = (int64_t)p[j];
        for (size_t j = 0; j < entries; j++) ai[j] = (int32_t)i[j];
        k->n = (int64_t)n;
        mpk_options_init(&k->options);
        status = mpk_problem_from_csc(k->ctx, k->n, scalar, MPK_SYMMETRIC, MPK_UPPER, ap, ai, x,
                                      &k->problem);
    }
    if (!mpk_failed(status)) status = mpk_analyse(k->ctx, k->problem, &k->options, &k->an);
    free(ap);
    free(ai);
    return status;
}

/** New values in the order of the pattern. Of a quasi-definite matrix anything but MPK_OK is a
 *  failure; positive: how many pivots are, or NULL. */
static inline mpk_status kkt_factorize(kkt *k, const void *x, int64_t *positive) {
    const mpk_status status = mpk_factorize(k->ctx, k->an, x, &k->options, &k->fac);
    mpk_factor_info info = {0};
    if (!mpk_failed(status)) mpk_factor_info_get(k->fac, &info);
    if (positive) *positive = info.inertia.positive;
    return status;
}

static inline mpk_status kkt_solve(const kkt *k, void *x) {
    if (!k->fac) return MPK_ERR_ARGUMENT;
    return mpk_solve_part(k->ctx, k->fac, MPK_PART_ALL, 1, x, k->n);
}

static inline void kkt_free(kkt *k) {
    mpk_factor_destroy(&k->fac);
    mpk_analysis_destroy(&k->an);
    mpk_problem_destroy(&k->problem);
    mpk_context_destroy(&k->ctx);
}
#endif
