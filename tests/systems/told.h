/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SYSTEMS_TOLD_H
#define TESTS_SYSTEMS_TOLD_H
/* What is told of each of COUNT systems, which the test defines before, and the kinds of systems. */
#include "cases.h"

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_D, MPK_SYMMETRIC}, {MPK_S, MPK_SYMMETRIC}, {MPK_Z, MPK_SYMMETRIC},
             {MPK_Z, MPK_HERMITIAN}, {MPK_C, MPK_HERMITIAN}, {MPK_C, MPK_SYMMETRIC}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct told {
    int32_t status[COUNT], tier[COUNT], rank[COUNT], certified[COUNT], steps[COUNT];
    int64_t inertia[3 * COUNT];
    double growth[COUNT], omega[COUNT], normwise[COUNT], logdet[3 * COUNT];
} told;
static inline mpk_systems_results results_of(told *t) {
    return (mpk_systems_results){t->status, t->tier,   t->rank,  t->inertia,  t->certified,
                                 t->steps,  t->growth, t->omega, t->normwise, t->logdet};
}

#endif
