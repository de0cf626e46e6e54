/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_SINGLE_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_SINGLE_CUH
/** The sweep forward over a front whose pivots are one strip and whose rows below are at most one
 *  strip: one block does both, since to send the pivots to another block takes longer than that
 *  block's work. */
#include "rows_below.cuh"

namespace mpki {

/** A row of such a front, for the threads of its row: where its value goes (y or u), and the
 *  contributions that group `group` adds up, every GROUPS-th of them. */
template <int NR, class T> struct single_row {
    int64_t to;
    int contribution, contributions_end;
    bool there, left; /* left: in y */
    __device__ single_row(const mpki_cuda_sweep &s, const mpki_cuda_chain &me,
                          const swept_front<T> &f, int i, int end, int group)
        : to(0), contribution(0), contributions_end(0), there(i < end), left(i < f.w) {
        if (!there) return;
        const int at = left ? f.a.id[i] - f.node.first : f.own + i - f.w;
        to = left ? (int64_t)f.a.id[i] : contribution_places(s, me.top).of(i - f.w);
        if (!left || (at >= 0 && at < f.own))
            contribution = s.contribution[me.contribution + at] + group,
            contributions_end = s.contribution[me.contribution + at + 1];
    }
    /** A thread: sum := minus the value in y (group 0), minus its contributions, as they arrive.
     *  Barriers: none. */
    __device__ void begin(const mpki_cuda_sweep &s, int group, T (&sum)[NR]) const {
#pragma unroll
        for (int r = 0; r < NR; ++r)
            sum[r] = group == 0 && there && left ? -load_from_l2((const T *)s.y + to * NR + r)
                                                 : make<T>(0);
        subtract_contributions<NR>((const T *)s.u, contribution, contributions_end, sum);
    }
    /** A thread: the value of the row goes to y or, sent, to u. Barriers: none. */
    __device__ void put(const mpki_cuda_sweep &s, int r, T value) const {
        if (left)
            ((T *)s.y)[to * NR + r] = value;
        else
            send((T *)s.u + to * NR + r, value);
    }
};

/** A block: m.M := the inverse of the only square of the front, which is stored if there is memory
 *  for it. Barriers: it meets the block. */
template <int NR, class T>
__device__ inline void make_square(const mpki_cuda_sweep &s, const mpki_cuda_chain &me,
                                   const swept_front<T> &f, const strip_smem<NR, T> &m) {
    for (int q = (int)threadIdx.x; q < STRIP * STRIP; q += SWEEP_THREADS) {
        const int i = q % STRIP, k = q / STRIP;
        m.M[i + k * SQUARE] = i < f.e && k < i ? f.a.at(i, k) : make<T>(i == k);
    }
    invert_square(m.M, f.e);
    if (s.square) store_square(m.M, kept_square<T>(s, me, 0));
}

/** A block: y and u of the whole front. MODE: what is read of L. smem: shared memory. Called by
 *  forward_piece(). Barriers: it meets the block. */
template <int MODE, int NR, class T>
__device__ void forward_single(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                               const mpki_cuda_chain &me, char *smem) {
    const swept_front<T> f(t, me.top);
    const strip_smem<NR, T> m(smem);
    const int tid = (int)threadIdx.x, row = tid % STRIP, group = tid / STRIP;
    const int PART = STRIP / GROUPS, e = f.e;
    const bool kept = MODE != READ_PANEL || s.squared;
    if (kept) copy_square_async(kept_square<T>(s, me, 0), m.M);
    const lower_strip<MODE, T> lower(s, me, f.a, e, 0);
    lower.prefetch_rows_of(e, f.n - e, e);
    const single_row<NR, T> pivot(s, me, f, row, e, group), below(s, me, f, e + row, f.n, group);
    if constexpr (MODE == READ_PANEL)
        if (!kept) make_square<NR>(s, me, f, m);
    wait_for_chain(t, s, me);
    __syncthreads();
    T sum[NR], sum_below[NR];
    pivot.begin(s, group, sum);
    below.begin(s, group, sum_below);
    typename read_of<MODE, T>::type l[PART];
    lower.load(e + row, below.there, group * PART, e, l);
#pragma unroll
    for (int r = 0; r < NR; ++r) {
        m.part[(group * STRIP + row) * NR + r] = sum[r];
        if (group == 0) m.y[row * NR + r] = make<T>(0);
    }
    finish_strip(m, GROUPS, true, false, false, [&](int i, int r, T value) {
        m.x[i * NR + r] = value;
        if (i < e) ((T *)s.y)[(int64_t)f.a.id[i] * NR + r] = value;
    });
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PART; ++k)
#pragma unroll
        for (int r = 0; r < NR; ++r)
            pfma(sum_below[r], to_full<T>(l[k]), m.x[(group * PART + k) * NR + r]);
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
    if (f.w > e) publish(s.finished + me.top);
}

} // namespace mpki
#endif
