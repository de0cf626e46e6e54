/* SPDX-License-Identifier: BSD-3-Clause */
/* A GPU behind the accelerator interface: its answers and factors beside those of the processor's
 * table, by precision, type and schedule. Without a GPU its kernels run on the host. */
#include "engines/cuda/device_there.h"
#include "factor/runs.h"

#include "core/trace.h"

#include <dlfcn.h>

static mpk_accelerator table; /* what a test changes of the device's */

static mpk_context *with_device(void) {
    const mpk_accelerator *device = NULL;
    mpk_context *ctx = context();
    const mpk_status status = mpk_accelerator_cuda(ctx, 0, &device);
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    if (status != MPK_OK) fail_msg("%s", text);
    table = *device;
    return ctx;
}

/* Options that the present table can honour. */
static void can_do(mpk_options *o) {
    o->pivoting = table.pivoting ? MPK_PIVOTING_COMPLETE : MPK_PIVOTING_NONE;
    if (o->schedule != MPK_SCHEDULE_JACOBI)
        o->schedule = table.atomics ? MPK_SCHEDULE_ATOMIC : MPK_SCHEDULE_SUBSETS;
}

/* The processor's table with what the device can do. */
static mpk_accelerator like_it(void) {
    mpk_accelerator cpu = *mpk_accelerator_cpu();
    cpu.pairs = table.pairs, cpu.judges = table.judges;
    cpu.pivoting = table.pivoting, cpu.atomics = table.atomics;
    return cpu;
}

/* All types, both precisions, both schedules, with inner pivoting and without. */
static void test_answers(void **unused) {
    (void)unused;
    int64_t pairs = 0, rejected = 0;
    for (int k = 0; k < FAMILIES; k++)
        for (int what = 0; what < 4; what++)
            for (int single = 0; single < 2; single++)
                for (int type = 0; type < 3; type++) {
                    mpk_options o = complete();
                    o.stages = 0;
                    o.block = 8;
                    o.precision = single ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
                    o.factor_type = (mpk_factor_type)type;
                    if (type == MPK_TYPE_LLT && k != 2) continue; /* the others are indefinite */
                    if ((k + what + single + type) % (what ? 5 : 2)) continue; /* some of each */
                    const char *spec = type == MPK_TYPE_LLT ? "helmholtz 2d 18 0" : families[k];
                    mpk_context *ctx = with_device();
                    table.atomics = what & 1;
                    if (what & 2) table.pivoting = table.pairs = 0;
                    can_do(&o);
                    assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
                    run r = go(ctx, spec, &o);
                    const char *text = "";
                    mpk_last_error(ctx, NULL, NULL, &text);
                    if (mpk_failed(r.status))
                        fail_msg("%s, table %d, single %d, type %d: %s", spec, what, single, type,
                                 text);
                    const double res = residual(ctx, &r);
                    mpk_context *own = context();
                    const mpk_accelerator cpu = like_it();
                    assert_int_equal(mpk_context_use_accelerator(own, &cpu), MPK_OK);
                    run want = go(own, spec, &o);
                    assert_false(mpk_failed(want.status));
                    const double its = residual(own, &want);
                    if (!(res <= 100 * its + (single ? 1e-5 : 1e-13)))
                        fail_msg(
                            "%s, table %d, single %d, type %d: residual %g, the processor's %g",
                            spec, what, single, type, res, its);
                    mpk_factor_info a, b;
                    mpk_factor_info_get(r.fac, &a);
                    mpk_factor_info_get(want.fac, &b);
                    assert_int_equal(a.inertia.positive, b.inertia.positive);
                    assert_int_equal(a.inertia.negative, b.inertia.negative);
                    assert_int_equal(a.rejected, b.rejected);
                    pairs += a.two_by_two, rejected += a.rejected;
                    end(&r);
                    end(&want);
                    mpk_context_destroy(&ctx);
                    mpk_context_destroy(&own);
                }
    assert_true(pairs > 0 && rejected > 0);
}

/* Jacobi sweeps end in the exact factor. */
static void test_sweeps(void **unused) {
    (void)unused;
    for (int atomic = 0; atomic < 2; atomic++) {
        mpk_options o = complete();
        o.stages = 1;
        o.block = 8;
        o.schedule = MPK_SCHEDULE_JACOBI;
        o.jacobi_epsilon = 1e-10;
        o.sweeps = 40;
        mpk_context *ctx = with_device();
        table.atomics = atomic;
        can_do(&o);
        assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
        run r = go(ctx, "helmholtz 2d 12 0", &o);
        assert_false(mpk_failed(r.status));
        assert_true(residual(ctx, &r) <= 1e-10);
        end(&r);
        mpk_context_destroy(&ctx);
    }
}

/* Blocks that rest in a form of their own: rounded as the processor's are, compressed ones not at all. */
static void test_forms(void **unused) {
    (void)unused;
    static const struct {
        const char *name;
        double least, most;
    } forms[] = {{"compressed", 0, 1e-12}, {"single", 1e-9, 1e-4}, {"bf16", 1e-5, 0.5}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (int scalar = 0; scalar < 2; scalar++) {
            mpk_options o = complete();
            o.block = 8;
            mpk_context *ctx = with_device();
            assert_int_equal(mpk_accelerator_use_form(&table, "half"), MPK_ERR_ARGUMENT);
            assert_int_equal(mpk_accelerator_use_form(&table, forms[k].name), MPK_OK);
            can_do(&o);
            assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
            run r = go(ctx, scalar ? "random 60 0.1 0.3 complex" : "helmholtz 2d 12 0", &o);
            assert_int_equal(r.status, scalar ? MPK_ERR_UNSUPPORTED : MPK_OK);
            if (!scalar) {
                const double res = residual(ctx, &r);
                if (!(res <= forms[k].most && res >= forms[k].least))
                    fail_msg("%s: residual %g", forms[k].name, res);
                mpk_context *own = context();
                mpk_accelerator cpu = like_it();
                assert_int_equal(mpk_accelerator_use_form(&cpu, forms[k].name), MPK_OK);
                assert_int_equal(mpk_context_use_accelerator(own, &cpu), MPK_OK);
                run want = go(own, "helmholtz 2d 12 0", &o);
                if (!(res <= 3 * residual(own, &want) + 1e-14))
                    fail_msg("%s: residual %g, the processor's %g", forms[k].name, res,
                             residual(own, &want));
                end(&want);
                mpk_context_destroy(&own);
            }
            end(&r);
            mpk_context_destroy(&ctx);
        }
}

/* Incomplete, of any type that drops and any precision: what the processor's table keeps. */
static void test_dropping(void **unused) {
    (void)unused;
    static const char *const spec[] = {"random 200 0.02", "helmholtz 2d 18 0.3",
                                       "random 150 0.03 0.3 complex",
                                       "random 140 0.03 0.3 hermitian"};
    for (int k = 0; k < 4; k++)
        for (int type = 0; type < 3; type++)
            for (int single = 0; single < 2; single++) {
                mpk_options o = complete();
                if (type == MPK_TYPE_LLT) continue; /* refused */
                o.block = 8;
                o.stages = type == MPK_TYPE_LDLT ? 2 : 1;
                o.butterfly = o.stages > 1 ? MPK_ON : MPK_OFF;
                o.factor_type = (mpk_factor_type)type;
                o.level = single;
                o.precision = single ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
                o.drop_tolerance = 1e-2;
                o.fill_factor = 1.5;
                mpk_context *ctx = with_device(), *own = context();
                table.pivoting = table.pairs = 0; /* whose order may be another one */
                can_do(&o);
                assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
                const mpk_accelerator cpu = like_it();
                assert_int_equal(mpk_context_use_accelerator(own, &cpu), MPK_OK);
                run got = go(ctx, spec[k], &o), want = go(own, spec[k], &o);
                mpk_block_info a, b;
                assert_false(mpk_failed(got.status));
                assert_false(mpk_failed(want.status));
                mpk_factor_block_info_get(got.fac, &a);
                mpk_factor_block_info_get(want.fac, &b);
                assert_true(a.dropped > 0);
                /* in single precision entries at the limit may fall on either side of it */
                const long long most = single ? b.dropped / 100 : 0;
                if (llabs((long long)(a.dropped - b.dropped)) > most ||
                    llabs((long long)(a.kept - b.kept)) > most)
                    fail_msg("%s, type %d, single %d: kept %lld, dropped %lld, not %lld, %lld",
                             spec[k], type, single, (long long)a.kept, (long long)a.dropped,
                             (long long)b.kept, (long long)b.dropped);
                if (!(distance(&want, &got) <= (single ? 1e-2 : 1e-9)))
                    fail_msg("%s, type %d, single %d: M^-1 b differs by %g", spec[k], type, single,
                             distance(&want, &got));
                end(&got), end(&want);
                mpk_context_destroy(&ctx);
                mpk_context_destroy(&own);
            }
}

/* Many right-hand sides at once, more than a block has rows, on the machine: the processor's table's
 * answers, and its own to the last bit for each of them alone; with a dense pivot at the end, too. */
static void test_solves(void **unused) {
    (void)unused;
    enum { MANY = 11 };
    for (int k = 0; k < FAMILIES; k++) {
        mpk_options o = complete();
        o.stages = 0;
        o.block = 8;
        mpk_context *ctx = with_device();
        can_do(&o);
        if (!(k & 1)) table.sums = 0; /* round after round */
        assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
        run r = go(ctx, families[k], &o);
        assert_false(mpk_failed(r.status));
        const int64_t n = r.a.n;
        const size_t size = mpk_scalar_size(r.a.scalar);
        char *x = calloc(MANY * (size_t)n + 1, size), *one = calloc((size_t)n, size);
        for (int64_t i = 0; i < MANY * n; i++)
            scalar_store(r.a.scalar, x, i, rhs_entry(i, r.a.scalar));
        mpki_application m;
        assert_int_equal(mpki_apply_make(ctx, r.fac, 1, MANY, &m), MPK_OK);
        assert_int_equal(mpki_apply(&m, MPK_PART_ALL, MANY, x, n, x, n), MPK_OK);
        for (int c = 0; c < MANY; c += 5) {
            for (int64_t i = 0; i < n; i++)
                scalar_store(r.a.scalar, one, i, rhs_entry(c * n + i, r.a.scalar));
            assert_int_equal(mpki_apply(&m, MPK_PART_ALL, 1, one, n, one, n), MPK_OK);
            assert_memory_equal(one, x + (size_t)(c * n) * size, (size_t)n * size);
        }
        mpki_apply_free(&m);
        mpk_accelerator_report seen = {.struct_size = sizeof seen};
        assert_int_equal(mpk_accelerator_report_get(ctx, &seen), MPK_OK);
        assert_int_equal(seen.solves, 1 + MANY + 3);
        assert_true(seen.solve_calls > 0);
        /* its parts are the processor's, and are the whole of it */
        memcpy(one, x, (size_t)n * size);
        apply(ctx, &r, MPK_PART_ALL);
        assert_memory_equal(one, r.x, (size_t)n * size);
        for (int64_t i = 0; i < n; i++) scalar_store(r.a.scalar, one, i, rhs_entry(i, r.a.scalar));
        assert_int_equal(mpki_apply_make(ctx, r.fac, 1, 1, &m), MPK_OK);
        for (int part = MPK_PART_L; part <= MPK_PART_LT; part++)
            assert_int_equal(mpki_apply(&m, (mpk_part)part, 1, one, n, one, n), MPK_OK);
        mpki_apply_free(&m);
        double worst = 0, most = 0;
        for (int64_t i = 0; i < n; i++) {
            const double complex a = scalar_load(r.a.scalar, one, i),
                                 b = scalar_load(r.a.scalar, r.x, i);
            worst = fmax(worst, cabs(a - b)), most = fmax(most, cabs(a));
        }
        mpk_factor_info info;
        mpk_factor_info_get(r.fac, &info);
        if (!(worst <= 1e-9 * most)) fail_msg("%s: differs by %g", families[k], worst / most);
        free(x), free(one);
        end(&r);
        mpk_context_destroy(&ctx);
    }
}

/* The host waits at the end of a stage alone, with and without a trace; this has the machine's own
 * spans, of every call. */
static void test_waits(void **unused) {
    (void)unused;
    for (int traced = 0; traced < 2; traced++) {
        mpk_options o = complete();
        o.stages = 0;
        o.block = 8;
        mpk_context *ctx = with_device();
        if (traced) assert_int_equal(mpki_trace_start(ctx, 100000), MPK_OK);
        can_do(&o);
        assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
        run r = go(ctx, "random 150 0.03 0.3", &o);
        assert_false(mpk_failed(r.status));
        mpk_block_info info;
        mpk_accelerator_report seen = {.struct_size = sizeof seen};
        mpk_factor_block_info_get(r.fac, &info);
        assert_int_equal(mpk_accelerator_report_get(ctx, &seen), MPK_OK);
        assert_int_equal(seen.waits, info.stages);
        int64_t calls = 0, spans = 0;
        for (int k = 0; k < 6; k++) calls += seen.calls[k];
        const mpki_trace *t = mpki_trace_of(ctx);
        for (int64_t k = 0; t && k < t->count; k++) spans += t->span[k].lane == MPKI_LANE_MACHINE;
        assert_int_equal(spans, traced ? calls : 0);
        end(&r);
        mpk_context_destroy(&ctx);
    }
}

/* No kernel pivots without pairs: a table that says so is refused, not taken at its word; LLT asks
 * for no pairs. */
static void test_without_pairs(void **unused) {
    (void)unused;
    for (int type = 0; type < 3; type++) {
        mpk_options o = complete();
        o.block = 8;
        o.factor_type = (mpk_factor_type)type;
        mpk_context *ctx = with_device();
        table.pairs = 0;
        can_do(&o);
        assert_int_equal(o.pivoting, MPK_PIVOTING_COMPLETE);
        assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
        run r = go(ctx, "helmholtz 2d 12 0", &o);
        const char *text = "";
        mpk_last_error(ctx, NULL, NULL, &text);
        if (type == MPK_TYPE_LDLT) {
            assert_int_equal(r.status, MPK_ERR_UNSUPPORTED);
            assert_non_null(strstr(text, "without pairs"));
        } else {
            assert_false(mpk_failed(r.status));
            assert_true(residual(ctx, &r) <= 1e-10);
        }
        end(&r);
        mpk_context_destroy(&ctx);
    }
}

static int64_t calls_of(const mpk_context *ctx) {
    mpk_accelerator_report seen = {.struct_size = sizeof seen};
    int64_t calls = 0;
    assert_int_equal(mpk_accelerator_report_get(ctx, &seen), MPK_OK);
    for (int k = 0; k < 6; k++) calls += seen.calls[k];
    return calls;
}

/* The machine's clock runs while there is a trace: what was queued without one, or in a stage that
 * failed, is in no later trace. */
static void test_clock(void **unused) {
    (void)unused;
    enum { TRACED, UNTRACED, FAILING, AGAIN, RUNS };
    mpk_options o = complete();
    o.stages = 0;
    o.block = 8;
    mpk_context *ctx = with_device();
    can_do(&o);
    assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
    for (int which = 0; which < RUNS; which++) {
        if (which == FAILING && device_is_real()) continue;
        const int64_t before = calls_of(ctx);
        if (which != UNTRACED) assert_int_equal(mpki_trace_start(ctx, 100000), MPK_OK);
        if (which == FAILING) setenv("METAPACK_CUDA_HOST_FAIL", "20", 1);
        run r = go(ctx, "random 150 0.03 0.3", &o);
        unsetenv("METAPACK_CUDA_HOST_FAIL");
        assert_int_equal(mpk_failed(r.status), which == FAILING);
        int64_t spans = 0;
        double least = INFINITY;
        const mpki_trace *t = mpki_trace_of(ctx);
        for (int64_t k = 0; t && k < t->count; k++) {
            if (t->span[k].lane != MPKI_LANE_MACHINE) continue;
            spans++;
            least = fmin(least, t->span[k].begin_s);
        }
        if (which == TRACED || which == AGAIN) {
            assert_int_equal(spans, calls_of(ctx) - before);
            if (device_is_real()) assert_true(least >= t->start_s);
        } else {
            assert_int_equal(spans, 0);
        }
        mpk_accelerator_span some[4]; /* nothing is left to be told */
        assert_int_equal(table.spans(table.self, 4, some), 0);
        end(&r);
        mpki_trace_stop(ctx);
    }
    mpk_context_destroy(&ctx);
}

/* Bytes of the host module's "device" that are in use. */
static int64_t memory_held(void) {
    int64_t held = 0;
#ifdef METAPACK_CUDA_HOST
    int64_t refused = 0;
    void (*memory)(int64_t * held, int64_t * refused) = NULL;
    void *module = dlopen(METAPACK_CUDA_HOST, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(module);
    *(void **)&memory = dlsym(module, "host_device_memory");
    assert_non_null(*(void **)&memory);
    memory(&held, &refused);
    dlclose(module);
#endif
    return held;
}

/* Memory of the device ends, or a kernel fails: that is told, and nothing is kept there. */
static void test_failures(void **unused) {
    (void)unused;
    int failures = 0;
    if (device_is_real()) return;
    assert_int_equal(memory_held(), 0);
    for (int k = 1; k < 400; k += 1 + k / 4) {
        static const char *const what[] = {"METAPACK_CUDA_HOST_FULL", "METAPACK_CUDA_HOST_FAIL"};
        char at[16];
        mpk_options o = complete();
        o.block = 8;
        mpk_context *ctx = with_device();
        can_do(&o);
        assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
        snprintf(at, sizeof at, "%d", k / 2 + 1);
        setenv(what[k % 2], at, 1);
        run r = {0};
        assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 2", 3, &r.problem), MPK_OK);
        mpk_problem_view_get(r.problem, &r.a);
        assert_true(mpk_analyse(ctx, r.problem, &o, &r.an) >= 0);
        r.status = mpk_factorize(ctx, r.an, r.a.ax, &o, &r.fac);
        unsetenv(what[k % 2]);
        const char *text = "";
        mpk_last_error(ctx, NULL, NULL, &text);
        if (mpk_failed(r.status)) {
            assert_true(r.status == MPK_ERR_MEMORY || r.status == MPK_ERR_DEVICE);
            assert_true(*text);
            failures++;
        }
        end(&r);
        mpk_context_destroy(&ctx);
        assert_int_equal(memory_held(), 0);
    }
    assert_true(failures > 5);
}

int main(void) {
    if (device_lacks(DEVICE_ANY)) return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_forms),         cmocka_unit_test(test_dropping),
        cmocka_unit_test(test_solves),        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_without_pairs), cmocka_unit_test(test_clock),
        cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
