/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_TUNING_H
#define MPKI_CPU_MULTIFRONTAL_TUNING_H
/** The numbers of this engine that only speed decides: name, value, what it counts. How they were
 *  found was not written down. */

enum {
    /** entries of a child's contribution from which on workers share its way into the parent */
    MPKI_GATHER_SHARED = 200000,
    /** children of a small front are added in shares of so many, at least, and in so many shares, at
     *  most, where the sums of these together have at most so many entries for each child. A share of
     *  boyd1's leaves takes 30 us, to clear and add its sum 1 us */
    MPKI_SHARE_CHILDREN = 512,
    MPKI_SHARES = 16,
    MPKI_SHARE_WORTH = 8,
    /** bytes that a worker takes from the arena for the numbers of small nodes */
    MPKI_NUMBERS_SLAB = 8192,
    /** bytes of late columns in a front from which on its memory is lent, since what the arena has for it
     *  would be too little or stay unused after it */
    MPKI_LENT = 1 << 18,
    /** bytes of columns that a front leaves to its parent from which on they wait apart */
    MPKI_LEFT = 1 << 12,
    /** rows of a child for each run of them, in the mean, from which on they are added run by run */
    MPKI_RUN_WORTH = 8,
    /** rows of a child from which on its runs are looked for at all */
    MPKI_ROWS_IN_RUNS = 16,
    /** entries that a worker adds between two questions to `cancelled` */
    MPKI_GATHER_ASKS = 1 << 20,
    /** flops of a front from which on it counts for progress, for `stop` and for `cancelled`: below
     *  that the atomics would cost more than the front */
    MPKI_FLOPS_COUNTED = 100000,
    /** entries of a panel from which on workers share it in a solve of one right-hand side, and
     *  rows, columns that one of them takes at a time, at most; entries that these columns have, at
     *  least */
    MPKI_PANEL_SHARED = 60000,
    MPKI_PANEL_ROWS_EACH = 512,
    MPKI_PANEL_COLUMNS_EACH = 32,
    MPKI_PANEL_COLUMNS_ENTRIES = 8192,
    /** right-hand sides that go over the tree together, at most: each entry of L is read once for all,
     *  where sixteen waited for memory (one core, L in memory, forwards: 12 GFLOP/s of sixteen sides, 42 of
     *  64); and columns of a panel that a worker takes at a time */
    MPKI_SIDES = 64,
    MPKI_SIDES_COLUMNS_EACH = 8,
    /** numbers of right-hand sides from which on workers share what a node takes and leaves, and that
     *  one of them moves at a time */
    MPKI_SIDES_MOVED = 1 << 15,
    MPKI_SIDES_MOVED_EACH = 1 << 13,
    /** nodes that a sweep is ahead of with its prefetches */
    MPKI_SWEEP_AHEAD = 2,
    /** entries of L, times right-hand sides, below which a solve of several is one worker's */
    MPKI_SOLVE_SHARED = 1000000,
    /** the costs of workers.c: what a core does in a microsecond; what a front has to cost for each
     *  worker beyond the first, when it is factored and in a solve; the cost of a solve below which
     *  one worker does it. Fitted to 15 matrices on 1 to 16 of 16 cores, where a wake takes 7 us: on these
     *  the rule predicts 1.07 times the best number's time for a walk in the mean (worst 1.20), 1.04 for a
     *  solve (1.13). bench/threads.py measures others */
    MPKI_COSTS_A_MICROSECOND = 6000,
    MPKI_SHARE_FACTOR = 4000000,
    MPKI_SHARE_SOLVE = 400000,
    MPKI_SOLVE_WORTH = 1800000,
    /** of what a node costs in a solve, of one side or of eight, the part that its parent waits for */
    MPKI_CHILD_SOLVE = 70,
    MPKI_CHILD_SIDES = 150,
    /** tasks for each worker into which a tree is cut to be factorized, and for solves: there workers
     *  who want the next one wait for each other; zenios' 128 tasks took 16 workers 0.3 ms each way */
    MPKI_TASKS_FACTOR = 12,
    MPKI_TASKS_SOLVE = 4,
    /** multiplications of a block of the selected inverse below which no worker helps with it */
    MPKI_INVERSE_SHARED = 2000000
};

#endif
