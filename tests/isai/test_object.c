/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done with an approximate inverse: relaxation, threads, other values, limits; what is
 * refused, and what is counted. */
#include "../sanitized.h"
#include "matrices.h"

/* ---- use ------------------------------------------------------------------------------------- */

/* Sweeps of relaxation reach the solution of the triangular system, on every side, for several
 * vectors at once; a definite matrix's come nearer with each. */
static void test_relaxation(void **unused) {
    (void)unused;
    enum { N = 30, NRHS = 11, LD = N + 2 };
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
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
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
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
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
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

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_limits(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
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
            /* the largest: the equation holds, no column is longer, and each has what it may
             * have */
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

/* ---- what is refused, and what is counted ---------------------------------------------------- */

static void test_empty(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
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
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP) {
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
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
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
        cmocka_unit_test(test_relaxation), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_update),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_empty),      cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_fallbacks),  cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
