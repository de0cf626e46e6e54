/* SPDX-License-Identifier: BSD-3-Clause */
/* The front against its definition, in the precision of the including file: P A P^T = L D L^T on
 * what was eliminated, the Schur complement on what was not, |L| <= 1/u, inertia of families whose
 * inertia is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engines/cpu/isa/cpu.h"
#include "core/random.h"
#include "engines/cpu/front/tiles.h"

static uint64_t state;
static double uniform(void) { /* (-1, 1) */
    return mpki_random_lcg_signed(&state);
}

enum family { RANDOM, ZERO_DIAGONAL, SADDLE, WEAK_TILE, SINGULAR, GRADED, FAMILIES };

/* entry of the lower triangle, rows n x n */
static void fill(enum family family, int n, int w, int hermitian, T *a) {
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            T x = t_make((R)uniform(), MPKI_COMPLEX ? (R)uniform() : 0);
            if (i == j && hermitian) x = t_make(t_re(x), 0);
            if (family == ZERO_DIAGONAL && i == j) x = t_make(0, 0);
            if (family == SADDLE && j >= n / 2) x = t_make(0, 0);
            if (family == WEAK_TILE && i < w && (i / 8) == (j / 8))
                x = x * (R)1e-9; /* pivots must come from afar */
            if (family == SINGULAR && (i % 3 == 2 || j % 3 == 2)) x = t_make(0, 0);
            if (family == GRADED) x = x * (R)pow(10, -4.0 * (i + j) / (2.0 * n));
            a[i + (int64_t)j * n] = x;
        }
}

static T sym(const T *a, int n, int hermitian, int i, int j) {
    return i >= j ? a[i + (int64_t)j * n] : conj_if(hermitian, a[j + (int64_t)i * n]);
}

/* L and L D by rows (n x nelim each), so that products run along memory. Returns the largest
 * |L|. */
static R rows_of_factor(const FN(front) * f, int hermitian, T *l, T *ld) {
    const int n = (int)f->nrows, w = f->w, e = f->nelim;
    R lmax = 0;
    for (int i = 0; i < n; i++) {
        T *li = l + (int64_t)i * e, *ldi = ld + (int64_t)i * e;
        for (int k = 0; k < e && k <= i; k++) {
            li[k] = k == i ? t_make(1, 0) : *FN(front_at)(f, i, k);
            R x = k == i ? 0 : t_abs(li[k]);
            if (i >= w || n == w) lmax = x > lmax ? x : lmax;
        }
        for (int k = 0; k < e; k++) {
            ldi[k] = t_mul(li[k], f->d[2 * k]);
            if (k + 1 < e && t_abs1(f->d[2 * k + 1]) > 0)
                ldi[k] += t_mul(li[k + 1], f->d[2 * k + 1]);
            if (k > 0 && t_abs1(f->d[2 * k - 1]) > 0)
                ldi[k] += t_mul(li[k - 1], conj_if(hermitian, f->d[2 * k - 1]));
        }
    }
    return lmax;
}

static void check(enum family family, int n, int w, int hermitian, R u, int threads) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    T *a = calloc((size_t)n * n + 1, sizeof(T));
    fill(family, n, w, hermitian, a);
    int64_t size = mpki_trapezoid(n, w), m = n - w;
    FN(front) f = {.nrows = n, .w = w, .ld0 = mpki_leading(n)};
    f.a = aligned_alloc(64, (size_t)(size + 64) * sizeof(T) / 64 * 64 + 64);
    memset(f.a, 0, (size_t)(size + 64) * sizeof(T) / 64 * 64 + 64);
    f.id = calloc(n, sizeof(int32_t));
    f.d = calloc(2 * (size_t)w + 2, sizeof(T));
    f.dinv = calloc(2 * (size_t)w + 2, sizeof(T));
    for (int j = 0; j < n; j++) f.id[j] = j;
    for (int j = 0; j < w; j++)
        for (int i = j; i < n; i++) *FN(front_at)(&f, i, j) = a[i + (int64_t)j * n];
    T *c = calloc((size_t)mpki_trapezoid(m, m) + 64, sizeof(T));
    FN(front_rules)
    rules = {
        .k = FN(cpu_kernels)(), .hermitian = hermitian, .u = u, .small = (R)(n * (double)R_EPS)};
    FN(front_work) works[8];
    T *memory[8];
    mpki_pool *pool = threads > 1 ? mpki_context_pool(ctx, threads, 16) : NULL;
    for (int t = 0; t < 8; t++) {
        memory[t] = aligned_alloc(64, (size_t)FN(front_work_size)(n) * sizeof(T) / 64 * 64 + 64);
        FN(front_work_set)(&works[t], n, memory[t]);
    }
    mpki_pivots pivots = {.min_d = 1e300};
    assert_int_equal(FN(front_factor)(&f, &rules, works, pool, 0, &pivots), MPK_OK);
    FN(front_update)(&f, &rules, works, c, pool, 0);

    const int e = f.nelim;
    int64_t sum = pivots.positive + pivots.negative + pivots.zero;
    if (!MPKI_COMPLEX || hermitian) assert_int_equal(sum, e);
    if (n == w) assert_int_equal(e, w); /* a root leaves nothing */
    /* names: a permutation of the fully summed columns */
    char *seen = calloc(n, 1);
    for (int j = 0; j < w; j++) {
        assert_true(f.id[j] >= 0 && f.id[j] < w && !seen[f.id[j]]);
        seen[f.id[j]] = 1;
    }
    /* |L| <= 1/u up to the complex modulus; residual of L D L^T + S against P A P^T */
    R worst = 0, growth = 1;
    T *l = calloc((size_t)n * (e + 1), sizeof(T)), *ld = calloc((size_t)n * (e + 1), sizeof(T));
    const R lmax = rows_of_factor(&f, hermitian, l, ld);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            T sum_ij = t_make(0, 0);
            const T *lj = l + (int64_t)j * e, *ldi = ld + (int64_t)i * e;
            for (int k = 0; k < e && k <= j; k++)
                sum_ij += t_mul(ldi[k], conj_if(hermitian, lj[k]));
            if (j >= e) {
                if (j < w)
                    sum_ij += *FN(front_at)(&f, i, j);
                else { /* the contribution is -L D L^T alone */
                    int64_t ci = i - w, cj = j - w, k = cj / MPKI_PANEL, ldm = mpki_leading(m);
                    T x = c[mpki_panel_offset(ldm, k) +
                            (cj - k * MPKI_PANEL) * (ldm - k * MPKI_PANEL) + ci - k * MPKI_PANEL];
                    growth = t_abs(x) > growth ? t_abs(x) : growth;
                    x += sum_ij;
                    worst = t_abs(x) > worst || t_abs(x) != t_abs(x) ? t_abs(x) : worst;
                    continue;
                }
            }
            int oi = i < w ? f.id[i] : i, oj = j < w ? f.id[j] : j;
            T want = sym(a, n, hermitian, oi, oj);
            R x = t_abs(sum_ij - want);
            worst = x > worst || x != x ? x : worst;
        }
    for (int k = 0; k < e; k++) growth = t_abs(f.d[2 * k]) > growth ? t_abs(f.d[2 * k]) : growth;
    if (family != SINGULAR && !(lmax <= (R)1.5 / u))
        fail_msg("family %d n %d w %d hermitian %d u %g: an entry of L is %g", family, n, w,
                 hermitian, (double)u, (double)lmax);
    R bound = 50 * (R)n * R_EPS * growth / u;
    if (!(worst <= bound))
        fail_msg(
            "family %d n %d w %d hermitian %d u %g: residual %g > %g (eliminated %d, growth %g)",
            family, n, w, hermitian, (double)u, (double)worst, (double)bound, e, (double)growth);
    if (family == SINGULAR && n == w && (!MPKI_COMPLEX || hermitian))
        assert_true(pivots.zero >= n / 3);
    if (family == SADDLE && n == w && n % 2 == 0 && (!MPKI_COMPLEX || hermitian)) {
        assert_int_equal(pivots.positive, n / 2);
        assert_int_equal(pivots.negative, n / 2);
    }
    for (int t = 0; t < 8; t++) free(memory[t]);
    free(a), free(f.a), free(f.id), free(f.d), free(f.dinv), free(c), free(seen), free(l), free(ld);
    mpk_context_destroy(&ctx);
}

static void all_families(int threads, const int (*sizes)[2], int count) {
    state = 1;
    for (int family = 0; family < FAMILIES; family++)
        for (int s = 0; s < count; s++)
            for (int hermitian = 0; hermitian <= MPKI_COMPLEX; hermitian++) {
                check(family, sizes[s][0], sizes[s][1], hermitian, (R)0.01, threads);
                check(family, sizes[s][0], sizes[s][1], hermitian, (R)0.4, threads);
            }
}

static void test_small(void **unused) {
    (void)unused;
    static const int sizes[][2] = {{1, 1}, {2, 1},  {2, 2},   {3, 2},   {7, 3},
                                   {9, 9}, {31, 8}, {33, 32}, {40, 31}, {64, 32}};
    all_families(1, sizes, sizeof sizes / sizeof *sizes);
}

static void test_panels(void **unused) {
    (void)unused;
    static const int sizes[][2] = {{60, 33}, {130, 127}, {150, 150}, {290, 140}, {301, 260}};
    all_families(1, sizes, sizeof sizes / sizeof *sizes);
}

static void test_threads(void **unused) {
    (void)unused;
    static const int sizes[][2] = {{900, 40}, {420, 200}};
    all_families(2, sizes, sizeof sizes / sizeof *sizes);
}

/* ---- tiles: the bits of one worker that knows none ------------------------------------------- */

/* A front, its contribution, and what it is made in. */
typedef struct made {
    FN(front) f;
    T *c;
    mpki_pivots pivots;
    bool failed;      /* tiles have met a panel that does not pass, */
    int32_t accepted; /* after so many that do */
} made;

static void *zeros(int64_t bytes) {
    void *p = aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64);
    assert_non_null(p);
    return memset(p, 0, (size_t)(bytes + 127) / 64 * 64);
}

static made make(const T *a, int n, int w, const FN(front_rules) * rules, int threads) {
    enum { MOST = 8 };
    made x = {.f = {.nrows = n, .w = w, .ld0 = mpki_leading(n)}, .pivots = {.min_d = 1e300}};
    FN(front) *f = &x.f;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, MOST);
    f->a = zeros((mpki_trapezoid(n, w) + 64) * (int64_t)sizeof(T));
    f->id = zeros(n * (int64_t)sizeof *f->id);
    f->d = zeros(2 * w * (int64_t)sizeof(T)), f->dinv = zeros(2 * w * (int64_t)sizeof(T));
    x.c = zeros((mpki_trapezoid(n - w, n - w) + 64) * (int64_t)sizeof(T));
    for (int j = 0; j < w; j++) {
        f->id[j] = j;
        memcpy(FN(front_at)(f, j, j), a + j + (int64_t)j * n, (size_t)(n - j) * sizeof(T));
    }
    FN(front_work) works[MOST];
    T *memory[MOST];
    for (int t = 0; t < MOST; t++) {
        memory[t] = zeros(FN(front_work_size)(n) * (int64_t)sizeof(T));
        FN(front_work_set)(&works[t], n, memory[t]);
    }
    mpki_pool *pool = threads > 1 ? mpki_context_pool(ctx, threads, 16) : NULL;
    void *tiles = NULL;
    if (threads > 1) {
        assert_true(FN(tiles_bytes)(n, w, threads) > 0);
        tiles = zeros(FN(tiles_bytes)(n, w, threads));
        f->tiles = FN(tiles_set)(tiles, n, w, threads, n > w ? x.c : NULL);
        assert_non_null(f->tiles);
    }
    assert_int_equal(FN(front_factor)(f, rules, works, pool, 0, &x.pivots), MPK_OK);
    FN(front_update)(f, rules, works, x.c, pool, 0);
    if (f->tiles) x.failed = f->tiles->failed, x.accepted = f->tiles->accepted;
    FN(tiles_end)(f->tiles);
    f->tiles = NULL;
    free(tiles);
    for (int t = 0; t < MOST; t++) free(memory[t]);
    mpk_context_destroy(&ctx);
    return x;
}

static void unmake(made *x) {
    free(x->f.a), free(x->f.id), free(x->f.d), free(x->f.dinv), free(x->c);
}

static void assert_same(const made *x, const made *y) {
    const int n = (int)x->f.nrows, w = x->f.w, m = n - w;
    assert_int_equal(x->f.nelim, y->f.nelim);
    assert_memory_equal(x->f.id, y->f.id, (size_t)w * sizeof *x->f.id);
    assert_memory_equal(x->f.d, y->f.d, (size_t)(2 * w) * sizeof(T));
    for (int j = 0; j < w; j++)
        assert_memory_equal(FN(front_at)(&x->f, j, j), FN(front_at)(&y->f, j, j),
                            (size_t)(n - j) * sizeof(T));
    const int64_t ldm = mpki_leading(m);
    for (int64_t j = 0; j < m; j++) {
        const int64_t k = j / MPKI_PANEL, first = k * MPKI_PANEL;
        const int64_t at = mpki_panel_offset(ldm, k) + (j - first) * (ldm - first) + j - first;
        assert_memory_equal(x->c + at, y->c + at, (size_t)(m - j) * sizeof(T));
    }
    assert_int_equal(x->pivots.rejected, y->pivots.rejected);
    assert_int_equal(x->pivots.two_by_two, y->pivots.two_by_two);
}

/* Pivots that pass, but for column `bad` (-1: none), whose entries below its block are large. */
static void fill_passing(int n, int w, int bad, int hermitian, T *a) {
    fill(RANDOM, n, w, hermitian, a);
    for (int j = 0; j < n; j++) a[j + (int64_t)j * n] = t_make(j % 3 ? 40 : -40, 0);
    for (int i = (bad / MPKI_PANEL + 1) * MPKI_PANEL; bad >= 0 && i < n; i += 50)
        a[i + (int64_t)bad * n] = t_make(30000, 0);
}

static void compare_tiles(const T *a, int n, int w, int hermitian, int bad) {
    const FN(front_rules) rules = {.k = FN(cpu_kernels)(),
                                   .hermitian = hermitian,
                                   .u = (R)0.01,
                                   .small = (R)(n * (double)R_EPS)};
    made alone = make(a, n, w, &rules, 1);
    for (int threads = 3; threads <= 8; threads += 5) {
        made x = make(a, n, w, &rules, threads);
        if (bad > -2) {
            assert_int_equal(x.failed, bad >= 0);
            assert_int_equal(x.accepted,
                             bad < 0 ? (w + MPKI_PANEL - 1) / MPKI_PANEL : bad / MPKI_PANEL);
        }
        assert_same(&alone, &x);
        unmake(&x);
    }
    unmake(&alone);
}

/* Each block may be the one that fails, and the last one with nothing below it. */
static void test_tiles(void **unused) {
    (void)unused;
    static const int sizes[][2] = {{700, 400}, {420, 300}, {530, 129}, {400, 400}};
    state = 1;
    for (int s = 0; s < 4; s++)
        for (int hermitian = 0; hermitian <= MPKI_COMPLEX; hermitian++) {
            const int n = sizes[s][0], w = sizes[s][1];
            T *a = calloc((size_t)n * n, sizeof(T));
            for (int bad = -1; bad < w; bad += bad < 0 ? 6 : 97) {
                if (n == w && bad / MPKI_PANEL == (w - 1) / MPKI_PANEL) continue;
                fill_passing(n, w, bad, hermitian, a);
                compare_tiles(a, n, w, hermitian, bad);
            }
            for (int family = 0; n < 500 && family < FAMILIES; family++) {
                fill(family, n, w, hermitian, a);
                compare_tiles(a, n, w, hermitian, -2);
            }
            free(a);
        }
}

static bool second_time(void *self) {
    return ++*(int *)self == 2;
}

/* A search that takes long, for no column has a pivot, ends when it is asked to. */
static void test_cancelled(void **unused) {
    (void)unused;
    enum { ROWS = 40000, COLUMNS = 64 };
    int asked = 0;
    mpki_pivots pivots = {.min_d = 1e300};
    FN(front) f = {.nrows = ROWS, .w = COLUMNS, .ld0 = mpki_leading(ROWS)};
    f.a = calloc((size_t)mpki_trapezoid(ROWS, COLUMNS) + 64, sizeof(T));
    f.id = calloc(COLUMNS, sizeof *f.id);
    f.d = calloc(2 * COLUMNS, sizeof(T));
    f.dinv = calloc(2 * COLUMNS, sizeof(T));
    for (int j = 0; j < COLUMNS; j++) {
        *FN(front_at)(&f, j, j) = t_make(1, 0);
        *FN(front_at)(&f, ROWS - 1, j) = t_make(1000, 0);
    }
    const FN(front_rules)
        rules = {.k = FN(cpu_kernels)(), .u = (R)0.1, .cancelled = second_time, .self = &asked};
    assert_int_equal(FN(front_threshold)(&f, &rules, 0, &pivots), MPK_ERR_CANCELLED);
    assert_int_equal(asked, 2);
    free(f.a), free(f.id), free(f.d), free(f.dinv);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cancelled),
                                       cmocka_unit_test(test_small), cmocka_unit_test(test_panels),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
