/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack doctor: what a matrix is, what makes it hard, and what its answer is worth. */
#include "doctor/doctor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SECONDS = 60, MOST_SECONDS = 1e6;

static int read_seconds(const cli_args *args, double *seconds) {
    char *end;
    *seconds = SECONDS;
    if (!args->seconds) return 0;
    *seconds = strtod(args->seconds, &end);
    if (end != args->seconds && !*end && *seconds > 0 && *seconds <= MOST_SECONDS) return 0;
    return cli_usage_error(args, "--seconds = '%s': expected seconds, above 0 and up to 1e6",
                           args->seconds);
}

/* ---- the work -------------------------------------------------------------------------------- */

static mpk_status load(doctor *d) {
    const cli_args *args = d->args;
    const double start_s = cli_now_s();
    mpk_status status = MPK_OK;
    if (args->generate) {
        status = mpk_problem_generate(d->ctx, args->generate, args->options.seed, &d->problem);
    } else {
        if (args->options.symmetry_tolerance >= 0)
            status = mpk_context_set_symmetry_tolerance(d->ctx, args->options.symmetry_tolerance);
        if (!mpk_failed(status)) status = mpk_problem_read(d->ctx, args->words[0], &d->problem);
    }
    if (mpk_failed(status)) return status;
    d->facts.source = args->generate                ? args->generate
                      : strcmp(args->words[0], "-") ? args->words[0]
                                                    : "standard input";
    mpk_problem_view_get(d->problem, &d->facts.a);
    mpk_problem_asymmetry_get(d->problem, &d->facts.asymmetry);
    doctor_phase_add(d, args->generate ? "generate" : "read", cli_now_s() - start_s);
    return MPK_OK;
}

static mpk_status look(doctor *d) {
    doctor_facts *f = &d->facts;
    const double start_s = cli_now_s();
    mpk_status status = doctor_rows_make(&f->a, &d->rows);
    if (!mpk_failed(status)) status = doctor_look_at(&f->a, &d->rows, &f->look);
    if (!mpk_failed(status)) status = doctor_find_repeated(&d->rows, &f->look);
    if (!mpk_failed(status)) status = doctor_find_components(&d->rows, &f->look);
    if (!mpk_failed(status)) status = doctor_form_find(&f->a, &d->rows, &f->form);
    if (!mpk_failed(status) && f->a.symmetry == MPK_GENERAL)
        status = doctor_mirror_get(&f->a, &d->rows, &f->mirror);
    doctor_phase_add(d, "look at the entries", cli_now_s() - start_s);
    return status;
}

static mpk_status examine(doctor *d) {
    mpk_status status = load(d);
    if (mpk_failed(status) || d->facts.a.n == 0) return status;
    status = look(d);
    d->progress->deadline_s = d->deadline_s; /* what was read is told in any case */
    if (!mpk_failed(status)) status = doctor_work_do(d);
    const double start_s = cli_now_s();
    if (!mpk_failed(status)) status = doctor_spectrum_find(d);
    if (!mpk_failed(status) && d->facts.spectrum.count > 0)
        doctor_phase_add(d, "estimate of the spectrum", cli_now_s() - start_s);
    if (!mpk_failed(status) && d->args->output) status = doctor_pictures_take(d);
    return status;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static int write_page(const doctor *d, const doctor_findings *f) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) doctor_write_page(&d->facts, f, out);
    int code = out && fclose(out) == 0 && text ? 0 : mpk_exit_code(MPK_ERR_MEMORY);
    if (!code) code = cli_write_text(d->args, d->args->output, text, size);
    free(text);
    return code;
}

static int tell(const doctor *d) {
    const cli_args *args = d->args;
    doctor_findings *f = calloc(1, sizeof *f);
    if (!f) return mpk_exit_code(MPK_ERR_MEMORY);
    doctor_find_kind(&d->facts, f);
    doctor_find_rest(&d->facts, f);
    int code = args->output ? write_page(d, f) : 0;
    if (!code && args->json) doctor_write_json(&d->facts, f, stdout);
    if (!code && !args->quiet) {
        FILE *out = cli_result(args);
        doctor_write_text(&d->facts, f, out);
        cli_tell_written(args, out);
    }
    free(f);
    return code;
}

/* The exit code of what was found: that of the solve, as of metapack solve. */
static int outcome(const doctor *d) {
    const doctor_work *w = &d->facts.work;
    if (w->out_of_time) return 0;
    if (mpk_failed(w->status)) fprintf(stderr, "metapack doctor: %s\n", w->message);
    return mpk_exit_code(w->status);
}

static int run(doctor *d) {
    cli_progress progress;
    const char *said = NULL;
    char text[512];
    d->progress = &progress;
    cli_progress_begin(&progress, d->ctx, d->args->progress);
    const mpk_status status = examine(d);
    if (mpk_failed(status)) mpk_last_error(d->ctx, NULL, NULL, &said);
    snprintf(text, sizeof text, "%s", said && *said ? said : mpk_status_text(status));
    const int stopped = cli_progress_end(&progress, d->ctx);
    if (stopped) {
        fprintf(stderr, "metapack doctor: interrupted\n");
        cli_print_failure(d->args, MPK_ERR_CANCELLED, "interrupted");
        return CLI_SIGNALLED + stopped;
    }
    mpk_status failed = status;
    if (!mpk_failed(failed) && d->facts.a.n == 0) {
        failed = MPK_ERR_INPUT;
        snprintf(text, sizeof text, "%s: the matrix has no rows (n = 0)", d->facts.source);
    }
    if (mpk_failed(failed)) {
        fprintf(stderr, "metapack doctor: %s\n", text);
        cli_print_failure(d->args, failed, text);
        return mpk_exit_code(failed);
    }
    const int code = tell(d);
    return code ? code : outcome(d);
}

/** metapack doctor A [-o PAGE]: facts, findings, a page. */
int cmd_doctor(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_SOLVE};
    double seconds = 0;
    int code = cli_matrix(args, &job);
    if (!code) code = cli_check_read(args);
    if (!code) code = read_seconds(args, &seconds);
    if (code) return code;
    doctor *d = calloc(1, sizeof *d);
    if (!d) {
        fprintf(stderr, "metapack doctor: not enough memory\n");
        return mpk_exit_code(MPK_ERR_MEMORY);
    }
    d->args = args;
    d->ctx = args->ctx;
    d->facts.seconds = seconds;
    d->start_s = cli_now_s();
    d->deadline_s = d->start_s + seconds;
    code = run(d);
    mpk_adaptive_clear(&d->facts.work.run);
    mpk_problem_destroy(&d->problem);
    doctor_rows_free(&d->rows);
    free(d);
    return cli_flush(args, code);
}
