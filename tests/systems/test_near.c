/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems near the analysed one whose pivots are far from its (near.h), and columns that have to
 * wait for a front above. */
#include "near.h"
#include "systems/object.h"

/* Pairs p, q below a dense block. Where the second of them is a pivot of 1/50 it fails for some
 * values near the analysed ones, and comes behind the block; where it is 1/2 it stays. */
static void test_late(void **unused) {
    enum { PAIRS = 20, BLOCK = 60, TOP = 2 * PAIRS, N = TOP + BLOCK };
    (void)unused;
    for (int weak = 0; weak < 2; weak++) {
        dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
        for (int i = 0; i < BLOCK; i++)
            for (int j = 0; j <= i; j++) dense_set(&m, TOP + i, TOP + j, i == j ? 60 : 1);
        for (int k = 0; k < PAIRS; k++) {
            const int p = 2 * k, q = p + 1;
            dense_set(&m, p, p, 1), dense_set(&m, q, p, 1);
            dense_set(&m, q, q, weak ? 1.02 : 1.5);
            for (int i = 0; i < 8; i++) dense_set(&m, TOP + 8 * k % 52 + i, q, 7);
        }
        batch t = batch_make(&m, 1, MPK_ON_CPU);
        mpk_options o;
        int32_t order[N], again[N], place[N], late = 0;
        bool some;
        assert_int_equal(mpki_options_resolve(t.ctx, NULL, &o), MPK_OK);
        o.threads = 1;
        assert_int_equal(mpki_late_order(t.ctx, t.an, &o, order, &some), MPK_OK);
        assert_int_equal(some, weak);
        for (int i = 0; i < N; i++) place[i] = -1;
        for (int i = 0; weak && i < N; i++) place[order[i]] = i;
        for (int i = 0; weak && i < N; i++) assert_true(place[i] >= 0);
        for (int k = 0; weak && k < PAIRS; k++) {
            const int last = place[2 * k] > place[2 * k + 1] ? place[2 * k] : place[2 * k + 1];
            int before = 0;
            for (int i = TOP; i < N; i++) before += place[i] < last;
            assert_true(before == 0 || before == BLOCK);
            late += before == BLOCK;
        }
        assert_int_equal(late > 0, weak);
        if (weak) assert_int_equal(mpki_late_order(t.ctx, t.an, &o, again, &some), MPK_OK);
        if (weak) assert_memory_equal(order, again, sizeof order);
        batch_free(&t);
        free(m.a);
    }
}

static void test_small_pivots(void **unused) {
    (void)unused;
    small_pivots(MPK_ON_CPU);
}

static void test_refused(void **unused) {
    (void)unused;
    refused(MPK_ON_CPU);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_pivots),
                                       cmocka_unit_test(test_late), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
