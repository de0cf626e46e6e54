/* SPDX-License-Identifier: BSD-3-Clause */
/* The counter of a `for` over constants: its values, turn by turn, and expressions of it and of
 * what is constant under the present state. */
#include "borg/lower/leaves.h"

enum { MAX_COUNTED_TRIPS = 1 << 20 };

/* ---- constants under the present state ------------------------------------------------------- */

static bool known_pair(const borg_counter *k, const borg_expr *e, int64_t *value) {
    int64_t a, b;
    if (!borg_counter_known(k, e->args[0], &a) || !borg_counter_known(k, e->args[1], &b))
        return false;
    borg_expr x = {.kind = BORG_E_INT, .integer = (uint64_t)a};
    borg_expr y = {.kind = BORG_E_INT, .integer = (uint64_t)b}, *args[2] = {&x, &y};
    borg_expr both = {.kind = e->kind, .text = e->text, .nargs = 2, .args = args};
    return borg_constant(&both, k->l->m->size, value);
}

bool borg_counter_known(const borg_counter *k, const borg_expr *e, int64_t *value) {
    switch (e->kind) {
    case BORG_E_NAME: {
        if (e->decl == k->decl) {
            *value = k->value;
            return true;
        }
        if (e->decl->array || e->decl->depth || borg_ctype_float(e->type)) return false;
        const borg_inst *v = borg_lower_cell(k->l, e->decl, 0)->value;
        if (!v || !borg_is_splat(v)) return false;
        *value = v->type == BORG_I32 && !borg_ctype_unsigned(e->type)
                     ? (int32_t)(uint32_t)v->bits[0]
                     : (int64_t)v->bits[0];
        return true;
    }
    case BORG_E_BINARY:
    case BORG_E_LOGICAL:
        return known_pair(k, e, value);
    case BORG_E_CAST:
        if (borg_ctype_float(e->type) || borg_ctype_float(e->args[0]->type) ||
            !borg_counter_known(k, e->args[0], value))
            return false;
        if (e->type == BORG_C_BOOL) *value = *value != 0;
        if (borg_ctype_narrow(e->type)) return false;
        if (e->type == BORG_C_INT) *value = (int32_t)(uint32_t)(uint64_t)*value;
        if (e->type == BORG_C_UINT) *value = (int64_t)(uint32_t)(uint64_t)*value;
        return true;
    case BORG_E_UNARY: {
        int64_t a;
        if (borg_ctype_float(e->type) || !borg_counter_known(k, e->args[0], &a)) return false;
        borg_expr x = {.kind = BORG_E_INT, .integer = (uint64_t)a}, *args[1] = {&x};
        borg_expr one = {.kind = e->kind, .text = e->text, .nargs = 1, .args = args};
        return borg_constant(&one, k->l->m->size, value);
    }
    case BORG_E_INT:
    case BORG_E_CALL:
        return borg_constant(e, k->l->m->size, value);
    default:
        return false;
    }
}

/* ---- the counter ----------------------------------------------------------------------------- */

bool borg_counter_next(const borg_counter *k, int64_t *value) {
    const borg_expr *e = k->loop->step;
    int64_t operand;
    if (e->kind == BORG_E_STEP && e->args[0]->decl == k->decl) {
        *value = k->value + (e->text[0] == '+' ? 1 : -1);
        return true;
    }
    if (e->kind != BORG_E_ASSIGN || e->args[0]->decl != k->decl ||
        e->args[0]->kind != BORG_E_NAME || !borg_counter_known(k, e->args[1], &operand))
        return false;
    *value = operand;
    if (e->text[0] == '+') *value = k->value + operand;
    if (e->text[0] == '-') *value = k->value - operand;
    return e->text[0] == '=' || e->text[0] == '+' || e->text[0] == '-';
}

/* What bounds and step are made of must not change on the way. */
static bool bounds_change(borg_lowerer *l, const borg_stmt *s, const borg_decl *counter) {
    const bool *set = borg_lower_assigned(l, s, false);
    for (int32_t c = 0; c < l->ncells; ++c) {
        const borg_inst *v = l->cells[c].value;
        if (!v || !borg_is_splat(v) || !set[l->owner[c]->number]) continue;
        if (l->owner[c] == counter || borg_lower_mentions(l, s->expr, l->owner[c]) ||
            (s->step && borg_lower_mentions(l, s->step, l->owner[c])))
            return true;
    }
    return false;
}

bool borg_counter_find(borg_lowerer *l, const borg_stmt *s, borg_counter *k) {
    if (s->kind != BORG_S_FOR || !s->step || !s->expr ||
        (s->step->kind != BORG_E_STEP && s->step->kind != BORG_E_ASSIGN))
        return false;
    const borg_decl *d = s->step->args[0]->decl;
    if (!d || d->array || d->depth || d->storage == BORG_LOCAL_REGISTERS ||
        (d->type != BORG_C_INT && d->type != BORG_C_LONG && d->type != BORG_C_UINT))
        return false;
    const borg_inst *v = borg_lower_cell(l, d, 0)->value;
    if (!v || !borg_is_splat(v) || bounds_change(l, s, d)) return false;
    const int64_t first =
        d->type == BORG_C_INT ? (int32_t)(uint32_t)v->bits[0] : (int64_t)v->bits[0];
    *k = (borg_counter){.l = l, .loop = s, .decl = d, .value = first};
    return true;
}

int64_t borg_lower_trips(borg_lowerer *l, const borg_stmt *s) {
    borg_counter k;
    int64_t holds, next, count = 0;
    if (!borg_counter_find(l, s, &k)) return -1;
    for (; count < MAX_COUNTED_TRIPS; ++count) {
        if (!borg_counter_known(&k, s->expr, &holds)) return -1;
        if (!holds) return count;
        if (!borg_counter_next(&k, &next)) return -1;
        k.value = next;
    }
    return -1;
}
