/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TILE_BY_LANES_CUH
#define MPKI_CUDA_DENSE_TILE_BY_LANES_CUH
/** A tile of real doubles from its entries to L and L^-1: for dense matrices (tile.cuh) and for
 *  large fronts (multifrontal/pivot/tile_128.cuh). */
#include "tile_below.cuh"
#include "tile_block.cuh"
#include "tile_lanes.cuh"

namespace mpki {

/** What a tile begins with, beside its entries. By all threads of a block, which need a block
 *  barrier after it. */
template <class T> __device__ void tile_begin(tile_memory<T> &m) {
    const int tid = threadIdx.x;
    if (tid == 0) m.failed = 0;
    if (tid < tile_memory<T>::B) {
        m.order[tid] = tid, m.zero[tid] = 0;
        m.d[tid] = m.e[tid] = m.di[tid] = m.ei[tid] = make<T>(0);
    }
}

/** S := the lower triangle of nb candidates at A, zeros above it and beyond. By all threads of a
 *  block, which need a block barrier after it. */
template <class T> __device__ void lanes_load(tile_memory<T> &m, int nb, const T *A, int64_t lda) {
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, tid = threadIdx.x;
    const int i = tid % B, j0 = tid / B, every = TILE_THREADS / B;
    const bool pairs = ((uintptr_t)A & 15) == 0 && lda % 2 == 0 && nb == B;
    if (pairs) { /* of rows: 16 bytes */
        const int i2 = 2 * (tid % (B / 2)), last = i2 / 64 * 64 + 64, own = i2 + 1;
        /* of odd rows the diagonal alone: nobody may have written what is above it */
        const bool mine = own % (2 * every) == tid / (B / 2);
        const T diagonal = mine ? A[own + own * lda] : (T)0;
#pragma unroll 8
        for (int j = tid / (B / 2); j < last; j += 2 * every)
            if (i2 >= j)
                copy_async16(m.S + i2 + j * LD, A + i2 + j * lda);
            else
                *(double2 *)(m.S + i2 + j * LD) = double2{0, 0};
        copy_commit();
        for (int j = last + tid / (B / 2); j < B; j += 2 * every)
            *(double2 *)(m.S + i2 + j * LD) = double2{0, 0};
        if (mine) m.S[own + own * LD] = diagonal;
        copy_wait<0>();
    } else {
        const int last = i / 32 * 32 + 32; /* of this warp's rows */
#pragma unroll 8
        for (int j = j0; j < last; j += every)
            copy_async8(m.S + i + j * LD, A + (i >= j && i < nb ? i + j * lda : 0),
                        i >= j && i < nb);
        copy_commit();
        for (int j = last + j0; j < B; j += every) m.S[i + j * LD] = make<T>(0);
        copy_wait<0>();
    }
}

/** L, D and L^-1 of the tile in S, of whose nb candidates `take` are pivots. m.failed: a
 *  threshold test failed. most: of |l| inside a block where its pivots are the largest entries
 *  left on the diagonal; where there is more, they are sought as block_rook() does it. Rows of
 *  L, and columns of N, go to `out` as soon as they are final. Once in a kernel. By all threads
 *  of a block; contains block barriers. */
template <bool PIVOT, class T, class OUT>
__device__ void tile_lanes(tile_memory<T> &m, int nb, int take, T limit, T most, T tiny,
                           const OUT &out) {
    const int tid = threadIdx.x;
    int before = -1, turn = 0;
    unsigned phase = 0;
    if (tid == 0) meeting_begin(&m.helpers, HELPERS * 32);
    for (int c0 = 0; c0 < take; turn ^= 1) {
        const int here = min(32, nb - c0);
        const int step = !PIVOT                          ? 32
                         : take == nb && here == nb - c0 ? here
                                                         : min(32 - KEEP, take - c0);
        T *Mx = m.Mx + turn * 32 * MX, *old = m.Mx + (turn ^ 1) * 32 * MX;
        if (tid < 32) {
            bool done = false;
            if (!PIVOT)
                done = block_given<true>(m, Mx, c0, here) || block_given<false>(m, Mx, c0, here);
            else if (here == 32 && step == 32 - KEEP)
                done = block_lanes<32 - KEEP>(m, Mx, c0, tiny, key(most));
            else if (here == 32 && step == 32)
                done = block_lanes<32>(m, Mx, c0, tiny, key(most));
            if (tid == 0) m.pairs = !done;
            if (PIVOT && !done) {
                block_rook<false>(m, c0, here, step, tiny);
                block_invert(m, Mx, step);
            }
        } else if (before >= 0 && helper() >= 0) {
            inverse_rows(m, old, before, helper(), HELPERS);
            lanes_trailing<PIVOT>(m, before, false);
            some_threads_meet<HELPERS * 32>(&m.helpers, phase);
            inverse_update<PIVOT>(m, before);
            out.inverse(m, before, c0, helper(), HELPERS);
            out.rows(m, before, c0, helper(), HELPERS);
        }
        __syncthreads();
        rows_moved<T> moved;
        if (PIVOT) rows_take(m, c0, moved);
        const bool below = c0 + 32 < nb; /* a short block has not all that rows below ask for */
        if (below && PIVOT && m.pairs)
            block_below<false, PIVOT, T, false>(m, c0, limit, tiny);
        else if (below)
            lanes_below<PIVOT>(m, Mx, c0, limit);
        __syncthreads();
        if (PIVOT && m.failed) return;
        if (PIVOT) rows_put(m, c0, moved);
        if (below) lanes_trailing<PIVOT>(m, c0, true);
        __syncthreads();
        before = c0;
        c0 += step;
    }
    inverse_rows(m, m.Mx + (turn ^ 1) * 32 * MX, before, tid >> 5, TILE_THREADS / 32);
    __syncthreads();
    out.rows(m, before, min(nb, before + 32), tid >> 5, TILE_THREADS / 32);
    out.inverse(m, before, tile_memory<T>::B, tid >> 5, TILE_THREADS / 32);
}

} // namespace mpki
#endif
