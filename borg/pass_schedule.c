/* SPDX-License-Identifier: BSD-3-Clause */
/* Order by liveness: between two loops or branches, instructions are put so that few registers live
 * at the same time. A list schedule from the end: of those whose uses are all placed, the one goes
 * next (that is, before them) that frees most registers and asks for fewest; of equals, the later
 * one. It is kept if the model says that fewer registers live beyond what the machine has. Loads
 * and stores keep their order where they may meet. Compilers keep the order of intrinsics, so it is
 * for us to choose. */
#include "borg/passes.h"

enum { MAX_CANDIDATES = 384 };

typedef struct node {
    borg_inst *inst;
    int32_t pending; /* uses and successors in memory order not placed yet */
    int32_t *before; /* nodes that memory order puts before this one */
    int32_t nbefore;
    size_t capacity;
    float weight;
    bool live, placed;
} node;

typedef struct scheduler {
    borg_module *m;
    int32_t vector_bytes, registers;
    node *nodes;
    int32_t count;
} scheduler;

/* Registers that a value fills. Masks have their own; what is uniform is a scalar. */
static float weight_of(const scheduler *s, const borg_inst *v) {
    if (v->type == BORG_VOID || v->op == BORG_CONST || v->op == BORG_PARAM || v->op == BORG_LOCAL)
        return 0;
    if (v->spread == BORG_UNI || v->type == BORG_I1) return 0.05f;
    int32_t lanes = s->vector_bytes / borg_type_bytes(v->type), row = borg_row_lanes(s->m, v);
    if (lanes < 1) lanes = 1;
    return (float)((row + lanes - 1) / lanes * v->rows);
}

/* inst->mark is the node's number within the stretch; outside it names another instruction's. */
static node *node_of(const scheduler *s, const borg_inst *v) {
    if (v->mark < 0 || v->mark >= s->count || s->nodes[v->mark].inst != v) return NULL;
    return &s->nodes[v->mark];
}

/* ---- memory order ---------------------------------------------------------------------------- */

static bool writes(const borg_inst *v) {
    return v->op == BORG_STORE || v->op == BORG_STOREA || v->op == BORG_BARRIER;
}

static void add_memory_order(scheduler *s) {
    int32_t *memory = BORG_NEW(s->m->arena, s->count + 1, int32_t), count = 0;
    for (int32_t i = 0; i < s->count; ++i) {
        borg_inst *v = s->nodes[i].inst;
        if (borg_op_table[v->op].class != BORG_MEMORY) continue;
        for (int32_t j = count - 1; j >= 0; --j) {
            borg_inst *u = s->nodes[memory[j]].inst;
            if ((!writes(u) && !writes(v)) || !borg_may_meet(s->m, u, v)) continue;
            node *n = &s->nodes[i];
            n->before = borg_grow(s->m->arena, n->before, (size_t)n->nbefore + 1, &n->capacity,
                                  sizeof *n->before);
            n->before[n->nbefore++] = memory[j];
            ++s->nodes[memory[j]].pending;
            /* what is before u, and meets v, is before v by u; a barrier meets more than a store */
            if (u->op == BORG_BARRIER || (writes(u) && writes(v) && v->op != BORG_BARRIER)) break;
        }
        memory[count++] = i;
    }
}

/* ---- pressure -------------------------------------------------------------------------------- */

/* Registers beyond those that are there, summed over the stretch walked from its end. */
static double excess(scheduler *s, const int32_t *order) {
    double live = 0, sum = 0;
    for (int32_t i = 0; i < s->count; ++i) {
        s->nodes[i].live = s->nodes[i].inst->uses > 0;
        if (s->nodes[i].live) live += s->nodes[i].weight;
    }
    for (int32_t k = s->count - 1; k >= 0; --k) {
        node *n = &s->nodes[order[k]];
        if (n->live) live -= n->weight;
        n->live = false;
        for (int32_t a = 0; a < n->inst->nargs; ++a) {
            node *d = node_of(s, n->inst->args[a]);
            if (!d || d->live) continue;
            d->live = true;
            live += d->weight;
        }
        if (live > s->registers) sum += live - s->registers;
    }
    return sum;
}

static float delta(const scheduler *s, const node *n) {
    float change = n->live ? -n->weight : 0;
    for (int32_t a = 0; a < n->inst->nargs; ++a) {
        const node *d = node_of(s, n->inst->args[a]);
        if (!d || d->live) continue;
        bool again = false;
        for (int32_t e = 0; e < a; ++e) again = again || n->inst->args[e] == n->inst->args[a];
        if (!again) change += d->weight;
    }
    return change;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void release(scheduler *s, int32_t at, int32_t *ready, int32_t *nready) {
    if (--s->nodes[at].pending == 0) ready[(*nready)++] = at;
}

static void make_order(scheduler *s, int32_t *order) {
    int32_t *ready = BORG_NEW(s->m->arena, s->count + 1, int32_t), nready = 0;
    for (int32_t i = 0; i < s->count; ++i) {
        s->nodes[i].live = s->nodes[i].inst->uses > 0; /* uses behind the stretch are left */
        if (s->nodes[i].pending == 0) ready[nready++] = i;
    }
    for (int32_t k = s->count - 1; k >= 0; --k) {
        int32_t best = -1, from = nready > MAX_CANDIDATES ? nready - MAX_CANDIDATES : 0;
        float least = 0;
        for (int32_t i = from; i < nready; ++i) {
            float d = delta(s, &s->nodes[ready[i]]);
            if (best < 0 || d < least || (d == least && ready[i] > ready[best])) {
                best = i;
                least = d;
            }
        }
        int32_t chosen = ready[best];
        for (int32_t i = best; i + 1 < nready; ++i) ready[i] = ready[i + 1];
        --nready;
        node *n = &s->nodes[chosen];
        order[k] = chosen;
        n->placed = true;
        n->live = false;
        for (int32_t a = 0; a < n->inst->nargs; ++a) {
            node *d = node_of(s, n->inst->args[a]);
            if (!d) continue;
            d->live = true;
            release(s, n->inst->args[a]->mark, ready, &nready);
        }
        for (int32_t i = 0; i < n->nbefore; ++i) release(s, n->before[i], ready, &nready);
    }
}

static void schedule_stretch(scheduler *s, borg_block *block, borg_inst *first, borg_inst *end) {
    s->count = 0;
    for (borg_inst *v = first; v != end; v = v->next) ++s->count;
    if (s->count < 3) return;
    s->nodes = BORG_NEW(s->m->arena, s->count, node);
    int32_t at = 0;
    for (borg_inst *v = first; v != end; v = v->next) {
        s->nodes[at].inst = v;
        s->nodes[at].weight = weight_of(s, v);
        v->mark = at++;
    }
    for (int32_t i = 0; i < s->count; ++i) {
        for (int32_t a = 0; a < s->nodes[i].inst->nargs; ++a) {
            node *d = node_of(s, s->nodes[i].inst->args[a]);
            if (!d) continue;
            ++d->pending;
            --d->inst->uses; /* what remains are uses elsewhere */
        }
    }
    add_memory_order(s);
    int32_t *order = BORG_NEW(s->m->arena, s->count, int32_t);
    int32_t *old = BORG_NEW(s->m->arena, s->count, int32_t);
    for (int32_t i = 0; i < s->count; ++i) old[i] = i;
    double before = excess(s, old);
    make_order(s, order);
    if (before > 0 && excess(s, order) < before) {
        for (int32_t i = 0; i < s->count; ++i) borg_unlink(s->nodes[i].inst);
        for (int32_t i = 0; i < s->count; ++i) borg_insert(block, end, s->nodes[order[i]].inst);
    }
}

static void schedule_block(scheduler *s, borg_block *block) {
    borg_inst *first = block->first;
    while (first) {
        while (first && borg_op_table[first->op].class == BORG_CONTROL) {
            if (first->block[0]) schedule_block(s, first->block[0]);
            if (first->block[1]) schedule_block(s, first->block[1]);
            first = first->next;
        }
        borg_inst *end = first;
        while (end && borg_op_table[end->op].class != BORG_CONTROL) end = end->next;
        if (first) schedule_stretch(s, block, first, end);
        first = end;
    }
}

void borg_pass_schedule(borg_module *m, const borg_options *options) {
    scheduler s = {.m = m, .vector_bytes = 64, .registers = 28};
    if (options->backend) {
        if (options->backend->machine.simt) return; /* the native compiler does that well */
        s.vector_bytes = options->backend->machine.vector_bytes;
        s.registers = options->backend->machine.registers - 4;
    }
    borg_count_uses(m);
    schedule_block(&s, m->body);
}
