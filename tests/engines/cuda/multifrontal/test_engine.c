/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine of a device by itself: its solves in parts, vectors on the device, what
 * it says of its pivots, other values. */
#include "support.h"

#include "device_cases.h"
#include "parts.h"
#include "factor/direct_numbers.h"

/* The parts one after the other are the whole; |D| of a definite matrix is D. */
static void test_parts(void **unused) {
    (void)unused;
    for (int definite = 0; definite < 2; definite++) {
        enum { N = 50 };
        mpk_context *ctx = new_context(true);
        dense m = dense_new(N, MPK_Z, MPK_HERMITIAN);
        double complex x[N], y[N];
        mpk_options o;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++)
                dense_set(&m, i, j, i == j && definite ? 60 : uniform() + uniform() * I);
        mpk_problem *problem = dense_problem(ctx, &m, 0);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        for (int i = 0; i < N; i++) x[i] = y[i] = uniform() + uniform() * I;
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, x, N), MPK_OK);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_L, 1, y, N), MPK_OK);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_D, 1, y, N), MPK_OK);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_LT, 1, y, N), MPK_OK);
        assert_memory_equal(x, y, sizeof x);
        for (int i = 0; i < N; i++) { /* A x = b: b comes back */
            double complex b = 0;
            for (int j = 0; j < N; j++) b += dense_get(&m, i, j) * x[j];
            y[i] = b;
        }
        double complex z[N];
        memcpy(z, y, sizeof z);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ABS, 1, y, N), MPK_OK);
        double complex product = 0; /* z* |M|^-1 z > 0 */
        for (int i = 0; i < N; i++) product += conj(z[i]) * y[i];
        assert_true(creal(product) > 0 && fabs(cimag(product)) < 1e-9 * creal(product));
        for (int i = 0; definite && i < N; i++) assert_true(cabs(y[i] - x[i]) < 1e-12);
        check_parts(ctx, fac, &m, definite, 1e-9);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
        free(m.a);
    }
}

/* D, the permutation and the parts in one order, also where pivots are exchanged, paired and
 * delayed. */
static void test_order_of_parts(void **unused) {
    (void)unused;
    for (int family = 0; family < FAMILY_COUNT; family++) {
        mpk_context *ctx = new_context(true);
        dense m = family_matrix((enum support_family)family, 40, MPK_D, MPK_SYMMETRIC);
        mpk_options o;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        mpk_problem *problem = dense_problem(ctx, &m, 0);
        assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
        assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
        check_parts(ctx, fac, &m, false, 1e-9);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
        free(m.a);
    }
}

/* The engine by itself: NaN, a stop, vectors on the device. */
static void test_engine(void **unused) {
    (void)unused;
    mpk_context *ctx = new_context(true);
    const mpki_device *d = mpki_cuda_kept(ctx);
    mpk_problem *problem = generated(ctx, "nlpkkt 4");
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    mpki_direct_solver *solver = NULL;
    mpki_numeric_result r;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    mpk_problem_view_get(problem, &a);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    const mpki_pivot_rules rules = {.threshold = 0.01, .small = 1e-14, .size = 1, .threads = 1};
    const size_t bytes = (size_t)a.n * sizeof(double);
    double *x = malloc(bytes), *y = malloc(bytes), *ax = malloc((size_t)a.nnz * sizeof *ax);
    void *device = NULL;
    for (int32_t i = 0; i < a.n; i++) x[i] = y[i] = uniform();
    assert_int_equal(mpki_cuda_direct.solver_make(ctx, fac->direct, 1, 1, &solver), MPK_OK);
    assert_int_equal(mpki_cuda_direct.apply(solver, MPK_PART_ALL, 1, x, a.n, x, a.n), MPK_OK);
    assert_int_equal(d->table->alloc(d->cuda, (int64_t)bytes, &device), MPK_OK);
    assert_int_equal(d->table->direct->copy(d->cuda, device, y, (int64_t)bytes, 1), MPK_OK);
    assert_int_equal(mpki_cuda_direct.apply(solver, MPK_PART_ALL, 1, device, a.n, device, a.n),
                     MPK_OK);
    assert_int_equal(d->table->direct->copy(d->cuda, y, device, (int64_t)bytes, 0), MPK_OK);
    assert_int_equal(d->table->direct->wait(d->cuda), MPK_OK);
    assert_memory_equal(x, y, bytes);
    d->table->release(d->cuda, device);
    mpki_cuda_direct.solver_free(&solver);
    /* given up: no numbers, and no error */
    const mpki_stop stop = {1, 0};
    assert_int_equal(mpki_cuda_direct.factorize(fac->direct, a.ax, fac->scale, &rules, &stop, &r),
                     MPK_OK);
    assert_true(r.runaway);
    memcpy(ax, a.ax, (size_t)a.nnz * sizeof *ax);
    ax[a.nnz / 2] = (double)NAN;
    assert_int_equal(mpki_cuda_direct.factorize(fac->direct, ax, fac->scale, &rules, NULL, &r),
                     MPK_ERR_NUMERIC);
    mpki_clear_error(ctx);
    ax[a.nnz / 2] = (double)INFINITY;
    assert_int_equal(mpki_cuda_direct.factorize(fac->direct, ax, fac->scale, &rules, NULL, &r),
                     MPK_ERR_NUMERIC);
    mpki_clear_error(ctx);
    assert_int_equal(mpki_cuda_direct.factorize(fac->direct, a.ax, fac->scale, &rules, NULL, &r),
                     MPK_OK);
    assert_int_equal(r.positive + r.negative, a.n);
    free(x), free(y), free(ax);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* D, its order, and pivots that are made zero. */
static void test_pivots(void **unused) {
    (void)unused;
    for (int scalar = 0; scalar < 4; scalar++) {
        enum { N = 60, FEW = 3 };
        const family family = {PAIRS, N, (mpk_scalar)scalar,
                               scalar < 2 ? MPK_SYMMETRIC : MPK_HERMITIAN};
        const size_t size = mpk_scalar_size(family.scalar);
        mpk_context *ctx = new_context(true);
        mpk_problem *problem = of_family(ctx, &family);
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options o;
        mpki_weak_pivot list[FEW], zero[FEW];
        mpki_direct_solver *solver = NULL;
        int32_t perm[N], seen[N] = {0};
        char d[2 * N * 16], y[N * 16];
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_PERM, perm, sizeof perm), MPK_OK);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, d, sizeof d), MPK_OK);
        for (int k = 0; k < N; k++) seen[perm[k]]++;
        for (int k = 0; k < N; k++) assert_int_equal(seen[k], 1);
        int64_t pairs = 0;
        for (int k = 0; k < N; k++) pairs += scalar_load(family.scalar, d, 2 * k + 1) != 0;
        mpk_factor_info info;
        mpk_factor_info_get(fac, &info);
        assert_int_equal(pairs, info.two_by_two);
        assert_int_equal(mpki_cuda_direct.zeros(fac->direct, 1, FEW, zero), 0);
        const int count = mpki_cuda_direct.weak(fac->direct, 1e30, FEW, list);
        assert_int_equal(count, FEW);
        assert_true(list[0].size <= list[1].size && list[1].size <= list[2].size);
        mpki_cuda_direct.to_zero(fac->direct, list, count);
        assert_int_equal(mpki_cuda_direct.solver_make(ctx, fac->direct, 1, 1, &solver), MPK_OK);
        int single = 0;
        for (int w = 0; w < count; w++) { /* D^-1 takes each of their vectors to 0 */
            single += !list[w].pair;
            memset(y, 0, sizeof y);
            scalar_store(family.scalar, y, list[w].at[0],
                         list[w].vector[0] + list[w].vector[1] * I);
            if (list[w].pair)
                scalar_store(family.scalar, y, list[w].at[1],
                             list[w].vector[2] + list[w].vector[3] * I);
            assert_int_equal(mpki_cuda_direct.apply(solver, MPK_PART_D, 1, y, N, y, N), MPK_OK);
            for (int k = 0; k < N; k++)
                assert_true(cabs(scalar_load(family.scalar, y, k)) <
                            (single_precision(family.scalar) ? 1e-3 : 1e-11));
        }
        assert_int_equal(mpki_cuda_direct.zeros(fac->direct, single ? single : 1, FEW, zero),
                         single);
        mpki_cuda_direct.at_zeros(fac->direct, y);
        int marked = 0;
        for (int k = 0; k < N; k++) marked += scalar_load(family.scalar, y, k) != 0;
        assert_int_equal(marked, single);
        /* on the device too */
        const mpki_device *there = mpki_cuda_kept(ctx);
        void *away = NULL;
        char back[N * 16];
        assert_int_equal(there->table->alloc(there->cuda, (int64_t)(N * size), &away), MPK_OK);
        mpki_cuda_direct.at_zeros(fac->direct, away);
        assert_int_equal(
            there->table->direct->copy(there->cuda, back, away, (int64_t)(N * size), 0), MPK_OK);
        assert_int_equal(there->table->direct->wait(there->cuda), MPK_OK);
        assert_memory_equal(back, y, N * size);
        there->table->release(there->cuda, away);
        mpki_cuda_direct.solver_free(&solver);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
}

/* Other values, again and again, where fronts grow: the same bits, and no more memory each time. */
static void test_again(void **unused) {
    (void)unused;
    const enum shape shape = ZEROS;
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = of_shape(ctx, &shape);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    double first[3], other[3];
    mpk_factor_info info, then;
    int64_t bytes = 0;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.ordering = MPK_ORDERING_NATURAL, o.matching = MPK_OFF;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, first, sizeof first), MPK_OK);
    mpk_factor_info_get(fac, &info);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_OK);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, other, sizeof other), MPK_OK);
        assert_memory_equal(first, other, sizeof first);
        mpk_factor_info_get(fac, &then);
        assert_true(k == 0 ? then.bytes <= info.bytes + info.bytes / 16 + 65536
                           : then.bytes == bytes);
        bytes = then.bytes;
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* Nearly all fronts are large, and tasks stop at those that grow. */
static void test_small_blocks(void **unused) {
    if (device_is_real()) return;
    small_blocks("20000");
    test_parts(unused);
    test_engine(unused);
    small_blocks("101376"); /* as on 8.6, 8.9 and 12.0 */
    test_parts(unused);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),          cmocka_unit_test(test_engine),
        cmocka_unit_test(test_order_of_parts), cmocka_unit_test(test_pivots),
        cmocka_unit_test(test_again),          cmocka_unit_test(test_small_blocks)};
    if (device_lacks(DEVICE_DIRECT)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
