/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_BORG_COMMON_H
#define BENCH_BORG_COMMON_H
/** The batched kernels of the benchmark: what each reads and writes, how much work it is, and
 * whether its result is right. For driver.c and device.c. */
#include "../../src/core/random.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST = 6 };

/* What a kernel reads and writes, each of `count` work-groups. */
typedef struct bench {
    const char *kernel;
    int n;
    bool single, cached;
    int64_t count;
    struct part {
        void *now, *first; /* the array, and what it was if the kernel changes it */
        int64_t each;      /* entries for each group; 0: shared, `shared` of them */
        int64_t shared;
    } part[MOST];
    int parts;
    int32_t *piv, *info;
    double tol;
    bool odd;  /* factorizations: one matrix with a NaN and one of zeros among the others */
    bool told; /* info holds outcomes and inertias, as in mpk_batch.h */
} bench;

enum { RHS = 3, WITH_NAN = 7, ALL_ZERO = 13 }; /* columns that a solve has; groups that are odd */

static uint64_t state = 1;
static double uniform(void) { /* [0, 1) */
    return mpki_random_unit(mpki_random_next(&state));
}

static bool is(const bench *b, const char *name) {
    return !strcmp(b->kernel, name);
}

static bool starts(const bench *b, const char *name) {
    return !strncmp(b->kernel, name, strlen(name));
}

static size_t size_of(const bench *b) {
    return b->single ? sizeof(float) : sizeof(double);
}

static double get(const bench *b, int part, int64_t k, bool first) {
    const void *p = first && b->part[part].first ? b->part[part].first : b->part[part].now;
    return b->single ? ((const float *)p)[k] : ((const double *)p)[k];
}

static void set(const bench *b, void *p, int64_t k, double x) {
    if (b->single)
        ((float *)p)[k] = (float)x;
    else
        ((double *)p)[k] = x;
}

static int64_t entries(const bench *b, int part) {
    const struct part *p = &b->part[part];
    return p->each ? p->each * b->count : p->shared;
}

/* Work-groups with entries of their own; the others repeat them. */
static int64_t own(const bench *b) {
    return b->count < 997 ? b->count : 997;
}

/* Large arrays lie in huge pages where the system has them: with small ones times depend on where
 * these happen to lie, by a factor of two. */
static void *room(size_t bytes) {
    const size_t page = bytes < ((size_t)1 << 22) ? 64 : (size_t)1 << 21;
    void *p = aligned_alloc(page, (bytes / page + 1) * page + (page == 64 ? 64 : 0));
    if (!p) fprintf(stderr, "driver: no memory\n"), exit(3);
#ifdef MADV_HUGEPAGE
    if (page > 64) madvise(p, (bytes / page + 1) * page, MADV_HUGEPAGE);
#endif
    memset(p, 0, bytes);
    return p;
}

static int add(bench *b, int64_t each, int64_t shared, bool changes) {
    int k = b->parts++;
    b->part[k].each = each, b->part[k].shared = shared;
    size_t bytes = (size_t)entries(b, k) * size_of(b);
    b->part[k].now = room(bytes);
    b->part[k].first = changes ? room(bytes) : NULL;
    void *p = changes ? b->part[k].first : b->part[k].now;
    const int64_t fresh = each ? each * own(b) : shared;
    for (int64_t i = 0; i < fresh; i++) set(b, p, i, uniform());
    return k;
}

/* matrices whose unpivoted factorization is sound; symmetric where asked */
static void dominant(bench *b, int part, bool symmetric, bool definite) {
    const int n = b->n;
    void *p = b->part[part].first ? b->part[part].first : b->part[part].now;
    for (int64_t g = 0; g < own(b); g++)
        for (int j = 0; j < n; j++) {
            set(b, p, (g * n + j) * n + j, (definite || j % 2 ? 1 : -1) * (n + uniform()));
            for (int i = j + 1; symmetric && i < n; i++)
                set(b, p, (g * n + i) * n + j, get(b, part, (g * n + j) * n + i, true));
        }
}

static void centred(bench *b, int part, bool symmetric) { /* entries in (-1, 1) */
    const int n = b->n;
    void *p = b->part[part].first;
    for (int64_t g = 0; g < own(b); g++)
        for (int j = 0; j < n; j++)
            for (int i = symmetric ? j : 0; i < n; i++) {
                double x = 2 * uniform() - 1;
                set(b, p, (g * n + j) * n + i, x);
                if (symmetric) set(b, p, (g * n + i) * n + j, x);
            }
}

/* a random permutation; `marks`: some pairs in it are marked (~) as 2x2 pivots */
static void order(int n, int32_t *to, bool marks) {
    for (int k = 0; k < n; k++) to[k] = k;
    for (int k = n - 1; k > 0; k--) {
        int other = (int)(uniform() * (k + 1)), held = to[k];
        to[k] = to[other], to[other] = held;
    }
    for (int k = 0; marks && k + 1 < n; k++)
        if (uniform() < 0.4) {
            to[k] = ~to[k], to[k + 1] = ~to[k + 1];
            k++;
        }
}

/* pivots that are given, in `piv`, and matrices that are sound with them */
static void given(bench *b, bool symmetric) {
    const int n = b->n;
    void *p = b->part[0].first;
    centred(b, 0, symmetric);
    for (int64_t g = 0; g < own(b); g++) {
        int32_t *piv = b->piv + g * n * (symmetric ? 1 : 2);
        order(n, piv, symmetric);
        if (!symmetric) order(n, piv + n, false);
        for (int k = 0; k < n; k++) {
            const double large = (uniform() < 0.5 ? 1 : -1) * (n + uniform());
            const bool two = symmetric && piv[k] < 0;
            const int i = two ? ~piv[k] : piv[k], j = two         ? ~piv[k + 1]
                                                      : symmetric ? i
                                                                  : piv[n + k];
            set(b, p, (g * n + j) * n + i, large);
            if (symmetric) set(b, p, (g * n + i) * n + j, large);
            k += two;
        }
    }
}

/* unit lower triangles: entries of a size at which their inverses stay small */
static void triangles(bench *b, int part) {
    const int n = b->n;
    for (int64_t k = 0; k < (int64_t)n * n * own(b); k++)
        set(b, b->part[part].now, k, (2 * get(b, part, k, false) - 1) * 4 / (n + 4));
}

/* block diagonals as gemm_adb has them, 1x1 and 2x2, regular */
static void diagonals(bench *b, int part) {
    const int n = b->n;
    for (int64_t k = 0; k < n * own(b); k++) {
        const bool two = k % n + 1 < n && uniform() < 0.4;
        set(b, b->part[part].now, 2 * k, two ? 2 * uniform() - 1 : 1 + uniform());
        set(b, b->part[part].now, 2 * k + 1, two ? 2 + uniform() : 0);
        if (!two) continue;
        k++;
        set(b, b->part[part].now, 2 * k, 2 * uniform() - 1);
        set(b, b->part[part].now, 2 * k + 1, 0);
    }
}

/* factors with pivots, as the ldlt kernels leave them */
static void factors(bench *b, int part) {
    const int n = b->n;
    void *p = b->part[part].now;
    triangles(b, part);
    for (int64_t g = 0; g < own(b); g++) {
        int32_t *piv = b->piv + g * n;
        order(n, piv, true);
        for (int k = 0; k < n; k++) {
            const int64_t at = (g * n + k) * n + k;
            const bool two = piv[k] < 0;
            set(b, p, at, two ? 2 * uniform() - 1 : (uniform() < 0.5 ? 1 : -1) * (1 + uniform()));
            if (!two) continue;
            set(b, p, at + 1, 2 + uniform());
            set(b, p, at + n + 1, 2 * uniform() - 1);
            k++;
        }
    }
}

static bool factorizes(const bench *b) {
    return (starts(b, "ld") || starts(b, "llt")) && !is(b, "ldlt_solve");
}

/* a few groups that differ from the others, where asked for */
static bool odd(const bench *b, int64_t g) {
    g %= own(b);
    return b->odd && factorizes(b) && !is(b, "ldus") && (g == WITH_NAN || g == ALL_ZERO);
}

static void make_odd(bench *b) {
    const int64_t n = b->n, nn = n * n;
    for (int64_t k = 0; odd(b, ALL_ZERO) && ALL_ZERO < own(b) && k < nn; k++)
        set(b, b->part[0].first, ALL_ZERO * nn + k, 0);
    if (!odd(b, WITH_NAN) || WITH_NAN >= own(b)) return;
    set(b, b->part[0].first, WITH_NAN * nn + n - 1, (double)NAN);
    set(b, b->part[0].first, WITH_NAN * nn + (n - 1) * n, (double)NAN);
}

static bool prepare(bench *b) {
    const int64_t n = b->n, nn = n * n;
    state = 1;
    b->piv = room(sizeof(int32_t) * (size_t)(2 * n * b->count));
    b->info = room(sizeof(int32_t) * (size_t)(4 * b->count));
    b->tol = 4.0 * b->n * (b->single ? FLT_EPSILON : DBL_EPSILON);
    if (is(b, "gema") || is(b, "gema5") || is(b, "gemm")) {
        for (int k = 0; k < 3; k++) add(b, nn, 0, false);
        for (int64_t k = 0; is(b, "gema5") && k < 2 * n * b->count; k++) b->piv[k] = 5; /* turns */
    } else if (is(b, "gemm_ab") || is(b, "gemm_adb")) {
        for (int k = 0; k < 3; k++) add(b, nn, 0, k == 0);
        if (is(b, "gemm_adb")) {
            add(b, 2 * n, 0, false);
            for (int64_t k = 1; k < 2 * n * own(b); k += 2)
                if ((k / 2) % n % 2 || (k / 2) % n == n - 1) set(b, b->part[3].now, k, 0);
        }
    } else if (is(b, "trsv")) {
        add(b, nn, 0, false), add(b, n, 0, true);
        for (int64_t k = 0; k < nn * own(b); k++)
            set(b, b->part[0].now, k, k % nn % (n + 1) ? get(b, 0, k, false) / (double)n : 2);
    } else if (is(b, "ldus") || is(b, "ldu")) {
        add(b, nn, 0, true);
        dominant(b, 0, false, false);
    } else if (is(b, "llt") || is(b, "llt_complete") || is(b, "ldlt")) {
        add(b, nn, 0, true);
        dominant(b, 0, true, !is(b, "ldlt"));
    } else if (is(b, "trsm")) {
        add(b, nn, 0, true), add(b, nn, 0, false), add(b, 2 * n, 0, false);
        triangles(b, 1), diagonals(b, 2);
    } else if (is(b, "invert_triangle")) {
        add(b, nn, 0, false), add(b, nn, 0, false);
        triangles(b, 1);
    } else if (is(b, "invert_diagonal")) {
        add(b, 2 * n, 0, false), add(b, 2 * n, 0, false);
        diagonals(b, 1);
    } else if (is(b, "ldlt_solve")) {
        add(b, RHS * n, 0, true), add(b, nn, 0, false);
        factors(b, 1);
    } else if (is(b, "ldlt_static") || is(b, "ldu_static")) {
        add(b, nn, 0, true);
        given(b, is(b, "ldlt_static"));
    } else if (starts(b, "ldlt_") || starts(b, "ldu_")) {
        add(b, nn, 0, true);
        centred(b, 0, starts(b, "ldlt_"));
    } else if (is(b, "pade")) {
        add(b, n, 0, false), add(b, 10 * n, 0, false), add(b, n, 0, false), add(b, n, 0, false);
        add(b, 0, 10, false);
    } else if (is(b, "enum")) {
        add(b, n, 0, false), add(b, 0, 10, false), add(b, 0, 80, false), add(b, 0, 8, false);
        for (int r = 0; r < 8; r++) set(b, b->part[3].now, r, r - 4);
    } else if (is(b, "frcg")) {
        add(b, 2 * n, 0, true), add(b, 2 * n, 0, false);
        for (int64_t i = 0; i < n * own(b); i++)
            set(b, b->part[1].now, 2 * i + 1, 1 + get(b, 1, 2 * i + 1, false));
    } else {
        return false;
    }
    make_odd(b);
    for (int k = 0; k < b->parts; k++) {
        void *p = b->part[k].first ? b->part[k].first : b->part[k].now;
        const size_t bytes = (size_t)b->part[k].each * size_of(b);
        for (int64_t g = own(b); bytes && g < b->count; g++)
            memcpy((char *)p + (size_t)g * bytes, (char *)p + (size_t)(g % own(b)) * bytes, bytes);
    }
    const int64_t each = starts(b, "ldu") || is(b, "gema5") ? 2 * n : n;
    for (int64_t k = each * own(b); k < each * b->count; k++) b->piv[k] = b->piv[k - each * own(b)];
    return true;
}

static inline void release(bench *b) {
    for (int k = 0; k < b->parts; k++) free(b->part[k].now), free(b->part[k].first);
    free(b->piv), free(b->info);
    memset(b, 0, sizeof *b);
}

/* useful operations of a work-group */
static double flops(const bench *b) {
    const double n = b->n, n3 = n * n * n;
    return is(b, "gema")                           ? n * n
           : is(b, "gema5")                        ? 10 * n * n
           : is(b, "trsv")                         ? 2 * n * n
           : is(b, "ldlt_solve")                   ? 2 * n * n * RHS
           : is(b, "trsm")                         ? n3
           : is(b, "invert_triangle")              ? n3 / 3
           : is(b, "invert_diagonal")              ? 6 * n
           : starts(b, "gemm")                     ? 2 * n3
           : starts(b, "ldlt") || starts(b, "llt") ? n3 / 3
           : starts(b, "ldu")                      ? 2 * n3 / 3
           : is(b, "pade")                         ? 70 * n
           : is(b, "enum")                         ? 190 * n
                                                   : 1400 * n;
}

/* ---- the check: worst error over its bound, of some work-groups ---- */

static double more(double worst, double e) { /* the greater of two; NaN stays */
    return e > worst || e != e ? e : worst;
}

static double worst_product(const bench *b, int64_t g) {
    const int n = b->n;
    const int64_t at = g * n * n;
    double worst = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            double sum = 0, size = 1;
            for (int k = 0; k < n; k++) {
                double y = is(b, "gemm_adb") ? get(b, 3, g * 2 * n + 2 * k, true) *
                                                   get(b, 2, at + k * n + j, true)
                                             : get(b, 2, at + j * n + k, true);
                if (is(b, "gemm_adb") && k + 1 < n)
                    y += get(b, 3, g * 2 * n + 2 * k + 1, true) *
                         get(b, 2, at + (k + 1) * n + j, true);
                if (is(b, "gemm_adb") && k > 0)
                    y += get(b, 3, g * 2 * n + 2 * k - 1, true) *
                         get(b, 2, at + (k - 1) * n + j, true);
                sum += get(b, 1, at + k * n + i, true) * y;
                size += fabs(get(b, 1, at + k * n + i, true) * y);
            }
            if (!is(b, "gemm")) sum = get(b, 0, at + j * n + i, true) - sum;
            double e = fabs(get(b, 0, at + j * n + i, false) - sum) / (size * n);
            worst = more(worst, e);
        }
    return worst;
}

/* what is told of a matrix: its outcome and inertia */
static bool outcome(const bench *b, int64_t g, int outcome, int positive, int negative, int zero) {
    const int32_t *info = b->info + 4 * g;
    if (outcome == 3) return info[0] == 3;
    return info[0] == outcome && info[1] == positive && info[2] == negative && info[3] == zero;
}

/* |P A Q - L D U| with unit L and U; `blas` leaves other forms, whose solutions are not checked */
static double worst_factor(const bench *b, int64_t g) {
    const int n = b->n;
    const int64_t at = g * n * n;
    const bool sym = !starts(b, "ldu"), root = starts(b, "llt"),
               piv = strchr(b->kernel, '_') != NULL;
    if (odd(b, g))
        return !b->told || (g % own(b) == WITH_NAN ? outcome(b, g, 3, 0, 0, 0)
                                                   : outcome(b, g, 1, 0, 0, n))
                   ? 0
                   : 1;
    static double l[64][64], d[64][64], u[64][64];
    int row[64], col[64], marks = 0, positive = 0;
    double worst = 0, scale = 1;
    memset(l, 0, sizeof l), memset(d, 0, sizeof d), memset(u, 0, sizeof u);
    for (int k = 0; k < n; k++) {
        int p = !piv ? k : b->piv[g * n * (sym ? 1 : 2) + k];
        bool mark = piv && p < 0, first = mark && marks % 2 == 0;
        marks += mark;
        row[k] = p < 0 ? ~p : p;
        col[k] = sym || !piv ? row[k] : b->piv[g * n * 2 + n + k];
        d[k][k] = root ? 1 : get(b, 0, at + k * n + k, false);
        l[k][k] = root ? get(b, 0, at + k * n + k, false) : 1;
        u[k][k] = 1;
        for (int i = k + 1; i < n; i++) {
            l[i][k] = get(b, 0, at + k * n + i, false);
            if (!sym) u[k][i] = get(b, 0, at + i * n + k, false);
        }
        if (first) d[k + 1][k] = d[k][k + 1] = l[k + 1][k], l[k + 1][k] = 0;
        positive += mark ? first : !sym || d[k][k] > 0; /* a 2x2 pivot has one of each sign */
    }
    if (b->told && !is(b, "ldus") && !outcome(b, g, 0, positive, n - positive, 0)) return 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < (sym ? i + 1 : n); j++) {
            double sum = 0, a = get(b, 0, at + col[j] * n + row[i], true);
            for (int k = 0; k < n; k++)
                for (int m = k > 0 ? k - 1 : 0; m < n && m <= k + 1; m++) {
                    double x = l[i][k] * d[k][m] * (sym ? l[j][m] : u[m][j]);
                    sum += x;
                    scale = fabs(x) > scale ? fabs(x) : scale;
                }
            double e = fabs(sum - a);
            worst = more(worst, e);
        }
    return worst / (scale * n);
}

static double worst_item(const bench *b, int64_t i) {
    double v;
    if (is(b, "pade")) {
        double x = get(b, 2, i, true), p = 0, q = 0, dp = 0, dq = 0, power = 1;
        for (int k = 0; k < 6; k++, power *= x) {
            p += get(b, 4, k, true) * power;
            if (k < 5) dp += (k + 1) * get(b, 4, k + 1, true) * power;
            if (k > 0 && k < 5) q += get(b, 4, 5 + k, true) * power;
            if (k < 4) dq += (k + 1) * get(b, 4, 6 + k, true) * power;
        }
        const double r = 1 / (1 + fabs(q)), sign = q < 0 ? -1 : 1, g = get(b, 3, i, true);
        v = g * (dp * r - p * sign * dq * r * r);
        double worst = fabs(get(b, 0, i, false) - v) / (20 + fabs(v));
        power = 1;
        for (int k = 0; k < 6; k++, power *= x) {
            double at = get(b, 1, k * b->count * b->n + i, false);
            worst = more(worst, fabs(at - g * power * r) / 20);
            if (k == 0 || k == 5) continue;
            at = get(b, 1, (5 + k) * b->count * b->n + i, false);
            worst = more(worst, fabs(at + g * sign * p * r * power * r) / 20);
        }
        return worst;
    }
    if (is(b, "enum")) {
        double sum = 0, slack = 1e30;
        for (int k = 0; k < 10; k++)
            sum += get(b, 1, k, true) * ((int)((uint32_t)i >> 2 * k & 3) - 2);
        for (int r = 0; r < 8; r++) {
            double left = 0;
            for (int k = 0; k < 10; k++)
                left += get(b, 2, 10 * r + k, true) * ((int)((uint32_t)i >> 2 * k & 3) - 2);
            slack = fmin(slack, get(b, 3, r, true) - left);
        }
        if (fabs(slack) < 1e-4) return 0;
        v = get(b, 0, i, false);
        return slack < 0 ? v > -1e29 : fabs(v - sum) / 60;
    }
    double f[2]; /* frcg: it descends */
    for (int t = 0; t < 2; t++) {
        double x = get(b, 0, 2 * i, t == 0), y = get(b, 0, 2 * i + 1, t == 0);
        double w = get(b, 1, 2 * i, true) - x, z = y - x * x;
        f[t] = w * w + get(b, 1, 2 * i + 1, true) * z * z;
    }
    return f[1] <= 0.9 * f[0] + 1e-3 ? 0 : 1;
}

/* X (D L^T) against what X was; d holds D^-1 */
static double worst_trsm(const bench *b, int64_t g) {
    const int n = b->n;
    const int64_t at = g * n * n, diagonal = g * 2 * n;
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double z[64], scale = 1;
        for (int j = 0; j < n; j++) {
            z[j] = get(b, 0, at + j * n + i, true);
            for (int k = 0; k < j; k++) z[j] -= z[k] * get(b, 1, at + k * n + j, true);
            scale = fmax(scale, fabs(z[j]));
        }
        for (int j = 0; j < n; j++) {
            double x = get(b, 2, diagonal + 2 * j, true) * z[j];
            if (j + 1 < n) x += get(b, 2, diagonal + 2 * j + 1, true) * z[j + 1];
            if (j > 0) x += get(b, 2, diagonal + 2 * j - 1, true) * z[j - 1];
            worst = more(worst, fabs(get(b, 0, at + j * n + i, false) - x) / scale);
        }
    }
    return worst / n;
}

static double worst_inverse(const bench *b, int64_t g) { /* |L X - I|, or |D D^-1 - I| */
    const int n = b->n;
    const int64_t at = g * n * n, diagonal = g * 2 * n;
    double worst = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            double sum = i == j ? -1 : 0;
            if (is(b, "invert_triangle")) {
                for (int k = 0; k <= i; k++)
                    sum += (k == i ? 1 : get(b, 1, at + k * n + i, true)) *
                           get(b, 0, at + j * n + k, false);
            } else {
                double d[3] = {0}, x[3] = {0}; /* rows i of D, columns j of its inverse */
                for (int k = -1; k <= 1; k++) {
                    int c = k < 0 ? 2 * i - 1 : 2 * i + k, r = k < 0 ? 2 * j - 1 : 2 * j + k;
                    d[k + 1] = i + k < 0 || i + k >= n ? 0 : get(b, 1, diagonal + c, true);
                    x[k + 1] = j + k < 0 || j + k >= n ? 0 : get(b, 0, diagonal + r, false);
                }
                for (int k = i - 1; k <= i + 1; k++)
                    if (k >= j - 1 && k <= j + 1) sum += d[k - i + 1] * x[k - j + 1];
            }
            worst = more(worst, fabs(sum));
        }
    return worst / n;
}

/* L D L^T x against b, in the order of the factors */
static double worst_solve(const bench *b, int64_t g) {
    const int n = b->n;
    const int64_t at = g * n * n;
    double worst = 0, scale = 1;
    bool second[65] = {false}; /* of a 2x2 pivot; the entry before it belongs to D */
    for (int k = 0; k < n; k++) second[k + 1] = b->piv[g * n + k] < 0 && !second[k];
    for (int c = 0; c < RHS; c++) {
        double x[64], y[64], z[64];
        for (int k = 0; k < n; k++) {
            const int p = b->piv[g * n + k];
            x[k] = get(b, 0, (g * RHS + c) * n + (p < 0 ? ~p : p), false);
        }
        for (int k = 0; k < n; k++) {
            y[k] = x[k];
            for (int i = k + 1; i < n; i++)
                if (i > k + 1 || !second[i]) y[k] += get(b, 1, at + k * n + i, true) * x[i];
        }
        for (int k = 0; k < n; k++) {
            z[k] = get(b, 1, at + k * n + k, true) * y[k];
            if (second[k]) z[k] += get(b, 1, at + (k - 1) * n + k, true) * y[k - 1];
            if (k + 1 < n && second[k + 1]) z[k] += get(b, 1, at + k * n + k + 1, true) * y[k + 1];
            scale = fmax(scale, fmax(fabs(x[k]), fabs(z[k])));
        }
        for (int k = 0; k < n; k++) {
            const int p = b->piv[g * n + k];
            double sum = z[k] - get(b, 0, (g * RHS + c) * n + (p < 0 ? ~p : p), true);
            for (int j = 0; j < k; j++)
                if (j + 1 < k || !second[k]) sum += get(b, 1, at + j * n + k, true) * z[j];
            worst = more(worst, fabs(sum));
        }
    }
    if (b->told && b->info[4 * g] != 0) return 1;
    return worst / (scale * n);
}

static double worst_other(const bench *b, int64_t g) {
    const int n = b->n;
    double worst = 0;
    if (is(b, "trsm")) return worst_trsm(b, g);
    if (starts(b, "invert")) return worst_inverse(b, g);
    if (is(b, "ldlt_solve")) return worst_solve(b, g);
    if (starts(b, "gema")) {
        const int turns = is(b, "gema5") ? 5 : 1;
        for (int64_t k = g * n * n; k < (g + 1) * n * n; k++)
            worst = more(
                worst, fabs(get(b, 0, k, false) / turns - get(b, 1, k, true) - get(b, 2, k, true)));
        return worst / 2;
    }
    if (is(b, "trsv")) { /* L D U x = b with L, U unit: form it from x */
        double y[64], z[64];
        for (int i = 0; i < n; i++) {
            y[i] = get(b, 1, g * n + i, false);
            for (int k = i + 1; k < n; k++)
                y[i] += get(b, 0, (g * n + k) * n + i, true) * get(b, 1, g * n + k, false);
            y[i] *= get(b, 0, (g * n + i) * n + i, true);
        }
        for (int i = 0; i < n; i++) {
            z[i] = y[i];
            for (int k = 0; k < i; k++) z[i] += get(b, 0, (g * n + k) * n + i, true) * y[k];
            worst = more(worst, fabs(z[i] - get(b, 1, g * n + i, true)));
        }
        return worst / n;
    }
    for (int i = 0; i < n; i++) worst = more(worst, worst_item(b, g * n + i));
    return worst;
}

/* In units of the roundoff. Factors in another form than ours (a BLAS's) count as right if they are
 * finite. */
static double check(const bench *b, bool other_form) {
    const double eps = b->single ? FLT_EPSILON : DBL_EPSILON;
    double worst = 0;
    const int result = is(b, "trsv") ? 1 : 0;
    const int64_t each = b->part[result].each;
    for (int64_t s = 0; s < 40; s++) {
        int64_t g = s < 20 ? s : b->count - 1 - (s - 20) * (b->count / 50 + 1);
        if (g < 0 || g >= b->count) continue;
        double e = 0;
        if (other_form)
            for (int k = 0; k < each && !odd(b, g); k++)
                e += 0 * get(b, result, g * each + k, false);
        else if (starts(b, "gemm"))
            e = worst_product(b, g);
        else if (factorizes(b))
            e = worst_factor(b, g);
        else
            e = worst_other(b, g);
        worst = more(worst, e);
    }
    return worst / eps;
}

/* Groups with the same entries have the same results, to the bit; else the first that differs. */
static inline int64_t stray(const bench *b) {
    for (int k = 0; k < b->parts && !is(b, "enum"); k++) {
        const size_t bytes = (size_t)b->part[k].each * size_of(b);
        if (is(b, "pade") && k == 1) continue; /* lies otherwise */
        for (int64_t g = own(b); bytes && g < b->count; g++)
            if (memcmp((char *)b->part[k].now + (size_t)g * bytes,
                       (char *)b->part[k].now + (size_t)(g % own(b)) * bytes, bytes) != 0 &&
                !odd(b, g))
                return g;
    }
    return -1;
}

#endif
