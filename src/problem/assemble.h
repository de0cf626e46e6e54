/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_ASSEMBLE_H
#define MPKI_PROBLEM_ASSEMBLE_H
/** From entries in any order to columns: of the lower triangle, or of all of a general matrix. */
#include "problem.h"
#include "skew.h"

/** Entries in any order, duplicates included, that grow with what is read. */
typedef struct mpki_entries {
    int64_t count, capacity;
    int32_t *row, *col; /* 0-based; capacity each */
    void *value;        /* capacity entries of the scalar */
} mpki_entries;

/** Make room for `capacity` entries at least; what is there stays. */
mpk_status mpki_entries_reserve(mpk_context *ctx, const char *stage, mpk_scalar scalar,
                                mpki_entries *entries, int64_t capacity);
void mpki_entries_free(mpk_context *ctx, mpki_entries *entries);

/** How to turn entries into a problem, and how messages refer to them. */
typedef struct mpki_assembly {
    const char *stage;  /* for errors: "problem", "read", "generate" */
    const char *source; /* file name, or NULL: put before messages */
    int base;           /* 0 or 1: how messages number rows and columns */
    int32_t n;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    mpk_triangle triangle;
    bool either_symmetry; /* complex MPK_FULL: symmetric or Hermitian, whichever is nearer */
    bool or_general;      /* MPK_FULL: a matrix that is neither is a general one, not an error */
    double tolerance;     /* of symmetry: the caller's own, or below 0 (law.h); by mpki_assemble */
} mpki_assembly;

/** Sort (counting sort, stable, so that duplicates are summed in the order given), check, sum.
 *  entries [inout] indices in [0, n), values finite; taken over: empty on return, success or not
 *  problem [out]   created
 *  Cost: O(n + count); when the entries are sorted already nothing is moved. */
mpk_status mpki_assemble(mpk_context *ctx, const mpki_assembly *how, mpki_entries *entries,
                         mpk_problem **problem);

/** Entries of the lower triangle of A = -A^T -> all of them: each gets its mirror image, negated.
 *  how [in] for errors: stage, source, base, scalar
 *  Returns MPK_OK | MPK_ERR_MEMORY | MPK_ERR_INPUT: an entry above the diagonal, or one on it that
 *  is not zero (a zero there stays) */
mpk_status mpki_entries_skew(mpk_context *ctx, const mpki_assembly *how, mpki_entries *entries);

/** Bytes of `nnz` entries and of what mpki_assemble makes of them, those that are there included.
 *  sorted [in] the entries come sorted, of one triangle: they are not copied */
double mpki_assemble_bytes(double n, double nnz, mpk_scalar scalar, bool sorted);

/** The result of the part that depends on the scalar (assemble_t.c). */
typedef struct mpki_assembled {
    int64_t nnz;
    mpk_symmetry symmetry;
    int64_t *ap;
    int32_t *ai;
    void *ax;
    mpki_skew *skew; /* NULL: the triangles agree */
} mpki_assembled;
typedef mpk_status mpki_assemble_fn(mpk_context *ctx, const mpki_assembly *how,
                                    mpki_entries *entries, mpki_assembled *made);
mpki_assemble_fn mpki_s_assemble, mpki_d_assemble, mpki_c_assemble, mpki_z_assemble;

#endif
