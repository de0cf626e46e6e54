/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts -> what makes it hard, what METAPACK does, what that costs, what the answer is worth. */
#include "doctor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *plural(double count) {
    return count == 1 ? "" : "s";
}

/* ---- what makes it hard ---------------------------------------------------------------------- */

static void find_rank(const doctor_facts *d, doctor_findings *f) {
    const doctor_work *w = &d->work;
    const int32_t lack = d->a.n - w->structural_rank;
    char a[DOCTOR_NAME], b[DOCTOR_NAME], c[DOCTOR_NAME];
    if (d->look.zero_rows > 0)
        doctor_say(f, SECTION_HARD, FINDING_BAD, "zero-rows",
                   "%s row%s %s no nonzero entry, the first is row %d: A is singular.",
                   doctor_count(a, d->look.zero_rows), plural(d->look.zero_rows),
                   d->look.zero_rows == 1 ? "has" : "have", d->look.first_zero_row + 1);
    if (d->look.zero_columns > 0 && d->a.symmetry == MPK_GENERAL)
        doctor_say(f, SECTION_HARD, FINDING_BAD, "zero-columns",
                   "%s column%s %s no nonzero entry: A is singular.",
                   doctor_count(a, d->look.zero_columns), plural(d->look.zero_columns),
                   d->look.zero_columns == 1 ? "has" : "have");
    if (w->structural_rank >= 0 && lack > 0)
        doctor_say(f, SECTION_HARD, FINDING_BAD, "structural-rank",
                   "It is structurally singular by %s: whatever the values, at most %s of its %s "
                   "rows are independent.",
                   doctor_count(a, lack), doctor_count(b, w->structural_rank),
                   doctor_count(c, d->a.n));
    if (d->look.repeated > 0)
        doctor_say(f, SECTION_HARD, FINDING_BAD, "repeated-rows",
                   "%s row%s %s a multiple of another, up to rounding (row %d of row %d): A is "
                   "singular, or as near to it as rounding allows.",
                   doctor_count(a, d->look.repeated), plural(d->look.repeated),
                   d->look.repeated == 1 ? "is" : "are each", d->look.repeated_row + 1,
                   d->look.repeated_of + 1);
    if (w->have_null && w->null.dimension > 0)
        doctor_say(f, SECTION_HARD, FINDING_BAD, "kernel",
                   "%s vector%s v with A v = 0 %s found, up to changes of A's entries by %.1e of "
                   "themselves: A is singular to working precision%s.",
                   doctor_count(a, w->null.dimension), plural(w->null.dimension),
                   w->null.dimension == 1 ? "was" : "were", w->null.eta,
                   w->null.certified ? ", and its kernel has no other dimension (certified)" : "");
    else if (w->have_factor && w->direct && w->factor.inertia.zero > 0)
        doctor_say(
            f, SECTION_HARD, w->factor.rank == MPK_RANK_NUMERICAL ? FINDING_BAD : FINDING_CARE,
            "zero-pivots", "%s pivot%s %s zero up to rounding in the scaled matrix%s.",
            doctor_count(a, (double)w->factor.inertia.zero), plural((double)w->factor.inertia.zero),
            w->factor.inertia.zero == 1 ? "is" : "are",
            w->factor.rank == MPK_RANK_NUMERICAL    ? ", and a vector shows that A is singular"
            : w->factor.rank == MPK_RANK_STRUCTURAL ? ""
                                                    : "; no vector shows that A is singular");
}

static void find_sizes(const doctor_facts *d, doctor_findings *f) {
    const doctor_look *k = &d->look;
    if (k->spread >= 3)
        doctor_say(f, SECTION_HARD, k->spread >= 8 ? FINDING_BAD : FINDING_CARE, "row-spread",
                   "%.0f orders of magnitude lie between its rows: the largest entry of row %d is "
                   "%.1e, that of row %d %.1e. Scaling both sides leaves %.1f.",
                   k->spread, k->most_row_at + 1, k->most_row_norm, k->least_row_at + 1,
                   k->least_row, k->spread_balanced);
    else if (k->most > 0 && log10(k->most) - log10(k->least) >= 12)
        doctor_say(f, SECTION_HARD, FINDING_CARE, "entry-spread",
                   "Its entries range from %.1e to %.1e in modulus, within rows of like size.",
                   k->least, k->most);
}

static void find_pattern(const doctor_facts *d, doctor_findings *f) {
    const doctor_look *k = &d->look;
    const doctor_work *w = &d->work;
    char a[DOCTOR_NAME], b[DOCTOR_NAME];
    if (k->diagonal_zero > k->zero_rows && d->a.symmetry != MPK_GENERAL)
        doctor_say(f, SECTION_HARD, FINDING_CARE, "zero-diagonal",
                   "%s of %s diagonal entries are zero: none of them can be a pivot at first, so "
                   "rows must be paired, and there is no Cholesky factor.",
                   doctor_count(a, k->diagonal_zero), doctor_count(b, d->a.n));
    if (k->dense_rows > 0 && k->dense_rows < d->a.n / 2) /* else all of it is dense */
        doctor_say(
            f, SECTION_HARD, FINDING_CARE, "dense-rows",
            "%s row%s %s more than 10 sqrt(n) = %.0f entries, the median %d: each fills what "
            "it meets.",
            doctor_count(a, k->dense_rows), plural(k->dense_rows),
            k->dense_rows == 1 ? "has" : "have", 10 * sqrt((double)d->a.n), k->median_row);
    if (w->have_factor && w->direct && (double)w->factor.rejected > 0.05 * d->a.n)
        doctor_say(f, SECTION_HARD, FINDING_CARE, "delayed",
                   "%s columns were delayed because their pivots were too small where they stood: "
                   "the factorization took %.1f times the flops of the prediction.",
                   doctor_count(a, (double)w->factor.rejected),
                   w->factor.flops / fmax(w->analysis.factor_flops, 1));
}

static void find_hard(const doctor_facts *d, doctor_findings *f) {
    const doctor_work *w = &d->work;
    const int before = f->count;
    find_rank(d, f);
    find_sizes(d, f);
    find_pattern(d, f);
    if (w->solved && w->run.solve.condition >= 1e8 && w->factor.inertia.zero == 0)
        doctor_say(f, SECTION_HARD, w->run.solve.condition >= 1e14 ? FINDING_BAD : FINDING_CARE,
                   "condition",
                   "Its condition is estimated at %.1e: a change of the data in the last digit may "
                   "change %.0f digits of the answer.",
                   w->run.solve.condition, fmin(log10(w->run.solve.condition), 16));
    if (f->count == before)
        doctor_say(f, SECTION_HARD, FINDING_GOOD, "nothing",
                   w->solved ? "Nothing that was looked for was found."
                   : w->have_factor
                       ? "Nothing was found in its entries and its factor; no system was solved."
                       : "Nothing was found in its entries; values were not factorized.");
}

/* ---- what METAPACK does, and what it costs --------------------------------------------------- */

/* In the fewest digits that read back the same; whole numbers without an exponent. */
static void write_number(char *out, size_t size, double v) {
    if (v == floor(v) && fabs(v) < 1e15) {
        snprintf(out, size, "%.0f", v);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, v);
        if (strtod(out, NULL) == v) return;
    }
}

/* The options that auto settled on, where they are not the defaults. */
static void list_options(const doctor_facts *d, char *out, size_t size) {
    const mpk_option *o;
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; (o = mpk_option_at(k)) && used < size; k++) {
        char key[DOCTOR_NAME], number[DOCTOR_NAME];
        const double v = mpk_option_value(o, &d->work.run.options);
        if (v == o->preset || !strcmp(o->key, "threads") || !strcmp(o->key, "condition") ||
            !mpk_option_is_read(o, &d->work.run.options, NULL, 0))
            continue;
        snprintf(key, sizeof key, "%s", o->key);
        for (char *c = key; *c; c++)
            if (*c == '_') *c = '-';
        if (o->count)
            snprintf(number, sizeof number, "%s", mpk_option_word(o->key, (int)v));
        else
            write_number(number, sizeof number, v);
        used += (size_t)snprintf(out + used, size - used, " --%s %s", key, number);
    }
}

static void find_way(const doctor_facts *d, doctor_findings *f) {
    static const char *const scaling[] = {"no scaling", "rows and columns equilibrated",
                                          "scaling by the matching"};
    const doctor_work *w = &d->work;
    char options[DOCTOR_TEXT / 2];
    if (mpk_failed(w->status) && !w->out_of_time)
        doctor_say(f, SECTION_WAY, FINDING_BAD, "failed", "metapack solve does not solve it: %s.",
                   w->message);
    if (w->run.no_direct[0])
        doctor_say(f, SECTION_WAY, FINDING_NOTE, "no-direct",
                   "Method auto does not factorize it directly: %s.", w->run.no_direct);
    if (w->analysis.n > 0 && w->direct)
        doctor_say(f, SECTION_WAY, FINDING_NOTE, "direct",
                   "Method auto takes the direct solver, %s%s: ordering %s, matching %s, %s.",
                   d->a.symmetry == MPK_GENERAL     ? "L U"
                   : d->a.symmetry == MPK_HERMITIAN ? "L D L^H"
                                                    : "L D L'",
                   w->engine[0] ? "" : ", not carried out here",
                   mpk_ordering_name(w->analysis.ordering), w->analysis.matching ? "on" : "off",
                   (unsigned)w->analysis.scaling < 3 ? scaling[w->analysis.scaling] : "scaling");
    if (w->have_factor)
        doctor_say(f, SECTION_WAY, FINDING_NOTE, "engine", "It runs on %s with %d thread%s.",
                   w->engine, w->factor.threads > 0 ? w->factor.threads : 1,
                   plural(w->factor.threads));
    for (int k = 0; k < w->run.attempts && !w->direct; k++) {
        const mpk_attempt *t = &w->run.attempt[k];
        char outcome[DOCTOR_NAME] = "no solution";
        if (isfinite(t->residual))
            snprintf(outcome, sizeof outcome, "%d iterations to a residual of %.1e", t->iterations,
                     t->residual);
        doctor_say(f, SECTION_WAY, FINDING_NOTE, "attempt",
                   "Attempt %d: level of fill %d, threshold %.0e: %s, in %.3g s (%s).", k + 1,
                   t->level, t->drop_tolerance, outcome, t->time_s, mpk_status_name(t->status));
    }
    if (w->solved) {
        list_options(d, options, sizeof options);
        if (options[0])
            doctor_say(f, SECTION_WAY, FINDING_NOTE, "options",
                       "The same by hand: metapack solve A%s", options);
    }
    if (w->have_dense)
        doctor_say(f, SECTION_WAY, FINDING_NOTE, "dense",
                   "The file is an array, which metapack solve takes as one dense matrix by method "
                   "%s: %.3g s, backward error %.1e. What is said here is of it as a sparse one.",
                   mpk_dense_method_name(w->dense_info.method),
                   w->dense_info.factorize_s + w->dense_info.solve_s + w->dense_info.refine_s,
                   w->dense_info.componentwise);
}

static void find_cost(const doctor_facts *d, doctor_findings *f) {
    const doctor_work *w = &d->work;
    const mpk_analysis_info *a = &w->analysis;
    char x[DOCTOR_NAME], y[DOCTOR_NAME], z[DOCTOR_NAME], t[DOCTOR_NAME];
    if (a->n > 0 && w->direct)
        doctor_say(f, SECTION_COST, FINDING_NOTE, "predicted",
                   "Predicted by the analysis: %s, %s entr%s in L, %s held and %s at most; the "
                   "largest front has %d row%s.",
                   doctor_si(x, a->factor_flops, "flop"), doctor_count(y, (double)a->factor_nnz),
                   a->factor_nnz == 1 ? "y" : "ies", doctor_si(z, (double)a->factor_bytes, "B"),
                   doctor_si(t, (double)a->peak_bytes, "B"), a->max_front, plural(a->max_front));
    if (w->predicted_s >= 0 && w->predicted_s <= w->tiny.time_s)
        doctor_say(f, SECTION_COST, FINDING_NOTE, "predicted-seconds",
                   "That is about %s at least: %s, whose factorization has next to no flops, takes "
                   "so long here.",
                   doctor_time(x, w->predicted_s), w->tiny.spec);
    else if (w->predicted_s >= 0 && !(w->front_s > 0))
        doctor_say(f, SECTION_COST, FINDING_NOTE, "predicted-seconds",
                   "That is about %s: the flops at %s, which %s just reached here, the overhead of "
                   "its fronts included.",
                   doctor_time(x, w->predicted_s),
                   doctor_si(y, w->space.flops / fmax(w->space.time_s, 1e-9), "flop/s"),
                   w->space.spec);
    else if (w->predicted_s >= 0)
        doctor_say(f, SECTION_COST, FINDING_NOTE, "predicted-seconds",
                   "That is about %s: the flops at %s, which %s just reached here, and %s for each "
                   "of %d front%s, as in %s.",
                   doctor_time(x, w->predicted_s),
                   doctor_si(y, w->space.flops / fmax(w->space.time_s, 1e-9), "flop/s"),
                   w->space.spec, doctor_time(z, w->front_s), a->supernodes, plural(a->supernodes),
                   w->plane.spec);
    if (w->estimate.engine && w->estimate.time_s > 0)
        doctor_say(f, SECTION_COST, FINDING_NOTE, "predicted-device",
                   "On %s: %s and %s of its memory, as the library predicts.", w->estimate.engine,
                   doctor_time(x, w->estimate.time_s),
                   doctor_si(y, (double)w->estimate.device_bytes, "B"));
    if (w->have_factor && w->solved)
        doctor_say(f, SECTION_COST, FINDING_NOTE, "measured",
                   "Measured: analysis %s, factorization %s (%s, %s held), one solve with "
                   "refinement%s %s.",
                   doctor_time(x, w->analyse_s), doctor_time(y, w->factorize_s),
                   doctor_si(z, w->factor.flops, "flop"),
                   doctor_si(t, (double)w->factor.bytes, "B"),
                   w->run.solve.condition > 0 ? " and the condition's estimate" : "",
                   doctor_time((char[DOCTOR_NAME]){0}, w->solve_s));
}

/* ---- what the answer is worth ---------------------------------------------------------------- */

static void find_inertia(const doctor_facts *d, doctor_findings *f) {
    const doctor_work *w = &d->work;
    const mpk_inertia *in = &w->factor.inertia;
    char a[DOCTOR_NAME], b[DOCTOR_NAME], c[DOCTOR_NAME];
    if (!doctor_has_inertia(d)) {
        if (w->have_factor && d->a.symmetry == MPK_SYMMETRIC && d->a.scalar >= MPK_C)
            doctor_say(f, SECTION_WORTH, FINDING_NOTE, "no-inertia",
                       "A complex symmetric matrix has no inertia, nor has one that is not "
                       "symmetric.");
        return;
    }
    doctor_count(a, (double)in->positive), doctor_count(b, (double)in->negative);
    doctor_count(c, (double)in->zero);
    if (in->certified)
        doctor_say(f, SECTION_WORTH, FINDING_GOOD, "inertia",
                   "Inertia: %s positive, %s negative, %s zero eigenvalues, certified: these are "
                   "A's, but for a chance of %.0e.",
                   a, b, c, w->certificate.miss_bound);
    else
        doctor_say(f, SECTION_WORTH, FINDING_CARE, "inertia",
                   "Inertia by the signs of the pivots: %s positive, %s negative, %s zero; not "
                   "certified, rounding may have changed a sign.",
                   a, b, c);
}

/* How far the computed solution is from the known one, and how far it may be from any. */
static void find_forward(const doctor_facts *d, doctor_findings *f) {
    static const double GOOD = 1e-6;
    const doctor_work *w = &d->work;
    const mpk_solve_info *s = &w->run.solve;
    const double eps = d->a.scalar == MPK_S || d->a.scalar == MPK_C ? FLT_EPSILON : DBL_EPSILON;
    const double bound = 2 * s->condition * fmax(s->normwise, eps);
    if (w->status == MPK_SINGULAR || w->null.dimension > 0 || w->factor.inertia.zero > 0)
        doctor_say(f, SECTION_WORTH, FINDING_CARE, "forward",
                   "Forward error: %.1e by the known solution. Where A is singular that says "
                   "nothing: the solution is one of many, and no bound holds.",
                   w->forward);
    else if (!(s->condition > 0))
        doctor_say(f, SECTION_WORTH, FINDING_NOTE, "forward",
                   "Forward error: %.1e by the known solution; the condition was not estimated.",
                   w->forward);
    else if (!(bound < 1))
        doctor_say(f, SECTION_WORTH, FINDING_BAD, "forward",
                   "Forward error: %.1e by the known solution; with a condition of %.1e, an "
                   "estimate, no digit is sure.",
                   w->forward, s->condition);
    else
        doctor_say(f, SECTION_WORTH,
                   bound < GOOD && w->forward <= bound ? FINDING_GOOD : FINDING_CARE, "forward",
                   "Forward error: %.1e by the known solution; twice the condition times the "
                   "backward error, or rounding, is %.1e (condition %.1e, an estimate)%s.",
                   w->forward, bound, s->condition,
                   w->forward <= bound ? "" : "; it is larger, so the estimate is too low");
}

static void find_solution(const doctor_facts *d, doctor_findings *f) {
    const doctor_work *w = &d->work;
    const mpk_solve_info *s = &w->run.solve;
    const bool good = w->status == MPK_OK;
    if (!w->solved) {
        doctor_say(f, SECTION_WORTH, FINDING_CARE, "not-solved",
                   "It was not solved, so nothing is known of an answer.");
        return;
    }
    doctor_say(f, SECTION_WORTH, good ? FINDING_GOOD : FINDING_CARE, "backward",
               "A system with a known solution was solved: backward error %.1e componentwise, %.1e "
               "normwise (%.1e before refinement); status: %s.",
               s->componentwise, s->normwise, s->unrefined, mpk_status_name(w->status));
    if (!good && w->message[0])
        doctor_say(f, SECTION_WORTH, FINDING_CARE, "said", "What the solver says: %s.", w->message);
    find_forward(d, f);
}

static void find_numerical_rank(const doctor_facts *d, doctor_findings *f) {
    const doctor_work *w = &d->work;
    char a[DOCTOR_NAME];
    if (!w->have_factor || !w->direct) return;
    if (w->factor.inertia.certified && w->factor.inertia.zero == 0)
        doctor_say(f, SECTION_WORTH, FINDING_GOOD, "rank", "Rank: full, %s (certified).",
                   doctor_count(a, d->a.n));
    else if (w->have_null && w->null.dimension > 0)
        doctor_say(f, SECTION_WORTH, FINDING_CARE, "rank",
                   "Rank: at most %s to working precision%s; a system has a solution only if its "
                   "right-hand side is orthogonal to the kernel, and then many.",
                   doctor_count(a, d->a.n - w->null.dimension),
                   w->null.certified ? ", and not less (certified)" : "");
    else
        doctor_say(f, SECTION_WORTH, FINDING_NOTE, "rank",
                   "Rank: %s nonzero pivots; no certificate says more.",
                   doctor_count(a, (double)(d->a.n - w->factor.inertia.zero)));
}

static void find_tried(const doctor_facts *d, doctor_findings *f) {
    const doctor_work *w = &d->work;
    const doctor_trial *best = NULL;
    char names[DOCTOR_TEXT / 2] = "";
    size_t used = 0;
    for (int k = 1; k < w->trials; k++) {
        const doctor_trial *t = &w->trial[k];
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k > 1 ? ", " : "",
                                     t->name);
        if (t->better && (!best || t->factorize_s + t->solve_s < best->factorize_s + best->solve_s))
            best = t;
    }
    if (best) {
        const doctor_trial *base = &w->trial[0];
        doctor_say(
            f, SECTION_TRIED, FINDING_GOOD, "advice",
            "Try %s: %.2f times as fast here as what auto takes (factorization and solve "
            "%.3g s in place of %.3g s), backward error %.1e.",
            best->name, (base->factorize_s + base->solve_s) / (best->factorize_s + best->solve_s),
            best->factorize_s + best->solve_s, base->factorize_s + base->solve_s, best->backward);
    }
    if (w->trials > 1)
        doctor_say(f, SECTION_TRIED, FINDING_NOTE, "tried",
                   best ? "Tried beside auto: %s."
                        : "Tried beside auto, and none was clearly better: %s.",
                   names);
}

void doctor_find_rest(const doctor_facts *d, doctor_findings *f) {
    find_hard(d, f);
    find_way(d, f);
    find_cost(d, f);
    find_inertia(d, f);
    find_numerical_rank(d, f);
    find_solution(d, f);
    find_tried(d, f);
    for (int k = 0; k < d->left; k++)
        doctor_say(f, SECTION_LEFT, FINDING_CARE, "left-out", "Left out: %s.", d->left_out[k]);
}
