/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_EQUATIONS_H
#define ORACLE_EQUATIONS_H
/** A system A X = B as the judge holds it: doubles that the library's type represents exactly. */
#include "quad.h"

#include <metapack/metapack.h>

/** Inertia by construction, where a family knows it. */
typedef struct known_inertia {
    int there; /* 2: and A is well conditioned */
    int32_t positive, negative, zero;
} known_inertia;

typedef struct equations {
    mpk_scalar scalar;
    mpk_symmetry symmetry; /* as the library is told */
    int32_t n, nrhs;
    int64_t count;     /* stored entries: lower triangle by columns, rows increasing */
    quad_entry *entry; /* zeros may be among them */
    double *b;         /* n x nrhs complex numbers, as pairs */
    int whole;         /* the entries are those of both triangles, which need not agree */
    known_inertia known;
} equations;

static inline int is_complex(mpk_scalar scalar) {
    return scalar == MPK_C || scalar == MPK_Z;
}

static inline int is_single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/** Is there an inertia? For real and Hermitian matrices whose triangles agree. */
static inline int has_inertia(const equations *eq) {
    return !eq->whole && (!is_complex(eq->scalar) || eq->symmetry == MPK_HERMITIAN);
}

/** Memory for a test: without memory the process ends. */
void *must_alloc(size_t count, size_t size);

void equations_free(equations *eq);
equations equations_copy(const equations *eq);

/** How far the triangles are from agreeing: the largest |a_ij - conj(a_ji)| over the larger of
 *  both, an entry that is missing counting as zero. 0 unless the matrix is given whole. */
double equations_skewness(const equations *eq);

/** Both triangles; *count [out] how many. Freed by the caller. */
quad_entry *equations_whole(const equations *eq, int64_t *count);

/** count complex numbers, as pairs of doubles <-> an array of the library's type. */
void numbers_store(mpk_scalar scalar, int64_t count, const double *pairs, void *array);
void numbers_load(mpk_scalar scalar, int64_t count, const void *array, double *pairs);

/** x as the library's type will hold it. */
double number_rounded(mpk_scalar scalar, double x);

#endif
