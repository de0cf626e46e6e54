/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_BORDER_CUH
#define MPKI_CUDA_TRIANGULAR_BORDER_CUH
/** Products with the inverse of the dense pivot's L: a warp a row, sums in an order that depends on
 *  the row alone, in double precision. S: entries of L, V of the vectors. */
#include "move.cuh"

namespace mpki {

static const int BORDER_WARPS = 4;

/** work_k := y_k + sum_j l_kj y_j over the strict rows of L^-1, or backward its columns. S:
 *  entries of L, V of y. A warp takes a row; shuffles, no barrier. */
template <class S, class V>
__global__ void __launch_bounds__(32 * BORDER_WARPS) border_kernel(const mpki_sweeps_border b) {
    const int lane = (int)(threadIdx.x % 32);
    const int k = (int)(blockIdx.x * BORDER_WARPS + threadIdx.x / 32);
    if (k >= b.rows) return;
    typedef typename widened_of<S>::type W;
    const S *const row = (const S *)b.l + (int64_t)k * b.rows;
    const V *const y = (const V *)b.y;
    W sum[MPKI_SWEEPS_RHS];
#pragma unroll
    for (int r = 0; r < MPKI_SWEEPS_RHS; ++r) sum[r] = make<W>(0);
    const int end = b.backward ? b.rows : k;
#pragma unroll 4
    for (int j = (b.backward ? k + 1 : 0) + lane; j < end; j += 32) {
        const W x = widen(b.backward && b.hermitian ? conj(row[j]) : row[j]);
        const V *const from = y + (int64_t)(b.backward ? j : b.row[j]) * b.slot_width;
#pragma unroll
        for (int r = 0; r < MPKI_SWEEPS_RHS; ++r)
            if (r < b.slot_width) sum[r] = sum[r] + x * widen(from[r]);
    }
#pragma unroll
    for (int r = 0; r < MPKI_SWEEPS_RHS; ++r) {
        if (r >= b.slot_width) break;
        for (int d = 16; d; d /= 2) sum[r] = sum[r] + shfl_xor(sum[r], d);
        if (lane != 0) continue;
        sum[r] = sum[r] + widen(y[(int64_t)(b.backward ? k : b.row[k]) * b.slot_width + r]);
        ((V *)b.work)[(int64_t)k * b.slot_width + r] = build<V>::of(re(sum[r]), im(sum[r]));
    }
}

/** y := work, by row numbers where backward. A thread takes an entry; no barrier. */
template <class V> __global__ void border_put_kernel(const mpki_sweeps_border b) {
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (int64_t)b.rows * b.slot_width) return;
    const int64_t k = at / b.slot_width, r = at % b.slot_width;
    ((V *)b.y)[(b.backward ? b.row[k] : k) * b.slot_width + r] = unmarked(((const V *)b.work)[at]);
}

/** The coefficients of D^-1 and |D|^-1 of the dense pivot, as pivots_kernel() (move.cuh) makes
 *  them. A thread takes a row; no barrier. */
template <class S>
__global__ void border_pivots_kernel(int n, bool hermitian, const S *dinv, S *inverse, S *absolute,
                                     int8_t *partner) {
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k >= n || (k > 0 && abs1(dinv[2 * k - 1]) > 0)) return; /* the second of a pair */
    put_pivot(dinv + 2 * (int64_t)k, k + 1 < n && abs1(dinv[2 * k + 1]) > 0, hermitian,
              inverse + 2 * (int64_t)k, absolute + 2 * (int64_t)k, partner + k);
}

} // namespace mpki

#endif
