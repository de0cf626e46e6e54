/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_INVERSE_TUNING_H
#define MPKI_CPU_INVERSE_TUNING_H
/** The numbers of this engine that only speed decides: name, value, what it counts. How they were
 *  found was not written down. */

enum {
    /** columns that a worker takes at a time: of a triangle's inverse, of a pattern, of small dense
     *  systems */
    COLUMNS_EACH = 256,
    PATTERN_COLUMNS_EACH = 128,
    SMALL_COLUMNS_EACH = 32,
    /** work of an item of a product, in entries; what a row counts beside its own; work from which
     *  on threads share a product */
    PRODUCT_WORK = 16384,
    PRODUCT_ROW = 4,
    PRODUCT_SHARED = 4 * PRODUCT_WORK,
    /** parts of a running sum; entries from which on threads share it */
    SUM_PARTS = 64,
    SUM_WORTH = 1 << 15,
    /** chunks of columns of a transpose, at most, and for each thread; rows that a worker takes at
     *  a time */
    TURN_CHUNKS = 256,
    TURN_CHUNKS_A_THREAD = 4,
    TURN_ROWS_EACH = 1024
};

#endif
