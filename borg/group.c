/* SPDX-License-Identifier: BSD-3-Clause */
/* Values into InfRegs (thesis of 2021, sections 7.2.2 and 7.3.1): those that interact lie in the
 * same lanes of different InfRegs; groups of values that never meet lie side by side; a register
 * whose value is dead is used again. A report for --dump=infreg: backends get single rows, and the
 * compilers behind them allocate registers. */
#include "borg/passes.h"

typedef struct grouping {
    borg_module *m;
    borg_inst **values; /* by number */
    int32_t count;
    int32_t *parent;      /* union-find over values that interact */
    int32_t *born, *last; /* positions of definition and of the last use */
    int32_t position;
} grouping;

static bool in_registers(const borg_inst *v) {
    return v->type != BORG_VOID && v->type != BORG_PTR && v->spread == BORG_WI &&
           v->op != BORG_CONST;
}

static int32_t find(grouping *k, int32_t v) {
    while (k->parent[v] != v) v = k->parent[v] = k->parent[k->parent[v]];
    return v;
}

static void unite(grouping *k, const borg_inst *x, const borg_inst *y) {
    if (!in_registers(x) || !in_registers(y)) return;
    int32_t a = find(k, x->id), b = find(k, y->id);
    if (a != b) k->parent[a > b ? a : b] = a > b ? b : a;
}

static void connect(grouping *k, borg_block *block);

static void connect_loop(grouping *k, borg_inst *v) {
    int32_t start = k->position;
    connect(k, v->block[0]);
    connect(k, v->block[1]);
    int32_t n = 0;
    for (borg_inst *p = v->block[0]->first; p && p->op == BORG_PHI; p = p->next)
        unite(k, p, v->block[1]->last->args[n++]);
    /* what comes from before, or is carried, lives as long as the loop runs */
    for (int32_t i = 0; i < k->count; ++i)
        if (k->values[i] && k->last[i] >= start &&
            (k->born[i] < start || k->values[i]->op == BORG_PHI))
            k->last[i] = k->position;
}

static void connect(grouping *k, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        int32_t now = k->position++;
        if (v->id >= 0) {
            k->values[v->id] = v;
            k->born[v->id] = k->last[v->id] = now;
        }
        const borg_inst *anchor = borg_stored(v) ? borg_stored(v) : v;
        for (int32_t i = 0; i < v->nargs; ++i) {
            unite(k, anchor, v->args[i]);
            if (v->args[i]->id >= 0) k->last[v->args[i]->id] = now;
        }
        if (v->op == BORG_LOOP) {
            connect_loop(k, v);
        } else if (v->op == BORG_IF) {
            connect(k, v->block[0]);
            connect(k, v->block[1]);
        }
    }
}

/* InfRegs of one group: each value takes the first one that is free. Returns the lanes of the
 * group. */
static int32_t allocate(grouping *k, int32_t group, int32_t base, borg_sink *sink) {
    int32_t *busy = BORG_NEW(k->m->arena, k->count + 1, int32_t), used = 0, width = 0;
    borg_put(sink, ";   from lane %d:", base);
    for (int32_t i = 0; i < k->count; ++i) {
        borg_inst *v = k->values[i];
        if (!v || !in_registers(v) || find(k, i) != group) continue;
        int32_t r = 0;
        while (r < used && busy[r] > k->born[i]) ++r;
        if (r == used) ++used;
        busy[r] = k->last[i];
        if (borg_lanes(k->m, v) > width) width = borg_lanes(k->m, v);
        if (!v->name) continue;
        borg_put(sink, v->ix ? " %s[%d]" : " %s", v->name, v->ix ? v->ix[0] : 0);
        borg_put(sink, "=IR%d", r);
    }
    borg_put(sink, " (%d InfRegs of %d lanes)\n", used, width);
    return width;
}

void borg_print_groups(borg_module *m, borg_sink *sink) {
    grouping k = {.m = m};
    k.count = borg_number(m);
    k.values = BORG_NEW(m->arena, k.count + 1, borg_inst *);
    k.parent = BORG_NEW(m->arena, k.count + 1, int32_t);
    k.born = BORG_NEW(m->arena, k.count + 1, int32_t);
    k.last = BORG_NEW(m->arena, k.count + 1, int32_t);
    for (int32_t i = 0; i < k.count; ++i) k.parent[i] = i;
    connect(&k, m->body);
    borg_put(sink, "; groups of values that interact, side by side in the InfRegs:\n");
    int32_t base = 0;
    for (int32_t i = 0; i < k.count; ++i)
        if (k.values[i] && in_registers(k.values[i]) && find(&k, i) == i)
            base += allocate(&k, i, base, sink);
}
