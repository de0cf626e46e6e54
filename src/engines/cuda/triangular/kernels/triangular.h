/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_TRIANGULAR_H
#define MPKI_CUDA_TRIANGULAR_TRIANGULAR_H
/** Triangular solves with a factor on blocks: what libmetapack asks of its CUDA module. Plain C.
 *
 *  A factor is packed anew, in the order in which a sweep reads it, once for each direction.
 *  Slot    the index of a row in the order of a direction's level sets, in each of which a frame
 *          comes as early as what it needs allows; forward sweeps go up, backward ones, whose slots
 *          are others, down.
 *  Unit    up to 32 slots: whole frames of one level set. A warp has a lane for each slot.
 *          Numbers by slot are in double precision, complex or not as the factor is.
 *  Segment some of the columns of a unit's rows (of L, of L^T, or of M at the end), few enough for
 *          shared memory. In memory it is a packet; see triangular/packet.cuh.
 *  Task    segments of a unit that one warp works on, one after the other: all of them, or, where
 *          they are many, some; then it leaves a part of the sum, which the unit's last task adds.
 *          Warps take tasks by tickets, and a task waits for tasks with lower tickets alone. */
#include "engines/cuda/block_factor/kernels/store.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MPKI_SWEEPS_COLUMNS = 255, /**< most columns of a segment: they have numbers of 8 bits */
    MPKI_SWEEPS_STEPS = 24,    /**< most entries of a lane */
    MPKI_SWEEPS_PART = 64,     /**< most blocks that a warp packs */
    MPKI_SWEEPS_FIRST = 48,    /**< segments of a part that are measured when they are counted */
    MPKI_SWEEPS_RHS = 8        /**< most vectors at once */
};

/** A segment as the host learns of it. */
typedef struct mpki_sweeps_measure {
    uint32_t size; /**< in 16 bytes */
    /** the slot that is due last; -1: it needs none; -2: it is one of M; -3: it is M in tiles,
     *  which is the first one of its task */
    int32_t last;
    int32_t full; /**< a block in full */
} mpki_sweeps_measure;

/** Where the host puts it. */
typedef struct mpki_sweeps_place {
    uint32_t at;   /**< in 16 bytes */
    uint32_t next; /**< size of the next one of the same task; 0: it is the last */
    int32_t part;  /**< number of the part that the task leaves; -1: the unit's result */
    int32_t first_part, parts; /**< what is to be added to it */
} mpki_sweeps_place;

/** A ticket: the first packet of a task. */
typedef struct mpki_sweeps_task {
    uint32_t at, size; /**< in 16 bytes */
} mpki_sweeps_task;

/** A task of a unit before it has a ticket: `count` segments from `from` on, of `size` in all (in
 *  16 bytes). */
typedef struct mpki_sweeps_listed {
    int64_t from;
    int32_t count, turn; /**< turn: tickets go by it, then by units */
    uint32_t size;
    int32_t half;
} mpki_sweeps_listed;

/** What packing tells the host. */
typedef struct mpki_sweeps_summary {
    int64_t segments[2];
    int64_t tasks[2];       /**< of the forward sweep; of both */
    int64_t parts, packets; /**< packets: in 16 bytes */
    int32_t tiles,
        full; /**< tasks that begin with M in tiles, packets that are a block in full; from 0 on */
} mpki_sweeps_summary;

/** Packing. All pointers are device memory; [2]: forward, backward. */
typedef struct mpki_cuda_packing {
    const mpki_cuda_store *store; /**< host; its arrays are on the device */
    int32_t units[2];
    int64_t entries;            /**< store->ptr[m] */
    const int32_t *frame[2];    /**< m: frames by slots */
    const int32_t *unit[2];     /**< units + 1: first place in `frame` */
    const int32_t *slot[2];     /**< m: first slot of each frame */
    const int32_t *deferred[2]; /**< units: columns of slots from here on (backward: before it) have
                                 segments of their own */
    int32_t *order;             /**< store->ptr[m]: the entries of lists as they fall due */
    /* the blocks of a unit, in parts of up to MPKI_SWEEPS_PART that are packed side by side; parts
     * of a unit follow each other, each unit has one at least */
    int32_t parts[2];
    const int32_t *part_unit[2],
        *part_block[2]; /**< parts: its unit, the first of its blocks there */
    int32_t *count[2];  /**< parts: segments */
    /** parts * MPKI_SWEEPS_FIRST: the first segments of each, as they are counted */
    mpki_sweeps_measure *trial[2];
    int64_t *first[2]; /**< parts: of the part's segments in: */
    mpki_sweeps_measure *measure[2];
    mpki_sweeps_place *place[2];
    /* tasks */
    int32_t levels;               /**< level sets of either direction */
    const int32_t *level_of[2];   /**< units: its level set */
    const int32_t *level_slot[2]; /**< levels: its first slot */
    int64_t *begin[2];            /**< units + 1: the first segment of each */
    int32_t *unit_task[2], *unit_part[2],
        *task_of[2];            /**< units: tasks; the first part, the first task */
    mpki_sweeps_listed *listed; /**< as many as both directions have segments; so are: */
    int32_t *sorted[2];
    uint32_t *task_at;
    int32_t *digits; /**< work space: digits() */
    mpki_sweeps_summary *summary;
    char *packets;
    /** 2 n, by forward slot: D^-1, |D|^-1: coefficients of the slot itself and of its partner */
    void *diagonal[2];
    int8_t *partner;          /**< n: -1, 0, 1 */
    void *border_diagonal[2]; /**< 2 store->border: the same of the dense pivot */
    int8_t *border_partner;
} mpki_cuda_packing;

/** Where slots are in the caller's vectors, from where positions are. All but `m` device memory. */
typedef struct mpki_sweeps_maps {
    int32_t m;              /**< frames */
    const int32_t *bptr;    /**< m + 1: first position of each frame */
    const int32_t *slot[2]; /**< m: its first slots; forward, backward */
    const int32_t *perm;    /**< n: the caller's column at a position */
    const int32_t *row_of;  /**< n: its row, by column; NULL: the same */
    const double *columns;  /**< n: scales of the caller's columns */
    const double *rows;     /**< n: of its rows; NULL: the same */
    int32_t *position[2],
        *row;       /**< [out] n, by slot of either kind; the caller's row by forward slot */
    int32_t *ahead; /**< [out] n: the forward slot of a backward one */
    /** [out] n: the forward slot at a position; the backward one of the caller's column */
    int32_t *slot_at[2];
    double *scale[2]; /**< [out] n: of rows, by forward slot; of columns, in the caller's order */
} mpki_sweeps_maps;

enum { MPKI_SWEEPS_COUNT, MPKI_SWEEPS_MEASURE, MPKI_SWEEPS_FILL };

/** One direction of a launch. Vectors by slot. */
typedef struct mpki_sweeps_half {
    const void *start; /**< right-hand side */
    /** where results of other rows are read: `to`, or those of the sweep before */
    const void *from;
    void *to;
} mpki_sweeps_half;

/** Tickets first .. end-1. An entry of a vector in which results are waited for holds a NaN of a
 *  certain kind until its result comes. */
typedef struct mpki_sweeps_run {
    mpk_scalar scalar;
    int32_t nrhs; /**< 1, 2, 4, 8: numbers by slot */
    int32_t first, end, warps;
    const mpki_sweeps_task *task;
    const char *packets;
    mpki_sweeps_half half[2];
    const void *diagonal; /**< applied to half[1].start, which then has forward slots; NULL: not */
    const int8_t *partner;
    const int32_t *ahead; /**< as mpki_sweeps_maps */
    void *part;           /**< 32 nrhs entries for each part */
    int32_t *ticket;      /**< 0 */
} mpki_sweeps_run;

/** Vectors between the caller's order and slots. */
typedef struct mpki_sweeps_move {
    mpk_scalar scalar, stored;   /**< of the caller's vectors; by slot */
    mpk_scalar pivots;           /**< of D, where it is applied */
    int32_t n, nrhs, slot_width; /**< columns; numbers by slot, >= nrhs: the others are 0 */
    void *x;                     /**< the caller's */
    int64_t ldx;
    /** n: in: where in x a slot's entry is; out: in which slot an entry of x is */
    const int32_t *index;
    const double *scale; /**< n, in: by slot, out: as x is; NULL: 1 */
    double *most;        /**< NULL: no unit is wanted; else the largest modulus, scaled */
    void *y;             /**< by slot */
    void *wait[2];       /**< in: vectors that shall wait for results; NULL: none */
    int32_t *ticket;     /**< in: set to 0; how many: */
    int64_t tickets;
} mpki_sweeps_move;

/** The dense pivot that ends a factor's stages (mpki_cuda_store.border): y := L^-1 P y, backward y
 *  := P^T L^-T y (L^-H), on its slots. */
typedef struct mpki_sweeps_border {
    mpk_scalar scalar;
    int32_t rows, slot_width, backward, hermitian;
    int32_t in_scalar; /**< vectors are of `scalar`; else in double precision */
    const void *l;
    const int32_t *row;
    void *y, *work; /**< rows slot_width, by slot */
} mpki_sweeps_border;

typedef struct mpki_sweeps_clock mpki_sweeps_clock;

typedef struct mpki_cuda_sweeps_table {
    /** Fills `order`. */
    int (*order)(mpki_cuda *cuda, const mpki_cuda_packing *p);
    /** One of the three passes over all units; then D. */
    int (*pack)(mpki_cuda *cuda, const mpki_cuda_packing *p, int pass);
    /** Between the passes, queued: `first`, `begin` and summary.segments once segments are counted;
     *  tasks and their order, `place`, and the rest of the summary, once they are measured.
     *  `segments`: of both directions. Then the tickets, summary.tasks[1]. */
    int (*segments)(mpki_cuda *cuda, const mpki_cuda_packing *p);
    int (*tasks)(mpki_cuda *cuda, const mpki_cuda_packing *p, int64_t segments);
    int (*tickets)(mpki_cuda *cuda, const mpki_cuda_packing *p, int64_t tasks,
                   mpki_sweeps_task *to);
    int64_t (*digits)(int64_t segments); /**< entries of `digits` */
    int (*pivots)(mpki_cuda *cuda, const mpki_cuda_packing *p);
    int (*maps)(mpki_cuda *cuda, const mpki_sweeps_maps *m);
    /** Most warps that a launch can have at work at once. */
    int (*warps)(mpki_cuda *cuda, mpk_scalar scalar, int32_t nrhs, int32_t *warps);
    int (*run)(mpki_cuda *cuda, const mpki_sweeps_run *r);
    int (*in)(mpki_cuda *cuda, const mpki_sweeps_move *m);
    int (*out)(mpki_cuda *cuda, const mpki_sweeps_move *m);
    /** y := D^-1 y for a part of its own. */
    int (*scale)(mpki_cuda *cuda, const mpki_sweeps_move *m, const void *diagonal,
                 const int8_t *partner);
    /** Bytes of value `byte` in the stream. */
    int (*set)(mpki_cuda *cuda, void *p, int byte, int64_t bytes);
    /** Marks the entries of a vector as not there yet. */
    int (*wait)(mpki_cuda *cuda, mpk_scalar scalar, void *p, int64_t entries);
    /** cuda->sparse, for copies. */
    void *(*stream)(mpki_cuda *cuda);
    /** Is what is queued there now being captured into a graph? */
    int (*captured)(mpki_cuda *cuda);
    /** A stopwatch on the device. clock_read waits for nothing: < 0: it has not stopped yet. */
    int (*clock_make)(mpki_cuda *cuda, mpki_sweeps_clock **clock);
    void (*clock_free)(mpki_cuda *cuda, mpki_sweeps_clock *clock);
    int (*clock_start)(mpki_cuda *cuda, mpki_sweeps_clock *clock);
    int (*clock_stop)(mpki_cuda *cuda, mpki_sweeps_clock *clock);
    int (*clock_read)(mpki_cuda *cuda, mpki_sweeps_clock *clock, double *seconds);
    int (*border)(mpki_cuda *cuda, const mpki_sweeps_border *b);
} mpki_cuda_sweeps_table;

extern const mpki_cuda_sweeps_table mpki_cuda_sweeps_functions;

#ifdef __cplusplus
}
#endif
#endif
