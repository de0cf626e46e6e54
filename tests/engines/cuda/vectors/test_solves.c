/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole solves with Krylov methods on a device beside the processor's, and what fails: on a GPU, or
 * on the module that computes on the host. */
#include "../device_matrices.h"

/* ---- whole solves ---- */

static mpk_status solve_on(mpk_context *ctx, const sparse *s, mpk_device device,
                           const mpk_options *from, const void *b, void *x, mpk_solve_info *info) {
    mpk_options o = *from;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    o.device = device;
    o.method = MPK_METHOD_NONE;
    mpk_status status = make_problem(ctx, s, &problem);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &o, &fac);
    if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, s->a.n, x, s->a.n, &o, info);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    return status;
}

/* Diagonally dominant, the diagonal of both signs unless cg shall like it. */
static void make_good(sparse *s, bool definite) {
    for (int32_t j = 0; j < s->a.n; j++)
        for (int64_t k = s->ap[j]; k < s->ap[j + 1]; k++)
            if (s->ai[k] == j)
                scalar_store(s->a.scalar, s->ax, k, (definite || j % 2 ? 6 : -6) + 0.01 * j);
}

/* Sums over all rows, as of a step's product q^T A q, have what a row of several chunks adds: ten
 * steps with such a row go as the processor's. */
static void test_long_row_sums(void **unused) {
    (void)unused;
    enum { N = 4500, STEPS = 10 };
    static const struct {
        int kind;
        mpk_krylov method;
    } cases[] = {{1, MPK_KRYLOV_SQMR},
                 {1, MPK_KRYLOV_MINRES},
                 {3, MPK_KRYLOV_SQMR},
                 {1, MPK_KRYLOV_BICGSTAB}};
    mpk_context *ctx = context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const mpk_scalar scalar = kinds[cases[k].kind].scalar;
        sparse s = sparse_of(1, N, cases[k].kind);
        make_good(&s, false);
        void *b = vector(N, scalar), *x[2];
        mpk_options o;
        mpk_solve_info info[2];
        mpk_options_init(&o);
        o.krylov = cases[k].method;
        o.max_iterations = STEPS, o.tolerance = 1e-14;
        double most = 0, apart = 0;
        for (int e = 0; e < 2; e++) {
            x[e] = calloc(N, 16);
            const mpk_status status =
                solve_on(ctx, &s, e ? MPK_ON_CUDA : MPK_ON_CPU, &o, b, x[e], &info[e]);
            if (mpk_failed(status)) refused(ctx, status, MPK_OK, "");
        }
        assert_int_equal(info[0].krylov.iterations, info[1].krylov.iterations);
        for (int32_t i = 0; i < N; i++) {
            const double complex u = scalar_load(scalar, x[0], i), v = scalar_load(scalar, x[1], i);
            most = fmax(most, cabs(u)), apart = fmax(apart, cabs(u - v));
        }
        assert_true(most > 0 && apart <= 1e-9 * most);
        free(x[0]), free(x[1]), free(b);
        sparse_free(&s);
    }
    mpk_context_destroy(&ctx);
}

static void test_solves(void **unused) {
    (void)unused;
    enum { N = 150 };
    mpk_context *ctx = context();
    for (int kind = 0; kind < KINDS; kind++)
        for (mpk_krylov method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++) {
            const mpk_scalar scalar = kinds[kind].scalar;
            const bool general = kinds[kind].symmetry == MPK_GENERAL;
            const bool hermitian = scalar < MPK_C || kinds[kind].symmetry == MPK_HERMITIAN;
            if (general && method <= MPK_KRYLOV_CG) continue;
            if (!hermitian && method >= MPK_KRYLOV_MINRES && method <= MPK_KRYLOV_CG) continue;
            sparse s = sparse_of(0, N, kind);
            make_good(&s, method == MPK_KRYLOV_CG);
            void *b = vector(N, scalar), *x[2];
            mpk_options o;
            mpk_solve_info info[2];
            mpk_options_init(&o);
            o.krylov = method;
            o.tolerance = single(scalar) ? 1e-5 : 1e-10;
            for (int e = 0; e < 2; e++) {
                x[e] = calloc(N, 16);
                mpk_status status =
                    solve_on(ctx, &s, e ? MPK_ON_CUDA : MPK_ON_CPU, &o, b, x[e], &info[e]);
                if (status != MPK_OK) refused(ctx, status, MPK_OK, "");
                assert_true(info[e].relative_residual <= o.tolerance);
            }
            const int32_t a = info[0].krylov.iterations, c = info[1].krylov.iterations;
            /* those with random shadow vectors depend on the last bits */
            const int32_t few = method >= MPK_KRYLOV_BICGSTAB ? a / 4 : a / 20;
            if (abs(a - c) > (few > 1 ? few : 1))
                fail_msg("kind %d method %d: %d iterations, %d on the device", kind, method, a, c);
            double difference = 0, size = 0;
            for (int32_t i = 0; i < N; i++) {
                const double complex p = scalar_load(scalar, x[0], i);
                difference += pow(cabs(p - scalar_load(scalar, x[1], i)), 2);
                size += pow(cabs(p), 2);
            }
            assert_true(sqrt(difference) <= 100 * o.tolerance * sqrt(size));
            free(b), free(x[0]), free(x[1]);
            sparse_free(&s);
        }
    mpk_context_destroy(&ctx);
}

/* gmres and fgmres in batches: several blocks and groups of vectors, cycles and checks that are no
 * multiples of each other; and with longer cycles than batches have. */
static void test_cycles(void **unused) {
    (void)unused;
    enum { N = 1030, LONG = 300 };
    mpk_context *ctx = context();
    for (int kind = 0; kind < KINDS; kind++)
        for (int each = 0; each < 4; each++) {
            const mpk_scalar scalar = kinds[kind].scalar;
            const bool batches = each < 2;
            if (kind != 1 && each != kind % 2) continue;
            sparse s = sparse_of(0, N, kind);
            for (int32_t j = 0; j < N; j++)
                for (int64_t k = s.ap[j]; k < s.ap[j + 1]; k++)
                    if (s.ai[k] == j)
                        scalar_store(scalar, s.ax, k, (j % 3 ? 4.5 : -4.5) * (1 + j % 4));
            void *b = vector(N, scalar), *x[3];
            mpk_options o;
            mpk_solve_info info[3];
            mpk_options_init(&o);
            o.krylov = each % 2 ? MPK_KRYLOV_FGMRES : MPK_KRYLOV_GMRES;
            o.restart = batches ? 13 : LONG;
            o.max_iterations = 400;
            o.tolerance = single(scalar) ? 1e-4 : 1e-5;
            for (int e = 0; e < 3; e++) { /* the processor, the device twice */
                x[e] = calloc(N, 16);
                if (e == 2 && each != 0) break;
                refused(ctx, solve_on(ctx, &s, e ? MPK_ON_CUDA : MPK_ON_CPU, &o, b, x[e], &info[e]),
                        MPK_OK, "");
                assert_true(info[e].relative_residual <= o.tolerance);
            }
            const int32_t a = info[0].krylov.iterations, c = info[1].krylov.iterations;
            if (a <= 16) fail_msg("%d iterations are too few", a);
            if (abs(a - c) > a / 20 + 1)
                fail_msg("kind %d, %d: %d iterations, %d on the device", kind, each, a, c);
            if (each == 0) assert_memory_equal(x[1], x[2], N * mpk_scalar_size(scalar));
            free(b), free(x[0]), free(x[1]), free(x[2]);
            sparse_free(&s);
        }
    mpk_context_destroy(&ctx);
}

/* As accurate as rounding allows, by cycles; entries near the ends of the range. */
static void test_ends_of_the_range(void **unused) {
    (void)unused;
    enum { N = 60 };
    static const double by[] = {1, 1e-290, 1e280};
    mpk_context *ctx = context();
    for (int k = 0; k < 3; k++) {
        sparse s = sparse_of(0, N, 1);
        make_good(&s, false);
        for (int64_t e = 0; e < s.a.nnz; e++) ((double *)s.ax)[e] *= by[k];
        double *b = vector(N, MPK_D), x[N];
        mpk_options o;
        mpk_options_init(&o);
        mpk_solve_info info;
        for (int32_t i = 0; i < N; i++) b[i] *= by[k];
        refused(ctx, solve_on(ctx, &s, MPK_ON_CUDA, &o, b, x, &info), MPK_OK, "");
        assert_true(info.componentwise <= 1e-14);
        free(b);
        sparse_free(&s);
    }
    mpk_context_destroy(&ctx);
}

/* Parts of a factor that is its scaling alone, host vectors in and out: the same bits. */
static void test_scales(void **unused) {
    (void)unused;
    enum { N = 40 };
    mpk_context *ctx = context();
    for (int kind = 0; kind < KINDS; kind++) {
        const mpk_scalar scalar = kinds[kind].scalar;
        sparse s = sparse_of(0, N, kind);
        make_good(&s, false);
        for (int64_t e = 0; e < s.a.nnz; e++)
            scalar_store(scalar, s.ax, e, scalar_load(scalar, s.ax, e) * (s.ai[e] % 5 ? 1 : 4096));
        void *b = vector(N, scalar);
        char x[2][4][N * 16];
        memset(x, 0, sizeof x);
        for (int e = 0; e < 2; e++) {
            static const mpk_part parts[] = {MPK_PART_ALL, MPK_PART_L, MPK_PART_D, MPK_PART_LT};
            mpk_problem *problem = NULL;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_options o;
            mpk_options_init(&o);
            o.method = MPK_METHOD_NONE;
            o.device = e ? MPK_ON_CUDA : MPK_ON_CPU;
            assert_int_equal(make_problem(ctx, &s, &problem), MPK_OK);
            assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
            assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
            for (int p = 0; p < 4; p++) {
                memcpy(x[e][p], b, N * mpk_scalar_size(scalar));
                refused(ctx, mpk_solve_part(ctx, fac, parts[p], 1, x[e][p], N), MPK_OK, "");
            }
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
        }
        assert_memory_equal(x[0], x[1], sizeof x[0]);
        free(b);
        sparse_free(&s);
    }
    mpk_context_destroy(&ctx);
}

/* ---- a caller's operators ---- */

static mpk_status dense_apply(void *self, const void *x, void *y) {
    const dense *m = self;
    for (int i = 0; i < m->n; i++) {
        double complex sum = 0;
        for (int j = 0; j < m->n; j++) sum += dense_get(m, i, j) * scalar_load(m->scalar, x, j);
        scalar_store(m->scalar, y, i, sum);
    }
    return MPK_OK;
}

/* b and x on the device, or one of them; n = 0 and 1; what is refused. */
static void test_tasks(void **unused) {
    (void)unused;
    enum { N = 20 };
    mpk_context *ctx = context();
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < N; i++) dense_set(&m, i, i, i % 2 ? 2 + i : -2 - i);
    for (int i = 1; i < N; i++) dense_set(&m, i, i - 1, 1);
    double *b = vector(N, MPK_D), x[N], r[N];
    device_operator a;
    mpk_krylov_task task;
    mpk_krylov_info info;
    mpk_krylov_task_init(&task);
    task.n = N;
    task.memory = MPK_DEVICE;
    task.tolerance = 1e-10;
    task.a = device_operator_of(&a, ctx, (mpk_operator){dense_apply, &m}, sizeof x);
    const mpki_device *d = mpki_cuda_open(ctx, 0);
    for (int where = 0; where < 4; where++) {
        memset(x, 0, sizeof x);
        void *db = up(d, b, sizeof x), *dx = up(d, x, sizeof x);
        refused(ctx,
                mpk_krylov_solve(ctx, &task, where & 1 ? db : (void *)b, where & 2 ? dx : (void *)x,
                                 &info),
                MPK_OK, "");
        if (where & 2) {
            assert_int_equal(
                d->table->copy(d->cuda, x, sizeof x, dx, sizeof x, sizeof x, 1, 0, NULL), 0);
            assert_int_equal(d->table->synchronize(d->cuda, NULL), 0);
        }
        dense_apply(&m, x, r);
        for (int i = 0; i < N; i++) assert_true(fabs(b[i] - r[i]) <= 1e-8);
        d->table->release(d->cuda, db), d->table->release(d->cuda, dx);
    }
    b[3] = NAN;
    refused(ctx, mpk_krylov_solve(ctx, &task, b, x, &info), MPK_ERR_INPUT, "row 4");
    b[3] = 1, task.n = 0;
    assert_int_equal(mpk_krylov_solve(ctx, &task, NULL, NULL, &info), MPK_OK);
    task.n = N, task.memory = (mpk_memory)7;
    refused(ctx, mpk_krylov_solve(ctx, &task, b, x, &info), MPK_ERR_ARGUMENT, "memory");
    task.memory = MPK_DEVICE, task.device = 999;
    mpk_context *other = context();
    refused(other, mpk_krylov_solve(other, &task, b, x, &info), MPK_ERR_DEVICE, "999");
    mpk_context_destroy(&other);
    free(a.x), free(a.y), free(b), free(m.a);
    mpk_context_destroy(&ctx);
}

/* ---- what fails ---- */

/* device_memory_limit holds, for the matrix and for the method; and memory that the device has
 * not. */
static void test_memory(void **unused) {
    (void)unused;
    enum { N = 50 };
    mpk_context *ctx = context();
    sparse s = sparse_of(0, N, 1);
    make_good(&s, false);
    double *b = vector(N, MPK_D), x[N];
    mpk_options o;
    mpk_options_init(&o);
    o.device_memory_limit = 500;
    refused(ctx, solve_on(ctx, &s, MPK_ON_CUDA, &o, b, x, NULL), MPK_ERR_MEMORY,
            "device_memory_limit leaves");
    o.device_memory_limit = 42000;
    refused(ctx, solve_on(ctx, &s, MPK_ON_CUDA, &o, b, x, NULL), MPK_ERR_MEMORY,
            "device_memory_limit leaves");
    o.device_memory_limit = 0;
    if (!device_is_real()) {
        setenv("METAPACK_CUDA_HOST_LIMIT", "1000", 1);
        refused(ctx, solve_on(ctx, &s, MPK_ON_CUDA, &o, b, x, NULL), MPK_ERR_MEMORY, "needed");
        unsetenv("METAPACK_CUDA_HOST_LIMIT");
    }
    refused(ctx, solve_on(ctx, &s, MPK_ON_CUDA, &o, b, x, NULL), MPK_OK, "");
    o.krylov = MPK_KRYLOV_GMRES; /* takes more for its cycles, when it begins with them */
    int refusals = 0;
    for (double limit = 40000;; limit *= 1.1) {
        o.device_memory_limit = limit;
        const mpk_status status = solve_on(ctx, &s, MPK_ON_CUDA, &o, b, x, NULL);
        if (status == MPK_OK) break;
        refused(ctx, status, MPK_ERR_MEMORY, "the method takes");
        refusals++;
    }
    assert_true(refusals > 2);
    free(b);
    sparse_free(&s);
    mpk_context_destroy(&ctx);
}

/* Every launch in turn fails: the status says so, x is as it was, and the next solve is good. */
static void test_launches_fail(void **unused) {
    (void)unused;
    enum { N = 30 };
    if (device_is_real()) return;
    mpk_context *ctx = context();
    sparse s = sparse_of(0, N, 1);
    make_good(&s, false);
    double *b = vector(N, MPK_D), x[N];
    for (int method = 0; method < 2; method++) {
        mpk_options o;
        mpk_options_init(&o);
        o.krylov = method ? MPK_KRYLOV_GMRES : MPK_KRYLOV_SQMR;
        o.tolerance = 1e-6;
        int at = 1;
        for (bool over = false; !over; at += 1 + at / 8) {
            char text[32];
            for (int i = 0; i < N; i++) x[i] = 7;
            snprintf(text, sizeof text, "%d", at);
            unsetenv("METAPACK_CUDA_HOST_FAIL");
            refused(ctx, solve_on(ctx, &s, MPK_ON_CUDA, &o, b, x, NULL), MPK_OK, "");
            for (int i = 0; i < N; i++) x[i] = 7;
            setenv("METAPACK_CUDA_HOST_FAIL", text, 1);
            const mpk_status status = solve_on(ctx, &s, MPK_ON_CUDA, &o, b, x, NULL);
            over = status == MPK_OK;
            if (!over) refused(ctx, status, MPK_ERR_DEVICE, "719");
            for (int i = 0; i < N && !over; i++) assert_true(x[i] == 7);
        }
        assert_true(at > 10);
    }
    unsetenv("METAPACK_CUDA_HOST_FAIL");
    free(b);
    sparse_free(&s);
    mpk_context_destroy(&ctx);
}

/* Every host allocation in turn fails: nothing is left, and the status says so. */
static void test_allocations_fail(void **unused) {
    (void)unused;
    enum { N = 12 };
    sparse s = sparse_of(0, N, 1);
    make_good(&s, false);
    double *b = vector(N, MPK_D), x[N];
    mpk_options o;
    mpk_options_init(&o);
    for (int64_t at = 1;; at++) {
        failing f = {.fail_at = at};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *ctx = NULL;
        mpk_status status = mpk_context_create(&allocator, &ctx);
        if (status == MPK_OK) status = solve_on(ctx, &s, MPK_ON_CUDA, &o, b, x, NULL);
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
        if (f.calls < at) break;
        assert_int_equal(status, MPK_ERR_MEMORY);
    }
    free(b);
    sparse_free(&s);
}

/* Without a module the reason is told. */
static void test_absent(void **unused) {
    (void)unused;
    char *before = getenv("METAPACK_CUDA_MODULE");
    before = before ? strdup(before) : NULL;
    assert_int_equal(setenv("METAPACK_CUDA_MODULE", "/nowhere/libmetapack_cuda.so", 1), 0);
    mpk_context *ctx = context();
    dense m = dense_new(1, MPK_D, MPK_SYMMETRIC);
    double b = 1, x = 0;
    mpk_krylov_task task;
    mpk_krylov_task_init(&task);
    task.n = 1, task.memory = MPK_DEVICE, task.a = (mpk_operator){dense_apply, &m};
    refused(ctx, mpk_krylov_solve(ctx, &task, &b, &x, NULL), MPK_ERR_DEVICE, "/nowhere");
    free(m.a);
    mpk_context_destroy(&ctx);
    if (before)
        setenv("METAPACK_CUDA_MODULE", before, 1);
    else
        unsetenv("METAPACK_CUDA_MODULE");
    free(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_row_sums),    cmocka_unit_test(test_solves),
        cmocka_unit_test(test_cycles),           cmocka_unit_test(test_ends_of_the_range),
        cmocka_unit_test(test_scales),           cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_memory),           cmocka_unit_test(test_launches_fail),
        cmocka_unit_test(test_allocations_fail), cmocka_unit_test(test_absent)};
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
