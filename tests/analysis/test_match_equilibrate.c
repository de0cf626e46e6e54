/* SPDX-License-Identifier: BSD-3-Clause */
/* Equilibration: what each sweep does to the largest entry of each row. */
#include "fixture.h"
#include <float.h>

/* largest scaled entry of each row, of a lower triangle */
static void row_maxima(int32_t n, const int64_t *ap, const int32_t *ai, const double *ax,
                       const double *s, double *largest) {
    for (int32_t i = 0; i < n; i++) largest[i] = 0;
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            int32_t i = ai[k];
            double big = fmax(s[i], s[j]), small = fmin(s[i], s[j]);
            double a = ax[k] > 1 ? ax[k] * small * big : ax[k] * big * small;
            largest[i] = fmax(largest[i], a);
            largest[j] = fmax(largest[j], a);
        }
}

static mpk_context *ctx;

static int set_up(void **state) {
    (void)state;
    return mpk_context_create(NULL, &ctx) != MPK_OK;
}

static int tear_down(void **state) {
    (void)state;
    int64_t now = -1;
    mpk_memory_usage(ctx, &now, NULL);
    mpk_context_destroy(&ctx);
    return now != 0;
}

/* two sweeps by hand: rows of maxima 100, 100, 4 give factors 1/10, 1/10, 1/2 */
static void sweeps_by_hand(void **state) {
    (void)state;
    const int64_t ap[] = {0, 2, 3, 4};
    const int32_t ai[] = {0, 1, 2, 2};
    const double ax[] = {0, 100, 4, 0};
    double s[3] = {1, 1, 1};
    assert_int_equal(mpki_equilibrate(ctx, 3, ap, ai, ax, 1, 1, s), MPK_OK);
    assert_true(fabs(s[0] - 0.1) < 1e-15 && fabs(s[1] - 0.1) < 1e-15 && fabs(s[2] - 0.5) < 1e-15);
    /* now maxima 1, 1, 0.2 */
    assert_int_equal(mpki_equilibrate(ctx, 3, ap, ai, ax, 1, 1, s), MPK_OK);
    assert_true(fabs(s[0] - 0.1) < 1e-15 && fabs(s[2] - 0.5 / sqrt(0.2)) < 1e-14);
    /* no sweep, no change */
    double before = s[2];
    assert_int_equal(mpki_equilibrate(ctx, 3, ap, ai, ax, 0, 1, s), MPK_OK);
    assert_true(s[2] == before);
}

/* error of row maxima halves on a log scale: after k sweeps within 1 of range^(2^-k) */
static void converges(void **state) {
    (void)state;
    enum { N = 400 };
    int64_t ap[N + 1] = {0}, nnz = 0;
    int32_t *ai = calloc(N * N, sizeof *ai);
    double *ax = calloc(N * N, sizeof *ax), s[N], largest[N];
    random_state = 3;
    for (int32_t j = 0; j < N; j++) {
        for (int32_t i = j; i < N; i++)
            if (i == j + 1 || random_below(100) < 2) {
                ai[nnz] = i;
                ax[nnz++] = pow(10, random_below(17) - 8);
            }
        ap[j + 1] = nnz;
        s[j] = 1;
    }
    for (int sweeps = 1; sweeps <= 10; sweeps++) {
        assert_int_equal(mpki_equilibrate(ctx, N, ap, ai, ax, 1, 1, s), MPK_OK);
        row_maxima(N, ap, ai, ax, s, largest);
        double bound = 8 * pow(0.5, sweeps) + 1e-12;
        for (int32_t i = 0; i < N; i++) {
            assert_true(largest[i] <= 1 + 1e-14);
            assert_true(log10(largest[i]) >= -2 * bound);
        }
    }
    free(ai);
    free(ax);
}

/* zero rows, explicit zeros, the ends of the range, and factors that are far off already */
static void robust(void **state) {
    (void)state;
    const int64_t ap[] = {0, 1, 3, 4, 5, 5, 6};
    const int32_t ai[] = {0, 1, 2, 3, 3, 5};
    const double ax[] = {DBL_MAX, 1e-300, 0, 1e-150, 1, DBL_TRUE_MIN};
    double s[6] = {1, 1, 1, 1, 3, 1}, largest[6];
    assert_int_equal(mpki_equilibrate(ctx, 6, ap, ai, ax, 20, 1, s), MPK_OK);
    row_maxima(6, ap, ai, ax, s, largest);
    for (int32_t i = 0; i < 4; i++) assert_true(largest[i] > 0.9 && largest[i] < 1 + 1e-12);
    assert_true(s[4] == 3);
    assert_true(s[5] > 1e153); /* to 1, though no double holds its square */
    double far[6] = {1e150, 1e-150, 1e150, 1e-150, 0.5, 1};
    assert_int_equal(mpki_equilibrate(ctx, 6, ap, ai, ax, 40, 1, far), MPK_OK);
    row_maxima(6, ap, ai, ax, far, largest);
    for (int32_t i = 0; i < 4; i++) assert_true(largest[i] > 0.9 && largest[i] < 1 + 1e-12);
    assert_true(far[4] == 0.5);
}

/* By the words of it: each scaled entry kept inside the range, whatever its factors are. */
static void by_the_book(int32_t n, const int64_t *ap, const int32_t *ai, const double *ax,
                        int sweeps, double *s) {
    double *largest = malloc((size_t)n * sizeof *largest);
    for (int sweep = 0; sweep < sweeps + MPKI_MORE_SWEEPS; sweep++) {
        bool even = true;
        for (int32_t i = 0; i < n; i++) largest[i] = 0;
        for (int32_t j = 0; j < n; j++)
            for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
                const double a = mpki_scaled(ax[k], s[ai[k]], s[j]);
                const double in = ax[k] > 0 ? fmin(fmax(a, DBL_MIN), DBL_MAX) : 0;
                largest[ai[k]] = fmax(largest[ai[k]], in);
                largest[j] = fmax(largest[j], in);
            }
        for (int32_t i = 0; i < n; i++) even = even && mpki_even(largest[i]);
        if (sweep >= sweeps && even) break;
        for (int32_t i = 0; i < n; i++)
            if (largest[i] > 0) s[i] = mpki_rescaled(s[i], largest[i]);
        if (sweep + 1 >= sweeps && even) break;
    }
    free(largest);
}

/* Entries and scales of all sizes, rows of zeros: the same scales as by the book, to the bit. */
static void all_sizes(void **state) {
    (void)state;
    enum { N = 60, KINDS = 7 };
    static const int most[KINDS] = {3, 190, 230, 450, 520, 1000, 1000};
    static const int scales[KINDS] = {0, 0, 195, 0, 250, 0, 700};
    random_state = 11;
    for (int turn = 0; turn < 20 * KINDS; turn++) {
        const int kind = turn % KINDS;
        int64_t ap[N + 1] = {0}, nnz = 0;
        int32_t ai[N * N];
        double ax[N * N], s[N], book[N];
        for (int32_t j = 0; j < N; j++) {
            const bool none = random_below(20) == 0;
            for (int32_t i = j; i < N; i++)
                if (random_below(10) < 2) {
                    ai[nnz] = i;
                    const int e = random_below(2 * most[kind] + 1) - most[kind];
                    ax[nnz++] =
                        none || random_below(8) == 0 ? 0 : ldexp(1 + random_below(1000) / 1000., e);
                }
            ap[j + 1] = nnz;
            s[j] = book[j] = ldexp(1, random_below(2 * scales[kind] + 1) - scales[kind]);
        }
        const int sweeps = 1 + turn % 4;
        by_the_book(N, ap, ai, ax, sweeps, book);
        assert_int_equal(mpki_equilibrate(ctx, N, ap, ai, ax, sweeps, 1, s), MPK_OK);
        assert_memory_equal(s, book, sizeof s);
    }
}

static void small_orders(void **state) {
    (void)state;
    const int64_t ap[] = {0, 1};
    const int32_t ai[] = {0};
    const double ax[] = {9};
    double s = 1;
    assert_int_equal(mpki_equilibrate(ctx, 0, ap, NULL, NULL, 3, 1, NULL), MPK_OK);
    assert_int_equal(mpki_equilibrate(ctx, 1, ap, ai, ax, 1, 1, &s), MPK_OK);
    assert_true(fabs(s - 1. / 3) < 1e-16);
}

static void allocation_may_fail(void **state) {
    (void)state;
    failing memory = {-1, 0};
    mpk_allocator allocator = {failing_alloc, failing_release, &memory};
    mpk_context *poor = NULL;
    const int64_t ap[] = {0, 1};
    const int32_t ai[] = {0};
    const double ax[] = {9};
    double s = 1;
    assert_int_equal(mpk_context_create(&allocator, &poor), MPK_OK);
    memory.countdown = 0;
    assert_int_equal(mpki_equilibrate(poor, 1, ap, ai, ax, 1, 1, &s), MPK_ERR_MEMORY);
    assert_true(s == 1);
    memory.countdown = 1;
    mpki_clear_error(poor);
    assert_int_equal(mpki_equilibrate(poor, 1, ap, ai, ax, 1, 1, &s), MPK_OK);
    mpk_context_destroy(&poor);
    assert_int_equal(memory.held, 0);
}

/* each: entries of a column */
static void shared_by_threads(int each) {
    enum { N = 20000, THREADS = 18 };
    mpk_context *own = NULL; /* it keeps its threads */
    assert_int_equal(mpk_context_create(NULL, &own), MPK_OK);
    mpki_context_set_cores(own, THREADS);
    int64_t *ap = calloc(N + 1, sizeof *ap), nnz = 0;
    int32_t *ai = calloc((size_t)N * (size_t)each, sizeof *ai);
    double *ax = calloc((size_t)N * (size_t)each, sizeof *ax),
           *s = calloc(2 * (size_t)N, sizeof *s);
    random_state = 5;
    for (int32_t j = 0; j < N; j++) {
        for (int k = 0; k < each; k++) { /* duplicates do no harm */
            ai[nnz] = j + random_below(N - j);
            ax[nnz++] = pow(10, random_below(17) - 8);
        }
        ap[j + 1] = nnz;
        s[j] = s[N + j] = 1;
    }
    for (int threads = 1; threads <= THREADS; threads++) {
        for (int32_t j = 0; j < N; j++) s[N + j] = 1;
        assert_int_equal(mpki_equilibrate(own, N, ap, ai, ax, 4, threads, s + N), MPK_OK);
        if (threads == 1) memcpy(s, s + N, N * sizeof *s);
        assert_memory_equal(s, s + N, N * sizeof *s);
    }
    mpk_context_destroy(&own);
    free(ap), free(ai), free(ax), free(s);
}

/* Large ones are shared by threads: the same bits, where each thread has columns of its own, and where few entries
 * reach so many rows that several threads' columns are put together. */
static void threads_share(void **state) {
    (void)state;
    shared_by_threads(60);
    shared_by_threads(6);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(sweeps_by_hand),     TEST(converges),    TEST(robust),
        TEST(all_sizes),          TEST(small_orders), cmocka_unit_test(threads_share),
        TEST(allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
