/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_LDLT_CUH
#define MPKI_CUDA_DENSE_LDLT_CUH
/** Blocked LDLT whose pivots stay inside diagonal tiles, so that it may look ahead.
 *
 *  Columns are taken in outer blocks. A block is copied to a panel buffer, brought up to date there
 *  (left-looking over its tiles), and factored tile by tile: the tile by one thread block
 *  (tile.cuh), the rows below by W = A21 N, L = W D^-1 and the threshold test. While the next block
 *  is at work on the panels' stream, the trailing matrix gets this block's update on another
 *  stream. A itself is written only by trailing updates, and by `commit` once a whole block has
 *  passed. So when a column fails, the kernels that are queued do nothing, the panels before it
 *  become a short block, the column changes places with the last one not yet put off, and the
 *  pipeline starts again. Columns that were put off are factored at the end, in further stages.
 *  This is the a-posteriori pivoting of Hogg & Scott and Duff, Hogg & Lopez (SIAM J. Sci. Comput.
 *  42, 2020), with the roll-back arranged for a GPU. */
#include "blas.cuh"
#include "bunch_kaufman.cuh"
#include "ldlt_space.cuh"
#include "panel.cuh"
#include "tile.cuh"

#include <float.h>
#include <string.h>

namespace mpki {

/** The panels of one block, on the panels' stream. */
template <bool H, bool PIVOT>
static mpk_status panels(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s,
                         const products &p, const span &x, int gate, R limit) {
    const int B = s.tile, n = d->n, keep = PIVOT ? KEEP : 0;
    const cublasOperation_t op = H ? CUBLAS_OP_C : CUBLAS_OP_T;
    const size_t shared = tile_bytes<T>(cuda);
    T *P = s.panel[x.q], *L = s.L[x.q], *W = s.W[x.q];
    const int64_t ld = s.ld;
    for (int i = 0; i < x.w;) {
        const int j = x.c + i, nb = x.columns - i < B ? x.columns - i : B, m = n - j - nb;
        const int take = i + nb >= x.columns && !x.kept ? nb : B - keep;
        if (i) { /* what the block before kept is up to date */
            const int64_t r = j + keep;
            T *C = P + r + (i + keep) * ld;
#if MPKI_PRECISION == 1
            if (n - r <= SMALL_PANEL) {
                const update_job job = {n - (int)r, nb - keep,        i, L + r, W + r, C, C, ld, ld,
                                        ld,         s.scalars + MINUS};
                MPKI_PASS(update(cuda, job, p.stream, n - r <= SMALL_CHAIN));
            } else
#endif
                MPKI_TRY(product(p, op, n - (int)r, nb - keep, i, s.scalars + MINUS, L + r, ld,
                                 W + r, ld, s.scalars + ALWAYS_ONE, C, ld));
        }
#if MPKI_PRECISION == 1
        MPKI_TRY(launch_early(cuda, n - j <= SMALL_CHAIN, tile_kernel<H, PIVOT, T>, dim3(1),
                              TILE_THREADS, shared, p.stream, nb, take, P + j + i * ld, ld,
                              L + i * ld, ld, s.orig[x.q] + j, s.N, s.dinv, s.corner, limit,
                              s.ctl));
#else
        tile_kernel<H, PIVOT, T><<<1, TILE_THREADS, shared, p.stream>>>(
            nb, take, P + j + i * ld, ld, L + i * ld, ld, s.orig[x.q] + j, s.N, s.dinv, s.corner,
            limit, s.ctl);
        MPKI_TRY(cudaGetLastError());
#endif
        const int64_t below = j + nb + i * ld;
        check_job<T> g;
        g.m = m, g.nb = nb, g.take = take, g.tile = B;
        g.W = W + below, g.L = L + below, g.P = P + below, g.save = s.save + j + nb;
        g.ld = ld, g.dinv = s.dinv, g.corner = s.corner;
        g.P_corner = P + j + take + (i + take) * ld;
        g.orig = s.orig[x.q] + j, g.test = PIVOT, g.column = j;
        g.gate = i + take >= x.w ? gate : -1;
        g.scalars = s.scalars, g.ctl = s.ctl;
#if MPKI_PRECISION == 1
        MPKI_TRY(launch_early(cuda, n - j <= SMALL_CHAIN,
                              aligned16(g.P, ld) ? panel_kernel<true> : panel_kernel<false>,
                              dim3(m > 0 ? (m + PANEL_ROWS - 1) / PANEL_ROWS : 1), 256,
                              panel_bytes(cuda), p.stream, g, W + below, (const T *)s.N, limit));
#else
        MPKI_TRY(product(p, CUBLAS_OP_N, m, nb, nb, s.scalars + ONE, P + below, ld, s.N, B,
                         s.scalars + NIL, W + below, ld));
        const dim3 grid(m > 0 ? (m + 255) / 256 : 1, (nb + CHECK_COLUMNS - 1) / CHECK_COLUMNS);
        check_kernel<H, T><<<grid, 256, 0, p.stream>>>(g, limit);
#endif
        MPKI_TRY(cudaGetLastError());
        i += take;
    }
    return MPK_OK;
}

/** Columns c .. c + w - 1 of A, and perm, from the workspace, if `gate` is open; rows up to c + w +
 *  keep have moved. */
static mpk_status commit(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s, int c, int w,
                         int keep, int q, bool pivot, const T *gate, cudaStream_t stream) {
    T *A = (T *)d->A;
    commit_kernel<<<column_grid(d->n - c, w), 256, 0, stream>>>(d->n, c, w, keep, s.L[q], s.ld, A,
                                                                d->lda, s.orig[q], gate);
    MPKI_TRY(cudaGetLastError());
    const int chunks = pivot ? (c + PERMUTE_COLUMNS - 1) / PERMUTE_COLUMNS : 0;
    permute_kernel<<<chunks + 1, 256, sizeof(T) * (w + keep) * PERMUTE_COLUMNS, stream>>>(
        c, w, keep, A, d->lda, s.orig[q], d->perm, d->kind, gate);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/** The split L and W of set q, from their row `row` on. gate: that of their block; open: the factor
 *  that an open gate stands for in products of whole precision. */
static split_part split_of(const ldlt_space &s, const products &p, int q, int64_t row, int gate,
                           const T *open) {
    const split_part x = {entry(p, s.Ls[q], row), entry(p, s.Ws[q], row),
                          p.tf32 == HALVES ? s.scaled + gate : open, s.terms};
    return x;
}

/** The L and W of block x in the form that its updates want; gate: its number. */
static mpk_status split_block(mpki_cuda *cuda, int n, const ldlt_space &s, const span &x, int gate,
                              cudaStream_t stream) {
    const int64_t r = x.c + x.w + x.kept; /* W of what is kept was never written */
    const int m = n - (int)r, q = x.q;
    if (!s.terms || m <= 0) return MPK_OK;
#if MPKI_PRECISION % 2 == 0
    const T *L = s.L[q] + r, *W = s.W[q] + r;
#endif
#if MPKI_PRECISION == 2
    split_kernel<<<column_grid(m, x.w), 256, 0, stream>>>(m, x.w, L, W, s.ld, s.Ls[q] + r,
                                                          s.Ws[q] + r);
#elif MPKI_PRECISION == 0
    __half *Lh = (__half *)s.Ls[q], *Wh = (__half *)s.Ws[q];
    exponents_kernel<<<x.w, 512, 0, stream>>>(m, L, W, s.ld, s.exponents);
    MPKI_TRY(cudaGetLastError());
    const dim3 grid = column_grid((m + 1) / 2, x.w);
    if (s.terms == 3)
        halves_kernel<3><<<grid, 256, 0, stream>>>(m, x.w, L, W, s.ld, s.exponents, Lh, Wh,
                                                   s.scaled + gate, s.ctl);
    else
        halves_kernel<1><<<grid, 256, 0, stream>>>(m, x.w, L, W, s.ld, s.exponents, Lh, Wh,
                                                   s.scaled + gate, s.ctl);
#endif
    (void)q, (void)gate, (void)stream;
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/** A block of columns begins: orig, what the block before kept, and columns of A less that block's
 *  update, whose gate is `gate`; -1: there was no block before. */
template <bool H>
static mpk_status begin_block(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s,
                              const products &p, const products &panel_products, const span &x,
                              const span &old, int gate) {
    const cublasOperation_t op = H ? CUBLAS_OP_C : CUBLAS_OP_T;
    const int n = d->n, q = x.q;
    const int64_t ld = s.ld, r = x.c + x.came;
    T *A = (T *)d->A;
    unpermuted_kernel<<<(x.columns + 255) / 256, 256, 0, p.stream>>>(x.c, x.columns, s.orig[q]);
    if (x.came)
        copy_kernel<<<column_grid(n - x.c, x.came), 256, 0, p.stream>>>(
            n - x.c, x.came, s.panel[q ^ 1] + x.c + old.w * ld, ld, s.panel[q] + x.c, ld,
            s.scalars + MINUS);
    copy_kernel<<<column_grid(n - (int)r, x.columns - x.came), 256, 0, p.stream>>>(
        n - (int)r, x.columns - x.came, A + r + r * d->lda, d->lda, s.panel[q] + r + x.came * ld,
        ld, s.scalars + MINUS);
    MPKI_TRY(cudaGetLastError());
    if (gate >= 0) {
        const T *L = s.L[q ^ 1] + r, *W = s.W[q ^ 1] + r, *minus = s.scalars + MINUS;
        split_part split;
        if (s.terms) {
            split = split_of(s, panel_products, q ^ 1, MPKI_PRECISION == 0 ? 0 : r, gate, minus);
            L = split.L, W = split.W, minus = split.gate;
        }
        MPKI_TRY(product(panel_products, op, n - (int)r, x.columns - x.came,
                         s.terms ? old.w * s.terms : old.w, minus, L, ld, W, ld,
                         s.scalars + ALWAYS_ONE, s.panel[q] + r + x.came * ld, ld));
    }
    return MPK_OK;
}

/** Blocks from column `from` to `end` (rows to n). Stops queueing when a failure is seen. */
template <bool H, bool PIVOT>
static mpk_status pipeline(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s, int from,
                           int end, R limit) {
    const int n = d->n;
    const products p = {cuda->panel_blas, cuda->panel, d->tf32 == 1};
    const int inputs = MPKI_PRECISION == 0 && s.terms ? HALVES : d->tf32 % 2;
    const products u = {cuda->update_blas, cuda->update, inputs};
    const products panel_products = {cuda->panel_blas, cuda->panel, inputs};
    const int64_t ld = s.ld;
    T *A = (T *)d->A, *one = s.scalars + ALWAYS_ONE;
    start_kernel<<<1, 128, 0, p.stream>>>(s.ctl, s.scalars, s.gates);
    MPKI_TRY(cudaGetLastError());
    span x = next_span<PIVOT>(s, from, end, NULL), old = x;
    for (int J = 0;; ++J) {
        const int slot = J % MPKI_RING, q = x.q;
        if (J >= 2) {
            const int past = (J - 2) % MPKI_RING;
            /* a kernel that waits for another stream's event is not launched early; the host is two
             * blocks ahead and can wait instead */
            if (MPKI_PRECISION == 1 && n - x.c <= SMALL_CHAIN) {
                MPKI_TRY(cudaEventSynchronize(cuda->update_done[past]));
                MPKI_TRY(cudaEventSynchronize(cuda->side_done[past]));
            } else {
                MPKI_TRY(cudaStreamWaitEvent(p.stream, cuda->update_done[past], 0));
                MPKI_TRY(cudaStreamWaitEvent(p.stream, cuda->side_done[past], 0));
            }
            if (PIVOT) { /* not too far ahead of a failure */
                MPKI_TRY(cudaEventSynchronize(cuda->side_done[past]));
                if (*(volatile int *)(cuda->pinned + 64 * past)) break;
            }
        }
#if MPKI_PRECISION == 1
        const int64_t r = x.c + x.came;
        if (n - r <= SMALL_PANEL) {
            T *kept = s.panel[q ^ 1] + x.c + (J ? old.w * ld : 0);
            const update_job job = {n - (int)r,
                                    x.columns - x.came,
                                    J ? old.w : 0,
                                    s.L[q ^ 1] + r,
                                    s.W[q ^ 1] + r,
                                    A + r + r * d->lda,
                                    s.panel[q] + r + x.came * ld,
                                    ld,
                                    d->lda,
                                    ld,
                                    s.scalars + MINUS,
                                    x.came,
                                    n - x.c,
                                    x.c,
                                    x.columns,
                                    kept,
                                    s.panel[q] + x.c,
                                    s.orig[q]};
            MPKI_PASS(update(cuda, job, p.stream, n - r <= SMALL_CHAIN));
        } else
#endif
            MPKI_PASS((begin_block<H>(cuda, d, s, p, panel_products, x, old, J - 1)));
        MPKI_PASS((panels<H, PIVOT>(cuda, d, s, p, x, J, limit)));
        MPKI_PASS(split_block(cuda, n, s, x, J, p.stream));
        MPKI_TRY(cudaEventRecord(cuda->panel_done[slot], p.stream));

        const bool last = x.c + x.w >= end;
        const span y = last ? x : next_span<PIVOT>(s, from, end, &x);
        const int64_t next = last ? end : y.c + y.columns;
        MPKI_TRY(cudaStreamWaitEvent(u.stream, cuda->panel_done[slot], 0));
        T *C = A + next + next * d->lda;
#if MPKI_PRECISION == 1
        if (n - next <= SMALL_TRAILING) {
            const int m = n - (int)next;
            const update_job job = {m, m,  x.w,    s.L[q] + next, s.W[q] + next,        C,
                                    C, ld, d->lda, d->lda,        s.scalars + GATES + J};
            MPKI_PASS(update(cuda, job, u.stream, false));
        } else
#endif
        {
            const int64_t row = MPKI_PRECISION == 0 ? next - (x.c + x.w + x.kept) : next;
            const T *gate = s.scalars + GATES + J;
            const split_part split =
                s.terms ? split_of(s, u, q, row, J, gate) : split_part{NULL, NULL, NULL, 0};
            MPKI_PASS((lower_update<H>(cuda, u, n - (int)next, x.w, s.L[q] + next, s.W[q] + next,
                                       ld, C, d->lda, gate, one, 0, s.terms ? &split : NULL)));
        }
        MPKI_TRY(cudaEventRecord(cuda->update_done[slot], u.stream));

        MPKI_TRY(cudaStreamWaitEvent(cuda->side, cuda->panel_done[slot], 0));
        MPKI_PASS(
            commit(cuda, d, s, x.c, x.w, x.kept, q, PIVOT, s.scalars + GATES + J, cuda->side));
        if (PIVOT)
            MPKI_TRY(cudaMemcpyAsync(cuda->pinned + 64 * slot, s.ctl, 32, cudaMemcpyDeviceToHost,
                                     cuda->side));
        MPKI_TRY(cudaEventRecord(cuda->side_done[slot], cuda->side));
        if (last) break;
        old = x, x = y;
    }
    return MPK_OK;
}

static mpk_status drain(mpki_cuda *cuda) {
    MPKI_TRY(cudaStreamSynchronize(cuda->panel));
    MPKI_TRY(cudaStreamSynchronize(cuda->update));
    MPKI_TRY(cudaStreamSynchronize(cuda->side));
    return MPK_OK;
}

/** After a failure: the panels of the block before the failed panel become a short block, columns
 * that failed go behind *end; *from is where to start again. */
template <bool H>
static mpk_status recover(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s,
                          const control &ctl, int *from, int *end) {
    const int B = s.tile, n = d->n;
    span x = next_span<true>(s, *from, *end, NULL);
    while (ctl.panel >= x.c + x.w) x = next_span<true>(s, *from, *end, &x);
    const int done = ctl.panel - x.c, nb = x.columns - done < B ? x.columns - done : B;
    const int take = done + nb >= x.columns && !x.kept ? nb : B - KEEP, q = x.q;
    const int64_t ld = s.ld, at = ctl.panel, below = at + nb;
    const products u = {cuda->update_blas, cuda->update, d->tf32 == 1};
    T *A = (T *)d->A, *P = s.panel[q], *minus = s.scalars + ALWAYS_MINUS,
      *one = s.scalars + ALWAYS_ONE;
    /* columns that were not factored: back to A, as far as they are up to date */
    if (take < nb && n > below)
        MPKI_TRY(cudaMemcpy2DAsync(P + below + (done + take) * ld, sizeof(T) * ld, s.save + below,
                                   sizeof(T) * ld, sizeof(T) * (n - below), nb - take,
                                   cudaMemcpyDeviceToDevice, u.stream));
    copy_kernel<<<column_grid(n - (int)at, x.columns - done), 256, 0, u.stream>>>(
        n - (int)at, x.columns - done, P + at + done * ld, ld, A + at + at * d->lda, d->lda, one);
    MPKI_TRY(cudaGetLastError());
    if (done) {
        MPKI_PASS(commit(cuda, d, s, x.c, done, KEEP, q, true, one, u.stream));
        /* the failed panel itself has this block's updates */
        MPKI_PASS((lower_update<H>(cuda, u, n - (int)below, done, s.L[q] + below, s.W[q] + below,
                                   ld, A + below + below * d->lda, d->lda, minus, one)));
    }
    int put[TILE_MAX] = {0};
    for (int k = 0; k < take; ++k) put[ctl.order[k] & PLACE] = ctl.bad[k];
    for (int k = nb - 1; k >= 0; --k) {
        if (!put[k]) continue;
        const int column = (int)at + k, to = --*end;
        ++d->delayed;
        if (column != to)
            swap_kernel<H, T>
                <<<(n + 255) / 256, 256, 0, u.stream>>>(n, A, d->lda, column, to, d->perm);
    }
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(cudaStreamSynchronize(u.stream));
    *from = (int)at;
    ++d->restarts;
    return MPK_OK;
}

/** The number of which this is the key, on the host. */
static double key_value(unsigned k) {
    if (sizeof(R) == 4) {
        float f;
        memcpy(&f, &k, 4);
        return f;
    }
    double x;
    const uint64_t bits = (uint64_t)k << 32;
    memcpy(&x, &bits, 8);
    return x;
}

static unsigned key_of(double x) {
    if (sizeof(R) == 4) {
        const float f = (float)x;
        unsigned k;
        memcpy(&k, &f, 4);
        return k;
    }
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return (unsigned)(bits >> 32);
}

/** perm and kind before the first pivot. A thread takes rows in turns; no barrier. */
static __global__ void identity(int n, int *perm, int *kind) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        perm[i] = i, kind[i] = 0;
}

template <bool H, bool PIVOT>
static mpk_status ldlt(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s) {
    const int n = d->n;
    cudaStream_t user = (cudaStream_t)d->stream;
#if MPKI_PRECISION == 1
    MPKI_PASS(panel_attributes(cuda));
#endif
    MPKI_TRY(cudaFuncSetAttribute(tile_kernel<H, PIVOT, T>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)tile_bytes<T>(cuda)));
    MPKI_TRY(cudaEventRecord(cuda->fork, user));
    MPKI_TRY(cudaStreamWaitEvent(cuda->panel, cuda->fork, 0));
    MPKI_TRY(cudaStreamWaitEvent(cuda->update, cuda->fork, 0));
    MPKI_TRY(cudaStreamWaitEvent(cuda->side, cuda->fork, 0));
    control *ctl = (control *)(cuda->pinned + 1024);
    memset(ctl, 0, sizeof *ctl);
    ctl->zero_tolerance = d->zero_tolerance;
    ctl->largest = key_of(d->most);
    MPKI_TRY(cudaMemcpyAsync(s.ctl, ctl, sizeof *ctl, cudaMemcpyHostToDevice, cuda->panel));
    if (!(d->most > 0))
        largest_kernel<<<dim3(4, n < 1024 ? n : 1024), 256, 0, cuda->panel>>>(n, (const T *)d->A,
                                                                              d->lda, s.ctl);
    identity<<<(n + 255) / 256 + 1, 256, 0, cuda->panel>>>(n, d->perm, d->kind);
    MPKI_TRY(cudaGetLastError());
    d->zeros = d->delayed = d->restarts = d->slow_tiles = 0;
    d->stages = 1;
    int from = 0, end = n, tail = n;
    const R none = sizeof(R) == 4 ? (R)FLT_MAX : (R)DBL_MAX;
    while (from < n) {
        const bool last = d->stages > 3;
        if (PIVOT && last) { /* what no tile takes is factored column by column */
            const double tiny = key_value(ctl->largest) * d->zero_tolerance;
            MPKI_PASS(bk_run<H>(cuda, d, s.bk, from, true, tiny, s.scalars));
            break;
        }
        const R limit = !(d->u > 0) ? none : (R)(1 / d->u);
        MPKI_PASS((pipeline<H, PIVOT>(cuda, d, s, from, end, limit)));
        MPKI_PASS(drain(cuda));
        MPKI_TRY(cudaMemcpyAsync(ctl, s.ctl, sizeof *ctl, cudaMemcpyDeviceToHost, cuda->panel));
        MPKI_TRY(cudaStreamSynchronize(cuda->panel));
        if (ctl->nonfinite)
            return refuse(cuda, MPK_ERR_INPUT, "the matrix holds a NaN or an infinity");
        d->zeros = ctl->zeros, d->slow_tiles = ctl->slow_tiles;
        d->largest = key_value(ctl->largest), d->max_l = key_value(ctl->max_l);
        if (ctl->failed) {
            const control copy = *ctl;
            MPKI_PASS(recover<H>(cuda, d, s, copy, &from, &end));
        } else {
            from = end;
        }
        if (from == end && end < n) {           /* one more stage, for what was put off */
            if (n - end == tail) d->stages = 3; /* the stage gained nothing */
            tail = n - end;
            end = n;
            ++d->stages;
        }
    }
    MPKI_TRY(cudaEventRecord(cuda->join, cuda->panel));
    MPKI_TRY(cudaStreamWaitEvent(user, cuda->join, 0));
    return d->zeros ? MPK_SINGULAR : MPK_OK;
}

/** How methods without look-ahead begin, on the updates' stream. */
static mpk_status plain_begin(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s) {
    const int n = d->n;
    cudaStream_t stream = cuda->update;
    control *ctl = (control *)(cuda->pinned + 1024);
    MPKI_TRY(cudaEventRecord(cuda->fork, (cudaStream_t)d->stream));
    MPKI_TRY(cudaStreamWaitEvent(stream, cuda->fork, 0));
    memset(ctl, 0, sizeof *ctl);
    ctl->largest = key_of(d->most);
    MPKI_TRY(cudaMemcpyAsync(s.ctl, ctl, sizeof *ctl, cudaMemcpyHostToDevice, stream));
    if (!(d->most > 0))
        largest_kernel<<<dim3(4, n < 1024 ? n : 1024), 256, 0, stream>>>(n, (const T *)d->A, d->lda,
                                                                         s.ctl);
    identity<<<(n + 255) / 256 + 1, 256, 0, stream>>>(n, d->perm, d->kind);
    start_kernel<<<1, 128, 0, stream>>>(s.ctl, s.scalars, 0);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(cudaMemcpyAsync(ctl, s.ctl, sizeof *ctl, cudaMemcpyDeviceToHost, stream));
    MPKI_TRY(cudaStreamSynchronize(stream));
    if (ctl->nonfinite) return refuse(cuda, MPK_ERR_INPUT, "the matrix holds a NaN or an infinity");
    d->zeros = d->delayed = d->restarts = d->slow_tiles = 0;
    d->stages = 1, d->max_l = 0;
    d->largest = key_value(ctl->largest);
    return MPK_OK;
}

/** Bunch-Kaufman or rook pivoting throughout. */
template <bool H>
static mpk_status bunch_kaufman(mpki_cuda *cuda, mpki_cuda_matrix *d, const ldlt_space &s) {
    MPKI_PASS(plain_begin(cuda, d, s));
    MPKI_PASS(bk_run<H>(cuda, d, s.bk, 0, d->method == MPKI_CUDA_ROOK,
                        d->largest * d->zero_tolerance, s.scalars));
    return d->zeros ? MPK_SINGULAR : MPK_OK;
}

} // namespace mpki
#endif
