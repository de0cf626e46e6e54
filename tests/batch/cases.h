/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches in the precision of the including file: factors multiply to their matrices, inertia and
 * outcomes are what the families say, in every layout, for every pivoting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../sanitized.h"
#include "engines/cpu/isa/level.h"
#include "core/precision.h"
#include "core/random.h"
#include <metapack/metapack.h>

#ifdef CASES_DEVICE /* the same cases in device memory */
#include "engines/cuda/batch/device_batch.h"
#define FEW (getenv("METAPACK_CUDA_MODULE") != NULL) /* kernels on the host take their time */
#else
#define device_lacks(room) 0
#define FEW 0
#endif

#define SCALAR ((mpk_scalar)MPKI_PRECISION)
enum { MAX = MPK_BATCH_MAX_N };

static uint64_t state = 1;
static R uniform(void) { /* (-1, 1) */
    return (R)mpki_random_signed(&state);
}

static T entry(void) {
    R re = uniform();
    return t_make(re, MPKI_COMPLEX ? uniform() : 0);
}

/* ---- families: symmetric ones (or Hermitian), general ones, positive definite ones ---- */

enum family {
    RANDOM,
    ZERO_DIAGONAL, /* no 1x1 pivot at the start: 0 1; 1 0 at n = 2 */
    SADDLE,        /* [H B'; B 0] */
    GRADED,        /* entries over eight decades */
    TINY_DIAGONAL, /* a first pivot below the zero tolerance that Bunch and Kaufman take all the
                      same */
    RANK_ONE,      /* n - 1 zero pivots */
    ALL_ZERO,
    DEFINITE, /* for LLT, and for no pivoting */
    FAMILIES
};

static void fill(enum family family, int n, int general, int hermitian, T *a) {
    T v[MAX];
    for (int i = 0; i < n; i++) v[i] = entry() + t_make(2, 0);
    for (int j = 0; j < n; j++)
        for (int i = general ? 0 : j; i < n; i++) {
            T x = entry();
            if (i == j && (family == ZERO_DIAGONAL)) x = t_make(0, 0);
            if (family == SADDLE && j >= n - n / 3 && i >= n - n / 3) x = t_make(0, 0);
            if (family == GRADED) x = x * (R)pow(10, -4.0 * (i + j) / n);
            if (family == TINY_DIAGONAL && (i == 0 || j == 0))
                x = i == j ? t_make(R_EPS / 4, 0) : x * r_sqrt(R_EPS) / 4;
            if (family == RANK_ONE) x = t_mul(v[i], conj_if(hermitian, v[j]));
            if (family == ALL_ZERO) x = t_make(0, 0);
            if (family == DEFINITE && i == j) x = t_make((R)2 * n + 1, 0);
            if (i == j && hermitian) x = t_make(t_re(x), 0);
            a[i + j * n] = x;
            if (!general) a[j + i * n] = conj_if(hermitian, x);
        }
}

/* ---- a batch in one of the layouts ---- */

typedef struct operand {
    mpk_batch_array array;
    T *memory;
    void **pointers;
} operand;

static operand operand_new(mpk_batch_layout layout, int64_t count, int rows, int cols) {
    operand x = {0};
    x.array.layout = layout;
    x.array.ld = rows + 3;
    x.array.width = layout == MPK_BATCH_INTERLEAVED ? 4 : 1;
    int64_t each = (int64_t)x.array.ld * (cols + 1) + 1, width = x.array.width;
    x.array.stride = each * width;
    int64_t total = (count + width - 1) / width * width * each + 1;
    x.memory = malloc((size_t)total * sizeof(T));
    for (int64_t k = 0; k < total; k++) x.memory[k] = t_make(77, 0); /* must survive */
    x.array.data = x.memory;
    if (layout == MPK_BATCH_POINTERS) {
        x.pointers = malloc((size_t)(count + 1) * sizeof(void *));
        for (int64_t b = 0; b < count; b++) x.pointers[b] = x.memory + (count - 1 - b) * each;
        x.array.data = x.pointers;
        x.array.stride = 0;
    }
    return x;
}

static T *at(const operand *x, int64_t b, int i, int j) {
    const mpk_batch_array *a = &x->array;
    int64_t k = i + (int64_t)j * a->ld;
    if (a->layout == MPK_BATCH_POINTERS) return (T *)x->pointers[b] + k;
    return x->memory + b / a->width * a->stride + k * a->width + b % a->width;
}

static void operand_free(operand *x) {
    free(x->memory);
    free(x->pointers);
}

/* ---- checks ---- */

typedef struct factors {
    T l[MAX * MAX], d[MAX * MAX], u[MAX * MAX]; /* n x n each */
    int row[MAX], col[MAX];
} factors;

static void read_factors(const operand *x, int64_t b, int n, int ldpiv, mpk_batch_method method,
                         int hermitian, const int32_t *piv, factors *f) {
    memset(f, 0, sizeof *f);
    const int32_t *p = piv ? piv + b * ldpiv * (method == MPK_BATCH_LDU ? 2 : 1) : NULL;
    for (int k = 0; k < n; k++) {
        f->row[k] = !p ? k : p[k] < 0 ? ~p[k] : p[k];
        f->col[k] = p && method == MPK_BATCH_LDU ? p[ldpiv + k] : f->row[k];
    }
    for (int j = 0; j < n; j++) {
        int two = method == MPK_BATCH_LDLT && p && p[j] < 0, first = 0;
        if (two) { /* which of the pair: count the marks before */
            int marks = 0;
            for (int k = 0; k < j; k++) marks += p[k] < 0;
            first = marks % 2 == 0;
        }
        f->d[j + j * n] = method == MPK_BATCH_LLT ? t_make(1, 0) : *at(x, b, j, j);
        f->l[j + j * n] = method == MPK_BATCH_LLT ? *at(x, b, j, j) : t_make(1, 0);
        for (int i = j + 1; i < n; i++) {
            T v = *at(x, b, i, j);
            if (first && i == j + 1) {
                f->d[i + j * n] = v;
                f->d[j + i * n] = conj_if(hermitian, v);
            } else {
                f->l[i + j * n] = v;
            }
        }
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++) {
            if (method == MPK_BATCH_LDU)
                f->u[i + j * n] = i == j ? t_make(1, 0) : *at(x, b, i, j);
            else
                f->u[i + j * n] = conj_if(hermitian, f->l[j + i * n]);
        }
}

static void multiply(int n, const T *a, const T *b, T *c) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            T s = t_make(0, 0);
            for (int k = 0; k < n; k++) s += t_mul(a[i + k * n], b[k + j * n]);
            c[i + j * n] = s;
        }
}

static R largest(int n, const T *a) {
    R m = 0;
    for (int k = 0; k < n * n; k++) m = t_abs(a[k]) > m ? t_abs(a[k]) : m;
    return m;
}

/* max |P A Q - L D U| / (max|L| max|D| max|U| n eps) */
static double residual(int n, const T *a, const factors *f, R *growth) {
    T ld[MAX * MAX], ldu[MAX * MAX];
    multiply(n, f->l, f->d, ld);
    multiply(n, ld, f->u, ldu);
    R worst = 0, scale = largest(n, a);
    for (int k = 0; k < n; k++) { /* products of rows and columns bound the rounding errors */
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                R s = t_abs(ld[i + k * n]) * t_abs(f->u[k + j * n]);
                scale = s > scale ? s : scale;
            }
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            R x = t_abs(a[f->row[i] + f->col[j] * n] - ldu[i + j * n]);
            if (!(x <= worst)) worst = x;
        }
    *growth = scale;
    return scale > 0 ? worst / (scale * (R)n * R_EPS) : worst;
}

/* ---- one call, all checks ---- */

typedef struct setup {
    mpk_batch_method method;
    mpk_pivoting pivoting;
    enum family family;
    mpk_batch_layout layout;
    int n, hermitian, sizes, threads, packed; /* packed: strided, nothing between matrices */
    int64_t count;
} setup;

typedef mpk_status (*verb)(mpk_context *, const mpk_batch *, const mpk_batch_array *, int32_t *,
                           const mpk_batch_results *);
static const verb verbs[] = {mpk_batch_llt, mpk_batch_ldlt, mpk_batch_ldu};

static void set_static(const setup *s, int n, int ldpiv, int64_t b, int32_t *piv) {
    int32_t *p = piv + b * ldpiv * (s->method == MPK_BATCH_LDU ? 2 : 1);
    for (int k = 0; k < n; k++) p[k] = n - 1 - k;
    if (s->method == MPK_BATCH_LDU)
        for (int k = 0; k < n; k++) p[ldpiv + k] = (int32_t)((k + 1) % n);
    else if (s->family != DEFINITE) /* pairs wherever they fit */
        for (int k = 0; k + 1 < n; k += 2) p[k] = ~p[k], p[k + 1] = ~p[k + 1];
}

/* Solve with what was factored and compare with the right-hand side's origin. */
static void check_solve(mpk_context *ctx, const setup *s, const mpk_batch *batch, const operand *x,
                        const int32_t *piv, T *const *truth, const int32_t *outcome,
                        const R *growth) {
    enum { NRHS = 3 };
    operand b = operand_new(s->layout, s->count, s->n, NRHS);
    for (int64_t k = 0; k < s->count; k++) {
        int n = batch->sizes ? batch->sizes[k] : s->n;
        for (int r = 0; r < NRHS; r++)
            for (int i = 0; i < n; i++) {
                T sum = t_make(0, 0);
                for (int j = 0; j < n; j++)
                    sum += t_mul(truth[k][i + j * n], t_make((R)(j % 5 + r + 1), 0));
                *at(&b, k, i, r) = sum;
            }
    }
    int32_t *how = calloc((size_t)s->count + 1, sizeof *how);
    mpk_batch_results results = {how, NULL};
    assert_true(mpk_batch_solve(ctx, batch, s->method, &x->array, piv, NRHS, &b.array, &results) >=
                0);
    for (int64_t k = 0; k < s->count; k++) {
        int n = batch->sizes ? batch->sizes[k] : s->n;
        if (outcome[k] > MPK_BATCH_SINGULAR) continue;
        assert_int_equal(how[k], outcome[k]);
        /* backward error: |A X - B| against |L| |D| |U| |X| */
        for (int r = 0; r < NRHS; r++)
            for (int i = 0; i < n; i++) {
                T sum = t_make(0, 0);
                R xmax = 0;
                for (int j = 0; j < n; j++) {
                    T truth_ij = truth[k][i + j * n];
                    sum += t_mul(truth_ij, *at(&b, k, j, r) - t_make((R)(j % 5 + r + 1), 0));
                    if (t_abs(*at(&b, k, j, r)) > xmax) xmax = t_abs(*at(&b, k, j, r));
                }
                assert_true(t_abs(sum) <= (R)(200.0 * n * n) * R_EPS * growth[k] * (xmax + 8) *
                                              (s->pivoting == MPK_PIVOTING_STATIC ? 1000 : 1));
            }
        assert_true(*at(&b, k, s->n, 0) == t_make(77, 0)); /* behind the last row */
    }
    free(how);
    operand_free(&b);
}

static void run(const setup *s) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const int lists = s->method == MPK_BATCH_LDU ? 2 : 1;
    operand x = operand_new(s->layout, s->count, s->n, s->n);
    if (s->packed) x.array.ld = s->n, x.array.stride = (int64_t)s->n * s->n;
    T **truth = malloc((size_t)s->count * sizeof(T *));
    int32_t *sizes = calloc((size_t)s->count + 1, sizeof *sizes);
    int32_t *piv = calloc((size_t)s->count * s->n * lists + 1, sizeof *piv);
    int32_t *outcome = calloc((size_t)s->count + 1, sizeof *outcome);
    int32_t *inertia = calloc(3 * (size_t)s->count + 1, sizeof *inertia);
    R *growth = calloc((size_t)s->count + 1, sizeof *growth);
    for (int64_t b = 0; b < s->count; b++) {
        int n = sizes[b] = s->sizes ? (int)((b * 7) % (s->n + 1)) : s->n;
        truth[b] = malloc(((size_t)n * n + 1) * sizeof(T));
        fill(s->family, n, s->method == MPK_BATCH_LDU, s->hermitian, truth[b]);
        for (int j = 0; j < n; j++)
            for (int i = s->method == MPK_BATCH_LDU ? 0 : j; i < n; i++)
                *at(&x, b, i, j) = truth[b][i + j * n];
        if (s->pivoting == MPK_PIVOTING_STATIC) set_static(s, n, s->n, b, piv);
    }
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.scalar = SCALAR;
    batch.symmetry = s->hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC;
    batch.count = s->count, batch.n = s->n;
    batch.sizes = s->sizes ? sizes : NULL;
    batch.pivoting = s->pivoting;
    batch.threads = s->threads;
    mpk_batch_results results = {outcome, inertia};
    const int pivots = s->pivoting != MPK_PIVOTING_NONE;
    mpk_status status = verbs[s->method](ctx, &batch, &x.array, pivots ? piv : NULL, &results);
    assert_true(!mpk_failed(status));
    int worst = 0;
    for (int64_t b = 0; b < s->count; b++) {
        const int n = sizes[b], *in = inertia + 3 * b;
        worst = outcome[b] > worst ? outcome[b] : worst;
        if (outcome[b] > MPK_BATCH_SINGULAR) {
            assert_int_equal(in[0] + in[1] + in[2], 0);
            continue;
        }
        factors f;
        read_factors(&x, b, n, s->n, s->method, s->hermitian, pivots ? piv : NULL, &f);
        /* a 2x2 pivot that was given may be near singular: its inverse carries that */
        assert_true(residual(n, truth[b], &f, &growth[b]) <
                    (s->pivoting == MPK_PIVOTING_STATIC ? 1e4 : 20));
        if (!MPKI_COMPLEX || s->hermitian) assert_int_equal(in[0] + in[1] + in[2], n);
        if (s->family == RANK_ONE) assert_int_equal(in[2], n > 0 ? n - 1 : 0);

        if (s->family == ALL_ZERO) assert_int_equal(in[2], n);
        if (s->family == DEFINITE && (!MPKI_COMPLEX || s->hermitian)) assert_int_equal(in[0], n);
        if (s->method != MPK_BATCH_LDU && s->n > 1) /* the upper triangle is nobody's business */
            assert_true(*at(&x, b, 0, s->n - 1) == t_make(77, 0));
        if (s->method == MPK_BATCH_LDLT && s->pivoting == MPK_PIVOTING_COMPLETE)
            for (int k = 0; k < n * n; k++) assert_true(t_abs1(f.l[k]) < 4 * (1 + MPKI_COMPLEX));
        if (s->method == MPK_BATCH_LDLT && s->pivoting == MPK_PIVOTING_ROOK)
            for (int k = 0; k < n * n; k++) assert_true(t_abs1(f.l[k]) < 4 * (1 + MPKI_COMPLEX));
        if (s->method == MPK_BATCH_LDU && s->pivoting >= MPK_PIVOTING_PARTIAL)
            for (int k = 0; k < n * n; k++)
                assert_true(t_abs1(f.l[k]) < (R)1.5 * (1 + MPKI_COMPLEX));
        if (s->method == MPK_BATCH_LDU && s->pivoting >= MPK_PIVOTING_ROOK)
            for (int k = 0; k < n * n; k++)
                assert_true(t_abs1(f.u[k]) < (R)1.5 * (1 + MPKI_COMPLEX));
    }
    assert_int_equal(status, worst == 0 ? MPK_OK : worst == 1 ? MPK_SINGULAR : MPK_PARTIAL);
    /* what must never break down */
    if (s->method == MPK_BATCH_LDLT && s->pivoting >= MPK_PIVOTING_PARTIAL) assert_true(worst <= 1);
    if (s->method == MPK_BATCH_LDU && s->pivoting >= MPK_PIVOTING_ROOK) assert_true(worst <= 1);
    if ((s->family == DEFINITE && !(s->method == MPK_BATCH_LDU && /* off the diagonal, there */
                                    s->pivoting == MPK_PIVOTING_STATIC)) ||
        s->family == ALL_ZERO)
        assert_int_equal(worst, s->family == ALL_ZERO && s->n > 0);
    check_solve(ctx, s, &batch, &x, pivots ? piv : NULL, truth, outcome, growth);
    for (int64_t b = 0; b < s->count; b++) free(truth[b]);
    free(truth), free(sizes), free(piv), free(outcome), free(inertia), free(growth);
    operand_free(&x);
    mpk_context_destroy(&ctx);
}

static void sweep(mpk_batch_method method, mpk_pivoting pivoting) {
    static const int orders[] = {1, 2, 3, 5, 8, 9, 13, 16, 21, 27, 31, 33, 64};
    for (int family = 0; family < FAMILIES; family++)
        for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
            for (int hermitian = 0; hermitian <= MPKI_COMPLEX; hermitian++) {
                if (method == MPK_BATCH_LLT && MPKI_COMPLEX && !hermitian) continue;
                if (orders[k] == MAX && family % 3 != 0) continue; /* the check costs n^3 */
                if (FEW && orders[k] == MAX && family > 0) continue;
                setup s = {.method = method,
                           .pivoting = pivoting,
                           .family = family,
                           .layout = (mpk_batch_layout)((k + family) % 3),
                           .n = orders[k],
                           .hermitian = hermitian && method != MPK_BATCH_LDU,
                           .sizes = (k + family) % 4 == 3,
                           .packed = (k + family) % 3 == 0 && family % 2 == 0,
                           .threads = 1 + (k + family) % 2,
                           .count = FEW              ? 1 + 60 / (4 + orders[k])
                                    : orders[k] > 20 ? 3
                                                     : 40};
                state = 1 + family * 64 + orders[k];
                run(&s);
            }
}

static void test_llt_none(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LLT, MPK_PIVOTING_NONE);
}
static void test_llt_complete(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LLT, MPK_PIVOTING_COMPLETE);
}
static void test_ldlt_none(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDLT, MPK_PIVOTING_NONE);
}
static void test_ldlt_static(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDLT, MPK_PIVOTING_STATIC);
}
static void test_ldlt_partial(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDLT, MPK_PIVOTING_PARTIAL);
}
static void test_ldlt_rook(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDLT, MPK_PIVOTING_ROOK);
}
static void test_ldlt_complete(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDLT, MPK_PIVOTING_COMPLETE);
}
static void test_ldu_none(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDU, MPK_PIVOTING_NONE);
}
static void test_ldu_static(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDU, MPK_PIVOTING_STATIC);
}
static void test_ldu_partial(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDU, MPK_PIVOTING_PARTIAL);
}
static void test_ldu_rook(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDU, MPK_PIVOTING_ROOK);
}
static void test_ldu_complete(void **unused) {
    (void)unused;
    sweep(MPK_BATCH_LDU, MPK_PIVOTING_COMPLETE);
}

/* ---- products ---- */

static void product_case(int m, int n, int k, int how, int with_d, mpk_batch_layout layout,
                         double alpha, double beta, int sized) {
    enum { COUNT = 9 };
    if (FEW && (int64_t)m * n * k > 30000) return;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    operand a = operand_new(layout, COUNT, m, k), c = operand_new(layout, COUNT, m, n);
    operand b = how ? operand_new(layout, COUNT, n, k) : operand_new(layout, COUNT, k, n);
    operand d = operand_new(layout, COUNT, 2, k);
    T *expected = calloc((size_t)COUNT * m * n + 1, sizeof(T));
    int32_t sizes[3 * COUNT];
    const int hermitian = how == 2;
    for (int q = 0; q < COUNT; q++) {
        int ms = sizes[3 * q] = sized ? q * m / (COUNT - 1) : m;
        int ns = sizes[3 * q + 1] = sized ? (COUNT - 1 - q) * n / (COUNT - 1) : n;
        int ks = sizes[3 * q + 2] = sized ? q * k / (COUNT - 1) : k;
        T dense[MAX * MAX] = {0};
        for (int j = 0; j < ks; j++) {
            T d11 = entry(), d21 = j % 3 == 0 && j + 1 < ks ? entry() : t_make(0, 0);
            if (hermitian) d11 = t_make(t_re(d11), 0);
            *at(&d, q, 0, j) = d11, *at(&d, q, 1, j) = d21;
            dense[j + j * ks] = d11;
            if (j + 1 < ks) {
                dense[j + 1 + j * ks] = d21;
                dense[j + (j + 1) * ks] = conj_if(hermitian, d21);
            }
            for (int i = 0; i < ms; i++) *at(&a, q, i, j) = entry();
            for (int i = 0; i < ns; i++) *(how ? at(&b, q, i, j) : at(&b, q, j, i)) = entry();
        }
        for (int j = 0; j < ns; j++)
            for (int i = 0; i < ms; i++) {
                T sum = t_make(0, 0), old = entry();
                for (int p = 0; p < ks; p++) /* D is tridiagonal */
                    for (int r = p > 0 ? p - 1 : 0; r <= p + 1 && r < ks; r++) {
                        if (!with_d && p != r) continue;
                        T right = conj_if(how == 2, how ? *at(&b, q, j, r) : *at(&b, q, r, j));
                        T x = t_mul(*at(&a, q, i, p), right);
                        sum += with_d ? t_mul(x, dense[p + r * ks]) : x;
                    }
                /* beta = 0: what was there, NaN say, must not count */
                *at(&c, q, i, j) = beta == 0 ? t_make((R)NAN, 0) : old;
                expected[(q * n + j) * m + i] =
                    sum * (R)alpha + (beta == 0 ? t_make(0, 0) : old * (R)beta);
            }
    }
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.scalar = SCALAR, batch.count = COUNT, batch.threads = 1;
    batch.symmetry = hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC;
    mpk_batch_product product = {m, n, k, sized ? sizes : NULL, how, alpha, beta};
    assert_int_equal(mpk_batch_gemm(ctx, &batch, &product, &a.array, with_d ? &d.array : NULL,
                                    &b.array, &c.array),
                     MPK_OK);
    for (int q = 0; q < COUNT; q++) {
        for (int j = 0; j < sizes[3 * q + 1]; j++)
            for (int i = 0; i < sizes[3 * q]; i++)
                assert_true(t_abs(*at(&c, q, i, j) - expected[(q * n + j) * m + i]) <=
                            (R)(8.0 * (k + 2)) * R_EPS * 16);
        if (n > 0) assert_true(*at(&c, q, m, n - 1) == t_make(77, 0));
    }
    operand_free(&a), operand_free(&b), operand_free(&c), operand_free(&d);
    free(expected);
    mpk_context_destroy(&ctx);
}

static void test_gemm(void **unused) {
    (void)unused;
    static const int orders[] = {0, 1, 2, 3, 4, 7, 8, 12, 16, 17, 32, 33, 64};
    state = 5;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int how = 0; how < 3; how++)
            for (int with_d = 0; with_d < 2; with_d++) {
                if (TEST_SANITIZED && ((int)i + how) % 2 != with_d) continue;
                int m = orders[i], n = orders[(i + 3) % 13], k = orders[(i * 5 + how) % 13];
                mpk_batch_layout layout = (mpk_batch_layout)((i + how) % 3);
                product_case(m, n, k, how, with_d, layout, -1, 1, 0);
                product_case(m, m, m, how, with_d, layout, 1, 0, 0);
                if (m % 4 == 0) product_case(m, m, m, how, with_d, layout, -1, 1, 0);
                product_case(m, n, k, how, with_d, layout, 0.5, -2, 1);
            }
}

#ifdef CASES_DEVICE
/* On GPUs whose blocks have 99 KiB of shared memory; the module of the host is told so. */
static void test_gemm_narrow(void **unused) {
    setenv("METAPACK_CUDA_HOST_SHARED", "101376", 1);
    test_gemm(unused);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}
#endif

/* ---- a bad matrix leaves its neighbours right ---- */

static void test_neighbours(void **unused) {
    (void)unused;
    enum { N = 11, COUNT = 40 };
    for (int method = 0; method < 3; method++)
        for (int pivoting = 0; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++) {
            if (pivoting == MPK_PIVOTING_STATIC) continue;
            if (method == 0 && pivoting != 0 && pivoting != MPK_PIVOTING_COMPLETE) continue;
            mpk_context *ctx = NULL;
            assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
            T a[COUNT][N * N], clean[COUNT][N * N];
            int32_t piv[COUNT * 2 * N], piv2[COUNT * 2 * N], outcome[COUNT];
            state = 99;
            for (int b = 0; b < COUNT; b++)
                fill(DEFINITE, N, method == MPK_BATCH_LDU, MPKI_COMPLEX, a[b]);
            mpk_batch batch;
            mpk_batch_init(&batch);
            batch.scalar = SCALAR, batch.count = COUNT, batch.n = N, batch.threads = 1;
            batch.symmetry = MPK_HERMITIAN, batch.pivoting = pivoting;
            mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, clean, N * N, N, 1};
            mpk_batch_results results = {outcome, NULL};
            memcpy(clean, a, sizeof a);
            assert_int_equal(verbs[method](ctx, &batch, &x, piv, NULL), MPK_OK);
            const R bad[] = {(R)NAN, (R)INFINITY, -(R)INFINITY};
            for (int k = 0; k < 3; k++) a[5 + 9 * k][(k * 4) + N * (k * 2)] = t_make(bad[k], 0);
            for (int k = 0; k < N * N; k++) a[20][k] = t_make(0, 0);
            a[33][3 + 3 * N] = t_make(0, 0);        /* a pivot that only some can pass */
            a[34][N * N - 1] = t_make(-(R)1000, 0); /* not definite */
            x.data = a;
            assert_int_equal(verbs[method](ctx, &batch, &x, piv2, &results), MPK_PARTIAL);
            for (int b = 0; b < COUNT; b++) {
                if (b == 5 || b == 14 || b == 23) {
                    assert_int_equal(outcome[b], MPK_BATCH_NOT_FINITE);
                } else if (b == 20) {
                    assert_int_equal(outcome[b], MPK_BATCH_SINGULAR);
                } else if (b == 34 && method == MPK_BATCH_LLT) {
                    assert_int_equal(outcome[b], MPK_BATCH_BREAKDOWN);
                } else if (b != 33 && b != 34) {
                    assert_int_equal(outcome[b], MPK_BATCH_OK);
                    for (int j = 0; j < N; j++)
                        for (int i = method == MPK_BATCH_LDU ? 0 : j; i < N; i++)
                            assert_true(a[b][i + j * N] == clean[b][i + j * N]);
                    int lists = method == MPK_BATCH_LDU ? 2 : 1;
                    if (pivoting)
                        assert_memory_equal(piv + b * N * lists, piv2 + b * N * lists,
                                            N * lists * sizeof *piv);
                }
            }
            mpk_context_destroy(&ctx);
        }
}

/* ---- the unit of measurement does not matter: multiplied by a power of two a matrix has the same pivots --- */

static void scales_case(mpk_context *ctx, mpk_pivoting pivoting, enum family family, int n) {
    enum { COUNT = 9 };
    static T a[3][COUNT][MAX * MAX];
    static int32_t piv[3][COUNT * MAX], outcome[3][COUNT], inertia[3][3 * COUNT];
    const int far = MPKI_PRECISION % 2 == 0 ? 90 : 600; /* squares are out of range */
    for (int b = 0; b < COUNT; b++) fill(family, n, 0, MPKI_COMPLEX, a[0][b]);
    for (int k = 0; k < 3; k++) {
        const T scale = t_make((R)ldexp(1, k == 0 ? 0 : k == 1 ? -far : far), 0);
        for (int b = 0; b < COUNT && k > 0; b++)
            for (int i = 0; i < n * n; i++) a[k][b][i] = a[0][b][i] * scale;
    }
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.scalar = SCALAR, batch.count = COUNT, batch.n = n, batch.threads = 1;
    batch.symmetry = MPK_HERMITIAN, batch.pivoting = pivoting;
    for (int k = 0; k < 3; k++) {
        mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, a[k], MAX * MAX, n, 1};
        mpk_batch_results results = {outcome[k], inertia[k]};
        assert_int_equal(mpk_batch_ldlt(ctx, &batch, &x, piv[k], &results), MPK_OK);
    }
    for (int k = 1; k < 3; k++) {
        assert_memory_equal(piv[k], piv[0], (size_t)(COUNT * n) * sizeof **piv);
        assert_memory_equal(inertia[k], inertia[0], sizeof inertia[0]);
    }
}

static void test_scales(void **unused) {
    (void)unused;
    static const int orders[] = {2, 3, 5, 8, 12, 16, 21, 33};
    static const enum family families[] = {RANDOM, ZERO_DIAGONAL, SADDLE};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int pivoting = MPK_PIVOTING_PARTIAL; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
        for (int k = 0; k < (FEW ? 4 : 8); k++)
            for (int f = 0; f < 3; f++)
                scales_case(ctx, (mpk_pivoting)pivoting, families[f], orders[k]);
    mpk_context_destroy(&ctx);
}

#if !defined CASES_DEVICE && MPKI_ISAS & 3
/* The same with narrower kernels: those of a processor without AVX-512, where they were built. */
static int without_avx512(void **unused) {
    (void)unused;
    if (mpki_cpu_level() > 1) setenv("METAPACK_CPU", mpki_cpu_words[MPKI_ISAS & 2 ? 1 : 0], 1);
    return mpki_cpu_level() > 1; /* it would test what was tested */
}

static int with_all(void **unused) {
    (void)unused;
    return unsetenv("METAPACK_CPU");
}
#endif

#define TEST(name) cmocka_unit_test(name)
#define AVX2(name) cmocka_unit_test_setup_teardown(name, without_avx512, with_all)
int main(void) {
    if (device_lacks(DEVICE_ANY)) return 0;
    const struct CMUnitTest tests[] = {
        TEST(test_llt_none),
        TEST(test_llt_complete),
        TEST(test_ldlt_none),
        TEST(test_ldlt_static),
        TEST(test_ldlt_partial),
        TEST(test_ldlt_rook),
        TEST(test_ldlt_complete),
        TEST(test_ldu_none),
        TEST(test_ldu_static),
        TEST(test_ldu_partial),
        TEST(test_ldu_rook),
        TEST(test_ldu_complete),
        TEST(test_gemm),
#ifdef CASES_DEVICE
        TEST(test_gemm_narrow),
#endif
        TEST(test_neighbours),
        TEST(test_scales),
#if !defined CASES_DEVICE && MPKI_ISAS & 3
        AVX2(test_llt_none),
        AVX2(test_ldlt_none),
        AVX2(test_ldu_none),
        AVX2(test_ldlt_partial),
        AVX2(test_scales),
        AVX2(test_ldlt_rook),
        AVX2(test_ldlt_complete),
        AVX2(test_gemm),
        AVX2(test_neighbours),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
