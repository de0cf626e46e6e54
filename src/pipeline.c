/* SPDX-License-Identifier: BSD-3-Clause */
/** load -> analyse -> factorize -> solve -> write, report. */
#define _GNU_SOURCE /* PATH_MAX */
#include "analysis/block/block.h"
#include "core/energy.h"
#include "core/floats.h"
#include "core/output.h"
#include "core/sizes.h"
#include "core/trace.h"
#include "dense/problem.h"
#include "factor/null_space.h"
#include "factor/selected.h"
#include "problem/generate/generate.h"
#include "problem/npy.h"
#include "problem/perm.h"
#include "problem/sink.h"
#include "report/report.h"
#include "pipeline_files.h"
#include "solve/iterate.h"

#include <math.h>
#include <metapack/adaptive.h>
#include <metapack/null_space.h>
#include <metapack/pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    void *x; /* n x nrhs: the right-hand sides, then the solutions; or entries of the inverse */
    mpki_record history;
    char message[512]; /* of a solve that has one: writing its result clears the context's */
    mpk_dense_method dense;
    mpki_meter *meter; /* job.energy; else NULL */
    double looked;     /* when, at the meter */
    bool brief[2];     /* factorization, solve: too short for it, and repeated later */
    void *b;           /* the right-hand sides, kept for that; else NULL */
    mpk_run run;
} work;

/* Better known before the work than after it: an output that cannot be written, or would replace
 * what is read or written besides. */
static mpk_status look_at_files(mpk_context *ctx, const mpk_job *job) {
    char read[MPKI_MAX_WORD];
    const bool reads = job->generate && mpki_generate_reads(job->generate, read);
    const char *const in[] = {job->matrix,       job->rhs,          job->perm,
                              job->given_blocks, job->given_pivots, reads ? read : NULL,
                              job->analysis,     job->factor,       job->given_tree};
    const char *const out[] = {job->output, job->plot, job->trace, job->save, job->tree};
    enum { IN = sizeof in / sizeof *in, OUT = sizeof out / sizeof *out };
    char text[512];
    for (int k = 0; k < OUT; k++) {
        if (!out[k]) continue;
        if (mpki_output_look(out[k], text, sizeof text))
            return mpki_error(ctx, MPK_ERR_FILE, "write", -1, "%.300s: %s", out[k], text);
        for (int i = 0; i < IN; i++)
            if (in[i] && mpki_output_same(out[k], in[i], true))
                return mpki_error(ctx, MPK_ERR_ARGUMENT, "write", -1,
                                  "%.300s is read, and is not to be written over", out[k]);
        for (int i = 0; i < k; i++)
            if (out[i] && mpki_output_same(out[k], out[i], false))
                return mpki_error(ctx, MPK_ERR_ARGUMENT, "write", -1,
                                  "%.300s would be written twice", out[k]);
    }
    return MPK_OK;
}

static mpk_status refuse(const work *w, int k, const char *why, const char *more) {
    char name[64];
    snprintf(name, sizeof name, "%s", mpk_option_at(k)->key);
    for (char *c = name; *c; c++)
        if (*c == '_') *c = '-';
    return mpki_error(w->ctx, MPK_ERR_ARGUMENT, "options", k, "option --%s is %s%s", name, why,
                      more);
}

/* Did the caller ask for option k? */
static bool was_asked(const mpk_job *job, int k) {
    return (k < 64 ? job->asked >> k : job->asked_more >> (k - 64)) & 1;
}

/* What a dense job names, known before anything is read: its method, options and files. */
static mpk_status look_at_dense(work *w) {
    const mpk_job *job = w->job;
    const mpk_option *o;
    char by[128] =
        "not read by the dense solver, which takes array files (--dense off asks for another)";
    if (!job->dense) return MPK_OK;
    if (!job->dense_if_one) snprintf(by, sizeof by, "not read by --dense %.64s", job->dense);
    w->dense = mpki_dense_method_of(job->dense);
    if (w->dense == MPK_DENSE_COUNT)
        return mpki_error(w->ctx, MPK_ERR_ARGUMENT, "job", -1,
                          "--dense: there is no method '%.64s'", job->dense);
    if (job->goal != MPK_GOAL_SOLVE)
        return mpki_error(w->ctx, MPK_ERR_ARGUMENT, "job", -1, "a dense job is one that solves");
    const char *const other = job->plot           ? "plot"
                              : job->perm         ? "given-perm"
                              : job->trace        ? "trace"
                              : job->given_blocks ? "given-blocks"
                              : job->given_pivots ? "given-pivots"
                              : job->minimum_norm ? "minimum-norm"
                              : job->analysis     ? "analysis"
                              : job->factor       ? "factor"
                              : job->given_tree   ? "given-tree"
                              : job->save         ? "save-factor"
                                                  : NULL;
    if (other)
        return mpki_error(w->ctx, MPK_ERR_ARGUMENT, "job", -1, "option --%s is %s", other, by);
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        const char *why = was_asked(job, k) ? mpki_dense_idle(o, &w->options, w->dense) : NULL;
        if (why) return refuse(w, k, by, why);
    }
    return MPK_OK;
}

/* Is the matrix solved as a dense one? Dense methods know one triangle, sparse ones both. */
static bool is_dense(const work *w) {
    const bool one = w->run.problem.symmetry != MPK_GENERAL && w->run.asymmetry.pairs == 0;
    return w->job->dense && (one || !w->job->dense_if_one);
}

/* Is the option one of factorizing alone? Solves with a factor from a file do not read it. */
static bool only_factorizes(const char *key) {
    static const char *const keys[] = {"matching", "scaling", "pivot_threshold", "static_shift",
                                       "precision"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (!strcmp(key, keys[k])) return true;
    return false;
}

/* An option that the caller asked for, and that this run does not read. */
static mpk_status look_at_asked(const work *w) {
    const int general = w->run.problem.symmetry == MPK_GENERAL;
    const mpk_option *o;
    mpk_options options = w->options;
    char why[512];
    if (w->job->goal < MPK_GOAL_ANALYSE || is_dense(w)) return MPK_OK;
    const bool either = options.method == MPK_METHOD_AUTO;
    if (either && w->job->goal != MPK_GOAL_SOLVE) options.method = MPK_METHOD_LDLT;
    const bool there = !general || mpki_general_direct(w->ctx, &options);
    const bool direct =
        options.method == MPK_METHOD_LDLT || (either && there && options.direct != MPK_OFF);
    if (w->job->trace && (direct || options.method == MPK_METHOD_NONE))
        return mpki_error(w->ctx, MPK_ERR_ARGUMENT, "options", -1,
                          "%.300s: a trace is of methods on blocks, and %s has nothing for it%s",
                          w->job->trace, direct ? "the direct solver" : "method none",
                          direct ? "; a plot has the times of its phases" : "");
    if (!direct && (w->job->tree || (w->job->save && w->job->goal != MPK_GOAL_ANALYSE)))
        return mpki_error(w->ctx, MPK_ERR_UNSUPPORTED, "options", -1,
                          "%.300s: only the direct method has a %s to be written",
                          w->job->tree ? w->job->tree : w->job->save,
                          w->job->tree ? "tree" : "factor");
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        if (!was_asked(w->job, k)) continue;
        if (!mpki_option_is_read(o, &options, general, why, sizeof why))
            return refuse(w, k, why, "");
        const bool order = !strcmp(o->key, "ordering") || !strcmp(o->key, "model_threads");
        if (order && mpki_job_instead(w->job))
            return refuse(w, k, "not read: the order is that of the file", "");
        if (w->job->factor && only_factorizes(o->key))
            return refuse(w, k, "not read: the factor is that of the file", "");
        if (w->job->minimum_norm && (!strcmp(o->key, "krylov") || !strcmp(o->key, "condition")))
            return refuse(w, k, "not read by --minimum-norm", "");
    }
    return MPK_OK;
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

static bool is_packed(const char *path) {
    return mpki_name_ends(path, ".gz") || mpki_name_ends(path, ".xz");
}

/* More than the caller expects, or than the disk has. least, most [in] bytes of the text */
static mpk_status check_bytes(const work *w, const char *path, double least, double most) {
    const double limit = w->job->most_bytes;
    char a[MPKI_UNIT_MAX], b[MPKI_UNIT_MAX], size[3 * MPKI_UNIT_MAX], where[300];
    if (!path || limit <= 0) return MPK_OK;
    mpki_print(size, sizeof size, "%s%s%s", mpki_show_bytes(a, least),
               most > 1.2 * least ? " to " : "",
               most > 1.2 * least ? mpki_show_bytes(b, most) : "");
    snprintf(where, sizeof where, "%.280s", strcmp(path, "-") ? path : "standard output");
    const double room = is_packed(path) ? HUGE_VAL : mpki_output_room(path);
    if (least > room)
        return mpki_error(
            w->ctx, MPK_ERR_SIZE, "write", -1,
            "%s: it would take %s, and its disk has %s free; --force writes all the same", where,
            size, mpki_show_bytes(b, room));
    if (least > limit)
        return mpki_error(w->ctx, MPK_ERR_SIZE, "write", -1,
                          "%s: it would take %s%s; --force writes it", where, size,
                          is_packed(path) ? " before compression" : "");
    return MPK_OK;
}

static const double DIGITS = 19; /* of most numbers, with the end of the line */

static double bytes_of_vectors(const work *w, int32_t count) {
    const mpk_problem_view *a = &w->run.problem;
    return mpki_npy_named(w->job->output)
               ? mpki_npy_bytes(a->n, count, a->scalar)
               : (double)a->n * count * (a->scalar >= MPK_C ? 2 : 1) * DIGITS;
}

/* What will be written, once its size is known. */
static mpk_status check_output(const work *w) {
    const mpk_problem_view *a = &w->run.problem;
    if (!w->job->output || w->job->most_bytes <= 0) return MPK_OK;
    double bytes = bytes_of_vectors(w, w->run.nrhs);
    if (w->job->goal == MPK_GOAL_INVERSE)
        bytes = w->job->selection == MPK_SELECT_PATTERN
                    ? (double)a->nnz * 2 * DIGITS * (a->scalar >= MPK_C ? 2 : 1)
                    : bytes_of_vectors(w, 1);
    if (w->job->goal == MPK_GOAL_READ) bytes = mpki_problem_text_bytes(w->problem, w->job->output);
    return check_bytes(w, w->job->output, bytes, bytes);
}

/* A matrix that is only written: its values may take one digit or all. */
static mpk_status check_generated_text(const work *w) {
    static const double VALUE = 22;
    double n, nnz;
    if (!w->job->output || w->job->most_bytes <= 0) return MPK_OK;
    const mpk_status status = mpki_generate_sizes(w->ctx, w->job->generate, &n, &nnz);
    if (mpk_failed(status)) return status;
    if (mpki_npy_named(w->job->output))
        return check_bytes(w, w->job->output, mpki_npy_bytes(n, n, MPK_S),
                           mpki_npy_bytes(n, n, MPK_Z));
    const double indices = 2 * (floor(log10(fmax(n, 1))) + 2);
    return check_bytes(w, w->job->output, nnz * (indices + 2), nnz * (indices + VALUE));
}

/* A generated matrix is known in size before it is there. What any method needs of a stored entry:
 * 12 bytes for A; then 26 for its graph and an ordering of that, or 36 for both triangles by rows
 * and an incomplete factor of their size. */
static mpk_status check_generated(work *w) {
    static const double A = 12, ORDERED = 26, SOLVED = 36;
    const mpk_job *job = w->job;
    double n, nnz;
    if (job->goal < MPK_GOAL_ANALYSE) return check_generated_text(w);
    const mpk_status status = mpki_generate_sizes(w->ctx, job->generate, &n, &nnz);
    if (mpk_failed(status)) return status;
    const double entry = A + (job->goal != MPK_GOAL_SOLVE ? ORDERED : SOLVED);
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
    mpk_status status = look_at_files(w->ctx, job);
    if (!mpk_failed(status) && job->trace) status = mpki_trace_start(w->ctx, TRACE_MOST);
    if (!mpk_failed(status)) status = load_matrix(w);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(w->problem, &w->run.problem);
        mpk_problem_asymmetry_get(w->problem, &w->run.asymmetry);
        if (w->run.problem.n == 0)
            status = mpki_error(w->ctx, MPK_ERR_INPUT, "read", -1,
                                "%s: the matrix has no rows (n = 0)", w->run.source);
        else if (job->goal == MPK_GOAL_INVERSE && w->run.problem.symmetry == MPK_GENERAL)
            status = mpki_error(w->ctx, MPK_ERR_UNSUPPORTED, "inverse", -1,
                                "the matrix is not symmetric: entries of the inverse are computed "
                                "of symmetric and Hermitian ones");
    }
    if (!mpk_failed(status)) status = look_at_asked(w);
    if (!mpk_failed(status) && job->perm)
        status = mpki_perm_read(w->ctx, job->perm, w->run.problem.n, &w->perm);
    if (!mpk_failed(status) && job->given_blocks)
        status = mpki_starts_read(w->ctx, job->given_blocks, w->run.problem.n, &w->blocks);
    if (!mpk_failed(status) && job->given_pivots)
        status = mpki_starts_read(w->ctx, job->given_pivots, w->run.problem.n, &w->pivots);
    take_given(w);
    if (!mpk_failed(status) && job->goal == MPK_GOAL_SOLVE) status = load_rhs(w);
    if (!mpk_failed(status)) status = check_output(w);
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

/* ---- three ways to a solution ---------------------------------------------------------------- */

static mpk_status analyse(work *w) {
    mpk_status status = mpki_job_order(w->ctx, w->job, w->problem, &w->options, &w->an);
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

/* The shortest solution, and what the report has of it. */
static mpk_status shortest(work *w) {
    const int32_t n = w->run.problem.n;
    mpk_minimum_norm_info found = {0};
    const mpk_status status = mpk_solve_minimum_norm(w->ctx, w->fac, 0, NULL, 0, w->run.nrhs, w->x,
                                                     n, w->x, n, &w->options, &found);
    w->run.solve = (mpk_solve_info){.iterations = found.iterations,
                                    .componentwise = found.componentwise,
                                    .unrefined = found.componentwise,
                                    .normwise = found.componentwise,
                                    .relative_residual = hypot(found.outside, found.residual),
                                    .time_s = found.time_s,
                                    .solved = found.consistent > 0,
                                    .consistent = found.dimension > 0 ? found.consistent : 0};
    w->run.minimum_norm = !mpk_failed(status);
    return status;
}

/* A factor that nothing is solved with is for the inertia. */
static mpk_status factorize(work *w) {
    mpki_ask_for_rank(w->ctx, w->job->goal == MPK_GOAL_FACTORIZE);
    mpk_status status = w->job->factor ? mpki_job_factor(w->ctx, w->job, w->problem, w->an, &w->fac)
                                       : mpk_factorize(w->ctx, w->an, NULL, &w->options, &w->fac);
    mpki_ask_for_rank(w->ctx, false);
    if (!mpk_failed(status) && w->job->goal == MPK_GOAL_FACTORIZE)
        status = mpki_worse(status, mpki_certify(w->ctx, w->fac, NULL));
    tell(w);
    return status;
}

/* What a solve has to say of its outcome. */
static mpk_status solved(work *w, mpk_status status) {
    w->message[0] = '\0';
    if (status > 0) {
        const char *text;
        mpk_last_error(w->ctx, NULL, NULL, &text);
        snprintf(w->message, sizeof w->message, "%s", text);
    }
    return status;
}

static mpk_status solve(work *w) {
    const int32_t n = w->run.problem.n;
    const double began = mpki_trace_begin(w->ctx);
    const mpk_status status = w->job->minimum_norm
                                  ? shortest(w)
                                  : mpki_solve(w->ctx, w->fac, w->run.nrhs, w->x, n, w->x, n,
                                               &w->options, &w->run.solve, &w->history);
    mpki_trace_end(w->ctx, MPKI_LANE_CALLER, "solve", -1, began);
    tell(w); /* in doubt a solve has examined the inertia */
    w->run.have_solve = !mpk_failed(status);
    return solved(w, status);
}

/* w->x := entries of the inverse; NULL where there is none. */
static mpk_status invert(work *w) {
    const mpk_selection what = (mpk_selection)w->job->selection;
    const size_t bytes = mpk_selected_size(w->fac, what);
    w->run.selection = what;
    w->x = mpki_alloc(w->ctx, "inverse", 1, bytes);
    if (!w->x) return mpki_failed(w->ctx);
    const double began = mpki_trace_begin(w->ctx);
    const mpk_status status =
        mpki_selected_inverse(w->ctx, w->fac, what, w->x, bytes, &w->options, &w->run.selected);
    mpki_trace_end(w->ctx, MPKI_LANE_CALLER, "inverse", -1, began);
    w->run.have_selected = !mpk_failed(status) && status != MPK_SINGULAR;
    if (!w->run.have_selected) mpki_release(w->ctx, w->x), w->x = NULL;
    return solved(w, status);
}

/* ---- energy ---------------------------------------------------------------------------------- */

/* What was taken since the last look; NULL: it does not count. Returns whether that was too short. */
static bool look(work *w, double *cpu_j, double *gpu_j) {
    double cpu, gpu;
    if (!w->meter) return false;
    mpki_meter_read(w->meter, &cpu, &gpu);
    const double now = mpki_now_s(), least = mpki_meter_least(w->meter);
    const bool brief = now - w->looked < least;
    w->looked = now;
    if (cpu_j) *cpu_j = cpu;
    if (gpu_j) *gpu_j = brief ? -1 : gpu;
    return brief;
}

static mpk_status start_meter(work *w) {
    mpk_energy *e = &w->run.energy;
    const int gpu = w->options.device == MPK_ON_CPU ? -1 : w->options.device_number;
    e->asked = 1;
    e->factorize_cpu_j = e->solve_cpu_j = e->factorize_gpu_j = e->solve_gpu_j = -1;
    const mpk_status status =
        mpki_meter_open(w->ctx, NULL, gpu, e->no_cpu, e->no_gpu, sizeof e->no_cpu, &w->meter);
    look(w, NULL, NULL); /* to open it takes a while */
    return status;
}

static void say_brief(work *w) {
    mpk_energy *e = &w->run.energy;
    if (!*e->no_gpu)
        snprintf(e->no_gpu, sizeof e->no_gpu, "too short for its counter, which takes %g s",
                 mpki_meter_least(w->meter));
}

static mpk_status factorize_again(void *data) {
    work *w = data;
    return mpk_refactorize(w->ctx, NULL, &w->options, w->fac);
}
static mpk_status solve_again(void *data) {
    work *w = data;
    const int32_t n = w->run.problem.n;
    return mpk_solve(w->ctx, w->fac, w->run.nrhs, w->b, n, w->x, n, &w->options, NULL);
}

/* Steps that were too short for the meter once more, as often as it takes. Outputs are written. */
static void repeat_brief(work *w) {
    mpk_energy *e = &w->run.energy;
    if (!w->brief[0] && !w->brief[1]) return;
    if (!w->message[0]) (void)solved(w, mpki_failed(w->ctx)); /* what the run has to say */
    const double least = mpki_meter_least(w->meter);
    if (w->brief[1] && w->b)
        (void)mpki_meter_repeat(w->meter, least, solve_again, w, &e->solve_cpu_j, &e->solve_gpu_j,
                                &w->run.energy_solves);
    if (w->brief[0] && !w->job->factor && !w->job->trace)
        (void)mpki_meter_repeat(w->meter, least, factorize_again, w, &e->factorize_cpu_j,
                                &e->factorize_gpu_j, &w->run.energy_factorizations);
    if (e->factorize_gpu_j < 0 && e->solve_gpu_j < 0) say_brief(w);
}

/* A method that was given, as far as the job's goal. */
static mpk_status run_method(work *w) {
    static mpk_status (*const steps[])(work *) = {analyse, factorize, solve};
    const int count = w->job->goal == MPK_GOAL_INVERSE ? 2 : (int)w->job->goal;
    mpk_status status = MPK_OK;
    mpk_energy *e = &w->run.energy;
    double *const to[][2] = {{NULL, NULL},
                             {&e->factorize_cpu_j, &e->factorize_gpu_j},
                             {&e->solve_cpu_j, &e->solve_gpu_j}};
    for (int k = 0; k < count && !mpk_failed(status); k++) {
        status = mpki_worse(status, steps[k](w));
        const bool brief = look(w, to[k][0], to[k][1]);
        if (k > 0 && !mpk_failed(status)) w->brief[k - 1] = brief;
    }
    if (w->job->goal == MPK_GOAL_INVERSE && !mpk_failed(status)) {
        status = mpki_worse(status, invert(w));
        w->brief[1] = look(w, to[2][0], to[2][1]);
    }
    return status;
}

/* Method auto: the three steps in one, as often as it takes. */
static mpk_status run_auto(work *w) {
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
    w->run.have_solve = !mpk_failed(status);
    if (!mpk_failed(status)) {
        w->run.solve = r.solve;
        w->options = r.options;
    }
    return solved(w, status);
}

static mpk_status run_dense(work *w) {
    if (w->run.problem.symmetry == MPK_GENERAL)
        return mpki_error(w->ctx, MPK_ERR_UNSUPPORTED, "dense", -1,
                          "the matrix is not symmetric, and dense methods are for matrices that "
                          "are: --dense off solves it as a sparse one");
    const mpk_status status = mpki_dense_solve_problem(w->ctx, &w->run.problem, &w->options,
                                                       w->dense, w->run.nrhs, w->x, &w->run.dense);
    w->run.have_dense = !mpk_failed(status);
    if (w->run.have_dense) w->run.backend = w->run.dense.engine;
    return solved(w, status);
}

/* For solves that are repeated. */
static mpk_status keep_sides(work *w) {
    const size_t size = mpk_scalar_size(w->run.problem.scalar);
    const int64_t count = (int64_t)w->run.problem.n * w->run.nrhs;
    w->b = mpki_alloc(w->ctx, "energy", count, size);
    if (!w->b) return mpki_failed(w->ctx);
    memcpy(w->b, w->x, (size_t)count * size);
    return MPK_OK;
}

static mpk_status run(work *w) {
    if (w->job->goal == MPK_GOAL_READ) return MPK_OK;
    if (w->job->goal == MPK_GOAL_SOLVE) {
        w->history.size =
            w->options.max_iterations < HISTORY_MOST ? w->options.max_iterations : HISTORY_MOST;
        w->history.residual = MPKI_NEW(w->ctx, "solve", w->history.size, double);
        if (!w->history.residual) return mpki_failed(w->ctx);
    }
    const bool choose = w->job->goal == MPK_GOAL_SOLVE && w->options.method == MPK_METHOD_AUTO;
    const bool whole = is_dense(w) || choose;
    if (w->job->energy && mpk_failed(start_meter(w))) return mpki_failed(w->ctx);
    if (mpki_meter_least(w->meter) > 0 && !whole && w->job->goal == MPK_GOAL_SOLVE &&
        !w->job->minimum_norm && !w->job->trace && mpk_failed(keep_sides(w)))
        return mpki_failed(w->ctx);
    const mpk_status status = is_dense(w) ? run_dense(w) : choose ? run_auto(w) : run_method(w);
    if (whole && look(w, &w->run.energy.solve_cpu_j, &w->run.energy.solve_gpu_j)) say_brief(w);
    w->run.history = w->history.residual;
    w->run.history_count = w->history.count;
    return status;
}

/* ---- what comes of it ------------------------------------------------------------------------ */

static mpk_status write_inverse(const work *w) {
    const mpk_problem_view *a = &w->run.problem;
    mpk_problem *inverse = NULL;
    if (!w->x) return MPK_OK;
    if (w->run.selection == MPK_SELECT_DIAGONAL)
        return mpk_rhs_write(w->ctx, w->job->output, a->n, a->scalar, 1, w->x, a->n);
    mpk_status status = mpk_problem_from_csc(w->ctx, a->n, a->scalar, a->symmetry, MPK_LOWER, a->ap,
                                             a->ai, w->x, &inverse);
    if (!mpk_failed(status)) status = mpk_problem_write(w->ctx, inverse, w->job->output);
    mpk_problem_destroy(&inverse);
    return status;
}

static mpk_status write_kernel(work *w) {
    const mpk_problem_view *a = &w->run.problem;
    mpk_null_info found = {0};
    void *basis = NULL;
    (void)solved(w, mpki_failed(w->ctx)); /* what the factorization has to say */
    mpki_clear_error(w->ctx);
    mpk_status status = mpki_null_usable(w->ctx, "null space", w->fac);
    if (!mpk_failed(status))
        status = mpki_null_all(w->ctx, w->fac, w->options.threads, &basis, &found, NULL);
    if (status > 0) (void)solved(w, status);
    if (!mpk_failed(status)) {
        w->run.nrhs = found.dimension;
        const mpk_status fits = check_output(w);
        w->run.nrhs = 0;
        status = mpki_worse(status, fits);
    }
    if (!mpk_failed(status))
        status = mpki_worse(status, mpk_rhs_write(w->ctx, w->job->output, a->n, a->scalar,
                                                  found.dimension, basis, a->n));
    mpki_release(w->ctx, basis);
    return status;
}

static mpk_status write_saved(work *w) {
    const mpk_job *job = w->job;
    if (!job->save && !job->tree) return MPK_OK;
    (void)solved(w, mpki_failed(w->ctx)); /* what the run has to say */
    if (job->save && w->fac) {
        const double bytes = (double)w->run.factor.bytes;
        const mpk_status fits = check_bytes(w, job->save, bytes, bytes);
        if (mpk_failed(fits)) return fits;
    }
    return mpki_job_save(w->ctx, job, w->an, w->fac);
}

static mpk_status write_output(work *w) {
    const mpk_problem_view *a = &w->run.problem;
    if (!w->job->output) return MPK_OK;
    if (w->job->goal == MPK_GOAL_FACTORIZE) return write_kernel(w);
    if (w->job->goal == MPK_GOAL_READ) return mpk_problem_write(w->ctx, w->problem, w->job->output);
    if (w->job->goal == MPK_GOAL_INVERSE) return write_inverse(w);
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
    if (status > 0 && w->message[0]) w->run.message = w->message;
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
    MPKI_CALM;
    mpki_clear_error(ctx);
    mpk_job whole = {0};
    const bool filled = mpki_read_struct(&whole, sizeof whole, job, offsetof(mpk_job, asked));
    job = &whole;
    if (!ctx || !filled || !report || *report || (!job->matrix && !job->generate))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "job", -1, "the job names no matrix or no report");
    work w = {.ctx = ctx, .job = job};
    w.run.source = job->matrix ? job->matrix : job->generate;
    w.run.loaded = job->factor ? 2 : job->analysis ? 1 : 0;
    mpk_status status = mpki_options_resolve(ctx, options, &w.options);
    const bool direct = job->goal == MPK_GOAL_INVERSE || job->minimum_norm ||
                        mpki_job_instead(job) || (job->goal != MPK_GOAL_ANALYSE && job->save);
    if (direct && w.options.method == MPK_METHOD_AUTO) w.options.method = MPK_METHOD_LDLT;
    const mpki_engine *engine =
        mpk_failed(status) ? NULL : mpki_engine_of(ctx, NULL, &w.options); /* is it there? */
    if (engine)
        w.run.backend = engine->name(ctx);
    else if (!mpk_failed(status))
        status = mpki_failed(ctx);
    if (!mpk_failed(status) && (unsigned)job->goal > MPK_GOAL_INVERSE)
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, "job", -1,
                            "goal = %d: expected one from %d (read) to %d (inverse)",
                            (int)job->goal, MPK_GOAL_READ, MPK_GOAL_INVERSE);
    if (!mpk_failed(status) && job->goal == MPK_GOAL_INVERSE &&
        (uint64_t)job->selection > MPK_SELECT_PATTERN)
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, "job", -1, "there is no selection %lld",
                            (long long)job->selection);
    /* the pattern is sparse, and a .npy file would have zeros where the inverse has none */
    if (!mpk_failed(status) && job->goal == MPK_GOAL_INVERSE &&
        job->selection == MPK_SELECT_PATTERN && job->output &&
        !mpki_problem_sparse_named(job->output))
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, "job", -1,
                            "%s: entries on a pattern are written as .mtx", job->output);
    if (!mpk_failed(status) && !!job->analysis + !!job->factor + !!job->given_tree > 1)
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, "job", -1,
                            "an analysis, a factor and a tree: one of them at most");
    if (!mpk_failed(status)) status = look_at_dense(&w);
    if (!mpk_failed(status)) status = load(&w);
    if (!mpk_failed(status)) status = run(&w);
    if (!mpk_failed(status)) status = mpki_worse(status, write_output(&w));
    if (!mpk_failed(status)) status = mpki_worse(status, write_saved(&w));
    if (!mpk_failed(status)) repeat_brief(&w);
    mpki_meter_close(&w.meter);
    status = make_report(&w, status, report);
    mpki_release(ctx, w.x);
    mpki_release(ctx, w.b);
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
