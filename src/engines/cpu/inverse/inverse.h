/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_INVERSE_INVERSE_H
#define MPKI_CPU_INVERSE_INVERSE_H
/** Incomplete sparse approximate inverses from inside: patterns, columns, products.
 *  docs/design/isai.md. A triangle is diag(1 / dinv) + a strict triangle; its approximate inverse
 *  has the diagonal dinv, too, so both are held without diagonals. dinv NULL: the unit diagonal. */
#include "core/pool.h"
#include <metapack/isai.h>

/** A square sparse matrix by columns, or by rows; indices ascend. val NULL: a pattern. */
typedef struct mpki_sparse {
    int64_t *ptr;   /* n + 1 */
    int32_t *index; /* ptr[n] */
    void *val;
} mpki_sparse;

void mpki_sparse_free(mpk_context *ctx, mpki_sparse *a);
/** t := the transpose of a (n x n, entries of 4, 8 or 16 bytes, or a pattern), by counting; the
 *  pool's workers have ranges of rows.
 *  t [inout] empty; or with the pattern of that transpose, and memory for the values or NULL for
 *            them: values alone are new
 *  Returns MPK_OK | MPK_ERR_MEMORY; *t is then empty. */
mpk_status mpki_sparse_turn(mpk_context *ctx, mpki_pool *pool, int32_t n, size_t size,
                            const mpki_sparse *a, mpki_sparse *t);
/** ptr[k + 1], which hold counts, become sums. */
void mpki_sparse_sum(mpki_pool *pool, int64_t n, int64_t *ptr);
/** By class (MPK_ISAI_CLASSES) of a column with `count` entries. */
int mpki_isai_class(int64_t count);
/** Columns of M by class, the longest one, entries, with their diagonals: added to info. */
void mpki_isai_count(mpki_pool *pool, int32_t n, const mpki_sparse *m, mpk_isai_info *info);

/* ---- patterns (pattern.c) -------------------------------------------------------------------- */

/** Which columns' entries a pattern keeps. */
typedef struct mpki_isai_rule {
    mpk_isai_kind kind; /* LOWER: rows below the column; UPPER, DEFINITE: above; GENERAL: all */
    mpk_isai_source source;
    int power, block;
    int32_t limit; /* of a column with its diagonal; 0: none */
    mpk_isai_over over;
    /* n, or NULL: rows of the column's group are left out (the diagonal always is) */
    const int32_t *group;
} mpki_isai_rule;

/** The pattern of M without its diagonal, by columns. A column over the limit is left whole where
 *  the rule says LARGEST.
 *  graph [in]  the pattern whose power is taken, or that is given; its diagonal does not matter
 *  s     [out] info [inout] over: columns that were cut
 *  Returns MPK_OK | MPK_ERR_MEMORY | MPK_ERR_ARGUMENT: a column is over the limit, and named */
mpk_status mpki_isai_make_pattern(mpk_context *ctx, mpki_pool *pool, int32_t n,
                                  const mpki_sparse *graph, const mpki_isai_rule *rule,
                                  mpki_sparse *s, mpk_isai_info *info);

/** Records that a column (from 0) is over the limit. Returns MPK_ERR_ARGUMENT. */
mpk_status mpki_isai_refuse(mpk_context *ctx, int32_t column, int64_t entries, int32_t limit);

/* ---- columns of the inverse of a triangle (columns.c, columns_t.c) --------------------------- */

/** One triangle, and columns of its approximate inverse. The triangle is by columns; what stands
 *  elsewhere in a's columns, the diagonal for one, is not looked at. */
typedef struct mpki_isai_columns {
    mpk_context *ctx;
    mpk_scalar scalar;
    int32_t n;
    bool upper;
    const mpki_sparse *a;
    const int64_t *begin,
        *end;         /* n: where the strict triangle's part of a column is; NULL: all of it */
    const void *dinv; /* n, or NULL */
    mpki_sparse *m;   /* the pattern; values are written */
} mpki_isai_columns;

/** m->val := the values; they get memory where it is NULL.
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED | MPK_ERR_NUMERIC: not finite; the column is
 *    named */
mpk_status mpki_isai_invert(mpki_pool *pool, const mpki_isai_columns *c);

/** Columns of m with `limit` entries or more, their diagonals not counted, keep the limit - 1
 *  largest ones: a pattern, for which values must be computed anew.
 *  over [out] how many there were
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_isai_cut(mpk_context *ctx, mpk_scalar scalar, int32_t n, int32_t limit,
                         mpki_sparse *m, int64_t *over);

/** Places of a column's rows in it, for each worker: as many as the rows of a column are apart,
 *  which the worker sets to -1 before its first column. */
typedef struct mpki_isai_places {
    int32_t *place; /* all workers', `stride` apart */
    bool *ready;
    int64_t span, stride;
    int64_t longest; /* most entries of a column, without its diagonal */
} mpki_isai_places;

/** For the columns of a pattern s, their diagonals included or not. Returns MPK_OK |
 *  MPK_ERR_MEMORY; to be freed either way. */
mpk_status mpki_isai_places_make(mpk_context *ctx, mpki_pool *pool, int32_t n, const mpki_sparse *s,
                                 bool diagonal, mpki_isai_places *p);
void mpki_isai_places_free(mpk_context *ctx, mpki_isai_places *p);
/** This worker's. */
int32_t *mpki_isai_place(mpki_isai_places *p, int worker);

/* ---- small dense systems (small.c, small_t.c) ------------------------------------------------ */

typedef struct mpki_isai_small {
    mpk_context *ctx;
    mpk_scalar scalar;
    int32_t n;
    bool definite;
    const mpki_sparse *a;  /* all of A by columns */
    const mpki_sparse *s;  /* the pattern of M without its diagonal */
    void *diagonal;        /* n: written */
    void *val;             /* s->ptr[n]: written */
    unsigned char *failed; /* n: 1 where the system was singular, 2 where M is not finite */
} mpki_isai_small;

/** Solve A(J, J) m = e_j for each column. Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED. */
mpk_status mpki_isai_solve_small(mpki_pool *pool, const mpki_isai_small *c);

/* ---- a triangle given with all entries (columns_t.c) ----------------------------------------- */

typedef struct mpki_isai_split {
    const int64_t *ptr; /* rows ascend */
    const int32_t *row;
    const void *val;
    bool upper;
    int64_t *cut; /* n: an upper triangle's strict part ends here, a lower one's begins */
    void *dinv;   /* n: 1 / the diagonal */
} mpki_isai_split;

/* ---- products (product_t.c) ------------------------------------------------------------------ */

/** y := (diag + a) x, by rows of a. Entry (i, r) of a vector is at [i * nrhs + r]. */
typedef struct mpki_isai_product {
    int32_t n;
    int nrhs;              /* at most 8 */
    const mpki_sparse *a;  /* by rows; val in the vectors' scalar, or in its single precision */
    bool single;           /* the latter */
    bool conjugate;        /* a and diagonal */
    const void *diagonal;  /* n, or NULL: ones */
    bool no_diagonal;      /* it is part of a */
    bool inverse_diagonal; /* divide by it, not multiply */
    const void *b;         /* not NULL: y := b - (diag + a) x */
    bool add;              /* y := y + (diag + a) x */
    const void *x;
    void *y; /* not x */
} mpki_isai_product;

enum { MPKI_ISAI_RHS = 8 };

/** On the pool if that pays; the same bits for any number of threads. */
void mpki_isai_multiply(mpki_pool *pool, mpk_scalar scalar, const mpki_isai_product *p);

/* ---- what is applied ------------------------------------------------------------------------- */

/** M and, for relaxation, A itself, both by rows. */
typedef struct mpki_isai_step {
    mpki_isai_product m, a;
    int relax;
} mpki_isai_step;

/** x := M b, then `relax` times x := x + M (b - A x). r: work space, n x nrhs. None may overlap. */
void mpki_isai_relax(mpki_pool *pool, mpk_scalar scalar, const mpki_isai_step *step, int nrhs,
                     const void *b, void *x, void *r);

/** val (count entries of `scalar`) in single precision, in *single: MPK_ERR_NUMERIC where one is
 *  too large for that. For scalars of double precision alone. */
mpk_status mpki_isai_to_single(mpk_context *ctx, mpk_scalar scalar, int64_t count, const void *val,
                               void **single);

/* clang-format off */
#define MPKI_ISAI(p)                                                                               \
    /** Columns j0 .. j1-1 of c->m. place: from the first row of a column to its last, all -1, and \
     *  again after it. Returns the first column that is not finite, or n. */                      \
    int32_t mpki_##p##_isai_columns(const mpki_isai_columns *c, int32_t j0, int32_t j1,            \
                                    int32_t *place);                                               \
    /** The `most` largest of a column's entries to its beginning, in their order. size: for       \
     *  count reals */                                                                             \
    void mpki_##p##_isai_prune(int64_t count, int64_t most, int32_t *rows, void *val, void *size); \
    /** Column j; matrix: memory for (count + 1)^2 entries, rhs: for count + 1, place as above. */ \
    void mpki_##p##_isai_small(const mpki_isai_small *c, int32_t j, void *matrix, void *rhs,       \
                               int32_t *place);                                                    \
    void mpki_##p##_isai_rows(const mpki_isai_product *p, int32_t r0, int32_t r1);                 \
    /** Columns j0 .. j1-1. Returns the first one whose diagonal is zero, missing or not finite,   \
     *  or INT32_MAX. */                                                                           \
    int32_t mpki_##p##_isai_split(const mpki_isai_split *s, int32_t j0, int32_t j1);               \
    bool mpki_##p##_isai_finite(int64_t count, const void *val, int64_t *bad);                     \
    bool mpki_##p##_isai_to_single(int64_t count, const void *val, void *single);
/* clang-format on */
MPKI_ISAI(s)
MPKI_ISAI(d)
MPKI_ISAI(c)
MPKI_ISAI(z)
#undef MPKI_ISAI

#endif
