/* SPDX-License-Identifier: BSD-3-Clause */
/* What the triangles of a matrix differ by, in one precision: gathered, multiplied, measured. */
#include "skew.h"
#include "../core/precision.h"

mpk_status FN(skew_push)(mpk_context *ctx, const char *stage, int64_t entry, int32_t column,
                         const void *low, const void *high, mpki_skew **skew) {
    if (!*skew) *skew = MPKI_ZNEW(ctx, stage, 1, mpki_skew);
    mpki_skew *k = *skew;
    if (!k) return mpki_failed(ctx);
    if (k->count == k->capacity) {
        const int64_t capacity = k->capacity ? 2 * k->capacity : 16;
        int64_t *entries = mpki_resize(ctx, stage, k->entry, capacity, sizeof *entries);
        if (entries) k->entry = entries;
        int32_t *columns = mpki_resize(ctx, stage, k->column, capacity, sizeof *columns);
        if (columns) k->column = columns;
        T *lows = mpki_resize(ctx, stage, k->low, capacity, sizeof *lows);
        if (lows) k->low = lows;
        T *highs = mpki_resize(ctx, stage, k->high, capacity, sizeof *highs);
        if (highs) k->high = highs;
        if (!entries || !columns || !lows || !highs) return mpki_failed(ctx);
        k->capacity = capacity;
    }
    k->entry[k->count] = entry;
    k->column[k->count] = column;
    ((T *)k->low)[k->count] = *(const T *)low;
    ((T *)k->high)[k->count++] = *(const T *)high;
    return MPK_OK;
}

static double modulus(T x) {
    return MPKI_COMPLEX ? hypot((double)t_re(x), (double)t_im(x)) : fabs((double)t_re(x));
}

/* Where an entry of K lies, and what it adds to the moduli of S at its two places. */
typedef struct spot {
    int32_t i, j;
    T low, high;
    double more_low, more_high;
} spot;

static spot spot_of(const mpki_skew *k, const mpk_problem_view *s, int64_t e) {
    const T below = ((const T *)s->ax)[k->entry[e]];
    const T above = conj_if(s->symmetry == MPK_HERMITIAN, below);
    spot p = {.i = s->ai[k->entry[e]],
              .j = k->column[e],
              .low = ((const T *)k->low)[e],
              .high = ((const T *)k->high)[e]};
    p.more_low = modulus(below + p.low) - modulus(below);
    p.more_high = modulus(above + p.high) - modulus(above);
    return p;
}

void FN(skew_row_sums)(const mpki_skew *k, const mpk_problem_view *s, double *sums) {
    for (int64_t e = 0; e < k->count; e++) {
        const spot p = spot_of(k, s, e);
        sums[p.i] += p.more_low;
        if (p.i != p.j) sums[p.j] += p.more_high;
    }
}

void FN(skew_multiply)(const mpki_skew *k, const mpk_problem_view *s, const void *vx, void *vy) {
    const T *x = vx;
    T *y = vy;
    for (int64_t e = 0; e < k->count; e++) {
        const spot p = spot_of(k, s, e);
        y[p.i] += t_mul(p.low, x[p.j]);
        if (p.i != p.j) y[p.j] += t_mul(p.high, x[p.i]);
    }
}

void FN(skew_residual)(const mpki_skew *k, const mpk_problem_view *s, const void *vx, void *vr,
                       double *w) {
    const T *x = vx;
    T *r = vr;
    for (int64_t e = 0; e < k->count; e++) {
        const spot p = spot_of(k, s, e);
        r[p.i] -= t_mul(p.low, x[p.j]);
        w[p.i] += p.more_low * modulus(x[p.j]);
        if (p.i == p.j) continue;
        r[p.j] -= t_mul(p.high, x[p.i]);
        w[p.j] += p.more_high * modulus(x[p.i]);
    }
}
