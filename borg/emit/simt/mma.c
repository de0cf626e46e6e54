/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of tiles by the tensor cores, both halves of a tile at once. */
#include "borg/emit/simt/leaves.h"

/* ---- tiles ----------------------------------------------------------------------------------- */

/* The instruction further down that makes the other half of the tile. */
static borg_inst *other_half(const borg_inst *v) {
    for (borg_inst *u = v->next; u; u = u->next)
        if (u->op == BORG_MMA && u->index != v->index && u->args[0] == v->args[0] &&
            u->args[1] == v->args[1] && u->uses > 0 && !u->aux)
            return u;
    return NULL;
}

static bool uses(const borg_block *block, const borg_inst *v);

static bool used_by(const borg_inst *u, const borg_inst *v) {
    for (int32_t k = 0; k < u->nargs; ++k)
        if (u->args[k] == v) return true;
    return (u->block[0] && uses(u->block[0], v)) || (u->block[1] && uses(u->block[1], v));
}

static bool uses(const borg_block *block, const borg_inst *v) {
    for (const borg_inst *u = block->first; u; u = u->next)
        if (used_by(u, v)) return true;
    return false;
}

/* v may be made where u is, behind it. */
static bool can_wait(const borg_inst *v, const borg_inst *u) {
    for (const borg_inst *x = v->next; x != u; x = x->next)
        if (used_by(x, v)) return false;
    return !used_by(u, v);
}

/* Both halves of a tile are one instruction. It stands where the first half stood if what the other
 * one adds to is known there, else where the other half stood. A half alone is made together with
 * one that nobody needs. */
void simt_mma(simt *e, borg_inst *v) {
    borg_inst *first = e->partner[v->id], *half[2] = {NULL, NULL};
    if (v->aux) return; /* done */
    borg_inst *other = first ? first : other_half(v);
    if (other && !first && other->args[2]->id > v->id) {
        if (can_wait(v, other)) {
            e->partner[other->id] = v;
            return;
        }
        other = NULL;
    }
    half[v->index] = v;
    half[1 - v->index] = other;
    const char *name[2], *type = e->target->types[v->type];
    for (int i = 0; i < 2; ++i) {
        name[i] = half[i] ? borg_format(e->arena, "v%d", half[i]->id)
                          : borg_format(e->arena, "t%d", e->c.temps++);
        if (half[i]) ctext_name(&e->c, half[i], 0, name[i]);
    }
    ctext_line(&e->c, "%s %s, %s;", type, name[0], name[1]);
    ctext_line(&e->c, "b_mma_%s(&%s, &%s, %s, %s, %s, %s);", simt_suffix(v->type), name[0], name[1],
               simt_get(e, v->args[0], 0), simt_get(e, v->args[1], 0),
               simt_get(e, (half[0] ? half[0] : v)->args[2], 0),
               simt_get(e, (half[1] ? half[1] : v)->args[2], 0));
    if (first) simt_publish(e, first);
}
