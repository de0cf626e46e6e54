/* SPDX-License-Identifier: BSD-3-Clause */
/* The two halves of a solution: factors by one method, then solutions with them, refined. */
#include "run.h"

#include <math.h>

/* A power of two that brings max |A| near 1. For factors in less than working precision; and in
 * working precision (on the host, not in place) where pivots would over- or underflow without
 * it. */
static double scale_for(const mpki_dense_call *call) {
    const bool single = call->dense.scalar == MPK_S || call->dense.scalar == MPK_C;
    const double range = single ? 0x1p40 : 0x1p300;
    int exponent;
    if (!(call->most > 0)) return 1;
    if (call->factor_scalar == call->dense.scalar && call->dense.precision == MPK_DENSE_WORKING &&
        (call->dense.memory != MPK_HOST || call->f->f == call->a ||
         (call->most < range && call->most > 1 / range)))
        return 1;
    frexp(call->most, &exponent);
    if (exponent < -1000) exponent = -1000;
    return ldexp(1, -exponent);
}

mpk_status mpki_dense_run_factorize(const mpki_dense_engine *engine, mpki_dense_call *call) {
    mpk_dense_info *info = call->info;
    const double start = mpki_now_s();
    call->scale = scale_for(call);
    info->two_by_two = info->delayed = info->zero_pivots = 0;
    info->growth = info->max_l = 0;
    info->inertia = (mpk_inertia){0};
    const mpk_dense_method held = call->f->method;
    call->f->method = MPK_DENSE_AUTO; /* no factorization, until there is one */
    mpk_status status = engine->method[call->dense.method].factorize(call);
    if (status == MPK_ERR_MEMORY || status == MPK_ERR_UNSUPPORTED)
        call->f->method = held; /* nothing was written */
    info->factorize_s = mpki_now_s() - start;
    info->method = call->dense.method;
    info->precision = call->dense.precision;
    if (mpk_failed(status)) return status;
    call->f->method = call->dense.method;
    call->f->precision = call->dense.precision;
    call->f->n = call->dense.n;
    call->f->scale = call->scale;
    call->f->inertia = info->inertia;
    if (status == MPK_SINGULAR)
        mpki_error(
            call->ctx, MPK_SINGULAR, "dense", info->zero_pivots,
            "singular: %lld zero pivots of %lld: less than %.1e of the largest entry is left of "
            "them",
            (long long)info->zero_pivots, (long long)call->dense.n, call->dense.zero_tolerance);
    return status;
}

mpk_status mpki_dense_measure_matrix(const mpki_dense_engine *engine, mpki_dense_call *call,
                                     double *norm) {
    mpk_status status = engine->largest(call, &call->most, norm);
    if (!mpk_failed(status) && !isfinite(call->most))
        status = mpki_error(call->ctx, MPK_ERR_INPUT, "dense", -1,
                            "the matrix has an entry that is NaN or infinite");
    return status;
}

/* Column c of the right-hand sides: are all its entries numbers? */
static mpk_status check_column(mpki_dense_session *s, const void *column, int32_t c) {
    mpki_dense_call *call = &s->call;
    const mpk_scalar scalar = call->dense.scalar;
    const int64_t n = call->dense.n, reals = scalar >= MPK_C ? 2 * n : n;
    const bool host = call->dense.memory == MPK_HOST;
    const bool single = scalar == MPK_S || scalar == MPK_C;
    void *taken = host ? NULL : mpki_alloc(call->ctx, "dense", n, mpk_scalar_size(scalar));
    const void *here = host ? column : taken;
    mpk_status status = !here  ? mpki_failed(call->ctx)
                        : host ? MPK_OK
                               : s->engine->get(call, column, taken);
    for (int64_t k = 0; k < reals && !mpk_failed(status); k++)
        if (!isfinite(single ? (double)((const float *)here)[k] : ((const double *)here)[k]))
            status = mpki_error(call->ctx, MPK_ERR_INPUT, "dense", c,
                                "right-hand side %d has an entry that is NaN or infinite", c);
    if (taken) mpki_release(call->ctx, taken);
    return status;
}

mpk_status mpki_dense_check_rhs(mpki_dense_session *s, const mpki_dense_sides *sides) {
    const int64_t size = (int64_t)mpk_scalar_size(s->call.dense.scalar);
    mpk_status status = MPK_OK;
    for (int32_t c0 = 0; c0 < sides->nrhs && !mpk_failed(status); c0 += MPKI_DENSE_TOGETHER) {
        const int32_t cols = mpki_dense_together(sides->nrhs - c0);
        const char *block = (const char *)sides->b + c0 * sides->ldb * size;
        double square[2 * MPKI_DENSE_TOGETHER];
        status = s->engine->dot(&s->call, cols, block, sides->ldb, block, sides->ldb, square);
        for (int32_t c = 0; c < cols && !mpk_failed(status); c++)
            if (!isfinite(square[2 * c])) /* squares may overflow, too */
                status = check_column(s, block + c * sides->ldb * size, c0 + c);
    }
    return status;
}

mpk_status mpki_dense_solver(const mpki_dense_session *s, const mpki_dense_call *call, int32_t nrhs,
                             double norm_inf, mpki_dense_solve *solve) {
    mpki_dense_need need = {0};
    mpk_status status =
        s->engine->method[call->dense.method].need(call, mpki_dense_together(nrhs), &need);
    *solve = (mpki_dense_solve){s->engine, *call, NULL, norm_inf};
    solve->call.work_bytes = mpki_dense_round(need.solve_bytes);
    solve->work = call->work + solve->call.work_bytes;
    return status;
}

mpk_status mpki_dense_run_solve(mpki_dense_session *s, mpki_dense_call *call, double norm_inf,
                                const mpki_dense_sides *sides) {
    mpki_dense_solve solve;
    mpk_status status = mpki_dense_solver(s, call, sides->nrhs, norm_inf, &solve);
    if (mpk_failed(status)) return status;
    status = mpki_dense_refined(&solve, sides->nrhs, sides->b, sides->ldb, sides->x, sides->ldx);
    if (!mpk_failed(status) && call->dense.condition == MPK_ON && call->a) {
        mpk_status estimated = mpki_dense_condition(&solve, &call->info->condition);
        if (mpk_failed(estimated)) return estimated;
    }
    return status;
}
