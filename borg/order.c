/* SPDX-License-Identifier: BSD-3-Clause */
/* The lane order that costs less. The model counts, for each instruction, the registers it fills in
 * either order (rounded up), and for what moves lanes the permutes that are not renamings:
 *   work-item-minor: BCAST to WI one permute or broadcast for each register, LANE none or one, PERM
 * one or two; a reduction log2(size) steps; contiguous access b = 1, else a gather or a
 * transposition group-minor: BCAST WG -> WI, LANE, PERM nothing; a reduction size-1 additions on
 * registers of groups; contiguous access where a = 1, else transposed (24 permutes for each 8 x 8)
 * or gathered. A group-minor register holds `pack` lanes of one work-item: with pack below the
 * vector length most of it is empty, and that is counted; where it is a multiple, a choice by
 * constants is a renaming, too. Code beyond the instruction cache costs in proportion to its
 * length. */
#include "borg/passes.h"

typedef struct model {
    const borg_module *m;
    const borg_machine *machine;
    bool wg_minor, floats; /* floats: no doubles, so conditions have as many lanes as floats */
    double cost, code; /* code: the same for one turn of each loop, as instructions lie in memory */
    double live, most; /* registers */
} model;

static int32_t lanes_of_register(const model *k, borg_type type) {
    int32_t bytes = borg_type_bytes(type);
    int32_t lanes = k->machine->vector_bytes / (bytes > 1 ? bytes : k->floats ? 4 : 8);
    return lanes > 0 ? lanes : 1;
}

static double registers(const model *k, const borg_inst *v, borg_type type) {
    int32_t lanes = lanes_of_register(k, type), size = k->m->size, pack = k->m->pack;
    if (v->spread == BORG_UNI) return v->rows;
    if (v->spread == BORG_WG) return (double)v->rows * ((pack + lanes - 1) / lanes);
    if (!k->wg_minor || pack == 1) return (double)v->rows * ((size * pack + lanes - 1) / lanes);
    /* whole work-items fill registers where the pack is short and divides the length */
    if (pack < lanes && lanes % pack == 0)
        return (double)v->rows * ((size * pack + lanes - 1) / lanes);
    return (double)v->rows * size * ((pack + lanes - 1) / lanes);
}

static bool renames(const model *k, borg_type type) {
    return k->wg_minor && k->m->pack % lanes_of_register(k, type) == 0;
}

/* Rows and columns of registers are exchanged in log2 steps of a permute each: of as many as
 * work-items, at most lanes. */
static double exchange_cost(const model *k, const borg_inst *value) {
    double steps = 0;
    for (int32_t n = 1; n < k->m->size && n < lanes_of_register(k, value->type); n *= 2) ++steps;
    return steps * k->machine->perm_cost;
}

/* A store takes twice what a load does; moves of lanes on the way are the same for both. */
static double memory_cost(const model *k, const borg_inst *v, const borg_inst *value) {
    const double each = borg_stored(v) ? 2 : 1;
    double regs = registers(k, value, value->type);
    double lanes = (double)borg_lanes(k->m, value);
    if (v->args[0]->op == BORG_LOCAL) { /* near: an access of all threads; by lanes; side by side */
        const borg_inst *base, *part;
        bool together = (k->wg_minor && borg_same_for_groups(v->args[1])) ||
                        borg_index_parts(k->m, v->args[1], &base, &part);
        return each * (k->machine->simt ? value->rows : together ? regs : lanes);
    }
    if (v->op == BORG_LOAD || v->op == BORG_STORE) return each * lanes * k->machine->gather_cost;
    if (value->spread == BORG_UNI) return each * value->rows;
    bool contiguous = k->wg_minor ? v->a == 1 || (v->b == k->m->pack && v->a == 1) : v->b == 1;
    if (value->spread == BORG_WG) contiguous = v->a == 1 || k->m->pack == 1;
    /* else strided by a small number: rows and columns are exchanged in registers */
    return regs * (each + (contiguous ? 0 : exchange_cost(k, value)));
}

static double cost_of(const model *k, const borg_inst *v) {
    const borg_inst *x = v->nargs ? v->args[0] : NULL;
    double regs = registers(k, v, v->type), p = k->machine->perm_cost;
    switch (v->op) {
    case BORG_PARAM:
    case BORG_CONST:
    case BORG_LID:
    case BORG_WGID:
    case BORG_G0:
    case BORG_GID:
    case BORG_LOCAL:
    case BORG_ROWS:
    case BORG_PHI:
    case BORG_RESULT:
        return 0;
    case BORG_BCAST:
        return renames(k, v->type) && x->spread == BORG_WG ? 0 : regs * p;
    case BORG_LANE:
        return renames(k, v->type) ? 0 : regs * p;
    case BORG_PERM:
        return renames(k, v->type) ? 0 : 1.5 * regs * p;
    case BORG_SHUFV:
        return k->wg_minor ? registers(k, x, x->type) * 2 + regs : regs * 2 * p;
    case BORG_PICKV:
        return 2.0 * x->rows * regs;
    case BORG_RSUM:
    case BORG_RMAX:
    case BORG_RMIN:
    case BORG_RMAXIDX:
    case BORG_ANY:
    case BORG_ALL: {
        double steps = registers(k, x, x->type) - registers(k, v, x->type);
        double log = 0;
        for (int32_t n = 1; n < k->m->size && n < lanes_of_register(k, x->type); n *= 2) ++log;
        if (!renames(k, x->type)) steps += log * (1 + p) * registers(k, v, x->type);
        return steps * (v->op == BORG_RMAXIDX ? 3 : 1);
    }
    case BORG_LOAD:
    case BORG_LOADA:
        return memory_cost(k, v, v);
    case BORG_STORE:
    case BORG_STOREA:
        return memory_cost(k, v, borg_stored(v));
    case BORG_FDIV:
    case BORG_SQRT:
    case BORG_RCP:
        return 8 * regs;
    case BORG_SDIV:
    case BORG_UDIV:
    case BORG_SREM:
    case BORG_UREM:
        return 20.0 * borg_lanes(k->m, v);
    case BORG_SELECT:
        return x->op == BORG_CONST && renames(k, v->type) ? 0 : regs;
    default:
        return regs;
    }
}

/* Uses are counted down while walking: what has none left is dead. */
static void walk(model *k, borg_block *block, double weight) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_LOOP) {
            double trips = v->trip > 0 ? (double)v->trip : 8;
            walk(k, v->block[0], weight * trips);
            walk(k, v->block[1], weight * trips);
            continue;
        }
        if (v->op == BORG_IF) {
            walk(k, v->block[0], weight / 2);
            walk(k, v->block[1], weight / 2);
            continue;
        }
        const double cost = cost_of(k, v),
                     regs = v->type == BORG_VOID ? 1 : registers(k, v, v->type);
        k->cost += weight * cost;
        k->code += cost < 2 * regs ? cost : 2 * regs;
        if (v->type != BORG_VOID && v->op != BORG_CONST && v->uses > 0)
            k->live += registers(k, v, v->type);
        for (int32_t i = 0; i < v->nargs; ++i) {
            borg_inst *x = v->args[i];
            if (x->type == BORG_VOID || x->op == BORG_CONST) continue;
            if (--x->mark == 0) k->live -= registers(k, x, x->type);
        }
        /* a value out of the registers: stored and loaded again */
        if (k->live > k->machine->registers)
            k->cost += weight * (k->live > 2.0 * k->machine->registers ? 1.0 : 0.5) *
                       (v->type == BORG_VOID ? 0 : registers(k, v, v->type));
        if (k->live > k->most) k->most = k->live;
    }
}

static void copy_uses(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->mark = v->uses;
        if (v->block[0]) copy_uses(v->block[0]);
        if (v->block[1]) copy_uses(v->block[1]);
    }
}

static model model_of(borg_module *m, const borg_machine *machine, bool wg_minor) {
    model k = {.m = m, .machine = machine, .wg_minor = wg_minor};
    k.floats = !borg_has_doubles(m->body);
    borg_count_uses(m);
    copy_uses(m->body);
    walk(&k, m->body, 1.0);
    return k;
}

static double cost_in_order(borg_module *m, const borg_machine *machine, bool wg_minor) {
    model k = model_of(m, machine, wg_minor);
    /* code that does not fit the instruction cache waits for its instructions, and spills make it
     * longer */
    if (machine->code > 0 && k.code > machine->code) k.cost *= k.code / machine->code;
    return k.cost;
}

double borg_code(borg_module *m, const borg_machine *machine) {
    return model_of(m, machine, m->order == BORG_WG_MINOR).code;
}

double borg_cost(borg_module *m, const borg_machine *machine) {
    return cost_in_order(m, machine, m->order == BORG_WG_MINOR);
}

/* With a group in each lane nothing waits for a permute: measured (LLT and LDLT at orders 8 and 12,
 * LDUS and TRSV at 4), it takes a third to four fifths of the time of groups one after the other,
 * at up to 1.2 times the instructions. */
#define IN_LANES 0.8

borg_order borg_choose_order(borg_module *m, const borg_machine *machine) {
    if (machine->simt || m->pack == 1) return BORG_WI_MINOR;
    double wi = cost_in_order(m, machine, false), wg = cost_in_order(m, machine, true);
    if (m->pack * (borg_has_doubles(m->body) ? 8 : 4) == machine->vector_bytes) wg *= IN_LANES;
    return wg < wi ? BORG_WG_MINOR : BORG_WI_MINOR;
}
