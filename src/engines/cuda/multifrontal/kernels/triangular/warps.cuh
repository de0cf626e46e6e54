/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_WARPS_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_WARPS_CUH
/** Sweeps over the small fronts of some tasks, a warp for each front. The warps of a block take
 *  fronts in turn, and wait for one another by words in shared memory. */
#include "sweep.cuh"

namespace mpki {

enum {
    WARP_ROWS = MPKI_CUDA_WARP_ROWS, /* rows of a warp in shared memory, besides pivots */
    WARP_EACH = WARP_ROWS + MPKI_CUDA_WARP_BACK
};

/** The progress of a block's warps: which front is next, and which are done. */
struct warps_state {
    int next;
    unsigned done[MPKI_CUDA_WARP_FRONTS / 32]; /* a bit each */
};

/** A block: no front is taken, none of `count` is done. Barriers: it meets the block. */
__device__ inline void begin_warps(warps_state &progress, int count) {
    if (threadIdx.x == 0) progress.next = 0;
    for (int k = (int)threadIdx.x; 32 * k < count; k += (int)blockDim.x) progress.done[k] = 0;
    __syncthreads();
}
/** A warp: the number of its next front, counted from the task's first one. Barriers: it meets the
 *  warp. */
__device__ inline int next_front(warps_state &progress) {
    int next = 0;
    if ((threadIdx.x & 31) == 0) next = atomicAdd(&progress.next, 1);
    return __shfl_sync(0xffffffffu, next, 0);
}
/** A warp: marks this front as done for the block's warps, after all that it has written. Barriers:
 *  it meets the warp. */
__device__ inline void publish_to_warps(warps_state &progress, int front) {
    __threadfence_block();
    __syncwarp();
    if ((threadIdx.x & 31) == 0) atomicOr(&progress.done[front / 32], 1u << front % 32);
}
/** A warp: waits until the fronts of all its lanes are done; < 0: the lane waits for none.
 *  Barriers: it meets the warp; what other warps wrote is visible then. */
__device__ inline void wait_for_warps(warps_state &progress, int front) {
    const unsigned bit = front < 0 ? 0 : 1u << front % 32;
    unsigned *word = &progress.done[front < 0 ? 0 : front / 32];
    while (__any_sync(0xffffffffu, bit && !(atomicOr(word, 0u) & bit))) __syncwarp();
    __threadfence_block();
}

/** A warp's view of one child's contribution: a lane has its first row and, if it was sent already,
 *  the value of that. */
template <int NR, class T> struct child_contribution {
    const int32_t *rel;
    const T *from;
    int rows, row;
    T value[NR];
    /** A warp: *this := child number k of a front, with one poll for each lane; no rows if there is
     *  no such child. Barriers: none. */
    __device__ void request(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                            const mpki_cuda_node &node, int k) {
        const int lane = (int)threadIdx.x & 31;
        rows = 0;
        if (k >= node.children) return;
        const int c = t.child[node.child + k];
        const mpki_cuda_node &child = t.node[c];
        rel = t.rel + child.rel, from = (const T *)s.u + s.at[c] * NR, rows = child.rows;
        if (lane >= rows) return;
        row = rel[lane];
#pragma unroll
        for (int r = 0; r < NR; ++r) value[r] = poll(from + lane * NR + r);
    }
    /** A warp: sum += the contribution, as its values arrive. Barriers: it meets the warp. */
    __device__ void add_to(T *sum) const {
        const int lane = (int)threadIdx.x & 31;
        if (lane < rows)
#pragma unroll
            for (int r = 0; r < NR; ++r)
                sum[row * NR + r] = sum[row * NR + r] + receive(from + lane * NR + r, value[r]);
        for (int i = lane + 32; i < rows; i += 32) {
            T more[NR];
            receive_row<NR>(from + i * NR, 20, more);
            T *to = sum + rel[i] * NR;
#pragma unroll
            for (int r = 0; r < NR; ++r) to[r] = to[r] + more[r];
        }
        __syncwarp();
    }
};

/** A warp: y := L^-1 y on front `index` of a task of fronts first .. last; its contribution goes to
 *  u. What does not depend on the children is read before they are waited for. sum [work] WARP_ROWS
 *  x NR, v [work] MPKI_CUDA_WARP_PIVOTS x NR entries. Called by forward_by_warps(). Barriers: it
 *  meets the warp. */
template <int NR, class T>
__device__ void forward_by_warp(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index,
                                int first, int last, warps_state &progress, T *sum, T *v) {
    const swept_front<T> f(t, index);
    const panel<T> &a = f.a;
    const int lane = (int)threadIdx.x & 31, e = f.e, own = f.own, low = f.node.first;
    const contribution_places places(s, index);
    T *y = (T *)s.y, *u = (T *)s.u;
    block_ahead<T> ahead;
    ahead.fetch(a.a, a.ld, e);
    prefetch_rows(&a.at(e, 0), a.ld, f.n - e, e);
    child_contribution<NR, T> mine, next;
    mine.request(t, s, f.node, 0);
    for (int i = lane; i < (own + f.m) * NR; i += 32) sum[i] = make<T>(0);
    const bool delayed =
        f.w > own; /* columns that a child has left, which are in y when it is done */
    for (int k = 0; k < f.node.children; k += 32) {
        const int c = k + lane < f.node.children ? t.child[f.node.child + k + lane] : -1;
        if (delayed && c >= 0 && c < first && leaves_columns(t, c))
            wait_for(s.finished + c, s.goal[c]);
        wait_for_warps(progress, c >= first ? c - first : -1);
    }
    /* a column: what was there, and what children that have it as a row give */
    const auto given = [&](int i, int r) { return load_from_l2(&y[(int64_t)a.id[i] * NR + r]); };
    const auto from_children = [&](int i, int r) {
        const int p = a.id[i];
        return p >= low && p < low + own ? sum[(p - low) * NR + r] : make<T>(0);
    };
    T x[NR];
#pragma unroll
    for (int r = 0; r < NR; ++r) x[r] = lane < e ? given(lane, r) : make<T>(0);
    __syncwarp();
    for (int k = 0; k < f.node.children; ++k) {
        next.request(t, s, f.node, k + 1);
        mine.add_to(sum);
        mine = next;
    }
    if (lane < e)
#pragma unroll
        for (int r = 0; r < NR; ++r) x[r] = x[r] + from_children(lane, r);
    ahead.template solve<NR>(a.a, a.ld, e, x);
    if (lane < e)
#pragma unroll
        for (int r = 0; r < NR; ++r)
            v[lane * NR + r] = x[r], y[(int64_t)a.id[lane] * NR + r] = x[r];
    __syncwarp();
    for (int i = e + lane; i < f.n; i += 32) {
        T z[NR];
        const int64_t to = i < f.w ? 0 : places.of(i - f.w);
#pragma unroll
        for (int r = 0; r < NR; ++r)
            z[r] = i < f.w ? given(i, r) + from_children(i, r) : sum[(own + i - f.w) * NR + r];
#pragma unroll 8
        for (int k = 0; k < e; ++k) {
            const T l = a.at(i, k);
#pragma unroll
            for (int r = 0; r < NR; ++r) nfma(z[r], l, v[k * NR + r]);
        }
#pragma unroll
        for (int r = 0; r < NR; ++r)
            if (i < f.w)
                y[(int64_t)a.id[i] * NR + r] = z[r];
            else
                send(&u[to * NR + r], z[r]);
    }
    publish_to_warps(progress, index - first);
    if (lane == 0 && f.w > e && s.parent[index] > last) { /* another block has it */
        __threadfence();
        atomicAdd(s.finished + index, 1);
    }
}

/** A warp: x := L^-T x on front `index` of a task of fronts first .. last. x [work] NR entries for
 *  each of its rows, pivots first. SMALL: the first rows below the pivots are read before the
 *  ancestors are waited for. Called by backward_by_warps(). Barriers: it meets the warp. */
template <bool H, bool SMALL, int NR, class T>
__device__ void backward_by_warp(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index,
                                 int first, int last, warps_state &progress, T *x) {
    const int BLOCKS = MPKI_CUDA_WARP_BACK / 32;
    const swept_front<T> f(t, index);
    const panel<T> &a = f.a;
    const int lane = (int)threadIdx.x & 31, e = f.e, parent = s.parent[index];
    const bool inside = parent >= 0 && parent <= last;
    const int32_t *ridx = t.ridx + f.node.ridx;
    const T *from = (const T *)s.x;
    const int AHEAD = 8; /* rows below at most 32 pivots, asked for before x is there */
    T own[BLOCKS][NR], l_ahead[AHEAD];
    prefetch_rows(a.a, a.ld, f.n, e);
#pragma unroll
    for (int k = 0; k < BLOCKS; ++k)
#pragma unroll
        for (int r = 0; r < NR; ++r)
            own[k][r] = 32 * k + lane < e ? begin_value<H, NR>(s, a, 32 * k + lane, r) : make<T>(0);
    if constexpr (SMALL) {
        int across = 1; /* lanes side by side, one for each column */
        while (across < e && across < 32) across *= 2;
#pragma unroll
        for (int j = 0; j < AHEAD; ++j) {
            const int i = e + lane / across + j * (32 / across), col = lane & (across - 1);
            l_ahead[j] = e <= 32 && i < f.n && col < e ? cj<H>(a.at(i, col)) : make<T>(0);
        }
    }
    if (inside) wait_for_warps(progress, lane == 0 ? parent - first : -1);
    if (e == 0) { /* a helper, say, which has no list of positions */
        publish_to_warps(progress, index - first);
        return;
    }
    for (int i = e + lane; i < f.n; i += 32) {
        const int p = i < f.w ? a.id[i] : ridx[i - f.w];
        T there[NR];
        receive_row<NR>(from + (int64_t)p * NR, 60, there);
#pragma unroll
        for (int r = 0; r < NR; ++r) x[i * NR + r] = there[r];
    }
    __syncwarp();
#pragma unroll
    for (int k = BLOCKS - 1; k >= 0; --k) {
        const int k0 = 32 * k, b = e - k0 < 32 ? e - k0 : 32;
        if (b <= 0) continue;
        int across = 1; /* lanes side by side, one for each column */
        while (across < b) across *= 2;
        const int col = lane & (across - 1), group = lane / across, groups = 32 / across;
        T z[NR];
#pragma unroll
        for (int r = 0; r < NR; ++r) z[r] = make<T>(0);
        int i = k0 + b + group;
        if constexpr (SMALL) {
            if (k == 0 && e <= 32) {
#pragma unroll
                for (int j = 0; j < AHEAD; ++j, i += groups)
                    if (i < f.n)
#pragma unroll
                        for (int r = 0; r < NR; ++r) pfma(z[r], l_ahead[j], x[i * NR + r]);
            }
        }
        if (col < b)
#pragma unroll 4
            for (; i < f.n; i += groups) {
                const T l = cj<H>(a.at(i, k0 + col));
#pragma unroll
                for (int r = 0; r < NR; ++r) pfma(z[r], l, x[i * NR + r]);
            }
        for (int o = across; o < 32; o *= 2)
#pragma unroll
            for (int r = 0; r < NR; ++r) z[r] = z[r] + shfl_xor(z[r], o);
        if (lane < b)
#pragma unroll
            for (int r = 0; r < NR; ++r) x[(k0 + lane) * NR + r] = own[k][r] - z[r];
        __syncwarp();
        if (b > 1) solve_block_back<H, NR>(&a.at(k0, k0), a.ld, b, x + k0 * NR);
        __syncwarp();
    }
    for (int i = lane; i < e; i += 32)
#pragma unroll
        for (int r = 0; r < NR; ++r) send_solution<NR>(s, a.id[i], r, x[i * NR + r]);
    publish_to_warps(progress, index - first);
}

/** A block: the fronts of a task, one(k, progress, memory) by a warp each, k = 0, 1, ... smem:
 *  shared memory of `entries` entries; warps for which that has no part do nothing. Barriers: it
 *  meets the block at the start. */
template <int NR, class T, class F>
__device__ void by_warps(const mpki_cuda_piece &me, T *smem, int entries, const F &one) {
    __shared__ warps_state progress;
    const int count = me.last - me.first + 1, warp = (int)threadIdx.x / 32;
    T *mine = smem + warp * WARP_EACH * NR;
    begin_warps(progress, count);
    if ((warp + 1) * WARP_EACH * NR > entries) return;
    for (int k = next_front(progress); k < count; k = next_front(progress)) {
        one(k, progress, mine);
        __syncwarp();
    }
}
/** A block: the sweep forward over the fronts of a task. Called by forward_piece(). */
template <int NR, class T>
__device__ void forward_by_warps(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                 const mpki_cuda_piece &me, T *smem, int entries) {
    by_warps<NR, T>(me, smem, entries, [&](int k, warps_state &progress, T *mine) {
        forward_by_warp<NR, T>(t, s, me.first + k, me.first, me.last, progress, mine,
                               mine + WARP_ROWS * NR);
    });
}
/** A block: the sweep back over the fronts of a task. Called by backward_piece(). */
template <bool H, bool SMALL, int NR, class T>
__device__ void backward_by_warps(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                  const mpki_cuda_piece &me, T *smem, int entries) {
    by_warps<NR, T>(me, smem, entries, [&](int k, warps_state &progress, T *mine) {
        backward_by_warp<H, SMALL, NR, T>(t, s, me.last - k, me.first, me.last, progress, mine);
    });
}

} // namespace mpki
#endif
