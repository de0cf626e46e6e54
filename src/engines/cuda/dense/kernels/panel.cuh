/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_PANEL_CUH
#define MPKI_CUDA_DENSE_PANEL_CUH
/** Real doubles, on tensor cores: the rows below a tile in one launch (W = A21 N, L = W D^-1, the
 *  test), and updates C - L W^T that are too small for cuBLAS. For n up to some thousands the time
 *  is that of the chain of tiles, where a launch costs as much as its work. */
#include "mma.cuh"
#include "steps.cuh"

namespace mpki {

static const int PANEL_ROWS = 32, PANEL_LD = 36, PANEL_LB = 20;

template <int TILE> struct panel_memory {
    /* N in steps of 16 rows, columns from the diagonal on, one column after the other */
    alignas(16) double B[TILE / 16 * (TILE + 16) / 2 * PANEL_LB];
    alignas(16) double A[TILE * PANEL_LD]; /* the rows, in the tile's order; W */
    double di[TILE + 2], ei[TILE + 2];
    int zero[TILE];
};

/** W := P N and L := W D^-1 with the threshold test of check_kernel(), for the rows of g.P; N is
 *  upper triangular. A block takes 32 rows and all columns, a warp 16 rows and every fourth
 *  group of 8 columns; block barriers. */
template <bool ALIGNED>
__global__ static void __launch_bounds__(256)
    panel_kernel(check_job<double> g, double *W, const double *N, double limit) {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    const int TILE = tile_size<double>::B, GROUPS = TILE / 32; /* of columns: a warp's */
    panel_memory<TILE> &m = *reinterpret_cast<panel_memory<TILE> *>(shared_bytes);
    control *ctl = g.ctl;
    launch_next(), wait_previous();
    const int failed = ctl->failed, tid = threadIdx.x, lane = tid & 31, warp = tid >> 5,
              gr = lane / 4, t = lane % 4;
    const int r0 = blockIdx.x * PANEL_ROWS, steps = (g.nb + 15) / 16;
    auto part = [&](int s) { return m.B + (TILE * s - 8 * s * (s - 1)) * PANEL_LB; };
    auto stage = [&](int s) {
        for (int e = tid; e < 8 * (TILE - 16 * s); e += 256) {
            const int c = e / 8, k = e % 8 * 2;
            copy_async16(part(s) + c * PANEL_LB + k, N + 16 * s + k + (int64_t)(16 * s + c) * TILE);
        }
    };
    /* lane 2 s + x: the column of the panel that is the tile's (16 s + warp + 8 x)-th; aligned: the
       (16 s + 2 warp + x)-th */
    const int columns =
        ctl->order[ALIGNED ? 16 * (lane / 2 % 8) + 2 * warp + lane % 2 : 8 * (lane % 16) + warp] &
        PLACE;
    const bool in = r0 + lane < g.m;
    auto rows = [&](int s) {
        if constexpr (ALIGNED) { /* two columns a warp, two rows a lane */
            const int x = lane / 16, row = 2 * (lane % 16), k = 16 * s + 2 * warp + x;
            const int c = __shfl_sync(0xffffffffu, columns, 2 * s + x), left = g.m - r0 - row;
            const int bytes = k >= g.nb || left <= 0 ? 0 : left == 1 ? 8 : 16;
            copy_async16(m.A + k * PANEL_LD + row, bytes ? g.P + r0 + row + c * g.ld : g.P, bytes);
        } else {
#pragma unroll
            for (int x = 0; x < 2; ++x) {
                const int k = 16 * s + warp + 8 * x,
                          c = __shfl_sync(0xffffffffu, columns, 2 * s + x);
                copy_async8(m.A + k * PANEL_LD + lane,
                            in && k < g.nb ? g.P + r0 + lane + c * g.ld : g.P, in && k < g.nb);
            }
        }
    };
    const int z = tid < TILE ? ctl->zero[tid] : 0;
    const double di = tid < TILE ? g.dinv[tid] : 0, ei = tid < TILE ? g.dinv[g.tile + tid] : 0;
    stage(0), stage(1);
    rows(0), rows(1);
    copy_commit();
#pragma unroll
    for (int p = 2; p < 8; p += 2) { /* all loads are on their way, in four groups */
        if (p < steps) stage(p), rows(p);
        if (p + 1 < steps) stage(p + 1), rows(p + 1);
        copy_commit();
    }
    if (failed) {
        copy_wait<0>();
        return;
    }
    if (tid < TILE) {
        m.zero[tid] = z, m.di[tid + 1] = di, m.ei[tid + 1] = ei;
        if (tid == 0) m.ei[0] = m.di[0] = 0;
    }
    const int i = 16 * (warp & 1) + gr;
    double c[GROUPS][4];
#pragma unroll
    for (int n = 0; n < GROUPS; ++n) c[n][0] = c[n][1] = c[n][2] = c[n][3] = 0;
    for (int s = 0; s < steps; ++s) {
        if (s % 2 == 0) {
            if (s == 0) copy_wait<3>();
            if (s == 2) copy_wait<2>();
            if (s == 4) copy_wait<1>();
            if (s == 6) copy_wait<0>();
            __syncthreads();
        }
        const double *A = m.A + (16 * s + t) * PANEL_LD + i, *Bs = part(s);
        double a[8];
#pragma unroll
        for (int x = 0; x < 4; ++x)
            a[2 * x] = A[4 * x * PANEL_LD], a[2 * x + 1] = A[4 * x * PANEL_LD + 8];
#pragma unroll
        for (int n = 0; n < GROUPS; ++n) {
            const int j = 8 * (4 * n + warp / 2) - 16 * s;
            if (j + 7 < 0) continue;
            const double *b = Bs + (j + gr) * PANEL_LB + t;
            const double bb[4] = {b[0], b[4], b[8], b[12]};
            mma16(c[n], a, bb);
        }
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < GROUPS; ++n)
#pragma unroll
        for (int x = 0; x < 4; ++x)
            m.A[(8 * (4 * n + warp / 2) + 2 * t + x % 2) * PANEL_LD + i + 8 * (x / 2)] = c[n][x];
    __syncthreads();
    const double tiny = unkey<double>(ctl->largest) * ctl->zero_tolerance;
    unsigned most = 0;
    const int row = r0 + lane;
#pragma unroll 4
    for (int k = warp; k < g.nb; k += 8) {
        const double w = m.A[k * PANEL_LD + lane];
        const int64_t at = row + k * g.ld;
        if (k >= g.take) {
            if (in) {
                g.save[row + (k - g.take) * g.ld] = g.P[at];
                g.P[at] = w;
            }
            continue;
        }
        double l = w * m.di[k + 1];
        if (m.ei[k + 1] != 0) pfma(l, m.A[(k + 1) * PANEL_LD + lane], m.ei[k + 1]);
        if (m.ei[k] != 0) pfma(l, m.A[(k - 1) * PANEL_LD + lane], m.ei[k]);
        if (in) {
            W[at] = w, g.L[at] = l;
            most = max(most, key(l));
        }
        if (g.test) {
            const bool bad = in && (!(abs1(l) <= limit) || (m.zero[k] && !(abs1(w) <= tiny)));
            if (__any_sync(0xffffffffu, bad) && lane == 0) ctl->bad[k] = 1;
        }
    }
    most = __reduce_max_sync(0xffffffffu, most);
    if (lane == 0 && most > *(volatile unsigned *)&ctl->max_l) atomicMax(&ctl->max_l, most);
    verdict<false>(g);
}

/** C := from - L W^T where `gate` is open, entries i >= j. */
struct update_job {
    int m, w, K;
    const double *L, *W, *from;
    double *C;
    int64_t ld, ldf, ldc; /* of L and W; of from; of C */
    const double *gate;
    /* where a block of columns begins: the `came` columns before it, `rows` long, and orig */
    int came, rows, first, columns;
    const double *kept;
    double *kept_to;
    int *orig;
};

static const int UPDATE_M = 64, UPDATE_N = 32;
constexpr int update_stages(bool large_shared) {
    return large_shared ? 8 : 4;
}
static const int UPDATE_STAGES = update_stages(LARGE_SHARED); /* in device code */

template <int STAGES> struct update_memory {
    alignas(16) double A[STAGES][16][UPDATE_M + 4], B[STAGES][16][UPDATE_N + 4];
};

/** C := C - L W^T. A block takes 64 x 32, a warp 16 x 16; the last row of the grid begins the
 *  next panel. Block barriers. */
template <bool ALIGNED> __global__ static void __launch_bounds__(256) update_kernel(update_job g) {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    typedef update_memory<UPDATE_STAGES> memory;
    memory &m = *reinterpret_cast<memory *>(shared_bytes);
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, gr = lane / 4, t = lane % 4;
    const int r0 = blockIdx.x * UPDATE_M, c0 = blockIdx.y * UPDATE_N;
    launch_next(), wait_previous();
    const double open = *g.gate;
    if (g.columns && blockIdx.y == gridDim.y - 1) {
        if (open == 0) return;
        for (int i = blockIdx.x * 256 + tid; i < g.columns; i += gridDim.x * 256)
            g.orig[g.first + i] = g.first + i;
        for (int i = blockIdx.x * 256 + tid; i < g.rows; i += gridDim.x * 256)
            for (int j = 0; j < g.came; ++j) g.kept_to[i + j * g.ldc] = g.kept[i + j * g.ldc];
        return;
    }
    if (r0 + UPDATE_M <= c0 || r0 >= g.m) return;
    /* aligned: two rows a thread */
    const int ia = ALIGNED ? tid % 32 * 2 : tid % 64, ka = ALIGNED ? tid / 32 : tid / 64;
    const int ib = ALIGNED ? tid % 16 * 2 : tid % 32, kb = ALIGNED ? tid / 16 : tid / 32;
    const int la = g.m - r0 - ia, lb = g.w - c0 - ib;
    const int bytes_a = la <= 0 ? 0 : la == 1 ? 8 : 16, bytes_b = lb <= 0 ? 0 : lb == 1 ? 8 : 16;
    const double *pa = g.L + (la > 0 ? r0 + ia + ka * g.ld : 0),
                 *pb = g.W + (lb > 0 ? c0 + ib + kb * g.ld : 0);
    auto stage = [&](int s) {
        const int at = s % UPDATE_STAGES, left = g.K - 16 * s;
        const double *a = pa + 16 * s * g.ld, *b = pb + 16 * s * g.ld;
        if constexpr (ALIGNED) {
            const int first = ka < left ? bytes_a : 0, second = ka + 8 < left ? bytes_a : 0;
            copy_async16(&m.A[at][ka][ia], first ? a : g.L, first);
            copy_async16(&m.A[at][ka + 8][ia], second ? a + 8 * g.ld : g.L, second);
            copy_async16(&m.B[at][kb][ib], kb < left ? b : g.W, kb < left ? bytes_b : 0);
        } else {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const bool in = bytes_a && ka + 4 * e < left;
                copy_async8(&m.A[at][ka + 4 * e][ia], in ? a + 4 * e * g.ld : g.L, in);
            }
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const bool in = bytes_b && kb + 8 * e < left;
                copy_async8(&m.B[at][kb + 8 * e][ib], in ? b + 8 * e * g.ld : g.W, in);
            }
        }
    };
    const int steps = (g.K + 15) / 16, y = 16 * (warp & 3), x = 16 * (warp >> 2), i = r0 + y + gr;
#pragma unroll 1
    for (int s = 0; s < UPDATE_STAGES - 1; ++s) {
        if (s < steps) stage(s);
        copy_commit();
    }
    double c[2][4];
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            const int r = i + 8 * (q / 2), j = c0 + x + 8 * n + 2 * t + q % 2;
            c[n][q] = r < g.m && j < g.w && r >= j ? g.from[r + j * g.ldf] : 0;
        }
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        copy_wait<UPDATE_STAGES - 2>();
        __syncthreads();
        if (s + UPDATE_STAGES - 1 < steps) stage(s + UPDATE_STAGES - 1);
        copy_commit();
        const auto &A = m.A[s % UPDATE_STAGES];
        const auto &B = m.B[s % UPDATE_STAGES];
        double a[8], b[2][4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            a[2 * q] = -A[t + 4 * q][y + gr], a[2 * q + 1] = -A[t + 4 * q][y + gr + 8];
            b[0][q] = B[t + 4 * q][x + gr], b[1][q] = B[t + 4 * q][x + 8 + gr];
        }
        mma16(c[0], a, b[0]);
        mma16(c[1], a, b[1]);
    }
    if (open == 0) return;
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            const int r = i + 8 * (q / 2), j = c0 + x + 8 * n + 2 * t + q % 2;
            if (r < g.m && j < g.w && r >= j) g.C[r + j * g.ldc] = c[n][q];
        }
}

static inline bool aligned16(const void *p, int64_t ld) {
    return ((uintptr_t)p & 15) == 0 && ld % 2 == 0;
}

static inline size_t panel_bytes(const mpki_cuda *cuda) {
    return large_shared(cuda) ? sizeof(panel_memory<tile_order<double>(true)>)
                              : sizeof(panel_memory<tile_order<double>(false)>);
}
static inline size_t update_bytes(const mpki_cuda *cuda) {
    return large_shared(cuda) ? sizeof(update_memory<update_stages(true)>)
                              : sizeof(update_memory<update_stages(false)>);
}

/** early: see launch_early(). */
static inline mpk_status update(mpki_cuda *cuda, const update_job &g, cudaStream_t stream,
                                bool early) {
    if (g.m <= 0 || (g.w <= 0 && !g.columns)) return MPK_OK;
    const dim3 grid((g.m + UPDATE_M - 1) / UPDATE_M,
                    (g.w + UPDATE_N - 1) / UPDATE_N + (g.columns ? 1 : 0));
    const bool aligned = aligned16(g.L, g.ld) && aligned16(g.W, g.ld);
    void (*kernel)(update_job) = aligned ? update_kernel<true> : update_kernel<false>;
    MPKI_TRY(launch_early(cuda, early, kernel, grid, 256, update_bytes(cuda), stream, g));
    return MPK_OK;
}

/** Allow the kernels above the shared memory that they need. */
static inline mpk_status panel_attributes(mpki_cuda *cuda) {
    const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    MPKI_TRY(cudaFuncSetAttribute(panel_kernel<false>, most, (int)panel_bytes(cuda)));
    MPKI_TRY(cudaFuncSetAttribute(panel_kernel<true>, most, (int)panel_bytes(cuda)));
    MPKI_TRY(cudaFuncSetAttribute(update_kernel<false>, most, (int)update_bytes(cuda)));
    MPKI_TRY(cudaFuncSetAttribute(update_kernel<true>, most, (int)update_bytes(cuda)));
    return MPK_OK;
}

} // namespace mpki
#endif
