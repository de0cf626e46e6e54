/* SPDX-License-Identifier: BSD-3-Clause */
/** load -> analyse -> factorize -> solve -> write, report. */
#include "core/trace.h"
#include "problem/generate/generate.h"
#include "problem/perm.h"
#include "report/report.h"
#include "solve/iterate.h"

#include <metapack/adaptive.h>
#include <metapack/pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRACE_MOST = 1 << 18 };  /* spans of time that are kept for a trace */
enum { HISTORY_MOST = 100000 }; /* residuals of a Krylov method that are kept for the report */

/* Everything that lives during one job. */
typedef struct work {
    mpk_context *ctx;
    const mpk_job *job;
    mpk_options options;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    int32_t *perm, *blocks, *pivots;
    void *x; /* n x nrhs: the right-hand sides, then the solutions */
    mpki_record history;
    char message[512]; /* of a solve with a reservation: writing its result clears the context's */
    mpk_run run;
} work;

/* A folder that is not there is better known before the work than after it. */
static mpk_status look_at_output(mpk_context *ctx, const char *path) {
    char folder[4096];
    if (!path || !strcmp(path, "-")) return MPK_OK;
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= sizeof folder)
        return mpki_error(ctx, MPK_ERR_FILE, "write", -1, "%.80s...: the name is too long", path);
    memcpy(folder, path, length);
    folder[length] = '\0';
    const char *where = !slash ? "." : length == 0 ? "/" : folder;
    struct stat there;
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        return mpki_error(ctx, MPK_ERR_FILE, "write", -1, "%s: cannot be written: a folder", path);
    if (*path && access(where, W_OK | X_OK) == 0) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_FILE, "write", -1, "%s: the folder %s cannot be written to",
                      path, where);
}

/* B from its file, or A times ones. */
static mpk_status load_rhs(work *w) {
    mpk_context *ctx = w->ctx;
    const mpk_problem_view *a = &w->run.problem;
    if (w->job->rhs) return mpk_rhs_read(ctx, w->job->rhs, a->n, a->scalar, &w->run.nrhs, &w->x);
    size_t size = mpk_scalar_size(a->scalar);
    w->run.nrhs = 1;
    w->x = mpki_calloc(ctx, "read", a->n, size);
    void *ones = mpki_calloc(ctx, "read", a->n, size);
    mpk_status status = w->x && ones ? MPK_OK : mpki_failed(ctx);
    for (int64_t i = 0; i < a->n && !mpk_failed(status); i++) {
        if (a->scalar == MPK_S || a->scalar == MPK_C)
            *(float *)((char *)ones + i * size) = 1;
        else
            *(double *)((char *)ones + i * size) = 1;
    }
    if (!mpk_failed(status))
        status = mpk_problem_multiply(ctx, w->problem, 1, ones, a->n, w->x, a->n);
    mpki_release(ctx, ones);
    return status;
}

/* A generated matrix is known in size before it is there. What any method needs of a stored entry:
 * 12 bytes for A; then 26 for its graph and an ordering of that, or 36 for both triangles by rows
 * and an incomplete factor of their size. */
static mpk_status check_generated(work *w) {
    static const double A = 12, ORDERED = 26, SOLVED = 36;
    const mpk_job *job = w->job;
    double n, nnz;
    if (job->goal < MPK_GOAL_ANALYSE) return MPK_OK;
    const mpk_status status = mpki_generate_sizes(w->ctx, job->generate, &n, &nnz);
    if (mpk_failed(status)) return status;
    const double entry = A + (job->goal < MPK_GOAL_SOLVE ? ORDERED : SOLVED);
    return mpki_memory_check(w->ctx, "generate", "the matrix and what is made of it, at the least,",
                             entry * nnz + 16 * n, 0);
}

/* A from its file or generator, with the job's tolerance of symmetry, if it says one. */
static mpk_status load_matrix(work *w) {
    const mpk_job *job = w->job;
    if (!job->matrix) {
        const mpk_status fits = check_generated(w);
        if (mpk_failed(fits)) return fits;
        return mpk_problem_generate(w->ctx, job->generate, w->options.seed, &w->problem);
    }
    const double before = mpki_symmetry_tolerance(w->ctx), asked = w->options.symmetry_tolerance;
    mpki_set_symmetry_tolerance(w->ctx, asked >= 0 ? asked : before);
    const mpk_status status = mpk_problem_read(w->ctx, job->matrix, &w->problem);
    mpki_set_symmetry_tolerance(w->ctx, before);
    return status;
}

/* What files have of the caller's own order. */
static void take_given(work *w) {
    if (w->perm) w->options.given_perm = w->perm;
    if (w->blocks) w->options.given_blocks = w->blocks;
    if (w->pivots) w->options.given_pivots = w->pivots;
}

static mpk_status load(work *w) {
    double start = mpki_now_s();
    const mpk_job *job = w->job;
    mpk_status status = look_at_output(w->ctx, job->output);
    if (!mpk_failed(status)) status = look_at_output(w->ctx, job->plot);
    if (!mpk_failed(status)) status = look_at_output(w->ctx, job->trace);
    if (!mpk_failed(status) && job->trace) status = mpki_trace_start(w->ctx, TRACE_MOST);
    if (!mpk_failed(status)) status = load_matrix(w);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(w->problem, &w->run.problem);
        if (w->run.problem.n == 0)
            status = mpki_error(w->ctx, MPK_ERR_INPUT, "read", -1,
                                "%s: the matrix has no rows (n = 0)", w->run.source);
    }
    if (!mpk_failed(status) && job->perm)
        status = mpki_perm_read(w->ctx, job->perm, w->run.problem.n, &w->perm);
    if (!mpk_failed(status) && job->given_blocks)
        status = mpki_starts_read(w->ctx, job->given_blocks, w->run.problem.n, &w->blocks);
    if (!mpk_failed(status) && job->given_pivots)
        status = mpki_starts_read(w->ctx, job->given_pivots, w->run.problem.n, &w->pivots);
    take_given(w);
    if (!mpk_failed(status) && job->goal >= MPK_GOAL_SOLVE) status = load_rhs(w);
    w->run.time_read_s = mpki_now_s() - start;
    return status;
}

/* What the run has to tell of the analysis and the factor that are there. */
static void tell(work *w) {
    if (w->an) {
        w->run.have_analysis = 1;
        mpk_analysis_info_get(w->an, &w->run.analysis);
    }
    if (w->fac) {
        w->run.have_factor = 1;
        w->run.backend = w->fac->engine->name(w->ctx);
        mpk_factor_info_get(w->fac, &w->run.factor);
        if (w->run.factor.inertia.examined) w->run.certificate = w->fac->certificate;
        mpk_factor_block_info_get(w->fac, &w->run.block);
    }
}

static mpk_status analyse(work *w) {
    mpk_status status = mpk_analyse(w->ctx, w->problem, &w->options, &w->an);
    tell(w);
    if (mpk_failed(status) || w->job->goal != MPK_GOAL_ANALYSE || w->options.device == MPK_ON_CPU)
        return status;
    const char *text = "";
    if (status != MPK_OK) mpk_last_error(w->ctx, NULL, NULL, &text);
    snprintf(w->message, sizeof w->message, "%s", text);
    const mpk_status ahead = mpk_factor_estimate(w->ctx, w->an, &w->options, &w->run.estimate);
    if (mpk_failed(ahead)) return ahead;
    w->run.backend = w->run.estimate.engine;
    if (status != MPK_OK) /* the outcome of the analysis, once more */
        return mpki_error(w->ctx, status, "analyse", -1, "%s", w->message);
    return status;
}

static mpk_status factorize(work *w) {
    mpk_status status = mpk_factorize(w->ctx, w->an, NULL, &w->options, &w->fac);
    if (!mpk_failed(status) && w->job->goal == MPK_GOAL_FACTORIZE)
        status = mpki_worse(status, mpki_certify(w->ctx, w->fac, NULL));
    tell(w);
    return status;
}

/* Method auto on its way to a solution: the three steps in one, as often as it takes. */
static mpk_status search(work *w) {
    const int32_t n = w->run.problem.n;
    const size_t size = mpk_scalar_size(w->run.problem.scalar);
    mpk_adaptive r;
    void *b = mpki_alloc(w->ctx, "solve", (int64_t)n * w->run.nrhs, size);
    if (!b) return mpki_failed(w->ctx);
    memcpy(b, w->x, (size_t)n * (size_t)w->run.nrhs * size);
    mpk_status status =
        mpk_solve_adaptive(w->ctx, w->problem, &w->options, w->run.nrhs, b, n, w->x, n,
                           w->history.residual, w->history.size, &w->history.count, &r);
    mpki_release(w->ctx, b);
    w->an = r.analysis;
    w->fac = r.factor;
    tell(w);
    w->run.attempts = r.attempts;
    memcpy(w->run.attempt, r.attempt, sizeof r.attempt);
    memcpy(w->run.no_direct, r.no_direct, sizeof r.no_direct);
    if (!mpk_failed(status)) {
        w->run.solve = r.solve;
        w->options = r.options;
    }
    return status;
}

static mpk_status solve(work *w, bool adaptive) {
    const int32_t n = w->run.problem.n;
    w->history.size =
        w->options.max_iterations < HISTORY_MOST ? w->options.max_iterations : HISTORY_MOST;
    w->history.residual = MPKI_NEW(w->ctx, "solve", w->history.size, double);
    if (!w->history.residual) return mpki_failed(w->ctx);
    mpk_status status = adaptive ? search(w)
                                 : mpki_solve(w->ctx, w->fac, w->run.nrhs, w->x, n, w->x, n,
                                              &w->options, &w->run.solve, &w->history);
    tell(w); /* in doubt a solve has examined the inertia */
    w->run.have_solve = !mpk_failed(status);
    w->run.history = w->history.residual;
    w->run.history_count = w->history.count;
    w->message[0] = '\0';
    if (w->run.have_solve && status != MPK_OK) {
        const char *text;
        mpk_last_error(w->ctx, NULL, NULL, &text);
        snprintf(w->message, sizeof w->message, "%s", text);
    }
    return status;
}

static mpk_status write_output(work *w) {
    const mpk_problem_view *a = &w->run.problem;
    if (!w->job->output) return MPK_OK;
    if (w->job->goal == MPK_GOAL_READ) return mpk_problem_write(w->ctx, w->problem, w->job->output);
    return mpk_rhs_write(w->ctx, w->job->output, a->n, a->scalar, w->run.nrhs, w->x, a->n);
}

/* The report, and the picture that is drawn from it. */
static mpk_status make_report(work *w, mpk_status status, mpk_report **report) {
    int64_t peak = 0;
    mpk_memory_usage(w->ctx, NULL, &peak);
    w->run.peak_bytes = (double)peak;
    w->run.options = w->options;
    if (w->options.triangular == MPK_TRIANGULAR_AUTO && w->run.block.block_rows > 0)
        w->run.options.triangular =
            w->run.block.isai.entries > 0 ? MPK_TRIANGULAR_ISAI : MPK_TRIANGULAR_EXACT;
    w->run.options.given_perm = NULL;
    w->run.options.given_blocks = w->run.options.given_pivots = NULL;
    w->run.status = status;
    if (status != MPK_OK) mpk_last_error(w->ctx, NULL, NULL, &w->run.message);
    if (!mpk_failed(status) && w->run.have_solve && w->message[0]) w->run.message = w->message;
    mpk_status made = mpk_report_create(w->ctx, &w->run, report);
    if (made || mpk_failed(status)) return mpki_worse(status, made);
    if (w->job->plot)
        made = mpk_report_plot(w->ctx, *report, w->problem, w->an, w->fac, w->job->plot);
    if (!mpk_failed(made) && w->job->trace) made = mpki_trace_write(w->ctx, w->job->trace);
    if (!mpk_failed(made)) return status;
    mpk_report_destroy(report); /* a new one that says what the plot lacked */
    mpk_last_error(w->ctx, NULL, NULL, &w->run.message);
    w->run.status = made;
    (void)mpk_report_create(w->ctx, &w->run, report);
    return made;
}

mpk_status mpk_job_run(mpk_context *ctx, const mpk_job *job, const mpk_options *options,
                       mpk_report **report) {
    mpki_clear_error(ctx);
    if (!ctx || !job || !report || *report || job->struct_size < sizeof *job ||
        (!job->matrix && !job->generate))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "job", -1, "the job names no matrix or no report");
    work w = {.ctx = ctx, .job = job};
    w.run.source = job->matrix ? job->matrix : job->generate;
    mpk_status status = mpki_options_resolve(ctx, options, &w.options);
    const mpki_engine *engine =
        mpk_failed(status) ? NULL : mpki_engine_of(ctx, NULL, &w.options); /* is it there? */
    if (engine)
        w.run.backend = engine->name(ctx);
    else if (!mpk_failed(status))
        status = mpki_failed(ctx);
    if (!mpk_failed(status) && (unsigned)job->goal > MPK_GOAL_SOLVE)
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, "job", -1,
                            "goal = %d: expected one from %d (read) to %d (solve)", (int)job->goal,
                            MPK_GOAL_READ, MPK_GOAL_SOLVE);
    if (!mpk_failed(status)) status = load(&w);
    const bool adaptive = w.options.method == MPK_METHOD_AUTO && job->goal >= MPK_GOAL_SOLVE;
    if (!mpk_failed(status) && !adaptive && job->goal >= MPK_GOAL_ANALYSE)
        status = mpki_worse(status, analyse(&w));
    if (!mpk_failed(status) && !adaptive && job->goal >= MPK_GOAL_FACTORIZE)
        status = mpki_worse(status, factorize(&w));
    const double began = mpki_trace_begin(ctx);
    if (!mpk_failed(status) && job->goal >= MPK_GOAL_SOLVE)
        status = mpki_worse(status, solve(&w, adaptive));
    if (!adaptive) mpki_trace_end(ctx, MPKI_LANE_CALLER, "solve", -1, began);
    if (!mpk_failed(status)) status = mpki_worse(status, write_output(&w));
    status = make_report(&w, status, report);
    mpki_release(ctx, w.x);
    mpki_release(ctx, w.history.residual);
    mpk_factor_destroy(&w.fac);
    mpk_analysis_destroy(&w.an);
    mpki_release(ctx, w.perm);
    mpki_release(ctx, w.blocks);
    mpki_release(ctx, w.pivots);
    if (job->trace) mpki_trace_stop(ctx);
    mpk_problem_destroy(&w.problem);
    return status;
}
