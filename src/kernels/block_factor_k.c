/* SPDX-License-Identifier: BSD-3-Clause */
/* L D L^T of a diagonal block with the explicit M = L^-1 P (kernels/blocks.h). Both triangles are
 * kept, so that a column is a row and every loop runs along memory; a finished row holds L^T.
 * Pivot strategies: Bunch & Kaufman 1977; Ashcraft, Grimes & Lewis 1998 (rook); Bunch & Parlett
 * 1971 (complete); Duff & Pralet 2005 (static 1x1 and 2x2 pivots of a matching). Comparisons of
 * complex entries use |re| + |im|. */
#include "block_inverse.h"
#include "block_isa.h"
#include "block_pivot.h"
#include <metapack/options.h>

#define ALPHA ((R)0.6403882032022076) /* (1 + sqrt(17)) / 8 */

typedef struct work {
    int w, ld, hermitian;
    R floor;
    T *c, *d, *dinv;
    int32_t perm[MPKI_BLOCK_MAX], place[MPKI_BLOCK_MAX]; /* old row at a place; its inverse */
    FN(pivot_report) * report;
} work;

/* the next pivot: 1x1 at place i, or 2x2 of places i and j */
typedef struct choice {
    int width, i, j;
} choice;

static void exchange(work *f, int p, int q) {
    if (p == q) return;
    T *c = f->c;
    for (int k = p; k < f->w; k++) {
        T t = c[p * f->ld + k];
        c[p * f->ld + k] = c[q * f->ld + k], c[q * f->ld + k] = t;
    }
    for (int k = 0; k < f->w; k++) {
        T t = c[k * f->ld + p];
        c[k * f->ld + p] = c[k * f->ld + q], c[k * f->ld + q] = t;
    }
    int32_t t = f->perm[p];
    f->perm[p] = f->perm[q], f->perm[q] = t;
    f->place[f->perm[p]] = p, f->place[f->perm[q]] = q;
}

INLINE R at(const work *f, int i, int j) {
    return t_abs1(f->c[i * f->ld + j]);
}

/* where row i is largest in columns from p on, column i left out; -1 if all of it is zero */
static int largest(const work *f, int i, int p, R *value) {
    int where = -1;
    *value = 0;
    for (int k = p; k < f->w; k++) {
        R x = at(f, i, k);
        if (x > *value && k != i) *value = x, where = k;
    }
    return where;
}

static choice bunch_kaufman(const work *f, int p) {
    R column, row;
    int r = largest(f, p, p, &column);
    if (r < 0 || at(f, p, p) >= ALPHA * column) return (choice){1, p, p};
    largest(f, r, p, &row);
    if (at(f, p, p) >= ALPHA * column * (column / row)) return (choice){1, p, p};
    if (at(f, r, r) >= ALPHA * row) return (choice){1, r, r};
    return (choice){2, p, r};
}

static choice rook(const work *f, int p) {
    R column, row;
    int i = p, r = largest(f, p, p, &column);
    if (r < 0 || at(f, p, p) >= ALPHA * column) return (choice){1, p, p};
    for (;;) { /* the largest entry seen grows strictly, so this ends */
        int s = largest(f, r, p, &row);
        if (at(f, r, r) >= ALPHA * row) return (choice){1, r, r};
        if (s == i || !(row > column)) return (choice){2, i, r};
        i = r, r = s, column = row;
    }
}

static choice complete(const work *f, int p) {
    R off = 0, diagonal = at(f, p, p);
    choice best = {2, p, p}, one = {1, p, p};
    for (int i = p; i < f->w; i++) {
        if (at(f, i, i) > diagonal) diagonal = at(f, i, i), one.i = one.j = i;
        for (int j = i + 1; j < f->w; j++)
            if (at(f, i, j) > off) off = at(f, i, j), best.i = i, best.j = j;
    }
    return diagonal >= ALPHA * off || best.j == p ? one : best;
}

/* moduli of the eigenvalues (singular values where complex symmetric) of a 2x2 */
static void moduli(const work *f, T a, T o, T c, R *large, R *small) {
    if (MPKI_COMPLEX && !f->hermitian) {
        FN(pivot_singular)(a, o, c, large, small);
        return;
    }
    FN(pivot_eigen)(t_re(a), t_abs(o), t_re(c), large, small);
    *large = r_abs(*large), *small = r_abs(*small);
}

/* the pair of the matching, unless it is singular to working precision: then its larger diagonal
 * entry, if that is a pivot */
static choice paired(const work *f, const int32_t *pair, int p) {
    int r = f->perm[p], q = pair[r];
    if (q == r || q < 0 || q >= f->w || pair[q] != r || f->place[q] < p) return (choice){1, p, p};
    q = f->place[q];
    R large, small, least = f->floor;
    moduli(f, f->c[p * f->ld + p], f->c[p * f->ld + q], f->c[q * f->ld + q], &large, &small);
    if (8 * R_EPS * large > least) least = 8 * R_EPS * large;
    if (small > least) return (choice){2, p, q};
    int i = at(f, q, q) > at(f, p, p) ? q : p;
    if (at(f, i, i) > f->floor) return (choice){1, i, i};
    return (choice){at(f, p, q) > 0 ? 2 : 1, p, q};
}

static choice choose(const work *f, int type, int pivoting, const int32_t *pair, int p) {
    choice one = {1, p, p};
    if (type == MPK_TYPE_LLT) { /* definite: a diagonal entry is the largest of all */
        if (pivoting == MPK_PIVOTING_ROOK || pivoting == MPK_PIVOTING_COMPLETE)
            for (int i = p + 1; i < f->w; i++)
                if (t_re(f->c[i * f->ld + i]) > t_re(f->c[one.i * f->ld + one.i])) one.i = i;
        return one;
    }
    switch (pivoting) {
    case MPK_PIVOTING_STATIC:
        return pair ? paired(f, pair, p) : one;
    case MPK_PIVOTING_PARTIAL:
        return bunch_kaufman(f, p);
    case MPK_PIVOTING_ROOK:
        return rook(f, p);
    case MPK_PIVOTING_COMPLETE:
        return complete(f, p);
    default:
        return one;
    }
}

static void note(FN(pivot_report) * report, R modulus) {
    if (modulus < report->smallest) report->smallest = modulus;
    if (modulus > report->largest) report->largest = modulus;
}

static void count_sign(work *f, R value) {
    if (MPKI_COMPLEX && !f->hermitian) return;
    if (value > 0)
        f->report->positive++;
    else
        f->report->negative++;
}

/* D(p,p) and its inverse; returns 0 if the pivot is zero */
static int set_single(work *f, int p, T d) {
    R modulus = t_abs(d);
    f->d[2 * p + 1] = f->dinv[2 * p + 1] = t_make(0, 0);
    f->d[2 * p] = d, f->dinv[2 * p] = t_make(0, 0);
    if (!(modulus > (f->floor > R_TINY ? f->floor : R_TINY))) {
        if (!(f->floor > R_TINY)) return f->report->zero++, 0;
        T sign = modulus > 0 ? FN(pivot_over)(d, modulus) : t_make(1, 0);
        f->d[2 * p] = d = FN(pivot_times)(sign, f->floor);
        f->report->perturbed++;
    }
    count_sign(f, t_re(d));
    f->dinv[2 * p] = t_inv(d);
    return 1;
}

/* [a conj(o); o c] with its eigenvalues not above the floor replaced. Returns how many were. */
static int raise_real(R floor, R *a, T *o, R *c) {
    R value[2], size = t_abs(*o), x = *a, z = *c;
    T y = *o;
    int raised = 0;
    FN(pivot_eigen)(x, size, z, &value[0], &value[1]);
    for (int k = 0; k < 2; k++) {
        if (r_abs(value[k]) > floor) continue;
        R more = (value[k] < 0 ? -floor : floor) - value[k];
        /* its eigenvector, from the row that cancels less */
        T v = t_make(value[k] - z, 0), u = y;
        if (r_abs(value[k] - x) > r_abs(value[k] - z)) v = t_conj(y), u = t_make(value[k] - x, 0);
        R norm = r_hypot(t_abs(v), t_abs(u));
        if (!(norm > 0)) v = t_make(k == 0, 0), u = t_make(k == 1, 0), norm = 1;
        v = FN(pivot_over)(v, norm), u = FN(pivot_over)(u, norm);
        *a += more * t_re(t_mul(v, t_conj(v)));
        *c += more * t_re(t_mul(u, t_conj(u)));
        *o += FN(pivot_times)(t_mul(u, t_conj(v)), more);
        raised++;
    }
    return raised;
}

/* the complex symmetric [a o; o c]: singular values not above the floor are replaced, by the vector
 * v of the smaller one: E + (floor - s) e^(i t) conj(v) v^H, with t the phase of v^T E v */
static int raise_complex(R floor, T *a, T *o, T *c) {
    R large, small;
    FN(pivot_singular)(*a, *o, *c, &large, &small);
    if (!(large > floor)) { /* nothing of the pivot is worth keeping */
        *a = *c = t_make(floor, 0), *o = t_make(0, 0);
        return 2;
    }
    if (small > floor) return 0;
    /* v: the eigenvector of (E/large)^H (E/large), from the row that cancels less */
    T x = FN(pivot_over)(*a, large), y = FN(pivot_over)(*o, large), z = FN(pivot_over)(*c, large);
    R h11 = t_re(t_mul(t_conj(x), x) + t_mul(t_conj(y), y));
    R h22 = t_re(t_mul(t_conj(y), y) + t_mul(t_conj(z), z));
    R value = (small / large) * (small / large);
    T h21 = t_mul(t_conj(y), x) + t_mul(t_conj(z), y);
    T v1 = t_make(value - h22, 0), v2 = h21;
    if (r_abs(value - h11) > r_abs(value - h22)) v1 = t_conj(h21), v2 = t_make(value - h11, 0);
    R norm = r_hypot(t_abs(v1), t_abs(v2));
    v1 = FN(pivot_over)(v1, norm), v2 = FN(pivot_over)(v2, norm);
    T t = t_mul(v1, t_mul(*a, v1) + t_mul(*o, v2)) + t_mul(v2, t_mul(*o, v1) + t_mul(*c, v2));
    T phase = t_abs(t) > 0 ? FN(pivot_over)(t, t_abs(t)) : t_make(1, 0);
    T more = FN(pivot_times)(phase, floor - small);
    *a += t_mul(more, t_mul(t_conj(v1), t_conj(v1)));
    *o += t_mul(more, t_mul(t_conj(v2), t_conj(v1)));
    *c += t_mul(more, t_mul(t_conj(v2), t_conj(v2)));
    return 1;
}

/* D of places p, p+1 = [a conj(o); o c] and its inverse; returns 0 if it has become two 1x1 */
static int set_double(work *f, int p, T a, T o, T c) {
    R large, small;
    moduli(f, a, o, c, &large, &small);
    note(f->report, large), note(f->report, small);
    if (!(small > f->floor)) {
        if (MPKI_COMPLEX && !f->hermitian)
            f->report->perturbed += raise_complex(f->floor, &a, &o, &c);
        else {
            R x = t_re(a), z = t_re(c);
            f->report->perturbed += raise_real(f->floor, &x, &o, &z);
            a = t_make(x, 0), c = t_make(z, 0);
        }
    }
    if (!(t_abs1(o) > 0)) {
        f->floor /= 2; /* what was raised to the floor stays */
        set_single(f, p, a), set_single(f, p + 1, c);
        f->floor *= 2;
        return 0;
    }
    FN(pivot) q = FN(pivot_inverse)(a, o, c, f->hermitian);
    T *d = f->d + 2 * p, *dinv = f->dinv + 2 * p;
    d[0] = a, d[1] = o, d[2] = c, d[3] = t_make(0, 0);
    dinv[0] = q.i11, dinv[1] = q.i21, dinv[2] = q.i22, dinv[3] = t_make(0, 0);
    f->report->two_by_two++;
    if (!MPKI_COMPLEX || f->hermitian) {
        FN(pivot_eigen)(t_re(a), t_abs(o), t_re(c), &large, &small);
        count_sign(f, large), count_sign(f, small);
    }
    return 1;
}

static void eliminate_single(work *f, int p) {
    int w = f->w, ld = f->ld;
    T *u = f->c + p * ld, d = f->hermitian ? t_make(t_re(u[p]), 0) : u[p];
    note(f->report, t_abs(d));
    if (!set_single(f, p, d)) {
        for (int i = p + 1; i < w; i++) u[i] = t_make(0, 0);
        return;
    }
    T l[MPKI_BLOCK_MAX], dinv = f->dinv[2 * p];
    for (int i = p + 1; i < w; i++) l[i] = t_mul(conj_if(f->hermitian, u[i]), dinv);
    for (int i = p + 1; i < w; i++) FN(row_minus)(p + 1, w, f->c + i * ld, l[i], u);
    for (int i = p + 1; i < w; i++) u[i] = l[i];
}

static void eliminate_double(work *f, int p) {
    int w = f->w, ld = f->ld, herm = f->hermitian;
    T *u = f->c + p * ld, *v = u + ld;
    T a = herm ? t_make(t_re(u[p]), 0) : u[p], c = herm ? t_make(t_re(v[p + 1]), 0) : v[p + 1];
    set_double(f, p, a, conj_if(herm, u[p + 1]), c);
    T e11 = f->dinv[2 * p], e21 = f->dinv[2 * p + 1], e22 = f->dinv[2 * p + 2];
    T l[MPKI_BLOCK_MAX], k[MPKI_BLOCK_MAX], e12 = conj_if(herm, e21);
    for (int i = p + 2; i < w; i++) {
        T x = conj_if(herm, u[i]), y = conj_if(herm, v[i]);
        l[i] = t_mul(x, e11) + t_mul(y, e21);
        k[i] = t_mul(x, e12) + t_mul(y, e22);
    }
    for (int i = p + 2; i < w; i++) FN(row_minus2)(p + 2, w, f->c + i * ld, l[i], u, k[i], v);
    u[p + 1] = t_make(0, 0); /* L(p+1,p) */
    for (int i = p + 2; i < w; i++) u[i] = l[i], v[i] = k[i];
}

/* are all entries finite? */
static int block_finite(int w, const T *c, int ld) {
    R sum = 0;
    for (int i = 0; i < w; i++)
        for (int k = 0; k < w; k++) sum += 0 * t_re(c[i * ld + k]) + 0 * t_im(c[i * ld + k]);
    return sum == 0;
}

/* LLT: D := I and the rows of M divided by the roots of the pivots */
static void take_roots(const work *f, T *m) {
    for (int i = 0; i < f->w; i++) {
        R root = r_sqrt(t_re(f->d[2 * i]));
        for (int k = 0; k < f->w; k++) m[i * f->ld + k] = FN(pivot_over)(m[i * f->ld + k], root);
        f->d[2 * i] = f->dinv[2 * i] = t_make(1, 0);
    }
}

void ISA_FN(block_factor)(int w, T *c, int ld, int type, int pivoting, const int32_t *pair, R floor,
                          const R *butterfly, int hermitian, T *m, T *n, T *d, T *dinv, T *space,
                          FN(pivot_report) * report) {
    *report = (FN(pivot_report)){.smallest = (R)INFINITY, .failed = -1};
    if (!block_finite(w, c, ld)) {
        report->failed = 0, report->smallest = report->largest = report->norm_m = (R)NAN;
        return;
    }
    if (type == MPK_TYPE_LDU) {
        ISA_FN(block_ldu)(w, c, ld, pivoting, floor, butterfly, m, n, d, dinv, space, report);
        return;
    }
    work f = {.w = w,
              .ld = ld,
              .hermitian = MPKI_COMPLEX && hermitian,
              .floor = floor,
              .c = c,
              .d = d,
              .dinv = dinv,
              .report = report};
    for (int i = 0; i < w; i++) f.perm[i] = f.place[i] = i;
    if (butterfly) block_butterfly(w, c, ld, butterfly, butterfly);
    for (int p = 0; p < w;) {
        choice next = choose(&f, type, pivoting, butterfly ? NULL : pair, p);
        exchange(&f, p, next.i);
        if (next.width == 2) exchange(&f, p + 1, next.j == p ? next.i : next.j);
        T dp = c[p * ld + p];
        if (!FN(pivot_finite)(dp) || (type == MPK_TYPE_LLT && !(t_re(dp) > 0))) {
            report->failed = p;
            return;
        }
        if (next.width == 1)
            eliminate_single(&f, p);
        else
            eliminate_double(&f, p);
        p += next.width;
    }
    block_inverse(w, c, ld, f.perm, butterfly, m, space);
    if (type == MPK_TYPE_LLT) take_roots(&f, m);
    report->norm_m = block_norm(w, m, ld);
    if (!(report->norm_m <= (sizeof(R) == 4 ? (R)FLT_MAX : (R)DBL_MAX))) report->failed = 0;
}
