/* SPDX-License-Identifier: BSD-3-Clause */
/* What is told of each system: beside mpk_solve(), for systems that fail among good ones, and where
 * arguments are wrong or memory ends. */
#include "cases.h"
#include "systems/object.h"

enum { N = 40, COUNT = 19 };

static void told(mpk_context *ctx, mpk_status got, mpk_status expected) {
    const char *text = NULL;
    assert_int_equal(got, expected);
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), expected);
    assert_true(strlen(text) > 5);
}

/* Inertia, log-determinant, rank and errors are those of the single engine. */
static void test_beside_single(void **unused) {
    static const struct {
        mpk_scalar scalar;
        mpk_symmetry symmetry;
    } kinds[] = {{MPK_D, MPK_SYMMETRIC},
                 {MPK_Z, MPK_SYMMETRIC},
                 {MPK_Z, MPK_HERMITIAN},
                 {MPK_S, MPK_SYMMETRIC}};
    (void)unused;
    for (size_t kind = 0; kind < 4; kind++)
        for (enum support_family f = SPARSE; f < FAMILY_COUNT; f++) {
            cases c =
                cases_make(NULL, f, N, kinds[kind].scalar, kinds[kind].symmetry, COUNT, 1, 0.2);
            const bool counted = c.scalar <= MPK_D || c.symmetry == MPK_HERMITIAN;
            mpk_systems *s = systems_of(&c, COUNT, 1, 0);
            mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
            int32_t status[COUNT], tier[COUNT], rank[COUNT], certified[COUNT], steps[COUNT];
            int64_t inertia[3 * COUNT];
            double growth[COUNT], omega[COUNT], normwise[COUNT], logdet[3 * COUNT];
            const mpk_systems_results r = {status, tier,   rank,  inertia,  certified,
                                           steps,  growth, omega, normwise, logdet};
            const mpk_status all =
                mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r);
            assert_false(mpk_failed(all));
            const double eps = c.scalar == MPK_S ? 1e-3 : 1e-7;
            for (int k = 0; k < COUNT; k++) {
                mpk_factor *fac = NULL;
                mpk_factor_info info;
                mpk_solve_info solved;
                double expected[3], y[4 * N];
                mpk_certificate certificate;
                const mpk_status one =
                    mpk_factorize(c.ctx, c.an, c.ax + k * c.nnz * (int64_t)c.size, &c.o, &fac);
                assert_false(mpk_failed(one));
                mpk_factor_info_get(fac, &info);
                mpk_get(c.ctx, fac, MPK_GET_LOGDET, expected, sizeof expected);
                assert_int_equal(mpk_certify(c.ctx, fac, &certificate), MPK_OK);
                const mpk_status of_solve =
                    mpk_solve(c.ctx, fac, 1, column(c.b, &c, k), N, y, N, &c.o, &solved);
                assert_int_equal(status[k], of_solve);
                assert_int_equal(inertia[3 * k], info.inertia.positive);
                assert_int_equal(inertia[3 * k + 1], info.inertia.negative);
                assert_int_equal(inertia[3 * k + 2], info.inertia.zero);
                assert_int_equal(rank[k], info.rank);
                assert_int_equal(certified[k] && counted, certificate.certified);
                if (of_solve == MPK_OK) assert_true(omega[k] <= 1e-14 * (eps > 1e-4 ? 0x1p29 : 1));
                for (int q = 0; q < 3 && info.rank == MPK_RANK_FULL; q++)
                    assert_true(fabs(logdet[3 * k + q] - expected[q]) <=
                                eps * (1 + fabs(expected[q])));
                mpk_factor_destroy(&fac);
            }
            mpk_systems_destroy(&s);
            cases_free(&c);
        }
}

/* M = B diag(1, -1, ..) B^T of integers, of rank less than n, by the pivots of M + E: rounding gives
 * it a pivot in each column. It is told as the single engine tells it, which finds most of them
 * singular, and without a certificate not all. */
static void test_singular(void **unused) {
    enum { PATTERNS = 600, MOST = 12 };
    static const mpk_scalar scalars[] = {MPK_D, MPK_S, MPK_Z, MPK_C};
    int seen = 0, told = 0;
    (void)unused;
    for (int p = 0; p < 4 * PATTERNS; p++) {
        const int n = 3 + p % (MOST - 2), rank = n - 1 - (p % 3 == 0 && n > 3);
        const mpk_scalar scalar = scalars[p % 4];
        int m[MOST * MOST];
        integers(n, rank, m);
        cases c = cases_of_integers(n, scalar, 1, m, 0);
        mpk_systems *s = NULL;
        mpk_factor *fac = NULL;
        if (mpk_systems_create(c.ctx, c.an, &c.o, NULL, 1, &s) == MPK_OK) {
            mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
            int32_t status = 0, tier = 0;
            const mpk_systems_results r = {.status = &status, .tier = &tier};
            assert_false(
                mpk_failed(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r)));
            const mpk_status one = mpk_factorize(c.ctx, c.an, c.ax, &c.o, &fac);
            mpk_solve_info solved;
            assert_int_equal(mpk_solve(c.ctx, fac, 1, c.b, n, c.x, n, &c.o, &solved), one);
            if (status != (int32_t)one)
                fail_msg("n %d, scalar %d: %s by tier %d, alone %s", n, scalar,
                         mpk_status_name((mpk_status)status), tier, mpk_status_name(one));
            told += one == MPK_SINGULAR;
            seen++;
        }
        mpk_factor_destroy(&fac);
        mpk_systems_destroy(&s);
        cases_free(&c);
    }
    assert_true(seen == 4 * PATTERNS && told > 2 * PATTERNS);
}

/* What is asked of one system makes its matrix: P S A S P^T's D has the inertia that was told. */
static void test_get(void **unused) {
    (void)unused;
    cases c = cases_make(NULL, SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC, 3, 1, 0.1);
    mpk_systems *s = systems_of(&c, 3, 1, 0);
    mpk_batch_array ax = values_of(&c);
    int32_t perm[N];
    double scale[N], d[2 * N], logdet[3], sum = 0;
    assert_int_equal(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL), MPK_OK);
    for (int k = 0; k < 3; k++) {
        char seen[N] = {0};
        assert_int_equal(mpk_systems_get(c.ctx, s, k, MPK_GET_PERM, perm, sizeof perm), MPK_OK);
        assert_int_equal(mpk_systems_get(c.ctx, s, k, MPK_GET_SCALE, scale, sizeof scale), MPK_OK);
        assert_int_equal(mpk_systems_get(c.ctx, s, k, MPK_GET_D, d, sizeof d), MPK_OK);
        assert_int_equal(mpk_systems_get(c.ctx, s, k, MPK_GET_LOGDET, logdet, sizeof logdet),
                         MPK_OK);
        sum = 0;
        for (int i = 0; i < N; i++) {
            int exponent;
            assert_true(frexp(scale[i], &exponent) == 0.5);
            seen[perm[i]]++;
            sum -= 2 * log(scale[i]);
            if (d[2 * i + 1] != 0) {
                sum += log(fabs(d[2 * i] * d[2 * i + 2] - d[2 * i + 1] * d[2 * i + 1]));
                seen[perm[++i]]++;
                sum -= 2 * log(scale[i]);
            } else {
                sum += log(fabs(d[2 * i]));
            }
        }
        /* the scales are by problem order, so the sum has all of them whatever the pairs */
        for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
        assert_true(fabs(sum - logdet[0]) < 1e-9 * (1 + fabs(sum)));
    }
    told(c.ctx, mpk_systems_get(c.ctx, s, 3, MPK_GET_D, d, sizeof d), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_get(c.ctx, s, 0, MPK_GET_D, d, 8), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_get(c.ctx, s, 0, (mpk_quantity)77, d, sizeof d), MPK_ERR_ARGUMENT);
    mpk_systems_destroy(&s);
    cases_free(&c);
}

/* NaN, Inf, zeros, overflow and values that want other pivots, among good ones. */
static void test_failing(void **unused) {
    (void)unused;
    cases c = cases_make(NULL, SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC, COUNT, 1, 0.1);
    mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    double *a = (double *)c.ax, good[COUNT * N];
    int32_t status[COUNT], tier[COUNT];
    int64_t inertia[3 * COUNT];
    const mpk_systems_results r = {.status = status, .tier = tier, .inertia = inertia};
    mpk_systems *s = systems_of(&c, COUNT, 1, 0);
    assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r), MPK_OK);
    memcpy(good, c.x, sizeof good);
    for (int k = 0; k < COUNT; k++) assert_int_equal(tier[k], MPK_TIER_TEMPLATE);
    a[1 * c.nnz + 5] = NAN;
    a[4 * c.nnz + 0] = INFINITY;
    for (int64_t k = 0; k < c.nnz; k++) a[7 * c.nnz + k] = 0;
    for (int64_t k = 0; k < c.nnz; k++) a[9 * c.nnz + k] *= 1e-300;
    for (int64_t k = 0; k < c.nnz; k++) a[10 * c.nnz + k] *= k % 3 ? 1e-9 : 1e6; /* other pivots */
    ((double *)c.b)[12 * N + 3] = NAN;
    for (int again = 0; again < 3; again++) {
        const mpk_status all =
            again ? mpk_systems_refactorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r)
                  : mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r);
        told(c.ctx, all, MPK_PARTIAL);
        for (int k = 0; k < COUNT; k++) {
            const bool bad = k == 1 || k == 4 || k == 12;
            assert_int_equal(mpk_failed((mpk_status)status[k]), bad);
            if (bad) assert_int_equal(status[k], MPK_ERR_INPUT);
            if (k == 1 || k == 4) assert_int_equal(tier[k], MPK_TIER_NONE);
            if (k == 7) assert_int_equal(status[k], MPK_SINGULAR);
            if (k == 7) assert_int_equal(inertia[3 * k + 2], N);
            if (k == 9) assert_int_equal(status[k], MPK_OK);
            if (bad || k == 7 || k == 9 || k == 10) continue;
            assert_memory_equal(good + k * N, c.x + (size_t)(k * N) * 8, N * 8);
        }
    }
    assert_int_equal(tier[7], MPK_TIER_SINGLE);
    assert_int_equal(tier[10], MPK_TIER_SINGLE);
    mpk_systems_destroy(&s);
    cases_free(&c);
}

static void test_arguments(void **unused) {
    (void)unused;
    cases c = cases_make(NULL, SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC, 4, 1, 0.1);
    mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c), bad;
    mpk_systems *s = NULL, *none = NULL;
    mpk_systems_options how = {0};
    mpk_systems_info info;
    mpk_options o = c.o;
    int32_t status[9];
    const mpk_systems_results r = {.status = status};
    told(c.ctx, mpk_systems_create(c.ctx, NULL, NULL, NULL, 1, &s), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_create(c.ctx, c.an, NULL, &how, 1, &s), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_create(c.ctx, c.an, NULL, NULL, -1, &s), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_create(c.ctx, c.an, NULL, NULL, INT64_MAX, &s), MPK_ERR_SIZE);
    o.device = MPK_ON_CUDA; /* which is not there: with one, tests/engines/cuda/systems */
    setenv("METAPACK_CUDA_MODULE", "/nowhere.so", 1);
    told(c.ctx, mpk_systems_create(c.ctx, c.an, &o, NULL, 1, &s), MPK_ERR_DEVICE);
    unsetenv("METAPACK_CUDA_MODULE");
    assert_null(s);
    s = systems_of(&c, 4, 1, 0);
    mpk_systems_info_get(s, &info);
    assert_int_equal(info.count, 4);
    assert_int_equal(info.n, N);
    assert_true(info.width > 1 && !*info.reason && info.bytes > 0);
    assert_int_equal(info.by_template + info.by_single, 0);
    told(c.ctx, mpk_systems_factorize(c.ctx, s, NULL, NULL, NULL), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_factorize(c.ctx, NULL, &ax, NULL, NULL), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, NULL, &r), MPK_PARTIAL);
    assert_int_equal(status[2], MPK_ERR_ARGUMENT);
    bad = ax, bad.memory = MPK_DEVICE;
    told(c.ctx, mpk_systems_factorize(c.ctx, s, &bad, NULL, NULL), MPK_ERR_DEVICE);
    bad = ax, bad.stride = c.nnz - 1;
    told(c.ctx, mpk_systems_factorize(c.ctx, s, &bad, NULL, NULL), MPK_ERR_ARGUMENT);
    bad = ax, bad.data = NULL;
    told(c.ctx, mpk_systems_factorize(c.ctx, s, &bad, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL), MPK_OK);
    bad = b, bad.ld = N - 1;
    told(c.ctx, mpk_systems_solve(c.ctx, s, 1, &bad, &x, 0, NULL, NULL), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_solve(c.ctx, s, -1, &b, &x, 0, NULL, NULL), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_solve(c.ctx, s, 1, &b, NULL, 0, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_systems_solve(c.ctx, s, 0, &b, &x, 0, NULL, NULL), MPK_OK);
    /* more of them, then fewer: those that stay keep their factors */
    assert_int_equal(mpk_systems_resize(c.ctx, s, 9), MPK_OK);
    double more[9 * N] = {0};
    memcpy(more, c.b, 4 * N * sizeof(double));
    const mpk_batch_array nine = strided(more, N, N);
    told(c.ctx, mpk_systems_solve(c.ctx, s, 1, &nine, &nine, 0, NULL, &r), MPK_PARTIAL);
    for (int k = 0; k < 9; k++) assert_int_equal(status[k], k < 4 ? MPK_OK : MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_systems_resize(c.ctx, s, 2), MPK_OK);
    assert_int_equal(mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, NULL, NULL), MPK_OK);
    told(c.ctx, mpk_systems_resize(c.ctx, s, -1), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_resize(c.ctx, NULL, 1), MPK_ERR_ARGUMENT);
    mpk_systems_destroy(&s);
    mpk_systems_destroy(&none);
    mpk_systems_info_get(NULL, &info);
    assert_int_equal(info.count, 0);
    s = systems_of(&c, 0, 1, 0);
    assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL), MPK_OK);
    mpk_systems_destroy(&s);
    cases_free(&c);
}

/* A method on blocks. */
static void test_refused(void **unused) {
    static const int64_t ap[] = {0, 2, 3};
    static const int32_t ai[] = {0, 1, 1};
    static const double ax[] = {1, 2, 3};
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_systems *s = NULL;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT;
    mpk_context_create(NULL, &ctx);
    assert_int_equal(mpk_problem_from_csc(ctx, 2, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &p),
                     MPK_OK);
    assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
    told(ctx, mpk_systems_create(ctx, an, &o, NULL, 3, &s), MPK_ERR_UNSUPPORTED);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* Matrices that are not symmetric: the single engine's bits and outcomes, and no inertia. */
static void test_general(void **unused) {
    enum { MANY = 5 };
    static const mpk_scalar scalars[] = {MPK_S, MPK_D, MPK_C, MPK_Z};
    (void)unused;
    for (size_t k = 0; k < 4; k++) {
        cases c = cases_make(NULL, SPARSE, N, scalars[k], MPK_GENERAL, MANY, 2, 0.2);
        for (int64_t e = 0; e < c.nnz; e++) scalar_store(c.scalar, c.ax, c.nnz + e, 0);
        scalar_store(c.scalar, c.ax, 2 * c.nnz, NAN);
        mpk_systems *s = systems_of(&c, MANY, 1, 0);
        mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
        mpk_systems_info info;
        int32_t status[MANY], tier[MANY], certified[MANY];
        int64_t inertia[3 * MANY];
        double omega[MANY], logdet[3 * MANY], expected[3], scale[2 * N], y[4 * N];
        const mpk_systems_results r = {.status = status,
                                       .tier = tier,
                                       .inertia = inertia,
                                       .certified = certified,
                                       .omega = omega,
                                       .logdet = logdet};
        told(c.ctx, mpk_systems_factorize_solve(c.ctx, s, &ax, 2, &b, &x, 0, NULL, &r),
             MPK_PARTIAL);
        for (int q = 0; q < MANY; q++) {
            mpk_factor *fac = NULL;
            const mpk_status one =
                mpk_factorize(c.ctx, c.an, c.ax + q * c.nnz * (int64_t)c.size, &c.o, &fac);
            if (q == 2) assert_int_equal(status[q], MPK_ERR_INPUT);
            if (mpk_failed(one)) continue;
            const mpk_status solved =
                mpk_solve(c.ctx, fac, 2, column(c.b, &c, q), N, y, N, &c.o, NULL);
            assert_int_equal(status[q], solved);
            if (!mpk_failed(solved)) assert_memory_equal(y, column(c.x, &c, q), 2 * N * c.size);
            assert_int_equal(tier[q], MPK_TIER_SINGLE);
            assert_int_equal(certified[q], 0);
            assert_true(inertia[3 * q] == 0 && inertia[3 * q + 2] == 0);
            mpk_get(c.ctx, fac, MPK_GET_LOGDET, expected, sizeof expected);
            assert_memory_equal(expected, logdet + 3 * q, sizeof expected);
            assert_int_equal(mpk_systems_get(c.ctx, s, q, MPK_GET_SCALE, scale, sizeof scale),
                             MPK_OK);
            told(c.ctx, mpk_systems_get(c.ctx, s, q, MPK_GET_SCALE, scale, sizeof scale / 2),
                 MPK_ERR_ARGUMENT);
            mpk_factor_destroy(&fac);
        }
        mpk_systems_info_get(s, &info);
        assert_true(info.width == 1 && *info.reason);
        mpk_systems_destroy(&s);
        cases_free(&c);
    }
}

/* Values that want other pivots than the analysed ones: a template of one of them serves all. */
static void test_learn(void **unused) {
    (void)unused;
    cases c = cases_make(NULL, SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC, COUNT, 1, 0.01);
    mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    mpk_systems *s = systems_of(&c, COUNT, 1, 0);
    mpk_systems_info info;
    double omega[COUNT];
    int64_t before[3 * COUNT], after[3 * COUNT];
    const mpk_systems_results r = {.inertia = before}, q = {.inertia = after, .omega = omega};
    told(c.ctx, mpk_systems_learn(c.ctx, s, 0), MPK_ERR_ARGUMENT);
    told(c.ctx, mpk_systems_learn(c.ctx, s, COUNT), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL), MPK_OK);
    assert_int_equal(mpk_systems_learn(c.ctx, s, 0), MPK_OK); /* the template serves it */
    assert_int_equal(mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, NULL, NULL), MPK_OK);
    for (int64_t k = 0; k < COUNT * c.nnz; k++)
        ((double *)c.ax)[k] *= pow(10, 6 * sin(77.7 * (double)(k % c.nnz)));
    assert_false(mpk_failed(mpk_systems_refactorize(c.ctx, s, &ax, NULL, &r)));
    mpk_systems_info_get(s, &info);
    assert_int_equal(info.by_single, COUNT);
    assert_int_equal(mpk_systems_learn(c.ctx, s, 3), MPK_OK);
    mpk_systems_info_get(s, &info);
    assert_int_equal(info.by_single, COUNT); /* their factors stay */
    assert_false(mpk_failed(mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, NULL, NULL)));
    assert_false(mpk_failed(mpk_systems_refactorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &q)));
    mpk_systems_info_get(s, &info);
    assert_true(info.by_template > COUNT / 2);
    assert_memory_equal(before, after, sizeof before);
    for (int k = 0; k < COUNT; k++) assert_true(omega[k] <= 1e-14);
    /* with one of the same values, alone: the same bits */
    mpk_systems *one = systems_of(&c, 2, 1, 0);
    double y[2 * N];
    mpk_batch_array two = strided(c.ax + 3 * c.nnz * 8, c.nnz, 1), bs = b, ys = strided(y, N, N);
    bs.data = column(c.b, &c, 3);
    assert_false(mpk_failed(mpk_systems_factorize(c.ctx, one, &two, NULL, NULL)));
    assert_int_equal(mpk_systems_learn(c.ctx, one, 0), MPK_OK);
    assert_false(
        mpk_failed(mpk_systems_refactorize_solve(c.ctx, one, &two, 1, &bs, &ys, 0, NULL, NULL)));
    assert_memory_equal(y, column(c.x, &c, 3), sizeof y);
    mpk_systems_destroy(&one);
    /* a singular system is no model */
    memset(c.ax, 0, (size_t)c.nnz * 8);
    assert_int_equal(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL), MPK_SINGULAR);
    told(c.ctx, mpk_systems_learn(c.ctx, s, 0), MPK_ERR_UNSUPPORTED);
    assert_int_equal(mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, NULL, NULL), MPK_SINGULAR);
    mpk_systems_destroy(&s);
    cases_free(&c);
}

/* Every allocation of a new template fails once: nothing is changed. */
static void test_learn_memory(void **unused) {
    (void)unused;
    failing purse = {0};
    const mpk_allocator memory = {failing_alloc, failing_release, &purse};
    cases c = cases_make(&memory, SADDLE_POINT, 12, MPK_D, MPK_SYMMETRIC, 5, 1, 0.01);
    mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    c.o.threads = 1;
    for (int64_t k = c.nnz; k < 5 * c.nnz; k++) ((double *)c.ax)[k] *= k % c.nnz % 3 ? 1e-9 : 1e6;
    mpk_systems *s = systems_of(&c, 5, 1, 0);
    assert_false(mpk_failed(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL)));
    mpk_status status = MPK_ERR_MEMORY;
    for (int64_t fail = 1; mpk_failed(status); fail++) {
        purse.calls = 0, purse.fail_at = fail;
        status = mpk_systems_learn(c.ctx, s, 3);
        purse.fail_at = 0;
        if (mpk_failed(status)) told(c.ctx, status, MPK_ERR_MEMORY);
        if (mpk_failed(status)) /* the first has a factor by the template, still */
            assert_false(mpk_failed(mpk_systems_solve(c.ctx, s, 1, &b, &x, 1, NULL, NULL)));
    }
    assert_int_equal(mpk_systems_solve(c.ctx, s, 1, &b, &x, 1, NULL, NULL), MPK_PARTIAL);
    assert_false(
        mpk_failed(mpk_systems_refactorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL)));
    mpk_systems_destroy(&s);
    cases_free(&c);
    assert_int_equal(purse.held, 0);
}

/* Every allocation fails once: the call says so, nothing is lost, and the same call succeeds. */
static void test_memory(void **unused) {
    (void)unused;
    failing purse = {0};
    const mpk_allocator memory = {failing_alloc, failing_release, &purse};
    cases c = cases_make(&memory, SADDLE_POINT, 12, MPK_D, MPK_SYMMETRIC, 5, 1, 0.1);
    mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    c.o.threads = 1;
    double expected[60];
    for (int64_t k = 0; k < 12 && k < c.nnz; k++) /* one of them is for the single engine */
        ((double *)c.ax)[2 * c.nnz + k] *= k % 3 ? 1e-9 : 1e6;
    mpk_systems *s = systems_of(&c, 5, 1, 0);
    assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL), MPK_OK);
    memcpy(expected, c.x, sizeof expected);
    mpk_systems_destroy(&s);
    const int64_t held = purse.held;
    for (int64_t fail = 1, passed = 0; passed < 1; fail++) {
        purse.calls = 0, purse.fail_at = fail;
        mpk_status status = mpk_systems_create(c.ctx, c.an, &c.o, NULL, 5, &s);
        if (mpk_failed(status)) assert_null(s);
        if (!mpk_failed(status))
            status = mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL);
        passed = purse.calls < fail;
        purse.fail_at = 0;
        if (!passed && mpk_failed(status)) assert_int_equal(status, MPK_ERR_MEMORY);
        if (!s) assert_int_equal(mpk_systems_create(c.ctx, c.an, &c.o, NULL, 5, &s), MPK_OK);
        assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL),
                         MPK_OK);
        assert_memory_equal(expected, c.x, sizeof expected);
        mpk_systems_destroy(&s);
        assert_true(purse.held <= held + 64); /* what the context keeps for its next calls */
    }
    cases_free(&c);
    assert_int_equal(purse.held, 0);
}

static mpki_direct_engine faulty;
static mpk_context *faulty_ctx;
static const char *faulty_name(const mpk_context *ctx) {
    (void)ctx;
    return "faulty";
}
static int left_right; /* factorizations until one fails */
static mpk_status sometimes(mpki_direct *f, const void *ax, const double *scale,
                            const mpki_pivot_rules *rules, const mpki_stop *stop,
                            mpki_numeric_result *result) {
    if (left_right-- == 0)
        return mpki_error(faulty_ctx, MPK_ERR_INTERNAL, "factorize", 2, "two and two make five");
    return mpki_cpu_direct.factorize(f, ax, scale, rules, stop, result);
}

/* A fault of ours in one system is told of that one. */
static void test_internal(void **unused) {
    (void)unused;
    cases c = cases_make(NULL, SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC, 5, 1, 0.1);
    mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    int32_t status[5], tier[5];
    double right[5 * N];
    const mpk_systems_results r = {.status = status, .tier = tier};
    c.o.threads = 1, c.o.condition = MPK_ON; /* no template */
    mpk_systems *s = systems_of(&c, 5, 1, 0);
    assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r), MPK_OK);
    memcpy(right, c.x, sizeof right);
    mpk_systems_destroy(&s);
    s = systems_of(&c, 5, 1, 0);
    faulty = mpki_cpu_direct, faulty.factorize = sometimes;
    const mpki_engine engine = {.name = faulty_name,
                                .direct = &faulty,
                                .blocks = &mpki_cpu_blocks,
                                .vectors = &mpki_cpu_vectors};
    faulty_ctx = s->child[0], left_right = 2;
    mpki_engine_use(faulty_ctx, &engine);
    told(c.ctx, mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r), MPK_PARTIAL);
    for (int k = 0; k < 5; k++) {
        assert_int_equal(status[k], k == 2 ? MPK_ERR_INTERNAL : MPK_OK);
        assert_int_equal(tier[k], k == 2 ? MPK_TIER_NONE : MPK_TIER_SINGLE);
        if (k != 2) assert_memory_equal(right + k * N, (double *)c.x + k * N, N * sizeof(double));
    }
    mpk_systems_destroy(&s);
    cases_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_single), cmocka_unit_test(test_singular),
        cmocka_unit_test(test_get),           cmocka_unit_test(test_failing),
        cmocka_unit_test(test_arguments),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_general),       cmocka_unit_test(test_memory),
        cmocka_unit_test(test_learn),         cmocka_unit_test(test_learn_memory),
        cmocka_unit_test(test_internal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
