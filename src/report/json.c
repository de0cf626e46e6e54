/* SPDX-License-Identifier: BSD-3-Clause */
/* A report as one JSON object (docs/reference/json.md). */
#include "report.h"
#include "../problem/measure.h"

#include <inttypes.h>
#include <math.h>

/* JSON has no NaN and no infinity. */
static void put_real(mpki_buffer *out, const char *format, double x) {
    if (isfinite(x))
        mpki_buffer_printf(out, format, x);
    else
        mpki_buffer_printf(out, "null");
}

/* An object being written; its first member has no comma before it. */
typedef struct object {
    mpki_buffer *out;
    int indent, members;
} object;

static void key(object *o, const char *name) {
    mpki_buffer_printf(o->out, "%s%s%*s\"%s\": ", o->members++ ? "," : "", o->indent ? "\n" : " ",
                       o->indent, "", name);
}

static void text(object *o, const char *name, const char *value) {
    key(o, name);
    mpki_buffer_json(o->out, value);
}

static void integer(object *o, const char *name, int64_t value) {
    key(o, name);
    mpki_buffer_printf(o->out, "%" PRId64, value);
}

static void real(object *o, const char *name, const char *format, double value) {
    key(o, name);
    put_real(o->out, format, value);
}

static object open_object(object *parent, const char *name) {
    key(parent, name);
    mpki_buffer_printf(parent->out, "{");
    return (object){.out = parent->out};
}

static void close_object(object *o) {
    mpki_buffer_printf(o->out, " }");
}

static void write_inertia(object *top, const mpk_inertia *inertia) {
    object o = open_object(top, "inertia");
    integer(&o, "positive", inertia->positive);
    integer(&o, "negative", inertia->negative);
    integer(&o, "zero", inertia->zero);
    key(&o, "certified");
    mpki_buffer_printf(o.out, inertia->certified ? "true" : "false");
    key(&o, "examined");
    mpki_buffer_printf(o.out, inertia->examined ? "true" : "false");
    close_object(&o);
}

/* How the inertia was examined. */
static void write_certificate(object *top, const mpk_certificate *c) {
    object o = open_object(top, "certificate");
    integer(&o, "vectors", c->vectors);
    real(&o, "contraction", "%.6g", c->contraction);
    real(&o, "miss_bound", "%.6g", c->miss_bound);
    close_object(&o);
}

/* What the two triangles differ by. */
static void write_asymmetry(object *top, const mpk_asymmetry *asymmetry) {
    object o = open_object(top, "asymmetry");
    integer(&o, "pairs", asymmetry->pairs);
    integer(&o, "rough", asymmetry->rough);
    real(&o, "apart", "%.6g", asymmetry->apart);
    close_object(&o);
}

/* The accuracy asked for, and the one reached. */
static void write_accuracy(object *top, const mpk_run *run) {
    const mpk_solve_info *s = &run->solve;
    const double accuracy = mpki_accuracy(&run->options, run->problem.scalar);
    const bool krylov = s->krylov.method > MPK_KRYLOV_NONE;
    const bool rounding = s->componentwise <= accuracy;
    const bool converged =
        krylov && s->krylov.tolerance >= 0 && s->relative_residual <= s->krylov.tolerance;
    object o = open_object(top, "accuracy");
    text(&o, "reached", rounding ? "rounding" : converged ? "tolerance" : "none");
    key(&o, "solved");
    mpki_buffer_printf(o.out, s->solved ? "true" : "false");
    if (run->minimum_norm) {
        key(&o, "minimum_norm");
        mpki_buffer_printf(o.out, "true");
    }
    real(&o, "componentwise_asked", "%.6g", accuracy);
    if (krylov && s->krylov.tolerance >= 0) real(&o, "tolerance", "%.6g", s->krylov.tolerance);
    close_object(&o);
}

/* What the pivots of a complete factorization say about the rank. */
static void write_rank(object *top, const mpk_run *run) {
    static const char *const names[] = {"no_zero_pivot", "structural", "numerical", "undecided"};
    const mpk_factor_info *f = &run->factor;
    object o = open_object(top, "rank");
    const bool known = (unsigned)f->rank < sizeof names / sizeof *names &&
                       !(f->rank == MPK_RANK_FULL && (f->inertia.zero > 0 || f->perturbed > 0));
    text(&o, "verdict", f->inertia.certified ? "full" : known ? names[f->rank] : "unknown");
    if (run->analysis.structural_rank >= 0)
        integer(&o, "structural", run->analysis.structural_rank);
    if (f->rank == MPK_RANK_NUMERICAL || f->rank == MPK_RANK_UNDECIDED || f->rank_bound > 0)
        real(&o, "bound", "%.6g", f->rank_bound);
    close_object(&o);
}

static void write_solve(object *top, const mpk_run *run) {
    const mpk_solve_info *solve = &run->solve;
    const bool singular =
        run->factor.rank == MPK_RANK_STRUCTURAL || run->factor.rank == MPK_RANK_NUMERICAL;
    object o = open_object(top, "backward_error");
    real(&o, "normwise", "%.6g", solve->normwise);
    real(&o, "componentwise", "%.6g", solve->componentwise);
    real(&o, "unrefined", "%.6g", solve->unrefined);
    close_object(&o);
    real(top, "relative_residual", "%.6g", solve->relative_residual);
    if (singular || solve->consistent)
        text(top, "consistent",
             solve->consistent > 0   ? "yes"
             : solve->consistent < 0 ? "no"
                                     : "unknown");
    integer(top, "iterations",
            solve->krylov.method > MPK_KRYLOV_NONE ? solve->krylov.iterations : solve->iterations);
    if (solve->condition != 0) real(top, "condition", "%.6g", solve->condition);
}

static void write_selected(object *top, const mpk_run *run) {
    const mpk_selected_info *s = &run->selected;
    object o = open_object(top, "selected");
    text(&o, "entries", run->selection == MPK_SELECT_DIAGONAL ? "diagonal" : "pattern");
    real(&o, "error", "%.6g", s->error);
    real(&o, "deviation", "%.6g", s->deviation);
    integer(&o, "row", s->row);
    integer(&o, "threads", s->threads);
    real(&o, "flops", "%.15g", s->flops);
    integer(&o, "peak_bytes", s->peak_bytes);
    close_object(&o);
}

enum { HISTORY_SHOWN = 1000 }; /* most residuals in the object; if there are more, every k-th */

static void write_krylov(object *top, const mpk_run *run) {
    const mpk_krylov_info *k = &run->solve.krylov;
    object o = open_object(top, "krylov");
    text(&o, "method", mpk_option_word("krylov", (int)k->method));
    integer(&o, "iterations", k->iterations);
    integer(&o, "products", k->products);
    integer(&o, "applications", k->applications);
    integer(&o, "restarts", k->restarts);
    integer(&o, "breakdowns", k->breakdowns);
    if (k->tolerance >= 0) real(&o, "tolerance", "%.6g", k->tolerance);
    real(&o, "residual", "%.6g", k->residual);
    real(&o, "recurred", "%.6g", k->recurred);
    real(&o, "gap", "%.6g", k->gap);
    if (k->method == MPK_KRYLOV_SQMR) real(&o, "quasi_gap", "%.6g", k->quasi_gap);
    real(&o, "time_product_s", "%.6f", k->time_product_s);
    real(&o, "time_precondition_s", "%.6f", k->time_precondition_s);
    if (run->history) {
        const int32_t count = run->history_count;
        const int32_t stride = (count + HISTORY_SHOWN - 1) / HISTORY_SHOWN;
        integer(&o, "history_stride", stride);
        key(&o, "history");
        for (int32_t i = stride - 1; i < count; i += stride) {
            mpki_buffer_printf(o.out, i < stride ? "[" : ", ");
            put_real(o.out, "%.4g", run->history[i]);
        }
        mpki_buffer_printf(o.out, "]");
    }
    close_object(&o);
}

/* Approximate inverses of the triangles. */
static void write_isai(object *top, const mpk_run *run) {
    const mpk_isai_info *s = &run->block.isai;
    const mpk_options *p = &run->options;
    object o = open_object(top, "isai");
    text(&o, "pattern", mpk_option_word("isai_pattern", (int)p->isai_pattern));
    integer(&o, "power", p->isai_power);
    integer(&o, "limit", p->isai_limit);
    integer(&o, "relax", p->isai_relax);
    text(&o, "precision", mpk_option_word("isai_precision", (int)p->isai_precision));
    text(&o, "frames", mpk_option_word("isai_frames", (int)p->isai_frames));
    key(&o, "columns");
    for (int k = 0; k < MPK_ISAI_CLASSES; k++)
        mpki_buffer_printf(o.out, "%s%lld", k ? ", " : "[", (long long)s->columns[k]);
    mpki_buffer_printf(o.out, "]");
    integer(&o, "longest", s->longest);
    integer(&o, "over", s->over);
    integer(&o, "entries", s->entries);
    integer(&o, "bytes", s->bytes);
    real(&o, "time_pattern_s", "%.6f", s->time_pattern_s);
    real(&o, "time_values_s", "%.6f", s->time_values_s);
    close_object(&o);
}

/* A method on blocks: what was asked for and what came of it. */
static void write_blocks(object *top, const mpk_run *run) {
    const mpk_block_info *b = &run->block;
    const mpk_options *p = &run->options;
    object o = open_object(top, "blocks");
    text(&o, "strategy", mpk_option_word("strategy", (int)b->strategy));
    text(&o, "schedule", mpk_option_word("schedule", (int)b->schedule));
    text(&o, "factor_type", mpk_option_word("factor_type", (int)p->factor_type));
    text(&o, "pivoting", mpk_option_word("pivoting", (int)p->pivoting));
    text(&o, "precision", mpk_option_word("precision", (int)p->precision));
    integer(&o, "block", p->block);
    integer(&o, "level", p->level);
    real(&o, "fill_factor", "%.6g", p->fill_factor);
    real(&o, "drop_tolerance", "%.6g", p->drop_tolerance);
    integer(&o, "block_rows", b->block_rows);
    integer(&o, "blocks", b->blocks);
    integer(&o, "dense", b->dense);
    integer(&o, "bitmap", b->bitmap);
    integer(&o, "rows", b->rows);
    if (p->block_tolerance > 0) {
        integer(&o, "in_single", b->in_single);
        integer(&o, "in_bf16", b->in_bf16);
    }
    integer(&o, "by_rows", b->by_rows);
    integer(&o, "levels", b->levels);
    integer(&o, "sublevels", b->sublevels);
    integer(&o, "stages", b->stages);
    integer(&o, "rejected", b->rejected);
    if (b->schedule == MPK_SCHEDULE_JACOBI) {
        integer(&o, "unpushed", b->unpushed);
        integer(&o, "swept", b->swept);
    }
    integer(&o, "border_rows", b->border_rows);
    integer(&o, "joins", b->joins);
    integer(&o, "cut", b->cut);
    integer(&o, "perturbed", b->perturbed);
    integer(&o, "kept", b->kept);
    integer(&o, "dropped", b->dropped);
    real(&o, "mean_fill_in", "%.4g", b->mean_fill_in);
    real(&o, "mean_fill_out", "%.4g", b->mean_fill_out);
    integer(&o, "bytes", b->bytes);
    real(&o, "time_block_s", "%.6f", b->time_block_s);
    real(&o, "time_fill_s", "%.6f", b->time_fill_s);
    real(&o, "time_numeric_s", "%.6f", b->time_numeric_s);
    real(&o, "time_inspector_s", "%.6f", b->time_inspector_s);
    if (p->factor_type == MPK_TYPE_LLT) {
        integer(&o, "breakdowns", b->breakdowns);
        real(&o, "diagonal_shift", "%.6g", b->diagonal_shift);
    }
    if (b->isai.entries > 0) write_isai(&o, run);
    if (b->exact_s > 0) {
        object t = open_object(&o, "triangular");
        real(&t, "exact_s", "%.4g", b->exact_s);
        real(&t, "isai_s", "%.4g", b->inverses_s);
        real(&t, "error", "%.4g", b->inverses_error);
        close_object(&t);
    }
    close_object(&o);
}

/* The options that the method read, with the values in force. */
static void write_options(object *top, const mpk_run *run) {
    const mpk_option *option;
    object o = open_object(top, "options");
    for (int k = 0; (option = mpk_option_at(k)); k++) {
        const int64_t whole = mpk_option_integer(option, &run->options);
        if (!mpki_option_in_force(option, run)) continue;
        if (option->count)
            text(&o, option->key, mpk_option_word(option->key, (int)whole));
        else if (option->kind == MPK_OPTION_REAL)
            real(&o, option->key, "%.15g", mpk_option_value(option, &run->options));
        else
            integer(&o, option->key, whole);
    }
    close_object(&o);
}

static void write_attempts(object *top, const mpk_run *run) {
    key(top, "attempts");
    for (int32_t k = 0; k < run->attempts; k++) {
        const mpk_attempt *a = &run->attempt[k];
        mpki_buffer_printf(top->out, k ? ", " : "[");
        object o = {.out = top->out};
        mpki_buffer_printf(top->out, "{");
        text(&o, "method", mpk_method_name(a->method));
        integer(&o, "level", a->level);
        integer(&o, "stages", a->stages);
        real(&o, "fill_factor", "%.6g", a->fill_factor);
        real(&o, "drop_tolerance", "%.6g", a->drop_tolerance);
        text(&o, "status", mpk_status_name(a->status));
        integer(&o, "iterations", a->iterations);
        real(&o, "residual", "%.6g", a->residual);
        integer(&o, "bytes", a->bytes);
        real(&o, "time_s", "%.6f", a->time_s);
        close_object(&o);
    }
    mpki_buffer_printf(top->out, "]");
}

static void write_times(object *top, const mpk_run *run) {
    object o = open_object(top, "time_s");
    real(&o, "read", "%.6f", run->time_read_s);
    if (run->have_analysis) real(&o, "analyse", "%.6f", run->analysis.time_s);
    if (run->have_factor) real(&o, "factorize", "%.6f", run->factor.time_s);
    if (run->have_solve) real(&o, "solve", "%.6f", run->solve.time_s);
    if (run->have_selected) real(&o, "inverse", "%.6f", run->selected.time_s);
    close_object(&o);
    if (run->loaded) text(top, "loaded", run->loaded > 1 ? "factor" : "analysis");
}

/* What the factorization did, or what the analysis predicts of it. */
static void write_factor(object *top, const mpk_run *run) {
    const mpk_factor_info *f = &run->factor;
    const mpk_analysis_info *a = &run->analysis;
    object o = open_object(top, "factor");
    integer(&o, "nnz", run->have_factor ? f->nnz : a->factor_nnz);
    real(&o, "flops", "%.15g", run->have_factor ? f->flops : a->factor_flops);
    integer(&o, "bytes", run->have_factor ? f->bytes : a->factor_bytes);
    integer(&o, "peak_bytes", run->have_factor ? f->peak_bytes : a->peak_bytes);
    if (run->have_factor) {
        integer(&o, "rejected", f->rejected);
        integer(&o, "stages", f->stages);
        integer(&o, "two_by_two", f->two_by_two);
        real(&o, "growth", "%.6g", f->growth);
        text(&o, "precision", mpk_option_word("precision", (int)f->precision));
        if (f->low_rank_tolerance > 0) {
            real(&o, "low_rank_tolerance", "%g", f->low_rank_tolerance);
            integer(&o, "low_rank_nnz", f->low_rank_nnz);
            real(&o, "low_rank_flops", "%.15g", f->low_rank_flops);
        }
        if (mpki_unfit(f->unfit).word) text(&o, "unfit", mpki_unfit(f->unfit).word);
        if (f->emulated > 0) integer(&o, "emulated", f->emulated);
        if (f->kept_bytes > 0) integer(&o, "kept_bytes", f->kept_bytes);
    } else if (run->estimate.device_free_bytes > 0) {
        if (run->estimate.device_bytes >= 0)
            integer(&o, "device_bytes", run->estimate.device_bytes);
        if (run->estimate.device_bytes >= 0)
            integer(&o, "device_delayed_bytes", run->estimate.device_delayed_bytes);
        integer(&o, "device_free_bytes", run->estimate.device_free_bytes);
        if (run->estimate.time_s > 0) real(&o, "device_time_s", "%.6f", run->estimate.time_s);
    }
    close_object(&o);
}

void mpki_report_write_json(const mpk_report *report, mpki_buffer *out) {
    const mpk_run *run = &report->run;
    object top = {.out = out, .indent = 2};
    if (run->have_dense) {
        mpki_report_dense_json(run, out);
        return;
    }
    mpki_buffer_printf(out, "{");
    text(&top, "schema", "metapack-run/1");
    text(&top, "version", mpk_version());
    if (report->have_problem) {
        integer(&top, "n", run->problem.n);
        integer(&top, "nnz", run->problem.nnz);
        text(&top, "scalar", mpki_scalar_name(run->problem.scalar));
        text(&top, "symmetry", mpki_symmetry_name(run->problem.symmetry));
    }
    if (run->asymmetry.pairs > 0) write_asymmetry(&top, &run->asymmetry);
    if (run->have_analysis) text(&top, "method", mpk_method_name(run->options.method));
    if (run->backend && (run->have_factor || run->estimate.engine))
        text(&top, "backend", run->backend);
    if (run->have_factor) {
        integer(&top, "threads", run->factor.threads);
    }
    if (run->have_analysis) {
        text(&top, "ordering", mpk_ordering_name(run->analysis.ordering));
        text(&top, "ordered_for", run->analysis.ordered_for == MPK_ON_CUDA ? "cuda" : "cpu");
    }
    text(&top, "status", mpk_status_name(run->status));
    if (run->status != MPK_OK)
        text(&top, "message",
             run->message && *run->message ? run->message : mpk_status_text(run->status));
    if (run->have_factor && run->problem.symmetry != MPK_GENERAL)
        write_inertia(&top, &run->factor.inertia);
    if (run->have_factor && run->factor.inertia.examined && run->certificate.vectors > 0)
        write_certificate(&top, &run->certificate);
    if (run->have_factor && run->block.block_rows == 0 && run->options.method != MPK_METHOD_NONE)
        write_rank(&top, run);
    if (run->have_solve) write_solve(&top, run);
    if (run->have_solve) write_accuracy(&top, run);
    if (run->have_solve && run->solve.krylov.method > MPK_KRYLOV_NONE) write_krylov(&top, run);
    if (run->have_selected) write_selected(&top, run);
    if (report->have_problem) write_times(&top, run);
    if (run->energy.asked) {
        key(&top, "energy_j");
        mpki_report_energy_json(run, out);
    }
    if (run->have_analysis) write_factor(&top, run);
    if (run->have_analysis) write_options(&top, run);
    if (run->have_factor && run->block.block_rows > 0) write_blocks(&top, run);
    if (run->attempts > 0 && run->block.block_rows > 0) write_attempts(&top, run);
    if (run->no_direct[0]) text(&top, "no_direct", run->no_direct);
    mpki_buffer_printf(out, "\n}\n");
}
