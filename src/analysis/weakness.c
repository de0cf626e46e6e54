/* SPDX-License-Identifier: BSD-3-Clause */
/* Moduli of A, and which columns can have no good 1x1 pivot on their diagonal. */
#include "weakness.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "analyse";

/* ---- moduli ---------------------------------------------------------------------------------- */

void mpki_moduli_free(mpk_context *ctx, mpki_moduli *moduli) {
    mpki_release(ctx, moduli->entry);
    mpki_release(ctx, moduli->diagonal);
    mpki_release(ctx, moduli->along);
    *moduli = (mpki_moduli){0};
}

static void take_moduli(mpk_scalar scalar, int64_t begin, int64_t end, const void *values,
                        double *out) {
    const float *s = values;
    const double *d = values;
    for (int64_t k = begin; k < end; k++) {
        switch (scalar) {
        case MPK_S:
            out[k] = fabs((double)s[k]);
            break;
        case MPK_D:
            out[k] = fabs(d[k]);
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
    const mpki_graph *graph;
    const mpki_core *core;
    const mpki_lower *rows;
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
    take_moduli(p->scalar, p->ap[begin], p->ap[end], p->ax, m->entry);
    for (int32_t j = begin; j < end; j++) {
        const int64_t k = p->ap[j];
        m->diagonal[j] = k < p->ap[j + 1] && p->ai[k] == j ? m->entry[k] : 0;
    }
}

mpk_status mpki_moduli_build(mpk_context *ctx, mpki_pool *pool, const mpk_problem *problem,
                             mpki_moduli *moduli) {
    *moduli = (mpki_moduli){0};
    moduli->entry = MPKI_NEW(ctx, STAGE, problem->nnz, double);
    moduli->diagonal = MPKI_NEW(ctx, STAGE, problem->n, double);
    if (!moduli->entry || !moduli->diagonal) {
        mpki_moduli_free(ctx, moduli);
        return mpki_failed(ctx);
    }
    taking t = {.problem = problem, .moduli = moduli, .shares = mpki_shares(pool)};
    mpki_pool_for(pool, 0, t.shares, take_item, &t);
    return MPK_OK;
}

static void along_item(mpki_pool *pool, int worker, void *arg, int64_t share) {
    const taking *t = arg;
    const mpki_graph *g = t->graph;
    const mpki_lower *rows = t->rows;
    const double *entry = t->moduli->entry;
    const int32_t end = mpki_share_begin(g->xadj, g->n, share + 1, t->shares);
    (void)pool, (void)worker;
    for (int32_t v = mpki_share_begin(g->xadj, g->n, share, t->shares); v < end; v++) {
        double *to = t->moduli->along + g->xadj[v];
        for (int64_t k = rows->ptr[v]; k < rows->ptr[v + 1]; k++) *to++ = entry[rows->place[k]];
        for (int64_t k = t->core->ap[v]; k < t->core->ap[v + 1]; k++)
            if (t->core->ai[k] != v) *to++ = entry[k];
    }
}

mpk_status mpki_moduli_along(mpk_context *ctx, mpki_pool *pool, const mpki_graph *graph,
                             const mpki_core *core, const mpki_lower *rows, mpki_moduli *moduli) {
    const int64_t count = graph->xadj[graph->n];
    if (moduli->along) return MPK_OK;
    moduli->along = MPKI_NEW(ctx, STAGE, count, double);
    if (!moduli->along) return mpki_failed(ctx);
    taking t = {
        .graph = graph, .core = core, .rows = rows, .moduli = moduli, .shares = mpki_shares(pool)};
    mpki_pool_for(pool, 0, t.shares, along_item, &t);
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

mpk_status mpki_weak_pivots(mpk_context *ctx, const mpki_graph *graph, const mpki_moduli *moduli,
                            const double *scale, const int32_t *perm, const int32_t *mate, double u,
                            int32_t *failed, char *fails) {
    int32_t n = graph->n;
    const double *full = moduli->along;
    double *pivot = MPKI_NEW(ctx, STAGE, n, double);
    char *state = MPKI_ZNEW(ctx, STAGE, n, char);
    mpk_status status = pivot && state ? MPK_OK : mpki_failed(ctx);
    *failed = 0;
    for (int32_t i = 0; !mpk_failed(status) && i < n; i++)
        pivot[i] = scale[i] * moduli->diagonal[i] * scale[i];
    for (int32_t k = 0; !mpk_failed(status) && k < n; k++) {
        int32_t v = perm[k], partner = -1;
        if (state[v] == PAIRED) continue;
        double most = 0;
        for (int64_t e = graph->xadj[v]; e < graph->xadj[v + 1]; e++) {
            int32_t w = graph->adj[e];
            if (state[w] == FAILED) partner = w;
            if (state[w] != WAITING) continue;
            double a = scale[v] * full[e] * scale[w];
            if (a > most) most = a;
        }
        if (!(pivot[v] > 0 && pivot[v] >= u * most)) {
            bool mate_next = mate && mate[v] != v && k + 1 < n && perm[k + 1] == mate[v];
            if (mate_next) partner = mate[v];
            state[v] = partner < 0 ? FAILED : PAIRED;
            if (partner >= 0) state[partner] = PAIRED;
            *failed += partner < 0;
            continue;
        }
        state[v] = ACCEPTED;
        for (int64_t e = graph->xadj[v]; e < graph->xadj[v + 1]; e++) {
            int32_t w = graph->adj[e];
            double a = scale[v] * full[e] * scale[w];
            if (state[w] == WAITING) pivot[w] += a * (a / pivot[v]);
        }
    }
    for (int32_t i = 0; fails && !mpk_failed(status) && i < n; i++) fails[i] = state[i] == FAILED;
    mpki_release(ctx, pivot);
    mpki_release(ctx, state);
    return status;
}
