/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_GATHER_CUH
#define MPKI_CUDA_BLOCK_FACTOR_GATHER_CUH
/** Updates pulled into a work block in shared memory by a warp: C -= L_ik (D_k L_jk^T) for each
 *  frame k in the lists of both i and j before j, in the order of places. No list of updates: the
 *  lists of rows i and j, which are sorted by place, are intersected 32 entries at a time. */
#include "packed.cuh"

namespace mpki {

/** Leading dimension of work blocks in shared memory: odd, so that columns are read without
 *  conflicts. By each thread for itself; no barrier. */
__host__ __device__ inline int work_ld(int largest) {
    return largest | 1;
}
/** Leading dimension of left operands by columns: rows of 16 bytes' multiples that fill groups
 *  of 8. By each thread for itself; no barrier. */
__host__ __device__ inline int left_ld(int largest) {
    return (largest + 7) / 8 * 8 + 4;
}

/** What a warp has in shared memory for updates. */
template <class T> struct gather_memory {
    T *a, *c, *w; /* left operand by columns; the work block, and right operand, by rows, ld */
    unsigned *mask;
    int *start; /* of the nonempty rows of an operand: columns, first value; 32 of each */
    int ld, lda;

    /** Its size, for blocks of up to `largest` rows. By each thread for itself; no barrier. */
    static __host__ __device__ size_t bytes(int largest) {
        const size_t square = (size_t)largest * (size_t)work_ld(largest);
        return ((size_t)largest * (size_t)left_ld(largest) + 2 * square) * sizeof(T) / 16 * 16 +
               16 + 256;
    }
    /** The parts of `memory`. By each thread for itself; no barrier. */
    __device__ gather_memory(char *memory, int largest)
        : ld(work_ld(largest)), lda(left_ld(largest)) {
        mask = (unsigned *)memory, start = (int *)memory + 32;
        a = (T *)(memory + 256);
        c = a + largest * lda, w = c + largest * ld;
    }
};

/** The first words of a packed block, asked for before they are needed: its rows, and (lane l) what
 *  would be the mask of nonempty row l, if there are as many. A block is followed by as much
 *  memory. */
struct head {
    const uint32_t *words;
    unsigned rows, mask;
    /** Reads the first words of the packed block at `at`. By all lanes of a warp; no barrier. */
    __device__ void load(const uint32_t *at) {
        words = at;
        rows = at[0], mask = at[1 + (int)(threadIdx.x % 32)];
    }
};

/** The masks and starts of a packed block's nonempty rows, to shared memory; *entries: how many
 *  entries it has. Returns how many rows are not empty. By all lanes of a warp; ends with
 *  __syncwarp(). */
template <class T>
__device__ inline int read_head(const gather_memory<T> &s, const head &of, int *entries) {
    const int lane = (int)(threadIdx.x % 32), held = __popc(of.rows);
    const unsigned m = lane < held ? of.mask : 0;
    int sum = __popc(m);
#pragma unroll
    for (int h = 1; h < 32; h *= 2) {
        const int x = __shfl_up_sync(WARP, sum, (unsigned)h);
        if (lane >= h) sum += x;
    }
    s.mask[lane] = m, s.start[lane] = sum - __popc(m);
    *entries = __shfl_sync(WARP, sum, 31);
    __syncwarp();
    return held;
}

/** s.w (depth x cols) := D B^T (D B^H) of the packed block B, whose rows are columns of w. d: D,
 *  tridiagonal. By all lanes of a warp; ends with __syncwarp(). */
template <class T>
__device__ inline void right_operand(const gather_memory<T> &s, const head &of, int cols, int depth,
                                     const T *d, int hermitian) {
    const int lane = (int)(threadIdx.x % 32), AHEAD = rows_ahead<T>::value;
    T one = make<T>(0), next = make<T>(0), before = make<T>(0), two = make<T>(0);
    int other = lane;
    if (lane < depth) {
        one = d[2 * lane], next = d[2 * lane + 1];
        if (lane) before = d[2 * lane - 1];
    }
    int entries;
    const int held = read_head(s, of, &entries);
    const values_of<T> value(of.words + MPKI_STORE_HEAD(held));
    for (int c0 = 0; c0 < cols; c0 += AHEAD) {
        T x[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            x[u] = make<T>(0);
            if (of.rows >> (c0 + u) & 1) { /* bits beyond the block's rows are 0 */
                const int row = __popc(of.rows & below(c0 + u));
                const unsigned m = s.mask[row];
                if (m >> lane & 1) x[u] = value[s.start[row] + __popc(m & below(lane))];
            }
        }
        if (lane < depth && lane + 1 < depth && abs1(next) > 0)
            two = cj(hermitian, next), other = lane + 1;
        else if (lane < depth && lane && abs1(before) > 0)
            two = before, other = lane - 1;
        const bool pairs = __any_sync(WARP, other != lane);
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            if (c0 + u >= cols) break;
            const T y = cj(hermitian, x[u]);
            T z = y * one;
            if (pairs) {
                const T beside = shfl(y, other);
                if (other != lane) z = z + beside * two;
            }
            if (lane < depth) s.w[lane * s.ld + c0 + u] = z;
        }
    }
    __syncwarp();
}

/** s.c -= A s.w for a packed A with few entries, at most `FEW` a row: entry by entry. */
enum { FEW = 3 };

/** s.c -= A s.w, entry by entry, for a packed A of few entries. By all lanes of a warp; contains
 *  __syncwarp(). */
template <class T>
__device__ inline void minus_sparse(const gather_memory<T> &s, unsigned rows,
                                    const values_of<T> &value, int entries, int cols) {
    const int lane = (int)(threadIdx.x % 32);
    T x[FEW];
#pragma unroll
    for (int u = 0; u < FEW; ++u)
        x[u] = 32 * u + lane < entries ? value[32 * u + lane] : make<T>(0);
#pragma unroll
    for (int u = 0; u < FEW; ++u)
        if (32 * u + lane < entries) s.a[32 * u + lane] = x[u];
    __syncwarp();
    if (lane >= cols) return;
    const T *at = s.a;
    for (int row = 0; rows; rows &= rows - 1, ++row) {
        T *const to = s.c + (__ffs((int)rows) - 1) * s.ld + lane;
        T sum = make<T>(0);
        for (unsigned m = s.mask[row]; m; m &= m - 1)
            pfma(sum, *at++, s.w[(__ffs((int)m) - 1) * s.ld + lane]);
        *to = *to - sum;
    }
}

template <class T> struct alignas(16) quad { T v[4]; };

/** G rows of s.c, those of the lowest bits of `rows`, -= their rows of A s.w. By all lanes of a
 *  warp; no barrier. */
template <int G, class T>
__device__ inline void minus_rows(const gather_memory<T> &s, unsigned *rows, int row, int depth,
                                  int cols) {
    const int lane = (int)(threadIdx.x % 32), column = lane < cols ? lane : 0;
    T sum[G];
#pragma unroll
    for (int u = 0; u < G; ++u) sum[u] = make<T>(0);
#pragma unroll 4
    for (int k = 0; k < depth; ++k) {
        const T y = s.w[k * s.ld + column];
#pragma unroll
        for (int h = 0; h < G / 4; ++h) {
            const quad<T> x = *(const quad<T> *)(s.a + k * s.lda + row + 4 * h);
#pragma unroll
            for (int u = 0; u < 4; ++u) pfma(sum[4 * h + u], x.v[u], y);
        }
    }
#pragma unroll
    for (int u = 0; u < G; ++u) {
        if (!*rows) continue;
        T *const to = s.c + (__ffs((int)*rows) - 1) * s.ld + lane;
        if (lane < cols) *to = *to - sum[u];
        *rows &= *rows - 1;
    }
}

/** s.c (its rows `rows`, in order) -= A s.w, where A is expanded in s.a by columns. By all lanes
 *  of a warp; no barrier. */
template <class T>
__device__ inline void minus_expanded(const gather_memory<T> &s, unsigned rows, int held, int depth,
                                      int cols) {
    for (int row = 0; row < held;) {
        if (held - row > 4) {
            minus_rows<8>(s, &rows, row, depth, cols);
            row += 8;
        } else {
            minus_rows<4>(s, &rows, row, depth, cols);
            row += 4;
        }
    }
}

/** c += a b of 8 x 4 and 4 x 8 numbers: lane l has a(l / 4, l % 4), b(l % 4, l / 4), and of c
 *  row l / 4, columns 2 (l % 4) and the next. By all lanes of a warp; no barrier. */
__device__ inline void multiply_tile(double (&c)[2], double a, double b) {
#ifdef __CUDACC__
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
#else
    const int row = (int)(threadIdx.x % 32) / 4, column = (int)(threadIdx.x % 4) * 2;
    for (int k = 0; k < 4; ++k) {
        const double x = __shfl_sync(WARP, a, 4 * row + k);
        for (int u = 0; u < 2; ++u) c[u] = fma(x, __shfl_sync(WARP, b, 4 * (column + u) + k), c[u]);
    }
#endif
}

/** The same in double precision, on tensor cores, 8 rows at a time. By all lanes of a warp;
 *  contains __syncwarp(). */
__device__ inline void minus_expanded(const gather_memory<double> &s, unsigned rows, int held,
                                      int depth, int cols) {
    const int lane = (int)(threadIdx.x % 32), high = lane / 4, low = lane % 4;
    if (rows >> lane & 1)
        s.start[__popc(rows & below(lane))] = lane; /* masks are not needed more */
    __syncwarp();
    for (int row = 0; row < held; row += 8) {
        double sum[4][2];
#pragma unroll
        for (int n = 0; n < 4; ++n) sum[n][0] = sum[n][1] = 0;
        for (int k0 = 0; k0 < depth; k0 += 4) {
            const bool there = k0 + low < depth;
            const double a = there ? s.a[(k0 + low) * s.lda + row + high] : 0;
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                if (8 * n >= cols) continue;
                const double b =
                    there && 8 * n + high < cols ? s.w[(k0 + low) * s.ld + 8 * n + high] : 0;
                multiply_tile(sum[n], a, b);
            }
        }
        if (row + high >= held) continue; /* no warp operation follows in this turn */
        double *const to = s.c + s.start[row + high] * s.ld + 2 * low;
#pragma unroll
        for (int n = 0; n < 4; ++n)
#pragma unroll
            for (int u = 0; u < 2; ++u)
                if (8 * n + 2 * low + u < cols) to[8 * n + u] -= sum[n][u];
    }
}

/** s.c -= A s.w for a packed A whose nonempty rows are nearly full: expanded, by groups of rows.
 *  By all lanes of a warp; contains __syncwarp(). */
template <class T>
__device__ inline void minus_dense(const gather_memory<T> &s, unsigned rows, int held,
                                   const values_of<T> &value, int depth, int cols) {
    const int lane = (int)(threadIdx.x % 32), AHEAD = rows_ahead<T>::value;
    for (int r0 = 0; r0 < held; r0 += AHEAD) {
        T x[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            const unsigned m = r0 + u < held ? s.mask[r0 + u] : 0;
            x[u] = make<T>(0);
            if (m >> lane & 1) x[u] = value[s.start[r0 + u] + __popc(m & below(lane))];
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) /* as many as fill groups of eight */
            if (lane < depth && r0 + u / 8 * 8 < held) s.a[lane * s.lda + r0 + u] = x[u];
    }
    __syncwarp();
    minus_expanded(s, rows, held, depth, cols);
}

/** s.c -= A s.w for a packed A, by whichever of the two ways suits it. By all lanes of a warp;
 *  ends with __syncwarp(). */
template <class T>
__device__ inline void minus_product(const gather_memory<T> &s, const head &of, int depth,
                                     int cols) {
    int entries;
    const int held = read_head(s, of, &entries);
    const values_of<T> value(of.words + MPKI_STORE_HEAD(held));
    if (entries > FEW * held)
        minus_dense(s, of.rows, held, value, depth, cols);
    else
        minus_sparse(s, of.rows, value, entries, cols);
    __syncwarp();
}

/** Entries of a list that a warp holds, 32 at a time. */
struct window {
    int64_t at, end; /* of the list */
    int place;       /* of the lane's entry; INT32_MAX: none */
    /** The places of the next 32 entries of the list, one a lane. By each thread for itself; no
     *  barrier. */
    __device__ void load(const int32_t *there) {
        const int64_t e = at + (int)(threadIdx.x % 32);
        place = e < end ? there[e] : 0x7fffffff;
    }
};

/** s.c -= sum_k L_ik D_k U_kj over the frames k in the lists of both i and j; half 1 of LDU: the
 *  transposed other half. Every `split`th of them, from the mine-th on. Returns the flops. By
 *  all lanes of a warp; contains __syncwarp(). */
template <class T>
__device__ inline unsigned long long pull_updates(const mpki_cuda_stage &b, int half, int i, int j,
                                                  int split, int mine, const gather_memory<T> &s) {
    const int lane = (int)(threadIdx.x % 32);
    const int64_t *const left = half ? b.from.upper : b.from.lower;
    const int64_t *const right = half ? b.from.lower : b.from.upper;
    const int cols = b.bptr[j + 1] - b.bptr[j], rows = b.bptr[i + 1] - b.bptr[i];
    unsigned long long flops = 0;
    int turn = 0;
    head left_of, right_of;
    window x = {b.ptr[i], b.diagonal[i], 0}, y = {b.ptr[j], b.diagonal[j], 0};
    x.load(b.there), y.load(b.there);
    while (x.at < x.end && y.at < y.end) {
        /* each lane looks for its entry of j among those of i */
        int at = 0;
#pragma unroll
        for (int h = 16; h; h /= 2) {
            const int p = __shfl_sync(WARP, x.place, at + h - 1);
            if (p < y.place) at += h;
        }
        const int found = __shfl_sync(WARP, x.place, at);
        const bool both = y.place != 0x7fffffff && found == y.place;
        int64_t l = -1, r = -1;
        int first = 0, depth = 0;
        if (both) {
            l = left[b.block[x.at + at]], r = right[b.block[y.at + lane]];
            const int k = b.other[y.at + lane];
            first = b.bptr[k], depth = b.bptr[k + 1] - first;
        }
        /* of these, every `split`th; the heads of the next one are on their way while one is
         * done */
        unsigned due = __ballot_sync(WARP, both && l >= 0 && r >= 0);
        const int all = __popc(due);
        if (split > 1) {
            const int number = turn + __popc(due & below(lane));
            due = __ballot_sync(WARP, (due >> lane & 1) && number % split == mine);
        }
        turn += all;
        auto ask = [&](unsigned m) {
            const int who = m ? __ffs((int)m) - 1 : 0;
            const int64_t lw = __shfl_sync(WARP, l, who), rw = __shfl_sync(WARP, r, who);
            if (m) left_of.load(b.from.words + lw), right_of.load(b.from.words + rw);
        };
        ask(due);
        while (due) {
            const int who = __ffs((int)due) - 1;
            const int d0 = __shfl_sync(WARP, first, who), deep = __shfl_sync(WARP, depth, who);
            const head of = left_of, beside = right_of;
            due &= due - 1;
            ask(due);
            right_operand<T>(s, beside, cols, deep, (const T *)b.from.d + 2 * (int64_t)d0,
                             b.hermitian && !half);
            minus_product<T>(s, of, deep, cols);
            flops += 2ull * rows * deep * cols;
        }
        if (b.sweep && mine == 0) { /* a sweep's blocks are dense: it counts what is zero, too */
            for (unsigned m = __ballot_sync(WARP, both && !(l >= 0 && r >= 0)); m; m &= m - 1)
                flops += 2ull * rows * __shfl_sync(WARP, depth, __ffs((int)m) - 1) * cols;
        }
        const int px = __shfl_sync(WARP, x.place, 31), py = __shfl_sync(WARP, y.place, 31);
        if (px <= py) x.at += 32, x.load(b.there);
        if (py <= px) y.at += 32, y.load(b.there);
    }
    return flops;
}

/** pull_updates() by SPLIT warps into the first one's block: the others have sums of their own,
 *  added in their order. memory: of all warps; s: the caller's. By all threads of the block
 *  where SPLIT > 1; block barriers. */
template <int SPLIT, class T>
__device__ inline unsigned long long pull_together(const mpki_cuda_stage &b, int half, int i, int j,
                                                   const gather_memory<T> &s, char *memory) {
    if (SPLIT == 1) return pull_updates(b, half, i, j, 1, 0, s);
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int cols = b.bptr[j + 1] - b.bptr[j], rows = b.bptr[i + 1] - b.bptr[i];
    if (warp > 0 && lane < cols)
        for (int r = 0; r < rows; ++r) s.c[r * s.ld + lane] = make<T>(0);
    const unsigned long long flops = pull_updates(b, half, i, j, SPLIT, warp, s);
    __syncthreads();
    const size_t each = gather_memory<T>::bytes(b.largest);
    const gather_memory<T> first(memory, b.largest);
    for (int r = warp; r < rows; r += SPLIT) {
        if (lane >= cols) continue;
        T x = first.c[r * s.ld + lane];
#pragma unroll
        for (int v = 1; v < SPLIT; ++v) {
            const gather_memory<T> other(memory + (size_t)v * each, b.largest);
            x = x + other.c[r * s.ld + lane];
        }
        first.c[r * s.ld + lane] = x;
    }
    __syncthreads();
    return flops;
}

} // namespace mpki
#endif
