/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves on an accelerator, with a table of six functions and with `run`: the processor's answers, also
 * behind a dense pivot and butterflies; by several threads; when something fails. */
#include "factor/runs.h"

#include <pthread.h>

static mpk_accelerator table; /* what a test changes of the processor's */

static mpk_context *with_table(void) {
    mpk_context *ctx = context();
    assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
    return ctx;
}

static int64_t solved(const mpk_context *ctx) {
    mpk_accelerator_report r = {.struct_size = sizeof r};
    assert_int_equal(mpk_accelerator_report_get(ctx, &r), MPK_OK);
    return r.solves;
}

enum { SIX, ROUNDS, SUMS, TABLES };

static mpk_options of_table(int which, bool pivoting) {
    mpk_options o = complete();
    table = *mpk_accelerator_cpu();
    table.solves = 1;
    table.sums = which == SUMS;
    table.pivoting = pivoting;
    if (which == SIX) table.run = NULL, table.types = 0, table.drops = 0;
    if (which != SIX) table.pairs = table.judges = pivoting;
    o.pivoting = pivoting ? MPK_PIVOTING_COMPLETE : MPK_PIVOTING_NONE;
    o.schedule = which == ROUNDS ? MPK_SCHEDULE_ATOMIC : MPK_SCHEDULE_SUBSETS;
    o.stages = 0;
    return o;
}

/* The same factor solves on the machine and on the processor. */
static void compare(const char *spec, const mpk_options *o, const char *what) {
    mpk_context *there = with_table();
    table.solves = 0;
    mpk_context *here = with_table();
    table.solves = 1;
    run got = go(there, spec, o), want = go(here, spec, o);
    const char *text = "";
    mpk_last_error(there, NULL, NULL, &text);
    if (mpk_failed(got.status)) fail_msg("%s, %s: %s", spec, what, text);
    assert_false(mpk_failed(want.status));
    assert_int_equal(solved(there), 1);
    assert_int_equal(solved(here), 0);
    const bool single = o->precision == MPK_PRECISION_SINGLE;
    const double res = residual(there, &got), its = residual(here, &want);
    if (!(res <= 10 * its + (single ? 1e-5 : 1e-13)))
        fail_msg("%s, %s: residual %g, the processor's %g", spec, what, res, its);
    end(&got);
    end(&want);
    mpk_context_destroy(&there);
    mpk_context_destroy(&here);
}

static void test_answers(void **unused) {
    (void)unused;
    for (int k = 0; k < FAMILIES; k++)
        for (int which = 0; which < TABLES; which++)
            for (int pivoting = 0; pivoting < 2; pivoting++)
                for (int type = 0; type < 3; type++)
                    for (int single = 0; single < 2; single++) {
                        mpk_options o = of_table(which, pivoting);
                        const bool of_pairs = k >= FAMILIES - 2; /* c or z */
                        if (which == SIX && (type || single || of_pairs)) continue;
                        if ((k + which + pivoting + type + single) % 3 && which != SIX) continue;
                        if (type == MPK_TYPE_LLT && k != 2) continue; /* indefinite */
                        o.factor_type = (mpk_factor_type)type;
                        if (single) o.precision = MPK_PRECISION_SINGLE;
                        compare(type == MPK_TYPE_LLT ? "helmholtz 2d 18 0" : families[k], &o,
                                which == SIX      ? "six functions"
                                : which == ROUNDS ? "rounds"
                                                  : "sums");
                    }
}

/* Frames that no stage accepts: butterflies, and the dense pivot at the end, which the processor
 * applies between the two sweeps; entries that were dropped. */
static void test_stages(void **unused) {
    (void)unused;
    int64_t border = 0, stages = 0;
    static const char *const spec[] = {"nlpkkt 4", "random 90 0.9 0.9", "lp-kkt 60 110 3",
                                       "random 80 0.9 0.9 hermitian"};
    for (int k = 0; k < 4; k++)
        for (int pivoting = 0; pivoting < 2; pivoting++) {
            mpk_options o = of_table(SUMS, pivoting);
            o.matching = MPK_OFF;
            o.pivot_threshold = 0.5;
            o.block = 4;
            compare(spec[k], &o, "stages");
            mpk_context *ctx = with_table();
            run r = go(ctx, spec[k], &o);
            mpk_block_info info;
            mpk_factor_block_info_get(r.fac, &info);
            border += info.border_rows, stages = info.stages > stages ? info.stages : stages;
            end(&r);
            mpk_context_destroy(&ctx);
        }
    assert_true(border > 0 && stages > 1);
    for (int type = 0; type < 3; type += 2) {
        mpk_options o = of_table(SUMS, false);
        o.stages = 1;
        o.factor_type = (mpk_factor_type)type;
        o.drop_tolerance = 1e-2, o.fill_factor = 1.5;
        compare("random 200 0.02", &o, "dropping");
    }
}

/* What is no exact solve with the whole factor is the processor's. */
static void test_elsewhere(void **unused) {
    (void)unused;
    static const mpk_triangular ways[] = {MPK_TRIANGULAR_JACOBI, MPK_TRIANGULAR_ISAI};
    for (int k = 0; k < 2; k++) {
        mpk_options o = of_table(SUMS, true);
        o.triangular = ways[k];
        mpk_context *ctx = with_table();
        run r = go(ctx, "helmholtz 2d 12 0", &o);
        assert_false(mpk_failed(r.status));
        assert_int_equal(solved(ctx), 0);
        end(&r);
        mpk_context_destroy(&ctx);
    }
    mpk_options o = of_table(SUMS, true);
    assert_int_equal(mpk_accelerator_use_form(&table, "single"), MPK_OK);
    mpk_context *ctx = with_table();
    run r = go(ctx, "helmholtz 2d 12 0", &o);
    assert_false(mpk_failed(r.status));
    assert_int_equal(solved(ctx), 0);
    end(&r);
    mpk_context_destroy(&ctx);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, TIMES = 6 };

typedef struct one {
    const run *r;
    double *x;
    mpk_status status;
} one;

static void *solve_often(void *arg) {
    one *mine = arg;
    mpk_context *ctx = NULL;
    mpki_application m;
    const int64_t n = mine->r->a.n;
    mine->status = mpk_context_create(NULL, &ctx);
    for (int k = 0; k < TIMES && !mpk_failed(mine->status); k++) {
        memcpy(mine->x, mine->r->b, (size_t)n * sizeof *mine->x);
        mine->status = mpki_apply_make(ctx, mine->r->fac, 1, 1, &m);
        if (mpk_failed(mine->status)) break;
        mine->status = mpki_apply(&m, MPK_PART_ALL, 1, mine->x, n, mine->x, n);
        mpki_apply_free(&m);
    }
    mpk_context_destroy(&ctx);
    return NULL;
}

/* Threads with contexts of their own share a factor, while its own context makes another one. */
static void test_threads(void **unused) {
    (void)unused;
    const mpk_options o = of_table(SUMS, true);
    mpk_context *ctx = with_table();
    run r = go(ctx, "nlpkkt 5", &o);
    assert_false(mpk_failed(r.status));
    pthread_t thread[THREADS];
    one job[THREADS];
    for (int t = 0; t < THREADS; t++) {
        job[t] = (one){&r, calloc((size_t)r.a.n, sizeof(double)), MPK_OK};
        assert_int_equal(pthread_create(&thread[t], NULL, solve_often, &job[t]), 0);
    }
    run other = go(ctx, "nlpkkt 4", &o);
    assert_false(mpk_failed(other.status));
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(thread[t], NULL), 0);
        assert_int_equal(job[t].status, MPK_OK);
        assert_memory_equal(job[t].x, r.x, (size_t)r.a.n * sizeof(double));
        free(job[t].x);
    }
    assert_int_equal(solved(ctx), 2 + THREADS * TIMES);
    end(&other);
    end(&r);
    mpk_context_destroy(&ctx);
}

/* ---- failures -------------------------------------------------------------------------------- */

static int64_t calls, bad_call;

static bool fails(void) {
    return calls++ == bad_call;
}

static mpk_status failing_upload(void *self, void *to, const void *from, int64_t bytes) {
    return fails() ? MPK_ERR_DEVICE : mpk_accelerator_cpu()->upload(self, to, from, bytes);
}

static mpk_status failing_download(void *self, void *to, const void *from, int64_t bytes) {
    return fails() ? MPK_ERR_DEVICE : mpk_accelerator_cpu()->download(self, to, from, bytes);
}

static mpk_status failing_run(void *self, const mpk_accelerator_task *task) {
    return fails() ? MPK_ERR_DEVICE : mpk_accelerator_cpu()->run(self, task);
}

/* A call fails in a solve: that is told, and the next solve is good. */
static void test_failures(void **unused) {
    (void)unused;
    const mpk_options o = of_table(SUMS, true);
    table.upload = failing_upload, table.download = failing_download, table.run = failing_run;
    calls = 0, bad_call = -1;
    mpk_context *ctx = with_table();
    run r = go(ctx, "nlpkkt 3", &o);
    assert_false(mpk_failed(r.status));
    const size_t bytes = (size_t)r.a.n * sizeof(double);
    double *x = malloc(bytes);
    mpki_application m;
    assert_int_equal(mpki_apply_make(ctx, r.fac, 1, 1, &m), MPK_OK);
    mpk_status status = MPK_ERR_DEVICE;
    int failures = 0;
    for (int k = 0; mpk_failed(status); k += 1 + k / 8) {
        memcpy(x, r.b, bytes);
        calls = 0, bad_call = k;
        status = mpki_apply(&m, MPK_PART_ALL, 1, x, r.a.n, x, r.a.n);
        bad_call = -1;
        if (!mpk_failed(status)) break;
        assert_int_equal(status, MPK_ERR_DEVICE);
        const char *text = "", *stage = "";
        mpk_last_error(ctx, &stage, NULL, &text);
        assert_string_equal(stage, "solve");
        assert_true(*text);
        mpki_clear_error(ctx);
        memcpy(x, r.b, bytes);
        assert_int_equal(mpki_apply(&m, MPK_PART_ALL, 1, x, r.a.n, x, r.a.n), MPK_OK);
        assert_memory_equal(x, r.x, bytes);
        failures++;
    }
    assert_true(failures > 10);
    mpki_apply_free(&m);
    free(x);
    end(&r);
    mpk_context_destroy(&ctx);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t held, most_held;

static mpk_status scarce_allocate(void *self, int64_t bytes, void **p) {
    if (held >= most_held) return MPK_ERR_MEMORY;
    held++;
    return mpk_accelerator_cpu()->allocate(self, bytes, p);
}

static void counting_release(void *self, void *p) {
    held--;
    mpk_accelerator_cpu()->release(self, p);
}

/* A machine that has memory for the factorization, and not for solves: the processor solves. */
static void test_memory(void **unused) {
    (void)unused;
    int here = 0, there = 0, neither = 0;
    for (most_held = 1;; most_held += 1 + most_held / 8) {
        const mpk_options o = of_table(SUMS, true);
        table.allocate = scarce_allocate, table.release = counting_release;
        mpk_context *ctx = with_table();
        run r = go(ctx, "nlpkkt 3", &o);
        const bool good = !mpk_failed(r.status);
        if (good) {
            assert_true(residual(ctx, &r) <= 1e-10);
            there += solved(ctx) > 0, here += solved(ctx) == 0;
        } else {
            assert_int_equal(r.status, MPK_ERR_MEMORY);
            neither++;
        }
        const bool last = good && solved(ctx);
        end(&r);
        mpk_context_destroy(&ctx);
        assert_int_equal(held, 0);
        if (last) break;
    }
    assert_true(neither > 0 && here > 0 && there == 1);
}

/* Factorizes, solves, with call number fail_at of the allocator failing: -1 it failed, 0 the processor
 * solved, 1 the machine. */
static int by_whom(mpk_context *ctx, run *r, failing *f, int64_t fail_at) {
    const size_t bytes = (size_t)r->a.n * sizeof(double);
    const int64_t before = solved(ctx);
    mpki_application m;
    f->calls = 0, f->fail_at = fail_at;
    mpk_status status = mpk_factorize(ctx, r->an, r->a.ax, &r->o, &r->fac);
    const mpk_status made = mpk_failed(status) ? status : mpki_apply_make(ctx, r->fac, 1, 1, &m);
    f->fail_at = 0;
    if (!mpk_failed(made)) {
        memcpy(r->x, r->b, bytes);
        assert_int_equal(mpki_apply(&m, MPK_PART_ALL, 1, r->x, r->a.n, r->x, r->a.n), MPK_OK);
        assert_true(residual(ctx, r) <= 1e-10);
        mpki_apply_free(&m);
    } else {
        assert_int_equal(made, MPK_ERR_MEMORY);
    }
    mpk_factor_destroy(&r->fac);
    return mpk_failed(made) ? -1 : solved(ctx) > before;
}

/* Whatever memory of the host solves on the machine want alone, and do not get: the processor solves. */
static void test_host_memory(void **unused) {
    (void)unused;
    int64_t calls[2] = {0, 0};
    for (int with = 0; with < 2; with++) {
        mpk_options o = of_table(SUMS, true);
        failing f = {0};
        const mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *ctx = NULL;
        o.threads = 1;
        table.solves = with;
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
        run r = go(ctx, "nlpkkt 3", &o);
        mpk_factor_destroy(&r.fac);
        assert_int_equal(by_whom(ctx, &r, &f, 0), with);
        calls[with] = f.calls;
        int64_t here = 0, failed = 0;
        for (int64_t k = 1; with && k <= calls[1]; k++) {
            const int who = by_whom(ctx, &r, &f, k);
            here += who == 0, failed += who < 0;
        }
        if (with) {
            assert_true(failed > 0 && failed <= calls[0]);
            assert_true(here >= calls[1] - calls[0] && here > 20);
        }
        end(&r);
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),    cmocka_unit_test(test_stages),
        cmocka_unit_test(test_elsewhere),  cmocka_unit_test(test_threads),
        cmocka_unit_test(test_failures),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_host_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
