/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_PATTERN_CUH
#define MPKI_CUDA_INVERSE_PATTERN_CUH
/** Patterns of approximate inverses (engines/cpu/inverse/pattern.c), and columns by class. */
#include "turn.cuh"

namespace mpki {

/* ---- classes ---- */

/** The class of columns of so many entries, diagonal included. By each thread for itself; no
 *  barrier. */
__device__ inline int class_of(int64_t entries) {
    const int64_t most[MPK_ISAI_CLASSES - 1] = {1, 2, 4, 8, 16, 32, 64, 128, 1024};
    int k = 0;
    while (k < MPK_ISAI_CLASSES - 1 && entries > most[k]) ++k;
    return k;
}

/** Counts columns by class, or lists them: a block takes a run of each class's list at once, so
 *  that neighbours in the matrix stay near each other. A thread takes a column; block barriers. */
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

/** Does the rule keep row i in column j? By each thread for itself; no barrier. */
__device__ inline bool keeps(const mpki_isai_powers &p, int32_t i, int32_t j) {
    if (i == j || (p.group && p.group[i] == p.group[j])) return false;
    return p.keep == MPKI_ISAI_ALL || (p.keep == MPKI_ISAI_BELOW ? i > j : i < j);
}

/** Notes what the first pass found of column j: `kept` rows, and whether the search was `cut`.
 *  By one thread; no barrier. */
__device__ inline void count_column(const mpki_isai_powers &p, int32_t j, int64_t kept, bool cut) {
    p.to_ptr[j + 1] = kept;
    if (p.limit > 0 && kept >= p.limit) atomicMin(&p.notes->first_over, j);
    if (cut) atomicAdd(&p.notes->cut, 1);
}

/** The pattern of block Jacobi, I of the block of j for column j: counts, or rows. A thread
 *  takes a column; no barrier. */
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

/** Is row i new to the hash table `table` of rows + 1? By one lane; an atomic exchange. */
template <int TABLE> __device__ inline bool insert(int32_t *table, int32_t i) {
    unsigned at = ((unsigned)i * 2654435761u >> 16) % TABLE;
    for (;;) {
        const int32_t had = atomicCAS(table + at, 0, i + 1);
        if (had == 0) return true;
        if (had == i + 1) return false;
        at = (at + 1) % TABLE;
    }
}

/** What a warp has found of a column, and whether that is all of it. */
struct power_search {
    int count, kept; /* rows in the list; those of them that the pattern keeps */
    bool over, cut;
};

/** Appends to `list` the new rows of columns list[begin .. end - 1]; in the `last` step those
 *  alone that the rule keeps. Entries of 32 columns are numbered in one sequence, so that each
 *  lane has one, however short the columns are. before, from: 32 numbers each, shared. By all
 *  lanes of a warp; contains __syncwarp(). */
template <int TABLE, int MOST>
__device__ inline void visit(const mpki_isai_powers &p, int32_t j, int begin, int end, bool last,
                             int32_t *table, int32_t *list, int *before, int64_t *from,
                             power_search *found) {
    const int lane = (int)(threadIdx.x % 32);
    for (int b = begin; b < end && !found->over; b += 32) {
        const int32_t r = b + lane < end ? list[b + lane] : -1;
        const int64_t first = r >= 0 ? p.ptr[r] : 0, many = r >= 0 ? p.ptr[r + 1] - first : 0;
        if (__any_sync(0xffffffffu, many > MOST)) { /* they are different rows */
            found->over = true;
            return;
        }
        int sum = (int)many;
        for (int d = 1; d < 32; d *= 2) {
            const int y = __shfl_up_sync(0xffffffffu, sum, (unsigned)d);
            if (lane >= d) sum += y;
        }
        const int all = __shfl_sync(0xffffffffu, sum, 31);
        before[lane] = sum - (int)many, from[lane] = first;
        __syncwarp();
        for (int e0 = 0; e0 < all && !found->over; e0 += 32) {
            const int e = e0 + lane;
            int32_t i = -1;
            if (e < all) {
                int q = 0; /* the last column that begins at or before e */
                for (int d = 16; d > 0; d /= 2)
                    if (before[q + d] <= e) q += d;
                i = p.index[from[q] + e - before[q]];
            }
            const bool kept = i >= 0 && keeps(p, i, j);
            const bool fresh = i >= 0 && (kept || !last) && insert<TABLE>(table, i);
            const unsigned news = __ballot_sync(0xffffffffu, fresh);
            if (fresh) list[found->count + __popc(news & ((1u << lane) - 1))] = i;
            found->count += __popc(news);
            found->kept += __popc(__ballot_sync(0xffffffffu, fresh && kept));
            found->over = found->count > MOST;
            __syncwarp();
        }
    }
}

/** to := the rows of `list` that the rule keeps, in order, by their ranks. memory: for all of
 *  them, shared. By all lanes of a warp; contains __syncwarp(). */
__device__ inline void write_kept(const mpki_isai_powers &p, int32_t j, int count,
                                  const int32_t *list, int32_t *memory, int32_t *to) {
    const int lane = (int)(threadIdx.x % 32);
    int kept = 0;
    for (int k0 = 0; k0 < count; k0 += 32) {
        const int32_t i = k0 + lane < count ? list[k0 + lane] : j;
        const bool keep = keeps(p, i, j);
        const unsigned bits = __ballot_sync(0xffffffffu, keep);
        if (keep) memory[kept + __popc(bits & ((1u << lane) - 1))] = i;
        kept += __popc(bits);
    }
    __syncwarp();
    for (int k = lane; k < kept; k += 32) {
        const int32_t own = memory[k];
        int rank = 0;
        for (int q = 0; q < kept; ++q) rank += memory[q] < own;
        to[rank] = own;
    }
}

/** The rows within `power` steps of each column `which` (*many of them; NULL: all), in a list
 *  and in a hash table, then those that the rule keeps. The first pass puts them to p.found, as
 *  far as it goes, and lists columns that meet more than MOST rows in `next`; the second pass
 *  copies or searches again. A warp takes columns in turns; __syncwarp(). */
template <int TABLE, int MOST>
static __global__ void __launch_bounds__(POWER_THREADS)
    powers_kernel(const mpki_isai_powers p, const int32_t *which, const int32_t *many,
                  int32_t *next, int32_t *nexts) {
    enum { WARPS = POWER_THREADS / 32 };
    static_assert(TABLE >= MOST + 32, "a step of 32 rows is inserted before it is counted");
    __shared__ int32_t tables[WARPS][TABLE];
    __shared__ int32_t lists[WARPS][MOST + 32];
    __shared__ int befores[WARPS][32];
    __shared__ int64_t froms[WARPS][32];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    int32_t *const table = tables[warp], *const list = lists[warp];
    const int64_t all = which ? *many : p.n, step = (int64_t)gridDim.x * WARPS;
    for (int64_t at = (int64_t)blockIdx.x * WARPS + warp; at < all; at += step) {
        const int32_t j = which ? which[at] : (int32_t)at;
        const int64_t known = p.to_index ? p.to_ptr[j + 1] - p.to_ptr[j] : 0;
        if (p.to_index && known <= p.found_each) continue; /* copied */
        for (int k = lane; k < TABLE; k += 32) table[k] = 0;
        __syncwarp();
        if (lane == 0) list[0] = j, insert<TABLE>(table, j);
        __syncwarp();
        power_search found = {1, 0, false, false};
        int begin = 0;
        for (int s = 0; s < p.power && begin < found.count; ++s) {
            const int end = found.count, before = found.kept;
            visit<TABLE, MOST>(p, j, begin, end, s + 1 == p.power, table, list, befores[warp],
                               froms[warp], &found);
            if (found.over) break;
            if (p.less && p.limit > 0 && found.kept >= p.limit) {
                found.cut = true, found.kept = before, found.count = end;
                break;
            }
            begin = end;
        }
        if (found.over) {
            if (lane == 0 && !p.to_index) next[atomicAdd(nexts, 1)] = j;
        } else {
            if (lane == 0 && !p.to_index) count_column(p, j, found.kept, found.cut);
            if (p.to_index)
                write_kept(p, j, found.count, list, table, p.to_index + p.to_ptr[j]);
            else if (found.kept <= p.found_each)
                write_kept(p, j, found.count, list, table, p.found + (int64_t)j * p.found_each);
        }
        __syncwarp();
    }
}

/** Copies what the first pass has found to its place. Eight lanes take a column; no barrier. */
static __global__ void found_kernel(const mpki_isai_powers p) {
    enum { LANES = 8 };
    const int64_t j = ((int64_t)blockIdx.x * TURN_THREADS + threadIdx.x) / LANES;
    if (j >= p.n) return;
    const int64_t begin = p.to_ptr[j], count = p.to_ptr[j + 1] - begin;
    if (count > p.found_each) return;
    for (int64_t k = threadIdx.x % LANES; k < count; k += LANES)
        p.to_index[begin + k] = p.found[j * p.found_each + k];
}

/** The pattern of columns that met too many rows for a hash table, with marks in device memory.
 *  A block takes columns in turns; block barriers. */
static __global__ void __launch_bounds__(TURN_THREADS) far_kernel(const mpki_isai_powers p) {
    __shared__ int count, kept;
    __shared__ row_marks marks;
    const int tid = (int)threadIdx.x, lane = tid % 32, warp = tid / 32;
    int32_t *const seen = p.seen + (int64_t)blockIdx.x * p.n;
    int32_t *const list = p.reach + (int64_t)blockIdx.x * p.n;
    for (int32_t q = (int32_t)blockIdx.x; q < p.notes->far; q += p.slots) {
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

/* ---- patterns of frames ---- */

/** Counts of the columns' rows into to_ptr[column + 1], or the rows. A warp takes a frame;
 *  shuffles. */
static __global__ void __launch_bounds__(ISAI_THREADS) spread_kernel(const mpki_isai_spreading s) {
    const int lane = (int)(threadIdx.x % 32);
    const int64_t p = ((int64_t)blockIdx.x * ISAI_THREADS + threadIdx.x) / 32;
    if (p >= s.m) return;
    const int32_t first = s.first[p], columns = s.first[p + 1] - first;
    if (!s.to_index) {
        int64_t rows = 0;
        for (int64_t b = s.ptr[p] + lane; b < s.ptr[p + 1]; b += 32)
            rows += s.first[s.index[b] + 1] - s.first[s.index[b]];
        for (int h = 16; h > 0; h /= 2) rows += __shfl_xor_sync(0xffffffffu, rows, h);
        for (int32_t c = lane; c < columns; c += 32) s.to_ptr[first + c + 1] = rows;
        return;
    }
    int64_t at = 0;
    for (int64_t b = s.ptr[p]; b < s.ptr[p + 1]; ++b) {
        const int32_t from = s.first[s.index[b]], rows = s.first[s.index[b] + 1] - from;
        for (int32_t k = lane; k < rows * columns; k += 32)
            s.to_index[s.to_ptr[first + k / rows] + at + k % rows] = from + k % rows;
        at += rows;
    }
}

/** to_ptr[portion + 1] := the rows of a portion's columns. A thread takes a portion; no barrier. */
static __global__ void __launch_bounds__(TURN_THREADS)
    portions_kernel(int64_t count, const int32_t *portion, const int64_t *ptr, int64_t *to_ptr) {
    const int64_t q = (int64_t)blockIdx.x * TURN_THREADS + threadIdx.x;
    if (q < count) to_ptr[q + 1] = ptr[portion[q] + 1] - ptr[portion[q]];
}

} // namespace mpki

#endif
