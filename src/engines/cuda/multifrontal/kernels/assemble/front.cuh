/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_ASSEMBLE_FRONT_CUH
#define MPKI_CUDA_MULTIFRONTAL_ASSEMBLE_FRONT_CUH
/** Where the front of a task lies while a thread block works on it: in shared memory
 *  (packed_front), or in global memory, where it will stay (outside_front). */
#include "../pivot/threshold.cuh"

namespace mpki {

/** A front in shared memory: the lower triangle of its first `columns` columns. */
template <class T> struct packed_front {
    static const bool PACKED = true;
    T *f;
    int n, columns, w;
    T *apart; /* columns from `columns` on, which were delayed, in the panel, */
    int ld;   /* and its leading dimension */
    /** A thread: the same front, whose entries begin at F. It is called in MPKI_APART functions, so
     *  that the compiler knows F to be shared memory. */
    __device__ packed_front here(T *F) const { return {F, n, columns, w, apart, ld}; }
    /** A thread: column j, which may be a delayed one that lies apart. */
    __device__ T *delayed_column(int j) const {
        return j < columns ? column(j) : apart + (int64_t)j * ld;
    }
    __device__ T *column(int j) const { return f + j * (2 * n - j - 1) / 2; }
    __device__ T &at(int i, int j) const { return column(j)[i]; }
    /** A thread: how far it is from an entry of column j to the entry of the next column in the
     *  same row. */
    __device__ int step(int j) const { return n - j - 1; }
    /** A block: sets the front to zero. Barriers: none; the caller meets the block. */
    __device__ void clear() const {
        const int entries = columns * (2 * n - columns + 1) / 2;
        for (int k = (int)threadIdx.x; k < entries; k += (int)blockDim.x) f[k] = make<T>(0);
    }
};

/** A thread: row *i and column *j of entry e of a lower trapezoid of n rows that is packed column
 *  by column. Barriers: none. */
__device__ inline void place_in_packed(int n, int e, int *i, int *j) {
    /* column c begins at c n - c (c - 1) / 2 */
    const float all = (float)(2 * n + 1);
    int c = (int)((all - sqrtf(all * all - 8.0f * (float)e)) / 2);
    while (c > 0 && c * n - c * (c - 1) / 2 > e) --c;
    while ((c + 1) * n - (c + 1) * c / 2 <= e) ++c;
    *j = c, *i = e - (c * n - c * (c - 1) / 2) + c;
}

/** A front that has grown beyond shared memory: its w columns lie in the panel f, the others, up to
 *  `columns`, in the contribution c. */
template <class T> struct outside_front {
    static const bool PACKED = false;
    T *f, *c;
    int n, columns, ld, w;
    __device__ outside_front here(T *) const { return *this; }
    __device__ T *delayed_column(int j) const { return column(j); }
    __device__ T *column(int j) const {
        return j < w ? f + (int64_t)j * ld : contribution_column(c, n - w, j - w) - w;
    }
    __device__ T &at(int i, int j) const { return column(j)[i]; }
    /** A thread: how far it is from an entry of a column in the panel to that of the next one. */
    __device__ int step(int) const { return ld; }
    __device__ void clear() const {
        const int lane = (int)threadIdx.x & 31, warps = (int)blockDim.x / 32;
        for (int j = (int)threadIdx.x / 32; j < columns; j += warps) {
            T *to = column(j);
            for (int i = j + lane; i < n; i += 32) to[i] = make<T>(0);
        }
    }
};

/** Shared memory of a task's front: the tile S, its work space, D and D^-1 of the tile, X of the
 *  rows below it, and the packed front F. Made by a thread, with the arguments of bytes(). */
template <class T> struct task_smem {
    T *S, *work, *d, *dinv, *X, *F;
    int32_t *perm, *row; /* row: where rows of two children go; each as many as the front has */
    int *word;
    search_space<typename scalar_of<T>::real> *space;
    int ldx; /* of X, which has rows of columns; 4 or 12 beyond a multiple of 16: a warp's 4 x 8
                entries lie in all banks */
    /** The leading dimension of X for a front of n rows. */
    static __host__ __device__ int leading_of(int n) { return (n + 3) / 8 * 8 + 4; }
    /** Entries of the lower trapezoid of n rows and so many columns. */
    static __host__ __device__ int64_t entries(int n, int columns) {
        return (int64_t)columns * (2 * (int64_t)n - columns + 1) / 2;
    }
    /** Bytes of the shared memory of a front of n rows and w columns that may be eliminated, of
     *  which `columns` are held; outside: the front itself lies in global memory. */
    static __host__ __device__ int64_t bytes(int n, int w, int columns, bool outside = false) {
        const int64_t b = w < TILE ? w : TILE;
        return ((int64_t)LDS_ * TILE + 8 * TILE + b * leading_of(columns) +
                (outside ? 0 : entries(n, columns))) *
                   (int64_t)sizeof(T) +
               (TILE + 16 + 2 * (int64_t)n) * 4 + (int64_t)sizeof *((task_smem *)0)->space + 64;
    }
    __device__ task_smem(char *smem, int n, int w, int columns, bool outside = false)
        : ldx(leading_of(columns)) {
        const int b = w < TILE ? w : TILE;
        S = (T *)smem;
        work = S + LDS_ * TILE;
        d = work + 4 * TILE;
        dinv = d + 2 * TILE;
        X = dinv + 2 * TILE;
        F = X + b * ldx;
        space =
            (search_space<typename scalar_of<T>::real> *)(F + (outside ? 0 : entries(n, columns)));
        perm = (int32_t *)(space + 1);
        word = perm + TILE;
        row = word + 16;
    }
};

/** A block: spreads the packed front of n rows and `columns` columns at `from` to the larger one
 *  `to`, in the same shared memory, so that `delayed` rows and columns of zeros follow its `own`
 *  ones. Entries move up alone, so the last ones go first, as many at once as the threads hold.
 *  Called by task_front(). Barriers: it meets the block, also before it returns. */
template <class T>
MPKI_APART __device__ void front_spread(packed_front<T> to, T *from, int n, int columns, int own,
                                        int delayed) {
    MPKI_SMEM;
    const int AT_ONCE = 4;
    const task_smem<T> m(smem, to.n, to.w, to.columns);
    const packed_front<T> f = to.here(m.F);
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warps = nt / 32;
    const int entries = columns * (2 * n - columns + 1) / 2;
    for (int end = entries; end > 0; end -= AT_ONCE * nt) {
        T x[AT_ONCE];
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q) {
            const int e = end - 1 - q * nt - tid;
            x[q] = e >= 0 ? from[e] : make<T>(0);
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q) {
            const int e = end - 1 - q * nt - tid;
            if (e < 0) continue;
            int i, j;
            place_in_packed(n, e, &i, &j);
            f.at(i < own ? i : i + delayed, j < own ? j : j + delayed) = x[q];
        }
        __syncthreads();
    }
    for (int j = tid / 32; j < f.columns && j < own + delayed; j += warps)
        for (int i = (j < own ? own : j) + lane; i < (j < own ? own + delayed : f.n); i += 32)
            f.at(i, j) = make<T>(0);
    __syncthreads();
}

} // namespace mpki
#endif
