/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts share nothing: eight threads with one each, all at work on different matrices by
 * different methods, come to the bits of a serial run, round after round. And one analysis serves
 * the factors of several threads at once. */
#include "support.h"

#include <pthread.h>
#include <stdbool.h>

enum { WORKERS = 8, MOST_N = 400, ROUNDS = 2 };

/* What a worker does: all of it differs from its neighbours'. */
typedef struct task {
    const char *spec;
    mpk_method method;
    mpk_krylov krylov;
    mpk_ordering ordering;
    int threads;
} task;

static const task tasks[WORKERS] = {
    {"nlpkkt 3", MPK_METHOD_LDLT, MPK_KRYLOV_AUTO, MPK_ORDERING_AMD, 1},
    {"helmholtz 2d 15 0.3", MPK_METHOD_LDLT, MPK_KRYLOV_GMRES, MPK_ORDERING_ND, 2},
    {"stokes mac 8", MPK_METHOD_ILDLT, MPK_KRYLOV_SQMR, MPK_ORDERING_AUTO, 1},
    {"random 200 0.02 0.3 hermitian", MPK_METHOD_LDLT, MPK_KRYLOV_AUTO, MPK_ORDERING_METIS, 1},
    {"random 150 0.02 0.3 complex", MPK_METHOD_LDLT, MPK_KRYLOV_IDR, MPK_ORDERING_RCM, 2},
    {"quasi-definite 8", MPK_METHOD_JACOBI, MPK_KRYLOV_BICGSTAB, MPK_ORDERING_AUTO, 1},
    {"helmholtz 2d 18 0", MPK_METHOD_ILDLT, MPK_KRYLOV_CG, MPK_ORDERING_AUTO, 3},
    {"helmholtz 2d 19 0.3", MPK_METHOD_AUTO, MPK_KRYLOV_AUTO, MPK_ORDERING_SCOTCH, 1},
};

/* All that came of it, but for times. */
typedef struct outcome {
    mpk_status status[5];
    int32_t n, perm[MOST_N];
    mpk_inertia inertia;
    int64_t nnz;
    double complex x[2 * MOST_N], y[MOST_N];
    double componentwise;
    int32_t iterations, krylov_iterations;
    bool json_there;
} outcome;

/* A tridiagonal operator for the Krylov method on its own. */
static mpk_status tridiagonal(void *self, const void *x, void *y) {
    const int32_t n = *(int32_t *)self;
    const double *from = x;
    double *to = y;
    for (int32_t i = 0; i < n; i++)
        to[i] = (3 + i % 2) * from[i] - (i ? from[i - 1] : 0) - (i + 1 < n ? from[i + 1] : 0);
    return MPK_OK;
}

static void work(const task *t, outcome *o) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_report *report = NULL;
    mpk_adaptive adaptive = {0};
    mpk_problem_view a;
    mpk_options options;
    mpk_analysis_info ai;
    mpk_factor_info fi = {0};
    mpk_solve_info si = {0};
    double complex *b = calloc(2 * MOST_N, sizeof *b);
    memset(o, 0, sizeof *o);
    mpk_options_init(&options);
    options.method = t->method;
    options.krylov = t->krylov;
    options.ordering = t->ordering;
    options.threads = t->threads;
    o->status[0] = mpk_context_create(NULL, &ctx);
    if (!b || o->status[0]) goto done;
    o->status[0] = mpk_problem_generate(ctx, t->spec, 5, &problem);
    mpk_problem_view_get(problem, &a);
    o->n = a.n;
    if (o->status[0] || a.n > MOST_N) goto done;
    for (int k = 0; k < 2 * a.n; k++) scalar_store(a.scalar, b, k, k % 7 - 2.5);
    if (t->method == MPK_METHOD_AUTO) {
        o->status[1] = mpk_solve_adaptive(ctx, problem, &options, 2, b, a.n, o->x, a.n, NULL, 0,
                                          NULL, &adaptive);
        si = adaptive.solve;
        mpk_analysis_perm(adaptive.analysis, o->perm);
        mpk_factor_info_get(adaptive.factor, &fi);
    } else {
        o->status[1] = mpk_analyse(ctx, problem, &options, &an);
        if (o->status[1] < 0) goto done;
        mpk_analysis_perm(an, o->perm);
        o->status[2] = mpk_factorize(ctx, an, a.ax, &options, &fac);
        if (o->status[2] < 0) goto done;
        o->status[2] = mpk_refactorize(ctx, a.ax, &options, fac);
        mpk_factor_info_get(fac, &fi);
        o->status[3] = mpk_solve(ctx, fac, 2, b, a.n, o->x, a.n, &options, &si);
    }
    o->inertia = fi.inertia;
    o->nnz = fi.nnz;
    o->componentwise = si.componentwise;
    o->iterations = si.iterations;
    int32_t n = 100;
    mpk_krylov_task task;
    mpk_krylov_info info;
    mpk_krylov_task_init(&task);
    task.method = t->krylov > MPK_KRYLOV_NONE ? t->krylov : MPK_KRYLOV_MINRES;
    task.n = n;
    task.a = (mpk_operator){tridiagonal, &n};
    for (int k = 0; k < n; k++) ((double *)b)[k] = k % 5;
    o->status[4] = mpk_krylov_solve(ctx, &task, b, o->y, &info);
    o->krylov_iterations = info.iterations;
    mpk_run run = {.source = t->spec,
                   .problem = a,
                   .status = o->status[3],
                   .factor = fi,
                   .solve = si,
                   .have_factor = 1,
                   .have_solve = 1,
                   .have_analysis = 1};
    mpk_analysis_info_get(an ? an : adaptive.analysis, &ai);
    run.analysis = ai;
    o->json_there = mpk_report_create(ctx, &run, &report) == MPK_OK &&
                    strstr(mpk_report_json(report), "metapack-run/1");
done:
    mpk_report_destroy(&report);
    mpk_adaptive_clear(&adaptive);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(b);
}

typedef struct worker {
    pthread_t thread;
    int number, only; /* only: the task of all; -1: another one for each */
    outcome out[WORKERS * ROUNDS];
} worker;

static pthread_barrier_t together;

static void *begin(void *arg) {
    worker *w = arg;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&together); /* all at once, in every round another task */
        for (int k = 0; k < WORKERS; k++)
            work(&tasks[w->only < 0 ? (w->number + k) % WORKERS : w->only],
                 &w->out[round * WORKERS + k]);
    }
    return NULL;
}

/* Compare all that the workers did with a serial run. */
static void run_workers(int only) {
    static outcome want[WORKERS];
    static worker workers[WORKERS];
    for (int k = 0; k < WORKERS; k++) {
        work(&tasks[k], &want[k]);
        for (int s = 0; s < 5; s++)
            if (want[k].status[s] < 0)
                fail_msg("%s: %s", tasks[k].spec, mpk_status_name(want[k].status[s]));
        assert_true(want[k].json_there && want[k].n > 90);
    }
    assert_int_equal(pthread_barrier_init(&together, NULL, WORKERS), 0);
    for (int k = 0; k < WORKERS; k++) {
        workers[k].number = k;
        workers[k].only = only;
        assert_int_equal(pthread_create(&workers[k].thread, NULL, begin, &workers[k]), 0);
    }
    for (int k = 0; k < WORKERS; k++) assert_int_equal(pthread_join(workers[k].thread, NULL), 0);
    pthread_barrier_destroy(&together);
    for (int k = 0; k < WORKERS; k++)
        for (int i = 0; i < WORKERS * ROUNDS; i++) {
            const int which = only < 0 ? (k + i) % WORKERS : only;
            if (memcmp(&workers[k].out[i], &want[which], sizeof want[which]))
                fail_msg("%s: thread %d, turn %d: not the bits of the serial run",
                         tasks[which].spec, k, i);
        }
}

static void test_eight(void **unused) {
    (void)unused;
    run_workers(-1);
}

/* The orderings of other libraries keep state of their own: all of them through one at a time. */
static void test_same_ordering(void **unused) {
    (void)unused;
    for (int k = 0; k < WORKERS; k++)
        if (tasks[k].ordering == MPK_ORDERING_METIS || tasks[k].ordering == MPK_ORDERING_SCOTCH)
            run_workers(k);
}

/* ---- one analysis for all ---- */

typedef struct sharer {
    pthread_t thread;
    const mpk_analysis *an;
    const mpk_problem_view *a;
    double x[MOST_N];
    int number;
    mpk_status status;
} sharer;

static void *share(void *arg) {
    sharer *s = arg;
    mpk_context *ctx = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    double ax[8 * MOST_N], b[MOST_N];
    mpk_options_init(&o);
    o.threads = 1 + s->number % 2;
    for (int64_t k = 0; k < s->a->nnz; k++)
        ax[k] = ((const double *)s->a->ax)[k] * (1 + s->number % 4); /* values of its own */
    for (int i = 0; i < s->a->n; i++) b[i] = i % 3 + 1;
    s->status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(s->status)) s->status = mpk_factorize(ctx, s->an, ax, &o, &fac);
    if (!mpk_failed(s->status))
        s->status = mpk_solve(ctx, fac, 1, b, s->a->n, s->x, s->a->n, &o, NULL);
    mpk_factor_destroy(&fac);
    mpk_context_destroy(&ctx);
    return NULL;
}

static void test_shared_analysis(void **unused) {
    (void)unused;
    static sharer sharers[WORKERS];
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_problem_view a;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "stokes mac 10", 1, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_true(a.n <= MOST_N && a.nnz <= 8 * MOST_N);
    assert_true(mpk_analyse(ctx, problem, NULL, &an) >= 0);
    for (int k = 0; k < WORKERS; k++) {
        sharers[k].an = an, sharers[k].a = &a, sharers[k].number = k;
        assert_int_equal(pthread_create(&sharers[k].thread, NULL, share, &sharers[k]), 0);
    }
    for (int k = 0; k < WORKERS; k++) assert_int_equal(pthread_join(sharers[k].thread, NULL), 0);
    for (int k = 0; k < WORKERS; k++) {
        assert_true(!mpk_failed(sharers[k].status));
        assert_memory_equal(sharers[k].x, sharers[k % 4].x, (size_t)a.n * sizeof(double));
    }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_eight),
                                       cmocka_unit_test(test_same_ordering),
                                       cmocka_unit_test(test_shared_analysis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
