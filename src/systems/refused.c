/* SPDX-License-Identifier: BSD-3-Clause */
/* Which number a system was refused for: looked for once more where that befell one. */
#include "../core/floats.h"
#include "../problem/given.h"
#include "object.h"

static const char STAGE[] = "systems";

/* rows x cols of system b of an array, one column behind the other. NULL, recorded: no room, or a
 * device's failure. */
static char *fetch(const mpk_systems *s, const mpk_batch_array *from, int64_t b, int64_t rows,
                   int64_t cols) {
    const size_t size = mpk_scalar_size(s->an->scalar);
    char *own = mpki_alloc(s->ctx, STAGE, rows * cols, size);
    if (!own) return NULL;
    if (from->memory == MPK_DEVICE) {
        if (mpk_failed(s->engine->move(s->ctx, s->an->scalar, from, b, rows, cols, own, false)))
            mpki_release(s->ctx, own), own = NULL;
        return own;
    }
    const mpki_strand strand = mpki_strand_of(from, b, size);
    for (int64_t j = 0; j < cols; j++) {
        mpki_strand column = strand;
        column.p += j * (int64_t)from->ld * strand.step * (int64_t)size;
        mpki_strand_copy(size, rows, column, (mpki_strand){own + j * rows * (int64_t)size, 1});
    }
    return own;
}

static mpk_status look(mpki_systems_job *job, int64_t b) {
    const mpk_systems *s = job->s;
    const mpk_analysis *an = s->an;
    mpk_systems_refusal *r = &s->said[b].refusal;
    if (s->slot[b].status == MPK_ERR_INPUT && !job->ax) { /* by an earlier call */
        *r = s->slot[b].refusal;
        return MPK_OK;
    }
    if (job->ax) {
        char *given = fetch(s, job->ax, b, an->layout->given, 1);
        if (!given) return mpki_failed(s->ctx);
        r->entry = mpki_given_wild(an->layout, an->scalar, given, &r->row, &r->column);
        mpki_release(s->ctx, given);
        if (r->entry >= 0) r->what = MPK_REFUSED_VALUE;
    }
    if (!r->what && job->b) {
        char *sides = fetch(s, job->b, b, an->n, job->nrhs);
        if (!sides) return mpki_failed(s->ctx);
        const int64_t k = mpki_first_nonfinite(an->scalar, (int64_t)an->n * job->nrhs, sides);
        mpki_release(s->ctx, sides);
        if (k >= 0)
            *r = (mpk_systems_refusal){MPK_REFUSED_SIDE, (int32_t)(k % an->n), (int32_t)(k / an->n),
                                       0};
    }
    if (!r->what) *r = (mpk_systems_refusal){0};
    s->slot[b].refusal = *r;
    return MPK_OK;
}

mpk_status mpki_systems_find_refusals(mpki_systems_job *job) {
    const mpk_systems *s = job->s;
    mpk_status status = MPK_OK;
    for (int64_t b = 0; !mpk_failed(status) && b < s->count; b++)
        if (s->said[b].active && s->said[b].status == MPK_ERR_INPUT) status = look(job, b);
    return status;
}

mpk_status mpk_systems_refused(mpk_context *ctx, const mpk_systems *s, int64_t b,
                               mpk_systems_refusal *out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!s || s->ctx != ctx || !out || b < 0 || b >= s->count)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, b,
                          "there is no system of that number, or it was made with another context, "
                          "or out is NULL");
    if (!s->said[b].active || s->said[b].status != MPK_ERR_INPUT)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, b, "the system was not refused");
    *out = s->said[b].refusal;
    return MPK_OK;
}
