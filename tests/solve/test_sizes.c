/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes, leading dimensions, counts and strides that no memory has, or that make columns meet:
 * every public function that takes one says so, with a text, and touches nothing. */
#include "support.h"

#include "config.h"
#include <stdbool.h>

#include <metapack/accelerator.h>
#include <metapack/adaptive.h>

enum { N = 24, ROOM = 4 * N };

static const int64_t large[] = {
    INT64_MAX, INT64_MAX - 7, INT64_MAX / 2, INT64_MAX / 4, INT64_MAX / 8, INT64_MAX / 9,
    -1,        INT64_MIN,     INT64_MIN / 4};
enum { LARGE = sizeof large / sizeof *large };
#define EACH(k) for (int k = 0; k < LARGE; k++)

static mpk_context *ctx;

static void refused(mpk_status status, const char *what, int64_t size) {
    const char *text = "";
    const mpk_status told = mpk_last_error(ctx, NULL, NULL, &text);
    const bool sizes = status == MPK_ERR_SIZE || status == MPK_ERR_ARGUMENT ||
                       status == MPK_ERR_UNSUPPORTED || status == MPK_ERR_MEMORY ||
                       status == MPK_ERR_INPUT || (status == MPK_ERR_DEVICE && !MPKI_HAVE_CUDA);
    if (!sizes || told != status || !*text)
        fail_msg("%s with %lld: %s, \"%s\"", what, (long long)size, mpk_status_name(status), text);
}

static void overlaps(mpk_status status, const char *what) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    if (status != MPK_ERR_ARGUMENT || !strstr(text, "overlap"))
        fail_msg("%s: %s, \"%s\"", what, mpk_status_name(status), text);
}

static int create(void **state) {
    (void)state;
    return mpk_context_create(NULL, &ctx);
}

static int destroy(void **state) {
    (void)state;
    mpk_context_destroy(&ctx);
    return 0;
}

typedef struct system {
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options o;
} system_t;

static system_t made(mpk_method method) {
    system_t s = {0};
    static int64_t ap[N + 1];
    static int32_t ai[N];
    static double ax[N];
    for (int j = 0; j < N; j++) ap[j] = ai[j] = j, ax[j] = j % 3 ? 2 : -1;
    ap[N] = N;
    mpk_options_init(&s.o);
    s.o.method = method, s.o.threads = 1;
    assert_int_equal(
        mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &s.problem),
        MPK_OK);
    assert_int_equal(mpk_analyse(ctx, s.problem, &s.o, &s.an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, s.an, NULL, &s.o, &s.fac), MPK_OK);
    return s;
}

static void end(system_t *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
}

static void test_solves(void **unused) {
    (void)unused;
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT, MPK_METHOD_NONE};
    double x[ROOM], y[ROOM];
    for (int i = 0; i < ROOM; i++) x[i] = y[i] = 1;
    for (int m = 0; m < 3; m++) {
        system_t s = made(methods[m]);
        EACH(k) for (int nrhs = 1; nrhs <= 3; nrhs += 2) {
            mpk_adaptive result;
            refused(mpk_solve(ctx, s.fac, nrhs, x, large[k], y, N, &s.o, NULL), "mpk_solve, ldb",
                    large[k]);
            refused(mpk_solve(ctx, s.fac, nrhs, x, N, y, large[k], &s.o, NULL), "mpk_solve, ldx",
                    large[k]);
            refused(mpk_solve_part(ctx, s.fac, MPK_PART_ALL, nrhs, x, large[k]), "mpk_solve_part",
                    large[k]);
            refused(mpk_solve_adaptive(ctx, s.problem, &s.o, nrhs, x, large[k], y, N, NULL, 0, NULL,
                                       &result),
                    "mpk_solve_adaptive, ldb", large[k]);
            refused(mpk_solve_adaptive(ctx, s.problem, &s.o, nrhs, x, N, y, large[k], NULL, 0, NULL,
                                       &result),
                    "mpk_solve_adaptive, ldx", large[k]);
            refused(mpk_problem_multiply(ctx, s.problem, nrhs, x, large[k], y, N), "multiply, ldx",
                    large[k]);
            refused(mpk_problem_multiply(ctx, s.problem, nrhs, x, N, y, large[k]), "multiply, ldy",
                    large[k]);
            refused(mpk_rhs_write(ctx, "/dev/null", N, MPK_D, nrhs, x, large[k]), "mpk_rhs_write",
                    large[k]);
        }
        /* columns between those of the other, the same, and some that meet */
        assert_int_equal(mpk_solve(ctx, s.fac, 2, x, 2 * N, x + N, 2 * N, &s.o, NULL), MPK_OK);
        assert_int_equal(mpk_solve(ctx, s.fac, 2, x, N, x, N, &s.o, NULL), MPK_OK);
        overlaps(mpk_solve(ctx, s.fac, 2, x, N, x + 1, N, &s.o, NULL), "mpk_solve");
        overlaps(mpk_solve(ctx, s.fac, 1, x, N, x + N - 1, N, &s.o, NULL), "mpk_solve");
        overlaps(mpk_solve(ctx, s.fac, 2, x + 2 * N - 1, N, x, 2 * N, &s.o, NULL), "mpk_solve");
        overlaps(mpk_problem_multiply(ctx, s.problem, 2, x, N, x, N), "mpk_problem_multiply");
        assert_int_equal(mpk_solve(ctx, s.fac, 0, NULL, N, NULL, N, &s.o, NULL), MPK_OK);
        refused(mpk_solve(ctx, s.fac, INT32_MIN, x, N, y, N, &s.o, NULL), "mpk_solve, nrhs",
                INT32_MIN);
        double get[3];
        refused(mpk_get(ctx, s.fac, MPK_GET_SCALE, get, 0), "mpk_get", 0);
        end(&s);
    }
}

static void test_problems(void **unused) {
    (void)unused;
    int32_t one[2] = {0, 1};
    double value[2] = {1, 1};
    EACH(k) {
        mpk_problem *problem = NULL;
        const int64_t ap[3] = {0, 1, large[k]};
        if (large[k] < INT64_MAX / 8 && large[k] > 0) continue; /* would be read */
        refused(
            mpk_problem_from_csc(ctx, 2, MPK_Z, MPK_SYMMETRIC, MPK_LOWER, ap, one, value, &problem),
            "from_csc, ap", large[k]);
        refused(mpk_problem_from_triplets(ctx, 2, MPK_Z, MPK_SYMMETRIC, MPK_LOWER, large[k], one,
                                          one, value, &problem),
                "from_triplets, nnz", large[k]);
        mpk_isai *isai = NULL;
        refused(mpk_isai_create(ctx, MPK_Z, 2, ap, one, value, NULL, &isai), "mpk_isai_create",
                large[k]);
    }
    mpk_problem *problem = NULL;
    void *read = NULL;
    int32_t nrhs;
    refused(mpk_rhs_read(ctx, "/dev/null", INT32_MIN, MPK_D, &nrhs, &read), "mpk_rhs_read, n",
            INT32_MIN);
    refused(mpk_problem_from_triplets(ctx, -1, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 0, one, one, value,
                                      &problem),
            "from_triplets, n", -1);
    refused(mpk_problem_from_csc(ctx, INT32_MIN, MPK_D, MPK_SYMMETRIC, MPK_LOWER, NULL, one, value,
                                 &problem),
            "from_csc, n", INT32_MIN);
}

static void test_inverses(void **unused) {
    (void)unused;
    int64_t ptr[N + 1];
    int32_t row[N];
    double val[N], x[ROOM], y[ROOM];
    mpk_isai *isai = NULL;
    for (int j = 0; j < N; j++) ptr[j] = row[j] = j, val[j] = 2;
    for (int j = 0; j < ROOM; j++) x[j] = y[j] = 1;
    ptr[N] = N;
    assert_int_equal(mpk_isai_create(ctx, MPK_D, N, ptr, row, val, NULL, &isai), MPK_OK);
    EACH(k) for (int nrhs = 1; nrhs <= 3; nrhs += 2) {
        refused(mpk_isai_apply(ctx, isai, 0, nrhs, x, large[k], y, N), "mpk_isai_apply, ldb",
                large[k]);
        refused(mpk_isai_apply(ctx, isai, 0, nrhs, x, N, y, large[k]), "mpk_isai_apply, ldx",
                large[k]);
    }
    overlaps(mpk_isai_apply(ctx, isai, 0, 2, x, N, x, N + 1), "mpk_isai_apply");
    overlaps(mpk_isai_apply(ctx, isai, 0, 2, x, N, x + 3, N), "mpk_isai_apply");
    assert_int_equal(mpk_isai_apply(ctx, isai, 0, 2, x, N, x, N), MPK_OK);
    mpk_isai_options o;
    mpk_isai_options_init(&o);
    o.threads = INT32_MAX;
    mpk_isai *other = NULL;
    refused(mpk_isai_create(ctx, MPK_D, N, ptr, row, val, &o, &other), "mpk_isai_create, threads",
            INT32_MAX);
    mpk_isai_destroy(&isai);
}

static mpk_status never(void *self, const void *x, void *y) {
    (void)self, (void)x, (void)y;
    return MPK_ERR_INTERNAL;
}

static void test_iterations(void **unused) {
    (void)unused;
    double x[1];
    for (int method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++)
        for (int scalar = 0; scalar < 4; scalar++) {
            mpk_krylov_task t;
            mpk_krylov_task_init(&t);
            t.method = method, t.scalar = scalar, t.a.apply = never, t.n = 1;
            t.symmetry = MPK_HERMITIAN;
            t.history_size = INT32_MIN;
            refused(mpk_krylov_solve(ctx, &t, x, x, NULL), "mpk_krylov_solve, history", INT32_MIN);
            t.history_size = 0, t.restart = INT32_MIN;
            refused(mpk_krylov_solve(ctx, &t, x, x, NULL), "mpk_krylov_solve, restart", INT32_MIN);
            t.restart = 1, t.n = INT32_MIN;
            refused(mpk_krylov_solve(ctx, &t, x, x, NULL), "mpk_krylov_solve, n", INT32_MIN);
            t.n = INT32_MAX, t.restart = INT32_MAX, t.max_iterations = INT32_MAX;
            if (method == MPK_KRYLOV_GMRES || method == MPK_KRYLOV_FGMRES)
                refused(mpk_krylov_solve(ctx, &t, x, x, NULL), "mpk_krylov_solve, restart",
                        INT32_MAX);
        }
}

/* attack/06: sizes are right, or refused. */
static void test_dense_query(void **unused) {
    (void)unused;
    static const int64_t orders[] = {0,          1,          1000,       100000,     500000000,
                                     700000000,  760000000,  1000000000, 1073741823, 1073741824,
                                     1100000000, 1518500250, 2147483639, INT32_MAX,  INT64_MAX / 4,
                                     INT64_MAX,  -1};
    for (int scalar = 0; scalar < 4; scalar++)
        for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
            for (int method = 0; method < MPK_DENSE_COUNT; method++)
                for (int r = 0; r < 4; r++) {
                    const int32_t nrhs = (const int32_t[]){0, 1, INT32_MAX, -1}[r];
                    mpk_dense d;
                    mpk_dense_init(&d);
                    d.scalar = scalar, d.n = orders[k], d.method = method, d.threads = 2;
                    mpk_dense_sizes z = {-1, -1, -1, -1, -1, -1};
                    const mpk_status status = mpk_dense_query(ctx, &d, nrhs, &z);
                    if (status != MPK_OK) {
                        refused(status, "mpk_dense_query", orders[k]);
                        assert_true(z.factor_bytes == -1 && (orders[k] > 1000000 || orders[k] < 0 ||
                                                             nrhs < 0 || nrhs == INT32_MAX));
                        continue;
                    }
                    const long double n = (long double)orders[k];
                    assert_true((long double)z.factor_bytes ==
                                n * n * (long double)mpk_scalar_size(scalar));
                    assert_true(z.pivots >= orders[k] && z.extra_bytes >= 0 &&
                                z.factorize_bytes >= 0);
                    assert_true((long double)z.solve_bytes >= n * nrhs &&
                                z.sysv_bytes >= z.solve_bytes);
                }
}

static void test_dense(void **unused) {
    (void)unused;
    static _Alignas(64) double a[N * N], f[N * N], b[ROOM], x[ROOM], work[1 << 16];
    static int32_t pivots[ROOM];
    mpk_dense d;
    mpk_dense_init(&d);
    d.n = N, d.threads = 1, d.method = MPK_DENSE_BUNCH_KAUFMAN;
    for (int i = 0; i < N; i++) a[i * (N + 1)] = 2;
    mpk_dense_factor fac = {.struct_size = sizeof fac, .f = f, .ldf = N, .pivots = pivots};
    assert_int_equal(mpk_dense_factorize(ctx, &d, a, N, &fac, NULL, 0, NULL), MPK_OK);
    EACH(k) for (int nrhs = 1; nrhs <= 3; nrhs += 2) {
        const int64_t l = large[k];
        mpk_dense_factor wide = fac;
        wide.ldf = l;
        refused(mpk_dense_factorize(ctx, &d, a, l, &fac, NULL, 0, NULL), "mpk_dense_factorize, lda",
                l);
        refused(mpk_dense_factorize(ctx, &d, a, N, &wide, NULL, 0, NULL),
                "mpk_dense_factorize, ldf", l);
        if (l < 0)
            refused(mpk_dense_factorize(ctx, &d, a, N, &fac, work, l, NULL),
                    "mpk_dense_factorize, work", l);
        refused(mpk_dense_solve(ctx, &d, a, l, &fac, nrhs, b, N, x, N, NULL, 0, NULL),
                "mpk_dense_solve, lda", l);
        refused(mpk_dense_solve(ctx, &d, a, N, &wide, nrhs, b, N, x, N, NULL, 0, NULL),
                "mpk_dense_solve, ldf", l);
        refused(mpk_dense_solve(ctx, &d, a, N, &fac, nrhs, b, l, x, N, NULL, 0, NULL),
                "mpk_dense_solve, ldb", l);
        refused(mpk_dense_solve(ctx, &d, a, N, &fac, nrhs, b, N, x, l, NULL, 0, NULL),
                "mpk_dense_solve, ldx", l);
        refused(mpk_dense_sysv(ctx, &d, a, N, &fac, nrhs, b, l, x, N, NULL, 0, NULL),
                "mpk_dense_sysv, ldb", l);
        refused(mpk_dense_sysv(ctx, &d, a, N, &fac, nrhs, b, N, x, l, NULL, 0, NULL),
                "mpk_dense_sysv, ldx", l);
        mpk_inertia inertia;
        refused(mpk_dense_inertia(ctx, &d, &wide, NULL, 0, &inertia), "mpk_dense_inertia, ldf", l);
        mpk_dense other = d;
        other.n = l;
        refused(mpk_dense_factorize(ctx, &other, a, N, &fac, NULL, 0, NULL),
                "mpk_dense_factorize, n", l);
    }
    assert_int_equal(mpk_dense_factorize(ctx, &d, a, N, &fac, work, INT64_MAX, NULL), MPK_OK);
    overlaps(mpk_dense_solve(ctx, &d, a, N, &fac, 2, b, N, b + 1, N, NULL, 0, NULL),
             "mpk_dense_solve");
    assert_int_equal(mpk_dense_solve(ctx, &d, a, N, &fac, 2, b, 2 * N, b + N, 2 * N, NULL, 0, NULL),
                     MPK_OK);
    assert_int_equal(mpk_dense_solve(ctx, &d, a, N, &fac, 2, b, N, b, N, NULL, 0, NULL), MPK_OK);
    d.threads = INT32_MAX;
    refused(mpk_dense_factorize(ctx, &d, a, N, &fac, NULL, 0, NULL), "mpk_dense_factorize, threads",
            INT32_MAX);
}

static void test_batches(void **unused) {
    (void)unused;
    double a[64] = {1}, c[64] = {0};
    int32_t pivots[64];
    mpk_batch batch;
    mpk_batch_product p = {.m = 2, .n = 2, .k = 2, .alpha = 1};
    const mpk_batch_array fine = {.data = a, .ld = 2, .stride = 4, .width = 1};
    EACH(k) for (int layout = 0; layout <= MPK_BATCH_INTERLEAVED; layout++) {
        if (layout == MPK_BATCH_POINTERS) continue;
        mpk_batch_array x = fine, y = fine;
        mpk_batch_init(&batch);
        batch.n = 2, batch.count = large[k], x.layout = layout, batch.threads = 1;
        refused(mpk_batch_ldlt(ctx, &batch, &x, pivots, NULL), "mpk_batch_ldlt, count", large[k]);
        refused(mpk_batch_llt(ctx, &batch, &x, pivots, NULL), "mpk_batch_llt, count", large[k]);
        refused(mpk_batch_ldu(ctx, &batch, &x, pivots, NULL), "mpk_batch_ldu, count", large[k]);
        refused(mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &x, NULL, 1, &y, NULL),
                "mpk_batch_solve, count", large[k]);
        refused(mpk_batch_gemm(ctx, &batch, &p, &x, NULL, &x, &y), "mpk_batch_gemm, count",
                large[k]);
        batch.n = 0;
        refused(mpk_batch_ldlt(ctx, &batch, &x, pivots, NULL), "mpk_batch_ldlt, count of nothing",
                large[k]);
        batch.n = 2, batch.count = 3, x.stride = large[k];
        refused(mpk_batch_ldlt(ctx, &batch, &x, pivots, NULL), "mpk_batch_ldlt, stride", large[k]);
        refused(mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &fine, NULL, 1, &x, NULL),
                "mpk_batch_solve, stride", large[k]);
        x = fine, x.layout = MPK_BATCH_INTERLEAVED, x.width = INT32_MAX, x.ld = INT32_MAX;
        batch.n = 64, batch.count = 1;
        refused(mpk_batch_ldlt(ctx, &batch, &x, pivots, NULL), "mpk_batch_ldlt, width", x.width);
    }
    mpk_batch_init(&batch);
    batch.n = 2, batch.count = 2, batch.threads = INT32_MAX;
    refused(mpk_batch_ldlt(ctx, &batch, &fine, pivots, NULL), "mpk_batch_ldlt, threads", INT32_MAX);
    batch.threads = 1;
    refused(mpk_batch_gemm(ctx, &batch, &p, &fine, NULL, &fine, &fine), "mpk_batch_gemm, in place",
            0);
    mpk_batch_array into = fine;
    into.data = c;
    assert_int_equal(mpk_batch_gemm(ctx, &batch, &p, &fine, NULL, &fine, &into), MPK_OK);
}

static void test_devices(void **unused) {
    (void)unused;
    double a[4], b[4];
    EACH(k) {
        if (large[k] < 0) {
            void *p = NULL;
            refused(mpk_device_alloc(ctx, 0, large[k], &p), "mpk_device_alloc", large[k]);
        }
        refused(mpk_device_copy(ctx, 0, a, 8, b, 8, 8, large[k]), "mpk_device_copy, columns",
                large[k]);
        refused(mpk_device_copy(ctx, 0, a, large[k], b, 8, 8, 3), "mpk_device_copy, pitch",
                large[k]);
        refused(mpk_device_copy(ctx, 0, a, 8, b, large[k], 8, 3), "mpk_device_copy, pitch",
                large[k]);
        refused(mpk_device_copy(ctx, 0, a, 8, b, 8, large[k], 1), "mpk_device_copy, width",
                large[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solves),      cmocka_unit_test(test_problems),
        cmocka_unit_test(test_inverses),    cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_dense_query), cmocka_unit_test(test_dense),
        cmocka_unit_test(test_batches),     cmocka_unit_test(test_devices)};
    return cmocka_run_group_tests(tests, create, destroy);
}
