/* SPDX-License-Identifier: BSD-3-Clause */
/* What each kernel has: -D WG_SIZE=n: the order; -D SINGLE: float instead of double.
 * LANES: numbers in a vector register, 0 where there are none. */
#ifdef SINGLE
#define T float
#define EPS ((T)1.1920929e-7f)
#define LANES (WG_VECTOR_BYTES / 4)
#else
#define T double
#define EPS ((T)2.220446049250313e-16)
#define LANES (WG_VECTOR_BYTES / 8)
#endif
#define N WG_SIZE
#define LANE ((int)get_local_id(0))
#define GROUP ((long)get_group_id(0))
