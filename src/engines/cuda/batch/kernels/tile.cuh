/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_TILE_CUH
#define MPKI_CUDA_BATCH_TILE_CUH
/** The threads that share a small matrix: L lanes of a warp, each with ROWS rows (lane, lane + L,
 *  ...), in W warps. With W = 1 a warp holds 32 / L matrices, else the matrix has the block to
 *  itself. Every warp of a matrix takes the same decisions, from what lies in shared memory;
 *  columns are dealt out among the warps. The order is at most L ROWS. */
#include "engines/cuda/module/scalar.cuh"
#include "engines/cuda/module/shared_memory.cuh"
#include "batch.h"

namespace mpki {

/** p, of which the compiler learns that it is not in shared memory: otherwise it orders accesses
 *  as if the two could meet. By each thread for itself; no barrier. */
template <class T> __device__ inline T *in_global(T *p) {
#ifdef __CUDA_ARCH__
    __builtin_assume(__isGlobal(p));
#endif
    return p;
}

typedef unsigned long long bits; /* sets of rows or columns */

static const unsigned TILE_BLOCK = 128; /* threads of a block */

template <int L_, int ROWS_, int W_> struct tile {
    static const int L = L_, ROWS = ROWS_, W = W_, MATRICES = (int)TILE_BLOCK / (L_ * W_);
    int lane, warp; /* warp: counted within the matrix */
    unsigned mask;
    double *between; /* W > 1: W doubles of shared memory */

    /** The thread's place in its matrix. shared: W doubles. By each thread for itself; no
     *  barrier. */
    __device__ tile(double *shared) {
        lane = (int)(threadIdx.x % L);
        warp = W == 1 ? 0 : (int)(threadIdx.x / 32);
        mask = L == 32 ? 0xffffffffu : ((1u << L % 32) - 1) << (threadIdx.x % 32 / L * L);
        between = shared;
    }
    /** The number of this tile among all. By each thread for itself; no barrier. */
    __device__ static long long place() {
        return (long long)blockIdx.x * MATRICES + threadIdx.x / (L * W);
    }
    /** Is this the first thread of the matrix? By each thread for itself; no barrier. */
    __device__ bool leads() const { return lane == 0 && warp == 0; }
    /** The matrix's barrier: __syncwarp(), or a block barrier where W > 1. */
    __device__ void sync() const {
        if (W == 1)
            __syncwarp(mask);
        else
            __syncthreads();
    }
    /** The largest value over the matrix's lanes in this warp and where it is, the lowest index
     *  of equal ones. By these lanes; shuffles. */
    template <class R> __device__ void largest(R &value, int &at) const {
#pragma unroll
        for (int h = L / 2; h > 0; h /= 2) {
            const R v = __shfl_xor_sync(mask, value, h);
            const int i = __shfl_xor_sync(mask, at, h);
            if (v > value || (v == value && i < at)) value = v, at = i;
        }
    }
    /** Is x true in any of the matrix's lanes in this warp? By these lanes; a vote. */
    __device__ bool any(bool x) const {
        return (__ballot_sync(mask, x) & mask) != 0;
    }
    /** The union of x over the matrix's lanes in this warp. By these lanes; shuffles. */
    __device__ bits all_of(bits x) const { /* union over the lanes */
#pragma unroll
        for (int h = L / 2; h > 0; h /= 2) x |= __shfl_xor_sync(mask, x, h);
        return x;
    }
    /** The largest value over all threads of the matrix. By all of them; block barriers where W
     *  > 1. */
    template <class R> __device__ R max_of_all(R value) const {
#pragma unroll
        for (int h = L / 2; h > 0; h /= 2) {
            const R v = __shfl_xor_sync(mask, value, h);
            if (v > value) value = v;
        }
        if (W == 1) return value;
        if (lane == 0) between[warp] = (double)value;
        __syncthreads();
        for (int w = 0; w < W; ++w)
            if ((R)between[w] > value) value = (R)between[w];
        __syncthreads();
        return value;
    }
    /** Is x true in any thread of the matrix? By all of them; block barriers where W > 1. */
    __device__ bool any_of_all(bool x) const {
        return max_of_all(x ? 1.0f : 0.0f) > 0;
    }
};

/** The set of i alone. By each thread for itself; no barrier. */
__device__ inline bits bit(int i) {
    return (bits)1 << i;
}

/** The lowest member of x. By each thread for itself; no barrier. */
__device__ inline int lowest(bits x) {
    return __ffsll((long long)x) - 1;
}

/** The set 0 .. n - 1. By each thread for itself; no barrier. */
__device__ inline bits all_below(int n) {
    return n >= 64 ? ~(bits)0 : bit(n) - 1;
}

/** conj(a) where `hermitian`, else a. By each thread for itself; no barrier. */
template <class T> __device__ inline T cj(int hermitian, T a) {
    return hermitian ? conj(a) : a;
}

/** Is a neither infinite nor NaN? By each thread for itself; no barrier. */
template <class T> __device__ inline bool finite(T a) {
    return abs1(a) * 0 == 0;
}
/** The machine epsilon, as the host's float.h has it. By each thread for itself; no barrier. */
template <class R> __host__ __device__ inline R epsilon() {
    return sizeof(R) == 4 ? (R)1.1920928955078125e-7 : (R)2.220446049250313e-16;
}

/** Entry (i, j) is p[(i + j ld) step]. */
template <class T> struct view {
    T *p;
    long long ld, step;
    __device__ T &operator()(int i, int j) const { return p[(i + j * ld) * step]; }
};

/** Matrix b of the operand x. By each thread for itself; no barrier. */
template <class T> __device__ inline view<T> view_of(const mpki_cuda_operand &x, long long b) {
    view<T> v = {(T *)x.data, x.ld, 1};
    if (x.layout == 1) /* MPK_BATCH_POINTERS */
        v.p = ((T *const *)x.data)[b];
    else if (x.layout == 0)
        v.p += b * x.stride;
    else
        v.p += b / x.width * x.stride + b % x.width, v.step = x.width;
    v.p = in_global(v.p);
    return v;
}

/** What a kernel gets besides its operands. */
struct part {
    mpki_cuda_operand a, b, c, d;
    long long first, count; /* numbers in job order */
    const int *order;
    int *pivots, *outcome, *inertia, *flags;
    int n, most; /* of these matrices; of the batch */
    int method, pivoting, hermitian, nrhs;
    double tolerance;

    /** The number, in the batch, of the matrix at this place of the job. By each thread for
     *  itself; no barrier. */
    __device__ long long matrix(long long place) const {
        return order ? order[first + place] : first + place;
    }
    /** Outcome, inertia and flags of matrix b; flags, in host memory: [0] a matrix is singular,
     *  [1] one has no result. By one thread of the matrix; no barrier. */
    __device__ void report(long long b, int how, int positive, int negative, int zero) const {
        if (outcome) outcome[b] = how;
        if (inertia) {
            inertia[3 * b] = positive, inertia[3 * b + 1] = negative, inertia[3 * b + 2] = zero;
        }
        if (how != 0 && flags) flags[how == 1 ? 0 : 1] = 1;
    }
};

/** Leading dimension in shared memory: odd, so that rows and columns are read without conflicts.
 *  By each thread for itself; no barrier. */
__host__ __device__ inline int shared_ld(int n) {
    return n | 1;
}

/** Reads the given pivots of a matrix: a permutation of 0 .. n - 1; *marks: where 2 x 2 pivots
 *  stand, in pairs, only if `pairs` allows them. False: they are not valid. By all lanes of each
 *  warp of the matrix; votes. */
template <class TILE>
__device__ inline bool read_marks(const TILE &t, int n, const int *piv, bool pairs, bits *marks) {
    bits seen = 0, marked = 0;
    bool good = true;
    for (int i = t.lane; i < n; i += TILE::L) {
        const int p = piv[i] < 0 ? ~piv[i] : piv[i];
        if (p >= n)
            good = false;
        else
            seen |= bit(p);
        if (piv[i] < 0) marked |= bit(i);
    }
    seen = t.all_of(seen), marked = t.all_of(marked);
    good = !t.any(!good) && seen == all_below(n) && (pairs || marked == 0);
    for (bits m = marked; m;) { /* each run of marks must have even length */
        const int k = lowest(m);
        if (k + 1 >= n || !(m >> (k + 1) & 1)) good = false;
        m &= ~(bit(k) | (k + 1 < 64 ? bit(k + 1) : 0));
    }
    *marks = marked;
    return good;
}

} // namespace mpki
#endif
