/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PLAN_CUT_H
#define MPKI_CUDA_MULTIFRONTAL_PLAN_CUT_H
/** A plan in the making (multifrontal/plan/plan.c): the fronts that a tree is cut into
 *  (multifrontal/plan/pieces.c), and where their contributions lie
 *  (multifrontal/plan/contributions.c). */
#include "plan.h"

/** Nothing; where one block can eliminate all columns, others make parts of the contribution; and
 *  where it cannot, the columns are cut. */
enum mpki_cuda_cuts { MPKI_CUDA_UNCUT, MPKI_CUDA_IN_PARTS, MPKI_CUDA_CUT };

/** Fronts in the order in which they are made: supernodes (the last columns of those that are cut),
 * other columns of supernodes, helpers. */
typedef struct mpki_cuda_made {
    mpk_context *ctx;
    const mpki_tree_view *tree;
    const mpki_cuda_capacity *capacity;
    int cuts; /* what becomes of fronts that are too large for a block: enum mpki_cuda_cuts */
    int32_t count, allocated;
    int32_t *children;                    /* by supernode: how many it has in the tree */
    int32_t *parent, *rows, *own, *shift; /* by front */
    int32_t *super;                       /* by front: -1 for helpers */
    int64_t *rel, *ridx;                  /* by front: where its lists begin */
    int8_t *kind;
    int32_t *list; /* of all rel */
    int64_t used, list_allocated;
    int32_t *position; /* of all ridx */
    int64_t positions;
    int32_t *child_ptr, *child; /* children in order */
    int32_t *post;              /* children before parents */
} mpki_cuda_made;

/** Cut the tree m->tree for m->capacity, with helpers for fronts of very many children, and find
 *  children and an order. *m is to be freed in any case. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_cuda_made_build(mpki_cuda_made *m);
void mpki_cuda_made_free(mpki_cuda_made *m);

/** The class of a front that fits into a block's shared memory as a whole; MPKI_CUDA_CLASSES:
 *  none. */
int mpki_cuda_class_of(const mpki_cuda_made *m, int32_t own, int32_t rows);
/** Do w columns of a front fit there, with all rows below them? */
bool mpki_cuda_panel_fits(const mpki_cuda_made *m, int32_t w, int32_t below);

/** What a front is for the plan. */
typedef struct mpki_cuda_cut {
    mpki_cuda_made m;
    mpki_cuda_plan *plan;
    int8_t *size;    /* by front: class, MPKI_CUDA_CLASSES: large; of a task, the largest */
    int8_t *stage;   /* by front that is the root of a task: class in which its step does it */
    bool *panel;     /* by front: one block eliminates its columns, others make its contribution */
    int32_t *root;   /* by front: last front of its task */
    int32_t *begin;  /* by front: where its subtree begins in `post` */
    int32_t *step;   /* by front that is a task's root, or large */
    double *time;    /* by front: of its task, as far as it is the root */
    double *path;    /* the same with all above it */
    double *end;     /* by front: when it is done, if nothing but its children is waited for */
    int32_t *number; /* by front: number in the plan */
    bool *full;      /* by step: its large fronts are assembled in two rounds */
} mpki_cuda_cut;

/** size, panel, root, begin, time and path of all fronts; plan.tasks and plan.larges. */
void mpki_cuda_find_tasks(mpki_cuda_cut *c);
/** Nanoseconds of front s in a task. */
double mpki_cuda_front_ns(const mpki_cuda_cut *c, int32_t s);
/** Blocks that make the contribution of front s, if others than its own do (c.panel). */
int32_t mpki_cuda_parts_of(const mpki_cuda_cut *c, int32_t s);
/** Of front s: rows that are its parent's own columns; parts of its contribution that hold them. */
int32_t mpki_cuda_rows_up(const mpki_cuda_cut *c, int32_t s, int32_t *parts);

/** One of the tasks of a front: the number of the part of its contribution; -1: all else. */
typedef struct mpki_cuda_item {
    int32_t front, part;
} mpki_cuda_item;

/** The order in which so many blocks take tasks of one class and step, each after those that it
 *  waits for.
 *  root [in] `count` last fronts of tasks, in any order; parts [in] by task; place: by front, all 0
 *  before and after; out [out] all items. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_cuda_schedule(const mpki_cuda_cut *c, const int32_t *root, const int32_t *parts,
                              int32_t count, int32_t blocks, int32_t *place, mpki_cuda_item *out);

/** Where contributions lie: plan.node[].contribution and plan.contribution_entries; the plan's
 *  steps, tasks and nodes are there. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_cuda_place_contributions(mpki_cuda_cut *c);

/** The space in which large fronts are eliminated together: plan.twice_bytes, step.work_bytes. What is
 *  there twice is a tenth of the panels at most, unless once is more. */
void mpki_cuda_find_work(mpki_cuda_plan *plan, mpk_scalar scalar);

#endif
