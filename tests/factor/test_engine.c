/* SPDX-License-Identifier: BSD-3-Clause */
/* An engine that counts calls and lets the processor's answer: what is above the seam asks nothing
 * else. */
#include "support.h"

#include "factor/factor.h"

enum { MADE, FACTORIZED, APPLIED, STAGES, BLOCKS_APPLIED, MATRICES, PRODUCTS, SPACES, SLOTS };
static int calls[SLOTS];

static mpk_status make(mpk_context *ctx, const mpki_tree_view *tree, mpki_direct **f) {
    calls[MADE]++;
    return mpki_cpu_direct.make(ctx, tree, f);
}

static mpk_status factorize(mpki_direct *f, const void *ax, const double *scale,
                            const mpki_pivot_rules *rules, const mpki_stop *stop,
                            mpki_numeric_result *result) {
    calls[FACTORIZED]++;
    return mpki_cpu_direct.factorize(f, ax, scale, rules, stop, result);
}

static mpk_status apply(mpki_direct_solver *s, mpk_part part, int32_t nrhs, const void *b,
                        int64_t ldb, void *x, int64_t ldx) {
    calls[APPLIED]++;
    return mpki_cpu_direct.apply(s, part, nrhs, b, ldb, x, ldx);
}

static mpk_status stage(mpki_blocks *f) {
    calls[STAGES]++;
    return mpki_cpu_blocks.stage(f);
}

static mpk_status apply_blocks(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                               int64_t ldb, void *x, int64_t ldx) {
    calls[BLOCKS_APPLIED]++;
    return mpki_cpu_blocks.apply(s, part, nrhs, b, ldb, x, ldx);
}

static mpk_status matrix_make(mpk_context *ctx, mpki_full *full, mpki_pool *pool, double limit,
                              mpki_matrix **m) {
    calls[MATRICES]++;
    return mpki_cpu_vectors.matrix_make(ctx, full, pool, limit, m);
}

static mpk_status multiply(mpki_matrix *m, const void *x, void *y) {
    calls[PRODUCTS]++;
    return mpki_cpu_vectors.multiply(m, x, y);
}

static mpk_status space(mpk_context *ctx, mpk_scalar scalar, int32_t n, int64_t count, void *stream,
                        double limit, mpki_space **s, void **v) {
    calls[SPACES]++;
    return mpki_cpu_vectors.ops[scalar]->make(ctx, scalar, n, count, stream, limit, s, v);
}

static const char *name(const mpk_context *ctx) {
    (void)ctx;
    return "counting";
}

/* x of A x = 1 for a generated matrix by a method, on an engine; NULL: the processor's. */
static void solve(const mpki_engine *engine, mpk_method method, double *x, int32_t most) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    mpk_options o;
    mpk_options_init(&o);
    o.method = method;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_engine_use(ctx, engine);
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 4", 3, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_true(a.n <= most);
    for (int32_t i = 0; i < a.n; i++) x[i] = 1;
    assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
    assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
    assert_int_equal(mpk_solve(ctx, fac, 1, x, a.n, x, a.n, &o, NULL), MPK_OK);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_counts(void **unused) {
    (void)unused;
    enum { MOST = 1000 };
    static const mpk_method method[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT, MPK_METHOD_NONE};
    static const bool called[][SLOTS] = {
        {1, 1, 1, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 1, 1, 1}};
    mpki_direct_engine direct = mpki_cpu_direct;
    mpki_block_engine blocks = mpki_cpu_blocks;
    mpki_vector_engine vectors = mpki_cpu_vectors;
    direct.make = make, direct.factorize = factorize, direct.apply = apply;
    blocks.stage = stage, blocks.apply = apply_blocks;
    mpki_vector_ops ops = *vectors.ops[MPK_D];
    ops.make = space;
    vectors.matrix_make = matrix_make, vectors.multiply = multiply, vectors.ops[MPK_D] = &ops;
    const mpki_engine counting = {name, MPK_HOST, &direct, &blocks, &vectors};
    for (size_t k = 0; k < sizeof method / sizeof *method; k++) {
        static double own[MOST], others[MOST];
        memset(calls, 0, sizeof calls);
        solve(NULL, method[k], own, MOST);
        for (int s = 0; s < SLOTS; s++) assert_int_equal(calls[s], 0);
        solve(&counting, method[k], others, MOST);
        for (int s = 0; s < SLOTS; s++) assert_int_equal(calls[s] > 0, called[k][s]);
        assert_memory_equal(own, others, sizeof own);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
