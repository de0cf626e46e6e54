/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of src/kernels/cl that do not factor, as they stand, on an OpenCL platform against
 * plain loops in double precision. Without OpenCL this is skipped; METAPACK_KERNEL_SIZES=all runs
 * every order. */
#include "opencl.h"

#ifdef METAPACK_OPENCL
#include <float.h>

enum { COUNT = 3, MAX = 64 };

/* ---- arrays in the precision of the run ---- */

typedef struct numbers {
    int64_t count;
    bool single;
    double *x; /* the truth's copy */
    void *raw;
} numbers;

static numbers numbers_new(int64_t count, bool single) {
    numbers a = {count, single, malloc((size_t)count * sizeof(double)), NULL};
    a.raw = malloc((size_t)count * sizeof(double));
    for (int64_t k = 0; k < count; k++) {
        a.x[k] = (float)uniform();
        if (single)
            ((float *)a.raw)[k] = (float)a.x[k];
        else
            ((double *)a.raw)[k] = a.x[k];
    }
    return a;
}

static void set(numbers *a, int64_t k, double x) {
    a->x[k] = (float)x;
    if (a->single)
        ((float *)a->raw)[k] = (float)x;
    else
        ((double *)a->raw)[k] = (float)x;
}

static double get(const numbers *a, int64_t k) {
    return a->single ? ((float *)a->raw)[k] : ((double *)a->raw)[k];
}

static argument memory_of(const numbers *a) {
    return BYTES(a->raw, (size_t)a->count * (a->single ? sizeof(float) : sizeof(double)));
}

static double eps(const numbers *a) {
    return a->single ? FLT_EPSILON : DBL_EPSILON;
}

static void numbers_free(numbers *a) {
    free(a->x), free(a->raw);
}

static void close_to(const numbers *a, int64_t k, double expected, double bound, const char *what) {
    if (!(fabs(get(a, k) - expected) <= bound * eps(a)))
        fail_msg("%s: entry %d is %.17g, not %.17g", what, (int)k, get(a, k), expected);
}

/* ---- the thesis's kernels ---- */

static void gema(device *dev, int n, bool single) {
    numbers a = numbers_new(COUNT * n * n, single), b = numbers_new(COUNT * n * n, single),
            c = numbers_new(COUNT * n * n, single);
    argument arguments[] = {memory_of(&c), memory_of(&a), memory_of(&b)};
    run_kernel(dev, "gema", "gema", n, single, COUNT, arguments, 3);
    for (int64_t k = 0; k < c.count; k++) close_to(&c, k, a.x[k] + b.x[k], 2, "gema");
    numbers_free(&a), numbers_free(&b), numbers_free(&c);
}

static void gemm(device *dev, int n, bool single) {
    numbers a = numbers_new(COUNT * n * n, single), b = numbers_new(COUNT * n * n, single),
            c = numbers_new(COUNT * n * n, single);
    argument arguments[] = {memory_of(&c), memory_of(&a), memory_of(&b)};
    run_kernel(dev, "gemm", "gemm", n, single, COUNT, arguments, 3);
    for (int q = 0; q < COUNT; q++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                double sum = 0;
                for (int k = 0; k < n; k++)
                    sum += a.x[(q * n + k) * n + i] * b.x[(q * n + j) * n + k];
                close_to(&c, (q * n + j) * n + i, sum, 2 * n, "gemm");
            }
    numbers_free(&a), numbers_free(&b), numbers_free(&c);
}

/* LDUS, and TRSV on what it leaves: A X = B */
static void ldus_trsv(device *dev, int n, bool single) {
    numbers a = numbers_new(COUNT * n * n, single), b = numbers_new(COUNT * n, single);
    for (int q = 0; q < COUNT; q++)
        for (int i = 0; i < n; i++) set(&a, (q * n + i) * n + i, 2 * n);
    argument factor[] = {memory_of(&a)};
    run_kernel(dev, "ldus", "ldus", n, single, COUNT, factor, 1);
    for (int q = 0; q < COUNT; q++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int k = 0; k <= i && k <= j; k++) {
                    double l = k == i ? 1 : get(&a, (q * n + k) * n + i);
                    double u = k == j ? 1 : get(&a, (q * n + j) * n + k);
                    sum += l * get(&a, (q * n + k) * n + k) * u;
                }
                assert_true(fabs(sum - a.x[(q * n + j) * n + i]) <= 20.0 * n * n * eps(&a));
            }
    argument solve[] = {memory_of(&a), memory_of(&b)};
    run_kernel(dev, "trsv", "trsv", n, single, COUNT, solve, 2);
    for (int q = 0; q < COUNT; q++)
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += a.x[(q * n + j) * n + i] * get(&b, q * n + j);
            assert_true(fabs(sum - b.x[q * n + i]) <= 40.0 * n * eps(&a));
        }
    numbers_free(&a), numbers_free(&b);
}

/* By differences of f itself: the kernel's gradients are those of f. */
static double pau(const double *ab, double x) {
    double p = 0, q = 0, power = 1;
    for (int k = 0; k < 6; k++, power *= x) {
        p += ab[k] * power;
        if (k > 0 && k < 5) q += ab[5 + k] * power;
    }
    return p / (1 + fabs(q));
}

static void pade(device *dev, int n, bool single) {
    const int64_t total = COUNT * n;
    numbers x = numbers_new(total, single), g = numbers_new(total, single),
            ab = numbers_new(10, single), dx = numbers_new(total, single),
            dab = numbers_new(10 * total, single);
    argument arguments[] = {memory_of(&dx), memory_of(&dab), memory_of(&x),
                            memory_of(&g),  memory_of(&ab),  LONG(total)};
    run_kernel(dev, "pade", "pade", n, single, COUNT, arguments, 6);
    const double h = 1e-6, bound = single ? 2e-5 : 1e-8;
    for (int64_t i = 0; i < total; i++) {
        double v = x.x[i], slope = (pau(ab.x, v + h) - pau(ab.x, v - h)) / (2 * h);
        assert_true(fabs(get(&dx, i) - g.x[i] * slope) < bound);
        for (int k = 0; k < 10; k++) {
            double up[10], down[10];
            memcpy(up, ab.x, sizeof up), memcpy(down, ab.x, sizeof down);
            up[k] += h, down[k] -= h;
            slope = (pau(up, v) - pau(down, v)) / (2 * h);
            assert_true(fabs(get(&dab, k * total + i) - g.x[i] * slope) < bound);
        }
    }
    numbers_free(&x), numbers_free(&g), numbers_free(&ab), numbers_free(&dx), numbers_free(&dab);
}

static void enumerate(device *dev, int n, bool single) {
    enum { GROUPS = 40 };
    numbers c = numbers_new(10, single), d = numbers_new(80, single), b = numbers_new(8, single),
            value = numbers_new(GROUPS * n, single);
    for (int r = 0; r < 8; r++) set(&b, r, 2 + r);
    argument arguments[] = {memory_of(&value), memory_of(&c), memory_of(&d), memory_of(&b)};
    run_kernel(dev, "enum", "enumerate", n, single, GROUPS, arguments, 4);
    int infeasible = 0;
    for (int i = 0; i < GROUPS * n; i++) {
        double sum = 0, slack = 1e30;
        for (int k = 0; k < 10; k++) sum += c.x[k] * ((i >> 2 * k & 3) - 2);
        for (int r = 0; r < 8; r++) {
            double left = 0;
            for (int k = 0; k < 10; k++) left += d.x[10 * r + k] * ((i >> 2 * k & 3) - 2);
            slack = fmin(slack, b.x[r] - left);
        }
        infeasible += slack < 0;
        if (fabs(slack) > 1e-4)
            close_to(&value, i, slack < 0 ? -1e30 : sum, slack < 0 ? 1e30 : 60, "enum");
    }
    assert_true(n < 4 || (infeasible > 0 && infeasible < GROUPS * n));
    numbers_free(&c), numbers_free(&d), numbers_free(&b), numbers_free(&value);
}

static void frcg(device *dev, int n, bool single) {
    const int64_t total = COUNT * n;
    numbers xy = numbers_new(2 * total, single), ab = numbers_new(2 * total, single);
    for (int64_t i = 0; i < total; i++) set(&ab, 2 * i + 1, 1 + fabs(ab.x[2 * i + 1]));
    argument arguments[] = {memory_of(&xy), memory_of(&ab)};
    run_kernel(dev, "frcg", "frcg", n, single, COUNT, arguments, 2);
    for (int64_t i = 0; i < total; i++) { /* it descends, and far */
        double f[2];
        for (int t = 0; t < 2; t++) {
            double x = t ? get(&xy, 2 * i) : xy.x[2 * i],
                   y = t ? get(&xy, 2 * i + 1) : xy.x[2 * i + 1];
            double u = ab.x[2 * i] - x, v = y - x * x;
            f[t] = u * u + ab.x[2 * i + 1] * v * v;
        }
        assert_true(f[1] <= 0.5 * f[0] + 1e-3);
    }
    numbers_free(&xy), numbers_free(&ab);
}

/* ---- the library's ---- */

/* d: pairs at 0, 3, 6, ...; each block far from singular */
static numbers diagonal_blocks(int n, bool single) {
    numbers d = numbers_new(COUNT * 2 * n, single);
    for (int q = 0; q < COUNT; q++)
        for (int k = 0; k < n; k++) {
            const bool first = k % 3 == 0 && k + 1 < n;
            set(&d, q * 2 * n + 2 * k, 2 + uniform());
            set(&d, q * 2 * n + 2 * k + 1, first ? 4 + uniform() : 0);
        }
    return d;
}

static double dense_d(const numbers *d, int q, int n, int i, int j) {
    if (i == j) return d->x[q * 2 * n + 2 * i];
    if (i == j + 1) return d->x[q * 2 * n + 2 * j + 1];
    if (j == i + 1) return d->x[q * 2 * n + 2 * i + 1];
    return 0;
}

static void products(device *dev, int n, bool single) {
    const int ld = n + 2;
    const int64_t stride = ld * n + 3;
    numbers a = numbers_new(COUNT * stride, single), b = numbers_new(COUNT * stride, single),
            c = numbers_new(COUNT * stride, single), e = numbers_new(COUNT * stride, single),
            d = diagonal_blocks(n, single);
    argument plain[] = {memory_of(&c), INT(ld),       LONG(stride), memory_of(&a), INT(ld),
                        LONG(stride),  memory_of(&b), INT(ld),      LONG(stride)};
    argument with_d[] = {memory_of(&e), INT(ld),       LONG(stride),  memory_of(&a), INT(ld),
                         LONG(stride),  memory_of(&d), memory_of(&b), INT(ld),       LONG(stride)};
    run_kernel(dev, "gemm_ab", "gemm_ab", n, single, COUNT, plain, 9);
    run_kernel(dev, "gemm_adb", "gemm_adb", n, single, COUNT, with_d, 10);
    for (int q = 0; q < COUNT; q++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                double s = 0, t = 0;
                for (int k = 0; k < n; k++) {
                    double x = a.x[q * stride + k * ld + i];
                    s += x * b.x[q * stride + j * ld + k];
                    for (int m = k > 0 ? k - 1 : 0; m < n && m <= k + 1; m++)
                        t += x * dense_d(&d, q, n, k, m) * b.x[q * stride + m * ld + j];
                }
                int64_t at = q * stride + j * ld + i;
                close_to(&c, at, c.x[at] - s, 3 * n, "gemm_ab");
                close_to(&e, at, e.x[at] - t, 30 * n, "gemm_adb");
            }
    numbers_free(&a), numbers_free(&b), numbers_free(&c), numbers_free(&d), numbers_free(&e);
}

/* X L^T D = what X was, with D^-1 from invert_diagonal; L L^-1 = I from invert_triangle */
static void triangles(device *dev, int n, bool single) {
    const int64_t stride = n * n;
    numbers x = numbers_new(COUNT * stride, single), l = numbers_new(COUNT * stride, single),
            y = numbers_new(COUNT * stride, single), d = diagonal_blocks(n, single),
            dinv = numbers_new(COUNT * 2 * n, single);
    for (int64_t k = 0; k < l.count; k++) set(&l, k, l.x[k] / n); /* unit lower: read below alone */
    argument of_d[] = {memory_of(&dinv), memory_of(&d)};
    argument of_l[] = {memory_of(&y), INT(n), LONG(stride), memory_of(&l), INT(n), LONG(stride)};
    argument of_x[] = {memory_of(&x), INT(n),       LONG(stride),    memory_of(&l),
                       INT(n),        LONG(stride), memory_of(&dinv)};
    run_kernel(dev, "invert_diagonal", "invert_diagonal", n, single, COUNT, of_d, 2);
    run_kernel(dev, "invert_triangle", "invert_triangle", n, single, COUNT, of_l, 6);
    run_kernel(dev, "trsm", "trsm", n, single, COUNT, of_x, 7);
    for (int q = 0; q < COUNT; q++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double one = 0, back = 0, xl[MAX];
                for (int k = 0; k < n; k++) {
                    double lik = k == i ? 1 : k < i ? l.x[q * stride + k * n + i] : 0;
                    one += lik * get(&y, q * stride + j * n + k);
                }
                close_to(&y, q * stride + j * n + i,
                         get(&y, q * stride + j * n + i) + (i == j) - one, 20 * n,
                         "invert_triangle");
                for (int k = 0; k < n; k++) { /* row i of X D */
                    xl[k] = 0;
                    for (int m = 0; m < n; m++)
                        xl[k] += get(&x, q * stride + m * n + i) * dense_d(&d, q, n, m, k);
                }
                for (int k = 0; k <= j; k++)
                    back += xl[k] * (k == j ? 1 : l.x[q * stride + k * n + j]);
                assert_true(fabs(back - x.x[q * stride + j * n + i]) <= 100 * n * eps(&x));
            }
    numbers_free(&x), numbers_free(&l), numbers_free(&y), numbers_free(&d), numbers_free(&dinv);
}

/* The library factors, the kernel solves. */
static void solve(device *dev, int n, bool single) {
    enum { NRHS = 2 };
    numbers a = numbers_new(COUNT * n * n, single), b = numbers_new(COUNT * n * NRHS, single);
    int32_t piv[COUNT * MAX], info[4 * COUNT];
    for (int q = 0; q < COUNT; q++) /* symmetric, and zero diagonal: 2x2 pivots */
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++) {
                double x = i == j                 ? (n == 1)
                           : q == 2 && n % 2 == 0 ? i == j + 1 && j % 2 == 0
                                                  : a.x[(q * n + j) * n + i];
                set(&a, (q * n + j) * n + i, x);
                set(&a, (q * n + i) * n + j, x);
            }
    mpk_context *ctx = NULL;
    mpk_batch batch;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_batch_init(&batch);
    batch.scalar = single ? MPK_S : MPK_D;
    batch.count = COUNT, batch.n = n, batch.pivoting = MPK_PIVOTING_COMPLETE;
    mpk_batch_array array = {MPK_BATCH_STRIDED, MPK_HOST, a.raw, n * n, n, 1};
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &array, piv, NULL), MPK_OK);
    mpk_context_destroy(&ctx);
    argument arguments[] = {memory_of(&a),          INT(n),        LONG(n * n),
                            MEMORY(piv, COUNT * n), memory_of(&b), INT(n),
                            LONG(n * NRHS),         INT(NRHS),     MEMORY(info, 4 * COUNT)};
    run_kernel(dev, "ldlt_solve", "ldlt_solve", n, single, COUNT, arguments, 9);
    for (int q = 0; q < COUNT; q++) {
        assert_int_equal(info[4 * q], MPK_BATCH_OK);
        for (int r = 0; r < NRHS; r++)
            for (int i = 0; i < n; i++) {
                double sum = 0, size = 1;
                for (int j = 0; j < n; j++) {
                    double x = get(&b, (q * NRHS + r) * n + j);
                    sum += a.x[(q * n + j) * n + i] * x;
                    size = fmax(size, fabs(x));
                }
                assert_true(fabs(sum - b.x[(q * NRHS + r) * n + i]) <= 100.0 * n * eps(&a) * size);
            }
    }
    numbers_free(&a), numbers_free(&b);
}
#endif

static void test_kernels(void **unused) {
    (void)unused;
    device dev;
    if (!device_open(&dev)) {
        print_message("no OpenCL platform (Debian: pocl-opencl-icd): the kernels were not run\n");
        skip();
    }
#ifdef METAPACK_OPENCL
    typedef void (*part)(device *, int, bool);
    static const part parts[] = {gema, gemm,     ldus_trsv, pade, enumerate,
                                 frcg, products, triangles, solve};
    const char *wish = getenv("METAPACK_KERNEL_SIZES");
    static const int orders[] = {1, 2, 3, 4, 8, 12, 16, 31, 32, 64};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            for (int single = 0; single < 2; single++)
                if ((wish && !strcmp(wish, "all")) || orders[i] == (single ? 8 : 4)) {
                    support_state = 1;
                    parts[k](&dev, orders[i], single);
                }
#endif
    device_close(&dev);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
