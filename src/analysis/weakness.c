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

/* Columns in their order, as far as they have come. */
typedef struct elimination {
    const double *entry, *scale;
    double *pivot;
    char *state;
} elimination;

/* The largest entry of v in columns that wait, at least `most`; *partner [inout] one that failed. */
static inline double look(const elimination *e, int32_t v, int32_t w, int64_t k, double most,
                          int32_t *partner) {
    if (e->state[w] == FAILED) *partner = w;
    if (e->state[w] != WAITING) return most;
    const double a = e->scale[v] * fabs(e->entry[k]) * e->scale[w];
    return a > most ? a : most;
}

static inline void update(const elimination *e, int32_t v, int32_t w, int64_t k) {
    if (e->state[w] != WAITING) return;
    const double a = e->scale[v] * e->entry[k] * e->scale[w];
    e->pivot[w] += a * (a / e->pivot[v]);
}

mpk_status mpki_weak_pivots(mpk_context *ctx, int32_t n, const mpki_core *core,
                            const mpki_lower *rows, const mpki_moduli *moduli, const double *scale,
                            const int32_t *perm, const int32_t *mate, double u, int32_t *failed,
                            char *fails) {
    const int64_t *ap = core->ap;
    const int32_t *ai = core->ai;
    double *pivot = MPKI_NEW(ctx, STAGE, n, double);
    char *state = MPKI_ZNEW(ctx, STAGE, n, char);
    mpk_status status = pivot && state ? MPK_OK : mpki_failed(ctx);
    const elimination e = {moduli->entry, scale, pivot, state};
    *failed = 0;
    for (int32_t i = 0; !mpk_failed(status) && i < n; i++)
        pivot[i] = scale[i] * moduli->diagonal[i] * scale[i];
    for (int32_t k = 0; !mpk_failed(status) && k < n; k++) {
        int32_t v = perm[k], partner = -1;
        if (state[v] == PAIRED) continue;
        double most = 0;
        for (int64_t q = rows->ptr[v]; q < rows->ptr[v + 1]; q++)
            most = look(&e, v, rows->column[q], mpki_lower_place(rows, q), most, &partner);
        for (int64_t q = ap[v]; q < ap[v + 1]; q++)
            if (ai[q] != v) most = look(&e, v, ai[q], q, most, &partner);
        if (!(pivot[v] > 0 && pivot[v] >= u * most)) {
            bool mate_next = mate && mate[v] != v && k + 1 < n && perm[k + 1] == mate[v];
            if (mate_next) partner = mate[v];
            state[v] = partner < 0 ? FAILED : PAIRED;
            if (partner >= 0) state[partner] = PAIRED;
            *failed += partner < 0;
            continue;
        }
        state[v] = ACCEPTED;
        for (int64_t q = rows->ptr[v]; q < rows->ptr[v + 1]; q++)
            update(&e, v, rows->column[q], mpki_lower_place(rows, q));
        for (int64_t q = ap[v]; q < ap[v + 1]; q++)
            if (ai[q] != v) update(&e, v, ai[q], q);
    }
    for (int32_t i = 0; fails && !mpk_failed(status) && i < n; i++) fails[i] = state[i] == FAILED;
    mpki_release(ctx, pivot);
    mpki_release(ctx, state);
    return status;
}
