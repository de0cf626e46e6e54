/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_CERTIFICATE_H
#define ORACLE_CERTIFICATE_H
/** The one place that asks the library whether the inertia of a factor is certified. */
#include <metapack/metapack.h>

static inline int certified(mpk_context *ctx, mpk_factor *fac, const mpk_inertia *inertia) {
    (void)ctx, (void)fac;
    return inertia->certified;
}

#endif
