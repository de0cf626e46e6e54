/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise operations, layout and reductions as LLVM IR. */
#include "borg/emit/llvm/llvm.h"

/* ---- elementwise ----------------------------------------------------------------------------- */

typedef struct operands {
    const char *type, *from; /* of the result, of the operands */
    const char *x, *y, *z;
    int32_t lanes;
} operands;

static const char *choose(ll *e, borg_type type, int32_t lanes, const char *c, const char *x,
                          const char *y) {
    const char *t = ll_type(e, type, lanes);
    return ll_let(e, "select %s %s, %s %s, %s %s", ll_type(e, BORG_I1, lanes), c, t, x, t, y);
}

static const char *plain(borg_op op) {
    switch (op) {
    case BORG_ADD:
        return "add";
    case BORG_SUB:
        return "sub";
    case BORG_MUL:
        return "mul";
    case BORG_AND:
        return "and";
    case BORG_OR:
        return "or";
    case BORG_XOR:
        return "xor";
    case BORG_FADD:
        return "fadd";
    case BORG_FSUB:
        return "fsub";
    case BORG_FMUL:
        return "fmul";
    case BORG_FDIV:
        return "fdiv";
    default:
        return NULL;
    }
}

/* x / 0 = 0, x % 0 = x; the least number by -1 does not trap. */
static const char *divide(ll *e, const borg_inst *v, const operands *o) {
    bool sign = v->op == BORG_SDIV || v->op == BORG_SREM,
         rest = v->op == BORG_SREM || v->op == BORG_UREM;
    const char *zero = ll_splat(e, v->type, 0, o->lanes), *one = ll_splat(e, v->type, 1, o->lanes);
    const char *minus = ll_splat(e, v->type, UINT64_MAX, o->lanes);
    const char *none = ll_let(e, "icmp eq %s %s, %s", o->type, o->y, zero), *bad = none;
    const char *negate = NULL;
    if (sign) {
        negate = ll_let(e, "icmp eq %s %s, %s", o->type, o->y, minus);
        bad = ll_let(e, "or %s %s, %s", ll_type(e, BORG_I1, o->lanes), none, negate);
    }
    const char *by = choose(e, v->type, o->lanes, bad, one, o->y);
    const char *q = ll_let(e, "%s %s %s, %s", borg_op_table[v->op].text, o->type, o->x, by);
    if (rest) return choose(e, v->type, o->lanes, none, o->x, q);
    if (sign) {
        const char *other = ll_let(e, "sub %s %s, %s", o->type, zero, o->x);
        q = choose(e, v->type, o->lanes, negate, other, q);
    }
    return choose(e, v->type, o->lanes, none, zero, q);
}

static const char *call(ll *e, const borg_inst *v, const operands *o, const char *name, int count) {
    borg_sink types = {.arena = e->arena}, list = {.arena = e->arena};
    const char *x[3] = {o->x, o->y, o->z};
    for (int i = 0; i < count; ++i) {
        borg_put(&types, "%s%s", i ? ", " : "", o->type);
        borg_put(&list, "%s%s %s", i ? ", " : "", o->type, x[i]);
    }
    const char *f = ll_intrinsic(e, name, v->type, o->lanes, o->type, types.text);
    return ll_let(e, "call %s %s(%s)", o->type, f, list.text);
}

static const char *compare(ll *e, const borg_inst *v, const operands *o) {
    static const char *const real[] = {"oeq", "une", "olt", "ole", "ogt", "oge"};
    static const char *const sign[] = {"eq", "ne", "slt", "sle", "sgt", "sge"};
    static const char *const uns[] = {"eq", "ne", "ult", "ule", "ugt", "uge"};
    bool as_uns = v->uns || v->args[0]->type == BORG_I1;
    return ll_let(e, "%s %s %s %s, %s", v->op == BORG_FCMP ? "fcmp" : "icmp",
                  v->op == BORG_FCMP ? real[v->pred] : (as_uns ? uns : sign)[v->pred], o->from,
                  o->x, o->y);
}

static const char *pick_of_two(ll *e, const borg_inst *v, const operands *o, const char *test,
                               bool swapped) {
    const char *c =
        ll_let(e, "%s %s %s, %s", test, o->type, swapped ? o->y : o->x, swapped ? o->x : o->y);
    return choose(e, v->type, o->lanes, c, o->y, o->x);
}

static const char *magnitude(ll *e, const borg_inst *v, const operands *o) {
    borg_type wide = v->args[0]->type == BORG_F64 ? BORG_I64 : BORG_I32;
    const char *t = ll_type(e, wide, o->lanes);
    const char *bits = ll_let(e, "bitcast %s %s to %s", o->from, o->x, t);
    if (wide == BORG_I64) {
        bits = ll_let(e, "lshr %s %s, %s", t, bits, ll_splat(e, wide, 32, o->lanes));
        bits = ll_let(e, "trunc %s %s to %s", t, bits, o->type);
    }
    return ll_let(e, "and %s %s, %s", o->type, bits, ll_splat(e, BORG_I32, INT32_MAX, o->lanes));
}

static const char *convert(ll *e, const borg_inst *v, const operands *o) {
    static const char *const suffix[] = {"", "i1", "i32", "i64", "f32", "f64"};
    if (v->op == BORG_MAGNITUDE) return magnitude(e, v, o);
    if (v->op != BORG_FPTOSI && v->op != BORG_FPTOUI)
        return ll_let(e, "%s %s %s to %s", borg_op_table[v->op].text, o->from, o->x, o->type);
    borg_type from = v->args[0]->type;
    const char *name =
        o->lanes == 1
            ? borg_format(e->arena, "%s.sat.%s", borg_op_table[v->op].text, suffix[v->type])
            : borg_format(e->arena, "%s.sat.v%d%s", borg_op_table[v->op].text, o->lanes,
                          suffix[v->type]);
    const char *f = ll_intrinsic(e, name, from, o->lanes, o->type, o->from);
    return ll_let(e, "call %s %s(%s %s)", o->type, f, o->from, o->x);
}

static const char *integer(ll *e, const borg_inst *v, const operands *o) {
    uint64_t width = v->type == BORG_I64 ? 63 : 31;
    const char *zero = ll_splat(e, v->type, 0, o->lanes), *count;
    switch (v->op) {
    case BORG_SHL:
    case BORG_LSHR:
    case BORG_ASHR:
        count = ll_let(e, "and %s %s, %s", o->type, o->y, ll_splat(e, v->type, width, o->lanes));
        return ll_let(e, "%s %s %s, %s", borg_op_table[v->op].text, o->type, o->x, count);
    case BORG_NOT:
        return ll_let(e, "xor %s %s, %s", o->type, o->x,
                      ll_splat(e, v->type, UINT64_MAX, o->lanes));
    case BORG_NEG:
        return ll_let(e, "sub %s %s, %s", o->type, zero, o->x);
    case BORG_ABS: {
        const char *minus = ll_let(e, "sub %s %s, %s", o->type, zero, o->x);
        const char *c = ll_let(e, "icmp slt %s %s, %s", o->type, o->x, zero);
        return choose(e, v->type, o->lanes, c, minus, o->x);
    }
    case BORG_SMIN:
        return pick_of_two(e, v, o, "icmp slt", true);
    case BORG_SMAX:
        return pick_of_two(e, v, o, "icmp slt", false);
    case BORG_UMIN:
        return pick_of_two(e, v, o, "icmp ult", true);
    case BORG_UMAX:
        return pick_of_two(e, v, o, "icmp ult", false);
    default:
        return divide(e, v, o);
    }
}

static const char *real(ll *e, const borg_inst *v, const operands *o) {
    uint64_t one = v->type == BORG_F64 ? 0x3ff0000000000000u : 0x3f800000u;
    switch (v->op) {
    case BORG_FMIN:
        return pick_of_two(e, v, o, "fcmp olt", true);
    case BORG_FMAX:
        return pick_of_two(e, v, o, "fcmp olt", false);
    case BORG_FNEG:
        return ll_let(e, "fneg %s %s", o->type, o->x);
    case BORG_FABS:
        return call(e, v, o, "fabs", 1);
    case BORG_SQRT:
        return call(e, v, o, "sqrt", 1);
    case BORG_FMA:
        return call(e, v, o, "fma", 3);
    default:
        return ll_let(e, "fdiv %s %s, %s", o->type, ll_splat(e, v->type, one, o->lanes), o->x);
    }
}

void ll_elem(ll *e, borg_inst *v) {
    for (int32_t r = 0; r < v->rows; ++r) {
        operands o = {.lanes = ll_lanes(e, v), .x = ll_get(v->args[0], r)};
        const char *value;
        o.type = ll_type(e, v->type, o.lanes);
        o.from = ll_type(e, v->args[0]->type, o.lanes);
        if (v->nargs > 1) o.y = ll_get(v->args[1], r);
        if (v->nargs > 2) o.z = ll_get(v->args[2], r);
        if (plain(v->op)) {
            value = ll_let(e, "%s %s %s, %s", plain(v->op), o.type, o.x, o.y);
        } else if (v->op == BORG_SELECT) {
            value = choose(e, v->type, o.lanes, o.x, o.y, o.z);
        } else if (v->op == BORG_ICMP || v->op == BORG_FCMP) {
            value = compare(e, v, &o);
        } else if (borg_op_table[v->op].class == BORG_CONVERT) {
            value = convert(e, v, &o);
        } else {
            value = borg_is_float(v->type) ? real(e, v, &o) : integer(e, v, &o);
        }
        ll_name(e, v, r, value);
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* Row r of a PERM or LANE: one shuffle, or one more for each further row that it comes from. */
static const char *moved(ll *e, const borg_inst *v, int32_t r) {
    const borg_inst *x = v->args[0];
    int32_t items = ll_items(e, v->spread), pack = e->m->pack, lanes = items * pack;
    int32_t wide = ll_lanes(e, x), *row = BORG_NEW(e->arena, lanes, int32_t);
    int32_t *from = BORG_NEW(e->arena, lanes, int32_t), *mask = BORG_NEW(e->arena, lanes, int32_t);
    const char *value = NULL;
    for (int32_t w = 0; w < items; ++w)
        for (int32_t g = 0; g < pack; ++g) {
            int32_t l = ll_number(e, w, g, items);
            const int32_t *place = &v->map[2 * (r * items + w)];
            row[l] = place[0];
            from[l] = ll_number(e, place[1], g, e->m->size);
        }
    for (int32_t l = 0; l < lanes; ++l) {
        int32_t first = 0;
        while (row[first] != row[l]) ++first;
        if (first < l) continue;
        for (int32_t k = 0; k < lanes; ++k) mask[k] = row[k] == row[l] ? from[k] : -1;
        const char *part = ll_shuffle(e, x->type, ll_get(x, row[l]), NULL, wide, mask, lanes);
        for (int32_t k = 0; k < lanes; ++k) mask[k] = row[k] == row[l] ? lanes + k : k;
        value = value ? ll_shuffle(e, x->type, value, part, lanes, mask, lanes) : part;
    }
    return value;
}

static const char *shuffled(ll *e, const borg_inst *v, int32_t r) {
    const borg_inst *x = v->args[0];
    int32_t items = ll_items(e, v->spread), pack = e->m->pack, lanes = items * pack;
    const char *index = ll_get(v->args[1], r), *t = ll_type(e, v->type, lanes), *value = "poison";
    const char *it = ll_type(e, BORG_I32, lanes), *xt = ll_type(e, x->type, ll_lanes(e, x));
    if (ll_lanes(e, x) == 1) return ll_get(x, r);
    for (int32_t w = 0; w < items; ++w)
        for (int32_t g = 0; g < pack; ++g) {
            int32_t l = ll_number(e, w, g, items);
            const char *i =
                lanes == 1 ? index : ll_let(e, "extractelement %s %s, i32 %d", it, index, l);
            if (e->m->order == BORG_WG_MINOR && pack > 1) i = ll_let(e, "mul i32 %s, %d", i, pack);
            int32_t add = e->m->order == BORG_WG_MINOR ? g : g * e->m->size;
            if (add > 0) i = ll_let(e, "add i32 %s, %d", i, add);
            const char *one = ll_let(e, "extractelement %s %s, i32 %s", xt, ll_get(x, r), i);
            if (lanes == 1) return one;
            value = ll_let(e, "insertelement %s %s, %s %s, i32 %d", t, value,
                           ll_type(e, v->type, 1), one, l);
        }
    return value;
}

static const char *picked(ll *e, const borg_inst *v) {
    const borg_inst *x = v->args[0];
    int32_t lanes = ll_lanes(e, v);
    const char *value = ll_get(x, 0), *t = ll_type(e, BORG_I32, lanes);
    for (int32_t r = 1; r < x->rows; ++r) {
        const char *c = ll_let(e, "icmp eq %s %s, %s", t, ll_get(v->args[1], 0),
                               ll_splat(e, BORG_I32, (uint64_t)r, lanes));
        value = choose(e, v->type, lanes, c, ll_get(x, r), value);
    }
    return value;
}

void ll_layout(ll *e, borg_inst *v) {
    for (int32_t r = 0; r < v->rows; ++r) {
        switch (v->op) {
        case BORG_BCAST:
            ll_name(e, v, r, ll_widen(e, v->args[0], r, v->spread));
            break;
        case BORG_ROWS:
            ll_name(e, v, r, ll_get(v->args[r], v->map[r]));
            break;
        case BORG_PERM:
        case BORG_LANE:
            ll_name(e, v, r, moved(e, v, r));
            break;
        case BORG_SHUFV:
            ll_name(e, v, r, shuffled(e, v, r));
            break;
        default:
            ll_name(e, v, r, picked(e, v));
            break;
        }
    }
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Work-items from .. from+count-1 of a row of `size` of them, in the module's order. */
static const char *items_of(ll *e, borg_type type, const char *x, int32_t size, int32_t from,
                            int32_t count) {
    int32_t pack = e->m->pack, *mask = BORG_NEW(e->arena, count * pack, int32_t);
    for (int32_t w = 0; w < count; ++w)
        for (int32_t g = 0; g < pack; ++g)
            mask[ll_number(e, w, g, count)] =
                from + w < size ? ll_number(e, from + w, g, size) : -1;
    return ll_shuffle(e, type, x, NULL, size * pack, mask, count * pack);
}

typedef struct state {
    const char *value, *index;
} state;

static state meet(ll *e, const borg_inst *v, state x, state y, int32_t lanes) {
    borg_type type = v->args[0]->type;
    const char *t = ll_type(e, type, lanes), *b = ll_type(e, BORG_I1, lanes);
    if (v->op == BORG_ANY || v->op == BORG_ALL)
        return (state){
            ll_let(e, "%s %s %s, %s", v->op == BORG_ANY ? "or" : "and", t, x.value, y.value), NULL};
    if (v->op == BORG_RSUM)
        return (state){
            ll_let(e, "%s %s %s, %s", borg_is_float(type) ? "fadd" : "add", t, x.value, y.value),
            NULL};
    bool least = v->op == BORG_RMIN, uns = v->uns || type == BORG_I1;
    const char *test = borg_is_float(type) ? (least ? "fcmp olt" : "fcmp ogt")
                       : uns               ? (least ? "icmp ult" : "icmp ugt")
                                           : (least ? "icmp slt" : "icmp sgt");
    const char *c = ll_let(e, "%s %s %s, %s", test, t, y.value, x.value);
    if (x.index) {
        const char *same = ll_let(e, "%s %s %s, %s", borg_is_float(type) ? "fcmp oeq" : "icmp eq",
                                  t, y.value, x.value);
        const char *lower =
            ll_let(e, "icmp slt %s %s, %s", ll_type(e, BORG_I32, lanes), y.index, x.index);
        const char *tie = ll_let(e, "and %s %s, %s", b, same, lower);
        c = ll_let(e, "or %s %s, %s", b, c, tie);
        x.index = choose(e, BORG_I32, lanes, c, y.index, x.index);
    }
    x.value = choose(e, type, lanes, c, y.value, x.value);
    return x;
}

/* The first `kept` items of x as they were, those before from y. */
static const char *keep(ll *e, borg_type type, const char *x, const char *y, int32_t count,
                        int32_t met) {
    int32_t pack = e->m->pack, lanes = count * pack, *mask = BORG_NEW(e->arena, lanes, int32_t);
    if (met == count) return y;
    for (int32_t w = 0; w < count; ++w)
        for (int32_t g = 0; g < pack; ++g)
            mask[ll_number(e, w, g, count)] = ll_number(e, w, g, count) + (w < met ? lanes : 0);
    return ll_shuffle(e, type, x, y, lanes, mask, lanes);
}

static const char *tree(ll *e, const borg_inst *v, int32_t r) {
    const borg_inst *from = v->args[0];
    borg_type type = from->type;
    int32_t count = e->m->size, pack = e->m->pack, half = 1, lanes = count * pack;
    bool by_index = v->op == BORG_RMAXIDX; /* of equal ones the lowest work-item's */
    if (v->op == BORG_RMAX || v->op == BORG_RMIN) by_index = !borg_no_minus_zero(from);
    state x = {ll_get(from, r), NULL};
    if (borg_is_float(type) && v->op != BORG_RSUM) {
        uint64_t infinity = type == BORG_F64 ? 0x7ff0000000000000u : 0x7f800000u;
        uint64_t sign = type == BORG_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
        const char *c = ll_let(e, "fcmp uno %s %s, %s", ll_type(e, type, lanes), x.value, x.value);
        x.value = choose(e, type, lanes, c,
                         ll_splat(e, type, v->op == BORG_RMIN ? infinity : infinity | sign, lanes),
                         x.value);
    }
    if (by_index) {
        uint64_t *bits = BORG_NEW(e->arena, lanes, uint64_t);
        for (int32_t w = 0; w < count; ++w)
            for (int32_t g = 0; g < pack; ++g) bits[ll_number(e, w, g, count)] = (uint64_t)w;
        x.index = ll_constant(e, BORG_I32, bits, lanes);
    }
    while (2 * half < count) half *= 2;
    for (; half >= 1 && count > 1; count = half, half /= 2) {
        int32_t met = count - half;
        state low = x, high = x;
        low.value = items_of(e, type, x.value, count, 0, half);
        high.value = items_of(e, type, x.value, count, half, half);
        if (x.index) {
            low.index = items_of(e, BORG_I32, x.index, count, 0, half);
            high.index = items_of(e, BORG_I32, x.index, count, half, half);
        }
        state both = meet(e, v, low, high, half * pack);
        x.value = keep(e, type, low.value, both.value, half, met);
        if (x.index) x.index = keep(e, BORG_I32, low.index, both.index, half, met);
    }
    return v->op == BORG_RMAXIDX ? x.index : x.value;
}

static const char *of_pack(ll *e, const borg_inst *v, int32_t r) {
    int32_t lanes = ll_lanes(e, v->args[0]);
    const char *x = ll_get(v->args[0], r), *t = ll_type(e, BORG_I1, lanes);
    if (lanes == 1) return x;
    const char *f = ll_intrinsic(e, v->op == BORG_ANYP ? "vector.reduce.or" : "vector.reduce.and",
                                 BORG_I1, lanes, "i1", t);
    return ll_let(e, "call i1 %s(%s %s)", f, t, x);
}

void ll_reduce(ll *e, borg_inst *v) {
    for (int32_t r = 0; r < v->rows; ++r)
        ll_name(e, v, r, v->spread == BORG_UNI ? of_pack(e, v, r) : tree(e, v, r));
}
