/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REAL_H
#define REAL_H
/* What each kernel has. -D WG_SIZE=n: the order N, with a work-item for each row. -D SINGLE: float
 * instead of double. -D COMPLEX: T is complex, R its parts, SIZE_OF a number's size; with -D
 * HERMITIAN matrices are Hermitian, else symmetric. -D STORED_SINGLE: double, of matrices of float,
 * if the kernel is written for that (S: what is stored). -D ORDER=n: WG_SIZE work-items share the
 * rows of a matrix of order n, if the kernel is written for that (HAS_ORDER, defined before this:
 * the numbers of work-items that it takes). -D ANY_ORDER: the order is the kernel's last parameter
 * n, one of N - 7 ... N, if the kernel is written for that (HAS_ANY_ORDER, defined before this). -D
 * INTERLEAVED: entry (i, j) of WG_PACK matrices, one in each lane, lies side by side, at ((j N + i)
 * WG_PACK + lane), number q of their pivots at (q WG_PACK + lane), if the kernel is written for
 * that. LANES: numbers in a vector register, 0 where there are none. */
#ifdef SINGLE
#define R float
#define EPS ((R)1.1920929e-7f)
#define LANES (WG_VECTOR_BYTES / 4)
#else
#define R double
#define EPS ((R)2.220446049250313e-16)
#define LANES (WG_VECTOR_BYTES / 8)
#endif
#ifdef COMPLEX
#define T R complex
#define SIZE_OF cabs1
#define REAL_OF creal
#else
#ifdef HERMITIAN
#error HERMITIAN is of COMPLEX matrices
#endif
#define REAL_OF
#define T R
#define SIZE_OF fabs
#endif
#ifdef STORED_SINGLE
#define S float
#ifndef HAS_STORED
#error this kernel stores what it computes with
#endif
#else
#define S T
#endif
#ifdef ORDER
#define N ORDER
#ifndef HAS_ORDER
#error this kernel has a work-item for each row: no ORDER
#endif
#else
#define N WG_SIZE
#endif
#ifdef ANY_ORDER
#ifndef HAS_ANY_ORDER
#error this kernel knows its order: no ANY_ORDER
#endif
#define ORDER_PARAMETER , int n
#define ROWS n /* of a matrix; N bounds it */
#define LEAST_ROWS (N - 7)
#define IS_ROW (LANE < n)
#else
#define IS_ROW true
#define ORDER_PARAMETER
#define ROWS N
#define LEAST_ROWS N
#endif
#define LANE ((int)get_local_id(0))
#define GROUP ((long)get_group_id(0))

/* P: a pivot's type. */
#ifdef HERMITIAN
#define P R
#else
#define P T
#endif

/* What an entry is across the diagonal. */
static T across(T x) {
#ifdef HERMITIAN
    return conj(x);
#else
    return x;
#endif
}
/* An entry on the diagonal, which is real in a Hermitian matrix, whatever is stored. */
static P pivot_of(T x) {
#ifdef HERMITIAN
    return creal(x);
#else
    return x;
#endif
}
/* Entry (LANE, j), as it counts. */
static T entry_of(T x, int j) {
#ifdef HERMITIAN
    return LANE == j ? (T)creal(x) : x;
#else
    return x;
#endif
}
static R square(T x) {
#ifdef COMPLEX
    return creal(x) * creal(x) + cimag(x) * cimag(x);
#else
    return x * x;
#endif
}
/* x r, r real; x r, r of a pivot. */
static T times(T x, R r) {
#ifdef COMPLEX
    return CMPLX(creal(x) * r, cimag(x) * r);
#else
    return x * r;
#endif
}
static T scaled(T x, P r) {
#ifdef HERMITIAN
    return times(x, r);
#else
    return x * r;
#endif
}
#endif
