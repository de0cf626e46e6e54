/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_SYMMETRIZE_H
#define MPKI_PROBLEM_SYMMETRIZE_H
/** The part of mpk_symmetrize() that depends on the scalar (symmetrize_t.c). */
#include "assemble.h"

typedef mpk_status mpki_symmetrize_fn(mpk_context *ctx, const mpki_assembly *how, void *a,
                                      int64_t lda, mpk_asymmetry *asymmetry);
mpki_symmetrize_fn mpki_s_symmetrize, mpki_d_symmetrize, mpki_c_symmetrize, mpki_z_symmetrize;

#endif
