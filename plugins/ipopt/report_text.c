/* SPDX-License-Identifier: BSD-3-Clause */
/* A run as text: a summary, and a line for each factorization. */
#include "report.h"

#include <string.h>

bool ip_report_refused(const ip_run *run, int k) {
    return run->event[k].solves == 0 && k + 1 < run->count;
}

void ip_report_sum(const ip_run *run, ip_sums *s) {
    memset(s, 0, sizeof *s);
    for (int k = 0; k < run->count; k++) {
        const ip_event *e = &run->event[k];
        s->analyses += e->analysis_s > 0;
        s->analysis_s += e->analysis_s;
        s->factor_s += e->time_s;
        s->solve_s += e->solve_s;
        s->solves += e->solves;
        s->failed += mpk_failed(e->status);
        s->singular += ip_report_refused(run, k) && e->status == MPK_SINGULAR;
        s->again += ip_report_refused(run, k) && e->status == MPK_OK;
        s->kept += !ip_report_refused(run, k);
        s->shifted += e->shift[0] != 0 || e->shift[1] != 0;
        s->tighter += k > 0 && e->u > run->event[k - 1].u;
        if (e->solves > s->most_solves) s->most_solves = e->solves;
        for (int side = 0; side < 2; side++)
            if (e->shift[side] > s->most_shift) s->most_shift = e->shift[side];
    }
    if (run->count)
        s->total_s = run->event[run->count - 1].at_s + run->event[run->count - 1].solve_s;
}

void ip_report_summary(const ip_run *run, FILE *out, const char *before, const char *after) {
    ip_sums s;
    ip_report_sum(run, &s);
    const double inside = s.analysis_s + s.factor_s + s.solve_s;
    fprintf(out, "%sFactorizations: %d, analyses: %d, solves: %lld, in %.3g s%s\n", before,
            run->count, s.analyses, (long long)s.solves, s.total_s, after);
    fprintf(
        out,
        "%sLinear solver: %.3g s (analysis %.3g, factorization %.3g, solves %.3g); Ipopt and the "
        "problem's functions: %.3g s%s\n",
        before, inside, s.analysis_s, s.factor_s, s.solve_s,
        s.total_s > inside ? s.total_s - inside : 0, after);
    fprintf(
        out,
        "%sNot accepted: %d, %d of them singular, %d with an inertia that Ipopt did not want%s\n",
        before, run->count - s.kept, s.singular, s.again, after);
    if (s.failed) fprintf(out, "%sFailed: %d factorizations%s\n", before, s.failed, after);
    fprintf(out, "%sCorrections of the diagonal alone: %d", before, s.shifted);
    if (s.shifted) fprintf(out, ", the largest by %.2g", s.most_shift);
    fprintf(out, "; a tighter pivot tolerance: %d times%s\n", s.tighter, after);
    fprintf(out,
            "%sSolves of an accepted factor: %.3g in the mean, %d at most (steps, corrections and "
            "Ipopt's refinement)%s\n",
            before, s.kept ? (double)s.solves / s.kept : 0, s.most_solves, after);
    for (int k = 0; k < run->patterns; k++)
        fprintf(out, "%sPattern %d: order %d, %lld entries%s\n", before, k + 1, run->shape[k].n,
                (long long)run->shape[k].nnz, after);
    if (run->lost)
        fprintf(out, "%s%lld later factorizations are not kept%s\n", before, (long long)run->lost,
                after);
}

void ip_report_text(const ip_run *run, FILE *out) {
    fprintf(out, "METAPACK %s under Ipopt\n\n", mpk_version());
    ip_report_summary(run, out, "", "");
    fprintf(out, "\n%6s %10s %10s %10s %3s %9s %9s %6s %8s %9s %9s %9s %8s %6s %10s\n", "no",
            "at s", "analysis s", "factor s", "pat", "positive", "negative", "zero", "u", "added",
            "taken", "entries L", "delayed", "solves", "solve s");
    for (int k = 0; k < run->count; k++) {
        const ip_event *e = &run->event[k];
        fprintf(
            out,
            "%6d %10.4f %10.2g %10.2g %3d %9d %9d %6d %8.1g %9.1e %9.1e %9lld %8lld %6d %10.2g%s\n",
            k + 1, e->at_s, e->analysis_s, e->time_s, e->pattern, e->positive, e->negative, e->zero,
            e->u, e->shift[0], e->shift[1], (long long)e->nnz, (long long)e->delayed, e->solves,
            e->solve_s,
            mpk_failed(e->status)       ? "  failed"
            : e->status == MPK_SINGULAR ? "  singular"
            : ip_report_refused(run, k) ? "  not accepted"
                                        : "");
    }
}
