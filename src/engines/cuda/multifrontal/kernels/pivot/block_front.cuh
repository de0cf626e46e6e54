/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_BLOCK_FRONT_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_BLOCK_FRONT_CUH
/** Fronts of 33 to 64 rows whose pivots all stand in the order of the diagonal's sizes: a block has
 *  both triangles in shared memory and takes each column from all others at once, so that a column
 *  costs one barrier, and a front no more than its columns. Where a pivot fails, or a child has
 *  delayed columns, the front is left to task_front(), as if nothing had been done. */
#include "warp_front.cuh"

namespace mpki {

static const int BLOCK_ROWS = MPKI_BLOCK_FRONT_ROWS;
enum { BLOCK_COLUMNS = 8 /* of a warp at once */ };

/** A front with both triangles in shared memory; until it is assembled, the lower one. */
template <class T> struct square_front {
    static const bool PACKED = true;
    T *f;
    int n, columns, w, ld;
    __device__ square_front here(T *) const { return *this; }
    __device__ T *delayed_column(int j) const { return column(j); }
    __device__ T *column(int j) const { return f + j * ld; }
    __device__ T &at(int i, int j) const { return f[i + j * ld]; }
    __device__ void clear() const {
        for (int k = (int)threadIdx.x; k < n * ld; k += (int)blockDim.x) f[k] = make<T>(0);
    }
};

/** Is front `node` one of these? */
template <class T> __device__ inline bool is_block_front(const mpki_cuda_node &node) {
    const int n = node.own + node.rows;
    return sizeof(T) <= 8 && node.own > 0 && n > WARP_ROWS && n <= BLOCK_ROWS && node.parts == 0;
}

/** A block: eliminates the w columns of front f, of which both triangles are there, in the order
 *  `order`; size: keys of the diagonal before. The entry of L in row i of the pivot in column r goes
 *  to f(r, i). out: D and D^-1 are written. Returns false where a pivot fails. Barriers: it meets
 *  the block, also before it returns. */
template <bool H, class T>
__device__ inline bool block_columns(const square_front<T> &f, const panel<T> &out,
                                     const pivot_rules<typename scalar_of<T>::real> &rules,
                                     const int32_t *order, const unsigned *size) {
    typedef typename scalar_of<T>::real R;
    __shared__ int failed[2]; /* by turns */
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid / 32;
    const int warps = (int)blockDim.x / 32, n = f.n, w = f.w;
    const R limit = 1 / rules.u, most = limit < (R)QUICK_MOST ? limit : (R)QUICK_MOST;
    const quick_limits<R> limits(rules.least(), most);
    const int row[2] = {lane, lane + 32};
    const unsigned large[2] = {key(row[0] < w ? most : limit), key(row[1] < w ? most : limit)};
    bool there[2] = {true, row[1] < n}; /* the row is none of a pivot yet */
    if (tid < 2) failed[tid] = 0;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < w; ++k) {
        const int r = order[k];
        const T *const pivot = f.column(r);
        const T d = diagonal<H>(pivot[r]), dinv = quick_inverse(d);
        const unsigned was = size[r], is = key(d);
        const unsigned least = was > limits.pivot + limits.FALL ? was - limits.FALL : limits.pivot;
        T l[2];
        bool bad = is <= least || is >= limits.pivot_end;
#pragma unroll
        for (int g = 0; g < 2; ++g) {
            l[g] = there[g] ? pivot[row[g]] * dinv : make<T>(0);
            bad = bad || (there[g] && row[g] != r && key(l[g]) > large[g]);
        }
        if (bad) failed[k & 1] = 1;
#pragma unroll 1
        for (int c0 = BLOCK_COLUMNS * warp; c0 < n; c0 += BLOCK_COLUMNS * warps) {
            T u[BLOCK_COLUMNS], v[BLOCK_COLUMNS][2];
#pragma unroll
            for (int q = 0; q < BLOCK_COLUMNS; ++q) {
                const int c = c0 + q < n ? c0 + q : n - 1;
                u[q] = pivot[c];
#pragma unroll
                for (int g = 0; g < 2; ++g) v[q][g] = f.at(there[g] ? row[g] : 0, c);
            }
#pragma unroll
            for (int q = 0; q < BLOCK_COLUMNS; ++q) {
                const int c = c0 + q;
#pragma unroll
                for (int g = 0; g < 2; ++g) {
                    nfma(v[q][g], l[g], cj<H>(u[q]));
                    if (c < n && c != r && there[g])
                        f.at(row[g], c) = row[g] == r ? u[q] * dinv : v[q][g];
                }
            }
        }
        if (tid == 0) {
            out.d[2 * k] = d, out.dinv[2 * k] = dinv;
            out.d[2 * k + 1] = out.dinv[2 * k + 1] = make<T>(0);
        }
#pragma unroll
        for (int g = 0; g < 2; ++g) there[g] = there[g] && row[g] != r;
        __syncthreads();
        if (failed[k & 1]) return false;
    }
    return true;
}

/** A block: front s of a task whose first front is `first`, from its entries to its contribution.
 *  Returns false, and has written nothing that others read, where a column fails or a child has
 *  delayed some. Called by task_kernel(). Barriers: it meets the block, also before it returns. */
template <bool H, class T>
MPKI_APART __device__ bool block_front(const mpki_cuda_tree &t, int s, int first) {
    MPKI_SMEM;
    /* add_by_columns(), which blocks of one warp do not call, has its lists before the front */
    const int before = blockDim.x > 32 ? (LDS_ * TILE + 8 * TILE) * (int)sizeof(T) : 0;
    const mpki_cuda_node node = t.node[s];
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int warps = nt / 32, w = node.own, n = w + node.rows, ld = n | 1;
    const square_front<T> f = {(T *)(smem + before), n, n, w, ld};
    int32_t *const rows = (int32_t *)(f.f + n * ld), *const order = rows + 2 * n;
    int32_t *const place = order + w;
    unsigned *const size = (unsigned *)(place + w);
    int delayed = 0;
    MPKI_STAMP_BEGIN(s);
    add_entries<T>(t, f, node, 0);
    MPKI_STAMP(ENTRIES);
    if (node.children == 0)
        __syncthreads();
    else if (!wait_for_fronts(t, node, 0, node.children, first, false, &delayed) || delayed > 0)
        return false;
    MPKI_STAMP(WAIT);
    if (node.children > 0)
        add_children<H, T>(t, f, node, 0, node.children, 0, (int32_t *)NULL, rows);
    MPKI_STAMP(GATHER);
    for (int j = 1 + warp; j < n; j += warps)
        for (int i = lane; i < j; i += 32) f.at(i, j) = cj<H>(f.at(j, i));
    for (int k = tid; k < w; k += nt) size[k] = key(f.at(k, k));
    __syncthreads();
    for (int k = tid; k < w; k += nt) {
        int rank = 0;
#pragma unroll 8
        for (int j = 0; j < w; ++j) rank += size[j] > size[k] || (size[j] == size[k] && j < k);
        order[rank] = k, place[k] = rank;
    }
    __syncthreads();
    MPKI_STAMP(LOAD);
    const panel<T> out(t.arena + node.panel, w, leading(n));
    const bool good =
        block_columns<H>(f, out, pivot_rules<typename scalar_of<T>::real>(t), order, size);
    MPKI_STAMP(TILE);
    if (!good) return false;
    T *const C = (T *)t.contribution + node.contribution;
    for (int j = warp; j < node.rows; j += warps) {
        T *const to = contribution_column(C, node.rows, j);
        for (int i = j + lane; i < node.rows; i += 32) to[i] = f.at(w + i, w + j);
    }
    __syncthreads();
    if (tid == 0) task_done(t, s, t.arena + node.panel, w, w, leading(n));
    for (int k = tid; k < w; k += nt) out.id[k] = node.first + order[k];
    for (int k = warp; k < w; k += warps) {
        const int r = order[k];
        for (int i = lane; i < n; i += 32) {
            const int at = i < w ? place[i] : i;
            if (at > k) out.a[at + (int64_t)k * out.ld] = f.at(r, i);
        }
    }
    __syncthreads();
    MPKI_STAMP(OUT);
    return true;
}

} // namespace mpki
#endif
