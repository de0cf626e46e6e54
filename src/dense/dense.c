/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of metapack/dense.h. */
#include "../core/floats.h"
#include "ladder.h"
#include "run.h"

#include <string.h>

mpk_status mpk_dense_query(mpk_context *ctx, const mpk_dense *dense, int32_t nrhs,
                           mpk_dense_sizes *sizes) {
    MPKI_CALM;
    mpki_dense_session s;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!sizes) MPKI_REFUSE(-1, "sizes is NULL");
    const bool ladder = dense && dense->method == MPK_DENSE_AUTO;
    const mpk_status status =
        mpki_dense_finish(&s, mpki_dense_begin(ctx, dense, nrhs, ladder, &s), NULL);
    if (!mpk_failed(status)) *sizes = s.sizes;
    return status;
}

/* Factors of a matrix of order 0. */
static void make_empty(const mpki_dense_call *call) {
    mpk_dense_factor *f = call->f;
    f->method = call->dense.method, f->precision = call->dense.precision;
    f->n = 0, f->scale = 1, f->inertia = (mpk_inertia){0};
}

mpk_status mpk_dense_factorize(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                               mpk_dense_factor *f, void *work, int64_t work_bytes,
                               mpk_dense_info *info) {
    MPKI_CALM;
    mpki_dense_session s;
    const mpki_dense_work given = {work, work_bytes};
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = mpki_dense_begin_factor(ctx, dense, a, lda, f, 1, false, &given, &s);
    if (!mpk_failed(status)) status = mpki_dense_take_work(&s, &given, s.sizes.factorize_bytes);
    if (!mpk_failed(status) && s.call.dense.n == 0) {
        make_empty(&s.call);
        return mpki_dense_finish(&s, MPK_OK, info);
    }
    if (!mpk_failed(status)) status = mpki_dense_measure_matrix(s.engine, &s.call, NULL);
    if (!mpk_failed(status)) status = mpki_dense_run_factorize(s.engine, &s.call);
    return mpki_dense_finish(&s, status, info);
}

mpk_status mpk_dense_solve(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                           const mpk_dense_factor *f, int32_t nrhs, const void *b, int64_t ldb,
                           void *x, int64_t ldx, void *work, int64_t work_bytes,
                           mpk_dense_info *info) {
    MPKI_CALM;
    mpki_dense_session s;
    const mpki_dense_work given = {work, work_bytes};
    const mpki_dense_sides sides = {nrhs, b, ldb, x, ldx};
    double norm = 0;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = mpki_dense_begin_solve(ctx, dense, a, lda, f, nrhs, &given, &s);
    if (!mpk_failed(status)) status = mpki_dense_check_sides(&s.call, &s.sizes, &sides, &given);
    if (!mpk_failed(status)) status = mpki_dense_take_work(&s, &given, s.sizes.solve_bytes);
    if (mpk_failed(status) || nrhs == 0 || dense->n == 0)
        return mpki_dense_finish(&s, status, info);
    if (a) status = mpki_dense_measure_matrix(s.engine, &s.call, &norm);
    if (!mpk_failed(status)) status = mpki_dense_check_rhs(&s, &sides);
    if (!mpk_failed(status)) status = mpki_dense_run_solve(&s, &s.call, norm, &sides);
    return mpki_dense_finish(&s, status, info);
}

mpk_status mpk_dense_sysv(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                          mpk_dense_factor *f, int32_t nrhs, const void *b, int64_t ldb, void *x,
                          int64_t ldx, void *work, int64_t work_bytes, mpk_dense_info *info) {
    MPKI_CALM;
    mpki_dense_session s;
    const mpki_dense_work given = {work, work_bytes};
    const mpki_dense_sides sides = {nrhs, b, ldb, x, ldx};
    double norm = 0;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    const bool in_place = a && mpki_dense_factor_filled(f) && f->f == a;
    const bool automatic = dense && dense->method == MPK_DENSE_AUTO && !in_place;
    mpk_status status = mpki_dense_begin_factor(ctx, dense, a, lda, f, nrhs, automatic, &given, &s);
    if (!mpk_failed(status)) status = mpki_dense_check_sides(&s.call, &s.sizes, &sides, &given);
    if (!mpk_failed(status) && b == x && automatic && s.call.dense.n > 0 && nrhs > 0)
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, "dense", -1,
                            "method auto needs b once more if a method fails: x must not be b");
    if (!mpk_failed(status)) status = mpki_dense_take_work(&s, &given, s.sizes.sysv_bytes);
    if (!mpk_failed(status) && s.call.dense.n == 0) make_empty(&s.call);
    if (mpk_failed(status) || s.call.dense.n == 0) return mpki_dense_finish(&s, status, info);
    status = mpki_dense_measure_matrix(s.engine, &s.call, &norm);
    if (!mpk_failed(status)) status = mpki_dense_check_rhs(&s, &sides);
    if (mpk_failed(status)) return mpki_dense_finish(&s, status, info);
    if (automatic) return mpki_dense_finish(&s, mpki_dense_ladder(&s, norm, &sides), info);
    const mpk_status factored = status = mpki_dense_run_factorize(s.engine, &s.call);
    if (in_place) s.call.a = NULL;
    if (!mpk_failed(status) && nrhs > 0) status = mpki_dense_run_solve(&s, &s.call, norm, &sides);
    if (!mpk_failed(status)) f->inertia = s.info.inertia; /* a solve in doubt has examined it */
    return mpki_dense_finish(&s, mpki_worse(status, factored), info);
}

/* ---- inertia --------------------------------------------------------------------------------- */

mpk_status mpk_dense_inertia(mpk_context *ctx, const mpk_dense *dense, const mpk_dense_factor *f,
                             void *work, int64_t work_bytes, mpk_inertia *inertia) {
    MPKI_CALM;
    mpki_dense_session s;
    const mpki_dense_work given = {work, work_bytes};
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!inertia) MPKI_REFUSE(-1, "inertia is NULL");
    mpk_status status = mpki_dense_begin_solve(ctx, dense, NULL, 0, f, 1, &given, &s);
    if (!mpk_failed(status)) status = mpki_dense_take_work(&s, &given, s.sizes.sysv_bytes);
    mpk_inertia found = {0};
    if (!mpk_failed(status) && dense->n > 0) {
        const mpki_dense_method *method = &s.engine->method[f->method];
        if (method->inertia)
            status = method->inertia(&s.call, &found);
        else
            found = f->inertia;
        found.certified = f->inertia.certified, found.examined = f->inertia.examined;
    }
    if (!mpk_failed(status)) *inertia = found;
    return mpki_dense_finish(&s, status, NULL);
}

mpk_status mpk_dense_certify(mpk_context *ctx, const mpk_dense *dense, const void *a, int64_t lda,
                             mpk_dense_factor *f, void *work, int64_t work_bytes,
                             mpk_certificate *out) {
    MPKI_CALM;
    mpki_dense_session s;
    mpki_dense_solve solve;
    mpk_certificate found = {0};
    const mpki_dense_work given = {work, work_bytes};
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!a && dense && dense->n > 0) MPKI_REFUSE(-1, "a is NULL: a certificate needs the matrix");
    mpk_status status = mpki_dense_begin_solve(ctx, dense, a, lda, f, 1, &given, &s);
    if (!mpk_failed(status)) status = mpki_dense_take_work(&s, &given, s.sizes.sysv_bytes);
    if (!mpk_failed(status)) status = mpki_dense_solver(&s, &s.call, 1, 0, &solve);
    if (!mpk_failed(status)) status = mpki_dense_examine(&solve, &found);
    if (!mpki_dense_counts(&s.call.dense)) found.certified = 0, found.miss_bound = 1;
    if (!mpk_failed(status)) f->inertia.examined = 1, f->inertia.certified = found.certified;
    if (!mpk_failed(status) && out) *out = found;
    return mpki_dense_finish(&s, status, NULL);
}
