/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens to the tree, by recursive descent. After an error the parser goes on behind the next ';'
 * or at the next '}', so that all errors of a file are told at once. */
#include "borg/parse.h"
#include <string.h>

static borg_stmt *statement(borg_parser *p);

static bool is_next(const borg_parser *p, int ahead, const char *text) {
    for (int i = 0; i < ahead; ++i)
        if (p->at[i].kind == BORG_TOKEN_END) return false;
    return p->at[ahead].kind == BORG_TOKEN_PUNCT && strcmp(p->at[ahead].text, text) == 0;
}

static void refuse_volatile(borg_parser *p, const borg_specifier *s) {
    if (s->in_memory)
        borg_parse_complain(p, s->volatile_loc, "%s",
                            "volatile is for __local arrays, which it puts into memory");
}

static bool starts_declaration(const borg_parser *p) {
    static const char *const words[] = {"const",  "__local", "local",    "__private", "static",
                                        "inline", "private", "volatile", NULL};
    if (borg_parse_is_type(p->at)) return true;
    for (int i = 0; words[i]; ++i)
        if (borg_parse_is(p, words[i])) return true;
    return false;
}

/* ---- statements ------------------------------------------------------------------------------ */

static borg_stmt *new_stmt(borg_parser *p, borg_stmt_kind kind, borg_loc loc) {
    borg_stmt *s = BORG_NEW(p->arena, 1, borg_stmt);
    s->kind = kind;
    s->loc = loc;
    return s;
}

static void recover(borg_parser *p) {
    while (p->at->kind != BORG_TOKEN_END && !borg_parse_is(p, ";") && !borg_parse_is(p, "}") &&
           !borg_parse_is(p, "{"))
        borg_parse_advance(p);
    borg_parse_accept(p, ";");
    p->panic = false;
}

static void end_statement(borg_parser *p) {
    if (!p->panic) borg_parse_expect(p, ";");
    if (p->panic) recover(p);
}

static borg_decl *declarator(borg_parser *p, const borg_specifier *s) {
    borg_decl *d = BORG_NEW(p->arena, 1, borg_decl);
    d->type = s->type;
    d->constant = s->constant;
    d->storage = !s->local ? BORG_PRIVATE : s->in_memory ? BORG_LOCAL_MEMORY : BORG_LOCAL_REGISTERS;
    d->number = p->next_number++;
    d->loc = p->at->loc;
    d->name = "";
    d->count = 1;
    if (borg_parse_is(p, "*"))
        borg_parse_complain(p, p->at->loc, "%s",
                            "there are no pointers but the parameters of a kernel");
    if (p->at->kind == BORG_TOKEN_NAME) {
        d->name = p->at->text;
        borg_parse_advance(p);
    } else {
        borg_parse_complain(p, p->at->loc, "%s", "expected the name of a variable");
    }
    if (borg_parse_accept(p, "[")) {
        d->array = true;
        d->length = borg_parse_expression(p);
        borg_parse_expect(p, "]");
        if (borg_parse_is(p, "["))
            borg_parse_complain(p, p->at->loc, "%s", "arrays have one dimension");
    }
    if (!s->local || !d->array) refuse_volatile(p, s);
    if (borg_parse_accept(p, "=")) d->init = borg_parse_initialiser(p);
    return d;
}

/* declaration ::= specifier declarator {"," declarator} ";" */
static borg_stmt *declaration(borg_parser *p) {
    borg_stmt *s = new_stmt(p, BORG_S_DECL, p->at->loc);
    borg_specifier spec = borg_parse_specifiers(p);
    if (!spec.found) borg_parse_complain(p, p->at->loc, "%s", "expected a type");
    if (spec.found && spec.type == BORG_C_VOID)
        borg_parse_complain(p, spec.loc, "%s", "a variable is not void");
    borg_decl **tail = &s->decls;
    do {
        *tail = declarator(p, &spec);
        tail = &(*tail)->next;
    } while (!p->panic && borg_parse_accept(p, ","));
    end_statement(p);
    return s;
}

static borg_stmt *block(borg_parser *p) {
    borg_stmt *s = new_stmt(p, BORG_S_BLOCK, p->at->loc), **tail = &s->body;
    borg_parse_expect(p, "{");
    while (!borg_parse_is(p, "}") && p->at->kind != BORG_TOKEN_END) {
        const borg_token *before = p->at;
        *tail = statement(p);
        tail = &(*tail)->next;
        if (p->panic) recover(p);
        if (p->at == before) borg_parse_advance(p);
    }
    borg_parse_expect(p, "}");
    return s;
}

static borg_expr *condition(borg_parser *p) {
    borg_parse_expect(p, "(");
    borg_expr *e = borg_parse_expression(p);
    borg_parse_expect(p, ")");
    return e;
}

static borg_stmt *for_statement(borg_parser *p) {
    borg_stmt *s = new_stmt(p, BORG_S_FOR, p->at->loc);
    borg_parse_advance(p);
    borg_parse_expect(p, "(");
    if (starts_declaration(p)) {
        s->init = declaration(p);
    } else {
        s->init = new_stmt(p, BORG_S_EMPTY, p->at->loc);
        if (!borg_parse_is(p, ";")) {
            s->init->kind = BORG_S_EXPR;
            s->init->expr = borg_parse_expression(p);
        }
        end_statement(p);
    }
    if (!borg_parse_is(p, ";")) s->expr = borg_parse_expression(p);
    borg_parse_expect(p, ";");
    if (!borg_parse_is(p, ")")) s->step = borg_parse_expression(p);
    borg_parse_expect(p, ")");
    s->body = statement(p);
    return s;
}

static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        bool start = at == text || at[-1] == ' ' || at[-1] == '\t';
        char after = at[length];
        if (start && (after == 0 || after == ' ' || after == '\t' || after == '(')) return true;
    }
    return false;
}

static borg_stmt *pragma(borg_parser *p) {
    const borg_token *t = p->at;
    borg_parse_advance(p);
    bool no = has_word(t->text, "nounroll"), yes = has_word(t->text, "unroll");
    if (!no && !yes) {
        borg_report(p->diags, BORG_WARNING, t->loc, "this pragma is not known: %s", t->text);
        return new_stmt(p, BORG_S_EMPTY, t->loc);
    }
    borg_stmt *s = statement(p);
    if (s->kind == BORG_S_FOR || s->kind == BORG_S_WHILE || s->kind == BORG_S_DO) {
        s->unroll = no ? BORG_UNROLL_NO : BORG_UNROLL_YES;
    } else {
        borg_report(p->diags, BORG_WARNING, t->loc, "no loop follows this pragma");
    }
    return s;
}

/* statement ::= ";" | block | "if" ... | "for" ... | "while" ... | "do" ... | "break" ";" | ... */
static borg_stmt *statement_inner(borg_parser *p) {
    const borg_token *t = p->at;
    borg_stmt *s;
    if (t->kind == BORG_TOKEN_PRAGMA) return pragma(p);
    if (borg_parse_accept(p, ";")) return new_stmt(p, BORG_S_EMPTY, t->loc);
    if (borg_parse_is(p, "{")) return block(p);
    if (borg_parse_is(p, "for")) return for_statement(p);
    if (borg_parse_accept(p, "if")) {
        s = new_stmt(p, BORG_S_IF, t->loc);
        s->expr = condition(p);
        s->body = statement(p);
        if (borg_parse_accept(p, "else")) s->other = statement(p);
        return s;
    }
    if (borg_parse_accept(p, "while")) {
        s = new_stmt(p, BORG_S_WHILE, t->loc);
        s->expr = condition(p);
        s->body = statement(p);
        return s;
    }
    if (borg_parse_accept(p, "do")) {
        s = new_stmt(p, BORG_S_DO, t->loc);
        s->body = statement(p);
        borg_parse_expect(p, "while");
        s->expr = condition(p);
        end_statement(p);
        return s;
    }
    if (borg_parse_is(p, "break") || borg_parse_is(p, "continue") || borg_parse_is(p, "return")) {
        borg_parse_advance(p);
        s = new_stmt(p,
                     t->text[0] == 'b'   ? BORG_S_BREAK
                     : t->text[0] == 'c' ? BORG_S_CONTINUE
                                         : BORG_S_RETURN,
                     t->loc);
        if (s->kind == BORG_S_RETURN && !borg_parse_is(p, ";")) s->expr = borg_parse_expression(p);
        end_statement(p);
        return s;
    }
    if (borg_parse_is(p, "switch") || borg_parse_is(p, "goto") || borg_parse_is(p, "case") ||
        borg_parse_is(p, "asm")) {
        borg_parse_complain(p, t->loc, "'%s' is not in the language", t->text);
        recover(p);
        return new_stmt(p, BORG_S_EMPTY, t->loc);
    }
    if (starts_declaration(p)) return declaration(p);
    s = new_stmt(p, BORG_S_EXPR, t->loc);
    s->expr = borg_parse_expression(p);
    end_statement(p);
    return s;
}

static borg_stmt *statement(borg_parser *p) {
    if (++p->depth > BORG_PARSE_NESTING) {
        borg_loc loc = p->at->loc;
        borg_parse_too_deep(p);
        --p->depth;
        return new_stmt(p, BORG_S_EMPTY, loc);
    }
    borg_stmt *s = statement_inner(p);
    --p->depth;
    return s;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* name "[" [length] "]" of a helper function: __global: memory, else an array of the caller's. */
static void array_parameter(borg_parser *p, borg_decl *d, const borg_specifier *s) {
    d->alias = true;
    if (!s->global && d->depth == 0) {
        d->array = true;
        d->storage = !s->local      ? BORG_PRIVATE
                     : s->in_memory ? BORG_LOCAL_MEMORY
                                    : BORG_LOCAL_REGISTERS;
        d->count = 0;
        if (!borg_parse_is(p, "]")) d->length = borg_parse_expression(p);
        return;
    }
    ++d->depth;
    if (!borg_parse_is(p, "]")) borg_parse_expression(p);
}

/* parameter ::= specifier {"*" {"const" | "restrict" | "__global"}} name ["[" [length] "]"] */
static borg_decl *parameter(borg_parser *p, bool kernel) {
    borg_decl *d = BORG_NEW(p->arena, 1, borg_decl);
    borg_specifier s = borg_parse_specifiers(p);
    d->storage = BORG_PARAMETER;
    d->type = s.type;
    d->constant = s.constant;
    d->count = 1;
    d->number = p->next_number++;
    if (!s.found) borg_parse_complain(p, p->at->loc, "%s", "expected the type of a parameter");
    if (kernel || !s.local) refuse_volatile(p, &s);
    if (kernel && s.local)
        borg_parse_complain(p, s.loc, "%s",
                            "__local arrays are declared in the kernel, not passed");
    while (borg_parse_accept(p, "*")) {
        ++d->depth;
        borg_specifier more = borg_parse_specifiers(p);
        d->restricted |= more.restricted;
        refuse_volatile(p, &more);
        if (!kernel && !s.global)
            borg_parse_complain(
                p, s.loc, "%s",
                "a helper function takes arrays as T name[], memory as __global T *");
    }
    d->alias = d->depth > 0 && !kernel;
    if (d->depth > 2) borg_parse_complain(p, p->at->loc, "%s", "a parameter is T, T* or T**");
    d->loc = p->at->loc;
    d->name = "";
    if (p->at->kind == BORG_TOKEN_NAME) {
        d->name = p->at->text;
        borg_parse_advance(p);
    } else {
        borg_parse_complain(p, p->at->loc, "%s", "expected the name of a parameter");
    }
    if (borg_parse_accept(p, "[")) {
        if (kernel) {
            ++d->depth;
            if (!borg_parse_is(p, "]")) borg_parse_expression(p);
        } else {
            array_parameter(p, d, &s);
        }
        borg_parse_expect(p, "]");
        if (borg_parse_is(p, "["))
            borg_parse_complain(p, p->at->loc, "%s", "arrays have one dimension");
    } else if (s.local && !kernel) {
        borg_parse_complain(p, s.loc, "%s", "a __local parameter is an array: T name[]");
    }
    return d;
}

static void skip_to_function(borg_parser *p) {
    int depth = 0;
    while (p->at->kind != BORG_TOKEN_END) {
        bool closing = borg_parse_is(p, "}");
        if (borg_parse_is(p, "{")) ++depth;
        if (closing) --depth;
        bool end = borg_parse_is(p, ";") && depth <= 0;
        borg_parse_advance(p);
        if (end || (closing && depth <= 0)) break;
    }
    p->panic = false;
}

/* function ::= ["__kernel"] type name "(" [parameter {"," parameter}] ")" block */
static borg_function *function(borg_parser *p) {
    borg_function *f = BORG_NEW(p->arena, 1, borg_function);
    borg_specifier s = borg_parse_specifiers(p);
    refuse_volatile(p, &s);
    f->kernel = s.kernel;
    f->type = s.type;
    f->loc = p->at->loc;
    if (!s.found || p->at->kind != BORG_TOKEN_NAME || !is_next(p, 1, "(")) {
        borg_parse_complain(p, p->at->loc, "%s", "expected a function: __kernel void name(...)");
        skip_to_function(p);
        return NULL;
    }
    f->name = p->at->text;
    borg_parse_advance(p);
    borg_parse_advance(p);
    borg_decl **tail = &f->params;
    if (borg_parse_is(p, "void") && is_next(p, 1, ")")) borg_parse_advance(p);
    while (!borg_parse_is(p, ")") && p->at->kind != BORG_TOKEN_END && !p->panic) {
        if (f->params) borg_parse_expect(p, ",");
        *tail = parameter(p, f->kernel);
        tail = &(*tail)->next;
    }
    borg_parse_expect(p, ")");
    if (borg_parse_is(p, "__attribute__")) borg_parse_specifiers(p);
    if (p->panic || !borg_parse_is(p, "{")) {
        if (!p->panic) borg_parse_complain(p, p->at->loc, "%s", "a function needs its body here");
        skip_to_function(p);
        return NULL;
    }
    f->body = block(p);
    return f;
}

borg_function *borg_parse_source(borg_arena *arena, const borg_token *tokens, borg_diags *diags) {
    borg_parser p = {.arena = arena, .diags = diags, .at = tokens};
    borg_function *first = NULL, **tail = &first;
    while (p.at->kind != BORG_TOKEN_END) {
        p.panic = false;
        if (p.at->kind == BORG_TOKEN_PRAGMA || borg_parse_is(&p, ";")) {
            borg_parse_advance(&p); /* "#pragma OPENCL EXTENSION ..." */
            continue;
        }
        const borg_token *before = p.at;
        borg_function *f = function(&p);
        if (f) {
            *tail = f;
            tail = &f->next;
        }
        if (p.at == before) borg_parse_advance(&p);
    }
    for (borg_function *f = first; f; f = f->next) f->numbers = p.next_number;
    return first;
}
