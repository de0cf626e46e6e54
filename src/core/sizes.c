/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of right-hand sides and solutions that all calls have in common. */
#include "sizes.h"

/* Do columns of n entries each share a byte? Both lists ascend, so one walk along them tells. */
static bool overlap(const mpki_sides *s) {
    const uintptr_t bytes = (uintptr_t)s->n * s->size;
    uintptr_t p = (uintptr_t)s->b, q = (uintptr_t)s->x;
    for (int32_t i = 0, j = 0; i < s->nrhs && j < s->nrhs;) {
        if (p < q + bytes && q < p + bytes) return true;
        if (p < q)
            i++, p += (uintptr_t)s->ldb * s->size;
        else
            j++, q += (uintptr_t)s->ldx * s->size;
    }
    return false;
}

mpk_status mpki_check_sides(mpk_context *ctx, const char *stage, const mpki_sides *s) {
    if (s->nrhs < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, s->nrhs, "nrhs = %d is negative", s->nrhs);
    const bool some = s->nrhs > 0 && s->n > 0;
    if (some && (!s->b || !s->x))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1,
                          "right-hand side and solution must not be NULL");
    const bool bad_b = s->ldb < s->n;
    if (bad_b || s->ldx < s->n)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, bad_b ? s->ldb : s->ldx,
                          "%s = %lld, the leading dimension of %s, is smaller than n = %lld",
                          bad_b ? "ldb" : "ldx", (long long)(bad_b ? s->ldb : s->ldx),
                          bad_b ? "the right-hand sides" : "the solutions", (long long)s->n);
    if (!some) return MPK_OK;
    const bool large_b = !mpki_fits(s->nrhs, s->ldb, s->size);
    if (large_b || !mpki_fits(s->nrhs, s->ldx, s->size))
        return mpki_error(ctx, MPK_ERR_SIZE, stage, large_b ? s->ldb : s->ldx,
                          "%d columns that lie %s = %lld entries apart do not fit any memory",
                          s->nrhs, large_b ? "ldb" : "ldx", (long long)(large_b ? s->ldb : s->ldx));
    if (s->may_be_same && s->b == s->x && (!s->equal_steps || s->nrhs == 1 || s->ldb == s->ldx))
        return MPK_OK;
    if (overlap(s))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1,
                          "right-hand sides and solutions overlap%s",
                          !s->may_be_same ? ", and may not"
                          : s->b == s->x  ? ": where they are the same, ldb and ldx must be, too"
                                          : ": they may be the same, or have nothing in common");
    return MPK_OK;
}
