/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DIRECT_NUMBERS_H
#define MPKI_DIRECT_NUMBERS_H
/** One factorization by the multifrontal method, as outer pivoting (direct_form.c) and the verdict
 *  on the rank (rank.c) ask for it. */
#include "factor.h"

/** One factorization, with the analysis and the scaling in force. stop NULL: never give up. */
mpk_status mpki_factorize_once(mpk_factor *fac, const mpki_stop *stop, mpki_numeric_result *result);
/** When to give up a factorization: far more work than was predicted. */
mpki_stop mpki_fresh_stop(const mpk_analysis *an);
/** Fill fac->info, except rank, from what the engine counted. */
void mpki_factor_describe(mpk_factor *fac, const mpki_numeric_result *result);
/** Pivots of at most this size, relative to the largest entry, may be rounding alone. */
double mpki_pivot_noise(const mpk_factor *fac);

/** Room for numbers by `an`, in exchange for those that there are. After a failure the old ones are
 *  still there. Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_direct_replace(mpk_factor *fac, const mpk_analysis *an);
/** The status of a factor that can be used, recorded with its text. */
mpk_status mpki_direct_outcome(const mpk_factor *fac);

#endif
