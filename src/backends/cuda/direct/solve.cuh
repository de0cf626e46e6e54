/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_SOLVE_CUH
#define MPKI_CUDA_DIRECT_SOLVE_CUH
/** Sweeps over the fronts, each one launch: a thread block takes the small fronts of a task one after
 *  the other, or a strip of a large front. Blocks wait for one another by counters in device memory;
 *  who adds what, and in which order, does not depend on them. Vectors by position, NR right-hand
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

/** One warp: v := L^-1 v for b <= 32 rows; L: a column every `ld` entries. */
template <int NR, class T> __device__ inline void solve_block(const T *L, int ld, int b, T *v) {
    const int lane = (int)threadIdx.x & 31;
    T x[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = lane < b ? v[lane * NR + r] : make<T>(0);
    for (int k = 0; k + 1 < b; ++k) {
        const T l = lane > k && lane < b ? L[lane + (int64_t)k * ld] : make<T>(0);
#pragma unroll
        for (int r = 0; r < NR; ++r) nfma(x[r], l, shfl(x[r], k));
    }
#pragma unroll
    for (int r = 0; r < NR; ++r)
        if (lane < b) v[lane * NR + r] = x[r];
}

template <bool H, int NR, class T>
__device__ inline void solve_block_back(const T *L, int ld, int b, T *v) {
    const int lane = (int)threadIdx.x & 31;
    T x[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = lane < b ? v[lane * NR + r] : make<T>(0);
    for (int k = b - 1; k > 0; --k) {
        const T l = lane < k ? cj<H>(L[k + (int64_t)lane * ld]) : make<T>(0);
#pragma unroll
        for (int r = 0; r < NR; ++r) nfma(x[r], l, shfl(x[r], k));
    }
#pragma unroll
    for (int r = 0; r < NR; ++r)
        if (lane < b) v[lane * NR + r] = x[r];
}

/* ---- small fronts: a block takes those of a task one after the other ---- */

/** All threads: what the children give to rows [low, high) of a front, in the order of children. */
template <int NR, class T>
__device__ void gather(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                       const mpki_cuda_node &node, T *u, int low, int high) {
    T *y = (T *)s.y;
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, own = node.own;
    for (int k = 0; k < node.children; ++k) {
        const int c = t.child[node.child + k];
        const mpki_cuda_node &child = t.node[c];
        const int32_t *rel = t.rel + child.rel;
        const T *from = (const T *)s.u + s.at[c] * NR;
        int i0 = 0, i1 = child.rows;
        if (low > 0) i0 = first_not_below(rel, child.rows, low);
        if (high < node.own + node.rows) i1 = first_not_below(rel, child.rows, high);
        for (int i = i0 * NR + tid; i < i1 * NR; i += nt) {
            const int row = rel[i / NR];
            T &to = row < own ? y[(int64_t)(node.first + row) * NR + i % NR]
                              : u[(row - own) * NR + i % NR];
            to = fresh(&to) + fresh(from + i);
        }
        __syncthreads();
    }
}

/** All threads; v: room for nelim x NR entries. */
template <int NR, class T>
__device__ void forward_front(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index, T *v) {
    const swept_front<T> f(t, index);
    const panel<T> &a = f.a;
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, w = f.w, e = f.e, n = f.n;
    T *y = (T *)s.y, *u = (T *)s.u + s.at[index] * NR; /* u: rows of this front */
    for (int i = tid; i < f.m * NR; i += nt) u[i] = make<T>(0);
    __syncthreads();
    gather<NR>(t, s, f.node, u, 0, f.own + f.m);
    if (e == 0) return;
    for (int k = tid; k < e * NR; k += nt) v[k] = fresh(&y[(int64_t)a.id[k / NR] * NR + k % NR]);
    __syncthreads();
    for (int k0 = 0; k0 < e; k0 += 32) {
        const int b = e - k0 < 32 ? e - k0 : 32;
        if (tid < 32) solve_block<NR>(&a.at(k0, k0), a.ld, b, v + k0 * NR);
        __syncthreads();
        for (int i = k0 + b + tid; i < n; i += nt) {
            T sum[NR];
#pragma unroll
            for (int r = 0; r < NR; ++r) sum[r] = make<T>(0);
#pragma unroll 4
            for (int k = 0; k < b; ++k) {
                const T l = a.at(i, k0 + k);
#pragma unroll
                for (int r = 0; r < NR; ++r) pfma(sum[r], l, v[(k0 + k) * NR + r]);
            }
#pragma unroll
            for (int r = 0; r < NR; ++r) {
                T &to = i < e   ? v[i * NR + r]
                        : i < w ? y[(int64_t)a.id[i] * NR + r]
                                : u[(i - w) * NR + r];
                to = (i < e ? to : fresh(&to)) - sum[r];
            }
        }
        __syncthreads();
    }
    for (int k = tid; k < e * NR; k += nt) y[(int64_t)a.id[k / NR] * NR + k % NR] = v[k];
}

template <bool H, int NR, class T>
__device__ void backward_front(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index, T *v) {
    const swept_front<T> f(t, index);
    const panel<T> &a = f.a;
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int w = f.w, e = f.e, n = f.n, warps = nt / 32;
    const int32_t *ridx = t.ridx + f.node.ridx;
    T *y = (T *)s.y, *u = (T *)s.u + s.at[index] * NR;
    if (e == 0) return;
    for (int k = tid; k < e * NR; k += nt) v[k] = fresh(&y[(int64_t)a.id[k / NR] * NR + k % NR]);
    for (int i = tid; i < f.m * NR; i += nt) u[i] = fresh(&y[(int64_t)ridx[i / NR] * NR + i % NR]);
    __syncthreads();
    for (int k0 = (e - 1) / 32 * 32; k0 >= 0; k0 -= 32) {
        const int b = e - k0 < 32 ? e - k0 : 32;
        for (int k = warp; k < b; k += warps) {
            T sum[NR];
#pragma unroll
            for (int r = 0; r < NR; ++r) sum[r] = make<T>(0);
            for (int i = k0 + b + lane; i < n; i += 32) {
                const T l = cj<H>(a.at(i, k0 + k));
#pragma unroll
                for (int r = 0; r < NR; ++r)
                    pfma(sum[r], l,
                         i < e   ? v[i * NR + r]
                         : i < w ? fresh(&y[(int64_t)a.id[i] * NR + r])
                                 : u[(i - w) * NR + r]);
            }
#pragma unroll
            for (int r = 0; r < NR; ++r) {
                for (int o = 16; o; o >>= 1) sum[r] = sum[r] + shfl_xor(sum[r], o);
                if (lane == 0) v[(k0 + k) * NR + r] = v[(k0 + k) * NR + r] - sum[r];
            }
        }
        __syncthreads();
        if (tid < 32) solve_block_back<H, NR>(&a.at(k0, k0), a.ld, b, v + k0 * NR);
        __syncthreads();
    }
    for (int k = tid; k < e * NR; k += nt) y[(int64_t)a.id[k / NR] * NR + k % NR] = v[k];
}

/* ---- large fronts: strips of 64 rows, or of 64 columns on the way back, a block each ---- */

/** Shared memory of a strip. */
template <int NR, class T> struct strip_room {
    T *L, *x, *part; /* the strip's own square; values of other rows; sums of the groups */
    static __host__ __device__ int64_t entries() {
        return STRIP * (STRIP + 1) + STRIP * NR + GROUPS * STRIP * NR;
    }
    __device__ strip_room(char *room)
        : L((T *)room), x(L + STRIP * (STRIP + 1)), part(x + STRIP * NR) {}
};

/** All threads: the strip's square of L. */
template <class T> __device__ inline void load_square(const panel<T> &a, int k0, int b, T *L) {
    for (int s = (int)threadIdx.x; s < STRIP * STRIP; s += SWEEP_THREADS) {
        const int i = s % STRIP, k = s / STRIP;
        if (i < b && k < i) L[i + k * (STRIP + 1)] = a.at(k0 + i, k0 + k);
    }
}

/** All threads: v (64 x NR, in shared memory) solved with the square: halves of 32 rows by one
 *  warp. */
template <int NR, class T> __device__ inline void solve_square(const T *L, int b, T *v) {
    const int LD = STRIP + 1, lane = (int)threadIdx.x & 31;
    if (threadIdx.x >= 32) return;
    solve_block<NR>(L, LD, b < 32 ? b : 32, v);
    if (b <= 32) return;
    __syncwarp();
    if (lane < b - 32)
        for (int k = 0; k < 32; ++k) {
            const T l = L[32 + lane + k * LD];
#pragma unroll
            for (int r = 0; r < NR; ++r) nfma(v[(32 + lane) * NR + r], l, v[k * NR + r]);
        }
    __syncwarp();
    solve_block<NR>(L + 32 + 32 * LD, LD, b - 32, v + 32 * NR);
}

template <bool H, int NR, class T>
__device__ inline void solve_square_back(const T *L, int b, T *v) {
    const int LD = STRIP + 1, lane = (int)threadIdx.x & 31;
    if (threadIdx.x >= 32) return;
    if (b > 32) {
        solve_block_back<H, NR>(L + 32 + 32 * LD, LD, b - 32, v + 32 * NR);
        __syncwarp();
        for (int k = 32; k < b; ++k) {
            const T l = cj<H>(L[k + lane * LD]);
#pragma unroll
            for (int r = 0; r < NR; ++r) nfma(v[lane * NR + r], l, v[k * NR + r]);
        }
        __syncwarp();
    }
    solve_block_back<H, NR>(L, LD, b < 32 ? b : 32, v);
}

/** Rows [i0, i0 + 64) forward: minus L times what is solved, then the strip's own square. */
template <int NR, class T>
__device__ void forward_strip(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index,
                              int strip, char *room) {
    const swept_front<T> f(t, index);
    const panel<T> &a = f.a;
    const strip_room<NR, T> m(room);
    const int tid = (int)threadIdx.x, row = tid % STRIP, group = tid / STRIP, e = f.e, w = f.w;
    const int pivots = (e + STRIP - 1) / STRIP;
    const bool solves = strip < pivots;
    const int i0 = solves ? strip * STRIP : e + (strip - pivots) * STRIP;
    const int end = solves ? e : f.n, b = end - i0 < STRIP ? end - i0 : STRIP;
    const int columns = solves ? i0 : e, i = i0 + row;
    T *y = (T *)s.y, *u = (T *)s.u + s.at[index] * NR;
    T sum[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) sum[r] = make<T>(0);
    if (solves) load_square(a, i0, b, m.L);
    int have = 0; /* strips whose values are there */
    __shared__ int seen;
    for (int c0 = 0; c0 < columns; c0 += STRIP) {
        const int c = c0 / STRIP, count = columns - c0 < STRIP ? columns - c0 : STRIP;
        T l[STRIP / GROUPS];
#pragma unroll
        for (int k = 0; k < STRIP / GROUPS; ++k) {
            const int col = group * (STRIP / GROUPS) + k;
            l[k] = row < b && col < count ? a.at(i, c0 + col) : make<T>(0);
        }
        if (have <= c) {
            if (tid == 0) seen = wait_for(s.solved + index, c + 1);
            __syncthreads();
            have = seen;
        }
        __syncthreads();
        for (int k = tid; k < count * NR; k += SWEEP_THREADS)
            m.x[k] = fresh(&y[(int64_t)a.id[c0 + k / NR] * NR + k % NR]);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < STRIP / GROUPS; ++k) {
            const int col = group * (STRIP / GROUPS) + k;
            if (col < count) {
#pragma unroll
                for (int r = 0; r < NR; ++r) pfma(sum[r], l[k], m.x[col * NR + r]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < NR; ++r) m.part[(group * STRIP + row) * NR + r] = sum[r];
    if (columns == 0 && solves) { /* the first waits for what the children give */
        if (tid == 0) seen = wait_for(s.gathered + index, gather_parts(f.node));
    }
    __syncthreads();
    for (int k = tid; k < b * NR; k += SWEEP_THREADS) {
        T x = m.part[k];
        for (int g = 1; g < GROUPS; ++g) x = x + m.part[g * STRIP * NR + k];
        const int at = i0 + k / NR, r = k % NR;
        T *to = at < w ? &y[(int64_t)a.id[at] * NR + r] : &u[(at - w) * NR + r];
        const T value = fresh(to) - x;
        if (solves)
            m.x[k] = value;
        else
            *to = value;
    }
    __syncthreads();
    if (solves) {
        solve_square<NR>(m.L, b, m.x);
        __syncthreads();
        for (int k = tid; k < b * NR; k += SWEEP_THREADS)
            y[(int64_t)a.id[i0 + k / NR] * NR + k % NR] = m.x[k];
        publish(s.solved + index);
    }
    publish(s.finished + index);
}

/** Columns [j0, j0 + 64) backward: minus L^T times the rows below, then the strip's own square. */
template <bool H, int NR, class T>
__device__ void backward_strip(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index,
                               int strip, char *room) {
    const swept_front<T> f(t, index);
    const panel<T> &a = f.a;
    const strip_room<NR, T> m(room);
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32, e = f.e, w = f.w;
    const int strips = (e + STRIP - 1) / STRIP, COLUMNS = STRIP / (SWEEP_THREADS / 32);
    const int j0 = strip * STRIP, b = e - j0 < STRIP ? e - j0 : STRIP;
    const int32_t *ridx = t.ridx + f.node.ridx;
    T *y = (T *)s.y;
    T sum[COLUMNS][NR]; /* a warp takes 8 columns */
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
        for (int r = 0; r < NR; ++r) sum[c][r] = make<T>(0);
    load_square(a, j0, b, m.L);
    int have = 0;
    __shared__ int seen;
    /* rows beyond the pivots first: ancestors are done; then the strips after this one, from the
     * last */
    const int below = (f.n - e + STRIP - 1) / STRIP, after = strips - 1 - strip;
    for (int c = 0; c < below + after; ++c) {
        const bool far = c < below;
        const int k0 = far ? e + c * STRIP : (strips - 1 - (c - below)) * STRIP;
        const int end = far ? f.n : e, count = end - k0 < STRIP ? end - k0 : STRIP;
        if (!far && have <= c - below) {
            if (tid == 0) seen = wait_for(s.solved + index, c - below + 1);
            __syncthreads();
            have = seen;
        }
        __syncthreads();
        for (int k = tid; k < STRIP * NR; k += SWEEP_THREADS) {
            const int at = k0 + k / NR;
            m.x[k] = k / NR < count
                         ? fresh(&y[(int64_t)(at < w ? a.id[at] : ridx[at - w]) * NR + k % NR])
                         : make<T>(0);
        }
        __syncthreads();
#pragma unroll
        for (int h = 0; h < STRIP; h += 32) {
            const int i = h + lane;
            T l[COLUMNS];
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q) {
                const int col = warp * COLUMNS + q;
                l[q] = i < count && col < b ? cj<H>(a.at(k0 + i, j0 + col)) : make<T>(0);
            }
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q)
#pragma unroll
                for (int r = 0; r < NR; ++r) pfma(sum[q][r], l[q], m.x[i * NR + r]);
        }
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < COLUMNS; ++q)
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            for (int o = 16; o; o >>= 1) sum[q][r] = sum[q][r] + shfl_xor(sum[q][r], o);
            if (lane == 0) m.part[(warp * COLUMNS + q) * NR + r] = sum[q][r];
        }
    __syncthreads();
    for (int k = tid; k < b * NR; k += SWEEP_THREADS)
        m.x[k] = fresh(&y[(int64_t)a.id[j0 + k / NR] * NR + k % NR]) - m.part[k];
    __syncthreads();
    solve_square_back<H, NR>(m.L, b, m.x);
    __syncthreads();
    for (int k = tid; k < b * NR; k += SWEEP_THREADS)
        y[(int64_t)a.id[j0 + k / NR] * NR + k % NR] = m.x[k];
    publish(s.solved + index);
}

/** The children of a front are done. By threads of a block; the caller synchronizes. */
__device__ inline void wait_for_children(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                         const mpki_cuda_node &node, int first) {
    for (int k = (int)threadIdx.x; k < node.children; k += (int)blockDim.x) {
        const int c = t.child[node.child + k];
        if (c < first) wait_for(s.finished + c, s.goal[c]);
    }
}

/** The next piece of work: blocks take them in order, so that whatever one waits for is at work. */
__device__ inline mpki_cuda_piece next_piece(const mpki_cuda_sweep &s,
                                             const mpki_cuda_piece *list) {
    __shared__ int ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(s.ticket, 1);
    __syncthreads();
    return list[ticket];
}

/** A block for each piece. most: columns of v that fit into shared memory; a front with more keeps
 *  them behind its rows in u. */
template <int NR, class T>
__global__ void __launch_bounds__(SWEEP_THREADS)
    forward_kernel(mpki_cuda_tree t, mpki_cuda_sweep s, int most) {
    MPKI_ROOM;
    const mpki_cuda_piece me = next_piece(s, s.down);
    if (me.kind == MPKI_CUDA_TASK) {
        for (int k = me.first; k <= me.last; ++k) {
            wait_for_children(t, s, t.node[k], me.first);
            __syncthreads();
            forward_front<NR>(t, s, k,
                              t.now[k].nelim <= most ? (T *)room
                                                     : (T *)s.u + (s.at[k] + t.node[k].rows) * NR);
            __syncthreads();
        }
        publish(s.finished + me.last);
    } else if (me.kind == MPKI_CUDA_GATHER) {
        const mpki_cuda_node &node = t.node[me.first];
        const int low = me.last * MPKI_FRONT_GATHER, all = node.own + node.rows;
        const int high = low + MPKI_FRONT_GATHER < all ? low + MPKI_FRONT_GATHER : all;
        T *u = (T *)s.u + s.at[me.first] * NR;
        for (int i = low + (int)threadIdx.x; i < high; i += SWEEP_THREADS)
            if (i >= node.own)
                for (int r = 0; r < NR; ++r) u[(i - node.own) * NR + r] = make<T>(0);
        wait_for_children(t, s, node, me.first);
        __syncthreads();
        gather<NR>(t, s, node, u, low, high);
        publish(s.gathered + me.first);
        if (node.own == 0) publish(s.finished + me.first);
    } else {
        const int index = me.first;
        const swept_front<T> f(t, index);
        if (f.e == 0 || me.last >= (f.e + STRIP - 1) / STRIP) {
            if (threadIdx.x == 0) wait_for(s.gathered + index, gather_parts(f.node));
            __syncthreads();
        }
        forward_strip<NR, T>(t, s, index, me.last, room);
    }
}

template <bool H, int NR, class T>
__global__ void __launch_bounds__(SWEEP_THREADS)
    backward_kernel(mpki_cuda_tree t, mpki_cuda_sweep s, int most) {
    MPKI_ROOM;
    const mpki_cuda_piece me = next_piece(s, s.up);
    const int top = me.kind == MPKI_CUDA_TASK ? me.last : me.first, parent = s.parent[top];
    if (parent >= 0 && threadIdx.x == 0) wait_for(s.finished + parent, 1);
    __syncthreads();
    if (me.kind == MPKI_CUDA_TASK) {
        for (int k = me.last; k >= me.first; --k) {
            backward_front<H, NR>(
                t, s, k,
                t.now[k].nelim <= most ? (T *)room : (T *)s.u + (s.at[k] + t.node[k].rows) * NR);
            __syncthreads();
            publish(s.finished + k);
        }
    } else if (me.kind == MPKI_CUDA_STRIP) {
        backward_strip<H, NR, T>(t, s, me.first, me.last, room);
        if (me.last == 0) publish(s.finished + me.first); /* the last of its strips */
    } else {
        publish(s.finished + me.first); /* a front without pivots */
    }
}

/** |B| for B = [a conj(b); b c], a and c real: src/direct/triangular_t.c. */
template <class T>
__device__ inline void absolute(typename scalar_of<T>::real *a, T *b,
                                typename scalar_of<T>::real *c) {
    typedef typename scalar_of<T>::real R;
    const double most = fmax(fmax(fabs((double)*a), fabs((double)*c)), (double)modulus(*b));
    if (!(most > 0)) return;
    const double p = *a / most, q = *c / most, m = (double)modulus(*b) / most;
    const double det = p * q - m * m;
    if (det >= 0) {
        const R sign = p + q < 0 ? -1 : 1;
        *a *= sign, *c *= sign, *b = *b * sign;
        return;
    }
    const double trace = sqrt((p - q) * (p - q) + 4 * m * m);
    *a = (R)(most * ((p * p + m * m - det) / trace));
    *c = (R)(most * ((q * q + m * m - det) / trace));
    *b = *b * (R)((p + q) / trace);
}

/** A warp for each front. */
template <bool H, class T>
__global__ void diagonal_kernel(mpki_cuda_tree t, mpki_cuda_sweep s, int absolutely) {
    const int lane = (int)threadIdx.x & 31, nr = s.nrhs;
    const int step = (int)(gridDim.x * blockDim.x / 32);
    T *y = (T *)s.y;
    for (int f = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 32; f < t.fronts; f += step) {
        const mpki_cuda_now now = t.now[f];
        const panel<T> a(now.a, now.w, now.ld);
        for (int k = lane; k < now.nelim; k += 32) {
            T d1 = a.dinv[2 * k], off = a.dinv[2 * k + 1];
            const bool second = k > 0 && abs1(a.dinv[2 * k - 1]) > 0;
            if (second) continue;
            T *x1 = y + (int64_t)a.id[k] * nr;
            if (!(abs1(off) > 0)) {
                if (absolutely) d1 = make<T>(fabs((double)re(d1)));
                for (int r = 0; r < nr; ++r) x1[r] = d1 * x1[r];
                continue;
            }
            T d2 = a.dinv[2 * k + 2], *x2 = y + (int64_t)a.id[k + 1] * nr, up = cj<H>(off);
            if (absolutely) {
                typename scalar_of<T>::real p = re(d1), q = re(d2);
                absolute(&p, &off, &q);
                d1 = make<T>((double)p), d2 = make<T>((double)q), up = conj(off);
            }
            for (int r = 0; r < nr; ++r) {
                const T u = x1[r], v = x2[r];
                x1[r] = d1 * u + up * v;
                x2[r] = off * u + d2 * v;
            }
        }
    }
}

template <class T>
__global__ void take_kernel(int n, int nrhs, const int32_t *perm, const double *scale, const T *b,
                            int64_t ldb, T *y) {
    typedef typename scalar_of<T>::real R;
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    const int64_t from = perm ? perm[k] : k;
    for (int r = 0; r < nrhs; ++r)
        y[k * nrhs + r] = perm ? b[from + r * ldb] * (R)scale[k] : b[from + r * ldb];
}

template <class T>
__global__ void give_kernel(int n, int nrhs, const int32_t *perm, const double *scale, const T *y,
                            T *x, int64_t ldx) {
    typedef typename scalar_of<T>::real R;
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    const int64_t to = perm ? perm[k] : k;
    for (int r = 0; r < nrhs; ++r)
        x[to + r * ldx] = perm ? y[k * nrhs + r] * (R)scale[k] : y[k * nrhs + r];
}

} // namespace mpki
#endif
