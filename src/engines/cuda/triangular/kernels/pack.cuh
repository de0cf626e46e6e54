/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_PACK_CUH
#define MPKI_CUDA_TRIANGULAR_PACK_CUH
/** From packed blocks to packets, a warp for a part of a unit and a direction. It walks over its
 *  blocks in strips of eight columns and begins a new segment where the next strip does not fit.
 *  Passes take the same walk: one counts segments and measures the first ones of each part, the
 *  next one those that were too many, the last one fills them. */
#include "engines/cuda/module/shared_memory.cuh"
#include "walk.cuh"

namespace mpki {

/* ---- lanes that help ---- */

/** With `most` entries a lane: the lanes with numbers first .. end-1 have the first entries of the
 *  lane's row that are too many. Numbers go by room, the lane with the most has 0. */
struct folding {
    int first, end, number;
};

/** How many lanes have more than x, or as much and come before. By all lanes of a warp, in
 *  shuffles; no block barrier. */
__device__ inline int rank(int x) {
    const int lane = threadIdx.x & 31;
    int before = 0;
    for (int l = 0; l < 32; ++l) {
        const int y = __shfl_sync(0xffffffffu, x, l);
        before += y > x || (y == x && l < lane);
    }
    return before;
}

/** The x of the lane with rank `of`, which is *lane_of. By all lanes of a warp, in shuffles; no
 *  block barrier. */
__device__ inline int ranked(int x, int rank, int of, int *lane_of) {
    *lane_of = __ffs((int)__ballot_sync(0xffffffffu, rank == of)) - 1;
    return __shfl_sync(0xffffffffu, x, *lane_of);
}

/** Deals the entries of rows longer than `most` out to lanes with less: the longest row first,
 *  to the lanes that can take most. *out: where this lane's row went. False: they do not fit. By
 *  all lanes of a warp, in shuffles; no block barrier. */
__device__ inline bool fold(int length, int most, folding *out) {
    const int lane = threadIdx.x & 31;
    const int excess = length > most ? length - most : 0, spare = length < most ? most - length : 0;
    const int longest = rank(excess), widest = rank(spare);
    *out = {0, 0, widest};
    for (int i = 0, h = 0; i < 32; ++i) {
        int row, helper, more = ranked(excess, longest, i, &row);
        const int first = h;
        if (more == 0) break;
        for (; more > 0; ++h) {
            const int space = h < 32 ? ranked(spare, widest, h, &helper) : 0;
            if (space == 0) return false;
            more -= space;
        }
        if (lane == row) out->first = first, out->end = h;
    }
    return true;
}

/** The largest x of the warp. By all lanes of a warp, in shuffles; no block barrier. */
__device__ inline int largest(int x) {
    for (int d = 16; d; d /= 2) {
        const int y = __shfl_xor_sync(0xffffffffu, x, d);
        x = x < y ? y : x;
    }
    return x;
}

/** The sum of x over the warp. By all lanes of a warp, in shuffles; no block barrier. */
__device__ inline int total(int x) {
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/** Does a segment fit whose row in this lane is so long? By all lanes of a warp, in shuffles; no
 *  block barrier. */
__device__ inline bool fits(int length) {
    folding f;
    const int most = MPKI_SWEEPS_STEPS;
    return largest(length) <= most || fold(length, most, &f);
}

/* ---- a segment ---- */

/** Entries of M from which on tiles are hardly longer. */
static const int FEW = 256;
/** Blocks in full that a unit waits for; entries of a column from which on it is one. */
static const int MOST_DENSE = 2, SPARSE = 4;

/** Lists, then (only to fill) the packet. */
template <class S> struct pack_memory {
    static const int LISTS = 3 * 128, BYTES = LISTS + packing<S>::MOST;
};

template <class S> struct segmenter {
    walker<S> w;
    int pass, part, count;
    bool ends;         /* the part is the last of its unit */
    bool plain;        /* M = I */
    char *staging;     /* shared */
    uint32_t *helpers; /* [32] shared, by number: entries that fit; from bit 8 on the lane */
    cursor from;
    int columns, length; /* length: of the lane's row */
    int32_t last;
    bool dense_next; /* a block in full follows */

    /** The walk of a part of a unit. shared: the pack kernel's memory. By each thread for
     *  itself; no barrier. */
    __device__ segmenter(const mpki_cuda_packing &p, const mpki_cuda_store &s, int half, int part_,
                         int pass_, char *shared)
        : w(p, s, half, p.part_unit[half][part_], (uint32_t *)shared), pass(pass_), part(part_),
          count(0), staging(shared + pack_memory<S>::LISTS), helpers((uint32_t *)shared + 64),
          dense_next(false) {
        ends = part + 1 == p.parts[half] || p.part_unit[half][part + 1] != w.unit;
    }

    /** A new segment begins at `at`. By each thread for itself; no barrier. */
    __device__ void open(cursor at) {
        from = at;
        columns = length = 0;
        last = at.phase ? -2 : -1;
    }

    /** Puts the entries from `from` to `to` into the staged packet. f: from fold(). By all lanes
     *  of a warp; contains __syncwarp(). */
    __device__ void entries(cursor to, int steps, const folding &f, bool folded) {
        typedef packing<S> layout;
        const int lane = w.lane, flags = folded ? FOLDED : 0;
        const int early = length < steps ? 0 : length - steps;
        char *const first = staging + layout::entries_at(flags);
        uint32_t *const list = (uint32_t *)(staging + layout::list_at(flags, steps));
        int taken = 0, helper = f.first, used = 0, column = 0;
        __syncwarp();
        if (folded) helpers[f.number] = (uint32_t)(steps - length + early) | (uint32_t)lane << 8;
        __syncwarp();
        w.walk(from, to, [&](cursor at, const block_view<S> &v, uint32_t set) {
            if (!at.phase && (set >> lane & 1))
                list[column + __popc(set & ((1u << lane) - 1))] = (uint32_t)(v.from + lane);
            for (uint32_t bits = v.mine & set; bits; bits &= bits - 1) {
                const int c = __ffs((int)bits) - 1;
                int to_lane = lane, step = steps - length + taken;
                if (taken < early) {
                    while ((int)(helpers[helper] & 255) <= used) ++helper, used = 0;
                    to_lane = (int)(helpers[helper] >> 8), step = used++;
                }
                ++taken;
                *(uint8_t *)(first + layout::column_at(to_lane, step, steps)) =
                    (uint8_t)(at.phase ? v.from + c : column + __popc(set & ((1u << c) - 1)));
                *(S *)(first + layout::value_at(to_lane, step, steps)) = w.entry(v, c);
            }
            column += at.phase ? 0 : __popc(set);
            return true;
        });
    }

    /** Stages the packet of the segment from `from` to `to` and writes it. By all lanes of a
     *  warp; contains __syncwarp(). */
    __device__ void fill(cursor to, int steps, const folding &f, bool folded) {
        typedef packing<S> layout;
        const mpki_cuda_packing &p = w.p;
        const int lane = w.lane, half = w.half;
        const int flags = (folded ? FOLDED : 0) | (half ? BACKWARD : 0) | (from.phase ? OF_M : 0);
        const int listed = from.phase ? 0 : columns, bytes = layout::bytes(flags, steps, listed);
        const mpki_sweeps_place place = p.place[half][p.first[half][part] + count];
        __syncwarp();
        for (int k = lane; k < bytes / 4; k += 32) ((uint32_t *)staging)[k] = 0;
        __syncwarp();
        for (int k = 0; k < steps; ++k) /* padding */
            *(uint8_t *)(staging + layout::entries_at(flags) + layout::column_at(lane, k, steps)) =
                NOTHING;
        __syncwarp();
        if (lane == 0) {
            packet x = {};
            x.next = place.next, x.part = place.part;
            x.first_part = place.first_part, x.parts = place.parts;
            x.columns = (uint16_t)listed, x.steps = (uint8_t)steps, x.flags = (uint8_t)flags;
            x.slot = w.slot0, x.rows = (uint16_t)w.rows(), x.size = (uint16_t)(bytes / 16);
            *(packet *)staging = x;
        }
        if (folded) {
            const int own = length < steps ? length : steps;
            ((uint32_t *)(staging + 32))[lane] = (uint32_t)(steps - own) | (uint32_t)f.first << 8 |
                                                 (uint32_t)f.end << 16 | (uint32_t)f.number << 24;
        }
        entries(to, steps, f, folded);
        __syncwarp();
        uint32_t *const out = (uint32_t *)(p.packets + (int64_t)place.at * 16);
        for (int k = lane; k < bytes / 4; k += 32) out[k] = ((const uint32_t *)staging)[k];
    }

    /** Does this pass measure the current segment? By each thread for itself; no barrier. */
    __device__ bool measured() const {
        return pass == MPKI_SWEEPS_MEASURE ||
               (pass == MPKI_SWEEPS_COUNT && count < MPKI_SWEEPS_FIRST);
    }

    /** Notes a segment's size in 16 bytes, the column that falls due last, and whether it is a
     *  block in full. By all lanes of a warp; no barrier. */
    __device__ void record(int bytes, int32_t due, int full) const {
        const mpki_sweeps_measure m = {(uint32_t)bytes / 16, due, full};
        if (w.lane != 0) return;
        if (pass == MPKI_SWEEPS_MEASURE)
            w.p.measure[w.half][w.p.first[w.half][part] + count] = m;
        else
            w.p.trial[w.half][(int64_t)part * MPKI_SWEEPS_FIRST + count] = m;
    }

    /** The segment ends before `to`: it is measured, filled or counted, by the pass. By all
     *  lanes of a warp; contains __syncwarp(). */
    __device__ void close(cursor to) {
        /* M is enough, or another part */
        if (!from.phase && columns == 0 && (!plain || !ends || dense_next)) return;
        if (measured() || pass == MPKI_SWEEPS_FILL) {
            const int longest = largest(length), all = total(length);
            folding f = {0, 0, 0};
            int steps = (all + 63) / 64 * 2;
            while (longest > steps && !fold(length, steps, &f)) steps += 2;
            const bool folded = longest > steps;
            if (pass == MPKI_SWEEPS_FILL)
                fill(to, steps, f, folded);
            else
                record(packing<S>::bytes(folded ? FOLDED : 0, steps, from.phase ? 0 : columns),
                       last, 0);
        }
        ++count;
    }

    /** How many of the blocks that fall due last become packets in full: at most MOST_DENSE, of
     *  the unit's last frame. By all lanes of a warp; contains __syncwarp(). */
    __device__ int dense_blocks() const {
        const int j = w.frames - 1, blocks = w.blocks(j);
        const int32_t f = w.frame_at(j);
        const int64_t start = w.half ? w.s.diagonal[f] + 1 : w.s.ptr[f];
        const int64_t *const where = w.half ? w.s.upper : w.s.lower;
        int most = -w.p.part_block[w.half][part], dense = 0; /* those of the part */
        if (!packing<S>::IN_TILES_TOO || !ends) return 0;
        for (int k = 0; k < w.frames; ++k) most += w.blocks(k);
        most = most < MOST_DENSE ? most : MOST_DENSE, most = most < blocks ? most : blocks;
        for (; dense < most; ++dense) {
            const int64_t e = start + w.p.order[start + blocks - 1 - dense],
                          at = where[w.s.block[e]];
            const int32_t slot = w.p.slot[w.half][w.s.other[e]];
            block_view<S> v;
            if (at < 0 || !is_deferred(slot)) break;
            w.view(at, f, slot, &v);
            if (total(__popc(v.mine)) < SPARSE * __popc(v.any)) break;
        }
        return dense;
    }

    /** Block k of the last frame in full: joined with M, whose rows stand at `out`, or (out < 0)
     *  as it is. By all lanes of a warp; contains __syncwarp(). */
    __device__ void dense(int k, int out) {
        const int j = w.frames - 1;
        w.walk({0, j, k, 0}, {0, j, k + 1, 0}, [&](cursor, const block_view<S> &v, uint32_t) {
            if (pass == MPKI_SWEEPS_FILL) {
                if (out < 0)
                    fill_dense(v);
                else
                    fill_joined(v, out);
            } else if (measured()) {
                const int columns = __popc(v.any);
                record(out < 0 ? packing<S>::dense_bytes(columns)
                               : packing<double>::dense_bytes(columns),
                       v.from + (w.half ? __ffs((int)v.any) - 1 : 31 - __clz((int)v.any)), 1);
            }
            return false;
        });
        ++count;
    }

    /** Stages the head and the columns of the packet of a block in full. By all lanes of a warp;
     *  contains __syncwarp(). */
    __device__ void begin_dense(const block_view<S> &v, int flags, int bytes) {
        const mpki_cuda_packing &p = w.p;
        const int lane = w.lane, half = w.half, columns = __popc(v.any);
        const mpki_sweeps_place place = p.place[half][p.first[half][part] + count];
        __syncwarp();
        for (int k = lane; k < bytes / 4; k += 32) ((uint32_t *)staging)[k] = 0;
        __syncwarp();
        if (lane == 0) {
            packet x = {};
            x.next = place.next, x.part = place.part;
            x.first_part = place.first_part, x.parts = place.parts;
            x.columns = (uint16_t)columns, x.steps = (uint8_t)((columns + 3) / 4 * 4);
            x.flags = (uint8_t)(flags | (half ? BACKWARD : 0));
            x.slot = w.slot0, x.rows = (uint16_t)w.rows(), x.size = (uint16_t)(bytes / 16);
            *(packet *)staging = x;
        }
        uint32_t *const list = (uint32_t *)(staging + sizeof(packet));
        list[lane] =
            (uint32_t)(v.from + __ffs((int)v.any) - 1); /* of lanes without a column, too */
        __syncwarp();
        if (v.any >> lane & 1) list[__popc(v.any & ((1u << lane) - 1))] = (uint32_t)(v.from + lane);
    }

    /** The staged packet goes to its place in memory. By all lanes of a warp; contains
     *  __syncwarp(). */
    __device__ void write_staged(int bytes) {
        const mpki_sweeps_place place = w.p.place[w.half][w.p.first[w.half][part] + count];
        __syncwarp();
        uint32_t *const to = (uint32_t *)(w.p.packets + (int64_t)place.at * 16);
        for (int k = w.lane; k < bytes / 4; k += 32) to[k] = ((const uint32_t *)staging)[k];
    }

    /** Stages the values of a block in full. By all lanes of a warp; the caller needs
     *  __syncwarp(). */
    __device__ void put_block(const block_view<S> &v) {
        for (uint32_t bits = v.mine; bits; bits &= bits - 1) {
            const int c = __ffs((int)bits) - 1, column = __popc(v.any & ((1u << c) - 1));
            *(S *)(staging + packing<S>::DENSE_AT + packing<S>::dense_at(w.lane, column)) =
                w.entry(v, c);
        }
    }

    /** Stages and writes a block in full. By all lanes of a warp; contains __syncwarp(). */
    __device__ void fill_dense(const block_view<S> &v) {
        const int bytes = packing<S>::dense_bytes(__popc(v.any));
        begin_dense(v, DENSE, bytes);
        put_block(v);
        write_staged(bytes);
    }

    /** Stages and writes M times the block, in double precision: row i of M's order is lane 4 (i
     *  % 8) + i / 8's. By all lanes of a warp; contains __syncwarp(). */
    __device__ void fill_joined(const block_view<S> &v, int out) {
        typedef packing<S> layout;
        const int lane = w.lane, columns = __popc(v.any),
                  bytes = packing<double>::dense_bytes(columns);
        double sum[32];
        for (int k = 0; k < 32; ++k) sum[k] = 0;
        begin_dense(v, JOINED, bytes);
        put_block(v);
        __syncwarp();
        const int j = w.frames - 1;
        w.walk({1, j, 0, 0}, {1, w.frames, 0, 0},
               [&](cursor, const block_view<S> &m, uint32_t set) {
                   for (uint32_t bits = m.mine & set; bits; bits &= bits - 1) {
                       const int c = __ffs((int)bits) - 1, row = m.from + c;
                       const double value = re(widen(w.entry(m, c)));
#pragma unroll
                       for (int k = 0; k < 32; ++k)
                           if (k < columns)
                               sum[k] -= value * re(widen(*(const S *)(staging + layout::DENSE_AT +
                                                                       layout::dense_at(row, k))));
                   }
                   return true;
               });
        __syncwarp();
        begin_dense(v, JOINED, bytes);
        const int to = out % 8 * 4 + out / 8;
#pragma unroll
        for (int k = 0; k < 32; ++k)
            if (k < columns)
                *(double *)(staging + layout::DENSE_AT + packing<double>::dense_at(to, k)) = sum[k];
        write_staged(bytes);
    }

    /** The order in which the unit's M is lower triangular: *in, *out: where the lane's column
     *  and row stand. False: there is none, or M has so few entries that tiles do not pay and
     *  nobody waits for the unit. By all lanes of a warp; contains __syncwarp(). */
    __device__ bool order_tiles(int *in, int *out) {
        const int lane = w.lane, rows = w.rows(), half = w.half;
        const bool few_units = w.p.deferred[half][w.unit] != (half ? -1 : INT32_MAX);
        uint32_t mask = 0; /* columns of the unit */
        if (!packing<S>::IN_TILES_TOO) return false;
        w.walk({1, 0, 0, 0}, {1, w.frames, 0, 0},
               [&](cursor, const block_view<S> &v, uint32_t set) {
                   if (v.mine & set) mask |= (v.mine & set) << v.from;
                   return true;
               });
        if (!few_units && total(__popc(mask)) < FEW) return false;
        if (half) { /* upper triangular once its rows are sorted: from the end */
            *in = lane < rows ? rows - 1 - lane : lane;
            *out = rank(__ffs((int)mask) - 1);
        } else { /* lower triangular once its columns are */
            int first = 32;
            for (int r = 31; r >= 0; --r)
                if (__shfl_sync(0xffffffffu, mask, r) >> lane & 1) first = r;
            *in = rank(31 - first);
            *out = lane;
        }
        uint32_t ordered = 0;
        for (int c = 0; c < 32; ++c) {
            const int place = __shfl_sync(0xffffffffu, *in, c);
            ordered |= (mask >> c & 1) << place;
        }
        const int most = *out / 8 * 8 + 8;
        return __all_sync(0xffffffffu, most == 32 || !(ordered >> (most & 31)));
    }

    /** Stages and writes M in tiles. By all lanes of a warp; contains __syncwarp(). */
    __device__ void fill_tiles(int in, int out) {
        typedef packing<S> layout;
        const mpki_cuda_packing &p = w.p;
        const int lane = w.lane, half = w.half, bytes = layout::tiles_bytes(w.rows());
        const mpki_sweeps_place place = p.place[half][p.first[half][part] + count];
        __syncwarp();
        for (int k = lane; k < bytes / 4; k += 32) ((uint32_t *)staging)[k] = 0;
        helpers[lane] = (uint32_t)in;
        __syncwarp();
        if (lane == 0) {
            packet x = {};
            x.next = place.next, x.part = place.part;
            x.first_part = place.first_part, x.parts = place.parts;
            x.flags = (uint8_t)(IN_TILES | (half ? BACKWARD : 0));
            x.slot = w.slot0, x.rows = (uint16_t)w.rows(), x.size = (uint16_t)(bytes / 16);
            *(packet *)staging = x;
        }
        staging[32 + lane] = (char)in, staging[64 + out] = (char)lane;
        w.walk({1, 0, 0, 0}, {1, w.frames, 0, 0},
               [&](cursor, const block_view<S> &v, uint32_t set) {
                   for (uint32_t bits = v.mine & set; bits; bits &= bits - 1) {
                       const int c = __ffs((int)bits) - 1;
                       *(S *)(staging + layout::TILES_AT +
                              layout::tile_at(out, (int)helpers[v.from + c])) =
                           make<S>(0) - w.entry(v, c);
                   }
                   return true;
               });
        __syncwarp();
        uint32_t *const to = (uint32_t *)(p.packets + (int64_t)place.at * 16);
        for (int k = lane; k < bytes / 4; k += 32) to[k] = ((const uint32_t *)staging)[k];
    }

    /** The segments of M, in tiles where that is possible. By all lanes of a warp; contains
     *  __syncwarp(). */
    __device__ void pivot() {
        int in, out;
        if (!order_tiles(&in, &out)) return phase(1);
        if (pass == MPKI_SWEEPS_FILL) {
            fill_tiles(in, out);
        } else if (measured()) {
            record(packing<S>::tiles_bytes(w.rows()), -3, 0);
        }
        ++count;
    }

    /** Do the columns of this slot come last in their unit? By each thread for itself; no
     *  barrier. */
    __device__ bool is_deferred(int32_t slot) const {
        const int32_t deferred = w.p.deferred[w.half][w.unit];
        return w.half ? slot < deferred : slot >= deferred;
    }

    /** The segments of the unit's blocks (0), or of its M (1). By all lanes of a warp; contains
     *  __syncwarp(). */
    __device__ void phase(int which) {
        const cursor all = {which, w.frames, 0, 0};
        const int block = w.p.part_block[w.half][part];
        const int full = which ? 0 : dense_blocks(), first_full = w.blocks(w.frames - 1) - full;
        cursor end = which || ends ? all : w.find(block + MPKI_SWEEPS_PART);
        if (full) end = {0, w.frames - 1, first_full, 0};
        cursor again = {which, 0, 0, 0};
        if (!which) again = w.find(block);
        bool deferred = false;
        open(again);
        w.walk(again, end, [&](cursor at, const block_view<S> &v, uint32_t set) {
            const int more = __popc(v.mine & set), width = __popc(set);
            const bool later = !at.phase && is_deferred(v.from);
            if (columns + width > MPKI_SWEEPS_COLUMNS || (later && !deferred && columns > 0) ||
                !fits(length + more)) {
                close(at);
                open(at);
            }
            deferred = deferred || later;
            columns += width, length += more;
            if (!at.phase) {
                const int32_t due = v.from + (w.half ? __ffs((int)set) - 1 : 31 - __clz((int)set));
                if (last < 0 || (w.half ? due < last : due > last)) last = due;
            }
            return true;
        });
        dense_next = full > 0;
        close(end);
        dense_next = false;
        int in, out;
        const bool tiles = full && !plain && order_tiles(&in, &out);
        for (int k = 0; k < full; ++k) dense(first_full + k, tiles && k + 1 == full ? out : -1);
    }
};

/** Copies the measures that the first pass took of a part. False: it took too few. By all lanes
 *  of a warp; no barrier. */
__device__ inline bool take_measures(const mpki_cuda_packing &p, int half, int part) {
    const int count = p.count[half][part];
    if (count > MPKI_SWEEPS_FIRST) return false;
    const mpki_sweeps_measure *const from = p.trial[half] + (int64_t)part * MPKI_SWEEPS_FIRST;
    for (int k = threadIdx.x & 31; k < count; k += 32)
        p.measure[half][p.first[half][part] + k] = from[k];
    return true;
}

/** Counts, measures or fills the packets of a part of a unit (`pass`: MPKI_SWEEPS_*). A block is
 *  one warp; __syncwarp() only. */
template <class S>
__global__ void __launch_bounds__(32, 12)
    pack_kernel(const mpki_cuda_packing p, const mpki_cuda_store s, int pass) {
    MPKI_SMEM;
    const int half = (int)blockIdx.x >= p.parts[0], part = (int)blockIdx.x - half * p.parts[0];
    if (pass == MPKI_SWEEPS_MEASURE && take_measures(p, half, part)) return;
    segmenter<S> x(p, s, half, part, pass, smem);
    x.plain = x.w.identity();
    x.phase(0);
    if (!x.plain && x.ends) x.pivot();
    if (pass == MPKI_SWEEPS_COUNT && x.w.lane == 0) p.count[half][part] = x.count;
}

} // namespace mpki

#endif
