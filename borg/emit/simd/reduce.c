/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions over the work-items of a group, by the halving tree of borg_reduce. After each step
 * what is left is packed into as few registers as hold it, so that eight groups of eight take 4 + 2
 * + 1 additions, not 24. */
#include "borg/emit/simd/leaves.h"
#include "borg/emit/simd/move.h"
#include <string.h>

/* A row half way through a reduction: `items` lanes are left of each of `groups`, in the module's
 * order. */
typedef struct lanes {
    const char **reg;
    int32_t items, groups;
    bool full; /* one register whose lanes repeat the work-items until all are the result */
} lanes;

static int32_t lane_of(const simd *e, const lanes *x, int32_t w, int32_t g) {
    return e->m->order == BORG_WG_MINOR ? w * x->groups + g : g * x->items + w;
}

static void place_of(const simd *e, const lanes *x, int32_t lane, int32_t *w, int32_t *g) {
    bool wg_minor = e->m->order == BORG_WG_MINOR;
    *w = wg_minor ? lane / x->groups : lane % x->items;
    *g = wg_minor ? lane % x->groups : lane / x->items;
}

/* Register i of `to`: each `step`-th work-item of x from `first` on. mask: which lanes there are. A
 * register may become a scalar, at the end. */
static const char *take(simd *e, borg_type type, const lanes *x, const lanes *to, int32_t i,
                        int32_t first, int32_t step, uint64_t *mask) {
    int32_t from[BORG_MAX_VECTOR], index[BORG_MAX_VECTOR], w, g;
    *mask = 0;
    if (to->full) { /* the partner of each lane: all lanes stay in use, and get the result */
        for (int32_t l = 0; l < e->lanes; ++l) from[l] = 0, index[l] = l ^ first;
        *mask = simd_bits(e->lanes);
        return simd_move(e, type, x->reg, from, index);
    }
    for (int32_t l = 0; l < e->lanes; ++l) {
        from[l] = -1;
        index[l] = 0;
        if (i * e->lanes + l >= to->items * to->groups) continue;
        place_of(e, to, i * e->lanes + l, &w, &g);
        if (w * step + first >= x->items) continue;
        int32_t lane = lane_of(e, x, w * step + first, g);
        from[l] = lane / e->lanes;
        index[l] = lane % e->lanes;
        *mask |= (uint64_t)1 << l;
    }
    return simd_move(e, type, x->reg, from, index);
}

static const char *combine(simd *e, const borg_inst *v, borg_type type, const char *x,
                           const char *y) {
    const char *op = "add";
    bool flip = false, is_float = borg_is_float(type);
    switch (v->op) {
    case BORG_RMAX:
        op = type == BORG_I1 ? "or" : is_float ? "fmax" : v->uns ? "umax" : "smax";
        break;
    case BORG_RMIN:
        op = type == BORG_I1 ? "and" : is_float ? "fmin" : v->uns ? "umin" : "smin";
        break;
    case BORG_ANY:
    case BORG_ANYP:
        op = "or";
        break;
    case BORG_ALL:
    case BORG_ALLP:
        op = "and";
        break;
    default:
        op = type == BORG_I1 ? "xor" : is_float ? "fadd" : "add";
        break;
    }
    (void)flip;
    return simd_temp(e, type, false,
                     borg_format(e->arena, "b_%s_%s(%s, %s)", op, simd_suffix(type), x, y));
}

/* One step of a tree: work-items half and up are added to 0 .. half-1, or each odd one to the one
 * before. */
static void halve(simd *e, const borg_inst *v, borg_type type, lanes *x, int32_t half,
                  bool neighbours) {
    lanes to = {.items = half, .groups = x->groups};
    to.full =
        !neighbours && x->groups == 1 && x->items == 2 * half && (x->full || x->items == e->lanes);
    int32_t count = (half * x->groups + e->lanes - 1) / e->lanes, step = neighbours ? 2 : 1;
    to.reg = BORG_NEW(e->arena, count, const char *);
    for (int32_t i = 0; i < count; ++i) {
        uint64_t low, high;
        const char *a = take(e, type, x, &to, i, 0, step, &low);
        const char *b = take(e, type, x, &to, i, neighbours ? 1 : half, step, &high);
        to.reg[i] = a;
        if (!high) continue;
        to.reg[i] = combine(e, v, type, a, b);
        if (high == low) continue;
        uint64_t bits[BORG_MAX_VECTOR];
        for (int32_t l = 0; l < e->lanes; ++l) bits[l] = high >> l & 1;
        to.reg[i] = simd_temp(e, type, false,
                              borg_format(e->arena, "b_select_%s(%s, %s, %s)", simd_suffix(type),
                                          simd_literals(e, BORG_I1, bits, e->lanes), to.reg[i], a));
    }
    *x = to;
}

/* A group fills a register, and the tree leaves the result in all of its lanes. */
static bool fills(const simd *e) {
    return e->m->pack == 1 && e->m->size >= e->lanes;
}

/* Where the first of equal ones counts, neighbours must meet, the lower one first. */
static bool by_neighbours(const borg_inst *v) {
    return (v->op == BORG_RMAX || v->op == BORG_RMIN) && v->nargs > 0 &&
           !borg_no_minus_zero(v->args[0]);
}

/* The tree over one row, `registers` names; what is left: one lane for each group, or a register
 * full of the result (`fills`, but not by neighbours). */
static const char **tree(simd *e, const borg_inst *v, borg_type type, const char **registers,
                         int32_t items, int32_t groups) {
    lanes x = {registers, items, groups, false};
    int32_t half = 1;
    while (by_neighbours(v) && x.items > 1) halve(e, v, type, &x, (x.items + 1) / 2, true);
    while (2 * half < items) half *= 2;
    for (; half >= 1 && x.items > 1; half /= 2) halve(e, v, type, &x, half, false);
    return x.reg;
}

/* Register i of a single group is the second operand of the tree's first step, and there FMAX and
 * FMIN take the first operand in place of a NaN. */
static bool comes_second(const simd *e, int32_t i) {
    int32_t half = 1;
    while (2 * half < e->m->size) half *= 2;
    return e->m->pack == 1 && i * e->lanes >= half;
}

/* NaN counts as nothing. */
static const char *without_nan(simd *e, const borg_inst *v, const borg_inst *x, const char *reg) {
    if (!borg_is_float(x->type)) return reg;
    if (v->op != BORG_RMAX && v->op != BORG_RMIN && v->op != BORG_RMAXIDX) return reg;
    const char *sign = v->op == BORG_RMIN ? "" : "-", *suffix = simd_suffix(x->type);
    bool scalar = simd_scalar(e, x);
    return simd_temp(e, x->type, scalar,
                     borg_format(e->arena, "%s_%s_%s(%s%s__builtin_inf%s()%s, %s)",
                                 scalar ? "s" : "b", v->op == BORG_RMIN ? "fmin" : "fmax", suffix,
                                 scalar ? "" : borg_format(e->arena, "b_splat_%s(", suffix), sign,
                                 x->type == BORG_F32 ? "f" : "", scalar ? "" : ")", reg));
}

static void finish(simd *e, borg_inst *v, int32_t row, const char *const *left) {
    int32_t per_row = simd_row_count(e, v);
    for (int32_t i = 0; i < per_row; ++i) {
        if (simd_scalar(e, v)) {
            simd_let(e, v, row * per_row + i,
                     simd_lane(e, v->type, left[i / e->lanes], i % e->lanes));
        } else {
            ctext_name(&e->c, v, row * per_row + i, left[i]);
        }
    }
}

/* The same where groups are scalars and masks bits: the lowest bit of those that are the maximum.
 */
static bool index_by_bits(simd *e, borg_inst *v, int32_t row, const char **regs, const char **top) {
    const borg_inst *x = v->args[0];
    int32_t count = simd_row_count(e, x), size = e->m->size, w, g;
    if (!e->target->bits || !simd_scalar(e, v) || count * e->lanes > 64) return false;
    borg_sink text = {.arena = e->arena};
    for (int32_t i = 0; i < count; ++i) {
        int32_t from[BORG_MAX_VECTOR], index[BORG_MAX_VECTOR];
        for (int32_t l = 0; l < e->lanes; ++l) {
            from[l] = -1;
            index[l] = 0;
            if (l >= simd_used(e, x, i)) continue;
            simd_place(e, x, i, l, &w, &g);
            from[l] = g / e->lanes;
            index[l] = g % e->lanes;
        }
        borg_put(&text, "%s(uint64_t)b_eq_%s(%s, %s) << %d", i ? " | " : "", simd_suffix(x->type),
                 regs[i], fills(e) ? top[0] : simd_move(e, x->type, top, from, index),
                 i * e->lanes);
    }
    const char *all = simd_temp(e, BORG_I64, true, text.text);
    for (g = 0; g < simd_row_count(e, v); ++g)
        simd_let(e, v, row * simd_row_count(e, v) + g,
                 borg_format(e->arena, "(uint32_t)__builtin_ctzll(%s >> %d)", all, g * size));
    return true;
}

/* Masks of a row as one number, a bit for each lane; registers for as many bits at most. */
static const char *bits_of(simd *e, const borg_inst *mask, int32_t row) {
    int32_t count = simd_row_count(e, mask), low = row * count;
    borg_sink text = {.arena = e->arena};
    for (int32_t i = 0; i < count; ++i)
        borg_put(&text, "%s(uint64_t)(%s & %d) << %d", i ? " | " : "", simd_reg(e, mask, low + i),
                 (int)simd_bits(simd_used(e, mask, i)), i * e->lanes);
    return simd_temp(e, BORG_I64, true, text.text);
}

static bool has_bits(const simd *e, const borg_inst *v, const borg_inst *mask) {
    return e->target->bits && mask->spread == BORG_WI && simd_scalar(e, v) &&
           !simd_scalar(e, mask) && simd_row_count(e, mask) * e->lanes <= 64;
}

/* Any or all of a mask, for each group. */
static bool over_bits(simd *e, borg_inst *v, int32_t row) {
    const borg_inst *mask = v->args[0];
    if ((v->op != BORG_ANY && v->op != BORG_ALL) || !has_bits(e, v, mask)) return false;
    const char *all = bits_of(e, mask, row);
    unsigned long long bits = (unsigned long long)simd_bits(e->m->size);
    for (int32_t g = 0; g < simd_row_count(e, v); ++g)
        simd_let(
            e, v, row * simd_row_count(e, v) + g,
            borg_format(e->arena, "(%s >> %d & UINT64_C(0x%llx)) %s", all, g * e->m->size, bits,
                        v->op == BORG_ANY ? "!= 0"
                                          : borg_format(e->arena, "== UINT64_C(0x%llx)", bits)));
    return true;
}

static bool is_constant(const borg_inst *x, uint64_t bits) {
    return x->op == BORG_CONST && x->ntable == 1 && x->bits[0] == bits;
}

/* 1 or 0 in each lane: the lowest bit of the mask that chose. */
static bool index_of_mask(simd *e, borg_inst *v, int32_t row) {
    const borg_inst *x = v->args[0];
    if (x->op != BORG_SELECT || borg_is_float(x->type) || !e->target->bits) return false;
    const borg_inst *mask = x->args[0];
    int32_t size = e->m->size;
    if (!is_constant(x->args[1], 1) || !is_constant(x->args[2], 0)) return false;
    if (!has_bits(e, v, mask)) return false;
    const char *all = bits_of(e, mask, row);
    for (int32_t g = 0; g < simd_row_count(e, v); ++g)
        simd_let(e, v, row * simd_row_count(e, v) + g,
                 borg_format(e->arena, "s_first(%s >> %d & UINT64_C(0x%llx))", all, g * size,
                             (unsigned long long)simd_bits(size)));
    return true;
}

/* Lowest work-item whose value is the maximum: those that are it keep their number. */
static void index_of(simd *e, borg_inst *v, int32_t row, const char **regs, const char **top) {
    const borg_inst *x = v->args[0];
    int32_t count = simd_row_count(e, x), size = e->m->size, w, g;
    if (index_by_bits(e, v, row, regs, top)) return;
    const char **number = BORG_NEW(e->arena, count, const char *);
    for (int32_t i = 0; i < count; ++i) {
        int32_t from[BORG_MAX_VECTOR], index[BORG_MAX_VECTOR], used = simd_used(e, x, i);
        uint64_t bits[BORG_MAX_VECTOR];
        for (int32_t l = 0; l < e->lanes; ++l) {
            from[l] = -1;
            index[l] = 0;
            if (l >= used) continue;
            borg_lane_place(e->m, x, i * e->lanes + l, &w, &g);
            from[l] = g / e->lanes;
            index[l] = g % e->lanes;
            bits[l] = (uint64_t)w;
        }
        const char *max = simd_move(e, x->type, top, from, index);
        number[i] =
            simd_temp(e, BORG_I32, false,
                      borg_format(e->arena, "b_select_i32(b_eq_%s(%s, %s), %s, b_splat_i32(%d))",
                                  simd_suffix(x->type), regs[i], max,
                                  simd_literals(e, BORG_I32, bits, used), size));
    }
    borg_inst least = {.op = BORG_RMIN, .uns = true};
    finish(e, v, row, tree(e, &least, BORG_I32, number, size, e->m->pack));
}

/* One result for the whole pack. */
static void over_pack(simd *e, borg_inst *v, int32_t row) {
    const borg_inst *x = v->args[0];
    int32_t count = simd_row_count(e, x);
    bool any = v->op == BORG_ANYP;
    borg_sink text = {.arena = e->arena};
    for (int32_t i = 0; i < count; ++i) {
        const char *sign = i ? any ? " || " : " && " : "", *reg = simd_reg(e, x, row * count + i);
        if (simd_scalar(e, x)) {
            borg_put(&text, "%s%s", sign, reg);
        } else {
            borg_put(&text, "%s%s(%s, %d)", sign, any ? "b_any" : "b_all", reg, simd_used(e, x, i));
        }
    }
    simd_let(e, v, row, text.text);
}

void simd_reduce(simd *e, borg_inst *v) {
    const borg_inst *x = v->args[0];
    int32_t count = simd_row_count(e, x);
    for (int32_t row = 0; row < v->rows; ++row) {
        const char **regs = BORG_NEW(e->arena, count, const char *);
        if (v->op == BORG_RMAXIDX && index_of_mask(e, v, row)) continue;
        if (over_bits(e, v, row)) continue;
        if (x->spread == BORG_WI && simd_scalar(e, x)) {
            const char *only = simd_reg(e, x, row);
            ctext_name(&e->c, v, row, v->op == BORG_RMAXIDX ? "0" : without_nan(e, v, x, only));
            continue;
        }
        if (v->spread == BORG_UNI) {
            over_pack(e, v, row);
            continue;
        }
        for (int32_t i = 0; i < count; ++i)
            regs[i] = comes_second(e, i) && !by_neighbours(v)
                          ? simd_reg(e, x, row * count + i)
                          : without_nan(e, v, x, simd_reg(e, x, row * count + i));
        borg_inst step = *v; /* for an index: the maximum alone, whatever the sign of a zero */
        if (v->op == BORG_RMAXIDX) step.op = BORG_RMAX, step.nargs = 0;
        const char **left = tree(e, &step, x->type, regs, e->m->size, e->m->pack);
        if (v->op == BORG_RMAXIDX) {
            index_of(e, v, row, regs, left);
        } else {
            finish(e, v, row, left);
        }
    }
}
