/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_BASELINE_CUH
#define MPKI_CUDA_INVERSE_BASELINE_CUH
/** What the fused kernels are compared with: the four kernels of Anzt, Huckle, Braeckle & Dongarra
 *  2018 (doi:10.1016/j.parco.2017.10.003), through device memory in which every column has a system
 *  of 32 x 32. Columns in portions, for so many systems would not fit. */
#include "fused.cuh"

namespace mpki {

enum { SYSTEM = 32 };

/** rows_of := J of columns first .. first + count - 1 in the order of solving, j first; sizes :=
 *  |J|. A warp takes a column, a lane an entry; no barrier. */
template <bool UPPER>
__global__ void __launch_bounds__(ISAI_THREADS)
    find_kernel(const mpki_isai_inversion v, int32_t first, int32_t count) {
    const int lane = (int)(threadIdx.x % SYSTEM);
    const int64_t p = ((int64_t)blockIdx.x * ISAI_THREADS + threadIdx.x) / SYSTEM;
    if (p >= count) return;
    const int32_t j = first + (int32_t)p;
    const int64_t begin = v.m.ptr[j];
    const int have = (int)(v.m.ptr[j + 1] - begin);
    int32_t row = -1;
    if (lane == 0) row = j;
    if (lane > 0 && lane <= have) row = v.m.index[begin + place_of<UPPER>(have, lane - 1)];
    v.rows_of[p * SYSTEM + lane] = row;
    if (lane == 0) v.sizes[p] = have + 1;
}

/** systems := L(J, J) by columns, with 1 / l on its diagonal; the memory was set to 0. A warp
 *  takes a column, a lane a row; no barrier. */
template <class T, bool UPPER>
__global__ void __launch_bounds__(ISAI_THREADS)
    extract_kernel(const mpki_isai_inversion v, int32_t count) {
    const int lane = (int)(threadIdx.x % SYSTEM);
    const int64_t p = ((int64_t)blockIdx.x * ISAI_THREADS + threadIdx.x) / SYSTEM;
    if (p >= count || lane >= v.sizes[p]) return;
    const int32_t *const rows = v.rows_of + p * SYSTEM;
    T *const a = (T *)v.systems + p * SYSTEM * SYSTEM;
    reader<T, UPPER> row;
    row.open(v.rows, rows[lane], key_of<UPPER>(rows[0]));
    for (int k = 0; k < lane; ++k)
        if (row.reach(key_of<UPPER>(rows[k]))) a[k * SYSTEM + lane] = row.take();
    a[lane * SYSTEM + lane] = diagonal_of<T>(v.dinv, rows[lane]);
}

/** solutions := L(J, J)^-1 e_1. A warp takes a column, a lane a row; shuffles, no barrier. */
template <class T>
__global__ void __launch_bounds__(ISAI_THREADS)
    substitute_kernel(const mpki_isai_inversion v, int32_t count) {
    const int lane = (int)(threadIdx.x % SYSTEM);
    const int64_t p = ((int64_t)blockIdx.x * ISAI_THREADS + threadIdx.x) / SYSTEM;
    if (p >= count) return;
    const T *const a = (const T *)v.systems + p * SYSTEM * SYSTEM;
    const int size = v.sizes[p];
    T x = make<T>(lane == 0);
    for (int k = 0; k < size; ++k) {
        if (lane == k) x = mul_rn(x, a[k * SYSTEM + k]);
        const T known = of_lane<SYSTEM>(x, k);
        if (lane > k) x = subtract(x, a[k * SYSTEM + lane], known);
    }
    ((T *)v.solutions)[p * SYSTEM + lane] = x;
}

/** The solutions become the values of M's columns; *bad := the first column that is not finite.
 *  A warp takes a column, a lane an entry; an atomic minimum, no barrier. */
template <class T, bool UPPER>
__global__ void __launch_bounds__(ISAI_THREADS)
    scatter_kernel(const mpki_isai_inversion v, int32_t first, int32_t count) {
    const int lane = (int)(threadIdx.x % SYSTEM);
    const int64_t p = ((int64_t)blockIdx.x * ISAI_THREADS + threadIdx.x) / SYSTEM;
    if (p >= count || lane >= v.sizes[p]) return;
    const T x = ((const T *)v.solutions)[p * SYSTEM + lane];
    if (!is_finite(x)) atomicMin(v.bad, first + (int32_t)p);
    if (lane == 0) return; /* the diagonal is dinv */
    ((T *)v.m.val)[v.m.ptr[first + p] + place_of<UPPER>(v.sizes[p] - 1, lane - 1)] = x;
}

} // namespace mpki

#endif
