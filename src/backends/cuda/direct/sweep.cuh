/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_SWEEP_CUH
#define MPKI_CUDA_DIRECT_SWEEP_CUH
/** What sweeps over the fronts share: counters by which blocks wait for one another, a front as a sweep
 *  sees it, a triangular solve by one warp, what children give. Vectors by position, NR right-hand
 *  sides side by side. */
#include "large.cuh"

namespace mpki {

static const int STRIP = MPKI_FRONT_STRIP, SWEEP_THREADS = 256, GROUPS = SWEEP_THREADS / STRIP;

/* What other blocks have written while this kernel runs: past the first cache. */
__device__ inline float fresh(const float *p) {
    return __ldcg(p);
}
__device__ inline double fresh(const double *p) {
    return __ldcg(p);
}
__device__ inline cx<float> fresh(const cx<float> *p) {
    const float2 x = __ldcg((const float2 *)(const void *)p);
    return {x.x, x.y};
}
__device__ inline cx<double> fresh(const cx<double> *p) {
    const double2 x = __ldcg((const double2 *)(const void *)p);
    return {x.x, x.y};
}

/** A thread waits until *flag has reached `goal`. */
__device__ inline int wait_for(int *flag, int goal) {
    int seen;
    while ((seen = atomicAdd(flag, 0)) < goal) __nanosleep(40);
    __threadfence();
    return seen;
}
/** All threads: what this block has written is there, and *flag says so. */
__device__ inline void publish(int *flag) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(flag, 1);
    }
}

/** A front as a sweep sees it. */
template <class T> struct swept_front {
    const mpki_cuda_node &node;
    panel<T> a;
    int own, m, w, e, n;
    __device__ swept_front(const mpki_cuda_tree &t, int index)
        : node(t.node[index]), a(t.now[index].a, t.now[index].w, t.now[index].ld), own(node.own),
          m(node.rows), w(a.w), e(t.now[index].nelim), n(w + m) {}
};

/** One warp: v := L^-1 v for b <= 32 rows; L: a column every `ld` entries. Eight columns of L are on
 *  their way while eight are at work. */
template <int NR, class T> __device__ inline void solve_block(const T *L, int ld, int b, T *v) {
    const int AHEAD = 8, lane = (int)threadIdx.x & 31;
    T x[NR], l[AHEAD];
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = lane < b ? v[lane * NR + r] : make<T>(0);
#pragma unroll
    for (int k = 0; k < AHEAD; ++k)
        l[k] = lane > k && lane < b ? L[lane + (int64_t)k * ld] : make<T>(0);
    for (int k0 = 0; k0 + 1 < b; k0 += AHEAD) {
        T next[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const int col = k0 + AHEAD + k;
            next[k] = lane > col && lane < b ? L[lane + (int64_t)col * ld] : make<T>(0);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
#pragma unroll
            for (int r = 0; r < NR; ++r) nfma(x[r], l[k], shfl(x[r], (k0 + k) & 31));
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) l[k] = next[k];
    }
#pragma unroll
    for (int r = 0; r < NR; ++r)
        if (lane < b) v[lane * NR + r] = x[r];
}

template <bool H, int NR, class T>
__device__ inline void solve_block_back(const T *L, int ld, int b, T *v) {
    const int AHEAD = 8, lane = (int)threadIdx.x & 31;
    T x[NR], l[AHEAD];
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = lane < b ? v[lane * NR + r] : make<T>(0);
#pragma unroll
    for (int k = 0; k < AHEAD; ++k)
        l[k] = lane < b - 1 - k ? cj<H>(L[b - 1 - k + (int64_t)lane * ld]) : make<T>(0);
    for (int k0 = b - 1; k0 > 0; k0 -= AHEAD) {
        T next[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const int row = k0 - AHEAD - k;
            next[k] = lane < row ? cj<H>(L[row + (int64_t)lane * ld]) : make<T>(0);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
#pragma unroll
            for (int r = 0; r < NR; ++r) nfma(x[r], l[k], shfl(x[r], (k0 - k) & 31));
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) l[k] = next[k];
    }
#pragma unroll
    for (int r = 0; r < NR; ++r)
        if (lane < b) v[lane * NR + r] = x[r];
}

/** All threads: what the children of a front give to rows [low, high) of the columns that are swept
 *  together with it, in the order of children. y_at: position of the first of these columns, `columns`
 *  of them, u: rows below; shift: columns before the front's own. The child that is itself among them
 *  gives nothing. */
template <int NR, class T>
__device__ void gather(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                       const mpki_cuda_node &node, int y_at, int columns, int shift, bool chained,
                       T *u, int low, int high) {
    T *y = (T *)s.y + (int64_t)y_at * NR;
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x;
    for (int k = 0; k < node.children; ++k) {
        const int c = t.child[node.child + k];
        const mpki_cuda_node &child = t.node[c];
        if (chained && child.root == MPKI_CUDA_NOT_LAST) continue;
        const int32_t *rel = t.rel + child.rel;
        const T *from = (const T *)s.u + s.at[c] * NR;
        const int i0 = low > shift ? first_not_below(rel, child.rows, low - shift) : 0;
        const int i1 = first_not_below(rel, child.rows, high - shift);
        for (int i = i0 * NR + tid; i < i1 * NR; i += nt) {
            const int row = rel[i / NR] + shift;
            T &to =
                row < columns ? y[(int64_t)row * NR + i % NR] : u[(row - columns) * NR + i % NR];
            to = fresh(&to) + fresh(from + i);
        }
        __syncthreads();
    }
}

} // namespace mpki
#endif
