/* SPDX-License-Identifier: BSD-3-Clause */
/* A call is stopped at the k-th time that it asks, for many k, through all methods: the status says
 * so, nothing is lost, a new object stays NULL, an old factor holds nothing, b is as it was, and
 * the same call succeeds afterwards. And the processor's time between two questions is short. */
#include "support.h"
#include "core/core.h"

#include "../sanitized.h" /* there is no bound on times then */

#include <time.h>

static const double LONGEST_S = 0.35; /* of one thread's time; most are below 0.1 */

typedef struct listener {
    int64_t asked, stop_at; /* 0: never */
    bool once;              /* says so once, and not again */
    double last_s, longest_s;
    char where[40];
} listener;

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void look(listener *l, const char *where) {
    const double now = cpu_s();
    if (now - l->last_s > l->longest_s) {
        l->longest_s = now - l->last_s;
        snprintf(l->where, sizeof l->where, "%s", where);
    }
    l->last_s = now;
}

static int told(const char *stage, double fraction, void *user) {
    listener *l = user;
    assert_true(fraction >= 0 && fraction <= 1);
    look(l, stage);
    l->asked++;
    return l->stop_at && (l->once ? l->asked == l->stop_at : l->asked >= l->stop_at);
}

typedef struct world {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_options o;
    mpk_analysis *an;
    mpk_factor *fac;
    double *b, *x;
    listener l;
} world;

static mpk_status generate(world *w, const char *spec) {
    mpk_problem *made = NULL;
    mpk_status status = mpk_problem_generate(w->ctx, spec, 1, &made);
    assert_true(mpk_failed(status) == !made);
    mpk_problem_destroy(&made);
    return status;
}

static mpk_status analyse(world *w, const char *spec) {
    (void)spec;
    mpk_analysis *an = NULL;
    mpk_status status = mpk_analyse(w->ctx, w->problem, &w->o, &an);
    assert_true(mpk_failed(status) == !an);
    mpk_analysis_destroy(&an);
    return status;
}

static mpk_status factorize(world *w, const char *spec) {
    (void)spec;
    mpk_factor *fac = NULL;
    mpk_status status = mpk_factorize(w->ctx, w->an, NULL, &w->o, &fac);
    assert_true(mpk_failed(status) == !fac);
    mpk_factor_destroy(&fac);
    return status;
}

static mpk_status refactorize(world *w, const char *spec) {
    (void)spec;
    mpk_status status = mpk_refactorize(w->ctx, w->a.ax, &w->o, w->fac);
    if (mpk_failed(status))
        assert_int_equal(mpk_solve(w->ctx, w->fac, 1, w->b, w->a.n, w->x, w->a.n, &w->o, NULL),
                         MPK_ERR_ARGUMENT);
    return status;
}

enum { RHS = 9 };

static mpk_status solve(world *w, const char *spec) {
    (void)spec;
    const size_t count = (size_t)w->a.n * RHS;
    for (size_t k = 0; k < count; k++) w->b[k] = w->x[k] = 1 + (double)(k % 3);
    mpk_status status = mpk_solve(w->ctx, w->fac, RHS, w->x, w->a.n, w->x, w->a.n, &w->o, NULL);
    if (status == MPK_ERR_CANCELLED) assert_memory_equal(w->b, w->x, count * sizeof *w->b);
    return status;
}

static mpk_status adaptively(world *w, const char *spec) {
    (void)spec;
    mpk_adaptive result;
    for (int32_t k = 0; k < w->a.n; k++) w->b[k] = w->x[k] = 1 + k % 3;
    mpk_status status = mpk_solve_adaptive(w->ctx, w->problem, &w->o, 1, w->x, w->a.n, w->x, w->a.n,
                                           NULL, 0, NULL, &result);
    if (status == MPK_ERR_CANCELLED) assert_memory_equal(w->b, w->x, (size_t)w->a.n * sizeof *w->b);
    mpk_adaptive_clear(&result);
    return status;
}

/* One call, stopped at its k-th question for k = 1, 3, 9 .. */
static void stop_at_each(world *w, mpk_status (*call)(world *, const char *), const char *spec,
                         const char *name) {
    int64_t before, after;
    mpk_status status = call(w, spec); /* threads, and blocks for the next call */
    assert_false(mpk_failed(status));
    w->l = (listener){.last_s = cpu_s()};
    status = call(w, spec);
    look(&w->l, "the end");
    /* of one thread, or this one's clock says nothing */
    if (!TEST_SANITIZED && w->o.threads == 1 && !(w->l.longest_s <= LONGEST_S))
        fail_msg("%s: %.2f s until %s, without a question", name, w->l.longest_s, w->l.where);
    const int64_t asked = w->l.asked;
    mpk_memory_usage(w->ctx, &before, NULL);
    for (int64_t k = 1; k <= asked; k *= TEST_SANITIZED ? 100 : 3) {
        w->l = (listener){.stop_at = k, .once = k % 4 == 1};
        status = call(w, spec);
        if (w->l.asked < k) continue; /* the clock had a part in how often it is asked */
        const char *text;
        if (status != MPK_ERR_CANCELLED) {
            mpk_last_error(w->ctx, NULL, NULL, &text);
            /* the last question of a call comes when all is done */
            if (mpk_failed(status) || w->l.asked > k + 1)
                fail_msg("%s, stopped at question %lld of %lld: %s: %s", name, (long long)k,
                         (long long)asked, mpk_status_name(status), text);
        }
        mpk_memory_usage(w->ctx, &after, NULL);
        if (call != refactorize && before != after)
            fail_msg("%s, stopped at question %lld of %lld: %lld bytes became %lld", name,
                     (long long)k, (long long)asked, (long long)before, (long long)after);
    }
    w->l = (listener){0};
    assert_false(mpk_failed(call(w, spec)));
    mpk_memory_usage(w->ctx, &after, NULL);
    assert_true(after <= before); /* what a factor keeps for the next values may be gone */
}

typedef struct trial {
    const char *spec, *options; /* key=value, separated by blanks */
} trial;

static void set_options(world *w, const char *words) {
    char copy[200];
    snprintf(copy, sizeof copy, "%s", words);
    for (char *rest = NULL, *word = strtok_r(copy, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        assert_int_equal(mpk_options_set(w->ctx, &w->o, word, value), MPK_OK);
    }
}

static void run(const trial *t) {
    world w = {0};
    char name[300];
    snprintf(name, sizeof name, "%s, %s", t->spec, t->options);
    assert_int_equal(mpk_context_create(NULL, &w.ctx), MPK_OK);
    mpki_progress_each(w.ctx, 0);
    mpk_context_set_progress(w.ctx, told, &w.l);
    mpk_options_init(&w.o);
    set_options(&w, t->options);
    stop_at_each(&w, generate, t->spec, name);
    assert_int_equal(mpk_problem_generate(w.ctx, t->spec, 1, &w.problem), MPK_OK);
    mpk_problem_view_get(w.problem, &w.a);
    w.b = malloc((size_t)w.a.n * RHS * sizeof *w.b);
    w.x = malloc((size_t)w.a.n * RHS * sizeof *w.x);
    assert_true(w.b && w.x);
    if (w.o.method == MPK_METHOD_AUTO && w.a.symmetry == MPK_SYMMETRIC) {
        stop_at_each(&w, adaptively, NULL, name);
    } else {
        stop_at_each(&w, analyse, NULL, name);
        assert_false(mpk_failed(mpk_analyse(w.ctx, w.problem, &w.o, &w.an)));
        stop_at_each(&w, factorize, NULL, name);
        assert_false(mpk_failed(mpk_factorize(w.ctx, w.an, NULL, &w.o, &w.fac)));
        stop_at_each(&w, solve, NULL, name);
        stop_at_each(&w, refactorize, NULL, name);
    }
    mpk_factor_destroy(&w.fac);
    mpk_analysis_destroy(&w.an);
    mpk_problem_destroy(&w.problem);
    int64_t held;
    mpk_memory_usage(w.ctx, &held, NULL);
    assert_true(held < 1 << 20); /* its threads */
    mpk_context_destroy(&w.ctx);
    free(w.b);
    free(w.x);
}

static void test_direct(void **state) {
    static const trial trials[] = {
        {TEST_SANITIZED ? "helmholtz 2d 24 0.3" : "helmholtz 2d 60 0.3", "method=ldlt threads=1"},
        {TEST_SANITIZED ? "nlpkkt 3" : "nlpkkt 5", "method=ldlt threads=2 matching=on"},
        {TEST_SANITIZED ? "random 150 0.9" : "random 400 0.9",
         "method=ldlt threads=2 ordering=amd"},
        {TEST_SANITIZED ? "helmholtz 3d 6 0.3" : "helmholtz 3d 10 0.3",
         "method=ldlt threads=1 ordering=nd"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof trials / sizeof *trials; k++) run(&trials[k]);
}

static void test_on_blocks(void **state) {
    static const trial trials[] = {
        {TEST_SANITIZED ? "helmholtz 2d 16 0.3" : "helmholtz 2d 30 0.3",
         "method=ildlt threads=1 level=2"},
        {TEST_SANITIZED ? "helmholtz 3d 5 0.3" : "helmholtz 3d 8 0.3",
         "method=ildlt threads=2 level=-1 fill_factor=0 drop_tolerance=0"},
        {TEST_SANITIZED ? "helmholtz 2d 16 0.3" : "helmholtz 2d 30 0.3",
         "method=ildlt threads=1 ordering=rcm triangular=isai"},
        {"convection 7 rows=shuffled",
         "method=ildlt threads=1 factor_type=ldu level=-1 fill_factor=0 drop_tolerance=0"},
        {TEST_SANITIZED ? "helmholtz 2d 16 0.3" : "helmholtz 2d 30 0.3",
         "method=auto direct=off threads=1"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof trials / sizeof *trials; k++) run(&trials[k]);
}

/* ---- one dense matrix, and many ---- */

static void test_dense(void **state) {
    enum { N = 300 };
    static const mpk_dense_method methods[] = {MPK_DENSE_AUTO,  MPK_DENSE_TILE,
                                               MPK_DENSE_ROOK,  MPK_DENSE_BUNCH_KAUFMAN,
                                               MPK_DENSE_AASEN, MPK_DENSE_BUTTERFLY};
    (void)state;
    double *a = malloc(sizeof *a * N * N), *f = malloc(sizeof *f * N * N);
    double *b = malloc(sizeof *b * N * 4), *x = malloc(sizeof *x * N * 4);
    assert_true(a && f && b && x);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            a[i + j * N] = sin(1 + 0.7 * (i > j ? i * 911 + j : j * 911 + i));
    for (int k = 0; k < 4 * N; k++) b[k] = 1 + k % 5;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        mpk_context *ctx = NULL;
        listener l = {0};
        mpk_dense d;
        mpk_dense_init(&d);
        d.scalar = MPK_D, d.n = N, d.method = methods[m], d.threads = 1 + m % 2;
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        mpki_progress_each(ctx, 0);
        mpk_context_set_progress(ctx, told, &l);
        mpk_dense_sizes sizes;
        assert_int_equal(mpk_dense_query(ctx, &d, 4, &sizes), MPK_OK);
        int32_t *pivots = malloc(sizeof *pivots * (size_t)sizes.pivots);
        void *extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
        assert_true(pivots && extra);
        int64_t asked = 0, before = -1, now;
        for (int64_t k = 0; k <= asked;
             k += 1 + (TEST_SANITIZED ? 5 : 1) * k) { /* first not at all */
            mpk_dense_factor g = {.struct_size = sizeof g, .f = f, .ldf = N, .pivots = pivots};
            g.extra = extra;
            l = (listener){.stop_at = k, .once = k % 2, .last_s = cpu_s()};
            mpk_status status = mpk_dense_sysv(ctx, &d, a, N, &g, 4, b, N, x, N, NULL, 0, NULL);
            mpk_memory_usage(ctx, &now, NULL);
            const char *text;
            mpk_last_error(ctx, NULL, NULL, &text);
            if (k == 0 && status) fail_msg("%s", text);
            if (k == 0) {
                assert_int_equal(status, MPK_OK);
                asked = l.asked, before = now;
                assert_true(asked > 3);
            } else if (l.asked >= k) {
                assert_int_equal(status, MPK_ERR_CANCELLED);
            }
            assert_int_equal(now, before);
        }
        free(pivots);
        free(extra);
        mpk_context_destroy(&ctx);
    }
    free(a);
    free(f);
    free(b);
    free(x);
}

static void test_batch(void **state) {
    enum { N = 16, COUNT = 3000 };
    mpk_context *ctx = NULL;
    listener l = {.stop_at = 1};
    mpk_batch batch;
    (void)state;
    double *a = malloc(sizeof *a * N * N * COUNT);
    int32_t *outcome = calloc(COUNT, sizeof *outcome), *pivots = calloc(COUNT * N, sizeof *pivots);
    assert_true(a && outcome && pivots);
    for (int k = 0; k < N * N * COUNT; k++) a[k] = k % (N * N) % (N + 1) ? 0.1 : 4;
    mpk_batch_init(&batch);
    batch.scalar = MPK_D, batch.count = COUNT, batch.n = N, batch.threads = 1;
    batch.pivoting = MPK_PIVOTING_PARTIAL;
    mpk_batch_array array = {.layout = MPK_BATCH_STRIDED, .data = a, .ld = N, .stride = N * N};
    mpk_batch_results results = {.outcome = outcome};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_progress_each(ctx, 0);
    mpk_context_set_progress(ctx, told, &l);
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &array, pivots, &results), MPK_ERR_CANCELLED);
    l = (listener){0};
    assert_false(mpk_failed(mpk_batch_ldlt(ctx, &batch, &array, pivots, &results)));
    assert_true(l.asked > 3);
    mpk_context_destroy(&ctx);
    free(a);
    free(outcome);
    free(pivots);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direct),
        cmocka_unit_test(test_on_blocks),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
