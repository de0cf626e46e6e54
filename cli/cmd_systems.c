/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack systems: many systems of A's pattern, each with values of its own; or matrices of any
 * patterns. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A run, and what it is about. */
typedef struct run {
    cli_args *args;
    mpk_context *ctx;
    mpk_problem **problem; /* one, or one for each system */
    mpk_problem_view a;    /* of the first */
    int32_t problems;
    mpk_analysis *an;
    mpk_systems *systems;
    int32_t count, sides;
    void *values, *b;
    char *x;     /* all solutions, one behind the other */
    int64_t *at; /* count + 1: where each begins */
    int32_t *status, *tier, *certified, *steps;
    int64_t *inertia;
    double *omega, *normwise;
    mpk_systems_info info;
    double read_s, analyse_s, solve_s;
} run;

static bool several(const run *r) {
    return r->args->nwords > 1;
}

static mpk_status read_problems(run *r) {
    const cli_args *args = r->args;
    const int32_t many = several(r) ? args->nwords : 1;
    r->problem = calloc((size_t)many, sizeof *r->problem);
    if (!r->problem) return MPK_ERR_MEMORY;
    mpk_status status =
        mpk_context_set_symmetry_tolerance(r->ctx, args->options.symmetry_tolerance);
    for (; r->problems < many && !mpk_failed(status); r->problems++)
        status = args->generate
                     ? mpk_problem_generate(r->ctx, args->generate, args->options.seed, r->problem)
                     : mpk_problem_read(r->ctx, args->words[r->problems], &r->problem[r->problems]);
    return status;
}

/* One column for all, or one for each; of several matrices one, of all their rows. */
static mpk_status read_sides(run *r) {
    int64_t rows = r->a.n;
    for (int32_t k = 1; k < r->problems; k++) {
        mpk_problem_view v;
        mpk_problem_view_get(r->problem[k], &v);
        rows += v.n;
    }
    if (rows > INT32_MAX) return MPK_ERR_SIZE;
    return mpk_rhs_read(r->ctx, r->args->rhs, (int32_t)rows, r->a.scalar, &r->sides, &r->b);
}

static mpk_status read_all(run *r) {
    const cli_args *args = r->args;
    mpk_status status = read_problems(r);
    if (mpk_failed(status)) return status;
    mpk_problem_view_get(r->problem[0], &r->a);
    if (r->a.nnz > INT32_MAX) return MPK_ERR_SIZE;
    r->count = r->problems;
    if (!several(r))
        status = mpk_rhs_read(r->ctx, args->values, (int32_t)r->a.nnz, r->a.scalar, &r->count,
                              &r->values);
    if (!mpk_failed(status) && args->rhs) status = read_sides(r);
    return status;
}

static bool make_room(run *r) {
    const size_t size = mpk_scalar_size(r->a.scalar), count = (size_t)r->count + 1;
    r->at = calloc(count, sizeof *r->at);
    for (int32_t k = 0; r->at && k < r->count; k++) {
        mpk_problem_view v = r->a;
        if (several(r)) mpk_problem_view_get(r->problem[k], &v);
        r->at[k + 1] = r->at[k] + v.n;
    }
    r->x = r->at ? calloc((size_t)r->at[r->count] + 1, size) : NULL;
    r->status = calloc(count, sizeof *r->status);
    r->tier = calloc(count, sizeof *r->tier);
    r->certified = calloc(count, sizeof *r->certified);
    r->steps = calloc(count, sizeof *r->steps);
    r->inertia = calloc(3 * count, sizeof *r->inertia);
    r->omega = calloc(count, sizeof *r->omega);
    r->normwise = calloc(count, sizeof *r->normwise);
    return r->x && r->status && r->tier && r->certified && r->steps && r->inertia && r->omega &&
           r->normwise;
}

/* A system without a solution has NaN for one: entries from .. to-1. */
static void forget(char *x, int64_t from, int64_t to, mpk_scalar scalar) {
    const int64_t parts = scalar >= MPK_C ? 2 : 1;
    for (int64_t i = from * parts; i < to * parts; i++)
        if (scalar == MPK_S || scalar == MPK_C)
            ((float *)(void *)x)[i] = NAN;
        else
            ((double *)(void *)x)[i] = NAN;
}

static mpk_status create(run *r) {
    const mpk_options *o = &r->args->options;
    const double start_s = cli_now_s();
    /* the processor's order has less fill, and many systems fill a GPU all the same */
    mpk_options of_analysis = *o;
    of_analysis.device = MPK_ON_CPU, of_analysis.device_number = 0;
    mpk_status status =
        several(r)
            ? mpk_systems_create_mixed(r->ctx, r->count, (const mpk_problem *const *)r->problem, o,
                                       NULL, &r->systems)
            : mpk_analyse(r->ctx, r->problem[0], &of_analysis, &r->an);
    r->analyse_s = cli_now_s() - start_s;
    if (several(r) || mpk_failed(status)) return status;
    return mpk_systems_create(r->ctx, r->an, o, NULL, r->count, &r->systems);
}

/* ax, x [out] count pointers */
static mpk_status solve(run *r, void **ax, void **x) {
    const size_t size = mpk_scalar_size(r->a.scalar);
    for (int32_t k = 0; k < r->count; k++) {
        mpk_problem_view v = r->a;
        if (several(r)) mpk_problem_view_get(r->problem[k], &v);
        ax[k] = several(r) ? (void *)(uintptr_t)v.ax
                           : (char *)r->values + (size_t)k * (size_t)r->a.nnz * size;
        x[k] = r->x + (size_t)r->at[k] * size;
    }
    const mpk_batch_array values = {.layout = MPK_BATCH_POINTERS, .data = ax, .ld = 1};
    const mpk_batch_array sides = {
        .layout = MPK_BATCH_POINTERS, .data = x, .ld = r->a.n > 0 ? r->a.n : 1};
    const mpk_systems_results results = {.status = r->status,
                                         .tier = r->tier,
                                         .inertia = r->inertia,
                                         .certified = r->certified,
                                         .steps = r->steps,
                                         .omega = r->omega,
                                         .normwise = r->normwise};
    if (!r->b) return mpk_systems_factorize(r->ctx, r->systems, &values, NULL, &results);
    const size_t bytes = (size_t)r->at[r->count] * size, column = (size_t)r->a.n * size;
    for (size_t k = 0; k < bytes; k++)
        r->x[k] = ((const char *)r->b)[several(r) || r->sides > 1 ? k : k % column];
    return mpk_systems_factorize_solve(r->ctx, r->systems, &values, 1, &sides, &sides, 0, NULL,
                                       &results);
}

static mpk_status compute(run *r) {
    const double start_s = cli_now_s();
    void **list = calloc(2 * (size_t)r->count + 1, sizeof *list);
    mpk_status status = list ? create(r) : MPK_ERR_MEMORY;
    if (!mpk_failed(status)) status = solve(r, list, list + r->count);
    free(list);
    r->solve_s = cli_now_s() - start_s - r->analyse_s;
    mpk_systems_info_get(r->systems, &r->info);
    if (mpk_failed(status) || !r->args->output) return status;
    for (int32_t k = 0; k < r->count; k++)
        if (mpk_failed(r->status[k])) forget(r->x, r->at[k], r->at[k + 1], r->a.scalar);
    const int32_t rows = several(r) ? (int32_t)r->at[r->count] : r->a.n;
    const mpk_status written = mpk_rhs_write(r->ctx, r->args->output, rows, r->a.scalar,
                                             several(r) ? 1 : r->count, r->x, rows);
    return mpk_failed(written) ? written : status;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static bool has_inertia(const run *r, int32_t k) {
    mpk_problem_view v = r->a;
    if (several(r)) mpk_problem_view_get(r->problem[k], &v);
    return v.symmetry != MPK_GENERAL;
}

static void tell_json(const run *r, mpk_status status, FILE *out) {
    fprintf(out,
            "{ \"schema\": \"metapack-systems/1\", \"version\": \"%s\", \"n\": %d, \"nnz\": %lld, "
            "\"count\": %d, \"patterns\": %lld, \"status\": \"%s\", \"by_template\": %lld, "
            "\"by_own\": %lld, \"by_single\": %lld, \"width\": %d, \"time_s\": { \"read\": %.6f, "
            "\"analyse\": %.6f, "
            "\"solve\": %.6f }, "
            "\"systems\": [",
            mpk_version(), r->info.n, (long long)r->a.nnz, r->count, (long long)r->info.patterns,
            mpk_status_name(status), (long long)r->info.by_template, (long long)r->info.by_own,
            (long long)r->info.by_single, r->info.width, r->read_s, r->analyse_s, r->solve_s);
    for (int32_t k = 0; k < r->count; k++) {
        const int64_t *in = r->inertia + 3 * k;
        fprintf(out, "%s{ \"status\": \"%s\", \"tier\": %d, \"n\": %lld", k ? ", " : " ",
                mpk_status_name((mpk_status)r->status[k]), r->tier[k],
                (long long)(r->at[k + 1] - r->at[k]));
        if (has_inertia(r, k))
            fprintf(out,
                    ", \"inertia\": { \"positive\": %lld, \"negative\": %lld, \"zero\": %lld, "
                    "\"certified\": %s }",
                    (long long)in[0], (long long)in[1], (long long)in[2],
                    r->certified[k] ? "true" : "false");
        if (r->b && !mpk_failed((mpk_status)r->status[k]))
            fprintf(out, ", \"steps\": %d, \"componentwise\": %.3e, \"normwise\": %.3e",
                    r->steps[k], r->omega[k], r->normwise[k]);
        fprintf(out, " }");
    }
    fprintf(out, " ] }\n");
}

static void tell(const run *r, mpk_status status) {
    FILE *out = cli_result(r->args);
    if (r->args->json) {
        tell_json(r, status, cli_is_piped(r->args) ? stderr : stdout);
        return;
    }
    for (int32_t k = 0; !r->args->quiet && k < r->count; k++) {
        const int64_t *in = r->inertia + 3 * k;
        fprintf(out, "%d %s", k + 1, mpk_status_name((mpk_status)r->status[k]));
        if (has_inertia(r, k))
            fprintf(out, " %lld %lld %lld%s", (long long)in[0], (long long)in[1], (long long)in[2],
                    r->certified[k] ? " certified" : "");
        if (r->b && !mpk_failed((mpk_status)r->status[k])) fprintf(out, " %.1e", r->omega[k]);
        fprintf(out, "\n");
    }
    if (r->args->quiet) return;
    const char *reason = r->info.by_single > 0 ? r->info.reason : "";
    fprintf(stderr, "%d systems, %lld pattern%s, order %d%s: %lld by a template, ", r->count,
            (long long)r->info.patterns, r->info.patterns == 1 ? "" : "s", r->info.n,
            r->info.patterns == 1 ? "" : " at most", (long long)r->info.by_template);
    fprintf(stderr, "%lld with pivots of their own, %lld by the single engine%s%s\n",
            (long long)r->info.by_own, (long long)r->info.by_single, *reason ? ": " : "", reason);
    fprintf(stderr, "analysed in %.3g s, factorized%s in %.3g s\n", r->analyse_s,
            r->b ? " and solved" : "", r->solve_s);
}

static void run_free(run *r) {
    mpk_systems_destroy(&r->systems);
    mpk_analysis_destroy(&r->an);
    for (int32_t k = 0; k < r->problems; k++) mpk_problem_destroy(&r->problem[k]);
    free(r->problem), free(r->at);
    mpk_free(r->ctx, &r->values);
    mpk_free(r->ctx, &r->b);
    free(r->x), free(r->status), free(r->tier), free(r->certified), free(r->steps);
    free(r->inertia), free(r->omega), free(r->normwise);
}

static int work(run *r) {
    cli_progress progress;
    char text[512] = "";
    const char *said = NULL;
    int code = 0;
    cli_progress_begin(&progress, r->ctx, r->args->progress);
    const double start_s = cli_now_s();
    mpk_status status = read_all(r);
    r->read_s = cli_now_s() - start_s;
    if (!mpk_failed(status) && r->b && several(r) && r->sides != 1)
        code = cli_usage_error(r->args,
                               "--rhs has %d columns: of several matrices one is wanted, the "
                               "right-hand sides one under the other",
                               r->sides);
    else if (!mpk_failed(status) && r->b && r->sides != 1 && r->sides != r->count)
        code = cli_usage_error(r->args, "--rhs has %d columns: 1, or %d, one for each system",
                               r->sides, r->count);
    if (!code && !mpk_failed(status)) status = make_room(r) ? compute(r) : MPK_ERR_MEMORY;
    if (status) mpk_last_error(r->ctx, NULL, NULL, &said);
    snprintf(text, sizeof text, "%s", said && *said ? said : mpk_status_text(status));
    const int stopped = cli_progress_end(&progress, r->ctx);
    if (code) return code;
    if (stopped && mpk_failed(status)) {
        fprintf(stderr, "metapack systems: interrupted\n");
        cli_print_failure(r->args, MPK_ERR_CANCELLED, "interrupted");
        return CLI_SIGNALLED + stopped;
    }
    code = mpk_exit_code(status);
    if (code) fprintf(stderr, "metapack systems: %s\n", text);
    if (mpk_failed(status))
        cli_print_failure(r->args, status, text);
    else
        tell(r, status);
    return code;
}

/** metapack systems A --values V [-b B] [-o X]: each column of V has the values of a system.
 *  metapack systems A1 A2 ... [-b B] [-o X]: each matrix is a system. */
int cmd_systems(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_FACTORIZE};
    if (args->options.ordering == MPK_ORDERING_GIVEN)
        return cli_usage_error(args, "--ordering given is not for systems");
    int code = cli_matrix(args, &job);
    if (code) return code;
    if (!args->values && args->nwords < 2)
        return cli_usage_error(args, "no values: --values V, a column for each system; or give "
                                     "several matrices");
    if (args->values && args->nwords > 1)
        return cli_usage_error(args, "--values V is for one matrix, and %d are given",
                               args->nwords);
    if (args->output && !args->rhs)
        return cli_usage_error(args, "--output X needs right-hand sides: -b B");
    args->options.method = MPK_METHOD_LDLT;
    code = cli_check_read(args);
    if (code) return code;
    run r = {.args = args, .ctx = args->ctx};
    code = work(&r);
    run_free(&r);
    return cli_flush(args, code);
}
