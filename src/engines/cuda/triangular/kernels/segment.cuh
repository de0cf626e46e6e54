/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_SEGMENT_CUH
#define MPKI_CUDA_TRIANGULAR_SEGMENT_CUH
/** What a warp does with a packet that is there: its columns' results, its entries times them,
 *  parts of other tasks, the row's own number, the result. */
#include "tiles.cuh"

namespace mpki {

static const unsigned ALL = 0xffffffffu;

/** v := the NR numbers at `from`; true: all of them are there. By each thread for itself; no
 *  barrier. */
template <class V, int NR> __device__ inline bool load_all(const V *from, V (&v)[NR]) {
    bool here = true;
#pragma unroll
    for (int r = 0; r < NR; ++r) v[r] = load_now(from + r);
#pragma unroll
    for (int r = 0; r < NR; ++r) here = here && !is_absent(v[r]);
    return here;
}

/** gathered := the results of COUNT chunks of 32 columns, from chunk `first` on, as far as the
 *  bits of `missing` name them for the lane: all loads are issued before one result is used.
 *  Returns the bits that are still missing. By all lanes of a warp; no barrier. */
template <int COUNT, class V, int NR, int CHUNKS>
__device__ __forceinline__ unsigned ask(int first, const uint32_t (&slot)[CHUNKS], unsigned missing,
                                        const V *from, V (*gathered)[NR]) {
    V v[COUNT][NR];
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            mark(v[k][r]);
            load_if(missing >> (first + k) & 1, from + (int64_t)slot[first + k] * NR + r, v[k][r]);
        }
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        bool here = true;
#pragma unroll
        for (int r = 0; r < NR; ++r) here = here && !is_absent(v[k][r]);
        if (!here) continue;
        missing &= ~(1u << (first + k));
#pragma unroll
        for (int r = 0; r < NR; ++r) gathered[32 * (first + k)][r] = v[k][r];
    }
    return missing;
}

/** gathered := the results for a packet's columns. It asks for all of them, as many together as
 *  registers hold; then for those that are due last, until they come; then for the others again.
 *  By all lanes of a warp; the caller needs __syncwarp() before it reads `gathered`. */
template <class V, int NR>
__device__ inline void gather(const uint32_t *list, int columns, const V *from, V *gathered) {
    const int CHUNKS = (MPKI_SWEEPS_COLUMNS + 1) / 32, lane = threadIdx.x & 31;
    const int BYTES = NR * (int)sizeof(V);
    const int AT_FIRST = BYTES <= 8 ? CHUNKS : BYTES <= 16 ? 4 : BYTES <= 32 ? 2 : 1;
    const int LATER = BYTES <= 32 ? 2 : 1;
    const unsigned GROUP = (1u << LATER) - 1;
    V(*const to)[NR] = (V(*)[NR])gathered + lane;
    uint32_t slot[CHUNKS];
    unsigned missing = 0;
#pragma unroll
    for (int k = 0; k < CHUNKS; ++k) {
        slot[k] = 0;
        if (32 * k + lane < columns) slot[k] = list[32 * k + lane], missing |= 1u << k;
    }
#pragma unroll
    for (int first = 0; first < CHUNKS; first += AT_FIRST)
        if (32 * first < columns) missing = ask<AT_FIRST, V, NR>(first, slot, missing, from, to);
    unsigned wanted = __reduce_or_sync(ALL, missing); /* by some lane: groups of them */
    unsigned current = ~0u;
    while (wanted) {
        const unsigned last = GROUP << (31 - __clz((int)wanted)) / LATER * LATER;
        current = current & last ? wanted & last : wanted;
#pragma unroll
        for (int first = 0; first < CHUNKS; first += LATER)
            if (current & GROUP << first)
                missing = ask<LATER, V, NR>(first, slot, missing, from, to);
        wanted = __reduce_or_sync(ALL, missing);
    }
}

/** The sum of SUMS partial sums of right-hand side r. By each thread for itself; no barrier. */
template <class V, int SUMS, int NR> __device__ inline V whole(const V (&sum)[SUMS][NR], int r) {
    const V even = SUMS == 4 ? sum[0][r] + sum[2 % SUMS][r] : sum[0][r];
    const V odd = SUMS == 4 ? sum[1 % SUMS][r] + sum[3 % SUMS][r] : sum[1 % SUMS][r];
    return SUMS > 1 ? even + odd : even;
}

/** acc -= the entries of a packet times gathered; entries that belong to other lanes' rows
 *  (FOLD) are summed apart, in `foreign`. Sums run side by side, since one multiplication and
 *  addition takes as long as many. Loops stay short: unrolled in full they take 1.4 times as
 *  long, since instructions must be fetched. By all lanes of a warp; contains __syncwarp(). */
template <class S, class V, int NR, bool FOLD>
__device__ inline void entries(const char *place, int steps, const V *gathered, V *foreign,
                               V (&acc)[NR]) {
    const int SUMS = NR == 1 ? 4 : NR == 2 ? 2 : 1, lane = threadIdx.x & 31;
    const char *at = place + packing<S>::entries_at(FOLD ? FOLDED : 0);
    const uint32_t fold = FOLD ? ((const uint32_t *)(place + sizeof(packet)))[lane] : 0;
    const int own = (int)(fold & 255);
    const V zero = make<V>(0);
    V sum[SUMS][NR], other[SUMS][NR];
#pragma unroll
    for (int k = 0; k < SUMS; ++k)
#pragma unroll
        for (int r = 0; r < NR; ++r) sum[k][r] = other[k][r] = zero;
    auto add = [&](V value, uint32_t column, int j, int step) {
        const V *x = gathered + column * NR;
        const bool foreign_one = FOLD && step < own;
#pragma unroll
        for (int r = 0; r < NR; ++r)
            if (foreign_one)
                nfma(other[j % SUMS][r], value, x[r]);
            else
                nfma(sum[j % SUMS][r], value, x[r]);
    };
#pragma unroll 2
    for (int step = 0; step < steps / 4 * 4; step += 4, at += packing<S>::QUAD) {
        const uint32_t column = ((const uint32_t *)at)[lane];
        S value[4];
        lane_values<S, 4>(at + 128, value);
#pragma unroll
        for (int j = 0; j < 4; ++j) add(widen(value[j]), column >> 8 * j & 255, j, step + j);
    }
    if (steps % 4) {
        const uint32_t column = ((const uint16_t *)at)[lane];
        S value[2];
        lane_values<S, 2>(at + 64, value);
#pragma unroll
        for (int j = 0; j < 2; ++j) add(widen(value[j]), column >> 8 * j & 255, j, steps - 2 + j);
    }
#pragma unroll
    for (int r = 0; r < NR; ++r) acc[r] = acc[r] + whole<V, SUMS, NR>(sum, r);
    if (FOLD) {
#pragma unroll
        for (int r = 0; r < NR; ++r) foreign[(fold >> 24) * NR + r] = whole<V, SUMS, NR>(other, r);
        __syncwarp();
        const int end = (int)(fold >> 16 & 255);
        for (int k = (int)(fold >> 8 & 255); k < end; ++k)
#pragma unroll
            for (int r = 0; r < NR; ++r) acc[r] = acc[r] + foreign[k * NR + r];
    }
}

/** acc -= the lane's row of a block in full times x, whose columns are padded with 0 to fours.
 *  Loops stay short as in entries(). By all lanes of a warp; no barrier. */
template <class S, class V, int NR>
__device__ inline void subtract_block(const char *place, int steps, const V *x, V (&acc)[NR]) {
    const int SUMS = NR == 1 ? 4 : NR == 2 ? 2 : 1;
    V sum[SUMS][NR];
#pragma unroll
    for (int k = 0; k < SUMS; ++k)
#pragma unroll
        for (int r = 0; r < NR; ++r) sum[k][r] = make<V>(0);
    const char *at = place + packing<S>::DENSE_AT;
#pragma unroll 2
    for (int k = 0; k < steps; k += 4, at += 128 * sizeof(S), x += 4 * NR) {
        S v[4];
        lane_values<S, 4>(at, v);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const V value = widen(v[j]);
#pragma unroll
            for (int r = 0; r < NR; ++r) nfma(sum[j % SUMS][r], value, x[j * NR + r]);
        }
    }
#pragma unroll
    for (int r = 0; r < NR; ++r) acc[r] = acc[r] + whole<V, SUMS, NR>(sum, r);
}

/** acc += COUNT parts of the sum that other tasks have left at `from`, if all of them are there;
 *  false: they are not. Parts that were taken are marked again for the next sweep. By all lanes
 *  of a warp; a vote, no barrier. */
template <class V, int NR, int COUNT> __device__ inline bool take_parts(V *from, V (&acc)[NR]) {
    V v[COUNT][NR], none;
    bool here = true;
    mark(none);
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
#pragma unroll
        for (int r = 0; r < NR; ++r) v[k][r] = load_now(from + k * 32 * NR + r);
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
#pragma unroll
        for (int r = 0; r < NR; ++r) here = here && !is_absent(v[k][r]);
    if (!__all_sync(ALL, here)) return false;
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            acc[r] = acc[r] + v[k][r];
            store_now(from + k * 32 * NR + r, none);
        }
    return true;
}

/** acc += the parts from number `done` on: until all have come, or (`once`) those that are
 *  there. Returns how many are taken. By all lanes of a warp; votes, no barrier. */
template <class V, int NR>
__device__ inline int add_parts(const packet *p, void *part, int done, bool once, V (&acc)[NR]) {
    const int FEW = NR * sizeof(V) <= 16 ? 4 : 1, lane = threadIdx.x & 31;
    V *from = (V *)part + ((int64_t)p->first_part * 32 + lane) * NR;
    while (done < p->parts) {
        const bool few = FEW > 1 && p->parts - done >= FEW;
        V *const next = from + (int64_t)done * 32 * NR;
        if (few ? take_parts<V, NR, FEW>(next, acc) : take_parts<V, NR, 1>(next, acc))
            done += few ? FEW : 1;
        else if (once)
            break;
    }
    return done;
}

/** The right-hand side b of the lane's row; backward D^-1 times the result of the forward sweep,
 *  which may have to be waited for. find() asks where it is, ask() for the numbers, take() uses
 *  them. */
template <class S, class V, int NR> struct own_row {
    V b[NR], d, e;
    const V *from;
    int64_t row;
    int partner;
    bool here, waits;

    /** Where b of the packet's rows is; what to wait for. By all lanes of a warp; no barrier. */
    __device__ void find(const packet *p, const mpki_sweeps_run &a) {
        const int lane = threadIdx.x & 31, rows = p->part < 0 ? (int)p->rows : 0;
        const bool back = p->flags & BACKWARD;
        here = lane < rows, waits = back && a.diagonal && rows > 0;
        from = (const V *)(back ? a.half[1].start : a.half[0].start);
        row = (int64_t)p->slot + lane;
        if (here && waits) row = a.ahead[row];
    }

    /** Issues the loads of b and of D^-1. By all lanes of a warp; no barrier. */
    __device__ void ask(const mpki_sweeps_run &a) {
        from += row * NR;
        partner = 0;
#pragma unroll
        for (int r = 0; r < NR; ++r) b[r] = make<V>(0);
        d = e = make<V>(0);
        if (!here) return;
#pragma unroll
        for (int r = 0; r < NR; ++r) b[r] = load_now(from + r);
        if (!waits) return;
        partner = a.partner[row];
        d = widen(((const S *)a.diagonal)[2 * row]),
        e = widen(((const S *)a.diagonal)[2 * row + 1]);
    }

    /** acc := b, or D^-1 b once it is there. By all lanes of a warp; shuffles and votes. */
    __device__ void take(V (&acc)[NR]) {
        bool missing = false;
        if (waits)
#pragma unroll
            for (int r = 0; r < NR; ++r) missing = missing || is_absent(b[r]);
        while (__any_sync(ALL, missing)) missing = missing && !load_all<V, NR>(from, b);
#pragma unroll
        for (int r = 0; r < NR; ++r) {
            const V x = shfl(b[r], (threadIdx.x & 31) + partner);
            acc[r] = waits ? d * b[r] : b[r];
            if (partner) acc[r] = acc[r] + e * x;
        }
    }
};

/** Stores acc as the unit's results, or as the part of a sum that another task takes. By all
 *  lanes of a warp; no barrier. */
template <class V, int NR>
__device__ inline void finish(const packet *p, const mpki_sweeps_run &a, const V (&acc)[NR]) {
    const int lane = threadIdx.x & 31;
    V *to;
    if (p->part >= 0)
        to = (V *)a.part + ((int64_t)p->part * 32 + lane) * NR;
    else if (lane < (int)p->rows)
        to = (V *)(p->flags & BACKWARD ? a.half[1].to : a.half[0].to) +
             ((int64_t)p->slot + lane) * NR;
    else
        return;
#pragma unroll
    for (int r = 0; r < NR; ++r) store_now(to + r, unmarked(acc[r]));
}

} // namespace mpki

#endif
