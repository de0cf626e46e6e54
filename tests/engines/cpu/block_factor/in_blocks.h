/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_BLOCKS_IN_BLOCKS_H
#define TESTS_BLOCKS_IN_BLOCKS_H
/** Factors of the processor that stay in blocks, beside which other forms and a device's are
 *  tested; and generated problems in any scalar. */
#include "support.h"

#include <stdlib.h>

#include "engines/cpu/block_factor/block_factor.h"
#include "factor/factor.h"

static mpki_block_engine as_blocks;

static inline const char *name_of_engine(const mpk_context *ctx) {
    (void)ctx;
    return "test";
}

static const mpki_engine in_blocks = {.name = name_of_engine,
                                      .direct = &mpki_cpu_direct,
                                      .blocks = &as_blocks,
                                      .vectors = &mpki_cpu_vectors};

/* Before in_blocks is used. */
static inline void in_blocks_begin(void) {
    as_blocks = mpki_cpu_blocks;
    as_blocks.finish = mpki_block_finish_as_blocks;
}

/* A generated problem, which is in double precision, in any; complex ones are symmetric, or
 * Hermitian. */
static inline mpk_problem *problem_of(mpk_context *ctx, const char *spec, mpk_scalar scalar,
                                      bool hermitian) {
    mpk_problem *d = NULL, *p = NULL;
    mpk_problem_view v;
    assert_int_equal(mpk_problem_generate(ctx, spec, 3, &d), MPK_OK);
    mpk_problem_view_get(d, &v);
    if (v.scalar == scalar) return d;
    const bool general = v.symmetry == MPK_GENERAL;
    void *ax = malloc((size_t)v.nnz * mpk_scalar_size(scalar) + 1);
    int32_t j = 0;
    for (int64_t k = 0; k < v.nnz; k++) {
        double complex x = scalar_load(v.scalar, v.ax, k);
        while (v.ap[j + 1] <= k) j++;
        if (scalar >= MPK_C && v.scalar < MPK_C && v.ai[k] != j) x *= cexp(I * (double)(k % 5) / 9);
        scalar_store(scalar, ax, k, x);
    }
    assert_int_equal(mpk_problem_from_csc(ctx, v.n, scalar,
                                          general     ? MPK_GENERAL
                                          : hermitian ? MPK_HERMITIAN
                                                      : MPK_SYMMETRIC,
                                          general ? MPK_FULL : MPK_LOWER, v.ap, v.ai, ax, &p),
                     MPK_OK);
    mpk_problem_destroy(&d);
    free(ax);
    return p;
}

#endif
