/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ISAI_OBJECT_H
#define MPKI_ISAI_OBJECT_H
/** struct mpk_isai from inside. */
#include "../engines/interface/engine.h"
#include "../engines/cpu/inverse/inverse.h"

struct mpk_isai {
    mpk_context *ctx;
    unsigned forks; /* mpki_forks() where it was made, or last changed */
    bool at_work;   /* a thread is changing it */
    mpk_scalar scalar;
    int32_t n;
    mpk_isai_options options; /* without the caller's pattern */
    bool single;              /* values of m and m_rows are in single precision */
    bool ready;               /* there are numbers */
    mpki_sparse given;        /* the matrix's pattern by columns */
    mpki_sparse a, a_rows;    /* for relaxation: a triangle without its diagonal, or all of A */
    int64_t *cut;             /* n, of a triangle while M is made: see mpki_isai_split */
    mpki_sparse m, m_rows;    /* M without its diagonal, by columns and by rows */
    void *dinv;               /* n: the diagonal of M */
    unsigned char *failed;    /* n, of general and definite matrices: see mpki_isai_small */
    void *work;               /* of applications */
    int columns;              /* that work has room for */
    mpk_isai_info info;
    const mpki_inverse_engine
        *engine;         /* of a device, and what it holds: all of the above that is not */
    mpki_inverse *there; /* an option is empty then. NULL: the processor's */
};

/** May a call of ctx use it: made with that context where that counts, and not lost by a fork
 *  (on a device, or half written by another thread)? MPK_OK | MPK_ERR_ARGUMENT, _DEVICE,
 *  recorded. */
mpk_status mpki_isai_usable(mpk_context *ctx, const mpk_isai *s, bool own);
static inline bool mpki_isai_is_triangle(const mpk_isai *s) {
    return s->options.kind == MPK_ISAI_LOWER || s->options.kind == MPK_ISAI_UPPER;
}
/** The pool that products and columns run on; NULL: not worth it. */
mpki_pool *mpki_isai_pool(mpk_context *ctx, const mpk_isai *s);

/* ---- what is given (given.c) ----------------------------------------------------------------- */

/** Pointers from 0 that do not descend, rows (NULL: not looked at) that ascend within their columns
 *  and are in range. Returns MPK_OK | MPK_ERR_INPUT: the first column where that is not so. */
mpk_status mpki_isai_check_pattern(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ptr,
                                   const int32_t *row, const char *whose);
/** A matrix is looked through once, by all threads: its rows are checked and copied, with ptr, to
 *  s->given, whose arrays are there (ptr NULL: that pattern is known); its values are checked; of a
 *  triangle s->cut and s->dinv are made.
 *  ptr [in] checked
 *  Returns MPK_OK | MPK_ERR_MEMORY | MPK_ERR_INPUT: a row that does not ascend or is out of range,
 *           a value that is not finite, a zero on a triangle's diagonal; the first such column */
mpk_status mpki_isai_take(mpk_context *ctx, mpki_pool *pool, const int64_t *ptr, const int32_t *row,
                          const void *val, mpk_isai *s);
/** s->a := a triangle without its diagonal, or all of A, of values that were taken.
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_isai_keep_matrix(mpk_context *ctx, mpki_pool *pool, const void *val, mpk_isai *s);

#endif
