/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SELECTED_H
#define MPKI_SELECTED_H
/** Entries of the inverse of a factor's A, and what they are worth. */
#include "factor.h"
#include <metapack/selected.h>

/** mpk_selected_inverse() for a call that has begun: errors are recorded, none is cleared. */
mpk_status mpki_selected_inverse(mpk_context *ctx, const mpk_factor *fac, mpk_selection what,
                                 void *out, size_t bytes, const mpk_options *options,
                                 mpk_selected_info *info);

/* clang-format off */
#define MPKI_SELECTED(p)                                                                           \
    /** error, deviation and row of *info, from the entries z of A's inverse on its pattern;       \
     *  false: some are not finite, or some of its diagonal.                                       \
     *  diagonal [in] NULL: no entries but those of z are asked for                                \
     *  work [out] 3 n: (A Z)_ii, real and imaginary part, and (|A| |Z|)_ii */                     \
    bool mpki_##p##_selected_check(const mpk_problem_view *a, const void *z, const void *diagonal, \
                                   double *work, mpk_selected_info *info);                         \
    /** x (count) := NaN */                                                                        \
    void mpki_##p##_selected_none(int64_t count, void *x);
/* clang-format on */
MPKI_SELECTED(s)
MPKI_SELECTED(d)
MPKI_SELECTED(c)
MPKI_SELECTED(z)
#undef MPKI_SELECTED

#endif
