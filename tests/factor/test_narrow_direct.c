/* SPDX-License-Identifier: BSD-3-Clause */
/* The direct solver with precision = single: solutions as good as those in double with half the
 * memory, verdicts that are never those of single precision, what is learned for later values, what
 * such a factor refuses. */
#include "../sanitized.h"
#include "systems.h"

#include <stdbool.h>

static mpk_options options_of(mpk_precision precision) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = 1;
    o.precision = precision;
    return o;
}

static bool is_single(const system_of *s) {
    return s->info.precision == MPK_PRECISION_SINGLE;
}

/* nrhs columns of numbers from -1 to 1, column r times 10^power[r % count] */
static void *sides(const system_of *s, int nrhs, const int *power, int count) {
    const int64_t n = s->a.n;
    uint64_t state = 3;
    void *b = malloc((size_t)(n * nrhs) * mpk_scalar_size(s->a.scalar));
    for (int64_t k = 0; k < n * nrhs; k++) {
        const double size = pow(10, power[k / n % count]), re = mpki_random_lcg_signed(&state);
        const double im = s->a.scalar == MPK_Z ? mpki_random_lcg_signed(&state) : 0;
        scalar_store(s->a.scalar, b, k, (re + im * I) * size);
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

static const int plain[] = {0};

/* ---- what it is for -------------------------------------------------------------------------- */

static const char *const specs[] = {"nlpkkt 6",
                                    "stokes mac 30",
                                    "lp-kkt 100 200 4",
                                    "quasi-definite 10",
                                    "optimal-control 20",
                                    "random 300 density=0.2 zeros=0.9",
                                    "random 300 density=0.01 zeros=0.6",
                                    "random 270 density=0.04 entries=complex",
                                    "random 270 density=0.04 entries=hermitian",
                                    "helmholtz 2d 30 0.4",
                                    "helmholtz 2d 18 boundary=absorbing",
                                    "elements triangles 17"};
enum { SPECS = sizeof specs / sizeof *specs };

/* log|det A| by the factor's D and scaling */
static double logdet_by_d(const system_of *s) {
    const int n = s->a.n;
    const size_t size = mpk_scalar_size(s->a.scalar);
    char *d = malloc(2 * (size_t)n * size);
    double *scale = malloc((size_t)n * sizeof *scale), sum = 0;
    assert_int_equal(mpk_get(s->ctx, s->fac, MPK_GET_D, d, 2 * (size_t)n * size), MPK_OK);
    assert_int_equal(mpk_get(s->ctx, s->fac, MPK_GET_SCALE, scale, (size_t)n * sizeof *scale),
                     MPK_OK);
    for (int k = 0; k < n; k++) {
        const double complex a = scalar_load(s->a.scalar, d, 2 * k);
        const double complex b = scalar_load(s->a.scalar, d, 2 * k + 1);
        sum -= 2 * log(scale[k]);
        if (b == 0) {
            sum += log(cabs(a));
            continue;
        }
        const double complex c = scalar_load(s->a.scalar, d, 2 * k + 2);
        const bool hermitian = s->a.symmetry == MPK_HERMITIAN;
        sum += log(cabs(a * c - b * (hermitian ? conj(b) : b)));
        sum -= 2 * log(scale[++k]);
    }
    free(d), free(scale);
    return sum;
}

static void compare_quantities(const system_of *s, const system_of *wide) {
    const int n = s->a.n;
    double det[3], other[3];
    int32_t *perm = malloc((size_t)n * sizeof *perm);
    char *seen = calloc((size_t)n, 1);
    assert_int_equal(mpk_get(s->ctx, s->fac, MPK_GET_LOGDET, det, sizeof det), MPK_OK);
    assert_int_equal(mpk_get(wide->ctx, wide->fac, MPK_GET_LOGDET, other, sizeof other), MPK_OK);
    for (int k = 0; k < 3; k++) assert_true(fabs(det[k] - other[k]) <= 1e-4 * n);
    assert_true(fabs(det[0] - logdet_by_d(s)) <= 1e-8 * n * (1 + fabs(det[0])));
    assert_int_equal(mpk_get(s->ctx, s->fac, MPK_GET_PERM, perm, (size_t)n * sizeof *perm), MPK_OK);
    for (int k = 0; k < n; k++) seen[perm[k]]++;
    for (int k = 0; k < n; k++) assert_int_equal(seen[k], 1);
    free(perm), free(seen);
}

/* L, D and L^T in turn are the whole. */
static void compare_parts(const system_of *s) {
    const int64_t n = s->a.n;
    const size_t bytes = (size_t)n * mpk_scalar_size(s->a.scalar);
    void *b = sides(s, 1, (const int[]){-60}, 1), *x = malloc(bytes);
    double most = 0, apart = 0;
    memcpy(x, b, bytes);
    assert_int_equal(mpk_solve_part(s->ctx, s->fac, MPK_PART_ALL, 1, x, n), MPK_OK);
    for (int part = MPK_PART_L; part <= MPK_PART_LT; part++)
        assert_int_equal(mpk_solve_part(s->ctx, s->fac, (mpk_part)part, 1, b, n), MPK_OK);
    for (int64_t k = 0; k < n; k++) {
        const double complex one = scalar_load(s->a.scalar, x, k);
        most = fmax(most, cabs(one));
        apart = fmax(apart, cabs(one - scalar_load(s->a.scalar, b, k)));
    }
    assert_true(most > 0 && apart <= 1e-3 * most);
    free(b), free(x);
}

static void test_solutions(void **state) {
    int64_t delayed = 0, pairs = 0;
    (void)state;
    for (int k = 0; k < SPECS; k++) {
        system_of wide = of_spec(specs[k], options_of(MPK_PRECISION_DOUBLE));
        system_of s = of_spec(specs[k], options_of(MPK_PRECISION_SINGLE));
        mpk_solve_info info;
        mpk_status status;
        assert_true(is_single(&s) && !is_single(&wide) && s.info.unfit == MPK_FIT);
        assert_true((double)s.info.bytes <= 0.61 * (double)wide.info.bytes);
        assert_true(s.info.peak_bytes < wide.info.peak_bytes);
        assert_int_equal(s.info.inertia.positive, wide.info.inertia.positive);
        assert_int_equal(s.info.inertia.negative, wide.info.inertia.negative);
        void *b = sides(&s, 1, plain, 1), *x = solve(&s, 1, b, &info, &status);
        assert_int_equal(status, MPK_OK);
        assert_true(info.componentwise <= 1e-14 && info.unrefined > 1e-10 && info.solved);
        void *y = solve(&wide, 1, b, &info, &status);
        double most = 0, apart = 0;
        for (int64_t i = 0; i < s.a.n; i++) {
            const double complex xi = scalar_load(s.a.scalar, x, i);
            most = fmax(most, cabs(xi));
            apart = fmax(apart, cabs(xi - scalar_load(s.a.scalar, y, i)));
        }
        assert_true(apart <= 1e-8 * most);
        compare_quantities(&s, &wide);
        compare_parts(&s);
        delayed += s.info.rejected, pairs += s.info.two_by_two;
        free(b), free(x), free(y);
        end(&s), end(&wide);
    }
    assert_true(delayed > 20 && pairs > 100);
}

/* More right-hand sides than have room at once, of all sizes, some of them zero; in place. */
static void test_sides(void **state) {
    enum { SIDES = TEST_SANITIZED ? 70 : 130 };
    static const int powers[] = {0, 200, -200, 30, -290, -400, 290};
    (void)state;
    for (int k = 0; k < 2; k++) {
        system_of s = of_spec(k ? specs[7] : specs[0], options_of(MPK_PRECISION_SINGLE));
        const int64_t n = s.a.n;
        const size_t size = mpk_scalar_size(s.a.scalar);
        void *b = sides(&s, SIDES, powers, 7);
        mpk_solve_info info;
        mpk_status status;
        s.o.refine = 0; /* it is refined for all that */
        char *x = solve(&s, SIDES, b, &info, &status);
        assert_int_equal(status, MPK_OK);
        assert_true(info.componentwise <= 1e-14);
        for (int64_t i = 0; i < n; i++) assert_true(scalar_load(s.a.scalar, x, 5 * n + i) == 0);
        assert_int_equal(mpk_solve(s.ctx, s.fac, SIDES, b, n, b, n, &s.o, NULL), MPK_OK);
        assert_memory_equal(b, x, (size_t)(n * SIDES) * size);
        free(b), free(x);
        end(&s);
    }
}

/* A times 1e200 and 1e-200, also without scaling. */
static void test_values(void **state) {
    static const int powers[] = {200, -200, 30, -30};
    (void)state;
    for (int k = 0; k < 8; k++) {
        system_of s = of_spec(specs[k % 2 ? 9 : 0], options_of(MPK_PRECISION_SINGLE));
        double *ax = malloc((size_t)s.a.nnz * sizeof *ax);
        mpk_solve_info info;
        mpk_status status;
        for (int64_t e = 0; e < s.a.nnz; e++)
            ax[e] = ((const double *)s.a.ax)[e] * pow(10, powers[k / 2]);
        s.o.scaling = k >= 4 ? MPK_OFF : MPK_AUTO;
        assert_int_equal(mpk_factorize_lower(s.ctx, s.an, ax, &s.o, &s.fac), MPK_OK);
        mpk_factor_info_get(s.fac, &s.info);
        assert_true(is_single(&s));
        void *b = sides(&s, 1, plain, 1), *x = solve(&s, 1, b, &info, &status);
        assert_int_equal(status, MPK_OK);
        assert_true(info.componentwise <= 1e-14);
        free(b), free(x), free(ax);
        end(&s);
    }
}

/* Late interior point systems, and an accuracy that refinement does not reach: FGMRES goes on. */
static void test_krylov(void **state) {
    static const char *const files[] = {"lp_kkt/afiro_it14.mtx.xz", "lp_kkt/25fv47_it26.mtx.xz"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        failing f = {0};
        const mpk_allocator allocator = {failing_alloc, failing_release, &f};
        char name[512];
        system_of s = {.o = options_of(MPK_PRECISION_SINGLE)};
        mpk_solve_info info;
        mpk_status status;
        snprintf(name, sizeof name, "%s/%s", METAPACK_DATA, files[k]);
        assert_int_equal(mpk_context_create(&allocator, &s.ctx), MPK_OK);
        assert_int_equal(mpk_problem_read(s.ctx, name, &s.problem), MPK_OK);
        factorize(&s);
        assert_true(is_single(&s));
        const int64_t n = s.a.n;
        const double *ax = s.a.ax;
        double *b = sides(&s, 3, plain, 1), *one = b + n; /* the second one */
        memset(one, 0, (size_t)n * sizeof *one);
        for (int32_t j = 0; j < n; j++)
            for (int64_t e = s.a.ap[j]; e < s.a.ap[j + 1]; e++) {
                one[s.a.ai[e]] += ax[e];
                if (s.a.ai[e] != j) one[j] += ax[e];
            }
        double *x = solve(&s, 3, b, &info, &status);
        assert_int_equal(status, MPK_OK);
        assert_true(info.componentwise <= 1e-14 && info.iterations >= 2 && info.solved);
        assert_true(info.krylov.method == MPK_KRYLOV_AUTO);
        free(x);
        s.o.accuracy = 1e-17; /* and what it reaches is no worse */
        x = solve(&s, 3, b, &info, &status);
        assert_int_equal(status, MPK_INACCURATE);
        assert_true(info.componentwise <= 1e-14 && info.solved);
        for (int64_t fail = 1, more = k == 0; more; fail++) { /* without memory x is as it was */
            double *y = malloc(3 * (size_t)n * sizeof *y);
            memcpy(y, b, 3 * (size_t)n * sizeof *y);
            f.calls = 0, f.fail_at = fail;
            status = mpk_solve(s.ctx, s.fac, 3, y, n, y, n, &s.o, NULL);
            more = f.calls >= fail;
            assert_int_equal(status, more ? MPK_ERR_MEMORY : MPK_INACCURATE);
            assert_memory_equal(y, more ? b : x, 3 * (size_t)n * sizeof *y);
            f.fail_at = 0;
            free(y);
        }
        free(b), free(x);
        end(&s);
        assert_int_equal(f.held, 0);
    }
}

/* Rows so far apart that each counts as rounding beside the others: what tells is how much a step
 * changes x. [-p q; q (1 - gap) q^2 / -p] with rows times 10^k and 10^-k, and 0.7. */
static void test_far_apart(void **state) {
    static const double gaps[] = {0, 1e-9, 1e-7, 1e-5, 1e-3};
    (void)state;
    for (int k = 0; k <= 20; k += 2)
        for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
            const double p = 0.13, q = 0.31, s = pow(10, k);
            const double far = -q * q / p * (1 - gaps[g]);
            dense m = dense_new(3, MPK_D, MPK_SYMMETRIC);
            dense_set(&m, 0, 0, -p / s / s), dense_set(&m, 1, 0, -q);
            dense_set(&m, 1, 1, far * s * s), dense_set(&m, 2, 2, 0.7);
            system_of wide = of_dense(&m, options_of(MPK_PRECISION_DOUBLE));
            system_of one = of_dense(&m, options_of(MPK_PRECISION_SINGLE));
            assert_int_equal(one.status, wide.status);
            assert_int_equal(one.info.rank, wide.info.rank);
            assert_int_equal(one.info.inertia.positive, wide.info.inertia.positive);
            assert_int_equal(one.info.inertia.negative, wide.info.inertia.negative);
            if (gaps[g] < 1e-8) assert_false(is_single(&one));
            if (gaps[g] > 1e-4) assert_true(is_single(&one));
            const double b[] = {-p / s - q / s, -q * s + far * s, 0.7}; /* of s, 1 / s, 1 */
            double x[3], y[3];
            if (gaps[g] > 0) {
                assert_false(
                    mpk_failed(mpk_solve(wide.ctx, wide.fac, 1, b, 3, x, 3, &wide.o, NULL)));
                assert_false(mpk_failed(mpk_solve(one.ctx, one.fac, 1, b, 3, y, 3, &one.o, NULL)));
                for (int i = 0; i < 3; i++) /* as near as rounding in A allows */
                    assert_true(fabs(x[i] - y[i]) <= 1e-14 / gaps[g] * fabs(x[i]));
            }
            free(m.a);
            end(&wide), end(&one);
        }
}

/* b and x of more orders of magnitude than single precision has. */
static void test_wide_range(void **state) {
    enum { N = 300 };
    (void)state;
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < N; i++) {
        dense_set(&m, i, i, i % 2 ? 4 : -4);
        if (i > 0) dense_set(&m, i, i - 1, -1);
    }
    system_of wide = of_dense(&m, options_of(MPK_PRECISION_DOUBLE));
    system_of one = of_dense(&m, options_of(MPK_PRECISION_SINGLE));
    double b[N], x[N], y[N];
    mpk_solve_info info;
    assert_true(is_single(&one));
    for (int i = 0; i < N; i++) b[i] = exp(-i * i / 50.0);
    assert_int_equal(mpk_solve(wide.ctx, wide.fac, 1, b, N, x, N, &wide.o, NULL), MPK_OK);
    assert_int_equal(mpk_solve(one.ctx, one.fac, 1, b, N, y, N, &one.o, &info), MPK_OK);
    assert_true(info.solved && info.componentwise <= 1e-14);
    for (int i = 0; i < 100; i++)
        assert_true(fabs(x[i] - y[i]) <= (i < 56 ? 1e-10 : 1e-2) * fabs(x[i]));
    free(m.a);
    end(&wide), end(&one);
}

static void test_threads(void **state) {
    static const char *const large[] = {"nlpkkt 9", "stokes mac 60",
                                        "random 700 density=0.02 entries=hermitian"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        void *first = NULL;
        for (int threads = 1; threads <= 4; threads += TEST_SANITIZED ? 3 : 1) {
            mpk_options o = options_of(MPK_PRECISION_SINGLE);
            mpk_status status;
            o.threads = threads;
            system_of s = of_spec(large[k], o);
            assert_true(is_single(&s));
            void *b = sides(&s, 2, plain, 1), *x = solve(&s, 2, b, NULL, &status);
            assert_int_equal(status, MPK_OK);
            if (first)
                assert_memory_equal(x, first, 2 * (size_t)s.a.n * mpk_scalar_size(s.a.scalar));
            if (first)
                free(x);
            else
                first = x;
            free(b);
            end(&s);
        }
        free(first);
    }
}

/* ---- where it does not do -------------------------------------------------------------------- */

/* Nearly singular for single precision, far from it in double. */
static dense graded(int n, double least) {
    dense m = dense_new(n, MPK_D, MPK_SYMMETRIC);
    double *v = malloc((size_t)n * sizeof *v), sum = 0;
    for (int i = 0; i < n; i++) v[i] = uniform(), sum += v[i] * v[i];
    for (int i = 0; i < n; i++) /* I - (1 - least) v v^T / v^T v */
        for (int j = 0; j <= i; j++)
            dense_set(&m, i, j, (i == j) - (1 - least) * v[i] * v[j] / sum);
    free(v);
    return m;
}

/* All that both say is the same, to the bit. */
static void same_verdict(const dense *m, const char *spec, mpk_unfit unfit) {
    const mpk_options o = options_of(MPK_PRECISION_SINGLE), w = options_of(MPK_PRECISION_DOUBLE);
    system_of s = m ? of_dense(m, o) : of_spec(spec, o);
    system_of wide = m ? of_dense(m, w) : of_spec(spec, w);
    mpk_solve_info info, other;
    mpk_status status, expected;
    assert_true(!is_single(&s) && s.info.unfit != MPK_FIT);
    if (unfit) assert_int_equal(s.info.unfit, unfit);
    assert_int_equal(s.status, wide.status);
    assert_int_equal(s.info.rank, wide.info.rank);
    assert_memory_equal(&s.info.inertia, &wide.info.inertia, sizeof s.info.inertia);
    assert_true(s.info.rank_bound == wide.info.rank_bound && s.info.bytes == wide.info.bytes);
    assert_int_equal(s.info.stages, wide.info.stages);
    void *b = sides(&s, 1, plain, 1), *x = solve(&s, 1, b, &info, &status);
    void *y = solve(&wide, 1, b, &other, &expected);
    assert_int_equal(status, expected);
    assert_memory_equal(x, y, (size_t)s.a.n * mpk_scalar_size(s.a.scalar));
    assert_true(info.componentwise == other.componentwise);
    free(b), free(x), free(y);
    end(&s), end(&wide);
}

static void test_wide(void **state) {
    (void)state;
    dense m = dense_new(11, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < 11; i++)
        for (int j = 0; j <= i; j++) dense_set(&m, i, j, 1.0 / (i + j + 1));
    same_verdict(&m, NULL, 0); /* Hilbert's */
    free(m.a);
    for (int k = 0; k < 6; k++) {
        m = graded(40, k < 3 ? pow(10, -9 - k) : k == 3 ? 0 : pow(10, -20 * k));
        same_verdict(&m, NULL, 0);
        free(m.a);
    }
    for (int zero = 0; zero < 3; zero++) { /* two rows the same; no entries; pivots replaced */
        m = family_matrix(BANDED, 40, zero == 1 ? MPK_Z : MPK_D, MPK_SYMMETRIC);
        for (int j = 0; j < 40 && zero == 1; j++) dense_set(&m, 7, j, 0);
        for (int j = 0; j < 40 && zero != 1; j++)
            if (j != 7) dense_set(&m, 7, j, dense_get(&m, 8, j));
        if (zero != 1)
            dense_set(&m, 7, 7, dense_get(&m, 8, 8)), dense_set(&m, 8, 7, dense_get(&m, 8, 8));
        same_verdict(&m, NULL, zero == 1 ? MPK_UNFIT_PATTERN : MPK_FIT);
        free(m.a);
    }
    m = dense_new(3, MPK_D, MPK_SYMMETRIC);
    for (int k = 0; k < 3; k++) dense_set(&m, k, k, 1);
    mpk_options o = options_of(MPK_PRECISION_SINGLE);
    o.scaling = o.matching = MPK_OFF;
    dense_set(&m, 1, 1, 1e-30); /* below single's zero; above that of double, which is set to 0 */
    o.zero_tolerance = 0;
    system_of s = of_dense(&m, o);
    assert_true(s.status == MPK_OK && s.info.inertia.positive == 3);
    end(&s);
    free(m.a);
}

/* Of every family and order: where A is singular by its eigenvalues, double decides. */
static void test_singular(void **state) {
    int fell = 0;
    (void)state;
    for (int family = 0; family < FAMILY_COUNT; family++)
        for (int n = 2; n < 40; n += 3) {
            dense m = family_matrix(family, n, MPK_D, MPK_SYMMETRIC);
            for (int j = 0; j < n; j++) /* the first row twice */
                dense_set(&m, n - 1, j, j < n - 1 ? dense_get(&m, 0, j) : dense_get(&m, 0, 0));
            dense_set(&m, n - 1, 0, dense_get(&m, 0, 0));
            same_verdict(&m, NULL, 0);
            fell++;
            free(m.a);
        }
    assert_true(fell > 60);
}

/* New values: what did not do once is tried again with every eighth ones. */
static void test_again(void **state) {
    (void)state;
    dense good = graded(30, 0.1);
    support_state = 5;
    dense bad = graded(30, 1e-11);
    double *values[2];
    for (int k = 0; k < 2; k++) {
        const dense *m = k ? &bad : &good;
        int64_t e = 0;
        values[k] = malloc(30 * 31 / 2 * sizeof(double));
        for (int j = 0; j < 30; j++)
            for (int i = j; i < 30; i++) values[k][e++] = creal(dense_get(m, i, j));
    }
    system_of s = of_dense(&good, options_of(MPK_PRECISION_SINGLE));
    assert_true(is_single(&s));
    const int64_t bytes = s.info.bytes;
    for (int k = 0; k < 12; k++) {
        mpk_solve_info info;
        mpk_status status;
        assert_int_equal(mpk_factorize_lower(s.ctx, s.an, values[k == 1], &s.o, &s.fac), MPK_OK);
        mpk_factor_info_get(s.fac, &s.info);
        assert_int_equal(is_single(&s), k == 0 || k >= 9);
        assert_int_equal(s.info.unfit, k == 1           ? MPK_UNFIT_CONDITION
                                       : k > 1 && k < 9 ? MPK_UNFIT_BEFORE
                                                        : MPK_FIT);
        assert_int_equal(s.info.bytes == bytes, is_single(&s));
        void *b = sides(&s, 1, plain, 1), *x = solve(&s, 1, b, &info, &status);
        assert_int_equal(status, MPK_OK);
        assert_true(info.componentwise <= 1e-14);
        free(b), free(x);
    }
    s.o.precision = MPK_PRECISION_DOUBLE;
    assert_int_equal(mpk_factorize_lower(s.ctx, s.an, values[0], &s.o, &s.fac), MPK_OK);
    mpk_factor_info_get(s.fac, &s.info);
    assert_true(!is_single(&s) && s.info.unfit == MPK_FIT && s.info.bytes > bytes);
    end(&s);
    free(values[0]), free(values[1]), free(good.a), free(bad.a);
}

/* ---- what it does not do --------------------------------------------------------------------- */

static void test_refused(void **state) {
    double out[2000];
    mpk_certificate c;
    const int64_t bptr[] = {0, 1};
    const int32_t row = 3, outer[] = {1, 2};
    const double one = 1;
    (void)state;
    system_of s = of_spec("nlpkkt 4", options_of(MPK_PRECISION_SINGLE));
    assert_true(is_single(&s));
    assert_int_equal(mpk_certify(s.ctx, s.fac, &c), MPK_OK);
    assert_true(!c.certified && c.vectors == 0);
    assert_int_equal(
        mpk_selected_inverse(s.ctx, s.fac, MPK_SELECT_DIAGONAL, out, sizeof out, NULL, NULL),
        MPK_ERR_UNSUPPORTED);
    assert_int_equal(
        mpk_solve_minimum_norm(s.ctx, s.fac, 0, NULL, 0, 1, out, s.a.n, out, s.a.n, &s.o, NULL),
        MPK_ERR_UNSUPPORTED);
    assert_int_equal(
        mpk_solve_sparse(s.ctx, s.fac, 1, bptr, &row, &one, 1, &row, MPK_SPARSE_ROWS, out, 1, NULL),
        MPK_ERR_UNSUPPORTED);
    s.o.device = MPK_ON_CUDA;
    mpk_factor *fac = NULL;
    const char *text = NULL;
    assert_int_equal(mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac), MPK_ERR_UNSUPPORTED);
    mpk_last_error(s.ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "on the processor alone"));
    s.o.device = MPK_ON_AUTO;
    assert_int_equal(mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac), MPK_OK);
    mpk_factor_info_get(fac, &s.info);
    assert_true(is_single(&s));
    mpk_factor_destroy(&fac);
    s.o.device = MPK_ON_CPU;
    mpk_analysis_destroy(&s.an);
    assert_int_equal(mpk_analyse_schur(s.ctx, s.problem, &s.o, 2, outer, &s.an), MPK_OK);
    assert_int_equal(mpk_factorize(s.ctx, s.an, NULL, &s.o, &fac), MPK_ERR_UNSUPPORTED);
    mpk_last_error(s.ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "Schur"));
    end(&s);
}

/* A matrix in single precision is as it was. */
static void test_single(void **state) {
    (void)state;
    dense m = family_matrix(SADDLE_POINT, 30, MPK_S, MPK_SYMMETRIC);
    system_of s = of_dense(&m, options_of(MPK_PRECISION_SINGLE));
    system_of other = of_dense(&m, options_of(MPK_PRECISION_DOUBLE));
    assert_true(!is_single(&s) && s.info.unfit == MPK_FIT);
    assert_int_equal(s.info.bytes, other.info.bytes);
    assert_int_equal(s.info.inertia.positive, other.info.inertia.positive);
    end(&s), end(&other);
    free(m.a);
    m = dense_new(0, MPK_D, MPK_SYMMETRIC);
    s = of_dense(&m, options_of(MPK_PRECISION_SINGLE));
    assert_int_equal(s.status, MPK_OK);
    end(&s);
    free(m.a);
}

static void test_allocation(void **state) {
    (void)state;
    for (int bad = 0; bad < 2; bad++)
        for (int threads = 1; threads <= 2; threads++) {
            failing f = {0};
            const mpk_allocator allocator = {failing_alloc, failing_release, &f};
            support_state = 11;
            dense m = graded(30, bad ? 1e-11 : 0.1);
            bool succeeded = false;
            for (int64_t k = 1; !succeeded; k++) {
                double x[30];
                mpk_options o = options_of(MPK_PRECISION_SINGLE);
                mpk_context *ctx = NULL;
                mpk_analysis *an = NULL;
                mpk_factor *fac = NULL;
                o.threads = threads;
                f = (failing){0};
                assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
                mpk_problem *problem = dense_problem(ctx, &m, 0);
                assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
                f.calls = 0, f.fail_at = k;
                mpk_status status = mpk_factorize(ctx, an, NULL, &o, &fac);
                assert_true(mpk_failed(status) == !fac);
                for (int i = 0; i < 30; i++) x[i] = i + 1;
                if (fac) status = mpk_solve(ctx, fac, 1, x, 30, x, 30, &o, NULL);
                succeeded = f.calls < k;
                assert_true(succeeded ? status == MPK_OK
                                      : status == MPK_ERR_MEMORY || status == MPK_OK);
                for (int i = 0; i < 30 && status == MPK_ERR_MEMORY; i++) assert_true(x[i] == i + 1);
                f.fail_at = 0;
                mpk_factor_destroy(&fac);
                mpk_analysis_destroy(&an);
                mpk_problem_destroy(&problem);
                mpk_context_destroy(&ctx);
                assert_int_equal(f.held, 0);
            }
            free(m.a);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solutions),  cmocka_unit_test(test_sides),
        cmocka_unit_test(test_values),     cmocka_unit_test(test_krylov),
        cmocka_unit_test(test_far_apart),  cmocka_unit_test(test_wide_range),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_wide),
        cmocka_unit_test(test_singular),   cmocka_unit_test(test_again),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_single),
        cmocka_unit_test(test_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
