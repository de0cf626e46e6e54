/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with the factors of a pack, and entries on their way into lanes and back. */
#include "entry.h"
#include "slots.h"

#include <string.h>

/* ---- turning --------------------------------------------------------------------------------- */

void ISA_FN(lanes_take)(int64_t count, const T *const *from, int64_t step, R *to) {
    const R *p[LANES];
    bool all = true;
    for (int q = 0; q < LANES; q++) all &= from[q] != NULL;
    for (int q = 0; q < LANES; q++) {
        p[q] = (const R *)from[q];
        for (int64_t e = 0; !all && p[q] && e < count; e++, p[q] += step * PARTS)
            for (int part = 0; part < PARTS; part++) to[e * EL + part * LANES + q] = p[q][part];
    }
    for (int64_t e = 0; all && e < count; e++, to += EL)
#pragma GCC unroll 16
        for (int q = 0; q < LANES; q++) {
#pragma GCC unroll 2
            for (int part = 0; part < PARTS; part++) to[part * LANES + q] = p[q][part];
            p[q] += step * PARTS;
        }
}

void ISA_FN(lanes_give)(int64_t count, const R *from, T *const *to, int64_t step) {
    for (int q = 0; q < LANES; q++) {
        R *p = (R *)to[q];
        const R *x = from + q;
        for (int64_t e = 0; p && e < count; e++, x += EL, p += step * PARTS)
            for (int part = 0; part < PARTS; part++) p[part] = x[part * LANES];
    }
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* Column k of a front's L, less k entries. */
INLINE const R *column(const R *l, int64_t r, int64_t k) {
    return l + (k * (r - 1) - k * (k - 1) / 2) * EL;
}

/* Columns k .. k+nc-1: the rows below them are row, from number i on. */
INLINE void forward(const int nc, const R *l, int64_t r, int64_t w, int64_t k, R *own,
                    const int32_t *row, R *y) {
    entry x[4];
    const R *c[4];
#pragma GCC unroll 4
    for (int a = 0; a < nc; a++) {
        c[a] = column(l, r, k + a);
        x[a] = e_load(own + (k + a) * EL);
#pragma GCC unroll 4
        for (int b = 0; b < a; b++) x[a] = e_less(x[a], e_load(c[b] + (k + a) * EL), x[b]);
        e_store(own + (k + a) * EL, x[a]);
    }
    for (int64_t i = k + nc; i < w; i++) {
        entry z = e_load(own + i * EL);
#pragma GCC unroll 4
        for (int a = 0; a < nc; a++) z = e_less(z, e_load(c[a] + i * EL), x[a]);
        e_store(own + i * EL, z);
    }
    for (int64_t i = w; i < r; i++) {
        R *p = y + (int64_t)row[i - w] * EL;
        entry z = e_load(p);
#pragma GCC unroll 4
        for (int a = 0; a < nc; a++) z = e_less(z, e_load(c[a] + i * EL), x[a]);
        e_store(p, z);
    }
}

INLINE void backward(const int nc, bool h, const R *l, int64_t r, int64_t w, int64_t k, R *own,
                     const int32_t *row, const R *y) {
    entry x[4];
    const R *c[4];
#pragma GCC unroll 4
    for (int a = 0; a < nc; a++) {
        c[a] = column(l, r, k + a);
        x[a] = e_load(own + (k + a) * EL);
    }
    for (int64_t i = r - 1; i >= w; i--) {
        const entry z = e_load(y + (int64_t)row[i - w] * EL);
#pragma GCC unroll 4
        for (int a = 0; a < nc; a++) x[a] = e_less(x[a], e_conj(e_load(c[a] + i * EL), h), z);
    }
    for (int64_t i = w - 1; i >= k + nc; i--) {
        const entry z = e_load(own + i * EL);
#pragma GCC unroll 4
        for (int a = 0; a < nc; a++) x[a] = e_less(x[a], e_conj(e_load(c[a] + i * EL), h), z);
    }
#pragma GCC unroll 4
    for (int a = nc - 1; a >= 0; a--) {
#pragma GCC unroll 4
        for (int b = nc - 1; b > a; b--)
            x[a] = e_less(x[a], e_conj(e_load(c[a] + (k + b) * EL), h), x[b]);
        e_store(own + (k + a) * EL, x[a]);
    }
}

static void apply_d(const mpki_lanes_plan *plan, const R *dinv, R *y) {
    const bool h = plan->hermitian;
    for (int32_t k = 0; k < plan->tree.n; k++, y += EL, dinv += 2 * EL) {
        const entry x = e_load(y), i11 = e_load(dinv);
        if (plan->pair[k] != 1) {
            e_store(y, e_mul(x, i11));
            continue;
        }
        const entry z = e_load(y + EL), i21 = e_load(dinv + EL), i22 = e_load(dinv + 2 * EL);
        e_store(y, e_add(e_mul(x, i11), e_mul(z, e_conj(i21, h))));
        e_store(y + EL, e_add(e_mul(x, i21), e_mul(z, i22)));
        k++, y += EL, dinv += 2 * EL;
    }
}

/* The same where pairs differ by lane: 0 beside a pivot that has none. */
static void apply_own_d(const mpki_lanes_plan *plan, const R *dinv, R *y) {
    const bool h = plan->hermitian;
    entry before = e_zero(), beside = e_zero(); /* the entry before, and D^-1 beside it */
    for (int32_t k = 0; k < plan->tree.n; k++, y += EL, dinv += 2 * EL) {
        const entry x = e_load(y), i11 = e_load(dinv), i21 = e_load(dinv + EL);
        entry z = e_add(e_mul(x, i11), e_mul(before, beside));
        if (k + 1 < plan->tree.n) z = e_add(z, e_mul(e_load(y + EL), e_conj(i21, h)));
        e_store(y, z);
        before = x, beside = i21;
    }
}

/* Columns of a front in the order of each lane's pivots, and back. */
INLINE void arrange(const int32_t *perm, int64_t w, const R *y, R *z, bool back) {
    for (int64_t k = 0; k < w; k++)
        for (int part = 0; part < PARTS; part++)
            for (int q = 0; q < LANES; q++) {
                const int64_t to = k * EL + part * LANES + q,
                              from = (int64_t)perm[k * LANES + q] * EL + part * LANES + q;
                if (back)
                    z[from] = y[to];
                else
                    z[to] = y[from];
            }
}
static void arrange_front(const mpki_lanes_pack *pack, mpki_lanes_work *work, int64_t first,
                          int64_t w, R *y, bool back) {
    if (!pack->perm) return;
    arrange(pack->perm + first * LANES, w, at(y, first), work->w, back);
    memcpy(at(y, first), work->w, (size_t)w * EL * sizeof(R));
}

void ISA_FN(lanes_solve)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack,
                         mpki_lanes_work *work, R *x) {
    const mpki_tree_view *t = &plan->tree;
    const R *scale = pack->scale;
    R *y = work->x[0];
    for (int32_t k = 0; k < t->n; k++) {
        const int64_t i = t->perm[k];
        e_store(at(y, k), e_scaled(e_load(at(x, i)), v_load(scale + i * LANES)));
    }
    for (int32_t s = 0; s < t->nsuper; s++) {
        const int64_t first = t->sptr[s], w = t->sptr[s + 1] - first;
        const int64_t r = w + t->rptr[s + 1] - t->rptr[s];
        const R *l = at_const(pack->l, plan->l[s]);
        const int32_t *row = t->ridx + t->rptr[s];
        int64_t k = 0;
        arrange_front(pack, work, first, w, y, false);
        for (; k + 4 <= w; k += 4) forward(4, l, r, w, k, at(y, first), row, y);
        for (; k < w; k++) forward(1, l, r, w, k, at(y, first), row, y);
    }
    if (pack->perm)
        apply_own_d(plan, pack->dinv, y);
    else
        apply_d(plan, pack->dinv, y);
    for (int32_t s = t->nsuper - 1; s >= 0; s--) {
        const int64_t first = t->sptr[s], w = t->sptr[s + 1] - first;
        const int64_t r = w + t->rptr[s + 1] - t->rptr[s];
        const R *l = at_const(pack->l, plan->l[s]);
        const int32_t *row = t->ridx + t->rptr[s];
        int64_t k = w;
        for (; k > w / 4 * 4; k--)
            backward(1, plan->hermitian, l, r, w, k - 1, at(y, first), row, y);
        for (; k > 0; k -= 4) backward(4, plan->hermitian, l, r, w, k - 4, at(y, first), row, y);
        arrange_front(pack, work, first, w, y, true);
    }
    for (int32_t k = 0; k < t->n; k++) {
        const int64_t i = t->perm[k];
        e_store(at(x, i), e_scaled(e_load(at(y, k)), v_load(scale + i * LANES)));
    }
}

void ISA_FN(lanes_advance)(int32_t n, const bool *mark, const R *y, R *x, R *best) {
    mask m = {0};
    for (int q = 0; q < LANES; q++) m[q] = mark[q] ? -1 : 0;
    for (int64_t i = 0; i < (int64_t)n * PARTS; i++) {
        const vec old = v_load(x + i * LANES);
        v_store(best + i * LANES, old);
        v_store(x + i * LANES, v_pick(m, old + v_load(y + i * LANES), old));
    }
}

void ISA_FN(lanes_restore)(int32_t n, const bool *mark, const R *best, R *x) {
    mask m = {0};
    for (int q = 0; q < LANES; q++) m[q] = mark[q] ? -1 : 0;
    for (int64_t i = 0; i < (int64_t)n * PARTS; i++)
        v_store(x + i * LANES, v_pick(m, v_load(best + i * LANES), v_load(x + i * LANES)));
}
