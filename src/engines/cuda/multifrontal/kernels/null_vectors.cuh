/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_NULL_VECTORS_CUH
#define MPKI_CUDA_MULTIFRONTAL_NULL_VECTORS_CUH
/** Vectors u of a singular A's kernel beside residuals and right-hand sides, as factor/deflate_t.c
 *  has them. Sums over chunks of a vector are added in the order of the chunks, so that they do not
 *  depend on who is first. */
#include "columns.cuh"

namespace mpki {

enum { NULL_THREADS = 256, NULL_WARPS = NULL_THREADS / 32 };

/** A thread: where the sums of this column, vector and chunk lie. */
__device__ inline double *null_sums(const mpki_cuda_null &z, int column, int vector, int chunk) {
    return z.partial +
           (((int64_t)column * z.count + vector) * z.chunks + chunk) * MPKI_CUDA_NULL_SUMS;
}

/** A block: z.partial := its sums of conj(u_i) s_i y_i (A = A^T: of u_i s_i y_i) in two parts, and
 *  of |u_i| s_i w_i. y and w are the columns' by number, or w NULL and y by place. Barriers: it
 *  meets the block. */
template <class E>
__global__ void __launch_bounds__(NULL_THREADS)
    null_products_kernel(const mpki_cuda_null z, const mpki_cuda_columns columns, const E *y,
                         int64_t step, const double *w) {
    __shared__ double part[MPKI_CUDA_NULL_MOST][NULL_WARPS][MPKI_CUDA_NULL_SUMS];
    const share me(columns);
    const int tid = (int)threadIdx.x;
    const int64_t each = ((int64_t)z.n + z.chunks - 1) / z.chunks, begin = me.block * each;
    const int64_t end = begin + each < z.n ? begin + each : z.n;
    const int number_of = columns.number[me.column];
    after_previous();
    y += (w ? number_of : columns.place[me.column]) * step;
    if (w) w += (int64_t)number_of * z.n;
    for (int j = 0; j < z.count; ++j) {
        const E *u = (const E *)z.v + (int64_t)j * z.n;
        double sum[MPKI_CUDA_NULL_SUMS] = {0, 0, 0};
        for (int64_t i = begin + tid; i < end; i += NULL_THREADS) {
            const number p = to_number(u[i]), q = to_number(y[i]);
            const double s = z.scale[i], im = z.symmetric ? -p.y : p.y;
            sum[0] += s * p.x * q.x;
            if (scalar_of<E>::complex) {
                sum[0] += s * im * q.y;
                sum[1] += s * (p.x * q.y - im * q.x);
            }
            if (w) sum[2] += length(u[i]) * s * w[i];
        }
        for (int k = 0; k < MPKI_CUDA_NULL_SUMS; ++k) {
            for (int o = 16; o; o /= 2) sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], o);
            if (tid % 32 == 0) part[j][tid / 32][k] = sum[k];
        }
    }
    __syncthreads();
    for (int t = tid; t < z.count * MPKI_CUDA_NULL_SUMS; t += NULL_THREADS) {
        const int j = t / MPKI_CUDA_NULL_SUMS, k = t % MPKI_CUDA_NULL_SUMS;
        double sum = 0;
        for (int warp = 0; warp < NULL_WARPS; ++warp) sum += part[j][warp][k];
        null_sums(z, me.column, j, me.block)[k] = sum;
    }
}

/** A warp: the sums of this column and vector over all chunks, for all its lanes. Barriers: it
 *  meets the warp. */
__device__ inline void add_chunks(const mpki_cuda_null &z, int column, int vector,
                                  double (&sum)[MPKI_CUDA_NULL_SUMS]) {
    const int lane = (int)threadIdx.x & 31;
    for (int k = 0; k < MPKI_CUDA_NULL_SUMS; ++k) sum[k] = 0;
    for (int chunk = lane; chunk < z.chunks; chunk += 32)
        for (int k = 0; k < MPKI_CUDA_NULL_SUMS; ++k)
            sum[k] += null_sums(z, column, vector, chunk)[k];
    __syncwarp();
    for (int k = 0; k < MPKI_CUDA_NULL_SUMS; ++k)
        for (int o = 16; o; o /= 2) sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], o);
}

/** A block for a chunk of a residual: r_i -= u_i / s_i times the vector's sum, u conjugated where
 *  A = A^T. Barriers: it meets the block. */
template <class E>
__global__ void __launch_bounds__(NULL_THREADS)
    null_subtract_kernel(const mpki_cuda_null z, const mpki_cuda_columns columns, E *r) {
    __shared__ double all[MPKI_CUDA_NULL_MOST][2];
    const share me(columns);
    const int tid = (int)threadIdx.x;
    const int64_t each = ((int64_t)z.n + z.chunks - 1) / z.chunks, begin = me.block * each;
    const int64_t end = begin + each < z.n ? begin + each : z.n;
    after_previous();
    r += columns.place[me.column] * columns.r_step;
    for (int j = tid / 32; j < z.count; j += NULL_WARPS) {
        double sum[MPKI_CUDA_NULL_SUMS];
        add_chunks(z, me.column, j, sum);
        if (tid % 32 == 0) all[j][0] = sum[0], all[j][1] = sum[1];
    }
    __syncthreads();
    for (int64_t i = begin + tid; i < end; i += NULL_THREADS) {
        double re = 0, im = 0;
        for (int j = 0; j < z.count; ++j) {
            const number p = to_number(((const E *)z.v + (int64_t)j * z.n)[i]);
            re += p.x * all[j][0];
            if (!scalar_of<E>::complex) continue;
            const double q = z.symmetric ? -p.y : p.y;
            re -= q * all[j][1];
            im += p.x * all[j][1] + q * all[j][0];
        }
        const number before = to_number(r[i]);
        const double unit = 1 / z.scale[i];
        r[i] = to_entry<E>(before.x - re * unit, before.y - im * unit);
    }
}

/** A block for each column: z.outside. Barriers: it meets the block. */
static __global__ void __launch_bounds__(NULL_THREADS)
    null_range_kernel(const mpki_cuda_null z, const mpki_cuda_columns columns, double within) {
    __shared__ int against[NULL_WARPS];
    const int tid = (int)threadIdx.x, column = (int)blockIdx.x;
    int found = 0;
    after_previous();
    for (int j = tid / 32; j < z.count; j += NULL_WARPS) {
        double sum[MPKI_CUDA_NULL_SUMS];
        add_chunks(z, column, j, sum);
        if (!(hypot(sum[0], sum[1]) <= within * sum[2])) found = 1;
    }
    if (tid % 32 == 0) against[tid / 32] = found;
    __syncthreads();
    if (tid > 0) return;
    for (int warp = 1; warp < NULL_WARPS; ++warp) found |= against[warp];
    z.outside[columns.number[column]] = found;
}

} // namespace mpki

#endif
