/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_TILES_CUH
#define MPKI_CUDA_TRIANGULAR_TILES_CUH
/** A unit's M in tiles for tensor cores (packet.cuh), and the results that it gives. */
#include "packet.cuh"

namespace mpki {

/** value := the COUNT values of a lane at `at`, which lie together as far as they fit into 16
 *  bytes. By all lanes of a warp; no barrier. */
template <class S, int COUNT>
__device__ inline void lane_values(const char *at, S (&value)[COUNT]) {
    const int BY = packing<S>::BY_16 < COUNT ? packing<S>::BY_16 : COUNT;
    struct alignas(BY * sizeof(S)) together {
        S v[BY];
    };
#pragma unroll
    for (int k = 0; k < COUNT / BY; ++k) {
        const together x = ((const together *)at)[k * 32 + (threadIdx.x & 31)];
#pragma unroll
        for (int j = 0; j < BY; ++j) value[k * BY + j] = x.v[j];
    }
}

/** d += a b: 8 x 8 += (8 x 4)(4 x 8). Lane l has a(l / 4, l % 4), b(l % 4, l / 4), and of d
 *  entry (l / 4, 2 (l % 4)) and the one right of it. By all lanes of a warp; no barrier. */
__device__ inline void multiply_tile(double (&d)[2], double a, double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a), "d"(b));
#else
    const int lane = threadIdx.x & 31;
    for (int k = 0; k < 4; ++k) {
        const double x = shfl(a, (lane & ~3) + k);
        for (int c = 0; c < 2; ++c) d[c] += x * shfl(b, 4 * (2 * (lane & 3) + c) + k);
    }
#endif
}

/** The M of a unit, in registers while its task goes on. Types without tiles have an empty one. */
template <class S, class V> struct pivot_tiles {
    __device__ void load(const char *) {}
    template <int NR>
    __device__ void finish(const packet *, const mpki_sweeps_run &, const V (&)[NR], V *,
                           const V *) const {}
    __device__ V times(V sum, V *) const { return sum; }
    __device__ void store(const packet *, const mpki_sweeps_run &, V) const {}
};
template <class S> struct pivot_tiles<S, double> {
    typedef packing<S> layout;
    double tile[layout::TILES];
    uint32_t in, out; /* where the lane's sum goes; the rows of its results, 8 bits each */

    /** The tiles of the packet at `place`, in double precision, and the order of M. By all lanes
     *  of a warp; no barrier. */
    __device__ void load(const char *place) {
        const int lane = threadIdx.x & 31;
        const uint8_t *order = (const uint8_t *)place + sizeof(packet);
        S value[layout::TILES];
        lane_values<S, layout::TILES>(place + layout::TILES_AT, value);
#pragma unroll
        for (int k = 0; k < layout::TILES; ++k) tile[k] = widen(value[k]);
        in = order[lane], out = 0;
#pragma unroll
        for (int k = 0; k < 4; ++k) out |= (uint32_t)order[32 + 8 * k + lane / 4] << 8 * k;
    }

    /** d := M sums. memory: 32 NR numbers of the warp. By all lanes of a warp; contains
     *  __syncwarp(). */
    template <int NR>
    __device__ void multiply(const double (&sum)[NR], double *memory, double (&d)[4][2]) const {
        const int lane = threadIdx.x & 31;
        double x[8];
#pragma unroll
        for (int r = 0; r < NR; ++r) memory[in * NR + r] = sum[r];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 8; ++k) x[k] = memory[(4 * k + (lane & 3)) * NR + (lane >> 2) % NR];
#pragma unroll
        for (int k = 0; k < 4; ++k) d[k][0] = d[k][1] = 0;
#pragma unroll
        for (int j = 0; j < 8; ++j)
#pragma unroll
            for (int k = j / 2; k < 4; ++k) multiply_tile(d[k], tile[k * (k + 1) + j], x[j]);
    }

    /** M sum for one right-hand side, whose columns of d are all the same: lane l returns row 8
     *  (l % 4) + l / 4 of M's order. memory: 32 numbers of the warp. By all lanes of a warp;
     *  contains __syncwarp(). */
    __device__ double times(double sum, double *memory) const {
        const double sums[1] = {sum};
        double d[4][2];
        multiply<1>(sums, memory, d);
        const int k = (int)threadIdx.x & 3;
        const double low = k & 1 ? d[1][0] : d[0][0], high = k & 1 ? d[3][0] : d[2][0];
        return k & 2 ? high : low;
    }
    /** Stores a lane's row of times() as the unit's result. By all lanes of a warp; no barrier. */
    __device__ void store(const packet *p, const mpki_sweeps_run &a, double value) const {
        const int row = (int)(out >> 8 * (threadIdx.x & 3) & 255);
        double *const to = (double *)(p->flags & BACKWARD ? a.half[1].to : a.half[0].to) + p->slot;
        if (row < (int)p->rows) store_now(to + row, unmarked(value));
    }

    /** The unit's results := M sums - minus. minus: by M's order; NULL: 0. memory: 32 NR numbers
     *  of the warp. By all lanes of a warp; contains __syncwarp(). */
    template <int NR>
    __device__ void finish(const packet *p, const mpki_sweeps_run &a, const double (&sum)[NR],
                           double *memory, const double *minus) const {
        if (NR == 1) return store(p, a, times(sum[0], memory));
        const int lane = threadIdx.x & 31;
        double d[4][2];
        multiply<NR>(sum, memory, d);
        double *const to =
            (double *)(p->flags & BACKWARD ? a.half[1].to : a.half[0].to) + (int64_t)p->slot * NR;
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const int row = (int)(out >> 8 * k & 255), column = 2 * (lane & 3) + c;
                if (row >= (int)p->rows || column >= NR) continue;
                if (minus) d[k][c] -= minus[(8 * k + lane / 4) * NR + column];
                store_now(to + row * NR + column, unmarked(d[k][c]));
            }
    }
};

} // namespace mpki

#endif
