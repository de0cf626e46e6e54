/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_CHANGES_H
#define METAPACK_CHANGES_H
/** A matrix that changes a little: a few values, or rows and columns that come and go. What to take
 *  when, and what it costs: docs/guide/changes.md. */
#include <metapack/factor.h>
#include <metapack/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Refactorize with a few values changed. The result is that of mpk_refactorize() with all values, of
 *  which these are others: the same bits, inertia, verdicts and failures. The scaling is found anew as
 *  there; where it changes, all that it changes counts as touched. With options.updates = on here and
 *  in the factorization before, the direct solver on the processor computes the fronts anew that have
 *  other values, and those between them and the roots; the info says which share (redone). Without it,
 *  on a GPU, and with methods on blocks, everything is computed.
 *  count   [in]  >= 0
 *  entry   [in]  count: positions in the array of values that the factor was given last, by
 *                mpk_factorize(), mpk_refactorize() or mpk_factorize_lower(); of
 *                mpk_factorize_problem() and of ax = NULL in the order of that function. One that
 *                stands twice gets its last value
 *  value   [in]  count: their new values, of the problem's scalar type
 *  options [in]  as mpk_refactorize()
 *  fac     [inout] has been factorized; a call that failed since then for its numbers does not
 *                matter: its values count
 *  All arrays lie in host memory.
 *  Returns as mpk_refactorize()
 *          | MPK_ERR_INPUT: values that are not finite, or make A unsymmetric; the index is a
 *            position, and the factor is as it was
 *          | MPK_ERR_ARGUMENT: a position that does not exist, the index tells where it stands
 *          | MPK_ERR_UNSUPPORTED: the values given last are not known: the pattern has entries that
 *            stand several times, or triangles that differ, and options.updates was off, or they were
 *            those of a problem or lay on a device. mpk_refactorize() with all values does it
 *  Source: a front depends on its entries and its children alone (Duff & Reid 1983, ACM TOMS 9(3)).
 *  Cost: a pass over the values for the scaling, and the fronts. Threads: options.threads. Example:
 *  examples/contingency.c */
MPK_API mpk_status mpk_refactorize_entries(mpk_context *ctx, int64_t count, const int64_t *entry,
                                           const void *value, const mpk_options *options,
                                           mpk_factor *fac);

#ifdef __cplusplus
}
#endif
#endif
