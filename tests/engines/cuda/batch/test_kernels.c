/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of kernels for batches in device memory: each that there is gives the same factors, and
 * what there is not is refused before anything is written. */
#include "support.h"

#include "device_batch.h"
#undef mpk_batch_llt
#undef mpk_batch_ldlt
#undef mpk_batch_ldu
#undef mpk_batch_solve

enum { N = 6, COUNT = 5, MOST = 33 };

typedef mpk_status (*factorization)(mpk_context *, const mpk_batch *, const mpk_batch_array *,
                                    int32_t *, const mpk_batch_results *);
static const factorization verbs[] = {mpk_batch_llt, mpk_batch_ldlt, mpk_batch_ldu};

/* What a module of METAPACK_CUDA_KERNELS=NONE lacks. */
static bool registers_there(mpk_context *ctx, const mpki_device *d) {
    double one = 1;
    int32_t outcome;
    mpk_batch batch = batch_of(1, 1, MPK_PIVOTING_NONE);
    mpk_batch_results results = {&outcome, NULL};
    double *there = device_up(d, &one, sizeof one);
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, there, 1, 1, 1};
    batch.kernels = MPK_BATCH_KERNELS_REGISTERS;
    const mpk_status status = mpk_batch_ldlt(ctx, &batch, &x, NULL, &results);
    device_down(d, there, NULL, 0);
    if (!device_is_real()) assert_int_equal(status, MPK_OK);
    return status == MPK_OK;
}

typedef struct kernels_case {
    mpk_scalar scalar;
    int method;
    mpk_pivoting pivoting;
    int n;
    bool registers; /* the module has some */
} kernels_case;

/* May a module be without these kernels? */
static bool may_lack(const kernels_case *c, int kind) {
    switch (kind) {
    case MPK_BATCH_KERNELS_MADE:
        return true;
    case MPK_BATCH_KERNELS_REGISTERS:
        return c->n > 32 || !c->registers;
    case MPK_BATCH_KERNELS_PANEL:
        return c->scalar >= MPK_C || c->method != MPK_BATCH_LDLT || c->n <= 16 ||
               c->pivoting == MPK_PIVOTING_STATIC;
    default:
        return false;
    }
}

/* May kernels take other pivots than those in shared memory? Up to order 32 rook pivoting takes
 * those of complete pivoting; borgc's Bunch & Kaufman goes on with the column that waits. */
static bool other_pivots(const kernels_case *c, int kind) {
    const bool ours = kind == MPK_BATCH_KERNELS_MADE || kind == MPK_BATCH_KERNELS_AUTO;
    if (c->pivoting == MPK_PIVOTING_ROOK) return ours || kind == MPK_BATCH_KERNELS_REGISTERS;
    return ours && c->pivoting == MPK_PIVOTING_PARTIAL && c->method == MPK_BATCH_LDLT;
}

/* x solves A x = 1, whatever the pivots were. */
static void check_solutions(const kernels_case *c, int kind, const void *host, const void *x) {
    const bool single = c->scalar == MPK_S || c->scalar == MPK_C;
    for (int b = 0; b < COUNT; b++)
        for (int i = 0; i < c->n; i++) {
            double complex r = -1;
            for (int j = 0; j < c->n; j++)
                r += scalar_load(c->scalar, host, (b * c->n + j) * c->n + i) *
                     scalar_load(c->scalar, x, b * c->n + j);
            if (!(cabs(r) <= (single ? 1e-5 : 1e-13)))
                fail_msg("scalar %d, method %d, pivoting %d, order %d, kernels %d: matrix %d, row "
                         "%d is not solved by %.3g",
                         c->scalar, c->method, c->pivoting, c->n, kind, b, i, cabs(r));
        }
}

/* A kind of kernels is used where there is one, and else refused before anything is written. Each
 * gives factors that solve, and the pivots and factors of what is in shared memory. */
static void check_case(mpk_context *ctx, const mpki_device *d, const kernels_case *c,
                       const void *host) {
    static char got[2][COUNT * MOST * MOST * 16];
    int32_t piv[2][COUNT * MOST * 2], outcome[COUNT];
    const int n = c->n, lists = c->method == MPK_BATCH_LDU ? 2 : 1;
    const int64_t bytes = (int64_t)COUNT * n * n * (int64_t)mpk_scalar_size(c->scalar);
    const bool single = c->scalar == MPK_S || c->scalar == MPK_C;
    mpk_batch batch = batch_of(COUNT, n, c->pivoting);
    batch.scalar = c->scalar;
    mpk_batch_results results = {outcome, NULL};
    for (int kind = MPK_BATCH_KERNELS_SHARED; kind >= MPK_BATCH_KERNELS_AUTO; kind--) {
        const int at = kind < MPK_BATCH_KERNELS_SHARED;
        for (int b = 0; b < COUNT; b++) {
            outcome[b] = -7;
            for (int k = 0; k < n; k++) {
                int32_t *p = piv[at] + b * n * lists;
                p[k] = n - 1 - k;
                if (lists == 2) p[n + k] = (k + 1) % n;
            }
        }
        void *there = device_up(d, host, bytes);
        mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, there, n * n, n, 1};
        batch.kernels = (mpk_batch_kernels)kind;
        const mpk_status status =
            verbs[c->method](ctx, &batch, &x, c->pivoting ? piv[at] : NULL, &results);
        if (status == MPK_OK) {
            static double complex ones[COUNT * MOST];
            for (int k = 0; k < COUNT * n; k++) scalar_store(c->scalar, ones, k, 1);
            const int64_t size = (int64_t)COUNT * n * (int64_t)mpk_scalar_size(c->scalar);
            void *right = device_up(d, ones, size);
            mpk_batch_array y = {MPK_BATCH_STRIDED, MPK_DEVICE, right, n, n, 1};
            mpk_batch any = batch;
            any.kernels = MPK_BATCH_KERNELS_AUTO;
            assert_int_equal(mpk_batch_solve(ctx, &any, (mpk_batch_method)c->method, &x,
                                             c->pivoting ? piv[at] : NULL, 1, &y, NULL),
                             MPK_OK);
            device_down(d, right, ones, size);
            check_solutions(c, kind, host, ones);
        }
        device_down(d, there, got[at], bytes);
        if (status == MPK_ERR_UNSUPPORTED) {
            assert_true(may_lack(c, kind));
            for (int b = 0; b < COUNT; b++) assert_int_equal(outcome[b], -7);
            assert_memory_equal(got[at], host, (size_t)bytes);
            continue;
        }
        assert_int_equal(status, MPK_OK);
        assert_true(kind == MPK_BATCH_KERNELS_MADE || !may_lack(c, kind));
        for (int b = 0; b < COUNT; b++) assert_int_equal(outcome[b], MPK_BATCH_OK);
        if (!at || other_pivots(c, kind)) continue;
        for (int b = 0; b < COUNT; b++)
            for (int j = 0; j < n; j++)
                for (int i = lists == 2 ? 0 : j; i < n; i++) {
                    const int k = (b * n + j) * n + i;
                    const double complex p = scalar_load(c->scalar, got[0], k);
                    const double off = cabs(p - scalar_load(c->scalar, got[1], k));
                    if (!(off <= (single ? 1e-4 : 1e-12)))
                        fail_msg("scalar %d, method %d, pivoting %d, order %d, kernels %d: matrix "
                                 "%d, (%d, %d) differs by %.3g",
                                 c->scalar, c->method, c->pivoting, n, kind, b, i, j, off);
                }
        if (c->pivoting)
            assert_memory_equal(piv[0], piv[1], sizeof **piv * (size_t)(COUNT * n * lists));
    }
}

/* COUNT matrices without two candidates that are as good. */
static void fill_case(const kernels_case *c, void *host) {
    const int n = c->n, method = c->method, pivoting = (int)c->pivoting;
    for (int b = 0; b < COUNT; b++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) { /* the largest of LDU off the diagonal */
                const int large = method == 2 && pivoting > MPK_PIVOTING_STATIC ? (i + 3) % n == j
                                  : method == 2 && pivoting == MPK_PIVOTING_STATIC
                                      ? (n - i) % n == j
                                      : i == j;
                const double x = uniform() / 4, y = uniform() / 4;
                const double complex z = method < 2 && i < j
                                             ? scalar_load(c->scalar, host, (b * n + i) * n + j)
                                         : large ? 4 * n + i
                                                 : x + y * I;
                scalar_store(c->scalar, host, (b * n + j) * n + i, z);
            }
}

/* A matrix of order 0 beside another: what there is for the other is there for both. */
static void test_nothing(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = device_open(ctx);
    const bool registers = registers_there(ctx, d);
    static double host[2 * 20 * 20], got[2][2 * 20 * 20];
    const int orders[] = {5, 4, 20};
    bool some[MPK_BATCH_KERNELS_SHARED + 1] = {false};
    for (int k = 0; k < 3; k++)
        for (int kind = MPK_BATCH_KERNELS_SHARED; kind >= MPK_BATCH_KERNELS_AUTO; kind--) {
            const int n = orders[k];
            const int32_t sizes[] = {0, n};
            int32_t outcome[2] = {-7, -7}, piv[2 * 20] = {0};
            mpk_status status[2];
            mpk_batch_results results = {outcome, NULL};
            for (int i = 0; i < 2 * n * n; i++)
                host[i] = i % (n * n) % (n + 1) == 0 ? 4 * n + i : 1.0 / (1 + i);
            for (int with = 0; with < 2; with++) {
                mpk_batch batch = batch_of(1 + with, n, MPK_PIVOTING_PARTIAL);
                batch.kernels = (mpk_batch_kernels)kind;
                if (with) batch.sizes = sizes;
                double *there = device_up(d, host, sizeof host);
                mpk_batch_array x = {
                    MPK_BATCH_STRIDED, MPK_DEVICE, there + (with ? 0 : n * n), n * n, n, 1};
                status[with] = mpk_batch_ldlt(ctx, &batch, &x, piv, &results);
                device_down(d, there, got[with], sizeof host);
            }
            assert_int_equal(status[0], status[1]);
            assert_memory_equal(got[0], got[1], sizeof host);
            if (status[1] == MPK_ERR_UNSUPPORTED) continue;
            assert_true(outcome[0] == MPK_BATCH_OK && outcome[1] == MPK_BATCH_OK);
            some[kind] = true;
        }
    assert_true(some[MPK_BATCH_KERNELS_REGISTERS] == registers);
    assert_true(some[MPK_BATCH_KERNELS_PANEL] && some[MPK_BATCH_KERNELS_SHARED]);
    mpk_context_destroy(&ctx);
}

static void test_kernels(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = device_open(ctx);
    const bool registers = registers_there(ctx, d);
    static double complex matrices[COUNT * MOST * MOST];
    static double host[COUNT * MOST * MOST];
    const int orders[] = {1, 3, 4, 7, 16, 23, 32, 33};
    for (int method = 0; method < 3; method++)
        for (int pivoting = 0; pivoting < MPK_PIVOTING_COUNT; pivoting++) {
            if (method == 0 && pivoting != MPK_PIVOTING_NONE && pivoting != MPK_PIVOTING_COMPLETE)
                continue;
            for (int k = 0; k < 8; k++)
                for (int scalar = MPK_S; scalar <= MPK_Z; scalar++) {
                    const kernels_case c = {(mpk_scalar)scalar, method, (mpk_pivoting)pivoting,
                                            orders[k], registers};
                    /* a few cases of the others */
                    if (scalar != MPK_D && orders[k] != 3 && orders[k] != 7 && orders[k] != 23)
                        continue;
                    fill_case(&c, matrices);
                    check_case(ctx, d, &c, matrices);
                }
        }
    mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_NONE);
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, host, N * N, N, 1};
    batch.count = 1, batch.kernels = MPK_BATCH_KERNELS_REGISTERS;
    refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, NULL, NULL), MPK_ERR_ARGUMENT, "device memory");
    double *there = device_up(d, host, sizeof host);
    x.memory = MPK_DEVICE, x.data = there;
    refused(ctx, mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &x, NULL, 1, &x, NULL),
            MPK_ERR_ARGUMENT, "factorizations");
    x.layout = MPK_BATCH_INTERLEAVED;
    refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, NULL, NULL), MPK_ERR_UNSUPPORTED, "layout");
    batch.kernels = (mpk_batch_kernels)5;
    refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, NULL, NULL), MPK_ERR_ARGUMENT, "no such kernels");
    device_down(d, there, NULL, 0);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels),
                                       cmocka_unit_test(test_nothing)};
    if (!device_there()) {
        print_message("no device, and no module that does without: nothing to test\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
