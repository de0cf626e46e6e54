/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of the tree, and the tree as text: --dump=ast. */
#include "borg/ast.h"

const char *borg_ctype_text(borg_ctype type) {
    static const char *const text[] = {
        "void", "bool",  "char", "uchar", "short",  "ushort",        "int",           "uint",
        "long", "ulong", "half", "float", "double", "float complex", "double complex"};
    return text[type];
}

borg_type borg_ctype_ir(borg_ctype type) {
    static const borg_type types[] = {BORG_VOID, BORG_I1,  BORG_I32, BORG_I32, BORG_I32,
                                      BORG_I32,  BORG_I32, BORG_I32, BORG_I64, BORG_I64,
                                      BORG_F32,  BORG_F32, BORG_F64, BORG_F32, BORG_F64};
    return types[type];
}

borg_type borg_ctype_memory(borg_ctype type) {
    switch (type) {
    case BORG_C_CHAR:
    case BORG_C_UCHAR:
        return BORG_I8;
    case BORG_C_SHORT:
    case BORG_C_USHORT:
        return BORG_I16;
    case BORG_C_HALF:
        return BORG_F16;
    default:
        return borg_ctype_ir(type);
    }
}

static void print_expr(const borg_expr *e, borg_sink *sink) {
    static const char *const kinds[] = {"int",    "float",   "name",    "index",  "unary",
                                        "binary", "logical", "ternary", "assign", "step",
                                        "cast",   "call",    "comma",   "list"};
    borg_put(sink, "(%s:%s", kinds[e->kind], borg_ctype_text(e->type));
    if (e->text && e->text[0]) borg_put(sink, " %s", e->text);
    if (e->kind == BORG_E_STEP && e->post) borg_put(sink, " post");
    for (int32_t i = 0; i < e->nargs; ++i) {
        borg_put(sink, " ");
        print_expr(e->args[i], sink);
    }
    borg_put(sink, ")");
}

static void line(int depth, borg_sink *sink) {
    borg_put(sink, "\n%*s", 2 * depth, "");
}

static void print_decl(const borg_decl *d, int depth, borg_sink *sink) {
    static const char *const storage[] = {"private", "local", "local volatile", "parameter"};
    line(depth, sink);
    borg_put(sink, "(%s%s %s%s%.*s %s", d->array && d->alias ? "parameter " : "",
             storage[d->storage], d->constant ? "const " : "", borg_ctype_text(d->type), d->depth,
             "**", d->name);
    if (d->array && d->count) borg_put(sink, "[%d]", d->count);
    if (d->array && !d->count) borg_put(sink, "[]");
    if (d->init) {
        borg_put(sink, " ");
        print_expr(d->init, sink);
    }
    borg_put(sink, ")");
}

static void print_stmt(const borg_stmt *s, int depth, borg_sink *sink) {
    static const char *const kinds[] = {"expr", "decl",  "block",    "if",     "for",  "while",
                                        "do",   "break", "continue", "return", "empty"};
    for (; s; s = s->next) {
        line(depth, sink);
        borg_put(sink, "(%s@%d", kinds[s->kind], s->loc.line);
        if (s->unroll) borg_put(sink, s->unroll == BORG_UNROLL_YES ? " unroll" : " nounroll");
        for (const borg_decl *d = s->decls; d; d = d->next) print_decl(d, depth + 1, sink);
        if (s->init) print_stmt(s->init, depth + 1, sink);
        const borg_expr *list[] = {s->expr, s->step};
        for (int i = 0; i < 2; ++i) {
            if (!list[i]) continue;
            borg_put(sink, " ");
            print_expr(list[i], sink);
        }
        if (s->body) print_stmt(s->body, depth + 1, sink);
        if (s->other) print_stmt(s->other, depth + 1, sink);
        borg_put(sink, ")");
    }
}

void borg_print_tree(const borg_function *file, borg_sink *sink) {
    for (const borg_function *f = file; f; f = f->next) {
        borg_put(sink, "(%s %s %s", f->kernel ? "kernel" : "function", borg_ctype_text(f->type),
                 f->name);
        for (const borg_decl *d = f->params; d; d = d->next) print_decl(d, 1, sink);
        print_stmt(f->body, 1, sink);
        borg_put(sink, ")\n");
    }
}
