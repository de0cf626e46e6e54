/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ISAI_OBJECT_H
#define MPKI_ISAI_OBJECT_H
/** struct mpk_isai from inside. */
#include "../backends/sparse.h"
#include "isai.h"

struct mpk_isai {
    mpk_context *ctx;
    mpk_scalar scalar;
    int32_t n;
    mpk_isai_options options; /* without the caller's pattern */
    bool single;              /* values of m and m_rows are in single precision */
    bool ready;               /* there are numbers */
    mpki_sparse given;        /* the matrix's pattern by columns */
    mpki_sparse a, a_rows; /* a triangle without its diagonal, or all of A; kept for relaxation */
    mpki_sparse m, m_rows; /* M without its diagonal, by columns and by rows */
    void *dinv;            /* n: the diagonal of M */
    unsigned char *failed; /* n, of general and definite matrices: see mpki_isai_small */
    void *work;            /* of applications */
    int columns;           /* that work has room for */
    mpk_isai_info info;
    const mpki_inverse_engine
        *engine;         /* of a device, and what it holds: all of the above that is not */
    mpki_inverse *there; /* an option is empty then. NULL: the processor's */
};

bool mpki_isai_is_triangle(const mpk_isai *s);
/** The pool that products and columns run on; NULL: not worth it. */
mpki_pool *mpki_isai_pool(mpk_context *ctx, const mpk_isai *s);

/* ---- what is given (given.c) -------------------------------------------------------------------- */

/** Pointers from 0 that do not descend, rows that ascend within their columns and are in range.
 *  Returns MPK_OK | MPK_ERR_INPUT: the first column where that is not so. */
mpk_status mpki_isai_check_pattern(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ptr,
                                   const int32_t *row, const char *whose);
/** memcpy, by all threads. */
void mpki_isai_copy(mpki_pool *pool, void *to, const void *from, size_t bytes);
/** The values of s->given: a triangle taken apart to s->a and s->dinv, or all of A to s->a.
 *  Returns MPK_OK | MPK_ERR_MEMORY | MPK_ERR_INPUT: not finite, or a zero on a triangle's diagonal */
mpk_status mpki_isai_take_values(mpk_context *ctx, mpki_pool *pool, const void *val, mpk_isai *s);

#endif
