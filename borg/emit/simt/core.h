/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMT_CORE_H
#define BORG_EMIT_SIMT_CORE_H
/** What all parts of the SIMT emission are built on: its state, the scalars of values, constants.
 *  */
#include "borg/emit/ctext.h"
#include "borg/emit/simt/simt.h"

/** Where the threads of a group read in shared memory, relative to the first thread. */
typedef struct simt_places {
    borg_type type;
    int32_t *offset; /* [lanes] */
    struct simt_places *next;
    int32_t number;
} simt_places;

/** A table of integers, one for each thread of a group, relative to the first. */
typedef struct simt_table {
    int32_t *more, number;
    struct simt_table *next;
} simt_table;

/** A pointer that several accesses to memory share. */
typedef struct simt_pointer {
    const char *text, *name;
    struct simt_pointer *next;
} simt_pointer;

/* Places in arrays in memory by thread, in bytes: local.c. */
typedef struct simt_held {
    uint64_t *bits;
    int32_t pitch, number; /* pitch: from group to group, 0 where a block is one */
    struct simt_held *next;
} simt_held;

typedef struct simt {
    ctext c;
    const simt_target *target;
    const borg_options *options;
    borg_sink *head; /* the tables before the kernel */
    borg_arena *arena;
    borg_module *m;
    const char *name;
    int32_t lanes, rows;              /* threads of a group, work-items of a thread */
    int32_t step;                     /* from one thread of a group to its next */
    int32_t units;                    /* packs in a warp; 0: a pack fills several warps */
    int32_t threads;                  /* of a block */
    int32_t groups;                   /* that a block does */
    int32_t slots[BORG_PTR];          /* in use, for each type */
    int32_t stride[BORG_PTR];         /* elements from work-item to work-item */
    int32_t *last, now;               /* of each value its last use; number of this instruction */
    int32_t planned_rows, row_number; /* rows shuffled in all, so far: slots.c */
    bool has_loops, *negated;
    bool *inner; /* of each value: a maximum that is but a part of a longer one: elem.c */
    bool *signs; /* of each value: a magnitude whose sign goes with a mask: elem.c */
    bool unseen; /* slots were written that other threads may not have seen */
    int32_t *whole, wholes[BORG_PTR]; /* of each value the place that all read it from, from 1 on;
                                       * places of each type: slots.c */
    bool has_rows[BORG_PTR];
    borg_inst **partner; /* of an MMA, by value: the one made with it, in front of it: mma.c */
    int32_t tables, loops, branches;
    simt_places *places;
    simt_table *shared;
    simt_pointer *pointers;
    borg_diags *diags;
    struct simt_stage *stages; /* stage.c */
    int32_t nstages;
    struct simt_local *locals; /* local.c */
    simt_held *held;
    bool *copied; /* of each load: it may be a copy to one of them */
} simt;

/** inst->mark of a WI value: 0, or its first slot's number from 1 on (slots.c), and flags. IN_SLOT:
 * it is read from there by its own thread, too, and needs no register; FAR: that, where the use is
 * far from where it was made. Of a WG value: 0, or its row and place in it; LATE: it is read where
 * it is used. */
enum {
    SIMT_IN_SLOT = 1 << 16,
    SIMT_SLOT = SIMT_IN_SLOT - 1,
    SIMT_FAR = 1 << 17,
    SIMT_FAR_INSTRUCTIONS = 400,
    SIMT_MOST_ROW = 64,
    SIMT_LATE = 1 << 30
};
static inline int32_t simt_slot_of(const borg_inst *v) {
    return (v->mark & SIMT_SLOT) - 1;
}
static inline int32_t simt_row_of(const borg_inst *v) {
    return ((v->mark & ~SIMT_LATE) - 1) / SIMT_MOST_ROW;
}
static inline int32_t simt_place_of(const borg_inst *v) {
    return ((v->mark & ~SIMT_LATE) - 1) % SIMT_MOST_ROW;
}

/* ---- core.c: values and their scalars ---- */
int32_t simt_per_row(const simt *e, const borg_inst *v); /* scalars of a row */
int32_t simt_count(const simt *e, const borg_inst *v);
const char *simt_get(const simt *e, const borg_inst *v, int32_t i);
/** Give scalar i of v its value: declares it. */
void simt_let(simt *e, borg_inst *v, int32_t i, const char *expression);
const char *simt_temp(simt *e, borg_type type, const char *expression);
const char *simt_suffix(borg_type type);
/** The threads that execute this together: the whole warp, or those of the pack. */
const char *simt_mask(const simt *e);
/** Work-item j of this thread; and whether it may store (NULL: always). */
const char *simt_item(const simt *e, int32_t j);
const char *simt_on(const simt *e, int32_t j);
/** x as held by thread `lane` (text) of the group, modulo the group. */
const char *simt_shuffled(const simt *e, borg_type type, const char *x, const char *lane);
/** The number in its group of a thread of the warp given by `text`. */
const char *simt_thread_of_group(const simt *e, const char *text);

/* ---- constant.c ---- */
const char *simt_literal(simt *e, borg_type type, uint64_t bits);
/** bits[l], where l is the thread's number in the group: as a literal, by arithmetic, or from a
 *  table. */
const char *simt_by_lane(simt *e, borg_type type, const uint64_t *bits);

/** prelude.c: functions that CUDA C and OpenCL C share. */
extern const char simt_prelude_text[];

#endif
