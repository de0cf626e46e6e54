/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_ROWS_BELOW_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_ROWS_BELOW_CUH
/** The sweep forward over the rows below the pivots of one front that is swept in strips. It does
 *  what forward_strip() does; of one front alone, where columns and rows lie is arithmetic. */
#include "strips.cuh"

namespace mpki {

/** A block: strip number `strip` of the rows below the pivots of a chain of one front: the
 *  contributions of its children, less L times the pivots' values, go to u, or to y for delayed
 *  columns. MODE: what is read of L. smem: shared memory. Called by forward_piece(). Barriers: it
 *  meets the block. */
template <int MODE, int NR, class T>
__device__ void forward_below(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                              const mpki_cuda_chain &me, int strip, char *smem) {
    const swept_front<T> top(t, me.top);
    const strip_smem<NR, T> m(smem);
    const int tid = (int)threadIdx.x, row = tid % STRIP, group = tid / STRIP;
    const int PART = STRIP / GROUPS, e = top.e;
    const int i0 = e + strip * STRIP, b = top.n - i0 < STRIP ? top.n - i0 : STRIP;
    for (int c = 0; c < me.strips && c < 2; ++c)
        lower_strip<MODE, T>(s, me, top.a, e, c).prefetch_rows_of(i0, b, e - c * STRIP);
    T *y = (T *)s.y;
    const int i = i0 + row;
    const bool left = i < top.w; /* a column that is left to the parent */
    const int position = row < b && left ? top.a.id[i] : 0;
    const int at = row >= b ? -1 : left ? position - top.node.first : top.own + i - top.w;
    int contribution = 0, contributions_end = 0;
    if (at >= 0 && (!left || at < top.own))
        contribution = s.contribution[me.contribution + at] + group,
        contributions_end = s.contribution[me.contribution + at + 1];
    int64_t to = position; /* of a thread that will have the row's sum */
    if (group == 0 && row < b && !left) to = contribution_places(s, me.top).of(i - top.w);
    wait_for_chain(t, s, me);
    __syncthreads();
    T sum[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) {
        sum[r] = make<T>(0);
        if (group == 0 && row < b && left) sum[r] = -load_from_l2(&y[(int64_t)position * NR + r]);
    }
    for (; contribution < contributions_end;
         contribution += 2 * GROUPS) { /* two are polled side by side */
        const bool two = contribution + GROUPS < contributions_end;
        const T *from = (const T *)s.u + (int64_t)contribution * NR,
                *next = from + (two ? GROUPS * NR : 0);
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            const T p = poll(from + r), q = poll(next + r);
            sum[r] = sum[r] - receive(from + r, p, 60);
            if (two) sum[r] = sum[r] - receive(next + r, q, 60);
        }
    }
    const T *sent = (const T *)s.sent + me.sent * NR;
    for (int c = 0; c < me.strips; ++c) {
        const int count = e - c * STRIP < STRIP ? e - c * STRIP : STRIP;
        typename read_of<MODE, T>::type l[PART];
        T *values = m.x + (c & 1) * STRIP * NR;
        lower_strip<MODE, T>(s, me, top.a, e, c).load(i, row < b, group * PART, count, l);
        if (c + 2 < me.strips) /* what comes after the next ones */
            lower_strip<MODE, T>(s, me, top.a, e, c + 2)
                .prefetch_rows_of(i0, STRIP, e - (c + 2) * STRIP);
        for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS)
            values[k] = k < count * NR ? receive(sent + (int64_t)c * STRIP * NR + k) : make<T>(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < PART; ++k)
#pragma unroll
            for (int r = 0; r < NR; ++r)
                pfma(sum[r], to_full<T>(l[k]), values[(group * PART + k) * NR + r]);
    }
#pragma unroll
    for (int r = 0; r < NR; ++r) m.part[(group * STRIP + row) * NR + r] = sum[r];
    __syncthreads();
    if (group == 0 && row < b)
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            T z = make<T>(0);
#pragma unroll
            for (int g = 0; g < GROUPS; ++g) z = z - m.part[(g * STRIP + row) * NR + r];
            if (left)
                y[to * NR + r] = z;
            else
                send((T *)s.u + to * NR + r, z);
        }
    if (top.w > e) publish(s.finished + me.top);
}

} // namespace mpki
#endif
