/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SPLIT_H
#define MPKI_SPLIT_H
/** A matrix split for a Schur complement: A_11, of the interior variables, is analysed and
 *  factorized as a problem of its own; the rows of the outer variables lie below it. */
#include "../core/core.h"
#include "../problem/shared.h"

/** What is known of the split beside A_11. The values of one factorization lie in one array: those
 *  of A_11 in the order of its layout, then A_21's, then those of A_22's lower triangle. */
typedef struct mpki_split {
    mpk_context *ctx;
    int32_t n, outer;   /* of A; outer variables */
    int32_t *variable;  /* outer: their indices, in the caller's order */
    int32_t *interior;  /* n - outer: the others, increasing */
    int64_t *ap;        /* n - outer + 1: A_21 by columns */
    int32_t *ai;        /* ap[n - outer]: row, in no order within a column */
    int64_t *corner_ap; /* outer + 1: A_22, lower triangle by columns */
    int32_t *corner_ai;
    int64_t *place;      /* of each entry of A in that array; ~place: it is conjugated */
    mpki_layout *layout; /* of A */
    mpki_values *values; /* of A, as they were analysed */
} mpki_split;

/** Rows that a tree has below its columns. */
static inline int32_t mpki_split_rows(const mpki_split *split) {
    return split && split->n > split->outer ? split->outer : 0;
}
/** Entries of A_21, and of all three parts. */
static inline int64_t mpki_split_entries(const mpki_split *split) {
    return split ? split->ap[split->n - split->outer] : 0;
}

/** Split a problem that is not general.
 *  variables [in]  count distinct indices of A, checked
 *  inner     [out] the interior's problem, which holds `layout` and `values` and is borrowed from
 *                  nobody: mpki_split_inner_free()
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY; on failure both are empty */
mpk_status mpki_split_make(mpk_context *ctx, const mpk_problem *problem, int32_t count,
                           const int32_t *variables, mpki_split **split, mpk_problem *inner);
void mpki_split_inner_free(mpk_problem *inner);
void mpki_split_free(mpki_split **split);

/** to := the values of A in the order of its layout, in the order of the parts. */
void mpki_split_values(const mpki_split *split, mpk_scalar scalar, const void *from, void *to);
/** And back. */
void mpki_split_whole(const mpki_split *split, mpk_scalar scalar, const void *from, void *to);

#endif
