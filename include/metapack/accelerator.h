/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_ACCELERATOR_H
#define METAPACK_ACCELERATOR_H
/** The accelerator interface: what a machine must offer so that the meta-algorithm runs on it
 *  (Thuerck 2021, sec. 8.3.4; Goal 2, sec. 8.2.2). A table of functions: memory, and kernels on
 *  batches of dense blocks. Indices stay with the host, values on the accelerator; calls are
 *  synchronous, the items of a batch independent. What the accelerator cannot do says its table,
 *  and the meta-algorithm goes round it:
 *    no atomics          downdates come in conflict-free subsets of level sets (sec. 8.3.3)
 *    no inner pivoting   a rejected pivot block gets a new random butterfly in each later stage (8.3.1)
 *    no load and store   blocks are dense in its memory
 *  It factorizes A = L D L^T on blocks, D diagonal; real symmetric matrices in double precision,
 *  method ildlt with nothing dropped. Where a pivot must be replaced, in the last stage, the host
 *  does it. Options that it cannot honour are refused, MPK_ERR_UNSUPPORTED: pivoting is complete where
 *  factorize permutes and none where it does not, schedule is subsets, or atomic with atomics, and
 *  device is cpu. docs/guide/accelerators.md; the processor's own table is mpk_accelerator_cpu(). */
#include <metapack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MPK_ACCELERATOR_BUFFERS = 8 };

/** A buffer that the user's kernels share: one for each block, or one for each pivot (a block on
 *  the diagonal). Kernels see it as a structure of arrays. */
typedef struct mpk_accelerator_buffer {
    const char *name;
    int of_pivot;       /**< else of each block */
    int64_t item_bytes; /**< > 0; zeroed when it is made */
} mpk_accelerator_buffer;

/** A batch: item i works on block[0][i], block[1][i], ... Blocks are n x n doubles by rows, in the
 *  accelerator's memory; smaller ones are padded with zeros, pivots with a number on the
 *  diagonal. */
typedef struct mpk_accelerator_batch {
    int32_t n;
    int64_t count;
    void *const *block[3]; /**< count each, or NULL where a kernel takes fewer */
    void *const *pivot;    /**< count: L below, D on the diagonal; NULL where a kernel takes none */
    int32_t *const *perm;  /**< count: n each, of the pivot; NULL without inner pivoting */
    /** count each: buffer number k of block[0] or of its pivot; NULL behind the last one */
    void *const *buffer[MPK_ACCELERATOR_BUFFERS];
    double small; /**< factorize: pivots must be larger in modulus */
    int32_t
        *trouble; /**< factorize, [out] count, host: 0, or 1 + the row whose pivot is too small or
                           not finite; such an item leaves its block as it was */
    double *
        largest; /**< factorize, solve: [out] count, host: the largest modulus of L; NaN if any is */
} mpk_accelerator_batch;

typedef mpk_status mpk_accelerator_kernel(void *self, const mpk_accelerator_batch *batch);

typedef struct mpk_accelerator {
    size_t struct_size; /**< sizeof(mpk_accelerator) */
    const char *name;   /**< "systolic array, 32 x 32 cells": for reports */
    void *self;         /**< passed to all functions */

    /* capabilities */
    int atomics;  /**< several items of a downdate may have one block[0] */
    int pivoting; /**< factorize permutes rows and columns, and fills perm */
    unsigned
        precisions; /**< bit s: it computes in mpk_scalar s. The kernels here are for MPK_D, the
                                one that the engine asks for so far */
    int32_t largest_block; /**< n of a block, 1 .. 128 */
    int32_t only_block;    /**< the one n that it takes; 0: all up to largest_block */

    int32_t nbuffers;
    mpk_accelerator_buffer buffers[MPK_ACCELERATOR_BUFFERS];

    /** `bytes` of its memory. MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*allocate)(void *self, int64_t bytes, void **p);
    void (*release)(void *self, void *p);
    mpk_status (*upload)(void *self, void *to, const void *from, int64_t bytes);
    mpk_status (*download)(void *self, void *to, const void *from, int64_t bytes);

    /* kernels: MPK_OK | MPK_ERR_DEVICE, _NUMERIC */
    mpk_accelerator_kernel *factorize; /**< block[0] (both triangles): P C P^T = L D L^T in place */
    mpk_accelerator_kernel *solve;     /**< block[0] := block[0] L^-T D^-1, of pivot */
    mpk_accelerator_kernel *downdate;  /**< block[0] -= block[1] D block[2]^T, of pivot */
    mpk_accelerator_kernel *transpose; /**< block[0] := block[0]^T */
    mpk_accelerator_kernel *zero_out;  /**< block[0] := 0 */
    mpk_accelerator_kernel *permute; /**< block[0]: column k := column perm[k]; NULL if !pivoting */

    /** Blocks that rest in another form: stored_bytes of it for an n x n block; NULL: they are
     *  dense. Before a kernel runs blocks are loaded, block[0] from block[1], which is in that
     *  form; after it those that it wrote are stored, block[1] from block[0]. */
    int64_t (*stored_bytes)(void *self, int32_t n);
    mpk_accelerator_kernel *load, *store;
} mpk_accelerator;

/** What an accelerator was asked to do. */
typedef struct mpk_accelerator_report {
    size_t struct_size; /**< the caller sets it */
    /** by kernel: factorize, solve, downdate, transpose, zero out, permute */
    int64_t calls[6], items[6];
    double time_s[6];
    int64_t uploads, downloads, bytes; /**< blocks; bytes both ways */
    int64_t butterflies;               /**< pivot blocks that were transformed */
    int64_t host_pivots; /**< pivot blocks of the last stage that the host factorized */
    int64_t boundaries;  /**< between stages */
    double boundary_s;   /**< from the last kernel of a stage to the next one's first */
} mpk_accelerator_report;

/** Have factors of ctx computed by an accelerator from now on; NULL: by the options again.
 *  ctx         [inout]
 *  accelerator [in] borrowed: must outlive the factors
 *  Returns MPK_OK | MPK_ERR_ARGUMENT: a function or a size is missing | MPK_ERR_MEMORY.
 *  Not while factors of ctx exist that another one made. Solves run on the processor. */
MPK_API mpk_status mpk_context_use_accelerator(mpk_context *ctx,
                                               const mpk_accelerator *accelerator);
/** What the context's accelerator did so far; MPK_ERR_ARGUMENT: it has none. */
MPK_API mpk_status mpk_accelerator_report_get(const mpk_context *ctx,
                                              mpk_accelerator_report *report);

/** The processor as an accelerator: plain loops, in the order in which the simulators compute. It
 *  has atomics (it does one item after the other) and pivots along the diagonal. */
MPK_API const mpk_accelerator *mpk_accelerator_cpu(void);

#ifdef __cplusplus
}
#endif
#endif
