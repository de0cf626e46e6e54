/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_TILE_MEMORY_CUH
#define MPKI_CUDA_DENSE_TILE_MEMORY_CUH
/** What the threads of a tile share, and small functions that all of its parts use. */
#include "engines/cuda/module/runtime.cuh"
#include "engines/cuda/module/scalar.cuh"
#include "control.cuh"
#ifdef __CUDACC__
#include "mma.cuh"
#endif

namespace mpki {

/** Two sets of sizes. Compute capabilities 9.0 to 11.x give a thread block 227 KiB of shared
 *  memory; of 8.x and 12.x some give 99, and code for one of these may have to run on the others.
 *  What code was compiled for decides, since a kernel knows that (__CUDA_ARCH__) and the host, too
 *  (mpki_cuda.code): all kernels of the module are compiled for the same list. */
constexpr bool large_shared_code(int code) {
    return code >= 90 && code < 120;
}
template <class T> constexpr int tile_order(bool large_shared) {
    return sizeof(T) == 16 ? (large_shared ? 64 : 32) : sizeof(T) == 8 && !large_shared ? 64 : 128;
}
#if defined(__CUDA_ARCH__)
static const bool LARGE_SHARED = large_shared_code(__CUDA_ARCH__ / 10);
#else /* the host asks large_shared(), tile_of() and tile_bytes() */
static const bool LARGE_SHARED = true;
#endif
template <class T> struct tile_size { static const int B = tile_order<T>(LARGE_SHARED); };

static inline bool large_shared(const mpki_cuda *cuda) {
    return large_shared_code(cuda->code);
}
template <class T> static int tile_of(const mpki_cuda *cuda) {
    return tile_order<T>(large_shared(cuda));
}
static const int TILE_THREADS = 256;
static const int KEEP = 8;

/** Are tiles of this type factored as tile_lanes.cuh does? Real doubles are. */
template <class T> struct by_lanes { static const bool value = false; };
template <> struct by_lanes<double> { static const bool value = true; };

template <class T, int ORDER = tile_size<T>::B> struct tile_memory {
    static const bool LANES = by_lanes<T>::value;
    /* LD = 4 (mod 16): fragments of tensor cores without bank conflicts */
    static const int B = ORDER, LD = LANES ? B + 4 : B + 1, LT = B / 2 + 2, WL = 12;
    alignas(16) T S[B * LD]; /* the tile, by columns */
    alignas(16)
        T tmp[B / 2 * LT]; /* W of a block, a column after the other; products of the inversion */
    alignas(16) T Lt[32 * 33]; /* L of the block, a column after the other, rows in final order */
    alignas(16) T rows[2][32]; /* published rows */
    /* see tile_lanes.cuh */
    alignas(16) T Mx[LANES ? 2 * 32 * 36 : 2], Wst[LANES ? 32 * WL : 2], Lc[LANES ? 8 * 36 : 2];
    T Lb[32 * 33];  /* multipliers in the order they are computed, rows in the lanes' order */
    T d[B], e[B];   /* D: diagonal; entry (k+1, k) of a pivot of order 2, else 0 */
    T di[B], ei[B]; /* D^-1 alike */
    int order[B], from[32];
    int zero[B]; /* 1: the pivot is exactly zero */
    unsigned best[2][TILE_THREADS / 32];
    int where[2][TILE_THREADS / 32];
    int failed, pairs;
    meeting helpers; /* tile_by_lanes.cuh */
};
static const size_t SHARED_LEAST = 99 * 1024; /* of a thread block, from 8.0 on */
static_assert(sizeof(tile_memory<float, tile_order<float>(false)>) <= SHARED_LEAST, "8.6, 12.0");
static_assert(sizeof(tile_memory<double, tile_order<double>(false)>) <= SHARED_LEAST, "8.6, 12.0");

/** Bytes of shared memory that the kernels of a tile take. */
template <class T> static size_t tile_bytes(const mpki_cuda *cuda) {
    return large_shared(cuda) ? sizeof(tile_memory<T, tile_order<T>(true)>)
                              : sizeof(tile_memory<T, tile_order<T>(false)>);
}

/** 1 / a by the hardware's approximation and two Newton steps; odd is set where that is not safe
 *  and the true division must be used. By each thread for itself; no barrier. */
__device__ inline float quick_inverse(float a, bool &odd) {
    (void)odd;
    return 1.0f / a;
}
__device__ inline double quick_inverse(double a, bool &odd) {
    const int e = __double2hiint(a) >> 20 & 0x7ff;
    odd |= e < 64 || e > 1983;
    double x = nearly_inverse(a);
    x = fma(fma(-a, x, 1.0), x, x);
    return fma(fma(-a, x, 1.0), x, x);
}
template <class F> __device__ inline cx<F> quick_inverse(cx<F> a, bool &odd) {
    (void)odd;
    return inverse(a);
}

/** D^-1 for D = [d1 conj(b); b d2], scaled by |b| so that it overflows only where the result
 *  does. By each thread for itself; no barrier. */
template <bool H, class T>
__device__ inline void inverse2(T d1, T b, T d2, T &i11, T &i21, T &i22) {
    T s = make<T>(1.0 / (double)abs1(b));
    T a = d1 * s, f = b * s, c = d2 * s;
    T g = s * inverse(a * c - f * cj<H>(f));
    i11 = diagonal<H>(c * g);
    i22 = diagonal<H>(a * g);
    i21 = -(f * g);
}

/** row := the 32 entries a of lane `from`, in shared memory. By all lanes of a warp; ends with
 *  __syncwarp(). */
template <class T> __device__ inline void publish(T *row, const T (&a)[32], int lane, int from) {
    if (lane == from) {
#pragma unroll
        for (int j = 0; j < 32; ++j) row[j] = a[j];
    }
    __syncwarp();
}

/** The entry of the candidate with the largest diagonal entry, and its reciprocal. */
struct diagonal_candidate {
    unsigned kd, m1; /* keys: this lane's, the largest */
    int r;           /* the lane that has it */
};

/** The live lane with the largest key k of a diagonal entry. By all lanes of a warp, in
 *  shuffles; no block barrier. */
__device__ inline diagonal_candidate largest_diagonal(bool live, unsigned k) {
    diagonal_candidate c;
    c.kd = live ? k : 0;
    c.m1 = __reduce_max_sync(0xffffffffu, c.kd);
    c.r = __ffs(__ballot_sync(0xffffffffu, live && c.kd == c.m1)) - 1;
    return c;
}

} // namespace mpki
#endif
