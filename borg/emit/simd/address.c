/* SPDX-License-Identifier: BSD-3-Clause */
/* Interleaved groups (lane order wg): a number for each group that only addresses of transposed
 * blocks are made of is kept in a scalar for each group. As a lane of a register it would have to
 * be taken out again. */
#include "borg/emit/simd/leaves.h"

static bool candidate(const borg_inst *v) {
    if (v->spread != BORG_WG || v->type != BORG_I64 || v->rows != 1) return false;
    return v->op == BORG_GID || v->op == BORG_ADD || v->op == BORG_SUB || v->op == BORG_MUL ||
           v->op == BORG_BCAST;
}

static void begin(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->mark = candidate(v) ? SIMD_ADDRESS : 0;
        if (v->block[0]) begin(v->block[0]);
        if (v->block[1]) begin(v->block[1]);
    }
}

static bool addresses(const simd *e, const borg_inst *user, int32_t operand) {
    if (user->mark == SIMD_ADDRESS) return true;
    if (operand != 1 || (user->op != BORG_LOADA && user->op != BORG_STOREA)) return false;
    return simd_transposable(e, user, user->op == BORG_STOREA ? borg_stored(user) : user);
}

/* Remove the mark of numbers that others use, too, or that are made of such. True: some were
 * removed. */
static bool narrow(const simd *e, borg_block *block) {
    bool changed = false;
    for (borg_inst *v = block->first; v; v = v->next) {
        for (int32_t i = 0; i < v->nargs; ++i) {
            borg_inst *x = v->args[i];
            if (v->mark == SIMD_ADDRESS && x->spread == BORG_WG && x->mark != SIMD_ADDRESS) {
                v->mark = 0;
                changed = true;
            }
            if (x->mark == SIMD_ADDRESS && !addresses(e, v, i)) {
                x->mark = 0;
                changed = true;
            }
        }
        if (v->block[0]) changed = narrow(e, v->block[0]) || changed;
        if (v->block[1]) changed = narrow(e, v->block[1]) || changed;
    }
    return changed;
}

void simd_mark_addresses(simd *e) {
    begin(e->m->body);
    while (narrow(e, e->m->body)) {}
}
