/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of a pipeline. In cycle t job j is t - j * interval cycles old, and the stage that
 * begins at that age, if there is one, reads its operands and starts its units. A net has a shift
 * register, here a ring with a place for each job that can be between the net's birth and its
 * death. */
#include "sim/spatial/simulate.h"
#include <inttypes.h>
#include <string.h>

typedef struct machine {
    const borg_pipeline *p;
    const borg_arg *args;
    borg_diags *diags;
    borg_arena arena;
    uint64_t **ring; /* by net: DATA; NULL: read-only or never needed */
    int32_t *places; /* by net: jobs that its ring holds */
    uint64_t *fixed; /* read-only nets of the jobs in flight: by job modulo `flight`, then by net */
    int32_t flight;  /* jobs in flight at most */
    int32_t *control; /* by net: its number among the read-only ones */
    int32_t ncontrol;
    sim_pipeline_counts counts;
    bool failed;
} machine;

static uint64_t *at(const machine *k, int32_t net, int64_t job) {
    const borg_net *n = &k->p->net[net];
    if (n->kind == BORG_NET_CONTROL)
        return &k->fixed[(job % k->flight) * k->ncontrol + k->control[net]];
    return &k->ring[net][job % k->places[net]];
}

static uint64_t value(const machine *k, int32_t net, int64_t job) {
    const borg_net *n = &k->p->net[net];
    return n->kind == BORG_NET_CONST ? n->bits : *at(k, net, job);
}

static void make_room(machine *k) {
    const borg_pipeline *p = k->p;
    k->ring = BORG_NEW(&k->arena, p->nnets + 1, uint64_t *);
    k->places = BORG_NEW(&k->arena, p->nnets + 1, int32_t);
    k->control = BORG_NEW(&k->arena, p->nnets + 1, int32_t);
    for (int32_t n = 0; n < p->nnets; ++n) {
        const borg_net *net = &p->net[n];
        if (net->kind == BORG_NET_CONTROL) k->control[n] = k->ncontrol++;
        if (net->kind != BORG_NET_DATA || net->dies < 0) continue;
        /* from the start of its unit, whose own registers hold it first */
        const int32_t from =
            net->stage < 0 ? borg_boundary_cycle(p, net->born) : p->stage[net->stage].start;
        const int32_t cycles = borg_boundary_cycle(p, net->dies) - from;
        k->places[n] = cycles / p->interval + 1;
        k->ring[n] = BORG_NEW(&k->arena, k->places[n], uint64_t);
    }
    k->flight = p->depth / p->interval + 2;
    k->fixed = BORG_NEW(&k->arena, (int64_t)k->flight * k->ncontrol + 1, uint64_t);
}

static bool trap(machine *k, const borg_inst *v, int64_t job, const char *reason) {
    if (!k->failed)
        borg_report(k->diags, BORG_ERROR, v->loc, "simulating %s, job %" PRId64 ": %s: %s",
                    k->p->module->name, job, borg_op_table[v->op].text, reason);
    k->failed = true;
    return false;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Where a port goes; NULL: it does nothing, or failed. */
static char *address(machine *k, const borg_inst *v, const borg_port *port, int64_t job,
                     borg_type type) {
    if (port->mask >= 0 && !value(k, port->mask, job)) return NULL;
    const borg_net *pointer = &k->p->net[port->pointer], *offset = &k->p->net[port->offset];
    const uint64_t bits = value(k, port->offset, job);
    const int64_t index = offset->inst->type == BORG_I32 ? (int64_t)(int32_t)(uint32_t)bits
                                                         : (int64_t)(bits + (uint64_t)port->add);
    if (pointer->inst->op == BORG_PARAM) {
        const int64_t count = k->args[pointer->inst->index].count;
        if (count >= 0 && (index < 0 || index >= count)) {
            trap(k, v, job,
                 borg_format(&k->arena, "%s[%" PRId64 "] of %" PRId64 " elements",
                             k->p->module->params[pointer->inst->index].name, index, count));
            return NULL;
        }
    }
    char *base = (char *)(uintptr_t)value(k, port->pointer, job);
    if (!base) {
        trap(k, v, job, "NULL pointer");
        return NULL;
    }
    return base + index * borg_type_bytes(type);
}

static void run_access(machine *k, const borg_access *a, int64_t job, int64_t cycle) {
    const borg_inst *v = a->inst;
    const borg_type type = borg_stored(v) ? borg_stored(v)->type : v->type;
    const size_t bytes = (size_t)borg_type_bytes(type);
    for (int32_t i = 0; i < a->nports && !k->failed; ++i) {
        const borg_port *port = &a->port[i];
        if (!a->store && k->p->net[port->value].dies < 0) continue;
        char *place = address(k, v, port, job, type);
        if (a->store) {
            if (!place) continue;
            const uint64_t bits = value(k, port->value, job);
            memcpy(place, &bits, bytes);
            ++k->counts.words_out;
            if (cycle > k->counts.stored_late) k->counts.stored_late = cycle;
        } else {
            uint64_t bits = 0; /* a masked lane reads as 0 */
            if (place) memcpy(&bits, place, bytes), ++k->counts.words_in;
            *at(k, port->value, job) = bits;
        }
    }
}

/* ---- units ----------------------------------------------------------------------------------- */

static uint64_t compute(const machine *k, const borg_step *s, int32_t i, int64_t job) {
    const borg_inst *v = s->inst;
    const int32_t *in = s->in + (int64_t)i * s->nin;
    if (borg_op_table[v->op].class == BORG_REDUCE) {
        uint64_t list[BORG_MAX_SIZE * BORG_MAX_PACK];
        for (int32_t n = 0; n < s->nin; ++n) list[n] = value(k, in[n], job);
        return borg_reduce(v->op, v->args[0]->type, v->uns, list, s->nin);
    }
    return borg_evaluate(v, v->args[v->op == BORG_SELECT ? 1 : 0]->type, value(k, in[0], job),
                         s->nin > 1 ? value(k, in[1], job) : 0,
                         s->nin > 2 ? value(k, in[2], job) : 0);
}

static void run_stage(machine *k, const borg_step *s, int64_t job) {
    if (s->kind == BORG_UNIT_load) return; /* its port did it */
    for (int32_t i = 0; i < s->nout; ++i) {
        if (k->p->net[s->out[i]].dies < 0) continue;
        *at(k, s->out[i], job) = compute(k, s, i, job);
        ++k->counts.operations;
    }
}

/* What is read-only, when a job enters. */
static void enter(machine *k, int64_t job, int64_t g0) {
    for (int32_t c = 0; c < k->p->ncontrol && !k->failed; ++c) {
        const borg_step *s = &k->p->control[c];
        const borg_inst *v = s->inst;
        for (int32_t i = 0; i < s->nout && !k->failed; ++i) {
            uint64_t *to = at(k, s->out[i], job);
            const int32_t *in = s->in + (int64_t)i * s->nin;
            if (v->op == BORG_PARAM) {
                *to = v->type == BORG_PTR ? (uint64_t)(uintptr_t)k->args[v->index].data
                                          : k->args[v->index].bits;
            } else if (v->op == BORG_GID || v->op == BORG_G0) {
                *to = (uint64_t)(g0 + (v->op == BORG_GID ? i : 0));
            } else if (v->type == BORG_PTR) {
                borg_port port = {.pointer = in[0], .offset = in[1], .mask = -1};
                if (borg_mask(v)) port.mask = in[v->nargs - 1];
                if (v->op == BORG_LOADA) port.add = v->c[0] + v->a * i;
                const char *place = address(k, v, &port, job, BORG_PTR);
                *to = 0;
                if (place) memcpy(to, place, sizeof(char *));
            } else {
                *to = compute(k, s, i, job);
            }
        }
    }
}

/* ---- the clock ------------------------------------------------------------------------------- */

/* by_cycle[c]: the boundary at cycle c of a job; -1: there is none. */
static int32_t *boundaries(machine *k) {
    const borg_pipeline *p = k->p;
    int32_t *by_cycle = BORG_NEW(&k->arena, p->depth + 1, int32_t);
    for (int32_t c = 0; c <= p->depth; ++c) by_cycle[c] = -1;
    for (int32_t b = p->nstages; b >= 0; --b) by_cycle[borg_boundary_cycle(p, b)] = b;
    return by_cycle;
}

static void run(machine *k, int64_t first, int64_t jobs) {
    const borg_pipeline *p = k->p;
    const int32_t *by_cycle = boundaries(k), pack = p->module->pack;
    int32_t *port =
        BORG_NEW(&k->arena, p->nstages + 2, int32_t); /* first access of each boundary */
    for (int32_t a = p->naccesses - 1, b = p->nstages + 1; b >= 0; --b) {
        while (a >= 0 && p->access[a].boundary >= b) --a;
        port[b] = a + 1;
    }
    const int64_t end = p->depth + (jobs - 1) * p->interval;
    for (int64_t t = 0; t <= end && !k->failed; ++t) {
        /* the oldest job first: it is the deepest */
        int64_t job = t > p->depth ? (t - p->depth + p->interval - 1) / p->interval : 0;
        for (; job < jobs && job * p->interval <= t && !k->failed; ++job) {
            const int32_t age = (int32_t)(t - job * p->interval), b = by_cycle[age];
            if (age == 0) enter(k, job, first + job * pack);
            if (b < 0) continue;
            for (int32_t a = port[b]; a < port[b + 1] && !k->failed; ++a)
                run_access(k, &p->access[a], job, t);
            if (b < p->nstages) run_stage(k, &p->stage[b], job);
        }
        k->counts.cycles = t;
    }
}

bool sim_pipeline_run(const borg_pipeline *p, const borg_arg *args, int64_t first, int64_t last,
                      sim_pipeline_counts *counts, borg_diags *diags) {
    machine k = {.p = p, .args = args, .diags = diags};
    borg_arena_init(&k.arena, p->module->arena->allocator, (size_t)4 << 30);
    if (setjmp(k.arena.oom)) {
        borg_arena_free(&k.arena);
        borg_report(diags, BORG_ERROR, (borg_loc){0}, "simulating %s: no memory", p->module->name);
        return false;
    }
    const int64_t jobs = (last - first) / p->module->pack;
    if (jobs > 0) {
        make_room(&k);
        run(&k, first, jobs);
    }
    int64_t units = 0;
    for (int kind = 0; kind < BORG_UNIT_KINDS; ++kind) units += p->counts.units[kind];
    k.counts.jobs = jobs;
    if (units && k.counts.cycles)
        k.counts.utilisation =
            (double)k.counts.operations / ((double)units * (double)k.counts.cycles);
    if (counts) *counts = k.counts;
    const bool good = !k.failed;
    borg_arena_free(&k.arena);
    return good;
}
