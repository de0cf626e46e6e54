/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine of a device beside the processor's: on a GPU, or on the module that
 * computes on the host. */
#include "crafted.h"

#include "device_cases.h"
#include "factor/tuning.h"

/* As a user asks for it. */
static void test_option(void **unused) {
    (void)unused;
    enum { MOST = 400 };
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_solve_info solve;
    mpk_options o;
    double x[MOST];
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 3", 3, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_true(a.n <= MOST);
    for (int32_t i = 0; i < a.n; i++) x[i] = 1 + i % 3;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    mpk_factor_info alone;
    mpk_factor_info_get(fac, &alone);
    mpk_certificate found;
    assert_int_equal(mpk_certify(ctx, fac, &found), MPK_OK);
    assert_true(found.vectors == 1 && found.contraction < 1e-10);
    mpk_factor_info_get(fac, &info);
    assert_true(info.inertia.certified && info.inertia.examined);
    assert_int_equal(info.inertia.positive + info.inertia.negative, a.n);
    mpk_estimate e; /* the factor takes what was told, the solves their part of it */
    assert_int_equal(mpk_factor_estimate(ctx, an, &o, &e), MPK_OK);
    assert_true(e.device_bytes > alone.bytes && e.device_bytes < 2 * alone.bytes);
    /* the certificate has solved */
    assert_true(info.bytes > alone.bytes && info.bytes <= e.device_bytes);
    for (int k = 0; k < 2; k++) { /* the second solve finds the first one's work space */
        assert_int_equal(mpk_solve(ctx, fac, 1, x, a.n, x, a.n, &o, &solve), MPK_OK);
        assert_true(solve.componentwise <= 1e-14);
    }
    /* by what lies there: all but vectors of the host, which are n long */
    int64_t kind[MPKI_CUDA_HELD_KINDS], all = 0;
    assert_int_equal(mpki_cuda_direct_foretell(ctx, fac->direct, 1, kind), MPK_OK);
    for (int k = 0; k < MPKI_CUDA_HELD_KINDS; k++) all += kind[k];
    mpk_factor_info_get(fac, &info);
    assert_true(info.bytes >= all - 4096 && info.bytes <= all + 8 * 8 * MOST + 4096);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_generated(void **unused) {
    (void)unused;
    check_generated();
}

/* More children than are described together, of which some leave columns: where one thread read
 * what another had written for the next ones, a kernel did not end. */
static void test_many_children(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 8", 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    mpk_factor_info_get(fac, &info);
    assert_int_equal(info.inertia.positive, 896);
    assert_int_equal(info.inertia.negative, 512);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_families(void **unused) {
    (void)unused;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    static const int n[] = {1, 2, 7, 40, 130};
    for (int k = 0; k < FAMILY_COUNT; k++)
        for (int s = 0; s < 6; s++)
            for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
                const family f = {(enum support_family)k, n[i], (mpk_scalar)(s % 4),
                                  s >= 4 || s < 2 ? (s >= 4 ? MPK_HERMITIAN : MPK_SYMMETRIC)
                                                  : MPK_SYMMETRIC};
                family g = f;
                char text[80];
                if (s >= 4) g.scalar = s == 4 ? MPK_C : MPK_Z;
                o.accuracy = single_precision(g.scalar) ? 1e-6 : 1e-14;
                snprintf(text, sizeof text, "family %d, n = %d, scalar %d, symmetry %d", k, g.n,
                         (int)g.scalar, (int)g.symmetry);
                compare(text, of_family, &g, &o, i % 2 ? 5 : 1);
            }
}

static void test_files(void **unused) {
    (void)unused;
    check_files();
}

static void test_shapes(void **unused) {
    (void)unused;
    check_shapes();
}

/* One tile, or two: `quick` columns that are pivots by themselves, in the order of the diagonal,
 * the others only as pairs, of small diagonal. The quick way, which takes two columns at once,
 * gives up at the first or the second of two. */
typedef struct tile_kind {
    int n, quick;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} tile_kind;

static mpk_problem *of_tile(mpk_context *ctx, const void *arg) {
    const tile_kind *t = arg;
    dense m = dense_new(t->n, t->scalar, t->symmetry);
    support_state = 19;
    for (int i = 0; i < t->n; i++)
        for (int j = 0; j <= i; j++) {
            const double x = uniform(), y = i == j && t->symmetry == MPK_HERMITIAN ? 0 : uniform();
            const double complex z = t->scalar == MPK_C || t->scalar == MPK_Z ? x + y * I : x;
            if (i < t->quick)
                dense_set(&m, i, j, i == j ? (i % 2 ? -1 : 1) * (40 + x) : z);
            else
                dense_set(&m, i, j, i == j ? 1e-3 * x : j < t->quick ? 1e-2 * z : 2 * z);
        }
    mpk_problem *problem = dense_problem(ctx, &m, 1);
    free(m.a);
    return problem;
}

static void test_tiles(void **unused) {
    (void)unused;
    static const int n[] = {1, 2, 3, 7, 8, 9, 16, 17, 18, 24, 31, 32, 33, 40};
    for (int s = 0; s < 6; s++)
        for (size_t i = 0; i < sizeof n / sizeof *n; i++)
            for (int less = 0; less < 12; less += less < 3 ? 1 : 4) {
                const tile_kind t = {n[i], n[i] - less,
                                     s < 4    ? (mpk_scalar)s
                                     : s == 4 ? MPK_C
                                              : MPK_Z,
                                     s < 4 ? MPK_SYMMETRIC : MPK_HERMITIAN};
                char text[80];
                mpk_options o;
                if (less > 0 && less + 1 > n[i]) continue;
                mpk_options_init(&o);
                o.method = MPK_METHOD_LDLT, o.matching = MPK_OFF, o.scaling = MPK_OFF;
                o.accuracy = single_precision(t.scalar) ? 1e-6 : 1e-14;
                snprintf(text, sizeof text, "tile of %d, %d quick, scalar %d, symmetry %d", t.n,
                         t.quick, (int)t.scalar, (int)t.symmetry);
                compare(text, of_tile, &t, &o, 1);
            }
}

/* Fronts with many children of few rows, which are read together; among them some of many rows, and
 * some that leave columns. */
static mpk_problem *of_fans(mpk_context *ctx, const void *arg) {
    enum { FANS = 26, TOP = 60 };
    const int each = 12, n = FANS * each + TOP, kind = *(const int *)arg;
    dense m = dense_new(n, MPK_D, MPK_SYMMETRIC);
    support_state = 23;
    for (int i = 0; i < FANS * each; i++) {
        const int fan = i / each, rows = kind == 1 && fan % 5 == 2 ? 40 : 3 + fan % 10;
        const bool weak = kind == 2 && fan % 4 == 1;
        for (int j = fan * each; j <= i; j++)
            dense_set(&m, i, j,
                      i == j ? (weak ? 1e-7 : 30) + uniform() * 1e-8
                             : (weak ? 1e-7 : 1) * uniform());
        for (int k = 0; k < rows; k++)
            dense_set(&m, FANS * each + (2 * fan + k) % TOP, i, uniform());
    }
    for (int i = FANS * each; i < n; i++)
        for (int j = FANS * each; j <= i; j++) dense_set(&m, i, j, i == j ? 200 : uniform());
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

static void test_fans(void **unused) {
    (void)unused;
    for (int kind = 0; kind < 3; kind++) {
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.scaling = MPK_OFF, o.matching = MPK_OFF;
        compare("fans", of_fans, &kind, &o, 1);
    }
}

/* Orders at the borders of fronts that a warp has, and of halves of its registers. */
static void test_few_rows(void **unused) {
    (void)unused;
    static const int n[] = {3, 15, 16, 17, 31, 32, 33, 63, 64, 65};
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    for (int k = 0; k < FAMILY_COUNT; k++)
        for (int s = 0; s < 2; s++)
            for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
                const family f = {(enum support_family)k, n[i], s ? MPK_D : MPK_C, MPK_SYMMETRIC};
                char text[80];
                o.accuracy = single_precision(f.scalar) ? 1e-6 : 1e-14;
                snprintf(text, sizeof text, "family %d, n = %d, scalar %d", k, f.n, (int)f.scalar);
                compare(text, of_family, &f, &o, 1);
            }
}

/* A warp's front takes its pivots in the order of the diagonal's sizes before any is eliminated, which
 * the others do not: 4, then 3 - 3^2 / 4, which is less than what is left of the 2. */
static void test_order_of_a_warp(void **unused) {
    (void)unused;
    static const int64_t ap[] = {0, 3, 5, 6};
    static const int32_t ai[] = {0, 1, 2, 1, 2, 2};
    static const double ax[] = {4, 3, 1, 3, 1, 2};
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    double d[6];
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.scaling = MPK_OFF, o.matching = MPK_OFF;
    o.ordering = MPK_ORDERING_NATURAL;
    assert_int_equal(
        mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &problem),
        MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, d, sizeof d), MPK_OK);
    assert_true(d[0] == 4 && d[1] == 0 && d[2] == 0.75 && d[3] == 0);
    assert_true(fabs(d[4] - 5.0 / 3) < 1e-14);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static mpk_problem *make_crafted(mpk_context *ctx, const void *arg) {
    return dense_problem(ctx, &((const crafted *)arg)->m, 0);
}

/* Wrong signs without a small pivot, and singular matrices without a zero one: never certified, and
 * no solution of the latter is called good. */
static void test_certificates(void **unused) {
    (void)unused;
    uint64_t seed = 4;
    int examined = 0;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    for (int k = 0; k < 60; k++) {
        const mpk_scalar scalar = (mpk_scalar)(k % 4);
        crafted a;
        if (k < 12)
            a = crafted_wrong(k / 4, scalar);
        else if (k < 24 && (scalar == MPK_D || scalar == MPK_Z))
            a = crafted_singular((k - 12) / 4, scalar);
        else if (!crafted_random(&seed, scalar, 1, &a))
            continue;
        outcome r = run(make_crafted, &a, true, &o, 1);
        const mpk_inertia *in = &r.info.inertia;
        assert_false(mpk_failed(r.status));
        assert_true(in->examined);
        if (in->certified &&
            (a.zero > 0 || in->positive != a.positive || in->negative != a.negative))
            fail_msg("system %d: certified and wrong", k);
        if (a.zero > 0 && r.solved == MPK_OK && r.solve.relative_residual > 1e-3)
            fail_msg("system %d: singular, and solved with ok", k);
        examined += in->zero == 0;
        outcome_free(&r);
        free(a.m.a);
    }
    assert_true(examined > 12);
}

/* D of a factor, to be freed. */
static void *pivots_of(mpk_context *ctx, const mpk_factor *fac, size_t *bytes) {
    *bytes = mpk_get_size(fac, MPK_GET_D);
    void *d = malloc(*bytes);
    assert_non_null(d);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, d, *bytes), MPK_OK);
    return d;
}

/* Refactorizes; the same bits as before. */
static void same_again(mpk_context *ctx, mpk_factor *fac, const mpk_options *o) {
    size_t bytes, size;
    void *before = pivots_of(ctx, fac, &bytes);
    assert_false(mpk_failed(mpk_refactorize(ctx, NULL, o, fac)));
    void *after = pivots_of(ctx, fac, &size);
    assert_int_equal(bytes, size);
    assert_memory_equal(before, after, bytes);
    free(before), free(after);
}

/* What failed is remembered: of fronts of few rows some were searched, some are a block's; of others
 * tiles were searched. */
static void check_ways(const mpki_direct *f, bool few) {
    int count[MPKI_CUDA_BY_BLOCK_SEARCHING + 1] = {0};
    uint8_t *way = malloc((size_t)f->plan.fronts);
    const mpki_cuda_direct_table *table = f->device->table->direct;
    assert_non_null(way);
    assert_int_equal(table->copy(f->device->cuda, way, f->on.way, f->plan.fronts, 0), MPK_OK);
    assert_int_equal(table->wait(f->device->cuda), MPK_OK);
    for (int32_t k = 0; k < f->plan.fronts; k++)
        count[way[k] < MPKI_CUDA_BY_BLOCK_SEARCHING ? way[k] : MPKI_CUDA_BY_BLOCK_SEARCHING]++;
    if (few)
        assert_true(count[MPKI_CUDA_SEARCHING] > 0 && count[MPKI_CUDA_BY_BLOCK] > 0);
    else
        assert_true(count[MPKI_CUDA_BY_BLOCK_SEARCHING] > 0);
    free(way);
}

/* Columns that come late are others' in the second factorization, and then no column does; in a tree
 * that the caller has chosen they stay, and their fronts are not tried by a warp. */
static void test_late(void **unused) {
    (void)unused;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    for (int given = 0; given < 2; given++) {
        mpk_context *ctx = new_context(true);
        mpk_problem *problem = of_file(ctx, "singular/can_187.mtx.xz");
        mpk_analysis *an = NULL, *own = NULL;
        mpk_factor *fac = NULL;
        mpk_factor_info first, second;
        mpk_tree tree;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        mpk_analysis_tree_get(an, &tree);
        if (given)
            assert_int_equal(mpk_analyse_tree(ctx, problem, &o, tree.supernodes, tree.perm,
                                              tree.first, tree.parent, &own),
                             MPK_OK);
        assert_int_equal(mpk_factorize(ctx, given ? own : an, NULL, &o, &fac), MPK_SINGULAR);
        mpk_factor_info_get(fac, &first);
        assert_true(first.rejected > 0);
        assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_SINGULAR);
        mpk_factor_info_get(fac, &second);
        if (given) {
            assert_true(second.rejected == first.rejected);
            assert_int_equal(fac->an->nsuper, tree.supernodes);
            check_ways(fac->direct, true);
        } else {
            assert_int_equal(second.rejected, 0);
            assert_ptr_not_equal(fac->an, an);
        }
        assert_int_equal(first.inertia.positive, second.inertia.positive);
        assert_int_equal(first.inertia.negative, second.inertia.negative);
        same_again(ctx, fac, &o);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&own);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
}

/* The pivots of the first tile stand by themselves, but the rows below do not allow them: the next
 * factorization searches at once, with the same numbers. */
static void test_tiles_searched(void **unused) {
    (void)unused;
    enum { FIRST = 32, ALL = 44, ENTRIES = ALL * (ALL + 1) / 2 };
    int32_t rows[ENTRIES], columns[ENTRIES];
    double values[ENTRIES];
    int64_t count = 0;
    for (int32_t j = 0; j < ALL; j++)
        for (int32_t i = j; i < ALL; i++, count++) {
            rows[count] = i, columns[count] = j;
            values[count] = i >= FIRST ? 1 + 0.01 * sin(3 * i + j * j) : i == j ? 1e-3 : 1e-9;
        }
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA, o.matching = MPK_OFF;
    o.ordering = MPK_ORDERING_NATURAL;
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_problem_from_triplets(ctx, ALL, MPK_D, MPK_SYMMETRIC, MPK_LOWER, count,
                                               rows, columns, values, &problem),
                     MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    check_ways(fac->direct, false);
    same_again(ctx, fac, &o);
    same_again(ctx, fac, &o);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* A larger tree is made anew when as many factorizations have been as that is worth. */
static void test_late_waits(void **unused) {
    (void)unused;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_problem_generate(ctx, "optimal-control 300", 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_true(fac->info.rejected > 0 && an->n > MPKI_LATE_ROWS && an->n <= 2 * MPKI_LATE_ROWS);
    assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_OK);
    assert_ptr_equal(fac->an, an);
    assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_OK);
    assert_ptr_not_equal(fac->an, an);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option),          cmocka_unit_test(test_generated),
        cmocka_unit_test(test_many_children),   cmocka_unit_test(test_families),
        cmocka_unit_test(test_files),           cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_tiles),           cmocka_unit_test(test_fans),
        cmocka_unit_test(test_certificates),    cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_order_of_a_warp), cmocka_unit_test(test_late),
        cmocka_unit_test(test_tiles_searched),  cmocka_unit_test(test_late_waits)};
    if (device_lacks(DEVICE_DIRECT)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
