/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_BOTH_H
#define TESTS_DEVICE_BOTH_H
/** A problem factored on blocks by the processor and by the device: what both count, and how far
 *  they are apart. */
#include "device_blocks.h"

/* A problem factored on both. */
typedef struct both {
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *cpu, *gpu;
    mpk_status status[2];
} both;

static inline both factor_both(mpk_context *ctx, mpk_problem *problem, const mpk_options *o) {
    both r = {.problem = problem};
    mpk_problem_view a;
    mpk_problem_view_get(problem, &a);
    assert_true(mpk_analyse(ctx, problem, o, &r.an) >= 0);
    mpki_engine_use(ctx, &device_cpu);
    r.status[0] = mpk_factorize(ctx, r.an, a.ax, o, &r.cpu);
    mpki_engine_use(ctx, device_engine_of(ctx));
    r.status[1] = mpk_factorize(ctx, r.an, a.ax, o, &r.gpu);
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    if (r.status[0] != r.status[1])
        fail_msg("status %d on the processor, %d on the device: %s", r.status[0], r.status[1],
                 text);
    mpki_engine_use(ctx, NULL);
    return r;
}

static inline void both_end(both *r) {
    mpk_factor_destroy(&r->cpu);
    mpk_factor_destroy(&r->gpu);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
}

/* On the host kernels round as the processor's generic ones do. A GPU fuses multiplications with
 * additions, so what cancels to zero here leaves rounding there: entries that are kept, and nothing
 * else. */
static inline bool rounds_alike(void) {
    return !device_is_real();
}

/* What is asked where roundings are alike, and on a GPU. */
static inline double bound(double alike, double gpu) {
    return rounds_alike() ? alike : gpu;
}

static inline bool nearly(int64_t a, int64_t b) {
    return fabs((double)(a - b)) <= 0.03 * (double)a + 8;
}

static inline void same_counts(const char *what, const both *r) {
    const mpk_block_info *p = &r->cpu->blocks->stages.info, *q = &r->gpu->blocks->stages.info;
    const mpk_factor_info *a = &r->cpu->info, *b = &r->gpu->info;
#define SAME(x, y, name)                                                                           \
    if ((x) != (y)) fail_msg("%s: %s %g, on the device %g", what, name, (double)(x), (double)(y))
    if (!rounds_alike()) {
        if (!nearly(p->kept, q->kept)) SAME(p->kept, q->kept, "kept");
        if (!nearly(a->nnz, b->nnz)) SAME(a->nnz, b->nnz, "nnz");
    } else {
        SAME(p->kept, q->kept, "kept");
        SAME(p->dropped, q->dropped, "dropped");
        SAME(a->nnz, b->nnz, "nnz");
    }
    SAME(p->perturbed, q->perturbed, "perturbed");
    SAME(p->two_by_two, q->two_by_two, "two by two");
    SAME(p->stages, q->stages, "stages");
    SAME(p->rejected, q->rejected, "rejected");
    SAME(p->blocks, q->blocks, "blocks");
    SAME(p->levels, q->levels, "levels");
    /* the processor counts numbers column by column, with those that update nothing; and blocks
     * that are pushed back after the last sweep */
    if (r->cpu->blocks->stages.blocking->largest > 1 &&
        (p->rejected == 0 || r->cpu->blocks->stages.options->jacobi_judge != MPK_JACOBI_JUDGE_LAST))
        SAME(p->flops, q->flops, "flops");
    SAME(a->inertia.positive, b->inertia.positive, "positive");
    SAME(a->inertia.negative, b->inertia.negative, "negative");
    SAME(a->inertia.zero, b->inertia.zero, "zero");
#undef SAME
}

/* Both factors, which must agree; single precision to single precision. Returns what the device
 * counted; zeros where both failed. */
static inline mpk_block_info agree(mpk_context *ctx, const char *what, mpk_problem *problem,
                                   const mpk_options *o, double tolerance) {
    both r = factor_both(ctx, problem, o);
    mpk_block_info info = {0};
    if (!mpk_failed(r.status[1])) {
        info = r.gpu->blocks->stages.info;
        same_counts(what, &r);
        const difference d = compare_factors(ctx, r.cpu, r.gpu);
        if (!(d.entries <= tolerance) || !(d.pivots <= tolerance) ||
            (d.elsewhere && rounds_alike()))
            fail_msg("%s: entries differ by %.3g, pivots by %.3g, %lld are elsewhere", what,
                     d.entries, d.pivots, (long long)d.elsewhere);
    }
    both_end(&r);
    return info;
}

/* A few problems of each kind. */
static const char *const few[] = {"nlpkkt 3", "helmholtz 2d 9 0.3", "optimal-control 8",
                                  "random 60 0.06 0.3 complex", "random 70 0.05 0.3 hermitian"};
enum { FEW = sizeof few / sizeof *few };

#endif
