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
    const mpki_engine counting = {
        .name = name, .direct = &direct, .blocks = &blocks, .vectors = &vectors};
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

/* Every factorization that may be given up runs away. */
static mpk_status run_away(mpki_direct *f, const void *ax, const double *scale,
                           const mpki_pivot_rules *rules, const mpki_stop *stop,
                           mpki_numeric_result *result) {
    assert_true(++calls[FACTORIZED] < 10);
    const mpk_status status = mpki_cpu_direct.factorize(f, ax, scale, rules, NULL, result);
    result->runaway = stop != NULL;
    return status;
}

/* A diagonal has no pairs to match, so a matching that is asked for is not there afterwards; the
 * order with it is the last one nevertheless, and stays in force for new values. */
static void test_ends_without_pairs(void **unused) {
    (void)unused;
    enum { N = 40 };
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_options o;
    int32_t at[N];
    double value[N];
    mpki_direct_engine direct = mpki_cpu_direct;
    direct.factorize = run_away;
    const mpki_engine engine = {
        .name = name, .direct = &direct, .blocks = &mpki_cpu_blocks, .vectors = &mpki_cpu_vectors};
    for (int32_t k = 0; k < N; k++) at[k] = k, value[k] = 1 + k;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_engine_use(ctx, &engine);
    assert_int_equal(mpk_problem_from_triplets(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, N, at, at,
                                               value, &problem),
                     MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    for (int k = 0; k < 2; k++) {
        calls[FACTORIZED] = 0;
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        mpk_factor_info_get(fac, &info);
        assert_int_equal(calls[FACTORIZED], 2 - k);
        assert_int_equal(info.stages, 2 - k);
        assert_int_equal(info.inertia.positive, N);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* A device whose memory is `device`, as far as the seam can see. */
static double device[4000];
static int copies[2], failing_copy = -1;

static bool is_here(mpk_context *ctx, const void *p) {
    (void)ctx;
    return (const char *)p >= (const char *)device &&
           (const char *)p < (const char *)(device + 4000);
}

static mpk_status copy(mpk_context *ctx, void *to, int64_t to_pitch, const void *from,
                       int64_t from_pitch, int64_t width, int64_t columns, bool to_device) {
    if (copies[0] + copies[1] == failing_copy)
        return mpki_error(ctx, MPK_ERR_DEVICE, "device", -1, "a copy failed");
    copies[to_device]++;
    assert_true(is_here(ctx, to_device ? to : from) && !is_here(ctx, to_device ? from : to));
    for (int64_t c = 0; c < columns; c++)
        memcpy((char *)to + c * to_pitch, (const char *)from + c * from_pitch, (size_t)width);
    return MPK_OK;
}

static int settled, failing_settle = -1;

static mpk_status settle(mpk_context *ctx) {
    if (settled++ == failing_settle)
        return mpki_error(ctx, MPK_ERR_DEVICE, "device", -1, "the device fails");
    return MPK_OK;
}

/* Values, right-hand sides and solutions in a device's memory give the bits of those on the host,
 * and a copy that fails is a failure of the call, which writes nothing. */
static void test_arrays_on_a_device(void **unused) {
    (void)unused;
    enum { NRHS = 2, LD = 1000 };
    const mpki_engine there = {.name = name,
                               .memory = MPK_DEVICE,
                               .direct = &mpki_cpu_direct,
                               .blocks = &mpki_cpu_blocks,
                               .vectors = &mpki_cpu_vectors,
                               .is_here = is_here,
                               .copy = copy,
                               .settle = settle};
    static double b[NRHS * LD], x[NRHS * LD];
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_engine_use(ctx, &there);
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 3", 3, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_true(a.n <= LD && a.nnz <= 2000);
    assert_int_equal(mpk_analyse(ctx, problem, NULL, &an), MPK_OK);
    for (int k = 0; k < NRHS * LD; k++) b[k] = 1 + k % 7;
    assert_int_equal(mpk_factorize(ctx, an, a.ax, NULL, &fac), MPK_OK);
    assert_int_equal(mpk_solve(ctx, fac, NRHS, b, LD, x, LD, NULL, NULL), MPK_OK);
    assert_int_equal(copies[0] + copies[1], 0);
    memcpy(device + 2000, a.ax, (size_t)a.nnz * sizeof(double));
    assert_int_equal(mpk_refactorize(ctx, device + 2000, NULL, fac), MPK_OK);
    assert_int_equal(copies[0], 1);
    memcpy(device, b, sizeof b);
    assert_int_equal(mpk_solve(ctx, fac, NRHS, device, LD, device, LD, NULL, NULL), MPK_OK);
    assert_int_equal(copies[0], 2);
    assert_int_equal(copies[1], 1);
    for (int r = 0; r < NRHS; r++)
        assert_memory_equal(device + r * LD, x + r * LD, (size_t)a.n * sizeof(double));
    assert_string_equal(mpk_factor_engine(fac), "counting");
    /* a part is applied where x lies: the device is at rest before it and after it */
    assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_L, NRHS, x, LD), MPK_OK);
    assert_int_equal(settled, 0);
    assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_L, NRHS, device, LD), MPK_OK);
    assert_int_equal(settled, 2);
    assert_int_equal(copies[0], 2);
    for (int r = 0; r < NRHS; r++)
        assert_memory_equal(device + r * LD, x + r * LD, (size_t)a.n * sizeof(double));
    for (failing_settle = 2; failing_settle < 5; failing_settle += 2)
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_L, NRHS, device, LD), MPK_ERR_DEVICE);
    failing_settle = -1;
    for (int k = 0; k < 2; k++) { /* the copy in, the copy out */
        memcpy(device, b, sizeof b);
        copies[0] = copies[1] = 0;
        failing_copy = k;
        assert_int_equal(mpk_solve(ctx, fac, NRHS, device, LD, device, LD, NULL, NULL),
                         MPK_ERR_DEVICE);
        assert_memory_equal(device, b, sizeof b);
    }
    copies[0] = copies[1] = failing_copy = 0;
    assert_int_equal(mpk_refactorize(ctx, device + 2000, NULL, fac), MPK_ERR_DEVICE);
    failing_copy = -1;
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_ends_without_pairs),
                                       cmocka_unit_test(test_arrays_on_a_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
