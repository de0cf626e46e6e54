/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the solver share. */
#ifndef PARTS_H
#define PARTS_H
#include <stdint.h>
#include <stdlib.h>
#include "solver.h"

enum { EACH = BLOCK * BLOCK, OWN = 6 * BLOCK };

/* A dense pivot: A = L D U as the kernels leave it (blocks.cl), of BLOCK rows or of more. */
typedef struct pivot {
    int n;
    double *l, *u; /* n x n by rows, U transposed; L D L^T: the same */
    double *diag;  /* 6 n: D's diagonal, beside it, both of D^-1, row and column of each step */
} pivot;

typedef struct graph {
    int n;
    int64_t *ptr;
    int32_t *adj; /* neighbours, each once, not the node itself */
} graph;

struct solver {
    int n, m;    /* rows; frames of BLOCK rows, the last of which may be padding */
    int64_t *rp; /* A by rows; a symmetric one in both triangles */
    int32_t *rj;
    double *rx;
    double *rscale, *cscale; /* powers of two */
    int32_t *with;           /* row i belongs to column with[i]; of a symmetric A it is i's own */
    int32_t *mate;           /* the other column of a pair, or -1 */
    int32_t *column, *at;    /* the column at a position, -1: padding; and back */
    int32_t *order, *place;  /* frames by place, and back; a stage moves rejected ones to the end */
    graph frames;            /* of A + A^T on frames */
    int32_t *turns;          /* by frame: butterflies it went through */
    double *turn;            /* by frame: the present one's numbers */
    int64_t *ptr;            /* by place: blocks of L below the pivot, row[ptr[k]] .. */
    int32_t *row;            /* their places, ascending */
    int tail;                /* frames at the end that are one dense pivot */
    double *block, *upper;   /* values of blocks; those of U transposed */
    double *pivots, *uppers, *diags; /* by place: L, U and D of pivots */
    pivot dense;
    double most; /* the largest entry of the scaled A */
    solver_info info;
};

static inline void *get(size_t count, size_t size) {
    return calloc(count ? count : 1, size);
}

/* match.c: scaling and pairs. order.c: positions of columns. 0 or -1: no memory */
int solver_match(solver *s);
int solver_order(solver *s);
/* order.c: the graph of A + A^T on n groups; group[] of a column, for rows through `with` */
int solver_graph(const solver *s, const int32_t *group, int n, graph *g);
void solver_graph_free(graph *g);
/* dense.c: a pivot in place of its n x n values in p->l; pivots not above `small` are replaced, and
 * counted. -2: values overflow, -3: not positive */
int solver_dense(pivot *p, int pivoting, double small, int64_t *replaced);
/* solve.c: is the inertia that of A? */
void solver_certify(solver *s);
/* values.c: where blocks are, at the present places; their values, those of A; none */
int solver_fill(solver *s);
int solver_values(solver *s);
/* all values to the kernels, or back */
void solver_exchange(const solver *s, void (*move)(void *values, size_t bytes));
void solver_release(solver *s);
pivot solver_pivot(const solver *s, int place);
/* a new butterfly for a frame; v := B^T v, or B v, for elements `step` apart */
void solver_new_turn(solver *s, int frame);
void solver_turn(const solver *s, int frame, int transposed, double *v, int step);
#endif
