/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_CERTIFICATE_H
#define ORACLE_CERTIFICATE_H
/** The one place that asks the library whether the inertia of a sparse factor is certified. */
#include "verdict.h"

static inline int certified(verdicts *v, mpk_context *ctx, mpk_factor *fac) {
    mpk_certificate found = {0};
    if (mpk_failed(mpk_certify(ctx, fac, &found)))
        wrong(v, WRONG_REFUSED, "certify: a failure on a valid factor");
    return found.certified;
}

#endif
