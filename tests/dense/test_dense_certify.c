/* SPDX-License-Identifier: BSD-3-Clause */
/* Certificates of dense factors: crafted matrices by every method, all scalars, both triangles. */
#include "../sanitized.h"
#include "crafted.h"

#include <stdbool.h>

typedef struct run {
    mpk_status factored, solved;
    mpk_inertia inertia;
    mpk_certificate found;
} run;

static run factor(mpk_context *ctx, const dense *m, mpk_dense_method method, mpk_triangle uplo,
                  int threads) {
    mpk_dense d;
    mpk_dense_sizes sizes;
    mpk_dense_info info;
    run r = {0};
    const size_t size = mpk_scalar_size(m->scalar);
    mpk_dense_init(&d);
    d.scalar = m->scalar, d.symmetry = m->symmetry, d.n = m->n, d.method = method, d.uplo = uplo;
    d.threads = threads;
    assert_int_equal(mpk_dense_query(ctx, &d, 1, &sizes), MPK_OK);
    void *a = malloc((size_t)m->n * (size_t)m->n * size);
    for (int64_t k = 0; k < (int64_t)m->n * m->n; k++) scalar_store(m->scalar, a, k, m->a[k]);
    void *b = malloc((size_t)m->n * size), *x = malloc((size_t)m->n * size);
    for (int i = 0; i < m->n; i++) scalar_store(m->scalar, b, i, 1 + i * 7 % 5);
    mpk_dense_factor f = {.struct_size = sizeof f, .ldf = m->n};
    f.f = malloc((size_t)sizes.factor_bytes);
    f.pivots = malloc((size_t)sizes.pivots * sizeof(int32_t) + 8);
    f.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
    r.factored = mpk_dense_factorize(ctx, &d, a, m->n, &f, NULL, 0, &info);
    if (!mpk_failed(r.factored)) {
        assert_true(!f.inertia.examined && !f.inertia.certified);
        r.solved = mpk_dense_solve(ctx, &d, a, m->n, &f, 1, b, m->n, x, m->n, NULL, 0, &info);
        assert_int_equal(mpk_dense_certify(ctx, &d, a, m->n, &f, NULL, 0, &r.found), MPK_OK);
        assert_int_equal(mpk_dense_inertia(ctx, &d, &f, NULL, 0, &r.inertia), MPK_OK);
        assert_true(r.inertia.examined && r.inertia.certified == r.found.certified);
        assert_int_equal(mpk_dense_certify(ctx, &d, NULL, m->n, &f, NULL, 0, NULL),
                         MPK_ERR_ARGUMENT);
    }
    free(a), free(b), free(x), free(f.f), free(f.pivots), free(f.extra);
    return r;
}

static void never_wrong(void **state) {
    (void)state;
    enum { SYSTEMS = 1500 };
    mpk_context *ctx = NULL;
    uint64_t seed = 3;
    int wrong = 0, good = 0, certified = 0, called_good = 0;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < SYSTEMS; k++) {
        const mpk_dense_method method = (mpk_dense_method)(MPK_DENSE_TILE + k % 6);
        crafted a;
        if (!crafted_random(&seed, (mpk_scalar)(k / 6 % 4), 0, &a)) continue;
        const run r = factor(ctx, &a.m, method, k % 2 ? MPK_UPPER : MPK_LOWER, 1);
        const bool is =
            a.zero == 0 && r.inertia.positive == a.positive && r.inertia.negative == a.negative;
        if (r.found.certified && !is)
            fail_msg("system %d, %s: wrong, and c = %g", k, mpk_dense_method_name(method),
                     r.found.contraction);
        if (r.found.certified && method == MPK_DENSE_AASEN) fail_msg("aasen: certified");
        free(a.m.a);
        if (r.found.vectors == 0) continue;
        wrong += !is, good += is, certified += r.found.certified;
        called_good += a.zero > 0 && r.factored == MPK_OK && r.solved == MPK_OK;
    }
    if (wrong < 10 || certified < 30 || called_good > 0)
        fail_msg("%d wrong; %d right, %d of them certified; %d singular ones called good", wrong,
                 good, certified, called_good);
    mpk_context_destroy(&ctx);
}

static void well_conditioned(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    int certified = 0, all = 0;
    double one = 0;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    support_state = 5;
    for (int scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (int method = MPK_DENSE_TILE; method <= MPK_DENSE_ROOK; method++)
            for (int k = 0; k < 4; k++) {
                dense m = dense_new(40 + 60 * k, (mpk_scalar)scalar,
                                    scalar >= MPK_C ? MPK_HERMITIAN : MPK_SYMMETRIC);
                for (int j = 0; j < m.n; j++)
                    for (int i = j; i < m.n; i++) dense_set(&m, i, j, uniform() + uniform() * I);
                for (int threads = 1; threads <= 3; threads += 2) {
                    const run r = factor(ctx, &m, (mpk_dense_method)method, MPK_LOWER, threads);
                    certified += r.found.certified, all++;
                    if (threads == 1) one = r.found.contraction;
                    assert_true(r.found.contraction == one && r.solved == MPK_OK);
                }
                free(m.a);
            }
    if (certified < 0.99 * all) fail_msg("%d of %d", certified, all);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_wrong),
        cmocka_unit_test(well_conditioned),
    };
    return cmocka_run_group_tests_name("dense_certify", tests, NULL, NULL);
}
