/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMT_H
#define BORG_EMIT_SIMT_H
/** What the backends for SIMT machines share (thesis of 2021, section 7.3.2): a work-group is held
 * by `lanes` threads, each of which has `rows` of its work-items; work-item w lies with thread
 * w % lanes as its number w / lanes. Every lane of an InfReg is a scalar variable:
 *      lanes >= size, rows = 1       a work-item in each thread: the sub-warps of the thesis
 *      lanes = 1, rows = size        a work-group in each thread: lane order "wg", nothing is moved
 *      else                          several work-items in each thread
 *  In lane order "wi" the threads of a group follow each other, in "wg" groups do: thread t of a
 *  warp of `step` = 32 / lanes groups is thread t / step of group t % step. Such groups exchange by
 *  shuffles alone.
 *  WG and UNI values are computed by every thread alike. Threads beyond the last work-item do what
 *  the last one does, and store nothing; so do threads beyond the last group of a pack.
 *
 *  What moves between threads goes by shuffles, or by a slot of shared memory: written once by all
 *  work-items when the value is made, read as often as it is asked for. */
#include "borg/borg.h"

/** What a target does in its own way. */
typedef struct simt_target {
    const char *header;       /* text: types and functions */
    const char *const *types; /* of a scalar: [borg_type] */
    bool opencl;              /* no shuffles: all that moves goes by slots; a block is a pack */
} simt_target;

/** Where the threads of a group read in shared memory, less what the first one's place adds. */
typedef struct simt_places {
    borg_type type;
    int32_t *offset; /* [lanes] */
    struct simt_places *next;
    int32_t number;
} simt_places;

/** A table of integers, one for each thread of a group, less the first one's. */
typedef struct simt_table {
    int32_t *more, number;
    struct simt_table *next;
} simt_table;

/** A pointer that accesses to memory have in common. */
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
    const simt_target *target;
    const borg_options *options;
    borg_sink *out, *head; /* the kernel, and the tables before it */
    borg_arena *arena;
    borg_module *m;
    const char *name;
    int32_t lanes, rows;              /* threads of a group, work-items of a thread */
    int32_t step;                     /* threads from one of a group to its next */
    int32_t units;                    /* packs in a warp; 0: a pack fills several warps */
    int32_t threads;                  /* of a block */
    int32_t groups;                   /* that a block does */
    int32_t slots[BORG_PTR];          /* in use, for each type */
    int32_t stride[BORG_PTR];         /* elements from work-item to work-item */
    int32_t *last, now;               /* of each value its last use; number of this instruction */
    int32_t planned_rows, row_number; /* rows shuffled in all, so far: move.c */
    bool has_loops, *negated;
    bool *inner; /* of each value: a maximum that is but a part of a longer one: elem.c */
    bool *signs; /* of each value: a magnitude whose sign goes with a mask: elem.c */
    bool unseen; /* slots were written that others may not read yet */
    int32_t *whole, wholes[BORG_PTR]; /* of each value the place that all read it from, from 1 on;
                                       * places of each type: move.c */
    bool has_rows[BORG_PTR];
    borg_inst **partner; /* of an MMA, by value: the one made with it, in front of it: move.c */
    int32_t depth, temps, tables, loops, branches;
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

/** The body of a backend's emit. */
borg_status simt_emit(const simt_target *target, const borg_unit *units, int32_t nunits,
                      const borg_options *options, borg_sink *sink, borg_diags *diags);

/* ---- simt.c: values and their scalars ---- */
int32_t simt_per_row(const simt *e, const borg_inst *v); /* scalars of a row */
int32_t simt_count(const simt *e, const borg_inst *v);
const char *simt_get(const simt *e, const borg_inst *v, int32_t i);
void simt_name(simt *e, borg_inst *v, int32_t i, const char *name);
/** Give scalar i of v its value: declares it. */
void simt_let(simt *e, borg_inst *v, int32_t i, const char *expression);
const char *simt_temp(simt *e, borg_type type, const char *expression);
void simt_line(simt *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *simt_literal(simt *e, borg_type type, uint64_t bits);
const char *simt_suffix(borg_type type);
/** The threads that are together here: the whole warp, or those of the pack. */
const char *simt_mask(const simt *e);
/** Work-item j of this thread, and whether it is one that may store (NULL: always). */
const char *simt_item(const simt *e, int32_t j);
const char *simt_on(const simt *e, int32_t j);
/** x as thread `lane` (text) of the group has it; it wraps around. */
const char *simt_shuffled(const simt *e, borg_type type, const char *x, const char *lane);
/** A thread of the warp, as `text` tells it, as one of the group. */
const char *simt_thread_of_group(const simt *e, const char *text);
/** bits[l], l the thread of the group: a literal, arithmetic, or a table. */
const char *simt_by_lane(simt *e, borg_type type, const uint64_t *bits);

/* ---- move.c ---- */
void simt_plan_slots(simt *e);
/** To be called when v has its value: puts it into its slot. */
void simt_publish(simt *e, borg_inst *v);
/** Before others' slots are read. Many are written at once so, and loads from memory overlap. */
void simt_see_slots(simt *e);
/** Elements from one group's row in shared memory to the next one's. */
int32_t simt_row_length(const simt *e, borg_type type);
void simt_layout(simt *e, borg_inst *v);
const char *simt_far(const simt *e, const borg_inst *v, int32_t i);
/** A SELECT that needs only be read from shared memory; NULL: it must be computed. */
const char *simt_row_by_item(simt *e, const borg_inst *v, int32_t i);

/** Scalar i of a PERM or SELECT whose threads read slots, each its own: one read. NULL: it is not.
 */
const char *simt_gather(simt *e, const borg_inst *v, int32_t i);
/** The pointers that simt_gather reads by. */
void simt_put_places(simt *e);

/* ---- stage.c ---- */
/** Parameters that options->stage names. False: one cannot be, a message says why. */
bool simt_plan_stages(simt *e);
/** Of a warp: bytes of shared memory. */
int32_t simt_stage_bytes(const simt *e);
/** Before the body, and behind it. */
void simt_stage_in(simt *e);
void simt_stage_out(simt *e);
/** The element of v's array that lies in shared memory, or NULL; row and work-item of the value. */
const char *simt_staged(simt *e, const borg_inst *v, int32_t row, int32_t item);

/* ---- local.c ---- */
/** To be called when it is known how a group lies in threads. */
void simt_plan_locals(simt *e);
/** Of a group: bytes of shared memory. */
int32_t simt_local_bytes(const simt *e);
void simt_put_locals(simt *e);
/** Whether places by thread are held in registers: there are arrays, each thread has work-items,
 * and groups are not interleaved. */
bool simt_holds(const simt *e);
/** These places. */
void simt_put_held(simt *e);
/** A load or store of an array in memory, or a load that its store does; false: it is neither. */
bool simt_local(simt *e, borg_inst *v);
bool simt_is_copied(const simt *e, const borg_inst *v);
/** Before a BARRIER: copies arrive. */
void simt_local_wait(simt *e);
/** Behind it. */
void simt_local_barrier(simt *e);
/** Before a LOOP or IF, and behind: whatever is done there to arrays may just have been. */
void simt_local_enter(simt *e, const borg_inst *v);
void simt_local_touch(simt *e, const borg_inst *v);

/* ---- reduce.c, memory.c, elem.c ---- */
void simt_reduce(simt *e, borg_inst *v);
void simt_memory(simt *e, borg_inst *v);
/** Scalar i of what v loads or stores, in its array in global memory. */
const char *simt_element(simt *e, const borg_inst *v, const borg_inst *value, int32_t i);
void simt_elem(simt *e, borg_inst *v);
/** Find chains of maxima of magnitudes. */
void simt_plan_maxima(simt *e);

/** prelude.c: functions that CUDA C and OpenCL C share. */
extern const char simt_prelude_text[];

#endif
