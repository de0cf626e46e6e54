/* SPDX-License-Identifier: BSD-3-Clause */
/* A general matrix: which rows its matching brings to the diagonal, and the scaling of rows and
 * columns. Both are questions about its bipartite graph, and that is the graph of the symmetric
 * matrix [0, A^T; A, 0]: its vertices are the columns of A, then the rows. An undirected graph
 * without odd cycles has an integral optimal matching, so that every pair found is an entry of A,
 * and the duals are those of Duff & Koster 2001. */
#include "../analysis.h"

static const char STAGE[] = "match";

/* The lower triangle of that matrix. */
typedef struct twofold {
    int64_t *ap; /* 2 n + 1 */
    int32_t *ai; /* ap[n] */
} twofold;

static void twofold_free(mpk_context *ctx, twofold *t) {
    mpki_release(ctx, t->ap);
    mpki_release(ctx, t->ai);
    *t = (twofold){0};
}

static mpk_status twofold_make(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                               twofold *t) {
    *t = (twofold){0};
    if (n > INT32_MAX / 2)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, n, "a general matrix of %d rows: at most %d", n,
                          INT32_MAX / 2);
    t->ap = MPKI_NEW(ctx, STAGE, 2 * (int64_t)n + 1, int64_t);
    t->ai = MPKI_NEW(ctx, STAGE, ap[n], int32_t);
    if (!t->ap || !t->ai) {
        twofold_free(ctx, t);
        return mpki_failed(ctx);
    }
    for (int32_t j = 0; j < n; j++) t->ap[j] = ap[j];
    for (int64_t j = n; j <= 2 * (int64_t)n; j++) t->ap[j] = ap[n];
    for (int64_t k = 0; k < ap[n]; k++) t->ai[k] = n + ai[k];
    return MPK_OK;
}

/* Columns that no entry covers get the rows that are left: their own, where it is one of those. */
static void complete(int32_t n, int32_t *row_of, char *taken) {
    int32_t next = 0;
    for (int32_t i = 0; i < n; i++) taken[i] = 0;
    for (int32_t j = 0; j < n; j++)
        if (row_of[j] >= 0) taken[row_of[j]] = 1;
    for (int32_t j = 0; j < n; j++)
        if (row_of[j] < 0 && !taken[j]) row_of[j] = j, taken[j] = 1;
    for (int32_t j = 0; j < n; j++) {
        if (row_of[j] >= 0) continue;
        while (taken[next]) next++;
        row_of[j] = next, taken[next] = 1;
    }
}

mpk_status mpki_match_rows(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                           const double *absval, int32_t *row_of, double *scale, int32_t *rank) {
    twofold t;
    int32_t both = 0;
    int32_t *mate = MPKI_NEW(ctx, STAGE, 2 * (int64_t)n, int32_t);
    char *taken = MPKI_NEW(ctx, STAGE, n, char);
    mpk_status status = twofold_make(ctx, n, ap, ai, &t);
    if (!mpk_failed(status) && (!mate || !taken)) status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = mpki_match(ctx, 2 * n, t.ap, t.ai, absval, mate, scale, &both, NULL);
    if (!mpk_failed(status)) {
        *rank = both / 2;
        for (int32_t j = 0; j < n; j++) row_of[j] = mate[j] >= n ? mate[j] - n : -1;
        complete(n, row_of, taken);
    }
    twofold_free(ctx, &t);
    mpki_release(ctx, mate);
    mpki_release(ctx, taken);
    return status;
}

mpk_status mpki_equilibrate_rows(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                                 const double *absval, int sweeps, int threads, double *scale) {
    twofold t;
    mpk_status status = twofold_make(ctx, n, ap, ai, &t);
    if (!mpk_failed(status))
        status = mpki_equilibrate(ctx, 2 * n, t.ap, t.ai, absval, sweeps, threads, scale);
    twofold_free(ctx, &t);
    return status;
}
