/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_WHOLE_CUH
#define MPKI_CUDA_BLOCK_FACTOR_WHOLE_CUH
/** What is done once, for all blocks: where A's entries go, its norm, sums for the report. */
#include "stage.cuh"

namespace mpki {

/** slot := the place of each entry of A in the list of its column's frame. A warp takes a row;
 *  no barrier. */
template <class T>
__global__ void __launch_bounds__(32 * WHOLE_WARPS)
    slot_kernel(const mpki_cuda_stage b, const mpki_cuda_rows from) {
    const int p = (int)(blockIdx.x * WHOLE_WARPS + threadIdx.x / 32);
    if (p >= b.n) return;
    const int g = b.perm[p], frame = b.of[p], here = b.place[frame];
    const int64_t first = b.diagonal[frame], end = b.ptr[frame + 1];
    for (int64_t e = from.ptr[g] + threadIdx.x % 32; e < from.ptr[g + 1]; e += 32) {
        const int q = b.iperm[from.col[e]], across = b.of[q], place = b.place[across];
        int slot = -1;
        if (place >= here) {
            int64_t low = first, high = end;
            while (low < high) {
                const int64_t middle = (low + high) / 2;
                if (b.there[middle] < place)
                    low = middle + 1;
                else
                    high = middle;
            }
            if (low < end && b.there[low] == place)
                slot = (int)(low - first) << 5 | (q - b.bptr[across]);
        }
        from.slot[e] = slot;
    }
}

/** *norm := the largest row sum of moduli of A as it is stored, as the bits of a double, and
 *  frame_norm those of the frames' rows. A thread takes a row; atomic maxima. */
template <class T>
__global__ void __launch_bounds__(32 * WHOLE_WARPS)
    norm_kernel(const mpki_cuda_stage b, unsigned long long *norm) {
    const int g = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (g >= b.n) return;
    const bool turned = b.at.ptr != NULL;
    const mpki_cuda_rows &from = turned ? b.at : b.a;
    double sum = 0;
    for (int64_t e = from.ptr[g]; e < from.ptr[g + 1]; ++e)
        sum += (double)modulus(entry_of<T>(b, from, turned, g, e));
    if (!(sum > 0)) return;
    const unsigned long long bits = (unsigned long long)__double_as_longlong(sum);
    atomicMax(norm, bits);
    atomicMax((unsigned long long *)&b.frame_norm[b.of[b.iperm[g]]], bits);
}

/** Work blocks := work blocks / size, for sweeps. A thread takes entries in turns; no barrier. */
template <class T>
__global__ void __launch_bounds__(32 * WHOLE_WARPS)
    relative_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    typedef typename scalar_of<T>::real R;
    const R by = (R)(1 / b.size);
    for (long long k = po.work + blockIdx.x * (long long)blockDim.x + threadIdx.x;
         k < po.work + po.entries; k += gridDim.x * (long long)blockDim.x) {
        ((T *)b.work)[k] = times(((T *)b.work)[k], by);
        if (b.ldu) ((T *)b.work_u)[k] = times(((T *)b.work_u)[k], by);
    }
}

/** D := size, for sweeps, but of frames that earlier stages stored. A thread takes a row; no
 *  barrier. */
template <class T>
__global__ void __launch_bounds__(32 * WHOLE_WARPS) size_kernel(const mpki_cuda_stage b) {
    const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (p >= b.n || b.final[b.of[p]]) return;
    ((T *)b.to.d)[2 * (int64_t)p] = make<T>(b.size);
    ((T *)b.to.d)[2 * (int64_t)p + 1] = make<T>(0);
}

/** What a thread of the sums has. It is added in the order of threads and blocks, so that the
 *  bits do not depend on the run. */
struct partial {
    mpki_cuda_held held;
    mpki_cuda_pivots_of pivots;
    /** All sums are 0. By each thread for itself; no barrier. */
    __host__ __device__ void clear() {
        held.kept = held.dense = held.bitmap = held.rows = 0;
        held.fill_out = 0;
        pivots.positive = pivots.negative = pivots.zero = 0;
        pivots.perturbed = pivots.two_by_two = pivots.accepted = 0;
        pivots.smallest = INFINITY, pivots.largest = 0;
    }
    /** += x. By each thread for itself; no barrier. */
    __host__ __device__ void add(const partial &x) {
        held.kept += x.held.kept, held.dense += x.held.dense;
        held.bitmap += x.held.bitmap, held.rows += x.held.rows;
        held.fill_out += x.held.fill_out;
        add(x.pivots);
    }
    __host__ __device__ void add(const mpki_cuda_pivots_of &x) {
        pivots.positive += x.positive, pivots.negative += x.negative, pivots.zero += x.zero;
        pivots.perturbed += x.perturbed, pivots.two_by_two += x.two_by_two;
        pivots.accepted += x.accepted;
        if (x.smallest < pivots.smallest) pivots.smallest = x.smallest;
        if (x.largest > pivots.largest) pivots.largest = x.largest;
    }
    /** += a block, held as held_of() says, of so many entries. By each thread for itself; no
     *  barrier. */
    __host__ __device__ void add(unsigned held_as, int entries) {
        const int count = (int)(held_as & 0xffff);
        if (!count) return;
        held.kept += count;
        held.dense += held_as >> 16 == 1;
        held.bitmap += held_as >> 16 == 2;
        held.rows += held_as >> 16 == 3;
        held.fill_out += (double)count / entries;
    }
};

/** out[block] := sums over frames and blocks for the report. By all threads of a block; contains
 *  block barriers. */
template <class T>
__global__ void __launch_bounds__(SUM_THREADS) sum_kernel(const mpki_cuda_stage b, partial *out) {
    __shared__ partial all[SUM_THREADS];
    partial &mine = all[threadIdx.x];
    mine.clear();
    const int step = (int)gridDim.x * SUM_THREADS;
    for (int f = (int)(blockIdx.x * SUM_THREADS + threadIdx.x); f < b.m; f += step) {
        if (b.pivots[f].accepted) mine.add(b.pivots[f]);
        const int w = b.bptr[f + 1] - b.bptr[f];
        for (int64_t e = b.diagonal[f] + 1; e < b.ptr[f + 1]; ++e) {
            const int other = b.other[e], entries = w * (b.bptr[other + 1] - b.bptr[other]);
            if (b.to.lower[b.block[e]] >= 0) mine.add(b.held[b.block[e]], entries);
            if (b.ldu && b.to.upper[b.block[e]] >= 0) mine.add(b.held_u[b.block[e]], entries);
        }
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int k = 1; k < SUM_THREADS; ++k) mine.add(all[k]);
    out[blockIdx.x] = mine;
}

} // namespace mpki
#endif
