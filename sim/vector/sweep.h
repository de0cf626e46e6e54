/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_SWEEP_H
#define SIM_VECTOR_SWEEP_H
/** Many settings of one kernel on one input: orders of the warps, thresholds of packing, slots.
 *  Each order is packed and run once for each threshold, its values checked, its trace replayed for
 *  each number of slots. */
#include "sim/vector/pack.h"
#include "sim/vector/timing.h"

/** A sparse matrix by rows, for kernels of a warp a row. */
typedef struct vs_matrix {
    int32_t nrows, ncols;
    int64_t *row; /* nrows + 1 */
    int32_t *col; /* row[nrows], 0-based */
    double *val;
} vs_matrix;

/** How the rows of a matrix become warps. */
typedef struct vs_rows {
    int32_t threads; /* 0: as many as the row has entries; else of each warp */
    int32_t most;    /* 0: no limit; else at most so many threads for a row */
    bool by_lane;    /* a thread a row: warps of `threads` rows */
} vs_rows;

/** What a kernel runs on, in one order of its warps. */
typedef struct vs_case {
    int32_t nwarps;
    vs_warp *warps;
    int32_t nstages, *stage; /* nstages + 1: the warps of a stage; those of the next one wait */
    vs_memory memory;
    vs_arg *args; /* of the program's parameters */
    /* what must come out: of an array, or of the product of the matrix */
    struct vs_expect {
        int32_t array;
        int64_t count;
        const double *value;
        const double
            *size;        /* sum of the absolute values that were added; NULL: the largest value */
        double tolerance; /* in units of size; 0: the same bits */
    } * expects;
    int32_t nexpects;
} vs_case;

/** Where cases come from: make one in the arena with its warps in `order` (of matrix rows; of the
 *  warps of each stage; NULL: as given). NULL after a message. */
typedef struct vs_source {
    vs_case *(*make)(const struct vs_source *source, const vr_program *program,
                     const int32_t *order, borg_diags *diags);
    int32_t nwarps; /* that order names: 0 .. nwarps-1 */
    const vs_matrix *matrix;
    vs_rows rows;
    const struct vs_list *list;
    const struct vs_source *base; /* of a sample: where all warps come from, and how many of them */
    int32_t sample, *stages;
} vs_source;

/** Rows of a matrix: parameters csr_row, csr_col, csr_val, x, b, nrows, ncols,
 *  width (threads of the warps) by name. */
vs_source vs_source_matrix(const vs_matrix *matrix, vs_rows rows);
/** A file of warps and arrays (docs/design/vector-core.md). False after messages. */
bool vs_source_read(vs_source *source, const char *file, const char *text, size_t length,
                    borg_diags *diags);

typedef struct vs_sweep_options {
    vs_machine machine;
    int32_t masks;    /* that a slot has, as vs_fit made the program; 0: as many as it needs */
    vr_spills spills; /* what that took */
    const int64_t *thresholds; /* VS_NO_PACKING .. */
    const int32_t *slots;
    int32_t nthresholds, nslots;
    int32_t orders; /* random orders; 0: the given one alone */
    uint64_t seed;
    vs_sort sort;
    vs_estimate estimate; /* of instructions, for the buckets */
    int32_t threads;
    int64_t max_steps;               /* of a partition; 0: 2^32 */
    const borg_allocator *allocator; /* NULL: malloc */
} vs_sweep_options;

/** Over the orders. */
typedef struct vs_spread {
    double mean, least, most, deviation;
} vs_spread;

typedef struct vs_setting {
    int64_t threshold;
    int32_t slots;
    const char *impossible; /* why the machine has not so many slots; NULL: it has */
    vs_spread cycles;
    vs_spread utilisation;               /* of all vector units */
    double busy[VS_UNITS], pipeline[64]; /* shares of the time, mean */
    double instructions, controls, vl, active, partitions, buckets, bytes, miss_rate;
    double stalls[VS_STALLS]; /* shares of the cycles of slots */
    double bound;             /* cycles: the greatest of the bounds */
    double bounds[3];         /* work, memory, path */
} vs_setting;

typedef struct vs_sweep {
    const vs_sweep_options *options;
    const vr_program *program;
    vr_needs needs;
    int32_t nwarps, most_slots, least_warp, most_warp;
    int32_t *sizes; /* nwarps: threads of the warps as given */
    int32_t nsettings;
    vs_setting *settings; /* thresholds outside, slots inside */
    double worst_error;   /* over the bound of rounding: at most 1, or the sweep failed */
    int64_t values;       /* checked, over all runs */
    vs_log log;           /* of the setting with the fewest cycles, in the first order */
    int32_t best;         /* that setting; -1: none was possible */
} vs_sweep;

/** The program as the machine can hold it: predicates in vector registers where a slot would need more
 *  masks than it has.
 *  masks  [inout] of a slot, for each register that holds a value of the largest warp; 0: as many as
 *                 the program needs, if one slot can have them, else as many as one can
 *  spills [out]   what that took
 *  Returns false after a message. */
bool vs_fit(const vs_source *source, const vr_program **program, const vs_machine *machine,
            int32_t *masks, vr_spills *spills, borg_diags *diags);

/** Run all. NULL after messages. log_cycles: keep events of so many cycles of the setting that was
 *  the fastest in the first order; 0: none. */
vs_sweep *vs_run_sweep(const vs_source *source, const vr_program *program,
                       const vs_sweep_options *options, int64_t log_cycles, borg_diags *diags);

/** Bits of the partitioned register table for t slots: physical numbers of what a slot holds. */
int64_t vs_table_bits(const vs_machine *machine, const vr_needs *needs, int32_t slots);

/** Choose slots and threshold by trials on a sample of the warps: all that the registers allow,
 *  doubling, with thresholds none, 0 and the distinct differences of counts.
 *  threshold [inout] VS_AUTO, or one that is kept    slots [inout] 0, or a number that is kept
 *  Returns false after a message. */
enum { VS_AUTO = -2 };
bool vs_choose(const vs_source *source, const vr_program *program, const vs_sweep_options *options,
               int32_t sample, int64_t *threshold, int32_t *slots, borg_diags *diags);

/* report.c, plot.c */
void vs_put_text(const vs_sweep *sweep, borg_sink *out);
void vs_put_json(const vs_sweep *sweep, const char *input, borg_sink *out);
void vs_put_csv(const vs_sweep *sweep, borg_sink *out);
void vs_put_svg(const vs_sweep *sweep, const char *title, borg_sink *out);
/** Events for the tracing page of a browser, a cycle a microsecond. */
void vs_put_chrome(const vs_sweep *sweep, borg_sink *out);

#endif
