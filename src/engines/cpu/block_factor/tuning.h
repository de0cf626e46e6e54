/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BLOCK_FACTOR_TUNING_H
#define MPKI_CPU_BLOCK_FACTOR_TUNING_H
/** The numbers of this engine that only speed or memory decides: name, value, what it counts. How
 *  they were found was not written down; those of a conversion to rows are rather less than
 *  bench/sweeps.py finds. */

enum {
    /** entries of the work blocks of a chunk, at least and at most: they should stay in the L2
     *  cache, and be few beside those of the matrix */
    CHUNK_LEAST = 1 << 13,
    CHUNK_MOST = 1 << 17,
    /** entries of update lists that are kept for each entry of A, at most */
    KEPT_SHARE = 8,
    /** bytes by which the arena grows where huge pages are worth it */
    HUGE_STEP = 8 << 20,
    /** bytes of blocks below which it does not pay to wake other threads in a solve; frames of a
     *  level set, on average, below which there is nothing to share */
    SHARE_BYTES = 1 << 18,
    SHARE_WIDTH = 3,
    /** frames that a worker converts to rows at a time; work of a chunk of rows: entries, and so
     *  much for each row; frames that are sorted together, by how many lengths; bytes that are
     *  taken without asking what is free */
    ROWS_FRAMES_EACH = 256,
    ROWS_CHUNK_WORK = 4096,
    ROWS_ROW_WORK = 4,
    ROWS_WINDOW = 512,
    ROWS_LENGTHS = 64,
    ROWS_FREE_ASKED = 1 << 26,
    /** rows that a worker takes at a time, and frames that it gathers, on the way to approximate
     *  inverses */
    INVERSE_ROWS_EACH = 4096,
    INVERSE_FRAMES_EACH = 64
};

/** Time of a block with one vector, in entries of a row (0.6 to 0.8 ns): for finding it, and for
 *  each entry by its format. */
#define ROWS_CALL 40.0
#define ROWS_DENSE_ENTRY 0.7
#define ROWS_BITMAP_ENTRY 2.5
/** The part of the blocks' time that rows must leave at most. */
#define ROWS_WORTH 0.8
/** A row of all entries takes one loop where a mixed frame takes two and its blocks: so much more
 *  time of entries does it save, with frames of several rows. */
#define ROWS_PURE 1.4

#endif
