/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_MEASURED_H
#define MPKI_MEASURED_H
/** Pivots that are zero, or so small that rounding is most of them, though A is regular: what
 *  elimination leaves there in exact arithmetic is u^H A u, u being the vector that all other pivots
 *  take to zero, and A itself tells it. With U the vectors of a few such pivots, T = U^H A U and M^+
 *  the factor without them, M^+ + U T^-1 U^H is the inverse that solves with A are refined by. */
#include "../core/archive.h"
#include "refine.h"
#include "rank.h"

struct mpki_measured {
    bool valid; /* of the numbers there are; else what was found of older ones */
    int count;
    mpki_weak_pivot list[MPKI_WEAK_MOST]; /* they take no part in M^+ */
    void *u;                              /* count x n */
    void *inverse;                        /* count x count: T^-1, by columns */
};

/** Measures the zero pivots of fac and the smallest others. *made [out] false: they are too many, some
 *  may be of A's kernel, or of an engine, a form or a kind of matrix where it is not done.
 *  MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_measured_make(mpk_factor *fac, bool *made);
void mpki_measured_drop(mpk_factor *fac);
/** Other numbers come: what is there is a place to start from. */
void mpki_measured_age(mpk_factor *fac);
/** Are solves to be refined with them? */
static inline bool mpki_measured(const mpk_factor *fac) {
    return fac->measured && fac->measured->valid;
}
/** Bytes that it takes. */
int64_t mpki_measured_bytes(const mpk_factor *fac);
/** To a file, and from it: vectors and numbers; once the factor is there, where the pivots are. False:
 *  damaged, or no memory, as the archive says; or there are not so many. */
void mpki_measured_put(mpki_archive *a, const mpk_factor *fac);
bool mpki_measured_get(mpki_archive *a, mpk_factor *fac, int count);
bool mpki_measured_found(mpk_factor *fac);
/** x := (M^+ + U T^-1 U^H) x; n. MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_measured_apply(mpki_application *m, void *x);

#define MPKI_MEASURED(p)                                                                                \
    /** |v|^T w */                                                                                      \
    double mpki_##p##_measured_level(int32_t n, const void *v, const double *w);                        \
    /** t_ij = -u_i^H r_j; inverse := t^-1. False: a t_ii is rounding of level[i], so that A may have \
     *  u_i in its kernel, or not finite */ \
    bool mpki_##p##_measured_inverse(int32_t n, int count, const void *u, const void *r,                \
                                     const double *level, void *inverse);                               \
    /** c := inverse u^H x */                                                                           \
    void mpki_##p##_measured_part(int32_t n, const struct mpki_measured *m, const void *x,              \
                                  void *c);                                                             \
    /** x := x + u c */                                                                                 \
    void mpki_##p##_measured_add(int32_t n, const struct mpki_measured *m, const void *c, void *x);
MPKI_MEASURED(s)
MPKI_MEASURED(d)
MPKI_MEASURED(c)
MPKI_MEASURED(z)
#undef MPKI_MEASURED

#endif
