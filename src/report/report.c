/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_report: a copy of a run's numbers, its text and its JSON; exit codes. */
#include "../core/floats.h"
#include "report.h"

#include <string.h>

/* A copy of `text`, or NULL with *failed set when there is no memory; NULL stays NULL. */
static char *copy(mpk_context *ctx, const char *text, bool *failed) {
    if (!text) return NULL;
    int64_t size = (int64_t)strlen(text) + 1;
    char *twin = mpki_alloc(ctx, "report", size, 1);
    if (twin)
        memcpy(twin, text, (size_t)size);
    else
        *failed = true;
    return twin;
}

/* The text that `write` makes, owned by the caller; NULL with *failed set: no memory. */
static char *render(const mpk_report *report, void (*write)(const mpk_report *, mpki_buffer *),
                    bool *failed) {
    mpki_buffer buf;
    mpki_buffer_init(&buf, report->ctx);
    write(report, &buf);
    mpki_buffer_bytes(&buf, "", 0); /* an empty text is a text, too */
    if (!mpk_failed(buf.status)) return buf.data;
    *failed = true;
    mpki_buffer_free(&buf);
    return NULL;
}

/* Of a run that only read a matrix, the report has statistics of the matrix. */
static void look_at_matrix(mpk_report *report, const mpk_problem_view *a, bool *failed) {
    if (report->run.have_analysis || !a->ap || a->n < 1 || mpk_failed(report->run.status)) return;
    int32_t *counts = MPKI_NEW(report->ctx, "report", a->n, int32_t);
    if (!counts) {
        *failed = true;
        return;
    }
    mpki_stats_get(a, counts, &report->stats);
    report->have_stats = 1;
    mpki_release(report->ctx, counts);
}

mpk_status mpk_report_create(mpk_context *ctx, const mpk_run *run, mpk_report **out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    if (!run || !out || *out || run->attempts < 0 || run->attempts > MPK_ATTEMPTS) {
        mpki_clear_error(ctx);
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "report", -1, "run or report is not valid");
    }
    /* the message of the run may be the context's own: it is copied before anything can clear it */
    bool failed = false;
    mpk_report *report = MPKI_ZNEW(ctx, "report", 1, mpk_report);
    if (!report) return MPK_ERR_MEMORY;
    report->ctx = ctx;
    report->run = *run;
    mpki_options_in_force(run, &report->run.options);
    report->have_problem = run->problem.ap != NULL;
    report->run.problem.ap = NULL;
    report->run.problem.ai = NULL;
    report->run.problem.ax = NULL;
    report->run.history = NULL;
    if (run->history && run->history_count > 0) {
        double *twin = MPKI_NEW(ctx, "report", run->history_count, double);
        if (twin) memcpy(twin, run->history, (size_t)run->history_count * sizeof *twin);
        failed = !twin;
        report->run.history = twin;
    }
    report->run.source = copy(ctx, run->source, &failed);
    report->run.message = copy(ctx, run->message, &failed);
    report->run.backend = copy(ctx, run->backend, &failed);
    if (run->estimate.engine) report->run.estimate.engine = report->run.backend;
    if (!failed) look_at_matrix(report, &run->problem, &failed);
    if (!failed) report->text = render(report, mpki_report_write_text, &failed);
    if (!failed) report->json = render(report, mpki_report_write_json, &failed);
    if (failed) {
        mpk_report_destroy(&report);
        return MPK_ERR_MEMORY;
    }
    *out = report;
    return MPK_OK;
}

void mpk_report_destroy(mpk_report **report) {
    if (!report || !*report) return;
    mpk_report *r = *report;
    mpki_release(r->ctx, (void *)r->run.source);
    mpki_release(r->ctx, (void *)r->run.message);
    mpki_release(r->ctx, (void *)r->run.backend);
    mpki_release(r->ctx, (void *)r->run.history);
    mpki_release(r->ctx, r->text);
    mpki_release(r->ctx, r->json);
    mpki_release(r->ctx, r);
    *report = NULL;
}

const char *mpk_report_text(const mpk_report *report) {
    return report ? report->text : "";
}

const char *mpk_report_json(const mpk_report *report) {
    return report ? report->json : "";
}

const mpk_run *mpk_report_run(const mpk_report *report) {
    return report ? &report->run : NULL;
}

int mpk_exit_code(mpk_status status) {
    switch (status) {
    case MPK_OK:
    case MPK_PERTURBED:
        return 0; /* asked for, and said in the report */
    case MPK_ERR_ARGUMENT:
    case MPK_ERR_UNSUPPORTED:
        return 1;
    case MPK_ERR_FILE:
    case MPK_ERR_FORMAT:
    case MPK_ERR_INPUT:
    case MPK_ERR_SIZE:
        return 2;
    case MPK_SINGULAR:
    case MPK_PARTIAL:
        return 3;
    case MPK_NOT_CONVERGED:
        return 4;
    case MPK_INACCURATE:
    case MPK_ERR_NUMERIC:
    case MPK_ERR_INTERNAL:
        return 5; /* no answer that can be relied on */
    case MPK_ERR_MEMORY:
        return 6;
    case MPK_ERR_DEVICE:
        return 7;
    case MPK_ERR_CANCELLED:
        return 130; /* as the shell has it for an interrupt */
    }
    return 1;
}
