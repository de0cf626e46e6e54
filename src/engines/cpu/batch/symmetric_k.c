/* SPDX-License-Identifier: BSD-3-Clause */
/* LLT and LDLT of small matrices, one after the other. Both triangles are kept and rows never move:
 * a finished row or column is struck from the list of active ones, every loop runs down a whole
 * column, and the permutation is applied when L is written back. */
#include "kernels.h"
#include "kernels/alpha.h"
#include "kernels/isa.h"
#include "kernels/vector.h"
#include "pivot.h"

enum { LD = MPKI_BATCH_LD };

typedef struct elimination {
    int n, hermitian, pivoting;
    T *w;           /* what is left, both triangles, column-major */
    T *l;           /* columns of L by step, rows by old index */
    T d[2 * LD];    /* D(k,k), D(k+1,k) */
    int perm[LD];   /* old index at each position */
    int pair[LD];   /* 1 at the first, 2 at the second position of a 2x2 pivot */
    int active[LD]; /* ascending old indices of what is left */
    int left;
    R small; /* absolute zero tolerance */
    int singular, broken, not_finite;
    int positive, negative, zero;
} elimination;

/* y(0..n-1) -= x1 u1 (+ x2 u2) */
#if MPKI_COMPLEX
static void subtract(int n, T *restrict y, const T *x1, T u1, const T *x2, T u2) {
    for (int i = 0; i < n; i++) {
        y[i] -= t_mul(x1[i], u1);
        if (x2) y[i] -= t_mul(x2[i], u2);
    }
}
#else
INLINE void subtract(int n, T *restrict y, const T *x1, T u1, const T *x2, T u2) {
    vec v1 = v_all(u1), v2 = v_all(u2);
    for (int i = 0; i < n; i += LANES) { /* whole vectors: rows beyond n are zeros */
        vec v = v_load(y + i) - v_load(x1 + i) * v1;
        if (x2) v -= v_load(x2 + i) * v2;
        v_store(y + i, v);
    }
}
#endif

static void load(elimination *e, const T *a, int64_t ld, R tol) {
    const int n = e->n, hermitian = e->hermitian;
    R most = 0;
    T sum = t_make(0, 0);
    memset(e->w, 0, (size_t)n * LD * sizeof(T));
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            T x = a[i + j * ld];
            if (i == j && hermitian) x = t_make(t_re(x), 0);
            sum += x * (R)0; /* NaN once an entry is not finite */
            if ((i == j || e->pivoting >= MPK_PIVOTING_PARTIAL) && t_abs1(x) > most)
                most = t_abs1(x);
            e->w[i + j * LD] = x;
            e->w[j + i * LD] = conj_if(hermitian, x);
        }
    if (t_abs1(sum) != 0) e->not_finite = 1;
    e->small = tol * most;
    e->left = n;
    for (int i = 0; i < n; i++) e->active[i] = i;
}

static void strike(elimination *e, int p) {
    int k = 0;
    while (e->active[k] != p) k++;
    for (e->left--; k < e->left; k++) e->active[k] = e->active[k + 1];
}

/* The row where column c is largest among the active rows, except row `but`; -1: all are zero. */
static int largest(const elimination *e, const T *c, int but, R *value) {
    int at = -1;
    *value = 0;
    for (int k = 0; k < e->left; k++) {
        int i = e->active[k];
        if (i != but && t_abs1(c[i]) > *value) *value = t_abs1(c[i]), at = i;
    }
    return at;
}

enum { ALL_ZERO = 0 }; /* width of a pivot: 1, 2, or this: only zeros are left */

static const R alpha = (R)MPKI_ALPHA;

/* Bunch & Kaufman (1977), algorithm A, on the lowest active column. */
static int choose_partial(const elimination *e, int *p, int *q) {
    R lambda, sigma;
    int r = e->active[0], s = largest(e, e->w + r * LD, r, &lambda);
    R diag = t_abs1(e->w[r + r * LD]);
    *p = r;
    if (!(diag > e->small) && !(lambda > e->small)) return ALL_ZERO;
    if (s < 0 || diag >= alpha * lambda) return 1;
    largest(e, e->w + s * LD, s, &sigma);
    if (diag >= alpha * lambda * (lambda / sigma)) return 1; /* squares could overflow, or vanish */
    if (t_abs1(e->w[s + s * LD]) >= alpha * sigma) return *p = s, 1;
    *q = s;
    return 2;
}

/* Bounded Bunch-Kaufman or rook pivoting: from column to column until an entry is the largest of
 * both of its columns (Ashcraft, Grimes & Lewis 1998, SIAM J. Matrix Anal. Appl. 20). */
static int choose_rook(const elimination *e, int *p, int *q) {
    R lambda, sigma;
    int r = e->active[0], s = largest(e, e->w + r * LD, r, &lambda);
    *p = r;
    if (!(t_abs1(e->w[r + r * LD]) > e->small) && !(lambda > e->small)) return ALL_ZERO;
    if (s < 0 || t_abs1(e->w[r + r * LD]) >= alpha * lambda) return 1;
    for (int step = 0; step < e->n; step++) {
        int t = largest(e, e->w + s * LD, s, &sigma);
        if (t_abs1(e->w[s + s * LD]) >= alpha * sigma) return *p = s, 1;
        if (t == r || !(sigma > lambda)) break;
        r = s, s = t, lambda = sigma;
    }
    *p = r, *q = s;
    return 2;
}

/* Bunch & Parlett (1971): the largest entry of all. LLT: the largest on the diagonal. */
static int choose_complete(const elimination *e, int *p, int *q) {
    R diag = -1, off = 0;
    for (int k = 0; k < e->left; k++) {
        int j = e->active[k];
        const T *c = e->w + j * LD;
        if (t_abs1(c[j]) > diag) diag = t_abs1(c[j]), *p = j;
    }
    int r = -1, s = -1;
    for (int k = 0; k < e->left; k++) {
        R value;
        int j = e->active[k], i = largest(e, e->w + j * LD, j, &value);
        if (value > off) off = value, r = j, s = i;
    }
    if (!(diag > e->small) && !(off > e->small)) return ALL_ZERO;
    if (r < 0 || diag >= alpha * off) return 1;
    *p = r < s ? r : s; /* the triangles differ by rounding: take the same pair from either */
    *q = r < s ? s : r;
    return 2;
}

/* Is it a zero pivot, with a column of zeros? */
static int is_zero(elimination *e, int p, int q) {
    R m1, m2 = 0;
    largest(e, e->w + p * LD, -1, &m1);
    if (q >= 0) largest(e, e->w + q * LD, -1, &m2);
    return !(m1 > e->small) && !(m2 > e->small);
}

static void note(elimination *e, int s, int p, int pair) {
    e->perm[s] = p;
    e->pair[s] = pair;
}

static void zero_pivot(elimination *e, int s, int p) {
    T sum = t_make(0, 0);
    for (int k = 0; k < e->left; k++) sum += e->w[e->active[k] + p * LD] * (R)0;
    if (t_abs1(sum) != 0) e->not_finite = 1; /* NaN must not pass for a zero */
    for (int i = 0; i < LD; i++) e->l[i + s * LD] = t_make(0, 0);
    e->d[2 * s] = e->d[2 * s + 1] = t_make(0, 0);
    note(e, s, p, 0);
    strike(e, p);
    e->zero++;
    e->singular = 1;
}

static void eliminate_one(elimination *e, int s, int p) {
    T d = e->w[p + p * LD], *c = e->w + p * LD, *l = e->l + s * LD;
    if (e->hermitian) d = t_make(t_re(d), 0);
    T inverse = t_inv(d);
    strike(e, p);
    for (int i = 0; i < e->n; i++) l[i] = t_mul(c[i], inverse);
    for (int i = e->n; i < LD && i < (e->n + 15) / 16 * 16; i++) l[i] = t_make(0, 0);
    for (int k = 0; k < e->left; k++) {
        int j = e->active[k];
        subtract(e->n, e->w + j * LD, l, conj_if(e->hermitian, c[j]), NULL, d);
    }
    e->d[2 * s] = d;
    e->d[2 * s + 1] = t_make(0, 0);
    note(e, s, p, 0);
    if (t_re(d) > 0)
        e->positive++;
    else
        e->negative++;
}

static int eliminate_two(elimination *e, int s, int p, int q) {
    T *c1 = e->w + p * LD, *c2 = e->w + q * LD, *l1 = e->l + s * LD, *l2 = l1 + LD;
    T d11 = c1[p], d21 = c1[q], d22 = c2[q];
    if (e->hermitian) d11 = t_make(t_re(d11), 0), d22 = t_make(t_re(d22), 0);
    FN(two) z = FN(two_invert)(d11, d21, d22, e->hermitian);
    if (!z.regular) return 0;
    strike(e, p), strike(e, q);
    for (int i = 0; i < LD && i < (e->n + 15) / 16 * 16; i++) {
        T x1 = i < e->n ? c1[i] : t_make(0, 0), x2 = i < e->n ? c2[i] : t_make(0, 0);
        l1[i] = t_mul(x1, z.i11) + t_mul(x2, z.i21);
        l2[i] = t_mul(x1, z.i12) + t_mul(x2, z.i22);
    }
    for (int k = 0; k < e->left; k++) {
        int j = e->active[k];
        subtract(e->n, e->w + j * LD, l1, conj_if(e->hermitian, c1[j]), l2,
                 conj_if(e->hermitian, c2[j]));
    }
    e->d[2 * s] = d11, e->d[2 * s + 1] = d21;
    e->d[2 * s + 2] = d22, e->d[2 * s + 3] = t_make(0, 0);
    note(e, s, p, 1), note(e, s + 1, q, 2);
    if (z.det < 0)
        e->positive++, e->negative++;
    else if (t_re(d11) + t_re(d22) > 0)
        e->positive += 2;
    else
        e->negative += 2;
    return 1;
}

/* Without a choice: the next pivot as given. A zero pivot above a column that is not zero ends the
 * factorization. */
static int width_given(elimination *e, int s, const int32_t *piv, int *p, int *q) {
    *p = piv ? (piv[s] < 0 ? ~piv[s] : piv[s]) : s;
    int width = piv && piv[s] < 0 ? 2 : 1;
    if (width == 2) *q = ~piv[s + 1];
    R most = t_abs1(e->w[*p + *p * LD]);
    if (width == 2) {
        R d21 = t_abs1(e->w[*q + *p * LD]), d22 = t_abs1(e->w[*q + *q * LD]);
        if (d21 > most) most = d21;
        if (d22 > most) most = d22;
    }
    if (most > e->small) return width;
    if (!is_zero(e, *p, width == 2 ? *q : -1)) {
        e->broken = 1;
        return 1;
    }
    return ALL_ZERO;
}

static void ldlt(elimination *e, const int32_t *piv) {
    int s = 0;
    while (s < e->n && !e->broken) {
        int p = e->active[0], q = -1, width;
        switch (e->pivoting) {
        case MPK_PIVOTING_PARTIAL:
            width = choose_partial(e, &p, &q);
            break;
        case MPK_PIVOTING_ROOK:
            width = choose_rook(e, &p, &q);
            break;
        case MPK_PIVOTING_COMPLETE:
            width = choose_complete(e, &p, &q);
            break;
        default:
            width = width_given(e, s, e->pivoting == MPK_PIVOTING_STATIC ? piv : NULL, &p, &q);
        }
        if (e->broken) break;
        if (width == ALL_ZERO) {
            zero_pivot(e, s++, p);
            if (q >= 0) zero_pivot(e, s++, q); /* a given pair: two zero pivots */
        } else if (width == 1) {
            eliminate_one(e, s++, p);
        } else if (eliminate_two(e, s, p, q)) {
            s += 2;
        } else {
            e->broken = 1;
        }
    }
}

/* Columns are divided by the square root, after which D = 1: e->d keeps the root. */
static void llt(elimination *e) {
    for (int s = 0; s < e->n; s++) {
        int p = e->active[0];
        if (e->pivoting == MPK_PIVOTING_COMPLETE)
            for (int k = 1; k < e->left; k++) {
                int j = e->active[k];
                if (t_re(e->w[j + j * LD]) > t_re(e->w[p + p * LD])) p = j;
            }
        R d = t_re(e->w[p + p * LD]);
        if (!MPKI_COMPLEX || e->hermitian ? d > e->small : t_abs1(e->w[p + p * LD]) > e->small) {
            eliminate_one(e, s, p);
            continue;
        }
        if (!(t_abs1(e->w[p + p * LD]) <= e->small) || !is_zero(e, p, -1)) {
            e->broken = 1;
            return;
        }
        zero_pivot(e, s, p);
    }
}

static T root(T d) {
#if MPKI_COMPLEX
    R m = t_abs(d), re = r_sqrt((m + r_abs(t_re(d))) / 2);
    if (!(re > 0)) return t_make(0, 0);
    if (t_re(d) >= 0) return t_make(re, t_im(d) / (2 * re));
    return t_make(r_abs(t_im(d)) / (2 * re), t_im(d) < 0 ? -re : re);
#else
    return r_sqrt(d);
#endif
}

static void store(elimination *e, int is_llt, T *a, int64_t ld) {
    for (int s = 0; s < e->n; s++) {
        const T *l = e->l + s * LD;
        T d = e->d[2 * s], r = is_llt ? root(d) : d;
        a[s + s * ld] = r;
        for (int i = s + 1; i < e->n; i++) {
            T x = l[e->perm[i]];
            a[i + s * ld] = is_llt ? t_mul(x, r) : x;
        }
        if (!is_llt && e->pair[s] == 1) a[s + 1 + s * ld] = e->d[2 * s + 1];
    }
}

static void finish(const elimination *e, int32_t *piv, int32_t *info) {
    if (piv && e->pivoting >= MPK_PIVOTING_PARTIAL)
        for (int k = 0; k < e->n; k++) piv[k] = e->pair[k] ? ~e->perm[k] : e->perm[k];
    const int counts = !MPKI_COMPLEX || e->hermitian;
    info[0] = e->singular ? MPK_BATCH_SINGULAR : MPK_BATCH_OK;
    info[1] = counts ? e->positive : 0;
    info[2] = counts ? e->negative : 0;
    info[3] = e->zero;
}

static void failed(int n, int pivoting, int outcome, int32_t *piv, int32_t *info) {
    if (piv && pivoting >= MPK_PIVOTING_PARTIAL)
        for (int k = 0; k < n; k++) piv[k] = k;
    info[0] = outcome;
    info[1] = info[2] = info[3] = 0;
}

static int all_finite(const elimination *e) {
    T sum = t_make(0, 0);
    for (int s = 0; s < e->n; s++) {
        sum += e->d[2 * s] * (R)0 + e->d[2 * s + 1] * (R)0;
        for (int k = s + 1; k < e->n; k++) sum += e->l[e->perm[k] + s * LD] * (R)0;
    }
    return t_abs1(sum) == 0;
}

static void one(int is_llt, int pivoting, int n, T *a, int64_t ld, int32_t *piv, int32_t *info,
                R tol, int hermitian, T *work) {
    elimination e;
    e.n = n, e.hermitian = hermitian, e.pivoting = pivoting;
    e.w = work, e.l = work + LD * LD;
    e.singular = e.broken = e.not_finite = e.positive = e.negative = e.zero = 0;
    load(&e, a, ld, tol);
    if (!e.not_finite) {
        if (is_llt)
            llt(&e);
        else
            ldlt(&e, piv);
    }
    if (e.not_finite || (!e.broken && !all_finite(&e))) {
        failed(n, pivoting, MPK_BATCH_NOT_FINITE, piv, info);
    } else if (e.broken) {
        failed(n, pivoting, MPK_BATCH_BREAKDOWN, piv, info);
    } else {
        store(&e, is_llt, a, ld);
        finish(&e, piv, info);
    }
}

static void all(int is_llt, int pivoting, int64_t count, int n, T *a, int64_t ld, int64_t stride,
                int32_t *piv, int32_t *info, R tol, int hermitian, T *work) {
    for (int64_t b = 0; b < count; b++)
        one(is_llt, pivoting, n, a + b * stride, ld, piv ? piv + b * n : NULL,
            info + b * MPKI_BATCH_INFO, tol, hermitian, work);
}

void ISA_FN(batch_llt_careful)(int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv,
                               int32_t *info, R tol, int hermitian, T *work) {
    all(1, MPK_PIVOTING_NONE, count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
void ISA_FN(batch_llt_complete)(int64_t count, int n, T *a, int64_t ld, int64_t stride,
                                int32_t *piv, int32_t *info, R tol, int hermitian, T *work) {
    all(1, MPK_PIVOTING_COMPLETE, count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
void ISA_FN(batch_ldlt_careful)(int64_t count, int n, T *a, int64_t ld, int64_t stride,
                                int32_t *piv, int32_t *info, R tol, int hermitian, T *work) {
    all(0, MPK_PIVOTING_NONE, count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
void ISA_FN(batch_ldlt_static)(int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv,
                               int32_t *info, R tol, int hermitian, T *work) {
    all(0, MPK_PIVOTING_STATIC, count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
void ISA_FN(batch_ldlt_partial)(int64_t count, int n, T *a, int64_t ld, int64_t stride,
                                int32_t *piv, int32_t *info, R tol, int hermitian, T *work) {
    all(0, MPK_PIVOTING_PARTIAL, count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
void ISA_FN(batch_ldlt_rook)(int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv,
                             int32_t *info, R tol, int hermitian, T *work) {
    all(0, MPK_PIVOTING_ROOK, count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
void ISA_FN(batch_ldlt_complete)(int64_t count, int n, T *a, int64_t ld, int64_t stride,
                                 int32_t *piv, int32_t *info, R tol, int hermitian, T *work) {
    all(0, MPK_PIVOTING_COMPLETE, count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
