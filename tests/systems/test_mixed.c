/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems of several patterns in one object: those whose pattern others have, too, have the bits of
 * an object of that pattern, the others those of the single engine. */
#include "cases.h"

#include "core/pool.h"

enum { GROUPS = 6, MOST = 40, SIDES = 2, NMOST = 60 };

/* Patterns of some orders and kinds, and the systems of each, dealt out in turn. */
typedef struct deck {
    mpk_context *ctx;
    mpk_scalar scalar;
    cases group[GROUPS];
    int64_t count;
    int of[MOST], number[MOST]; /* a system's group, and its number there */
    const mpk_problem *problem[MOST];
    mpk_problem *own[MOST];
    void *ax[MOST], *b[MOST], *x[MOST];
    char *expected[MOST]; /* solutions */
} deck;

static const int64_t sizes[GROUPS] = {9, 1, 12, 1, 3, 8};

/* The problem of a group with the values of its number-th system. */
static mpk_problem *problem_of(mpk_context *ctx, cases *c, int64_t number) {
    mpk_problem_view v;
    mpk_problem *p = NULL;
    mpk_problem_view_get(c->problem, &v);
    assert_int_equal(mpk_problem_from_csc(ctx, c->n, c->scalar, c->symmetry,
                                          c->symmetry == MPK_GENERAL ? MPK_FULL : MPK_LOWER, v.ap,
                                          v.ai, c->ax + number * c->nnz * (int64_t)c->size, &p),
                     MPK_OK);
    return p;
}

static deck deck_make(const mpk_allocator *memory, mpk_scalar scalar, double spread) {
    deck d = {.scalar = scalar};
    int64_t dealt[GROUPS] = {0};
    assert_int_equal(mpk_context_create(memory, &d.ctx), MPK_OK);
    for (int g = 0; g < GROUPS; g++)
        d.group[g] = cases_make(NULL, (enum support_family)(g % FAMILY_COUNT), 7 + 9 * g, scalar,
                                g == 3 || g == 4            ? MPK_GENERAL
                                : g == 2 && scalar >= MPK_C ? MPK_HERMITIAN
                                                            : MPK_SYMMETRIC,
                                sizes[g], SIDES, spread);
    for (bool more = true; more;) {
        more = false;
        for (int g = 0; g < GROUPS; g++) {
            if (dealt[g] == sizes[g]) continue;
            cases *c = &d.group[g];
            const int64_t b = d.count++, k = dealt[g]++;
            more = true;
            d.of[b] = g, d.number[b] = (int)k;
            d.problem[b] = d.own[b] = problem_of(d.ctx, c, k);
            d.ax[b] = c->ax + k * c->nnz * (int64_t)c->size;
            d.b[b] = column(c->b, c, k);
            d.x[b] = calloc(NMOST * SIDES, c->size);
            d.expected[b] = calloc((size_t)c->n * SIDES, c->size);
        }
    }
    return d;
}

static void deck_free(deck *d) {
    for (int64_t b = 0; b < d->count; b++) {
        mpk_problem_destroy(&d->own[b]);
        free(d->x[b]), free(d->expected[b]);
    }
    for (int g = 0; g < GROUPS; g++) cases_free(&d->group[g]);
    mpk_context_destroy(&d->ctx);
}

static mpk_batch_array listed(void **at, int32_t ld) {
    return (mpk_batch_array){.layout = MPK_BATCH_POINTERS, .data = at, .ld = ld};
}

/* By an object of each group, or by the single engine. */
static void expect(deck *d) {
    for (int64_t b = 0; b < d->count; b++) {
        cases *c = &d->group[d->of[b]];
        mpk_analysis *an = NULL;
        mpk_options o = c->o;
        o.threads = 1;
        mpk_problem *first = problem_of(c->ctx, c, 0); /* with whose values a pattern is analysed */
        assert_false(mpk_failed(mpk_analyse(c->ctx, first, &o, &an)));
        if (sizes[d->of[b]] == 1) {
            mpk_factor *fac = NULL;
            assert_false(mpk_failed(mpk_factorize(c->ctx, an, d->ax[b], &o, &fac)));
            assert_false(mpk_failed(
                mpk_solve(c->ctx, fac, SIDES, d->b[b], c->n, d->expected[b], c->n, &o, NULL)));
            mpk_factor_destroy(&fac);
        } else {
            mpk_systems *s = NULL;
            const mpk_batch_array ax = listed(&d->ax[b], 1), rhs = listed(&d->b[b], c->n);
            void *to = d->expected[b];
            const mpk_batch_array x = listed(&to, c->n);
            assert_int_equal(mpk_systems_create(c->ctx, an, &o, NULL, 1, &s), MPK_OK);
            assert_false(mpk_failed(
                mpk_systems_factorize_solve(c->ctx, s, &ax, SIDES, &rhs, &x, 0, NULL, NULL)));
            mpk_systems_destroy(&s);
        }
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&first);
    }
}

static void same(const deck *d, int64_t b, const void *x, int32_t ld) {
    const cases *c = &d->group[d->of[b]];
    for (int j = 0; j < SIDES; j++)
        assert_memory_equal(d->expected[b] + (size_t)(j * c->n) * c->size,
                            (const char *)x + (size_t)(j * ld) * c->size, (size_t)c->n * c->size);
}

/* b with columns ld apart. */
static void **apart(const deck *d, int32_t ld) {
    void **at = malloc((size_t)d->count * sizeof *at);
    for (int64_t b = 0; b < d->count; b++) {
        const cases *c = &d->group[d->of[b]];
        at[b] = calloc((size_t)ld * SIDES, c->size);
        for (int j = 0; j < SIDES; j++)
            memcpy((char *)at[b] + (size_t)(j * ld) * c->size,
                   (const char *)d->b[b] + (size_t)(j * c->n) * c->size, (size_t)c->n * c->size);
    }
    return at;
}

static void free_all(void **at, int64_t count) {
    for (int64_t b = 0; b < count; b++) free(at[b]);
    free(at);
}

static mpk_systems *create(const deck *d, int threads, int keep) {
    mpk_systems *s = NULL;
    mpk_systems_options how;
    mpk_options o;
    mpk_options_init(&o);
    o.threads = threads;
    mpk_systems_options_init(&how);
    how.keep = keep;
    assert_int_equal(mpk_systems_create_mixed(d->ctx, d->count, d->problem, &o, &how, &s), MPK_OK);
    return s;
}

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
    o.device = MPK_ON_CUDA;
    told(d.ctx, mpk_systems_create_mixed(d.ctx, d.count, d.problem, &o, NULL, &s),
         MPK_ERR_UNSUPPORTED);
    o.device = MPK_ON_CPU, o.method = MPK_METHOD_ILDLT;
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
    told(d.ctx, mpk_systems_solve(d.ctx, s, -1, &b, &x, 0, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_systems_solve(d.ctx, s, 0, &b, &x, 0, NULL, NULL), MPK_OK);
    mpk_systems_destroy(&s);
    assert_int_equal(mpk_systems_create_mixed(d.ctx, 0, NULL, &o, NULL, &s), MPK_OK);
    assert_int_equal(mpk_systems_factorize_solve(d.ctx, s, &ax, 1, &b, &x, 0, NULL, NULL), MPK_OK);
    mpk_systems_destroy(&s);
    deck_free(&d);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_masks),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
