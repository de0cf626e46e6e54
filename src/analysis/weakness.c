/* SPDX-License-Identifier: BSD-3-Clause */
/* Moduli of A, and which columns can have no good 1x1 pivot on their diagonal. */
#include "weakness.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "analyse";

/* ---- moduli ---------------------------------------------------------------------------------- */

void mpki_moduli_free(mpk_context *ctx, mpki_moduli *moduli) {
    mpki_release(ctx, moduli->own);
    mpki_release(ctx, moduli->diagonal);
    *moduli = (mpki_moduli){0};
}

/* Of scalars that are no doubles. */
static void take_moduli(mpk_scalar scalar, int64_t begin, int64_t end, const void *values,
                        double *out) {
    const float *s = values;
    const double *d = values;
    for (int64_t k = begin; k < end; k++) {
        switch (scalar) {
        case MPK_S:
            out[k] = fabs((double)s[k]);
            break;
        case MPK_C:
            out[k] = hypot((double)s[2 * k], (double)s[2 * k + 1]);
            break;
        default:
            out[k] = hypot(d[2 * k], d[2 * k + 1]);
        }
    }
}

typedef struct taking {
    const mpk_problem *problem;
    mpki_moduli *moduli;
    int64_t shares;
} taking;

static void take_item(mpki_pool *pool, int worker, void *arg, int64_t share) {
    const taking *t = arg;
    const mpk_problem *p = t->problem;
    const int32_t begin = mpki_share_begin(p->ap, p->n, share, t->shares);
    const int32_t end = mpki_share_begin(p->ap, p->n, share + 1, t->shares);
    mpki_moduli *m = t->moduli;
    (void)pool, (void)worker;
    if (m->own) take_moduli(p->scalar, p->ap[begin], p->ap[end], p->ax, m->own);
    for (int32_t j = begin; j < end; j++) {
        const int64_t k = p->ap[j];
        m->diagonal[j] = k < p->ap[j + 1] && p->ai[k] == j ? fabs(m->entry[k]) : 0;
    }
}

mpk_status mpki_moduli_build(mpk_context *ctx, mpki_pool *pool, const mpk_problem *problem,
                             mpki_moduli *moduli) {
    const bool doubles = problem->scalar == MPK_D;
    *moduli = (mpki_moduli){.diagonal = MPKI_NEW(ctx, STAGE, problem->n, double)};
    if (!doubles) moduli->own = MPKI_NEW(ctx, STAGE, problem->nnz, double);
    moduli->entry = doubles ? problem->ax : moduli->own;
    if ((!doubles && !moduli->own) || !moduli->diagonal) {
        mpki_moduli_free(ctx, moduli);
        return mpki_failed(ctx);
    }
    taking t = {.problem = problem, .moduli = moduli, .shares = mpki_shares(pool)};
    mpki_pool_for(pool, 0, t.shares, take_item, &t);
    return MPK_OK;
}

mpk_status mpki_moduli_of_core(mpk_context *ctx, const mpki_core *core, int32_t n,
                               mpki_moduli *moduli) {
    double *own = moduli->own ? moduli->own : MPKI_NEW(ctx, STAGE, core->ap[n], double);
    if (!own) return mpki_failed(ctx);
    for (int64_t k = 0; k < core->ap[n]; k++) own[k] = moduli->entry[core->src[k]];
    moduli->entry = moduli->own = own;
    return MPK_OK;
}

/* ---- weak columns ---------------------------------------------------------------------------- */

int32_t mpki_weak_columns(int32_t n, const double *diagonal, const double *scale, double strong,
                          char *weak) {
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        weak[i] = !(scale[i] * diagonal[i] * scale[i] >= strong);
        count += weak[i];
    }
    return count;
}

int32_t mpki_weak_alone(int32_t n, const int64_t *ap, const int32_t *ai, const char *weak,
                        char *covered) {
    int32_t alone = 0;
    memset(covered, 0, (size_t)n);
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            covered[j] |= !weak[ai[k]];
            covered[ai[k]] |= !weak[j];
        }
    for (int32_t j = 0; j < n; j++) alone += weak[j] && !covered[j];
    return alone;
}

/* ---- a trial elimination --------------------------------------------------------------------- */

enum { WAITING, ACCEPTED, FAILED, PAIRED };

mpk_status mpki_pivots_begin(mpk_context *ctx, int32_t n, const mpki_core *core,
                             const mpki_lower *rows, const mpki_moduli *moduli, const double *scale,
                             double u, mpki_pivots *pivots) {
    *pivots = (mpki_pivots){.ap = core->ap,
                            .ai = core->ai,
                            .rows = rows,
                            .entry = moduli->entry,
                            .scale = scale,
                            .u = u,
                            .value = MPKI_NEW(ctx, STAGE, n, double),
                            .state = MPKI_ZNEW(ctx, STAGE, n, char)};
    if (!pivots->value || !pivots->state) {
        mpki_pivots_end(ctx, pivots);
        return mpki_failed(ctx);
    }
    for (int32_t i = 0; i < n; i++) pivots->value[i] = scale[i] * moduli->diagonal[i] * scale[i];
    return MPK_OK;
}

void mpki_pivots_end(mpk_context *ctx, mpki_pivots *pivots) {
    mpki_release(ctx, pivots->value);
    mpki_release(ctx, pivots->state);
    *pivots = (mpki_pivots){0};
}

/* The largest entry of v in columns that wait, at least `most`; *partner [inout] one that failed. */
static inline double look(const mpki_pivots *p, int32_t v, int32_t w, int64_t k, double most,
                          int32_t *partner) {
    if (p->state[w] == FAILED) *partner = w;
    if (p->state[w] != WAITING) return most;
    const double a = p->scale[v] * fabs(p->entry[k]) * p->scale[w];
    return a > most ? a : most;
}

static bool holds(const mpki_pivots *p, int32_t v, int32_t *partner) {
    double most = 0;
    for (int64_t q = p->rows->ptr[v]; q < p->rows->ptr[v + 1]; q++)
        most = look(p, v, p->rows->column[q], mpki_lower_place(p->rows, q), most, partner);
    for (int64_t q = p->ap[v]; q < p->ap[v + 1]; q++)
        if (p->ai[q] != v) most = look(p, v, p->ai[q], q, most, partner);
    return p->value[v] > 0 && p->value[v] >= p->u * most;
}

/* May an entry of v in column w stand, if v's pivot is to hold? */
static inline bool bears(const mpki_pivots *p, int32_t v, int32_t w, int64_t k) {
    return p->state[w] != WAITING ||
           p->value[v] >= p->u * (p->scale[v] * fabs(p->entry[k]) * p->scale[w]);
}

bool mpki_pivot_holds(const mpki_pivots *p, int32_t v) {
    if (!(p->value[v] > 0)) return false;
    for (int64_t q = p->ap[v]; q < p->ap[v + 1]; q++)
        if (p->ai[q] != v && !bears(p, v, p->ai[q], q)) return false;
    for (int64_t q = p->rows->ptr[v]; q < p->rows->ptr[v + 1]; q++)
        if (!bears(p, v, p->rows->column[q], mpki_lower_place(p->rows, q))) return false;
    return true;
}

/* v has been accepted. A column that failed before may hold from here on. */
static inline void update(const mpki_pivots *p, int32_t v, int32_t w, int64_t k) {
    const bool late = p->until && p->state[w] == FAILED && p->until[w] < 0;
    if (p->state[w] != WAITING && !late) return;
    const double a = p->scale[v] * p->entry[k] * p->scale[w];
    p->value[w] += a * (a / p->value[v]);
    if (late && mpki_pivot_holds(p, w)) p->until[w] = v;
}

static void take(mpki_pivots *p, int32_t v) {
    p->state[v] = ACCEPTED;
    for (int64_t q = p->rows->ptr[v]; q < p->rows->ptr[v + 1]; q++)
        update(p, v, p->rows->column[q], mpki_lower_place(p->rows, q));
    for (int64_t q = p->ap[v]; q < p->ap[v + 1]; q++)
        if (p->ai[q] != v) update(p, v, p->ai[q], q);
}

bool mpki_pivot_next(mpki_pivots *pivots, int32_t v, int32_t mate) {
    int32_t partner = -1;
    if (pivots->state[v] == PAIRED) return true;
    if (holds(pivots, v, &partner)) {
        take(pivots, v);
        return true;
    }
    if (mate >= 0 && pivots->state[mate] != ACCEPTED) partner = mate;
    pivots->state[v] = partner < 0 ? FAILED : PAIRED;
    if (partner < 0) return false;
    if (pivots->until && pivots->state[partner] == FAILED && pivots->until[partner] < 0)
        pivots->until[partner] = v;
    pivots->state[partner] = PAIRED;
    return true;
}

mpk_status mpki_weak_pivots(mpk_context *ctx, int32_t n, const mpki_core *core,
                            const mpki_lower *rows, const mpki_moduli *moduli, const double *scale,
                            const int32_t *perm, const int32_t *mate, double u, int32_t *failed,
                            char *fails, int32_t *until) {
    mpki_pivots pivots;
    mpk_status status = mpki_pivots_begin(ctx, n, core, rows, moduli, scale, u, &pivots);
    *failed = 0;
    pivots.until = until;
    for (int32_t i = 0; until && i < n; i++) until[i] = -1;
    for (int32_t k = 0; !mpk_failed(status) && k < n; k++) {
        const int32_t v = perm[k];
        const bool next = mate && mate[v] != v && k + 1 < n && perm[k + 1] == mate[v];
        *failed += !mpki_pivot_next(&pivots, v, next ? mate[v] : -1);
    }
    for (int32_t i = 0; fails && !mpk_failed(status) && i < n; i++)
        fails[i] = pivots.state[i] == FAILED;
    for (int32_t i = 0; until && !mpk_failed(status) && i < n; i++)
        if (pivots.state[i] == FAILED && until[i] < 0) until[i] = n;
    mpki_pivots_end(ctx, &pivots);
    return status;
}
