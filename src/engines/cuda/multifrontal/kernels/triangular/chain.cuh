/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_CHAIN_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_CHAIN_CUH
/** What is around a chain (mpki_cuda_chain): its columns, the columns that its children have
 *  delayed to it, and helpers, whose children are added up by pieces of their own. */
#include "sweep.cuh"

namespace mpki {

/** A thread: how many columns of its own a chain has. */
__device__ inline int chain_columns(const mpki_cuda_tree &t, const mpki_cuda_chain &me) {
    const mpki_cuda_node &top = t.node[me.top];
    return top.first + top.own - t.node[me.low].first;
}
/** A thread: the front of a chain whose columns come before this one's; -1 if there is none. */
__device__ inline int front_before(const mpki_cuda_tree &t, const mpki_cuda_node &node) {
    for (int k = 0; k < node.children; ++k) {
        const int c = t.child[node.child + k];
        if (t.node[c].root == MPKI_CUDA_NOT_LAST) return c;
    }
    return -1;
}

/** A block: waits until the columns that children have delayed to a chain are there. Barriers:
 *  none; the caller meets the block. */
__device__ inline void wait_for_chain(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                      const mpki_cuda_chain &me) {
    if (!me.delayed) return;
    for (int k = 0, front = me.top; k < me.pieces; ++k) {
        const bool chained = k + 1 < me.pieces;
        wait_for_columns(t, s, t.node[front], front, chained);
        if (chained) front = front_before(t, t.node[front]);
    }
}

/** A block: rows number `part`, MPKI_FRONT_GATHER of them, of a helper: the sums of its children's
 *  contributions go to u. space [work] `entries` entries in shared memory. Called by
 *  forward_piece(). Barriers: it meets the block. */
template <int NR, class T>
__device__ void gather_piece(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                             const mpki_cuda_chain &me, int part, T *space, int entries) {
    const mpki_cuda_node &node = t.node[me.top];
    const contribution_places places(s, me.top);
    const int low = part * MPKI_FRONT_GATHER;
    const int high = low + MPKI_FRONT_GATHER < node.rows ? low + MPKI_FRONT_GATHER : node.rows;
    const int most = entries / ((SWEEP_THREADS / 32 + 1) * NR);
    for (int from = low; from < high; from += most) {
        const int to = from + most < high ? from + most : high, count = (to - from) * NR;
        for (int k = (int)threadIdx.x; k < count; k += SWEEP_THREADS) space[k] = make<T>(0);
        __syncthreads();
        gather<NR>(t, s, node, target{from, to}, space, space + count, entries - count);
        for (int k = (int)threadIdx.x; k < count; k += SWEEP_THREADS)
            send((T *)s.u + places.of(from + k / NR) * NR + k % NR, space[k]);
        __syncthreads();
    }
    if (leaves_columns(t, me.top)) {
        wait_for_chain(t, s, me);
        publish(s.finished + me.top);
    }
}

} // namespace mpki
#endif
