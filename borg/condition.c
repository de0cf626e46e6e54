/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions of #if: constant expressions of tokens. A name that is no macro counts as 0. */
#include "borg/ast.h"
#include <string.h>

typedef struct condition {
    const borg_token *at;
    int depth;
    bool wrong;
} condition;

static int64_t condition_level(condition *c, int level);

static int64_t condition_atom(condition *c) {
    const borg_token *t = c->at;
    int64_t value = 0;
    if (++c->depth > 100 || t->kind == BORG_TOKEN_END) {
        c->wrong = true;
    } else if (t->kind == BORG_TOKEN_INT) {
        ++c->at;
        value = (int64_t)t->integer;
    } else if (t->kind == BORG_TOKEN_NAME) {
        ++c->at; /* a name that is no macro counts as 0 */
    } else if (t->kind == BORG_TOKEN_PUNCT && strchr("!-+~", t->text[0]) && !t->text[1]) {
        ++c->at;
        value = condition_atom(c);
        char op = t->text[0];
        value = op == '!'   ? !value
                : op == '-' ? (int64_t)(0 - (uint64_t)value)
                : op == '~' ? ~value
                            : value;
    } else if (t->kind == BORG_TOKEN_PUNCT && strcmp(t->text, "(") == 0) {
        ++c->at;
        value = condition_level(c, 0);
        if (c->at->kind == BORG_TOKEN_PUNCT && strcmp(c->at->text, ")") == 0) {
            ++c->at;
        } else {
            c->wrong = true;
        }
    } else {
        c->wrong = true;
    }
    --c->depth;
    return value;
}

static int64_t condition_level(condition *c, int level) {
    if (level > 9) return condition_atom(c);
    int64_t value = condition_level(c, level + 1);
    while (!c->wrong && c->at->kind == BORG_TOKEN_PUNCT &&
           borg_operator_level(c->at->text) == level) {
        const char *op = c->at++->text;
        int64_t left = value, right = condition_level(c, level + 1);
        if (!borg_operator_value(op, left, right, &value)) value = op[0] == '/' ? 0 : left;
    }
    return value;
}

bool borg_condition(const borg_token *tokens, int64_t *value) {
    condition c = {.at = tokens};
    *value = 0;
    if (tokens->kind == BORG_TOKEN_END) return false;
    *value = condition_level(&c, 0);
    return !c.wrong && c.at->kind == BORG_TOKEN_END;
}
