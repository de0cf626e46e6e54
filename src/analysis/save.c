/* SPDX-License-Identifier: BSD-3-Clause */
/* An analysis to a file and back. Only what was found by search is written: the order, the
 * supernodes and their rows, or the blocks, and the scaling. All else follows from these and the
 * pattern, and is made anew; so what a file can say is little, and all of it is checked. */
#include "save.h"
#include "trials.h"

#include "../core/floats.h"
#include "../core/random.h"
#include "block/block.h"
#include "symbolic/symbolic.h"
#include <metapack/save.h>

#include <math.h>
#include <string.h>

static const char SAVE[] = "save", LOAD[] = "load";

uint64_t mpki_values_hash(const mpk_analysis *an, const void *ax) {
    const char *bytes = ax;
    const int64_t count = an->nnz * (int64_t)mpk_scalar_size(an->scalar);
    uint64_t h = 0;
    for (int64_t k = 0; k < count; k += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + k, count - k < 8 ? (size_t)(count - k) : 8);
        h = mpki_random_mix(h ^ word) + MPKI_GOLDEN;
    }
    return h;
}

uint64_t mpki_nonzeros_hash(const mpk_analysis *an, const void *ax) {
    static const char zero[2 * sizeof(double)];
    const size_t size = mpk_scalar_size(an->scalar);
    const char *bytes = ax;
    uint64_t h = 0, word = 1;
    for (int64_t k = 0; k < an->nnz; k++) {
        word = word << 1 | (memcmp(bytes + (size_t)k * size, zero, size) != 0);
        if (k % 63 < 62 && k + 1 < an->nnz) continue;
        h = mpki_random_mix(h ^ word) + MPKI_GOLDEN;
        word = 1;
    }
    return h ? h : 1;
}

/* Numbers of one length, so that no byte between them is left unset. */
typedef struct facts {
    int64_t n, nnz, scalar, symmetry;
    uint64_t pattern, values;
    int64_t ordering, ordered_for, matching, scaling, structural_rank, failing;
    int64_t has_scale, scale_far, has_bare, has_mate, pairs, has_row_of;
    int64_t nsuper, rows;                /* the direct method: supernodes, and rows below them */
    int64_t nframes, strategy, has_pair; /* on blocks; nframes -1: not on blocks */
} facts;

static uint64_t pattern_hash(const int64_t *ap, const int32_t *ai, int32_t n, int64_t nnz) {
    mpki_digest columns = mpki_digest_begin(), rows = mpki_digest_begin();
    mpki_digest_add(&columns, ap, ((size_t)n + 1) * sizeof *ap);
    mpki_digest_add(&rows, ai, (size_t)nnz * sizeof *ai);
    return mpki_random_mix(mpki_digest_end(&columns)) ^ mpki_digest_end(&rows);
}

static facts facts_of(const mpk_analysis *an) {
    const mpki_block_analysis *b = an->block;
    const bool tree = !b;
    return (facts){
        .n = an->n,
        .nnz = an->nnz,
        .scalar = an->scalar,
        .symmetry = an->symmetry,
        .pattern = pattern_hash(an->ap, an->ai, an->n, an->nnz),
        .values = an->loaded   ? an->hash
                  : an->values ? mpki_values_hash(an, an->values->ax)
                               : 0,
        .ordering = an->info.ordering,
        .ordered_for = an->info.ordered_for,
        .matching = an->info.matching,
        .scaling = an->info.scaling,
        .structural_rank = an->info.structural_rank,
        .failing = an->failing,
        .has_scale = an->scale != NULL,
        .scale_far = an->scale_far,
        .has_bare = mpki_core_is_part(&an->core),
        .has_mate = an->core.mate != NULL,
        .pairs = an->core.mate ? an->core.pairs : 0,
        .has_row_of = an->row_of != NULL,
        .nsuper = tree ? an->nsuper : 0,
        .rows = tree ? an->rptr[an->nsuper] : 0,
        .nframes = b ? b->blocking.nframes : -1,
        .strategy = b ? (int64_t)b->blocking.strategy : 0,
        .has_pair = b && b->pair,
    };
}

static int64_t scales_of(const facts *f) {
    return f->symmetry == MPK_GENERAL ? 2 * f->n : f->n;
}

/* ---- to a file ------------------------------------------------------------------------------- */

mpk_status mpki_analysis_savable(mpk_context *ctx, const char *stage, const mpk_analysis *an) {
    if (!an->split && an->symmetry == MPK_GENERAL && !mpki_on_blocks(an->options.method))
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, stage, -1,
                          "the direct method's analysis of a matrix that is not symmetric is not "
                          "saved, nor its factor: those of methods on blocks are");
    if (!an->split) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_UNSUPPORTED, stage, -1,
                      "the interior beside a Schur complement is not saved: save the analysis of "
                      "all variables");
}

void mpki_analysis_put(mpki_archive *a, const mpk_analysis *an) {
    const facts f = facts_of(an);
    const mpki_block_analysis *b = an->block;
    mpk_options options = an->options;
    options.threads = 0; /* which no result depends on */
    mpki_archive_put(a, &f, 1, sizeof f);
    mpki_archive_put_options(a, &options);
    mpki_archive_put(a, an->perm, an->n, sizeof *an->perm);
    if (f.has_scale) mpki_archive_put(a, an->scale, scales_of(&f), sizeof *an->scale);
    if (f.has_row_of) mpki_archive_put(a, an->row_of, an->n, sizeof *an->row_of);
    if (f.has_bare) mpki_archive_put(a, an->core.bare, an->n, 1);
    if (f.has_mate) mpki_archive_put(a, an->core.mate, an->n, sizeof *an->core.mate);
    if (!b) {
        mpki_archive_put(a, an->sptr, f.nsuper + 1, sizeof *an->sptr);
        mpki_archive_put(a, an->parent, f.nsuper, sizeof *an->parent);
        mpki_archive_put(a, an->rptr, f.nsuper + 1, sizeof *an->rptr);
        mpki_archive_put(a, an->ridx, f.rows, sizeof *an->ridx);
        return;
    }
    if (b->blocking.bptr) mpki_archive_put(a, b->blocking.bptr, f.nframes + 1, sizeof(int32_t));
    if (f.has_pair) mpki_archive_put(a, b->pair, an->n, sizeof *b->pair);
}

mpk_status mpki_saved_of(mpk_context *ctx, const char *stage, const mpk_analysis *an,
                         mpki_saved *saved) {
    mpki_archive sum;
    mpk_status status = mpki_archive_count(ctx, stage, &sum);
    if (mpk_failed(status)) return status;
    mpki_analysis_put(&sum, an);
    *saved = (mpki_saved){.threads = an->options.threads};
    saved->sum = mpki_archive_sum(&sum, &saved->bytes);
    return mpki_archive_finish(&sum);
}

mpk_status mpk_analysis_save(mpk_context *ctx, const mpk_analysis *an, const char *path) {
    MPKI_CALM;
    mpki_archive a;
    mpki_saved saved;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!an || !path)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, SAVE, -1, "analysis and path must not be NULL");
    mpk_status status = mpki_analysis_savable(ctx, SAVE, an);
    if (!mpk_failed(status)) status = mpki_saved_of(ctx, SAVE, an, &saved);
    if (!mpk_failed(status)) status = mpki_archive_create(ctx, SAVE, path, &a);
    if (mpk_failed(status)) return status;
    mpki_archive_put(&a, &saved, 1, sizeof saved);
    mpki_analysis_put(&a, an);
    return mpki_archive_finish(&a);
}

/* ---- from a file ----------------------------------------------------------------------------- */

int mpki_saved_threads(int64_t threads) {
    const int here = mpki_threads_default();
    return threads < 1 ? 1 : threads < here ? (int)threads : here;
}

/* Is it of the problem's pattern and kind? */
static bool check_problem(mpki_archive *a, const facts *f, const mpk_problem *p) {
    const char *what = f->n != p->n || f->nnz != p->nnz                         ? "pattern"
                       : f->scalar != (int64_t)p->scalar                        ? "scalar type"
                       : f->symmetry != (int64_t)p->symmetry                    ? "symmetry"
                       : f->pattern != pattern_hash(p->ap, p->ai, p->n, p->nnz) ? "pattern"
                                                                                : NULL;
    if (!what) return true;
    a->status = mpki_error(a->ctx, MPK_ERR_ARGUMENT, a->stage, -1,
                           "%.300s: the analysis is of a matrix with another %s", a->path, what);
    return false;
}

static bool flag(int64_t x) {
    return x == 0 || x == 1;
}

static bool check_facts(mpki_archive *a, const facts *f, const mpk_options *o) {
    const bool blocks = mpki_on_blocks(o->method), none = o->method == MPK_METHOD_NONE;
    const bool general = f->symmetry == MPK_GENERAL;
    const char *word = mpk_ordering_name((mpk_ordering)f->ordering);
    if (!flag(f->ordered_for) || f->ordering < 0 || f->ordering > INT32_MAX ||
        !strcmp(word, "unknown"))
        return mpki_archive_damaged(a, "the ordering");
    if (!flag(f->matching) || f->scaling < 0 || f->scaling > 2 || f->structural_rank < -1 ||
        f->structural_rank > f->n || f->failing < 0 || f->failing > INT32_MAX)
        return mpki_archive_damaged(a, "what the matching found");
    if (!flag(f->has_mate) || (f->has_mate && !f->has_bare) || f->pairs < 0 ||
        f->pairs > MPKI_PAIRS)
        return mpki_archive_damaged(a, "what it is of");
    if (!flag(f->has_scale) || !flag(f->scale_far) || !flag(f->has_bare) || !flag(f->has_row_of) ||
        !flag(f->has_pair) || (f->has_row_of && !general) || (f->has_bare && blocks) ||
        (f->scaling == 2 && !f->has_scale))
        return mpki_archive_damaged(a, "what it holds");
    if (blocks != (f->nframes >= 0) || (general && !blocks))
        return mpki_archive_damaged(a, "its method");
    if (f->nsuper < 0 || f->nsuper > f->n || f->rows < 0 || (blocks && (f->nsuper || f->rows)) ||
        f->nframes > f->n || (none && f->nframes != 0) || f->strategy < 0 ||
        f->strategy > MPK_STRATEGY_RBR || (f->has_pair && (!blocks || none)))
        return mpki_archive_damaged(a, "its sizes");
    return true;
}

static bool check_scale(mpki_archive *a, const double *scale, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        if (!(scale[k] > 0 && isfinite(scale[k]))) return mpki_archive_damaged(a, "the scaling");
    return true;
}

/* The core of a structurally singular matrix. */
static bool get_core(mpki_archive *a, const facts *f, const mpk_problem *p, mpk_analysis *an) {
    char *bare = mpki_archive_array(a, an->n, 1);
    int32_t *mate = f->has_mate ? mpki_archive_array(a, an->n, sizeof *mate) : NULL;
    mpki_core core = {0};
    bool right = bare != NULL && (mate || !f->has_mate);
    for (int32_t i = 0; right && i < an->n; i++)
        if (!flag(bare[i])) right = mpki_archive_damaged(a, "the columns left out");
    for (int32_t i = 0; right && mate && i < an->n; i++)
        if (mate[i] < 0 || mate[i] >= an->n || mate[mate[i]] != i)
            right = mpki_archive_damaged(a, "its pairs");
    if (right && mpk_failed(mpki_core_build(a->ctx, p, bare, mate, &core))) {
        a->status = mpki_failed(a->ctx);
        right = false;
    }
    core.pairs = (int)f->pairs;
    if (right) an->core = core;
    mpki_release(a->ctx, mate);
    mpki_release(a->ctx, bare);
    return right;
}

static bool get_tree(mpki_archive *a, const facts *f, mpk_analysis *an) {
    const char *why = NULL;
    an->nsuper = (int32_t)f->nsuper;
    an->sptr = mpki_archive_array(a, f->nsuper + 1, sizeof *an->sptr);
    an->parent = mpki_archive_array(a, f->nsuper, sizeof *an->parent);
    an->rptr = mpki_archive_array(a, f->nsuper + 1, sizeof *an->rptr);
    if (an->rptr && an->rptr[f->nsuper] != f->rows) return mpki_archive_damaged(a, "its rows");
    an->ridx = mpki_archive_array(a, f->rows, sizeof *an->ridx);
    if (mpk_failed(a->status)) return false;
    const mpk_status status = mpki_tree_restore(a->ctx, an, &why);
    if (mpk_failed(status)) a->status = status;
    return why ? mpki_archive_damaged(a, why) : !mpk_failed(status);
}

static bool get_blocks(mpki_archive *a, const facts *f, mpk_analysis *an) {
    const char *why = NULL;
    mpki_block_analysis *b = an->block = MPKI_ZNEW(a->ctx, a->stage, 1, mpki_block_analysis);
    if (!b) {
        a->status = mpki_failed(a->ctx);
        return false;
    }
    b->blocking = (mpki_blocking){.n = an->n,
                                  .nframes = (int32_t)f->nframes,
                                  .strategy = (mpk_strategy)f->strategy,
                                  .ordering = (mpk_ordering)f->ordering};
    if (an->options.method != MPK_METHOD_NONE)
        b->blocking.bptr = mpki_archive_array(a, f->nframes + 1, sizeof(int32_t));
    if (f->has_pair) b->pair = mpki_archive_array(a, an->n, sizeof *b->pair);
    if (mpk_failed(a->status)) return false;
    const mpk_status status = mpki_block_restore(a->ctx, an, &why);
    if (mpk_failed(status)) a->status = status;
    return why ? mpki_archive_damaged(a, why) : !mpk_failed(status);
}

/* All that follows the facts and the options. */
static bool get_arrays(mpki_archive *a, const facts *f, const mpk_problem *problem,
                       mpk_analysis *an) {
    mpk_analysis_info *info = &an->info;
    info->ordering = (mpk_ordering)f->ordering;
    info->ordered_for = (mpk_device)f->ordered_for;
    info->matching = (int)f->matching;
    info->scaling = (int)f->scaling;
    info->structural_rank = (int32_t)f->structural_rank;
    an->failing = (int32_t)f->failing;
    an->scale_far = f->scale_far;
    an->loaded = true;
    an->hash = f->values;
    if (!mpki_archive_get(a, an->perm, an->n, sizeof *an->perm)) return false;
    if (f->has_scale) {
        an->scale = mpki_archive_array(a, scales_of(f), sizeof *an->scale);
        if (!an->scale || !check_scale(a, an->scale, scales_of(f))) return false;
    }
    if (f->has_row_of && !(an->row_of = mpki_archive_array(a, an->n, sizeof *an->row_of)))
        return false;
    if (f->has_bare && !get_core(a, f, problem, an)) return false;
    return f->nframes >= 0 ? get_blocks(a, f, an) : get_tree(a, f, an);
}

mpk_status mpki_analysis_get(mpki_archive *a, const mpk_problem *problem, int threads,
                             mpk_analysis **an) {
    facts f;
    mpk_options options;
    if (!mpki_archive_get(a, &f, 1, sizeof f) || !check_problem(a, &f, problem) ||
        !mpki_archive_get_options(a, &options) || !check_facts(a, &f, &options))
        return a->status;
    options.threads = threads;
    mpk_analysis *made = mpki_analysis_new(a->ctx, problem, &options);
    if (!made) return a->status = mpki_failed(a->ctx);
    if (!get_arrays(a, &f, problem, made)) {
        mpk_analysis_destroy(&made);
        return a->status;
    }
    *an = made;
    return MPK_OK;
}

mpk_status mpk_analysis_load(mpk_context *ctx, const mpk_problem *problem, const char *path,
                             mpk_analysis **an) {
    MPKI_CALM;
    mpki_archive a;
    mpki_saved saved;
    mpk_analysis *made = NULL;
    const double start = mpki_now_s();
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!problem || !path || !an || *an)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, LOAD, -1,
                          "problem and path must not be NULL, and *an must be");
    mpk_status status = mpki_archive_open(ctx, LOAD, path, &a);
    if (mpk_failed(status)) return status;
    if (mpki_archive_get(&a, &saved, 1, sizeof saved))
        mpki_analysis_get(&a, problem, mpki_saved_threads(saved.threads), &made);
    if (!mpk_failed(a.status) && saved.factor) mpki_archive_skip(&a, a.left);
    status = mpki_archive_finish(&a);
    if (mpk_failed(status)) {
        mpk_analysis_destroy(&made);
        return status;
    }
    made->info.time_s = mpki_now_s() - start;
    *an = made;
    const int32_t rank = made->info.structural_rank;
    if (rank >= 0 && rank < made->n)
        return mpki_error(ctx, MPK_SINGULAR, LOAD, rank,
                          "structurally singular: at most %d of %d rows are independent", rank,
                          made->n);
    return MPK_OK;
}
