/* SPDX-License-Identifier: BSD-3-Clause */
/* Other options than those of auto, tried: nothing is advised that was not. */
#include "doctor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHORT_S = 1e-3; /* a gain below is none */
static const double GAIN = 0.75;    /* of the time, at most, to be worth a word */
static const double FEWER = 0.9;    /* and of the flops, or half of the bytes */
static const double BYTES = 0.7;

typedef struct choice {
    const char *key, *word;
} choice;

static void measure(doctor *d, const mpk_analysis *an, const mpk_options *o, const void *known,
                    const void *b, void *x, doctor_trial *t) {
    enum { MOST_TIMES = 3 };
    const int32_t n = d->facts.a.n;
    const int times = d->facts.work.factorize_s < 0.3 ? MOST_TIMES : 1;
    t->factorize_s = t->solve_s = HUGE_VAL;
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

mpk_status doctor_try(doctor *d, const void *known, const void *b, void *x) {
    static const choice choices[] = {
        {"ordering", "amd"}, {"ordering", "nd"},  {"ordering", "metis"},  {"ordering", "scotch"},
        {"matching", "on"},  {"matching", "off"}, {"precision", "single"}};
    doctor_work *w = &d->facts.work;
    if (!w->solved || !w->direct || !w->have_factor) return MPK_OK;
    const double once_s = w->analyse_s + 3 * (w->factorize_s + w->solve_s);
    if (!doctor_has_time(d, 6 * once_s)) {
        doctor_leave_out(d, "trials of other options");
        return MPK_OK;
    }
    const double start_s = cli_now_s();
    mpk_options o = w->run.options;
    o.condition = MPK_OFF;
    mpk_status status = MPK_OK;
    measure(d, w->run.analysis, &o, known, b, x, &w->trial[w->trials++]);
    for (size_t k = 0; k < sizeof choices / sizeof *choices && w->trials < DOCTOR_TRIALS; k++) {
        if (is_same(d, &choices[k]) || !doctor_has_time(d, 2 * once_s)) continue;
        mpk_analysis *an = NULL;
        o = d->args->options;
        o.method = MPK_METHOD_LDLT;
        doctor_trial *t = &w->trial[w->trials];
        if (mpk_failed(mpk_options_set(d->ctx, &o, choices[k].key, choices[k].word))) continue;
        status = mpk_analyse(d->ctx, d->problem, &o, &an);
        if (!mpk_failed(status)) measure(d, an, &o, known, b, x, t);
        mpk_analysis_destroy(&an);
        if (status == MPK_ERR_CANCELLED || t->status == MPK_ERR_CANCELLED) {
            status = MPK_ERR_CANCELLED;
            break;
        }
        if (mpk_failed(status) || mpk_failed(t->status)) { /* not built, or it does not fit */
            *t = (doctor_trial){.name = ""};
            continue;
        }
        snprintf(t->name, sizeof t->name, "--%s %s", choices[k].key, choices[k].word);
        t->better = is_better(t, &w->trial[0]);
        w->trials++;
    }
    doctor_phase_add(d, "trials of other options", cli_now_s() - start_s);
    return status == MPK_ERR_CANCELLED && !d->progress->late ? status : MPK_OK;
}
