/* SPDX-License-Identifier: BSD-3-Clause */
/* Many systems on a device: each beside the processor's, with the same bits in any count, slot,
 * layout, memory and shape of blocks; systems that fail among good ones; memory that ends. */
#include "device_systems.h"

enum { N = 37, COUNT = 9 };

#include "systems/told.h"

static mpk_status both(const cases *c, mpk_systems *s, bool again, told *t) {
    const mpk_systems_results r = results_of(t);
    const mpk_batch_array ax = values_of(c), b = b_of(c), x = x_of(c);
    return again ? mpk_systems_refactorize_solve(c->ctx, s, &ax, c->nrhs, &b, &x, 0, NULL, &r)
                 : mpk_systems_factorize_solve(c->ctx, s, &ax, c->nrhs, &b, &x, 0, NULL, &r);
}

static void test_beside_processor(void **unused) {
    (void)unused;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (enum support_family f = SPARSE; f < FAMILY_COUNT; f++) {
            cases c = device_cases(f, N, kinds[kind].scalar, kinds[kind].symmetry, COUNT, 2, 0.2);
            const double eps = c.scalar == MPK_S || c.scalar == MPK_C ? 1e-3 : 1e-7;
            told here, there;
            mpk_systems *s = systems_of(&c, COUNT, 1, 0);
            assert_false(mpk_failed(both(&c, s, false, &there)));
            mpk_systems_destroy(&s);
            c.o.device = MPK_ON_CPU;
            s = systems_of(&c, COUNT, 1, 0);
            assert_false(mpk_failed(both(&c, s, false, &here)));
            mpk_systems_destroy(&s);
            for (int k = 0; k < COUNT; k++) {
                assert_int_equal(there.status[k], here.status[k]);
                assert_true(there.tier[k] > 0);
                /* on a device no system has pivots of its own */
                if (there.tier[k] != here.tier[k]) continue;
                assert_int_equal(there.rank[k], here.rank[k]);
                assert_int_equal(there.certified[k], here.certified[k]);
                for (int q = 0; q < 3; q++) {
                    assert_int_equal(there.inertia[3 * k + q], here.inertia[3 * k + q]);
                    assert_true(fabs(there.logdet[3 * k + q] - here.logdet[3 * k + q]) <=
                                eps * (1 + fabs(here.logdet[3 * k + q])));
                }
                if (there.tier[k] == here.tier[k])
                    assert_true(fabs(there.growth[k] - here.growth[k]) <= eps * here.growth[k]);
                if (here.status[k] == MPK_OK)
                    assert_true(there.omega[k] <= 1e-14 * (eps > 1e-4 ? 0x1p29 : 1));
            }
            cases_free(&c);
        }
}

/* Bare and refined solutions of each system alone, then in shapes of blocks and counts. */
static void test_bits(void **unused) {
    static const struct {
        const char *threads, *front, *gang, *rows;
    } shapes[] = {{"32", "100000", "1", "1"}, {"64", "0", "1", "1"},
                  {"128", "1500", "1", "1"},  {"256", "100000", "1", "1"},
                  {"32", "100000", "2", "1"}, {"64", "1500", "8", "20"},
                  {"128", "0", "4", "1000"},  {"256", "0", "4", "1"}};
    (void)unused;
    for (size_t kind = 0; kind < KINDS; kind += 3)
        for (enum support_family f = SPARSE; f <= PAIRS; f++) {
            cases c = device_cases(f, N, kinds[kind].scalar, kinds[kind].symmetry, COUNT, 2, 0.1);
            const int64_t bytes = (int64_t)N * 2 * (int64_t)c.size;
            char *bare = malloc((size_t)(COUNT * bytes)),
                 *refined = malloc((size_t)(COUNT * bytes));
            double omega[COUNT], growth[COUNT];
            for (int k = 0; k < COUNT; k++) {
                mpk_systems *s = systems_of(&c, 1, 1, 0);
                const mpk_batch_array ax = strided(c.ax + k * c.nnz * (int64_t)c.size, c.nnz, 1),
                                      b = strided(column(c.b, &c, k), N * 2, N);
                mpk_batch_array x = strided(bare + k * bytes, N * 2, N);
                const mpk_systems_results r = {.omega = &omega[k], .growth = &growth[k]};
                assert_false(mpk_failed(mpk_systems_factorize(c.ctx, s, &ax, NULL, &r)));
                assert_false(mpk_failed(mpk_systems_solve(c.ctx, s, 2, &b, &x, 1, NULL, &r)));
                x.data = refined + k * bytes;
                assert_false(mpk_failed(mpk_systems_solve(c.ctx, s, 2, &b, &x, 0, NULL, &r)));
                mpk_systems_destroy(&s);
            }
            const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
            for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
                setenv("METAPACK_CUDA_HOST_THREADS", shapes[k].threads, 1);
                setenv("METAPACK_CUDA_HOST_FRONT", shapes[k].front, 1);
                setenv("METAPACK_CUDA_HOST_GANG", shapes[k].gang, 1);
                setenv("METAPACK_CUDA_HOST_GANG_ROWS", shapes[k].rows, 1);
                told t;
                const mpk_systems_results of_factor = {.growth = t.growth};
                mpk_systems *s = systems_of(&c, COUNT, (int)(k % 2), 0);
                assert_false(mpk_failed(mpk_systems_factorize(c.ctx, s, &ax, NULL, &of_factor)));
                assert_false(mpk_failed(mpk_systems_solve(c.ctx, s, 2, &b, &x, 1, NULL, NULL)));
                assert_memory_equal(bare, c.x, (size_t)(COUNT * bytes));
                assert_memory_equal(growth, t.growth, sizeof growth);
                assert_false(mpk_failed(both(&c, s, k > 1, &t)));
                assert_memory_equal(refined, c.x, (size_t)(COUNT * bytes));
                assert_memory_equal(omega, t.omega, sizeof omega);
                mpk_systems_destroy(&s);
            }
            unsetenv("METAPACK_CUDA_HOST_THREADS"), unsetenv("METAPACK_CUDA_HOST_FRONT");
            unsetenv("METAPACK_CUDA_HOST_GANG"), unsetenv("METAPACK_CUDA_HOST_GANG_ROWS");
            free(bare), free(refined);
            cases_free(&c);
        }
}

/* Trees with parts that warps and blocks do alone, and fronts that several blocks do together: the
 * same bits by any number of them, and right. */
static void test_trees(void **unused) {
    static const char *const specs[] = {"nlpkkt 4", "optimal-control 9", "lp-kkt 40 90",
                                        "quasi-definite 6"};
    static const struct {
        const char *threads, *gang, *rows, *depth;
    } shapes[] = {{"32", "1", "1", "8"},   {"64", "1", "1", "16"},  {"128", "1", "1", "32"},
                  {"256", "1", "1", "16"}, {"32", "2", "1", "8"},   {"128", "8", "33", "16"},
                  {"64", "8", "100", "8"}, {"256", "4", "40", "32"}};
    (void)unused;
    for (size_t q = 0; q < sizeof specs / sizeof *specs; q++) {
        mpk_context *ctx = NULL;
        mpk_problem *p = NULL;
        mpk_analysis *an = NULL;
        mpk_problem_view v;
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        assert_int_equal(mpk_problem_generate(ctx, specs[q], 1, &p), MPK_OK);
        assert_false(mpk_failed(mpk_analyse(ctx, p, &o, &an)));
        mpk_problem_view_get(p, &v);
        const size_t n = (size_t)v.n;
        double *first = malloc(n * sizeof *first), *x = malloc(n * sizeof *x),
               *b = malloc(n * sizeof *b), omega = 1;
        for (size_t i = 0; i < n; i++) b[i] = 1 + (double)(i % 7);
        o.device = MPK_ON_CUDA;
        o.ordering = MPK_ORDERING_AMD; /* the analysis's stays, whatever shape there is */
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            setenv("METAPACK_CUDA_HOST_THREADS", shapes[k].threads, 1);
            setenv("METAPACK_CUDA_HOST_GANG", shapes[k].gang, 1);
            setenv("METAPACK_CUDA_HOST_GANG_ROWS", shapes[k].rows, 1);
            setenv("METAPACK_CUDA_HOST_DEPTH", shapes[k].depth, 1);
            mpk_systems *s = NULL;
            int32_t tier = 0;
            const mpk_batch_array ax = strided((void *)(uintptr_t)v.ax, v.nnz, 1),
                                  vb = strided(b, v.n, v.n), vx = strided(x, v.n, v.n);
            const mpk_systems_results r = {.omega = &omega, .tier = &tier};
            assert_int_equal(mpk_systems_create(ctx, an, &o, NULL, 1, &s), MPK_OK);
            assert_int_equal(mpk_systems_factorize_solve(ctx, s, &ax, 1, &vb, &vx, 0, NULL, &r),
                             MPK_OK);
            assert_int_equal(tier, MPK_TIER_TEMPLATE);
            assert_true(omega <= 1e-14);
            if (k == 0) memcpy(first, x, n * sizeof *x);
            assert_memory_equal(first, x, n * sizeof *x);
            mpk_systems_destroy(&s);
        }
        unsetenv("METAPACK_CUDA_HOST_THREADS");
        unsetenv("METAPACK_CUDA_HOST_GANG"), unsetenv("METAPACK_CUDA_HOST_GANG_ROWS");
        unsetenv("METAPACK_CUDA_HOST_DEPTH");
        free(first), free(x), free(b);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
        mpk_context_destroy(&ctx);
    }
}

/* A system alone and among some and many others, which get other shapes: the same bits. On a GPU with
 * fronts that several blocks do together. */
static void test_counts(void **unused) {
    static const int counts[] = {1, 2, 12, 40, 150};
    const bool real = device_is_real();
    mpk_context *ctx = NULL;
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_problem_view v;
    mpk_options o;
    (void)unused;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(
        mpk_problem_generate(ctx, real ? "lp-kkt 300 834" : "optimal-control 4", 1, &p), MPK_OK);
    assert_false(mpk_failed(mpk_analyse(ctx, p, &o, &an)));
    mpk_problem_view_get(p, &v);
    const size_t n = (size_t)v.n, nnz = (size_t)v.nnz;
    double *bare = malloc(n * sizeof *bare), *refined = malloc(n * sizeof *refined), first = 0;
    o.device = MPK_ON_CUDA;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const size_t count = (size_t)counts[k];
        double *ax = malloc(count * nnz * sizeof *ax), *x = malloc(count * n * sizeof *x),
               *b = malloc(count * n * sizeof *b), *omega = malloc(count * sizeof *omega);
        for (size_t e = 0; e < count * nnz; e++)
            ax[e] = ((const double *)v.ax)[e % nnz] * (1 + (double)(e / nnz * e % 101) * 1e-4);
        for (size_t e = 0; e < count * n; e++) b[e] = 1 + (double)(e % n % 7);
        const mpk_batch_array va = strided(ax, v.nnz, 1), vb = strided(b, v.n, v.n),
                              vx = strided(x, v.n, v.n);
        const mpk_systems_results r = {.omega = omega};
        const mpk_systems_options how = {
            .struct_size = sizeof how, .expected = 150, .keep = 1}; /* one order for all */
        mpk_systems *s = NULL;
        assert_int_equal(mpk_systems_create(ctx, an, &o, &how, (int64_t)count, &s), MPK_OK);
        assert_int_equal(mpk_systems_factorize(ctx, s, &va, NULL, NULL), MPK_OK);
        assert_int_equal(mpk_systems_solve(ctx, s, 1, &vb, &vx, 1, NULL, NULL), MPK_OK);
        if (k == 0) memcpy(bare, x, n * sizeof *x);
        assert_memory_equal(bare, x, n * sizeof *x);
        assert_int_equal(mpk_systems_solve(ctx, s, 1, &vb, &vx, 0, NULL, &r), MPK_OK);
        if (k == 0) memcpy(refined, x, n * sizeof *x), first = omega[0];
        assert_memory_equal(refined, x, n * sizeof *x);
        assert_memory_equal(&first, omega, sizeof first);
        for (size_t q = 0; q < count; q++) assert_true(omega[q] <= 1e-14);
        mpk_systems_destroy(&s);
        free(ax), free(x), free(b), free(omega);
    }
    free(bare), free(refined);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* Few systems of a chain get nested dissection, many minimum degree, and what the caller chose stays;
 * `expected` decides, and the count does not change the bits. */
static void test_orders(void **unused) {
    static const struct {
        int64_t expected, count;
        mpk_ordering asked, got;
    } ways[] = {{1, 1, MPK_ORDERING_AUTO, MPK_ORDERING_ND},
                {1, 3, MPK_ORDERING_AUTO, MPK_ORDERING_ND},
                {0, 1, MPK_ORDERING_AUTO, MPK_ORDERING_ND},
                {1, 1, MPK_ORDERING_AMD, MPK_ORDERING_AMD},
                {1000000, 1, MPK_ORDERING_AUTO, MPK_ORDERING_AMD},
                {1000000, 3, MPK_ORDERING_AUTO, MPK_ORDERING_AMD}};
    enum { WAYS = sizeof ways / sizeof *ways };
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_problem_view v;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "optimal-control 40", 1, &p), MPK_OK);
    assert_false(mpk_failed(mpk_analyse(ctx, p, &o, &an)));
    mpk_problem_view_get(p, &v);
    const size_t n = (size_t)v.n;
    double *x = malloc(WAYS * 3 * n * sizeof *x), *b = malloc(3 * n * sizeof *b),
           *values = malloc(3 * (size_t)v.nnz * sizeof *values);
    for (size_t i = 0; i < 3 * n; i++) b[i] = 1 + (double)(i % n % 7);
    for (int k = 0; k < 3; k++) memcpy(values + k * v.nnz, v.ax, (size_t)v.nnz * sizeof *values);
    o.device = MPK_ON_CUDA;
    for (size_t k = 0; k < WAYS; k++) {
        const mpk_systems_options how = {
            .struct_size = sizeof how, .expected = ways[k].expected, .keep = 1};
        const mpk_batch_array ax = strided(values, v.nnz, 1), vb = strided(b, v.n, v.n),
                              vx = strided(x + k * 3 * n, v.n, v.n);
        double omega[3] = {1, 1, 1};
        const mpk_systems_results r = {.omega = omega};
        mpk_systems_info info;
        mpk_systems *s = NULL;
        o.ordering = ways[k].asked;
        assert_int_equal(mpk_systems_create(ctx, an, &o, &how, ways[k].count, &s), MPK_OK);
        assert_int_equal(mpk_systems_factorize_solve(ctx, s, &ax, 1, &vb, &vx, 0, NULL, &r),
                         MPK_OK);
        assert_int_equal(mpk_systems_solve(ctx, s, 1, &vb, &vx, 1, NULL, NULL), MPK_OK);
        mpk_systems_info_get(s, &info);
        assert_int_equal(info.ordering, ways[k].got);
        assert_int_equal(info.by_template, ways[k].count);
        for (int q = 0; q < ways[k].count; q++) {
            assert_true(omega[q] <= 1e-14);
            assert_memory_equal(x + k * 3 * n, x + (k * 3 + (size_t)q) * n, n * sizeof *x);
        }
        mpk_systems_destroy(&s);
    }
    assert_memory_equal(x, x + 3 * n, n * sizeof *x);
    assert_memory_equal(x, x + 6 * n, n * sizeof *x);
    assert_memory_not_equal(x, x + 9 * n, n * sizeof *x);
    assert_memory_equal(x + 9 * n, x + 12 * n, n * sizeof *x);
    assert_memory_equal(x + 12 * n, x + 15 * n, n * sizeof *x);
    free(x), free(b), free(values);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* Arrays in the device's memory, by system, by pointers and interleaved; x over b. */
static void test_memories(void **unused) {
    enum { WIDTH = 4, GROUPS = 3 };
    (void)unused;
    cases c = device_cases(SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC, COUNT, 2, 0.1);
    const int64_t values = COUNT * c.nnz * 8, sides = COUNT * 2 * N * 8;
    const int64_t ivalues = GROUPS * WIDTH * c.nnz * 8, isides = GROUPS * WIDTH * 2 * N * 8;
    told t;
    mpk_systems *s = systems_of(&c, COUNT, 1, 0);
    assert_int_equal(both(&c, s, false, &t), MPK_OK);
    double *expected = malloc((size_t)sides), *ia = calloc((size_t)ivalues, 1),
           *ib = calloc((size_t)isides, 1);
    memcpy(expected, c.x, (size_t)sides);
    for (int k = 0; k < COUNT; k++) {
        for (int64_t e = 0; e < c.nnz; e++)
            ia[(k / WIDTH * c.nnz + e) * WIDTH + k % WIDTH] = ((double *)c.ax)[k * c.nnz + e];
        for (int e = 0; e < 2 * N; e++)
            ib[(k / WIDTH * 2 * N + e) * WIDTH + k % WIDTH] = ((double *)c.b)[k * 2 * N + e];
    }
    char *da = device_copy(c.ctx, c.ax, values), *db = device_copy(c.ctx, c.b, sides);
    void *pa[COUNT], *pb[COUNT];
    for (int k = 0; k < COUNT; k++) pa[k] = da + k * c.nnz * 8, pb[k] = db + k * 2 * N * 8;
    void *dpa = device_copy(c.ctx, pa, sizeof pa), *dpb = device_copy(c.ctx, pb, sizeof pb);
    void *dia = device_copy(c.ctx, ia, ivalues), *dib = device_copy(c.ctx, ib, isides);
    const mpk_batch_array a[] = {{MPK_BATCH_STRIDED, MPK_DEVICE, da, c.nnz, 1, 1},
                                 {MPK_BATCH_POINTERS, MPK_DEVICE, dpa, 0, 1, 1},
                                 {MPK_BATCH_INTERLEAVED, MPK_DEVICE, dia, WIDTH * c.nnz, 1, WIDTH}};
    const mpk_batch_array b[] = {{MPK_BATCH_STRIDED, MPK_DEVICE, db, 2 * N, N, 1},
                                 {MPK_BATCH_POINTERS, MPK_DEVICE, dpb, 0, N, 1},
                                 {MPK_BATCH_INTERLEAVED, MPK_DEVICE, dib, WIDTH * 2 * N, N, WIDTH}};
    for (int layout = 0; layout < 3; layout++)
        for (int less = 0; less < 2; less++) { /* less: one of them is left alone */
            assert_int_equal(mpk_device_copy(c.ctx, 0, db, sides, c.b, sides, sides, 1), MPK_OK);
            assert_int_equal(mpk_device_copy(c.ctx, 0, dib, isides, ib, isides, isides, 1), MPK_OK);
            uint8_t mask[COUNT] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
            mask[5] = (uint8_t)!less;
            const mpk_systems_results r = results_of(&t);
            assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &a[layout], 2, &b[layout],
                                                         &b[layout], 0, mask, &r),
                             MPK_OK);
            device_read(c.ctx, c.x, db, sides);
            if (layout == 2) {
                double *got = malloc((size_t)isides);
                device_read(c.ctx, got, dib, isides);
                for (int k = 0; k < COUNT; k++)
                    for (int e = 0; e < 2 * N; e++)
                        ((double *)c.x)[k * 2 * N + e] =
                            got[(k / WIDTH * 2 * N + e) * WIDTH + k % WIDTH];
                free(got);
            }
            for (int k = 0; k < COUNT; k++)
                assert_memory_equal(mask[k] ? (char *)expected + k * 2 * N * 8
                                            : c.b + k * 2 * N * 8,
                                    c.x + k * 2 * N * 8, 2 * N * 8);
        }
    mpk_batch_array wrong = a[0];
    wrong.data = c.ax;
    assert_int_equal(mpk_systems_factorize(c.ctx, s, &wrong, NULL, NULL), MPK_ERR_ARGUMENT);
    mpk_systems_destroy(&s);
    device_leave(c.ctx, da), device_leave(c.ctx, db), device_leave(c.ctx, dpa);
    device_leave(c.ctx, dpb), device_leave(c.ctx, dia), device_leave(c.ctx, dib);
    free(expected), free(ia), free(ib);
    cases_free(&c);
}

/* NaN, Inf, zeros, overflow and values that want other pivots, among good ones, in either memory. */
static void test_failing(void **unused) {
    (void)unused;
    cases c = device_cases(SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC, COUNT, 1, 0.1);
    double *a = (double *)c.ax, good[COUNT * N], got[COUNT * N];
    told t;
    mpk_systems *s = systems_of(&c, COUNT, 1, 0);
    assert_int_equal(both(&c, s, false, &t), MPK_OK);
    memcpy(good, c.x, sizeof good);
    for (int k = 0; k < COUNT; k++) assert_int_equal(t.tier[k], MPK_TIER_TEMPLATE);
    a[1 * c.nnz + 5] = NAN;
    a[2 * c.nnz + 0] = INFINITY;
    for (int64_t k = 0; k < c.nnz; k++) a[3 * c.nnz + k] = 0;
    for (int64_t k = 0; k < c.nnz; k++) a[5 * c.nnz + k] *= 1e-300;
    for (int64_t k = 0; k < c.nnz; k++) a[6 * c.nnz + k] *= k % 3 ? 1e-9 : 1e6;
    ((double *)c.b)[8 * N + 3] = NAN;
    const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    const mpk_batch_array dax = device_array(c.ctx, &ax, COUNT * c.nnz * 8),
                          db = device_array(c.ctx, &b, COUNT * N * 8),
                          dx = device_array(c.ctx, &x, COUNT * N * 8);
    const mpk_systems_results r = results_of(&t);
    for (int again = 0; again < 6; again++) {
        const bool there = again >= 3;
        const mpk_status all =
            there ? mpk_systems_refactorize_solve(c.ctx, s, &dax, 1, &db, &dx, 0, NULL, &r)
                  : both(&c, s, again > 0, &t);
        assert_int_equal(all, MPK_PARTIAL);
        memcpy(got, c.x, sizeof got);
        if (there) device_read(c.ctx, got, dx.data, sizeof got);
        for (int k = 0; k < COUNT; k++) {
            const bool bad = k == 1 || k == 2 || k == 8;
            assert_int_equal(mpk_failed((mpk_status)t.status[k]), bad);
            if (bad) assert_int_equal(t.status[k], MPK_ERR_INPUT);
            if (k == 1 || k == 2) assert_int_equal(t.tier[k], MPK_TIER_NONE);
            if (k == 3) assert_int_equal(t.status[k], MPK_SINGULAR);
            if (k == 3) assert_int_equal(t.inertia[3 * k + 2], N);
            if (k == 5) assert_int_equal(t.status[k], MPK_OK);
            if (bad || k == 3 || k == 5 || k == 6) continue;
            assert_memory_equal(good + k * N, got + k * N, N * 8);
        }
    }
    assert_int_equal(t.tier[3], MPK_TIER_SINGLE);
    assert_int_equal(t.tier[6], MPK_TIER_SINGLE);
    mpk_systems_destroy(&s);
    device_leave(c.ctx, dax.data), device_leave(c.ctx, db.data), device_leave(c.ctx, dx.data);
    cases_free(&c);
}

/* D, scale and log-determinant of one; more systems, and fewer. */
static void test_get(void **unused) {
    (void)unused;
    cases c = device_cases(SADDLE_POINT, N, MPK_S, MPK_SYMMETRIC, 4, 1, 0.1);
    const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    mpk_systems *s = systems_of(&c, 4, 1, 0), *host = NULL;
    double scale[N], other[N], logdet[3];
    float d[2 * N], e[2 * N];
    int32_t status[9];
    const mpk_systems_results r = {.status = status};
    assert_int_equal(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL), MPK_OK);
    c.o.device = MPK_ON_CPU;
    host = systems_of(&c, 4, 1, 0);
    assert_int_equal(mpk_systems_factorize(c.ctx, host, &ax, NULL, NULL), MPK_OK);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(mpk_systems_get(c.ctx, s, k, MPK_GET_SCALE, scale, sizeof scale), MPK_OK);
        assert_int_equal(mpk_systems_get(c.ctx, host, k, MPK_GET_SCALE, other, sizeof other),
                         MPK_OK);
        assert_memory_equal(scale, other, sizeof scale);
        assert_int_equal(mpk_systems_get(c.ctx, s, k, MPK_GET_D, d, sizeof d), MPK_OK);
        assert_int_equal(mpk_systems_get(c.ctx, host, k, MPK_GET_D, e, sizeof e), MPK_OK);
        for (int i = 0; i < 2 * N; i++)
            assert_true(fabsf(d[i] - e[i]) <= 1e-3f * (1 + fabsf(e[i])));
        assert_int_equal(mpk_systems_get(c.ctx, s, k, MPK_GET_LOGDET, logdet, sizeof logdet),
                         MPK_OK);
    }
    assert_int_equal(mpk_systems_resize(c.ctx, s, 9), MPK_OK);
    float more[9 * N] = {0};
    memcpy(more, c.b, 4 * N * sizeof(float));
    const mpk_batch_array nine = strided(more, N, N);
    assert_int_equal(mpk_systems_solve(c.ctx, s, 1, &nine, &nine, 0, NULL, &r), MPK_PARTIAL);
    for (int k = 0; k < 9; k++) assert_int_equal(status[k], k < 4 ? MPK_OK : MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_systems_resize(c.ctx, s, 2), MPK_OK);
    assert_int_equal(mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, NULL, NULL), MPK_OK);
    assert_int_equal(mpk_systems_solve(c.ctx, s, 0, &b, &x, 0, NULL, NULL), MPK_OK);
    mpk_systems_destroy(&s);
    mpk_systems_destroy(&host);
    cases_free(&c);
}

/* Systems that a mask leaves alone keep their factors, or lose them. */
static void test_masks(void **unused) {
    (void)unused;
    for (int keep = 0; keep < 2; keep++) {
        cases c = device_cases(SPARSE, N, MPK_D, MPK_SYMMETRIC, COUNT, 1, 0.1);
        const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
        double old[COUNT * N], fresh[COUNT * N];
        uint8_t mask[COUNT];
        int32_t status[COUNT];
        const mpk_systems_results r = {.status = status};
        told t;
        mpk_systems *s = systems_of(&c, COUNT, keep, 0);
        assert_int_equal(both(&c, s, false, &t), MPK_OK);
        memcpy(old, c.x, sizeof old);
        change_values(&c, 0.1);
        assert_int_equal(both(&c, s, true, &t), MPK_OK);
        memcpy(fresh, c.x, sizeof fresh);
        for (int k = 0; k < COUNT; k++) mask[k] = k % 3 == 1;
        change_values(&c, 0.2);
        assert_int_equal(both(&c, s, false, &t), MPK_OK);
        memcpy(old, c.x, sizeof old);
        change_values(&c, 0.1);
        assert_int_equal(mpk_systems_refactorize(c.ctx, s, &ax, mask, NULL), MPK_OK);
        const mpk_status all = mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, NULL, &r);
        assert_int_equal(all, keep ? MPK_OK : MPK_PARTIAL);
        for (int k = 0; k < COUNT; k++) {
            if (!mask[k] && keep) assert_memory_equal(old + k * N, (double *)c.x + k * N, N * 8);
            if (!mask[k] && !keep) assert_int_equal(status[k], MPK_ERR_ARGUMENT);
            if (mask[k]) assert_int_equal(status[k], MPK_OK);
            if (mask[k]) assert_memory_not_equal(old + k * N, (double *)c.x + k * N, N * 8);
        }
        mpk_systems_destroy(&s);
        cases_free(&c);
    }
}

/* No template: all of them by the single engine, and arrays on the device all the same. */
static void test_no_template(void **unused) {
    (void)unused;
    cases c = device_cases(SPARSE, N, MPK_D, MPK_SYMMETRIC, COUNT, 2, 0.1);
    const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    const mpk_batch_array dax = device_array(c.ctx, &ax, COUNT * c.nnz * 8),
                          db = device_array(c.ctx, &b, COUNT * 2 * N * 8);
    const int64_t bytes = COUNT * 2 * N * 8;
    double *got = malloc((size_t)bytes);
    mpk_systems_info info;
    told t;
    c.o.condition = MPK_ON;
    mpk_systems *s = systems_of(&c, COUNT, 1, 0);
    mpk_systems_info_get(s, &info);
    assert_true(strlen(info.reason) > 5);
    const mpk_status all = both(&c, s, false, &t);
    assert_false(mpk_failed(all));
    const mpk_systems_results r = results_of(&t);
    assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &dax, 2, &db, &db, 0, NULL, &r), all);
    for (int k = 0; k < COUNT; k++) assert_int_equal(t.tier[k], MPK_TIER_SINGLE);
    device_read(c.ctx, got, db.data, bytes);
    assert_memory_equal(got, x.data, (size_t)bytes);
    mpk_systems_destroy(&s);
    free(got);
    device_leave(c.ctx, dax.data), device_leave(c.ctx, db.data);
    cases_free(&c);
}

/* Values that want other pivots than the analysed ones, so many powers of ten away: a template of
 * one of them serves it, and mostly all. Returns how many. */
static int learned(double powers) {
    cases c = device_cases(SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC, COUNT, 1, 0.01);
    const mpk_batch_array ax = values_of(&c);
    mpk_systems *s = systems_of(&c, COUNT, 1, 0);
    mpk_systems_info info;
    told single, by_template;
    assert_false(mpk_failed(both(&c, s, false, &single)));
    for (int64_t k = 0; k < COUNT * c.nnz; k++)
        ((double *)c.ax)[k] *= pow(10, powers * sin(77.7 * (double)(k % c.nnz)));
    assert_false(mpk_failed(both(&c, s, false, &single)));
    mpk_systems_info_get(s, &info);
    assert_int_equal(info.by_single, COUNT);
    if (!device_is_real()) { /* there is no room: nothing is changed */
        setenv("METAPACK_CUDA_HOST_FULL", "1", 1);
        assert_int_equal(mpk_systems_learn(c.ctx, s, 3), MPK_ERR_MEMORY);
        unsetenv("METAPACK_CUDA_HOST_FULL");
        assert_false(mpk_failed(both(&c, s, true, &single)));
    }
    assert_int_equal(mpk_systems_learn(c.ctx, s, 3), MPK_OK);
    mpk_systems_info_get(s, &info);
    assert_int_equal(info.by_single, COUNT); /* their factors stay */
    assert_false(mpk_failed(both(&c, s, true, &by_template)));
    mpk_systems_info_get(s, &info);
    assert_memory_equal(single.inertia, by_template.inertia, sizeof single.inertia);
    for (int k = 0; k < COUNT; k++) assert_true(by_template.omega[k] <= 1e-14);
    assert_int_equal(mpk_systems_resize(c.ctx, s, 2 * COUNT), MPK_OK);
    assert_int_equal(mpk_systems_resize(c.ctx, s, COUNT), MPK_OK);
    assert_false(mpk_failed(mpk_systems_refactorize(c.ctx, s, &ax, NULL, NULL)));
    mpk_systems_destroy(&s);
    cases_free(&c);
    return (int)info.by_template;
}

static void test_learn(void **unused) {
    int served = 0;
    (void)unused;
    for (double powers = 2; powers < 3.1; powers += 0.25) served += learned(powers) == COUNT;
    assert_true(served > 0);
}

/* Every allocation of the device's memory fails once, and a launch: the call says so, nothing is
 * lost, and the same call succeeds. */
static void test_memory(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    cases c = device_cases(SADDLE_POINT, 12, MPK_D, MPK_SYMMETRIC, 5, 1, 0.1);
    const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    static const char *const names[] = {"METAPACK_CUDA_HOST_FULL", "METAPACK_CUDA_HOST_FAIL"};
    for (int k = 0; k < 2; k++)
        for (int fail = 1, passed = 0; !passed; fail++) {
            char text[16];
            mpk_systems *s = NULL;
            snprintf(text, sizeof text, "%d", fail);
            setenv(names[k], text, 1);
            mpk_status status = mpk_systems_create(c.ctx, c.an, &c.o, NULL, 5, &s);
            if (mpk_failed(status)) assert_null(s);
            if (!mpk_failed(status))
                status = mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL);
            unsetenv(names[k]);
            passed = !mpk_failed(status);
            if (!passed) assert_int_equal(status, k ? MPK_ERR_DEVICE : MPK_ERR_MEMORY);
            assert_true(fail < 40);
            if (!s) assert_int_equal(mpk_systems_create(c.ctx, c.an, &c.o, NULL, 5, &s), MPK_OK);
            assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL),
                             MPK_OK);
            mpk_systems_destroy(&s);
        }
    cases_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_beside_processor),
                                       cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_trees),
                                       cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_orders),
                                       cmocka_unit_test(test_memories),
                                       cmocka_unit_test(test_failing),
                                       cmocka_unit_test(test_get),
                                       cmocka_unit_test(test_masks),
                                       cmocka_unit_test(test_no_template),
                                       cmocka_unit_test(test_learn),
                                       cmocka_unit_test(test_memory)};
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
