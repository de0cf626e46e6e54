/* SPDX-License-Identifier: BSD-3-Clause */
/* Small matrices that follow each other, and the same side by side: entry (i, j) of LANES of them
 * in one vector, w[j n + i]. Orders are multiples of four. Included once for each type of entries,
 * by a file that is compiled for one instruction set, with INTERLEAVE_T, INTERLEAVE_INT (as large),
 * INTERLEAVE_BYTES of a vector and INTERLEAVE(name). */
#ifndef MPKI_CPU_BATCH_INTERLEAVE_H
#define MPKI_CPU_BATCH_INTERLEAVE_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#endif

typedef INTERLEAVE_T INTERLEAVE(vec) __attribute__((vector_size(INTERLEAVE_BYTES)));
typedef INTERLEAVE_INT INTERLEAVE(at) __attribute__((vector_size(INTERLEAVE_BYTES)));
enum { INTERLEAVE(lanes) = INTERLEAVE_BYTES / sizeof(INTERLEAVE_T) };

/* Lanes of a and b by turns of h: the ones whose number has not the bit h, or has it. */
static inline __attribute__((always_inline)) INTERLEAVE(vec)
    INTERLEAVE(pick)(INTERLEAVE(vec) a, INTERLEAVE(vec) b, int h, bool high) {
    const int lanes = INTERLEAVE(lanes);
#ifdef __clang__
    INTERLEAVE(vec) z = a;
    for (int i = 0; i < lanes; i++)
        z[i] = high ? (i & h ? b[i] : a[i | h]) : (i & h ? b[i & ~h] : a[i]);
    return z;
#else
    INTERLEAVE(at) from;
    for (int i = 0; i < lanes; i++)
        from[i] = high ? (i & h ? lanes + i : i | h) : (i & h ? lanes + (i & ~h) : i);
    return __builtin_shuffle(a, b, from);
#endif
}

/* x[q]: `rows` entries of matrix q, then of q + rows, ...; afterwards row q of all matrices, or
 * back. */
static inline __attribute__((always_inline)) void INTERLEAVE(turn)(INTERLEAVE(vec) * x, int rows) {
#pragma GCC unroll 4
    for (int h = rows / 2; h > 0; h /= 2)
#pragma GCC unroll 16
        for (int q = 0; q < rows; q++)
            if (!(q & h)) {
                const INTERLEAVE(vec) a = x[q], b = x[q + h];
                x[q] = INTERLEAVE(pick)(a, b, h, false);
                x[q + h] = INTERLEAVE(pick)(a, b, h, true);
            }
}

/* `rows` entries from a on of each matrix. */
static inline __attribute__((always_inline)) void
INTERLEAVE(gather)(INTERLEAVE(vec) * w, const INTERLEAVE_T *a, int64_t stride, int rows) {
    const int lanes = INTERLEAVE(lanes);
    INTERLEAVE(vec) x[INTERLEAVE(lanes)];
#pragma GCC unroll 16
    for (int q = 0; q < rows; q++)
#pragma GCC unroll 4
        for (int p = 0; p < lanes / rows; p++)
            memcpy((INTERLEAVE_T *)&x[q] + p * rows, a + (q + p * rows) * stride,
                   (size_t)rows * sizeof *a);
    INTERLEAVE(turn)(x, rows);
#pragma GCC unroll 16
    for (int q = 0; q < rows; q++) w[q] = x[q];
}

/* Puts `rows` entries back into each matrix, from a on. */
static inline __attribute__((always_inline)) void
INTERLEAVE(scatter)(const INTERLEAVE(vec) * w, INTERLEAVE_T *a, int64_t stride, int rows) {
    const int lanes = INTERLEAVE(lanes);
    INTERLEAVE(vec) x[INTERLEAVE(lanes)];
#pragma GCC unroll 16
    for (int q = 0; q < rows; q++) x[q] = w[q];
    INTERLEAVE(turn)(x, rows);
#pragma GCC unroll 16
    for (int q = 0; q < rows; q++)
#pragma GCC unroll 4
        for (int p = 0; p < lanes / rows; p++)
            memcpy(a + (q + p * rows) * stride, (INTERLEAVE_T *)&x[q] + p * rows,
                   (size_t)rows * sizeof *a);
}

/* As many rows as a vector has lanes are moved at once, or four where there are fewer. */
enum { INTERLEAVE(few) = 4 };

/* LANES matrices from a on into w. */
static inline void INTERLEAVE(in)(INTERLEAVE(vec) * w, int n, const INTERLEAVE_T *a, int64_t ld,
                                  int64_t stride) {
    for (int j = 0; j < n; j++) {
        const INTERLEAVE_T *from = a + j * ld;
        int i = 0;
        for (; i + INTERLEAVE(lanes) <= n; i += INTERLEAVE(lanes))
            INTERLEAVE(gather)(w + j * n + i, from + i, stride, INTERLEAVE(lanes));
        for (; i < n; i += INTERLEAVE(few))
            INTERLEAVE(gather)(w + j * n + i, from + i, stride, INTERLEAVE(few));
    }
}

/* Puts the lanes' matrices back where they lie one after the other. */
static inline void INTERLEAVE(out)(const INTERLEAVE(vec) * w, int n, INTERLEAVE_T *a, int64_t ld,
                                   int64_t stride) {
    for (int j = 0; j < n; j++) {
        INTERLEAVE_T *to = a + j * ld;
        int i = 0;
        for (; i + INTERLEAVE(lanes) <= n; i += INTERLEAVE(lanes))
            INTERLEAVE(scatter)(w + j * n + i, to + i, stride, INTERLEAVE(lanes));
        for (; i < n; i += INTERLEAVE(few))
            INTERLEAVE(scatter)(w + j * n + i, to + i, stride, INTERLEAVE(few));
    }
}

#undef INTERLEAVE_T
#undef INTERLEAVE_INT
#undef INTERLEAVE
