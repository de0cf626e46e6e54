/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_TIMING_H
#define SIM_VECTOR_TIMING_H
/** When a machine does what a trace says: slots that hold a partition each, in order within one,
 *  all through one buffer to the units (thesis of 2021, sections 9.3.2 and 9.3.3). Cycle by cycle,
 *  cycles in which nothing can happen skipped; no randomness. docs/design/vector-core.md has the
 *  rules by which cycles can be counted by hand. */
#include "sim/vector/machine.h"
#include "sim/vector/run.h"

typedef enum vs_unit { VS_FMA_UNIT, VS_FMA_ALU_UNIT, VS_ALU_STORE_UNIT, VS_PORT, VS_UNITS } vs_unit;
extern const char *const vs_unit_text[VS_UNITS];

/** Why a slot that holds a partition issued nothing in a cycle: the result of an instruction, a
 *  load's or the queue of accesses, all units busy, others went first, nothing fetched yet, all
 *  issued and not all done. */
typedef enum vs_stall {
    VS_OPERAND,
    VS_MEMORY,
    VS_UNIT,
    VS_WIDTH,
    VS_FETCH,
    VS_DRAIN,
    VS_STALLS
} vs_stall;
extern const char *const vs_stall_text[VS_STALLS];

/** An instruction on a unit; inst -1: the partition itself, in its slot. */
typedef struct vs_event {
    int64_t start, end;
    int32_t slot, part, inst;
    int16_t unit, number; /* which of the units of that kind */
} vs_event;

typedef struct vs_log {
    int64_t until; /* events that start before this cycle */
    vs_event *events;
    size_t count, room;
} vs_log;

typedef struct vs_times {
    int64_t cycles;
    int64_t issued;            /* vector instructions */
    int64_t controls;          /* branches, joins, exits */
    int64_t lanes, active;     /* summed over vector instructions: vl, lanes at work */
    int64_t bytes;             /* that memory moved */
    int64_t lookups, misses;   /* of the cache */
    int64_t stalls[VS_STALLS]; /* cycles of slots */
    int64_t slot_cycles;       /* cycles in which slots held partitions */
    int64_t busy[VS_UNITS];    /* cycles of units */
    int32_t units[VS_UNITS];   /* how many there are */
    int64_t pipeline_busy[64];
    int32_t pipelines;
    /* what no schedule can be faster than */
    int64_t bound_work, bound_memory, bound_path;
} vs_times;

/** Slots that the machine's registers allow: physical ones over what a slot must hold.
 *  strips [in] vector registers that hold one value of the largest partition
 *  Returns 0 and why (registers by name) if there is not even one. */
int32_t vs_most_slots(const vs_machine *machine, const vr_needs *needs, int32_t strips,
                      borg_arena *arena, const char **why);

/** Replay.
 *  stage_ends [in] nstages numbers of partitions, rising: those of a stage start when the stage
 *                  before has ended; NULL: one stage
 *  slots      [in] partitions at once, 1 .. 64
 *  log        [inout] gets events, may be NULL
 *  Returns false after a message: nothing can ever happen again (who waits for what). */
bool vs_replay(const vs_machine *machine, const vr_program *program, const vs_trace *trace,
               const int32_t *stage_ends, int32_t nstages, int32_t slots, vs_times *times,
               vs_log *log, borg_diags *diags);

#endif
