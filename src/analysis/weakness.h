/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_WEAKNESS_H
#define MPKI_WEAKNESS_H
/** How weak is the diagonal? mpk_analyse decides by this on matching and compression. */
#include "analysis.h"

/** Moduli of A: of its entries in the order of ai, or, where these are doubles, the entries themselves, which
 *  are the problem's; and of its diagonal. */
typedef struct mpki_moduli {
    const double *entry; /**< nnz */
    double *own;         /**< where they are; NULL: the problem's */
    double *diagonal;    /**< n; 0 where no entry is stored */
} mpki_moduli;

mpk_status mpki_moduli_build(mpk_context *ctx, mpki_pool *pool, const mpk_problem *problem,
                             mpki_moduli *moduli);
/** Those of a core take the place of all. Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_moduli_of_core(mpk_context *ctx, const mpki_core *core, int32_t n,
                               mpki_moduli *moduli);
void mpki_moduli_free(mpk_context *ctx, mpki_moduli *moduli);

/** Columns whose scaled diagonal entry is below `strong` get 1 in weak[n]; returns how many. */
int32_t mpki_weak_columns(int32_t n, const double *diagonal, const double *scale, double strong,
                          char *weak);

/** Weak columns that have no strong neighbour (weak[] from above): whatever comes first, these need
 * a 2x2 pivot, or an order that does them late. */
int32_t mpki_weak_alone(int32_t n, const int64_t *ap, const int32_t *ai, const char *weak,
                        char *covered);

/** Guess how many pivots of an order will fail the threshold test: an elimination that keeps the
 * diagonal and leaves fill away. Column v at its turn has pivot d_v = |a_vv| + sum a_vw^2 / d_w
 * over the neighbours w accepted before, without cancellation. It is accepted if d_v >= u max
 * |a_vw| over those that follow. If not, it makes a 2x2 pivot with its mate where that comes next,
 * or with a neighbour that failed before it; else it has failed. core, rows: A of order n, and its
 * rows; perm: an order of its columns; mate: n, or NULL; scale: n. fails [out]: n, or
 * NULL: 1 for a column that has failed and that no later one takes for a 2x2 pivot. Cost:
 * O(nnz). */
mpk_status mpki_weak_pivots(mpk_context *ctx, int32_t n, const mpki_core *core,
                            const mpki_lower *rows, const mpki_moduli *moduli, const double *scale,
                            const int32_t *perm, const int32_t *mate, double u, int32_t *failed,
                            char *fails);

#endif
