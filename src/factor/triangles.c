/* SPDX-License-Identifier: BSD-3-Clause */
/* options.triangular auto: exact solves with the triangles, or products with approximate inverses?
 * One application of each is measured, and how far they are apart. */
#include "stages.h"

/* How many times more iterations products may need, by how far they are apart; measured
 * (docs/guide/isai.md). Factors of indefinite matrices lose their way soon: only what is as good
 * as exact is taken. */
typedef struct price {
    double error, growth;
} price;
static const price any[] = {{1e-3, 1.5}}, of_ilu0[] = {{1e-3, 1.5}, {0.1, 2}, {0.5, 5}};

enum { B, EXACT, PRODUCTS, VECTORS };

/* x := the factor applied to b; *time_s: the least that one took. */
static mpk_status measure(const mpk_factor *fac, const void *b, void *x, double *time_s) {
    enum { LEAST = 4, MOST = 12 }; /* a solver tries one thread, then all, twice each */
    const double ENOUGH_S = 0.02;
    const mpki_block_engine *engine = fac->engine->blocks;
    const int64_t n = fac->an->n;
    mpki_block_solver *solver = NULL;
    int32_t takes;
    double all = 0;
    mpk_status status = engine->solver_make(fac->ctx, fac->blocks->numbers, fac->options.threads, 1,
                                            &solver, &takes);
    *time_s = INFINITY;
    for (int k = 0; k < MOST && !mpk_failed(status) && (k < LEAST || all < ENOUGH_S); k++) {
        const double start = mpki_now_s();
        status = engine->apply(solver, MPK_PART_ALL, 1, b, n, x, n);
        if (!mpk_failed(status) && fac->engine->settle) status = fac->engine->settle(fac->ctx);
        const double took = mpki_now_s() - start;
        all += took;
        if (took < *time_s) *time_s = took;
    }
    engine->solver_free(fac->ctx, &solver);
    return status;
}

/* Are products the better choice? An iteration has a product with A besides, which takes about as
 * long as theirs. */
static bool pays(mpk_method method, const mpk_block_info *info) {
    const bool ilu0 = method == MPK_METHOD_ILU0;
    const price *p = ilu0 ? of_ilu0 : any, *end = p + (ilu0 ? 3 : 1);
    while (p < end && !(info->inverses_error <= p->error)) p++;
    return p < end && p->growth * 2 * info->inverses_s < info->exact_s + info->inverses_s;
}

/* Why there are no inverses, though nothing is wrong with the factor. */
static bool is_theirs(mpk_status status) {
    return status == MPK_ERR_MEMORY || status == MPK_ERR_ARGUMENT || status == MPK_ERR_NUMERIC;
}

mpk_status mpki_choose_triangles(mpk_factor *fac, mpki_block_counts *counts) {
    const mpki_block_engine *engine = fac->engine->blocks;
    const mpki_vector_ops *ops = fac->engine->vectors->ops[fac->an->scalar];
    mpk_block_info *info = &fac->blocks->stages.info;
    mpki_space *space = NULL;
    void *v[VECTORS];
    uint64_t state = fac->options.seed;
    bool made = false;
    fac->options.solve_sweeps = 0;
    if (!engine->invert || fac->an->n == 0) {
        fac->options.triangular = MPK_TRIANGULAR_EXACT;
        return MPK_OK;
    }
    mpk_status status = ops->make(fac->ctx, fac->an->scalar, fac->an->n, VECTORS, NULL,
                                  fac->options.device_memory_limit, &space, v);
    if (mpk_failed(status)) goto done;
    ops->random(space, &state, v[B]);
    status = measure(fac, v[B], v[EXACT], &info->exact_s);
    if (!mpk_failed(status)) {
        status = engine->invert(fac->blocks->numbers, counts);
        made = !mpk_failed(status);
        info->inverses_error = INFINITY;
    }
    if (made) status = measure(fac, v[B], v[PRODUCTS], &info->inverses_s);
    if (made && !mpk_failed(status)) {
        const double size = ops->norm(space, v[EXACT]);
        const mpki_number less = {-1, 0}, one = {1, 0};
        info->inverses_error =
            ops->axpby_norm(space, less, v[EXACT], one, v[PRODUCTS]) / (size > 0 ? size : 1);
        status = ops->status(space);
    }
done:
    if (space) ops->free(fac->ctx, &space);
    if (is_theirs(status)) {
        mpki_clear_error(fac->ctx);
        status = MPK_OK;
    }
    if (mpk_failed(status)) return status;
    const bool inverses = made && pays(fac->options.method, info);
    fac->options.triangular = inverses ? MPK_TRIANGULAR_ISAI : MPK_TRIANGULAR_EXACT;
    return engine->settle(fac->blocks->numbers, inverses, counts);
}
