/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_SOLVE_H
#define MPKI_CPU_MULTIFRONTAL_SOLVE_H
/** Applying a direct factor: the functions behind these slots of mpki_direct_engine. */
#include "multifrontal.h"

mpk_status mpki_direct_solver_make(mpk_context *ctx, const mpki_direct *f, int threads,
                                   int32_t columns, mpki_direct_solver **out);
void mpki_direct_solver_free(mpki_direct_solver **s);
mpk_status mpki_direct_by_pivots(mpki_direct_solver *s);
mpk_status mpki_direct_apply(mpki_direct_solver *s, mpk_part part, int32_t nrhs, const void *b,
                             int64_t ldb, void *x, int64_t ldx);
mpk_status mpki_direct_transposed(mpki_direct_solver *s, int32_t nrhs, const void *b, int64_t ldb,
                                  void *x, int64_t ldx);
mpk_status mpki_direct_null(mpki_direct_solver *s, bool transposed, void *x);
mpk_status mpki_direct_outer(mpki_direct_solver *s, mpki_outer_part part, int32_t nrhs,
                             const void *b, int64_t ldb, void *x2, int64_t ldx2, void *x,
                             int64_t ldx);

#endif
