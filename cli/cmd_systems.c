/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack systems: many systems of A's pattern, each with values of its own. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A run, and what it is about. */
typedef struct run {
    cli_args *args;
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_analysis *an;
    mpk_systems *systems;
    int32_t count, sides;
    void *values, *b;
    char *x; /* n x count */
    int32_t *status, *tier, *certified, *steps;
    int64_t *inertia;
    double *omega, *normwise;
    mpk_systems_info info;
    double read_s, analyse_s, solve_s;
} run;

static mpk_status read_all(run *r) {
    mpk_context *ctx = r->ctx;
    const cli_args *args = r->args;
    mpk_status status = mpk_context_set_symmetry_tolerance(ctx, args->options.symmetry_tolerance);
    if (!mpk_failed(status))
        status = args->generate
                     ? mpk_problem_generate(ctx, args->generate, args->options.seed, &r->problem)
                     : mpk_problem_read(ctx, args->words[0], &r->problem);
    if (mpk_failed(status)) return status;
    mpk_problem_view_get(r->problem, &r->a);
    if (r->a.nnz > INT32_MAX) return MPK_ERR_SIZE;
    status = mpk_rhs_read(ctx, args->values, (int32_t)r->a.nnz, r->a.scalar, &r->count, &r->values);
    if (!mpk_failed(status) && args->rhs)
        status = mpk_rhs_read(ctx, args->rhs, r->a.n, r->a.scalar, &r->sides, &r->b);
    return status;
}

static bool make_room(run *r) {
    const size_t size = mpk_scalar_size(r->a.scalar), count = (size_t)r->count + 1;
    r->x = calloc((size_t)r->a.n * count, size);
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

/* A system without a solution has NaN for one. */
static void forget(char *x, int64_t n, int32_t k, mpk_scalar scalar) {
    const int64_t parts = n * (scalar >= MPK_C ? 2 : 1);
    for (int64_t i = k * parts; i < (k + 1) * parts; i++)
        if (scalar == MPK_S || scalar == MPK_C)
            ((float *)(void *)x)[i] = NAN;
        else
            ((double *)(void *)x)[i] = NAN;
}

static mpk_status compute(run *r) {
    const double start_s = cli_now_s();
    const int64_t n = r->a.n;
    /* the processor's order has less fill, and many systems fill a GPU all the same */
    mpk_options of_analysis = r->args->options;
    of_analysis.device = MPK_ON_CPU, of_analysis.device_number = 0;
    mpk_status status = mpk_analyse(r->ctx, r->problem, &of_analysis, &r->an);
    r->analyse_s = cli_now_s() - start_s;
    if (mpk_failed(status)) return status;
    status = mpk_systems_create(r->ctx, r->an, &r->args->options, NULL, r->count, &r->systems);
    if (mpk_failed(status)) return status;
    const mpk_batch_array ax = {MPK_BATCH_STRIDED,           MPK_HOST, r->values,
                                r->a.nnz > 0 ? r->a.nnz : 1, 1,        1};
    const mpk_batch_array x = {MPK_BATCH_STRIDED,       MPK_HOST, r->x, n > 0 ? n : 1,
                               r->a.n > 0 ? r->a.n : 1, 1};
    const mpk_systems_results results = {.status = r->status,
                                         .tier = r->tier,
                                         .inertia = r->inertia,
                                         .certified = r->certified,
                                         .steps = r->steps,
                                         .omega = r->omega,
                                         .normwise = r->normwise};
    if (r->b) {
        const size_t column = (size_t)n * mpk_scalar_size(r->a.scalar);
        for (size_t k = 0; k < (size_t)r->count * column; k++)
            r->x[k] = ((const char *)r->b)[r->sides == 1 ? k % column : k];
        status = mpk_systems_factorize_solve(r->ctx, r->systems, &ax, 1, &x, &x, 0, NULL, &results);
    } else {
        status = mpk_systems_factorize(r->ctx, r->systems, &ax, NULL, &results);
    }
    r->solve_s = cli_now_s() - start_s - r->analyse_s;
    mpk_systems_info_get(r->systems, &r->info);
    if (mpk_failed(status) || !r->args->output) return status;
    for (int32_t k = 0; k < r->count; k++)
        if (mpk_failed(r->status[k])) forget(r->x, n, k, r->a.scalar);
    const mpk_status written =
        mpk_rhs_write(r->ctx, r->args->output, r->a.n, r->a.scalar, r->count, r->x, r->a.n);
    return mpk_failed(written) ? written : status;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void tell_json(const run *r, mpk_status status, FILE *out) {
    fprintf(out,
            "{ \"schema\": \"metapack-systems/1\", \"version\": \"%s\", \"n\": %d, \"nnz\": %lld, "
            "\"count\": %d, \"status\": \"%s\", \"by_template\": %lld, \"by_single\": %lld, "
            "\"width\": %d, \"time_s\": { \"read\": %.6f, \"analyse\": %.6f, \"solve\": %.6f }, "
            "\"systems\": [",
            mpk_version(), r->a.n, (long long)r->a.nnz, r->count, mpk_status_name(status),
            (long long)r->info.by_template, (long long)r->info.by_single, r->info.width, r->read_s,
            r->analyse_s, r->solve_s);
    for (int32_t k = 0; k < r->count; k++) {
        const int64_t *in = r->inertia + 3 * k;
        fprintf(out,
                "%s{ \"status\": \"%s\", \"tier\": %d, \"inertia\": { \"positive\": %lld, "
                "\"negative\": %lld, \"zero\": %lld, \"certified\": %s }",
                k ? ", " : " ", mpk_status_name((mpk_status)r->status[k]), r->tier[k],
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
        fprintf(out, "%d %s %lld %lld %lld%s", k + 1, mpk_status_name((mpk_status)r->status[k]),
                (long long)in[0], (long long)in[1], (long long)in[2],
                r->certified[k] ? " certified" : "");
        if (r->b && !mpk_failed((mpk_status)r->status[k])) fprintf(out, " %.1e", r->omega[k]);
        fprintf(out, "\n");
    }
    if (r->args->quiet) return;
    fprintf(stderr, "%d systems of order %d: %lld by the template, %lld by the single engine%s%s\n",
            r->count, r->a.n, (long long)r->info.by_template, (long long)r->info.by_single,
            *r->info.reason ? ": " : "", r->info.reason);
    fprintf(stderr, "analysed in %.3g s, factorized%s in %.3g s\n", r->analyse_s,
            r->b ? " and solved" : "", r->solve_s);
}

static void run_free(run *r) {
    mpk_systems_destroy(&r->systems);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
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
    if (!mpk_failed(status) && r->b && r->sides != 1 && r->sides != r->count)
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

/** metapack systems A --values V [-b B] [-o X]: each column of V has the values of a system. */
int cmd_systems(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_FACTORIZE};
    if (args->options.ordering == MPK_ORDERING_GIVEN)
        return cli_usage_error(args, "--ordering given is not for systems");
    int code = cli_matrix(args, &job);
    if (code) return code;
    if (!args->values)
        return cli_usage_error(args, "no values: --values V, a column for each system");
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
