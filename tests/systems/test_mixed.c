/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems of several patterns in one object: those whose pattern others have, too, have the bits of
 * an object of that pattern, the others those of the single engine. */
#include "deck.h"

#include "core/pool.h"
#include "systems/object.h"

static void test_bits(void **unused) {
    static const mpk_scalar scalars[] = {MPK_S, MPK_D, MPK_C, MPK_Z};
    (void)unused;
    for (int k = 0; k < 4; k++) {
        deck d = deck_make(NULL, scalars[k], 0.1);
        expect(&d);
        void **b = apart(&d, NMOST);
        const mpk_batch_array ax = listed(d.ax, 1), rhs = listed(b, NMOST), x = listed(d.x, NMOST);
        for (int threads = 1; threads <= 9; threads += 4) { /* fewer than patterns, and more */
            mpki_context_set_cores(d.ctx, threads);
            mpk_systems *s = create(&d, threads, 1);
            int32_t status[MOST], tier[MOST];
            int64_t inertia[3 * MOST];
            double omega[MOST];
            const mpk_systems_results r = {
                .status = status, .tier = tier, .inertia = inertia, .omega = omega};
            mpk_systems_info info;
            for (int64_t q = 0; q < d.count; q++)
                memset(d.x[q], 0, NMOST * SIDES * d.group[0].size);
            assert_false(mpk_failed(
                mpk_systems_factorize_solve(d.ctx, s, &ax, SIDES, &rhs, &x, 0, NULL, &r)));
            for (int64_t q = 0; q < d.count; q++) {
                const cases *c = &d.group[d.of[q]];
                int32_t perm[NMOST];
                same(&d, q, d.x[q], NMOST);
                if (status[q] == MPK_OK) assert_true(omega[q] < 1e-5);
                if (sizes[d.of[q]] == 1) assert_int_equal(tier[q], MPK_TIER_SINGLE);
                if (c->symmetry != MPK_GENERAL && (c->scalar <= MPK_D || d.of[q] == 2))
                    assert_int_equal(inertia[3 * q] + inertia[3 * q + 1] + inertia[3 * q + 2],
                                     c->n);
                assert_int_equal(
                    mpk_systems_get(d.ctx, s, q, MPK_GET_PERM, perm, (size_t)c->n * sizeof *perm),
                    MPK_OK);
            }
            mpk_systems_info_get(s, &info);
            assert_int_equal(info.patterns, GROUPS);
            assert_int_equal(info.count, d.count);
            assert_int_equal(info.by_template + info.by_single, d.count);
            assert_true(info.by_template > 0);
            assert_int_equal(info.n, 7 + 9 * (GROUPS - 1));
            /* one right-hand side: ld is not read */
            mpk_batch_array one = rhs, to = x;
            one.ld = to.ld = 1;
            for (int64_t q = 0; q < d.count; q++)
                memset(d.x[q], 0, NMOST * SIDES * d.group[0].size);
            assert_false(mpk_failed(mpk_systems_solve(d.ctx, s, 1, &one, &to, 0, NULL, NULL)));
            for (int64_t q = 0; q < d.count; q++)
                if (tier[q] == MPK_TIER_TEMPLATE)
                    assert_memory_equal(d.expected[q], d.x[q],
                                        (size_t)d.group[d.of[q]].n * d.group[0].size);
            /* columns of each right-hand side follow each other */
            mpk_batch_array packed = listed(d.b, 0);
            to.ld = 0;
            for (int64_t q = 0; q < d.count; q++)
                memset(d.x[q], 0, NMOST * SIDES * d.group[0].size);
            assert_false(
                mpk_failed(mpk_systems_solve(d.ctx, s, SIDES, &packed, &to, 0, NULL, NULL)));
            for (int64_t q = 0; q < d.count; q++) same(&d, q, d.x[q], d.group[d.of[q]].n);
            mpk_systems_destroy(&s);
        }
        free_all(b, d.count);
        deck_free(&d);
    }
}

/* A mask, a NaN, a stride; what is not asked for stays. */
static void test_masks(void **unused) {
    (void)unused;
    for (int keep = 0; keep < 2; keep++) {
        deck d = deck_make(NULL, MPK_D, 0.1);
        expect(&d);
        void **b = apart(&d, NMOST);
        const mpk_batch_array ax = listed(d.ax, 1), rhs = listed(b, NMOST), x = listed(d.x, NMOST);
        mpk_systems *s = create(&d, 2, keep);
        uint8_t mask[MOST];
        int32_t status[MOST];
        double *all = calloc(MOST * NMOST * SIDES, sizeof *all);
        const mpk_systems_results r = {.status = status};
        assert_false(mpk_failed(mpk_systems_factorize(d.ctx, s, &ax, NULL, NULL)));
        for (int64_t q = 0; q < d.count; q++) mask[q] = q % 3 != 1, status[q] = 77;
        const double kept = ((double *)d.ax[6])[2];
        ((double *)d.ax[6])[2] = NAN;
        assert_int_equal(mpk_systems_refactorize_solve(d.ctx, s, &ax, SIDES, &rhs, &x, 0, mask, &r),
                         MPK_PARTIAL);
        for (int64_t q = 0; q < d.count; q++) {
            if (!mask[q]) assert_int_equal(status[q], 77);
            if (q == 6) assert_int_equal(status[q], MPK_ERR_INPUT);
            if (mask[q] && q != 6) same(&d, q, d.x[q], NMOST);
        }
        ((double *)d.ax[6])[2] = kept;
        for (int64_t q = 0; q < d.count; q++)
            memcpy(all + q * NMOST * SIDES, b[q], NMOST * SIDES * sizeof *all);
        const mpk_batch_array block = strided(all, NMOST * SIDES, NMOST);
        assert_int_equal(mpk_systems_solve(d.ctx, s, SIDES, &block, &block, 0, NULL, &r),
                         MPK_PARTIAL);
        for (int64_t q = 0; q < d.count; q++) {
            const bool has = q != 6 && (mask[q] || keep);
            if (has) same(&d, q, all + q * NMOST * SIDES, NMOST);
            if (!has) assert_true(status[q] < 0);
        }
        free(all);
        mpk_systems_destroy(&s);
        free_all(b, d.count);
        deck_free(&d);
    }
}

static void told(mpk_context *ctx, mpk_status got, mpk_status expected) {
    const char *text = NULL;
    assert_int_equal(got, expected);
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), expected);
    assert_true(strlen(text) > 5);
}

static void test_refused(void **unused) {
    (void)unused;
    deck d = deck_make(NULL, MPK_D, 0.1);
    mpk_systems *s = NULL;
    mpk_options o;
    mpk_options_init(&o);
    told(d.ctx, mpk_systems_create_mixed(d.ctx, 3, NULL, &o, NULL, &s), MPK_ERR_ARGUMENT);
    told(d.ctx, mpk_systems_create_mixed(d.ctx, -1, d.problem, &o, NULL, &s), MPK_ERR_ARGUMENT);
    const mpk_problem *some[] = {d.problem[0], NULL};
    told(d.ctx, mpk_systems_create_mixed(d.ctx, 2, some, &o, NULL, &s), MPK_ERR_ARGUMENT);
    o.method = MPK_METHOD_ILDLT;
    told(d.ctx, mpk_systems_create_mixed(d.ctx, d.count, d.problem, &o, NULL, &s),
         MPK_ERR_UNSUPPORTED);
    deck other = deck_make(NULL, MPK_S, 0.1);
    some[1] = other.problem[1];
    o.method = MPK_METHOD_AUTO;
    told(d.ctx, mpk_systems_create_mixed(d.ctx, 2, some, &o, NULL, &s), MPK_ERR_ARGUMENT);
    assert_null(s);
    deck_free(&other);
    s = create(&d, 2, 1);
    mpk_batch_array ax = listed(d.ax, 1), b = listed(d.b, NMOST), x = listed(d.x, NMOST), bad;
    told(d.ctx, mpk_systems_resize(d.ctx, s, 3), MPK_ERR_UNSUPPORTED);
    bad = ax, bad.layout = MPK_BATCH_INTERLEAVED, bad.width = 4, bad.stride = 1 << 20;
    told(d.ctx, mpk_systems_factorize(d.ctx, s, &bad, NULL, NULL), MPK_ERR_ARGUMENT);
    bad = ax, bad.memory = MPK_DEVICE;
    told(d.ctx, mpk_systems_factorize(d.ctx, s, &bad, NULL, NULL), MPK_ERR_DEVICE);
    assert_int_equal(mpk_systems_factorize(d.ctx, s, &ax, NULL, NULL), MPK_OK);
    bad = b, bad.ld = 20;
    told(d.ctx, mpk_systems_solve(d.ctx, s, SIDES, &bad, &x, 0, NULL, NULL), MPK_ERR_ARGUMENT);
    bad.layout = MPK_BATCH_STRIDED, bad.stride = 1 << 20, bad.ld = 0;
    told(d.ctx, mpk_systems_solve(d.ctx, s, SIDES, &bad, &x, 0, NULL, NULL), MPK_ERR_ARGUMENT);
    told(d.ctx, mpk_systems_solve(d.ctx, s, -1, &b, &x, 0, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_systems_solve(d.ctx, s, 0, &b, &x, 0, NULL, NULL), MPK_OK);
    mpk_systems_destroy(&s);
    assert_int_equal(mpk_systems_create_mixed(d.ctx, 0, NULL, &o, NULL, &s), MPK_OK);
    assert_int_equal(mpk_systems_factorize_solve(d.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL), MPK_OK);
    mpk_systems_destroy(&s);
    deck_free(&d);
}

typedef struct asked {
    int calls, stop_at;
} asked;
static int ask(const char *stage, double fraction, void *user) {
    asked *a = user;
    (void)stage, (void)fraction;
    return ++a->calls == a->stop_at;
}

/* A call of a pattern with many systems is stopped among them, not after them. */
static void test_cancel(void **unused) {
    enum { MANY = 4000 };
    (void)unused;
    cases c = cases_make(NULL, SADDLE_POINT, 40, MPK_D, MPK_SYMMETRIC, MANY, 1, 0.1);
    const mpk_problem **problem = malloc(MANY * sizeof *problem);
    void **at = malloc(MANY * sizeof *at);
    mpk_systems *s = NULL;
    asked a = {0};
    mpk_options o;
    mpk_options_init(&o);
    o.threads = 1;
    for (int k = 0; k < MANY; k++)
        problem[k] = c.problem, at[k] = c.ax + k * c.nnz * (int64_t)c.size;
    assert_int_equal(mpk_systems_create_mixed(c.ctx, MANY, problem, &o, NULL, &s), MPK_OK);
    const mpk_batch_array ax = listed(at, 1);
    mpk_context_set_progress(c.ctx, ask, &a);
    mpki_progress_each(c.ctx, 0), mpki_progress_each(s->child[0], 0);
    assert_int_equal(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL), MPK_OK);
    const int all = a.calls;
    assert_true(all > 50);
    a = (asked){.stop_at = all / 2};
    assert_int_equal(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL), MPK_ERR_CANCELLED);
    assert_true(a.calls < all);
    mpk_context_set_progress(c.ctx, NULL, NULL);
    assert_int_equal(mpk_systems_factorize(c.ctx, s, &ax, NULL, NULL), MPK_OK);
    mpk_systems_destroy(&s);
    free(problem), free(at);
    cases_free(&c);
}

/* Every allocation fails once: the call says so, nothing is lost. */
static void test_memory(void **unused) {
    (void)unused;
    failing purse = {0};
    const mpk_allocator memory = {failing_alloc, failing_release, &purse};
    deck d = deck_make(&memory, MPK_D, 0.1);
    const mpk_problem *some[] = {d.problem[0], d.problem[1], d.problem[6]};
    bool known = false;
    void *pa[] = {d.ax[0], d.ax[1], d.ax[6]}, *pb[] = {d.b[0], d.b[1], d.b[6]};
    void *px[] = {d.x[0], d.x[1], d.x[6]};
    const mpk_batch_array ax = listed(pa, 1), b = listed(pb, NMOST), x = listed(px, NMOST);
    mpk_options o;
    mpk_options_init(&o);
    o.threads = 1;
    const int64_t held = purse.held;
    for (int64_t fail = 1, passed = 0; passed < 1; fail += fail < 400 ? 1 : 7) {
        mpk_systems *s = NULL;
        int32_t status[3];
        double logdet[9];
        const mpk_systems_results r = {.status = status, .logdet = logdet};
        purse.calls = 0, purse.fail_at = fail;
        mpk_status got = mpk_systems_create_mixed(d.ctx, 3, some, &o, NULL, &s);
        if (mpk_failed(got)) assert_null(s);
        if (!mpk_failed(got))
            got = mpk_systems_factorize_solve(d.ctx, s, &ax, 1, &b, &x, 0, NULL, &r);
        passed = purse.calls < fail;
        purse.fail_at = 0;
        if (!passed && mpk_failed(got)) assert_int_equal(got, MPK_ERR_MEMORY);
        if (!s) assert_int_equal(mpk_systems_create_mixed(d.ctx, 3, some, &o, NULL, &s), MPK_OK);
        assert_false(
            mpk_failed(mpk_systems_factorize_solve(d.ctx, s, &ax, 1, &b, &x, 0, NULL, &r)));
        for (int q = 0; q < 3; q++) {
            const int64_t k = q < 2 ? q : 6;
            const size_t bytes = (size_t)d.group[d.of[k]].n * sizeof(double);
            if (!known) memcpy(d.expected[k], px[q], bytes);
            assert_memory_equal(d.expected[k], px[q], bytes);
        }
        known = true;
        mpk_systems_destroy(&s);
        assert_true(purse.held <= held + 64);
    }
    deck_free(&d);
    assert_int_equal(purse.held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits), cmocka_unit_test(test_masks), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cancel), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
