/* SPDX-License-Identifier: BSD-3-Clause */
/* A dense system as its caller describes it: names, and what holds unless it is told otherwise. */
#include <metapack/dense.h>

#include <string.h>

static const char *const method_names[] = {"auto",  "tile",      "bunch-kaufman", "rook",
                                           "aasen", "butterfly", "none"};
static const char *const precision_names[] = {"working", "single", "tf32", "half"};

const char *mpk_dense_method_name(mpk_dense_method method) {
    return (unsigned)method < MPK_DENSE_COUNT ? method_names[method] : "unknown";
}

const char *mpk_dense_precision_name(mpk_dense_precision precision) {
    return (unsigned)precision <= MPK_DENSE_HALF ? precision_names[precision] : "unknown";
}

void mpk_dense_init(mpk_dense *dense) {
    if (!dense) return;
    memset(dense, 0, sizeof *dense);
    dense->struct_size = sizeof *dense;
    dense->scalar = MPK_D;
    dense->pivot_threshold = 0.01;
    dense->zero_tolerance = -1;
    dense->depth = 2;
    dense->seed = 1;
    dense->refine = 10;
    dense->accuracy = -1;
    dense->condition = MPK_OFF;
}
