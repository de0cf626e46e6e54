/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_CONTROL_CUH
#define MPKI_CUDA_DENSE_CONTROL_CUH
/** What the kernels of one factorization report to each other and to the host, in device memory.
 *  The host queues ahead without waiting; once `failed` is set, every kernel queued behind does
 *  nothing. Products by cuBLAS take alpha and beta from device memory, and so do nothing either. */
#include "engines/cuda/dense/tuning.h"

namespace mpki {

static const int TILE_MAX = 128;

/* the order of columns: a position, and bits that mark pivots of order 2 */
static const int FIRST_OF_TWO = 1 << 29, SECOND_OF_TWO = 1 << 30, PLACE = FIRST_OF_TWO - 1;

/* scalars in device memory: for products of the panels' stream, then a gate for each block */
enum { MINUS = 0, ONE = 1, NIL = 2, ALWAYS_MINUS = 3, ALWAYS_ONE = 4, ALWAYS_NIL = 5, GATES = 6 };

struct control {
    int failed;     /* 1: columns of panel `panel` did not pass the threshold test */
    int panel;      /* first column of that panel */
    int nonfinite;  /* the input holds NaN or Inf */
    int zeros;      /* pivots exactly zero */
    int slow_tiles; /* tiles that needed complete pivoting */
    unsigned ticket;
    unsigned largest;      /* key of the largest modulus of the input */
    unsigned max_l;        /* key of the largest |L| off the tiles */
    double zero_tolerance; /* a column not above this times `largest` is a zero pivot */
    int bad[TILE_MAX];     /* columns of the current tile that failed */
    int zero[TILE_MAX];    /* the zero pivots of the current tile */
    int order[TILE_MAX];   /* the columns of the current tile in their new order */
};

} // namespace mpki
#endif
