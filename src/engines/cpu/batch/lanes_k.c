/* SPDX-License-Identifier: BSD-3-Clause */
/* LLT, LDLT and LDU without pivoting, with a matrix in each lane of a vector: entry (i, j) of LANES
 * matrices lies side by side, so every loop over rows works on whole vectors, however small the
 * matrices are. Left-looking, four rows at a time. A matrix with a pivot of at most its bound, or
 * with an entry that is not finite, is given up here and done again by the careful kernels
 * (symmetric_k.c, general_k.c); the lanes of its neighbours do not depend on it. */
#include "kernels.h"
#include "kernels/isa.h"
#include "kernels/vector.h"
#include <stdbool.h>

#define FACTOR_ARGUMENTS                                                                           \
    (int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv, int32_t *info, R tol,   \
     int hermitian, T *work)
void ISA_FN(batch_llt_careful) FACTOR_ARGUMENTS;
void ISA_FN(batch_ldlt_careful) FACTOR_ARGUMENTS;
void ISA_FN(batch_ldu_careful) FACTOR_ARGUMENTS;

#if MPKI_COMPLEX
void ISA_FN(batch_llt_none) FACTOR_ARGUMENTS {
    ISA_FN(batch_llt_careful)(count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
void ISA_FN(batch_ldlt_none) FACTOR_ARGUMENTS {
    ISA_FN(batch_ldlt_careful)(count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
void ISA_FN(batch_ldu_none) FACTOR_ARGUMENTS {
    ISA_FN(batch_ldu_careful)(count, n, a, ld, stride, piv, info, tol, hermitian, work);
}
#else

enum { MOST_N = 40 }; /* beyond it the careful kernels are faster */

typedef struct group {
    int n;
    vec *w;     /* n x n, column-major: entry (i, j) is w[i + j n] */
    vec *d;     /* n pivots (LLT: their square roots) */
    vec *v;     /* n, scratch: a row of L D */
    vec finite; /* not 0 in a lane once an entry is not finite */
    vec small;  /* the bound of a pivot in each lane */
    vec least;  /* least pivot less its bound: not positive in a lane that failed */
} group;

INLINE vec v_sqrt(vec x) {
    for (int q = 0; q < LANES; q++) x[q] = r_sqrt(x[q]);
    return x;
}
INLINE vec v_min(vec x, vec y) {
    return -v_max(-x, -y);
}

/* Columns of `lanes` matrices into the lanes; lanes left over repeat the last matrix. */
static void load(group *g, int lanes, bool lower, const T *a, int64_t ld, int64_t stride, R tol) {
    const int n = g->n;
    const T *from[LANES];
    vec most = {0};
    for (int q = 0; q < LANES; q++) from[q] = a + (q < lanes ? q : lanes - 1) * stride;
    g->finite = (vec){0};
    for (int j = 0; j < n; j++)
        for (int i = lower ? j : 0; i < n; i++) {
            vec x;
            for (int q = 0; q < LANES; q++) x[q] = from[q][i + j * ld];
            g->w[i + j * n] = x;
        }
    for (int j = 0; j < n; j++) most = v_max(v_abs(g->w[j + j * n]), most);
    g->small = most * tol;
    g->least = v_all(1);
}

/* c[i] = w(i, s) - sum_k w(i, k) v[k] for rows from .. n-1, k < s; written back to column s. */
static void form_column(group *g, int s, int from) {
    const int n = g->n;
    vec *c = g->w + s * n;
    const vec *v = g->v;
    int i = from;
    for (; i + 4 <= n; i += 4) {
        vec x0 = c[i], x1 = c[i + 1], x2 = c[i + 2], x3 = c[i + 3];
        for (int k = 0; k < s; k++) {
            const vec *l = g->w + i + k * n;
            x0 -= l[0] * v[k], x1 -= l[1] * v[k], x2 -= l[2] * v[k], x3 -= l[3] * v[k];
        }
        c[i] = x0, c[i + 1] = x1, c[i + 2] = x2, c[i + 3] = x3;
    }
    for (; i < n; i++) {
        vec x = c[i];
        for (int k = 0; k < s; k++) x -= g->w[i + k * n] * v[k];
        c[i] = x;
    }
}

static void scale_column(group *g, int s, int from, vec r) {
    vec *c = g->w + s * g->n;
    for (int i = from; i < g->n; i++) {
        g->finite += c[i] * 0;
        c[i] *= r;
    }
}

static void llt(group *g) {
    for (int s = 0; s < g->n; s++) {
        for (int k = 0; k < s; k++) g->v[k] = g->w[s + k * g->n];
        form_column(g, s, s);
        vec d = g->w[s + s * g->n];
        g->least = v_min(d - g->small, g->least);
        g->d[s] = v_sqrt(d);
        scale_column(g, s, s, 1 / g->d[s]);
    }
}

static void ldlt(group *g) {
    for (int s = 0; s < g->n; s++) {
        for (int k = 0; k < s; k++) g->v[k] = g->w[s + k * g->n] * g->d[k];
        form_column(g, s, s);
        vec d = g->w[s + s * g->n];
        g->least = v_min(v_abs(d) - g->small, g->least);
        g->d[s] = d;
        scale_column(g, s, s + 1, 1 / d);
    }
}

/* Column s of D U on and above the diagonal, then of L below it; U is divided by D at the end. */
static void ldu(group *g) {
    const int n = g->n;
    for (int s = 0; s < n; s++) {
        vec *c = g->w + s * n;
        for (int k = 0; k < s; k++) { /* rows 1 .. s-1 of the column, by columns of L */
            vec u = c[k];
            g->v[k] = u;
            for (int i = k + 1; i < s; i++) c[i] -= g->w[i + k * n] * u;
        }
        form_column(g, s, s);
        vec d = c[s];
        g->least = v_min(v_abs(d) - g->small, g->least);
        g->d[s] = d;
        scale_column(g, s, s + 1, 1 / d);
    }
    for (int i = 0; i < n; i++) {
        vec r = 1 / g->d[i];
        for (int j = i + 1; j < n; j++) {
            g->finite += g->w[i + j * n] * 0;
            g->w[i + j * n] *= r;
        }
    }
}

static void store(const group *g, int lane, bool lower, T *a, int64_t ld) {
    for (int j = 0; j < g->n; j++)
        for (int i = lower ? j : 0; i < g->n; i++) a[i + j * ld] = g->w[i + j * g->n][lane];
}

static void count_signs(const group *g, int lane, bool signs, int32_t *info) {
    int positive = 0;
    for (int s = 0; s < g->n; s++) positive += g->d[s][lane] > 0;
    info[0] = MPK_BATCH_OK;
    info[1] = signs ? positive : g->n;
    info[2] = signs ? g->n - positive : 0;
    info[3] = 0;
}

static void all(mpk_batch_method method, int64_t count, int n, T *a, int64_t ld, int64_t stride,
                int32_t *info, R tol, T *work) {
    const bool lower = method != MPK_BATCH_LDU;
    group g = {.n = n, .w = (vec *)work};
    g.d = g.w + n * n, g.v = g.d + n;
    for (int64_t b = 0; b < count; b += LANES) {
        const int lanes = count - b < LANES ? (int)(count - b) : LANES;
        load(&g, lanes, lower, a + b * stride, ld, stride, tol);
        if (method == MPK_BATCH_LLT)
            llt(&g);
        else if (method == MPK_BATCH_LDLT)
            ldlt(&g);
        else
            ldu(&g);
        unsigned again = 0;
        for (int s = 0; s < n; s++) g.finite += g.d[s] * 0;
        for (int q = 0; q < lanes; q++) {
            if (!(g.least[q] > 0) || g.finite[q] != 0) {
                again |= 1u << q;
                continue;
            }
            store(&g, q, lower, a + (b + q) * stride, ld);
            count_signs(&g, q, method == MPK_BATCH_LDLT, info + (b + q) * MPKI_BATCH_INFO);
        }
        for (int q = 0; again >> q; q++) { /* this overwrites the group */
            if (!(again >> q & 1)) continue;
            T *x = a + (b + q) * stride;
            int32_t *y = info + (b + q) * MPKI_BATCH_INFO;
            if (method == MPK_BATCH_LLT)
                ISA_FN(batch_llt_careful)(1, n, x, ld, stride, NULL, y, tol, 0, work);
            else if (method == MPK_BATCH_LDLT)
                ISA_FN(batch_ldlt_careful)(1, n, x, ld, stride, NULL, y, tol, 0, work);
            else
                ISA_FN(batch_ldu_careful)(1, n, x, ld, stride, NULL, y, tol, 0, work);
        }
    }
}

void ISA_FN(batch_llt_none) FACTOR_ARGUMENTS {
    if (n > MOST_N)
        ISA_FN(batch_llt_careful)(count, n, a, ld, stride, piv, info, tol, hermitian, work);
    else
        all(MPK_BATCH_LLT, count, n, a, ld, stride, info, tol, work);
}
void ISA_FN(batch_ldlt_none) FACTOR_ARGUMENTS {
    if (n > MOST_N)
        ISA_FN(batch_ldlt_careful)(count, n, a, ld, stride, piv, info, tol, hermitian, work);
    else
        all(MPK_BATCH_LDLT, count, n, a, ld, stride, info, tol, work);
}
void ISA_FN(batch_ldu_none) FACTOR_ARGUMENTS {
    if (n > MOST_N)
        ISA_FN(batch_ldu_careful)(count, n, a, ld, stride, piv, info, tol, hermitian, work);
    else
        all(MPK_BATCH_LDU, count, n, a, ld, stride, info, tol, work);
}
#endif
