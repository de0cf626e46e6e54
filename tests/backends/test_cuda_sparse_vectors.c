/* SPDX-License-Identifier: BSD-3-Clause */
/* Products, residuals, scales and whole solves on a device beside the processor's: on a GPU, or on the
 * module that computes on the host. */
#include "device_krylov.h"

#include "backends/sparse.h"
#include "analysis/analysis.h"
#include "backends/cuda/vectors/vectors.h"
#include "problem/columns.h"
#include "problem/full.h"
#include "problem/measure.h"
#include "problem/problem.h"

#undef mpk_krylov_solve

static mpk_context *context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

static void refused(mpk_context *ctx, mpk_status got, mpk_status expected, const char *word) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    if (got != expected) fail_msg("status %d, not %d: %s", got, expected, text);
    if (!strstr(text, word)) fail_msg("%s: %s", word, text);
}

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN},
             {MPK_S, MPK_GENERAL},   {MPK_D, MPK_GENERAL},   {MPK_C, MPK_GENERAL},
             {MPK_Z, MPK_GENERAL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* ---- matrices ---- */

/* Entries of the lower triangle (all of them: general) by columns. */
typedef struct sparse {
    mpk_problem_view a;
    int64_t *ap;
    int32_t *ai;
    void *ax;
} sparse;

/* Is (i, j) an entry? shape 0: the diagonal and a few below; 1: the last row is full, and the last
 * column of a general matrix; 2: rows without entries between others */
static bool has(int shape, int32_t n, int32_t i, int32_t j) {
    const int32_t d = i < j ? j - i : i - j;
    if (shape == 2 && (i % 3 == 1 || j % 3 == 1)) return false;
    if (shape == 1 && (i == n - 1 || j == n - 1)) return true;
    return d == 0 || d == 1 || d == 7 || d == 8;
}

static sparse sparse_of(int shape, int32_t n, int kind) {
    const mpk_scalar scalar = kinds[kind].scalar;
    const mpk_symmetry symmetry = kinds[kind].symmetry;
    sparse s = {0};
    for (int turn = 0; turn < 2; turn++) {
        int64_t k = 0;
        for (int32_t j = 0; j < n; j++) {
            if (turn) s.ap[j] = k;
            for (int32_t i = symmetry == MPK_GENERAL ? 0 : j; i < n; i++) {
                if (!has(shape, n, i, j)) continue;
                if (turn) {
                    s.ai[k] = i;
                    const double complex x = uniform() + uniform() * I;
                    scalar_store(scalar, s.ax, k,
                                 i == j && symmetry == MPK_HERMITIAN ? creal(x) : x);
                }
                k++;
            }
        }
        if (turn) {
            s.ap[n] = k;
            continue;
        }
        s.ap = calloc((size_t)n + 1, sizeof *s.ap);
        s.ai = calloc((size_t)k + 1, sizeof *s.ai);
        s.ax = calloc((size_t)k + 1, mpk_scalar_size(scalar));
    }
    s.a = (mpk_problem_view){n, s.ap[n], scalar, symmetry, s.ap, s.ai, s.ax};
    return s;
}

static void sparse_free(sparse *s) {
    free(s->ap), free(s->ai), free(s->ax);
}

static mpk_status make_problem(mpk_context *ctx, const sparse *s, mpk_problem **problem) {
    return mpk_problem_from_csc(ctx, s->a.n, s->a.scalar, s->a.symmetry,
                                s->a.symmetry == MPK_GENERAL ? MPK_FULL : MPK_LOWER, s->ap, s->ai,
                                s->ax, problem);
}

static void *vector(int32_t n, mpk_scalar scalar) {
    void *x = calloc((size_t)n + 1, mpk_scalar_size(scalar));
    for (int32_t i = 0; i < n; i++) scalar_store(scalar, x, i, uniform() + uniform() * I);
    return x;
}

static void *up(const mpki_device *d, const void *host, int64_t bytes) {
    void *p = NULL;
    assert_int_equal(d->table->alloc(d->cuda, bytes > 0 ? bytes : 8, &p), 0);
    assert_int_equal(d->table->copy(d->cuda, p, bytes, host, bytes, bytes, 1, 1, NULL), 0);
    assert_int_equal(d->table->synchronize(d->cuda, NULL), 0);
    return p;
}

/* ---- cases ---- */

/* b - A x and |A| |x| + |b| as the processor has them. */
static void measure_case(const mpki_vector_engine *engine, mpki_matrix *m, const sparse *s,
                         const void *x, const void *b) {
    const int32_t n = s->a.n;
    const size_t size = mpk_scalar_size(s->a.scalar);
    double *work = calloc((size_t)n, MPKI_RESIDUAL_WORK(s->a.scalar) * sizeof *work + 1);
    double *w[2], unit = single(s->a.scalar) ? 0x1p-23 : 0x1p-52;
    void *r[2];
    for (int e = 0; e < 2; e++) r[e] = calloc((size_t)n, size), w[e] = calloc((size_t)n, 8);
    mpki_residual(&s->a, x, b, r[0], w[0], work);
    assert_int_equal(engine->measure(m, x, b, r[1], w[1], NULL, NULL), MPK_OK);
    for (int32_t i = 0; i < n; i++) {
        const double a = creal(scalar_load(s->a.scalar, r[0], i));
        assert_true(fabs(w[0][i] - w[1][i]) <= n * 0x1p-52 * w[0][i]);
        assert_true(fabs(a - creal(scalar_load(s->a.scalar, r[1], i))) <=
                    unit * fabs(a) + n * (single(s->a.scalar) ? 0x1p-52 : n * 0x1p-104) * w[0][i]);
    }
    for (int e = 0; e < 2; e++) free(r[e]), free(w[e]);
    free(work);
}

/* What rows say of x: on the device as on the processor; x and b `size` times as large, and one entry of x
 * `odd`. Where only the device says that they are near the ends of the range, squares would be. Returns
 * whether it has errors. */
static bool judge_case(const mpki_vector_engine *engine, mpki_matrix *m, const sparse *s,
                       const void *x, const void *b, double size, double odd) {
    const int32_t n = s->a.n;
    const mpk_scalar scalar = s->a.scalar;
    const size_t bytes = (size_t)n * mpk_scalar_size(scalar);
    void *v[2] = {calloc(1, bytes + 8), calloc(1, bytes + 8)}, *r = calloc(1, bytes + 8);
    double *w = calloc((size_t)n + 1, 8), *sums = calloc((size_t)n + 1, 8);
    mpki_system system = {.a = s->a, .row_norm = sums};
    mpki_quality q[2];
    mpki_judged judged = {0};
    const void *const from[] = {x, b};
    for (int k = 0; k < 2; k++)
        for (int32_t i = 0; i < n; i++)
            scalar_store(scalar, v[k], i, size * creal(scalar_load(scalar, from[k], i)));
    if (n > 0 && odd != 0) scalar_store(scalar, v[0], n / 2, odd);
    system.norm_inf = mpki_row_sums(&s->a, sums);
    assert_int_equal(engine->measure(m, v[0], v[1], r, w, sums, &judged), MPK_OK);
    const bool here = MPKI_DISPATCH(scalar, quality)(&system, v[0], v[1], r, w, &q[0]);
    const bool there = MPKI_DISPATCH(scalar, quality_of)(&system, &judged, &q[1]);
    if (there) {
        assert_true(here);
        assert_true(fabs(q[0].componentwise - q[1].componentwise) <= 1e-9 * q[0].componentwise);
        assert_true(fabs(q[0].normwise - q[1].normwise) <= 1e-12 * q[0].normwise);
        assert_true(fabs(q[0].relative - q[1].relative) <= 1e-12 * q[0].relative);
        assert_true(fabs(q[0].growth - q[1].growth) <= 1e-12 * q[0].growth);
        assert_true(n == 0 || q[1].relative > 0);
    } else if (here) {
        assert_true(judged.odd && size < 1e-100);
    }
    for (int k = 0; k < 2; k++) free(v[k]);
    free(r), free(w), free(sums);
    return there;
}

/* A whose values the device mirrors, made and given values twice: the same products, bit by bit, as of
 * one that was mirrored on the host; `x` and `y` lie on the device, y = A x. */
static void mirror_case(mpk_context *ctx, const mpki_engine *engine, const sparse *s, const void *x,
                        const void *y) {
    const mpki_vector_engine *v = engine->vectors;
    const mpki_device *d = mpki_cuda_kept(ctx);
    const int64_t size = (int64_t)mpk_scalar_size(s->a.scalar), bytes = s->a.n * size;
    char *host[2] = {calloc(1, (size_t)bytes + 16), calloc(1, (size_t)bytes + 16)};
    void *other = calloc((size_t)s->a.nnz + 1, (size_t)size);
    mpki_full pattern;
    mpki_matrix *m = NULL;
    assert_int_equal(mpki_full_pattern(ctx, &s->a, 1, &pattern, NULL), MPK_OK);
    assert_null(pattern.val);
    assert_int_equal(v->matrix_of(ctx, &s->a, &pattern, NULL, 0, &m), MPK_OK);
    assert_int_equal(v->matrix_values(m, NULL, 0, other), MPK_OK);
    assert_int_equal(v->matrix_values(m, NULL, 0, s->a.ax), MPK_OK);
    void *there = up(d, host[0], bytes);
    assert_int_equal(v->multiply(m, x, there), MPK_OK);
    assert_int_equal(engine->copy(ctx, host[0], bytes, y, bytes, bytes, 1, false), MPK_OK);
    assert_int_equal(engine->copy(ctx, host[1], bytes, there, bytes, bytes, 1, false), MPK_OK);
    assert_memory_equal(host[0], host[1], bytes);
    if (s->a.scalar < MPK_C) { /* row sums and scales as the processor has them */
        const size_t all = (size_t)s->a.n + 1;
        double *sums[2], *scale[2], *size = calloc((size_t)s->a.nnz + 1, sizeof *size);
        for (int e = 0; e < 2; e++)
            sums[e] = calloc(all, sizeof **sums), scale[e] = calloc(all, sizeof **scale);
        MPKI_DISPATCH(s->a.scalar, column_moduli)(s->a.nnz, s->a.ax, size);
        mpki_row_sums(&s->a, sums[0]);
        assert_int_equal(v->row_sums(m, sums[1]), MPK_OK);
        assert_memory_equal(sums[0], sums[1], all * sizeof **sums);
        for (int sweeps = 0; sweeps < 3;
             sweeps++) { /* from scales that are even, and far from that */
            for (int32_t i = 0; i < s->a.n; i++)
                scale[0][i] = scale[1][i] = ldexp(1, sweeps == 2 ? i % 7 * 150 - 450 : 0);
            assert_int_equal(mpki_equilibrate(ctx, s->a.n, s->ap, s->ai, size, sweeps, 1, scale[0]),
                             MPK_OK);
            assert_int_equal(v->equilibrate(m, sweeps, scale[1]), MPK_OK);
            assert_memory_equal(scale[0], scale[1], all * sizeof **scale);
        }
        for (int e = 0; e < 2; e++) free(sums[e]), free(scale[e]);
        free(size);
    }
    if (s->a.nnz > 0) { /* the limit counts the room in which values arrive */
        const double limit = (double)v->matrix_bytes(m);
        assert_int_equal(v->matrix_values(m, NULL, limit, s->a.ax), MPK_ERR_MEMORY);
        assert_int_equal(v->matrix_values(m, NULL, limit + 16.0 * (double)s->a.nnz, s->a.ax),
                         MPK_OK);
    }
    v->matrix_free(ctx, &m);
    assert_int_equal(v->matrix_of(ctx, &s->a, &pattern, NULL, 1, &m), MPK_ERR_MEMORY);
    assert_null(m);
    mpki_clear_error(ctx);
    d->table->release(d->cuda, there);
    mpki_full_free(ctx, &pattern);
    free(host[0]), free(host[1]), free(other);
}

/* A x and b - A x, where all that is left of b is rounding. */
static void product_case(mpk_context *ctx, int shape, int32_t n, int kind) {
    const mpk_scalar scalar = kinds[kind].scalar;
    const int64_t bytes = n * (int64_t)mpk_scalar_size(scalar);
    const double unit = single(scalar) ? 0x1p-23 : 0x1p-52;
    sparse s = sparse_of(shape, n, kind);
    const mpki_engine *engine = mpki_cuda_engine(ctx, 0);
    assert_non_null(engine);
    const mpki_vector_engine *both[] = {&mpki_cpu_vectors, engine->vectors};
    const mpki_device *d = mpki_cuda_kept(ctx);
    void *x = vector(n, scalar), *y[2], *r[2], *b = NULL;
    double error[2];
    for (int e = 0; e < 2; e++) {
        mpki_full full;
        mpki_matrix *m = NULL;
        y[e] = calloc(1, (size_t)bytes + 16), r[e] = calloc(1, (size_t)bytes + 16);
        assert_int_equal(mpki_full_make(ctx, &s.a, 1, &full, NULL), MPK_OK);
        assert_int_equal(both[e]->matrix_make(ctx, &full, NULL, 0, &m), MPK_OK);
        if (e == 0) {
            assert_int_equal(both[e]->multiply(m, x, y[e]), MPK_OK);
            b = y[e];
            assert_int_equal(both[e]->residual(m, 8, x, b, 0, r[e], &error[e]), MPK_OK);
            both[e]->matrix_free(ctx, &m);
            continue;
        }
        assert_true(both[e]->matrix_bytes(m) > 0);
        void *dx = up(d, x, bytes), *db = up(d, b, bytes), *dy = up(d, b, bytes);
        for (int twice = 0; twice < 2; twice++) { /* counters are as they were */
            assert_int_equal(both[e]->multiply(m, dx, dy), MPK_OK);
            if (!twice && s.a.symmetry != MPK_GENERAL) mirror_case(ctx, engine, &s, dx, dy);
            mpki_space *space = NULL;
            const mpki_vector_ops *ops = both[e]->ops[scalar];
            assert_int_equal(ops->make(ctx, scalar, n, 0, NULL, 0, &space, NULL), MPK_OK);
            ops->give(space, dy, y[e]);
            assert_int_equal(both[e]->residual(m, 8, dx, db, 0, dy, &error[e]), MPK_OK);
            ops->give(space, dy, r[e]);
            /* and the cheap one, where its error does not matter */
            double rough;
            assert_int_equal(both[e]->residual(m, 8, dx, db, 1e6, dy, &rough), MPK_OK);
            assert_true(rough >= error[e] && rough <= 1e5);
            void *cheap = calloc(1, (size_t)bytes + 16);
            ops->give(space, dy, cheap);
            for (int32_t i = 0; i < n; i++)
                assert_true(cabs(scalar_load(scalar, cheap, i)) <= 4 * n * unit);
            free(cheap);
            assert_int_equal(ops->status(space), MPK_OK);
            ops->free(ctx, &space);
        }
        d->table->release(d->cuda, dx), d->table->release(d->cuda, db);
        d->table->release(d->cuda, dy);
        if (scalar < MPK_C) {
            measure_case(both[e], m, &s, x, b);
            assert_true(judge_case(both[e], m, &s, x, b, 1, 0));
            if (n > 0) {
                assert_false(judge_case(both[e], m, &s, x, b, 1, NAN));
                assert_false(judge_case(both[e], m, &s, x, b, 1, INFINITY));
                assert_false(judge_case(both[e], m, &s, x, b, single(scalar) ? 1e-35 : 1e-200, 0));
                assert_false(judge_case(both[e], m, &s, x, b, single(scalar) ? 1e38 : 1e305, 0));
            }
        }
        both[e]->matrix_free(ctx, &m);
    }
    double difference = 0, size = 0;
    for (int32_t i = 0; i < n; i++) {
        const double complex p = scalar_load(scalar, y[0], i), q = scalar_load(scalar, y[1], i);
        const double long_row = i == n - 1 && shape == 1 ? sqrt(n) : 8;
        assert_true(cabs(p - q) <= 8 * long_row * unit * (1 + cabs(p)));
        difference += pow(cabs(scalar_load(scalar, r[0], i) - scalar_load(scalar, r[1], i)), 2);
        size += pow(cabs(scalar_load(scalar, r[0], i)), 2);
    }
    assert_true(sqrt(difference) <= error[0] + error[1]);
    assert_true(n < 2 || shape == 2 || size > 0);
    assert_true(error[1] <= 4 * error[0] + 1e-300 && error[1] >= 0);
    for (int e = 0; e < 2; e++) free(y[e]), free(r[e]);
    free(x);
    sparse_free(&s);
}

static void test_products(void **unused) {
    (void)unused;
    static const int32_t orders[] = {1, 2, 33, 1500};
    mpk_context *ctx = context();
    for (int kind = 0; kind < KINDS; kind++)
        for (int shape = 0; shape < 3; shape++)
            for (int k = 0; k < 4; k++) product_case(ctx, shape, orders[k], kind);
    mpk_context_destroy(&ctx);
}

/* A row that is longer than what one block takes is cut, and its pieces add up in their order. */
static void test_long_rows(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    for (int kind = 0; kind < KINDS; kind++) product_case(ctx, 1, 4500, kind);
    mpk_context_destroy(&ctx);
}

/* More chunks than blocks are at work at once, and not so many that each would have two: a diagonal matrix. */
static void test_many_chunks(void **unused) {
    (void)unused;
    enum { N = (MPKI_CUDA_PRODUCT_BLOCKS(8) + 40) * MPKI_CUDA_CHUNK_ROWS };
    mpk_context *ctx = context();
    const mpki_engine *engine = mpki_cuda_engine(ctx, 0);
    const mpki_vector_engine *v = engine->vectors;
    const mpki_device *d = mpki_cuda_kept(ctx);
    const int64_t bytes = (int64_t)N * 8;
    sparse s = {.ap = calloc((size_t)N + 1, 8), .ai = calloc(N, 4), .ax = calloc(N, 8)};
    s.a = (mpk_problem_view){N, N, MPK_D, MPK_SYMMETRIC, s.ap, s.ai, s.ax};
    double *x = calloc(N, 8);
    for (int32_t i = 0; i < N; i++) {
        s.ap[i + 1] = i + 1, s.ai[i] = i, x[i] = 1 + i % 5;
        ((double *)s.ax)[i] = i % 3 - 1;
    }
    mpki_full full;
    mpki_matrix *m = NULL;
    assert_int_equal(mpki_full_make(ctx, &s.a, 1, &full, NULL), MPK_OK);
    assert_int_equal(v->matrix_make(ctx, &full, NULL, 0, &m), MPK_OK);
    void *dx = up(d, x, bytes), *dy = up(d, x, bytes);
    assert_int_equal(v->multiply(m, dx, dy), MPK_OK);
    double *y = calloc(N, 8);
    assert_int_equal(engine->copy(ctx, y, bytes, dy, bytes, bytes, 1, false), MPK_OK);
    for (int32_t i = 0; i < N; i++) assert_true(y[i] == (i % 3 - 1) * x[i]);
    d->table->release(d->cuda, dx), d->table->release(d->cuda, dy);
    v->matrix_free(ctx, &m);
    sparse_free(&s), free(x), free(y);
    mpk_context_destroy(&ctx);
}

/* ---- operations ---- */

/* Each slot beside the processor's, in vectors shorter and longer than a block takes. */
static void operation_case(mpk_context *ctx, mpk_scalar scalar, int32_t n) {
    const int64_t bytes = n * (int64_t)mpk_scalar_size(scalar);
    const double unit = single(scalar) ? 0x1p-23 : 0x1p-52;
    const mpki_vector_ops *both[] = {mpki_cpu_vectors.ops[scalar],
                                     mpki_cuda_engine(ctx, 0)->vectors->ops[scalar]};
    const mpki_number a = {0.5, scalar >= MPK_C ? -0.25 : 0}, c = {-2, 0}, none = {0, 0};
    char *out[2][6];
    double sums[2][12];
    for (int e = 0; e < 2; e++) {
        const mpki_vector_ops *f = both[e];
        mpki_space *s = NULL;
        void *v[3];
        uint64_t state = 5;
        assert_int_equal(f->make(ctx, scalar, n, 3, NULL, 0, &s, v), MPK_OK);
        for (int k = 0; k < 6; k++) out[e][k] = calloc(1, (size_t)bytes + 16);
        f->random(s, &state, v[0]);
        f->random(s, &state, v[1]);
        f->give(s, v[1], out[e][0]);
        f->signs(s, v[2]);
        f->give(s, v[2], out[e][1]);
        double *t = sums[e];
        for (int hermitian = 0; hermitian < 2; hermitian++) {
            const mpki_product p = f->product(s, hermitian, v[0], v[1]);
            const mpki_number dot = f->dot(s, hermitian, v[0], v[1]);
            t[3 * hermitian] = p.dot.re, t[3 * hermitian + 1] = p.dot.im;
            t[3 * hermitian + 2] = p.norm_x * 1000 + p.norm_y;
            assert_true(dot.re == p.dot.re && dot.im == p.dot.im);
        }
        t[6] = f->norm(s, v[0]);
        t[7] = f->axpy_norm(s, a, v[0], v[1]);
        f->give(s, v[1], out[e][2]);
        f->axpy(s, c, v[2], v[1]);
        t[8] = f->axpby_norm(s, c, v[0], a, v[1]);
        f->axpby(s, a, v[2], c, v[1]);
        f->give(s, v[1], out[e][3]);
        f->axpby(s, a, v[0], none, v[2]);
        f->give(s, v[2], out[e][4]);
        f->scale(s, c, v[2], v[2]);
        f->give(s, v[2], out[e][5]);
        t[9] = f->largest(s, v[1]);
        assert_true(f->finite(s, v[1]) && f->first_nonfinite(s, v[1]) == -1);
        f->copy(s, v[1], v[0]);
        assert_true(f->equal(s, v[0], v[1]) && (n == 0 || !f->equal(s, v[0], v[2])));
        f->zero(s, v[0]);
        t[10] = f->norm(s, v[0]), t[11] = (double)(state >> 20);
        char *bad = calloc(1, (size_t)bytes + 16);
        if (n > 0) scalar_store(scalar, bad, n - 1, NAN);
        f->take(s, bad, v[0]);
        assert_true(f->first_nonfinite(s, v[0]) == n - 1 && !f->finite(s, v[0]));
        assert_true(f->largest(s, v[0]) == INFINITY && isnan(f->norm(s, v[0])));
        free(bad);
        assert_int_equal(f->status(s), MPK_OK);
        f->free(ctx, &s);
        assert_null(s);
    }
    assert_memory_equal(out[0][0], out[1][0], bytes);
    assert_memory_equal(out[0][1], out[1][1], bytes);
    for (int k = 2; k < 6; k++)
        for (int32_t i = 0; i < n; i++)
            assert_true(cabs(scalar_load(scalar, out[0][k], i) -
                             scalar_load(scalar, out[1][k], i)) <= 64 * unit);
    for (int k = 0; k < 12; k++)
        assert_true(fabs(sums[0][k] - sums[1][k]) <= 64 * unit * (n + fabs(sums[0][k])));
    for (int k = 0; k < 6; k++) free(out[0][k]), free(out[1][k]);
}

static void test_operations(void **unused) {
    (void)unused;
    static const int32_t orders[] = {1, 31, 127, 1023, 1024, 5000};
    mpk_context *ctx = context();
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (int k = 0; k < 6; k++) operation_case(ctx, (mpk_scalar)scalar, orders[k]);
    mpk_context_destroy(&ctx);
}

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

/* Sums over all rows, as of a step's product q^T A q, have what a row of several chunks adds: ten steps with
 * such a row go as the processor's. */
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

/* gmres and fgmres in batches: several blocks and groups of vectors, cycles and checks that are no multiples of each other;
 * and with longer cycles than batches have. */
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

/* device_memory_limit holds, for the matrix and for the method; and memory that the device has not. */
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
        cmocka_unit_test(test_operations),       cmocka_unit_test(test_products),
        cmocka_unit_test(test_long_rows),        cmocka_unit_test(test_long_row_sums),
        cmocka_unit_test(test_many_chunks),      cmocka_unit_test(test_solves),
        cmocka_unit_test(test_cycles),           cmocka_unit_test(test_ends_of_the_range),
        cmocka_unit_test(test_scales),           cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_memory),           cmocka_unit_test(test_launches_fail),
        cmocka_unit_test(test_allocations_fail), cmocka_unit_test(test_absent)};
    return device_there() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
