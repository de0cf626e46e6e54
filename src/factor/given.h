/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_FACTOR_GIVEN_H
#define MPKI_FACTOR_GIVEN_H
/** The values that a factor was given last, in the caller's order: what changed entries are counted
 *  by. */
#include "factor.h"

/** Keep them if fac->options.updates asks for it.
 *  ax    [in] in host memory; NULL: those of a problem, or they are on a device
 *  lower [in] in the order of the pattern as it is stored, not as it was given
 *  whole [in] with ax NULL, of an interior: all values of A as they are stored
 *  Returns MPK_OK (also where nothing can be kept) | MPK_ERR_MEMORY */
mpk_status mpki_given_keep(mpk_factor *fac, const void *ax, bool lower, const mpki_values *whole);
static inline void mpki_given_drop(mpk_factor *fac) {
    mpki_release(fac->ctx, fac->given.values);
    fac->given.values = NULL;
}
/** How many there are. */
int64_t mpki_given_count(const mpk_factor *fac);
/** A copy of them, to be changed and released by the caller. NULL: MPK_ERR_MEMORY, _DEVICE, recorded; or
 *  they are not known, and nothing is recorded. */
void *mpki_given_copy_of(mpk_factor *fac);

/** mpk_refactorize(), or with `lower` mpk_factorize_lower(), of a factor that exists. */
mpk_status mpki_refactorize_given(mpk_context *ctx, const void *ax, bool lower,
                                  const mpk_options *options, mpk_factor *fac);

#endif
