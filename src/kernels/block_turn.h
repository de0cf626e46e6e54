/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_TURN_H
#define MPKI_BLOCK_TURN_H
/** Shuffles between vectors: the transposition of a square of entries in registers, and the sums of
 * several vectors at once. Both exchange, for a stride h, the upper half of the lanes of one vector
 * with the lower half of another. */
#include "vector.h"

/* v_low(h, a, b): lane i is a's where bit h of i is 0, else b's lane i - h;
 * v_high(h, a, b): lane i is a's lane i + h where bit h of i is 0, else b's lane i. */
#define SHUFFLE __builtin_shufflevector
#if VBYTES == 16 && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
INLINE vec v_low(const int h, vec a, vec b) {
    (void)h;
    return SHUFFLE(a, b, 0, 2);
}
INLINE vec v_high(const int h, vec a, vec b) {
    (void)h;
    return SHUFFLE(a, b, 1, 3);
}
#elif VBYTES == 16 || (VBYTES == 32 && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3))
INLINE vec v_low(const int h, vec a, vec b) {
    return h == 1 ? SHUFFLE(a, b, 0, 4, 2, 6) : SHUFFLE(a, b, 0, 1, 4, 5);
}
INLINE vec v_high(const int h, vec a, vec b) {
    return h == 1 ? SHUFFLE(a, b, 1, 5, 3, 7) : SHUFFLE(a, b, 2, 3, 6, 7);
}
#elif VBYTES == 32 || (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
INLINE vec v_low(const int h, vec a, vec b) {
    return h == 1   ? SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
           : h == 2 ? SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
                    : SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
}
INLINE vec v_high(const int h, vec a, vec b) {
    return h == 1   ? SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
           : h == 2 ? SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
                    : SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}
#else
INLINE vec v_low(const int h, vec a, vec b) {
    return h == 1   ? SHUFFLE(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30)
           : h == 2 ? SHUFFLE(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
           : h == 4 ? SHUFFLE(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27)
                    : SHUFFLE(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
}
INLINE vec v_high(const int h, vec a, vec b) {
    return h == 1   ? SHUFFLE(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31)
           : h == 2 ? SHUFFLE(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
           : h == 4 ? SHUFFLE(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31)
                    : SHUFFLE(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}
#endif
#undef SHUFFLE

#define LANES_MAX 16
#define TURN (LANES / PARTS) /* entries in a vector: rows and columns of a square */

/** Transpose the square whose row k is v[k], k < TURN. */
INLINE void turn(vec v[LANES_MAX]) {
#pragma GCC unroll 4
    for (int h = 1; h < TURN; h *= 2)
#pragma GCC unroll 16
        for (int i = 0; i < TURN; i++)
            if (!(i & h)) {
                vec a = v[i], b = v[i + h];
                v[i] = v_low(h * PARTS, a, b);
                v[i + h] = v_high(h * PARTS, a, b);
            }
}

/** Lane i of the result: the sum of the lanes of v[i], i < LANES; v is destroyed. */
INLINE vec sums(vec v[LANES_MAX]) {
#pragma GCC unroll 4
    for (int h = 1; h < LANES; h *= 2)
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i += 2 * h)
            v[i] = v_low(h, v[i], v[i + h]) + v_high(h, v[i], v[i + h]);
    return v[0];
}

#endif
