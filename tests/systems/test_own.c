/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems in which pivots of the template vanish, others in each: they choose their own in its
 * fronts, with the verdicts of the single engine and the bits that they have alone. */
#include "cases.h"

enum { N = 40, COUNT = 19, SIDES = 2 };

#include "told.h"

/* Systems whose diagonal vanishes in every seventh row, from another one on in each. */
static cases vanishing(const mpk_allocator *memory, enum support_family f, size_t kind,
                       double diagonal) {
    cases c = cases_make(memory, f, N, kinds[kind].scalar, kinds[kind].symmetry, COUNT, SIDES, 0.2);
    mpk_problem_view v;
    mpk_problem_view_get(c.problem, &v);
    for (int k = 1; k < COUNT; k++)
        for (int j = 0; j < N; j++)
            for (int64_t e = v.ap[j]; e < v.ap[j + 1]; e++)
                if (v.ai[e] == j && (j + k) % 7 == 0)
                    scalar_store(c.scalar, c.ax, k * c.nnz + e,
                                 diagonal * scalar_load(c.scalar, c.ax, k * c.nnz + e));
    return c;
}

/* The first such systems of which one has pivots of its own, and which. */
static cases some_own(const mpk_allocator *memory, int *own) {
    for (int f = SPARSE;; f = f + 1 < FAMILY_COUNT ? f + 1 : SPARSE) {
        cases c = vanishing(memory, (enum support_family)f, 0, 0);
        const mpk_batch_array ax = values_of(&c);
        int32_t tier[COUNT];
        const mpk_systems_results r = {.tier = tier};
        mpk_systems *s = systems_of(&c, COUNT, 1, 0);
        const mpk_status all = mpk_systems_factorize(c.ctx, s, &ax, NULL, &r);
        mpk_systems_destroy(&s);
        for (*own = COUNT - 1; *own > 0 && tier[*own] != MPK_TIER_OWN;) --*own;
        if (all == MPK_OK && *own > 0) return c;
        cases_free(&c);
    }
}

static void beside_single(const cases *c, mpk_systems *s, const told *t, int k) {
    const double eps = c->scalar == MPK_S || c->scalar == MPK_C ? 1e-3 : 1e-8;
    const bool counted = c->scalar <= MPK_D || c->symmetry == MPK_HERMITIAN;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_certificate found;
    double logdet[3];
    int32_t perm[N];
    bool seen[N] = {false};
    mpk_status one =
        mpk_factorize(c->ctx, c->an, c->ax + k * c->nnz * (int64_t)c->size, &c->o, &fac);
    assert_int_equal(t->status[k], one);
    mpk_factor_info_get(fac, &info);
    assert_int_equal(mpk_certify(c->ctx, fac, &found), MPK_OK);
    if (counted && found.certified && t->certified[k]) {
        assert_int_equal(t->inertia[3 * k], info.inertia.positive);
        assert_int_equal(t->inertia[3 * k + 1], info.inertia.negative);
        assert_int_equal(t->inertia[3 * k + 2], info.inertia.zero);
    }
    if (one == MPK_OK) {
        assert_int_equal(mpk_get(c->ctx, fac, MPK_GET_LOGDET, logdet, sizeof logdet), MPK_OK);
        for (int q = 0; q < 3; q++)
            assert_true(fabs(logdet[q] - t->logdet[3 * k + q]) <= eps * (1 + fabs(logdet[q])));
        assert_true(t->omega[k] <= 1e-14 * (eps > 1e-4 ? 0x1p29 : 1));
    }
    assert_int_equal(mpk_systems_get(c->ctx, s, k, MPK_GET_PERM, perm, sizeof perm), MPK_OK);
    for (int i = 0; i < N; i++) seen[perm[i]] = true;
    for (int i = 0; i < N; i++) assert_true(seen[i]);
    mpk_factor_destroy(&fac);
}

/* A system alone, factorized and solved by one call and by two: x and what is told, bit by bit. */
static void alone(const cases *c, const told *t, const char *x, int k) {
    const int64_t bytes = (int64_t)N * SIDES * (int64_t)c->size;
    char *own = calloc((size_t)bytes, 1);
    const mpk_batch_array ax = strided(c->ax + k * c->nnz * (int64_t)c->size, c->nnz, 1),
                          b = strided(column(c->b, c, k), N * SIDES, N),
                          to = strided(own, N * SIDES, N);
    for (int calls = 0; calls < 2; calls++) {
        int32_t tier;
        double omega, growth, logdet[3];
        const mpk_systems_results r = {
            .tier = &tier, .omega = &omega, .growth = &growth, .logdet = logdet};
        mpk_systems *s = systems_of(c, 1, 1, 0);
        memset(own, 0, (size_t)bytes);
        if (calls == 0) {
            assert_false(mpk_failed(
                mpk_systems_factorize_solve(c->ctx, s, &ax, SIDES, &b, &to, 0, NULL, &r)));
        } else {
            assert_false(mpk_failed(mpk_systems_factorize(c->ctx, s, &ax, NULL, &r)));
            assert_false(mpk_failed(mpk_systems_refactorize(c->ctx, s, &ax, NULL, &r)));
            assert_false(mpk_failed(mpk_systems_solve(c->ctx, s, SIDES, &b, &to, 0, NULL, &r)));
        }
        assert_memory_equal(own, x, (size_t)bytes);
        assert_int_equal(tier, t->tier[k]);
        assert_memory_equal(&omega, &t->omega[k], sizeof omega);
        assert_memory_equal(&growth, &t->growth[k], sizeof growth);
        assert_memory_equal(logdet, &t->logdet[3 * k], sizeof logdet);
        mpk_systems_destroy(&s);
    }
    free(own);
}

static void test_own(void **unused) {
    int own = 0, single = 0;
    (void)unused;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (enum support_family f = SPARSE; f < FAMILY_COUNT; f++)
            for (int zero = 0; zero < 2; zero++) {
                cases c = vanishing(NULL, f, kind, zero ? 0 : 1e-9);
                told t;
                mpk_systems_info info;
                const mpk_systems_results r = results_of(&t);
                const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
                mpk_systems *s = systems_of(&c, COUNT, 1, 0);
                int owns = 0;
                assert_false(mpk_failed(
                    mpk_systems_factorize_solve(c.ctx, s, &ax, SIDES, &b, &x, 0, NULL, &r)));
                for (int k = 0; k < COUNT; k++) {
                    owns += t.tier[k] == MPK_TIER_OWN, single += t.tier[k] == MPK_TIER_SINGLE;
                    if (t.tier[k] != MPK_TIER_OWN) continue;
                    beside_single(&c, s, &t, k);
                    if (k % 3 == 0) alone(&c, &t, column(c.x, &c, k), k);
                }
                mpk_systems_info_get(s, &info);
                assert_int_equal(info.by_own, owns);
                assert_int_equal(info.by_template + info.by_own + info.by_single, COUNT);
                own += owns;
                mpk_systems_destroy(&s);
                cases_free(&c);
            }
    print_message("%d with pivots of their own, %d by the single engine\n", own, single);
    assert_true(own > 150 && single > 0);
}

/* Masks, threads, values that change who factorizes a system, and the object's size. */
static void test_changes(void **unused) {
    (void)unused;
    for (int keep = 0; keep < 2; keep++) {
        int own;
        cases c = some_own(NULL, &own);
        const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
        const int64_t bytes = COUNT * N * SIDES * 8;
        char *first = malloc((size_t)bytes);
        told t, again;
        const mpk_systems_results r = results_of(&t), q = results_of(&again);
        uint8_t mask[COUNT];
        c.o.threads = keep ? 1 : 3;
        mpk_systems *s = systems_of(&c, COUNT, keep, 0);
        assert_false(
            mpk_failed(mpk_systems_factorize_solve(c.ctx, s, &ax, SIDES, &b, &x, 0, NULL, &r)));
        memcpy(first, c.x, (size_t)bytes);
        assert_int_equal(t.tier[own], MPK_TIER_OWN);
        /* half of them once more: the others keep their factors, or lose them */
        for (int k = 0; k < COUNT; k++) mask[k] = k % 2 == own % 2;
        assert_false(mpk_failed(mpk_systems_refactorize(c.ctx, s, &ax, mask, &q)));
        memset(c.x, 0, (size_t)bytes);
        mpk_status all = mpk_systems_solve(c.ctx, s, SIDES, &b, &x, 0, NULL, &q);
        if (keep) assert_false(mpk_failed(all));
        if (!keep) assert_int_equal(all, MPK_PARTIAL);
        for (int k = 0; k < COUNT; k++) {
            const size_t each = N * SIDES * 8;
            if (mask[k] || keep)
                assert_memory_equal(first + (size_t)k * each, column(c.x, &c, k), each);
            if (mask[k] || keep) assert_int_equal(again.tier[k], t.tier[k]);
            if (!mask[k] && !keep) assert_int_equal(again.status[k], MPK_ERR_ARGUMENT);
        }
        /* a system in another's place */
        for (int64_t e = 0; e < c.nnz; e++) ((double *)c.ax)[e] = ((double *)c.ax)[own * c.nnz + e];
        memcpy(c.b, column(c.b, &c, own), N * SIDES * 8);
        assert_false(
            mpk_failed(mpk_systems_refactorize_solve(c.ctx, s, &ax, SIDES, &b, &x, 0, NULL, &q)));
        assert_int_equal(again.tier[0], MPK_TIER_OWN);
        assert_memory_equal(first + (size_t)own * N * SIDES * 8, c.x, N * SIDES * 8);
        /* NaN in it, and in what is solved */
        const double kept = ((double *)c.ax)[own * c.nnz];
        ((double *)c.ax)[own * c.nnz] = NAN;
        assert_int_equal(mpk_systems_refactorize(c.ctx, s, &ax, NULL, &q), MPK_PARTIAL);
        assert_int_equal(again.status[own], MPK_ERR_INPUT);
        ((double *)c.ax)[own * c.nnz] = kept;
        assert_false(mpk_failed(mpk_systems_refactorize(c.ctx, s, &ax, NULL, &q)));
        assert_int_equal(again.tier[own], MPK_TIER_OWN);
        /* singular: the single engine has the last word */
        memset(c.ax + own * c.nnz * 8, 0, (size_t)c.nnz * 8);
        assert_int_equal(mpk_systems_refactorize(c.ctx, s, &ax, NULL, &q), MPK_SINGULAR);
        assert_int_equal(again.status[own], MPK_SINGULAR);
        assert_int_equal(again.tier[own], MPK_TIER_SINGLE);
        assert_int_equal(mpk_systems_resize(c.ctx, s, 3), MPK_OK);
        assert_int_equal(mpk_systems_resize(c.ctx, s, COUNT), MPK_OK);
        change_values(&c, 0.1);
        assert_int_equal(mpk_systems_factorize_solve(c.ctx, s, &ax, SIDES, &b, &x, 0, NULL, &q),
                         MPK_OK);
        mpk_systems_destroy(&s);
        free(first);
        cases_free(&c);
    }
}

/* A template of one that has pivots of its own serves it. */
static void test_learn(void **unused) {
    (void)unused;
    int own;
    cases c = some_own(NULL, &own);
    const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    told t;
    const mpk_systems_results r = results_of(&t);
    mpk_systems *s = systems_of(&c, COUNT, 1, 0);
    assert_false(mpk_failed(mpk_systems_factorize(c.ctx, s, &ax, NULL, &r)));
    assert_int_equal(t.tier[own], MPK_TIER_OWN);
    assert_int_equal(mpk_systems_learn(c.ctx, s, own), MPK_OK);
    assert_int_equal(mpk_systems_learn(c.ctx, s, own), MPK_ERR_ARGUMENT); /* it lost its factors */
    assert_false(
        mpk_failed(mpk_systems_refactorize_solve(c.ctx, s, &ax, SIDES, &b, &x, 0, NULL, &r)));
    assert_int_equal(t.tier[own], MPK_TIER_TEMPLATE);
    mpk_systems_destroy(&s);
    cases_free(&c);
}

/* Every allocation fails once: the call says so, nothing is lost, and the same call succeeds. */
static void test_memory(void **unused) {
    (void)unused;
    failing purse = {0};
    const mpk_allocator memory = {failing_alloc, failing_release, &purse};
    int own;
    cases c = some_own(&memory, &own);
    const mpk_batch_array ax = values_of(&c), b = b_of(&c), x = x_of(&c);
    const size_t bytes = COUNT * N * SIDES * 8;
    char *expected = malloc(bytes);
    told t;
    const mpk_systems_results r = results_of(&t);
    c.o.threads = 1;
    mpk_systems *s = systems_of(&c, COUNT, 1, 0);
    assert_false(
        mpk_failed(mpk_systems_factorize_solve(c.ctx, s, &ax, SIDES, &b, &x, 0, NULL, &r)));
    assert_int_equal(t.tier[own], MPK_TIER_OWN);
    memcpy(expected, c.x, bytes);
    mpk_systems_destroy(&s);
    for (int64_t fail = 1, passed = 0; passed < 1; fail += fail < 40 ? 1 : 9) {
        s = systems_of(&c, COUNT, 1, 0);
        purse.calls = 0, purse.fail_at = fail;
        const mpk_status status =
            mpk_systems_factorize_solve(c.ctx, s, &ax, SIDES, &b, &x, 0, NULL, &r);
        passed = purse.calls < fail;
        purse.fail_at = 0;
        if (!passed && mpk_failed(status)) assert_int_equal(status, MPK_ERR_MEMORY);
        assert_false(
            mpk_failed(mpk_systems_factorize_solve(c.ctx, s, &ax, SIDES, &b, &x, 0, NULL, &r)));
        assert_memory_equal(expected, c.x, bytes);
        assert_false(
            mpk_failed(mpk_systems_refactorize_solve(c.ctx, s, &ax, SIDES, &b, &x, 0, NULL, &r)));
        assert_memory_equal(expected, c.x, bytes);
        mpk_systems_destroy(&s);
    }
    free(expected);
    cases_free(&c);
    assert_int_equal(purse.held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_own), cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_learn), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
