/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_WALK_CUH
#define MPKI_CUDA_TRIANGULAR_WALK_CUH
/** The blocks of a unit as they fall due, and then its M, in strips of eight columns. */
#include "engines/cuda/block_factor/kernels/values.cuh"
#include "packet.cuh"

namespace mpki {

/** A place in the walk: block k of the list of the unit's frame j, strip s; phase 1: of M. */
struct cursor {
    int phase, j, k, strip;
};

/** Are a and b the same place? By each thread for itself; no barrier. */
__device__ inline bool operator==(const cursor &a, const cursor &b) {
    return a.phase == b.phase && a.j == b.j && a.k == b.k && a.strip == b.strip;
}

/** A block as the lanes see it: bit c of `mine`: the lane's row has an entry in column c. */
template <class S> struct block_view {
    uint32_t any, mine; /* columns that some row, that the lane's row has */
    int32_t from;       /* slot of column 0; of M: its row within the unit */
    int base;           /* row of the unit that is row 0 */
    const uint32_t *value;
};

/** The blocks of a unit as they fall due, and then its M, in strips of eight columns. */
template <class S> struct walker {
    const mpki_cuda_packing &p;
    const mpki_cuda_store &s;
    const int half, unit, lane;
    uint32_t *mask, *begin; /* [32] shared: of the rows of the block as it is stored */
    int first, frames;      /* the unit's in p.frame */
    int32_t slot0;

    /** The unit's frames and first slot. shared: 64 words. By each thread for itself; no
     *  barrier. */
    __device__ walker(const mpki_cuda_packing &p_, const mpki_cuda_store &s_, int half_, int unit_,
                      uint32_t *shared)
        : p(p_), s(s_), half(half_), unit(unit_), lane(threadIdx.x & 31), mask(shared),
          begin(shared + 32) {
        first = p.unit[half][unit], frames = p.unit[half][unit + 1] - first;
        slot0 = p.slot[half][frame_at(0)];
    }

    /** Frame number j of the unit. By each thread for itself; no barrier. */
    __device__ int32_t frame_at(int j) const { return p.frame[half][first + j]; }
    /** Rows of frame f. By each thread for itself; no barrier. */
    __device__ int width(int32_t f) const { return s.bptr[f + 1] - s.bptr[f]; }

    /** Rows of the unit. By each thread for itself; no barrier. */
    __device__ int rows() const {
        const int32_t f = frame_at(frames - 1);
        return p.slot[half][f] + width(f) - slot0;
    }

    /** *v := the block at word `at` of the store, whose rows (backward columns) are those of
     *  frame f and whose other index begins with slot `from`; its masks go to shared memory. By
     *  all lanes of a warp; contains __syncwarp(). */
    __device__ void view(int64_t at, int32_t f, int32_t from, block_view<S> *v) const {
        const uint32_t set = s.words[at], here = set >> lane & 1;
        const int held = __popc(set), before = __popc(set & ((1u << lane) - 1));
        const uint32_t m = here ? s.words[at + 1 + before] : 0;
        int sum = __popc(m);
        for (int d = 1; d < 32; d *= 2) {
            const int more = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= d) sum += more;
        }
        __syncwarp();
        mask[lane] = m, begin[lane] = (uint32_t)(sum - __popc(m));
        __syncwarp();
        v->base = p.slot[half][f] - slot0, v->from = from;
        v->value = s.words + at + MPKI_STORE_HEAD(held);
        const int row = lane - v->base;
        v->mine = 0, v->any = set;
        if (row >= 0 && row < width(f)) {
            if (!half)
                v->mine = mask[row];
            else
                for (int r = 0; r < 32; ++r) v->mine |= (mask[r] >> row & 1) << r;
        }
        if (half) return;
        uint32_t any = v->mine;
        for (int d = 16; d; d /= 2) any |= __shfl_xor_sync(0xffffffffu, any, d);
        v->any = any;
    }

    /** The lane's entry of v in column c. By each thread for itself; no barrier. */
    __device__ S entry(const block_view<S> &v, int c) const {
        const int row = lane - v.base, r = half ? c : row, q = half ? row : c;
        const S x = values_of<S>(v.value)[(int)begin[r] + __popc(mask[r] & ((1u << q) - 1))];
        return half && s.hermitian ? conj(x) : x;
    }

    /** f(place, view, columns) for each strip from `from` to `to`, until f returns false. By all
     *  lanes of a warp; contains __syncwarp(). */
    template <class F> __device__ void walk(cursor from, cursor to, F f) {
        cursor at = from;
        for (; at.j < frames; ++at.j, at.k = 0, at.strip = 0) {
            const int32_t frame = frame_at(at.j);
            const int64_t start = half ? s.diagonal[frame] + 1 : s.ptr[frame];
            const int64_t stop = half ? s.ptr[frame + 1] : s.diagonal[frame];
            const int64_t *const where = half ? s.upper : s.lower;
            const int blocks = at.phase ? 1 : (int)(stop - start);
            int64_t place = -1; /* lane l: of block l of the next 32 */
            int32_t across = 0;
            for (bool fresh = true; at.k < blocks; ++at.k, at.strip = 0) {
                if (at == to) return;
                if (at.phase) {
                    place = (half ? s.pivot_n : s.pivot)[frame];
                    across = p.slot[half][frame] - slot0;
                } else if (fresh || at.k % 32 == 0) {
                    const int k = at.k / 32 * 32 + lane;
                    fresh = false, place = -1;
                    if (k < blocks) {
                        const int64_t e = start + p.order[start + k];
                        place = where[s.block[e]];
                        across = p.slot[half][s.other[e]];
                    }
                }
                const int lane_of = at.phase ? 0 : at.k % 32;
                const int64_t words = __shfl_sync(0xffffffffu, place, lane_of);
                const int32_t slot = __shfl_sync(0xffffffffu, across, lane_of);
                if (words < 0) continue;
                block_view<S> v;
                view(words, frame, slot, &v);
                for (; at.strip < 4; ++at.strip) {
                    if (at == to) return;
                    const uint32_t columns = v.any & 0xffu << 8 * at.strip;
                    if (columns && !f(at, v, columns)) return;
                }
            }
        }
    }

    /** Blocks of frame j. By each thread for itself; no barrier. */
    __device__ int blocks(int j) const {
        const int32_t f = frame_at(j);
        return (int)(half ? s.ptr[f + 1] - s.diagonal[f] - 1 : s.diagonal[f] - s.ptr[f]);
    }
    /** Where block `number` of the unit is; the end where there is none. By each thread for
     *  itself; no barrier. */
    __device__ cursor find(int number) const {
        for (int j = 0; j < frames; number -= blocks(j), ++j)
            if (number < blocks(j)) return {0, j, number, 0};
        return {0, frames, 0, 0};
    }

    /** Is M = I for all frames of the unit? By all lanes of a warp; contains __syncwarp(). */
    __device__ bool identity() {
        for (int j = 0; j < frames; ++j) {
            const int32_t f = frame_at(j);
            const int64_t at = (half ? s.pivot_n : s.pivot)[f];
            if (at < 0) return false;
            block_view<S> v;
            view(at, f, p.slot[half][f] - slot0, &v);
            const int row = lane - v.base;
            bool good = true;
            if (row >= 0 && row < width(f))
                good = v.mine == 1u << row && is_zero(entry(v, row) + make<S>(1));
            if (!__all_sync(0xffffffffu, good)) return false;
        }
        return true;
    }
};

} // namespace mpki

#endif
