/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_EQUATIONS_H
#define ORACLE_EQUATIONS_H
/** A system A X = B as the judge holds it: doubles that the library's type represents exactly. */
#include "quad.h"

#include <metapack/metapack.h>

typedef struct equations {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    int32_t n, nrhs;
    int64_t count;     /* stored entries: lower triangle by columns, rows increasing */
    quad_entry *entry; /* zeros may be among them */
    double *b;         /* n x nrhs complex numbers, as pairs */
} equations;

static inline int is_complex(mpk_scalar scalar) {
    return scalar == MPK_C || scalar == MPK_Z;
}

static inline int is_single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/** Is there an inertia? For real and Hermitian matrices. */
static inline int has_inertia(const equations *eq) {
    return !is_complex(eq->scalar) || eq->symmetry == MPK_HERMITIAN;
}

/** Memory for a test: without memory the process ends. */
void *must_alloc(size_t count, size_t size);

void equations_free(equations *eq);
equations equations_copy(const equations *eq);

/** Both triangles; *count [out] how many. Freed by the caller. */
quad_entry *equations_whole(const equations *eq, int64_t *count);

/** count complex numbers, as pairs of doubles <-> an array of the library's type. */
void numbers_store(mpk_scalar scalar, int64_t count, const double *pairs, void *array);
void numbers_load(mpk_scalar scalar, int64_t count, const void *array, double *pairs);

/** x as the library's type will hold it. */
double number_rounded(mpk_scalar scalar, double x);

#endif
