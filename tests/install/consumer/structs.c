/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that is compiled with headers of an older or a newer release than the library's (tests/install/abi): whatever
 * its structs are like, no byte behind them is written, and what both know is right. */
#include <metapack/metapack.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3, GUARD = 256 };

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) return fprintf(stderr, "line %d: %s\n", __LINE__, #what), 1;                  \
    } while (0)

/* A struct with guards behind it, all bytes set. */
#define GUARDED(type, name)                                                                        \
    struct {                                                                                       \
        type is;                                                                                   \
        unsigned char guard[GUARD];                                                                \
    } name;                                                                                        \
    memset(&name, 0xa5, sizeof name)

static int whole(const unsigned char *guard) {
    for (int k = 0; k < GUARD; k++)
        if (guard[k] != 0xa5) return 0;
    return 1;
}

static mpk_status twice(void *self, const void *x, void *y) {
    (void)self;
    for (int k = 0; k < N; k++) ((double *)y)[k] = 2 * ((const double *)x)[k];
    return MPK_OK;
}

int main(void) {
    const int64_t ap[] = {0, 2, 3, 4};
    const int32_t ai[] = {0, 1, 1, 2};
    const double ax[] = {1, 2, 1, 4}, b[] = {5, 4, 8};
    double x[N];
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_isai *isai = NULL;
    GUARDED(mpk_options, options);
    GUARDED(mpk_analysis_info, analysis);
    GUARDED(mpk_factor_info, factor);
    GUARDED(mpk_block_info, block);
    GUARDED(mpk_estimate, estimate);
    GUARDED(mpk_solve_info, solve);
    GUARDED(mpk_adaptive, adaptive);
    GUARDED(mpk_krylov_task, task);
    GUARDED(mpk_krylov_info, krylov);
    GUARDED(mpk_dense, dense);
    GUARDED(mpk_dense_sizes, sizes);
    GUARDED(mpk_dense_info, info);
    GUARDED(mpk_isai_options, inverse);
    GUARDED(mpk_isai_info, inverted);
    GUARDED(mpk_batch, batch);

    mpk_options_init(&options.is);
    CHECK(options.is.struct_size <= sizeof options.is && whole(options.guard));
    CHECK(options.is.pivot_threshold == 0.01);
    CHECK(mpk_context_create(NULL, &ctx) == MPK_OK);
    CHECK(mpk_options_set(ctx, &options.is, "method", "ldlt") == MPK_OK && whole(options.guard));
    CHECK(mpk_options_set(ctx, &options.is, "refine", "7") == MPK_OK && options.is.refine == 7);
    CHECK(mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &problem) ==
          MPK_OK);
    CHECK(mpk_analyse(ctx, problem, &options.is, &an) == MPK_OK);
    CHECK(mpk_factor_estimate(ctx, an, &options.is, &estimate.is) == MPK_OK);
    CHECK(whole(estimate.guard) && estimate.is.host_bytes > 0);
    CHECK(mpk_factorize(ctx, an, NULL, &options.is, &fac) == MPK_OK);
    mpk_analysis_info_get(an, &analysis.is);
    CHECK(whole(analysis.guard) && analysis.is.n == N && analysis.is.nnz == 4);
    mpk_factor_info_get(fac, &factor.is);
    CHECK(whole(factor.guard) && factor.is.inertia.positive == 2 &&
          factor.is.inertia.negative == 1);
    mpk_factor_block_info_get(fac, &block.is);
    CHECK(whole(block.guard) && block.is.block_rows == 0);
    CHECK(mpk_solve(ctx, fac, 1, b, N, x, N, &options.is, &solve.is) == MPK_OK);
    CHECK(whole(solve.guard) && solve.is.solved == 1 && solve.is.componentwise < 1e-14);
    CHECK(x[0] > 0.999 && x[0] < 1.001 && x[2] > 1.999 && x[2] < 2.001);
    CHECK(mpk_solve(ctx, fac, 1, b, N, x, N, NULL, NULL) == MPK_OK);

    CHECK(mpk_solve_adaptive(ctx, problem, NULL, 1, b, N, x, N, NULL, 0, NULL, &adaptive.is) ==
          MPK_OK);
    CHECK(whole(adaptive.guard) && adaptive.is.factor && x[0] > 0.999 && x[0] < 1.001);
    mpk_adaptive_clear(&adaptive.is);
    CHECK(whole(adaptive.guard) && !adaptive.is.factor && !adaptive.is.analysis);

    mpk_krylov_task_init(&task.is);
    CHECK(whole(task.guard) && task.is.max_iterations == 1000);
    task.is.n = N, task.is.a.apply = twice, task.is.m.apply = NULL;
    memset(x, 0, sizeof x);
    CHECK(mpk_krylov_solve(ctx, &task.is, b, x, &krylov.is) == MPK_OK);
    CHECK(whole(krylov.guard) && krylov.is.residual < 1e-6 && x[0] > 2.499 && x[0] < 2.501);

    mpk_dense_init(&dense.is);
    CHECK(whole(dense.guard) && dense.is.depth == 2);
    dense.is.n = N;
    const double a[] = {1, 2, 0, 0, 1, 0, 0, 0, 4};
    CHECK(mpk_dense_query(ctx, &dense.is, 1, &sizes.is) == MPK_OK && whole(sizes.guard));
    void *f = malloc((size_t)sizes.is.factor_bytes);
    void *extra = aligned_alloc(64, ((size_t)sizes.is.extra_bytes + 127) / 64 * 64);
    int32_t *pivots = malloc((size_t)sizes.is.pivots * sizeof *pivots);
    mpk_dense_factor dense_factor = {
        .struct_size = sizeof dense_factor, .f = f, .ldf = N, .pivots = pivots, .extra = extra};
    CHECK(mpk_dense_sysv(ctx, &dense.is, a, N, &dense_factor, 1, b, N, x, N, NULL, 0, &info.is) ==
          MPK_OK);
    CHECK(whole(info.guard) && info.is.inertia.negative == 1 && x[0] > 0.999 && x[0] < 1.001);
    mpk_inertia inertia = {0};
    CHECK(mpk_dense_inertia(ctx, &dense.is, &dense_factor, NULL, 0, &inertia) == MPK_OK);
    CHECK(inertia.positive == 2 && inertia.negative == 1);
    free(f), free(extra), free(pivots);

    mpk_isai_options_init(&inverse.is);
    CHECK(whole(inverse.guard) && inverse.is.power == 1);
    CHECK(mpk_isai_create(ctx, MPK_D, N, ap, ai, ax, &inverse.is, &isai) == MPK_OK);
    mpk_isai_info_get(isai, &inverted.is);
    CHECK(whole(inverted.guard) && inverted.is.entries == 4 && inverted.is.fallbacks == 0);
    mpk_batch_init(&batch.is);
    CHECK(whole(batch.guard) && batch.is.zero_tolerance == -1);

    mpk_isai_destroy(&isai);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return 0;
}
