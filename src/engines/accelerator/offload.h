/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ACCELERATOR_OFFLOAD_H
#define MPKI_ACCELERATOR_OFFLOAD_H
/** The engine for factors on blocks whose values lie on an accelerator (metapack/accelerator.h).
 *  The factor that it leaves is the processor's, whose solves take it. */
#include "engines/cpu/block_factor/border.h"
#include "engines/cpu/block_factor/meta.h"
#include <metapack/accelerator.h>

/** An accelerator as an engine of a context. */
typedef struct mpki_accelerated {
    mpki_engine engine; /* first: the context knows this alone */
    mpki_block_engine blocks;
    const mpk_accelerator *table;
    mpk_accelerator_report report;
} mpki_accelerated;

enum { MPKI_KERNEL_F, MPKI_KERNEL_S, MPKI_KERNEL_D, MPKI_KERNEL_T, MPKI_KERNEL_Z, MPKI_KERNEL_P };

/** Lists of one batch, which grow: tuples as a structure of arrays. */
typedef struct mpki_batch_lists {
    void **block[3], **pivot, **perm;
    void **buffer[MPK_ACCELERATOR_BUFFERS];
    int64_t *id;      /* block numbers of block[0] */
    int32_t *trouble; /* results */
    double *largest;
    int64_t count, capacity;
} mpki_batch_lists;

/** Where the values are while a factorization runs; of struct mpki_blocks. */
struct mpki_offload {
    mpki_accelerated *on;
    int32_t n;    /* of all blocks */
    void **block; /* by block: its values on the accelerator; NULL: none */
    void **perm;  /* by frame: where it pivots; else NULL */
    void **turn;  /* by frame: B^T of the butterfly that its pivot block went through; NULL: none */
    void **buffer[MPK_ACCELERATOR_BUFFERS]; /* the user's, by block or by frame */
    void *minus;                            /* -I: what a product takes for D */
    int64_t capacity;                       /* length of `block` */
    double *staging;                        /* n x n values for each block of a column */
    int64_t staging_capacity;
    void **scratch; /* dense blocks, where others rest in the accelerator's own form */
    int64_t scratches;
    mpki_batch_lists batch, other;
    double ended_s; /* of the last kernel of the last stage; 0: there was none */
};

/* run.c */

/** The status of a call of the accelerator; a failure is recorded, with what it was doing. */
mpk_status mpki_offload_status(mpki_blocks *f, mpk_status status, const char *what);
/** A block of the accelerator's memory as they rest there. */
mpk_status mpki_offload_block(mpki_blocks *f, void **p);
mpk_status mpki_offload_put(mpki_blocks *f, void *to, const double *from);
mpk_status mpki_offload_take(mpki_blocks *f, double *to, void *from);
/** Memory for one more item; block[0] and id are set. frame: of the pivot. */
mpk_status mpki_offload_add(mpki_blocks *f, mpki_batch_lists *list, int64_t block, int32_t frame);
/** Run a kernel on a list, by way of dense copies where blocks rest in another form. */
mpk_status mpki_offload_run(mpki_blocks *f, int kernel, mpki_batch_lists *list);
void mpki_batch_lists_free(mpk_context *ctx, mpki_batch_lists *list);

/* stage.c, collect.c: slots of mpki_block_engine */

mpk_status mpki_offload_stage(mpki_blocks *f);
mpk_status mpki_offload_finish(mpki_blocks *f, mpki_block_counts *counts);
/** Blocks of the border, downloaded into its dense matrix. */
mpk_status mpki_offload_border(mpki_blocks *f);

#endif
