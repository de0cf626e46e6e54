/* SPDX-License-Identifier: BSD-3-Clause */
/* Certificates of batches: crafted matrices, all scalars and layouts, LLT and LDLT. */
#include "crafted.h"

#include <stdbool.h>

enum { COUNT = 400, MOST = 52 };

/* Matrix b at its place in a layout, entry (i, j). */
static int64_t place(mpk_batch_layout layout, int64_t b, int i, int j) {
    const int64_t in = i + (int64_t)j * MOST;
    return layout == MPK_BATCH_INTERLEAVED ? b / 8 * (8 * MOST * MOST) + in * 8 + b % 8
                                           : b * MOST * MOST + in;
}

static mpk_batch_array array_of(mpk_batch_layout layout, void *data) {
    const bool woven = layout == MPK_BATCH_INTERLEAVED;
    return (mpk_batch_array){layout, MPK_HOST,     data, (woven ? 8 : 1) * MOST * MOST,
                             MOST,   woven ? 8 : 1};
}

static void never_wrong(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    uint64_t seed = 9;
    int wrong = 0, good = 0, certified = 0;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++) {
        const mpk_batch_layout layout = scalar % 2 ? MPK_BATCH_INTERLEAVED : MPK_BATCH_STRIDED;
        const size_t size = mpk_scalar_size((mpk_scalar)scalar);
        static crafted of[COUNT];
        static int32_t pivots[COUNT * MOST], sizes[COUNT], outcome[COUNT], signs[3 * COUNT];
        static mpk_certificate found[COUNT];
        const size_t bytes = (size_t)COUNT * MOST * MOST * size;
        char *a = calloc(1, bytes), *f = malloc(bytes);
        for (int b = 0; b < COUNT; b++) {
            while (!crafted_random(&seed, (mpk_scalar)scalar, 0, &of[b])) continue;
            sizes[b] = of[b].m.n;
            assert_true(sizes[b] <= MOST);
            for (int j = 0; j < sizes[b]; j++)
                for (int i = j; i < sizes[b]; i++)
                    scalar_store((mpk_scalar)scalar, a, place(layout, b, i, j),
                                 dense_get(&of[b].m, i, j));
        }
        memcpy(f, a, bytes);
        mpk_batch batch;
        mpk_batch_init(&batch);
        batch.scalar = (mpk_scalar)scalar, batch.symmetry = MPK_HERMITIAN;
        batch.count = COUNT, batch.n = MOST, batch.sizes = sizes;
        batch.pivoting = MPK_PIVOTING_PARTIAL, batch.zero_tolerance = 0;
        const mpk_batch_array given = array_of(layout, a), factors = array_of(layout, f);
        const mpk_batch_results results = {outcome, signs};
        assert_false(mpk_failed(mpk_batch_ldlt(ctx, &batch, &factors, pivots, &results)));
        assert_int_equal(
            mpk_batch_certify(ctx, &batch, MPK_BATCH_LDLT, &given, &factors, pivots, found),
            MPK_OK);
        for (int b = 0; b < COUNT; b++) {
            const bool is = of[b].zero == 0 && signs[3 * b] == of[b].positive &&
                            signs[3 * b + 1] == of[b].negative;
            if (found[b].certified && !is)
                fail_msg("matrix %d: wrong, and c = %g", b, found[b].contraction);
            assert_true(found[b].miss_bound == 1 || found[b].certified);
            if (outcome[b] != MPK_BATCH_OK) assert_false(found[b].certified);
            if (outcome[b] == MPK_BATCH_OK)
                wrong += !is, good += is, certified += found[b].certified;
            free(of[b].m.a);
        }
        free(a), free(f);
    }
    if (wrong < 20 || certified < 40)
        fail_msg("%d wrong; %d right, %d of them certified", wrong, good, certified);
    mpk_context_destroy(&ctx);
}

static void llt_and_refusals(void **state) {
    (void)state;
    enum { N = 3 };
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    double a[2 * N * N] = {0}, f[2 * N * N];
    mpk_certificate found[2];
    for (int k = 0; k < 2 * N; k++) a[k / N * N * N + k % N * (N + 1)] = 2 + k;
    memcpy(f, a, sizeof f);
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.count = 2, batch.n = N;
    const mpk_batch_array given = {MPK_BATCH_STRIDED, MPK_HOST, a, N * N, N, 1};
    const mpk_batch_array factors = {MPK_BATCH_STRIDED, MPK_HOST, f, N * N, N, 1};
    assert_int_equal(mpk_batch_llt(ctx, &batch, &factors, NULL, NULL), MPK_OK);
    assert_int_equal(mpk_batch_certify(ctx, &batch, MPK_BATCH_LLT, &given, &factors, NULL, found),
                     MPK_OK);
    assert_true(found[0].certified && found[1].certified && found[0].vectors == 1);
    assert_int_equal(mpk_batch_certify(ctx, &batch, MPK_BATCH_LDU, &given, &factors, NULL, found),
                     MPK_ERR_UNSUPPORTED);
    assert_int_equal(mpk_batch_certify(ctx, &batch, MPK_BATCH_LLT, &given, &factors, NULL, NULL),
                     MPK_ERR_ARGUMENT);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_wrong),
        cmocka_unit_test(llt_and_refusals),
    };
    return cmocka_run_group_tests_name("batch_certify", tests, NULL, NULL);
}
