/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_SWEEP_CUH
#define MPKI_CUDA_TRIANGULAR_SWEEP_CUH
/** The sweeps: a kernel whose warps take tasks by tickets. While a warp works on one packet the
 *  next one, of the same task or of the task after it, is on its way into shared memory (Hopper's
 *  bulk copies): the factor is read far ahead of the results that its rows wait for. Between two
 *  levels there is no more than a store of the results and a load that finds them. */
#include "stamps.cuh"

#include "engines/cuda/module/shared_memory.cuh"
#include "joined.cuh"
#include "segment.cuh"

namespace mpki {

/* ---- packets into shared memory ---- */

/** Copies of packets into two stages of shared memory, in flight while a warp computes. */
struct arrival {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint64_t *barrier; /* [2], shared */
    unsigned phase;    /* bit s: of stage s */

    /** The address of p within shared memory. By each thread for itself; no barrier. */
    __device__ static unsigned address(const void *p) {
        return (unsigned)__cvta_generic_to_shared(p);
    }
    /** Makes the barriers of both stages, at `place`. By all lanes of a warp; ends with
     *  __syncwarp(). */
    __device__ void begin(void *place) {
        barrier = (uint64_t *)place, phase = 0;
        if ((threadIdx.x & 31) == 0) {
            for (int s = 0; s < 2; ++s)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(barrier + s)));
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        }
        __syncwarp();
    }
    /** Begins to copy `bytes` bytes into `stage`, whose old contents all lanes have read. By all
     *  lanes of a warp, of which the first one copies; arrives at the stage's barrier. */
    __device__ void fetch(int stage, void *to, const char *from, unsigned bytes) {
        if ((threadIdx.x & 31) != 0) return;
        const unsigned b = address(barrier + stage);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(bytes)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];" ::"r"(address(to)),
                     "l"(from), "r"(bytes), "r"(b)
                     : "memory");
    }
    /** Returns when the copy into `stage` is complete. By all lanes of a warp; waits at the
     *  stage's barrier. */
    __device__ void wait(int stage) const {
        const unsigned b = address(barrier + stage), parity = phase >> stage & 1;
        unsigned done = 0;
        while (!done)
            asm volatile("{\n.reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p;\n}"
                         : "=r"(done)
                         : "r"(b), "r"(parity)
                         : "memory");
    }
    /** The contents of `stage` were used: the next wait() is for the next copy. By each thread
     *  for itself; no barrier. */
    __device__ void taken(int stage) {
        phase ^= 1u << stage;
    }
#else /* before Hopper, and on a host: by the lanes themselves */
    __device__ void begin(void *) {}
    /** The same before Hopper, and on a host: the lanes copy. By all lanes of a warp; wait() is
     *  the barrier. */
    __device__ void fetch(int, void *to, const char *from, unsigned bytes) {
        for (unsigned k = threadIdx.x & 31; k < bytes / 16; k += 32)
            ((int4 *)to)[k] = ((const int4 *)from)[k];
    }
    __device__ void wait(int) const {
        __syncwarp();
    }
    __device__ void taken(int) {}
#endif
};

/** Shared memory of a warp: two packets, the results that one of them needs, sums for other lanes,
 *  its sums on their way to M, barriers. */
template <class S, int NR> struct sweep_memory {
    static const int NUMBER = NR * (int)sizeof(typename widened_of<S>::type);
    static const int GATHERED = (MPKI_SWEEPS_COLUMNS + 1) * NUMBER, FOREIGN = 32 * NUMBER;
    static const int BYTES = 2 * packing<S>::MOST + GATHERED + 2 * FOREIGN + 16;
    /* warps of a multiprocessor of 9.0, for whose registers there is room: 128 for each of 16 */
    static const int SHARED = 228 * 1024 / (BYTES + 1024), AT_ONCE = SHARED < 16 ? SHARED : 16;
};

/* ---- all ---- */

/** The next ticket, known to the first lane. By all lanes of a warp; an atomic counter. */
__device__ inline int draw(const mpki_sweeps_run &a) {
    int t = 0;
    if ((threadIdx.x & 31) == 0) t = a.first + atomicAdd(a.ticket, 1);
    return t;
}
struct claimed : mpki_sweeps_task {
    int ticket; /* for stamps alone */
};

/** *task := the task of the ticket that was drawn; false: there is none. By all lanes of a warp;
 *  a shuffle. */
__device__ inline bool task_of(const mpki_sweeps_run &a, int drawn, claimed *task) {
    const int t = __shfl_sync(ALL, drawn, 0);
    if (t >= a.end) return false;
    *(mpki_sweeps_task *)task = a.task[t];
    task->ticket = t;
    return true;
}

/** y := L^-1 y, or backward L^-T y, with M's: warps take tasks by tickets, in which each packet
 *  waits for the results that it needs; the next packet is copied meanwhile. A block is one
 *  warp; it waits at the copies' barriers and for marks in memory, so a ticket must not need a
 *  later one. */
template <class S, int NR>
__global__ void __launch_bounds__(32, (sweep_memory<S, NR>::AT_ONCE))
    sweep_kernel(const mpki_sweeps_run a) {
    MPKI_SMEM;
    typedef sweep_memory<S, NR> shared;
    typedef typename widened_of<S>::type V;
    const int lane = threadIdx.x & 31, MOST = packing<S>::MOST;
    V *gathered = (V *)(smem + 2 * MOST);
    V *foreign = (V *)(smem + 2 * MOST + shared::GATHERED);
    arrival there;
    V *sums = foreign + 32 * NR;
    there.begin(smem + 2 * MOST + shared::GATHERED + 2 * shared::FOREIGN);
    for (int k = lane; k < NR; k += 32) gathered[NOTHING * NR + k] = make<V>(0);
    claimed task, next, then = {};
    if (!task_of(a, draw(a), &task)) return;
    int stage = 0;
    there.fetch(stage, smem, a.packets + (int64_t)task.at * 16, task.size * 16);
    there.wait(stage); /* so that all warps have a task before one has two */
    bool more = task_of(a, draw(a), &next);
    for (bool again = true; again;) {
        int drawn = 0, taken = 0;
        V acc[NR], parts[NR];
        own_row<S, V, NR> row;
        pivot_tiles<S, V> pivot;
        bool of_m = false, after = false, in_tiles = false, begun = false;
        if (more) drawn = draw(a);
#pragma unroll
        for (int r = 0; r < NR; ++r) parts[r] = make<V>(0);
        for (bool first = true;; first = false) {
            there.wait(stage);
            there.taken(stage);
            const char *const place = smem + stage * MOST;
            const packet p = *(const packet *)place;
            char *other = smem + (stage ^ 1) * MOST;
            const uint32_t size = p.next;
            if (size) {
                task.at += p.size;
                there.fetch(stage ^ 1, other, a.packets + (int64_t)task.at * 16, size * 16);
            } else if (more) {
                there.fetch(stage ^ 1, other, a.packets + (int64_t)next.at * 16, next.size * 16);
            }
            if (first) {
                MPKI_SWEEP_STAMP(task.ticket, BEGUN);
                MPKI_SWEEP_STAMP(task.ticket, ASKED); /* where it needs none */
                MPKI_SWEEP_STAMP(task.ticket, READY);
                row.find(&p, a);
                if (!(p.flags & IN_TILES) || !size) row.ask(a);
            }
            if (p.flags & OF_M) taken = add_parts<V, NR>(&p, a.part, taken, false, parts);
            if (!begun && (!first || (p.flags & OF_M) || ((p.flags & IN_TILES) && !size))) {
                row.take(acc); /* it is there by now: asked for a packet ago */
                begun = true;
            }
            if (p.flags & IN_TILES) {
                pivot.load(place);
                if (size) row.ask(a); /* the task's first packet: where it is is known by now */
                in_tiles = true;
            } else if (packing<S>::IN_TILES_TOO && (p.flags & JOINED)) { /* the last one */
                taken = add_parts<V, NR>(&p, a.part, taken, false, parts);
                if (!begun) row.take(acc);
#pragma unroll
                for (int r = 0; r < NR; ++r) acc[r] = acc[r] + parts[r];
                joined_block<S, V, NR>::finish(
                    place, &p, a, pivot,
                    (const V *)(p.flags & BACKWARD ? a.half[1].from : a.half[0].from), acc,
                    gathered, sums, task.ticket);
                MPKI_SWEEP_STAMP(task.ticket, DONE);
                __syncwarp();
                stage ^= 1;
                break;
            } else if (p.flags & OF_M) {
                if (!of_m) {
#pragma unroll
                    for (int r = 0; r < NR; ++r) {
                        gathered[lane * NR + r] = acc[r] + parts[r];
                        acc[r] = make<V>(0);
                    }
                }
                of_m = true;
            } else {
                const bool full = packing<S>::IN_TILES_TOO && (p.flags & DENSE);
                const uint32_t *list =
                    (const uint32_t *)(place + (full ? (int)sizeof(packet)
                                                     : packing<S>::list_at(p.flags, p.steps)));
                const void *from = p.flags & BACKWARD ? a.half[1].from : a.half[0].from;
                if (full && lane >= (int)p.columns)
#pragma unroll
                    for (int r = 0; r < NR; ++r) gathered[lane * NR + r] = make<V>(0);
                if (p.columns) {
                    MPKI_SWEEP_STAMP(task.ticket, ASKED);
                    gather<V, NR>(list, p.columns, (const V *)from, gathered);
                    MPKI_SWEEP_STAMP(task.ticket, READY);
                }
                if (!begun) row.take(acc);
                begun = true;
            }
            if (first && more) after = task_of(a, drawn, &then);
            __syncwarp();
            if (p.flags & IN_TILES)
                ;
            else if (packing<S>::IN_TILES_TOO && (p.flags & DENSE))
                subtract_block<S, V, NR>(place, p.steps, gathered, acc);
            else if (p.flags & FOLDED)
                entries<S, V, NR, true>(place, p.steps, gathered, foreign, acc);
            else
                entries<S, V, NR, false>(place, p.steps, gathered, foreign, acc);
            /* those of other tasks while this one waits; all of them at its end */
            if (!of_m) taken = add_parts<V, NR>(&p, a.part, taken, size != 0, parts);
            if (!size) {
#pragma unroll
                for (int r = 0; r < NR; ++r)
                    if (!of_m) acc[r] = acc[r] + parts[r];
                if (in_tiles)
                    pivot.template finish<NR>(&p, a, acc, sums, NULL);
                else
                    finish<V, NR>(&p, a, acc);
                MPKI_SWEEP_STAMP(task.ticket, DONE);
            }
            __syncwarp();
            stage ^= 1;
            if (!size) break;
        }
        again = more;
        task = next, next = then;
        more = after;
    }
}

} // namespace mpki

#endif
