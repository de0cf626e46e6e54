/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TILE_CUH
#define MPKI_CUDA_DENSE_TILE_CUH
/** LDLT of one diagonal tile by one thread block, in shared memory: of nb <= B candidate columns
 *  the first `take` pivots are eliminated, the rest (KEEP, or none in the last tile) goes on to the
 *  next tile with its Schur complement. So no pivot is ever the last one left, the weak spot of
 *  pivoting inside tiles.
 *
 *  Inside the tile the same again in blocks of 32 candidates: their rows lie in the registers of
 *  one warp, a row a lane, both triangles, so that a pivot's column is its row, which its lane
 *  publishes through shared memory; nothing moves until the block is done (implicit pivoting). The
 *  choice is rook pivoting (Ashcraft, Grimes & Lewis 1998) started from the largest diagonal entry,
 * with magnitudes compared by their upper 32 bits (`key`). The rows of the tile below the block are
 *  then solved for and tested, |l| <= 1/u. Where that test fails, the tile is taken anew with
 *  complete pivoting (Bunch & Parlett 1971) over all its columns. While one warp is at a block, the
 *  others update what lies beyond the next one.
 *
 *  Out: L and D as LAPACK's sytrf leaves them, the order of the columns, D^-1 as a tridiagonal, and
 *  N = P [L11 0; Lk I]^-T (-H): the rows below the tile times N are W = L21 D, and the Schur
 *  complement's columns of what was kept. Real doubles leave N without P (panel.cuh). */
#include "mma.cuh"
#include "tile_below.cuh"
#include "tile_block.cuh"
#include "tile_by_lanes.cuh"
#include "tile_complete.cuh"
#include "tile_inverse.cuh"

namespace mpki {

/** Factors the tile block by block; m.failed: a threshold test failed. By all threads of a
 *  block; contains block barriers. */
template <bool H, bool PIVOT, class T>
__device__ void tile_blocks(tile_memory<T> &m, int nb, int take, typename scalar_of<T>::real limit,
                            typename scalar_of<T>::real tiny) {
    typedef typename scalar_of<T>::real R;
    const int tid = threadIdx.x;
    int before = -1;
    for (int c0 = 0; c0 < take;) {
        const int here = min(32, nb - c0);
        const int step = !PIVOT                          ? 32
                         : take == nb && here == nb - c0 ? here
                                                         : min(32 - KEEP, take - c0);
        if (tid < 32) {
            bool done = false;
            if (PIVOT && here == 32 && step == 32 - KEEP) done = block_diagonal<H>(m, c0, tiny);
            if (tid == 0) m.pairs = !done;
            if (PIVOT && !done)
                block_rook<H>(m, c0, here, step, tiny);
            else if (PIVOT)
                ;
            else if (!block_plain < H, sizeof(R) == 8 && !scalar_of<T>::complex > (m, c0, here))
                block_plain<H, false>(m, c0, here);
        } else if (before >= 0) {
            trailing<H, PIVOT>(m, before, false);
        }
        __syncthreads();
        block_below<H, PIVOT>(m, c0, limit, tiny);
        __syncthreads();
        if (PIVOT && m.failed) return;
        trailing<H, PIVOT>(m, c0, true);
        __syncthreads();
        before = c0;
        c0 += step;
    }
}

/** L, D and N of candidates j .. j + nb - 1, whose lower triangle is at A; orig[p]: the row of
 *  the workspace to which the row of L at j + p goes; corner: KEEP x KEEP, the Schur complement
 *  of what is kept. One block; block barriers. */
template <bool H, bool PIVOT, class T>
__global__ void __launch_bounds__(TILE_THREADS, 1)
    tile_kernel(int nb, int take, const T *A, int64_t lda, T *L, int64_t ldl, const int *orig, T *N,
                T *dinv, T *corner, typename scalar_of<T>::real limit, control *ctl) {
    typedef typename scalar_of<T>::real R;
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    tile_memory<T> &m = *reinterpret_cast<tile_memory<T> *>(shared_bytes);
    const int B = tile_memory<T>::B, LD = tile_memory<T>::LD, tid = threadIdx.x;
    if constexpr (by_lanes<T>::value) launch_next(), wait_previous();
    if (ctl->failed) return;
    const R tiny = unkey<R>(ctl->largest) * (R)ctl->zero_tolerance;
    bool slow = false;
    for (;;) {
        if constexpr (by_lanes<T>::value) {
            lanes_load(m, nb, A, lda);
        } else {
            const int i = tid % B, j0 = tid / B, every = TILE_THREADS / B;
#pragma unroll 32
            for (int q = 0; q < B / every; ++q) {
                const int j = j0 + q * every;
                m.S[i + j * LD] = i >= j && i < nb ? A[i + j * lda] : make<T>(0);
            }
        }
        tile_begin(m);
        __syncthreads();
        if (slow) {
            tile_complete<H>(m, nb, take, tiny);
            break;
        }
        if constexpr (by_lanes<T>::value)
            tile_lanes<PIVOT>(m, nb, take, limit, (T)4, tiny, tile_out<T>{take, L, ldl, orig, N});
        else
            tile_blocks<H, PIVOT>(m, nb, take, limit, tiny);
        if (!PIVOT || !m.failed) break;
        slow = true;
        __syncthreads();
    }
    __syncthreads();
    if (!by_lanes<T>::value || slow) {
        const int i = tid % B;
        T *to = L + (i < nb ? orig[m.order[i]] : 0);
        if (i < nb)
#pragma unroll 16
            for (int j = tid / B; j < min(take, i / 32 * 32 + 32); j += TILE_THREADS / B)
                if (i >= j) to[j * ldl] = i == j ? m.d[j] : m.S[i + j * LD];
        /* D's entries beside the diagonal, over the zeros of L, which the same thread wrote */
        const int first = i - 1;
        if (i < nb && first >= 0 && first < take && first % (TILE_THREADS / B) == tid / B &&
            !is_zero(m.e[first]))
            to[first * ldl] = m.e[first];
    }
    if (tid < KEEP * KEEP && take < nb) {
        const int i = tid % KEEP, j = tid / KEEP;
        if (i >= j) corner[tid] = m.S[take + i + (take + j) * LD];
    }
    if (tid < B) {
        ctl->order[tid] = m.order[tid] | (is_zero(m.e[tid]) ? 0 : FIRST_OF_TWO) |
                          (tid && !is_zero(m.e[tid - 1]) ? SECOND_OF_TWO : 0);
        dinv[tid] = m.di[tid], dinv[B + tid] = m.ei[tid];
        ctl->zero[tid] = m.zero[tid], ctl->bad[tid] = 0;
    }
    if (tid == 0 && slow) atomicAdd(&ctl->slow_tiles, 1);
    if (by_lanes<T>::value && !slow) return;
    __syncthreads();
    if (slow) /* whole squares were used */
        for (int t = tid; t < B * B; t += TILE_THREADS)
            if (t % B < t / B) m.S[t % B + t / B * LD] = make<T>(0);
    if (tid < B) {
        for (int j = max(take, tid - KEEP); j < tid; ++j) m.S[tid + j * LD] = make<T>(0);
        m.S[tid + tid * LD] = make<T>(1);
    }
    __syncthreads();
    tile_inverse(m);
    {
        const int i = tid % B, j0 = tid / B, every = TILE_THREADS / B;
        T *to = N + (by_lanes<T>::value ? i : m.order[i]);
#pragma unroll 16
        for (int q = 0; q < B / every; ++q)
            to[(j0 + q * every) * B] = cj<H>(m.S[j0 + q * every + i * LD]);
    }
}

} // namespace mpki
#endif
