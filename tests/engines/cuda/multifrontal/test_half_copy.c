/* SPDX-License-Identifier: BSD-3-Clause */
/* Corrections of refined solves on a device that read L in half the precision: the answer is as
 * good as without, has the same bits in each run, and a bad copy, an old one or none at all costs
 * steps at most. */
#include "support.h"

#include "engines/cuda/multifrontal/solve/lists.h"
#include "engines/cuda/module/engine.h"
#include "factor/factor.h"
#include "../device_there.h"
#include <metapack/metapack.h>

typedef struct system_ {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options o;
    mpk_problem_view a;
    size_t bytes;     /* of a vector */
    char *b, *x;      /* host */
    void *there, *to; /* device */
    mpk_solve_info info;
} system_;

/* shared: bytes that a block may have on the host: by that there are large fronts, beside such as
 * are cut into several */
static void open_system(system_ *s, const char *what, double accuracy, const char *shared) {
    *s = (system_){0};
    if (!device_is_real()) setenv("METAPACK_CUDA_HOST_SHARED", shared, 1);
    mpk_options_init(&s->o);
    s->o.method = MPK_METHOD_LDLT;
    s->o.device = MPK_ON_CUDA;
    s->o.accuracy = accuracy;
    assert_int_equal(mpk_context_create(NULL, &s->ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(s->ctx, what, 1, &s->problem), MPK_OK);
    assert_int_equal(mpk_analyse(s->ctx, s->problem, &s->o, &s->an), MPK_OK);
    assert_int_equal(mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->fac), MPK_OK);
    /* the second one's tree may be another, by what the first has seen; then it stays */
    assert_int_equal(mpk_refactorize(s->ctx, NULL, &s->o, s->fac), MPK_OK);
    mpk_problem_view_get(s->problem, &s->a);
    s->bytes = (size_t)s->a.n * mpk_scalar_size(s->a.scalar);
    s->b = calloc(s->bytes, 1), s->x = calloc(s->bytes, 1);
    assert_true(s->b && s->x);
    for (int32_t k = 0; k < s->a.n; k++) scalar_store(s->a.scalar, s->b, k, 1 + k % 5);
    assert_int_equal(mpk_device_alloc(s->ctx, 0, (int64_t)s->bytes, &s->there), MPK_OK);
    assert_int_equal(mpk_device_alloc(s->ctx, 0, (int64_t)s->bytes, &s->to), MPK_OK);
    assert_int_equal(mpk_device_copy(s->ctx, 0, s->there, 0, s->b, 0, (int64_t)s->bytes, 1),
                     MPK_OK);
}

static void close_system(system_ *s) {
    assert_int_equal(mpk_device_free(s->ctx, 0, &s->there), MPK_OK);
    assert_int_equal(mpk_device_free(s->ctx, 0, &s->to), MPK_OK);
    free(s->b), free(s->x);
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

/* x of a solve, and s->info. */
static void solve(system_ *s, char *x) {
    const int32_t n = s->a.n;
    assert_false(mpk_failed(mpk_solve(s->ctx, s->fac, 1, s->there, n, s->to, n, &s->o, &s->info)));
    assert_int_equal(mpk_device_copy(s->ctx, 0, x, 0, s->to, 0, (int64_t)s->bytes, 1), MPK_OK);
}

static mpki_direct *direct_of(const system_ *s) {
    return s->fac->direct;
}
static bool half_copied(const system_ *s) {
    return atomic_load(&direct_of(s)->half_copied);
}
/* From which size of chains on. */
static void ask_for(const system_ *s, int64_t entries) {
    direct_of(s)->half_copy_least = entries;
}

static double largest_difference(const system_ *s, const char *x, const char *y) {
    double most = 0, size = 0;
    for (int32_t k = 0; k < s->a.n; k++) {
        const double complex p = scalar_load(s->a.scalar, x, k), q = scalar_load(s->a.scalar, y, k);
        most = fmax(most, cabs(p - q)), size = fmax(size, cabs(q));
    }
    return most / size;
}

static const struct {
    const char *matrix, *shared;
} CASES[] = {{"lin 10 10 10", "60000"},
             {"lin 12 12 12", "80000"},
             {"nlpkkt 7", "60000"},
             {"helmholtz 3d 10 0.3 absorbing", "120000"}};
/* Where the copy lies, and its bytes; NULL: there is no memory for it. */
static char *copy_of(const system_ *s, int64_t *bytes) {
    const mpki_direct *f = direct_of(s);
    const int64_t size = (int64_t)mpk_scalar_size(s->a.scalar);
    mpki_cuda_sweep_lists l;
    assert_int_equal(mpki_cuda_sweep_lists_make(s->ctx, f, &l), MPK_OK);
    const int64_t before = (int64_t)l.squares * MPKI_FRONT_STRIP * MPKI_FRONT_STRIP * size;
    *bytes = l.half_copy * size / 2;
    mpki_cuda_sweep_lists_free(s->ctx, &l);
    return before + *bytes <= f->idle_bytes ? f->idle + before : NULL;
}

static void test_answers(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        system_ s;
        int64_t bytes;
        /* so small that a step is taken in any case, and more than one where it is not reached */
        open_system(&s, CASES[k].matrix, 1e-17, CASES[k].shared);
        const bool fits = copy_of(&s, &bytes) != NULL;
        assert_true(fits || device_is_real());
        char *x = malloc(s.bytes), *y = malloc(s.bytes);
        assert_true(x && y);
        solve(&s, x);
        assert_false(half_copied(&s)); /* it is too small for that */
        ask_for(&s, 1);                /* and lists that know of it */
        mpki_cuda_direct_drop_spare(direct_of(&s));
        solve(&s, y); /* reads of L what copies will have */
        assert_false(half_copied(&s));
        assert_true(s.info.iterations >= 1 && s.info.componentwise <= 1e-15);
        assert_true(largest_difference(&s, y, x) <= 1e-12);
        for (int again = 0; again < 2;
             again++) { /* the third makes the copies, the fourth reads them */
            for (int run = again ? 0 : 1; run < 4; run++) {
                solve(&s, x);
                assert_int_equal(half_copied(&s), fits && run >= 2);
                assert_memory_equal(x, y, s.bytes);
            }
            assert_false(mpk_failed(mpk_refactorize(s.ctx, NULL, &s.o, s.fac)));
            assert_false(half_copied(&s));
        }
        free(x), free(y);
        close_system(&s);
    }
}

/* One step in half the precision is enough where one in double is; where none is taken nothing is
 * made. */
static void test_steps(void **unused) {
    (void)unused;
    system_ s;
    open_system(&s, "lin 10 10 10", -1, "60000");
    ask_for(&s, 1);
    for (int k = 0; k < 3; k++) solve(&s, s.x);
    assert_true(half_copied(&s));
    assert_true(s.info.unrefined > 1e-14 && s.info.componentwise <= 1e-15);
    assert_int_equal(s.info.iterations, 1);
    close_system(&s);
    open_system(&s, "nlpkkt 6", 1e-8, "60000");
    ask_for(&s, 1);
    solve(&s, s.x);
    assert_int_equal(s.info.iterations, 0);
    assert_false(half_copied(&s));
    close_system(&s);
}

/* A copy that is of no use: the step makes the answer worse or no better, and those that follow
 * read L itself; or it ends so far from the answer that the host takes over. */
static void test_bad_copy(void **unused) {
    (void)unused;
    const float values[] = {0, 1e3F, 3e38F};
    for (int k = 0; k < 3; k++) {
        system_ s;
        int64_t bytes;
        open_system(&s, "lin 10 10 10", -1, "60000");
        ask_for(&s, 1);
        for (int run = 0; run < 3; run++) solve(&s, s.x);
        char *at = copy_of(&s, &bytes), *x = malloc(s.bytes);
        float *bad = malloc((size_t)bytes);
        assert_true(bad && x && bytes > 0);
        for (int64_t i = 0; i < bytes / 4; i++) bad[i] = values[k];
        const mpki_device *d = mpki_cuda_kept(s.ctx);
        assert_int_equal(d->table->direct->copy(d->cuda, at, bad, bytes, 1), MPK_OK);
        solve(&s, x);
        assert_true(s.info.iterations >= (k < 2 ? 2 : 1));
        assert_true(s.info.componentwise <= 1e-15);
        assert_true(largest_difference(&s, x, s.x) <= 1e-12);
        free(x), free(bad);
        close_system(&s);
    }
}

/* New values make a new copy. */
static void test_new_values(void **unused) {
    (void)unused;
    system_ s;
    open_system(&s, "lin 10 10 10", -1, "60000");
    double *ax = malloc((size_t)s.a.nnz * sizeof *ax);
    char *x = malloc(s.bytes);
    assert_true(ax && x);
    ask_for(&s, 1);
    for (int k = 0; k < 3; k++) solve(&s, x);
    assert_true(half_copied(&s));
    for (int64_t k = 0; k < s.a.nnz; k++) ax[k] = ((const double *)s.a.ax)[k] * (k % 3 ? 1 : 1.5);
    assert_false(mpk_failed(mpk_refactorize(s.ctx, ax, &s.o, s.fac)));
    for (int k = 0; k < 3; k++) {
        solve(&s, s.x);
        assert_int_equal(half_copied(&s), k == 2);
        assert_int_equal(s.info.iterations, 1);
        assert_true(s.info.componentwise <= 1e-15);
        assert_true(largest_difference(&s, s.x, x) > 1e-3);
    }
    free(ax), free(x);
    close_system(&s);
}

/* Where contributions had less memory than it takes there is none. */
static void test_no_memory(void **unused) {
    (void)unused;
    system_ s;
    int64_t bytes;
    open_system(&s, "lin 10 10 10", -1, "60000");
    ask_for(&s, 1);
    const char *at = copy_of(&s, &bytes), *idle = direct_of(&s)->idle;
    assert_true(at && at > idle);
    direct_of(&s)->idle_bytes = at + bytes - idle - 1;
    for (int k = 0; k < 3; k++) solve(&s, s.x);
    assert_false(half_copied(&s));
    assert_true(s.info.iterations == 1 && s.info.componentwise <= 1e-15);
    close_system(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_steps),
        cmocka_unit_test(test_bad_copy),  cmocka_unit_test(test_new_values),
        cmocka_unit_test(test_no_memory),
    };
    return device_has(DEVICE_DIRECT) ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
