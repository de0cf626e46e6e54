/* SPDX-License-Identifier: BSD-3-Clause */
/* __local arrays live in registers, too: element e of an array lies in work-item e % size of row
 * e / size, so that d[get_local_id()] is a row itself and d[k] one lane of it. */
#include "borg/lower/leaves.h"

enum { LEAST_PICKED = 3 };

static borg_cell *row_cell(borg_lowerer *l, const borg_decl *d, int32_t row) {
    return borg_lower_cell(l, d, row);
}

static borg_inst *limited(borg_lowerer *l, const borg_decl *d, borg_inst *index) {
    return borg_lower_elem(l, BORG_UMIN, BORG_I32, index, borg_lower_int(l, d->count - 1), NULL);
}

static void check_bounds(borg_lowerer *l, const borg_decl *d, const borg_inst *index,
                         borg_loc loc) {
    for (int32_t i = 0; index->op == BORG_CONST && i < index->ntable; ++i) {
        int32_t at = (int32_t)(uint32_t)index->bits[i];
        if ((at >= 0 && at < d->count) || (index->spread == BORG_WI && l->mask)) continue;
        borg_report(l->diags, BORG_ERROR, loc, "index %d of '%s', which has %d elements", at,
                    d->name, d->count);
        return;
    }
}

static borg_inst *shuffle(borg_lowerer *l, borg_inst *x, borg_inst *lane) {
    borg_spread spread = lane->spread == BORG_WI ? BORG_WI : BORG_WG;
    x = borg_lower_unify(l, x, BORG_WI, lane->rows);
    lane = borg_lower_unify(l, lane, spread, lane->rows);
    borg_inst *v = borg_emit(&l->b, BORG_SHUFV, x->type, spread, lane->rows, 2);
    v->args[0] = x;
    v->args[1] = lane;
    return borg_lower_simplify(l, v);
}

/* On a machine whose work-items read each other's slots one read is behind it: the element `row` of
 * work-item `lane`, both known at run time only. */
static borg_inst *pick_row(borg_lowerer *l, const borg_decl *d, borg_inst *lane, borg_inst *row) {
    int32_t rows = borg_lower_local_rows(l, d);
    borg_spread spread = lane->spread == BORG_WI ? BORG_WI : BORG_WG;
    borg_inst **all = BORG_NEW(l->arena, rows, borg_inst *);
    int32_t *map = BORG_NEW(l->arena, rows, int32_t);
    for (int32_t r = 0; r < rows; ++r)
        all[r] = borg_lower_unify(l, shuffle(l, borg_lower_read_cell(l, *row_cell(l, d, r)), lane),
                                  spread, 1);
    borg_inst *list = borg_emit_rows(&l->b, rows, all, map);
    row = borg_lower_unify(l, row, spread, 1);
    borg_inst *v = borg_emit(&l->b, BORG_PICKV, list->type, spread, 1, 2);
    v->args[0] = list;
    v->args[1] = row;
    return borg_lower_simplify(l, v);
}

borg_inst *borg_lower_local_read(borg_lowerer *l, const borg_decl *d, borg_inst *index,
                                 borg_loc loc) {
    check_bounds(l, d, index, loc);
    index = limited(l, d, index);
    int32_t rows = borg_lower_local_rows(l, d), size = l->m->size;
    borg_inst *lane = index, *row = NULL, *result = NULL;
    if (rows > 1) {
        lane = borg_lower_elem(l, BORG_UREM, BORG_I32, index, borg_lower_int(l, size), NULL);
        row = borg_lower_elem(l, BORG_UDIV, BORG_I32, index, borg_lower_int(l, size), NULL);
    }
    if (rows >= LEAST_PICKED && row->op != BORG_CONST && index->rows == 1 && l->options->backend &&
        l->options->backend->machine.simt)
        return pick_row(l, d, lane, row);
    for (int32_t r = 0; r < rows; ++r) {
        borg_inst *here =
            row ? borg_lower_cmp(l, BORG_ICMP, BORG_EQ, false, row, borg_lower_int(l, r)) : NULL;
        if (borg_lower_never(here)) continue;
        borg_inst *v = shuffle(l, borg_lower_read_cell(l, *row_cell(l, d, r)), lane);
        result = result && here ? borg_lower_elem(l, BORG_SELECT, v->type, here, v, result) : v;
    }
    return result;
}

/* The work-item of an element: a table, e.g. {4, 5, 6, 7} for row 1 of size 4. */
static borg_inst *element_of_lane(borg_lowerer *l, int32_t row) {
    uint64_t bits[BORG_MAX_SIZE];
    for (int32_t w = 0; w < l->m->size; ++w) bits[w] = (uint64_t)(row * l->m->size + w);
    return borg_emit_table(&l->b, BORG_I32, BORG_WI, 1, bits);
}

/* One lane of a WI value, or the value itself if it is the same for all. */
static borg_inst *from_item(borg_lowerer *l, borg_inst *v, int32_t w) {
    if (v->spread < BORG_WI) return v;
    int32_t map[2] = {0, w};
    return borg_lower_simplify(l, borg_emit_lane(&l->b, v, 1, map));
}

/* Writes of one work-item after the other, in rising order: the highest one wins. */
static void write_by_items(borg_lowerer *l, const borg_decl *d, borg_inst *index,
                           borg_inst *value) {
    bool varies = index->spread == BORG_WI || value->spread == BORG_WI ||
                  (l->mask && l->mask->spread == BORG_WI);
    for (int32_t w = 0; w < (varies ? l->m->size : 1); ++w) {
        borg_inst *at = from_item(l, index, w), *x = from_item(l, value, w);
        borg_inst *mask = l->mask ? from_item(l, l->mask, w) : NULL;
        if (borg_lower_never(mask)) continue;
        for (int32_t r = 0; r < borg_lower_local_rows(l, d); ++r) {
            borg_cell *cell = row_cell(l, d, r);
            borg_inst *here =
                borg_lower_cmp(l, BORG_ICMP, BORG_EQ, false, element_of_lane(l, r), at);
            here = borg_lower_and(l, here, mask);
            if (borg_lower_never(here)) continue;
            borg_inst *old = borg_lower_read_cell(l, *cell);
            borg_inst *v = borg_lower_elem(l, BORG_SELECT, x->type, here, x, old);
            cell = row_cell(l, d, r);
            cell->value = borg_lower_unify(l, v, BORG_WI, 1);
            cell->row = 0;
        }
    }
}

/* All work-items name different elements, known now: one permutation for each row. */
static bool write_injective(borg_lowerer *l, const borg_decl *d, const borg_inst *index,
                            borg_inst *value) {
    int32_t size = l->m->size, rows = borg_lower_local_rows(l, d);
    int32_t source[BORG_MAX_SIZE], map[2 * BORG_MAX_SIZE];
    if (index->op != BORG_CONST || index->spread != BORG_WI || index->ntable != size) return false;
    for (int32_t w = 0; w < size; ++w)
        for (int32_t u = 0; u < w; ++u)
            if (index->bits[u] == index->bits[w]) return false;
    value = borg_lower_unify(l, value, BORG_WI, 1);
    borg_inst *mask = l->mask ? borg_lower_unify(l, l->mask, BORG_WI, 1) : NULL;
    for (int32_t r = 0; r < rows; ++r) {
        uint64_t hit[BORG_MAX_SIZE];
        bool any = false;
        for (int32_t w = 0; w < size; ++w) {
            source[w] = -1;
            for (int32_t u = 0; u < size; ++u)
                if (index->bits[u] == (uint64_t)(r * size + w)) source[w] = u;
            hit[w] = source[w] >= 0;
            any = any || hit[w];
            map[2 * w] = 0;
            map[2 * w + 1] = source[w] >= 0 ? source[w] : w;
        }
        if (!any) continue;
        borg_inst *x = borg_lower_simplify(l, borg_emit_perm(&l->b, value, 1, map));
        borg_inst *here = borg_emit_table(&l->b, BORG_I1, BORG_WI, 1, hit);
        if (mask)
            here = borg_lower_and(l, here,
                                  borg_lower_simplify(l, borg_emit_perm(&l->b, mask, 1, map)));
        borg_inst *old = borg_lower_read_cell(l, *row_cell(l, d, r));
        borg_inst *v = borg_lower_elem(l, BORG_SELECT, x->type, here, x, old);
        *row_cell(l, d, r) = (borg_cell){v, 0};
    }
    return true;
}

static bool is_local_id(const borg_lowerer *l, const borg_inst *v) {
    if (v->op != BORG_CONST || v->spread != BORG_WI || v->ntable != l->m->size) return false;
    for (int32_t w = 0; w < l->m->size; ++w)
        if (v->bits[w] != (uint64_t)w) return false;
    return true;
}

/* A mask that says "work-item p of the group, if q": p and what is left (NULL: always). */
static borg_inst *single_writer(borg_lowerer *l, borg_inst *mask, borg_inst **left) {
    *left = NULL;
    if (mask->op == BORG_AND) {
        for (int i = 0; i < 2; ++i) {
            const borg_inst *other = mask->args[1 - i];
            borg_inst *inner, *p;
            if (other->op != BORG_BCAST || !(p = single_writer(l, mask->args[i], &inner))) continue;
            *left = borg_lower_and(l, other->args[0], inner);
            return p;
        }
        return NULL;
    }
    if (mask->op != BORG_ICMP || mask->pred != BORG_EQ) return NULL;
    for (int i = 0; i < 2; ++i)
        if (is_local_id(l, mask->args[i]) && mask->args[1 - i]->op == BORG_BCAST)
            return mask->args[1 - i]->args[0];
    return NULL;
}

void borg_lower_local_write(borg_lowerer *l, const borg_decl *d, borg_inst *index, borg_inst *value,
                            borg_loc loc) {
    check_bounds(l, d, index, loc);
    if (write_injective(l, d, index, value)) return;
    if (!(index->op == BORG_CONST)) index = limited(l, d, index);
    if (index->spread < BORG_WI && value->spread == BORG_WI) {
        /* one element, many writers: the highest work-item that is here */
        borg_inst *winner = borg_lower_int(l, l->m->size - 1), *saved = l->mask, *left = NULL;
        borg_inst *p = saved && saved->spread == BORG_WI ? single_writer(l, saved, &left) : NULL;
        if (p) {
            winner =
                borg_lower_elem(l, BORG_UMIN, BORG_I32, p, borg_lower_int(l, l->m->size - 1), NULL);
            borg_inst *there = winner == p ? NULL
                                           : borg_lower_cmp(l, BORG_ICMP, BORG_LT, true, p,
                                                            borg_lower_int(l, l->m->size));
            l->mask = borg_lower_and(l, there, left);
        } else if (saved && saved->spread == BORG_WI) {
            borg_inst *none = borg_emit_const(&l->b, BORG_I32, BORG_WI, 1, UINT32_MAX);
            borg_inst *ids = element_of_lane(l, 0);
            borg_inst *v = borg_emit(&l->b, BORG_RMAX, BORG_I32, BORG_WG, 1, 1);
            borg_unlink(v);
            v->args[0] = borg_lower_elem(l, BORG_SELECT, BORG_I32, saved, ids, none);
            borg_insert(l->b.block, l->b.before, v);
            winner = borg_lower_simplify(l, v);
            l->mask = borg_lower_cmp(l, BORG_ICMP, BORG_GE, false, winner, borg_lower_int(l, 0));
            winner = borg_lower_elem(l, BORG_UMIN, BORG_I32, winner,
                                     borg_lower_int(l, l->m->size - 1), NULL);
        }
        value = shuffle(l, value, borg_lower_unify(l, winner, BORG_WG, 1));
        write_by_items(l, d, index, value);
        l->mask = saved;
        return;
    }
    if (index->op != BORG_CONST && index->spread == BORG_WI)
        borg_report(l->diags, BORG_WARNING, loc,
                    "the work-items' indices of '%s' are known at run time only: they write one "
                    "after the other",
                    d->name);
    write_by_items(l, d, index, value);
}
