/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BORDERED_H
#define MPKI_BORDERED_H
/** A factor and the changes made to its matrix, from inside. An index below n is a row of A, n + p the
 *  place p of an added row. */
#include "../factor/apply.h"
#include "../problem/measure.h"
#include <metapack/bordered.h>
#include <metapack/dense.h>

typedef enum mpki_change_kind { MPKI_FREE = 0, MPKI_ADDED, MPKI_REMOVED } mpki_change_kind;

/** What is at a place: a column of B, and of A^-1 B. */
typedef struct mpki_change {
    mpki_change_kind kind;
    int32_t removed; /* the row of A; the column is its unit vector */
    int32_t count;   /* entries of an added column in rows of A, */
    int32_t *row;    /* ascending */
    void *value;
    void *x;      /* n */
    double noise; /* sizes of the terms that its entry on S's diagonal is the sum of */
} mpki_change;

/** A sparse matrix of all places, in the lower triangle by columns. */
typedef struct mpki_changed_matrix {
    bool made;
    mpk_problem_view a;
    int64_t *ap;
    int32_t *ai;
    void *ax;
    double *row_norm;
    double norm_inf;
} mpki_changed_matrix;

struct mpk_bordered {
    mpk_context *ctx;
    const mpk_factor *fac;
    uint64_t made; /* fac->made when this began */
    mpk_options options;
    int32_t n, capacity, added, removed;
    mpk_scalar scalar;
    size_t size; /* of an entry */
    bool hermitian;
    mpki_change *place; /* capacity */
    int32_t *place_of;  /* n: where a row is removed; -1: it is not */
    void *c, *s;        /* capacity x capacity, by place: the corner, and S; both triangles */
    /* of the changes in force, from their last */
    int32_t *order; /* added + removed: the places in use, ascending */
    bool factored;
    mpk_dense dense;
    mpk_dense_factor factor;            /* of S, scaled; NULL in it: none yet */
    void *matrix;                       /* S, scaled: order x order */
    double *scale;                      /* capacity: powers of two */
    mpki_changed_matrix changed, whole; /* without the removed rows; with borders for them */
    bool inaccurate;
    bool examined;
    mpk_certificate certificate;
};

static inline int32_t mpki_changes(const mpk_bordered *w) {
    return w->added + w->removed;
}
static inline int64_t mpki_all_rows(const mpk_bordered *w) {
    return (int64_t)w->n + w->capacity;
}

/** Is it w's to use, and are the factor's numbers still those that it began with? MPK_OK |
 *  MPK_ERR_ARGUMENT, recorded */
mpk_status mpki_bordered_check(mpk_context *ctx, const mpk_bordered *w);
/** The changes are others: what was made of them is dropped. */
void mpki_bordered_stale(mpk_bordered *w);

/** w->changed or w->whole, unless it is there. MPK_OK | MPK_ERR_MEMORY, _DEVICE */
mpk_status mpki_changed_make(mpk_bordered *w, bool whole);
void mpki_changed_free(mpk_context *ctx, mpki_changed_matrix *m);

/** S's factor, unless it is there. MPK_OK (also with zero pivots) | MPK_ERR_MEMORY, _NUMERIC */
mpk_status mpki_bordered_factorize(mpk_bordered *w);

/* clang-format off */
#define MPKI_BORDERED(p)                                                                           \
    /** S's row and column of place p, whose x is there */                                         \
    void mpki_##p##_bordered_corner(mpk_bordered *w, int32_t p);                                   \
    /** t[k] := the entry of v at the k-th place in use, less its column's product with y; y := v  \
     *  less the parts of removed rows, y being A^-1 of that between the two */                    \
    void mpki_##p##_bordered_keep(const mpk_bordered *w, const void *v, void *y);                  \
    void mpki_##p##_bordered_condense(const mpk_bordered *w, const void *v, const void *y,         \
                                      void *t);                                                    \
    /** v := y - A^-1 B z, and z at the places of added rows; 0 elsewhere. whole: z at all places  \
     */                                                                                            \
    void mpki_##p##_bordered_expand(const mpk_bordered *w, bool whole, const void *z, void *y,     \
                                    void *v);                                                      \
    /** matrix := D S D of the places in use, D of powers of two, so that entries come near 1, but  \
     *  not what is rounding alone; scale [out] D. Returns the largest entry */                    \
    double mpki_##p##_bordered_gather(const mpk_bordered *w, void *matrix, double *scale);         \
    void mpki_##p##_bordered_scale(int32_t k, const double *scale, void *t);                       \
    /** 0 at what is no row */                                                                     \
    void mpki_##p##_bordered_clean(const mpk_bordered *w, bool whole, void *v);                    \
    /** The entries of column j of the lower triangle; returns their number. ai, ax may be NULL */ \
    int64_t mpki_##p##_bordered_column(const mpk_bordered *w, const void *a, bool whole, int32_t j,\
                                       int32_t *next, int32_t *ai, void *ax);                      \
    /** ||d|| / ||x|| in units of `scale` */                                                       \
    double mpki_##p##_bordered_step(int64_t n, const double *scale, const void *d, const void *x);
/* clang-format on */
MPKI_BORDERED(s)
MPKI_BORDERED(d)
MPKI_BORDERED(c)
MPKI_BORDERED(z)
#undef MPKI_BORDERED

#endif
