/* SPDX-License-Identifier: BSD-3-Clause */
/** The layer behind both interfaces, from inside: each allocation fails once, nothing is lost. */
#include "../../../plugins/ipopt/handles.h"
#include "../../../plugins/ipopt/system.h"
#include "lower.h"

typedef struct meter {
    int64_t calls, fails_at, alive;
} meter;

static void *meter_alloc(void *user, size_t size) {
    meter *m = user;
    if (++m->calls == m->fails_at) return NULL;
    m->alive++;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void meter_release(void *user, void *ptr, size_t size) {
    (void)size;
    ((meter *)user)->alive--;
    free(ptr);
}

/* The whole life of an instance; the first failure's status. */
static mpk_status live(const mpk_allocator *allocator, const lower *a) {
    ip_pattern *pattern = NULL;
    ip_factor *fac = NULL;
    double x[2][40] = {{0}};
    mpk_status status =
        ip_pattern_create(allocator, a->n, a->ptr, a->row, a->base, MPK_ORDERING_AUTO, &pattern);
    for (int round = 0; !mpk_failed(status) && round < 2; round++) {
        const ip_request request = {1e-8, 1e-20, 0};
        status = ip_factorize(pattern, a->val, &request, &fac);
        for (int i = 0; i < 40; i++) x[0][i] = x[1][i] = i % 3;
        if (!mpk_failed(status)) status = ip_solve(fac, 0, 2, x[0], 40);
        for (int i = 0; !mpk_failed(status) && i < a->n; i++) assert_true(x[0][i] == x[1][i]);
    }
    ip_factor_free(&fac);
    ip_pattern_release(pattern);
    return status;
}

static void each_allocation_fails_once(void **state) {
    (void)state;
    double *full = kkt_full(25, 10);
    lower a = lower_make(35, 1, full);
    int64_t k = 1;
    for (;; k++) {
        meter m = {.fails_at = k};
        const mpk_allocator allocator = {meter_alloc, meter_release, &m};
        mpk_status status = live(&allocator, &a);
        assert_int_equal(m.alive, 0);
        if (m.calls < k) {
            assert_int_equal(status, MPK_OK);
            break;
        }
        assert_int_equal(status, MPK_ERR_MEMORY);
    }
    assert_true(k > 20); /* it was a sweep */
    lower_free(&a);
    free(full);
}

/* A factor keeps the pattern it was made with alive. */
static void factors_outlive_the_handle_of_their_pattern(void **state) {
    (void)state;
    int ptr[] = {0, 1, 2}, row[] = {0, 1};
    double val[] = {4, -2}, x[] = {4, 4};
    ip_pattern *pattern = NULL;
    ip_factor *fac = NULL;
    const ip_request request = {0.01, 0, 0};
    assert_int_equal(ip_pattern_create(NULL, 2, ptr, row, 0, MPK_ORDERING_AUTO, &pattern), MPK_OK);
    assert_int_equal(ip_factorize(pattern, val, &request, &fac), MPK_OK);
    ip_pattern_release(pattern);
    assert_int_equal(ip_solve(fac, 0, 1, x, 2), MPK_OK);
    assert_true(x[0] == 1 && x[1] == -2);
    ip_factor_free(&fac);
    ip_factor_free(&fac);
    ip_pattern_release(NULL);
}

static void handles_are_listed_by_kind(void **state) {
    (void)state;
    int thing[100];
    assert_int_equal(ip_handle_count(), 0);
    assert_false(ip_handle_is(NULL, IP_FACTOR));
    assert_false(ip_handle_remove(NULL, IP_FACTOR));
    for (int k = 0; k < 100; k++)
        assert_true(ip_handle_add(&thing[k], k % 2 ? IP_FACTOR : IP_PATTERN));
    assert_int_equal(ip_handle_count(), 100);
    assert_true(ip_handle_is(&thing[7], IP_FACTOR));
    assert_false(ip_handle_is(&thing[7], IP_PATTERN));
    assert_false(ip_handle_remove(&thing[7], IP_KEEP));
    for (int k = 0; k < 100; k++) {
        assert_true(ip_handle_remove(&thing[k], k % 2 ? IP_FACTOR : IP_PATTERN));
        assert_false(ip_handle_is(&thing[k], k % 2 ? IP_FACTOR : IP_PATTERN));
    }
    assert_int_equal(ip_handle_count(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(factors_outlive_the_handle_of_their_pattern),
        cmocka_unit_test(handles_are_listed_by_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
