/* SPDX-License-Identifier: BSD-3-Clause */
/** Ten thousand small KKT systems in a GPU's memory: factored, solved and checked there, all in one
 *  stream, before the host looks. What allocates and copies is CUDA's runtime; so that this file
 *  builds without it, it is looked up when the program runs, and without a GPU there is nothing to
 *  show. A program of yours includes cuda_runtime.h and links to it. */
#include <metapack/metapack.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 16, COUNT = 10000, TO_DEVICE = 1, TO_HOST = 2 };

static int (*cuda_malloc)(void **p, size_t bytes);
static int (*cuda_free)(void *p);
static int (*cuda_memcpy)(void *to, const void *from, size_t bytes, int kind);

static int find_cuda(void) {
    void *runtime = dlopen("libcudart.so", RTLD_NOW);
    if (!runtime) runtime = dlopen("libcudart.so.13", RTLD_NOW);
    if (!runtime) return 0;
    *(void **)&cuda_malloc = dlsym(runtime, "cudaMalloc");
    *(void **)&cuda_free = dlsym(runtime, "cudaFree");
    *(void **)&cuda_memcpy = dlsym(runtime, "cudaMemcpy");
    return cuda_malloc && cuda_free && cuda_memcpy;
}

/* [H e; e' 0], H diagonal: minimise x'Hx/2 with e'x = 1. Column-major, both triangles. */
static void fill(double *a, double *b) {
    memset(a, 0, sizeof(double) * COUNT * N * N);
    memset(b, 0, sizeof(double) * COUNT * N);
    for (int k = 0; k < COUNT; k++) {
        double *ak = a + (size_t)k * N * N;
        for (int j = 0; j < N - 1; j++) {
            ak[j + j * N] = 1 + (k + j) % 10;
            ak[N - 1 + j * N] = ak[j + (N - 1) * N] = 1;
        }
        b[k * N + N - 1] = 1;
    }
}

int main(void) {
    double *a = malloc(sizeof(double) * COUNT * N * N), *x = malloc(sizeof(double) * COUNT * N);
    int32_t *inertia = malloc(sizeof(int32_t) * 3 * COUNT);
    void *da = NULL, *dx = NULL, *pivots = NULL, *outcome = NULL, *signs = NULL;
    mpk_context *ctx = NULL;
    const char *text = "";
    int good = 0, ok = 0;
    if (!find_cuda() || cuda_malloc(&da, sizeof(double) * COUNT * N * N) ||
        cuda_malloc(&dx, sizeof(double) * COUNT * N) ||
        cuda_malloc(&pivots, sizeof(int32_t) * COUNT * N) ||
        cuda_malloc(&outcome, sizeof(int32_t) * COUNT) ||
        cuda_malloc(&signs, sizeof(int32_t) * 3 * COUNT)) {
        printf("no GPU here: nothing to show\n");
        ok = 1;
        goto done;
    }
    fill(a, x);
    cuda_memcpy(da, a, sizeof(double) * COUNT * N * N, TO_DEVICE);
    cuda_memcpy(dx, x, sizeof(double) * COUNT * N, TO_DEVICE);

    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.count = COUNT, batch.n = N;
    batch.pivoting = MPK_PIVOTING_PARTIAL;
    batch.pivots_memory = batch.results_memory = MPK_DEVICE;
    batch.asynchronous = 1; /* both calls are queued; the copies below wait for them */
    mpk_batch_array matrices = {MPK_BATCH_STRIDED, MPK_DEVICE, da, N * N, N, 1};
    mpk_batch_array vectors = {MPK_BATCH_STRIDED, MPK_DEVICE, dx, N, N, 1};
    mpk_batch_results results = {outcome, signs};
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status)) status = mpk_batch_ldlt(ctx, &batch, &matrices, pivots, &results);
    if (!mpk_failed(status))
        status = mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &matrices, pivots, 1, &vectors, NULL);
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("%s %s\n", mpk_status_text(status), text);
    if (mpk_failed(status)) goto done;
    cuda_memcpy(x, dx, sizeof(double) * COUNT * N, TO_HOST);
    cuda_memcpy(inertia, signs, sizeof(int32_t) * 3 * COUNT, TO_HOST);

    double worst = 0;
    for (int k = 0; k < COUNT; k++) {
        double sum = -1; /* e'x = 1 */
        for (int j = 0; j < N - 1; j++) sum += x[k * N + j];
        worst = fmax(worst, fabs(sum));
        good += inertia[3 * k] == N - 1 && inertia[3 * k + 1] == 1;
    }
    printf("%d of %d have the inertia of a minimum, constraint kept to %.0e\n", good, COUNT, worst);
    ok = good == COUNT && worst < 1e-12;
done:
    mpk_context_destroy(&ctx);
    if (da) cuda_free(da);
    if (dx) cuda_free(dx);
    if (pivots) cuda_free(pivots);
    if (outcome) cuda_free(outcome);
    if (signs) cuda_free(signs);
    free(a), free(x), free(inertia);
    return !ok;
}
