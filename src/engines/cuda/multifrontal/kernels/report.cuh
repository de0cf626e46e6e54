/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_REPORT_CUH
#define MPKI_CUDA_MULTIFRONTAL_REPORT_CUH
/** What the host reads of a factorization: flags, sums over D, and the fronts that are not as
 *  planned. */
#include "common.cuh"

namespace mpki {

enum { REPORT_THREADS = 256 };

/** Counts over some pivots. Integers, a maximum and a minimum: the result is the same in any
 *  order. */
struct pivot_counts {
    unsigned positive, negative, zero, pairs;
    double max_d, min_d;
    /** A thread: the counts of no pivot. */
    __device__ void clear() {
        positive = negative = zero = pairs = 0;
        max_d = 0, min_d = (double)INFINITY;
    }
    /** A thread: *this := *this + x. */
    __device__ void add(const pivot_counts &x) {
        positive += x.positive, negative += x.negative, zero += x.zero, pairs += x.pairs;
        max_d = x.max_d > max_d ? x.max_d : max_d;
        min_d = x.min_d < min_d ? x.min_d : min_d;
    }
    /** A warp: each lane's counts become those of all lanes. Barriers: it meets the warp. */
    __device__ void add_lanes() {
        positive = __reduce_add_sync(0xffffffffu, positive);
        negative = __reduce_add_sync(0xffffffffu, negative);
        zero = __reduce_add_sync(0xffffffffu, zero);
        pairs = __reduce_add_sync(0xffffffffu, pairs);
        for (int o = 16; o; o /= 2) {
            const double most = shfl_xor(max_d, o), least = shfl_xor(min_d, o);
            max_d = most > max_d ? most : max_d;
            min_d = least < min_d ? least : min_d;
        }
    }
    /** A thread: *sums := *sums + *this, by atomics, one for each count that is not zero. Doubles
     *  that are not negative compare as their bits do. Barriers: none. */
    __device__ void add_to(mpki_cuda_pivot_sums *sums) const {
        if (positive) atomicAdd(&sums->positive, (unsigned long long)positive);
        if (negative) atomicAdd(&sums->negative, (unsigned long long)negative);
        if (zero) atomicAdd(&sums->zero, (unsigned long long)zero);
        if (pairs) atomicAdd(&sums->pairs, (unsigned long long)pairs);
        if (max_d > 0)
            atomicMax((unsigned long long *)&sums->max_d,
                      (unsigned long long)__double_as_longlong(max_d));
        if (min_d < (double)INFINITY)
            atomicMin((unsigned long long *)&sums->min_d,
                      (unsigned long long)__double_as_longlong(min_d));
    }
};

/** A thread: adds pivot k to `sums`; d: where its entries of D begin. counted: the sign of an
 *  eigenvalue counts, which real and Hermitian matrices have. A pair is added once, by its first
 *  column, with both eigenvalues; min_d takes the smaller one. Barriers: none. */
template <class T>
__device__ inline void count_pivot(const T *d, int k, bool counted, pivot_counts &sums) {
    if (k > 0 && abs1(d[-1]) > 0) return; /* the second of a pair */
    const double a = (double)re(d[0]);
    double most = (double)modulus(d[0]), least = most;
    if (abs1(d[1]) > 0) {
        const double c = (double)re(d[2]), off = (double)modulus(d[1]);
        const double dc = (double)modulus(d[2]);
        ++sums.pairs;
        most = most > off ? most : off;
        most = most > dc ? most : dc;
        if (counted) {
            const double mean = (a + c) / 2, half = hypot((a - c) / 2, off);
            const double large = fabs(mean) + half, by = large > 0 ? large : 1;
            least = large > 0 ? fabs((a / large) * c - (off / large) * off) : 0;
            const bool same = (a / by) * c > (off / by) * off;
            sums.positive += same ? (mean > 0 ? 2 : 0) : 1;
            sums.negative += same ? (mean > 0 ? 0 : 2) : 1;
        } else {
            const T det = d[0] * d[2] - d[1] * d[1];
            least = most > 0 ? (double)modulus(det) / most : 0;
        }
    } else if (most == 0) {
        ++sums.zero;
        return;
    } else if (counted) {
        if (a > 0)
            ++sums.positive;
        else
            ++sums.negative;
    }
    sums.max_d = most > sums.max_d ? most : sums.max_d;
    sums.min_d = least < sums.min_d ? least : sums.min_d;
}

/** A thread: adds front f, in this state, to the list of changes, unless it is done and has delayed
 *  nothing and taken no delayed column. Beyond t.listed entries it is counted alone. Barriers:
 *  none. */
__device__ inline void report_change(const mpki_cuda_tree &t, int f,
                                     const mpki_cuda_front_state &state, mpki_cuda_report *report) {
    const int own = t.node[f].own;
    if (state.done == MPKI_CUDA_DONE && state.w == own && state.nelim == own) return;
    const int at = atomicAdd(&t.flags->changes, 1);
    if (at >= t.listed) return;
    report->change[at].state = state, report->change[at].front = f;
}

/** A warp for each front: front first .. last - 1 that has changed goes to the list, and, with
 *  sums, the pivots of fronts 0 .. last - 1 to flags->sums. The last block of the grid to end
 *  copies the flags to `report`, in host memory, and then the ticket: it is found by a counter
 *  behind a fence. Called by
 *  the slot report_to_host of mpki_cuda_direct_table. Barriers: it meets the block. */
template <class T>
__global__ void __launch_bounds__(REPORT_THREADS)
    report_kernel(const mpki_cuda_tree t, int first, int last, bool sums, mpki_cuda_report *report,
                  int32_t ticket) {
    const int WARPS = REPORT_THREADS / 32;
    __shared__ pivot_counts of_warp[WARPS];
    __shared__ bool ends;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int step = (int)gridDim.x * WARPS;
    const bool counted = !scalar_of<T>::complex || t.hermitian;
    wait_for_previous();
    pivot_counts mine;
    mine.clear();
    int f = (sums ? 0 : first) + (int)blockIdx.x * WARPS + warp;
    mpki_cuda_front_state next = t.state[f < last ? f : 0];
    for (; f < last; f += step) {
        const mpki_cuda_front_state state = next;
        if (f + step < last) next = t.state[f + step]; /* under way beside this one's D */
        if (lane == 0 && f >= first) report_change(t, f, state, report);
        const panel<T> x(state.a, state.w, state.ld);
        for (int k = lane; k < state.nelim && sums; k += 32)
            count_pivot(x.d + 2 * k, k, counted, mine);
    }
    if (sums) {
        mine.add_lanes();
        if (lane == 0) of_warp[warp] = mine;
        __syncthreads();
        for (int w = 1; threadIdx.x == 0 && w < WARPS; ++w) mine.add(of_warp[w]);
        if (threadIdx.x == 0) mine.add_to(&t.flags->sums);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        ends = atomicAdd(&t.flags->ended, 1) == (int)gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!ends || threadIdx.x > 0) return;
    report->changes = atomicExch(&t.flags->changes, 0);
    t.flags->ended = 0;
    mpki_cuda_flags *const flags = t.flags;
    const volatile unsigned *from = (const volatile unsigned *)flags;
    for (int k = 0; k < (int)(sizeof *flags / sizeof *from); ++k)
        ((unsigned *)&report->flags)[k] = from[k];
    report_is_there(&report->walked, ticket);
}

} // namespace mpki
#endif
