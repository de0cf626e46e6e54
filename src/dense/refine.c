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

/* ---- GMRES ----------------------------------------------------------------------------------- */

static mpk_status norm2(mpki_dense_solve *s, const char *x, double *norm) {
    double square[2];
    mpk_status status = s->engine->dot(&s->call, 1, x, s->call.dense.n, x, s->call.dense.n, square);
    *norm = sqrt(square[0]);
    return status;
}

static mpk_status scale_into(mpki_dense_solve *s, const mpki_dense_parts *p, const char *x,
                             double m, char *y) {
    const mpk_scalar scalar = s->call.dense.scalar;
    return s->engine->copy(&s->call, s->call.dense.n, 1, scalar, x, p->ld, scalar, y, p->ld, &m);
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
            status = engine->dot(call, 1, v + k * p->column, p->ld, next, p->ld, d);
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
        if (length > 0) status = scale_into(s, p, next, -1 / length, next);
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
                          call->dense.scalar, r, p->ld, NULL);
    for (int k = 0; k < m && !mpk_failed(status); k++) {
        const double alpha[2] = {creal(y[k]), cimag(y[k])};
        status = engine->axpy(call, 1, alpha, v + k * p->column, p->ld, r, p->ld);
    }
    return mpk_failed(status) ? status : mpki_dense_precondition(s, p, 1, r, p->ld, &beta);
}

/* ---- refinement of a block of right-hand sides ------------------------------------------------
 * Columns that are not yet accurate lie side by side in slots 0, 1, ..., so that each round takes
 * one residual, one solve and one correction for all of them. One that contracts too slowly goes
 * on alone, by GMRES. */

typedef struct column {
    mpki_dense_error now;
    double first;  /* step, relative to x */
    int32_t place; /* in the block */
    int step, solves;
    bool krylov, failed, ended;
    bool stale; /* its slot's residual is of another x */
} column;

static double worse(double a, double b) {
    return b <= a ? a : b; /* NaN counts as worse */
}

static char *slot(char *of, const mpki_dense_parts *p, int32_t k) {
    return of + k * p->column;
}

static mpk_status move(mpki_dense_solve *s, int32_t cols, const char *from, int64_t ldf, char *to,
                       int64_t ldt) {
    const mpk_scalar scalar = s->call.dense.scalar;
    return s->engine->copy(&s->call, s->call.dense.n, cols, scalar, from, ldf, scalar, to, ldt,
                           NULL);
}

/* first of the columns in `count` slots := the larger one of it and ||r|| / ||x||. */
static mpk_status compare(mpki_dense_solve *s, const mpki_dense_parts *p, int32_t count,
                          column *columns) {
    const mpki_dense_engine *engine = s->engine;
    double r[2 * MPKI_DENSE_TOGETHER], x[2 * MPKI_DENSE_TOGETHER];
    mpk_status status = engine->dot(&s->call, count, p->r, p->ld, p->r, p->ld, r);
    if (!mpk_failed(status)) status = engine->dot(&s->call, count, p->x, p->ld, p->x, p->ld, x);
    for (int32_t k = 0; k < count && !mpk_failed(status); k++)
        if (r[2 * k] > 0)
            columns[k].first = fmax(columns[k].first, sqrt(r[2 * k]) / sqrt(x[2 * k]));
    return status;
}

/* Factors of these methods may be far from A though it is regular: no pivot is chosen. */
static bool loose(mpk_dense_method method) {
    return method == MPK_DENSE_NONE || method == MPK_DENSE_BUTTERFLY;
}

static bool goes_on(const mpki_dense_solve *s, const column *c) {
    const mpk_dense *d = &s->call.dense;
    return !c->ended && !(c->now.omega <= d->accuracy) && isfinite(c->now.omega) &&
           isfinite(c->now.r_inf) && c->step < d->refine;
}

/* The parts of the slots from k on. */
static mpki_dense_parts from(const mpki_dense_parts *p, int32_t k) {
    mpki_dense_parts q = *p;
    q.x = slot(p->x, p, k), q.b = slot(p->b, p, k);
    q.r = slot(p->r, p, k), q.best = slot(p->best, p, k);
    return q;
}

static mpk_status measure(mpki_dense_solve *s, const mpki_dense_parts *p, int32_t count,
                          mpki_dense_error *now) {
    return s->engine->residual(&s->call, count, p->x, p->ld, p->b, p->ld, p->r, p->ld, now,
                               p->residual);
}

/* One step for the columns in the first `count` slots; by GMRES for one of them. */
static mpk_status step(mpki_dense_solve *s, const mpki_dense_parts *p, int32_t count,
                       column *columns, bool krylov) {
    mpki_dense_call *call = &s->call;
    const mpki_dense_engine *engine = s->engine;
    const mpk_dense *d = &call->dense;
    const double one[2] = {1, 0};
    mpki_dense_error now[MPKI_DENSE_TOGETHER];
    double sizes[MPKI_DENSE_TOGETHER];
    bool begins = false;
    mpk_status status = MPK_OK;
    for (int32_t k = 0; k < count; k++) {
        sizes[k] = columns[k].now.r_inf;
        begins |= columns[k].step == 0;
    }
    if (krylov && columns->stale) status = measure(s, p, 1, now);
    if (!mpk_failed(status)) status = move(s, count, p->x, p->ld, p->best, p->ld);
    if (!mpk_failed(status))
        status = krylov ? gmres(s, p, p->r, &columns->solves)
                        : mpki_dense_precondition(s, p, count, p->r, p->ld, sizes);
    if (!mpk_failed(status) && begins && !mpki_dense_low(call))
        status = compare(s, p, count, columns);
    if (!mpk_failed(status)) status = engine->axpy(call, count, one, p->r, p->ld, p->x, p->ld);
    if (!mpk_failed(status)) status = measure(s, p, count, now);
    for (int32_t k = 0; k < count && !mpk_failed(status); k++) {
        column *c = &columns[k];
        const mpki_dense_error kept = c->now;
        const bool better = now[k].omega < kept.omega;
        c->step++;
        c->stale = !better;
        if (better)
            c->now = now[k];
        else /* back to the best one */
            status = move(s, 1, slot(p->best, p, k), p->ld, slot(p->x, p, k), p->ld);
        if (c->now.omega <= d->accuracy || (better && c->now.omega <= 0.25 * kept.omega)) continue;
        if (!c->krylov && d->refinement == MPK_DENSE_REFINE_AUTO)
            c->krylov = true;
        else if (c->failed || !better)
            c->ended = true;
        else
            c->failed = true;
    }
    return status;
}

/* A column in slot 0 has come to its end: is a large first step the factors' fault, or A's? */
static mpk_status look_back(mpki_dense_solve *s, const mpki_dense_parts *p, column *c) {
    column last = {0};
    mpk_status status = MPK_OK;
    if (!(c->first > CORRECTION) || !loose(s->call.f->method) || !isfinite(c->now.x_inf))
        return status;
    if (c->stale) status = measure(s, p, 1, &last.now);
    if (!mpk_failed(status)) status = mpki_dense_precondition(s, p, 1, p->r, p->ld, &c->now.r_inf);
    if (!mpk_failed(status)) status = compare(s, p, 1, &last);
    if (!mpk_failed(status)) c->first = fmin(c->first, last.first);
    return status;
}

/* Columns that have come to their ends leave their slots; *live: how many stay, side by side.
 *  done [out] them, by their place in the block; x [out] the block's solutions */
static mpk_status retire(mpki_dense_solve *s, const mpki_dense_parts *p, int32_t *live,
                         column *columns, column *done, char *x, int64_t ldx) {
    const int64_t size = (int64_t)mpk_scalar_size(s->call.dense.scalar);
    char *const parts[] = {p->x, p->b, p->r};
    mpk_status status = MPK_OK;
    int32_t stay = 0;
    for (int32_t k = 0; k < *live && !mpk_failed(status); k++) {
        column *c = &columns[k];
        if (!goes_on(s, c)) {
            const mpki_dense_parts own = from(p, k);
            status = move(s, 1, own.x, p->ld, x + c->place * ldx * size, ldx);
            if (!mpk_failed(status)) status = look_back(s, &own, c);
            done[c->place] = *c;
            continue;
        }
        for (int i = 0; i < 3 && stay < k && !mpk_failed(status); i++)
            status = move(s, 1, slot(parts[i], p, k), p->ld, slot(parts[i], p, stay), p->ld);
        columns[stay++] = *c;
    }
    *live = stay;
    return status;
}

/* x overflowed: again with b near 1. r, now [out] the residual, and what was measured */
static mpk_status again(mpki_dense_solve *s, const mpki_dense_parts *p, const char *b, int64_t ldb,
                        char *x, int64_t ldx, char *r, mpki_dense_error *now) {
    int exponent;
    frexp(now->b_inf, &exponent);
    const double unit = 1;
    mpk_status status = move(s, 1, b, ldb, x, ldx);
    if (!mpk_failed(status)) status = mpki_dense_shift(s, -exponent, x, ldx);
    if (!mpk_failed(status)) status = mpki_dense_precondition(s, p, 1, x, ldx, &unit);
    if (!mpk_failed(status)) status = mpki_dense_shift(s, exponent, x, ldx);
    if (mpk_failed(status)) return status;
    return s->engine->residual(&s->call, 1, x, ldx, b, ldb, r, p->ld, now, p->residual);
}

/* Refine the columns of a block, which solve A x = b to some accuracy, until they reach
 * dense.accuracy or come no nearer. done [out] what each came to */
static mpk_status refine_block(mpki_dense_solve *s, const mpki_dense_parts *p, int32_t cols,
                               const char *b, int64_t ldb, char *x, int64_t ldx, column *done) {
    mpki_dense_call *call = &s->call;
    const int64_t size = (int64_t)mpk_scalar_size(call->dense.scalar);
    mpki_dense_error now[MPKI_DENSE_TOGETHER];
    column columns[MPKI_DENSE_TOGETHER];
    int32_t live = 0;
    mpk_status status =
        s->engine->residual(call, cols, x, ldx, b, ldb, p->r, p->ld, now, p->residual);
    for (int32_t c = 0; c < cols && !mpk_failed(status); c++) {
        const char *bc = b + c * ldb * size;
        char *xc = x + c * ldx * size, *rc = slot(p->r, p, c);
        if (!isfinite(now[c].x_inf) && now[c].b_inf > 0)
            status = again(s, p, bc, ldb, xc, ldx, rc, &now[c]);
        if (mpk_failed(status)) break;
        call->info->unrefined = worse(call->info->unrefined, now[c].omega);
        done[c] = (column){
            .now = now[c], .place = c, .krylov = call->dense.refinement == MPK_DENSE_REFINE_GMRES};
        if (!goes_on(s, &done[c])) continue;
        status = move(s, 1, xc, ldx, slot(p->x, p, live), p->ld);
        if (!mpk_failed(status)) status = move(s, 1, bc, ldb, slot(p->b, p, live), p->ld);
        if (!mpk_failed(status) && live < c)
            status = move(s, 1, rc, p->ld, slot(p->r, p, live), p->ld);
        columns[live++] = done[c];
    }
    while (live > 0 && !mpk_failed(status)) {
        for (int32_t k = 0; k < live && !mpk_failed(status); k++) {
            const mpki_dense_parts own = from(p, k);
            while (columns[k].krylov && goes_on(s, &columns[k]) && !mpk_failed(status))
                status = step(s, &own, 1, &columns[k], true);
        }
        if (!mpk_failed(status)) status = retire(s, p, &live, columns, done, x, ldx);
        if (live > 0 && !mpk_failed(status)) status = step(s, p, live, columns, false);
    }
    return status;
}

/* What the solutions of a call are worth, all of them together. */
typedef struct verdict {
    bool unsound, kernel, flat;
    double correction; /* the largest first step, relative to x */
} verdict;

static mpk_status judge_block(mpki_dense_solve *s, int32_t cols, const char *b, int64_t ldb,
                              const char *x, int64_t ldx, const column *done, verdict *v) {
    const int64_t size = (int64_t)mpk_scalar_size(s->call.dense.scalar);
    mpk_dense_info *info = s->call.info;
    for (int32_t c = 0; c < cols; c++) {
        if (!isfinite(done[c].now.x_inf))
            return mpki_error(s->call.ctx, MPK_ERR_NUMERIC, "dense", -1, "the solution overflows");
        const mpki_dense_worth worth =
            mpki_dense_settle(s, b + c * ldb * size, x + c * ldx * size, &done[c].now);
        v->unsound |= !worth.sound;
        v->kernel |= worth.kernel, v->flat |= worth.flat;
        v->correction = fmax(v->correction, done[c].first);
        info->solved &= worth.solved;
        info->componentwise = worse(info->componentwise, worth.omega);
        info->normwise = worse(info->normwise, worth.normwise);
        if (done[c].step > info->iterations) info->iterations = done[c].step;
        info->gmres += done[c].solves;
    }
    return MPK_OK;
}

/* X := M^-1 B by the factors alone, B given in X's place and, as it was, at rhs. */
static mpk_status solve_blocks(mpki_dense_solve *s, const mpki_dense_parts *p, int32_t nrhs,
                               const char *rhs, int64_t ldr, char *x, int64_t ldx) {
    const int64_t size = (int64_t)mpk_scalar_size(s->call.dense.scalar);
    mpk_status status = MPK_OK;
    for (int32_t c0 = 0; c0 < nrhs && !mpk_failed(status); c0 += MPKI_DENSE_TOGETHER) {
        const int32_t cols = mpki_dense_together(nrhs - c0);
        const char *b = rhs + c0 * ldr * size;
        double sizes[MPKI_DENSE_TOGETHER], squares[2 * MPKI_DENSE_TOGETHER] = {0};
        if (mpki_dense_low(&s->call))
            status = s->engine->dot(&s->call, cols, b, ldr, b, ldr, squares);
        for (int32_t c = 0; c < cols; c++)
            sizes[c] = isfinite(squares[2 * c]) ? sqrt(squares[2 * c]) : 1;
        if (!mpk_failed(status))
            status = mpki_dense_precondition(s, p, cols, x + c0 * ldx * size, ldx, sizes);
    }
    return status;
}

mpk_status mpki_dense_refined(mpki_dense_solve *s, int32_t nrhs, const void *b, int64_t ldb,
                              void *x, int64_t ldx) {
    mpki_dense_call *call = &s->call;
    const mpk_dense *d = &call->dense;
    const mpki_dense_parts p = mpki_dense_cut(s, nrhs);
    const int64_t size = (int64_t)mpk_scalar_size(d->scalar);
    mpk_dense_info *info = call->info;
    mpk_status status = MPK_OK;
    verdict v = {0};
    double start = mpki_now_s();
    info->iterations = info->gmres = 0;
    info->unrefined = info->componentwise = info->normwise = 0;
    info->solved = call->a != NULL;
    const char *rhs = b;
    int64_t ldr = ldb;
    if (b == x && call->a) {
        status = move(s, nrhs, b, ldb, p.keep, p.ld);
        rhs = p.keep, ldr = p.ld;
    } else if (b != x) {
        status = move(s, nrhs, b, ldb, x, ldx);
    }
    if (!mpk_failed(status)) status = solve_blocks(s, &p, nrhs, rhs, ldr, x, ldx);
    info->solve_s = mpki_now_s() - start;
    start = mpki_now_s();
    for (int32_t c0 = 0; call->a && c0 < nrhs && !mpk_failed(status); c0 += MPKI_DENSE_TOGETHER) {
        const int32_t cols = mpki_dense_together(nrhs - c0);
        const char *from = rhs + c0 * ldr * size;
        char *to = (char *)x + c0 * ldx * size;
        column done[MPKI_DENSE_TOGETHER];
        status = refine_block(s, &p, cols, from, ldr, to, ldx, done);
        if (!mpk_failed(status)) status = judge_block(s, cols, from, ldr, to, ldx, done, &v);
    }
    info->refine_s = mpki_now_s() - start;
    if (mpk_failed(status) && rhs == p.keep) /* a call that fails changes nothing */
        (void)move(s, nrhs, rhs, ldr, x, ldx);
    if (mpk_failed(status) || !call->a) return status;
    const bool moved = v.correction > CORRECTION && call->f->inertia.zero == 0;
    mpk_certificate found = {0};
    if ((v.kernel || moved || v.unsound) && mpk_failed(mpki_dense_examine_counts(s, &found)))
        mpki_clear_error(call->ctx); /* x is there: it stays in doubt */
    if (v.flat && !found.certified) info->solved = 0;
    if (v.kernel && !found.certified)
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
    if ((!v.unsound && !moved) || found.certified) return MPK_OK;
    if (!v.unsound)
        return mpki_error(
            call->ctx, MPK_INACCURATE, "dense", -1,
            "componentwise backward error %.1e, but the first step of refinement "
            "changed the solution by %.1g of its size, and no certificate says that A is "
            "regular: A is singular to working precision, or nearly so",
            info->componentwise, v.correction);
    return mpki_error(call->ctx, MPK_INACCURATE, "dense", -1,
                      "componentwise backward error %.1e, but the solution is so large that b "
                      "hardly counts beside it: A is singular or too ill-conditioned to tell",
                      info->componentwise);
}
