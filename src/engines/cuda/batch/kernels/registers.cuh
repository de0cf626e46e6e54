/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_REGISTERS_CUH
#define MPKI_CUDA_BATCH_REGISTERS_CUH
/** Small matrices in registers: a lane has a row, right-looking, and nothing moves: a pivot is a
 *  lane that is finished, and permutations are applied when the factors are written. The pivot's
 *  row (of a symmetric matrix in order: its column) goes through shared memory, by 16 bytes at
 *  a time, which takes a quarter of the instructions that shuffles would. */
#include "launch.cuh"
#include "tile.cuh"

namespace mpki {

/** So many entries as are read from shared memory at once. */
template <class T> struct alignas(16) quarter {
    static const int COUNT = 16 / (int)sizeof(T);
    T v[COUNT];
};

/** 1 / a by one reciprocal, scaled so that squares stay in range: three divisions of which each
 *  waits for the one before are half of a step's time. By each thread for itself; no barrier. */
template <class T> __device__ inline T inverse_at_once(T a) {
    return inverse(a);
}
__device__ inline cx<double> inverse_at_once(cx<double> a) {
    const double most = abs1(a.x) > abs1(a.y) ? abs1(a.x) : abs1(a.y);
    const int up = 0x7fe00000 - (__double2hiint(most) & 0x7ff00000);
    const double scale = __hiloint2double(up > 0x00100000 ? up : 0x00100000, 0);
    const double x = a.x * scale, y = a.y * scale, q = fma(x, x, y * y);
    double r = nearly_inverse(q);
    r = fma(fma(-q, r, 1.0), r, r);
    r = fma(fma(-q, r, 1.0), r, r);
    return {x * r * scale, -(y * r * scale)};
}

/** A matrix of order at most N_ in registers, and what became of it so far. */
template <class T, int N_>
struct rows : tile<(N_ <= 4    ? 4
                    : N_ <= 8  ? 8
                    : N_ <= 16 ? 16
                               : 32),
                   1, 1> {
    typedef typename scalar_of<T>::real R;
    static const int N = N_, L = N <= 4 ? 4 : N <= 8 ? 8 : N <= 16 ? 16 : 32;
    static const int PITCH = L + 1; /* of columns in shared memory: rows are read, too */
    static const int STEP = quarter<T>::COUNT, ROOM = (N + STEP - 1) / STEP * STEP;
    typedef tile<L, 1, 1> threads;
    using threads::lane, threads::mask;

    const part &job;
    const int n, base; /* base: the lane of the warp that has row 0 */
    T *const share;    /* shared: buffers of ROOM entries */
    T t[N];            /* this lane's row */
    R small;
    int row;   /* where this row goes */
    bool left; /* this row is not finished */
    bool bad, broken;
    int zero, positive, negative;

    /** Nothing is eliminated yet. share_: 16-aligned. By each thread for itself; no barrier. */
    __device__ rows(const part &job_, T *share_)
        : threads(NULL), job(job_), n(job_.n), base((int)(threadIdx.x % 32) / L * L), share(share_),
          small(0), row(lane), left(lane < job_.n), bad(false), broken(false), zero(0), positive(0),
          negative(0) {}

    /** The buffer of step s: two take turns, so that a step needs one barrier. By each thread for
     *  itself; no barrier. */
    __device__ T *buffer(int s) const { return share + (s & 1) * ROOM; }

    /** Entry `at` of the matrix a where `wanted`, else 0. Without a branch: the loads of a row must
     *  not wait for one another. By each thread for itself; no barrier. */
    static __device__ T read(const T *a, bool wanted, long long at) {
        const T x = a[wanted ? at : 0];
        return wanted ? x : make<T>(0);
    }

    /** The largest k. By all lanes of the matrix; shuffles. */
    __device__ unsigned most_of(unsigned k) const {
        if constexpr (L == 32) {
            return __reduce_max_sync(mask, k);
        } else {
#pragma unroll
            for (int h = L / 2; h > 0; h /= 2) {
                const unsigned other = __shfl_xor_sync(mask, k, h);
                k = other > k ? other : k;
            }
            return k;
        }
    }

    /** The lowest lane for which `mine` is true. By all lanes of the matrix; a vote. */
    __device__ int first_of(bool mine) const {
        return __ffs((int)(__ballot_sync(mask, mine) & mask)) - 1 - base;
    }

    /** The lowest bits of the size of a number of which key() has the highest. By each thread for
     *  itself; no barrier. */
    static __device__ unsigned lower(float) {
        return 0;
    }
    static __device__ unsigned lower(double x) {
        return (unsigned)__double_as_longlong(x);
    }

    /** The lane with the largest k and, among those, the largest size: the lowest of equal ones;
     *  k: 0 for lanes that do not take part. By all lanes of the matrix; shuffles, votes. */
    __device__ int choose(unsigned k, R size) const {
        const unsigned m = most_of(k);
        bool mine = k == m;
        const unsigned who = __ballot_sync(mask, mine) & mask;
        if (sizeof(R) == 8 && (who & (who - 1)) != 0) {
            const unsigned low = mine ? lower(size) : 0, m2 = most_of(low);
            return first_of(mine && low == m2);
        }
        return __ffs((int)who) - 1 - base;
    }

    /** This row from about entry `from` on, which the compiler knows, to a buffer; W: so many
     *  entries. By one lane; no barrier. */
    template <int W = N> __device__ void put(int from, T *to) const {
#pragma unroll
        for (int k = 0; k < (W + STEP - 1) / STEP; ++k) {
            if (k < from / STEP) continue;
            quarter<T> x;
#pragma unroll
            for (int e = 0; e < STEP; ++e) {
                const int j = k * STEP + e;
                x.v[e] = j < N ? t[j < N ? j : 0] : make<T>(0);
            }
            ((quarter<T> *)to)[k] = x;
        }
    }

    /** This row minus x times that of the buffer, from entry `from` on, which the compiler knows;
     *  H: conjugates of what the buffer has. By each thread for itself; no barrier. */
    template <bool H> __device__ void update(int from, T x, const T *buffer) {
#pragma unroll
        for (int k = 0; k < ROOM / STEP; ++k) {
            if (k < from / STEP) continue;
            const quarter<T> u = ((const quarter<T> *)buffer)[k];
#pragma unroll
            for (int e = 0; e < STEP; ++e)
                if (k * STEP + e >= from && k * STEP + e < N)
                    nfma(t[k * STEP + e < N ? k * STEP + e : 0], x, cj<H>(u.v[e]));
        }
    }

    /** The zero tolerance relative to the largest of the lanes' keys `most`. By all lanes of the
     *  matrix; shuffles. */
    __device__ void set_small(unsigned most) {
        const double relative = job.tolerance < 0 ? 4 * n * (double)epsilon<R>() : job.tolerance;
        small = (R)relative * unkey<R>(most_of(most));
    }

    /** Notes a pivot d that counts as zero; rest: the largest entry that this lane has in its
     *  place, which must count as zero, too. By all lanes of the matrix; votes. */
    __device__ void zero_pivot(T d, R rest, int width) {
        if (threads::any(!finite(d) || rest * 0 != 0)) bad = true;
        if (threads::any(rest > small) && !bad) broken = true;
        zero += width;
    }

    /** What becomes of the matrix, from what all lanes know; check: NaN where an entry of the
     *  factors is not finite. By all lanes of the matrix; a vote. */
    __device__ int outcome(R check) {
        if (!broken && threads::any(!(check == 0))) bad = true;
        return bad ? 3 : broken ? 2 : zero > 0 ? 1 : 0;
    }

    /** Writes outcome and inertia. By all lanes of the matrix; a vote. */
    __device__ bool report(long long b, R check) {
        const int how = outcome(check);
        const bool none = how > 1;
        const bool counts = job.method == 2 || !scalar_of<T>::complex || job.hermitian;
        if (lane == 0)
            job.report(b, how,
                       none || !counts   ? 0
                       : job.method == 2 ? n - zero
                                         : positive,
                       none || !counts ? 0 : negative, none ? 0 : zero);
        return none;
    }
};

/** The base class's members, under their names. */
#define MPKI_ROWS(T, N)                                                                            \
    typedef rows<T, N> base_;                                                                      \
    typedef typename base_::R R;                                                                   \
    typedef typename base_::threads threads;                                                       \
    using base_::L, base_::PITCH, base_::ROOM;                                                     \
    using base_::t, base_::lane, base_::mask, base_::n, base_::job, base_::left, base_::row,       \
        base_::small, base_::share, base_::zero, base_::bad, base_::broken

/** Blocks that a multiprocessor must hold, which bounds the registers: a row, and what else a step
 *  needs. */
template <class T, int N> constexpr int rows_blocks() {
    const int bytes = N * (int)sizeof(T);
    return bytes > 256 ? 2 : bytes > 128 ? 4 : bytes > 64 ? 6 : 8;
}

/** Launches a kernel for the job's matrices, so many in a block. */
template <class KERNEL>
mpk_status launch_rows(mpki_cuda *cuda, KERNEL kernel, const part &job, int each, int bytes,
                       void *stream) {
    if (bytes > 48 * 1024)
        MPKI_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    MPKI_LAUNCH(kernel, (job.count + each - 1) / each, TILE_BLOCK, bytes, stream, job);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

} // namespace mpki

/* The launch that `of` has for order n: the kernels there are, each for the orders up to its own.
 * MPKI_REGISTERS=0: none, in builds that only see whether nvcc takes the rest. */
#if defined(MPKI_REGISTERS) && !MPKI_REGISTERS
#define MPKI_ROWS_OF_ORDER(of, n, ...) ((void)(n), (mpki_emitted)NULL)
#else
#define MPKI_ROWS_OF_ORDER(of, n, ...)                                                             \
    ((n) <= 4    ? of<4>(__VA_ARGS__)                                                              \
     : (n) <= 8  ? of<8>(__VA_ARGS__)                                                              \
     : (n) <= 12 ? of<12>(__VA_ARGS__)                                                             \
     : (n) <= 16 ? of<16>(__VA_ARGS__)                                                             \
     : (n) <= 24 ? of<24>(__VA_ARGS__)                                                             \
     : (n) <= 32 ? of<32>(__VA_ARGS__)                                                             \
                 : NULL)
#endif

#endif
