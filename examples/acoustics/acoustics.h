/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ACOUSTICS_H
#define ACOUSTICS_H
/** Time-harmonic sound on a soft obstacle by boundary elements: what the parts of the example
 *  share. Lengths are in radii of the obstacle, k is the wave number in their inverse. */
#include <complex.h>
#include <stdint.h>

/** A closed surface of triangles, star-shaped about the origin. */
typedef struct surface {
    int count;                                   /* triangles */
    double (*corner)[3][3], (*centre)[3];        /* of each; corners go round counterclockwise */
    double (*normal)[3], *area, *size;           /* outward unit normal; size: the longest side */
    double (*radius)(const double direction[3]); /* of the surface along a unit vector */
} surface;

/** "sphere": of radius 1; "head": with a nose, ears and a chin; "engine": a box with rounded edges,
 *  four cylinder heads in a row on its top and a shaft's flange. count: even, at least 32. Returns
 *  0, or -1: unknown name, wrong count, no memory. */
int surface_make(const char *name, int count, surface *s);
void surface_free(surface *s);

/** The lower triangle of A, n x n with n = s->count, by columns, lda = n:
 *      A_ij = (a_i a_j)^(-1/2) int_i int_j exp(i k |x-y|) / (4 pi |x-y|) dy dx,
 *  the single-layer operator in piecewise constants, scaled so that its diagonal is even.
 * Symmetric, not Hermitian. The singular part of near pairs is integrated in closed form over one
 * triangle (Wilton, Rao, Glisson et al. 1984) and by quadrature over the other, both ways round. */
void boundary_matrix(const surface *s, double k, float complex *a);
/** b_i = -a_i^(-1/2) int_i exp(i k z): a plane wave from below. */
void boundary_wave(const surface *s, double k, float complex *b);
/** The total field at a point outside, from the solution x of A x = b. */
double complex boundary_field(const surface *s, double k, const float complex *x,
                              const double at[3]);
/** ||x - exact|| / ||exact|| in L2 of the surface, for the unit sphere: x is -du/dn, and there
 *      du/dn = sum_l (2l+1) i^l P_l(cos theta) (-i) / (k h_l(k))                  (Wronskian of j,
 * h). */
double boundary_sphere_error(const surface *s, double k, const float complex *x);

/** |u| in the plane y = 0 around the obstacle as a PNG; 0, or -1 when the file cannot be written.
 */
int picture_write(const char *path, const surface *s, double k, const float complex *x);

/** A symmetric matrix of which the lower triangle is given (n x n, lda = n), and a vector, as .npy
 *  files; 0, or -1 when the file cannot be written. */
int matrix_write(const char *path, int64_t n, const float complex *a);
int vector_write(const char *path, int64_t n, const float complex *b);
#endif
