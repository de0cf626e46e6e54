/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_ASSEMBLY_CUH
#define MPKI_CUDA_DIRECT_ASSEMBLY_CUH
/** Large fronts of a step: entries of A, what children contribute, and the columns that they have delayed. */
#include "large.cuh"

namespace mpki {

/** Where a value of a front goes that lies in a panel and a contribution. */
template <class T> struct split_front {
    panel<T> a;
    T *c;
    int m;
    __device__ T *column(int j) const {
        return j < a.w ? a.a + (int64_t)j * a.ld : contribution_column(c, m, j - a.w) - a.w;
    }
};

/** Columns [c0, c1) of a front: zeros, entries of A, contributions, delayed columns. */
template <bool H, class T>
__global__ void __launch_bounds__(256)
    assemble_kernel(mpki_cuda_tree t, mpki_cuda_large large, int level) {
    after_previous();
    int part;
    const mpki_cuda_front &f = large.front[front_of_block(large.assembly, large.count, &part)];
    const mpki_cuda_node &node = t.node[f.index];
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32;
    const int warps = (int)blockDim.x / 32, own = f.own, late = f.w - own, n = f.nrows;
    const int c0 = part * MPKI_FRONT_COLUMNS;
    const int c1 = c0 + MPKI_FRONT_COLUMNS < n ? c0 + MPKI_FRONT_COLUMNS : n;
    if (t.flags->stuck > level + 1) return;
    const split_front<T> to = {panel<T>(f.a, f.w, f.ld), (T *)f.c, node.rows};
    for (int j = c0 + warp; j < c1; j += warps) {
        T *x = to.column(j);
        for (int i = j + lane; i < n; i += 32) x[i] = make<T>(0);
        if (j < f.w && lane < 2) to.a.d[2 * j + lane] = to.a.dinv[2 * j + lane] = make<T>(0);
        if (j < own && lane == 0) to.a.id[j] = node.first + j;
    }
    __syncthreads();
    if (c0 < own) { /* entries lie by column */
        int64_t low = node.scatter, high = node.scatter_end;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (t.scatter[middle].col - node.shift < c0)
                low = middle + 1;
            else
                high = middle;
        }
        for (int64_t e = low + tid; e < node.scatter_end && t.scatter[e].col - node.shift < c1;
             e += (int)blockDim.x) {
            const entry_of_a<T> a(t, node, e);
            to.column(a.col)[a.row < own ? a.row : a.row + late] = a.value;
        }
        __syncthreads();
    }
    int offset = own;
    for (int k = 0; k < node.children; ++k) {
        const int index = t.child[node.child + k];
        const mpki_cuda_node &c = t.node[index];
        const mpki_cuda_now now = t.now[index];
        const int m = c.rows, gone = now.w - now.nelim;
        const int32_t *rel = t.rel + c.rel;
        const T *C = (const T *)t.contribution + c.contribution;
        /* its columns that fall into [c0, c1): rows below own keep their number, others shift */
        const int j0 = first_not_below(rel, m, c0 < own ? c0 : c0 - late < own ? own : c0 - late);
        const int j1 = first_not_below(rel, m, c1 <= own ? c1 : c1 - late < own ? own : c1 - late);
        for (int j = j0 + warp; j < j1; j += warps) {
            const T *from = contribution_column(C, m, j);
            T *x = to.column(rel[j] < own ? rel[j] : rel[j] + late);
            for (int i = j + lane; i < m; i += 32) {
                const int r = rel[i], at = r < own ? r : r + late;
                x[at] = x[at] + from[i];
            }
        }
        if (gone > 0) {
            const panel<T> g(now.a, now.w, now.ld);
            /* its delayed columns as rows of own columns */
            for (int j = warp; j < m; j += warps) {
                const int r = rel[j];
                if (r >= own || r < c0 || r >= c1) continue;
                T *x = to.column(r);
                for (int s = lane; s < gone; s += 32)
                    x[offset + s] = x[offset + s] + cj<H>(g.at(now.w + j, now.nelim + s));
            }
            for (int s = warp; s < gone; s += warps) {
                const int at = offset + s, source = now.nelim + s;
                if (at < c0 || at >= c1) continue;
                T *x = to.column(at);
                if (lane == 0) to.a.id[at] = g.id[source];
                for (int i = source + lane; i < now.w; i += 32) {
                    T &y = x[offset + i - now.nelim];
                    y = y + g.at(i, source);
                }
                for (int i = lane; i < m; i += 32)
                    if (rel[i] >= own) {
                        T &y = x[rel[i] + late];
                        y = y + g.at(now.w + i, source);
                    }
            }
            offset += gone;
        }
        __syncthreads();
    }
}

} // namespace mpki
#endif
