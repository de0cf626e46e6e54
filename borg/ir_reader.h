/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_IR_READER_H
#define BORG_IR_READER_H
/** Inside of the reader of InfReg-IR's text form: its state and its tokens (ir_token.c). After an
 * error it reads nothing more. */
#include "borg/ir.h"

typedef enum borg_ir_kind {
    BORG_IR_END,
    BORG_IR_WORD,
    BORG_IR_VALUE,
    BORG_IR_GLOBAL,
    BORG_IR_NUMBER,
    BORG_IR_PUNCT
} borg_ir_kind;

typedef struct borg_ir_entry { /* %id -> instruction */
    int64_t id;
    borg_inst *inst;
} borg_ir_entry;

typedef struct borg_ir_reader {
    borg_arena *arena;
    borg_diags *diags;
    const char *text, *end, *at; /* at: behind the current token */
    borg_ir_kind kind;
    const char *start;
    size_t length;
    const char *line_start;
    int32_t line;
    int64_t number; /* BORG_IR_VALUE */
    bool failed;
    borg_builder b;
    borg_ir_entry *table; /* open hash, a power of two */
    size_t capacity, count;
    int depth;
} borg_ir_reader;

/** Where the token at hand stands. */
borg_loc borg_ir_place(const borg_ir_reader *r);
/** An error, once. False. */
bool borg_ir_fail(borg_ir_reader *r, const char *reason);
void borg_ir_skip_blanks(borg_ir_reader *r);
/** Go to the next token; skip_blanks: to where it begins. */
void borg_ir_advance(borg_ir_reader *r);
/** is: is the token this text? accept: if so, pass it. expect: pass it, or report an error. */
bool borg_ir_is(const borg_ir_reader *r, const char *text);
bool borg_ir_accept(borg_ir_reader *r, const char *text);
bool borg_ir_expect(borg_ir_reader *r, const char *text);
/** Take the token's text and go on; of a kind, of a number in a range: otherwise an error. */
char *borg_ir_take_text(borg_ir_reader *r);
char *borg_ir_take_name(borg_ir_reader *r, borg_ir_kind kind);
int64_t borg_ir_take_int(borg_ir_reader *r, int64_t low, int64_t high);

#endif
