/* SPDX-License-Identifier: BSD-3-Clause */
/* The template of a batch: pivots in the order, and in the pairs, that the analysed values'
 * factorization chose, on a tree whose fronts are merged by what packs cost. */
#include "../analysis/symbolic/symbolic.h"
#include "../factor/direct_numbers.h"
#include "object.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "systems";

/* Packs have no overhead for each front that many zeros would be worth: bench/results/systems.md. */
static const mpki_relax RELAX = {
    .equal = true, .few = 8, .few_width = 8, .width = {4, 8, 16}, .share = {0.30, 0.20, 0.10}};

/* Rows of a front above which one system at a time is as fast (nlpkkt 14, 686 rows: 0.9 of it). */
enum { FRONT_MOST = 700 };

/* Work, times that without columns that come late, up to which these are waited for. */
static const double LATE_WORK = 1.5;

void mpki_template_free(mpk_context *ctx, mpki_template **out) {
    mpki_template *t = *out;
    if (!t) return;
    mpk_analysis_destroy(&t->an);
    mpk_analysis_destroy(&t->source);
    mpki_release(ctx, t->l);
    mpki_release(ctx, t->c);
    mpki_release(ctx, t->entry);
    mpki_release(ctx, t->pair);
    mpki_release(ctx, t);
    *out = NULL;
}

/* Why these options and this analysis have none; NULL: they may. */
static const char *unfit(const mpk_analysis *an, const mpk_options *o) {
    if (an->n == 0) return "there is nothing to factorize";
    if (an->symmetry == MPK_GENERAL) return "the matrix is not symmetric";
    if (o->scaling == MPK_OFF) return "scaling is off";
    if (o->static_shift > 0) return "static_shift is set";
    if (o->precision == MPK_PRECISION_SINGLE) return "precision is single";
    if (o->low_rank_tolerance > 0) return "low_rank_tolerance is set";
    if (o->condition == MPK_ON) return "the condition is asked for";
    if (o->krylov != MPK_KRYLOV_AUTO && o->krylov != MPK_KRYLOV_NONE)
        return "an iterative method is asked for";
    if (mpki_core_is_part(&an->core) ||
        (an->info.structural_rank >= 0 && an->info.structural_rank < an->n))
        return "the analysed matrix is structurally singular";
    return NULL;
}

/* The pivots of the analysed values: their order, and the partner of each, problem order. */
static mpk_status find_pivots(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                              int32_t *perm, int32_t *mate, const char **reason) {
    const size_t size = mpk_scalar_size(an->scalar);
    mpk_factor *fac = NULL;
    mpk_status status = mpk_factorize(ctx, an, NULL, options, &fac);
    char *d = NULL;
    if (status == MPK_ERR_NUMERIC || status > 0 || (fac && fac->info.inertia.zero > 0)) {
        *reason = "the analysed values are singular, or overflow";
        mpki_clear_error(ctx);
        status = MPK_OK;
        goto done;
    }
    if (mpk_failed(status)) goto done;
    d = mpki_alloc(ctx, STAGE, 2 * (int64_t)an->n, size);
    if (!d) {
        status = mpki_failed(ctx);
        goto done;
    }
    status = mpk_get(ctx, fac, MPK_GET_PERM, perm, (size_t)an->n * sizeof *perm);
    if (!mpk_failed(status)) status = mpk_get(ctx, fac, MPK_GET_D, d, 2 * (size_t)an->n * size);
    for (int32_t k = 0; !mpk_failed(status) && k < an->n; k++) {
        const char *below = d + (2 * (size_t)k + 1) * size;
        bool pair = false;
        for (size_t q = 0; q < size; q++) pair |= below[q] != 0;
        mate[perm[k]] = perm[k];
        if (!pair || k + 1 == an->n) continue;
        mate[perm[k]] = perm[k + 1], mate[perm[k + 1]] = perm[k];
        k++;
    }
done:
    mpki_release(ctx, d);
    mpk_factor_destroy(&fac);
    return status;
}

static mpk_status grow_tree(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                            const int32_t *perm, const int32_t *mate, mpk_analysis **out) {
    const mpk_problem problem = {.ctx = ctx,
                                 .scalar = an->scalar,
                                 .symmetry = an->symmetry,
                                 .layout = an->layout,
                                 .values = an->values,
                                 .n = an->n,
                                 .nnz = an->nnz,
                                 .ap = an->ap,
                                 .ai = an->ai};
    mpk_analysis *own = mpki_analysis_new(ctx, &problem, options);
    if (!own) return mpki_failed(ctx);
    for (int32_t k = 0; k < an->n; k++) own->perm[k] = perm[k];
    own->info.ordering = an->info.ordering;
    own->info.ordered_for = MPK_ON_CPU;
    mpk_status status = mpki_symbolic_relaxed(ctx, own, NULL, mate, &RELAX);
    if (!mpk_failed(status) && an->scale) {
        own->scale = MPKI_NEW(ctx, STAGE, an->n, double);
        if (!own->scale) status = mpki_failed(ctx);
        if (own->scale) memcpy(own->scale, an->scale, (size_t)an->n * sizeof *own->scale);
        own->info.scaling = an->info.scaling;
        own->scale_far = an->scale_far;
    }
    if (mpk_failed(status)) mpk_analysis_destroy(&own);
    *out = own;
    return status;
}

/* pair[k] by position. False: a pair is in two fronts. */
static bool mark_pairs(const mpk_analysis *own, const int32_t *mate, char *pair) {
    for (int32_t s = 0; s < own->nsuper; s++)
        for (int32_t k = own->sptr[s]; k < own->sptr[s + 1]; k++) {
            const int32_t i = own->perm[k];
            pair[k] = 0;
            if (mate[i] == i) continue;
            if (k + 1 == own->sptr[s + 1] || own->perm[k + 1] != mate[i]) return false;
            pair[k] = 1, pair[k + 1] = 2;
            k++;
        }
    return true;
}

/* Another tree and other pivots for t, in which columns that come late (late.c) find a front that is
 * high enough, unless there are none, or the work would be too much. */
static mpk_status wait_for_late(mpk_context *ctx, const mpk_analysis *an,
                                const mpk_options *options, int32_t *mate, mpki_template *t) {
    const int32_t n = an->n;
    int32_t *perm = MPKI_NEW(ctx, STAGE, 2 * (int64_t)n, int32_t), *own_mate = perm + n;
    char *pair = MPKI_NEW(ctx, STAGE, n, char);
    mpk_analysis *late = NULL, *own = NULL;
    mpk_options o = *options;
    const char *reason = NULL;
    bool some = false;
    o.matching = MPK_OFF; /* the order stays */
    mpk_status status = perm && pair ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) status = mpki_late_order(ctx, t->an, options, perm, &some);
    if (mpk_failed(status) || !some) goto done;
    for (int32_t i = 0; i < n; i++) own_mate[i] = i;
    status = grow_tree(ctx, an, options, perm, own_mate, &late);
    if (!mpk_failed(status)) status = find_pivots(ctx, late, &o, perm, own_mate, &reason);
    if (mpk_failed(status) || reason) goto done;
    status = grow_tree(ctx, an, options, perm, own_mate, &own);
    if (mpk_failed(status) || own->info.max_front > FRONT_MOST ||
        own->info.factor_flops > LATE_WORK * t->an->info.factor_flops ||
        !mark_pairs(own, own_mate, pair))
        goto done;
    mpk_analysis_destroy(&t->an);
    t->an = own, own = NULL;
    memcpy(mate, own_mate, (size_t)n * sizeof *mate);
done:
    mpki_release(ctx, perm);
    mpki_release(ctx, pair);
    mpk_analysis_destroy(&late);
    mpk_analysis_destroy(&own);
    return status;
}

/* Contributions lie in the first gap that holds them, from when their front is made until that of
 * the parent is. Returns how much room they need. */
static mpk_status place_contributions(mpk_context *ctx, const mpk_analysis *own, int64_t *c,
                                      int64_t *room) {
    int32_t *held = MPKI_NEW(ctx, STAGE, own->nsuper, int32_t); /* by their places */
    int32_t count = 0;
    if (!held) return mpki_failed(ctx);
    *room = 0;
    for (int32_t s = 0; s < own->nsuper; s++) {
        const int64_t m = own->rptr[s + 1] - own->rptr[s], size = m * (m + 1) / 2;
        int64_t end = 0;
        int32_t at = 0, left = 0;
        c[s] = 0;
        for (; size > 0 && at < count; at++) {
            const int64_t rows = own->rptr[held[at] + 1] - own->rptr[held[at]];
            if (c[held[at]] - end >= size) break;
            end = c[held[at]] + rows * (rows + 1) / 2;
        }
        if (size > 0) {
            for (int32_t k = count++; k > at; k--) held[k] = held[k - 1];
            held[at] = s, c[s] = end;
            if (end + size > *room) *room = end + size;
        }
        for (int32_t k = 0; k < count; k++)
            if (own->parent[held[k]] != s) held[left++] = held[k];
        count = left;
    }
    mpki_release(ctx, held);
    return MPK_OK;
}

static void place_entries(const mpk_analysis *own, const int64_t *l, mpki_lanes_entry *entry) {
    for (int32_t s = 0; s < own->nsuper; s++) {
        const int32_t first = own->sptr[s], w = own->sptr[s + 1] - first;
        const int32_t *ridx = own->ridx + own->rptr[s];
        const int64_t r = w + own->rptr[s + 1] - own->rptr[s];
        for (int64_t k = own->scatter_ptr[s]; k < own->scatter_ptr[s + 1]; k++) {
            const mpki_scatter entry_of = mpki_scatter_at(&own->scatter, k), *e = &entry_of;
            const int64_t row = e->row < 0 ? ~e->row : e->row, col = e->col;
            const int32_t place = row < w ? first + (int32_t)row : ridx[row - w];
            entry[k] = (mpki_lanes_entry){.from = e->src,
                                          .to = l[s] + row + col * (r - 1) - col * (col - 1) / 2,
                                          .i = own->perm[place],
                                          .j = own->perm[first + col],
                                          .conjugated = e->row < 0};
        }
    }
}

/* What lanes need to know beside the tree. */
static mpk_status fill(mpk_context *ctx, const mpk_analysis *an, const int32_t *mate,
                       mpki_template *t, const char **reason) {
    const mpk_analysis *own = t->an;
    mpki_lanes_plan *plan = &t->plan;
    t->l = MPKI_NEW(ctx, STAGE, (int64_t)own->nsuper + 1, int64_t);
    t->c = MPKI_NEW(ctx, STAGE, own->nsuper, int64_t);
    t->entry = MPKI_NEW(ctx, STAGE, own->scatter_ptr[own->nsuper], mpki_lanes_entry);
    t->pair = MPKI_NEW(ctx, STAGE, own->n, char);
    if (!t->l || !t->c || !t->entry || !t->pair) return mpki_failed(ctx);
    if (!mark_pairs(own, mate, t->pair)) {
        *reason = "a 2x2 pivot of the analysed values is in two fronts";
        return MPK_OK;
    }
    t->l[0] = 0;
    for (int32_t s = 0; s < own->nsuper; s++)
        t->l[s + 1] = t->l[s] + mpki_front_nnz(own->sptr[s + 1] - own->sptr[s],
                                               own->rptr[s + 1] - own->rptr[s]);
    place_entries(own, t->l, t->entry);
    *plan = (mpki_lanes_plan){.tree = mpki_tree_view_of(own),
                              .hermitian = own->symmetry == MPK_HERMITIAN,
                              .l = t->l,
                              .c = t->c,
                              .entry = t->entry,
                              .pair = t->pair,
                              .matched = an->scale,
                              .max_front = own->info.max_front};
    t->flops = own->info.factor_flops;
    return place_contributions(ctx, own, t->c, &plan->contributions);
}

mpk_status mpki_template_make(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                              mpki_template **out, const char **reason) {
    *out = NULL;
    *reason = unfit(an, options);
    if (*reason) return MPK_OK;
    mpki_template *t = MPKI_ZNEW(ctx, STAGE, 1, mpki_template);
    int32_t *perm = MPKI_NEW(ctx, STAGE, an->n, int32_t);
    int32_t *mate = MPKI_NEW(ctx, STAGE, an->n, int32_t);
    mpk_status status = t && perm && mate ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) status = find_pivots(ctx, an, options, perm, mate, reason);
    if (!mpk_failed(status) && !*reason) status = grow_tree(ctx, an, options, perm, mate, &t->an);
    if (!mpk_failed(status) && !*reason && t->an->info.max_front > FRONT_MOST)
        *reason = "its fronts are so large that one system at a time is faster";
    if (!mpk_failed(status) && !*reason) status = wait_for_late(ctx, an, options, mate, t);
    if (!mpk_failed(status) && !*reason) status = fill(ctx, an, mate, t, reason);
    mpki_release(ctx, perm);
    mpki_release(ctx, mate);
    if (mpk_failed(status) || *reason) mpki_template_free(ctx, &t);
    *out = t;
    if (!mpk_failed(status) && !*reason) *reason = "";
    return status;
}

mpki_lanes_rules mpki_systems_rules(const mpk_systems *s) {
    const mpk_options *o = &s->options;
    const mpk_scalar scalar = s->an->scalar;
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const double eps = single ? 0x1p-23 : 0x1p-52, unit = eps / 2 * sqrt((double)s->an->n + 1);
    const double bound = 1 / fmax(o->pivot_threshold, eps);
    /* Pivots that may be rounding are doubtful from a bound on that is wider than the single engine's,
     * and where L may have enlarged rounding to them: with these bounds no one of 2400 singular
     * matrices is told as regular that the engine finds singular (test_outcomes.c), of 80 000 up to
     * order 29 four. A certificate tells which doubtful ones stay with the template. */
    const double wider = single ? 1e3 : 2e4, margin = 1024;
    /* What threshold pivoting keeps small is |L| |D| |L|^T, by |L| <= 1/u; that is measured here
     * itself, and may be 1/100 eps^(-1/3) times as large: what a step of refinement mends. */
    return (mpki_lanes_rules){
        .stress = 0.01 * pow(eps, -1.0 / 3) * bound,
        .rounding = margin * unit,
        .noise = wider * unit,
        .small = o->zero_tolerance >= 0 ? o->zero_tolerance : mpki_default_zero_tolerance(scalar)};
}
