/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_AASEN_CUH
#define MPKI_CUDA_AASEN_CUH
/** Communication-avoiding Aasen (Ballard et al., SIAM J. Matrix Anal. Appl. 35, 2014): P A P^T =
 *  L T L^T, T block tridiagonal, by block columns, left-looking. For block column J
 *
 *      V = A(J.., J) - L(J.., 1..J-1) H(1..J-1, J),   H(I, J) = sum_K T(I, K) L(J, K)^T,
 *      H(J, J) = L(J, J)^-1 V(J),  T(J, J) = (H(J, J) - T(J, J-1) L(J, J-1)^T) L(J, J)^-T,
 *      V(J+1..) -= L(J+1.., J) H(J, J) = P^T L(J+1.., J+1) U,  T(J+1, J) = U L(J, J)^-T,
 *
 *  all but the panel's LU by products. L's first block column is the identity's and not stored:
 *  L(:, J+1) lies in block column J, as the processor's Aasen has it (dense/whole/aasen_t.c).
 *
 *  The panel: one cooperative kernel with partial pivoting. A thread block keeps its rows in shared
 *  memory and they stay where they are; for each column every one of them publishes its best row
 *  along with the entry, so that one look at all offers settles the pivot; what is left of the
 *  update is done while they arrive. Entries compare by 20 bits (key): |l| <= 1 + 1e-6.
 *
 *  T, a band, is factored by the same kernel beside it, a block column after the other: rows J and
 *  J + 1, as xGBTRF would choose pivots. Kept in `extra`: -T(J,J), -T(J+1,J), -T(J,J+1) for each
 *  block (as the processor's); then for each block the panel's L and U (2 nb x nb), U to its right
 *  (nb x 2 nb); then the rows' order, 2 nb integers. The last block is filled up with ones on the
 *  diagonal. */
#include "ldlt.cuh"
#include "solve.cuh"

#include <algorithm>

namespace mpki {

static const int AASEN_THREADS = 512, LU_OFFERS = 5; /* thread blocks: 32 times as many at most */

static int lu_blocks(const mpki_cuda *cuda) {
    return cuda->sms < 32 * LU_OFFERS ? cuda->sms : 32 * LU_OFFERS;
}

/** Columns of a block: as wide as the panel's rows fit into all shared memory together. */
static int aasen_width(const mpki_cuda *cuda, int n) {
    const int B = tile_size<T>::B;
    const int64_t fit = (int64_t)(cuda->shared_max - 16384) / (int64_t)sizeof(T);
    for (int nb = n < 2000 && B > 64 ? 64 : B; nb > 32; nb /= 2)
        if ((int64_t)(n + lu_blocks(cuda) - 1) / lu_blocks(cuda) * (nb + 1) <= fit) return nb;
    return 32;
}

template <class T> struct lu_job {
    int m, nb, each; /* rows, columns, rows of a thread block */
    const T *V;      /* m x nb */
    T *out;          /* its L and U, rows in the new order */
    int64_t ldv, ldo;
    T *row;   /* 2 x blocks x nb: published rows */
    unsigned long long *offer; /* 2 x blocks: key of the best entry, step, row; zeros before */
    int *moved; /* 4 nb: place, and where its row came from; place -1: nothing */
    int *order; /* 2 nb, or NULL: for each place of the first 2 nb where its row came from */
    typename scalar_of<T>::real tiny; /* a column not above it is a zero pivot */
    int *state;                       /* zero pivots; not finite; key of the largest multiplier */
};

/** Shared memory: rows, the pivot's row, then places: of the first nb rows, and what stands there. */
template <class T> static size_t lu_shared(int each, int nb) {
    return sizeof(T) * ((size_t)each * nb + nb) + sizeof(int) * (3 * (size_t)nb + each);
}

template <class T>
__global__ void __launch_bounds__(AASEN_THREADS, 1) lu_kernel(lu_job<T> g) {
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
        for (int r = lane; r < rows; r += 32)
            S[r + c * each] = g.V[first + r + c * g.ldv];
    for (int r = tid; r < each; r += AASEN_THREADS)
        step_of[r] = -1;
    for (int k = tid; k < nb; k += AASEN_THREADS)
        at[k] = k, now[k] = k;
    __syncthreads();
    /* the largest of column c among this block's rows that are left, published after its row */
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
            asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(g.offer + (c & 1) * blocks +
                                                              blockIdx.x),
                         "l"(word)
                         : "memory");
        }
    };
    {
        unsigned k = 0;
        int i = 0x7fffffff;
        for (int r = tid; r < rows; r += AASEN_THREADS) {
            const unsigned q = key(S[r]) + 1; /* 0: no row */
            if (q > k) k = q, i = r;
        }
        offer(0, k, i);
    }
    for (int k = 0; k < steps; ++k) {
        if (warp == 0) { /* what all offer */
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
        if (tid == 0) { /* as if rows had changed places one pair after the other */
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
        /* the rest of the step, but for the first warp, which looks at the offers */
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
        const bool stays = !in || now[k] < nb; /* pivots are told above, others below */
        g.moved[nb + k] = -1;
        if (in && !stays) g.moved[nb + k] = now[k], g.moved[3 * nb + k] = k;
    }
}

/** V = columns r0 .. r0 + w - 1 of A, rows from r0 on; the square on the diagonal whole. */
template <bool H, class T>
__global__ void column_kernel(int n, int r0, int w, const T *A, int64_t lda, T *V, int64_t ldv) {
    const int c = blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n - r0; i += gridDim.x * blockDim.x) {
        T v = i >= c ? A[r0 + i + (int64_t)(r0 + c) * lda] : cj<H>(A[r0 + c + (int64_t)(r0 + i) * lda]);
        if (i == c) v = diagonal<H>(v);
        if (c < w) V[i + c * ldv] = v;
    }
}

static const int MOVED_COLUMNS = 32, MOVED_PARTS = 8; /* of a tile of columns, thread blocks */

/** Rows of the list `moved` (places relative to r0): to buf, entry q of column j at q + j count.
 *  Columns j < left: plain rows of L; beyond: rows of the symmetric rest, columns' new order too.
 *  MOVED_PARTS thread blocks: MOVED_COLUMNS columns, blockDim.x = count; along rows of A by threads,
 *  along its columns by lanes. */
template <bool H, class T>
__global__ void moved_take_kernel(int n, int r0, int left, int count, const int *moved,
                                  const int *back, const T *__restrict__ A, int64_t lda,
                                  T *__restrict__ buf) {
    const int q = threadIdx.x, j0 = blockIdx.x * MOVED_COLUMNS, columns = n - r0 + left;
    const int place = moved[q], from = place >= 0 ? moved[count + q] : 0;
    const int lane = q & 31, warp = q >> 5, warps = count >> 5;
    const T *W = A + r0 + (int64_t)r0 * lda;
    if (place >= 0)
#pragma unroll 4
        for (int j = j0 + blockIdx.y; j < min(columns, j0 + MOVED_COLUMNS); j += MOVED_PARTS) {
            if (j < left) {
                buf[q + (int64_t)j * count] = A[r0 + from + (int64_t)j * lda];
            } else {
                const int source = back[j - left];
                if (from >= source) buf[q + (int64_t)j * count] = W[from + (int64_t)source * lda];
            }
        }
    const int j = j0 + lane;
    if (j < left || j >= columns) return;
    const int source = back[j - left];
#pragma unroll 4
    for (int p = warp + warps * blockIdx.y; p < count; p += warps * MOVED_PARTS) {
        if (moved[p] < 0) continue;
        const int row = moved[count + p];
        if (row < source) buf[p + (int64_t)j * count] = cj<H>(W[source + (int64_t)row * lda]);
    }
}

template <bool H, class T>
__global__ void moved_put_kernel(int n, int r0, int left, int count, const int *moved,
                                 T *__restrict__ A, int64_t lda, const T *__restrict__ buf,
                                 int *perm) {
    const int q = threadIdx.x, j0 = blockIdx.x * MOVED_COLUMNS, columns = n - r0 + left;
    const int place = moved[q], lane = q & 31, warp = q >> 5, warps = count >> 5;
    T *W = A + r0 + (int64_t)r0 * lda;
    if (blockIdx.x + blockIdx.y == 0) {
        const int old = place >= 0 ? perm[r0 + moved[count + q]] : 0;
        __syncthreads();
        if (place >= 0) perm[r0 + place] = old;
    }
    if (place >= 0)
#pragma unroll 4
        for (int j = j0 + blockIdx.y; j < min(columns, j0 + MOVED_COLUMNS); j += MOVED_PARTS) {
            if (j < left)
                A[r0 + place + (int64_t)j * lda] = buf[q + (int64_t)j * count];
            else if (place >= j - left)
                W[place + (int64_t)(j - left) * lda] = buf[q + (int64_t)j * count];
        }
    const int j = j0 + lane, c = j - left;
    if (c < 0 || j >= columns) return;
#pragma unroll 4
    for (int p = warp + warps * blockIdx.y; p < count; p += warps * MOVED_PARTS) {
        const int to = moved[p];
        if (to >= 0 && to < c) W[c + (int64_t)to * lda] = cj<H>(buf[p + (int64_t)j * count]);
    }
}

/** back[c] = where the row now at c came from: the identity but for the list. */
__global__ static void moved_back_kernel(int m, int count, const int *moved, int *back) {
    for (int i = threadIdx.x; i < m; i += blockDim.x)
        back[i] = i;
    __syncthreads();
    for (int q = threadIdx.x; q < count; q += blockDim.x)
        if (moved[q] >= 0) back[moved[q]] = moved[count + q];
}

/** Square of order nb: to = unit lower part of A (rows x nb), ones beyond; or its upper part. */
template <class T>
__global__ void part_kernel(int rows, int columns, int nb, int upper, const T *A, int64_t lda, T *to) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < nb * nb; e += gridDim.x * blockDim.x) {
        const int i = e % nb, j = e / nb;
        const bool in = i < rows && j < columns;
        if (upper)
            to[e] = in && i <= j ? A[i + (int64_t)j * lda] : make<T>(0);
        else
            to[e] = i == j ? make<T>(1) : in && i > j ? A[i + (int64_t)j * lda] : make<T>(0);
    }
}

/** -T's blocks: kind 0 from Z's lower triangle, both sides; kind 1: Z, and its mirror to the third. */
template <bool H, class T>
__global__ void minus_kernel(int rows, int nb, int kind, const T *Z, T *to, T *mirror) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < nb * nb; e += gridDim.x * blockDim.x) {
        const int i = e % nb, j = e / nb;
        if (kind == 0) {
            T v = make<T>(0);
            if (i < rows && j < rows) {
                v = i >= j ? Z[i + j * nb] : cj<H>(Z[j + i * nb]);
                if (i == j) v = diagonal<H>(v);
            }
            to[e] = -v;
        } else {
            const T v = i < rows ? Z[e] : make<T>(0);
            to[e] = -v, mirror[j + i * nb] = cj<H>(-v);
        }
    }
}

/** Window of block J of T: panel V (2 nb x nb) and what stands right of it, R (2 nb x 2 nb), from
 *  what came down (`top`, nb x 2 nb; NULL: T's own first rows) and T's rows J + 1. */
template <class T>
__global__ void window_kernel(int n, int nb, int J, int nt, const T *minus, const T *top, T *V, T *R) {
    const int64_t square = (int64_t)nb * nb;
    auto block = [&](int I, int K, int i, int j) { /* entry of T(I, K), filled up at the end */
        if (I >= nt || K >= nt) return make<T>(I == K && i == j ? 1 : 0);
        if (I * nb + i >= n || K * nb + j >= n) return make<T>(I == K && i == j ? 1 : 0);
        const T *b = minus + (3 * (int64_t)(I < K ? I : K) + (I == K ? 0 : I > K ? 1 : 2)) * square;
        return -b[i + j * nb];
    };
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < 6 * nb * nb; e += gridDim.x * blockDim.x) {
        const int i = e % (2 * nb), c = e / (2 * nb), K = J + c / nb, j = c % nb;
        T v;
        if (i < nb) {
            if (c >= 2 * nb)
                v = make<T>(0);
            else
                v = top ? top[i + (int64_t)c * nb] : block(J, K, i, j);
        } else {
            v = block(J + 1, K, i - nb, j);
        }
        if (c < nb)
            V[i + (int64_t)c * 2 * nb] = v;
        else
            R[i + (int64_t)(c - nb) * 2 * nb] = v;
    }
}

/** Rows of R (2 nb x columns) in the new order. */
template <class T>
__global__ void reorder_kernel(int rows, int columns, const int *order, const T *R, T *to) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < rows * columns;
         e += gridDim.x * blockDim.x)
        to[e] = R[order[e % rows] + (int64_t)(e / rows) * rows];
}

/** Largest key of count entries. */
template <class T> __global__ void top_kernel(int64_t count, const T *x, unsigned *top) {
    unsigned most = 0;
    for (int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; k < count;
         k += (int64_t)gridDim.x * blockDim.x)
        most = max(most, key(x[k]));
    most = __reduce_max_sync(0xffffffffu, most);
    if ((threadIdx.x & 31) == 0) atomicMax(top, most);
}

/** T x = y by one thread block for each right-hand side; x: nt nb entries, and nb more. */
template <class T>
__global__ void __launch_bounds__(256)
    band_kernel(int nb, int nt, const T *panels, const T *rights, const int *orders, T *X,
                int64_t ldx) {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    T *w = (T *)shared_bytes, *part = w + 3 * nb, *x = X + blockIdx.x * ldx;
    const int tid = threadIdx.x;
    const int64_t size = 2 * (int64_t)nb * nb;
    for (int i = tid; i < nb; i += 256)
        w[i] = x[i];
    __syncthreads();
    for (int J = 0; J < nt; ++J) { /* w: rows J, J + 1 */
        const T *P = panels + J * size;
        const int *order = orders + J * 2 * nb;
        for (int i = tid; i < nb; i += 256)
            w[nb + i] = J + 1 < nt ? x[(J + 1) * nb + i] : make<T>(0);
        __syncthreads();
        for (int i = tid; i < 2 * nb; i += 256)
            part[i] = w[order[i]];
        __syncthreads();
        for (int k0 = 0; k0 < nb; k0 += 32) {
            if (tid < 32) { /* 32 steps by one warp */
                T v = part[k0 + tid], l[32];
#pragma unroll
                for (int k = 0; k < 32; ++k)
                    l[k] = tid > k ? P[k0 + tid + (int64_t)(k0 + k) * 2 * nb] : make<T>(0);
#pragma unroll
                for (int k = 0; k < 32; ++k)
                    nfma(v, l[k], shfl(v, k));
                part[k0 + tid] = v;
            }
            __syncthreads();
            for (int i = k0 + 32 + tid; i < 2 * nb; i += 256) {
                T s = part[i];
#pragma unroll 8
                for (int k = 0; k < 32; ++k)
                    nfma(s, P[i + (int64_t)(k0 + k) * 2 * nb], part[k0 + k]);
                part[i] = s;
            }
            __syncthreads();
        }
        for (int i = tid; i < nb; i += 256)
            x[J * nb + i] = part[i], w[i] = part[nb + i];
        __syncthreads();
    }
    for (int i = tid; i < 2 * nb; i += 256)
        w[nb + i] = make<T>(0);
    __syncthreads();
    for (int J = nt - 1; J >= 0; --J) { /* w + nb: x of rows J + 1, J + 2 */
        const T *P = panels + J * size, *U = rights + J * size;
        const int i = tid % nb, groups = 256 / nb, group = tid / nb;
        T s = make<T>(0);
        if (group < groups) {
#pragma unroll 8
            for (int k = group; k < 2 * nb; k += groups)
                pfma(s, U[i + (int64_t)k * nb], w[nb + k]);
            part[tid] = s;
        }
        __syncthreads();
        if (tid < nb) {
            for (int q = 1; q < groups; ++q)
                s = s + part[tid + q * nb];
            w[tid] = x[J * nb + tid] - s;
        }
        __syncthreads();
        for (int k0 = nb - 32; k0 >= 0; k0 -= 32) {
            if (tid < 32) {
                T v = w[k0 + tid], u[32], d = P[k0 + tid + (int64_t)(k0 + tid) * 2 * nb];
                const T di = is_zero(d) ? make<T>(0) : inverse(d);
#pragma unroll
                for (int k = 0; k < 32; ++k)
                    u[k] = tid < k ? P[k0 + tid + (int64_t)(k0 + k) * 2 * nb] : make<T>(0);
#pragma unroll
                for (int k = 31; k >= 0; --k) {
                    if (tid == k) v = v * di;
                    nfma(v, u[k], shfl(v, k));
                }
                w[k0 + tid] = v;
            }
            __syncthreads();
            for (int q = tid; q < k0; q += 256) {
                T t = w[q];
#pragma unroll 8
                for (int k = 0; k < 32; ++k)
                    nfma(t, P[q + (int64_t)(k0 + k) * 2 * nb], w[k0 + k]);
                w[q] = t;
            }
            __syncthreads();
        }
        T keep = make<T>(0);
        if (tid < nb) keep = w[tid], x[J * nb + tid] = keep;
        T older = tid < nb ? w[nb + tid] : make<T>(0);
        __syncthreads();
        if (tid < nb) w[nb + tid] = keep, w[2 * nb + tid] = older;
        __syncthreads();
    }
}

/** Where the parts of `extra` are. */
struct aasen_parts {
    int nb, nt;
    T *minus, *panels, *rights;
    int *orders;
    int64_t bytes;
};
static aasen_parts aasen_extra(const mpki_cuda *cuda, int n, void *extra) {
    aasen_parts p;
    p.nb = aasen_width(cuda, n), p.nt = (n + p.nb - 1) / p.nb;
    const int64_t square = (int64_t)p.nb * p.nb;
    p.minus = (T *)extra;
    p.panels = p.minus + 3 * p.nt * square;
    p.rights = p.panels + 2 * p.nt * square;
    p.orders = (int *)(p.rights + 2 * p.nt * square);
    p.bytes = (int64_t)sizeof(T) * 7 * p.nt * square + (int64_t)sizeof(int) * 2 * p.nt * p.nb + 64;
    return p;
}

struct aasen_space {
    int64_t ld;
    T *V, *H, *buf, *row[2], *M, *U, *LJ, *Z, *window, *right, *reordered, *top[2], *TM, *scalars;
    int *moved[2], *back, *state;
    unsigned long long *offer[2];
};

static int64_t aasen_layout(const mpki_cuda *cuda, int n, char *base, aasen_space *w) {
    const int nb = aasen_width(cuda, n), B = tile_size<T>::B;
    const int64_t square = (int64_t)nb * nb;
    int64_t at = 0;
    auto take = [&](int64_t bytes) {
        char *p = base ? base + at : NULL;
        at += (bytes + 255) / 256 * 256;
        return p;
    };
    w->ld = ((int64_t)n + nb + 31) / 32 * 32;
    w->V = (T *)take((int64_t)sizeof(T) * w->ld * nb);
    w->H = (T *)take((int64_t)sizeof(T) * w->ld * nb);
    w->buf = (T *)take((int64_t)sizeof(T) * 2 * nb * n);
    w->M = (T *)take((int64_t)sizeof(T) * B * B);
    w->TM = (T *)take((int64_t)sizeof(T) * B * B);
    w->U = (T *)take((int64_t)sizeof(T) * square);
    w->LJ = (T *)take((int64_t)sizeof(T) * square);
    w->Z = (T *)take((int64_t)sizeof(T) * 2 * square);
    w->window = (T *)take((int64_t)sizeof(T) * 2 * square);
    w->right = (T *)take((int64_t)sizeof(T) * 4 * square);
    w->reordered = (T *)take((int64_t)sizeof(T) * 4 * square);
    w->back = (int *)take((int64_t)sizeof(int) * n);
    w->state = (int *)take(256);
    for (int i = 0; i < 2; ++i) {
        w->top[i] = (T *)take((int64_t)sizeof(T) * 2 * square);
        w->row[i] = (T *)take((int64_t)sizeof(T) * 2 * cuda->sms * nb);
        w->moved[i] = (int *)take((int64_t)sizeof(int) * 4 * nb);
        w->offer[i] = (unsigned long long *)take(16 * cuda->sms);
    }
    return at;
}

/** The panel's LU on `stream`; its own set of buffers. */
static mpk_status lu_panel(mpki_cuda *cuda, const aasen_space &s, int set, int m, int nb, int blocks,
                           const T *V, int64_t ldv, T *out, int64_t ldo, int *order, double tiny,
                           cudaStream_t stream) {
    lu_job<T> g;
    g.m = m, g.nb = nb, g.each = (m + blocks - 1) / blocks;
    blocks = (m + g.each - 1) / g.each;
    g.V = V, g.ldv = ldv, g.out = out, g.ldo = ldo;
    g.row = s.row[set], g.offer = s.offer[set], g.moved = s.moved[set], g.order = order;
    g.tiny = (R)tiny, g.state = s.state + 8 * set;
    MPKI_TRY(cudaMemsetAsync(g.offer, 0, 16 * blocks, stream));
    void *arguments[] = {&g};
    const size_t shared = lu_shared<T>(g.each, nb);
    if (set) { /* few thread blocks; what they may wait for does not wait for them. Cooperative
                  launches would take turns */
        lu_kernel<T><<<blocks, AASEN_THREADS, shared, stream>>>(g);
        MPKI_TRY(cudaGetLastError());
    } else {
        MPKI_TRY(cudaLaunchCooperativeKernel((const void *)lu_kernel<T>, dim3(blocks),
                                             dim3(AASEN_THREADS), arguments, shared, stream));
    }
    return MPK_OK;
}

/** The LU of block J of T on the side stream: T(J+1, J+2) is there. */
static mpk_status band_step(mpki_cuda *cuda, const aasen_space &s, const aasen_parts &p, int n, int J,
                            double tiny) {
    const int nb = p.nb, B = tile_size<T>::B;
    const int64_t square = (int64_t)nb * nb;
    const products q = {cuda->panel_blas, cuda->side, 0};
    T *P = p.panels + 2 * J * square, *U = p.rights + 2 * J * square;
    int *order = p.orders + 2 * J * nb;
    window_kernel<<<96, 256, 0, cuda->side>>>(n, nb, J, p.nt, p.minus, J ? s.top[J & 1] : NULL,
                                              s.window, s.right);
    MPKI_TRY(cudaGetLastError());
    MPKI_PASS(lu_panel(cuda, s, 1, 2 * nb, nb, 4, s.window, 2 * nb, P, 2 * nb, order, tiny,
                       cuda->side));
    reorder_kernel<<<64, 256, 0, cuda->side>>>(2 * nb, 2 * nb, order, s.right, s.reordered);
    invert_kernel<T><<<1, TILE_THREADS, sizeof(tile_memory<T>), cuda->side>>>(nb, P, 2 * nb, NULL,
                                                                              s.TM);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(product_left(q, CUBLAS_OP_N, nb, 2 * nb, nb, s.scalars + ALWAYS_ONE, s.TM, B,
                          s.reordered, 2 * nb, s.scalars + ALWAYS_NIL, U, nb));
    T *down = s.top[(J + 1) & 1];
    MPKI_TRY(cudaMemcpy2DAsync(down, sizeof(T) * nb, s.reordered + nb, sizeof(T) * 2 * nb,
                               sizeof(T) * nb, 2 * nb, cudaMemcpyDeviceToDevice, cuda->side));
    MPKI_TRY(product_left(q, CUBLAS_OP_N, nb, 2 * nb, nb, s.scalars + ALWAYS_MINUS, P + nb, 2 * nb, U,
                          nb, s.scalars + ALWAYS_ONE, down, nb));
    return MPK_OK;
}

/** Block columns; see the top of the file. */
template <bool H>
static mpk_status aasen_run(mpki_cuda *cuda, mpki_cuda_matrix *d, T *scalars, char *own) {
    const int n = d->n, B = tile_size<T>::B;
    const int64_t lda = d->lda;
    aasen_space s;
    aasen_layout(cuda, n, own, &s);
    s.scalars = scalars;
    const aasen_parts p = aasen_extra(cuda, n, d->extra);
    const int nb = p.nb, nt = p.nt;
    const int64_t square = (int64_t)nb * nb, ld = s.ld;
    T *A = (T *)d->A;
    cudaStream_t main = cuda->update;
    const products u = {cuda->update_blas, main, d->tf32 == 1 || d->tf32 == 3};
    const products exact = {cuda->update_blas, main, 0};
    const cublasOperation_t op = H ? CUBLAS_OP_C : CUBLAS_OP_T;
    const T *one = s.scalars + ALWAYS_ONE, *minus = s.scalars + ALWAYS_MINUS,
            *nil = s.scalars + ALWAYS_NIL;
    const double tiny = d->largest * d->zero_tolerance;
    auto block = [&](int J, int part) { return p.minus + (3 * (int64_t)J + part) * square; };
    auto rows_of = [&](int J) { return n - J * nb < nb ? n - J * nb : nb; };
    const int most_each = (n + lu_blocks(cuda) - 1) / lu_blocks(cuda);
    MPKI_TRY(cudaFuncSetAttribute(lu_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)lu_shared<T>(std::max(most_each, nb), nb)));
    MPKI_TRY(cudaFuncSetAttribute(invert_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)sizeof(tile_memory<T>)));
    MPKI_TRY(cudaMemsetAsync(s.state, 0, 256, main));
    MPKI_TRY(cudaMemsetAsync(p.minus, 0, sizeof(T) * 3 * nt * square, main));
    MPKI_TRY(cudaEventRecord(cuda->fork, main));
    MPKI_TRY(cudaStreamWaitEvent(cuda->side, cuda->fork, 0));
    MPKI_TRY(cublasSetStream(cuda->panel_blas, cuda->side));
    mpk_status status = MPK_OK;
    auto step = [&](int J) -> mpk_status {
        const int r0 = J * nb, w = rows_of(J), m = n - r0;
        const T *LJ = A + r0; /* row block J: L(J, K) at column (K - 1) nb */
        column_kernel<H><<<dim3((m + 255) / 256, w), 256, 0, main>>>(n, r0, w, A, lda, s.V, ld);
        MPKI_TRY(cudaGetLastError());
        if (J > 0) { /* L(J, J), clean, and its inverse */
            part_kernel<<<32, 256, 0, main>>>(w, w, nb, 0, LJ + (int64_t)(J - 1) * nb * lda, lda, s.LJ);
            MPKI_TRY(cudaEventRecord(cuda->fork, main));
            MPKI_TRY(cudaStreamWaitEvent(cuda->panel, cuda->fork, 0));
            invert_kernel<T><<<1, TILE_THREADS, sizeof(tile_memory<T>), cuda->panel>>>(nb, s.LJ, nb,
                                                                                      NULL, s.M);
            MPKI_TRY(cudaGetLastError());
            MPKI_TRY(cudaEventRecord(cuda->join, cuda->panel));
        }
        if (J > 1) { /* H(I, J) at rows (I - 1) nb of H, I < J */
            const int64_t lk = (int64_t)nb * lda; /* from L(J, K) to L(J, K + 1) */
            auto add = [&](int I, int count, int part, int shift, const T *beta) { /* T(I, I+shift) */
                return products_strided(exact, op, nb, w, nb, minus,
                                        block(shift < 0 ? I - 1 : I, part), nb, 3 * square,
                                        LJ + (I + shift - 1) * lk, lda, lk, beta,
                                        s.H + (int64_t)(I - 1) * nb, ld, nb, count);
            };
            MPKI_TRY(add(1, J - 1, 0, 0, nil));
            if (J > 2) MPKI_TRY(add(2, J - 2, 1, -1, one));
            if (J > 2) MPKI_TRY(add(1, J - 2, 2, 1, one));
            MPKI_TRY(product(exact, op, nb, w, nb, minus, block(J - 1, 2), nb, s.LJ, nb, one,
                             s.H + (int64_t)(J - 2) * nb, ld)); /* T(J-1, J) L(J, J)^T */
            MPKI_TRY(product_left(u, CUBLAS_OP_N, m, w, (J - 1) * nb, minus, A + r0, lda, s.H, ld,
                                  one, s.V, ld));
        }
        T *Z = s.Z;
        if (J > 0) {
            T *HJ = s.H + (int64_t)(J - 1) * nb;
            MPKI_TRY(cudaStreamWaitEvent(main, cuda->join, 0));
            MPKI_TRY(product_left(exact, CUBLAS_OP_N, w, w, w, one, s.M, B, s.V, ld, nil, HJ, ld));
            MPKI_TRY(cudaMemcpy2DAsync(Z, sizeof(T) * nb, HJ, sizeof(T) * ld, sizeof(T) * w, w,
                                       cudaMemcpyDeviceToDevice, main));
            if (J > 1)
                MPKI_TRY(product(exact, op, w, w, nb, one, block(J - 1, 1), nb,
                                 LJ + (int64_t)(J - 2) * nb * lda, lda, one, Z, nb));
            MPKI_TRY(product(exact, op, w, w, w, one, Z, nb, s.M, B, nil, Z + square, nb));
            minus_kernel<H><<<32, 256, 0, main>>>(w, nb, 0, Z + square, block(J, 0), (T *)NULL);
            if (m > nb)
                MPKI_TRY(product_left(exact, CUBLAS_OP_N, m - nb, nb, nb, minus,
                                      A + r0 + nb + (int64_t)(J - 1) * nb * lda, lda, HJ, ld, one,
                                      s.V + nb, ld));
        } else {
            MPKI_TRY(cudaMemcpy2DAsync(Z, sizeof(T) * nb, s.V, sizeof(T) * ld, sizeof(T) * w, w,
                                       cudaMemcpyDeviceToDevice, main));
            minus_kernel<H><<<32, 256, 0, main>>>(w, nb, 0, Z, block(0, 0), (T *)NULL);
        }
        MPKI_TRY(cudaGetLastError());
        if (J + 1 == nt) return MPK_OK;
        const int below = m - nb, r1 = r0 + nb, count = 2 * nb;
        T *L = A + r1 + (int64_t)r0 * lda;
        int blocks = (below + 15) / 16;
        if (blocks > lu_blocks(cuda)) blocks = lu_blocks(cuda);
        MPKI_PASS(lu_panel(cuda, s, 0, below, nb, blocks, s.V + nb, ld, L, lda, NULL, 0, main));
        moved_back_kernel<<<1, 1024, 0, main>>>(below, count, s.moved[0], s.back);
        const int columns = (below + r0 + MOVED_COLUMNS - 1) / MOVED_COLUMNS;
        moved_take_kernel<H><<<dim3(columns, MOVED_PARTS), count, 0, main>>>(n, r1, r0, count, s.moved[0], s.back, A, lda,
                                                          s.buf);
        moved_put_kernel<H><<<dim3(columns, MOVED_PARTS), count, 0, main>>>(n, r1, r0, count, s.moved[0], A, lda, s.buf,
                                                         d->perm);
        part_kernel<<<32, 256, 0, main>>>(rows_of(J + 1), nb, nb, 1, L, lda, s.U);
        MPKI_TRY(cudaGetLastError());
        const T *t = s.U;
        if (J > 0) {
            MPKI_TRY(product(exact, op, nb, nb, nb, one, s.U, nb, s.M, B, nil, Z, nb));
            t = Z;
        }
        minus_kernel<H><<<32, 256, 0, main>>>(rows_of(J + 1), nb, 1, t, block(J, 1), block(J, 2));
        MPKI_TRY(cudaGetLastError());
        return MPK_OK;
    };
    for (int J = 0; J < nt && status >= 0; ++J) {
        status = step(J);
        const int slot = J % MPKI_RING;
        if (status < 0) break;
        MPKI_TRY(cudaEventRecord(cuda->update_done[slot], main));
        MPKI_TRY(cudaStreamWaitEvent(cuda->side, cuda->update_done[slot], 0));
        if (J > 0) status = band_step(cuda, s, p, n, J - 1, tiny);
    }
    if (status >= 0) status = band_step(cuda, s, p, n, nt - 1, tiny);
    MPKI_TRY(cublasSetStream(cuda->panel_blas, cuda->panel));
    if (status < 0) return status;
    top_kernel<<<256, 256, 0, cuda->side>>>(3 * nt * square, p.minus, (unsigned *)s.state + 16);
    MPKI_TRY(cudaGetLastError());
    int *state = cuda->pinned + 4096;
    MPKI_TRY(cudaMemcpyAsync(state, s.state, 128, cudaMemcpyDeviceToHost, cuda->side));
    MPKI_TRY(cudaStreamSynchronize(cuda->side));
    MPKI_TRY(cudaStreamSynchronize(main));
    if (state[1] || state[9]) return refuse(cuda, MPK_ERR_NUMERIC, "the factors are not finite");
    d->zeros = state[8];
    d->max_l = key_value((unsigned)state[2]);
    d->top = key_value((unsigned)state[16]);
    return d->zeros ? MPK_SINGULAR : MPK_OK;
}

template <bool H> static mpk_status aasen(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s) {
    MPKI_PASS(plain_begin(cuda, d, s));
    return aasen_run<H>(cuda, d, s.scalars, s.own);
}

static int64_t aasen_solve_bytes(const mpki_cuda *cuda, int n, int64_t nrhs) {
    const int64_t B = tile_size<T>::B, nb = aasen_width(cuda, n), nt = (n + nb - 1) / nb;
    return (int64_t)sizeof(T) * ((n + B - 1) / B * B * B + (nt + 1) * nb * nrhs + sweep_room(n, nrhs)) + 1024;
}

/** X (n x nrhs) := (L T L^T)^-1 X, permutation included. */
template <bool H>
static mpk_status aasen_solve(mpki_cuda *cuda, const mpki_cuda_matrix *d, int nrhs, T *X, int64_t ldx) {
    const int n = d->n, B = tile_size<T>::B;
    const aasen_parts p = aasen_extra(cuda, n, d->extra);
    const int nb = p.nb, nt = p.nt, below = n - nb;
    const int64_t ldy = (int64_t)(nt + 1) * nb;
    cudaStream_t stream = (cudaStream_t)d->stream;
    T *M = (T *)d->work, *Y = M + (int64_t)((n + B - 1) / B) * B * B, *room = Y + ldy * nrhs;
    const sweep_job g = {below, nrhs, (const T *)d->A + nb, d->lda, NULL, M, room, Y + nb, ldy,
                         stream};
    const dim3 grid((n + 255) / 256, nrhs);
    MPKI_TRY(cudaMemsetAsync(Y, 0, sizeof(T) * ldy * nrhs, stream));
    gather_kernel<<<grid, 256, 0, stream>>>(n, d->perm, X, ldx, Y, ldy, 0);
    if (below > 0) {
        MPKI_PASS(sweep_begin(cuda, g));
        MPKI_PASS(sweep_forward(cuda, g));
    }
    band_kernel<<<nrhs, 256, sizeof(T) * (3 * nb + std::max(256, 2 * nb)), stream>>>(
        nb, nt, p.panels, p.rights, p.orders, Y, ldy);
    MPKI_TRY(cudaGetLastError());
    if (below > 0) {
        MPKI_PASS(sweep_backward<H>(cuda, g));
        MPKI_PASS(sweep_end(cuda, g));
    }
    gather_kernel<<<grid, 256, 0, stream>>>(n, d->perm, Y, ldy, X, ldx, 1);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

} // namespace mpki
#endif
