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

/* Memory where dense.memory says; NULL: there is none. */
static void *take(cli_args *args, const mpk_dense *d, int64_t bytes) {
    void *memory = NULL;
    if (d->memory == MPK_HOST) return aligned_alloc(64, ((size_t)bytes + 127) / 64 * 64);
    (void)mpk_device_alloc(args->ctx, d->device, bytes + 64, &memory);
    return memory;
}

static void give_back(cli_args *args, const mpk_dense *d, void *memory) {
    if (d->memory == MPK_HOST)
        free(memory);
    else
        (void)mpk_device_free(args->ctx, d->device, &memory);
}

/* Random numbers there, made here. */
static void *draw(cli_args *args, const mpk_dense *d, int64_t reals, uint64_t seed) {
    const size_t real = d->scalar % 2 ? 8 : 4;
    const int64_t bytes = reals * (int64_t)real;
    void *here = malloc((size_t)bytes + 64), *there = here ? take(args, d, bytes) : NULL;
    if (there) fill(here, reals, real, seed);
    if (there && d->memory == MPK_HOST)
        memcpy(there, here, (size_t)bytes);
    else if (there &&
             mpk_failed(mpk_device_copy(args->ctx, d->device, there, bytes, here, bytes, bytes, 1)))
        give_back(args, d, there), there = NULL;
    free(here);
    return there;
}

/* The first solution is the check, the median of the others counts. */
static mpk_status measure(cli_args *args, void *work, int64_t n, cli_bench_row *row) {
    mpk_dense *d = work;
    d->n = n;
    const int64_t size = (int64_t)mpk_scalar_size(d->scalar);
    const int parts = d->scalar >= MPK_C ? 2 : 1;
    mpk_dense_sizes sizes;
    mpk_dense_info info = {.engine = ""};
    mpk_status status = mpk_dense_query(args->ctx, d, 1, &sizes);
    if (mpk_failed(status)) return status;
    enum { A, B, X, F, EXTRA, WORK, PIVOTS, ALL };
    void *all[ALL] = {draw(args, d, n * n * parts, (uint64_t)args->options.seed),
                      draw(args, d, n * parts, 7),
                      take(args, d, n * size),
                      take(args, d, sizes.factor_bytes),
                      take(args, d, sizes.extra_bytes),
                      take(args, d, sizes.sysv_bytes),
                      take(args, d, sizes.pivots * 4)};
    double time[REPEATS], total[REPEATS];
    for (int k = 0; k < ALL; k++)
        if (!all[k]) status = MPK_ERR_MEMORY;
    for (int k = -1; k < REPEATS && !mpk_failed(status); k++) {
        mpk_dense_factor fac = {.struct_size = sizeof fac, .f = all[F], .ldf = n};
        fac.pivots = all[PIVOTS], fac.extra = all[EXTRA];
        const double start = cli_now_s();
        status = mpk_dense_sysv(args->ctx, d, all[A], n, &fac, 1, all[B], n, all[X], n, all[WORK],
                                sizes.sysv_bytes, &info);
        if (k >= 0) time[k] = info.factorize_s, total[k] = cli_now_s() - start;
    }
    if (!mpk_failed(status) || d->memory == MPK_HOST) /* else the text of the failure stays */
        for (int k = 0; k < ALL; k++) give_back(args, d, all[k]);
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
    mpk_device_info device;
    mpk_dense_init(&d);
    d.scalar = scalar, d.threads = args->options.threads;
    d.device = args->options.device_number;
    if (args->options.device != MPK_ON_CPU &&
        !mpk_failed(mpk_device_info_get(args->ctx, d.device, &device)))
        d.memory = MPK_DEVICE;
    if (args->options.device == MPK_ON_CUDA && d.memory == MPK_HOST) {
        const char *text;
        const mpk_status status = mpk_last_error(args->ctx, NULL, NULL, &text);
        fprintf(stderr, "metapack bench: %s\n", text);
        cli_print_failure(args, status, text);
        return mpk_exit_code(status);
    }
    return cli_bench_run(args, &bench, &d);
}
