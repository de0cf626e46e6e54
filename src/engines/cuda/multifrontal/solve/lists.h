/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_SOLVE_LISTS_H
#define MPKI_CUDA_MULTIFRONTAL_SOLVE_LISTS_H
/** What the host makes for sweeps over a device's direct factor: arrays of fronts, the chains of
 *  fronts that are swept in strips, and all pieces in the order in which thread blocks take them,
 *  so that whatever one waits for comes before it. It depends on the sizes of the fronts alone. */
#include "../state.h"

typedef struct mpki_cuda_sweep_lists {
    int64_t *at, rows;     /* fronts: where its own part of u begins; rows of all */
    int64_t *slot, slots;  /* fronts: where its rows begin in place; < 0: they go to its own part */
    int32_t *place;        /* slots: where they go in u */
    int32_t *contribution; /* contributions: where those to a chain's row begin in u */
    int64_t contributions;
    int64_t sent;               /* values that blocks of chains send, in one direction */
    int32_t *parent, *goal;     /* fronts */
    mpki_cuda_piece *down, *up; /* downs, ups */
    /* the same for many sheets of real doubles, each with its sheet (MPKI_CUDA_PIECE_SHEET): of a chain that
     * blocks take for several at once the first of these alone; or NULL */
    mpki_cuda_piece *down_spread, *up_spread;
    int32_t downs_spread, ups_spread;
    mpki_cuda_chain *chain;     /* chains */
    mpki_cuda_segment *segment; /* segments */
    int32_t *strip;             /* strips: of chains of several fronts, one more for each chain */
    int32_t downs, ups, chains, segments, strips;
    int32_t squares;   /* strips of all chains */
    int64_t half_copy; /* entries of the copies of chains of one front */
    bool small;        /* these are few */
    bool spills;       /* a front works in u, also on the way back */
    int32_t group;     /* fronts of tasks that are swept together, at most */
    int32_t *chain_of; /* fronts: its chain; -1: it is swept by its task */
    int32_t *front;    /* work space: fronts of a chain, */
    int8_t *way;       /* and how each is eliminated */
} mpki_cuda_sweep_lists;

/** Returns MPK_OK | MPK_ERR_MEMORY, _SIZE; *l is to be freed in any case. */
mpk_status mpki_cuda_sweep_lists_make(mpk_context *ctx, const mpki_direct *f,
                                      mpki_cuda_sweep_lists *l);
void mpki_cuda_sweep_lists_free(mpk_context *ctx, mpki_cuda_sweep_lists *l);

#endif
