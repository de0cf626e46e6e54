/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_MATRIX_MARKET_H
#define MPKI_PROBLEM_MATRIX_MARKET_H
/** A Matrix Market file as header and entries, for matrices and for dense blocks. */
#include "text.h"

typedef enum mpki_mm_field {
    MPKI_MM_REAL,
    MPKI_MM_INTEGER,
    MPKI_MM_COMPLEX,
    MPKI_MM_PATTERN
} mpki_mm_field;

typedef enum mpki_mm_law {
    MPKI_MM_GENERAL,
    MPKI_MM_SYMMETRIC,
    MPKI_MM_HERMITIAN,
    MPKI_MM_SKEW
} mpki_mm_law;

typedef struct mpki_mm_header {
    bool array;
    mpki_mm_field field;
    mpki_mm_law law;
    int64_t rows, cols, nnz; /* array: nnz = entries that the file lists */
} mpki_mm_header;

/** What the entries are held in: MPK_D or MPK_Z. */
static inline mpk_scalar mpki_mm_scalar(const mpki_mm_header *h) {
    return h->field == MPKI_MM_COMPLEX ? MPK_Z : MPK_D;
}

/** From the first line to the sizes. */
mpk_status mpki_mm_sizes(mpki_text *text, const char *first, mpki_mm_header *h);
/** All entries, indices in range, values finite; rows and cols must fit int32. The caller frees e.
 */
mpk_status mpki_mm_entries(mpki_text *text, const mpki_mm_header *h, mpki_entries *e);

#endif
