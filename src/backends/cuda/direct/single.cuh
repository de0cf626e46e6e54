/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_SINGLE_CUH
#define MPKI_CUDA_DIRECT_SINGLE_CUH
/** Sweeps over a front whose pivots are one strip. Forward, where rows below are few, each block forms them, since to hand them on
 *  takes longer. On the way back what comes from the nearest ancestor
 *  is added up last. */
#include "below.cuh"

namespace mpki {

/** All threads: a row of a front, whose value comes with what children give to it and goes to y or u; its group
 *  adds up every so many of the gifts. */
template <int NR, class T> struct single_row {
    int64_t to;
    int gift, gifts;
    bool there, left; /* left: in y */
    __device__ single_row(const mpki_cuda_sweep &s, const mpki_cuda_chain &me,
                          const swept_front<T> &f, int i, int end, int group)
        : to(0), gift(0), gifts(0), there(i < end), left(i < f.w) {
        if (!there) return;
        const int at = left ? f.a.id[i] - f.node.first : f.own + i - f.w;
        to = left ? (int64_t)f.a.id[i] : gift_places(s, me.top).of(i - f.w);
        if (!left || (at >= 0 && at < f.own))
            gift = s.gift[me.gift + at] + group, gifts = s.gift[me.gift + at + 1];
    }
    /** Minus what there is of it: y by group 0. */
    __device__ void begin(const mpki_cuda_sweep &s, int group, T (&sum)[NR]) const {
#pragma unroll
        for (int r = 0; r < NR; ++r)
            sum[r] =
                group == 0 && there && left ? -fresh((const T *)s.y + to * NR + r) : make<T>(0);
        subtract_gifts<NR>((const T *)s.u, gift, gifts, sum);
    }
    __device__ void put(const mpki_cuda_sweep &s, int r, T value) const {
        if (left)
            ((T *)s.y)[to * NR + r] = value;
        else
            hand_on((T *)s.u + to * NR + r, value);
    }
};

/** All threads: the inverse of the only square, which is kept where there is room. */
template <int NR, class T>
__device__ inline void make_square(const mpki_cuda_sweep &s, const mpki_cuda_chain &me,
                                   const swept_front<T> &f, const strip_room<NR, T> &m) {
    for (int q = (int)threadIdx.x; q < STRIP * STRIP; q += SWEEP_THREADS) {
        const int i = q % STRIP, k = q / STRIP;
        m.M[i + k * SQUARE] = i < f.e && k < i ? f.a.at(i, k) : make<T>(i == k);
    }
    invert_square(m.M, f.e);
    if (s.square) keep_square(m.M, kept_square<T>(s, me, 0));
}

/** All threads: the pivots, and strip number `strip` of the rows below. Each of the front's blocks forms the pivots by itself;
 *  the last one puts them to y when the others have read what was there. */
template <int MODE, int NR, class T>
__device__ void forward_single(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                               const mpki_cuda_chain &me, int strip, char *room) {
    const swept_front<T> f(t, me.top);
    const strip_room<NR, T> m(room);
    const int tid = (int)threadIdx.x, row = tid % STRIP, group = tid / STRIP;
    const int PART = STRIP / GROUPS, e = f.e, i0 = e + strip * STRIP;
    const int end = f.n < i0 + STRIP ? f.n : i0 + STRIP;
    int *reads = (int *)((T *)s.handed + me.handed * NR); /* blocks that have; it begins at -1 */
    const bool kept = MODE != PLAIN || s.squared;
    if (kept) bring_square(kept_square<T>(s, me, 0), m.M);
    const lower_strip<MODE, T> lower(s, me, f.a, e, 0);
    lower.bring_rows_of(i0, end - i0, e);
    const single_row<NR, T> pivot(s, me, f, row, e, group), below(s, me, f, i0 + row, end, group);
    if constexpr (MODE == PLAIN)
        if (!kept) make_square<NR>(s, me, f, m);
    wait_for_chain(t, s, me);
    __syncthreads();
    T sum[NR], sum_below[NR];
    pivot.begin(s, group, sum);
    below.begin(s, group, sum_below);
    typename read_of<MODE, T>::type l[PART];
    lower.load(i0 + row, below.there, group * PART, e, l);
#pragma unroll
    for (int r = 0; r < NR; ++r) {
        m.part[(group * STRIP + row) * NR + r] = sum[r];
        if (group == 0) m.y[row * NR + r] = make<T>(0);
    }
    finish_strip(m, GROUPS, true, false, false,
                 [&](int i, int r, T value) { m.x[i * NR + r] = value; });
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PART; ++k)
#pragma unroll
        for (int r = 0; r < NR; ++r)
            pfma(sum_below[r], widen<T>(l[k]), m.x[(group * PART + k) * NR + r]);
#pragma unroll
    for (int r = 0; r < NR; ++r) m.part[(group * STRIP + row) * NR + r] = sum_below[r];
    __syncthreads();
    if (group == 0 && below.there)
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            T z = make<T>(0);
#pragma unroll
            for (int g = 0; g < GROUPS; ++g) z = z - m.part[(g * STRIP + row) * NR + r];
            below.put(s, r, z);
        }
    const bool last = strip + 1 == me.single;
    if (tid == 0 && me.single > 1) {
        if (last)
            wait_for(reads, me.single - 1);
        else
            atomicAdd(reads, 1);
    }
    __syncthreads();
    for (int k = tid; k < e * NR && last; k += SWEEP_THREADS)
        ((T *)s.y)[(int64_t)f.a.id[k / NR] * NR + k % NR] = m.x[k];
    if (f.w > e) publish(s.finished + me.top);
}

/** A warp: each lane's value, of which `x` was seen, where it is wanted. */
template <class T> __device__ inline T handed_to_warp(const T *p, T x, bool wanted) {
    for (;;) {
        const unsigned missing = __ballot_sync(0xffffffffu, wanted && !is_there(x));
        if (!missing) return x;
        /* one lane looks for all: eight warps wait for the same values */
        if (((int)threadIdx.x & 31) == __ffs((int)missing) - 1) x = handed(p, x, 60);
        __syncwarp();
        if (wanted && !is_there(x)) x = peek(p);
    }
}

/** All threads: the way back, with the first slice of the rows beyond the pivots. */
template <int MODE, bool H, int NR, class T>
__device__ void backward_single(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                const mpki_cuda_chain &me, char *room) {
    typedef typename read_of<MODE, T>::type E;
    __shared__ int32_t where[SWEEP_THREADS];
    __shared__ int missing;
    const swept_front<T> f(t, me.top);
    const strip_room<NR, T> m(room);
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32, e = f.e;
    const int COLUMNS = STRIP / (SWEEP_THREADS / 32);
    const int slices = (f.n - e + SWEEP_THREADS - 1) / SWEEP_THREADS;
    const int count = f.n - e < SWEEP_THREADS ? f.n - e : SWEEP_THREADS;
    const bool kept = MODE != PLAIN || s.squared;
    const T *x = (const T *)s.x;
    const T *sums = (const T *)s.handed_back + (me.handed + 2 * STRIP) * NR;
    if (kept) bring_square(kept_square<T>(s, me, 0), m.M);
    const lower_strip<MODE, T> lower(s, me, f.a, e, 0);
    if (tid < count) {
        const int i = e + tid;
        where[tid] = i < f.w ? f.a.id[i] : t.ridx[f.node.ridx + i - f.w];
    }
    if (tid == 0) missing = 0;
    bring_columns(lower.a + e, (int)lower.ld, count, e);
    if constexpr (MODE == PLAIN)
        if (!kept) make_square<NR>(s, me, f, m);
    for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS)
        m.y[k] = k / NR < e ? begin_value<H, NR>(s, f.a, k / NR, k % NR) : make<T>(0);
    __syncthreads();
    bool all = true; /* are there */
    for (int k = tid; k < SWEEP_THREADS * NR; k += SWEEP_THREADS) {
        m.x[k] = k / NR < count ? peek(&x[(int64_t)where[k / NR] * NR + k % NR]) : make<T>(0);
        all = all && is_there(m.x[k]);
    }
    if (!all) missing = 1;
    __syncthreads();
    T sum[NR][COLUMNS]; /* a warp takes 8 columns */
#pragma unroll
    for (int r = 0; r < NR; ++r)
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) sum[r][q] = make<T>(0);
    /* 32 rows at a time, the nearest ancestor's last: little is left to be done when it is through */
    const auto fetch = [&](int i, E(&l)[COLUMNS]) {
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) {
            const int col = warp * COLUMNS + q;
            l[q] =
                col < e && i + lane < count ? lower.a[e + i + lane + col * lower.ld] : make<E>(0);
        }
    };
    const auto add = [&](const E(&l)[COLUMNS], int r, T value) {
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) pfma(sum[r][q], cj<H>(as_read<MODE, T>(l[q])), value);
    };
    if (missing) {
        for (int i = (count - 1) & ~31; i >= 0; i -= 32) {
            E l[COLUMNS];
            fetch(i, l);
#pragma unroll
            for (int r = 0; r < NR; ++r) {
                const bool there = i + lane < count;
                const T *from = &x[there ? (int64_t)where[i + lane] * NR + r : 0];
                add(l, r, handed_to_warp(from, m.x[(i + lane) * NR + r], there));
            }
        }
    } else {
#pragma unroll 2
        for (int i = (count - 1) & ~31; i >= 0; i -= 32) {
            E l[COLUMNS];
            fetch(i, l);
#pragma unroll
            for (int r = 0; r < NR; ++r) add(l, r, m.x[(i + lane) * NR + r]);
        }
    }
    for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS)
        for (int q = 0; q + 1 < slices; ++q)
            m.y[k] = m.y[k] - handed(sums + (int64_t)q * STRIP * NR + k);
#pragma unroll
    for (int r = 0; r < NR; ++r) {
        const T z = sum_columns(sum[r]);
        if ((lane & 3) == 0) m.part[(warp * COLUMNS + lane / 4) * NR + r] = z;
    }
    finish_strip(m, 1, true, true, H, [&](int i, int r, T value) {
        if (i < e) deliver<NR>(s, f.a.id[i], r, value);
    });
}

} // namespace mpki
#endif
