/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine of a device beside the processor's: on a GPU, or on the module that
 * computes on the host. */
#include "../support.h"

#include "backends/cuda/engine.h"
#include "backends/cuda/load.h"
#include "factor/factor.h"

static mpki_engine engine = {.memory = MPK_HOST,
                             .direct = &mpki_cuda_direct,
                             .blocks = &mpki_cpu_blocks,
                             .vectors = &mpki_cpu_vectors};

static const char *engine_name(const mpk_context *ctx) {
    (void)ctx;
    return "the device's direct engine";
}

static mpk_context *new_context(bool device) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    engine.name = engine_name;
    if (device) {
        assert_non_null(mpki_cuda_keep(ctx, 0));
        mpki_engine_use(ctx, &engine);
    }
    return ctx;
}

/* What one engine made of a matrix. */
typedef struct outcome {
    mpk_status status, solved;
    mpk_factor_info info;
    mpk_solve_info solve;
    double logdet[3];
    void *x; /* n x nrhs */
    int64_t bytes;
} outcome;

static void outcome_free(outcome *o) {
    free(o->x);
}

static outcome run(mpk_problem *(*make)(mpk_context *, const void *), const void *arg, bool device,
                   const mpk_options *options, int32_t nrhs) {
    outcome r = {0};
    mpk_context *ctx = new_context(device);
    mpk_problem *problem = make(ctx, arg);
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_non_null(problem);
    mpk_problem_view_get(problem, &a);
    const size_t size = mpk_scalar_size(a.scalar);
    assert_false(mpk_failed(mpk_analyse(ctx, problem, options, &an)));
    r.status = mpk_factorize(ctx, an, NULL, options, &fac);
    r.bytes = (int64_t)nrhs * a.n * (int64_t)size;
    if (!mpk_failed(r.status)) {
        mpk_factor_info_get(fac, &r.info);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, r.logdet, sizeof r.logdet), MPK_OK);
        r.x = calloc((size_t)r.bytes + 1, 1);
        support_state = 7;
        for (int64_t k = 0; k < (int64_t)nrhs * a.n; k++)
            scalar_store(a.scalar, r.x, k, uniform() + uniform() * I);
        r.solved = mpk_solve(ctx, fac, nrhs, r.x, a.n, r.x, a.n, options, &r.solve);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return r;
}

static bool single_precision(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* Both engines, twice the device's: statuses, counts, verdicts; the same bits. */
static void compare(const char *what, mpk_problem *(*make)(mpk_context *, const void *),
                    const void *arg, const mpk_options *options, int32_t nrhs) {
    outcome cpu = run(make, arg, false, options, nrhs), one = run(make, arg, true, options, nrhs);
    outcome two = run(make, arg, true, options, nrhs);
    const mpk_inertia *p = &cpu.info.inertia, *q = &one.info.inertia;
    if (cpu.status != one.status || one.status != two.status || cpu.solved != one.solved)
        fail_msg("%s: statuses %d %d on the processor, %d %d on the device", what, cpu.status,
                 cpu.solved, one.status, one.solved);
    if (p->positive != q->positive || p->negative != q->negative || p->zero != q->zero ||
        p->certified != q->certified)
        fail_msg("%s: inertia %lld %lld %lld (%d), on the device %lld %lld %lld (%d)", what,
                 (long long)p->positive, (long long)p->negative, (long long)p->zero, p->certified,
                 (long long)q->positive, (long long)q->negative, (long long)q->zero, q->certified);
    if (cpu.info.rank != one.info.rank || cpu.info.perturbed != one.info.perturbed)
        fail_msg("%s: rank %d %d, perturbed %lld %lld", what, cpu.info.rank, one.info.rank,
                 (long long)cpu.info.perturbed, (long long)one.info.perturbed);
    const double delays = fabs((double)(cpu.info.rejected - one.info.rejected));
    if (delays > 0.1 * (double)cpu.info.rejected + 3)
        fail_msg("%s: %lld delayed, on the device %lld", what, (long long)cpu.info.rejected,
                 (long long)one.info.rejected);
    if (fabs(cpu.logdet[0] - one.logdet[0]) > 1e-3 * fabs(cpu.logdet[0]) + 1e-2 && one.info.rank == 0)
        fail_msg("%s: log |det| %g, on the device %g", what, cpu.logdet[0], one.logdet[0]);
    if (!(one.solve.componentwise <= 1.01 * cpu.solve.componentwise) &&
        !(one.solve.componentwise <= fmax(options->accuracy, 1e-14)))
        fail_msg("%s: backward error %g, on the device %g", what, cpu.solve.componentwise,
                 one.solve.componentwise);
    assert_memory_equal(&one.info.inertia, &two.info.inertia, sizeof one.info.inertia);
    if (one.x) assert_memory_equal(one.x, two.x, (size_t)one.bytes);
    outcome_free(&cpu), outcome_free(&one), outcome_free(&two);
}

/* ---- generated matrices ---- */

static mpk_problem *generated(mpk_context *ctx, const void *arg) {
    mpk_problem *problem = NULL;
    const mpk_status status = mpk_problem_generate(ctx, arg, 3, &problem);
    if (status != MPK_OK) fail_msg("%s: %s", (const char *)arg, mpk_status_text(status));
    return problem;
}

static void test_generated(void **unused) {
    (void)unused;
    static const char *const spec[] = {"nlpkkt 3", "nlpkkt 5", "stokes mac 10", "optimal-control 40"};
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    for (size_t k = 0; k < sizeof spec / sizeof *spec; k++) compare(spec[k], generated, spec[k], &o, 1);
}

/* ---- families of small matrices, all scalars ---- */

typedef struct family {
    enum support_family kind;
    int n;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} family;

static mpk_problem *of_family(mpk_context *ctx, const void *arg) {
    const family *f = arg;
    support_state = 11;
    dense m = family_matrix(f->kind, f->n, f->scalar, f->symmetry);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
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

static bool device_there(void) {
    const char *must = getenv("METAPACK_TEST_DEVICE");
    mpk_context *ctx = NULL;
    if (mpk_context_create(NULL, &ctx) != MPK_OK) return false;
#ifdef METAPACK_CUDA_HOST
    if (!must || !*must) setenv("METAPACK_CUDA_MODULE", METAPACK_CUDA_HOST, 1);
#endif
    const mpki_device *d = mpki_cuda_open(ctx, 0);
    const bool there = d && d->table->direct;
    mpk_context_destroy(&ctx);
    return there;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_generated),
                                       cmocka_unit_test(test_families)};
    if (!device_there()) {
        print_message("no device, and no module that does without: nothing to test\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
