/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores of lanes. A pointer in a register is the array's number plus one in bits 40 up,
 * and a distance from its beginning, in bytes, with a sign: a pointer that left its array is found
 * out. */
#include "sim/vector/engine.h"
#include <inttypes.h>
#include <string.h>

enum { SHIFT = 40 };

void vs_place_arrays(vs_memory *memory) {
    int64_t base = 4096;
    for (int32_t i = 0; i < memory->count; ++i) {
        vs_array *a = &memory->arrays[i];
        a->base = base;
        base += (a->count * vr_bytes(a->type) + 4095) / 4096 * 4096;
    }
}

static bool trap(vs_engine *e, const vr_inst *v, int32_t lane, const char *reason) {
    const vs_warp *w = &e->warps[e->warp[lane]];
    borg_report(e->diags, BORG_ERROR, v->loc, "warp %d, thread %d: %s", w->wid,
                lane - e->start[lane], reason);
    e->failed = true;
    return false;
}

static bool outside(vs_engine *e, const vr_inst *v, int32_t lane, const char *name, int64_t index,
                    int64_t count) {
    return trap(e, v, lane,
                borg_format(e->diags->arena, "%s[%" PRId64 "] of %" PRId64 " elements", name, index,
                            count));
}

/* The index of lane l, in elements. */
static inline int64_t index_of(const vr_program *p, const vr_inst *v, const vs_lane *index,
                               int32_t l) {
    vr_operand o = v->a[0];
    if (o.kind == VR_NOTHING) return 0;
    bool narrow = o.kind == VR_META ||
                  (o.kind == VR_REG && vr_bytes(p->registers[o.at].type) == 4) ||
                  (o.kind == VR_SCALAR && vr_bytes(p->params[o.at].type) == 4);
    return narrow ? index[l].i : index[l].s;
}

static inline void move(const vr_inst *v, char *at, vs_lane *lane, int bytes) {
    if (v->op == VR_ST) {
        memcpy(at, lane, (size_t)bytes);
    } else {
        lane->u = 0;
        memcpy(lane, at, (size_t)bytes);
    }
}

/* Arrays by name: the same for all lanes. */
static bool access_named(vs_engine *e, const vr_inst *v, const vs_lane *index, vs_lane *value) {
    const vs_array *a = &e->memory->arrays[e->args[v->base.at].array];
    int bytes = vr_bytes(v->type);
    for (int32_t l = 0; l < e->n; ++l) {
        if (!e->mask[l]) continue;
        int64_t i = index_of(e->program, v, index, l);
        if (i < 0 || i >= a->count) return outside(e, v, l, a->name, i, a->count);
        move(v, (char *)a->data + i * bytes, &value[l], bytes);
        e->address[l] = a->base + i * bytes;
        e->last_index = i;
    }
    e->last_array = e->args[v->base.at].array;
    return true;
}

/* Arrays by pointers of the lanes. */
static bool access_pointed(vs_engine *e, const vr_inst *v, const vs_lane *index, vs_lane *value) {
    const vs_lane *pointer = vs_operand(e, v->base);
    int bytes = vr_bytes(v->type);
    for (int32_t l = 0; l < e->n; ++l) {
        if (!e->mask[l]) continue;
        uint64_t u = pointer[l].u + ((uint64_t)1 << (SHIFT - 1));
        int64_t number = (int64_t)(u >> SHIFT) - 1;
        int64_t offset = (int64_t)(u & (((uint64_t)1 << SHIFT) - 1)) - ((int64_t)1 << (SHIFT - 1));
        if (number < 0 || number >= e->memory->count)
            return trap(e, v, l, "no pointer to an array");
        const vs_array *a = &e->memory->arrays[number];
        int64_t i = index_of(e->program, v, index, l);
        if (offset % bytes || vr_bytes(a->type) != bytes)
            return trap(e, v, l, "a pointer between the elements of an array");
        if (i > a->count || i < -a->count) return outside(e, v, l, a->name, i, a->count);
        i += offset / bytes;
        if (i < 0 || i >= a->count) return outside(e, v, l, a->name, i, a->count);
        move(v, (char *)a->data + i * bytes, &value[l], bytes);
        e->address[l] = a->base + i * bytes;
        e->last_array = (int32_t)number;
        e->last_index = i;
    }
    return true;
}

/* Arrays of the warps, and of constants. They lie above all others. */
static bool access_own(vs_engine *e, const vr_inst *v, const vs_lane *index, vs_lane *value) {
    const vr_array *a =
        &(v->how == VR_SHARED ? e->program->shared : e->program->consts)[v->base.at];
    int bytes = vr_bytes(v->type);
    for (int32_t l = 0; l < e->n; ++l) {
        if (!e->mask[l]) continue;
        int64_t i = index_of(e->program, v, index, l);
        if (i < 0 || i >= a->count) return outside(e, v, l, a->name, i, a->count);
        e->address[l] = ((int64_t)1 << 50) + ((int64_t)v->base.at << 32) + i * bytes;
        if (v->how == VR_CONST) {
            value[l].u = a->values[i];
            e->address[l] += (int64_t)1 << 49;
            continue;
        }
        int64_t at = ((int64_t)e->warp[l] * a->count + i) * bytes;
        move(v, e->shared[v->base.at] + at, &value[l], bytes);
        e->address[l] += (int64_t)e->warp[l] * a->count * bytes;
    }
    return true;
}

bool vs_access(vs_engine *e, const vr_inst *v) {
    const vs_lane *index = v->a[0].kind ? vs_operand(e, v->a[0]) : NULL;
    vs_lane *value;
    if (v->op == VR_ST) { /* a copy: an operand may be anything */
        memcpy(e->result, vs_operand(e, v->a[1]), (size_t)e->n * sizeof *e->result);
        value = e->result;
        e->stores += e->nmask > 0;
    } else {
        value = e->registers + (int64_t)v->dst * e->most;
    }
    if (v->how != VR_GLOBAL) return access_own(e, v, index, value);
    return v->base.kind == VR_REG ? access_pointed(e, v, index, value)
                                  : access_named(e, v, index, value);
}
