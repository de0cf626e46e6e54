/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the judge: ranks, inertias and conditions known by hand, and false reports that it must
 * find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "verdict.h"

static equations made(mpk_scalar scalar, mpk_symmetry symmetry, int32_t n, int64_t count,
                      const quad_entry *entry, const double *b) {
    const equations eq = {.scalar = scalar,
                          .symmetry = symmetry,
                          .n = n,
                          .nrhs = 1,
                          .count = count,
                          .entry = (quad_entry *)(uintptr_t)entry,
                          .b = (double *)(uintptr_t)b};
    return equations_copy(&eq);
}

static void expect_rank(mpk_scalar scalar, mpk_symmetry symmetry, int32_t n, int64_t count,
                        const quad_entry *entry, const double *b, int rank, int solvable) {
    equations eq = made(scalar, symmetry, n, count, entry, b);
    exact_rank found = exact_rank_of(&eq);
    assert_int_equal(found.rank, rank);
    assert_int_equal(found.augmented[0], solvable ? rank : rank + 1);
    exact_rank_free(&found);
    equations_free(&eq);
}

static void ranks(void **state) {
    (void)state;
    const double b[] = {1, 0, 0, 0, -1, 0}, ones[] = {1, 0, 1, 0, 1, 0};
    /* 2^61 - 1 would be zero modulo that prime */
    expect_rank(MPK_D, MPK_SYMMETRIC, 2, 3,
                (quad_entry[]){{0, 0, 1, 0}, {1, 0, 1, 0}, {1, 1, 0x1p61, 0}}, b, 2, 1);
    /* a line with Neumann's ends: solvable where b sums to zero */
    const quad_entry line[] = {
        {0, 0, 1, 0}, {1, 0, -1, 0}, {1, 1, 2, 0}, {2, 1, -1, 0}, {2, 2, 1, 0}};
    expect_rank(MPK_D, MPK_SYMMETRIC, 3, 5, line, b, 2, 1);
    expect_rank(MPK_D, MPK_SYMMETRIC, 3, 5, line, ones, 2, 0);
    /* [1 i; i -1], and [1 -i; i 1] */
    expect_rank(MPK_Z, MPK_SYMMETRIC, 2, 3,
                (quad_entry[]){{0, 0, 1, 0}, {1, 0, 0, 1}, {1, 1, -1, 0}}, ones, 1, 0);
    expect_rank(MPK_Z, MPK_HERMITIAN, 2, 3,
                (quad_entry[]){{0, 0, 1, 0}, {1, 0, 0, 1}, {1, 1, 1, 0}}, ones, 1, 0);
    /* scaled by 2^-500 and 2^500; denormal */
    expect_rank(MPK_D, MPK_SYMMETRIC, 2, 3,
                (quad_entry[]){{0, 0, 0x1p-1000, 0}, {1, 0, 1, 0}, {1, 1, 0x1p1000, 0}}, b, 1, 0);
    expect_rank(MPK_D, MPK_SYMMETRIC, 1, 1, (quad_entry[]){{0, 0, 0x1p-1074, 0}}, b, 1, 1);
}

static void inertias(void **state) {
    (void)state;
    /* diag(2, [0 i; -i 0], -3), rows scaled far apart */
    const double r = 0x1p-450, s = 0x1p450;
    const quad_entry entry[] = {{0, 0, 2 * r * r, 0}, {2, 1, 0, r * s}, {3, 3, -3, 0}};
    const double b[8] = {0};
    equations eq = made(MPK_Z, MPK_HERMITIAN, 4, 3, entry, b);
    const spectrum found = spectrum_of(&eq, BY_LARGEST);
    assert_int_equal(found.positive, 2);
    assert_int_equal(found.negative, 2);
    assert_true(found.sure);
    equations_free(&eq);
    /* a pivot of 1e-30 must not be trusted, and zero is no pivot */
    const quad_entry close[] = {{0, 0, 1, 0}, {1, 0, 1, 0}, {1, 1, 1, 0}};
    eq = made(MPK_D, MPK_SYMMETRIC, 2, 3, close, b);
    assert_false(spectrum_of(&eq, BY_LARGEST).sure);
    equations_free(&eq);
}

static void conditions(void **state) {
    (void)state;
    const quad_entry entry[] = {{0, 0, 0x1p-100, 0}, {1, 1, 0x1p100, 0}};
    const double b[] = {1, 0, 1, 0};
    equations eq = made(MPK_D, MPK_SYMMETRIC, 2, 2, entry, b);
    const quad_inverse found = quad_inverse_of(&eq, BY_LARGEST);
    assert_true(found.found);
    assert_true(found.scaled <= 4);
    assert_true(found.plain == 0x1p200);
    assert_true(found.largest == 0x1p100);
    equations_free(&eq);
}

/* Scaling by the largest entries alone leads astray: D falls to 1e-56, though another scaling has
 * condition 4. */
static void scalings(void **state) {
    (void)state;
    const quad_entry entry[] = {{1, 0, -0x1.2p-414, 0},
                                {2, 0, -0x1.02p-210, 0},
                                {3, 0, 0x1.2p-397, 0},
                                {2, 1, -0x1.7p-166, 0},
                                {3, 2, 0x1.1p-142, 0}};
    const double b[8] = {1, 0, 1, 0, 1, 0, 1, 0};
    equations eq = made(MPK_D, MPK_SYMMETRIC, 4, 5, entry, b);
    truth t = truth_make(&eq);
    assert_false(spectrum_of(&eq, BY_LARGEST).sure);
    assert_true(truth_spectrum(&t)->sure);
    assert_int_equal(t.spectrum.positive, 2);
    assert_true(truth_condition(&t, 1) < 100);
    truth_free(&t);
    equations_free(&eq);
}

static void expect_signs(const equations *eq, int positive, int negative, int zero) {
    known_inertia found = {0};
    assert_true(signs_of(eq, 1e8, &found));
    assert_int_equal(found.positive, positive);
    assert_int_equal(found.negative, negative);
    assert_int_equal(found.zero, zero);
}

/* Whatever the condition: by signs of the characteristic polynomial. */
static void signs(void **state) {
    (void)state;
    const double b[6] = {0};
    equations eq = made(MPK_D, MPK_SYMMETRIC, 2, 1, (quad_entry[]){{1, 0, 0x1p-300, 0}}, b);
    expect_signs(&eq, 1, 1, 0);
    equations_free(&eq);
    eq = made(MPK_Z, MPK_HERMITIAN, 2, 3, (quad_entry[]){{0, 0, 1, 0}, {1, 0, 0, 1}, {1, 1, 1, 0}},
              b);
    expect_signs(&eq, 1, 0, 1);
    equations_free(&eq);
    /* L D L' with -35 in two diagonals of L: 10 of 20 are positive, which no pivot in doubles
     * shows */
    enum { N = 20, W = 2, C = 35 };
    static const int pivot[N] = {-3, 3, -3, -2, -1, -1, -1, 2, 2, -1,
                                 -2, 3, -3, 2,  2,  2,  3,  3, 1, -2};
    quad_entry entry[N * (W + 1)];
    int count = 0;
    for (int j = 0; j < N; j++)
        for (int i = j; i < N && i <= j + W; i++) {
            int sum = 0;
            for (int k = i > W ? i - W : 0; k <= j; k++)
                sum += (k == i ? 1 : -C) * pivot[k] * (k == j ? 1 : -C);
            entry[count++] = (quad_entry){i, j, sum, 0};
        }
    const double none[2 * N] = {0};
    eq = made(MPK_D, MPK_SYMMETRIC, N, count, entry, none);
    assert_false(spectrum_of(&eq, BY_LARGEST).sure);
    expect_signs(&eq, 10, 10, 0);
    equations_free(&eq);
}

/* A part that floats, beside a penalty of 1e10 that hides in every norm what its load lacks. */
static void contradictions(void **state) {
    (void)state;
    const quad_entry entry[] = {{0, 0, 1e10, 0}, {1, 1, 1, 0}, {2, 1, -1, 0}, {2, 2, 1, 0}};
    const double pushed[] = {1e10, 0, 1, 0, 1, 0}, held[] = {1e10, 0, 1, 0, -1, 0};
    const double at_rest[] = {1, 0, 0, 0, 0, 0}, moved[] = {1, 0, 1, 0, 0, 0};
    equations eq = made(MPK_D, MPK_SYMMETRIC, 3, 4, entry, pushed);
    truth t = truth_make(&eq);
    assert_true(truth_below_n(&t));
    assert_true(truth_contradicts(&t, 0, at_rest));
    truth_free(&t);
    equations_free(&eq);
    eq = made(MPK_D, MPK_SYMMETRIC, 3, 4, entry, held);
    t = truth_make(&eq);
    assert_false(truth_contradicts(&t, 0, moved));
    truth_free(&t);
    equations_free(&eq);
}

/* [1e7 1; -1 1], given whole, is no symmetric matrix, and (1, 1) solves it for (1e7 + 1, 0). */
static void given_whole(void **state) {
    (void)state;
    const quad_entry entry[] = {{0, 0, 1e7, 0}, {1, 0, -1, 0}, {0, 1, 1, 0}, {1, 1, 1, 0}};
    const double b[] = {1e7 + 1, 0, 0, 0}, x[] = {1, 0, 1, 0};
    equations eq = made(MPK_D, MPK_SYMMETRIC, 2, 4, entry, b);
    eq.whole = 1;
    truth t = truth_make(&eq);
    assert_int_equal(t.count, 4);
    assert_true(equations_skewness(&eq) == 2);
    assert_false(has_inertia(&eq));
    assert_true(quad_judge(2, t.count, t.whole, x, b, DBL_EPSILON).componentwise == 0);
    truth_free(&t);
    equations_free(&eq);
}

/* ---- false reports ---- */

static void hear(void *self, const trial *t, int what, const char *details) {
    (void)self, (void)t, (void)what, (void)details;
}

static void count(void *self, const trial *t, int what) {
    (void)self, (void)t, (void)what;
}

/* [2 1; 1 2] x = 3 3: x = 1 1 */
static void with_small_system(void (*ask)(verdicts *v)) {
    const quad_entry entry[] = {{0, 0, 2, 0}, {1, 0, 1, 0}, {1, 1, 2, 0}};
    const double b[] = {3, 0, 3, 0};
    trial t = {.eq = made(MPK_D, MPK_SYMMETRIC, 2, 3, entry, b), .path = PATH_DIRECT};
    setup_default(&t.setup);
    verdicts v = {.trial = &t, .truth = truth_make(&t.eq), .tell = hear, .count = count};
    ask(&v);
    truth_free(&v.truth);
    equations_free(&t.eq);
}

static uint32_t solution_of(verdicts *v, const reported *said, double x0, double x1) {
    const double x[] = {x0, x1};
    v->found = 0;
    judge_solution(v, said, x, 2);
    return v->found;
}

static void ask_solutions(verdicts *v) {
    reported said = {.accuracy = 1e-14, .tolerance = -1, .measures = 1, .has_relative = 1};
    assert_int_equal(solution_of(v, &said, 1, 1), 0);
    const uint32_t measures =
        1u << WRONG_NORMWISE | 1u << WRONG_COMPONENTWISE | 1u << WRONG_RELATIVE;
    assert_int_equal(solution_of(v, &said, 1, 1 + 1e-10), measures | 1u << WRONG_INACCURATE);
    assert_int_equal(solution_of(v, &said, 1, NAN) & 1u << WRONG_NOT_FINITE,
                     1u << WRONG_NOT_FINITE);
    said = (reported){.accuracy = -1, .tolerance = 1e-6, .has_krylov = 1, .krylov = 1e-7};
    assert_int_equal(solution_of(v, &said, 1, 1 + 2e-5),
                     1u << WRONG_UNCONVERGED | 1u << WRONG_KRYLOV);
    said.status = MPK_NOT_CONVERGED;
    assert_int_equal(solution_of(v, &said, 1, 1 + 2e-5), 1u << WRONG_KRYLOV);
    assert_int_equal(solution_of(v, &said, INFINITY, 1) & 1u << WRONG_UNUSABLE,
                     1u << WRONG_UNUSABLE);
}

static void ask_inertias(verdicts *v) {
    v->found = 0;
    judge_inertia(v, &(mpk_inertia){2, 0, 0, 1, 1}, 1);
    assert_int_equal(v->found, 0);
    judge_inertia(v, &(mpk_inertia){1, 1, 0, 1, 1}, 1);
    assert_int_equal(v->found, 1u << WRONG_INERTIA);
    v->found = 0;
    judge_inertia(v, &(mpk_inertia){1, 0, 0, 0, 1}, 1);
    assert_int_equal(v->found, 1u << WRONG_INERTIA_SUM);
    v->found = 0;
    judge_singular(v, "factorize", 1);
    assert_int_equal(v->found, 1u << WRONG_SINGULAR);
}

static void lies(void **state) {
    (void)state;
    with_small_system(ask_solutions);
    with_small_system(ask_inertias);
}

/* Choices survive conversion to text and back. */
static void texts(void **state) {
    (void)state;
    random_state r = random_start(3, 4);
    const equations eq = {.scalar = MPK_D, .n = 4, .nrhs = 1};
    for (int k = 0; k < 500; k++) {
        setup s, again;
        char text[SETUP_TEXT], copy[SETUP_TEXT];
        setup_random(&s, k % PATHS, &eq, k % 7 == 0, &r);
        setup_text(&s, text);
        assert_true(setup_parse(&again, text));
        setup_text(&again, copy);
        assert_string_equal(text, copy);
    }
    setup s;
    assert_false(setup_parse(&s, "no_such_key=1"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks),       cmocka_unit_test(inertias), cmocka_unit_test(conditions),
        cmocka_unit_test(scalings),    cmocka_unit_test(signs),    cmocka_unit_test(contradictions),
        cmocka_unit_test(given_whole), cmocka_unit_test(lies),     cmocka_unit_test(texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
