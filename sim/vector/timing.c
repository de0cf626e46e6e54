/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores cycle by cycle: issue, branches, fetch; then to the next cycle in which something can
 * happen. */
#include "sim/vector/core.h"
#include <inttypes.h>
#include <string.h>

const char *const vs_unit_text[VS_UNITS] = {"fma", "fma_alu", "alu_store", "port"};
const char *const vs_stall_text[VS_STALLS] = {"operand", "memory", "unit",
                                              "width",   "fetch",  "drain"};

int32_t vs_most_slots(const vs_machine *m, const vr_needs *needs, int32_t strips, borg_arena *arena,
                      const char **why) {
    int64_t vectors = (int64_t)needs->vector_registers * strips;
    int64_t masks = (int64_t)needs->mask_registers * strips;
    int64_t most = m->slots;
    *why = NULL;
    if (vectors > m->vector_registers)
        *why = borg_format(arena,
                           "a slot needs %" PRId64
                           " vector registers (%d values of %d each), vector_registers = %d",
                           vectors, needs->vector_registers, strips, m->vector_registers);
    else if (masks > m->mask_registers)
        *why = borg_format(
            arena, "a slot needs %" PRId64 " mask registers (%d of %d each), mask_registers = %d",
            masks, needs->mask_registers, strips, m->mask_registers);
    if (*why) return 0;
    if (m->vector_registers / vectors < most) most = m->vector_registers / vectors;
    if (m->mask_registers / masks < most) most = m->mask_registers / masks;
    return (int32_t)most;
}

/* ---- making ---------------------------------------------------------------------------------- */

static void make_core(vs_core *c, const vs_core *like, int32_t slots) {
    borg_arena *arena = like->diags->arena;
    const vs_machine *m = like->m;
    const vr_program *p = like->program;
    *c = *like;
    c->nslots = slots;
    const int32_t per[3] = {m->fma_units, m->fma_alu_units, m->alu_store_units};
    for (int k = 0; k < 3; ++k)
        c->units[k] = per[k] * (m->dispatch == VS_STRIPED ? 1 : m->pipelines);
    c->units[VS_PORT] = m->ports;
    for (int k = 0; k < VS_UNITS; ++k) {
        c->free_at[k] = BORG_NEW(arena, c->units[k] + 1, int64_t);
        c->times->units[k] += c->units[k];
    }
    c->slots = BORG_NEW(arena, slots, vs_slot);
    for (int32_t i = 0; i < slots; ++i) {
        c->slots[i].ready = BORG_NEW(arena, p->nregisters + 1, int64_t);
        c->slots[i].loaded = BORG_NEW(arena, p->nregisters + 1, bool);
        c->slots[i].age = BORG_NEW(arena, m->buffer, uint64_t);
    }
    c->queue = BORG_NEW(arena, m->memory_queue + 1, int64_t);
}

/* Cores that differ in nothing; what the first one does is logged. */
static vs_chip *new_chip(const vs_core *like, int32_t slots) {
    borg_arena *arena = like->diags->arena;
    const vs_machine *m = like->m;
    vs_core first = *like;
    vs_chip *chip = first.chip = BORG_NEW(arena, 1, vs_chip);
    const vr_program *p = like->program;
    first.classes = BORG_NEW(arena, p->ninsts, vr_class);
    for (int32_t i = 0; i < p->ninsts; ++i) first.classes[i] = vr_classify(&p->insts[i]);
    first.line_cost = BORG_NEW(arena, m->line_bytes + 1, int64_t);
    for (int32_t b = 0; b <= m->line_bytes; ++b) first.line_cost[b] = vs_line_cost(m, b);
    like->times->pipelines = m->dispatch == VS_STRIPED ? 1 : m->pipelines;
    chip->ncores = m->cores;
    chip->cores = BORG_NEW(arena, m->cores, vs_core);
    chip->controller = BORG_NEW(arena, m->controllers, int64_t);
    chip->sets = (int64_t)m->cache_kib * 1024 / m->line_bytes / m->cache_ways;
    chip->tags = BORG_NEW(arena, chip->sets * m->cache_ways + 1, uint64_t);
    for (int32_t k = 0; k < m->cores; ++k) {
        make_core(&chip->cores[k], &first, slots);
        first.log = NULL;
    }
    return chip;
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* The next partition of the slot's own list, or, where work is stolen, the last of the longest. */
static int32_t next_partition(vs_core *c, vs_slot *s) {
    vs_slot *from = s;
    if (s->next >= s->last && c->m->assign == VS_STEAL) {
        int32_t most = 0;
        for (int32_t i = 0; i < c->chip->ncores * c->nslots; ++i) {
            vs_slot *o = &c->chip->cores[i % c->chip->ncores].slots[i / c->chip->ncores];
            int32_t left = o->next < o->last ? (o->last - o->next + o->stride - 1) / o->stride : 0;
            if (left > most) {
                most = left;
                from = o;
            }
        }
        if (most == 0) return -1;
        int32_t part = from->next + (most - 1) * from->stride;
        from->last = part;
        return part;
    }
    if (s->next >= s->last) return -1;
    int32_t part = s->next;
    s->next += s->stride;
    return part;
}

static void start(vs_core *c, vs_slot *s) {
    s->part = next_partition(c, s);
    if (s->part < 0) return;
    s->fetched = s->issued = c->trace->first[s->part];
    s->end = c->trace->first[s->part + 1];
    s->fetch_from = c->now + c->m->start_cycles;
    s->control = -1;
    s->leaving = s->head = false;
    s->nfetched = s->nissued = 0;
    s->done = s->began = c->now;
}

static void leave(vs_core *c, vs_slot *s) {
    vs_log *log = c->log;
    if (log && s->began + c->offset < log->until) {
        log->events = borg_grow(c->diags->arena, log->events, log->count + 1, &log->room,
                                sizeof *log->events);
        log->events[log->count++] = (vs_event){.start = s->began + c->offset,
                                               .end = c->now + c->offset,
                                               .slot = (int32_t)(s - c->slots),
                                               .part = s->part,
                                               .inst = -1};
    }
    if (c->now > c->end) c->end = c->now;
    start(c, s);
}

/* ---- fetch and branches ---------------------------------------------------------------------- */

/* A branch is decided once what stands before it was issued and its guard is there. Returns whether
 * something changed. */
static bool decide(vs_core *c, vs_slot *s) {
    if (s->control < 0) return false;
    const vr_inst *v = &c->program->insts[s->control];
    bool depends = v->guard >= 0 || v->op == VR_EXIT;
    if (depends && vs_has_head(s)) return false;
    if (v->guard >= 0 && s->ready[v->guard] > c->now) return false;
    s->control = -1;
    s->fetch_from = c->now + c->m->branch_cycles;
    if (v->op == VR_EXIT && s->fetched == s->end) s->leaving = true;
    return true;
}

static bool fetch(vs_core *c, vs_slot *s) {
    int32_t count = 0;
    while (s->control < 0 && !s->leaving && s->fetched < s->end && c->now >= s->fetch_from &&
           count < c->m->fetch_rate) {
        const vs_step *step = &c->trace->steps[s->fetched];
        int32_t inst = (int32_t)(step->inst & ~VS_STRIP);
        bool control = c->classes[inst] == VR_ON_CONTROL;
        if (!control && c->waiting >= c->m->buffer) break;
        ++s->fetched;
        ++count;
        if (control) {
            ++c->times->controls;
            s->control = inst;
            decide(c, s);
        } else {
            s->age[s->nfetched++ % (uint64_t)c->m->buffer] = c->fetches++;
            ++c->waiting;
        }
    }
    return count > 0;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/* When something can next happen in the slot, and what it waits for. */
static int64_t wakes(const vs_core *c, vs_slot *s, vs_stall *stall) {
    int64_t next = INT64_MAX;
    if (vs_has_head(s)) {
        next = vs_when(c, s, stall);
    } else if (s->leaving) {
        *stall = VS_DRAIN;
        return s->done > c->now ? s->done : c->now + 1;
    } else {
        *stall = VS_FETCH;
    }
    if (s->control >= 0) {
        int32_t guard = c->program->insts[s->control].guard;
        if (!vs_has_head(s) && guard >= 0) {
            *stall = s->loaded[guard] ? VS_MEMORY : VS_OPERAND;
            if (s->ready[guard] < next) next = s->ready[guard];
        }
    } else if (!s->leaving && s->fetched < s->end) {
        if (s->fetch_from > c->now && s->fetch_from < next) next = s->fetch_from;
        if (s->fetch_from <= c->now && c->waiting < c->m->buffer) next = c->now + 1;
    }
    return next;
}

/* One cycle; whether something happened. */
static bool run_cycle(vs_core *c) {
    bool moved = false;
    for (int32_t i = 0; i < c->nslots; ++i) {
        vs_slot *s = &c->slots[i];
        s->moved = false;
        if (s->part < 0 || !s->leaving || vs_has_head(s) || s->done > c->now) continue;
        leave(c, s);
        moved = true;
    }
    if (vs_issue(c) > 0) moved = true;
    for (int32_t i = 0; i < c->nslots; ++i) {
        vs_slot *s = &c->slots[i];
        if (s->part < 0) continue;
        if (decide(c, s)) moved = true;
        if (fetch(c, s)) moved = true;
    }
    return moved;
}

static bool tell_deadlock(const vs_chip *chip) {
    const vs_core *c = chip->cores;
    borg_sink who = {.arena = c->diags->arena};
    for (int32_t k = 0; k < chip->ncores; ++k, ++c)
        for (int32_t i = 0; i < c->nslots; ++i) {
            const vs_slot *s = &c->slots[i];
            if (s->part < 0) continue;
            const vs_step *step = &c->trace->steps[vs_has_head(s) ? s->issued : s->fetched - 1];
            const vr_inst *v = &c->program->insts[step->inst & ~VS_STRIP];
            borg_put(&who, "%s", who.text ? "; " : "");
            if (chip->ncores > 1) borg_put(&who, "core %d, ", k);
            borg_put(&who, "slot %d (partition %d) waits in line %d for ", i, s->part, v->loc.line);
            vr_class class = c->classes[step->inst & ~VS_STRIP];
            if (class == VR_ON_CONTROL)
                borg_put(&who, "what stands before");
            else
                borg_put(&who, "a unit of class %s, of which there is none", vr_class_text[class]);
        }
    borg_report(chip->cores->diags, BORG_ERROR, (borg_loc){0}, "deadlock in cycle %" PRId64 ": %s",
                chip->now, who.text ? who.text : "no slot");
    return false;
}

/* A core's share of the partitions first .. last-1: one by one over the slots of all cores, or a
 * block for each slot. */
static void begin_stage(vs_core *c, int32_t first, int32_t last) {
    const int32_t cores = c->chip->ncores, own = (int32_t)(c - c->chip->cores);
    const int32_t count = last - first, all = c->nslots * cores;
    const bool block = c->m->assign == VS_BLOCK;
    c->now = c->end = 0;
    c->waiting = c->nqueue = c->turn = 0;
    for (int k = 0; k < VS_UNITS; ++k)
        memset(c->free_at[k], 0, (size_t)c->units[k] * sizeof *c->free_at[k]);
    for (int32_t i = 0; i < c->nslots; ++i) {
        vs_slot *s = &c->slots[i];
        const int32_t at = block ? own * c->nslots + i : i * cores + own;
        s->next = block ? first + (int32_t)((int64_t)count * at / all) : first + at;
        s->last = block ? first + (int32_t)((int64_t)count * (at + 1) / all) : last;
        s->stride = block ? 1 : all;
        memset(s->ready, 0, (size_t)(c->program->nregisters + 1) * sizeof *s->ready);
    }
}

/* When something can next happen; *held: a slot has a partition; *moved: something happened now. */
static int64_t step_core(vs_core *c, bool *held, bool *moved) {
    int64_t next = INT64_MAX;
    c->now = c->chip->now;
    const bool own = run_cycle(c);
    for (int32_t i = 0; i < c->nslots; ++i) {
        vs_slot *s = &c->slots[i];
        if (s->part < 0) continue;
        *held = true;
        if (s->moved && own) continue;
        int64_t at = wakes(c, s, &s->stall);
        if (at < next) next = at;
    }
    *moved = *moved || own;
    return next;
}

static void count_cycles(vs_core *c, int64_t cycles) {
    for (int32_t i = 0; i < c->nslots; ++i) {
        if (c->slots[i].part < 0) continue;
        c->times->slot_cycles += cycles;
        if (!c->slots[i].moved) c->times->stalls[c->slots[i].stall] += cycles;
    }
}

/* The partitions first .. last-1, from cycle 0 of the stage on. Each cycle another core is the first
 * to ask memory. */
static bool run_stage(vs_chip *chip, int32_t first, int32_t last) {
    vs_core *cores = chip->cores;
    const int32_t n = chip->ncores;
    int64_t end = 0;
    chip->now = 0;
    memset(chip->controller, 0, (size_t)cores->m->controllers * sizeof *chip->controller);
    for (int32_t k = 0; k < n; ++k) begin_stage(&cores[k], first, last);
    for (int32_t i = 0; i < cores->nslots; ++i)
        for (int32_t k = 0; k < n; ++k) start(&cores[k], &cores[k].slots[i]);
    for (;;) {
        int64_t next = INT64_MAX;
        bool held = false, moved = false;
        for (int32_t k = 0; k < n; ++k) {
            int64_t at = step_core(&cores[(k + chip->now) % n], &held, &moved);
            if (at < next) next = at;
        }
        if (!held) break;
        if (moved) next = chip->now + 1;
        if (next == INT64_MAX) return tell_deadlock(chip);
        for (int32_t k = 0; k < n; ++k) count_cycles(&cores[k], next - chip->now);
        chip->now = next;
    }
    for (int32_t k = 0; k < n; ++k)
        if (cores[k].end > end) end = cores[k].end;
    cores->times->cycles += end;
    return true;
}

bool vs_replay(const vs_machine *m, const vr_program *p, const vs_trace *trace,
               const int32_t *stage_ends, int32_t nstages, int32_t slots, vs_times *times,
               vs_log *log, borg_diags *diags) {
    memset(times, 0, sizeof *times);
    const vs_core like = {
        .m = m, .program = p, .trace = trace, .times = times, .log = log, .diags = diags};
    vs_chip *chip = new_chip(&like, slots);
    int32_t first = 0;
    for (int32_t k = 0; k < (stage_ends ? nstages : 1); ++k) {
        int32_t last = stage_ends ? stage_ends[k] : trace->nparts;
        chip->cores->offset = times->cycles;
        if (!run_stage(chip, first, last)) return false;
        first = last;
    }
    vs_bound(m, p, trace, stage_ends, nstages, times, diags->arena);
    return true;
}
