/* SPDX-License-Identifier: BSD-3-Clause */
/* Method auto: direct, or a ladder of incomplete factorizations, each stronger than the last; the
 * evidence is in docs/design/adaptive.md. */
#include "core/floats.h"
#include "analysis/block/block.h"
#include "core/sizes.h"
#include "solve/iterate.h"

#include <math.h>
#include <metapack/adaptive.h>
#include <string.h>

static const char STAGE[] = "solve";

/* A complete block pattern is tried first if its updates cost no more than this: most entries of a
 * complete factor are small, and what a threshold leaves of them beats any level of fill. */
static const double COMPLETE_FLOPS = 5e10;
/* Up to so many it is tried where one level of fill has not done: what that leaves undone, more
 * levels seldom do (docs/design/adaptive.md). */
static const double LATE_FLOPS = 4e12;
/* Pivots this many times larger than the matrix are those of an unstable elimination. */
static const double UNSTABLE = 1e6;

/* A step of the ladder. */
typedef struct rung {
    int level, stages;
    double fill_factor, drop_tolerance;
    int patience; /* iterations, if there is a better one behind it; 0: as many as are allowed */
} rung;

/* Where complete fill is affordable: tighter and tighter thresholds, in the end nearly none, with
 * outer pivoting. What has not converged soon is factorized again in less time. */
static const rung by_threshold[] = {
    {-1, 1, 0, 1e-4, 100}, {-1, 1, 0, 1e-6, 100}, {-1, 20, 0, 1e-8, 100}, {-1, 20, 0, 1e-11, 0}};
/* Before that, where it takes long. */
static const rung before_threshold[] = {{1, 1, 0, 1e-3, 60}};
/* Where it takes too long, or more memory than there is: more and more levels of it. */
static const rung by_level[] = {
    {1, 1, 0, 1e-3, 400}, {2, 1, 0, 1e-4, 400}, {3, 1, 0, 1e-5, 400}, {4, 3, 0, 1e-6, 0}};
enum {
    THRESHOLDS = sizeof by_threshold / sizeof *by_threshold,
    LEVELS = sizeof by_level / sizeof *by_level
};

/* Where the search stands, and how a ladder ended. */
typedef enum ladder {
    THE_END,
    SOON,         /* complete fill is cheap */
    LATE,         /* it is not; first the rung before it */
    LATE_SECOND,  /* and then with complete fill */
    LEVELLED,     /* it is too dear */
    LATE_LEVELLED /* it needs too much memory; the first level has been tried */
} ladder;
typedef enum ending {
    ENDED_OVER,         /* its status is the verdict */
    ENDED_NOT_GOOD,     /* no rung did */
    ENDED_FULL,         /* a rung needed too much memory, and the next one would need more */
    ENDED_FULL_AT_ONCE, /* so did the first */
    ENDINGS
} ending;
static const struct {
    const rung *rungs;
    int count;
    bool levels;          /* of fill: the analysis is made for these */
    ladder next[ENDINGS]; /* where not named: THE_END */
} ladders[] = {
    [SOON] = {by_threshold, THRESHOLDS, false, {[ENDED_FULL_AT_ONCE] = LEVELLED}},
    [LATE] = {before_threshold, 1, false, {[ENDED_NOT_GOOD] = LATE_SECOND}},
    [LATE_SECOND] = {by_threshold, THRESHOLDS, false, {[ENDED_FULL_AT_ONCE] = LATE_LEVELLED}},
    [LEVELLED] = {by_level, LEVELS, true, {THE_END}},
    [LATE_LEVELLED] = {by_level + 1, LEVELS - 1, true, {THE_END}}};

typedef struct search {
    mpk_context *ctx;
    const mpk_problem *problem;
    mpk_options options;
    int32_t n, nrhs;
    size_t size;
    const char *b;
    char *x;
    int64_t ldb, ldx;
    char *trial, *kept; /* n x nrhs: of the attempt at work, and of the best before it */
    mpki_record *record;
    mpk_adaptive *result;
    bool have_x;
    mpk_status best;   /* of what is in `kept` */
    char message[256]; /* its text */
} search;

/* A step of a ladder at work. */
typedef struct climber {
    search *s;
    const rung *rungs;
    int count, at;
    mpk_options *o; /* of the rung */
    bool unstable;  /* its pivots were replaced or far too large */
    bool stuck;     /* the next one could not be made */
    int32_t before; /* iterations with the rungs before it, in this solve */
    int32_t steps;  /* those after which the next one is wanted, and the residual then */
    double reached, start_s;
} climber;

void mpk_adaptive_clear(mpk_adaptive *result) {
    if (!result) return;
    mpk_factor_destroy(&result->factor);
    mpk_analysis_destroy(&result->analysis);
    *result = (mpk_adaptive){0};
}

static mpk_attempt *note(search *s, const mpk_options *o) {
    mpk_adaptive *r = s->result;
    if (r->attempts == MPK_ATTEMPTS) r->attempts--;
    mpk_attempt *a = &r->attempt[r->attempts++];
    *a = (mpk_attempt){.method = o->method,
                       .level = o->level,
                       .stages = o->stages,
                       .fill_factor = o->fill_factor,
                       .drop_tolerance = o->drop_tolerance,
                       .precision = o->precision,
                       .residual = INFINITY};
    return a;
}

/* By what was asked for: the tolerance, or by default the backward error. */
static double error_of(const search *s, const mpk_solve_info *info) {
    return s->options.tolerance >= 0 ? info->relative_residual : info->componentwise;
}

/* Keep a solution if it is better than what there is. */
static void keep(search *s, const mpk_options *o, mpk_status status, const mpk_solve_info *info) {
    if (s->have_x && mpki_worse(s->best, status) == status && s->best != status) return;
    if (s->have_x && s->best == status && !(error_of(s, info) < error_of(s, &s->result->solve)))
        return;
    char *const solution = s->trial;
    s->trial = s->kept;
    s->kept = solution;
    s->have_x = true;
    s->best = status;
    s->result->options = *o;
    s->result->solve = *info;
    const char *text = NULL;
    mpk_last_error(s->ctx, NULL, NULL, &text);
    strncpy(s->message, text ? text : "", sizeof s->message - 1);
}

/* The best solution to the caller: only now, so that a failure leaves x as it was. */
static void hand_out(const search *s) {
    for (int32_t r = 0; r < s->nrhs; r++)
        memcpy(s->x + (size_t)(r * s->ldx) * s->size, s->kept + (size_t)r * (size_t)s->n * s->size,
               (size_t)s->n * s->size);
}

/* The factor by these options, in place of what there is. */
static mpk_status make_factor(search *s, const mpk_options *o, mpk_attempt *a, bool *unstable) {
    mpk_adaptive *r = s->result;
    mpk_factor_info f;
    const mpk_status status = mpk_factorize(s->ctx, r->analysis, NULL, o, &r->factor);
    if (mpk_failed(status)) return status;
    mpk_factor_info_get(r->factor, &f);
    a->bytes = f.bytes;
    if (unstable) *unstable = f.perturbed > 0 || !(f.growth <= UNSTABLE);
    if (s->options.memory_limit > 0 && (double)f.peak_bytes > s->options.memory_limit)
        return mpki_error(s->ctx, MPK_ERR_MEMORY, STAGE, f.peak_bytes,
                          "the factorization took %lld bytes, and the limit is %.0f",
                          (long long)f.peak_bytes, s->options.memory_limit);
    return status;
}

/* ---- FGMRES, whose preconditioner is refined while it iterates ------------------------------- */

/* The rung after this one that may do better; -1: none. */
static int next_rung(const climber *c) {
    int k = c->at + 1;
    while (k < c->count && c->unstable && c->rungs[k].stages == 1) k++;
    return k < c->count ? k : -1;
}

static void take_rung(const rung *r, mpk_options *o) {
    o->level = r->level;
    o->stages = r->stages;
    o->fill_factor = r->fill_factor;
    o->drop_tolerance = r->drop_tolerance;
}

/* The next rung is taken once this one's patience is at its end, or as soon as it will not do by
 * then at the rate of the last WINDOW iterations. */
static bool stagnates(void *self, const mpki_fgmres_cycle *p) {
    enum { WINDOW = 10 };
    climber *c = self;
    const int patience = c->rungs[c->at].patience;
    if (c->stuck || patience == 0 || next_rung(c) < 0 || p->steps <= WINDOW) return false;
    const double last = p->residual[p->steps - 1];
    const int32_t spent = p->iterations - c->before; /* with this rung, in all cycles */
    c->steps = p->iterations;
    c->reached = last * p->scale;
    if (spent >= patience) return true;
    const double rate = last / p->residual[p->steps - 1 - WINDOW];
    if (!(rate < 1)) return true;
    return log(p->wanted / last) / log(rate) * WINDOW > patience - spent;
}

/* Close the account of a rung: where its iterations end another one's begin. */
static void close_rung(climber *c, int32_t iterations, double residual, mpk_status status) {
    mpk_adaptive *r = c->s->result;
    mpk_attempt *a = &r->attempt[r->attempts - 1];
    a->iterations = iterations - c->before;
    a->residual = residual;
    a->status = status;
    a->time_s = mpki_now_s() - c->start_s;
    c->before = iterations;
    c->start_s = mpki_now_s();
}

/* Up one rung, inside a solve. Where that cannot be made the one before is made again. */
static mpk_status step_up(void *self) {
    climber *c = self;
    search *s = c->s;
    const mpk_options had = *c->o;
    close_rung(c, c->steps, c->reached, MPK_NOT_CONVERGED);
    c->at = next_rung(c);
    take_rung(&c->rungs[c->at], c->o);
    c->unstable = false;
    mpk_status status = make_factor(s, c->o, note(s, c->o), &c->unstable);
    if (!mpk_failed(status) || status == MPK_ERR_CANCELLED) return status;
    close_rung(c, c->before, INFINITY, status);
    mpki_clear_error(s->ctx);
    c->stuck = true; /* and at stays: the ladder goes on behind the rung that failed */
    *c->o = had;
    return make_factor(s, c->o, note(s, c->o), NULL);
}

/* Factorize and solve from the best x there is, up as many rungs as it takes inside the solve: on
 * the host and of one right-hand side, else one rung. */
static mpk_status attempt_refining(climber *c) {
    search *s = c->s;
    mpk_solve_info info = {0};
    const bool inside = s->nrhs == 1 && s->options.device == MPK_ON_CPU;
    const mpki_refiner refiner = {.self = c,
                                  .start = s->have_x ? s->kept : NULL,
                                  .wants = inside ? stagnates : NULL,
                                  .refactor = step_up};
    c->before = 0;
    c->start_s = mpki_now_s();
    mpk_status status = make_factor(s, c->o, note(s, c->o), &c->unstable);
    if (!mpk_failed(status)) {
        const mpk_status solved =
            mpki_solve_refining(s->ctx, s->result->factor, s->nrhs, s->b, s->ldb, s->trial, s->n,
                                c->o, &info, s->record, &refiner);
        status = mpki_worse(status, solved);
    }
    if (mpk_failed(status)) {
        close_rung(c, c->before, INFINITY, status);
        mpk_factor_destroy(&s->result->factor);
        return status;
    }
    close_rung(c, info.krylov.iterations, info.relative_residual, status);
    keep(s, c->o, status, &info);
    return status;
}

/* ---- other methods --------------------------------------------------------------------------- */

/* Factorize and solve with these options; the analysis is there.
 * unstable [out] or NULL: pivots were replaced or far too large, which only other pivots mend */
static mpk_status attempt(search *s, const mpk_options *o, bool *unstable) {
    mpk_context *ctx = s->ctx;
    mpk_adaptive *r = s->result;
    mpk_attempt *a = note(s, o);
    mpk_solve_info info = {0};
    const double start = mpki_now_s();
    mpk_status status = make_factor(s, o, a, unstable);
    if (mpk_failed(status) && a->bytes == 0) mpk_factor_destroy(&r->factor);
    if (!mpk_failed(status)) {
        const mpk_status solved =
            mpki_solve(ctx, r->factor, s->nrhs, s->b, s->ldb, s->trial, s->n, o, &info, s->record);
        status = mpki_worse(status, solved);
    }
    if (!mpk_failed(status)) {
        a->iterations = info.krylov.iterations;
        a->residual = info.relative_residual;
        keep(s, o, status, &info);
    }
    a->status = status;
    a->time_s = mpki_now_s() - start;
    return status;
}

/* Operations of a complete factorization of the blocks, or infinity where they are too many to be
 * counted. */
static double complete_flops(search *s, const mpki_block_analysis *ba) {
    enum { MOST_BLOCKS = 40000000 };
    mpki_pattern filled = {0};
    mpk_status status =
        mpki_pattern_fill(s->ctx, &ba->a, -1, s->options.threads, MOST_BLOCKS, &filled);
    double flops = 0;
    for (int32_t k = 0; !mpk_failed(status) && k < filled.m; k++) {
        double rows = 0;
        const int32_t *bptr = ba->blocking.bptr;
        for (int64_t e = filled.ptr[k] + 1; e < filled.ptr[k + 1]; e++)
            rows += bptr[filled.row[e] + 1] - bptr[filled.row[e]];
        flops += rows * rows * (bptr[k + 1] - bptr[k]);
    }
    mpki_pattern_free(s->ctx, &filled);
    if (mpk_failed(status)) mpki_clear_error(s->ctx);
    return mpk_failed(status) ? INFINITY : flops;
}

/* An iterative solve holds both triangles of A, a factor of its size at the least, and vectors. */
static mpk_status fits_at_all(search *s) {
    enum { VECTORS = 16 };
    const double entry = (double)s->size + 4; /* a general A is held by rows and by columns */
    const double entries = 2 * (double)s->problem->nnz;
    const double least = 1.5 * entries * entry + (double)VECTORS * s->n * (double)s->size;
    return mpki_memory_check(s->ctx, STAGE, "even an incomplete factorization and its solve", least,
                             s->options.memory_limit);
}

/* The worse of what the analysis and an attempt said, with a text of its own. */
static mpk_status say(const search *s, mpk_status analysed, mpk_status status) {
    const char *text = NULL;
    const mpk_status both = mpki_worse(analysed, status);
    if (both <= 0 || mpk_last_error(s->ctx, NULL, NULL, &text) == both) return both;
    char last[200] = "";
    if (text) strncpy(last, text, sizeof last - 1);
    const int32_t rank = s->result->analysis->info.structural_rank;
    mpki_clear_error(s->ctx);
    if (analysed != MPK_SINGULAR) return mpki_error(s->ctx, both, STAGE, -1, "singular; %s", last);
    return mpki_error(s->ctx, both, STAGE, rank,
                      "structurally singular: at most %d of %d rows are independent%s%s", rank,
                      s->n, *last ? "; " : "", last);
}

/* The analysis for the ladder. *flops [out]: of complete fill. The order is that for complete fill,
 * so nested dissection where that pays: it is no worse with a level of fill
 * (docs/design/adaptive.md). */
static mpk_status analyse(search *s, mpk_options *o, double *flops) {
    mpk_analysis **an = &s->result->analysis;
    if (s->problem->symmetry == MPK_GENERAL && o->factor_type == MPK_TYPE_LDLT)
        o->factor_type = MPK_TYPE_LDU;
    /* rows in an order against scalar fill, cut into blocks: no worse than the others with either
     * ladder, and no time for a comparison (docs/design/adaptive.md) */
    if (o->strategy == MPK_STRATEGY_AUTO) o->strategy = MPK_STRATEGY_RB;
    o->level = -1;
    mpk_status status = mpk_analyse(s->ctx, s->problem, o, an);
    if (!mpk_failed(status)) *flops = complete_flops(s, (*an)->block);
    return status;
}

/* The same for levels of fill: of a general matrix the order is another one. */
static mpk_status analyse_again(search *s, mpk_options *o, mpk_status analysed) {
    if (s->problem->symmetry != MPK_GENERAL || s->options.ordering != MPK_ORDERING_AUTO)
        return analysed;
    mpk_factor_destroy(&s->result->factor);
    mpk_analysis_destroy(&s->result->analysis);
    o->ordering = MPK_ORDERING_AUTO;
    o->level = s->options.level < 0 ? by_level[0].level : s->options.level;
    return mpk_analyse(s->ctx, s->problem, o, &s->result->analysis);
}

static ladder first_ladder(const search *s, double flops) {
    if (flops <= COMPLETE_FLOPS) return SOON;
    return flops <= LATE_FLOPS && s->problem->symmetry != MPK_GENERAL ? LATE : LEVELLED;
}

/* Is there nothing that another rung could mend? */
static bool is_verdict(mpk_status status) {
    return status == MPK_OK || status == MPK_SINGULAR || status == MPK_ERR_CANCELLED ||
           status == MPK_ERR_ARGUMENT || status == MPK_ERR_INPUT;
}

/* Up one ladder. *status [out] of its last rung */
static ending climb_ladder(search *s, mpk_options *o, ladder at, mpk_status *status) {
    const mpki_blocking *blocking = &s->result->analysis->block->blocking;
    o->strategy = blocking->strategy; /* so that the options given back, taken by hand, come to */
    o->ordering = blocking->ordering; /* the same blocks */
    climber c = {.s = s, .rungs = ladders[at].rungs, .count = ladders[at].count, .at = -1, .o = o};
    const bool refines = s->options.krylov == MPK_KRYLOV_FGMRES;
    for (bool first = true; (c.at = next_rung(&c)) >= 0; first = false) {
        const int patience = c.rungs[c.at].patience;
        take_rung(&c.rungs[c.at], o);
        o->max_iterations = s->options.max_iterations;
        if (!refines && patience > 0 && o->max_iterations > patience) o->max_iterations = patience;
        c.unstable = c.stuck = false;
        *status = refines ? attempt_refining(&c) : attempt(s, o, &c.unstable);
        if (is_verdict(*status)) return ENDED_OVER;
        if (*status == MPK_ERR_MEMORY) return first ? ENDED_FULL_AT_ONCE : ENDED_FULL;
    }
    return ENDED_NOT_GOOD;
}

static mpk_status climb(search *s) {
    mpk_context *ctx = s->ctx;
    mpk_options o = s->options;
    mpk_adaptive *r = s->result;
    double flops = INFINITY;
    o.method = MPK_METHOD_ILDLT;
    mpk_factor_destroy(&r->factor);
    mpk_analysis_destroy(&r->analysis);
    mpk_status status = fits_at_all(s);
    if (!mpk_failed(status)) status = analyse(s, &o, &flops);
    if (mpk_failed(status)) return status;
    mpk_status analysed = status;
    ending end = ENDED_NOT_GOOD;
    for (ladder at = first_ladder(s, flops); at != THE_END; at = ladders[at].next[end]) {
        if (end == ENDED_FULL_AT_ONCE) mpki_clear_error(ctx);
        if (ladders[at].levels) {
            mpk_factor_destroy(&r->factor);
            analysed = analyse_again(s, &o, analysed);
            if (mpk_failed(analysed)) return analysed;
        }
        end = climb_ladder(s, &o, at, &status);
    }
    if (end == ENDED_OVER) return say(s, analysed, status);
    if (!s->have_x) return status;
    mpki_clear_error(ctx);
    return mpki_error(ctx, mpki_worse(analysed, s->best), STAGE, -1,
                      "none of %d factorizations was good enough; the best: %.200s", r->attempts,
                      s->message);
}

/* The direct solver, unless it is forbidden or its prediction does not fit; of a matrix that is not
 * symmetric the processor has it alone. */
static mpk_status direct(search *s, bool *done) {
    mpk_options o = s->options;
    mpk_adaptive *r = s->result;
    *done = false;
    if (s->problem->symmetry == MPK_GENERAL && !mpki_general_direct(s->ctx, &o)) {
        strncpy(r->no_direct,
                "the matrix is not symmetric: LDU on blocks, and an iterative method, where the "
                "processor does not factorize",
                sizeof r->no_direct - 1);
        return MPK_OK;
    }
    if (o.direct == MPK_OFF) {
        strncpy(r->no_direct, "direct = off", sizeof r->no_direct - 1);
        return MPK_OK;
    }
    o.method = MPK_METHOD_LDLT;
    if (o.device == MPK_ON_CUDA) o.precision = MPK_PRECISION_DOUBLE; /* there it has no other */
    mpk_status status = mpk_analyse(s->ctx, s->problem, &o, &r->analysis);
    if (!mpk_failed(status)) status = say(s, status, attempt(s, &o, NULL));
    *done = status != MPK_ERR_MEMORY;
    if (*done) return status;
    const char *text = NULL;
    mpk_last_error(s->ctx, NULL, NULL, &text);
    strncpy(r->no_direct, text ? text : "", sizeof r->no_direct - 1);
    mpki_clear_error(s->ctx);
    return status;
}

mpk_status mpk_solve_adaptive(mpk_context *ctx, const mpk_problem *problem,
                              const mpk_options *options, int32_t nrhs, const void *b, int64_t ldb,
                              void *x, int64_t ldx, double *history, int32_t history_size,
                              int32_t *history_count, mpk_adaptive *result) {
    MPKI_CALM;
    if (result) *result = (mpk_adaptive){0};
    if (history_count) *history_count = 0;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    const char *const missing = !problem           ? "the problem is NULL"
                                : !result          ? "the place for the result is NULL"
                                : history_size < 0 ? "history_size is negative"
                                                   : NULL;
    if (missing) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s", missing);
    const mpki_sides sides = {.n = problem->n,
                              .nrhs = nrhs,
                              .size = mpk_scalar_size(problem->scalar),
                              .b = b,
                              .ldb = ldb,
                              .x = x,
                              .ldx = ldx,
                              .may_be_same = true};
    if (mpk_failed(mpki_check_sides(ctx, STAGE, &sides))) return mpki_failed(ctx);
    mpki_record record = {history, history ? history_size : 0, 0};
    search s = {.ctx = ctx,
                .problem = problem,
                .n = problem->n,
                .nrhs = nrhs,
                .size = mpk_scalar_size(problem->scalar),
                .b = b,
                .x = x,
                .ldb = ldb,
                .ldx = ldx,
                .record = history ? &record : NULL,
                .result = result};
    mpk_status status = mpki_options_resolve(ctx, options, &s.options);
    if (mpk_failed(status)) return status;
    s.trial = mpki_alloc(ctx, STAGE, (int64_t)problem->n * nrhs, s.size);
    s.kept = mpki_alloc(ctx, STAGE, (int64_t)problem->n * nrhs, s.size);
    bool done = true;
    status = s.trial && s.kept ? direct(&s, &done) : mpki_failed(ctx);
    if (!done) status = climb(&s);
    if (!mpk_failed(status) && s.have_x && problem->n > 0) hand_out(&s);
    mpki_release(ctx, s.trial);
    mpki_release(ctx, s.kept);
    if (history_count) *history_count = record.count;
    return status;
}
