/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs on a factor of any form: take the values, let the form work, answer what may be asked
 * of it. */
#include "../core/floats.h"
#include "../engines/interface/device.h"
#include "../problem/given.h"
#include "factor.h"
#include "given.h"
#include "lend.h"

#include <string.h>

static const char STAGE[] = "factorize";

/* ---- values ---------------------------------------------------------------------------------- */

/* Puts a caller's values into our order; one for each order that they may come in. */
typedef mpk_status take_fn(mpk_context *ctx, const char *stage, const mpki_layout *layout,
                           mpk_scalar scalar, mpk_symmetry symmetry, const void *values, void *ax,
                           mpki_skew **skew);

/* May these values be in the memory of the factor's device alone? Where they come from the host, it
 * copies them there. */
static mpk_status leave_values(mpk_factor *fac, const mpk_options *options, const void *ax,
                               take_fn *take, bool *left) {
    mpk_status status = MPK_OK;
    *left = false;
    if (!ax || !fac->form->take || !fac->direct) return MPK_OK;
    status = fac->form->take(fac, options, ax, take == mpki_given_copy, left);
    if (!mpk_failed(status) && !*left) mpki_clear_error(fac->ctx); /* no memory for it */
    if (*left) {
        mpki_values_release(&fac->values);
        fac->ax = NULL;
        fac->away = true;
    }
    return status;
}

/* Where values come from. */
typedef struct source {
    const void *ax; /* the caller's array; NULL: those of a problem, which are shared */
    take_fn *take;
    mpki_values *values; /* of that problem; NULL: of the one that was analysed */
} source;

/* Of an interior: all values of A, which are split. */
static mpk_status take_split(mpk_factor *fac, const mpk_options *options, const source *from) {
    const mpk_analysis *base = fac->base;
    const mpki_split *split = base->split;
    mpk_context *ctx = fac->ctx;
    const void *ax = from->ax == split->values->ax ? NULL : from->ax;
    const bool fresh = ax || (from->values && from->values != split->values);
    mpki_values *whole = ax ? mpki_values_new(ctx, STAGE, split->values->bytes) : NULL;
    mpki_values *values = fresh ? mpki_values_new(ctx, STAGE, base->values->bytes)
                                : mpki_values_share(ctx, STAGE, base->scalar, base->values);
    const mpki_values *all = ax ? whole : from->values ? from->values : split->values;
    mpk_status status = values && all ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status) && ax)
        status = from->take(ctx, STAGE, split->layout, base->scalar, base->symmetry, ax, whole->ax,
                            &whole->skew);
    if (!mpk_failed(status) && fresh) mpki_split_values(split, base->scalar, all->ax, values->ax);
    if (!mpk_failed(status)) {
        mpki_values_release(&fac->values);
        fac->values = values;
        fac->ax = values->ax;
        fac->asymmetry = mpki_asymmetry_of(all->skew);
        mpki_factor_norms(fac, options->threads);
        values = NULL;
    }
    mpki_values_release(&values);
    mpki_values_release(&whole);
    return status;
}

/* The values to be factorized, into fac. The array of the problem's view is recognised by its
 * address, whatever the order. */
static mpk_status take_values(mpk_factor *fac, const mpk_options *options, const source *from) {
    const mpk_analysis *base = fac->base;
    mpk_context *ctx = fac->ctx;
    void *lent = NULL; /* a copy of values in a device's memory */
    bool left = false;
    if (base->split) return take_split(fac, options, from);
    const void *ax = from->ax == base->values->ax ? NULL : from->ax;
    if (mpk_failed(leave_values(fac, options, ax, from->take, &left)) || left)
        return mpki_failed(ctx);
    const bool there = mpki_is_there(ctx, fac->engine, ax);
    const bool in_place = there && (from->take == mpki_given_copy || !base->layout->place);
    if (there && !in_place) {
        const int64_t bytes = base->layout->given * (int64_t)mpk_scalar_size(base->scalar);
        ax = lent = mpki_fetch(ctx, fac->engine, STAGE, ax, bytes, bytes, 1);
        if (!lent) return mpki_failed(ctx);
    }
    mpki_values *values = ax ? mpki_values_new(ctx, STAGE, base->values->bytes)
                             : mpki_values_share(ctx, STAGE, base->scalar,
                                                 from->values ? from->values : base->values);
    mpk_status status = values ? MPK_OK : mpki_failed(ctx);
    if (values && in_place) { /* in the stored order: no copy between */
        const int64_t bytes = base->nnz * (int64_t)mpk_scalar_size(base->scalar);
        status = fac->engine->copy(ctx, values->ax, bytes, ax, bytes, bytes, 1, false);
        ax = values->ax;
    }
    if (!mpk_failed(status) && ax)
        status = from->take(ctx, STAGE, base->layout, base->scalar, base->symmetry, ax, values->ax,
                            &values->skew);
    mpki_release(ctx, lent);
    if (mpk_failed(status)) {
        mpki_values_release(&values);
        return status;
    }
    mpki_values_release(&fac->values);
    fac->values = values;
    fac->ax = values->ax;
    fac->away = false;
    if (!mpki_computes_there(fac))
        mpki_factor_norms(fac, options->threads); /* else with the form's copy of A */
    return MPK_OK;
}

/* What changed entries will be counted by. */
static mpk_status keep_given(mpk_factor *fac, const source *from) {
    const mpki_split *split = fac->base->split;
    const mpki_values *known = split ? split->values : fac->base->values;
    const bool own = from->ax == known->ax || mpki_is_there(fac->ctx, fac->engine, from->ax);
    const mpki_values *whole = !split ? NULL : from->values ? from->values : split->values;
    return mpki_given_keep(fac, own ? NULL : from->ax, from->take == mpki_given_copy, whole);
}

/* ---- the verbs ------------------------------------------------------------------------------- */

/* The form does the work; here is what precedes and follows it for all forms. */
static mpk_status factorize(mpk_factor *fac, const source *from, const mpk_options *options,
                            bool is_new) {
    mpk_context *ctx = fac->ctx;
    double start_s = mpki_now_s();
    mpk_options full;
    mpk_status status = mpki_options_resolve(ctx, options, &full);
    if (mpk_failed(status)) return status;
    int64_t before, peak;
    mpk_memory_usage(ctx, &before, NULL);
    before -= fac->form->bytes(fac); /* the factor's own memory is counted */
    before -= mpki_kept_basis_bytes(fac);
    mpk_memory_reset_peak(ctx);
    fac->forks = mpki_forks();
    fac->at_work = true;
    status = take_values(fac, &full, from);
    if (!mpk_failed(status)) {
        fac->examined = false;
        mpki_kept_basis_drop(fac);
        fac->options = full;
        status = keep_given(fac, from);
    }
    if (!mpk_failed(status)) {
        fac->valid = false; /* after a failure old numbers must not pass for new ones */
        status = fac->form->factorize(fac, is_new);
    }
    fac->at_work = false;
    /* values that are refused leave it as it was; else old numbers must not pass for new ones */
    if (mpk_failed(status) && status != MPK_ERR_INPUT && status != MPK_ERR_ARGUMENT)
        fac->valid = false;
    if (mpk_failed(status)) return status;
    fac->valid = true;
    fac->made++;
    mpk_memory_usage(ctx, NULL, &peak);
    fac->info.peak_bytes = peak - before;
    fac->info.asymmetry = fac->base->split ? fac->asymmetry : mpki_asymmetry_of(mpki_skew_of(fac));
    fac->info.time_s = mpki_now_s() - start_s;
    mpki_progress(ctx, STAGE, 1);
    return status;
}

static mpk_status refactorize(mpk_context *ctx, const source *from, const mpk_options *options,
                              mpk_factor *fac) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!fac) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor is NULL");
    if (fac->ctx != ctx)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the factor was made with another context");
    if (mpk_failed(mpki_factor_usable(ctx, STAGE, fac))) return mpki_failed(ctx);
    return factorize(fac, from, options, false);
}

mpk_factor *mpki_factor_new(mpk_context *ctx, const char *stage, const mpk_analysis *an,
                            const mpk_options *options) {
    mpk_factor *fac = MPKI_ZNEW(ctx, stage, 1, mpk_factor);
    if (!fac) return NULL;
    fac->ctx = ctx;
    fac->form = mpki_form_of(an);
    fac->engine = mpki_engine_of(ctx, an, options);
    fac->forks = mpki_forks();
    fac->base = fac->an = an;
    fac->patience = 1;
    fac->known.zeros = -1;
    mpki_lock_init(&fac->bringing);
    fac->scale = MPKI_NEW(ctx, stage, mpki_scales(an) + mpki_split_rows(an->split), double);
    fac->row_norm = MPKI_NEW(ctx, stage, an->n, double);
    return fac;
}

static mpk_status create(mpk_context *ctx, const mpk_analysis *an, const source *from,
                         const mpk_options *options, mpk_factor **out) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!an || !out)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "analysis and factor must not be NULL");
    if (*out && (*out)->base != an)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the factor belongs to another analysis");
    if (*out) return refactorize(ctx, from, options, *out);
    mpk_factor *fac = mpki_factor_new(ctx, STAGE, an, options);
    if (!fac) return mpki_failed(ctx);
    if (fac->engine && fac->engine->memory == MPK_HOST) mpki_device_forget(ctx, an->perm);
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = factorize(fac, from, options, true);
    if (mpk_failed(status)) mpk_factor_destroy(&fac);
    *out = fac;
    return status;
}

mpk_status mpk_factorize(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                         const mpk_options *options, mpk_factor **fac) {
    MPKI_CALM;
    const source from = {ax, mpki_given_gather, NULL};
    return create(ctx, an, &from, options, fac);
}

mpk_status mpk_factorize_lower(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                               const mpk_options *options, mpk_factor **fac) {
    MPKI_CALM;
    const source from = {ax, mpki_given_copy, NULL};
    return create(ctx, an, &from, options, fac);
}

/* Has the problem the pattern that was analysed, and entries of that kind? */
static bool fits(const mpk_analysis *an, const mpk_problem *p) {
    const mpki_layout *layout = an->split ? an->split->layout : an->layout;
    if (p->n != layout->n || p->nnz != layout->nnz || p->scalar != an->scalar ||
        p->symmetry != an->symmetry || !p->values)
        return false;
    if (p->layout == layout || p->n == 0) return true;
    return !memcmp(p->ap, layout->ap, ((size_t)p->n + 1) * sizeof *p->ap) &&
           (p->nnz == 0 || !memcmp(p->ai, layout->ai, (size_t)p->nnz * sizeof *p->ai));
}

mpk_status mpk_factorize_problem(mpk_context *ctx, const mpk_analysis *an,
                                 const mpk_problem *problem, const mpk_options *options,
                                 mpk_factor **fac) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!an || !problem)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "analysis and problem must not be NULL");
    if (!fits(an, problem))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the problem has another pattern, scalar or symmetry than the one that "
                          "was analysed");
    const source from = {NULL, mpki_given_copy, problem->values};
    return create(ctx, an, &from, options, fac);
}

mpk_status mpk_refactorize(mpk_context *ctx, const void *ax, const mpk_options *options,
                           mpk_factor *fac) {
    MPKI_CALM;
    const source from = {ax, mpki_given_gather, NULL};
    return refactorize(ctx, &from, options, fac);
}

mpk_status mpki_refactorize_given(mpk_context *ctx, const void *ax, bool lower,
                                  const mpk_options *options, mpk_factor *fac) {
    const source from = {ax, lower ? mpki_given_copy : mpki_given_gather, NULL};
    return refactorize(ctx, &from, options, fac);
}

const char *mpk_factor_engine(const mpk_factor *fac) {
    return fac ? fac->engine->name(fac->ctx) : "";
}

void mpk_factor_info_get(const mpk_factor *fac, mpk_factor_info *info) {
    if (!info) return;
    *info = fac && fac->valid ? fac->info : (mpk_factor_info){0};
    if (fac && fac->valid) {
        info->bytes += mpki_kept_basis_bytes(fac);
        if (fac->form->beside) info->bytes += fac->form->beside(fac);
    }
    if (!fac || !fac->valid || !atomic_load_explicit(&fac->examined, memory_order_acquire)) return;
    info->inertia.examined = 1;
    info->inertia.certified = fac->certificate.certified;
}

/* ---- what a caller may ask of the factor ----------------------------------------------------- */

size_t mpk_get_size(const mpk_factor *fac, mpk_quantity what) {
    if (!fac) return 0;
    size_t n = (size_t)fac->an->n;
    switch (what) {
    case MPK_GET_INERTIA:
        return 3 * sizeof(int64_t);
    case MPK_GET_PERM:
        return n * sizeof(int32_t);
    case MPK_GET_SCALE:
        return (size_t)mpki_scales(fac->an) * sizeof(double);
    case MPK_GET_D:
        return 2 * n * mpk_scalar_size(fac->an->scalar);
    case MPK_GET_LOGDET:
        return 3 * sizeof(double);
    }
    return 0;
}

mpk_status mpk_get(mpk_context *ctx, const mpk_factor *fac, mpk_quantity what, void *out,
                   size_t bytes) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!fac || !fac->valid || !out)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", -1, "the factor holds no factorization");
    if (mpk_failed(mpki_factor_usable(ctx, "get", fac))) return mpki_failed(ctx);
    if ((unsigned)what > MPK_GET_LOGDET)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", what, "there is no quantity %d", (int)what);
    size_t need = mpk_get_size(fac, what);
    if (bytes < need)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "get", (int64_t)bytes,
                          "%zu bytes given, %zu needed", bytes, need);
    const bool general = fac->an->symmetry == MPK_GENERAL;
    if (general && what == MPK_GET_INERTIA)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "get", what,
                          "a matrix that is not symmetric has no inertia");
    if (general && what != MPK_GET_SCALE && !fac->form->get)
        return mpki_error(
            ctx, MPK_ERR_UNSUPPORTED, "get", what,
            "the factor on blocks of a matrix that is not symmetric gives its scaling "
            "only");
    if (what == MPK_GET_INERTIA) {
        int64_t *counts = out;
        counts[0] = fac->info.inertia.positive;
        counts[1] = fac->info.inertia.negative;
        counts[2] = fac->info.inertia.zero;
        return MPK_OK;
    }
    if (what == MPK_GET_SCALE) {
        if (mpk_failed(mpki_factor_bring(ctx, fac))) return mpki_failed(ctx);
        memcpy(out, fac->scale, need);
        return MPK_OK;
    }
    if (!fac->form->get)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "get", what,
                          "a factor on blocks gives its inertia and scaling only");
    const mpk_status status = fac->form->get(fac, what, out);
    if (what == MPK_GET_PERM && fac->an->split && !mpk_failed(status))
        for (int32_t k = 0; k < fac->an->n; k++)
            ((int32_t *)out)[k] = fac->an->split->interior[((int32_t *)out)[k]];
    return status;
}

void mpk_factor_block_info_get(const mpk_factor *fac, mpk_block_info *info) {
    const mpk_block_info *of =
        fac && fac->valid && fac->form->block_info ? fac->form->block_info(fac) : NULL;
    if (info) *info = of ? *of : (mpk_block_info){0};
}
