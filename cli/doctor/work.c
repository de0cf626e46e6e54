/* SPDX-License-Identifier: BSD-3-Clause */
/* What METAPACK does with the matrix: method auto as it is, a system with a known solution, the
 * certificate, the kernel, the rank of the pattern, and what the analysis would have predicted. */
#include "doctor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- method auto ----------------------------------------------------------------------------- */

static void note_stop(doctor *d, mpk_status status) {
    doctor_work *w = &d->facts.work;
    if (status != MPK_ERR_CANCELLED || !d->progress->late) return;
    w->out_of_time = true;
    d->progress->late = false;
    snprintf(w->stopped_in, sizeof w->stopped_in, "%s", d->progress->stage);
    w->stopped_at = d->progress->fraction;
}

static void gather(doctor *d) {
    doctor_work *w = &d->facts.work;
    mpk_analysis_info_get(w->run.analysis, &w->analysis);
    w->direct = w->run.no_direct[0] == '\0';
    w->analyse_s = w->analysis.time_s;
    w->have_factor = w->run.factor != NULL;
    if (!w->have_factor) return;
    mpk_factor_info_get(w->run.factor, &w->factor);
    snprintf(w->engine, sizeof w->engine, "%s", mpk_factor_engine(w->run.factor));
    w->factorize_s = w->factor.time_s;
}

static mpk_status solve_auto(doctor *d, const void *known, const void *b, void *x) {
    doctor_work *w = &d->facts.work;
    const char *text = NULL;
    mpk_options options = d->args->options;
    options.condition = MPK_ON;
    const double start_s = cli_now_s();
    w->status = mpk_solve_adaptive(d->ctx, d->problem, &options, 1, b, d->facts.a.n, x,
                                   d->facts.a.n, NULL, 0, NULL, &w->run);
    if (w->status != MPK_OK) mpk_last_error(d->ctx, NULL, NULL, &text);
    snprintf(w->message, sizeof w->message, "%s", text ? text : "");
    note_stop(d, w->status);
    gather(d);
    w->solved = !mpk_failed(w->status);
    w->solve_s = w->solved ? w->run.solve.time_s : 0;
    doctor_phase_add(d, "analyse", w->analyse_s);
    if (w->have_factor) doctor_phase_add(d, "factorize", w->factorize_s);
    const double rest_s = cli_now_s() - start_s - w->analyse_s - w->factorize_s;
    doctor_phase_add(d, w->run.attempts > 1 ? "solve, other attempts" : "solve and condition",
                     fmax(rest_s, 0));
    if (w->solved) w->forward = doctor_forward(d, known, x);
    if (w->out_of_time)
        doctor_no_time(d,
                       "the factorization and all that comes of it (the time was over in stage "
                       "'%s', %.0f %% of it done)",
                       w->stopped_in, 100 * w->stopped_at);
    return w->out_of_time || w->status != MPK_ERR_CANCELLED ? MPK_OK : w->status;
}

/* ---- what the factor knows ------------------------------------------------------------------- */

static mpk_status certify(doctor *d) {
    doctor_work *w = &d->facts.work;
    if (!w->have_factor || !w->direct || !doctor_is_hermitian(&d->facts.a)) return MPK_OK;
    if (!doctor_has_time(d, 20 * w->solve_s)) {
        doctor_no_time(d, "the certificate of the inertia");
        return MPK_OK;
    }
    const double start_s = cli_now_s();
    const mpk_status status = mpk_certify(d->ctx, w->run.factor, &w->certificate);
    mpk_factor_info_get(w->run.factor, &w->factor);
    doctor_phase_add(d, "certificate", cli_now_s() - start_s);
    return doctor_ended(d, status, "the certificate of the inertia");
}

/* Vectors that A takes to zero, where pivots are zero or the condition says that there may be. */
static mpk_status find_kernel(doctor *d) {
    enum { MOST = 400, MORE = 4 };
    static const double MOST_NUMBERS = 2e7;
    doctor_work *w = &d->facts.work;
    const bool doubtful = w->factor.inertia.zero > 0 || w->factor.rank != MPK_RANK_FULL ||
                          (w->solved && w->run.solve.condition > 1e13);
    if (!w->have_factor || !w->direct || !doubtful || w->factor.inertia.certified) return MPK_OK;
    double wanted = (double)w->factor.inertia.zero + MORE;
    if (wanted > d->facts.a.n) wanted = d->facts.a.n;
    if (wanted > MOST || wanted * (double)d->facts.a.n > MOST_NUMBERS) {
        doctor_leave_out(d,
                         "some %.0f vectors of the kernel, which are many for %d rows: metapack "
                         "inertia -o has them",
                         wanted, d->facts.a.n);
        return MPK_OK;
    }
    if (!doctor_has_time(d, 4 * wanted * w->solve_s)) {
        doctor_no_time(d, "some %.0f vectors of the kernel", wanted);
        return MPK_OK;
    }
    const int32_t n = d->facts.a.n;
    void *basis = calloc((size_t)wanted * (size_t)n, mpk_scalar_size(d->facts.a.scalar));
    if (!basis) return MPK_ERR_MEMORY;
    const double start_s = cli_now_s();
    const mpk_status status =
        mpk_null_space(d->ctx, w->run.factor, 0, (int32_t)wanted, 0, basis, n, NULL, &w->null);
    w->have_null = !mpk_failed(status);
    free(basis);
    doctor_phase_add(d, "vectors of the kernel", cli_now_s() - start_s);
    return doctor_ended(d, status, "the vectors of the kernel");
}

/* n where the diagonal has no zero; else by the matching of an analysis. */
static mpk_status find_structural_rank(doctor *d) {
    doctor_work *w = &d->facts.work;
    w->structural_rank = w->analysis.n > 0 ? w->analysis.structural_rank : -1;
    if (w->structural_rank < 0 && d->facts.look.diagonal_zero == 0)
        w->structural_rank = d->facts.a.n;
    if (w->structural_rank >= 0) return MPK_OK;
    if (!doctor_has_time(d, 2 * w->analyse_s)) {
        doctor_no_time(d, "the rank of the pattern");
        return MPK_OK;
    }
    mpk_options o = d->args->options;
    mpk_analysis *an = NULL;
    mpk_analysis_info info;
    o.method = MPK_METHOD_LDLT;
    o.matching = MPK_ON;
    const double start_s = cli_now_s();
    const mpk_status status = mpk_analyse(d->ctx, d->problem, &o, &an);
    mpk_analysis_info_get(an, &info);
    if (!mpk_failed(status)) w->structural_rank = info.structural_rank;
    mpk_analysis_destroy(&an);
    doctor_phase_add(d, "rank of the pattern", cli_now_s() - start_s);
    return doctor_ended(d, status, "the rank of the pattern");
}

/* ---- prediction ------------------------------------------------------------------------------ */

/* The same matrix in single precision. */
static mpk_status round_to_single(doctor *d, mpk_problem **problem) {
    mpk_problem_view a;
    mpk_problem *single = NULL;
    mpk_problem_view_get(*problem, &a);
    const bool complex = a.scalar == MPK_Z;
    const size_t count = (size_t)a.nnz * (complex ? 2 : 1);
    float *ax = malloc((count + 1) * sizeof *ax);
    if (!ax) return MPK_ERR_MEMORY;
    for (size_t k = 0; k < count; k++) ax[k] = (float)((const double *)a.ax)[k];
    const mpk_status status = mpk_problem_from_csc(d->ctx, a.n, complex ? MPK_C : MPK_S, a.symmetry,
                                                   a.symmetry == MPK_GENERAL ? MPK_FULL : MPK_LOWER,
                                                   a.ap, a.ai, ax, &single);
    free(ax);
    if (mpk_failed(status)) return status;
    mpk_problem_destroy(problem);
    *problem = single;
    return status;
}

/* The least time of a few factorizations of a generated matrix, in the precision of A. */
static mpk_status measure_rate(doctor *d, doctor_reference *r) {
    enum { TIMES = 3 };
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_analysis_info ahead;
    mpk_factor_info info;
    mpk_options o = d->args->options;
    o.method = MPK_METHOD_LDLT;
    const bool single = d->facts.a.scalar == MPK_S || d->facts.a.scalar == MPK_C;
    mpk_status status = mpk_problem_generate(d->ctx, r->spec, 1, &problem);
    if (!mpk_failed(status) && single) status = round_to_single(d, &problem);
    if (!mpk_failed(status)) status = mpk_analyse(d->ctx, problem, &o, &an);
    mpk_analysis_info_get(an, &ahead);
    r->time_s = HUGE_VAL;
    for (int k = 0; k < TIMES && !mpk_failed(status); k++) {
        status = mpk_factorize(d->ctx, an, NULL, &o, &fac);
        mpk_factor_info_get(fac, &info);
        mpk_factor_destroy(&fac); /* the next one is from nothing, too */
        r->time_s = fmin(r->time_s, info.time_s);
        r->flops = info.flops;
        r->fronts = ahead.supernodes;
    }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    return status;
}

/* Seconds = flops / rate + fronts x overhead: the rate is that of a grid in space with about as many
 * flops, or the largest that is quickly done, or the least that is mostly flops; the overhead is
 * what a grid in the plane, whose fronts are small, takes beside that. A matrix of four rows tells
 * what any factorization takes. */
static mpk_status predict(doctor *d) {
    static const struct {
        int side;
        double flops;
    } grids[] = {{9, 3e6}, {13, 3e7}, {18, 2e8}, {24, 1e9}, {32, 5e9}, {40, 2e10}};
    enum { PLANE = 60, TINY = 2, MOST = sizeof grids / sizeof *grids - 1 };
    static const double PACE = 5e8; /* flops for each second that there is: a part of it */
    doctor_work *w = &d->facts.work;
    doctor_reference *space = &w->space, *plane = &w->plane, *tiny = &w->tiny;
    if (w->analysis.n == 0 || !w->direct || !(w->analysis.factor_flops > 0)) return MPK_OK;
    if (w->run.options.device != MPK_ON_CPU && w->run.analysis)
        (void)mpk_factor_estimate(d->ctx, w->run.analysis, &w->run.options, &w->estimate);
    int k = 0;
    while (k < MOST && grids[k].flops < w->analysis.factor_flops &&
           grids[k + 1].flops < PACE * d->facts.seconds)
        k++;
    if (k == MOST && (d->facts.a.symmetry == MPK_GENERAL || d->facts.a.scalar >= MPK_C)) k--;
    if (d->facts.a.symmetry == MPK_GENERAL) {
        snprintf(space->spec, sizeof space->spec, "convection %d 3d", grids[k].side);
        snprintf(plane->spec, sizeof plane->spec, "convection %d", PLANE);
        snprintf(tiny->spec, sizeof tiny->spec, "convection %d", TINY);
    } else {
        const char *more = d->facts.a.scalar >= MPK_C ? " damping=0.1" : "";
        snprintf(space->spec, sizeof space->spec, "helmholtz 3d %d%s", grids[k].side, more);
        snprintf(plane->spec, sizeof plane->spec, "helmholtz 2d %d%s", PLANE, more);
        snprintf(tiny->spec, sizeof tiny->spec, "helmholtz 2d %d%s", TINY, more);
    }
    d->progress->deadline_s = 0; /* it is short, and worth most where the time is over */
    const double start_s = cli_now_s();
    mpk_status status = measure_rate(d, space);
    if (!mpk_failed(status)) status = measure_rate(d, plane);
    if (!mpk_failed(status)) status = measure_rate(d, tiny);
    d->progress->deadline_s = d->deadline_s;
    doctor_phase_add(d, "rate of this machine", cli_now_s() - start_s);
    if (status == MPK_ERR_CANCELLED) return status;
    if (mpk_failed(status) || !(space->time_s > 0) || plane->fronts < 1) return MPK_OK;
    const double flop_s = space->time_s / space->flops;
    w->front_s = fmax(plane->time_s - plane->flops * flop_s, 0) / plane->fronts;
    w->predicted_s = w->analysis.factor_flops * flop_s + w->analysis.supernodes * w->front_s;
    w->predicted_s = fmax(w->predicted_s, tiny->time_s);
    return MPK_OK;
}

/* ---- an array as one dense matrix ------------------------------------------------------------ */

static mpk_status solve_dense(doctor *d) {
    doctor_work *w = &d->facts.work;
    const cli_args *args = d->args;
    if (args->generate || !cli_is_array(args->words[0])) return MPK_OK;
    mpk_job job = {.struct_size = sizeof job,
                   .goal = MPK_GOAL_SOLVE,
                   .matrix = args->words[0],
                   .dense = "auto",
                   .dense_if_one = 1};
    mpk_report *report = NULL;
    const double start_s = cli_now_s();
    const mpk_status status = mpk_job_run(d->ctx, &job, &args->options, &report);
    const mpk_run *run = mpk_report_run(report);
    if (!mpk_failed(status) && run && run->have_dense) {
        w->dense_info = run->dense;
        w->have_dense = true;
    }
    mpk_report_destroy(&report);
    doctor_phase_add(d, "as one dense matrix", cli_now_s() - start_s);
    return doctor_ended(d, status, "the solve as one dense matrix");
}

mpk_status doctor_work_do(doctor *d) {
    doctor_work *w = &d->facts.work;
    const size_t bytes = (size_t)d->facts.a.n * mpk_scalar_size(d->facts.a.scalar) + 1;
    w->forward = w->predicted_s = w->structural_rank = -1;
    void *known = malloc(bytes), *b = malloc(bytes), *x = malloc(bytes);
    mpk_status status = known && b && x ? MPK_OK : MPK_ERR_MEMORY;
    const int32_t n = d->facts.a.n;
    if (!mpk_failed(status)) {
        doctor_known_fill(d, known);
        status = mpk_problem_multiply(d->ctx, d->problem, 1, known, n, b, n);
    }
    if (!mpk_failed(status)) status = solve_auto(d, known, b, x);
    if (!mpk_failed(status)) status = predict(d);
    if (!mpk_failed(status)) status = certify(d);
    if (!mpk_failed(status)) status = find_kernel(d);
    if (!mpk_failed(status)) status = find_structural_rank(d);
    if (!mpk_failed(status)) status = solve_dense(d);
    if (!mpk_failed(status)) status = doctor_try(d, known, b, x);
    free(known);
    free(b);
    free(x);
    return status;
}
