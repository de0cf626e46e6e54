/* SPDX-License-Identifier: BSD-3-Clause */
/* Products, residuals, scales and operations on vectors on a device beside the processor's: on a
 * GPU, or on the module that computes on the host. */
#include "../device_matrices.h"

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

/* What rows say of x: on the device as on the processor; x and b `size` times as large, and one
 * entry of x `odd`. Where only the device says that they are near the ends of the range, squares
 * would be. Returns whether it has errors. */
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

/* A whose values the device mirrors, made and given values twice: the same products, bit by bit, as
 * of one that was mirrored on the host; `x` and `y` lie on the device, y = A x. */
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

/* More chunks than blocks are at work at once, and not so many that each would have two: a diagonal
 * matrix. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations), cmocka_unit_test(test_products),
        cmocka_unit_test(test_long_rows), cmocka_unit_test(test_many_chunks)};
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
