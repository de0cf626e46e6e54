/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a run that solved one dense matrix. */
#include "report.h"

#include <math.h>

static bool has_inertia(const mpk_run *run) {
    return run->problem.scalar < MPK_C || run->problem.symmetry == MPK_HERMITIAN;
}

static const char *field(const mpk_run *run) {
    return run->problem.symmetry == MPK_HERMITIAN ? "Hermitian"
           : run->problem.scalar >= MPK_C         ? "complex symmetric"
                                                  : "real symmetric";
}

/* What the counts of the factors are worth as those of A. */
static const char *worth(const mpk_dense_info *i) {
    if (i->inertia.certified) return "certified";
    if (i->inertia.examined || i->inertia.zero > 0)
        return "NOT certified: rounding may have moved some";
    if (i->method == MPK_DENSE_NONE || i->method == MPK_DENSE_BUTTERFLY)
        return "not examined, and without pivoting a singular matrix is not seen";
    if (i->method == MPK_DENSE_AASEN) return "not examined: counts of T, which are never certified";
    return "not examined";
}

static const char *outcome(const mpk_run *run) {
    if (run->status == MPK_OK) return "good";
    if (run->status != MPK_SINGULAR && run->message && *run->message) return run->message;
    return mpk_status_text(run->status);
}

void mpki_report_dense_text(const mpk_run *run, mpki_buffer *out) {
    const mpk_dense_info *i = &run->dense;
    const double n = run->problem.n, flops = n * n * n / 3 * (run->problem.scalar >= MPK_C ? 4 : 1);
    if (run->source) mpki_line(out, "Matrix", "%s", run->source);
    mpki_line(out, run->source ? "" : "Matrix", "n = %d, dense %s", run->problem.n, field(run));
    if (run->asymmetry.pairs > 0)
        mpki_line(out, "",
                  "%lld pairs of entries differ, by up to %.1e of the larger: the mean of the "
                  "triangles is solved, errors are measured in that",
                  (long long)run->asymmetry.pairs, run->asymmetry.apart);
    for (int k = 0; k < i->attempts; k++)
        mpki_line(out, "Attempt", "%s in %s precision: %s, backward error %.3g, %.3g s",
                  mpk_dense_method_name(i->attempt[k].method),
                  mpk_dense_precision_name(i->attempt[k].precision),
                  mpk_status_name(i->attempt[k].status), i->attempt[k].componentwise,
                  i->attempt[k].time_s);
    mpki_line(out, "Factor", "%s in %s precision, %s; %.3g GFLOP/s",
              mpk_dense_method_name(i->method), mpk_dense_precision_name(i->precision), i->engine,
              i->factorize_s > 0 ? flops / i->factorize_s * 1e-9 : 0);
    mpki_line(out, "Pivots", "%lld of 2x2, %lld columns delayed, %lld zero; growth %.3g",
              (long long)i->two_by_two, (long long)i->delayed, (long long)i->zero_pivots,
              i->growth);
    if (has_inertia(run))
        mpki_line(out, "Inertia", "%lld positive, %lld negative, %lld zero; %s",
                  (long long)i->inertia.positive, (long long)i->inertia.negative,
                  (long long)i->inertia.zero, worth(i));
    mpki_line(out, "Solution", "%d right-hand side%s, %d steps of refinement", run->nrhs,
              run->nrhs == 1 ? "" : "s", i->iterations);
    mpki_line(out, "Accuracy", "componentwise backward error %.3g (%.3g before refinement)",
              i->componentwise, i->unrefined);
    mpki_line(out, "", "normwise backward error %.3g", i->normwise);
    if (i->condition > 0) mpki_line(out, "Condition", "%.3g", i->condition);
    mpki_line(out, "Time", "factorize %.3g s, solve %.3g s, refine %.3g s", i->factorize_s,
              i->solve_s, i->refine_s);
    mpki_report_energy(run, out);
    mpki_line(out, "Result", "%s%s", outcome(run),
              run->status != MPK_SINGULAR ? ""
              : i->solved                 ? "; the system is consistent, x is not unique"
                                          : "; the system is inconsistent: no x solves it");
}

static void number(mpki_buffer *out, const char *key, double x) { /* JSON knows no infinity */
    if (isfinite(x))
        mpki_buffer_printf(out, ", \"%s\": %.6g", key, x);
    else
        mpki_buffer_printf(out, ", \"%s\": null", key);
}

static const char *truth(int is) {
    return is ? "true" : "false";
}

void mpki_report_dense_json(const mpk_run *run, mpki_buffer *out) {
    const mpk_dense_info *i = &run->dense;
    mpki_buffer_printf(out, "{\"format\": \"metapack-dense/1\", \"status\": \"%s\", \"source\": ",
                       mpk_status_name(run->status));
    mpki_buffer_json(out, run->source ? run->source : "");
    if (run->status != MPK_OK) {
        mpki_buffer_printf(out, ", \"message\": ");
        mpki_buffer_json(out, outcome(run));
    }
    mpki_buffer_printf(out,
                       ", \"n\": %d, \"field\": \"%s\", \"nrhs\": %d, \"engine\": ", run->problem.n,
                       field(run), run->nrhs);
    mpki_buffer_json(out, i->engine);
    mpki_buffer_printf(out,
                       ", \"method\": \"%s\", \"precision\": \"%s\", \"fallbacks\": %d, "
                       "\"attempts\": [",
                       mpk_dense_method_name(i->method), mpk_dense_precision_name(i->precision),
                       i->fallbacks);
    for (int k = 0; k < i->attempts; k++) {
        const mpk_dense_attempt *t = &i->attempt[k];
        mpki_buffer_printf(out, "%s{\"method\": \"%s\", \"precision\": \"%s\", \"status\": \"%s\"",
                           k ? ", " : "", mpk_dense_method_name(t->method),
                           mpk_dense_precision_name(t->precision), mpk_status_name(t->status));
        number(out, "componentwise", t->componentwise);
        number(out, "time_s", t->time_s);
        mpki_buffer_printf(out, "}");
    }
    mpki_buffer_printf(out,
                       "], \"inertia\": {\"positive\": %lld, \"negative\": %lld, \"zero\": %lld, "
                       "\"certified\": %s, \"examined\": %s}, \"two_by_two\": %lld, \"delayed\": "
                       "%lld, \"iterations\": %d",
                       (long long)i->inertia.positive, (long long)i->inertia.negative,
                       (long long)i->inertia.zero, truth(i->inertia.certified),
                       truth(i->inertia.examined), (long long)i->two_by_two, (long long)i->delayed,
                       i->iterations);
    number(out, "growth", i->growth), number(out, "max_l", i->max_l);
    number(out, "unrefined", i->unrefined), number(out, "componentwise", i->componentwise);
    number(out, "normwise", i->normwise), number(out, "condition", i->condition);
    number(out, "factorize_s", i->factorize_s), number(out, "solve_s", i->solve_s);
    number(out, "refine_s", i->refine_s);
    mpki_buffer_printf(out, ", \"solved\": %s", truth(i->solved));
    if (run->asymmetry.pairs > 0) {
        mpki_buffer_printf(out, ", \"asymmetry\": {\"pairs\": %lld, \"rough\": %lld",
                           (long long)run->asymmetry.pairs, (long long)run->asymmetry.rough);
        number(out, "apart", run->asymmetry.apart);
        mpki_buffer_printf(out, "}");
    }
    if (run->energy.asked) {
        mpki_buffer_printf(out, ", \"energy_j\": ");
        mpki_report_energy_json(run, out);
    }
    mpki_buffer_printf(out, "}\n");
}
