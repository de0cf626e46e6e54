/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_STORE_H
#define MPKI_CUDA_BLOCK_FACTOR_STORE_H
/** A finished factor on blocks as it lies on a device: what blocks/ leaves and sweeps/ reads. Plain
 *  C. All pointers but `level` are device memory; entries are of `scalar`.
 *
 *  A block of at most 32 rows and columns is packed into words of 4 bytes: a mask of the rows that
 *  have entries (bit r: row r); for each of these in order a mask of its columns; if their number
 *  is even, a word of padding, so that the values begin at a multiple of 8 bytes; then the values,
 *  row by row. It begins at a multiple of 16 bytes. A dense block has all bits set. Pivot blocks
 *  are -M (and -N), packed likewise; so every kernel does y -= B x (Thuerck 2021, sec. 6.4, has
 *  masks of whole blocks; ours name the rows first, since most blocks of L are nearly empty). */
#include "engines/cuda/module/api.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MPKI_STORE_ROWS = 32 }; /* most rows of a frame on a device */

/** Words before the values of a packed block with `rows` nonempty rows. */
#define MPKI_STORE_HEAD(rows) (((rows) + 2) / 2 * 2)

typedef struct mpki_cuda_store {
    mpk_scalar scalar;
    int32_t n, m;           /**< rows; frames */
    int32_t ldu, hermitian; /**< two halves; L^H in place of L^T */
    const int32_t *bptr;    /**< m + 1: first position of each frame */
    int32_t levels;
    const int32_t *level;    /**< host, levels + 1: level set l is frame[level[l]] .. */
    const int32_t *frame;    /**< m: frames by level sets */
    const int64_t *ptr;      /**< m + 1: frame f's list, by place: first its row of L */
    const int64_t *diagonal; /**< m: where in the lists the frame itself stands; then its column */
    const int32_t *other;    /**< ptr[m]: the frame across */
    const int64_t *block;    /**< ptr[m]: number of the block */
    int64_t nblocks;
    const uint32_t *words;  /**< packed blocks */
    const int64_t *lower;   /**< nblocks: where in `words` a block begins; < 0: no entries */
    const int64_t *upper;   /**< likewise U^T; == lower unless ldu */
    const int64_t *pivot;   /**< m: -M */
    const int64_t *pivot_n; /**< m: -N; == pivot unless ldu */
    const void *d,
        *dinv; /**< 2 n entries: of frame f from 2 bptr[f] on, as kernels/blocks.h has D */
    /** The dense pivot that ends the stages, of the last rows by level sets, whose frames have M =
     *  D = I and no blocks below: P^T L D L^T P. 0 rows: there is none. */
    int32_t border;
    /** border x border: off the diagonal in both triangles L^-1, by rows in the lower one, by
     *  columns (not conjugated) in the upper one */
    const void *border_l;
    const int32_t *border_row; /**< border: row k of P y is row border_row[k] of y */
    const void *border_dinv;   /**< 2 border, as dinv */
} mpki_cuda_store;

#ifdef __cplusplus
}
#endif
#endif
