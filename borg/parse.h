/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_PARSE_H
#define BORG_PARSE_H
/** Inside of the parser: its state, tokens and types (parse_token.c), expressions (parse_expr.c).
 */
#include "borg/ast.h"

enum { BORG_PARSE_NESTING = 200, BORG_PARSE_CHAIN = 500 };

typedef struct borg_parser {
    borg_arena *arena;
    borg_diags *diags;
    const borg_token *at;
    int depth;
    int32_t next_number;
    bool panic; /* an error was reported; silent until the next statement */
} borg_parser;

/** Report an error, unless one was reported for this statement; text: for the %s in the format. */
void borg_parse_complain(borg_parser *p, borg_loc loc, const char *format, const char *text);
bool borg_parse_is(const borg_parser *p, const char *text);
void borg_parse_advance(borg_parser *p);
bool borg_parse_accept(borg_parser *p, const char *text);
bool borg_parse_expect(borg_parser *p, const char *text);
/** Report an error and skip everything. Returns NULL. */
void *borg_parse_too_deep(borg_parser *p);

typedef struct borg_specifier {
    borg_ctype type;
    bool found, constant, local, global, kernel, restricted, in_memory;
    borg_loc loc, volatile_loc;
} borg_specifier;

/** Whether this is the name of a type, of the language or of another one. */
bool borg_parse_is_type(const borg_token *t);
borg_specifier borg_parse_specifiers(borg_parser *p);

borg_expr *borg_parse_expression(borg_parser *p);
borg_expr *borg_parse_initialiser(borg_parser *p);

#endif
