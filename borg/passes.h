/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_PASSES_H
#define BORG_PASSES_H
/** What happens to a module between the front end and a backend, in this order. Each pass keeps the
 *  meaning bit for bit (fma alone changes roundings, and is off in strict mode); the checker runs
 *  between any two of them when borg_options.verify is set. */
#include "borg/borg.h"

/** simplify.c: v simplified: an earlier value, or a new one put where the builder is, or v itself
 * if nothing better is known. NULL: it does nothing and can be removed. */
borg_inst *borg_simplify(borg_builder *b, borg_inst *v);
/** simplify_layout.c: the same for a layout operation. */
borg_inst *borg_simplify_layout(borg_builder *b, borg_inst *v);
bool borg_all_const(const borg_inst *v); /* operands */
/** Entries in the table of a constant of v's layout. */
int32_t borg_table_length(const borg_module *m, const borg_inst *v);
borg_inst *borg_constant_like(borg_builder *b, const borg_inst *v, uint64_t bits);
/** range.c: an unsigned interval that holds all lanes of an i32 or i64 value. False: none is
 * known. */
bool borg_known_range(const borg_module *m, const borg_inst *v, uint64_t *low, uint64_t *high);

/** pass_address.c: a number that is one for all lanes as a sum of such numbers, times constants:
 * `groups` times G0, and the rest. False: it is none, or has too many terms. */
enum { BORG_SUM_TERMS = 16 };
typedef struct borg_sum {
    int32_t n;
    borg_inst *value[BORG_SUM_TERMS];
    int64_t scale[BORG_SUM_TERMS], constant, groups;
} borg_sum;
bool borg_sum_of(const borg_module *m, borg_inst *v, borg_sum *sum);
/** The same: whether a row of v is a * group + b * wi + c. */
bool borg_counts_groups(const borg_module *m, borg_inst *v, int32_t row, int64_t *a, int64_t *b,
                        int64_t *c);

typedef void borg_pass_function(borg_module *m, const borg_options *options);

borg_pass_function borg_pass_mma;  /* MMA -> shuffles and FMA, unless the target has it */
borg_pass_function borg_pass_fold; /* constants, identities, layouts composed, masks simplified */
borg_pass_function borg_pass_cse;  /* common subexpressions, loads with no store between */
borg_pass_function borg_pass_dce;  /* unused values, loop values that never change */
borg_pass_function borg_pass_mask; /* selections that a later one makes unnecessary */
borg_pass_function borg_pass_address;  /* LOAD, STORE -> LOADA, STOREA where the index is affine */
borg_pass_function borg_pass_fma;      /* a*b + c with a product used once */
borg_pass_function borg_pass_flat;     /* elements side by side in place of groups (flat_lanes) */
borg_pass_function borg_pass_split;    /* values of k rows -> k values of one row */
borg_pass_function borg_pass_join;     /* stores side by side -> one of several rows */
borg_pass_function borg_pass_schedule; /* order by liveness, within stretches without stores */

typedef struct borg_pass {
    const char *name; /* --dump=NAME shows the module after it */
    borg_pass_function *run;
    bool needed; /* also with --optimise=0 */
} borg_pass;

/** The list above, ended by a NULL name; some passes occur several times. */
extern const borg_pass borg_passes[];
/** Run them all; false: the checker found an error. */
bool borg_run_passes(borg_module *m, const borg_options *options, borg_diags *diags);

/** order.c: the lane order that costs less on the machine; `pack` matters. The model is described
 * there. */
borg_order borg_choose_order(borg_module *m, const borg_machine *machine);
/** Cost of a module on a machine, in vector additions: instructions, permutes, gathers, spills. */
double borg_cost(borg_module *m, const borg_machine *machine);
/** Length of its code, in the same unit. */
double borg_code(borg_module *m, const borg_machine *machine);

/** pack.c: bytes of memory that a group reads and writes, each once where that can be told. */
double borg_bytes_of_group(borg_module *m);
/** pack.c: cycles of a processor for a group, where the module's packs go one after the other. */
double borg_cost_of_group(borg_module *m, const borg_machine *machine);
/** Whether its instructions take less time than its results wait for each other. */
bool borg_waits(borg_module *m, const borg_machine *machine);

/** group.c: print the values of work-items as InfRegs, grouped by interaction, reused by liveness;
 * as comments before the text form. */
void borg_print_groups(borg_module *m, borg_sink *sink);

/** pass_basic.c: replace every use of values by what `instead` (old->aux, NULL = itself) names. */
void borg_replace_uses(borg_module *m);

#endif
