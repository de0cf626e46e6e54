/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's factorization on blocks against the processor's: all factor types, pivotings, levels,
 * stages, precisions, dropping; failures. Without a GPU its kernels run on the host. */
#include "../factor/runs.h"

#include "device_blocks.h"

/* A problem factored on both. */
typedef struct both {
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *cpu, *gpu;
    mpk_status status[2];
} both;

static int borders; /* runs that the device refused, for they end in a dense pivot */

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
    if (r.status[1] == MPK_ERR_UNSUPPORTED && strstr(text, "dense pivot")) {
        assert_true(r.cpu->blocks->stages.info.border_rows > 0);
        borders++;
    } else if (r.status[0] != r.status[1])
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

static void same_counts(const char *what, const both *r, bool any_order) {
    const mpk_block_info *p = &r->cpu->blocks->stages.info, *q = &r->gpu->blocks->stages.info;
    const mpk_factor_info *a = &r->cpu->info, *b = &r->gpu->info;
#define SAME(x, y, name)                                                                           \
    if ((x) != (y)) fail_msg("%s: %s %g, on the device %g", what, name, (double)(x), (double)(y))
    if (!any_order) {
        SAME(p->kept, q->kept, "kept");
        /* what cancels to zero in one order of roundings may be dropped in another */
        if (!(fabs((double)(p->dropped - q->dropped)) <= 0.02 * (double)p->dropped + 2))
            SAME(p->dropped, q->dropped, "dropped");
        SAME(a->nnz, b->nnz, "nnz");
    }
    SAME(p->perturbed, q->perturbed, "perturbed");
    SAME(p->two_by_two, q->two_by_two, "two by two");
    SAME(p->stages, q->stages, "stages");
    SAME(p->rejected, q->rejected, "rejected");
    SAME(p->blocks, q->blocks, "blocks");
    SAME(p->levels, q->levels, "levels");
    SAME(p->flops, q->flops, "flops");
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
        const bool any_order = o->pivoting == MPK_PIVOTING_COMPLETE;
        same_counts(what, &r, any_order);
        const difference d = compare_factors(ctx, r.cpu, r.gpu, any_order);
        if (!(d.entries <= tolerance) || !(d.pivots <= tolerance) || d.elsewhere)
            fail_msg("%s: entries differ by %.3g, pivots by %.3g, %lld are elsewhere", what,
                     d.entries, d.pivots, (long long)d.elsewhere);
    }
    both_end(&r);
}

static mpk_problem *generated(mpk_context *ctx, const char *spec) {
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_generate(ctx, spec, 3, &p), MPK_OK);
    return p;
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
                agree(ctx, what, generated(ctx, specs[k]), &o, 1e-10);
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
                    snprintf(what, sizeof what, "%s, fill %d, single %d, type %d", few[k], fill,
                             single, type);
                    agree(ctx, what, generated(ctx, few[k]), &o, single ? 1e-4 : 1e-11);
                }
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
                agree(ctx, what, generated(ctx, few[k]), &o, 1e-9);
            }
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
                agree(ctx, what, generated(ctx, few[k]), &o, 1e-10);
            }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pivotings), cmocka_unit_test(test_dropping),
        cmocka_unit_test(test_stages),    cmocka_unit_test(test_sweeps),
    };
    return cmocka_run_group_tests_name("device: factorization on blocks", tests, device_setup,
                                       NULL);
}
