/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_JOINED_CUH
#define MPKI_CUDA_TRIANGULAR_JOINED_CUH
/** M times the block that a unit waits for last (packet.cuh): what else there is to the unit's
 *  results is done before that block's columns are there, and between them and the results is one
 *  product. */
#include "stamps.cuh"
#include "tiles.cuh"

namespace mpki {

/** gathered := the results of the packet's columns, one a lane, as soon as they are there; 0
 *  where there is no column. place: the packet. By all lanes of a warp; ends with __syncwarp(). */
template <class V, int NR>
__device__ inline void gather_last(const char *place, int columns, const V *from, V *gathered) {
    const int lane = threadIdx.x & 31;
    const V *const at = from + (int64_t)((const uint32_t *)(place + sizeof(packet)))[lane] * NR;
    bool here = lane >= columns;
    V x[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = make<V>(0);
    while (!__all_sync(0xffffffffu, here)) {
        bool all = true;
#pragma unroll
        for (int r = 0; r < NR; ++r) load_if(!here, at + r, x[r]);
#pragma unroll
        for (int r = 0; r < NR; ++r) all = all && !is_absent(x[r]);
        here = here || all;
    }
#pragma unroll
    for (int r = 0; r < NR; ++r) gathered[lane * NR + r] = x[r];
    __syncwarp();
}

/** The results of a unit whose last packet is M times a block: M acc - (M block) x, in V =
 *  double. */
template <class S, class V, int NR> struct joined_block {
    /** Waits for the block's columns x and stores M acc - (M block) x. memory: 32 NR numbers of
     *  the warp. By all lanes of a warp; contains __syncwarp(). */
    __device__ static void finish(const char *place, const packet *p, const mpki_sweeps_run &a,
                                  const pivot_tiles<S, V> &m, const V *from, const V (&acc)[NR],
                                  V *gathered, V *memory, int) {
        const int lane = threadIdx.x & 31, row = 8 * (lane & 3) + lane / 4;
        V *const minus = gathered + 32 * NR;
        gather_last<V, NR>(place, p->columns, from, gathered);
        V sum[NR];
#pragma unroll
        for (int r = 0; r < NR; ++r) sum[r] = make<V>(0);
        for (int c = 0; c < (int)p->columns; ++c) {
            const V value =
                *(const V *)(place + packing<S>::DENSE_AT + packing<double>::dense_at(lane, c));
#pragma unroll
            for (int r = 0; r < NR; ++r) pfma(sum[r], value, gathered[c * NR + r]);
        }
#pragma unroll
        for (int r = 0; r < NR; ++r) minus[row * NR + r] = sum[r];
        __syncwarp();
        m.template finish<NR>(p, a, acc, memory, minus);
    }
};
template <class S> struct joined_block<S, double, 1> {
    /** The same for one right-hand side: everything but the last product is done before x is
     *  there. By all lanes of a warp; contains __syncwarp(). */
    __device__ static void finish(const char *place, const packet *p, const mpki_sweeps_run &a,
                                  const pivot_tiles<S, double> &m, const double *from,
                                  const double (&acc)[1], double *gathered, double *memory,
                                  int ticket) {
        struct alignas(16) pair {
            double x[2];
        };
        const double own = m.times(acc[0], memory);
        double value[32], sum[4];
#pragma unroll
        for (int k = 0; k < 32; k += 4) {
            double v[4] = {0, 0, 0, 0};
            if (k < (int)p->steps)
                lane_values<double, 4>(place + packing<S>::DENSE_AT + k * 32 * 8, v);
#pragma unroll
            for (int j = 0; j < 4; ++j) value[k + j] = v[j];
        }
        MPKI_SWEEP_STAMP(ticket, ASKED);
        gather_last<double, 1>(place, p->columns, from, gathered);
        MPKI_SWEEP_STAMP(ticket, READY);
#pragma unroll
        for (int k = 0; k < 4; ++k) sum[k] = k ? 0 : own;
#pragma unroll
        for (int k = 0; k < 32; k += 2) {
            const pair both = ((const pair *)gathered)[k / 2];
            nfma(sum[k % 4], value[k], both.x[0]), nfma(sum[k % 4 + 1], value[k + 1], both.x[1]);
        }
        m.store(p, a, (sum[0] + sum[2]) + (sum[1] + sum[3]));
    }
};

} // namespace mpki

#endif
