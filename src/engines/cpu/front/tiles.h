/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_FRONT_TILES_H
#define MPKI_CPU_FRONT_TILES_H
/** The tiles of a large front as tasks: its leading panels, as long as all their pivots pass the
 *  test, without a barrier. A tile is a strip of rows of a panel of 128 columns, of the front or of
 *  its contribution; its tasks are updates by the panels before it, in their order, then the pivots
 *  (the tile on the diagonal) or the rows below them. A panel is accepted when all rows below have
 *  passed; only then is it used, so nothing has to be undone but a panel that fails. The panel that
 *  is next comes first, then the one after it, the contribution last: who has nothing to do for the
 *  pivots updates that. The arithmetic is that of front_t.c, entry by entry in the same order. */
#include "core/flow.h"
#include "core/lock.h"
#include "rank.h"

/** The pivots of a block of b columns at p, and their order. Returns how many. */
typedef int32_t (*FN(tiles_block))(FN(front) * f, const FN(front_rules) * rules,
                                   FN(front_work) * work, int64_t p, int32_t b, int32_t *perm);

typedef struct mpki_tile {
    int32_t at; /* panels that it is updated by, and the rows below their own panel's pivots are one
                   more */
    bool busy, open; /* somebody is at work on it; a block: something can be done for it */
} mpki_tile;

/** A panel of the front, or of its contribution, which has no block on the diagonal of its own. */
typedef struct mpki_tile_panel {
    int64_t row0, step;   /* strips: their first row, and how many rows each has */
    int32_t first, count; /* their tiles */
    int32_t open, busy;   /* that something can be done for, and nobody does; that somebody does */
    int32_t below;        /* whose rows are solved */
    int32_t next;         /* where the search for an open one begins */
    mpki_tile block;      /* on the diagonal */
} mpki_tile_panel;

typedef struct FN(tiles) {
    T *c;            /* the contribution, or NULL: there is none */
    int64_t updated; /* [out] pivots that c is updated by */
    /* after FN(tiles_run): the panel that has failed, if `failed`: columns that were eliminated in
     * its block, and those of them that pass */
    bool failed;
    int32_t np;
    _Atomic int good;
    /* how it is done */
    FN(front) * f;
    const FN(front_rules) * rules;
    FN(front_work) * works;
    const FN(front_work) * own_work; /* backup: the last block before its pivots; packed2: its L */
    FN(tiles_block) factor;
    mpki_lock lock; /* for what follows, and the panels, and the tiles */
    mpki_flow flow;
    int32_t own, all; /* panels of the front; and with those of the contribution */
    int32_t accepted; /* panels */
    bool solved;      /* the pivots of the panel after them are known */
    mpki_tile_panel *panel;
    mpki_tile *tile;
    int32_t *perm; /* w: the orders that blocks chose */
} FN(tiles);

/** Bytes for the tiles of such a front; 0: too little to do, or nobody to help. */
int64_t FN(tiles_bytes)(int64_t nrows, int64_t w, int workers);
/** In that memory. NULL: the system has no lock left, and the front is done without.
 *  c [in] where the contribution goes, if there is one */
FN(tiles) * FN(tiles_set)(void *memory, int64_t nrows, int64_t w, int workers, T *c);
void FN(tiles_end)(FN(tiles) * tiles);

/** Eliminate the leading panels of f, of which nothing is eliminated yet. Returns the pivots before
 *  the panel that failed: everything is updated by these, and that panel's block and the rows below
 *  it are as they are after the test, perm and backup in `work`. */
int64_t FN(tiles_run)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                      FN(tiles_block) factor, mpki_pool *pool, int worker);

#endif
