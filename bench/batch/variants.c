/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of kernels for factorizations in device memory, beside cuBLAS and cuSOLVER:
 *   device_variants [--counts 10000,100000] [--sizes 4,8,...] [--letters sdcz] [--rounds R]
 *                   [--verbs ldu/partial,...] [--kinds auto,made,registers,panel,shared]
 *                   [--seconds S] [--out FILE]
 * Random matrices without gaps: positive definite ones for LLT, diagonally dominant ones without
 * pivoting, pivots of Bunch and Kaufman (LDU: partial pivoting) for static pivoting. A row of JSON
 * for each kind: milliseconds of a call among eight in a row, each on its own copy, by events;
 * what copying the matrices within device memory takes, which reads and writes as much; the
 * vendor's getrfBatched, for LLT potrfBatched, up to order 32 matinvBatched, too. The backward
 * error of some is looked at before anything is timed: a row that is wrong has no times, and the
 * program goes on, to end with 1. A row that would begin after S seconds is left out. */
#include "rows.h"

#include <cusolverDn.h>

static cusolverDnHandle_t solver;

static int potrf(bench *b) {
    const int n = b->n, count = (int)b->count;
#define POTRF(X, type)                                                                             \
    cusolverDn##X##potrfBatched(solver, CUBLAS_FILL_MODE_LOWER, n, (type **)b->pointers, n,        \
                                b->outcome, count)
    switch (b->scalar) {
    case MPK_S:
        return (int)POTRF(S, float);
    case MPK_D:
        return (int)POTRF(D, double);
    case MPK_C:
        return (int)POTRF(C, cuComplex);
    default:
        return (int)POTRF(Z, cuDoubleComplex);
    }
}

/* Inverses, to where another copy's matrices are. */
static int matinv(bench *b) {
    const int n = b->n, count = (int)b->count;
    void **to = b->lists[b->pointers == b->lists[0]];
#define MATINV(X, type)                                                                            \
    cublas##X##matinvBatched(b->blas, n, (const type *const *)b->pointers, n, (type **)to, n,      \
                             b->outcome, count)
    if (n > 32) return -1;
    switch (b->scalar) {
    case MPK_S:
        return (int)MATINV(S, float);
    case MPK_D:
        return (int)MATINV(D, double);
    case MPK_C:
        return (int)MATINV(C, cuComplex);
    default:
        return (int)MATINV(Z, cuDoubleComplex);
    }
}

static int copy(bench *b) {
    return (int)cudaMemcpyAsync(b->a, b->first, (size_t)b->total * size_of(b),
                                cudaMemcpyDeviceToDevice, b->stream);
}

static int ours(bench *b) {
    return row_call(b, 1) != MPK_OK;
}

/* Additions and multiplications of one matrix, of real numbers. */
static double operations(const bench *b) {
    const double n = b->n, real = b->scalar <= MPK_D ? 1 : 4;
    if (starts(b, "ldu")) return real * (4 * n * n * n - 3 * n * n - n) / 6;
    return real * (2 * n * n * n + 3 * n * n + n) / 6;
}

static const char *const names[] = {"auto", "made", "registers", "panel", "shared"};

/* Pivots for static pivoting. */
static void give(bench *b) {
    bench f = *b;
    f.verb = starts(b, "ldu") ? "ldu/partial" : "ldlt/partial", f.kernels = 0;
    row_renew(&f, b->first);
    row_must(&f, row_call(&f, 0));
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Milliseconds that the processor needs for one of QUEUE calls, which the device does meanwhile. */
static double host_ms(bench *b) {
    bench one = *b;
    double least = 0;
    for (int r = 0; r < b->rounds; r++) {
        NEED(cudaStreamSynchronize(b->stream));
        const double begun = seconds();
        for (int k = 0; k < QUEUE; k++) {
            one.a = b->copies[k], one.pointers = b->lists[k];
            if (ours(&one)) return 0;
        }
        const double ms = 1e3 * (seconds() - begun) / QUEUE;
        if (r == 0 || ms < least) least = ms;
    }
    NEED(cudaStreamSynchronize(b->stream));
    return least;
}

static int one(bench *b, const char *kinds) {
    double error = 0;
    int wrong = 0;
    row_make(b);
    row_take_copies(b);
    const double copied = row_queued(b, copy), getrf = row_queued(b, row_blas);
    const double cholesky = starts(b, "llt") ? row_queued(b, potrf) : 0;
    const double inverses = row_queued(b, matinv);
    if (pivoting_of(b) == MPK_PIVOTING_STATIC) give(b);
    for (int kind = 0; kind < 5; kind++) {
        if (!strstr(kinds, names[kind])) continue;
        b->kernels = (mpk_batch_kernels)kind;
        row_renew(b, b->first);
        if (row_call(b, 0) != MPK_OK) continue; /* there is none of this kind */
        error = row_backward(b);
        const double ms = error < 0 ? 0 : row_queued(b, ours);
        wrong |= error < 0;
        fprintf(b->out,
                "{\"verb\": \"%s\", \"letter\": \"%c\", \"n\": %d, \"count\": %lld, \"kernels\": "
                "\"%s\", \"ms\": %.5g, \"copy_ms\": %.5g, \"getrf_ms\": %.5g, \"potrf_ms\": %.5g, "
                "\"matinv_ms\": %.5g, \"host_ms\": %.4g, \"operations\": %.6g, \"bytes\": %.6g, "
                "\"backward\": %.3g}\n",
                b->verb, "sdcz"[b->scalar], b -> n, (long long)b -> count, names[kind], ms, copied,
                getrf, cholesky, inverses, error < 0 ? 0 : host_ms(b),
                operations(b) * (double)b -> count,
                2.0 * (double)b -> count * b -> n * b -> n *(double)size_of(b), error);
        fflush(b->out);
        printf("%-13s %c %2d %6lld %-9s %9.5f copy %9.5f getrf %9.5f potrf %9.5f matinv %9.5f "
               "backward %.2g\n",
               b->verb, "sdcz"[b->scalar], b -> n, (long long)b -> count, names[kind], ms, copied,
               getrf, cholesky, inverses, error);
        fflush(stdout);
    }
    row_drop(b);
    return wrong;
}

int main(int argc, char **argv) {
    bench b = {.rounds = 5, .queued = 1, .layout = "strided", .lenient = 1};
    const char *counts = "10000,100000", *sizes = "4,8,16,32", *letters = "sd";
    const char *kinds = "auto,made,registers,panel,shared";
    const char *verbs = "ldu/none,ldu/static,ldu/partial,ldu/complete,llt/none,llt/complete,"
                        "ldlt/none,ldlt/static,ldlt/partial,ldlt/complete";
    double most = 1e9;
    int wrong = 0;
    const double begun = seconds();
    for (int k = 1; k + 1 < argc; k += 2) {
        if (is(argv[k], "--counts")) counts = argv[k + 1];
        if (is(argv[k], "--sizes")) sizes = argv[k + 1];
        if (is(argv[k], "--letters")) letters = argv[k + 1];
        if (is(argv[k], "--verbs")) verbs = argv[k + 1];
        if (is(argv[k], "--kinds")) kinds = argv[k + 1];
        if (is(argv[k], "--rounds")) b.rounds = atoi(argv[k + 1]);
        if (is(argv[k], "--seconds")) most = atof(argv[k + 1]);
        if (is(argv[k], "--out")) b.out = fopen(argv[k + 1], "a");
    }
    if (!b.out) b.out = fopen("/dev/null", "w");
    if (b.rounds < 1 || b.rounds > ROUNDS_MOST || !b.out) return 2;
    NEED(cudaStreamCreate(&b.stream));
    NEED(cudaEventCreate(&b.start));
    NEED(cudaEventCreate(&b.stop));
    NEED(cublasCreate(&b.blas));
    NEED(cublasSetStream(b.blas, b.stream));
    NEED(cusolverDnCreate(&solver));
    NEED(cusolverDnSetStream(solver, b.stream));
    NEED(mpk_context_create(NULL, &b.ctx));
    char *cs = NULL, *c = strdup(counts);
    for (char *count = strtok_r(c, ",", &cs); count; count = strtok_r(NULL, ",", &cs)) {
        char *vs = NULL, *v = strdup(verbs);
        b.count = atoll(count);
        for (char *verb = strtok_r(v, ",", &vs); verb; verb = strtok_r(NULL, ",", &vs))
            for (const char *letter = letters; *letter; letter++) {
                char *s = strdup(sizes), *ss = NULL;
                for (char *n = strtok_r(s, ",", &ss); n; n = strtok_r(NULL, ",", &ss)) {
                    b.verb = verb, b.n = atoi(n);
                    b.scalar = (mpk_scalar)(strchr("sdcz", *letter) - "sdcz");
                    if (b.n < 1 || b.n > MPK_BATCH_MAX_N || seconds() - begun > most) continue;
                    wrong |= one(&b, kinds);
                }
                free(s);
            }
        free(v);
    }
    free(c);
    cusolverDnDestroy(solver);
    mpk_context_destroy(&b.ctx);
    return wrong;
}
