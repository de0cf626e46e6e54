/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_ISAI_PATTERN_CUH
#define MPKI_CUDA_ISAI_PATTERN_CUH
/** Patterns of approximate inverses (isai/pattern.c), and columns by class. */
#include "turn.cuh"

namespace mpki {

/* ---- classes ---- */

__device__ inline int class_of(int64_t entries) {
    const int64_t most[MPK_ISAI_CLASSES - 1] = {1, 2, 4, 8, 16, 32, 64, 128, 1024};
    int k = 0;
    while (k < MPK_ISAI_CLASSES - 1 && entries > most[k]) ++k;
    return k;
}

/** Counts, or lists: a block takes a run of each class's list at once, so that neighbours in the
 *  matrix stay near each other there. */
static __global__ void __launch_bounds__(TURN_THREADS) classes_kernel(const mpki_isai_classes c) {
    __shared__ int had[MPK_ISAI_CLASSES];
    __shared__ int64_t base[MPK_ISAI_CLASSES];
    __shared__ int longest;
    const int tid = (int)threadIdx.x;
    const int64_t j = (int64_t)blockIdx.x * TURN_THREADS + tid;
    if (tid < MPK_ISAI_CLASSES) had[tid] = 0;
    if (tid == 0) longest = 0;
    __syncthreads();
    const int64_t entries = j < c.n ? c.ptr[j + 1] - c.ptr[j] + 1 : 0;
    const int k = class_of(entries);
    int place = 0;
    if (j < c.n) place = atomicAdd(had + k, 1);
    if (j < c.n && !c.list) atomicMax(&longest, (int)entries);
    __syncthreads();
    if (tid < MPK_ISAI_CLASSES && had[tid] > 0) {
        int64_t *const to = c.list ? c.next : c.count;
        base[tid] = (int64_t)atomicAdd((counter *)to + tid, (counter)had[tid]);
    }
    if (tid == 0 && !c.list) atomicMax((counter *)c.count + MPK_ISAI_CLASSES, (counter)longest);
    __syncthreads();
    if (j < c.n && c.list) c.list[c.first[k] + base[k] + place] = (int32_t)j;
}

/* ---- patterns ---- */

__device__ inline bool keeps(const mpki_isai_powers &p, int32_t i, int32_t j) {
    if (i == j || (p.group && p.group[i] == p.group[j])) return false;
    return p.keep == MPKI_ISAI_ALL || (p.keep == MPKI_ISAI_BELOW ? i > j : i < j);
}

/** The first pass has found `kept` rows of column j. */
__device__ inline void count_column(const mpki_isai_powers &p, int32_t j, int64_t kept, bool cut) {
    p.to_ptr[j + 1] = kept;
    if (p.limit > 0 && kept >= p.limit) atomicMin(&p.told->first_over, j);
    if (cut) atomicAdd(&p.told->cut, 1);
}

enum { POWER_THREADS = 128 };

static __global__ void blocks_kernel(const mpki_isai_powers p) {
    const int64_t j = (int64_t)blockIdx.x * TURN_THREADS + threadIdx.x;
    if (j >= p.n) return;
    const int64_t from = j / p.block * p.block;
    const int64_t to = from + p.block < p.n ? from + p.block : p.n;
    const int64_t begin = p.to_index ? p.to_ptr[j] : 0;
    if (p.to_index && p.to_ptr[j + 1] == begin) return;
    int64_t at = begin;
    for (int64_t i = from; i < to; ++i) {
        if (!keeps(p, (int32_t)i, (int32_t)j)) continue;
        if (p.to_index) p.to_index[at] = (int32_t)i;
        ++at;
    }
    if (p.to_index) return;
    const bool cut = p.less && p.limit > 0 && at >= p.limit;
    count_column(p, (int32_t)j, cut ? 0 : at, cut);
}

/** Is row i new to the table of rows + 1? */
template <int TABLE> __device__ inline bool insert(int32_t *table, int32_t i) {
    unsigned at = ((unsigned)i * 2654435761u >> 16) % TABLE;
    for (;;) {
        const int32_t had = atomicCAS(table + at, 0, i + 1);
        if (had == 0) return true;
        if (had == i + 1) return false;
        at = (at + 1) % TABLE;
    }
}

/** A group of LANES lanes a column: the rows within `power` steps of it, in a list and, to know them
 *  again, in a hash table; then those of the pattern, by their ranks. What meets more than MOST rows is
 *  listed for the next kernel (the first pass), or left (the second).
 *  which: columns, *count of them; NULL: all */
template <int LANES, int TABLE, int MOST>
static __global__ void __launch_bounds__(POWER_THREADS)
    powers_kernel(const mpki_isai_powers p, const int32_t *which, const int32_t *many,
                  int32_t *next, int32_t *nexts) {
    enum { GROUPS = POWER_THREADS / LANES };
    __shared__ int32_t tables[GROUPS][TABLE];
    __shared__ int32_t lists[GROUPS][MOST + LANES];
    __shared__ int counts[GROUPS], kepts[GROUPS];
    const int lane = (int)(threadIdx.x % LANES), group = (int)(threadIdx.x / LANES);
    const unsigned mine = (LANES == 32 ? 0xffffffffu : (1u << LANES % 32) - 1)
                          << (threadIdx.x % 32 / LANES * LANES);
    int32_t *const table = tables[group], *const list = lists[group];
    int *const count = counts + group, *const kept = kepts + group;
    const int64_t all = which ? *many : p.n, step = (int64_t)gridDim.x * GROUPS;
    for (int64_t at = (int64_t)blockIdx.x * GROUPS + group; at < all; at += step) {
        const int32_t j = which ? which[at] : (int32_t)at;
        for (int k = lane; k < TABLE; k += LANES) table[k] = 0;
        __syncwarp(mine);
        if (lane == 0) *count = 1, *kept = 0, list[0] = j, insert<TABLE>(table, j);
        __syncwarp(mine);
        int begin = 0, end = 1, before = 0; /* before: kept until the last step */
        bool over = false, cut = false;
        for (int s = 0; s < p.power && begin < end && !over; ++s) {
            for (int k = begin; k < end && !over; ++k) {
                const int64_t to = p.ptr[list[k] + 1];
                for (int64_t e0 = p.ptr[list[k]]; e0 < to && !over; e0 += LANES) {
                    const int32_t i = e0 + lane < to ? p.index[e0 + lane] : -1;
                    if (i >= 0 && insert<TABLE>(table, i)) {
                        list[atomicAdd(count, 1)] = i;
                        if (keeps(p, i, j)) atomicAdd(kept, 1);
                    }
                    __syncwarp(mine);
                    over = *count > MOST;
                    __syncwarp(mine);
                }
            }
            if (!over && p.less && p.limit > 0 && *kept >= p.limit) {
                cut = true;
                __syncwarp(mine);
                if (lane == 0) *kept = before;
                __syncwarp(mine);
                break;
            }
            begin = end, end = *count, before = *kept;
            __syncwarp(mine);
        }
        if (over) {
            if (lane == 0 && !p.to_index) next[atomicAdd(nexts, 1)] = j;
        } else if (!p.to_index) {
            if (lane == 0) count_column(p, j, *kept, cut);
        } else { /* those that are kept, to the table's room */
            if (lane == 0) *kept = 0;
            __syncwarp(mine);
            for (int k = lane; k < end; k += LANES)
                if (keeps(p, list[k], j)) table[atomicAdd(kept, 1)] = list[k];
            __syncwarp(mine);
            for (int k = lane; k < *kept; k += LANES) {
                int rank = 0;
                for (int q = 0; q < *kept; ++q) rank += table[q] < table[k];
                p.to_index[p.to_ptr[j] + rank] = table[k];
            }
        }
        __syncwarp(mine);
    }
}

/** The columns that met more rows: a block each, with marks in device memory. */
static __global__ void __launch_bounds__(TURN_THREADS) far_kernel(const mpki_isai_powers p) {
    __shared__ int count, kept;
    __shared__ row_marks marks;
    const int tid = (int)threadIdx.x, lane = tid % 32, warp = tid / 32;
    int32_t *const seen = p.seen + (int64_t)blockIdx.x * p.n;
    int32_t *const list = p.reach + (int64_t)blockIdx.x * p.n;
    for (int32_t q = (int32_t)blockIdx.x; q < p.told->far; q += p.slots) {
        const int32_t j = p.far[q];
        __syncthreads();
        if (tid == 0) count = 1, kept = 0, list[0] = j, seen[j] = j;
        __syncthreads();
        int begin = 0, end = 1, before = 0;
        bool cut = false;
        for (int step = 0; step < p.power && begin < end && !cut; ++step) {
            for (int k = begin + warp; k < end; k += TURN_THREADS / 32)
                for (int64_t e = p.ptr[list[k]] + lane; e < p.ptr[list[k] + 1]; e += 32) {
                    const int32_t i = p.index[e];
                    if (atomicExch(seen + i, j) == j) continue;
                    list[atomicAdd(&count, 1)] = i;
                    if (keeps(p, i, j)) atomicAdd(&kept, 1);
                }
            __syncthreads();
            cut = p.less && p.limit > 0 && kept >= p.limit;
            if (!cut) begin = end, end = count, before = kept;
            __syncthreads();
        }
        if (!p.to_index) {
            if (tid == 0) count_column(p, j, cut ? before : kept, cut);
            continue;
        }
        int64_t to = p.to_ptr[j];
        for (int64_t first = 0; first < p.n; first += MARKS_WINDOW) {
            marks.clear();
            for (int k = tid; k < end; k += TURN_THREADS)
                if (keeps(p, list[k], j)) marks.set(list[k] - first);
            const int64_t all = marks.count();
            for (int w = tid; w < MARKS_WORDS; w += TURN_THREADS) {
                int64_t at = to + marks.before[w];
                for (unsigned bits = marks.bits[w]; bits; bits &= bits - 1)
                    p.to_index[at++] = (int32_t)(first + 32 * w + __ffs((int)bits) - 1);
            }
            to += all;
        }
    }
}

} // namespace mpki

#endif
