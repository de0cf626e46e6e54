/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_SYSTOLIC_CELLS_H
#define SIM_SYSTOLIC_CELLS_H
/** Programs of the cells of a systolic array, from text: docs/guide/accelerators.md has the
 *  language. */
#include "borg/arena.h"
#include "borg/diag.h"

typedef enum cells_op {
    CELLS_NUMBER,
    CELLS_NAME, /* of an integer (n m i j, a loop's), or of a value of the cell */
    CELLS_ADD,
    CELLS_SUB,
    CELLS_MUL,
    CELLS_DIV,
    CELLS_MIN,
    CELLS_MAX,
    CELLS_EQ,
    CELLS_NE,
    CELLS_LT,
    CELLS_LE,
    CELLS_GT,
    CELLS_GE,
    CELLS_AND,
    CELLS_OR
} cells_op;

typedef struct cells_expr {
    cells_op op;
    double number;
    int32_t name; /* number of the name, see cells_program.integer and .value */
    struct cells_expr *x, *y;
    borg_loc loc;
} cells_expr;

/** An array that goes in or comes out: n x m for dimensions of the program's parameters. */
typedef struct cells_array {
    const char *name;
    cells_expr *size[2]; /* size[1] NULL: a vector */
    bool output;
} cells_array;

/** An element of an array. */
typedef struct cells_place {
    int32_t array;
    cells_expr *index[2];
    borg_loc loc;
} cells_place;

typedef struct cells_range {
    int32_t name; /* an integer's; -1: no range, once */
    cells_expr *from, *to;
} cells_range;

typedef struct cells_load {
    int32_t value; /* the register */
    cells_place from;
    cells_expr *when; /* NULL: always */
    struct cells_load *next;
} cells_load;

typedef struct cells_feed {
    bool top; /* else left */
    cells_place from;
    cells_expr *at, *when;
    cells_range range;
    struct cells_feed *next;
} cells_feed;

/** One clause of a beat, or a loop. */
typedef enum cells_verb { CELLS_TAKE, CELLS_LET, CELLS_SEND, CELLS_KEEP, CELLS_FOR } cells_verb;

typedef struct cells_clause {
    cells_verb verb;
    bool down;               /* TAKE: up, else left; SEND: down, else right */
    int32_t value;           /* TAKE, LET: the value that is set */
    cells_expr *expr;        /* LET, SEND, KEEP */
    cells_place place;       /* KEEP */
    cells_range range;       /* FOR */
    struct cells_beat *body; /* FOR */
    borg_loc loc;
    struct cells_clause *next;
} cells_clause;

/** What a cell does in a cycle, or a loop of beats (its only clause is a FOR). */
typedef struct cells_beat {
    cells_clause *clause;
    struct cells_beat *next;
} cells_beat;

typedef struct cells_kind {
    cells_expr *when, *start; /* start NULL: 1 */
    cells_beat *beat;
    borg_loc loc;
    struct cells_kind *next;
} cells_kind;

enum { CELLS_MOST_NAMES = 32, CELLS_MOST_LOOPS = 4, CELLS_N = 0, CELLS_M, CELLS_I, CELLS_J };

typedef struct cells_program {
    const char *name;
    cells_expr *rows, *columns;
    cells_array array[CELLS_MOST_NAMES];
    int32_t narrays;
    const char *integer[CELLS_MOST_NAMES], *value[CELLS_MOST_NAMES];
    int32_t nintegers, nvalues;
    uint32_t kept; /* by value, a bit: a register, set by `set` or `load` */
    cells_load *load;
    cells_feed *feed;
    cells_kind *kind;
    borg_diags *diags;
} cells_program;

/** Parse a program; diags.source is the text. NULL: messages with line and caret. */
cells_program *cells_parse(borg_arena *arena, const char *text, size_t length, borg_diags *diags);

#endif
