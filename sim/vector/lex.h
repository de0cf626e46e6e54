/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_LEX_H
#define SIM_VECTOR_LEX_H
/** Words of vrPTX, and names that are known. */
#include "sim/vector/vrptx.h"

typedef enum vr_word {
    VR_END,
    VR_NAME,    /* letters, digits, _; begins with a letter or _ */
    VR_DOT,     /* .word */
    VR_PERCENT, /* %word */
    VR_DOLLAR,  /* $word */
    VR_NUMBER,  /* as it stands, without a sign */
    VR_SIGN,    /* one character: ( ) { } [ ] , ; : @ ! + - < > = */
    VR_WRONG    /* a byte that begins nothing */
} vr_word;

typedef struct vr_token {
    vr_word word;
    const char *text; /* in the source */
    int32_t length;
    borg_loc loc;
} vr_token;

typedef struct vr_lexer {
    const char *text;
    size_t length, at;
    int32_t line;
    size_t line_start;
} vr_lexer;

vr_token vr_next(vr_lexer *lexer);
bool vr_is(const vr_token *token, const char *text);

/** Names in a table that grows. */
typedef struct vr_names {
    borg_arena *arena;
    struct vr_symbol *slots;
    size_t capacity, count;
} vr_names;

typedef enum vr_symbol_kind {
    VR_OF_REGISTER = 1,
    VR_OF_PARAM,
    VR_OF_SHARED,
    VR_OF_CONST,
    VR_OF_LABEL
} vr_symbol_kind;

typedef struct vr_symbol {
    const char *name; /* NULL: free */
    vr_symbol_kind kind;
    int32_t at;
} vr_symbol;

const vr_symbol *vr_look_up(const vr_names *names, const char *name, size_t length);
/** Add a name that is not there yet; it must end in NUL and live as long. */
void vr_add_name(vr_names *names, const char *name, vr_symbol_kind kind, int32_t at);

#endif
