/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of vrPTX, and names that are known. */
#include "sim/vector/lex.h"
#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static char peek(const vr_lexer *x, size_t more) {
    return x->at + more < x->length ? x->text[x->at + more] : '\0';
}

static void step(vr_lexer *x) {
    if (x->text[x->at++] != '\n') return;
    ++x->line;
    x->line_start = x->at;
}

/* Blanks and comments. */
static void skip(vr_lexer *x) {
    while (x->at < x->length) {
        char c = peek(x, 0);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            step(x);
        } else if (c == '/' && peek(x, 1) == '/') {
            while (x->at < x->length && peek(x, 0) != '\n') step(x);
        } else if (c == '/' && peek(x, 1) == '*') {
            step(x), step(x);
            while (x->at < x->length && !(peek(x, 0) == '*' && peek(x, 1) == '/')) step(x);
            if (x->at < x->length) step(x), step(x);
        } else {
            return;
        }
    }
}

/* A number ends where no letter, digit, point or sign of an exponent follows. */
static void take_number(vr_lexer *x) {
    bool bits = peek(x, 0) == '0' && (peek(x, 1) == 'x' || peek(x, 1) == 'd' || peek(x, 1) == 'f');
    for (;; ++x->at) {
        char c = peek(x, 0), before = x->text[x->at ? x->at - 1 : 0];
        bool sign = (c == '+' || c == '-') && !bits && (before == 'e' || before == 'E');
        if (!is_letter(c) && !is_digit(c) && c != '.' && !sign) return;
    }
}

vr_token vr_next(vr_lexer *x) {
    skip(x);
    vr_token t = {.word = VR_END, .text = x->text + x->at};
    t.loc = (borg_loc){.line = x->line, .column = (int32_t)(x->at - x->line_start) + 1};
    size_t start = x->at;
    if (x->at >= x->length) return t;
    char c = peek(x, 0);
    bool marked = c == '.' || c == '%' || c == '$';
    if (is_digit(c)) {
        t.word = VR_NUMBER;
        take_number(x);
    } else if (is_letter(c) || (marked && (is_letter(peek(x, 1)) || is_digit(peek(x, 1))))) {
        t.word = c == '.' ? VR_DOT : c == '%' ? VR_PERCENT : c == '$' ? VR_DOLLAR : VR_NAME;
        if (marked) ++x->at;
        while (is_letter(peek(x, 0)) || is_digit(peek(x, 0))) ++x->at;
    } else {
        t.word = c && strchr("(){}[],;:@!+-<>=", c) ? VR_SIGN : VR_WRONG;
        ++x->at;
    }
    t.length = t.loc.length = (int32_t)(x->at - start);
    return t;
}

bool vr_is(const vr_token *t, const char *text) {
    return (size_t)t->length == strlen(text) && memcmp(t->text, text, (size_t)t->length) == 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t hash(const char *name, size_t length) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < length; ++i) h = (h ^ (unsigned char)name[i]) * 1099511628211u;
    return (size_t)(h ^ h >> 29);
}

static vr_symbol *place(const vr_names *n, const char *name, size_t length) {
    size_t at = hash(name, length) & (n->capacity - 1);
    while (n->slots[at].name &&
           (strlen(n->slots[at].name) != length || memcmp(n->slots[at].name, name, length) != 0))
        at = (at + 1) & (n->capacity - 1);
    return &n->slots[at];
}

const vr_symbol *vr_look_up(const vr_names *n, const char *name, size_t length) {
    if (!n->capacity) return NULL;
    const vr_symbol *s = place(n, name, length);
    return s->name ? s : NULL;
}

void vr_add_name(vr_names *n, const char *name, vr_symbol_kind kind, int32_t at) {
    if (2 * (n->count + 1) > n->capacity) {
        vr_names bigger = {.arena = n->arena, .capacity = n->capacity ? 2 * n->capacity : 64};
        bigger.slots = BORG_NEW(n->arena, bigger.capacity, vr_symbol);
        for (size_t i = 0; i < n->capacity; ++i)
            if (n->slots[i].name)
                *place(&bigger, n->slots[i].name, strlen(n->slots[i].name)) = n->slots[i];
        bigger.count = n->count;
        *n = bigger;
    }
    *place(n, name, strlen(name)) = (vr_symbol){name, kind, at};
    ++n->count;
}
