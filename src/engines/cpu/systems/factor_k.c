/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal method on a pack of systems (Duff & Reid 1983), with pivots in a given order.
 * A front is its columns of L, in place, and what it contributes to its parent. Panels of pivots
 * update what is behind them in tiles that stay in registers. */
#include "front.h"
#include "slots.h"
#include "tile.h"
#include <string.h>

/* ---- assembly -------------------------------------------------------------------------------- */

static void add_child(const mpki_lanes_plan *plan, int32_t s, int32_t child, const front *f,
                      const R *from) {
    const mpki_tree_view *t = &plan->tree;
    const int32_t *rel = t->rel + t->rptr[child];
    const int64_t m = t->rptr[child + 1] - t->rptr[child], r = f->r, w = f->w;
    (void)s;
    for (int64_t j = 0; j < m; j++) {
        const int64_t col = rel[j], c = col - w;
        R *to = col < w ? f->l + (col * (r - 1) - col * (col - 1) / 2) * EL
                        : f->c + (c * (r - w - 1) - c * (c - 1) / 2 - w) * EL;
        for (int64_t i = j; i < m; i++) {
            R *p = to + (int64_t)rel[i] * EL;
            e_store(p, e_add(e_load(p), e_load(from + (i - j) * EL)));
        }
        from += (m - j) * EL;
    }
}

static void assemble(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack, int32_t s,
                     const front *f, R *contributions) {
    const mpki_tree_view *t = &plan->tree;
    const int64_t m = f->r - f->w;
    memset(f->l, 0, (size_t)(plan->l[s + 1] - plan->l[s]) * EL * sizeof(R));
    if (m > 0) memset(f->c, 0, (size_t)(m * (m + 1) / 2) * EL * sizeof(R));
    const R *ax = pack->ax, *scale = pack->scale;
    for (int64_t k = t->scatter_ptr[s]; k < t->scatter_ptr[s + 1]; k++) {
        const mpki_lanes_entry *e = &plan->entry[k];
        const vec by =
            v_load(scale + (int64_t)e->i * LANES) * v_load(scale + (int64_t)e->j * LANES);
        const entry x = e_conj(e_scaled(e_load(at_const(ax, e->from)), by), e->conjugated);
        R *p = at(pack->l, e->to);
        e_store(p, e_add(e_load(p), x));
    }
    for (int32_t k = t->child_ptr[s]; k < t->child_ptr[s + 1]; k++)
        add_child(plan, s, t->child[k], f, at(contributions, plan->c[t->child[k]]));
}

/* ---- pivots ---------------------------------------------------------------------------------- */

INLINE void pivot1(const front *f, int32_t k, entry a, tally *t) {
    if (MPKI_COMPLEX && f->hermitian) a = e_real(a.re);
    const vec size = e_modulus(a);
    t->passed &= (size > t->small) & (size - size == 0);
    t->most = v_max(e_most(a), t->most);
    t->least = v_pick(size < t->least, size, t->least);
    t->positive += v_ones(a.re > 0);
    t->negative += v_ones(a.re < 0);
    e_store(f->d + (int64_t)(2 * k) * EL, a);
    e_store(f->d + (int64_t)(2 * k + 1) * EL, e_zero());
    e_store(f->dinv + (int64_t)(2 * k) * EL,
            MPKI_COMPLEX && f->hermitian ? e_real(1 / a.re) : e_inverse(a));
    e_store(f->dinv + (int64_t)(2 * k + 1) * EL, e_zero());
}

/* [a, op(b); b, c]: what its determinant loses to cancellation counts as stress. */
INLINE void pivot2(const front *f, int32_t k, entry a, entry b, entry c, tally *t) {
    const bool h = f->hermitian;
    if (MPKI_COMPLEX && h) a = e_real(a.re), c = e_real(c.re);
    const vec sa = e_modulus(a), sb = e_modulus(b), sc = e_modulus(c);
    const vec most = v_max(v_max(sa, sb), sc), by = 1 / most;
    const entry p1 = e_mul(e_scaled(a, by), c), p2 = e_mul(e_scaled(b, by), e_conj(b, h));
    const entry det = e_sub(p1, p2); /* / most */
    const vec size = e_modulus(det), lost = (e_modulus(p1) + e_modulus(p2)) / size;
    t->passed &= (most > t->small) & (size > t->small) & (size - size == 0);
    t->stress = v_max(lost * most, t->stress);
    t->most = v_max(v_max(v_max(e_most(a), e_most(b)), e_most(c)), t->most);
    const entry inverse = e_scaled(e_inverse(det), by);
    const entry i11 = e_mul(c, inverse), i22 = e_mul(a, inverse);
    const entry i21 = e_sub(e_zero(), e_mul(b, inverse));
    const int64_t at_k = (int64_t)(2 * k) * EL;
    e_store(f->d + at_k, a), e_store(f->d + at_k + EL, b);
    e_store(f->d + at_k + 2 * EL, c), e_store(f->d + at_k + 3 * EL, e_zero());
    e_store(f->dinv + at_k, i11), e_store(f->dinv + at_k + EL, i21);
    e_store(f->dinv + at_k + 2 * EL, i22), e_store(f->dinv + at_k + 3 * EL, e_real(lost));
    /* eigenvalues: the larger one from the trace and the radius, the other from the determinant */
    const vec mean = (a.re + c.re) / 2, half = (a.re - c.re) / 2;
    const vec large = v_size(mean) + v_root(half * half + sb * sb), little = size * most / large;
    t->least = v_pick(little < t->least, little, t->least);
    const vec both = v_ones(det.re > 0), one = v_ones(det.re < 0);
    t->positive += one + v_pick(mean > 0, 2 * both, v_all(0));
    t->negative += one + v_pick(mean < 0, 2 * both, v_all(0));
}

/* Row i, x, of columns g0 .. g0+nb-1, up to date but for these: its entries under the first `upto`
 * pivots become L, and L D goes to the panel; those before `last` are updated by them. */
INLINE_FAST void finish_row(const front *f, int32_t g0, const int nb, const int upto,
                            const int last, int64_t i, entry *x, vec *stress) {
    const int64_t rows = f->r - f->p0;
    R *panel = of_panel(f, i) + (int64_t)(g0 - f->p0) * rows * EL;
#pragma GCC unroll 4
    for (int c = 0; c < nb; c++) {
        if (c >= upto) break;
        const int32_t k = g0 + c;
        if (f->pair[k] == 2) continue;
        const bool two = f->pair[k] == 1;
        entry l0, l1 = e_zero();
        const R *dinv = f->dinv + (int64_t)(2 * k) * EL;
        const entry x0 = x[c], x1 = c + 1 < nb ? x[c + 1 < nb ? c + 1 : c] : e_zero();
        if (two) {
            const entry i21 = e_load(dinv + EL);
            l0 = e_add(e_mul(x0, e_load(dinv)), e_mul(x1, i21));
            l1 = e_add(e_mul(x0, e_conj(i21, f->hermitian)), e_mul(x1, e_load(dinv + 2 * EL)));
            const R *d = f->d + (int64_t)(2 * k) * EL;
            const vec s0 = e_most(l0), s1 = e_most(l1), lost = v_load(dinv + 3 * EL);
            const vec both = 2 * e_most(e_load(d + EL)) * (s0 * s1);
            const vec each = e_most(e_load(d)) * (s0 * s0) + e_most(e_load(d + 2 * EL)) * (s1 * s1);
            *stress = v_max(v_max(lost * (each + both), v_max(s0, s1)), *stress);
        } else {
            l0 = e_mul(x0, e_load(dinv));
            const vec s0 = e_most(l0);
            *stress = v_max(v_max(s0 * e_most(x0), s0), *stress);
        }
        e_store(panel + c * rows * EL, e_conj(x0, f->hermitian));
        e_store(column(f, k) + i * EL, l0);
        if (two) {
            e_store(panel + (c + 1) * rows * EL, e_conj(x1, f->hermitian));
            e_store(column(f, k + 1) + i * EL, l1);
        }
        const R *row = of_panel(f, g0) + (int64_t)(k - f->p0) * rows * EL; /* L D of this column */
#pragma GCC unroll 4
        for (int j = c + 1; j < nb; j++) {
            if (two && j == c + 1) continue;
            if (j >= last) break;
            x[j] = e_less(x[j], l0, e_load(row + (int64_t)j * EL));
            if (two) x[j] = e_less(x[j], l1, e_load(row + (rows + j) * EL));
        }
    }
}

/* Rows i .. i+mr-1 of columns g0 .. g0+nb-1, against the panel's pivots before g0. */
INLINE_FAST void load_rows(const front *f, int32_t g0, const int mr, const int nb, int64_t i,
                           entry x[TILE_ROWS][TILE_COLS]) {
#pragma GCC unroll 4
    for (int b = 0; b < nb; b++)
#pragma GCC unroll 4
        for (int a = 0; a < mr; a++) x[a][b] = e_load(column(f, g0 + b) + (i + a) * EL);
    tile(mr, nb, g0 - f->p0, column(f, f->p0) + i * EL, f->r - 1 - f->p0, of_panel(f, g0),
         f->r - f->p0, x);
}

INLINE_FAST void rows_of_group(const front *f, int32_t g0, const int mr, const int nb, int64_t i,
                               vec *stress) {
    entry x[TILE_ROWS][TILE_COLS];
    load_rows(f, g0, mr, nb, i, x);
#pragma GCC unroll 4
    for (int a = 0; a < mr; a++) finish_row(f, g0, nb, nb, nb, i + a, x[a], stress);
}

/* The diagonal block of a group, row by row: what is left of its diagonal are pivots. */
INLINE_FAST void diagonal_of_group(const front *f, int32_t g0, const int nb, tally *t) {
    entry x[1][TILE_COLS], before = e_zero();
#pragma GCC unroll 4
    for (int a = 0; a < nb; a++) {
        const int32_t k = g0 + a;
        entry y[TILE_ROWS][TILE_COLS];
#pragma GCC unroll 4
        for (int b = 0; b < nb; b++)
            y[0][b] = b <= a ? e_load(column(f, g0 + b) + (int64_t)k * EL) : e_zero();
        tile(1, nb, g0 - f->p0, column(f, f->p0) + (int64_t)k * EL, f->r - 1 - f->p0,
             of_panel(f, g0), f->r - f->p0, y);
#pragma GCC unroll 4
        for (int b = 0; b < nb; b++) x[0][b] = y[0][b];
        const bool second = f->pair[k] == 2;
        finish_row(f, g0, nb, second ? a - 1 : a, a + 1, k, x[0], &t->stress);
        if (second) {
            pivot2(f, k - 1, before, x[0][a > 0 ? a - 1 : 0], x[0][a], t);
            e_store(column(f, k - 1) + (int64_t)k * EL, e_zero()); /* L of a pair is I */
        } else if (f->pair[k] == 1) {
            before = x[0][a];
        } else {
            pivot1(f, k, x[0][a], t);
        }
        e_store(column(f, k) + (int64_t)k * EL, e_real(v_all(1)));
    }
}

INLINE void group_of(const front *f, int32_t g0, const int nb, tally *t) {
    int64_t i = g0 + nb;
    diagonal_of_group(f, g0, nb, t);
    vec stress = t->stress;
    for (; i + TILE_ROWS <= f->r; i += TILE_ROWS) rows_of_group(f, g0, TILE_ROWS, nb, i, &stress);
    for (; i < f->r; i++) rows_of_group(f, g0, 1, nb, i, &stress);
    t->stress = stress;
}

static void eliminate_group(const front *f, int32_t g0, int32_t g1, tally *t) {
    switch (g1 - g0) {
    case 1:
        group_of(f, g0, 1, t);
        break;
#if TILE_COLS > 2
    case 3:
        group_of(f, g0, 3, t);
        break;
    case 4:
        group_of(f, g0, 4, t);
        break;
#endif
    default:
        group_of(f, g0, 2, t);
    }
}

/* ---- what is behind a panel ------------------------------------------------------------------ */

/* Rows i .. and columns j .. of a trapezoid whose column j is at `to`, less j entries, and the next
 * one `step` entries after it, and so on by one less. below: j <= i for all of them. */
INLINE_FAST void update_tile(const front *f, const int mr, const int nr, const bool below,
                             int64_t i, int64_t j, R *to, int64_t step) {
    entry x[TILE_ROWS][TILE_COLS];
    R *from = to;
#pragma GCC unroll 4
    for (int b = 0; b < nr; b++) {
#pragma GCC unroll 4
        for (int a = 0; a < mr; a++)
            x[a][b] = below || a >= b ? e_load(from + (int64_t)a * EL) : e_zero();
        from += (step - b) * EL;
    }
    tile(mr, nr, f->p1 - f->p0, column(f, f->p0) + i * EL, f->r - 1 - f->p0, of_panel(f, j),
         f->r - f->p0, x);
#pragma GCC unroll 4
    for (int b = 0; b < nr; b++) {
#pragma GCC unroll 4
        for (int a = 0; a < mr; a++)
            if (below || a >= b) e_store(to + (int64_t)a * EL, x[a][b]);
        to += (step - b) * EL;
    }
}

/* Columns j .. j+nr-1 of such a trapezoid, from row j down to the last of the front. */
INLINE void update_columns(const front *f, const int nr, int64_t j, R *to, int64_t step) {
    int64_t i = j;
    /* the tile on the diagonal, then whole ones */
    const int64_t left = f->r - j;
    if (left >= TILE_ROWS) {
        update_tile(f, TILE_ROWS, nr, false, i, j, to, step);
        i += TILE_ROWS;
    } else {
        for (; i < j + nr; i++) { /* fewer than TILE_ROWS: one or two columns, row by row */
            const int cols = (int)(i - j) + 1;
            R *p = to + (i - j) * EL;
            if (cols == 1)
                update_tile(f, 1, 1, true, i, j, p, step);
            else
                update_tile(f, 1, 2, true, i, j, p, step);
        }
    }
    for (; i + TILE_ROWS <= f->r; i += TILE_ROWS)
        update_tile(f, TILE_ROWS, nr, true, i, j, to + (i - j) * EL, step);
    for (; i < f->r; i++) update_tile(f, 1, nr, true, i, j, to + (i - j) * EL, step);
}

/* Columns j0 .. j1-1 of the front, whose column j0 begins at `to` with row j0, `length` entries. */
static void update_trapezoid(const front *f, int64_t j0, int64_t j1, R *to, int64_t length) {
    int64_t j = j0;
    for (; j + TILE_COLS <= j1; j += TILE_COLS) {
        update_columns(f, TILE_COLS, j, to, length - 1);
        for (int b = 0; b < TILE_COLS; b++) to += length-- * EL;
    }
    for (; j < j1; j++) {
        update_columns(f, 1, j, to, length - 1);
        to += length-- * EL;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void eliminate(front *f, tally *t) {
    for (f->p0 = 0; f->p0 < f->w; f->p0 = f->p1) {
        f->p1 = f->w - f->p0 > PANEL ? f->p0 + PANEL : f->w;
        if (f->perm) ISA_FN(lanes_own_panel)(f, t);
        if (!f->perm && f->pair[f->p1 - 1] == 1)
            f->p1--; /* a pair stays together, in a group, too */
        for (int32_t g0 = f->p0, g1; !f->perm && g0 < f->p1; g0 = g1) {
            g1 = f->p1 - g0 > TILE_COLS ? g0 + TILE_COLS : f->p1;
            if (f->pair[g1 - 1] == 1) g1--;
            eliminate_group(f, g0, g1, t);
        }
        update_trapezoid(f, f->p1, f->w, column(f, f->p1) + (int64_t)f->p1 * EL, f->r - f->p1);
        update_trapezoid(f, f->w, f->r, f->c, f->r - f->w);
    }
}

static int64_t panel_reals(const mpki_lanes_plan *plan) {
    return ((int64_t)PANEL * plan->max_front + PANEL * (PANEL + 1)) * EL;
}

static void tell(const tally *t, const mpki_lanes_rules *rules, mpki_lane_outcome *lane) {
    const vec growth = v_max(t->most, v_all(1));
    const mask sure =
        (t->least > (R)rules->noise * growth) & (t->least > (R)rules->rounding * t->stress);
    const mask good = t->passed & (t->stress <= (R)rules->stress) & (t->least > v_all(0)) &
                      (t->most - t->most == 0);
    for (int q = 0; q < LANES; q++) {
        lane[q].good &= good[q] != 0;
        lane[q].doubtful = lane[q].good && sure[q] == 0;
        lane[q].positive = (int32_t)t->positive[q];
        lane[q].negative = (int32_t)t->negative[q];
        lane[q].growth = (double)t->most[q];
        lane[q].min_pivot = (double)t->least[q];
    }
}

/* May some lane's pivots do still? What has failed stays so. */
static bool alive(const tally *t, const mpki_lanes_rules *rules) {
    const mask m = t->passed & (t->stress <= (R)rules->stress);
    lane_int all = 0;
    for (int q = 0; q < LANES; q++) all |= m[q];
    return all != 0;
}

static void factor(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack,
                   const mpki_lanes_rules *rules, mpki_lanes_work *work, mpki_lane_outcome *lane) {
    const mpki_tree_view *tree = &plan->tree;
    tally t = {.least = v_all((R)INFINITY), .small = v_all((R)rules->small)};
    R *const block = (R *)work->w + (int64_t)PANEL * plan->max_front * EL;
    t.passed = ~(mask){0};
    int32_t pairs = 0;
    for (int32_t s = 0; s < tree->nsuper && alive(&t, rules); s++) {
        const int32_t first = tree->sptr[s], w = tree->sptr[s + 1] - first;
        front f = {.w = w,
                   .r = w + (int32_t)(tree->rptr[s + 1] - tree->rptr[s]),
                   .first = first,
                   .l = at(pack->l, plan->l[s]),
                   .c = at(work->contribution, plan->c[s]),
                   .panel = work->w,
                   .pair = plan->pair + first,
                   .d = at(pack->d, 2 * (int64_t)first),
                   .dinv = at(pack->dinv, 2 * (int64_t)first),
                   .hermitian = plan->hermitian,
                   .perm = pack->perm ? pack->perm + (int64_t)first * LANES : NULL,
                   .block = block};
        for (int64_t k = 0; f.perm && k < (int64_t)w * LANES; k++) f.perm[k] = (int32_t)(k / LANES);
        assemble(plan, pack, s, &f, work->contribution);
        eliminate(&f, &t);
    }
    for (int32_t k = 0; k < tree->n; k++) pairs += plan->pair[k] == 1;
    for (int q = 0; q < LANES; q++) lane[q].two_by_two = pack->perm ? (int32_t)t.pairs[q] : pairs;
    tell(&t, rules, lane);
}

extern const FN(lanes) ISA_FN(lanes_table);
const FN(lanes) ISA_FN(lanes_table) = {.width = LANES,
                                       .panel_reals = panel_reals,
                                       .take = ISA_FN(lanes_take),
                                       .give = ISA_FN(lanes_give),
                                       .scale = ISA_FN(lanes_scale),
                                       .factor = factor,
                                       .solve = ISA_FN(lanes_solve),
                                       .residual = ISA_FN(lanes_residual),
                                       .measure = ISA_FN(lanes_measure),
                                       .advance = ISA_FN(lanes_advance),
                                       .restore = ISA_FN(lanes_restore)};
