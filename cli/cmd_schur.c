/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack schur: the Schur complement on some variables, to a file. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run, and what it is about. */
typedef struct run {
    cli_args *args;
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_analysis *an;
    mpk_factor *fac;
    int32_t count, *variables;
    char *s;      /* count x count */
    bool written; /* where it was to go */
    mpk_factor_info info;
    double read_s, analyse_s, factorize_s;
} run;

/* The last or the first K. */
static int from_range(run *r, const char *word, bool last) {
    char *end;
    errno = 0;
    const long long k = strtoll(word, &end, 10);
    if (end == word || *end || errno || k < 0 || k > r->a.n)
        return cli_usage_error(r->args, "--variables %s: how many? 0 to %d, the order of A",
                               r->args->variables, r->a.n);
    r->count = (int32_t)k;
    r->variables = malloc(((size_t)k + 1) * sizeof *r->variables);
    for (int32_t i = 0; r->variables && i < r->count; i++)
        r->variables[i] = last ? r->a.n - r->count + i : i;
    return 0;
}

/* Numbers from 1, as rows in the file of the matrix; lines that begin with % or # are comments. */
static int from_file(run *r, const char *path) {
    char *text = cli_read_text(path);
    if (!text) {
        fprintf(stderr, "metapack schur: %s: %s\n", path, strerror(errno));
        cli_print_failure(r->args, MPK_ERR_FILE, strerror(errno));
        return CLI_EXIT_FILE;
    }
    int code = 0, line = 1;
    char *chosen = calloc((size_t)r->a.n + 1, 1);
    r->variables = malloc((strlen(text) / 2 + 2) * sizeof *r->variables);
    for (char *p = text; r->variables && chosen && !code && *p;) {
        const int length = (int)strcspn(p, " \t\r\n,");
        if (*p == '%' || *p == '#') {
            p += strcspn(p, "\n");
        } else if (length == 0) {
            line += *p++ == '\n';
        } else {
            char *end, why[256] = "";
            errno = 0;
            const long long i = strtoll(p, &end, 10);
            if (end != p + length || errno || i < 1 || i > r->a.n)
                snprintf(why, sizeof why,
                         "%.120s, line %d: '%.*s' is no row of A; these are 1 to %d", path, line,
                         length < 40 ? length : 40, p, r->a.n);
            else if (chosen[i]++)
                snprintf(why, sizeof why, "%.120s, line %d: %lld stands there twice", path, line,
                         i);
            if (*why) {
                fprintf(stderr, "metapack schur: %s\n", why);
                cli_print_failure(r->args, MPK_ERR_INPUT, why);
                code = CLI_EXIT_FILE;
            } else {
                r->variables[r->count++] = (int32_t)i - 1;
                p = end;
            }
        }
    }
    if (!chosen) { /* no memory: told by the caller */
        free(r->variables);
        r->variables = NULL;
    }
    free(chosen);
    free(text);
    return code;
}

static int read_variables(run *r) {
    const char *word = r->args->variables;
    if (!strncmp(word, "last:", 5)) return from_range(r, word + 5, true);
    if (!strncmp(word, "first:", 6)) return from_range(r, word + 6, false);
    return from_file(r, word);
}

/* Is S more than anyone expects? At the least its numbers' bytes. */
static int check_size(const run *r) {
    const double bytes = (double)r->count * r->count * (double)mpk_scalar_size(r->a.scalar);
    if (r->args->force || bytes <= CLI_MOST_BYTES) return 0;
    char why[160];
    snprintf(why, sizeof why, "S has %d rows and takes at least %.3g GB; --force writes it",
             r->count, bytes / 1e9);
    fprintf(stderr, "metapack schur: %s\n", why);
    cli_print_failure(r->args, MPK_ERR_SIZE, why);
    return mpk_exit_code(MPK_ERR_SIZE);
}

/* ---- the work -------------------------------------------------------------------------------- */

static mpk_status compute(run *r) {
    const mpk_options *o = &r->args->options;
    const double start_s = cli_now_s();
    mpk_status worst = mpk_analyse_schur(r->ctx, r->problem, o, r->count, r->variables, &r->an);
    r->analyse_s = cli_now_s() - start_s;
    if (mpk_failed(worst)) return worst;
    const mpk_status status = mpk_factorize(r->ctx, r->an, NULL, o, &r->fac);
    r->factorize_s = cli_now_s() - start_s - r->analyse_s;
    if (mpk_failed(status)) return status;
    worst = status;
    const mpk_status asked = mpk_certify(r->ctx, r->fac, NULL);
    mpk_factor_info_get(r->fac, &r->info);
    if (mpk_failed(asked)) return asked;
    const size_t size = mpk_scalar_size(r->a.scalar);
    r->s = malloc((size_t)r->count * (size_t)r->count * size + 1);
    if (!r->s) return MPK_ERR_MEMORY;
    const mpk_status got = mpk_schur_get(r->ctx, r->fac, r->s, r->count);
    if (mpk_failed(got)) return worst == MPK_SINGULAR ? MPK_SINGULAR : got;
    const char *path = r->args->output ? r->args->output : "-";
    const mpk_status written =
        mpk_rhs_write(r->ctx, path, r->count, r->a.scalar, r->count, r->s, r->count);
    r->written = !mpk_failed(written);
    return r->written ? worst : written;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static bool has_inertia(const run *r) {
    return r->a.scalar <= MPK_D || r->a.symmetry == MPK_HERMITIAN;
}

static void tell_json(const run *r, mpk_status status, FILE *out) {
    const mpk_inertia *in = &r->info.inertia;
    fprintf(out,
            "{ \"schema\": \"metapack-schur/1\", \"version\": \"%s\", \"n\": %d, \"nnz\": %lld, "
            "\"outer\": %d, \"status\": \"%s\", \"written\": %s",
            mpk_version(), r->a.n, (long long)r->a.nnz, r->count, mpk_status_name(status),
            r->written ? "true" : "false");
    if (has_inertia(r))
        fprintf(out,
                ", \"inertia\": { \"positive\": %lld, \"negative\": %lld, \"zero\": %lld, "
                "\"certified\": %s }",
                (long long)in->positive, (long long)in->negative, (long long)in->zero,
                in->certified ? "true" : "false");
    fprintf(out,
            ", \"time_s\": { \"read\": %.6f, \"analyse\": %.6f, \"factorize\": %.6f }, "
            "\"factor\": { \"nnz\": %lld, \"flops\": %.6g, \"bytes\": %lld } }\n",
            r->read_s, r->analyse_s, r->factorize_s, (long long)r->info.nnz, r->info.flops,
            (long long)r->info.bytes);
}

static void tell(const run *r, mpk_status status, bool there) {
    const mpk_inertia *in = &r->info.inertia;
    const bool piped = !r->args->output || !strcmp(r->args->output, "-");
    const bool counted = has_inertia(r);
    if (r->args->json) {
        if (there) tell_json(r, status, piped ? stderr : stdout);
        return;
    }
    if (!r->args->quiet && there) {
        fprintf(stderr, "%d of %d variables are outer; the interior has %d", r->count, r->a.n,
                r->a.n - r->count);
        if (counted)
            fprintf(stderr, ": %lld positive, %lld negative, %lld zero eigenvalues%s",
                    (long long)in->positive, (long long)in->negative, (long long)in->zero,
                    in->certified ? ", certified" : "");
        if (r->info.asymmetry.pairs > 0)
            fprintf(stderr, "\nthe triangles of A differ in %lld pairs: S is that of their mean",
                    (long long)r->info.asymmetry.pairs);
        fprintf(stderr, "\nanalysed in %.3g s, factorized in %.3g s\n", r->analyse_s,
                r->factorize_s);
    }
    if (!piped && there && counted)
        printf("%lld %lld %lld\n", (long long)in->positive, (long long)in->negative,
               (long long)in->zero);
}

static void run_free(run *r) {
    mpk_factor_destroy(&r->fac);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
    free(r->variables);
    free(r->s);
}

static int work(run *r) {
    cli_progress progress;
    char text[512] = "";
    const char *said = NULL;
    cli_progress_begin(&progress, r->ctx, r->args->progress);
    const double start_s = cli_now_s();
    mpk_status status =
        mpk_context_set_symmetry_tolerance(r->ctx, r->args->options.symmetry_tolerance);
    if (!mpk_failed(status))
        status = r->args->generate ? mpk_problem_generate(r->ctx, r->args->generate,
                                                          r->args->options.seed, &r->problem)
                                   : mpk_problem_read(r->ctx, r->args->words[0], &r->problem);
    r->read_s = cli_now_s() - start_s;
    mpk_problem_view_get(r->problem, &r->a);
    int code = mpk_failed(status) ? 0 : read_variables(r);
    if (!code && !mpk_failed(status)) code = check_size(r);
    if (!code && !mpk_failed(status)) status = r->variables ? compute(r) : MPK_ERR_MEMORY;
    if (status) mpk_last_error(r->ctx, NULL, NULL, &said);
    snprintf(text, sizeof text, "%s", said && *said ? said : mpk_status_text(status));
    const int stopped = cli_progress_end(&progress, r->ctx);
    if (code) return code;
    if (stopped && mpk_failed(status)) {
        fprintf(stderr, "metapack schur: interrupted\n");
        cli_print_failure(r->args, MPK_ERR_CANCELLED, "interrupted");
        return CLI_SIGNALLED + stopped;
    }
    code = mpk_exit_code(status);
    const bool there = !mpk_failed(status) && r->s;
    if (code) fprintf(stderr, "metapack schur: %s\n", text);
    if (mpk_failed(status)) cli_print_failure(r->args, status, text);
    tell(r, status, there);
    return code;
}

/** metapack schur A --variables WHICH: S = A_22 - A_21 A_11^-1 A_12, and the inertia of A_11. */
int cmd_schur(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_FACTORIZE};
    if (args->options.ordering == MPK_ORDERING_GIVEN)
        return cli_usage_error(args, "--ordering given is not for schur: mpk_analyse_schur() takes "
                                     "an order of yours, in C and Python");
    int code = cli_matrix(args, &job);
    if (code) return code;
    if (!args->variables)
        return cli_usage_error(args, "no variables: --variables last:K, first:K or a file of rows");
    args->options.method = MPK_METHOD_LDLT;
    code = cli_check_read(args);
    if (code) return code;
    run r = {.args = args, .ctx = args->ctx};
    code = work(&r);
    run_free(&r);
    return cli_flush(args, code);
}
