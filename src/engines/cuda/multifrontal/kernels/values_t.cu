/* SPDX-License-Identifier: BSD-3-Clause */
/* Values from a caller's array on the device to those of the lower triangle, and their scaling:
 * Ruiz 2001 as analysis/match/equilibrate.c has it, with its bits: maxima do not depend on who is
 * first. */
#include "engines/cuda/module/launch.cuh"
#include "common.cuh"
#include "table.cuh"

#include <float.h>

using namespace mpki;

enum { THREADS = 256, WARPS = THREADS / 32 };

/** A thread: is x finite? */
__device__ static inline bool finite_entry(float x) {
    return is_finite(x);
}
__device__ static inline bool finite_entry(double x) {
    return is_finite(x);
}
template <class F> __device__ inline bool finite_entry(cx<F> x) {
    return is_finite(x.x) && is_finite(x.y);
}
/** A thread: x == y. */
__device__ static inline bool equal(float x, float y) {
    return x == y;
}
__device__ static inline bool equal(double x, double y) {
    return x == y;
}
template <class F> __device__ inline bool equal(cx<F> x, cx<F> y) {
    return x.x == y.x && x.y == y.y;
}
/** A thread: has x no imaginary part? */
__device__ static inline bool is_real(float) {
    return true;
}
__device__ static inline bool is_real(double) {
    return true;
}
template <class F> __device__ inline bool is_real(cx<F> x) {
    return x.y == 0;
}
/** A thread: what an entry with value x is in the other triangle. */
template <class E> __device__ inline E mirrored(E x, int hermitian) {
    return hermitian ? conj(x) : x;
}

/** A thread: entry k of the lower triangle, from the triangle in which it is given. */
template <class E> __device__ inline E given_entry(const mpki_cuda_given &a, int64_t k) {
    const E *x = (const E *)a.values;
    const int64_t i = a.lower ? a.lower[k] : k;
    return i >= 0 ? x[i] : mirrored(x[a.upper[k]], a.hermitian);
}

/** All blocks of a grid, a thread for some entries: the flag MPKI_CUDA_SCALE_ODD := how.turn if a
 *  value is not finite, if two triangles differ, or if a Hermitian diagonal is not real: the host
 *  has to treat these values. Barriers: none. */
template <class E>
__device__ void check_values(const mpki_cuda_given &a, const mpki_cuda_scaling &how) {
    const E *x = (const E *)a.values;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    bool odd = false;
    for (int64_t k = first; k < a.given; k += step) odd |= !finite_entry(x[k]);
    for (int64_t k = first; a.upper && k < a.nnz; k += step) {
        const int32_t i = a.lower[k], j = a.upper[k];
        if (i >= 0 && j >= 0) odd |= !equal(x[i], mirrored(x[j], a.hermitian));
    }
    for (int64_t k = first; a.diagonal && k < a.n; k += step) {
        const int32_t e = a.diagonal[k];
        if (e >= 0) odd |= !is_real(x[!a.lower ? e : a.lower[e] >= 0 ? a.lower[e] : a.upper[e]]);
    }
    if (odd) how.flags[MPKI_CUDA_SCALE_ODD] = how.turn;
}

/** A thread: has the host to treat these values? Then nothing is written. */
__device__ static inline bool is_odd(const mpki_cuda_scaling &how) {
    return how.flags[MPKI_CUDA_SCALE_ODD] == how.turn;
}
/** A thread: are more sweeps needed than are queued? */
__device__ static inline bool is_uneven(const mpki_cuda_scaling &how) {
    return how.flags[how.sweeps + how.extra - 1] == how.turn;
}

/** All blocks of a grid, a thread for some entries: ax := the given values in the factor's order.
 *  Barriers: none. */
template <class E> __device__ void gather_values(const mpki_cuda_given &a, E *ax) {
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.nnz;
         k += (int64_t)gridDim.x * blockDim.x)
        ax[k] = given_entry<E>(a, k);
}

/* ---- scaling ---- */

/** A thread: x, but at least low and at most high. */
__device__ static inline double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}
/** A thread: |x| in double, at most DBL_MAX. */
__device__ static inline double size_of(float x) {
    return (double)fabsf(x);
}
__device__ static inline double size_of(double x) {
    return fabs(x);
}
template <class F> __device__ inline double size_of(cx<F> x) {
    const double a = (double)modulus(x), size = hypot((double)x.x, (double)x.y);
    return is_finite(a) ? a : size < DBL_MAX ? size : DBL_MAX;
}
/** A thread: is a row whose largest entry is m scaled well enough? */
__device__ static inline bool even(double m) {
    return m <= 0x1p16 && (m >= 0x1p-16 || m == 0);
}

/** Sizes of entries of the lower triangle, by their number: of those that are gathered, and of those
 *  as they are given. */
template <class E> struct sizes_gathered {
    const E *ax;
    __device__ double operator()(int32_t k) const { return size_of(ax[k]); }
};
template <class E> struct sizes_given {
    mpki_cuda_given a;
    __device__ double operator()(int32_t k) const { return size_of(given_entry<E>(a, k)); }
};

/** A thread: max |s_i a_ij s_j| over entries begin, begin + step, ... before `end` of row i; s
 *  NULL: all 1. Barriers: none. */
template <class SIZES>
__device__ double largest_in(const mpki_cuda_by_rows &a, const SIZES &sizes, const double *s, int i,
                             int64_t begin, int64_t end, int step) {
    const double own = s ? s[i] : 1;
    double most = 0;
    for (int64_t e = begin; e < end; e += step) {
        const int32_t at = a.src[e];
        const double x = sizes(at >= 0 ? at : ~at);
        if (x > 0) most = fmax(most, clamp(scaled(x, own, s ? s[a.col[e]] : 1), DBL_MIN, DBL_MAX));
    }
    return most;
}

/** What a sweep reads and writes: sweep k reads copy k & 1 of the scaling and writes the other; the
 *  first one reads how.from. */
__device__ static inline const double *scaling_before(const mpki_cuda_scaling &how, int k) {
    return k == 0 ? how.from : k & 1 ? how.other : how.scale;
}
__device__ static inline double *scaling_after(const mpki_cuda_scaling &how, int k) {
    return k & 1 ? how.scale : how.other;
}

/** A thread: what sweep k makes of row i, whose largest entry is `most`: next_i := s_i /
 *  sqrt(most). Barriers: none. */
__device__ static void finish_row(const mpki_cuda_scaling &how, int k, int i, double most,
                                  const double *s, double *next) {
    const double own = s ? s[i] : 1;
    if (!even(most)) how.flags[k] = how.turn;
    next[i] = most > 0 ? clamp(own / sqrt(most), 0x1p-1000, 0x1p+1000) : own;
}

/** All blocks of a grid: sweep k of the scaling: next_i := s_i / sqrt(max_j |s_i a_ij s_j|). A warp
 *  of the first `pieces` blocks takes a piece of a long row; the last one of a row to end knows its
 *  maximum. LANES lanes of the other warps take one row after the other. Barriers: it meets the
 *  warp. */
template <int LANES, class SIZES>
__device__ void sweep_rows(const mpki_cuda_scaling &how, const SIZES &sizes, int k, int pieces) {
    const mpki_cuda_by_rows &a = how.a;
    const double *s = scaling_before(how, k);
    double *next = scaling_after(how, k);
    const int ROWS = 32 / LANES; /* of a warp */
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32, block = (int)blockIdx.x;
    mpki_cuda_long_row *const rows = how.rows;
    if (block < pieces) {
        const int p = block * WARPS + warp;
        if (p >= a.pieces) return;
        const int j = a.piece_of[p], i = a.long_row[j];
        const int64_t begin = a.ptr[i] + (int64_t)(p - a.first[j]) * MPKI_CUDA_ROW_LONG;
        const int64_t end =
            begin + MPKI_CUDA_ROW_LONG < a.ptr[i + 1] ? begin + MPKI_CUDA_ROW_LONG : a.ptr[i + 1];
        double most = largest_in(a, sizes, s, i, begin + lane, end, 32);
        for (int o = 16; o; o /= 2) most = fmax(most, shfl_xor(most, o));
        if (lane > 0) return;
        atomicMax(&rows[j].most, (unsigned long long)__double_as_longlong(most));
        __threadfence();
        if (atomicAdd(&rows[j].done, 1) + 1 < a.first[j + 1] - a.first[j]) return;
        __threadfence();
        most = __longlong_as_double((long long)atomicMax(&rows[j].most, 0ull));
        rows[j].most = 0, rows[j].done = 0; /* for the next sweep */
        finish_row(how, k, i, most, s, next);
        return;
    }
    const int at_once = ((int)gridDim.x - pieces) * WARPS * ROWS;
    for (int i0 = ((block - pieces) * WARPS + warp) * ROWS; i0 < a.n; i0 += at_once) {
        const int i = i0 + lane / LANES, safe = i < a.n ? i : a.n - 1;
        const int64_t begin = a.ptr[safe], end = a.ptr[safe + 1];
        const bool mine = i < a.n && end - begin <= MPKI_CUDA_ROW_LONG;
        double most = mine ? largest_in(a, sizes, s, i, begin + lane % LANES, end, LANES) : 0;
        for (int o = LANES / 2; o; o /= 2) most = fmax(most, shfl_xor(most, o));
        if (mine && lane % LANES == 0) finish_row(how, k, i, most, s, next);
    }
}

/** A block, each of a grid once: the last one to end tells the host, by `ticket`, what it has to
 *  know after the sweeps that were asked for. Barriers: it meets the block. */
__device__ static void report_scaling(const mpki_cuda_scaling &how, mpki_cuda_report *report,
                                      int32_t ticket) {
    __syncthreads();
    if (threadIdx.x > 0) return;
    __threadfence();
    if (atomicAdd(&how.flags[MPKI_CUDA_SCALE_ENDED], 1) + 1 < (int)gridDim.x) return;
    __threadfence();
    const volatile int32_t *flags = how.flags;
    how.flags[MPKI_CUDA_SCALE_ENDED] = 0;
    report->odd = flags[MPKI_CUDA_SCALE_ODD] == how.turn;
    report->uneven = flags[how.sweeps + how.extra - 1] == how.turn;
    report_is_there(&report->scaled, ticket);
}

/** A thread for each position p: how.scale and how.by_position := the nearest powers of two,
 *  between 1 / limit and limit, of the copy that the last sweep left. The last sweep that was asked
 *  for counts even if it found all rows even; later ones do not. Barriers: none. */
__device__ static void round_scaling(const mpki_cuda_scaling &how, int p, double limit) {
    const int sweeps = how.sweeps;
    int k = sweeps - 1;
    while (k < sweeps + MPKI_CUDA_SCALE_MORE && how.flags[k] == how.turn) ++k;
    const int copy = (k < sweeps ? k + 1 : k) & 1;
    const int i = how.perm[p];
    const double last = copy ? how.other[i] : how.scale[i];
    double x = last > 0 ? last * 1.4142135623730951 : 1;
    x = clamp(x, 1 / limit, limit);
    x = __longlong_as_double(__double_as_longlong(x) & (0x7ffLL << 52));
    how.scale[i] = how.by_position[p] = x;
}

/** All blocks of a grid: rounds the scaling of all positions, and begins what follows (what.to NULL:
 *  nothing), if no further sweeps are needed; else writes nothing. Barriers: none. */
__device__ static void round_and_begin(const mpki_cuda_scaling &how, double limit,
                                       const mpki_cuda_beginning &what) {
    const int first = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int step = (int)(gridDim.x * blockDim.x);
    const bool good = !is_odd(how) && !is_uneven(how);
    for (int p = first; p < how.a.n && good; p += step) round_scaling(how, p, limit);
    if (what.to && good) begin_share(what, first, step);
    if (what.to && !good && first == 0) what.to->stuck = MPKI_CUDA_NOT_BEGUN;
}

/* ---- kernels: values are checked and gathered beside the first sweeps, which read them as they are
 * given: a launch is most of what a small matrix takes ---- */

/** Checks the values; sweep 0. */
template <int LANES, class E>
__global__ void __launch_bounds__(THREADS)
    first_kernel(const mpki_cuda_given a, const mpki_cuda_scaling how, int pieces,
                 mpki_cuda_report *report, int32_t ticket) {
    next_may_come();
    check_values<E>(a, how);
    sweep_rows<LANES>(how, sizes_given<E>{a}, 0, pieces);
    if (how.sweeps + how.extra == 1) report_scaling(how, report, ticket);
}

/** Gathers the values; sweep 1 or, if one was asked for, the rounding and what follows. */
template <int LANES, class E>
__global__ void __launch_bounds__(THREADS)
    second_kernel(const mpki_cuda_given a, const mpki_cuda_scaling how, E *ax, int pieces,
                  double limit, const mpki_cuda_beginning next, mpki_cuda_report *report,
                  int32_t ticket) {
    after_previous();
    if (!is_odd(how)) {
        gather_values(a, ax);
        if (how.sweeps > 1 || (how.extra > 0 && how.flags[0] == how.turn))
            sweep_rows<LANES>(how, sizes_given<E>{a}, 1, pieces);
    }
    if (how.sweeps + how.extra == 1) round_and_begin(how, limit, next);
    if (how.sweeps + how.extra == 2) report_scaling(how, report, ticket);
}

/** Sweep k >= 2, or one beyond those that were asked for, unless the sweep before found all rows
 *  even. */
template <int LANES, class E>
__global__ void __launch_bounds__(THREADS)
    sweep_kernel(const mpki_cuda_scaling how, const E *ax, int k, int pieces,
                 mpki_cuda_report *report, int32_t ticket) {
    after_previous();
    if (!is_odd(how) && (k < how.sweeps || how.flags[k - 1] == how.turn))
        sweep_rows<LANES>(how, sizes_gathered<E>{ax}, k, pieces);
    if (k == how.sweeps + how.extra - 1) report_scaling(how, report, ticket);
}

/** The rounding and what follows, after the sweeps that were asked for. */
static __global__ void __launch_bounds__(THREADS)
    round_kernel(const mpki_cuda_scaling how, double limit, const mpki_cuda_beginning next) {
    after_previous();
    round_and_begin(how, limit, next);
}

/** The rounding after all sweeps; how many were needed goes to the report. */
static __global__ void __launch_bounds__(THREADS)
    round_at_last_kernel(const mpki_cuda_scaling how, double limit, mpki_cuda_report *report) {
    const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    after_previous();
    if (p < how.a.n) round_scaling(how, p, limit);
    if (p > 0) return;
    int more = 0;
    while (more < MPKI_CUDA_SCALE_MORE && how.flags[how.sweeps - 1 + more] == how.turn) ++more;
    report->more = more;
}

static int blocks_for(int64_t count) {
    const int64_t blocks = (count + THREADS - 1) / THREADS;
    return (int)(blocks < 1 ? 1 : blocks < 2048 ? blocks : 2048);
}

/* Sweeps from..to - 1. */
template <int LANES>
static mpk_status sweep(mpki_cuda *cuda, const mpki_cuda_scaling *how, const T *ax, int from,
                        int to, int blocks, int pieces, mpki_cuda_report *report) {
    auto kernel = sweep_kernel<LANES, T>;
    for (int k = from; k < to; ++k)
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, kernel, blocks, THREADS, 0, *how, ax, k, pieces, report,
                                  cuda->ticket));
    return MPK_OK;
}

static const double LIMIT = sizeof(R) == sizeof(float) ? 0x1p120 : 0x1p1000;

/* Blocks of a sweep, of which `pieces` have long rows. */
template <int LANES> static int blocks_to_sweep(const mpki_cuda_scaling *how, int *pieces) {
    const int ROWS = WARPS * 32 / LANES, all = (how->a.n + ROWS - 1) / ROWS;
    *pieces = (how->a.pieces + WARPS - 1) / WARPS;
    return *pieces + (all < 1024 ? all : 1024);
}

template <int LANES>
static mpk_status bring_by(mpki_cuda *cuda, const mpki_cuda_given *a, const mpki_cuda_scaling *how,
                           T *ax, const mpki_cuda_beginning *what, int32_t ticket) {
    auto first = first_kernel<LANES, T>;
    auto second = second_kernel<LANES, T>;
    const mpki_cuda_beginning next = what ? *what : mpki_cuda_beginning{};
    int pieces = 0;
    const int sweeping = blocks_to_sweep<LANES>(how, &pieces);
    const int checking = blocks_for(a->given > a->nnz ? a->given : a->nnz);
    const int gathering = blocks_for(a->nnz), rounding = blocks_for(a->n);
    mpki_cuda_report *report = NULL;
    MPKI_PASS(mpki_report_memory(cuda, &report));
    MPKI_LAUNCH(first, sweeping > checking ? sweeping : checking, THREADS, 0, cuda->sparse, *a,
                *how, pieces, report, ticket);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, second, sweeping > gathering ? sweeping : gathering, THREADS, 0,
                              *a, *how, ax, pieces, LIMIT, next, report, ticket));
    MPKI_PASS(sweep<LANES>(cuda, how, ax, 2, how->sweeps + how->extra, sweeping, pieces, report));
    if (how->sweeps + how->extra > 1)
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, round_kernel, rounding, THREADS, 0, *how, LIMIT, next));
    return MPK_OK;
}

static int bring(mpki_cuda *cuda, const mpki_cuda_given *a, const mpki_cuda_scaling *how, void *ax,
                 const mpki_cuda_beginning *next, int32_t *ticket) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    *ticket = mpki_next_ticket(cuda);
    return a->nnz <= 8 * (int64_t)a->n ? bring_by<8>(cuda, a, how, (T *)ax, next, *ticket)
                                       : bring_by<32>(cuda, a, how, (T *)ax, next, *ticket);
}

template <int LANES>
static mpk_status more_sweeps(mpki_cuda *cuda, const mpki_cuda_scaling *how, const T *ax,
                              mpki_cuda_report *report) {
    int pieces = 0;
    const int sweeping = blocks_to_sweep<LANES>(how, &pieces);
    MPKI_PASS(sweep<LANES>(cuda, how, ax, how->sweeps + how->extra,
                           how->sweeps + MPKI_CUDA_SCALE_MORE, sweeping, pieces, NULL));
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, round_at_last_kernel, (how->a.n + THREADS - 1) / THREADS,
                              THREADS, 0, *how, LIMIT, report));
    return MPK_OK;
}

static int brought(mpki_cuda *cuda, const mpki_cuda_given *a, const mpki_cuda_scaling *how,
                   void *ax, int32_t ticket, int32_t *odd, int32_t *more, int32_t *took) {
    mpki_cuda_report *report = NULL;
    MPKI_PASS(mpki_report_memory(cuda, &report));
    MPKI_PASS(mpki_wait_for_report(cuda, &report->scaled, ticket));
    *odd = report->odd, *more = !report->odd && report->uneven;
    *took = *(const volatile int32_t *)&report->more;
    if (!*more) return MPK_OK;
    return a->nnz <= 8 * (int64_t)a->n ? more_sweeps<8>(cuda, how, (const T *)ax, report)
                                       : more_sweeps<32>(cuda, how, (const T *)ax, report);
}

extern const mpki_cuda_values_kind FN(cuda_values) = {bring, brought};
