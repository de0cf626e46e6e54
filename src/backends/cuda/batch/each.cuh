/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_EACH_CUH
#define MPKI_CUDA_BATCH_EACH_CUH
/** LDLT with pivoting of small orders, a real matrix in each thread, in shared memory: there a row is found by its number,
 *  so that two change places by as many accesses as a row has, where registers would be searched. Bunch & Kaufman (1977)
 *  or, for complete and rook pivoting, Bunch & Parlett (1971); right-looking, steps as in src/kernels/cl/ldlt_lanes.h.
 *  A block is a warp: nothing waits for another. */
#include "../../../kernels/alpha.h"
#include "tile.cuh"

namespace mpki {

#ifndef EACH_MOST
#define EACH_MOST 8 /* the largest order */
#endif
enum {
    EACH_PITCH = 33
}; /* from entry to entry of a matrix: a thread's own, and its neighbours', lie in other banks */

/** 1 / x of a pivot that is not zero. */
__device__ inline float each_inverse(float x) {
    return 1.0f / x;
}
__device__ inline double each_inverse(double x) {
#ifdef __CUDA_ARCH__
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    const double e = fma(-x, r, 1.0);
    return fabs(e) < 0.5 ? fma(r, fma(e, e, e), r) : 1.0 / x;
#else
    return 1.0 / x;
#endif
}

template <class R, int N> struct each_matrix {
    R *u;                    /* lower triangle, row after row */
    R small;                 /* absolute zero tolerance */
    unsigned long long perm; /* four bits for each place: the old index */
    unsigned pairs;          /* places of 2x2 pivots */
    int positive, zero;
    bool second; /* this column was eliminated together with the one before */

    static const int ENTRIES = N * (N + 1) / 2;

    __device__ R &at(int i, int j) const { return u[(i * (i + 1) / 2 + j) * EACH_PITCH]; }
    __device__ R &both(int i, int j) const { return i > j ? at(i, j) : at(j, i); }

    /** 0 if all entries are finite; most: the largest. */
    __device__ R check(R *most) const {
        R sum = 0;
        *most = 0;
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e) {
            const R x = u[e * EACH_PITCH];
            sum += x * 0;
            *most = fmax(*most, fabs(x));
        }
        return sum;
    }

    /** Rows and columns t < r change places. */
    __device__ void exchange(int t, int r) {
        if (r <= t) return;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (i == r) continue;
            R &x = i == t ? at(t, t) : both(t, i), &y = i == t ? at(r, r) : both(r, i);
            const R old = x;
            x = y, y = old;
        }
        const unsigned long long d = (perm >> 4 * t ^ perm >> 4 * r) & 15;
        perm ^= d << 4 * t | d << 4 * r;
    }

    /** Bring a pivot to place k, or to k and k + 1. two: it is a 2x2 one. Returns whether there is one. */
    __device__ bool seek_partial(int k, bool *two) {
        const R alpha = (R)MPKI_ALPHA, d = fabs(at(k, k));
        R lambda = 0, sigma = 0;
        int r = k;
#pragma unroll
        for (int i = k + 1; i < N; ++i) {
            const R x = fabs(at(i, k));
            r = x > lambda ? i : r;
            lambda = fmax(lambda, x);
        }
        if (lambda > small && d < alpha * lambda) {
#pragma unroll
            for (int i = k; i < N; ++i)
                if (i != r) sigma = fmax(sigma, fabs(both(r, i)));
            if (!(d > 0 && d * sigma >= alpha * lambda * lambda)) {
                *two = fabs(at(r, r)) < alpha * sigma;
                exchange(*two ? k + 1 : k, r);
            }
        }
        return d > small || lambda > small;
    }
    __device__ bool seek_complete(int k, bool *two) {
        const R alpha = (R)MPKI_ALPHA;
        R off = 0, diag = fabs(at(k, k));
        int p = k, q = k, d = k;
#pragma unroll
        for (int j = k; j < N; ++j) {
            const R y = fabs(at(j, j));
            d = y > diag ? j : d;
            diag = fmax(diag, y);
#pragma unroll
            for (int i = j + 1; i < N; ++i) {
                const R x = fabs(at(i, j));
                q = x > off ? i : q, p = x > off ? j : p;
                off = fmax(off, x);
            }
        }
        const bool good = diag > small || off > small;
        *two = good && diag < alpha * off;
        exchange(k, *two ? p : d);
        if (*two) exchange(k + 1, q);
        return good;
    }

    __device__ void eliminate(int k, bool two, bool good) {
        const R p1 = at(k, k), d21 = k + 1 < N ? at(k + 1, k) : 0,
                d2 = k + 1 < N ? at(k + 1, k + 1) : 0;
        const R f = each_inverse(two ? d21 : good ? p1 : (R)1);
        const R e1 = two ? p1 * f : (R)0, e2 = two ? d2 * f : (R)1;
        const R det = two ? e1 * e2 - 1 : (R)1;
        const R g = !good ? (R)0 : two ? f * each_inverse(det) : f, h = two ? g : (R)0;
        if (good) positive += two ? (det < 0 ? 1 : p1 + d2 > 0 ? 2 : 0) : p1 > 0;
        zero += !good;
        R b[N], c[N];
#pragma unroll
        for (int i = k + 1; i < N; ++i) {
            b[i] = at(i, k);
            c[i] = two && i > k + 1 ? at(i, k + 1) : (R)0;
        }
#pragma unroll
        for (int i = k + 1; i < N; ++i) {
            if (i == k + 1 && two) continue;
            const R l1 = (e2 * b[i] - c[i]) * g, l2 = (e1 * c[i] - b[i]) * h;
#pragma unroll
            for (int j = k + 1; j <= i; ++j) {
                const R x = at(i, j) - l1 * b[j];
                at(i, j) = j == k + 1 && two ? l2 : x - l2 * c[j];
            }
            at(i, k) = l1;
        }
        at(k, k) = good ? p1 : (R)0;
        if (two) pairs |= 3u << k;
    }

    template <int PIVOTING> __device__ void ldlt() {
        perm = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) perm |= (unsigned long long)k << 4 * k;
        pairs = 0, positive = zero = 0, second = false;
#pragma unroll
        for (int k = 0; k < N - 1; ++k) {
            bool two = false;
            if (!second) {
                const bool good = PIVOTING == 2 ? seek_partial(k, &two) : seek_complete(k, &two);
                eliminate(k, two, good);
            }
            second = two;
        }
        const R last = at(N - 1, N - 1);
        const bool good = second || fabs(last) > small;
        positive += !second && good && last > 0;
        zero += !good;
        if (!good) at(N - 1, N - 1) = 0;
    }
};

/** A warp's matrices lie one after the other. */
template <class R, int N, int PIVOTING>
__global__ void __launch_bounds__(32) each_kernel(const part job) {
    typedef each_matrix<R, N> matrix;
    __shared__ R room[matrix::ENTRIES * EACH_PITCH];
    const long long first = (long long)blockIdx.x * 32;
    const int lane = (int)threadIdx.x;
    const int here = job.count - first < 32 ? (int)(job.count - first) : 32;
    R *const a = in_global((R *)job.a.data + first * (N * N));
#pragma unroll(N > 8 ? 8 : 16)
    for (int e = 0; e < N * N; ++e) {
        const int q = e * 32 + lane, m = q / (N * N), i = q % N, j = q % (N * N) / N;
        if (m < here && i >= j) room[(i * (i + 1) / 2 + j) * EACH_PITCH + m] = a[q];
    }
    __syncwarp(0xffffffffu);
    matrix x;
    bool bad = false;
    x.u = room + lane, x.perm = 0, x.pairs = 0, x.positive = x.zero = 0;
    if (lane < here) {
        R most;
        const R before = x.check(&most);
        x.small = (job.tolerance < 0 ? 4 * N * epsilon<R>() : (R)job.tolerance) * most;
        x.template ldlt<PIVOTING>();
        const R after = x.check(&most);
        bad = !(before == 0) || !(after == 0);
    }
    const unsigned none = __ballot_sync(0xffffffffu, bad);
#pragma unroll(N > 8 ? 8 : 16)
    for (int e = 0; e < N * N; ++e) {
        const int q = e * 32 + lane, m = q / (N * N), i = q % N, j = q % (N * N) / N;
        if (m < here && i >= j && !(none >> m & 1))
            a[q] = room[(i * (i + 1) / 2 + j) * EACH_PITCH + m];
    }
    int *const piv = job.pivots + first * N;
#pragma unroll
    for (int e = 0; e < N; ++e) {
        const int q = e * 32 + lane, m = q / N % 32, k = q % N;
        const unsigned long long perm = __shfl_sync(0xffffffffu, x.perm, m);
        const unsigned pairs = __shfl_sync(0xffffffffu, x.pairs, m);
        const int old = none >> m & 1 ? k : (int)(perm >> 4 * k & 15);
        if (q < here * N) piv[q] = pairs >> k & 1 && !(none >> m & 1) ? ~old : old;
    }
    if (lane < here)
        job.report(first + lane,
                   bad          ? 3
                   : x.zero > 0 ? 1
                                : 0,
                   bad ? 0 : x.positive, bad ? 0 : N - x.positive - x.zero, bad ? 0 : x.zero);
}

} // namespace mpki
#endif
