/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack bench dense: random symmetric matrices by the methods of metapack/dense.h. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 3 };

/* uniform in (-1, 1), the same everywhere; real kinds of `size` bytes */
static void fill(void *x, int64_t reals, size_t size, uint64_t seed) {
    uint64_t s = cli_bench_seed(seed);
    for (int64_t k = 0; k < reals; k++) {
        double v = cli_bench_random(&s);
        if (size == 4)
            ((float *)x)[k] = (float)v;
        else
            ((double *)x)[k] = v;
    }
}

static double median(double *t) {
    for (int i = 1; i < REPEATS; i++)
        for (int j = i; j > 0 && t[j] < t[j - 1]; j--) {
            const double other = t[j];
            t[j] = t[j - 1], t[j - 1] = other;
        }
    return t[REPEATS / 2];
}

static bool choose(void *work, const char *name) {
    mpk_dense *d = work;
    for (int k = 0; k < MPK_DENSE_COUNT; k++) {
        if (strcmp(mpk_dense_method_name((mpk_dense_method)k), name)) continue;
        d->method = (mpk_dense_method)k;
        return true;
    }
    return false;
}

/* The first solution is the check, the median of the others counts. */
static mpk_status measure(cli_args *args, void *work, int64_t n, cli_bench_row *row) {
    mpk_dense *d = work;
    d->n = n;
    const size_t size = mpk_scalar_size(d->scalar), real = d->scalar % 2 ? 8 : 4;
    const int parts = d->scalar >= MPK_C ? 2 : 1;
    mpk_dense_sizes sizes;
    mpk_dense_info info = {.engine = ""};
    mpk_status status = mpk_dense_query(args->ctx, d, 1, &sizes);
    if (mpk_failed(status)) return status;
    void *a = malloc((size_t)(n * n) * size + 64), *b = malloc((size_t)n * size + 64),
         *x = malloc((size_t)n * size + 64), *f = malloc((size_t)sizes.factor_bytes + 64),
         *extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64),
         *room = aligned_alloc(64, ((size_t)sizes.sysv_bytes + 127) / 64 * 64);
    int32_t *pivots = malloc((size_t)sizes.pivots * 4 + 64);
    double time[REPEATS], total[REPEATS];
    if (!(a && b && x && f && extra && room && pivots)) status = MPK_ERR_MEMORY;
    if (!mpk_failed(status)) {
        fill(a, n * n * parts, real, (uint64_t)args->options.seed);
        fill(b, n * parts, real, 7);
    }
    for (int k = -1; k < REPEATS && !mpk_failed(status); k++) {
        mpk_dense_factor fac = {.struct_size = sizeof fac, .f = f, .ldf = n};
        fac.pivots = pivots, fac.extra = extra;
        const double start = cli_now_s();
        status =
            mpk_dense_sysv(args->ctx, d, a, n, &fac, 1, b, n, x, n, room, sizes.sysv_bytes, &info);
        if (k >= 0) time[k] = info.factorize_s, total[k] = cli_now_s() - start;
    }
    free(a), free(b), free(x), free(f), free(extra), free(room), free(pivots);
    if (mpk_failed(status)) return status;
    row->seconds = median(time);
    const double whole = median(total);
    row->gflops =
        (double)n * (double)n * (double)n / 3 * (parts == 2 ? 4 : 1) / row->seconds * 1e-9;
    row->error = info.componentwise;
    snprintf(row->more, sizeof row->more, " from %.1e  whole %9.3f ms", info.unrefined,
             whole * 1e3);
    snprintf(row->more_json, sizeof row->more_json,
             ", \"engine\": \"%s\", \"precision\": \"%s\", \"sysv_s\": %.6g, \"unrefined\": %.3g, "
             "\"iterations\": %d",
             info.engine, mpk_dense_precision_name(info.precision), whole, info.unrefined,
             info.iterations);
    return status;
}

int cli_bench_dense(cli_args *args, mpk_scalar scalar) {
    static const cli_bench bench = {"tile,bunch-kaufman,rook,aasen,butterfly,none,auto",
                                    "500,1000,2000",
                                    "auto, tile, bunch-kaufman, rook, aasen, butterfly, none",
                                    1000000,
                                    choose,
                                    measure,
                                    "componentwise",
                                    "omega"};
    mpk_dense d;
    mpk_dense_init(&d);
    d.scalar = scalar, d.threads = args->options.threads;
    return cli_bench_run(args, &bench, &d);
}
