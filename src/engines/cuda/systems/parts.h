/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_PARTS_H
#define MPKI_CUDA_SYSTEMS_PARTS_H
/** A tree in parts: subtrees of small fronts, which a warp does alone; subtrees that a block does
 *  with what is left of them; and what is above all parts. */
#include "engines/interface/views.h"
#include "kernels/systems.h"

typedef struct mpki_cuda_parts {
    int32_t *part;  /* nsuper: root of the part that a front is in; -1: none */
    int32_t *order; /* nsuper: fronts of the parts, then the others */
    /* nsuper, in that order: small fronts of the part that follow each other, from this one on, and
     * up to it; 0: it is not small */
    int32_t *ahead, *behind;
    int32_t *first;                 /* nsuper: of its subtree */
    bool *alone;                    /* nsuper: in a warp's part */
    int64_t *c, *u;                 /* nsuper: where contributions, and vectors of solves, begin */
    mpki_cuda_systems_part *list;   /* parts + 1; the last: the other fronts */
    int32_t parts, warps;           /* all; those of warps, which come first */
    int64_t contributions, vectors; /* entries that they take */
} mpki_cuda_parts;

/** MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_cuda_parts_make(mpk_context *ctx, const mpki_tree_view *t, mpki_cuda_parts *parts);
void mpki_cuda_parts_free(mpk_context *ctx, mpki_cuda_parts *parts);

#endif
