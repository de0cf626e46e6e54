/* SPDX-License-Identifier: BSD-3-Clause */
/* L D U of a diagonal block, with separate pivoting of rows and columns: M C N^T = D with M = L^-1
 * P and N^T = Q U^-1. Pivoting: none, partial by rows, rook (Neal & Poole 1992), complete. Row k of
 * lt holds column k of L. */
#include "alpha.h"
#include "block_inverse.h"
#include "block_isa.h"
#include "block_pivot.h"
#include <metapack/options.h>

typedef struct lu {
    int w, ld;
    R nothing; /* MPKI_NOTHING of the floor */
    T *c, *lt;
    int32_t row[MPKI_BLOCK_MAX], col[MPKI_BLOCK_MAX];
} lu;

INLINE void swap_rows(T *c, int ld, int p, int q, int w) {
    for (int k = 0; k < w; k++) {
        T t = c[p * ld + k];
        c[p * ld + k] = c[q * ld + k], c[q * ld + k] = t;
    }
}

INLINE void swap_cols(T *c, int ld, int p, int q, int w) {
    for (int k = 0; k < w; k++) {
        T t = c[k * ld + p];
        c[k * ld + p] = c[k * ld + q], c[k * ld + q] = t;
    }
}

INLINE R at(const lu *f, int i, int j) {
    return t_abs1(f->c[i * f->ld + j]);
}

/* the largest of all that is left; of equal ones (MPKI_TIE) the first, row by row */
static void choose_complete(const lu *f, int p, int *i, int *j) {
    R top = at(f, p, p);
    for (int r = p; r < f->w; r++)
        for (int k = p; k < f->w; k++)
            if (at(f, r, k) > top) top = at(f, r, k);
    if (!(top > f->nothing)) return;
    for (int r = p; r < f->w; r++)
        for (int k = p; k < f->w; k++)
            if (at(f, r, k) >= top * (1 - (R)MPKI_TIE(sizeof(R)))) {
                *i = r, *j = k;
                return;
            }
}

/* The row from p on where column j is largest, or the column where row i is: the first of equal
 * ones (MPKI_TIE). `but` where that is nothing, or is no more than `size`, the entry seen last. */
static int largest_row(const lu *f, int j, int p, int but, R size) {
    R top = 0;
    for (int r = p; r < f->w; r++) top = at(f, r, j) > top ? at(f, r, j) : top;
    const R least = top * (1 - (R)MPKI_TIE(sizeof(R)));
    if (!(top > f->nothing && least > size)) return but;
    for (int r = p; r < f->w; r++)
        if (at(f, r, j) >= least) return r;
    return but;
}
static int largest_col(const lu *f, int i, int p, int but, R size) {
    R top = 0;
    for (int k = p; k < f->w; k++) top = at(f, i, k) > top ? at(f, i, k) : top;
    const R least = top * (1 - (R)MPKI_TIE(sizeof(R)));
    if (!(top > f->nothing && least > size)) return but;
    for (int k = p; k < f->w; k++)
        if (at(f, i, k) >= least) return k;
    return but;
}

/* row i and column j of the next pivot */
static void choose(const lu *f, int pivoting, int p, int *i, int *j) {
    *i = *j = p;
    if (pivoting == MPK_PIVOTING_COMPLETE) {
        choose_complete(f, p, i, j);
        return;
    }
    if (pivoting != MPK_PIVOTING_PARTIAL && pivoting != MPK_PIVOTING_ROOK) return;
    *i = largest_row(f, p, p, p, at(f, p, p));
    while (pivoting ==
           MPK_PIVOTING_ROOK) { /* the entry grows, by more than rounding, so this ends */
        const int k = largest_col(f, *i, p, *j, at(f, *i, *j));
        if (k == *j) break;
        *j = k;
        const int r = largest_row(f, *j, p, *i, at(f, *i, *j));
        if (r == *i) break;
        *i = r;
    }
}

/* the pivot at p, replaced and counted as the slot `factor` says; returns its inverse, 0 if it is
 * zero */
static T pivot(T *d, R floor, R nothing, FN(pivot_report) * report) {
    R modulus = t_abs(*d);
    if (modulus < report->smallest) report->smallest = modulus;
    if (modulus > report->largest) report->largest = modulus;
    if (!(modulus > (floor > R_TINY ? floor : R_TINY))) {
        if (!(floor > R_TINY)) return report->zero++, t_make(0, 0);
        T sign = modulus > nothing ? FN(pivot_over)(*d, modulus) : t_make(1, 0);
        *d = FN(pivot_times)(sign, floor);
        report->perturbed++;
    }
    if (!MPKI_COMPLEX && t_re(*d) > 0) report->positive++;
    if (!MPKI_COMPLEX && !(t_re(*d) > 0)) report->negative++;
    return t_inv(*d);
}

void ISA_FN(block_ldu)(int w, T *c, int ld, int pivoting, R floor, const R *butterfly, T *m, T *n,
                       T *d, T *dinv, T *work, FN(pivot_report) * report) {
    lu f = {.w = w, .ld = ld, .nothing = floor * (R)MPKI_NOTHING(sizeof(R)), .c = c, .lt = work};
    for (int i = 0; i < w; i++) f.row[i] = f.col[i] = i;
    if (butterfly) block_butterfly(w, c, ld, butterfly, butterfly + w);
    for (int p = 0; p < w; p++) {
        int i, j;
        choose(&f, pivoting, p, &i, &j);
        if (i != p) {
            swap_rows(c, ld, p, i, w), swap_cols(f.lt, ld, p, i, p);
            int32_t t = f.row[p];
            f.row[p] = f.row[i], f.row[i] = t;
        }
        if (j != p) {
            swap_cols(c, ld, p, j, w);
            int32_t t = f.col[p];
            f.col[p] = f.col[j], f.col[j] = t;
        }
        T *u = c + p * ld, *lt = f.lt + p * ld, dp = u[p];
        if (!FN(pivot_finite)(dp)) {
            report->failed = p;
            return;
        }
        T e = pivot(&dp, floor, f.nothing, report);
        d[2 * p] = dp, dinv[2 * p] = e, d[2 * p + 1] = dinv[2 * p + 1] = t_make(0, 0);
        for (int r = p + 1; r < w; r++) {
            lt[r] = t_mul(c[r * ld + p], e);
            FN(row_minus)(p + 1, w, c + r * ld, lt[r], u);
        }
        for (int k = p + 1; k < w; k++) u[k] = t_mul(u[k], e);
    }
    int32_t place[MPKI_BLOCK_MAX] = {0};
    for (int i = 0; i < w; i++) place[i] = i;
    block_inverse(w, f.lt, ld, place, f.row, butterfly, m);
    block_inverse(w, c, ld, place, f.col, butterfly ? butterfly + w : NULL, n);
    R norm_n = block_norm(w, n, ld);
    report->norm_m = block_norm(w, m, ld);
    if (!(norm_n <= report->norm_m)) report->norm_m = norm_n;
    if (!(report->norm_m <= (sizeof(R) == 4 ? (R)FLT_MAX : (R)DBL_MAX))) report->failed = 0;
}
