/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_DIAG_H
#define BORG_DIAG_H
/** Messages: each with place, reason and, when printed, the source line and a caret. */
#include "borg/arena.h"

typedef enum borg_severity { BORG_NOTE, BORG_WARNING, BORG_ERROR } borg_severity;

/** A place in a source; line and column count from 1, line 0 = no place. */
typedef struct borg_loc {
    int32_t line, column, length;
    int32_t file; /* 0: the main one; i: diags.included[i - 1] */
} borg_loc;

typedef struct borg_text {
    const char *file; /* name for the messages */
    const char *text; /* the text that locs point into; NULL = no lines are shown */
    size_t length;    /* bytes */
} borg_text;

typedef struct borg_diag {
    struct borg_diag *next;
    borg_severity severity;
    borg_loc loc;
    char *message;
} borg_diag;

typedef struct borg_diags {
    borg_arena *arena;
    borg_text source;    /* the main file */
    borg_text *included; /* what it includes, in order of discovery */
    int32_t nincluded;
    size_t included_capacity;
    borg_diag *first, *last;  /* in order of discovery */
    int32_t errors, warnings; /* counts */
    int32_t limit;            /* errors kept; further ones are only counted; 0 = 50 */
} borg_diags;

/** Record a message; the same message at the same place only once. */
void borg_report(borg_diags *diags, borg_severity severity, borg_loc loc, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/** The file of a place. */
const borg_text *borg_text_of(const borg_diags *diags, borg_loc loc);
/** All messages, sorted by place, as text: `file:line:col: error: reason`, the line, the caret. */
void borg_diags_print(const borg_diags *diags, borg_sink *sink);

#endif
