/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_CORE_H
#define SIM_VECTOR_CORE_H
/** The state of a core that replays a trace, for timing.c, issue.c, memory.c and bound.c. */
#include "sim/vector/timing.h"

typedef struct vs_slot {
    int32_t part, next, last, stride; /* partition held (-1: none); its list */
    size_t fetched, issued, end;      /* steps: fetched before, issued before, of the partition */
    int64_t fetch_from;               /* cycle */
    int64_t done;                     /* of what was issued */
    int64_t not_before;               /* when the operands of the next one are there */
    bool by_load;                     /* and that it is a load they come from */
    bool head;                        /* not_before is known */
    int32_t control;                  /* branch that is not decided: its instruction; -1: none */
    bool leaving;
    int64_t *ready;             /* of each register */
    bool *loaded;               /* of each register: a load wrote it */
    uint64_t nfetched, nissued; /* of these steps those that are no branches */
    uint64_t *age;              /* ring: when each step in the buffer was fetched */
    int64_t began;
    bool moved; /* in this cycle */
    vs_stall stall;
} vs_slot;

/** What cores share: memory's controllers, the cache, the list of partitions. */
typedef struct vs_chip {
    int32_t ncores;
    struct vs_core *cores;
    int64_t now;
    int64_t *controller; /* free at, in 1/256 of a cycle */
    uint64_t *tags;      /* cache: [sets][ways], most recent first; 0: none */
    int64_t sets;
} vs_chip;

typedef struct vs_core {
    vs_chip *chip;
    const vs_machine *m;
    const vr_program *program;
    const vs_trace *trace;
    vr_class *classes; /* of each instruction */
    vs_times *times;
    vs_log *log;
    borg_diags *diags;
    int32_t nslots, waiting; /* steps in the buffer */
    vs_slot *slots;
    int64_t now, end;
    uint64_t fetches;
    int32_t turn;
    int32_t stage_end; /* partitions of the stages so far */
    int64_t *free_at[VS_UNITS];
    int32_t units[VS_UNITS], last[VS_UNITS]; /* last: used last, so that all take turns */
    int64_t *line_cost;                      /* of so many bytes, in 1/256 of a cycle */
    int64_t *queue;                          /* when each access under way ends */
    int32_t nqueue;
    int64_t offset; /* of this stage in the log */
} vs_core;

/** Has the slot a step in the buffer? */
static inline bool vs_has_head(const vs_slot *s) {
    return s->nissued < s->nfetched;
}

/** issue.c: issue what can be issued in this cycle; how many. */
int32_t vs_issue(vs_core *c);
/** The earliest cycle after now at which the next step of a slot could be issued; INT64_MAX: never.
 *  stall [out] what it waits for now. */
int64_t vs_when(const vs_core *c, vs_slot *s, vs_stall *stall);
/** Cycles that a step holds its unit. */
int32_t vs_holds(const vs_machine *m, vr_class class, const vs_step *step);
/** memory.c: bytes of a step through the controllers from cycle `from` on; when all are there. */
int64_t vs_transfer(vs_core *c, const vs_step *step, int64_t from, int32_t cycles);
/** Time of a controller for so many bytes of a line, and of all for a span without a cache, in
 *  1/256 of a cycle. */
int64_t vs_line_cost(const vs_machine *m, int32_t bytes);
int64_t vs_span_cost(const vs_machine *m, const vs_span *span);
/** bound.c: times->bound_*. */
void vs_bound(const vs_machine *m, const vr_program *program, const vs_trace *trace,
              const int32_t *stage_ends, int32_t nstages, vs_times *times, borg_arena *arena);

#endif
