/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens to the tree, by recursive descent. After an error the parser goes on behind the next ';'
 * or at the next '}', so that all errors of a file are told at once. */
#include "borg/ast.h"
#include <string.h>

enum { MAX_NESTING = 200, MAX_CHAIN = 500 };

typedef struct parser {
    borg_arena *arena;
    borg_diags *diags;
    const borg_token *at;
    int depth;
    int32_t next_number;
    bool panic; /* an error was told; silent until the next statement */
} parser;

static borg_expr *expression(parser *p);
static borg_expr *assignment(parser *p);
static borg_stmt *statement(parser *p);

static void complain(parser *p, borg_loc loc, const char *format, const char *text) {
    if (!p->panic) borg_report(p->diags, BORG_ERROR, loc, format, text);
    p->panic = true;
}

static bool is(const parser *p, const char *text) {
    return (p->at->kind == BORG_TOKEN_PUNCT || p->at->kind == BORG_TOKEN_NAME) &&
           strcmp(p->at->text, text) == 0;
}

static bool is_next(const parser *p, int ahead, const char *text) {
    for (int i = 0; i < ahead; ++i)
        if (p->at[i].kind == BORG_TOKEN_END) return false;
    return p->at[ahead].kind == BORG_TOKEN_PUNCT && strcmp(p->at[ahead].text, text) == 0;
}

static void advance(parser *p) {
    if (p->at->kind != BORG_TOKEN_END) ++p->at;
}

static bool accept(parser *p, const char *text) {
    if (!is(p, text)) return false;
    advance(p);
    return true;
}

static bool expect(parser *p, const char *text) {
    if (accept(p, text)) return true;
    borg_sink found = {.arena = p->arena};
    if (p->at->kind == BORG_TOKEN_END) {
        borg_put(&found, "expected '%s', found the end of the file", text);
    } else {
        borg_put(&found, "expected '%s' before '%s'", text, p->at->text ? p->at->text : "");
    }
    complain(p, p->at->loc, "%s", found.text);
    return false;
}

static void *too_deep(parser *p) {
    complain(p, p->at->loc, "%s", "nested too deeply");
    while (p->at->kind != BORG_TOKEN_END) advance(p);
    return NULL;
}

static borg_expr *new_expr(parser *p, borg_expr_kind kind, borg_loc loc, int32_t nargs) {
    borg_expr *e = BORG_NEW(p->arena, 1, borg_expr);
    e->kind = kind;
    e->loc = loc;
    e->nargs = nargs;
    e->args = nargs ? BORG_NEW(p->arena, nargs, borg_expr *) : NULL;
    e->text = "";
    return e;
}

static borg_expr *zero(parser *p, borg_loc loc) {
    borg_expr *e = new_expr(p, BORG_E_INT, loc, 0);
    e->text = "0";
    return e;
}

/* ---- types -------------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    borg_ctype type;
} type_names[] = {{"void", BORG_C_VOID},     {"bool", BORG_C_BOOL},     {"_Bool", BORG_C_BOOL},
                  {"int", BORG_C_INT},       {"uint", BORG_C_UINT},     {"unsigned", BORG_C_UINT},
                  {"signed", BORG_C_INT},    {"long", BORG_C_LONG},     {"ulong", BORG_C_ULONG},
                  {"float", BORG_C_FLOAT},   {"double", BORG_C_DOUBLE}, {"size_t", BORG_C_ULONG},
                  {"int32_t", BORG_C_INT},   {"uint32_t", BORG_C_UINT}, {"int64_t", BORG_C_LONG},
                  {"uint64_t", BORG_C_ULONG}};

static int type_index(const borg_token *t) {
    if (t->kind != BORG_TOKEN_NAME) return -1;
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; ++i)
        if (strcmp(type_names[i].name, t->text) == 0) return (int)i;
    return -1;
}

/* Words of other types: a better message than "undeclared". */
static bool foreign_type(const borg_token *t) {
    static const char *const names[] = {"char",    "short",   "uchar",   "ushort",  "half",
                                        "float2",  "float4",  "float8",  "float16", "double2",
                                        "double4", "double8", "int2",    "int4",    "struct",
                                        "union",   "enum",    "typedef", NULL};
    for (int i = 0; t->kind == BORG_TOKEN_NAME && names[i]; ++i)
        if (strcmp(names[i], t->text) == 0) return true;
    return false;
}

typedef struct specifier {
    borg_ctype type;
    bool found, constant, local, global, kernel, restricted, in_memory;
    borg_loc loc, volatile_loc;
} specifier;

static void skip_attribute(parser *p) {
    int depth = 0;
    do {
        if (is(p, "(")) ++depth;
        if (is(p, ")")) --depth;
        advance(p);
    } while (depth > 0 && p->at->kind != BORG_TOKEN_END);
}

/* specifier ::= {"const" | "volatile" | "static" | "inline" | "__global" | "__local" | ...} type */
static specifier specifiers(parser *p) {
    specifier s = {.loc = p->at->loc};
    for (;;) {
        int index = type_index(p->at);
        if (index >= 0) {
            borg_ctype type = type_names[index].type;
            if (s.found && s.type == BORG_C_UINT && type == BORG_C_LONG) {
                type = BORG_C_ULONG; /* unsigned long */
            } else if (s.found && type == BORG_C_INT) {
                type = s.type; /* unsigned int, long int */
            } else if (s.found) {
                complain(p, p->at->loc, "two types in one declaration: '%s'", p->at->text);
            }
            s.type = type;
            s.found = true;
        } else if (foreign_type(p->at) && !s.found) {
            complain(
                p, p->at->loc,
                "'%s' is not in the language: the types are float double int uint long ulong bool",
                p->at->text);
            s.found = true;
            s.type = BORG_C_INT;
        } else if (is(p, "const") || is(p, "__constant") || is(p, "constant")) {
            s.constant = true;
        } else if (is(p, "__local") || is(p, "local")) {
            s.local = true;
        } else if (is(p, "__kernel") || is(p, "kernel")) {
            s.kernel = true;
        } else if (is(p, "__global") || is(p, "global")) {
            s.global = true;
        } else if (is(p, "restrict") || is(p, "__restrict") || is(p, "__restrict__")) {
            s.restricted = true;
        } else if (is(p, "__attribute__")) {
            advance(p);
            if (is(p, "(")) skip_attribute(p);
            continue;
        } else if (is(p, "volatile")) {
            s.in_memory = true;
            s.volatile_loc = p->at->loc;
        } else if (!is(p, "static") && !is(p, "inline") && !is(p, "__private") &&
                   !is(p, "private")) {
            return s;
        }
        advance(p);
    }
}

static void refuse_volatile(parser *p, const specifier *s) {
    if (s->in_memory)
        complain(p, s->volatile_loc, "%s",
                 "volatile is for __local arrays, which it puts into memory");
}

static bool starts_declaration(const parser *p) {
    static const char *const words[] = {"const",  "__local", "local",    "__private", "static",
                                        "inline", "private", "volatile", NULL};
    if (type_index(p->at) >= 0 || foreign_type(p->at)) return true;
    for (int i = 0; words[i]; ++i)
        if (is(p, words[i])) return true;
    return false;
}

/* ---- expressions -------------------------------------------------------------------------------
 */

/* arguments ::= "(" [assignment {"," assignment}] ")" */
static borg_expr *call(parser *p, const borg_token *name) {
    borg_expr *list[64], *e;
    int32_t count = 0;
    advance(p);
    while (!is(p, ")") && p->at->kind != BORG_TOKEN_END && !p->panic) {
        if (count) expect(p, ",");
        if (count == 64) {
            complain(p, p->at->loc, "%s", "too many arguments");
            break;
        }
        list[count++] = assignment(p);
    }
    expect(p, ")");
    e = new_expr(p, BORG_E_CALL, name->loc, count);
    e->text = name->text;
    for (int32_t i = 0; i < count; ++i) e->args[i] = list[i];
    return e;
}

/* primary ::= number | name | name "(" arguments ")" | "(" expression ")" */
static borg_expr *primary(parser *p) {
    const borg_token *t = p->at;
    borg_expr *e;
    if (t->kind == BORG_TOKEN_INT || t->kind == BORG_TOKEN_FLOAT) {
        advance(p);
        e = new_expr(p, t->kind == BORG_TOKEN_INT ? BORG_E_INT : BORG_E_FLOAT, t->loc, 0);
        e->text = t->text;
        e->integer = t->integer;
        e->real = t->real;
        e->wide = t->wide;
        e->uns = t->kind == BORG_TOKEN_INT ? t->uns : t->single;
        return e;
    }
    if (t->kind == BORG_TOKEN_NAME) {
        advance(p);
        if (is(p, "(")) return call(p, t);
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
    if (accept(p, "(")) {
        e = expression(p);
        expect(p, ")");
        return e;
    }
    if (t->kind == BORG_TOKEN_END) {
        complain(p, t->loc, "%s", "expected an expression, found the end of the file");
    } else {
        complain(p, t->loc, "expected an expression before '%s'", t->text);
    }
    return zero(p, t->loc);
}

/* postfix ::= primary {"[" expression "]" | "++" | "--"} */
static borg_expr *postfix(parser *p) {
    borg_expr *e = primary(p);
    for (int length = 0;; ++length) {
        const borg_token *t = p->at;
        if (length > MAX_CHAIN) too_deep(p);
        if (accept(p, "[")) {
            borg_expr *index = expression(p);
            expect(p, "]");
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
                complain(p, t->loc, "%s", "only variables have elements");
            }
        } else if (is(p, "++") || is(p, "--")) {
            advance(p);
            borg_expr *step = new_expr(p, BORG_E_STEP, t->loc, 1);
            step->text = t->text;
            step->post = true;
            step->args[0] = e;
            e = step;
        } else if (is(p, ".") || is(p, "->")) {
            complain(p, t->loc, "'%s': structures are not in the language", t->text);
            advance(p);
        } else {
            return e;
        }
    }
}

/* unary ::= ("+" | "-" | "!" | "~" | "++" | "--" | "(" type ")") unary | postfix */
static borg_expr *unary_inner(parser *p) {
    const borg_token *t = p->at;
    if (is(p, "+") || is(p, "-") || is(p, "!") || is(p, "~")) {
        advance(p);
        borg_expr *e = new_expr(p, BORG_E_UNARY, t->loc, 1);
        e->text = t->text;
        ++p->depth;
        e->args[0] = p->depth > MAX_NESTING ? too_deep(p) : unary_inner(p);
        --p->depth;
        if (!e->args[0]) e->args[0] = zero(p, t->loc);
        return e;
    }
    if (is(p, "++") || is(p, "--")) {
        advance(p);
        borg_expr *e = new_expr(p, BORG_E_STEP, t->loc, 1);
        e->text = t->text;
        e->args[0] = postfix(p);
        return e;
    }
    if (is(p, "&") || is(p, "*")) {
        complain(p, t->loc, "'%s': there are no pointers but the parameters of a kernel", t->text);
        advance(p);
        return zero(p, t->loc);
    }
    if (is(p, "(") && (type_index(&p->at[1]) >= 0 || foreign_type(&p->at[1]))) {
        advance(p);
        specifier s = specifiers(p);
        if (is(p, "*")) {
            complain(p, p->at->loc, "%s", "pointers are not converted");
            advance(p);
        }
        expect(p, ")");
        borg_expr *e = new_expr(p, BORG_E_CAST, t->loc, 1);
        e->type = s.type;
        ++p->depth;
        e->args[0] = p->depth > MAX_NESTING ? too_deep(p) : unary_inner(p);
        --p->depth;
        if (!e->args[0]) e->args[0] = zero(p, t->loc);
        return e;
    }
    return postfix(p);
}

static const char *const levels[][5] = {
    {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">="},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
enum { NLEVELS = 10 };

static int binary_level(const parser *p) {
    if (p->at->kind != BORG_TOKEN_PUNCT) return -1;
    for (int i = 0; i < NLEVELS; ++i)
        for (int j = 0; j < 5 && levels[i][j]; ++j)
            if (strcmp(levels[i][j], p->at->text) == 0) return i;
    return -1;
}

/* binary(k) ::= binary(k+1) {operator of level k  binary(k+1)}, by precedence climbing */
static borg_expr *binary(parser *p, int least) {
    borg_expr *left = unary_inner(p);
    int length = 0;
    for (int level = binary_level(p); level >= least && level >= 0; level = binary_level(p)) {
        const borg_token *t = p->at;
        if (++length > MAX_CHAIN) {
            too_deep(p);
            break;
        }
        advance(p);
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
static borg_expr *conditional(parser *p) {
    borg_expr *c = binary(p, 0);
    const borg_token *t = p->at;
    if (!accept(p, "?")) return c;
    borg_expr *e = new_expr(p, BORG_E_TERNARY, t->loc, 3);
    e->text = "?:";
    e->args[0] = c;
    e->args[1] = expression(p);
    expect(p, ":");
    e->args[2] = assignment(p);
    return e;
}

static bool is_assignment(const parser *p) {
    static const char *const ops[] = {
        "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", NULL};
    for (int i = 0; p->at->kind == BORG_TOKEN_PUNCT && ops[i]; ++i)
        if (strcmp(ops[i], p->at->text) == 0) return true;
    return false;
}

/* assignment ::= conditional [("=" | "+=" | ...) assignment] */
static borg_expr *assignment(parser *p) {
    if (++p->depth > MAX_NESTING) {
        borg_loc loc = p->at->loc;
        too_deep(p);
        --p->depth;
        return zero(p, loc);
    }
    borg_expr *e = conditional(p);
    const borg_token *t = p->at;
    if (is_assignment(p)) {
        advance(p);
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
static borg_expr *expression(parser *p) {
    borg_expr *e = assignment(p);
    for (int length = 0; is(p, ","); ++length) {
        const borg_token *t = p->at;
        if (length > MAX_CHAIN) {
            too_deep(p);
            break;
        }
        advance(p);
        borg_expr *c = new_expr(p, BORG_E_COMMA, t->loc, 2);
        c->text = ",";
        c->args[0] = e;
        c->args[1] = assignment(p);
        e = c;
    }
    return e;
}

/* initialiser ::= assignment | "{" [assignment {"," assignment} [","]] "}" */
static borg_expr *initialiser(parser *p) {
    const borg_token *t = p->at;
    if (!accept(p, "{")) return assignment(p);
    borg_expr **list = NULL;
    size_t count = 0, capacity = 0;
    while (!is(p, "}") && p->at->kind != BORG_TOKEN_END && !p->panic) {
        list = borg_grow(p->arena, list, count + 1, &capacity, sizeof *list);
        list[count++] = assignment(p);
        if (!accept(p, ",")) break;
    }
    expect(p, "}");
    borg_expr *e = new_expr(p, BORG_E_LIST, t->loc, 0);
    e->nargs = (int32_t)count;
    e->args = list;
    return e;
}

/* ---- statements --------------------------------------------------------------------------------
 */

static borg_stmt *new_stmt(parser *p, borg_stmt_kind kind, borg_loc loc) {
    borg_stmt *s = BORG_NEW(p->arena, 1, borg_stmt);
    s->kind = kind;
    s->loc = loc;
    return s;
}

static void recover(parser *p) {
    while (p->at->kind != BORG_TOKEN_END && !is(p, ";") && !is(p, "}") && !is(p, "{")) advance(p);
    accept(p, ";");
    p->panic = false;
}

static void end_statement(parser *p) {
    if (!p->panic) expect(p, ";");
    if (p->panic) recover(p);
}

static borg_decl *declarator(parser *p, const specifier *s) {
    borg_decl *d = BORG_NEW(p->arena, 1, borg_decl);
    d->type = s->type;
    d->constant = s->constant;
    d->storage = !s->local ? BORG_PRIVATE : s->in_memory ? BORG_LOCAL_MEMORY : BORG_LOCAL_REGISTERS;
    d->number = p->next_number++;
    d->loc = p->at->loc;
    d->name = "";
    d->count = 1;
    if (is(p, "*"))
        complain(p, p->at->loc, "%s", "there are no pointers but the parameters of a kernel");
    if (p->at->kind == BORG_TOKEN_NAME) {
        d->name = p->at->text;
        advance(p);
    } else {
        complain(p, p->at->loc, "%s", "expected the name of a variable");
    }
    if (accept(p, "[")) {
        d->array = true;
        d->length = expression(p);
        expect(p, "]");
        if (is(p, "[")) complain(p, p->at->loc, "%s", "arrays have one dimension");
    }
    if (!s->local || !d->array) refuse_volatile(p, s);
    if (accept(p, "=")) d->init = initialiser(p);
    return d;
}

/* declaration ::= specifier declarator {"," declarator} ";" */
static borg_stmt *declaration(parser *p) {
    borg_stmt *s = new_stmt(p, BORG_S_DECL, p->at->loc);
    specifier spec = specifiers(p);
    if (!spec.found) complain(p, p->at->loc, "%s", "expected a type");
    if (spec.found && spec.type == BORG_C_VOID)
        complain(p, spec.loc, "%s", "a variable is not void");
    borg_decl **tail = &s->decls;
    do {
        *tail = declarator(p, &spec);
        tail = &(*tail)->next;
    } while (!p->panic && accept(p, ","));
    end_statement(p);
    return s;
}

static borg_stmt *block(parser *p) {
    borg_stmt *s = new_stmt(p, BORG_S_BLOCK, p->at->loc), **tail = &s->body;
    expect(p, "{");
    while (!is(p, "}") && p->at->kind != BORG_TOKEN_END) {
        const borg_token *before = p->at;
        *tail = statement(p);
        tail = &(*tail)->next;
        if (p->panic) recover(p);
        if (p->at == before) advance(p);
    }
    expect(p, "}");
    return s;
}

static borg_expr *condition(parser *p) {
    expect(p, "(");
    borg_expr *e = expression(p);
    expect(p, ")");
    return e;
}

static borg_stmt *for_statement(parser *p) {
    borg_stmt *s = new_stmt(p, BORG_S_FOR, p->at->loc);
    advance(p);
    expect(p, "(");
    if (starts_declaration(p)) {
        s->init = declaration(p);
    } else {
        s->init = new_stmt(p, BORG_S_EMPTY, p->at->loc);
        if (!is(p, ";")) {
            s->init->kind = BORG_S_EXPR;
            s->init->expr = expression(p);
        }
        end_statement(p);
    }
    if (!is(p, ";")) s->expr = expression(p);
    expect(p, ";");
    if (!is(p, ")")) s->step = expression(p);
    expect(p, ")");
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

static borg_stmt *pragma(parser *p) {
    const borg_token *t = p->at;
    advance(p);
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
static borg_stmt *statement_inner(parser *p) {
    const borg_token *t = p->at;
    borg_stmt *s;
    if (t->kind == BORG_TOKEN_PRAGMA) return pragma(p);
    if (accept(p, ";")) return new_stmt(p, BORG_S_EMPTY, t->loc);
    if (is(p, "{")) return block(p);
    if (is(p, "for")) return for_statement(p);
    if (accept(p, "if")) {
        s = new_stmt(p, BORG_S_IF, t->loc);
        s->expr = condition(p);
        s->body = statement(p);
        if (accept(p, "else")) s->other = statement(p);
        return s;
    }
    if (accept(p, "while")) {
        s = new_stmt(p, BORG_S_WHILE, t->loc);
        s->expr = condition(p);
        s->body = statement(p);
        return s;
    }
    if (accept(p, "do")) {
        s = new_stmt(p, BORG_S_DO, t->loc);
        s->body = statement(p);
        expect(p, "while");
        s->expr = condition(p);
        end_statement(p);
        return s;
    }
    if (is(p, "break") || is(p, "continue") || is(p, "return")) {
        advance(p);
        s = new_stmt(p,
                     t->text[0] == 'b'   ? BORG_S_BREAK
                     : t->text[0] == 'c' ? BORG_S_CONTINUE
                                         : BORG_S_RETURN,
                     t->loc);
        if (s->kind == BORG_S_RETURN && !is(p, ";")) s->expr = expression(p);
        end_statement(p);
        return s;
    }
    if (is(p, "switch") || is(p, "goto") || is(p, "case") || is(p, "asm")) {
        complain(p, t->loc, "'%s' is not in the language", t->text);
        recover(p);
        return new_stmt(p, BORG_S_EMPTY, t->loc);
    }
    if (starts_declaration(p)) return declaration(p);
    s = new_stmt(p, BORG_S_EXPR, t->loc);
    s->expr = expression(p);
    end_statement(p);
    return s;
}

static borg_stmt *statement(parser *p) {
    if (++p->depth > MAX_NESTING) {
        borg_loc loc = p->at->loc;
        too_deep(p);
        --p->depth;
        return new_stmt(p, BORG_S_EMPTY, loc);
    }
    borg_stmt *s = statement_inner(p);
    --p->depth;
    return s;
}

/* ---- functions ---------------------------------------------------------------------------------
 */

/* parameter ::= specifier {"*" {"const" | "restrict" | "__global"}} name */
static borg_decl *parameter(parser *p) {
    borg_decl *d = BORG_NEW(p->arena, 1, borg_decl);
    specifier s = specifiers(p);
    d->storage = BORG_PARAMETER;
    d->type = s.type;
    d->constant = s.constant;
    d->count = 1;
    d->number = p->next_number++;
    if (!s.found) complain(p, p->at->loc, "%s", "expected the type of a parameter");
    refuse_volatile(p, &s);
    if (s.local) complain(p, s.loc, "%s", "__local arrays are declared in the kernel, not passed");
    while (accept(p, "*")) {
        ++d->depth;
        specifier more = specifiers(p);
        d->restricted |= more.restricted;
        refuse_volatile(p, &more);
    }
    if (d->depth > 2) complain(p, p->at->loc, "%s", "a parameter is T, T* or T**");
    d->loc = p->at->loc;
    d->name = "";
    if (p->at->kind == BORG_TOKEN_NAME) {
        d->name = p->at->text;
        advance(p);
    } else {
        complain(p, p->at->loc, "%s", "expected the name of a parameter");
    }
    if (accept(p, "[")) {
        ++d->depth;
        if (!is(p, "]")) expression(p);
        expect(p, "]");
    }
    return d;
}

static void skip_to_function(parser *p) {
    int depth = 0;
    while (p->at->kind != BORG_TOKEN_END) {
        bool closing = is(p, "}");
        if (is(p, "{")) ++depth;
        if (closing) --depth;
        bool end = is(p, ";") && depth <= 0;
        advance(p);
        if (end || (closing && depth <= 0)) break;
    }
    p->panic = false;
}

/* function ::= ["__kernel"] type name "(" [parameter {"," parameter}] ")" block */
static borg_function *function(parser *p) {
    borg_function *f = BORG_NEW(p->arena, 1, borg_function);
    specifier s = specifiers(p);
    refuse_volatile(p, &s);
    f->kernel = s.kernel;
    f->type = s.type;
    f->loc = p->at->loc;
    if (!s.found || p->at->kind != BORG_TOKEN_NAME || !is_next(p, 1, "(")) {
        complain(p, p->at->loc, "%s", "expected a function: __kernel void name(...)");
        skip_to_function(p);
        return NULL;
    }
    f->name = p->at->text;
    advance(p);
    advance(p);
    borg_decl **tail = &f->params;
    if (is(p, "void") && is_next(p, 1, ")")) advance(p);
    while (!is(p, ")") && p->at->kind != BORG_TOKEN_END && !p->panic) {
        if (f->params) expect(p, ",");
        *tail = parameter(p);
        tail = &(*tail)->next;
    }
    expect(p, ")");
    if (is(p, "__attribute__")) specifiers(p);
    if (p->panic || !is(p, "{")) {
        if (!p->panic) complain(p, p->at->loc, "%s", "a function needs its body here");
        skip_to_function(p);
        return NULL;
    }
    f->body = block(p);
    return f;
}

borg_function *borg_parse_source(borg_arena *arena, const borg_token *tokens, borg_diags *diags) {
    parser p = {.arena = arena, .diags = diags, .at = tokens};
    borg_function *first = NULL, **tail = &first;
    while (p.at->kind != BORG_TOKEN_END) {
        p.panic = false;
        if (p.at->kind == BORG_TOKEN_PRAGMA || is(&p, ";")) {
            advance(&p); /* "#pragma OPENCL EXTENSION ..." */
            continue;
        }
        const borg_token *before = p.at;
        borg_function *f = function(&p);
        if (f) {
            *tail = f;
            tail = &f->next;
        }
        if (p.at == before) advance(&p);
    }
    return first;
}
