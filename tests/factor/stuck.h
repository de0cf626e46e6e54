/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FACTOR_STUCK_H
#define TESTS_FACTOR_STUCK_H
/** Problems on which stages get nowhere, and options with which that shows. */
#include "runs.h"

/* What no stage accepts: blocks of a few rows, hardly any pivoting, entries of L bounded by 2. */
static inline mpk_options stubborn(void) {
    mpk_options o = complete();
    o.matching = MPK_OFF;
    o.pivoting = MPK_PIVOTING_NONE;
    o.pivot_threshold = 0.5;
    o.block = 4;
    o.stages = 0;
    return o;
}

/* These end in a dense pivot. */
static const char *const stuck[] = {"nlpkkt 4", "random 90 0.9 0.9", "random 150 0.9 1 complex",
                                    "random 150 0.9 1 hermitian"};
enum { STUCK = 4, COMPLEX_SYMMETRIC = 2 };

#endif
