/* SPDX-License-Identifier: BSD-3-Clause */
/* The matching against all permutations, against the Hungarian method, and against its own dual. */
#include "fixture.h"
#include "analysis/match/match.h"
#include <float.h>
#include <time.h>

/* A symmetric matrix of moduli: dense for the oracles when n is small, its lower triangle always.
 */
typedef struct matrix {
    int32_t n;
    int64_t *ap;
    int32_t *ai;
    double *ax;
    int64_t nnz, room;
} matrix;

static matrix matrix_new(int32_t n) {
    return (matrix){.n = n, .ap = calloc((size_t)n + 1, sizeof(int64_t))};
}

/* columns in order, rows increasing within each; finish with matrix_close */
static void matrix_add(matrix *a, int32_t i, int32_t j, double x) {
    if (a->nnz == a->room) {
        a->room = 2 * a->room + 64;
        a->ai = realloc(a->ai, (size_t)a->room * sizeof *a->ai);
        a->ax = realloc(a->ax, (size_t)a->room * sizeof *a->ax);
    }
    a->ai[a->nnz] = i;
    a->ax[a->nnz++] = x;
    a->ap[j + 1] = a->nnz;
}

static void matrix_close(matrix *a) {
    for (int32_t j = 0; j < a->n; j++)
        if (a->ap[j + 1] < a->ap[j]) a->ap[j + 1] = a->ap[j];
}

static void matrix_free(matrix *a) {
    free(a->ap);
    free(a->ai);
    free(a->ax);
}

static matrix from_dense(int32_t n, const double *dense) {
    matrix a = matrix_new(n);
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = j; i < n; i++)
            if (dense[i * n + j] != 0) matrix_add(&a, i, j, dense[i * n + j]);
    matrix_close(&a);
    return a;
}

static double random_unit(void) {
    return random_u32() / 2147483648.0;
}

enum { KINDS = 5 };
static double random_value(int kind) {
    switch (kind) {
    case 0:
        return 1;
    case 1:
        return random_unit() + 1e-9;
    case 2:
        return exp(40 * (random_unit() - 0.5));
    case 3:
        return 1 + random_below(4);
    default:
        return exp(1400 * (random_unit() - 0.5));
    }
}

/* symmetric, with a share of entries off and on the diagonal, and some explicit zeros */
static matrix random_matrix(int32_t n, double off, double on, int kind, double *dense) {
    matrix a = matrix_new(n);
    if (dense) memset(dense, 0, (size_t)n * n * sizeof *dense);
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = j; i < n; i++) {
            if (random_unit() > (i == j ? on : off)) {
                if (random_below(20) == 0) matrix_add(&a, i, j, 0);
                continue;
            }
            double x = random_value(kind);
            if (dense) dense[i * n + j] = dense[j * n + i] = x;
            matrix_add(&a, i, j, x);
        }
    matrix_close(&a);
    return a;
}

static double entry_of(const matrix *a, int32_t i, int32_t j) {
    if (i < j) {
        int32_t t = i;
        i = j;
        j = t;
    }
    for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++)
        if (a->ai[k] == i) return a->ax[k];
    return 0;
}

/* s_i a_ij s_j without overflow on the way */
static double scaled(const double *s, int32_t i, int32_t j, double x) {
    double big = s[i] > s[j] ? s[i] : s[j], small = s[i] > s[j] ? s[j] : s[i];
    return x > 1 ? x * small * big : x * big * small;
}

static void check_mates(int32_t n, const int32_t *mate) {
    for (int32_t i = 0; i < n; i++) {
        assert_in_range(mate[i], 0, n - 1);
        assert_int_equal(mate[mate[i]], i);
    }
}

/* The dual certificate: no scaled entry is above 1, matched ones are 1, the cover is made of pairs
 * and odd cycles. By weak duality nothing of that rank has a larger product. Returns the cost of
 * the cover. */
static double check_certificate(mpk_context *ctx, const matrix *a, bool in_range) {
    int32_t n = a->n, rank = -1, covered = 0;
    int32_t *mate = calloc((size_t)n + 1, sizeof *mate);
    double *s = calloc((size_t)n + 1, sizeof *s), cost = 0;
    assert_int_equal(mpki_match(ctx, n, a->ap, a->ai, a->ax, mate, s, &rank, NULL), MPK_OK);
    check_mates(n, mate);
    for (int32_t j = 0; j < n; j++) {
        assert_true(s[j] > 0 && s[j] < INFINITY);
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++)
            assert_true(scaled(s, a->ai[k], j, a->ax[k]) <= 1 + 1e-10);
    }
    mpki_matching m;
    assert_int_equal(mpki_match_solve(ctx, NULL, n, a->ap, a->ai, a->ax, NULL, &m), MPK_OK);
    for (int32_t i = 0; i < n; i++) {
        int32_t y = m.node[i].mate, length = 1;
        if (y == MPKI_EXPOSED) {
            assert_int_equal(mate[i], i);
            continue;
        }
        if (y >= 0) assert_int_equal(m.node[y].mate, i);
        if (y < 0) {
            y = mpki_cycle_next(y);
            for (int32_t v = y; v != i; v = mpki_cycle_next(m.node[v].mate)) length++;
            assert_int_equal(length % 2, 1);
        }
        double x = entry_of(a, i, y);
        assert_true(x > 0);
        if (in_range) assert_true(fabs(scaled(s, i, y, x) - 1) < 2e-12);
        cost -= log(x);
        covered++;
    }
    assert_int_equal(covered, rank);
    mpki_match_free(&m);
    free(mate);
    free(s);
    return cost;
}

static int32_t rank_of(mpk_context *ctx, const matrix *a) {
    int32_t rank = -1, *mate = calloc((size_t)a->n + 1, sizeof *mate);
    double *s = calloc((size_t)a->n + 1, sizeof *s);
    assert_int_equal(mpki_match(ctx, a->n, a->ap, a->ai, a->ax, mate, s, &rank, NULL), MPK_OK);
    free(mate);
    free(s);
    return rank;
}

/* ---- oracles ------------------------------------------------------------------------------ */

typedef struct optimum {
    int32_t rank;
    double cost;
} optimum;

static bool better(optimum a, optimum b) {
    return a.rank > b.rank || (a.rank == b.rank && a.cost < b.cost);
}

/* all permutations */
static optimum brute_force(int32_t n, const double *dense, int32_t row, unsigned used,
                           optimum so_far) {
    if (row == n) return so_far;
    optimum best = {-1, 0};
    for (int32_t j = 0; j < n; j++) {
        if (used >> j & 1) continue;
        double x = dense[row * n + j];
        optimum next = so_far;
        if (x > 0) {
            next.rank++;
            next.cost -= log(x);
        }
        next = brute_force(n, dense, row + 1, used | 1u << j, next);
        if (better(next, best)) best = next;
    }
    return best;
}

/* The Hungarian method with potentials (rows one by one, O(n^3)); an absent entry costs `absent`.
 */
static optimum hungarian(int32_t n, const double *dense) {
    const double absent = 1e6;
    double *u = calloc((size_t)n + 1, 8), *v = calloc((size_t)n + 1, 8);
    double *least = calloc((size_t)n + 1, 8);
    int32_t *row = calloc((size_t)n + 1, 4), *from = calloc((size_t)n + 1, 4);
    char *used = calloc((size_t)n + 1, 1);
    for (int32_t i = 1; i <= n; i++) {
        int32_t j0 = 0;
        row[0] = i;
        for (int32_t j = 0; j <= n; j++) {
            least[j] = 1e30;
            used[j] = 0;
        }
        while (row[j0]) {
            int32_t i0 = row[j0], j1 = 0;
            double delta = 1e30;
            used[j0] = 1;
            for (int32_t j = 1; j <= n; j++) {
                if (used[j]) continue;
                double x = dense[(i0 - 1) * n + j - 1];
                double c = (x > 0 ? -log(x) : absent) - u[i0] - v[j];
                if (c < least[j]) {
                    least[j] = c;
                    from[j] = j0;
                }
                if (least[j] < delta) {
                    delta = least[j];
                    j1 = j;
                }
            }
            for (int32_t j = 0; j <= n; j++) {
                if (used[j]) {
                    u[row[j]] += delta;
                    v[j] -= delta;
                } else {
                    least[j] -= delta;
                }
            }
            j0 = j1;
        }
        for (; j0; j0 = from[j0]) row[j0] = row[from[j0]];
    }
    optimum best = {0, 0};
    for (int32_t j = 1; j <= n; j++) {
        double x = dense[(row[j] - 1) * n + j - 1];
        if (!(x > 0)) continue;
        best.rank++;
        best.cost -= log(x);
    }
    free(u);
    free(v);
    free(least);
    free(row);
    free(from);
    free(used);
    return best;
}

static mpk_context *context(void **state) {
    return *state;
}

static int set_up(void **state) {
    mpk_context *ctx = NULL;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    random_state = 7;
    *state = ctx;
    return 0;
}

static int tear_down(void **state) {
    int64_t now = -1;
    mpk_context *ctx = *state;
    mpk_memory_usage(ctx, &now, NULL);
    mpk_context_destroy(&ctx);
    return now != 0;
}

static void agrees_with_all_permutations(void **state) {
    double dense[64];
    int singular = 0;
    for (int k = 0; k < 1500; k++) {
        int32_t n = k < 60 ? 8 : 1 + random_below(7);
        int kind = random_below(KINDS - 1);
        matrix a = random_matrix(n, random_unit(), random_unit(), kind, dense);
        optimum best = brute_force(n, dense, 0, 0, (optimum){0, 0});
        assert_int_equal(rank_of(context(state), &a), best.rank);
        assert_true(fabs(check_certificate(context(state), &a, true) - best.cost) < 1e-9);
        singular += best.rank < n;
        matrix_free(&a);
    }
    assert_in_range(singular, 100, 1400);
}

static void agrees_with_the_hungarian_method(void **state) {
    double *dense = calloc(200 * 200, sizeof *dense);
    int singular = 0;
    for (int k = 0; k < 150; k++) {
        int32_t n = k < 4 ? 200 : 9 + random_below(80);
        double off = (0.5 + 3 * random_unit()) / n;
        if (k % 4 == 0) off = random_unit();
        matrix a = random_matrix(n, off, random_unit(), random_below(KINDS - 1), dense);
        optimum best = hungarian(n, dense);
        assert_int_equal(rank_of(context(state), &a), best.rank);
        assert_true(fabs(check_certificate(context(state), &a, true) - best.cost) < 1e-6);
        singular += best.rank < n;
        matrix_free(&a);
    }
    assert_in_range(singular, 10, 140);
    free(dense);
}

/* ---- patterns of real problems ------------------------------------------------------------ */

/* [D A^T; A 0] with m rows of A, per entries in each column of A, D over so many decades */
static matrix kkt(int32_t m, int32_t n, int per, double decades, int local) {
    matrix a = matrix_new(n + m);
    for (int32_t j = 0; j < n; j++) {
        matrix_add(&a, j, j, pow(10, decades * (random_unit() - 0.5)));
        int32_t row = local ? (int32_t)((int64_t)j * m / n) - 1 : -1;
        for (int k = 0; k < per; k++) {
            row += 1 + random_below(local ? local : m / per);
            if (row >= m) break;
            matrix_add(&a, n + row, j, random_value(1));
        }
    }
    matrix_close(&a);
    return a;
}

/* 5-point grid with no diagonal: bipartite, and every vertex must find a neighbour */
static matrix grid(int32_t side, bool diagonal) {
    matrix a = matrix_new(side * side);
    for (int32_t j = 0; j < side * side; j++) {
        if (diagonal) matrix_add(&a, j, j, random_value(1));
        if ((j + 1) % side) matrix_add(&a, j + 1, j, random_value(1));
        if (j + side < side * side) matrix_add(&a, j + side, j, random_value(1));
    }
    matrix_close(&a);
    return a;
}

/* sparse symmetric with no structure: many odd cycles */
static matrix tangle(int32_t n, int per) {
    matrix a = matrix_new(n);
    for (int32_t j = 0; j < n; j++) {
        int32_t row = j;
        for (int k = 0; k < per; k++) {
            row += 1 + random_below(n / per);
            if (row < n) matrix_add(&a, row, j, random_value(2));
        }
    }
    matrix_close(&a);
    return a;
}

/* diagonal with a few dense rows below it */
static matrix arrow(int32_t n, int32_t rows) {
    matrix a = matrix_new(n);
    for (int32_t j = 0; j < n; j++) {
        if (j < n - rows) matrix_add(&a, j, j, random_value(1));
        for (int32_t i = n - rows; i < n; i++)
            if (j < n - rows) matrix_add(&a, i, j, random_value(1));
    }
    matrix_close(&a);
    return a;
}

static void certifies_large_patterns(void **state) {
    matrix list[] = {kkt(4000, 8000, 4, 2, 0), kkt(4000, 8000, 4, 16, 0), kkt(8000, 8000, 3, 8, 0),
                     kkt(9000, 6000, 3, 8, 0), kkt(6000, 9000, 4, 8, 9),  grid(100, false),
                     grid(101, false),         grid(100, true),           tangle(8000, 2),
                     tangle(8000, 4),          arrow(20000, 15),          arrow(3000, 400)};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        check_certificate(context(state), &list[k], true);
        matrix_free(&list[k]);
    }
}

static void ranks_of_known_patterns(void **state) {
    matrix a = grid(101, false); /* odd number of vertices, two colours */
    assert_int_equal(rank_of(context(state), &a), 101 * 101 - 1);
    matrix_free(&a);
    a = kkt(900, 600, 3, 1, 0); /* 300 rows of A too many */
    assert_true(rank_of(context(state), &a) <= 1200);
    matrix_free(&a);
    a = arrow(50, 30); /* 20 columns meet 30 rows */
    assert_int_equal(rank_of(context(state), &a), 40);
    matrix_free(&a);
}

/* ---- hand-made cases ---------------------------------------------------------------------- */

static void match_dense(mpk_context *ctx, int32_t n, const double *dense, int32_t *mate, double *s,
                        int32_t *rank) {
    matrix a = from_dense(n, dense);
    assert_int_equal(mpki_match(ctx, n, a.ap, a.ai, a.ax, mate, s, rank, NULL), MPK_OK);
    matrix_free(&a);
}

static void orders_zero_and_one(void **state) {
    int32_t mate = -7, rank = -7;
    double s = -7, zero = 0, four = 4;
    int64_t ap[1] = {0};
    assert_int_equal(mpki_match(context(state), 0, ap, NULL, NULL, NULL, NULL, &rank, NULL),
                     MPK_OK);
    assert_int_equal(rank, 0);
    match_dense(context(state), 1, &four, &mate, &s, &rank);
    assert_int_equal(rank, 1);
    assert_int_equal(mate, 0);
    assert_true(fabs(s - 0.5) < 1e-12);
    match_dense(context(state), 1, &zero, &mate, &s, &rank);
    assert_int_equal(rank, 0);
    assert_int_equal(mate, 0);
    assert_true(s == 1);
}

static void explicit_zeros_are_no_entries(void **state) {
    int64_t ap[3] = {0, 2, 3};
    int32_t ai[3] = {0, 1, 1}, mate[2], rank;
    double ax[3] = {5, 0, 0}, s[2];
    assert_int_equal(mpki_match(context(state), 2, ap, ai, ax, mate, s, &rank, NULL), MPK_OK);
    assert_int_equal(rank, 1);
    assert_true(s[1] == 1);
}

static void exposed_rows_are_scaled_to_their_neighbours(void **state) {
    /* row 2 competes with row 1 for row 0 and loses; row 3 is empty */
    const double dense[] = {0, 4, 2, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    int32_t mate[4], rank;
    double s[4];
    match_dense(context(state), 4, dense, mate, s, &rank);
    assert_int_equal(rank, 2);
    assert_int_equal(mate[0], 1);
    assert_int_equal(mate[2], 2);
    assert_int_equal(mate[3], 3);
    assert_true(fabs(s[0] * 2 * s[2] - 1) < 1e-12);
    assert_true(s[3] == 1);
}

static void safe_diagonals_stay_single(void **state) {
    const double safe[] = {1, 2, 2, 1}, small[] = {0.01, 2, 2, 0.01}, half[] = {1, 2, 2, 0};
    int32_t mate[2], rank;
    double s[2];
    match_dense(context(state), 2, safe, mate, s, &rank);
    assert_int_equal(mate[0], 0);
    match_dense(context(state), 2, small, mate, s, &rank);
    assert_int_equal(mate[0], 1);
    match_dense(context(state), 2, half, mate, s, &rank);
    assert_int_equal(mate[0], 1);
}

static void the_threshold_is_a_parameter(void **state) {
    const double dense[] = {1, 2, 2, 1}; /* scaled diagonal 1/2 */
    matrix a = from_dense(2, dense);
    mpki_matching m;
    int32_t mate[2];
    assert_int_equal(mpki_match_solve(context(state), NULL, 2, a.ap, a.ai, a.ax, NULL, &m), MPK_OK);
    mpki_match_split(&m, 0.49, mate);
    assert_int_equal(mate[0], 0);
    mpki_match_split(&m, 0.51, mate);
    assert_int_equal(mate[0], 1);
    mpki_match_free(&m);
    matrix_free(&a);
}

/* a cycle of five with one small diagonal entry, which is the one to leave out */
static void odd_cycles_leave_the_best_pivot(void **state) {
    for (int32_t place = 0; place < 5; place++) {
        double dense[25] = {0}, s[5];
        int32_t mate[5], rank;
        for (int32_t i = 0; i < 5; i++) {
            int32_t j = (i + 1) % 5;
            dense[i * 5 + j] = dense[j * 5 + i] = 1;
        }
        dense[place * 6] = 0.5;
        match_dense(context(state), 5, dense, mate, s, &rank);
        check_mates(5, mate);
        assert_int_equal(rank, 5);
        assert_int_equal(mate[place], place);
        for (int32_t i = 0; i < 5; i++)
            if (i != place) assert_int_not_equal(mate[i], i);
    }
}

/* path with entries 1e300 and 1e-300 by turns: the duals grow without bound, the scaling may not */
static void extreme_entries(void **state) {
    matrix a = matrix_new(300);
    for (int32_t j = 0; j < 299; j++) matrix_add(&a, j + 1, j, j % 2 ? 1e300 : 1e-300);
    matrix_close(&a);
    check_certificate(context(state), &a, false);
    assert_int_equal(rank_of(context(state), &a), 300);
    matrix_free(&a);
    const double tiny = DBL_TRUE_MIN, huge = DBL_MAX;
    const double block[] = {huge, huge, 0, huge, 0, tiny, 0, tiny, tiny};
    a = from_dense(3, block);
    check_certificate(context(state), &a, false);
    matrix_free(&a);
    for (int k = 0; k < 100; k++) {
        a = random_matrix(1 + random_below(30), random_unit(), random_unit(), 4, NULL);
        check_certificate(context(state), &a, false);
        matrix_free(&a);
    }
}

static void equal_input_gives_equal_output(void **state) {
    matrix a = tangle(2000, 3);
    int32_t *mate = calloc(4000, sizeof *mate), rank[2];
    double *s = calloc(4000, sizeof *s);
    for (int k = 0; k < 2; k++)
        assert_int_equal(mpki_match(context(state), 2000, a.ap, a.ai, a.ax, mate + 2000 * k,
                                    s + 2000 * k, &rank[k], NULL),
                         MPK_OK);
    assert_memory_equal(mate, mate + 2000, 2000 * sizeof *mate);
    assert_memory_equal(s, s + 2000, 2000 * sizeof *s);
    assert_int_equal(rank[0], rank[1]);
    free(mate);
    free(s);
    matrix_free(&a);
}

/* ---- failures ----------------------------------------------------------------------------- */

/* with every allocation failing in turn; a matrix with exposed rows asks for the most memory */
static void every_allocation_may_fail(void **state) {
    (void)state;
    matrix a = arrow(30, 20);
    bool done = false;
    for (long k = 0; !done; k++) {
        failing memory = {-1, 0};
        mpk_allocator allocator = {failing_alloc, failing_release, &memory};
        mpk_context *ctx = NULL;
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        memory.countdown = k;
        int32_t mate[30] = {5}, rank = 99;
        double s[30] = {5};
        mpk_status status = mpki_match(ctx, 30, a.ap, a.ai, a.ax, mate, s, &rank, NULL);
        done = status == MPK_OK;
        if (!done) {
            assert_int_equal(status, MPK_ERR_MEMORY);
            assert_int_equal(rank, 99);
            assert_int_equal(mate[0], 5);
            assert_true(s[0] == 5);
        } else {
            assert_true(k >= 8);
        }
        assert_int_equal(memory.held, 1);
        mpk_context_destroy(&ctx);
        assert_int_equal(memory.held, 0);
    }
    matrix_free(&a);
}

/* stops in the search, not before; waits until then, so that no report is too soon to be made */
static int stop_later(const char *stage, double fraction, void *user) {
    (void)stage;
    struct timespec pause = {0, 60 * 1000 * 1000};
    ++*(int *)user;
    if (fraction > 0.01) return 1;
    nanosleep(&pause, NULL);
    return 0;
}

static int stop(const char *stage, double fraction, void *user) {
    (void)fraction;
    assert_string_equal(stage, "analyse");
    ++*(int *)user;
    return 1;
}

static void can_be_cancelled(void **state) {
    int calls = 0, before = 3;
    int32_t mate[4] = {9, 9, 9, 9}, rank = 9;
    double s[4];
    const double dense[16] = {0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0};
    matrix a = from_dense(4, dense);
    mpk_context *ctx = context(state);
    mpk_context_set_progress(ctx, stop, &calls);
    assert_int_equal(mpki_match(ctx, 4, a.ap, a.ai, a.ax, mate, s, &rank, NULL), MPK_ERR_CANCELLED);
    assert_in_range(calls, 1, before);
    assert_int_equal(rank, 9);
    assert_int_equal(mate[0], 9);
    matrix_free(&a);
}

static void can_be_cancelled_in_its_search(void **state) {
    int calls = 0;
    matrix a = grid(300, false);
    mpk_context *ctx = context(state);
    mpk_context_set_progress(ctx, stop_later, &calls);
    mpki_matching m;
    assert_int_equal(mpki_match_solve(ctx, NULL, a.n, a.ap, a.ai, a.ax, NULL, &m),
                     MPK_ERR_CANCELLED);
    assert_in_range(calls, 2, 1000); /* it asks before its search, too */
    matrix_free(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(agrees_with_all_permutations),
        TEST(agrees_with_the_hungarian_method),
        TEST(certifies_large_patterns),
        TEST(ranks_of_known_patterns),
        TEST(orders_zero_and_one),
        TEST(explicit_zeros_are_no_entries),
        TEST(exposed_rows_are_scaled_to_their_neighbours),
        TEST(safe_diagonals_stay_single),
        TEST(the_threshold_is_a_parameter),
        TEST(odd_cycles_leave_the_best_pivot),
        TEST(extreme_entries),
        TEST(equal_input_gives_equal_output),
        TEST(every_allocation_may_fail),
        TEST(can_be_cancelled),
        TEST(can_be_cancelled_in_its_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
