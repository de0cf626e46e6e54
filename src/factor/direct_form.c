/* SPDX-License-Identifier: BSD-3-Clause */
/* A factor by the multifrontal method: factorizes, and again with another analysis if delayed
 * columns run away (outer pivoting); handles structurally singular matrices; gives the verdict. */
#include "measured.h"
#include "narrow.h"
#include "rank_kernel.h"
#include "tuning.h"
#include "../analysis/symbolic/symbolic.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

static bool single_of(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* May a tree with fewer late columns be made, and have factorizations taken as long as that would
 * take? In all they then take at most twice what they would, had it been known how many there will
 * be. */
static bool late_ones(const mpk_factor *fac) {
    return fac->direct && fac->engine->direct->late &&
           fac->info.rejected > MPKI_LATE_TIMES * fac->weighed &&
           fac->an->info.ordered_for == MPK_ON_CUDA &&
           fac->an->options.ordering != MPK_ORDERING_GIVEN;
}
static bool may_gather(const mpk_factor *fac) {
    return late_ones(fac) && (fac->waited + 1) * MPKI_LATE_ROWS >= fac->an->n;
}

/* Which values mpki_find_scaling() would scale as the engine can: by sweeps of equilibration
 * alone. */
static mpk_status take(mpk_factor *fac, const mpk_options *options, const void *ax, bool lower,
                       bool *taken) {
    const mpk_analysis *an = fac->an;
    const mpki_layout *layout = fac->base->layout;
    const double *matched = fac->rescaled ? NULL : an->scale;
    const bool level = fac->rescaled && !an->scale_far;
    *taken = false;
    if (!fac->engine->direct->take || level || options->scaling == MPK_OFF) return MPK_OK;
    mpk_status status = fac->engine->settle ? fac->engine->settle(fac->ctx) : MPK_OK;
    if (mpk_failed(status)) return status;
    const mpki_given_view given = {.values = ax,
                                   .count = lower ? an->nnz : layout->given,
                                   .place = lower ? NULL : layout->place,
                                   .wide = layout->wide,
                                   .scale = matched,
                                   .sweeps = matched ? 1 : 4,
                                   .begin = !may_gather(fac)};
    return fac->engine->direct->take(fac->direct, &given, taken);
}

static mpk_status give(const mpk_factor *fac, void *ax, double *scale) {
    return fac->engine->direct->give(fac->direct, ax, scale);
}

/* ---- another analysis ------------------------------------------------------------------------ */

mpk_status mpki_direct_replace(mpk_factor *fac, const mpk_analysis *an) {
    mpki_tree_view tree = mpki_tree_view_of(an);
    mpki_direct *fresh = NULL;
    if (fac->narrow) {
        tree.scalar = mpki_factor_scalar(true, an);
        tree.factor_bytes = mpki_factor_bytes(an, (double)mpk_scalar_size(tree.scalar));
    }
    mpk_status status = fac->engine->direct->make(fac->ctx, &tree, &fresh);
    if (mpk_failed(status)) return status;
    fac->engine->direct->free(&fac->direct);
    fac->direct = fresh;
    fac->known.core = 0;
    fac->cost = (mpki_stop){0};
    return MPK_OK;
}

/* Match on the current values, order and analyse again. After a failure the factor is as it was.
 * keep [in] as for mpki_analyse. */
static mpk_status reanalyse(mpk_factor *fac, mpk_switch matching, const char *keep) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    if (mpk_failed(mpki_factor_bring(ctx, fac))) return mpki_failed(ctx);
    mpk_problem problem = {.ctx = ctx,
                           .scalar = an->scalar,
                           .symmetry = an->symmetry,
                           .layout = an->layout,
                           .n = an->n,
                           .nnz = an->nnz,
                           .ap = an->ap,
                           .ai = an->ai,
                           .ax = fac->ax,
                           .split = an->split};
    mpk_options options = an->options;
    options.matching = matching;
    if (options.ordering == MPK_ORDERING_GIVEN) options.ordering = MPK_ORDERING_AUTO;
    mpk_analysis *own = NULL;
    const bool same = keep && matching == an->options.matching && mpki_analysed_these(fac);
    mpk_status status = mpki_analyse(ctx, &problem, &options, keep, same ? an : NULL, &own);
    if (mpk_failed(status)) return status;
    status = mpki_direct_replace(fac, own);
    if (mpk_failed(status)) {
        mpk_analysis_destroy(&own);
        return status;
    }
    mpk_analysis_destroy(&fac->own);
    fac->an = fac->own = own;
    fac->own_of = mpki_values_hash(own, fac->ax);
    fac->own_nonzeros = mpki_nonzeros_hash(own, fac->ax);
    fac->weighed = fac->waited = 0;
    return MPK_OK;
}

/* The values that the analysis in force was made of. */
static uint64_t analysed_hash(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    return fac->own ? fac->own_of : an->loaded ? an->hash : mpki_values_hash(an, an->values->ax);
}

/* Where fronts of the last numbers delayed columns, and are so small that this is what takes the
 * time, later ones have a tree in which these are columns of the fronts that took them: the next
 * ones, if the tree is small; and once more where more than twice as many come late. A tree that the
 * caller has chosen stays. After a failure the factor is as it was. */
static mpk_status gather(mpk_factor *fac) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    const mpki_direct_engine *engine = fac->engine->direct;
    if (!may_gather(fac)) {
        if (late_ones(fac)) fac->waited++;
        return MPK_OK;
    }
    mpk_analysis *own = NULL;
    const int64_t weighed = fac->info.rejected;
    int32_t *where = MPKI_NEW(ctx, STAGE, an->n, int32_t);
    const bool late = where && engine->late(fac->direct, where);
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status) && late) status = mpki_gather_late(ctx, an, where, &own);
    mpki_release(ctx, where);
    if (status == MPK_ERR_MEMORY &&
        an->options.memory_limit > 0) { /* the old tree may do with less */
        mpki_clear_error(ctx);
        status = MPK_OK;
    }
    if (mpk_failed(status)) return status;
    fac->waited = 0;
    if (!own) {
        fac->weighed = weighed;
        return MPK_OK;
    }
    const uint64_t hash = analysed_hash(fac), nonzeros = fac->own ? fac->own_nonzeros : 0;
    const mpki_tree_view tree = mpki_tree_view_of(own);
    status = engine->retree(fac->direct, &tree);
    if (mpk_failed(status)) {
        mpk_analysis_destroy(&own);
        return status;
    }
    mpk_analysis_destroy(&fac->own);
    fac->an = fac->own = own;
    fac->own_of = hash;
    fac->own_nonzeros = nonzeros;
    fac->weighed = weighed;
    return MPK_OK;
}

/* Return to the analysis that the factor was made for. */
static mpk_status return_to_base(mpk_factor *fac) {
    mpk_status status = mpki_direct_replace(fac, fac->base);
    if (mpk_failed(status)) return status;
    fac->an = fac->base;
    fac->weighed = fac->waited = 0;
    mpk_analysis_destroy(&fac->own);
    return MPK_OK;
}

/* What costs no more than some times the first factorization with the same analysis has not run
 * away, for another analysis of values like these would do no better. Not the last one: a cost that
 * creeps up would never be too much. */
static mpki_stop at_least(mpki_stop stop, const mpki_stop *cost) {
    stop.flops = fmax(stop.flops, MPKI_STOP_FIRST_TIMES * cost->flops);
    if (cost->rejected > stop.rejected / MPKI_STOP_FIRST_TIMES)
        stop.rejected = (int64_t)fmin(MPKI_STOP_FIRST_TIMES * (double)cost->rejected, 9e18);
    return stop;
}

static void learn_cost(mpk_factor *fac, const mpki_numeric_result *result) {
    if (fac->cost.flops == 0) fac->cost = (mpki_stop){result->flops, result->rejected};
}

/* Outer pivoting. For a new factor the analysis is of these values; later it is of older ones and
 * is given up sooner, since it may no longer fit (Sigma of an interior point method grows by ten
 * orders of magnitude), unless older values cost as much. It is then made anew from the present
 * values, with the caller's options; and if even that runs away and had no matching, with one. */
static mpk_status factorize_by_stages(mpk_factor *fac, bool is_new, mpki_numeric_result *result,
                                      int *stages) {
    const bool free_to = fac->options.matching == MPK_AUTO && fac->options.static_shift == 0 &&
                         fac->an->options.matching == MPK_AUTO;
    bool fresh = is_new || (fac->own && !fac->away && /* none that is made of them is better */
                            fac->own_of == mpki_values_hash(fac->an, fac->ax));
    bool last = false; /* a matching was asked for, whether it found pairs */
    mpki_stop given_up = {INFINITY, INT64_MAX};
    for (;; ++*stages) {
        const mpk_analysis_info *info = &fac->an->info;
        mpki_stop stop = mpki_fresh_stop(fac->an);
        if (!fresh) {
            stop.flops = fac->patience * (MPKI_STOP_OLD_TIMES * info->factor_flops +
                                          MPKI_STOP_OLD_ENTRY * (double)info->nnz);
            stop.rejected =
                (int64_t)fmin(fac->patience * (0.5 * info->n + MPKI_STOP_OLD_REJECTED), 9e18);
            stop = at_least(stop, &fac->cost);
        }
        const bool may_stop = free_to && !last && (!fresh || !info->matching);
        mpk_status status = mpki_factorize_once(fac, may_stop ? &stop : NULL, result);
        if (mpk_failed(status) || !result->runaway) {
            const bool paid = result->flops < 0.5 * given_up.flops &&
                              (double)result->rejected < 0.5 * (double)given_up.rejected;
            if (!mpk_failed(status) && *stages > 1 && !is_new && !paid) fac->patience *= 2;
            if (!mpk_failed(status)) learn_cost(fac, result);
            return status;
        }
        if (!fresh) given_up = stop;
        status = mpki_factor_bring(fac->ctx, fac);
        if (mpk_failed(status)) return status;
        fac->engine->direct->clear(
            fac->direct); /* they have run away, and the room may be needed */
        last = fresh;
        status = reanalyse(fac, fresh ? MPK_ON : MPK_AUTO, NULL);
        if (mpk_failed(status)) return status;
        fresh = true;
    }
}

/* Factorize again with what the core lacks of A. *dear [out]: this costs too much, since columns
 * that depend on others are delayed from node to node up to the root; or its pivots overflow. The
 * factor then has no numbers. */
static mpk_status extend_core(mpk_factor *fac, const char *keep, mpki_numeric_result *result,
                              bool *dear) {
    mpk_status status = reanalyse(fac, fac->an->options.matching, keep);
    if (!mpk_failed(status)) {
        const mpk_analysis_info *info = &fac->an->info;
        const mpki_stop stop = {MPKI_STOP_CORE_TIMES * info->factor_flops +
                                    (double)MPKI_STOP_CORE_COLUMN * info->n,
                                MPKI_STOP_CORE_TIMES * (int64_t)info->n};
        status = mpki_factorize_once(fac, &stop, result);
        if (!mpk_failed(status) && !result->runaway) learn_cost(fac, result);
    }
    *dear = status == MPK_ERR_MEMORY || status == MPK_ERR_NUMERIC ||
            (!mpk_failed(status) && result->runaway);
    if (*dear || !mpk_failed(status)) mpki_clear_error(fac->ctx);
    return *dear ? MPK_OK : status;
}

/* Choose rows that the core lacks, or some of them; all in the last round or if it lacks none, for
 * a static shift makes pivots even of zeros. */
static mpk_status choose_rows(const mpk_factor *fac, int round, const char *missed, char *keep) {
    enum { ROUNDS = 8, FEW = 50 };
    const mpk_analysis *an = fac->an;
    const int64_t lacking = fac->info.inertia.zero - (an->n - an->info.structural_rank);
    const int64_t most = lacking > FEW << round ? lacking : FEW << round;
    int32_t added;
    mpk_status status = mpki_core_extend(fac->ctx, an, missed, (int32_t)most, keep, &added);
    if (!mpk_failed(status) && (added == 0 || round == ROUNDS || fac->options.static_shift > 0))
        memset(keep, 1, (size_t)an->n);
    return status;
}

/* Does one vector of all rows beside the core say that it explains A? A takes it to zero in the rows
 * of the core by construction, and in the others by chance alone, if it does not. clear [in] times
 * the bound, it is so then, too; it is kept where it is of the kernel. */
static mpk_status core_shown(mpk_factor *fac, double clear, bool *shown) {
    fac->effort = INFINITY;
    mpki_kernel_forget(fac);
    return mpki_kernel_beside(fac, clear, shown);
}

/* Did the core explain A with older values, and does it these, too? It has the structural rank, which
 * A cannot exceed; or A takes one vector of all rows beside the core to zero: what it took to zero
 * then, as the rank was the same, or a new one. If there was none, the rank has to do. */
static mpk_status core_holds(mpk_factor *fac, bool *holds) {
    mpki_rank_memory *known = &fac->known;
    const int64_t zeros = fac->info.inertia.zero;
    const bool same = zeros == known->zeros;
    double clear = 0, eta = INFINITY;
    *holds = known->core > 0 && same;
    if (known->core <= 0 || zeros == fac->an->n - fac->an->info.structural_rank ||
        (known->count == 0 && known->moved.span == 0))
        return MPK_OK;
    mpk_status status = MPK_OK;
    *holds = false;
    if (known->moved.left > 0) {
        known->moved.left--;
        clear = single_of(fac->an->scalar) ? 100 : 1e6;
    } else if (known->count > 0 && same) {
        status = mpki_kernel_again(fac, &eta);
        *holds = eta <= mpki_kernel_bound(fac);
        mpki_rest_of(&known->moved, *holds, MPKI_REST_SHORT);
    }
    if (!mpk_failed(status) && !*holds) status = core_shown(fac, clear, holds);
    if (*holds) known->zeros = zeros;
    return status;
}

/* The core explains A: what core_holds() has to know of that. A vector that it would not look at is
 * not kept: later solves would take it for one of these values' kernel. */
static mpk_status remember_core(mpk_factor *fac) {
    const int64_t zeros = fac->info.inertia.zero;
    bool shown;
    fac->known.core = 1;
    fac->known.zeros = zeros;
    mpki_kernel_forget(fac);
    if (zeros == fac->an->n - fac->an->info.structural_rank) return MPK_OK;
    return core_shown(fac, 0, &shown);
}

/* Of a structurally singular matrix it is enough to factorize the core, unless the core is singular
 * as well, or the other columns depend on it by large numbers. In these cases rows that it does not
 * explain are added, a few times, at last all of A; if that costs too much, the core is used as it
 * was. */
static mpk_status factorize_rest(mpk_factor *fac, mpki_numeric_result *result, int *stages) {
    mpk_context *ctx = fac->ctx;
    const int32_t n = fac->an->n;
    double error = 0;
    bool dear = false, holds = false;
    if (!mpki_core_is_part(&fac->an->core)) return MPK_OK;
    if (mpk_failed(core_holds(fac, &holds)) || holds) return mpki_failed(ctx);
    char *keep = MPKI_ZNEW(ctx, STAGE, n, char), *missed = MPKI_NEW(ctx, STAGE, n, char);
    mpk_status status = keep && missed ? MPK_OK : mpki_failed(ctx);
    for (int round = 1; !mpk_failed(status) && mpki_core_is_part(&fac->an->core) && !dear;
         round++) {
        status = mpki_try_core(fac, missed, &error);
        if (mpk_failed(status)) break;
        if (error <= mpki_accuracy(&fac->options, fac->an->scalar)) {
            status = remember_core(fac);
            break;
        }
        if (fac->known.core < 0) { /* more of it was too dear with older values */
            fac->info.rank_bound = error;
            break;
        }
        status = choose_rows(fac, round, missed, keep);
        if (mpk_failed(status)) break;
        ++*stages;
        status = extend_core(fac, keep, result, &dear);
        if (!mpk_failed(status) && !dear) mpki_factor_describe(fac, result);
    }
    if (!mpk_failed(status) && dear) {
        ++*stages;
        status = return_to_base(fac);
        if (!mpk_failed(status)) status = factorize_by_stages(fac, true, result, stages);
        if (!mpk_failed(status)) mpki_factor_describe(fac, result);
        if (!mpk_failed(status)) fac->info.rank_bound = error;
        fac->known.core = -1;
    }
    mpki_release(ctx, keep);
    mpki_release(ctx, missed);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

mpk_status mpki_direct_outcome(const mpk_factor *fac) {
    const mpk_factor_info *info = &fac->info;
    const int64_t zero = info->inertia.zero;
    if (fac->broken > 0)
        return mpki_error(fac->ctx, MPK_SINGULAR, STAGE, zero,
                          "the interior is singular, %lld zero pivots of %d, and the matrix is not "
                          "zero beside its kernel: there is no Schur complement",
                          (long long)zero, fac->an->n);
    if (info->rank == MPK_RANK_STRUCTURAL)
        return mpki_error(fac->ctx, MPK_SINGULAR, STAGE, zero,
                          "structurally singular: at most %d of %d rows are independent",
                          fac->an->info.structural_rank, fac->an->n);
    if (info->rank == MPK_RANK_NUMERICAL)
        return mpki_error(fac->ctx, MPK_SINGULAR, STAGE, zero,
                          "singular: %lld zero pivots of %d, and (A + E) v = 0 for a vector v with "
                          "|E| <= %.1e |A| after scaling",
                          (long long)zero, fac->an->n, info->rank_bound);
    if (info->perturbed > 0)
        return mpki_error(fac->ctx, MPK_PERTURBED, STAGE, info->perturbed,
                          "%lld pivots of %d were replaced by static_shift = %.3g, relative to the "
                          "largest entry after scaling",
                          (long long)info->perturbed, fac->an->n, fac->options.static_shift);
    return MPK_OK;
}

/* With the analysis in force, or others that these values need; without a verdict. */
static mpk_status find_numbers(mpk_factor *fac, bool is_new, int *stages) {
    mpki_numeric_result result;
    mpk_status status = factorize_by_stages(fac, is_new, &result, stages);
    if (status == MPK_ERR_NUMERIC && fac->options.zero_tolerance < 0) {
        /* in a singular matrix noise can pass for pivots, and then its own noise for others, and so
         * on */
        mpki_clear_error(fac->ctx);
        fac->raised = single_of(fac->an->scalar) ? 1e-3 : 1e-11;
        ++*stages;
        status = factorize_by_stages(fac, is_new, &result, stages);
    }
    if (mpk_failed(status)) return status;
    mpki_factor_describe(fac, &result);
    return factorize_rest(fac, &result, stages);
}

/* Zero pivots, no vector of the kernel, and a matching of other values: once more with one of
 * these. It is the second factorization of this call, and the verdict takes no other. */
static mpk_status match_again(mpk_factor *fac, int *stages) {
    enum { EVERY = 8, MOST = 64 /* factorizations, each time twice as many */ };
    const double clear = single_of(fac->an->scalar) ? 10 : 1e5;
    bool stale;
    fac->matched_for = fac->matched_for ? 2 * fac->matched_for : EVERY;
    if (fac->matched_for > MOST) fac->matched_for = MOST;
    fac->matched = fac->matched_for;
    fac->raised = 0;
    ++*stages;
    mpk_status status = reanalyse(fac, fac->an->options.matching, NULL);
    if (!mpk_failed(status)) status = find_numbers(fac, true, stages);
    if (mpk_failed(status)) return status;
    fac->known.undecided = false;
    fac->known.tried = ~0u;
    status = mpki_find_rank(fac, true, &stale);
    fac->known.tried = 0;
    if (mpk_failed(status) || fac->info.rank != MPK_RANK_FULL) return status;
    bool may; /* no pivot is zero any more; but is what the old order showed explained? */
    status = mpki_kernel_possible(fac, clear, &may);
    if (!mpk_failed(status) && may) fac->info.rank = MPK_RANK_UNDECIDED;
    return status;
}

/* From single precision back to that of A, and to all of L: no numbers are left. */
static void widen(mpk_factor *fac) {
    fac->engine->direct->free(&fac->direct);
    mpki_release(fac->ctx, fac->ones);
    fac->ones = NULL;
    fac->narrow = false;
    fac->low_rank = 0;
}

/* Why numbers in single precision or low rank do not do, as far as they tell. */
static mpk_unfit unfit_of(const mpk_factor_info *info) {
    static const double GROWTH = 1e6;
    return info->inertia.zero > 0 || info->perturbed > 0 ? MPK_UNFIT_PIVOTS
           : !(info->growth <= GROWTH)                   ? MPK_UNFIT_GROWTH
                                                         : MPK_FIT;
}

/* In single precision or low rank, if that does; else there are no numbers, those of all L in A's
 * precision are to begin as if nothing had been tried. It is tried again with every EVERY-th values.
 * *why [out] where it does not: the reason */
static mpk_status factorize_less(mpk_factor *fac, bool is_new, mpki_less less, mpk_unfit *why) {
    enum { EVERY = 8 };
    mpk_unfit unfit = MPK_UNFIT_RANGE;
    int stages = 1;
    bool does = false;
    mpki_numeric_result result;
    mpk_status status = MPK_OK;
    if (fac->narrow != less.narrow || fac->low_rank != less.low_rank) widen(fac);
    fac->narrow = less.narrow;
    fac->low_rank = less.low_rank;
    fac->raised = 0;
    if (!fac->direct) status = mpki_direct_replace(fac, fac->an);
    if (!mpk_failed(status)) status = factorize_by_stages(fac, is_new, &result, &stages);
    if (!mpk_failed(status)) {
        mpki_factor_describe(fac, &result);
        fac->info.stages = stages;
        unfit = unfit_of(&fac->info);
        if (!unfit) status = mpki_narrow_does(fac, &does);
        if (!unfit && !does) unfit = MPK_UNFIT_CONDITION;
    } else if (status == MPK_ERR_NUMERIC) {
        mpki_clear_error(fac->ctx);
        status = MPK_OK;
    }
    if (mpk_failed(status) || !unfit) return status;
    widen(fac);
    if (is_new && fac->own) {
        fac->an = fac->base;
        mpk_analysis_destroy(&fac->own);
    }
    fac->wide_for = EVERY - 1;
    *why = unfit;
    return MPK_OK;
}

/* Single precision or low rank where nothing answers to it. */
static mpk_status refuse_less(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    const mpki_less less = mpki_less_asked(an, &fac->options);
    if (!less.narrow && !(less.low_rank > 0)) return MPK_OK;
    if (an->split)
        return mpki_error(fac->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          less.narrow
                              ? "Schur complements are not computed in single precision: factorize "
                                "with precision = double"
                              : "Schur complements are not computed in low rank: factorize with "
                                "low_rank_tolerance = 0");
    if (less.low_rank > 0 && fac->options.updates == MPK_ON)
        return mpki_error(fac->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "a factor in low rank keeps nothing for the next values: updates = off, "
                          "or low_rank_tolerance = 0");
    return fac->engine->direct == &mpki_cpu_direct ? MPK_OK : mpki_less_refused(fac->ctx, less);
}

/* Emulated doubles where nothing answers to them. */
static mpk_status refuse_emulation(const mpk_factor *fac) {
    if (fac->options.fp64_emulation != MPK_ON) return MPK_OK;
    if (fac->engine->direct == &mpki_cpu_direct)
        return mpki_error(
            fac->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
            "fp64_emulation = on is for a GPU: device = cuda, or fp64_emulation = auto");
    if (fac->an->scalar != MPK_D)
        return mpki_error(
            fac->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
            "emulated doubles are for real matrices in double: fp64_emulation = auto");
    return MPK_OK;
}

static mpk_status factorize(mpk_factor *fac, bool is_new) {
    int stages = 1;
    bool stale = false;
    mpk_unfit unfit = MPK_FIT;
    mpk_status status = refuse_less(fac);
    if (!mpk_failed(status)) status = refuse_emulation(fac);
    if (mpk_failed(status)) return status;
    const mpki_less less = mpki_less_wanted(fac, &unfit);
    if (less.narrow || less.low_rank > 0) {
        status = factorize_less(fac, is_new, less, &unfit);
        if (mpk_failed(status) || mpki_lossy(fac)) return status;
    } else if (mpki_lossy(fac)) {
        widen(fac);
    }
    fac->options.precision = MPK_PRECISION_DOUBLE; /* as it is in force from here on */
    fac->raised = fac->options.zero_tolerance < 0 ? fac->known.raised : 0;
    if (fac->matched > 0) fac->matched--;
    if (!is_new) status = gather(fac);
    if (!mpk_failed(status) && !fac->direct) status = mpki_direct_replace(fac, fac->an);
    if (!mpk_failed(status)) status = find_numbers(fac, is_new, &stages);
    if (!mpk_failed(status)) status = mpki_find_rank(fac, is_new || stages > 1, &stale);
    if (!mpk_failed(status) && stale) status = match_again(fac, &stages);
    if (mpk_failed(status)) return status;
    fac->info.stages = stages + fac->info.again;
    fac->info.unfit = unfit;
    return mpki_direct_outcome(fac);
}

/* ---- the other verbs ------------------------------------------------------------------------- */

static int64_t bytes(const mpk_factor *fac) {
    const int64_t ones = fac->ones ? fac->an->n * (int64_t)sizeof *fac->ones : 0;
    return fac->direct ? ones + fac->engine->direct->bytes(fac->direct) : 0;
}

static int64_t beside(const mpk_factor *fac) {
    const mpki_direct_engine *direct = fac->engine->direct;
    const int64_t measured = mpki_measured_bytes(fac);
    return measured + (fac->direct && direct->beside ? direct->beside(fac->direct) : 0);
}

static void end(mpk_factor *fac) {
    fac->engine->direct->free(&fac->direct);
}

static mpk_status get(const mpk_factor *fac, mpk_quantity what, void *out) {
    if (fac->narrow) return mpki_narrow_get(fac, what, out);
    return fac->engine->direct->get(fac->direct, what, out);
}

static bool symmetric(const mpk_factor *fac) {
    (void)fac;
    return true;
}

static mpk_status apply_make(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t columns,
                             void **work) {
    mpki_direct_solver *solver = NULL;
    if (fac->narrow) return mpki_narrow_make(ctx, fac, threads, columns, work);
    mpk_status status =
        fac->engine->direct->solver_make(ctx, fac->direct, threads, columns, &solver);
    *work = solver;
    return status;
}

static mpk_status by_pivots(const mpk_factor *fac, void *work) {
    if (fac->narrow) return mpki_narrow_by_pivots(fac, work);
    return fac->engine->direct->by_pivots(work);
}

static void apply_free(mpk_context *ctx, const mpk_factor *fac, void **work) {
    mpki_direct_solver *solver = *work;
    if (fac->narrow) {
        mpki_narrow_end(ctx, fac, work);
        return;
    }
    fac->engine->direct->solver_free(&solver);
    *work = NULL;
}

static mpk_status apply(mpk_context *ctx, const mpk_factor *fac, void *work, mpk_part part,
                        int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx) {
    (void)ctx;
    if (fac->narrow) return mpki_narrow_apply(fac, work, part, nrhs, b, ldb, x, ldx);
    return fac->engine->direct->apply(work, part, nrhs, b, ldb, x, ldx);
}

const mpki_form mpki_direct_form = {.exact = true,
                                    .factorize = factorize,
                                    .bytes = bytes,
                                    .beside = beside,
                                    .free = end,
                                    .take = take,
                                    .give = give,
                                    .get = get,
                                    .symmetric = symmetric,
                                    .apply_make = apply_make,
                                    .by_pivots = by_pivots,
                                    .apply_free = apply_free,
                                    .apply = apply};
