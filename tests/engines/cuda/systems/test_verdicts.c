/* SPDX-License-Identifier: BSD-3-Clause */
/* Random systems on a device are judged as alone: singular ones among regular ones of their
 * pattern, whose pivots rounding makes; and no certificate is wrong. */
#include "device_systems.h"

enum { PATTERNS = 160, MOST = 14, COUNT = 6 };

/* An integer matrix B diag(1, -1, ..) B^T of that rank. */
static void integers(int n, int rank, int m[MOST][MOST]) {
    int part[MOST][MOST];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < rank; k++) part[i][k] = (int)floor(2.5 * uniform() + 0.5);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            m[i][j] = 0;
            for (int k = 0; k < rank; k++) m[i][j] += (k & 1 ? -1 : 1) * part[i][k] * part[j][k];
        }
}

static void test_singular(void **unused) {
    static const mpk_scalar scalars[] = {MPK_D, MPK_S, MPK_Z, MPK_C};
    int seen = 0, singular = 0, certain = 0;
    (void)unused;
    for (int p = 0; p < PATTERNS; p++) {
        const int n = 3 + p % (MOST - 2);
        const mpk_scalar scalar = scalars[p % 4];
        int m[COUNT][MOST][MOST];
        cases c = {.scalar = scalar,
                   .symmetry = scalar == MPK_Z ? MPK_HERMITIAN : MPK_SYMMETRIC,
                   .n = n,
                   .nrhs = 1,
                   .count = COUNT};
        dense a = dense_new(n, scalar, c.symmetry);
        for (int k = 0; k < COUNT; k++) integers(n, k % 2 ? n : n - 1 - (p % 3 == 0), m[k]);
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) dense_set(&a, i, j, m[1][i][j] ? m[1][i][j] : 0x1p-60);
        for (int i = 0; i < n; i++) dense_set(&a, i, i, m[1][i][i] + (uniform() < 0 ? -2 : 2));
        mpk_problem_view v;
        mpk_systems *s = NULL;
        assert_int_equal(mpk_context_create(NULL, &c.ctx), MPK_OK);
        mpk_options_init(&c.o);
        c.o.method = MPK_METHOD_LDLT, c.o.threads = 1;
        c.size = mpk_scalar_size(scalar);
        c.problem = dense_problem(c.ctx, &a, 0);
        assert_false(mpk_failed(mpk_analyse(c.ctx, c.problem, &c.o, &c.an)));
        mpk_problem_view_get(c.problem, &v);
        c.nnz = v.nnz;
        c.ax = malloc((size_t)(COUNT * c.nnz) * c.size), c.b = calloc((size_t)(COUNT * n), c.size);
        c.x = calloc((size_t)(COUNT * n), c.size);
        for (int k = 0; k < COUNT; k++)
            for (int j = 0; j < n; j++) {
                for (int64_t e = v.ap[j]; e < v.ap[j + 1]; e++)
                    scalar_store(scalar, c.ax, k * c.nnz + e, m[k][v.ai[e]][j]);
                int sum = 0;
                for (int i = 0; i < n; i++) sum += m[k][j][i] * (i + 1);
                scalar_store(scalar, c.b, k * n + j, sum);
            }
        c.o.device = MPK_ON_CUDA;
        const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
        int32_t status[COUNT], certified[COUNT];
        int64_t inertia[3 * COUNT];
        const mpk_systems_results r = {
            .status = status, .certified = certified, .inertia = inertia};
        assert_int_equal(mpk_systems_create(c.ctx, c.an, &c.o, NULL, COUNT, &s), MPK_OK);
        assert_false(
            mpk_failed(mpk_systems_factorize_solve(c.ctx, s, &ax, 1, &b, &x, 0, NULL, &r)));
        mpk_systems_destroy(&s);
        c.o.device = MPK_ON_CPU;
        for (int k = 0; k < COUNT; k++) {
            mpk_factor *fac = NULL;
            mpk_factor_info info;
            const mpk_status one =
                mpk_factorize(c.ctx, c.an, c.ax + k * c.nnz * (int64_t)c.size, &c.o, &fac);
            assert_false(mpk_failed(one));
            mpk_factor_info_get(fac, &info);
            if (status[k] != (int32_t)one)
                fail_msg("pattern %d, system %d: %s, alone %s", p, k,
                         mpk_status_name((mpk_status)status[k]), mpk_status_name(one));
            if (certified[k]) {
                assert_int_equal(inertia[3 * k], info.inertia.positive);
                assert_int_equal(inertia[3 * k + 1], info.inertia.negative);
            }
            seen++, singular += one == MPK_SINGULAR, certain += certified[k] != 0;
            mpk_factor_destroy(&fac);
        }
        cases_free(&c);
        free(a.a);
    }
    assert_true(seen == PATTERNS * COUNT && singular > seen / 3 && certain > seen / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_singular)};
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
