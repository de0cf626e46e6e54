/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QUADRATIC_PROGRAM_H
#define QUADRATIC_PROGRAM_H
/** A convex quadratic program: minimise 1/2 x^T H x + c^T x subject to A x = b, l <= x <= u. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Triplets. */
typedef struct sparse {
    int64_t count, room;
    int32_t *row, *col;
    double *value;
} sparse;

/** A program, and its solution where that is known. */
typedef struct program {
    int32_t n, m;
    sparse h, a; /* h: lower triangle */
    double *c, *b, *l, *u;
    double *known;    /* n: the solution; unless there is none */
    const char *ends; /* how the method shall end */
} program;

/** count + 1 things, all zero. Ends the program where there is no memory. */
void *room(size_t count, size_t size);
void put(sparse *s, int32_t row, int32_t col, double value);
/** y += s M x; M^T if `turned`; a symmetric M from its lower triangle */
void multiply(const sparse *m, bool turned, bool symmetric, double s, const double *x, double *y);
/** The program that `spec` names, of random numbers by `seed`. false: there is no such program. */
bool program_of(program *p, const char *spec, int seed);
void program_free(program *p);

#endif
