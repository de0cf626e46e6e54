/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_SPATIAL_PIPELINE_H
#define BORG_SPATIAL_PIPELINE_H
/** A module without loops as a spatial pipeline: Thuerck 2021, sec. 8.4.1 and fig. 8.6.
 *
 *  The state of a kernel is the union of its InfRegs that are not read-only. Each instruction that
 *  computes is a stage, in program order; between two stages the state is replicated in registers.
 *  Moves of lanes are wiring, merged into the stage behind them. Registers without useful data are
 *  removed, lane by lane. A job is a pack of groups; a new one enters every `interval` cycles.
 *
 *  Where the thesis says nothing:
 *  - what depends on parameters, constants and the number of the group alone is read-only: address
 *    generators beside the ports make it when a job enters, and no stage is for it;
 *  - a load whose address is read-only is a port at the boundary where it stands (the address is
 *    known long before), so data enter where they are needed first. Others are a stage;
 *  - a store is a port at its boundary;
 *  - a branch runs both ways, its stores under the condition (predicate.c). */
#include "borg/borg.h"

/** A unit that computes: a line of the table of costs, see units.def. */
typedef struct borg_unit_cost {
    int32_t latency, interval; /* cycles */
    int32_t lut, ff, dsp;      /* of a float unit, or of 64 bits of any other */
} borg_unit_cost;

enum borg_unit_kind {
#define UNIT(name, latency, interval, lut, ff, dsp) BORG_UNIT_##name,
#include "borg/spatial/units.def"
#undef UNIT
    BORG_UNIT_KINDS
};

/** What a chip has; a text "lut=230400,ff=460800,dsp=1728" in any order. 0: no limit. */
typedef struct borg_budget {
    int64_t lut, ff, dsp;
} borg_budget;

extern const char *const borg_unit_names[BORG_UNIT_KINDS];
/** The table of units.def; `text` in the same form changes lines of it. False: messages. */
bool borg_costs_read(const char *text, borg_unit_cost costs[BORG_UNIT_KINDS], borg_diags *diags);
bool borg_budget_read(const char *text, borg_budget *budget, borg_diags *diags);

typedef enum borg_net_kind {
    BORG_NET_CONST,
    BORG_NET_CONTROL, /* read-only: known when a job enters */
    BORG_NET_DATA
} borg_net_kind;

/** One lane of a value, after all wiring. Boundary b lies before stage b. */
typedef struct borg_net {
    const borg_inst *inst;
    int32_t lane;
    borg_net_kind kind;
    uint64_t bits;      /* BORG_NET_CONST */
    int32_t stage;      /* that computes it; -1: a port or read-only */
    int32_t born, dies; /* boundaries: the first where it is, the last where it is needed; dies < 0:
                           never needed */
} borg_net;

/** An instruction on lanes: out[i] = op(in[i*nin] ... ). */
typedef struct borg_step {
    borg_inst *inst;
    enum borg_unit_kind kind;
    int32_t latency, interval;
    int32_t start; /* stages: the cycle in which a job enters it, counted from its own first */
    int32_t nout, nin;
    int32_t *out, *in; /* nets; nout, nout * nin */
} borg_step;

/** A lane of a memory operation: value at pointer[offset + add], if mask. Nets; -1: there is
 *  none. */
typedef struct borg_port {
    int32_t value, pointer, offset, mask;
    int64_t add;
} borg_port;

typedef struct borg_access {
    borg_inst *inst;
    int32_t boundary; /* before this stage */
    bool store;
    int32_t nports;
    borg_port *port;
} borg_access;

/** What it takes. Bits count a register of each cycle. */
typedef struct borg_spatial_counts {
    int64_t state_bits;                /* the union of the InfRegs */
    int64_t instructions;              /* with the moves of lanes */
    int64_t bits_instructions;         /* a state for each instruction: before merging */
    int64_t bits_before, bits_after;   /* a state for each cycle; without what is not needed */
    int64_t lanes_before, lanes_after; /* the same in registers of one lane */
    int64_t units[BORG_UNIT_KINDS];
    int64_t adders, multipliers, dividers; /* of floating point */
    int64_t wires, moved;                  /* bits into units; those that come from another lane */
    int64_t words_in, words_out;           /* of a job: loads, stores */
    int64_t lut, ff, dsp;
} borg_spatial_counts;

typedef struct borg_pipeline {
    borg_module *module;
    int32_t nnets, nstages, naccesses, ncontrol, nconst;
    borg_net *net;
    borg_step *stage;
    borg_access *access; /* in program order, so by boundary */
    borg_step *control;  /* in program order; also leaves and loads of pointers */
    int32_t depth;       /* cycles from a job's first to its last */
    int32_t interval;    /* II */
    borg_spatial_counts counts;
} borg_pipeline;

/** The cycle, counted from a job's first, in which it is at boundary b, 0 .. nstages. */
static inline int32_t borg_boundary_cycle(const borg_pipeline *p, int32_t b) {
    return b < p->nstages ? p->stage[b].start : p->depth;
}

/** Branches become predication: both arms run, results are selected, stores are masked. False, with
 *  line and reason: a loop at run time, a result that is a pointer. */
bool borg_predicate(borg_module *m, borg_diags *diags);

/** The module (changed by borg_predicate) as a pipeline, in the module's arena. NULL, with line and
 *  reason: run-time loops, run-time moves of lanes, arrays in memory. */
borg_pipeline *borg_pipeline_new(borg_module *m, const borg_unit_cost costs[BORG_UNIT_KINDS],
                                 borg_diags *diags);
/** state.c: fills p->counts; borg_pipeline_new calls it. */
void borg_pipeline_count(borg_pipeline *p, const borg_unit_cost costs[BORG_UNIT_KINDS]);
/** True if it fits; else the first limit that it passes and what it needs and has. */
bool borg_pipeline_fits(const borg_pipeline *p, const borg_budget *budget, const char **what,
                        int64_t *needs, int64_t *has);
/** The same with a message, `name` (the kernel's) in it. */
bool borg_pipeline_budget(const borg_pipeline *p, const borg_budget *budget, const char *name,
                          borg_diags *diags);

/** propose.c: what fits the budget in place of a file that does not: a smaller WG_SIZE, and a file
 *  beside it with weaker pivoting (NAME_complete, _rook, _partial, _static, NAME), as lines of
 *  text; nothing where nothing does. `options` as it was compiled, its backend a pipeline's. */
void borg_propose(const char *file, const char *source, size_t length, const borg_options *options,
                  borg_sink *sink);

#endif
