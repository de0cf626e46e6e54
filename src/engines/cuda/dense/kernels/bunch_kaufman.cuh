/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_BUNCH_KAUFMAN_CUH
#define MPKI_CUDA_DENSE_BUNCH_KAUFMAN_CUH
/** Bunch-Kaufman (1977) and bounded Bunch-Kaufman or rook pivoting (Ashcraft, Grimes & Lewis 1998),
 *  with pivots chosen as LAPACK's xLASYF and xLASYF_ROOK do. A panel is one persistent kernel,
 *  left-looking, in which every thread block keeps a slab of rows. A column costs one barrier of
 *  the grid if its diagonal entry is large enough, two or three if another column is examined and
 *  rows move. L ends in its final order: interchanges are applied to the columns before the panel
 *  too. */
#include "kernels/alpha.h"
#include "blas.cuh"
#include "tile.cuh"

#include <float.h>

namespace mpki {

static const int BK_THREADS = 512, BK_COLUMNS = 128;

template <class T> struct bk_job {
    int n, j0, nb, rook;
    T *A, *W; /* W: n x (nb + 1), its row i is A's row i */
    int64_t lda, ldw;
    typename scalar_of<T>::real *value; /* 4 x blocks */
    int *index;                         /* 4 x blocks */
    T *special;                         /* 4 */
    unsigned *barrier;
    int *ipiv, *perm, *kind, *state; /* state: columns done, zero pivots, not finite */
    typename scalar_of<T>::real tiny;
};

/** *p past the L1 cache, which may hold a copy from before other blocks wrote. By each thread
 *  for itself; no barrier. */
__device__ inline float fresh(const float *p) {
    return __ldcg(p);
}
__device__ inline double fresh(const double *p) {
    return __ldcg(p);
}
__device__ inline cx<float> fresh(const cx<float> *p) {
    const float2 v = __ldcg((const float2 *)p);
    return {v.x, v.y};
}
__device__ inline cx<double> fresh(const cx<double> *p) {
    const double2 v = __ldcg((const double2 *)p);
    return {v.x, v.y};
}

template <class T> struct bk_memory {
    typedef typename scalar_of<T>::real R;
    T w[BK_COLUMNS + 2];
    T part[BK_THREADS];
    R value[BK_THREADS / 32];
    int index[BK_THREADS / 32];
    R best;
    int where;
    T special;
};

/** All threads of the grid wait for each other. count: 0 at the kernel's start; phase: the
 *  thread's own. By all threads of all blocks, which must run together. */
__device__ inline void grid_barrier(unsigned *count, unsigned &phase) {
    __syncthreads();
    ++phase;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        const unsigned want = phase * gridDim.x;
        unsigned have;
        do {
            asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(have) : "l"(count));
        } while (have < want);
    }
    __syncthreads();
}

/** (v, i) := the larger value; of equal ones the lower index; NaN is larger than all. By each
 *  thread for itself; no barrier. */
template <class R> __device__ inline void better(R &v, int &i, R ov, int oi) {
    const bool on = isnan(ov), vn = isnan(v);
    if (on != vn ? on : ov > v || ((ov == v || on) && oi < i)) v = ov, i = oi;
}

/** better() over the warp. By all lanes of a warp, in shuffles; no block barrier. */
template <class R> __device__ inline void warp_best(R &v, int &i) {
    for (int o = 16; o; o >>= 1) {
        const R ov = __shfl_xor_sync(0xffffffffu, v, o);
        const int oi = __shfl_xor_sync(0xffffffffu, i, o);
        better(v, i, ov, oi);
    }
}

/** W(:, to) := column c of what is left (rows k ..), from A and the panel's columns before k;
 *  then, over the grid, its largest entry but for row `skip` (below: in rows > k alone) and its
 *  entry in row `row`, into m. By all threads of the grid; contains the grid's barrier. */
template <bool H, class T>
__device__ void bk_column(const bk_job<T> &g, bk_memory<T> &m, int first, int last, int k, int c,
                          int to, int skip, bool below, unsigned &phase) {
    typedef typename scalar_of<T>::real R;
    const int tid = threadIdx.x, p_all = k - g.j0;
    for (int p = tid; p < p_all; p += BK_THREADS) m.w[p] = cj<H>(fresh(g.W + c + p * g.ldw));
    __syncthreads();
    const int rows = last - first, padded = (rows + 31) / 32 * 32;
    const int groups = padded > 0 && padded <= BK_THREADS ? BK_THREADS / padded : 1;
    const int lane_row = groups > 1 ? tid % padded : tid, group = groups > 1 ? tid / padded : 0;
    R best = -1;
    int where = 0x7fffffff;
    const unsigned ring = (phase & 3);
    for (int base = 0; base<rows; base += groups> 1 ? rows : BK_THREADS) {
        const int i = first + base + lane_row;
        const bool in = base + lane_row < rows && i >= k && group < groups;
        T s = make<T>(0);
        if (in) {
            const T *l = g.A + i + (int64_t)g.j0 * g.lda;
            int p = group;
            T s2 = make<T>(0), s3 = s2, s4 = s2;
            for (; p + 3 * groups < p_all; p += 4 * groups) {
                const T l1 = fresh(l + p * g.lda), l2 = fresh(l + (p + groups) * g.lda),
                        l3 = fresh(l + (p + 2 * groups) * g.lda),
                        l4 = fresh(l + (p + 3 * groups) * g.lda);
                nfma(s, l1, m.w[p]), nfma(s2, l2, m.w[p + groups]);
                nfma(s3, l3, m.w[p + 2 * groups]), nfma(s4, l4, m.w[p + 3 * groups]);
            }
            for (; p < p_all; p += groups) nfma(s, fresh(l + p * g.lda), m.w[p]);
            s = (s + s2) + (s3 + s4);
        }
        if (groups > 1) {
            m.part[tid] = s;
            __syncthreads();
            if (group == 0)
                for (int q = 1; q < groups; ++q) s = s + m.part[tid + q * padded];
            __syncthreads();
        }
        if (in && group == 0) {
            const T a = i >= c ? fresh(g.A + i + (int64_t)c * g.lda)
                               : cj<H>(fresh(g.A + c + (int64_t)i * g.lda));
            s = i == c ? diagonal<H>(a + s) : a + s;
            g.W[i + to * g.ldw] = s;
            if (i == c) g.special[ring] = s;
            if (i != skip && (!below || i > k)) better(best, where, abs1(s), i);
        }
    }
    warp_best(best, where);
    if ((tid & 31) == 0) m.value[tid >> 5] = best, m.index[tid >> 5] = where;
    __syncthreads();
    if (tid == 0) {
        for (int q = 1; q < BK_THREADS / 32; ++q) better(best, where, m.value[q], m.index[q]);
        g.value[ring * gridDim.x + blockIdx.x] = best;
        g.index[ring * gridDim.x + blockIdx.x] = where;
    }
    grid_barrier(g.barrier, phase);
    if (tid < 32) {
        best = -1, where = 0x7fffffff;
        for (unsigned b = tid; b < gridDim.x; b += 32)
            better(best, where, __ldcg(g.value + ring * gridDim.x + b),
                   __ldcg(g.index + ring * gridDim.x + b));
        warp_best(best, where);
        if (tid == 0) {
            m.best = best < 0 ? 0 : best, m.where = where;
            m.special = fresh(g.special + ring);
        }
    }
    __syncthreads();
}

/** Rows and columns kk < kp of what is left change places. A(kk .., kk) is not up to date and
 *  belonged to the old kk; so only column kk of A goes to kp. The first block exchanges the rows
 *  of the panel's L and W, up to column `upto` of W. By all threads of the grid; no barrier. */
template <bool H, class T>
__device__ void bk_swap(const bk_job<T> &g, int first, int last, int kk, int kp, int done,
                        int upto) {
    const int tid = threadIdx.x;
    for (int i = first + tid; i < last; i += BK_THREADS) {
        if (i > kp) {
            g.A[i + (int64_t)kp * g.lda] = fresh(g.A + i + (int64_t)kk * g.lda);
        } else if (i == kp) {
            g.A[kp + (int64_t)kp * g.lda] = fresh(g.A + kk + (int64_t)kk * g.lda);
        } else if (i > kk) {
            g.A[kp + (int64_t)i * g.lda] = cj<H>(fresh(g.A + i + (int64_t)kk * g.lda));
        }
    }
    if (blockIdx.x) return;
    for (int p = tid; p < done; p += BK_THREADS) {
        T *a = g.A + kk + (int64_t)(g.j0 + p) * g.lda, *b = g.A + kp + (int64_t)(g.j0 + p) * g.lda;
        const T x = fresh(a), y = fresh(b);
        *a = y, *b = x;
    }
    for (int p = tid; p < upto; p += BK_THREADS) {
        T *a = g.W + kk + p * g.ldw, *b = g.W + kp + p * g.ldw;
        const T x = fresh(a), y = fresh(b);
        *a = y, *b = x;
    }
    if (tid == 0) {
        const int t = g.perm[kk];
        g.perm[kk] = g.perm[kp], g.perm[kp] = t;
    }
}

/** A panel of nb columns of L D L^T. One function: the choice of a pivot goes back and forth
 *  between columns, each of which the whole grid brings up to date. The blocks run together;
 *  grid and block barriers. */
template <bool H, class T>
__global__ void __launch_bounds__(BK_THREADS, 1) bk_panel_kernel(bk_job<T> g) {
    typedef typename scalar_of<T>::real R;
    __shared__ bk_memory<T> m;
    const R alpha = (R)MPKI_ALPHA;
    const int left = g.n - g.j0, each = (left + gridDim.x - 1) / gridDim.x, tid = threadIdx.x;
    const int first = min(g.n, g.j0 + (int)blockIdx.x * each), last = min(g.n, first + each);
    unsigned phase = 0;
    int k = g.j0;
    while (k < g.n && k - g.j0 < g.nb) {
        const int q = k - g.j0;
        bk_column<H>(g, m, first, last, k, k, q, k, true, phase);
        const R akk = abs1(m.special);
        R colmax = m.best;
        int imax = m.where, kp = k, p = k, step = 1;
        bool from_next = false; /* the pivot's column is in W(:, q + 1) */
        const bool zero = !(akk > g.tiny) && !(colmax > g.tiny);
        __syncthreads();
        if (!zero && akk < alpha * colmax) {
            for (int turn = 0;; ++turn) {
                bk_column<H>(g, m, first, last, k, imax, q + 1, imax, false, phase);
                const R aii = abs1(m.special), rowmax = m.best;
                const int jmax = m.where;
                __syncthreads();
                if (!g.rook) {
                    if (akk >= alpha * colmax * (colmax / rowmax)) {
                        kp = k;
                    } else if (aii >= alpha * rowmax) {
                        kp = imax, from_next = true;
                    } else {
                        kp = imax, step = 2;
                    }
                    break;
                }
                if (!(aii < alpha * rowmax)) {
                    kp = imax, from_next = true;
                    break;
                }
                if (p == jmax || rowmax <= colmax || turn > 64) {
                    kp = imax, step = 2;
                    break;
                }
                p = imax, colmax = rowmax, imax = jmax;
                for (int i = max(first, k) + tid; i < last; i += BK_THREADS)
                    g.W[i + q * g.ldw] = g.W[i + (q + 1) * g.ldw];
            }
        }
        if (from_next) /* the pivot's column; its rows k and kp are exchanged already */
            for (int i = max(first, k) + tid; i < last; i += BK_THREADS)
                g.W[i + q * g.ldw] = fresh(g.W + (i == k ? kp : i == kp ? k : i) + (q + 1) * g.ldw);
        const int kk = k + step - 1;
        const bool first_swap = step == 2 && p != k, second = kp != kk;
        if (first_swap) {
            bk_swap<H>(g, first, last, k, p, q, q + 2);
            grid_barrier(g.barrier, phase);
        }
        if (second) {
            bk_swap<H>(g, first, last, kk, kp, q, from_next ? q : q + step);
            grid_barrier(g.barrier, phase);
        }
        T *a = g.A + (int64_t)k * g.lda, *w = g.W + q * g.ldw;
        if (step == 1) {
            const T d = zero ? make<T>(0) : diagonal<H>(fresh(w + k));
            const T r = is_zero(d) ? make<T>(0) : inverse(d);
            for (int i = max(first, k) + tid; i < last; i += BK_THREADS) {
                if (zero) {
                    w[i] = make<T>(0);
                    a[i] = make<T>(0);
                } else {
                    a[i] = i == k ? d : fresh(w + i) * r;
                }
            }
        } else {
            const T d1 = diagonal<H>(fresh(w + k)), b = fresh(w + k + 1),
                    d2 = diagonal<H>(fresh(w + g.ldw + k + 1));
            T i11, i21, i22;
            inverse2<H>(d1, b, d2, i11, i21, i22);
            for (int i = max(first, k) + tid; i < last; i += BK_THREADS) {
                const T w1 = fresh(w + i), w2 = fresh(w + g.ldw + i);
                if (i == k) {
                    a[i] = d1;
                } else if (i == k + 1) {
                    a[i] = b, a[i + g.lda] = d2;
                } else {
                    a[i] = w1 * i11 + w2 * i21;
                    a[i + g.lda] = w1 * cj<H>(i21) + w2 * i22;
                }
            }
        }
        if (blockIdx.x == 0 && tid == 0) {
            if (step == 1) {
                g.ipiv[k] = kp + 1, g.kind[k] = 0;
                if (zero) ++g.state[1];
            } else {
                g.ipiv[k] = g.rook ? -(p + 1) : -(kp + 1), g.ipiv[k + 1] = -(kp + 1);
                g.kind[k] = 1, g.kind[k + 1] = 2;
            }
            if (!(abs1(m.special) <= (sizeof(R) == 4 ? (R)FLT_MAX : (R)DBL_MAX))) g.state[2] = 1;
        }
        k += step;
        /* Rows above the panel change in swaps alone. Of other rows a thread block reads only W(k,
         * :) next, which was written before the last barrier, unless the pivot is zero. */
        if (zero) grid_barrier(g.barrier, phase);
    }
    if (blockIdx.x == 0 && tid == 0) g.state[0] = k;
}

/** Applies the interchanges of pivots k0 .. k1 - 1 to columns 0 .. columns - 1. A thread takes a
 *  column; no barrier. */
template <class T>
__global__ void bk_left_kernel(int columns, int k0, int k1, const int *ipiv, int rook, T *A,
                               int64_t lda) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    T *a = A + (int64_t)j * lda;
    for (int k = k0; k < k1; ++k) {
        const int v = ipiv[k];
        if (v > 0) {
            if (v - 1 != k) swap_values(a[k], a[v - 1]);
        } else {
            const int p = -v - 1, q = -ipiv[k + 1] - 1;
            if (rook && p != k) swap_values(a[k], a[p]);
            if (q != k + 1) swap_values(a[k + 1], a[q]);
            ++k;
        }
    }
}

struct bk_space {
    int64_t ld;
    void *W, *value, *special;
    int *index, *state;
    unsigned *barrier;
};

static int64_t bk_layout(int n, int blocks, char *base, bk_space *s) {
    int64_t at = 0;
    auto take = [&](int64_t bytes) {
        char *p = base ? base + at : NULL;
        at += (bytes + 255) / 256 * 256;
        return p;
    };
    s->ld = ((int64_t)n + 31) / 32 * 32;
    s->W = take((int64_t)sizeof(T) * s->ld * (BK_COLUMNS + 2));
    s->value = take((int64_t)sizeof(R) * 4 * blocks);
    s->index = (int *)take((int64_t)sizeof(int) * 4 * blocks);
    s->special = take(sizeof(T) * 4);
    s->state = (int *)take(64);
    s->barrier = (unsigned *)take(64);
    return at;
}

/** Factor columns from .. n - 1 of A (rows to n); perm holds the order so far. state: see bk_job.
 *  */
template <bool H>
static mpk_status bk_run(mpki_cuda *cuda, mpki_cuda_matrix *d, const bk_space &s, int from,
                         bool rook, double tiny, const T *scalars) {
    const int n = d->n;
    T *A = (T *)d->A, *W = (T *)s.W;
    cudaStream_t stream = cuda->update;
    const products u = {cuda->update_blas, stream, d->tf32 == 1};
    int *pinned = cuda->pinned + 4096;
    MPKI_TRY(cudaMemsetAsync(s.state, 0, 64, stream));
    for (int k = from; k < n;) {
        bk_job<T> g;
        g.n = n, g.j0 = k, g.rook = rook;
        g.nb = n - k <= BK_COLUMNS                     ? n - k
               : d->block > 0 && d->block < BK_COLUMNS ? d->block
               : n < 6000                              ? 64
                                                       : BK_COLUMNS;
        g.A = A, g.W = W, g.lda = d->lda, g.ldw = s.ld;
        g.value = (R *)s.value, g.index = s.index, g.special = (T *)s.special;
        g.barrier = s.barrier, g.ipiv = d->ipiv, g.perm = d->perm, g.kind = d->kind;
        g.state = s.state, g.tiny = (R)tiny;
        int blocks = (n - k + 31) / 32;
        if (blocks > cuda->sms) blocks = cuda->sms;
        MPKI_TRY(cudaMemsetAsync(s.barrier, 0, 64, stream));
        void *arguments[] = {&g};
        MPKI_TRY(cudaLaunchCooperativeKernel((const void *)bk_panel_kernel<H, T>, dim3(blocks),
                                             dim3(BK_THREADS), arguments, 0, stream));
        MPKI_TRY(cudaMemcpyAsync(pinned, s.state, 12, cudaMemcpyDeviceToHost, stream));
        MPKI_TRY(cudaStreamSynchronize(stream));
        const int next = pinned[0];
        if (pinned[2]) return refuse(cuda, MPK_ERR_NUMERIC, "the factors are not finite");
        if (k > 0)
            bk_left_kernel<<<(k + 63) / 64, 64, 0, cuda->side>>>(k, k, next, d->ipiv, rook, A,
                                                                 d->lda);
        MPKI_TRY(cudaGetLastError());
        MPKI_PASS((lower_update<H>(cuda, u, n - next, next - k, A + next + (int64_t)k * d->lda,
                                   W + next, s.ld, A + next + (int64_t)next * d->lda, d->lda,
                                   scalars + ALWAYS_MINUS, scalars + ALWAYS_ONE, d->lda)));
        k = next;
    }
    MPKI_TRY(cudaStreamSynchronize(stream));
    MPKI_TRY(cudaStreamSynchronize(cuda->side));
    d->zeros += pinned[1];
    return MPK_OK;
}

} // namespace mpki
#endif
