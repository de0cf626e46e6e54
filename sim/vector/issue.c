/* SPDX-License-Identifier: BSD-3-Clause */
/* From the buffer to the units: operands, units, the queue of memory. */
#include "sim/vector/core.h"
#include <string.h>

static const vs_step *head_of(const vs_core *c, const vs_slot *s) {
    return &c->trace->steps[s->issued];
}

static const vr_inst *inst_of(const vs_core *c, const vs_step *step) {
    return &c->program->insts[step->inst & ~VS_STRIP];
}

/* ---- operands -------------------------------------------------------------------------------- */

static void wait_for(vs_slot *s, int32_t r) {
    if (s->ready[r] <= s->not_before) return;
    s->not_before = s->ready[r];
    s->by_load = s->loaded[r];
}

/* All steps before it were issued, so it is known when its operands are there. */
static void find_operands(const vs_core *c, vs_slot *s) {
    while (c->classes[head_of(c, s)->inst & ~VS_STRIP] == VR_ON_CONTROL) ++s->issued; /* decided */
    const vs_step *step = head_of(c, s);
    const vr_inst *v = inst_of(c, step);
    s->not_before = 0;
    s->by_load = false;
    if (v->guard >= 0) wait_for(s, v->guard);
    if (v->base.kind == VR_REG) wait_for(s, v->base.at);
    for (int k = 0; k < 3; ++k)
        if (v->a[k].kind == VR_REG) wait_for(s, v->a[k].at);
    if (v->dst >= 0 && !(step->inst & VS_STRIP)) wait_for(s, v->dst);
    s->head = true;
}

/* ---- units ----------------------------------------------------------------------------------- */

int32_t vs_holds(const vs_machine *m, vr_class class, const vs_step *step) {
    int32_t lanes = m->complex_by == VS_BY_VL ? step->vl : step->active > 0 ? step->active : 1;
    switch (class) {
    case VR_ON_COMPLEX:
        return (lanes + m->complex_lanes - 1) / m->complex_lanes;
    case VR_ON_STORE:
        return (lanes + m->store_lanes - 1) / m->store_lanes;
    case VR_ON_DIVIDE:
        return m->divide_cycles;
    case VR_ON_LOAD:
        if (step->nspans == 0) return 1;
        if (m->access == VS_BY_SPANS) return (int32_t)step->nspans;
        return m->access == VS_BY_STRIDE && step->nspans == 1 ? 1 : step->active;
    default:
        return 1;
    }
}

/* Kinds that execute a class, the preferred one first; how many. */
static int kinds_of(vr_class class, vs_unit list[2]) {
    switch (class) {
    case VR_ON_FMA:
    case VR_ON_DIVIDE:
        list[0] = VS_FMA_UNIT;
        list[1] = VS_FMA_ALU_UNIT;
        return 2;
    case VR_ON_ALU:
        list[0] = VS_FMA_ALU_UNIT;
        list[1] = VS_ALU_STORE_UNIT;
        return 2;
    case VR_ON_LOAD:
        list[0] = VS_PORT;
        return 1;
    default:
        list[0] = VS_ALU_STORE_UNIT;
        return 1;
    }
}

/* A unit that is free now, behind the one used last; -1: none. */
static int32_t find_free(const vs_core *c, vs_unit kind) {
    int32_t n = c->units[kind], k = c->last[kind];
    for (int32_t i = 0; i < n; ++i) {
        if (++k >= n) k = 0;
        if (c->free_at[kind][k] <= c->now) return k;
    }
    return -1;
}

static int64_t first_free(const vs_core *c, vs_unit kind) {
    int64_t first = INT64_MAX;
    for (int32_t k = 0; k < c->units[kind]; ++k)
        if (c->free_at[kind][k] < first) first = c->free_at[kind][k];
    return first;
}

/* Room in the queue of accesses; those that ended leave it. */
static bool has_room(vs_core *c) {
    if (c->nqueue < c->m->memory_queue) return true;
    int32_t kept = 0;
    for (int32_t i = 0; i < c->nqueue; ++i)
        if (c->queue[i] > c->now) c->queue[kept++] = c->queue[i];
    c->nqueue = kept;
    return kept < c->m->memory_queue;
}

int64_t vs_when(const vs_core *c, vs_slot *s, vs_stall *stall) {
    if (!s->head) find_operands(c, s);
    vr_class class = c->classes[head_of(c, s)->inst & ~VS_STRIP];
    bool memory = class == VR_ON_LOAD || class == VR_ON_STORE;
    vs_unit kinds[2];
    int64_t free = INT64_MAX;
    if (s->not_before > c->now) {
        *stall = s->by_load ? VS_MEMORY : VS_OPERAND;
        return s->not_before;
    }
    for (int k = 0, n = kinds_of(class, kinds); k < n; ++k) {
        int64_t at = first_free(c, kinds[k]);
        if (at < free) free = at;
    }
    if (free > c->now) {
        *stall = class == VR_ON_LOAD ? VS_MEMORY : VS_UNIT;
        return free;
    }
    if (memory && c->nqueue >= c->m->memory_queue) {
        int64_t first = INT64_MAX;
        for (int32_t i = 0; i < c->nqueue; ++i)
            if (c->queue[i] < first) first = c->queue[i];
        if (first > c->now) {
            *stall = VS_MEMORY;
            return first;
        }
    }
    *stall = VS_WIDTH;
    return c->now + 1;
}

/* ---- issue ----------------------------------------------------------------------------------- */

static void tell(vs_core *c, const vs_slot *s, const vs_step *step, vs_unit kind, int32_t unit,
                 int32_t holds) {
    vs_log *log = c->log;
    if (!log || c->now + c->offset >= log->until) return;
    log->events =
        borg_grow(c->diags->arena, log->events, log->count + 1, &log->room, sizeof *log->events);
    log->events[log->count++] = (vs_event){.start = c->now + c->offset,
                                           .end = c->now + c->offset + holds,
                                           .slot = (int32_t)(s - c->slots),
                                           .part = s->part,
                                           .inst = (int32_t)(step->inst & ~VS_STRIP),
                                           .unit = (int16_t)kind,
                                           .number = (int16_t)unit};
}

static void enqueue(vs_core *c, int64_t until) {
    if (until > c->now) c->queue[c->nqueue++] = until;
}

static void finish_issue(vs_core *c, vs_slot *s, const vs_step *step, vs_unit kind, int32_t unit) {
    const vr_inst *v = inst_of(c, step);
    vr_class class = c->classes[step->inst & ~VS_STRIP];
    int32_t holds = vs_holds(c->m, class, step);
    int64_t done = c->now + holds;
    c->free_at[kind][unit] = done;
    c->last[kind] = unit;
    c->times->busy[kind] += holds;
    if (kind != VS_PORT) c->times->pipeline_busy[unit % c->times->pipelines] += holds;
    if (class == VR_ON_LOAD && step->nspans) {
        int64_t there = vs_transfer(c, step, c->now, holds);
        if (there < done) there = done;
        enqueue(c, there);
        done = there + c->m->load_latency;
    } else if (class == VR_ON_STORE && step->nspans) {
        int64_t there = vs_transfer(c, step, c->now, holds);
        enqueue(c, there);
        if (there > c->end) c->end = there;
    }
    if (v->dst >= 0) {
        if (!(step->inst & VS_STRIP) || done > s->ready[v->dst]) s->ready[v->dst] = done;
        s->loaded[v->dst] = class == VR_ON_LOAD;
    }
    if (done > s->done) s->done = done;
    ++c->times->issued;
    c->times->lanes += step->vl;
    c->times->active += step->active;
    tell(c, s, step, kind, unit, holds);
    ++s->issued;
    ++s->nissued;
    s->head = false;
    s->moved = true;
    --c->waiting;
}

/* Can the next step of the slot go now? Then it goes. */
static bool try_issue(vs_core *c, vs_slot *s) {
    vs_unit kinds[2];
    if (!s->head) find_operands(c, s);
    if (s->not_before > c->now) return false;
    const vs_step *step = head_of(c, s);
    vr_class class = c->classes[step->inst & ~VS_STRIP];
    if ((class == VR_ON_LOAD || class == VR_ON_STORE) && !has_room(c)) return false;
    for (int k = 0, n = kinds_of(class, kinds); k < n; ++k) {
        int32_t unit = find_free(c, kinds[k]);
        if (unit < 0) continue;
        finish_issue(c, s, step, kinds[k], unit);
        return true;
    }
    return false;
}

/* Slots in the order in which they may issue: by the age of their next step, or in turn. */
static int32_t order_slots(const vs_core *c, int32_t *list) {
    int32_t count = 0;
    uint64_t age[64];
    for (int32_t i = 0; i < c->nslots; ++i) {
        int32_t k = c->m->policy == VS_ROBIN ? (c->turn + i) % c->nslots : i;
        const vs_slot *s = &c->slots[k];
        if (s->part < 0 || !vs_has_head(s)) continue;
        uint64_t own =
            c->m->policy == VS_ROBIN ? (uint64_t)i : s->age[s->nissued % (uint64_t)c->m->buffer];
        int32_t at = count++;
        for (; at > 0 && age[at - 1] > own; --at) {
            age[at] = age[at - 1];
            list[at] = list[at - 1];
        }
        age[at] = own;
        list[at] = k;
    }
    return count;
}

int32_t vs_issue(vs_core *c) {
    int32_t list[64], issued = 0, count = order_slots(c, list);
    for (int32_t i = 0; i < count && issued < c->m->issue_width; ++i) {
        vs_slot *s = &c->slots[list[i]];
        while (issued < c->m->issue_width && vs_has_head(s) && try_issue(c, s)) ++issued;
    }
    c->turn = (c->turn + 1) % c->nslots;
    return issued;
}
