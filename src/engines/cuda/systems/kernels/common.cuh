/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_COMMON_CUH
#define MPKI_CUDA_SYSTEMS_COMMON_CUH
/** What all parts of the kernel for many systems share. No result depends on how many threads a
 *  block, or blocks a gang has: an entry is one thread's, or a warp's in an order that 32 lanes
 *  always have. */
#include "engines/cuda/module/launch.cuh"
#include "engines/cuda/module/rounding.cuh"
#include "engines/cuda/module/scalar.cuh"
#include "engines/cuda/module/shared_memory.cuh"
#include "engines/cuda/systems/tuning.h"
#include "systems.h"

namespace mpki {
namespace systems {

/** Pivots whose L D is kept until what is behind them is updated. */
static const int PANEL = 8;
/** Columns of a front that a solve takes at a time. */
static const int CHUNK = 32;
/** Largest number of threads of a block. */
static const int MOST = 256;
/** Values that are summed up, or compared, over all threads at a time. */
static const int N_MOST = 4;

/** Who does a thing together. */
enum team { WARP, BLOCK, GANG };

/** A team at work on one system, whose arrays are in its home, and the gang's work space. */
template <class T> struct at_work {
    typedef typename scalar_of<T>::real R;
    const mpki_cuda_systems_plan *plan;
    team who;
    int t, nt;         /* number of a thread in the team, threads of it */
    int thread, block; /* in the block, and of it */
    int rank, blocks;  /* of the block in the gang, and blocks of it */
    int gang_rows, block_depth;
    bool hermitian;
    T *ax, *l, *d;
    R *scale, *norm;
    /* work space, in global memory: n entries each, w: reals; x: of all sides; what fronts leave */
    T *y, *r, *best, *x, *contribution, *vector;
    R *w;
    double *exchange; /* of the gang: 2 x blocks x N_MOST */
    mutable int turn; /* which half of it is next */
    /* shared: L and L D of a panel, rows rows apart; D^-1 of it, four places a column; a front; sums */
    int pivot_at, chunk_at, panel_l_at,
        panel_ld_at; /* bytes: the compiler is to know where it is */
    T *front;
    int rows, depth, front_entries;
    char *shared; /* of the block, behind red */
    int bytes;
    R *red;
    __device__ T *pivot() const {
        MPKI_SMEM;
        return (T *)(smem + pivot_at);
    }
    __device__ T *chunk() const {
        MPKI_SMEM;
        return (T *)(smem + chunk_at);
    }
    __device__ T *panel_l() const {
        MPKI_SMEM;
        return (T *)(smem + panel_l_at);
    }
    __device__ T *panel_ld() const {
        MPKI_SMEM;
        return (T *)(smem + panel_ld_at);
    }
};

/** conj(x) where the matrix is Hermitian. By each thread for itself; no barrier. */
template <class T> __device__ inline T cj(bool hermitian, T x) {
    return hermitian ? conj(x) : x;
}

/** The larger part of an entry. By each thread for itself; no barrier. */
template <class F> __device__ inline F most_part(F x) {
    return x < 0 ? -x : x;
}
template <class F> __device__ inline F most_part(cx<F> x) {
    const F a = most_part(x.x), b = most_part(x.y);
    return a > b ? a : b;
}
/** The imaginary part. By each thread for itself; no barrier. */
template <class F> __device__ inline F imaginary(F) {
    return 0;
}
template <class F> __device__ inline F imaginary(cx<F> x) {
    return x.y;
}
/** Is x finite? By each thread for itself; no barrier. */
template <class F> __device__ inline bool is_finite(F x) {
    return x - x == 0;
}
template <class F> __device__ inline bool is_finite(cx<F> x) {
    return is_finite(x.x) && is_finite(x.y);
}

/** All threads of the gang meet. */
template <class T> __device__ inline void meet_all(const at_work<T> &g) {
    if (g.blocks > 1)
        cluster_meet();
    else
        __syncthreads();
}
/** All threads of the team meet. */
template <class T> __device__ inline void meet(const at_work<T> &g) {
    if (g.who == WARP)
        __syncwarp();
    else if (g.who == BLOCK)
        __syncthreads();
    else
        meet_all(g);
}

/** Bytes of shared memory of a team, beside a front, for panels of so many pivots together. */
template <class T> __host__ __device__ inline int64_t team_bytes(int rows, int depth) {
    return (int64_t)sizeof(T) * (2 * depth * (rows + 8) + 4 * PANEL + CHUNK);
}
/** The same of a warp that is alone, with its fronts. */
template <class T> __host__ __device__ inline int64_t alone_bytes() {
    const int rows = MPKI_SYSTEMS_ALONE_ROWS;
    return team_bytes<T>(rows, PANEL) + rows * (rows + 1) / 2 * (int64_t)sizeof(T);
}

/** The team's shared memory, with fronts of so many rows and panels of so many pivots together. By
 *  each thread for itself; no barrier. */
template <class T>
__device__ inline void lay_out(at_work<T> &g, char *at, int bytes, int rows, int depth) {
    g.rows = rows + 8; /* tiles read behind the last one */
    g.depth = depth;
    MPKI_SMEM;
    const int size = (int)sizeof(T);
    g.pivot_at = (int)(at - smem);
    g.chunk_at = g.pivot_at + 4 * PANEL * size;
    g.panel_l_at = g.chunk_at + CHUNK * size;
    g.panel_ld_at = g.panel_l_at + depth * g.rows * size;
    g.front = (T *)(smem + g.panel_ld_at) + depth * g.rows;
    g.front_entries = (int)((at + bytes - (char *)g.front) / (int64_t)sizeof(T));
}

/** Teams of a warp each. By all threads of the block; a barrier. */
template <class T> __device__ inline void warps_alone(at_work<T> &g) {
    __syncthreads();
    g.who = WARP, g.t = g.thread % 32, g.nt = 32;
    if (g.block == 32) return;
    const int bytes = (int)alone_bytes<T>();
    lay_out(g, g.shared + g.thread / 32 * bytes, bytes, MPKI_SYSTEMS_ALONE_ROWS, PANEL);
}
/** Teams of a block each. By all threads of the block; a barrier. */
template <class T> __device__ inline void blocks_alone(at_work<T> &g) {
    __syncthreads();
    g.who = BLOCK, g.t = g.thread, g.nt = g.block;
    lay_out(g, g.shared, g.bytes, g.plan->max_front, g.block_depth);
}
/** The whole gang is the team. By all threads; a barrier. */
template <class T> __device__ inline void together(at_work<T> &g) {
    blocks_alone(g);
    g.who = GANG, g.t = g.rank * g.block + g.thread, g.nt = g.blocks * g.block;
    meet_all(g);
}

/** The power of two p with 1 <= p x < 2, for x well inside the range. By each thread for itself; no
 *  barrier. */
__device__ inline float power_below(float x) {
    return __uint_as_float(0x7f000000u - (__float_as_uint(x) & 0x7f800000u));
}
__device__ inline double power_below(double x) {
    return __hiloint2double(0x7fe00000 - (__double2hiint(x) & 0x7ff00000), 0);
}

/** Asks for the line of the L1 cache at p, and goes on. By each thread for itself; no barrier. */
__device__ inline void ask_for(const void *p) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L1 [%0];" ::"l"(p));
#else
    (void)p;
#endif
}
/** The same for all lines of some bytes, if they are few. By all threads of the team; no
 *  barrier. */
template <class T>
__device__ inline void ask_for_all(const at_work<T> &g, const void *p, int64_t bytes) {
    if (bytes > MPKI_SYSTEMS_ASKED_BYTES) bytes = MPKI_SYSTEMS_ASKED_BYTES;
    for (int64_t k = (int64_t)g.t * 128; k < bytes; k += (int64_t)g.nt * 128)
        ask_for((const char *)p + k);
}

/** Where row i of column j of a front of r rows is, less i. By each thread for itself; no
 *  barrier. */
__device__ inline int column(int r, int j) {
    return j * (r - 1) - j * (j - 1) / 2;
}

struct largest_of {
    template <class V> __device__ V operator()(V a, V b) const { return a < b ? b : a; }
};
struct sum_of {
    template <class V> __device__ V operator()(V a, V b) const { return a + b; }
};
struct least_of {
    template <class V> __device__ V operator()(V a, V b) const { return b < a ? b : a; }
};

/** Each x[k] := op over what all threads have, to all of them; no x is NaN. By all threads of the
 *  gang; barriers. */
template <int N, class T, class V, class OP>
__device__ void over_all(const at_work<T> &g, V (&x)[N], OP op) {
    static_assert(N <= N_MOST, "there is no room for more");
    const int warps = g.block / 32;
#pragma unroll
    for (int k = 0; k < N; ++k)
        for (int o = 16; o; o /= 2) x[k] = op(x[k], shfl_xor(x[k], o));
    if (warps > 1) {
        V *red = (V *)g.red;
        __syncthreads();
        if (g.thread % 32 == 0)
            for (int k = 0; k < N; ++k) red[g.thread / 32 * N + k] = x[k];
        __syncthreads();
        for (int k = 0; k < N; ++k) {
            x[k] = red[k];
            for (int w = 1; w < warps; ++w) x[k] = op(x[k], red[w * N + k]);
        }
    }
    if (g.blocks == 1) return;
    V *all = (V *)(g.exchange + g.turn * g.blocks * N_MOST);
    g.turn ^= 1; /* who is late still reads the other half */
    if (g.thread == 0)
        for (int k = 0; k < N; ++k) all[g.rank * N + k] = x[k];
    cluster_meet();
    for (int k = 0; k < N; ++k) {
        x[k] = all[k];
        for (int q = 1; q < g.blocks; ++q) x[k] = op(x[k], all[q * N + k]);
    }
}
template <class T, class V, class OP> __device__ V over_all(const at_work<T> &g, V x, OP op) {
    V all[1] = {x};
    over_all(g, all, op);
    return all[0];
}

/** Does it hold for all threads? By all threads of the gang; barriers. */
template <class T> __device__ bool for_all(const at_work<T> &g, bool x) {
    if (g.blocks > 1) return over_all(g, (int)!x, largest_of()) == 0;
    return !__syncthreads_or(!x);
}

/** Rows of A are done by four lanes each: row i and entry k = begin + lane, begin + lane + 4, ... of
 *  it. i is n where there is none, and then begin = end. */
struct row_lanes {
    int i, begin, end;
    bool first; /* the lane that tells */
};
/** The row of this thread's lanes, in the pass whose first row of the warp is `base`. By each thread
 *  for itself; no barrier. */
__device__ inline row_lanes row_of(const mpki_cuda_systems_plan &p, int t, int base) {
    const int i = base + t % 32 / 4, lane = t % 4;
    if (i >= p.n) return {p.n, 0, 0, false};
    return {i, p.ptr[i] + lane, p.ptr[i + 1], lane == 0};
}

/** A caller's column of a system: entry i at p[i step]. */
template <class T> struct strand {
    T *p;
    int64_t step;
    __device__ T &operator[](int64_t i) const { return p[i * step]; }
};

/** Column j of system `slot`. By each thread for itself; no barrier. */
template <class T>
__device__ strand<T> strand_of(const mpki_cuda_systems_array &a, int64_t slot, int j) {
    if (a.layout == 1) return {((T *const *)a.data)[slot] + j * a.ld, 1};
    if (a.layout == 0) return {(T *)a.data + slot * a.stride + j * a.ld, 1};
    return {(T *)a.data + slot / a.width * a.stride + slot % a.width + j * a.ld * a.width, a.width};
}

/* ---- sums in twice the precision ---- */

/** sum + low += a b. By each thread for itself; no barrier. */
template <class R> __device__ inline void add_product(R a, R b, R &sum, R &low) {
    const R p = mul_rn(a, b), e = fma_rn(a, b, -p);
    const R s = add_rn(sum, p), u = add_rn(s, -sum);
    low = add_rn(low, add_rn(add_rn(sum, -add_rn(s, -u)), add_rn(p, -u)));
    low = add_rn(low, e);
    sum = s;
}
/** The sum of what four lanes have, to each of them. By all lanes of a warp; shuffles. */
template <class R> __device__ inline void join_sums(R &sum, R &low) {
    for (int o = 1; o < 4; o *= 2) {
        const R other = shfl_xor(sum, o), rest = shfl_xor(low, o);
        const R s = add_rn(sum, other), u = add_rn(s, -sum);
        low = add_rn(add_rn(low, rest), add_rn(add_rn(sum, -add_rn(s, -u)), add_rn(other, -u)));
        sum = s;
    }
}
template <class R> __device__ inline void join_sums(cx<R> &sum, cx<R> &low) {
    join_sums(sum.x, low.x);
    join_sums(sum.y, low.y);
}

/** sum + low -= a x. By each thread for itself; no barrier. */
template <class R> __device__ inline void take_product(R a, R x, R &sum, R &low) {
    add_product(-a, x, sum, low);
}
template <class R> __device__ inline void take_product(cx<R> a, cx<R> x, cx<R> &sum, cx<R> &low) {
    add_product(-a.x, x.x, sum.x, low.x);
    add_product(a.y, x.y, sum.x, low.x);
    add_product(-a.x, x.y, sum.y, low.y);
    add_product(-a.y, x.x, sum.y, low.y);
}

} // namespace systems
} // namespace mpki

#endif
