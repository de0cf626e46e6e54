/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT with pivots as GPUs have it, with a row in each work-item, two rows (-D WG_SIZE=8 -D
 * ORDER=n) and by a warp's tiles (-D WG_SIZE=32), by the interpreter: factors multiply to P A P^T,
 * inertia is what the matrices were made with, pivots that are zero, pairs at the end and one row
 * behind them, NaN and Inf, nothing written but the lower triangle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "library.h"

enum { MAX = 32, TILES = 32, HALVES = 8, SPARE = 3, PLACES = 6 };

enum family {
    SIGNS,   /* M D M^T, where D has both signs: the inertia is D's */
    UPWARDS, /* the same, scaled from small to large: no tolerance fits */
    DOWNWARDS,
    RANDOM, /* whatever the inertia */
    NO_DIAGONAL,
    PAIRS,     /* zero but for pairs, i with n - 1 - i, and the row in the middle */
    PAIR_LAST, /* one pair, found last by both searches */
    DEFICIENT, /* of rank (n + 1) / 2 */
    NOTHING,   /* zero */
    LARGE,     /* products of two entries overflow */
    SMALL,     /* and become zero */
    FAR,       /* no diagonal, and a first column so small that its square is nothing */
    WORN, /* what is left of a diagonal entry is small, and its column is not, but is its pivot */
    TINY, /* denormal entries, of odd orders no diagonal: zero */
    NOT_A_NUMBER,
    ENDLESS = NOT_A_NUMBER + PLACES,
    GROUPS = ENDLESS + PLACES
};

typedef struct batch {
    int n, ld, items; /* 0: a row in each work-item */
    int64_t stride;
    bool single, complete;
    double tol, eps, a[GROUPS][MAX][MAX]; /* truth, all of it, by columns */
    int inertia[GROUPS][3];               /* -1: not known */
    double *f;
    int32_t piv[GROUPS * MAX], info[4 * GROUPS];
} batch;

static double noise(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 8388608.0 - 1;
}

/* A += d v v^T */
static void add(int n, double a[MAX][MAX], double d, const double *v) {
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) a[j][i] += d * v[i] * v[j];
}

/* The sum of `rank` outer products of vectors near unit ones, with entries of few bits. */
static void make_sum(batch *b, int g, int rank, uint32_t *state) {
    int n = b->n;
    double v[MAX];
    for (int k = 0; k < rank; ++k) {
        bool negative = noise(state) < 0;
        for (int i = 0; i < n; ++i)
            v[i] = i == (37 * k + 3) % n ? 1 : floor(4 * noise(state)) / 16 * (n < 16);
        if (n >= 16) v[(37 * k + 4) % n] = 0.25;
        add(n, b->a[g], negative ? -1.5 : 1, v);
        ++b->inertia[g][negative];
    }
    b->inertia[g][2] = n - rank;
}

/* From its factors: after half of the pivots one of sqrt(eps) with a column of L as large as Bunch
 * and Kaufman let it be. D must hold what the column was divided by: what is as right to rounding
 * errors of A is wrong by L's square times as much. */
static void make_worn(batch *b, int g) {
    int n = b->n, small = n / 2;
    uint32_t state = (uint32_t)n;
    double pivot = sqrt(b->eps), most = 0.9 / sqrt(pivot), l[MAX];
    for (int k = 0; k < n; ++k) {
        for (int i = 0; i < n; ++i) {
            double x = noise(&state);
            l[i] = i < k        ? 0
                   : i == k     ? 1
                   : k == small ? most * x
                   : i < small  ? 0.4 + 0.1 * x
                   : i == small ? 0.25
                                : 0.2 * x;
        }
        add(n, b->a[g], k == small ? pivot : k % 2 ? -1 : 1, l);
    }
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n && b->single; ++i) b->a[g][j][i] = (double)(float)b->a[g][j][i];
}

static bool graded(int g) {
    return g == UPWARDS || g == DOWNWARDS;
}

static void make(batch *b, int g, uint32_t *state) {
    int n = b->n, first = n > 2 ? 1 : 0;
    double least = ldexp(1, b->single ? -130 : -1026);
    for (int j = 0; j < n; ++j)
        for (int i = j; i < n; ++i) {
            double x = (float)noise(state);
            if ((g == NO_DIAGONAL || g == FAR || (g == TINY && n % 2)) && i == j) x = 0;
            if (g == FAR && j == 0) x = ldexp(x, b->single ? -66 : -600);
            if (g == TINY) x = x < 0 ? -least : x > 0 ? least : 0;
            if (g == PAIRS) x = i == j && n == 2 * i + 1 ? 0.25 : i + j == n - 1 ? 1 + i : 0;
            if (g == PAIR_LAST)
                x = j == first && i == first + 1                       ? 0.5
                    : i == j && (n == 1 || i < first || i > first + 1) ? (i % 3 ? 2 + i : -3 - i)
                                                                       : 0;
            if (g == SIGNS || graded(g) || g == DEFICIENT || g == NOTHING || g == WORN) x = 0;
            if (g == LARGE) x = ldexp(x, b->single ? 100 : 900);
            if (g == SMALL) x = ldexp(x, b->single ? -90 : -900);
            b->a[g][j][i] = b->a[g][i][j] = x;
        }
    if (g == SIGNS || graded(g)) make_sum(b, g, n, state);
    for (int j = 0; j < n && graded(g); ++j)
        for (int i = 0; i < n; ++i)
            b->a[g][j][i] =
                ldexp(b->a[g][j][i], (g == UPWARDS ? i + j : -i - j) * (b->single ? 1 : 4));
    if (g == WORN) make_worn(b, g);
    if (g == DEFICIENT) make_sum(b, g, (n + 1) / 2, state);
    if (g == NOTHING) b->inertia[g][2] = n;
    if (g == PAIRS) {
        b->inertia[g][0] = (n + 1) / 2;
        b->inertia[g][1] = n / 2;
    }
    if (g == RANDOM || g == NO_DIAGONAL || g == PAIR_LAST || g == LARGE || g == SMALL || g == FAR ||
        g == WORN)
        b->inertia[g][0] = -1;
    if (g >= NOT_A_NUMBER) {
        int place = (g - NOT_A_NUMBER) % PLACES;
        int row[PLACES] = {0, n - 1, n - 1, n / 2, n - 1, n / 2};
        int column[PLACES] = {0, 0, n - 1, n / 2, n / 2, 0};
        double bad = g < ENDLESS ? (double)NAN : place % 2 ? INFINITY : -INFINITY;
        b->a[g][column[place]][row[place]] = b->a[g][row[place]][column[place]] = bad;
    }
}

static void run(batch *b) {
    const char *defines[] = {b->single ? "SINGLE" : "DOUBLE", NULL, NULL};
    char order[16];
    int64_t total = GROUPS * b->stride;
    float narrow = (float)b->tol, *f = malloc((size_t)total * sizeof *f);
    snprintf(order, sizeof order, "ORDER=%d", b->n);
    defines[1] = b->items ? order : "BORG_SIMT=1";
    borg_options o = {
        .size = b->items ? b->items : b->n, .strict = b->n % 2, .verify = true, .defines = defines};
    borg_program *p = library_compile(b->complete ? "ldlt_complete" : "ldlt_partial", &o);
    for (int64_t k = 0; k < total; ++k) f[k] = (float)b->f[k];
    borg_arg args[6] = {{.data = b->single ? (void *)f : b->f, .count = total},
                        {.bits = (uint64_t)b->ld},
                        {.bits = (uint64_t)b->stride},
                        {.data = b->piv, .count = GROUPS * b->n},
                        {.data = b->info, .count = 4 * GROUPS}};
    if (b->single)
        memcpy(&args[5].bits, &narrow, sizeof narrow);
    else
        memcpy(&args[5].bits, &b->tol, sizeof b->tol);
    if (!borg_interpret(p->units[0].module, NULL, args, 0, GROUPS, 0, &p->diags))
        fail_msg("%s", borg_program_messages(p));
    for (int64_t k = 0; k < total && b->single; ++k) b->f[k] = (double)f[k];
    borg_program_free(p);
    free(f);
}

/* A permutation, in which marks stand in pairs. Row k of the result is row[k]; first[k]: the first
 * of a pair. */
static void read_pivots(const batch *b, int g, int *row, bool *first) {
    bool seen[MAX] = {false};
    for (int k = 0; k < b->n; ++k) {
        int p = b->piv[g * b->n + k];
        row[k] = p < 0 ? ~p : p;
        assert_in_range(row[k], 0, b->n - 1);
        assert_false(seen[row[k]]);
        seen[row[k]] = true;
        first[k] = p < 0 && !(k > 0 && first[k - 1]);
        if (first[k]) assert_true(k + 1 < b->n && b->piv[g * b->n + k + 1] < 0);
    }
}

/* P A P^T = L D L^T, D's inertia is what is told, L is bounded (complete pivoting). */
static void check_factors(const batch *b, int g, const int *row, const bool *first) {
    static double l[MAX][MAX], d[MAX][MAX], ld[MAX][MAX];
    const double *f = b->f + g * b->stride;
    int n = b->n, count[3] = {0};
    double worst = 0, scale = 0;
    memset(d, 0, sizeof d);
    for (int j = 0; j < n; ++j) {
        d[j][j] = f[j * b->ld + j];
        for (int i = 0; i < n; ++i) l[j][i] = i == j ? 1 : i > j ? f[j * b->ld + i] : 0;
        if (first[j]) {
            d[j][j + 1] = d[j + 1][j] = l[j][j + 1];
            l[j][j + 1] = 0;
            double d2 = f[(j + 1) * b->ld + j + 1] / d[j][j + 1];
            assert_true(d[j][j] / d[j][j + 1] * d2 < 1); /* one of each sign */
            ++count[0], ++count[1];
        } else if (!(j > 0 && first[j - 1])) {
            ++count[d[j][j] > 0 ? 0 : d[j][j] < 0 ? 1 : 2];
        }
        for (int i = j + 1; i < n; ++i) {
            if (b->complete) assert_true(fabs(l[j][i]) < 4);
            if (b->piv[g * n + j] >= 0 && d[j][j] == 0) assert_true(l[j][i] == 0);
        }
    }
    for (int k = 0; k < 3; ++k) assert_int_equal(b->info[4 * g + 1 + k], count[k]);
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            ld[j][i] = l[j][i] * d[j][j];
            if (j > 0) ld[j][i] += l[j - 1][i] * d[j - 1][j];
            if (j + 1 < n) ld[j][i] += l[j + 1][i] * d[j + 1][j];
        }
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            double sum = 0, x = b->a[g][row[j]][row[i]];
            for (int k = 0; k < n; ++k) {
                sum += ld[k][i] * l[k][j];
                scale = fmax(scale, fabs(ld[k][i] * l[k][j]));
            }
            scale = fmax(scale, fabs(x));
            if (!(fabs(sum - x) <= worst)) worst = fabs(sum - x);
        }
    if (!(worst <= 20 * n * b->eps * scale))
        fail_msg("order %d, group %d: residual %g of %g", n, g, worst, scale);
}

static void check_group(const batch *b, int g) {
    int n = b->n, row[MAX];
    const int *inertia = b->inertia[g], *info = b->info + 4 * g, *piv = b->piv + g * n;
    bool first[MAX];
    for (int k = 0; k < b->stride; ++k) /* nothing else is written */
        if (k / b->ld >= n || k % b->ld >= n || k % b->ld < k / b->ld)
            assert_true(b->f[g * b->stride + k] == 77);
    if (g >= NOT_A_NUMBER) {
        assert_int_equal(info[0], 3);
        assert_int_equal(info[1] + info[2] + info[3], 0);
        return;
    }
    if (g == TINY) {
        assert_int_equal(info[3], n);
        return;
    }
    if (b->tol > 0 ? graded(g) || g == FAR : g == DEFICIENT) return; /* what is zero is not known */
    read_pivots(b, g, row, first);
    check_factors(b, g, row, first);
    assert_int_equal(info[0], info[3] > 0);
    if (inertia[0] >= 0)
        for (int k = 0; k < 3; ++k) assert_int_equal(info[1 + k], inertia[k]);
    if (g == PAIRS) { /* and one row that is left at the end */
        for (int k = 0; k < n - n % 2; ++k) assert_true(piv[k] < 0);
        if (n % 2) assert_int_equal(piv[n - 1], n / 2);
    }
    if (g == PAIR_LAST && n > 1) {
        for (int k = 0; k < n - 2; ++k) assert_true(piv[k] >= 0);
        assert_true(first[n - 2]);
    }
}

static void check(int n, int items, bool single, bool complete, double tol) {
    batch *b = calloc(1, sizeof *b);
    uint32_t state = (uint32_t)(19 * n + 2 * single + complete);
    assert_non_null(b);
    b->n = n;
    b->items = items;
    b->ld = n + SPARE;
    b->stride = (int64_t)b->ld * n + 5;
    b->single = single;
    b->complete = complete;
    b->tol = tol;
    b->eps = single ? FLT_EPSILON : DBL_EPSILON;
    b->f = malloc((size_t)(GROUPS * b->stride) * sizeof *b->f);
    assert_non_null(b->f);
    for (int64_t k = 0; k < GROUPS * b->stride; ++k) b->f[k] = 77;
    for (int g = 0; g < GROUPS; ++g) {
        make(b, g, &state);
        for (int j = 0; j < n; ++j)
            memcpy(b->f + g * b->stride + j * b->ld + j, &b->a[g][j][j],
                   (size_t)(n - j) * sizeof *b->f);
    }
    run(b);
    for (int g = 0; g < GROUPS; ++g) check_group(b, g);
    free(b->f);
    free(b);
}

static void check_orders(int first, int last, int items, bool complete) {
    for (int n = first; n <= last; ++n) {
        check(n, items, false, complete, 1e-12);
        check(n, items, false, complete, 0);
        if (n % 5 == 3) check(n, items, true, complete, 1e-5);
        if (n % 5 == 1) check(n, items, true, complete, 0);
    }
}

static void test_partial(void **state) {
    (void)state;
    check_orders(1, MAX, TILES, false);
}

static void test_complete(void **state) {
    (void)state;
    check_orders(1, MAX, TILES, true);
}

static void test_rows(void **state) {
    static const int orders[] = {17, 24, 31, 32};
    (void)state;
    for (int complete = 0; complete < 2; ++complete) {
        check_orders(1, 12, 0, complete);
        for (int k = 0; k < 4; ++k) check_orders(orders[k], orders[k], 0, complete);
    }
}

static void test_halves(void **state) {
    (void)state;
    check_orders(HALVES + 1, 2 * HALVES, HALVES, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_partial),
                                       cmocka_unit_test(test_complete),
                                       cmocka_unit_test(test_halves), cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
