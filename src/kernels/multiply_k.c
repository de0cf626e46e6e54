/* SPDX-License-Identifier: BSD-3-Clause */
/* C -= A B with A as it lies in a front (by columns, not copied) and B packed: A's strip of MR rows
 * stays in the first-level cache, while the slivers of B stream from the second. */
#include "isa.h"
#include "micro.h"

INLINE void tile_of_c(const int mv, const int nr, const int masked, int depth, const R *a,
                      int64_t lda, const R *b, R *c, int64_t ldc, int cols, int last,
                      int overwrite) {
    vec acc[MV][NR];
    for (int j = 0; j < nr / PARTS; j++) /* C is far away: prefetch all of it */
        for (int i = 0; j < cols && i <= mv; i++)
            __builtin_prefetch(c + j * ldc + (i < mv ? i * LANES : mv * LANES - 1), 1, 2);
    micro(mv, nr, masked, depth, a, lda, b, last, acc);
    UNROLL_TO(8)
    for (int j = 0; j < nr / PARTS; j++) {
        if (j >= cols) break;
        R *cj = c + j * ldc;
        UNROLL_TO(3)
        for (int i = 0; i < mv; i++) {
            const int part = masked && i == mv - 1;
            vec x = micro_column(acc, i, j);
            vec old = overwrite ? (vec){0}
                      : part    ? v_load_n(cj + i * LANES, last)
                                : v_load(cj + i * LANES);
            if (part)
                v_store_n(cj + i * LANES, old - x, last);
            else
                v_store(cj + i * LANES, old - x);
        }
    }
}

#define TILE(mv, nr, masked)                                                                       \
    tile_of_c(mv, nr, masked, depth, a, lda, b, c, ldc, cols, last, overwrite)
#define TILES(nr, masked)                                                                          \
    switch (mv) {                                                                                  \
    case 1:                                                                                        \
        TILE(1, nr, masked);                                                                       \
        break;                                                                                     \
    case 2:                                                                                        \
        TILE(2, nr, masked);                                                                       \
        break;                                                                                     \
    default:                                                                                       \
        TILE(MV, nr, masked);                                                                      \
        break;                                                                                     \
    }

static __attribute__((noinline)) void edge_tile(int mv, int depth, const R *a, int64_t lda,
                                                const R *b, R *c, int64_t ldc, int cols, int last,
                                                int overwrite) {
    if (cols * 2 <= NC) {
        if (last < LANES)
            TILES(NR / 2, 1)
        else
            TILES(NR / 2, 0)
    } else {
        if (last < LANES)
            TILES(NR, 1)
        else
            TILES(NR, 0)
    }
}

static __attribute__((noinline)) void full_tile(int depth, const R *a, int64_t lda, const R *b,
                                                R *c, int64_t ldc, int overwrite) {
    tile_of_c(MV, NR, 0, depth, a, lda, b, c, ldc, NC, LANES, overwrite);
}

/* A strip of A's rows, with its columns copied side by side. In place each column lies on a page of
 * its own and, at strides of a power of two, all lie in the same few sets of the cache, while
 * sliver after sliver reads them again. */
enum { DEPTH_MOST = 136, STRIDE_LEAST = 2048, SLIVERS_LEAST = 6 };

INLINE void gather(int depth, const R *a, int64_t lda, R *strip) {
    for (int k = 0; k < depth; k++, a += lda, strip += MV * LANES) {
        UNROLL_TO(3)
        for (int i = 0; i < MV; i++) v_store(strip + i * LANES, v_load(a + i * LANES));
    }
}

/* Prefetch the next strip while this one is at work: its columns k0 .. k1-1. */
INLINE void ahead(int k0, int k1, const R *next, int64_t lda) {
    for (int k = k0; k < k1; k++) {
        UNROLL_TO(4)
        for (int i = 0; i <= MV; i++)
            __builtin_prefetch(next + k * lda + (i < MV ? i * LANES : MV * LANES - 1), 0, 2);
    }
}

void ISA_FN(multiply)(int64_t rows, int cols, int depth, const T *ta, int64_t lda, const T *packed,
                      T *tc, int64_t ldc, int overwrite, int64_t below) {
    R strip[MV * LANES * DEPTH_MOST] __attribute__((aligned(64)));
    const R *a = (const R *)ta, *b = (const R *)packed;
    R *c = (R *)tc;
    const int gathers = depth <= DEPTH_MOST && lda * (int64_t)sizeof(T) >= STRIDE_LEAST;
    for (int64_t i = 0; i < rows; i += MR) {
        int64_t left = (rows - i) * PARTS;
        int mv = left >= MV * LANES ? MV : (int)((left + LANES - 1) / LANES);
        int last = left >= mv * LANES ? LANES : (int)(left - (mv - 1) * LANES);
        int64_t final = i + MR - 1 < rows ? i + MR - 1 : rows - 1;
        const R *ai = a + i * PARTS;
        int64_t ldi = lda * PARTS, reach = cols < final + below ? cols : final + below + 1;
        int fetched = depth, each = 0; /* columns of the next strip: asked for, a sliver */
        if (gathers && left >= MV * LANES && reach >= SLIVERS_LEAST * NC) {
            if (left >= 2 * MV * LANES) fetched = 0;
            each = (int)((depth * (int64_t)NC + reach - 1) / reach);
            gather(depth, ai, ldi, strip);
            ai = strip, ldi = MV * LANES;
        }
        for (int j = 0; j < cols; j += NC) {
            if (final + below < j) break; /* above the diagonal from here on */
            int wide = cols - j < NC ? cols - j : NC;
            if (fetched < depth) {
                const int upto = fetched + each < depth ? fetched + each : depth;
                ahead(fetched, upto, a + (i + MR) * PARTS, lda * PARTS);
                fetched = upto;
            }
            const R *bj = b + (int64_t)j * PARTS * depth;
            R *cij = c + (i + j * ldc) * PARTS;
            if (mv == MV && last == LANES && wide == NC)
                full_tile(depth, ai, ldi, bj, cij, ldc * PARTS, overwrite);
            else
                edge_tile(mv, depth, ai, ldi, bj, cij, ldc * PARTS, wide, last, overwrite);
        }
    }
}

void ISA_FN(pack)(int cols, int depth, const T *l, int64_t ldl, const T *d, int hermitian,
                  T *packed) {
    for (int j = 0; j < cols; j += NC) {
        int wide = cols - j < NC ? cols - j : NC;
        R *b = (R *)(packed + (int64_t)j * depth);
        for (int k = 0; k < depth; k++) {
            const T *lk = l + j + k * ldl;
            __builtin_prefetch(lk + 2 * NC); /* columns lie far apart */
            int first = d && k + 1 < depth && t_abs1(d[2 * k + 1]) > 0;
            int second = d && k > 0 && t_abs1(d[2 * k - 1]) > 0;
            T dkk = d ? d[2 * k] : t_make(1, 0), dko = t_make(0, 0);
            const T *lo = lk; /* the partner's column of a 2x2 pivot */
            if (first) {
                lo = lk + ldl;
                dko = conj_if(hermitian, d[2 * k + 1]);
            } else if (second) {
                lo = lk - ldl;
                dko = d[2 * k - 1];
            }
#if !MPKI_COMPLEX
            if (NR == LANES) { /* one depth of a sliver is one vector */
                vec y = v_all(dkk) * v_load_n(lk, wide);
                if (first || second) y += v_all(dko) * v_load_n(lo, wide);
                v_store(b, y);
                b += NR;
                continue;
            }
#endif
            T x[NC];
            if (first || second)
                for (int i = 0; i < wide; i++)
                    x[i] = t_mul(dkk, conj_if(hermitian, lk[i])) +
                           t_mul(dko, conj_if(hermitian, lo[i]));
            else
                for (int i = 0; i < wide; i++) x[i] = t_mul(dkk, conj_if(hermitian, lk[i]));
            for (int i = wide; i < NC; i++) x[i] = t_make(0, 0);
#if MPKI_COMPLEX
            for (int i = 0; i < NC; i++) b[2 * i] = t_re(x[i]), b[2 * i + 1] = t_im(x[i]);
#else
            for (int i = 0; i < NC; i++) b[i] = x[i];
#endif
            b += NR;
        }
    }
}
