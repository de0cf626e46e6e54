/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate inverses on a device beside the processor's: the same columns, bit by bit; on a GPU,
 * or on the module that computes on the host. */
#include "isai/matrices.h"

#include "../batch/device_batch.h"
#undef mpk_batch_ldlt
#undef mpk_batch_solve
#undef mpk_batch_gemm
#undef mpk_batch_llt
#undef mpk_batch_ldu

static mpk_isai_options there(mpk_isai_options o) {
    o.memory = MPK_DEVICE;
    return o;
}

/* M, and what is told of it, are the same; definite: but for the last digits of a root. */
static void same(mpk_context *ctx, const csc *a, const mpk_isai *cpu, const mpk_isai *gpu,
                 const char *what) {
    csc p = copy_of(ctx, cpu, a->n, a->scalar), q = copy_of(ctx, gpu, a->n, a->scalar);
    mpk_isai_info i, k;
    mpk_isai_info_get(cpu, &i);
    mpk_isai_info_get(gpu, &k);
    assert_memory_equal(i.columns, k.columns, sizeof i.columns);
    assert_int_equal(i.longest, k.longest);
    assert_int_equal(i.over, k.over);
    assert_int_equal(i.fallbacks, k.fallbacks);
    assert_int_equal(i.first_fallback, k.first_fallback);
    assert_memory_equal(p.ptr, q.ptr, ((size_t)a->n + 1) * sizeof *p.ptr);
    assert_memory_equal(p.row, q.row, (size_t)p.ptr[a->n] * sizeof *p.row);
    for (int64_t e = 0; e < p.ptr[a->n]; e++) {
        const double complex x = scalar_load(a->scalar, p.val, e);
        const double complex y = scalar_load(a->scalar, q.val, e);
        if (x != y)
            fail_msg("%s: scalar %d, entry %lld of row %d: %g%+gi, %g%+gi", what, (int)a->scalar,
                     (long long)e, p.row[e], creal(x), cimag(x), creal(y), cimag(y));
    }
    csc_free(&p), csc_free(&q);
}

/* b and x of the caller's in host memory, then in the device's, then one in the other's place: near
 * what the processor finds. */
static void same_products(mpk_context *ctx, const csc *a, mpk_isai *cpu, mpk_isai *gpu) {
    enum { GAP = 2 };
    const int NRHS = a->n > 100 ? 1 : 9; /* more than are done at once */
    const mpki_device *d = device_open(ctx);
    const int64_t n = a->n, ld = n + GAP, size = (int64_t)mpk_scalar_size(a->scalar);
    const int64_t bytes = ld * NRHS * size;
    void *b = calloc(1, (size_t)bytes + 1), *x = calloc(1, (size_t)bytes + 1);
    void *y = calloc(1, (size_t)bytes + 1), *again = calloc(1, (size_t)bytes + 1);
    for (int64_t k = 0; k < ld * NRHS; k++)
        scalar_store(a->scalar, b, k, sin(k) + cos(3 * k) * (a->scalar >= MPK_C ? I : 0));
    for (int side = MPK_ISAI_AS_IS; side <= MPK_ISAI_ADJOINT; side++)
        for (int where = 0; where < 3; where++) {
            void *db = where ? device_up(d, b, bytes) : b;
            void *dx = where == 2 ? db : where ? device_up(d, y, bytes) : y;
            const mpk_isai_side s = (mpk_isai_side)side;
            assert_int_equal(mpk_isai_apply(ctx, cpu, s, NRHS, b, ld, x, ld), MPK_OK);
            assert_int_equal(mpk_isai_apply(ctx, gpu, s, NRHS, db, ld, dx, ld), MPK_OK);
            if (where == 1) device_down(d, db, NULL, bytes);
            if (where) device_down(d, dx, y, bytes);
            double most = 0, error = 0;
            for (int r = 0; r < NRHS; r++)
                for (int64_t i = 0; i < n; i++) {
                    const int64_t k = i + r * ld;
                    const double complex v = scalar_load(a->scalar, x, k);
                    most = fmax(most, cabs(v));
                    error = fmax(error, cabs(v - scalar_load(a->scalar, y, k)));
                }
            assert_true(error <= 200 * eps_of(a->scalar) * most);
            if (where) assert_memory_equal(y, again, (size_t)(n * size)); /* the same bits */
            memcpy(again, y, (size_t)bytes);
        }
    free(b), free(x), free(y), free(again);
}

static void compare(mpk_context *ctx, const csc *a, const mpk_isai_options *o, bool products,
                    const char *what) {
    const mpk_isai_options t = there(*o);
    mpk_isai *cpu = create(ctx, a, o), *gpu = create(ctx, a, &t);
    same(ctx, a, cpu, gpu, what);
    if (products) same_products(ctx, a, cpu, gpu);
    /* other values of the same pattern */
    const size_t bytes = (size_t)a->ptr[a->n] * mpk_scalar_size(a->scalar);
    void *val = malloc(bytes + 1);
    for (int64_t e = 0; e < a->ptr[a->n]; e++)
        scalar_store(a->scalar, val, e, 1.25 * scalar_load(a->scalar, a->val, e));
    const mpki_device *d = device_open(ctx);
    void *dval = device_up(d, val, (int64_t)bytes);
    assert_int_equal(mpk_isai_update(ctx, val, cpu), MPK_OK);
    assert_int_equal(mpk_isai_update(ctx, dval, gpu), MPK_OK);
    device_down(d, dval, NULL, 0);
    same(ctx, a, cpu, gpu, what);
    free(val);
    mpk_isai_destroy(&cpu), mpk_isai_destroy(&gpu);
}

/* ---- all kinds and patterns ------------------------------------------------------------------ */

static void test_kinds(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (int k = 0; k < SHAPES; k++)
            for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_DEFINITE; kind++) {
                const bool wide = scalar == MPK_D || scalar == MPK_Z;
                csc a;
                if (!wide && k != SCATTERED) continue;
                if (!shape_of(k, kind, scalar, 36, &a)) continue;
                for (int power = wide ? 0 : 2; power <= 2; power++) {
                    mpk_isai_options o = options_of(kind);
                    o.power = power, o.relax = k == 1;
                    o.precision = k == 2 ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
                    compare(ctx, &a, &o, power == 2 && k == (int)scalar, "power");
                }
                mpk_isai_options o = options_of(kind);
                o.source = MPK_ISAI_BLOCKS, o.block = 1 + 4 * k;
                compare(ctx, &a, &o, false, "blocks");
                csc_free(&a);
            }
    mpk_context_destroy(&ctx);
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* One column of `size` entries, in a triangle with some entries of each row; the others are
 * short. */
static void test_lengths(void **unused) {
    (void)unused;
    static const int32_t sizes[] = {1,  2,  3,  4,  5,  8,   9,   16,   17,
                                    31, 32, 33, 64, 65, 128, 129, 1024, 1025};
    mpk_context *ctx = begin();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++) {
            const int32_t size = sizes[k], n = size + 3;
            if (size > 33 && scalar != (size % 2 ? MPK_Z : MPK_D)) continue;
            csc a = make(n, scalar, scattered, 0);
            for (int64_t e = 0; e < a.ptr[n]; e++) { /* mild, or the inverse grows */
                const double complex x = scalar_load(scalar, a.val, e);
                scalar_store(scalar, a.val, e, x * (cabs(x) < 1 ? 9.0 / (9 + size) : 1));
            }
            for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++) {
                if (kind == MPK_ISAI_GENERAL && size > 65) continue;
                if (kind == MPK_ISAI_UPPER && size == 1024) continue;
                const int32_t column = kind == MPK_ISAI_UPPER ? n - 1 : 0;
                int64_t *ptr = calloc((size_t)n + 1, sizeof *ptr);
                int32_t *row = malloc((size_t)size * sizeof *row);
                for (int32_t j = 0; j < n; j++) ptr[j + 1] = j >= column ? size : 0;
                for (int32_t i = 0; i < size; i++)
                    row[i] = kind == MPK_ISAI_UPPER ? n - size + i : i;
                mpk_isai_options o = options_of(kind);
                o.source = MPK_ISAI_GIVEN, o.ptr = ptr, o.row = row;
                compare(ctx, &a, &o, false, "length");
                free(ptr), free(row);
            }
            csc_free(&a);
        }
    mpk_context_destroy(&ctx);
}

/* The whole triangle by columns of an arrow: column 0 and row n - 1 are dense. */
static csc arrow_of(int32_t n) {
    csc a = {.n = n, .scalar = MPK_D};
    const int64_t nnz = 4 * (int64_t)n;
    int64_t at = 0;
    a.ptr = calloc((size_t)n + 1, sizeof *a.ptr);
    a.row = malloc((size_t)nnz * sizeof *a.row);
    a.val = malloc((size_t)nnz * sizeof(double));
    for (int32_t j = 0; j < n; j++) {
        for (int32_t i = j; i < n; i++) {
            if (j > 0 && i > j && i < n - 1) continue;
            a.row[at] = i;
            ((double *)a.val)[at++] = i == j ? 2 + sin(i) : 0.5 * cos(i + 2 * j) / (1 + i % 7);
        }
        a.ptr[j + 1] = at;
    }
    return a;
}

static void test_dense_column(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    csc a = arrow_of(2600); /* rows and columns beyond all short cuts */
    mpk_isai_options o = options_of(MPK_ISAI_LOWER);
    compare(ctx, &a, &o, true, "arrow");
    csc_free(&a);
    a = make(720, MPK_D, arrow, 0);
    for (int64_t e = 0; e < a.ptr[a.n]; e++) {
        const double x = ((double *)a.val)[e];
        ((double *)a.val)[e] = fabs(x) < 1 ? 0.01 * x : x;
    }
    o = options_of(MPK_ISAI_LOWER);
    o.power = 2, o.limit = 20, o.over = MPK_ISAI_LESS; /* all columns reach all rows */
    compare(ctx, &a, &o, false, "far, less");
    o = options_of(MPK_ISAI_LOWER);
    o.power = 2, o.limit = 5, o.over = MPK_ISAI_LARGEST;
    const mpk_isai_options t = there(o);
    mpk_isai *cpu = create(ctx, &a, &o), *gpu = create(ctx, &a, &t);
    same(ctx, &a, cpu, gpu, "far, largest");
    mpk_isai_destroy(&cpu), mpk_isai_destroy(&gpu);
    csc_free(&a);
    mpk_context_destroy(&ctx);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_limits(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++) {
            csc a = make(40, scalar, band, 0);
            mpk_isai_options o = options_of(kind);
            o.power = 3, o.limit = 6, o.over = MPK_ISAI_LESS;
            compare(ctx, &a, &o, false, "less");
            o.over = MPK_ISAI_LARGEST;
            compare(ctx, &a, &o, false, "largest");
            o.source = MPK_ISAI_BLOCKS, o.block = 9, o.over = MPK_ISAI_LESS;
            compare(ctx, &a, &o, false, "less than blocks");
            o = options_of(kind);
            o.power = 3, o.limit = 6;
            for (int side = 0; side < 2; side++) { /* refused, with the same words */
                static char words[2][200];
                static int64_t at[2];
                mpk_isai *isai = NULL;
                const mpk_isai_options t = side ? there(o) : o;
                assert_int_equal(mpk_isai_create(ctx, scalar, a.n, a.ptr, a.row, a.val, &t, &isai),
                                 MPK_ERR_ARGUMENT);
                assert_null(isai);
                snprintf(words[side], sizeof *words, "%s", text_of(ctx, &at[side]));
                if (side) assert_string_equal(words[0], words[1]);
                if (side) assert_int_equal(at[0], at[1]);
            }
            csc_free(&a);
        }
    mpk_context_destroy(&ctx);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_empty(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_DEFINITE; kind++)
        for (int32_t n = 0; n < 2; n++) {
            csc a = make(n, MPK_D, nothing, 1);
            mpk_isai_options o = options_of(kind);
            o.relax = 1;
            compare(ctx, &a, &o, n > 0, "empty");
            csc_free(&a);
        }
    mpk_context_destroy(&ctx);
}

/* The status, the column and the words of the processor. */
static void expect_same(mpk_context *ctx, const csc *a, const mpk_isai_options *o,
                        mpk_status want) {
    char words[2][200];
    int64_t at[2];
    for (int side = 0; side < 2; side++) {
        mpk_isai *isai = NULL;
        const mpk_isai_options t = side ? there(*o) : *o;
        assert_int_equal(mpk_isai_create(ctx, a->scalar, a->n, a->ptr, a->row, a->val, &t, &isai),
                         want);
        snprintf(words[side], sizeof *words, "%s", text_of(ctx, &at[side]));
        if (mpk_failed(want)) assert_null(isai);
        mpk_isai_destroy(&isai);
    }
    assert_int_equal(at[0], at[1]);
    assert_string_equal(words[0], words[1]);
}

static void test_bad_input(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_UPPER; kind++) {
            csc a = make(40, scalar, band, 0);
            const mpk_isai_options o = options_of(kind);
            int64_t e = a.ptr[7];
            while (a.row[e] != 7) e++;
            const double tiny = scalar == MPK_S || scalar == MPK_C ? 1e-39 : 1e-309;
            const double bad[] = {0, INFINITY, NAN, tiny};
            for (int k = 0; k < 4; k++) {
                scalar_store(scalar, a.val, e, bad[k]);
                expect_same(ctx, &a, &o, k < 3 ? MPK_ERR_INPUT : MPK_ERR_NUMERIC);
            }
            scalar_store(scalar, a.val, e, 1);
            mpk_isai *isai = NULL;
            const mpk_isai_options t = there(o);
            a.row[e] = 41; /* said in other words */
            assert_int_equal(mpk_isai_create(ctx, scalar, a.n, a.ptr, a.row, a.val, &t, &isai),
                             MPK_ERR_INPUT);
            int64_t at;
            assert_non_null(strstr(text_of(ctx, &at), "rows must ascend"));
            assert_int_equal(at, 7);
            a.row[e] = 7;
            a.ptr[8] = a.ptr[40] + 9;
            assert_int_equal(mpk_isai_create(ctx, scalar, a.n, a.ptr, a.row, a.val, &t, &isai),
                             MPK_ERR_INPUT);
            assert_null(isai);
            csc_free(&a);
        }
    /* small systems without a solution */
    csc a = make(12, MPK_D, all, 1);
    for (int64_t e = 0; e < a.ptr[12]; e++) ((double *)a.val)[e] = 1;
    for (mpk_isai_kind kind = MPK_ISAI_GENERAL; kind <= MPK_ISAI_DEFINITE; kind++) {
        const mpk_isai_options o = options_of(kind);
        expect_same(ctx, &a, &o, MPK_SINGULAR);
    }
    csc_free(&a);
    mpk_context_destroy(&ctx);
}

static int stop(const char *stage, double fraction, void *user) {
    (void)stage, (void)fraction, (void)user;
    return 1;
}

/* Every allocation and every kernel fails once: reported, nothing is lost. */
static mpk_status all_verbs(mpk_context *ctx, const csc *a, mpk_isai_kind kind) {
    mpk_isai *isai = NULL;
    mpk_isai_options o = there(options_of(kind));
    double complex x[30] = {1};
    o.power = 2, o.relax = 1, o.limit = 3, o.over = MPK_ISAI_LARGEST;
    o.precision = MPK_PRECISION_SINGLE;
    mpk_status status = mpk_isai_create(ctx, MPK_Z, a->n, a->ptr, a->row, a->val, &o, &isai);
    if (!mpk_failed(status)) status = mpk_isai_update(ctx, a->val, isai);
    if (!mpk_failed(status)) status = mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, 1, x, 30, x, 30);
    if (!mpk_failed(status)) status = mpk_isai_get(ctx, isai, NULL, NULL, NULL);
    mpk_isai_destroy(&isai);
    return status;
}

/* With more and more memory for an array it fails, and then does not any more: nothing that is
 * merely useful takes what is needed. */
static void memory_short(mpk_context *ctx, const csc *a, mpk_isai_kind kind) {
    bool enough = false;
    if (getenv("METAPACK_TEST_DEVICE")) return; /* a GPU has it */
    for (int64_t bytes = 1024; bytes < 1 << 17; bytes += bytes / 4) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)bytes);
        setenv("METAPACK_CUDA_HOST_LIMIT", text, 1);
        const mpk_status status = all_verbs(ctx, a, kind);
        unsetenv("METAPACK_CUDA_HOST_LIMIT");
        if (enough || status != MPK_ERR_MEMORY) assert_int_equal(status, MPK_OK);
        enough = status == MPK_OK;
    }
    assert_true(enough);
}

static void test_failures(void **unused) {
    (void)unused;
    for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_DEFINITE; kind++) {
        if (kind == MPK_ISAI_UPPER) continue;
        csc a = make(14, MPK_Z, band, kind == MPK_ISAI_DEFINITE);
        bool through = false;
        for (int64_t k = 1; !through; k++) {
            failing f = {.fail_at = k};
            mpk_allocator allocator = {failing_alloc, failing_release, &f};
            mpk_context *ctx = NULL;
            mpk_status status = mpk_context_create(&allocator, &ctx);
            if (!mpk_failed(status)) status = all_verbs(ctx, &a, kind);
            through = f.calls < k;
            assert_int_equal(status, through ? MPK_OK : MPK_ERR_MEMORY);
            mpk_context_destroy(&ctx);
            assert_int_equal(f.held, 0);
        }
        mpk_context *ctx = begin();
        through = getenv("METAPACK_TEST_DEVICE") != NULL; /* a GPU does not fail on demand */
        for (int k = 1; !through; k++) {
            char text[16];
            snprintf(text, sizeof text, "%d", k);
            setenv("METAPACK_CUDA_HOST_FAIL", text, 1);
            const mpk_status status = all_verbs(ctx, &a, kind);
            unsetenv("METAPACK_CUDA_HOST_FAIL");
            mpk_isai *small = NULL; /* the count begins anew */
            const mpk_isai_options o = there(options_of(MPK_ISAI_LOWER));
            assert_int_equal(mpk_isai_create(ctx, MPK_D, 1, (int64_t[]){0, 1}, (int32_t[]){0},
                                             (double[]){1}, &o, &small),
                             MPK_OK);
            mpk_isai_destroy(&small);
            through = status == MPK_OK;
            assert_int_equal(status, through ? MPK_OK : MPK_ERR_DEVICE);
            assert_true(!through || k > 10);
        }
        if (!getenv("METAPACK_TEST_DEVICE")) {
            setenv("METAPACK_CUDA_HOST_LIMIT", "300", 1);
            assert_int_equal(all_verbs(ctx, &a, kind), MPK_ERR_MEMORY);
            unsetenv("METAPACK_CUDA_HOST_LIMIT");
        }
        memory_short(ctx, &a, kind);
        mpk_context_set_progress(ctx, stop, NULL);
        assert_int_equal(all_verbs(ctx, &a, kind), MPK_ERR_CANCELLED);
        mpk_context_destroy(&ctx);
        csc_free(&a);
    }
    mpk_context *ctx = begin();
    mpk_isai *isai = NULL;
    csc a = make(3, MPK_D, band, 0);
    mpk_isai_options o = there(options_of(MPK_ISAI_LOWER));
    o.device = 77;
    assert_int_equal(mpk_isai_create(ctx, MPK_D, 3, a.ptr, a.row, a.val, &o, &isai),
                     MPK_ERR_DEVICE);
    assert_null(isai);
    csc_free(&a);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_dense_column), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_empty),        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_failures),
    };
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
