/* SPDX-License-Identifier: BSD-3-Clause */
/* fork() while a context holds threads, and while another thread is at work: the child makes a
 * context of its own and comes to the same bits, the parent goes on as if nothing had been. */
#include "support.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitized.h"

/* ThreadSanitizer forbids threads after fork(); AddressSanitizer's memory is locked in a child for
 * ever where another thread of the parent was allocating. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define NO_THREADS_AFTER_FORK 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define NO_THREADS_AFTER_FORK 1
#endif

enum { N = 225, CHILDREN = 6, FAILED = 77 };
static const char spec[] = "helmholtz 2d 15 0.3";

typedef struct solver {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options o;
    double b[N], x[N];
} solver;

/* Everything with three threads, so that there is a pool. */
static mpk_status open_solver(solver *s) {
    memset(s, 0, sizeof *s);
    mpk_options_init(&s->o);
    s->o.threads = 3;
    s->o.ordering = MPK_ORDERING_ND;
    for (int i = 0; i < N; i++) s->b[i] = i % 7 - 2.5;
    mpk_status status = mpk_context_create(NULL, &s->ctx);
    if (!mpk_failed(status)) status = mpk_problem_generate(s->ctx, spec, 1, &s->problem);
    mpk_problem_view_get(s->problem, &s->a);
    if (!mpk_failed(status)) status = mpk_analyse(s->ctx, s->problem, &s->o, &s->an);
    if (!mpk_failed(status)) status = mpk_factorize(s->ctx, s->an, s->a.ax, &s->o, &s->fac);
    return status;
}

static mpk_status solve(solver *s) {
    memset(s->x, 0, sizeof s->x);
    mpk_status status = mpk_refactorize(s->ctx, s->a.ax, &s->o, s->fac);
    if (!mpk_failed(status)) status = mpk_solve(s->ctx, s->fac, 1, s->b, N, s->x, N, &s->o, NULL);
    return status;
}

static void close_solver(solver *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

/* In the child: exit code 0 where its own work came to the parent's bits. */
static void child_works(const double *want) {
    static solver own;
    alarm(100); /* a child that waits for threads of its parent would wait for ever */
    if (open_solver(&own) < 0 || solve(&own) < 0) _exit(1);
    if (memcmp(own.x, want, sizeof own.x)) _exit(2);
    close_solver(&own);
    _exit(0);
}

static void await(pid_t child) {
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
}

static void test_fork(void **unused) {
    (void)unused;
#ifdef NO_THREADS_AFTER_FORK
    skip();
#endif
    static solver s;
    double want[N];
    assert_true(open_solver(&s) >= 0);
    assert_true(solve(&s) >= 0);
    memcpy(want, s.x, sizeof want);
    for (int k = 0; k < CHILDREN; k++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) child_works(want);
        if (k % 2) await(child); /* at the same time, or one after the other */
        assert_true(solve(&s) >= 0);
        assert_memory_equal(s.x, want, sizeof want);
        if (k % 2 == 0) await(child);
    }
    close_solver(&s);
}

/* ---- in the middle of things ---- */

typedef struct busy {
    pthread_t thread;
    double want[N];
    _Atomic bool stop;
    _Atomic int rounds;
    bool wrong;
} busy;

static void *work_on(void *arg) {
    busy *w = arg;
    static solver s;
    if (open_solver(&s) < 0) w->wrong = true;
    while (!w->stop && !w->wrong) {
        if (solve(&s) < 0 || memcmp(s.x, w->want, sizeof s.x)) w->wrong = true;
        w->rounds++;
    }
    close_solver(&s);
    return NULL;
}

static void test_fork_amid_work(void **unused) {
    (void)unused;
#if TEST_SANITIZED
    skip();
#endif
    static solver s;
    static busy w;
    assert_true(open_solver(&s) >= 0);
    assert_true(solve(&s) >= 0);
    memcpy(w.want, s.x, sizeof s.x);
    close_solver(&s);
    assert_int_equal(pthread_create(&w.thread, NULL, work_on, &w), 0);
    while (w.rounds < 2 && !w.wrong) usleep(100);
    for (int k = 0; k < CHILDREN; k++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) child_works(w.want);
        await(child);
    }
    w.stop = true;
    assert_int_equal(pthread_join(w.thread, NULL), 0);
    assert_false(w.wrong);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fork),
                                       cmocka_unit_test(test_fork_amid_work)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
