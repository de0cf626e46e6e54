/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend `vrptx`: kernels for warps of a vector core (docs/reference/vrptx.md). Frame,
 * leaves, control: a run-time condition is the same for a work-group, not for all warps of a
 * partition, so branches may part lanes and meet again at a join. */
#include "borg/emit/vrptx/core.h"
#include "borg/emit/vrptx/tree.h"
#include <string.h>

/* ---- leaves ---------------------------------------------------------------------------------- */

static void constant(vx *e, borg_inst *v) {
    uint64_t *bits = BORG_NEW(e->arena, e->m->size, uint64_t);
    for (int32_t r = 0; r < v->rows; ++r) {
        for (int32_t w = 0; w < e->m->size; ++w) bits[w] = borg_const_bits(e->m, v, r, w);
        vx_name(e, v, r, vx_by_lane(e, v->type, bits));
    }
}

static void leaf(vx *e, borg_inst *v) {
    const borg_param *p = v->op == BORG_PARAM ? &e->m->params[v->index] : NULL;
    switch (v->op) {
    case BORG_CONST:
        constant(e, v);
        return;
    case BORG_PARAM:
        vx_name(e, v, 0, p->type == BORG_I1 ? vx_narrow(e, p->name) : p->name);
        return;
    case BORG_LOCAL: /* by memory.c, by its number */
        vx_name(e, v, 0, "");
        return;
    case BORG_GID:
    case BORG_G0:
        vx_name(e, v, 0, vx_group(e));
        return;
    default:
        for (int32_t r = 0; r < v->rows; ++r) vx_name(e, v, r, v->op == BORG_LID ? "$tid" : "0");
        return;
    }
}

/* ---- control --------------------------------------------------------------------------------- */

static void emit_block(vx *e, borg_block *block);

static void move(vx *e, borg_type type, const char *to, const char *from) {
    if (strcmp(to, from) != 0) vx_line(e, "mov.%s %s, %s", vx_type(type), to, from);
}

static void label(vx *e, int32_t number) {
    borg_put(e->out, "b_l%d:\n", number);
    vx_line(e, "join");
}

/* The next values of the PHIs, all at once: by way of other registers where one is read that was
 * written before. */
static void take_yields(vx *e, const borg_inst *v) {
    borg_inst **next = v->block[1]->last->args;
    const borg_inst *head = v->block[0]->first;
    int32_t count = 0, at = 0, i = 0;
    for (const borg_inst *p = head; p && p->op == BORG_PHI; p = p->next) count += p->rows;
    const char **from = BORG_NEW(e->arena, count + 1, const char *);
    for (const borg_inst *p = head; p && p->op == BORG_PHI; p = p->next, ++at)
        for (int32_t r = 0; r < p->rows; ++r, ++i) {
            from[i] = vx_get(next[at], r);
            bool written = false; /* by a move that comes earlier */
            for (const borg_inst *q = head; q != p; q = q->next)
                for (int32_t k = 0; k < q->rows; ++k)
                    written = written || strcmp(vx_get(q, k), from[i]) == 0;
            for (int32_t k = 0; k < r; ++k) written = written || strcmp(vx_get(p, k), from[i]) == 0;
            if (!written) continue;
            const char *copy = vx_new(e, p->type);
            move(e, p->type, copy, from[i]);
            from[i] = copy;
        }
    i = 0;
    for (const borg_inst *p = head; p && p->op == BORG_PHI; p = p->next)
        for (int32_t r = 0; r < p->rows; ++r, ++i) move(e, p->type, vx_get(p, r), from[i]);
}

static void emit_loop(vx *e, borg_inst *v) {
    borg_block *head = v->block[0], *body = v->block[1];
    int32_t top = e->labels++, after = e->labels++;
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next)
        for (int32_t r = 0; r < p->rows; ++r) {
            vx_name(e, p, r, vx_new(e, p->type));
            move(e, p->type, vx_get(p, r), vx_get(p->args[0], r));
        }
    label(e, top);
    emit_block(e, head);
    vx_line(e, "@!%s bra b_l%d", vx_in_register(e, BORG_I1, vx_get(head->last->args[0], 0)), after);
    emit_block(e, body);
    take_yields(e, v);
    vx_line(e, "bra b_l%d", top);
    label(e, after);
}

/* Registers that both sides write. */
static void emit_if(vx *e, borg_inst *v) {
    int32_t other = e->labels++, after = e->labels++;
    const borg_inst *yield = v->block[0]->last;
    const char ***names = BORG_NEW(e->arena, yield->nargs + 1, const char **);
    for (int32_t k = 0; k < yield->nargs; ++k) {
        names[k] = BORG_NEW(e->arena, yield->args[k]->rows, const char *);
        for (int32_t r = 0; r < yield->args[k]->rows; ++r)
            names[k][r] = vx_new(e, yield->args[k]->type);
    }
    v->aux = names;
    vx_line(e, "@!%s bra b_l%d", vx_in_register(e, BORG_I1, vx_get(v->args[0], 0)), other);
    for (int side = 0; side < 2; ++side) {
        emit_block(e, v->block[side]);
        yield = v->block[side]->last;
        for (int32_t k = 0; k < yield->nargs; ++k)
            for (int32_t r = 0; r < yield->args[k]->rows; ++r)
                move(e, yield->args[k]->type, names[k][r], vx_get(yield->args[k], r));
        if (side == 0) vx_line(e, "bra b_l%d", after);
        label(e, side == 0 ? other : after);
    }
}

static void emit_result(borg_inst *v) {
    borg_inst *from = v->args[0];
    if (from->op != BORG_LOOP) {
        v->aux = ((const char ***)from->aux)[v->index];
        return;
    }
    const borg_inst *p = from->block[0]->first;
    for (int32_t i = 0; i < v->index; ++i) p = p->next;
    v->aux = p->aux;
}

static void emit_block(vx *e, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->uses == 0 && borg_is_pure(v)) continue;
        switch (borg_op_table[v->op].class) {
        case BORG_LEAF:
            leaf(e, v);
            break;
        case BORG_ELEM:
        case BORG_CONVERT:
            vx_elem(e, v);
            break;
        case BORG_LAYOUT:
            vx_layout(e, v);
            break;
        case BORG_REDUCE:
            vx_reduce(e, v);
            break;
        case BORG_MEMORY:
            vx_memory(e, v);
            break;
        case BORG_CONTROL:
            if (v->op == BORG_LOOP) emit_loop(e, v);
            if (v->op == BORG_IF) emit_if(e, v);
            if (v->op == BORG_RESULT) emit_result(v);
            break;
        }
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void clear_block(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->aux = NULL;
        if (v->block[0]) clear_block(v->block[0]);
        if (v->block[1]) clear_block(v->block[1]);
    }
}

static borg_status emit(const borg_unit *units, int32_t nunits, const borg_options *options,
                        borg_sink *sink, borg_diags *diags) {
    if (nunits != 1) {
        borg_report(diags, BORG_ERROR, (borg_loc){0},
                    "a file of vrPTX has one kernel, here are %d: choose one (--kernel)", nunits);
        return BORG_ERR_OPTION;
    }
    if (options->size == BORG_ANY_SIZE)
        return vx_symbolic(units[0].tree, units[0].name, sink, diags) ? BORG_OK : BORG_ERR_SOURCE;
    borg_sink body = {.arena = sink->arena};
    vx e = {.arena = sink->arena, .out = &body, .m = units[0].module};
    e.tables.arena = e.first.arena = sink->arena;
    if (e.m->pack > 1) {
        borg_report(diags, BORG_ERROR, (borg_loc){0},
                    "WG_PACK is 1 for vrptx: the machine packs warps");
        return BORG_ERR_OPTION;
    }
    borg_number(e.m);
    borg_count_uses(e.m);
    clear_block(e.m->body);
    emit_block(&e, e.m->body);
    borg_put(sink, "// Made by borgc: a warp of %d threads for a work-group.\n", e.m->size);
    vx_put_kernel(&e, units[0].name, &body, sink);
    return BORG_OK;
}

const borg_backend borg_backend_vrptx = {
    .name = "vrptx",
    .summary = "vrPTX, for warps of a vector core (metapack vsim)",
    .suffix = ".vrptx",
    .machine = {.simt = true, .vector_bytes = 2048, .registers = 64, .gather_cost = 1},
    .any_size = true,
    .emit = emit,
};
