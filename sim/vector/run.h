/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_RUN_H
#define SIM_VECTOR_RUN_H
/** What a vrPTX program computes: warps that share vector registers, run to their end, apart from
 *  any time. What was executed is kept as a trace, which timing.h replays on a machine. */
#include "sim/vector/vrptx.h"

/** An array that a kernel reads or writes. */
typedef struct vs_array {
    const char *name;
    vr_type type; /* b32 b64 f32 f64 */
    int64_t count;
    void *data;   /* count elements of 4 or 8 bytes */
    int64_t base; /* where the machine keeps it, in bytes: vs_place_arrays */
} vs_array;

typedef struct vs_memory {
    int32_t count;
    vs_array *arrays;
} vs_memory;

/** Give each array its place, one behind the other, on whole pages of 4096 bytes. */
void vs_place_arrays(vs_memory *memory);

/** An argument: the number of an array in the memory, or the bits of a scalar. */
typedef struct vs_arg {
    int32_t array;
    uint64_t bits;
} vs_arg;

/** A warp: its number, which $wid gives, and its threads. */
typedef struct vs_warp {
    int32_t wid, ntids;
} vs_warp;

/** Consecutive elements of memory that one instruction touches. */
typedef struct vs_span {
    int64_t address; /* bytes */
    int32_t bytes;
    int32_t lanes; /* that ask for them: of a broadcast, many for one element */
} vs_span;

/** One vector instruction of a partition. */
typedef struct vs_step {
    uint32_t inst; /* in the program; VS_STRIP: it goes on with the strip before */
    uint16_t vl;   /* lanes of the register that belong to the partition */
    uint16_t active;
    uint32_t span, nspans; /* LD, ST */
} vs_step;
#define VS_STRIP (UINT32_C(1) << 31)

/** What partitions executed, one behind the other. */
typedef struct vs_trace {
    vs_step *steps;
    vs_span *spans;
    size_t nsteps, nspans, steps_room, spans_room;
    size_t *first; /* nparts + 1: where each partition begins */
    int32_t nparts;
    size_t first_room;
} vs_trace;

typedef struct vs_engine vs_engine;

/** Ready to run a program.
 *  lanes   [in] of a vector register; a warp that is larger is held by several of them
 *  threads [in] the most that a partition will have, summed over its warps
 *  args    [in] one for each parameter, borrowed as program and memory are
 *  diags   [inout] gets what goes wrong while it runs; its arena holds the engine */
vs_engine *vs_engine_new(const vr_program *program, int32_t lanes, int32_t threads,
                         vs_memory *memory, const vs_arg *args, borg_diags *diags);
/** Run a partition of `count` warps. trace [inout] what was executed is added, may be NULL.
 *  Returns the number of instructions, or -1 after a message: an access out of bounds, a program
 *  that does not end (with who waits where, if nothing changes any more). */
int64_t vs_run(vs_engine *engine, const vs_warp *warps, int32_t count, vs_trace *trace);
/** The number of the program's kernel for warps of that size, or -1. */
int32_t vs_entry_of(const vs_engine *engine, int32_t ntids);
/** Most instructions that a partition may execute; 0: 2^32. */
void vs_limit_steps(vs_engine *engine, int64_t steps);

/** Empty it; its memory is used again. */
void vs_trace_reset(vs_trace *trace);

#endif
