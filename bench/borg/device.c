/* SPDX-License-Identifier: BSD-3-Clause */
/* Batched kernels on an NVIDIA GPU, by several implementations, each verified and then timed:
 *   device PARTS.cubin KERNEL N s|d COUNT ROUNDS NAME=FILE.cubin:THREADS:GROUPS|NAME=cublas ...
 *   device PARTS.cubin - < JOBS      a line of these arguments for each job; {} when it is done
 * A cubin has the kernel by its own name, THREADS of a block and GROUPS of the batch that a block
 * does; PARTS is device.cu, compiled. Times by events around the launch (cuBLAS: the call),
 * implementations by turns, the least and the median of `rounds` (0: none) after two that do not
 * count; arrays that a kernel changes are renewed between, outside the time. Beside them is timed
 * what only reads and writes as many bytes as the kernel must ("copy") and an empty launch
 * ("empty"). What is verified: residuals of 40 groups; that groups with the same entries have the
 * same bits; of factorizations by borgc also outcomes and inertias, and that a matrix with a NaN
 * and one of zeros tell it and harm no other. Entries of some groups are made here, the device
 * repeats them. Prints one JSON object for each implementation; one that is wrong or fails says so
 * in its object, and the exit status is then 1. After a failure of the device itself nothing more
 * is run.
 */
#include "common.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

enum { MOST_WAYS = 64 };

/* An implementation: a kernel and how it is launched, or none: cuBLAS. */
typedef struct way {
    const char *name;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    int threads, groups;
    bool moves, empty; /* `copy` and `empty` of device.cu */
    const char *wrong;
    double error;
    float *ms;
} way;

typedef struct device {
    bench b;       /* what is made and checked here: one period of all groups */
    int64_t count; /* groups on the device */
    void *now[MOST], *first[MOST];
    int32_t *piv, *info;
    unsigned long long *found; /* words that differ */
    void **pointers[3]; /* arrays of pointers to the matrices of the first parts, for cuBLAS */
    cublasHandle_t cublas;
    cusolverDnHandle_t cusolver;
    cudaLibrary_t parts;
    cudaKernel_t differ, copy, empty;
} device;

static void need(cudaError_t rc, const char *what) {
    if (rc != cudaSuccess) {
        fprintf(stderr, "device: %s: %s\n", what, cudaGetErrorString(rc));
        exit(3);
    }
}

static size_t bytes_of(const device *d, int part) { /* on the device */
    const struct part *p = &d->b.part[part];
    return (size_t)(p->each ? p->each * d->count : p->shared) * size_of(&d->b);
}

/* `bytes` of a period, again and again up to `all`. */
static void *on_device(const void *from, size_t bytes, size_t all) {
    char *p = NULL;
    need(cudaMalloc((void **)&p, all + 256), "cudaMalloc");
    if (from) need(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice), "copy");
    for (size_t done = bytes; from && done < all; done *= 2)
        need(cudaMemcpy(p + done, p, done < all - done ? done : all - done,
                        cudaMemcpyDeviceToDevice),
             "repeat");
    return p;
}

/* Whether the kernel only writes this part. */
static bool written(const bench *b, int k) {
    return !b->part[k].first && k < (is(b, "pade") ? 2 : 1) && !is(b, "trsv");
}

static void upload(device *d) {
    const bench *b = &d->b;
    const size_t piv = (size_t)(2 * b->n) * sizeof(int32_t), info = 4 * sizeof(int32_t);
    for (int k = 0; k < b->parts; k++) {
        const size_t bytes = (size_t)entries(b, k) * size_of(b), all = bytes_of(d, k);
        const void *from = b->part[k].first ? b->part[k].first : b->part[k].now;
        d->now[k] = on_device(written(b, k) ? NULL : from, bytes, all);
        if (b->part[k].first) d->first[k] = on_device(from, bytes, all);
    }
    d->piv = on_device(NULL, 0, piv * (size_t)d->count);
    d->info = on_device(NULL, 0, info * (size_t)d->count);
    for (int k = 0; k < 3 && k < b->parts; k++) {
        const size_t size = (size_t)d->count * sizeof(void *);
        void **host = room(size);
        for (int64_t g = 0; g < d->count; g++)
            host[g] = (char *)d->now[k] + (size_t)(g * b->part[k].each) * size_of(b);
        d->pointers[k] = on_device(host, size, size);
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
            need(cudaMemcpyAsync(d->now[k], d->first[k], bytes_of(d, k), cudaMemcpyDeviceToDevice,
                                 0),
                 "renew");
}

/* what a kernel only writes is spoilt before it runs */
static void spoil(device *d) {
    const bench *b = &d->b;
    const size_t period = (size_t)(2 * b->n * b->count) * sizeof(int32_t),
                 all = period / (size_t)b->count * (size_t)d->count;
    for (int k = 0; k < b->parts; k++)
        if (written(b, k)) need(cudaMemset(d->now[k], 0xff, bytes_of(d, k)), "spoil");
    need(cudaMemset(d->info, 0xff, (size_t)(4 * d->count) * sizeof(int32_t)), "spoil");
    const size_t each =
        starts(b, "ldu") || is(b, "gema5") ? period : period / 2; /* entries that a period has */
    need(cudaMemcpy(d->piv, b->piv, each, cudaMemcpyHostToDevice), "pivots");
    for (size_t done = each; done < all; done *= 2)
        need(cudaMemcpy((char *)d->piv + done, d->piv, done < all - done ? done : all - done,
                        cudaMemcpyDeviceToDevice),
             "pivots");
}

static bool given_pivots(const bench *b) {
    return is(b, "ldlt_solve") || is(b, "ldlt_static") || is(b, "ldu_static");
}

/* The first period of the results. */
static void download(device *d) {
    bench *b = &d->b;
    for (int k = 0; k < b->parts; k++) {
        const size_t bytes = (size_t)entries(b, k) * size_of(b);
        if (is(b, "pade") && k == 1) /* coefficient by coefficient */
            need(cudaMemcpy2D(b->part[k].now, bytes / 10, d->now[k], bytes_of(d, k) / 10,
                              bytes / 10, 10, cudaMemcpyDeviceToHost),
                 "copy back");
        else if (b->part[k].first || k < 2)
            need(cudaMemcpy(b->part[k].now, d->now[k], bytes, cudaMemcpyDeviceToHost), "copy back");
    }
    if (!given_pivots(b))
        need(cudaMemcpy(b->piv, d->piv, (size_t)(2 * b->n * b->count) * sizeof(int32_t),
                        cudaMemcpyDeviceToHost),
             "copy back");
    need(cudaMemcpy(b->info, d->info, (size_t)(4 * b->count) * sizeof(int32_t),
                    cudaMemcpyDeviceToHost),
         "copy back");
}

/* Words of the device's arrays that are not as one period before. */
static unsigned long long differing(device *d) {
    bench *b = &d->b;
    unsigned long long found = 0;
    need(cudaMemset(d->found, 0, sizeof *d->found), "memset");
    for (int k = 0; k < b->parts; k++) {
        const int arrays = is(b, "pade") && k == 1 ? 10 : 1;
        long long each = b->part[k].each * (long long)size_of(b) / 4 / arrays, period = b->count,
                  count = d->count;
        long long nan = odd(b, WITH_NAN) ? WITH_NAN : -1, zero = odd(b, ALL_ZERO) ? ALL_ZERO : -1;
        for (int i = 0; each && i < arrays; i++) {
            const void *array = (char *)d->now[k] + bytes_of(d, k) / (size_t)arrays * (size_t)i;
            void *a[] = {&array, &each, &period, &count, &nan, &zero, &d->found};
            need(cudaLaunchKernel((const void *)d->differ, (dim3){1024, 1, 1}, (dim3){256, 1, 1}, a,
                                  0, 0),
                 "compare");
        }
    }
    need(cudaMemcpy(&found, d->found, sizeof found, cudaMemcpyDeviceToHost), "compare");
    return found;
}

/* the arguments of borgc's kernels, in order */
static int run_kernel(device *d, const way *w) {
    bench *b = &d->b;
    int32_t ld = b->n, rhs = RHS;
    int64_t stride = (int64_t)b->n * b->n, first = 0, last = d->count, total = d->count * b->n;
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
    const dim3 blocks = {(unsigned)((d->count + w->groups - 1) / w->groups), 1, 1};
    return (int)cudaLaunchKernel((const void *)w->kernel, blocks,
                                 (dim3){(unsigned)w->threads, 1, 1}, a, 0, 0);
}

/* Two parts that a kernel of the thesis reads and two that it writes; false: it is none of
 * these. */
static bool moved(const bench *b, int *read, int *write) {
    read[0] = read[1] = write[0] = write[1] = -1;
    if (is(b, "gema") || is(b, "gemm")) return read[0] = 1, read[1] = 2, write[0] = 0, true;
    if (is(b, "trsv")) return read[0] = 0, read[1] = write[0] = 1, true;
    if (is(b, "ldus")) return read[0] = write[0] = 0, true;
    if (is(b, "pade")) return read[0] = 2, read[1] = 3, write[0] = 1, write[1] = 0, true;
    if (is(b, "enum")) return write[0] = 0, true;
    if (is(b, "frcg")) return read[0] = write[0] = 0, read[1] = 1, true;
    return false;
}

static int run_copy(device *d) {
    int part[4];
    void *array[4], *a[8];
    long long length[4], most = 0;
    if (!moved(&d->b, part, part + 2)) return -1;
    for (int k = 0; k < 4; k++) {
        array[k] = part[k] < 0 ? NULL : d->now[part[k]];
        length[k] = part[k] < 0 ? 0 : (long long)(bytes_of(d, part[k]) / 16);
        most = length[k] > most ? length[k] : most;
        a[2 * k] = &array[k], a[2 * k + 1] = &length[k];
    }
    return (int)cudaLaunchKernel((const void *)d->copy,
                                 (dim3){(unsigned)((most + 255) / 256), 1, 1}, (dim3){256, 1, 1}, a,
                                 0, 0);
}

#define BLAS(T, s, S)                                                                              \
    static int cublas_##s(device *d) {                                                             \
        bench *b = &d->b;                                                                          \
        const int n = b->n, nn = n * n, count = (int)d->count;                                     \
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

static int run(device *d, const way *w) {
    if (w->moves) return run_copy(d);
    if (w->empty)
        return (int)cudaLaunchKernel((const void *)d->empty, (dim3){1, 1, 1}, (dim3){32, 1, 1},
                                     NULL, 0, 0);
    return w->kernel ? run_kernel(d, w) : run_cublas(d);
}

/* Not 0: there is no such kernel. Where the device itself fails, that is told and is the end. */
static int verify(device *d, way *w) {
    bench *b = &d->b;
    renew(d);
    spoil(d);
    const int rc = run(d, w);
    if (rc == -1 && !w->kernel) return 1;
    b->told = w->kernel && strcmp(w->name, "hand") != 0;
    cudaError_t failed = cudaDeviceSynchronize();
    if (failed != cudaSuccess) {
        printf("{\"kernel\": \"%s\", \"n\": %d, \"precision\": \"%s\", \"name\": \"%s\", "
               "\"failed\": \"%s\"}\n",
               b->kernel, b->n, b->single ? "single" : "double", w->name,
               cudaGetErrorString(failed));
        fflush(stdout);
        exit(3);
    }
    failed = cudaGetLastError(); /* of the launch */
    if (rc)
        return w->wrong = failed != cudaSuccess ? cudaGetErrorString(failed) : "the call failed", 0;
    if (w->moves || w->empty) return 0;
    download(d);
    w->error = check(b, !w->kernel && !starts(b, "gem"));
    if (b->told && differing(d) > 0) w->wrong = "equal matrices, different bits";
    if (!(w->error < 200)) w->wrong = "wrong answer";
    return 0;
}

/* By turns, those that are right. */
static void measure(device *d, way *w, int ways, int rounds) {
    cudaEvent_t start, stop;
    need(cudaEventCreate(&start), "event"), need(cudaEventCreate(&stop), "event");
    for (int r = -2; r < rounds && rounds; r++)
        for (int k = 0; k < ways; k++) {
            if (w[k].wrong) continue;
            renew(d);
            need(cudaEventRecord(start, 0), "event");
            run(d, &w[k]);
            need(cudaEventRecord(stop, 0), "event");
            need(cudaEventSynchronize(stop), "event");
            float t = 0;
            need(cudaEventElapsedTime(&t, start, stop), "event");
            if (r >= 0) w[k].ms[r] = t;
        }
    need(cudaGetLastError(), "launch");
    need(cudaEventDestroy(start), "event"), need(cudaEventDestroy(stop), "event");
}

static void print(const device *d, way *w, int rounds) {
    const bench *b = &d->b;
    const bool timed = rounds && !w->wrong;
    if (timed) qsort(w->ms, (size_t)rounds, sizeof *w->ms, ascending);
    const double least = timed ? w->ms[0] : 0, median = timed ? w->ms[rounds / 2] : 0;
    printf("{\"kernel\": \"%s\", \"n\": %d, \"precision\": \"%s\", \"count\": %lld, \"name\": "
           "\"%s\", \"error_eps\": %.3g, \"least_ms\": "
           "%.5g, \"median_ms\": %.5g, \"gflops\": %.5g%s%s%s}\n",
           b->kernel, b->n, b->single ? "single" : "double", (long long)d->count, w->name,
           isfinite(w->error) ? w->error : 1e300, least, median,
           least > 0 && !w->moves && !w->empty ? 1e-6 * flops(b) * (double)d->count / least : 0,
           w->wrong ? ", \"failed\": \"" : "", w->wrong ? w->wrong : "", w->wrong ? "\"" : "");
}

static cudaKernel_t kernel_of(cudaLibrary_t library, const char *name) {
    cudaKernel_t kernel = NULL;
    need(cudaLibraryGetKernel(&kernel, library, name), name);
    return kernel;
}

/* NAME=FILE:THREADS:GROUPS or NAME=cublas; false: it is neither. */
static bool understand(const bench *b, char *word, way *w) {
    char *file = strchr(word, '='), *threads;
    if (!file) return false;
    *file++ = 0;
    w->name = word;
    if (!strcmp(file, "cublas")) return true;
    if (!(threads = strchr(file, ':')) || sscanf(threads, ":%d:%d", &w->threads, &w->groups) != 2)
        return false;
    *threads = 0;
    need(cudaLibraryLoadFromFile(&w->library, file, NULL, NULL, 0, NULL, NULL, 0), file);
    w->kernel = kernel_of(w->library, is(b, "enum") ? "enumerate" : b->kernel);
    return w->threads > 0 && w->groups > 0;
}

/* 0: all right, 1: something is wrong, 3: not run */
static int job(device *d, int words, char **word) {
    static way of[MOST_WAYS];
    int bad = 0, ways = 0;
    if (words < 6 || words - 5 > MOST_WAYS - 2) return 3;
    d->b = (bench){.kernel = word[0], .n = atoi(word[1]), .single = word[2][0] == 's', .odd = true};
    d->count = atoll(word[3]);
    const int rounds = atoi(word[4]);
    d->b.count = d->count;
    if (!is(&d->b, "enum")) d->b.count = own(&d->b); /* whose items are told by their number */
    if (d->b.n < 1 || d->b.n > 64 || d->count < 1 || rounds < 0 || !prepare(&d->b)) return 3;
    upload(d);
    for (int k = 5; k < words + 2; k++) {
        way *w = &of[ways];
        *w = (way){.ms = malloc(sizeof *w->ms * (size_t)(rounds + 1)),
                   .moves = k == words,
                   .empty = k == words + 1};
        if (k >= words)
            w->name = w->moves ? "copy" : "empty";
        else if (!understand(&d->b, word[k], w))
            return 3;
        if (verify(d, w) == 0) ways++;
    }
    measure(d, of, ways, rounds);
    for (int k = 0; k < ways; k++) {
        bad |= of[k].wrong != NULL;
        if (rounds || !(of[k].moves || of[k].empty)) print(d, &of[k], rounds);
        if (of[k].library) need(cudaLibraryUnload(of[k].library), "unload");
        free(of[k].ms);
    }
    fflush(stdout);
    unload(d);
    return bad;
}

int main(int argc, char **argv) {
    device d = {0};
    static char line[65536];
    char *word[256];
    int bad = 0;
    if (argc < 3 || (argc < 8 && strcmp(argv[2], "-"))) {
        fprintf(stderr, "usage: device PARTS.cubin KERNEL N s|d COUNT ROUNDS "
                        "NAME=FILE.cubin:THREADS:GROUPS|NAME=cublas ...\n"
                        "       device PARTS.cubin - < JOBS\n");
        return 3;
    }
    if (cublasCreate(&d.cublas) != CUBLAS_STATUS_SUCCESS) return 3;
    if (cusolverDnCreate(&d.cusolver) != CUSOLVER_STATUS_SUCCESS) return 3;
    need(cudaLibraryLoadFromFile(&d.parts, argv[1], NULL, NULL, 0, NULL, NULL, 0), argv[1]);
    d.differ = kernel_of(d.parts, "differ"), d.copy = kernel_of(d.parts, "copy"),
    d.empty = kernel_of(d.parts, "empty");
    need(cudaMalloc((void **)&d.found, sizeof *d.found), "cudaMalloc");
    if (argc > 3) return job(&d, argc - 2, argv + 2);
    while (fgets(line, sizeof line, stdin)) {
        int words = 0;
        for (char *w = strtok(line, " \n"); w && words < 256; w = strtok(NULL, " \n"))
            word[words++] = w;
        if (words) bad |= job(&d, words, word);
        if (words) printf("{}\n"), fflush(stdout);
    }
    return bad;
}
