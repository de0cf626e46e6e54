/* SPDX-License-Identifier: BSD-3-Clause */
/* A direct factor to a file and back: behind its analysis, which tells it apart, the options and
 * what verdicts have learned, the values, the scaling, and the engine's numbers. */
#include "../analysis/save.h"
#include "../core/floats.h"
#include "../problem/skew.h"
#include "direct_numbers.h"
#include "measured.h"
#include "narrow.h"
#include "rank.h"
#include <metapack/save.h>

#include <math.h>
#include <string.h>

static const char SAVE[] = "save", LOAD[] = "load";

/* What a factor knows, in numbers of one length, so that no byte between them is left unset. */
enum { RESTS = 5 };

typedef struct state {
    int64_t threads, own, narrow, rescaled, lowered, matched, wide_for, broken, examined, regular;
    uint64_t own_of;
    double patience, raised, effort, size, cost_flops;
    int64_t cost_rejected;
    int64_t vectors, weak, zeros, undecided, core, tried; /* known */
    double known_raised;
    int64_t like, shown, far, measures, rests[RESTS][2];
    int64_t weak_at[MPKI_KNOWN_MOST];
    uint64_t own_nonzeros;
    int64_t matched_for, measured; /* pivots that are; 0: none */
    int64_t certified, tests;      /* the certificate */
    double contraction, miss_bound;
    int64_t skew, rough; /* entries of what the triangles differ by; -1: nothing */
    double apart;
} state;

#define REST_OF(what)                                                                              \
    { known->what.left, known->what.span }

static state state_of(const mpk_factor *fac) {
    const mpki_rank_memory *known = &fac->known;
    const mpki_skew *skew = mpki_skew_of(fac);
    const bool examined = atomic_load_explicit(&fac->examined, memory_order_acquire);
    const mpk_certificate none = {0}, *found = examined ? &fac->certificate : &none;
    state s = {
        .threads = fac->options.threads,
        .own = fac->own != NULL,
        .narrow = fac->narrow,
        .rescaled = fac->rescaled,
        .lowered = fac->lowered,
        .matched = fac->matched,
        .wide_for = fac->wide_for,
        .broken = fac->broken,
        .examined = examined,
        .regular = examined && fac->regular,
        .own_of = fac->own ? fac->own_of : 0,
        .patience = fac->patience,
        .cost_flops = fac->cost.flops,
        .cost_rejected = fac->cost.rejected,
        .raised = fac->raised,
        .effort = fac->effort,
        .size = fac->size,
        .vectors = known->count,
        .weak = known->weak,
        .zeros = known->zeros,
        .undecided = known->undecided,
        .core = known->core,
        .tried = known->tried,
        .known_raised = known->raised,
        .like = known->like != NULL,
        .shown = known->shown,
        .far = known->far,
        .measures = known->measures,
        .rests = {REST_OF(second), REST_OF(moved), REST_OF(apart), REST_OF(sound), REST_OF(firm)},
        .own_nonzeros = fac->own ? fac->own_nonzeros : 0,
        .matched_for = fac->matched_for,
        .measured = mpki_measured(fac) ? fac->measured->count : 0,
        .certified = found->certified,
        .tests = found->vectors,
        .contraction = found->contraction,
        .miss_bound = found->miss_bound,
        .skew = skew ? skew->count : -1,
        .rough = skew ? skew->rough : 0,
        .apart = skew ? skew->apart : 0};
    for (int k = 0; k < known->weak; k++) s.weak_at[k] = known->weak_at[k];
    return s;
}

/* The same of its info; what is not here is known otherwise, or of the process that has it. */
typedef struct told {
    int64_t positive, negative, zero, nnz, peak_bytes, rejected, stages, two_by_two, perturbed;
    int64_t max_front, rank, again, unfit;
    double flops, growth, min_pivot, rank_bound;
} told;

static told told_by(const mpk_factor_info *i) {
    return (told){.positive = i->inertia.positive,
                  .negative = i->inertia.negative,
                  .zero = i->inertia.zero,
                  .nnz = i->nnz,
                  .peak_bytes = i->peak_bytes,
                  .rejected = i->rejected,
                  .stages = i->stages,
                  .two_by_two = i->two_by_two,
                  .perturbed = i->perturbed,
                  .max_front = i->max_front,
                  .rank = i->rank,
                  .again = i->again,
                  .unfit = i->unfit,
                  .flops = i->flops,
                  .growth = i->growth,
                  .min_pivot = i->min_pivot,
                  .rank_bound = i->rank_bound};
}

/* ---- to a file ------------------------------------------------------------------------------- */

static mpk_status savable(mpk_context *ctx, const mpk_factor *fac) {
    const char *why = NULL;
    mpk_status status = mpki_factor_usable(ctx, SAVE, fac);
    if (!mpk_failed(status)) status = mpki_analysis_savable(ctx, SAVE, fac->base);
    if (mpk_failed(status)) return status;
    if (fac->form != &mpki_direct_form)
        why = "only factors by the direct method are saved; of other methods the analysis is, and "
              "they factorize anew";
    else if (fac->low_rank > 0)
        why = "a factor in low rank is not saved: factorize with low_rank_tolerance = 0 to save it";
    else if (!fac->engine->direct->save)
        why = "the factor lies on a device: factorize with device = cpu to save it";
    return why ? mpki_error(ctx, MPK_ERR_UNSUPPORTED, SAVE, -1, "%s", why) : MPK_OK;
}

static void put_values(mpki_archive *a, const mpk_factor *fac) {
    const mpki_skew *skew = mpki_skew_of(fac);
    const size_t size = mpk_scalar_size(fac->an->scalar);
    mpki_archive_put(a, fac->ax, fac->an->nnz, size);
    if (!skew) return;
    mpki_archive_put(a, skew->entry, skew->count, sizeof *skew->entry);
    mpki_archive_put(a, skew->column, skew->count, sizeof *skew->column);
    mpki_archive_put(a, skew->low, skew->count, size);
    mpki_archive_put(a, skew->high, skew->count, size);
}

mpk_status mpk_factor_save(mpk_context *ctx, const mpk_factor *fac, const char *path) {
    MPKI_CALM;
    mpki_archive a;
    mpki_saved saved;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!fac || !fac->valid || !path)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, SAVE, -1,
                          path ? "the factor holds no factorization" : "the path is NULL");
    mpk_status status = savable(ctx, fac);
    if (!mpk_failed(status)) status = mpki_saved_of(ctx, SAVE, fac->base, &saved);
    if (!mpk_failed(status)) status = mpki_archive_create(ctx, SAVE, path, &a);
    if (mpk_failed(status)) return status;
    const state now = state_of(fac);
    const told info = told_by(&fac->info);
    mpk_options options = fac->options;
    options.threads = 0;
    saved.factor = 1;
    mpki_archive_put(&a, &saved, 1, sizeof saved);
    mpki_analysis_put(&a, fac->base);
    mpki_archive_put(&a, &now, 1, sizeof now);
    mpki_archive_put(&a, &info, 1, sizeof info);
    mpki_archive_put_options(&a, &options);
    put_values(&a, fac);
    mpki_archive_put(&a, fac->scale, fac->an->n, sizeof *fac->scale);
    mpki_archive_put(&a, fac->known.vector, fac->known.count * (int64_t)fac->an->n,
                     mpk_scalar_size(fac->an->scalar));
    if (now.like)
        mpki_archive_put(&a, fac->known.like, fac->an->n, mpk_scalar_size(fac->an->scalar));
    if (now.measured) mpki_measured_put(&a, fac);
    if (fac->own) mpki_analysis_put(&a, fac->own);
    fac->engine->direct->save(fac->direct, &a);
    return mpki_archive_finish(&a);
}

/* ---- from a file ----------------------------------------------------------------------------- */

static bool flag(int64_t x) {
    return x == 0 || x == 1;
}

static bool check_state(mpki_archive *a, const state *s, const mpk_analysis *an) {
    const bool wide = an->scalar == MPK_D || an->scalar == MPK_Z;
    if (!flag(s->own) || !flag(s->narrow) || (s->narrow && !wide) || !flag(s->rescaled) ||
        !flag(s->lowered) || !flag(s->examined) || !flag(s->regular) || !flag(s->undecided) ||
        !flag(s->certified) || s->matched < 0 || s->matched > 1000 || s->wide_for < 0 ||
        s->wide_for > 1000 || s->core < -1 || s->core > 1 || s->tried < 0 ||
        s->tried > UINT32_MAX || s->tests < 0 || s->tests > 1000)
        return mpki_archive_damaged(a, "what it knows");
    if (s->vectors < 0 || s->vectors > MPKI_WEAK_MOST || s->weak < 0 || s->weak > MPKI_WEAK_MOST ||
        s->zeros < -1 || s->zeros > an->n || s->broken != 0)
        return mpki_archive_damaged(a, "what it knows of the kernel");
    bool rest = flag(s->like) && flag(s->shown) && flag(s->far) && flag(s->measures) &&
                s->matched_for >= 0 && s->matched_for <= 1000 && s->measured >= 0 &&
                s->measured <= MPKI_WEAK_MOST;
    for (int k = 0; k < MPKI_KNOWN_MOST; k++)
        rest = rest && s->weak_at[k] >= 0 && s->weak_at[k] <= an->n;
    for (int k = 0; k < RESTS; k++)
        for (int i = 0; i < 2; i++) rest = rest && s->rests[k][i] >= 0 && s->rests[k][i] <= 1000;
    if (!rest) return mpki_archive_damaged(a, "what it has looked for");
    if (!(s->size > 0 && isfinite(s->size)) || !(s->patience >= 1) || isnan(s->effort) ||
        !(s->raised >= 0 && s->known_raised >= 0) || !(s->cost_flops >= 0) || s->cost_rejected < 0)
        return mpki_archive_damaged(a, "its bounds");
    if (s->skew < -1 || s->skew > an->nnz || s->rough < 0)
        return mpki_archive_damaged(a, "what its triangles differ by");
    return true;
}

static bool check_told(mpki_archive *a, const told *t, const mpk_analysis *an) {
    const bool counted =
        an->symmetry == MPK_HERMITIAN || an->scalar == MPK_S || an->scalar == MPK_D;
    const int64_t n = an->n, *const counts[] = {&t->positive, &t->negative, &t->zero,
                                                &t->two_by_two, &t->perturbed};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        if (*counts[k] < 0 || *counts[k] > n) return mpki_archive_damaged(a, "its inertia");
    if (counted ? t->positive + t->negative + t->zero != n : t->positive || t->negative)
        return mpki_archive_damaged(a, "its inertia");
    if (t->rank < 0 || t->rank > MPK_RANK_UNDECIDED || t->unfit < 0 ||
        t->unfit > MPK_UNFIT_BEFORE || !flag(t->again) || t->stages < 0 || t->stages > INT32_MAX ||
        t->rejected < 0 || t->peak_bytes < 0)
        return mpki_archive_damaged(a, "what it tells of itself");
    return true;
}

static mpki_rest rest_from(const int64_t *saved) {
    return (mpki_rest){(int)saved[0], (int)saved[1]};
}

static void take_state(mpk_factor *fac, const state *s) {
    fac->narrow = s->narrow;
    fac->rescaled = s->rescaled;
    fac->lowered = s->lowered;
    fac->matched = (int)s->matched;
    fac->wide_for = (int)s->wide_for;
    fac->own_of = s->own_of;
    fac->patience = s->patience;
    fac->raised = s->raised;
    fac->effort = s->effort;
    fac->size = s->size;
    fac->known = (mpki_rank_memory){.vector = fac->known.vector,
                                    .count = (int)s->vectors,
                                    .weak = (int)s->weak,
                                    .zeros = s->zeros,
                                    .undecided = s->undecided,
                                    .core = (int)s->core,
                                    .tried = (unsigned)s->tried,
                                    .raised = s->known_raised,
                                    .like = fac->known.like,
                                    .shown = s->shown,
                                    .far = s->far,
                                    .measures = s->measures,
                                    .second = rest_from(s->rests[0]),
                                    .moved = rest_from(s->rests[1]),
                                    .apart = rest_from(s->rests[2]),
                                    .sound = rest_from(s->rests[3]),
                                    .firm = rest_from(s->rests[4])};
    for (int k = 0; k < MPKI_KNOWN_MOST; k++) fac->known.weak_at[k] = (int32_t)s->weak_at[k];
    fac->own_nonzeros = s->own_nonzeros;
    fac->matched_for = (int)s->matched_for;
    fac->regular = s->regular;
    fac->certificate =
        (mpk_certificate){(int)s->certified, (int)s->tests, s->contraction, s->miss_bound};
    atomic_store_explicit(&fac->examined, s->examined, memory_order_release);
}

static void take_info(mpk_factor *fac, const told *t) {
    fac->info = (mpk_factor_info){
        .inertia = {.positive = t->positive, .negative = t->negative, .zero = t->zero},
        .nnz = t->nnz,
        .flops = t->flops,
        .bytes = fac->form->bytes(fac),
        .peak_bytes = t->peak_bytes,
        .rejected = t->rejected,
        .stages = (int32_t)t->stages,
        .two_by_two = t->two_by_two,
        .perturbed = t->perturbed,
        .growth = t->growth,
        .min_pivot = t->min_pivot,
        .max_front = (int32_t)t->max_front,
        .threads = mpki_factor_threads(fac),
        .rank = (mpk_rank)t->rank,
        .rank_bound = t->rank_bound,
        .again = (int)t->again,
        .asymmetry = mpki_asymmetry_of(mpki_skew_of(fac)),
        .low_rank_nnz = t->nnz,
        .low_rank_flops = t->flops,
        .precision = fac->narrow ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE,
        .unfit = (mpk_unfit)t->unfit,
        .redone = 1};
}

static bool get_skew(mpki_archive *a, const state *s, mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    if (s->skew < 0) return true;
    mpki_skew *skew = fac->values->skew = MPKI_ZNEW(fac->ctx, LOAD, 1, mpki_skew);
    if (!skew) {
        a->status = mpki_failed(fac->ctx);
        return false;
    }
    skew->count = skew->capacity = s->skew;
    skew->rough = s->rough;
    skew->apart = s->apart;
    skew->entry = mpki_archive_array(a, s->skew, sizeof *skew->entry);
    skew->column = mpki_archive_array(a, s->skew, sizeof *skew->column);
    skew->low = mpki_archive_array(a, s->skew, size);
    skew->high = mpki_archive_array(a, s->skew, size);
    if (mpk_failed(a->status)) return false;
    for (int64_t k = 0; k < s->skew; k++) {
        const int32_t j = skew->column[k];
        if (j < 0 || j >= an->n || skew->entry[k] < an->ap[j] || skew->entry[k] >= an->ap[j + 1])
            return mpki_archive_damaged(a, "what its triangles differ by");
    }
    if (mpki_first_nonfinite(an->scalar, s->skew, skew->low) >= 0 ||
        mpki_first_nonfinite(an->scalar, s->skew, skew->high) >= 0)
        return mpki_archive_damaged(a, "a value is not finite");
    return true;
}

static bool get_values(mpki_archive *a, const state *s, mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    void *ax = mpki_archive_array(a, an->nnz, mpk_scalar_size(an->scalar));
    if (!ax) return false;
    fac->values =
        mpki_values_take(fac->ctx, LOAD, an->nnz * (int64_t)mpk_scalar_size(an->scalar), ax);
    if (!fac->values) {
        mpki_release(fac->ctx, ax);
        a->status = mpki_failed(fac->ctx);
        return false;
    }
    fac->ax = ax;
    if (mpki_first_nonfinite(an->scalar, an->nnz, ax) >= 0)
        return mpki_archive_damaged(a, "a value is not finite");
    if (!get_skew(a, s, fac)) return false;
    mpki_factor_norms(fac, 1);
    if (!mpki_archive_get(a, fac->scale, an->n, sizeof *fac->scale)) return false;
    for (int32_t i = 0; i < an->n; i++)
        if (!(fac->scale[i] > 0 && isfinite(fac->scale[i])))
            return mpki_archive_damaged(a, "the scaling");
    return true;
}

/* The analysis that the factor made for itself. */
static bool get_own(mpki_archive *a, mpk_factor *fac) {
    const mpk_analysis *an = fac->base;
    const mpk_problem problem = {.ctx = fac->ctx,
                                 .scalar = an->scalar,
                                 .symmetry = an->symmetry,
                                 .layout = an->layout,
                                 .n = an->n,
                                 .nnz = an->nnz,
                                 .ap = an->ap,
                                 .ai = an->ai,
                                 .ax = fac->ax};
    if (mpk_failed(mpki_analysis_get(a, &problem, fac->options.threads, &fac->own))) return false;
    if (fac->own->block) return mpki_archive_damaged(a, "its method");
    fac->an = fac->own;
    return true;
}

/* Zero pivots, as the numbers have them. */
static bool check_zeros(mpki_archive *a, const mpk_factor *fac, int64_t told) {
    const int32_t n = fac->an->n;
    const mpk_scalar scalar = mpki_factor_scalar(fac->narrow, fac->an);
    const size_t size = mpk_scalar_size(scalar);
    const char none[16] = {0};
    char *y = mpki_alloc(fac->ctx, LOAD, n, size);
    int64_t zeros = 0;
    if (!y) {
        a->status = mpki_failed(fac->ctx);
        return false;
    }
    fac->engine->direct->at_zeros(fac->direct, y);
    for (int32_t i = 0; i < n; i++) zeros += memcmp(y + (size_t)i * size, none, size) != 0;
    mpki_release(fac->ctx, y);
    return zeros == told || mpki_archive_damaged(a, "its zero pivots");
}

static bool get_numbers(mpki_archive *a, mpk_factor *fac) {
    state s;
    told t;
    const mpk_analysis *an = fac->base;
    if (!mpki_archive_get(a, &s, 1, sizeof s) || !mpki_archive_get(a, &t, 1, sizeof t) ||
        !check_state(a, &s, an) || !check_told(a, &t, an) ||
        !mpki_archive_get_options(a, &fac->options))
        return false;
    fac->options.threads = mpki_saved_threads(s.threads);
    if (!get_values(a, &s, fac)) return false;
    if (s.vectors) {
        fac->known.vector = mpki_archive_array(a, s.vectors * an->n, mpk_scalar_size(an->scalar));
        if (!fac->known.vector) return false;
    }
    if (s.like) {
        fac->known.like = mpki_archive_array(a, an->n, mpk_scalar_size(an->scalar));
        if (!fac->known.like) return false;
    }
    take_state(fac, &s);
    if (s.measured && !mpki_measured_get(a, fac, (int)s.measured)) return false;
    if (s.own && !get_own(a, fac)) return false;
    mpk_status status = mpki_direct_replace(fac, fac->an);
    if (!mpk_failed(status) && fac->narrow && !mpki_narrow_ones(fac))
        status = mpki_failed(fac->ctx);
    if (!mpk_failed(status))
        status = fac->engine->direct->load(fac->direct, a, fac->narrow ? fac->ones : fac->scale,
                                           fac->size, fac->options.threads);
    if (mpk_failed(status)) {
        a->status = status;
        return false;
    }
    fac->known.core = (int)s.core; /* which new numbers would have to find anew */
    fac->cost = (mpki_stop){s.cost_flops, s.cost_rejected};
    take_info(fac, &t);
    if (!check_zeros(a, fac, t.zero)) return false;
    return !s.measured || mpki_measured_found(fac) ||
           mpki_archive_damaged(a, "its measured pivots");
}

mpk_status mpk_factor_load(mpk_context *ctx, const mpk_analysis *an, const char *path,
                           mpk_factor **out) {
    MPKI_CALM;
    mpki_archive a;
    mpki_saved saved, own;
    mpk_factor *fac = NULL;
    mpk_options here;
    const double start = mpki_now_s();
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!an || !path || !out || *out)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, LOAD, -1,
                          "analysis and path must not be NULL, and *fac must be");
    mpk_status status = mpki_analysis_savable(ctx, LOAD, an);
    if (!mpk_failed(status)) status = mpki_saved_of(ctx, LOAD, an, &own);
    if (!mpk_failed(status)) status = mpki_archive_open(ctx, LOAD, path, &a);
    if (mpk_failed(status)) return status;
    if (mpki_archive_get(&a, &saved, 1, sizeof saved)) {
        const bool other = saved.bytes != own.bytes || saved.sum != own.sum;
        if (saved.factor != 1 || other)
            a.status = mpki_error(
                ctx, MPK_ERR_ARGUMENT, LOAD, -1, "%.300s: the file holds %s", path,
                saved.factor != 1 ? "an analysis, and no factor" : "a factor of another analysis");
    }
    mpki_archive_skip(&a, own.bytes);
    mpk_options_init(&here);
    here.device = MPK_ON_CPU;
    if (!mpk_failed(a.status)) fac = mpki_factor_new(ctx, LOAD, an, &here);
    if (mpk_failed(mpki_failed(ctx)) && !mpk_failed(a.status)) a.status = mpki_failed(ctx);
    if (fac && !mpk_failed(a.status)) {
        if (fac->form == &mpki_direct_form && fac->engine->direct->load)
            get_numbers(&a, fac);
        else
            a.status = mpki_error(ctx, MPK_ERR_UNSUPPORTED, LOAD, -1,
                                  "%.300s: a factor is loaded for the direct method, on the "
                                  "processor",
                                  path);
    }
    status = mpki_archive_finish(&a);
    if (mpk_failed(status)) {
        mpk_factor_destroy(&fac);
        return status;
    }
    fac->valid = true;
    fac->info.time_s = mpki_now_s() - start;
    *out = fac;
    return mpki_direct_outcome(fac);
}
