/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_ACCELERATOR_H
#define METAPACK_ACCELERATOR_H
/** The accelerator interface: what a machine must offer so that the meta-algorithm runs on it
 *  (Thuerck 2021, sec. 8.3.4; Goal 2, sec. 8.2.2). A table of functions: memory, and kernels on
 *  batches of dense blocks. Indices stay with the host, values on the accelerator; the items of a
 *  batch are independent, and calls take effect in the order in which they are made. What the
 *  accelerator cannot do says its table, and the meta-algorithm goes round it:
 *    no atomics          downdates come in conflict-free subsets of level sets (sec. 8.3.3)
 *    no inner pivoting   a rejected pivot block gets a new random butterfly in each later stage (8.3.1)
 *    no pairs            D is diagonal
 *    no judging          the host waits for the results of factorize and solve; replaces pivots itself
 *    no load and store   blocks are dense in its memory
 *    no solves           triangular solves run on the processor
 *  It factorizes A = L D L^T (L L^T, L D U) on blocks, method ildlt. Options that it cannot honour are
 *  refused, MPK_ERR_UNSUPPORTED: pivoting is complete where factorize permutes and none where it does
 *  not, schedule is subsets, atomic with atomics, or jacobi, and device is cpu.
 *  docs/guide/accelerators.md; the processor's own table is mpk_accelerator_cpu(), that of an NVIDIA
 *  GPU mpk_accelerator_cuda(). */
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

/** What a frame's word says where the accelerator judges (mpk_accelerator.judges); 0: nothing. Solve
 *  passes over items of frames whose pivot fails, permute and downdate also over those whose column
 *  does. */
enum {
    MPK_ACCELERATOR_PIVOT_FAILS = 1, /**< by factorize: a pivot is too small, LLT: not positive, or
                                           L within the block is above task.bound, or not finite */
    MPK_ACCELERATOR_COLUMN_FAILS =
        2,                       /**< by solve: an entry of L is above task.bound, or not finite.
                                           In the last stage bounds do not count */
    MPK_ACCELERATOR_REPLACED = 4 /**< added for each pivot that was replaced */
};

/** A batch: item i works on block[0][i], block[1][i], ... Blocks are n x n entries by rows, in the
 *  accelerator's memory; smaller ones are padded with zeros, pivots with ones (or a small number, see
 *  `rows`) on the diagonal. */
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

/** The kernels by number. */
enum {
    MPK_ACCELERATOR_FACTORIZE = 0,
    MPK_ACCELERATOR_SOLVE = 1,
    MPK_ACCELERATOR_DOWNDATE = 2,
    MPK_ACCELERATOR_TRANSPOSE = 3,
    MPK_ACCELERATOR_ZERO_OUT = 4,
    MPK_ACCELERATOR_PERMUTE = 5,
    /* by `run` alone, of tables that drop */
    MPK_ACCELERATOR_MEASURE = 6, /**< norms of the columns of block[0] */
    MPK_ACCELERATOR_DROP = 7     /**< small entries of block[0] := 0 */
};

/** A batch with what the six functions of a table do not know. */
typedef struct mpk_accelerator_task {
    size_t struct_size;
    const mpk_accelerator_batch *batch;
    int kernel;              /**< its number */
    mpk_scalar scalar;       /**< of the entries */
    int type;                /**< mpk_factor_type. LLT: pivots must be positive. LDU: factorize
                                      leaves the unit upper triangle U as well, and in block[1] the
                                      transpose of what it leaves in block[0] */
    int hermitian;           /**< A = A^H: where a block is transposed it is conjugated */
    int pairs;               /**< D may have 2x2 blocks: factorize with perm looks for them, and
                                      leaves D(k, k+1) at its place, which is 0 where no pair begins;
                                      solve and downdate find it there */
    int shared;              /**< downdate, with atomics: several items may have one block[0] */
    int last;                /**< factorize where the accelerator judges: nothing is rejected, and
                                      pivots that are not larger than `small` become as large */
    const int32_t *rows;     /**< factorize: count, host: rows of the frame; behind them is padding,
                                      ones on the diagonal, which pivots stay away from; NULL: as for
                                      the six functions */
    int32_t *const *columns; /**< factorize of LDU with perm: count: as perm, of the columns */
    int32_t *state;          /**< judging: the words of all frames, in its memory; trouble and
                                      largest are NULL then. Else NULL: also of a table that judges
                                      where entries are dropped; the host judges then */
    const int32_t *frame;    /**< judging: count, host: the frame of the pivot */
    double bound;  /**< judging: factorize, solve: a larger entry of L rejects the frame */
    double *norm2; /**< measure: [out] count x n, host: squared 2-norms of columns */
    const double
        *limit; /**< drop: count x n, host: entries of a column that are not larger become 0 */
    const int64_t *keep; /**< drop: count, host: of what is left so many stay, the largest, ties by
                              place; < 0: all. NULL: nothing is changed, only counted */
    int64_t *kept;       /**< drop: [out] count, host */
    int32_t tag;         /**< comes back in the span of this call */
    /** downdate of tables that have `sums`: batch.count + 1, host: block[0][i] takes items first[i] ..
     *  first[i+1] - 1 of all other lists, one after the other; its blocks differ. NULL: item i */
    const int64_t *first;
} mpk_accelerator_task;

/** When a kernel was at work: seconds before the last wait() returned. */
typedef struct mpk_accelerator_span {
    int32_t kernel, tag;
    double began_s, ended_s;
} mpk_accelerator_span;

/** A form in which blocks of doubles may rest (mpk_accelerator.stored_bytes, load, store). */
typedef struct mpk_accelerator_form {
    const char *name; /**< "single"; NULL: behind the last one */
    int64_t (*stored_bytes)(void *self, int32_t n);
    mpk_accelerator_kernel *load, *store;
} mpk_accelerator_form;

typedef struct mpk_accelerator {
    size_t struct_size; /**< sizeof(mpk_accelerator) */
    const char *name;   /**< "systolic array, 32 x 32 cells": for reports */
    void *self;         /**< passed to all functions */

    /* capabilities */
    int atomics;  /**< several items of a downdate may have one block[0] */
    int pivoting; /**< factorize permutes rows and columns, and fills perm */
    unsigned
        precisions; /**< bit s: it computes in mpk_scalar s. The kernels here are for MPK_D, `run`
                              for the others, too */
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

    /* A table whose struct_size ends here has none of what follows: it computes in MPK_D, type LDLT,
     * without pairs. */

    const int32_t
        *sizes;     /**< the n that it takes, ascending, a 0 behind the last; NULL: as above */
    unsigned types; /**< bit t: `run` computes factors of mpk_factor_type t */
    int pairs;      /**< with pivoting: `run` takes 2x2 pivots, too */
    int judges;     /**< `run` leaves the verdicts of factorize and solve in words of its memory
                               (task.state), and passes over items of frames that are rejected; the
                               host then lists a stage without waiting, and looks at its end */
    /** A kernel with all that a task says. NULL: the six functions are all there is. These are called
     *  where they suffice: MPK_D, LDLT, neither pairs nor judging. A table that judges needs none:
     *  where it lacks one, `run` is called for all. state is NULL where nothing is judged: if it
     * `drops`, and in solves. */
    mpk_status (*run)(void *self, const mpk_accelerator_task *task);
    int drops; /**< `run` has MEASURE and DROP: entries may be dropped */
    /** Until all calls so far are done. NULL: they are when they return. Else a kernel may return
     *  before it is done; it has read its lists then, and trouble and largest come with wait().
     *  upload, download and release keep their place in the order of calls by themselves. */
    mpk_status (*wait)(void *self);
    /** `count` pieces of `bytes` each, from or to one array of the host. NULL: one by one. */
    mpk_status (*scatter)(void *self, int64_t count, void *const *to, const void *from,
                          int64_t bytes);
    mpk_status (*gather)(void *self, int64_t count, void *to, void *const *from, int64_t bytes);
    /** The spans of the calls of `run` before the last wait(), at most `most` of them, which are then
     *  forgotten; returns their number. most 0: forget those that there are, and record from now
     *  on; < 0: forget them, and record no more. NULL: only the host's times are known. */
    int64_t (*spans)(void *self, int64_t most, mpk_accelerator_span *spans);
    const mpk_accelerator_form
        *forms; /**< those that mpk_accelerator_use_form() knows; NULL: none */
    /** What went wrong in the last call that failed; NULL, or a text that lives as long as the table. */
    const char *(*last_error)(void *self);
    int sums; /**< `run` takes task.first: all downdates of a block are one item's */
    /** Exact solves with the whole factor run on the accelerator: forward and backward sweeps over
     *  its level sets, by zero_out and downdate alone, as many right-hand sides at once as a block
     *  has rows; batch.buffer is NULL. The processor does the rest: parts of a factor, solves by
     *  sweeps or by products with approximate inverses, all of blocks that rest in another form, and
     *  where there is no memory for it. */
    int solves;
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
    int64_t waits;       /**< times the host waited for results that decide what comes next */
    double wait_s;       /**< how long */
    int64_t solves;      /**< right-hand sides that were solved there */
    int64_t solve_calls; /**< kernels for these, which are in none of the numbers above */
    double solve_s;      /**< how long solves took, with vectors there and back */
} mpk_accelerator_report;

/** Have factors of ctx computed by an accelerator from now on; NULL: by the options again.
 *  ctx         [inout]
 *  accelerator [in] borrowed: must outlive the factors
 *  Returns MPK_OK | MPK_ERR_ARGUMENT: a function or a size is missing | MPK_ERR_MEMORY.
 *  Not while factors of ctx exist that another one made. Solves run on the processor, but where the
 *  table has `solves`. */
MPK_API mpk_status mpk_context_use_accelerator(mpk_context *ctx,
                                               const mpk_accelerator *accelerator);
/** What the context's accelerator did so far; MPK_ERR_ARGUMENT: it has none. */
MPK_API mpk_status mpk_accelerator_report_get(const mpk_context *ctx,
                                              mpk_accelerator_report *report);

/** The processor as an accelerator: plain loops, in the order in which the simulators compute. It
 *  has atomics (it does one item after the other), pivots along the diagonal and all that a table may
 *  have, in all precisions. A copy of it may be given less, or `pairs`, `judges` and `solves`, which it
 *  leaves off. */
MPK_API const mpk_accelerator *mpk_accelerator_cpu(void);

/** Let blocks rest in a form of the table's own: of the processor's and of a GPU's "compressed" (a bit
 *  mask and the values of its bits), "single" and "bf16" (the upper half of a single). They are
 *  rounded whenever they are stored; a solve makes up for that by its iterations. MPK_D alone.
 *  table [inout] a copy of the caller's
 *  name  [in]    "dense": none
 *  Returns MPK_OK | MPK_ERR_ARGUMENT: the table has no such form */
MPK_API mpk_status mpk_accelerator_use_form(mpk_accelerator *table, const char *name);

/** An NVIDIA GPU as an accelerator: kernels that borgc made (s, d, c, z; blocks of 8, 16, 32 rows),
 *  queued on streams. It has atomics, pivots with pairs, and judges, drops and solves. ctx opens the GPU as mpk_device_info_get()
 *  does.
 *  ctx    [inout]
 *  number [in]  from 0
 *  table  [out] lives as long as ctx; for mpk_context_use_accelerator() of the same context
 *  Returns MPK_OK | MPK_ERR_DEVICE: there is no such GPU, or its module was built without these kernels,
 *          and mpk_last_error() says why | MPK_ERR_MEMORY */
MPK_API mpk_status mpk_accelerator_cuda(mpk_context *ctx, int number,
                                        const mpk_accelerator **table);

#ifdef __cplusplus
}
#endif
#endif
