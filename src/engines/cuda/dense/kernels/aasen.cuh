/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_AASEN_CUH
#define MPKI_CUDA_DENSE_AASEN_CUH
/** Communication-avoiding Aasen (Ballard et al., SIAM J. Matrix Anal. Appl. 35, 2014): P A P^T =
 *  L T L^T, T block tridiagonal, by block columns, left-looking. For block column J
 *
 *      V = A(J.., J) - L(J.., 1..J-1) H(1..J-1, J),   H(I, J) = sum_K T(I, K) L(J, K)^T,
 *      H(J, J) = L(J, J)^-1 V(J),  T(J, J) = (H(J, J) - T(J, J-1) L(J, J-1)^T) L(J, J)^-T,
 *      V(J+1..) -= L(J+1.., J) H(J, J) = P^T L(J+1.., J+1) U,  T(J+1, J) = U L(J, J)^-T,
 *
 *  all but the panel's LU by products. L's first block column is the identity's and not stored:
 *  L(:, J+1) lies in block column J, as the processor's Aasen has it (engines/cpu/dense/aasen_t.c).
 *
 *  The panel: aasen_lu.cuh.
 *
 *  T, a band, is factored by the same kernel beside it, a block column after the other: rows J and
 *  J + 1, as xGBTRF would choose pivots. Kept in `extra`: -T(J,J), -T(J+1,J), -T(J,J+1) for each
 *  block (as the processor's); then for each block the panel's L and U (2 nb x nb), U to its right
 *  (nb x 2 nb); then the rows' order, 2 nb integers. The last block is filled up with ones on the
 *  diagonal. */
#include "aasen_kernels.cuh"
#include "aasen_lu.cuh"
#include "ldlt.cuh"
#include "solve.cuh"

#include <algorithm>

namespace mpki {

static int lu_blocks(const mpki_cuda *cuda) {
    return cuda->sms < 32 * LU_OFFERS ? cuda->sms : 32 * LU_OFFERS;
}

/** Columns of a block: as many as let the panel's rows fit into the shared memory of all
 *  multiprocessors together. */
static int aasen_width(const mpki_cuda *cuda, int n) {
    const int B = tile_of<T>(cuda);
    const int64_t fit = (int64_t)(cuda->shared_max - 16384) / (int64_t)sizeof(T);
    for (int nb = n < 2000 && B > 64 ? 64 : B; nb > 32; nb /= 2)
        if ((int64_t)(n + lu_blocks(cuda) - 1) / lu_blocks(cuda) * (nb + 1) <= fit) return nb;
    return 32;
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
    const int nb = aasen_width(cuda, n), B = tile_of<T>(cuda);
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

/** The panel's LU on `stream`; `set` says which buffers it uses. */
static mpk_status lu_panel(mpki_cuda *cuda, const aasen_space &s, int set, int m, int nb,
                           int blocks, const T *V, int64_t ldv, T *out, int64_t ldo, int *order,
                           double tiny, cudaStream_t stream) {
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

/** The LU of block J of T on the side stream; T(J+1, J+2) must be there. */
static mpk_status band_step(mpki_cuda *cuda, const aasen_space &s, const aasen_parts &p, int n,
                            int J, double tiny) {
    const int nb = p.nb, B = tile_of<T>(cuda);
    const int64_t square = (int64_t)nb * nb;
    const products q = {cuda->panel_blas, cuda->side, 0};
    T *P = p.panels + 2 * J * square, *U = p.rights + 2 * J * square;
    int *order = p.orders + 2 * J * nb;
    window_kernel<<<96, 256, 0, cuda->side>>>(n, nb, J, p.nt, p.minus, J ? s.top[J & 1] : NULL,
                                              s.window, s.right);
    MPKI_TRY(cudaGetLastError());
    MPKI_PASS(
        lu_panel(cuda, s, 1, 2 * nb, nb, 4, s.window, 2 * nb, P, 2 * nb, order, tiny, cuda->side));
    reorder_kernel<<<64, 256, 0, cuda->side>>>(2 * nb, 2 * nb, order, s.right, s.reordered);
    invert_kernel<T>
        <<<1, TILE_THREADS, tile_bytes<T>(cuda), cuda->side>>>(nb, P, 2 * nb, NULL, s.TM);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(product_left(q, CUBLAS_OP_N, nb, 2 * nb, nb, s.scalars + ALWAYS_ONE, s.TM, B,
                          s.reordered, 2 * nb, s.scalars + ALWAYS_NIL, U, nb));
    T *down = s.top[(J + 1) & 1];
    MPKI_TRY(cudaMemcpy2DAsync(down, sizeof(T) * nb, s.reordered + nb, sizeof(T) * 2 * nb,
                               sizeof(T) * nb, 2 * nb, cudaMemcpyDeviceToDevice, cuda->side));
    MPKI_TRY(product_left(q, CUBLAS_OP_N, nb, 2 * nb, nb, s.scalars + ALWAYS_MINUS, P + nb, 2 * nb,
                          U, nb, s.scalars + ALWAYS_ONE, down, nb));
    return MPK_OK;
}

/** Block columns; see the top of the file. One function: streams and events tie each launch to
 *  those before it, and their order is the algorithm. */
template <bool H>
static mpk_status aasen_run(mpki_cuda *cuda, mpki_cuda_matrix *d, T *scalars, char *own) {
    const int n = d->n, B = tile_of<T>(cuda);
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
    if (lu_shared<T>(most_each, nb) + LU_OWN > cuda->shared_max)
        return refuse(cuda, MPK_ERR_UNSUPPORTED,
                      "Aasen's method keeps a panel in shared memory: %zu KiB in each of %d "
                      "multiprocessors for order %d; they have %zu",
                      (lu_shared<T>(most_each, nb) + LU_OWN) / 1024, lu_blocks(cuda), n,
                      cuda->shared_max / 1024);
    MPKI_TRY(cudaFuncSetAttribute(lu_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)lu_shared<T>(std::max(most_each, nb), nb)));
    MPKI_TRY(cudaFuncSetAttribute(invert_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)tile_bytes<T>(cuda)));
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
        if (J > 0) { /* L(J, J) with its ones and zeros, and its inverse */
            part_kernel<<<32, 256, 0, main>>>(w, w, nb, 0, LJ + (int64_t)(J - 1) * nb * lda, lda,
                                              s.LJ);
            MPKI_TRY(cudaEventRecord(cuda->fork, main));
            MPKI_TRY(cudaStreamWaitEvent(cuda->panel, cuda->fork, 0));
            invert_kernel<T>
                <<<1, TILE_THREADS, tile_bytes<T>(cuda), cuda->panel>>>(nb, s.LJ, nb, NULL, s.M);
            MPKI_TRY(cudaGetLastError());
            MPKI_TRY(cudaEventRecord(cuda->join, cuda->panel));
        }
        if (J > 1) {                              /* H(I, J) at rows (I - 1) nb of H, I < J */
            const int64_t lk = (int64_t)nb * lda; /* from L(J, K) to L(J, K + 1) */
            auto add = [&](int I, int count, int part, int shift,
                           const T *beta) { /* T(I, I+shift) */
                                            return products_strided(
                                                exact, op, nb, w, nb, minus,
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
        moved_take_kernel<H><<<dim3(columns, MOVED_PARTS), count, 0, main>>>(
            n, r1, r0, count, s.moved[0], s.back, A, lda, s.buf);
        moved_put_kernel<H><<<dim3(columns, MOVED_PARTS), count, 0, main>>>(
            n, r1, r0, count, s.moved[0], A, lda, s.buf, d->perm);
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
    for (int J = 0; J < nt && !mpk_failed(status); ++J) {
        status = step(J);
        const int slot = J % MPKI_RING;
        if (mpk_failed(status)) break;
        MPKI_TRY(cudaEventRecord(cuda->update_done[slot], main));
        MPKI_TRY(cudaStreamWaitEvent(cuda->side, cuda->update_done[slot], 0));
        if (J > 0) status = band_step(cuda, s, p, n, J - 1, tiny);
    }
    if (!mpk_failed(status)) status = band_step(cuda, s, p, n, nt - 1, tiny);
    MPKI_TRY(cublasSetStream(cuda->panel_blas, cuda->panel));
    if (mpk_failed(status)) return status;
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

template <bool H>
static mpk_status aasen(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s) {
    MPKI_PASS(plain_begin(cuda, d, s));
    return aasen_run<H>(cuda, d, s.scalars, s.own);
}

static int64_t aasen_solve_bytes(const mpki_cuda *cuda, int n, int64_t nrhs) {
    const int64_t B = tile_of<T>(cuda), nb = aasen_width(cuda, n), nt = (n + nb - 1) / nb;
    return (int64_t)sizeof(T) *
               ((n + B - 1) / B * B * B + (nt + 1) * nb * nrhs + sweep_entries(cuda, n, nrhs)) +
           1024;
}

/** X (n x nrhs) := (L T L^T)^-1 X, permutation included. */
template <bool H>
static mpk_status aasen_solve(mpki_cuda *cuda, const mpki_cuda_matrix *d, int nrhs, T *X,
                              int64_t ldx) {
    const int n = d->n, B = tile_of<T>(cuda);
    const aasen_parts p = aasen_extra(cuda, n, d->extra);
    const int nb = p.nb, nt = p.nt, below = n - nb;
    const int64_t ldy = (int64_t)(nt + 1) * nb;
    cudaStream_t stream = (cudaStream_t)d->stream;
    T *M = (T *)d->work, *Y = M + (int64_t)((n + B - 1) / B) * B * B, *scratch = Y + ldy * nrhs;
    const sweep_job g = {below, nrhs,  (const T *)d->A + nb, d->lda, NULL, M, scratch, Y + nb,
                         ldy,   stream};
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
