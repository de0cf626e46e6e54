/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker that runs after the parser and between passes. */
#include "borg/ir.h"

typedef struct checker {
    borg_module *m;
    const char *after;
    borg_diags *diags;
    bool good;
} checker;

/* inst->mark: 0 not visible, 1 visible here */

static bool wrong(checker *c, const borg_inst *v, const char *reason) {
    borg_report(c->diags, BORG_ERROR, v->loc, "after %s: %s: %s", c->after,
                borg_op_table[v->op].text, reason);
    return c->good = false;
}

#define NEED(condition, reason)                                                                    \
    do {                                                                                           \
        if (!(condition)) return wrong(c, v, reason);                                              \
    } while (0)

static bool same_shape(const borg_inst *x, const borg_inst *y) {
    return x->rows == y->rows && x->spread == y->spread;
}

static bool check_elem_types(checker *c, const borg_inst *v) {
    borg_type x = v->args[0]->type, type = v->type;
    int first = v->op == BORG_SELECT ? 1 : 0;
    for (int32_t i = first + 1; i < v->nargs; ++i)
        NEED(v->args[i]->type == v->args[first]->type, "operands of different types");
    switch (v->op) {
    case BORG_ICMP:
        NEED(type == BORG_I1, "a comparison gives i1");
        NEED(borg_is_int(x) || (x == BORG_I1 && v->pred <= BORG_NE), "needs integers");
        return true;
    case BORG_FCMP:
        NEED(type == BORG_I1 && borg_is_float(x), "needs floating operands, gives i1");
        return true;
    case BORG_SELECT:
        NEED(x == BORG_I1, "the condition is i1");
        NEED(type == v->args[1]->type && type != BORG_PTR, "gives the type of its choices");
        return true;
    case BORG_AND:
    case BORG_OR:
    case BORG_XOR:
    case BORG_NOT:
        NEED(type == x && (borg_is_int(x) || x == BORG_I1), "needs integers or i1");
        return true;
    default:
        NEED(type == x, "gives the type of its operands");
        NEED(v->op >= BORG_FADD && v->op <= BORG_FMA ? borg_is_float(x) : borg_is_int(x),
             "operands of the wrong kind");
        return true;
    }
}

static bool check_convert(checker *c, const borg_inst *v) {
    borg_type from = v->args[0]->type, to = v->type;
    bool good = false;
    switch (v->op) {
    case BORG_ZEXT:
        good = (from == BORG_I1 && borg_is_int(to)) || (from == BORG_I32 && to == BORG_I64);
        break;
    case BORG_SEXT:
        good = from == BORG_I32 && to == BORG_I64;
        break;
    case BORG_TRUNC:
        good = from == BORG_I64 && to == BORG_I32;
        break;
    case BORG_SITOFP:
    case BORG_UITOFP:
        good = borg_is_int(from) && borg_is_float(to);
        break;
    case BORG_FPTOSI:
    case BORG_FPTOUI:
        good = borg_is_float(from) && borg_is_int(to);
        break;
    case BORG_MAGNITUDE:
        good = borg_is_float(from) && to == BORG_I32;
        break;
    case BORG_FPEXT:
        good = from == BORG_F32 && to == BORG_F64;
        break;
    default:
        good = from == BORG_F64 && to == BORG_F32;
        break;
    }
    NEED(good, "no such conversion");
    return true;
}

static bool check_map(checker *c, const borg_inst *v) {
    NEED(v->map, "has no map");
    if (v->op == BORG_ROWS) {
        for (int32_t i = 0; i < v->rows; ++i)
            NEED(v->map[i] >= 0 && v->map[i] < v->args[i]->rows, "a row that the operand lacks");
        return true;
    }
    int32_t count = v->op == BORG_LANE ? v->rows : v->rows * c->m->size;
    for (int32_t i = 0; i < count; ++i) {
        NEED(v->map[2 * i] >= 0 && v->map[2 * i] < v->args[0]->rows,
             "a row that the operand lacks");
        NEED(v->map[2 * i + 1] >= 0 && v->map[2 * i + 1] < c->m->size, "no such work-item");
    }
    return true;
}

static bool check_layout(checker *c, const borg_inst *v) {
    const borg_inst *x = v->nargs ? v->args[0] : NULL;
    NEED(x && x->type == v->type, "gives the type of its operand");
    switch (v->op) {
    case BORG_BCAST:
        NEED(x->rows == v->rows && x->spread < v->spread, "widens the spread, keeps the rows");
        return true;
    case BORG_ROWS:
        NEED(v->nargs == v->rows, "one operand for each row");
        for (int32_t i = 0; i < v->nargs; ++i)
            NEED(v->args[i]->type == v->type && v->args[i]->spread == v->spread,
                 "operands of another type or spread");
        return check_map(c, v);
    case BORG_PERM:
        NEED(x->spread == BORG_WI && v->spread == BORG_WI, "from WI to WI");
        return check_map(c, v);
    case BORG_LANE:
        NEED(x->spread == BORG_WI && v->spread == BORG_WG, "from WI to WG");
        return check_map(c, v);
    case BORG_SHUFV:
        NEED(x->spread == BORG_WI && v->spread >= BORG_WG && x->rows == v->rows,
             "shuffles a WI value, keeps the rows");
        NEED(v->args[1]->type == BORG_I32 && same_shape(v->args[1], v), "needs an i32 index");
        return true;
    case BORG_MMA:
        NEED(c->m->size == 32, "is for 32 work-items");
        NEED(borg_is_float(v->type) && v->spread == BORG_WI, "is f32 or f64, WI");
        for (int32_t i = 0; i < 3; ++i)
            NEED(v->args[i]->type == v->type && same_shape(v->args[i], v),
                 "operands of another type or shape");
        NEED(v->index == 0 || v->index == 1, "the half of the tile is 0 or 1");
        return true;
    default:
        NEED(v->rows == 1 && x->spread == v->spread, "one row, spread of the operand");
        NEED(v->args[1]->type == BORG_I32 && same_shape(v->args[1], v), "needs an i32 index");
        return true;
    }
}

static bool check_reduce(checker *c, const borg_inst *v) {
    const borg_inst *x = v->args[0];
    bool logical = v->op >= BORG_ANY, pack = v->op >= BORG_ANYP;
    NEED(x->rows == v->rows, "keeps the rows");
    NEED(pack ? x->spread != BORG_UNI && v->spread == BORG_UNI
              : x->spread == BORG_WI && v->spread == BORG_WG,
         "from WI to WG, over a pack to UNI");
    NEED(logical ? x->type == BORG_I1 : borg_is_int(x->type) || borg_is_float(x->type),
         "operand of the wrong type");
    NEED(v->type == (v->op == BORG_RMAXIDX ? BORG_I32 : x->type), "result of the wrong type");
    return true;
}

static bool check_memory(checker *c, const borg_inst *v) {
    if (v->op == BORG_BARRIER) return true;
    bool store = v->op == BORG_STORE || v->op == BORG_STOREA;
    int32_t least = store ? 3 : 2;
    NEED(v->nargs == least || v->nargs == least + 1, "wrong number of operands");
    const borg_inst *p = v->args[0], *index = v->args[1], *value = store ? v->args[2] : v;
    NEED(p->type == BORG_PTR && p->rows == 1 && p->spread <= BORG_WG, "needs a pointer");
    if (p->op == BORG_LOCAL) {
        NEED(v->op == BORG_LOAD || v->op == BORG_STORE, "a local array has no affine accesses");
        NEED(index->type == BORG_I32, "a local array needs an i32 index");
        NEED(value->type == c->m->locals[p->index].elem, "a local array of another type");
    } else {
        NEED(index->type == BORG_I64, "needs an i64 index");
    }
    NEED(value->type != BORG_I1 && value->type != BORG_VOID, "no such type in memory");
    NEED(!store || value->type != BORG_PTR, "pointers are not stored");
    NEED(p->spread <= value->spread, "the value is narrower than the pointer");
    if (v->op == BORG_LOADA || v->op == BORG_STOREA) {
        NEED(index->rows == 1 && index->spread <= BORG_WG && index->spread <= value->spread,
             "the offset has one row, is UNI or WG");
        NEED(v->c, "has no descriptor");
    } else {
        NEED(same_shape(index, value), "index and value differ in shape");
    }
    const borg_inst *mask = borg_mask(v);
    NEED(!mask || (mask->type == BORG_I1 && same_shape(mask, value)), "mask of another shape");
    if (v->type == BORG_PTR)
        NEED(v->spread <= BORG_WG && v->rows == 1, "pointers are UNI or WG, one row");
    return true;
}

static bool check_leaf(checker *c, const borg_inst *v) {
    int64_t full = (int64_t)v->rows * (v->spread == BORG_WI ? c->m->size : 1);
    switch (v->op) {
    case BORG_PARAM:
        NEED(v->index >= 0 && v->index < c->m->nparams, "no such parameter");
        NEED(v->type == c->m->params[v->index].type, "parameter of another type");
        NEED(v->spread == BORG_UNI && v->rows == 1, "a parameter is UNI, one row");
        return true;
    case BORG_LOCAL:
        NEED(v->index >= 0 && v->index < c->m->nlocals, "no such local array");
        NEED(v->type == BORG_PTR && v->spread == BORG_WG && v->rows == 1,
             "a local array is ptr WG, one row");
        return true;
    case BORG_CONST:
        NEED(v->type != BORG_PTR && v->bits && (v->ntable == 1 || v->ntable == full),
             "table of the wrong length");
        for (int32_t i = 0; i < v->ntable; ++i) {
            NEED(v->type != BORG_I1 || v->bits[i] <= 1, "i1 is 0 or 1");
            NEED(borg_type_bytes(v->type) != 4 || v->bits[i] <= UINT32_MAX, "bits too wide");
        }
        return true;
    case BORG_LID:
        NEED(v->type == BORG_I32 && v->spread == BORG_WI && v->rows == 1, "is i32 WI, one row");
        return true;
    case BORG_WGID:
        NEED(v->type == BORG_I32 && v->spread == BORG_WG && v->rows == 1, "is i32 WG, one row");
        return true;
    case BORG_GID:
        NEED(v->type == BORG_I64 && v->spread == BORG_WG && v->rows == 1, "is i64 WG, one row");
        return true;
    default:
        NEED(v->type == BORG_I64 && v->spread == BORG_UNI && v->rows == 1, "is i64 UNI, one row");
        return true;
    }
}

static bool one_lane(const checker *c, const borg_inst *v) {
    return v->type == BORG_I1 && borg_lanes(c->m, v) == 1 && v->spread != BORG_WI;
}

static const borg_inst *nth_phi(const borg_inst *loop, int32_t n) {
    const borg_inst *v = loop->block[0]->first;
    while (v && v->op == BORG_PHI && n-- > 0) v = v->next;
    return v && v->op == BORG_PHI ? v : NULL;
}

static bool equal_shape(const borg_inst *x, const borg_inst *y) {
    return x->type == y->type && same_shape(x, y);
}

static bool check_control(checker *c, const borg_inst *v) {
    const borg_inst *owner = v->parent->owner;
    switch (v->op) {
    case BORG_PHI:
        NEED(owner && owner->op == BORG_LOOP && v->parent == owner->block[0] &&
                 (!v->prev || v->prev->op == BORG_PHI),
             "stands first in the head of a loop");
        NEED(equal_shape(v, v->args[0]), "differs from its initial value");
        return true;
    case BORG_WHILE:
        NEED(owner && owner->op == BORG_LOOP && v->parent == owner->block[0] && !v->next,
             "ends the head of a loop");
        NEED(one_lane(c, v->args[0]), "the condition has one lane");
        return true;
    case BORG_YIELD:
        NEED(owner && !v->next && !(owner->op == BORG_LOOP && v->parent == owner->block[0]),
             "ends the body of a loop or a branch");
        if (owner->op != BORG_LOOP) return true;
        for (int32_t i = 0; i < v->nargs; ++i) {
            const borg_inst *phi = nth_phi(owner, i);
            NEED(phi && equal_shape(phi, v->args[i]), "differs from the loop's values");
        }
        NEED(!nth_phi(owner, v->nargs), "gives fewer values than the loop has");
        return true;
    case BORG_IF:
        NEED(one_lane(c, v->args[0]), "the condition has one lane");
        return true;
    case BORG_RESULT: {
        const borg_inst *from = v->args[0], *value = NULL;
        NEED(from->op == BORG_LOOP || from->op == BORG_IF, "of a loop or a branch");
        NEED(v->index >= 0, "no such result");
        if (from->op == BORG_LOOP) {
            value = nth_phi(from, v->index);
        } else if (from->block[0] && from->block[0]->last &&
                   from->block[0]->last->nargs > v->index) {
            value = from->block[0]->last->args[v->index];
        }
        NEED(value && equal_shape(v, value), "differs from what is yielded");
        return true;
    }
    default:
        return true;
    }
}

static bool check_branches(checker *c, const borg_inst *v) {
    NEED(v->block[0] && v->block[1], "lacks its blocks");
    const borg_inst *first = v->block[0]->last, *second = v->block[1]->last;
    NEED(first && first->op == (v->op == BORG_LOOP ? BORG_WHILE : BORG_YIELD),
         "the first block has no end");
    NEED(second && second->op == BORG_YIELD, "the second block has no end");
    if (v->op == BORG_LOOP) return true;
    NEED(first->nargs == second->nargs, "the branches yield different numbers of values");
    for (int32_t i = 0; i < first->nargs; ++i)
        NEED(equal_shape(first->args[i], second->args[i]), "the branches yield different shapes");
    return true;
}

static bool check_inst(checker *c, const borg_inst *v) {
    const borg_op_info *info = &borg_op_table[v->op];
    bool store = v->op == BORG_STORE || v->op == BORG_STOREA || v->op == BORG_BARRIER;
    bool nothing = store || v->op == BORG_LOOP || v->op == BORG_IF || v->op == BORG_WHILE ||
                   v->op == BORG_YIELD;
    NEED(nothing == (v->type == BORG_VOID), nothing ? "makes no value" : "needs a shape");
    NEED(nothing || (v->rows >= 1 && v->rows <= BORG_MAX_ROWS), "rows out of range");
    NEED(nothing || v->rows * (int64_t)c->m->size * c->m->pack <= BORG_MAX_LANES, "too many lanes");
    NEED(info->operands < 0 || v->nargs == info->operands, "wrong number of operands");
    for (int32_t i = 0; i < v->nargs; ++i) {
        NEED(v->args[i]->mark == 1, "an operand that is not visible here");
        NEED(v->args[i]->type != BORG_VOID || v->op == BORG_RESULT, "an operand without value");
        NEED(v->args[i]->op != BORG_LOCAL || (i == 0 && info->class == BORG_MEMORY),
             "the address of a local array is loaded and stored by alone");
    }
    switch (info->class) {
    case BORG_LEAF:
        return check_leaf(c, v);
    case BORG_ELEM:
    case BORG_CONVERT:
        for (int32_t i = 0; i < v->nargs; ++i)
            NEED(same_shape(v->args[i], v), "operand of another shape");
        return info->class == BORG_ELEM ? check_elem_types(c, v) : check_convert(c, v);
    case BORG_LAYOUT:
        return check_layout(c, v);
    case BORG_REDUCE:
        return check_reduce(c, v);
    case BORG_MEMORY:
        return check_memory(c, v);
    default:
        return check_control(c, v);
    }
}

static void hide(const borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) v->mark = 0;
}

static void hide_all(const borg_block *block) {
    hide(block);
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->block[0]) hide_all(v->block[0]);
        if (v->block[1]) hide_all(v->block[1]);
    }
}

static void check_block(checker *c, borg_block *block) {
    const borg_inst *prev = NULL;
    for (borg_inst *v = block->first; v; prev = v, v = v->next) {
        v->mark = 0;
        if (v->parent != block || v->prev != prev) wrong(c, v, "broken links");
        bool sound = check_inst(c, v);
        bool nested = v->op == BORG_LOOP || v->op == BORG_IF;
        if (nested != (v->block[0] || v->block[1])) wrong(c, v, "blocks where none belong");
        if (nested && v->block[0] && v->block[1]) {
            check_block(c, v->block[0]);
            if (v->op == BORG_IF) hide(v->block[0]);
            check_block(c, v->block[1]);
            hide(v->block[0]);
            hide(v->block[1]);
            sound = sound && check_branches(c, v);
        }
        v->mark = sound || v->type != BORG_VOID || nested;
        if (c->diags->errors > 20) return;
    }
    const borg_inst *last = block->last;
    if (last != prev) c->good = false;
}

bool borg_verify(borg_module *m, const char *after, borg_diags *diags) {
    checker c = {m, after, diags, true};
    hide_all(m->body);
    check_block(&c, m->body);
    return c.good;
}
