/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SWEEPS_DENSE_CUH
#define MPKI_CUDA_SWEEPS_DENSE_CUH
/** The block that a unit waits for last, in full (packet.cuh): in registers before its columns' results are
 *  there, so that between them and the unit's M there is a product of a lane's row with numbers that
 *  all lanes read alike. */
#include "tiles.cuh"

namespace mpki {

/** With more than one number by slot: read when it is needed. */
template <class S, class V, int NR> struct dense_block {
    const char *at;
    int steps;

    __device__ void load(const char *place, int columns) {
        at = place + packing<S>::DENSE_AT, steps = columns;
    }
    /** acc -= the lane's row times x, which has 0 where there is no column. */
    __device__ void subtract(const V *x, V (&acc)[NR]) const {
        for (int c = 0; c < steps; ++c) {
            const int place = packing<S>::dense_at((int)threadIdx.x & 31, c);
            const V value = widen(*(const S *)(at + place));
#pragma unroll
            for (int r = 0; r < NR; ++r) nfma(acc[r], value, x[c * NR + r]);
        }
    }
};
template <class S, class V> struct dense_block<S, V, 1> {
    V value[32];

    __device__ void load(const char *place, int columns) {
#pragma unroll
        for (int k = 0; k < 32; k += 4) {
            S v[4] = {make<S>(0), make<S>(0), make<S>(0), make<S>(0)};
            if (k < columns)
                lane_values<S, 4>(place + packing<S>::DENSE_AT + k * 32 * (int)sizeof(S), v);
#pragma unroll
            for (int j = 0; j < 4; ++j) value[k + j] = widen(v[j]);
        }
    }
    __device__ void subtract(const V *x, V (&acc)[1]) const {
        struct alignas(16) pair {
            V x[2];
        };
        V sum[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) sum[k] = make<V>(0);
#pragma unroll
        for (int k = 0; k < 32; k += 2) {
            const pair both = ((const pair *)x)[k / 2];
            nfma(sum[k % 4], value[k], both.x[0]), nfma(sum[k % 4 + 1], value[k + 1], both.x[1]);
        }
        acc[0] = acc[0] + ((sum[0] + sum[2]) + (sum[1] + sum[3]));
    }
};

/** The same from shared memory, where registers have another block: acc -= the lane's row times x. */
template <class S, class V>
__device__ inline void subtract_block(const char *place, int columns, const V *x, V &acc) {
    V sum[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = make<V>(0);
    const char *at = place + packing<S>::DENSE_AT;
#pragma unroll 4
    for (int k = 0; k < columns; k += 4, at += 128 * sizeof(S)) {
        S v[4];
        lane_values<S, 4>(at, v);
#pragma unroll
        for (int j = 0; j < 4; ++j) nfma(sum[j], widen(v[j]), x[k + j]);
    }
    acc = acc + ((sum[0] + sum[2]) + (sum[1] + sum[3]));
}

/** M times the block, which is its task's last: then a row of it with the columns' results is all that is left to
 *  do when they come. Tiles as tensor cores leave them: lane l has of rows 8 k + l / 4 (of M's order) the
 *  columns 8 c + 2 (l % 4) and the one beside it. */
template <class S, class V> struct joined_block {
    __device__ void make(const char *, int, const pivot_tiles<S, V> &, V *) {}
    __device__ V times(const V *x) const { return x[0]; }
};
template <class S> struct joined_block<S, double> {
    double tile[4][4][2]; /* c, k */

    /** room: 32 numbers of the warp. */
    __device__ void make(const char *place, int columns, const pivot_tiles<S, double> &m,
                         double *room) {
        const int lane = threadIdx.x & 31;
        int row[8]; /* of the block: which stands in M's order where the lane's tiles need one */
        __syncwarp();
        ((uint32_t *)room)[m.in] = (uint32_t)lane;
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 8; ++j) row[j] = (int)((const uint32_t *)room)[4 * j + (lane & 3)];
#pragma unroll
        for (int k = 3; k >= 0; --k) { /* rows of M with the most tiles first: registers */
#pragma unroll
            for (int c = 0; c < 4; ++c) tile[c][k][0] = tile[c][k][1] = 0;
#pragma unroll
            for (int j = 0; j < 2 * k + 2; ++j)
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    const int column = 8 * c + (lane >> 2);
                    const int at = packing<S>::DENSE_AT + packing<S>::dense_at(row[j], column);
                    const double b = column < columns ? widen(*(const S *)(place + at)) : 0;
                    multiply_tile(tile[c][k], m.tile[k * (k + 1) + j], b);
                }
        }
        __syncwarp();
    }
    /** The lane's row of the product, as pivot_tiles::times() has it. */
    __device__ double times(const double *x) const {
        struct alignas(16) pair {
            double x[2];
        };
        const int lane = threadIdx.x & 31;
        double sum[4][2];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            const pair both = ((const pair *)x)[4 * c + (lane & 3)];
#pragma unroll
            for (int k = 0; k < 4; ++k)
#pragma unroll
                for (int e = 0; e < 2; ++e)
                    sum[k][e] =
                        c ? fma(tile[c][k][e], both.x[e], sum[k][e]) : tile[c][k][e] * both.x[e];
        }
        const bool odd = lane & 1, high = lane & 2;
        const double a = sum[0][0] + sum[0][1], b = sum[1][0] + sum[1][1];
        const double c = sum[2][0] + sum[2][1], d = sum[3][0] + sum[3][1];
        const double u = (odd ? b : a) + shfl_xor(odd ? a : b, 1);
        const double v = (odd ? d : c) + shfl_xor(odd ? c : d, 1);
        return (high ? v : u) + shfl_xor(high ? u : v, 2);
    }
};

/** The results of the block's columns, a lane has one, and of those of the block that comes next. */
template <class V, int NR> struct dense_results {
    V x[NR], later[NR];
    const V *at, *later_at;
    bool asked;

    __device__ static const V *place_of(const char *place, const V *from) {
        const uint32_t *list = (const uint32_t *)(place + sizeof(packet));
        return from + (int64_t)list[threadIdx.x & 31] * NR;
    }
    /** Ask for those of a block in a packet that is there, before it is its turn. */
    __device__ void ask_later(const char *next, const V *from) {
        later_at = place_of(next, from), asked = true;
#pragma unroll
        for (int r = 0; r < NR; ++r) later[r] = load_now(later_at + r);
    }
    /** Wait for them, then to gathered. next: the packet of a block that follows, or NULL. */
    __device__ void wait(const char *place, int columns, const char *next, const V *from,
                         V *gathered) {
        const int lane = threadIdx.x & 31;
        bool here = lane >= columns;
        at = place_of(place, from);
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            mark(x[r]);
            if (asked) x[r] = later[r];
        }
        asked = next != NULL;
        if (next) {
            later_at = place_of(next, from);
#pragma unroll
            for (int r = 0; r < NR; ++r) mark(later[r]);
        }
#ifdef MPKI_TWICE
        if (NR == 1 && !next) {
            V y[1], z;
            mark(y[0]);
            load_if(!here, at, x[0]);
#ifdef __CUDA_ARCH__
            const unsigned begun = (unsigned)clock();
            while ((unsigned)clock() - begun < MPKI_TWICE)
                ;
#endif
            load_if(!here, at, y[0]);
            for (;;) {
                if (__all_sync(0xffffffffu, here || !is_absent(x[0]))) break;
                load_if(!here, at, x[0]);
                z = y[0];
                if (__all_sync(0xffffffffu, here || !is_absent(z))) {
                    x[0] = z;
                    break;
                }
                load_if(!here, at, y[0]);
            }
            here = true;
        }
#endif
        for (;;) {
            if (NR == 1 && __all_sync(0xffffffffu, here)) break;
            bool all = true;
#pragma unroll
            for (int r = 0; r < NR; ++r) all = all && !is_absent(x[r]);
            here = here || all;
            if (__all_sync(0xffffffffu, here)) break;
#pragma unroll
            for (int r = 0; r < NR; ++r) load_if(!here, at + r, x[r]);
            if (next)
#pragma unroll
                for (int r = 0; r < NR; ++r) load_if(is_absent(later[r]), later_at + r, later[r]);
        }
#pragma unroll
        for (int r = 0; r < NR; ++r) gathered[lane * NR + r] = lane < columns ? x[r] : make<V>(0);
        __syncwarp();
    }
};

} // namespace mpki

#endif
