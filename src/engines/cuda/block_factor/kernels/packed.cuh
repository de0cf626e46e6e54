/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_PACKED_CUH
#define MPKI_CUDA_BLOCK_FACTOR_PACKED_CUH
/** Packed blocks (store.h), read and written by a warp, whose lanes are columns. */
#include "entries.cuh"
#include "values.cuh"

namespace mpki {

static const unsigned WARP = 0xffffffffu;

/** Words of a packed block, a multiple of 4. By each thread for itself; no barrier. */
template <class T> __device__ inline int packed_words(int rows, int entries) {
    if (entries == 0) return 0;
    return (MPKI_STORE_HEAD(rows) + entries * (int)(sizeof(T) / 4) + 3) & ~3;
}

/** The bits of the lanes before `lane`. By each thread for itself; no barrier. */
__device__ inline unsigned below(int lane) {
    return (1u << lane) - 1;
}
/** The lowest k bits. By each thread for itself; no barrier. */
__device__ inline unsigned low_bits(int k) {
    return k >= 32 ? 0xffffffffu : (1u << k) - 1;
}

/** Where the values of the packed block begin. By each thread for itself; no barrier. */
__device__ inline const uint32_t *values_in(const uint32_t *words) {
    return words + MPKI_STORE_HEAD(__popc(words[0]));
}

/** A walk over the nonempty rows of a packed block. */
template <class T> struct packed {
    const uint32_t *mask; /* of the next row's columns */
    values_of<T> value;
    unsigned rows;
    int at;
    /** Begins with its first row. By each thread for itself; no barrier. */
    __device__ packed(const uint32_t *words)
        : mask(words + 1), value(values_in(words)), rows(words[0]), at(0) {}
};

/** c (rows x ., ld) := the packed block, or its negative; words NULL: zeros. By all lanes of a
 *  warp; no barrier. */
template <class T>
__device__ inline void unpack(const uint32_t *words, int rows, int ld, bool negative, T *c) {
    const int lane = (int)(threadIdx.x % 32);
    if (!words) {
        for (int r = 0; r < rows; ++r)
            if (lane < ld) c[r * ld + lane] = make<T>(0);
        return;
    }
    packed<T> b(words);
    for (int r = 0; r < rows; ++r) {
        T x = make<T>(0);
        if (b.rows >> r & 1) {
            const unsigned m = *b.mask++;
            if (m >> lane & 1) x = b.value[b.at + __popc(m & below(lane))];
            b.at += __popc(m);
        }
        if (lane < ld) c[r * ld + lane] = negative ? -x : x;
    }
}

/** Rows that are asked for at once: one after the other each would be a trip to memory. */
template <class T> struct rows_ahead { static const int value = sizeof(T) <= 8 ? 32 : 16; };

/** f(r, x) for all rows r of c (rows x cols, ld) in order, x: the lane's entry or 0. By all
 *  lanes of a warp; no barrier. */
template <class T, class F>
__device__ inline void for_rows(int rows, int cols, int ld, const T *c, F f) {
    const int lane = (int)(threadIdx.x % 32), AHEAD = rows_ahead<T>::value;
    for (int r0 = 0; r0 < rows; r0 += AHEAD) {
        T x[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
            x[u] = r0 + u < rows && lane < cols ? c[(r0 + u) * ld + lane] : make<T>(0);
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
            if (r0 + u < rows) f(r0 + u, x[u]);
    }
}

/** words := the nonzeros of c (rows x cols, ld), packed, or of its negative. By all lanes of a
 *  warp, in shuffles; no block barrier. */
template <class T>
__device__ inline void pack(uint32_t *words, int rows, int cols, int ld, bool negative,
                            const T *c) {
    const int lane = (int)(threadIdx.x % 32);
    unsigned row_mask = 0, mine = 0; /* lane r: the mask of row r */
    for_rows(rows, cols, ld, c, [&](int r, T x) {
        const unsigned m = __ballot_sync(WARP, nonzero(x));
        if (m) row_mask |= 1u << r;
        if (lane == r) mine = m;
    });
    const int held = __popc(row_mask);
    if (lane == 0) words[0] = row_mask;
    if (mine) words[1 + __popc(row_mask & below(lane))] = mine;
    if (held % 2 == 0 && lane == 0) words[1 + held] = 0; /* padding */
    uint32_t *const values = words + MPKI_STORE_HEAD(held);
    int at = 0;
    for_rows(rows, cols, ld, c, [&](int r, T x) {
        const unsigned m = __shfl_sync(WARP, mine, r);
        if (m >> lane & 1) put_value(values, at + __popc(m & below(lane)), negative ? -x : x);
        at += __popc(m);
    });
}

/** Entries and nonempty rows of c. */
struct extent {
    unsigned rows;
    int entries;
};

/** The rows and the number of c's nonzeros. By all lanes of a warp, in shuffles; no block
 *  barrier. */
template <class T> __device__ inline extent measure(int rows, int cols, int ld, const T *c) {
    extent e = {0, 0};
    for_rows(rows, cols, ld, c, [&](int r, T x) {
        const unsigned m = __ballot_sync(WARP, nonzero(x));
        if (m) e.rows |= 1u << r;
        e.entries += __popc(m);
    });
    return e;
}

} // namespace mpki
#endif
