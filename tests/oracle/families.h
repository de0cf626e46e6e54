/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_FAMILIES_H
#define ORACLE_FAMILIES_H
/** Random systems by family. A family fills a draft. What it intends the matrix to be does not
 * count afterwards: the judge finds rank, inertia and condition by itself. */
#include "equations.h"
#include "random.h"

/** A dense lower triangle that is being filled. */
typedef struct draft {
    random_state *rng;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    int32_t n;
    int style;            /* of random values */
    double *a;            /* n x n complex numbers, as pairs; (i, j) with i >= j */
    unsigned char *there; /* n x n: is it stored? */
    known_inertia known;
} draft;

/** Set entry (i, j), in either triangle, rounded to the type; the diagonal of a Hermitian matrix to
 * its real part. A zero is stored as well. */
void draft_set(draft *d, int i, int j, double re, double im);
void draft_drop(draft *d, int i, int j);
const double *draft_at(const draft *d, int i, int j); /* i >= j */

/** A value of the draft's style. */
void draft_value(draft *d, double *re, double *im);
static inline void draft_random(draft *d, int i, int j) {
    double re, im;
    draft_value(d, &re, &im);
    draft_set(d, i, j, re, im);
}

/** a(i, j) times 2^(power[i] + power[j]). */
void draft_scale(draft *d, const int *power);

/** The largest exponent used for a type, with some room left: 1000 or 120. */
static inline int draft_range(const draft *d) {
    return is_single(d->scalar) ? 120 : 1000;
}

typedef void (*fill_fn)(draft *d);

/* families_plain.c: full rank as a rule */
void fill_dense(draft *d);
void fill_sparse(draft *d);
void fill_saddle(draft *d);
void fill_pairs(draft *d);
void fill_definite(draft *d);
void fill_helmholtz(draft *d);
void fill_any(draft *d); /* one of these */

/* families_singular.c: small integers, most of them singular */
void fill_dependent(draft *d); /* a saddle point whose constraints depend on each other */
void fill_laplacian(draft *d);
void fill_ones(draft *d);
void fill_outer(draft *d);
void fill_low_rank(draft *d);
void fill_congruent(draft *d);
void fill_zero(draft *d);
void fill_empty(draft *d);

/* families_extreme.c: scaled, graded, nearly singular */
void fill_scaled(draft *d);
void fill_scaled_rows(draft *d);
void fill_huge(draft *d);
void fill_denormal(draft *d);
void fill_near_singular(draft *d);
void fill_graded(draft *d);
void fill_interior(draft *d);
void fill_tiny(draft *d);

/* families_crafted.c: of known inertia */
void fill_crafted(draft *d); /* L D L^H in integers, with growing L^-1 */
void fill_planted(draft *d); /* likewise, with zeros in D */
void fill_grid(draft *d);    /* hundreds of rows, well conditioned */

/* families_stiff.c: large numbers that hide small ones */
void fill_penalty(draft *d);
void fill_redundant(draft *d);
void fill_mixed(draft *d);
void fill_decades(draft *d);

/** families_whole.c: from a symmetric matrix one that is given whole and is not, or not quite */
typedef void (*twist_fn)(equations *eq, random_state *r);
void twist_noise(equations *eq, random_state *r);
void twist_skew(equations *eq, random_state *r);
void twist_rows(equations *eq, random_state *r);
void twist_entry(equations *eq, random_state *r);

enum { FAMILIES = 38 };
const char *family_name(int family);
int family_find(const char *name); /* -1: none */
/** Is this the family whose input is spoilt, by a NaN or the like? */
int family_is_spoilt(int family);

/** Are its matrices given whole? Then only the paths of sparse ones take them. */
int family_is_whole(int family);

/** A system of a family. */
void family_make(int family, random_state *rng, equations *eq);

#endif
