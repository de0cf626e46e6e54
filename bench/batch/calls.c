/* SPDX-License-Identifier: BSD-3-Clause */
/* A row's calls, of the library and of cuBLAS, and their times. */
#include "rows.h"

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static mpk_batch describe(const bench *b, int asynchronous) {
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.scalar = b->scalar, batch.count = b->count, batch.n = b->n;
    batch.pivoting = pivoting_of(b);
    if (starts(b, "l")) batch.kernels = b->kernels;
    batch.sizes = is(b->layout, "mixed") ? b->sizes : NULL;
    batch.stream = b->stream;
    batch.symmetry = MPK_HERMITIAN;
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

mpk_status row_call(bench *b, int asynchronous) {
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

void row_must(bench *b, mpk_status status) {
    const char *text = "";
    if (!mpk_failed(status) && status != MPK_PARTIAL) return;
    mpk_last_error(b->ctx, NULL, NULL, &text);
    fprintf(stderr, "%s %s n %d: status %d %s\n", b->verb, b->layout, b->n, status, text);
    exit(4);
}

int row_blas(bench *b) {
    const int n = b->n, count = (int)b->count;
    const double done = -1, dbeta = 1;
    const float sone = -1, sbeta = 1;
    if (!follows(b) || starts(b, "solve")) return -1;
    if (starts(b, "gemm") && b->scalar > MPK_D) return -1;
    if (starts(b, "gemm"))
        return (int)(b->scalar == MPK_S
                         ? cublasSgemmStridedBatched(b->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n,
                                                     &sone, b->a, n, b->each, b->b, n, b->each,
                                                     &sbeta, b->c, n, b->each, count)
                         : cublasDgemmStridedBatched(b->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n,
                                                     &done, b->a, n, b->each, b->b, n, b->each,
                                                     &dbeta, b->c, n, b->each, count));
    int *pivots = b->other_pivots, *info = b->outcome;
#define GETRF(X, type)                                                                             \
    cublas##X##getrfBatched(b->blas, n, (type **)b->pointers, n, pivots, info, count)
    switch (b->scalar) {
    case MPK_S:
        return (int)GETRF(S, float);
    case MPK_D:
        return (int)GETRF(D, double);
    case MPK_C:
        return (int)GETRF(C, cuComplex);
    default:
        return (int)GETRF(Z, cuDoubleComplex);
    }
}

static int ascending(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* least and median by events, then by the clock */
int row_measure(bench *b, int how, const void *from, double ms[4]) {
    double t[ROUNDS_MOST], whole[ROUNDS_MOST];
    ms[0] = ms[1] = ms[2] = ms[3] = 0;
    for (int r = -2; r < b->rounds; r++) {
        float elapsed = 0;
        row_renew(b, from);
        NEED(cudaStreamSynchronize(b->stream));
        const double begun = now_ms();
        NEED(cudaEventRecord(b->start, b->stream));
        if (how == BLAS) {
            if (row_blas(b)) return 0;
        } else {
            row_must(b, row_call(b, how == DEVICE));
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

double row_queued(bench *b, int (*call)(bench *b)) {
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
            if (call(&one)) return 0;
        }
        NEED(cudaEventRecord(b->stop, b->stream));
        NEED(cudaEventSynchronize(b->stop));
        NEED(cudaEventElapsedTime(&elapsed, b->start, b->stop));
        if (r == 0 || (r > 0 && elapsed < least)) least = elapsed;
    }
    return least / QUEUE;
}

static int ours(bench *b) {
    row_must(b, row_call(b, 1));
    return 0;
}

void row_take_copies(bench *b) {
    for (int k = 0; k < QUEUE; k++) {
        b->copies[k] = row_take(b, (size_t)b->total * size_of(b));
        b->lists[k] = row_pointers(b, b->copies[k]);
    }
}

void row_measure_queued(bench *b, double ms[2]) {
    row_take_copies(b);
    ms[0] = row_queued(b, ours), ms[1] = row_queued(b, row_blas);
}
