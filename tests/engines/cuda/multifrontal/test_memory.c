/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine of a device where memory ends: allocations of the host that fail, limits,
 * a full device. */
#include "support.h"

#include "device_multifrontal.h"

/* Factorize and solve; whatever fails, nothing is lost. */
static mpk_status attempt(const mpk_allocator *allocator, const char *spec, const mpk_options *o,
                          char *said, size_t size) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    const char *text = "";
    mpk_status status = mpk_context_create(allocator, &ctx);
    if (mpk_failed(status)) return status;
    if (!mpki_cuda_keep(ctx, 0)) {
        status = mpk_last_error(ctx, NULL, NULL, NULL);
        mpk_context_destroy(&ctx);
        return status;
    }
    mpki_engine_use(ctx, &direct_engine);
    status = mpk_problem_generate(ctx, spec, 1, &problem);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, o, &fac);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(problem, &a);
        double *x = calloc((size_t)a.n + 1, sizeof *x);
        x[0] = 1;
        status = mpk_solve(ctx, fac, 1, x, a.n, x, a.n, o, NULL);
        double logdet[3];
        if (!mpk_failed(status)) status = mpk_get(ctx, fac, MPK_GET_LOGDET, logdet, sizeof logdet);
        free(x);
    }
    mpk_last_error(ctx, NULL, NULL, &text);
    if (said) snprintf(said, size, "%s", text);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return status;
}

static void test_memory(void **unused) {
    (void)unused;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.condition = MPK_ON; /* through the host, which nobody stands in for (else: test_refine.c) */
    bool done = false;
    for (int64_t k = 1; !done; k++) {
        failing f = {.fail_at = k};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        const mpk_status status = attempt(&allocator, "nlpkkt 2", &o, NULL, 0);
        done = f.calls < k;
        assert_int_equal(status, done ? MPK_OK : MPK_ERR_MEMORY);
        assert_int_equal(f.held, 0);
        assert_true(k < 5000);
    }
}

/* A limit is held, and both numbers are told; so is what the device has. */
static void test_device_memory(void **unused) {
    (void)unused;
    char said[300];
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.device_memory_limit = 1000;
    assert_int_equal(attempt(NULL, "nlpkkt 3", &o, said, sizeof said), MPK_ERR_MEMORY);
    assert_non_null(strstr(said, "device_memory_limit allows 1000"));
    o.device_memory_limit = 1e9;
    assert_int_equal(attempt(NULL, "nlpkkt 3", &o, said, sizeof said), MPK_OK);
    o.device_memory_limit = 0;
    if (device_is_real()) return;
    bool done = false;
    for (int64_t limit = 1000; !done;
         limit *= 2) { /* one piece of the device's memory after another */
        char text[40];
        snprintf(text, sizeof text, "%lld", (long long)limit);
        setenv("METAPACK_CUDA_HOST_LIMIT", text, 1);
        const mpk_status status = attempt(NULL, "nlpkkt 3", &o, said, sizeof said);
        done = status == MPK_OK;
        if (!done) assert_int_equal(status, MPK_ERR_MEMORY);
        assert_true(limit < (int64_t)1 << 34);
    }
    unsetenv("METAPACK_CUDA_HOST_LIMIT");
}

/* Can a solver for so many right-hand sides be made inside a limit? */
static bool fits(mpk_context *ctx, mpki_direct *f, int64_t limit, int32_t columns) {
    mpki_direct_solver *s = NULL;
    f->limit = (double)limit;
    mpki_clear_error(ctx);
    mpki_cuda_direct_drop_spare(f);
    const mpk_status status = mpki_cuda_direct.solver_make(ctx, f, 1, columns, &s);
    if (status != MPK_OK) assert_int_equal(status, MPK_ERR_MEMORY);
    mpki_cuda_direct.solver_free(&s);
    mpki_cuda_direct_drop_spare(f);
    return status == MPK_OK;
}

/* Sheets of right-hand sides that a limit leaves no room for go one after the other: the solutions
 * are those of sheets side by side. One byte less, and there is no solver. */
static void test_one_sheet(void **unused) {
    (void)unused;
    enum { K = 21 };
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.refine = 0;
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 3", 1, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    mpki_direct *f = fac->direct;
    int64_t fails = f->memory_bytes, least = f->memory_bytes + ((int64_t)1 << 26);
    while (least - fails > 1) {
        const int64_t middle = fails + (least - fails) / 2;
        *(fits(ctx, f, middle, MPKI_CUDA_RHS) ? &least : &fails) = middle; /* of one sheet */
    }
    const size_t all = (size_t)a.n * K;
    const double limits[] = {0, (double)least, (double)(least - 1)};
    double *b = malloc(all * sizeof *b), *x[3];
    assert_non_null(b);
    for (size_t k = 0; k < all; k++) b[k] = uniform();
    for (int way = 0; way < 3; way++) {
        x[way] = calloc(all, sizeof *b);
        assert_non_null(x[way]);
        f->limit = limits[way];
        assert_int_equal(mpk_solve(ctx, fac, K, b, a.n, x[way], a.n, &o, NULL),
                         way == 2 ? MPK_ERR_MEMORY : MPK_OK);
        mpki_cuda_direct_drop_spare(f);
    }
    for (size_t k = 0; k < all; k++)
        assert_true(fabs(x[0][k] - x[1][k]) <= (device_is_real() ? 1e-9 : 0) * fabs(x[0][k]));
    for (int way = 0; way < 3; way++) free(x[way]);
    free(b);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* What vectors of many right-hand sides take is nobody's after their solves, refined or not. */
static void test_many_sides(void **unused) {
    enum { SIDES = 64 };
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    mpk_factor_info one, many;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 48 0.3", 1, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    const int64_t n = a.n, bytes = n * SIDES * (int64_t)sizeof(double);
    double *b = malloc((size_t)bytes);
    assert_non_null(b);
    for (int64_t i = 0; i < n * SIDES; i++) b[i] = 1 + (double)(i % 7);
    void *db = NULL, *dx = NULL;
    assert_int_equal(mpk_device_alloc(ctx, 0, bytes, &db), MPK_OK);
    assert_int_equal(mpk_device_alloc(ctx, 0, bytes, &dx), MPK_OK);
    assert_int_equal(mpk_device_copy(ctx, 0, db, bytes, b, bytes, bytes, 1), MPK_OK);
    assert_int_equal(mpk_solve(ctx, fac, 1, db, n, dx, n, &o, NULL), MPK_OK);
    mpk_factor_info_get(fac, &one);
    assert_int_equal(mpk_solve(ctx, fac, SIDES, db, n, dx, n, &o, NULL), MPK_OK);
    mpk_factor_info_get(fac, &many);
    /* arrays of less than MPKI_CUDA_KEPT stay */
    if (many.bytes > one.bytes + bytes / 2)
        fail_msg("%lld bytes, %lld after one", (long long)many.bytes, (long long)one.bytes);
    assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, SIDES, dx, n), MPK_OK);
    mpk_factor_info_get(fac, &many);
    assert_true(many.bytes <= one.bytes + bytes / 2);
    assert_int_equal(mpk_device_free(ctx, 0, &db), MPK_OK);
    assert_int_equal(mpk_device_free(ctx, 0, &dx), MPK_OK);
    free(b);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), cmocka_unit_test(test_many_sides),
        cmocka_unit_test(test_device_memory), cmocka_unit_test(test_one_sheet)};
    if (device_lacks(DEVICE_DIRECT)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
