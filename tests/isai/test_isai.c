/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate inverses of matrices: (A M - I) = 0 on the pattern, for all kinds, patterns and
 * scalars; lengths around the classes; relaxation; limits; what is refused. */
#include "support.h"

#include <float.h>
#include <stdbool.h>

static const char *text_of(const mpk_context *ctx, int64_t *index) {
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

static void csc_free(csc *a) {
    free(a->ptr), free(a->row), free(a->val);
    *a = (csc){0};
}

static double eps_of(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? FLT_EPSILON : DBL_EPSILON;
}

/* Of all entries with keep(i, j), and the diagonal; diagonally dominant by `dominance`. */
static csc make(int32_t n, mpk_scalar scalar, int (*keep)(int32_t, int32_t, int32_t),
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

static int band(int32_t n, int32_t i, int32_t j) {
    (void)n;
    const int32_t d = abs(i - j);
    return d == 1 || d == 4 || d == 9;
}
static int scattered(int32_t n, int32_t i, int32_t j) {
    (void)n;
    const int32_t p = i > j ? i : j, q = i > j ? j : i;
    return (p * 7 + q * 13) % 17 == 0;
}
static int unsymmetric(int32_t n, int32_t i, int32_t j) {
    (void)n;
    return (i * 7 + j * 3) % 11 == 0;
}
static int arrow(int32_t n, int32_t i, int32_t j) {
    (void)n;
    return i == 0 || j == 0;
}
static int all(int32_t n, int32_t i, int32_t j) {
    (void)n, (void)i, (void)j;
    return 1;
}
static int nothing(int32_t n, int32_t i, int32_t j) {
    (void)n, (void)i, (void)j;
    return 0;
}

/* Is (i, j) of the kind's triangle? */
static bool in_triangle(mpk_isai_kind kind, int32_t i, int32_t j) {
    return kind == MPK_ISAI_GENERAL || (kind == MPK_ISAI_LOWER ? i >= j : i <= j);
}

/* Dense copies: a of what is inverted, m of M, s of the pattern. */
static double complex *dense_of(const csc *a, mpk_isai_kind kind) {
    double complex *d = calloc((size_t)a->n * (size_t)a->n + 1, sizeof *d);
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t e = a->ptr[j]; e < a->ptr[j + 1]; e++)
            if (kind == MPK_ISAI_DEFINITE || in_triangle(kind, a->row[e], j))
                d[a->row[e] + (size_t)j * (size_t)a->n] = scalar_load(a->scalar, a->val, e);
    return d;
}

static csc copy_of(mpk_context *ctx, const mpk_isai *s, int32_t n, mpk_scalar scalar) {
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
static bool *power_of(const csc *a, mpk_isai_kind kind, int k) {
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

/* The pattern is `s`, and (A M - I) on it is rounding; definite: (A G)_ij = 0 above the diagonal and
 * (G^H A G)_jj = 1. Returns the largest error in units of rounding. */
static double check(mpk_context *ctx, const csc *a, mpk_isai_kind kind, const mpk_isai *isai,
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

static mpk_isai *create(mpk_context *ctx, const csc *a, const mpk_isai_options *o) {
    mpk_isai *s = NULL;
    const mpk_status status = mpk_isai_create(ctx, a->scalar, a->n, a->ptr, a->row, a->val, o, &s);
    if (status != MPK_OK) fail_msg("%s: %s", mpk_status_name(status), text_of(ctx, NULL));
    return s;
}

static mpk_isai_options options_of(mpk_isai_kind kind) {
    mpk_isai_options o;
    mpk_isai_options_init(&o);
    o.kind = kind;
    o.threads = 1;
    return o;
}

static mpk_context *begin(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

/* ---- the equation ------------------------------------------------------------------------------- */

static void test_powers(void **unused) {
    (void)unused;
    static int (*const shapes[])(int32_t, int32_t, int32_t) = {band, scattered, unsymmetric, arrow};
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_DEFINITE; kind++) {
                const bool definite = kind == MPK_ISAI_DEFINITE;
                if (definite && shapes[k] == unsymmetric) continue;
                /* 0.3 to 0.4 times the entries of a row must stay below the diagonal */
                csc a = make(definite ? 24 : 70, scalar, shapes[k], definite);
                if (definite)
                    for (int32_t j = 0; j < a.n; j++)
                        for (int64_t e = a.ptr[j]; e < a.ptr[j + 1]; e++)
                            if (a.row[e] == j) scalar_store(scalar, a.val, e, 9 + 0.1 * j);
                for (int power = 0; power <= 3; power++) {
                    mpk_isai_options o = options_of(kind);
                    o.power = power;
                    bool *s = power_of(&a, kind, power);
                    mpk_isai *isai = create(ctx, &a, &o);
                    const double worst = check(ctx, &a, kind, isai, s);
                    if (!(worst <= 200))
                        fail_msg("scalar %d, shape %d, kind %d, power %d: %g", (int)scalar, (int)k,
                                 (int)kind, power, worst);
                    mpk_isai_destroy(&isai);
                    free(s);
                }
                csc_free(&a);
            }
    mpk_context_destroy(&ctx);
}

/* Patterns of others: blocks, of which one row each is Jacobi's; given; and the whole triangle, with
 * which M is the inverse. */
static void test_patterns(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++) {
            const int32_t n = 37;
            const size_t N = 37;
            csc a = make(n, scalar, scattered, 0), full = make(n, scalar, all, 0);
            mpk_isai_options o = options_of(kind);
            o.source = MPK_ISAI_BLOCKS;
            for (o.block = 1; o.block <= 64; o.block = 3 * o.block + 2) {
                bool *s = calloc(N * N, sizeof *s);
                for (int32_t j = 0; j < n; j++)
                    for (int32_t i = 0; i < n; i++)
                        s[(size_t)i + (size_t)j * N] =
                            i / o.block == j / o.block && in_triangle(kind, i, j);
                mpk_isai *isai = create(ctx, &a, &o);
                assert_true(check(ctx, &a, kind, isai, s) <= 200);
                if (o.block == 1) { /* Jacobi */
                    csc m = copy_of(ctx, isai, n, scalar);
                    for (int32_t j = 0; j < n; j++) {
                        int64_t e = a.ptr[j];
                        while (a.row[e] != j) e++;
                        const double complex x = scalar_load(scalar, a.val, e);
                        assert_true(cabs(x * scalar_load(scalar, m.val, j) - 1) <=
                                    8 * eps_of(scalar));
                    }
                    csc_free(&m);
                }
                mpk_isai_destroy(&isai);
                free(s);
            }
            /* a power of another pattern; that pattern itself */
            o = options_of(kind);
            o.ptr = full.ptr, o.row = full.row;
            for (int given = 0; given < 2; given++) {
                o.source = given ? MPK_ISAI_GIVEN : MPK_ISAI_POWER;
                bool *s = power_of(&full, kind, 1);
                mpk_isai *isai = create(ctx, &a, &o);
                assert_true(check(ctx, &a, kind, isai, s) <= 500);
                /* M A = I, everywhere: apply to columns of A */
                double complex *d = dense_of(&a, kind);
                void *b = calloc(N, mpk_scalar_size(scalar));
                for (int32_t j = 0; j < n; j++) {
                    for (int32_t i = 0; i < n; i++)
                        scalar_store(scalar, b, i, d[(size_t)i + (size_t)j * N]);
                    assert_int_equal(mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, 1, b, n, b, n),
                                     MPK_OK);
                    for (int32_t i = 0; i < n; i++)
                        assert_true(cabs(scalar_load(scalar, b, i) - (i == j)) <=
                                    2e4 * eps_of(scalar));
                }
                free(b), free(d), free(s);
                mpk_isai_destroy(&isai);
            }
            csc_free(&a), csc_free(&full);
        }
    mpk_context_destroy(&ctx);
}

/* Columns around the edges of the classes, in a matrix whose first rows are dense. */
static int32_t corner;
static int dense_corner(int32_t n, int32_t i, int32_t j) {
    (void)n;
    return i < corner && j < corner;
}

static void test_lengths(void **unused) {
    (void)unused;
    static const int32_t sizes[] = {1, 2, 3, 4, 8, 9, 16, 17, 31, 32, 33, 64, 65, 128, 129};
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++) {
                static const int64_t most[] = {1, 2, 4, 8, 16, 32, 64, 128, 1024};
                int64_t want[MPK_ISAI_CLASSES] = {0};
                mpk_isai_info info;
                corner = sizes[k];
                csc a = make(corner + 5, scalar, dense_corner, 0);
                for (int64_t e = 0; e < a.ptr[a.n]; e++) /* mild, or the inverse grows */
                    scalar_store(scalar, a.val, e,
                                 scalar_load(scalar, a.val, e) *
                                     (cabs(scalar_load(scalar, a.val, e)) < 1 ? 3.0 / corner : 1));
                const mpk_isai_options o = options_of(kind);
                mpk_isai *isai = create(ctx, &a, &o);
                bool *s = power_of(&a, kind, 1);
                assert_true(check(ctx, &a, kind, isai, s) <= 300);
                mpk_isai_info_get(isai, &info);
                for (int32_t j = 0; j < a.n; j++) {
                    int64_t count = 0;
                    int c = 0;
                    for (int32_t i = 0; i < a.n; i++)
                        count += s[(size_t)i + (size_t)j * (size_t)a.n];
                    while (c < MPK_ISAI_CLASSES - 1 && count > most[c]) c++;
                    want[c]++;
                }
                assert_memory_equal(want, info.columns, sizeof want);
                assert_int_equal(info.longest, corner);
                free(s);
                mpk_isai_destroy(&isai);
                csc_free(&a);
            }
    mpk_context_destroy(&ctx);
}

/* The same beyond what a dense check can afford: a residual in vectors, M A x = x. */
static void test_long(void **unused) {
    (void)unused;
    static const int32_t sizes[] = {1023, 1024, 1025};
    mpk_context *ctx = begin();
    for (size_t k = 0; k < 3; k++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_UPPER; kind++) {
            mpk_isai_info info;
            corner = sizes[k];
            csc a = make(corner + 2, MPK_D, dense_corner, 0);
            double *v = a.val;
            for (int64_t e = 0; e < a.ptr[a.n]; e++)
                if (fabs(v[e]) < 1) v[e] *= 3.0 / corner;
            const mpk_isai_options o = options_of(kind);
            mpk_isai *isai = create(ctx, &a, &o);
            mpk_isai_info_get(isai, &info);
            assert_int_equal(info.longest, corner);
            assert_int_equal(info.columns[MPK_ISAI_CLASSES - 1], corner > 1024);
            double *x = malloc((size_t)a.n * sizeof *x), *b = calloc((size_t)a.n, sizeof *b);
            for (int32_t j = 0; j < a.n; j++) {
                x[j] = sin(j);
                for (int64_t e = a.ptr[j]; e < a.ptr[j + 1]; e++)
                    if (in_triangle(kind, a.row[e], j)) b[a.row[e]] += v[e] * x[j];
            }
            assert_int_equal(mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, 1, b, a.n, b, a.n), MPK_OK);
            for (int32_t j = 0; j < a.n; j++) assert_true(fabs(b[j] - x[j]) <= 1e-12);
            free(x), free(b);
            mpk_isai_destroy(&isai);
            csc_free(&a);
        }
    mpk_context_destroy(&ctx);
}

/* ---- use ---------------------------------------------------------------------------------------- */

/* Sweeps of relaxation reach the solution of the triangular system, on every side, for several
 * vectors at once; a definite matrix's come nearer with each. */
static void test_relaxation(void **unused) {
    (void)unused;
    enum { N = 30, NRHS = 11, LD = N + 2 };
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_DEFINITE; kind++)
            for (int side = MPK_ISAI_AS_IS; side <= MPK_ISAI_ADJOINT; side++) {
                csc a = make(N, scalar, band, kind == MPK_ISAI_DEFINITE);
                mpk_isai_options o = options_of(kind);
                o.power = kind == MPK_ISAI_GENERAL || kind == MPK_ISAI_DEFINITE ? 3 : 1;
                o.relax = kind == MPK_ISAI_GENERAL || kind == MPK_ISAI_DEFINITE ? 400 : N;
                mpk_isai *isai = create(ctx, &a, &o);
                const size_t size = mpk_scalar_size(scalar);
                double complex *d = dense_of(&a, kind);
                void *b = calloc(LD * NRHS, size), *x = calloc(LD * NRHS, size);
                for (int r = 0; r < NRHS; r++)
                    for (int i = 0; i < N; i++)
                        scalar_store(scalar, b, i + r * LD, sin(i + r) + cos(i - r) * I);
                assert_int_equal(mpk_isai_apply(ctx, isai, (mpk_isai_side)side, NRHS, b, LD, x, LD),
                                 MPK_OK);
                for (int r = 0; r < NRHS; r++)
                    for (int i = 0; i < N; i++) {
                        double complex sum = 0;
                        double all_of_it = 0;
                        for (int j = 0; j < N; j++) {
                            const double complex aij = side == MPK_ISAI_AS_IS ? d[i + j * N]
                                                       : side == MPK_ISAI_TRANSPOSED
                                                           ? d[j + i * N]
                                                           : conj(d[j + i * N]);
                            const double complex t = aij * scalar_load(scalar, x, j + r * LD);
                            sum += t, all_of_it += cabs(t);
                        }
                        assert_true(cabs(sum - scalar_load(scalar, b, i + r * LD)) <=
                                    300 * eps_of(scalar) * (1 + all_of_it));
                    }
                free(b), free(x), free(d);
                mpk_isai_destroy(&isai);
                csc_free(&a);
            }
    mpk_context_destroy(&ctx);
}

/* The same bits for any number of threads, of M and of products. */
static void test_threads(void **unused) {
    (void)unused;
    enum { N = 400, NRHS = 4 };
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++) {
            csc a = make(N, scalar, kind == MPK_ISAI_GENERAL ? band : all, 0), first = {0};
            void *x0 = calloc(N * NRHS, mpk_scalar_size(scalar));
            mpk_isai_options o = options_of(kind);
            o.relax = 1;
            if (kind != MPK_ISAI_GENERAL) o.source = MPK_ISAI_BLOCKS, o.block = 100;
            for (o.threads = 1; o.threads <= 4; o.threads++) {
                mpk_isai *isai = create(ctx, &a, &o);
                csc m = copy_of(ctx, isai, N, scalar);
                const size_t size = mpk_scalar_size(scalar);
                void *x = calloc(N * NRHS, size);
                for (int i = 0; i < N * NRHS; i++) scalar_store(scalar, x, i, sin(i) + cos(i) * I);
                assert_int_equal(mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, NRHS, x, N, x, N),
                                 MPK_OK);
                if (o.threads == 1) {
                    first = m;
                    memcpy(x0, x, N * NRHS * size);
                } else {
                    assert_memory_equal(x0, x, N * NRHS * size);
                    assert_memory_equal(first.row, m.row, (size_t)m.ptr[N] * sizeof *m.row);
                    assert_memory_equal(first.val, m.val, (size_t)m.ptr[N] * size);
                    csc_free(&m);
                }
                free(x);
                mpk_isai_destroy(&isai);
            }
            free(x0);
            csc_free(&a), csc_free(&first);
        }
    mpk_context_destroy(&ctx);
}

/* Other values: as if made anew. Single precision: within its rounding. */
static void test_update(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++)
            for (int single = 0; single < 2; single++)
                for (int relax = 0; relax < 2; relax++) {
                    csc a = make(60, scalar, scattered, 0);
                    const size_t size = mpk_scalar_size(scalar);
                    mpk_isai_options o = options_of(kind);
                    o.power = 2, o.relax = relax, o.limit = 7, o.over = MPK_ISAI_LESS;
                    o.precision = single ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
                    mpk_isai *isai = create(ctx, &a, &o), *fresh = NULL;
                    for (int64_t e = 0; e < a.ptr[a.n]; e++)
                        scalar_store(scalar, a.val, e,
                                     scalar_load(scalar, a.val, e) * (1.5 + 0.3 * sin((double)e)));
                    assert_int_equal(mpk_isai_update(ctx, a.val, isai), MPK_OK);
                    fresh = create(ctx, &a, &o);
                    csc m = copy_of(ctx, isai, a.n, scalar),
                        want = copy_of(ctx, fresh, a.n, scalar);
                    assert_memory_equal(m.ptr, want.ptr, ((size_t)a.n + 1) * sizeof *m.ptr);
                    assert_memory_equal(m.row, want.row, (size_t)m.ptr[a.n] * sizeof *m.row);
                    assert_memory_equal(m.val, want.val, (size_t)m.ptr[a.n] * size);
                    void *x = calloc((size_t)a.n, size), *y = calloc((size_t)a.n, size);
                    for (int i = 0; i < a.n; i++) scalar_store(scalar, x, i, cos(i));
                    memcpy(y, x, (size_t)a.n * size);
                    for (int side = 0; side < 3; side++) {
                        mpk_isai_apply(ctx, isai, (mpk_isai_side)side, 1, x, a.n, x, a.n);
                        mpk_isai_apply(ctx, fresh, (mpk_isai_side)side, 1, y, a.n, y, a.n);
                    }
                    assert_memory_equal(x, y, (size_t)a.n * size);
                    if (single) { /* beside the same in full */
                        mpk_isai *exact = NULL;
                        o.precision = MPK_PRECISION_DOUBLE;
                        exact = create(ctx, &a, &o);
                        csc full = copy_of(ctx, exact, a.n, scalar);
                        for (int64_t e = 0; e < m.ptr[a.n]; e++) {
                            const double complex u = scalar_load(scalar, full.val, e);
                            assert_true(cabs(u - scalar_load(scalar, m.val, e)) <=
                                        FLT_EPSILON * cabs(u));
                        }
                        csc_free(&full);
                        mpk_isai_destroy(&exact);
                    }
                    /* a failure leaves nothing to apply, until the next values */
                    void *bad = malloc((size_t)a.ptr[a.n] * size);
                    memcpy(bad, a.val, (size_t)a.ptr[a.n] * size);
                    scalar_store(scalar, bad, a.ptr[3], NAN);
                    assert_int_equal(mpk_isai_update(ctx, bad, isai), MPK_ERR_INPUT);
                    assert_int_equal(mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, 1, x, a.n, x, a.n),
                                     MPK_ERR_ARGUMENT);
                    assert_int_equal(mpk_isai_update(ctx, a.val, isai), MPK_OK);
                    free(bad), free(x), free(y);
                    csc_free(&m), csc_free(&want), csc_free(&a);
                    mpk_isai_destroy(&isai), mpk_isai_destroy(&fresh);
                }
    mpk_context_destroy(&ctx);
}

/* ---- limits ------------------------------------------------------------------------------------- */

static void test_limits(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++) {
            csc a = make(60, scalar, band, 0);
            mpk_isai_options o = options_of(kind);
            mpk_isai *isai = NULL;
            mpk_isai_info info;
            bool *s2 = power_of(&a, kind, 2), *s1 = power_of(&a, kind, 1);
            const size_t n = 60;
            int64_t over = 0;
            int32_t first = -1;
            const int32_t limit = kind == MPK_ISAI_GENERAL ? 16 : 8;
            o.power = 2, o.limit = limit;
            for (size_t j = 0; j < n; j++) { /* LESS: the first power, or the diagonal */
                int64_t count[2] = {0};
                for (size_t i = 0; i < n; i++) count[0] += s1[i + j * n], count[1] += s2[i + j * n];
                over += count[1] > o.limit;
                if (count[1] > o.limit && first < 0) first = (int32_t)j;
                for (size_t i = 0; i < n && count[1] > o.limit; i++)
                    s2[i + j * n] = count[0] > o.limit ? i == j : s1[i + j * n];
            }
            assert_true(over > 5 && over < 60);
            assert_int_equal(mpk_isai_create(ctx, scalar, a.n, a.ptr, a.row, a.val, &o, &isai),
                             MPK_ERR_ARGUMENT);
            char text[32];
            snprintf(text, sizeof text, "column %d ", first + 1);
            assert_non_null(strstr(text_of(ctx, NULL), text));
            o.over = MPK_ISAI_LESS;
            isai = create(ctx, &a, &o);
            mpk_isai_info_get(isai, &info);
            assert_int_equal(info.over, over);
            assert_true(check(ctx, &a, kind, isai, s2) <= 200);
            mpk_isai_destroy(&isai);
            /* the largest: the equation holds, no column is longer, and each has what it may have */
            o.over = MPK_ISAI_LARGEST;
            isai = create(ctx, &a, &o);
            mpk_isai_info_get(isai, &info);
            assert_int_equal(info.over, over);
            assert_int_equal(info.longest, limit);
            assert_true(check(ctx, &a, kind, isai, NULL) <= 200);
            csc cut = copy_of(ctx, isai, a.n, scalar);
            mpk_isai_destroy(&isai);
            o.limit = 0;
            isai = create(ctx, &a, &o);
            csc whole = copy_of(ctx, isai, a.n, scalar);
            for (int32_t j = 0; j < a.n; j++) {
                double least = INFINITY, left = 0;
                const int64_t had = whole.ptr[j + 1] - whole.ptr[j];
                assert_int_equal(cut.ptr[j + 1] - cut.ptr[j], had > limit ? limit : had);
                for (int64_t e = whole.ptr[j], k = cut.ptr[j]; e < whole.ptr[j + 1]; e++) {
                    const double complex x = scalar_load(scalar, whole.val, e);
                    const double modulus = fabs(creal(x)) + fabs(cimag(x));
                    const bool kept = k < cut.ptr[j + 1] && cut.row[k] == whole.row[e];
                    k += kept;
                    if (whole.row[e] == j) continue;
                    if (kept && modulus < least) least = modulus;
                    if (!kept && modulus > left) left = modulus;
                }
                assert_true(left <= least);
            }
            csc_free(&cut), csc_free(&whole), csc_free(&a);
            mpk_isai_destroy(&isai);
            /* blocks have no smaller power but the diagonal; a limit of 1 is that, too */
            a = make(10, scalar, band, 0);
            o = options_of(kind);
            o.source = MPK_ISAI_BLOCKS, o.block = 5, o.limit = 4, o.over = MPK_ISAI_LESS;
            isai = create(ctx, &a, &o);
            mpk_isai_info_get(isai, &info);
            assert_int_equal(info.over, kind == MPK_ISAI_GENERAL ? 10 : 2);
            mpk_isai_destroy(&isai);
            o.limit = 1, o.over = MPK_ISAI_LARGEST;
            isai = create(ctx, &a, &o);
            mpk_isai_info_get(isai, &info);
            assert_int_equal(info.entries, 10);
            mpk_isai_destroy(&isai);
            csc_free(&a);
            free(s1), free(s2);
        }
    mpk_context_destroy(&ctx);
}

/* ---- what is refused, and what is counted ------------------------------------------------------- */

static void test_empty(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_DEFINITE; kind++)
            for (int32_t n = 0; n < 2; n++) {
                csc a = make(n, scalar, nothing, 1);
                mpk_isai_options o = options_of(kind);
                mpk_isai_info info;
                float x[4] = {3, 3, 3, 3};
                o.relax = 2;
                mpk_isai *isai = create(ctx, &a, &o);
                mpk_isai_info_get(isai, &info);
                assert_int_equal(info.entries, n);
                scalar_store(scalar, x, 0, 3);
                assert_int_equal(mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, 1, x, 1, x, 1), MPK_OK);
                if (n) {
                    const double complex d = scalar_load(scalar, a.val, 0);
                    assert_true(cabs(scalar_load(scalar, x, 0) - 3 / d) <= 8 * eps_of(scalar));
                }
                mpk_isai_destroy(&isai);
                csc_free(&a);
            }
    mpk_isai_info info;
    mpk_isai_info_get(NULL, &info);
    assert_int_equal(info.entries, 0);
    mpk_isai_destroy(NULL);
    mpk_context_destroy(&ctx);
}

static void expect(mpk_context *ctx, const csc *a, const mpk_isai_options *o, mpk_status want,
                   int64_t index, const char *words) {
    mpk_isai *isai = NULL;
    assert_int_equal(mpk_isai_create(ctx, a->scalar, a->n, a->ptr, a->row, a->val, o, &isai), want);
    assert_null(isai);
    int64_t at;
    text_of(ctx, &at);
    assert_int_equal(at, index);
    if (!strstr(text_of(ctx, NULL), words)) fail_msg("%s", text_of(ctx, NULL));
}

static void test_bad_input(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++) {
        csc a = make(40, scalar, band, 0);
        mpk_isai_options o = options_of(MPK_ISAI_LOWER);
        int64_t e = a.ptr[7];
        while (a.row[e] != 7) e++;
        const double complex d = scalar_load(scalar, a.val, e);
        for (o.kind = MPK_ISAI_LOWER; o.kind <= MPK_ISAI_UPPER; o.kind++) {
            scalar_store(scalar, a.val, e, 0);
            expect(ctx, &a, &o, MPK_ERR_INPUT, 7, "column 8 ");
            scalar_store(scalar, a.val, e, INFINITY);
            expect(ctx, &a, &o, MPK_ERR_INPUT, 7, "column 8 ");
            scalar_store(scalar, a.val, e, NAN);
            expect(ctx, &a, &o, MPK_ERR_INPUT, 7, "column 8 ");
            scalar_store(scalar, a.val, e, scalar == MPK_S || scalar == MPK_C ? 1e-39 : 1e-309);
            expect(ctx, &a, &o, MPK_ERR_NUMERIC, o.kind == MPK_ISAI_LOWER ? 3 : 7, "not finite");
        }
        scalar_store(scalar, a.val, e, d);
        a.row[e] = 41;
        expect(ctx, &a, &o, MPK_ERR_INPUT, 7, "column 8 ");
        a.row[e] = a.row[e - 1];
        expect(ctx, &a, &o, MPK_ERR_INPUT, 7, "column 8 ");
        a.row[e] = 7;
        o = options_of(MPK_ISAI_LOWER);
        o.ptr = a.ptr;
        expect(ctx, &a, &o, MPK_ERR_ARGUMENT, -1, "both");
        o.ptr = NULL, o.source = MPK_ISAI_GIVEN;
        expect(ctx, &a, &o, MPK_ERR_ARGUMENT, -1, "pattern");
        o = options_of((mpk_isai_kind)4);
        expect(ctx, &a, &o, MPK_ERR_ARGUMENT, -1, "kind");
        o = options_of(MPK_ISAI_LOWER);
        o.power = -1;
        expect(ctx, &a, &o, MPK_ERR_ARGUMENT, -1, "power");
        o = options_of(MPK_ISAI_LOWER);
        o.struct_size = 0;
        expect(ctx, &a, &o, MPK_ERR_ARGUMENT, -1, "init");
        csc_free(&a);
    }
    mpk_context_destroy(&ctx);
}

/* Systems without a solution: counted, named, and the diagonal alone. */
static void test_fallbacks(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_GENERAL; kind <= MPK_ISAI_DEFINITE; kind++) {
            csc a = make(12, scalar, nothing, 1);
            /* rows 4 and 5: [4 2; 2 1], singular; row 9: zero */
            int64_t ptr[13];
            int32_t row[14];
            double complex val[14];
            int64_t nnz = 0;
            for (int32_t j = 0; j < 12; j++) {
                ptr[j] = nnz;
                if (j == 5) row[nnz] = 4, val[nnz++] = 2;
                row[nnz] = j, val[nnz++] = j == 4 ? 4 : j == 5 ? 1 : j == 9 ? 0 : 16;
                if (j == 4) row[nnz] = 5, val[nnz++] = 2;
            }
            ptr[12] = nnz;
            void *v = malloc((size_t)nnz * sizeof *val);
            for (int64_t e = 0; e < nnz; e++) scalar_store(scalar, v, e, val[e]);
            mpk_isai *isai = NULL;
            mpk_isai_info info;
            const mpk_isai_options o = options_of(kind);
            assert_int_equal(mpk_isai_create(ctx, scalar, 12, ptr, row, v, &o, &isai),
                             MPK_SINGULAR);
            assert_non_null(isai);
            mpk_isai_info_get(isai, &info);
            /* definite: column 4 is that of its own diagonal */
            assert_int_equal(info.fallbacks, kind == MPK_ISAI_GENERAL ? 3 : 2);
            assert_int_equal(info.first_fallback, kind == MPK_ISAI_GENERAL ? 4 : 5);
            int64_t at;
            text_of(ctx, &at);
            assert_int_equal(at, info.first_fallback);
            void *x = malloc(12 * mpk_scalar_size(scalar));
            for (int i = 0; i < 12; i++) scalar_store(scalar, x, i, 1);
            assert_int_equal(mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, 1, x, 12, x, 12), MPK_OK);
            for (int i = 0; i < 12; i++) {
                const double want = i == 4 ? 0.25 : i == 5 || i == 9 ? 1 : 0.0625;
                assert_true(cabs(scalar_load(scalar, x, i) - want) <= 8 * eps_of(scalar));
            }
            free(x), free(v);
            mpk_isai_destroy(&isai);
            csc_free(&a);
        }
    mpk_context_destroy(&ctx);
}

static int stop(const char *stage, double fraction, void *user) {
    (void)stage, (void)fraction, (void)user;
    return 1;
}

/* The k-th allocation fails: reported, and nothing is lost. */
static void test_no_memory(void **unused) {
    (void)unused;
    for (int kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_DEFINITE; kind++) {
        csc a = make(30, MPK_Z, band, kind == MPK_ISAI_DEFINITE);
        bool through = false;
        for (int64_t k = 1; !through; k++) {
            failing f = {.fail_at = k};
            mpk_allocator allocator = {failing_alloc, failing_release, &f};
            mpk_context *ctx = NULL;
            mpk_isai *isai = NULL;
            mpk_status status = mpk_context_create(&allocator, &ctx);
            mpk_isai_options o = options_of((mpk_isai_kind)kind);
            o.relax = 1, o.threads = 2, o.limit = 3, o.over = MPK_ISAI_LARGEST;
            o.precision = MPK_PRECISION_SINGLE;
            double complex x[30] = {1};
            if (!mpk_failed(status))
                status = mpk_isai_create(ctx, MPK_Z, a.n, a.ptr, a.row, a.val, &o, &isai);
            if (!mpk_failed(status)) status = mpk_isai_update(ctx, a.val, isai);
            if (!mpk_failed(status))
                status = mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, 1, x, 30, x, 30);
            through = f.calls < k;
            if (!through) assert_int_equal(status, MPK_ERR_MEMORY);
            if (through) assert_int_equal(status, MPK_OK);
            mpk_isai_destroy(&isai);
            mpk_context_destroy(&ctx);
            assert_int_equal(f.held, 0);
        }
        mpk_context *ctx = begin();
        mpk_isai *isai = NULL;
        mpk_isai_options o = options_of((mpk_isai_kind)kind);
        mpk_context_set_progress(ctx, stop, NULL);
        assert_int_equal(mpk_isai_create(ctx, MPK_Z, a.n, a.ptr, a.row, a.val, &o, &isai),
                         MPK_ERR_CANCELLED);
        assert_null(isai);
        mpk_context_destroy(&ctx);
        csc_free(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers),     cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_lengths),    cmocka_unit_test(test_long),
        cmocka_unit_test(test_relaxation), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_update),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_empty),      cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_fallbacks),  cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
