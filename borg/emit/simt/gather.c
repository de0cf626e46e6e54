/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads of slots and rows in shared memory, each thread at a place of its own. */
#include "borg/emit/simt/leaves.h"
#include <string.h>

/* ---- each thread another place ------------------------------------------------------------------
 *
 * A choice by constants among what other work-items hold in slots, as tiles of a product need it:
 * each thread reads at a place of its own. What the places have in common with those of other
 * reads, all but one constant, is a pointer made once. */

/* The slot that work-item *w of row r reads; NULL: its value is no slot's, or its own. */
static const borg_inst *slot_behind(const simt *e, const borg_inst *v, int32_t *r, int32_t *w) {
    bool moved = false;
    for (;;) {
        if (v->op == BORG_SELECT && v->args[0]->op == BORG_CONST) {
            v = v->args[borg_const_bits(e->m, v->args[0], *r, *w) & 1 ? 1 : 2];
        } else if (v->op == BORG_PERM) {
            const int32_t *from = &v->map[2 * (*r * e->m->size + *w)];
            moved = true;
            *r = from[0];
            *w = from[1];
            v = v->args[0];
        } else if (v->op == BORG_BCAST && v->args[0]->op == BORG_LANE) {
            const int32_t *from = &v->args[0]->map[2 * *r];
            moved = true;
            *r = from[0];
            *w = from[1];
            v = v->args[0]->args[0];
        } else if (v->op == BORG_ROWS && v->mark == 0) {
            int32_t row = v->map[*r];
            v = v->args[*r];
            *r = row;
        } else {
            bool good =
                moved && v->spread == BORG_WI && simt_slot_of(v) >= 0 && !(v->mark & SIMT_FAR);
            return good ? v : NULL;
        }
    }
}

static const simt_places *places_like(simt *e, borg_type type, const int32_t *offset) {
    simt_places *p = e->places;
    size_t bytes = (size_t)e->lanes * sizeof *offset;
    for (; p; p = p->next)
        if (p->type == type && memcmp(p->offset, offset, bytes) == 0) return p;
    p = BORG_NEW(e->arena, 1, simt_places);
    *p = (simt_places){.type = type, .offset = BORG_NEW(e->arena, e->lanes, int32_t)};
    memcpy(p->offset, offset, bytes);
    p->number = e->places ? e->places->number + 1 : 0;
    p->next = e->places;
    return e->places = p;
}

const char *simt_gather(simt *e, const borg_inst *v, int32_t i) {
    int32_t offset[BORG_MAX_SIZE], first = 0;
    if (e->lanes == 1 || v->spread != BORG_WI) return NULL;
    for (int32_t l = 0; l < e->lanes; ++l) {
        int32_t r = i / e->rows, w = i % e->rows * e->lanes + l;
        if (w >= e->m->size) w = e->m->size - 1;
        const borg_inst *x = slot_behind(e, v, &r, &w);
        if (!x || !x->aux || x->type != v->type) return NULL;
        offset[l] = w * e->stride[x->type] + simt_slot_of(x) + r;
        if (l == 0) first = offset[0];
        offset[l] -= first;
    }
    simt_see_slots(e);
    return borg_format(e->arena, "b_o%d[%d]", places_like(e, v->type, offset)->number, first);
}

void simt_put_places(simt *e) {
    uint64_t *bits = BORG_NEW(e->arena, e->lanes, uint64_t);
    for (const simt_places *p = e->places; p; p = p->next) {
        int32_t unit = 16 / borg_type_bytes(p->type);
        bool even = !e->target->opencl;
        for (int32_t l = 0; l < e->lanes; ++l) {
            even = even && p->offset[l] % unit == 0;
            bits[l] = (uint32_t)p->offset[l];
        }
        ctext_line(&e->c, "B_LOCAL const %s *const b_o%d = %s(b_x%s + (int)%s);",
                   e->target->types[p->type], p->number, even ? "B_ALIGNED" : "",
                   simt_suffix(p->type), simt_by_lane(e, BORG_I32, bits));
    }
}

/* A selection by constants that gives work-item k the k-th value of a row is read from the row. */
const char *simt_row_by_item(simt *e, const borg_inst *v, int32_t i) {
    const borg_inst *first = NULL;
    if (v->spread != BORG_WI || v->rows != 1 || e->lanes == 1) return NULL;
    if (v->args[0]->op != BORG_CONST || e->target->opencl) return NULL;
    for (int32_t l = 0; l < e->m->size; ++l) {
        int32_t r = 0, w = l;
        const borg_inst *u = simt_source(e, v, &r, &w);
        if (u->op != BORG_BCAST || u->args[0]->op != BORG_SHUFV) return NULL;
        u = u->args[0];
        if (u->spread != BORG_WG) return NULL;
        if (l == 0) first = u;
        if (simt_indexes_slots(e, first)) {
            if (!simt_indexes_slots(e, u) || u->args[1] != first->args[1]) return NULL;
            if (simt_slot_of(u->args[0]) != simt_slot_of(first->args[0]) + l) return NULL;
        } else if (u->mark == 0 || simt_place_of(u) != l || simt_row_of(u) != simt_row_of(first)) {
            return NULL;
        }
    }
    if (simt_indexes_slots(e, first)) simt_see_slots(e);
    if (simt_indexes_slots(e, first))
        return borg_format(e->arena, "q%d_%s[%d + b_w%d]", first->args[1]->id, simt_suffix(v->type),
                           simt_slot_of(first->args[0]), i);
    if (e->row_number - simt_row_of(first) > 1)
        return NULL; /* its place in shared memory was given to another value */
    return borg_format(e->arena, "b_row%s%d[b_w%d]", simt_suffix(v->type), simt_row_of(first) % 2,
                       i);
}
