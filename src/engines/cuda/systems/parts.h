/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_PARTS_H
#define MPKI_CUDA_SYSTEMS_PARTS_H
/** A tree in parts, which are done in phases: subtrees of small fronts, which a warp does alone;
 *  subtrees that a block does with what is left of them; then chains, level by level. */
#include "engines/interface/systems.h"
#include "kernels/systems.h"

typedef struct mpki_cuda_parts {
    int32_t *order; /* nsuper: fronts, part by part */
    /* nsuper, in that order: small fronts of the part that follow each other, from this one on, and
     * up to it; 0: it is not small */
    int32_t *ahead, *behind;
    int64_t *c, *u;                 /* nsuper: where contributions, and vectors of solves, begin */
    mpki_cuda_systems_part *list;   /* parts */
    mpki_cuda_systems_phase *phase; /* phases */
    int32_t parts, phases, wide;
    int64_t contributions, vectors; /* entries that they take */
} mpki_cuda_parts;

/** expected: systems, 1 at least. MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_cuda_parts_make(mpk_context *ctx, const mpki_tree_view *t, int64_t expected,
                                mpki_cuda_parts *parts);
/** What a factorization of `count` systems takes by gangs of that shape, as phases go: a model that
 *  was fitted to clocks in the kernel (bench/results/systems.md). */
mpki_expected mpki_cuda_parts_expect(const mpki_tree_view *t, const mpki_cuda_parts *parts,
                                     const mpki_cuda_systems_shape *shape, int64_t count);
void mpki_cuda_parts_free(mpk_context *ctx, mpki_cuda_parts *parts);

#endif
