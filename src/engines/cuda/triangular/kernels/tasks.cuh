/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_TASKS_CUH
#define MPKI_CUDA_TRIANGULAR_TASKS_CUH
/** From segments to tasks and tickets, on the device: prefix sums of what parts and units have,
 *  tasks of units, their order (a stable sort by turns), places of packets. Whatever waits for a
 *  sum is one block. */
#include "engines/cuda/module/launch.cuh"
#include "triangular.h"

namespace mpki {

enum { SCAN = 1024, DIGITS = 256, CHUNK = 1024 };

/** The sum of x over the threads before this one; *all: over all of the block. sum: shared, SCAN
 *  numbers. By all threads of a block; ends with a block barrier. */
__device__ inline int64_t sum_before(int64_t x, int64_t *sum, int64_t *all) {
    const int k = (int)threadIdx.x, threads = (int)blockDim.x;
    sum[k] = x;
    for (int h = 1; h < threads; h *= 2) {
        __syncthreads();
        int64_t y = sum[k];
        if (k >= h) y += sum[k - h];
        __syncthreads();
        sum[k] = y;
    }
    __syncthreads();
    const int64_t mine = sum[k];
    *all = sum[threads - 1];
    __syncthreads();
    return mine - x;
}

/** to(k, begin + from(0) + .. + from(k - 1)) for k < count; returns begin plus all of them. sum:
 *  shared, SCAN. By all threads of a block; ends with a block barrier. */
template <class FROM, class TO>
__device__ inline int64_t scan(int64_t count, int64_t begin, int64_t *sum, FROM from, TO to) {
    const int64_t each = (count + blockDim.x - 1) / blockDim.x;
    const int64_t t0 = each * threadIdx.x < count ? each * threadIdx.x : count;
    const int64_t t1 = t0 + each < count ? t0 + each : count;
    int64_t mine = 0, all;
#pragma unroll 4
    for (int64_t t = t0; t < t1; ++t) mine += from(t);
    int64_t at = begin + sum_before(mine, sum, &all);
    for (int64_t t = t0; t < t1; ++t) {
        const int64_t x = from(t);
        to(t, at);
        at += x;
    }
    return begin + all;
}

/** Where the segments of each part and of each unit begin, and how many there are. One block;
 *  block barriers. */
static __global__ void __launch_bounds__(SCAN) segments_kernel(const mpki_cuda_packing p) {
    __shared__ int64_t sum[SCAN];
    for (int half = 0; half < 2; ++half) {
        const int32_t *const count = p.count[half];
        const int64_t all = scan(
            p.parts[half], 0, sum, [&](int64_t k) { return (int64_t)count[k]; },
            [&](int64_t k, int64_t at) {
                p.first[half][k] = at;
                if (p.part_block[half][k] == 0) p.begin[half][p.part_unit[half][k]] = at;
            });
        if (threadIdx.x == 0) p.begin[half][p.units[half]] = p.summary->segments[half] = all;
    }
}

/* ---- a unit's tasks: several warps share a long one, as a rule no more than PARTS ------------- */

enum { TASK_SEGMENTS = 6, PARTS = 32 };

/** The tasks of a unit: how its segments are divided. */
struct unit_tasks {
    const mpki_cuda_packing &p;
    const int half, unit;
    const mpki_sweeps_measure *const measure;
    const int64_t begin, end;
    int64_t most; /* segments of a task that is not the last one */
    int64_t of_l; /* from here on segments are M's */

    /** The unit's segments, and how many of them a task gets. By each thread for itself; no
     *  barrier. */
    __device__ unit_tasks(const mpki_cuda_packing &p_, int half_, int unit_)
        : p(p_), half(half_), unit(unit_), measure(p_.measure[half_]),
          begin(p_.begin[half_][unit_]), end(p_.begin[half_][unit_ + 1]) {
        of_l = end;
        while (of_l > begin && measure[of_l - 1].last < -1) --of_l;
        most = (of_l - begin + PARTS - 1) / PARTS;
        if (most < TASK_SEGMENTS) most = TASK_SEGMENTS;
    }

    /** Segments of the task that begins with segment `from`; *final: it leaves the unit's
     *  result. By each thread for itself; no barrier. */
    __device__ int length(int64_t from, bool *final) const {
        *final = of_l - from <= most;
        return (int)(*final ? end - from : most);
    }

    /** The level set of a slot, by bisection. By each thread for itself; no barrier. */
    __device__ int level_at(int32_t slot) const {
        int low = 0, high = p.levels;
        while (high - low > 1) {
            const int middle = low + (high - low) / 2;
            if (p.level_slot[half][middle] <= slot)
                low = middle;
            else
                high = middle;
        }
        return low;
    }

    /** When the task of `count` segments from `from` on may run: twice the level set, counted
     *  from where the sweep begins, plus 1 where it is `final`; other tasks come as early as the
     *  columns that they need. By each thread for itself; no barrier. */
    __device__ int turn(int64_t from, int count, bool final) const {
        int level = p.level_of[half][unit];
        if (!final) {
            int32_t due = -1;
            for (int64_t k = from; k < from + count; ++k) {
                const int32_t last = measure[k].last;
                if (last >= 0 && (due < 0 || (half ? last < due : last > due))) due = last;
            }
            level = level_at(due) + (half ? -1 : 1);
        }
        return 2 * (half ? p.levels - 1 - level : level) + final;
    }
};

/** The unit of this thread: forward units first, then backward ones. */
struct some_unit {
    int half, unit;
    bool there;
    /** Finds the thread's unit. By each thread for itself; no barrier. */
    __device__ some_unit(const mpki_cuda_packing &p) {
        const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
        half = k >= p.units[0], unit = (int)(k - half * (int64_t)p.units[0]);
        there = unit < p.units[half];
    }
};

/** unit_task := how many tasks each unit has. A thread takes a unit; no barrier. */
static __global__ void count_tasks_kernel(const mpki_cuda_packing p) {
    const some_unit u(p);
    if (!u.there) return;
    const unit_tasks of(p, u.half, u.unit);
    int count = 0;
    bool final;
    for (int64_t k = of.begin; k < of.end; ++count) k += of.length(k, &final);
    p.unit_task[u.half][u.unit] = count;
}

/** The first task of each unit, backward ones after forward ones, and its first part: a unit has
 *  one task more than parts, so that parts are numbered by units, in the order of columns. One
 *  block; block barriers. */
static __global__ void __launch_bounds__(SCAN) tasks_of_units_kernel(const mpki_cuda_packing p) {
    __shared__ int64_t sum[SCAN];
    int64_t tasks = 0, parts = 0;
    for (int half = 0; half < 2; ++half) {
        int32_t *const count = p.unit_task[half], *const part = p.unit_part[half];
        parts = scan(
            p.units[half], parts, sum,
            [&](int64_t k) { return (int64_t)(count[k] > 0 ? count[k] - 1 : 0); },
            [&](int64_t k, int64_t at) { part[k] = (int32_t)at; });
        __syncthreads();
        tasks = scan(
            p.units[half], tasks, sum, [&](int64_t k) { return (int64_t)count[k]; },
            [&](int64_t k, int64_t at) { p.task_of[half][k] = (int32_t)at; });
        if (threadIdx.x == 0) p.summary->tasks[half] = tasks;
        __syncthreads();
    }
    if (threadIdx.x == 0) p.summary->parts = parts;
}

/** Lists tasks by units, and for each segment what it leaves and adds. A thread takes a unit; no
 *  barrier. */
static __global__ void list_tasks_kernel(const mpki_cuda_packing p) {
    const some_unit u(p);
    if (!u.there) return;
    const unit_tasks of(p, u.half, u.unit);
    const int32_t first = p.unit_part[u.half][u.unit];
    int32_t part = first, at = p.task_of[u.half][u.unit];
    for (int64_t k = of.begin; k < of.end; ++at) {
        bool final;
        const int count = of.length(k, &final);
        mpki_sweeps_listed t = {k, count, of.turn(k, count, final), 0, u.half};
        mpki_sweeps_place place = {0, 0, final ? -1 : part, first, final ? part - first : 0};
        for (const int64_t end = k + count; k < end; ++k) {
            t.size += of.measure[k].size;
            p.place[u.half][k] = place;
        }
        part += !final;
        p.listed[at] = t;
    }
}

/* ---- order: a stable sort by digits, chunks of tasks side by side; backward tasks come last --- */

/** The digit of a task's turn from bit `shift` on; backward turns come after forward ones. By
 *  each thread for itself; no barrier. */
__device__ inline int digit_of(const mpki_cuda_packing &p, int32_t task, int shift) {
    const mpki_sweeps_listed &t = p.listed[task];
    return (t.turn + (t.half ? 2 * p.levels + 1 : 0)) >> shift & (DIGITS - 1);
}

/** The task at place k of the order `from`; NULL: the order of the list. By each thread for
 *  itself; no barrier. */
__device__ inline int32_t task_at(const int32_t *from, int64_t k) {
    return from ? from[k] : (int32_t)k;
}

/** digits[d chunks + c] := tasks of chunk c with digit d. A warp takes a chunk; __syncwarp(). */
static __global__ void __launch_bounds__(32)
    digits_kernel(const mpki_cuda_packing p, const int32_t *from, int shift) {
    __shared__ int32_t had[DIGITS];
    const int64_t all = p.summary->tasks[1], begin = (int64_t)blockIdx.x * CHUNK;
    for (int d = (int)threadIdx.x; d < DIGITS; d += 32) had[d] = 0;
    __syncwarp();
    for (int64_t k = begin + threadIdx.x; k < all && k < begin + CHUNK; k += 32)
        atomicAdd(&had[digit_of(p, task_at(from, k), shift)], 1);
    __syncwarp();
    for (int d = (int)threadIdx.x; d < DIGITS; d += 32)
        p.digits[(int64_t)d * gridDim.x + blockIdx.x] = had[d];
}

/** digits := the sums before them. One block; block barriers. */
static __global__ void __launch_bounds__(SCAN)
    sum_digits_kernel(const mpki_cuda_packing p, int64_t chunks) {
    __shared__ int64_t sum[SCAN];
    int32_t *const digits = p.digits;
    scan(
        DIGITS * chunks, 0, sum, [&](int64_t k) { return (int64_t)digits[k]; },
        [&](int64_t k, int64_t at) { digits[k] = (int32_t)at; });
}

/** to := the order `from`, sorted stably by this digit. A warp takes a chunk; __syncwarp(). */
static __global__ void __launch_bounds__(32)
    sort_kernel(const mpki_cuda_packing p, const int32_t *from, int32_t *to, int shift) {
    __shared__ int32_t at[DIGITS];
    const int lane = (int)threadIdx.x;
    const int64_t all = p.summary->tasks[1], begin = (int64_t)blockIdx.x * CHUNK;
    for (int d = lane; d < DIGITS; d += 32) at[d] = p.digits[(int64_t)d * gridDim.x + blockIdx.x];
    __syncwarp();
    for (int64_t k0 = begin; k0 < all && k0 < begin + CHUNK; k0 += 32) {
        const bool there = k0 + lane < all;
        const int32_t task = there ? task_at(from, k0 + lane) : 0;
        const int digit = there ? digit_of(p, task, shift) : 0;
        unsigned same = __ballot_sync(0xffffffffu, there);
        for (int bit = 1; bit < DIGITS; bit *= 2) {
            const unsigned set = __ballot_sync(0xffffffffu, (digit & bit) != 0);
            same &= digit & bit ? set : ~set;
        }
        const int before = __popc(same & ((1u << lane) - 1));
        if (there) to[at[digit] + before] = task;
        __syncwarp();
        if (there && before == 0) at[digit] += __popc(same);
        __syncwarp();
    }
}

/* ---- places ---- */

/** task_at := where each task's packets begin, in the order of tickets. One block; block
 *  barriers. */
static __global__ void __launch_bounds__(SCAN)
    sizes_kernel(const mpki_cuda_packing p, const int32_t *sorted) {
    __shared__ int64_t sum[SCAN];
    const mpki_sweeps_listed *const listed = p.listed;
    const int64_t all = scan(
        p.summary->tasks[1], 0, sum, [&](int64_t k) { return (int64_t)listed[sorted[k]].size; },
        [&](int64_t k, int64_t at) { p.task_at[k] = (uint32_t)at; });
    if (threadIdx.x == 0) p.summary->packets = all;
}

/** The place of each packet of a task: they follow each other, and M in tiles, the task's last
 *  segment, comes first. A thread takes a task; atomic counters, no barrier. */
static __global__ void places_kernel(const mpki_cuda_packing p, const int32_t *sorted,
                                     mpki_sweeps_task *tickets) {
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= p.summary->tasks[1]) return;
    const mpki_sweeps_listed t = p.listed[sorted[k]];
    const mpki_sweeps_measure *const measure = p.measure[t.half] + t.from;
    mpki_sweeps_place *const place = p.place[t.half] + t.from;
    const bool ahead = measure[t.count - 1].last == -3;
    const int last = t.count - 1;
    uint32_t at = p.task_at[k];
    int full = 0;
    tickets[k] = {at, measure[ahead ? last : 0].size};
    for (int j = 0; j < t.count; ++j) {
        const int here = !ahead ? j : j == 0 ? last : j - 1;
        const int then = ahead ? j : j + 1;
        place[here].at = at;
        place[here].next = j < last ? measure[then].size : 0;
        at += measure[here].size;
        full += measure[here].full;
    }
    if (full) atomicAdd(&p.summary->full, full);
    if (ahead) atomicAdd(&p.summary->tiles, 1);
}

} // namespace mpki

#endif
