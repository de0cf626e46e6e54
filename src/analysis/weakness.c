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
    *moduli = (mpki_moduli){0};
}

static void take_moduli(mpk_scalar scalar, int64_t count, const void *values, double *out) {
    const float *s = values;
    const double *d = values;
    for (int64_t k = 0; k < count; k++) {
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

mpk_status mpki_moduli_build(mpk_context *ctx, const mpk_problem *problem, mpki_moduli *moduli) {
    *moduli = (mpki_moduli){0};
    moduli->entry = MPKI_NEW(ctx, STAGE, problem->nnz, double);
    moduli->diagonal = MPKI_ZNEW(ctx, STAGE, problem->n, double);
    if (!moduli->entry || !moduli->diagonal) {
        mpki_moduli_free(ctx, moduli);
        return mpki_failed(ctx);
    }
    take_moduli(problem->scalar, problem->nnz, problem->ax, moduli->entry);
    for (int32_t j = 0; j < problem->n; j++) {
        int64_t k = problem->ap[j];
        if (k < problem->ap[j + 1] && problem->ai[k] == j) moduli->diagonal[j] = moduli->entry[k];
    }
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

/* Moduli in the order of the graph's adjacency. */
static double *full_moduli(mpk_context *ctx, const mpki_graph *graph, const int64_t *ap,
                           const int32_t *ai, const double *entry) {
    double *full = MPKI_NEW(ctx, STAGE, graph->xadj[graph->n], double);
    int64_t *next = MPKI_NEW(ctx, STAGE, graph->n, int64_t);
    if (full && next) {
        memcpy(next, graph->xadj, (size_t)graph->n * sizeof *next);
        for (int32_t j = 0; j < graph->n; j++)
            for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
                if (ai[k] == j) continue;
                full[next[j]++] = entry[k];
                full[next[ai[k]]++] = entry[k];
            }
    } else {
        mpki_release(ctx, full);
        full = NULL;
    }
    mpki_release(ctx, next);
    return full;
}

enum { WAITING, ACCEPTED, FAILED, PAIRED };

mpk_status mpki_weak_pivots(mpk_context *ctx, const mpki_graph *graph, const int64_t *ap,
                            const int32_t *ai, const mpki_moduli *moduli, const double *scale,
                            const int32_t *perm, const int32_t *mate, double u, int32_t *failed,
                            char *fails) {
    int32_t n = graph->n;
    double *full = full_moduli(ctx, graph, ap, ai, moduli->entry);
    double *pivot = MPKI_NEW(ctx, STAGE, n, double);
    char *state = MPKI_ZNEW(ctx, STAGE, n, char);
    mpk_status status = full && pivot && state ? MPK_OK : mpki_failed(ctx);
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
    mpki_release(ctx, full);
    mpki_release(ctx, pivot);
    mpki_release(ctx, state);
    return status;
}
