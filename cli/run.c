/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the commands around mpk_job_run: the matrix, the report, the exit code. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_matrix(const cli_args *args, mpk_job *job) {
    if (args->nwords > 1)
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
    job->struct_size = sizeof *job;
    job->matrix = args->nwords ? args->words[0] : NULL;
    job->generate = args->generate;
    job->perm = args->perm;
    job->given_blocks = args->given_blocks;
    job->given_pivots = args->given_pivots;
    job->plot = args->plot;
    job->trace = args->trace;
    return 0;
}

/* Was the inertia asked for of a matrix that has none? */
static bool no_inertia(const cli_args *args, const mpk_report *report) {
    const mpk_run *run = report ? mpk_report_run(report) : NULL;
    return args->command == CLI_INERTIA && run && run->problem.symmetry == MPK_GENERAL;
}

/* Print the report as text, or one line if there is only a failure. */
static void tell(const cli_args *args, const mpk_report *report, mpk_status status) {
    const mpk_run *run = mpk_report_run(report);
    const char *text = mpk_status_text(status);
    if (run && (!mpk_failed(status) || run->have_analysis) && !args->quiet) {
        fputs(mpk_report_text(report), stderr);
    } else if (mpk_exit_code(status) != 0) {
        if (run && run->message && *run->message) text = run->message;
        if (no_inertia(args, report)) text = "the matrix is not symmetric: it has no inertia";
        fprintf(stderr, "metapack %s: %s\n", args->name, text);
    }
}

/* What was asked for: "38 29 0". Not of a matrix that has no inertia. */
static void print_inertia(const mpk_report *report) {
    const mpk_run *run = mpk_report_run(report);
    const bool complex = run->problem.scalar == MPK_C || run->problem.scalar == MPK_Z;
    const mpk_inertia *in = &run->factor.inertia;
    if (!run->have_factor || run->problem.symmetry == MPK_GENERAL ||
        (complex && run->problem.symmetry == MPK_SYMMETRIC))
        return;
    printf("%lld %lld %lld\n", (long long)in->positive, (long long)in->negative,
           (long long)in->zero);
}

int cli_run(const cli_args *args, const mpk_job *job, const cli_backend *there) {
    cli_progress progress;
    mpk_report *report = NULL;
    if (args->json && job->output && !strcmp(job->output, "-"))
        return cli_usage_error(args,
                               "standard output cannot take both --json and the data: -o FILE");
    cli_progress_begin(&progress, args->ctx, args->progress);
    mpk_status status = mpk_job_run(args->ctx, job, &args->options, &report);
    bool interrupted = cli_progress_end(&progress, args->ctx);
    if (interrupted && mpk_failed(status)) { /* it may have been reported as a failed read */
        status = MPK_ERR_CANCELLED;
        fprintf(stderr, "metapack %s: interrupted\n", args->name);
        cli_print_failure(args, status, "interrupted");
    } else {
        tell(args, report, status);
        if (args->json && report && there)
            cli_backend_json(args, there, mpk_report_json(report), stdout);
        else if (args->json && report)
            fputs(mpk_report_json(report), stdout);
        else if (args->command == CLI_INERTIA && report && !mpk_failed(status))
            print_inertia(report);
    }
    const bool none = no_inertia(args, report);
    mpk_report_destroy(&report);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "metapack %s: standard output cannot be written\n", args->name);
        return CLI_EXIT_FILE;
    }
    return mpk_exit_code(none && !mpk_failed(status) ? MPK_ERR_UNSUPPORTED : status);
}

char *cli_read_text(const char *path) {
    enum { MOST = 16 << 20, CHUNK = 1 << 16 };
    FILE *f = fopen(path, "rb");
    size_t count = 0, room = CHUNK, got = 1;
    char *text = f ? malloc(room + 1) : NULL;
    while (text && got) {
        got = fread(text + count, 1, room - count, f);
        count += got;
        if (count < room) continue;
        char *more = room < MOST ? realloc(text, 2 * room + 1) : NULL;
        if (!more) {
            errno = room < MOST ? ENOMEM : EFBIG;
            free(text);
        }
        text = more;
        room *= 2;
    }
    const bool bad = text && ferror(f);
    const int error = errno;
    if (f) fclose(f);
    errno = error;
    if (bad) {
        free(text);
        return NULL;
    }
    if (text) text[count] = 0;
    return text;
}
