/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems near the analysed one whose pivots are far from its, and numbers that are refused, on a
 * device (near.h). */
#include "../../../systems/near.h"
#include "device_systems.h"

static void test_small_pivots(void **unused) {
    (void)unused;
    small_pivots(MPK_ON_CUDA);
}

static void test_refused(void **unused) {
    (void)unused;
    refused(MPK_ON_CUDA);
}

/* The same of values that lie there. */
static void test_refused_there(void **unused) {
    enum { N = 9, COUNT = 3 };
    (void)unused;
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < N; i++) {
        dense_set(&m, i, i, 4);
        if (i > 0) dense_set(&m, i, i - 1, 1);
    }
    batch t = batch_make(&m, COUNT, MPK_ON_CUDA);
    mpk_options o;
    mpk_options_init(&o);
    o.device = MPK_ON_CUDA;
    mpk_systems *s = NULL;
    mpk_systems_refusal why;
    *value(&t, 2, 5, 4) = NAN;
    const mpk_batch_array ax = {MPK_BATCH_STRIDED, MPK_HOST, t.ax, t.v.nnz, 1, 1},
                          there = device_array(t.ctx, &ax, COUNT * t.v.nnz * 8);
    assert_int_equal(mpk_systems_create(t.ctx, t.an, &o, NULL, COUNT, &s), MPK_OK);
    assert_int_equal(mpk_systems_factorize(t.ctx, s, &there, NULL, NULL), MPK_PARTIAL);
    assert_int_equal(mpk_systems_refused(t.ctx, s, 2, &why), MPK_OK);
    assert_int_equal(why.what, MPK_REFUSED_VALUE);
    assert_int_equal(why.entry, 9);
    assert_int_equal(why.row, 5);
    assert_int_equal(why.column, 4);
    mpk_systems_destroy(&s);
    device_leave(t.ctx, there.data);
    batch_free(&t);
    free(m.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_pivots),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_refused_there)};
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
