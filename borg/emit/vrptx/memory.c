/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores: an array and an index of each lane. */
#include "borg/emit/vrptx/core.h"

/* $tid times `by`, computed once before the body. */
static const char *strided(vx *e, int64_t by) {
    for (vx_stride *s = e->strides; s; s = s->next)
        if (s->by == by) return s->name;
    vx_stride *s = BORG_NEW(e->arena, 1, vx_stride);
    const char *wide = by == 1 ? NULL : strided(e, 1);
    *s = (vx_stride){by, vx_new(e, BORG_I64), NULL};
    if (by == 1)
        vx_once(e, "cvt.u64.u32 %s, $tid", s->name);
    else
        vx_once(e, "mul.s64 %s, %s, %lld", s->name, wide, (long long)by);
    s->next = e->strides;
    e->strides = s;
    return s->name;
}

static const char *added(vx *e, const char *x, const char *y) {
    const char *out = vx_new(e, BORG_I64);
    vx_line(e, "add.s64 %s, %s, %s", out, x, y);
    return out;
}

/* The index of row r in elements. */
static const char *index_of(vx *e, const borg_inst *v, const borg_inst *value, int32_t r) {
    const borg_inst *off = v->args[1];
    if (v->op == BORG_LOAD || v->op == BORG_STORE) return vx_get(off, r);
    const char *index = vx_get(off, 0);
    if (v->b && value->spread == BORG_WI) index = added(e, index, strided(e, v->b));
    if (v->c[r]) index = added(e, index, borg_format(e->arena, "%lld", (long long)v->c[r]));
    return index;
}

static const char *address(vx *e, const borg_inst *v, const borg_inst *value, int32_t r) {
    const borg_inst *p = v->args[0];
    const char *base =
        p->op == BORG_LOCAL ? borg_format(e->arena, "b_s%d", p->index) : vx_get(p, 0);
    return borg_format(e->arena, "[%s + %s]", base, index_of(e, v, value, r));
}

static const char *leader(vx *e) {
    if (e->leader) return e->leader;
    e->leader = vx_new(e, BORG_I1);
    vx_once(e, "setp.eq.u32 %s, $tid, 0", e->leader);
    return e->leader;
}

void vx_memory(vx *e, borg_inst *v) {
    const borg_inst *stored = borg_stored(v), *mask = borg_mask(v), *value = stored ? stored : v;
    if (v->op == BORG_BARRIER) return; /* the threads of a warp go together */
    const char *space = v->args[0]->op == BORG_LOCAL ? "shared" : "global";
    for (int32_t r = 0; r < value->rows; ++r) {
        const char *at = address(e, v, value, r), *type = vx_type(value->type), *guard = "";
        const char *on = mask ? vx_in_register(e, BORG_I1, vx_get(mask, r)) : NULL;
        if (stored && stored->spread != BORG_WI) { /* one lane of a warp does it */
            const char *first = leader(e);
            if (on) {
                const char *both = vx_new(e, BORG_I1);
                vx_line(e, "and.pred %s, %s, %s", both, on, first);
                on = both;
            } else {
                on = first;
            }
        }
        if (on) guard = borg_format(e->arena, "@%s ", on);
        if (stored) {
            vx_line(e, "%sst.%s.%s %s, %s", guard, space, type, at, vx_get(stored, r));
            continue;
        }
        const char *out = vx_new(e, v->type);
        if (on) vx_line(e, "mov.%s %s, 0", type, out); /* lanes that do not read have 0 */
        vx_line(e, "%sld.%s.%s %s, %s", guard, space, type, out, at);
        vx_name(e, v, r, out);
    }
}
