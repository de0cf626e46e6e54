/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LDLT_PIVOTS_H
#define LDLT_PIVOTS_H
#include "real.h"

/* What the kernels of LDLT that search for pivots share. */
#define PARTIAL 1 /* how pivots are searched for */
#define ROOK 2
#define COMPLETE 3
#define ALPHA ((R)0.6403882032022076) /* (1 + sqrt(17)) / 8 */

#if (defined(BORG_SIMT) || defined(ORDER)) && !defined(COMPLEX)
/* A row's place and flags beside it; rows named by the last bits of sizes; sizes as logarithms. */
#define PLACE 63
#define SECOND 128 /* of a 2x2 pivot */
#define FIRST 64
#define POSITIVE 256
#define ZERO 65536
#if N <= 4 && !defined(ORDER) /* a tile has eight rows */
#define LAST 3
#elif N <= 8
#define LAST 7
#elif N <= 16
#define LAST 15
#elif N <= 32
#define LAST 31
#else
#define LAST 63
#endif
#ifdef SINGLE
#define LOG 5393725u /* -log2((sqrt(17) + 1) / 8), as magnitude counts it */
#define ENDLESS 0x7f800000u
#else
#define LOG 674216u
#ifdef STORED_SINGLE
#define ENDLESS 0x47f00000u /* of 2^128 */
#else
#define ENDLESS 0x7ff00000u
#endif
#endif
#define FOLDS (N / 2 + 1)

/* The lower triangle of A, of order n, folded: column j in row j, from LANE = j on, and before it
 * column N - j. Beyond the last row zeros, where there are any (ANY_ORDER). */
static T folded(int n, __global const T *a, int lda, long base, int j) {
#ifdef ANY_ORDER
    int at = (LANE < j ? (N - j) * (lda + 1) : j * lda) + LANE;
    return (LANE < j ? LANE + N - j : LANE) < n ? a[base + at] : (T)0;
#else
    return a[base + (LANE < j ? (N - j) * (lda + 1) : j * lda) + LANE];
#endif
}

/* A size, and the size of x, with a row's number in its last bits. */
static uint named_as(uint size, int row) {
    return (size & ~(uint)LAST) | (uint)row;
}
static uint named(uint size) {
    return named_as(size, LANE);
}
/* How many bits are 1. */
static int ones(uint bits) {
    bits -= bits >> 1 & 0x55555555u;
    bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
    return (int)((bits + (bits >> 4) & 0x0f0f0f0fu) * 0x01010101u >> 24);
}
/* Up to this size a column counts as zero: tol times the largest entry, by logarithms, to within a
 * tenth; at least LOG, a denormal number, so that 0 + LOG is never the larger size. */
static uint threshold(uint largest, T tol) {
    uint product = largest + magnitude(tol);
    return max(tol > 0 && product > magnitude((T)1) ? product - magnitude((T)1) : 0u, LOG) |
           (uint)LAST;
}
static uint key(T x) {
    return named(magnitude(x));
}
#endif
#endif
