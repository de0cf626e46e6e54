/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_AASEN_LU_CUH
#define MPKI_CUDA_DENSE_AASEN_LU_CUH
/** The LU of a panel with partial pivoting, by one cooperative kernel. Each thread block keeps its
 *  rows in shared memory, where they stay. For each column every thread block publishes its best
 *  row together with the entry, so that one look at all offers decides the pivot; the rest of the
 *  update is done while the offers arrive. Entries are compared by 20 bits (key), hence |l| <= 1 +
 *  1e-6. */
#include "bunch_kaufman.cuh"
#include "tile_memory.cuh"

namespace mpki {

static const int AASEN_THREADS = 512, LU_OFFERS = 5; /* thread blocks: 32 times as many at most */
static const size_t LU_OWN = 2048; /* at least what the kernel declares of shared memory */

template <class T> struct lu_job {
    int m, nb, each; /* rows, columns, rows of a thread block */
    const T *V;      /* m x nb */
    T *out;          /* its L and U, rows in the new order */
    int64_t ldv, ldo;
    T *row;                    /* 2 x blocks x nb: published rows */
    unsigned long long *offer; /* 2 x blocks: key of the best entry, step, row; zeros before */
    int *moved;                /* 4 nb: place, and where its row came from; place -1: nothing */
    int *order; /* 2 nb, or NULL: for each place of the first 2 nb where its row came from */
    typename scalar_of<T>::real tiny; /* a column not above it is a zero pivot */
    int *state;                       /* zero pivots; not finite; key of the largest multiplier */
};

/** Bytes of shared memory: the rows, the pivot's row, then two lists of positions: of the first nb
 *  rows, and of what stands there. */
template <class T> static size_t lu_shared(int each, int nb) {
    return sizeof(T) * ((size_t)each * nb + nb) + sizeof(int) * (3 * (size_t)nb + each);
}

/** P V = L U of a panel with partial pivoting. One function: what a block holds lives from the
 *  first column to the last, and between the steps of each column the whole grid waits. The
 *  blocks run together; grid and block barriers. */
template <class T> __global__ void __launch_bounds__(AASEN_THREADS, 1) lu_kernel(lu_job<T> g) {
    typedef typename scalar_of<T>::real R;
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    const int nb = g.nb, each = g.each, tid = threadIdx.x, blocks = gridDim.x;
    const int first = blockIdx.x * each, rows = max(0, min(each, g.m - first));
    T *S = (T *)shared_bytes, *prow = S + (int64_t)each * nb;
    int *step_of = (int *)(prow + nb), *at = step_of + each, *now = at + nb, *pivot = now + nb;
    __shared__ unsigned best_key[AASEN_THREADS / 32], winner_key;
    __shared__ int best_row[AASEN_THREADS / 32], winner, winner_block;
    const int steps = min(nb, g.m), warp = tid >> 5, lane = tid & 31;
    const unsigned all = 0xffffffffu;
    const unsigned tiny_key = key(g.tiny);
    unsigned most = 0;
    int zeros = 0, odd = 0;
    for (int c = warp; c < nb; c += AASEN_THREADS / 32)
        for (int r = lane; r < rows; r += 32) S[r + c * each] = g.V[first + r + c * g.ldv];
    for (int r = tid; r < each; r += AASEN_THREADS) step_of[r] = -1;
    for (int k = tid; k < nb; k += AASEN_THREADS) at[k] = k, now[k] = k;
    __syncthreads();
    /* the largest of column c among this block's rows that are left; its row is published first */
    auto offer = [&](int c, unsigned k, int i) {
        unsigned top = __reduce_max_sync(all, k);
        int row = __reduce_min_sync(all, k == top ? i : 0x7fffffff);
        if (lane == 0) best_key[warp] = top, best_row[warp] = row;
        __syncthreads();
        k = lane < AASEN_THREADS / 32 ? best_key[lane] : 0; /* every warp for itself */
        i = lane < AASEN_THREADS / 32 ? best_row[lane] : 0x7fffffff;
        top = __reduce_max_sync(all, k);
        row = __reduce_min_sync(all, k == top ? i : 0x7fffffff);
        T *to = g.row + ((int64_t)(c & 1) * blocks + blockIdx.x) * nb;
        if (row < rows)
            for (int j = c + tid; j < nb; j += AASEN_THREADS) {
                T v = S[row + j * each];
                if (c > 0 && j > c) nfma(v, S[row + (c - 1) * each], prow[j]);
                to[j] = v;
            }
        __syncthreads();
        if (tid == 0) {
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
            const unsigned long long word = (unsigned long long)top << 32 |
                                            (unsigned long long)(c + 1) << 24 |
                                            (row < rows ? first + row : 0xffffff);
            asm volatile(
                "st.relaxed.gpu.u64 [%0], %1;" ::"l"(g.offer + (c & 1) * blocks + blockIdx.x),
                "l"(word)
                : "memory");
        }
    };
    {
        unsigned k = 0;
        int i = 0x7fffffff;
        for (int r = tid; r < rows; r += AASEN_THREADS) {
            const unsigned q = key(S[r]) + 1; /* 0: the lane has no row */
            if (q > k) k = q, i = r;
        }
        offer(0, k, i);
    }
    for (int k = 0; k < steps; ++k) {
        if (warp == 0) { /* look at the offers of all */
            unsigned v = 0;
            int i = 0x7fffffff, b0 = 0;
            const unsigned long long *from = g.offer + (k & 1) * blocks;
            unsigned long long word[LU_OFFERS];
            bool wait = true;
            while (wait) {
                wait = false;
#pragma unroll
                for (int x = 0; x < LU_OFFERS; ++x) /* all on their way at once */
                    if (lane + 32 * x < blocks)
                        asm volatile("ld.relaxed.gpu.u64 %0, [%1];"
                                     : "=l"(word[x])
                                     : "l"(from + lane + 32 * x)
                                     : "memory");
#pragma unroll
                for (int x = 0; x < LU_OFFERS; ++x)
                    if (lane + 32 * x < blocks) wait |= (int)(word[x] >> 24 & 0xff) != k + 1;
            }
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
#pragma unroll
            for (int x = 0; x < LU_OFFERS; ++x) {
                if (lane + 32 * x >= blocks) continue;
                const unsigned ov = (unsigned)(word[x] >> 32);
                const int oi = (int)(word[x] & 0xffffff);
                if (ov > v || (ov == v && oi < i)) v = ov, i = oi, b0 = lane + 32 * x;
            }
            const unsigned top = __reduce_max_sync(all, v);
            const int row = __reduce_min_sync(all, v == top ? i : 0x7fffffff);
            if (v == top && i == row) winner = row, winner_block = b0, winner_key = top;
        }
        __syncthreads();
        const unsigned top = winner_key - 1;
        const bool zero = top <= tiny_key;
        const int p = zero ? at[k] : winner;
        const T *from = g.row + ((int64_t)(k & 1) * blocks + winner_block) * nb;
        for (int j = k + tid; j < nb; j += AASEN_THREADS)
            prow[j] = zero ? make<T>(0) : fresh(from + j);
        if (tid == AASEN_THREADS - 1 && p >= first && p < first + rows) {
            step_of[p - first] = k;
            if (zero) S[p - first + k * each] = make<T>(0);
        }
        __syncthreads();
        bool strange = false;
        T inv = zero ? make<T>(0) : quick_inverse(prow[k], strange);
        if (strange) inv = inverse(prow[k]);
        const int next = k + 1;
        unsigned best = 0;
        int mine = 0x7fffffff;
        for (int r = tid; r < rows; r += AASEN_THREADS)
            if (step_of[r] < 0) {
                const T l = S[r + k * each] * inv;
                S[r + k * each] = l;
                most = max(most, key(l));
                if (next < nb) {
                    T v = S[r + next * each];
                    nfma(v, l, prow[next]);
                    S[r + next * each] = v;
                    const unsigned q = key(v) + 1;
                    if (q > best) best = q, mine = r;
                }
            }
        if (next < steps)
            offer(next, best, mine);
        else
            __syncthreads();
        if (tid == 0) { /* positions as if rows had been exchanged one pair after the other */
            const int place = p < nb ? now[p] : p, x = at[k];
            if (place != k) {
                now[x] = place;
                if (place < nb) at[place] = x;
            }
            at[k] = p, pivot[k] = p;
            if (p < nb) now[p] = k;
            zeros += zero;
            odd |= top >= key((R)INFINITY);
        }
        /* the rest of the step, by all but the first warp, which looks at the offers */
        const int stride = AASEN_THREADS / 32 - 1;
        for (int r = lane; r < rows && warp > 0; r += 32) {
            if (step_of[r] >= 0) continue;
            const T l = S[r + k * each];
            for (int j = k + 1 + warp; j < nb; j += 4 * stride) {
                T v[4], u[4];
#pragma unroll
                for (int x = 0; x < 4; ++x)
                    if (j + x * stride < nb)
                        v[x] = S[r + (j + x * stride) * each], u[x] = prow[j + x * stride];
#pragma unroll
                for (int x = 0; x < 4; ++x)
                    if (j + x * stride < nb) {
                        nfma(v[x], l, u[x]);
                        S[r + (j + x * stride) * each] = v[x];
                    }
            }
        }
    }
    __syncthreads();
    for (int c = warp; c < nb; c += AASEN_THREADS / 32)
        for (int r = lane; r < rows; r += 32) {
            const int i = first + r, s = step_of[r];
            const int to = s >= 0 ? s : i < nb ? now[i] : i;
            g.out[to + c * g.ldo] = S[r + c * each];
            if (c == 0 && g.order) g.order[to] = i;
        }
    most = __reduce_max_sync(0xffffffffu, most);
    if (lane == 0 && most) atomicMax((unsigned *)g.state + 2, most);
    if (blockIdx.x) return;
    if (tid == 0) {
        if (zeros) atomicAdd(g.state, zeros);
        if (odd) g.state[1] = 1;
    }
    for (int k = tid; k < nb; k += AASEN_THREADS) {
        const bool in = k < steps;
        g.moved[k] = in ? k : -1, g.moved[2 * nb + k] = in ? pivot[k] : -1;
        const bool stays = !in || now[k] < nb; /* pivot rows are listed above, the others below */
        g.moved[nb + k] = -1;
        if (in && !stays) g.moved[nb + k] = now[k], g.moved[3 * nb + k] = k;
    }
}

} // namespace mpki
#endif
