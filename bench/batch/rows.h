/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_BATCH_ROWS_H
#define BENCH_BATCH_ROWS_H
/* A row of bench/batch/device.c: its matrices (matrices.c), calls of the library and of cuBLAS and
 * their times (calls.c), and whether the factors are right (judge.c). */
#include <metapack/metapack.h>

#include <complex.h>
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
    mpk_batch_kernels kernels; /* of factorizations */
    mpk_scalar scalar;
    int n, rounds, queued, caller;  /* queued: calls in a row, too; caller: synchronous ones, too */
    int lenient;                    /* a wrong row does not end the program */
    int64_t count, each, total;     /* entries of a matrix, of all */
    int64_t different;              /* matrices that `host` has */
    char *room;                     /* device memory of all rows, */
    size_t room_bytes, room_used;   /* which grows when a row needs more */
    void *host, *first, *a, *b, *c; /* first: as given; on the device */
    void **pointers;
    void *copies[QUEUE], **lists[QUEUE]; /* of matrices, of pointers to them: for calls in a row */
    int32_t *sizes, *pivots, *other_pivots, *outcome, *host_outcome; /* other: cuBLAS's */
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

static inline int is(const char *a, const char *b) {
    return !strcmp(a, b);
}

/* Does matrix follow matrix? */
static inline int follows(const bench *b) {
    return is(b->layout, "strided") || is(b->layout, "gaps");
}

static inline int starts(const bench *b, const char *word) {
    return !strncmp(b->verb, word, strlen(word));
}

static inline size_t size_of(const bench *b) {
    return mpk_scalar_size(b->scalar);
}

static inline mpk_pivoting pivoting_of(const bench *b) {
    static const char *const names[] = {"none", "static", "partial", "rook", "complete"};
    const char *slash = strchr(b->verb, '/');
    for (int k = 0; slash && k < 5; k++)
        if (is(slash + 1, names[k])) return (mpk_pivoting)k;
    return MPK_PIVOTING_NONE;
}

static inline mpk_batch_method method_of(const bench *b) {
    return starts(b, "llt") ? MPK_BATCH_LLT : starts(b, "ldu") ? MPK_BATCH_LDU : MPK_BATCH_LDLT;
}

static inline int order_of(const bench *b, int64_t k) {
    return is(b->layout, "mixed") ? (int)(k % b->n) + 1 : b->n;
}

static inline int64_t at(const bench *b, int64_t k, int i, int j) {
    const int64_t e = i + (int64_t)j * b->n;
    if (is(b->layout, "interleaved")) return k / 32 * 32 * b->each + e * 32 + k % 32;
    return k * b->each + e;
}

static inline double complex get(const bench *b, const void *x, int64_t k) {
    return b->scalar == MPK_S   ? ((const float *)x)[k]
           : b->scalar == MPK_D ? ((const double *)x)[k]
           : b->scalar == MPK_C ? ((const float complex *)x)[k]
                                : ((const double complex *)x)[k];
}

static inline int has_queue(const bench *b) {
    return b->queued && follows(b) && !starts(b, "gemm") && !starts(b, "solve");
}

/* ---- matrices.c ---- */

/* Device memory of this row; row_make() has asked for it. */
void *row_take(bench *b, size_t bytes);
/* Pointers to matrices from `data` on, in device memory. */
void **row_pointers(bench *b, void *data);
void row_make(bench *b);
void row_drop(bench *b);
/* The matrices as they were, and right-hand sides. */
void row_renew(bench *b, const void *from);

/* ---- calls.c ---- */

enum { DEVICE, CALLER, BLAS };

mpk_status row_call(bench *b, int asynchronous);
/* Ends the program where a call failed. */
void row_must(bench *b, mpk_status status);
/* The vendor's factorization of the same matrices, or product; not 0: there is none. */
int row_blas(bench *b);
/* Least and median by events, then by the clock; 0: there is no such call. */
int row_measure(bench *b, int how, const void *from, double ms[4]);
/* Milliseconds of a call among QUEUE ones in a row: ours, cuBLAS's (0: there is none). */
void row_measure_queued(bench *b, double ms[2]);
/* The copies that those calls work on. */
void row_take_copies(bench *b);
/* Milliseconds of one of QUEUE calls in a row, the least of some rows; 0: there is no such call. */
double row_queued(bench *b, int (*call)(bench *b));

/* ---- judge.c ---- */

/* Some matrices once more on the host: the largest difference of the factors over their largest
 * entry; pivots may differ where two candidates are as good. */
double row_apart(bench *b);
/* The worst backward error of some matrices; where it is wrong this ends the program, or, if that
 * is lenient, is -1. */
double row_backward(bench *b);
#endif
