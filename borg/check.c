/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, types, and where what may stand. Conversions become casts, so that lowering need not
 * think. */
#include "borg/ast.h"
#include <string.h>

enum { MAX_ELEMENTS = BORG_MAX_ROWS };

typedef struct scope {
    struct scope *outer;
    borg_decl *decl;
    int level;
} scope;

typedef struct checker {
    borg_arena *arena;
    borg_diags *diags;
    int32_t size;
    borg_function *file, *function;
    scope *names;
    int level, loops;
} checker;

static void complain(checker *c, borg_loc loc, const char *format, const char *text) {
    borg_report(c->diags, BORG_ERROR, loc, format, text);
}

const char *borg_ctype_text(borg_ctype type) {
    static const char *const text[] = {"void", "bool",  "int",   "uint",
                                       "long", "ulong", "float", "double"};
    return text[type];
}

borg_type borg_ctype_ir(borg_ctype type) {
    static const borg_type types[] = {BORG_VOID, BORG_I1,  BORG_I32, BORG_I32,
                                      BORG_I64,  BORG_I64, BORG_F32, BORG_F64};
    return types[type];
}

/* ---- constants ---------------------------------------------------------------------------------
 */

static bool binary_constant(const char *op, int64_t a, int64_t b, int64_t *value) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op[0]) {
    case '+':
        *value = (int64_t)(x + y);
        return true;
    case '-':
        *value = (int64_t)(x - y);
        return true;
    case '*':
        *value = (int64_t)(x * y);
        return true;
    case '/':
    case '%':
        if (b == 0) return false;
        if (b == -1) {
            *value = op[0] == '/' ? (int64_t)(0 - x) : 0;
        } else {
            *value = op[0] == '/' ? a / b : a % b;
        }
        return true;
    case '<':
        *value = op[1] == '<' ? (int64_t)(x << (y & 63)) : op[1] ? a <= b : a < b;
        return true;
    case '>':
        *value = op[1] == '>' ? a >> (y & 63) : op[1] ? a >= b : a > b;
        return true;
    case '=':
        *value = a == b;
        return true;
    case '!':
        *value = a != b;
        return true;
    case '&':
        *value = a & b;
        return true;
    case '|':
        *value = a | b;
        return true;
    default:
        *value = a ^ b;
        return true;
    }
}

static int64_t wrap(borg_ctype type, int64_t value) {
    switch (type) {
    case BORG_C_BOOL:
        return value != 0;
    case BORG_C_INT:
        return (int32_t)(uint32_t)(uint64_t)value;
    case BORG_C_UINT:
        return (int64_t)(uint32_t)(uint64_t)value;
    default:
        return value;
    }
}

bool borg_constant(const borg_expr *e, int32_t size, int64_t *value) {
    int64_t a, b;
    switch (e->kind) {
    case BORG_E_INT:
        *value = (int64_t)e->integer;
        return true;
    case BORG_E_CALL:
        *value = size;
        return strcmp(e->text, "get_local_size") == 0;
    case BORG_E_NAME:
        return e->decl && e->decl->constant && e->decl->storage == BORG_PRIVATE &&
               !e->decl->array && e->decl->init && !borg_ctype_float(e->decl->type) &&
               borg_constant(e->decl->init, size, value);
    case BORG_E_CAST:
        if (borg_ctype_float(e->type) || !borg_constant(e->args[0], size, &a)) return false;
        *value = wrap(e->type, a);
        return true;
    case BORG_E_UNARY:
        if (!borg_constant(e->args[0], size, &a)) return false;
        *value = e->text[0] == '-'   ? (int64_t)(0 - (uint64_t)a)
                 : e->text[0] == '~' ? ~a
                 : e->text[0] == '!' ? !a
                                     : a;
        return true;
    case BORG_E_BINARY:
        return borg_constant(e->args[0], size, &a) && borg_constant(e->args[1], size, &b) &&
               binary_constant(e->text, a, b, value);
    case BORG_E_LOGICAL:
        if (!borg_constant(e->args[0], size, &a) || !borg_constant(e->args[1], size, &b))
            return false;
        *value = e->text[0] == '&' ? a && b : a || b;
        return true;
    case BORG_E_TERNARY:
        if (!borg_constant(e->args[0], size, &a)) return false;
        return borg_constant(e->args[a ? 1 : 2], size, value);
    default:
        return false;
    }
}

/* ---- names -------------------------------------------------------------------------------------
 */

static borg_decl *find(checker *c, const char *name) {
    for (scope *s = c->names; s; s = s->outer)
        if (strcmp(s->decl->name, name) == 0) return s->decl;
    return NULL;
}

static void declare(checker *c, borg_decl *d) {
    for (scope *s = c->names; s && s->level == c->level; s = s->outer)
        if (strcmp(s->decl->name, d->name) == 0 && d->name[0])
            complain(c, d->loc, "'%s' is declared twice", d->name);
    scope *s = BORG_NEW(c->arena, 1, scope);
    *s = (scope){c->names, d, c->level};
    c->names = s;
}

static void open_scope(checker *c) {
    ++c->level;
}

static void close_scope(checker *c) {
    while (c->names && c->names->level == c->level) c->names = c->names->outer;
    --c->level;
}

/* ---- expressions -------------------------------------------------------------------------------
 */

static void check_expr(checker *c, borg_expr *e);

static borg_expr *cast(checker *c, borg_expr *e, borg_ctype type) {
    if (e->type == type || e->type == BORG_C_VOID) return e;
    borg_expr *k = BORG_NEW(c->arena, 1, borg_expr);
    k->kind = BORG_E_CAST;
    k->loc = e->loc;
    k->text = "";
    k->type = type;
    k->nargs = 1;
    k->args = BORG_NEW(c->arena, 1, borg_expr *);
    k->args[0] = e;
    return k;
}

static borg_ctype promote(borg_ctype t) {
    return t == BORG_C_BOOL ? BORG_C_INT : t;
}

static borg_ctype common(borg_ctype a, borg_ctype b) {
    a = promote(a);
    b = promote(b);
    return a > b ? a : b; /* int < uint < long < ulong < float < double, as in C */
}

static bool value(checker *c, borg_expr *e) {
    check_expr(c, e);
    if (e->type != BORG_C_VOID) return true;
    complain(c, e->loc, "%s", "this has no value");
    e->type = BORG_C_INT;
    return false;
}

static void check_name(checker *c, borg_expr *e) {
    e->decl = find(c, e->text);
    e->type = BORG_C_INT;
    if (!e->decl) {
        complain(c, e->loc, "'%s' is not declared", e->text);
        return;
    }
    e->type = e->decl->type;
    if (e->decl->array || e->decl->depth > 0)
        complain(c, e->loc, "'%s' is an array: it needs an index", e->text);
}

static void check_index(checker *c, borg_expr *e) {
    e->decl = find(c, e->text);
    e->type = BORG_C_INT;
    for (int32_t i = 0; i < e->nargs; ++i) {
        if (value(c, e->args[i]) && borg_ctype_float(e->args[i]->type))
            complain(c, e->args[i]->loc, "%s", "an index is an integer");
    }
    if (!e->decl) {
        complain(c, e->loc, "'%s' is not declared", e->text);
        return;
    }
    e->type = e->decl->type;
    int32_t depth = e->decl->storage == BORG_PARAMETER ? e->decl->depth : e->decl->array ? 1 : 0;
    if (depth != e->nargs)
        complain(c, e->loc,
                 depth == 0   ? "'%s' is a scalar: it has no elements"
                 : depth == 2 ? "'%s' is an array of pointers: it needs two indices"
                              : "'%s' has one dimension",
                 e->text);
    int64_t at;
    if (e->decl->array && e->nargs == 1 && borg_constant(e->args[0], c->size, &at) &&
        (at < 0 || at >= e->decl->count)) {
        borg_report(c->diags, BORG_ERROR, e->args[0]->loc,
                    "index %lld of '%s', which has %d elements", (long long)at, e->text,
                    e->decl->count);
    }
}

static void check_place(checker *c, borg_expr *e) {
    check_expr(c, e);
    if (e->kind != BORG_E_NAME && e->kind != BORG_E_INDEX) {
        complain(c, e->loc, "%s", "this cannot be assigned to");
    } else if (e->decl && e->decl->constant) {
        complain(c, e->loc, "'%s' is constant", e->text);
    }
}

static bool integers_only(const char *op) {
    return op[0] == '%' || op[0] == '&' || op[0] == '|' || op[0] == '^' ||
           (op[0] == '<' && op[1] == '<') || (op[0] == '>' && op[1] == '>');
}

static bool is_shift(const char *op) {
    return (op[0] == '<' && op[1] == '<') || (op[0] == '>' && op[1] == '>');
}

static bool is_comparison(const char *op) {
    return !is_shift(op) && (op[0] == '<' || op[0] == '>' || op[0] == '=' || op[0] == '!');
}

static void check_binary(checker *c, borg_expr *e) {
    if (!value(c, e->args[0]) || !value(c, e->args[1])) {
        e->type = BORG_C_INT;
        return;
    }
    borg_ctype a = e->args[0]->type, b = e->args[1]->type, t = common(a, b);
    if (integers_only(e->text) && borg_ctype_float(t)) {
        complain(c, e->loc, "'%s' needs integers", e->text);
        t = BORG_C_INT;
        e->args[0]->type = e->args[1]->type = t;
    }
    if (is_shift(e->text)) t = promote(a);
    bool bits = a == BORG_C_BOOL && b == BORG_C_BOOL && strchr("&|^", e->text[0]) && !e->text[1];
    if (bits) t = BORG_C_BOOL; /* the same value as by way of int */
    e->args[0] = cast(c, e->args[0], t);
    e->args[1] = cast(c, e->args[1], t);
    e->type = is_comparison(e->text) ? BORG_C_BOOL : t;
}

static void check_assign(checker *c, borg_expr *e) {
    check_place(c, e->args[0]);
    if (!value(c, e->args[1])) return;
    e->type = e->args[0]->type;
    if (e->text[1] == 0) { /* "=" */
        e->args[1] = cast(c, e->args[1], e->type);
        return;
    }
    /* a op= b: the value is computed in the common type; lowering does place op value */
    borg_ctype t = common(e->type, e->args[1]->type);
    if (integers_only(e->text) && borg_ctype_float(t)) {
        complain(c, e->loc, "'%s' needs integers", e->text);
        return;
    }
    if (e->text[0] == '<' || e->text[0] == '>') t = promote(e->type);
    e->args[1] = cast(c, e->args[1], t);
}

static const struct {
    const char *name;
    borg_builtin builtin;
    int least, most;
} builtins[] = {
    {"get_local_id", BORG_B_LOCAL_ID, 0, 1},
    {"get_local_size", BORG_B_LOCAL_SIZE, 0, 1},
    {"get_group_id", BORG_B_GROUP_ID, 0, 1},
    {"sqrt", BORG_B_SQRT, 1, 1},
    {"rcp", BORG_B_RCP, 1, 1},
    {"fabs", BORG_B_FABS, 1, 1},
    {"abs", BORG_B_ABS, 1, 1},
    {"fma", BORG_B_FMA, 3, 3},
    {"max", BORG_B_MAX, 2, 2},
    {"min", BORG_B_MIN, 2, 2},
    {"isnan", BORG_B_ISNAN, 1, 1},
    {"magnitude", BORG_B_MAGNITUDE, 1, 1},
    {"shuffle", BORG_B_SHUFFLE, 2, 2},
    {"mma8x8x4", BORG_B_MMA, 4, 4},
    {"work_group_reduce_sum", BORG_B_SUM, 1, 1},
    {"work_group_reduce_add", BORG_B_SUM, 1, 1},
    {"work_group_reduce_max", BORG_B_RMAX, 1, 1},
    {"work_group_reduce_min", BORG_B_RMIN, 1, 1},
    {"work_group_reduce_max_index", BORG_B_RMAXIDX, 1, 1},
    {"any", BORG_B_ANY, 1, 1},
    {"work_group_any", BORG_B_ANY, 1, 1},
    {"all", BORG_B_ALL, 1, 1},
    {"work_group_all", BORG_B_ALL, 1, 1},
    {"barrier", BORG_B_BARRIER, 0, 1},
    {"convert_int", BORG_B_CONVERT, 1, 1},
    {"convert_uint", BORG_B_CONVERT, 1, 1},
    {"convert_long", BORG_B_CONVERT, 1, 1},
    {"convert_ulong", BORG_B_CONVERT, 1, 1},
    {"convert_float", BORG_B_CONVERT, 1, 1},
    {"convert_double", BORG_B_CONVERT, 1, 1},
};

static void to_float(checker *c, borg_expr *e, borg_ctype t) {
    if (!borg_ctype_float(t)) t = BORG_C_DOUBLE;
    for (int32_t i = 0; i < e->nargs; ++i) e->args[i] = cast(c, e->args[i], t);
    e->type = t;
}

static void check_builtin(checker *c, borg_expr *e, size_t index) {
    e->builtin = builtins[index].builtin;
    e->type = BORG_C_INT;
    if (e->nargs < builtins[index].least || e->nargs > builtins[index].most) {
        complain(c, e->loc, "wrong number of arguments of '%s'", e->text);
        return;
    }
    if (e->builtin == BORG_B_BARRIER) { /* the flags are names of OpenCL, and of no account */
        e->type = BORG_C_VOID;
        e->nargs = 0;
        return;
    }
    borg_ctype t = BORG_C_BOOL;
    for (int32_t i = 0; i < e->nargs; ++i) {
        value(c, e->args[i]);
        if (!(e->builtin == BORG_B_SHUFFLE && i == 1) && !(e->builtin == BORG_B_MMA && i == 3))
            t = e->args[i]->type > t ? e->args[i]->type : t;
    }
    int64_t zero;
    switch (e->builtin) {
    case BORG_B_LOCAL_ID:
    case BORG_B_LOCAL_SIZE:
    case BORG_B_GROUP_ID:
        if (e->nargs && !(borg_constant(e->args[0], c->size, &zero) && zero == 0))
            complain(c, e->loc, "'%s': there is one dimension, 0", e->text);
        e->nargs = 0;
        e->type = e->builtin == BORG_B_GROUP_ID ? BORG_C_LONG : BORG_C_INT;
        return;
    case BORG_B_SQRT:
    case BORG_B_RCP:
    case BORG_B_FABS:
    case BORG_B_FMA:
        to_float(c, e, t);
        return;
    case BORG_B_MAGNITUDE:
        to_float(c, e, t);
        e->type = BORG_C_UINT;
        return;
    case BORG_B_ISNAN:
        to_float(c, e, t);
        e->type = BORG_C_BOOL;
        return;
    case BORG_B_SHUFFLE:
        if (borg_ctype_float(e->args[1]->type))
            complain(c, e->args[1]->loc, "%s", "the lane of a shuffle is an integer");
        e->args[1] = cast(c, e->args[1], BORG_C_INT);
        e->type = t;
        return;
    case BORG_B_MMA:
        --e->nargs;
        to_float(c, e, t);
        ++e->nargs;
        if (borg_ctype_float(e->args[3]->type))
            complain(c, e->args[3]->loc, "%s", "the last argument of 'mma8x8x4' is an integer");
        e->args[3] = cast(c, e->args[3], BORG_C_INT);
        return;
    case BORG_B_ANY:
    case BORG_B_ALL:
        e->args[0] = cast(c, e->args[0], BORG_C_BOOL);
        e->type = BORG_C_BOOL;
        return;
    case BORG_B_CONVERT: {
        static const borg_ctype to[] = {BORG_C_INT,   BORG_C_UINT,  BORG_C_LONG,
                                        BORG_C_ULONG, BORG_C_FLOAT, BORG_C_DOUBLE};
        e->kind = BORG_E_CAST;
        for (size_t i = 0; i < 6; ++i)
            if (strcmp(e->text + 8, borg_ctype_text(to[i])) == 0) e->type = to[i];
        return;
    }
    default: /* abs, max, min, reductions: in the arguments' common type */
        t = promote(t);
        for (int32_t i = 0; i < e->nargs; ++i) e->args[i] = cast(c, e->args[i], t);
        e->type = e->builtin == BORG_B_RMAXIDX ? BORG_C_INT : t;
        return;
    }
}

static void check_function(checker *c, borg_function *f);

static void check_call(checker *c, borg_expr *e) {
    borg_function *f = c->file;
    while (f && (f->kernel || strcmp(f->name, e->text) != 0)) f = f->next;
    if (!f) {
        for (size_t i = 0; i < sizeof builtins / sizeof *builtins; ++i) {
            if (strcmp(builtins[i].name, e->text) != 0) continue;
            check_builtin(c, e, i);
            return;
        }
        complain(c, e->loc, "no function '%s'", e->text);
        e->type = BORG_C_INT;
        for (int32_t i = 0; i < e->nargs; ++i) check_expr(c, e->args[i]);
        return;
    }
    e->function = f;
    e->type = f->type;
    int32_t i = 0;
    for (borg_decl *d = f->params; d; d = d->next, ++i) {
        if (i >= e->nargs) break;
        if (value(c, e->args[i])) e->args[i] = cast(c, e->args[i], d->type);
    }
    borg_decl *d = f->params;
    int32_t count = 0;
    for (; d; d = d->next) ++count;
    if (count != e->nargs) complain(c, e->loc, "wrong number of arguments of '%s'", e->text);
    for (; i < e->nargs; ++i) check_expr(c, e->args[i]);
    if (f->active) {
        complain(c, e->loc, "'%s' calls itself: functions are inlined", e->text);
    } else if (!f->checked) {
        check_function(c, f);
    }
}

static void check_unary(checker *c, borg_expr *e) {
    if (!value(c, e->args[0])) return;
    borg_ctype t = e->args[0]->type;
    if (e->text[0] == '!') {
        e->args[0] = cast(c, e->args[0], BORG_C_BOOL);
        e->type = BORG_C_BOOL;
        return;
    }
    if (e->text[0] == '~' && borg_ctype_float(t)) {
        complain(c, e->loc, "%s", "'~' needs an integer");
        t = BORG_C_INT;
    }
    e->args[0] = cast(c, e->args[0], promote(t));
    e->type = promote(t);
}

static void check_expr(checker *c, borg_expr *e) {
    switch (e->kind) {
    case BORG_E_INT:
        e->type = e->post ? BORG_C_BOOL : BORG_C_INT;
        if (e->wide || e->integer > UINT32_MAX || (!e->uns && e->integer > INT32_MAX))
            e->type = BORG_C_LONG;
        if (e->uns || e->integer > INT64_MAX)
            e->type = e->type == BORG_C_LONG ? BORG_C_ULONG : BORG_C_UINT;
        return;
    case BORG_E_FLOAT:
        e->type = e->uns ? BORG_C_FLOAT : BORG_C_DOUBLE;
        return;
    case BORG_E_NAME:
        check_name(c, e);
        return;
    case BORG_E_INDEX:
        check_index(c, e);
        return;
    case BORG_E_UNARY:
        check_unary(c, e);
        return;
    case BORG_E_BINARY:
        check_binary(c, e);
        return;
    case BORG_E_LOGICAL:
        for (int i = 0; i < 2; ++i)
            if (value(c, e->args[i])) e->args[i] = cast(c, e->args[i], BORG_C_BOOL);
        e->type = BORG_C_BOOL;
        return;
    case BORG_E_TERNARY:
        if (value(c, e->args[0])) e->args[0] = cast(c, e->args[0], BORG_C_BOOL);
        if (value(c, e->args[1]) && value(c, e->args[2])) {
            borg_ctype a = e->args[1]->type, b = e->args[2]->type;
            e->type = a == b ? a : common(a, b);
            e->args[1] = cast(c, e->args[1], e->type);
            e->args[2] = cast(c, e->args[2], e->type);
        }
        return;
    case BORG_E_ASSIGN:
        check_assign(c, e);
        return;
    case BORG_E_STEP:
        check_place(c, e->args[0]);
        e->type = e->args[0]->type;
        return;
    case BORG_E_CAST: {
        borg_ctype to = e->type;
        if (value(c, e->args[0]) && to == BORG_C_VOID) e->type = BORG_C_VOID;
        return;
    }
    case BORG_E_CALL:
        check_call(c, e);
        return;
    case BORG_E_COMMA:
        check_expr(c, e->args[0]);
        check_expr(c, e->args[1]);
        e->type = e->args[1]->type;
        return;
    case BORG_E_LIST:
        complain(c, e->loc, "%s", "a list in braces only initialises an array");
        return;
    }
}

/* ---- statements --------------------------------------------------------------------------------
 */

static void check_stmt(checker *c, borg_stmt *s);

static void check_decl(checker *c, borg_decl *d) {
    int64_t count;
    if (d->array) {
        check_expr(c, d->length);
        if (!borg_constant(d->length, c->size, &count)) {
            complain(c, d->length->loc, "the length of '%s' is not a constant", d->name);
        } else if (count < 1 || count > MAX_ELEMENTS) {
            borg_report(c->diags, BORG_ERROR, d->length->loc,
                        "'%s' cannot have %lld elements (1 to %d)", d->name, (long long)count,
                        MAX_ELEMENTS);
        } else {
            d->count = (int32_t)count;
        }
    }
    bool local = d->storage == BORG_LOCAL_REGISTERS || d->storage == BORG_LOCAL_MEMORY;
    if (local && (c->level != 2 || !c->function->kernel))
        complain(c, d->loc, "__local '%s' is declared at the top of a kernel", d->name);
    if (d->init && local) complain(c, d->loc, "__local '%s' has no initialiser", d->name);
    if (d->storage == BORG_LOCAL_MEMORY && d->type == BORG_C_BOOL)
        complain(c, d->loc, "'%s': bool is not kept in memory", d->name);
    if (d->init && d->init->kind == BORG_E_LIST) {
        borg_expr *l = d->init;
        if (!d->array) complain(c, l->loc, "%s", "a scalar is not initialised by a list");
        for (int32_t i = 0; i < l->nargs; ++i)
            if (value(c, l->args[i])) l->args[i] = cast(c, l->args[i], d->type);
        if (d->array && l->nargs > d->count) complain(c, l->loc, "%s", "more values than elements");
    } else if (d->init) {
        if (d->array)
            complain(c, d->init->loc, "%s", "an array is initialised by a list in braces");
        if (value(c, d->init)) d->init = cast(c, d->init, d->type);
    }
    declare(c, d);
}

static void check_loop(checker *c, borg_stmt *s) {
    open_scope(c);
    if (s->init) check_stmt(c, s->init);
    if (s->expr && value(c, s->expr)) s->expr = cast(c, s->expr, BORG_C_BOOL);
    if (s->step) check_expr(c, s->step);
    ++c->loops;
    check_stmt(c, s->body);
    --c->loops;
    close_scope(c);
}

static void check_stmt(checker *c, borg_stmt *s) {
    switch (s->kind) {
    case BORG_S_EXPR:
        check_expr(c, s->expr);
        return;
    case BORG_S_DECL:
        for (borg_decl *d = s->decls; d; d = d->next) check_decl(c, d);
        return;
    case BORG_S_BLOCK:
        open_scope(c);
        for (borg_stmt *t = s->body; t; t = t->next) check_stmt(c, t);
        close_scope(c);
        return;
    case BORG_S_IF:
        if (value(c, s->expr)) s->expr = cast(c, s->expr, BORG_C_BOOL);
        open_scope(c);
        check_stmt(c, s->body);
        close_scope(c);
        open_scope(c);
        if (s->other) check_stmt(c, s->other);
        close_scope(c);
        return;
    case BORG_S_FOR:
    case BORG_S_WHILE:
    case BORG_S_DO:
        check_loop(c, s);
        return;
    case BORG_S_BREAK:
    case BORG_S_CONTINUE:
        if (!c->loops) complain(c, s->loc, "%s", "there is no loop around this");
        return;
    case BORG_S_RETURN: {
        /* the last statement of the function's body, and nowhere else */
        borg_stmt *last = c->function->body->body;
        while (last && last->next) last = last->next;
        if (last != s) {
            complain(c, s->loc, "%s",
                     c->function->kernel
                         ? "a kernel does not return early: work-items run in lockstep"
                         : "return is the last statement of a function");
        }
        if (s->expr && value(c, s->expr)) {
            if (c->function->type == BORG_C_VOID) {
                complain(c, s->loc, "%s", "this function returns nothing");
            } else {
                s->expr = cast(c, s->expr, c->function->type);
            }
        } else if (!s->expr && c->function->type != BORG_C_VOID) {
            complain(c, s->loc, "%s", "this function returns a value");
        }
        return;
    }
    case BORG_S_EMPTY:
        return;
    }
}

static void check_params(checker *c, borg_function *f) {
    for (borg_decl *d = f->params; d; d = d->next) {
        if (d->type == BORG_C_VOID) complain(c, d->loc, "parameter '%s' is void", d->name);
        if (!f->kernel && d->depth)
            complain(c, d->loc, "'%s': pointers are parameters of kernels only", d->name);
        if (d->depth == 0) d->constant = f->kernel ? d->constant : false;
        if (d->depth && d->type == BORG_C_BOOL)
            complain(c, d->loc, "'%s': bool is not kept in memory", d->name);
        if (f->kernel && d->depth == 0 && d->type == BORG_C_BOOL)
            complain(c, d->loc, "'%s': a kernel takes no bool: use int", d->name);
        declare(c, d);
    }
}

static void check_function(checker *c, borg_function *f) {
    borg_function *outer = c->function;
    scope *names = c->names;
    int level = c->level, loops = c->loops;
    c->function = f;
    c->names = NULL;
    c->level = 1;
    c->loops = 0;
    f->active = true;
    check_params(c, f);
    check_stmt(c, f->body);
    borg_stmt *last = f->body->body;
    while (last && last->next) last = last->next;
    if (f->type != BORG_C_VOID && !f->kernel && (!last || last->kind != BORG_S_RETURN))
        complain(c, f->loc, "'%s' does not end in a return", f->name);
    if (f->kernel && f->type != BORG_C_VOID)
        complain(c, f->loc, "kernel '%s' is not void", f->name);
    f->active = false;
    f->checked = true;
    c->function = outer;
    c->names = names;
    c->level = level;
    c->loops = loops;
}

void borg_check(borg_function *file, borg_arena *arena, int32_t size, borg_diags *diags) {
    checker c = {.arena = arena, .diags = diags, .size = size, .file = file};
    for (borg_function *f = file; f; f = f->next) {
        for (borg_function *g = file; g != f; g = g->next)
            if (strcmp(f->name, g->name) == 0) complain(&c, f->loc, "two functions '%s'", f->name);
    }
    for (borg_function *f = file; f; f = f->next)
        if (!f->checked) check_function(&c, f);
}
