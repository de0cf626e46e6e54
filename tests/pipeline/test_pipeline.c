/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_job_run from files to files: goals, outputs, failures. */
#include "problem/support.h"

#include <math.h>
#include <unistd.h>

static char folder[] = "/tmp/metapack-job-XXXXXX";

static mpk_job job_for(mpk_goal goal, const char *matrix) {
    return (mpk_job){.struct_size = sizeof(mpk_job), .goal = goal, .matrix = matrix};
}

/* Each goal runs the parts before it and no others. */
static void goals(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    for (int goal = MPK_GOAL_READ; goal <= MPK_GOAL_INVERSE; goal++) {
        mpk_report *report = NULL;
        mpk_job job = job_for((mpk_goal)goal, METAPACK_DATA "/tiny/kkt.mtx");
        assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_OK);
        const mpk_run *run = mpk_report_run(report);
        assert_int_equal(run->problem.n, 5);
        assert_int_equal(run->have_analysis, goal >= MPK_GOAL_ANALYSE);
        assert_int_equal(run->have_factor, goal >= MPK_GOAL_FACTORIZE);
        assert_int_equal(run->have_solve, goal == MPK_GOAL_SOLVE);
        assert_int_equal(run->have_selected, goal == MPK_GOAL_INVERSE);
        if (run->have_selected) assert_true(run->selected.error <= 1e-15);
        if (run->have_factor) assert_int_equal(run->factor.inertia.negative, 2);
        if (run->have_solve) assert_true(run->solve.componentwise <= 1e-15);
        assert_true(run->time_read_s > 0 && run->peak_bytes > 0);
        mpk_report_destroy(&report);
    }
    int64_t now = 0;
    mpk_memory_usage(ctx, &now, NULL);
    assert_int_equal(now, 0);
    mpk_context_destroy(&ctx);
}

static void wrong_jobs(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    mpk_job job = job_for(MPK_GOAL_SOLVE, NULL);
    mpk_options options;
    mpk_options_init(&options);
    assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_job_run(ctx, NULL, NULL, &report), MPK_ERR_ARGUMENT);
    job = job_for(MPK_GOAL_SOLVE, METAPACK_DATA "/tiny/kkt.mtx");
    assert_int_equal(mpk_job_run(ctx, &job, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_job_run(NULL, &job, NULL, &report), MPK_ERR_ARGUMENT);
    job.struct_size = 0;
    assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_ERR_ARGUMENT);
    assert_null(report);
    job.struct_size = sizeof job;
    options.pivot_threshold = 7;
    assert_int_equal(mpk_job_run(ctx, &job, &options, &report), MPK_ERR_ARGUMENT);
    assert_non_null(report); /* says why */
    assert_non_null(strstr(mpk_report_json(report), "pivot_threshold"));
    mpk_report_destroy(&report);
    job.goal = MPK_GOAL_INVERSE, job.selection = 2;
    assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_ERR_ARGUMENT);
    assert_non_null(strstr(mpk_report_json(report), "no selection 2"));
    mpk_report_destroy(&report);
    job.selection = MPK_SELECT_PATTERN; /* *.npy: n x n, most of it not computed */
    for (int k = 0; k < 3; k++) {
        job.output = k == 0 ? "z.npy" : k == 1 ? "z.NPY.gz" : "z";
        assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_ERR_ARGUMENT);
        assert_non_null(strstr(mpk_report_json(report), "are written as .mtx"));
        assert_int_equal(mpk_report_run(report)->have_analysis, 0);
        mpk_report_destroy(&report);
    }
    job.output = NULL;
    for (int goal = -1; goal < 100; goal += goal < 0 ? 6 : 94) { /* -1, 5, 99 */
        job.goal = (mpk_goal)goal;
        assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_ERR_ARGUMENT);
        assert_non_null(strstr(mpk_report_json(report), "goal = "));
        assert_int_equal(mpk_report_run(report)->have_analysis, 0);
        mpk_report_destroy(&report);
    }
    mpk_context_destroy(&ctx);
}

/* The report of a failed run tells the failure and keeps what was known before it. */
static void failures(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_report *report = NULL;
    mpk_options options;
    mpk_options_init(&options);
    mpk_job job = job_for(MPK_GOAL_SOLVE, "/nowhere/a.mtx");
    assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_ERR_FILE);
    assert_non_null(strstr(mpk_report_run(report)->message, "/nowhere/a.mtx"));
    mpk_report_destroy(&report);
    job = job_for(MPK_GOAL_SOLVE, METAPACK_DATA "/tiny/kkt.mtx");
    job.output = "/nowhere/x.mtx";
    assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_ERR_FILE);
    assert_false(mpk_report_run(report)->have_analysis); /* known before the work */
    mpk_report_destroy(&report);
    job.output = NULL;
    job.plot = "/nowhere/p.svg";
    assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_ERR_FILE);
    mpk_report_destroy(&report);
    job = job_for(MPK_GOAL_SOLVE, METAPACK_DATA "/tiny/singular.mtx");
    assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_SINGULAR);
    assert_true(mpk_report_run(report)->have_solve);
    mpk_report_destroy(&report);
    options.memory_limit = 100;
    assert_int_equal(mpk_job_run(ctx, &job, &options, &report), MPK_ERR_MEMORY);
    assert_true(mpk_report_run(report)->problem.n == 3);
    mpk_report_destroy(&report);
    int64_t now = 0;
    mpk_memory_usage(ctx, &now, NULL);
    assert_int_equal(now, 0);
    mpk_context_destroy(&ctx);
}

static int stop_at(const char *stage, double fraction, void *user) {
    (void)fraction;
    return !strcmp(stage, user);
}

static void cancelled_in_each_stage(void **state) {
    (void)state;
    static const char *const stages[] = {"analyse", "factorize", "solve"};
    mpk_context *ctx = new_context();
    mpk_options options;
    mpk_options_init(&options);
    options.threads = 1; /* a pool of threads would stay with the context */
    for (int k = 0; k < 3; k++) {
        mpk_report *report = NULL;
        mpk_job job = {.struct_size = sizeof job, .goal = MPK_GOAL_SOLVE, .generate = "nlpkkt 8"};
        mpk_context_set_progress(ctx, stop_at, (void *)stages[k]);
        mpk_status status = mpk_job_run(ctx, &job, &options, &report);
        if (status != MPK_ERR_CANCELLED) fail_msg("%s: status %d", stages[k], status);
        assert_int_equal(mpk_report_run(report)->status, MPK_ERR_CANCELLED);
        mpk_report_destroy(&report);
    }
    int64_t now = 0;
    mpk_memory_usage(ctx, &now, NULL);
    assert_int_equal(now, 0);
    mpk_context_destroy(&ctx);
}

static mpk_status whole_job(mpk_context *ctx) {
    char output[64], plot[64];
    mpk_report *report = NULL;
    mpk_options options;
    mpk_options_init(&options);
    options.threads = 1;
    snprintf(output, sizeof output, "%s/x.mtx", folder);
    snprintf(plot, sizeof plot, "%s/p.svg", folder);
    mpk_job job = job_for(MPK_GOAL_SOLVE, METAPACK_DATA "/tiny/kkt.mtx");
    job.rhs = METAPACK_DATA "/tiny/kkt_b.mtx";
    job.output = output;
    job.plot = plot;
    mpk_status status = mpk_job_run(ctx, &job, &options, &report);
    assert_true(report || status == MPK_ERR_MEMORY);
    if (report) assert_int_equal(mpk_report_run(report)->status, status);
    mpk_report_destroy(&report);
    return status;
}

static void no_memory(void **state) {
    (void)state;
    sweep_allocations(whole_job);
}

static int enter(void **state) {
    (void)state;
    return !mkdtemp(folder);
}

/* Only the two files of the run that succeeded may be there. */
static int leave(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "%s/x.mtx", folder);
    int gone = unlink(path);
    snprintf(path, sizeof path, "%s/p.svg", folder);
    return gone || unlink(path) || rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goals), cmocka_unit_test(wrong_jobs), cmocka_unit_test(failures),
        cmocka_unit_test(cancelled_in_each_stage), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, enter, leave);
}
