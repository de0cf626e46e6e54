/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DIRECT_FORM_H
#define MPKI_DIRECT_FORM_H
/** A factor by the multifrontal method: what outer pivoting and the verdict on the rank share. */
#include "factor.h"

/** One factorization with the analysis and the scaling in force. stop NULL: whatever it takes. */
mpk_status mpki_factorize_once(mpk_factor *fac, const mpki_stop *stop, mpki_numeric_result *result);
/** What a factorization is given up for: far more work than was predicted. */
mpki_stop mpki_fresh_stop(const mpk_analysis *an);
/** fac->info, but for rank, from what the numeric phase counted. */
void mpki_factor_describe(mpk_factor *fac, const mpki_numeric_result *result);
/** A pivot of this size or less may be no more than rounding, relative to the largest entry. */
double mpki_pivot_noise(const mpk_factor *fac);

/** The engine's view of an analysis. */
mpki_tree_view mpki_tree_view_of(const mpk_analysis *an);

#endif
