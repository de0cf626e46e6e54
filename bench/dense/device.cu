/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense LDLT on a CUDA device: checks, then times, beside cuSOLVER. Loads the module as the library
 * does. Rows of JSON on the file of --out, a table on standard output.
 *
 *   device --module libmetapack_cuda.so --out rows.jsonl [--check [--quick]] [--tiny] [--time]
 *          [--updates] [--profile N] [--vendors sytrf,sytrf-none,getrf,potrf] [--blocks 0,256]
 *          [--sizes 512,...] [--letters sdcz] [--methods tile,none] [--repeat 5] */
#include "matrices.cuh"
#include "../../src/engines/cuda/module/api.h"

#include <algorithm>
#include <chrono>
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

using namespace mpki;

#define SCALAR kind_of<T>::scalar
#define CHECK(call)                                                                                \
    do {                                                                                           \
        auto e_ = (call);                                                                          \
        if (e_) {                                                                                  \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, (int)e_);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const mpki_cuda_table *api;
static mpki_cuda *cuda;
static FILE *rows;
static cublasHandle_t blas;
static cusolverDnHandle_t solver;
static int failures;

template <class T> struct kind_of;
template <> struct kind_of<float> {
    static const char letter = 's';
    static const mpk_scalar scalar = MPK_S;
    static const cudaDataType_t type = CUDA_R_32F;
    static constexpr double flops = 1, eps = 0x1p-23;
};
template <> struct kind_of<double> {
    static const char letter = 'd';
    static const mpk_scalar scalar = MPK_D;
    static const cudaDataType_t type = CUDA_R_64F;
    static constexpr double flops = 1, eps = 0x1p-52;
};
template <> struct kind_of<cx<float>> {
    static const char letter = 'c';
    static const mpk_scalar scalar = MPK_C;
    static const cudaDataType_t type = CUDA_C_32F;
    static constexpr double flops = 4, eps = 0x1p-23;
};
template <> struct kind_of<cx<double>> {
    static const char letter = 'z';
    static const mpk_scalar scalar = MPK_Z;
    static const cudaDataType_t type = CUDA_C_64F;
    static constexpr double flops = 4, eps = 0x1p-52;
};

template <class T> static T *device_new(int64_t count) {
    void *p = NULL;
    CHECK(cudaMalloc(&p, sizeof(T) * (count > 0 ? count : 1)));
    return (T *)p;
}

/* ---- verification ---------------------------------------------------------------------------- */

/** Full unit lower L from the factor, and F = L D. */
template <class T>
__global__ void expand_kernel(int n, const T *A, int64_t lda, const int *kind, int hermitian, T *L,
                              T *F) {
    const int j = blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        auto l = [&](int r, int c) {
            if (r < c || c < 0 || c >= n) return make<T>(0);
            if (r == c) return make<T>(1);
            if (r == c + 1 && kind[c] == 1) return make<T>(0);
            return A[r + (int64_t)c * lda];
        };
        L[i + (int64_t)j * n] = l(i, j);
        T f = l(i, j) * A[j + (int64_t)j * lda];
        if (kind[j] == 1) f = f + l(i, j + 1) * A[j + 1 + (int64_t)j * lda];
        if (kind[j] == 2) {
            const T e = A[j + (int64_t)(j - 1) * lda];
            f = f + l(i, j - 1) * (hermitian ? conj(e) : e);
        }
        F[i + (int64_t)j * n] = f;
    }
}

/** Aasen: full unit lower L, whose first block column is the identity's, and F = L T from -T's
 *  blocks; a thread an entry. */
template <class T>
__global__ void expand_aasen_kernel(int n, int nb, const T *A, int64_t lda, const T *minus, T *L,
                                    T *F) {
    const int j = blockIdx.y, J = j / nb, last = (n + nb - 1) / nb - 1;
    auto l = [&](int r, int c) {
        return r < c || c < 0 || c >= n ? make<T>(0)
               : r == c                 ? make<T>(1)
               : c < nb                 ? make<T>(0)
                                        : A[r + (int64_t)(c - nb) * lda];
    };
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        L[i + (int64_t)j * n] = l(i, j);
        T f = make<T>(0);
        for (int K = J > 0 ? J - 1 : 0; K <= J + 1 && K <= last; ++K) {
            const T *t = minus + (3 * (int64_t)(K < J ? K : J) + (K == J  ? 0
                                                                  : K > J ? 1
                                                                          : 2)) *
                                     nb * nb;
            for (int k = 0; k < nb && K * nb + k < n && K * nb + k <= i; ++k)
                nfma(f, l(i, K * nb + k), t[k + (j - J * nb) * nb]);
        }
        F[i + (int64_t)j * n] = f;
    }
}

/** R -= P A P^T (full A), the largest modulus into *most as a double's bits. */
template <class T>
__global__ void compare_kernel(int n, const T *A, const int *perm, const T *R,
                               unsigned long long *most) {
    const int j = blockIdx.y;
    double m = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const double d = (double)abs1(R[i + (int64_t)j * n] - A[perm[i] + (int64_t)perm[j] * n]);
        m = d > m || isnan(d) ? d : m;
    }
    if (isnan(m)) m = INFINITY;
    atomicMax(most, (unsigned long long)__double_as_longlong(m));
}

/** r = b - A x in T, s = |A| |x| + |b|, a row a thread: slow, for checks. A full. */
template <class T>
__global__ void residual_kernel(int n, const T *A, int64_t lda, const T *x, const T *b, T *r,
                                double *omega) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T s = b[i];
    double m = (double)modulus(b[i]);
    for (int j = 0; j < n; ++j) {
        const T a = A[i + (int64_t)j * lda];
        nfma(s, a, x[j]);
        m += (double)modulus(a) * (double)modulus(x[j]);
    }
    r[i] = s;
    omega[i] = modulus(s) == 0 ? 0 : (double)modulus(s) / m;
}

template <class T> __global__ void add_kernel(int n, T *x, const T *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] + y[i];
}

template <class T> __global__ void rhs_kernel(int n, T *b) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = from_parts<T>(hash01(i, 7, 99), hash01(i, 8, 99));
}

/** Eigenvalue signs of D: positive, negative, zero. */
static void inertia_of(int n, const std::vector<double> &d, const std::vector<double> &e,
                       const std::vector<int> &kind, int out[3]) {
    out[0] = out[1] = out[2] = 0;
    for (int k = 0; k < n; ++k) {
        if (kind[k] == 1) {
            const double det = d[k] * d[k + 1] - e[k] * e[k];
            if (det < 0)
                ++out[0], ++out[1];
            else
                out[d[k] > 0 ? 0 : 1] += 2;
            ++k;
        } else {
            ++out[d[k] > 0 ? 0 : d[k] < 0 ? 1 : 2];
        }
    }
}

template <class T>
static cublasStatus_t gemm_full(bool conj_b, int n, const T *A, const T *B, T *C) {
    const T one = make<T>(1), nil = make<T>(0);
    return cublasGemmEx(blas, CUBLAS_OP_N, conj_b ? CUBLAS_OP_C : CUBLAS_OP_T, n, n, n, &one, A,
                        kind_of<T>::type, n, B, kind_of<T>::type, n, &nil, C, kind_of<T>::type, n,
                        kind_of<T>::eps < 1e-10 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT);
}

struct job {
    mpki_cuda_matrix d;
    void *full, *b, *x, *r;
    double *omega;
};

template <class T>
static void open_job(job &j, int n, int64_t lda, bool hermitian, int method, int block = 0,
                     int tf32 = 0) {
    memset(&j, 0, sizeof j);
    j.d.scalar = kind_of<T>::scalar;
    j.d.hermitian = hermitian;
    j.d.method = method;
    j.d.n = n, j.d.lda = lda;
    j.d.u = 0.01;
    j.d.zero_tolerance = n * kind_of<T>::eps;
    j.d.A = device_new<T>(lda * n);
    j.d.perm = device_new<int>(n), j.d.kind = device_new<int>(n);
    j.d.depth = 2, j.d.seed = 1, j.d.block = block, j.d.tf32 = tf32;
    int64_t factor_bytes, solve_bytes, extra_bytes;
    if (api->entries[SCALAR]->workspace(cuda, &j.d, 1, &factor_bytes, &solve_bytes, &extra_bytes))
        exit(1);
    j.d.work_bytes = std::max(factor_bytes, solve_bytes);
    j.d.work = device_new<char>(j.d.work_bytes);
    j.d.extra = device_new<char>(extra_bytes);
    j.d.ipiv = device_new<int>(n);
    j.full = device_new<T>((int64_t)n * n);
    j.b = device_new<T>(n), j.x = device_new<T>(n), j.r = device_new<T>(n);
    j.omega = device_new<double>(n);
}

static void close_job(job &j) {
    for (void *p : {j.d.A, (void *)j.d.perm, (void *)j.d.kind, j.d.work, j.full, j.b, j.x, j.r,
                    (void *)j.omega, j.d.extra, (void *)j.d.ipiv})
        cudaFree(p);
}

/** omega of x for b with the full matrix; refines `steps` times; omegas[0..steps]. */
template <class T> static int refine(job &j, int steps, double *omegas) {
    const int n = j.d.n, g = (n + 127) / 128;
    std::vector<double> w(n);
    T *b = (T *)j.b, *x = (T *)j.x, *r = (T *)j.r;
    rhs_kernel<<<g, 128>>>(n, b);
    CHECK(cudaMemcpy(x, b, sizeof(T) * n, cudaMemcpyDeviceToDevice));
    int status = api->entries[SCALAR]->solve(cuda, &j.d, 1, x, n);
    if (mpk_failed((mpk_status)status)) return status;
    for (int s = 0;; ++s) {
        residual_kernel<<<g, 128>>>(n, (const T *)j.full, n, x, b, r, j.omega);
        CHECK(cudaMemcpy(w.data(), j.omega, sizeof(double) * n, cudaMemcpyDeviceToHost));
        omegas[s] = 0;
        for (double v : w)
            if (!(v <= omegas[s])) omegas[s] = v;
        if (s == steps) return 0;
        status = api->entries[SCALAR]->solve(cuda, &j.d, 1, r, n);
        if (mpk_failed((mpk_status)status)) return status;
        add_kernel<<<g, 128>>>(n, x, r);
    }
}

static const char *const method_name[] = {"tile", "none",  "bunch-kaufman",
                                          "rook", "aasen", "butterfly"};

/* want: positive, negative, zero eigenvalues of A (n x n, overwritten), by cuSOLVER. */
template <class T> static void inertia_by_eigenvalues(int n, T *A, int want[3]) {
    size_t ld = 0, lhs = 0;
    cusolverDnParams_t params;
    CHECK(cusolverDnCreateParams(&params));
    const cudaDataType_t wt = kind_of<T>::eps < 1e-10 ? CUDA_R_64F : CUDA_R_32F;
    T *W = device_new<T>(n);
    int *info = device_new<int>(1);
    CHECK(cusolverDnXsyevd_bufferSize(solver, params, CUSOLVER_EIG_MODE_NOVECTOR,
                                      CUBLAS_FILL_MODE_LOWER, n, kind_of<T>::type, A, n, wt, W,
                                      kind_of<T>::type, &ld, &lhs));
    void *dw = device_new<char>(ld);
    std::vector<char> hw(lhs + 1);
    CHECK(cusolverDnXsyevd(solver, params, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_LOWER, n,
                           kind_of<T>::type, A, n, wt, W, kind_of<T>::type, dw, ld, hw.data(), lhs,
                           info));
    std::vector<double> w(n);
    if (wt == CUDA_R_64F) {
        CHECK(cudaMemcpy(w.data(), W, 8 * n, cudaMemcpyDeviceToHost));
    } else {
        std::vector<float> v(n);
        CHECK(cudaMemcpy(v.data(), W, 4 * n, cudaMemcpyDeviceToHost));
        for (int k = 0; k < n; ++k) w[k] = v[k];
    }
    const double top = fmax(fabs(w[0]), fabs(w[n - 1]));
    want[0] = want[1] = want[2] = 0;
    for (double v : w) ++want[fabs(v) <= n * kind_of<T>::eps * top ? 2 : v > 0 ? 0 : 1];
    cudaFree(dw), cudaFree(W), cudaFree(info);
    cusolverDnDestroyParams(params);
}

template <class T> static void check_one(int n, int64_t lda, int f, bool hermitian, int method) {
    job j;
    open_job<T>(j, n, lda, hermitian, method);
    T *A = (T *)j.d.A, *full = (T *)j.full;
    if (f != SINGULAR && f != ZERO) j.d.zero_tolerance = 0; /* graded ones reach below n eps */
    fill(f, n, 1, hermitian, false, A, lda);
    fill(f, n, 1, hermitian, true, full, n);
    CHECK(cudaDeviceSynchronize());
    const mpk_status status = (mpk_status)api->entries[SCALAR]->factorize(cuda, &j.d);
    double residual = INFINITY, omegas[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    /* Aasen's growth takes more steps in single precision */
    const int refinements = method == MPKI_CUDA_AASEN && kind_of<T>::eps > 1e-10 ? 3 : 1;
    bool upper_kept = true;
    int found[3] = {0, 0, 0}, want[3] = {-1, -1, -1}, two = 0;
    if (!mpk_failed(status)) {
        T *L = device_new<T>((int64_t)n * n), *F = device_new<T>((int64_t)n * n),
          *R = device_new<T>((int64_t)n * n);
        unsigned long long *most = device_new<unsigned long long>(1), bits = 0;
        CHECK(cudaMemset(most, 0, 8));
        const dim3 g((n + 255) / 256, n);
        if (method == MPKI_CUDA_AASEN)
            expand_aasen_kernel<<<g, 256>>>(n, api->entries[SCALAR]->width(cuda, n), A, lda,
                                            (const T *)j.d.extra, L, F);
        else
            expand_kernel<<<g, 256>>>(n, A, lda, j.d.kind, hermitian, L, F);
        CHECK(gemm_full(hermitian, n, F, L, R));
        compare_kernel<<<g, 256>>>(n, full, j.d.perm, R, most);
        CHECK(cudaMemcpy(&bits, most, 8, cudaMemcpyDeviceToHost));
        memcpy(&residual, &bits, 8);
        std::vector<T> a((size_t)lda * n);
        std::vector<int> kind(n);
        CHECK(cudaMemcpy(a.data(), A, sizeof(T) * lda * n, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(kind.data(), j.d.kind, sizeof(int) * n, cudaMemcpyDeviceToHost));
        std::vector<double> d(n), e(n);
        for (int k = 0; k < n; ++k) {
            d[k] = re(a[k + (size_t)k * lda]);
            if (kind[k] == 1) e[k] = (double)modulus(a[k + 1 + (size_t)k * lda]), ++two;
            for (int i = 0; i < k; ++i)
                if (!isnan((double)re(a[i + (size_t)k * lda]))) upper_kept = false;
        }
        inertia_of(n, d, e, kind, found);
        if (n <= 600 && (kind_of<T>::flops == 1 || hermitian) && n > 0 &&
            method != MPKI_CUDA_AASEN) { /* the oracle */
            CHECK(cudaMemcpy(R, full, sizeof(T) * n * n, cudaMemcpyDeviceToDevice));
            inertia_by_eigenvalues<T>(n, R, want);
        }
        refine<T>(j, refinements, omegas);
        omegas[1] = omegas[refinements];
        cudaFree(L), cudaFree(F), cudaFree(R), cudaFree(most);
    }
    double amax = j.d.largest > 0 ? j.d.largest : 1;
    const double scaled = residual / (n * kind_of<T>::eps * amax);
    const bool pivoted = method != MPKI_CUDA_NONE;
    const bool singular = f == SINGULAR || f == ZERO;
    bool ok = !mpk_failed(status) && upper_kept && scaled < (pivoted ? 1e3 : 1e6);
    if (!singular && f != INTERIOR) ok = ok && omegas[1] <= 64 * kind_of<T>::eps;
    if (want[0] >= 0 && f != INTERIOR && f != GRADED && f != FIEDLER)
        ok = ok && found[0] == want[0] && found[1] == want[1];
    if (!ok) ++failures;
    fprintf(
        rows,
        "{\"row\": \"check\", \"letter\": \"%c\", \"hermitian\": %d, \"method\": \"%s\", "
        "\"family\": \"%s\", \"n\": %d, \"lda\": %lld, \"status\": %d, \"scaled_residual\": %.3g, "
        "\"omega\": %.3g, \"omega_refined\": %.3g, \"max_l\": %.4g, \"inertia\": [%d, %d, %d], "
        "\"oracle\": [%d, %d, %d], \"pairs\": %d, \"delayed\": %lld, \"stages\": %lld, "
        "\"restarts\": "
        "%lld, \"slow_tiles\": %lld, \"zeros\": %lld, \"ok\": %s}\n",
        kind_of<T>::letter, hermitian, method_name[method], family_name[f], n, (long long)lda,
        status, scaled, omegas[0], omegas[1], j.d.max_l, found[0], found[1], found[2], want[0],
        want[1], want[2], two, (long long)j.d.delayed, (long long)j.d.stages,
        (long long)j.d.restarts, (long long)j.d.slow_tiles, (long long)j.d.zeros,
        ok ? "true" : "false");
    fflush(rows);
    printf(
        "%c%s %-6s %-13s n=%-5d st=%d res=%-8.2g w=%.1e %.1e L=%-6.3g in=%d,%d,%d/%d,%d,%d 2x2=%d "
        "del=%lld stg=%lld slow=%lld zero=%lld %s %s\n",
        kind_of<T>::letter, hermitian ? "h" : " ", method_name[method], family_name[f], n, status,
        scaled, omegas[0], omegas[1], j.d.max_l, found[0], found[1], found[2], want[0], want[1],
        want[2], two, (long long)j.d.delayed, (long long)j.d.stages, (long long)j.d.slow_tiles,
        (long long)j.d.zeros, ok ? "ok" : "FAILED",
        mpk_failed(status) ? api->last_error(cuda)
        : upper_kept       ? ""
                           : "upper triangle touched");
    fflush(stdout);
    close_job(j);
}

/* ---- timing ---------------------------------------------------------------------------------- */

static double median(std::vector<double> t) {
    std::sort(t.begin(), t.end());
    return t[t.size() / 2];
}

template <class F, class G> static double time_s(int repeat, F prepare, G work, double *spread) {
    cudaEvent_t a, b;
    std::vector<double> t;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    for (int k = 0; k <= repeat; ++k) {
        prepare();
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventRecord(a));
        work();
        CHECK(cudaEventRecord(b));
        CHECK(cudaEventSynchronize(b));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, a, b));
        if (k) t.push_back(ms * 1e-3); /* the first warms up */
    }
    cudaEventDestroy(a), cudaEventDestroy(b);
    if (spread)
        *spread = (*std::max_element(t.begin(), t.end()) - *std::min_element(t.begin(), t.end()));
    return median(t);
}

static void row(char letter, bool hermitian, const char *method, int n, double t, double spread,
                double flops, double omega, double omega1, const mpki_cuda_matrix *d) {
    const double rate = flops / t * 1e-12;
    fprintf(
        rows,
        "{\"row\": \"time\", \"letter\": \"%c\", \"hermitian\": %d, \"method\": \"%s\", \"n\": %d, "
        "\"time_s\": %.6g, \"spread_s\": %.3g, \"tflops\": %.4g, \"omega\": %.3g, "
        "\"omega_refined\": %.3g",
        letter, hermitian, method, n, t, spread, rate, omega, omega1);
    if (d)
        fprintf(rows,
                ", \"delayed\": %lld, \"restarts\": %lld, \"slow_tiles\": %lld, \"block\": %d, "
                "\"max_l\": %.4g",
                (long long)d->delayed, (long long)d->restarts, (long long)d->slow_tiles, d->block,
                d->max_l);
    fprintf(rows, "}\n");
    fflush(rows);
    printf("%c%s %-22s n=%-6d %9.3f ms (+-%.3f) %7.3f TF/s w=%.1e %.1e", letter,
           hermitian ? "h" : " ", method, n, t * 1e3, spread * 1e3, rate, omega, omega1);
    if (d)
        printf(" del=%lld rst=%lld slow=%lld L=%.3g", (long long)d->delayed, (long long)d->restarts,
               (long long)d->slow_tiles, d->max_l);
    printf("\n");
    fflush(stdout);
}

template <class T>
static void time_ours(int n, bool hermitian, int method, int f, int repeat, int block,
                      bool verify) {
    job j;
    open_job<T>(j, n, n, hermitian, method, block);
    fill(f, n, 1, hermitian, true, (T *)j.full, n);
    int status = 0;
    double spread, omegas[2] = {NAN, NAN};
    const double t = time_s(
        repeat,
        [&] { CHECK(cudaMemcpyAsync(j.d.A, j.full, sizeof(T) * n * n, cudaMemcpyDeviceToDevice)); },
        [&] { status = api->entries[SCALAR]->factorize(cuda, &j.d); }, &spread);
    if (mpk_failed((mpk_status)status)) {
        printf("%s n=%d failed: %s\n", method_name[method], n, api->last_error(cuda));
        ++failures;
    } else {
        if (verify) refine<T>(j, 1, omegas);
        char name[64];
        snprintf(name, sizeof name, "%s%s%s", method_name[method], block ? "/" : "",
                 block ? std::to_string(block).c_str() : "");
        row(kind_of<T>::letter, hermitian, name, n, t, spread,
            kind_of<T>::flops * n * (double)n * n / 3, omegas[0], omegas[1], &j.d);
        if (verify) {
            const double ts = time_s(
                5, [] {}, [&] { api->entries[SCALAR]->solve(cuda, &j.d, 1, j.x, n); }, &spread);
            row(kind_of<T>::letter, hermitian, "solve-1", n, ts, spread,
                kind_of<T>::flops * 2.0 * n * n, NAN, NAN, NULL);
        }
    }
    close_job(j);
}

/** cuSOLVER: sytrf with and without pivots, getrf, potrf (the generic interface where it
 *  exists). */
template <class T> struct vendor;
#define VENDOR(type, raw, letter)                                                                  \
    template <> struct vendor<type> {                                                              \
        static void sytrf(int n, type *A, int *ipiv, type *w, int lw, int *info) {                 \
            CHECK(cusolverDn##letter##sytrf(solver, CUBLAS_FILL_MODE_LOWER, n, (raw *)A, n, ipiv,  \
                                            (raw *)w, lw, info));                                  \
        }                                                                                          \
        static int sytrf_size(int n, type *A) {                                                    \
            int lw;                                                                                \
            CHECK(cusolverDn##letter##sytrf_bufferSize(solver, n, (raw *)A, n, &lw));              \
            return lw;                                                                             \
        }                                                                                          \
        static void getrf(int n, type *A, int *ipiv, type *w, int *info) {                         \
            CHECK(cusolverDn##letter##getrf(solver, n, n, (raw *)A, n, (raw *)w, ipiv, info));     \
        }                                                                                          \
        static int getrf_size(int n, type *A) {                                                    \
            int lw;                                                                                \
            CHECK(cusolverDn##letter##getrf_bufferSize(solver, n, n, (raw *)A, n, &lw));           \
            return lw;                                                                             \
        }                                                                                          \
        static void potrf(int n, type *A, type *w, int lw, int *info) {                            \
            CHECK(cusolverDn##letter##potrf(solver, CUBLAS_FILL_MODE_LOWER, n, (raw *)A, n,        \
                                            (raw *)w, lw, info));                                  \
        }                                                                                          \
        static int potrf_size(int n, type *A) {                                                    \
            int lw;                                                                                \
            CHECK(cusolverDn##letter##potrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, n,          \
                                                       (raw *)A, n, &lw));                         \
            return lw;                                                                             \
        }                                                                                          \
    };
VENDOR(float, float, S)
VENDOR(double, double, D)
VENDOR(cx<float>, cuComplex, C)
VENDOR(cx<double>, cuDoubleComplex, Z)

template <class T> static void time_vendor(int n, const char *what, int repeat) {
    typedef vendor<T> V;
    T *full = device_new<T>((int64_t)n * n), *A = device_new<T>((int64_t)n * n);
    int *ipiv = device_new<int>(n), *info = device_new<int>(1), bad = 0, lw = 0;
    const bool lu = !strcmp(what, "getrf"), chol = !strcmp(what, "potrf"),
               plain = !strcmp(what, "sytrf-none");
    fill(chol ? POSITIVE : plain ? DOMINANT : RANDOM, n, 1, chol, true, full, n);
    lw = lu ? V::getrf_size(n, A) : chol ? V::potrf_size(n, A) : V::sytrf_size(n, A);
    T *w = device_new<T>(lw);
    double spread;
    const double t = time_s(
        repeat,
        [&] { CHECK(cudaMemcpyAsync(A, full, sizeof(T) * n * n, cudaMemcpyDeviceToDevice)); },
        [&] {
            if (lu)
                V::getrf(n, A, ipiv, w, info);
            else if (chol)
                V::potrf(n, A, w, lw, info);
            else
                V::sytrf(n, A, plain ? NULL : ipiv, w, lw, info);
        },
        &spread);
    CHECK(cudaMemcpy(&bad, info, 4, cudaMemcpyDeviceToHost));
    if (bad) printf("cusolver %s n=%d: info %d\n", what, n, bad);
    char name[64];
    snprintf(name, sizeof name, "cusolver-%s", what);
    row(kind_of<T>::letter, chol, name, n, t, spread,
        kind_of<T>::flops * n * (double)n * n * (lu ? 2 : 1) / 3, NAN, NAN, NULL);
    cudaFree(full), cudaFree(A), cudaFree(ipiv), cudaFree(info), cudaFree(w);
}

/** The trailing update's rate: squares in strided batches beside cuBLAS's own syrkx. */
static void time_update(int n, int K) {
    double *C = device_new<double>((int64_t)n * n), *L = device_new<double>((int64_t)n * K), spread;
    fill(RANDOM, n, 1, false, true, C, n);
    fill_kernel<<<dim3((n + 255) / 256, K, 1), 256>>>(RANDOM, n, 2, 0, 1, L, n);
    const double minus = -1e-6, one = 1;
    const double t = time_s(
        3, [] {},
        [&] {
            CHECK(cublasDsyrkx(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, K, &minus, L, n, L, n,
                               &one, C, n));
        },
        &spread);
    row('d', 0, ("syrkx-" + std::to_string(K)).c_str(), n, t, spread, (double)n * n * K, NAN, NAN,
        NULL);
    const double g = time_s(
        3, [] {},
        [&] {
            CHECK(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, K, &minus, L, n, L, n, &one, C,
                              n));
        },
        &spread);
    row('d', 0, ("gemm-" + std::to_string(K)).c_str(), n, g, spread, 2.0 * n * n * K, NAN, NAN,
        NULL);
    cudaFree(C), cudaFree(L);
}

/** For a memory checker, under which all is slow: one of each path. */
template <class T> static void checks_tiny() {
    for (int n : {1, 33, 129, 300}) {
        check_one<T>(n, n + 1, RANDOM, false, MPKI_CUDA_TILE);
        check_one<T>(n, n + 1, RANDOM, false, MPKI_CUDA_BUNCH_KAUFMAN);
        check_one<T>(n, n + 1, RANDOM, false, MPKI_CUDA_AASEN);
    }
    check_one<T>(260, 260, DOMINANT, false, MPKI_CUDA_NONE);
    check_one<T>(260, 260, INTERIOR, false, MPKI_CUDA_TILE);
    check_one<T>(260, 260, CHAIN, false, MPKI_CUDA_TILE);
    check_one<T>(260, 260, SINGULAR, false, MPKI_CUDA_ROOK);
}

template <class T> static void checks(bool quick) {
    const bool complex = kind_of<T>::flops == 4;
    const int families[] = {RANDOM, ZERO_DIAGONAL, SADDLE,   GRADED,   FIEDLER,
                            CHAIN,  WILKINSON,     INTERIOR, SINGULAR, ZERO};
    const int sizes[] = {1, 2, 31, 33, 64, 127, 129, 300};
    for (int n : sizes) check_one<T>(n, n + 3, RANDOM, false, MPKI_CUDA_TILE);
    if (!quick)
        for (int f : families)
            for (int n : {500, 1500}) check_one<T>(n, n, f, false, MPKI_CUDA_TILE);
    if (complex)
        for (int n : {33, 300, 777}) check_one<T>(n, n, RANDOM, true, MPKI_CUDA_TILE);
    for (int n : {33, 129, 700}) check_one<T>(n, n, DOMINANT, complex, MPKI_CUDA_NONE);
    for (int method : {MPKI_CUDA_BUNCH_KAUFMAN, MPKI_CUDA_ROOK, MPKI_CUDA_AASEN}) {
        for (int n : {1, 2, 33, 129, 300}) check_one<T>(n, n + 1, RANDOM, false, method);
        if (complex) check_one<T>(300, 300, RANDOM, true, method);
        if (!quick)
            for (int f : families) check_one<T>(700, 700, f, false, method);
    }
    for (int n : {64, 65, 2100}) /* whole blocks, one more, wide blocks */
        check_one<T>(n, n, RANDOM, complex, MPKI_CUDA_AASEN);
}

/* One factorization, for a profiler. */
static int factorize_once(int n, const std::string &methods) {
    typedef double T;
    job j;
    open_job<double>(j, n, n, false,
                     methods == "none"    ? MPKI_CUDA_NONE
                     : methods == "aasen" ? MPKI_CUDA_AASEN
                                          : MPKI_CUDA_TILE);
    fill(methods == "none" ? DOMINANT : RANDOM, n, 1, false, true, (double *)j.d.A, n);
    CHECK(cudaDeviceSynchronize());
    api->entries[SCALAR]->factorize(cuda, &j.d);
    CHECK(cudaDeviceSynchronize());
    return 0;
}

/* The methods whose names `methods` holds, on one order. */
template <class T>
static void time_methods(int n, const std::string &methods, int repeat, int block) {
    const struct {
        const char *name;
        int method, family;
    } all[] = {
        {"tile", MPKI_CUDA_TILE, RANDOM},           {"bunch", MPKI_CUDA_BUNCH_KAUFMAN, RANDOM},
        {"rook", MPKI_CUDA_ROOK, RANDOM},           {"aasen", MPKI_CUDA_AASEN, RANDOM},
        {"butterfly", MPKI_CUDA_BUTTERFLY, RANDOM}, {"none", MPKI_CUDA_NONE, DOMINANT}};
    for (const auto &m : all)
        if (methods.find(m.name) != std::string::npos)
            time_ours<T>(n, false, m.method, m.family, repeat, block, true);
}

int main(int argc, char **argv) {
    const char *module = "./libmetapack_cuda.so", *out = "/dev/null", *letters = "d";
    std::vector<int> sizes = {512, 1024, 2048, 4096, 8192, 16384};
    std::string methods = "tile,none", vendors = "sytrf-none,getrf,potrf", blocks = "0";
    bool check = false, timing = false, quick = false, updates = false, tiny = false;
    int profile = 0, repeat = 5;
    for (int i = 1; i < argc; ++i) {
        std::string a = argv[i];
        auto next = [&] { return i + 1 < argc ? argv[++i] : (char *)""; };
        if (a == "--module")
            module = next();
        else if (a == "--out")
            out = next();
        else if (a == "--check")
            check = true;
        else if (a == "--quick")
            quick = true;
        else if (a == "--tiny")
            tiny = true;
        else if (a == "--time")
            timing = true;
        else if (a == "--updates")
            updates = true;
        else if (a == "--profile")
            profile = atoi(next());
        else if (a == "--letters")
            letters = next();
        else if (a == "--methods")
            methods = next();
        else if (a == "--vendors")
            vendors = next();
        else if (a == "--blocks")
            blocks = next();
        else if (a == "--repeat")
            repeat = atoi(next());
        else if (a == "--sizes") {
            sizes.clear();
            for (char *p = strtok(next(), ","); p; p = strtok(NULL, ",")) sizes.push_back(atoi(p));
        } else {
            fprintf(stderr, "unknown option %s\n", argv[i]);
            return 2;
        }
    }
    void *lib = dlopen(module, RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    api = ((mpki_cuda_module_fn)dlsym(lib, "mpki_cuda_module"))();
    char text[512];
    if (mpk_failed((mpk_status)api->open(-1, &cuda, text, sizeof text))) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    rows = fopen(out, "a");
    api->describe(cuda, text, sizeof text, NULL, NULL);
    fprintf(rows, "{\"row\": \"machine\", \"text\": \"%s\"}\n", text);
    printf("%s\n", text);
    CHECK(cublasCreate(&blas));
    CHECK(cusolverDnCreate(&solver));
    if (profile) return factorize_once(profile, methods);
    if (tiny) checks_tiny<double>(), checks_tiny<cx<float>>();
    if (check)
        for (const char *c = letters; *c; ++c) {
            if (*c == 's') checks<float>(quick);
            if (*c == 'd') checks<double>(quick);
            if (*c == 'c') checks<cx<float>>(quick);
            if (*c == 'z') checks<cx<double>>(quick);
        }
    if (updates)
        for (int n : {4096, 16384})
            for (int K : {128, 256, 512}) time_update(n, K);
    if (timing)
        for (const char *c = letters; *c; ++c)
            for (int n : sizes) {
                const int k = n > 20000   ? std::min(repeat, 2)
                              : n > 10000 ? std::min(repeat, 3)
                                          : repeat;
                std::string list = blocks;
                for (char *p = strtok(&list[0], ","); p; p = strtok(NULL, ",")) {
                    const int block = atoi(p);
                    if (*c == 's') time_methods<float>(n, methods, k, block);
                    if (*c == 'd') time_methods<double>(n, methods, k, block);
                    if (*c == 'c') time_methods<cx<float>>(n, methods, k, block);
                    if (*c == 'z') time_methods<cx<double>>(n, methods, k, block);
                }
                for (const char *v : {"sytrf", "sytrf-none", "getrf", "potrf"}) {
                    const std::string key = std::string(",") + v + ",";
                    if (("," + vendors + ",").find(key) == std::string::npos) continue;
                    if (*c == 's') time_vendor<float>(n, v, k);
                    if (*c == 'd') time_vendor<double>(n, v, k);
                    if (*c == 'c') time_vendor<cx<float>>(n, v, k);
                    if (*c == 'z') time_vendor<cx<double>>(n, v, k);
                }
            }
    printf("%d failure%s\n", failures, failures == 1 ? "" : "s");
    fclose(rows);
    api->close(cuda);
    return failures ? 1 : 0;
}
