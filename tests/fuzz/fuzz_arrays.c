/* SPDX-License-Identifier: BSD-3-Clause */
/** Any arrays as compressed columns or triplets: what is taken is the sum of what was given, what
 *  is refused had a reason, and the smallest solver runs on it. */
#include "fuzz.h"

#include <float.h>

enum { ARRAYS_N = 24, ARRAYS_MOST = 96 };

typedef struct arrays {
    int32_t n;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    mpk_triangle triangle;
    bool triplets;
    int64_t nnz;
    int64_t ap[ARRAYS_N + 1];
    int32_t *row, *col; /* nnz each, and no byte more, so that a step beyond is seen */
    void *value;
} arrays;

/* Real (0) or imaginary (1) part of value k. */
static double arrays_value(const arrays *a, int64_t k, int part) {
    const bool single = a->scalar == MPK_S || a->scalar == MPK_C;
    const int parts = a->scalar == MPK_C || a->scalar == MPK_Z ? 2 : 1;
    if (part >= parts) return 0;
    return single ? ((const float *)a->value)[parts * k + part]
                  : ((const double *)a->value)[parts * k + part];
}

/* A byte each for the common ones and for those at the ends of the type, all bits where the byte
 * says so. */
static void arrays_real(fuzz_input *in, bool single, void *to) {
    static const double ends[] = {0.9, -0.9, 0.7, -0.7};
    const int byte = fuzz_byte(in);
    double x = (double)(byte - 128) / 4;
    if (byte < 8) {
        fuzz_take(in, to, single ? sizeof(float) : sizeof(double));
        return;
    }
    if (byte < 12) x = ends[byte - 8] * (single ? (double)FLT_MAX : DBL_MAX);
    if (byte >= 12 && byte < 16) x = (byte - 13) * (single ? 0x1p-149 : 0x1p-1074);
    if (single)
        *(float *)to = (float)x;
    else
        *(double *)to = x;
}

static int32_t arrays_index(fuzz_input *in, int32_t n, bool wild) {
    const int byte = fuzz_byte(in);
    return wild || n == 0 ? byte - 64 : byte % n;
}

static void arrays_decode(fuzz_input *in, arrays *a) {
    const int kind = fuzz_byte(in), wild = fuzz_byte(in);
    a->n = fuzz_byte(in) % (ARRAYS_N + 1);
    a->scalar = (mpk_scalar)(kind % 4);
    a->symmetry = (mpk_symmetry)(kind / 4 % 2);
    a->triangle = (mpk_triangle)(kind / 8 % 4);
    a->triplets = kind / 32 % 2;
    if (wild % 8 == 5) a->symmetry = MPK_GENERAL, a->triangle = MPK_FULL;
    if (wild == 255) a->scalar = (mpk_scalar)(fuzz_byte(in) - 128);
    if (wild == 254) a->triangle = (mpk_triangle)(fuzz_byte(in) - 128);
    if (wild == 253) a->symmetry = (mpk_symmetry)(fuzz_byte(in) - 128);
    if (wild == 252) a->n = -fuzz_byte(in);
    const int32_t columns = a->n > 0 ? a->n : 0;
    a->ap[0] = wild == 251 ? fuzz_byte(in) : 0;
    for (int32_t j = 0; j < columns; j++) {
        const int step = fuzz_byte(in);
        a->ap[j + 1] = a->ap[j] + (wild % 8 == 7 ? step - 16 : step % 8);
    }
    a->nnz = a->triplets ? fuzz_byte(in) % ARRAYS_MOST : a->ap[columns];
    if (a->nnz > ARRAYS_MOST) a->nnz = a->ap[columns] = ARRAYS_MOST;
    const int64_t room = a->nnz > 0 ? a->nnz : 0;
    const bool single = a->scalar == MPK_S || a->scalar == MPK_C;
    const int parts = a->scalar == MPK_C || a->scalar == MPK_Z ? 2 : 1;
    const size_t real = single ? sizeof(float) : sizeof(double);
    a->row = malloc((size_t)room * sizeof *a->row + (room == 0));
    a->col = malloc((size_t)room * sizeof *a->col + (room == 0));
    a->value = malloc((size_t)room * (size_t)parts * real + (room == 0));
    FUZZ_ASSERT(a->row && a->col && a->value);
    for (int64_t k = 0; k < room; k++) {
        a->row[k] = arrays_index(in, columns, wild % 8 == 6);
        a->col[k] = arrays_index(in, columns, wild % 8 == 6);
        for (int p = 0; p < parts; p++)
            arrays_real(in, single, (char *)a->value + (size_t)(parts * k + p) * real);
    }
    if (!a->triplets)
        for (int32_t j = 0; j < columns; j++)
            for (int64_t k = a->ap[j]; k < a->ap[j + 1] && k < room; k++)
                if (k >= 0) a->col[k] = j;
}

/* What the arrays say, place by place, in more digits than any of the types has. */
typedef struct arrays_truth {
    long double re[2][ARRAYS_N][ARRAYS_N], im[2][ARRAYS_N][ARRAYS_N]; /* as given below, above */
    long double size[ARRAYS_N][ARRAYS_N];                             /* sum of the moduli */
    int given[2][ARRAYS_N][ARRAYS_N];                                 /* how often */
    bool reason;                                                      /* to refuse them */
} arrays_truth;

static long double arrays_eps(const arrays *a) {
    return a->scalar == MPK_S || a->scalar == MPK_C ? FLT_EPSILON : DBL_EPSILON;
}

static void arrays_sum(const arrays *a, arrays_truth *t) {
    memset(t, 0, sizeof *t);
    for (int64_t k = 0; k < a->nnz; k++) {
        const int32_t r = a->row[k], c = a->col[k];
        const double re = arrays_value(a, k, 0), im = arrays_value(a, k, 1);
        const bool inside = r >= 0 && c >= 0 && r < a->n && c < a->n;
        if (inside && ((r > c && a->triangle == MPK_UPPER) || (r < c && a->triangle == MPK_LOWER)))
            continue; /* not looked at, whatever it is */
        if (!inside || !isfinite(re) || !isfinite(im)) {
            t->reason = true;
            return;
        }
        const int above = r < c;
        const int32_t i = above ? c : r, j = above ? r : c;
        t->re[above][i][j] += re;
        t->im[above][i][j] += im;
        t->size[i][j] += fabsl((long double)re) + fabsl((long double)im);
        t->given[above][i][j]++;
    }
    const long double eps = arrays_eps(a);
    const long double large = a->scalar == MPK_S || a->scalar == MPK_C ? FLT_MAX : DBL_MAX;
    const long double turn = a->symmetry == MPK_HERMITIAN ? -1 : 1;
    for (int32_t j = 0; j < a->n; j++)
        for (int32_t i = j; i < a->n; i++) {
            const long double size = t->size[i][j];
            const long double apart = fabsl(t->re[0][i][j] - t->re[1][i][j]) +
                                      fabsl(t->im[0][i][j] - turn * t->im[1][i][j]);
            if (size >= large / 4) t->reason = true; /* a sum on the way may overflow */
            if (i == j && turn < 0 && t->im[0][i][j] != 0) t->reason = true;
            if (i == j || a->symmetry == MPK_GENERAL) continue;
            if (a->triangle == MPK_FULL && apart > eps * size) t->reason = true;
            if (a->triangle == MPK_EITHER && t->given[0][i][j] && t->given[1][i][j])
                t->reason = true;
        }
}

/* The largest entry of row i, on either side of the diagonal, as |re| + |im|. */
static long double arrays_largest(const arrays *a, const arrays_truth *t, int32_t i) {
    long double most = 0;
    for (int32_t j = 0; j < a->n; j++)
        for (int half = 0; half < 2; half++) {
            const int32_t r = i > j ? i : j, c = i > j ? j : i;
            most = fmaxl(most, fabsl(t->re[half][r][c]) + fabsl(t->im[half][r][c]));
        }
    return most;
}

/* The same pattern, and sums that rounding explains; of both triangles the mean, where they differ
 * by no more than the default tolerance times the largest entry of the two rows. */
static void arrays_compare(const arrays *a, const arrays_truth *t, const mpk_problem *problem) {
    mpk_problem_view v;
    mpk_problem_view_get(problem, &v);
    FUZZ_ASSERT(v.n == a->n && v.scalar == a->scalar && v.symmetry == a->symmetry);
    arrays got = {.scalar = a->scalar, .value = (void *)v.ax};
    const long double eps = arrays_eps(a), turn = a->symmetry == MPK_HERMITIAN ? -1 : 1;
    const long double least = eps > DBL_EPSILON ? FLT_TRUE_MIN : DBL_TRUE_MIN;
    for (int32_t j = 0; j < v.n; j++) {
        int64_t k = v.ap[j];
        for (int32_t i = j; i < v.n; i++) {
            const bool there = k < v.ap[j + 1] && v.ai[k] == i;
            FUZZ_ASSERT(there == (t->given[0][i][j] + t->given[1][i][j] > 0));
            if (!there) continue;
            const double x = arrays_value(&got, k, 0), y = arrays_value(&got, k, 1);
            k++;
            const int above = !t->given[0][i][j];
            long double re = t->re[above][i][j], im = t->im[above][i][j] * (above ? turn : 1);
            const long double bound =
                100 * eps * t->size[i][j] + least; /* half a denormal number */
            const bool both = i > j && a->triangle == MPK_FULL;
            if (both) {
                re = (t->re[0][i][j] + t->re[1][i][j]) / 2;
                im = (t->im[0][i][j] + turn * t->im[1][i][j]) / 2;
            }
            FUZZ_ASSERT(fabsl(x - re) <= bound);
            if (i > j || turn > 0) FUZZ_ASSERT(fabsl(y - im) <= bound);
            if (!both) continue;
            const long double tolerance = eps > DBL_EPSILON ? 1e-4L : 1.5e-6L;
            const long double row = fmaxl(arrays_largest(a, t, i), arrays_largest(a, t, j));
            const long double apart =
                hypotl(t->re[0][i][j] - t->re[1][i][j], t->im[0][i][j] - turn * t->im[1][i][j]);
            FUZZ_ASSERT(apart <= 1.01L * tolerance * row + 2 * bound);
        }
    }
}

/* The same of a general matrix: each place by itself. */
static void arrays_compare_general(const arrays *a, const arrays_truth *t,
                                   const mpk_problem *problem) {
    mpk_problem_view v;
    mpk_problem_view_get(problem, &v);
    FUZZ_ASSERT(v.n == a->n && v.scalar == a->scalar && v.symmetry == a->symmetry);
    arrays got = {.scalar = a->scalar, .value = (void *)v.ax};
    const long double eps = arrays_eps(a);
    const long double least = eps > DBL_EPSILON ? FLT_TRUE_MIN : DBL_TRUE_MIN;
    for (int32_t j = 0; j < v.n; j++) {
        int64_t k = v.ap[j];
        for (int32_t i = 0; i < v.n; i++) {
            const int above = i < j;
            const int32_t r = above ? j : i, c = above ? i : j;
            const bool there = k < v.ap[j + 1] && v.ai[k] == i;
            FUZZ_ASSERT(there == (t->given[above][r][c] > 0));
            if (!there) continue;
            const long double bound = 100 * eps * t->size[r][c] + least;
            FUZZ_ASSERT(fabsl(arrays_value(&got, k, 0) - t->re[above][r][c]) <= bound);
            FUZZ_ASSERT(fabsl(arrays_value(&got, k, 1) - t->im[above][r][c]) <= bound);
            k++;
        }
    }
}

/* Products, new values, the direct solver: whatever they say, they say it. The matrix is made again
 * of its own arrays, and is the same. */
static void arrays_use(mpk_context *ctx, const mpk_problem *problem) {
    mpk_problem_view v, w;
    mpk_problem *twin = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    double b[2 * ARRAYS_N + 2] = {0}, x[2 * ARRAYS_N + 2];
    mpk_problem_view_get(problem, &v);
    const mpk_triangle triangle = v.symmetry == MPK_GENERAL ? MPK_FULL : MPK_LOWER;
    FUZZ_ASSERT(mpk_problem_from_csc(ctx, v.n, v.scalar, v.symmetry, triangle, v.ap, v.ai, v.ax,
                                     &twin) == MPK_OK);
    mpk_problem_view_get(twin, &w);
    FUZZ_ASSERT(w.nnz == v.nnz);
    FUZZ_ASSERT(!memcmp(v.ax, w.ax, (size_t)v.nnz * mpk_scalar_size(v.scalar)));
    mpk_options_init(&o);
    o.threads = 1;
    for (int32_t k = 0; k < v.n; k++)
        if (v.scalar == MPK_S || v.scalar == MPK_C)
            ((float *)b)[k] = 1;
        else
            b[k] = 1;
    FUZZ_ASSERT(mpk_problem_multiply(ctx, twin, 1, b, v.n, x, v.n) == MPK_OK);
    FUZZ_ASSERT(mpk_problem_set_values(ctx, twin, v.ax) == MPK_OK);
    mpk_status status = mpk_analyse(ctx, twin, &o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, v.ax, &o, &fac);
    if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, v.n, x, v.n, &o, NULL);
    FUZZ_ASSERT(status != MPK_ERR_INTERNAL && status != MPK_ERR_ARGUMENT);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&twin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static arrays_truth truth;
    fuzz_input in = {data, size};
    arrays a = {0};
    fuzz_purse purse = {.limit = (size_t)64 << 20, .strict = 1};
    mpk_context *ctx = fuzz_context(&purse);
    mpk_problem *problem = NULL;
    arrays_decode(&in, &a);
    mpk_status status = a.triplets
                            ? mpk_problem_from_triplets(ctx, a.n, a.scalar, a.symmetry, a.triangle,
                                                        a.nnz, a.row, a.col, a.value, &problem)
                            : mpk_problem_from_csc(ctx, a.n, a.scalar, a.symmetry, a.triangle, a.ap,
                                                   a.row, a.value, &problem);
    fuzz_check_status(ctx, status, problem);
    FUZZ_ASSERT(status == MPK_OK || status == MPK_ERR_ARGUMENT || status == MPK_ERR_INPUT);
    if (status != MPK_ERR_ARGUMENT) {
        arrays_sum(&a, &truth);
        if (mpk_failed(status)) FUZZ_ASSERT(truth.reason);
    }
    if (problem) {
        fuzz_check_problem(problem);
        if (a.symmetry == MPK_GENERAL)
            arrays_compare_general(&a, &truth, problem);
        else
            arrays_compare(&a, &truth, problem);
        arrays_use(ctx, problem);
    }
    mpk_problem_destroy(&problem);
    fuzz_end(ctx, &purse);
    free(a.row);
    free(a.col);
    free(a.value);
    return 0;
}
