/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of Krylov methods on a device: products with A beside the rate of a copy, operations, and
 * iterations without a preconditioner, plain and in batches. Answers are checked against the
 * processor's before a time is printed; one line a row.
 *
 *  METAPACK_CUDA_MODULE=libmetapack_cuda.so vectors [--iterations N] [SPEC|FILE ...]
 *
 *  SPEC: as in `metapack solve --generate`, in one argument; FILE: Matrix Market or
 *  Rutherford-Boeing. Without arguments: nlpkkt 40, nlpkkt 80, helmholtz 2d 700, lp-kkt 20000
 *  60000. */
#include "engines/cuda/module/load.h"
#include "engines/cuda/vectors/kernels/vectors.h"
#include "engines/interface/engine.h"
#include "problem/full.h"
#include "solve/krylov/krylov.h"

#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEAT = 20, ROUNDS = 5 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(mpk_context *ctx, const char *what) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "vectors: %s: %s\n", what, text);
    exit(1);
}

/* Seconds of one call, the least of ROUNDS means over REPEAT calls that are queued one after the
 * other. */
typedef struct timed {
    void (*call)(void *self);
    void *self;
    const mpki_device *d;
    void *stream;
} timed;

static double least(const timed *t) {
    double best = INFINITY;
    t->call(t->self);
    for (int round = 0; round < ROUNDS; round++) {
        t->d->table->synchronize(t->d->cuda, t->stream);
        const double start = now();
        for (int k = 0; k < REPEAT; k++) t->call(t->self);
        t->d->table->synchronize(t->d->cuda, t->stream);
        best = fmin(best, (now() - start) / REPEAT);
    }
    return best;
}

typedef struct bench {
    mpk_context *ctx;
    const mpki_vector_engine *engine;
    const mpki_vector_ops *ops;
    const mpki_device *d;
    mpki_space *space;
    mpki_matrix *matrix;
    void *v[4];
    int64_t n, nnz, size;
} bench;

static void call_copy(void *self) {
    bench *b = self;
    b->ops->copy(b->space, b->v[0], b->v[1]);
}
static void call_product(void *self) {
    bench *b = self;
    b->engine->multiply(b->matrix, b->v[0], b->v[1]);
}
static void call_dot(void *self) {
    bench *b = self;
    b->ops->product(b->space, 1, b->v[0], b->v[2]);
}
static void call_axpy(void *self) {
    bench *b = self;
    b->ops->axpy(b->space, (mpki_number){1e-9, 0}, b->v[0], b->v[2]);
}
static void call_axpy_norm(void *self) {
    bench *b = self;
    b->ops->axpy_norm(b->space, (mpki_number){1e-9, 0}, b->v[0], b->v[2]);
}
static void call_residual(void *self) {
    bench *b = self;
    double error;
    b->engine->residual(b->matrix, 1, b->v[0], b->v[2], 0, b->v[1], &error);
}

/* The stream in which the engines work. */
static void *stream_of(const mpki_device *d) {
    mpki_cuda_space s = {.scalar = MPK_D, .n = 1};
    if (d->table->vectors->make(d->cuda, &s, 0, NULL, NULL)) exit(1);
    void *stream = s.stream;
    d->table->vectors->free(d->cuda, &s);
    return stream;
}

static void row(const bench *b, const char *name, void (*call)(void *), double bytes,
                double copy_rate) {
    const timed t = {call, (void *)(uintptr_t)b, b->d, stream_of(b->d)};
    const double time_s = least(&t);
    if (b->ops->status(b->space)) stop(b->ctx, name);
    printf("  %-12s %10.2f us %8.1f GB/s", name, 1e6 * time_s, 1e-9 * bytes / time_s);
    if (copy_rate > 0) printf("  %5.1f %% of the copy's rate", 100e-9 * bytes / time_s / copy_rate);
    printf("\n");
}

/* The rate of a copy of as many bytes as the product reads. */
static double copy_rate(bench *b) {
    const int64_t bytes = b->nnz * (b->size + 4) + b->n * (8 + 2 * b->size), n = bytes / 2 / 8;
    bench copy = *b;
    mpki_space *space = NULL;
    void *v[2];
    if (n > INT32_MAX || b->ops->make(b->ctx, MPK_D, (int32_t)n, 2, NULL, 0, &space, v))
        stop(b->ctx, "no room for the copy");
    copy.space = space, copy.v[0] = v[0], copy.v[1] = v[1];
    b->ops->zero(space, v[0]);
    const timed t = {call_copy, &copy, b->d, stream_of(b->d)};
    const double time_s = least(&t), rate = 1e-9 * 16.0 * (double)n / time_s;
    printf("  %-12s %10.2f us %8.1f GB/s  (%.0f MB read and written)\n", "copy", 1e6 * time_s, rate,
           16e-6 * (double)n);
    b->ops->free(b->ctx, &space);
    return rate;
}

static void check(bench *b, mpki_matrix *host, const void *x) {
    void *y = malloc((size_t)(b->n * b->size)), *z = malloc((size_t)(b->n * b->size));
    double most = 0, size = 0;
    mpki_cpu_vectors.multiply(host, x, y);
    b->ops->take(b->space, x, b->v[0]);
    if (b->engine->multiply(b->matrix, b->v[0], b->v[1])) stop(b->ctx, "product");
    b->ops->give(b->space, b->v[1], z);
    for (int64_t i = 0; i < b->n; i++) {
        most = fmax(most, fabs(((double *)y)[i] - ((double *)z)[i]));
        size = fmax(size, fabs(((double *)y)[i]));
    }
    if (!(most <= 1e-12 * size)) {
        fprintf(stderr, "vectors: the product is wrong: %g of %g\n", most, size);
        exit(1);
    }
    free(y), free(z);
}

typedef struct operator_of {
    const mpki_vector_engine *engine;
    mpki_matrix *matrix;
    double norm;
} operator_of;

static mpk_status multiply(void *self, const void *x, void *y) {
    operator_of *o = self;
    return o->engine->multiply(o->matrix, x, y);
}
static mpk_status residual(void *self, const void *x, const void *b, double wanted, void *r,
                           double *error) {
    operator_of *o = self;
    return o->engine->residual(o->matrix, o->norm, x, b, wanted, r, error);
}

/* `most` iterations of a method for b = A 1. */
static void iterate(const bench *b, const char *name, const mpki_vector_engine *engine,
                    mpki_matrix *matrix, mpk_krylov method, int most, bool fused, double norm,
                    const void *rhs) {
    operator_of o = {engine, matrix, norm};
    char message[MPKI_KRYLOV_MESSAGE] = "";
    mpk_krylov_task task;
    mpk_krylov_info info;
    double best = INFINITY;
    void *x = calloc((size_t)b->n, (size_t)b->size);
    mpk_krylov_task_init(&task);
    task.method = method;
    task.n = (int32_t)b->n;
    task.tolerance = 0;
    task.max_iterations = most;
    task.a = (mpk_operator){multiply, &o};
    const mpki_krylov_extra extra = {.residual = residual,
                                     .self = &o,
                                     .a_norm = norm,
                                     .share = 1,
                                     .matrix = fused ? matrix : NULL,
                                     .queued = fused};
    for (int turn = 0; turn < (engine == b->engine ? 2 : 1); turn++) {
        memset(x, 0, (size_t)(b->n * b->size));
        const mpk_status status =
            mpki_krylov_run(b->ctx, engine, &task, &extra, rhs, x, &info, message);
        if (mpk_failed(status)) stop(b->ctx, name);
        best = fmin(best, info.time_s);
    }
    printf("  %-22s %5d iterations %10.1f us each  residual %.6e\n", name, info.iterations,
           1e6 * best / fmax(1, info.iterations), info.residual);
    free(x);
}

static double norm_of(const mpki_full *a) {
    double most = 0;
    for (int32_t i = 0; i < a->n; i++) {
        double sum = 0;
        for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++) sum += fabs(((double *)a->val)[k]);
        most = fmax(most, sum);
    }
    return most;
}

static void matrix_rows(mpk_context *ctx, const char *spec, int iterations) {
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpki_full full;
    mpki_pool *pool = NULL;
    mpki_matrix *host = NULL;
    const mpki_engine *engine = mpki_cuda_engine(ctx, 0);
    if (!engine) stop(ctx, "no device");
    if (mpk_failed(mpk_problem_read(ctx, spec, &problem)) &&
        mpk_failed(mpk_problem_generate(ctx, spec, 1, &problem)))
        stop(ctx, spec);
    mpk_problem_view_get(problem, &a);
    if (a.scalar != MPK_D) {
        fprintf(stderr, "vectors: %s is not real\n", spec);
        exit(1);
    }
    bench b = {.ctx = ctx,
               .engine = engine->vectors,
               .ops = engine->vectors->ops[MPK_D],
               .d = mpki_cuda_kept(ctx),
               .n = a.n,
               .size = sizeof(double)};
    if (mpki_full_make(ctx, &a, 2, &full, &pool)) stop(ctx, spec);
    const double norm = norm_of(&full);
    b.nnz = full.nnz;
    if (mpki_cpu_vectors.matrix_make(ctx, &full, pool, 0, &host)) stop(ctx, spec);
    if (mpki_full_make(ctx, &a, 2, &full, &pool)) stop(ctx, spec);
    double start = now();
    if (b.engine->matrix_make(ctx, &full, pool, 0, &b.matrix)) stop(ctx, spec);
    const double upload_s = now() - start;
    if (b.ops->make(ctx, MPK_D, a.n, 4, NULL, 0, &b.space, b.v)) stop(ctx, spec);
    double *x = malloc((size_t)a.n * sizeof *x), *rhs = malloc((size_t)a.n * sizeof *rhs);
    for (int32_t i = 0; i < a.n; i++) x[i] = sin(i + 1.0);
    printf("%s: n %d, %lld entries, uploaded in %.1f ms; %s\n", spec, a.n, (long long)b.nnz,
           1e3 * upload_s, engine->name(ctx));
    check(&b, host, x);
    b.ops->zero(b.space, b.v[2]);
    const double rate = copy_rate(&b);
    const double n = (double)b.n, nnz = (double)b.nnz;
    row(&b, "product", call_product, 12 * nnz + 24 * n, rate);
    row(&b, "dot", call_dot, 16 * n, 0);
    row(&b, "axpy", call_axpy, 24 * n, 0);
    row(&b, "axpy, norm", call_axpy_norm, 24 * n, 0);
    row(&b, "residual", call_residual, 12 * nnz + 32 * n, 0);
    for (int32_t i = 0; i < a.n; i++) x[i] = 1;
    mpki_cpu_vectors.multiply(host, x, rhs);
    iterate(&b, "sqmr, batches", b.engine, b.matrix, MPK_KRYLOV_SQMR, iterations, true, norm, rhs);
    mpki_vector_ops plain = *b.ops;
    plain.batch = NULL;
    mpki_vector_engine slow = *b.engine;
    slow.ops[MPK_D] = &plain;
    iterate(&b, "sqmr, plain", &slow, b.matrix, MPK_KRYLOV_SQMR, iterations, false, norm, rhs);
    iterate(&b, "minres", b.engine, b.matrix, MPK_KRYLOV_MINRES, iterations, false, norm, rhs);
    iterate(&b, "gmres(50)", b.engine, b.matrix, MPK_KRYLOV_GMRES, iterations, false, norm, rhs);
    iterate(&b, "idr(4)", b.engine, b.matrix, MPK_KRYLOV_IDR, iterations, false, norm, rhs);
    iterate(&b, "sqmr, processor", &mpki_cpu_vectors, host, MPK_KRYLOV_SQMR, iterations, false,
            norm, rhs);
    fflush(stdout);
    free(x), free(rhs);
    b.ops->free(ctx, &b.space);
    b.engine->matrix_free(ctx, &b.matrix);
    mpki_cpu_vectors.matrix_free(ctx, &host);
    mpk_problem_destroy(&problem);
}

int main(int argc, char **argv) {
    static const char *const usual[] = {"nlpkkt 40", "nlpkkt 80", "helmholtz 2d 700",
                                        "lp-kkt 20000 60000"};
    mpk_context *ctx = NULL;
    int at = 1, iterations = 200;
    if (mpk_context_create(NULL, &ctx)) return 1;
    if (argc > 2 && !strcmp(argv[1], "--iterations")) iterations = atoi(argv[2]), at = 3;
    if (at == argc)
        for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
            matrix_rows(ctx, usual[k], iterations);
    for (; at < argc; at++) matrix_rows(ctx, argv[at], iterations);
    mpk_context_destroy(&ctx);
    return 0;
}
