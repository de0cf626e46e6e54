/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_CHAIN_CUH
#define MPKI_CUDA_DIRECT_CHAIN_CUH
/** What children give to a chain (mpki_cuda_chain): added up by pieces of their own where children are many, and
 *  row by row where a strip looks for its rows in each child. */
#include "sweep.cuh"

namespace mpki {

/** Columns of its own that a chain has. */
__device__ inline int chain_columns(const mpki_cuda_tree &t, const mpki_cuda_chain &me) {
    const mpki_cuda_node &top = t.node[me.top];
    return top.first + top.own - t.node[me.low].first;
}
/** Rows of it to which pieces of their own bring what its children give: its columns, where children are many; all
 *  where nothing is eliminated at all. Else strips find it for their own rows. */
__device__ inline int chain_gathered(const mpki_cuda_tree &t, const mpki_cuda_chain &me) {
    const int columns = chain_columns(t, me);
    return columns == 0 ? t.node[me.top].rows : me.many ? columns : 0;
}
__device__ inline int chain_gathers(const mpki_cuda_tree &t, const mpki_cuda_chain &me) {
    return (chain_gathered(t, me) + MPKI_FRONT_GATHER - 1) / MPKI_FRONT_GATHER;
}

/** The front whose columns come before this one's. */
__device__ inline int front_before(const mpki_cuda_tree &t, const mpki_cuda_node &node) {
    for (int k = 0; k < node.children; ++k) {
        const int c = t.child[node.child + k];
        if (t.node[c].root == MPKI_CUDA_NOT_LAST) return c;
    }
    return -1;
}

/** All threads: columns that children left to a chain are there. The caller synchronizes. */
__device__ inline void wait_for_chain(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                      const mpki_cuda_chain &me) {
    if (!me.late) return;
    for (int k = 0, front = me.top; k < me.pieces; ++k) {
        const bool chained = k + 1 < me.pieces;
        wait_for_columns(t, s, t.node[front], front, chained);
        if (chained) front = front_before(t, t.node[front]);
    }
}

/** All threads: what the children of a chain give to its rows [low, high), columns before rows below, to give(row, r,
 *  sum). space: room for so many entries. */
template <int NR, class T, class GIVE>
__device__ void gather_chain(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                             const mpki_cuda_chain &me, int low, int high, T *space, int entries,
                             const GIVE &give) {
    const int shares = SWEEP_THREADS / 32 + 1, first = t.node[me.low].first;
    const int most = entries / (shares * NR);
    for (int from = low; from < high; from += most) {
        const int to = from + most < high ? from + most : high, count = (to - from) * NR;
        for (int k = (int)threadIdx.x; k < count; k += SWEEP_THREADS) space[k] = make<T>(0);
        __syncthreads();
        for (int k = 0, front = me.top; k < me.pieces; ++k) {
            const mpki_cuda_node &node = t.node[front];
            const bool chained = k + 1 < me.pieces;
            gather<NR>(t, s, node, target{node.first - first, from, to, chained}, space,
                       space + count, entries - count);
            if (chained) front = front_before(t, node);
        }
        for (int k = (int)threadIdx.x; k < count; k += SWEEP_THREADS)
            give(from + k / NR, k % NR, space[k]);
        __syncthreads();
    }
}

/** All threads: number `part` of the pieces that bring what children give. */
template <int NR, class T>
__device__ void gather_piece(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                             const mpki_cuda_chain &me, int part, T *space, int entries) {
    const int low = part * MPKI_FRONT_GATHER, all = chain_gathered(t, me);
    const int high = low + MPKI_FRONT_GATHER < all ? low + MPKI_FRONT_GATHER : all;
    const bool below = chain_columns(t, me) == 0;
    T *u = (T *)s.u + s.at[me.top] * NR, *y = (T *)s.y + (int64_t)t.node[me.low].first * NR;
    gather_chain<NR>(t, s, me, low, high, space, entries, [&](int row, int r, T sum) {
        if (below)
            hand_on(&u[(int64_t)row * NR + r], sum);
        else
            y[(int64_t)row * NR + r] = fresh(&y[(int64_t)row * NR + r]) + sum;
    });
    if (!below) {
        publish(s.gathered + me.top);
    } else if (leaves_columns(t, me.top)) {
        wait_for_chain(t, s, me);
        publish(s.finished + me.top);
    }
}

/** A thread: the gifts to one row of a chain, of each GROUPS-th child of its fronts. */
template <int NR, class T> struct gifts_to {
    int piece, front, child, group, row;
    __device__ gifts_to(const mpki_cuda_chain &me, int group_, int row_)
        : piece(0), front(me.top), child(group_), group(group_), row(row_) {}
    /** The next one; NULL: there are no more. */
    __device__ const T *next(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                             const mpki_cuda_chain &me) {
        while (row >= 0) {
            const mpki_cuda_node &node = t.node[front];
            if (child >= node.children) {
                if (++piece >= me.pieces) break;
                front = front_before(t, node), child = group;
                continue;
            }
            const int c = t.child[node.child + child];
            const mpki_cuda_node &from = t.node[c];
            const int at = row - (node.first - t.node[me.low].first);
            child += GROUPS;
            if (at < 0 || (piece + 1 < me.pieces && from.root == MPKI_CUDA_NOT_LAST)) continue;
            const int32_t *rel = t.rel + from.rel;
            const int64_t place = s.at[c]; /* asked for before the search */
            const int i = find_not_below(rel, from.rows, at);
            if (i < from.rows && rel[i] == at) return (const T *)s.u + (place + i) * NR;
        }
        row = -1;
        return (const T *)0;
    }
};

} // namespace mpki
#endif
