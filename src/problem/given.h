/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_GIVEN_H
#define MPKI_PROBLEM_GIVEN_H
/** From values in the order in which the caller gave the pattern to those of the stored columns. */
#include "assemble.h"

/** Map the entries that a problem was made from into *layout, which has its pattern and no map yet.
 *  A map that would change nothing is not kept. symmetry MPK_GENERAL: no entry is mirrored.
 *  rows [in] count
 *  cols [in] count, or NULL: `ap` has the columns
 *  ap   [in] n + 1: the columns, compressed
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_given_map(mpk_context *ctx, const char *stage, mpk_symmetry symmetry,
                          mpk_triangle triangle, int64_t count, const int32_t *rows,
                          const int64_t *ap, const int32_t *cols, mpki_layout *layout);

/** ax := the stored values of `given`, by the map: duplicates summed, the other triangle mirrored,
 *  and everything checked as when a problem is made.
 *  stage [in]  for errors
 *  given [in]  layout->given entries of `scalar`
 *  ax    [out] layout->nnz entries; undefined after a failure
 *  skew  [out] what the triangles differ by, owned by the caller; NULL: nothing, or a failure
 *  Returns MPK_OK | MPK_ERR_INPUT (NaN or Inf, not symmetric, overflow), _MEMORY */
mpk_status mpki_given_gather(mpk_context *ctx, const char *stage, const mpki_layout *layout,
                             mpk_scalar scalar, mpk_symmetry symmetry, const void *given, void *ax,
                             mpki_skew **skew);

/** The same for values in the order of the layout's ai, which may lie in ax: checked and copied. */
mpk_status mpki_given_copy(mpk_context *ctx, const char *stage, const mpki_layout *layout,
                           mpk_scalar scalar, mpk_symmetry symmetry, const void *values, void *ax,
                           mpki_skew **skew);

/** The number of the first of the given values that is NaN or infinite, and its row and column; -1:
 *  all that are looked at are finite. */
int64_t mpki_given_wild(const mpki_layout *layout, mpk_scalar scalar, const void *given,
                        int32_t *row, int32_t *column);

/** The place of a given value: the number of its stored entry, marked if it came from the upper
 *  triangle; or none, if it lies in the triangle that is ignored. */
enum { MPKI_PLACE_NONE = -1 };
static inline int64_t mpki_place_mirrored(int64_t entry) {
    return -2 - entry;
}
static inline int64_t mpki_place(const mpki_layout *layout, int64_t k) {
    return layout->wide ? ((const int64_t *)layout->place)[k] : ((const int32_t *)layout->place)[k];
}

/** The part that depends on the scalar (given_t.c). gather: ax by the map, symmetry checked.
 *  diagonal: only a Hermitian diagonal is checked, and made real in place. */
typedef struct mpki_given_table {
    mpk_status (*gather)(mpk_context *ctx, const mpki_assembly *how, const mpki_layout *layout,
                         const void *given, void *ax, mpki_skew **skew);
    mpk_status (*diagonal)(mpk_context *ctx, const mpki_assembly *how, const mpki_layout *layout,
                           void *ax, mpki_skew **skew);
} mpki_given_table;
extern const mpki_given_table mpki_s_given, mpki_d_given, mpki_c_given, mpki_z_given;

#endif
