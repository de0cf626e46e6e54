/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_PATHS_H
#define MPKI_CPU_MULTIFRONTAL_PATHS_H
/** Solves with few rows of b and of x: only the nodes between these rows and the roots are visited
 *  (Gilbert & Peierls 1988 for a sparse right-hand side; the paths of an assembly tree: Amestoy,
 *  Duff, Guermouche & Slavova 2012, Parallel Comput. 38). */
#include "multifrontal.h"

/** Where the columns of a factor's numbers were really eliminated, delayed ones in an ancestor of
 *  the node that the analysis has for them. */
struct mpki_places {
    int32_t *node;     /* n, by position: the node */
    int32_t *place;    /* n, by position: which of its nelim columns */
    int32_t *position; /* n: of each row, problem order */
    int64_t entries;   /* of L that a sweep up and down reads */
};

/** Right-hand sides that are swept together. */
enum { MPKI_PATHS_BLOCK = 8 };

/** What one worker keeps for its blocks; grows as they need it. Vectors lie one after the other,
 *  each with the eliminated columns of the block's nodes, node by node. */
typedef struct mpki_path_space {
    int nrhs;
    const int64_t *side; /* nrhs: numbers of the right-hand sides */
    uint8_t *mask;       /* nsuper, 0 between blocks: bit r, vector r comes by */
    int32_t *list;       /* nodes with a mask, in postorder */
    int32_t count;
    int64_t *y_at, *u_at; /* nsuper, of nodes that are visited: where they begin in y and u */
    int64_t ny, nu;       /* entries of one vector */
    void *y, *u;
    size_t y_room, u_room;  /* bytes */
    void *v;                /* rows of a node, for each vector */
    int64_t rows;           /* of them, for each vector */
    int64_t *row_at;        /* rows: where a node's rows lie in y */
    int64_t nodes, entries; /* visited so far, and entries of L that were read, for each vector */
} mpki_path_space;

/** A call, for all workers. */
typedef struct mpki_path_call {
    mpk_context *ctx;
    const mpki_direct *f;
    const mpki_places *places;
    const mpki_sparse_sides *sides;
    int64_t *order;        /* nrhs: right-hand sides by their lowest node */
    const uint8_t *wanted; /* nsuper: nodes on the way to rows of x that are wanted; NULL: all */
    const int32_t *up;     /* those nodes, in postorder; NULL: all */
    int32_t ups;
    mpki_path_space *space; /* of each worker */
} mpki_path_call;

mpk_status mpki_direct_sparse(mpk_context *ctx, const mpki_direct *f, int threads,
                              const mpki_sparse_sides *sides, mpki_sparse_done *done);
/** Forget where columns were eliminated: the numbers are others. */
void mpki_places_free(mpki_direct *f);

#define MPKI_PATHS(p)                                                                              \
    /** One block: s has its nodes, and room. Writes its columns of x. */                          \
    void mpki_##p##_paths_block(const mpki_path_call *c, mpki_path_space *s);
MPKI_PATHS(s)
MPKI_PATHS(d)
MPKI_PATHS(c)
MPKI_PATHS(z)
#undef MPKI_PATHS

#endif
