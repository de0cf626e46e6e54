/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_LOWER_LEAVES_H
#define BORG_LOWER_LEAVES_H
/** The parts of the lowering that take values, or only read the tree: none of them executes it, so
 * they need only core.h. */
#include "borg/lower/core.h"

/* ---- operator.c ---- */
borg_inst *borg_lower_convert(borg_lowerer *l, borg_inst *v, borg_ctype from, borg_ctype to);
/** text: the operator; only its first character counts. */
borg_inst *borg_lower_arithmetic(borg_lowerer *l, const char *text, borg_ctype type, borg_inst *x,
                                 borg_inst *y);
borg_inst *borg_lower_comparison(borg_lowerer *l, const borg_expr *e, borg_inst *x, borg_inst *y);
bool borg_lower_is_comparison(const char *text);

/* ---- builtin.c ---- */
borg_inst *borg_lower_builtin(borg_lowerer *l, const borg_expr *e, borg_inst *const *args);

/* ---- narrow.c: char, short, half ---- */
/** v as a value of a narrow type: an i32 or f32 that such a type has. */
borg_inst *borg_lower_narrow(borg_lowerer *l, borg_inst *v, borg_ctype from, borg_ctype to);
/** Between what a LOAD gives or a STORE takes (i32, zero-extended) and the value. */
borg_inst *borg_lower_of_memory(borg_lowerer *l, borg_inst *bits, borg_ctype type);
borg_inst *borg_lower_to_memory(borg_lowerer *l, borg_inst *v, borg_ctype type);

/* ---- complex.c: values of two rows ---- */
borg_inst *borg_lower_part(borg_lowerer *l, borg_inst *v, int32_t part); /* 0: real, 1: imaginary */
borg_inst *borg_lower_pair(borg_lowerer *l, borg_inst *re, borg_inst *im);
borg_inst *borg_lower_complex_product(borg_lowerer *l, borg_inst *x, borg_inst *y);
borg_inst *borg_lower_complex_quotient(borg_lowerer *l, borg_inst *x, borg_inst *y);
/** CMPLX, creal, cimag, conj, cabs, cabs1. */
borg_inst *borg_lower_complex(borg_lowerer *l, borg_builtin builtin, borg_inst *const *args);

/* ---- math.c ---- */
/** floor, exp, log, pow; y: pow's. */
borg_inst *borg_lower_math(borg_lowerer *l, borg_builtin which, borg_inst *x, borg_inst *y);

/* ---- local.c: __local arrays in registers ---- */
borg_inst *borg_lower_local_read(borg_lowerer *l, const borg_decl *d, borg_inst *index,
                                 borg_loc loc);
void borg_lower_local_write(borg_lowerer *l, const borg_decl *d, borg_inst *index, borg_inst *value,
                            borg_loc loc);

/* ---- counter.c: the counter of a loop over constants ---- */
typedef struct borg_counter {
    borg_lowerer *l;
    const borg_stmt *loop;
    const borg_decl *decl;
    int64_t value; /* in the turn that is looked at */
} borg_counter;
/** The one variable that the step of a `for` changes, before the first turn. False: there is none,
 * its first value is not constant, or the body changes what bounds and step are made of. */
bool borg_counter_find(borg_lowerer *l, const borg_stmt *s, borg_counter *k);
/** An integer expression in that turn; false: it is not constant. */
bool borg_counter_known(const borg_counter *k, const borg_expr *e, int64_t *value);
/** The counter's value in the next turn. */
bool borg_counter_next(const borg_counter *k, int64_t *value);
/** Iterations of a `for` over constants whose body does not change the counter; -1: not known. */
int64_t borg_lower_trips(borg_lowerer *l, const borg_stmt *s);

/* ---- vector.c: index sets of a loop (7.3.1) ---- */
/** The values of a counter, and where those sets of them end whose iterations can be executed
 *  together. */
typedef struct borg_index_sets {
    const borg_decl *counter;
    int64_t *values, last; /* last: behind the loop */
    int32_t *ends, count;
} borg_index_sets;
/** False: the loop cannot be run as vectors. */
bool borg_lower_index_sets(borg_lowerer *l, const borg_stmt *s, borg_index_sets *sets);

/* ---- roll.c: loops over constants that stay loops ---- */
/** Does this loop stay one? While a plan is made: no, but what it would need is noted. */
bool borg_lower_stays_loop(borg_lowerer *l, const borg_stmt *s);
/** Does the private array lie in memory, and with how many lanes? */
bool borg_lower_placed(const borg_lowerer *l, const borg_decl *d);
borg_spread borg_lower_placed_spread(const borg_lowerer *l, const borg_decl *d);
/** For the plan: an array is declared, an element read (-1: nobody knows which), or written. */
void borg_lower_note_array(borg_lowerer *l, const borg_decl *d);
void borg_lower_note_read(borg_lowerer *l, const borg_decl *d, int32_t element);
void borg_lower_note_write(borg_lowerer *l, const borg_decl *d, int32_t element,
                           borg_spread spread);

/* ---- scan.c: what a tree contains ---- */
typedef struct borg_contents {
    int32_t nodes;
    bool loops, jumps, calls;
} borg_contents;
void borg_scan_stmt(const borg_stmt *s, borg_contents *c);
void borg_scan_expr(const borg_expr *e, borg_contents *c);
/** By decl number, whether the variable is assigned in the loop's condition, body and, with_step,
 * step.
 */
bool *borg_lower_assigned(borg_lowerer *l, const borg_stmt *loop, bool with_step);
bool borg_lower_mentions(const borg_lowerer *l, const borg_expr *e, const borg_decl *d);

#endif
