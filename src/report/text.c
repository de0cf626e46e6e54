/* SPDX-License-Identifier: BSD-3-Clause */
/** The report as text: a label of 14 columns, then sentences, at most 100 columns. */
#include "report.h"
#include "../problem/measure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* a - b, without overflow if the counts are not valid. */
static int64_t difference(int64_t a, int64_t b) {
    int64_t c;
    return __builtin_sub_overflow(a, b, &c) ? 0 : c;
}

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

static const char *scalar_words(mpk_scalar scalar) {
    static const char *const words[] = {"real, single precision", "real",
                                        "complex, single precision", "complex"};
    return (unsigned)scalar < 4 ? words[scalar] : "unknown";
}

static void write_matrix(const mpk_report *report, mpki_buffer *out) {
    const mpk_problem_view *a = &report->run.problem;
    char n[MPKI_UNIT_MAX], nnz[MPKI_UNIT_MAX];
    if (report->run.source) mpki_line(out, "Matrix", "%s", report->run.source);
    if (!report->have_problem) return;
    static const char *const laws[] = {"symmetric", "Hermitian", "not symmetric"};
    mpki_line(out, report->run.source ? "" : "Matrix", "n = %s, %s entr%s%s, %s %s",
              mpki_show_count(n, a->n), mpki_show_count(nnz, a->nnz), a->nnz == 1 ? "y" : "ies",
              a->symmetry == MPK_GENERAL ? "" : " in the lower triangle", scalar_words(a->scalar),
              (unsigned)a->symmetry < 3 ? laws[a->symmetry] : "unknown");
    const mpk_asymmetry *d = &report->run.asymmetry;
    if (d->pairs > 0)
        mpki_line(
            out, "",
            "%s entr%s and %s mirror image%s differ%s, by up to %.1e of the larger%s: the mean of "
            "the "
            "two triangles is factorized, errors are measured in the matrix as given",
            mpki_show_count(n, d->pairs), d->pairs == 1 ? "y" : "ies",
            d->pairs == 1 ? "its" : "their", plural(d->pairs), d->pairs == 1 ? "s" : "", d->apart,
            d->rough > 0 ? "; that is more than rounding leaves" : "");
}

static void write_stats(const mpk_report *report, mpki_buffer *out) {
    const mpki_stats *s = &report->stats;
    int32_t n = report->run.problem.n;
    char a[MPKI_UNIT_MAX], b[MPKI_UNIT_MAX], c[MPKI_UNIT_MAX];
    const mpk_problem_view *p = &report->run.problem;
    int64_t whole = p->symmetry == MPK_GENERAL ? p->nnz : 2 * p->nnz - s->diagonal;
    mpki_line(out, "Rows", "%.1f entries on average, %s in the longest; half bandwidth %s",
              (double)whole / n, mpki_show_count(a, s->longest_row),
              mpki_show_count(b, s->bandwidth));
    if (s->empty_rows)
        mpki_line(out, "", "%s row%s without any entry: the matrix is singular",
                  mpki_show_count(a, s->empty_rows), plural(s->empty_rows));
    mpki_line(out, "Diagonal", "%s stored, %s of them zero; %s not stored",
              mpki_show_count(a, s->diagonal), mpki_show_count(b, s->diagonal_zero),
              mpki_show_count(c, n - s->diagonal));
    if (s->most > 0)
        mpki_line(out, "Values", "from %.3g to %.3g in modulus; %s explicit zero%s", s->least,
                  s->most, mpki_show_count(a, s->explicit_zeros), plural(s->explicit_zeros));
    else
        mpki_line(out, "Values", "all zero");
}

static void write_analysis(const mpk_report *report, mpki_buffer *out) {
    static const char *const scaling[] = {"no scaling", "equilibrated", "scaled by the matching"};
    const mpk_analysis_info *a = &report->run.analysis;
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX], z[MPKI_UNIT_MAX];
    mpki_line(out, "Analysis", "%s ordering%s, %s, %s", mpki_show_ordering(x, a->ordering),
              a->ordered_for == MPK_ON_CUDA ? " for a GPU" : "",
              !a->matching ? "matching off"
              : report->run.problem.symmetry == MPK_GENERAL
                  ? "rows matched to columns"
                  : "matching on (pairs ordered together)",
              (unsigned)a->scaling < 3 ? scaling[a->scaling] : "scaled");
    mpki_line(out, "", "%s supernode%s, tree height %s, largest front %s rows",
              mpki_show_count(x, a->supernodes), plural(a->supernodes),
              mpki_show_count(y, a->tree_height), mpki_show_count(z, a->max_front));
    if (a->structural_rank >= 0 && a->structural_rank < a->n)
        mpki_line(out, "", "structurally singular: rank at most %s of %s",
                  mpki_show_count(x, a->structural_rank), mpki_show_count(y, a->n));
    char bytes[MPKI_UNIT_MAX];
    mpki_line(out, "Predicted", "%s with %s entries, %s, factor %s, peak %s",
              report->run.problem.symmetry == MPK_GENERAL ? "L and U" : "L",
              mpki_show_si(x, (double)a->factor_nnz, ""), mpki_show_si(y, a->factor_flops, "FLOP"),
              mpki_show_bytes(z, (double)a->factor_bytes),
              mpki_show_bytes(bytes, (double)a->peak_bytes));
}

/* The analysis of a method on blocks, by itself. */
static void write_blocking(const mpk_run *run, mpki_buffer *out) {
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX];
    const int64_t blocks = run->analysis.supernodes;
    if (blocks == 0) {
        mpki_line(out, "Analysis",
                  "nothing to be ordered: the preconditioner is the scaling alone");
        return;
    }
    mpki_line(out, "Analysis", "%s ordering, %s, %s block%s on the diagonal",
              mpki_show_ordering(x, run->analysis.ordering),
              run->analysis.matching ? "matching on" : "matching off", mpki_show_count(y, blocks),
              plural(blocks));
    mpki_line(out, "", "what the factor will take depends on what is dropped: see metapack stats");
}

/* Where the factorization would run, and what it would take there. */
static void write_estimate(const mpk_estimate *e, mpki_buffer *out) {
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX], z[MPKI_UNIT_MAX], time[MPKI_UNIT_MAX + 8] = "";
    if (e->device_free_bytes == 0) {
        mpki_line(out, "Place", "%s", e->engine);
        return;
    }
    if (e->time_s > 0) mpki_print(time, sizeof time, ", about %s", mpki_show_time(z, e->time_s));
    if (e->device_bytes < 0)
        mpki_line(out, "Place", "%s, %s free; what the factor takes is known when it is made",
                  e->engine, mpki_show_bytes(x, (double)e->device_free_bytes));
    else
        mpki_line(out, "Place", "%s, %s of %s free%s%s", e->engine,
                  mpki_show_bytes(x, (double)e->device_bytes),
                  mpki_show_bytes(y, (double)e->device_free_bytes), time,
                  e->device_bytes - e->device_delayed_bytes > e->device_free_bytes ? ": too much"
                                                                                   : "");
    if (e->device_delayed_bytes > 0)
        mpki_line(out, "", "%s of it kept for columns that are delayed",
                  mpki_show_bytes(x, (double)e->device_delayed_bytes));
}

mpki_unfit_text mpki_unfit(mpk_unfit unfit) {
    static const mpki_unfit_text texts[] = {
        [MPK_UNFIT_PIVOTS] = {"pivots", "zero or replaced pivots"},
        [MPK_UNFIT_RANGE] = {"range", "numbers were too large for it"},
        [MPK_UNFIT_GROWTH] = {"growth", "pivots grew too much"},
        [MPK_UNFIT_CONDITION] = {"condition", "a trial system was not refined to full precision"},
        [MPK_UNFIT_PATTERN] = {"pattern", "the matrix is structurally singular"},
        [MPK_UNFIT_BEFORE] = {"before", "older values were against it"}};
    return (size_t)unfit < sizeof texts / sizeof *texts ? texts[unfit] : texts[MPK_FIT];
}

/* Of a direct factor for which single precision, or low rank, was asked. */
static void write_precision(const mpk_options *o, const mpk_factor_info *f, mpki_buffer *out) {
    const char *why = mpki_unfit(f->unfit).why;
    char x[MPKI_UNIT_MAX];
    if (f->low_rank_tolerance > 0)
        mpki_line(out, "", "in low rank to %.1g: %.0f %% of its entries are held, %s done",
                  f->low_rank_tolerance, 100 * (double)f->low_rank_nnz / (double)f->nnz,
                  mpki_show_si(x, f->low_rank_flops, "FLOP"));
    if (f->emulated > 0)
        mpki_line(out, "", "%lld large fronts updated by emulated doubles", (long long)f->emulated);
    if (f->precision == MPK_PRECISION_SINGLE)
        mpki_line(out, "", "in single precision: solves are refined, the inertia is not certified");
    else if (why && o->low_rank_tolerance > 0)
        mpki_line(out, "", "of full rank: low rank did not do, %s", why);
    else if (why)
        mpki_line(out, "", "in double precision: single did not do, %s", why);
}

/* Pivots of L U: there is no inertia. */
static void write_general_pivots(const mpk_run *run, mpki_buffer *out) {
    const mpk_factor_info *f = &run->factor;
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX];
    mpki_line(out, "Pivots",
              "%s zero, %s column%s delayed, threshold %g; growth %.3g, smallest %.3g",
              mpki_show_count(x, f->inertia.zero), mpki_show_count(y, f->rejected),
              plural(f->rejected), run->options.pivot_threshold, f->growth, f->min_pivot);
    if (f->perturbed)
        mpki_line(out, "", "%s pivot%s perturbed by the static shift",
                  mpki_show_count(x, f->perturbed), plural(f->perturbed));
}

static void write_factor(const mpk_report *report, mpki_buffer *out) {
    const mpk_run *run = &report->run;
    const mpk_factor_info *f = &run->factor;
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX], z[MPKI_UNIT_MAX];
    char rate[MPKI_UNIT_MAX + 8] = ", loaded";
    const bool general = run->problem.symmetry == MPK_GENERAL;
    if (run->loaded < 2)
        mpki_print(rate, sizeof rate, " at %s",
                   mpki_show_si(y, f->time_s > 0 ? f->flops / f->time_s : 0, "FLOP/s"));
    mpki_line(out, "Factor", "%s, %s, %d thread%s; %s%s",
              general                                  ? "LU"
              : run->problem.symmetry == MPK_HERMITIAN ? "LDL^H"
                                                       : "LDL^T",
              run->backend ? run->backend : "cpu", f->threads, plural(f->threads),
              mpki_show_si(x, f->flops, "FLOP"), rate);
    mpki_line(out, "", "%s with %s entries, %.1f times those of A; largest front %s rows",
              general ? "L and U" : "L", mpki_show_si(x, (double)f->nnz, ""),
              run->problem.nnz > 0 ? (double)f->nnz / (double)run->problem.nnz : 0.0,
              mpki_show_count(y, f->max_front));
    write_precision(&run->options, f, out);
    if (general) {
        write_general_pivots(run, out);
        return;
    }
    mpki_line(out, "Pivots",
              "%s of 2x2, %s column%s delayed, %d stage%s; growth %.3g, smallest %.3g",
              mpki_show_count(x, f->two_by_two), mpki_show_count(y, f->rejected),
              plural(f->rejected), f->stages, plural(f->stages), f->growth, f->min_pivot);
    if (f->perturbed)
        mpki_line(out, "", "%s pivot%s perturbed by the static shift",
                  mpki_show_count(x, f->perturbed), plural(f->perturbed));
    const mpk_inertia *in = &f->inertia;
    bool meaningless = run->problem.symmetry == MPK_SYMMETRIC &&
                       (run->problem.scalar == MPK_C || run->problem.scalar == MPK_Z);
    if (meaningless)
        mpki_line(out, "Inertia", "without meaning for a complex symmetric matrix; %s zero pivot%s",
                  mpki_show_count(z, in->zero), plural(in->zero));
    else
        mpki_line(out, "Inertia", "%s positive, %s negative, %s zero; %s",
                  mpki_show_count(x, in->positive), mpki_show_count(y, in->negative),
                  mpki_show_count(z, in->zero),
                  in->certified  ? "certified"
                  : in->examined ? "NOT certified"
                                 : "not examined");
    if (in->certified && run->certificate.vectors > 0)
        mpki_line(out, "",
                  "by %d random vector%s: a wrong one passes with a probability of %.1g at most",
                  run->certificate.vectors, plural(run->certificate.vectors),
                  run->certificate.miss_bound);
}

/* The options of a method on blocks as the command takes them, to repeat the run. */
static void write_by_hand(const mpk_run *run, mpki_buffer *out) {
    char text[MPKI_WIDTH + 1];
    int row = 0;
    for (bool first = true;
         mpki_options_by_hand(run, &row, MPKI_WIDTH - MPKI_LABEL, text, sizeof text); first = false)
        mpki_line(out, first ? "Options" : "", "%s", text);
}

/* Products with approximate inverses, where they take the place of triangular solves. */
static void write_isai(const mpk_run *run, mpki_buffer *out) {
    static const char *const classes[MPK_ISAI_CLASSES] = {"1",  "2",  "4",   "8",    "16",
                                                          "32", "64", "128", "1024", "more"};
    const mpk_isai_info *s = &run->block.isai;
    const mpk_options *o = &run->options;
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX], z[MPKI_UNIT_MAX], u[MPKI_UNIT_MAX],
        text[MPKI_WIDTH + 1];
    int used = 0;
    mpki_line(out, "Inverses",
              "approximate, of the triangles: %s entries, %s; pattern %s, values %s",
              mpki_show_si(x, (double)s->entries, ""), mpki_show_bytes(y, (double)s->bytes),
              mpki_show_time(z, s->time_pattern_s), mpki_show_time(u, s->time_values_s));
    if (s->over > 0)
        mpki_line(out, "", "%s columns cut to %d entries: %s", mpki_show_count(x, s->over),
                  o->isai_limit, mpk_option_word("isai_over", (int)o->isai_over));
    text[0] = '\0';
    for (int k = 0; k < MPK_ISAI_CLASSES; k++)
        if (s->columns[k] && used < MPKI_WIDTH - MPKI_LABEL)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s: %s", used ? ", " : "",
                             classes[k], mpki_show_count(x, s->columns[k]));
    mpki_line(out, "", "columns by length, up to %s", text);
    mpki_line(out, "", "longest %d; %d sweep%s of relaxation%s", s->longest, o->isai_relax,
              plural(o->isai_relax),
              o->isai_frames == MPK_ON ? "; columns of a block share rows" : "");
}

/* Of triangular auto: what was measured. */
static void write_choice(const mpk_run *run, mpki_buffer *out) {
    const mpk_block_info *b = &run->block;
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX];
    if (!(b->inverses_s > 0))
        mpki_line(out, "Triangles", "solved exactly: no approximate inverses could be made");
    else
        mpki_line(out, "Triangles", "%s: exactly %s an application, by products %s, %.2g apart",
                  b->isai.entries > 0 ? "products" : "solved exactly",
                  mpki_show_time(x, b->exact_s), mpki_show_time(y, b->inverses_s),
                  b->inverses_error);
}

static void write_blocks(const mpk_run *run, mpki_buffer *out) {
    const mpk_block_info *b = &run->block;
    const mpk_factor_info *f = &run->factor;
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX], z[MPKI_UNIT_MAX], u[MPKI_UNIT_MAX];
    mpki_line(
        out, "Blocks", "%s on the diagonal, %s below it (%.3g filled; %.3g of A's), %s level sets",
        mpki_show_count(x, b->block_rows), mpki_show_count(y, difference(b->blocks, b->block_rows)),
        b->mean_fill_out, b->mean_fill_in, mpki_show_count(z, b->levels));
    mpki_line(out, "", "%s dense, %s bitmap, %s with rows left out", mpki_show_count(x, b->dense),
              mpki_show_count(y, b->bitmap), mpki_show_count(z, b->rows));
    if (b->by_rows > 0)
        mpki_line(out, "", "held by scalar rows, as which it is applied faster: %s entries",
                  mpki_show_si(x, (double)b->by_rows, ""));
    if (b->isai.entries > 0) write_isai(run, out);
    if (b->exact_s > 0) write_choice(run, out);
    const bool general = run->problem.symmetry == MPK_GENERAL;
    mpki_line(out, "Factor", "%s, %s, %d thread%s; %s; %s with %s entries, %s dropped; %s",
              general ? "LDU on blocks" : "incomplete", run->backend ? run->backend : "cpu",
              f->threads, plural(f->threads), mpki_show_si(x, f->flops, "FLOP"),
              general ? "L and U" : "L", mpki_show_si(y, (double)f->nnz, ""),
              mpki_show_si(z, (double)b->dropped, ""), mpki_show_bytes(u, (double)b->bytes));
    mpki_line(out, "Pivots",
              "%s of 2x2, %s replaced, %s block%s rejected, %d stage%s; largest %.3g",
              mpki_show_count(x, b->two_by_two), mpki_show_count(y, b->perturbed),
              mpki_show_count(z, b->rejected), plural(b->rejected), b->stages, plural(b->stages),
              f->growth);
    if (b->unpushed > 0)
        mpki_line(
            out, "",
            "all %s blocks that were left failed jacobi_push, so none of them was pushed back",
            mpki_show_count(x, b->unpushed));
    if (b->joins > 0)
        mpki_line(out, "", "frames that no stage accepted were joined to larger ones %d time%s",
                  b->joins, plural(b->joins));
    if (b->in_single > 0 || b->in_bf16 > 0)
        mpki_line(out, "", "%s blocks held in single precision, %s in bfloat16",
                  mpki_show_count(x, b->in_single), mpki_show_count(y, b->in_bf16));
    if (b->cut > 0)
        mpki_line(out, "",
                  "%s block%s wider than a device takes cut into pieces of at most 32 rows",
                  mpki_show_count(x, b->cut), b->cut == 1 ? "" : "s");
    if (b->border_rows > 0)
        mpki_line(out, "", "%s rows that no stage accepted became one dense pivot",
                  mpki_show_count(x, b->border_rows));
    if (b->breakdowns > 0)
        mpki_line(out, "",
                  "broke down %d time%s; the factor is that of A with %.3g of its diagonal added",
                  b->breakdowns, plural(b->breakdowns), b->diagonal_shift);
}

/* The attempts of method auto. */
static void write_attempts(const mpk_run *run, mpki_buffer *out) {
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX], z[MPKI_UNIT_MAX];
    if (run->no_direct[0]) mpki_line(out, "Not direct", "%s", run->no_direct);
    for (int32_t k = 0; k < run->attempts; k++) {
        const mpk_attempt *a = &run->attempt[k];
        if (a->method == MPK_METHOD_LDLT) continue;
        mpki_line(out, k ? "" : "Attempts",
                  "level %d, fill %g, drop %g, %d stage%s: %s, %s in %d, %s, %s", a->level,
                  a->fill_factor, a->drop_tolerance, a->stages, plural(a->stages),
                  mpk_status_name(a->status), mpki_show_error(x, a->residual), a->iterations,
                  mpki_show_bytes(y, (double)a->bytes), mpki_show_time(z, a->time_s));
    }
}

static void write_krylov(const mpk_report *report, mpki_buffer *out) {
    const mpk_krylov_info *k = &report->run.solve.krylov;
    char a[MPKI_UNIT_MAX], b[MPKI_UNIT_MAX], c[MPKI_UNIT_MAX], d[MPKI_UNIT_MAX];
    mpki_line(out, "Solution", "%d right-hand side%s by %s: %s iteration%s%s", report->run.nrhs,
              plural(report->run.nrhs), mpki_show_krylov(k->method),
              mpki_show_count(a, k->iterations), plural(k->iterations),
              report->run.nrhs > 1 ? " at most" : "");
    mpki_line(out, "", "%s product%s with A in %s, %s of the preconditioner in %s",
              mpki_show_count(a, k->products), plural(k->products),
              mpki_show_time(b, k->time_product_s), mpki_show_count(c, k->applications),
              mpki_show_time(d, k->time_precondition_s));
    mpki_print(d, sizeof d, ", %.3g to the quasi-residual", k->quasi_gap);
    mpki_line(
        out, "Residual", "%s relative and true (asked: %s), %s as recurred; largest gap %.3g%s",
        mpki_show_error(a, k->residual),
        k->tolerance >= 0 ? mpki_show_error(c, k->tolerance) : "an answer accurate to rounding",
        mpki_show_error(b, k->recurred), k->gap, k->quasi_gap > 0 ? d : "");
    if (k->restarts > 0 || k->breakdowns > 0)
        mpki_line(out, "", "%d restart%s, %d breakdown%s", k->restarts, plural(k->restarts),
                  k->breakdowns, plural(k->breakdowns));
}

static void write_solve(const mpk_report *report, mpki_buffer *out) {
    const mpk_solve_info *s = &report->run.solve;
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX];
    if (s->krylov.method > MPK_KRYLOV_NONE) {
        write_krylov(report, out);
        mpki_line(out, "Accuracy", "componentwise backward error %s",
                  mpki_show_error(x, s->componentwise));
    } else {
        mpki_line(out, "Solution", "%d right-hand side%s, %d step%s of refinement",
                  report->run.nrhs, plural(report->run.nrhs), s->iterations, plural(s->iterations));
        mpki_line(out, "Accuracy", "componentwise backward error %s (%s before refinement)",
                  mpki_show_error(x, s->componentwise), mpki_show_error(y, s->unrefined));
    }
    mpki_line(out, "", "normwise backward error %s, relative residual %s",
              mpki_show_error(x, s->normwise), mpki_show_error(y, s->relative_residual));
    if (s->condition != 0)
        mpki_line(out, "", "condition number about %s, so about %d digits of x can be trusted",
                  mpki_show_error(x, s->condition),
                  s->condition > 0 && isfinite(s->condition)
                      ? (int)fmax(0, -log10(fmin(1, fmax(1, s->condition) *
                                                        fmax(s->componentwise, 1.1e-16))))
                      : 0);
}

static void write_selected(const mpk_run *run, mpki_buffer *out) {
    const mpk_selected_info *s = &run->selected;
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX], z[MPKI_UNIT_MAX];
    mpki_line(out, "Inverse", "%s, %d thread%s; %s at %s, %s beside the factor",
              run->selection == MPK_SELECT_DIAGONAL ? "its diagonal" : "its entries on A's pattern",
              s->threads, plural(s->threads), mpki_show_si(x, s->flops, "FLOP"),
              mpki_show_si(y, s->time_s > 0 ? s->flops / s->time_s : 0, "FLOP/s"),
              mpki_show_bytes(z, (double)s->peak_bytes));
    mpki_line(out, "Accuracy", "the diagonal of A times it is off by %s, the error at least %s",
              mpki_show_error(x, s->deviation), mpki_show_error(y, s->error));
}

static void write_time(const mpk_report *report, mpki_buffer *out) {
    const mpk_run *run = &report->run;
    char x[4][MPKI_UNIT_MAX], rest[4 * MPKI_UNIT_MAX] = "";
    int used = 0;
    if (run->have_analysis)
        used += mpki_print(rest + used, sizeof rest - (size_t)used, ", %s %s",
                           run->loaded ? "load the analysis" : "analyse",
                           mpki_show_time(x[1], run->analysis.time_s));
    if (run->have_factor)
        used += mpki_print(rest + used, sizeof rest - (size_t)used, ", %s %s",
                           run->loaded > 1 ? "load the factor" : "factorize",
                           mpki_show_time(x[2], run->factor.time_s));
    if (run->have_solve)
        mpki_print(rest + used, sizeof rest - (size_t)used, ", solve %s",
                   mpki_show_time(x[3], run->solve.time_s));
    if (run->have_selected)
        mpki_print(rest + used, sizeof rest - (size_t)used, ", inverse %s",
                   mpki_show_time(x[3], run->selected.time_s));
    mpki_line(out, "Time", "read %s%s", mpki_show_time(x[0], run->time_read_s), rest);
    char predicted[MPKI_UNIT_MAX + 16] = "";
    if (run->analysis.peak_bytes > 0)
        mpki_print(predicted, sizeof predicted, " (predicted %s)",
                   mpki_show_bytes(x[2], (double)run->analysis.peak_bytes));
    if (run->have_factor)
        mpki_line(out, "Memory", "factor %s, peak of factorizing %s%s, of the run %s",
                  mpki_show_bytes(x[0], (double)run->factor.bytes),
                  mpki_show_bytes(x[1], (double)run->factor.peak_bytes), predicted,
                  mpki_show_bytes(x[3], run->peak_bytes));
}

/* The accuracy reached, and whether it is the one asked for: "good" must not mix these up. */
static void write_good(const mpk_run *run, mpki_buffer *out) {
    const mpk_solve_info *s = &run->solve;
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX];
    if (s->componentwise <= mpki_accuracy(&run->options, run->problem.scalar))
        mpki_line(out, "Result", "good: accurate to rounding");
    else
        mpki_line(
            out, "Result",
            "converged to %s, the tolerance asked for; not to rounding: componentwise backward "
            "error %s",
            mpki_show_error(x, s->krylov.tolerance), mpki_show_error(y, s->componentwise));
}

/* Of a singular system: is it consistent? */
static const char *consistency(const mpk_run *run) {
    if (!run->have_solve) return "";
    if (run->factor.rank == MPK_RANK_STRUCTURAL && run->factor.rank_bound > 0)
        return "The factor has less rank than A, for more would take too long or too much memory: "
               "whether there is a solution the errors do not tell.";
    if (!run->solve.solved && run->solve.krylov.method > MPK_KRYLOV_NONE)
        return "x does not solve the system; whether another one does, this method does not tell.";
    if (run->solve.consistent < 0 || (run->solve.consistent == 0 && !run->solve.solved))
        return run->minimum_norm
                   ? "The right-hand side is not consistent: of all x that leave the least of it "
                     "this is the shortest."
                   : "The right-hand side is not consistent: no x solves the system.";
    if (run->solve.consistent > 0 && run->minimum_norm)
        return "The right-hand side is consistent: x is the shortest of all that solve the system.";
    return run->solve.consistent > 0 || run->solve.relative_residual <= 1e-8
               ? "The right-hand side is consistent: x solves the system, but is not unique."
               : "x solves a system near this one; whether there is a solution of this one its "
                 "errors do not tell.";
}

/* What this run has shown about an accuracy that was not reached; nothing where it has not. */
static const char *advise(const mpk_run *run, char *out, size_t size) {
    const mpk_solve_info *s = &run->solve;
    const int most = run->options.refine;
    char x[MPKI_UNIT_MAX];
    out[0] = '\0';
    if (run->factor.perturbed)
        snprintf(out, size,
                 " Pivots were perturbed, as asked: without --static-shift it will be smaller.");
    else if (most == 0)
        snprintf(out, size, " There was no refinement (--refine 0).");
    else if (s->iterations >= most && s->componentwise < 0.5 * s->unrefined)
        snprintf(out, size,
                 " Refinement was still at work when its %d step%s ended: --refine allows more.",
                 most, plural(most));
    else if (s->normwise <= 1e-14)
        snprintf(out, size,
                 " The normwise one is %s: a few rows are badly scaled, and those alone miss it.",
                 mpki_show_error(x, s->normwise));
    return out;
}

/* In plain words: what went wrong, and what can be done about it. */
static void write_outcome(const mpk_report *report, mpki_buffer *out) {
    const mpk_run *run = &report->run;
    const mpk_inertia *in = &run->factor.inertia;
    const char *message =
        run->message && *run->message ? run->message : mpk_status_text(run->status);
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX], z[MPKI_UNIT_MAX], u[MPKI_UNIT_MAX], advice[160];
    switch (run->status) {
    case MPK_OK:
        if (run->have_solve)
            write_good(run, out);
        else if (run->have_analysis)
            mpki_line(out, "Result", "good");
        break;
    case MPK_SINGULAR:
        if (run->have_factor && run->factor.rank == MPK_RANK_STRUCTURAL)
            mpki_line(
                out, "Result",
                "SINGULAR by structure: whatever its values, the rank is at most %s of %s. %s",
                mpki_show_count(y, run->analysis.structural_rank),
                mpki_show_count(z, run->problem.n), consistency(run));
        else if (run->have_factor && in->zero > 0)
            mpki_line(
                out, "Result",
                "SINGULAR to working precision: %s zero pivot%s, so the numerical rank is at most "
                "%s of "
                "%s; "
                "a relative change of %s in its entries makes it so exactly. %s",
                mpki_show_count(x, in->zero), plural(in->zero),
                mpki_show_count(y, difference(run->problem.n, in->zero)),
                mpki_show_count(z, run->problem.n), mpki_show_error(u, run->factor.rank_bound),
                consistency(run));
        else if (run->have_solve)
            mpki_line(out, "Result", "SINGULAR: %s", message);
        else
            mpki_line(out, "Result",
                      "SINGULAR by structure: whatever its values, the rank is less than n.");
        break;
    case MPK_PERTURBED:
        mpki_line(out, "Result",
                  "good, with %s perturbed pivot%s, as asked: the %s is that of a nearby matrix",
                  mpki_show_count(x, run->factor.perturbed), plural(run->factor.perturbed),
                  run->have_selected ? "inverse" : "inertia");
        break;
    case MPK_INACCURATE:
        if (run->have_selected) {
            mpki_line(out, "Result", "NOT ACCURATE: %s", message);
            break;
        }
        if (run->solve.krylov.method > MPK_KRYLOV_NONE) {
            mpki_line(out, "Result", "NOT ACCURATE TO ROUNDING: %s", message);
            break;
        }
        if (run->factor.rank == MPK_RANK_UNDECIDED)
            mpki_line(out, "",
                      "whether A is singular was not decided within the work that this may cost: "
                      "metapack inertia looks further");
        if (run->solve.componentwise <= mpki_accuracy(&run->options, run->problem.scalar)) {
            mpki_line(out, "Result", "NOT TO BE TRUSTED: %s", message);
            break;
        }
        mpki_line(out, "Result",
                  "ACCURACY NOT REACHED: the componentwise backward error stays at %s.%s",
                  mpki_show_error(x, run->solve.componentwise), advise(run, advice, sizeof advice));
        break;
    case MPK_NOT_CONVERGED:
        mpki_line(out, "Result", "NOT CONVERGED: %s%s", message,
                  run->solve.krylov.iterations >= run->options.max_iterations
                      ? "; --max-iterations allows more"
                      : "");
        break;
    case MPK_ERR_CANCELLED:
        mpki_line(out, "Result", "cancelled");
        break;
    default:
        mpki_line(out, "Result", "FAILED: %s", message);
        break;
    }
    if (run->have_factor && run->status == MPK_OK && !in->certified && in->examined &&
        run->analysis.factor_nnz > 0 && run->problem.symmetry != MPK_GENERAL &&
        !(run->problem.symmetry == MPK_SYMMETRIC && run->problem.scalar >= MPK_C))
        mpki_line(
            out, "",
            "The inertia is not certified: a solve with the factors is off by %.2g, so rounding "
            "could "
            "have turned signs, or A is singular.",
            run->certificate.contraction);
}

void mpki_report_write_text(const mpk_report *report, mpki_buffer *out) {
    const mpk_run *run = &report->run;
    if (run->have_dense) {
        mpki_report_dense_text(run, out);
        return;
    }
    write_matrix(report, out);
    if (report->have_stats) write_stats(report, out);
    const bool blocks = run->have_factor && run->block.block_rows > 0;
    const bool direct = run->analysis.factor_nnz > 0;
    if (run->have_analysis && direct) write_analysis(report, out);
    if (run->have_analysis && !direct && !run->have_factor) write_blocking(run, out);
    if (run->estimate.engine && !run->have_factor) write_estimate(&run->estimate, out);
    if (run->have_factor && direct) write_factor(report, out);
    if (run->have_factor && !direct && !blocks)
        mpki_line(out, "Factor", "none: the preconditioner is the scaling alone");
    write_attempts(run, out);
    if (blocks) {
        write_by_hand(run, out);
        write_blocks(run, out);
    }
    if (run->have_solve) write_solve(report, out);
    if (run->have_selected) write_selected(run, out);
    if (report->have_problem) write_time(report, out);
    mpki_report_energy(run, out);
    write_outcome(report, out);
}
