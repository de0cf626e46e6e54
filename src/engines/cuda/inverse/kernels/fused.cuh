/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_FUSED_CUH
#define MPKI_CUDA_INVERSE_FUSED_CUH
/** Columns of the approximate inverse of a triangle, one kernel for each class of lengths (Anzt,
 *  Chow, Huckle & Dongarra 2016, section III): a lane owns a row of J, or some; a step makes one
 *  entry of the column final, and hands it to the lanes of later rows. Departs from it: rows are
 *  read while the system is solved, in step with it, so that L(J, J) is nowhere, not even in
 *  registers, and J may have more than 32 rows; several short columns share a warp. The operations
 *  on an entry, and their order, are those of the processor (engines/cpu/inverse/columns_t.c): so
 *  are the bits. */
#include "engines/cuda/module/launch.cuh"
#include "exact.cuh"
#include "inverse.h"

#include <limits.h>

namespace mpki {

/** A number that grows in the order in which rows are solved for: the row, or its complement
 *  (UPPER). By each thread for itself; no barrier. */
template <bool UPPER> __device__ inline int32_t key_of(int32_t row) {
    return UPPER ? ~row : row;
}

/** A row of the strict triangle, read from its far end to the diagonal. */
template <class T, bool UPPER> struct reader {
    const int32_t *index; /* of the entry farthest from the diagonal */
    const T *val;
    int32_t at, count;
    int32_t key; /* of the entry at hand; INT_MAX: there is none */

    /** The key of entry k from the far end. By each thread for itself; no barrier. */
    __device__ int32_t read(int32_t k) const { return key_of<UPPER>(index[UPPER ? -k : k]); }
    /** key := that of the entry at hand, INT_MAX at the end. By each thread for itself; no
     *  barrier. */
    __device__ void load_key() { key = at < count ? read(at) : INT_MAX; }

    /** The first entry of low .. high - 1 that is not before `want`; high: none is. By each
     *  thread for itself; no barrier. */
    __device__ int32_t find(int32_t low, int32_t high, int32_t want) const {
        while (low < high) {
            const int32_t middle = low + (high - low) / 2;
            if (read(middle) < want)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    /** Begins row `row` with its first entry that is not before `want`, searched from the
     *  diagonal outwards in growing steps. row < 0: no entries. By each thread for itself; no
     *  barrier. */
    __device__ void open(const mpki_isai_matrix &a, int32_t row, int32_t want) {
        index = NULL, val = NULL;
        at = count = 0, key = INT_MAX;
        if (row < 0) return;
        const int64_t begin = a.ptr[row], end = a.ptr[row + 1];
        count = at = (int32_t)(end - begin);
        index = a.index + (UPPER ? end - 1 : begin);
        val = (const T *)a.val + (UPPER ? end - 1 : begin);
        for (int32_t step = 1; at > 0; step *= 2) {
            const int32_t to = at > step ? at - step : 0;
            if (read(to) < want) {
                at = find(to + 1, at, want);
                break;
            }
            at = to;
        }
        load_key();
    }

    /** Is there an entry `want`? Passes over the entries before it; `want` never falls. By each
     *  thread for itself; no barrier. */
    __device__ bool reach(int32_t want) {
        enum { NEAR = 4 };
        if (key >= want) return key == want;
        for (int k = 0; k < NEAR; ++k) {
            ++at;
            load_key();
            if (key >= want) return key == want;
        }
        int32_t step = 1; /* the entry at hand is before `want` */
        while (step < count - at && read(at + step) < want) {
            at += step;
            if (step < 1 << 29) step *= 2;
        }
        at = find(at + 1, count - at > step ? at + step : count, want);
        load_key();
        return key == want;
    }

    /** The value at hand; the next entry comes to hand. By each thread for itself; no barrier. */
    __device__ T take() {
        const T x = val[UPPER ? -at : at];
        ++at;
        load_key();
        return x;
    }
};

/** The place, in a column of `have` entries, of the entry that becomes final in step k. By each
 *  thread for itself; no barrier. */
template <bool UPPER> __device__ inline int64_t place_of(int64_t have, int64_t k) {
    return UPPER ? have - 1 - k : k;
}

/** 1 / l_jj; 1 where dinv is NULL. By each thread for itself; no barrier. */
template <class T> __device__ inline T diagonal_of(const void *dinv, int32_t j) {
    return dinv ? ((const T *)dinv)[j] : make<T>(1);
}

enum { ISAI_THREADS = 128 };

/** m_j := L(J, J)^-1 e_j for the columns `list`: a group of W lanes takes a column, a lane R of
 *  its rows, which it reads in step with the solution. *bad: the first column that is not
 *  finite. Shuffles, no barrier. */
template <class T, int W, int R, bool UPPER>
__global__ void __launch_bounds__(ISAI_THREADS)
    streamed_kernel(const mpki_isai_inversion v, const int32_t *list, int64_t count) {
    const int lane = (int)(threadIdx.x % W);
    const int64_t group = ((int64_t)blockIdx.x * ISAI_THREADS + threadIdx.x) / W;
    const bool there = group < count;
    const int32_t j = there ? list[group] : 0;
    const int64_t begin = v.m.ptr[j];
    const int have = there ? (int)(v.m.ptr[j + 1] - begin) : 0;
    const int steps = W == 1 ? 1 : __reduce_max_sync(0xffffffffu, have);
    const T first = diagonal_of<T>(v.dinv, j);
    bool good = is_finite(first);
    reader<T, UPPER> row[R];
    int32_t key[R];
    T x[R], scale[R];
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int t = lane + W * r;
        const int32_t i = t < have ? v.m.index[begin + place_of<UPPER>(have, t)] : -1;
        key[r] = i < 0 ? INT_MIN : key_of<UPPER>(i);
        x[r] = make<T>(0);
        scale[r] = i < 0 ? x[r] : diagonal_of<T>(v.dinv, i);
        row[r].open(v.rows, i, key_of<UPPER>(j));
        if (row[r].reach(key_of<UPPER>(j))) x[r] = subtract(x[r], row[r].take(), first);
    }
#pragma unroll
    for (int q = 0; q < R; ++q) {
        const int end = steps - W * q < W ? steps - W * q : W;
        for (int k = 0; k < end; ++k) {
            if (lane == k && v.dinv) x[q] = mul_rn(x[q], scale[q]);
            const int32_t want = of_lane<W>(key[q], k);
            const T known = of_lane<W>(x[q], k);
#pragma unroll
            for (int r = q; r < R; ++r)
                if ((r > q || lane > k) && row[r].reach(want))
                    x[r] = subtract(x[r], row[r].take(), known);
        }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int t = lane + W * r;
        good = good && is_finite(x[r]);
        if (t < have) ((T *)v.m.val)[begin + place_of<UPPER>(have, t)] = x[r];
    }
    if (there && !good) atomicMin(v.bad, j);
}

/** The same as the paper has it: each lane gathers its row of L(J, J) in registers first. A
 *  group of W lanes takes a column; shuffles, no barrier. */
template <class T, int W, bool UPPER>
__global__ void __launch_bounds__(ISAI_THREADS)
    held_kernel(const mpki_isai_inversion v, const int32_t *list, int64_t count) {
    const int lane = (int)(threadIdx.x % W);
    const int64_t group = ((int64_t)blockIdx.x * ISAI_THREADS + threadIdx.x) / W;
    const bool there = group < count;
    const int32_t j = there ? list[group] : 0;
    const int64_t begin = v.m.ptr[j];
    const int have = there ? (int)(v.m.ptr[j + 1] - begin) : 0;
    const T first = diagonal_of<T>(v.dinv, j);
    const int32_t i = lane < have ? v.m.index[begin + place_of<UPPER>(have, lane)] : -1;
    const int32_t key = i < 0 ? INT_MIN : key_of<UPPER>(i);
    const T scale = i < 0 ? make<T>(0) : diagonal_of<T>(v.dinv, i);
    reader<T, UPPER> row;
    T x = make<T>(0), held[W];
    row.open(v.rows, i, key_of<UPPER>(j));
    if (row.reach(key_of<UPPER>(j))) x = subtract(x, row.take(), first);
#pragma unroll
    for (int k = 0; k < W; ++k) {
        const int32_t want = of_lane<W>(key, k);
        held[k] = make<T>(0);
        if (lane > k && row.reach(want)) held[k] = row.take();
    }
#pragma unroll
    for (int k = 0; k < W; ++k) {
        if (lane == k && v.dinv) x = mul_rn(x, scale);
        const T known = of_lane<W>(x, k);
        if (lane > k) x = subtract(x, held[k], known);
    }
    if (lane < have) ((T *)v.m.val)[begin + place_of<UPPER>(have, lane)] = x;
    if (there && !(is_finite(first) && is_finite(x))) atomicMin(v.bad, j);
}

/** *bad := the first column of `list`, all of one entry, whose dinv is not finite. A thread
 *  takes a column; an atomic minimum. */
template <class T>
__global__ void __launch_bounds__(ISAI_THREADS)
    diagonal_kernel(const mpki_isai_inversion v, const int32_t *list, int64_t count) {
    const int64_t k = (int64_t)blockIdx.x * ISAI_THREADS + threadIdx.x;
    if (k < count && !is_finite(((const T *)v.dinv)[list[k]])) atomicMin(v.bad, list[k]);
}

/* ---- more than 128 entries: a block a column ---- */

enum { ISAI_BLOCK = 256 };

/** m_j := L(J, J)^-1 e_j by a block per column, up to 4 rows a thread. One block barrier a step. */
template <class T, bool UPPER>
__global__ void __launch_bounds__(ISAI_BLOCK)
    block_kernel(const mpki_isai_inversion v, const int32_t *list) {
    enum { R = 4 };
    __shared__ int32_t wanted[2];
    __shared__ T known[2];
    const int32_t j = list[blockIdx.x];
    const int64_t begin = v.m.ptr[j];
    const int have = (int)(v.m.ptr[j + 1] - begin), tid = (int)threadIdx.x;
    const T first = diagonal_of<T>(v.dinv, j);
    bool good = is_finite(first);
    reader<T, UPPER> row[R];
    int32_t index[R];
    T x[R];
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int t = tid + ISAI_BLOCK * r;
        index[r] = t < have ? v.m.index[begin + place_of<UPPER>(have, t)] : -1;
        x[r] = make<T>(0);
        row[r].open(v.rows, index[r], key_of<UPPER>(j));
        if (row[r].reach(key_of<UPPER>(j))) x[r] = subtract(x[r], row[r].take(), first);
    }
#pragma unroll
    for (int q = 0; q < R; ++q) {
        const int end = have - ISAI_BLOCK * q < ISAI_BLOCK ? have - ISAI_BLOCK * q : ISAI_BLOCK;
        for (int k = 0; k < end; ++k) {
            if (tid == k) {
                if (v.dinv) x[q] = mul_rn(x[q], diagonal_of<T>(v.dinv, index[q]));
                known[k % 2] = x[q], wanted[k % 2] = key_of<UPPER>(index[q]);
            }
            __syncthreads();
#pragma unroll
            for (int r = q; r < R; ++r)
                if ((r > q || tid > k) && row[r].reach(wanted[k % 2]))
                    x[r] = subtract(x[r], row[r].take(), known[k % 2]);
        }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int t = tid + ISAI_BLOCK * r;
        good = good && is_finite(x[r]);
        if (t < have) ((T *)v.m.val)[begin + place_of<UPPER>(have, t)] = x[r];
    }
    if (!good) atomicMin(v.bad, j);
}

/** The first place of begin .. end - 1 whose index is not below `row`. By each thread for
 *  itself; no barrier. */
__device__ inline int64_t lower_bound(const int32_t *index, int64_t begin, int64_t end,
                                      int32_t row) {
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (index[middle] < row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/** x -= x_r a_r on the rows low .. high - 1 of J, for the strict column r. Where the column is
 *  much longer than J, rows are searched in it instead. By all threads of a block; no barrier. */
template <class T>
__device__ inline void subtract_column(const mpki_isai_inversion &v, int32_t r, T xr, int64_t low,
                                       int64_t high, const int32_t *rows, T *x) {
    enum { LONG = 16 };
    const int64_t from = v.columns.ptr[r], to = v.columns.ptr[r + 1];
    const T *const val = (const T *)v.columns.val;
    if (to - from > LONG * (high - low + 1)) {
        for (int64_t k = low + threadIdx.x; k < high; k += ISAI_BLOCK) {
            const int64_t e = lower_bound(v.columns.index, from, to, rows[k]);
            if (e < to && v.columns.index[e] == rows[k]) x[k] = subtract(x[k], val[e], xr);
        }
        return;
    }
    for (int64_t e = from + threadIdx.x; e < to; e += ISAI_BLOCK) {
        const int32_t i = v.columns.index[e];
        const int64_t k = lower_bound(rows, low, high, i);
        if (k < high && rows[k] == i) x[k] = subtract(x[k], val[e], xr);
    }
}

/** m_j := L(J, J)^-1 e_j for any number of entries, by sparse substitution in the memory of M. A
 *  block takes a column; two block barriers a step. */
template <class T, bool UPPER>
__global__ void __launch_bounds__(ISAI_BLOCK)
    sparse_kernel(const mpki_isai_inversion v, const int32_t *list) {
    __shared__ T known[1];
    const int32_t j = list[blockIdx.x];
    const int64_t begin = v.m.ptr[j], have = v.m.ptr[j + 1] - begin;
    const int32_t *const rows = v.m.index + begin;
    T *const x = (T *)v.m.val + begin;
    const T first = diagonal_of<T>(v.dinv, j);
    bool good = is_finite(first);
    for (int64_t k = threadIdx.x; k < have; k += ISAI_BLOCK) x[k] = make<T>(0);
    __syncthreads();
    subtract_column(v, j, first, 0, have, rows, x);
    for (int64_t step = 0; step < have; ++step) {
        const int64_t k = place_of<UPPER>(have, step);
        __syncthreads();
        if (threadIdx.x == 0) {
            if (v.dinv) x[k] = mul_rn(x[k], diagonal_of<T>(v.dinv, rows[k]));
            *known = x[k];
        }
        __syncthreads();
        const T xr = *known;
        good = good && is_finite(xr);
        if (is_zero(xr)) continue;
        subtract_column(v, rows[k], xr, UPPER ? 0 : k + 1, UPPER ? k : have, rows, x);
    }
    if (!good && threadIdx.x == 0) atomicMin(v.bad, j);
}

} // namespace mpki

#endif
