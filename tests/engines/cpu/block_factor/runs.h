/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_BLOCKS_RUNS_H
#define TESTS_BLOCKS_RUNS_H
/** A factor in one form beside the same one in blocks: made, applied part by part, compared. */
#include "in_blocks.h"

#include <stdbool.h>

#include "engines/cpu/block_factor/block_factor.h"
#include "factor/apply.h"

typedef struct run {
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_options o;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_block_info info;
} run;

/* engine: NULL for the processor's own */
static inline run go(mpk_context *ctx, const mpki_engine *engine, const char *spec,
                     const mpk_options *o) {
    run r = {.o = *o};
    const char *text;
    assert_int_equal(mpk_problem_generate(ctx, spec, 3, &r.problem), MPK_OK);
    mpk_problem_view_get(r.problem, &r.a);
    mpki_engine_use(ctx, engine);
    assert_false(mpk_failed(mpk_analyse(ctx, r.problem, o, &r.an)));
    const mpk_status status = mpk_factorize(ctx, r.an, NULL, o, &r.fac);
    mpk_last_error(ctx, NULL, NULL, &text);
    if (mpk_failed(status)) fail_msg("%s: %s", spec, text);
    mpki_engine_use(ctx, NULL);
    mpk_factor_block_info_get(r.fac, &r.info);
    return r;
}

static inline void end(run *r) {
    mpk_factor_destroy(&r->fac);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
}

static inline void fill(const run *r, int32_t nrhs, double seed, void *x) {
    const int64_t n = r->a.n, ld = n + 3;
    for (int64_t c = 0; c < nrhs; c++)
        for (int64_t i = 0; i < n; i++) {
            const double t = (double)(i + 7 * c);
            scalar_store(r->a.scalar, x, c * ld + i,
                         r->a.scalar >= MPK_C ? sin(seed * t + 1) + cos(2 * t) * I
                                              : sin(seed * t + 1));
        }
}

/* x := the part of M^-1 applied to nrhs vectors, ld n + 3. */
static inline void *apply(mpk_context *ctx, const run *r, mpk_part part, int32_t nrhs, int threads,
                          double seed, mpk_status *status) {
    const int64_t ld = r->a.n + 3;
    void *x = calloc((size_t)(ld * nrhs), mpk_scalar_size(r->a.scalar));
    mpki_application m;
    assert_non_null(x);
    fill(r, nrhs, seed, x);
    mpki_clear_error(ctx);
    assert_int_equal(mpki_apply_make(ctx, r->fac, threads, nrhs, &m), MPK_OK);
    *status = mpki_apply(&m, part, nrhs, x, ld, x, ld);
    mpki_apply_free(&m);
    return x;
}

static inline double distance(const run *r, int32_t nrhs, const void *x, const void *y) {
    double most = 0, norm = 0;
    for (int64_t k = 0; k < (r->a.n + 3) * (int64_t)nrhs; k++) {
        const double complex v = scalar_load(r->a.scalar, x, k);
        const double d = cabs(v - scalar_load(r->a.scalar, y, k));
        if (!(d <= most)) most = d;
        if (cabs(v) > norm) norm = cabs(v);
    }
    return norm > 0 ? most / norm : most;
}

/* Every part of both, with `count` numbers of vectors, alone and by two threads. */
static inline void compare(mpk_context *ctx, const run *other, const run *blocks, const char *what,
                           const int32_t *nrhs, size_t count, double bound) {
    for (int part = MPK_PART_ALL; part <= MPK_PART_ABS; part++)
        for (size_t k = 0; k < count; k++) {
            mpk_status status, same;
            void *x = apply(ctx, other, (mpk_part)part, nrhs[k], 1, 1, &status);
            void *two = apply(ctx, other, (mpk_part)part, nrhs[k], 2, 1, &same);
            assert_int_equal(status, same);
            const size_t bytes =
                (size_t)(blocks->a.n + 3) * (size_t)nrhs[k] * mpk_scalar_size(blocks->a.scalar);
            assert_memory_equal(x, two, bytes);
            void *y = apply(ctx, blocks, (mpk_part)part, nrhs[k], 1, 1, &same);
            assert_int_equal(status, same);
            const double d = distance(other, nrhs[k], x, y);
            if (!(d <= bound))
                fail_msg("%s, part %d, %d vectors: %g apart", what, part, (int)nrhs[k], d);
            free(x), free(two), free(y);
        }
}

#endif
