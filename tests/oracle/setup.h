/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_SETUP_H
#define ORACLE_SETUP_H
/** How a system goes into the library and what is asked for: the library's options, and choices of
 *  the test. As text: key=value separated by blanks, only what differs from the defaults. */
#include "equations.h"
#include "random.h"

enum path {
    PATH_DIRECT,
    PATH_DIRECT_KRYLOV,
    PATH_REFACTORIZE,
    PATH_ADAPTIVE,
    PATH_ILDLT,
    PATH_JACOBI,
    PATH_ILU0,
    PATH_NONE,
    PATH_KRYLOV,
    PATH_DENSE,
    PATH_BATCH,
    PATHS
};
const char *path_name(int path);
int path_find(const char *name); /* -1: none */

/** What is wrong with the input, and must be refused. */
enum spoil { SPOIL_NOTHING, SPOIL_MATRIX, SPOIL_VALUES, SPOIL_SIDES, SPOIL_IMAGINARY };

/** What other values have to do with the matrix's: each times a power of two; rows scaled; some of
 *  them zero; other signs; small integers; entries scaled, some of them zero; all of them zero. */
enum other {
    OTHER_NEAR,
    OTHER_SCALE,
    OTHER_ZEROS,
    OTHER_SIGNS,
    OTHER_INTEGERS,
    OTHER_ENTRIES,
    OTHER_NOTHING,
    OTHERS
};

/** What a forked process does with what its parent made, before the parent solves. */
enum child {
    CHILD_NONE,
    CHILD_SOLVES,
    CHILD_REFACTORIZES,
    CHILD_DESTROYS,
    CHILD_ANEW, /* a context, an analysis and a factor of its own */
    CHILDREN
};

typedef struct setup {
    mpk_options options;
    /* the way in */
    int triplets;   /* from_triplets, else from_csc */
    int triangle;   /* mpk_triangle */
    int64_t mix;    /* seed of the order of entries; 0: sorted */
    int64_t twice;  /* seed: some entries come as two or three to be summed; 0: none */
    int64_t junk;   /* seed: entries in the triangle that does not count; 0: none */
    int null;       /* values NULL: the problem's */
    int replace;    /* mpk_problem_set_values before the analysis */
    int64_t before; /* seed of other values that are factorized first; 0: none */
    int rounds;     /* how many of them, one after the other; each of another kind than the last */
    int64_t analysed; /* seed of other values that the problem is made and analysed with; 0: none */
    int other;        /* enum other: what kind these are */
    int elsewhere;    /* solves are another context's */
    int child;        /* enum child */
    int64_t order;    /* seed of the given permutation */
    int lead;         /* how much leading dimensions exceed the rows */
    int in_place;     /* b is x */
    int spoil, spoil_with, spoil_at; /* enum spoil; 0 NaN, 1 Inf, 2 -Inf */
    /* mpk_krylov_solve */
    int check, guess, diagonal; /* first guess random; preconditioned by |diagonal|^-1 */
    /* mpk_dense_... and mpk_batch_... */
    int whole; /* the entries are those of both triangles */
    int dense_method, dense_precision, upper, apart, tile, depth, refinement;
    int batch_method, layout, copies;
} setup;

void setup_default(setup *s);

/** Random choices for a path; spoilt: with something that must be refused. */
void setup_random(setup *s, int path, const equations *eq, int spoilt, random_state *rng);

/** Text of what differs from the defaults, and back. parse returns 0 for an unknown word. */
enum { SETUP_TEXT = 2048 };
void setup_text(const setup *s, char text[SETUP_TEXT]);
int setup_parse(setup *s, const char *text);

/** Set one choice, numbered from 0, back to its default. Returns -1: no such number; 0: it was the
 *  default already; 1: changed. */
int setup_reset(setup *s, int number);

/** The permutation of options.ordering = given. */
void setup_permutation(const setup *s, int32_t n, int32_t *perm);

#endif
