/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the commands around mpk_job_run: the matrix, the report, the exit code. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What no table of options tells: options of where the matrix comes from. */
static int check_source(const cli_args *args) {
    const mpk_option *o;
    const bool only_reads = args->command & (CLI_INFO | CLI_CONVERT);
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        if (!cli_typed(args, k)) continue;
        if (only_reads && !args->generate && !strcmp(o->key, "seed"))
            return cli_usage_error(args, "option --seed is read with --generate alone");
        if (args->generate && !strcmp(o->key, "symmetry_tolerance"))
            return cli_usage_error(args, "option --symmetry-tolerance is read of files alone");
    }
    return 0;
}

int cli_matrix(const cli_args *args, mpk_job *job) {
    if (args->nwords > 1 && args->command != CLI_SYSTEMS)
        return cli_usage_error(args, "unexpected '%s': one matrix is enough%s", args->words[1],
                               args->command == CLI_SOLVE ? " (-b B gives the right-hand side)"
                                                          : "");
    if (args->generate && args->nwords)
        return cli_usage_error(args, "both a file ('%s') and --generate name the matrix",
                               args->words[0]);
    if (!args->generate && !args->nwords)
        return cli_usage_error(args,
                               "no matrix: give a file, - for standard input, or --generate SPEC");
    if (args->options.ordering == MPK_ORDERING_GIVEN && !args->perm)
        return cli_usage_error(args, "--ordering given needs --given-perm FILE");
    if (args->perm && args->options.ordering != MPK_ORDERING_GIVEN)
        return cli_usage_error(args, "--given-perm is for --ordering given");
    if ((args->given_blocks || args->given_pivots) &&
        args->options.ordering != MPK_ORDERING_GIVEN &&
        args->options.ordering != MPK_ORDERING_NATURAL)
        return cli_usage_error(args, "--given-%s is for --ordering given or natural",
                               args->given_blocks ? "blocks" : "pivots");
    const char *const other[][2] = {{args->analysis, "analysis"},
                                    {args->factor, "factor"},
                                    {args->given_tree, "given-tree"},
                                    {args->perm, "given-perm"}};
    for (int k = 0, before = -1; k < 4; k++) {
        if (!other[k][0]) continue;
        if (before >= 0)
            return cli_usage_error(args, "--%s and --%s each say the order: one is enough",
                                   other[before][1], other[k][1]);
        before = k;
    }
    const int code = check_source(args);
    if (code) return code;
    uint64_t asked[2];
    cli_asked(args, asked);
    job->asked = asked[0], job->asked_more = asked[1];
    job->most_bytes = args->force ? 0 : CLI_MOST_BYTES;
    job->struct_size = sizeof *job;
    job->matrix = args->nwords ? args->words[0] : NULL;
    job->generate = args->generate;
    job->perm = args->perm;
    job->analysis = args->analysis;
    job->factor = args->factor;
    job->given_tree = args->given_tree;
    job->save = args->save;
    job->tree = args->tree;
    job->given_blocks = args->given_blocks;
    job->given_pivots = args->given_pivots;
    job->plot = args->plot;
    job->trace = args->trace;
    job->energy = args->energy;
    return 0;
}

/* Why a matrix has no inertia, where that was asked for; NULL: it has. */
static const char *no_inertia(const cli_args *args, const mpk_report *report) {
    const mpk_run *run = report ? mpk_report_run(report) : NULL;
    if (args->command != CLI_INERTIA || !run || run->problem.n == 0) return NULL;
    if (run->problem.symmetry == MPK_GENERAL)
        return "the matrix is not symmetric: it has no inertia";
    const bool complex = run->problem.scalar == MPK_C || run->problem.scalar == MPK_Z;
    return complex && run->problem.symmetry == MPK_SYMMETRIC
               ? "the matrix is complex symmetric, not Hermitian: it has no inertia"
               : NULL;
}

/* Print the report as text, or one line if there is only a failure. */
static void tell(const cli_args *args, const mpk_report *report, mpk_status status) {
    const mpk_run *run = mpk_report_run(report);
    const char *text = mpk_status_text(status);
    if (run && (!mpk_failed(status) || run->have_analysis) && !args->quiet) {
        const bool result = args->command & (CLI_ANALYSE | CLI_INFO) && !mpk_failed(status);
        FILE *out = result ? cli_result(args) : stderr;
        fputs(mpk_report_text(report), out);
        const bool nothing = args->command == CLI_INVERSE && !run->have_selected;
        if (!mpk_failed(status) && !nothing) cli_tell_written(args, out);
    } else if (mpk_exit_code(status) != 0) {
        if (run && run->message && *run->message) text = run->message;
        const bool more = run && status == MPK_NOT_CONVERGED &&
                          run->solve.krylov.iterations >= run->options.max_iterations;
        fprintf(stderr, "metapack %s: %s%s\n", args->name, text,
                more ? "; --max-iterations allows more" : "");
    }
}

/* What was asked for: "38 29 0". */
static void print_inertia(const mpk_report *report, FILE *out) {
    const mpk_run *run = mpk_report_run(report);
    const mpk_inertia *in = &run->factor.inertia;
    if (!run->have_factor) return;
    fprintf(out, "%lld %lld %lld\n", (long long)in->positive, (long long)in->negative,
            (long long)in->zero);
}

static void print_json(const cli_args *args, const mpk_report *report, const cli_backend *there) {
    if (there)
        cli_backend_json(args, there, mpk_report_json(report), stdout);
    else
        fputs(mpk_report_json(report), stdout);
}

int cli_run(const cli_args *args, const mpk_job *job, const cli_backend *there) {
    cli_progress progress;
    mpk_report *report = NULL;
    cli_progress_begin(&progress, args->ctx, args->progress);
    mpk_status status = mpk_job_run(args->ctx, job, &args->options, &report);
    const int stopped = cli_progress_end(&progress, args->ctx);
    const char *none = no_inertia(args, report);
    int code = mpk_exit_code(status);
    if (stopped && mpk_failed(status)) { /* it may have been reported as a failed read */
        fprintf(stderr, "metapack %s: interrupted\n", args->name);
        cli_print_failure(args, MPK_ERR_CANCELLED, "interrupted");
        code = CLI_SIGNALLED + stopped;
    } else if (none && status != MPK_ERR_CANCELLED) {
        fprintf(stderr, "metapack %s: %s\n", args->name, none);
        cli_print_failure(args, MPK_ERR_INPUT, none);
        code = mpk_exit_code(MPK_ERR_INPUT);
    } else {
        tell(args, report, status);
        if (args->json && report)
            print_json(args, report, there);
        else if (args->command == CLI_INERTIA && report && !mpk_failed(status))
            print_inertia(report, cli_result(args));
    }
    mpk_report_destroy(&report);
    return code;
}
