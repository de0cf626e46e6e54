/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_DENSE_LAPACK_H
#define MPKI_CPU_DENSE_LAPACK_H
/** Bunch-Kaufman and rook pivoting, as a method and as the second stage of the tile method. */
#include "host.h"

/** Entries of work that lapack_core wants for order n. */
int64_t FN(lapack_work)(int64_t n, int32_t panel, int threads);
/** Factor s in place, blocked, with LAPACK's pivots (1-based, negative in 2x2 pivots) and L in
 *  LAPACK's form: interchanges are applied only to rows of later columns. Returns MPK_OK |
 *  MPK_SINGULAR | MPK_ERR_NUMERIC. */
mpk_status FN(lapack_core)(const FN(lower) * s, int rook, int32_t panel, T *work);
/** Bring L into its final order: apply later interchanges to earlier columns.
 *  order [out] n: order[k] is the old index at position k
 *  first [out] n bytes: 1 at the first column of a 2x2 pivot */
void FN(lapack_finish)(const FN(lower) * s, int rook, int32_t *order, unsigned char *first);

/** The row that is the pivot of column k of the lower factor. pair [out] it is of a 2x2 pivot */
int64_t FN(lapack_pivot)(const mpki_dense_call *call, int64_t k, bool *pair);
/** For solves by blocks with factors in LAPACK's form. lapack_panel: rows j0 .. of L's columns j0
 *  .. j1-1 (no half of a 2x2 pivot), as they stand after all interchanges of the block, to panel
 *  (ld). lapack_interchange: these interchanges, or their inverses, on the rows of X. */
void FN(lapack_panel)(const mpki_dense_call *call, int64_t j0, int64_t j1, T *panel, int64_t ld);
void FN(lapack_interchange)(const mpki_dense_call *call, int64_t j0, int64_t j1, int32_t nrhs, T *x,
                            int64_t ldx, bool inverse);

#endif
