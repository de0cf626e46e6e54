/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and walking InfReg-IR: the table of operations, shapes, the builder. */
#include "borg/ir.h"
#include <string.h>

const borg_op_info borg_op_table[BORG_NOPS] = {
#define X(name, text, operands, class) {text, operands, BORG_##class},
    BORG_OPS(X)
#undef X
};

int borg_type_bytes(borg_type type) {
    static const int bytes[] = {0, 1, 4, 8, 4, 8, 8, 1, 2, 2};
    return bytes[type];
}

bool borg_has_doubles(const borg_block *block) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        if (v->type == BORG_F64 && v->spread != BORG_UNI) return true;
        if (v->block[0] && borg_has_doubles(v->block[0])) return true;
        if (v->block[1] && borg_has_doubles(v->block[1])) return true;
    }
    return false;
}

bool borg_local_on_stack(const borg_module *m, int32_t i) {
    enum { MOST = 64 * 1024 };
    int64_t bytes = 0;
    for (int32_t k = 0; k <= i; ++k)
        bytes += (int64_t)m->pack * m->locals[k].count * borg_type_bytes(m->locals[k].elem);
    return bytes <= MOST;
}

borg_type borg_access_type(const borg_module *m, const borg_inst *access) {
    const borg_type type = borg_stored(access) ? borg_stored(access)->type : access->type;
    const borg_inst *root = borg_root(access);
    if (type != BORG_I32 || root->op != BORG_PARAM) return type;
    const borg_type elem = m->params[root->index].elem;
    return borg_is_narrow(elem) ? elem : type;
}

bool borg_named_nontemporal(const borg_param *param, const char *list) {
    const size_t length = strcspn(list, ",");
    return param->type == BORG_PTR && param->depth == 1 && !param->readonly &&
           strlen(param->name) == length && strncmp(param->name, list, length) == 0;
}

const char *borg_type_text(borg_type type) {
    static const char *const text[] = {"void", "i1",  "i32", "i64", "f32",
                                       "f64",  "ptr", "i8",  "i16", "f16"};
    return text[type];
}

const char *borg_spread_text(borg_spread spread) {
    static const char *const text[] = {"uni", "wg", "wi"};
    return text[spread];
}

const char *borg_pred_text(borg_pred pred) {
    static const char *const text[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    return text[pred];
}

int32_t borg_lane_number(const borg_module *m, const borg_inst *v, int32_t r, int32_t w,
                         int32_t g) {
    if (v->spread == BORG_UNI) return r;
    if (v->spread == BORG_WG) return r * m->pack + g;
    return m->order == BORG_WG_MINOR ? (r * m->size + w) * m->pack + g
                                     : (r * m->pack + g) * m->size + w;
}

uint64_t borg_const_bits(const borg_module *m, const borg_inst *v, int32_t r, int32_t w) {
    if (v->ntable == 1) return v->bits[0];
    return v->bits[v->spread == BORG_WI ? r * m->size + w : r];
}

static int first_optional(const borg_inst *v) {
    switch (v->op) {
    case BORG_LOAD:
    case BORG_LOADA:
        return 2;
    case BORG_STORE:
    case BORG_STOREA:
        return 3;
    default:
        return -1;
    }
}

borg_inst *borg_mask(const borg_inst *v) {
    int at = first_optional(v);
    return at >= 0 && v->nargs > at ? v->args[at] : NULL;
}

borg_inst *borg_stored(const borg_inst *v) {
    return v->op == BORG_STORE || v->op == BORG_STOREA ? v->args[2] : NULL;
}

const borg_inst *borg_root(const borg_inst *access) {
    const borg_inst *p = access->args[0];
    while (p->op == BORG_LOAD || p->op == BORG_LOADA) p = p->args[0];
    return p;
}

bool borg_may_meet(const borg_module *m, const borg_inst *x, const borg_inst *y) {
    if (x->op == BORG_BARRIER || y->op == BORG_BARRIER) return true;
    const borg_inst *p = borg_root(x), *q = borg_root(y);
    if (p->op == BORG_LOCAL || q->op == BORG_LOCAL) return p->op == q->op && p->index == q->index;
    if (p->op != BORG_PARAM || q->op != BORG_PARAM || p->index == q->index) return true;
    return !m->params[p->index].restricted && !m->params[q->index].restricted;
}

static bool same_for_groups(const borg_inst *v, int depth) {
    borg_class class = borg_op_table[v->op].class;
    if (v->spread == BORG_UNI || v->op == BORG_CONST || v->op == BORG_LID) return true;
    bool good = depth > 0 && (v->op == BORG_BCAST || class == BORG_ELEM || class == BORG_CONVERT);
    for (int32_t i = 0; i < v->nargs && good; ++i) good = same_for_groups(v->args[i], depth - 1);
    return good;
}

bool borg_same_for_groups(const borg_inst *v) {
    return same_for_groups(v, 8);
}

bool borg_index_parts(const borg_module *m, const borg_inst *index, const borg_inst **base,
                      const borg_inst **part) {
    const borg_inst *x = index;
    *base = *part = NULL;
    if (x->op == BORG_CONST) {
        *part = x;
        return true;
    }
    for (int i = 0; x->op == BORG_ADD && i < 2 && !*part; ++i)
        if (x->args[i]->op == BORG_CONST) *part = x->args[i];
    if (*part) x = x->args[x->args[0] == *part];
    if (x->op == BORG_BCAST) x = x->args[0];
    *base = x;
    return x->rows == 1 && (x->spread == BORG_UNI || (x->spread == BORG_WG && m->pack == 1));
}

bool borg_is_pure(const borg_inst *v) {
    switch (v->op) {
    case BORG_STORE:
    case BORG_STOREA:
    case BORG_BARRIER:
    case BORG_LOOP:
    case BORG_IF:
    case BORG_PHI:
    case BORG_WHILE:
    case BORG_YIELD:
        return false;
    default:
        return true;
    }
}

/* ---- building -------------------------------------------------------------------------------- */

borg_block *borg_block_new(borg_module *m, borg_inst *owner) {
    borg_block *block = BORG_NEW(m->arena, 1, borg_block);
    block->owner = owner;
    return block;
}

borg_module *borg_module_new(borg_arena *arena, const char *name, int32_t size, int32_t pack,
                             borg_order order) {
    borg_module *m = BORG_NEW(arena, 1, borg_module);
    m->arena = arena;
    m->name = name;
    m->size = size;
    m->pack = pack;
    m->order = order;
    m->body = borg_block_new(m, NULL);
    return m;
}

void borg_insert(borg_block *block, borg_inst *place, borg_inst *inst) {
    inst->parent = block;
    inst->next = place;
    inst->prev = place ? place->prev : block->last;
    if (inst->prev) {
        inst->prev->next = inst;
    } else {
        block->first = inst;
    }
    if (place) {
        place->prev = inst;
    } else {
        block->last = inst;
    }
}

void borg_unlink(borg_inst *inst) {
    borg_block *block = inst->parent;
    if (inst->prev) {
        inst->prev->next = inst->next;
    } else {
        block->first = inst->next;
    }
    if (inst->next) {
        inst->next->prev = inst->prev;
    } else {
        block->last = inst->prev;
    }
    inst->prev = inst->next = NULL;
    inst->parent = NULL;
}

borg_inst *borg_emit(borg_builder *b, borg_op op, borg_type type, borg_spread spread, int32_t rows,
                     int32_t nargs) {
    borg_inst *inst = BORG_NEW(b->module->arena, 1, borg_inst);
    inst->op = op;
    inst->type = type;
    inst->spread = spread;
    inst->rows = rows;
    inst->nargs = nargs;
    inst->args = nargs ? BORG_NEW(b->module->arena, nargs, borg_inst *) : NULL;
    inst->trip = -1;
    inst->loc = b->loc;
    inst->id = b->module->ninsts++;
    borg_insert(b->block, b->before, inst);
    return inst;
}

borg_inst *borg_emit_const(borg_builder *b, borg_type type, borg_spread spread, int32_t rows,
                           uint64_t bits) {
    borg_inst *inst = borg_emit(b, BORG_CONST, type, spread, rows, 0);
    inst->ntable = 1;
    inst->bits = BORG_NEW(b->module->arena, 1, uint64_t);
    inst->bits[0] = bits;
    return inst;
}

borg_inst *borg_emit_table(borg_builder *b, borg_type type, borg_spread spread, int32_t rows,
                           const uint64_t *bits) {
    int32_t count = spread == BORG_WI ? rows * b->module->size : rows, i = 1;
    while (i < count && bits[i] == bits[0]) ++i;
    if (i >= count) return borg_emit_const(b, type, spread, rows, bits[0]);
    borg_inst *inst = borg_emit(b, BORG_CONST, type, spread, rows, 0);
    inst->ntable = count;
    inst->bits = BORG_NEW(b->module->arena, count, uint64_t);
    memcpy(inst->bits, bits, (size_t)count * sizeof *bits);
    return inst;
}

borg_inst *borg_emit_elem(borg_builder *b, borg_op op, borg_type type, borg_inst *x, borg_inst *y,
                          borg_inst *z) {
    borg_inst *inst = borg_emit(b, op, type, x->spread, x->rows, z ? 3 : y ? 2 : 1);
    inst->args[0] = x;
    if (y) inst->args[1] = y;
    if (z) inst->args[2] = z;
    return inst;
}

borg_inst *borg_emit_cmp(borg_builder *b, borg_op op, borg_pred pred, bool uns, borg_inst *x,
                         borg_inst *y) {
    borg_inst *inst = borg_emit_elem(b, op, BORG_I1, x, y, NULL);
    inst->pred = pred;
    inst->uns = uns;
    return inst;
}

borg_inst *borg_emit_bcast(borg_builder *b, borg_inst *v, borg_spread spread) {
    if (v->spread >= spread) return v;
    borg_inst *inst = borg_emit(b, BORG_BCAST, v->type, spread, v->rows, 1);
    inst->args[0] = v;
    return inst;
}

static int32_t *copy_map(borg_module *m, const int32_t *map, int32_t count) {
    int32_t *copy = BORG_NEW(m->arena, count, int32_t);
    memcpy(copy, map, (size_t)count * sizeof *copy);
    return copy;
}

borg_inst *borg_emit_rows(borg_builder *b, int32_t rows, borg_inst *const *from,
                          const int32_t *map) {
    borg_inst *inst = borg_emit(b, BORG_ROWS, from[0]->type, from[0]->spread, rows, rows);
    memcpy(inst->args, from, (size_t)rows * sizeof *from);
    inst->map = copy_map(b->module, map, rows);
    return inst;
}

borg_inst *borg_emit_perm(borg_builder *b, borg_inst *v, int32_t rows, const int32_t *map) {
    borg_inst *inst = borg_emit(b, BORG_PERM, v->type, BORG_WI, rows, 1);
    inst->args[0] = v;
    inst->map = copy_map(b->module, map, 2 * rows * b->module->size);
    return inst;
}

borg_inst *borg_emit_lane(borg_builder *b, borg_inst *v, int32_t rows, const int32_t *map) {
    borg_inst *inst = borg_emit(b, BORG_LANE, v->type, BORG_WG, rows, 1);
    inst->args[0] = v;
    inst->map = copy_map(b->module, map, 2 * rows);
    return inst;
}

/* ---- walking --------------------------------------------------------------------------------- */

static void number_block(borg_block *block, int32_t *next) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->id = v->type != BORG_VOID || v->op == BORG_LOOP || v->op == BORG_IF ? (*next)++ : -1;
        if (v->block[0]) number_block(v->block[0], next);
        if (v->block[1]) number_block(v->block[1], next);
    }
}

int32_t borg_number(borg_module *m) {
    int32_t next = 0;
    number_block(m->body, &next);
    return next;
}

static void clear_uses(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->uses = 0;
        if (v->block[0]) clear_uses(v->block[0]);
        if (v->block[1]) clear_uses(v->block[1]);
    }
}

static void add_uses(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        for (int32_t i = 0; i < v->nargs; ++i) ++v->args[i]->uses;
        if (v->block[0]) add_uses(v->block[0]);
        if (v->block[1]) add_uses(v->block[1]);
    }
}

void borg_count_uses(borg_module *m) {
    clear_uses(m->body);
    add_uses(m->body);
}

/* ---- signs of zeros -------------------------------------------------------------------------- */

enum { MOST_VISITS = 1000, MOST_PHIS = 16 };

typedef struct visitor {
    int visits, nphis;
    const borg_inst *phis[MOST_PHIS]; /* of loops gone into: without -0 unless shown otherwise */
} visitor;

static bool never_minus_zero(visitor *k, const borg_inst *v);

static bool none_in_constant(const borg_inst *v) {
    uint64_t sign = v->type == BORG_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    for (int32_t i = 0; i < v->ntable; ++i)
        if (v->bits[i] == sign) return false;
    return true;
}

static bool never_in_loop(visitor *k, const borg_inst *phi) {
    const borg_inst *loop = phi->parent->owner;
    int32_t i = 0;
    for (int32_t j = 0; j < k->nphis; ++j)
        if (k->phis[j] == phi) return true;
    for (const borg_inst *p = loop->block[0]->first; p != phi; p = p->next) ++i;
    const borg_inst *yield = loop->block[1]->last;
    if (k->nphis == MOST_PHIS || !yield || yield->op != BORG_YIELD || i >= yield->nargs)
        return false; /* the loop is being made */
    k->phis[k->nphis++] = phi;
    return never_minus_zero(k, phi->args[0]) && never_minus_zero(k, yield->args[i]);
}

static bool never_in_result(visitor *k, const borg_inst *v) {
    const borg_inst *from = v->args[0];
    if (from->op == BORG_LOOP) {
        const borg_inst *phi = from->block[0]->first;
        for (int32_t i = 0; i < v->index; ++i) phi = phi->next;
        return never_minus_zero(k, phi);
    }
    return never_minus_zero(k, from->block[0]->last->args[v->index]) &&
           never_minus_zero(k, from->block[1]->last->args[v->index]);
}

static bool never_minus_zero(visitor *k, const borg_inst *v) {
    if (!borg_is_float(v->type) || v->op == BORG_FABS) return true;
    if (--k->visits < 0) return false;
    int32_t first = 0;
    switch (v->op) {
    case BORG_CONST:
        return none_in_constant(v);
    case BORG_PHI:
        return never_in_loop(k, v);
    case BORG_RESULT:
        return never_in_result(k, v);
    case BORG_SELECT:
        first = 1;
        break;
    case BORG_PERM:
    case BORG_LANE:
    case BORG_SHUFV:
    case BORG_PICKV:
        return never_minus_zero(k, v->args[0]);
    case BORG_FMAX:
    case BORG_FMIN:
    case BORG_RMAX:
    case BORG_RMIN:
    case BORG_BCAST:
    case BORG_ROWS:
        break;
    default:
        return false;
    }
    for (int32_t i = first; i < v->nargs; ++i)
        if (!never_minus_zero(k, v->args[i])) return false;
    return true;
}

bool borg_no_minus_zero(const borg_inst *v) {
    visitor k = {.visits = MOST_VISITS};
    return never_minus_zero(&k, v);
}
