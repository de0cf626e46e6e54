/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves between lanes and rows, and reductions: shuffles and votes. */
#include "borg/emit/vrptx/core.h"
#include <string.h>

const char *vx_shuffled(vx *e, borg_type type, const char *how, const char *x, const char *from) {
    if (type == BORG_PTR) type = BORG_I64;
    if (type == BORG_I1) return vx_narrow(e, vx_shuffled(e, BORG_I32, how, vx_widen(e, x), from));
    const char *out = vx_new(e, type);
    vx_line(e, "shfl.%s.%s %s, %s, %s", how, vx_type(type), out, x, from);
    return out;
}

static const char *chosen(vx *e, borg_type type, const char *c, const char *x, const char *y) {
    const char *out = vx_new(e, type);
    vx_line(e, "selp.%s %s, %s, %s, %s", vx_type(type), out, x, y, c);
    return out;
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* Row r of a PERM: for each row that it reads from, a shuffle; then the lanes' choice. */
static const char *permuted(vx *e, const borg_inst *v, int32_t r) {
    const int32_t n = e->m->size, *map = &v->map[2 * r * n];
    uint64_t *lane = BORG_NEW(e->arena, n, uint64_t), *own = BORG_NEW(e->arena, n, uint64_t);
    const char *result = NULL;
    for (int32_t first = 0; first < n; ++first) {
        int32_t row = map[2 * first], known = 0;
        while (map[2 * known] != row) ++known;
        if (known < first) continue; /* that row was dealt with */
        bool stays = true;
        for (int32_t w = 0; w < n; ++w) {
            own[w] = map[2 * w] == row;
            /* lanes that do not care read what the first does: more of these are alike */
            lane[w] = (uint64_t)(own[w] ? map[2 * w + 1] : map[2 * first + 1]);
            stays = stays && (!own[w] || lane[w] == (uint64_t)w);
        }
        const char *x = vx_get(v->args[0], row);
        if (!stays) x = vx_shuffled(e, v->type, "idx", x, vx_by_lane(e, BORG_I32, lane));
        result = result ? chosen(e, v->type, vx_by_lane(e, BORG_I1, own), x, result) : x;
    }
    return result;
}

static const char *picked(vx *e, const borg_inst *v) {
    const borg_inst *x = v->args[0];
    const char *result = vx_get(x, 0), *index = vx_get(v->args[1], 0);
    for (int32_t r = 1; r < x->rows; ++r) {
        const char *c = vx_new(e, BORG_I1);
        vx_line(e, "setp.eq.s32 %s, %s, %d", c, index, r);
        result = chosen(e, v->type, c, vx_get(x, r), result);
    }
    return result;
}

void vx_layout(vx *e, borg_inst *v) {
    const borg_inst *x = v->args[0];
    for (int32_t r = 0; r < v->rows; ++r) {
        const char *name = NULL;
        switch (v->op) {
        case BORG_BCAST:
            name = vx_get(x, r);
            break;
        case BORG_ROWS:
            name = vx_get(v->args[r], v->map[r]);
            break;
        case BORG_PERM:
            name = permuted(e, v, r);
            break;
        case BORG_LANE:
            name = vx_shuffled(e, v->type, "idx", vx_get(x, v->map[2 * r]),
                               borg_format(e->arena, "%d", v->map[2 * r + 1]));
            break;
        case BORG_SHUFV:
            name = vx_shuffled(e, v->type, "idx", vx_get(x, r), vx_get(v->args[1], r));
            break;
        default: /* PICKV; there is no MMA on this machine */
            name = picked(e, v);
            break;
        }
        vx_name(e, v, r, name);
    }
}

/* ---- reductions ------------------------------------------------------------------------------ */

static int32_t first_half(int32_t n) {
    int32_t half = 1;
    while (2 * half < n) half *= 2;
    return half;
}

/* The language's halving tree: lanes below `half` take what lies half further, where that is. */
static const char *sum(vx *e, borg_type type, const char *x) {
    const char *t = vx_new(e, type), *as = vx_added_as(type);
    const int32_t n = e->m->size;
    vx_line(e, "mov.%s %s, %s", vx_type(type), t, x);
    for (int32_t half = first_half(n); half >= 1 && n > 1; half /= 2) {
        const char *y = vx_shuffled(e, type, "down", t, borg_format(e->arena, "%d", half));
        const char *p = vx_new(e, BORG_I1);
        vx_line(e, "setp.lt.u32 %s, $tid, %d", p, n - half);
        vx_line(e, "@%s add.%s %s, %s, %s", p, as, t, t, y);
    }
    return vx_shuffled(e, type, "idx", t, "0");
}

const char *vx_added_as(borg_type type) {
    return borg_is_float(type) ? vx_type(type) : type == BORG_I64 ? "s64" : "s32";
}

vx_extreme vx_extreme_start(vx *e, borg_type type, bool uns, bool least, const char *x) {
    const bool real = borg_is_float(type);
    vx_extreme k = {.type = type, .least = least};
    k.as = real               ? vx_type(type)
           : uns              ? (type == BORG_I64 ? "u64" : "u32")
           : type == BORG_I64 ? "s64"
                              : "s32";
    k.value = vx_new(e, type);
    k.at = vx_new(e, BORG_I32);
    vx_line(e, "mov.%s %s, %s", vx_type(type), k.value, x);
    vx_line(e, "mov.b32 %s, $tid", k.at);
    if (!real) return k;
    uint64_t infinity = type == BORG_F64 ? (uint64_t)0x7ff << 52 : (uint64_t)0xff << 23;
    uint64_t sign = type == BORG_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    const char *nan = vx_new(e, BORG_I1);
    vx_line(e, "setp.ne.%s %s, %s, %s", k.as, nan, k.value, k.value);
    vx_line(e, "@%s mov.%s %s, %s", nan, vx_type(type), k.value,
            vx_literal(e, type, least ? infinity : infinity | sign));
    return k;
}

void vx_extreme_step(vx *e, const vx_extreme *k, const char *by) {
    const char *y = vx_shuffled(e, k->type, "down", k->value, by),
               *l = vx_shuffled(e, BORG_I32, "down", k->at, by);
    const char *better = vx_new(e, BORG_I1), *same = vx_new(e, BORG_I1);
    const char *lower = vx_new(e, BORG_I1), *tie = vx_new(e, BORG_I1), *take = vx_new(e, BORG_I1);
    vx_line(e, "setp.%s.%s %s, %s, %s", k->least ? "lt" : "gt", k->as, better, y, k->value);
    vx_line(e, "setp.eq.%s %s, %s, %s", k->as, same, y, k->value);
    vx_line(e, "setp.lt.u32 %s, %s, %s", lower, l, k->at);
    vx_line(e, "and.pred %s, %s, %s", tie, same, lower);
    vx_line(e, "or.pred %s, %s, %s", take, better, tie);
    vx_line(e, "@%s mov.%s %s, %s", take, vx_type(k->type), k->value, y);
    vx_line(e, "@%s mov.b32 %s, %s", take, k->at, l);
}

static const char *extreme(vx *e, const borg_inst *v, borg_type type, const char *x) {
    const vx_extreme k = vx_extreme_start(e, type, v->uns, v->op == BORG_RMIN, x);
    for (int32_t half = first_half(e->m->size); half >= 1 && e->m->size > 1; half /= 2)
        vx_extreme_step(e, &k, borg_format(e->arena, "%d", half));
    return v->op == BORG_RMAXIDX ? vx_shuffled(e, BORG_I32, "idx", k.at, "0")
                                 : vx_shuffled(e, type, "idx", k.value, "0");
}

static const char *vote(vx *e, const char *how, const char *x) {
    const char *out = vx_new(e, BORG_I1);
    vx_line(e, "vote.%s.pred %s, %s", how, out, x);
    return out;
}

static const char *reduced(vx *e, const borg_inst *v, int32_t r) {
    const borg_inst *x = v->args[0];
    const char *name = vx_get(x, r);
    bool any = v->op == BORG_ANY || v->op == BORG_ANYP || v->op == BORG_RMAX;
    switch (v->op) {
    case BORG_ANY:
    case BORG_ALL:
    case BORG_ANYP:
    case BORG_ALLP:
        return x->spread == BORG_WI ? vote(e, any ? "any" : "all", name) : name;
    case BORG_RSUM:
        if (x->type != BORG_I1) return sum(e, x->type, name);
        name = sum(e, BORG_I32, vx_widen(e, name));
        const char *low = vx_new(e, BORG_I32);
        vx_line(e, "and.b32 %s, %s, 1", low, name);
        return vx_narrow(e, low);
    default:
        if (x->type != BORG_I1) return extreme(e, v, x->type, name);
        if (v->op != BORG_RMAXIDX) return vote(e, any ? "any" : "all", name);
        return extreme(e, v, BORG_I32, vx_widen(e, name));
    }
}

void vx_reduce(vx *e, borg_inst *v) {
    for (int32_t r = 0; r < v->rows; ++r) vx_name(e, v, r, reduced(e, v, r));
}
