/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_WORKERS_H
#define MPKI_CPU_MULTIFRONTAL_WORKERS_H
/** How many workers a walk over the tree pays for: by its work, its longest path and what waking a
 *  worker costs; later by how busy they were. The bits do not depend on it. */
#include "engines/interface/engine.h"

/** Numbers of workers for a factorization, and for a solve with one right-hand side or several; and
 *  the seconds that these are expected to take, by the plan, 0: not asked. */
typedef struct mpki_useful {
    int factor, solve, sides;
    double factor_s, solve_s, sides_s;
} mpki_useful;
#define MPKI_USEFUL(all) ((mpki_useful){.factor = (all), .solve = (all), .sides = (all)})

/** What a node costs where a tree is factorized, and in a solve with one right-hand side, both ways: in 6000ths of a
 *  microsecond. */
double mpki_walk_cost(const mpki_tree_view *tree, int32_t s);
double mpki_sweep_cost(const mpki_tree_view *tree, int32_t s);

/** At most `threads`, and no more than there are cores. A pool is made only for trees that are large
 *  enough. Without memory to find out they are 1, and the context has the error. */
mpki_useful mpki_useful_workers(mpk_context *ctx, const mpki_tree_view *tree, int threads);
/** The same for cores without end, wake: seconds that it takes to wake a worker. None of the
 *  three is expected to take longer with more threads. */
mpki_useful mpki_useful_of_plan(mpk_context *ctx, const mpki_tree_view *tree, int threads,
                                double wake);

/** What a factor has learnt of its own walks. */
typedef struct mpki_pace {
    int workers;   /* of the next walk; 0: by the plan */
    int walks;     /* with that many; the first one's time is that of new memory, and does not
                      count */
    int best;      /* workers of the quickest walk that counts; 0: none does yet */
    double best_s; /* what it took */
    bool settled;
} mpki_pace;

/** A walk of `workers` took that long, and all together worked for busy_s: one step down where they
 *  waited most of the time, and up again to those of the quickest walk where one with fewer takes longer than
 *  that by more than clocks differ: steps that lose little each do not add up. */
void mpki_pace_learn(mpki_pace *pace, int workers, double wall_s, double busy_s);

#endif
