/* SPDX-License-Identifier: BSD-3-Clause */
/* Each system has the bits that it has alone: in any count, slot, layout, beside any mask, by any
 * instruction set and with any number of threads. */
#include "cases.h"
#include "core/cpu.h"

enum { N = 37, MOST = 100 };

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_SYMMETRIC}, {MPK_Z, MPK_HERMITIAN}};

/* Solutions of each system alone, bare and refined, and what is told of it. */
typedef struct alone {
    char *bare, *refined;
    double omega[MOST], growth[MOST];
    int32_t tier[MOST];
} alone;

static alone alone_of(cases *c) {
    const int64_t bytes = (int64_t)c->n * c->nrhs * (int64_t)c->size;
    alone a = {
        malloc((size_t)(c->count * bytes)), malloc((size_t)(c->count * bytes)), {0}, {0}, {0}};
    for (int64_t k = 0; k < c->count; k++) {
        mpk_systems *s = systems_of(c, 1, 1, 0);
        mpk_batch_array ax = strided(c->ax + k * c->nnz * (int64_t)c->size, c->nnz, 1);
        mpk_batch_array b = strided(column(c->b, c, k), c->n * c->nrhs, c->n), x = b;
        const mpk_systems_results r = {
            .omega = &a.omega[k], .growth = &a.growth[k], .tier = &a.tier[k]};
        x.data = a.bare + k * bytes;
        assert_false(mpk_failed(mpk_systems_factorize(c->ctx, s, &ax, NULL, &r)));
        assert_false(mpk_failed(mpk_systems_solve(c->ctx, s, c->nrhs, &b, &x, 1, NULL, &r)));
        x.data = a.refined + k * bytes;
        assert_false(mpk_failed(mpk_systems_solve(c->ctx, s, c->nrhs, &b, &x, 0, NULL, &r)));
        mpk_systems_destroy(&s);
    }
    return a;
}

static void same(const cases *c, const char *expected, const char *got, int64_t from, int64_t to) {
    const int64_t bytes = (int64_t)c->n * c->nrhs * (int64_t)c->size;
    assert_memory_equal(expected + from * bytes, got + from * bytes, (size_t)((to - from) * bytes));
}

static void test_counts(void **unused) {
    static const int64_t counts[] = {1, 7, 8, 9, MOST};
    (void)unused;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (enum support_family f = SPARSE; f <= PAIRS; f++) {
            cases c =
                cases_make(NULL, f, N, kinds[kind].scalar, kinds[kind].symmetry, MOST, 2, 0.1);
            alone a = alone_of(&c);
            mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
            for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
                for (int threads = 1; threads <= 3; threads += 2) {
                    c.o.threads = threads;
                    double omega[MOST], growth[MOST];
                    mpk_systems *s = systems_of(&c, counts[k], (int)(k % 2), 0);
                    const mpk_systems_results r = {.growth = growth}, of_solve = {.omega = omega};
                    assert_false(mpk_failed(mpk_systems_factorize(c.ctx, s, &ax, NULL, &r)));
                    assert_false(mpk_failed(mpk_systems_solve(c.ctx, s, 2, &b, &x, 1, NULL, NULL)));
                    same(&c, a.bare, c.x, 0, counts[k]);
                    assert_false(mpk_failed(
                        mpk_systems_factorize_solve(c.ctx, s, &ax, 2, &b, &x, 0, NULL, &of_solve)));
                    same(&c, a.refined, c.x, 0, counts[k]);
                    for (int64_t q = 0; q < counts[k]; q++) {
                        assert_true(omega[q] == a.omega[q]);
                        assert_true(growth[q] == a.growth[q]);
                    }
                    mpk_systems_destroy(&s);
                }
            free(a.bare), free(a.refined);
            cases_free(&c);
        }
}

static void test_masks(void **unused) {
    (void)unused;
    for (int keep = 0; keep < 2; keep++) {
        cases c = cases_make(NULL, SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC, MOST, 1, 0.1);
        mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
        mpk_systems *s = systems_of(&c, MOST, keep, 0);
        uint8_t mask[MOST];
        int32_t status[MOST];
        const mpk_systems_results r = {.status = status};
        assert_int_equal(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL), MPK_OK);
        assert_int_equal(mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, NULL, NULL), MPK_OK);
        char *old = malloc((size_t)(MOST * N) * c.size);
        memcpy(old, c.x, (size_t)(MOST * N) * c.size);
        for (int k = 0; k < MOST; k++) mask[k] = (uint8_t)(k % 3 == 1 || k > 90);
        change_values(&c, 0.1);
        alone a = alone_of(&c);
        assert_int_equal(mpk_systems_refactorize(c.ctx, s, &ax, mask, NULL), MPK_OK);
        memset(c.x, 0, (size_t)(MOST * N) * c.size);
        assert_int_equal(mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, mask, NULL), MPK_OK);
        for (int k = 0; k < MOST; k++) {
            if (mask[k])
                same(&c, a.refined, c.x, k, k + 1);
            else
                for (int i = 0; i < N; i++) assert_true(((double *)c.x)[k * N + i] == 0);
        }
        /* those that the mask left alone have their old factors, or none */
        const mpk_status all = mpk_systems_solve(c.ctx, s, 1, &b, &x, 0, NULL, &r);
        assert_int_equal(all, keep ? MPK_OK : MPK_PARTIAL);
        for (int k = 0; k < MOST; k++) {
            if (!mask[k] && keep) same(&c, old, c.x, k, k + 1);
            if (!mask[k] && !keep) assert_int_equal(status[k], MPK_ERR_ARGUMENT);
            if (mask[k]) assert_int_equal(status[k], MPK_OK);
        }
        free(a.bare), free(a.refined), free(old);
        mpk_systems_destroy(&s);
        cases_free(&c);
    }
}

/* Right-hand sides and values by pointers and interleaved; x over b. */
static void test_layouts(void **unused) {
    enum { COUNT = 11, WIDTH = 4, GROUPS = 3 };
    (void)unused;
    cases c = cases_make(NULL, SPARSE, N, MPK_D, MPK_SYMMETRIC, COUNT, 2, 0.1);
    alone a = alone_of(&c);
    const double *ax = (double *)c.ax, *b = (double *)c.b;
    double *pa[COUNT], *pb[COUNT];
    double *ia = calloc((size_t)(GROUPS * WIDTH * c.nnz), sizeof *ia);
    double *ib = calloc(GROUPS * WIDTH * N * 2, sizeof *ib);
    for (int k = 0; k < COUNT; k++) {
        pa[k] = (double *)c.ax + k * c.nnz, pb[k] = (double *)c.x + k * 2 * N;
        for (int64_t e = 0; e < c.nnz; e++)
            ia[(k / WIDTH * c.nnz + e) * WIDTH + k % WIDTH] = ax[k * c.nnz + e];
        for (int e = 0; e < 2 * N; e++)
            ib[(k / WIDTH * 2 * N + e) * WIDTH + k % WIDTH] = b[k * 2 * N + e];
    }
    const mpk_batch_array values[] = {
        {MPK_BATCH_POINTERS, MPK_HOST, pa, 0, 1, 1},
        {MPK_BATCH_INTERLEAVED, MPK_HOST, ia, WIDTH * c.nnz, 1, WIDTH}};
    const mpk_batch_array sides[] = {
        {MPK_BATCH_POINTERS, MPK_HOST, pb, 0, N, 1},
        {MPK_BATCH_INTERLEAVED, MPK_HOST, ib, WIDTH * 2 * N, N, WIDTH}};
    for (int layout = 0; layout < 2; layout++) {
        mpk_systems *s = systems_of(&c, COUNT, 1, 0);
        memcpy(c.x, c.b, (size_t)(COUNT * 2 * N) * sizeof(double));
        assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &values[layout], 2, &sides[layout],
                                                     &sides[layout], 0, NULL, NULL),
                         MPK_OK);
        for (int k = 0; layout == 1 && k < COUNT; k++)
            for (int e = 0; e < 2 * N; e++)
                ((double *)c.x)[k * 2 * N + e] = ib[(k / WIDTH * 2 * N + e) * WIDTH + k % WIDTH];
        same(&c, a.refined, c.x, 0, COUNT);
        mpk_systems_destroy(&s);
    }
    free(ia), free(ib), free(a.bare), free(a.refined);
    cases_free(&c);
}

/* The instruction sets there are, each beside the widest. */
static void test_sets(void **unused) {
    (void)unused;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        cases c =
            cases_make(NULL, SADDLE_POINT, N, kinds[kind].scalar, kinds[kind].symmetry, 20, 1, 0.1);
        alone a = alone_of(&c);
        mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
        for (int set = 0; set < MPKI_LEVEL_COUNT; set++) {
            mpk_context *probe = NULL;
            setenv("METAPACK_CPU", mpki_cpu_words[set], 1);
            if (mpk_context_create(NULL, &probe) == MPK_OK) {
                mpk_systems *s = systems_of(&c, 20, 1, 0);
                assert_false(mpk_failed(
                    mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL)));
                same(&c, a.refined, c.x, 0, 20);
                mpk_systems_destroy(&s);
            }
            mpk_context_destroy(&probe);
        }
        unsetenv("METAPACK_CPU");
        free(a.bare), free(a.refined);
        cases_free(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_masks),
                                       cmocka_unit_test(test_layouts), cmocka_unit_test(test_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
