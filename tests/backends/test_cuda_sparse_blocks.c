/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's factorization on blocks against the processor's: all factor types, pivotings, levels,
 * stages, precisions, dropping; failures. Without a GPU its kernels run on the host. */
#include "device_blocks.h"

/* A problem factored on both. */
typedef struct both {
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *cpu, *gpu;
    mpk_status status[2];
} both;

static int borders; /* runs that end in a dense pivot */

static both factor_both(mpk_context *ctx, mpk_problem *problem, const mpk_options *o) {
    both r = {.problem = problem};
    mpk_problem_view a;
    mpk_problem_view_get(problem, &a);
    assert_true(mpk_analyse(ctx, problem, o, &r.an) >= 0);
    mpki_engine_use(ctx, &device_cpu);
    r.status[0] = mpk_factorize(ctx, r.an, a.ax, o, &r.cpu);
    mpki_engine_use(ctx, device_engine_of(ctx));
    r.status[1] = mpk_factorize(ctx, r.an, a.ax, o, &r.gpu);
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    borders += r.status[0] == MPK_OK && r.cpu->blocks->stages.info.border_rows > 0;
    if (r.status[0] != r.status[1])
        fail_msg("status %d on the processor, %d on the device: %s", r.status[0], r.status[1],
                 text);
    mpki_engine_use(ctx, NULL);
    return r;
}

static void both_end(both *r) {
    mpk_factor_destroy(&r->cpu);
    mpk_factor_destroy(&r->gpu);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
}

/* On the host kernels round as the processor's generic ones do. A GPU fuses multiplications with
 * additions, so what cancels to zero here leaves rounding there: entries that are kept, and nothing
 * else. */
static bool rounds_alike(void) {
    return !device_is_real();
}

/* What is asked where roundings are alike, and on a GPU. */
static double bound(double alike, double gpu) {
    return rounds_alike() ? alike : gpu;
}

static bool nearly(int64_t a, int64_t b) {
    return fabs((double)(a - b)) <= 0.03 * (double)a + 8;
}

static void same_counts(const char *what, const both *r) {
    const mpk_block_info *p = &r->cpu->blocks->stages.info, *q = &r->gpu->blocks->stages.info;
    const mpk_factor_info *a = &r->cpu->info, *b = &r->gpu->info;
#define SAME(x, y, name)                                                                           \
    if ((x) != (y)) fail_msg("%s: %s %g, on the device %g", what, name, (double)(x), (double)(y))
    if (!rounds_alike()) {
        if (!nearly(p->kept, q->kept)) SAME(p->kept, q->kept, "kept");
        if (!nearly(a->nnz, b->nnz)) SAME(a->nnz, b->nnz, "nnz");
    } else {
        SAME(p->kept, q->kept, "kept");
        SAME(p->dropped, q->dropped, "dropped");
        SAME(a->nnz, b->nnz, "nnz");
    }
    SAME(p->perturbed, q->perturbed, "perturbed");
    SAME(p->two_by_two, q->two_by_two, "two by two");
    SAME(p->stages, q->stages, "stages");
    SAME(p->rejected, q->rejected, "rejected");
    SAME(p->blocks, q->blocks, "blocks");
    SAME(p->levels, q->levels, "levels");
    /* the processor counts numbers column by column, with those that update nothing */
    if (r->cpu->blocks->stages.blocking->largest > 1) SAME(p->flops, q->flops, "flops");
    SAME(a->inertia.positive, b->inertia.positive, "positive");
    SAME(a->inertia.negative, b->inertia.negative, "negative");
    SAME(a->inertia.zero, b->inertia.zero, "zero");
#undef SAME
}

/* Both factors, which must agree; single precision to single precision. */
static void agree(mpk_context *ctx, const char *what, mpk_problem *problem, const mpk_options *o,
                  double tolerance) {
    both r = factor_both(ctx, problem, o);
    if (!mpk_failed(r.status[1])) {
        same_counts(what, &r);
        const difference d = compare_factors(ctx, r.cpu, r.gpu);
        if (!(d.entries <= tolerance) || !(d.pivots <= tolerance) ||
            (d.elsewhere && rounds_alike()))
            fail_msg("%s: entries differ by %.3g, pivots by %.3g, %lld are elsewhere", what,
                     d.entries, d.pivots, (long long)d.elsewhere);
    }
    both_end(&r);
}

/* Every pivoting and factor type, complete and by levels. */
static void test_pivotings(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const char *const specs[] = {"nlpkkt 3", "stokes mac 5", "lp-kkt 30 50 3",
                                        "random 90 0.05 0.3 hermitian"};
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int pivoting = MPK_PIVOTING_NONE; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
            for (int type = 0; type < 2; type++) {
                mpk_options o = complete();
                char what[100];
                o.pivoting = (mpk_pivoting)pivoting;
                o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
                o.block = pivoting == MPK_PIVOTING_ROOK ? 32 : 13;
                o.level = (int)k % 3 - 1;
                /* what is unstable is tamed, so that digits mean something */
                if (pivoting < MPK_PIVOTING_PARTIAL) o.static_shift = 1e-2;
                snprintf(what, sizeof what, "%s, pivoting %d, type %d", specs[k], pivoting, type);
                agree(ctx, what, generated(ctx, specs[k]), &o,
                      bound(pivoting < MPK_PIVOTING_PARTIAL ? 1e-11 : 1e-12, 1e-10));
            }
    mpk_context_destroy(&ctx);
}

/* A few problems of each kind. */
static const char *const few[] = {"nlpkkt 3", "helmholtz 2d 9 0.3", "optimal-control 8",
                                  "random 60 0.06 0.3 complex", "random 70 0.05 0.3 hermitian"};
enum { FEW = sizeof few / sizeof *few };

/* Thresholds with and without capacities, in single and double precision. */
static void test_dropping(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < FEW; k++)
        for (int fill = 0; fill < 3; fill++)
            for (int single = 0; single < 2; single++)
                for (int type = 0; type < 2; type++) {
                    mpk_options o = complete();
                    char what[100];
                    o.level = fill;
                    o.fill_factor = fill;
                    o.drop_tolerance = 3e-3;
                    o.block = fill == 1 ? 8 : 20;
                    o.static_shift = 1e-2;
                    o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
                    if (single) o.precision = MPK_PRECISION_SINGLE;
                    if (fill == 2) o.drop_norm = MPK_DROP_NORM_WHOLE;
                    snprintf(what, sizeof what, "%s, fill %d, single %d, type %d", few[k], fill,
                             single, type);
                    agree(ctx, what, generated(ctx, few[k]), &o,
                          single ? 1e-4 : bound(1e-12, 1e-11));
                }
    mpk_context_destroy(&ctx);
}

/* Pivoting where many entries are of the same size but for rounding: a matching's, scaled to 1, and mirror images. Both
 * choose the same pivots, so that what is dropped is the same, too. */
static void test_ties(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const char *const specs[] = {
        "nlpkkt 4",          "optimal-control 12",           "stokes mac 7",
        "quasi-definite 60", "random 80 0.05 0.3 hermitian", "random 60 0.06 0.3 complex"};
    static const mpk_pivoting pivotings[] = {MPK_PIVOTING_COMPLETE, MPK_PIVOTING_ROOK,
                                             MPK_PIVOTING_PARTIAL};
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int each = 0; each < 6; each++) {
            const int type = each % 2;
            mpk_options o = complete();
            char what[100];
            o.pivoting = pivotings[each / 2];
            o.matching = MPK_ON;
            o.static_shift = 1e-2;
            o.level = 1;
            o.drop_tolerance = 1e-3;
            o.fill_factor = 4;
            o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
            snprintf(what, sizeof what, "%s, ties, type %d, pivoting %d", specs[k], type,
                     o.pivoting);
            agree(ctx, what, generated(ctx, specs[k]), &o, bound(1e-11, 1e-10));
        }
    mpk_context_destroy(&ctx);
}

/* Levels of so few frames that each has a multiprocessor to itself, and all of its warps. The host has one
 * multiprocessor, with as much shared memory as it is told. */
static void test_narrow(void **state) {
    (void)state;
    static const char *const specs[] = {"optimal-control 12", "nlpkkt 3",
                                        "random 60 0.06 0.3 complex"};
    setenv("METAPACK_CUDA_HOST_SHARED", "232448", 1);
    mpk_context *ctx = context();
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int type = 0; type < 2; type++) {
            mpk_options o = complete();
            char what[100];
            o.block = 32;
            o.level = -1;
            o.drop_tolerance = 1e-3;
            o.pivoting = MPK_PIVOTING_ROOK;
            o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
            snprintf(what, sizeof what, "%s, narrow, type %d", specs[k], type);
            agree(ctx, what, generated(ctx, specs[k]), &o, bound(1e-11, 1e-10));
        }
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* What blocks of earlier stages left of their capacities goes to those of later ones, which need room for it: the adjacency
 * matrix of a grid of triangles, with ones on the diagonal. */
static void test_leftovers(void **state) {
    (void)state;
    enum { SIDE = 14 };
    mpk_context *ctx = context();
    dense m = dense_new(SIDE * SIDE, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            const int at = i * SIDE + j;
            dense_set(&m, at, at, 1);
            if (j + 1 < SIDE) dense_set(&m, at + 1, at, 1);
            if (i + 1 < SIDE) dense_set(&m, at + SIDE, at, 1);
            if (i + 1 < SIDE && j + 1 < SIDE) dense_set(&m, at + SIDE + 1, at, 1);
        }
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT;
    o.strategy = MPK_STRATEGY_RBR;
    o.ordering = MPK_ORDERING_AMD;
    o.level = 1;
    o.block = 8;
    o.fill_factor = 2;
    o.drop_tolerance = 1e-4;
    o.pivoting = MPK_PIVOTING_NONE;
    o.stages = 4;
    both r = factor_both(ctx, dense_problem(ctx, &m, 0), &o);
    assert_true(r.status[0] >= 0 && r.cpu->blocks->stages.info.stages > 1);
    if (rounds_alike()) same_counts("leftovers", &r);
    both_end(&r);
    free(m.a);
    mpk_context_destroy(&ctx);
}

/* Frames that fail go to later stages; with butterflies, too. */
static void test_stages(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < FEW; k++)
        for (int most = 2; most < 5; most++)
            for (int butterfly = 0; butterfly < 2; butterfly++) {
                mpk_options o = complete();
                char what[100];
                o.matching = MPK_OFF;
                o.block = 6;
                o.stages = most;
                o.level = most == 3 ? 1 : -1;
                o.pivot_threshold = 0.1;
                o.static_shift = 1e-2;
                o.butterfly = butterfly ? MPK_ON : MPK_OFF;
                if (most == 4) o.factor_type = MPK_TYPE_LDU;
                if (most == 3) o.drop_tolerance = 1e-3, o.fill_factor = 4;
                snprintf(what, sizeof what, "%s, %d stages, butterfly %d", few[k], most, butterfly);
                agree(ctx, what, generated(ctx, few[k]), &o, bound(1e-11, 1e-9));
            }
    mpk_context_destroy(&ctx);
}

/* Wider frames than a warp has lanes are cut into pieces, here on the processor, too; 2x2 pivots of the matching stay
 * whole. Where no stage accepts anything, frames are joined up to that width. */
static void test_wide(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const char *const specs[] = {"nlpkkt 4", "stokes mac 12", "random 150 0.1 0.3 hermitian",
                                        "random 160 0.1 0.3 general", "lp-kkt 60 90 3"};
    int64_t cut = 0, joined = 0;
    device_cpu_blocks.widest = MPKI_STORE_ROWS;
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int kind = 0; kind < 4; kind++) {
            mpk_options o = complete();
            const bool general = strstr(specs[k], "general") != NULL;
            if (general && kind > 1) continue;
            o.block = kind == 1 ? 128 : kind == 2 ? 33 : 64;
            o.grid = MPK_ON;
            o.static_shift = 1e-2;
            if (kind == 1) o.level = 0, o.drop_tolerance = 1e-3, o.fill_factor = 3;
            if (kind == 2) o.pivoting = MPK_PIVOTING_STATIC;
            if (kind == 3) o.schedule = MPK_SCHEDULE_JACOBI, o.level = 0, o.sweeps = 2;
            if (general) o.factor_type = MPK_TYPE_LDU;
            both r = factor_both(ctx, generated(ctx, specs[k]), &o);
            assert_false(mpk_failed(r.status[1]));
            const mpk_block_info *p = &r.cpu->blocks->stages.info;
            const mpk_block_info *q = &r.gpu->blocks->stages.info;
            assert_int_equal(p->cut, q->cut);
            assert_int_equal(r.gpu->info.max_front <= MPKI_STORE_ROWS, 1);
            cut += q->cut;
            assert_int_equal(p->blocks, q->blocks);
            assert_int_equal(p->levels, q->levels);
            assert_int_equal(p->two_by_two, q->two_by_two);
            assert_true(nearly(p->kept,
                               q->kept)); /* what cancels to zero in one order is kept in another */
            const difference d = compare_factors(ctx, r.cpu, r.gpu);
            const double most = kind == 2 ? 1e-8 : bound(1e-11, 1e-9); /* 2: pivots may be small */
            if (!(d.entries <= most) || !(d.pivots <= most))
                fail_msg("%s, kind %d: entries differ by %.3g, pivots by %.3g", specs[k], kind,
                         d.entries, d.pivots);
            /* other values: the pieces stay, and the factor is as exact */
            const mpki_block_analysis *const pieces = r.gpu->blocks->own;
            const int32_t before = q->cut;
            for (int again = 0; again < 2; again++) {
                assert_false(mpk_failed(mpk_refactorize(ctx, NULL, &o, r.gpu)));
                assert_int_equal(r.gpu->blocks->stages.info.cut, before);
                if (pieces && !pieces->joined) assert_ptr_equal(r.gpu->blocks->own, pieces);
                const difference e = compare_factors(ctx, r.cpu, r.gpu);
                assert_true(e.entries <= most && e.pivots <= most);
            }
            both_end(&r);
        }
    assert_true(cut > 20);
    for (int k = 0; k < 2; k++) {
        mpk_options o = complete();
        o.matching = MPK_OFF;
        o.pivoting = MPK_PIVOTING_NONE;
        o.pivot_threshold = 0.5;
        o.factor_type = MPK_TYPE_LDU; /* has no dense pivot */
        o.block = k ? 20 : 12;
        o.stages = 5;
        both r = factor_both(ctx, generated(ctx, "nlpkkt 4"), &o);
        assert_false(mpk_failed(r.status[1]));
        joined += r.gpu->blocks->stages.info.joins;
        assert_int_equal(r.cpu->blocks->stages.info.joins, r.gpu->blocks->stages.info.joins);
        both_end(&r);
    }
    assert_true(joined > 0);
    device_cpu_blocks.widest = 0;
    mpk_context_destroy(&ctx);
}

/* The schedule without dependencies. */
static void test_sweeps(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < FEW; k++)
        for (int sweeps = 1; sweeps < 4; sweeps++)
            for (int type = 0; type < 2; type++) {
                mpk_options o = complete();
                char what[100];
                o.schedule = MPK_SCHEDULE_JACOBI;
                o.level = 0;
                o.block = 9;
                o.sweeps = sweeps;
                o.stages = sweeps;
                if (sweeps == 2) o.drop_tolerance = 1e-3, o.fill_factor = 2;
                o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
                snprintf(what, sizeof what, "%s, %d sweeps, type %d", few[k], sweeps, type);
                agree(ctx, what, generated(ctx, few[k]), &o, bound(1e-12, 1e-10));
            }
    mpk_context_destroy(&ctx);
}

/* ---- definite, general, scalar --------------------------------------------------------------- */

/* A definite matrix on which LLT without fill breaks down: Kershaw's, in blocks along the diagonal. */
static mpk_problem *breaking(mpk_context *ctx, mpk_scalar scalar) {
    static const double kershaw[4][4] = {
        {3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
    dense m = dense_new(24, scalar, MPK_SYMMETRIC);
    for (int b = 0; b < 6; b++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) dense_set(&m, 4 * b + i, 4 * b + j, kershaw[i][j]);
    for (int b = 0; b < 5; b++) dense_set(&m, 4 * b + 7, 4 * b, 0.01);
    mpk_problem *p = dense_problem(ctx, &m, 0);
    free(m.a);
    return p;
}

static void test_llt(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int single = 0; single < 2; single++)
        for (int pivoting = MPK_PIVOTING_NONE; pivoting <= MPK_PIVOTING_ROOK; pivoting += 3) {
            mpk_options o = complete();
            o.factor_type = MPK_TYPE_LLT;
            o.pivoting = (mpk_pivoting)pivoting;
            o.matching = MPK_OFF;
            o.scaling = MPK_OFF;
            o.block = pivoting ? 5 : 1;
            o.level = 0;
            o.ordering = MPK_ORDERING_NATURAL;
            both r = factor_both(ctx, breaking(ctx, single ? MPK_S : MPK_D), &o);
            assert_true(!mpk_failed(r.status[1]));
            const mpk_block_info *p = &r.cpu->blocks->stages.info, *q = &r.gpu->blocks->stages.info;
            assert_int_equal(p->breakdowns, q->breakdowns);
            assert_true(p->diagonal_shift == q->diagonal_shift);
            if (!pivoting) assert_true(p->breakdowns > 0);
            same_counts("kershaw", &r);
            const difference d = compare_factors(ctx, r.cpu, r.gpu);
            assert_true(d.entries <= (single ? 1e-5 : 1e-13));
            both_end(&r);
            /* an indefinite one has no such factor, and both say it alike */
            r = factor_both(ctx, generated(ctx, "nlpkkt 3"), &o);
            assert_true(mpk_failed(r.status[0]));
            both_end(&r);
        }
    mpk_context_destroy(&ctx);
}

/* Methods that are parts of A, and frames of one row. */
static void test_methods(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const mpk_method methods[] = {MPK_METHOD_ILU0, MPK_METHOD_DIAGONAL,
                                         MPK_METHOD_BLOCK_JACOBI, MPK_METHOD_SSOR};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
        for (int scalar = 0; scalar < 4; scalar++) {
            dense m = family_matrix(BANDED, 40, (mpk_scalar)scalar, MPK_SYMMETRIC);
            mpk_options o = complete();
            char what[60];
            o.method = methods[k];
            o.omega = 1.3;
            o.shift = scalar == 1 ? 0.1 : 0;
            snprintf(what, sizeof what, "%s, scalar %d", mpk_method_name(methods[k]), scalar);
            agree(ctx, what, dense_problem(ctx, &m, 0), &o, scalar % 2 ? 1e-12 : 1e-4);
            free(m.a);
        }
    mpk_context_destroy(&ctx);
}

/* Matrices that are not symmetric. */
static void test_general(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const char *const specs[] = {"convection 7 2d 20", "random 50 0.06 0.3 general"};
    int tried = 0;
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int level = -1; level < 2; level++) {
            mpk_problem *p = NULL;
            mpk_options o = complete();
            if (mpk_failed(mpk_problem_generate(ctx, specs[k], 3, &p))) continue;
            tried++;
            o.factor_type = MPK_TYPE_LDU;
            o.level = level;
            o.block = 11;
            if (level == 1) o.drop_tolerance = 1e-2, o.fill_factor = 2;
            agree(ctx, specs[k], p, &o, bound(1e-12, 1e-10));
        }
    assert_true(tried > 0);
    mpk_context_destroy(&ctx);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* n = 0 and 1, a zero matrix, a zero row, numbers beyond the range of single precision. */
static void test_degenerate(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int n = 0; n < 3; n++)
        for (int type = 0; type < 2; type++) {
            dense m = dense_new(n, MPK_D, MPK_SYMMETRIC);
            mpk_options o = complete();
            o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
            if (n > 0) dense_set(&m, 0, 0, -2);
            agree(ctx, "small", dense_problem(ctx, &m, 0), &o, 1e-14);
            free(m.a);
        }
    dense m = family_matrix(SPARSE, 30, MPK_D, MPK_SYMMETRIC);
    for (int k = 0; k < 30; k++) dense_set(&m, 7, k, 0);
    mpk_options o = complete();
    agree(ctx, "singular", dense_problem(ctx, &m, 1), &o, bound(1e-12, 1e-10));
    free(m.a);
    /* an update beyond the range of single precision */
    m = dense_new(9, MPK_D, MPK_SYMMETRIC);
    for (int k = 0; k < 8; k++) dense_set(&m, k, k, 1.3e-38), dense_set(&m, 8, k, 1);
    dense_set(&m, 8, 8, 1);
    o.precision = MPK_PRECISION_SINGLE;
    o.scaling = o.matching = MPK_OFF;
    o.pivoting = MPK_PIVOTING_NONE;
    o.ordering = MPK_ORDERING_NATURAL;
    o.static_shift = 1e-39;
    o.block = 1;
    o.stages = 1;
    both r = factor_both(ctx, dense_problem(ctx, &m, 0), &o);
    assert_int_equal(r.status[1], MPK_ERR_NUMERIC);
    both_end(&r);
    free(m.a);
    mpk_context_destroy(&ctx);
}

static void test_refused(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const char *const why[] = {"at most 32", "subsets", "atomic"};
    for (int k = 0; k < 3; k++) {
        mpk_options o = complete();
        mpk_problem *p = generated(ctx, "nlpkkt 4");
        mpk_problem_view a;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        const char *text = "";
        mpk_problem_view_get(p, &a);
        if (k == 0)
            o.method = MPK_METHOD_BLOCK_JACOBI, o.block = 64;
        else
            o.schedule = k == 1 ? MPK_SCHEDULE_SUBSETS : MPK_SCHEDULE_ATOMIC;
        assert_true(mpk_analyse(ctx, p, &o, &an) >= 0);
        mpki_engine_use(ctx, device_engine_of(ctx));
        assert_int_equal(mpk_factorize(ctx, an, a.ax, &o, &fac), MPK_ERR_UNSUPPORTED);
        mpk_last_error(ctx, NULL, NULL, &text);
        assert_non_null(strstr(text, why[k]));
        assert_null(fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* All the way: factored and applied on the device. */
static void test_applied(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < FEW; k++)
        for (int type = 0; type < 2; type++) {
            mpk_options o = complete();
            o.level = 1;
            o.drop_tolerance = 1e-3;
            o.fill_factor = 3;
            o.block = 11;
            o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
            run r[2];
            device_both(ctx, few[k], &o, r);
            const double d = distance(&r[0], &r[1]);
            if (!(d <= 1e-9)) fail_msg("%s, type %d: distance %g", few[k], type, d);
            end(&r[0]), end(&r[1]);
        }
    mpk_context_destroy(&ctx);
}

/* By the option alone, and what it says of itself. */
static void test_by_option(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_block_info info[2];
    run r[2];
    for (int device = 0; device < 2; device++) {
        mpk_options o = complete();
        o.level = 0;
        o.device = device ? MPK_ON_CUDA : MPK_ON_CPU;
        r[device] = go(ctx, "optimal-control 8", &o);
        assert_true(!mpk_failed(r[device].status));
        mpk_factor_block_info_get(r[device].fac, &info[device]);
    }
    assert_non_null(strstr(mpk_factor_engine(r[1].fac), "cuda"));
    assert_int_equal(info[0].kept, info[1].kept);
    assert_int_equal(info[0].blocks, info[1].blocks);
    assert_true(info[1].bytes > 0 && info[0].flops == info[1].flops);
    assert_true(distance(&r[0], &r[1]) <= 1e-11);
    end(&r[0]), end(&r[1]);
    mpk_context_destroy(&ctx);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pivotings), cmocka_unit_test(test_dropping),
        cmocka_unit_test(test_ties),      cmocka_unit_test(test_wide),
        cmocka_unit_test(test_narrow),    cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_stages),    cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_llt),       cmocka_unit_test(test_methods),
        cmocka_unit_test(test_general),   cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_applied),
        cmocka_unit_test(test_by_option),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (!device_has(DEVICE_BLOCKS)) {
        print_message("no device, and no module that does without: nothing to test\n");
        return 0;
    }
    return cmocka_run_group_tests_name("device: factorization on blocks", tests, device_setup,
                                       NULL);
}
