/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU of small matrices, one after the other: P A Q = L D U. Rows and columns never move; those
 * that are finished are struck from two lists, and the permutations are applied when L and U are
 * written. */
#include "kernels.h"
#include "kernels/isa.h"
#include "kernels/vector.h"

enum { LD = MPKI_BATCH_LD };

typedef struct list {
    int at[LD], left; /* ascending old indices */
} list;

typedef struct elimination {
    int n, pivoting;
    T *w, *l, *u; /* what is left; columns of L by step; rows of U by step, u(j, s) = U(s, j) */
    T d[LD];
    int row[LD], col[LD]; /* old indices at each position */
    list rows, cols;
    R small;
    int singular, broken, not_finite, zero;
} elimination;

static void strike(list *x, int p) {
    int k = 0;
    while (x->at[k] != p) k++;
    for (x->left--; k < x->left; k++) x->at[k] = x->at[k + 1];
}

static void load(elimination *e, const T *a, int64_t ld, const int32_t *piv, R tol) {
    const int n = e->n;
    R most = 0;
    T sum = t_make(0, 0);
    memset(e->w, 0, (size_t)n * LD * sizeof(T));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            T x = a[i + j * ld];
            sum += x * (R)0;
            if (e->pivoting >= MPK_PIVOTING_PARTIAL && t_abs1(x) > most) most = t_abs1(x);
            e->w[i + j * LD] = x;
        }
    if (e->pivoting < MPK_PIVOTING_PARTIAL)
        for (int s = 0; s < n; s++) {
            R x = t_abs1(piv ? e->w[piv[s] + piv[n + s] * LD] : e->w[s + s * LD]);
            if (x > most) most = x;
        }
    if (t_abs1(sum) != 0) e->not_finite = 1;
    e->small = tol * most;
    e->rows.left = e->cols.left = n;
    for (int i = 0; i < n; i++) e->rows.at[i] = e->cols.at[i] = i;
}

static int largest_row(const elimination *e, int q, R *value) {
    int at = e->rows.at[0];
    *value = 0;
    for (int k = 0; k < e->rows.left; k++) {
        int i = e->rows.at[k];
        if (t_abs1(e->w[i + q * LD]) > *value) *value = t_abs1(e->w[i + q * LD]), at = i;
    }
    return at;
}

static int largest_column(const elimination *e, int p, R *value) {
    int at = e->cols.at[0];
    *value = 0;
    for (int k = 0; k < e->cols.left; k++) {
        int j = e->cols.at[k];
        if (t_abs1(e->w[p + j * LD]) > *value) *value = t_abs1(e->w[p + j * LD]), at = j;
    }
    return at;
}

/* Rook pivoting (Neal & Poole 1992): from the first column that is not zero, along columns and rows
 * in turn, until an entry is the largest of both. */
static void choose_rook(const elimination *e, int *p, int *q) {
    R value = 0, next;
    for (int k = 0; k < e->cols.left && !(value > e->small); k++) {
        *q = e->cols.at[k];
        *p = largest_row(e, *q, &value);
    }
    for (int step = 0; step < e->n; step++) {
        int j = largest_column(e, *p, &next);
        if (!(next > value)) return;
        *q = j, value = next;
        int i = largest_row(e, *q, &next);
        if (!(next > value)) return;
        *p = i, value = next;
    }
}

static void choose_complete(const elimination *e, int *p, int *q) {
    R best = -1, value;
    for (int k = 0; k < e->cols.left; k++) {
        int i = largest_row(e, e->cols.at[k], &value);
        if (value > best) best = value, *p = i, *q = e->cols.at[k];
    }
}

static void choose(const elimination *e, int s, const int32_t *piv, int *p, int *q) {
    R value;
    switch (e->pivoting) {
    case MPK_PIVOTING_STATIC:
        *p = piv[s], *q = piv[e->n + s];
        break;
    case MPK_PIVOTING_PARTIAL:
        *p = largest_row(e, *q, &value);
        break;
    case MPK_PIVOTING_ROOK:
        choose_rook(e, p, q);
        break;
    case MPK_PIVOTING_COMPLETE:
        choose_complete(e, p, q);
        break;
    default:
        break;
    }
}

/* A zero pivot is right if its row and column are zero too. */
static void zero_pivot(elimination *e, int s, int p, int q) {
    R down, along;
    T sum = t_make(0, 0);
    largest_row(e, q, &down);
    largest_column(e, p, &along);
    for (int k = 0; k < e->rows.left; k++) sum += e->w[e->rows.at[k] + q * LD] * (R)0;
    for (int k = 0; k < e->cols.left; k++) sum += e->w[p + e->cols.at[k] * LD] * (R)0;
    if (t_abs1(sum) != 0) e->not_finite = 1;
    if (down > e->small || along > e->small) e->broken = 1;
    memset(e->l + s * LD, 0, LD * sizeof(T));
    memset(e->u + s * LD, 0, LD * sizeof(T));
    e->d[s] = t_make(0, 0);
    e->singular = 1;
    e->zero++;
}

static void eliminate(elimination *e, int s, int p, int q) {
    T d = e->w[p + q * LD], inverse = t_inv(d), *l = e->l + s * LD;
    const T *c = e->w + q * LD;
    for (int i = 0; i < LD && i < (e->n + 15) / 16 * 16; i++)
        l[i] = i < e->n ? t_mul(c[i], inverse) : t_make(0, 0);
    for (int k = 0; k < e->cols.left; k++) {
        int j = e->cols.at[k];
        T x = e->w[p + j * LD], *y = e->w + j * LD;
        e->u[j + s * LD] = t_mul(x, inverse);
        if (j == q) continue;
#if MPKI_COMPLEX
        for (int i = 0; i < e->n; i++) y[i] -= t_mul(l[i], x);
#else
        vec v = v_all(x);
        for (int i = 0; i < e->n; i += LANES) v_store(y + i, v_load(y + i) - v_load(l + i) * v);
#endif
    }
    e->d[s] = d;
}

static void ldu(elimination *e, const int32_t *piv) {
    for (int s = 0; s < e->n && !e->broken; s++) {
        int p = e->rows.at[0], q = e->cols.at[0];
        choose(e, s, piv, &p, &q);
        if (t_abs1(e->w[p + q * LD]) <= e->small)
            zero_pivot(e, s, p, q);
        else
            eliminate(e, s, p, q);
        e->row[s] = p, e->col[s] = q;
        strike(&e->rows, p), strike(&e->cols, q);
    }
}

static void store(const elimination *e, T *a, int64_t ld, T *sum) {
    for (int s = 0; s < e->n; s++) {
        a[s + s * ld] = e->d[s];
        *sum += e->d[s] * (R)0;
        for (int k = s + 1; k < e->n; k++) {
            a[k + s * ld] = e->l[e->row[k] + s * LD];
            a[s + k * ld] = e->u[e->col[k] + s * LD];
            *sum += (a[k + s * ld] + a[s + k * ld]) * (R)0;
        }
    }
}

static void one(int pivoting, int n, T *a, int64_t ld, int32_t *piv, int32_t *info, R tol,
                T *work) {
    elimination e;
    T sum = t_make(0, 0);
    e.n = n, e.pivoting = pivoting;
    e.w = work, e.l = work + LD * LD, e.u = work + 2 * LD * LD;
    e.singular = e.broken = e.not_finite = e.zero = 0;
    load(&e, a, ld, pivoting == MPK_PIVOTING_STATIC ? piv : NULL, tol);
    if (!e.not_finite) ldu(&e, piv);
    if (!e.not_finite && !e.broken) store(&e, a, ld, &sum);
    if (t_abs1(sum) != 0) e.not_finite = 1;
    int bad = e.not_finite || e.broken;
    if (pivoting >= MPK_PIVOTING_PARTIAL)
        for (int k = 0; k < n; k++) piv[k] = bad ? k : e.row[k], piv[n + k] = bad ? k : e.col[k];
    info[0] = e.not_finite ? MPK_BATCH_NOT_FINITE
              : e.broken   ? MPK_BATCH_BREAKDOWN
                           : (e.singular ? MPK_BATCH_SINGULAR : MPK_BATCH_OK);
    info[1] = bad ? 0 : n - e.zero;
    info[2] = 0;
    info[3] = bad ? 0 : e.zero;
}

static void all(int pivoting, int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv,
                int32_t *info, R tol, T *work) {
    for (int64_t b = 0; b < count; b++)
        one(pivoting, n, a + b * stride, ld, piv ? piv + 2 * b * n : NULL,
            info + b * MPKI_BATCH_INFO, tol, work);
}

void ISA_FN(batch_ldu_careful)(int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv,
                               int32_t *info, R tol, int hermitian, T *work) {
    (void)hermitian;
    all(MPK_PIVOTING_NONE, count, n, a, ld, stride, piv, info, tol, work);
}
void ISA_FN(batch_ldu_static)(int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv,
                              int32_t *info, R tol, int hermitian, T *work) {
    (void)hermitian;
    all(MPK_PIVOTING_STATIC, count, n, a, ld, stride, piv, info, tol, work);
}
void ISA_FN(batch_ldu_partial)(int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv,
                               int32_t *info, R tol, int hermitian, T *work) {
    (void)hermitian;
    all(MPK_PIVOTING_PARTIAL, count, n, a, ld, stride, piv, info, tol, work);
}
void ISA_FN(batch_ldu_rook)(int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv,
                            int32_t *info, R tol, int hermitian, T *work) {
    (void)hermitian;
    all(MPK_PIVOTING_ROOK, count, n, a, ld, stride, piv, info, tol, work);
}
void ISA_FN(batch_ldu_complete)(int64_t count, int n, T *a, int64_t ld, int64_t stride,
                                int32_t *piv, int32_t *info, R tol, int hermitian, T *work) {
    (void)hermitian;
    all(MPK_PIVOTING_COMPLETE, count, n, a, ld, stride, piv, info, tol, work);
}
