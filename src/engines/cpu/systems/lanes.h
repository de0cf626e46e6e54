/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_SYSTEMS_LANES_H
#define MPKI_CPU_SYSTEMS_LANES_H
/** Sparse systems of one pattern side by side: entry e of `width` of them lies in one vector, so
 *  that all work is that of one system, done for a pack of them. The pivots are those of a plan,
 *  1x1 and 2x2 in an order that was found before; each lane tests them by its own numbers.
 *
 *  Every entry has one order of products and sums, without contraction, so that a system has the
 *  same bits in any lane, beside any neighbours, and with any instruction set.
 *
 *  Layout: entry e of an array begins at real e * PARTS * width: the real parts of all lanes, and
 *  of complex entries the imaginary parts after them. */
#include "core/precision.h"
#include "engines/interface/views.h"
#include <stdbool.h>

/** An entry of A on its way into the front that owns it. */
typedef struct mpki_lanes_entry {
    int64_t from, to; /* among the values; among the entries of L */
    int32_t i, j;     /* its row and its column, problem order: whose scales it gets */
    bool conjugated;
} mpki_lanes_entry;

/** What is done with all systems of a pattern. Front s of the tree has w columns and r rows; its
 *  columns of L follow each other, from the diagonal down: entry (i, k) is number
 *  l[s] + i + k (r - 1) - k (k - 1) / 2. What it contributes to its parent is stored likewise. */
typedef struct mpki_lanes_plan {
    mpki_tree_view tree;
    bool hermitian;
    const int64_t *l;              /* nsuper + 1 */
    const int64_t *c;              /* nsuper: where the contribution begins, in the work space */
    const mpki_lanes_entry *entry; /* by scatter_ptr of the tree */
    const char *pair;              /* n, by position: 1: first of a 2x2 pivot, 2: second, 0: 1x1 */
    const double *matched; /* n, problem order: scaling of a matching; NULL: there is none */
    int64_t contributions; /* entries of them that are held at a time, at most */
    int32_t max_front;
} mpki_lanes_plan;

/** When a lane's pivots will do; of a matrix scaled to 1. */
typedef struct mpki_lanes_rules {
    double stress;   /* of |L|, and of |L| |D| |L|^T, which times the unit roundoff is the error */
    double rounding; /* a pivot is more than this times the stress that there is, */
    double noise;    /* and more than this times the growth, else it may be rounding: doubtful; */
    double small;    /* it is zero at this */
} mpki_lanes_rules;

/** A pack: arrays of lanes. */
typedef struct mpki_lanes_pack {
    void *ax;       /* nnz entries: the values */
    void *l;        /* plan->l[nsuper] entries */
    void *d, *dinv; /* 2 n entries each, by position: D(k,k), D(k+1,k); the same of its inverse.
                       A pair of pivots of a lane's own is where D(k+1,k) is not 0 */
    void *scale;    /* n reals: S, problem order */
    void *row_norm; /* n reals: sums of moduli of A's rows, problem order */
    /* n of all lanes: each lane has pivots of its own. By position: which column of its front,
     * counted from the first, is this pivot. NULL: the plan's */
    int32_t *perm;
} mpki_lanes_pack;

/** What became of the system in a lane. */
typedef struct mpki_lane_outcome {
    bool good;     /* its pivots passed */
    bool doubtful; /* and one of them may be rounding: a certificate is to tell */
    int32_t positive, negative, two_by_two;
    double growth, min_pivot; /* as in mpk_factor_info */
    double norm_inf;          /* of A */
} mpki_lane_outcome;

/** How good the solution in a lane is: as mpki_quality. */
typedef struct mpki_lane_quality {
    bool known; /* else numbers are near the ends of the range, and another has to judge */
    double componentwise, normwise, growth;
    int32_t steps;
} mpki_lane_quality;

/** Work space of a thread. */
typedef struct mpki_lanes_work {
    void *w;            /* FN(lanes).panel_reals() */
    void *contribution; /* plan->contributions entries */
    void *x[4];         /* n entries each */
} mpki_lanes_work;

typedef struct FN(lanes) {
    int width; /* systems of a pack */
    /** Reals of work->w for a plan. */
    int64_t (*panel_reals)(const mpki_lanes_plan *plan);
    /** Entries of systems to lanes and back; those of lanes whose pointer is NULL are left.
     *  step [in] of the systems' arrays, in entries */
    void (*take)(int64_t count, const T *const *from, int64_t step, R *to);
    void (*give)(int64_t count, const R *from, T *const *to, int64_t step);
    /** pack->scale and row_norm from its values. lane [out] width: norm_inf; good: the scales are
     *  well inside the range. work->x[0] is overwritten */
    void (*scale)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack, mpki_lanes_work *work,
                  mpki_lane_outcome *lane);
    /** L, D and D^-1 of the pack, and the rest of `lane`, whose good stays where it is false. */
    void (*factor)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack,
                   const mpki_lanes_rules *rules, mpki_lanes_work *work, mpki_lane_outcome *lane);
    /** x := A^-1 x, problem order. work->x[0] is overwritten. */
    void (*solve)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack, mpki_lanes_work *work,
                  R *x);
    /** r := b - A x, as if in about twice the precision; w [out] n reals: |A| |x| + |b|. */
    void (*residual)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack, const R *x,
                     const R *b, R *r, R *low, R *w);
    /** The same, and what it tells of x. work->x[1] := r; [2] and [3] are overwritten.
     *  quality [out] width; steps are left */
    void (*measure)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack,
                    const mpki_lane_outcome *lane, const R *x, const R *b, mpki_lanes_work *work,
                    mpki_lane_quality *quality);
    /** x := x + y in the lanes that are marked, and best := x before. */
    void (*advance)(int32_t n, const bool *mark, const R *y, R *x, R *best);
    /** x := best in the lanes that are marked. */
    void (*restore)(int32_t n, const bool *mark, const R *best, R *x);
} FN(lanes);

/** The table of precision T for `most` systems: the narrowest that has a lane for each, else the
 *  widest there is. METAPACK_CPU counts (core/cpu.h). */
const FN(lanes) * FN(cpu_lanes)(int most);

#endif
