/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems of several patterns on a device: each has the bits of an object of its pattern there,
 * whatever the threads, the mask and the memory that the arrays lie in. */
#include "../../../systems/deck.h"
#include "core/pool.h"
#include "device_systems.h"

static deck device_deck(mpk_scalar scalar) {
    deck d = deck_make(NULL, scalar, 0.1);
    d.device = MPK_ON_CUDA;
    expect(&d);
    return d;
}

/* Where kernels run on the host they run one after another. */
static int most_threads(int wanted) {
    return device_is_real() ? wanted : 1;
}

static void clear_x(const deck *d) {
    for (int64_t q = 0; q < d->count; q++) memset(d->x[q], 0, NMOST * SIDES * d->group[0].size);
}

static void test_bits(void **unused) {
    static const mpk_scalar scalars[] = {MPK_D, MPK_S, MPK_Z, MPK_C};
    (void)unused;
    for (int k = 0; k < 4; k++) {
        deck d = device_deck(scalars[k]);
        void **b = apart(&d, NMOST);
        const mpk_batch_array ax = listed(d.ax, 1), x = listed(d.x, NMOST);
        mpk_batch_array rhs = listed(b, NMOST);
        for (int threads = 1; threads <= most_threads(13);
             threads += 4) { /* fewer than patterns, and more */
            mpki_context_set_cores(d.ctx, threads);
            mpk_systems *s = create(&d, threads, 1);
            mpk_systems_info info;
            int32_t status[MOST], tier[MOST];
            double omega[MOST];
            const mpk_systems_results r = {.status = status, .tier = tier, .omega = omega};
            clear_x(&d);
            assert_false(mpk_failed(
                mpk_systems_factorize_solve(d.ctx, s, &ax, SIDES, &rhs, &x, 0, NULL, &r)));
            for (int64_t q = 0; q < d.count; q++) {
                same(&d, q, d.x[q], NMOST);
                if (sizes[d.of[q]] == 1) assert_int_equal(tier[q], MPK_TIER_SINGLE);
                if (status[q] == MPK_OK) assert_true(omega[q] < 1e-5);
            }
            mpk_systems_info_get(s, &info);
            assert_int_equal(info.patterns, GROUPS);
            assert_int_equal(info.width, 1);
            assert_true(info.by_template > 0);
            assert_int_equal(info.by_template + info.by_single, d.count);
            /* columns of each right-hand side follow each other */
            mpk_batch_array packed = listed(d.b, 0), to = listed(d.x, 0);
            clear_x(&d);
            assert_false(
                mpk_failed(mpk_systems_solve(d.ctx, s, SIDES, &packed, &to, 0, NULL, NULL)));
            for (int64_t q = 0; q < d.count; q++) same(&d, q, d.x[q], d.group[d.of[q]].n);
            mpk_systems_destroy(&s);
        }
        free_all(b, d.count);
        deck_free(&d);
    }
}

/* Values, right-hand sides and solutions on the device, by pointers and by a stride; with a mask. */
static void test_memories(void **unused) {
    (void)unused;
    deck d = device_deck(MPK_D);
    int64_t most = 1;
    for (int g = 0; g < GROUPS; g++) most = d.group[g].nnz > most ? d.group[g].nnz : most;
    const int64_t each = NMOST * SIDES;
    double *values = calloc((size_t)(d.count * most), 8),
           *side = calloc((size_t)(d.count * each), 8);
    void **b = apart(&d, NMOST);
    for (int64_t q = 0; q < d.count; q++) {
        memcpy(values + q * most, d.ax[q], (size_t)d.group[d.of[q]].nnz * 8);
        memcpy(side + q * each, b[q], (size_t)each * 8);
    }
    mpk_batch_array ax = strided(values, most, 1), rhs = strided(side, each, NMOST);
    ax = device_array(d.ctx, &ax, d.count * most * 8);
    rhs = device_array(d.ctx, &rhs, d.count * each * 8);
    void *at[2][MOST];
    for (int64_t q = 0; q < d.count; q++) {
        at[0][q] = (double *)ax.data + q * most;
        at[1][q] = (double *)rhs.data + q * each;
    }
    const int64_t bytes = d.count * (int64_t)sizeof(void *);
    mpk_batch_array ax_list = listed(at[0], 1), rhs_list = listed(at[1], NMOST);
    ax_list = device_array(d.ctx, &ax_list, bytes);
    rhs_list = device_array(d.ctx, &rhs_list, bytes);
    uint8_t mask[MOST];
    int32_t status[MOST];
    const mpk_systems_results r = {.status = status};
    for (int64_t q = 0; q < d.count; q++) mask[q] = q % 3 != 1, status[q] = 77;
    for (int threads = 1; threads <= most_threads(5); threads += 4)
        for (int lists = 0; lists < 2; lists++) {
            mpki_context_set_cores(d.ctx, threads);
            double *got = calloc((size_t)(d.count * each), 8);
            mpk_systems *s = create(&d, threads, 1);
            const mpk_batch_array *of = lists ? &ax_list : &ax, *to = lists ? &rhs_list : &rhs;
            assert_int_equal(mpk_device_copy(d.ctx, 0, rhs.data, 8, side, 8, d.count * each * 8, 1),
                             MPK_OK);
            assert_false(mpk_failed(mpk_systems_factorize(d.ctx, s, of, NULL, NULL)));
            assert_false(mpk_failed(mpk_systems_solve(d.ctx, s, SIDES, to, to, 0, mask, &r)));
            device_read(d.ctx, got, rhs.data, d.count * each * 8);
            for (int64_t q = 0; q < d.count; q++) {
                if (!mask[q]) assert_int_equal(status[q], 77);
                if (mask[q])
                    same(&d, q, got + q * each, NMOST);
                else
                    assert_memory_equal(side + q * each, got + q * each, (size_t)each * 8);
            }
            mpk_systems_destroy(&s);
            free(got);
        }
    /* host memory that is said to be the device's */
    mpk_systems *s = create(&d, 1, 1);
    mpk_batch_array bad = strided(values, most, 1);
    bad.memory = MPK_DEVICE;
    assert_int_equal(mpk_systems_factorize(d.ctx, s, &bad, NULL, NULL), MPK_ERR_ARGUMENT);
    mpk_systems_destroy(&s);
    device_leave(d.ctx, ax.data), device_leave(d.ctx, rhs.data);
    device_leave(d.ctx, ax_list.data), device_leave(d.ctx, rhs_list.data);
    free(values), free(side);
    free_all(b, d.count);
    deck_free(&d);
}

/* Every allocation of the device's memory fails once, and a launch. */
static void test_memory(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    static const char *const names[] = {"METAPACK_CUDA_HOST_FULL", "METAPACK_CUDA_HOST_FAIL"};
    deck d = device_deck(MPK_D);
    void **b = apart(&d, NMOST);
    const mpk_batch_array ax = listed(d.ax, 1), rhs = listed(b, NMOST), x = listed(d.x, NMOST);
    for (int k = 0; k < 2; k++)
        for (int fail = 1, passed = 0; !passed; fail += 3) {
            char text[16];
            mpk_systems *s = NULL;
            mpk_options o;
            mpk_options_init(&o);
            o.threads = 1, o.device = MPK_ON_CUDA;
            snprintf(text, sizeof text, "%d", fail);
            setenv(names[k], text, 1);
            mpk_status status = mpk_systems_create_mixed(d.ctx, d.count, d.problem, &o, NULL, &s);
            if (mpk_failed(status)) assert_null(s);
            if (!mpk_failed(status))
                status = mpk_systems_factorize_solve(d.ctx, s, &ax, SIDES, &rhs, &x, 0, NULL, NULL);
            unsetenv(names[k]);
            passed = !mpk_failed(status);
            if (!passed) assert_int_equal(status, k ? MPK_ERR_DEVICE : MPK_ERR_MEMORY);
            assert_true(fail < 300);
            if (!s) s = create(&d, 1, 1);
            assert_false(mpk_failed(
                mpk_systems_factorize_solve(d.ctx, s, &ax, SIDES, &rhs, &x, 0, NULL, NULL)));
            for (int64_t q = 0; q < d.count; q++) same(&d, q, d.x[q], NMOST);
            mpk_systems_destroy(&s);
        }
    free_all(b, d.count);
    deck_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_memories),
                                       cmocka_unit_test(test_memory)};
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
