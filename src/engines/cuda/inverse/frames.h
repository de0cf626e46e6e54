/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_FRAMES_H
#define MPKI_CUDA_INVERSE_FRAMES_H
/** Approximate inverses of a factor's triangles whose pattern is one of frames (option isai_frames):
 *  what engines/cpu/block_factor/inverse_frames.h has for the processor. Frames are named by their
 *  places; M has numbers and rows, as the one by columns. */
#include "engines/interface/engine.h"
#include "engines/cuda/block_factor/kernels/store.h"
#include "make.h"

typedef struct mpki_isai_framing {
    const mpki_stages *stages;
    int32_t m;
    int32_t *first;     /* host, m + 1: the first row of each frame */
    int32_t *on_device; /* the same */
    mpki_isai_portions portions;
    int32_t *list;
    mpki_isai_piece piece;
} mpki_isai_framing;

mpk_status mpki_isai_framing_make(mpki_isai_job *job, const mpki_stages *stages,
                                  mpki_isai_framing *f);
void mpki_isai_framing_free(mpki_isai_job *job, mpki_isai_framing *f);

/** blocks := the pattern of frames by columns, m := that of columns and rows, with memory for
 *  values.
 *  upper [in] of U
 *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE | MPK_ERR_ARGUMENT: a column is over the limit */
mpk_status mpki_isai_framing_pattern(mpki_isai_job *job, const mpki_isai_framing *f,
                                     const mpki_cuda_store *store, bool upper,
                                     mpki_isai_sparse *blocks, mpki_isai_sparse *m);
/** As mpki_cuda_isai_invert(): columns of a frame share one system up to 1024 entries. */
mpk_status mpki_isai_framing_invert(mpki_isai_job *job, mpki_isai_framing *f,
                                    const mpki_isai_triangle *t, mpki_isai_sparse *m);
/** As mpki_cuda_isai_cut(): columns over the limit keep the largest blocks that fit. */
mpk_status mpki_isai_framing_cut(mpki_isai_job *job, const mpki_isai_framing *f,
                                 mpki_isai_sparse *blocks, mpki_isai_sparse *m, bool *again);

#endif
