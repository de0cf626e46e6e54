/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_FACTOR_TUNING_H
#define MPKI_FACTOR_TUNING_H
/** When a factorization is given up (mpki_stop) and another analysis is tried: name, value,
 *  what it counts. The constants let small matrices finish, for which an analysis costs as
 *  much. How they were found was not written down. */

/** flops that any factorization may take */
#define MPKI_STOP_LEAST_FLOPS 2e8
enum {
    /** by an analysis of these values: times the predicted flops */
    MPKI_STOP_TIMES = 3,
    /** rejected columns that any factorization may have, besides n */
    MPKI_STOP_LEAST_REJECTED = 1000,
    /** by an analysis of older values: times the predicted flops, and flops for each entry of L */
    MPKI_STOP_OLD_TIMES = 2,
    MPKI_STOP_OLD_ENTRY = 200,
    /** rejected columns besides half of n */
    MPKI_STOP_OLD_REJECTED = 100,
    /** times what the first factorization with the same analysis took */
    MPKI_STOP_FIRST_TIMES = 2,
    /** with an extended core: times the predicted flops and times n, in rejected columns; flops for
     *  each column */
    MPKI_STOP_CORE_TIMES = 50,
    MPKI_STOP_CORE_COLUMN = 200000,
    /** a tree without late columns is made anew where more than so many times as many come late; rows
     *  for which that takes as long as a factorization on a device (H200: 10 ms for 19 000 rows,
     *  which factorize in 2.1, 25 for 90 000 and 5.7, 22 for 67 000 and 4.8) */
    MPKI_LATE_TIMES = 2,
    MPKI_LATE_ROWS = 4000
};

#endif
