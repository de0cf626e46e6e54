/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ITERATE_H
#define MPKI_ITERATE_H
/** mpk_solve by a Krylov method, with the factor as preconditioner. */
#include "../numeric/factor.h"
#include <metapack/solve.h>

/** Do these options ask for a Krylov method with this factor? auto: refinement where the factor is
 *  a direct one. */
bool mpki_wants_krylov(const mpk_factor *fac, const mpk_options *options);

/** The solve for checked arguments; as mpk_solve. Each right-hand side starts from x = 0. */
mpk_status mpki_iterate(mpk_context *ctx, const mpk_factor *fac, const mpk_options *options,
                        int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx,
                        mpk_solve_info *out);

#endif
