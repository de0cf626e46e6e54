/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's factorization on blocks against the processor's: pivotings, levels, stages,
 * precisions, dropping. Without a GPU its kernels run on the host. */
#include "device_both.h"
#include "share.h"

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

/* Entries that blocks have beyond their capacities, which others left. */
static int64_t taken_over(const mpk_factor *fac) {
    const mpki_stages *s = &fac->blocks->stages;
    int64_t over = 0;
    assert_non_null(s->capacity);
    for (int64_t k = 0; k < s->index.nblocks; k++) {
        const int64_t capacity = s->capacity[k];
        const int64_t has = mpki_cuda_blocks.entries(fac->blocks->numbers, k);
        if (capacity >= 0 && has > capacity) over += has - capacity;
    }
    return over;
}

/* Leftover capacity by atomic operations: the device's on the host come in the order of items, so
 * that they deal out what the processor does; on a GPU all capacities together bound what is
 * kept. */
static void test_first_come(void **state) {
    (void)state;
    mpk_context *ctx = context();
    int64_t over = 0, dropped = 0;
    for (int k = 0; k < FEW; k++)
        for (int type = 0; type < 2; type++) {
            mpk_options o = complete();
            mpk_problem_view a;
            o.level = 1, o.fill_factor = 1.5, o.block = 8;
            o.static_shift = 1e-2;
            o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
            both r = factor_both(ctx, generated(ctx, few[k]), &o);
            mpk_problem_view_get(r.problem, &a);
            mpk_factor_destroy(&r.gpu);
            o.deterministic = MPK_OFF;
            mpki_engine_use(ctx, device_engine_of(ctx));
            assert_int_equal(mpk_factorize(ctx, r.an, a.ax, &o, &r.gpu), r.status[0]);
            mpki_engine_use(ctx, NULL);
            over += taken_over(r.gpu);
            dropped += r.gpu->blocks->stages.info.dropped;
            const int64_t dealt = r.cpu->blocks->stages.info.kept;
            const int64_t taken = r.gpu->blocks->stages.info.kept;
            assert_true(taken <= dealt + dealt / 4 && taken >= dealt - dealt / 4);
            if (rounds_alike()) assert_true(compare_factors(ctx, r.cpu, r.gpu).entries <= 1e-11);
            both_end(&r);
        }
    assert_true(dropped > 0 && over > 0);
    mpk_context_destroy(&ctx);
}

/* Pivoting where many entries are of the same size but for rounding: a matching's, scaled to 1, and
 * mirror images. Both choose the same pivots, so that what is dropped is the same, too. */
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
            if (test_left_out((int)k + each, 3)) continue;
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

/* Levels of so few frames that each has a multiprocessor to itself, and all of its warps. The host
 * has one multiprocessor, with as much shared memory as it is told. */
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

/* What blocks of earlier stages left of their capacities goes to those of later ones, which need
 * room for it: the adjacency matrix of a grid of triangles, with ones on the diagonal. */
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

/* Wider frames than a warp has lanes are cut into pieces, here on the processor, too; 2x2 pivots of
 * the matching stay whole. Where no stage accepts anything, frames are joined up to that width. */
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
            if (k > 1 && test_left_out((int)k + kind, 2)) continue;
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
    int64_t pushed = 0, kept = 0;
    for (int k = 0; k < FEW; k++)
        for (int sweeps = 1; sweeps < 4; sweeps++)
            for (int type = 0; type < 4; type++) {
                mpk_options o = complete();
                char what[100];
                o.schedule = MPK_SCHEDULE_JACOBI;
                o.level = 0;
                o.block = 9;
                o.sweeps = sweeps;
                o.stages = sweeps;
                if (sweeps == 2 && type < 2) o.drop_tolerance = 1e-3, o.fill_factor = 2;
                o.factor_type = type % 2 ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
                /* pushed back by another norm, before the last sweep; the others stay */
                if (type > 1) o.jacobi_norm = MPK_JACOBI_NORM_FRAME, o.jacobi_push = 0.05;
                if (type > 1) o.jacobi_judge = MPK_JACOBI_JUDGE_LAST;
                snprintf(what, sizeof what, "%s, %d sweeps, type %d", few[k], sweeps, type);
                const mpk_block_info info =
                    agree(ctx, what, generated(ctx, few[k]), &o, bound(1e-12, 1e-10));
                if (type < 2) continue;
                pushed += info.rejected;
                kept += (int64_t)sweeps * info.block_rows * info.stages - info.swept;
            }
    assert_true(pushed > 0 && kept > 0); /* some were accepted, and swept over no more */
    /* a stage that accepts nothing leaves its capacities to the next */
    mpk_options o = complete();
    o.schedule = MPK_SCHEDULE_JACOBI, o.ordering = MPK_ORDERING_NATURAL, o.grid = MPK_ON;
    o.matching = MPK_ON, o.pivoting = MPK_PIVOTING_PARTIAL, o.block = 4, o.level = 1;
    o.fill_factor = 1, o.capacity_rule = MPK_CAPACITY_RULE_INDEX, o.drop_tolerance = 1e-2;
    o.sweeps = 2, o.stages = 2, o.jacobi_epsilon = 0.1, o.jacobi_push = 0.3;
    o.jacobi_judge = MPK_JACOBI_JUDGE_LAST;
    const mpk_block_info info =
        agree(ctx, "capacities", generated(ctx, "nlpkkt 3"), &o, bound(1e-12, 1e-10));
    assert_int_equal(info.stages, 2);
    /* blocks pushed back stage after stage: what they dropped before counts as on the processor */
    static const struct {
        const char *spec;
        int natural, grid, matching, block, level, fill, rule, sweeps, stages, judge, norm, type;
        mpk_pivoting pivoting;
        double drop, push;
    } cases[] = {
        {"stokes mac 5", 1, 1, 1, 10, 0, 0, 1, 4, 5, 1, 0, 2, MPK_PIVOTING_NONE, 1e-3, 0.2},
        {"random 60 0.06 0.3 complex", 1, 0, 1, 15, -1, 2, 1, 1, 3, 0, 1, 2, MPK_PIVOTING_STATIC,
         1e-3, 0.9},
        {"nlpkkt 3", 0, 0, 0, 10, -1, 1, 0, 4, 5, 1, 0, 0, MPK_PIVOTING_ROOK, 0.1, 0.4},
        {"nlpkkt 3", 0, 1, 0, 14, 0, 3, 0, 3, 5, 1, 0, 2, MPK_PIVOTING_NONE, 1e-3, 0.4},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_options p = complete();
        p.schedule = MPK_SCHEDULE_JACOBI;
        if (cases[k].natural) p.ordering = MPK_ORDERING_NATURAL;
        p.grid = cases[k].grid ? MPK_ON : MPK_OFF;
        p.matching = cases[k].matching ? MPK_ON : MPK_OFF, p.pivoting = cases[k].pivoting;
        p.block = cases[k].block, p.level = cases[k].level, p.fill_factor = cases[k].fill;
        p.capacity_rule = (mpk_capacity_rule)cases[k].rule, p.drop_tolerance = cases[k].drop;
        p.sweeps = cases[k].sweeps, p.stages = cases[k].stages, p.jacobi_epsilon = 1e-3;
        p.jacobi_push = cases[k].push, p.jacobi_judge = (mpk_jacobi_judge)cases[k].judge;
        p.jacobi_norm = (mpk_jacobi_norm)cases[k].norm;
        p.factor_type = (mpk_factor_type)cases[k].type;
        const mpk_block_info got =
            agree(ctx, cases[k].spec, generated(ctx, cases[k].spec), &p, bound(1e-9, 1e-7));
        assert_true(got.rejected > 0 && got.dropped > 0 && got.stages > 1);
    }
    mpk_context_destroy(&ctx);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pivotings),  cmocka_unit_test(test_dropping),
        cmocka_unit_test(test_first_come), cmocka_unit_test(test_ties),
        cmocka_unit_test(test_wide),       cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_leftovers),  cmocka_unit_test(test_stages),
        cmocka_unit_test(test_sweeps),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (device_lacks(DEVICE_BLOCKS)) return 0;
    return cmocka_run_group_tests_name("device: factorization on blocks", tests, device_setup,
                                       NULL);
}
