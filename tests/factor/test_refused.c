/* SPDX-License-Identifier: BSD-3-Clause */
/* A refactorization that fails, for want of memory (each allocation in turn), on request, or in
 * its numbers: then the factor holds none, says so, and its numbers are gone; with values that
 * are refused it is as it was; and the next one that succeeds is as good as the first. Of every
 * form; dense matrices, too. (attack/11) */
#include "support.h"

#include <stdbool.h>

enum { M = 9, N = M * M };

typedef struct counting {
    _Atomic int64_t calls; /* threads ask, too */
    int64_t fail_at;
} counting;

static void *take(void *user, size_t size) {
    counting *c = user;
    return ++c->calls == c->fail_at ? NULL : aligned_alloc(64, (size + 63) / 64 * 64);
}

static void give(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}

static int stop(const char *stage, double fraction, void *user) {
    (void)fraction;
    return *(int *)user && !strcmp(stage, "factorize");
}

typedef struct objects {
    counting memory;
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options o;
    int64_t nnz;
    double ax[5 * N], twice[5 * N], b[N], x[N], want[N];
} objects;

static mpk_status solve(objects *s) {
    return mpk_solve(s->ctx, s->fac, 1, s->b, N, s->x, N, &s->o, NULL);
}

static void make(objects *s, const char *method, int threads) {
    mpk_problem_view v;
    const mpk_allocator allocator = {take, give, &s->memory};
    memset(s, 0, sizeof *s);
    assert_int_equal(mpk_context_create(&allocator, &s->ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(s->ctx, "helmholtz 2d 9 0.3", 1, &s->problem), MPK_OK);
    mpk_problem_view_get(s->problem, &v);
    s->nnz = v.nnz;
    memcpy(s->ax, v.ax, (size_t)v.nnz * sizeof *s->ax);
    for (int64_t k = 0; k < v.nnz; k++) s->twice[k] = 2 * s->ax[k];
    for (int i = 0; i < N; i++) s->b[i] = i % 5 - 1.5;
    mpk_options_init(&s->o);
    assert_int_equal(mpk_options_set(s->ctx, &s->o, "method", method), MPK_OK);
    s->o.threads = threads;
    if (strcmp(method, "ldlt") != 0) s->o.krylov = MPK_KRYLOV_GMRES;
    assert_int_equal(mpk_analyse(s->ctx, s->problem, &s->o, &s->an), MPK_OK);
    assert_true(mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->fac) >= 0);
    assert_true(solve(s) >= 0);
    memcpy(s->want, s->x, sizeof s->x);
}

static void end(objects *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

/* It holds no factorization; then new values make one. */
static void empty(objects *s) {
    static const mpk_factor_info none = {0};
    static const mpk_block_info no_blocks = {0};
    mpk_factor_info info;
    mpk_block_info blocks;
    const char *text;
    double scale[N];
    assert_int_equal(solve(s), MPK_ERR_ARGUMENT);
    mpk_last_error(s->ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "holds no factorization"));
    assert_int_equal(mpk_solve_part(s->ctx, s->fac, MPK_PART_ALL, 1, s->x, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_get(s->ctx, s->fac, MPK_GET_SCALE, scale, sizeof scale), MPK_ERR_ARGUMENT);
    mpk_factor_info_get(s->fac, &info);
    mpk_factor_block_info_get(s->fac, &blocks);
    assert_memory_equal(&info, &none, sizeof info);
    assert_memory_equal(&blocks, &no_blocks, sizeof blocks);
    assert_true(mpk_refactorize(s->ctx, s->ax, &s->o, s->fac) >= 0);
    assert_true(solve(s) >= 0);
    assert_memory_equal(s->x, s->want, sizeof s->x);
}

static const char *const methods[] = {"ldlt", "ildlt", "ilu0",     "jacobi",
                                      "ssor", "none",  "diagonal", "block_jacobi"};

static void test_memory(void **unused) {
    (void)unused;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        static objects s;
        int failures = 0;
        make(&s, methods[m], 1);
        for (int64_t at = 1; at < 1000; at++) {
            s.memory = (counting){0, at};
            const mpk_status status = mpk_refactorize(s.ctx, s.twice, &s.o, s.fac);
            const bool reached = s.memory.calls >= at;
            s.memory = (counting){0, 0};
            if (mpk_failed(status)) {
                assert_int_equal(status, MPK_ERR_MEMORY);
                empty(&s);
                failures++;
            }
            if (!reached) break;
        }
        assert_true(failures > 1);
        end(&s);
    }
}

static void test_other_reasons(void **unused) {
    (void)unused;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (int threads = 1; threads <= 2; threads++) {
            static objects s;
            int asked = 1;
            make(&s, methods[m], threads);
            mpk_context_set_progress(s.ctx, stop, &asked);
            const mpk_status cancelled = mpk_refactorize(s.ctx, s.twice, &s.o, s.fac);
            mpk_context_set_progress(s.ctx, NULL, NULL);
            if (mpk_failed(cancelled)) {
                assert_int_equal(cancelled, MPK_ERR_CANCELLED);
                empty(&s);
            }
            /* numbers that overflow, where this method can */
            static double huge[5 * N];
            for (int64_t k = 0; k < s.nnz; k++) huge[k] = s.ax[k] * 1e307;
            mpk_options own = s.o;
            own.scaling = MPK_OFF, own.matching = MPK_OFF;
            if (mpk_failed(mpk_refactorize(s.ctx, huge, &own, s.fac))) empty(&s);
            if (s.o.method == MPK_METHOD_LDLT) { /* less memory than the analysis was allowed */
                own.memory_limit = 100;
                assert_int_equal(mpk_refactorize(s.ctx, s.twice, &own, s.fac), MPK_ERR_MEMORY);
                empty(&s);
                own.memory_limit = 0;
            }
            /* values and options that are refused */
            assert_true(mpk_refactorize(s.ctx, s.ax, &s.o, s.fac) >= 0);
            huge[3] = NAN;
            assert_int_equal(mpk_refactorize(s.ctx, huge, &s.o, s.fac), MPK_ERR_INPUT);
            own.threads = -7;
            assert_int_equal(mpk_refactorize(s.ctx, s.twice, &own, s.fac), MPK_ERR_ARGUMENT);
            assert_true(solve(&s) >= 0);
            assert_memory_equal(s.x, s.want, sizeof s.x);
            end(&s);
        }
}

/* LLT of a matrix that is not definite. */
static void test_not_definite(void **unused) {
    (void)unused;
    const int64_t ap[] = {0, 2, 3};
    const int32_t ai[] = {0, 1, 1};
    const double definite[] = {2, 1, 2}, not [] = {1, 2, 1};
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_options o;
    double b[2] = {1, 2}, x[2];
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT, o.factor_type = MPK_TYPE_LLT, o.krylov = MPK_KRYLOV_GMRES;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(
        mpk_problem_from_csc(ctx, 2, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, definite, &problem),
        MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    if (mpk_failed(mpk_refactorize(ctx, not, &o, fac))) {
        assert_int_equal(mpk_solve(ctx, fac, 1, b, 2, x, 2, &o, NULL), MPK_ERR_ARGUMENT);
        mpk_factor_info_get(fac, &info);
        assert_int_equal(info.bytes, 0);
    }
    assert_int_equal(mpk_refactorize(ctx, definite, &o, fac), MPK_OK);
    assert_int_equal(mpk_solve(ctx, fac, 1, b, 2, x, 2, &o, NULL), MPK_OK);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_dense(void **unused) {
    (void)unused;
    enum { K = 40 };
    static double a[K * K], zero[K * K], f[K * K];
    static int32_t pivots[2 * K];
    double b[K], x[K];
    mpk_context *ctx = NULL;
    mpk_dense d;
    mpk_inertia inertia;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int i = 0; i < K * K; i++) a[i] = uniform();
    for (int i = 0; i < K; i++) a[i * (K + 1)] += 2 * K, b[i] = i;
    mpk_dense_init(&d);
    d.n = K, d.method = MPK_DENSE_NONE, d.threads = 1;
    mpk_dense_factor fac = {.struct_size = sizeof fac, .f = f, .ldf = K, .pivots = pivots};
    assert_int_equal(mpk_dense_factorize(ctx, &d, a, K, &fac, NULL, 0, NULL), MPK_OK);
    for (int i = 1; i < K; i++) zero[i] = 1; /* without pivoting the first pivot is zero */
    assert_int_equal(mpk_dense_factorize(ctx, &d, zero, K, &fac, NULL, 0, NULL), MPK_ERR_NUMERIC);
    assert_int_equal(mpk_dense_solve(ctx, &d, NULL, K, &fac, 1, b, K, x, K, NULL, 0, NULL),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_dense_inertia(ctx, &d, &fac, NULL, 0, &inertia), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_dense_factorize(ctx, &d, a, K, &fac, NULL, 0, NULL), MPK_OK);
    assert_int_equal(mpk_dense_solve(ctx, &d, NULL, K, &fac, 1, b, K, x, K, NULL, 0, NULL), MPK_OK);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), cmocka_unit_test(test_other_reasons),
        cmocka_unit_test(test_not_definite), cmocka_unit_test(test_dense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
