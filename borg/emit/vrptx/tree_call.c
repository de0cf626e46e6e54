/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls: built-in functions, reductions as loops over the warp's size, inlined functions. */
#include "borg/emit/vrptx/tree.h"
#include <string.h>

/* ---- between threads ------------------------------------------------------------------------- */

static const char *shuffle(vt *t, const borg_expr *e, vt_to to) {
    static const char *const how[] = {"idx", "down", "up", "xor"};
    const borg_type type = borg_ctype_ir(e->type);
    const char *x = vt_value(t, e->args[0]), *by;
    int64_t lane;
    if (vt_spread(t, e->args[0]) < BORG_WI) return vt_to_register(t, type, x, to); /* all have it */
    const bool first = borg_constant(e->args[1], 0, &lane) && lane == 0;
    by = vt_value(t, e->args[1]);
    if (e->builtin == BORG_B_SHUFFLE && !first) { /* limited to the last thread */
        const char *last = vx_new(&t->e, BORG_I32), *limited = vx_new(&t->e, BORG_I32);
        vx_line(&t->e, "sub.s32 %s, $ntids, 1", last);
        vx_line(&t->e, "min.u32 %s, %s, %s", limited, by, last);
        by = limited;
    }
    if (type == BORG_I1) {
        x = vx_shuffled(&t->e, type, how[e->builtin - BORG_B_SHUFFLE], x, by);
        return vt_to_register(t, type, x, to);
    }
    return vt_line(
        t, to, e->type,
        borg_format(t->arena, "shfl.%s.%s", how[e->builtin - BORG_B_SHUFFLE], vx_type(type)), x, by,
        NULL);
}

typedef struct turns { /* a loop over halves of the warp's size */
    int32_t top, end;
} turns;

/* while (counter < ntids) or, below, while (counter > 0); all stay until the last is through. */
static turns begin_turns(vt *t, const char *compare, const char *counter, const char *limit) {
    turns k = {t->e.labels, t->e.labels + 1};
    const char *p = vx_new(&t->e, BORG_I1);
    t->e.labels += 2;
    borg_put(t->e.out, "b_l%d:\n", k.top);
    vx_line(&t->e, "setp.%s %s, %s, %s", compare, p, counter, limit);
    vx_line(&t->e, "@!%s allbra b_l%d", p, k.end);
    return k;
}

static void end_turns(vt *t, turns k) {
    vx_line(&t->e, "allbra b_l%d", k.top);
    borg_put(t->e.out, "b_l%d:\n", k.end);
}

/* The halving tree from the least power of two that is no less than ntids: each warp of a partition
 * has its own half, and one whose half is 0 waits. */
static const char *sum(vt *t, borg_type type, const char *x) {
    vx *e = &t->e;
    const char *s = vx_new(e, type), *half = vx_new(e, BORG_I32), *on = vx_new(e, BORG_I1);
    vx_line(e, "mov.%s %s, %s", vx_type(type), s, x);
    vx_line(e, "mov.b32 %s, 1", half);
    turns k = begin_turns(t, "lt.s32", half, "$ntids");
    vx_line(e, "setp.lt.s32 %s, %s, $ntids", on, half);
    vx_line(e, "@%s shl.b32 %s, %s, 1", on, half, half);
    end_turns(t, k);
    vx_line(e, "shr.u32 %s, %s, 1", half, half);
    k = begin_turns(t, "gt.s32", half, "0");
    const char *y = vx_shuffled(e, type, "down", s, half);
    const char *next = vx_new(e, BORG_I32), *low = vx_new(e, BORG_I1), *there = vx_new(e, BORG_I1),
               *take = vx_new(e, BORG_I1);
    vx_line(e, "add.s32 %s, $tid, %s", next, half);
    vx_line(e, "setp.lt.s32 %s, $tid, %s", low, half);
    vx_line(e, "setp.lt.s32 %s, %s, $ntids", there, next);
    vx_line(e, "and.pred %s, %s, %s", take, low, there);
    vx_line(e, "@%s add.%s %s, %s, %s", take, vx_added_as(type), s, s, y);
    vx_line(e, "shr.u32 %s, %s, 1", half, half);
    end_turns(t, k);
    return vx_shuffled(e, type, "idx", s, "0");
}

static const char *extreme(vt *t, const borg_expr *e, const char *x) {
    const borg_ctype of = e->args[0]->type;
    const vx_extreme k = vx_extreme_start(&t->e, borg_ctype_ir(of), borg_ctype_unsigned(of),
                                          e->builtin == BORG_B_RMIN, x);
    const char *by = vx_new(&t->e, BORG_I32);
    vx_line(&t->e, "mov.b32 %s, 1", by);
    turns loop = begin_turns(t, "lt.s32", by, "$ntids");
    vx_extreme_step(&t->e, &k, by);
    vx_line(&t->e, "shl.b32 %s, %s, 1", by, by);
    end_turns(t, loop);
    return e->builtin == BORG_B_RMAXIDX ? vx_shuffled(&t->e, BORG_I32, "idx", k.at, "0")
                                        : vx_shuffled(&t->e, k.type, "idx", k.value, "0");
}

static const char *reduce(vt *t, const borg_expr *e, vt_to to) {
    const bool votes = e->builtin == BORG_B_ANY || e->builtin == BORG_B_ALL;
    if (t->mask && t->mask->spread == BORG_WI)
        borg_report(t->diags, BORG_ERROR, e->loc,
                    "'%s' under a condition that differs between the work-items of a group: those "
                    "that do not get here cannot take part",
                    e->text);
    const char *x = vt_value(t, e->args[0]);
    if (votes && vt_spread(t, e->args[0]) < BORG_WI) return vt_to_register(t, BORG_I1, x, to);
    if (votes)
        return vt_line(t, to, BORG_C_BOOL,
                       e->builtin == BORG_B_ANY ? "vote.any.pred" : "vote.all.pred", x, NULL, NULL);
    if (t->mask) vt_predicate(t, t->mask); /* not inside of the loop */
    x = e->builtin == BORG_B_SUM ? sum(t, borg_ctype_ir(e->type), x) : extreme(t, e, x);
    return vt_to_register(t, borg_ctype_ir(e->type), x, to);
}

/* ---- functions of a thread ------------------------------------------------------------------- */

static const char *magnitude(vt *t, const borg_expr *e, vt_to to) {
    const char *x = vt_value(t, e->args[0]), *word = vx_new(&t->e, BORG_I32);
    x = vx_in_register(&t->e, borg_ctype_ir(e->args[0]->type), x);
    if (e->args[0]->type == BORG_C_DOUBLE) {
        const char *bits = vx_new(&t->e, BORG_I64), *high = vx_new(&t->e, BORG_I64);
        vx_line(&t->e, "mov.b64 %s, %s", bits, x);
        vx_line(&t->e, "shr.u64 %s, %s, 32", high, bits);
        vx_line(&t->e, "cvt.u32.u64 %s, %s", word, high);
    } else {
        vx_line(&t->e, "mov.b32 %s, %s", word, x);
    }
    return vt_line(t, to, e->type, "and.b32", word, "2147483647", NULL);
}

/* As borg/lower/math.c has it: exact, the sign of a zero stays. */
static const char *floor_of(vt *t, const borg_expr *e, vt_to to) {
    vx *k = &t->e;
    const borg_type type = borg_ctype_ir(e->type);
    const char *as = vx_type(type),
               *unit = e->type == BORG_C_FLOAT ? "8388608" : "4503599627370496";
    const char *x = vx_in_register(k, type, vt_value(t, e->args[0]));
    const char *size = vx_new(k, type), *near = vx_new(k, type), *less = vx_new(k, type);
    const char *minus = vx_new(k, BORG_I1), *above = vx_new(k, BORG_I1),
               *small = vx_new(k, BORG_I1), *some = vx_new(k, BORG_I1), *both = vx_new(k, BORG_I1);
    vx_line(k, "abs.%s %s, %s", as, size, x);
    vx_line(k, "add.%s %s, %s, %s", as, near, size, unit);
    vx_line(k, "sub.%s %s, %s, %s", as, near, near, unit);
    vx_line(k, "setp.lt.%s %s, %s, 0", as, minus, x);
    vx_line(k, "@%s neg.%s %s, %s", minus, as, near, near);
    vx_line(k, "setp.gt.%s %s, %s, %s", as, above, near, x);
    vx_line(k, "sub.%s %s, %s, 1", as, less, near);
    vx_line(k, "@%s mov.%s %s, %s", above, as, near, less);
    vx_line(k, "setp.lt.%s %s, %s, %s", as, small, size, unit);
    vx_line(k, "setp.ne.%s %s, %s, 0", as, some, x);
    vx_line(k, "and.pred %s, %s, %s", both, small, some);
    return vt_line(t, to, e->type, borg_format(t->arena, "selp.%s", as), near, x, both);
}

static const char *global_id(vt *t, vt_to to) {
    const char *size = vx_new(&t->e, BORG_I64), *first = vx_new(&t->e, BORG_I64),
               *own = vx_new(&t->e, BORG_I64);
    vx_line(&t->e, "cvt.u64.u32 %s, $ntids", size);
    vx_line(&t->e, "mul.s64 %s, %s, %s", first, vx_group(&t->e), size);
    vx_line(&t->e, "cvt.u64.u32 %s, $tid", own);
    return vt_line(t, to, BORG_C_LONG, "add.s64", first, own, NULL);
}

/* op.T of the arguments, all of one type. */
static const char *plain(vt *t, const borg_expr *e, const char *op, vt_to to) {
    const char *x[3] = {NULL, NULL, NULL};
    for (int32_t i = 0; i < e->nargs; ++i) {
        x[i] = vt_value(t, e->args[i]);
        vt_contents later = {0};
        for (int32_t k = i + 1; k < e->nargs; ++k) vt_scan_expr(e->args[k], &later);
        if (!later.effects || *x[i] != '%') continue; /* a variable may change */
        const char *copy = vx_new(&t->e, borg_ctype_ir(e->args[i]->type));
        x[i] = vt_to_register(t, borg_ctype_ir(e->args[i]->type), x[i], (vt_to){copy, NULL});
    }
    return vt_line(t, to, e->type, borg_format(t->arena, "%s.%s", op, vt_typed(e->args[0]->type)),
                   x[0], x[1], x[2]);
}

static const char *builtin(vt *t, const borg_expr *e, vt_to to) {
    const char *x;
    switch (e->builtin) {
    case BORG_B_LOCAL_ID:
        return vt_to_register(t, BORG_I32, "$tid", to);
    case BORG_B_LOCAL_SIZE:
        return vt_to_register(t, BORG_I32, "$ntids", to);
    case BORG_B_GROUP_ID:
        return vt_to_register(t, BORG_I64, vx_group(&t->e), to);
    case BORG_B_GLOBAL_ID:
        return global_id(t, to);
    case BORG_B_SHUFFLE:
    case BORG_B_SHUFFLE_DOWN:
    case BORG_B_SHUFFLE_UP:
    case BORG_B_SHUFFLE_XOR:
        return shuffle(t, e, to);
    case BORG_B_SUM:
    case BORG_B_RMAX:
    case BORG_B_RMIN:
    case BORG_B_RMAXIDX:
    case BORG_B_ANY:
    case BORG_B_ALL:
        return reduce(t, e, to);
    case BORG_B_BARRIER: /* the threads of a warp do each instruction together */
        if (t->mask && t->mask->spread == BORG_WI)
            borg_report(t->diags, BORG_ERROR, e->loc,
                        "'barrier' under a condition that differs between the work-items of a "
                        "group: those that do not get here cannot take part");
        return "";
    case BORG_B_SQRT:
        return plain(t, e, "sqrt", to);
    case BORG_B_RCP:
        x = vt_value(t, e->args[0]);
        return vt_line(t, to, e->type, borg_format(t->arena, "div.%s", vt_typed(e->type)), "1", x,
                       NULL);
    case BORG_B_FABS:
        return plain(t, e, "abs", to);
    case BORG_B_ABS:
        if (!borg_ctype_unsigned(e->type)) return plain(t, e, "abs", to);
        return vt_eval(t, e->args[0], to);
    case BORG_B_FMA:
        return plain(t, e, "fma", to);
    case BORG_B_MAX:
        return plain(t, e, "max", to);
    case BORG_B_MIN:
        return plain(t, e, "min", to);
    case BORG_B_ISNAN:
        x = vt_value(t, e->args[0]);
        return vt_line(t, to, BORG_C_BOOL,
                       borg_format(t->arena, "setp.ne.%s", vt_typed(e->args[0]->type)), x, x, NULL);
    case BORG_B_FLOOR:
        return floor_of(t, e, to);
    case BORG_B_MAGNITUDE:
        return magnitude(t, e, to);
    default:
        vt_refuse(t, e->loc, borg_format(t->arena, "'%s'", e->text));
        return "0";
    }
}

/* ---- inlined functions ----------------------------------------------------------------------- */

/* A parameter by value: a register of its own. */
static void bind(vt *t, const borg_decl *d, const borg_expr *argument, vt_var *v) {
    const borg_type type = borg_ctype_ir(d->type);
    *v = (vt_var){.reg = BORG_NEW(t->arena, 1, const char *), .born = t->mask};
    const char *reg = vx_new(&t->e, type);
    vt_eval(t, argument, (vt_to){reg, NULL});
    v->reg[0] = reg;
}

static const char *call(vt *t, const borg_expr *e, vt_to to) {
    enum { MOST = 64 };
    const borg_function *f = e->function;
    vt_loop *loop = t->loop;
    vt_var values[MOST];
    const char *result = "0";
    int32_t i = 0;
    for (const borg_decl *d = f->params; d;
         d = d->next, ++i) { /* arguments of the caller's names */
        if (!d->alias) {
            bind(t, d, e->args[i], &values[i]);
            continue;
        }
        const borg_decl *array = vt_root(t, e->args[i]->decl);
        values[i] = (vt_var){.alias = array};
        if (d->array && array->count < d->count && array->storage != BORG_PARAMETER)
            borg_report(t->diags, BORG_ERROR, e->args[i]->loc,
                        "'%s' has %d elements, '%s' needs %d", array->name, array->count, d->name,
                        d->count);
    }
    i = 0;
    for (const borg_decl *d = f->params; d; d = d->next, ++i) t->vars[d->number] = values[i];
    t->loop = NULL;
    for (const borg_stmt *s = f->body->body; s; s = s->next) {
        if (s->kind != BORG_S_RETURN)
            vt_stmt(t, s);
        else if (s->expr)
            result = vt_eval(t, s->expr, to);
    }
    t->loop = loop;
    for (const borg_decl *d = f->params; d; d = d->next)
        if (d->alias) t->vars[d->number].alias = NULL;
    return result;
}

const char *vt_call(vt *t, const borg_expr *e, vt_to to) {
    return e->function ? call(t, e, to) : builtin(t, e, to);
}
