/* SPDX-License-Identifier: BSD-3-Clause */
/* The accelerator interface on the processor's own table and on changed ones: the engine's factor,
 * what the meta-algorithm does without a capability, user buffers, blocks in a form of the user's,
 * failures. */
#include "factor/runs.h"
#include "sanitized.h"

#include "factor/factor.h"

static mpk_accelerator table; /* what a test changes of the processor's */

static mpk_context *with_table(void) {
    mpk_context *ctx = context();
    assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
    return ctx;
}

static mpk_accelerator_report report_of(const mpk_context *ctx) {
    mpk_accelerator_report r = {.struct_size = sizeof r};
    assert_int_equal(mpk_accelerator_report_get(ctx, &r), MPK_OK);
    return r;
}

/* The largest difference of L^-1 b, relative to its largest entry; with no inner pivoting L is
 * one. */
static double difference(mpk_context *a, run *r, mpk_context *b, run *s, mpk_part part) {
    double most = 0, worst = 0;
    apply(a, r, part);
    apply(b, s, part);
    for (int64_t k = 0; k < r->a.n; k++) {
        const double x = ((double *)r->x)[k], y = ((double *)s->x)[k];
        most = fmax(most, fabs(x));
        worst = fmax(worst, fabs(x - y));
    }
    return worst / most;
}

/* What the present table can do. */
static mpk_options able(void) {
    mpk_options o = complete();
    o.pivoting = table.pivoting ? MPK_PIVOTING_COMPLETE : MPK_PIVOTING_NONE;
    o.schedule = table.atomics ? MPK_SCHEDULE_ATOMIC : MPK_SCHEDULE_SUBSETS;
    return o;
}

static mpk_options plain(int stages) {
    mpk_options o = complete();
    o.pivoting = MPK_PIVOTING_NONE;
    o.butterfly = stages == 1 ? MPK_OFF : MPK_ON;
    o.schedule = MPK_SCHEDULE_SUBSETS;
    o.stages = stages;
    o.block = 8;
    o.pivot_threshold = 0.3; /* so that there are stages */
    return o;
}

/* Without pivoting the factor is the engine's, to rounding, for one to four stages; with atomics
 * and without, with an inspector's thread and without: those give the same bits. */
static void test_factor_is_the_engines(void **unused) {
    (void)unused;
    static const char *const spec[] = {"random 200 0.02", "lp-kkt 60 110 3", "optimal-control 12"};
    int stages_seen = 0;
    for (size_t k = 0; k < 3; k++) {
        for (int stages = 1; stages <= 4; stages++) {
            mpk_options o = plain(stages);
            mpk_context *own = context();
            run want = go(own, spec[k], &o);
            assert_false(mpk_failed(want.status));
            run first = {0};
            mpk_context *contexts[4] = {NULL};
            for (int which = 0; which < 4; which++) {
                table = *mpk_accelerator_cpu();
                table.pivoting = 0;
                table.atomics = which & 1;
                o.threads = 1 + which / 2;
                contexts[which] = with_table();
                run got = go(contexts[which], spec[k], &o);
                assert_false(mpk_failed(got.status));
                assert_string_equal(mpk_factor_engine(got.fac), table.name);
                mpk_factor_info a, b;
                mpk_factor_info_get(want.fac, &a);
                mpk_factor_info_get(got.fac, &b);
                assert_int_equal(a.stages, b.stages);
                assert_int_equal(a.inertia.positive, b.inertia.positive);
                assert_int_equal(a.inertia.negative, b.inertia.negative);
                assert_int_equal(a.rejected, b.rejected);
                if (b.stages > stages_seen) stages_seen = b.stages;
                const double d = difference(own, &want, contexts[which], &got, MPK_PART_L);
                if (!(d <= 1e-13 * (a.growth > 1 ? a.growth : 1)))
                    fail_msg("%s, %d stages: L^-1 b differs by %g (growth %g)", spec[k], stages, d,
                             a.growth);
                if (which == 0) {
                    first = got;
                    continue;
                }
                apply(contexts[0], &first, MPK_PART_L);
                if (which == 2) /* the inspector's thread */
                    assert_memory_equal(first.x, got.x, (size_t)got.a.n * sizeof(double));
                end(&got);
            }
            end(&first);
            end(&want);
            for (int which = 0; which < 4; which++) mpk_context_destroy(&contexts[which]);
            mpk_context_destroy(&own);
        }
    }
    assert_int_equal(stages_seen, 4);
}

/* With inner pivoting, in any number of stages, the answer is right; a matrix that no frame accepts
 * ends in a dense pivot. */
static void test_answers(void **unused) {
    (void)unused;
    static const char *const spec[] = {"quasi-definite 9", "nlpkkt 5", "lp-kkt 60 110 3",
                                       "optimal-control 12"};
    for (size_t k = 0; k < sizeof spec / sizeof *spec; k++) {
        for (int pivoting = 0; pivoting < 2; pivoting++) {
            table = *mpk_accelerator_cpu();
            table.pivoting = pivoting;
            mpk_options o = able();
            o.stages = 0;
            mpk_context *ctx = with_table();
            run r = go(ctx, spec[k], &o);
            assert_false(mpk_failed(r.status));
            const double res = residual(ctx, &r);
            if (!(res <= 1e-8)) fail_msg("%s pivoting %d: residual %g", spec[k], pivoting, res);
            const mpk_accelerator_report seen = report_of(ctx);
            assert_true(seen.items[0] > 0 && seen.items[1] > 0 && seen.items[2] > 0);
            assert_int_equal(seen.items[5] > 0, pivoting);
            mpk_factor_info info;
            mpk_factor_info_get(r.fac, &info);
            if (info.stages > 1) assert_true(seen.boundaries > 0);
            if (!pivoting && info.rejected) assert_true(seen.butterflies > 0 && seen.items[3] > 0);
            end(&r);
            mpk_context_destroy(&ctx);
        }
    }
}

/* All that a table may have: 2x2 pivots, verdicts of its own, both push schedules; all precisions,
 * LDLT, LLT and LDU. */
static void test_all_kinds(void **unused) {
    (void)unused;
    int64_t two_by_two = 0, stages = 0;
    for (int k = 0; k < FAMILIES; k++)
        for (int what = 0; what < 8; what++)
            for (int single = 0; single < 2; single++)
                for (int type = 0; type < 3; type++) {
                    if (TEST_SANITIZED && (k + what + single + type) % 4) continue;
                    table = *mpk_accelerator_cpu();
                    table.judges = what & 1;
                    table.pairs = what >> 1 & 1;
                    table.pivoting = table.pairs || what >> 2;
                    table.atomics = what >> 2;
                    mpk_options o = able();
                    o.stages = 0;
                    o.precision = single ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
                    o.factor_type = (mpk_factor_type)type;
                    if (type == MPK_TYPE_LLT && k != 2) continue; /* the others are indefinite */
                    mpk_context *ctx = with_table();
                    run r = go(ctx, type == MPK_TYPE_LLT ? "helmholtz 2d 18 0" : families[k], &o);
                    const char *text = "";
                    mpk_last_error(ctx, NULL, NULL, &text);
                    if (mpk_failed(r.status))
                        fail_msg("%s, table %d, single %d, type %d: %s", families[k], what, single,
                                 type, text);
                    mpk_block_info info;
                    mpk_factor_block_info_get(r.fac, &info);
                    const double res = residual(ctx, &r);
                    mpk_context *engine = context();
                    run its =
                        go(engine, type == MPK_TYPE_LLT ? "helmholtz 2d 18 0" : families[k], &o);
                    assert_false(mpk_failed(its.status));
                    const double most = 100 * residual(engine, &its) + (single ? 1e-4 : 1e-12);
                    if (!(res <= most))
                        fail_msg("%s, table %d, single %d, type %d: residual %g, most %g",
                                 families[k], what, single, type, res, most);
                    end(&its);
                    mpk_context_destroy(&engine);
                    mpk_factor_info found;
                    mpk_factor_info_get(r.fac, &found);
                    two_by_two += found.two_by_two;
                    if (info.stages > stages) stages = info.stages;
                    if (!single && type == MPK_TYPE_LDLT) { /* the signs of D are A's */
                        mpk_options direct;
                        mpk_factor_info want;
                        mpk_options_init(&direct);
                        direct.method = MPK_METHOD_LDLT;
                        mpk_context *own = context();
                        run exact = go(own, families[k], &direct);
                        mpk_factor_info_get(exact.fac, &want);
                        assert_int_equal(found.inertia.positive, want.inertia.positive);
                        assert_int_equal(found.inertia.negative, want.inertia.negative);
                        end(&exact);
                        mpk_context_destroy(&own);
                    }
                    end(&r);
                    mpk_context_destroy(&ctx);
                }
    assert_true(two_by_two > 0 && stages > 1);
}

/* Incomplete: the engine's factor, with the same entries dropped, of any type and precision. */
static void test_dropping(void **unused) {
    (void)unused;
    static const char *const spec[] = {"random 200 0.02", "helmholtz 2d 18 0",
                                       "random 150 0.03 0.3 complex"};
    for (int k = 0; k < 3; k++)
        for (int type = 0; type < 3; type++)
            for (int what = 0; what < 4; what++) {
                mpk_options o = plain(1 + what / 2);
                if (type == MPK_TYPE_LLT) continue;             /* refused */
                if (type == MPK_TYPE_LDU && what / 2) continue; /* its butterflies are others */
                o.factor_type = (mpk_factor_type)type;
                o.level = what % 2 ? 1 : -1;
                o.drop_tolerance = 1e-2;
                o.fill_factor = 1.5;
                o.pivot_threshold = 1e-3;
                table = *mpk_accelerator_cpu();
                table.pivoting = 0;
                mpk_context *own = context(), *ctx = with_table();
                run want = go(own, spec[k], &o), got = go(ctx, spec[k], &o);
                assert_false(mpk_failed(want.status));
                const char *text = "";
                mpk_last_error(ctx, NULL, NULL, &text);
                if (mpk_failed(got.status)) fail_msg("%s, type %d: %s", spec[k], type, text);
                mpk_block_info a, b;
                mpk_factor_block_info_get(want.fac, &a);
                mpk_factor_block_info_get(got.fac, &b);
                assert_true(a.dropped > 0);
                assert_int_equal(a.stages, b.stages);
                if (llabs((long long)(a.dropped - b.dropped)) > 2 ||
                    llabs((long long)(a.kept - b.kept)) > 2)
                    fail_msg("%s, type %d, %d: kept %lld, dropped %lld, the engine %lld, %lld",
                             spec[k], type, what, (long long)b.kept, (long long)b.dropped,
                             (long long)a.kept, (long long)a.dropped);
                if (!(distance(&want, &got) <= 1e-5))
                    fail_msg("%s, type %d, %d: M^-1 b differs by %g", spec[k], type, what,
                             distance(&want, &got));
                end(&want);
                end(&got);
                mpk_context_destroy(&own);
                mpk_context_destroy(&ctx);
            }
}

/* A table that judges needs `run` alone, also where it is not asked to judge. */
static void test_run_alone(void **unused) {
    (void)unused;
    for (int drops = 0; drops < 2; drops++) {
        mpk_options o = plain(drops ? 2 : 0); /* without pivots that the host alone replaces */
        o.drop_tolerance = drops ? 1e-2 : 0;
        table = *mpk_accelerator_cpu();
        table.pivoting = 0;
        mpk_context *six = with_table();
        table.judges = 1;
        table.factorize = table.solve = table.downdate = table.transpose = table.zero_out =
            table.permute = NULL;
        mpk_context *none = with_table();
        run want = go(six, "random 200 0.02", &o), got = go(none, "random 200 0.02", &o);
        assert_false(mpk_failed(want.status));
        assert_false(mpk_failed(got.status));
        mpk_block_info a, b;
        mpk_factor_block_info_get(want.fac, &a);
        mpk_factor_block_info_get(got.fac, &b);
        assert_int_equal(a.dropped > 0, drops);
        assert_int_equal(a.dropped, b.dropped);
        assert_int_equal(a.stages, b.stages);
        if (!(distance(&want, &got) <= (drops ? 1e-14 : 1e-10)))
            fail_msg("dropping %d: differs by %g", drops, distance(&want, &got));
        end(&want);
        end(&got);
        mpk_context_destroy(&six);
        mpk_context_destroy(&none);
    }
}

/* What comes back of a factor: its blocks, of LDU both halves, each once. */
static void test_downloads(void **unused) {
    (void)unused;
    for (int ldu = 0; ldu < 2; ldu++) {
        table = *mpk_accelerator_cpu();
        table.pivoting = 0;
        mpk_options o = plain(1);
        o.factor_type = ldu ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
        mpk_context *ctx = with_table();
        run r = go(ctx, "helmholtz 2d 12 0", &o);
        assert_false(mpk_failed(r.status));
        mpk_block_info info;
        mpk_factor_block_info_get(r.fac, &info);
        const mpk_accelerator_report seen = report_of(ctx);
        assert_int_equal(seen.items[MPK_ACCELERATOR_FACTORIZE], info.block_rows);
        assert_true(seen.items[MPK_ACCELERATOR_SOLVE] >= info.blocks - info.block_rows);
        assert_int_equal(seen.downloads, (1 + ldu) * seen.items[MPK_ACCELERATOR_FACTORIZE] +
                                             seen.items[MPK_ACCELERATOR_SOLVE]);
        end(&r);
        mpk_context_destroy(&ctx);
    }
}

/* A definite matrix with L as large as 1e9 within its blocks, and small pivots that are good: it is
 * factorized as it is, whoever judges. */
static void test_badly_scaled(void **unused) {
    (void)unused;
    enum { PAIRS = 12 };
    int32_t row[4 * PAIRS], col[4 * PAIRS];
    double value[4 * PAIRS];
    int64_t count = 0;
    for (int32_t k = 0; k < PAIRS; k++) {
        const int32_t i = 2 * k, at[4][2] = {{i, i}, {i + 1, i}, {i + 1, i + 1}, {i + 3, i + 1}};
        const double of[4] = {1e-20, 1e-11, 1, 0.1};
        for (int e = 0; e < (k + 1 < PAIRS ? 4 : 3); e++, count++)
            row[count] = at[e][0], col[count] = at[e][1], value[count] = of[e];
    }
    for (int judges = 0; judges < 2; judges++)
        for (int stages = 1; stages < 3; stages++) {
            table = *mpk_accelerator_cpu();
            table.pivoting = 0;
            table.judges = judges;
            mpk_options o = plain(stages);
            o.butterfly = MPK_OFF;
            o.factor_type = MPK_TYPE_LLT;
            o.scaling = MPK_OFF, o.matching = MPK_OFF;
            o.ordering = MPK_ORDERING_NATURAL;
            o.pivot_threshold = 0;
            o.static_shift = 1e-30;
            mpk_context *ctx = with_table();
            mpk_problem *problem = NULL;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_block_info info;
            assert_int_equal(mpk_problem_from_triplets(ctx, 2 * PAIRS, MPK_D, MPK_SYMMETRIC,
                                                       MPK_LOWER, count, row, col, value, &problem),
                             MPK_OK);
            assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            mpk_factor_block_info_get(fac, &info);
            assert_int_equal(info.breakdowns, 0);
            assert_int_equal(info.rejected, 0);
            assert_int_equal(info.stages, 1);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
        }
}

/* Sweeps: the engine's values after some of them, and the exact factor after enough; with atomics and
 * without, judged there and here. */
static void test_sweeps(void **unused) {
    (void)unused;
    static const char *const spec[] = {"helmholtz 2d 18 0", "quasi-definite 9"};
    for (int k = 0; k < 2; k++)
        for (int type = 0; type < 3; type += 2)
            for (int what = 0; what < 4; what++) {
                if (TEST_SANITIZED && (k + type / 2 + what) % 3) continue;
                mpk_options o = plain(1);
                o.schedule = MPK_SCHEDULE_JACOBI;
                o.factor_type = (mpk_factor_type)type;
                o.jacobi_epsilon = 1e-10;
                table = *mpk_accelerator_cpu();
                table.pivoting = 0;
                table.judges = what & 1;
                table.atomics = what / 2;
                mpk_context *own = context(), *ctx = with_table();
                for (int sweeps = 2; sweeps < 200; sweeps += 150) {
                    o.sweeps = sweeps;
                    run want = go(own, spec[k], &o), got = go(ctx, spec[k], &o);
                    assert_false(mpk_failed(want.status));
                    const char *text = "";
                    mpk_last_error(ctx, NULL, NULL, &text);
                    if (mpk_failed(got.status)) fail_msg("%s, type %d: %s", spec[k], type, text);
                    const double res = residual(own, &want), its = residual(ctx, &got);
                    if (!(distance(&want, &got) <= 1e-8) || !(its <= res + 1e-9))
                        fail_msg(
                            "%s, type %d, table %d, %d sweeps: differs by %g, residual %g, the "
                            "engine's %g",
                            spec[k], type, what, sweeps, distance(&want, &got), its, res);
                    if (k == 0 && sweeps > 100) assert_true(its <= 1e-10);
                    end(&want);
                    end(&got);
                }
                mpk_context_destroy(&own);
                mpk_context_destroy(&ctx);
            }
}

/* What no stage accepts ends in a dense pivot on the host, or in larger blocks; without pivoting
 * and with, and in the last of few stages in pivots that are replaced. */
static void test_stubborn(void **unused) {
    (void)unused;
    static const char *const spec[] = {"nlpkkt 4", "random 90 0.9 0.9", "lp-kkt 60 110 3"};
    int64_t border = 0, host = 0;
    for (int k = 0; k < 3; k++)
        for (int pivoting = 0; pivoting < 2; pivoting++)
            for (int stages = 0; stages < 3; stages += 2) {
                table = *mpk_accelerator_cpu();
                table.pivoting = pivoting;
                mpk_options o = able(), direct;
                o.matching = MPK_OFF;
                o.pivot_threshold = 0.5;
                o.block = 4;
                o.stages = stages;
                mpk_context *ctx = with_table();
                run r = go(ctx, spec[k], &o);
                assert_false(mpk_failed(r.status));
                mpk_block_info info;
                mpk_factor_info found, want;
                mpk_factor_block_info_get(r.fac, &info);
                mpk_factor_info_get(r.fac, &found);
                border += info.border_rows;
                host += report_of(ctx).host_pivots;
                assert_int_equal(
                    found.inertia.positive + found.inertia.negative + found.inertia.zero, r.a.n);
                const double res = residual(ctx, &r);
                if (stages == 0 && (!(res <= 1e-8) || info.perturbed))
                    fail_msg("%s pivoting %d: residual %g, %lld replaced", spec[k], pivoting, res,
                             (long long)info.perturbed);
                assert_true(info.perturbed == 0 || report_of(ctx).host_pivots > 0);
                mpk_context *own = context();
                mpk_options_init(&direct);
                direct.method = MPK_METHOD_LDLT;
                run exact = go(own, spec[k], &direct);
                mpk_factor_info_get(exact.fac, &want);
                if (stages == 0) assert_int_equal(found.inertia.positive, want.inertia.positive);
                end(&exact);
                mpk_context_destroy(&own);
                end(&r);
                mpk_context_destroy(&ctx);
            }
    assert_true(border > 0 && host > 0);
}

/* Other values of the pattern: index and level sets are taken over, and the same values give the
 * same bits. */
static void test_refactorize(void **unused) {
    (void)unused;
    for (int stages = 1; stages <= 3; stages += 2) {
        mpk_options o = plain(stages);
        table = *mpk_accelerator_cpu();
        table.pivoting = 0;
        mpk_context *ctx = with_table();
        run r = go(ctx, "optimal-control 12", &o);
        assert_false(mpk_failed(r.status));
        apply(ctx, &r, MPK_PART_ALL);
        double *first = malloc((size_t)r.a.n * sizeof *first), *twice;
        memcpy(first, r.x, (size_t)r.a.n * sizeof *first);
        twice = malloc((size_t)r.a.nnz * sizeof *twice);
        for (int64_t k = 0; k < r.a.nnz; k++) twice[k] = 4 * ((const double *)r.a.ax)[k];
        for (int again = 0; again < 4; again++) {
            const void *values = again % 2 ? r.a.ax : twice;
            assert_false(mpk_failed(mpk_refactorize(ctx, values, &o, r.fac)));
            apply(ctx, &r, MPK_PART_ALL);
            for (int64_t k = 0; k < r.a.n; k++)
                assert_true(((double *)r.x)[k] == (again % 2 ? first[k] : first[k] / 4));
        }
        free(first), free(twice);
        end(&r);
        mpk_context_destroy(&ctx);
    }
}

/* ---- the user's kernels and buffers ---------------------------------------------------------- */

static int64_t seen_buffers, settled_buffers, wrong_buffers;

/* Counts each block's downdates in its own buffer, and its pivot's in the pivot's. */
static mpk_status counting_downdate(void *self, const mpk_accelerator_batch *b) {
    for (int64_t i = 0; i < b->count; i++) {
        ++*(int64_t *)b->buffer[0][i];
        ++*(double *)b->buffer[1][i];
        seen_buffers++;
    }
    return mpk_accelerator_cpu()->downdate(self, b);
}

/* What a block had of downdates came before it is factorized or solved with, and all that its pivot
 * takes part in comes behind that. */
static void look(const mpk_accelerator_batch *b) {
    for (int64_t i = 0; i < b->count; i++) {
        settled_buffers += *(int64_t *)b->buffer[0][i];
        wrong_buffers += *(double *)b->buffer[1][i] != 0;
    }
}

static mpk_status looking_factorize(void *self, const mpk_accelerator_batch *b) {
    look(b);
    return mpk_accelerator_cpu()->factorize(self, b);
}

static mpk_status looking_solve(void *self, const mpk_accelerator_batch *b) {
    look(b);
    return mpk_accelerator_cpu()->solve(self, b);
}

static void test_buffers(void **unused) {
    (void)unused;
    table = *mpk_accelerator_cpu();
    table.nbuffers = 2;
    table.buffers[0] = (mpk_accelerator_buffer){"downdates", 0, sizeof(int64_t)};
    table.buffers[1] = (mpk_accelerator_buffer){"as pivot", 1, sizeof(double)};
    table.downdate = counting_downdate;
    table.factorize = looking_factorize;
    table.solve = looking_solve;
    seen_buffers = settled_buffers = wrong_buffers = 0;
    mpk_options o = able();
    o.stages = 1; /* so that each block is looked at once */
    mpk_context *ctx = with_table();
    run r = go(ctx, "nlpkkt 4", &o);
    assert_false(mpk_failed(r.status));
    assert_true(seen_buffers > 0 && wrong_buffers == 0);
    assert_int_equal(settled_buffers, seen_buffers);
    assert_true(residual(ctx, &r) <= 1e-8);
    end(&r);
    mpk_context_destroy(&ctx);
}

static void test_compressed_blocks(void **unused) {
    (void)unused;
    table = *mpk_accelerator_cpu();
    table.pivoting = 0;
    mpk_options o = able();
    o.stages = 3;
    mpk_context *ctx = with_table();
    run dense = go(ctx, "nlpkkt 4", &o);
    assert_false(mpk_failed(dense.status));
    apply(ctx, &dense, MPK_PART_ALL);
    mpk_accelerator other = table;
    assert_int_equal(mpk_accelerator_use_form(&other, "compressed"), MPK_OK);
    mpk_context *there = context();
    assert_int_equal(mpk_context_use_accelerator(there, &other), MPK_OK);
    run packed = go(there, "nlpkkt 4", &o);
    assert_false(mpk_failed(packed.status));
    apply(there, &packed, MPK_PART_ALL);
    for (int64_t k = 0; k < dense.a.n; k++) /* a zero may have lost its sign */
        assert_true(((double *)dense.x)[k] == ((double *)packed.x)[k]);
    end(&dense);
    end(&packed);
    mpk_context_destroy(&ctx);
    mpk_context_destroy(&there);
}

/* Blocks that are rounded whenever they are stored: the answer is as good as that lets it be, with
 * verdicts of the machine, pairs and sweeps, too. */
static void test_rounded_blocks(void **unused) {
    (void)unused;
    static const char *const form[] = {"single", "bf16", "dense"};
    static const double most[] = {1e-4, 1, 1e-12}, least[] = {1e-9, 1e-4, 0};
    for (int k = 0; k < 3; k++)
        for (int what = 0; what < 5; what++) {
            table = *mpk_accelerator_cpu();
            mpk_options o = able();
            o.stages = what == 4 ? 1 : 0;
            table.judges = what & 1;
            table.pairs = what / 2 & 1;
            if (what == 4)
                o.schedule = MPK_SCHEDULE_JACOBI, o.sweeps = 60, o.jacobi_epsilon = 1e-10;
            assert_int_equal(mpk_accelerator_use_form(&table, form[k]), MPK_OK);
            mpk_context *ctx = with_table();
            run r = go(ctx, "helmholtz 2d 12 0", &o);
            assert_false(mpk_failed(r.status));
            const double res = residual(ctx, &r);
            if (!(res <= most[k] && res >= least[k]))
                fail_msg("%s, table %d: residual %g", form[k], what, res);
            end(&r);
            mpk_context_destroy(&ctx);
        }
    assert_int_equal(mpk_accelerator_use_form(&table, "half"), MPK_ERR_ARGUMENT);
    mpk_options o = able();
    o.precision = MPK_PRECISION_SINGLE;
    assert_int_equal(mpk_accelerator_use_form(&table, "bf16"), MPK_OK);
    mpk_context *ctx = with_table();
    run r = go(ctx, "helmholtz 2d 12 0", &o);
    assert_int_equal(r.status, MPK_ERR_UNSUPPORTED);
    end(&r);
    mpk_context_destroy(&ctx);
}

/* ---- what is refused, what fails ------------------------------------------------------------- */

static void expect(const mpk_options *o, const char *spec, mpk_status status, const char *words) {
    mpk_context *ctx = with_table();
    run r = go(ctx, spec, o);
    const char *text = "";
    assert_int_equal(r.status, status);
    mpk_last_error(ctx, NULL, NULL, &text);
    if (!strstr(text, words)) fail_msg("not '%s' but '%s'", words, text);
    end(&r);
    mpk_context_destroy(&ctx);
}

static void test_refusals(void **unused) {
    (void)unused;
    table = *mpk_accelerator_cpu();
    table.drops = 0;
    mpk_options o = able();
    o.drop_tolerance = 1e-3;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "drop_tolerance 0 and fill_factor 0");
    table.drops = 1;
    o.drop_norm = MPK_DROP_NORM_WHOLE;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "drop_norm whole");
    table.types = 1u << MPK_TYPE_LDLT;
    o = able();
    o.factor_type = MPK_TYPE_LLT;
    expect(&o, "helmholtz 2d 8 0", MPK_ERR_UNSUPPORTED, "factor_type llt");
    table = *mpk_accelerator_cpu();
    table.struct_size = offsetof(mpk_accelerator, sizes); /* as an older program has it */
    expect(&o, "helmholtz 2d 8 0", MPK_ERR_UNSUPPORTED, "factor_type llt");
    o = able();
    expect(&o, "random 60 0.1 0.3 complex", MPK_ERR_UNSUPPORTED, "complex entries");
    table = *mpk_accelerator_cpu();
    o = able();
    o.method = MPK_METHOD_LDLT;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "does not have method ldlt");
    o = able();
    o.schedule = MPK_SCHEDULE_JACOBI;
    table.run = NULL;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "schedule jacobi");
    table = *mpk_accelerator_cpu();
    o.drop_tolerance = 1e-3;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "schedule jacobi with dropping");
    o = able();
    o.schedule = MPK_SCHEDULE_JACOBI;
    o.stages = 2;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "with outer pivoting: stages 1");
    o.stages = 1;
    o.jacobi_norm = MPK_JACOBI_NORM_FRAME;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "jacobi_norm frame: it has matrix");
    table = *mpk_accelerator_cpu();
    o = able();
    o.schedule = MPK_SCHEDULE_PULL;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "schedule pull");
    o = able();
    for (int k = 0; k < MPK_PIVOTING_COMPLETE; k++) {
        o.pivoting = (mpk_pivoting)k;
        expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "it has complete");
    }
    table.pivoting = table.atomics = 0;
    o = able();
    o.schedule = MPK_SCHEDULE_ATOMIC;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "schedule atomic: it has subsets");
    o = able();
    o.pivoting = MPK_PIVOTING_ROOK;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "pivoting rook: it has none");
    table = *mpk_accelerator_cpu();
    table.precisions = 1u << MPK_S;
    o = able();
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "does not take double precision");
    table.precisions = 1u << MPK_D;
    table.largest_block = 8;
    expect(&o, "nlpkkt 3", MPK_ERR_UNSUPPORTED, "block 8 would do");
    mpk_context *ctx = context();
    mpk_accelerator broken = table;
    broken.permute = NULL;
    assert_int_equal(mpk_context_use_accelerator(ctx, &broken), MPK_ERR_ARGUMENT);
    broken = table;
    broken.struct_size = offsetof(mpk_accelerator, sizes) - 1;
    assert_int_equal(mpk_context_use_accelerator(ctx, &broken), MPK_ERR_ARGUMENT);
    mpk_accelerator_report r = {.struct_size = sizeof r};
    assert_int_equal(mpk_accelerator_report_get(ctx, &r), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
    assert_int_equal(mpk_accelerator_report_get(ctx, &r), MPK_OK);
    assert_int_equal(mpk_context_use_accelerator(ctx, NULL), MPK_OK);
    assert_int_equal(mpk_accelerator_report_get(ctx, &r), MPK_ERR_ARGUMENT);
    mpk_context_destroy(&ctx);
}

/* What a factorization asks of a table, and what the table is then. */
enum { PLAIN, HALVES, SWEEPS, DROPPING, JUDGING, SINGLE, SOLVING, KINDS };

static mpk_options of_kind(int kind) {
    table = *mpk_accelerator_cpu();
    table.pivoting = kind == HALVES || kind == JUDGING;
    table.judges = table.pairs = kind == JUDGING;
    table.solves = kind == SOLVING;
    mpk_options o = able();
    o.threads = 1;
    o.stages = kind == SWEEPS ? 1 : 2;
    if (kind == HALVES) o.factor_type = MPK_TYPE_LDU;
    if (kind == SWEEPS) o.schedule = MPK_SCHEDULE_JACOBI, o.sweeps = 2;
    if (kind == DROPPING) o.drop_tolerance = 1e-2, o.fill_factor = 1.5;
    if (kind == SINGLE) o.precision = MPK_PRECISION_SINGLE;
    return o;
}

/* Call number bad_call that goes to the accelerator fails, and where nothing helps any more those
 * behind it, too; of calls of bad_sort alone, if there is one. Memory of it is counted. */
enum { ANY, DOWNLOADS, UPLOADS, MEMORY, KERNELS, SORTS };
static int64_t calls, bad_call, held;
static int bad_sort;
static bool for_good;

static bool fails(int sort) {
    if (bad_sort != ANY && sort != bad_sort) return false;
    const int64_t call = calls++;
    return bad_call >= 0 && (for_good ? call >= bad_call : call == bad_call);
}

static mpk_status failing_allocate(void *self, int64_t bytes, void **p) {
    if (fails(MEMORY)) return for_good ? MPK_ERR_DEVICE : MPK_ERR_MEMORY;
    held++;
    return mpk_accelerator_cpu()->allocate(self, bytes, p);
}

static void counting_release(void *self, void *p) {
    held--;
    mpk_accelerator_cpu()->release(self, p);
}

static mpk_status failing_upload(void *self, void *to, const void *from, int64_t bytes) {
    return fails(UPLOADS) ? MPK_ERR_DEVICE : mpk_accelerator_cpu()->upload(self, to, from, bytes);
}

static mpk_status failing_download(void *self, void *to, const void *from, int64_t bytes) {
    return fails(DOWNLOADS) ? MPK_ERR_DEVICE
                            : mpk_accelerator_cpu()->download(self, to, from, bytes);
}

static mpk_status failing_run(void *self, const mpk_accelerator_task *task) {
    return fails(KERNELS) ? MPK_ERR_DEVICE : mpk_accelerator_cpu()->run(self, task);
}

#define FAILING(name)                                                                              \
    static mpk_status failing_##name(void *self, const mpk_accelerator_batch *b) {                 \
        return fails(KERNELS) ? MPK_ERR_DEVICE : mpk_accelerator_cpu()->name(self, b);             \
    }
FAILING(factorize)
FAILING(solve)
FAILING(downdate)
FAILING(transpose)
FAILING(zero_out)
FAILING(permute)

static void let_fail(int sort, bool good) {
    table.allocate = failing_allocate, table.release = counting_release;
    table.upload = failing_upload, table.download = failing_download;
    table.run = failing_run;
    table.factorize = failing_factorize, table.solve = failing_solve;
    table.downdate = failing_downdate, table.transpose = failing_transpose;
    table.zero_out = failing_zero_out, table.permute = failing_permute;
    bad_sort = sort, for_good = good;
    bad_call = -1;
    calls = held = 0;
}

/* One call fails: whatever it is, that is told, and nothing is kept there. */
static void test_failures(void **unused) {
    (void)unused;
    for (int kind = 0; kind < SOLVING; kind++) { /* solves: test_solves.c */
        const mpk_options o = of_kind(kind);
        let_fail(ANY, false);
        mpk_context *ctx = with_table();
        run r = go(ctx, "nlpkkt 3", &o);
        if (mpk_failed(r.status)) fail_msg("kind %d: status %d", kind, (int)r.status);
        end(&r);
        const int64_t all = calls;
        assert_int_equal(held, 0);
        assert_true(all > 50);
        for (int64_t k = 0; k < all; k += 1 + k / (TEST_SANITIZED ? 4 : 20)) {
            bad_call = k;
            calls = 0;
            r = go(ctx, "nlpkkt 3", &o);
            if (r.status != MPK_ERR_MEMORY && r.status != MPK_ERR_DEVICE)
                fail_msg("kind %d, call %d of %d: status %d", kind, (int)k, (int)all,
                         (int)r.status);
            const char *text = "";
            mpk_last_error(ctx, NULL, NULL, &text);
            assert_true(*text);
            end(&r);
            assert_int_equal(held, 0);
        }
        mpk_context_destroy(&ctx);
    }
}

/* The k-th allocation of the host fails: an error, nothing is kept, here or there. */
static void test_memory(void **unused) {
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int64_t k = 0, all = 1; k <= all; k += 1 + k / (TEST_SANITIZED ? 4 : 15)) {
            const mpk_options o = of_kind(kind);
            let_fail(ANY, false);
            table.nbuffers = 1;
            table.buffers[0] = (mpk_accelerator_buffer){"one", 0, 8};
            failing f = {.fail_at = k};
            const mpk_allocator allocator = {failing_alloc, failing_release, &f};
            mpk_context *ctx = NULL;
            mpk_problem *problem = NULL;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_problem_view a;
            mpk_status status = mpk_context_create(&allocator, &ctx);
            if (!mpk_failed(status)) status = mpk_context_use_accelerator(ctx, &table);
            if (!mpk_failed(status)) status = mpk_problem_generate(ctx, "nlpkkt 2", 3, &problem);
            if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
            if (problem) mpk_problem_view_get(problem, &a);
            if (!mpk_failed(status)) status = mpk_factorize(ctx, an, a.ax, &o, &fac);
            if (k == 0) {
                assert_false(mpk_failed(status));
                all = f.calls;
            } else if (mpk_failed(status) && status != MPK_ERR_MEMORY) { /* some do without */
                fail_msg("kind %d, allocation %d of %d: status %d", kind, (int)k, (int)all,
                         (int)status);
            }
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
            assert_int_equal(held, 0);
            assert_int_equal(f.held, 0);
        }
}

/* Whatever fails first, downloads (of permutations, too), uploads, memory or kernels, and from then
 * on always: it is told in words, and nothing is kept there. (attack/07) */
static void failures_have_words(int kind, int sort) {
    const mpk_options o = of_kind(kind);
    int failures = 0;
    let_fail(sort, true);
    mpk_context *ctx = with_table();
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 12 0.3", 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    for (int at = 0; at < 400; at += 1 + at / (TEST_SANITIZED ? 3 : 12)) {
        const char *text, *stage;
        mpk_factor *fac = NULL;
        bad_call = at;
        calls = 0;
        const mpk_status status = mpk_factorize(ctx, an, NULL, &o, &fac);
        const mpk_status last = mpk_last_error(ctx, &stage, NULL, &text);
        if (mpk_failed(status)) {
            assert_int_equal(status, MPK_ERR_DEVICE);
            assert_int_equal(last, status);
            assert_true(*text && *stage);
            if (strstr(text, "no memory")) fail_msg("kind %d, sort %d: '%s'", kind, sort, text);
            failures++;
        }
        mpk_factor_destroy(&fac);
        assert_int_equal(held, 0);
        if (!mpk_failed(status)) break;
    }
    if (failures <= 5) fail_msg("kind %d, sort %d: %d failures", kind, sort, failures);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_failures_have_words(void **unused) {
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int sort = DOWNLOADS; sort < SORTS; sort++) failures_have_words(kind, sort);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures_have_words),
                                       cmocka_unit_test(test_factor_is_the_engines),
                                       cmocka_unit_test(test_answers),
                                       cmocka_unit_test(test_all_kinds),
                                       cmocka_unit_test(test_dropping),
                                       cmocka_unit_test(test_run_alone),
                                       cmocka_unit_test(test_downloads),
                                       cmocka_unit_test(test_badly_scaled),
                                       cmocka_unit_test(test_sweeps),
                                       cmocka_unit_test(test_stubborn),
                                       cmocka_unit_test(test_refactorize),
                                       cmocka_unit_test(test_buffers),
                                       cmocka_unit_test(test_compressed_blocks),
                                       cmocka_unit_test(test_rounded_blocks),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
