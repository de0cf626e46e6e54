/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of cell programs: a recursive descent. Errors leave by a flag; the first is told. */
#include "sim/systolic/cells.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    borg_arena *arena;
    borg_diags *diags;
    cells_program *p;
    const char *text, *end, *at; /* at: the present token */
    size_t length;               /* of it; 0: the end */
    int32_t line;
    const char *line_begin;
    int32_t depth; /* of expressions */
    int32_t loops; /* that the present beat is in */
    bool values;   /* names are values of a cell, else integers */
    bool failed;
} parser;

/* ---- tokens: words, numbers, marks; a line's end is one -------------------------------------- */

static borg_loc here(const parser *s) {
    return (borg_loc){.line = s->line,
                      .column = (int32_t)(s->at - s->line_begin) + 1,
                      .length = s->length ? (int32_t)s->length : 1};
}

static void fail(parser *s, const char *what) {
    if (!s->failed) borg_report(s->diags, BORG_ERROR, here(s), "%s", what);
    s->failed = true;
    s->at = s->end;
    s->length = 0;
}

static void next(parser *s) {
    const char *at = s->at + s->length;
    if (s->length == 1 && *s->at == '\n') ++s->line, s->line_begin = at;
    while (at < s->end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    if (at < s->end && *at == '#')
        while (at < s->end && *at != '\n') ++at;
    s->at = at;
    s->length = at < s->end;
    if (at == s->end) return;
    if (isalpha((unsigned char)*at) || *at == '_') {
        while (at < s->end && (isalnum((unsigned char)*at) || *at == '_')) ++at;
    } else if (isdigit((unsigned char)*at)) {
        while (at < s->end && isdigit((unsigned char)*at)) ++at;
        if (at + 1 < s->end && *at == '.' && isdigit((unsigned char)at[1]))
            for (++at; at < s->end && isdigit((unsigned char)*at);) ++at;
    } else if (at + 1 < s->end &&
               (strchr("=!<>", *at) ? at[1] == '=' : *at == '.' && at[1] == '.')) {
        at += 2;
    } else {
        ++at;
    }
    s->length = (size_t)(at - s->at);
}

static bool is(const parser *s, const char *word) {
    return s->length == strlen(word) && memcmp(s->at, word, s->length) == 0;
}

static bool accept(parser *s, const char *word) {
    if (s->failed || !is(s, word)) return false;
    next(s);
    return true;
}

static void expect(parser *s, const char *word) {
    if (s->failed || accept(s, word)) return;
    fail(s, borg_format(s->arena, "expected '%s'", *word == '\n' ? "end of line" : word));
}

static void end_line(parser *s) {
    if (s->length && !s->failed) expect(s, "\n");
    while (accept(s, "\n")) {}
}

static const char *name(parser *s) {
    if (s->failed || !s->length || !(isalpha((unsigned char)*s->at) || *s->at == '_')) {
        fail(s, "expected a name");
        return "";
    }
    const char *text = borg_copy_text(s->arena, s->at, s->length);
    next(s);
    return text;
}

/* The number of a name in a list, which may grow by it. -1: it is not there. */
static int32_t number_of(parser *s, const char **list, int32_t *count, const char *text, bool add) {
    for (int32_t k = 0; k < *count; ++k)
        if (strcmp(list[k], text) == 0) return k;
    if (!add) return -1;
    if (*count == CELLS_MOST_NAMES) {
        fail(s, "too many names (32)");
        return 0;
    }
    list[*count] = text;
    return (*count)++;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static cells_expr *expression(parser *s, int rank);

static cells_expr *node(parser *s, cells_op op, cells_expr *x, cells_expr *y, borg_loc loc) {
    cells_expr *e = BORG_NEW(s->arena, 1, cells_expr);
    *e = (cells_expr){.op = op, .x = x, .y = y, .loc = loc};
    return e;
}

static cells_expr *primary(parser *s) {
    const borg_loc loc = here(s);
    cells_expr *e = node(s, CELLS_NUMBER, NULL, NULL, loc);
    if (accept(s, "(")) {
        e = expression(s, 0);
        expect(s, ")");
        return e;
    }
    if (accept(s, "-")) return node(s, CELLS_SUB, e, expression(s, 4), loc); /* 0 - x */
    if (is(s, "min") || is(s, "max")) {
        e->op = is(s, "min") ? CELLS_MIN : CELLS_MAX;
        next(s);
        expect(s, "(");
        e->x = expression(s, 0);
        expect(s, ",");
        e->y = expression(s, 0);
        expect(s, ")");
        return e;
    }
    if (s->length && isdigit((unsigned char)*s->at)) {
        e->number = strtod(borg_copy_text(s->arena, s->at, s->length), NULL);
        next(s);
        return e;
    }
    if (s->failed || !s->length || !(isalpha((unsigned char)*s->at) || *s->at == '_')) {
        fail(s, "expected an expression");
        return e;
    }
    e->op = CELLS_NAME;
    const char *text = borg_copy_text(s->arena, s->at, s->length);
    cells_program *p = s->p;
    e->name = s->values ? number_of(s, p->value, &p->nvalues, text, false)
                        : number_of(s, p->integer, &p->nintegers, text, false);
    if (e->name < 0) {
        fail(s,
             borg_format(s->arena, "'%s' is not %s", text,
                         s->values ? "a value of this cell" : "an integer: n, m, i, j, a loop's"));
        return e;
    }
    next(s);
    return e;
}

/* Operators by rank, the loosest first. */
static cells_expr *expression(parser *s, int rank) {
    static const struct {
        const char *text;
        cells_op op;
        int rank;
        bool integers; /* alone */
    } operators[] = {
        {"or", CELLS_OR, 0, true},  {"and", CELLS_AND, 1, true}, {"==", CELLS_EQ, 2, true},
        {"!=", CELLS_NE, 2, true},  {"<=", CELLS_LE, 2, true},   {">=", CELLS_GE, 2, true},
        {"<", CELLS_LT, 2, true},   {">", CELLS_GT, 2, true},    {"+", CELLS_ADD, 3, false},
        {"-", CELLS_SUB, 3, false}, {"*", CELLS_MUL, 4, false},  {"/", CELLS_DIV, 4, false}};
    enum { OPERATORS = sizeof operators / sizeof *operators, HIGHEST = 5, MOST_DEPTH = 500 };
    if (rank == HIGHEST) return primary(s);
    if (++s->depth > MOST_DEPTH) fail(s, "an expression is nested too deeply");
    cells_expr *e = expression(s, s->failed ? HIGHEST : rank + 1);
    --s->depth;
    for (int k = 0; k < OPERATORS && !s->failed;) {
        if (operators[k].rank != rank || !is(s, operators[k].text)) {
            ++k;
            continue;
        }
        const borg_loc loc = here(s);
        if (operators[k].integers && s->values) fail(s, "values are added, multiplied, divided");
        if (operators[k].op == CELLS_DIV && !s->values) fail(s, "integers are not divided");
        next(s);
        e = node(s, operators[k].op, e, expression(s, rank + 1), loc);
        k = 0;
    }
    return e;
}

static cells_expr *integer(parser *s) {
    s->values = false;
    return expression(s, 3);
}

static cells_expr *condition(parser *s) {
    s->values = false;
    return expression(s, 0);
}

static cells_expr *value(parser *s) {
    s->values = true;
    return expression(s, 0);
}

static cells_place place(parser *s, bool output) {
    cells_place p = {.loc = here(s), .array = -1};
    const char *text = name(s);
    for (int32_t k = 0; k < s->p->narrays; ++k)
        if (strcmp(s->p->array[k].name, text) == 0 && s->p->array[k].output == output) p.array = k;
    if (p.array < 0 && !s->failed) {
        borg_report(s->diags, BORG_ERROR, p.loc, "'%s' is no %s of the program", text,
                    output ? "output" : "input");
        s->failed = true;
    }
    for (int k = 0; k < 2 && !s->failed && (k == 0 || s->p->array[p.array].size[1]); ++k) {
        expect(s, "[");
        p.index[k] = integer(s);
        expect(s, "]");
    }
    return p;
}

/* for NAME = FROM .. TO, behind the word `for`. */
static cells_range range(parser *s) {
    cells_range r;
    const char *text = name(s);
    r.name = number_of(s, s->p->integer, &s->p->nintegers, text, true);
    if (r.name <= CELLS_J) fail(s, "n, m, i and j are no loop's names");
    expect(s, "=");
    r.from = integer(s);
    expect(s, "..");
    r.to = integer(s);
    return r;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void arrays(parser *s, bool output) {
    do {
        if (s->p->narrays == CELLS_MOST_NAMES) fail(s, "too many arrays (32)");
        if (s->failed) return;
        cells_array *a = &s->p->array[s->p->narrays];
        a->name = name(s);
        a->output = output;
        for (int k = 0; k < 2 && (k == 0 || is(s, "[")); ++k) {
            expect(s, "[");
            a->size[k] = integer(s);
            expect(s, "]");
        }
        ++s->p->narrays;
    } while (accept(s, ","));
}

static int32_t new_value(parser *s) {
    return number_of(s, s->p->value, &s->p->nvalues, name(s), true);
}

static void load(parser *s, cells_load ***last) {
    cells_load *l = BORG_NEW(s->arena, 1, cells_load);
    l->value = new_value(s);
    s->p->kept |= 1u << l->value;
    expect(s, "=");
    l->from = place(s, false);
    if (accept(s, "when")) l->when = condition(s);
    **last = l;
    *last = &l->next;
}

static void feed(parser *s, cells_feed ***last) {
    cells_feed *f = BORG_NEW(s->arena, 1, cells_feed);
    f->range.name = -1;
    f->top = accept(s, "top");
    if (!f->top) expect(s, "left");
    /* a range stands behind what uses it: its name is known from here on */
    for (const char *at = s->at; at < s->end && *at != '\n' && !s->failed; ++at) {
        if (strncmp(at, " for ", 5) != 0) continue;
        parser ahead = *s;
        ahead.at = at, ahead.length = 0;
        next(&ahead);
        next(&ahead);
        f->range = range(&ahead);
        s->failed |= ahead.failed;
        break;
    }
    f->from = place(s, false);
    expect(s, "at");
    f->at = integer(s);
    if (accept(s, "for")) f->range = range(s);
    if (accept(s, "when")) f->when = condition(s);
    **last = f;
    *last = &f->next;
}

static void clauses(parser *s, cells_beat *beat) {
    cells_clause **last = &beat->clause;
    bool used[2][2] = {{false}};
    do {
        const bool take = is(s, "take"), send = is(s, "send"), set = is(s, "set");
        if (!take && !send && !set && !is(s, "let") && !is(s, "keep")) {
            fail(s, "expected take, let, set, send, keep, for, end or cell");
            return;
        }
        const bool keep = is(s, "keep");
        next(s);
        do {
            cells_clause *c = BORG_NEW(s->arena, 1, cells_clause);
            *c = (cells_clause){.verb = take   ? CELLS_TAKE
                                        : send ? CELLS_SEND
                                        : keep ? CELLS_KEEP
                                               : CELLS_LET,
                                .loc = here(s)};
            if (take || send) {
                c->down = accept(s, take ? "up" : "down");
                if (!c->down) expect(s, take ? "left" : "right");
                if (used[send][c->down]) fail(s, "a link is used twice in a cycle");
                used[send][c->down] = true;
            }
            if (keep) c->place = place(s, true);
            if (take || !(send || keep)) c->value = new_value(s);
            if (set) s->p->kept |= 1u << c->value;
            if (!take && !send) expect(s, "=");
            if (!take) c->expr = value(s);
            *last = c;
            last = &c->next;
        } while (accept(s, ","));
    } while (accept(s, ";"));
}

static cells_beat *beats(parser *s, bool inside) {
    cells_beat *first = NULL, **last = &first;
    while (!s->failed && s->length && !is(s, "cell") && !is(s, "end")) {
        cells_beat *b = BORG_NEW(s->arena, 1, cells_beat);
        if (accept(s, "for")) {
            cells_clause *c = b->clause = BORG_NEW(s->arena, 1, cells_clause);
            *c = (cells_clause){.verb = CELLS_FOR, .loc = here(s)};
            c->range = range(s);
            end_line(s);
            if (++s->loops > CELLS_MOST_LOOPS) fail(s, "loops are nested too deeply (4)");
            c->body = beats(s, true);
            --s->loops;
            if (!s->failed && !accept(s, "end")) fail(s, "expected 'end' of the loop");
        } else {
            clauses(s, b);
        }
        end_line(s);
        *last = b;
        last = &b->next;
    }
    if (!inside && is(s, "end")) fail(s, "there is no loop to end");
    return first;
}

static void cell(parser *s, cells_kind ***last) {
    cells_kind *k = BORG_NEW(s->arena, 1, cells_kind);
    k->loc = here(s);
    k->when = condition(s);
    if (accept(s, "start")) k->start = integer(s);
    end_line(s);
    k->beat = beats(s, false);
    **last = k;
    *last = &k->next;
}

cells_program *cells_parse(borg_arena *arena, const char *text, size_t length, borg_diags *diags) {
    cells_program *p = BORG_NEW(arena, 1, cells_program);
    parser s = {.arena = arena,
                .diags = diags,
                .p = p,
                .text = text,
                .end = text + length,
                .at = text,
                .line = 1,
                .line_begin = text};
    static const char *const known[] = {"n", "m", "i", "j"};
    for (int k = 0; k < 4; ++k) p->integer[p->nintegers++] = known[k];
    p->diags = diags;
    cells_load **loads = &p->load;
    cells_feed **feeds = &p->feed;
    cells_kind **kinds = &p->kind;
    next(&s);
    while (accept(&s, "\n")) {}
    expect(&s, "program");
    p->name = name(&s);
    end_line(&s);
    while (s.length && !s.failed) {
        if (accept(&s, "mesh")) {
            p->rows = integer(&s);
            expect(&s, ",");
            p->columns = integer(&s);
        } else if (accept(&s, "input")) {
            arrays(&s, false);
        } else if (accept(&s, "output")) {
            arrays(&s, true);
        } else if (accept(&s, "load")) {
            load(&s, &loads);
        } else if (accept(&s, "feed")) {
            feed(&s, &feeds);
        } else if (accept(&s, "cell")) {
            cell(&s, &kinds);
            continue;
        } else {
            fail(&s, "expected mesh, input, output, load, feed or cell");
        }
        end_line(&s);
    }
    if (!s.failed && (!p->rows || !p->kind))
        fail(&s, p->rows ? "there is no cell" : "there is no mesh");
    return s.failed ? NULL : p;
}
