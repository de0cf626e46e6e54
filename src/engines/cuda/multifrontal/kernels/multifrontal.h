/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_MULTIFRONTAL_H
#define MPKI_CUDA_MULTIFRONTAL_MULTIFRONTAL_H
/** The multifrontal LDLT on a device: what libmetapack asks of its CUDA module. Plain C; arrays lie
 *  in device memory unless said otherwise; arguments have been checked. plan/ has the plan of a
 *  tree, factor/walk.c goes over its steps; the functions here queue the kernels of a step.
 *
 *  Fronts are numbered by the plan, step by step: those of a task are consecutive, children before
 *  parents. A front has w columns that may be eliminated (its own, then those that its children
 *  delayed) over nrows = w + rows rows. Its panel lies in one piece:
 *      T a[ld * w], d[2 w], dinv[2 w]; int32_t id[w]
 *  by columns, ld = nrows rounded up to even; the first nelim columns are L's. Its contribution
 *  (rows x rows, lower triangle) lies in panels of 64 columns: panel k holds rows 64 k and on. */
#include "../tuning.h"
#include "engines/interface/rows.h"
#include "refine.h"
#include "values.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MPKI_FRONT_CONTRIBUTION = 64 /* columns of a panel of a contribution */ };

/** A front as the analysis has it; or some of its columns, with the rows below them: then the next
 *  columns, and the rows below those, are a front that has this one as a child. */
typedef struct mpki_cuda_node {
    int32_t own;             /**< columns of its own; 0: it only adds up contributions */
    int32_t rows;            /**< rows below them */
    int32_t first;           /**< position of its first column */
    int32_t shift;           /**< columns of the analysis's front before them */
    int32_t child, children; /**< its children: list entries child .. child + children - 1 */
    int32_t root;            /**< MPKI_CUDA_INNER, _ROOT, _NOT_LAST */
    int32_t parts;           /**< > 0: its contribution is made in so many parts, by other blocks */
    int32_t up;              /**< of its rows, those that are its parent's own columns */
    int32_t parts_up;        /**< parts in which all of these columns lie: the first so many */
    int64_t rel;             /**< where its rows begin in `rel` */
    int64_t ridx;            /**< and in `ridx` */
    int64_t scatter;         /**< its entries of A: list entries scatter .. */
    int64_t scatter_end;
    int64_t panel;        /**< bytes from the arena's begin; while nothing is delayed */
    int64_t contribution; /**< entries from the arena's begin */
} mpki_cuda_node;

/** What becomes of columns that fail: the front delays them to its parent (INNER); nothing can be
 *  delayed (ROOT); the next columns of the same front take them, without a search for pivots among
 *  them here (NOT_LAST). */
enum { MPKI_CUDA_INNER = 0, MPKI_CUDA_ROOT = 1, MPKI_CUDA_NOT_LAST = 2 };

/** What need not be tried at a front of a task, since it failed with the numbers before these: by a
 *  warp pivots without a search; the front by itself; by a block tiles without a search, from tile
 *  number k on (MPKI_CUDA_BY_BLOCK_SEARCHING + k). All lead to the numbers that they led to then. */
enum {
    MPKI_CUDA_QUICKLY = 0,
    MPKI_CUDA_SEARCHING = 1,
    MPKI_CUDA_BY_BLOCK = 2,
    MPKI_CUDA_BY_BLOCK_SEARCHING = 3
};

/** How far a front is: nothing of it is there; its panel is (and the parts of its contribution
 *  that `parts` counts); it could not be done, or one below it could not, so that its step has
 *  stopped. */
enum { MPKI_CUDA_WAITING = 0, MPKI_CUDA_DONE = 1, MPKI_CUDA_STOPPED = -1 };

/** What a factorization made of a front. */
typedef struct mpki_cuda_front_state {
    void *a; /**< the panel */
    int32_t w, nelim, ld;
    int32_t done;     /**< MPKI_CUDA_WAITING, ... */
    int32_t parts;    /**< of its contribution that are there, */
    int32_t parts_up; /**< and of the first node.parts_up among them */
} mpki_cuda_front_state;

/** What one thread block does: fronts first .. last, one after the other, each as a whole in shared
 *  memory; of a front that is too large for that its columns; or a part of its contribution. */
typedef struct mpki_cuda_task {
    int32_t first, last;
    int32_t size; /**< class: 0 .. MPKI_CUDA_CLASSES - 1 */
    int32_t part; /**< MPKI_CUDA_WHOLE, MPKI_CUDA_PANEL, or the part's number */
} mpki_cuda_task;

enum { MPKI_CUDA_WHOLE = -2, MPKI_CUDA_PANEL = -1 };

enum { MPKI_CUDA_CLASSES = 4 };

/** Why a task stopped. */
enum { MPKI_CUDA_RUNS = 0, MPKI_CUDA_TOO_LARGE = 1, MPKI_CUDA_NO_MEMORY = 2 };

/** Sums over the pivots of all fronts. */
typedef struct mpki_cuda_pivot_sums {
    unsigned long long positive, negative, zero, pairs;
    double max_d, min_d;
} mpki_cuda_pivot_sums;

/** What kernels report to the host, and the arena of panels that have grown. */
typedef struct mpki_cuda_flags {
    int32_t stuck;           /**< 1 + level whose task stopped; 0: none */
    int32_t reason;          /**< why, the largest of all */
    int32_t numeric;         /**< NaN or Inf was met */
    int32_t delayed;         /**< 1: some front has delayed columns to its parent */
    unsigned long long used; /**< address of the arena's free part */
    unsigned long long end;
    unsigned long long rejected, perturbed; /**< columns */
    mpki_cuda_pivot_sums sums;
    /** for report_to_host(), which leaves 0: entries in its list, blocks that have ended */
    int32_t changes, ended;
} mpki_cuda_flags;

/** What a factorization begins with: states and tickets are 0, *to is what is given. */
struct mpki_cuda_beginning {
    mpki_cuda_front_state *state;
    int32_t *ticket;
    int32_t fronts, tickets;
    mpki_cuda_flags *to;
    mpki_cuda_flags flags;
};
/** flags.stuck where a factorization did not begin: more than 1 + any level. */
enum { MPKI_CUDA_NOT_BEGUN = 0x7fffffff };

/** A front that is not as planned: it has grown, has delayed columns, or is not done. */
typedef struct mpki_cuda_change {
    mpki_cuda_front_state state;
    int32_t front, unused;
} mpki_cuda_change;

enum { MPKI_CUDA_CHANGES = 4096 };

/** What the host reads, in page-locked memory of its own. It waits until a kernel has written the
 *  number of this call to `scaled` or `walked`, after all else that it reports. */
typedef struct mpki_cuda_report {
    int32_t scaled, odd, uneven; /**< of values: the host has to look at them; more sweeps needed */
    int32_t more;   /**< sweeps that the last uneven ones took beyond those asked for */
    int32_t walked; /**< of a factorization: */
    mpki_cuda_flags flags;
    int32_t changes; /**< in any order; more than tree.listed: the others are not listed */
    mpki_cuda_change change[MPKI_CUDA_CHANGES];
} mpki_cuda_report;

/** The entries of A's lower triangle, as mpki_scatter has them; */
typedef struct mpki_cuda_entry {
    int64_t src;
    int32_t row, col;
} mpki_cuda_entry;

/** and in half the bytes, where no front has more rows and columns than these, nor A as many
 *  entries that 32 bits are too few for `src`: row | col << 16 | conjugated << 31. */
typedef struct mpki_cuda_short_entry {
    uint32_t src, place;
} mpki_cuda_short_entry;
enum { MPKI_CUDA_SHORT_ROWS = 1 << 16, MPKI_CUDA_SHORT_COLUMNS = 1 << 15 };

/** A tree and its numbers on the device. */
typedef struct mpki_cuda_tree {
    mpk_scalar scalar;
    int32_t hermitian;
    int32_t n, fronts;
    double threshold, small, shift, noise;
    const mpki_cuda_node *node;     /**< fronts */
    const int32_t *child;           /**< numbers of fronts */
    const int32_t *rel;             /**< local row in the parent's front */
    const int32_t *ridx;            /**< positions; only of fronts with columns of their own */
    const mpki_cuda_entry *scatter; /**< NULL: they are short */
    const mpki_cuda_short_entry *short_scatter; /**< or NULL */
    const void *ax;                             /**< values as given */
    const double *scale;                        /**< n, by position */
    mpki_cuda_front_state *state;               /**< fronts */
    uint8_t *way; /**< fronts: what numbers before these have taught: MPKI_CUDA_QUICKLY, ... */
    char *arena;  /**< panels */
    void *contribution;     /**< the arena, too */
    mpki_cuda_flags *flags; /**< one */
    int32_t listed;         /**< changes that report_to_host() lists, at most MPKI_CUDA_CHANGES */
} mpki_cuda_tree;

/** A block of columns that is done: its pivots q .. q + pivots - 1 reach columns from qe on. Those
 *  up to `next` belong to the block after it, which waits for them; the others get their update
 *  beside that. */
typedef struct mpki_cuda_block {
    int32_t q, qe, pivots, next;
} mpki_cuda_block;

/** A tile of at most MPKI_FRONT_TILE columns at p: of np pivots the first `good` ones pass. */
typedef struct mpki_cuda_tile {
    int32_t p, b, np, good, pairs, moved, quick;
    int32_t order[MPKI_FRONT_TILE];
} mpki_cuda_tile;

/** How a large front is eliminated: tile by tile; what tiles have left, column by column; it is
 *  done. A front goes from one to the next, never back: advance() and columns_kernel(). */
enum { MPKI_CUDA_IN_TILES = 0, MPKI_CUDA_BY_COLUMNS = 1, MPKI_CUDA_ELIMINATED = 2 };

/** A large front and how far it is. Its columns by position:
 *      0 .. p-1 eliminated | p .. e-1 this block's, untried | e .. qe-1 this block's, rejected |
 *      qe .. end-1 untried | end .. w-1 rejected
 *  The block of columns in work began at q; its pivots have not reached columns from qe on. */
typedef struct mpki_cuda_front {
    void *a; /**< the panel */
    void *c; /**< the contribution */
    /** ldw x block: L D of this block's pivots; two of them with large.ahead. Of a root that is one
     *  block by a queue: L D of its last two tiles, by turns */
    void *W;
    /** MPKI_FRONT_TILE^2 x 2 entries: L and L D of the tile; in a queue, of two tiles by turns */
    void *tile;
    /** L and L D of this block's pivots in slices (update/emulated.cuh), mpki_cuda_slice_bytes(); two
     *  of them with large.ahead; NULL without large.emulated */
    void *slices;
    int32_t index; /**< its number */
    int32_t nrows, w, own, ld, ldw, block;
    int32_t p, q, qe, e, end;
    int32_t b, np, good; /**< the tile in work: columns, pivots in it, those that pass */
    int32_t phase;       /**< MPKI_CUDA_IN_TILES, ... */
    int32_t start, pass; /**< p at the start of this pass, number of the pass */
    int32_t moved;       /**< the tile's order is not that of its columns */
    int32_t pairs;       /**< the tile has pivots of order 2 */
    int32_t quick;       /**< the tile was done without a search: all its pivots stand, or none */
    /** tiles in a row that could not be done without a search; from MPKI_FRONT_MISSES on it is not
     *  tried */
    int32_t slow;
    int32_t tile_128;        /**< the tile has up to 128 columns: all its pivots stand, or none */
    int32_t tile_128_failed; /**< a tile of 128 has failed: the next one has 32 columns */
    int32_t misses;          /**< how many tiles of 128 have failed */
    int32_t search;          /**< column by column: where the search goes on */
    /** pivot/queue.cuh: how many tiles, pieces of rows, and other pieces are done; thread blocks
     *  that have left. 0 between kernels */
    int32_t queue_tiles, queue_rows, queue_rest, queue_left;
    mpki_cuda_tile queue_tile[2]; /**< the last two tiles, by turns */
    int32_t order[MPKI_FRONT_TILE_128];
    mpki_cuda_block closed[2]; /**< the last two blocks of columns, by turns */
} mpki_cuda_front;

/** Large fronts of one level. Lists have count + 1 entries: a kernel's blocks of front k are
 *  those from list[k] on. */
typedef struct mpki_cuda_large {
    int32_t count;
    mpki_cuda_front *front;
    const int32_t *assembly, *rows, *inner, *outer;
    int32_t assembly_blocks, rows_blocks, inner_blocks, outer_blocks;
    /** 1: there are two W, and a block of columns begins while the update of the one before it goes
     *  on beyond its columns */
    int32_t ahead;
    int32_t turn; /**< number of the block of columns */
    /** tiles of 64 x 64 for each thread block of an update: of the one that the next block of
     *  columns waits for, or of all; of the one that goes on beside it */
    int32_t share, share_rest;
    int32_t tiles;    /**< MPKI_TILES_32, ... */
    int32_t queued;   /**< 1: a block of columns in tiles of 32 is one kernel (pivot/queue.cuh) */
    int32_t emulated; /**< 1: updates by emulated doubles (update/emulated.cuh) */
} mpki_cuda_large;

/** Digits of 8 bits that stand for an entry of L or L D in an update by emulated doubles. */
enum { MPKI_CUDA_SLICES = 7 };

/** Bytes of mpki_cuda_front.slices for a block of columns: digit by digit L's, an entry a byte, a
 *  row's `block` entries side by side; then those of L D; then an exponent for each row of both. */
MPKI_BOTH int64_t mpki_cuda_slice_bytes(int32_t ldw, int32_t block) {
    const int64_t bytes = 2 * (int64_t)ldw * (MPKI_CUDA_SLICES * (int64_t)block + 4);
    return (bytes + 255) & ~(int64_t)255;
}

/** Tiles of a block of columns: of 32 columns; of 128, where the device and the type of the entries
 *  allow them; of 128 and then one of 32, for the last block of columns of a root. */
enum { MPKI_TILES_32, MPKI_TILES_128, MPKI_TILES_128_THEN_32 };

/** Rows that a block of these kernels takes; columns of a block of an assembly. */
enum {
    MPKI_FRONT_ROWS = 128,
    MPKI_FRONT_INNER = 64,
    MPKI_FRONT_OUTER = 64,
    MPKI_FRONT_COLUMNS = 16
};

/** Tiles of the first `columns` columns of tiles of a lower triangle of `rows` rows of them. */
MPKI_BOTH int32_t mpki_front_tiles(int32_t rows, int32_t columns) {
    return columns * rows - columns * (columns - 1) / 2;
}

enum {
    MPKI_CUDA_SEGMENTS = 128, /* of a chain of several fronts, at most */
    MPKI_CUDA_IN_STRIP = 4    /* of them in a strip, at most */
};

/** Columns of one front: first .. first + count - 1. */
typedef struct mpki_cuda_segment {
    int32_t front, first, count;
} mpki_cuda_segment;

/** What a sweep takes in strips, a thread block each: one front, or several fronts that are columns
 *  of one, each the child of the next. Its pivots are cut into strips of at most MPKI_FRONT_STRIP;
 *  then follow strips of the rows below. Of one front alone strip k has pivots MPKI_FRONT_STRIP k
 *  and on; of several, strip k has segments strip[k] .. strip[k + 1] - 1. */
typedef struct mpki_cuda_chain {
    int32_t top, low; /**< the last front, which has the rows below; the first one */
    int32_t pieces;   /**< fronts */
    int32_t strips;   /**< of pivots */
    /** 1: of one front, with one strip of pivots and at most one of rows below, which are one piece
     *  forward */
    int32_t single;
    int32_t delayed;           /**< 1: children have delayed columns to it */
    int32_t strip;             /**< where its list begins in sweep.strip */
    int32_t segment, segments; /**< where its segments begin in sweep.segment */
    int32_t square;            /**< where the inverses of its strips begin in sweep.square */
    /** where its rows begin in sweep.contribution; < 0: it is a helper, without columns */
    int64_t contribution;
    /** where its copy begins in sweep.half_copy, in entries; < 0: it has none */
    int64_t half_copy;
    /** where its values begin in sweep.sent: MPKI_FRONT_STRIP for each strip, which all strips
     *  read; as many for each strip, which the one after it reads; as many for each slice but the
     *  first */
    int64_t sent;
} mpki_cuda_chain;

/** The copy of a chain of one front, ld the leading dimension of its panel, e its pivots: of each
 *  strip the rows below its own square, by columns. Entry (i, MPKI_FRONT_STRIP strip + k) lies at
 *  mpki_half_copy_place + i + k mpki_half_copy_leading. */
MPKI_BOTH int64_t mpki_half_copy_leading(int32_t ld, int32_t e, int32_t strip) {
    const int32_t end = (strip + 1) * MPKI_FRONT_STRIP;
    return ld - (end < e ? end : e);
}
MPKI_BOTH int64_t mpki_half_copy_place(int32_t ld, int32_t e, int32_t strip) {
    const int64_t first = (int64_t)strip * MPKI_FRONT_STRIP; /* of its columns */
    return first * ld - first * (first + MPKI_FRONT_STRIP) / 2 - ld +
           mpki_half_copy_leading(ld, e, strip);
}
MPKI_BOTH int64_t mpki_half_copy_entries(int32_t ld, int32_t e) {
    const int32_t strips = (e + MPKI_FRONT_STRIP - 1) / MPKI_FRONT_STRIP, last = strips - 1;
    return e == 0
               ? 0
               : mpki_half_copy_place(ld, e, last) + e +
                     (e - (int64_t)last * MPKI_FRONT_STRIP) * mpki_half_copy_leading(ld, e, last);
}

enum { MPKI_CUDA_TASK = 0, MPKI_CUDA_GATHER = 1, MPKI_CUDA_STRIP = 2, MPKI_CUDA_WARPS = 3 };

/** On the way back the rows beyond a chain's pivots are cut into slices of MPKI_FRONT_SLICE. The
 *  piece of a strip takes slice 0; slice k > 0 is a piece of kind MPKI_CUDA_SLICE + k. */
enum { MPKI_CUDA_SLICE = 4 };

/** A piece of a sweep, for one thread block. */
typedef struct mpki_cuda_piece {
    int32_t kind;
    int32_t first,
        last; /**< a task, also by warps: its fronts; of a chain: its number, the part's number */
} mpki_cuda_piece;

/** A sweep: vectors by position, nrhs of them, entry (position, r) at [position * nrhs + r]. */
typedef struct mpki_cuda_sweep {
    void *y; /**< sheets of n x nrhs: what L^-1 and D^-1 are applied to, in place */
    /* contributions lie in u, by rows; those of a chain's children lie side by side for each row of
     * the chain: */
    const int64_t
        *at; /**< fronts: where a front's own part of u begins; its work space ends there */
    const int64_t
        *slot; /**< fronts: where its rows begin in `slots`; < 0: they go to its own part */
    const int32_t *slots; /**< where they go in u */
    /** rows of chains, columns first, one more for each chain: where the contributions to the row
     *  begin in u */
    const int32_t *contribution;
    int32_t nrhs; /**< 1, 2, 4 or 8; of complex doubles at most 4 */
    /* right-hand sides in all: more than nrhs are so many sheets of nrhs each, swept side by side,
     * which have y, counters, values sent, u and x of their own: those of sheet 0 are given, and
     * the next ones lie behind them. Those of the last sheet beyond `columns` are nobody's */
    int32_t columns, sheets; /**< sheets > 1: nrhs is as large as it may be */
    int64_t sheet;           /**< bytes from a sheet's counters to the next one's */
    int32_t diagonal;        /**< L^-T: 1: of D^-1 y, 0: of y */
    /** 1: of few entries, so that it takes as long as the way from front to front */
    int32_t small;
    int32_t downs, ups;
    const mpki_cuda_piece *down; /**< pieces, children before parents */
    const mpki_cuda_piece *up;   /**< parents before children */
    const mpki_cuda_chain *chain;
    const mpki_cuda_segment *segment;
    const int32_t *strip;
    const int32_t *parent; /**< fronts: -1 for a root; of a chain, its last front */
    const int32_t *goal;   /**< fronts: count of `finished` when L^-1 is done with it */
    /* all bits set before the sweeps (`take`), `unset` bytes from ticket on; values are each its
     * own flag: */
    int64_t unset;          /* of all sheets */
    int32_t *ticket;        /**< 2: L^-1, L^-T */
    int32_t *finished;      /**< fronts: counters, from -1 on */
    void *sent, *sent_back; /**< pivots of chains: values that their blocks send to one another */
    /** contributions to rows of parents; memory for what does not fit into shared memory */
    void *u;
    /** 1: x and `sent_back` lie where u and `sent` do, and all is unset again before the way back */
    int32_t again;
    void *x; /**< n x nrhs: what L^-T makes */
    /* inverses of the squares on the diagonal of chains' strips, MPKI_FRONT_STRIP^2 each. NULL:
     * there is no memory for them, and each sweep makes its own */
    void *square;
    int32_t squared; /**< 1: they are there; 0: this sweep makes them */
    /** copies of chains of one front in half the precision; NULL: there is no memory for them */
    void *half_copy;
    int32_t rounds; /**< 1: L of such chains is rounded as the copies are; 0: it is read as is */
    /** 1: such chains are read from copies; 0: from panels, and L^-1 makes the copies */
    int32_t half_copied;
    /* where it goes besides: scale x by position, column r from r ldout on; NULL: nowhere */
    void *out;
    int64_t ldout;
    const int32_t *perm;
    const double *scale;
} mpki_cuda_sweep;

typedef struct mpki_cuda_direct_table {
    /** Bytes of shared memory that a front of nrows rows, w of them to be eliminated, takes in a
     *  task, of which so many columns are held: nrows, or w; 0: it lies where it will stay, which
     *  tasks of the largest class do with fronts that have grown. */
    int64_t (*task_bytes)(mpk_scalar scalar, int32_t nrows, int32_t w, int32_t columns);
    /** The most that a task of this class has. */
    int64_t (*class_bytes)(mpki_cuda *cuda, int32_t size);
    /** Blocks of this class that are at work at the same time. */
    int32_t (*class_blocks)(mpki_cuda *cuda, int32_t size);
    /** Between the host and the device, in the engines' stream; to_device 1 or 0. */
    int (*copy)(mpki_cuda *cuda, void *to, const void *from, int64_t bytes, int to_device);
    int (*clear)(mpki_cuda *cuda, void *to, int64_t bytes);
    int (*wait)(mpki_cuda *cuda);
    /** by_position[k] := scale[perm[k]] */
    int (*scale)(mpki_cuda *cuda, int32_t n, const int32_t *perm, const double *scale,
                 double *by_position);
    /** Before a factorization. */
    int (*begin)(mpki_cuda *cuda, const mpki_cuda_beginning *what);
    /** Leaves, fronts first .. first + count - 1: of one column, without children. As tasks. */
    int (*leaves)(mpki_cuda *cuda, const mpki_cuda_tree *tree, int32_t first, int32_t count,
                  int32_t level);
    /** Tasks of one class and step, children before parents: blocks of threads take them in this
     *  order and wait for what they need. A task that cannot go on, and those above it, are marked.
     *  ticket [inout] 0 before. beside: not 0: what was queued last are leaves, or tasks of a class
     *  below this one, in this step; both may be at work at the same time */
    int (*tasks)(mpki_cuda *cuda, const mpki_cuda_tree *tree, const mpki_cuda_task *task,
                 int32_t count, int32_t size, int32_t level, int32_t *ticket, int beside);
    /** Take away the marks of fronts first .. last - 1. */
    int (*unmark)(mpki_cuda *cuda, const mpki_cuda_tree *tree, int32_t first, int32_t last);
    /** Large fronts: entries of A and contributions of children. */
    int (*assemble)(mpki_cuda *cuda, const mpki_cuda_tree *tree, const mpki_cuda_large *large,
                    int32_t level);
    /** One block of columns of each: so many tiles, and what they do to the rest. */
    int (*block)(mpki_cuda *cuda, const mpki_cuda_tree *tree, const mpki_cuda_large *large,
                 int32_t tiles);
    /** What tiles have left of the fronts in MPKI_CUDA_BY_COLUMNS. */
    int (*columns)(mpki_cuda *cuda, const mpki_cuda_tree *tree, const mpki_cuda_large *large);
    /** state[] of fronts that are done. */
    int (*finish)(mpki_cuda *cuda, const mpki_cuda_tree *tree, const mpki_cuda_large *large);
    /** Waits, and reports what kernels have left in *tree->flags and which of the fronts first ..
     *  last - 1 have changed. sums: not 0: pivots of all fronts before `last` go to flags->sums,
     *  which are 0, 0, 0, 0, 0, infinity before.
     *  report [out] in force until the next call */
    int (*report_to_host)(mpki_cuda *cuda, const mpki_cuda_tree *tree, int32_t first, int32_t last,
                          int sums, const mpki_cuda_report **report);
    /** D (2 n), D^-1 (2 n), positions (n) in the order of `at` (fronts: place of a front's first
     *  pivot). */
    int (*get)(mpki_cuda *cuda, const mpki_cuda_tree *tree, const int32_t *at, void *d, void *dinv,
               int32_t *id);

    /** y := scale b by position, and x := scale y back; perm NULL: in the same order; scale NULL:
     *  1. Beside it all bits of so many bytes, a multiple of 8, are set: what sweeps find unset.
     *  wanted [in] NULL; else, where 0 lies there, `y` is as it was, and the sweeps that begin with
     *              `unset` do nothing
     *  zero   [in] so many bytes there, a multiple of 8, become 0, in any case; NULL: none
     *  columns     of b and x; y: sheets of nrhs, zeros beyond the last column */
    int (*take)(mpki_cuda *cuda, mpk_scalar scalar, int32_t n, int32_t nrhs, int32_t columns,
                const int32_t *perm, const double *scale, const void *b, int64_t ldb, void *y,
                void *unset, int64_t bytes, const unsigned long long *wanted, void *zero,
                int64_t zeros);
    int (*give)(mpki_cuda *cuda, mpk_scalar scalar, int32_t n, int32_t nrhs, int32_t columns,
                const int32_t *perm, const double *scale, const void *y, void *x, int64_t ldx);
    /** y := L^-1 y; x := L^-T y, or L^-T D^-1 y. */
    int (*forward)(mpki_cuda *cuda, const mpki_cuda_tree *tree, const mpki_cuda_sweep *s);
    int (*backward)(mpki_cuda *cuda, const mpki_cuda_tree *tree, const mpki_cuda_sweep *s);
    /** D^-1; absolute: |D|^-1, real and Hermitian matrices. */
    int (*diagonal)(mpki_cuda *cuda, const mpki_cuda_tree *tree, const mpki_cuda_sweep *s,
                    int absolute);
    const mpki_cuda_refine_kind *refine[4]; /**< s d c z: refine.h */
    const mpki_cuda_values_kind *values[4]; /**< s d c z: values.h */
    /** Have the kernels of a factorization with such entries on the device, which else each comes to with its
     *  first launch, and the memory through which they report. */
    int (*load)(mpki_cuda *cuda, mpk_scalar scalar);
    /** Operations in single precision that the device does in the time of one in double. */
    int (*doubles_slower)(mpki_cuda *cuda);
} mpki_cuda_direct_table;

extern const mpki_cuda_direct_table mpki_cuda_direct_functions;

#ifdef __cplusplus
}
#endif
#endif
