/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches in device memory through mpk_batch_*, timed beside cuBLAS:
 *   device_batch [--count N] [--sizes 4,8,...] [--letters ds] [--verbs ldlt/partial,...]
 *                [--layouts strided,gaps,pointers,interleaved,mixed] [--rounds R] [--queued 0]
 *                [--caller 0] [--out FILE]
 * A verb is METHOD/PIVOTING, solve/PIVOTING (LDLT, one right-hand side) or gemm. Each row of JSON:
 * least and median milliseconds of `rounds` asynchronous calls by events (what the device needs),
 * and by the clock until the stream has nothing left to do (whole), of the synchronous call with
 * outcomes in host memory by the clock (what a caller waits), of cublas?getrfBatched or
 * cublas?gemmStridedBatched by events and by the clock, the same of both where calls follow each
 * other without a wait, each on its own copy of strided matrices (so that what the host needs for a
 * call is hidden where the device needs more), how far some matrices' factors are from the
 * host's, and of factorizations the worst backward error of some, which is looked at before anything is
 * timed: a wrong one ends the program. gaps: strided, a little room after each
 * matrix. mixed: strided, orders 1 .. n by turns. Of more than 1024
 * strided matrices the others are copies of these. The data are renewed between calls, outside the
 * time. */
#include "rows.h"

static void one(bench *b) {
    double ms[3][4] = {{0}}, row[2] = {0}, difference = -1, error = -1;
    void *factors = NULL;
    row_make(b);
    const void *from = b->first;
    if (starts(b, "solve")) { /* factors first */
        bench f = *b;
        char verb[32];
        snprintf(verb, sizeof verb, "ldlt%s", strchr(b->verb, '/') ? strchr(b->verb, '/') : "");
        f.verb = verb;
        row_renew(&f, b->first);
        row_must(&f, row_call(&f, 0));
        factors = row_take(b, (size_t)b->total * size_of(b));
        NEED(cudaMemcpy(factors, b->a, (size_t)b->total * size_of(b), cudaMemcpyDeviceToDevice));
        from = factors;
    }
    if (starts(b, "l")) { /* before anything is timed */
        row_renew(b, from);
        row_must(b, row_call(b, 0));
        error = row_backward(b);
    }
    row_measure(b, DEVICE, from, ms[DEVICE]);
    if (starts(b, "l")) difference = row_apart(b);
    if (b->caller) row_measure(b, CALLER, from, ms[CALLER]);
    row_measure(b, BLAS, from, ms[BLAS]);
    if (has_queue(b)) row_measure_queued(b, row);
    fprintf(
        b->out,
        "{\"verb\": \"%s\", \"letter\": \"%c\", \"n\": %d, \"layout\": \"%s\", \"count\": %lld, "
        "\"device_ms\": %.5g, \"device_median_ms\": %.5g, \"caller_ms\": %.5g, "
        "\"caller_median_ms\": %.5g, \"cublas_ms\": %.5g, \"whole_ms\": %.5g, "
        "\"whole_cublas_ms\": %.5g, \"queued_ms\": %.5g, "
        "\"queued_cublas_ms\": %.5g, \"apart\": %.3g, "
        "\"backward\": %.3g}\n",
        b->verb, "sdcz"[b->scalar], b -> n, b -> layout, (long long)b -> count, ms[0][0], ms[0][1],
        ms[1][2], ms[1][3], ms[2][0], ms[0][2], ms[2][2], row[0], row[1], difference, error);
    fflush(b->out);
    printf("%-14s %c %2d %-11s device %8.4f caller %8.4f cublas %8.4f queued %8.4f cublas %8.4f "
           "apart %.2g backward %.2g\n",
           b->verb, "sdcz"[b->scalar], b -> n, b -> layout, ms[0][0], ms[1][2], ms[2][0], row[0],
           row[1], difference, error);
    fflush(stdout);
    row_drop(b);
}

int main(int argc, char **argv) {
    bench b = {.rounds = 10, .count = 100000, .queued = 1, .caller = 1, .out = NULL};
    const char *sizes = "4,8,16,24,32", *letters = "d", *layouts = "strided";
    const char *verbs = "ldlt/none,ldlt/partial";
    for (int k = 1; k + 1 < argc; k += 2) {
        if (is(argv[k], "--count")) b.count = atoll(argv[k + 1]);
        if (is(argv[k], "--sizes")) sizes = argv[k + 1];
        if (is(argv[k], "--letters")) letters = argv[k + 1];
        if (is(argv[k], "--verbs")) verbs = argv[k + 1];
        if (is(argv[k], "--layouts")) layouts = argv[k + 1];
        if (is(argv[k], "--rounds")) b.rounds = atoi(argv[k + 1]);
        if (is(argv[k], "--queued")) b.queued = atoi(argv[k + 1]);
        if (is(argv[k], "--caller")) b.caller = atoi(argv[k + 1]);
        if (is(argv[k], "--out")) b.out = fopen(argv[k + 1], "a");
    }
    if (!b.out) b.out = fopen("/dev/null", "w");
    if (b.rounds < 1 || b.rounds > ROUNDS_MOST || !b.out) return 2;
    NEED(cudaStreamCreate(&b.stream));
    NEED(cudaEventCreate(&b.start));
    NEED(cudaEventCreate(&b.stop));
    NEED(cublasCreate(&b.blas));
    NEED(cublasSetStream(b.blas, b.stream));
    NEED(mpk_context_create(NULL, &b.ctx));
    char *v = strdup(verbs), *vs = NULL;
    for (char *verb = strtok_r(v, ",", &vs); verb; verb = strtok_r(NULL, ",", &vs)) {
        char *l = strdup(layouts), *ls = NULL;
        for (char *layout = strtok_r(l, ",", &ls); layout; layout = strtok_r(NULL, ",", &ls))
            for (const char *letter = letters; *letter; letter++) {
                char *s = strdup(sizes), *ss = NULL;
                for (char *n = strtok_r(s, ",", &ss); n; n = strtok_r(NULL, ",", &ss)) {
                    b.verb = verb, b.layout = layout, b.n = atoi(n);
                    b.scalar = (mpk_scalar)(strchr("sdcz", *letter) - "sdcz");
                    if (b.n >= 1 && b.n <= MPK_BATCH_MAX_N) one(&b);
                }
                free(s);
            }
        free(l);
    }
    free(v);
    mpk_context_destroy(&b.ctx);
    return 0;
}
