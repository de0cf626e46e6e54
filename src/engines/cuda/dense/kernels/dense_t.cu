/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense LDLT on the device, its solves, and what refinement needs, for one kind of entries. */
#include "aasen.cuh"
#include "butterfly.cuh"
#include "ldlt.cuh"
#include "residuals.cuh"
#include "solve.cuh"
#include "vectors.cuh"

namespace mpki {

#define COMPLEX (MPKI_PRECISION >= 2)
#if MPKI_PRECISION % 2 == 0
typedef T single_entry;
#else
typedef T double_entry;
#endif
#if MPKI_PRECISION == 0
typedef double double_entry;
#elif MPKI_PRECISION == 1
typedef float single_entry;
#elif MPKI_PRECISION == 2
typedef cx<double> double_entry;
#else
typedef cx<float> single_entry;
#endif

static int64_t factor_bytes(const mpki_cuda *cuda, const mpki_cuda_matrix *d, char *work,
                            ldlt_space *s) {
    aasen_space own;
    const int64_t bytes = ldlt_layout(cuda, d, work, s);
    return d->method == MPKI_CUDA_AASEN ? bytes + aasen_layout(cuda, d->n, NULL, &own) : bytes;
}

static int width(mpki_cuda *cuda, int n) {
    return aasen_width(cuda, n);
}

static int64_t solving_bytes(const mpki_cuda *cuda, const mpki_cuda_matrix *d, int64_t nrhs) {
    return d->method == MPKI_CUDA_AASEN ? aasen_solve_bytes(cuda, d->n, nrhs)
                                        : solve_bytes(cuda, d->n, nrhs);
}

/** Does a tile fit into a thread block's shared memory? Not where the code was made for a GPU that
 *  has more of it. */
static int fits(mpki_cuda *cuda) {
    const size_t need = std::max(tile_bytes<T>(cuda), large_shared(cuda) ? panel_bytes(cuda) : 0);
    if (need <= cuda->shared_max) return MPK_OK;
    return refuse(
        cuda, MPK_ERR_DEVICE,
        "dense matrices need %zu KiB of shared memory with code for compute capability "
        "%d.%d, and CUDA device %d has %zu: METAPACK_CUDA_ARCHITECTURES must have code for "
        "%d.%d, or 80-virtual alone",
        (need + 1023) / 1024, cuda->code / 10, cuda->code % 10, cuda->device,
        cuda->shared_max / 1024, cuda->capability / 10, cuda->capability % 10);
}

static int workspace(mpki_cuda *cuda, const mpki_cuda_matrix *d, int64_t nrhs, int64_t *factorize,
                     int64_t *solves, int64_t *extra) {
    ldlt_space s;
    MPKI_PASS(fits(cuda));
    *factorize = factor_bytes(cuda, d, NULL, &s);
    *solves = solving_bytes(cuda, d, nrhs);
    *extra = d->method == MPKI_CUDA_BUTTERFLY ? (int64_t)sizeof(R) * d->n * d->depth
             : d->method == MPKI_CUDA_AASEN   ? aasen_extra(cuda, d->n, NULL).bytes
                                              : 0;
    return MPK_OK;
}

static int enough(mpki_cuda *cuda, int64_t have, int64_t need) {
    if (need <= have) return MPK_OK;
    return refuse(cuda, MPK_ERR_ARGUMENT, "the workspace has %lld bytes; %lld are needed",
                  (long long)have, (long long)need);
}

template <bool H> static mpk_status factorize_as(mpki_cuda *cuda, mpki_cuda_matrix *d) {
    ldlt_space s;
    MPKI_PASS(enough(cuda, d->work_bytes, factor_bytes(cuda, d, (char *)d->work, &s)));
    if (d->method == MPKI_CUDA_AASEN) return aasen<H>(cuda, d, s);
    if (d->method == MPKI_CUDA_TILE) return ldlt<H, true>(cuda, d, s);
    if (d->method == MPKI_CUDA_BUTTERFLY) {
        cudaStream_t stream = (cudaStream_t)d->stream;
        R *u = (R *)d->extra;
        butterfly_fill_kernel<<<256, 256, 0, stream>>>(d->n, d->depth, (uint64_t)d->seed, u);
        MPKI_TRY(cudaGetLastError());
        MPKI_PASS(butterfly_apply<H>(cuda, d->n, d->depth, u, (T *)d->A, d->lda, stream));
    } else if (d->method == MPKI_CUDA_BUNCH_KAUFMAN || d->method == MPKI_CUDA_ROOK) {
        return bunch_kaufman<H>(cuda, d, s);
    } else if (d->method != MPKI_CUDA_NONE) {
        return refuse(cuda, MPK_ERR_UNSUPPORTED, "the device has no such method");
    }
    return ldlt<H, false>(cuda, d, s);
}

static int factorize(mpki_cuda *cuda, mpki_cuda_matrix *d) {
    MPKI_PASS(fits(cuda));
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (d->n == 0) return MPK_OK;
#if COMPLEX
    if (d->hermitian) return factorize_as<true>(cuda, d);
#endif
    return factorize_as<false>(cuda, d);
}

template <bool H>
static mpk_status solve_as(mpki_cuda *cuda, const mpki_cuda_matrix *d, int nrhs, T *X,
                           int64_t ldx) {
    cudaStream_t stream = (cudaStream_t)d->stream;
    const bool turn = d->method == MPKI_CUDA_BUTTERFLY;
    if (d->method == MPKI_CUDA_AASEN) return aasen_solve<H>(cuda, d, nrhs, X, ldx);
    const R *u = (const R *)d->extra;
    if (turn) MPKI_PASS(butterfly_vectors(cuda, d->n, d->depth, u, nrhs, X, ldx, true, stream));
    MPKI_PASS(solve<H>(cuda, d->n, (const T *)d->A, d->lda, d->perm, d->kind, nrhs, X, ldx,
                       (char *)d->work, stream));
    if (turn) MPKI_PASS(butterfly_vectors(cuda, d->n, d->depth, u, nrhs, X, ldx, false, stream));
    return MPK_OK;
}

static int solve_entry(mpki_cuda *cuda, const mpki_cuda_matrix *d, int nrhs, void *B, int64_t ldb) {
    MPKI_PASS(fits(cuda));
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_PASS(enough(cuda, d->work_bytes, solving_bytes(cuda, d, nrhs)));
    if (d->n == 0 || nrhs == 0) return MPK_OK;
#if COMPLEX
    if (d->hermitian) return solve_as<true>(cuda, d, nrhs, (T *)B, ldb);
#endif
    return solve_as<false>(cuda, d, nrhs, (T *)B, ldb);
}

static int pivots(mpki_cuda *cuda, const mpki_cuda_matrix *d, mpki_cuda_pivots *out) {
    const int blocks = 32;
    double *part, *host;
    cudaStream_t stream = (cudaStream_t)d->stream;
    MPKI_PASS(scratch(cuda, 6 * blocks, &part, &host));
    inertia_kernel<false><<<blocks, 256, 0, stream>>>(d->n, (const T *)d->A, d->lda, d->kind, part);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(
        cudaMemcpyAsync(host, part, sizeof(double) * 6 * blocks, cudaMemcpyDeviceToHost, stream));
    MPKI_TRY(cudaStreamSynchronize(stream));
    *out = {0, 0, 0, 0, INFINITY, 0};
    for (int b = 0; b < blocks; ++b, host += 6) {
        out->positive += (int64_t)host[0], out->negative += (int64_t)host[1];
        out->zero += (int64_t)host[2], out->pairs += (int64_t)host[5];
        out->least = host[3] < out->least ? host[3] : out->least;
        out->most = host[4] > out->most ? host[4] : out->most;
    }
    return MPK_OK;
}

static dim3 sheet(int64_t rows, int64_t columns) {
    const int64_t x = (rows + 255) / 256;
    return dim3(x < 1    ? 1
                : x > 64 ? 64
                         : (unsigned)x,
                columns < 1      ? 1
                : columns > 8192 ? 8192
                                 : (unsigned)columns);
}

static bool same_width(mpk_scalar kind) {
    return kind == (mpk_scalar)MPKI_PRECISION;
}

static int triangle(mpki_cuda *cuda, int n, mpk_scalar kind, const void *from, int64_t ldf,
                    int upper, double scale, void *to, int64_t ldt, int back, void *stream) {
    cudaStream_t s = (cudaStream_t)stream;
    const dim3 grid = sheet(n, n);
    if (same_width(kind))
        triangle_kernel<<<grid, 256, 0, s>>>(n, (const T *)from, ldf, upper, scale, (T *)to, ldt,
                                             back);
    else if (kind % 2)
        triangle_kernel<<<grid, 256, 0, s>>>(n, (const double_entry *)from, ldf, upper, scale,
                                             (T *)to, ldt, back);
    else
        triangle_kernel<<<grid, 256, 0, s>>>(n, (const single_entry *)from, ldf, upper, scale,
                                             (T *)to, ldt, back);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* `scale` NULL: 1 */
template <class F>
static void copy_from(int64_t rows, int64_t cols, const F *from, int64_t ldf, T *to, int64_t ldt,
                      const double *scale, cudaStream_t s) {
    if (!scale)
        copy_columns_kernel<<<sheet(rows, cols), 256, 0, s>>>(rows, cols, from, ldf, to, ldt);
    for (int64_t c = 0; scale && c < cols; c += FACTORS) {
        const int64_t some = cols - c < FACTORS ? cols - c : FACTORS;
        column_factors f;
        for (int64_t k = 0; k < some; ++k) f.m[k] = scale[c + k];
        scale_columns_kernel<<<sheet(rows, some), 256, 0, s>>>(rows, some, from + c * ldf, ldf,
                                                               to + c * ldt, ldt, f);
    }
}

static int copy(mpki_cuda *cuda, int64_t rows, int64_t cols, mpk_scalar kind, const void *from,
                int64_t ldf, void *to, int64_t ldt, const double *scale, void *stream) {
    cudaStream_t s = (cudaStream_t)stream;
    if (rows <= 0 || cols <= 0) return MPK_OK;
    if (same_width(kind))
        copy_from(rows, cols, (const T *)from, ldf, (T *)to, ldt, scale, s);
    else if (kind % 2)
        copy_from(rows, cols, (const double_entry *)from, ldf, (T *)to, ldt, scale, s);
    else
        copy_from(rows, cols, (const single_entry *)from, ldf, (T *)to, ldt, scale, s);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static T entry_of(const double a[2]) {
#if COMPLEX
    return T{(R)a[0], (R)a[1]};
#else
    return (T)a[0];
#endif
}

static int axpy(mpki_cuda *cuda, int64_t n, int64_t cols, const double alpha[2], const void *x,
                int64_t ldx, void *y, int64_t ldy, void *stream) {
    axpy_kernel<<<sheet(n, cols), 256, 0, (cudaStream_t)stream>>>(n, cols, entry_of(alpha),
                                                                  (const T *)x, ldx, (T *)y, ldy);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int dot(mpki_cuda *cuda, int64_t n, int64_t cols, const void *x, int64_t ldx, const void *y,
               int64_t ldy, double *result, void *stream) {
    const int blocks = 64;
    const int64_t count = 2 * blocks * cols;
    double *part, *host;
    cudaStream_t s = (cudaStream_t)stream;
    if (cols <= 0) return MPK_OK;
    MPKI_PASS(scratch(cuda, count, &part, &host));
    dot_kernel<<<dim3(blocks, (unsigned)cols), 256, 0, s>>>((int)n, (const T *)x, ldx, (const T *)y,
                                                            ldy, part);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(cudaMemcpyAsync(host, part, sizeof(double) * count, cudaMemcpyDeviceToHost, s));
    MPKI_TRY(cudaStreamSynchronize(s));
    for (int64_t c = 0; c < cols; ++c, host += 2 * blocks) {
        result[2 * c] = result[2 * c + 1] = 0;
        for (int b = 0; b < blocks; ++b)
            result[2 * c] += host[2 * b], result[2 * c + 1] += host[2 * b + 1];
    }
    return MPK_OK;
}

static int64_t passes_bytes(int64_t n) {
    return (n + RT - 1) / RT * n * (int64_t)sizeof(sums<T>) + 256;
}

static int64_t residual_bytes(int64_t n, int64_t nrhs) {
    const int64_t passes = passes_bytes(n);
    const int64_t products =
        nrhs <= FEW_RESIDUALS || n == 0 ? 0 : residuals_layout(n, nrhs, NULL).bytes + 256;
    return passes > products ? passes : products;
}

static mpk_status tiles(mpki_cuda *cuda, int n, int hermitian, int upper, const T *A, int64_t lda,
                        const T *x, sums<T> *part, cudaStream_t s) {
    const int64_t t = (n + RT - 1) / RT, count = t * (t + 1) / 2;
#if COMPLEX
    if (hermitian)
        residual_tiles_kernel<true><<<(unsigned)count, 256, 0, s>>>(n, upper, A, lda, x, part);
    else
#endif
        residual_tiles_kernel<false><<<(unsigned)count, 256, 0, s>>>(n, upper, A, lda, x, part);
    (void)hermitian;
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* error[c], from `parts` parts of each column; waits for the stream. error NULL: nothing to do */
static mpk_status read_errors(mpki_cuda *cuda, int cols, int parts, const double *out, double *host,
                              mpki_cuda_error *error, cudaStream_t s) {
    if (!error) return MPK_OK;
    MPKI_TRY(
        cudaMemcpyAsync(host, out, sizeof(double) * 4 * parts * cols, cudaMemcpyDeviceToHost, s));
    MPKI_TRY(cudaStreamSynchronize(s));
    for (int c = 0; c < cols; ++c) {
        error[c] = {0, 0, 0, 0};
        for (int k = 0; k < parts; ++k, host += 4) {
            error[c].omega = fmax(error[c].omega, host[0]);
            error[c].r = fmax(error[c].r, host[1]);
            error[c].x = fmax(error[c].x, host[2]);
            error[c].b = fmax(error[c].b, host[3]);
        }
    }
    return MPK_OK;
}

/* A column after the other, by a pass over A each. */
static mpk_status residual_passes(mpki_cuda *cuda, int n, int hermitian, int upper, const T *A,
                                  int64_t lda, int nrhs, const T *x, int64_t ldx, const T *b,
                                  int64_t ldb, T *r, int64_t ldr, mpki_cuda_error *error,
                                  void *work, cudaStream_t s) {
    const int blocks = (n + 255) / 256, t = (n + RT - 1) / RT;
    sums<T> *part = (sums<T> *)work;
    double *out, *host;
    MPKI_PASS(scratch(cuda, 4 * (int64_t)blocks * nrhs, &out, &host));
    for (int c = 0; c < nrhs; ++c) {
        const T *xc = x + c * ldx, *bc = b ? b + c * ldb : NULL;
        MPKI_PASS(tiles(cuda, n, hermitian, upper, A, lda, xc, part, s));
        residual_sum_kernel<<<blocks, 256, 0, s>>>(n, t, part, xc, bc, r + c * ldr,
                                                   out + 4 * (int64_t)blocks * c);
        MPKI_TRY(cudaGetLastError());
    }
    return read_errors(cuda, nrhs, blocks, out, host, error, s);
}

static int residual(mpki_cuda *cuda, int n, int hermitian, int upper, const void *A, int64_t lda,
                    int nrhs, const void *x, int64_t ldx, const void *b, int64_t ldb, void *r,
                    int64_t ldr, mpki_cuda_error *error, void *work, void *stream) {
    const int parts = 32;
    cudaStream_t s = (cudaStream_t)stream;
    double *out, *host;
    if (nrhs <= FEW_RESIDUALS)
        return residual_passes(cuda, n, hermitian, upper, (const T *)A, lda, nrhs, (const T *)x,
                               ldx, (const T *)b, ldb, (T *)r, ldr, error, work, s);
    const residuals_space space =
        residuals_layout(n, nrhs, (char *)(((uintptr_t)work + 255) / 256 * 256));
    MPKI_PASS(scratch(cuda, 4 * (int64_t)parts * nrhs, &out, &host));
#if COMPLEX
    if (hermitian)
        MPKI_PASS(residual_products<true>(cuda, n, upper, (const T *)A, lda, nrhs, (const T *)x,
                                          ldx, space, s));
    else
#endif
        MPKI_PASS(residual_products<false>(cuda, n, upper, (const T *)A, lda, nrhs, (const T *)x,
                                           ldx, space, s));
    residuals_sum_kernel<<<dim3(parts, nrhs), 256, 0, s>>>(n, (const T *)x, ldx, (const T *)b, ldb,
                                                           space.y, space.w, (T *)r, ldr, out);
    MPKI_TRY(cudaGetLastError());
    return read_errors(cuda, nrhs, parts, out, host, error, s);
}

static int largest(mpki_cuda *cuda, int n, const void *A, int64_t lda, int upper, double *most,
                   double *norm, void *stream) {
    cudaStream_t s = (cudaStream_t)stream;
    const dim3 grid(2, n < 256 ? n : 256);
    const int blocks = (n + 255) / 256, t = (n + RT - 1) / RT;
    const int count = (int)(grid.x * grid.y);
    double *out, *host;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_PASS(scratch(cuda, count > blocks ? count : blocks, &out, &host));
    if (most) {
        triangle_max_kernel<<<grid, 256, 0, s>>>(n, (const T *)A, lda, upper, out);
        MPKI_TRY(cudaGetLastError());
        MPKI_TRY(cudaMemcpyAsync(host, out, sizeof(double) * count, cudaMemcpyDeviceToHost, s));
        MPKI_TRY(cudaStreamSynchronize(s));
        *most = 0;
        for (int k = 0; k < count; ++k) *most = host[k] > *most ? host[k] : *most;
    }
    if (!norm) return MPK_OK;
    const int64_t need = passes_bytes(n);
    if (need > cuda->sums_bytes) {
        if (cuda->sums) cudaFree(cuda->sums);
        cuda->sums = NULL, cuda->sums_bytes = 0;
        MPKI_TRY(cudaMalloc(&cuda->sums, (size_t)need));
        cuda->sums_bytes = need;
    }
    sums<T> *part = (sums<T> *)cuda->sums;
    MPKI_PASS(tiles(cuda, n, 0, upper, (const T *)A, lda, NULL, part, s));
    norm_kernel<<<blocks, 256, 0, s>>>(n, t, part, out);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(cudaMemcpyAsync(host, out, sizeof(double) * blocks, cudaMemcpyDeviceToHost, s));
    MPKI_TRY(cudaStreamSynchronize(s));
    *norm = 0;
    for (int k = 0; k < blocks; ++k) *norm = host[k] > *norm ? host[k] : *norm;
    return MPK_OK;
}

static int reverse(mpki_cuda *cuda, int n, int nrhs, void *x, int64_t ldx, void *stream) {
    if (n < 2 || nrhs < 1) return MPK_OK;
    reverse_kernel<<<dim3(sheet(n / 2, 1).x, nrhs), 256, 0, (cudaStream_t)stream>>>(n, (T *)x, ldx);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

} // namespace mpki

extern const mpki_cuda_entries FN(cuda_entries);
const mpki_cuda_entries FN(cuda_entries) = {
    mpki::workspace, mpki::factorize, mpki::solve_entry, mpki::pivots, mpki::triangle,
    mpki::largest,   mpki::copy,      mpki::axpy,        mpki::dot,    mpki::residual_bytes,
    mpki::residual,  mpki::reverse,   mpki::width};
