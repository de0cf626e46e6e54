/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions over the work-items of a group: first those of a thread, then over the threads by
 * exchanges with the neighbour at distance h (CUDA), or by a loop over a slot (OpenCL). The sum is
 * the halving tree of language.md: work-item w and w + h meet, h falling; with w = j * lanes + l
 * the first steps are within a thread. Maxima meet from h = 1 on, so that the lower of two threads
 * always stands for lower work-items, and ties go to it. */
#include "borg/emit/simt/leaves.h"
#include <string.h>

static int32_t power_above(int32_t n) {
    int32_t p = 1;
    while (p < n) p *= 2;
    return p;
}

/* x, or `neutral` where thread l's work-item j is not there. */
static const char *only_items(simt *e, borg_type type, const char *x, int32_t j,
                              const char *neutral) {
    int32_t there = e->m->size - j * e->lanes;
    if (there >= e->lanes) return x;
    return simt_temp(e, type,
                     there <= 0 ? neutral
                                : borg_format(e->arena, "b_l < %d ? %s : %s", there, x, neutral));
}

static const char *shuffled(simt *e, borg_type type, const char *x, int32_t h) {
    return simt_temp(e, type,
                     borg_format(e->arena, "b_shfl_xor_%s(%s, %s, %d)", simt_suffix(type),
                                 simt_mask(e), x, h * e->step));
}

/* ---- sums ------------------------------------------------------------------------------------ */

static const char *add(simt *e, borg_type type, const char *x, const char *y) {
    return simt_temp(e, type,
                     borg_is_float(type)
                         ? borg_format(e->arena, "b_fadd_%s(%s, %s)", simt_suffix(type), x, y)
                         : borg_format(e->arena, "%s %s %s", x, type == BORG_I1 ? "^" : "+", y));
}

/* adding -0 changes no number, not even -0 */
static const char *sum(simt *e, const borg_inst *x, int32_t r) {
    const char *neutral = x->type == BORG_F64   ? "-0x0p+0"
                          : x->type == BORG_F32 ? "-0x0p+0f"
                                                : simt_literal(e, x->type, 0);
    const char **part = BORG_NEW(e->arena, e->rows, const char *);
    for (int32_t j = 0; j < e->rows; ++j)
        part[j] = only_items(e, x->type, simt_get(e, x, r * e->rows + j), j, neutral);
    for (int32_t h = power_above(e->rows) / 2; h > 0; h /= 2)
        for (int32_t j = 0; j < h && j + h < e->rows; ++j)
            part[j] = add(e, x->type, part[j], part[j + h]);
    if (x->type == BORG_I32 && e->lanes == 32) /* in any order */
        return borg_format(e->arena, "(b_i32)b_redux_sum(%s)", part[0]);
    for (int32_t h = e->lanes / 2; h > 0; h /= 2)
        part[0] = add(e, x->type, part[0], shuffled(e, x->type, part[0], h));
    return part[0];
}

/* ---- maxima ---------------------------------------------------------------------------------- */

typedef struct best {
    const char *value, *index; /* index NULL: not asked for */
} best;

/* Is y taken in place of x? Of equal ones the lower work-item's is: y comes from a higher one, or a
 * condition tells which is lower. */
static const char *beats(simt *e, const borg_inst *v, const char *y, const char *x,
                         const char *tie) {
    borg_type type = v->args[0]->type;
    const char *sign = borg_is_float(type) || v->uns || type == BORG_I1 ? ""
                       : type == BORG_I64                               ? "(b_s64)"
                                                                        : "(b_s32)";
    const char *sense = v->op == BORG_RMIN ? "<" : ">";
    if (!tie) return borg_format(e->arena, "%s%s %s %s%s", sign, y, sense, sign, x);
    return borg_format(e->arena, "(%s%s %s %s%s) | ((%s == %s) & %s)", sign, y, sense, sign, x, y,
                       x, tie);
}

static best meet(simt *e, const borg_inst *v, best x, best y, const char *tie) {
    const char *take = simt_temp(e, BORG_I1, beats(e, v, y.value, x.value, tie));
    best z = {.value = simt_temp(e, v->args[0]->type,
                                 borg_format(e->arena, "%s ? %s : %s", take, y.value, x.value))};
    if (x.index)
        z.index =
            simt_temp(e, BORG_I32, borg_format(e->arena, "%s ? %s : %s", take, y.index, x.index));
    return z;
}

static const char *without_nan(simt *e, const borg_inst *v, const char *x) {
    borg_type type = v->args[0]->type;
    if (!borg_is_float(type)) return x;
    return simt_temp(e, type,
                     borg_format(e->arena, "%s != %s ? %sb_infinity_%s() : %s", x, x,
                                 v->op == BORG_RMIN ? "" : "-", simt_suffix(type), x));
}

static best extreme(simt *e, const borg_inst *v, int32_t r) {
    const borg_inst *x = v->args[0];
    bool index = v->op == BORG_RMAXIDX, ties = index || !borg_no_minus_zero(x);
    bool keep = index || (ties && e->rows > 1);
    best z = {0};
    for (int32_t j = 0; j < e->rows && j * e->lanes < e->m->size; ++j) {
        best y = {.value = without_nan(e, v, simt_get(e, x, r * e->rows + j)),
                  .index = keep ? borg_format(e->arena, "(b_i32)%s", simt_item(e, j)) : NULL};
        z = j == 0 ? y : meet(e, v, z, y, NULL);
    }
    for (int32_t h = 1; h < e->lanes; h *= 2) {
        best y = {.value = shuffled(e, x->type, z.value, h)};
        const char *tie = NULL;
        if (keep) y.index = shuffled(e, BORG_I32, z.index, h);
        if (ties)
            tie = keep && e->rows > 1
                      ? borg_format(e->arena, "((b_s32)%s < (b_s32)%s)", y.index, z.index)
                      : borg_format(e->arena, "((b_l & %d) != 0)", h);
        z = meet(e, v, z, y, tie);
    }
    return z;
}

/* ---- maxima by rank ----------------------------------------------------------------------------
 *
 * A work-item in each thread: the greatest of ranks of 32 bits (the upper half of a double's, the
 * rank of a float, an integer itself) by the machine's reduction or log2(lanes) exchanges; a vote
 * tells who holds it. Only if several do, the lower halves decide. */

/* Numbers whose bits order as they do: absolute values, constants, at most one of them negative. */
static bool ranks_itself(const borg_inst *v, uint64_t *negative, int depth) {
    uint64_t sign = v->type == BORG_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    if (v->op == BORG_FABS) return true;
    if (depth == 0) return false;
    if (v->op == BORG_CONST) {
        if (v->ntable != 1 || v->bits[0] == sign) return false;
        if (!(v->bits[0] & sign)) return true;
        bool same = *negative == 0 || *negative == v->bits[0];
        *negative = v->bits[0];
        return same;
    }
    if (v->op == BORG_FMAX || v->op == BORG_SELECT) {
        int32_t first = v->op == BORG_SELECT;
        return ranks_itself(v->args[first], negative, depth - 1) &&
               ranks_itself(v->args[first + 1], negative, depth - 1);
    }
    return v->op == BORG_BCAST && ranks_itself(v->args[0], negative, depth - 1);
}

static const char *greatest(simt *e, const char *type, const char *x) {
    bool sign = strcmp(type, "s32") == 0;
    const char *redux = sign ? "b_redux_s32" : "b_redux_u32";
    const char *least = sign ? "0x80000000u" : "0u";
    if (e->lanes == 32)
        return simt_temp(e, BORG_I32, borg_format(e->arena, "(b_i32)%s(%s)", redux, x));
    if (e->lanes == 16 && e->step == 1 &&
        strcmp(simt_mask(e), "B_WARP") == 0) { /* two are faster than exchanges */
        const char *half[2];
        for (int i = 0; i < 2; ++i)
            half[i] = simt_temp(e, BORG_I32,
                                borg_format(e->arena, "(b_i32)%s(b_base == %d ? %s : %s)", redux,
                                            16 * i, x, least));
        return simt_temp(e, BORG_I32,
                         borg_format(e->arena, "b_base == 0 ? %s : %s", half[0], half[1]));
    }
    for (int32_t h = 1; h < e->lanes; h *= 2)
        x = simt_temp(
            e, BORG_I32,
            borg_format(e->arena, "(b_i32)b_max_%s(%s, %s)", type, x, shuffled(e, BORG_I32, x, h)));
    return x;
}

/* The threads of the group, as bits, that hold the greatest rank. */
static const char *who(simt *e, const char *rank, const char *most) {
    return simt_temp(
        e, BORG_I32,
        borg_format(e->arena, "b_ballot(%s, %s == %s) & b_group", simt_mask(e), rank, most));
}

static const char *low_decides(simt *e, const char *bits, const char *rank, const char *most,
                               const char *held) {
    const char *winner = borg_format(e->arena, "t%d", e->c.temps++);
    ctext_line(&e->c, "b_i32 %s = %s;", winner, held);
    ctext_line(&e->c, "if (b_ballot(%s, (%s & (%s - 1)) != 0)) {", simt_mask(e), held, held);
    ++e->c.depth;
    const char *low = simt_temp(
        e, BORG_I32, borg_format(e->arena, "%s == %s ? (b_i32)%s : 0u", rank, most, bits));
    const char *all = greatest(e, "u32", low);
    ctext_line(&e->c, "%s = b_ballot(%s, (%s == %s) & (%s == %s)) & b_group;", winner, simt_mask(e),
               rank, most, low, all);
    --e->c.depth;
    ctext_line(&e->c, "}");
    return winner;
}

/* *index [out]: the thread; *value [out]: what it holds, NaN replaced. False: not by ranks. */
static bool by_rank(simt *e, const borg_inst *v, int32_t r, const char **index,
                    const char **value) {
    const borg_inst *from = v->args[0];
    borg_type type = from->type;
    bool several = e->rows != 1 && !(v->op == BORG_RMAX && type == BORG_I32);
    if (e->target->opencl || e->lanes == 1 || several || v->op == BORG_RMIN || type == BORG_I64 ||
        type == BORG_I1)
        return false;
    const char *x = simt_get(e, from, r * e->rows), *bits = x, *rank = x;
    const char *sense = v->uns ? "u32" : "s32";
    for (int32_t j = 1; j < e->rows && j * e->lanes < e->m->size; ++j)
        rank = simt_temp(e, BORG_I32,
                         borg_format(e->arena, "(b_i32)b_max_%s(%s, %s)", sense, rank,
                                     simt_get(e, from, r * e->rows + j)));
    if (borg_is_float(type)) {
        uint64_t negative = 0;
        bool plain = ranks_itself(from, &negative, 4);
        const char *suffix = simt_suffix(type), *given = x;
        borg_type wide = type == BORG_F64 ? BORG_I64 : BORG_I32;
        sense = "s32";
        x = without_nan(e, v, given);
        bits = simt_temp(e, wide,
                         plain ? borg_format(e->arena, "%s != %s ? (%s)1 << %d : b_bits_%s(%s)",
                                             given, given, e->target->types[wide],
                                             type == BORG_F64 ? 63 : 31, suffix, given)
                               : borg_format(e->arena, "b_rank_%s(%s)", suffix, x));
        rank = type == BORG_F64
                   ? simt_temp(e, BORG_I32, borg_format(e->arena, "(b_i32)(%s >> 32)", bits))
                   : bits;
    }
    const char *most = greatest(e, sense, rank), *winner;
    if (v->op == BORG_RMAX && !borg_is_float(type)) {
        *value = most;
        return true;
    }
    winner = who(e, rank, most);
    if (type == BORG_F64) winner = low_decides(e, bits, rank, most, winner);
    *value = x;
    *index = simt_temp(e, BORG_I32,
                       simt_thread_of_group(e, borg_format(e->arena, "b_lowest(%s)", winner)));
    return true;
}

/* The first work-item for which a condition holds, written as the index of the greatest of
 * size, size - 1, ... where it holds and 0 where not: a vote. */
static const char *first_that(simt *e, const borg_inst *v) {
    const borg_inst *x = v->args[0];
    if (v->op != BORG_RMAXIDX || e->target->opencl || e->lanes == 1) return NULL;
    if (x->op != BORG_SELECT || x->type != BORG_I32 || x->rows != 1) return NULL;
    const borg_inst *y = x->args[1], *z = x->args[2];
    if (y->op != BORG_CONST || !borg_is_splat(z) || z->bits[0] != 0) return NULL;
    for (int32_t w = 0; w < e->m->size; ++w) {
        uint64_t here = borg_const_bits(e->m, y, 0, w);
        if (here == 0 || here > INT32_MAX) return NULL;
        if (w > 0 && here >= borg_const_bits(e->m, y, 0, w - 1)) return NULL;
    }
    const char *first = "0u";
    for (int32_t j = (e->m->size - 1) / e->lanes; j >= 0; --j) {
        const char *held = simt_temp(e, BORG_I32,
                                     borg_format(e->arena, "b_ballot(%s, %s) & b_group",
                                                 simt_mask(e), simt_get(e, x->args[0], j)));
        first = borg_format(e->arena, "%s ? %s + %d : %s", held,
                            simt_thread_of_group(e, borg_format(e->arena, "b_lowest(%s)", held)),
                            j * e->lanes, first);
        if (j > 0) first = simt_temp(e, BORG_I32, first);
    }
    return first;
}

/* ---- any, all -------------------------------------------------------------------------------- */

static const char *of_thread(simt *e, const borg_inst *v, int32_t r) {
    const borg_inst *x = v->args[0];
    bool any = v->op == BORG_ANY || v->op == BORG_ANYP;
    borg_sink text = {.arena = e->arena};
    for (int32_t j = 0; j < simt_per_row(e, x) && j * e->lanes < e->m->size; ++j)
        borg_put(&text, "%s%s",
                 j == 0 ? ""
                 : any  ? " | "
                        : " & ",
                 simt_get(e, x, r * simt_per_row(e, x) + j));
    return simt_temp(e, BORG_I1, text.text);
}

static const char *vote(simt *e, const borg_inst *v, int32_t r) {
    const char *x = of_thread(e, v, r), *no = "";
    bool any = v->op == BORG_ANY || v->op == BORG_ANYP, pack = v->spread == BORG_UNI;
    if (pack ? e->lanes * e->m->pack == 1 : e->lanes == 1) return x;
    if (!any) no = "!";
    if (pack && e->units == 0) return borg_format(e->arena, "%sb_any_of_block(%s%s)", no, no, x);
    return borg_format(e->arena, "%s((b_ballot(%s, %s%s) & %s) != 0)", no, simt_mask(e), no, x,
                       pack ? "b_pack" : "b_group");
}

/* ---- OpenCL ---------------------------------------------------------------------------------- */

/* All by a function over what the work-items put into local memory. */
static const char *by_slot(simt *e, const borg_inst *v, int32_t r) {
    const borg_inst *x = v->args[0];
    const char *suffix = simt_suffix(x->type);
    bool pack = v->spread == BORG_UNI;
    ctext_line(&e->c, "barrier(CLK_LOCAL_MEM_FENCE);");
    ctext_line(&e->c, "b_r%s[%s] = %s;", suffix, x->spread == BORG_WI ? "b_at" : "b_own",
               simt_get(e, x, r));
    ctext_line(&e->c, "barrier(CLK_LOCAL_MEM_FENCE);");
    bool sign = !borg_is_float(x->type) && !v->uns && x->type != BORG_I1 && v->op != BORG_RSUM;
    int32_t count = (x->spread == BORG_WI ? e->m->size : 1) * (pack ? e->m->pack : 1);
    return borg_format(e->arena, "b_%s%s_%s(b_r%s + b_own * %d, %d)", sign ? "s" : "",
                       borg_op_table[v->op].text, suffix, suffix, pack ? 0 : e->m->size, count);
}

void simt_reduce(simt *e, borg_inst *v) {
    for (int32_t r = 0; r < v->rows; ++r) {
        const char *index = NULL, *value = NULL;
        if (e->target->opencl) {
            simt_let(e, v, r, by_slot(e, v, r));
        } else if (v->op >= BORG_ANY) {
            simt_let(e, v, r, vote(e, v, r));
        } else if (v->op == BORG_RSUM) {
            simt_let(e, v, r, sum(e, v->args[0], r));
        } else if (v->rows == 1 && (index = first_that(e, v))) {
            simt_let(e, v, r, index);
        } else if (by_rank(e, v, r, &index, &value)) {
            if (v->op == BORG_RMAX && !index)
                index = value;
            else if (v->op == BORG_RMAX)
                index = simt_shuffled(e, v->type, value, borg_format(e->arena, "(int)%s", index));
            simt_let(e, v, r, index);
        } else {
            best z = extreme(e, v, r);
            simt_let(e, v, r, v->op == BORG_RMAXIDX ? z.index : z.value);
        }
    }
}
