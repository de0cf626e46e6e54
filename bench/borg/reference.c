/* SPDX-License-Identifier: BSD-3-Clause */
/* The seven kernels and the unpivoted factorizations as one would write them by hand in C, for the
 * compiler to vectorise: N and SINGLE are given on its command line, as for borgc. Two ways:
 *   OVER = batch   one matrix (or item) for each SIMD lane: omp simd over the batch
 *   OVER = matrix  one matrix after the other, omp simd over rows
 * Every function has the arguments that borgc gives the kernel's. */
#include <math.h>
#include <stdint.h>

#ifdef SINGLE
typedef float T;
#define SQRT sqrtf
#define ABS fabsf
#define MAX fmaxf
#else
typedef double T;
#define SQRT sqrt
#define ABS fabs
#define MAX fmax
#endif

enum { NN = N * N };

/* Loops inside of one over the batch: compilers vectorise that one where its body is straight. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#ifdef OVER_BATCH
#define BATCH _Pragma("omp simd")
#define ROWS
#else
#define BATCH
#define ROWS _Pragma("omp simd")
#endif

void gema(int64_t first, int64_t last, T *restrict c, const T *restrict a, const T *restrict b) {
    BATCH for (int64_t k = first * NN; k < last * NN; k++) c[k] = a[k] + b[k];
}

void gemm(int64_t first, int64_t last, T *restrict c, const T *restrict a, const T *restrict b) {
    BATCH for (int64_t g = first; g < last; g++) {
        const T *x = a + g * NN, *y = b + g * NN;
        for (int j = 0; j < N; j++) {
            T z[N];
            ROWS for (int i = 0; i < N; i++) z[i] = 0;
            for (int k = 0; k < N; k++) {
                T f = y[j * N + k];
                ROWS for (int i = 0; i < N; i++) z[i] += x[k * N + i] * f;
            }
            ROWS for (int i = 0; i < N; i++) c[g * NN + j * N + i] = z[i];
        }
    }
}

void trsv(int64_t first, int64_t last, const T *restrict a, T *restrict b) {
    BATCH for (int64_t g = first; g < last; g++) {
        const T *x = a + g * NN;
        T y[N];
        ROWS for (int i = 0; i < N; i++) y[i] = b[g * N + i];
        for (int k = 0; k < N - 1; k++) {
            T f = y[k];
            ROWS for (int i = k + 1; i < N; i++) y[i] -= x[k * N + i] * f;
        }
        ROWS for (int i = 0; i < N; i++) y[i] /= x[i * (N + 1)];
        for (int k = N - 1; k > 0; k--) {
            T f = y[k];
            ROWS for (int i = 0; i < k; i++) y[i] -= x[k * N + i] * f;
        }
        ROWS for (int i = 0; i < N; i++) b[g * N + i] = y[i];
    }
}

void ldus(int64_t first, int64_t last, T *restrict a) {
    BATCH for (int64_t g = first; g < last; g++) {
        T *x = a + g * NN;
        for (int s = 0; s < N; s++) {
            T r = 1 / x[s * (N + 1)];
            ROWS for (int i = s + 1; i < N; i++) x[s * N + i] *= r;
            for (int j = s + 1; j < N; j++) {
                T f = x[j * N + s];
                ROWS for (int i = s + 1; i < N; i++) x[j * N + i] -= x[s * N + i] * f;
                x[j * N + s] = f * r;
            }
        }
    }
}

void pade(int64_t first, int64_t last, T *restrict dx, T *restrict dab, const T *restrict x,
          const T *restrict g, const T *restrict ab, int64_t total) {
#pragma omp simd
    for (int64_t i = first * N; i < last * N; i++) {
        T v = x[i], grad = g[i], power[6], p = 0, q = 0, dp = 0, dq = 0;
        power[0] = 1;
        for (int k = 1; k < 6; k++) power[k] = power[k - 1] * v;
        for (int k = 0; k < 6; k++) p += ab[k] * power[k];
        for (int k = 1; k < 6; k++) dp += (T)k * ab[k] * power[k - 1];
        for (int k = 1; k < 5; k++) q += ab[5 + k] * power[k];
        for (int k = 1; k < 5; k++) dq += (T)k * ab[5 + k] * power[k - 1];
        T sign = q < 0 ? -1 : 1, r = 1 / (1 + ABS(q)), f = p * r;
        dx[i] = grad * (dp - f * sign * dq) * r;
        for (int k = 0; k < 6; k++) dab[k * total + i] = grad * power[k] * r;
        for (int k = 1; k < 5; k++) dab[(5 + k) * total + i] = -grad * sign * f * power[k] * r;
    }
}

void enumerate(int64_t first, int64_t last, T *restrict value, const T *restrict c,
               const T *restrict d, const T *restrict b) {
#pragma omp simd
    for (int64_t i = first * N; i < last * N; i++) {
        T x[10], sum = 0;
        int good = 1;
        for (int k = 0; k < 10; k++) {
            x[k] = (T)((int)((uint32_t)i >> 2 * k & 3u) - 2);
            sum += c[k] * x[k];
        }
        for (int r = 0; r < 8; r++) {
            T left = 0;
            for (int k = 0; k < 10; k++) left += d[10 * r + k] * x[k];
            good &= left <= b[r];
        }
        value[i] = good ? sum : (T)-1e30;
    }
}

static inline T rosenbrock(T a, T b, T x, T y) {
    T u = a - x, v = y - x * x;
    return u * u + b * v * v;
}

void frcg(int64_t first, int64_t last, T *restrict xy, const T *restrict ab) {
#pragma omp simd
    for (int64_t i = first * N; i < last * N; i++) {
        T a = ab[2 * i], b = ab[2 * i + 1], x = xy[2 * i], y = xy[2 * i + 1];
        T px = 0, py = 0, old = 1;
        UNROLL for (int step = 0; step < 16; step++) {
            T v = y - x * x, gx = -2 * (a - x) - 4 * b * x * v, gy = 2 * b * v;
            T norm = gx * gx + gy * gy;
            T beta = step == 0 ? 0 : norm / (old < (T)1e-30 ? (T)1e-30 : old);
            px = beta * px - gx, py = beta * py - gy, old = norm;
            T length = (T)0.125, best = rosenbrock(a, b, x, y), taken = 0;
            UNROLL for (int k = 0; k < 8; k++) {
                T f = rosenbrock(a, b, x + length * px, y + length * py);
                taken = f < best ? length : taken;
                best = f < best ? f : best;
                length *= (T)0.25;
            }
            x += taken * px, y += taken * py;
        }
        xy[2 * i] = x, xy[2 * i + 1] = y;
    }
}

/* ---- the library's, without pivoting ---- */

void llt(int64_t first, int64_t last, T *restrict a, int32_t lda, int64_t stride,
         int32_t *restrict info, T tol) {
    BATCH for (int64_t g = first; g < last; g++) {
        T *x = a + g * stride, most = 0;
        int zero = 0;
        for (int s = 0; s < N; s++) most = MAX(most, ABS(x[s * (lda + 1)]));
        for (int s = 0; s < N; s++) {
            T d = x[s * (lda + 1)], r = d > tol * most ? 1 / SQRT(d) : 0;
            zero += !(d > tol * most);
            ROWS for (int i = s; i < N; i++) x[s * lda + i] *= r;
            for (int j = s + 1; j < N; j++) {
                T f = x[s * lda + j];
                ROWS for (int i = j; i < N; i++) x[j * lda + i] -= x[s * lda + i] * f;
            }
        }
        info[4 * g] = zero > 0, info[4 * g + 1] = N - zero, info[4 * g + 2] = 0,
                 info[4 * g + 3] = zero;
    }
}

void ldlt(int64_t first, int64_t last, T *restrict a, int32_t lda, int64_t stride,
          int32_t *restrict info, T tol) {
    BATCH for (int64_t g = first; g < last; g++) {
        T *x = a + g * stride, most = 0;
        int zero = 0, positive = 0;
        for (int s = 0; s < N; s++) most = MAX(most, ABS(x[s * (lda + 1)]));
        for (int s = 0; s < N; s++) {
            T d = x[s * (lda + 1)], r = ABS(d) > tol * most ? 1 / d : 0;
            zero += !(ABS(d) > tol * most), positive += d > tol * most;
            for (int j = s + 1; j < N; j++) {
                T f = x[s * lda + j] * r;
                ROWS for (int i = j; i < N; i++) x[j * lda + i] -= x[s * lda + i] * f;
            }
            ROWS for (int i = s + 1; i < N; i++) x[s * lda + i] *= r;
        }
        info[4 * g] = zero > 0, info[4 * g + 1] = positive, info[4 * g + 2] = N - positive - zero,
                 info[4 * g + 3] = zero;
    }
}

void gemm_ab(int64_t first, int64_t last, T *restrict c, int32_t ldc, int64_t stride_c,
             const T *restrict a, int32_t lda, int64_t stride_a, const T *restrict b, int32_t ldb,
             int64_t stride_b) {
    BATCH for (int64_t g = first; g < last; g++) {
        const T *x = a + g * stride_a, *y = b + g * stride_b;
        for (int j = 0; j < N; j++) {
            T z[N];
            ROWS for (int i = 0; i < N; i++) z[i] = c[g * stride_c + j * ldc + i];
            for (int k = 0; k < N; k++) {
                T f = y[j * ldb + k];
                ROWS for (int i = 0; i < N; i++) z[i] -= x[k * lda + i] * f;
            }
            ROWS for (int i = 0; i < N; i++) c[g * stride_c + j * ldc + i] = z[i];
        }
    }
}

void gemm_adb(int64_t first, int64_t last, T *restrict c, int32_t ldc, int64_t stride_c,
              const T *restrict a, int32_t lda, int64_t stride_a, const T *restrict d,
              const T *restrict b, int32_t ldb, int64_t stride_b) {
    BATCH for (int64_t g = first; g < last; g++) {
        const T *x = a + g * stride_a, *y = b + g * stride_b, *e = d + g * 2 * N;
        for (int j = 0; j < N; j++) {
            T z[N];
            ROWS for (int i = 0; i < N; i++) z[i] = c[g * stride_c + j * ldc + i];
            for (int k = 0; k < N; k++) {
                T f = e[2 * k] * y[k * ldb + j];
                if (k + 1 < N) f += e[2 * k + 1] * y[(k + 1) * ldb + j];
                if (k > 0) f += e[2 * k - 1] * y[(k - 1) * ldb + j];
                ROWS for (int i = 0; i < N; i++) z[i] -= x[k * lda + i] * f;
            }
            ROWS for (int i = 0; i < N; i++) c[g * stride_c + j * ldc + i] = z[i];
        }
    }
}
