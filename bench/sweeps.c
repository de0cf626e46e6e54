/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_sweeps "generate SPEC"|FILE THREADS key=value,...: the bandwidth of the triangular sweeps
 * of a factor on blocks. One line of JSON: bytes of the stored blocks that one sweep reads (masks
 * and values, pivot blocks included), seconds and GB/s of a forward and of a backward sweep, and
 * the GB/s of reading as many bytes from memory with as many threads; apply: L, D and L^T at once,
 * with the bytes of both sweeps. Fastest of several; the turns of sweeps and reading alternate, so
 * that both see the same machine. */
#include "blocks/sweeps.h"
#include "factor/stages.h"
#include <metapack/metapack.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 9, THREADS_MOST = 64 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double stored(const mpki_block *b, size_t size) {
    int held = 0;
    if (b->format == MPKI_EMPTY) return 0;
    if (b->format == MPKI_BITMAP)
        for (int k = 0; k < (b->rows + 31) / 32; k++)
            held += __builtin_popcount(((const uint32_t *)b->data)[k]);
    return (double)mpki_block_mask_bytes(b->format, b->rows, b->cols, held) +
           (double)b->nnz * (double)size;
}

static double sweep_bytes(const mpki_blocks *bf) {
    const size_t size = mpk_scalar_size(bf->scalar);
    const mpki_ibcsr *x = &bf->stages->index;
    double sum = 0;
    for (int32_t f = 0; f < x->m; f++) {
        sum += stored(&bf->frame[f].m, size);
        for (int64_t e = x->ptr[f]; e < x->diagonal[f]; e++)
            sum += stored(&bf->lower[x->entry[e].block], size);
    }
    return sum;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

typedef struct part {
    const uint64_t *from;
    size_t count;
    uint64_t sum;
} part;

static void *read_part(void *arg) {
    part *p = arg;
    uint64_t s[8] = {0};
    for (size_t k = 0; k + 8 <= p->count; k += 8)
        for (int j = 0; j < 8; j++) s[j] += p->from[k + (size_t)j];
    for (int j = 0; j < 8; j++) p->sum += s[j];
    return NULL;
}

static double read_all(const uint64_t *data, size_t count, int threads, uint64_t *sum) {
    part parts[THREADS_MOST] = {{0}};
    pthread_t thread[THREADS_MOST];
    const size_t share = count / (size_t)threads;
    const double start = now();
    for (int t = 0; t < threads; t++) parts[t] = (part){data + (size_t)t * share, share, 0};
    for (int t = 1; t < threads; t++)
        if (pthread_create(&thread[t], NULL, read_part, &parts[t])) exit(1);
    read_part(&parts[0]);
    for (int t = 1; t < threads; t++) pthread_join(thread[t], NULL);
    const double time = now() - start;
    for (int t = 0; t < threads; t++) *sum += parts[t].sum;
    return time;
}

/* ---- the sweeps ---------------------------------------------------------------------------------
 */

static mpk_status measure(mpk_context *ctx, const char *matrix, const mpk_factor *fac,
                          int threads) {
    const mpki_block_body *body = fac->blocks;
    mpki_block_solver *s;
    int32_t takes;
    mpk_status status = mpki_block_solver_make(ctx, body->numbers, threads, 1, &s, &takes);
    if (mpk_failed(status)) return status;
    const int32_t n = fac->an->n;
    const double bytes = sweep_bytes(body->numbers);
    const size_t count = (size_t)(bytes / 8);
    double *x = calloc((size_t)n, sizeof *x), best[4] = {1e300, 1e300, 1e300, 1e300};
    uint64_t *data = malloc(count * 8), sum = 0;
    if (!x || !data) exit(1);
    memset(data, 1, count * 8);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int32_t k = 0; k < n; k++) x[k] = 1;
        const double start = now();
        mpki_block_apply(s, MPK_PART_L, 1, x, n);
        const double middle = now();
        mpki_block_apply(s, MPK_PART_D, 1, x, n);
        const double after = now();
        mpki_block_apply(s, MPK_PART_LT, 1, x, n);
        const double end = now(), reading = read_all(data, count, threads, &sum), again = now();
        mpki_block_apply(s, MPK_PART_ALL, 1, x, n);
        const double all = now() - again;
        if (all < best[3]) best[3] = all;
        if (middle - start < best[0]) best[0] = middle - start;
        if (end - after < best[1]) best[1] = end - after;
        if (reading < best[2]) best[2] = reading;
    }
    printf("{\"matrix\": \"%s\", \"n\": %d, \"threads\": %d, \"shared\": %s, \"bytes\": %.0f, "
           "\"levels\": %d, \"forward_s\": %.6f, \"backward_s\": %.6f, \"read_s\": %.6f, "
           "\"forward_gbs\": %.2f, \"backward_gbs\": %.2f, \"read_gbs\": %.2f, \"apply_s\": %.6f, "
           "\"apply_gbs\": %.2f, \"check\": %d}\n",
           matrix, (int)n, threads, s->pool ? "true" : "false", bytes,
           (int)body->stages.levels.count, best[0], best[1], best[2], bytes / best[0] / 1e9,
           bytes / best[1] / 1e9, bytes / best[2] / 1e9, best[3], 2 * bytes / best[3] / 1e9,
           (int)(sum & 1));
    free(x), free(data);
    mpki_block_solver_free(ctx, &s);
    return MPK_OK;
}

int main(int argc, char **argv) {
    const int threads = argc == 4 ? atoi(argv[2]) : 0;
    if (threads < 1 || threads > THREADS_MOST) {
        fprintf(stderr, "usage: %s FILE|\"generate SPEC\" THREADS key=value,...\n", argv[0]);
        return 1;
    }
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    mpk_problem_view a;
    mpk_options_init(&o);
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = !strncmp(argv[1], "generate ", 9)
                     ? mpk_problem_generate(ctx, argv[1] + 9, 1, &problem)
                     : mpk_problem_read(ctx, argv[1], &problem);
    for (char *rest = argv[3], *word; !mpk_failed(status) && (word = strsep(&rest, ","));) {
        char *value = strchr(word, '=');
        if (value) *value++ = 0;
        status = mpk_options_set(ctx, &o, word, value ? value : "on");
    }
    o.threads = threads;
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(problem, &a);
        status = mpk_factorize(ctx, an, NULL, &o, &fac);
    }
    if (!mpk_failed(status)) status = measure(ctx, argv[1], fac, threads);
    if (mpk_failed(status)) fprintf(stderr, "%s: %s\n", argv[1], mpk_status_text(status));
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return !mpk_failed(status) ? 0 : 2;
}
