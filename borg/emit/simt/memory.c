/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores: each thread those of its work-items; what is the same for a group or a pack is
 * loaded by every thread and stored by one. */
#include "borg/emit/simt/leaves.h"

static void load(simt *e, borg_inst *v) {
    const borg_inst *mask = borg_mask(v);
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        const char *x = simt_element(e, v, v, i);
        if (v->type == BORG_PTR) x = borg_format(e->arena, "(b_ptr)%s", x);
        if (mask)
            x = borg_format(e->arena, "%s ? %s : %s", simt_get(e, mask, i), x,
                            v->type == BORG_PTR ? "(b_ptr)0" : simt_literal(e, v->type, 0));
        simt_let(e, v, i, x);
    }
}

/* Who stores: the threads of work-items that are there, or the first of a group, or of a pack. */
static void store(simt *e, borg_inst *v) {
    const borg_inst *value = borg_stored(v), *mask = borg_mask(v);
    for (int32_t i = 0; i < simt_count(e, value); ++i) {
        const char *m = mask ? simt_get(e, mask, i) : NULL;
        const char *on = value->spread == BORG_WI   ? simt_on(e, i % e->rows)
                         : value->spread == BORG_WG ? "b_first_of_group"
                                                    : "b_first_of_pack";
        const char *x = simt_element(e, v, value, i), *y = simt_get(e, value, i);
        if (on && m) {
            ctext_line(&e->c, "if (%s & %s) %s = %s;", on, m, x, y);
        } else if (on || m) {
            ctext_line(&e->c, "if (%s) %s = %s;", on ? on : m, x, y);
        } else {
            ctext_line(&e->c, "%s = %s;", x, y);
        }
    }
}

void simt_memory(simt *e, borg_inst *v) {
    if (simt_local(e, v)) return;
    switch (v->op) {
    case BORG_LOAD:
    case BORG_LOADA:
        load(e, v);
        break;
    case BORG_STORE:
    case BORG_STOREA:
        store(e, v);
        break;
    default:
        simt_local_wait(e);
        if (e->target->opencl) {
            ctext_line(&e->c, "barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);");
        } else if (e->lanes > 1) {
            ctext_line(&e->c, "b_syncwarp(%s);", simt_mask(e));
        }
        simt_local_barrier(e);
        break;
    }
}
