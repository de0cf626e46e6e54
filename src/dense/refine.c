/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterative refinement in working precision (Skeel 1980), around factors of working or less
 * precision (Buttari et al. 2007); where that contracts too slowly each correction is found by
 * GMRES with the factors as right preconditioner (Carson & Higham 2017, SIAM J. Sci. Comput. 39,
 * precondition from the left). Written once for all engines. */
#include "apply.h"
#include "../problem/measure.h"

#include <math.h>
#include <string.h>

/* As in solve/judge.c. */
static const double CORRECTION = 0.1;

enum { TOGETHER = 128 }; /* right-hand sides solved at once */

/* ---- GMRES ----------------------------------------------------------------------------------- */

static mpk_status norm2(mpki_dense_solve *s, const char *x, double *norm) {
    double square[2];
    mpk_status status = s->engine->dot(&s->call, x, x, square);
    *norm = sqrt(square[0]);
    return status;
}

static mpk_status scale_into(mpki_dense_solve *s, const mpki_dense_parts *p, const char *x,
                             double m, char *y) {
    const mpk_scalar scalar = s->call.dense.scalar;
    const double alpha[2] = {m, 0};
    mpk_status status =
        s->engine->copy(&s->call, s->call.dense.n, 1, scalar, NULL, p->ld, scalar, y, p->ld);
    return mpk_failed(status) ? status : s->engine->axpy(&s->call, 1, alpha, x, p->ld, y, p->ld);
}

/* r := d, an approximate solution of A d = r with a residual of 1e-4 ||r||. */
static mpk_status gmres(mpki_dense_solve *s, const mpki_dense_parts *p, char *r, int *steps) {
    mpki_dense_call *call = &s->call;
    const mpki_dense_engine *engine = s->engine;
    double complex h[MPKI_DENSE_KRYLOV + 1][MPKI_DENSE_KRYLOV],
        g[MPKI_DENSE_KRYLOV + 1] = {0}, y[MPKI_DENSE_KRYLOV], cs[MPKI_DENSE_KRYLOV],
                              sn[MPKI_DENSE_KRYLOV];
    char *v = p->basis, *z = p->basis + (MPKI_DENSE_KRYLOV + 1) * p->column;
    double beta, unit = 1;
    int m = 0;
    mpk_status status = norm2(s, r, &beta);
    if (mpk_failed(status) || !(beta > 0) || !isfinite(beta)) return status;
    status = scale_into(s, p, r, 1 / beta, v);
    g[0] = beta;
    while (!mpk_failed(status) && m < MPKI_DENSE_KRYLOV) {
        char *next = v + (m + 1) * p->column;
        status = scale_into(s, p, v + m * p->column, 1, z);
        if (!mpk_failed(status)) status = mpki_dense_precondition(s, p, 1, z, p->ld, &unit);
        if (!mpk_failed(status)) /* next = -A z */
            status =
                engine->residual(call, 1, z, p->ld, NULL, p->ld, next, p->ld, NULL, p->residual);
        if (mpk_failed(status)) break;
        for (int k = 0; k <= m; k++) { /* modified Gram-Schmidt */
            double d[2], minus[2];
            status = engine->dot(call, v + k * p->column, next, d);
            if (mpk_failed(status)) return status;
            minus[0] = -d[0], minus[1] = -d[1];
            status = engine->axpy(call, 1, minus, v + k * p->column, p->ld, next, p->ld);
            if (mpk_failed(status)) return status;
            h[k][m] = -(d[0] + d[1] * I);
        }
        double length;
        status = norm2(s, next, &length);
        if (mpk_failed(status) || !isfinite(length)) break;
        /* next is -A z made orthogonal, so v_{m+1} = -next / length */
        h[m + 1][m] = length;
        if (length > 0) {
            status = scale_into(s, p, next, -1 / length, z);
            if (!mpk_failed(status)) status = scale_into(s, p, z, 1, next);
        }
        for (int k = 0; k < m; k++) {
            double complex a = h[k][m], b = h[k + 1][m];
            h[k][m] = conj(cs[k]) * a + conj(sn[k]) * b;
            h[k + 1][m] = -sn[k] * a + cs[k] * b;
        }
        double both = hypot(cabs(h[m][m]), length);
        if (!(both > 0)) break;
        cs[m] = h[m][m] / both, sn[m] = length / both;
        h[m][m] = both;
        g[m + 1] = -sn[m] * g[m];
        g[m] = conj(cs[m]) * g[m];
        m++;
        ++*steps;
        if (cabs(g[m]) <= 1e-4 * beta || !(length > 0)) break;
    }
    if (mpk_failed(status)) return status;
    for (int k = m - 1; k >= 0; k--) {
        y[k] = g[k];
        for (int j = k + 1; j < m; j++) y[k] -= h[k][j] * y[j];
        y[k] /= h[k][k];
    }
    status = engine->copy(call, call->dense.n, 1, call->dense.scalar, NULL, p->ld,
                          call->dense.scalar, r, p->ld);
    for (int k = 0; k < m && !mpk_failed(status); k++) {
        const double alpha[2] = {creal(y[k]), cimag(y[k])};
        status = engine->axpy(call, 1, alpha, v + k * p->column, p->ld, r, p->ld);
    }
    return mpk_failed(status) ? status : mpki_dense_precondition(s, p, 1, r, p->ld, &beta);
}

/* ---- refinement, a right-hand side after the other in what is measured ----------------------- */

static double worse(double a, double b) {
    return b <= a ? a : b; /* NaN counts as worse */
}

/* *ratio := the larger one of it and ||d|| / ||x||. */
static mpk_status compare(mpki_dense_solve *s, const char *d, const char *x, double *ratio) {
    double d_norm = 0, x_norm = 0;
    mpk_status status = norm2(s, d, &d_norm);
    if (!mpk_failed(status)) status = norm2(s, x, &x_norm);
    if (d_norm > 0) *ratio = fmax(*ratio, d_norm / x_norm);
    return status;
}

/* Factors of these methods may be far from A though it is regular: no pivot is chosen. */
static bool loose(mpk_dense_method method) {
    return method == MPK_DENSE_NONE || method == MPK_DENSE_BUTTERFLY;
}

/* One column: refine x, which solves A x = b to some accuracy, until it reaches dense.accuracy. */
static mpk_status refine_column(mpki_dense_solve *s, const mpki_dense_parts *p, const char *b,
                                int64_t ldb, char *x, int64_t ldx, mpki_dense_worth *worth,
                                double *correction) {
    mpki_dense_call *call = &s->call;
    const mpki_dense_engine *engine = s->engine;
    const mpk_dense *d = &call->dense;
    const double one[2] = {1, 0};
    mpki_dense_error now, kept;
    bool krylov = d->refinement == MPK_DENSE_REFINE_GMRES, failed = false;
    int step = 0, solves = 0;
    double first = 0; /* step, relative to x */
    mpk_status status = engine->residual(call, 1, x, ldx, b, ldb, p->r, p->ld, &now, p->residual);
    if (mpk_failed(status)) return status;
    if (!isfinite(now.x_inf) && now.b_inf > 0) { /* overflow: again with b near 1 */
        int exponent;
        frexp(now.b_inf, &exponent);
        const double unit = 1;
        status = engine->copy(call, d->n, 1, d->scalar, b, ldb, d->scalar, x, ldx);
        if (!mpk_failed(status)) status = mpki_dense_shift(s, p, -exponent, x, ldx);
        if (!mpk_failed(status)) status = mpki_dense_precondition(s, p, 1, x, ldx, &unit);
        if (!mpk_failed(status)) status = mpki_dense_shift(s, p, exponent, x, ldx);
        if (!mpk_failed(status))
            status = engine->residual(call, 1, x, ldx, b, ldb, p->r, p->ld, &now, p->residual);
        if (mpk_failed(status)) return status;
    }
    call->info->unrefined = worse(call->info->unrefined, now.omega);
    while (!(now.omega <= d->accuracy) && isfinite(now.omega) && isfinite(now.r_inf) &&
           step < d->refine) {
        kept = now;
        status = engine->copy(call, d->n, 1, d->scalar, x, ldx, d->scalar, p->best, p->ld);
        if (!mpk_failed(status))
            status = krylov ? gmres(s, p, p->r, &solves)
                            : mpki_dense_precondition(s, p, 1, p->r, p->ld, &now.r_inf);
        if (!mpk_failed(status) && step == 0 && !mpki_dense_low(call))
            status = compare(s, p->r, x, &first);
        if (!mpk_failed(status)) status = engine->axpy(call, 1, one, p->r, p->ld, x, ldx);
        if (!mpk_failed(status))
            status = engine->residual(call, 1, x, ldx, b, ldb, p->r, p->ld, &now, p->residual);
        if (mpk_failed(status)) return status;
        step++;
        const bool better = now.omega < kept.omega;
        if (!better) { /* back to the best one */
            status = engine->copy(call, d->n, 1, d->scalar, p->best, p->ld, d->scalar, x, ldx);
            if (!mpk_failed(status))
                status = engine->residual(call, 1, x, ldx, b, ldb, p->r, p->ld, &now, p->residual);
            if (mpk_failed(status)) return status;
        }
        if (now.omega <= d->accuracy || (better && now.omega <= 0.25 * kept.omega)) continue;
        if (!krylov && d->refinement == MPK_DENSE_REFINE_AUTO) {
            krylov = true;
        } else if (failed || !better) {
            break;
        } else {
            failed = true;
        }
    }
    if (!isfinite(now.x_inf))
        return mpki_error(call->ctx, MPK_ERR_NUMERIC, "dense", -1, "the solution overflows");
    if (first > CORRECTION && loose(call->f->method)) { /* is it the factors, or A? */
        double last = 0;
        status = mpki_dense_precondition(s, p, 1, p->r, p->ld, &now.r_inf);
        if (!mpk_failed(status)) status = compare(s, p->r, x, &last);
        if (mpk_failed(status)) return status;
        first = fmin(first, last);
    }
    *correction = fmax(*correction, first);
    *worth = mpki_dense_settle(s, b, x, &now);
    if (step > call->info->iterations) call->info->iterations = step;
    call->info->gmres += solves;
    return MPK_OK;
}

mpk_status mpki_dense_refined(mpki_dense_solve *s, int32_t nrhs, const void *b, int64_t ldb,
                              void *x, int64_t ldx) {
    mpki_dense_call *call = &s->call;
    const mpki_dense_engine *engine = s->engine;
    const mpk_dense *d = &call->dense;
    const mpki_dense_parts p = mpki_dense_cut(s, nrhs);
    const int64_t size = (int64_t)mpk_scalar_size(d->scalar);
    mpk_dense_info *info = call->info;
    mpk_status status = MPK_OK;
    bool all_sound = true, kernel = false, flat = false;
    double correction = 0;
    double start = mpki_now_s();
    info->iterations = info->gmres = 0;
    info->unrefined = info->componentwise = info->normwise = 0;
    info->solved = call->a != NULL;
    const char *rhs = b;
    int64_t ldr = ldb;
    if (b == x && call->a) {
        status = engine->copy(call, d->n, nrhs, d->scalar, b, ldb, d->scalar, p.keep, p.ld);
        rhs = p.keep, ldr = p.ld;
    } else if (b != x) {
        status = engine->copy(call, d->n, nrhs, d->scalar, b, ldb, d->scalar, x, ldx);
    }
    for (int32_t c0 = 0; c0 < nrhs && !mpk_failed(status); c0 += TOGETHER) {
        const int32_t cols = nrhs - c0 < TOGETHER ? nrhs - c0 : TOGETHER;
        double sizes[TOGETHER];
        for (int32_t c = 0; mpki_dense_low(call) && c < cols && !mpk_failed(status); c++) {
            status = norm2(s, rhs + (c0 + c) * ldr * size, &sizes[c]);
            if (!isfinite(sizes[c])) sizes[c] = 1;
        }
        if (!mpk_failed(status))
            status = mpki_dense_precondition(s, &p, cols, (char *)x + c0 * ldx * size, ldx, sizes);
    }
    info->solve_s = mpki_now_s() - start;
    start = mpki_now_s();
    for (int32_t c = 0; call->a && c < nrhs && !mpk_failed(status); c++) {
        mpki_dense_worth worth = {0};
        status = refine_column(s, &p, rhs + c * ldr * size, ldr, (char *)x + c * ldx * size, ldx,
                               &worth, &correction);
        if (mpk_failed(status)) break;
        all_sound &= worth.sound;
        kernel |= worth.kernel, flat |= worth.flat;
        info->solved &= worth.solved;
        info->componentwise = worse(info->componentwise, worth.omega);
        info->normwise = worse(info->normwise, worth.normwise);
    }
    info->refine_s = mpki_now_s() - start;
    if (mpk_failed(status) && rhs == p.keep) /* a call that fails changes nothing */
        engine->copy(call, d->n, nrhs, d->scalar, rhs, ldr, d->scalar, x, ldx);
    if (mpk_failed(status) || !call->a) return status;
    const bool moved = correction > CORRECTION && call->f->inertia.zero == 0;
    mpk_certificate found = {0};
    if ((kernel || moved || !all_sound) && mpk_failed(mpki_dense_examine_counts(s, &found)))
        mpki_clear_error(call->ctx); /* x is there: it stays in doubt */
    if (flat && !found.certified) info->solved = 0;
    if (kernel && !found.certified)
        return mpki_error(
            call->ctx, MPK_SINGULAR, "dense", -1,
            "singular, and the system is inconsistent or has solutions of any size: A "
            "takes the large entries of the solution to nothing; componentwise "
            "backward error %.1e",
            info->componentwise);
    if (!(info->componentwise <= d->accuracy))
        return mpki_error(
            call->ctx, MPK_INACCURATE, "dense", -1,
            "componentwise backward error %.1e after %d steps of refinement, %.1e was "
            "asked for; normwise %.1e",
            info->componentwise, info->iterations, d->accuracy, info->normwise);
    if ((all_sound && !moved) || found.certified) return MPK_OK;
    if (all_sound)
        return mpki_error(
            call->ctx, MPK_INACCURATE, "dense", -1,
            "componentwise backward error %.1e, but the first step of refinement "
            "changed the solution by %.1g of its size, and no certificate says that A is "
            "regular: A is singular to working precision, or nearly so",
            info->componentwise, correction);
    return mpki_error(call->ctx, MPK_INACCURATE, "dense", -1,
                      "componentwise backward error %.1e, but the solution is so large that b "
                      "hardly counts beside it: A is singular or too ill-conditioned to tell",
                      info->componentwise);
}
