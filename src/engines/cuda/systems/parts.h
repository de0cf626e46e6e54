/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_PARTS_H
#define MPKI_CUDA_SYSTEMS_PARTS_H
/** A tree in parts: subtrees of small fronts, and what is above them. The parts are the tree's own,
 *  not those of a number of warps, so that sums have one order. */
#include "engines/interface/views.h"
#include "kernels/systems.h"

typedef struct mpki_cuda_parts {
    int32_t *part;                /* nsuper: root of the part that a front is in; -1: none */
    int32_t *order;               /* nsuper: fronts of the parts, then the others */
    int64_t *c;                   /* nsuper: where contributions begin */
    mpki_cuda_systems_part *list; /* parts + 1; the last: the other fronts */
    int32_t parts, sums;
    int64_t contributions; /* entries that they take */
} mpki_cuda_parts;

/** MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_cuda_parts_make(mpk_context *ctx, const mpki_tree_view *t, mpki_cuda_parts *parts);
void mpki_cuda_parts_free(mpk_context *ctx, mpki_cuda_parts *parts);

#endif
