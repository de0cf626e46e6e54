/* SPDX-License-Identifier: BSD-3-Clause */
/* The matching of rows and columns of a general matrix, against all permutations. */
#include "context.h"

#include <float.h>

enum { MOST = 7 };

/* Columns of a dense matrix of moduli, a[i * n + j]; zeros are left out. */
typedef struct columns {
    int64_t ap[MOST + 1];
    int32_t ai[MOST * MOST];
    double ax[MOST * MOST];
} columns;

static columns columns_of(int32_t n, const double *a) {
    columns c = {{0}, {0}, {0}};
    int64_t k = 0;
    for (int32_t j = 0; j < n; j++) {
        for (int32_t i = 0; i < n; i++)
            if (a[i * n + j] != 0) c.ai[k] = i, c.ax[k++] = a[i * n + j];
        c.ap[j + 1] = k;
    }
    return c;
}

/* The best that columns j.. can have with rows that are not taken: entries first, then the product
 * (as a sum of logarithms). */
static void best(int32_t n, const double *a, int32_t j, unsigned taken, int32_t entries, double sum,
                 int32_t *most, double *product) {
    if (j == n) {
        if (entries > *most || (entries == *most && sum > *product))
            *most = entries, *product = sum;
        return;
    }
    best(n, a, j + 1, taken, entries, sum, most, product); /* left out */
    for (int32_t i = 0; i < n; i++)
        if (!(taken >> i & 1) && a[i * n + j] != 0)
            best(n, a, j + 1, taken | 1u << i, entries + 1, sum + log(a[i * n + j]), most, product);
}

static void check(int32_t n, const double *a) {
    const columns c = columns_of(n, a);
    int32_t row_of[MOST], rank = -1, most = -1, covered = 0;
    double scale[2 * MOST], product = -DBL_MAX, sum = 0;
    assert_int_equal(mpki_match_rows(ctx, n, c.ap, c.ai, c.ax, row_of, scale, &rank), MPK_OK);
    best(n, a, 0, 0, 0, 0, &most, &product);
    assert_int_equal(rank, most);
    assert_true(is_permutation(n, row_of));
    for (int32_t k = 0; k < 2 * n; k++) assert_true(scale[k] > 0 && isfinite(scale[k]));
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = 0; i < n; i++) {
            const double scaled = a[i * n + j] * scale[j] * scale[n + i];
            assert_true(scaled <= 1 + 1e-9);
            if (row_of[j] != i || a[i * n + j] == 0) continue;
            covered++;
            sum += log(a[i * n + j]);
            if (rank == n) assert_true(scaled >= 1 - 1e-9);
        }
    assert_true(covered >= rank);
    if (rank == n) assert_true(fabs(sum - product) <= 1e-9 * (1 + fabs(product)));
}

static void test_all_permutations(void **state) {
    (void)state;
    double a[MOST * MOST];
    for (int trial = 0; trial < 400; trial++) {
        const int32_t n = 1 + trial % (MOST - 1);
        const int percent = 15 + 20 * (trial % 5);
        for (int32_t k = 0; k < n * n; k++) {
            const double x = 0.01 + (double)random_below(1000);
            a[k] = random_below(100) >= percent ? 0
                   : trial % 3 == 2             ? ldexp(x, random_below(200) - 100)
                                                : x;
        }
        check(n, a);
    }
}

/* One entry in each row: there is nothing to choose. */
static void test_permutation(void **state) {
    (void)state;
    enum { N = 5 };
    static const int32_t where[N] = {3, 0, 4, 1, 2};
    double a[N * N] = {0};
    int32_t row_of[N], rank;
    double scale[2 * N];
    for (int32_t j = 0; j < N; j++) a[where[j] * N + j] = pow(10, 3 * j - 6);
    const columns c = columns_of(N, a);
    assert_int_equal(mpki_match_rows(ctx, N, c.ap, c.ai, c.ax, row_of, scale, &rank), MPK_OK);
    assert_memory_equal(row_of, where, sizeof where);
    assert_int_equal(rank, N);
}

/* Rows and columns of very different size come near 1. */
static void test_equilibrate(void **state) {
    (void)state;
    enum { N = 6 };
    double a[N * N], scale[2 * N];
    for (int32_t i = 0; i < N; i++)
        for (int32_t j = 0; j < N; j++)
            a[i * N + j] = (1 + (i + 2 * j) % 3) * pow(10, 5 * i - 3 * j);
    const columns c = columns_of(N, a);
    for (int k = 0; k < 2 * N; k++) scale[k] = 1;
    assert_int_equal(mpki_equilibrate_rows(ctx, N, c.ap, c.ai, c.ax, 14, 1, scale), MPK_OK);
    for (int32_t i = 0; i < N; i++) {
        double row = 0, column = 0;
        for (int32_t j = 0; j < N; j++) {
            row = fmax(row, a[i * N + j] * scale[N + i] * scale[j]);
            column = fmax(column, a[j * N + i] * scale[N + j] * scale[i]);
        }
        assert_true(row > 0.9 && row < 1.1);
        assert_true(column > 0.9 && column < 1.1);
    }
}

static void test_memory_runs_out(void **state) {
    (void)state;
    double a[MOST * MOST], scale[2 * MOST];
    int32_t row_of[MOST], rank;
    for (int k = 0; k < MOST * MOST; k++) a[k] = k % 3;
    const columns c = columns_of(MOST, a);
    for (int k = 0;; k++) {
        test_memory.countdown = k;
        mpk_status status = mpki_match_rows(ctx, MOST, c.ap, c.ai, c.ax, row_of, scale, &rank);
        if (status == MPK_OK) {
            for (int i = 0; i < 2 * MOST; i++) scale[i] = 1;
            status = mpki_equilibrate_rows(ctx, MOST, c.ap, c.ai, c.ax, 2, 1, scale);
        }
        test_memory.countdown = -1;
        assert_true(k < 1000);
        if (status == MPK_OK) break;
        assert_int_equal(status, MPK_ERR_MEMORY);
        mpki_clear_error(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_permutations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_permutation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_equilibrate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_runs_out, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
