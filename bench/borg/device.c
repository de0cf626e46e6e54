/* SPDX-License-Identifier: BSD-3-Clause */
/* One batched kernel on an NVIDIA GPU, by several implementations, each verified and then timed:
 *   device KERNEL N s|d COUNT ROUNDS NAME=FILE.so|NAME=cublas ...
 * A shared object is launch.cu around a kernel, or reference.cu. Times by events around the launch
 * (cuBLAS: the call), the least and the median of `rounds` after two that do not count; arrays that
 * a kernel changes are renewed between, outside the time. Prints one JSON object for each
 * implementation; one that is wrong or fails says so in its object, and the exit status is then 1.
 */
#include "common.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

typedef int (*launch_fn)(void **, long long);

typedef struct device {
    bench b;
    void *now[MOST], *first[MOST]; /* on the device */
    int32_t *piv, *info;
    void **pointers[3]; /* arrays of pointers to the matrices of the first parts, for cuBLAS */
    cublasHandle_t cublas;
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
    d->piv = on_device(NULL, (size_t)(2 * b->n * b->count) * sizeof(int32_t));
    d->info = on_device(NULL, (size_t)(4 * b->count) * sizeof(int32_t));
    for (int k = 0; k < 3 && k < b->parts; k++) {
        void **host = room((size_t)b->count * sizeof *host);
        for (int64_t g = 0; g < b->count; g++)
            host[g] = (char *)d->now[k] + (size_t)(g * b->part[k].each) * size_of(b);
        d->pointers[k] = on_device(host, (size_t)b->count * sizeof *host);
        free(host);
    }
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
}

static void download(device *d) {
    bench *b = &d->b;
    for (int k = 0; k < b->parts; k++)
        if (b->part[k].first || k < 2)
            need(cudaMemcpy(b->part[k].now, d->now[k], (size_t)entries(b, k) * size_of(b),
                            cudaMemcpyDeviceToHost),
                 "copy back");
    need(cudaMemcpy(b->piv, d->piv, (size_t)(2 * b->n * b->count) * sizeof(int32_t),
                    cudaMemcpyDeviceToHost),
         "copy back");
}

/* the arguments of borgc's kernels, in order */
static int run_kernel(device *d, launch_fn launch) {
    bench *b = &d->b;
    int32_t ld = b->n;
    int64_t stride = (int64_t)b->n * b->n, first = 0, last = b->count, total = b->count * b->n;
    float tol_s = (float)b->tol;
    double tol_d = b->tol;
    void *a[16], *tol = b->single ? (void *)&tol_s : (void *)&tol_d, **p = d->now;
    int n = 0;
    if (is(b, "gemm_ab") || is(b, "gemm_adb")) {
        a[n++] = &p[0], a[n++] = &ld, a[n++] = &stride;
        a[n++] = &p[1], a[n++] = &ld, a[n++] = &stride;
        if (is(b, "gemm_adb")) a[n++] = &p[3];
        a[n++] = &p[2], a[n++] = &ld, a[n++] = &stride;
    } else if (starts(b, "l") && !is(b, "ldus")) {
        a[n++] = &p[0], a[n++] = &ld, a[n++] = &stride;
        if (strchr(b->kernel, '_')) a[n++] = &d->piv;
        a[n++] = &d->info, a[n++] = tol;
    } else {
        for (int k = 0; k < b->parts; k++) a[n++] = &p[k];
        if (is(b, "pade")) a[n++] = &total;
    }
    a[n++] = &first, a[n++] = &last;
    return launch(a, b->count);
}

static int run_cublas(device *d) {
    bench *b = &d->b;
    const int n = b->n, nn = n * n, count = (int)b->count;
    const double one = is(b, "gemm") ? 1 : -1, beta = is(b, "gemm") ? 0 : 1;
    const float sone = (float)one, sbeta = (float)beta;
    if (is(b, "gemm") || is(b, "gemm_ab"))
        return b->single ? cublasSgemmStridedBatched(d->cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n,
                                                     &sone, d->now[1], n, nn, d->now[2], n, nn,
                                                     &sbeta, d->now[0], n, nn, count)
                         : cublasDgemmStridedBatched(d->cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n,
                                                     &one, d->now[1], n, nn, d->now[2], n, nn,
                                                     &beta, d->now[0], n, nn, count);
    if (starts(b, "ld"))
        return b->single ? cublasSgetrfBatched(d->cublas, n, (float **)d->pointers[0], n, d->piv,
                                               d->info, count)
                         : cublasDgetrfBatched(d->cublas, n, (double **)d->pointers[0], n, d->piv,
                                               d->info, count);
    return -1;
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
    float *ms = malloc(sizeof *ms * (size_t)rounds);
    const char *wrong = NULL;
    renew(d);
    spoil(d);
    int rc = run(d, launch);
    if (rc == -1 && !launch) return free(ms), 0;
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
    double error = check(b, !launch && starts(b, "ld"));
    if (!(error < 200)) wrong = "wrong";
    need(cudaEventCreate(&start), "event"), need(cudaEventCreate(&stop), "event");
    for (int r = -2; r < rounds && !wrong; r++) {
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
    if (!wrong) qsort(ms, (size_t)rounds, sizeof *ms, ascending);
    double least = wrong ? 0 : ms[0], median = wrong ? 0 : ms[rounds / 2];
    printf(
        "{\"kernel\": \"%s\", \"n\": %d, \"precision\": \"%s\", \"count\": %lld, \"name\": \"%s\", "
        "\"error_eps\": %.3g, \"least_ms\": %.5g, \"median_ms\": %.5g, \"gflops\": %.5g%s}\n",
        b->kernel, b->n, b->single ? "single" : "double", (long long)b->count, name, error, least,
        median, least > 0 ? 1e-6 * flops(b) * (double)b->count / least : 0,
        wrong ? ", \"failed\": \"wrong answer\"" : "");
    fflush(stdout);
    need(cudaEventDestroy(start), "event"), need(cudaEventDestroy(stop), "event");
    free(ms);
    return wrong != NULL;
}

int main(int argc, char **argv) {
    device d = {0};
    int bad = 0;
    if (argc < 7) {
        fprintf(stderr, "usage: device KERNEL N s|d COUNT ROUNDS NAME=FILE.so|NAME=cublas ...\n");
        return 3;
    }
    d.b = (bench){.kernel = argv[1], .n = atoi(argv[2]), .single = argv[3][0] == 's'};
    d.b.count = atoll(argv[4]);
    const int rounds = atoi(argv[5]);
    if (d.b.n < 1 || d.b.n > 64 || d.b.count < 1 || rounds < 1 || !prepare(&d.b)) return 3;
    upload(&d);
    if (cublasCreate(&d.cublas) != CUBLAS_STATUS_SUCCESS) return 3;
    for (int k = 6; k < argc; k++) {
        char *file = strchr(argv[k], '=');
        launch_fn launch = NULL;
        if (!file) return 3;
        *file++ = 0;
        if (strcmp(file, "cublas")) {
            void *lib = dlopen(file, RTLD_NOW);
            char symbol[96];
            snprintf(symbol, sizeof symbol, "bench_launch_%s",
                     is(&d.b, "enum") ? "enumerate" : d.b.kernel);
            if (lib) *(void **)&launch = dlsym(lib, "bench_launch");
            if (lib && !launch) *(void **)&launch = dlsym(lib, symbol);
            if (!launch) {
                fprintf(stderr, "device: %s\n", dlerror());
                return 3;
            }
        }
        bad |= measure(&d, argv[k], launch, rounds);
    }
    return bad;
}
