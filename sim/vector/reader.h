/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_READER_H
#define SIM_VECTOR_READER_H
/** The assembler at work: its place in the text, for declare.c and assemble.c. */
#include "sim/vector/lex.h"

typedef struct vr_reader {
    vr_lexer lexer;
    vr_token now;
    vr_program *p;
    borg_arena *arena;
    borg_diags *diags;
    vr_names names, constants;
    struct fixup *fixups; /* names of labels of branches */
    int32_t nfixups;
    size_t fixup_room;
} vr_reader;

typedef struct fixup {
    int32_t inst;
    vr_token name;
} fixup;

/** A message at a place; false. */
bool vr_wrong(vr_reader *r, borg_loc loc, const char *reason);
/** The same at the word that is there, or the end. */
bool vr_wrong_word(vr_reader *r, const char *reason);
void vr_advance(vr_reader *r);
/** Is this the word that is there? Then go on. */
bool vr_accept(vr_reader *r, const char *text);
bool vr_expect(vr_reader *r, const char *text);
char *vr_copy(vr_reader *r, const vr_token *token);
bool vr_take_type(vr_reader *r, vr_type *type);
/** A literal with its sign as bits of the type. */
bool vr_take_literal(vr_reader *r, vr_type type, uint64_t *bits);
/** A new name of `kind`, the number `at`; NULL after a message. */
const char *vr_new_name(vr_reader *r, vr_word word, const char *what, vr_symbol_kind kind,
                        int32_t at);
/** What stands behind .reg; .shared or .const; a parameter. */
bool vr_take_registers(vr_reader *r);
bool vr_take_array(vr_reader *r, bool shared);
bool vr_take_param(vr_reader *r);

#endif
