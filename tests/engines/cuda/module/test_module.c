/* SPDX-License-Identifier: BSD-3-Clause */
/* A device is asked for and absent: a status with the reason, and the context goes on. Where there
 * is one (METAPACK_TEST_DEVICE=1 in the environment says that there must be), factors and solutions
 * agree with the host's. */
#include "engines/cuda/module/load.h"
#include "support.h"

#include <metapack/dense.h>

/* What the environment names, for the cases after those that set it. */
static char *named_module;

static void name_module(void) {
    if (named_module)
        setenv("METAPACK_CUDA_MODULE", named_module, 1);
    else
        unsetenv("METAPACK_CUDA_MODULE");
}

static void no_module(void **state) {
    mpk_context *ctx = NULL;
    mpk_dense dense;
    mpk_dense_sizes sizes;
    const char *stage, *text;
    (void)state;
    assert_int_equal(setenv("METAPACK_CUDA_MODULE", "/nowhere/libmetapack_cuda.so", 1), 0);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_dense_init(&dense);
    dense.n = 10, dense.memory = MPK_DEVICE, dense.method = MPK_DENSE_TILE;
    for (int turn = 0; turn < 2; turn++) { /* asking again changes nothing */
        assert_int_equal(mpk_dense_query(ctx, &dense, 1, &sizes), MPK_ERR_DEVICE);
        assert_int_equal(mpk_last_error(ctx, &stage, NULL, &text), MPK_ERR_DEVICE);
        assert_non_null(strstr(text, "/nowhere/libmetapack_cuda.so"));
    }
    dense.memory = MPK_HOST;
    assert_int_equal(mpk_dense_query(ctx, &dense, 1, &sizes), MPK_OK);
    mpk_context_destroy(&ctx);
    name_module();
}

/* Something that can be loaded and is no module of ours. */
static void wrong_module(void **state) {
    mpk_context *ctx = NULL;
    const char *text;
    (void)state;
    assert_int_equal(setenv("METAPACK_CUDA_MODULE", "libm.so.6", 1), 0);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_null(mpki_cuda_open(ctx, 0));
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), MPK_ERR_DEVICE);
    assert_non_null(strstr(text, "interface 0"));
    mpk_context_destroy(&ctx);
    name_module();
}

static void no_device(void **state) {
    mpk_context *ctx = NULL;
    mpk_dense dense;
    mpk_dense_factor factor = {.struct_size = sizeof factor, .ldf = 1};
    const char *text;
    double a = 1;
    (void)state;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    if (mpki_cuda_open(ctx, 0)) { /* there is one */
        mpk_context_destroy(&ctx);
        skip();
    }
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), MPK_ERR_DEVICE);
    assert_true(strlen(text) > 10);
    print_message("the reason: %s\n", text);
    mpk_dense_init(&dense);
    dense.n = 1, dense.memory = MPK_DEVICE;
    factor.f = &a;
    int32_t pivot;
    factor.pivots = &pivot;
    assert_int_equal(mpk_dense_factorize(ctx, &dense, &a, 1, &factor, NULL, 0, NULL),
                     MPK_ERR_DEVICE);
    assert_true(a == 1);
    mpk_context_destroy(&ctx);
}

/* ---- with a device ---- */

enum { N = 300, SIDES = 6 };

/* Reals or complex numbers as doubles, rounded to the scalar. */
static void put_entry(mpk_scalar scalar, void *x, int64_t k, double re, double im) {
    if (scalar == MPK_S) ((float *)x)[k] = (float)re;
    if (scalar == MPK_D) ((double *)x)[k] = re;
    if (scalar == MPK_C) ((float *)x)[2 * k] = (float)re, ((float *)x)[2 * k + 1] = (float)im;
    if (scalar == MPK_Z) ((double *)x)[2 * k] = re, ((double *)x)[2 * k + 1] = im;
}

static bool is_nan(mpk_scalar scalar, const void *x, int64_t k) {
    const bool wide = scalar == MPK_D || scalar == MPK_Z;
    const int64_t at = scalar >= MPK_C ? 2 * k : k;
    return wide ? isnan(((const double *)x)[at]) : isnan(((const float *)x)[at]);
}

static void *up(const mpki_device *d, const void *host, int64_t bytes) {
    void *p = NULL;
    assert_int_equal(d->table->alloc(d->cuda, bytes, &p), 0);
    if (host) {
        assert_int_equal(d->table->copy(d->cuda, p, bytes, host, bytes, bytes, 1, 1, NULL), 0);
        assert_int_equal(d->table->synchronize(d->cuda, NULL), 0);
    }
    return p;
}

static void down(const mpki_device *d, const void *p, void *host, int64_t bytes) {
    assert_int_equal(d->table->copy(d->cuda, host, bytes, p, bytes, bytes, 1, 0, NULL), 0);
    assert_int_equal(d->table->synchronize(d->cuda, NULL), 0);
}

static void one_case(mpk_context *ctx, const mpki_device *d, mpk_scalar scalar,
                     mpk_symmetry symmetry, mpk_triangle uplo, mpk_dense_method method, int sides) {
    const int64_t size = (int64_t)mpk_scalar_size(scalar), lda = N + 5;
    char *a = calloc((size_t)(lda * N), (size_t)size), *b = calloc(N * SIDES, (size_t)size);
    char *back = calloc((size_t)(lda * N), (size_t)size);
    mpk_dense dense;
    mpk_dense_sizes sizes;
    mpk_dense_info on_host, info;
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < N; i++) {
            const bool stored = uplo == MPK_LOWER ? i >= j : i <= j;
            const double re = uniform() + (i == j && method == MPK_DENSE_NONE ? 30 : 0);
            const double im = i == j && symmetry == MPK_HERMITIAN ? 0 : uniform();
            put_entry(scalar, a, i + j * lda, stored ? re : NAN, stored ? im : NAN);
        }
    for (int64_t i = 0; i < N * SIDES; i++) put_entry(scalar, b, i, uniform(), uniform());
    mpk_dense_init(&dense);
    dense.scalar = scalar, dense.symmetry = symmetry, dense.uplo = uplo, dense.n = N;
    dense.method = method;
    mpk_dense_factor f = {.struct_size = sizeof f, .ldf = N}, g = f;
    assert_int_equal(mpk_dense_query(ctx, &dense, sides, &sizes), MPK_OK);
    f.f = malloc((size_t)sizes.factor_bytes), f.pivots = malloc((size_t)sizes.pivots * 4 + 4);
    f.extra =
        sizes.extra_bytes ? aligned_alloc(64, (size_t)(sizes.extra_bytes + 63) / 64 * 64) : NULL;
    char *x = malloc((size_t)(N * SIDES * size));
    assert_int_equal(mpk_dense_sysv(ctx, &dense, a, lda, &f, sides, b, N, x, N, NULL, 0, &on_host),
                     MPK_OK);
    mpk_inertia host_inertia = on_host.inertia, device_inertia;
    if (method == MPK_DENSE_AASEN)
        assert_int_equal(mpk_dense_inertia(ctx, &dense, &f, NULL, 0, &host_inertia), MPK_OK);
    free(f.f), free(f.pivots), free(f.extra);

    dense.memory = MPK_DEVICE;
    assert_int_equal(mpk_dense_query(ctx, &dense, sides, &sizes), MPK_OK);
    char *da = up(d, a, lda * N * size), *db = up(d, b, N * SIDES * size),
         *dx = up(d, NULL, N * SIDES * size);
    g.f = up(d, NULL, sizes.factor_bytes), g.pivots = up(d, NULL, sizes.pivots * 4);
    g.extra = up(d, NULL, sizes.extra_bytes);
    mpk_status status =
        mpk_dense_sysv(ctx, &dense, da, lda, &g, sides, db, N, dx, N, NULL, 0, &info);
    if (status != MPK_OK) {
        const char *text = "";
        mpk_last_error(ctx, NULL, NULL, &text);
        print_message("%d %d %d %s: status %d, omega %g, %s\n", scalar, symmetry, uplo,
                      mpk_dense_method_name(method), status, info.componentwise, text);
    }
    assert_int_equal(status, MPK_OK);
    assert_true(info.componentwise <= 20 * (size == 4 || scalar == MPK_C ? 1.2e-7 : 2.3e-16));
    assert_int_equal(info.inertia.zero, 0);
    if (method != MPK_DENSE_BUTTERFLY && on_host.inertia.positive + on_host.inertia.negative == N) {
        assert_int_equal(info.inertia.positive, on_host.inertia.positive);
        assert_int_equal(info.inertia.negative, on_host.inertia.negative);
    }
    if (method == MPK_DENSE_AASEN) {
        assert_int_equal(mpk_dense_inertia(ctx, &dense, &g, NULL, 0, &device_inertia), MPK_OK);
        assert_int_equal(device_inertia.positive, host_inertia.positive);
        assert_int_equal(device_inertia.negative, host_inertia.negative);
        assert_int_equal(device_inertia.zero, 0);
    }
    down(d, da, back, lda * N * size);
    for (int64_t k = 0; k < lda * N; k++) /* A and its other triangle are as they were */
        assert_true(is_nan(scalar, a, k) ? is_nan(scalar, back, k)
                                         : !memcmp(a + k * size, back + k * size, (size_t)size));
    /* in place, then a solve of its own */
    g.f = da, g.ldf = lda;
    assert_int_equal(mpk_dense_factorize(ctx, &dense, da, lda, &g, NULL, 0, &info), MPK_OK);
    assert_int_equal(mpk_dense_solve(ctx, &dense, NULL, 0, &g, sides, db, N, dx, N, NULL, 0, &info),
                     MPK_OK);
    char *y = malloc((size_t)(N * SIDES * size));
    down(d, dx, y, N * sides * size);
    double most = 0, apart = 0;
    const bool wide = scalar == MPK_D || scalar == MPK_Z;
    for (int64_t k = 0; k < N * sides * (scalar >= MPK_C ? 2 : 1); k++) {
        const double u = wide ? ((double *)x)[k] : ((float *)x)[k];
        const double v = wide ? ((double *)y)[k] : ((float *)y)[k];
        most = fmax(most, fabs(u)), apart = fmax(apart, fabs(u - v));
    }
    /* unrefined; butterflies promise nothing of that */
    if (method != MPK_DENSE_BUTTERFLY) assert_true(apart <= most * (wide ? 1e-8 : 0.1));
    down(d, da, back, lda * N * size);
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < N; i++)
            if (uplo == MPK_LOWER ? i < j : i > j) assert_true(is_nan(scalar, back, i + j * lda));
    d->table->release(d->cuda, da), d->table->release(d->cuda, db), d->table->release(d->cuda, dx);
    d->table->release(d->cuda, g.pivots), d->table->release(d->cuda, g.extra);
    free(a), free(b), free(back), free(x), free(y);
}

static void agree(void **state) {
    mpk_context *ctx = NULL;
    (void)state;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = mpki_cuda_open(ctx, 0);
    const char *must = getenv("METAPACK_TEST_DEVICE");
    if (!d) {
        mpk_context_destroy(&ctx);
        assert_true(!must || strcmp(must, "1"));
        skip();
    }
    const mpk_dense_method methods[] = {MPK_DENSE_TILE, MPK_DENSE_BUNCH_KAUFMAN, MPK_DENSE_ROOK,
                                        MPK_DENSE_NONE, MPK_DENSE_BUTTERFLY,     MPK_DENSE_AASEN};
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (int symmetry = 0; symmetry <= (scalar >= MPK_C); symmetry++)
            for (int uplo = 0; uplo < 2; uplo++)
                for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
                    one_case(ctx, d, (mpk_scalar)scalar, (mpk_symmetry)symmetry,
                             uplo ? MPK_UPPER : MPK_LOWER, methods[m], m == 0 ? SIDES : 1);
    mpk_context_destroy(&ctx);
}

/* Memory of the host for the device's, and less memory than it takes: a status, the sizes, and the
 * next call works. */
static void refused(void **state) {
    mpk_context *ctx = NULL;
    mpk_dense dense;
    mpk_dense_sizes sizes;
    const char *text = "";
    int64_t now = 0, hogged = 0;
    void *hog[64];
    int hogs = 0;
    (void)state;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = mpki_cuda_open(ctx, 0);
    if (!d) {
        mpk_context_destroy(&ctx);
        skip();
    }
    mpk_dense_init(&dense);
    dense.n = 4000, dense.memory = MPK_DEVICE, dense.method = MPK_DENSE_TILE;
    mpk_dense_factor f = {.struct_size = sizeof f, .ldf = dense.n};
    assert_int_equal(mpk_dense_query(ctx, &dense, 1, &sizes), MPK_OK);
    assert_true(sizes.factorize_bytes > (int64_t)64 << 20);
    const int64_t bytes = dense.n * dense.n * 8;
    double *host = calloc((size_t)(dense.n * dense.n), 8);
    for (int64_t k = 0; k < dense.n; k++) host[k * (dense.n + 1)] = k % 2 ? 1 : -1;
    int32_t *pivots = calloc((size_t)dense.n, 4);
    f.f = host, f.pivots = pivots;
    assert_int_equal(mpk_dense_factorize(ctx, &dense, host, dense.n, &f, NULL, 0, NULL),
                     MPK_ERR_ARGUMENT);
    mpk_last_error(ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "device's memory"));
    void *a = up(d, host, bytes);
    f.f = a, f.pivots = up(d, NULL, dense.n * 4);
    d->table->describe(d->cuda, NULL, 0, &now, NULL);
    for (int64_t piece = (int64_t)16 << 30; piece >= (int64_t)8 << 20 && hogs < 64;) {
        if (now - hogged - piece < ((int64_t)32 << 20) ||
            d->table->alloc(d->cuda, piece, &hog[hogs]) < 0)
            piece /= 2;
        else
            hogged += piece, hogs++;
    }
    const mpk_status status = mpk_dense_factorize(ctx, &dense, a, dense.n, &f, NULL, 0, NULL);
    mpk_last_error(ctx, NULL, NULL, &text);
    print_message("%d: %s\n", status, text);
    assert_int_equal(status, MPK_ERR_MEMORY);
    assert_non_null(strstr(text, "GiB"));
    while (hogs > 0) d->table->release(d->cuda, hog[--hogs]);
    assert_int_equal(mpk_dense_factorize(ctx, &dense, a, dense.n, &f, NULL, 0, NULL), MPK_OK);
    d->table->release(d->cuda, a), d->table->release(d->cuda, f.pivots);
    free(host), free(pivots);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const char *named = getenv("METAPACK_CUDA_MODULE");
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_module), cmocka_unit_test(wrong_module),
                                       cmocka_unit_test(no_device), cmocka_unit_test(agree),
                                       cmocka_unit_test(refused)};
    named_module = named ? strdup(named) : NULL;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(named_module);
    return failed;
}
