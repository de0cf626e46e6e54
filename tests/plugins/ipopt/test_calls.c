/* SPDX-License-Identifier: BSD-3-Clause */
/** Every function as Ipopt calls it, through the dynamic loader, and what Ipopt is known to hand
 *  over by mistake: uninitialised and living handles, NaN, singular matrices, other patterns. */
#define _GNU_SOURCE
#include "lower.h"

#include <dlfcn.h>
#include <pthread.h>

static __typeof__(&ma97_default_control_d) default97;
static __typeof__(&ma97_analyse_d) analyse97;
static __typeof__(&ma97_factor_d) factor97;
static __typeof__(&ma97_factor_solve_d) factor_solve97;
static __typeof__(&ma97_solve_d) solve97;
static __typeof__(&ma97_finalise_d) finalise97;
static __typeof__(&ma97_free_akeep_d) free97;
static __typeof__(&ma86_default_control_d) default86;
static __typeof__(&ma86_analyse_d) analyse86;
static __typeof__(&ma86_factor_d) factor86;
static __typeof__(&ma86_factor_solve_d) factor_solve86;
static __typeof__(&ma86_solve_d) solve86;
static __typeof__(&ma86_finalise_d) finalise86;
static __typeof__(&mc68_default_control_i) default68;
static __typeof__(&mc68_order_i) order68;

static int load(void **state) {
    (void)state;
    void *library = dlopen(METAPACK_IPOPT, RTLD_NOW | RTLD_LOCAL);
    if (!library) print_error("%s\n", dlerror());
    assert_non_null(library);
#define GET(variable, name)                                                                        \
    *(void **)&variable = dlsym(library, name);                                                    \
    assert_non_null(variable)
    GET(default97, "ma97_default_control_d");
    GET(analyse97, "ma97_analyse_d");
    GET(factor97, "ma97_factor_d");
    GET(factor_solve97, "ma97_factor_solve_d");
    GET(solve97, "ma97_solve_d");
    GET(finalise97, "ma97_finalise_d");
    GET(free97, "ma97_free_akeep_d");
    GET(default86, "ma86_default_control_d");
    GET(analyse86, "ma86_analyse_d");
    GET(factor86, "ma86_factor_d");
    GET(factor_solve86, "ma86_factor_solve_d");
    GET(solve86, "ma86_solve_d");
    GET(finalise86, "ma86_finalise_d");
    GET(default68, "mc68_default_control_i");
    GET(order68, "mc68_order_i");
#undef GET
    return 0;
}

/* As Ipopt sets it. */
static ma97_control control97(int base) {
    ma97_control control;
    memset(&control, 0x5a, sizeof control);
    default97(&control);
    control.f_arrays = base;
    control.action = 0;
    control.u = 1e-8;
    return control;
}

static ma86_control control86(int base) {
    ma86_control control;
    memset(&control, 0x5a, sizeof control);
    default86(&control);
    control.f_arrays = base;
    control.u = 1e-8;
    return control;
}

enum { NRHS = 3 };

/* analyse, factor, solve, refactor, solve; one and several right-hand sides */
static void run97(int n, int m, int base, int ordering) {
    const int size = n + m, ld = size + 2;
    double *full = kkt_full(n, m), *b = calloc((size_t)ld * NRHS, sizeof *b),
           *x = calloc((size_t)ld * NRHS, sizeof *x);
    lower a = lower_make(size, base, full);
    ma97_control control = control97(base);
    ma97_info info;
    void *akeep = NULL, *fkeep = NULL;
    control.ordering = ordering;
    analyse97(0, size, a.ptr, a.row, ordering > 5 ? a.val : NULL, &akeep, &control, &info, NULL);
    assert_int_equal(info.flag, 0);
    assert_true(info.ordering == 1 || info.ordering == 3);
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < ld * NRHS; k++) x[k] = b[k] = uniform();
        factor97(4, a.ptr, a.row, a.val, &akeep, &fkeep, &control, &info, NULL);
        assert_int_equal(info.flag, 0);
        assert_int_equal(info.num_neg, negative_eigenvalues(size, full));
        assert_int_equal(info.matrix_rank, size);
        const int nrhs = round == 0 ? 1 : NRHS;
        solve97(0, nrhs, x, ld, &akeep, &fkeep, &control, &info);
        assert_int_equal(info.flag, 0);
        assert_int_equal(info.num_neg, negative_eigenvalues(size, full)); /* still there */
        assert_true(residual(&a, nrhs, x, ld, b) < 1e-8);
        assert_true(x[ld - 1] == b[ld - 1]); /* what lies beyond n is not ours */
        for (int i = 0; i < size; i++)       /* new values, same pattern */
            for (int k = a.ptr[i] - base; k < a.ptr[i + 1] - base; k++) {
                const int r = a.row[k] - base;
                if (a.val[k] != 0) a.val[k] = r == i ? -a.val[k] : a.val[k] * 1.5;
                full[i * size + r] = full[r * size + i] = a.val[k];
            }
    }
    finalise97(&akeep, &fkeep);
    assert_null(akeep);
    assert_null(fkeep);
    lower_free(&a);
    free(full), free(b), free(x);
}

static void ma97_solves(void **state) {
    (void)state;
    static const int orderings[] = {1, 3, 5, 7, 8};
    for (int k = 0; k < 5; k++)
        for (int base = 0; base < 2; base++) {
            run97(12, 5, base, orderings[k]);
            run97(1, 0, base, orderings[k]);
            run97(70, 30, base, orderings[k]);
        }
}

static void ma86_solves(void **state) {
    (void)state;
    for (int base = 0; base < 2; base++) {
        enum { N = 20, M = 8, SIZE = N + M };
        double *full = kkt_full(N, M), b[SIZE * NRHS], x[SIZE * NRHS];
        int order[SIZE];
        lower a = lower_make(SIZE, base, full);
        ma86_control control = control86(base);
        ma86_info info;
        void *keep = NULL;
        mc68_control c68[8]; /* the caller's is larger than what is ours to set */
        mc68_info i68[4];
        memset(c68, 0x77, sizeof c68);
        default68(c68);
        assert_int_equal(c68[0].f_array_in, 0);
        assert_int_equal(c68[2].f_array_in, 0x77777777); /* and stays as it was */
        c68->f_array_in = c68->f_array_out = base;
        order68(1, SIZE, a.ptr, a.row, order, c68, i68);
        assert_int_equal(i68->flag, 0);
        for (int i = 0; i < SIZE; i++) assert_int_equal(order[i], i + base);
        analyse86(SIZE, a.ptr, a.row, order, &keep, &control, &info);
        assert_int_equal(info.flag, 0);
        for (int k = 0; k < SIZE * NRHS; k++) x[k] = b[k] = uniform();
        factor_solve86(SIZE, a.ptr, a.row, a.val, order, &keep, &control, &info, NRHS, SIZE, x,
                       NULL);
        assert_int_equal(info.flag, 0);
        assert_int_equal(info.num_neg, negative_eigenvalues(SIZE, full));
        assert_int_equal(info.detsign, info.num_neg % 2 ? -1 : 1);
        assert_true(residual(&a, NRHS, x, SIZE, b) < 1e-9);
        memcpy(x, b, sizeof x);
        solve86(0, 1, SIZE, x, order, &keep, &control, &info, NULL);
        assert_int_equal(info.flag, 0);
        assert_true(residual(&a, 1, x, SIZE, b) < 1e-9);
        memcpy(x, b, sizeof x);
        factor86(SIZE, a.ptr, a.row, a.val, order, &keep, &control, &info, NULL);
        assert_int_equal(info.flag, 0);
        solve86(0, NRHS, SIZE, x, order, &keep, &control, &info, NULL);
        assert_true(residual(&a, NRHS, x, SIZE, b) < 1e-9);
        solve86(1, NRHS, SIZE, x, order, &keep, &control, &info, NULL);
        assert_int_equal(info.flag, MA86_JOB);
        finalise86(&keep, &control);
        assert_null(keep);
        lower_free(&a);
        free(full);
    }
}

/* scaling = 0 with scale: the caller's; scaling > 0: ours is written back, and as the caller's of
 * the next factorization (Ipopt's "reuse") it gives the same solution */
static void scaling_goes_both_ways(void **state) {
    (void)state;
    enum { N = 9, M = 4, SIZE = N + M };
    double *full = kkt_full(N, M), b[SIZE], x[SIZE], scale[SIZE];
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) full[i * SIZE + j] *= pow(10, (i % 5) - 2 + (j % 5) - 2);
    lower a = lower_make(SIZE, 1, full);
    ma97_control control = control97(1);
    ma97_info info;
    void *akeep = NULL, *fkeep = NULL;
    analyse97(0, SIZE, a.ptr, a.row, NULL, &akeep, &control, &info, NULL);
    for (int i = 0; i < SIZE; i++) scale[i] = -1;
    control.scaling = 1;
    factor97(4, a.ptr, a.row, a.val, &akeep, &fkeep, &control, &info, scale);
    assert_int_equal(info.flag, 0);
    for (int i = 0; i < SIZE; i++) assert_true(scale[i] > 0);
    assert_true(scale[0] > 10 * scale[4]); /* row 0 was made small, row 4 large */
    for (int round = 0; round < 2; round++) {
        control.scaling = 0;
        factor97(4, a.ptr, a.row, a.val, &akeep, &fkeep, &control, &info, scale);
        assert_int_equal(info.flag, 0);
        assert_int_equal(info.num_neg, negative_eigenvalues(SIZE, full));
        for (int i = 0; i < SIZE; i++) x[i] = b[i] = uniform();
        solve97(0, 1, x, SIZE, &akeep, &fkeep, &control, &info);
        assert_true(residual(&a, 1, x, SIZE, b) < 1e-8);
        for (int i = 0; i < SIZE; i++) scale[i] = 3 * fabs(uniform()) + 0.1;
    }
    finalise97(&akeep, &fkeep);

    ma86_control c86 = control86(1);
    ma86_info i86;
    void *keep = NULL;
    analyse86(SIZE, a.ptr, a.row, NULL, &keep, &c86, &i86);
    memcpy(x, b, sizeof x);
    factor_solve86(SIZE, a.ptr, a.row, a.val, NULL, &keep, &c86, &i86, 1, SIZE, x, scale);
    assert_int_equal(i86.flag, 0);
    assert_true(residual(&a, 1, x, SIZE, b) < 1e-8);
    double logdet = i86.detlog; /* of A, whatever the scaling */
    factor86(SIZE, a.ptr, a.row, a.val, NULL, &keep, &c86, &i86, NULL);
    assert_true(fabs(logdet - i86.detlog) < 1e-8 * fabs(logdet) + 1e-8);
    finalise86(&keep, &c86);
    lower_free(&a);
    free(full);
}

/* L, D and L^T in turn are the whole solve; D with L^T is what is left after L */
static void solves_in_parts(void **state) {
    (void)state;
    enum { N = 15, M = 6, SIZE = N + M };
    double *full = kkt_full(N, M), b[SIZE], x[SIZE], scale[SIZE];
    lower a = lower_make(SIZE, 0, full);
    ma97_control control = control97(0);
    ma97_info info;
    void *akeep = NULL, *fkeep = NULL;
    for (int i = 0; i < SIZE; i++) scale[i] = 0.5 + i % 3;
    analyse97(0, SIZE, a.ptr, a.row, NULL, &akeep, &control, &info, NULL);
    factor97(4, a.ptr, a.row, a.val, &akeep, &fkeep, &control, &info, scale);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < SIZE; i++) x[i] = b[i] = uniform();
        solve97(1, 1, x, SIZE, &akeep, &fkeep, &control, &info);
        assert_int_equal(info.flag, 0);
        if (round == 0) {
            solve97(2, 1, x, SIZE, &akeep, &fkeep, &control, &info);
            solve97(3, 1, x, SIZE, &akeep, &fkeep, &control, &info);
        } else {
            solve97(4, 1, x, SIZE, &akeep, &fkeep, &control, &info);
        }
        assert_int_equal(info.flag, 0);
        assert_true(residual(&a, 1, x, SIZE, b) < 1e-9);
    }
    solve97(5, 1, x, SIZE, &akeep, &fkeep, &control, &info);
    assert_int_equal(info.flag, MA97_JOB);
    finalise97(&akeep, &fkeep);
    lower_free(&a);
    free(full);
}

/* [1 0 1; 0 0 0; 1 0 1] has rank 1: eigenvalues 2, 0, 0 */
static void singular_matrices_are_told(void **state) {
    (void)state;
    int ptr[] = {1, 3, 4, 5}, row[] = {1, 3, 2, 3};
    double val[] = {1, 1, 0, 1}, x[] = {2, 0, 2};
    ma97_control control = control97(1);
    ma97_info info;
    void *akeep = NULL, *fkeep = NULL, *keep = NULL;
    for (int action = 0; action < 2; action++) {
        control.action = action;
        analyse97(0, 3, ptr, row, action ? val : NULL, &akeep, &control, &info, NULL);
        assert_int_equal(info.flag, 0);
        factor97(4, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
        assert_int_equal(info.flag, action ? MA97_WARN_SINGULAR : MA97_SINGULAR);
        if (action) {
            assert_int_equal(info.matrix_rank, 1);
            assert_int_equal(info.num_neg, 0);
        }
    }
    val[2] = -1; /* perturbed, as Ipopt will: diag(1, -1, 0 or so) */
    val[3] = 2;
    factor97(4, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, 0);
    assert_int_equal(info.num_neg, 1);
    finalise97(&akeep, &fkeep);

    val[2] = 0, val[3] = 1;
    ma86_control c86 = control86(1); /* action is not 0 by default: Ipopt relies on it */
    ma86_info i86;
    analyse86(3, ptr, row, NULL, &keep, &c86, &i86);
    factor_solve86(3, ptr, row, val, NULL, &keep, &c86, &i86, 1, 3, x, NULL);
    assert_int_equal(i86.flag, MA86_WARN_SINGULAR);
    assert_int_equal(i86.matrix_rank, 1);
    assert_int_equal(i86.detsign, 0);
    c86.action = 0;
    factor86(3, ptr, row, val, NULL, &keep, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_SINGULAR);
    finalise86(&keep, &c86);
}

/* no matrix at all */
static void nothing_is_solved(void **state) {
    (void)state;
    int ptr[] = {1};
    ma97_control control = control97(1);
    ma97_info info;
    void *akeep = NULL, *fkeep = NULL;
    double none = 0;
    analyse97(0, 0, ptr, NULL, NULL, &akeep, &control, &info, NULL);
    assert_int_equal(info.flag, 0);
    factor97(4, ptr, NULL, &none, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, 0);
    assert_int_equal(info.num_neg, 0);
    solve97(0, 1, &none, 0, &akeep, &fkeep, &control, &info);
    assert_int_equal(info.flag, 0);
    finalise97(&akeep, &fkeep);
}

static void values_that_are_no_numbers(void **state) {
    (void)state;
    int ptr[] = {0, 2, 3}, row[] = {0, 1, 1};
    const double bad[] = {NAN, INFINITY, -INFINITY};
    ma97_control control = control97(0);
    ma97_info info;
    void *akeep = NULL, *fkeep = NULL;
    analyse97(0, 2, ptr, row, NULL, &akeep, &control, &info, NULL);
    for (int k = 0; k < 6; k++) {
        double val[] = {2, 1, 3};
        val[k % 3] = bad[k / 3];
        factor97(4, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
        assert_int_equal(info.flag, MA97_NOT_FINITE);
        double x[] = {1, 1};
        solve97(0, 1, x, 2, &akeep, &fkeep, &control, &info);
        assert_true(info.flag < 0); /* no factorization to solve with */
        double good[] = {2, 1, 3};
        factor97(4, ptr, row, good, &akeep, &fkeep, &control, &info, NULL);
        assert_int_equal(info.flag, 0); /* and life goes on */
    }
    /* a right-hand side with NaN gives one back, as with other solvers */
    double x[] = {NAN, 1};
    solve97(0, 1, x, 2, &akeep, &fkeep, &control, &info);
    assert_true(isnan(x[0]));
    /* the analysis with values sees them, too */
    double val[] = {2, NAN, 3};
    void *other = NULL;
    analyse97(0, 2, ptr, row, val, &other, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_NOT_FINITE);
    assert_null(other);
    finalise97(&akeep, &fkeep);
}

static void patterns_that_are_none(void **state) {
    (void)state;
    static const struct bad {
        int n, ptr[4], row[4];
    } bad[] = {
        {3, {1, 3, 4, 5}, {1, 3, 1, 3}}, /* above the diagonal */
        {3, {1, 3, 4, 5}, {3, 1, 2, 3}}, /* not sorted */
        {3, {1, 3, 4, 5}, {1, 1, 2, 3}}, /* twice */
        {3, {1, 3, 4, 5}, {1, 4, 2, 3}}, /* beyond n */
        {3, {1, 3, 2, 5}, {1, 3, 2, 3}}, /* going back */
        {3, {0, 2, 3, 4}, {1, 3, 2, 3}}, /* from 0 where 1 is said */
        {3, {1, 3, 4, 5}, {0, 3, 2, 3}},
    };
    ma97_control control = control97(1);
    ma97_info info;
    ma86_control c86 = control86(1);
    ma86_info i86;
    void *akeep = NULL, *keep = NULL;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        analyse97(0, bad[k].n, bad[k].ptr, bad[k].row, NULL, &akeep, &control, &info, NULL);
        assert_int_equal(info.flag, MA97_PATTERN);
        assert_null(akeep);
        analyse86(bad[k].n, bad[k].ptr, bad[k].row, NULL, &keep, &c86, &i86);
        assert_int_equal(i86.flag, MA86_PATTERN);
        assert_null(keep);
    }
    analyse97(0, -1, bad[0].ptr, bad[0].row, NULL, &akeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_SIZE);
    analyse86(-1, bad[0].ptr, bad[0].row, NULL, &keep, &c86, &i86);
    assert_int_equal(i86.flag, MA86_SIZE);
}

static void another_pattern_than_analysed(void **state) {
    (void)state;
    int ptr[] = {1, 3, 4, 5}, row[] = {1, 3, 2, 3}, other_row[] = {1, 2, 2, 3},
        other_ptr[] = {1, 2, 4, 5};
    double val[] = {1, 2, 3, 5};
    ma97_control control = control97(1);
    ma97_info info;
    void *akeep = NULL, *fkeep = NULL, *keep = NULL;
    analyse97(0, 3, ptr, row, NULL, &akeep, &control, &info, NULL);
    factor97(4, ptr, other_row, val, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_PATTERN);
    factor97(4, other_ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_PATTERN);
    control.f_arrays = 0;
    factor97(4, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_PATTERN);
    control.f_arrays = 1;
    factor97(1, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_TYPE);
    factor97(4, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, 0);
    double x[] = {1, 1, 1};
    solve97(0, 1, x, 2, &akeep, &fkeep, &control, &info); /* ldx < n */
    assert_int_equal(info.flag, MA97_SIZE);
    solve97(0, -1, x, 3, &akeep, &fkeep, &control, &info);
    assert_int_equal(info.flag, MA97_SIZE);
    finalise97(&akeep, &fkeep);

    ma86_control c86 = control86(1);
    ma86_info i86;
    analyse86(3, ptr, row, NULL, &keep, &c86, &i86);
    factor86(3, ptr, other_row, val, NULL, &keep, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_PATTERN);
    factor86(2, ptr, row, val, NULL, &keep, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_PATTERN);
    finalise86(&keep, &c86);
}

/* Pointers nobody has set are overwritten, never followed; living ones are freed. */
static void handles_of_all_kinds(void **state) {
    (void)state;
    int ptr[] = {1, 3, 4}, row[] = {1, 2, 2};
    double val[] = {2, 1, -3}, x[] = {3, -2};
    ma97_control control = control97(1);
    ma97_info info;
    ma86_control c86 = control86(1);
    ma86_info i86;
    char somebody[64];
    void *akeep = (void *)0x123, *fkeep = somebody, *keep = (void *)-8;

    solve97(0, 1, x, 2, &akeep, &fkeep, &control, &info);
    assert_int_equal(info.flag, MA97_CALL_SEQUENCE);
    factor97(4, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_CALL_SEQUENCE);
    assert_ptr_equal(fkeep, somebody);
    analyse97(0, 2, ptr, row, NULL, &akeep, &control, &info, NULL); /* as "best" does */
    assert_int_equal(info.flag, 0);
    factor97(4, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, 0);
    void *first = akeep, *swapped;
    analyse97(0, 2, ptr, row, val, &akeep, &control, &info, NULL); /* alive, as "matched" does */
    assert_int_equal(info.flag, 0);
    solve97(0, 1, x, 2, &akeep, &fkeep, &control, &info); /* the old factor still solves */
    assert_int_equal(info.flag, 0);
    assert_true(fabs(2 * x[0] + x[1] - 3) < 1e-12);
    factor97(4, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, 0);
    (void)first;
    swapped = fkeep; /* a factor is no analysis, and the other way round */
    factor97(4, ptr, row, val, &swapped, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_CALL_SEQUENCE);
    solve97(0, 1, x, 2, &akeep, &akeep, &control, &info);
    assert_int_equal(info.flag, MA97_CALL_SEQUENCE);
    solve86(0, 1, 2, x, NULL, &fkeep, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_CALL_SEQUENCE);
    /* two analyses, the worse one freed: "best" again */
    void *amd, *metis;
    memset(&amd, 0x41, sizeof amd), memset(&metis, 0x42, sizeof metis);
    control.ordering = 1;
    analyse97(0, 2, ptr, row, NULL, &amd, &control, &info, NULL);
    control.ordering = 3;
    analyse97(0, 2, ptr, row, NULL, &metis, &control, &info, NULL);
    free97(&metis);
    assert_null(metis);
    void *fresh = NULL;
    factor97(4, ptr, row, val, &amd, &fresh, &control, &info, NULL);
    assert_int_equal(info.flag, 0);
    finalise97(&amd, &fresh);
    finalise97(&amd, &fresh); /* NULLs are fine */
    /* an analysis freed before its factor */
    free97(&akeep);
    solve97(0, 1, x, 2, &akeep, &fkeep, &control, &info);
    assert_int_equal(info.flag, 0);
    finalise97(&akeep, &fkeep);
    fkeep = somebody, akeep = (void *)0x123;
    finalise97(&akeep, &fkeep);
    assert_null(fkeep);
    assert_null(akeep);

    factor86(2, ptr, row, val, NULL, &keep, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_CALL_SEQUENCE);
    analyse86(2, ptr, row, NULL, &keep, &c86, &i86);
    solve86(0, 1, 2, x, NULL, &keep, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_CALL_SEQUENCE);  /* not yet factorized */
    analyse86(2, ptr, row, NULL, &keep, &c86, &i86); /* alive */
    assert_int_equal(i86.flag, 0);
    finalise86(&keep, &c86);
    keep = somebody;
    finalise86(&keep, &c86);
    assert_null(keep);
}

static void nulls(void **state) {
    (void)state;
    int ptr[] = {1, 2}, row[] = {1}, perm[1];
    double val[] = {2}, x[] = {1};
    ma97_control control = control97(1);
    ma97_info info;
    ma86_control c86 = control86(1);
    ma86_info i86;
    mc68_info i68;
    mc68_control c68 = {1, 1};
    void *akeep = NULL, *fkeep = NULL, *keep = NULL;
    default97(NULL);
    default86(NULL);
    default68(NULL);
    analyse97(0, 1, NULL, row, NULL, &akeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_NULL);
    analyse97(0, 1, ptr, NULL, NULL, &akeep, &control, &info, NULL);
    assert_true(info.flag < 0);
    analyse97(0, 1, ptr, row, NULL, NULL, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_NULL);
    analyse97(0, 1, ptr, row, NULL, &akeep, NULL, &info, NULL);
    assert_int_equal(info.flag, MA97_NULL);
    analyse97(0, 1, ptr, row, NULL, &akeep, &control, NULL, NULL);
    analyse97(0, 1, ptr, row, NULL, &akeep, &control, &info, NULL);
    factor97(4, ptr, row, NULL, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_NULL);
    factor97(4, ptr, row, val, NULL, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_NULL);
    factor97(4, ptr, row, val, &akeep, NULL, &control, &info, NULL);
    assert_int_equal(info.flag, MA97_NULL);
    factor97(4, ptr, row, val, &akeep, &fkeep, NULL, &info, NULL);
    assert_int_equal(info.flag, MA97_NULL);
    factor97(4, ptr, row, val, &akeep, &fkeep, &control, NULL, NULL);
    factor_solve97(4, ptr, row, val, 1, x, 1, &akeep, &fkeep, &control, NULL, NULL);
    factor_solve97(4, NULL, NULL, val, 1, x, 1, &akeep, &fkeep, &control, &info, NULL);
    assert_int_equal(info.flag, 0); /* the analysed pattern is known */
    assert_true(fabs(x[0] - 0.5) < 1e-15);
    solve97(0, 1, NULL, 1, &akeep, &fkeep, &control, &info);
    assert_int_equal(info.flag, MA97_NULL);
    solve97(0, 1, x, 1, &akeep, NULL, &control, &info);
    assert_int_equal(info.flag, MA97_NULL);
    solve97(0, 1, x, 1, &akeep, &fkeep, &control, NULL);
    finalise97(&akeep, &fkeep);
    finalise97(NULL, NULL);
    free97(NULL);

    analyse86(1, ptr, row, NULL, &keep, NULL, &i86);
    assert_int_equal(i86.flag, MA86_NULL);
    analyse86(1, NULL, row, NULL, &keep, &c86, &i86);
    assert_int_equal(i86.flag, MA86_NULL);
    analyse86(1, ptr, row, NULL, NULL, &c86, &i86);
    assert_int_equal(i86.flag, MA86_NULL);
    analyse86(1, ptr, row, NULL, &keep, &c86, NULL);
    analyse86(1, ptr, row, NULL, &keep, &c86, &i86);
    factor86(1, ptr, row, NULL, NULL, &keep, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_NULL);
    factor86(1, ptr, row, val, NULL, NULL, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_NULL);
    factor_solve86(1, ptr, row, val, NULL, &keep, &c86, NULL, 1, 1, x, NULL);
    solve86(0, 1, 1, NULL, NULL, &keep, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_NULL);
    solve86(0, 1, 1, x, NULL, NULL, &c86, &i86, NULL);
    assert_int_equal(i86.flag, MA86_NULL);
    finalise86(&keep, NULL);
    finalise86(NULL, NULL);

    order68(1, 1, ptr, row, NULL, &c68, &i68);
    assert_int_equal(i68.flag, -1);
    order68(1, -1, ptr, row, perm, &c68, &i68);
    assert_int_equal(i68.flag, -1);
    order68(1, 1, ptr, row, perm, NULL, &i68);
    assert_int_equal(i68.flag, -1);
    order68(1, 1, ptr, row, perm, &c68, NULL);
}

/* A pivot as small as an interior point leaves it is a pivot, with its sign. */
static void tiny_pivots_count(void **state) {
    (void)state;
    int ptr[] = {1, 3, 5, 6}, row[] = {1, 3, 2, 3, 3};
    ma97_control control = control97(1);
    ma97_info info;
    void *akeep = NULL, *fkeep = NULL;
    analyse97(0, 3, ptr, row, NULL, &akeep, &control, &info, NULL);
    for (int sign = -1; sign <= 1; sign += 2) { /* diag(1e12, s 1e-10, .) bordered by ones */
        double val[] = {1e12, 1, sign * 1e-10, 1, -1e-8};
        double full[] = {1e12, 0, 1, 0, sign * 1e-10, 1, 1, 1, -1e-8};
        factor97(4, ptr, row, val, &akeep, &fkeep, &control, &info, NULL);
        assert_int_equal(info.flag, 0);
        assert_int_equal(info.num_neg, negative_eigenvalues(3, full));
    }
    finalise97(&akeep, &fkeep);
}

/* Instances in several threads do not meet. */
static void *one_instance(void *arg) {
    enum { N = 60 };
    const int seed = *(int *)arg;
    double full[N * N] = {0}, x[N], b[N];
    for (int i = 0; i < N; i++) {
        full[i * N + i] = (i + seed) % 3 ? 4 : -4;
        if (i) full[i * N + i - 1] = full[(i - 1) * N + i] = 1 + seed % 5;
    }
    lower a = lower_make(N, 1, full);
    ma97_control control = control97(1);
    ma97_info info;
    void *akeep = NULL, *fkeep = NULL;
    double worst = 0;
    analyse97(0, N, a.ptr, a.row, NULL, &akeep, &control, &info, NULL);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < N; i++) x[i] = b[i] = i % 7 - 3;
        factor_solve97(4, a.ptr, a.row, a.val, 1, x, N, &akeep, &fkeep, &control, &info, NULL);
        worst = info.flag ? INFINITY : fmax(worst, residual(&a, 1, x, N, b));
        if (round % 10 == 9) finalise97(NULL, &fkeep);
    }
    finalise97(&akeep, &fkeep);
    lower_free(&a);
    return worst < 1e-10 ? arg : NULL;
}

static void threads_do_not_meet(void **state) {
    (void)state;
    enum { THREADS = 6 };
    pthread_t thread[THREADS];
    int seed[THREADS];
    for (int t = 0; t < THREADS; t++) {
        seed[t] = t;
        assert_int_equal(pthread_create(&thread[t], NULL, one_instance, &seed[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        void *result = NULL;
        pthread_join(thread[t], &result);
        assert_non_null(result);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ma97_solves),
        cmocka_unit_test(ma86_solves),
        cmocka_unit_test(scaling_goes_both_ways),
        cmocka_unit_test(solves_in_parts),
        cmocka_unit_test(singular_matrices_are_told),
        cmocka_unit_test(nothing_is_solved),
        cmocka_unit_test(values_that_are_no_numbers),
        cmocka_unit_test(patterns_that_are_none),
        cmocka_unit_test(another_pattern_than_analysed),
        cmocka_unit_test(handles_of_all_kinds),
        cmocka_unit_test(nulls),
        cmocka_unit_test(tiny_pivots_count),
        cmocka_unit_test(threads_do_not_meet),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
