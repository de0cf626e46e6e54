/* SPDX-License-Identifier: BSD-3-Clause */
/* complex METHOD PIVOTING SYMMETRY TYPE N...: processor time of complex factorizations by
 * mpk_batch_*, nanoseconds of a matrix, the least of seven runs over 4096 random matrices;
 * bench/borg_complex.py runs it with two builds by turns. The numbers are those of
 * metapack/batch.h and types.h. LLT: 2 n is added to diagonals. */
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 4096, TURNS = 7 };

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void fill(int llt, int single, int n, void *a) {
    uint32_t state = 1;
    for (int64_t k = 0; k < (int64_t)COUNT * n * n * 2; k++) {
        state = state * 1664525u + 1013904223u;
        double x = (state >> 8) / 8388608.0 - 1;
        if (k / 2 % (n * n) % (n + 1) == 0) x = k % 2 ? 0 : x + llt * 2 * n;
        if (single)
            ((float *)a)[k] = (float)x;
        else
            ((double *)a)[k] = x;
    }
}

static int measure(mpk_context *ctx, mpk_batch *batch, int method, int n) {
    const int single = batch->scalar == MPK_C;
    const size_t bytes = (size_t)COUNT * (size_t)n * (size_t)n * (single ? 8 : 16);
    void *fresh = malloc(bytes), *data = malloc(bytes);
    int32_t *pivots = malloc(sizeof *pivots * (size_t)COUNT * (size_t)n * 2);
    if (!fresh || !data || !pivots) return 1;
    double best = 1e99;
    int failed = 0;
    batch->n = n;
    fill(method == MPK_BATCH_LLT, single, n, fresh);
    for (int turn = 0; turn < TURNS && !failed; turn++) {
        const mpk_batch_array a = {MPK_BATCH_STRIDED, MPK_HOST, data, (int64_t)n * n, n, 1};
        memcpy(data, fresh, bytes);
        const double began = now_ns();
        const mpk_status status = (method == MPK_BATCH_LLT   ? mpk_batch_llt
                                   : method == MPK_BATCH_LDU ? mpk_batch_ldu
                                                             : mpk_batch_ldlt)(
            ctx, batch, &a, batch->pivoting ? pivots : NULL, NULL);
        const double ns = (now_ns() - began) / COUNT;
        failed = mpk_failed(status);
        best = ns < best ? ns : best;
    }
    printf("%d %.1f\n", n, failed ? -1 : best);
    free(fresh), free(data), free(pivots);
    return failed;
}

int main(int argc, char **argv) {
    mpk_context *ctx = NULL;
    mpk_batch batch;
    if (argc < 6 || mpk_context_create(NULL, &ctx)) return 1;
    mpk_batch_init(&batch);
    batch.pivoting = (mpk_pivoting)atoi(argv[2]);
    batch.symmetry = (mpk_symmetry)atoi(argv[3]);
    batch.scalar = *argv[4] == 'c' ? MPK_C : MPK_Z;
    batch.count = COUNT, batch.threads = 1;
    int failed = 0;
    for (int k = 5; k < argc; k++) failed |= measure(ctx, &batch, atoi(argv[1]), atoi(argv[k]));
    mpk_context_destroy(&ctx);
    return failed;
}
