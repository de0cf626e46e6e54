/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CUDA_CUDSS_H
#define BENCH_CUDA_CUDSS_H
/** cuDSS, loaded at run time: CUDSS_LIBRARY names it (libcudss.so.1 of the package
 *  nvidia-cudss-cu13); its threading layer is used where it lies beside it. What is declared of its
 *  interface is what its header says of version 1.0. */
#include <metapack/metapack.h>

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { R_64F = 1, R_32I = 10 }; /* cudaDataType_t */
enum { SYMMETRIC = 1, UPPER = 2, ZERO = 0, COLUMN_MAJOR = 0 };
enum { ANALYSIS = 1 | 2, FACTORIZATION = 4, REFACTORIZATION = 8, SOLVE = 0x3f0 };
enum {
    CONFIG_MATCHING = 3,
    CONFIG_REFINEMENT = 5,
    CONFIG_PIVOTS = 7,
    CONFIG_BATCH = 18, /* systems of a uniform batch */
    CONFIG_EMULATION = 26,
    DATA_INERTIA = 3
};

typedef struct cudss {
    int (*create)(void **handle);
    int (*threads)(void *handle, const char *layer);
    int (*config_create)(void **config);
    int (*config_destroy)(void *config);
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

/* The threading layer that lies beside the library; none is no failure. */
static void use_threads(const cudss *c, const char *library) {
    char layer[4096];
    const char *end = library ? strrchr(library, '/') : NULL;
    const int folder = end ? (int)(end - library) + 1 : 0;
    snprintf(layer, sizeof layer, "%.*slibcudss_mtlayer_gomp.so.1", folder, library ? library : "");
    FILE *there = folder ? fopen(layer, "r") : NULL;
    if (there) fclose(there);
    if ((folder && !there) || c->threads(c->handle, layer))
        fprintf(stderr, "cuDSS works without its threading layer\n");
}

static bool load(cudss *c) {
    const char *path = getenv("CUDSS_LIBRARY");
    void *library = dlopen(path ? path : "libcudss.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), false;
    if (!find(library, "cudssCreate", &c->create) ||
        !find(library, "cudssSetThreadingLayer", &c->threads) ||
        !find(library, "cudssConfigCreate", &c->config_create) ||
        !find(library, "cudssConfigDestroy", &c->config_destroy) ||
        !find(library, "cudssConfigSet", &c->config_set) ||
        !find(library, "cudssDataCreate", &c->data_create) ||
        !find(library, "cudssDataDestroy", &c->data_destroy) ||
        !find(library, "cudssDataGet", &c->data_get) ||
        !find(library, "cudssMatrixCreateCsr", &c->csr) ||
        !find(library, "cudssMatrixCreateDn", &c->dense) ||
        !find(library, "cudssMatrixDestroy", &c->matrix_destroy) ||
        !find(library, "cudssExecute", &c->execute) || c->create(&c->handle))
        return false;
    use_threads(c, path);
    return true;
}

/* max |b - A x| / (|A| |x| + |b|); infinity where x is not finite */
static double backward_error(const mpk_problem_view *a, const double *ax, const double *x,
                             const double *b, double *r, double *w) {
    double most = 0;
    for (int32_t i = 0; i < a->n; i++) r[i] = b[i], w[i] = fabs(b[i]);
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            r[i] -= ax[k] * x[j], w[i] += fabs(ax[k] * x[j]);
            if (i != j) r[j] -= ax[k] * x[i], w[j] += fabs(ax[k] * x[i]);
        }
    for (int32_t i = 0; i < a->n; i++)
        if (!(fabs(r[i]) <= most * w[i]) && (w[i] > 0 || r[i] != 0)) {
            const double e = fabs(r[i]) / w[i];
            most = isfinite(e) ? e : INFINITY;
        }
    return most;
}

#endif
