/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_TURN_CUH
#define MPKI_CUDA_INVERSE_TURN_CUH
/** Sums, and a pattern by columns turned into one by rows: entries are dealt out to their rows by
 *  atomic counters, in any order; then each row is put in order, by ranks, so that the result does
 *  not depend on the run. */
#include "engines/cuda/module/launch.cuh"
#include "inverse.h"
#include "sums.cuh"

namespace mpki {

enum { SUM_EACH = 4, SUM_PART = TURN_THREADS * SUM_EACH };

/** sums[block] := the sum of the block's part of a. By all threads of a block; contains block
 *  barriers. */
static __global__ void part_kernel(int64_t count, const int64_t *a, int64_t *sums) {
    int64_t x = 0, all;
    for (int k = 0; k < SUM_EACH; ++k) {
        const int64_t e = ((int64_t)blockIdx.x * TURN_THREADS + threadIdx.x) * SUM_EACH + k;
        if (e < count) x += a[e];
    }
    block_sum_before(x, &all);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

/** sums[k] := the sum of those before it. One block; block barriers. */
static __global__ void before_kernel(int64_t parts, int64_t *sums) {
    int64_t base = 0;
    for (int64_t k0 = 0; k0 < parts; k0 += TURN_THREADS) {
        const int64_t k = k0 + threadIdx.x, own = k < parts ? sums[k] : 0;
        int64_t all;
        const int64_t x = block_sum_before(own, &all);
        if (k < parts) sums[k] = base + x - own;
        base += all;
    }
}

/** a := its running sums, from those of parts. By all threads of a block; contains block
 *  barriers. */
static __global__ void sums_kernel(int64_t count, int64_t *a, const int64_t *sums) {
    const int64_t e0 = ((int64_t)blockIdx.x * TURN_THREADS + threadIdx.x) * SUM_EACH;
    int64_t x[SUM_EACH], own = 0, all;
    for (int k = 0; k < SUM_EACH; ++k) {
        x[k] = e0 + k < count ? a[e0 + k] : 0;
        own += x[k];
    }
    int64_t at = sums[blockIdx.x] + block_sum_before(own, &all) - own;
    for (int k = 0; k < SUM_EACH; ++k) {
        at += x[k];
        if (e0 + k < count) a[e0 + k] = at;
    }
}

/* ---- turning ---- */

/** ptr[i + 1] += entries of row i. A thread takes entries in turns; atomic counters. */
static __global__ void count_kernel(int64_t entries, const int32_t *index, int64_t *ptr) {
    for (int64_t e = (int64_t)blockIdx.x * TURN_THREADS + threadIdx.x; e < entries;
         e += (int64_t)gridDim.x * TURN_THREADS)
        atomicAdd((counter *)ptr + index[e] + 1, (counter)1);
}

enum { DEAL_LANES = 4, SORT_LANES = 8, SORT_SHORT = 128, SORT_LONG = 2048 };

/** Deals entries out to their rows, in any order within a row. next: where each row goes on.
 *  DEAL_LANES lanes take a column; atomic counters. */
static __global__ void deal_kernel(const mpki_isai_turning t) {
    const int64_t j = ((int64_t)blockIdx.x * TURN_THREADS + threadIdx.x) / DEAL_LANES;
    if (j >= t.n) return;
    for (int64_t e = t.ptr[j] + threadIdx.x % DEAL_LANES; e < t.ptr[j + 1]; e += DEAL_LANES) {
        const int64_t to = (int64_t)atomicAdd((counter *)t.next + t.index[e], (counter)1);
        t.other[to] = (int32_t)j;
        t.other_from[to] = e;
    }
}

/** Orders each row's entries by their columns; long rows are listed, longs[0] counts them.
 *  SORT_LANES lanes take a row; no barrier. */
static __global__ void sort_kernel(const mpki_isai_turning t) {
    const int64_t i = ((int64_t)blockIdx.x * TURN_THREADS + threadIdx.x) / SORT_LANES;
    const int lane = (int)(threadIdx.x % SORT_LANES);
    if (i >= t.n) return;
    const int64_t begin = t.to_ptr[i];
    const int64_t count = t.to_ptr[i + 1] - begin;
    if (count > SORT_SHORT) {
        if (lane == 0) t.longs[1 + atomicAdd(t.longs, 1)] = (int32_t)i;
        return;
    }
    for (int k = lane; k < (int)count; k += SORT_LANES) {
        const int32_t own = t.other[begin + k];
        int rank = 0;
        for (int q = 0; q < (int)count; ++q) rank += t.other[begin + q] < own;
        t.to_index[begin + rank] = own;
        t.from[begin + rank] = t.other_from[begin + k];
    }
}

/** to[which[e]] := e. A thread per entry; no barrier. */
static __global__ void reverse_kernel(int64_t count, const int64_t *which, int64_t *to) {
    const int64_t e = (int64_t)blockIdx.x * TURN_THREADS + threadIdx.x;
    if (e < count) to[which[e]] = e;
}

enum { MARKS_WORDS = 4096, MARKS_WINDOW = 32 * MARKS_WORDS };

/** Which rows of a window there are, and how many before each. Shared by a block. */
struct row_marks {
    unsigned bits[MARKS_WORDS];
    int32_t before[MARKS_WORDS]; /* marks in the words before this one */

    /** No marks. By all threads of a block; ends with a block barrier. */
    __device__ void clear() {
        __syncthreads();
        for (int w = (int)threadIdx.x; w < MARKS_WORDS; w += TURN_THREADS) bits[w] = 0;
        __syncthreads();
    }
    /** A mark at place `at` of the window; outside of it nothing. By any thread; an atomic
     *  operation. */
    __device__ void set(int64_t at) {
        if (at >= 0 && at < MARKS_WINDOW) atomicOr(bits + at / 32, 1u << at % 32);
    }
    /** The number of marks; rank() may be called after it. By all threads of a block; ends with
     *  a block barrier. */
    __device__ int64_t count() {
        enum { EACH = MARKS_WORDS / TURN_THREADS };
        const int first = (int)threadIdx.x * EACH;
        int64_t own = 0, all;
        __syncthreads();
        for (int w = first; w < first + EACH; ++w) own += __popc(bits[w]);
        int64_t sum = block_sum_before(own, &all) - own;
        for (int w = first; w < first + EACH; ++w) {
            before[w] = (int32_t)sum;
            sum += __popc(bits[w]);
        }
        __syncthreads();
        return all;
    }
    /** Marks before the one at `at`. By each thread for itself; no barrier. */
    __device__ int rank(int64_t at) const {
        return before[at / 32] + __popc(bits[at / 32] & ((1u << at % 32) - 1));
    }
};

/** Orders the entries of long rows: up to SORT_LONG by comparisons, more by marks. A block takes
 *  rows in turns; block barriers. */
static __global__ void __launch_bounds__(TURN_THREADS) sort_long_kernel(const mpki_isai_turning t) {
    __shared__ row_marks marks;
    int32_t *const some = marks.before;
    const int tid = (int)threadIdx.x;
    for (int32_t q = (int32_t)blockIdx.x; q < t.longs[0]; q += (int32_t)gridDim.x) {
        const int32_t i = t.longs[1 + q];
        const int64_t begin = t.to_ptr[i], count = t.to_ptr[i + 1] - begin;
        if (count <= SORT_LONG) {
            __syncthreads();
            for (int k = tid; k < count; k += TURN_THREADS) some[k] = t.other[begin + k];
            __syncthreads();
            for (int k = tid; k < count; k += TURN_THREADS) {
                const int32_t own = some[k];
                int rank = 0;
                for (int p = 0; p < count; ++p) rank += some[p] < own;
                t.to_index[begin + rank] = own;
                t.from[begin + rank] = t.other_from[begin + k];
            }
            continue;
        }
        int64_t base = begin;
        for (int64_t first = 0; first < t.n; first += MARKS_WINDOW) {
            marks.clear();
            for (int64_t k = tid; k < count; k += TURN_THREADS)
                marks.set(t.other[begin + k] - first);
            const int64_t all = marks.count();
            for (int64_t k = tid; k < count; k += TURN_THREADS) {
                const int32_t j = t.other[begin + k];
                const int64_t at = j - first;
                if (at < 0 || at >= MARKS_WINDOW) continue;
                t.to_index[base + marks.rank(at)] = j;
                t.from[base + marks.rank(at)] = t.other_from[begin + k];
            }
            base += all;
        }
    }
}

} // namespace mpki

#endif
