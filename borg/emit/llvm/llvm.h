/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_LLVM_H
#define BORG_EMIT_LLVM_H
/** LLVM IR as text, with opaque pointers (LLVM 15 and later; thesis of 2021, section 7.3.4). A row
 * of an InfReg is one vector of all its lanes in the module's order, or a scalar if it has one
 * lane; LLVM cuts the vectors into registers. */
#include "borg/borg.h"

typedef struct ll {
    borg_sink *out;
    borg_arena *arena;
    borg_module *m;
    const char **declared; /* intrinsics */
    size_t ndeclared, capacity;
    const char *function; /* that is written, its unit's name */
    const char *label;    /* of the basic block that is written */
    int32_t temps, labels;
} ll;

/* ---- words.c ---- */
int32_t ll_lanes(const ll *e, const borg_inst *v); /* of a row */
const char *ll_get(const borg_inst *v, int32_t row);
void ll_name(ll *e, borg_inst *v, int32_t row, const char *name);
/** "<8 x double>", "double" for one lane. */
const char *ll_type(ll *e, borg_type type, int32_t lanes);
/** An instruction: "%t = " and the text; its name. */
const char *ll_let(ll *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ll_line(ll *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** A constant vector, or scalar. */
const char *ll_constant(ll *e, borg_type type, const uint64_t *bits, int32_t lanes);
const char *ll_splat(ll *e, borg_type type, uint64_t bits, int32_t lanes);
/** The intrinsic's name, "@llvm.NAME.v8f64", declared once: `result` and `arguments` are types. */
const char *ll_intrinsic(ll *e, const char *name, borg_type type, int32_t lanes, const char *result,
                         const char *arguments);
/** Lane i of the result is lane from[i] of x; numbers beyond x's lanes are y's; i < 0: any value.
 *  */
const char *ll_shuffle(ll *e, borg_type type, const char *x, const char *y, int32_t lanes,
                       const int32_t *from, int32_t count);
/** One value for all lanes. */
const char *ll_spread(ll *e, borg_type type, const char *scalar, int32_t lanes);
/** Row `row` of v, widened to the spread WI. */
const char *ll_widen(ll *e, const borg_inst *v, int32_t row, borg_spread spread);
/** Number of lane (w, g) in a row of `size` work-items. */
int32_t ll_number(const ll *e, int32_t w, int32_t g, int32_t size);
int32_t ll_items(const ll *e, borg_spread spread);
int32_t ll_groups(const ll *e, borg_spread spread);

/* ---- elem.c, memory.c ---- */
void ll_elem(ll *e, borg_inst *v);
void ll_layout(ll *e, borg_inst *v);
void ll_reduce(ll *e, borg_inst *v);
void ll_memory(ll *e, borg_inst *v);

#endif
