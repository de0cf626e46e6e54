/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_dense_sysv() on the device, all data there: time, split and errors for methods and
 * precisions.
 *
 *   system N LETTER METHOD:PRECISION[:ACCURACY][,...] [REPEAT] [OUT.jsonl] [dominant]
 *
 * Matrices are random; dominant: with 1.5 sqrt(n) of changing sign on the diagonal, well
 * conditioned. */
#include "../../src/engines/cuda/module/load.h"
#include "../../src/core/random.h"

#include <metapack/dense.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;
static double uniform(void) {
    return mpki_random_signed(&seed);
}

static int method_named(const char *name) {
    for (int m = 0; m < MPK_DENSE_COUNT; m++)
        if (!strcmp(name, mpk_dense_method_name((mpk_dense_method)m))) return m;
    return -1;
}

static int precision_named(const char *name) {
    for (int p = 0; p <= MPK_DENSE_HALF; p++)
        if (!strcmp(name, mpk_dense_precision_name((mpk_dense_precision)p))) return p;
    return -1;
}

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "system N LETTER METHOD:PRECISION[,...]\n"), 2;
    const int64_t n = atoll(argv[1]);
    const char letter = argv[2][0];
    const int repeat = argc > 4 ? atoi(argv[4]) : 3;
    FILE *rows = argc > 5 ? fopen(argv[5], "a") : NULL;
    const mpk_scalar scalar = letter == 's'   ? MPK_S
                              : letter == 'd' ? MPK_D
                              : letter == 'c' ? MPK_C
                                              : MPK_Z;
    const int64_t size = (int64_t)mpk_scalar_size(scalar);
    mpk_context *ctx = NULL;
    const char *text = "";
    const double diagonal = argc > 6 ? 1.5 * sqrt((double)n) : 0;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    const mpki_device *d = mpki_cuda_open(ctx, 0);
    if (!d) {
        mpk_last_error(ctx, NULL, NULL, &text);
        return fprintf(stderr, "%s\n", text), 1;
    }
    void *a = NULL, *f = NULL, *pivots = NULL, *extra = NULL, *b = NULL, *x = NULL, *work = NULL;
    char *column = malloc((size_t)(n * size));
    d->table->alloc(d->cuda, n * n * size, &a);
    d->table->alloc(d->cuda, n * n * size, &f);
    d->table->alloc(d->cuda, n * 4 + 64, &pivots);
    d->table->alloc(d->cuda, n * 8000 + 64, &extra); /* Aasen's T */
    d->table->alloc(d->cuda, n * size, &b);
    d->table->alloc(d->cuda, n * size, &x);
    for (int64_t j = 0; j <= n; j++) { /* the last column is b */
        for (int64_t i = 0; i < n * (scalar >= MPK_C ? 2 : 1); i++) {
            double v = uniform();
            if (diagonal > 0 && i == j * (scalar >= MPK_C ? 2 : 1))
                v = j & 1 ? diagonal : -diagonal;
            if (size == 4 || scalar == MPK_C)
                ((float *)column)[i] = (float)v;
            else
                ((double *)column)[i] = v;
        }
        d->table->copy(d->cuda, j < n ? (char *)a + j * n * size : b, n * size, column, n * size,
                       n * size, 1, 1, NULL);
        d->table->synchronize(d->cuda, NULL);
    }
    for (char *item = strtok(argv[3], ","); item; item = strtok(NULL, ",")) {
        char *colon = strchr(item, ':');
        if (colon) *colon++ = 0;
        char *accuracy = colon ? strchr(colon, ':') : NULL;
        if (accuracy) *accuracy++ = 0;
        mpk_dense dense;
        mpk_dense_sizes sizes;
        mpk_dense_info info, best;
        mpk_dense_init(&dense);
        dense.n = n, dense.scalar = scalar, dense.memory = MPK_DEVICE;
        dense.method = (mpk_dense_method)method_named(item);
        dense.precision = (mpk_dense_precision)precision_named(colon ? colon : "working");
        if (accuracy) dense.accuracy = atof(accuracy);
        mpk_status status = mpk_dense_query(ctx, &dense, 1, &sizes);
        if (!mpk_failed(status))
            status = (mpk_status)d->table->alloc(d->cuda, sizes.sysv_bytes, &work);
        double least = INFINITY;
        memset(&best, 0, sizeof best);
        for (int k = 0; k <= repeat && !mpk_failed(status); k++) {
            mpk_dense_factor factor = {
                .struct_size = sizeof factor, .f = f, .ldf = n, .pivots = pivots, .extra = extra};
            const double start = mpki_now_s();
            status = mpk_dense_sysv(ctx, &dense, a, n, &factor, 1, b, n, x, n, work,
                                    sizes.sysv_bytes, &info);
            const double t = mpki_now_s() - start;
            if (k && t < least) least = t, best = info;
        }
        if (mpk_failed(status)) mpk_last_error(ctx, NULL, NULL, &text);
        printf("%c %s:%s n=%lld %s total %.1f ms factorize %.1f solve %.1f refine %.1f omega %.2e "
               "-> %.2e steps %d gmres %d %s\n",
               letter, item, colon ? colon : "working", (long long)n, mpk_status_name(status),
               least * 1e3, best.factorize_s * 1e3, best.solve_s * 1e3, best.refine_s * 1e3,
               best.unrefined, best.componentwise, best.iterations, best.gmres,
               mpk_failed(status) ? text : "");
        fflush(stdout);
        if (rows) {
            fprintf(rows,
                    "{\"row\": \"system\", \"matrix\": \"%s\", \"letter\": \"%c\", \"method\": "
                    "\"%s\", \"precision\": "
                    "\"%s\", \"n\": %lld, "
                    "\"status\": \"%s\", \"time_s\": %.6g, \"factorize_s\": %.6g, \"solve_s\": "
                    "%.6g, \"refine_s\": %.6g, "
                    "\"omega\": %.3g, \"omega_refined\": %.3g, \"steps\": %d, \"gmres\": %d}\n",
                    diagonal > 0 ? "dominant" : "random", letter, item, colon ? colon : "working",
                    (long long)n, mpk_status_name(status), least, best.factorize_s, best.solve_s,
                    best.refine_s, best.unrefined, best.componentwise, best.iterations, best.gmres);
            fflush(rows);
        }
        d->table->release(d->cuda, work);
        work = NULL;
    }
    mpk_context_destroy(&ctx);
    return 0;
}
