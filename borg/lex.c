/* SPDX-License-Identifier: BSD-3-Clause */
/* Text to tokens: comments, numbers, object macros, conditionals, included files. Any bytes are
 * survived. */
#include "borg/ast.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1 << 20, MAX_EXPANSION = 64, MAX_CONDITIONALS = 64, MAX_INCLUDED = 16 };

typedef struct macro {
    struct macro *next;
    const char *name;
    borg_token *tokens; /* ended by END */
    bool defined, busy;
} macro;

typedef struct conditional {
    bool taken, live, otherwise; /* a branch was taken; this one is; #else was seen */
    borg_loc loc;
} conditional;

typedef struct lexer {
    borg_arena *arena;
    borg_diags *diags;
    const borg_reader *reader;
    const char *at, *end, *line_start;
    int32_t line, file; /* as in borg_loc */
    int inside;         /* files that include the one at hand */
    int outer_depth;    /* conditionals that they have open */
    macro *macros;
    borg_token *out;
    size_t count, capacity;
    bool full;
    conditional stack[MAX_CONDITIONALS];
    int depth;
} lexer;

static void complain(lexer *l, borg_loc loc, const char *reason) {
    borg_report(l->diags, BORG_ERROR, loc, "%s", reason);
}

static bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool digit(char c) {
    return c >= '0' && c <= '9';
}

static char peek(const lexer *l, size_t ahead) {
    return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : 0;
}

static borg_loc here(const lexer *l, const char *start) {
    return (borg_loc){l->line, (int32_t)(start - l->line_start) + 1, (int32_t)(l->at - start),
                      l->file};
}

/* Blanks, comments and continued lines; stops at a newline when it ends a directive. */
static void skip_blanks(lexer *l, bool stop_at_newline) {
    while (l->at < l->end) {
        char c = *l->at;
        if (c == '\n') {
            if (stop_at_newline) return;
            ++l->at;
            ++l->line;
            l->line_start = l->at;
        } else if (c == '\\' &&
                   (peek(l, 1) == '\n' || (peek(l, 1) == '\r' && peek(l, 2) == '\n'))) {
            l->at += peek(l, 1) == '\n' ? 2 : 3;
            ++l->line;
            l->line_start = l->at;
        } else if (c == '/' && peek(l, 1) == '/') {
            while (l->at < l->end && *l->at != '\n') ++l->at;
        } else if (c == '/' && peek(l, 1) == '*') {
            const char *start = l->at;
            borg_loc loc = here(l, start);
            for (l->at += 2; l->at < l->end && !(*l->at == '*' && peek(l, 1) == '/'); ++l->at) {
                if (*l->at != '\n') continue;
                ++l->line;
                l->line_start = l->at + 1;
            }
            if (l->at == l->end) {
                loc.length = 2;
                complain(l, loc, "this comment is not closed");
            } else {
                l->at += 2;
            }
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
            ++l->at;
        } else {
            return;
        }
    }
}

static void lex_number(lexer *l, borg_token *t) {
    const char *start = l->at;
    bool hex = *start == '0' && (peek(l, 1) == 'x' || peek(l, 1) == 'X');
    bool real = false;
    while (l->at < l->end) {
        char c = *l->at, previous = l->at > start ? l->at[-1] : 0;
        if (c == '.' || (!hex && (c == 'e' || c == 'E')) || (hex && (c == 'p' || c == 'P')))
            real = true;
        bool exponent =
            hex ? previous == 'p' || previous == 'P' : previous == 'e' || previous == 'E';
        if (!letter(c) && !digit(c) && c != '.' && !((c == '+' || c == '-') && exponent)) break;
        ++l->at;
    }
    t->loc = here(l, start);
    char *copy = borg_copy_text(l->arena, start, (size_t)(l->at - start)), *rest;
    t->text = copy;
    errno = 0;
    if (real) {
        t->kind = BORG_TOKEN_FLOAT;
        t->real = strtod(copy, &rest);
        if (*rest == 'f' || *rest == 'F') t->single = true, ++rest;
    } else {
        t->kind = BORG_TOKEN_INT;
        t->integer = strtoull(copy, &rest, 0);
        if (errno) complain(l, t->loc, "this integer does not fit 64 bits");
        for (; *rest == 'u' || *rest == 'U' || *rest == 'l' || *rest == 'L'; ++rest) {
            if (*rest == 'u' || *rest == 'U') t->uns = true;
            if (*rest == 'l' || *rest == 'L') t->wide = true;
        }
    }
    if (*rest) complain(l, t->loc, "this is not a number");
}

static const char *const puncts[] = {
    "<<=", ">>=", "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "++", "--", "->", "##", NULL};

/* One token without expansion; false at the end of the text (or line, inside a directive). */
static bool lex_token(lexer *l, borg_token *t, bool stop_at_newline) {
again:
    memset(t, 0, sizeof *t);
    skip_blanks(l, stop_at_newline);
    if (l->at >= l->end || *l->at == '\n') return false;
    const char *start = l->at;
    char c = *start;
    if (letter(c)) {
        while (l->at < l->end && (letter(*l->at) || digit(*l->at))) ++l->at;
        t->kind = BORG_TOKEN_NAME;
    } else if (digit(c) || (c == '.' && digit(peek(l, 1)))) {
        lex_number(l, t);
        return true;
    } else {
        t->kind = BORG_TOKEN_PUNCT;
        size_t length = 1;
        for (int i = 0; puncts[i]; ++i) {
            size_t n = strlen(puncts[i]);
            if ((size_t)(l->end - start) >= n && memcmp(start, puncts[i], n) == 0) {
                length = n;
                break;
            }
        }
        l->at += length;
        if (!strchr("()[]{};,.+-*/%&|^~!<>=?:#@", c) || c == 0) {
            borg_loc loc = here(l, start);
            complain(l, loc,
                     c == '"' || c == '\'' ? "strings and characters are not in the language"
                                           : "no token begins with this character");
            goto again;
        }
    }
    t->loc = here(l, start);
    t->text = borg_copy_text(l->arena, start, (size_t)(l->at - start));
    return true;
}

/* ---- macros ---------------------------------------------------------------------------------- */

static macro *find_macro(lexer *l, const char *name) {
    for (macro *m = l->macros; m; m = m->next)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

static void define_macro(lexer *l, const char *name, borg_token *tokens) {
    macro *m = find_macro(l, name);
    if (!m) {
        m = BORG_NEW(l->arena, 1, macro);
        m->name = name;
        m->next = l->macros;
        l->macros = m;
    }
    m->tokens = tokens;
    m->defined = true;
}

static void push(lexer *l, const borg_token *t) {
    if (l->count >= MAX_TOKENS) {
        if (!l->full) complain(l, t->loc, "too many tokens: macros that expand without end?");
        l->full = true;
        return;
    }
    l->out = borg_grow(l->arena, l->out, l->count + 1, &l->capacity, sizeof *l->out);
    l->out[l->count++] = *t;
}

static void expand(lexer *l, const borg_token *t, borg_loc loc, int depth) {
    macro *m = t->kind == BORG_TOKEN_NAME ? find_macro(l, t->text) : NULL;
    if (!m || !m->defined || m->busy || depth > MAX_EXPANSION) {
        borg_token copy = *t;
        copy.loc = loc;
        push(l, &copy);
        return;
    }
    m->busy = true;
    for (const borg_token *s = m->tokens; s->kind != BORG_TOKEN_END && !l->full; ++s)
        expand(l, s, loc, depth + 1);
    m->busy = false;
}

/* The rest of a directive's line as a list ended by END. */
static borg_token *rest_of_line(lexer *l) {
    borg_token *list = NULL, t;
    size_t count = 0, capacity = 0;
    while (lex_token(l, &t, true)) {
        list = borg_grow(l->arena, list, count + 1, &capacity, sizeof *list);
        list[count++] = t;
    }
    list = borg_grow(l->arena, list, count + 1, &capacity, sizeof *list);
    memset(&list[count], 0, sizeof *list);
    list[count].loc = here(l, l->at);
    return list;
}

static bool is_text(const borg_token *t, const char *text) {
    return t->kind != BORG_TOKEN_END && t->text && strcmp(t->text, text) == 0;
}

/* defined X, defined(X), then macros, then the value */
static bool evaluate_condition(lexer *l, borg_token *list, borg_loc loc) {
    borg_token *saved = l->out;
    size_t count = l->count, capacity = l->capacity;
    l->out = NULL;
    l->count = l->capacity = 0;
    for (borg_token *t = list; t->kind != BORG_TOKEN_END; ++t) {
        if (!is_text(t, "defined")) {
            expand(l, t, t->loc, 0);
            continue;
        }
        bool paren = is_text(t + 1, "(");
        borg_token *name = t + 1 + paren;
        if (name->kind != BORG_TOKEN_NAME || (paren && !is_text(name + 1, ")"))) {
            complain(l, loc, "defined needs a name");
            break;
        }
        macro *m = find_macro(l, name->text);
        borg_token value = {.kind = BORG_TOKEN_INT, .loc = loc, .integer = m && m->defined};
        push(l, &value);
        t = name + paren;
    }
    borg_token end = {.loc = loc};
    push(l, &end);
    int64_t value;
    if (!borg_condition(l->out, &value))
        complain(l, loc, "expected an integer constant expression after #if");
    l->out = saved;
    l->count = count;
    l->capacity = capacity;
    return value != 0;
}

/* ---- directives ------------------------------------------------------------------------------ */

static bool live(const lexer *l) {
    for (int i = 0; i < l->depth; ++i)
        if (!l->stack[i].live) return false;
    return true;
}

static void open_conditional(lexer *l, const char *word, borg_loc loc) {
    if (l->depth == MAX_CONDITIONALS) {
        complain(l, loc, "conditionals are nested too deeply");
        l->at = l->end;
        return;
    }
    bool outer = live(l), holds = false;
    borg_token *list = rest_of_line(l);
    if (outer && strcmp(word, "if") == 0) {
        holds = evaluate_condition(l, list, loc);
    } else if (outer && list->kind != BORG_TOKEN_NAME) {
        complain(l, loc, "expected the name of a macro");
    } else if (outer) {
        macro *m = find_macro(l, list->text);
        holds = (m && m->defined) == (strcmp(word, "ifdef") == 0);
    }
    l->stack[l->depth++] = (conditional){.taken = holds || !outer, .live = holds, .loc = loc};
}

static void next_conditional(lexer *l, const char *word, borg_loc loc) {
    if (l->depth == l->outer_depth) {
        complain(l, loc, "there is no #if to this");
        return;
    }
    conditional *c = &l->stack[l->depth - 1];
    borg_token *list = rest_of_line(l);
    if (strcmp(word, "endif") == 0) {
        --l->depth;
        return;
    }
    if (c->otherwise) complain(l, loc, "after #else there is only #endif");
    bool holds = strcmp(word, "else") == 0;
    c->otherwise = holds;
    c->live = false;
    if (c->taken) return;
    if (!holds) holds = evaluate_condition(l, list, loc);
    c->live = c->taken = holds;
}

static void define_directive(lexer *l, borg_loc loc) {
    borg_token name;
    if (!lex_token(l, &name, true) || name.kind != BORG_TOKEN_NAME) {
        complain(l, loc, "expected the name of a macro");
        return;
    }
    if (l->at < l->end && *l->at == '(') {
        name.loc.length += 1;
        complain(l, name.loc,
                 "macros with arguments are not in the language: use a helper function");
        rest_of_line(l);
        return;
    }
    define_macro(l, name.text, rest_of_line(l));
}

static void lex_text(lexer *l, const borg_text *source, int32_t file);

/* The name between quotes, behind the folder of the file at hand; NULL: there is none. */
static const char *included_path(lexer *l, borg_loc *loc) {
    skip_blanks(l, true);
    const char *start = l->at, *close = start;
    while (close < l->end && *close != '\n' && (*close != '"' || close == start)) ++close;
    if (start == l->end || *start != '"' || close == l->end || *close != '"' ||
        close == start + 1) {
        complain(l, *loc, "expected #include \"name\"");
        return NULL;
    }
    l->at = close + 1;
    *loc = here(l, start);
    const char *from = borg_text_of(l->diags, *loc)->file;
    const char *slash = from && start[1] != '/' ? strrchr(from, '/') : NULL;
    return borg_format(l->arena, "%.*s%.*s", slash ? (int)(slash + 1 - from) : 0, slash ? from : "",
                       (int)(close - start - 1), start + 1);
}

static void include_file(lexer *l, borg_loc loc, const char *path) {
    const char *reason = "there is nothing to read it with";
    borg_diags *d = l->diags;
    borg_text source = {.file = path};
    if (l->inside == MAX_INCLUDED) {
        complain(l, loc, "files include one another too deeply");
        return;
    }
    if (l->reader)
        source.text = l->reader->read(l->reader->self, l->arena, path, &source.length, &reason);
    if (!source.text) {
        borg_report(d, BORG_ERROR, loc, "cannot read %s: %s", path, reason);
        return;
    }
    d->included = borg_grow(l->arena, d->included, (size_t)d->nincluded + 1, &d->included_capacity,
                            sizeof *d->included);
    d->included[d->nincluded++] = source;
    lexer outer = *l;
    ++l->inside;
    lex_text(l, &source, d->nincluded);
    l->at = outer.at;
    l->end = outer.end;
    l->line_start = outer.line_start;
    l->line = outer.line;
    l->file = outer.file;
    l->inside = outer.inside;
    l->outer_depth = outer.outer_depth;
}

static void include_directive(lexer *l, borg_loc loc) {
    const char *path = included_path(l, &loc);
    rest_of_line(l);
    if (path) include_file(l, loc, path);
}

/* Text that a condition leaves out may be anything. */
static void skip_line(lexer *l) {
    while (l->at < l->end && *l->at != '\n') ++l->at;
}

static void directive(lexer *l, borg_loc loc) {
    borg_token word;
    if (!lex_token(l, &word, true)) return; /* "#" alone */
    loc = word.loc;
    const char *text = word.kind == BORG_TOKEN_NAME ? word.text : "";
    if (strcmp(text, "if") == 0 || strcmp(text, "ifdef") == 0 || strcmp(text, "ifndef") == 0) {
        open_conditional(l, text, loc);
    } else if (strcmp(text, "elif") == 0 || strcmp(text, "else") == 0 ||
               strcmp(text, "endif") == 0) {
        next_conditional(l, text, loc);
    } else if (!live(l)) {
        skip_line(l);
    } else if (strcmp(text, "define") == 0) {
        define_directive(l, loc);
    } else if (strcmp(text, "undef") == 0) {
        borg_token *list = rest_of_line(l);
        macro *m = list->kind == BORG_TOKEN_NAME ? find_macro(l, list->text) : NULL;
        if (m) m->defined = false;
    } else if (strcmp(text, "pragma") == 0) {
        borg_token t = {.kind = BORG_TOKEN_PRAGMA, .loc = loc};
        skip_blanks(l, true);
        const char *start = l->at;
        while (l->at < l->end && *l->at != '\n' && *l->at != '\r') ++l->at;
        t.text = borg_copy_text(l->arena, start, (size_t)(l->at - start));
        push(l, &t);
    } else if (strcmp(text, "error") == 0) {
        const char *start = l->at;
        skip_line(l);
        borg_report(l->diags, BORG_ERROR, loc, "#error%.*s", (int)(l->at - start), start);
    } else if (strcmp(text, "include") == 0) {
        include_directive(l, loc);
    } else if (strcmp(text, "line") == 0) {
        rest_of_line(l);
    } else {
        complain(l, loc, "no such directive");
        rest_of_line(l);
    }
}

static bool begins_line(const lexer *l, const char *at) {
    const char *p = l->line_start;
    while (p < at && (*p == ' ' || *p == '\t')) ++p;
    return p == at;
}

/* A file, which closes the conditionals that it opens. */
static void lex_text(lexer *l, const borg_text *source, int32_t file) {
    l->outer_depth = l->depth;
    l->at = l->line_start = source->text;
    l->end = source->text + source->length;
    l->line = 1;
    l->file = file;
    while (l->at < l->end && !l->full) {
        borg_token t;
        skip_blanks(l, false);
        if (l->at >= l->end) break;
        const char *start = l->at;
        if (*start == '#' && begins_line(l, start)) {
            ++l->at;
            directive(l, here(l, start));
        } else if (!live(l)) {
            skip_line(l);
        } else if (lex_token(l, &t, false)) {
            expand(l, &t, t.loc, 0);
        }
    }
    if (l->depth > l->outer_depth)
        complain(l, l->stack[l->depth - 1].loc, "this conditional has no #endif");
    l->depth = l->outer_depth;
}

static void define_option(lexer *l, const char *option) {
    const char *equals = strchr(option, '=');
    size_t length = equals ? (size_t)(equals - option) : strlen(option);
    bool good = length > 0 && letter(option[0]);
    for (size_t i = 0; i < length; ++i) good = good && (letter(option[i]) || digit(option[i]));
    if (!good) {
        borg_report(l->diags, BORG_ERROR, (borg_loc){0}, "-D %s: not the name of a macro", option);
        return;
    }
    const char *text = equals ? equals + 1 : "1";
    l->at = l->line_start = text;
    l->end = text + strlen(text);
    l->line = 1;
    borg_token *list = rest_of_line(l);
    for (borg_token *t = list; t->kind != BORG_TOKEN_END; ++t) t->loc = (borg_loc){0};
    define_macro(l, borg_copy_text(l->arena, option, length), list);
}

borg_token *borg_lex(borg_arena *arena, const char *const *defines, const borg_reader *reader,
                     borg_diags *diags) {
    lexer *l = BORG_NEW(arena, 1, lexer);
    l->arena = arena;
    l->diags = diags;
    l->reader = reader;
    for (; defines && *defines; ++defines) define_option(l, *defines);
    lex_text(l, &diags->source, 0);
    borg_token end = {.kind = BORG_TOKEN_END, .text = ""};
    l->at = l->end;
    end.loc = here(l, l->end);
    l->full = false;
    if (l->count == MAX_TOKENS) --l->count;
    push(l, &end);
    return l->out;
}
