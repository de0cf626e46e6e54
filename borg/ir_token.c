/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens of the text form of InfReg-IR. */
#include "borg/ir_reader.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

borg_loc borg_ir_place(const borg_ir_reader *r) {
    return (borg_loc){r->line, (int32_t)(r->start - r->line_start) + 1, (int32_t)r->length, 0};
}

bool borg_ir_fail(borg_ir_reader *r, const char *reason) {
    if (!r->failed) borg_report(r->diags, BORG_ERROR, borg_ir_place(r), "%s", reason);
    r->failed = true;
    r->kind = BORG_IR_END;
    return false;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

void borg_ir_skip_blanks(borg_ir_reader *r) {
    for (; r->at < r->end; ++r->at) {
        if (*r->at == ';') {
            while (r->at < r->end && *r->at != '\n') ++r->at;
            if (r->at == r->end) return;
        }
        if (*r->at == '\n') {
            ++r->line;
            r->line_start = r->at + 1;
        } else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r') {
            return;
        }
    }
}

void borg_ir_advance(borg_ir_reader *r) {
    if (r->failed) return;
    borg_ir_skip_blanks(r);
    r->start = r->at;
    r->length = 0;
    r->kind = BORG_IR_END;
    if (r->at == r->end) return;
    char c = *r->at++;
    r->kind = BORG_IR_PUNCT;
    if (c == '%' || c == '@' || c == '!') {
        while (r->at < r->end && is_word(*r->at)) ++r->at;
        r->kind = c == '%' ? BORG_IR_VALUE : c == '@' ? BORG_IR_GLOBAL : BORG_IR_PUNCT;
    } else if (is_word(c) || c == '-' || c == '+') {
        while (r->at < r->end && (is_word(*r->at) || ((*r->at == '-' || *r->at == '+') &&
                                                      (r->at[-1] == 'e' || r->at[-1] == 'E'))))
            ++r->at;
        r->kind = (c >= '0' && c <= '9') || c == '-' || c == '+' ? BORG_IR_NUMBER : BORG_IR_WORD;
    }
    r->length = (size_t)(r->at - r->start);
    if (r->kind == BORG_IR_VALUE) {
        r->number = 0;
        for (size_t i = 1; i < r->length; ++i) {
            if (r->start[i] < '0' || r->start[i] > '9' || r->length > 10) {
                borg_ir_fail(r, "a value is % and a number");
                return;
            }
            r->number = r->number * 10 + (r->start[i] - '0');
        }
        if (r->length == 1) borg_ir_fail(r, "a value is % and a number");
    }
}

bool borg_ir_is(const borg_ir_reader *r, const char *text) {
    return r->kind != BORG_IR_END && strlen(text) == r->length &&
           memcmp(r->start, text, r->length) == 0;
}

bool borg_ir_accept(borg_ir_reader *r, const char *text) {
    if (!borg_ir_is(r, text)) return false;
    borg_ir_advance(r);
    return true;
}

bool borg_ir_expect(borg_ir_reader *r, const char *text) {
    if (borg_ir_accept(r, text)) return true;
    return borg_ir_fail(r, borg_format(r->arena, "expected '%s'", text));
}

char *borg_ir_take_text(borg_ir_reader *r) {
    char *text = borg_copy_text(r->arena, r->start, r->length);
    borg_ir_advance(r);
    return text;
}

char *borg_ir_take_name(borg_ir_reader *r, borg_ir_kind kind) {
    size_t skip = kind == BORG_IR_GLOBAL;
    if (r->kind != kind || r->length == skip) {
        borg_ir_fail(r, kind == BORG_IR_GLOBAL ? "expected @ and a name" : "expected a word");
        return "";
    }
    return borg_ir_take_text(r) + skip;
}

int64_t borg_ir_take_int(borg_ir_reader *r, int64_t low, int64_t high) {
    if (r->kind != BORG_IR_NUMBER) {
        borg_ir_fail(r, "expected an integer");
        return low;
    }
    char *copy = borg_copy_text(r->arena, r->start, r->length), *rest;
    errno = 0;
    long long value = strtoll(copy, &rest, 10);
    if (*rest || errno || value < low || value > high) {
        borg_ir_fail(
            r, borg_format(r->arena, "expected an integer in %" PRId64 " .. %" PRId64, low, high));
        return low;
    }
    borg_ir_advance(r);
    return value;
}
