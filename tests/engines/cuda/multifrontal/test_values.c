/* SPDX-License-Identifier: BSD-3-Clause */
/* Refactorization with values in a device's memory, or copied there: they stay there, with the
 * scaling and the factor that the host's way gives, bit for bit; what the host has to look at goes
 * through it, as ever. */
#include "support.h"

#include "engines/cuda/multifrontal/state.h"
#include "engines/cuda/module/load.h"
#include "factor/factor.h"

#include <metapack/metapack.h>
#include <pthread.h>

enum { N = 60, LONG = 700, WIDE = 4 };

/* How a caller gives A: which triangle, and its entries in which order. */
enum { LOWER_SORTED, LOWER_MIXED, UPPER, BOTH, TWICE, ORDERS };

typedef struct system_ {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *here, *there,
        *sent; /* the same factor: values of a problem, which the host scales; from
                                        the device; from the host, to the device */
    mpk_options o;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    int32_t n;
    int order;
    int64_t nnz; /* values that are given */
    int32_t *rows, *cols;
    char *values;
    void *on_device;
} system_;

static double complex entry(const system_ *s, int32_t i, int32_t j, double seed) {
    const int both = s->scalar == MPK_C || s->scalar == MPK_Z;
    const int32_t low = i > j ? i : j, high = i > j ? j : i;
    const double re = sin(3 * low + high + seed) * (low % 3 ? 1 : 30),
                 im = both ? cos(low + 2 * high) : 0;
    if (i == j) return 3 * re + (s->symmetry == MPK_HERMITIAN ? 0 : im * I);
    return re + (i > j || s->symmetry != MPK_HERMITIAN ? im : -im) * I;
}

static void fill(system_ *s, double seed) {
    for (int64_t k = 0; k < s->nnz; k++)
        scalar_store(s->scalar, s->values, k,
                     entry(s, s->rows[k], s->cols[k], seed) * (s->order == TWICE ? 0.5 : 1));
}

static void pattern(system_ *s) {
    const int64_t most = (int64_t)s->n * (2 * WIDE + 6) * 2;
    s->rows = malloc((size_t)most * sizeof *s->rows),
    s->cols = malloc((size_t)most * sizeof *s->cols);
    s->values = malloc((size_t)most * 16);
    assert_true(s->rows && s->cols && s->values);
    for (int32_t j = 0; j < s->n; j++)
        for (int32_t i = j; i < s->n; i++) {
            if (i - j > WIDE && i < s->n - 2) continue;
            const bool swap = s->order == UPPER;
            for (int t = 0; t < (s->order == TWICE ? 2 : 1); t++)
                s->rows[s->nnz] = swap ? j : i, s->cols[s->nnz++] = swap ? i : j;
            if (s->order == BOTH && i != j) s->rows[s->nnz] = j, s->cols[s->nnz++] = i;
        }
    for (int64_t k = 0; s->order != LOWER_SORTED && k < s->nnz; k++) { /* a permutation */
        const int64_t other = (k * 7919 + 13) % s->nnz;
        const int32_t i = s->rows[k], j = s->cols[k];
        s->rows[k] = s->rows[other], s->cols[k] = s->cols[other];
        s->rows[other] = i, s->cols[other] = j;
    }
}

static mpk_status make_problem(const system_ *s, mpk_problem **problem) {
    return mpk_problem_from_triplets(s->ctx, s->n, s->scalar, s->symmetry,
                                     s->order == BOTH    ? MPK_FULL
                                     : s->order == UPPER ? MPK_UPPER
                                                         : MPK_LOWER,
                                     s->nnz, s->rows, s->cols, s->values, problem);
}

static mpk_status open_system(system_ *s, const mpk_allocator *allocator, int32_t n,
                              mpk_scalar scalar, mpk_symmetry symmetry, int order,
                              mpk_switch matching) {
    *s = (system_){.scalar = scalar, .symmetry = symmetry, .n = n, .order = order};
    pattern(s);
    fill(s, 0);
    mpk_options_init(&s->o);
    s->o.method = MPK_METHOD_LDLT;
    s->o.device = MPK_ON_CUDA;
    s->o.matching = matching;
    mpk_status status = mpk_context_create(allocator, &s->ctx);
    if (mpk_failed(status)) return status;
    status = make_problem(s, &s->problem);
    if (!mpk_failed(status)) status = mpk_analyse(s->ctx, s->problem, &s->o, &s->an);
    if (!mpk_failed(status)) status = mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->here);
    if (!mpk_failed(status)) status = mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->there);
    if (!mpk_failed(status)) status = mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->sent);
    if (!mpk_failed(status)) status = mpk_device_alloc(s->ctx, 0, s->nnz * 16, &s->on_device);
    return status;
}

static void close_system(system_ *s) {
    if (s->ctx) assert_int_equal(mpk_device_free(s->ctx, 0, &s->on_device), MPK_OK);
    mpk_factor_destroy(&s->here);
    mpk_factor_destroy(&s->there);
    mpk_factor_destroy(&s->sent);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
    free(s->rows), free(s->cols), free(s->values);
}

/* All factors with the values that there are. Returns the status, which is the same for all. */
static mpk_status again(system_ *s) {
    const int64_t bytes = s->nnz * (int64_t)mpk_scalar_size(s->scalar);
    char *text_sent;
    const char *text = NULL;
    mpk_problem *problem = NULL;
    assert_int_equal(mpk_device_copy(s->ctx, 0, s->on_device, 0, s->values, 0, bytes, 1), MPK_OK);
    const mpk_status sent = mpk_refactorize(s->ctx, s->values, &s->o, s->sent);
    mpk_last_error(s->ctx, NULL, NULL, &text);
    text_sent = strdup(text ? text : "");
    const mpk_status there = mpk_refactorize(s->ctx, s->on_device, &s->o, s->there);
    mpk_last_error(s->ctx, NULL, NULL, &text);
    assert_int_equal(sent, there);
    assert_string_equal(text_sent, text ? text : "");
    free(text_sent);
    mpk_status here = make_problem(s, &problem);
    if (!mpk_failed(here)) here = mpk_factorize_problem(s->ctx, s->an, problem, &s->o, &s->here);
    assert_int_equal(here, there);
    mpk_problem_destroy(&problem);
    return there;
}

static void same_quantity(system_ *s, mpk_quantity what) {
    const size_t bytes = mpk_get_size(s->here, what);
    char *x = malloc(bytes), *y = malloc(bytes);
    assert_true(x && y);
    assert_int_equal(mpk_get(s->ctx, s->here, what, x, bytes), MPK_OK);
    assert_int_equal(mpk_get(s->ctx, s->there, what, y, bytes), MPK_OK);
    assert_memory_equal(x, y, bytes);
    assert_int_equal(mpk_get(s->ctx, s->sent, what, y, bytes), MPK_OK);
    assert_memory_equal(x, y, bytes);
    free(x), free(y);
}

/* The factors are one. */
static void same_numbers(system_ *s) {
    same_quantity(s, MPK_GET_INERTIA);
    same_quantity(s, MPK_GET_D);
    same_quantity(s, MPK_GET_PERM);
    same_quantity(s, MPK_GET_LOGDET);
    same_quantity(s, MPK_GET_SCALE);
}

/* And so are their solutions of vectors on the host. */
static void same(system_ *s) {
    const size_t size = mpk_scalar_size(s->scalar), bytes = (size_t)s->n * size;
    char *b = malloc(bytes), *x = malloc(bytes), *y = malloc(bytes);
    mpk_solve_info one = {0}, two = {0};
    assert_true(b && x && y);
    for (int32_t i = 0; i < s->n; i++) scalar_store(s->scalar, b, i, 1 + i % 5);
    same_numbers(s);
    assert_int_equal(mpk_solve(s->ctx, s->here, 1, b, s->n, x, s->n, &s->o, &one),
                     mpk_solve(s->ctx, s->there, 1, b, s->n, y, s->n, &s->o, &two));
    assert_memory_equal(x, y, bytes);
    assert_true(one.componentwise == two.componentwise && one.normwise == two.normwise);
    assert_false(mpk_failed(mpk_solve(s->ctx, s->sent, 1, b, s->n, y, s->n, &s->o, &two)));
    assert_memory_equal(x, y, bytes);
    free(b), free(x), free(y);
}

static bool away(const system_ *s) {
    return s->there->away;
}

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} KINDS[] = {{MPK_D, MPK_SYMMETRIC}, {MPK_S, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};

/* All kinds of entries in all orders: the same bits. Where several values meet in a place it is the
 * host's work. */
static void test_orders(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++)
        for (int order = 0; order < ORDERS; order++) {
            system_ s;
            assert_int_equal(open_system(&s, NULL, N, KINDS[k].scalar, KINDS[k].symmetry, order,
                                         order % 2 ? MPK_ON : MPK_OFF),
                             MPK_OK);
            for (int round = 1; round <= 2; round++) {
                fill(&s, 0.1 * round);
                assert_int_equal(again(&s), MPK_OK);
                assert_int_equal(away(&s), order != TWICE);
                assert_int_equal(s.sent->away, order != TWICE);
                same(&s);
                assert_false(away(&s)); /* the host has asked for them */
            }
            assert_int_equal(mpk_refactorize(s.ctx, NULL, &s.o, s.there), MPK_OK);
            assert_int_equal(mpk_refactorize(s.ctx, NULL, &s.o, s.here), MPK_OK);
            assert_int_equal(mpk_refactorize(s.ctx, NULL, &s.o, s.sent), MPK_OK);
            same(&s); /* the problem's own values once more */
            close_system(&s);
        }
}

/* Rows that are far from even need more sweeps than are asked for; rows that are long are cut. */
static void test_scales(void **unused) {
    (void)unused;
    static const int32_t sizes[] = {N, LONG};
    bool away_once = false;
    for (size_t k = 0; k < 2; k++)
        for (int spread = 0; spread <= 24; spread += 8) {
            system_ s;
            assert_int_equal(
                open_system(&s, NULL, sizes[k], MPK_D, MPK_SYMMETRIC, LOWER_MIXED, MPK_OFF),
                MPK_OK);
            double *x = (double *)(void *)s.values;
            fill(&s, 0.3);
            for (int64_t e = 0; e < s.nnz; e++)
                x[e] =
                    ldexp(x[e], (s.rows[e] * 37 % 11 + s.cols[e] * 37 % 11) * spread - 10 * spread);
            assert_false(mpk_failed(again(&s)));
            away_once |= away(&s); /* unless pivots are in doubt */
            same(&s);
            close_system(&s);
        }
    assert_true(away_once);
}

/* What is odd is told as the host tells it, and the numbers before stay as they were. */
static void test_odd(void **unused) {
    (void)unused;
    system_ s;
    for (int order = 0; order < ORDERS; order++) {
        assert_int_equal(open_system(&s, NULL, N, MPK_Z, MPK_HERMITIAN, order, MPK_OFF), MPK_OK);
        double complex *x = (double complex *)(void *)s.values;
        fill(&s, 0.2);
        assert_int_equal(again(&s), MPK_OK);
        for (int what = 0; what < 3; what++) {
            int64_t e = s.nnz / 2;
            while (s.rows[e] == s.cols[e]) e++;
            int64_t diagonal = s.nnz / 3;
            while (s.rows[diagonal] != s.cols[diagonal]) diagonal++;
            fill(&s, 0.2);
            if (what == 0) x[e] = NAN;
            if (what == 1) x[diagonal] += 1e-3 * I; /* Hermitian ones have none */
            if (what == 2) x[e] *= 1.01;            /* a mistake where both triangles are given */
            const mpk_status status = again(&s);
            assert_int_equal(status, what == 2 && order != BOTH ? MPK_OK : MPK_ERR_INPUT);
            if (!mpk_failed(status)) {
                fill(&s, 0.2);
                assert_int_equal(again(&s), MPK_OK);
            }
            same(&s);
            fill(&s, 0.2);
            assert_int_equal(again(&s), MPK_OK);
        }
        close_system(&s);
    }
}

/* From the second values on a factorization begins before the host knows what they are like: by the
 * rules of the one before. Other rules, values whose rows are far from even, and a device that fails
 * then, change nothing. */
static void test_begins(void **unused) {
    (void)unused;
    system_ s;
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        assert_int_equal(open_system(&s, NULL, N, KINDS[k].scalar, KINDS[k].symmetry, BOTH,
                                     k % 2 ? MPK_ON : MPK_OFF),
                         MPK_OK);
        for (int round = 0; round < 5; round++) {
            fill(&s, 0.1 * round);
            if (round == 3) s.o.pivot_threshold = 0.4;
            if (round == 4) s.o.zero_tolerance = 1e-6;
            assert_int_equal(again(&s), MPK_OK);
            assert_int_equal(s.there->direct->queued, round > 0 ? s.there->direct->plan.steps : 0);
            assert_false(s.there->direct->has_begun); /* it is done */
            same(&s);
        }
        close_system(&s);
    }
    assert_int_equal(open_system(&s, NULL, N, MPK_D, MPK_SYMMETRIC, LOWER_MIXED, MPK_OFF), MPK_OK);
    for (int round = 0; round < 6; round++) {
        double *x = (double *)(void *)s.values;
        fill(&s, 0.3);
        for (int64_t e = 0; e < s.nnz && round % 2; e++)
            x[e] = ldexp(x[e], ((s.rows[e] * 37 % 11 + s.cols[e] * 37 % 11) - 10) * 8);
        assert_false(mpk_failed(again(&s)));
        same(&s);
    }
    close_system(&s);
}

static void test_begins_and_fails(void **unused) {
    (void)unused;
    const char *must = getenv("METAPACK_TEST_DEVICE");
    if (must && !strcmp(must, "1")) return; /* a device that fails at will is not to be had */
    int failures = 0;
    system_ s;
    assert_int_equal(open_system(&s, NULL, N, MPK_D, MPK_SYMMETRIC, UPPER, MPK_OFF), MPK_OK);
    assert_int_equal(again(&s), MPK_OK);
    for (int k = 1; k < 12; k++) {
        char text[16];
        fill(&s, 0.1 * k);
        const int64_t bytes = s.nnz * (int64_t)sizeof(double);
        assert_int_equal(mpk_device_copy(s.ctx, 0, s.on_device, 0, s.values, 0, bytes, 1), MPK_OK);
        snprintf(text, sizeof text, "%d", k);
        setenv("METAPACK_CUDA_HOST_FAIL", text, 1);
        const mpk_status status = mpk_refactorize(s.ctx, s.on_device, &s.o, s.there);
        unsetenv("METAPACK_CUDA_HOST_FAIL");
        if (mpk_failed(status)) assert_int_equal(status, MPK_ERR_DEVICE);
        failures += mpk_failed(status);
        /* what failed may have taught the device which fronts a warp need not try */
        for (int round = 0; round < 3; round++) assert_int_equal(again(&s), MPK_OK);
        same(&s);
    }
    close_system(&s);
    assert_true(failures > 1);
}

/* Scaling that is off, or a limit that leaves no memory for lists: the host's way. */
static void test_host_way(void **unused) {
    (void)unused;
    system_ s;
    assert_int_equal(open_system(&s, NULL, N, MPK_D, MPK_SYMMETRIC, LOWER_MIXED, MPK_OFF), MPK_OK);
    fill(&s, 0.4);
    s.o.scaling = MPK_OFF;
    assert_int_equal(again(&s), MPK_OK);
    assert_false(away(&s));
    same(&s);
    s.o.scaling = MPK_AUTO;
    s.o.device_memory_limit = (double)s.there->direct->memory_bytes + 100;
    assert_int_equal(mpk_refactorize(s.ctx, NULL, &s.o, s.there),
                     MPK_OK); /* the limit is in force */
    assert_int_equal(mpk_refactorize(s.ctx, NULL, &s.o, s.here), MPK_OK); /* all learn the same */
    assert_int_equal(mpk_refactorize(s.ctx, NULL, &s.o, s.sent), MPK_OK);
    assert_int_equal(again(&s), MPK_OK);
    assert_false(away(&s));
    same_numbers(&s); /* a solve does not fit */
    close_system(&s);
}

typedef struct asker {
    pthread_t thread;
    const system_ *s;
    mpk_context *ctx;
    mpk_status status;
} asker;

static void *ask(void *arg) {
    asker *a = arg;
    a->status = mpki_factor_bring(a->ctx, a->s->there);
    return NULL;
}

/* Several threads ask for the values at once. */
static void test_threads(void **unused) {
    (void)unused;
    enum { THREADS = 4 };
    system_ s;
    asker a[THREADS];
    assert_int_equal(open_system(&s, NULL, LONG, MPK_D, MPK_SYMMETRIC, BOTH, MPK_OFF), MPK_OK);
    fill(&s, 0.5);
    assert_int_equal(again(&s), MPK_OK);
    assert_true(away(&s));
    for (int k = 0; k < THREADS; k++) {
        a[k] = (asker){.s = &s};
        assert_int_equal(mpk_context_create(NULL, &a[k].ctx), MPK_OK);
        assert_int_equal(pthread_create(&a[k].thread, NULL, ask, &a[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        assert_int_equal(pthread_join(a[k].thread, NULL), 0);
        assert_int_equal(a[k].status, MPK_OK);
        mpk_context_destroy(&a[k].ctx);
    }
    assert_memory_equal(s.there->ax, s.here->ax, (size_t)s.an->nnz * sizeof(double));
    assert_true(s.there->norm_inf == s.here->norm_inf);
    same(&s);
    close_system(&s);
}

/* The k-th allocation on the host fails: an error, or the host's way, and afterwards all is
 * well. */
static void test_memory(void **unused) {
    (void)unused;
    bool done = false;
    for (int64_t k = 1; !done; k++) {
        failing f = {.fail_at = 0};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        system_ s;
        assert_int_equal(open_system(&s, &allocator, N, MPK_D, MPK_SYMMETRIC, UPPER, MPK_OFF),
                         MPK_OK);
        fill(&s, 0.6);
        const int64_t bytes = s.nnz * (int64_t)sizeof(double);
        assert_int_equal(mpk_device_copy(s.ctx, 0, s.on_device, 0, s.values, 0, bytes, 1), MPK_OK);
        f.fail_at = f.calls + k;
        const mpk_status status = mpk_refactorize(s.ctx, s.on_device, &s.o, s.there);
        done = f.calls < f.fail_at;
        f.fail_at = 0;
        if (mpk_failed(status)) assert_int_equal(status, MPK_ERR_MEMORY);
        assert_int_equal(again(&s), MPK_OK);
        same(&s);
        close_system(&s);
        assert_int_equal(f.held, 0);
        assert_true(k < 400);
    }
}

/* The k-th call on the device fails: an error, and the next refactorization is right. */
static void test_device_fails(void **unused) {
    (void)unused;
    const char *must = getenv("METAPACK_TEST_DEVICE");
    if (must && !strcmp(must, "1")) return; /* a device that fails at will is not to be had */
    int failures = 0;
    for (int k = 1; k < 40; k++) {
        system_ s;
        char text[16];
        assert_int_equal(open_system(&s, NULL, N, MPK_D, MPK_SYMMETRIC, UPPER, MPK_OFF), MPK_OK);
        fill(&s, 0.7);
        const int64_t bytes = s.nnz * (int64_t)sizeof(double);
        assert_int_equal(mpk_device_copy(s.ctx, 0, s.on_device, 0, s.values, 0, bytes, 1), MPK_OK);
        snprintf(text, sizeof text, "%d", k);
        setenv("METAPACK_CUDA_HOST_FAIL", text, 1);
        const mpk_status status = mpk_refactorize(s.ctx, s.on_device, &s.o, s.there);
        unsetenv("METAPACK_CUDA_HOST_FAIL");
        if (mpk_failed(status)) assert_int_equal(status, MPK_ERR_DEVICE);
        failures += mpk_failed(status);
        assert_int_equal(again(&s), MPK_OK);
        same(&s);
        close_system(&s);
    }
    assert_true(failures > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders),
                                       cmocka_unit_test(test_scales),
                                       cmocka_unit_test(test_odd),
                                       cmocka_unit_test(test_begins),
                                       cmocka_unit_test(test_begins_and_fails),
                                       cmocka_unit_test(test_host_way),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_device_fails)};
    const char *must = getenv("METAPACK_TEST_DEVICE");
#ifdef METAPACK_CUDA_HOST
    if (!must || strcmp(must, "1")) setenv("METAPACK_CUDA_MODULE", METAPACK_CUDA_HOST, 1);
#else
    if (!must) return 0; /* neither a GPU nor the module without one */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
