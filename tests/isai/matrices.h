/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_ISAI_MATRICES_H
#define TEST_ISAI_MATRICES_H
/** Matrices by columns, and the equation that an approximate inverse satisfies. */
#include "support.h"

#include <float.h>
#include <stdbool.h>

static inline const char *text_of(const mpk_context *ctx, int64_t *index) {
    const char *text;
    mpk_last_error(ctx, NULL, index, &text);
    return text;
}

typedef struct csc {
    int32_t n;
    mpk_scalar scalar;
    int64_t *ptr;
    int32_t *row;
    void *val;
} csc;

static inline void csc_free(csc *a) {
    free(a->ptr), free(a->row), free(a->val);
    *a = (csc){0};
}

static inline double eps_of(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? FLT_EPSILON : DBL_EPSILON;
}

/* Of all entries with keep(i, j), and the diagonal; diagonally dominant by `dominance`. */
static inline csc make(int32_t n, mpk_scalar scalar, int (*keep)(int32_t, int32_t, int32_t),
                       int hermitian) {
    csc a = {.n = n, .scalar = scalar};
    int64_t most = 0, nnz = 0;
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = 0; i < n; i++) most += i == j || keep(n, i, j);
    a.ptr = calloc((size_t)n + 1, sizeof *a.ptr);
    a.row = malloc(((size_t)most + 1) * sizeof *a.row);
    a.val = malloc(((size_t)most + 1) * mpk_scalar_size(scalar));
    for (int32_t j = 0; j < n; j++) {
        for (int32_t i = 0; i < n; i++) {
            if (i != j && !keep(n, i, j)) continue;
            /* a value that depends on the place alone, so that a Hermitian matrix is one */
            const int32_t p = i > j ? i : j, q = i > j ? j : i;
            double complex x = 0.3 * sin(1 + 3.1 * p + 1.7 * q) + (i == j  ? 0
                                                                   : i > j ? 1
                                                                           : -1) *
                                                                      0.2 * cos(p + 2.3 * q) * I;
            if (!hermitian && i < j) x *= 1.4;
            if (i == j)
                x = (p % 3 == 0 && !hermitian ? -2.0 : 2.0) + 0.1 * sin(p) +
                    (hermitian ? 0 : 0.3 * I);
            a.row[nnz] = i;
            scalar_store(scalar, a.val, nnz++, x);
        }
        a.ptr[j + 1] = nnz;
    }
    return a;
}

static inline int band(int32_t n, int32_t i, int32_t j) {
    (void)n;
    const int32_t d = abs(i - j);
    return d == 1 || d == 4 || d == 9;
}
static inline int scattered(int32_t n, int32_t i, int32_t j) {
    (void)n;
    const int32_t p = i > j ? i : j, q = i > j ? j : i;
    return (p * 7 + q * 13) % 17 == 0;
}
static inline int unsymmetric(int32_t n, int32_t i, int32_t j) {
    (void)n;
    return (i * 7 + j * 3) % 11 == 0;
}
static inline int arrow(int32_t n, int32_t i, int32_t j) {
    (void)n;
    return i == 0 || j == 0;
}
static inline int all(int32_t n, int32_t i, int32_t j) {
    (void)n, (void)i, (void)j;
    return 1;
}
static inline int nothing(int32_t n, int32_t i, int32_t j) {
    (void)n, (void)i, (void)j;
    return 0;
}

/* Large diagonals. */
static inline void make_definite(csc *a) {
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t e = a->ptr[j]; e < a->ptr[j + 1]; e++)
            if (a->row[e] == j) scalar_store(a->scalar, a->val, e, 9 + 0.1 * j);
}

/* One of SHAPES matrices for a kind, of n rows; definite ones have 24, for 0.3 to 0.4 times the
 * entries of a row must stay below the diagonal. False: there is none. */
enum { SHAPES = 4, BAND = 0, SCATTERED = 1 };
static inline bool shape_of(int shape, mpk_isai_kind kind, mpk_scalar scalar, int32_t n, csc *a) {
    static int (*const shapes[SHAPES])(int32_t, int32_t, int32_t) = {band, scattered, unsymmetric,
                                                                     arrow};
    const bool definite = kind == MPK_ISAI_DEFINITE;
    if (definite && shapes[shape] == unsymmetric) return false;
    *a = make(definite ? 24 : n, scalar, shapes[shape], definite);
    if (definite) make_definite(a);
    return true;
}

/* Is (i, j) of the kind's triangle? */
static inline bool in_triangle(mpk_isai_kind kind, int32_t i, int32_t j) {
    return kind == MPK_ISAI_GENERAL || (kind == MPK_ISAI_LOWER ? i >= j : i <= j);
}

/* Dense copies: a of what is inverted, m of M, s of the pattern. */
static inline double complex *dense_of(const csc *a, mpk_isai_kind kind) {
    double complex *d = calloc((size_t)a->n * (size_t)a->n + 1, sizeof *d);
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t e = a->ptr[j]; e < a->ptr[j + 1]; e++)
            if (kind == MPK_ISAI_DEFINITE || in_triangle(kind, a->row[e], j))
                d[a->row[e] + (size_t)j * (size_t)a->n] = scalar_load(a->scalar, a->val, e);
    return d;
}

static inline csc copy_of(mpk_context *ctx, const mpk_isai *s, int32_t n, mpk_scalar scalar) {
    mpk_isai_info info;
    csc m = {.n = n, .scalar = scalar};
    mpk_isai_info_get(s, &info);
    m.ptr = calloc((size_t)n + 1, sizeof *m.ptr);
    m.row = malloc(((size_t)info.entries + 1) * sizeof *m.row);
    m.val = malloc(((size_t)info.entries + 1) * mpk_scalar_size(scalar));
    assert_int_equal(mpk_isai_get(ctx, s, m.ptr, m.row, m.val), MPK_OK);
    assert_int_equal(m.ptr[n], info.entries);
    return m;
}

/* The pattern by repeated products: what S(|A|^k) says, with the diagonal. */
static inline bool *power_of(const csc *a, mpk_isai_kind kind, int k) {
    const size_t n = (size_t)a->n;
    bool *s = calloc(n * n + 1, sizeof *s), *t = calloc(n * n + 1, sizeof *t);
    for (size_t j = 0; j < n; j++) s[j + j * n] = true;
    for (int step = 0; step < k; step++) {
        memcpy(t, s, n * n * sizeof *s);
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < n; r++)
                if (s[r + j * n])
                    for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; e++)
                        t[(size_t)a->row[e] + j * n] = true;
        memcpy(s, t, n * n * sizeof *s);
    }
    free(t);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            if (!in_triangle(kind, (int32_t)i, (int32_t)j)) s[i + j * n] = false;
    return s;
}

/* The pattern is `s`, and (A M - I) on it is rounding; definite: (A G)_ij = 0 above the diagonal
 * and (G^H A G)_jj = 1. Returns the largest error in units of rounding. */
static inline double check(mpk_context *ctx, const csc *a, mpk_isai_kind kind, const mpk_isai *isai,
                           const bool *s) {
    const int32_t n = a->n;
    const size_t N = (size_t)n;
    csc m = copy_of(ctx, isai, n, a->scalar);
    double complex *d = dense_of(a, kind), *col = calloc(N + 1, sizeof *col);
    double *size = calloc(N + 1, sizeof *size), worst = 0;
    for (int32_t j = 0; j < n; j++) {
        double complex quadratic = 0;
        int64_t e = m.ptr[j];
        for (int32_t i = 0; i < n; i++) {
            const bool held = e < m.ptr[j + 1] && m.row[e] == i;
            if (s) assert_int_equal(held, s[(size_t)i + (size_t)j * N]);
            e += held;
            col[i] = size[i] = 0;
        }
        assert_int_equal(e, m.ptr[j + 1]);
        for (e = m.ptr[j]; e < m.ptr[j + 1]; e++)
            for (size_t i = 0; i < N; i++) {
                const double complex x =
                    d[i + (size_t)m.row[e] * N] * scalar_load(m.scalar, m.val, e);
                col[i] += x, size[i] += cabs(x);
            }
        for (e = m.ptr[j]; e < m.ptr[j + 1]; e++) {
            const int32_t i = m.row[e];
            quadratic += conj(scalar_load(m.scalar, m.val, e)) * col[i];
            if (kind == MPK_ISAI_DEFINITE && i == j) continue;
            const double error = cabs(col[i] - (i == j)) / (size[i] + 1) / eps_of(a->scalar);
            if (!(error <= worst)) worst = error;
        }
        if (kind == MPK_ISAI_DEFINITE) {
            const double error = cabs(quadratic - 1) / eps_of(a->scalar) / 10;
            if (!(error <= worst)) worst = error;
        }
    }
    free(d), free(col), free(size);
    csc_free(&m);
    return worst;
}

static inline mpk_isai *create(mpk_context *ctx, const csc *a, const mpk_isai_options *o) {
    mpk_isai *s = NULL;
    const mpk_status status = mpk_isai_create(ctx, a->scalar, a->n, a->ptr, a->row, a->val, o, &s);
    if (status != MPK_OK) fail_msg("%s: %s", mpk_status_name(status), text_of(ctx, NULL));
    return s;
}

static inline mpk_isai_options options_of(mpk_isai_kind kind) {
    mpk_isai_options o;
    mpk_isai_options_init(&o);
    o.kind = kind;
    o.threads = 1;
    return o;
}

static inline mpk_context *begin(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

#endif
