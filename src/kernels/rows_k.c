/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of right-hand sides: every entry of the factor is spread over a vector of sides. An entry of
 * the result is one sum for each DEPTH terms, term after term, whatever stands beside it: so its bits
 * depend neither on how many sides there are nor on who takes which rows. */
#include "isa.h"
#include "vector.h"

enum {
    DEPTH = 256, /* terms of a sum: so many rows of x stay in the cache */
#if VBYTES == 64
    TILE = MPKI_COMPLEX ? 4 : 8, /* rows of a register tile */
#else
    TILE = MPKI_COMPLEX ? 2 : 4,
#endif
    WIDE = 2 /* vectors of sides across it */
};

/* Where the entries of a product lie: entry (i, k) at a[i down + k along]. */
typedef struct left {
    const T *a;
    int64_t down, along;
    int conjugate;
} left;

/* rows x (wide vectors): y -= A x; width: reals between two rows of x and of y. lanes < LANES: one
 * vector, of which only so many are there. */
INLINE void tile(const int rows, const int wide, const int masked, int64_t depth, const left *l,
                 int64_t i0, int64_t k0, const R *x, int64_t width, R *y, int lanes) {
    vec re[TILE][WIDE], im[TILE][WIDE];
    const R *a = (const R *)(l->a + i0 * l->down + k0 * l->along);
    const int64_t down = l->down * PARTS, along = l->along * PARTS;
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++) re[i][v] = im[i][v] = (vec){0};
    for (int64_t k = 0; k < depth; k++, a += along, x += width) {
        vec s[WIDE];
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++)
            s[v] = masked ? v_load_n(x + v * LANES, lanes) : v_load(x + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const vec t = v_all(a[i * down]);
#pragma GCC unroll 2
            for (int v = 0; v < wide; v++) re[i][v] += t * s[v];
#if MPKI_COMPLEX
            const vec u = v_all(a[i * down + 1]);
#pragma GCC unroll 2
            for (int v = 0; v < wide; v++) im[i][v] += u * s[v];
#endif
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++) {
            R *at = y + i * width + v * LANES;
            vec sum = re[i][v];
#if MPKI_COMPLEX
            sum = l->conjugate ? sum - v_times_i(im[i][v]) : sum + v_times_i(im[i][v]);
#endif
            if (masked)
                v_store_n(at, v_load_n(at, lanes) - sum, lanes);
            else
                v_store(at, v_load(at) - sum);
        }
}

/* All sides of `rows` rows. */
INLINE void strip(const int rows, int64_t depth, const left *l, int64_t i0, int64_t k0, const R *x,
                  int64_t width, R *y) {
    int64_t c = 0;
    for (; c + WIDE * LANES <= width; c += WIDE * LANES)
        tile(rows, WIDE, 0, depth, l, i0, k0, x + c, width, y + c, LANES);
    if (c + LANES <= width) {
        tile(rows, 1, 0, depth, l, i0, k0, x + c, width, y + c, LANES);
        c += LANES;
    }
    if (c < width) tile(rows, 1, 1, depth, l, i0, k0, x + c, width, y + c, (int)(width - c));
}

/* Columns of A lie far apart, and the lines of a strip would come from there one after the other: the CHUNK
 * rows after those at work are asked for, a part with each strip, column by column. */
enum { CHUNK = 64, CHUNK_PARTS = CHUNK / TILE };
static void prefetch(int64_t i, int64_t k0, int64_t k1, const left *l) {
    for (int64_t k = k0; k < k1; k++)
        for (int line = 0; line < CHUNK * (int)sizeof(T); line += 64)
            __builtin_prefetch((const char *)(l->a + i + k * l->along) + line, 0, 2);
}

static void product(int64_t rows, int64_t depth, const left *l, int nr, const T *x, T *y) {
    const int64_t width = (int64_t)nr * PARTS;
    for (int64_t k0 = 0; k0 < depth; k0 += DEPTH) {
        const int64_t d = depth - k0 < DEPTH ? depth - k0 : DEPTH;
        const R *xk = (const R *)(x + k0 * nr);
        int64_t i = 0;
        const int64_t chunks = l->down == 1 ? rows / CHUNK : 0;
        for (; i + TILE <= rows; i += TILE) {
            const int64_t next = i / CHUNK + 1, part = i % CHUNK / TILE;
            if (next < chunks)
                prefetch(next * CHUNK, k0 + d * part / CHUNK_PARTS,
                         k0 + d * (part + 1) / CHUNK_PARTS, l);
            strip(TILE, d, l, i, k0, xk, width, (R *)(y + i * nr));
        }
        if (TILE > 4 && i + 4 <= rows) {
            strip(4, d, l, i, k0, xk, width, (R *)(y + i * nr));
            i += 4;
        }
        if (TILE > 2 && i + 2 <= rows) {
            strip(2, d, l, i, k0, xk, width, (R *)(y + i * nr));
            i += 2;
        }
        if (i < rows) strip(1, d, l, i, k0, xk, width, (R *)(y + i * nr));
    }
}

void ISA_FN(rows)(int64_t rows, int64_t depth, const T *a, int64_t down, int64_t along,
                  int conjugate, int nr, const T *x, T *y) {
    const left l = {a, down, along, conjugate};
    product(rows, depth, &l, nr, x, y);
}

void ISA_FN(lower)(int n, const T *a, int64_t lda, int nr, T *v) {
    for (int i0 = 0; i0 < n; i0 += TILE) {
        const int i1 = n - i0 < TILE ? n : i0 + TILE;
        const left above = {a + i0, 1, lda, 0};
        product(i1 - i0, i0, &above, nr, v, v + (int64_t)i0 * nr);
        for (int i = i0 + 1; i < i1; i++) {
            const left own = {a + i + i0 * lda, 1, lda, 0};
            product(1, i - i0, &own, nr, v + (int64_t)i0 * nr, v + (int64_t)i * nr);
        }
    }
}

void ISA_FN(lower_t)(int n, const T *a, int64_t lda, int conjugate, int nr, T *v) {
    for (int i1 = n; i1 > 0;) {
        const int i0 = (i1 - 1) / TILE * TILE;
        const left below = {a + i1 + i0 * lda, lda, 1, conjugate};
        product(i1 - i0, n - i1, &below, nr, v + (int64_t)i1 * nr, v + (int64_t)i0 * nr);
        for (int i = i1 - 2; i >= i0; i--) {
            const left own = {a + i + 1 + i * lda, lda, 1, conjugate};
            product(1, i1 - 1 - i, &own, nr, v + (int64_t)(i + 1) * nr, v + (int64_t)i * nr);
        }
        i1 = i0;
    }
}
