/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_PRODUCT_CUH
#define MPKI_CUDA_INVERSE_PRODUCT_CUH
/** Products with an approximate inverse, or with what it is the inverse of, by rows: a group of
 *  lanes a row, as many as suit the rows' mean length; a long row by all threads of its block. The
 *  order of a sum depends on the matrix alone. */
#include "engines/cuda/module/launch.cuh"
#include "exact.cuh"
#include "inverse.h"

namespace mpki {

enum { TIMES_THREADS = 256, TIMES_LONG = 1024 };

/** An entry in single precision where T is of double. */
template <class T> struct single_of { typedef T type; };
template <> struct single_of<double> { typedef float type; };
template <> struct single_of<cx<double>> { typedef cx<float> type; };

/** to := a in the precision of `to`. By each thread for itself; no barrier. */
__device__ inline void widen(float a, float &to) {
    to = a;
}
__device__ inline void widen(float a, double &to) {
    to = a;
}
__device__ inline void widen(double a, double &to) {
    to = a;
}
template <class F, class G> __device__ inline void widen(cx<F> a, cx<G> &to) {
    to = {(G)a.x, (G)a.y};
}

/** The sum of s over the block, known to all its threads. By all threads of a block; contains
 *  block barriers. */
template <class T> __device__ inline T times_sum(T s) {
    __shared__ T part[TIMES_THREADS / 32];
    for (int o = 16; o; o /= 2) s = s + shfl_xor(s, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    s = part[0];
    for (int w = 1; w < TIMES_THREADS / 32; ++w) s = s + part[w];
    return s;
}

/** sum of a_e x over entries e, e + step, .. before `end`, two at a time, so that reads overlap.
 *  By each thread for itself; no barrier. */
template <bool CONJUGATE, class T, class V>
__device__ inline T times_run(const mpki_isai_times &p, int64_t e, int64_t end, int step,
                              const T *__restrict__ x) {
    const V *__restrict__ const val = (const V *)p.val;
    T sum = make<T>(0), other = make<T>(0), a, b;
    for (; e + step < end; e += 2 * step) {
        const V v = val[e], w = val[e + step];
        const int32_t i = p.index[e], k = p.index[e + step];
        widen(v, a), widen(w, b);
        sum = sum + cj<CONJUGATE>(a) * x[i];
        other = other + cj<CONJUGATE>(b) * x[k];
    }
    if (e < end) {
        widen(val[e], a);
        sum = sum + cj<CONJUGATE>(a) * x[p.index[e]];
    }
    return sum + other;
}

/** y_i := the row's sum with the diagonal's part, added to y, or subtracted from b, as p says.
 *  By one thread; no barrier. */
template <bool CONJUGATE, class T>
__device__ inline void times_settle(const mpki_isai_times &p, int64_t r, int64_t i, T sum) {
    if (!p.no_diagonal) {
        T d = make<T>(1);
        if (p.diagonal) d = cj<CONJUGATE>(((const T *)p.diagonal)[i]);
        if (p.diagonal && p.inverse_diagonal) d = invert(d);
        sum = sum + d * ((const T *)p.x)[r * p.ldx + i];
    }
    T *const y = (T *)p.y + r * p.ldy + i;
    if (p.b)
        *y = ((const T *)p.b)[r * p.ldb + i] - sum;
    else
        *y = p.add ? *y + sum : sum;
}

/** y := M x (M^T x, M^H x) by rows, for all right-hand sides. A group of LANES lanes takes a
 *  row, the block together a long one; block barriers. */
template <class T, class V, bool CONJUGATE, int LANES>
__global__ void __launch_bounds__(TIMES_THREADS) times_kernel(const mpki_isai_times p) {
    enum { ROWS = TIMES_THREADS / LANES };
    __shared__ int32_t list[ROWS];
    __shared__ int longs;
    const int tid = (int)threadIdx.x, lane = tid % LANES;
    const int64_t first = (int64_t)blockIdx.x * ROWS, i = first + tid / LANES;
    if (tid == 0) longs = 0;
    __syncthreads();
    const int64_t begin = i < p.n ? p.ptr[i] : 0, end = i < p.n ? p.ptr[i + 1] : 0;
    const bool is_long = end - begin > TIMES_LONG;
    if (is_long && lane == 0) list[atomicAdd(&longs, 1)] = tid / LANES;
    for (int64_t r = 0; r < p.nrhs; ++r) {
        T sum = is_long ? make<T>(0)
                        : times_run<CONJUGATE, T, V>(p, begin + lane, end, LANES,
                                                     (const T *)p.x + r * p.ldx);
        for (int o = LANES / 2; o; o /= 2) sum = sum + shfl_xor(sum, o);
        if (i < p.n && !is_long && lane == 0) times_settle<CONJUGATE>(p, r, i, sum);
    }
    __syncthreads();
    for (int k = 0; k < longs; ++k) { /* by all threads; a row's bits do not depend on k */
        const int64_t row = first + list[k];
        for (int64_t r = 0; r < p.nrhs; ++r) {
            const T sum = times_sum(times_run<CONJUGATE, T, V>(
                p, p.ptr[row] + tid, p.ptr[row + 1], TIMES_THREADS, (const T *)p.x + r * p.ldx));
            if (tid == 0) times_settle<CONJUGATE>(p, r, row, sum);
        }
    }
}

} // namespace mpki

#endif
