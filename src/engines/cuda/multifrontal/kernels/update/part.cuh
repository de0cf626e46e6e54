/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_UPDATE_PART_CUH
#define MPKI_CUDA_MULTIFRONTAL_UPDATE_PART_CUH
/** Contributions of fronts whose columns one block eliminates (pivot/small_front.cuh): squares of
 *  64 x 64, a part each, by blocks of their own. A part adds up the children's contributions while
 *  the columns are at work, then takes L D L^H away. And the kernel that goes over all tasks. */
#include "engines/cuda/module/launch.cuh"
#include "../pivot/small_front.cuh"
#include "../pivot/warp_front.cuh"

namespace mpki {

static const int PART = MPKI_FRONT_CONTRIBUTION, PART_DEPTH = 32, PART_LD = PART + 4;

/** Shared memory of a part: L of its rows; L D of its columns, later the product. */
template <class T> struct part_smem {
    T *L, *X;
    /** Bytes of the shared memory of a part. */
    static __host__ __device__ int64_t bytes() {
        return ((int64_t)PART_LD * PART_DEPTH + PART_LD * PART) * (int64_t)sizeof(T);
    }
    __device__ part_smem(char *smem) {
        L = (T *)smem;
        X = L + PART_LD * PART_DEPTH;
    }
};

/** A block: sum[e] -= L X^H on the square, `depth` pivots. sum [inout] a thread's entries: row
 *  threadIdx.x % PART, every so many columns. Called by task_part(). Barriers: none; the caller
 *  meets the block before and after. */
template <bool H, int E, class T>
__device__ void part_product(const part_smem<T> &m, int depth, T (&sum)[E]) {
    const int row = (int)threadIdx.x % PART, step = (int)blockDim.x / PART;
    for (int k = 0; k < depth; ++k) {
        const T l = m.L[row + k * PART_LD];
#pragma unroll
        for (int e = 0; e < E; ++e)
            nfma(sum[e], l, cj<H>(m.X[(int)threadIdx.x / PART + e * step + k * PART_LD]));
    }
}

/** A block: part_product() of real doubles by tensor cores: 16 warps of 16 x 16 entries, whose
 *  results go through shared memory to the threads of `sum`. Barriers: it meets the block. */
template <bool H, int E>
__device__ void part_product(const part_smem<double> &m, int depth, double (&sum)[E]) {
    const int lane = (int)threadIdx.x & 31, g = lane / 4, t = lane % 4;
    const int row = (int)threadIdx.x % PART, step = (int)blockDim.x / PART;
    const int warps = (int)blockDim.x / 32;
    double c[2][4];
    for (int piece = (int)threadIdx.x / 32; piece < 16; piece += warps) {
        const int wi = piece % 4 * 16, wj = piece / 4 * 16;
#pragma unroll
        for (int y = 0; y < 2; ++y)
#pragma unroll
            for (int z = 0; z < 4; ++z) c[y][z] = 0;
        for (int k0 = 0; k0 < depth; k0 += 16) {
            double a[8], b[2][4];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const double *l = m.L + (k0 + t + 4 * q) * PART_LD + wi + g;
                const double *x = m.X + (k0 + t + 4 * q) * PART_LD + wj + g;
                a[2 * q] = l[0], a[2 * q + 1] = l[8];
                b[0][q] = x[0], b[1][q] = x[8];
            }
            mma16(c[0], a, b[0]);
            mma16(c[1], a, b[1]);
        }
    }
    __syncthreads();
    {
        const int piece = (int)threadIdx.x / 32, wi = piece % 4 * 16, wj = piece / 4 * 16;
#pragma unroll
        for (int y = 0; y < 2; ++y)
#pragma unroll
            for (int z = 0; z < 4; ++z)
                m.X[wi + g + z / 2 * 8 + (wj + 8 * y + 2 * t + z % 2) * PART_LD] = c[y][z];
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < E; ++e) sum[e] -= m.X[row + ((int)threadIdx.x / PART + e * step) * PART_LD];
}

static const int PART_CHILDREN = 8; /* whose rows are looked for together */

/** Where rows and columns of a square are in some children; PART_NONE: nowhere. It lies in the
 *  place of L. */
struct part_maps {
    uint16_t row[PART_CHILDREN][PART], col[PART_CHILDREN][PART];
};
static const int PART_NONE = 0xffff;

/** A block: waits for children number first .. first + count - 1 of front s, and finds where rows
 *  i0 .. and columns j0 .. of the square are in them. Returns false if one of them could not be
 *  done. Called by part_gather(). Barriers: it meets the block, also before it returns true. */
__device__ inline bool part_children(const mpki_cuda_tree &t, const mpki_cuda_node &node, int s,
                                     int first, int count, int i0, int j0, part_maps &at) {
    __shared__ int bad;
    children_of_task &some = described();
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warps = nt / 32;
    if (tid == 0) bad = 0;
    __syncthreads();
    if (tid < count) {
        const int c = t.child[node.child + first + tid];
        const mpki_cuda_front_state *state = t.state + c;
        const int parts = t.node[c].parts;
        int done = MPKI_CUDA_DONE;
        if (c < s) {
            while ((done = load_acquire(&state->done)) == MPKI_CUDA_WAITING) __nanosleep(20);
            while (done > MPKI_CUDA_WAITING && load_acquire(&state->parts) < parts) __nanosleep(20);
        }
        if (done < MPKI_CUDA_WAITING) atomicMax(&bad, 1);
        some.rel[tid] = t.node[c].rel, some.contribution[tid] = t.node[c].contribution;
        some.rows[tid] = t.node[c].rows, some.columns[tid] = some.gone[tid] = 0;
    }
    for (int k = tid; k < (int)(sizeof at / sizeof(int)); k += nt) ((int *)&at)[k] = -1;
    __syncthreads();
    if (bad) return false;
    const int li = node.own + i0, lj = node.own + j0, share = warps / PART_CHILDREN;
    const int k = tid / 32 % PART_CHILDREN, of_child = tid / 32 / PART_CHILDREN;
    if (k < count) {
        const int32_t *rel = t.rel + some.rel[k];
        const int rows = some.rows[k];
#pragma unroll 4
        for (int i = of_child * 32 + lane; i < rows; i += 32 * share) {
            const int r = rel[i];
            if (r >= li && r < li + PART) at.row[k][r - li] = (uint16_t)i, some.columns[k] = 1;
            if (r >= lj && r < lj + PART) at.col[k][r - lj] = (uint16_t)i, some.gone[k] = 1;
        }
    }
    __syncthreads();
    return true;
}

/** A block: sum[e] += the children's contributions to the square at (i0, j0), in their order.
 *  Returns false if one of them could not be done. Called by task_part(). Barriers: it meets the
 *  block. */
template <int E, class T>
__device__ bool part_gather(const mpki_cuda_tree &t, const part_smem<T> &m,
                            const mpki_cuda_node &node, int s, int i0, int j0, T (&sum)[E]) {
    static_assert(sizeof(part_maps) <= sizeof(T) * PART_LD * PART_DEPTH, "it has L's place");
    const int tid = (int)threadIdx.x, row = tid % PART, col = tid / PART;
    const int step = (int)blockDim.x / PART;
    const children_of_task &some = described();
    part_maps &at = *(part_maps *)m.L;
    for (int first = 0; first < node.children; first += PART_CHILDREN) {
        const int left = node.children - first, count = left < PART_CHILDREN ? left : PART_CHILDREN;
        if (!part_children(t, node, s, first, count, i0, j0, at)) return false;
        for (int k = 0; k < count; ++k) {
            if (!some.columns[k] || !some.gone[k]) continue; /* it has nothing here */
            const T *C = (const T *)t.contribution + some.contribution[k];
            const int i = at.row[k][row], rows = some.rows[k];
            T v[E];
#pragma unroll
            for (int e = 0; e < E; ++e) {
                const int j = at.col[k][col + e * step]; /* PART_NONE is beyond all rows */
                v[e] = i != PART_NONE && i >= j ? contribution_column(C, rows, j)[i] : make<T>(0);
            }
#pragma unroll
            for (int e = 0; e < E; ++e) sum[e] = sum[e] + v[e];
        }
        __syncthreads();
    }
    return true;
}

/** A block of THREADS threads: m.L := L of rows i0 .., m.X := L D of rows j0 .. below the columns
 *  of panel a, n rows, for pivots k0 .. k0 + PART_DEPTH - 1 of e. What a thread reads, but for
 *  pairs, is under way at once. Called by task_part(). Barriers: none; the caller meets the block
 *  before and after. */
template <bool H, int THREADS, class T>
__device__ void part_load(const part_smem<T> &m, const panel<T> &a, int n, int i0, int j0, int k0,
                          int e) {
    const int STEP = THREADS / PART, AT_ONCE = 4;
    static_assert(AT_ONCE * STEP <= PART_DEPTH, "what is read at once fits");
    const int r = (int)threadIdx.x % PART, i = a.w + i0 + r, j = a.w + j0 + r;
    for (int s = (int)threadIdx.x / PART; s < PART_DEPTH; s += AT_ONCE * STEP) {
        T l[AT_ONCE], x[AT_ONCE], d[AT_ONCE], after[AT_ONCE], before[AT_ONCE];
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q) {
            const int k = k0 + s + q * STEP;
            const T zero = make<T>(0);
            l[q] = k < e && i < n ? a.at(i, k) : zero, x[q] = k < e && j < n ? a.at(j, k) : zero;
            d[q] = k < e ? a.d[2 * k] : zero;
            after[q] = k + 1 < e ? a.d[2 * k + 1] : zero;
            before[q] = k > 0 && k < e ? a.d[2 * k - 1] : zero;
        }
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q) {
            const int k = k0 + s + q * STEP, to = r + (s + q * STEP) * PART_LD;
            T y = x[q] * d[q];
            if (j < n && !is_zero(after[q])) pfma(y, a.at(j, k + 1), after[q]);
            if (j < n && !is_zero(before[q])) pfma(y, a.at(j, k - 1), cj<H>(before[q]));
            m.L[to] = l[q], m.X[to] = y;
        }
    }
}

/** A block of THREADS threads: part number `part` of the contribution of front s: the children's
 *  contributions less L D L^H. It waits for the children, then for the columns of s. Nothing is
 *  done if it was done before a stop, or if the front or a child could not be done. Called by
 *  task_kernel(). Barriers: it meets the block. */
template <bool H, int THREADS, class T>
MPKI_APART __device__ void task_part(const mpki_cuda_tree &t, int s, int part) {
    MPKI_SMEM;
    const int E = PART * PART / THREADS;
    const mpki_cuda_node node = t.node[s];
    const part_smem<T> m(smem);
    const int tid = (int)threadIdx.x, rows = node.rows, all = (rows + PART - 1) / PART;
    int J = 0, before = 0;
    while (part >= before + all - J) before += all - J, ++J;
    const int i0 = (J + part - before) * PART, j0 = J * PART;
    T sum[E];
#pragma unroll
    for (int e = 0; e < E; ++e) sum[e] = make<T>(0);
    __shared__ int done;
    if (tid == 0) done = load_acquire(&t.state[s].parts) >= node.parts; /* before a stop */
    __syncthreads();
    const bool there = done > 0;
    __syncthreads(); /* `done` is used again */
    if (there) return;
    if (!part_gather(t, m, node, s, i0, j0, sum)) return;
    if (tid == 0)
        while ((done = load_acquire(&t.state[s].done)) == MPKI_CUDA_WAITING) __nanosleep(20);
    __syncthreads();
    if (done < MPKI_CUDA_WAITING) return;
    const panel<T> a(t.state[s].a, t.state[s].w, t.state[s].ld);
    const int e = t.state[s].nelim;
    for (int k0 = 0; k0 < e; k0 += PART_DEPTH) {
        __syncthreads();
        part_load<H, THREADS>(m, a, a.w + rows, i0, j0, k0, e);
        __syncthreads();
        part_product<H>(m, e - k0 < PART_DEPTH ? e - k0 : PART_DEPTH, sum);
    }
    T *C = (T *)t.contribution + node.contribution;
    const int i = i0 + tid % PART;
#pragma unroll
    for (int k = 0; k < E; ++k) {
        const int j = j0 + tid / PART + k * (THREADS / PART);
        if (i < rows && i >= j) contribution_column(C, rows, j)[i] = sum[k];
    }
    __syncthreads();
    if (tid == 0) {
        __threadfence();
        if (part < node.parts_up) atomicAdd(&t.state[s].parts_up, 1);
        atomicAdd(&t.state[s].parts, 1);
        MPKI_STAMP_PART(s);
    }
}

/** Blocks of so many threads that a multiprocessor holds, as far as registers are concerned. */
template <class T> constexpr int side_by_side(int threads) {
    constexpr int blocks[MPKI_CUDA_CLASSES] = MPKI_CLASS_BLOCKS;
    return sizeof(T) > 8 ? 1
                         : blocks[threads == 32    ? 0
                                  : threads == 128 ? 1
                                  : threads == 256 ? 2
                                                   : 3];
}

/** Blocks of THREADS threads take `count` tasks in their order, by a ticket: fronts of a task, or a
 *  part of a contribution, which blocks of the largest class alone do (PARTS). level: of the step;
 *  after a stop below it no task is taken. A front that could not be done is marked as stopped. The
 *  kernels of a step's classes run side by side: each one's blocks have begun before those of the
 *  next class come, which wait for them; and its first block ends after the kernel before it has.
 *  Barriers: it meets the block. */
template <bool H, int THREADS, bool PARTS, class T>
__global__ void __launch_bounds__(THREADS, side_by_side<T>(THREADS))
    task_kernel(const __grid_constant__ mpki_cuda_tree t, const mpki_cuda_task *task, int count,
                int level, int64_t smem_bytes, int32_t *ticket) {
    MPKI_SMEM;
    __shared__ int number;
    __shared__ bool did[2]; /* by turns: has the first warp done the front? */
    next_may_come();
    for (;;) {
        if (threadIdx.x == 0) number = t.flags->stuck > level + 1 ? count : atomicAdd(ticket, 1);
        __syncthreads();
        const int mine = number;
        if (mine >= count) break;
        const mpki_cuda_task me = task[mine];
        if (PARTS && me.part >= 0) {
            task_part<H, THREADS, T>(t, me.first, me.part);
            __syncthreads();
            continue;
        }
        bool goes = true;
        for (int s = me.first; s <= me.last; ++s) {
            /* after a stop it goes on, by blocks of the largest class */
            if (PARTS && t.state[s].done == MPKI_CUDA_DONE) continue;
            if constexpr (sizeof(T) <= 8) {
                const int way = t.way[s];
                if (goes && is_warp_front<T>(t.node[s]) && way < MPKI_CUDA_BY_BLOCK) {
                    if (threadIdx.x < 32) {
                        const bool good = warp_front<H, T>(t, s, me.first, way);
                        if (threadIdx.x == 0) did[s & 1] = good;
                    }
                    __syncthreads();
                    if (did[s & 1]) continue;
                    if (threadIdx.x == 0) t.way[s] = MPKI_CUDA_BY_BLOCK;
                }
            }
            goes = goes && task_front<H, PARTS, T>(t, smem, smem_bytes, s, me.first,
                                                   me.part == MPKI_CUDA_PANEL, level);
            if (!goes && threadIdx.x == 0)
                *(volatile int32_t *)&t.state[s].done = MPKI_CUDA_STOPPED;
        }
        __syncthreads();
    }
    if (blockIdx.x == 0) wait_for_previous();
}

} // namespace mpki
#endif
