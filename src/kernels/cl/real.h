/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REAL_H
#define REAL_H
/* What each kernel has. -D WG_SIZE=n: the order N, with a work-item for each row. -D SINGLE: float
 * instead of double. -D COMPLEX: T is
 * complex, R its parts, SIZE_OF a number's size; kernels that compare numbers otherwise refuse. -D STORED_SINGLE: double, of matrices of float, if the kernel is written for
 * that (S: what is stored). -D ORDER=n: WG_SIZE work-items share the rows of a matrix of order n,
 * if the kernel is written for that (HAS_ORDER, defined before this: the numbers of work-items that
 * it takes). -D ANY_ORDER: the order is the kernel's last parameter n, one of N - 7 ... N, if the
 * kernel is written for that (HAS_ANY_ORDER, defined before this). -D INTERLEAVED:
 * entry (i, j) of WG_PACK matrices, one in each lane, lies side by side, at ((j N + i) WG_PACK +
 * lane), number q of their pivots at (q WG_PACK + lane), if the kernel is written for that. LANES:
 * numbers in a vector register, 0 where there are none. */
#ifdef SINGLE
#define R float
#define EPS ((T)1.1920929e-7f)
#define LANES (WG_VECTOR_BYTES / 4)
#else
#define R double
#define EPS ((T)2.220446049250313e-16)
#define LANES (WG_VECTOR_BYTES / 8)
#endif
#ifdef COMPLEX
#define T R complex
#define SIZE_OF cabs1
#else
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
#endif
