/* SPDX-License-Identifier: BSD-3-Clause */
/* The direct solver with low_rank_tolerance: solutions, inertia and verdicts as with all of L, in less
 * memory; delayed columns, all scalar types, threads, limits; what such a factor refuses. */
#include "../sanitized.h"
#include "systems.h"

#include <metapack/schur.h>

#include <stdbool.h>
#include <unistd.h>

static mpk_options options_of(double tolerance) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = 1;
    o.ordering = MPK_ORDERING_AMD;
    o.scaling = o.matching = MPK_OFF; /* which would mend what is to be delayed */
    o.low_rank_tolerance = tolerance;
    return o;
}

static bool is_low(const system_of *s) {
    return s->info.low_rank_tolerance > 0;
}

/* Two pieces of EACH variables along a line, each beside a third one of BORDER: entries fall with
 * the distance, so blocks far from the diagonal have low rank. Each piece is a front of EACH columns
 * with BORDER rows below. late: so many of its columns have hardly an entry but in the border, and
 * are delayed. */
enum { EACH = 600, BORDER = 460, ORDER = 2 * EACH + BORDER };

static dense pieces(mpk_scalar scalar, mpk_symmetry symmetry, int late) {
    dense m = dense_new(ORDER, scalar, symmetry);
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j <= i; j++) {
            const int pi = i / EACH, pj = j / EACH;
            if (pi != pj && pi < 2) continue;
            const double at_i = (double)(i - pi * EACH) / (pi < 2 ? EACH : BORDER);
            const double at_j = (double)(j - pj * EACH) / (pj < 2 ? EACH : BORDER);
            const double far = pi == pj  ? fabs(at_i - at_j)
                               : pj == 0 ? 1 - at_j + at_i
                                         : at_j + 1 - at_i;
            const double size = 0.05 / (0.1 + far), turn = 3 * far * (i > j);
            double complex x = scalar >= MPK_C ? size * (cos(turn) + sin(turn) * I) : size;
            if (i == j) x = i % 3 == 1 ? -2 - size : 2 + size;
            if (i == j && i % 7 == 3) x = 0; /* pairs are needed */
            const bool slow = (j % EACH < late && pj < 2) || (i % EACH < late && pi < 2);
            if (slow && pi < 2) x *= 1e-3;
            if (slow && pi == 2 && i - 2 * EACH == j % EACH + 7 * pj) x = 3;
            dense_set(&m, i, j, x);
        }
    return m;
}

static void *sides(const system_of *s, int nrhs) {
    const int64_t n = s->a.n;
    uint64_t state = 3;
    void *b = malloc((size_t)(n * nrhs) * mpk_scalar_size(s->a.scalar));
    for (int64_t k = 0; k < n * nrhs; k++) {
        const double re = mpki_random_lcg_signed(&state);
        const double im = s->a.scalar >= MPK_C ? mpki_random_lcg_signed(&state) : 0;
        scalar_store(s->a.scalar, b, k, re + im * I);
    }
    return b;
}

static void *solve(const system_of *s, int nrhs, const void *b, mpk_solve_info *info,
                   mpk_status *status) {
    const int64_t n = s->a.n;
    void *x = malloc((size_t)(n * nrhs) * mpk_scalar_size(s->a.scalar));
    *status = mpk_solve(s->ctx, s->fac, nrhs, b, n, x, n, &s->o, info);
    return x;
}

static double apart(const system_of *s, const void *x, const void *y) {
    double most = 0, far = 0;
    for (int64_t i = 0; i < s->a.n; i++) {
        const double complex xi = scalar_load(s->a.scalar, x, i);
        most = fmax(most, cabs(xi));
        far = fmax(far, cabs(xi - scalar_load(s->a.scalar, y, i)));
    }
    return far / most;
}

/* ---- what it is for -------------------------------------------------------------------------- */

static void compare(const dense *m, double tolerance, bool late) {
    const bool single = m->scalar == MPK_S || m->scalar == MPK_C;
    system_of wide = of_dense(m, options_of(0)), s = of_dense(m, options_of(tolerance));
    mpk_certificate c;
    mpk_solve_info info;
    mpk_status status;
    assert_true(is_low(&s) && !is_low(&wide) && s.info.unfit == MPK_FIT);
    assert_true(s.info.nnz >= s.info.low_rank_nnz && wide.info.low_rank_nnz == wide.info.nnz);
    assert_true((double)s.info.low_rank_nnz < 0.7 * (double)s.info.nnz);
    assert_true((double)s.info.bytes < 0.8 * (double)wide.info.bytes);
    assert_true(s.info.bytes > s.info.low_rank_nnz * (int64_t)mpk_scalar_size(m->scalar));
    if (late) assert_true(s.info.rejected > 10);
    assert_int_equal(s.info.inertia.positive, wide.info.inertia.positive);
    assert_int_equal(s.info.inertia.negative, wide.info.inertia.negative);
    assert_int_equal(mpk_certify(s.ctx, s.fac, &c), MPK_OK);
    if (wide.info.inertia.positive && !single) assert_true(c.certified);
    void *b = sides(&s, 1), *x = solve(&s, 1, b, &info, &status);
    assert_int_equal(status, MPK_OK);
    assert_true(info.componentwise <= (single ? 1e-6 : 1e-14) && info.solved);
    void *y = solve(&wide, 1, b, &info, &status);
    assert_true(apart(&s, x, y) <= (single ? 1e-3 : 1e-10));
    free(b), free(x), free(y);
    end(&s), end(&wide);
}

static void test_solutions(void **state) {
    static const struct {
        mpk_scalar scalar;
        mpk_symmetry symmetry;
        int late;
    } kinds[] = {{MPK_S, MPK_SYMMETRIC, 0}, {MPK_D, MPK_SYMMETRIC, 0},  {MPK_C, MPK_HERMITIAN, 0},
                 {MPK_Z, MPK_SYMMETRIC, 0}, {MPK_D, MPK_SYMMETRIC, 40}, {MPK_Z, MPK_HERMITIAN, 40},
                 {MPK_Z, MPK_SYMMETRIC, 40}};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (TEST_SANITIZED && k != 5) continue; /* the one that does all of it */
        const bool single = kinds[k].scalar == MPK_S || kinds[k].scalar == MPK_C;
        dense m = pieces(kinds[k].scalar, kinds[k].symmetry, kinds[k].late);
        compare(&m, single ? 1e-5 : 1e-8, kinds[k].late > 0);
        free(m.a);
    }
}

/* More than are swept together; each as if it were alone, but for rounding. */
static void test_sides(void **state) {
    enum { SIDES = 19 };
    (void)state;
    for (int k = 0; k < 2 - TEST_SANITIZED; k++) {
        dense m = pieces(k ? MPK_Z : MPK_D, k ? MPK_HERMITIAN : MPK_SYMMETRIC, 20);
        system_of s = of_dense(&m, options_of(1e-8));
        const int64_t n = s.a.n, size = (int64_t)mpk_scalar_size(m.scalar);
        mpk_solve_info info;
        mpk_status status;
        s.o.refine = 0; /* it is refined for all that */
        char *b = sides(&s, SIDES), *x = solve(&s, SIDES, b, &info, &status);
        assert_int_equal(status, MPK_OK);
        assert_true(info.componentwise <= 1e-14);
        for (int r = 0; r < SIDES; r += 6) {
            char *one = solve(&s, 1, b + r * n * size, &info, &status);
            assert_true(apart(&s, one, x + r * n * size) <= 1e-10);
            free(one);
        }
        free(b), free(x), free(m.a);
        end(&s);
    }
}

/* Large fronts that all workers share, and some that one has for itself. */
static void test_threads(void **state) {
    (void)state;
    for (int mesh = 0; mesh <= !TEST_SANITIZED; mesh++) {
        dense m = pieces(MPK_D, MPK_SYMMETRIC, 20);
        void *first = NULL;
        mpk_factor_info told = {0};
        for (int threads = 1; threads <= 4; threads += 3) {
            mpk_options o = options_of(1e-8);
            mpk_status status;
            o.threads = threads;
            if (mesh) o.ordering = MPK_ORDERING_ND;
            system_of s = mesh ? of_spec("helmholtz 3d 32", o) : of_dense(&m, o);
            assert_true(is_low(&s));
            void *b = sides(&s, 10), *x = solve(&s, 10, b, NULL, &status);
            assert_int_equal(status, MPK_OK);
            if (first) assert_memory_equal(x, first, 10 * (size_t)s.a.n * sizeof(double));
            if (first)
                assert_true(told.low_rank_nnz == s.info.low_rank_nnz &&
                            told.low_rank_flops == s.info.low_rank_flops);
            told = s.info;
            free(first), free(b);
            first = x;
            end(&s);
        }
        free(first), free(m.a);
    }
}

/* New values; all of L again, and back. */
static void test_again(void **state) {
    mpk_solve_info info;
    mpk_status status;
    (void)state;
    dense m = pieces(MPK_D, MPK_SYMMETRIC, 0);
    system_of s = of_dense(&m, options_of(1e-7));
    double *ax = malloc((size_t)s.a.nnz * sizeof *ax);
    const int64_t low = s.info.bytes;
    for (int64_t e = 0; e < s.a.nnz; e++) ax[e] = -2 * ((const double *)s.a.ax)[e];
    for (int k = 0; k < 3; k++) {
        s.o.low_rank_tolerance = k == 1 ? 0 : 1e-7;
        assert_int_equal(mpk_factorize_lower(s.ctx, s.an, ax, &s.o, &s.fac), MPK_OK);
        mpk_factor_info_get(s.fac, &s.info);
        assert_true(is_low(&s) == (k != 1));
        assert_true(k == 1 ? s.info.bytes > low : s.info.bytes == low);
        void *b = sides(&s, 1), *x = solve(&s, 1, b, &info, &status);
        assert_int_equal(status, MPK_OK);
        assert_true(info.componentwise <= 1e-14);
        free(b), free(x);
    }
    free(ax), free(m.a);
    end(&s);
}

/* ---- where it does not do, or changes nothing ------------------------------------------------ */

static void same_verdict(const dense *m, double tolerance) {
    system_of s = of_dense(m, options_of(tolerance)), wide = of_dense(m, options_of(tolerance));
    wide.o.low_rank_tolerance = 0; /* by the same analysis */
    wide.status = mpk_refactorize(wide.ctx, NULL, &wide.o, wide.fac);
    mpk_factor_info_get(wide.fac, &wide.info);
    assert_true(!is_low(&s) && s.info.unfit != MPK_FIT);
    assert_int_equal(s.status, wide.status);
    assert_int_equal(s.info.rank, wide.info.rank);
    assert_memory_equal(&s.info.inertia, &wide.info.inertia, sizeof s.info.inertia);
    end(&s), end(&wide);
}

static void test_verdicts(void **state) {
    (void)state;
    dense m = pieces(MPK_D, MPK_SYMMETRIC, 0); /* two rows of a piece the same */
    for (int j = 0; j < ORDER; j++)
        if (j != 101) dense_set(&m, 101, j, dense_get(&m, 100, j));
    dense_set(&m, 101, 101, dense_get(&m, 100, 100));
    dense_set(&m, 101, 100, dense_get(&m, 100, 100));
    same_verdict(&m, 1e-6);
    free(m.a);
    m = pieces(MPK_D, MPK_SYMMETRIC, 0); /* nothing is kept of L's blocks */
    system_of s = of_dense(&m, options_of(1));
    mpk_solve_info info;
    mpk_status status;
    void *b = sides(&s, 1), *x = solve(&s, 1, b, &info, &status);
    assert_int_equal(status, MPK_OK);
    assert_true(info.componentwise <= 1e-14);
    free(b), free(x), free(m.a);
    end(&s);
}

/* No front is large enough. */
static void test_small(void **state) {
    (void)state;
    system_of s = of_spec("nlpkkt 6", options_of(1e-8)), wide = of_spec("nlpkkt 6", options_of(0));
    mpk_solve_info info, other;
    mpk_status status;
    assert_true(!is_low(&s) && s.info.unfit == MPK_FIT && s.info.bytes == wide.info.bytes);
    void *b = sides(&s, 1), *x = solve(&s, 1, b, &info, &status);
    void *y = solve(&wide, 1, b, &other, &status);
    assert_memory_equal(x, y, (size_t)s.a.n * sizeof(double));
    free(b), free(x), free(y);
    end(&s), end(&wide);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_memory_limit(void **state) {
    (void)state;
    dense m = pieces(MPK_D, MPK_SYMMETRIC, 0);
    system_of s = of_dense(&m, options_of(1e-6));
    mpk_options o = s.o;
    mpk_factor *fac = NULL;
    o.memory_limit = 0.1 * (double)s.info.peak_bytes;
    mpk_status status = mpk_factorize(s.ctx, s.an, NULL, &o, &fac);
    assert_int_equal(status, MPK_ERR_MEMORY);
    assert_null(fac);
    o.memory_limit = 2 * (double)s.info.peak_bytes;
    assert_int_equal(mpk_factorize(s.ctx, s.an, NULL, &o, &fac), MPK_OK);
    mpk_factor_destroy(&fac);
    free(m.a);
    end(&s);
}

static void test_allocations(void **state) {
    (void)state;
    failing f = {0};
    const mpk_allocator allocator = {failing_alloc, failing_release, &f};
    dense m = pieces(MPK_D, MPK_SYMMETRIC, 10);
    system_of s = {.o = options_of(1e-6)};
    assert_int_equal(mpk_context_create(&allocator, &s.ctx), MPK_OK);
    s.problem = dense_problem(s.ctx, &m, 0);
    factorize(&s);
    for (int64_t fail = 1, more = 1; more; fail += 1 + fail / 3) {
        mpk_factor *fac = NULL;
        f.calls = 0, f.fail_at = fail;
        const mpk_status status = mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac);
        more = f.calls >= fail;
        f.fail_at = 0;
        assert_int_equal(status, more ? MPK_ERR_MEMORY : MPK_OK);
        assert_true(more == !fac);
        mpk_factor_destroy(&fac);
    }
    free(m.a);
    end(&s);
    assert_int_equal(f.held, 0);
}

typedef struct stopper {
    int calls, stop_at;
} stopper;

static int stop(const char *stage, double share, void *self) {
    stopper *s = self;
    (void)share;
    if (strcmp(stage, "factorize")) return 0;
    return ++s->calls >= s->stop_at && s->stop_at > 0;
}

static void test_cancelled(void **state) {
    (void)state;
    dense m = pieces(MPK_D, MPK_SYMMETRIC, 10);
    system_of s = of_dense(&m, options_of(1e-6));
    stopper t = {0};
    mpk_factor *fac = NULL;
    mpk_context_set_progress(s.ctx, stop, &t);
    assert_int_equal(mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac), MPK_OK);
    mpk_factor_destroy(&fac);
    const int calls = t.calls;
    assert_true(calls > 2);
    for (t.stop_at = 1; t.stop_at <= calls; t.stop_at += 1 + calls / 5) {
        t.calls = 0;
        const mpk_status status = mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac);
        assert_true(status == MPK_ERR_CANCELLED || (status == MPK_OK && t.stop_at > 2));
        mpk_factor_destroy(&fac);
    }
    free(m.a);
    end(&s);
}

/* ---- what it does not do --------------------------------------------------------------------- */

static void refuses(const system_of *s, mpk_status status, const char *words) {
    const char *text = NULL;
    assert_int_equal(status, MPK_ERR_UNSUPPORTED);
    mpk_last_error(s->ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, words));
}

static void test_refused(void **state) {
    static double out[ORDER];
    const int64_t bptr[] = {0, 1};
    const int32_t row = 3, outer[] = {1, 2};
    const double one = 1;
    (void)state;
    dense m = pieces(MPK_D, MPK_SYMMETRIC, 0);
    system_of s = of_dense(&m, options_of(1e-6));
    assert_true(is_low(&s));
    refuses(&s,
            mpk_selected_inverse(s.ctx, s.fac, MPK_SELECT_DIAGONAL, out, sizeof out, NULL, NULL),
            "low rank");
    refuses(&s,
            mpk_solve_minimum_norm(s.ctx, s.fac, 0, NULL, 0, 1, out, ORDER, out, ORDER, &s.o, NULL),
            "low rank");
    refuses(
        &s,
        mpk_solve_sparse(s.ctx, s.fac, 1, bptr, &row, &one, 1, &row, MPK_SPARSE_ROWS, out, 1, NULL),
        "low rank");
    refuses(&s, mpk_factor_save(s.ctx, s.fac, "low-rank-that-is-not-saved"), "low rank");
    assert_int_equal(access("low-rank-that-is-not-saved", F_OK), -1);
    mpk_factor *fac = NULL;
    s.o.updates = MPK_ON;
    refuses(&s, mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac), "low rank");
    s.o.updates = MPK_OFF;
    s.o.device = MPK_ON_CUDA;
    refuses(&s, mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac), "on the processor alone");
    s.o.device = MPK_ON_AUTO;
    assert_int_equal(mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac), MPK_OK);
    mpk_factor_destroy(&fac);
    s.o.device = MPK_ON_CPU;
    mpk_analysis_destroy(&s.an);
    assert_int_equal(mpk_analyse_schur(s.ctx, s.problem, &s.o, 2, outer, &s.an), MPK_OK);
    refuses(&s, mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac), "Schur");
    free(m.a);
    end(&s);
}

int main(void) {
    const struct CMUnitTest threads[] = {cmocka_unit_test(test_threads)};
    if (TEST_THREAD_SANITIZED) return cmocka_run_group_tests(threads, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solutions),    cmocka_unit_test(test_sides),
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_again),
        cmocka_unit_test(test_verdicts),     cmocka_unit_test(test_small),
        cmocka_unit_test(test_memory_limit), cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_cancelled),    cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
