/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PLAN_PLAN_H
#define MPKI_CUDA_MULTIFRONTAL_PLAN_PLAN_H
/** An assembly tree as a device goes over it: small fronts gathered into tasks of one thread block
 *  each, large ones shared by many blocks, in steps; where their numbers lie. Made once for a tree.
 *
 *  A front that is too large for one block's shared memory, but whose columns are not, at least
 *  some of them together, is a task that eliminates its columns and some that each make a part of
 *  its contribution. Where not all of its columns fit, it is cut into fronts of as many as do, each
 *  the only further child of the next.
 *
 *  A step does its large fronts, then its tasks. Tasks of a step wait for one another by
 *  themselves; between steps the host may look. As far as memory allows, the first step has all
 *  tasks without a large front below them, and a step begins where a large front is followed by
 *  another one; else (plan.by_level) a step is a level, counted from the roots, so that
 *  contributions live for two steps. A front with very many children gets helpers without columns
 *  of their own, each of which adds up a group of them. */
#include "engines/interface/engine.h"
#include "../kernels/multifrontal.h"

/** What a plan counts on: shared memory of a thread block, and blocks that are at work at the same
 *  time, by class. */
typedef struct mpki_cuda_capacity {
    int64_t (*task_bytes)(mpk_scalar scalar, int32_t nrows, int32_t w,
                          int32_t columns); /* as mpki_cuda_direct_table has it */
    int64_t bytes[MPKI_CUDA_CLASSES];
    int32_t blocks[MPKI_CUDA_CLASSES];
} mpki_cuda_capacity;

typedef struct mpki_cuda_step {
    int32_t first, last;                 /* fronts first .. last - 1, the large ones first */
    int32_t task[MPKI_CUDA_CLASSES + 1]; /* by class: tasks task[c] .. task[c + 1] - 1, each of
                                            which waits for none after it */
    int32_t leaves;                      /* the first so many are leaves: fronts of one column, by
                                            consecutive numbers, without children */
    int32_t large_first, large_last;     /* entries of plan.large */
    /** bytes from the arena's begin where those are eliminated together, and how many; 0: none */
    int64_t work, work_bytes;
} mpki_cuda_step;

/* What a front is: a supernode or the last columns of one; other columns of one, which may leave
 * some to the next; or a helper. */
enum mpki_cuda_kind { MPKI_CUDA_SUPERNODE, MPKI_CUDA_LOWER, MPKI_CUDA_HELPER };

typedef struct mpki_cuda_plan {
    int32_t fronts, steps, tasks, larges, children;
    bool by_level;
    mpki_cuda_node *node; /* fronts */
    int8_t *kind;         /* fronts: enum mpki_cuda_kind */
    int32_t *unit;        /* units: fronts with columns of their own, in the order of supernodes */
    int32_t units;
    int32_t *child; /* children */
    int32_t *rel;   /* rows: those of the tree first */
    int32_t *ridx;  /* positions: those of the tree first */
    int64_t rows, positions;
    mpki_cuda_task *task; /* tasks */
    int32_t *large;       /* larges: fronts */
    /** larges: the round of its step in which it is assembled. Contributions of a round may lie
     *  where those were that the rounds before have added */
    int32_t *round;
    mpki_cuda_step *step;
    int64_t panel_bytes; /* of all panels, while nothing is delayed */
    /** of contributions, and of what large fronts work in, that are held at the same time, behind all
     *  panels: others lie where panels of later steps will be */
    int64_t contribution_entries;
    int64_t twice_bytes; /* of large fronts whose space is there twice: mpki_cuda_front_buffers() */
} mpki_cuda_plan;

/** whole: no front is cut. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_cuda_plan_make(mpk_context *ctx, const mpki_tree_view *tree,
                               const mpki_cuda_capacity *capacity, bool whole,
                               mpki_cuda_plan *plan);
void mpki_cuda_plan_free(mpk_context *ctx, mpki_cuda_plan *plan);

/** Bytes of a panel of w columns over nrows rows. */
int64_t mpki_cuda_panel_bytes(mpk_scalar scalar, int32_t nrows, int32_t w);
/** Entries of a contribution. */
int64_t mpki_cuda_contribution_entries(int32_t rows);
/** Columns of a block of a large front, and bytes of its work space. */
int32_t mpki_cuda_front_block(int32_t w);
int64_t mpki_cuda_front_work(mpk_scalar scalar, int32_t nrows, int32_t w);

/** How many times large fronts that are eliminated together have W, of `bytes` in all: twice where
 *  one has several blocks of columns and there is memory, so that a block's update goes on beside
 *  the next block. */
static inline int32_t mpki_cuda_front_buffers(const mpki_cuda_plan *plan, int64_t bytes,
                                              int32_t blocks) {
    return blocks > 1 && 2 * bytes <= plan->twice_bytes ? 2 : 1;
}

/** Bytes of the description of so many large fronts, where they work: each, and five lists. */
static inline int64_t mpki_cuda_description_bytes(int64_t count) {
    const int64_t bytes =
        count * (int64_t)sizeof(mpki_cuda_front) + 5 * (count + 1) * (int64_t)sizeof(int32_t);
    return (bytes + 255) & ~(int64_t)255;
}

static inline int32_t mpki_cuda_leading(int32_t rows) {
    return (rows + 1) & ~1;
}

#endif
