/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole systems by cuSOLVER on the device: LU (getrf, getrs) and Bunch-Kaufman (sytrf, sytrs),
 * A and B given on the host, with and without their transfers counted, and one step of refinement.
 *
 *   peer [OPTION...] N LETTER METHOD[,...]      METHOD: getrf, sytrf
 *
 * Options and rows are those of system.c: --nrhs, --repeat, --out, --dominant, --transfers, --npy
 * A B. A is symmetric, both triangles given to LU. */
#include "matrices.cuh"

#include <algorithm>
#include <chrono>
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

#include "../../src/core/random.h"

using namespace mpki;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        auto e_ = (call);                                                                          \
        if (e_) {                                                                                  \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, (int)e_);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct options {
    int64_t n;
    int nrhs = 1, repeat = 3, dominant = 0, transfers = 0;
    const char *a = NULL, *b = NULL;
    FILE *rows = NULL;
};

static double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

template <class T> struct kind_of;
template <> struct kind_of<float> {
    static const char letter = 's';
    static const cudaDataType_t type = CUDA_R_32F;
};
template <> struct kind_of<double> {
    static const char letter = 'd';
    static const cudaDataType_t type = CUDA_R_64F;
};
template <> struct kind_of<cx<float>> {
    static const char letter = 'c';
    static const cudaDataType_t type = CUDA_C_32F;
};
template <> struct kind_of<cx<double>> {
    static const char letter = 'z';
    static const cudaDataType_t type = CUDA_C_64F;
};

template <class T> static T *device_new(int64_t count) {
    void *p = NULL;
    CHECK(cudaMalloc(&p, sizeof(T) * (count > 0 ? count : 1)));
    return (T *)p;
}

/** The upper triangle from the lower one. A thread takes rows in turns; no barrier. */
template <class T> __global__ void mirror_kernel(int64_t n, T *A) {
    for (int64_t j = blockIdx.y; j < n; j += gridDim.y)
        for (int64_t i = j + 1 + blockIdx.x * blockDim.x + threadIdx.x; i < n;
             i += gridDim.x * blockDim.x)
            A[j + i * n] = A[i + j * n];
}

/** r := b - A x and omega of each row, a row a thread; A in both triangles. No barrier. */
template <class T>
__global__ void residual_kernel(int64_t n, const T *A, const T *x, const T *b, T *r, double *omega,
                                double *norm) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    T s = b[i];
    double m = (double)modulus(b[i]), all = 0;
    for (int64_t j = 0; j < n; ++j) {
        const T a = A[i + j * n];
        const double size = (double)modulus(a);
        nfma(s, a, x[j]);
        m += size * (double)modulus(x[j]), all += size;
    }
    r[i] = s, norm[i] = all;
    omega[i] = modulus(s) == 0 ? 0 : (double)modulus(s) / m;
}

template <class T> __global__ void add_kernel(int64_t n, T *x, const T *y) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] + y[i];
}

static __global__ void widen(int64_t n, const int *from, int64_t *to) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}

static void read_npy(const char *path, void *to, size_t bytes) {
    unsigned char head[10];
    FILE *file = fopen(path, "rb");
    if (!file || fread(head, 1, 10, file) != 10 ||
        fseek(file, 10 + head[8] + 256 * head[9], SEEK_SET) || fread(to, 1, bytes, file) != bytes) {
        fprintf(stderr, "peer: %s cannot be read\n", path);
        exit(1);
    }
    fclose(file);
}

/** One method on one system; see the head of the file. */
template <class T> struct system_of {
    options o;
    cusolverDnHandle_t solver;
    std::vector<T> A, B, X;
    T *given, *a, *b, *x, *r;
    double *omega, *norm;
    int64_t *pivots;
    int *info;
    char *work;
    std::vector<char> host_work;
    size_t work_bytes = 0;
    cusolverDnParams_t params;

    void fill() {
        const int64_t n = o.n;
        uint64_t seed = 1;
        const int parts = sizeof(T) / sizeof(typename scalar_of<T>::real);
        typedef typename scalar_of<T>::real R;
        const double diagonal = o.dominant ? 1.5 * sqrt((double)n) : 0;
        for (int64_t c = 0; c < n + o.nrhs; ++c) {
            R *column = (R *)(c < n ? &A[c * n] : &B[(c - n) * n]);
            for (int64_t i = 0; i < n * parts; ++i) {
                column[i] = (R)mpki_random_signed(&seed);
                if (c < n && diagonal > 0 && i == c * parts)
                    column[i] = (R)(c & 1 ? diagonal : -diagonal);
            }
        }
    }

    void open() {
        const int64_t n = o.n;
        A.resize(n * n), B.resize(n * o.nrhs), X.resize(n * o.nrhs);
        if (o.a)
            read_npy(o.a, A.data(), sizeof(T) * n * n),
                read_npy(o.b, B.data(), sizeof(T) * n * o.nrhs);
        else
            fill();
        given = device_new<T>(n * n), a = device_new<T>(n * n);
        b = device_new<T>(n * o.nrhs), x = device_new<T>(n * o.nrhs), r = device_new<T>(n);
        omega = device_new<double>(n), norm = device_new<double>(n);
        pivots = device_new<int64_t>(n), info = device_new<int>(1);
        CHECK(cusolverDnCreate(&solver));
        CHECK(cusolverDnCreateParams(&params));
        size_t lu = 0, bk = 0, lu_host = 0, bk_host = 0, classic = 0;
        CHECK(cusolverDnXgetrf_bufferSize(solver, params, n, n, kind_of<T>::type, a, n,
                                          kind_of<T>::type, &lu, &lu_host));
        CHECK(cusolverDnXsytrs_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, n, o.nrhs,
                                          kind_of<T>::type, a, n, pivots, kind_of<T>::type, b, n,
                                          &bk, &bk_host));
        classic = sizeof(T) * (size_t)sytrf_size();
        work_bytes = std::max(lu, std::max(bk, classic));
        work = device_new<char>((int64_t)work_bytes);
        host_work.resize(std::max(lu_host, bk_host) + 1);
    }

    int sytrf_size();
    void sytrf(int *ipiv, int entries);

    void send() {
        const int64_t n = o.n;
        CHECK(cudaMemcpy(given, A.data(), sizeof(T) * n * n, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(b, B.data(), sizeof(T) * n * o.nrhs, cudaMemcpyHostToDevice));
        mirror_kernel<<<dim3(16, 4096), 256>>>(n, given);
    }

    void factor(bool lu) {
        const int64_t n = o.n;
        CHECK(cudaMemcpyAsync(a, given, sizeof(T) * n * n, cudaMemcpyDeviceToDevice));
        if (lu) {
            CHECK(cusolverDnXgetrf(solver, params, n, n, kind_of<T>::type, a, n, pivots,
                                   kind_of<T>::type, work, work_bytes, host_work.data(),
                                   host_work.size(), info));
        } else {
            sytrf((int *)r, (int)(work_bytes / sizeof(T))); /* r: n entries are free here */
            widen<<<(unsigned)((n + 255) / 256), 256>>>(n, (const int *)r, pivots);
        }
    }

    void solve(bool lu, T *y, int64_t columns) {
        const int64_t n = o.n;
        if (lu)
            CHECK(cusolverDnXgetrs(solver, params, CUBLAS_OP_N, n, columns, kind_of<T>::type, a, n,
                                   pivots, kind_of<T>::type, y, n, info));
        else
            CHECK(cusolverDnXsytrs(solver, CUBLAS_FILL_MODE_LOWER, n, columns, kind_of<T>::type, a,
                                   n, pivots, kind_of<T>::type, y, n, work, work_bytes,
                                   host_work.data(), host_work.size(), info));
    }

    /** omega of the first column; *scaled: |r| / (n |A| |x|), the paper's measure. */
    double measure(double *scaled) {
        const int64_t n = o.n;
        std::vector<double> w(n), s(n);
        std::vector<T> rr(n), xx(n);
        residual_kernel<<<(unsigned)((n + 127) / 128), 128>>>(n, given, x, b, r, omega, norm);
        CHECK(cudaMemcpy(w.data(), omega, 8 * n, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(s.data(), norm, 8 * n, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(rr.data(), r, sizeof(T) * n, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(xx.data(), x, sizeof(T) * n, cudaMemcpyDeviceToHost));
        double worst = 0, rm = 0, xm = 0, am = 0;
        for (int64_t i = 0; i < n; ++i) {
            worst = fmax(worst, w[i]), am = fmax(am, s[i]);
            rm = fmax(rm, modulus(rr[i])), xm = fmax(xm, modulus(xx[i]));
        }
        *scaled = rm / ((double)n * am * xm);
        return worst;
    }

    void run(const char *method) {
        const bool lu = !strcmp(method, "getrf");
        const int64_t n = o.n;
        double least = INFINITY, factor_s = 0, solve_s = 0, scaled = 0, scaled1 = 0;
        if (!o.transfers) send();
        for (int k = 0; k <= o.repeat; ++k) {
            CHECK(cudaDeviceSynchronize());
            const double start = now_s();
            if (o.transfers) send();
            const double before = now_s();
            factor(lu);
            CHECK(cudaDeviceSynchronize());
            const double factored = now_s();
            CHECK(cudaMemcpyAsync(x, b, sizeof(T) * n * o.nrhs, cudaMemcpyDeviceToDevice));
            solve(lu, x, o.nrhs);
            CHECK(cudaDeviceSynchronize());
            const double solved = now_s();
            if (o.transfers)
                CHECK(cudaMemcpy(X.data(), x, sizeof(T) * n * o.nrhs, cudaMemcpyDeviceToHost));
            const double all = now_s() - start;
            if (k && all < least)
                least = all, factor_s = factored - before, solve_s = solved - factored;
            if (all > 20) break;
        }
        const double omega0 = measure(&scaled);
        solve(lu, r, 1);
        add_kernel<<<(unsigned)((n + 255) / 256), 256>>>(n, x, r);
        const double omega1 = measure(&scaled1);
        printf("%c cusolver-%s n=%lld nrhs=%d %stotal %.3f ms factorize %.3f solve %.3f omega "
               "%.2e, refined once %.2e, scaled %.2g\n",
               kind_of<T>::letter, method, (long long)n, o.nrhs, o.transfers ? "transfers " : "",
               least * 1e3, factor_s * 1e3, solve_s * 1e3, omega0, omega1, scaled);
        fflush(stdout);
        if (!o.rows) return;
        fprintf(o.rows,
                "{\"row\": \"system\", \"matrix\": \"%s\", \"letter\": \"%c\", \"hermitian\": 0, "
                "\"method\": \"cusolver-%s\", \"precision\": \"working\", \"n\": %lld, \"nrhs\": "
                "%d, \"transfers\": %d, \"host\": 0, \"status\": \"ok\", \"time_s\": %.6g, "
                "\"factorize_s\": %.6g, \"solve_s\": %.6g, \"refine_s\": 0, \"omega\": %.3g, "
                "\"omega_refined\": %.3g, \"steps\": 0, \"gmres\": 0, \"scaled_residual\": %.3g}\n",
                o.a          ? o.a
                : o.dominant ? "dominant"
                             : "random",
                kind_of<T>::letter, method, (long long)n, o.nrhs, o.transfers, least, factor_s,
                solve_s, omega0, omega1, scaled);
        fflush(o.rows);
    }
};

#define SYTRF(type, raw, letter)                                                                   \
    template <> int system_of<type>::sytrf_size() {                                                \
        int entries = 0;                                                                           \
        CHECK(                                                                                     \
            cusolverDn##letter##sytrf_bufferSize(solver, (int)o.n, (raw *)a, (int)o.n, &entries)); \
        return entries;                                                                            \
    }                                                                                              \
    template <> void system_of<type>::sytrf(int *ipiv, int entries) {                              \
        CHECK(cusolverDn##letter##sytrf(solver, CUBLAS_FILL_MODE_LOWER, (int)o.n, (raw *)a,        \
                                        (int)o.n, ipiv, (raw *)work, entries, info));              \
    }
SYTRF(float, float, S)
SYTRF(double, double, D)
SYTRF(cx<float>, cuComplex, C)
SYTRF(cx<double>, cuDoubleComplex, Z)

template <class T> static void all(const options &o, char *methods) {
    system_of<T> s;
    s.o = o;
    s.open();
    for (char *m = strtok(methods, ","); m; m = strtok(NULL, ",")) s.run(m);
}

int main(int argc, char **argv) {
    static const struct option known[] = {{"nrhs", 1, 0, 'n'},
                                          {"repeat", 1, 0, 'r'},
                                          {"out", 1, 0, 'o'},
                                          {"dominant", 0, 0, 'd'},
                                          {"transfers", 0, 0, 't'},
                                          {"npy", 1, 0, 'y'},
                                          {0, 0, 0, 0}};
    options o;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'n')
            o.nrhs = atoi(optarg);
        else if (c == 'r')
            o.repeat = atoi(optarg);
        else if (c == 'o')
            o.rows = fopen(optarg, "a");
        else if (c == 'd')
            o.dominant = 1;
        else if (c == 't')
            o.transfers = 1;
        else if (c == 'y')
            o.a = optarg;
        else
            return 2;
    }
    if (o.a) o.b = argv[optind++];
    if (argc - optind < 3) {
        fprintf(stderr, "peer [OPTION...] N LETTER METHOD[,...]\n");
        return 2;
    }
    o.n = atoll(argv[optind]);
    char *methods = argv[optind + 2];
    switch (argv[optind + 1][0]) {
    case 's':
        all<float>(o, methods);
        break;
    case 'd':
        all<double>(o, methods);
        break;
    case 'c':
        all<cx<float>>(o, methods);
        break;
    default:
        all<cx<double>>(o, methods);
    }
    return 0;
}
