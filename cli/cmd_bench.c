/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"
#include "dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 3 };

double cli_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* uniform in (-1, 1), the same everywhere; real kinds of `size` bytes */
static void fill(void *x, int64_t reals, size_t size, uint64_t seed) {
    uint64_t s = seed * 2862933555777941757u + 3037000493u;
    for (int64_t k = 0; k < reals; k++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        double v = (double)(int64_t)(s ^ (s >> 29)) / 9223372036854775808.0;
        if (size == 4)
            ((float *)x)[k] = (float)v;
        else
            ((double *)x)[k] = v;
    }
}

/* One method at one order: the median time, after a solve whose backward error was good. */
static int measure(cli_args *args, mpk_dense *d, bool *first) {
    const int64_t n = d->n;
    const size_t size = mpk_scalar_size(d->scalar), real = d->scalar % 2 ? 8 : 4;
    const int parts = d->scalar >= MPK_C ? 2 : 1;
    mpk_dense_sizes sizes;
    mpk_dense_info info = {.place = ""};
    mpk_status status = mpk_dense_query(args->ctx, d, 1, &sizes);
    void *a = malloc((size_t)(n * n) * size + 64), *b = malloc((size_t)n * size + 64),
         *x = malloc((size_t)n * size + 64), *f = malloc((size_t)sizes.factor_bytes + 64),
         *extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64),
         *work = aligned_alloc(64, ((size_t)sizes.sysv_bytes + 127) / 64 * 64);
    int32_t *pivots = malloc((size_t)sizes.pivots * 4 + 64);
    double time[REPEATS], total[REPEATS];
    if (status >= 0 && !(a && b && x && f && extra && work && pivots)) status = MPK_ERR_MEMORY;
    if (status >= 0) {
        fill(a, n * n * parts, real, (uint64_t)args->options.seed);
        fill(b, n * parts, real, 7);
    }
    for (int k = -1; k < REPEATS && status >= 0; k++) { /* the first is the check */
        mpk_dense_factor fac = {.struct_size = sizeof fac, .f = f, .ldf = n};
        fac.pivots = pivots, fac.extra = extra;
        double start = cli_now_s();
        status =
            mpk_dense_sysv(args->ctx, d, a, n, &fac, 1, b, n, x, n, work, sizes.sysv_bytes, &info);
        start = cli_now_s() - start;
        if (k >= 0) time[k] = info.factorize_s, total[k] = start;
    }
    if (status >= 0) {
        for (int i = 1; i < REPEATS; i++)
            for (int j = i; j > 0 && time[j] < time[j - 1]; j--) {
                double t = time[j];
                time[j] = time[j - 1], time[j - 1] = t;
                t = total[j], total[j] = total[j - 1], total[j - 1] = t;
            }
        const double flops = (double)n * (double)n * (double)n / 3 * (parts == 2 ? 4 : 1);
        if (args->json)
            printf("%s{\"method\": \"%s\", \"n\": %lld, \"place\": \"%s\", \"status\": \"%s\", "
                   "\"precision\": \"%s\", \"factorize_s\": %.6g, \"gflops\": %.6g, \"sysv_s\": "
                   "%.6g, \"unrefined\": %.3g, \"componentwise\": %.3g, \"iterations\": %d}",
                   *first ? "" : ",\n ", mpk_dense_method_name(d->method), (long long)n, info.place,
                   mpk_status_name(status), mpk_dense_precision_name(info.precision),
                   time[REPEATS / 2], flops / time[REPEATS / 2] * 1e-9, total[REPEATS / 2],
                   info.unrefined, info.componentwise, info.iterations);
        else
            printf("%-14s %7lld  %9.4f s %8.1f GFLOP/s  sysv %9.4f s  omega %.1e -> %.1e%s\n",
                   mpk_dense_method_name(d->method), (long long)n, time[REPEATS / 2],
                   flops / time[REPEATS / 2] * 1e-9, total[REPEATS / 2], info.unrefined,
                   info.componentwise, status == MPK_OK ? "" : "  NOT GOOD");
        *first = false;
        fflush(stdout);
    }
    free(a), free(b), free(x), free(f), free(extra), free(work), free(pivots);
    return mpk_exit_code(status);
}

/** metapack bench dense, batch: rates over n, each method checked before it is timed. */
int cmd_bench(cli_args *args) {
    static const char *const types[] = {"s", "d", "c", "z"};
    mpk_dense d;
    bool first = true;
    int worst = 0;
    const bool batch = args->nwords == 1 && !strcmp(args->words[0], "batch");
    if (!batch && (args->nwords != 1 || strcmp(args->words[0], "dense")))
        return cli_usage_error(
            args, "what is to be measured: metapack bench dense, metapack bench batch");
    mpk_dense_init(&d);
    d.threads = args->options.threads;
    const char *type = args->scalar ? args->scalar : "d", *sizes = args->blocks,
               *method = args->strategies;
    int kind = -1;
    for (int k = 0; k < 4; k++)
        if (!strcmp(type, types[k])) kind = k;
    if (kind < 0) return cli_usage_error(args, "--type is s, d, c or z, not '%s'", type);
    d.scalar = (mpk_scalar)kind;
    if (batch) {
        if (args->json) printf("[");
        worst = cli_bench_batch(args, (mpk_scalar)kind);
        if (args->json && worst != CLI_EXIT_USAGE) printf("]\n");
        return worst;
    }
    if (!sizes) sizes = "500,1000,2000";
    if (!method) method = "tile,bunch-kaufman,rook,aasen,butterfly,none,auto";
    if (args->json) printf("[");
    for (const char *m = method; *m;) {
        char word[32] = "";
        const int length = (int)strcspn(m, ",");
        snprintf(word, sizeof word, "%.*s", length, m);
        const int which = cli_dense_method(word);
        if (which < 0) return cli_usage_error(args, "--methods: there is no method '%s'", word);
        d.method = (mpk_dense_method)which;
        for (const char *s = sizes; *s;) {
            char *end;
            const long n = strtol(s, &end, 10);
            if (end == s || n < 1 || (*end && *end != ','))
                return cli_usage_error(args, "--sizes is a list like 1000,2000, not '%s'", sizes);
            d.n = n;
            const int code = measure(args, &d, &first);
            if (code > worst) worst = code;
            s = *end ? end + 1 : end;
        }
        m += length + (m[length] == ',');
    }
    if (args->json) printf("]\n");
    return worst;
}
