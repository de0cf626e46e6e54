/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_NARROW_H
#define MPKI_NARROW_H
/** A direct factor in single precision of a matrix in double: S A S in single has one, and the
 *  engine sees a matrix of that scalar type with a scaling of ones. What goes in and out is scaled
 *  in double. fac->narrow says that the numbers are so. */
#include "factor.h"

/** A factor that is less than A's, and what makes up for that is refinement: in single precision, in
 *  low rank (fac->low_rank), or both. */
typedef struct mpki_less {
    bool narrow;
    double low_rank; /* tolerance; 0: L is whole */
} mpki_less;

/** May these values have such a factor? It was asked for, on the processor, of a matrix that no
 *  pattern makes singular, and no older values were against it; in single precision one in double,
 *  in low rank one with large fronts.
 *  *why [out] where it was asked for, and pattern or older values are the reason */
mpki_less mpki_less_wanted(mpk_factor *fac, mpk_unfit *why);
/** Do the options ask for such a factor of method ldlt? Of another scalar type where one in single
 *  precision is A's own, nothing is asked for. */
mpki_less mpki_less_asked(const mpk_analysis *an, const mpk_options *options);
/** MPK_ERR_UNSUPPORTED, recorded: engines other than the processor's have no such factor. */
mpk_status mpki_less_refused(mpk_context *ctx, mpki_less less);

/** Have fac->ones. false: MPK_ERR_MEMORY, recorded. */
bool mpki_narrow_ones(mpk_factor *fac);
/** S A S rounded to single precision, to be released, and fac->ones. NULL: MPK_ERR_MEMORY, or
 *  MPK_ERR_NUMERIC where an entry is too large for it, recorded. */
void *mpki_narrow_values(mpk_factor *fac);

/** Of a factor that is less: does refinement of a trial system reach the accuracy of rounding? Each step changes x, in the
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
