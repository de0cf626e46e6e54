/* SPDX-License-Identifier: BSD-3-Clause */
/* Other options than those of auto, tried: nothing is advised that was not. */
#include "doctor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHORT_S = 2e-3; /* what takes less is fast enough */
static const double GAIN = 0.75;    /* of the time, at most, to be worth a word */
static const double FEWER = 0.9;    /* and of the flops, or half of the bytes */
static const double BYTES = 0.7;

typedef struct choice {
    const char *key, *word;
} choice;

static int times_of(const doctor *d) {
    return d->facts.work.factorize_s < 0.3 ? 3 : 1;
}

/* The least times of a few runs and of those before. */
static void measure(doctor *d, const mpk_analysis *an, const mpk_options *o, const void *known,
                    const void *b, void *x, doctor_trial *t) {
    const int32_t n = d->facts.a.n;
    const int times = times_of(d);
    if (t->factorize_s == 0) t->factorize_s = t->solve_s = HUGE_VAL;
    for (int k = 0; k < times; k++) {
        mpk_factor *fac = NULL;
        mpk_factor_info f;
        mpk_solve_info s;
        t->status = mpk_factorize(d->ctx, an, NULL, o, &fac);
        mpk_factor_info_get(fac, &f);
        mpk_status status = t->status;
        if (!mpk_failed(status)) {
            status = mpk_solve(d->ctx, fac, 1, b, n, x, n, o, &s);
            if (status < 0 || status > t->status) t->status = status;
        }
        mpk_factor_destroy(&fac);
        if (mpk_failed(t->status)) return;
        t->flops = f.flops;
        t->bytes = (double)f.bytes;
        t->factorize_s = fmin(t->factorize_s, f.time_s);
        t->solve_s = fmin(t->solve_s, s.time_s);
        t->backward = s.componentwise;
        t->forward = doctor_forward(d, known, x);
    }
}

static bool is_better(const doctor_trial *t, const doctor_trial *base) {
    const double time_s = t->factorize_s + t->solve_s, base_s = base->factorize_s + base->solve_s;
    if (t->status != MPK_OK || base_s < SHORT_S || !(time_s < GAIN * base_s)) return false;
    if (!(t->backward <= fmax(10 * base->backward, 1e-15))) return false;
    if (!(t->forward <= fmax(10 * base->forward, 1e-15))) return false;
    return t->flops < FEWER * base->flops || t->bytes < BYTES * base->bytes;
}

/* Would these options be those of auto? */
static bool is_same(const doctor *d, const choice *c) {
    const doctor_work *w = &d->facts.work;
    if (!strcmp(c->key, "ordering"))
        return !strcmp(mpk_option_word("ordering", (int)w->analysis.ordering), c->word);
    if (!strcmp(c->key, "matching")) return !strcmp(c->word, "on") == (w->analysis.matching != 0);
    return w->factor.precision == MPK_PRECISION_SINGLE || d->facts.a.scalar == MPK_S ||
           d->facts.a.scalar == MPK_C || w->run.options.device != MPK_ON_CPU;
}

/* One choice. What seems better is measured again, in turns with what auto takes. */
static mpk_status try_one(doctor *d, const choice *c, const void *known, const void *b, void *x,
                          doctor_trial *t) {
    enum { TURNS = 4 };
    doctor_work *w = &d->facts.work;
    mpk_analysis *an = NULL;
    mpk_options o = d->args->options, base = w->run.options;
    o.method = MPK_METHOD_LDLT;
    base.condition = MPK_OFF;
    mpk_status status = mpk_options_set(d->ctx, &o, c->key, c->word);
    if (!mpk_failed(status)) status = mpk_analyse(d->ctx, d->problem, &o, &an);
    if (!mpk_failed(status)) {
        measure(d, an, &o, known, b, x, t);
        status = t->status;
    }
    for (int k = 0; k < TURNS && !mpk_failed(status) && is_better(t, &w->trial[0]); k++) {
        measure(d, w->run.analysis, &base, known, b, x, &w->trial[0]);
        measure(d, an, &o, known, b, x, t);
        status = t->status < 0 ? t->status : w->trial[0].status;
    }
    mpk_analysis_destroy(&an);
    snprintf(t->name, sizeof t->name, "--%s %s", c->key, c->word);
    t->better = !mpk_failed(status) && is_better(t, &w->trial[0]);
    return status;
}

/* What is nearly symmetric as if it were: L D L' of the mean, and errors in the matrix as given. */
static mpk_status try_symmetric(doctor *d, const void *known, const void *b, void *x,
                                doctor_trial *t) {
    const mpk_problem_view *a = &d->facts.a;
    mpk_problem *mean = NULL;
    mpk_analysis *an = NULL;
    mpk_options o = d->args->options;
    o.method = MPK_METHOD_LDLT;
    snprintf(t->name, sizeof t->name, "--symmetry-tolerance %.1e", 1.1 * d->facts.mirror.tolerance);
    const double tolerance = strtod(t->name + strlen("--symmetry-tolerance "), NULL);
    mpk_status status = mpk_context_set_symmetry_tolerance(d->ctx, tolerance);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(d->ctx, a->n, a->scalar, MPK_SYMMETRIC, MPK_FULL, a->ap,
                                      a->ai, a->ax, &mean);
    (void)mpk_context_set_symmetry_tolerance(d->ctx, d->args->options.symmetry_tolerance);
    if (!mpk_failed(status)) status = mpk_analyse(d->ctx, mean, &o, &an);
    if (!mpk_failed(status)) {
        measure(d, an, &o, known, b, x, t);
        status = t->status;
    }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&mean);
    t->better = !mpk_failed(status) && is_better(t, &d->facts.work.trial[0]);
    return status;
}

/* Is it so near to a symmetric matrix that a file of it may be taken for one? */
static bool is_nearly_symmetric(const doctor *d) {
    static const double NEAR = 1e-4;
    const doctor_mirror *m = &d->facts.mirror;
    return d->facts.a.symmetry == MPK_GENERAL && !d->args->generate && m->relative > 0 &&
           m->tolerance <= NEAR;
}

mpk_status doctor_try(doctor *d, const void *known, const void *b, void *x) {
    static const choice choices[] = {
        {"ordering", "amd"}, {"ordering", "nd"},  {"ordering", "metis"},  {"ordering", "scotch"},
        {"matching", "on"},  {"matching", "off"}, {"precision", "single"}};
    doctor_work *w = &d->facts.work;
    if (!w->solved || !w->direct || !w->have_factor) return MPK_OK;
    const double once_s = w->analyse_s + times_of(d) * (w->factorize_s + w->solve_s);
    if (!doctor_has_time(d, 3 * once_s)) {
        doctor_no_time(d, "trials of other options");
        return MPK_OK;
    }
    const double start_s = cli_now_s();
    mpk_options o = w->run.options;
    o.condition = MPK_OFF;
    measure(d, w->run.analysis, &o, known, b, x, &w->trial[0]);
    mpk_status status = w->trial[w->trials++].status;
    for (size_t k = 0; k < sizeof choices / sizeof *choices && w->trials < DOCTOR_TRIALS; k++) {
        if (status == MPK_ERR_CANCELLED) break;
        if (is_same(d, &choices[k])) continue;
        if (!doctor_has_time(d, 2 * once_s)) {
            doctor_no_time(d, "trials of %s %s and what comes after it", choices[k].key,
                           choices[k].word);
            break;
        }
        doctor_trial *t = &w->trial[w->trials];
        status = try_one(d, &choices[k], known, b, x, t);
        if (mpk_failed(status)) /* not built, or it does not fit, or the time is over */
            *t = (doctor_trial){.name = ""};
        else
            w->trials++;
    }
    if (status != MPK_ERR_CANCELLED && is_nearly_symmetric(d) && w->trials < DOCTOR_TRIALS &&
        doctor_has_time(d, 2 * once_s)) {
        status = try_symmetric(d, known, b, x, &w->trial[w->trials]);
        if (mpk_failed(status))
            w->trial[w->trials] = (doctor_trial){.name = ""};
        else
            w->trials++;
    }
    doctor_phase_add(d, "trials of other options", cli_now_s() - start_s);
    return doctor_ended(d, status, "the rest of the trials of other options");
}
