/* SPDX-License-Identifier: BSD-3-Clause */
/* Residuals in twice the precision of double, and the backward errors of a solution, a warp a row. The sums
 * do not depend on who is first: a row is added up in a fixed order, blocks are in theirs. */
#include "../launch.cuh"
#include "../vectors/product.cuh"
#include "refine.h"

using namespace mpki;

static const double SMALL = sizeof(R) == sizeof(float) ? 1e-30 : 1e-270;
static const double LARGE = sizeof(R) == sizeof(float) ? 1e37 : 1e300;
enum { THREADS = 32 * MPKI_CUDA_REFINE_ROWS, SUM_THREADS = 256 };

template <class E> __device__ static double length(E v) {
    const number a = wide(v);
    return scalar_of<E>::complex ? hypot(a.x, a.y) : fabs(a.x);
}
__device__ static unsigned long long bits(double x) {
    return (unsigned long long)__double_as_longlong(x);
}
__device__ static double number_of(unsigned long long x) {
    return __longlong_as_double((long long)x);
}
__device__ static void raise_to(unsigned long long *most, double x) {
    if (bits(x) > *most) atomicMax(most, bits(x));
}
__device__ static bool inside(double x) {
    return x == 0 || (x > SMALL && x < LARGE);
}

/* the largest of x and of b */
template <class E>
__global__ void extremes_kernel(int n, const E *x, const E *b, mpki_cuda_errors *errors) {
    unsigned long long most[2] = {0, 0};
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += (int)(gridDim.x * blockDim.x)) {
        const unsigned long long p = bits(length(x[i])), q = bits(length(b[i]));
        if (p > most[0]) most[0] = p;
        if (q > most[1]) most[1] = q;
    }
    raise_to(&errors->x_norm, number_of(most[0]));
    raise_to(&errors->b_norm, number_of(most[1]));
}

/* What a row's residual r, with w = |A_i| |x| + |b_i| and the sum of |A_i|, says of x: as
 * problem/measure_t.c. */
__device__ static void judge(mpki_cuda_errors *errors, double tiny, double r, double w, double own,
                             double row_norm) {
    const double all = row_norm * number_of(errors->x_norm) + own;
    raise_to(&errors->r_norm, r);
    raise_to(&errors->norm_inf, row_norm);
    if (!inside(all) || !inside(row_norm) ||
        (all == 0 && row_norm > 0 && number_of(errors->x_norm) > 0))
        raise_to(&errors->odd, 1);
    if (r == 0) return;
    if (w > tiny * all)
        raise_to(&errors->omega1, r / w);
    else
        raise_to(&errors->omega2, r / (w - own + row_norm * number_of(errors->x_norm)));
}

template <class E>
__global__ void __launch_bounds__(THREADS)
    residual_kernel(const mpki_cuda_refine a, double tiny, const E *x, const E *b, E *r) {
    __shared__ double squares[2 * MPKI_CUDA_REFINE_ROWS];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int i = (int)(blockIdx.x * MPKI_CUDA_REFINE_ROWS) + warp;
    const bool mine = i < a.n;
    const E *ax = (const E *)a.ax;
    row_sum<E> s = {{0, 0}, {0, 0}, 0};
    double w = 0, row_norm = 0;
    for (int64_t e = mine ? a.ptr[i] + lane : 0; mine && e < a.ptr[i + 1]; e += 32) {
        const int32_t at = a.src[e];
        const E v = at >= 0 ? ax[at] : a.hermitian ? conj(ax[~at]) : ax[~at], xj = x[a.col[e]];
        const double size = length(v);
        s.subtract(v, xj);
        row_norm += size;
        w += size * length(xj);
    }
    for (int o = 16; o; o /= 2) {
        s.join(s.across(o));
        w += shfl_xor(w, o), row_norm += shfl_xor(row_norm, o);
    }
    if (lane == 0) {
        const double scale = 1 / number_of(a.errors->b_norm);
        double r2 = 0, b2 = 0;
        if (mine) {
            const number own = wide(b[i]);
            add(s.re, own.x);
            add(s.im, own.y);
            const E v = narrow<E>(s.re.high + s.re.low, s.im.high + s.im.low);
            const double size = length(v), bi = length(b[i]);
            r[i] = v;
            judge(a.errors, tiny, size, w + bi, bi, row_norm);
            r2 = size * scale * (size * scale), b2 = bi * scale * (bi * scale);
        }
        squares[2 * warp] = r2, squares[2 * warp + 1] = b2;
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        double sum = 0;
        for (int k = 0; k < MPKI_CUDA_REFINE_ROWS; ++k) sum += squares[2 * k + (int)threadIdx.x];
        a.partial[2 * (int64_t)blockIdx.x + threadIdx.x] = sum;
    }
}

/* One block. */
static __global__ void squares_kernel(int blocks, const double *partial, mpki_cuda_errors *errors) {
    __shared__ double sums[2 * SUM_THREADS];
    double r2 = 0, b2 = 0;
    for (int k = (int)threadIdx.x; k < blocks; k += SUM_THREADS)
        r2 += partial[2 * (int64_t)k], b2 += partial[2 * (int64_t)k + 1];
    sums[2 * threadIdx.x] = r2, sums[2 * threadIdx.x + 1] = b2;
    __syncthreads();
    if (threadIdx.x == 0) {
        r2 = b2 = 0;
        for (int k = 0; k < SUM_THREADS; ++k) r2 += sums[2 * k], b2 += sums[2 * k + 1];
        errors->r2 = r2, errors->b2 = b2;
    }
}

template <class E> __global__ void add_kernel(int n, const E *d, E *x) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) x[i] = x[i] + d[i];
}

static int measure(mpki_cuda *cuda, const mpki_cuda_refine *a, double tiny, const void *x,
                   const void *b, void *r, mpki_cuda_errors *out) {
    const int rows = (a->n + MPKI_CUDA_REFINE_ROWS - 1) / MPKI_CUDA_REFINE_ROWS;
    const int blocks = (a->n + 255) / 256 < 1024 ? (a->n + 255) / 256 : 1024;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemsetAsync(a->errors, 0, sizeof *a->errors, cuda->sparse));
    MPKI_LAUNCH(extremes_kernel<T>, blocks, 256, 0, cuda->sparse, a->n, (const T *)x, (const T *)b,
                a->errors);
    MPKI_LAUNCH(residual_kernel<T>, rows, THREADS, 0, cuda->sparse, *a, tiny, (const T *)x,
                (const T *)b, (T *)r);
    MPKI_LAUNCH(squares_kernel, 1, SUM_THREADS, 0, cuda->sparse, rows, a->partial, a->errors);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(cudaMemcpyAsync(out, a->errors, sizeof *out, cudaMemcpyDeviceToHost, cuda->sparse));
    MPKI_TRY(cudaStreamSynchronize(cuda->sparse));
    return MPK_OK;
}

static int add_to(mpki_cuda *cuda, int32_t n, const void *d, void *x) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(add_kernel<T>, (n + 255) / 256, 256, 0, cuda->sparse, n, (const T *)d, (T *)x);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int move(mpki_cuda *cuda, int32_t n, const void *from, void *to) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(
        cudaMemcpyAsync(to, from, (size_t)n * sizeof(T), cudaMemcpyDeviceToDevice, cuda->sparse));
    return MPK_OK;
}

extern const mpki_cuda_refine_kind FN(cuda_refine) = {measure, add_to, move};
