/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_sweeps "generate SPEC"|FILE THREADS key=value,...: the bandwidth of the triangular sweeps
 * of a factor on blocks. One line of JSON: bytes that one sweep reads (of the scalar rows as which
 * the factor is held; where it is held in blocks, of those, masks and pivot blocks included),
 * seconds and GB/s of a forward and of a backward sweep, and the GB/s of reading as many bytes from
 * memory with as many threads; apply: L, D and L^T at once, with the bytes of both sweeps; moved:
 * these and what it reads and writes of vectors. blocks_:
 * the same factor left in blocks, as all were before. product_s: a product with A on as many
 * threads. Fastest of several; the turns alternate, so that all see the same machine. */
#include "engines/cpu/block_factor/rows.h"
#include "engines/cpu/block_factor/sweeps.h"
#include "factor/stages.h"
#include "problem/full.h"
#include <metapack/metapack.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 15, THREADS_MOST = 64 };

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
    if (bf->rows) return (double)bf->rows->swept;
    for (int32_t f = 0; f < x->m; f++) {
        sum += stored(&bf->frame[f].m, size);
        for (int64_t e = x->ptr[f]; e < x->diagonal[f]; e++)
            sum += stored(&bf->lower[x->entry[e].block], size);
    }
    return sum;
}

/* What an application moves of vectors, each number counted once for each time it has to be read or
 * written: x in and out with its place and scale, y and z of the sweeps, D^-1, the turn between. */
static double vector_bytes(const mpki_blocks *bf) {
    const double stored = (double)mpk_scalar_size(bf->scalar);
    const double given = (double)mpk_scalar_size(bf->stages->scalar);
    const double real = bf->scalar >= MPK_C ? stored / 2 : stored;
    const double d = bf->rows && !bf->rows->pairs ? 1 : 2;
    return bf->stages->blocking->n * (2 * (given + real + 4) + (3 + d) * stored + 4);
}

/* ---- reading --------------------------------------------------------------------------------- */

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

/* ---- the sweeps ------------------------------------------------------------------------------ */

/* Seconds of L, of L^T, of all at once. */
static void sweep(mpki_block_solver *s, double *x, int32_t n, double *best) {
    for (int32_t k = 0; k < n; k++) x[k] = 1;
    double time[4] = {now()};
    mpki_block_apply(s, MPK_PART_L, 1, x, n, x, n);
    time[1] = now();
    mpki_block_apply(s, MPK_PART_D, 1, x, n, x, n);
    const double after = now();
    mpki_block_apply(s, MPK_PART_LT, 1, x, n, x, n);
    time[2] = now();
    mpki_block_apply(s, MPK_PART_ALL, 1, x, n, x, n);
    time[3] = now();
    const double took[] = {time[1] - time[0], time[2] - after, time[3] - time[2]};
    for (int k = 0; k < 3; k++)
        if (took[k] < best[k]) best[k] = took[k];
}

/* fac: as it is held by default, and in blocks. */
static mpk_status measure(mpk_context *ctx, const char *matrix, const mpk_problem_view *a,
                          mpk_factor *const fac[2], int threads) {
    mpki_block_solver *s[2] = {NULL, NULL};
    mpki_full full = {0};
    mpki_pool *pool = NULL;
    int32_t takes;
    mpk_status status = MPK_OK;
    for (int k = 0; k < 2 && !mpk_failed(status); k++)
        status = mpki_block_solver_make(ctx, fac[k]->blocks->numbers, threads, 1, &s[k], &takes);
    if (!mpk_failed(status)) status = mpki_full_make(ctx, a, threads, &full, &pool);
    if (mpk_failed(status)) return status;
    const int32_t n = fac[0]->an->n;
    const double bytes = sweep_bytes(fac[0]->blocks->numbers);
    const size_t count = (size_t)(bytes / 8);
    double *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
    double best[2][3] = {{1e300, 1e300, 1e300}, {1e300, 1e300, 1e300}};
    double read_s = 1e300, product_s = 1e300;
    uint64_t *data = malloc(count * 8 + 64), sum = 0;
    if (!x || !y || !data) exit(1);
    memset(data, 1, count * 8);
    for (int turn = 0; turn < TURNS; turn++) {
        const int repeat = bytes < 4e6 ? 20 : 1; /* what stays in the caches */
        for (int k = 0; k < 2; k++)
            for (int r = 0; r < repeat; r++) sweep(s[k], x, n, best[k]);
        const double reading = read_all(data, count, threads, &sum);
        if (reading < read_s) read_s = reading;
        for (int r = 0; r < repeat; r++) {
            const double start = now();
            mpki_full_multiply(&full, pool, x, y);
            if (now() - start < product_s) product_s = now() - start;
        }
    }
    const mpk_block_info *info = &fac[0]->blocks->stages.info;
    const double reading = bytes / read_s / 1e9, all = 2 * bytes / best[0][2] / 1e9;
    const double moved = 2 * bytes + vector_bytes(fac[0]->blocks->numbers);
    printf("{\"matrix\": \"%s\", \"n\": %d, \"threads\": %d, \"shared\": %s, \"bytes\": %.0f, "
           "\"levels\": %d, \"held\": \"%s\", \"factor_bytes\": %lld, "
           "\"forward_s\": %.7f, \"backward_s\": %.7f, \"read_s\": %.7f, "
           "\"forward_gbs\": %.2f, \"backward_gbs\": %.2f, \"read_gbs\": %.2f, "
           "\"apply_s\": %.7f, \"apply_gbs\": %.2f, \"moved_gbs\": %.2f, \"numeric_s\": %.6f, ",
           matrix, (int)n, threads, s[0]->pool ? "true" : "false", bytes,
           (int)fac[0]->blocks->stages.levels.count, info->by_rows ? "rows" : "blocks",
           (long long)info->bytes, best[0][0], best[0][1], read_s, bytes / best[0][0] / 1e9,
           bytes / best[0][1] / 1e9, reading, best[0][2], all, moved / best[0][2] / 1e9,
           info->time_numeric_s);
    printf("\"blocks_bytes\": %.0f, \"blocks_factor_bytes\": %lld, \"blocks_forward_s\": %.7f, "
           "\"blocks_backward_s\": %.7f, \"blocks_apply_s\": %.7f, \"product_s\": %.7f, "
           "\"check\": %d}\n",
           sweep_bytes(fac[1]->blocks->numbers), (long long)fac[1]->blocks->stages.info.bytes,
           best[1][0], best[1][1], best[1][2], product_s, (int)(sum & 1));
    free(x), free(y), free(data);
    mpki_full_free(ctx, &full);
    for (int k = 0; k < 2; k++) mpki_block_solver_free(ctx, &s[k]);
    return MPK_OK;
}

/* The processor's engine, but a factor becomes rows at once where that pays, or stays in blocks. */
static const char *name(const mpk_context *ctx) {
    (void)ctx;
    return "bench";
}
static void use(mpk_context *ctx, bool rows) {
    static mpki_block_engine blocks;
    static mpki_engine engine = {
        .name = name, .direct = &mpki_cpu_direct, .blocks = &blocks, .vectors = &mpki_cpu_vectors};
    blocks = mpki_cpu_blocks;
    blocks.finish = rows ? mpki_block_finish_as_rows : mpki_block_finish_as_blocks;
    mpki_engine_use(ctx, &engine);
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
    mpk_factor *fac[2] = {NULL, NULL};
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
    for (int k = 0; k < 2 && !mpk_failed(status); k++) {
        use(ctx, k == 0);
        status = mpk_factorize(ctx, an, NULL, &o, &fac[k]);
    }
    if (!mpk_failed(status)) {
        mpk_problem_view_get(problem, &a);
        status = measure(ctx, argv[1], &a, fac, threads);
    }
    if (mpk_failed(status)) fprintf(stderr, "%s: %s\n", argv[1], mpk_status_text(status));
    for (int k = 0; k < 2; k++) mpk_factor_destroy(&fac[k]);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return !mpk_failed(status) ? 0 : 2;
}
