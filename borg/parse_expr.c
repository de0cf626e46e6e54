/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions, by recursive descent and precedence climbing. */
#include "borg/parse.h"
#include <string.h>

static borg_expr *new_expr(borg_parser *p, borg_expr_kind kind, borg_loc loc, int32_t nargs) {
    borg_expr *e = BORG_NEW(p->arena, 1, borg_expr);
    e->kind = kind;
    e->loc = loc;
    e->nargs = nargs;
    e->args = nargs ? BORG_NEW(p->arena, nargs, borg_expr *) : NULL;
    e->text = "";
    return e;
}

static borg_expr *zero(borg_parser *p, borg_loc loc) {
    borg_expr *e = new_expr(p, BORG_E_INT, loc, 0);
    e->text = "0";
    return e;
}

static borg_expr *assignment(borg_parser *p);

/* arguments ::= "(" [assignment {"," assignment}] ")" */
static borg_expr *call(borg_parser *p, const borg_token *name) {
    borg_expr *list[64], *e;
    int32_t count = 0;
    borg_parse_advance(p);
    while (!borg_parse_is(p, ")") && p->at->kind != BORG_TOKEN_END && !p->panic) {
        if (count) borg_parse_expect(p, ",");
        if (count == 64) {
            borg_parse_complain(p, p->at->loc, "%s", "too many arguments");
            break;
        }
        list[count++] = assignment(p);
    }
    borg_parse_expect(p, ")");
    e = new_expr(p, BORG_E_CALL, name->loc, count);
    e->text = name->text;
    for (int32_t i = 0; i < count; ++i) e->args[i] = list[i];
    return e;
}

/* primary ::= number | name | name "(" arguments ")" | "(" expression ")" */
static borg_expr *primary(borg_parser *p) {
    const borg_token *t = p->at;
    borg_expr *e;
    if (t->kind == BORG_TOKEN_INT || t->kind == BORG_TOKEN_FLOAT) {
        borg_parse_advance(p);
        e = new_expr(p, t->kind == BORG_TOKEN_INT ? BORG_E_INT : BORG_E_FLOAT, t->loc, 0);
        e->text = t->text;
        e->integer = t->integer;
        e->real = t->real;
        e->wide = t->wide;
        e->uns = t->kind == BORG_TOKEN_INT ? t->uns : t->single;
        return e;
    }
    if (t->kind == BORG_TOKEN_NAME) {
        borg_parse_advance(p);
        if (borg_parse_is(p, "(")) return call(p, t);
        if (strcmp(t->text, "true") == 0 || strcmp(t->text, "false") == 0) {
            e = new_expr(p, BORG_E_INT, t->loc, 0);
            e->integer = t->text[0] == 't';
            e->post = true; /* a bool */
        } else {
            e = new_expr(p, BORG_E_NAME, t->loc, 0);
        }
        e->text = t->text;
        return e;
    }
    if (borg_parse_accept(p, "(")) {
        e = borg_parse_expression(p);
        borg_parse_expect(p, ")");
        return e;
    }
    if (t->kind == BORG_TOKEN_END) {
        borg_parse_complain(p, t->loc, "%s", "expected an expression, found the end of the file");
    } else {
        borg_parse_complain(p, t->loc, "expected an expression before '%s'", t->text);
    }
    return zero(p, t->loc);
}

/* postfix ::= primary {"[" expression "]" | "++" | "--"} */
static borg_expr *postfix(borg_parser *p) {
    borg_expr *e = primary(p);
    for (int length = 0;; ++length) {
        const borg_token *t = p->at;
        if (length > BORG_PARSE_CHAIN) borg_parse_too_deep(p);
        if (borg_parse_accept(p, "[")) {
            borg_expr *index = borg_parse_expression(p);
            borg_parse_expect(p, "]");
            if (e->kind == BORG_E_INDEX && e->nargs == 1) {
                borg_expr *two = new_expr(p, BORG_E_INDEX, e->loc, 2);
                two->text = e->text;
                two->args[0] = e->args[0];
                two->args[1] = index;
                e = two;
            } else if (e->kind == BORG_E_NAME) {
                borg_expr *one = new_expr(p, BORG_E_INDEX, e->loc, 1);
                one->text = e->text;
                one->args[0] = index;
                e = one;
            } else {
                borg_parse_complain(p, t->loc, "%s", "only variables have elements");
            }
        } else if (borg_parse_is(p, "++") || borg_parse_is(p, "--")) {
            borg_parse_advance(p);
            borg_expr *step = new_expr(p, BORG_E_STEP, t->loc, 1);
            step->text = t->text;
            step->post = true;
            step->args[0] = e;
            e = step;
        } else if (borg_parse_is(p, ".") || borg_parse_is(p, "->")) {
            borg_parse_complain(p, t->loc, "'%s': structures are not in the language", t->text);
            borg_parse_advance(p);
        } else {
            return e;
        }
    }
}

/* unary ::= ("+" | "-" | "!" | "~" | "++" | "--" | "(" type ")") unary | postfix */
static borg_expr *unary_inner(borg_parser *p) {
    const borg_token *t = p->at;
    if (borg_parse_is(p, "+") || borg_parse_is(p, "-") || borg_parse_is(p, "!") ||
        borg_parse_is(p, "~")) {
        borg_parse_advance(p);
        borg_expr *e = new_expr(p, BORG_E_UNARY, t->loc, 1);
        e->text = t->text;
        ++p->depth;
        e->args[0] = p->depth > BORG_PARSE_NESTING ? borg_parse_too_deep(p) : unary_inner(p);
        --p->depth;
        if (!e->args[0]) e->args[0] = zero(p, t->loc);
        return e;
    }
    if (borg_parse_is(p, "++") || borg_parse_is(p, "--")) {
        borg_parse_advance(p);
        borg_expr *e = new_expr(p, BORG_E_STEP, t->loc, 1);
        e->text = t->text;
        e->args[0] = postfix(p);
        return e;
    }
    if (borg_parse_is(p, "&") || borg_parse_is(p, "*")) {
        borg_parse_complain(p, t->loc, "'%s': there are no pointers but the parameters of a kernel",
                            t->text);
        borg_parse_advance(p);
        return zero(p, t->loc);
    }
    if (borg_parse_is(p, "(") && (borg_parse_is_type(&p->at[1]))) {
        borg_parse_advance(p);
        borg_specifier s = borg_parse_specifiers(p);
        if (borg_parse_is(p, "*")) {
            borg_parse_complain(p, p->at->loc, "%s", "pointers are not converted");
            borg_parse_advance(p);
        }
        borg_parse_expect(p, ")");
        borg_expr *e = new_expr(p, BORG_E_CAST, t->loc, 1);
        e->type = s.type;
        ++p->depth;
        e->args[0] = p->depth > BORG_PARSE_NESTING ? borg_parse_too_deep(p) : unary_inner(p);
        --p->depth;
        if (!e->args[0]) e->args[0] = zero(p, t->loc);
        return e;
    }
    return postfix(p);
}

static int binary_level(const borg_parser *p) {
    return p->at->kind == BORG_TOKEN_PUNCT ? borg_operator_level(p->at->text) : -1;
}

/* binary(k) ::= binary(k+1) {operator of level k  binary(k+1)}, by precedence climbing */
static borg_expr *binary(borg_parser *p, int least) {
    borg_expr *left = unary_inner(p);
    int length = 0;
    for (int level = binary_level(p); level >= least && level >= 0; level = binary_level(p)) {
        const borg_token *t = p->at;
        if (++length > BORG_PARSE_CHAIN) {
            borg_parse_too_deep(p);
            break;
        }
        borg_parse_advance(p);
        borg_expr *right = binary(p, level + 1);
        borg_expr *e = new_expr(p, level < 2 ? BORG_E_LOGICAL : BORG_E_BINARY, t->loc, 2);
        e->text = t->text;
        e->args[0] = left;
        e->args[1] = right;
        left = e;
    }
    return left;
}

/* conditional ::= binary ["?" expression ":" assignment] */
static borg_expr *conditional(borg_parser *p) {
    borg_expr *c = binary(p, 0);
    const borg_token *t = p->at;
    if (!borg_parse_accept(p, "?")) return c;
    borg_expr *e = new_expr(p, BORG_E_TERNARY, t->loc, 3);
    e->text = "?:";
    e->args[0] = c;
    e->args[1] = borg_parse_expression(p);
    borg_parse_expect(p, ":");
    e->args[2] = assignment(p);
    return e;
}

static bool is_assignment(const borg_parser *p) {
    static const char *const ops[] = {
        "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", NULL};
    for (int i = 0; p->at->kind == BORG_TOKEN_PUNCT && ops[i]; ++i)
        if (strcmp(ops[i], p->at->text) == 0) return true;
    return false;
}

/* assignment ::= conditional [("=" | "+=" | ...) assignment] */
static borg_expr *assignment(borg_parser *p) {
    if (++p->depth > BORG_PARSE_NESTING) {
        borg_loc loc = p->at->loc;
        borg_parse_too_deep(p);
        --p->depth;
        return zero(p, loc);
    }
    borg_expr *e = conditional(p);
    const borg_token *t = p->at;
    if (is_assignment(p)) {
        borg_parse_advance(p);
        borg_expr *a = new_expr(p, BORG_E_ASSIGN, t->loc, 2);
        a->text = t->text;
        a->args[0] = e;
        a->args[1] = assignment(p);
        e = a;
    }
    --p->depth;
    return e;
}

/* expression ::= assignment {"," assignment} */
borg_expr *borg_parse_expression(borg_parser *p) {
    borg_expr *e = assignment(p);
    for (int length = 0; borg_parse_is(p, ","); ++length) {
        const borg_token *t = p->at;
        if (length > BORG_PARSE_CHAIN) {
            borg_parse_too_deep(p);
            break;
        }
        borg_parse_advance(p);
        borg_expr *c = new_expr(p, BORG_E_COMMA, t->loc, 2);
        c->text = ",";
        c->args[0] = e;
        c->args[1] = assignment(p);
        e = c;
    }
    return e;
}

/* initialiser ::= assignment | "{" [assignment {"," assignment} [","]] "}" */
borg_expr *borg_parse_initialiser(borg_parser *p) {
    const borg_token *t = p->at;
    if (!borg_parse_accept(p, "{")) return assignment(p);
    borg_expr **list = NULL;
    size_t count = 0, capacity = 0;
    while (!borg_parse_is(p, "}") && p->at->kind != BORG_TOKEN_END && !p->panic) {
        list = borg_grow(p->arena, list, count + 1, &capacity, sizeof *list);
        list[count++] = assignment(p);
        if (!borg_parse_accept(p, ",")) break;
    }
    borg_parse_expect(p, "}");
    borg_expr *e = new_expr(p, BORG_E_LIST, t->loc, 0);
    e->nargs = (int32_t)count;
    e->args = list;
    return e;
}
