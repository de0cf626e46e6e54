/* SPDX-License-Identifier: BSD-3-Clause */
/* Threshold partial pivoting, column by column, against whole columns (Duff & Reid 1983, ACM TOMS
 * 9(3)), for the few columns for which tiles find no pivot. What is left of a root is eliminated
 * with complete pivoting. */
#include "kernels/pivot.h"
#include "front.h"

static inline T *at(const FN(front) * f, int64_t i, int64_t j) {
    return FN(front_at)(f, i, j);
}

/* entry (i, j) of what remains of the fully summed part, i and j in either order */
static inline T entry(const FN(front) * f, int hermitian, int64_t i, int64_t j) {
    return i >= j ? *at(f, i, j) : conj_if(hermitian, *at(f, j, i));
}

typedef struct column {
    R most;      /* largest off-diagonal modulus, that of the partner excluded if there is one */
    R summed;    /* largest among the fully summed rows ... */
    int64_t row; /* ... and where; -1: none */
    R free;      /* largest among the free rows */
    int finite;
} column;

static column scan(const FN(front) * f, int64_t j, int64_t p, int64_t partner) {
    column c = {0, 0, -1, 0, 1};
    R check = 0; /* not 0 where NaN or Inf was met */
    for (int64_t i = p; i < f->w; i++) {
        if (i == j || i == partner) continue;
        R x = t_abs1(i > j ? *at(f, i, j) : *at(f, j, i));
        check += x - x;
        if (x > c.summed) c.summed = x, c.row = i;
    }
    c.most = c.summed;
    const T *col = at(f, j, j) - j;
    for (int64_t i = f->w; i < f->nrows; i++) {
        R x = t_abs1(col[i]);
        check += x - x;
        if (i < f->nrows - f->free && x > c.most) c.most = x;
        if (i >= f->nrows - f->free && x > c.free) c.free = x;
    }
    R d = t_abs1(*at(f, j, j));
    check += d - d;
    c.finite = check == 0;
    return c;
}

/* eliminate the 1x1 pivot at p from all columns after it */
static void eliminate1(FN(front) * f, int hermitian, int64_t p, T d) {
    T di = t_abs1(d) > 0 ? t_inv(d) : t_make(0, 0);
    f->d[2 * p] = d, f->dinv[2 * p] = di;
    f->d[2 * p + 1] = f->dinv[2 * p + 1] = t_make(0, 0);
    T *l = at(f, p, p) - p;
    for (int64_t j = p + 1; j < f->w; j++) {
        T m = t_mul(conj_if(hermitian, l[j]), di), *a = at(f, j, j) - j;
        if (t_abs1(m) > 0)
            for (int64_t i = j; i < f->nrows; i++) a[i] -= t_mul(l[i], m);
    }
    for (int64_t i = p + 1; i < f->nrows; i++) l[i] = t_mul(l[i], di);
}

static void eliminate2(FN(front) * f, int hermitian, int64_t p) {
    T d11 = *at(f, p, p), d21 = *at(f, p + 1, p), d22 = *at(f, p + 1, p + 1);
    if (hermitian) d11 = t_make(t_re(d11), 0), d22 = t_make(t_re(d22), 0);
    FN(pivot) q = FN(pivot_inverse)(d11, d21, d22, hermitian);
    T *d = f->d + 2 * p, *dinv = f->dinv + 2 * p;
    d[0] = d11, d[1] = d21, d[2] = d22, d[3] = t_make(0, 0);
    dinv[0] = q.i11, dinv[1] = q.i21, dinv[2] = q.i22, dinv[3] = t_make(0, 0);
    *at(f, p + 1, p) = t_make(0, 0);
    T *l1 = at(f, p, p) - p, *l2 = at(f, p + 1, p + 1) - (p + 1);
    for (int64_t j = p + 2; j < f->w; j++) {
        T u = conj_if(hermitian, l1[j]), v = conj_if(hermitian, l2[j]);
        T m1 = t_mul(q.i11, u) + t_mul(q.i12, v), m2 = t_mul(q.i21, u) + t_mul(q.i22, v);
        T *a = at(f, j, j) - j;
        for (int64_t i = j; i < f->nrows; i++) a[i] -= t_mul(l1[i], m1) + t_mul(l2[i], m2);
    }
    for (int64_t i = p + 2; i < f->nrows; i++) {
        T x1 = l1[i], x2 = l2[i];
        l1[i] = t_mul(x1, q.i11) + t_mul(x2, q.i21);
        l2[i] = t_mul(x1, q.i12) + t_mul(x2, q.i22);
    }
}

/* Does the 2x2 pivot (j, r) keep |L| <= 1/u? Its determinant must not be cancellation. */
static int pair_passes(const FN(front) * f, const FN(front_rules) * rules, int64_t j, int64_t r,
                       R most_j, R most_r) {
    R a = t_abs1(*at(f, j, j)), b = t_abs1(entry(f, rules->hermitian, j, r)),
      c = t_abs1(*at(f, r, r));
    R scale = a > b ? a : b;
    scale = c > scale ? c : scale;
    if (!(b > 0) || !(scale > rules->small)) return 0;
    T off = entry(f, rules->hermitian, j, r);
    R s = 1 / scale;
    T p1 = t_mul(*at(f, j, j) * s, *at(f, r, r)),
      p2 = t_mul(off * s, conj_if(rules->hermitian, off));
    R det = t_abs1(p1 - p2), m1 = t_abs1(p1) / 2, m2 = t_abs1(p2) / 2; /* det / scale */
    if (!(det > rules->small) || !(det >= m1) || !(det >= m2)) return 0;
    R x = (c * most_j + b * most_r) * s / det, y = (b * most_j + a * most_r) * s / det;
    return x <= 1 / rules->u && y <= 1 / rules->u;
}

/* Where the largest remaining entry is: the choice of complete pivoting, for a root. */
static void largest(const FN(front) * f, int64_t p, int64_t *row, int64_t *col, int64_t *diag) {
    *row = *col = *diag = p;
    R most = -1;
    for (int64_t j = p; j < f->w; j++) {
        if (t_abs1(*at(f, j, j)) > t_abs1(*at(f, *diag, *diag))) *diag = j;
        for (int64_t i = j; i < f->w; i++)
            if (t_abs1(*at(f, i, j)) > most) most = t_abs1(*at(f, i, j)), *row = i, *col = j;
    }
}

/* bring columns j (and r) to p (and p+1) */
static void bring(FN(front) * f, int hermitian, int64_t p, int64_t j, int64_t r) {
    FN(front_swap)(f, hermitian, p, j);
    if (r >= 0) FN(front_swap)(f, hermitian, p + 1, r == p ? j : r);
}

/* Only the rows below have entries left in the columns from p on: all become zero pivots at once,
 * for none changes another. */
static void drop_rest(FN(front) * f, const FN(front_rules) * rules, int64_t p,
                      mpki_pivots *pivots) {
    for (; p < f->w; p++) {
        T *l = at(f, p, p) - p;
        const column c = scan(f, p, p, -1);
        pivots->broken += c.most > rules->small || c.free > rules->small;
        for (int64_t i = p; i < f->nrows; i++) l[i] = t_make(0, 0);
        eliminate1(f, rules->hermitian, p, t_make(0, 0));
    }
    f->nelim = f->w;
}

mpk_status FN(front_threshold)(FN(front) * f, const FN(front_rules) * rules, int root,
                               mpki_pivots *pivots) {
    enum { ASK = 1 << 20 }; /* entries searched or changed between two questions to `cancelled` */
    const int hermitian = rules->hermitian;
    int64_t seen = 0;
    int64_t p = f->nelim,
            next = p; /* where the search goes on: columns before it have just failed */
    while (p < f->w) {
        int64_t pick = -1, pair = -1;
        int zero = 0;
        if (next < p || next >= f->w) next = p;
        for (int64_t tried = 0, j = next; tried < f->w - p && pick < 0;
             tried++, j = j + 1 < f->w ? j + 1 : p) {
            next = j + 1;
            seen += f->nrows - p;
            if (seen > ASK) {
                if (FN(front_stopped)(rules, (double)seen)) return MPK_ERR_CANCELLED;
                seen = 0;
            }
            column c = scan(f, j, p, -1);
            if (!c.finite) return MPK_ERR_NUMERIC;
            R d = t_abs1(*at(f, j, j));
            if (!(d > rules->small) && !(c.most > rules->small) && !(c.free > rules->small)) {
                pick = j, zero = 1;
            } else if (d > rules->small && d >= rules->u * c.most) {
                pick = j;
            } else if (c.row >= 0) {
                int64_t r = c.row;
                R most_j = scan(f, j, p, r).most, most_r = scan(f, r, p, j).most;
                if (pair_passes(f, rules, j, r, most_j, most_r)) pick = j, pair = r;
            }
        }
        if (pick < 0 && root) { /* complete pivoting bounds L without a test */
            int64_t row, col, diag;
            seen += (f->w - p) * (f->w - p) / 2;
            largest(f, p, &row, &col, &diag);
            if (f->last && !(t_abs1(*at(f, row, col)) > rules->small)) {
                drop_rest(f, rules, p, pivots);
                return MPK_OK;
            }
            if (t_abs1(*at(f, diag, diag)) >= (R)0.64 * t_abs1(*at(f, row, col)))
                pick = diag;
            else
                pick = col, pair = row;
        }
        if (pick < 0 && rules->shift > 0) { /* change the pivot instead of delaying it */
            pick = p;
            T *d = at(f, p, p);
            if (!(t_abs1(*d) >= rules->shift))
                *d = t_make(t_re(*d) < 0 ? -rules->shift : rules->shift, 0);
            pivots->perturbed++;
        }
        if (pick < 0) break;
        seen += (f->w - p) * (f->nrows - p);
        bring(f, hermitian, p, pick, pair);
        if (zero) {
            T *l = at(f, p, p) - p;
            for (int64_t i = p; i < f->nrows; i++) l[i] = t_make(0, 0);
            eliminate1(f, hermitian, p, t_make(0, 0));
            p++;
        } else if (pair < 0) {
            eliminate1(f, hermitian, p, hermitian ? t_make(t_re(*at(f, p, p)), 0) : *at(f, p, p));
            p++;
        } else {
            eliminate2(f, hermitian, p);
            p += 2;
        }
    }
    f->nelim = (int32_t)p;
    return MPK_OK;
}
