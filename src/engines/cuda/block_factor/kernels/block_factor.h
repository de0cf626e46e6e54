/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_BLOCK_FACTOR_H
#define MPKI_CUDA_BLOCK_FACTOR_BLOCK_FACTOR_H
/** A factorization on blocks on the device: what libmetapack asks of its CUDA module. Plain C.
 *  Words as in engines/interface/engine.h; the rules are those of
 *  engines/cpu/block_factor/phases_t.c and engines/cpu/block_factor/store_t.c. Frames have at most
 *  MPKI_STORE_ROWS rows. All pointers are device memory unless they are said to be host memory. */
#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A or its transpose, by rows. */
typedef struct mpki_cuda_rows {
    const int64_t *ptr; /**< n + 1 */
    const int32_t *col;
    const void *val; /**< of mpki_cuda_stage.a_scalar */
    /** by entry: (index in the list of its column's frame, from the diagonal on) * 32 + row in its
     *  block; < 0: not below the diagonal of blocks */
    int32_t *slot;
} mpki_cuda_rows;

/** Frames of one level set, or some of them, that are computed together. Item: a block that is due.
 *  Items of a frame follow each other: the diagonal block first, if it is due. */
typedef struct mpki_cuda_portion {
    int32_t level, first, end;    /**< of `who` */
    int64_t first_item, end_item; /**< of the items */
    int64_t work, entries;        /**< of its work blocks: the first of them, how many */
    /** portions from this one on whose blocks are loaded at once; 0: they are there */
    int32_t loads;
    int64_t words;  /**< that it may take in the arena, at most */
    int32_t border; /**< 1: frames of the dense pivot, whose blocks go to border_s */
} mpki_cuda_portion;

/** Numbers of a frame's pivots; they count once it is accepted. */
typedef struct mpki_cuda_pivots_of {
    int32_t positive, negative, zero, perturbed, two_by_two;
    int32_t accepted;
    double smallest, largest;
} mpki_cuda_pivots_of;

/** What kernels report to each other and, at the end, to the host. */
typedef struct mpki_cuda_notes {
    int64_t used;                 /**< words of the arena in use */
    int64_t leftover;             /**< entries that earlier blocks did not use */
    unsigned long long flops;     /**< of updates and solves */
    unsigned long long dropped;   /**< entries */
    int32_t broken, failed, stop; /**< frames, INT32_MAX: none; 1: later portions do nothing */
    int32_t overflow;             /**< 1: the arena was too small; cannot be */
} mpki_cuda_notes;

/** Values that later blocks are computed from: those of the factor, or a sweep's. */
typedef struct mpki_cuda_values {
    uint32_t *words;
    int64_t *lower, *upper;   /**< by block, offsets in words; upper == lower unless LDU */
    int64_t *pivot, *pivot_n; /**< by frame */
    void *d, *dinv;           /**< 2 n */
} mpki_cuda_values;

typedef struct mpki_cuda_stage {
    mpk_scalar scalar, a_scalar; /**< of the factor; of A */
    int32_t n, m, largest;       /**< rows; frames; rows of the largest */
    int64_t nblocks;
    int32_t ldu, hermitian, a_hermitian; /**< conjugated factors; A = A^H */
    int32_t type, pivoting;              /**< mpk_factor_type, mpk_pivoting */
    int32_t complete, last, relaxed, lifted;
    int32_t butterfly; /**< 1: of frames that were pushed back; 2: of all */
    int32_t whole;     /**< thresholds count the column of the diagonal block, not its unit entry */
    int32_t sweep;     /**< 0: level sets; 1: all blocks from `from`; 2: and these are stored */
    int32_t by_frame;  /**< floor is relative to frame_norm */
    int64_t seed;
    double floor, bound, size, omega, drop_tolerance, shift, diagonal_shift;
    /* the matrix */
    mpki_cuda_rows a, at; /**< at: of a general matrix; else empty */
    const double *scale, *row_scale;
    const int32_t *row_of;                   /**< n or NULL */
    const int32_t *perm, *iperm, *of, *pair; /**< n; pair may be NULL */
    const int32_t *bptr, *place, *pushed;    /**< m + 1, m, m: how often a frame was pushed back */
    const int64_t *ptr, *diagonal, *block;   /**< lists */
    const int32_t *other, *there;            /**< lists: the frame across, and its place */
    const int64_t *capacity;                 /**< nblocks */
    double *frame_norm;            /**< m: largest 1-norms of their columns of the scaled A */
    unsigned char *final, *reject; /**< m */
    unsigned char *want, *stored;  /**< nblocks */
    uint32_t *held, *held_u;       /**< nblocks: values that the processor would hold +
                                            format * 65536 */
    mpki_cuda_pivots_of *pivots;   /**< m */
    /* what is due */
    const int32_t *who;      /**< frames that have items, by level sets */
    const int64_t *first;    /**< by place in `who`, and one more: its first item */
    const int64_t *entry;    /**< items: index in the lists */
    const int32_t *item_who; /**< items: place in `who` */
    const int64_t *slot;     /**< lists: where the work block begins in its portion; < 0: not due */
    void *border_s; /**< border x border by columns, lower triangle: what frames of the dense pivot
                         leave */
    const int32_t *border_start;      /**< m: first row there; < 0: the frame is not in it */
    int32_t border;                   /**< rows of the dense pivot */
    const mpki_cuda_portion *portion; /**< host */
    int32_t portions;
    mpki_cuda_values from, to; /**< the same, but in sweeps */
    int64_t words;             /**< capacity of to.words, in words */
    mpki_cuda_notes *notes;
    /* work space of a portion */
    void *work, *work_u;    /**< work blocks, rows x cols by rows; LDU: of the other half too */
    void *pivot_work;       /**< by frame: M, (N,) M D^-1, (N D^-1,) D, D^-1; pivot_stride apart */
    int64_t pivot_stride;   /**< entries */
    void *norm, *threshold; /**< reals: by item, by frame: (1 + ldu) x largest. threshold: with
                                 `whole` first the square of the diagonal block's column */
    void *most;             /**< reals, by item: largest modulus, NaN and infinity stay */
    int64_t *need;          /**< items */
    int64_t *where; /**< (1 + ldu) (items + frames): words of packed blocks, then addresses */
    void *stream;
    int32_t unlimited;  /**< no block has a capacity: entries are dropped by thresholds alone */
    int32_t first_come; /**< leftover capacity goes to whoever asks first (deterministic off) */
    int32_t pulled; /**< the module's own: updates are in the work blocks, their flops in `need` */
} mpki_cuda_stage;

/** What all blocks hold. */
typedef struct mpki_cuda_held {
    int64_t kept, dense, bitmap, rows;
    double fill_out;
} mpki_cuda_held;

typedef struct mpki_cuda_blocks_table {
    /** The stream of engines for sparse matrices. */
    void *(*stream)(mpki_cuda *cuda);
    /** Memory on the device := a byte. */
    int (*set)(mpki_cuda *cuda, void *ptr, int value, int64_t bytes);
    int (*move)(mpki_cuda *cuda, void *to, const void *from, int64_t bytes); /**< on the device */
    /** Page-locked memory for what is sent next, half 0 or 1: waits until what lies there has been
     *  sent. And: send the first bytes of it, queued. */
    int (*half)(mpki_cuda *cuda, int half, void **memory, int64_t *bytes);
    int (*send)(mpki_cuda *cuda, int half, void *to, int64_t bytes);
    /** Entries of pivot_work for a frame; least bytes of `where`. */
    int64_t (*pivot_stride)(const mpki_cuda_stage *b);
    int64_t (*sum_bytes)(void);
    /** Find the slots of A's entries in the lists. */
    int (*place)(mpki_cuda *cuda, const mpki_cuda_stage *b);
    /** Portions begin .. end-1, queued. */
    int (*run)(mpki_cuda *cuda, const mpki_cuda_stage *b, int32_t begin, int32_t end);
    /** Sweeps: `to` := A / size, D := size, queued. */
    int (*start)(mpki_cuda *cuda, const mpki_cuda_stage *b);
    /** Largest row sum of the scaled A, and those of frames, which stay there; waits for it. */
    int (*norm)(mpki_cuda *cuda, const mpki_cuda_stage *b, double *norm);
    /** Sums over the blocks and the accepted frames; host [out]; waits for them. `where` is work
     *  space of these two. */
    int (*sum)(mpki_cuda *cuda, const mpki_cuda_stage *b, mpki_cuda_held *held,
               mpki_cuda_pivots_of *pivots);
    /** v := L^-1 as mpki_cuda_store.border_l has it; l: n x n by columns, unit lower triangle;
     *  queued. */
    int (*invert)(mpki_cuda *cuda, mpk_scalar scalar, int32_t n, const void *l, void *v);
} mpki_cuda_blocks_table;

extern const mpki_cuda_blocks_table mpki_cuda_blocks_functions;

#ifdef __cplusplus
}
#endif
#endif
