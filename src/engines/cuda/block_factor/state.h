/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_STATE_H
#define MPKI_CUDA_BLOCK_FACTOR_STATE_H
/** The device's factor on blocks: its memory there, what is sent, its stages. */
#include "kernels/block_factor.h"
#include "tuning.h"
#include "engines/cuda/module/engine.h"
#include "engines/cuda/module/load.h"
#include "engines/cuda/triangular/solve.h"

/* A piece of device memory. */
typedef struct mpki_piece {
    char *at;
    int64_t bytes;
} mpki_piece;

/* What a stage is made from but for the values of A; kept for other values where stages->plan says
 * so. Owned by that, or by one factor. */
struct mpki_block_plan {
    mpki_cuda_stage job;            /* its addresses */
    mpki_piece matrix, lists, work; /* A and its order; the index; what is due, and work space */
    int32_t *frame_order;           /* device, in `lists`: frames by level sets */
    mpki_cuda_portion *portion;
    int64_t words; /* that a first stage with these capacities takes at most; 0: not known */
    bool ready;
};

struct mpki_blocks {
    mpk_context *ctx;
    mpki_stages *stages;
    const mpki_device *device;
    const mpki_cuda_blocks_table *module;
    mpki_cuda_stage job;
    mpki_block_plan *plan;
    bool owns_plan;
    mpki_piece frames, blocks, words, spare; /* by number; the arena; a generation of sweeps */
    int64_t held, capacity; /* bytes held, the plan's included; length of `blocks` */
    mpki_cuda_store store;
    struct mpki_isai_factor *isai; /* inverse/factor.h: in place of triangular solves, or NULL */
    mpki_piece s, border;          /* the dense pivot: S while it is made; what applies it */
    mpki_dense_pivot dense;        /* counts */
    mpki_cuda_notes notes;
    double norm1;      /* < 0: not known yet */
    uint32_t *entries; /* host, by block: made when it is asked for */
    mpki_kept_solver solver;
};

/* ---- block_factor/memory.c: all return MPK_OK or the error that they recorded ---- */

/** The status of a call of the module, recorded where it failed. */
mpk_status mpki_blocks_status(const mpki_blocks *f, int status);
void mpki_blocks_give(mpki_blocks *f, mpki_piece *p);
/** What may still be taken under options.device_memory_limit; a large number where there is
 *  none. */
int64_t mpki_blocks_left(const mpki_blocks *f);
/** Refuse what is beyond the limit before any of it is taken. */
mpk_status mpki_blocks_check(const mpki_blocks *f, int64_t bytes);
/** A piece of at least so many bytes; one that is large enough stays. */
mpk_status mpki_blocks_take(mpki_blocks *f, mpki_piece *p, int64_t bytes);
/** Queue a copy; host memory must stay until mpki_blocks_wait. */
mpk_status mpki_blocks_copy(const mpki_blocks *f, void *to, const void *from, int64_t bytes,
                            bool to_device);
mpk_status mpki_blocks_wait(const mpki_blocks *f);
/** Send much: by all threads into page-locked memory, from which it goes at full speed. */
mpk_status mpki_blocks_send(mpki_blocks *f, const void *to, const void *from, int64_t bytes);

/* An array in a piece: where its address goes, what is sent there (NULL: nothing), and its size.
 * `at` is const in many: the device's kernels only read it. */
typedef struct mpki_array {
    void *at;
    const void *from;
    int64_t bytes;
} mpki_array;

int64_t mpki_blocks_bytes_of(const mpki_array *arrays, int count);
/** Take the piece, and place the arrays in it. */
mpk_status mpki_blocks_lay_out(mpki_blocks *f, mpki_piece *p, const mpki_array *arrays, int count);

#define MPKI_COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* ---- block_factor/lists.c ---- */

/** All that a stage needs on the device, but the arena. `levels` sets, in each of them the frames
 * order[ptr[l]] .. */
mpk_status mpki_blocks_prepare(mpki_blocks *f, int32_t levels, const int32_t *ptr,
                               const int32_t *order);
/** Words that all that is due takes at most. leftover: entries that blocks of earlier stages did
 *  not use, which these may be granted. */
int64_t mpki_blocks_words_due(const mpki_stages *s, int64_t leftover);
void mpki_blocks_release_plan(mpk_context *ctx, mpki_block_plan *p);
/** The end of a step in a trace, which waits for the device; and the beginning of the next. */
double mpki_blocks_spent(const mpki_blocks *f, const char *what, double began);

/* ---- block_factor/border.c ---- */

/** Memory for the dense pivot of stages->border; then, when its entries are on the device, its
 *  factors. */
mpk_status mpki_blocks_border_begin(mpki_blocks *f);
mpk_status mpki_blocks_border_end(mpki_blocks *f);

/* ---- block_factor/stage.c: slots of mpki_block_engine ---- */

mpk_status mpki_cuda_blocks_stage(mpki_blocks *f);
mpk_status mpki_cuda_blocks_sweeps(mpki_blocks *f, double push, int32_t *fail);

#endif
