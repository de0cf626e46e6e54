/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks names and types, and that everything stands where it may. Conversions that C makes
 * silently become casts, so lowering meets explicit ones alone. */
#include "borg/check.h"
#include <string.h>

enum { MAX_ELEMENTS = BORG_MAX_ROWS };

void borg_check_complain(borg_checker *c, borg_loc loc, const char *format, const char *text) {
    borg_report(c->diags, BORG_ERROR, loc, format, text);
}

/* ---- names ----------------------------------------------------------------------------------- */

static borg_decl *find(borg_checker *c, const char *name) {
    for (borg_scope *s = c->names; s; s = s->outer)
        if (strcmp(s->decl->name, name) == 0) return s->decl;
    return NULL;
}

static void declare(borg_checker *c, borg_decl *d) {
    for (borg_scope *s = c->names; s && s->level == c->level; s = s->outer)
        if (strcmp(s->decl->name, d->name) == 0 && d->name[0])
            borg_check_complain(c, d->loc, "'%s' is declared twice", d->name);
    borg_scope *s = BORG_NEW(c->arena, 1, borg_scope);
    *s = (borg_scope){c->names, d, c->level};
    c->names = s;
}

static void open_scope(borg_checker *c) {
    ++c->level;
}

static void close_scope(borg_checker *c) {
    while (c->names && c->names->level == c->level) c->names = c->names->outer;
    --c->level;
}

/* ---- expressions ----------------------------------------------------------------------------- */

borg_expr *borg_check_cast(borg_checker *c, borg_expr *e, borg_ctype type) {
    if (e->type == type || e->type == BORG_C_VOID) return e;
    if (borg_ctype_complex(e->type) && !borg_ctype_complex(type) && type != BORG_C_BOOL) {
        borg_check_complain(c, e->loc, "%s", "a complex value is no real one: creal, cimag");
        e->type = type;
        return e;
    }
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

borg_ctype borg_ctype_promote(borg_ctype t) {
    return t == BORG_C_HALF ? BORG_C_FLOAT : t < BORG_C_INT && t != BORG_C_VOID ? BORG_C_INT : t;
}

borg_ctype borg_ctype_common(borg_ctype a, borg_ctype b) {
    a = borg_ctype_promote(a);
    b = borg_ctype_promote(b);
    /* int < uint < long < ulong < float < double, as in C */
    if (!borg_ctype_complex(a) && !borg_ctype_complex(b)) return a > b ? a : b;
    const borg_ctype x = borg_ctype_part(a), y = borg_ctype_part(b);
    return x == BORG_C_DOUBLE || y == BORG_C_DOUBLE ? BORG_C_CDOUBLE : BORG_C_CFLOAT;
}

bool borg_check_value(borg_checker *c, borg_expr *e) {
    borg_check_expr(c, e);
    if (e->type != BORG_C_VOID) return true;
    borg_check_complain(c, e->loc, "%s", "this has no value");
    e->type = BORG_C_INT;
    return false;
}

static void check_name(borg_checker *c, borg_expr *e) {
    e->decl = find(c, e->text);
    e->type = BORG_C_INT;
    if (!e->decl) {
        if (borg_check_word(e)) return;
        borg_check_complain(c, e->loc, "'%s' is not declared", e->text);
        return;
    }
    e->type = e->decl->type;
    if (e->decl->array || e->decl->depth > 0)
        borg_check_complain(c, e->loc, "'%s' is an array: it needs an index", e->text);
}

static void check_index(borg_checker *c, borg_expr *e) {
    e->decl = find(c, e->text);
    e->type = BORG_C_INT;
    for (int32_t i = 0; i < e->nargs; ++i) {
        if (borg_check_value(c, e->args[i]) && borg_ctype_float(e->args[i]->type))
            borg_check_complain(c, e->args[i]->loc, "%s", "an index is an integer");
    }
    if (!e->decl) {
        borg_check_complain(c, e->loc, "'%s' is not declared", e->text);
        return;
    }
    e->type = e->decl->type;
    int32_t depth = e->decl->storage == BORG_PARAMETER ? e->decl->depth : e->decl->array ? 1 : 0;
    if (depth != e->nargs)
        borg_check_complain(c, e->loc,
                            depth == 0   ? "'%s' is a scalar: it has no elements"
                            : depth == 2 ? "'%s' is an array of pointers: it needs two indices"
                                         : "'%s' has one dimension",
                            e->text);
    int64_t at;
    if (e->decl->array && e->decl->count && e->nargs == 1 &&
        borg_constant(e->args[0], c->size, &at) && (at < 0 || at >= e->decl->count)) {
        borg_report(c->diags, BORG_ERROR, e->args[0]->loc,
                    "index %lld of '%s', which has %d elements", (long long)at, e->text,
                    e->decl->count);
    }
}

static void check_place(borg_checker *c, borg_expr *e) {
    borg_check_expr(c, e);
    if (e->kind != BORG_E_NAME && e->kind != BORG_E_INDEX) {
        borg_check_complain(c, e->loc, "%s", "this cannot be assigned to");
    } else if (e->decl && e->decl->constant) {
        borg_check_complain(c, e->loc, "'%s' is constant", e->text);
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

static void check_binary(borg_checker *c, borg_expr *e) {
    if (!borg_check_value(c, e->args[0]) || !borg_check_value(c, e->args[1])) {
        e->type = BORG_C_INT;
        return;
    }
    borg_ctype a = e->args[0]->type, b = e->args[1]->type, t = borg_ctype_common(a, b);
    if (integers_only(e->text) && borg_ctype_float(t)) {
        borg_check_complain(c, e->loc, "'%s' needs integers", e->text);
        t = BORG_C_INT;
        e->args[0]->type = e->args[1]->type = t;
    }
    if (is_shift(e->text)) t = borg_ctype_promote(a);
    if (borg_ctype_complex(t) && is_comparison(e->text) && (e->text[0] == '<' || e->text[0] == '>'))
        borg_check_complain(c, e->loc, "'%s': complex values have no order", e->text);
    bool bits = a == BORG_C_BOOL && b == BORG_C_BOOL && strchr("&|^", e->text[0]) && !e->text[1];
    if (bits) t = BORG_C_BOOL; /* the value is the same as if it went by way of int */
    e->args[0] = borg_check_cast(c, e->args[0], t);
    e->args[1] = borg_check_cast(c, e->args[1], t);
    e->type = is_comparison(e->text) ? BORG_C_BOOL : t;
}

static void check_assign(borg_checker *c, borg_expr *e) {
    check_place(c, e->args[0]);
    if (!borg_check_value(c, e->args[1])) return;
    e->type = e->args[0]->type;
    if (e->text[1] == 0) { /* "=" */
        e->args[1] = borg_check_cast(c, e->args[1], e->type);
        return;
    }
    /* a op= b: the value is computed in the common type; lowering does place op value */
    borg_ctype t = borg_ctype_common(e->type, e->args[1]->type);
    if (integers_only(e->text) && borg_ctype_float(t)) {
        borg_check_complain(c, e->loc, "'%s' needs integers", e->text);
        return;
    }
    if (e->text[0] == '<' || e->text[0] == '>') t = borg_ctype_promote(e->type);
    e->args[1] = borg_check_cast(c, e->args[1], t);
}

static void check_function(borg_checker *c, borg_function *f);

static const char *space_of(const borg_decl *d) {
    static const char *const text[] = {"private", "__local", "__local volatile", "__global"};
    return d->array || d->depth ? text[d->storage] : "scalar";
}

/* The name of an array of the parameter's type and space; the parameter is another name for it. */
static void check_array_argument(borg_checker *c, borg_expr *e, const borg_decl *d) {
    e->type = d->type;
    if (e->kind != BORG_E_NAME) {
        borg_check_complain(c, e->loc, "'%s' is an array: the name of one is passed", d->name);
        return;
    }
    const borg_decl *from = e->decl = find(c, e->text);
    if (!from) {
        borg_check_complain(c, e->loc, "'%s' is not declared", e->text);
    } else if (strcmp(space_of(from), space_of(d)) != 0 || from->depth != d->depth) {
        borg_report(c->diags, BORG_ERROR, e->loc, "'%s' is %s%s, '%s' is %s%s", e->text,
                    space_of(from), from->depth == 2 ? " pointers" : "", d->name, space_of(d),
                    d->depth == 2 ? " pointers" : "");
    } else if (from->type != d->type) {
        borg_report(c->diags, BORG_ERROR, e->loc, "'%s' has elements of type %s, '%s' of type %s",
                    e->text, borg_ctype_text(from->type), d->name, borg_ctype_text(d->type));
    } else if (from->constant && !d->constant) {
        borg_report(c->diags, BORG_ERROR, e->loc, "'%s' is constant, '%s' is not", e->text,
                    d->name);
    } else if (from->count && from->count < d->count) {
        borg_report(c->diags, BORG_ERROR, e->loc, "'%s' has %d elements, '%s' needs %d", e->text,
                    from->count, d->name, d->count);
    }
}

static void check_call(borg_checker *c, borg_expr *e) {
    borg_function *f = c->file;
    while (f && (f->kernel || strcmp(f->name, e->text) != 0)) f = f->next;
    if (!f) {
        if (borg_check_builtin(c, e)) return;
        borg_check_complain(c, e->loc, "no function '%s'", e->text);
        e->type = BORG_C_INT;
        for (int32_t i = 0; i < e->nargs; ++i) borg_check_expr(c, e->args[i]);
        return;
    }
    e->function = f;
    e->type = f->type;
    if (!f->checked && !f->active) check_function(c, f);
    int32_t i = 0;
    for (borg_decl *d = f->params; d; d = d->next, ++i) {
        if (i >= e->nargs) break;
        if (d->alias) {
            check_array_argument(c, e->args[i], d);
        } else if (borg_check_value(c, e->args[i]))
            e->args[i] = borg_check_cast(c, e->args[i], d->type);
    }
    borg_decl *d = f->params;
    int32_t count = 0;
    for (; d; d = d->next) ++count;
    if (count != e->nargs)
        borg_check_complain(c, e->loc, "wrong number of arguments of '%s'", e->text);
    for (; i < e->nargs; ++i) borg_check_expr(c, e->args[i]);
    if (f->active) {
        borg_check_complain(c, e->loc, "'%s' calls itself: functions are inlined", e->text);
    }
}

static void check_unary(borg_checker *c, borg_expr *e) {
    if (!borg_check_value(c, e->args[0])) return;
    borg_ctype t = e->args[0]->type;
    if (e->text[0] == '!') {
        e->args[0] = borg_check_cast(c, e->args[0], BORG_C_BOOL);
        e->type = BORG_C_BOOL;
        return;
    }
    if (e->text[0] == '~' && borg_ctype_float(t)) {
        borg_check_complain(c, e->loc, "%s", "'~' needs an integer");
        t = BORG_C_INT;
    }
    e->args[0] = borg_check_cast(c, e->args[0], borg_ctype_promote(t));
    e->type = borg_ctype_promote(t);
}

void borg_check_expr(borg_checker *c, borg_expr *e) {
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
            if (borg_check_value(c, e->args[i]))
                e->args[i] = borg_check_cast(c, e->args[i], BORG_C_BOOL);
        e->type = BORG_C_BOOL;
        return;
    case BORG_E_TERNARY:
        if (borg_check_value(c, e->args[0]))
            e->args[0] = borg_check_cast(c, e->args[0], BORG_C_BOOL);
        if (borg_check_value(c, e->args[1]) && borg_check_value(c, e->args[2])) {
            borg_ctype a = e->args[1]->type, b = e->args[2]->type;
            e->type = a == b ? a : borg_ctype_common(a, b);
            e->args[1] = borg_check_cast(c, e->args[1], e->type);
            e->args[2] = borg_check_cast(c, e->args[2], e->type);
        }
        return;
    case BORG_E_ASSIGN:
        check_assign(c, e);
        return;
    case BORG_E_STEP:
        check_place(c, e->args[0]);
        e->type = e->args[0]->type;
        if (borg_ctype_complex(e->type))
            borg_check_complain(c, e->loc, "'%s' is for real values", e->text);
        return;
    case BORG_E_CAST: {
        borg_ctype to = e->type;
        if (!borg_check_value(c, e->args[0]) || to == BORG_C_VOID) return;
        if (borg_ctype_complex(e->args[0]->type) && !borg_ctype_complex(to) && to != BORG_C_BOOL)
            borg_check_complain(c, e->loc, "%s", "a complex value is no real one: creal, cimag");
        return;
    }
    case BORG_E_CALL:
        check_call(c, e);
        return;
    case BORG_E_COMMA:
        borg_check_expr(c, e->args[0]);
        borg_check_expr(c, e->args[1]);
        e->type = e->args[1]->type;
        return;
    case BORG_E_LIST:
        borg_check_complain(c, e->loc, "%s", "a list in braces only initialises an array");
        return;
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static void check_stmt(borg_checker *c, borg_stmt *s);

static void check_length(borg_checker *c, borg_decl *d) {
    int64_t count;
    if (d->length) {
        borg_check_expr(c, d->length);
        if (!borg_constant(d->length, c->size, &count)) {
            borg_check_complain(c, d->length->loc,
                                c->size > 0 ? "the length of '%s' is not a constant"
                                            : "the length of '%s' is not a constant, the size of a "
                                              "warp is not known: name sizes (--sizes=4,8)",
                                d->name);
        } else if (count < 1 || count > MAX_ELEMENTS) {
            borg_report(c->diags, BORG_ERROR, d->length->loc,
                        "'%s' cannot have %lld elements (1 to %d)", d->name, (long long)count,
                        MAX_ELEMENTS);
        } else {
            d->count = (int32_t)count;
        }
    }
}

static void check_decl(borg_checker *c, borg_decl *d) {
    check_length(c, d);
    bool local = d->storage == BORG_LOCAL_REGISTERS || d->storage == BORG_LOCAL_MEMORY;
    if (local && (c->level != 2 || !c->function->kernel))
        borg_check_complain(c, d->loc, "__local '%s' is declared at the top of a kernel", d->name);
    if (d->storage == BORG_LOCAL_REGISTERS && borg_ctype_complex(d->type))
        borg_check_complain(c, d->loc, "'%s': a complex __local array is a __local volatile one",
                            d->name);
    if (d->init && local)
        borg_check_complain(c, d->loc, "__local '%s' has no initialiser", d->name);
    if (d->storage == BORG_LOCAL_MEMORY && d->type == BORG_C_BOOL)
        borg_check_complain(c, d->loc, "'%s': bool is not kept in memory", d->name);
    if (d->init && d->init->kind == BORG_E_LIST) {
        borg_expr *l = d->init;
        if (!d->array)
            borg_check_complain(c, l->loc, "%s", "a scalar is not initialised by a list");
        for (int32_t i = 0; i < l->nargs; ++i)
            if (borg_check_value(c, l->args[i]))
                l->args[i] = borg_check_cast(c, l->args[i], d->type);
        if (d->array && l->nargs > d->count)
            borg_check_complain(c, l->loc, "%s", "more values than elements");
    } else if (d->init) {
        if (d->array)
            borg_check_complain(c, d->init->loc, "%s",
                                "an array is initialised by a list in braces");
        if (borg_check_value(c, d->init)) d->init = borg_check_cast(c, d->init, d->type);
    }
    declare(c, d);
}

static void check_loop(borg_checker *c, borg_stmt *s) {
    open_scope(c);
    if (s->init) check_stmt(c, s->init);
    if (s->expr && borg_check_value(c, s->expr)) s->expr = borg_check_cast(c, s->expr, BORG_C_BOOL);
    if (s->step) borg_check_expr(c, s->step);
    ++c->loops;
    check_stmt(c, s->body);
    --c->loops;
    close_scope(c);
}

static void check_stmt(borg_checker *c, borg_stmt *s) {
    switch (s->kind) {
    case BORG_S_EXPR:
        borg_check_expr(c, s->expr);
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
        if (borg_check_value(c, s->expr)) s->expr = borg_check_cast(c, s->expr, BORG_C_BOOL);
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
        if (!c->loops) borg_check_complain(c, s->loc, "%s", "there is no loop around this");
        return;
    case BORG_S_RETURN: {
        /* the last statement of the function's body, and nowhere else */
        borg_stmt *last = c->function->body->body;
        while (last && last->next) last = last->next;
        if (last != s) {
            borg_check_complain(c, s->loc, "%s",
                                c->function->kernel
                                    ? "a kernel does not return early: work-items run in lockstep"
                                    : "return is the last statement of a function");
        }
        if (s->expr && borg_check_value(c, s->expr)) {
            if (c->function->type == BORG_C_VOID) {
                borg_check_complain(c, s->loc, "%s", "this function returns nothing");
            } else {
                s->expr = borg_check_cast(c, s->expr, c->function->type);
            }
        } else if (!s->expr && c->function->type != BORG_C_VOID) {
            borg_check_complain(c, s->loc, "%s", "this function returns a value");
        }
        return;
    }
    case BORG_S_EMPTY:
        return;
    }
}

static void check_params(borg_checker *c, borg_function *f) {
    for (borg_decl *d = f->params; d; d = d->next) {
        if (d->type == BORG_C_VOID)
            borg_check_complain(c, d->loc, "parameter '%s' is void", d->name);
        if (!d->alias && d->depth == 0) d->constant = f->kernel ? d->constant : false;
        check_length(c, d);
        if ((d->depth || d->storage == BORG_LOCAL_MEMORY) && d->type == BORG_C_BOOL)
            borg_check_complain(c, d->loc, "'%s': bool is not kept in memory", d->name);
        if (f->kernel && d->depth == 0 && d->type == BORG_C_BOOL)
            borg_check_complain(c, d->loc, "'%s': a kernel takes no bool: use int", d->name);
        if (f->kernel && d->depth == 0 && borg_ctype_complex(d->type))
            borg_check_complain(c, d->loc,
                                "'%s': a kernel takes a complex scalar as its two parts: CMPLX",
                                d->name);
        declare(c, d);
    }
}

static void check_function(borg_checker *c, borg_function *f) {
    borg_function *outer = c->function;
    borg_scope *names = c->names;
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
        borg_check_complain(c, f->loc, "'%s' does not end in a return", f->name);
    if (f->kernel && f->type != BORG_C_VOID)
        borg_check_complain(c, f->loc, "kernel '%s' is not void", f->name);
    f->active = false;
    f->checked = true;
    c->function = outer;
    c->names = names;
    c->level = level;
    c->loops = loops;
}

void borg_check(borg_function *file, borg_arena *arena, int32_t size, borg_diags *diags) {
    borg_checker c = {.arena = arena, .diags = diags, .size = size, .file = file};
    for (borg_function *f = file; f; f = f->next) {
        for (borg_function *g = file; g != f; g = g->next)
            if (strcmp(f->name, g->name) == 0)
                borg_check_complain(&c, f->loc, "two functions '%s'", f->name);
    }
    for (borg_function *f = file; f; f = f->next)
        if (!f->checked) check_function(&c, f);
}
