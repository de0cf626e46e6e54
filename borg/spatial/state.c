/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pipeline takes: the state before and after registers without useful data are removed,
 * units, wires, area. */
#include "borg/spatial/pipeline.h"
#include <stdlib.h>
#include <string.h>

static int32_t bits_of(borg_type type) {
    return type == BORG_I1 ? 1 : 8 * borg_type_bytes(type);
}

/* ---- the state: InfRegs of one shape, as many as live at once -------------------------------- */

typedef struct span {
    borg_type type;
    int32_t lanes, from, to; /* boundaries at which a register is held */
} span;

static int by_shape(const void *x, const void *y) {
    const span *a = x, *b = y;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    if (a->lanes != b->lanes) return a->lanes < b->lanes ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* The boundaries at which a value's InfReg is held, by lanes of its own or by all (wiring has none
 * of its own). False: none. */
static bool span_of(const borg_pipeline *p, const borg_inst *v, bool own, span *s) {
    const int32_t *nets = v->aux, lanes = borg_lanes(p->module, v);
    *s = (span){v->type, lanes, INT32_MAX, -1};
    for (int32_t l = 0; l < lanes; ++l) {
        const borg_net *net = &p->net[nets[l]];
        if (net->kind != BORG_NET_DATA || net->dies < 0 || (own && net->inst != v)) continue;
        if (net->born < s->from) s->from = net->born;
        if (net->dies > s->to) s->to = net->dies;
    }
    return s->to >= 0;
}

/* The most spans of one shape that hold a boundary together; they are sorted by their begin. */
static int32_t most_at_once(const span *list, int32_t count, int32_t *ends) {
    int32_t live = 0, most = 0; /* ends: a heap of the live ones' ends, the first the soonest */
    for (int32_t i = 0; i < count; ++i) {
        while (live && ends[0] < list[i].from) {
            const int32_t last = ends[--live];
            int32_t at = 0;
            for (int32_t child; (child = 2 * at + 1) < live; at = child) {
                if (child + 1 < live && ends[child + 1] < ends[child]) ++child;
                if (ends[child] >= last) break;
                ends[at] = ends[child];
            }
            ends[at] = last;
        }
        int32_t at = live++;
        for (; at > 0 && ends[(at - 1) / 2] > list[i].to; at = (at - 1) / 2)
            ends[at] = ends[(at - 1) / 2];
        ends[at] = list[i].to;
        if (live > most) most = live;
    }
    return most;
}

static void count_state(borg_pipeline *p, int64_t *state_lanes) {
    const borg_module *m = p->module;
    borg_spatial_counts *c = &p->counts;
    int32_t values = 0, count = 0;
    for (borg_inst *v = m->body->first; v; v = v->next) values += 1;
    span *list = BORG_NEW(m->arena, values + 1, span);
    int32_t *ends = BORG_NEW(m->arena, values + 1, int32_t);
    for (const borg_inst *v = m->body->first; v; v = v->next) {
        const borg_class class = borg_op_table[v->op].class;
        const borg_inst *stored = borg_stored(v);
        if (class != BORG_LEAF && v->op != BORG_BARRIER) ++c->instructions;
        if (v->type != BORG_VOID && span_of(p, v, true, &list[count])) ++count;
        if (!stored || span_of(p, stored, true, &list[count]) ||
            !span_of(p, stored, false, &list[count]))
            continue;
        for (int32_t a = 0; a < p->naccesses; ++a) /* held where it leaves */
            if (p->access[a].inst == v) list[count].from = list[count].to = p->access[a].boundary;
        ++count;
    }
    qsort(list, (size_t)count, sizeof *list, by_shape);
    for (int32_t i = 0, next; i < count; i = next) {
        for (next = i + 1;
             next < count && list[next].type == list[i].type && list[next].lanes == list[i].lanes;)
            ++next;
        const int64_t lanes = (int64_t)most_at_once(list + i, next - i, ends) * list[i].lanes;
        *state_lanes += lanes;
        c->state_bits += lanes * bits_of(list[i].type);
    }
}

/* ---- units, wires ---------------------------------------------------------------------------- */

static void count_units(borg_pipeline *p, const borg_unit_cost *costs) {
    borg_spatial_counts *c = &p->counts;
    for (int32_t s = 0; s < p->nstages; ++s) {
        const borg_step *step = &p->stage[s];
        const borg_inst *v = step->inst;
        const bool reduce = borg_op_table[v->op].class == BORG_REDUCE;
        int64_t used = 0;
        for (int32_t i = 0; i < step->nout; ++i) {
            if (p->net[step->out[i]].dies < 0) continue;
            ++used;
            for (int32_t k = 0; k < step->nin; ++k) {
                const borg_net *from = &p->net[step->in[(int64_t)i * step->nin + k]];
                if (from->kind != BORG_NET_DATA) continue;
                c->wires += bits_of(from->inst->type);
                if (!reduce && from->lane != i) c->moved += bits_of(from->inst->type);
            }
        }
        const int64_t count = used * (reduce ? step->nin - 1 : 1);
        const borg_unit_cost *cost = &costs[step->kind];
        const bool floating = step->kind < BORG_UNIT_sign;
        const int64_t width = bits_of(step->kind == BORG_UNIT_cmp_int ? v->args[0]->type : v->type);
        c->units[step->kind] += count;
        c->lut += floating ? count * cost->lut : (count * cost->lut * width + 63) / 64;
        c->ff += floating ? count * cost->ff : (count * cost->ff * width + 63) / 64;
        c->dsp += floating ? count * cost->dsp : (count * cost->dsp * width + 63) / 64;
    }
    c->adders = c->units[BORG_UNIT_add_f64] + c->units[BORG_UNIT_add_f32];
    c->multipliers = c->units[BORG_UNIT_mul_f64] + c->units[BORG_UNIT_mul_f32];
    c->dividers = c->units[BORG_UNIT_div_f64] + c->units[BORG_UNIT_div_f32];
}

void borg_pipeline_count(borg_pipeline *p, const borg_unit_cost costs[BORG_UNIT_KINDS]) {
    borg_spatial_counts *c = &p->counts;
    int64_t state_lanes = 0;
    memset(c, 0, sizeof *c);
    count_state(p, &state_lanes);
    c->bits_instructions = c->state_bits * (c->instructions + 1);
    c->bits_before = c->state_bits * (p->depth + 1);
    c->lanes_before = state_lanes * (p->depth + 1);
    for (int32_t k = 0; k < p->nnets; ++k) {
        const borg_net *net = &p->net[k];
        if (net->kind != BORG_NET_DATA || net->dies < 0) continue;
        const int64_t cycles =
            1 + borg_boundary_cycle(p, net->dies) - borg_boundary_cycle(p, net->born);
        c->lanes_after += cycles;
        c->bits_after += cycles * bits_of(net->inst->type);
    }
    count_units(p, costs);
    c->ff += c->bits_after;
    for (int32_t a = 0; a < p->naccesses; ++a) {
        const borg_access *access = &p->access[a];
        for (int32_t i = 0; i < access->nports; ++i) {
            if (access->store)
                ++c->words_out;
            else
                c->words_in += p->net[access->port[i].value].dies >= 0;
        }
    }
}
