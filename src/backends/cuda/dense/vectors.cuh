/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_CUH
#define MPKI_CUDA_VECTORS_CUH
/** What refinement, errors and inertia need beside the factors: triangles from one kind of entries
 *  to another, largest entries, residuals with |A| |x|, sums. All sums are taken in a fixed order. */
#include "../runtime.cuh"
#include "tile.cuh"

#include <float.h>

namespace mpki {

template <class F, class G> __host__ __device__ inline void cast(F from, G &to) {
    to = (G)from;
}
template <class F, class G> __host__ __device__ inline void cast(cx<F> from, cx<G> &to) {
    to.x = (G)from.x, to.y = (G)from.y;
}

/** to (lower triangle) = scale * from's triangle; upper: from is read in reverse order, J A J. back:
 *  to's upper triangle, in reverse order, from from's lower one. */
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

/** Rows in reverse order, in place. */
template <class G> __global__ void reverse_kernel(int n, G *x, int64_t ldx) {
    const int c = blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += gridDim.x * blockDim.x) {
        const G t = x[i + c * ldx];
        x[i + c * ldx] = x[n - 1 - i + c * ldx];
        x[n - 1 - i + c * ldx] = t;
    }
}

template <class G>
__global__ void axpy_kernel(int64_t n, int64_t cols, G alpha, const G *x, int64_t ldx, G *y,
                            int64_t ldy) {
    for (int64_t c = blockIdx.y; c < cols; c += gridDim.y)
        for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            pfma(y[i + c * ldy], alpha, x[i + c * ldx]);
}

/** Sums over a thread block of 256, in a fixed order; the result in thread 0. */
__device__ inline double block_sum(double v, double *scratch) {
    for (int o = 16; o; o >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, o);
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w)
        v += scratch[w];
    __syncthreads();
    return v;
}
/** The largest; NaN counts as infinity. */
__device__ inline double block_max(double v, double *scratch) {
    if (!(v <= DBL_MAX)) v = INFINITY;
    for (int o = 16; o; o >>= 1)
        v = fmax(v, __shfl_xor_sync(0xffffffffu, v, o));
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w)
        v = fmax(v, scratch[w]);
    __syncthreads();
    return v;
}

__device__ inline double imaginary(float) {
    return 0;
}
__device__ inline double imaginary(double) {
    return 0;
}
template <class F> __device__ inline double imaginary(cx<F> a) {
    return a.y;
}

/** out[2 block], out[2 block + 1]: part of x^H y. */
template <class G> __global__ void dot_kernel(int n, const G *x, const G *y, double *out) {
    __shared__ double scratch[32];
    double a = 0, b = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const double xr = re(x[i]), xi = imaginary(x[i]), yr = re(y[i]), yi = imaginary(y[i]);
        a += xr * yr + xi * yi;
        b += xr * yi - xi * yr;
    }
    a = block_sum(a, scratch);
    b = block_sum(b, scratch);
    if (threadIdx.x == 0) out[2 * blockIdx.x] = a, out[2 * blockIdx.x + 1] = b;
}

static const int RT = 128, RC = 16; /* tiles of the residual, columns at a time */

template <class G> struct sums {
    G v;
    typename scalar_of<G>::real m;
};

/** For each tile (I, J) of the stored triangle: slot J of rows I and slot I of rows J get their part
 *  of A x and |A| |x|. x NULL: ones. HERMITIAN: the other triangle is the conjugate. */
template <bool H, class G>
__global__ void __launch_bounds__(256)
    residual_tiles_kernel(int n, int upper, const G *A, int64_t lda, const G *x,
                          sums<G> *part) {
    typedef typename scalar_of<G>::real R;
    __shared__ G a[RC][RT + 1];
    __shared__ G xi[RT], xj[RT];
    __shared__ G other[RT];
    __shared__ R other_m[RT];
    /* pair (p >= q) of tile numbers; thread blocks that run together go down the same columns, so
     * that what they read lies side by side in memory */
    const int64_t t = upper ? blockIdx.x : gridDim.x - 1 - blockIdx.x;
    int p = (int)((sqrt(8.0 * t + 1.0) - 1.0) * 0.5);
    while ((int64_t)(p + 1) * (p + 2) / 2 <= t)
        ++p;
    while ((int64_t)p * (p + 1) / 2 > t)
        --p;
    const int q = (int)(t - (int64_t)p * (p + 1) / 2), last = (n - 1) / RT, tid = threadIdx.x;
    const int I = upper ? q : last - q, J = upper ? p : last - p;
    const int r0 = I * RT, c0 = J * RT;
    if (tid < RT) xi[tid] = r0 + tid < n ? (x ? x[r0 + tid] : make<G>(1)) : make<G>(0);
    if (tid < RT) xj[tid] = c0 + tid < n ? (x ? x[c0 + tid] : make<G>(1)) : make<G>(0);
    G row = make<G>(0);
    R row_m = 0;
    const int i = tid % RT, half = tid / RT, cj_ = tid / RC, cs = tid % RC;
    for (int k = 0; k < RT; k += RC) {
        __syncthreads();
        for (int e = tid; e < RT * RC; e += 256) {
            const int r = e % RT, c = e / RT, gr = r0 + r, gc = c0 + k + c;
            const bool in = gr < n && gc < n && (upper ? gr <= gc : gr >= gc);
            G v = in ? A[gr + (int64_t)gc * lda] : make<G>(0);
            a[c][r] = gr == gc ? diagonal<H>(v) : v;
        }
        __syncthreads();
#pragma unroll
        for (int c = half * (RC / 2); c < half * (RC / 2) + RC / 2; ++c) {
            const G v = a[c][i];
            pfma(row, v, xj[k + c]);
            row_m += modulus(v) * modulus(xj[k + c]);
        }
        G col = make<G>(0);
        R col_m = 0;
        for (int r = cs; r < RT; r += RC) {
            G v = cj<H>(a[cj_][r]);
            if (r0 + r == c0 + k + cj_) v = make<G>(0); /* the diagonal was in the row */
            pfma(col, v, xi[r]);
            col_m += modulus(v) * modulus(xi[r]);
        }
        for (int o = RC / 2; o; o >>= 1) {
            col = col + shfl_xor(col, o);
            col_m += __shfl_xor_sync(0xffffffffu, col_m, o);
        }
        if (cs == 0) other[k + cj_] = col, other_m[k + cj_] = col_m;
    }
    __syncthreads();
    __shared__ G upper_half[RT];
    __shared__ R upper_half_m[RT];
    if (half) upper_half[i] = row, upper_half_m[i] = row_m;
    __syncthreads();
    if (!half) {
        row = row + upper_half[i], row_m += upper_half_m[i];
        if (I == J) row = row + other[i], row_m += other_m[i];
        if (r0 + i < n) part[(int64_t)J * n + r0 + i] = {row, row_m};
        if (I != J && c0 + i < n) part[(int64_t)I * n + c0 + i] = {other[i], other_m[i]};
    }
}

/** r = b - A x from the parts; out[4 block ...]: largest omega, |r|, |x|, |b| of the block. */
template <class G>
__global__ void residual_sum_kernel(int n, int tiles, const sums<G> *part, const G *x, const G *b,
                                    G *r, double *out) {
    __shared__ double scratch[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double omega = 0, rm = 0, xm = 0, bm = 0;
    if (i < n) {
        G v = b ? b[i] : make<G>(0);
        double m = 0;
        bm = modulus(v);
        for (int s = 0; s < tiles; ++s) {
            const sums<G> q = part[(int64_t)s * n + i];
            v = v - q.v;
            m += (double)q.m;
        }
        r[i] = v;
        rm = modulus(v), xm = x ? (double)modulus(x[i]) : 1;
        omega = rm == 0 ? 0 : rm / (m + bm);
    }
    omega = block_max(omega, scratch);
    rm = block_max(rm, scratch);
    xm = block_max(xm, scratch);
    bm = block_max(bm, scratch);
    if (threadIdx.x == 0) {
        double *o = out + 4 * blockIdx.x;
        o[0] = omega, o[1] = rm, o[2] = xm, o[3] = bm;
    }
}

/** Largest row sum of |A| from the parts, by blocks. */
template <class G>
__global__ void norm_kernel(int n, int tiles, const sums<G> *part, double *out) {
    __shared__ double scratch[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double m = 0;
    if (i < n)
        for (int s = 0; s < tiles; ++s)
            m += (double)part[(int64_t)s * n + i].m;
    m = block_max(m, scratch);
    if (threadIdx.x == 0) out[blockIdx.x] = m;
}

/** Largest modulus of a triangle, by blocks; NaN as infinity. */
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

/** From D: out[5 block ...]: positive, negative, zero eigenvalues, smallest |eigenvalue| of a pivot,
 *  largest |entry|; pairs in out[5]. */
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
