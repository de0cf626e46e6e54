/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_SOLVE_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_SOLVE_CUH
/** The kernels of a sweep over the fronts, one launch for each direction. A thread block takes
 *  the next piece of a list: small fronts, one after the other or by warps (warps.cuh), or a
 *  strip of a large front (strips.cuh). Blocks wait for one another by counters and values in
 *  global memory. Who adds what, and in which order, is fixed, so the bits do not depend on the
 *  order of blocks. */
#include "single.cuh"
#include "../stamps.cuh"
#include "together.cuh"
#include "warps.cuh"

#include <type_traits>

namespace mpki {

/* ---- small fronts: a block takes those of a task one after the other ---- */

/** A block: y := L^-1 y on one front of a task; its contribution goes to u. Children before front
 *  `first` are other blocks'. space [work] `entries` entries of shared memory; if that is too
 *  little, it works in u. Called by forward_piece(). Barriers: it meets the block; the caller meets
 *  it before the next front. */
template <int NR, class T>
__device__ void forward_front(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index,
                              int first, T *space, int entries) {
    const swept_front<T> f(t, index);
    const panel<T> &a = f.a;
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, w = f.w, e = f.e, n = f.n;
    const int low = f.node.first, all = f.own + f.m;
    const contribution_places places(s, index);
    T *y = (T *)s.y, *u = (T *)s.u;
    const bool fits = 2 * n * NR <= entries;
    T *sum = fits ? space : u + (places.at - 2 * n) * NR,
      *v = sum + all * NR; /* of children; of rows */
    prefetch_columns(a.a, a.ld, n, e);
    for (int i = tid; i < all * NR; i += nt) sum[i] = make<T>(0);
    wait_for_columns(t, s, f.node, first, false);
    __syncthreads();
    gather<NR>(t, s, f.node, target{0, all}, sum, v, fits ? entries - all * NR : 0);
    for (int k = tid; k < n * NR; k += nt) {
        const int i = k / NR, r = k % NR, p = i < w ? a.id[i] : -1;
        if (i >= w)
            v[k] = sum[(f.own + i - w) * NR + r];
        else {
            const T x = load_from_l2(&y[(int64_t)p * NR + r]);
            v[k] = p >= low && p < low + f.own ? x + sum[(p - low) * NR + r] : x;
        }
    }
    __syncthreads();
    for (int k0 = 0; k0 < e; k0 += 32) {
        const int b = e - k0 < 32 ? e - k0 : 32;
        if (tid < 32) solve_block<NR>(&a.at(k0, k0), a.ld, b, v + k0 * NR);
        __syncthreads();
        for (int i = k0 + b + tid; i < n; i += nt) {
            T z[NR];
#pragma unroll
            for (int r = 0; r < NR; ++r) z[r] = make<T>(0);
#pragma unroll 4
            for (int k = 0; k < b; ++k) {
                const T l = a.at(i, k0 + k);
#pragma unroll
                for (int r = 0; r < NR; ++r) pfma(z[r], l, v[(k0 + k) * NR + r]);
            }
#pragma unroll
            for (int r = 0; r < NR; ++r) v[i * NR + r] = v[i * NR + r] - z[r];
        }
        __syncthreads();
    }
    for (int k = tid; k < n * NR; k += nt) {
        const int i = k / NR;
        if (i < w)
            y[(int64_t)a.id[i] * NR + k % NR] = v[k];
        else
            send(&u[places.of(i - w) * NR + k % NR], v[k]);
    }
}

/** A block: x := L^-T x on one front of a task. v [work] n x NR entries. Called by
 *  backward_piece(). Barriers: it meets the block; the caller meets it before the next front. */
template <bool H, int NR, class T>
__device__ void backward_front(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int index, T *v) {
    const swept_front<T> f(t, index);
    const panel<T> &a = f.a;
    const int tid = (int)threadIdx.x, nt = (int)blockDim.x, lane = tid & 31, warp = tid / 32;
    const int w = f.w, e = f.e, n = f.n, warps = nt / 32;
    const int32_t *ridx = t.ridx + f.node.ridx;
    const T *x = (const T *)s.x;
    if (e == 0) return;
    for (int k = tid; k < n * NR; k += nt) {
        const int i = k / NR, r = k % NR;
        if (i < e)
            v[k] = begin_value<H, NR>(s, a, i, r);
        else
            v[k] = receive_far(&x[(int64_t)(i < w ? a.id[i] : ridx[i - w]) * NR + r]);
    }
    __syncthreads();
    for (int k0 = (e - 1) / 32 * 32; k0 >= 0; k0 -= 32) {
        const int b = e - k0 < 32 ? e - k0 : 32;
        for (int k = warp; k < b; k += warps) {
            T sum[NR];
#pragma unroll
            for (int r = 0; r < NR; ++r) sum[r] = make<T>(0);
            for (int i = k0 + b + lane; i < n; i += 32) {
                const T l = cj<H>(a.at(i, k0 + k));
#pragma unroll
                for (int r = 0; r < NR; ++r) pfma(sum[r], l, v[i * NR + r]);
            }
#pragma unroll
            for (int r = 0; r < NR; ++r) {
                for (int o = 16; o; o >>= 1) sum[r] = sum[r] + shfl_xor(sum[r], o);
                if (lane == 0) v[(k0 + k) * NR + r] = v[(k0 + k) * NR + r] - sum[r];
            }
        }
        __syncthreads();
        if (tid < 32) solve_block_back<H, NR>(&a.at(k0, k0), a.ld, b, v + k0 * NR);
        __syncthreads();
    }
    for (int k = tid; k < e * NR; k += nt) send_solution<NR>(s, a.id[k / NR], k % NR, v[k]);
}

enum { SWEEP_NOTHING = 1 << 30 /* in place of -1, what tickets begin with: there are no pieces */ };

/** A thread: the sweep of sheet number `sheet`. size: bytes of an entry. */
__device__ inline mpki_cuda_sweep sheet_of(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                           int sheet, int size) {
    mpki_cuda_sweep own = s;
    const int64_t by = sheet * s.sheet;
    own.y = (char *)s.y + (int64_t)sheet * t.n * s.nrhs * size;
    own.finished = (int32_t *)((char *)s.finished + by);
    own.sent = (char *)s.sent + by, own.sent_back = (char *)s.sent_back + by;
    own.u = (char *)s.u + by, own.x = (char *)s.x + by;
    if (s.out) own.out = (char *)s.out + (int64_t)sheet * s.nrhs * s.ldout * size;
    own.columns = s.columns - sheet * s.nrhs;
    if (sheet > 0 && !s.squared) own.square = NULL; /* sheet 0 keeps the inverses for all */
    return own;
}

/** The most right-hand sides that a sweep takes, of which there may be several sheets. */
template <class T> __host__ __device__ constexpr int sheet_columns() {
    return sizeof(T) > 8 ? MPKI_CUDA_RHS / 2 : MPKI_CUDA_RHS;
}

/** Are chains swept for several sheets at once (together.cuh)? */
template <int NR, class T> __host__ __device__ constexpr bool swept_together() {
    return std::is_same<T, double>::value && NR == SHEET;
}

/** Has the list of pieces an entry for each sheet, or for several that are taken at once? Else it is for one. */
template <int NR, class T>
__host__ __device__ constexpr bool list_is_spread(const mpki_cuda_sweep &s) {
    return swept_together<NR, T>() && s.sheets > TOGETHER;
}

/** A block: the next piece of the list, and *number, its number. Blocks take pieces in order, so
 *  that whatever one waits for is at work; the same piece of all sheets one after the other, since
 *  they read the same columns. The kind is negative if the sweep is not wanted, or nothing is to be done. own
 *  [out] NULL, or in shared memory: the sweep of the piece's sheet, and *sheet, the sheet's number.
 *  Barriers: it meets the block. */
template <int NR, class T>
__device__ inline mpki_cuda_piece next_piece(const mpki_cuda_tree &t, const mpki_cuda_sweep &s,
                                             const mpki_cuda_piece *list, bool back, int *number,
                                             mpki_cuda_sweep *own, int *sheet) {
    __shared__ int ticket, which;
    __shared__ mpki_cuda_piece next_one;
    after_previous();
    if (threadIdx.x == 0) {
        const int next = atomicAdd(s.ticket + back, 1) + 1;
        next_one = mpki_cuda_piece{-1, 0, 0};
        ticket = next, which = 0;
        if (next < SWEEP_NOTHING) {
            const bool spread = list_is_spread<NR, T>(s);
            if (!spread) ticket = next / s.sheets, which = next % s.sheets;
            next_one = list[ticket];
            if (spread) {
                which = next_one.kind / MPKI_CUDA_PIECE_SHEET;
                next_one.kind = which < s.sheets ? next_one.kind % MPKI_CUDA_PIECE_SHEET : -1;
            }
            if (own && next_one.kind >= 0) *own = sheet_of(t, s, which, sizeof(T));
        }
    }
    __syncthreads();
    *number = ticket;
    if (own) *sheet = which;
    MPKI_STAMP_PIECE(back, ticket, 0);
    return next_one;
}

/** Blocks that a multiprocessor holds, as far as registers are concerned: small fronts wait for
 *  memory, so there are several where a thread has few sums. On the way back it has 8 columns of
 *  them, unless chains are swept together. */
template <int NR, class T, bool BACK> constexpr int sweeps_beside() {
    return sizeof(T) > 8                                ? 1
           : NR == 1                                    ? MPKI_SWEEP_BLOCKS
           : BACK && NR > 4 && !swept_together<NR, T>() ? 1
                                                        : 2;
}

/** A thread: so many sheets of s a block takes that has a piece of a chain of sheet number `sheet`; the
 *  blocks of the next ones have nothing to do. */
__device__ inline int sheets_from(const mpki_cuda_sweep &s, int sheet) {
    const int left = s.sheets - sheet;
    return sheet % TOGETHER ? 0 : left < TOGETHER ? left : TOGETHER;
}

/** A block: a piece of the sweep forward. sheet: its number, of s. smem: shared memory, `most`
 *  entries for each right-hand side. MODE: what is read of chains that have a copy in half the
 *  precision. SMALL: the sweep is short, so that latency counts, which pays with registers. Called
 *  by forward_kernel(). Barriers: it meets the block. */
template <int MODE, bool SMALL, int NR, class T>
__device__ inline void forward_piece(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int sheet,
                                     const mpki_cuda_piece &me, char *smem, int most) {
    if (me.kind == MPKI_CUDA_WARPS) {
        forward_by_warps<NR, T>(t, s, me, (T *)smem, most * NR);
        return;
    }
    if (me.kind == MPKI_CUDA_TASK) {
        for (int k = me.first; k <= me.last; ++k) {
            forward_front<NR, T>(t, s, k, me.first, (T *)smem, most * NR);
            __syncthreads();
        }
        if (leaves_columns(t, me.last)) publish(s.finished + me.last);
        return;
    }
    const mpki_cuda_chain chain = s.chain[me.first];
    if constexpr (SMALL)
        if (chain.single) {
            forward_single<MODE, NR, T>(t, s, chain, smem);
            return;
        }
    if (me.kind == MPKI_CUDA_GATHER) {
        gather_piece<NR, T>(t, s, chain, me.last, (T *)smem, most * NR);
        return;
    }
    if constexpr (swept_together<NR, T>()) {
        const int sheets = sheets_from(s, sheet);
        if (sheets > 0) forward_together(t, s, sheets, chain, me.last, smem);
    } else if (chain.pieces == 1 && me.last >= chain.strips) {
        forward_below<MODE, NR, T>(t, s, chain, me.last - chain.strips, smem);
    } else if (MODE == READ_PANEL || chain.pieces > 1) {
        forward_strip<READ_PANEL, NR, T>(t, s, chain, me.last, smem, most * NR);
    } else {
        forward_strip<MODE, NR, T>(t, s, chain, me.last, smem, most * NR);
    }
}

/** A block: a piece of the sweep back; parameters as those of forward_piece(). Called by
 *  backward_kernel(). Barriers: it meets the block. */
template <int MODE, bool H, bool SMALL, int NR, class T>
__device__ inline void backward_piece(const mpki_cuda_tree &t, const mpki_cuda_sweep &s, int sheet,
                                      const mpki_cuda_piece &me, char *smem, int most) {
    if (me.kind == MPKI_CUDA_WARPS) {
        backward_by_warps<H, SMALL, NR, T>(t, s, me, (T *)smem, most * NR);
        return;
    }
    if (me.kind != MPKI_CUDA_TASK) {
        const mpki_cuda_chain chain = s.chain[me.first];
        const int slice = me.kind == MPKI_CUDA_STRIP ? 0 : me.kind - MPKI_CUDA_SLICE;
        if constexpr (swept_together<NR, T>()) {
            const int sheets = sheets_from(s, sheet);
            if (sheets > 0) backward_together(t, s, sheets, chain, me.last, slice, smem);
        } else if (MODE == READ_PANEL || chain.pieces > 1) {
            backward_strip<READ_PANEL, H, SMALL, NR, T>(t, s, chain, me.last, slice, smem);
        } else {
            backward_strip<MODE, H, SMALL, NR, T>(t, s, chain, me.last, slice, smem);
        }
        return;
    }
    for (int k = me.last; k >= me.first; --k) {
        for (int q = k; q >= me.first && q >= k - 1; --q) { /* the next one's, too */
            const panel<T> a(t.state[q].a, t.state[q].w, t.state[q].ld);
            if (q < k || k == me.last)
                prefetch_columns(a.a, a.ld, a.w + t.node[q].rows, t.state[q].nelim);
        }
        const int all = t.state[k].w + t.node[k].rows;
        const bool fits = 2 * all <= most;
        backward_front<H, NR>(t, s, k, fits ? (T *)smem : (T *)s.u + (s.at[k] - 2 * all) * NR);
        __syncthreads();
    }
}

/** A block for each piece of y := L^-1 y. most: entries of shared memory for each right-hand
 *  side. */
template <int MODE, bool SMALL, int NR, class T>
__global__ void __launch_bounds__(SWEEP_THREADS, sweeps_beside<NR, T, false>())
    forward_kernel(mpki_cuda_tree t, mpki_cuda_sweep s, int most) {
    MPKI_SMEM;
    int ticket;
    if constexpr (NR == sheet_columns<T>()) {
        __shared__ mpki_cuda_sweep own;
        int sheet;
        const mpki_cuda_piece me = next_piece<NR, T>(t, s, s.down, false, &ticket, &own, &sheet);
        if (me.kind >= 0) forward_piece<MODE, SMALL, NR, T>(t, own, sheet, me, smem, most);
    } else {
        const mpki_cuda_piece me = next_piece<NR, T>(t, s, s.down, false, &ticket, NULL, NULL);
        if (me.kind >= 0) forward_piece<MODE, SMALL, NR, T>(t, s, 0, me, smem, most);
    }
    MPKI_STAMP_PIECE(0, ticket, 1);
}
/** A block for each piece of x := L^-T y, or L^-T D^-1 y. most: entries of shared memory for each
 *  right-hand side. */
template <int MODE, bool H, bool SMALL, int NR, class T>
__global__ void __launch_bounds__(SWEEP_THREADS, sweeps_beside<NR, T, true>())
    backward_kernel(mpki_cuda_tree t, mpki_cuda_sweep s, int most) {
    MPKI_SMEM;
    int ticket;
    if constexpr (NR == sheet_columns<T>()) {
        __shared__ mpki_cuda_sweep own;
        int sheet;
        const mpki_cuda_piece me = next_piece<NR, T>(t, s, s.up, true, &ticket, &own, &sheet);
        if (me.kind >= 0) backward_piece<MODE, H, SMALL, NR, T>(t, own, sheet, me, smem, most);
    } else {
        const mpki_cuda_piece me = next_piece<NR, T>(t, s, s.up, true, &ticket, NULL, NULL);
        if (me.kind >= 0) backward_piece<MODE, H, SMALL, NR, T>(t, s, 0, me, smem, most);
    }
    MPKI_STAMP_PIECE(1, ticket, 1);
}

/** A thread: [*a conj(*b); *b *c] := the absolute value of that matrix, *a and *c real, as
 *  src/engines/cpu/multifrontal/triangular_t.c. Barriers: none. */
template <class T>
__device__ inline void absolute(typename scalar_of<T>::real *a, T *b,
                                typename scalar_of<T>::real *c) {
    typedef typename scalar_of<T>::real R;
    const double most = fmax(fmax(fabs((double)*a), fabs((double)*c)), (double)modulus(*b));
    if (!(most > 0)) return;
    const double p = *a / most, q = *c / most, m = (double)modulus(*b) / most;
    const double det = p * q - m * m;
    if (det >= 0) {
        const R sign = p + q < 0 ? -1 : 1;
        *a *= sign, *c *= sign, *b = *b * sign;
        return;
    }
    const double trace = sqrt((p - q) * (p - q) + 4 * m * m);
    *a = (R)(most * ((p * p + m * m - det) / trace));
    *c = (R)(most * ((q * q + m * m - det) / trace));
    *b = *b * (R)((p + q) / trace);
}

/** A warp for each front: y := D^-1 y, or |D|^-1 y with absolutely. Barriers: none. */
template <bool H, class T>
__global__ void diagonal_kernel(mpki_cuda_tree t, mpki_cuda_sweep s, int absolutely) {
    const int lane = (int)threadIdx.x & 31, nr = s.nrhs;
    const int step = (int)(gridDim.x * blockDim.x / 32);
    T *y = (T *)s.y;
    for (int f = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 32; f < t.fronts; f += step) {
        const mpki_cuda_front_state state = t.state[f];
        const panel<T> a(state.a, state.w, state.ld);
        for (int k = lane; k < state.nelim; k += 32) {
            T d1 = a.dinv[2 * k], off = a.dinv[2 * k + 1];
            const bool second = k > 0 && abs1(a.dinv[2 * k - 1]) > 0;
            if (second) continue;
            T *x1 = y + (int64_t)a.id[k] * nr;
            if (!(abs1(off) > 0)) {
                if (absolutely) d1 = make<T>(fabs((double)re(d1)));
                for (int r = 0; r < nr; ++r) x1[r] = d1 * x1[r];
                continue;
            }
            T d2 = a.dinv[2 * k + 2], *x2 = y + (int64_t)a.id[k + 1] * nr, up = cj<H>(off);
            if (absolutely) {
                typename scalar_of<T>::real p = re(d1), q = re(d2);
                absolute(&p, &off, &q);
                d1 = make<T>((double)p), d2 = make<T>((double)q), up = conj(off);
            }
            for (int r = 0; r < nr; ++r) {
                const T u = x1[r], v = x2[r];
                x1[r] = d1 * u + up * v;
                x2[r] = off * u + d2 * v;
            }
        }
    }
}

/** A thread for each position of each sheet of nrhs columns: y := scale b by position, zeros beyond
 *  `columns`; perm NULL: b is in that order already; scale NULL: 1. What a thread reads is asked for at
 *  once. All bits of `words` words from `unset` on are set, `zeros` words from `zero` on become 0. If 0
 *  lies at `wanted`, y stays, and the tickets say that there are no pieces. Called by the slot `take` of
 *  mpki_cuda_direct_table. Barriers: none. */
template <class T>
__global__ void take_kernel(int n, int nrhs, int columns, const int32_t *perm, const double *scale,
                            const T *b, int64_t ldb, T *y, unsigned long long *unset, int64_t words,
                            const unsigned long long *wanted, unsigned long long *zero,
                            int64_t zeros) {
    typedef typename scalar_of<T>::real R;
    const int blocks = (n + (int)blockDim.x - 1) / (int)blockDim.x; /* of a sheet */
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int sheet = (int)blockIdx.x / blocks, first = sheet * nrhs;
    const int at = ((int)blockIdx.x - sheet * blocks) * (int)blockDim.x + (int)threadIdx.x;
    after_previous();
    for (int64_t w = k; w < zeros; w += (int64_t)gridDim.x * blockDim.x) zero[w] = 0;
    if (wanted && *wanted == 0) {
        if (k < 2 && words > 0) ((int32_t *)unset)[k] = SWEEP_NOTHING;
        return;
    }
    for (int64_t w = k; w < words; w += (int64_t)gridDim.x * blockDim.x) unset[w] = ~0ull;
    if (at >= n) return;
    const int64_t from = perm ? perm[at] : at;
    const R by = scale ? (R)scale[at] : 1;
    T x[MPKI_CUDA_RHS];
#pragma unroll
    for (int r = 0; r < MPKI_CUDA_RHS; ++r)
        x[r] = r < nrhs && first + r < columns ? b[from + (first + r) * ldb] : make<T>(0);
    y += ((int64_t)sheet * n + at) * nrhs;
#pragma unroll
    for (int r = 0; r < MPKI_CUDA_RHS; ++r)
        if (r < nrhs) y[r] = scale ? x[r] * by : x[r];
}

/** A thread for each position: x := scale y, back in the caller's order. Called by the slot `give`
 *  of mpki_cuda_direct_table. Barriers: none. */
template <class T>
__global__ void give_kernel(int n, int nrhs, int columns, const int32_t *perm, const double *scale,
                            const T *y, T *x, int64_t ldx) {
    typedef typename scalar_of<T>::real R;
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    const int64_t to = perm ? perm[k] : k;
    for (int c = 0; c < columns; c += nrhs, y += (int64_t)n * nrhs)
        for (int r = 0; r < nrhs && c + r < columns; ++r)
            x[to + (c + r) * ldx] = scale ? y[k * nrhs + r] * (R)scale[k] : y[k * nrhs + r];
}

} // namespace mpki
#endif
