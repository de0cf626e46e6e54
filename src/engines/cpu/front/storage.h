/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_FRONT_STORAGE_H
#define MPKI_CPU_FRONT_STORAGE_H
/** How the columns of a front, and its contribution, lie in memory: as a trapezoid of panels; and
 *  what else a walk over fronts takes, for the walk and for who predicts it. */
#include <stdbool.h>
#include <stdint.h>

enum { MPKI_PANEL = 128, MPKI_TILE = 32 };

/** From one column to the next: columns of few rows lie close together, for there may be very many
 *  fronts of these, and vectors need not be aligned. */
static inline int64_t mpki_leading(int64_t rows) {
    enum { FEW = 48 };
    return rows <= FEW ? rows : (rows + 7) & ~(int64_t)7;
}
/** Entries before panel k. */
static inline int64_t mpki_panel_offset(int64_t ld0, int64_t k) {
    return MPKI_PANEL * (k * ld0 - MPKI_PANEL * (k * (k - 1) / 2));
}
/** Entries of a trapezoid of `cols` columns over `rows` rows. */
static inline int64_t mpki_trapezoid(int64_t rows, int64_t cols) {
    int64_t ld0 = mpki_leading(rows), k = cols / MPKI_PANEL;
    return mpki_panel_offset(ld0, k) + (cols - k * MPKI_PANEL) * (ld0 - k * MPKI_PANEL);
}

/** Entries of a front of a general matrix: of w columns, and of the rest of w rows (square.h). */
static inline int64_t mpki_square_size(int64_t nrows, int64_t w) {
    return (mpki_leading(nrows) + mpki_leading(nrows - w)) * w;
}
/** Entries of its contribution: all m rows and columns, mpki_leading(m) apart. */
static inline int64_t mpki_square_contribution(int64_t m) {
    return mpki_leading(m) * m;
}

/** Entries of one of the blocks that a worker packs and keeps, for fronts of at most n rows. */
static inline int64_t mpki_front_block(int64_t n) {
    const int64_t side = n < MPKI_PANEL ? (n + 15) & ~(int64_t)15 : MPKI_PANEL; /* whole slivers */
    return side * side;
}
/** Entries of a worker's space: four blocks, four tiles of a panel, D, names. */
static inline int64_t mpki_front_work(int64_t n) {
    return 4 * mpki_front_block(n) + 4 * MPKI_TILE * MPKI_PANEL + 8 * MPKI_PANEL + 64;
}

/** Blocks of rows of a front whose L is kept in low rank: those of a panel each in the fully summed
 *  part, then as many rows each of those below. */
static inline int64_t mpki_low_blocks(int64_t nrows, int64_t w) {
    return (w + MPKI_PANEL - 1) / MPKI_PANEL + (nrows - w + MPKI_PANEL - 1) / MPKI_PANEL;
}
static inline int64_t mpki_low_of(int64_t w, int64_t row) {
    return row < w ? row / MPKI_PANEL : (w + MPKI_PANEL - 1) / MPKI_PANEL + (row - w) / MPKI_PANEL;
}
static inline int64_t mpki_low_first(int64_t w, int64_t block) {
    const int64_t own = (w + MPKI_PANEL - 1) / MPKI_PANEL;
    return block < own ? block * MPKI_PANEL : w + (block - own) * MPKI_PANEL;
}
static inline int64_t mpki_low_end(int64_t nrows, int64_t w, int64_t block) {
    const int64_t end = mpki_low_first(w, block) + MPKI_PANEL,
                  all = block * MPKI_PANEL < w ? w : nrows;
    return end < all ? end : all;
}

/** A block of L: u z with u rows x rank, z rank x columns, without gaps; or, rank < 0, all of it. */
typedef struct mpki_low_block {
    void *u, *z;  /* rank < 0: u is the block, NULL as long as the front has it */
    int32_t rank; /* MPKI_LOW_FULL, MPKI_LOW_MOVED, or at least 0 */
} mpki_low_block;

enum {
    MPKI_LOW_FULL = -1,     /* it does not pay */
    MPKI_LOW_MOVED = -2,    /* rows of other blocks came into it */
    MPKI_LOW_COLUMNS = 256, /* of a front from which on its blocks are compressed, */
    MPKI_LOW_ROWS = 1024    /* and its rows */
};

/** Are blocks of such a front compressed, where that is asked for? */
static inline bool mpki_low_pays(int64_t nrows, int64_t w) {
    return w >= MPKI_LOW_COLUMNS && nrows >= MPKI_LOW_ROWS;
}

/** What a front of w columns with m rows below costs, in 6000ths of a microsecond: its flops, and something
 *  for moving its entries and for starting; a leaf of one column costs next to nothing. By 102
 *  matrices on one core, times of the walk: half of them within 1.3, one standard deviation 1.5. */
static inline double mpki_node_cost(double w, double m, double flops, bool leaf) {
    if (leaf && w == 1) return 400 + 110 * (1 + m);
    return flops / 6 + 28 * w * (w + m) + 3 * m * m + 80 * (w + m) + 3200;
}

enum {
    MPKI_WORTH_THREADS = 2400000, /* the cost of a tree below which a second worker is too late */
    /* bytes from which small contributions are cut: with what is kept beside them (core/memory.c)
     * nine times 2^14, so that four of the largest fit */
    MPKI_SLAB = 9 * (1 << 14) - 128,
    MPKI_NODE_BYTES = 48 /* that a walk keeps for a node, at most, but for tasks */
};

/** Does this node of a symmetric matrix keep what it has for its parent in its own numbers? */
static inline int mpki_is_small_leaf(const int32_t *sptr, const int32_t *child_ptr, int32_t s) {
    return child_ptr[s] == child_ptr[s + 1] && sptr[s + 1] - sptr[s] <= 2;
}

/** Small contributions: of at most MPKI_SMALL bytes, by size; sizes are 64 bytes apart up to
 *  MPKI_SMALL_FINE, and an eighth above. A slab begins with MPKI_SMALL_STEP bytes of its own. */
enum { MPKI_SMALL = 1 << 15, MPKI_SMALL_FINE = 4096, MPKI_SMALL_STEP = 64, MPKI_SMALL_SIZES = 89 };

/** Which list a block of so many bytes belongs to, and its size there. */
static inline int mpki_small_list(int64_t bytes, int64_t *size) {
    int list = MPKI_SMALL_FINE / MPKI_SMALL_STEP, shift = 9; /* of an eighth of 4096 */
    if (bytes <= MPKI_SMALL_FINE) {
        list = (int)((bytes + MPKI_SMALL_STEP - 1) / MPKI_SMALL_STEP);
        *size = list * MPKI_SMALL_STEP;
        return list;
    }
    for (; bytes > (int64_t)16 << shift; shift++) list += 8;
    const int64_t eighths = ((bytes - 1) >> shift) - 7;
    *size = (eighths + 8) << shift;
    return list + (int)eighths;
}

#endif
