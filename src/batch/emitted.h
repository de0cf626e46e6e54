/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BATCH_EMITTED_H
#define MPKI_BATCH_EMITTED_H
/** The kernels that borgc made at build time from src/kernels/cl, each for one order. */
#include "kernels.h"

/** The one for this order and this processor, or NULL. */
static inline FN(batch_factor_fn)
    FN(batch_emitted_factor)(mpk_batch_method method, mpk_pivoting pivoting, int n, int hermitian) {
    (void)method, (void)pivoting, (void)n, (void)hermitian;
    return NULL;
}

#endif
