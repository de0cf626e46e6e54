/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores: each thread those of its work-items; what is the same for a group or a pack is
 * loaded by every thread and stored by one. */
#include "borg/emit/simt/simt.h"
#include <inttypes.h>

/* The array, as a pointer to elements of `type`. */
static const char *array(simt *e, const borg_inst *v, borg_type type) {
    const borg_inst *p = v->args[0];
    const char *name = simt_get(e, p, 0);
    bool floats = p->op == BORG_PARAM && borg_is_float(type);
    if (floats) return name;
    bool loads = v->op == BORG_LOAD || v->op == BORG_LOADA;
    return borg_format(e->arena, "((B_GLOBAL %s%s *)%s)", loads ? "const " : "",
                       e->target->types[type == BORG_PTR ? BORG_I64 : type], name);
}

/* The element of scalar i: row i / per, work-item i % per of the thread. */
static const char *element(simt *e, const borg_inst *v, const borg_inst *value, int32_t i) {
    int32_t per = simt_per_row(e, value), r = i / per, j = i % per;
    const char *p = array(e, v, value->type);
    if (v->op == BORG_LOAD || v->op == BORG_STORE)
        return borg_format(e->arena, "%s[(b_s64)%s]", p, simt_get(e, v->args[1], i));
    borg_sink text = {.arena = e->arena};
    borg_put(&text, "(%s + (b_s64)(%s", p, simt_get(e, v->args[1], 0));
    int64_t c = v->c[r];
    if (value->spread == BORG_WI && v->b != 0) {
        if (e->lanes == 1) {
            c += v->b * (j < e->m->size ? j : e->m->size - 1);
        } else if (v->b == 1) {
            borg_put(&text, " + %s", simt_item(e, j));
        } else {
            borg_put(&text, " + %" PRId64 " * (b_s64)%s", v->b, simt_item(e, j));
        }
    }
    if (value->spread != BORG_UNI && v->a != 0 && e->m->pack > 1)
        borg_put(&text, " + %" PRId64 " * (b_s64)b_wg", v->a);
    borg_put(&text, "))[%" PRId64 "]", c);
    return text.text;
}

static void load(simt *e, borg_inst *v) {
    const borg_inst *mask = borg_mask(v);
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        const char *x = element(e, v, v, i);
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
        const char *x = element(e, v, value, i), *y = simt_get(e, value, i);
        if (on && m) {
            simt_line(e, "if (%s & %s) %s = %s;", on, m, x, y);
        } else if (on || m) {
            simt_line(e, "if (%s) %s = %s;", on ? on : m, x, y);
        } else {
            simt_line(e, "%s = %s;", x, y);
        }
    }
}

void simt_memory(simt *e, borg_inst *v) {
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
        if (e->target->opencl) {
            simt_line(e, "barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);");
        } else if (e->lanes > 1) {
            simt_line(e, "b_syncwarp(%s);", simt_mask(e));
        }
        break;
    }
}
