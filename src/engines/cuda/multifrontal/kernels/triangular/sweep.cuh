/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_SWEEP_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_SWEEP_CUH
/** What sweeps over the fronts share: counters and values by which blocks wait for one another, a
 *  front as a sweep sees it, a triangular solve by one warp, and the sum of the children's
 *  contributions. Vectors lie by position, NR right-hand sides side by side. */
#include "../pivot/large_front.cuh"

namespace mpki {

static const int STRIP = MPKI_FRONT_STRIP, SWEEP_THREADS = MPKI_FRONT_SLICE,
                 GROUPS = SWEEP_THREADS / STRIP;

/** A thread: the value at p, which another block may have written while this kernel runs: the L1
 *  cache is passed by. Barriers: none. */
__device__ inline float load_from_l2(const float *p) {
    return __ldcg(p);
}
__device__ inline double load_from_l2(const double *p) {
    return __ldcg(p);
}
__device__ inline cx<float> load_from_l2(const cx<float> *p) {
    const float2 x = __ldcg((const float2 *)(const void *)p);
    return {x.x, x.y};
}
__device__ inline cx<double> load_from_l2(const cx<double> *p) {
    const double2 x = __ldcg((const double2 *)(const void *)p);
    return {x.x, x.y};
}

/** A thread: waits until *flag, which was -1, was raised `goal` times; what was written before that
 *  is visible then. Barriers: none. */
__device__ inline void wait_for(int *flag, int goal) {
    while (atomicAdd(flag, 0) + 1 < goal) __nanosleep(40);
    __threadfence();
}
/** A block: raises *flag, after all that its threads have written. Barriers: it meets the block
 *  first. */
__device__ inline void publish(int *flag) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(flag, 1);
    }
}

/** A thread: was the value sent? */
__device__ inline bool is_set(float x) {
    return __float_as_uint(x) != 0xffffffffu;
}
__device__ inline bool is_set(double x) {
    return __double_as_longlong(x) != -1;
}
template <class F> __device__ inline bool is_set(cx<F> x) {
    return is_set(x.x) && is_set(x.y);
}
/** A thread: the value at p as it is now, sent or not. Barriers: none. */
__device__ inline float poll(const float *p) {
#ifdef __CUDA_ARCH__
    float x;
    asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(x) : "l"(p) : "memory");
    return x;
#else
    return *p;
#endif
}
__device__ inline double poll(const double *p) {
#ifdef __CUDA_ARCH__
    double x;
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(x) : "l"(p) : "memory");
    return x;
#else
    return *p;
#endif
}
template <class F> __device__ inline cx<F> poll(const cx<F> *p) {
    return {poll(&p->x), poll(&p->y)};
}
/** A thread: sends x by way of *p: one store, which is value and flag. Barriers: none. */
__device__ inline void send(float *p, float x) {
    if (!is_set(x)) x = (float)NAN;
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(p), "f"(x) : "memory");
#else
    *p = x;
#endif
}
__device__ inline void send(double *p, double x) {
    if (!is_set(x)) x = (double)NAN;
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(p), "d"(x) : "memory");
#else
    *p = x;
#endif
}
template <class F> __device__ inline void send(cx<F> *p, cx<F> x) {
    send(&p->x, x.x);
    send(&p->y, x.y);
}
/** A thread: the value that is sent by way of *p, as soon as it is there; x: what poll() has seen
 *  of it. `pause` ns go by between two polls. Barriers: none. */
template <class T> __device__ inline T receive(const T *p, T x, unsigned pause = 20) {
    while (!is_set(x)) {
        __nanosleep(pause);
        x = poll(p);
    }
    return x;
}
/** A thread: the value that is sent by way of *p, as soon as it is there. */
template <class T> __device__ inline T receive(const T *p) {
    return receive(p, poll(p));
}
/** A thread: receive() of a value of another front, for which many may wait: it polls less
 *  often. */
template <class T> __device__ inline T receive_far(const T *p) {
    return receive(p, poll(p), 60);
}
/** A thread: x := NR values side by side, from p on, as they arrive; all are asked for before one is waited
 *  for. */
template <int NR, class T>
__device__ inline void receive_row(const T *p, unsigned pause, T (&x)[NR]) {
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = poll(p + r);
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = receive(p + r, x[r], pause);
}

/** Thread number `own` of `threads`: its part of the lines of the first `rows` rows of some columns
 *  is brought to the L2 cache. Barriers: none. */
template <class T>
__device__ inline void prefetch_lines(const T *a, int ld, int rows, int columns, int own,
                                      int threads) {
    const int lines = (rows * (int)sizeof(T) + LINE - 1) / LINE + 1;
    for (int k = own; rows > 0 && k < lines * columns; k += threads) {
        const int i = k % lines * (LINE / (int)sizeof(T));
        prefetch_l2(a + (int64_t)(k / lines) * ld + (i < rows ? i : rows - 1));
    }
}
/** A block: the first `rows` rows of some columns are brought to the L2 cache. Barriers: none. */
template <class T>
__device__ inline void prefetch_columns(const T *a, int ld, int rows, int columns) {
    prefetch_lines(a, ld, rows, columns, (int)threadIdx.x, (int)blockDim.x);
}
/** A warp: prefetch_columns() by its lanes alone. */
template <class T> __device__ inline void prefetch_rows(const T *a, int ld, int rows, int columns) {
    prefetch_lines(a, ld, rows, columns, (int)threadIdx.x & 31, 32);
}

/** A front as a sweep sees it: its panel a; `own` columns and m rows below them as analysed; w
 *  columns, e of them eliminated; n rows. */
template <class T> struct swept_front {
    const mpki_cuda_node &node;
    panel<T> a;
    int own, m, w, e, n;
    __device__ swept_front(const mpki_cuda_tree &t, int index)
        : node(t.node[index]), a(t.state[index].a, t.state[index].w, t.state[index].ld),
          own(node.own), m(node.rows), w(a.w), e(t.state[index].nelim), n(w + m) {}
};

/** x := L^-1 x on b <= 32 rows by one warp, a row a lane; column k of L begins at L + k ld. Eight
 *  columns are on their way while eight are used. */
template <class T> struct block_ahead {
    enum { AHEAD = 8 };
    T l[AHEAD];
    /** A warp: asks for the first columns, before x is there. Barriers: none. */
    __device__ void fetch(const T *L, int ld, int b) {
        const int lane = (int)threadIdx.x & 31;
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            l[k] = lane > k && lane < b ? L[lane + (int64_t)k * ld] : make<T>(0);
    }
    /** A warp: x := L^-1 x, after fetch(). Barriers: it meets the warp. */
    template <int NR> __device__ void solve(const T *L, int ld, int b, T (&x)[NR]) {
        const int lane = (int)threadIdx.x & 31;
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
    }
};
/** A warp: v := L^-1 v, b <= 32 rows of NR entries. Barriers: it meets the warp; the caller meets
 *  it before other lanes read v. */
template <int NR, class T> __device__ inline void solve_block(const T *L, int ld, int b, T *v) {
    const int lane = (int)threadIdx.x & 31;
    block_ahead<T> ahead;
    T x[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = lane < b ? v[lane * NR + r] : make<T>(0);
    ahead.fetch(L, ld, b);
    ahead.template solve<NR>(L, ld, b, x);
#pragma unroll
    for (int r = 0; r < NR; ++r)
        if (lane < b) v[lane * NR + r] = x[r];
}

/** A warp: v := L^-T v, or L^-H v with H, b <= 32 rows of NR entries. Barriers: as
 *  solve_block(). */
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

/* ---- contributions of children: values in u, each its own flag ---- */

enum { LISTED = 128 /* children that are described together */ };

/** Where the contributions of a front's rows go in u: made by a thread. */
struct contribution_places {
    const int32_t *slot; /* NULL: to its own part, one after the other */
    int64_t at;
    __device__ contribution_places(const mpki_cuda_sweep &s, int front)
        : slot(NULL), at(s.at[front]) {
        const int64_t begin = s.slot[front];
        if (begin >= 0) slot = s.slots + begin;
    }
    /** A thread: the place of this row below the front's columns. */
    __device__ int64_t of(int row) const { return slot ? slot[row] : at + row; }
};

/** A thread: has a front delayed columns? Their values are in y when `finished` says so. */
__device__ inline bool leaves_columns(const mpki_cuda_tree &t, int front) {
    return t.state[front].w > t.state[front].nelim;
}

/** A block: waits until the children of a front that have delayed columns, and come before front
 *  `first`, are done. chained: the child whose columns come before the front's own is left out.
 *  Barriers: none; the caller meets the block. */
__device__ inline void wait_for_columns(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                        const mpki_cuda_node &node, int first, bool chained) {
    for (int k = (int)threadIdx.x; k < node.children; k += (int)blockDim.x) {
        const int c = t.child[node.child + k];
        if (c < first && leaves_columns(t, c) && !(chained && t.node[c].root == MPKI_CUDA_NOT_LAST))
            wait_for(s.finished + c, s.goal[c]);
    }
}

/** A thread: first_not_below(), with seven reads side by side, since a sweep waits for memory.
 *  Barriers: none. */
__device__ inline int find_not_below(const int32_t *list, int count, int value) {
    int low = 0, high = count; /* what is sought is one of low .. high */
    while (high - low > 7) {
        const int step = (high - low) / 8;
        int below = 0;
#pragma unroll
        for (int k = 1; k < 8; ++k) below += list[low + k * step] < value;
        if (below < 7) high = low + (below + 1) * step;
        if (below > 0) low += below * step + 1;
    }
    int below = 0;
#pragma unroll
    for (int k = 0; k < 7; ++k) below += low + k < high && list[low + k] < value;
    return low + below;
}

/** Some children of a front, in shared memory: the list of their rows, where their contributions
 *  lie, and which of their rows are in the target. */
template <class T> struct child_list {
    const int32_t *rel[LISTED];
    const T *from[LISTED];
    int32_t first[LISTED], last[LISTED];
};

/** Rows of a front that are added up: rows low .. high - 1 of its own columns and the rows
 *  below. */
struct target {
    int low, high;
};

/** A block: describes children k0 .. k0 + LISTED - 1 of a front for the target `to`. It reads
 *  nothing that the sweep makes. Barriers: none; the caller meets the block. */
template <int NR, class T>
__device__ inline void list_children(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                     const mpki_cuda_node &node, const target &to, int k0,
                                     child_list<T> &list) {
    const int count = node.children - k0 < LISTED ? node.children - k0 : LISTED;
    for (int k = (int)threadIdx.x; k < count; k += (int)blockDim.x) {
        const int c = t.child[node.child + k0 + k];
        const mpki_cuda_node &child = t.node[c];
        const int32_t *rel = t.rel + child.rel;
        const int rows = child.rows, low = to.low, high = to.high;
        list.rel[k] = rel, list.from[k] = (const T *)s.u + s.at[c] * NR;
        list.first[k] = rows > 0 && rel[0] < low ? find_not_below(rel, rows, low) : 0;
        list.last[k] = rows > 0 && rel[rows - 1] >= high ? find_not_below(rel, rows, high) : rows;
    }
}

/** A block: sum += the contributions of the `count` listed children, in their order; sum: NR
 *  entries for each row of the target. Barriers: it meets the block, after each child. */
template <int NR, class T>
__device__ inline void add_listed(const target &to, const child_list<T> &list, int count, T *sum) {
    for (int k = 0; k < count; ++k) {
        const int32_t *rel = list.rel[k];
        const T *from = list.from[k];
        const int last = list.last[k] * NR;
        for (int i = list.first[k] * NR + (int)threadIdx.x; i < last; i += (int)blockDim.x) {
            T &at = sum[(rel[i / NR] - to.low) * NR + i % NR];
            at = at + receive_far(from + i);
        }
        __syncthreads();
    }
}

/** A block: add_listed() for many children and few rows: each warp adds up every so many of them,
 *  and the warps' sums are added in their order. own [work] as much as `sum` for each warp.
 *  Barriers: it meets the block, also before it returns. */
template <int NR, class T>
__device__ inline void add_many(const target &to, const child_list<T> &list, int count, T *sum,
                                T *own) {
    const int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32;
    const int lane = (int)threadIdx.x & 31, rows = (to.high - to.low) * NR;
    T *mine = own + warp * rows;
    for (int i = lane; i < rows; i += 32) mine[i] = make<T>(0);
    __syncwarp();
    /* a lane's first value of the next child, as far as it is there, and where it goes */
    const auto request = [&](int k, T &x) {
        const int i = k < count ? list.first[k] * NR + lane : 0;
        if (k >= count || i >= list.last[k] * NR) return -1;
        x = poll(list.from[k] + i);
        return (list.rel[k][i / NR] - to.low) * NR + i % NR;
    };
    T value = make<T>(0);
    int place = request(warp, value);
    for (int k = warp; k < count; k += warps) {
        T next = make<T>(0);
        const int next_place = request(k + warps, next);
        const int32_t *rel = list.rel[k];
        const T *from = list.from[k];
        const int i0 = list.first[k] * NR + lane, last = list.last[k] * NR;
        if (place >= 0) mine[place] = mine[place] + receive(from + i0, value, 60);
        for (int i = i0 + 32; i < last; i += 32) {
            T &at = mine[(rel[i / NR] - to.low) * NR + i % NR];
            at = at + receive_far(from + i);
        }
        __syncwarp();
        value = next, place = next_place;
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < rows; i += (int)blockDim.x) {
        T all = own[i];
        for (int w = 1; w < warps; ++w) all = all + own[w * rows + i];
        sum[i] = sum[i] + all;
    }
    __syncthreads();
}

/** A block: sum += the contributions of all children of a front to the target `to`. own [work]
 *  `entries` entries. Barriers: it meets the block, also before it returns, if there are
 *  children. */
template <int NR, class T>
__device__ void gather(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                       const mpki_cuda_node &node, const target &to, T *sum, T *own, int entries) {
    __shared__ child_list<T> list;
    const int rows = (to.high - to.low) * NR;
    const bool many =
        node.children >= 16 && (int64_t)rows * ((int)blockDim.x / 32) <= (int64_t)entries;
    for (int k = 0; k < node.children; k += LISTED) {
        const int count = node.children - k < LISTED ? node.children - k : LISTED;
        list_children<NR>(t, s, node, to, k, list);
        __syncthreads();
        if (many)
            add_many<NR>(to, list, count, sum, own);
        else
            add_listed<NR>(to, list, count, sum);
    }
}

/** A thread: entry k of D^-1 y on the columns of panel a, right-hand side r. Barriers: none. */
template <bool H, int NR, class T>
__device__ inline T by_diagonal(const panel<T> &a, const T *y, int k, int r) {
    const T d = a.dinv[2 * k], off = a.dinv[2 * k + 1];
    const T before = k > 0 ? a.dinv[2 * k - 1] : make<T>(0);
    const T mine = y[(int64_t)a.id[k] * NR + r];
    if (abs1(before) > 0) return before * y[(int64_t)a.id[k - 1] * NR + r] + d * mine;
    if (abs1(off) > 0) return d * mine + cj<H>(off) * y[(int64_t)a.id[k + 1] * NR + r];
    return d * mine;
}
/** A thread: x at this position, right-hand side r: sent to the fronts that wait for it, and,
 *  scaled, to where the caller wants it. Barriers: none. */
template <int NR, class T>
__device__ inline void send_solution(const mpki_cuda_sweep &s, int position, int r, T value) {
    typedef typename scalar_of<T>::real R;
    send((T *)s.x + (int64_t)position * NR + r, value);
    if (s.out && (NR == 1 || r < s.columns))
        ((T *)s.out)[s.perm[position] + r * s.ldout] = value * (R)s.scale[position];
}
/** A thread: what L^-T starts with in column k of panel a: y, or D^-1 y. */
template <bool H, int NR, class T>
__device__ inline T begin_value(const mpki_cuda_sweep &s, const panel<T> &a, int k, int r) {
    const T *y = (const T *)s.y;
    return s.diagonal ? by_diagonal<H, NR>(a, y, k, r) : y[(int64_t)a.id[k] * NR + r];
}

} // namespace mpki
#endif
