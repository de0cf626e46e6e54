/* SPDX-License-Identifier: BSD-3-Clause */
/* L D L^T of a diagonal block with the explicit M = L^-1 P (kernels/blocks.h). Rows and columns
 * never move: a permutation says which come next, and in every row that is read, eliminated columns
 * are zero. Both triangles are kept, so a column is a row too; a row is brought up to date only
 * when it is read (left-looking), in registers. Pivot strategies: Bunch & Kaufman 1977; Ashcraft,
 * Grimes & Lewis 1998 (rook); Bunch & Parlett 1971 (complete); Duff & Pralet 2005 (static 1x1 and
 * 2x2 pivots of a matching). Complex entries are compared by |re| + |im|. */
#include "alpha.h"
#include "block_inverse.h"
#include "block_isa.h"
#include "block_mask.h"
#include "block_pivot.h"
#include "block_turn.h"
#include <metapack/options.h>

#define ALPHA ((R)MPKI_ALPHA)
#define EQUAL (1 - (R)MPKI_TIE(sizeof(R)))

#if MPKI_PRECISION == 0 || MPKI_PRECISION == 2
typedef int32_t ivec __attribute__((vector_size(VBYTES)));
#else
typedef int64_t ivec __attribute__((vector_size(VBYTES)));
#endif

typedef struct work {
    int w, ld, hermitian;
    R floor, nothing; /* MPKI_NOTHING of the floor */
    T *c;  /* row r is up to date with the first upto[r] pivots; rows of pivots are those of D
              L^T */
    T *lt; /* row k: column k of L, by old rows */
    T *d, *dinv;
    int32_t perm[MPKI_BLOCK_MAX], place[MPKI_BLOCK_MAX]; /* old row at each position; the inverse */
    int32_t upto[MPKI_BLOCK_MAX];
    R alive[MPKI_BLOCK_MAX * PARTS + LANES_MAX]; /* 1 or 0 for each column */
    FN(pivot_report) * report;
} work;

/* the next pivot: 1x1 in old row i, or 2x2 of old rows i and j */
typedef struct choice {
    int width, i, j;
} choice;

static void bring_to(work *f, int p, int row) {
    int q = f->place[row], other = f->perm[p];
    f->perm[p] = row, f->perm[q] = other;
    f->place[row] = p, f->place[other] = q;
}

/* nv vectors of row r, from column `at` on: pivots from .. to-1 */
INLINE void update_strip(const int nv, const work *f, int r, int at, int from, int to) {
    T *row = f->c + r * f->ld + at;
    vec re[4];
#if MPKI_COMPLEX
    vec im[4];
#endif
#pragma GCC unroll 4
    for (int j = 0; j < nv; j++) {
        re[j] = v_load((const R *)row + j * LANES);
#if MPKI_COMPLEX
        im[j] = (vec){0};
#endif
    }
    for (int k = from; k < to; k++) {
        const R *u = (const R *)(f->c + f->perm[k] * f->ld + at);
        const R *l = (const R *)(f->lt + k * f->ld + r);
        vec l0 = v_all(l[0]);
#if MPKI_COMPLEX
        vec l1 = v_all(l[1]);
#endif
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) {
            vec x = v_load(u + j * LANES);
            re[j] -= x * l0;
#if MPKI_COMPLEX
            im[j] -= x * l1;
#endif
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < nv; j++) {
        vec x = re[j];
#if MPKI_COMPLEX
        x += v_times_i(im[j]);
#endif
        v_store((R *)row + j * LANES, x * v_load(f->alive + at * PARTS + j * LANES));
    }
}

/* bring row r up to date with p pivots */
static void update(work *f, int r, int p) {
    int from = f->upto[r], vectors = (f->w + ENTRIES - 1) / ENTRIES;
    if (from == p) return;
    f->upto[r] = p;
    for (int v = 0; v < vectors; v += 4) switch (vectors - v) {
        case 1:
            update_strip(1, f, r, v * ENTRIES, from, p);
            break;
        case 2:
            update_strip(2, f, r, v * ENTRIES, from, p);
            break;
        case 3:
            update_strip(3, f, r, v * ENTRIES, from, p);
            break;
        default:
            update_strip(4, f, r, v * ENTRIES, from, p);
            break;
        }
}

INLINE R at(const work *f, int i, int j) {
    return t_abs1(f->c[i * f->ld + j]);
}

INLINE vec v_abs1(vec x) {
#if MPKI_COMPLEX
    return v_abs(x) + v_abs(v_times_i(x));
#else
    return v_abs(x);
#endif
}

/* where row i is at least that large, the first place; -1: nowhere */
static int where(const work *f, int i, R least) {
    for (int k = 0; k < f->w; k++)
        if (at(f, i, k) >= least) return k;
    return -1;
}

/* where row i is largest off the diagonal, the first of equal ones (MPKI_TIE); -1: all of that is
 * nothing */
static int largest(work *f, int i, int p, R *value) {
    update(f, i, p);
    const T *row = f->c + i * f->ld;
    vec top = {0}, lane;
    R most = 0;
    for (int k = 0; k < LANES; k++) lane[k] = (R)(k / PARTS);
    for (int k = 0; k < f->w; k += ENTRIES) {
        const ivec other = lane != v_all((R)(i - k));
        top = v_max((vec)((ivec)v_abs1(v_load((const R *)(row + k))) & other), top);
    }
    for (int k = 0; k < LANES; k++) most = top[k] > most ? top[k] : most;
    *value = most;
    const vec least = v_all(most * EQUAL);
    for (int k = 0; k < f->w && most > f->nothing; k += ENTRIES) {
        const ivec other = lane != v_all((R)(i - k));
        const vec x = (vec)((ivec)v_abs1(v_load((const R *)(row + k))) & other);
        const uint32_t equal = v_nonzero((vec)((ivec)x & (x >= least)));
        if (equal) return k + __builtin_ctz(equal);
    }
    return -1;
}

static choice bunch_kaufman(work *f, int p) {
    R column, row;
    int i = f->perm[p], r = largest(f, i, p, &column);
    if (r < 0 || at(f, i, i) >= ALPHA * column) return (choice){1, i, i};
    largest(f, r, p, &row);
    if (at(f, i, i) >= ALPHA * column * (column / row)) return (choice){1, i, i};
    if (at(f, r, r) >= ALPHA * row) return (choice){1, r, r};
    return (choice){2, i, r};
}

static choice rook(work *f, int p) {
    R column, row;
    int i = f->perm[p], r = largest(f, i, p, &column);
    if (r < 0 || at(f, i, i) >= ALPHA * column) return (choice){1, i, i};
    for (;;) { /* the largest entry seen grows, by more than rounding, so this ends */
        int s = largest(f, r, p, &row);
        if (s < 0 || at(f, r, r) >= ALPHA * row) return (choice){1, r, r};
        if (s == i || !(row * EQUAL > column)) return (choice){2, i, r};
        i = r, r = s, column = row;
    }
}

/* the largest entry of all that is left, by columns (which are rows too); of equal ones (MPKI_TIE)
 * the first, whose mirror image, equal but for rounding, stands in that column's row */
static choice complete(work *f, int p) {
    R most[MPKI_BLOCK_MAX * PARTS + LANES_MAX], diagonal = -1, top = 0;
    for (int k = 0; k < f->w; k += ENTRIES) v_store(most + k * PARTS, (vec){0});
    for (int q = p; q < f->w; q++) {
        int r = f->perm[q];
        update(f, r, p);
        const T *row = f->c + r * f->ld;
        for (int k = 0; k < f->w; k += ENTRIES)
            v_store(most + k * PARTS,
                    v_max(v_abs1(v_load((const R *)(row + k))), v_load(most + k * PARTS)));
        if (at(f, r, r) > diagonal) diagonal = at(f, r, r);
    }
    for (int k = 0; k < f->w; k++)
        if (most[k * PARTS] > top) top = most[k * PARTS];
    if (!(top > f->nothing)) return (choice){1, f->perm[p], f->perm[p]};
    if (!(diagonal < ALPHA * top)) {
        int first = MPKI_BLOCK_MAX;
        for (int q = p; q < f->w; q++)
            if (f->perm[q] < first && at(f, f->perm[q], f->perm[q]) >= diagonal * EQUAL)
                first = f->perm[q];
        if (first == MPKI_BLOCK_MAX) first = f->perm[p]; /* NaN */
        return (choice){1, first, first};
    }
    int i = 0;
    while (i + 1 < f->w && !(most[i * PARTS] >= top * EQUAL)) i++;
    int j = where(f, i, top * EQUAL);
    if (j < 0) j = largest(f, i, p, &top);
    return j < 0 || j == i ? (choice){1, i, i} : (choice){2, i, j};
}

/* definite: the largest entry of all is on the diagonal */
static choice largest_diagonal(work *f, int p) {
    choice one = {1, f->perm[p], f->perm[p]};
    R most = -1;
    for (int q = p; q < f->w; q++) {
        int r = f->perm[q];
        update(f, r, p);
        R d = t_re(f->c[r * f->ld + r]);
        if (d > most) most = d, one.i = one.j = r;
    }
    return one;
}

static void moduli(const work *f, T a, T o, T c, R *large, R *small);

/* the pair of the matching, unless it is singular to working precision: then its larger diagonal
 * entry, if that is a pivot */
static choice paired(work *f, const int32_t *pair, int p) {
    int i = f->perm[p], j = pair[i];
    update(f, i, p);
    if (j == i || j < 0 || j >= f->w || pair[j] != i || f->place[j] < p) return (choice){1, i, i};
    update(f, j, p);
    R large, small, least = f->floor;
    moduli(f, f->c[i * f->ld + i], f->c[i * f->ld + j], f->c[j * f->ld + j], &large, &small);
    if (8 * R_EPS * large > least) least = 8 * R_EPS * large;
    if (small > least) return (choice){2, i, j};
    int k = at(f, j, j) > at(f, i, i) ? j : i;
    if (at(f, k, k) > f->floor) return (choice){1, k, k};
    return (choice){at(f, i, j) > 0 ? 2 : 1, i, j};
}

static choice choose(work *f, int type, int pivoting, const int32_t *pair, int p) {
    int i = f->perm[p];
    if (type == MPK_TYPE_LLT && pivoting >= MPK_PIVOTING_ROOK) return largest_diagonal(f, p);
    if (type != MPK_TYPE_LLT) switch (pivoting) {
        case MPK_PIVOTING_STATIC:
            if (pair) return paired(f, pair, p);
            break;
        case MPK_PIVOTING_PARTIAL:
            return bunch_kaufman(f, p);
        case MPK_PIVOTING_ROOK:
            return rook(f, p);
        case MPK_PIVOTING_COMPLETE:
            return complete(f, p);
        default:
            break;
        }
    update(f, i, p);
    return (choice){1, i, i};
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
        T sign = modulus > f->nothing ? FN(pivot_over)(d, modulus) : t_make(1, 0);
        f->d[2 * p] = d = FN(pivot_times)(sign, f->floor);
        f->report->perturbed++;
    }
    count_sign(f, t_re(d));
    f->dinv[2 * p] = t_inv(d);
    return 1;
}

/* [a conj(o); o c] with eigenvalues of at most the floor replaced; returns how many were */
static int raise_real(R floor, R nothing, R *a, T *o, R *c) {
    R value[2], size = t_abs(*o), x = *a, z = *c;
    T y = *o;
    int raised = 0;
    FN(pivot_eigen)(x, size, z, &value[0], &value[1]);
    if (!(r_abs(value[0]) > nothing)) {
        *a = *c = floor, *o = t_make(0, 0);
        return 2;
    }
    for (int k = 0; k < 2; k++) {
        if (r_abs(value[k]) > floor) continue;
        R more = (value[k] < -nothing ? -floor : floor) - value[k];
        /* its eigenvector, from the row with less cancellation */
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

/* the complex symmetric [a o; o c]: singular values of at most the floor are replaced, by the
 * vector v of the smaller one: E + (floor - s) e^(i t) conj(v) v^H, with t the phase of v^T E v */
static int raise_complex(R floor, R nothing, T *a, T *o, T *c) {
    R large, small;
    FN(pivot_singular)(*a, *o, *c, &large, &small);
    if (!(large > floor)) { /* both are too small: nothing of the pivot is kept */
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
    T phase = t_abs(t) > nothing ? FN(pivot_over)(t, t_abs(t)) : t_make(1, 0);
    T more = FN(pivot_times)(phase, floor - small);
    *a += t_mul(more, t_mul(t_conj(v1), t_conj(v1)));
    *o += t_mul(more, t_mul(t_conj(v2), t_conj(v1)));
    *c += t_mul(more, t_mul(t_conj(v2), t_conj(v2)));
    return 1;
}

/* D of positions p, p+1 = [a conj(o); o c] and its inverse; returns 0 if it became two 1x1
 * pivots */
static int set_double(work *f, int p, T a, T o, T c) {
    R large, small;
    moduli(f, a, o, c, &large, &small);
    note(f->report, large), note(f->report, small);
    if (!(small > f->floor)) {
        if (MPKI_COMPLEX && !f->hermitian)
            f->report->perturbed += raise_complex(f->floor, f->nothing, &a, &o, &c);
        else {
            R x = t_re(a), z = t_re(c);
            f->report->perturbed += raise_real(f->floor, f->nothing, &x, &o, &z);
            a = t_make(x, 0), c = t_make(z, 0);
        }
    }
    if (!(t_abs1(o) > 0)) {
        f->floor /= 2; /* so that what was raised to the floor stays */
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

INLINE void leave(work *f, int row) {
    for (int k = 0; k < PARTS; k++) f->alive[row * PARTS + k] = 0;
}

static void eliminate_single(work *f, int p) {
    int w = f->w, ld = f->ld, r = f->perm[p];
    const T *u = f->c + r * ld;
    T *l = f->lt + p * ld, d = f->hermitian ? t_make(t_re(u[r]), 0) : u[r];
    note(f->report, t_abs(d));
    leave(f, r);
    if (!set_single(f, p, d)) {
        memset(l, 0, (size_t)ld * sizeof(T));
        return;
    }
    T dinv = f->dinv[2 * p];
    for (int k = 0; k < w; k += ENTRIES) {
        vec x = FN(v_conj_if)(f->hermitian, v_load((const R *)(u + k)));
        v_store((R *)(l + k), FN(v_scaled)(x, dinv));
    }
}

static void eliminate_double(work *f, int p) {
    int w = f->w, ld = f->ld, herm = f->hermitian, i = f->perm[p], j = f->perm[p + 1];
    const T *u = f->c + i * ld, *v = f->c + j * ld;
    T *l = f->lt + p * ld, *next = l + ld;
    T a = herm ? t_make(t_re(u[i]), 0) : u[i], c = herm ? t_make(t_re(v[j]), 0) : v[j];
    set_double(f, p, a, conj_if(herm, u[j]), c);
    leave(f, i), leave(f, j);
    T e11 = f->dinv[2 * p], e21 = f->dinv[2 * p + 1], e22 = f->dinv[2 * p + 2];
    T e12 = conj_if(herm, e21);
    for (int k = 0; k < w; k += ENTRIES) {
        vec x = FN(v_conj_if)(herm, v_load((const R *)(u + k)));
        vec y = FN(v_conj_if)(herm, v_load((const R *)(v + k)));
        v_store((R *)(l + k), FN(v_scaled)(x, e11) + FN(v_scaled)(y, e21));
        v_store((R *)(next + k), FN(v_scaled)(x, e12) + FN(v_scaled)(y, e22));
    }
    l[j] = t_make(0, 0); /* L(p+1, p) */
}

/* are all entries finite? */
static int block_finite(int w, const T *c, int ld) {
    const R *x = (const R *)c;
    int n = w * ld * PARTS, k = 0;
    vec bad[4] = {{0}, {0}, {0}, {0}};
    R sum = 0;
    for (; k + 4 * LANES <= n; k += 4 * LANES)
        for (int i = 0; i < 4; i++) bad[i] += v_load(x + k + i * LANES) * 0;
    for (; k < n; k += LANES) bad[0] += v_load(x + k) * 0;
    bad[0] = (bad[0] + bad[1]) + (bad[2] + bad[3]);
    for (k = 0; k < LANES; k++) sum += bad[0][k];
    return sum == 0;
}

/* LLT: D := I, and the rows of M divided by the square roots of the pivots */
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
    work f;
    f.w = w, f.ld = ld, f.hermitian = MPKI_COMPLEX && hermitian;
    f.floor = floor, f.nothing = floor * (R)MPKI_NOTHING(sizeof(R));
    f.c = c, f.lt = space, f.d = d, f.dinv = dinv, f.report = report;
    for (int i = 0; i < w; i++) f.perm[i] = f.place[i] = i, f.upto[i] = 0;
    for (int i = 0; i < ld * PARTS; i++) f.alive[i] = 1;
    if (butterfly) block_butterfly(w, c, ld, butterfly, butterfly);
    for (int p = 0; p < w;) {
        choice next = choose(&f, type, pivoting, butterfly ? NULL : pair, p);
        bring_to(&f, p, next.i);
        if (next.width == 2) bring_to(&f, p + 1, next.j);
        T dp = c[next.i * ld + next.i];
        if (!FN(pivot_finite)(dp) || (type == MPK_TYPE_LLT && !(t_re(dp) > 0))) {
            report->failed = p;
            report->indefinite = FN(pivot_finite)(dp);
            return;
        }
        if (next.width == 1)
            eliminate_single(&f, p);
        else
            eliminate_double(&f, p);
        p += next.width;
    }
    block_inverse(w, f.lt, ld, f.perm, f.perm, butterfly, m);
    if (type == MPK_TYPE_LLT) take_roots(&f, m);
    report->norm_m = block_norm(w, m, ld);
    if (!(report->norm_m <= (sizeof(R) == 4 ? (R)FLT_MAX : (R)DBL_MAX))) report->failed = 0;
}
