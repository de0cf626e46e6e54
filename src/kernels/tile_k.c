/* SPDX-License-Identifier: BSD-3-Clause */
/* L D L^T of a tile of at most 32 columns with complete pivoting (Bunch & Parlett 1971, SIAM J.
 * Numer. Anal. 8). Both triangles are kept, so a row is a column and every loop runs along memory;
 * the largest entry for the next step is found during this step's update. */
#include "alpha.h"
#include "isa.h"
#include "pivot.h"
#include "vector.h"

enum { LD = 32 };

#if MPKI_COMPLEX
INLINE void swap_t(T *a, T *b) {
    T t = *a;
    *a = *b;
    *b = t;
}

static void exchange_entries(int n, T *a, int p, int q) {
    for (int k = 0; k < n; k++) swap_t(&a[p + k * LD], &a[q + k * LD]);
    for (int k = 0; k < n; k++) swap_t(&a[k + p * LD], &a[k + q * LD]);
}

/* a(:, j) -= l1 u1 (+ l2 u2) for rows from s on; most(i) = the largest modulus seen in row i. */
static void update_column(int s, int n, T *restrict a, const T *l1, T u1, const T *l2, T u2,
                          R *restrict most) {
    for (int i = s; i < n; i++) {
        a[i] -= l2 ? t_mul(l1[i], u1) + t_mul(l2[i], u2) : t_mul(l1[i], u1);
        R x = t_abs1(a[i]);
        most[i] = x > most[i] ? x : most[i];
    }
}

static void update(int s, int n, T *a, const T *l1, const T *u, const T *l2, const T *v,
                   int hermitian, R *most) {
    for (int j = s; j < n; j++)
        update_column(s, n, a + j * LD, l1, conj_if(hermitian, u[j]), l2,
                      l2 ? conj_if(hermitian, v[j]) : t_make(0, 0), most);
}

static void look(int n, T *a, R *most) {
    for (int j = 0; j < n; j++)
        update_column(0, n, a + j * LD, a, t_make(0, 0), NULL, t_make(0, 0), most);
}

static void scale_column(int s, int n, T *l, T *u, T di) {
    for (int i = s; i < n; i++) {
        u[i] = l[i];
        l[i] = t_mul(u[i], di);
    }
}
#else
/* All by whole vectors: a vector is not read soon after single entries of it were written, which the
 * processor would wait for. Rows before s are not read again, rows beyond n are zeros. */
#if MPKI_PRECISION == 0
typedef int32_t lane;
#else
typedef int64_t lane;
#endif
typedef lane lanes __attribute__((vector_size(VBYTES)));
typedef lane lanes_u __attribute__((vector_size(VBYTES), aligned(sizeof(lane)), may_alias));

/* All ones in the lanes from `first` on, or in this one alone. */
INLINE lanes lanes_from(int first) {
    static const lane mask[2 * LANES] = {[LANES... 2 * LANES - 1] = -1};
    return *(const lanes_u *)(mask + LANES - first);
}
INLINE lanes lane_of(int one) {
    static const lane mask[2 * LANES] = {[LANES] = -1};
    return *(const lanes_u *)(mask + LANES - one);
}
/* Of x in these lanes, of y in the others. */
INLINE vec choose(lanes mask, vec x, vec y) {
    return (vec)(((lanes)x & mask) | ((lanes)y & ~mask));
}

/* |x| by its bits: one operation where v_abs() takes two. */
INLINE vec modulus(vec x) {
    const vec sign = v_all((R)-0.0);
    return (vec)((lanes)x & ~(lanes)sign);
}

static void exchange_entries(int n, T *a, int p, int q) {
    const int at_p = p / LANES * LANES, at_q = q / LANES * LANES;
    const lanes in_p = lane_of(p - at_p), in_q = lane_of(q - at_q);
    for (int k = 0; k < n; k++) {
        T *column = a + k * LD;
        const vec x = v_all(column[p]), y = v_all(column[q]);
        const vec to_p = choose(in_p, y, v_load(column + at_p));
        if (at_p == at_q) {
            v_store(column + at_p, choose(in_q, x, to_p));
        } else {
            v_store(column + at_p, to_p);
            v_store(column + at_q, choose(in_q, x, v_load(column + at_q)));
        }
    }
    for (int i = 0; i < n; i += LANES) {
        const vec x = v_load(a + i + p * LD), y = v_load(a + i + q * LD);
        v_store(a + i + p * LD, y);
        v_store(a + i + q * LD, x);
    }
}

/* a(:, j) -= l1 u(j) (+ l2 v(j)) for rows and columns from s on; most(i) = the largest modulus in
 * row i. */
INLINE void update(int s, int n, T *a, const T *l1, const T *u, const T *l2, const T *v,
                   int hermitian, R *most) {
    (void)hermitian;
    for (int i = s / LANES * LANES; i < n; i += LANES) {
        const vec x1 = v_load(l1 + i), x2 = l2 ? v_load(l2 + i) : x1;
        vec m = {0}, m_other = {0}; /* two, for each waits for its last maximum */
        int j = s;
        for (; j + 1 < n; j += 2) {
            T *column = a + j * LD + i;
            vec x = v_load(column) - x1 * v_all(u[j]);
            vec y = v_load(column + LD) - x1 * v_all(u[j + 1]);
            if (l2) x -= x2 * v_all(v[j]), y -= x2 * v_all(v[j + 1]);
            v_store(column, x);
            v_store(column + LD, y);
            m = v_max(modulus(x), m);
            m_other = v_max(modulus(y), m_other);
        }
        if (j < n) {
            vec x = v_load(a + j * LD + i) - x1 * v_all(u[j]);
            if (l2) x -= x2 * v_all(v[j]);
            v_store(a + j * LD + i, x);
            m = v_max(modulus(x), m);
        }
        m = v_max(m, m_other);
        v_store(most + i, m);
    }
}

/* The same without a pivot; an entry of the first column that is not finite is seen in all. */
static void look(int n, T *a, R *most) {
    const T none[LD] = {0};
    update(0, n, a, a, none, NULL, NULL, 0, most);
}

/* u := the column l, which is then multiplied by di, both from row s on. */
static void scale_column(int s, int n, T *l, T *u, T di) {
    for (int i = s / LANES * LANES; i < n; i += LANES) {
        const vec x = v_load(l + i);
        v_store(u + i, x);
        v_store(l + i, i < s ? choose(lanes_from(s - i), x * di, x) : x * di);
    }
}
#endif

/* exchange rows and columns p and q of all n, including the rows of finished columns */
static void exchange(int n, T *a, int32_t *perm, int p, int q) {
    if (p == q) return;
    exchange_entries(n, a, p, q);
    int32_t t = perm[p];
    perm[p] = perm[q];
    perm[q] = t;
}

int ISA_FN(tile)(int n, T *a, int32_t *perm, T *d, T *dinv, int hermitian, R small) {
    const R alpha = (R)MPKI_ALPHA;
    R most[LD] __attribute__((aligned(64))); /* most[i] = max over remaining j of |a(i, j)| */
    for (int i = 0; i < LD; i++) most[i] = 0;
    for (int i = 0; i < n; i++) perm[i] = i;
    look(n, a, most);
    int p = 0;
    while (p < n) {
        int r = p, dmax = p;
        R largest = most[p], diag = t_abs1(a[p + p * LD]);
        /* by selections: no branch could be foretold */
        for (int i = p + 1; i < n; i++) {
            const R x = most[i], y = t_abs1(a[i + i * LD]);
            r = x > largest ? i : r;
            largest = x > largest ? x : largest;
            dmax = y > diag ? i : dmax;
            diag = y > diag ? y : diag;
        }
        if (!(largest > small)) break;
        int width = 1;
        if (diag >= alpha * largest) {
            exchange(n, a, perm, p, dmax);
        } else {
            /* partner of r: where its row is largest off the diagonal; by row, as `most` was
             * formed, since the triangles may differ by rounding */
            int c = r == p ? p + 1 : p;
            R most_of_r = t_abs1(a[r + c * LD]);
            for (int j = p; j < n; j++) {
                const R x = t_abs1(a[r + j * LD]);
                const int more = (x > most_of_r) & (j != r);
                c = more ? j : c;
                most_of_r = more ? x : most_of_r;
            }
            exchange(n, a, perm, p, r);
            exchange(n, a, perm, p + 1, c == p ? r : c);
            width = 2;
        }
        T u[LD] __attribute__((aligned(64))), v[LD]; /* columns p (and p+1) before scaling */
        int s = p + width;
        for (int i = 0; i < LD; i++) most[i] = 0;
        if (width == 1) {
            T dk = hermitian ? t_make(t_re(a[p + p * LD]), 0) : a[p + p * LD];
            T di = t_inv(dk);
            d[2 * p] = dk, dinv[2 * p] = di;
            d[2 * p + 1] = dinv[2 * p + 1] = t_make(0, 0);
            scale_column(s, n, a + p * LD, u, di);
            update(s, n, a, a + p * LD, u, NULL, NULL, hermitian, most);
        } else {
            T d11 = a[p + p * LD], d22 = a[p + 1 + (p + 1) * LD];
            T d21 = conj_if(hermitian, a[p + (p + 1) * LD]);
            if (hermitian) d11 = t_make(t_re(d11), 0), d22 = t_make(t_re(d22), 0);
            FN(pivot) q = FN(pivot_inverse)(d11, d21, d22, hermitian);
            d[2 * p] = d11, d[2 * p + 1] = d21, d[2 * p + 2] = d22, d[2 * p + 3] = t_make(0, 0);
            dinv[2 * p] = q.i11, dinv[2 * p + 1] = q.i21, dinv[2 * p + 2] = q.i22;
            dinv[2 * p + 3] = t_make(0, 0);
            for (int i = s; i < n; i++) {
                u[i] = a[i + p * LD], v[i] = a[i + (p + 1) * LD];
                a[i + p * LD] = t_mul(u[i], q.i11) + t_mul(v[i], q.i21);
                a[i + (p + 1) * LD] = t_mul(u[i], q.i12) + t_mul(v[i], q.i22);
            }
            a[p + 1 + p * LD] = t_make(0, 0); /* L(p+1,p) is 0 inside a 2x2 pivot */
            update(s, n, a, a + p * LD, u, a + (p + 1) * LD, v, hermitian, most);
        }
        p = s;
    }
    return p;
}
