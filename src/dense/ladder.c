/* SPDX-License-Identifier: BSD-3-Clause */
/* Method auto of mpk_dense_sysv: up the engine's ladder of methods, until a solution is
 * accurate. */
#include "ladder.h"
#include "run.h"

#include <math.h>

/* The call of a rung. */
static mpki_dense_call call_of(mpki_dense_session *s, const mpki_dense_rung *rung) {
    mpki_dense_call call = s->call;
    call.dense.method = rung->method, call.dense.precision = rung->precision;
    call.factor_scalar = mpki_dense_factor_scalar(&call.dense);
    if (s->by_default)
        call.dense.zero_tolerance = (double)call.dense.n * mpki_dense_eps(call.factor_scalar);
    if (rung->method == MPK_DENSE_ROOK && s->by_default)
        call.dense.zero_tolerance = 0; /* the last resort: a small row is not zero */
    return call;
}

/* One rung: factors and solution in place, the outcome as one more attempt. */
static mpk_status climb(mpki_dense_session *s, const mpki_dense_rung *rung, double norm,
                        const mpki_dense_sides *sides) {
    mpki_dense_call call = call_of(s, rung);
    mpk_dense_attempt *attempt = &s->info.attempt[s->info.attempts];
    const double begun = mpki_now_s();
    if (s->info.attempts++ > 0) mpki_clear_error(call.ctx);
    *attempt = (mpk_dense_attempt){rung->method, rung->precision, MPK_OK, INFINITY, 0};
    mpk_status status = mpki_dense_run_factorize(s->engine, &call), factored = status;
    if (!mpk_failed(status)) {
        status = mpki_dense_run_solve(s, &call, norm, sides);
        attempt->componentwise = call.info->componentwise;
        status = mpki_worse(status, factored);
    }
    attempt->status = status;
    attempt->time_s = mpki_now_s() - begun;
    return status;
}

/* Can a better method help? Not against a lack of memory, a device that fails, or a
 * cancellation. */
static bool may_fall_back(mpk_status status) {
    return status == MPK_INACCURATE || status == MPK_SINGULAR || status == MPK_ERR_NUMERIC;
}

/* On the host: do rows differ so much in size that what is negligible beside one counts in another?
 * In single precision, where zero pivots are up to 5e-6, any difference may do that. */
static bool badly_scaled(const mpki_dense_call *call) {
    const mpk_dense *d = &call->dense;
    const bool single = d->scalar == MPK_S || d->scalar == MPK_C;
    const int64_t parts = d->scalar >= MPK_C ? 2 : 1;
    if (d->memory != MPK_HOST) return false;
    double *most = MPKI_ZNEW(call->ctx, "dense", d->n, double);
    if (!most) return false;
    for (int64_t j = 0; j < d->n; j++) {
        const int64_t i0 = d->uplo == MPK_UPPER ? 0 : j, i1 = d->uplo == MPK_UPPER ? j + 1 : d->n;
        for (int64_t i = i0; i < i1; i++)
            for (int64_t h = 0; h < parts; h++) {
                const int64_t k = parts * (i + j * call->lda) + h;
                const double a = fabs(single ? (double)((const float *)call->a)[k]
                                             : ((const double *)call->a)[k]);
                if (a > most[i]) most[i] = a;
                if (a > most[j]) most[j] = a;
            }
    }
    double least = INFINITY;
    for (int64_t i = 0; i < d->n; i++) least = fmin(least, most[i]);
    mpki_release(call->ctx, most);
    return least > 0 && least < (single ? 0.5 : 1e-3) * call->most;
}

/* What is known once a rung is left without a good solution. */
typedef struct ladder {
    const mpki_dense_rung *back; /* the best so far; NULL: none */
    mpk_status said;             /* of it: MPK_SINGULAR where that stands, else MPK_INACCURATE */
    const mpki_dense_rung *zero; /* the first that met zero pivots in working precision */
    bool solved;                 /* that one solved the system all the same */
    int apart;                   /* badly_scaled(): 1, 0, or -1: not known yet */
} ladder;

static bool bad(ladder *l, const mpki_dense_call *call) {
    if (l->apart < 0) l->apart = badly_scaled(call);
    return l->apart > 0;
}

/* A small backward error alone may be that of a vector in the kernel of A. */
static bool solves(const mpki_dense_session *s) {
    return s->info.solved && s->info.componentwise <= s->call.dense.accuracy;
}

/* Take note of a rung; true: a better one would say the same. A matrix found singular in working
 * precision stays singular, unless a row is merely small; that b is inconsistent is known when no
 * rung has solved the system. */
static bool settled(mpki_dense_session *s, ladder *l, const mpki_dense_rung *rung,
                    mpk_status status) {
    const bool singular = status == MPK_SINGULAR && rung->precision == MPK_DENSE_WORKING;
    const bool accurate = solves(s);
    if (singular && s->info.zero_pivots > 0 && !l->zero) l->zero = rung, l->solved = accurate;
    if (singular && accurate && (rung->method == MPK_DENSE_ROOK || !bad(l, &s->call))) return true;
    if (l->said == MPK_SINGULAR) return false;
    const bool stands = singular && (accurate || !bad(l, &s->call));
    l->back = rung, l->said = stands ? MPK_SINGULAR : MPK_INACCURATE;
    return false;
}

/* The last rung takes no pivot for zero, and one before it met some: only a certificate tells
 * whose counts are A's. */
static void examine(mpki_dense_session *s, const mpki_dense_rung *last) {
    mpki_dense_solve solve;
    mpk_certificate found;
    const mpki_dense_call call = call_of(s, last);
    if (s->info.inertia.examined) return;
    if (mpk_failed(mpki_dense_solver(s, &call, 1, 0, &solve)) ||
        mpk_failed(mpki_dense_examine_counts(&solve, &found)))
        mpki_clear_error(call.ctx); /* the counts stay what they are: not examined */
}

/* The rung whose result is returned after `last`, which ended with `status`; NULL: that one's. */
static const mpki_dense_rung *choose(mpki_dense_session *s, ladder *l, const mpki_dense_rung *last,
                                     mpk_status status) {
    if (status == MPK_ERR_NUMERIC) return l->back;
    if (mpk_failed(status) || !last) return NULL;
    if (status == MPK_INACCURATE && l->said == MPK_SINGULAR) return l->back;
    if (!l->zero) return NULL;
    if (s->info.zero_pivots > 0) /* both met some, and the last one too few of them */
        return l->solved || !solves(s) ? l->zero : NULL;
    examine(s, last);
    if (s->info.inertia.certified) return NULL;
    return status == MPK_SINGULAR || l->solved ? l->zero : NULL;
}

mpk_status mpki_dense_ladder(mpki_dense_session *s, double norm, const mpki_dense_sides *sides) {
    mpk_status status = MPK_ERR_UNSUPPORTED;
    mpk_dense_info *info = &s->info;
    const mpki_dense_rung *last = NULL;
    ladder l = {.said = MPK_OK, .apart = -1};
    for (int k = 0; k < MPK_DENSE_ATTEMPTS - 1; k++) { /* one is left for a way back */
        const mpki_dense_rung *rung = &s->engine->ladder[k];
        if (rung->method == MPK_DENSE_AUTO) break;
        if (!mpki_dense_rung_applies(rung, &s->call.dense)) continue;
        status = climb(s, rung, norm, sides);
        last = rung;
        if (!may_fall_back(status)) break;
        if (!mpk_failed(status) && settled(s, &l, rung, status)) break;
    }
    const mpki_dense_rung *back = choose(s, &l, last, status);
    if (back && back != last) status = climb(s, back, norm, sides);
    if (!mpk_failed(status)) s->call.f->inertia = info->inertia;
    info->fallbacks = info->attempts > 0 ? info->attempts - 1 : 0;
    return status;
}
