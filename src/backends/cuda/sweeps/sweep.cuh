/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SWEEPS_SWEEP_CUH
#define MPKI_CUDA_SWEEPS_SWEEP_CUH
/** The sweeps: a kernel whose warps take tasks by tickets. While a warp works on one packet the next
 *  one, of the same task or of the task after it, is on its way into shared memory (Hopper's bulk
 *  copies): the factor is read far ahead of the results that its rows wait for. Between two levels
 *  there is no more than a store of the results and a load that finds them. */
#include "dense.cuh"
#include "stamps.cuh"

#ifndef MPKI_MOST_AT_ONCE
#define MPKI_MOST_AT_ONCE 16
#endif
#if defined(__CUDA_ARCH__) && defined(MPKI_PATIENCE)
#define MPKI_REST __nanosleep(MPKI_PATIENCE)
#else
#define MPKI_REST (void)0
#endif
#ifndef MPKI_ROOM /* dynamic shared memory; tests on a host have their own */
#define MPKI_ROOM extern __shared__ __align__(16) char room[]
#endif

namespace mpki {

static const unsigned ALL = 0xffffffffu;

/* ---- packets into shared memory ---- */

struct arrival {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint64_t *barrier; /* [2], shared */
    unsigned phase;    /* bit s: of stage s */

    __device__ static unsigned address(const void *p) {
        return (unsigned)__cvta_generic_to_shared(p);
    }
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
    /* all lanes have read what was there */
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
    __device__ void taken(int stage) {
        phase ^= 1u << stage;
    }
#else /* before Hopper, and on a host: by the lanes themselves */
    __device__ void begin(void *) {}
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
template <class S, int NR> struct sweep_room {
    static const int NUMBER = NR * (int)sizeof(typename wide_of<S>::type);
    static const int GATHERED = (MPKI_SWEEPS_COLUMNS + 1) * NUMBER, FOREIGN = 32 * NUMBER;
    static const int BYTES = 2 * packing<S>::MOST + GATHERED + 2 * FOREIGN + 16;
    /* warps of a multiprocessor of 9.0, for whose registers there is room: 128 for each of 16 */
    static const int SHARED = 228 * 1024 / (BYTES + 1024),
                     AT_ONCE = SHARED < MPKI_MOST_AT_ONCE ? SHARED : MPKI_MOST_AT_ONCE;
};

/* ---- one packet ---- */

template <class V, int NR> __device__ inline bool load_all(const V *from, V (&v)[NR]) {
    bool here = true;
#pragma unroll
    for (int r = 0; r < NR; ++r) v[r] = load_now(from + r);
#pragma unroll
    for (int r = 0; r < NR; ++r) here = here && !is_absent(v[r]);
    return here;
}

/** Results of COUNT chunks of columns from chunk `first` on, 32 each, as far as `missing` (of the lane)
 *  names them: all are asked for before one is looked at. Returns what is missing still. */
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

/** The results for a packet's columns, to gathered. At first all are asked for, as many together as
 * registers hold; then those that are due last, until they come; then all others again. */
template <class V, int NR>
__device__ inline void gather(const uint32_t *list, int columns, bool patient, const V *from,
                              V *gathered) {
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
    unsigned now = ~0u;
    while (wanted) {
        if (patient) MPKI_REST;
        const unsigned last = GROUP << (31 - __clz((int)wanted)) / LATER * LATER;
        now = now & last ? wanted & last : wanted;
#pragma unroll
        for (int first = 0; first < CHUNKS; first += LATER)
            if (now & GROUP << first) missing = ask<LATER, V, NR>(first, slot, missing, from, to);
        wanted = __reduce_or_sync(ALL, missing);
    }
}

template <class V, int SUMS, int NR> __device__ inline V whole(const V (&sum)[SUMS][NR], int r) {
    const V even = SUMS == 4 ? sum[0][r] + sum[2 % SUMS][r] : sum[0][r];
    const V odd = SUMS == 4 ? sum[1 % SUMS][r] + sum[3 % SUMS][r] : sum[1 % SUMS][r];
    return SUMS > 1 ? even + odd : even;
}

/** acc -= the lane's entries times gathered. Several sums run side by side, for one multiplication
 *  and addition takes as long as many; entries of other lanes' rows have sums of their own. Loops stay
 *  short: all steps unrolled, read before the results are there, take 1.4 times as long, for
 *  instructions must be fetched, too, and few warps share them. */
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

/** The parts of the sum that other tasks have left: acc += them where all are there. They are marked
 *  again for the next sweep. */
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

/** Parts number `done` and later: until they come, or (`once`) those that are there by now. Returns how
 *  many are taken. */
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

/** The right-hand side of the lane's row. Backward it is D^-1 times the result of the other
 *  direction, which has another slot and may have to be waited for: where it is is asked for first, then it, and
 *  it is looked at after the columns' results. */
template <class S, class V, int NR> struct own_row {
    V b[NR], d, e;
    const V *from;
    int64_t row;
    int partner;
    bool here, waits;

    __device__ void find(const packet *p, const mpki_sweeps_run &a) {
        const int lane = threadIdx.x & 31, rows = p->part < 0 ? (int)p->rows : 0;
        const bool back = p->flags & BACKWARD;
        here = lane < rows, waits = back && a.diagonal && rows > 0;
        from = (const V *)(back ? a.half[1].start : a.half[0].start);
        row = (int64_t)p->slot + lane;
        if (here && waits) row = a.ahead[row];
    }

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

/* ---- all ---- */

/** A ticket; -1: there are no more. */
__device__ inline int draw(const mpki_sweeps_run &a) {
    int t = 0;
    if ((threadIdx.x & 31) == 0) t = a.first + atomicAdd(a.ticket, 1);
    return t;
}
struct claimed : mpki_sweeps_task {
    int ticket; /* for stamps alone */
};
__device__ inline bool task_of(const mpki_sweeps_run &a, int drawn, claimed *task) {
    const int t = __shfl_sync(ALL, drawn, 0);
    if (t >= a.end) return false;
    *(mpki_sweeps_task *)task = a.task[t];
    task->ticket = t;
    return true;
}

/** A block is one warp. */
template <class S, int NR>
__global__ void __launch_bounds__(32, (sweep_room<S, NR>::AT_ONCE))
    sweep_kernel(const mpki_sweeps_run a) {
    MPKI_ROOM;
    typedef sweep_room<S, NR> shared;
    typedef typename wide_of<S>::type V;
    const int lane = threadIdx.x & 31, MOST = packing<S>::MOST;
    V *gathered = (V *)(room + 2 * MOST);
    V *foreign = (V *)(room + 2 * MOST + shared::GATHERED);
    arrival there;
    V *sums = foreign + 32 * NR;
    there.begin(room + 2 * MOST + shared::GATHERED + 2 * shared::FOREIGN);
    for (int k = lane; k < NR; k += 32) gathered[NOTHING * NR + k] = make<V>(0);
    claimed task, next, then = {};
    if (!task_of(a, draw(a), &task)) return;
    int stage = 0;
    there.fetch(stage, room, a.packets + (int64_t)task.at * 16, task.size * 16);
    there.wait(stage); /* so that all warps have a task before one has two */
    bool more = task_of(a, draw(a), &next);
    for (bool again = true; again;) {
        int drawn = 0, taken = 0;
        V acc[NR], parts[NR];
        own_row<S, V, NR> row;
        pivot_tiles<S, V> pivot;
        dense_results<V, NR> last;
        last.asked = false;
        bool of_m = false, after = false, in_tiles = false, begun = false;
        if (more) drawn = draw(a);
#pragma unroll
        for (int r = 0; r < NR; ++r) parts[r] = make<V>(0);
        for (bool first = true;; first = false) {
            there.wait(stage);
            there.taken(stage);
            const char *const place = room + stage * MOST;
            const packet p = *(const packet *)place;
            char *other = room + (stage ^ 1) * MOST;
            const uint32_t size = p.next;
            if (size) {
                task.at += p.size;
                there.fetch(stage ^ 1, other, a.packets + (int64_t)task.at * 16, size * 16);
            } else if (more) {
                there.fetch(stage ^ 1, other, a.packets + (int64_t)next.at * 16, next.size * 16);
            }
            if (first) {
                MPKI_SWEEP_STAMP(task.ticket, BEGUN);
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
            } else if (p.flags & OF_M) {
                if (!of_m) {
#pragma unroll
                    for (int r = 0; r < NR; ++r) {
                        gathered[lane * NR + r] = acc[r] + parts[r];
                        acc[r] = make<V>(0);
                    }
                }
                of_m = true;
            } else if (packing<S>::IN_TILES_TOO && (p.flags & DENSE)) {
                const V *const from =
                    (const V *)(p.flags & BACKWARD ? a.half[1].from : a.half[0].from);
                const bool follows = size && (p.flags & DENSE_NEXT);
                if (follows) there.wait(stage ^ 1);
                /* M times the last one: what it needs is there before its columns are */
                const bool pair = follows && !((const packet *)other)->next;
                if (NR == 1 && in_tiles && (pair || !size)) {
                    const char *const final = pair ? other : place;
                    const packet q = *(const packet *) final;
                    joined_block<S, V> block;
                    taken = add_parts<V, NR>(&p, a.part, taken, false, parts);
                    if (!begun) row.take(acc);
                    V own = acc[0] + parts[0];
                    if (!pair) own = pivot.times(own, sums);
                    block.make(final, q.steps, pivot, sums);
                    MPKI_SWEEP_STAMP(task.ticket, ASKED);
                    last.wait(place, p.columns, pair ? final : NULL, from, gathered);
                    if (pair) {
                        subtract_block<S, V>(place, p.steps, gathered, own);
                        own = pivot.times(own, sums);
                        if (more)
                            there.fetch(stage, room + stage * MOST,
                                        a.packets + (int64_t)next.at * 16, next.size * 16);
                        last.wait(final, q.columns, NULL, from, gathered);
                        there.taken(stage ^ 1);
                        stage ^= 1;
                    }
                    MPKI_SWEEP_STAMP(task.ticket, READY);
                    pivot.store(&p, a, own - block.times(gathered));
                    MPKI_SWEEP_STAMP(task.ticket, DONE);
                    __syncwarp();
                    stage ^= 1;
                    break;
                }
                dense_block<S, V, NR> block;
                block.load(place, p.steps);
                taken = add_parts<V, NR>(&p, a.part, taken, true, parts);
                if (!begun) row.take(acc);
                begun = true;
                MPKI_SWEEP_STAMP(task.ticket, ASKED);
                last.wait(place, p.columns, follows ? other : NULL, from, gathered);
                MPKI_SWEEP_STAMP(task.ticket, READY);
                block.subtract(gathered, acc);
            } else {
                const uint32_t *list =
                    (const uint32_t *)(place + packing<S>::list_at(p.flags, p.steps));
                const void *from = p.flags & BACKWARD ? a.half[1].from : a.half[0].from;
                if (p.columns) {
                    MPKI_SWEEP_STAMP(task.ticket, ASKED);
                    gather<V, NR>(list, p.columns, p.flags & PATIENT, (const V *)from, gathered);
                    MPKI_SWEEP_STAMP(task.ticket, READY);
                }
                if (!begun) row.take(acc);
                begun = true;
                if (packing<S>::IN_TILES_TOO && size && (p.flags & DENSE_NEXT)) {
                    there.wait(stage ^ 1);
                    last.ask_later(other, (const V *)from);
                }
            }
            if (first && more) after = task_of(a, drawn, &then);
            __syncwarp();
            if (p.flags & (IN_TILES | DENSE))
                ;
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
                    pivot.template finish<NR>(&p, a, acc, sums);
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
