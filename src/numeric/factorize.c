/* SPDX-License-Identifier: BSD-3-Clause */
/* The numeric verbs: values in, scaled, through the walk over the tree; once more with a matching
 * if delayed columns run away (outer pivoting). */
#include "../problem/given.h"
#include "block/block_factor.h"
#include "verdict.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

void mpki_walk_memory_free(mpk_context *ctx, mpki_walk_memory *m) {
    for (int t = 0; t < m->workers; t++) {
        if (m->bench) mpki_release(ctx, m->bench[t]);
        if (m->runs) mpki_release(ctx, m->runs[t]);
    }
    mpki_release(ctx, m->bench);
    mpki_release(ctx, m->runs);
    mpki_release(ctx, m->contribution);
    mpki_release(ctx, (void *)m->waits);
    mpki_tree_free(ctx, &m->tree);
    *m = (mpki_walk_memory){0};
}

/* What rounding leaves of entries that should cancel, in a matrix scaled to 1: about 45 eps. With
 * it the counts of zeros agree with eigenvalues on the singular matrices of the test set;
 * docs/numerics.md has the table. */
double mpki_default_zero_tolerance(mpk_scalar scalar) {
    return (scalar == MPK_S || scalar == MPK_C ? 0x1p29 : 1) * 1e-14;
}

mpk_status mpki_factorize_once(mpk_factor *fac, const mpki_stop *stop,
                               mpki_numeric_result *result) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    mpk_status status =
        mpki_find_scaling(ctx, an, &fac->options, fac->ax, fac->rescaled, fac->scale, &fac->size);
    if (status < 0) return status;
    void *sax = mpki_alloc(ctx, STAGE, an->nnz, mpk_scalar_size(an->scalar));
    if (!sax) return mpki_failed(ctx);
    MPKI_DISPATCH(an->scalar, scale_values)(an, fac->ax, fac->scale, sax);
    const bool single = an->scalar == MPK_S || an->scalar == MPK_C;
    const double small = fac->options.zero_tolerance >= 0 ? fac->options.zero_tolerance
                         : fac->raised                    ? (single ? 1e-3 : 1e-11)
                         : fac->lowered                   ? (single ? 0x1p-23 : 0x1p-52)
                                                          : mpki_default_zero_tolerance(an->scalar);
    if (fac->have_arena) {
        mpki_arena_reset(&fac->arena);
        fac->arena.limit = fac->options.memory_limit;
    } else {
        status = mpki_arena_init(ctx, an->info.factor_bytes + 4096, fac->options.memory_limit,
                                 &fac->arena);
    }
    if (status == MPK_OK) {
        fac->have_arena = true;
        status = MPKI_DISPATCH(an->scalar, numeric)(
            fac, sax, small * fac->size, fac->options.static_shift * fac->size, stop, result);
    }
    mpki_release(ctx, sax);
    return mpki_failed(ctx) < 0 ? mpki_failed(ctx) : status;
}

static void numbers_free(mpk_factor *fac) {
    if (fac->have_arena) mpki_arena_free(&fac->arena);
    fac->have_arena = false;
    mpki_walk_memory_free(fac->ctx, &fac->memory);
}

/* Match on the current values, order and analyse again. After a failure the factor is as it was.
 * keep [in] as for mpki_analyse */
static mpk_status reanalyse(mpk_factor *fac, mpk_switch matching, const char *keep) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    mpk_problem problem = {.ctx = ctx,
                           .scalar = an->scalar,
                           .symmetry = an->symmetry,
                           .layout = an->layout,
                           .n = an->n,
                           .nnz = an->nnz,
                           .ap = an->ap,
                           .ai = an->ai,
                           .ax = fac->ax};
    mpk_options options = an->options;
    options.matching = matching;
    if (options.ordering == MPK_ORDERING_GIVEN) options.ordering = MPK_ORDERING_AUTO;
    mpk_analysis *own = NULL;
    mpk_status status = mpki_analyse(ctx, &problem, &options, keep, &own);
    if (status < 0) return status;
    mpki_node *node = MPKI_ZNEW(ctx, STAGE, own->nsuper + 1, mpki_node);
    if (!node) {
        mpk_analysis_destroy(&own);
        return mpki_failed(ctx);
    }
    numbers_free(fac);
    mpki_release(ctx, fac->node);
    fac->node = node;
    mpk_analysis_destroy(&fac->own);
    fac->an = fac->own = own;
    return MPK_OK;
}

double mpki_pivot_noise(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    const double eps = an->scalar == MPK_S || an->scalar == MPK_C ? 0x1p-24 : 0x1p-53;
    return 10 * eps * sqrt((double)an->n + 1) * fmax(fac->info.growth, 1);
}

void mpki_factor_describe(mpk_factor *fac, const mpki_numeric_result *r) {
    const mpk_analysis *an = fac->an;
    mpk_factor_info *info = &fac->info;
    const bool counted =
        an->symmetry == MPK_HERMITIAN || an->scalar == MPK_S || an->scalar == MPK_D;
    *info =
        (mpk_factor_info){.nnz = r->nnz,
                          .flops = r->flops,
                          .bytes = mpki_arena_bytes(&fac->arena),
                          .rejected = r->pivots.rejected,
                          .two_by_two = r->pivots.two_by_two,
                          .perturbed = r->pivots.perturbed,
                          .growth = r->pivots.max_d / fac->size,
                          .min_pivot = isfinite(r->pivots.min_d) ? r->pivots.min_d / fac->size : 0,
                          .max_front = r->max_front,
                          .threads = fac->options.threads};
    info->inertia.zero = r->pivots.zero;
    if (!counted) return;
    info->inertia.positive = r->pivots.positive;
    info->inertia.negative = r->pivots.negative;
    info->inertia.certified = r->pivots.zero == 0 && r->pivots.perturbed == 0 &&
                              (an->n == 0 || info->min_pivot > mpki_pivot_noise(fac));
}

/* A row of A without an entry that is not zero; -1: none. */
static int32_t row_of_zeros(const mpk_factor *fac) {
    int32_t row = 0;
    while (row < fac->an->n && fac->row_norm[row] > 0) row++;
    return row < fac->an->n ? row : -1;
}

/* The methods on blocks; none keeps its scaling alone. */
static mpk_status factorize_blocks(mpk_factor *fac, int64_t bytes_before) {
    mpk_context *ctx = fac->ctx;
    fac->options.method = fac->an->options.method;
    mpki_imply_options(&fac->options);
    fac->info = (mpk_factor_info){.stages = 1, .threads = fac->options.threads};
    mpk_status status = mpki_check_options(ctx, &fac->options);
    if (status < 0) return status;
    status =
        fac->options.method == MPK_METHOD_NONE
            ? mpki_find_scaling(ctx, fac->an, &fac->options, fac->ax, false, fac->scale, &fac->size)
            : mpki_block_factorize(fac);
    if (status < 0) return status;
    int64_t peak;
    mpk_memory_usage(ctx, NULL, &peak);
    fac->info.peak_bytes = peak - bytes_before;
    fac->valid = true;
    mpki_progress(ctx, STAGE, 1);
    const int32_t empty = fac->info.inertia.zero > 0 ? row_of_zeros(fac) : -1;
    if (empty < 0) return MPK_OK; /* a zero pivot of an incomplete factor says nothing of A */
    return mpki_error(ctx, MPK_SINGULAR, STAGE, empty, "singular: row %d is zero", empty + 1);
}

mpki_stop mpki_fresh_stop(const mpk_analysis *an) {
    return (mpki_stop){3 * an->info.factor_flops + 2e8, (int64_t)an->n + 1000};
}

/* Outer pivoting. The analysis is of these values if the factor is new; later it is of older ones,
 * and is given up sooner: what it was good for may be gone (Sigma of an interior point grows by ten
 * orders). With the values in hand it is made anew as the caller asked for it, and if even that
 * runs away without a matching, with one. */
static mpk_status factorize_by_stages(mpk_factor *fac, bool is_new, mpki_numeric_result *result,
                                      int *stages) {
    const bool free_to = fac->options.matching == MPK_AUTO && fac->options.static_shift == 0 &&
                         fac->an->options.matching == MPK_AUTO;
    bool fresh = is_new;
    for (;; ++*stages) {
        const mpk_analysis_info *info = &fac->an->info;
        mpki_stop stop = mpki_fresh_stop(fac->an);
        if (!fresh) {
            stop.flops = fac->patience * (2 * info->factor_flops + 200.0 * (double)info->nnz);
            stop.rejected = (int64_t)(fac->patience * (0.5 * info->n + 100));
        }
        const bool may_stop = free_to && (!fresh || !info->matching);
        mpk_status status = mpki_factorize_once(fac, may_stop ? &stop : NULL, result);
        if (status < 0 || !result->runaway) {
            const bool paid = result->flops < 0.5 * stop.flops;
            if (status >= 0 && *stages > 1 && !is_new && !paid) fac->patience *= 2;
            return status;
        }
        numbers_free(fac); /* they have run away, and the room may be needed */
        status = reanalyse(fac, fresh ? MPK_ON : MPK_AUTO, NULL);
        if (status < 0) return status;
        fresh = true;
    }
}

/* With the analysis that the factor was made for. */
static mpk_status return_to_base(mpk_factor *fac) {
    mpki_node *node = MPKI_ZNEW(fac->ctx, STAGE, fac->base->nsuper + 1, mpki_node);
    if (!node) return mpki_failed(fac->ctx);
    numbers_free(fac);
    mpki_release(fac->ctx, fac->node);
    fac->node = node;
    fac->an = fac->base;
    mpk_analysis_destroy(&fac->own);
    return MPK_OK;
}

/* Once more, with what of A the core has missed. *dear [out]: columns that depend on others are
 * delayed from node to node up to the root, at a price that nobody would pay; the factor has no
 * numbers then. */
static mpk_status extend_core(mpk_factor *fac, const char *keep, mpki_numeric_result *result,
                              bool *dear) {
    mpk_status status = reanalyse(fac, fac->an->options.matching, keep);
    if (status >= 0) {
        const mpk_analysis_info *info = &fac->an->info;
        const mpki_stop stop = {50 * info->factor_flops + 2e5 * info->n, 50 * (int64_t)info->n};
        status = mpki_factorize_once(fac, &stop, result);
    }
    *dear = status == MPK_ERR_MEMORY || (status >= 0 && result->runaway);
    if (*dear || status >= 0) mpki_clear_error(fac->ctx);
    return *dear ? MPK_OK : status;
}

/* The rows that the core lacks, or a part of them; in the last round, or if it lacks none, all: a
 * static shift makes pivots of all zeros. */
static mpk_status choose_rows(const mpk_factor *fac, int round, const char *missed, char *keep) {
    enum { ROUNDS = 8, FEW = 50 };
    const mpk_analysis *an = fac->an;
    const int64_t lacking = fac->info.inertia.zero - (an->n - an->info.structural_rank);
    const int64_t most = lacking > FEW << round ? lacking : FEW << round;
    int32_t added;
    mpk_status status = mpki_core_extend(fac->ctx, an, missed, (int32_t)most, keep, &added);
    if (status >= 0 && (added == 0 || round == ROUNDS || fac->options.static_shift > 0))
        memset(keep, 1, (size_t)an->n);
    return status;
}

/* The core of a structurally singular matrix is all that need be factorized, unless it is singular,
 * too, or the other columns depend on it by large numbers. Then it gets rows that it does not
 * explain, a few times, at last all of A; and if that is too dear, it is taken as it was. */
static mpk_status factorize_rest(mpk_factor *fac, mpki_numeric_result *result, int *stages) {
    mpk_context *ctx = fac->ctx;
    const int32_t n = fac->an->n;
    double error = 0;
    bool dear = false;
    if (!fac->an->core.ap) return MPK_OK;
    char *keep = MPKI_ZNEW(ctx, STAGE, n, char), *missed = MPKI_NEW(ctx, STAGE, n, char);
    mpk_status status = keep && missed ? MPK_OK : mpki_failed(ctx);
    for (int round = 1; status >= 0 && fac->an->core.ap && !dear; round++) {
        status = mpki_try_core(fac, missed, &error);
        if (status < 0 || error <= mpki_accuracy(&fac->options, fac->an->scalar)) break;
        status = choose_rows(fac, round, missed, keep);
        if (status < 0) break;
        ++*stages;
        status = extend_core(fac, keep, result, &dear);
        if (status >= 0 && !dear) mpki_factor_describe(fac, result);
    }
    if (status >= 0 && dear) {
        ++*stages;
        status = return_to_base(fac);
        if (status >= 0) status = factorize_by_stages(fac, true, result, stages);
        if (status >= 0) mpki_factor_describe(fac, result);
        if (status >= 0) fac->info.rank_bound = error;
    }
    mpki_release(ctx, keep);
    mpki_release(ctx, missed);
    return status;
}

/* ---- values ------------------------------------------------------------------------------------
 */

/* In which order a caller's values stand. */
typedef mpk_status take_fn(mpk_context *ctx, const char *stage, const mpki_layout *layout,
                           mpk_scalar scalar, mpk_symmetry symmetry, const void *values, void *ax);

/* The values to be factorized into fac: those analysed (ax NULL), which are shared, or the
 * caller's. The array of the problem's view is known by its address, whatever order is spoken of.
 */
static mpk_status take_values(mpk_factor *fac, const void *ax, take_fn *take) {
    const mpk_analysis *base = fac->base;
    mpk_context *ctx = fac->ctx;
    if (ax == base->values->ax) ax = NULL;
    mpki_values *values = ax ? mpki_values_new(ctx, STAGE, base->values->bytes)
                             : mpki_values_share(ctx, STAGE, base->values);
    if (!values) return mpki_failed(ctx);
    mpk_status status =
        ax ? take(ctx, STAGE, base->layout, base->scalar, base->symmetry, ax, values->ax) : MPK_OK;
    if (status) {
        mpki_values_release(&values);
        return status;
    }
    mpki_values_release(&fac->values);
    fac->values = values;
    fac->ax = values->ax;
    const mpk_problem_view a = {base->n,  base->nnz, base->scalar, base->symmetry,
                                base->ap, base->ai,  fac->ax};
    fac->norm_inf = mpki_row_sums(&a, fac->row_norm);
    return MPK_OK;
}

/* ---- the verbs ---------------------------------------------------------------------------------
 */

/* What there is to say of a factor that can be used. */
static mpk_status outcome(const mpk_factor *fac) {
    const mpk_factor_info *info = &fac->info;
    const int64_t zero = info->inertia.zero;
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

static mpk_status factorize(mpk_factor *fac, const void *ax, take_fn *take,
                            const mpk_options *options, bool is_new) {
    mpk_context *ctx = fac->ctx;
    double start_s = mpki_now_s();
    mpk_options full;
    mpk_status status = mpki_options_resolve(ctx, options, &full);
    if (status < 0) return status;
    int64_t bytes_before;
    mpk_memory_usage(ctx, &bytes_before, NULL);
    if (fac->have_arena) bytes_before -= mpki_arena_bytes(&fac->arena); /* the factor counts */
    mpk_memory_reset_peak(ctx);
    status = take_values(fac, ax, take);
    if (status < 0) return status;
    fac->valid = false; /* whatever goes wrong now, old factors do not pass for new ones */
    fac->options = full;
    if (fac->base->block) {
        status = factorize_blocks(fac, bytes_before);
        if (status >= 0) fac->info.time_s = mpki_now_s() - start_s;
        return status;
    }
    mpki_numeric_result result;
    int stages = 1;
    fac->raised = false;
    status = factorize_by_stages(fac, is_new, &result, &stages);
    if (status == MPK_ERR_NUMERIC && full.zero_tolerance < 0) {
        /* in a singular matrix noise can pass for pivots, and its noise for others, without end */
        mpki_clear_error(ctx);
        fac->raised = true;
        stages++;
        status = factorize_by_stages(fac, is_new, &result, &stages);
    }
    if (status < 0) return status;
    mpki_factor_describe(fac, &result);
    status = factorize_rest(fac, &result, &stages);
    if (status >= 0) status = mpki_find_rank(fac);
    if (status < 0) return status;
    fac->valid = true;
    int64_t peak;
    mpk_memory_usage(ctx, NULL, &peak);
    fac->info.stages = stages + fac->info.again;
    fac->info.peak_bytes = peak - bytes_before;
    fac->info.time_s = mpki_now_s() - start_s;
    mpki_progress(ctx, STAGE, 1);
    return outcome(fac);
}

static mpk_status refactorize(mpk_context *ctx, const void *ax, take_fn *take,
                              const mpk_options *options, mpk_factor *fac) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!fac) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor is NULL");
    if (fac->ctx != ctx)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the factor was made with another context");
    return factorize(fac, ax, take, options, false);
}

static mpk_status create(mpk_context *ctx, const mpk_analysis *an, const void *ax, take_fn *take,
                         const mpk_options *options, mpk_factor **out) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!an || !out)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "analysis and factor must not be NULL");
    if (*out && (*out)->base != an)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the factor belongs to another analysis");
    if (*out) return refactorize(ctx, ax, take, options, *out);
    mpk_factor *fac = MPKI_ZNEW(ctx, STAGE, 1, mpk_factor);
    if (!fac) return mpki_failed(ctx);
    fac->ctx = ctx;
    fac->base = fac->an = an;
    fac->patience = 1;
    fac->scale = MPKI_NEW(ctx, STAGE, an->n, double);
    fac->row_norm = MPKI_NEW(ctx, STAGE, an->n, double);
    fac->node = MPKI_ZNEW(ctx, STAGE, an->nsuper + 1, mpki_node);
    mpk_status status = mpki_failed(ctx);
    if (status == MPK_OK) status = factorize(fac, ax, take, options, true);
    if (status < 0) mpk_factor_destroy(&fac);
    *out = fac;
    return status;
}

mpk_status mpk_factorize(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                         const mpk_options *options, mpk_factor **fac) {
    return create(ctx, an, ax, mpki_given_gather, options, fac);
}

mpk_status mpk_factorize_lower(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                               const mpk_options *options, mpk_factor **fac) {
    return create(ctx, an, ax, mpki_given_copy, options, fac);
}

mpk_status mpk_refactorize(mpk_context *ctx, const void *ax, const mpk_options *options,
                           mpk_factor *fac) {
    return refactorize(ctx, ax, mpki_given_gather, options, fac);
}

void mpk_factor_info_get(const mpk_factor *fac, mpk_factor_info *info) {
    if (info) *info = fac ? fac->info : (mpk_factor_info){0};
}

void mpk_factor_destroy(mpk_factor **out) {
    if (!out || !*out) return;
    mpk_factor *fac = *out;
    if (fac->have_arena) mpki_arena_free(&fac->arena);
    mpki_walk_memory_free(fac->ctx, &fac->memory);
    mpki_block_factor_free(fac->ctx, &fac->block);
    mpk_analysis_destroy(&fac->own);
    mpki_release(fac->ctx, fac->node);
    mpki_release(fac->ctx, fac->scale);
    mpki_release(fac->ctx, fac->row_norm);
    mpki_values_release(&fac->values);
    mpki_release(fac->ctx, fac);
    *out = NULL;
}

/* ---- what a caller may ask of the factor
 * ---------------------------------------------------------- */

size_t mpk_get_size(const mpk_factor *fac, mpk_quantity what) {
    if (!fac) return 0;
    size_t n = (size_t)fac->an->n;
    switch (what) {
    case MPK_GET_INERTIA:
        return 3 * sizeof(int64_t);
    case MPK_GET_PERM:
        return n * sizeof(int32_t);
    case MPK_GET_SCALE:
        return n * sizeof(double);
    case MPK_GET_D:
        return 2 * n * mpk_scalar_size(fac->an->scalar);
    case MPK_GET_LOGDET:
        return 3 * sizeof(double);
    }
    return 0;
}

mpk_status mpk_get(mpk_context *ctx, const mpk_factor *fac, mpk_quantity what, void *out,
                   size_t bytes) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!fac || !fac->valid || !out)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", -1, "the factor holds no factorization");
    if ((unsigned)what > MPK_GET_LOGDET)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", what, "there is no quantity %d", (int)what);
    size_t need = mpk_get_size(fac, what);
    if (bytes < need)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", (int64_t)bytes,
                          "%zu bytes given, %zu needed", bytes, need);
    const mpk_analysis *an = fac->an;
    if (an->block && what != MPK_GET_INERTIA && what != MPK_GET_SCALE)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "get", what,
                          "a factor on blocks gives its inertia and scaling only");
    if (what == MPK_GET_INERTIA) {
        int64_t *counts = out;
        counts[0] = fac->info.inertia.positive;
        counts[1] = fac->info.inertia.negative;
        counts[2] = fac->info.inertia.zero;
    } else if (what == MPK_GET_SCALE) {
        memcpy(out, fac->scale, need);
    } else if (what == MPK_GET_PERM) {
        int32_t *perm = out;
        for (int32_t s = 0; s < an->nsuper; s++)
            for (int32_t k = 0; k < fac->node[s].nelim; k++) *perm++ = an->perm[fac->node[s].id[k]];
    } else if (what == MPK_GET_D) {
        MPKI_DISPATCH(an->scalar, get_d)(fac, out);
    } else {
        MPKI_DISPATCH(an->scalar, get_logdet)(fac, out);
    }
    return MPK_OK;
}

void mpk_factor_block_info_get(const mpk_factor *fac, mpk_block_info *info) {
    if (info) *info = fac && fac->block ? fac->block->info : (mpk_block_info){0};
}
