/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices with many columns, which all threads take apart, search, turn and count: the bits of one
 * thread, before and after other values; what is wrong is named as one thread names it. */
#include "../sanitized.h"
#include "matrices.h"

enum { N = 40000 }; /* sums and transposes are shared out from 2^15 rows on */

/* A triangle or all of it: a band, and entries that are far away, in all ranges of rows. */
static csc far_and_near(mpk_scalar scalar, mpk_isai_kind kind) {
    static const int32_t steps[] = {1, 7, 901, 15013};
    csc a = {.n = N, .scalar = scalar};
    a.ptr = calloc(N + 1, sizeof *a.ptr);
    a.row = calloc(9 * (size_t)N, sizeof *a.row);
    a.val = calloc(9 * (size_t)N, mpk_scalar_size(scalar));
    for (int32_t j = 0; j < N; j++) {
        int64_t e = a.ptr[j];
        for (int k = 3; k >= 0 && kind != MPK_ISAI_LOWER; k--)
            if (j >= steps[k] && (j + k) % 3) a.row[e++] = j - steps[k];
        a.row[e++] = j;
        for (int k = 0; k < 4 && kind != MPK_ISAI_UPPER; k++)
            if (j + steps[k] < N && (j + k) % 4) a.row[e++] = j + steps[k];
        for (int64_t k = a.ptr[j]; k < e; k++)
            scalar_store(scalar, a.val, k,
                         a.row[k] == j ? 3 : 0.3 * sin((double)k) + 0.2 * cos((double)k) * I);
        a.ptr[j + 1] = e;
    }
    return a;
}

/* Rows and values of M, of a product in either direction, and counts. */
typedef struct numbers {
    csc m;
    void *x[2];
    mpk_isai_info info;
} numbers;

static numbers numbers_of(mpk_context *ctx, mpk_isai *isai, mpk_scalar scalar) {
    numbers r = {.m = copy_of(ctx, isai, N, scalar)};
    mpk_isai_info_get(isai, &r.info);
    for (int k = 0; k < 2; k++) {
        r.x[k] = calloc(N, mpk_scalar_size(scalar));
        for (int32_t i = 0; i < N; i++) scalar_store(scalar, r.x[k], i, sin(i + 1.0));
        assert_int_equal(mpk_isai_apply(ctx, isai, k ? MPK_ISAI_TRANSPOSED : MPK_ISAI_AS_IS, 1,
                                        r.x[k], N, r.x[k], N),
                         MPK_OK);
    }
    return r;
}

static void same(const numbers *a, const numbers *b) {
    const size_t size = mpk_scalar_size(a->m.scalar), entries = (size_t)a->m.ptr[N];
    assert_memory_equal(a->m.ptr, b->m.ptr, (N + 1) * sizeof *a->m.ptr);
    assert_memory_equal(a->m.row, b->m.row, entries * sizeof *a->m.row);
    assert_memory_equal(a->m.val, b->m.val, entries * size);
    for (int k = 0; k < 2; k++) assert_memory_equal(a->x[k], b->x[k], N * size);
    assert_memory_equal(a->info.columns, b->info.columns, sizeof a->info.columns);
    assert_int_equal(a->info.longest, b->info.longest);
    assert_int_equal(a->info.entries, b->info.entries);
    assert_int_equal(a->info.over, b->info.over);
}

static void numbers_free(numbers *r) {
    csc_free(&r->m);
    free(r->x[0]), free(r->x[1]);
}

static void test_bits(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++) {
            if (TEST_SANITIZED && (int)kind != (int)scalar % 3) continue;
            csc a = far_and_near(scalar, kind);
            mpk_isai_options o = options_of(kind);
            numbers one[2];
            o.power = scalar == MPK_D && kind != MPK_ISAI_GENERAL ? 3 : 1;
            o.limit = 40, o.over = MPK_ISAI_LESS;
            o.relax = kind == MPK_ISAI_UPPER;
            if (scalar == MPK_Z) o.precision = MPK_PRECISION_SINGLE;
            for (o.threads = 1; o.threads <= 5; o.threads += TEST_SANITIZED ? 4 : 2) {
                mpk_isai *isai = create(ctx, &a, &o);
                for (int values = 0; values < 2; values++) {
                    numbers r = numbers_of(ctx, isai, scalar);
                    if (o.threads == 1)
                        one[values] = r;
                    else
                        same(&one[values], &r), numbers_free(&r);
                    for (int64_t e = 0; e < a.ptr[N] && values == 0; e++)
                        scalar_store(scalar, a.val, e, 2 * scalar_load(scalar, a.val, e));
                    if (values == 0) assert_int_equal(mpk_isai_update(ctx, a.val, isai), MPK_OK);
                }
                mpk_isai_destroy(&isai);
                for (int64_t e = 0; e < a.ptr[N]; e++) /* as they were */
                    scalar_store(scalar, a.val, e, scalar_load(scalar, a.val, e) / 2);
            }
            /* M of 2 A is M / 2: the update is of these values */
            const double x = cabs(scalar_load(scalar, one[0].m.val, 0));
            const double y = cabs(scalar_load(scalar, one[1].m.val, 0));
            assert_true(fabs(2 * y - x) <= 1e-5 * x);
            numbers_free(&one[0]), numbers_free(&one[1]);
            csc_free(&a);
        }
    mpk_context_destroy(&ctx);
}

static void refused(mpk_context *ctx, const csc *a, const mpk_isai_options *o, mpk_status want,
                    int64_t column, const char *words) {
    mpk_isai *isai = NULL;
    int64_t index;
    assert_int_equal(mpk_isai_create(ctx, a->scalar, N, a->ptr, a->row, a->val, o, &isai), want);
    assert_null(isai);
    assert_non_null(strstr(text_of(ctx, &index), words));
    if (column < 0) { /* whichever it is: for all numbers of threads the same */
        static int64_t first[2] = {-1, -1};
        const int k = want == MPK_ERR_NUMERIC;
        if (first[k] < 0) first[k] = index;
        column = first[k];
    }
    assert_int_equal(index, column);
}

/* Two columns are bad, far apart: the first one is named, by any number of threads. */
static void test_bad(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    csc a = far_and_near(MPK_D, MPK_ISAI_LOWER);
    double *val = a.val;
    mpk_isai_options o = options_of(MPK_ISAI_LOWER);
    for (o.threads = 1; o.threads <= 4; o.threads += 3) {
        const int32_t bad[] = {12345, 39000};
        for (int k = 0; k < 2; k++) val[a.ptr[bad[k]]] = NAN;
        refused(ctx, &a, &o, MPK_ERR_INPUT, bad[0], "NaN");
        for (int k = 0; k < 2; k++) val[a.ptr[bad[k]]] = 0;
        refused(ctx, &a, &o, MPK_ERR_INPUT, bad[0], "is zero");
        for (int k = 0; k < 2; k++) val[a.ptr[bad[k]]] = 1e-320;
        refused(ctx, &a, &o, MPK_ERR_NUMERIC, -1, "is not finite");
        for (int k = 0; k < 2; k++) val[a.ptr[bad[k]]] = 3;
        const int32_t row[2] = {a.row[a.ptr[bad[0]]], a.row[a.ptr[bad[1]]]};
        for (int k = 0; k < 2; k++) a.row[a.ptr[bad[k]]] = k ? N : -1;
        refused(ctx, &a, &o, MPK_ERR_INPUT, bad[0], "rows must ascend");
        for (int k = 0; k < 2; k++) a.row[a.ptr[bad[k]]] = row[k];
        const int64_t ptr = a.ptr[bad[1]];
        a.ptr[bad[1]] = a.ptr[N] + 1; /* rows are not read where pointers are wrong */
        refused(ctx, &a, &o, MPK_ERR_INPUT, bad[1], "descends");
        a.ptr[bad[1]] = ptr;
        o.power = 2, o.limit = 8, o.over = MPK_ISAI_REFUSE;
        refused(ctx, &a, &o, MPK_ERR_ARGUMENT, -1, "the limit is 8");
        o.power = 1, o.limit = 0;
    }
    csc_free(&a);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_bad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
