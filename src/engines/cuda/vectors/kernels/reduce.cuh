/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_REDUCE_CUH
#define MPKI_CUDA_VECTORS_REDUCE_CUH
/** Sums over a grid, in an order that depends on its size alone: threads of a block, then blocks,
 *  which the last block to end adds up. */
#include "engines/cuda/module/launch.cuh"
#include "engines/cuda/module/scalar.cuh"
#include "engines/cuda/vectors/tuning.h"
#include "vectors.h"

namespace mpki {

enum { MOST_SUMS = 8 }; /* of a pass */

/** The combination of two partial results into one: their sum. By each thread for itself; no
 *  barrier. */
struct plus {
    __device__ static double of(double a, double b) { return a + b; }
};

/** The combination of two numbers >= 0, none of them NaN: the larger one. By each thread for
 *  itself; no barrier. */
struct greater { /* of numbers >= 0 that are not NaN */
    __device__ static double of(double a, double b) { return a > b ? a : b; }
};

/** v_k := the combination (F) of v_k over the threads of the block, k < K; thread 0 gets it. By
 *  all threads of a block; one block barrier where it has several warps. */
template <int K, class F> __device__ inline void block_sum(double (&v)[K]) {
    __shared__ double shared[K][32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
        for (int o = 16; o; o /= 2) v[k] = F::of(v[k], shfl_xor(v[k], o));
    if (warps == 1) return;
    if (lane == 0)
#pragma unroll
        for (int k = 0; k < K; ++k) shared[k][warp] = v[k];
    __syncthreads();
    if (warp == 0)
#pragma unroll
        for (int k = 0; k < K; ++k) {
            v[k] = lane < warps ? shared[k][lane] : 0;
#pragma unroll
            for (int o = 16; o; o /= 2) v[k] = F::of(v[k], shfl_xor(v[k], o));
        }
    __syncthreads();
}

/** Nothing is added to sums over a grid. */
struct no_more {
    template <int K> __device__ void operator()(double (&)[K]) const {}
};

/** v_k := the combination (F) of v_k over the grid, k < K, in an order that depends on the
 *  grid's size alone; true for the one thread that gets it. `partial`: K doubles per block;
 *  `ticket`: 0 before and after. `more`: what all threads of the last block add from memory. By
 *  all threads of all blocks; block barriers. */
template <int K, class F = plus, class MORE = no_more>
__device__ inline bool grid_sum(double (&v)[K], double *partial, unsigned *ticket,
                                const MORE &more = MORE()) {
    __shared__ bool last;
    if (gridDim.x == 1) more(v);
    block_sum<K, F>(v);
    if (gridDim.x == 1) return threadIdx.x == 0;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int k = 0; k < K; ++k) __stcg(partial + blockIdx.x * K + k, v[k]);
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return false;
    __threadfence();
#pragma unroll
    for (int k = 0; k < K; ++k) v[k] = 0;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x)
#pragma unroll
        for (int k = 0; k < K; ++k) v[k] = F::of(v[k], __ldcg(partial + b * K + k));
    more(v);
    block_sum<K, F>(v);
    if (threadIdx.x == 0) *ticket = 0;
    return threadIdx.x == 0;
}

/** Writes the K sums of a reduction, then its sequence number, to page-locked memory, where the
 *  host waits for that number. By one thread of the grid; no barrier. */
struct host_report {
    mpki_cuda_vectors_report *report;
    double sequence;
    template <int K> __device__ void operator()(const double (&v)[K]) const {
        volatile mpki_cuda_vectors_report *to = report;
        for (int k = 0; k < K; ++k) to->sums[k] = v[k];
        __threadfence_system();
        to->sequence = sequence;
    }
};

/* ---- entries and numbers in double ---- */

struct number {
    double x, y;
};

/** The entry a as two doubles (re, im), rounded nowhere. By each thread for itself; no barrier. */
__device__ inline number to_number(float a) {
    return {a, 0};
}
__device__ inline number to_number(double a) {
    return {a, 0};
}
template <class F> __device__ inline number to_number(cx<F> a) {
    return {a.x, a.y};
}
template <class E> struct to_entry_ {
    __host__ __device__ static E of(double x, double) { return (E)x; }
};
template <class F> struct to_entry_<cx<F>> {
    __host__ __device__ static cx<F> of(double x, double y) { return {(F)x, (F)y}; }
};

/** The entry nearest to x + i y. By each thread for itself; no barrier. */
template <class E> __host__ __device__ inline E to_entry(double x, double y) {
    return to_entry_<E>::of(x, y);
}

/** |a|^2. By each thread for itself; no barrier. */
__device__ inline double square(number a) {
    return a.x * a.x + a.y * a.y;
}
/** re + i im += x y, or conj(x) y where `hermitian`; of real entries only re is added to. By
 *  each thread for itself; no barrier. */
template <class E>
__device__ inline void add_product(int hermitian, number x, number y, double &re, double &im) {
    if (!scalar_of<E>::complex) {
        re += x.x * y.x;
        return;
    }
    const double xi = hermitian ? -x.y : x.y;
    re += x.x * y.x - xi * y.y;
    im += x.x * y.y + xi * y.x;
}
/** 0, or NaN where a is not finite. By each thread for itself; no barrier. */
__device__ inline double nonfinite(number a) {
    return a.x * 0 + a.y * 0;
}

/* ---- a pass over vectors ---- */

/** A pass over vectors of n entries by an operation OP: op.begin() gives each thread its
 *  scalars; op.load(i) reads entry i, and UNROLL of them are read before one is used; op.use()
 *  computes, stores and adds to SUMS sums, which OP::combine joins over the grid; op.end(sums)
 *  is called by one thread. op.skip(): the pass does nothing. Block barriers in grid_sum()
 *  alone. */
template <class OP>
__global__ void __launch_bounds__(VECTOR_THREADS, OP::RESIDENT)
    sweep_kernel(const OP op, int64_t n, double *partial, unsigned *ticket) {
    enum { UNROLL = OP::UNROLL, SUMS = OP::SUMS ? OP::SUMS : 1 };
    if (op.skip()) return;
    const auto scalars = op.begin();
    double sums[SUMS] = {0};
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += UNROLL * step) {
        typename OP::item item[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            if (i + u * step < n) item[u] = op.load(i + u * step);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            if (i + u * step < n) op.use(i + u * step, item[u], scalars, sums);
    }
    if (OP::SUMS) {
        if (grid_sum<SUMS, typename OP::combine>(sums, partial, ticket)) op.end(sums);
    }
}

/* Of a short vector each thread takes four entries. */
inline bool short_vector(int64_t n) {
    return n < 4 * VECTOR_THREADS;
}
inline int vector_threads(int64_t n) {
    return !short_vector(n) ? VECTOR_THREADS : n > 0 ? (int)((n + 127) / 128 * 32) : 32;
}
inline int vector_blocks(int64_t n) {
    const int64_t blocks = short_vector(n) ? 1 : (n + VECTOR_THREADS - 1) / VECTOR_THREADS;
    return blocks < VECTOR_BLOCKS ? (int)blocks : (int)VECTOR_BLOCKS;
}

template <class OP> mpk_status sweep(mpki_cuda *cuda, const mpki_cuda_space *s, const OP &op) {
    void (*const kernel)(const OP, int64_t, double *, unsigned *) = sweep_kernel<OP>;
    const int64_t n = s->n;
    MPKI_TRY(cudaSetDevice(cuda->device)); /* a caller's operator may have chosen another */
    MPKI_LAUNCH(kernel, vector_blocks(n), vector_threads(n), 0, s->stream, op, n, s->partial,
                s->ticket);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/** The host waits for the report of that sequence number (vectors.cu). */
mpk_status await_report(mpki_cuda *cuda, mpki_cuda_space *s, double sequence);
/** The number of the next reduction. */
host_report next_host_report(mpki_cuda *cuda, mpki_cuda_space *s);

/** What most operations of sweep_kernel() share: K sums, U entries read ahead, F that joins
 *  sums. load(), use() and begin() are called by each thread, end() by one thread of the grid;
 *  none has a barrier. */
template <int K, int U, class F = plus> struct pass {
    /* RESIDENT: blocks of a multiprocessor; with 4 all of a grid run at once, with 2 half of
     * them */
    enum { SUMS = K, UNROLL = U, RESIDENT = 4 };
    typedef F combine;
    struct none {};
    __device__ bool skip() const { return false; }
    __device__ none begin() const { return {}; }
    template <class S> __device__ void end(const S &) const {}
};

} // namespace mpki

#endif
