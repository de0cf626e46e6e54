/* SPDX-License-Identifier: BSD-3-Clause */
/* T of Aasen's L T L^T, a band: its LU with partial pivoting, solves, inertia. */
#include "band.h"
#include "engines/cpu/isa/cpu.h"

#include <string.h>

static const T *block(const mpki_dense_call *call, int32_t nb, int64_t j, int part) {
    return (const T *)call->f->extra + (3 * j + part) * (int64_t)nb * nb;
}

static T *band_of(const mpki_dense_call *call, int32_t nb) {
    const int64_t nt = (call->dense.n + nb - 1) / nb;
    return (T *)call->f->extra + 3 * nt * nb * nb;
}

/* The columns of block b into the band: entry (i, j) in row 2 nb + i - j of column j. */
static void spread(const mpki_dense_call *call, FN(band) * band, int32_t nb, int64_t b) {
    const int64_t n = call->dense.n, ld = 3 * nb + 1, kv = 2 * nb;
    for (int64_t j = b * nb; j < n && j < (b + 1) * nb; j++) {
        const int64_t c = j - b * nb;
        T *ab = band->ab + j * ld;
        memset(ab, 0, (size_t)ld * sizeof(T));
        for (int part = 0; part < 3; part++) { /* T(B,B), T(B+1,B), T(B-1,B) */
            const int64_t rows0 = part == 0 ? b * nb : part == 1 ? (b + 1) * nb : (b - 1) * nb;
            if (rows0 < 0) continue;
            const T *from = part < 2 ? block(call, nb, b, part) : block(call, nb, b - 1, 2);
            for (int64_t r = 0; r < nb && rows0 + r < n; r++) {
                const int64_t i = rows0 + r, at = kv + i - j;
                if (i - j <= nb && j - i <= nb) ab[at] = t_make(0, 0) - from[r + c * nb];
            }
        }
        FN(scan)(ld, ab, &band->most, &band->check);
    }
}

/* x -= m y, both in the first-level cache */
static void axpy(int64_t count, T m, const T *restrict y, T *restrict x) {
    for (int64_t i = 0; i < count; i++) x[i] -= t_mul(y[i], m);
}

/* Columns band->done .. end-1 as xGBTF2, kl = ku = nb. */
static void eliminate_columns(const mpki_dense_call *call, FN(band) * band, int32_t nb,
                              int64_t end) {
    const int64_t n = call->dense.n, ld = 3 * nb + 1, kv = 2 * nb;
    int32_t *ipiv = call->f->pivots + n;
    for (int64_t j = band->done; j < end; j++) {
        const int64_t km = n - 1 - j < nb ? n - 1 - j : nb;
        T *col = band->ab + kv + j * ld; /* the diagonal entry */
        int64_t p = 0;
        R most = t_abs1(col[0]);
        for (int64_t i = 1; i <= km; i++)
            if (t_abs1(col[i]) > most) most = t_abs1(col[i]), p = i;
        ipiv[j] = (int32_t)(j + p);
        if (!(most > band->zero)) {
            for (int64_t i = 0; i <= km; i++) col[i] = t_make(0, 0);
            ipiv[j] = (int32_t)j;
            band->zeros++;
            continue;
        }
        const int64_t reach = j + nb + p < n - 1 ? j + nb + p : n - 1;
        if (reach > band->reach) band->reach = reach;
        for (int64_t c = j; p && c <= band->reach; c++) {
            T *x = band->ab + kv + j - c + c * ld, t = x[0];
            x[0] = x[p];
            x[p] = t;
        }
        const T inv = t_inv(col[0]);
        for (int64_t i = 1; i <= km; i++) col[i] = t_mul(col[i], inv);
        for (int64_t c = j + 1; c <= band->reach; c++) {
            T *x = band->ab + kv + j - c + c * ld;
            if (t_abs1(x[0]) > 0) axpy(km, x[0], col + 1, x + 1);
        }
    }
    if (band->done < end) band->done = end;
}

void FN(band_begin)(const mpki_dense_call *call, const FN(lower) * s, FN(band) * band, int32_t nb) {
    *band = (FN(band)){.ab = band_of(call, nb), .zero = s->small};
}

void FN(band_follow)(const mpki_dense_call *call, FN(band) * band, int32_t nb, int64_t j) {
    if (j < 1) return;
    spread(call, band, nb, j - 1);
    if (j >= 3) eliminate_columns(call, band, nb, (j - 2) * nb); /* reaches block J-1 at most */
}

/* ---- inertia and norms of the factors -------------------------------------------------------- */

enum { SCANNED = 64 }; /* columns of L in an item */

typedef struct largest {
    const FN(lower) * s;
    int32_t nb;
    double *most; /* of each item */
} largest;

static void largest_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const largest *l = arg;
    const FN(lower) *s = l->s;
    R most = 0, check = 0;
    (void)pool, (void)worker;
    for (int64_t j = item * SCANNED; j < (item + 1) * SCANNED && j + 1 + l->nb < s->n; j++)
        FN(scan)(s->n - j - 1 - l->nb, s->a + j + 1 + l->nb + j * s->ld, &most, &check);
    l->most[item] = check == 0 ? (double)most : (double)INFINITY;
}

mpk_status FN(band_finish)(mpki_dense_call *call, const FN(lower) * s, FN(band) * band,
                           int32_t nb) {
    const int64_t n = s->n, items = (n + SCANNED - 1) / SCANNED;
    mpk_dense_info *info = call->info;
    largest l = {s, nb, (double *)call->work};
    double most_l = 0;
    if (n > 0) spread(call, band, nb, (n - 1) / nb);
    mpki_pool_for(s->pool, 0, items, largest_item, &l);
    for (int64_t k = 0; k < items; k++) most_l = l.most[k] > most_l ? l.most[k] : most_l;
    if (!(band->check == 0) || !isfinite(most_l))
        return mpki_error(call->ctx, MPK_ERR_NUMERIC, "dense", -1, "the factors overflow");
    eliminate_columns(call, band, nb, n);
    info->zero_pivots = info->inertia.zero = band->zeros;
    info->growth = call->most > 0 ? (double)band->most / (call->most * call->scale) : 0;
    info->max_l = most_l;
    return info->zero_pivots ? MPK_SINGULAR : MPK_OK;
}

void FN(band_solve)(const mpki_dense_call *call, int32_t nb, int32_t nrhs, T *x, int64_t ldx) {
    const int64_t n = call->dense.n, ld = 3 * nb + 1, kv = 2 * nb;
    const T *ab = band_of(call, nb);
    const int32_t *ipiv = call->f->pivots + n;
    for (int64_t j = 0; j < n; j++) {
        const int64_t km = n - 1 - j < nb ? n - 1 - j : nb;
        const T *col = ab + kv + j * ld;
        for (int32_t c = 0; c < nrhs; c++) {
            T *y = x + c * ldx, t = y[ipiv[j]];
            y[ipiv[j]] = y[j];
            y[j] = t;
            for (int64_t i = 1; i <= km; i++) y[j + i] -= t_mul(col[i], t);
        }
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        const int64_t up = j < kv ? j : kv;
        const T *col = ab + kv + j * ld;
        const T inv = t_abs1(col[0]) > 0 ? t_inv(col[0]) : t_make(0, 0);
        for (int32_t c = 0; c < nrhs; c++) {
            T *y = x + c * ldx, m = t_mul(y[j], inv);
            y[j] = m;
            for (int64_t i = 1; i <= up; i++) y[j - i] -= t_mul(col[-i], m);
        }
    }
}

/* ---- inertia --------------------------------------------------------------------------------- */

/* a front holds at most `MOST` blocks of rows: carried columns, the block, the next */
enum { MOST = 4 };

int64_t FN(band_inertia_bytes)(int32_t nb) {
    const int64_t m = MOST * nb;
    return (3 * (m * m + 64) + 4 * m + FN(front_work_size)(m) + 64) * (int64_t)sizeof(T) + 8 * m;
}

/* One elimination with threshold u; false: too many columns were passed on. */
static bool eliminate(mpki_dense_call *call, int32_t nb, R u, R small, mpki_pivots *found,
                      mpk_status *status) {
    const int64_t n = call->dense.n, nt = (n + nb - 1) / nb, most = MOST * nb;
    const int hermitian = call->dense.symmetry == MPK_HERMITIAN;
    T *front = (T *)call->work, *kept = front + most * most + 64, *update = kept + most * most + 64,
      *d = update + most * most + 64;
    FN(front_work) work;
    FN(front_rules)
    rules = {.k = FN(cpu_kernels)(), .hermitian = hermitian, .u = u, .small = small};
    FN(front_work_set)(&work, most, d + 4 * most);
    int32_t *id = (int32_t *)(d + 4 * most + FN(front_work_size)(most) + 64);
    int64_t carried = 0; /* columns passed on and the block's own: lower triangle, ld = most */
    for (int64_t i = 0; i < (n < nb ? n : nb); i++)
        for (int64_t k = 0; k <= i; k++)
            kept[i + k * most] = t_make(0, 0) - block(call, nb, 0, 0)[i + k * nb];
    for (int64_t j = 0; j < nt; j++) {
        const int64_t rows = n - j * nb < nb ? n - j * nb : nb, w = carried + rows;
        const int64_t next = j + 1 < nt ? (n - (j + 1) * nb < nb ? n - (j + 1) * nb : nb) : 0;
        FN(front)
        f = {.nrows = w + next, .w = (int32_t)w, .ld0 = most, .a = front, .id = id, .d = d};
        f.dinv = d + 2 * most, f.flat = 1;
        memset(front, 0, (size_t)(most * most) * sizeof(T));
        for (int64_t k = 0; k < w; k++) {
            id[k] = (int32_t)k;
            memcpy(front + k + k * most, kept + k + k * most, (size_t)(w - k) * sizeof(T));
        }
        for (int64_t k = 0; k < rows && next; k++)
            for (int64_t i = 0; i < next; i++)
                front[w + i + (carried + k) * most] =
                    t_make(0, 0) - block(call, nb, j, 1)[i + k * nb];
        *status = FN(front_factor)(&f, &rules, &work, NULL, 0, found);
        if (mpk_failed(*status)) return true;
        if (!next) return true;
        const int64_t left = w - f.nelim;
        if (left + 2 * nb > most) return false;
        FN(front_update)(&f, &rules, &work, update, NULL, 0);
        for (int64_t k = 0; k < left; k++)
            memcpy(kept + k + k * most, front + (f.nelim + k) * (most + 1),
                   (size_t)(left - k + next) * sizeof(T));
        const int64_t ldu = mpki_leading(next);
        for (int64_t k = 0; k < next; k++)
            for (int64_t i = k; i < next; i++) {
                const int64_t p = k / MPKI_PANEL;
                T x = update[mpki_panel_offset(ldu, p) +
                             (k - p * MPKI_PANEL) * (ldu - p * MPKI_PANEL) + i - p * MPKI_PANEL];
                kept[left + i + (left + k) * most] = x - block(call, nb, j + 1, 0)[i + k * nb];
            }
        carried = left;
    }
    return true;
}

mpk_status FN(band_inertia)(mpki_dense_call *call, int32_t nb, mpk_inertia *inertia) {
    static const double thresholds[] = {0.01, 1e-5, 0};
    const int64_t n = call->dense.n, nt = (n + nb - 1) / nb;
    R most = 0;
    mpk_status status = MPK_OK;
    for (int64_t k = 0; k < 3 * nt * nb * nb - (nt > 0 ? 2 * nb * nb : 0); k++) {
        R x = t_abs1(((const T *)call->f->extra)[k]);
        most = x > most ? x : most;
    }
    /* a pivot of T takes part in the roundings of nb neighbours, not of n */
    const R small = (R)(call->dense.zero_tolerance * nb / (double)n) * most;
    for (int k = 0; k < 3; k++) {
        mpki_pivots found = {.min_d = INFINITY};
        if (!eliminate(call, nb, (R)thresholds[k], small, &found, &status)) continue;
        if (mpk_failed(status)) return mpki_error(call->ctx, status, "dense", -1, "T overflows");
        *inertia = (mpk_inertia){found.positive, found.negative, found.zero, 0, 0};
        return MPK_OK;
    }
    return mpki_error(call->ctx, MPK_ERR_NUMERIC, "dense", -1, "T has no pivots within its band");
}
