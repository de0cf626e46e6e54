/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_STORE_CUH
#define MPKI_CUDA_BLOCK_FACTOR_STORE_CUH
/** Phase III of the meta-algorithm on a portion: accept or reject frames, deal out capacities, drop
 *  entries, pack blocks (engines/cpu/block_factor/store_t.c, engines/cpu/block_factor/grant.c,
 *  kernels/block_drop_k.c). */
#include "stage.cuh"

namespace mpki {

enum { NORM_GROUP = 8 }; /* the host sums the norms of so many blocks at a time */

/* ---- thresholds ------------------------------------------------------------------------------ */

/** Rejects frames whose columns grow too much; turns the norms of the others' columns into
 *  thresholds. A warp takes a frame, a lane a column; shuffles, no barrier. */
template <class T>
__global__ void __launch_bounds__(32 * STORE_WARPS)
    judge_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    typedef typename scalar_of<T>::real R;
    after_previous();
    if (b.notes->stop) return;
    const int lane = (int)(threadIdx.x % 32);
    const int q = (int)(blockIdx.x * STORE_WARPS + threadIdx.x / 32);
    if (q >= po.end - po.first) return;
    const int frame = b.who[po.first + q], w = b.bptr[frame + 1] - b.bptr[frame];
    if (b.reject[frame]) return;
    int64_t t = b.first[po.first + q];
    const int64_t end = b.first[po.first + q + 1];
    if (t < end && b.other[b.entry[t]] == frame) ++t;
    R most = 0;
    for (int64_t k = t + lane; k < end; k += 32) {
        const R x = ((const R *)b.most)[k - po.first_item];
        if (!(x <= most) && most == most) most = x;
    }
    most = warp_most(most);
    const bool final = b.final[frame], finite = most <= huge_of<R>();
    const bool last = b.last || b.sweep;
    if (!(finite && (last || (double)most <= b.bound)) && !(final && finite)) {
        if (lane != 0) return;
        if (last || final) atomicMin(&b.notes->failed, frame);
        if (!b.sweep) b.reject[frame] = 1;
        return;
    }
    if (b.complete || lane >= w) return;
    const int halves = 1 + b.ldu;
    for (int half = 0; half < halves; ++half) {
        R sum = 0;
        for (int64_t g = t; g < end; g += NORM_GROUP) {
            const int count = end - g < NORM_GROUP ? (int)(end - g) : (int)NORM_GROUP;
            const R *from =
                (const R *)b.norm + ((g - po.first_item) * halves + half) * b.largest + lane;
            R x[NORM_GROUP], group = 0;
#pragma unroll
            for (int u = 0; u < NORM_GROUP; ++u)
                x[u] = u < count ? from[(int64_t)u * halves * b.largest] : 0;
#pragma unroll
            for (int u = 0; u < NORM_GROUP; ++u) group += x[u];
            sum += group;
        }
        R *const to = (R *)b.threshold + ((int64_t)q * halves + half) * b.largest + lane;
        *to = (R)b.drop_tolerance * root((b.whole ? *to : 1) + sum);
    }
}

/* ---- counting and dealing out ---------------------------------------------------------------- */

/** |x| <= bound, as kernels/block_drop_k.c tests it. By each thread for itself; no barrier. */
template <class F> __device__ inline bool is_small(cx<F> x, F bound) {
    const F a = abs1(x.x), b = abs1(x.y);
    if (a + b <= bound) return true;
    return a > bound || b > bound ? false : modulus(x) <= bound;
}
__device__ inline bool is_small(float x, float bound) {
    return fabsf(x) <= bound;
}
__device__ inline bool is_small(double x, double bound) {
    return fabs(x) <= bound;
}

/** A block of a portion as a warp of phase III sees it. */
struct item {
    int64_t t, e, block;
    int q, frame, row, rows, w;
    bool there, below; /* below: the block is below the diagonal, and its frame is not rejected */
    /** The warp's one. By each thread for itself; no barrier. */
    __device__ item(const mpki_cuda_stage &b, const mpki_cuda_portion &po)
        : t((int64_t)blockIdx.x * STORE_WARPS + threadIdx.x / 32) {
        there = t < po.end_item - po.first_item;
        below = false;
        if (!there) return;
        e = b.entry[po.first_item + t], block = b.block[e];
        q = b.item_who[po.first_item + t] - po.first, frame = b.who[po.first + q];
        row = b.other[e];
        rows = b.bptr[row + 1] - b.bptr[row], w = b.bptr[frame + 1] - b.bptr[frame];
        below = row != frame && !b.reject[frame];
    }
};

/** Entries up to their column's threshold := 0; returns how many are left of the fuller half, 0
 *  of a block that keeps all. By all lanes of a warp, in shuffles; no block barrier. */
template <class T> __device__ inline int64_t drop_small(const mpki_cuda_stage &b, const item &it) {
    typedef typename scalar_of<T>::real R;
    const int lane = (int)(threadIdx.x % 32);
    int64_t need = 0;
    int dropped = 0;
    const bool all = it.below && b.capacity[it.block] < 0; /* keeps all but what is nothing */
    if (it.below)
        for (int half = 0; half <= b.ldu; ++half) {
            T *const c = (T *)(half ? b.work_u : b.work) + b.slot[it.e];
            const R *const bound =
                (const R *)b.threshold + ((int64_t)it.q * (1 + b.ldu) + half) * b.largest;
            const R mine = lane < it.w ? bound[lane] : 0;
            const R nothing =
                (R)MPKI_NOTHING(sizeof(R)) * mine; /* nobody counts what is not above it */
            int had = 0, left = 0;
            for_rows(it.rows, it.w, it.w, c, [&](int r, T x) {
                if (!nonzero(x)) return;
                had += !is_small(x, nothing);
                if (is_small(x, all ? nothing : mine))
                    c[r * it.w + lane] = make<T>(0);
                else
                    ++left;
            });
            had = (int)__reduce_add_sync(WARP, (unsigned)had);
            left = (int)__reduce_add_sync(WARP, (unsigned)left);
            if (all) continue;
            dropped += had - left;
            if (left > need) need = left;
        }
    if (lane == 0 && dropped) atomicAdd(&b.notes->dropped, (unsigned long long)dropped);
    return need;
}

/** need := how many entries each item has left. A warp takes an item; no barrier. */
template <class T>
__global__ void __launch_bounds__(32 * STORE_WARPS)
    count_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    after_previous();
    if (b.notes->stop) return;
    const item it(b, po);
    if (!it.there) return;
    const int64_t need = drop_small<T>(b, it);
    if (threadIdx.x % 32 == 0) b.need[it.t] = need;
}

/** What an item does to the entries that are left over: x -> max(least, x + more). Such maps are
 *  closed under composition, so that all items are dealt with at once, as if one after the
 *  other. */
struct dealing {
    long long least, more;
};

/** What two runs of items that follow each other need together. By each thread for itself; no
 *  barrier. */
__device__ inline dealing then(dealing a, dealing b) {
    const long long x = a.least + b.more;
    return {x > b.least ? x : b.least, a.more + b.more};
}

/** a[k] := a[0] op .. op a[k], in place in shared memory. By all threads of a block; ends with a
 *  block barrier. */
template <class X, class F> __device__ inline void block_scan(X *a, F op) {
    const int k = (int)threadIdx.x;
    for (int h = 1; h < (int)blockDim.x; h *= 2) {
        __syncthreads();
        X x = a[k];
        if (k >= h) x = op(a[k - h], x);
        __syncthreads();
        a[k] = x;
    }
    __syncthreads();
}

/** need[item] := what the item may keep, from capacities in the order of items
 *  (cpu/block_factor/grant.c). One block; block barriers. */
template <class T>
__global__ void __launch_bounds__(ONE_BLOCK)
    grant_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    __shared__ dealing all[ONE_BLOCK];
    after_previous();
    if (b.notes->stop) return;
    const long long NONE = -0x4000000000000000ll;
    const int64_t items = po.end_item - po.first_item;
    const int64_t each = (items + blockDim.x - 1) / blockDim.x;
    const int64_t t0 = each * threadIdx.x < items ? each * threadIdx.x : items;
    const int64_t t1 = t0 + each < items ? t0 + each : items;
    dealing mine = {NONE, 0};
    for (int64_t t = t0; t < t1; ++t) {
        const int64_t capacity = b.capacity[b.block[b.entry[po.first_item + t]]];
        if (capacity < 0 || capacity == INT64_MAX) continue;
        const dealing one = {0, capacity - b.need[t]};
        mine = then(mine, one);
    }
    all[threadIdx.x] = mine;
    block_scan(all, then);
    const long long begin = b.notes->leftover;
    long long left = begin;
    if (threadIdx.x > 0) {
        const dealing before = all[threadIdx.x - 1];
        left = begin + before.more > before.least ? begin + before.more : before.least;
    }
    __syncthreads();
    for (int64_t t = t0; t < t1; ++t) {
        const int64_t capacity = b.capacity[b.block[b.entry[po.first_item + t]]];
        if (capacity < 0 || capacity == INT64_MAX) continue;
        const long long more = b.need[t] - capacity;
        const long long granted = more <= 0 ? 0 : more < left ? more : left;
        left -= more <= 0 ? more : granted;
        if (more > 0) b.need[t] = capacity + granted;
    }
    if (threadIdx.x == blockDim.x - 1) {
        const dealing whole = all[blockDim.x - 1];
        b.notes->leftover = begin + whole.more > whole.least ? begin + whole.more : whole.least;
    }
}

/** The same, but whoever comes first takes (Thuerck et al. 2018, algorithm 2): atomic sums. By each
 *  thread for itself; no barrier. */
template <class T>
__global__ void __launch_bounds__(32 * STORE_WARPS)
    take_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    after_previous();
    const int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b.notes->stop || t >= po.end_item - po.first_item) return;
    const int64_t capacity = b.capacity[b.block[b.entry[po.first_item + t]]];
    if (capacity < 0 || capacity == INT64_MAX) return;
    unsigned long long *const leftover = (unsigned long long *)&b.notes->leftover;
    const long long more = b.need[t] - capacity;
    const long long left = (long long)atomicAdd(leftover, (unsigned long long)-more);
    if (more <= 0) return; /* it left some */
    const long long granted = left <= 0 ? 0 : more < left ? more : left;
    if (granted < more) atomicAdd(leftover, (unsigned long long)(more - granted));
    b.need[t] = capacity + granted;
}

/* ---- dropping -------------------------------------------------------------------------------- */

/** The bits of x >= 0, in its order. By each thread for itself; no barrier. */
__device__ inline unsigned long long rank_bits(float x) {
    return (unsigned long long)__float_as_uint(x) << 32;
}
__device__ inline unsigned long long rank_bits(double x) {
    return (unsigned long long)__double_as_longlong(x);
}
/** The bits of a modulus, in its order, rounded (MPKI_RANK_BITS), above 0. By each thread for
 *  itself; no barrier. */
template <class R> __device__ inline unsigned long long rank_key(R x) {
    const unsigned long long unit = 1ull << (MPKI_RANK_BITS(sizeof(R)) + (sizeof(R) == 4 ? 32 : 0));
    const unsigned long long key = (rank_bits(x) + unit / 2) & ~(unit - 1);
    return key ? key : unit;
}

/** Keeps the `capacity` entries of largest modulus of c (rows x w, by rows), the first of equal
 *  ones; NaN counts as infinity, so that it is seen. Returns how many were dropped. By all lanes
 *  of a warp, in shuffles; no block barrier. */
template <class T> __device__ inline int keep_largest(int rows, int w, int capacity, T *c) {
    typedef typename scalar_of<T>::real R;
    const int lane = (int)(threadIdx.x % 32);
    unsigned long long key[32]; /* 0: no entry; moduli are not 0 */
#pragma unroll
    for (int r = 0; r < 32; ++r) {
        key[r] = 0;
        if (r >= rows || lane >= w) continue;
        const T x = c[r * w + lane];
        const R size = modulus(x);
        if (nonzero(x)) key[r] = rank_key(size == size ? size : (R)INFINITY);
    }
    /* the largest key that at least `capacity` entries reach */
    const int low = MPKI_RANK_BITS(sizeof(R)) + (sizeof(R) == 4 ? 32 : 0);
    unsigned long long cut = 0;
    int reach = 0;
    for (int bit = 62; bit >= low && capacity > 0; --bit) {
        const unsigned long long next = cut | 1ull << bit;
        int mine = 0;
#pragma unroll
        for (int r = 0; r < 32; ++r) mine += key[r] >= next;
        mine = (int)__reduce_add_sync(WARP, (unsigned)mine);
        if (mine >= capacity) cut = next, reach = mine;
        if (mine == capacity) break; /* all that reach it stay */
    }
    int ties = 0;
    bool exact = capacity > 0 && reach == capacity;
    if (!exact && capacity > 0) {
        int more = 0;
#pragma unroll
        for (int r = 0; r < 32; ++r) more += key[r] > cut;
        ties = capacity - (int)__reduce_add_sync(WARP, (unsigned)more);
    }
    int gone = 0;
#pragma unroll
    for (int r = 0; r < 32; ++r) {
        if (r >= rows) continue;
        bool stays = capacity > 0 && key[r] >= cut && key[r] > 0;
        if (!exact && capacity > 0) {
            const bool equal = key[r] > 0 && key[r] == cut;
            const unsigned m = __ballot_sync(WARP, equal);
            stays = key[r] > cut || (equal && __popc(m & below(lane)) < ties);
            ties -= __popc(m);
        }
        const bool goes = key[r] > 0 && !stays;
        if (goes) c[r * w + lane] = make<T>(0);
        gone += goes;
    }
    return (int)__reduce_add_sync(WARP, (unsigned)gone);
}

/** What the processor would hold of a block, by its formats (kernels/block_store_k.c), so that
 *  reports agree: the number of values, plus the format times 65536. By each thread for itself;
 *  no barrier. */
template <class T> __device__ inline unsigned held_of(const extent &x, int rows, int w) {
    if (x.entries == 0) return 0;
    const int held = __popc(x.rows), size = (int)sizeof(T);
    const int dense = rows * w * size, by_rows = 16 + held * w * size;
    const int bits = ((1 + held) * 4 + 15) / 16 * 16 + x.entries * size;
    unsigned format = 1;
    int least = dense;
    if (by_rows < least) least = by_rows, format = 3;
    if (bits < least) least = bits, format = 2;
    if (least * 100 > dense * 85) format = 1;
    return format << 16 | (unsigned)(format == 1 ? rows * w : format == 3 ? held * w : x.entries);
}

/** Is the pivot of a frame to be stored? By each thread for itself; no barrier. */
__device__ inline bool new_pivot(const mpki_cuda_stage &b, int frame) {
    return !b.reject[frame] && !b.final[frame];
}

/** The frame, by its number in the portion, of a warp that has no item: those of items come
 *  first. By each thread for itself; no barrier. */
__device__ inline int64_t frame_of_warp(const mpki_cuda_portion &po) {
    return (int64_t)blockIdx.x * STORE_WARPS + threadIdx.x / 32 - (po.end_item - po.first_item);
}

/** The sizes of the packed pivots of frame q of the portion. By all lanes of a warp, in
 *  shuffles; no block barrier. */
template <class T>
__device__ inline void pivot_size(const mpki_cuda_stage &b, const mpki_cuda_portion &po, int q) {
    const int frame = b.who[po.first + q], w = b.bptr[frame + 1] - b.bptr[frame];
    const at_pivot<T> pivot(b, q);
    int64_t *const size = b.where + (po.end_item - po.first_item + q) * (1 + b.ldu);
    for (int half = 0; half <= b.ldu; ++half) {
        extent x = {0, 0};
        if (b.sweep != 1 && new_pivot(b, frame)) x = measure(w, w, w, pivot.m[half]);
        if (threadIdx.x % 32 == 0) size[half] = packed_words<T>(__popc(x.rows), x.entries);
    }
}

/** Drops entries to what was granted, or small ones where nothing was; sizes of packed blocks
 *  and of pivots. A warp takes an item, then a frame; __syncwarp(). */
template <class T>
__global__ void __launch_bounds__(32 * STORE_WARPS)
    drop_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    after_previous();
    if (b.notes->stop) return;
    const int lane = (int)(threadIdx.x % 32);
    const item it(b, po);
    if (!it.there) {
        const int64_t q = frame_of_warp(po);
        if (q < po.end - po.first) pivot_size<T>(b, po, (int)q);
        return;
    }
    int gone = 0;
    unsigned any = 0;
    if (b.unlimited && b.sweep != 1 && !po.border) {
        drop_small<T>(b, it);
        __syncwarp();
    }
    for (int half = 0; half <= b.ldu; ++half) {
        extent x = {0, 0};
        if (it.below) {
            T *const c = (T *)(half ? b.work_u : b.work) + b.slot[it.e];
            x = measure(it.rows, it.w, it.w, c);
            if (!b.complete && !b.unlimited && b.sweep != 1 && b.capacity[it.block] >= 0 &&
                x.entries > b.need[it.t]) {
                gone += keep_largest(it.rows, it.w, (int)b.need[it.t], c);
                __syncwarp();
                x = measure(it.rows, it.w, it.w, c);
            }
        }
        any |= (unsigned)x.entries;
        if (lane != 0) continue;
        b.where[it.t * (1 + b.ldu) + half] = packed_words<T>(__popc(x.rows), x.entries);
        if (it.below) (half ? b.held_u : b.held)[it.block] = held_of<T>(x, it.rows, it.w);
    }
    if (lane != 0) return;
    if (gone) atomicAdd(&b.notes->dropped, (unsigned long long)gone);
    if (it.below && b.sweep != 1) {
        b.want[it.block] = 0;
        b.stored[it.block] = any != 0;
    }
}

/** Sizes become addresses, and the arena's used part grows by all of them; stops where it is too
 *  short. One block; block barriers. */
template <class T>
__global__ void __launch_bounds__(ONE_BLOCK)
    place_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    __shared__ long long sum[ONE_BLOCK];
    after_previous();
    if (b.notes->stop) return;
    const int64_t count = (po.end_item - po.first_item + po.end - po.first) * (1 + b.ldu);
    const int64_t each = (count + blockDim.x - 1) / blockDim.x;
    const int64_t t0 = each * threadIdx.x < count ? each * threadIdx.x : count;
    const int64_t t1 = t0 + each < count ? t0 + each : count;
    long long mine = 0;
    for (int64_t t = t0; t < t1; ++t) mine += b.where[t];
    sum[threadIdx.x] = mine;
    block_scan(sum, [](long long x, long long y) { return x + y; });
    const long long begin = b.notes->used;
    const bool fits = begin + sum[blockDim.x - 1] <= b.words;
    long long at = begin + sum[threadIdx.x] - mine;
    for (int64_t t = t0; t < t1; ++t) {
        const int64_t size = b.where[t];
        b.where[t] = size && fits ? at : -1;
        at += size;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (fits)
        b.notes->used = begin + sum[blockDim.x - 1];
    else
        b.notes->overflow = 1;
    if (!fits || b.notes->broken != INT32_MAX || b.notes->failed != INT32_MAX) b.notes->stop = 1;
}

/* ---- packing --------------------------------------------------------------------------------- */

/** -M of an accepted frame goes into the arena with D; the frame is final. By all lanes of a
 *  warp; contains __syncwarp(). */
template <class T>
__device__ inline void accept(const mpki_cuda_stage &b, const mpki_cuda_portion &po, int q) {
    const int lane = (int)(threadIdx.x % 32);
    const int frame = b.who[po.first + q], p0 = b.bptr[frame], w = b.bptr[frame + 1] - p0;
    if (!new_pivot(b, frame)) return;
    const at_pivot<T> pivot(b, q);
    if (lane < w)
        for (int k = 2 * lane; k < 2 * lane + 2; ++k) {
            ((T *)b.to.d)[2 * (int64_t)p0 + k] = pivot.d[k];
            ((T *)b.to.dinv)[2 * (int64_t)p0 + k] = pivot.dinv[k];
        }
    if (b.sweep == 1) return;
    const int64_t *const at = b.where + (po.end_item - po.first_item + q) * (1 + b.ldu);
    for (int half = 0; half <= b.ldu; ++half) {
        if (at[half] >= 0) pack(b.to.words + at[half], w, w, w, true, pivot.m[half]);
        if (lane == 0) (half ? b.to.pivot_n : b.to.pivot)[frame] = at[half];
    }
    __syncwarp();
    if (lane != 0) return;
    b.want[b.block[b.diagonal[frame]]] = 0;
    b.final[frame] = 1;
    b.pivots[frame].accepted = 1;
}

/** Packs the portion's blocks into the arena, then (with_pivots) its pivots. A warp takes an
 *  item, then a frame; no block barrier. */
template <class T>
__global__ void __launch_bounds__(32 * STORE_WARPS)
    pack_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po, int with_pivots) {
    after_previous();
    if (b.notes->stop) return;
    const item it(b, po);
    if (!it.there) {
        const int64_t q = frame_of_warp(po);
        if (with_pivots && q < po.end - po.first) accept<T>(b, po, (int)q);
        return;
    }
    if (!it.below) return;
    for (int half = 0; half <= b.ldu; ++half) {
        const int64_t at = b.where[it.t * (1 + b.ldu) + half];
        const T *const c = (const T *)(half ? b.work_u : b.work) + b.slot[it.e];
        if (at >= 0) pack(b.to.words + at, it.rows, it.w, it.w, false, c);
        if (threadIdx.x % 32 == 0) (half ? b.to.upper : b.to.lower)[it.block] = at;
    }
}

} // namespace mpki
#endif
