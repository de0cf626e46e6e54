/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_REGISTERS_ALONE_CUH
#define MPKI_CUDA_BATCH_REGISTERS_ALONE_CUH
/** LDU of matrices so small that a thread has one alone, in its registers: rows and columns are
 *  exchanged by selections. The matrices of a warp come and go by way of shared memory, so that
 *  its accesses to neighbouring ones are neighbours. */
#include "registers.cuh"

namespace mpki {

/** LDU of a matrix of order N; the decisions are general.cuh's. */
template <class T, int N> struct alone_ldu {
    typedef typename scalar_of<T>::real R;
    static const int PITCH = N * N | 1; /* of matrices in shared memory: no conflicts of banks */
    const part &job;
    T t[N][N];          /* t[i][j]: entry (i, j) */
    int row[N], col[N]; /* old indices at each place */
    R small;
    bool bad, broken;
    int zero;

    /** Nothing is eliminated yet. By each thread for itself; no barrier. */
    __device__ alone_ldu(const part &job_)
        : job(job_), small(0), bad(false), broken(false), zero(0) {
#pragma unroll
        for (int i = 0; i < N; ++i) row[i] = col[i] = i;
    }

    /** Reads the given permutations, rows, then columns; they must be valid. By each thread for
     *  itself; no barrier. */
    __device__ void permute(const int *given) {
        unsigned rows = 0, cols = 0;
        bool good = true;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const int r = given[i], c = given[job.most + i];
            good = good && r >= 0 && r < N && c >= 0 && c < N;
            rows |= 1u << (r & 31), cols |= 1u << (c & 31);
            row[i] = r, col[i] = c;
        }
        broken = !good || rows != (1u << N) - 1 || cols != (1u << N) - 1;
        if (!broken) return;
#pragma unroll
        for (int i = 0; i < N; ++i) row[i] = col[i] = i;
    }

    /** Takes the matrix from shared memory, in the order of row and col, and sets the zero
     *  tolerance. By each thread for itself; no barrier. */
    __device__ void load(const T *a) {
        unsigned most = 0;
        R check = 0;
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
            for (int i = 0; i < N; ++i) {
                t[i][j] = a[row[i] + col[j] * N];
                const unsigned k = key(t[i][j]);
                check += abs1(t[i][j]) * 0;
                if ((job.pivoting >= 2 || i == j) && k > most) most = k;
            }
        bad = !(check == 0);
        const double relative = job.tolerance < 0 ? 4 * N * (double)epsilon<R>() : job.tolerance;
        small = (R)relative * unkey<R>(most);
    }

    static __device__ void exchange(bool really, T &a, T &b) {
        const T x = a;
        a = really ? b : a;
        b = really ? x : b;
    }

    /** Brings entry (p, q) to (s, s), which the compiler knows. By each thread for itself; no
     *  barrier. */
    __device__ void bring(int s, int p, int q) {
#pragma unroll
        for (int i = s + 1; i < N; ++i) {
            const int r = row[s];
            row[s] = p == i ? row[i] : row[s];
            row[i] = p == i ? r : row[i];
#pragma unroll
            for (int j = 0; j < N; ++j) exchange(p == i, t[s][j], t[i][j]);
        }
#pragma unroll
        for (int j = s + 1; j < N; ++j) {
            const int c = col[s];
            col[s] = q == j ? col[j] : col[s];
            col[j] = q == j ? c : col[j];
#pragma unroll
            for (int i = 0; i < N; ++i) exchange(q == j, t[i][s], t[i][j]);
        }
    }

    /** L, D and U take the matrix's place; PIVOTING as rows_ldu_kernel() has it. By each thread
     *  for itself; no barrier. */
    template <int PIVOTING> __device__ void eliminate() {
#pragma unroll
        for (int s = 0; s < N; ++s) {
            int p = s, q = s;
            R most = abs1(t[s][s]);
            if (PIVOTING > 0)
#pragma unroll
                for (int j = s; j < (PIVOTING == 4 ? N : s + 1); ++j)
#pragma unroll
                    for (int i = s; i < N; ++i) {
                        const R size = abs1(t[i][j]);
                        if (size > most) most = size, p = i, q = j;
                    }
            if (PIVOTING > 0) bring(s, p, q);
            const T d = t[s][s];
            const bool good = abs1(d) > small;
            const T r = good ? inverse(d) : make<T>(0);
            R rest = 0;
            if (!good) {
                if (!finite(d)) bad = true;
                ++zero;
                t[s][s] = make<T>(0);
            }
#pragma unroll
            for (int i = s + 1; i < N; ++i) {
                if (!good) {
                    const R below = abs1(t[i][s]), along = abs1(t[s][i]);
                    rest = !(below <= rest) ? below : rest;
                    rest = !(along <= rest) ? along : rest;
                }
                t[i][s] = t[i][s] * r;
#pragma unroll
                for (int j = s + 1; j < N; ++j) nfma(t[i][j], t[i][s], t[s][j]);
            }
            if (!(rest * 0 == 0)) bad = true;
            if (PIVOTING < 4 && rest > small && !bad) broken = true;
#pragma unroll
            for (int j = s + 1; j < N; ++j) t[s][j] = t[s][j] * r;
        }
        R check = 0;
#pragma unroll
        for (int k = 0; k < N * N; ++k) check += abs1(t[k / N][k % N]) * 0;
        if (!broken && !(check == 0)) bad = true;
    }
};

/** Blocks that a multiprocessor must hold. */
template <class T> constexpr int alone_blocks() {
    return sizeof(T) > 8 ? 4 : sizeof(T) > 4 ? 6 : 8;
}

/** move(address, matrix, entry) for all entries of a warp's `there` matrices, neighbours by
 *  neighbouring lanes. By whole warps; no barrier. */
template <class T, int N, class MOVE>
__device__ inline void move_alone(const part &job, long long first, int there, int lane,
                                  MOVE move) {
    if (job.a.layout == 0 && job.a.ld == N && job.a.stride == N * N && !job.order) {
        T *const a = in_global((T *)job.a.data) + (job.first + first) * (N * N);
#pragma unroll
        for (int k = lane; k < 32 * N * N; k += 32)
            if (k < there * (N * N)) move(a + k, k / (N * N), k % (N * N));
        return;
    }
#pragma unroll 2
    for (int k = lane; k < there * (N * N); k += 32) {
        const int m = k / (N * N), e = k % (N * N);
        T *const a = view_of<T>(job.a, job.matrix(first + m)).p;
        move(a + (e % N + e / N * (long long)job.a.ld), m, e);
    }
}

/** LDU of a matrix per thread; PIVOTING as rows_ldu_kernel() has it. By whole warps; contains
 *  their barrier. */
template <class T, int N, int PIVOTING, int BLOCKS>
__global__ void __launch_bounds__(TILE_BLOCK, BLOCKS) alone_ldu_kernel(const part job) {
    typedef alone_ldu<T, N> matrix;
    __shared__ __align__(16) T memory[TILE_BLOCK * matrix::PITCH];
    const int lane = (int)threadIdx.x % 32;
    const long long first = (long long)blockIdx.x * TILE_BLOCK + (long long)threadIdx.x - lane;
    if (first >= job.count) return;
    const int there = job.count - first < 32 ? (int)(job.count - first) : 32;
    T *const warp = memory + ((int)threadIdx.x - lane) * matrix::PITCH;
    T *const mine = warp + lane * matrix::PITCH;
    move_alone<T, N>(job, first, there, lane,
                     [&](T *global, int m, int e) { warp[m * matrix::PITCH + e] = *global; });
    __syncwarp();
    const bool active = lane < there;
    const long long b = job.matrix(first + (active ? lane : 0));
    int *piv = job.pivots ? job.pivots + 2 * b * job.most : NULL;
    matrix e(job);
    if (active) {
        if (PIVOTING == 0 && job.pivoting == 1 && piv) e.permute(piv);
        e.load(mine);
        if (!e.bad && !e.broken) e.template eliminate<PIVOTING>();
    }
    const int how = e.bad ? 3 : e.broken ? 2 : e.zero > 0 ? 1 : 0;
    if (active && how < 2)
#pragma unroll
        for (int k = 0; k < N * N; ++k) mine[k] = e.t[k % N][k / N];
    __syncwarp();
    move_alone<T, N>(job, first, there, lane,
                     [&](T *global, int m, int e) { *global = warp[m * matrix::PITCH + e]; });
    if (!active) return;
    job.report(b, how, how > 1 ? 0 : N - e.zero, 0, how > 1 ? 0 : e.zero);
    if (PIVOTING >= 2 && piv)
#pragma unroll
        for (int i = 0; i < N; ++i) {
            piv[i] = how > 1 ? i : e.row[i];
            piv[job.most + i] = how > 1 ? i : e.col[i];
        }
}

} // namespace mpki
#endif
