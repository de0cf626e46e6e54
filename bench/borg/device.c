/* SPDX-License-Identifier: BSD-3-Clause */
/* Batched kernels on an NVIDIA GPU, by several implementations, each verified and then timed:
 *   device KERNEL N s|d COUNT ROUNDS NAME=FILE.so|NAME=cublas ...
 *   device - < JOBS          a line of these arguments for each job; {} when it is done
 * A shared object is launch.cu around a kernel, or reference.cu. Times by events around the launch
 * (cuBLAS: the call), the least and the median of `rounds` (0: none) after two that do not count;
 * arrays that a kernel changes are renewed between, outside the time. What is verified: residuals
 * of 40 groups; that groups with the same entries have the same bits; of factorizations by borgc
 * also outcomes and inertias, and that a matrix with a NaN and one of zeros tell it and harm no
 * other. Prints one JSON object for each implementation; one that is wrong or fails says so in its
 * object, and the exit status is then 1. After a failure of the device itself nothing more is run.
 */
#include "common.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <dlfcn.h>

typedef int (*launch_fn)(void **, long long);

typedef struct device {
    bench b;
    void *now[MOST], *first[MOST]; /* on the device */
    int32_t *piv, *info;
    void **pointers[3]; /* arrays of pointers to the matrices of the first parts, for cuBLAS */
    cublasHandle_t cublas;
    cusolverDnHandle_t cusolver;
} device;

static void need(cudaError_t rc, const char *what) {
    if (rc != cudaSuccess) {
        fprintf(stderr, "device: %s: %s\n", what, cudaGetErrorString(rc));
        exit(3);
    }
}

static void *on_device(const void *from, size_t bytes) {
    void *p = NULL;
    need(cudaMalloc(&p, bytes + 256), "cudaMalloc");
    if (from) need(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice), "copy");
    return p;
}

static void upload(device *d) {
    const bench *b = &d->b;
    for (int k = 0; k < b->parts; k++) {
        const size_t bytes = (size_t)entries(b, k) * size_of(b);
        d->now[k] = on_device(b->part[k].first ? b->part[k].first : b->part[k].now, bytes);
        if (b->part[k].first) d->first[k] = on_device(b->part[k].first, bytes);
    }
    d->piv = on_device(b->piv, (size_t)(2 * b->n * b->count) * sizeof(int32_t));
    d->info = on_device(NULL, (size_t)(4 * b->count) * sizeof(int32_t));
    for (int k = 0; k < 3 && k < b->parts; k++) {
        void **host = room((size_t)b->count * sizeof *host);
        for (int64_t g = 0; g < b->count; g++)
            host[g] = (char *)d->now[k] + (size_t)(g * b->part[k].each) * size_of(b);
        d->pointers[k] = on_device(host, (size_t)b->count * sizeof *host);
        free(host);
    }
}

static void unload(device *d) {
    for (int k = 0; k < d->b.parts; k++)
        need(cudaFree(d->now[k]), "free"), need(cudaFree(d->first[k]), "free");
    for (int k = 0; k < 3; k++) need(cudaFree(d->pointers[k]), "free"), d->pointers[k] = NULL;
    need(cudaFree(d->piv), "free"), need(cudaFree(d->info), "free");
    memset(d->first, 0, sizeof d->first);
    release(&d->b);
}

static void renew(device *d) {
    for (int k = 0; k < d->b.parts; k++)
        if (d->first[k])
            need(cudaMemcpyAsync(d->now[k], d->first[k], (size_t)entries(&d->b, k) * size_of(&d->b),
                                 cudaMemcpyDeviceToDevice, 0),
                 "renew");
}

/* what a kernel only writes is spoilt before it runs */
static void spoil(device *d) {
    const bench *b = &d->b;
    for (int k = 0; k < b->parts; k++)
        if (!b->part[k].first && k < (is(b, "pade") ? 2 : 1) && !is(b, "trsv"))
            need(cudaMemset(d->now[k], 0xff, (size_t)entries(b, k) * size_of(b)), "spoil");
    need(cudaMemset(d->info, 0xff, (size_t)(4 * b->count) * sizeof(int32_t)), "spoil");
    need(cudaMemcpy(d->piv, b->piv, (size_t)(2 * b->n * b->count) * sizeof(int32_t),
                    cudaMemcpyHostToDevice),
         "pivots");
}

static bool given_pivots(const bench *b) {
    return is(b, "ldlt_solve") || is(b, "ldlt_static") || is(b, "ldu_static");
}

static void download(device *d) {
    bench *b = &d->b;
    for (int k = 0; k < b->parts; k++)
        if (b->part[k].first || k < 2)
            need(cudaMemcpy(b->part[k].now, d->now[k], (size_t)entries(b, k) * size_of(b),
                            cudaMemcpyDeviceToHost),
                 "copy back");
    if (!given_pivots(b))
        need(cudaMemcpy(b->piv, d->piv, (size_t)(2 * b->n * b->count) * sizeof(int32_t),
                        cudaMemcpyDeviceToHost),
             "copy back");
    need(cudaMemcpy(b->info, d->info, (size_t)(4 * b->count) * sizeof(int32_t),
                    cudaMemcpyDeviceToHost),
         "copy back");
}

/* the arguments of borgc's kernels, in order */
static int run_kernel(device *d, launch_fn launch) {
    bench *b = &d->b;
    int32_t ld = b->n, rhs = RHS;
    int64_t stride = (int64_t)b->n * b->n, first = 0, last = b->count, total = b->count * b->n;
    int64_t right = (int64_t)RHS * b->n;
    float tol_s = (float)b->tol;
    double tol_d = b->tol;
    void *a[16], *tol = b->single ? (void *)&tol_s : (void *)&tol_d, **p = d->now;
    int n = 0;
    if (is(b, "gemm_ab") || is(b, "gemm_adb")) {
        a[n++] = &p[0], a[n++] = &ld, a[n++] = &stride;
        a[n++] = &p[1], a[n++] = &ld, a[n++] = &stride;
        if (is(b, "gemm_adb")) a[n++] = &p[3];
        a[n++] = &p[2], a[n++] = &ld, a[n++] = &stride;
    } else if (is(b, "trsm") || is(b, "invert_triangle")) {
        a[n++] = &p[0], a[n++] = &ld, a[n++] = &stride;
        a[n++] = &p[1], a[n++] = &ld, a[n++] = &stride;
        if (is(b, "trsm")) a[n++] = &p[2];
    } else if (is(b, "ldlt_solve")) {
        a[n++] = &p[1], a[n++] = &ld, a[n++] = &stride, a[n++] = &d->piv;
        a[n++] = &p[0], a[n++] = &ld, a[n++] = &right, a[n++] = &rhs, a[n++] = &d->info;
    } else if (starts(b, "l") && !is(b, "ldus")) {
        a[n++] = &p[0], a[n++] = &ld, a[n++] = &stride;
        if (strchr(b->kernel, '_')) a[n++] = &d->piv;
        a[n++] = &d->info, a[n++] = tol;
    } else {
        for (int k = 0; k < b->parts; k++) a[n++] = &p[k];
        if (is(b, "pade")) a[n++] = &total;
        if (is(b, "gema5")) a[n++] = &d->piv; /* turns */
    }
    a[n++] = &first, a[n++] = &last;
    return launch(a, b->count);
}

#define BLAS(T, s, S)                                                                              \
    static int cublas_##s(device *d) {                                                             \
        bench *b = &d->b;                                                                          \
        const int n = b->n, nn = n * n, count = (int)b->count;                                     \
        const T one = 1, less = -1, zero = 0;                                                      \
        T **a = (T **)d->pointers[0], **x = (T **)d->pointers[1];                                  \
        int told;                                                                                  \
        if (is(b, "gema"))                                                                         \
            return cublas##S##geam(d->cublas, CUBLAS_OP_N, CUBLAS_OP_N, nn, count, &one,           \
                                   d->now[1], nn, &one, d->now[2], nn, d->now[0], nn);             \
        if (is(b, "gemm") || is(b, "gemm_ab"))                                                     \
            return cublas##S##gemmStridedBatched(d->cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n,     \
                                                 is(b, "gemm") ? &one : &less, d->now[1], n, nn,   \
                                                 d->now[2], n, nn, is(b, "gemm") ? &zero : &one,   \
                                                 d->now[0], n, nn, count);                         \
        if (is(b, "trsv"))                                                                         \
            return cublas##S##getrsBatched(d->cublas, CUBLAS_OP_N, n, 1, (const T *const *)a, n,   \
                                           NULL, x, n, &told, count);                              \
        if (is(b, "trsm"))                                                                         \
            return cublas##S##trsmBatched(d->cublas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER,    \
                                          CUBLAS_OP_T, CUBLAS_DIAG_UNIT, n, n, &one,               \
                                          (const T *const *)x, n, a, n, count);                    \
        if (starts(b, "llt"))                                                                      \
            return cusolverDn##S##potrfBatched(d->cusolver, CUBLAS_FILL_MODE_LOWER, n, a, n,       \
                                               d->info, count);                                    \
        if (factorizes(b))                                                                         \
            return cublas##S##getrfBatched(d->cublas, n, a, n, d->piv, d->info, count);            \
        return -1;                                                                                 \
    }
BLAS(float, s, S)
BLAS(double, d, D)

/* The same work where the form differs: a triangular solve by the factors of getrf, LU for LDLT. */
static int run_cublas(device *d) {
    return d->b.single ? cublas_s(d) : cublas_d(d);
}

static int ascending(const void *x, const void *y) {
    const float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

static int run(device *d, launch_fn launch) {
    return launch ? run_kernel(d, launch) : run_cublas(d);
}

/* 0: right; the row is printed in any case but that the implementation has no such kernel */
static int measure(device *d, const char *name, launch_fn launch, int rounds) {
    bench *b = &d->b;
    cudaEvent_t start, stop;
    float *ms = malloc(sizeof *ms * (size_t)(rounds + 1));
    const char *wrong = NULL;
    renew(d);
    spoil(d);
    int rc = run(d, launch);
    if (rc == -1 && !launch) return free(ms), 0;
    b->told = launch && strcmp(name, "hand");
    cudaError_t failed = cudaDeviceSynchronize();
    if (rc || failed != cudaSuccess) {
        printf(
            "{\"kernel\": \"%s\", \"n\": %d, \"precision\": \"%s\", \"name\": \"%s\", \"failed\": "
            "\"%s (%d)\"}\n",
            b->kernel, b->n, b->single ? "single" : "double", name, cudaGetErrorString(failed), rc);
        fflush(stdout);
        exit(failed != cudaSuccess ? 3 : 1);
    }
    download(d);
    double error = check(b, !launch && !starts(b, "gem"));
    const int64_t other = b->told ? stray(b) : -1;
    if (!(error < 200)) wrong = "wrong answer";
    if (other >= 0) wrong = "equal matrices, different bits";
    need(cudaEventCreate(&start), "event"), need(cudaEventCreate(&stop), "event");
    for (int r = -2; r < rounds && rounds && !wrong; r++) {
        renew(d);
        need(cudaEventRecord(start, 0), "event");
        run(d, launch);
        need(cudaEventRecord(stop, 0), "event");
        need(cudaEventSynchronize(stop), "event");
        float t = 0;
        need(cudaEventElapsedTime(&t, start, stop), "event");
        if (r >= 0) ms[r] = t;
    }
    need(cudaGetLastError(), "launch");
    const bool timed = rounds && !wrong;
    if (timed) qsort(ms, (size_t)rounds, sizeof *ms, ascending);
    double least = timed ? ms[0] : 0, median = timed ? ms[rounds / 2] : 0;
    printf(
        "{\"kernel\": \"%s\", \"n\": %d, \"precision\": \"%s\", \"count\": %lld, \"name\": \"%s\", "
        "\"error_eps\": %.3g, \"least_ms\": %.5g, \"median_ms\": %.5g, \"gflops\": %.5g%s%s%s}\n",
        b->kernel, b->n, b->single ? "single" : "double", (long long)b->count, name, error, least,
        median, least > 0 ? 1e-6 * flops(b) * (double)b->count / least : 0,
        wrong ? ", \"failed\": \"" : "", wrong ? wrong : "", wrong ? "\"" : "");
    fflush(stdout);
    need(cudaEventDestroy(start), "event"), need(cudaEventDestroy(stop), "event");
    free(ms);
    return wrong != NULL;
}

static launch_fn launcher(const bench *b, const char *file) {
    launch_fn launch = NULL;
    char symbol[96];
    void *lib = dlopen(file, RTLD_NOW);
    snprintf(symbol, sizeof symbol, "bench_launch_%s", is(b, "enum") ? "enumerate" : b->kernel);
    if (lib) *(void **)&launch = dlsym(lib, "bench_launch");
    if (lib && !launch) *(void **)&launch = dlsym(lib, symbol);
    if (!launch) {
        fprintf(stderr, "device: %s\n", dlerror());
        exit(3);
    }
    return launch;
}

/* 0: all right, 1: something is wrong, 3: not run */
static int job(device *d, int words, char **word) {
    int bad = 0;
    if (words < 6) return 3;
    d->b = (bench){.kernel = word[0], .n = atoi(word[1]), .single = word[2][0] == 's', .odd = true};
    d->b.count = atoll(word[3]);
    const int rounds = atoi(word[4]);
    if (d->b.n < 1 || d->b.n > 64 || d->b.count < 1 || rounds < 0 || !prepare(&d->b)) return 3;
    upload(d);
    for (int k = 5; k < words; k++) {
        char *file = strchr(word[k], '=');
        if (!file) return 3;
        *file++ = 0;
        bad |= measure(d, word[k], strcmp(file, "cublas") ? launcher(&d->b, file) : NULL, rounds);
    }
    unload(d);
    return bad;
}

int main(int argc, char **argv) {
    device d = {0};
    static char line[65536];
    char *word[256];
    int bad = 0;
    if (argc < 2 || (argc < 7 && strcmp(argv[1], "-"))) {
        fprintf(stderr, "usage: device KERNEL N s|d COUNT ROUNDS NAME=FILE.so|NAME=cublas ...\n"
                        "       device - < JOBS\n");
        return 3;
    }
    if (cublasCreate(&d.cublas) != CUBLAS_STATUS_SUCCESS) return 3;
    if (cusolverDnCreate(&d.cusolver) != CUSOLVER_STATUS_SUCCESS) return 3;
    if (argc > 2) return job(&d, argc - 1, argv + 1);
    while (fgets(line, sizeof line, stdin)) {
        int words = 0;
        for (char *w = strtok(line, " \n"); w && words < 256; w = strtok(NULL, " \n"))
            word[words++] = w;
        if (words) bad |= job(&d, words, word);
        if (words) printf("{}\n"), fflush(stdout);
    }
    return bad;
}
