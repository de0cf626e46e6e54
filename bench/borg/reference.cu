/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels by hand in CUDA, with N (and SINGLE) given on the compiler's command line, as for
 * borgc: a matrix for each P = 2, 4, ... 32 neighbouring lanes (P >= N), row i in lane i's
 * registers, exchange by shuffles; an item for each thread. Arguments are those of borgc's kernels,
 * then the first and the last group. A block is 128 threads for matrices, the most whole groups of
 * 256 threads for items. */
#include <stdint.h>

#ifdef SINGLE
typedef float T;
#else
typedef double T;
#endif

#define PAD(n) ((n) <= 2 ? 2 : (n) <= 4 ? 4 : (n) <= 8 ? 8 : (n) <= 16 ? 16 : 32)
enum { P = PAD(N), NN = N * N };
static_assert(N <= 32, "a matrix must fit a warp");

#define KERNEL extern "C" __global__ void
/* lane within the matrix, the matrix; lanes beyond the last matrix or row compute along and store
 * nothing */
#define WHERE                                                                                      \
    const int lane = threadIdx.x % P;                                                              \
    const int64_t mine = first + (int64_t)blockIdx.x * (blockDim.x / P) + threadIdx.x / P;         \
    const bool on = mine < last && lane < N;                                                       \
    const int64_t g = mine < last ? mine : last - 1;                                               \
    const int row = lane < N ? lane : N - 1
#define ITEM                                                                                       \
    const int64_t i = first * N + (int64_t)blockIdx.x * blockDim.x + threadIdx.x;                  \
    if (i >= last * N) return

template <typename S> static __device__ S from(S x, int lane) {
    return __shfl_sync(0xffffffffu, x, lane, P);
}

static __device__ T most(T x) {
#pragma unroll
    for (int h = P / 2; h > 0; h /= 2) {
        T y = __shfl_xor_sync(0xffffffffu, x, h, P);
        x = y > x ? y : x;
    }
    return x;
}

KERNEL gema(T *c, const T *a, const T *b, int64_t first, int64_t last) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x, end = last * NN;
    for (int64_t k = first * NN + (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < end; k += step)
        c[k] = a[k] + b[k];
}

KERNEL gemm(T *c, const T *a, const T *b, int64_t first, int64_t last) {
    WHERE;
    T y[N], z[N];
#pragma unroll
    for (int j = 0; j < N; j++) y[j] = b[g * NN + j * N + row], z[j] = 0;
#pragma unroll
    for (int k = 0; k < N; k++) {
        T x = a[g * NN + k * N + row];
#pragma unroll
        for (int j = 0; j < N; j++) z[j] += x * from(y[j], k);
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        if (on) c[g * NN + j * N + row] = z[j];
}

KERNEL gemm_ab(T *c, int32_t ldc, int64_t stride_c, const T *a, int32_t lda, int64_t stride_a,
               const T *b, int32_t ldb, int64_t stride_b, int64_t first, int64_t last) {
    WHERE;
    T y[N], z[N];
#pragma unroll
    for (int j = 0; j < N; j++)
        y[j] = b[g * stride_b + j * ldb + row], z[j] = c[g * stride_c + j * ldc + row];
#pragma unroll
    for (int k = 0; k < N; k++) {
        T x = a[g * stride_a + k * lda + row];
#pragma unroll
        for (int j = 0; j < N; j++) z[j] -= x * from(y[j], k);
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        if (on) c[g * stride_c + j * ldc + row] = z[j];
}

KERNEL gemm_adb(T *c, int32_t ldc, int64_t stride_c, const T *a, int32_t lda, int64_t stride_a,
                const T *d, const T *b, int32_t ldb, int64_t stride_b, int64_t first, int64_t last) {
    WHERE;
    T z[N], before = 0, here = b[g * stride_b + row], side = 0;
#pragma unroll
    for (int j = 0; j < N; j++) z[j] = c[g * stride_c + j * ldc + row];
#pragma unroll
    for (int k = 0; k < N; k++) {
        T x = a[g * stride_a + k * lda + row];
        T next = k + 1 < N ? b[g * stride_b + (k + 1) * ldb + row] : 0;
        T down = d[g * 2 * N + 2 * k + 1];
        T y = d[g * 2 * N + 2 * k] * here + side * before + down * next;
#pragma unroll
        for (int j = 0; j < N; j++) z[j] -= x * from(y, j);
        before = here, here = next, side = down;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        if (on) c[g * stride_c + j * ldc + row] = z[j];
}

KERNEL trsv(const T *a, T *b, int64_t first, int64_t last) {
    WHERE;
    T t[N], x = b[g * N + row], d = a[g * NN + row * (N + 1)];
#pragma unroll
    for (int j = 0; j < N; j++) t[j] = a[g * NN + j * N + row];
#pragma unroll
    for (int k = 0; k < N - 1; k++) {
        T y = from(x, k);
        if (lane > k) x -= t[k] * y;
    }
    x /= d;
#pragma unroll
    for (int k = N - 1; k > 0; k--) {
        T y = from(x, k);
        if (lane < k) x -= t[k] * y;
    }
    if (on) b[g * N + row] = x;
}

KERNEL ldus(T *a, int64_t first, int64_t last) {
    WHERE;
    T t[N];
#pragma unroll
    for (int j = 0; j < N; j++) t[j] = a[g * NN + j * N + row];
#pragma unroll
    for (int s = 0; s < N; s++) {
        T r = 1 / from(t[s], s);
        T l = lane > s ? t[s] * r : 0;
#pragma unroll
        for (int j = s + 1; j < N; j++) {
            T u = from(t[j], s);
            t[j] = lane == s ? t[j] * r : t[j] - l * u;
        }
        if (lane > s) t[s] = l;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        if (on) a[g * NN + j * N + row] = t[j];
}

KERNEL llt(T *a, int32_t lda, int64_t stride, int32_t *info, T tol, int64_t first, int64_t last) {
    WHERE;
    T *x = a + g * stride, t[N];
    int zero = 0;
#pragma unroll
    for (int j = 0; j < N; j++) t[j] = lane >= j ? x[j * lda + row] : 0;
    T small = tol * most(abs(x[row * (lda + 1)]));
#pragma unroll
    for (int s = 0; s < N; s++) {
        T d = from(t[s], s);
        T r = d > small ? rsqrt(d) : 0;
        zero += !(d > small);
        t[s] *= r;
#pragma unroll
        for (int j = s + 1; j < N; j++) t[j] -= t[s] * from(t[s], j);
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        if (on && lane >= j) x[j * lda + row] = t[j];
    if (on && lane == 0)
        info[4 * g] = zero > 0, info[4 * g + 1] = N - zero, info[4 * g + 2] = 0, info[4 * g + 3] = zero;
}

KERNEL ldlt(T *a, int32_t lda, int64_t stride, int32_t *info, T tol, int64_t first, int64_t last) {
    WHERE;
    T *x = a + g * stride, t[N];
    int zero = 0, positive = 0;
#pragma unroll
    for (int j = 0; j < N; j++) t[j] = lane >= j ? x[j * lda + row] : 0;
    T small = tol * most(abs(x[row * (lda + 1)]));
#pragma unroll
    for (int s = 0; s < N; s++) {
        T d = from(t[s], s);
        bool good = abs(d) > small;
        T l = good ? t[s] / d : 0;
        zero += !good, positive += good && d > 0;
#pragma unroll
        for (int j = s + 1; j < N; j++) t[j] -= l * from(t[s], j);
        if (lane > s) t[s] = l;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        if (on && lane >= j) x[j * lda + row] = t[j];
    if (on && lane == 0)
        info[4 * g] = zero > 0, info[4 * g + 1] = positive, info[4 * g + 2] = N - positive - zero,
                 info[4 * g + 3] = zero;
}

KERNEL pade(T *dx, T *dab, const T *x, const T *g, const T *ab, int64_t total, int64_t first,
            int64_t last) {
    ITEM;
    T v = x[i], grad = g[i], power[6], p = 0, q = 0, dp = 0, dq = 0;
    power[0] = 1;
#pragma unroll
    for (int k = 1; k < 6; k++) power[k] = power[k - 1] * v;
#pragma unroll
    for (int k = 0; k < 6; k++) p += ab[k] * power[k];
#pragma unroll
    for (int k = 1; k < 6; k++) dp += (T)k * ab[k] * power[k - 1];
#pragma unroll
    for (int k = 1; k < 5; k++) q += ab[5 + k] * power[k], dq += (T)k * ab[5 + k] * power[k - 1];
    T sign = q < 0 ? -1 : 1, r = 1 / (1 + abs(q)), f = p * r;
    dx[i] = grad * (dp - f * sign * dq) * r;
#pragma unroll
    for (int k = 0; k < 6; k++) dab[k * total + i] = grad * power[k] * r;
#pragma unroll
    for (int k = 1; k < 5; k++) dab[(5 + k) * total + i] = -grad * sign * f * power[k] * r;
}

KERNEL enumerate(T *value, const T *c, const T *d, const T *b, int64_t first, int64_t last) {
    ITEM;
    T x[10], sum = 0;
    bool good = true;
#pragma unroll
    for (int k = 0; k < 10; k++) {
        x[k] = (T)((int)((uint32_t)i >> 2 * k & 3u) - 2);
        sum += c[k] * x[k];
    }
#pragma unroll
    for (int r = 0; r < 8; r++) {
        T left = 0;
#pragma unroll
        for (int k = 0; k < 10; k++) left += d[10 * r + k] * x[k];
        good = good && left <= b[r];
    }
    value[i] = good ? sum : (T)-1e30;
}

static __device__ T rosenbrock(T a, T b, T x, T y) {
    T u = a - x, v = y - x * x;
    return u * u + b * v * v;
}

KERNEL frcg(T *xy, const T *ab, int64_t first, int64_t last) {
    ITEM;
    T a = ab[2 * i], b = ab[2 * i + 1], x = xy[2 * i], y = xy[2 * i + 1];
    T px = 0, py = 0, old = 1;
    for (int step = 0; step < 16; step++) {
        T v = y - x * x, gx = -2 * (a - x) - 4 * b * x * v, gy = 2 * b * v;
        T norm = gx * gx + gy * gy;
        T beta = step == 0 ? 0 : norm / (old < (T)1e-30 ? (T)1e-30 : old);
        px = beta * px - gx, py = beta * py - gy, old = norm;
        T length = (T)0.125, best = rosenbrock(a, b, x, y), taken = 0;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            T f = rosenbrock(a, b, x + length * px, y + length * py);
            taken = f < best ? length : taken;
            best = f < best ? f : best;
            length *= (T)0.25;
        }
        x += taken * px, y += taken * py;
    }
    xy[2 * i] = x, xy[2 * i + 1] = y;
}
