/* SPDX-License-Identifier: BSD-3-Clause */
/* A factor held by scalar rows against the same one left in blocks: every part, several vectors,
 * threads, Jacobi sweeps, all scalars; and numbers one by one against batches of 1 x 1 blocks. */
#include "sanitized.h"
#include "runs.h"

static const int32_t nrhs[] = {1, 3, 4, 11}; /* one application takes 8 */
enum { NRHS = sizeof nrhs / sizeof *nrhs };

static mpki_block_engine as_rows;

static const mpki_engine in_rows = {.name = name_of_engine,
                                    .direct = &mpki_cpu_direct,
                                    .blocks = &as_rows,
                                    .vectors = &mpki_cpu_vectors};

static const char *const families[] = {
    "nlpkkt 5",
    "stokes mac 12",
    "helmholtz 2d 25 0.3",
    "lp-kkt 90 150 3",
    "lin 1",
    "random 300 0.02 0.3 complex",
    "random 290 0.02 0.3 hermitian",
};
enum { FAMILIES = sizeof families / sizeof *families };

static double bound_of(const run *r) {
    const bool single =
        r->a.scalar == MPK_S || r->a.scalar == MPK_C || r->o.precision == MPK_PRECISION_SINGLE;
    return single ? 2e-2 : 1e-9;
}

static mpk_options options_of(int kind) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = kind == 0 ? MPK_METHOD_ILU0 : MPK_METHOD_ILDLT;
    o.threads = 1;
    o.level = kind == 2 ? 2 : 1;
    o.block = kind == 2 ? 5 : 24;
    if (kind == 3) o.factor_type = MPK_TYPE_LDU, o.krylov = MPK_KRYLOV_GMRES;
    if (kind == 4) o.stages = 3, o.pivot_threshold = 0.2, o.pivoting = MPK_PIVOTING_PARTIAL;
    if (kind == 5) o.solve_sweeps = 4;
    if (kind == 6) o.precision = MPK_PRECISION_SINGLE;
    if (kind == 7) o.level = -1, o.drop_tolerance = o.fill_factor = 0, o.block = 64;
    return o;
}
enum { KINDS = 8 };

static void test_parts(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    int by_rows = 0, in_all = 0;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < FAMILIES; k++)
        for (int kind = 0; kind < KINDS; kind++) {
            if (TEST_SANITIZED && (k + kind) % (TEST_THREAD_SANITIZED ? 4 : 2)) continue;
            const mpk_options o = options_of(kind);
            char what[128];
            run rows = go(ctx, &in_rows, families[k], &o),
                blocks = go(ctx, &in_blocks, families[k], &o);
            snprintf(what, sizeof what, "%s, kind %d", families[k], kind);
            assert_int_equal(blocks.info.by_rows, 0);
            assert_int_equal(rows.info.kept, blocks.info.kept);
            compare(ctx, &rows, &blocks, what, nrhs, NRHS, bound_of(&rows));
            by_rows += rows.info.by_rows > 0;
            in_all++;
            end(&rows), end(&blocks);
        }
    assert_true(by_rows > in_all / 2);
    mpk_context_destroy(&ctx);
}

/* LLT: L with its roots on the diagonal, of scalars and of blocks. */
static void test_llt(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int kind = 0; kind < 6; kind++) {
        char what[64];
        mpk_options o = options_of(kind % 2);
        o.factor_type = MPK_TYPE_LLT;
        o.solve_sweeps = kind == 2 ? 3 : 0;
        o.precision = kind == 4 ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
        run rows = go(ctx, &in_rows, "helmholtz 2d 25 0", &o);
        run blocks = go(ctx, &in_blocks, "helmholtz 2d 25 0", &o);
        snprintf(what, sizeof what, "llt, kind %d", kind);
        assert_true(rows.info.by_rows > 0);
        compare(ctx, &rows, &blocks, what, nrhs, NRHS, kind == 4 ? 1e-4 : 1e-12);
        end(&rows), end(&blocks);
    }
    mpk_context_destroy(&ctx);
}

/* Scalars: column by column, as the schedule subsets has them in batches. */
static void test_scalars(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < FAMILIES; k++)
        for (int kind = 0; kind < 4; kind++) {
            mpk_options o;
            char what[128];
            mpk_options_init(&o);
            o.threads = 1;
            o.method = kind == 0 ? MPK_METHOD_ILU0 : MPK_METHOD_ILDLT;
            o.block = 1;
            o.level = kind;
            o.fill_factor = kind == 2 ? 0 : 4;
            o.drop_tolerance = 1e-2;
            o.shift = kind == 0 ? 0 : 0.9; /* without it unpivoted growth amplifies rounding */
            o.static_shift = 0.03;         /* so that digits can be compared */
            run rows = go(ctx, &in_rows, families[k], &o);
            o.schedule = MPK_SCHEDULE_SUBSETS;
            run batches = go(ctx, &in_rows, families[k], &o);
            snprintf(what, sizeof what, "%s, scalars, kind %d", families[k], kind);
            assert_true(rows.info.by_rows > 0);
            /* what cancels may leave zero or rounding */
            assert_true(llabs(rows.info.kept - batches.info.kept) <= rows.info.kept / 100);
            assert_true(llabs(rows.info.dropped - batches.info.dropped) <= rows.info.kept / 100);
            if (rows.info.perturbed != batches.info.perturbed)
                fail_msg("%s: %lld replaced, not %lld", what, (long long)rows.info.perturbed,
                         (long long)batches.info.perturbed);
            assert_int_equal(rows.info.flops > 0, batches.info.flops > 0);
            compare(ctx, &rows, &batches, what, nrhs, NRHS, bound_of(&rows));
            end(&rows), end(&batches);
        }
    mpk_context_destroy(&ctx);
}

/* A breakdown of LLT is repaired in the same way, and NaN is no pivot. */
static void test_definite(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int subsets = 0; subsets < 2; subsets++) {
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_block_info info;
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_ILDLT;
        o.factor_type = MPK_TYPE_LLT;
        o.block = 1;
        o.level = 0;
        o.matching = MPK_OFF;
        o.pivoting = MPK_PIVOTING_NONE;
        o.ordering = MPK_ORDERING_NATURAL;
        o.drop_tolerance = 0;
        o.schedule = subsets ? MPK_SCHEDULE_SUBSETS : MPK_SCHEDULE_PULL;
        assert_int_equal(mpk_problem_read(ctx, METAPACK_DATA "/definite/bcsstk03.mtx.xz", &problem),
                         MPK_OK);
        assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
        assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
        mpk_factor_block_info_get(fac, &info);
        static mpk_block_info first;
        if (subsets == 0) first = info;
        assert_int_equal(info.breakdowns, first.breakdowns);
        assert_true(info.diagonal_shift == first.diagonal_shift);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
    }
    mpk_context_destroy(&ctx);
}

/* x^T y, or x^H y. */
static double complex product(const run *r, const void *x, const void *y, double *size) {
    double complex sum = 0;
    *size = 0;
    for (int32_t i = 0; i < r->a.n; i++) {
        const double complex a = scalar_load(r->a.scalar, x, i);
        const double complex b = scalar_load(r->a.scalar, y, i);
        sum += (r->a.symmetry == MPK_HERMITIAN ? conj(a) : a) * b;
        *size += cabs(a) * cabs(b);
    }
    return sum;
}

/* A factor in single precision, applied to vectors in double, is symmetric to rounding in
 * double. */
static void test_single(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    const mpki_engine *const engines[] = {&in_rows, &in_blocks};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < FAMILIES; k++)
        for (int kind = 0; kind < 6; kind++) {
            mpk_status status;
            mpk_options o = options_of(kind / 2);
            o.precision = MPK_PRECISION_SINGLE;
            run r = go(ctx, engines[kind % 2], families[k], &o);
            void *u = calloc((size_t)r.a.n + 3, mpk_scalar_size(r.a.scalar));
            void *v = calloc((size_t)r.a.n + 3, mpk_scalar_size(r.a.scalar));
            fill(&r, 1, 1, u), fill(&r, 1, 0.7, v);
            void *mu = apply(ctx, &r, MPK_PART_ALL, 1, 1, 1, &status);
            void *mv = apply(ctx, &r, MPK_PART_ALL, 1, 1, 0.7, &status);
            double size, other;
            const double complex a = product(&r, v, mu, &size), b = product(&r, u, mv, &other);
            const double complex c = r.a.symmetry == MPK_HERMITIAN ? conj(b) : b;
            if (!(cabs(a - c) <= 1e-11 * (size + other)))
                fail_msg("%s, kind %d: %g of %g", families[k], kind, cabs(a - c), size);
            free(u), free(v), free(mu), free(mv);
            end(&r);
        }
    mpk_context_destroy(&ctx);
}

/* The pictures ask where entries of L are, however it is held. */
static void count_entries(void *self, int64_t entries, int32_t r0, int32_t r1, int32_t c0,
                          int32_t c1) {
    if (r1 <= c0 || c1 <= r0) *(int64_t *)self += entries; /* off the diagonal */
}

static void test_shape(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    const mpk_options o = options_of(1);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    run r = go(ctx, &in_rows, "nlpkkt 5", &o);
    int32_t *iperm = malloc((size_t)r.a.n * sizeof *iperm);
    int64_t entries = 0;
    assert_true(r.info.by_rows > 0);
    assert_int_equal(r.fac->form->shape(r.fac, iperm, count_entries, &entries), MPK_OK);
    assert_int_equal(entries, r.info.kept);
    free(iperm);
    end(&r);
    mpk_context_destroy(&ctx);
}

int main(void) {
    in_blocks_begin();
    as_rows = mpki_cpu_blocks;
    as_rows.finish = mpki_block_finish_as_rows;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),  cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_llt),    cmocka_unit_test(test_definite),
        cmocka_unit_test(test_single), cmocka_unit_test(test_shape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
