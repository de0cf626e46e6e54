/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts and findings as one JSON object: docs/reference/json.md, metapack-doctor/1. */
#include "doctor.h"

#include <math.h>

static const char *const severities[] = {"note", "good", "care", "bad"};
static const char *const sections[SECTIONS] = {"what",  "hard",  "way", "cost",
                                               "tried", "worth", "left"};

/* JSON has no infinity. */
static void real(FILE *out, const char *key, double v) {
    if (isfinite(v))
        fprintf(out, ", \"%s\": %.9g", key, v);
    else
        fprintf(out, ", \"%s\": null", key);
}

static void count(FILE *out, const char *key, int64_t v) {
    fprintf(out, ", \"%s\": %lld", key, (long long)v);
}

static void flag(FILE *out, const char *key, bool v) {
    fprintf(out, ", \"%s\": %s", key, v ? "true" : "false");
}

static void text(FILE *out, const char *key, const char *v) {
    fprintf(out, ", \"%s\": ", key);
    cli_print_json_string(out, v);
}

static void write_look(const doctor_look *k, FILE *out) {
    fprintf(out, ",\n  \"entries\": { \"nonzero\": %lld", (long long)k->nonzeros);
    count(out, "explicit_zeros", k->explicit_zeros);
    count(out, "zero_rows", k->zero_rows);
    count(out, "zero_columns", k->zero_columns);
    count(out, "repeated_rows", k->repeated);
    count(out, "components", k->components);
    count(out, "single_rows", k->single);
    count(out, "largest_component", k->size[0]);
    count(out, "longest_row", k->longest);
    count(out, "dense_rows", k->dense_rows);
    count(out, "bandwidth", k->bandwidth);
    count(out, "dominant_rows", k->dominant_rows);
    fprintf(out, ", \"diagonal\": { \"zero\": %d, \"positive\": %d, \"negative\": %d }",
            k->diagonal_zero, k->diagonal_positive, k->diagonal_negative);
    real(out, "least", k->least);
    real(out, "most", k->most);
    real(out, "row_spread_decades", k->spread);
    real(out, "row_spread_scaled_decades", k->spread_balanced);
    fprintf(out, " }");
}

static void write_form(const doctor_form *f, FILE *out) {
    static const char *const shapes[] = {"none", "saddle", "bordered", "pair"};
    static const char *const graphs[] = {"none", "laplacian", "grounded", "shifted", "ones"};
    fprintf(out, ",\n  \"form\": { \"shape\": \"%s\"", shapes[f->shape]);
    count(out, "constraints", f->m);
    count(out, "variables", f->variables);
    count(out, "either", f->either);
    flag(out, "h_diagonal", f->h_diagonal);
    count(out, "h_parts", f->h_parts);
    real(out, "gradient_share", f->gradient);
    fprintf(out, ", \"graph\": \"%s\"", graphs[f->graph]);
    if (f->graph == GRAPH_SHIFTED) real(out, "shift", f->shift);
    fprintf(out, " }");
}

static void write_mirror(const doctor_mirror *m, FILE *out) {
    fprintf(out, ",\n  \"mirror\": { \"pairs\": %lld", (long long)m->pairs);
    count(out, "differ", m->differ);
    count(out, "alone", m->alone);
    real(out, "largest", m->largest);
    count(out, "row", m->row + 1);
    count(out, "column", m->column + 1);
    real(out, "relative", m->relative);
    real(out, "skew", m->skew);
    fprintf(out, " }");
}

static void write_work(const doctor_facts *d, FILE *out) {
    const doctor_work *w = &d->work;
    const mpk_inertia *in = &w->factor.inertia;
    fprintf(out, ",\n  \"solve\": { \"status\": \"%s\"", mpk_status_name(w->status));
    text(out, "message", w->message);
    flag(out, "direct", w->direct);
    text(out, "no_direct", w->run.no_direct);
    flag(out, "out_of_time", w->out_of_time);
    text(out, "engine", w->engine);
    count(out, "structural_rank", w->structural_rank);
    if (w->analysis.n > 0) {
        text(out, "ordering", mpk_ordering_name(w->analysis.ordering));
        flag(out, "matching", w->analysis.matching != 0);
        fprintf(out,
                ", \"predicted\": { \"flops\": %.9g, \"entries\": %lld, \"bytes\": %lld, "
                "\"peak_bytes\": %lld",
                w->analysis.factor_flops, (long long)w->analysis.factor_nnz,
                (long long)w->analysis.factor_bytes, (long long)w->analysis.peak_bytes);
        if (w->predicted_s >= 0) {
            real(out, "time_s", w->predicted_s);
            text(out, "space", w->space.spec);
            real(out, "flop_rate", w->space.flops / w->space.time_s);
            text(out, "plane", w->plane.spec);
            if (w->front_s > 0) real(out, "front_s", w->front_s);
            text(out, "tiny", w->tiny.spec);
            real(out, "least_s", w->tiny.time_s);
        }
        fprintf(out, " }");
    }
    if (w->have_factor) {
        real(out, "flops", w->factor.flops);
        count(out, "bytes", w->factor.bytes);
        count(out, "delayed", w->factor.rejected);
    }
    if (doctor_has_inertia(d))
        fprintf(out,
                ", \"inertia\": { \"positive\": %lld, \"negative\": %lld, \"zero\": %lld, "
                "\"certified\": %s }",
                (long long)in->positive, (long long)in->negative, (long long)in->zero,
                in->certified ? "true" : "false");
    if (w->have_null) {
        count(out, "kernel_vectors", w->null.dimension);
        real(out, "kernel_eta", w->null.eta);
    }
    if (w->solved) {
        real(out, "componentwise", w->run.solve.componentwise);
        real(out, "normwise", w->run.solve.normwise);
        real(out, "condition", w->run.solve.condition);
        real(out, "forward", w->forward);
    }
    fprintf(out, " }");
}

static void write_trials(const doctor_work *w, FILE *out) {
    fprintf(out, ",\n  \"tried\": [");
    for (int k = 0; k < w->trials; k++) {
        const doctor_trial *t = &w->trial[k];
        fprintf(out, "%s{ \"options\": ", k ? ",\n    " : "");
        cli_print_json_string(out, t->name);
        text(out, "status", mpk_status_name(t->status));
        real(out, "flops", t->flops);
        real(out, "bytes", t->bytes);
        real(out, "factorize_s", t->factorize_s);
        real(out, "solve_s", t->solve_s);
        real(out, "backward", t->backward);
        real(out, "forward", t->forward);
        flag(out, "better", t->better);
        fprintf(out, " }");
    }
    fprintf(out, "]");
}

static void write_spectrum(const doctor_spectrum *s, FILE *out) {
    fprintf(out, ",\n  \"spectrum\": { \"scaled\": %s, \"exact\": %s, \"ritz\": [",
            s->balanced ? "true" : "false", s->exact ? "true" : "false");
    for (int k = 0; k < s->count; k++)
        fprintf(out, "%s[%.9g, %.3g]", k ? ", " : "", s->value[k], s->weight[k]);
    fprintf(out, "] }");
}

void doctor_write_json(const doctor_facts *d, const doctor_findings *f, FILE *out) {
    static const char *const laws[] = {"symmetric", "hermitian", "general"};
    static const char scalars[] = "sdcz";
    fprintf(out, "{ \"schema\": \"metapack-doctor/1\", \"version\": \"%s\", \"source\": ",
            mpk_version());
    cli_print_json_string(out, d->source);
    fprintf(out, ", \"kind\": \"%s\"", f->kind);
    text(out, "title", f->title);
    count(out, "n", d->a.n);
    count(out, "nnz", d->a.nnz);
    fprintf(out, ", \"scalar\": \"%c\", \"symmetry\": \"%s\"", scalars[d->a.scalar],
            laws[d->a.symmetry]);
    count(out, "asymmetric_pairs", d->asymmetry.pairs);
    write_look(&d->look, out);
    if (d->a.symmetry == MPK_GENERAL)
        write_mirror(&d->mirror, out);
    else
        write_form(&d->form, out);
    write_work(d, out);
    write_trials(&d->work, out);
    if (d->spectrum.count > 0) write_spectrum(&d->spectrum, out);
    fprintf(out, ",\n  \"time_s\": [");
    for (int k = 0; k < d->phases; k++) {
        fprintf(out, "%s{ \"phase\": ", k ? ", " : "");
        cli_print_json_string(out, d->phase[k].name);
        real(out, "s", d->phase[k].time_s);
        fprintf(out, " }");
    }
    fprintf(out, "],\n  \"findings\": [");
    for (int k = 0; k < f->count; k++) {
        const doctor_finding *one = &f->list[k];
        fprintf(out, "%s{ \"section\": \"%s\", \"severity\": \"%s\", \"key\": \"%s\"",
                k ? ",\n    " : "", sections[one->section], severities[one->severity], one->key);
        text(out, "text", one->text);
        fprintf(out, " }");
    }
    fprintf(out, "] }\n");
}
