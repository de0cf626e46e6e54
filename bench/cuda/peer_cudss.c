/* SPDX-License-Identifier: BSD-3-Clause */
/* cuDSS on the matrices of direct.c, for a comparison on one machine. The library is loaded at run
 * time: CUDSS_LIBRARY names it (libcudss.so.1 of the package nvidia-cudss-cu13). What is declared
 * of its interface here is what its documentation says of version 1.0.
 *
 *   peer_cudss [repeat=N] [matching=0..6] MATRIX...
 *
 * Real symmetric matrices, double precision, one right-hand side, no refinement. One line each:
 * analysis, factor, refactor, solve in ms (medians of N, the analysis once), the componentwise
 * backward error, inertia, bytes of the device's memory that it holds. */
#include "../../src/engines/cuda/module/load.h"

#include <dlfcn.h>
#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { R_64F = 1, R_32I = 10 }; /* cudaDataType_t */
enum { SYMMETRIC = 1, UPPER = 2, ZERO = 0, COLUMN_MAJOR = 0 };
enum { ANALYSIS = 1 | 2, FACTORIZATION = 4, REFACTORIZATION = 8, SOLVE = 0x3f0 };
enum { CONFIG_MATCHING = 3, DATA_INERTIA = 3 };

typedef struct cudss {
    int (*create)(void **handle);
    int (*config_create)(void **config);
    int (*config_set)(void *config, int what, const void *value, size_t bytes);
    int (*data_create)(void *handle, void **data);
    int (*data_destroy)(void *handle, void *data);
    int (*data_get)(void *handle, void *data, int what, void *value, size_t bytes, size_t *written);
    int (*csr)(void **matrix, int64_t rows, int64_t cols, int64_t nnz, const void *begin,
               const void *end, const void *index, const void *values, int offset_type,
               int index_type, int value_type, int kind, int view, int base);
    int (*dense)(void **matrix, int64_t rows, int64_t cols, int64_t ld, const void *values,
                 int type, int layout);
    int (*matrix_destroy)(void *matrix);
    int (*execute)(void *handle, int phase, void *config, void *data, void *a, void *x, void *b);
    void *handle;
} cudss;

static bool find(void *library, const char *name, void *slot) {
    void *symbol = dlsym(library, name);
    memcpy(slot, &symbol, sizeof symbol);
    if (!symbol) fprintf(stderr, "no %s\n", name);
    return symbol != NULL;
}

static bool load(cudss *c) {
    const char *path = getenv("CUDSS_LIBRARY");
    void *library = dlopen(path ? path : "libcudss.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), false;
    return find(library, "cudssCreate", &c->create) &&
           find(library, "cudssConfigCreate", &c->config_create) &&
           find(library, "cudssConfigSet", &c->config_set) &&
           find(library, "cudssDataCreate", &c->data_create) &&
           find(library, "cudssDataDestroy", &c->data_destroy) &&
           find(library, "cudssDataGet", &c->data_get) &&
           find(library, "cudssMatrixCreateCsr", &c->csr) &&
           find(library, "cudssMatrixCreateDn", &c->dense) &&
           find(library, "cudssMatrixDestroy", &c->matrix_destroy) &&
           find(library, "cudssExecute", &c->execute) && c->create(&c->handle) == 0;
}

static const mpki_device *device;

static void *up(const void *host, int64_t bytes) {
    void *p = NULL;
    if (device->table->alloc(device->cuda, bytes, &p) ||
        device->table->copy(device->cuda, p, bytes, host, bytes, bytes, 1, 1, NULL) ||
        device->table->settle(device->cuda))
        return NULL;
    return p;
}

static int64_t free_bytes(void) {
    int64_t now = 0;
    device->table->describe(device->cuda, NULL, 0, &now, NULL);
    return now;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A phase, `repeat` times; its median in ms. */
static int timed(const cudss *c, int phase, void *config, void *data, void *const m[3], int repeat,
                 double *ms) {
    double *t = malloc((size_t)repeat * sizeof *t);
    int status = 0;
    for (int k = 0; k < repeat && !status; k++) {
        const double start = mpki_now_s();
        status = c->execute(c->handle, phase, config, data, m[0], m[1], m[2]);
        if (!status) status = device->table->settle(device->cuda);
        t[k] = (mpki_now_s() - start) * 1e3;
    }
    qsort(t, (size_t)repeat, sizeof *t, by_size);
    *ms = t[repeat / 2];
    free(t);
    return status;
}

/* max |b - A x| / (|A| |x| + |b|) */
static double backward_error(const mpk_problem_view *a, const double *x, const double *b) {
    const double *ax = a->ax;
    double *r = malloc((size_t)a->n * sizeof *r), *w = malloc((size_t)a->n * sizeof *w), most = 0;
    for (int32_t i = 0; i < a->n; i++) r[i] = b[i], w[i] = fabs(b[i]);
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            r[i] -= ax[k] * x[j], w[i] += fabs(ax[k] * x[j]);
            if (i != j) r[j] -= ax[k] * x[i], w[j] += fabs(ax[k] * x[i]);
        }
    for (int32_t i = 0; i < a->n; i++)
        if (!(fabs(r[i]) <= most * w[i]) && (w[i] > 0 || r[i] != 0)) most = fabs(r[i]) / w[i];
    free(r), free(w);
    return most;
}

static int row(const cudss *c, mpk_context *ctx, const char *what, int repeat, int matching) {
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    FILE *file = fopen(what, "r");
    const mpk_status read =
        file ? mpk_problem_read(ctx, what, &problem) : mpk_problem_generate(ctx, what, 1, &problem);
    if (file) fclose(file);
    if (mpk_failed(read)) return printf("%s: cannot be read\n", what), 1;
    mpk_problem_view_get(problem, &a);
    if (a.scalar != MPK_D || a.symmetry != MPK_SYMMETRIC || a.nnz > INT32_MAX)
        return printf("%s: not a real symmetric matrix\n", what), 1;
    const int64_t n = a.n;
    int32_t *begin = malloc((size_t)(n + 1) * sizeof *begin);
    double *b = malloc((size_t)n * sizeof *b), *x = malloc((size_t)n * sizeof *x);
    for (int64_t j = 0; j <= n; j++) begin[j] = (int32_t)a.ap[j];
    for (int64_t i = 0; i < n; i++) b[i] = 1 + (double)(i % 5);
    /* the lower triangle by columns is the upper one by rows */
    int32_t *db = up(begin, (n + 1) * 4), *di = up(a.ai, a.nnz * 4);
    double *da = up(a.ax, a.nnz * 8), *dx = up(b, n * 8), *dy = up(b, n * 8);
    const int64_t before = free_bytes();
    void *config = NULL, *data = NULL, *m[3] = {NULL, NULL, NULL};
    double analysis = 0, factor = 0, refactor = 0, solve = 0;
    int inertia[2] = {0, 0};
    size_t written = 0;
    int status = c->config_create(&config);
    if (!status && matching >= 0)
        status = c->config_set(config, CONFIG_MATCHING, &matching, sizeof matching);
    if (!status) status = c->data_create(c->handle, &data);
    if (!status)
        status = c->csr(&m[0], n, n, a.nnz, db, NULL, di, da, R_32I, R_32I, R_64F, SYMMETRIC, UPPER,
                        ZERO);
    if (!status) status = c->dense(&m[1], n, 1, n, dx, R_64F, COLUMN_MAJOR);
    if (!status) status = c->dense(&m[2], n, 1, n, dy, R_64F, COLUMN_MAJOR);
    if (!status) status = timed(c, ANALYSIS, config, data, m, 1, &analysis);
    if (!status) status = timed(c, FACTORIZATION, config, data, m, 1, &factor);
    if (!status) status = timed(c, FACTORIZATION, config, data, m, repeat, &factor);
    if (!status) status = timed(c, REFACTORIZATION, config, data, m, repeat, &refactor);
    if (!status) status = timed(c, SOLVE, config, data, m, repeat, &solve);
    if (status) {
        printf("%s: cuDSS says %d\n", what, status);
    } else {
        const int64_t held = before - free_bytes();
        device->table->copy(device->cuda, x, n * 8, dx, n * 8, n * 8, 1, 0, NULL);
        device->table->settle(device->cuda);
        const int told =
            c->data_get(c->handle, data, DATA_INERTIA, inertia, sizeof inertia, &written);
        printf(
            "%s: cuDSS analysis %.1f factor %.3f refactor %.3f solve %.3f ms, omega %.1e, inertia "
            "%d %d%s, %.3f GB\n",
            what, analysis, factor, refactor, solve, backward_error(&a, x, b), inertia[0],
            inertia[1], told ? " (not told)" : "", (double)held / 1e9);
    }
    fflush(stdout);
    for (int k = 0; k < 3; k++)
        if (m[k]) c->matrix_destroy(m[k]);
    if (data) c->data_destroy(c->handle, data);
    void *const all[] = {db, di, da, dx, dy};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        device->table->release(device->cuda, all[k]);
    free(begin), free(b), free(x);
    mpk_problem_destroy(&problem);
    return status != 0;
}

int main(int argc, char **argv) {
    int repeat = 5, matching = -1, failed = 0;
    mpk_context *ctx = NULL;
    cudss c;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    device = mpki_cuda_keep(ctx, 0);
    if (!device || !load(&c)) return fprintf(stderr, "no device, or no cuDSS\n"), 1;
    for (int k = 1; k < argc; k++)
        if (sscanf(argv[k], "repeat=%d", &repeat) != 1 &&
            sscanf(argv[k], "matching=%d", &matching) != 1)
            failed += row(&c, ctx, argv[k], repeat, matching);
    mpk_context_destroy(&ctx);
    return failed > 0;
}
