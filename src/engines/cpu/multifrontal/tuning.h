/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_TUNING_H
#define MPKI_CPU_MULTIFRONTAL_TUNING_H
/** The numbers of this engine that only speed decides: name, value, what it counts. How they were
 *  found was not written down. */

enum {
    /** entries of a child's contribution from which on workers share its way into the parent */
    MPKI_GATHER_SHARED = 200000,
    /** entries that a worker adds between two questions to `cancelled` */
    MPKI_GATHER_ASKS = 1 << 20,
    /** flops of a front from which on it counts for progress, for `stop` and for `cancelled`: below
     *  that the atomics would cost more than the front */
    MPKI_FLOPS_COUNTED = 100000,
    /** entries of a panel from which on workers share it in a solve of one right-hand side, and
     *  rows, columns that one of them takes at a time */
    MPKI_PANEL_SHARED = 60000,
    MPKI_PANEL_ROWS_EACH = 512,
    MPKI_PANEL_COLUMNS_EACH = 32,
    /** nodes that a sweep is ahead of with its prefetches */
    MPKI_SWEEP_AHEAD = 2,
    /** entries of L below which starting threads costs more than they save in a solve */
    MPKI_SOLVE_SHARED = 1000000,
    /** multiplications of a block of the selected inverse below which no worker helps with it */
    MPKI_INVERSE_SHARED = 2000000
};

#endif
