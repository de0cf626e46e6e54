/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_ENGINE_H
#define SIM_VECTOR_ENGINE_H
/** The state of a partition that runs, for run.c, lanes.c and access.c. */
#include "sim/vector/run.h"

/** A lane of a register: 32-bit values have zeros above, a predicate is 0 or 1. */
typedef union vs_lane {
    uint64_t u;
    int64_t s;
    double d;
    float f;
    int32_t i;
    uint32_t w;
} vs_lane;

/** Branches on data decided by lot. */
typedef struct vs_guess {
    bool *unknown;  /* of each register: it holds what was read from memory, or comes of it */
    uint64_t state; /* of the lots */
} vs_guess;

struct vs_engine {
    vs_guess *guess; /* NULL: all is computed */
    const vr_program *program;
    vs_memory *memory;
    const vs_arg *args;
    borg_diags *diags;
    int32_t lanes, most; /* of a register; most threads of a partition */
    int32_t n;           /* threads now */
    int32_t nwarps;
    const vs_warp *warps;
    vs_lane *registers, *constants, *scalars, *metas; /* [..][most] */
    vs_lane *result;
    int32_t *start;         /* of each lane: the first lane of its warp */
    int32_t *warp;          /* its warp's place in the partition */
    int32_t *waiting;       /* the PC of each lane; VS_GONE */
    uint8_t *active, *mask; /* mask: active, and the guard holds */
    int32_t nactive, nmask;
    char **shared;    /* arrays of the warps, `most` of each at worst one a lane */
    int64_t *address; /* of each lane, in bytes of the machine */
    int64_t stores, limit;
    int32_t last_array; /* what was read last, for a message */
    int64_t last_index;
    bool failed;
    struct vs_watch { /* a loop in which nothing changes any more */
        int64_t backward, next, stores;
        vs_lane *registers;
        uint8_t *active;
        int32_t *waiting;
        int32_t pc;
        bool set;
    } watch;
};

enum { VS_GONE = INT32_MAX };

static inline const vs_lane *vs_operand(const vs_engine *e, vr_operand o) {
    const vs_lane *from = o.kind == VR_REG    ? e->registers
                          : o.kind == VR_META ? e->metas
                          : o.kind == VR_IMM  ? e->constants
                                              : e->scalars;
    return from + (int64_t)o.at * e->most;
}

/** lanes.c: into e->result, or for all lanes at once into the register itself. */
void vs_compute(vs_engine *e, const vr_inst *v);
/** access.c: a LD or ST of the lanes of the mask; false: out of bounds, a message says where. */
bool vs_access(vs_engine *e, const vr_inst *v);

/** guess.c: the next lot; does an instruction's result come of memory; it has been executed, by all
 *  lanes if `all`. */
bool vs_draw(vs_guess *guess);
bool vs_from_memory(const vr_inst *inst, const bool *unknown);
void vs_note(vs_guess *guess, const vr_inst *inst, bool all);

#endif
