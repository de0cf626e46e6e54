/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_CHILDREN_CUH
#define MPKI_CUDA_DIRECT_CHILDREN_CUH
/** What goes into a front of a task: entries of A, then what its children give, for whom a block
 *  waits. */
#include "front.cuh"

namespace mpki {

/** All threads: entries of A, in an empty front. */
template <class T, class F>
__device__ void add_entries(const mpki_cuda_tree &t, const F &f, const mpki_cuda_node &node,
                            int late) {
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x;
    f.clear();
    __syncthreads();
    for (int64_t e = node.scatter + tid; e < node.scatter_end; e += nt) {
        const entry_of_a<T> a(t, node, e);
        f.at(a.row < node.own ? a.row : a.row + late, a.col) = a.value;
    }
}

static const int CHILDREN = 24; /* described together */

/** What is known of some children, in shared memory. */
struct children_of_task {
    int64_t rel[CHILDREN], contribution[CHILDREN];
    int32_t rows[CHILDREN], columns[CHILDREN], gone[CHILDREN];
};

__device__ inline children_of_task &children_here() {
    __shared__ children_of_task some;
    return some;
}

/** All threads: what the plan says of `left` children, from list entry `child` on. Returns of how many. */
__device__ inline int describe_children(const mpki_cuda_tree &t, int child, int left, bool up) {
    children_of_task &some = children_here();
    const int count = left < CHILDREN ? left : CHILDREN;
    for (int k = (int)threadIdx.x; k < count; k += (int)blockDim.x) {
        const mpki_cuda_node &c = t.node[t.child[child + k]];
        some.rel[k] = c.rel, some.contribution[k] = c.contribution;
        some.rows[k] = c.rows, some.columns[k] = up ? c.up : c.rows;
    }
    return count;
}

/** The word of another block. */
__device__ inline int seen(const int32_t *flag) {
#ifdef __CUDA_ARCH__
    int x;
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(flag) : "memory");
    return x;
#else
    return *(const volatile int32_t *)flag;
#endif
}

/** All threads: wait until the children of a front are done. Those from `first` on are this block's.
 *  up: of their contributions only the front's own columns are asked for. late [out] the columns that
 *  they leave; gone: NULL, or those of the first CHILDREN. False: one of them could not be done. */
__device__ inline bool wait_for_fronts(const mpki_cuda_tree &t, const mpki_cuda_node &node,
                                       int first, bool up, int *late, int32_t *gone) {
    __shared__ int left, bad;
    if (threadIdx.x == 0) left = bad = 0;
    __syncthreads();
    for (int k = (int)threadIdx.x; k < node.children; k += (int)blockDim.x) {
        const int c = t.child[node.child + k];
        const mpki_cuda_now *now = t.now + c;
        int done = 1;
        if (c < first) {
            const int parts = up ? t.node[c].parts_up : t.node[c].parts;
            const int32_t *const there = up ? &now->parts_up : &now->parts;
            while ((done = seen(&now->done)) == 0) __nanosleep(20);
            while (done > 0 && seen(there) < parts) __nanosleep(20);
        }
        const int lost = done < 0 ? 0 : now->w - now->nelim;
        if (done < 0) atomicMax(&bad, 1);
        if (lost > 0) atomicAdd(&left, lost);
        if (gone && k < CHILDREN) gone[k] = lost;
    }
    __syncthreads();
    *late = left;
    const bool good = bad == 0;
    __syncthreads();
    return good;
}

/** All threads: columns that a child left, as own + offset and on. row: where its other rows go. */
template <bool H, class T, class F>
__device__ void add_delayed(const mpki_cuda_tree &t, const F &f, int child, int own, int offset,
                            int32_t *id, const int32_t *row) {
    const mpki_cuda_now now = t.now[child];
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32, m = t.node[child].rows, gone = now.w - now.nelim;
    const panel<T> g(now.a, now.w, now.ld);
    for (int k = warp; k < gone; k += warps) {
        const int at = own + offset + k, s = now.nelim + k;
        if (lane == 0) id[at] = g.id[s];
        for (int i = s + lane; i < now.w; i += 32) {
            T &x = f.at(own + offset + i - now.nelim, at);
            x = x + g.at(i, s);
        }
        for (int i = lane; i < m; i += 32) {
            const T y = g.at(now.w + i, s);
            if (row[i] < own) {
                T &x = f.at(at, row[i]);
                x = x + cj<H>(y);
            } else {
                T &x = f.at(row[i], at);
                x = x + y;
            }
        }
    }
}

/** A warp: columns j0 and j1 of a contribution of m rows; j1 = j0: that alone. Reads 128 rows of both, and where
 *  they go, before it writes the first. row(i): where row i goes. */
template <class T, class F, class ROW>
__device__ void add_columns(const F &f, const T *C, int m, int j0, int j1, const ROW &row) {
    const int COLUMNS = 2, ROWS = sizeof(T) > 8 ? 2 : 4;
    const int lane = (int)threadIdx.x & 31;
    const T *from[COLUMNS] = {contribution_column(C, m, j0), contribution_column(C, m, j1)};
    T *const to[COLUMNS] = {f.column(row(j0)), f.column(row(j1))};
    for (int i0 = (j0 & ~31) + lane; i0 < m; i0 += 32 * ROWS) {
        T v[COLUMNS][ROWS], x[COLUMNS][ROWS];
        int at[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int i = i0 + 32 * r < m ? i0 + 32 * r : m - 1;
            at[r] = row(i);
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q)
                v[q][r] = (q ? j1 : j0) <= i ? from[q][i] : make<T>(0);
        }
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q)
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                x[q][r] = (q ? j1 : j0) <= i0 + 32 * r ? to[q][at[r]] : make<T>(0);
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = i0 + 32 * r;
                if ((q == 0 || j1 > j0) && (q ? j1 : j0) <= i && i < m)
                    to[q][at[r]] = x[q][r] + v[q][r];
            }
    }
}

/** All threads: the first `columns` columns of a contribution of m rows. */
template <class T, class F>
__device__ void add_contribution(const F &f, const T *C, int m, int columns, const int32_t *row) {
    const int warp = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32;
    for (int j0 = warp; j0 < columns; j0 += 2 * warps)
        add_columns<T>(f, C, m, j0, j0 + warps < columns ? j0 + warps : j0,
                       [&](int i) { return row[i]; });
}

/** All threads: children first .. last - 1, none of which left columns. A warp has the columns of the front that
 *  are its own in all of them, so that warps need not meet between children. */
template <class T, class F>
__device__ void add_by_columns(const mpki_cuda_tree &t, const F &f, const children_of_task &some,
                               int first, int last, int own, int late) {
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32;
    int ahead = lane < some.columns[first] ? t.rel[some.rel[first] + lane] : -1;
    for (int k = first; k < last; ++k) {
        const int m = some.rows[k], columns = some.columns[k];
        const int32_t *const rel = t.rel + some.rel[k];
        const T *const C = (const T *)t.contribution + some.contribution[k];
        int now = ahead;
        if (k + 1 < last) ahead = lane < some.columns[k + 1] ? t.rel[some.rel[k + 1] + lane] : -1;
        for (int j = 0; j < columns; j += 32) {
            if (j > 0) now = j + lane < columns ? rel[j + lane] : -1;
            unsigned mine = __ballot_sync(0xffffffffu, now >= 0 && now % warps == warp);
            while (mine) {
                const int j0 = j + __ffs((int)mine) - 1;
                mine &= mine - 1;
                const int j1 = mine ? j + __ffs((int)mine) - 1 : j0;
                mine &= mine - 1; /* of 0: 0 */
                add_columns<T>(f, C, m, j0, j1, [&](int i) {
                    const int r = rel[i];
                    return r < own ? r : r + late;
                });
                __syncwarp();
            }
        }
    }
}

static const int TOGETHER = 8, TOGETHER_ROWS = 128; /* children; rows of such a front, below 255 */

/** All threads: several children of a small front at once, none of which left columns: each entry is
 *  one thread's, which adds what they give in their order. map: 8 bytes for each row of the front. */
template <class T, class F>
__device__ void add_together(const mpki_cuda_tree &t, const F &f, const children_of_task &some,
                             int first, int count, int own, int late, unsigned char *map) {
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, n = f.n;
    for (int k = tid; k < TOGETHER * n; k += nt) map[k] = 0;
    __syncthreads();
    for (int s = tid; s < count * n; s += nt) {
        const int k = first + s / n, i = s % n;
        if (i >= some.rows[k]) continue;
        const int r = t.rel[some.rel[k] + i];
        map[s / n * n + (r < own ? r : r + late)] = (unsigned char)(1 + i);
    }
    __syncthreads();
    const int entries = f.columns * n - f.columns * (f.columns - 1) / 2;
    for (int e = tid; e < entries; e += nt) {
        /* column j begins at j n - j (j - 1) / 2 */
        const float all = (float)(2 * n + 1);
        int j = (int)((all - sqrtf(all * all - 8.0f * (float)e)) / 2);
        while (j > 0 && j * n - j * (j - 1) / 2 > e) --j;
        while ((j + 1) * n - (j + 1) * j / 2 <= e) ++j;
        const int i = e - (j * n - j * (j - 1) / 2) + j;
        T v[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) {
            const int r = map[k * n + i], c = map[k * n + j], at = first + k;
            v[k] = r && c && k < count
                       ? contribution_column((const T *)t.contribution + some.contribution[at],
                                             some.rows[at], c - 1)[r - 1]
                       : make<T>(0);
        }
        T x = f.at(i, j);
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) x = x + v[k];
        f.at(i, j) = x;
    }
    __syncthreads();
}

/** All threads: what the children give to the columns of a front, in their order: `children` of them, from list
 *  entry `child` on, of which the first CHILDREN are described. */
template <bool H, class T, class F>
MPKI_APART __device__ void add_children(const mpki_cuda_tree &t, F front, int child, int children,
                                        int own, int late, int32_t *id) {
    MPKI_ROOM;
    const task_room<T> m(room, front.n, front.w, front.columns, !F::PACKED);
    const F f = front.here(m.F);
    children_of_task &some = children_here();
    int32_t *const row = m.row; /* where a child's rows go */
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x;
    int offset = 0;
    for (int base = 0; base < children; base += CHILDREN) {
        int count = children < CHILDREN ? children : CHILDREN;
        if (base > 0) {
            count = describe_children(t, child + base, children - base, f.columns < f.n);
            for (int k = tid; k < count; k += nt) {
                const mpki_cuda_now &now = t.now[t.child[child + base + k]];
                some.gone[k] = now.w - now.nelim;
            }
            __syncthreads();
        }
        if (children >= TOGETHER && f.n <= TOGETHER_ROWS) {
            bool left = false;
            for (int k = 0; k < count; ++k) left = left || some.gone[k] > 0;
            for (int k = 0; k < count && !left; k += TOGETHER)
                add_together<T>(t, f, some, k, count - k < TOGETHER ? count - k : TOGETHER, own,
                                late, (unsigned char *)row);
            if (!left) continue;
        }
        for (int k = 0, next; k < count; k = next) {
            for (next = k; next < count && some.gone[next] == 0;) ++next;
            if (next > k) {
                add_by_columns<T>(t, f, some, k, next, own, late);
            } else {
                for (int i = tid; i < some.rows[k]; i += nt) {
                    const int r = t.rel[some.rel[k] + i];
                    row[i] = r < own ? r : r + late;
                }
                __syncthreads();
                add_contribution(f, (const T *)t.contribution + some.contribution[k], some.rows[k],
                                 some.columns[k], row);
                __syncthreads();
                add_delayed<H, T>(t, f, t.child[child + base + k], own, offset, id, row);
                offset += some.gone[k];
                next = k + 1;
            }
            __syncthreads();
        }
    }
}

} // namespace mpki
#endif
