/* SPDX-License-Identifier: BSD-3-Clause */
/* A partition from its first instruction to the exit of its last lane: control, and the trace. */
#include "sim/vector/engine.h"
#include <inttypes.h>
#include <string.h>

enum { WATCH_FROM = 4096 /* jumps back before a loop without change is looked for */ };

/* ---- making ---------------------------------------------------------------------------------- */

static void splat(vs_lane *to, uint64_t bits, int32_t n) {
    for (int32_t l = 0; l < n; ++l) to[l].u = bits;
}

vs_engine *vs_engine_new(const vr_program *p, int32_t lanes, int32_t threads, vs_memory *memory,
                         const vs_arg *args, borg_diags *diags) {
    borg_arena *arena = diags->arena;
    vs_engine *e = BORG_NEW(arena, 1, vs_engine);
    int64_t most = (threads + 7) / 8 * 8;
    *e = (vs_engine){.program = p, .memory = memory, .args = args, .diags = diags, .lanes = lanes};
    e->most = (int32_t)most;
    e->registers = BORG_NEW(arena, (p->nregisters + 1) * most, vs_lane);
    e->constants = BORG_NEW(arena, (p->nconstants + 1) * most, vs_lane);
    e->scalars = BORG_NEW(arena, (p->nparams + 1) * most, vs_lane);
    e->metas = BORG_NEW(arena, VR_METAS * most, vs_lane);
    e->result = BORG_NEW(arena, most, vs_lane);
    e->start = BORG_NEW(arena, most, int32_t);
    e->warp = BORG_NEW(arena, most, int32_t);
    e->waiting = BORG_NEW(arena, most, int32_t);
    e->active = BORG_NEW(arena, most, uint8_t);
    e->mask = BORG_NEW(arena, most, uint8_t);
    e->address = BORG_NEW(arena, most, int64_t);
    e->shared = BORG_NEW(arena, p->nshared + 1, char *);
    e->limit = INT64_C(1) << 32;
    for (int32_t i = 0; i < p->nconstants; ++i)
        splat(e->constants + i * most, p->constants[i], e->most);
    for (int32_t i = 0; i < p->nparams; ++i)
        splat(e->scalars + i * most,
              p->params[i].array ? (uint64_t)(args[i].array + 1) << 40 : args[i].bits, e->most);
    return e;
}

int32_t vs_entry_of(const vs_engine *e, int32_t ntids) {
    return vr_entry_for(e->program, ntids);
}

void vs_limit_steps(vs_engine *e, int64_t steps) {
    e->limit = steps > 0 ? steps : INT64_C(1) << 32;
}

void vs_trace_reset(vs_trace *t) {
    t->nsteps = t->nspans = 0;
    t->nparts = 0;
}

static void begin(vs_engine *e, const vs_warp *warps, int32_t count) {
    const vr_program *p = e->program;
    int32_t n = 0;
    e->warps = warps;
    for (int32_t i = 0; i < count; ++i) {
        int32_t first = n;
        for (int32_t t = 0; t < warps[i].ntids; ++t, ++n) {
            e->metas[VR_TID * e->most + n].u = (uint32_t)t;
            e->metas[VR_WID * e->most + n].u = (uint32_t)warps[i].wid;
            e->metas[VR_NTIDS * e->most + n].u = (uint32_t)warps[i].ntids;
            e->start[n] = first;
            e->warp[n] = i;
        }
    }
    for (int32_t i = 0; i < p->nshared; ++i) {
        size_t bytes = (size_t)p->shared[i].count * (size_t)vr_bytes(p->shared[i].type);
        if (count > e->nwarps) e->shared[i] = borg_alloc(e->diags->arena, (size_t)count, bytes);
        memset(e->shared[i], 0, (size_t)count * bytes);
    }
    if (count > e->nwarps) e->nwarps = count;
    e->n = e->nactive = n;
    for (int32_t i = 0; i < p->nregisters; ++i)
        memset(e->registers + (int64_t)i * e->most, 0, (size_t)n * sizeof *e->registers);
    memset(e->active, 1, (size_t)n);
    memset(e->waiting, 0, (size_t)n * sizeof *e->waiting);
    e->watch.backward = 0;
    e->watch.set = false;
    e->last_array = -1;
    e->failed = false;
}

/* ---- the trace ------------------------------------------------------------------------------- */

static void add_spans(vs_engine *e, vs_trace *t, vs_step *step, int32_t from, int32_t to,
                      int32_t bytes) {
    borg_arena *arena = e->diags->arena;
    vs_span *last = NULL;
    step->span = (uint32_t)t->nspans;
    for (int32_t l = from; l < to; ++l) {
        if (!e->mask[l]) continue;
        if (last && last->address + last->bytes == e->address[l]) {
            last->bytes += bytes;
            ++last->lanes;
            continue;
        }
        if (last && last->address + last->bytes - bytes == e->address[l]) { /* the same again */
            ++last->lanes;
            continue;
        }
        t->spans = borg_grow(arena, t->spans, t->nspans + 1, &t->spans_room, sizeof *t->spans);
        last = &t->spans[t->nspans++];
        *last = (vs_span){e->address[l], bytes, 1};
    }
    step->nspans = (uint32_t)t->nspans - step->span;
}

static void record(vs_engine *e, vs_trace *t, int32_t pc) {
    const vr_inst *v = &e->program->insts[pc];
    bool memory = v->op == VR_LD || v->op == VR_ST;
    bool control = vr_op_table[v->op].class == VR_ON_CONTROL;
    for (int32_t from = 0; from < e->n; from += e->lanes) {
        int32_t to = from + e->lanes < e->n ? from + e->lanes : e->n;
        vs_step step = {.inst = (uint32_t)pc | (from ? VS_STRIP : 0), .vl = (uint16_t)(to - from)};
        if (control && from) return; /* by the slot, once */
        if (to - from == e->n) {
            step.active = (uint16_t)e->nmask;
        } else {
            for (int32_t l = from; l < to; ++l) step.active += e->mask[l];
        }
        if (memory) add_spans(e, t, &step, from, to, vr_bytes(v->type));
        t->steps = borg_grow(e->diags->arena, t->steps, t->nsteps + 1, &t->steps_room, sizeof step);
        t->steps[t->nsteps++] = step;
    }
}

/* ---- control --------------------------------------------------------------------------------- */

static void set_mask(vs_engine *e, const vr_inst *v) {
    const bool lot = e->guess && v->guard >= 0 && e->guess->unknown[v->guard] &&
                     vr_op_table[v->op].class == VR_ON_CONTROL;
    if (lot && !vs_draw(e->guess)) {
        memset(e->mask, 0, (size_t)e->n);
        e->nmask = 0;
        return;
    }
    if (v->guard < 0 || lot) {
        memcpy(e->mask, e->active, (size_t)e->n);
        e->nmask = e->nactive;
        return;
    }
    const vs_lane *guard = e->registers + (int64_t)v->guard * e->most;
    int32_t count = 0;
    for (int32_t l = 0; l < e->n; ++l) {
        e->mask[l] = e->active[l] & (uint8_t)(guard[l].u ^ v->negated);
        count += e->mask[l];
    }
    e->nmask = count;
}

/* The lanes that are furthest back go on; -1: all have left. */
static int32_t choose(vs_engine *e) {
    int32_t pc = VS_GONE;
    for (int32_t l = 0; l < e->n; ++l)
        if (e->waiting[l] < pc) pc = e->waiting[l];
    e->nactive = 0;
    for (int32_t l = 0; l < e->n; ++l) {
        e->active[l] = e->waiting[l] == pc && pc != VS_GONE;
        e->nactive += e->active[l];
    }
    return pc == VS_GONE ? -1 : pc;
}

static int32_t control(vs_engine *e, const vr_inst *v, int32_t pc) {
    switch (v->op) {
    case VR_ALLBRA:
        return e->nmask == e->nactive ? v->target : pc + 1;
    case VR_BRA:
        if (e->nmask == 0) return pc + 1;
        for (int32_t l = 0; l < e->n; ++l)
            if (e->active[l]) e->waiting[l] = e->mask[l] ? v->target : pc + 1;
        return choose(e);
    case VR_JOIN:
        if (e->nactive == e->n) return pc + 1;
        for (int32_t l = 0; l < e->n; ++l) {
            bool joins = !e->active[l] && e->waiting[l] == pc;
            e->active[l] |= joins;
            e->nactive += joins;
        }
        return pc + 1;
    default: /* EXIT */
        for (int32_t l = 0; l < e->n; ++l)
            if (e->active[l]) e->waiting[l] = VS_GONE;
        return choose(e);
    }
}

/* ---- loops without change ----------------------------------------------------------------------
 *
 * If registers, lanes and place are what they were at an earlier jump back, and nothing was stored
 * in between, they will be so for ever (R. P. Brent's search for a cycle, 1980). */

static void keep_state(vs_engine *e, int32_t pc) {
    struct vs_watch *w = &e->watch;
    size_t size = (size_t)e->program->nregisters * (size_t)e->most * sizeof *w->registers;
    if (!w->registers) {
        w->registers = BORG_NEW(e->diags->arena,
                                (size_t)e->program->nregisters * (size_t)e->most + 1, vs_lane);
        w->active = BORG_NEW(e->diags->arena, e->most, uint8_t);
        w->waiting = BORG_NEW(e->diags->arena, e->most, int32_t);
    }
    memcpy(w->registers, e->registers, size);
    memcpy(w->active, e->active, (size_t)e->n);
    memcpy(w->waiting, e->waiting, (size_t)e->n * sizeof *w->waiting);
    w->pc = pc;
    w->stores = e->stores;
    w->set = true;
}

static bool same_state(const vs_engine *e, int32_t pc) {
    const struct vs_watch *w = &e->watch;
    size_t size = (size_t)e->program->nregisters * (size_t)e->most * sizeof *w->registers;
    return w->set && w->pc == pc && w->stores == e->stores &&
           memcmp(w->active, e->active, (size_t)e->n) == 0 &&
           memcmp(w->waiting, e->waiting, (size_t)e->n * sizeof *w->waiting) == 0 &&
           memcmp(w->registers, e->registers, size) == 0;
}

static void tell_deadlock(vs_engine *e, const vr_inst *from, int32_t to) {
    borg_sink who = {.arena = e->diags->arena};
    int32_t last = -1, count = 0;
    for (int32_t l = 0; l < e->n; ++l) {
        if (!e->active[l] || e->warp[l] == last) continue;
        last = e->warp[l];
        if (count++ < 8) borg_put(&who, "%s%d", count > 1 ? ", " : "", e->warps[last].wid);
    }
    if (count > 8) borg_put(&who, " and %d more", count - 8);
    borg_put(&who, " wait%s for ever in lines %d to %d: nothing changes any more",
             count == 1 ? "s" : "", e->program->insts[to].loc.line, from->loc.line);
    if (e->last_array >= 0)
        borg_put(&who,
                 "; what was read last is %s[%" PRId64
                 "], and no other warp runs that could store there",
                 e->memory->arrays[e->last_array].name, e->last_index);
    borg_report(e->diags, BORG_ERROR, from->loc, "deadlock: warp %s", who.text);
    e->failed = true;
}

static void watch(vs_engine *e, const vr_inst *v, int32_t to) {
    struct vs_watch *w = &e->watch;
    if (++w->backward < WATCH_FROM) return;
    if (w->backward == WATCH_FROM) w->next = WATCH_FROM;
    if (same_state(e, to)) {
        tell_deadlock(e, v, to);
    } else if (w->backward >= w->next) {
        w->next = 2 * w->backward;
        keep_state(e, to);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

int64_t vs_run(vs_engine *e, const vs_warp *warps, int32_t count, vs_trace *trace) {
    const vr_program *p = e->program;
    int64_t steps = 0;
    int32_t entry = vr_entry_for(p, warps[0].ntids);
    for (int32_t i = 0; i < count; ++i)
        if (entry < 0 || vr_entry_for(p, warps[i].ntids) != entry) {
            borg_report(e->diags, BORG_ERROR, p->entries[0].loc,
                        entry < 0 ? "there is no kernel for warps of %d threads (.ntids)"
                                  : "warps of a partition need one kernel: not so for %d threads",
                        warps[i].ntids);
            return -1;
        }
    begin(e, warps, count);
    if (trace) {
        trace->first = borg_grow(e->diags->arena, trace->first, (size_t)trace->nparts + 2,
                                 &trace->first_room, sizeof *trace->first);
        trace->first[trace->nparts] = trace->nsteps;
    }
    for (int32_t pc = e->n ? p->entries[entry].first : -1; pc >= 0 && !e->failed; ++steps) {
        const vr_inst *v = &p->insts[pc];
        if (steps >= e->limit && e->guess) return steps;
        if (steps >= e->limit) {
            borg_report(e->diags, BORG_ERROR, v->loc,
                        "warp %d has not ended after %" PRId64 " instructions", warps[0].wid,
                        steps);
            return -1;
        }
        set_mask(e, v);
        int32_t next = pc + 1;
        if (vr_op_table[v->op].class == VR_ON_CONTROL) {
            if (trace) record(e, trace, pc);
            next = control(e, v, pc);
            if (next >= 0 && next <= pc && !e->guess) watch(e, v, next);
        } else if (e->guess && (v->op == VR_LD || v->op == VR_ST) && v->how != VR_CONST) {
            /* nobody knows what is there */
        } else if (v->op == VR_LD || v->op == VR_ST) {
            if (!vs_access(e, v)) return -1;
            if (trace) record(e, trace, pc);
        } else {
            vs_compute(e, v);
            if (trace) record(e, trace, pc);
        }
        if (e->guess) vs_note(e->guess, v, e->nmask == e->n);
        pc = next;
    }
    if (e->failed) return -1;
    if (trace) trace->first[++trace->nparts] = trace->nsteps;
    return steps;
}
