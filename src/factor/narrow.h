/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_NARROW_H
#define MPKI_NARROW_H
/** A direct factor in single precision of a matrix in double: S A S in single has one, and the
 *  engine sees a matrix of that scalar type with a scaling of ones. What goes in and out is scaled
 *  in double. fac->narrow says that the numbers are so. */
#include "factor.h"

/** May these values be factorized in single precision? It was asked for, on the processor, of a
 *  matrix in double that no pattern makes singular, and no older values were against it.
 *  *why [out] where it was asked for, and one of the last two is the reason */
bool mpki_narrow_wanted(mpk_factor *fac, mpk_unfit *why);
/** MPK_ERR_UNSUPPORTED, recorded: engines other than the processor's have no such factor. */
mpk_status mpki_narrow_refused(mpk_context *ctx);

/** Have fac->ones. false: MPK_ERR_MEMORY, recorded. */
bool mpki_narrow_ones(mpk_factor *fac);
/** S A S rounded to single precision, to be released, and fac->ones. NULL: MPK_ERR_MEMORY, or
 *  MPK_ERR_NUMERIC where an entry is too large for it, recorded. */
void *mpki_narrow_values(mpk_factor *fac);

/** Does refinement of a trial system reach the accuracy of rounding? Each step changes x, in the
 *  scaling of the factor, by at most a quarter of what the one before did, the last one by rounding.
 *  *does [out]. Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_narrow_does(mpk_factor *fac, bool *does);

/** mpk_get() of a narrow factor. */
mpk_status mpki_narrow_get(const mpk_factor *fac, mpk_quantity what, void *out);

/** The form's applications, of a narrow factor. */
mpk_status mpki_narrow_make(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t columns,
                            void **work);
mpk_status mpki_narrow_by_pivots(const mpk_factor *fac, void *work);
void mpki_narrow_end(mpk_context *ctx, const mpk_factor *fac, void **work);
mpk_status mpki_narrow_apply(const mpk_factor *fac, void *work, mpk_part part, int32_t nrhs,
                             const void *b, int64_t ldb, void *x, int64_t ldx);

#endif
