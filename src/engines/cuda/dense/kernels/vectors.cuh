/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_VECTORS_CUH
#define MPKI_CUDA_DENSE_VECTORS_CUH
/** What refinement, errors and inertia need besides the factors: triangles copied from one kind of
 *  entries to another, largest entries, residuals with |A| |x|, sums. All sums are taken in a fixed
 *  order. */
#include "engines/cuda/module/runtime.cuh"
#include "tile.cuh"

#include <float.h>

namespace mpki {

/** to := from in the precision of `to`. By each thread for itself; no barrier. */
template <class F, class G> __host__ __device__ inline void cast(F from, G &to) {
    to = (G)from;
}
template <class F, class G> __host__ __device__ inline void cast(cx<F> from, cx<G> &to) {
    to.x = (G)from.x, to.y = (G)from.y;
}

/** The lower triangle of `to` := scale times the triangle of `from`; upper: from is read in
 *  reverse order, J A J. back: the upper triangle of `to`, in reverse order, from the lower one
 *  of `from`. A thread takes entries in turns; no barrier. */
template <class F, class G>
__global__ void triangle_kernel(int n, const F *from, int64_t ldf, int upper, double scale, G *to,
                                int64_t ldt, int back) {
    for (int64_t j = blockIdx.y; j < n; j += gridDim.y)
        for (int64_t i = j + blockIdx.x * blockDim.x + threadIdx.x; i < n;
             i += gridDim.x * blockDim.x) {
            const int64_t f = upper && !back ? (n - 1 - i) + (n - 1 - j) * ldf : i + j * ldf;
            const int64_t t = upper && back ? (n - 1 - i) + (n - 1 - j) * ldt : i + j * ldt;
            G v;
            cast(from[f], v);
            to[t] = scale == 1 ? v : v * (typename scalar_of<G>::real)scale;
        }
}

/** to := from (NULL: 0), rows x cols. A thread takes entries in turns; no barrier. */
template <class F, class G>
__global__ void copy_columns_kernel(int64_t rows, int64_t cols, const F *from, int64_t ldf, G *to,
                                    int64_t ldt) {
    for (int64_t c = blockIdx.y; c < cols; c += gridDim.y)
        for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < rows;
             i += gridDim.x * blockDim.x) {
            G v;
            if (from)
                cast(from[i + c * ldf], v);
            else
                v = make<G>(0);
            to[i + c * ldt] = v;
        }
}

/** The rows of x in reverse order, in place. A thread takes rows in turns; no barrier. */
template <class G> __global__ void reverse_kernel(int n, G *x, int64_t ldx) {
    const int c = blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += gridDim.x * blockDim.x) {
        const G t = x[i + c * ldx];
        x[i + c * ldx] = x[n - 1 - i + c * ldx];
        x[n - 1 - i + c * ldx] = t;
    }
}

/** y := y + alpha x. A thread takes entries in turns; no barrier. */
template <class G>
__global__ void axpy_kernel(int64_t n, int64_t cols, G alpha, const G *x, int64_t ldx, G *y,
                            int64_t ldy) {
    for (int64_t c = blockIdx.y; c < cols; c += gridDim.y)
        for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            pfma(y[i + c * ldy], alpha, x[i + c * ldx]);
}

/** The sum of v over a block of 256 threads, in a fixed order. scratch: shared, a number per
 *  warp. By all threads of a block; ends with a block barrier. */
__device__ inline double block_sum(double v, double *scratch) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) v += scratch[w];
    __syncthreads();
    return v;
}
/** The largest v over the block; NaN counts as infinity. scratch: shared, a number per warp. By
 *  all threads of a block; ends with a block barrier. */
__device__ inline double block_max(double v, double *scratch) {
    if (!(v <= DBL_MAX)) v = INFINITY;
    for (int o = 16; o; o >>= 1) v = fmax(v, __shfl_xor_sync(0xffffffffu, v, o));
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) v = fmax(v, scratch[w]);
    __syncthreads();
    return v;
}

/** The imaginary part; 0 of real numbers. By each thread for itself; no barrier. */
__device__ inline double imaginary(float) {
    return 0;
}
__device__ inline double imaginary(double) {
    return 0;
}
template <class F> __device__ inline double imaginary(cx<F> a) {
    return a.y;
}

/** out[2 k], out[2 k + 1] := part k's share of x^H y, real and imaginary: parts of a column one
 *  after the other, then those of the next. A block takes a part; block barriers. */
template <class G>
__global__ void dot_kernel(int n, const G *x, int64_t ldx, const G *y, int64_t ldy, double *out) {
    __shared__ double scratch[32];
    double a = 0, b = 0;
    x += blockIdx.y * ldx, y += blockIdx.y * ldy;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const double xr = re(x[i]), xi = imaginary(x[i]), yr = re(y[i]), yi = imaginary(y[i]);
        a += xr * yr + xi * yi;
        b += xr * yi - xi * yr;
    }
    a = block_sum(a, scratch);
    b = block_sum(b, scratch);
    out += 2 * ((int64_t)blockIdx.y * gridDim.x + blockIdx.x);
    if (threadIdx.x == 0) out[0] = a, out[1] = b;
}

static const int RT = 128; /* tiles of the residual */

template <class G> struct sums {
    G v;
    typename scalar_of<G>::real m;
};

/** For each tile (I, J) of the stored triangle, slot J of rows I and slot I of rows J := its
 *  parts of A x and |A| |x|. x NULL: ones. H: the other triangle is the conjugate. A block takes
 *  a tile, a warp 16 columns, a few at a time, a lane rows 32 apart, so that nothing of A goes
 *  through shared memory. Block barriers. */
template <bool H, class G>
__global__ void __launch_bounds__(256, sizeof(G) == 16 ? 1 : 2)
    residual_tiles_kernel(int n, int upper, const G *A, int64_t lda, const G *x, sums<G> *part) {
    typedef typename scalar_of<G>::real R;
    const int WARPS = 8, ROWS = RT / 32, COLUMNS = RT / WARPS;
    const int W = sizeof(G) == 16 ? 2 : 4; /* columns at a time */
    __shared__ G xs[RT], row_v[WARPS][RT], column_v[RT];
    __shared__ R xs_m[RT], row_m[WARPS][RT], column_m[RT];
    /* the pair (p >= q) of tile numbers; thread blocks that run together go down the same columns,
     * so what they read lies side by side in memory */
    const int64_t t = upper ? blockIdx.x : gridDim.x - 1 - blockIdx.x;
    int p = (int)((sqrt(8.0 * t + 1.0) - 1.0) * 0.5);
    while ((int64_t)(p + 1) * (p + 2) / 2 <= t) ++p;
    while ((int64_t)p * (p + 1) / 2 > t) --p;
    const int q = (int)(t - (int64_t)p * (p + 1) / 2), last = (n - 1) / RT, tid = threadIdx.x;
    const int I = upper ? q : last - q, J = upper ? p : last - p, lane = tid & 31, warp = tid >> 5;
    const int r0 = I * RT, c0 = J * RT, rows = min(RT, n - r0);
    if (tid < RT) {
        xs[tid] = c0 + tid < n ? (x ? x[c0 + tid] : make<G>(1)) : make<G>(0);
        xs_m[tid] = modulus(xs[tid]);
    }
    G xr[ROWS], sum[ROWS];
    R xr_m[ROWS], sum_m[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int i = r0 + lane + 32 * r;
        xr[r] = i < n ? (x ? x[i] : make<G>(1)) : make<G>(0);
        xr_m[r] = modulus(xr[r]);
        sum[r] = make<G>(0), sum_m[r] = 0;
    }
    __syncthreads();
#pragma unroll 1
    for (int k = warp * COLUMNS; k < (warp + 1) * COLUMNS; k += W) {
        G v[W][ROWS], down[W];
        R down_m[W];
#pragma unroll
        for (int c = 0; c < W; ++c) { /* rows from .. to - 1 of the column are stored */
            const int d = c0 + k + c - r0, from = I != J || upper ? 0 : d;
            const int to = c0 + k + c >= n ? from : I == J && upper ? min(rows, d + 1) : rows;
            const G *a = A + r0 + lane + (int64_t)(c0 + k + c) * lda;
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = lane + 32 * r;
                v[c][r] = i >= from && i < to ? a[32 * r] : make<G>(0);
            }
        }
#pragma unroll
        for (int c = 0; c < W; ++c) {
            const G xc = xs[k + c];
            const R xc_m = xs_m[k + c];
            down[c] = make<G>(0), down_m[c] = 0;
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const bool on = r0 + lane + 32 * r == c0 + k + c; /* the diagonal: once */
                const G a = on ? diagonal<H>(v[c][r]) : v[c][r];
                const R m = modulus(a);
                pfma(sum[r], a, xc);
                sum_m[r] += m * xc_m;
                pfma(down[c], on ? make<G>(0) : cj<H>(a), xr[r]);
                down_m[c] += (on ? 0 : m) * xr_m[r];
            }
        }
        fold<W>(down), fold<W>(down_m);
        if (lane % (32 / W) == 0) {
            column_v[k + lane / (32 / W)] = down[0];
            column_m[k + lane / (32 / W)] = down_m[0];
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        row_v[warp][lane + 32 * r] = sum[r], row_m[warp][lane + 32 * r] = sum_m[r];
    __syncthreads();
    if (tid >= RT) return;
    G all = row_v[0][tid];
    R all_m = row_m[0][tid];
    for (int w = 1; w < WARPS; ++w) all = all + row_v[w][tid], all_m += row_m[w][tid];
    if (I == J) all = all + column_v[tid], all_m += column_m[tid];
    if (r0 + tid < n) part[(int64_t)J * n + r0 + tid] = {all, all_m};
    if (I != J && c0 + tid < n) part[(int64_t)I * n + c0 + tid] = {column_v[tid], column_m[tid]};
}

/** The larger one, v >= 0; NaN counts as infinity. By each thread for itself; no barrier. */
__device__ inline double larger(double most, double v) {
    return v <= most ? most : v <= DBL_MAX ? v : INFINITY;
}

/** Errors of a solution: the largest of the rows that a thread has looked at. */
struct row_errors {
    double omega = 0, r = 0, x = 0, b = 0;

    /** A row: its |r|, (|A| |x|)_i, |x|, |b|. Where omega is not finite, neither is |r|. By each
     *  thread for itself; no barrier. */
    __device__ void add(double size, double sum, double xi, double right) {
        const double q = size == 0 ? 0 : size / (sum + right);
        omega = larger(omega, q);
        r = larger(r, q <= DBL_MAX ? size : INFINITY);
        x = larger(x, xi);
        b = larger(b, right);
    }

    /** out[0 ... 3] := omega, |r|, |x|, |b|, the largest of the block. scratch: shared, a number
     *  per warp. By all threads of a block; contains block barriers. */
    __device__ void report(double *scratch, double *out) const {
        const double most[] = {block_max(omega, scratch), block_max(r, scratch),
                               block_max(x, scratch), block_max(b, scratch)};
        if (threadIdx.x > 0) return;
        for (int k = 0; k < 4; ++k) out[k] = most[k];
    }
};

/** r := b - A x from the parts; out[4 block ...] := largest omega, |r|, |x|, |b| of the block.
 *  By all threads of a block; contains block barriers. */
template <class G>
__global__ void residual_sum_kernel(int n, int tiles, const sums<G> *part, const G *x, const G *b,
                                    G *r, double *out) {
    __shared__ double scratch[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    row_errors e;
    if (i < n) {
        G v = b ? b[i] : make<G>(0);
        double m = 0;
        const double right = modulus(v);
        for (int s = 0; s < tiles; ++s) {
            const sums<G> q = part[(int64_t)s * n + i];
            v = v - q.v;
            m += (double)q.m;
        }
        r[i] = v;
        e.add(modulus(v), m, x ? (double)modulus(x[i]) : 1, right);
    }
    e.report(scratch, out + 4 * blockIdx.x);
}

/** out[block] := the largest row sum of |A| from the parts. By all threads of a block; contains
 *  block barriers. */
template <class G> __global__ void norm_kernel(int n, int tiles, const sums<G> *part, double *out) {
    __shared__ double scratch[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double m = 0;
    if (i < n)
        for (int s = 0; s < tiles; ++s) m += (double)part[(int64_t)s * n + i].m;
    m = block_max(m, scratch);
    if (threadIdx.x == 0) out[blockIdx.x] = m;
}

/** out[block] := the largest modulus of the block's part of a triangle; NaN counts as infinity.
 *  By all threads of a block; contains block barriers. */
template <class G>
__global__ void triangle_max_kernel(int n, const G *A, int64_t lda, int upper, double *out) {
    __shared__ double scratch[32];
    typename scalar_of<G>::real most = 0;
    bool odd = false;
    for (int64_t j = blockIdx.y; j < n; j += gridDim.y) {
        const int64_t from = upper ? 0 : j, to = upper ? j + 1 : n;
        for (int64_t i = from + blockIdx.x * blockDim.x + threadIdx.x; i < to;
             i += gridDim.x * blockDim.x) {
            const typename scalar_of<G>::real m = modulus(A[i + j * lda]);
            odd |= !(m <= m);
            most = m > most ? m : most;
        }
    }
    const double m = block_max(odd ? INFINITY : (double)most, scratch);
    if (threadIdx.x == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = m;
}

/** From D, six values for each block: positive, negative, zero eigenvalues, smallest
 *  |eigenvalue| of a pivot, largest |entry|, pairs. By all threads of a block; contains block
 *  barriers. */
template <bool H, class G>
__global__ void inertia_kernel(int n, const G *A, int64_t lda, const int *kind, double *out) {
    __shared__ double scratch[32];
    double pos = 0, neg = 0, zero = 0, least = INFINITY, most = 0, two = 0;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        const G *a = A + k + (int64_t)k * lda;
        if (kind && kind[k] == 2) continue;
        const double d = re(a[0]);
        if (kind && kind[k] == 1) {
            const double e = modulus(a[1]), f = re(a[lda + 1]), half = (d - f) / 2;
            const double root = hypot(half, e), mean = (d + f) / 2;
            const double big = mean >= 0 ? mean + root : mean - root;
            const double small = (d * f - e * e) / big;
            pos += (big > 0) + (small > 0), neg += (big < 0) + (small < 0);
            least = fmin(least, fmin(fabs(big), fabs(small)));
            const double d2 = modulus(a[lda + 1]), d1 = modulus(a[0]);
            most = fmax(most, fmax(d1, fmax(d2, e)));
            two += 1;
        } else {
            pos += d > 0, neg += d < 0;
            zero += is_zero(a[0]);
            least = fmin(least, (double)modulus(a[0]));
            most = fmax(most, (double)modulus(a[0]));
        }
    }
    pos = block_sum(pos, scratch), neg = block_sum(neg, scratch), zero = block_sum(zero, scratch);
    two = block_sum(two, scratch);
    least = 1 / block_max(1 / least, scratch);
    most = block_max(most, scratch);
    if (threadIdx.x == 0) {
        double *o = out + 6 * blockIdx.x;
        o[0] = pos, o[1] = neg, o[2] = zero, o[3] = least, o[4] = most, o[5] = two;
    }
}

} // namespace mpki
#endif
