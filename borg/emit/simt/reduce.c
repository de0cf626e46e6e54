/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions over the work-items of a group: first those of a thread, then over the threads by
 * exchanges with the neighbour at distance h (CUDA), or by a loop over a slot (OpenCL). The sum is
 * the halving tree of language.md: work-item w and w + h meet, h falling; with w = j * lanes + l
 * the first steps are within a thread. Maxima meet from h = 1 on, so that the lower of two threads
 * always stands for lower work-items, and ties go to it. */
#include "borg/emit/simt/simt.h"
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
    return simt_temp(
        e, type,
        borg_format(e->arena, "b_shfl_xor_%s(%s, %s, %d)", simt_suffix(type), simt_mask(e), x, h));
}

/* ---- sums --------------------------------------------------------------------------------------
 */

static const char *add(simt *e, borg_type type, const char *x, const char *y) {
    return simt_temp(e, type,
                     borg_is_float(type)
                         ? borg_format(e->arena, "b_fadd_%s(%s, %s)", simt_suffix(type), x, y)
                         : borg_format(e->arena, "%s %s %s", x, type == BORG_I1 ? "^" : "+", y));
}

/* -0 leaves everything as it is, -0 too. */
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
    for (int32_t h = e->lanes / 2; h > 0; h /= 2)
        part[0] = add(e, x->type, part[0], shuffled(e, x->type, part[0], h));
    return part[0];
}

/* ---- maxima ------------------------------------------------------------------------------------
 */

/* No -0 among its lanes: then equal values have equal bits. */
static bool without_minus_zero(const borg_inst *v, int depth) {
    if (!borg_is_float(v->type) || v->op == BORG_FABS) return true;
    if (depth == 0) return false;
    if (v->op == BORG_CONST) {
        for (int32_t i = 0; i < v->ntable; ++i)
            if (v->bits[i] == (v->type == BORG_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31))
                return false;
        return true;
    }
    if (v->op == BORG_FMAX || v->op == BORG_FMIN)
        return without_minus_zero(v->args[0], depth - 1) &&
               without_minus_zero(v->args[1], depth - 1);
    if (v->op == BORG_SELECT)
        return without_minus_zero(v->args[1], depth - 1) &&
               without_minus_zero(v->args[2], depth - 1);
    return v->op == BORG_BCAST && without_minus_zero(v->args[0], depth - 1);
}

typedef struct best {
    const char *value, *index; /* index NULL: not asked for */
} best;

/* y instead of x? Beyond comparing: y comes from a higher work-item, or it is told by a condition
 * which of them is lower. */
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
    bool index = v->op == BORG_RMAXIDX, ties = index || !without_minus_zero(x, 4);
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
            tie = e->rows > 1 ? borg_format(e->arena, "((b_s32)%s < (b_s32)%s)", y.index, z.index)
                              : borg_format(e->arena, "((b_l & %d) != 0)", h);
        z = meet(e, v, z, y, tie);
    }
    return z;
}

/* A warp for a group: the machine's own reduction of 32 bits, twice for 64. */
static const char *by_warp(simt *e, const borg_inst *v, const char *x) {
    borg_type type = v->args[0]->type;
    const char *sign = borg_is_float(type) ? "" : v->uns ? "u" : "s";
    if (e->target->opencl || e->lanes != 32 || e->rows != 1 || v->op == BORG_RMIN ||
        type == BORG_I64 || type == BORG_I1)
        return NULL;
    return borg_format(e->arena, "b_%s%s_%s(%s)", sign, borg_op_table[v->op].text,
                       simt_suffix(type), x);
}

/* ---- any, all ----------------------------------------------------------------------------------
 */

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

/* ---- OpenCL ------------------------------------------------------------------------------------
 */

/* All by a function over what the work-items put into local memory. */
static const char *by_slot(simt *e, const borg_inst *v, int32_t r) {
    const borg_inst *x = v->args[0];
    const char *suffix = simt_suffix(x->type);
    bool pack = v->spread == BORG_UNI;
    simt_line(e, "barrier(CLK_LOCAL_MEM_FENCE);");
    simt_line(e, "b_r%s[%s] = %s;", suffix, x->spread == BORG_WI ? "b_at" : "b_own",
              simt_get(e, x, r));
    simt_line(e, "barrier(CLK_LOCAL_MEM_FENCE);");
    bool sign = !borg_is_float(x->type) && !v->uns && x->type != BORG_I1 && v->op != BORG_RSUM;
    int32_t count = (x->spread == BORG_WI ? e->m->size : 1) * (pack ? e->m->pack : 1);
    return borg_format(e->arena, "b_%s%s_%s(b_r%s + b_own * %d, %d)", sign ? "s" : "",
                       borg_op_table[v->op].text, suffix, suffix, pack ? 0 : e->m->size, count);
}

void simt_reduce(simt *e, borg_inst *v) {
    for (int32_t r = 0; r < v->rows; ++r) {
        const char *fast = NULL;
        if (e->target->opencl) {
            simt_let(e, v, r, by_slot(e, v, r));
        } else if (v->op >= BORG_ANY) {
            simt_let(e, v, r, vote(e, v, r));
        } else if (v->op == BORG_RSUM) {
            simt_let(e, v, r, sum(e, v->args[0], r));
        } else if ((fast = by_warp(e, v, simt_get(e, v->args[0], r)))) {
            simt_let(e, v, r, fast);
        } else {
            best z = extreme(e, v, r);
            simt_let(e, v, r, v->op == BORG_RMAXIDX ? z.index : z.value);
        }
    }
}
