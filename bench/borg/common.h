/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_BORG_COMMON_H
#define BENCH_BORG_COMMON_H
/** The batched kernels of the benchmark: what each reads and writes, how much work it is, and
 * whether its result is right. For driver.c and device.c. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
} bench;

static uint64_t state = 1;
static double uniform(void) { /* (0, 1) */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)((state ^ (state >> 29)) >> 11) / 9007199254740992.0;
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

static void *room(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) fprintf(stderr, "driver: no memory\n"), exit(3);
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

static bool prepare(bench *b) {
    const int64_t n = b->n, nn = n * n;
    b->piv = room(sizeof(int32_t) * (size_t)(2 * n * b->count));
    b->info = room(sizeof(int32_t) * (size_t)(4 * b->count));
    b->tol = 4.0 * b->n * (b->single ? FLT_EPSILON : DBL_EPSILON);
    if (is(b, "gema") || is(b, "gemm")) {
        for (int k = 0; k < 3; k++) add(b, nn, 0, false);
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
    for (int k = 0; k < b->parts; k++) {
        void *p = b->part[k].first ? b->part[k].first : b->part[k].now;
        const size_t bytes = (size_t)b->part[k].each * size_of(b);
        for (int64_t g = own(b); bytes && g < b->count; g++)
            memcpy((char *)p + (size_t)g * bytes, (char *)p + (size_t)(g % own(b)) * bytes, bytes);
    }
    return true;
}

/* useful operations of a work-group */
static double flops(const bench *b) {
    const double n = b->n, n3 = n * n * n;
    return is(b, "gema")                           ? n * n
           : is(b, "trsv")                         ? 2 * n * n
           : starts(b, "gemm")                     ? 2 * n3
           : starts(b, "ldlt") || starts(b, "llt") ? n3 / 3
           : starts(b, "ldu")                      ? 2 * n3 / 3
           : is(b, "pade")                         ? 70 * n
           : is(b, "enum")                         ? 190 * n
                                                   : 1400 * n;
}

/* ---- the check: worst error over its bound, of some work-groups ---- */

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
            worst = e > worst || e != e ? e : worst;
        }
    return worst;
}

/* |P A Q - L D U| with unit L and U; `blas` leaves other forms, whose solutions are not checked */
static double worst_factor(const bench *b, int64_t g) {
    const int n = b->n;
    const int64_t at = g * n * n;
    const bool sym = !starts(b, "ldu"), root = starts(b, "llt"),
               piv = strchr(b->kernel, '_') != NULL;
    static double l[64][64], d[64][64], u[64][64];
    int row[64], col[64], marks = 0;
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
    }
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
            worst = e > worst || e != e ? e : worst;
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
        v = get(b, 3, i, true) *
            (dp / (1 + fabs(q)) - p * (q < 0 ? -1 : 1) * dq / (1 + fabs(q)) / (1 + fabs(q)));
        return fabs(get(b, 0, i, false) - v) / (20 + fabs(v));
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

static double worst_other(const bench *b, int64_t g) {
    const int n = b->n;
    double worst = 0;
    if (is(b, "gema")) {
        for (int64_t k = g * n * n; k < (g + 1) * n * n; k++)
            worst =
                fmax(worst, fabs(get(b, 0, k, false) - get(b, 1, k, true) - get(b, 2, k, true)));
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
            worst = fmax(worst, fabs(z[i] - get(b, 1, g * n + i, true)));
        }
        return worst / n;
    }
    for (int i = 0; i < n; i++) worst = fmax(worst, worst_item(b, g * n + i));
    return worst;
}

/* In units of the roundoff. Factors in another form than ours (a BLAS's) count as right if they are
 * finite. */
static double check(const bench *b, bool other_form) {
    const double eps = b->single ? FLT_EPSILON : DBL_EPSILON;
    double worst = 0;
    for (int64_t s = 0; s < 40; s++) {
        int64_t g = s < 20 ? s : b->count - 1 - (s - 20) * (b->count / 50 + 1);
        if (g < 0 || g >= b->count) continue;
        double e = 0;
        if (other_form)
            for (int k = 0; k < b->n * b->n; k++) e += 0 * get(b, 0, g * b->n * b->n + k, false);
        else if (starts(b, "gemm"))
            e = worst_product(b, g);
        else if (starts(b, "ld") || starts(b, "llt"))
            e = worst_factor(b, g);
        else
            e = worst_other(b, g);
        worst = e > worst || e != e ? e : worst;
    }
    return worst / eps;
}

#endif
