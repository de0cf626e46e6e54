/* SPDX-License-Identifier: BSD-3-Clause */
/* The meta-algorithm: complete ones against the direct solver, schedules against each other,
 * stages, dropping, precisions, failures. */
#include "runs.h"

/* Everything kept, the answer is the direct solver's: for each type of pivoting and of factor. */
static void test_complete_is_direct(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < FAMILIES; k++)
        for (int pivoting = MPK_PIVOTING_PARTIAL; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
            for (int type = 0; type < 2; type++) {
                mpk_options o = complete();
                o.pivoting = (mpk_pivoting)pivoting;
                o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
                run r = go(ctx, families[k], &o);
                assert_true(!mpk_failed(r.status));
                const double res = residual(ctx, &r);
                if (!(res <= 1e-8))
                    fail_msg("%s pivoting %d type %d: residual %g", families[k], pivoting, type,
                             res);
                end(&r);
            }
    mpk_context_destroy(&ctx);
}

/* The same with one frame for all: pure dense factorization; and with scalars. */
static void test_block_sizes(void **state) {
    (void)state;
    mpk_context *ctx = context();
    const int sizes[] = {1, 2, 7, 32, 100, 128};
    for (int grid = 0; grid < 2; grid++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            mpk_options o = complete();
            o.block = sizes[k];
            o.grid = grid ? MPK_ON : MPK_OFF;
            run r = go(ctx, "quasi-definite 9", &o); /* any order of scalars is stable there */
            assert_true(!mpk_failed(r.status));
            const double res = residual(ctx, &r);
            if (!(res <= 1e-9)) fail_msg("block %d grid %d: residual %g", sizes[k], grid, res);
            mpk_block_info info;
            mpk_factor_block_info_get(r.fac, &info);
            assert_true(info.block_rows >= (r.a.n + sizes[k] - 1) / sizes[k]);
            end(&r);
        }
    mpk_context_destroy(&ctx);
}

/* Pull, pushing by subsets and pushing by atomic subtraction differ by rounding alone; pull and
 * subsets not at all between runs and numbers of threads. */
static void test_schedules_agree(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < FAMILIES; k++)
        for (int level = -1; level < 3; level++) {
            mpk_options o = complete();
            o.level = level;
            if (level == 2) o.fill_factor = 3, o.drop_tolerance = 1e-3;
            o.static_shift =
                1e-3; /* keeps the incomplete ones tame, so that digits mean something */
            run pull = go(ctx, families[k], &o);
            assert_true(!mpk_failed(pull.status));
            for (int schedule = MPK_SCHEDULE_PULL; schedule <= MPK_SCHEDULE_ATOMIC; schedule++) {
                o.schedule = (mpk_schedule)schedule;
                run first = {0};
                for (int threads = 1; threads <= 3; threads++) {
                    o.threads = threads;
                    run r = go(ctx, families[k], &o);
                    assert_true(!mpk_failed(r.status));
                    const double d = distance(&pull, &r);
                    if (!(d <= (level == 2 ? 1e-8 : 1e-10)))
                        fail_msg("%s level %d schedule %d: distance %g", families[k], level,
                                 schedule, d);
                    if (threads == 1) {
                        first = r;
                        continue;
                    }
                    if (schedule != MPK_SCHEDULE_ATOMIC)
                        assert_memory_equal(first.x, r.x,
                                            (size_t)r.a.n * mpk_scalar_size(r.a.scalar));
                    end(&r);
                }
                end(&first);
            }
            o.threads = 2;
            end(&pull);
        }
    mpk_context_destroy(&ctx);
}

/* Frames whose pivots fail go to later stages, and what they missed is made up for. */
static void test_stages(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < FAMILIES; k++)
        for (int schedule = MPK_SCHEDULE_PULL; schedule <= MPK_SCHEDULE_ATOMIC; schedule++)
            for (int butterfly = 0; butterfly < 2; butterfly++) {
                mpk_options o = complete();
                o.matching = MPK_OFF; /* so that pivots do fail */
                o.block = 6;
                o.stages = 30;
                o.pivot_threshold = 0.1;
                o.schedule = (mpk_schedule)schedule;
                o.butterfly = butterfly ? MPK_ON : MPK_OFF;
                run r = go(ctx, families[k], &o);
                assert_true(!mpk_failed(r.status));
                mpk_block_info info;
                mpk_factor_block_info_get(r.fac, &info);
                const double res = residual(ctx, &r);
                if (!(res <= 1e-7))
                    fail_msg("%s schedule %d: %d stages, %lld rejected, residual %g", families[k],
                             schedule, info.stages, (long long)info.rejected, res);
                if (k < 2) assert_true(info.stages > 1 && info.rejected > 0);
                end(&r);
            }
    mpk_context_destroy(&ctx);
}

/* Without stages and without pivoting the same matrices are hopeless: the test above can fail. */
static void test_without_stages(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = complete();
    o.matching = MPK_OFF;
    o.block = 6;
    o.pivoting = MPK_PIVOTING_NONE;
    int hopeless = 0;
    for (int k = 0; k < FAMILIES; k++) {
        run r = go(ctx, families[k], &o);
        mpk_block_info info;
        mpk_factor_block_info_get(r.fac, &info);
        hopeless += mpk_failed(r.status) || info.perturbed > 0 || !(residual(ctx, &r) <= 1e-7);
        end(&r);
    }
    assert_true(hopeless >= 3);
    mpk_context_destroy(&ctx);
}

/* Jacobi sweeps approach what the level sets compute on the same pattern; with enough of them and
 * no damping they are there. */
static void test_jacobi(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = complete();
    o.level = 0;
    o.grid = MPK_ON;
    o.block = 8;
    run pull = go(ctx, "helmholtz 2d 18 0", &o);
    o.method = MPK_METHOD_JACOBI;
    o.jacobi_epsilon = 0;
    double before = INFINITY;
    for (int sweeps = 2; sweeps <= 64; sweeps *= 2) {
        o.sweeps = sweeps;
        run r = go(ctx, "helmholtz 2d 18 0", &o);
        assert_true(!mpk_failed(r.status));
        const double d = distance(&pull, &r);
        assert_true(d <= before + 1e-13);
        before = d;
        end(&r);
    }
    assert_true(before <= 1e-12);
    end(&pull);
    mpk_context_destroy(&ctx);
}

/* Parts compose; |D| makes the whole definite. */
static void test_parts(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = complete();
    run r = go(ctx, "nlpkkt 4", &o);
    mpki_application m;
    const int64_t n = r.a.n;
    double *x = malloc((size_t)n * sizeof *x), product = 0;
    assert_int_equal(mpki_apply_make(ctx, r.fac, 2, 1, &m), MPK_OK);
    memcpy(x, r.b, (size_t)n * sizeof *x);
    assert_int_equal(mpki_apply(&m, MPK_PART_L, 1, x, n, x, n), MPK_OK);
    assert_int_equal(mpki_apply(&m, MPK_PART_D, 1, x, n, x, n), MPK_OK);
    assert_int_equal(mpki_apply(&m, MPK_PART_LT, 1, x, n, x, n), MPK_OK);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(x[i] - ((double *)r.x)[i]) <= 1e-12 * (1 + fabs(x[i])));
    memcpy(x, r.b, (size_t)n * sizeof *x);
    assert_int_equal(mpki_apply(&m, MPK_PART_ABS, 1, x, n, x, n), MPK_OK);
    for (int64_t i = 0; i < n; i++) product += x[i] * ((double *)r.b)[i];
    assert_true(product > 0);
    mpki_apply_free(&m);
    free(x);
    end(&r);
    mpk_context_destroy(&ctx);
}

/* Jacobi sweeps of the triangular solves reach the exact ones after as many as there are levels. */
static void test_solve_sweeps(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = complete();
    run exact = go(ctx, "quasi-definite 9", &o);
    mpk_block_info info;
    mpk_factor_block_info_get(exact.fac, &info);
    o.solve_sweeps = info.levels;
    run sweeps = go(ctx, "quasi-definite 9", &o);
    assert_true(distance(&exact, &sweeps) <= 1e-13);
    o.solve_sweeps = 1;
    run one = go(ctx, "quasi-definite 9", &o);
    assert_true(distance(&exact, &one) > 1e-6);
    end(&exact);
    end(&sweeps);
    end(&one);
    mpk_context_destroy(&ctx);
}

/* A single precision factor is as good as its 24 bits. */
static void test_single(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < FAMILIES; k++) {
        mpk_options o = complete();
        o.precision = MPK_PRECISION_SINGLE;
        run r = go(ctx, families[k], &o);
        assert_true(!mpk_failed(r.status));
        const double res = residual(ctx, &r);
        if (!(res <= 1e-1)) fail_msg("%s: residual %g", families[k], res);
        if (k == 4) assert_true(res > 1e-12 && res < 1e-4);
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* Dropping keeps to its bounds. */
static void test_dropping(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = complete();
    o.drop_tolerance = 1e-2;
    run r = go(ctx, "helmholtz 2d 30 0.1", &o);
    mpk_block_info some, all;
    mpk_factor_block_info_get(r.fac, &some);
    end(&r);
    o.drop_tolerance = 0;
    r = go(ctx, "helmholtz 2d 30 0.1", &o);
    mpk_factor_block_info_get(r.fac, &all);
    end(&r);
    assert_true(some.dropped > 0 && all.dropped == 0 && some.kept < all.kept);
    o.fill_factor = 1.5;
    o.level = 2;
    r = go(ctx, "helmholtz 2d 30 0.1", &o);
    mpk_factor_block_info_get(r.fac, &some);
    assert_true(some.mean_fill_in > 0 && some.mean_fill_out > 0 && some.mean_fill_out <= 1);
    end(&r);
    mpk_context_destroy(&ctx);
}

/* Two blocks of two rows by hand. L_11 = [1 0; 0.9 1], and below it stands [0.2 0], so that the
 * norm of the first column is sqrt(1.04), with that of L_11 sqrt(1.85): between 0.17 times these is
 * 0.2. */
static void test_drop_norm(void **state) {
    (void)state;
    static const int64_t ap[] = {0, 3, 5, 7, 8};
    static const int32_t ai[] = {0, 1, 2, 1, 2, 2, 3, 3}, start[] = {0, 2, 4};
    static const double ax[] = {1, 0.9, 0.2, 2, 0.18, 3, 0.5, 4};
    mpk_context *ctx = context();
    for (int type = 0; type < 2; type++)
        for (int norm = 0; norm < 2; norm++) {
            mpk_options o = complete();
            run r = {0};
            o.ordering = MPK_ORDERING_NATURAL;
            o.given_blocks = start;
            o.matching = o.scaling = MPK_OFF;
            o.pivoting = MPK_PIVOTING_NONE;
            o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
            o.drop_tolerance = 0.17;
            o.drop_norm = (mpk_drop_norm)norm;
            assert_int_equal(mpk_problem_from_csc(ctx, 4, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai,
                                                  ax, &r.problem),
                             MPK_OK);
            assert_int_equal(mpk_analyse(ctx, r.problem, &o, &r.an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, r.an, ax, &o, &r.fac), MPK_OK);
            mpk_block_info info;
            mpk_factor_block_info_get(r.fac, &info);
            assert_int_equal(info.kept, norm == MPK_DROP_NORM_BELOW ? 1 + type : 0);
            end(&r);
        }
    /* with pivoting, stages and more of everything: fewer entries stay, never more */
    for (int k = 0; k < FAMILIES; k++) {
        int64_t kept[2];
        for (int norm = 0; norm < 2; norm++) {
            mpk_options o = complete();
            mpk_block_info info;
            o.level = 0; /* so that what was dropped changes no other block's pattern */
            o.drop_tolerance = 1e-2;
            o.drop_norm = (mpk_drop_norm)norm;
            run r = go(ctx, families[k], &o);
            assert_true(!mpk_failed(r.status));
            mpk_factor_block_info_get(r.fac, &info);
            kept[norm] = info.kept;
            end(&r);
        }
        if (kept[1] > kept[0] + kept[0] / 20)
            fail_msg("%s: %lld and %lld", families[k], (long long)kept[0], (long long)kept[1]);
    }
    mpk_context_destroy(&ctx);
}

static void test_llt(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = complete();
    o.factor_type = MPK_TYPE_LLT;
    run r = go(ctx, "helmholtz 2d 18 0", &o);
    assert_true(!mpk_failed(r.status) && residual(ctx, &r) <= 1e-10);
    end(&r);
    r = go(ctx, "helmholtz 2d 18 0.9", &o);
    assert_int_equal(r.status, MPK_ERR_NUMERIC);
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "not positive definite"));
    end(&r);
    mpk_context_destroy(&ctx);
}

/* In digits, on matrices that have them: a complete factorization is the
 * direct one to 1e-12, and the schedules are one to 1e-13. */
static void test_digits(void **state) {
    (void)state;
    static const char *const specs[] = {"helmholtz 2d 18 0", "quasi-definite 9 1"};
    mpk_context *ctx = context();
    for (int k = 0; k < 2; k++) {
        mpk_options o = complete();
        run pull = go(ctx, specs[k], &o), twin = pull;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options d = o;
        d.method = MPK_METHOD_LDLT;
        twin.x = calloc((size_t)pull.a.n + 1, 16);
        assert_true(mpk_analyse(ctx, pull.problem, &d, &an) >= 0);
        assert_true(mpk_factorize(ctx, an, pull.a.ax, &d, &fac) >= 0);
        assert_true(mpk_solve(ctx, fac, 1, pull.b, pull.a.n, twin.x, pull.a.n, &d, NULL) >= 0);
        assert_true(distance(&pull, &twin) <= 1e-12);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        free(twin.x);
        for (int schedule = MPK_SCHEDULE_SUBSETS; schedule <= MPK_SCHEDULE_ATOMIC; schedule++) {
            o.schedule = (mpk_schedule)schedule;
            run r = go(ctx, specs[k], &o);
            const double far = distance(&pull, &r);
            if (!(far <= 1e-13)) fail_msg("%s schedule %d: distance %g", specs[k], schedule, far);
            end(&r);
        }
        end(&pull);
    }
    mpk_context_destroy(&ctx);
}

/* Leftover capacity dealt out by atomic operations: about as much is kept. */
static void test_leftover(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = complete();
    o.level = 2;
    o.fill_factor = 1.2;
    o.drop_tolerance = 1e-6;
    mpk_block_info in_order, atomic;
    run r = go(ctx, "helmholtz 2d 40 0.1", &o);
    mpk_factor_block_info_get(r.fac, &in_order);
    end(&r);
    o.deterministic = MPK_OFF;
    r = go(ctx, "helmholtz 2d 40 0.1", &o);
    mpk_factor_block_info_get(r.fac, &atomic);
    end(&r);
    assert_true(in_order.dropped > 0 && atomic.dropped > 0);
    assert_true(fabs((double)(in_order.kept - atomic.kept)) <= 0.05 * (double)in_order.kept);
    mpk_context_destroy(&ctx);
}

/* Options that exclude each other are named before anything is computed. */
static void test_excluding_options(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_problem *problem = NULL;
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 2", 1, &problem), MPK_OK);
    for (int k = 0; k < 4; k++) {
        static const char *const words[] = {"ldu", "krylov none", "matching", "llt"};
        mpk_options o = complete();
        mpk_analysis *an = NULL;
        if (k == 0) o.factor_type = MPK_TYPE_LDU, o.krylov = MPK_KRYLOV_MINRES;
        if (k == 1) o.krylov = MPK_KRYLOV_NONE;
        if (k == 2) o.pivoting = MPK_PIVOTING_STATIC, o.matching = MPK_OFF;
        if (k == 3) o.pivoting = MPK_PIVOTING_STATIC, o.factor_type = MPK_TYPE_LLT;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_ERR_ARGUMENT);
        assert_null(an);
        const char *text;
        mpk_last_error(ctx, NULL, NULL, &text);
        assert_non_null(strstr(text, words[k]));
    }
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* New values of the same pattern: from the second on index and levels, from the third on the lists
 * of updates are those of the values before. The bits are those of a factor made anew, also where
 * the level of fill or the schedule changes on the way. */
static void test_other_values(void **state) {
    (void)state;
    mpk_context *ctx = context();
    const int levels[] = {1, 1, 1, -1, -1, -1, 1, 1};
    for (int k = 0; k < FAMILIES; k++)
        for (int type = MPK_TYPE_LDLT; type <= MPK_TYPE_LDU; type += MPK_TYPE_LDU) {
            mpk_options o = complete();
            o.factor_type = (mpk_factor_type)type;
            run r = go(ctx, families[k], &o);
            const int64_t n = r.a.n, size = (int64_t)mpk_scalar_size(r.a.scalar);
            for (int again = 0; again < 8; again++) {
                o.level = levels[again];
                o.schedule = again == 6 ? MPK_SCHEDULE_SUBSETS : MPK_SCHEDULE_PULL;
                o.threads = 1 + again % 2;
                double *values = malloc((size_t)(r.a.nnz * size) + 16);
                memcpy(values, r.a.ax, (size_t)(r.a.nnz * size));
                for (int64_t e = 0; e < r.a.nnz * size / 8; e++) values[e] *= 1 + 0.01 * again;
                mpk_factor *fresh = NULL, *mine = r.fac;
                assert_true(!mpk_failed(mpk_refactorize(ctx, values, &o, r.fac)));
                apply(ctx, &r, MPK_PART_ALL);
                void *x = malloc((size_t)(n * size));
                memcpy(x, r.x, (size_t)(n * size));
                assert_true(!mpk_failed(mpk_factorize(ctx, r.an, values, &o, &fresh)));
                r.fac = fresh;
                apply(ctx, &r, MPK_PART_ALL);
                assert_memory_equal(x, r.x, (size_t)(n * size));
                r.fac = mine;
                mpk_factor_destroy(&fresh);
                free(values), free(x);
            }
            end(&r);
        }
    mpk_context_destroy(&ctx);
}

/* ---- no memory ---- */

typedef struct meter {
    _Atomic long left, live; /* workers allocate, too */
} meter;
static void *meter_alloc(void *user, size_t bytes) {
    meter *m = user;
    if (m->left-- <= 0) return NULL;
    m->live++;
    return malloc(bytes ? bytes : 1);
}
static void meter_free(void *user, void *ptr, size_t bytes) {
    (void)bytes;
    if (ptr) ((meter *)user)->live--;
    free(ptr);
}

static void test_no_memory(void **state) {
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        long k = 0;
        for (mpk_status status = MPK_ERR_MEMORY; mpk_failed(status); k += 1 + k / 40) {
            meter m = {k, 0};
            mpk_allocator a = {meter_alloc, meter_free, &m};
            mpk_context *ctx = NULL;
            mpk_problem *problem = NULL;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_options o = complete();
            o.block = 6;
            o.matching = MPK_OFF;
            o.stages = 10;
            o.pivot_threshold = 0.1;
            if (kind == 1) o.schedule = MPK_SCHEDULE_SUBSETS, o.factor_type = MPK_TYPE_LDU;
            if (kind == 2) o.method = MPK_METHOD_JACOBI;
            if (kind == 3) o.pivoting = MPK_PIVOTING_NONE, o.stages = 0, o.pivot_threshold = 0.5;
            status = mpk_context_create(&a, &ctx);
            if (!mpk_failed(status)) status = mpk_problem_generate(ctx, "nlpkkt 2", 1, &problem);
            mpk_problem_view v = {0};
            if (!mpk_failed(status)) mpk_problem_view_get(problem, &v);
            if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
            if (kind == 4) o.stages = 1; /* and what is kept for other values */
            if (!mpk_failed(status)) status = mpk_factorize(ctx, an, v.ax, &o, &fac);
            for (int again = 0; again < 2 && kind == 4 && !mpk_failed(status); again++)
                status = mpk_refactorize(ctx, v.ax, &o, fac);
            if (mpk_failed(status)) assert_int_equal(status, MPK_ERR_MEMORY);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
            assert_int_equal(m.live, 0);
        }
        assert_true(k > 30);
    }
}

/* What a factor on blocks does not have, it does not pretend to have. */
static void test_get(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = complete();
    run r = go(ctx, "nlpkkt 2", &o);
    double room[1024];
    assert_true(2 * (size_t)r.a.n * sizeof(double) <= sizeof room);
    for (mpk_quantity what = MPK_GET_INERTIA; what <= MPK_GET_LOGDET; what++) {
        const bool has = what == MPK_GET_INERTIA || what == MPK_GET_SCALE;
        assert_int_equal(mpk_get(ctx, r.fac, what, room, sizeof room),
                         has ? MPK_OK : MPK_ERR_UNSUPPORTED);
    }
    end(&r);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete_is_direct),
        cmocka_unit_test(test_block_sizes),
        cmocka_unit_test(test_schedules_agree),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_without_stages),
        cmocka_unit_test(test_jacobi),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_solve_sweeps),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_dropping),
        cmocka_unit_test(test_drop_norm),
        cmocka_unit_test(test_llt),
        cmocka_unit_test(test_other_values),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_leftover),
        cmocka_unit_test(test_excluding_options),
        cmocka_unit_test(test_get),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
