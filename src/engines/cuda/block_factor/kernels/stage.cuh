/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_STAGE_CUH
#define MPKI_CUDA_BLOCK_FACTOR_STAGE_CUH
/** Phases I and II of the meta-algorithm on a portion of a level set: A into work blocks; pivots;
 *  blocks below them (engines/cpu/block_factor/phases_t.c). A warp takes a frame, or a block. */
#include "core/random.h"
#include "engines/cuda/module/launch.cuh"
#include "engines/cuda/module/shared_memory.cuh"
#include "factor_ldu.cuh"
#include "gather.cuh"

namespace mpki {

/** Shared memory of the pivots' kernel for a frame, beside that of updates. By each thread for
 *  itself; no barrier. */
template <class T> __host__ __device__ inline size_t pivot_bytes(int largest) {
    return (6 * (size_t)largest * sizeof(T) + sizeof(pivot_lists) + 15) / 16 * 16;
}

/** Where the pivots of a frame of the portion are. */
template <class T> struct at_pivot {
    T *m[2], *p[2], *d, *dinv; /* p: (M^T D^-1)^T of the lower half, of the upper one; by rows */
    /** Where the pivots of frame q of the portion are. By each thread for itself; no barrier. */
    __device__ at_pivot(const mpki_cuda_stage &b, int q) {
        const int square = b.largest * b.largest;
        T *base = (T *)b.pivot_work + (int64_t)q * b.pivot_stride;
        m[0] = m[1] = base;
        base += square;
        if (b.ldu) m[1] = base, base += square;
        p[0] = p[1] = base;
        base += square;
        if (b.ldu) p[1] = base, base += square;
        d = base, dinv = base + 2 * b.largest;
    }
};
inline int64_t pivot_stride(const mpki_cuda_stage &b) {
    return ((b.ldu ? 4 : 2) * (int64_t)b.largest * b.largest + 4 * (int64_t)b.largest + 3) / 4 * 4;
}

/* ---- A --------------------------------------------------------------------------------------- */

/** A diagonal entry, moved away from 0 by b.shift and grown by b.diagonal_shift. By each thread
 *  for itself; no barrier. */
template <class T> __device__ inline T shifted(const mpki_cuda_stage &b, T diagonal) {
    typedef typename scalar_of<T>::real R;
    const R shift = (R)b.shift;
    diagonal = diagonal + make<T>((double)(re(diagonal) > 0 ? shift : -shift));
    return times(diagonal, (R)(1 + b.diagonal_shift));
}

/** The scale of a row of a matrix that is not symmetric. By each thread for itself; no barrier. */
__device__ inline double scale_of_row(const mpki_cuda_stage &b, int row) {
    return b.row_scale[b.row_of ? b.row_of[row] : row];
}

/** Entry e in row g of the scaled matrix: symmetric, or Q A, or (turned) its transpose. By each
 *  thread for itself; no barrier. */
template <class T>
__device__ inline T entry_of(const mpki_cuda_stage &b, const mpki_cuda_rows &from, bool turned,
                             int g, int64_t e) {
    const bool single = b.a_scalar == MPK_S || b.a_scalar == MPK_C;
    const int h = from.col[e];
    const double s = !b.at.ptr ? b.scale[g] : scale_of_row(b, turned ? h : g);
    const double t = b.scale[turned && b.at.ptr ? g : h];
    return scaled_entry<T>(single, from.val, e, s, t);
}

/** The work blocks of a frame's column += A's entries; `lower` or `upper` NULL: not that half.
 *  By all threads of a block; no barrier. */
template <class T>
__device__ inline void load_half(const mpki_cuda_stage &b, const mpki_cuda_rows &from, bool turned,
                                 int frame, T *lower, T *upper) {
    const int lane = (int)(threadIdx.x % 32), p0 = b.bptr[frame], p1 = b.bptr[frame + 1];
    const int w = p1 - p0;
    const int64_t *const slot = b.slot + b.diagonal[frame];
    for (int p = p0 + (int)(threadIdx.x / 32); p < p1; p += (int)(blockDim.x / 32)) {
        const int g = b.perm[p];
        for (int64_t e = from.ptr[g] + lane; e < from.ptr[g + 1]; e += 32) {
            const int to = from.slot[e];
            if (to < 0) continue;
            const int64_t begin = slot[to >> 5];
            if (begin < 0) continue;
            T v = entry_of<T>(b, from, turned, g, e);
            if (from.col[e] == g) v = shifted(b, v);
            const int64_t at = begin + (to & 31) * w + (p - p0);
            if (lower) lower[at] = cj(b.a_hermitian, v);
            if (upper) upper[at] = v;
        }
    }
}

/** The work blocks of the portion += A. A block takes a frame; no barrier. */
template <class T>
__global__ void __launch_bounds__(32 * LOAD_WARPS)
    load_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    after_previous();
    if (b.notes->stop) return;
    const int frame = b.who[po.first + (int)blockIdx.x];
    T *const lower = (T *)b.work, *const upper = b.ldu ? (T *)b.work_u : (T *)NULL;
    if (!b.at.ptr) {
        load_half<T>(b, b.a, false, frame, lower, upper);
        return;
    }
    load_half<T>(b, b.at, true, frame, lower, (T *)NULL);
    load_half<T>(b, b.a, false, frame, (T *)NULL, upper);
}

/* ---- updates --------------------------------------------------------------------------------- */

/** Warps of a thread block. */
template <int SPLIT> struct together { static const int warps = SPLIT == 1 ? WARPS : SPLIT; };

/** The work blocks of the portion -= their updates by earlier portions; no pivot of the portion
 *  is needed for them. SPLIT = 1: a warp takes a block, else a thread block; block barriers
 *  then. */
template <int SPLIT, class T>
__global__ void __launch_bounds__(32 * together<SPLIT>::warps)
    pull_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    MPKI_SMEM;
    __shared__ unsigned long long sums[together<SPLIT>::warps];
    after_previous();
    if (b.notes->stop) return;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int64_t t = SPLIT == 1 ? (int64_t)blockIdx.x * WARPS + warp : (int64_t)blockIdx.x;
    if (t >= po.end_item - po.first_item) return;
    const int64_t e = b.entry[po.first_item + t];
    const int frame = b.who[b.item_who[po.first_item + t]], row = b.other[e];
    if (b.reject[frame]) return;
    const int w = b.bptr[frame + 1] - b.bptr[frame], rows = b.bptr[row + 1] - b.bptr[row];
    const size_t each = gather_memory<T>::bytes(b.largest);
    const gather_memory<T> s(smem + (size_t)warp * each, b.largest);
    const gather_memory<T> first(smem + (SPLIT == 1 ? (size_t)warp : 0) * each, b.largest);
    unsigned long long flops = 0;
    for (int half = 0; half <= (row != frame && b.ldu); ++half) {
        T *const work = (T *)(half ? b.work_u : b.work) + b.slot[e];
        if (SPLIT == 1 || warp == 0)
            for_rows(rows, w, w, work, [&](int r, T x) {
                if (lane < w) s.c[r * s.ld + lane] = x;
            });
        __syncwarp();
        flops += pull_together<SPLIT>(b, half, row, frame, s, smem);
        for (int r = SPLIT == 1 ? 0 : warp; r < rows && lane < w; r += SPLIT)
            work[r * w + lane] = first.c[r * s.ld + lane];
        if (SPLIT == 1)
            __syncwarp();
        else
            __syncthreads();
    }
    if (SPLIT > 1) {
        if (lane == 0) sums[warp] = flops;
        __syncthreads();
        flops = 0;
        for (int v = 0; v < SPLIT; ++v) flops += sums[v];
        if (warp != 0) return;
    }
    if (lane != 0) return;
    /* below the diagonal they count once the frame's pivots are accepted */
    if (row != frame)
        b.need[t] = (int64_t)flops;
    else if (flops) /* the host updates the diagonal block in both halves */
        atomicAdd(&b.notes->flops, flops * (1 + b.ldu));
}

/* ---- phase I --------------------------------------------------------------------------------- */

/** butterfly (2 w) := the random diagonals of phases_t.c. By all lanes of a warp; ends with
 *  __syncwarp(). */
template <class R>
__device__ inline void random_butterfly(const mpki_cuda_stage &b, int frame, int w, R *butterfly) {
    if (threadIdx.x % 32 == 0) {
        uint64_t state = (uint64_t)b.seed + (uint64_t)frame * MPKI_GOLDEN +
                         mpki_random_mix((uint64_t)b.pushed[frame] - 1);
        for (int k = 0; k < 2 * w; ++k) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            butterfly[k] = (R)exp(((double)(state >> 11) * 0x1p-53 - 0.5) / 10);
        }
    }
    __syncwarp();
}

/** to (by rows, w) := from (ld). By all lanes of a warp; no barrier. */
template <class T> __device__ inline void put_square(int w, int ld, const T *from, T *to) {
    const int lane = (int)(threadIdx.x % 32);
    if (lane < w)
        for (int r = 0; r < w; ++r) to[r * w + lane] = from[r * ld + lane];
}

/** p (by rows, w): row k := column k of M^T D^-1 times `by`; m: in shared memory. By all lanes
 *  of a warp; no barrier. */
template <class T, class R>
__device__ inline void solved_rows(int w, int ld, const T *m, const T *dinv, int hermitian, R by,
                                   T *p) {
    const int lane = (int)(threadIdx.x % 32);
    if (lane >= w) return;
    for (int k = 0; k < w; ++k) {
        T x = cj(hermitian, m[k * ld + lane]) * times(dinv[2 * k], by);
        if (k + 1 < w && abs1(dinv[2 * k + 1]) > 0)
            x = x + cj(hermitian, m[(k + 1) * ld + lane]) * dinv[2 * k + 1];
        else if (k > 0 && abs1(dinv[2 * k - 1]) > 0)
            x = x + cj(hermitian, m[(k - 1) * ld + lane]) * cj(hermitian, dinv[2 * k - 1]);
        p[k * w + lane] = x;
    }
}

/** Pivots that were replaced by the floor become as large as the matrix. By all lanes of a warp;
 *  ends with __syncwarp(). */
template <class T> __device__ inline void lift(const mpki_cuda_stage &b, int w, T *d, T *dinv) {
    typedef typename scalar_of<T>::real R;
    const R floor = (R)b.floor * (1 + 8 * epsilon<R>()), by = (R)(b.size / b.floor);
    if (threadIdx.x % 32 == 0)
        for (int k = 0; k < w; ++k) {
            if (abs1(d[2 * k + 1]) > 0) {
                ++k;
            } else if (modulus(d[2 * k]) <= floor) {
                d[2 * k] = times(d[2 * k], by);
                dinv[2 * k] = times(dinv[2 * k], 1 / by);
            }
        }
    __syncwarp();
}

/** Accepts or rejects a frame by its pivots and notes them; text and status are the host's. By
 *  all lanes of a warp, of which the first one writes; an atomic minimum. */
template <class R>
__device__ inline void judge_pivots(const mpki_cuda_stage &b, int frame,
                                    const pivot_report<R> &report) {
    if (threadIdx.x % 32 != 0) return;
    if (report.failed >= 0 && (b.last || b.type == MPK_TYPE_LLT)) {
        atomicMin(report.indefinite ? &b.notes->broken : &b.notes->failed, frame);
        b.reject[frame] = 1;
    } else if (!b.last && (report.failed >= 0 || report.perturbed || report.zero ||
                           !(report.norm_m <= 1 / root(epsilon<R>())))) {
        b.reject[frame] = 1;
    }
    mpki_cuda_pivots_of &to = b.pivots[frame];
    to.positive = report.positive, to.negative = report.negative, to.zero = report.zero;
    to.perturbed = report.perturbed, to.two_by_two = report.two_by_two;
    to.smallest = (double)report.smallest, to.largest = (double)report.largest;
    to.accepted = 0;
}

/** What a warp that factors has in shared memory: M in the place of left operands; D, D^-1 and a
 *  butterfly beside it. */
template <class T> struct pivot_memory {
    typedef typename scalar_of<T>::real R;
    T *c, *lt, *m, *d, *dinv;
    R *butterfly;
    pivot_lists *lists;
    int ld;
    /** The parts of s and of `more`. By each thread for itself; no barrier. */
    __device__ pivot_memory(const gather_memory<T> &s, char *more, int largest)
        : c(s.c), lt(s.w), m(s.a), d((T *)more), ld(s.ld) {
        dinv = d + 2 * largest;
        butterfly = (R *)(dinv + 2 * largest);
        lists = (pivot_lists *)(dinv + 4 * largest);
    }
};

/** p of a frame that an earlier stage accepted, made dense again. By all lanes of a warp; ends
 *  with __syncwarp(). */
template <class T>
__device__ inline void recall(const mpki_cuda_stage &b, const pivot_memory<T> &s, int frame, int w,
                              const at_pivot<T> &to) {
    typedef typename scalar_of<T>::real R;
    const T *dinv = (const T *)b.from.dinv + 2 * (int64_t)b.bptr[frame];
    for (int half = 0; half <= b.ldu; ++half) { /* N for the lower half, M for the upper one */
        const int64_t at = b.ldu && !half ? b.from.pivot_n[frame] : b.from.pivot[frame];
        unpack<T>(at < 0 ? (const uint32_t *)NULL : b.from.words + at, w, s.ld, true, s.c);
        __syncwarp();
        solved_rows(w, s.ld, s.c, dinv, b.hermitian, (R)1, to.p[half]);
        __syncwarp();
    }
}

/** to += squares of the columns of L_ii = C M^T D^-1, and of U_ii^T. c: C, memory: w x ld, both
 *  shared. By all lanes of a warp; contains __syncwarp(). */
template <class T, class R>
__device__ inline void own_norms(const mpki_cuda_stage &b, int w, int ld, const T *c, T *memory,
                                 const at_pivot<T> &pivot, R *to) {
    const int lane = (int)(threadIdx.x % 32);
    for (int half = 0; half <= b.ldu; ++half) {
        __syncwarp();
        for (int k = 0; k < w && lane < w; ++k) memory[k * ld + lane] = pivot.p[half][lane * w + k];
        __syncwarp();
        R sum = 0;
        for (int r = 0; r < w && lane < w; ++r) {
            T x = make<T>(0);
            for (int k = 0; k < w; ++k)
                pfma(x, half ? c[k * ld + r] : c[r * ld + k], memory[k * ld + lane]);
            sum += re(x * conj(x));
        }
        if (lane < w) to[half * b.largest + lane] = sum;
    }
}

/** Factors the diagonal blocks of the portion's frames and judges them. SPLIT = 1: a warp takes
 *  a frame, else all warps of a block pull its updates and the first one factors; block barriers
 *  then. */
template <int SPLIT, class T>
__global__ void __launch_bounds__(32 * together<SPLIT>::warps)
    pivot_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    typedef typename scalar_of<T>::real R;
    MPKI_SMEM;
    after_previous();
    if (b.notes->stop) return;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int q = SPLIT == 1 ? (int)(blockIdx.x * WARPS) + warp : (int)blockIdx.x;
    if (q >= po.end - po.first) return;
    const int frame = b.who[po.first + q], p0 = b.bptr[frame], w = b.bptr[frame + 1] - p0;
    const size_t each = gather_memory<T>::bytes(b.largest);
    const gather_memory<T> g(smem + (size_t)warp * each, b.largest);
    const pivot_memory<T> s(g,
                            smem + together<SPLIT>::warps * each +
                                (SPLIT == 1 ? warp * pivot_bytes<T>(b.largest) : 0),
                            b.largest);
    const at_pivot<T> to(b, q);
    R *const own = (R *)b.threshold + (int64_t)q * (1 + b.ldu) * b.largest;
    if (b.final[frame] && !b.sweep) {
        if (SPLIT == 1 || warp == 0) recall(b, s, frame, w, to);
        for (int k = lane; b.whole && k < (1 + b.ldu) * b.largest; k += 32) own[k] = 1;
        return;
    }
    if (SPLIT == 1 || warp == 0) {
        const T *const work = (const T *)b.work + b.slot[b.diagonal[frame]];
        for_rows(w, w, w, work, [&](int r, T x) {
            if (lane < w) s.c[r * s.ld + lane] = x;
        });
        __syncwarp();
    }
    unsigned long long flops = 0;
    if (!b.relaxed && !b.pulled) flops = pull_together<SPLIT>(b, 0, frame, frame, g, smem);
    if (b.ldu) flops *= 2; /* the host updates the diagonal block in both halves */
    if (lane == 0 && flops) atomicAdd(&b.notes->flops, flops);
    if (SPLIT > 1 && warp > 0) return;
    pivot_report<R> report;
    begin_report(report);
    if (!warp_finite(w, s.ld, s.c)) {
        report.failed = 0, report.smallest = report.largest = report.norm_m = (R)NAN;
    } else {
        if (b.whole) put_square(w, s.ld, s.c, to.p[0]); /* for a while */
        const bool randomise = b.butterfly > 1 || (b.butterfly && b.pushed[frame] > 0);
        const R *const butterfly = randomise ? s.butterfly : (const R *)NULL;
        if (randomise) random_butterfly(b, frame, w, s.butterfly);
        const R floor = (R)(b.by_frame ? b.floor * b.frame_norm[frame] : b.floor);
        if (b.ldu) {
            warp_factor_ldu<T>(w, s.ld, b.pivoting, floor, butterfly, s.c, s.lt, s.m, s.d, s.dinv,
                               s.lists, report, [&] {
                                   put_square(w, s.ld, s.m, to.m[0]);
                                   solved_rows(w, s.ld, s.m, s.dinv, 0, (R)1, to.p[1]);
                                   __syncwarp();
                               });
        } else {
            int pair = -1;
            if (b.pair && lane < w) pair = b.pair[p0 + lane] - p0;
            warp_factor_ldlt<T>(w, s.ld, b.type, b.pivoting, b.pair != NULL, pair, floor, butterfly,
                                b.hermitian != 0, s.c, s.lt, s.m, s.d, s.dinv, s.lists, report);
        }
    }
    judge_pivots(b, frame, report);
    __syncwarp();
    if (report.failed < 0) {
        if (b.lifted && report.perturbed) lift(b, w, s.d, s.dinv);
        if (b.whole) {
            __syncwarp();
            for_rows(w, w, w, to.p[0], [&](int r, T x) {
                if (lane < w) s.lt[r * s.ld + lane] = x;
            });
            __syncwarp();
        }
        put_square(w, s.ld, s.m, to.m[b.ldu]);
        solved_rows(w, s.ld, s.m, s.dinv, b.hermitian, (R)b.omega, to.p[0]);
        if (b.ldu && b.lifted && report.perturbed) { /* M again, with D as it is now */
            __syncwarp();
            for (int r = 0; r < w && lane < w; ++r) s.c[r * s.ld + lane] = to.m[0][r * w + lane];
            __syncwarp();
            solved_rows(w, s.ld, s.c, s.dinv, 0, (R)1, to.p[1]);
        }
        if (b.whole) own_norms(b, w, s.ld, s.lt, s.c, to, own);
        const R more = b.relaxed ? (R)(b.omega * (2 - b.omega)) : 1;
        if (lane < w)
            for (int k = 2 * lane; k < 2 * lane + 2; ++k) {
                to.d[k] = b.relaxed ? over(s.d[k], more) : s.d[k];
                to.dinv[k] = times(s.dinv[k], more);
            }
    }
}

/* ---- phase II -------------------------------------------------------------------------------- */

/** to (rows x w, by rows) := c P for every `split`th group of 4 rows from the mine-th on, P =
 *  M^T D^-1: p[j ld + k], shared. norm: squares of the columns of these rows; *most: the largest
 *  modulus. By all lanes of a warp; no barrier. */
template <class T, class R>
__device__ inline void solve_rows(int rows, int w, int ld, const T *c, const T *p, T *to, int split,
                                  int mine, R *norm, R *most) {
    const int lane = (int)(threadIdx.x % 32);
    R sum = 0, top = 0;
    for (int r = 4 * mine; r < rows && lane < w; r += 4 * split) {
        const int left = rows - r;
        T x[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) x[u] = make<T>(0);
#pragma unroll 4
        for (int k = 0; k < w; ++k) {
            const T y = p[k * ld + lane];
#pragma unroll
            for (int u = 0; u < 4; ++u) pfma(x[u], c[(u < left ? r + u : r) * ld + k], y);
        }
#pragma unroll
        for (int u = 0; u < 4; ++u) {
            if (u >= left) continue;
            to[(r + u) * w + lane] = x[u];
            sum += re(x[u] * conj(x[u]));
            const R size = modulus(x[u]);
            if (!(size <= top) && top == top) top = size;
        }
    }
    *norm = sum;
    top = warp_most(top);
    if (!(top <= *most) && *most == *most) *most = top;
}

/** L_ij := C_ij M_j^T D_j^-1 for the portion's blocks below the diagonal, and norms of their
 *  columns. SPLIT = 1: a warp takes a block, else a thread block; block barriers then. */
template <int SPLIT, class T>
__global__ void __launch_bounds__(32 * together<SPLIT>::warps)
    block_kernel(const mpki_cuda_stage b, const mpki_cuda_portion po) {
    typedef typename scalar_of<T>::real R;
    MPKI_SMEM;
    __shared__ double sums[together<SPLIT>::warps * 33];
    after_previous();
    if (b.notes->stop) return;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int64_t t = SPLIT == 1 ? (int64_t)blockIdx.x * WARPS + warp : (int64_t)blockIdx.x;
    if (t >= po.end_item - po.first_item) return;
    const int64_t e = b.entry[po.first_item + t];
    const int q = b.item_who[po.first_item + t] - po.first, frame = b.who[po.first + q];
    const int row = b.other[e], mine = SPLIT == 1 ? 0 : warp;
    R most = 0;
    if (row == frame || b.reject[frame]) {
        if (lane == 0 && mine == 0) ((R *)b.most)[t] = 0;
        return;
    }
    const int w = b.bptr[frame + 1] - b.bptr[frame], rows = b.bptr[row + 1] - b.bptr[row];
    const gather_memory<T> s(smem + (size_t)warp * gather_memory<T>::bytes(b.largest), b.largest);
    const gather_memory<T> first(
        smem + (SPLIT == 1 ? (size_t)warp : 0) * gather_memory<T>::bytes(b.largest), b.largest);
    const at_pivot<T> pivot(b, q);
    unsigned long long flops = 0;
    for (int half = 0; half <= b.ldu; ++half) {
        T *const work = (T *)(half ? b.work_u : b.work) + b.slot[e];
        if (mine == 0)
            for_rows(rows, w, w, work, [&](int r, T x) {
                if (lane < w) s.c[r * s.ld + lane] = x;
            });
        __syncwarp();
        if (!b.relaxed && !b.pulled)
            flops += pull_together<SPLIT>(b, half, row, frame, s, smem);
        else if (SPLIT > 1)
            __syncthreads();
        const int from = (w * mine + SPLIT - 1) / SPLIT; /* rows of the warp's */
        for_rows((w * (mine + 1) + SPLIT - 1) / SPLIT - from, w, w, pivot.p[half] + from * w,
                 [&](int k, T x) {
                     if (lane < w) first.w[lane * s.ld + from + k] = x;
                 });
        if (SPLIT == 1)
            __syncwarp();
        else
            __syncthreads();
        R norm, *const to = (R *)b.norm + (t * (1 + b.ldu) + half) * b.largest;
        solve_rows<T, R>(rows, w, s.ld, first.c, first.w, work, SPLIT, mine, &norm, &most);
        if (SPLIT == 1) {
            if (lane < w) to[lane] = norm;
            __syncwarp();
        } else {
            sums[warp * 33 + lane] = (double)norm;
            __syncthreads();
            if (warp == 0 && lane < w) {
#pragma unroll
                for (int v = 1; v < SPLIT; ++v) norm += (R)sums[v * 33 + lane];
                to[lane] = norm;
            }
        }
        if (mine == 0) flops += 2ull * rows * w * w;
    }
    if (b.pulled && mine == 0) flops += (unsigned long long)b.need[t];
    if (SPLIT > 1) {
        if (lane == 0) sums[warp * 33 + 32] = (double)most;
        __syncthreads();
        for (int v = 1; v < SPLIT; ++v) {
            const R x = (R)sums[v * 33 + 32];
            if (!(x <= most) && most == most) most = x;
        }
    }
    if (lane != 0) return;
    if (mine == 0) ((R *)b.most)[t] = most;
    if (flops) atomicAdd(&b.notes->flops, flops);
}

} // namespace mpki
#endif
