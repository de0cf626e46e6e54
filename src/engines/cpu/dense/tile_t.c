/* SPDX-License-Identifier: BSD-3-Clause */
/* Tile LDL^T with a-posteriori pivoting of a whole matrix, on the fronts' kernels (../front.h).
 * Columns for which no tile finds a pivot go to a second stage of rook pivoting, whose L is bounded
 * by itself. The same without pivoting: tiles that take their columns in order, without a bound. */
#include "engines/cpu/isa/cpu.h"
#include "lapack.h"

#include <string.h>

enum { SECOND_PANEL = 32 };

static int64_t own_entries(int64_t n) { /* D, D^-1, and bytes for order and marks */
    return 4 * n + 16 + (9 * n + 64) / (int64_t)sizeof(T) + 8;
}

static int64_t right_entries(int64_t n) {
    return (MPKI_PANEL + 16) * n + 16;
}

mpk_status FN(tile_need)(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    const int64_t n = call->dense.n;
    *need = (mpki_dense_need){.pivots = n};
    int64_t fronts = call->threads * (FN(front_work_size)(n) + 64) + right_entries(n),
            second = FN(lapack_work)(n, SECOND_PANEL, call->threads);
    need->factorize_bytes =
        (own_entries(n) + (fronts > second ? fronts : second)) * (int64_t)sizeof(T);
    need->solve_bytes = (n + 8) * nrhs * (int64_t)sizeof(T) + FN(sweep_bytes)(call, nrhs);
    return MPK_OK;
}

/* A tile in the order given (kernels.h: tile); stops before a pivot of at most `small`. */
static int natural_tile(int n, T *a, int32_t *perm, T *d, T *dinv, int hermitian, R small) {
    enum { LD = 32 };
    for (int i = 0; i < n; i++) perm[i] = i;
    for (int p = 0; p < n; p++) {
        T pivot = a[p + p * LD];
        if (hermitian) pivot = t_make(t_re(pivot), 0);
        if (!(t_abs1(pivot) > small)) return p;
        T inv = t_inv(pivot), u[LD];
        d[2 * p] = pivot, dinv[2 * p] = inv;
        d[2 * p + 1] = dinv[2 * p + 1] = t_make(0, 0);
        for (int i = p + 1; i < n; i++) u[i] = a[i + p * LD], a[i + p * LD] = t_mul(u[i], inv);
        for (int j = p + 1; j < n; j++) {
            T m = conj_if(hermitian, u[j]);
            for (int i = p + 1; i < n; i++) a[i + j * LD] -= t_mul(a[i + p * LD], m);
        }
    }
    return n;
}

/* L's rows and the names, in the order that the second stage chose for positions first .. n-1 */
static void reorder(const FN(lower) * s, int64_t first, const int32_t *order, T *row, int32_t *id) {
    const int64_t m = s->n - first;
    for (int64_t j = 0; j < first; j++) {
        T *a = s->a + first + j * s->ld;
        memcpy(row, a, (size_t)m * sizeof(T));
        for (int64_t i = 0; i < m; i++) a[i] = row[order[i]];
    }
    memcpy(id, s->pivots + first, (size_t)m * sizeof *id);
    for (int64_t i = 0; i < m; i++) s->pivots[first + i] = id[order[i]];
}

static mpk_status second_stage(const FN(lower) * s, int64_t first, T *work, char *own) {
    FN(lower) sub = *s;
    const int64_t m = s->n - first;
    int32_t *ipiv = (int32_t *)own, *order = ipiv + m; /* own: 9 m bytes */
    unsigned char *pair = (unsigned char *)(order + m);
    sub.n = m, sub.a = s->a + first + first * s->ld, sub.pivots = ipiv;
    mpk_status status = FN(lapack_core)(&sub, 1, SECOND_PANEL, work);
    if (mpk_failed(status)) return status;
    FN(lapack_finish)(&sub, 1, order, pair);
    reorder(s, first, order, work, ipiv);
    for (int64_t k = 0; k < m; k++)
        if (pair[k]) {
            s->pivots[first + k] = ~s->pivots[first + k];
            s->pivots[first + k + 1] = ~s->pivots[first + k + 1];
        }
    return status;
}

static bool stopped(void *s) {
    return FN(lower_stopped)(s);
}

mpk_status FN(tile_factorize)(mpki_dense_call *call, FN(lower) * s) {
    const bool natural = call->dense.method != MPK_DENSE_TILE;
    const int64_t n = s->n;
    FN(kernels) table = *s->k;
    FN(front_work) works[256];
    FN(front) f = {.nrows = n, .w = (int32_t)n, .ld0 = s->ld, .a = s->a, .id = s->pivots};
    FN(front_rules)
    rules = {.k = &table, .hermitian = s->hermitian, .cancelled = stopped, .self = s};
    if (!natural) /* in the order given it is refinement that judges small pivots */
        rules.u = (R)call->dense.pivot_threshold, rules.small = s->small;
    mpki_pivots counted = {.min_d = INFINITY};
    T *shared = (T *)call->work + own_entries(n);
    char *own = call->work + 4 * n * (int64_t)sizeof(T);
    if (natural) table.tile = natural_tile;
    f.flat = 1, f.d = (T *)call->work, f.dinv = f.d + 2 * n;
    memset(f.d, 0, 4 * (size_t)n * sizeof(T));
    for (int t = 0; t < call->threads; t++)
        FN(front_work_set)(&works[t], n, shared + t * (FN(front_work_size)(n) + 64));
    f.right = shared + call->threads * (FN(front_work_size)(n) + 64);
    f.right += (64 - (uintptr_t)f.right % 64) % 64 / sizeof(T);
    for (int64_t k = 0; k < n; k++) s->pivots[k] = (int32_t)k;
    FN(front_passes)(&f, &rules, works, call->pool, 0, !natural, &counted);
    if (FN(lower_stopped)(s)) return mpki_stopped(call->ctx, "factorize");
    call->info->delayed = n - f.nelim;
    if (natural && f.nelim < n)
        return mpki_error(call->ctx, MPK_ERR_NUMERIC, "dense", f.nelim,
                          "without pivoting: a pivot near column %lld is zero or not finite",
                          (long long)f.nelim);
    for (int64_t k = 0; k < f.nelim; k++) { /* D goes where L has ones and a zero */
        s->a[k + k * s->ld] = f.d[2 * k];
        if (k + 1 < n && t_abs1(f.d[2 * k + 1]) > 0) {
            s->a[k + 1 + k * s->ld] = f.d[2 * k + 1];
            s->a[k + 1 + (k + 1) * s->ld] = f.d[2 * k + 2];
            s->pivots[k] = ~s->pivots[k], s->pivots[k + 1] = ~s->pivots[k + 1];
            k++;
        }
    }
    if (f.nelim == n) return MPK_OK;
    mpk_status status = second_stage(s, f.nelim, shared, own);
    return mpk_failed(status) ? mpki_error(call->ctx, status, "dense", -1, "the factors overflow")
                              : status;
}

mpk_status FN(tile_solve)(mpki_dense_call *call, int32_t nrhs, void *vx, int64_t ldx) {
    const int64_t n = call->dense.n, ldy = (n + 7) / 8 * 8;
    T *x = vx, *y = (T *)call->work;
    char *work = call->work + (n + 8) * nrhs * (int64_t)sizeof(T);
    bool pair;
    FN(reverse_rows)(call, nrhs, x, ldx);
    for (int32_t c = 0; c < nrhs; c++)
        for (int64_t k = 0; k < n; k++) y[k + c * ldy] = x[FN(place)(call, k, &pair) + c * ldx];
    FN(sweep_forward)(call, nrhs, y, ldy, work);
    FN(sweep_diagonal)(call, nrhs, y, ldy);
    FN(sweep_backward)(call, nrhs, y, ldy, work);
    for (int32_t c = 0; c < nrhs; c++)
        for (int64_t k = 0; k < n; k++) x[FN(place)(call, k, &pair) + c * ldx] = y[k + c * ldy];
    FN(reverse_rows)(call, nrhs, x, ldx);
    return MPK_OK;
}
