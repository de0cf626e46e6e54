/* SPDX-License-Identifier: BSD-3-Clause */
/* The factorizations of src/kernels/cl, as they stand, on an OpenCL platform: factors multiply to
 * their matrices, inertia is LAPACK's, pivots are those of mpk_batch_*, and a NaN stays in
 * its matrix. Without OpenCL or a platform (Debian: pocl-opencl-icd) this is skipped.
 * METAPACK_KERNEL_SIZES=all runs every order, METAPACK_KERNEL=ldlt_rook one source. */
#include "opencl.h"
#include "share.h"

#include <float.h>

#ifdef METAPACK_OPENCL
enum { COUNT = 7, MAX = MPK_BATCH_MAX_N, FAMILIES = 6, SPARE = 3 };

typedef struct shape {
    const char *file;
    mpk_batch_method method;
    mpk_pivoting pivoting;
} shape;

static const shape shapes[] = {
    {"llt", MPK_BATCH_LLT, MPK_PIVOTING_NONE},
    {"llt_complete", MPK_BATCH_LLT, MPK_PIVOTING_COMPLETE},
    {"ldlt", MPK_BATCH_LDLT, MPK_PIVOTING_NONE},
    {"ldlt_static", MPK_BATCH_LDLT, MPK_PIVOTING_STATIC},
    {"ldlt_partial", MPK_BATCH_LDLT, MPK_PIVOTING_PARTIAL},
    {"ldlt_rook", MPK_BATCH_LDLT, MPK_PIVOTING_ROOK},
    {"ldlt_complete", MPK_BATCH_LDLT, MPK_PIVOTING_COMPLETE},
    {"ldu", MPK_BATCH_LDU, MPK_PIVOTING_NONE},
    {"ldu_static", MPK_BATCH_LDU, MPK_PIVOTING_STATIC},
    {"ldu_partial", MPK_BATCH_LDU, MPK_PIVOTING_PARTIAL},
    {"ldu_rook", MPK_BATCH_LDU, MPK_PIVOTING_ROOK},
    {"ldu_complete", MPK_BATCH_LDU, MPK_PIVOTING_COMPLETE},
};

/* 0 dominant, 1 random, 2 zero diagonal, 3 saddle point, 4 rank one, 5 zero */
static double entry(int family, int n, int i, int j, const double *v) {
    double x = uniform();
    if (family == 0) return i == j ? 2 * n + 1 : x;
    if (family == 2 && i == j) return 0;
    if (family == 3 && i >= n - n / 3 && j >= n - n / 3) return 0;
    if (family == 4) return v[i] * v[j];
    if (family == 5) return 0;
    return x;
}

typedef struct batch_data {
    int n, ld;
    int64_t stride;
    bool single;
    double *a; /* COUNT of n x n, truth */
    double *f; /* factors, ld and stride, as double */
    void *raw; /* the same in the kernel's precision */
    int32_t *piv, *info;
} batch_data;

static void to_raw(batch_data *d) {
    for (int64_t k = 0; k < COUNT * d->stride; k++) {
        if (d->single)
            ((float *)d->raw)[k] = (float)d->f[k];
        else
            ((double *)d->raw)[k] = d->f[k];
    }
}

static void from_raw(batch_data *d) {
    for (int64_t k = 0; k < COUNT * d->stride; k++)
        d->f[k] = d->single ? ((float *)d->raw)[k] : ((double *)d->raw)[k];
}

static void fill(const shape *s, batch_data *d) {
    const int n = d->n;
    double v[MAX];
    for (int b = 0; b < COUNT; b++) {
        const int family = b % FAMILIES;
        for (int i = 0; i < n; i++) v[i] = (float)(2 + uniform());
        for (int j = 0; j < n; j++)
            for (int i = s->method == MPK_BATCH_LDU ? 0 : j; i < n; i++) {
                double x = (float)entry(b == COUNT - 1 ? 1 : family, n, i, j, v);
                d->a[(b * n + j) * n + i] = x;
                if (s->method != MPK_BATCH_LDU) d->a[(b * n + i) * n + j] = x;
            }
        if (b == COUNT - 1 && n > 0) /* one NaN */
            d->a[(b * n + n / 2) * n + n - 1] = NAN;
        int32_t *piv = d->piv + b * n * (s->method == MPK_BATCH_LDU ? 2 : 1);
        if (s->pivoting != MPK_PIVOTING_STATIC) continue;
        for (int k = 0; k < n; k++) piv[k] = n - 1 - k;
        if (s->method == MPK_BATCH_LDU)
            for (int k = 0; k < n; k++) piv[n + k] = n - 1 - k;
        else if (b % 2 == 1)
            for (int k = 0; k + 1 < n; k += 2) piv[k] = ~piv[k], piv[k + 1] = ~piv[k + 1];
    }
    for (int64_t k = 0; k < COUNT * d->stride; k++) d->f[k] = 77;
    for (int b = 0; b < COUNT; b++)
        for (int j = 0; j < n; j++)
            for (int i = s->method == MPK_BATCH_LDU ? 0 : j; i < n; i++)
                d->f[b * d->stride + (int64_t)j * d->ld + i] = d->a[(b * n + j) * n + i];
    to_raw(d);
}

/* max |P A Q - L D U| against what rounding errors come to */
static double residual(const shape *s, const batch_data *d, int b) {
    const int n = d->n;
    static double l[MAX * MAX], m[MAX * MAX], u[MAX * MAX];
    const double *f = d->f + b * d->stride;
    const int32_t *p = d->piv + b * n * (s->method == MPK_BATCH_LDU ? 2 : 1);
    const bool piv = s->pivoting != MPK_PIVOTING_NONE;
    double scale = 0, worst = 0;
    int marks = 0;
    memset(l, 0, sizeof l), memset(m, 0, sizeof m), memset(u, 0, sizeof u);
    for (int j = 0; j < n; j++) { /* m = D U, or D L', or L' */
        const bool mark = s->method == MPK_BATCH_LDLT && piv && p[j] < 0;
        const bool first = mark && marks % 2 == 0;
        marks += mark;
        l[j + j * n] = s->method == MPK_BATCH_LLT ? f[j + j * d->ld] : 1;
        for (int i = j + 1; i < n; i++) l[i + j * n] = first && i == j + 1 ? 0 : f[i + j * d->ld];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            u[i + j * n] = s->method != MPK_BATCH_LDU ? l[j + i * n]
                           : i == j                   ? 1
                           : i < j                    ? f[i + j * d->ld]
                                                      : 0;
    marks = 0;
    for (int i = 0; i < n; i++) {
        const bool mark = s->method == MPK_BATCH_LDLT && piv && p[i] < 0;
        const bool first = mark && marks % 2 == 0;
        marks += mark;
        for (int j = 0; j < n; j++) {
            if (s->method == MPK_BATCH_LLT)
                m[i + j * n] = u[i + j * n];
            else
                m[i + j * n] += f[i + i * d->ld] * u[i + j * n];
            if (first) {
                m[i + j * n] += f[i + 1 + i * d->ld] * u[i + 1 + j * n];
                m[i + 1 + j * n] += f[i + 1 + i * d->ld] * u[i + j * n];
            }
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int row = !piv ? i : p[i] < 0 ? ~p[i] : p[i];
            int col = s->method == MPK_BATCH_LDU ? (piv ? p[n + j] : j)
                      : !piv                     ? j
                      : p[j] < 0                 ? ~p[j]
                                                 : p[j];
            double sum = 0;
            for (int k = 0; k < n; k++) {
                sum += l[i + k * n] * m[k + j * n];
                if (fabs(l[i + k * n] * m[k + j * n]) > scale)
                    scale = fabs(l[i + k * n] * m[k + j * n]);
            }
            double x = d->a[(b * n + col) * n + row];
            if (fabs(x) > scale) scale = fabs(x);
            if (!(fabs(sum - x) <= worst)) worst = fabs(sum - x);
        }
    return scale > 0 ? worst / (scale * n * (d->single ? FLT_EPSILON : DBL_EPSILON)) : worst;
}

static void check_inertia(const batch_data *d, int b) {
    const int n = d->n;
    double *a = malloc((size_t)n * n * sizeof *a), w[MAX];
    memcpy(a, d->a + b * n * n, (size_t)n * n * sizeof *a);
    assert_int_equal(LAPACKE_dsyev(LAPACK_COL_MAJOR, 'N', 'L', n, a, n, w), 0);
    free(a);
    int positive = 0, negative = 0;
    double most = fmax(fabs(w[0]), fabs(w[n - 1]));
    for (int k = 0; k < n; k++) {
        double tiny = 1e3 * n * (d->single ? FLT_EPSILON : DBL_EPSILON) * most;
        if (w[k] > tiny) positive++;
        if (w[k] < -tiny) negative++;
        if (fabs(w[k]) <= tiny && b % FAMILIES != 4 && most > 0) return; /* nobody can tell */
    }
    assert_int_equal(d->info[4 * b + 1], positive);
    assert_int_equal(d->info[4 * b + 2], negative);
    assert_int_equal(d->info[4 * b + 3], n - positive - negative);
}

/* The library's own answer, by its portable kernels: they take up columns in the same order. */
static void library(const shape *s, const batch_data *d, int32_t *piv, int32_t *info, void *raw) {
    mpk_context *ctx = NULL;
    mpk_batch batch;
    int32_t outcome[COUNT], inertia[3 * COUNT];
    mpk_batch_results results = {outcome, inertia};
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, raw, d->stride, d->ld, 1};
    setenv("METAPACK_CPU", "generic", 1);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_batch_init(&batch);
    batch.scalar = d->single ? MPK_S : MPK_D;
    batch.count = COUNT, batch.n = d->n, batch.pivoting = s->pivoting, batch.threads = 1;
    assert_true((s->method == MPK_BATCH_LLT ? mpk_batch_llt
                 : s->method == MPK_BATCH_LDLT
                     ? mpk_batch_ldlt
                     : mpk_batch_ldu)(ctx, &batch, &x, piv, &results) >= 0);
    for (int b = 0; b < COUNT; b++) {
        info[4 * b] = outcome[b];
        for (int k = 0; k < 3; k++) info[4 * b + k + 1] = inertia[3 * b + k];
    }
    mpk_context_destroy(&ctx);
}

/* items: that share the rows; 0: each has one */
static void run(device *device, const shape *s, int n, int items, bool single) {
    const int lists = s->method == MPK_BATCH_LDU ? 2 : 1;
    batch_data d = {.n = n, .ld = n + SPARE, .stride = (int64_t)(n + SPARE) * n + 5};
    d.single = single;
    const size_t bytes = (size_t)(COUNT * d.stride) * (single ? sizeof(float) : sizeof(double));
    d.a = malloc(sizeof(double) * COUNT * n * n);
    d.f = malloc(sizeof(double) * (size_t)(COUNT * d.stride));
    d.raw = malloc(bytes);
    d.piv = calloc(COUNT * 2 * n, sizeof *d.piv);
    d.info = calloc(COUNT * 4, sizeof *d.info);
    support_state = 17 + n;
    fill(s, &d);
    int32_t *piv = malloc(COUNT * 2 * n * sizeof *piv), info[COUNT * 4];
    void *copy = malloc(bytes);
    memcpy(piv, d.piv, COUNT * 2 * n * sizeof *piv);
    memcpy(copy, d.raw, bytes);
    library(s, &d, piv, info, copy);

    argument arguments[6];
    int k = 0;
    arguments[k++] = BYTES(d.raw, bytes);
    arguments[k++] = INT(d.ld);
    arguments[k++] = LONG(d.stride);
    if (s->pivoting != MPK_PIVOTING_NONE) arguments[k++] = MEMORY(d.piv, COUNT * lists * n);
    arguments[k++] = MEMORY(d.info, COUNT * 4);
    arguments[k++] = REAL(single, 4 * n * (single ? FLT_EPSILON : DBL_EPSILON));
    run_shared(device, s->file, s->file, items ? items : n, items ? n : 0, single, COUNT, arguments,
               k);
    from_raw(&d);
    for (int b = 0; b < COUNT; b++) {
        const int family = b == COUNT - 1 ? -1 : b % FAMILIES;
        if (d.info[4 * b] != info[4 * b])
            print_error("%s n=%d matrix %d: outcome %d, the library's %d\n", s->file, n, b,
                        d.info[4 * b], info[4 * b]);
        assert_int_equal(d.info[4 * b], info[4 * b]);
        if (family == -1) assert_int_equal(d.info[4 * b], MPK_BATCH_NOT_FINITE);
        if (d.info[4 * b] > MPK_BATCH_SINGULAR) continue;
        double r = residual(s, &d, b);
        if (!(r < (s->pivoting == MPK_PIVOTING_STATIC ? 1e4 : 20)))
            fail_msg("%s n=%d single=%d matrix %d: residual %g", s->file, n, single, b, r);
        for (int q = 1; q < 4; q++) assert_int_equal(d.info[4 * b + q], info[4 * b + q]);
        if (s->method == MPK_BATCH_LDLT && s->pivoting >= MPK_PIVOTING_PARTIAL)
            check_inertia(&d, b);
        /* where rounding errors do not decide, the pivots are the library's, if sizes are compared
         * as there */
        if (!items && s->pivoting != MPK_PIVOTING_NONE && family < 4)
            assert_memory_equal(d.piv + b * lists * n, piv + b * lists * n,
                                (size_t)(lists * n) * sizeof *piv);
        for (int j = 0; j < n; j++) /* nothing else is written */
            for (int i = 0; i < d.ld; i++)
                if (i >= n || (s->method != MPK_BATCH_LDU && i < j))
                    assert_true(d.f[b * d.stride + (int64_t)j * d.ld + i] == 77);
    }
    free(d.a), free(d.f), free(d.raw), free(d.piv), free(d.info), free(piv), free(copy);
}
#endif

static void test_kernels(void **unused) {
    (void)unused;
    device device;
    if (!device_open(&device)) {
        print_message("no OpenCL platform (Debian: pocl-opencl-icd): the kernels were not run\n");
        skip();
    }
#ifdef METAPACK_OPENCL
    const char *wish = getenv("METAPACK_KERNEL_SIZES"), *only = getenv("METAPACK_KERNEL");
    static const int orders[] = {1, 2, 3, 4, 5, 8, 13, 16, 24, 32, 33, 64};
    const bool all = wish && !strcmp(wish, "all");
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
            if (only && strcmp(only, shapes[k].file)) continue;
            if (!only && !all && test_left_out((int)(k + (orders[i] == 8)), 3)) continue;
            if (all || orders[i] == 5) run(&device, &shapes[k], orders[i], 0, false);
            if (all || orders[i] == 8) run(&device, &shapes[k], orders[i], 0, true);
            if (shapes[k].method != MPK_BATCH_LDLT || orders[i] > 32) continue;
            if (shapes[k].pivoting != MPK_PIVOTING_PARTIAL &&
                shapes[k].pivoting != MPK_PIVOTING_COMPLETE)
                continue;
            if (all || orders[i] == 13) run(&device, &shapes[k], orders[i], 32, false);
            if (all || orders[i] == 5) run(&device, &shapes[k], orders[i], 32, true);
        }
#endif
    device_close(&device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
