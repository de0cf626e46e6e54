/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches in device memory through mpk_batch_*, timed beside cuBLAS:
 *   device_batch [--count N] [--sizes 4,8,...] [--letters ds] [--verbs ldlt/partial,...]
 *                [--layouts strided,gaps,pointers,interleaved,mixed] [--rounds R] [--queued 0]
 *                [--caller 0] [--out FILE]
 * A verb is METHOD/PIVOTING, solve/PIVOTING (LDLT, one right-hand side) or gemm. Each row of JSON:
 * least and median milliseconds of `rounds` asynchronous calls by events (what the device needs),
 * and by the clock until the stream has nothing left to do (whole), of the synchronous call with
 * outcomes in host memory by the clock (what a caller waits), of cublas?getrfBatched or
 * cublas?gemmStridedBatched by events and by the clock, the same of both where calls follow each
 * other without a wait, each on its own copy of strided matrices (so that what the host needs for a
 * call is hidden where the device needs more), how far some matrices' factors are from the
 * host's, and of LDLT the worst backward error of some, which is looked at before anything is
 * timed: a wrong one ends the program. gaps: strided, a little room after each
 * matrix. mixed: strided, orders 1 .. n by turns. Of more than 1024
 * strided matrices the others are copies of these. The data are renewed between calls, outside the
 * time. */
#include "../../src/core/random.h"

#include <metapack/metapack.h>

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHECKED = 200, ROUNDS_MOST = 100, QUEUE = 8, DIFFERENT = 1024 };

typedef struct bench {
    mpk_context *ctx;
    cublasHandle_t blas;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    const char *verb, *layout;
    mpk_scalar scalar;
    int n, rounds, queued, caller;  /* queued: calls in a row, too; caller: synchronous ones, too */
    int64_t count, each, total;     /* entries of a matrix, of all */
    int64_t different;              /* matrices that `host` has */
    char *room;                     /* device memory of all rows, */
    size_t room_bytes, room_used;   /* which grows when a row needs more */
    void *host, *first, *a, *b, *c; /* first: as given; on the device */
    void **pointers;
    void *copies[QUEUE], **lists[QUEUE]; /* of matrices, of pointers to them: for calls in a row */
    int32_t *sizes, *pivots, *outcome, *host_outcome;
    FILE *out;
} bench;

#define NEED(call)                                                                                 \
    do {                                                                                           \
        int rc_ = (int)(call);                                                                     \
        if (rc_) {                                                                                 \
            fprintf(stderr, "%s: %d\n", #call, rc_);                                               \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static uint64_t state = 1;
static double uniform(void) {
    return mpki_random_signed(&state);
}

static int is(const char *a, const char *b) {
    return !strcmp(a, b);
}

/* Does matrix follow matrix? */
static int follows(const bench *b) {
    return is(b->layout, "strided") || is(b->layout, "gaps");
}

static int starts(const bench *b, const char *word) {
    return !strncmp(b->verb, word, strlen(word));
}

static size_t size_of(const bench *b) {
    return mpk_scalar_size(b->scalar);
}

static mpk_pivoting pivoting_of(const bench *b) {
    static const char *const names[] = {"none", "static", "partial", "rook", "complete"};
    const char *slash = strchr(b->verb, '/');
    for (int k = 0; slash && k < 5; k++)
        if (is(slash + 1, names[k])) return (mpk_pivoting)k;
    return MPK_PIVOTING_NONE;
}

static mpk_batch_method method_of(const bench *b) {
    return starts(b, "llt") ? MPK_BATCH_LLT : starts(b, "ldu") ? MPK_BATCH_LDU : MPK_BATCH_LDLT;
}

static int order_of(const bench *b, int64_t k) {
    return is(b->layout, "mixed") ? (int)(k % b->n) + 1 : b->n;
}

static int64_t at(const bench *b, int64_t k, int i, int j) {
    const int64_t e = i + (int64_t)j * b->n;
    if (is(b->layout, "interleaved")) return k / 32 * 32 * b->each + e * 32 + k % 32;
    return k * b->each + e;
}

static void put(const bench *b, void *x, int64_t k, double re) {
    if (b->scalar == MPK_S) ((float *)x)[k] = (float)re;
    if (b->scalar == MPK_D) ((double *)x)[k] = re;
    if (b->scalar == MPK_C) ((float *)x)[2 * k] = (float)re, ((float *)x)[2 * k + 1] = 0.25f;
    if (b->scalar == MPK_Z) ((double *)x)[2 * k] = re, ((double *)x)[2 * k + 1] = 0.25;
}

static double get(const bench *b, const void *x, int64_t k) {
    return b->scalar == MPK_S   ? ((const float *)x)[k]
           : b->scalar == MPK_D ? ((const double *)x)[k]
           : b->scalar == MPK_C ? ((const float *)x)[2 * k]
                                : ((const double *)x)[2 * k];
}

/* Device memory of this row; `need` was asked for before. */
static void *take(bench *b, size_t bytes) {
    void *p = b->room + b->room_used;
    b->room_used += (bytes + 255) / 256 * 256;
    if (b->room_used > b->room_bytes) exit(6);
    return p;
}

static int has_queue(const bench *b) {
    return b->queued && follows(b) && b->scalar <= MPK_D && !starts(b, "gemm") &&
           !starts(b, "solve");
}

static void need(bench *b) {
    const int copies = 5 + (has_queue(b) ? QUEUE : 0);
    const size_t lists = (size_t)b->count * (sizeof(void *) * (1 + QUEUE) + 8 * (size_t)b->n + 4);
    const size_t bytes = (size_t)copies * ((size_t)b->total * size_of(b) + 256) + lists + 65536;
    b->room_used = 0;
    if (bytes <= b->room_bytes) return;
    NEED(cudaFree(b->room));
    b->room_bytes = bytes / 4 * 5;
    NEED(cudaMalloc((void **)&b->room, b->room_bytes));
}

/* The first ones, then copies of what is there. */
static void send(bench *b, void *to) {
    const size_t all = (size_t)b->total * size_of(b);
    size_t have = (size_t)(b->different * b->each) * size_of(b);
    have = have < all ? have : all;
    NEED(cudaMemcpy(to, b->host, have, cudaMemcpyHostToDevice));
    while (have < all) {
        const size_t more = have < all - have ? have : all - have;
        NEED(cudaMemcpy((char *)to + have, to, more, cudaMemcpyDeviceToDevice));
        have += more;
    }
}

/* Pointers to matrices from `data` on, in device memory. */
static void **pointers_to(bench *b, void *data) {
    void **p = malloc((size_t)b->count * sizeof *p),
         **there = take(b, (size_t)b->count * sizeof *p);
    for (int64_t k = 0; k < b->count; k++) p[k] = (char *)data + (size_t)(k * b->each) * size_of(b);
    NEED(cudaMemcpy(there, p, (size_t)b->count * sizeof *p, cudaMemcpyHostToDevice));
    free(p);
    return there;
}

static void make(bench *b) {
    const int n = b->n, strong = pivoting_of(b) < MPK_PIVOTING_PARTIAL && !starts(b, "gemm");
    b->each = (int64_t)n * n + (is(b->layout, "gaps") ? 4 : 0);
    b->total = (b->count + 31) / 32 * 32 * b->each;
    b->different = (b->count + 31) / 32 * 32;
    if (follows(b) && b->different > DIFFERENT) b->different = DIFFERENT;
    b->host = malloc((size_t)(b->different * b->each) * size_of(b));
    for (int64_t k = 0; k < b->different * b->each; k++) put(b, b->host, k, 0);
    for (int64_t k = 0; k < b->different && k < b->count; k++)
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++) {
                const double x = i == j && strong ? 2 * n + uniform() : uniform();
                put(b, b->host, at(b, k, i, j), x);
                put(b, b->host, at(b, k, j, i), x);
            }
    need(b);
    void **all[] = {&b->first, &b->a, &b->b, &b->c};
    for (int k = 0; k < 4; k++) *all[k] = take(b, (size_t)b->total * size_of(b));
    send(b, b->first);
    if (!starts(b, "l")) send(b, b->b);
    b->pivots = take(b, (size_t)(b->count * n * 2) * 4);
    b->outcome = take(b, (size_t)b->count * 4);
    b->pointers = pointers_to(b, b->a);
    b->host_outcome = malloc((size_t)b->count * 4);
    b->sizes = malloc((size_t)b->count * 4);
    for (int64_t k = 0; k < b->count; k++) b->sizes[k] = order_of(b, k);
}

static void drop(bench *b) {
    free(b->host), free(b->host_outcome), free(b->sizes);
}

static void renew(bench *b, const void *from) {
    NEED(cudaMemcpyAsync(b->a, from, (size_t)b->total * size_of(b), cudaMemcpyDeviceToDevice,
                         b->stream));
    if (starts(b, "solve"))
        NEED(cudaMemcpyAsync(b->c, b->b, (size_t)(b->count * b->n) * size_of(b),
                             cudaMemcpyDeviceToDevice, b->stream));
}

static mpk_batch describe(const bench *b, int asynchronous) {
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.scalar = b->scalar, batch.count = b->count, batch.n = b->n;
    batch.pivoting = pivoting_of(b);
    batch.sizes = is(b->layout, "mixed") ? b->sizes : NULL;
    batch.stream = b->stream;
    batch.asynchronous = asynchronous;
    batch.pivots_memory = MPK_DEVICE;
    batch.results_memory = asynchronous ? MPK_DEVICE : MPK_HOST;
    return batch;
}

static mpk_batch_array matrices(const bench *b, void *data) {
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, data, b->each, b->n, 1};
    if (is(b->layout, "pointers")) x.layout = MPK_BATCH_POINTERS, x.data = b->pointers;
    if (is(b->layout, "interleaved"))
        x.layout = MPK_BATCH_INTERLEAVED, x.stride *= 32, x.width = 32;
    return x;
}

static mpk_status call(bench *b, int asynchronous) {
    const mpk_batch batch = describe(b, asynchronous);
    const mpk_batch_array a = matrices(b, b->a);
    const mpk_batch_results results = {asynchronous ? b->outcome : b->host_outcome, NULL};
    if (starts(b, "gemm")) {
        mpk_batch_product product = {b->n, b->n, b->n, NULL, 0, -1, 1};
        mpk_batch_array x = matrices(b, b->b), c = matrices(b, b->c);
        mpk_batch plain = batch;
        plain.sizes = NULL;
        return mpk_batch_gemm(b->ctx, &plain, &product, &a, NULL, &x, &c);
    }
    if (starts(b, "solve")) {
        mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, b->c, b->n, b->n, 1};
        return mpk_batch_solve(b->ctx, &batch, MPK_BATCH_LDLT, &a,
                               batch.pivoting ? b->pivots : NULL, 1, &x, &results);
    }
    const mpk_batch_method method = method_of(b);
    return (method == MPK_BATCH_LLT   ? mpk_batch_llt
            : method == MPK_BATCH_LDU ? mpk_batch_ldu
                                      : mpk_batch_ldlt)(b->ctx, &batch, &a, b->pivots, &results);
}

static void must(bench *b, mpk_status status) {
    const char *text = "";
    if (!mpk_failed(status) && status != MPK_PARTIAL) return;
    mpk_last_error(b->ctx, NULL, NULL, &text);
    fprintf(stderr, "%s %s n %d: status %d %s\n", b->verb, b->layout, b->n, status, text);
    exit(4);
}

static int blas_call(bench *b) {
    const int n = b->n, count = (int)b->count;
    const double done = -1, dbeta = 1;
    const float sone = -1, sbeta = 1;
    if (!follows(b) || b->scalar > MPK_D) return -1;
    if (starts(b, "gemm"))
        return (int)(b->scalar == MPK_S
                         ? cublasSgemmStridedBatched(b->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n,
                                                     &sone, b->a, n, b->each, b->b, n, b->each,
                                                     &sbeta, b->c, n, b->each, count)
                         : cublasDgemmStridedBatched(b->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n,
                                                     &done, b->a, n, b->each, b->b, n, b->each,
                                                     &dbeta, b->c, n, b->each, count));
    if (starts(b, "solve")) return -1;
    return (int)(b->scalar == MPK_S ? cublasSgetrfBatched(b->blas, n, (float **)b->pointers, n,
                                                          b->pivots, b->outcome, count)
                                    : cublasDgetrfBatched(b->blas, n, (double **)b->pointers, n,
                                                          b->pivots, b->outcome, count));
}

static int ascending(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

enum { DEVICE, CALLER, BLAS };

/* least and median by events, then by the clock */
static int measure(bench *b, int how, const void *from, double ms[4]) {
    double t[ROUNDS_MOST], whole[ROUNDS_MOST];
    ms[0] = ms[1] = ms[2] = ms[3] = 0;
    for (int r = -2; r < b->rounds; r++) {
        float elapsed = 0;
        renew(b, from);
        NEED(cudaStreamSynchronize(b->stream));
        const double begun = now_ms();
        NEED(cudaEventRecord(b->start, b->stream));
        if (how == BLAS) {
            if (blas_call(b)) return 0;
        } else {
            must(b, call(b, how == DEVICE));
        }
        NEED(cudaEventRecord(b->stop, b->stream));
        if (how != CALLER) NEED(cudaStreamSynchronize(b->stream));
        const double waited = now_ms() - begun;
        NEED(cudaEventSynchronize(b->stop));
        NEED(cudaEventElapsedTime(&elapsed, b->start, b->stop));
        if (r >= 0) t[r] = elapsed, whole[r] = waited;
    }
    qsort(t, (size_t)b->rounds, sizeof *t, ascending);
    qsort(whole, (size_t)b->rounds, sizeof *whole, ascending);
    ms[0] = t[0], ms[1] = t[b->rounds / 2], ms[2] = whole[0], ms[3] = whole[b->rounds / 2];
    return 1;
}

/* Milliseconds of a call among QUEUE ones in a row, the least of some rows. */
static double queued(bench *b, int how) {
    bench one = *b;
    double least = 0;
    for (int r = -1; r < b->rounds; r++) {
        float elapsed = 0;
        for (int k = 0; k < QUEUE; k++)
            NEED(cudaMemcpyAsync(b->copies[k], b->first, (size_t)b->total * size_of(b),
                                 cudaMemcpyDeviceToDevice, b->stream));
        NEED(cudaStreamSynchronize(b->stream));
        NEED(cudaEventRecord(b->start, b->stream));
        for (int k = 0; k < QUEUE; k++) {
            one.a = b->copies[k], one.pointers = b->lists[k];
            if (how == BLAS)
                NEED(blas_call(&one));
            else
                must(b, call(&one, 1));
        }
        NEED(cudaEventRecord(b->stop, b->stream));
        NEED(cudaEventSynchronize(b->stop));
        NEED(cudaEventElapsedTime(&elapsed, b->start, b->stop));
        if (r == 0 || (r > 0 && elapsed < least)) least = elapsed;
    }
    return least / QUEUE;
}

static void measure_queued(bench *b, double ms[2]) {
    for (int k = 0; k < QUEUE; k++) {
        b->copies[k] = take(b, (size_t)b->total * size_of(b));
        b->lists[k] = pointers_to(b, b->copies[k]);
    }
    ms[0] = queued(b, DEVICE), ms[1] = queued(b, BLAS);
}

/* The number of the q-th matrix that is looked at; where it lies in what fetch() gave and in what
 * the host has. */
static int64_t looked_at(const bench *b, int64_t q) {
    return q * (b->count - 1) / CHECKED;
}
static int64_t slot(const bench *b, int64_t q) {
    return follows(b) ? q : looked_at(b, q);
}
static int64_t origin(const bench *b, int64_t k) {
    return follows(b) ? k % b->different : k;
}

/* Of strided matrices those that are looked at, else all. */
static void *fetch(const bench *b) {
    const size_t one = (size_t)b->each * size_of(b), all = (size_t)b->total * size_of(b);
    if (!follows(b)) {
        void *got = malloc(all);
        NEED(cudaMemcpy(got, b->a, all, cudaMemcpyDeviceToHost));
        return got;
    }
    char *got = malloc(CHECKED * one);
    for (int64_t q = 0; q < CHECKED && q < b->count; q++)
        NEED(cudaMemcpyAsync(got + (size_t)q * one, (char *)b->a + (size_t)looked_at(b, q) * one,
                             one, cudaMemcpyDeviceToHost, b->stream));
    NEED(cudaStreamSynchronize(b->stream));
    return got;
}

/* Some matrices once more on the host: the largest difference of the factors over their largest
 * entry; pivots may differ where two candidates are as good. */
static double apart(bench *b) {
    const int n = b->n;
    void *got = fetch(b), *mine = malloc((size_t)b->each * size_of(b));
    int32_t piv[2 * MPK_BATCH_MAX_N] = {0};
    double worst = 0;
    for (int64_t q = 0; q < CHECKED && q < b->count; q++) {
        const int64_t k = looked_at(b, q);
        const int order = order_of(b, k);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                memcpy((char *)mine + (size_t)(i + j * n) * size_of(b),
                       (char *)b->host + (size_t)at(b, origin(b, k), i, j) * size_of(b),
                       size_of(b));
        mpk_batch batch;
        mpk_batch_init(&batch);
        batch.scalar = b->scalar, batch.count = 1, batch.n = order, batch.threads = 1;
        batch.pivoting = pivoting_of(b);
        mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, mine, b->each, n, 1};
        const mpk_batch_method method = method_of(b);
        must(b, (method == MPK_BATCH_LLT   ? mpk_batch_llt
                 : method == MPK_BATCH_LDU ? mpk_batch_ldu
                                           : mpk_batch_ldlt)(b->ctx, &batch, &x, piv, NULL));
        double most = 0, off = 0;
        for (int j = 0; j < order; j++)
            for (int i = method == MPK_BATCH_LDU ? 0 : j; i < order; i++) {
                const double u = get(b, mine, i + (int64_t)j * n),
                             v = get(b, got, at(b, slot(b, q), i, j));
                most = fmax(most, fabs(u));
                off = !(fabs(u - v) <= off) ? fabs(u - v) : off;
            }
        worst = !(off / most <= worst) ? off / most : worst;
    }
    free(got), free(mine);
    return worst;
}

/* P A P^T - L D L^T of real matrix `given` of the host, whose factors are number k of what came from
 * the device: its largest entry over A's. piv: places of rows, complements for 2x2 pivots, whose entry of D lies where L has none. */
static double residual(const bench *b, const void *got, const int32_t *piv, int64_t k,
                       int64_t given, int order) {
    double l[MPK_BATCH_MAX_N][MPK_BATCH_MAX_N] = {{0}}, m[MPK_BATCH_MAX_N][MPK_BATCH_MAX_N] = {{0}};
    double most = 0, off = 0;
    for (int j = 0; j < order; j++) {
        l[j][j] = 1;
        for (int i = j + 1; i < order; i++) l[i][j] = get(b, got, at(b, k, i, j));
    }
    for (int s = 0; s < order; s++) { /* M = L D */
        const int two = piv && piv[s] < 0;
        const double d = get(b, got, at(b, k, s, s)), e = two ? get(b, got, at(b, k, s + 1, s)) : 0,
                     f = two ? get(b, got, at(b, k, s + 1, s + 1)) : 0;
        if (two) l[s + 1][s] = 0;
        for (int i = 0; i < order; i++) {
            m[i][s] = l[i][s] * d + (two ? l[i][s + 1] * e : 0);
            if (two) m[i][s + 1] = l[i][s] * e + l[i][s + 1] * f;
        }
        s += two;
    }
    for (int j = 0; j < order; j++)
        for (int i = j; i < order; i++) {
            const int p = !piv ? i : piv[i] < 0 ? ~piv[i] : piv[i];
            const int q = !piv ? j : piv[j] < 0 ? ~piv[j] : piv[j];
            const double a = get(b, b->host, at(b, given, p > q ? p : q, p > q ? q : p));
            double x = a;
            for (int s = 0; s < order; s++) x -= m[i][s] * l[j][s];
            most = fmax(most, fabs(a));
            off = !(fabs(x) <= off) ? fabs(x) : off;
        }
    return off / most;
}

/* The worst one of some matrices; below 0: not an LDLT of real numbers. */
static double backward(bench *b) {
    if (!starts(b, "ldlt") || b->scalar > MPK_D) return -1;
    void *got = fetch(b);
    int32_t *piv = malloc((size_t)(b->count * b->n) * 4);
    double worst = 0;
    NEED(cudaMemcpy(piv, b->pivots, (size_t)(b->count * b->n) * 4, cudaMemcpyDeviceToHost));
    for (int64_t q = 0; q < CHECKED && q < b->count; q++) {
        const int64_t k = looked_at(b, q);
        const double x =
            residual(b, got, pivoting_of(b) < MPK_PIVOTING_PARTIAL ? NULL : piv + k * b->n,
                     slot(b, q), origin(b, k), order_of(b, k));
        worst = !(x <= worst) ? x : worst;
    }
    free(got), free(piv);
    const double unit = b->scalar == MPK_S ? 0x1p-24 : 0x1p-53;
    if (!(worst <= 1e3 * b->n * unit)) {
        fprintf(stderr, "%s %s n %d: backward error %g\n", b->verb, b->layout, b->n, worst);
        exit(5);
    }
    return worst;
}

static void one(bench *b) {
    double ms[3][4] = {{0}}, row[2] = {0}, difference = -1, error = -1;
    void *factors = NULL;
    make(b);
    const void *from = b->first;
    if (starts(b, "solve")) { /* factors first */
        bench f = *b;
        char verb[32];
        snprintf(verb, sizeof verb, "ldlt%s", strchr(b->verb, '/') ? strchr(b->verb, '/') : "");
        f.verb = verb;
        renew(&f, b->first);
        must(&f, call(&f, 0));
        factors = take(b, (size_t)b->total * size_of(b));
        NEED(cudaMemcpy(factors, b->a, (size_t)b->total * size_of(b), cudaMemcpyDeviceToDevice));
        from = factors;
    }
    if (starts(b, "ldlt")) { /* before anything is timed */
        renew(b, from);
        must(b, call(b, 0));
        error = backward(b);
    }
    measure(b, DEVICE, from, ms[DEVICE]);
    if (starts(b, "l")) difference = apart(b);
    if (b->caller) measure(b, CALLER, from, ms[CALLER]);
    measure(b, BLAS, from, ms[BLAS]);
    if (has_queue(b)) measure_queued(b, row);
    fprintf(
        b->out,
        "{\"verb\": \"%s\", \"letter\": \"%c\", \"n\": %d, \"layout\": \"%s\", \"count\": %lld, "
        "\"device_ms\": %.5g, \"device_median_ms\": %.5g, \"caller_ms\": %.5g, "
        "\"caller_median_ms\": %.5g, \"cublas_ms\": %.5g, \"whole_ms\": %.5g, "
        "\"whole_cublas_ms\": %.5g, \"queued_ms\": %.5g, "
        "\"queued_cublas_ms\": %.5g, \"apart\": %.3g, "
        "\"backward\": %.3g}\n",
        b->verb, "sdcz"[b->scalar], b -> n, b -> layout, (long long)b -> count, ms[0][0], ms[0][1],
        ms[1][2], ms[1][3], ms[2][0], ms[0][2], ms[2][2], row[0], row[1], difference, error);
    fflush(b->out);
    printf("%-14s %c %2d %-11s device %8.4f caller %8.4f cublas %8.4f queued %8.4f cublas %8.4f "
           "apart %.2g backward %.2g\n",
           b->verb, "sdcz"[b->scalar], b -> n, b -> layout, ms[0][0], ms[1][2], ms[2][0], row[0],
           row[1], difference, error);
    fflush(stdout);
    drop(b);
}

int main(int argc, char **argv) {
    bench b = {.rounds = 10, .count = 100000, .queued = 1, .caller = 1, .out = NULL};
    const char *sizes = "4,8,16,24,32", *letters = "d", *layouts = "strided";
    const char *verbs = "ldlt/none,ldlt/partial";
    for (int k = 1; k + 1 < argc; k += 2) {
        if (is(argv[k], "--count")) b.count = atoll(argv[k + 1]);
        if (is(argv[k], "--sizes")) sizes = argv[k + 1];
        if (is(argv[k], "--letters")) letters = argv[k + 1];
        if (is(argv[k], "--verbs")) verbs = argv[k + 1];
        if (is(argv[k], "--layouts")) layouts = argv[k + 1];
        if (is(argv[k], "--rounds")) b.rounds = atoi(argv[k + 1]);
        if (is(argv[k], "--queued")) b.queued = atoi(argv[k + 1]);
        if (is(argv[k], "--caller")) b.caller = atoi(argv[k + 1]);
        if (is(argv[k], "--out")) b.out = fopen(argv[k + 1], "a");
    }
    if (!b.out) b.out = fopen("/dev/null", "w");
    if (b.rounds < 1 || b.rounds > ROUNDS_MOST || !b.out) return 2;
    NEED(cudaStreamCreate(&b.stream));
    NEED(cudaEventCreate(&b.start));
    NEED(cudaEventCreate(&b.stop));
    NEED(cublasCreate(&b.blas));
    NEED(cublasSetStream(b.blas, b.stream));
    NEED(mpk_context_create(NULL, &b.ctx));
    char *v = strdup(verbs), *vs = NULL;
    for (char *verb = strtok_r(v, ",", &vs); verb; verb = strtok_r(NULL, ",", &vs)) {
        char *l = strdup(layouts), *ls = NULL;
        for (char *layout = strtok_r(l, ",", &ls); layout; layout = strtok_r(NULL, ",", &ls))
            for (const char *letter = letters; *letter; letter++) {
                char *s = strdup(sizes), *ss = NULL;
                for (char *n = strtok_r(s, ",", &ss); n; n = strtok_r(NULL, ",", &ss)) {
                    b.verb = verb, b.layout = layout, b.n = atoi(n);
                    b.scalar = (mpk_scalar)(strchr("sdcz", *letter) - "sdcz");
                    if (b.n >= 1 && b.n <= MPK_BATCH_MAX_N) one(&b);
                }
                free(s);
            }
        free(l);
    }
    free(v);
    mpk_context_destroy(&b.ctx);
    return 0;
}
