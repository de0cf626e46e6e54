/* SPDX-License-Identifier: BSD-3-Clause */
/* What the accelerator interface costs: one matrix factorized by the engine for a GPU, by the same
 * GPU behind the interface, and by the processor's table. A line of JSON for each.
 *
 *     bench/cuda-accelerator [--repeat N] MATRIX | generate WORDS [engine|cuda|cpu[:BLOCK[:SCHEDULE]]] ...
 *
 * All are complete, in as many stages as it takes. Each factorizes N times (3) after the first, the
 * least time counts; before that the answer for A 1 is checked. Then solves without refinement with one and
 * with 32 right-hand sides, as often. */
#include <metapack/metapack.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct subject {
    const char *where; /* engine, cuda, cpu */
    int block;
    const char *schedule;
} subject;

static subject parse(char *word) {
    subject s = {word, 32, "subsets"};
    char *colon = strchr(word, ':');
    if (colon) {
        *colon = 0;
        s.block = atoi(colon + 1);
        colon = strchr(colon + 1, ':');
        if (colon) s.schedule = colon + 1;
    }
    return s;
}

/* The context's machine. */
static mpk_status choose(mpk_context *ctx, const subject *s, mpk_options *o) {
    const mpk_accelerator *table = NULL;
    mpk_status status = MPK_OK;
    if (!strcmp(s->where, "engine")) o->device = MPK_ON_CUDA;
    if (!strcmp(s->where, "cuda")) status = mpk_accelerator_cuda(ctx, 0, &table);
    if (!strcmp(s->where, "cpu")) table = mpk_accelerator_cpu();
    if (!mpk_failed(status) && table) {
        o->pivoting = MPK_PIVOTING_COMPLETE; /* what both have */
        status = mpk_context_use_accelerator(ctx, table);
    }
    return status;
}

/* x := A^-1 A 1, and how good it is. */
static mpk_status check(mpk_context *ctx, mpk_problem *p, const mpk_problem_view *a,
                        const mpk_factor *fac, const mpk_options *o, mpk_solve_info *info) {
    const size_t size = mpk_scalar_size(a->scalar), n = (size_t)a->n;
    double *x = calloc(n + 1, size), *b = calloc(n + 1, size);
    const size_t step = size / (a->scalar == MPK_S || a->scalar == MPK_C ? 4 : 8);
    for (size_t i = 0; i < n; i++) {
        if (a->scalar == MPK_S || a->scalar == MPK_C)
            ((float *)x)[i * step] = 1;
        else
            x[i * step] = 1;
    }
    mpk_status status = mpk_problem_multiply(ctx, p, 1, x, a->n, b, a->n);
    if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, a->n, x, a->n, o, info);
    free(x), free(b);
    return status;
}

enum { MANY = 32 };

/* The least seconds of x := A^-1 x for some right-hand sides, without refinement. */
static mpk_status time_solves(mpk_context *ctx, const mpk_problem_view *a, const mpk_factor *fac,
                              int nrhs, int repeat, double *best) {
    const size_t size = mpk_scalar_size(a->scalar), n = (size_t)a->n;
    void *x = calloc(n * MANY + 1, size);
    mpk_status status = x ? MPK_OK : MPK_ERR_MEMORY;
    *best = INFINITY;
    for (int k = 0; k <= repeat && !mpk_failed(status); k++) {
        for (size_t i = 0; i < n * (size_t)nrhs; i++) {
            if (a->scalar == MPK_S || a->scalar == MPK_C)
                ((float *)x)[i * (size / 4)] = (float)(i % 7) - 3;
            else
                ((double *)x)[i * (size / 8)] = (double)(i % 7) - 3;
        }
        const double began = now();
        status = mpk_solve_part(ctx, fac, MPK_PART_ALL, nrhs, x, a->n);
        if (k) *best = fmin(*best, now() - began);
    }
    free(x);
    return status;
}

static int go(const char *name, const char *const *words, const subject *s, int repeat) {
    mpk_context *ctx = NULL;
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    mpk_options o;
    mpk_solve_info info = {0};
    mpk_factor_info found;
    mpk_block_info blocks;
    mpk_accelerator_report r = {.struct_size = sizeof r};
    double cold = 0, best = INFINITY;
    mpk_status status = mpk_context_create(NULL, &ctx);
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT;
    o.level = -1, o.fill_factor = 0, o.drop_tolerance = 0, o.stages = 0;
    o.block = s->block;
    if (!mpk_failed(status) && strcmp(s->where, "engine"))
        status = mpk_options_set(ctx, &o, "schedule", s->schedule);
    if (!mpk_failed(status)) status = choose(ctx, s, &o);
    if (!mpk_failed(status))
        status =
            words[0] ? mpk_problem_generate(ctx, words[0], 1, &p) : mpk_problem_read(ctx, name, &p);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, p, &o, &an);
    if (!mpk_failed(status)) mpk_problem_view_get(p, &a);
    double began = now();
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, a.ax, &o, &fac);
    cold = now() - began;
    if (!mpk_failed(status)) status = check(ctx, p, &a, fac, &o, &info);
    mpk_status last = status;
    mpk_accelerator_report before = {.struct_size = sizeof before};
    for (int k = 0; k < repeat && !mpk_failed(last); k++) {
        mpk_accelerator_report_get(ctx, &before);
        began = now();
        last = mpk_refactorize(ctx, a.ax, &o, fac);
        best = fmin(best, now() - began);
    }
    mpk_accelerator_report_get(ctx, &r);
    double one = 0, many = 0;
    if (!mpk_failed(last)) last = time_solves(ctx, &a, fac, 1, repeat, &one);
    if (!mpk_failed(last)) last = time_solves(ctx, &a, fac, MANY, repeat, &many);
    mpk_accelerator_report solved = {.struct_size = sizeof solved};
    mpk_accelerator_report_get(ctx, &solved);
    printf("{\"matrix\": \"%s\", \"where\": \"%s\", \"block\": %d, \"schedule\": \"%s\", ", name,
           s->where, s->block, strcmp(s->where, "engine") ? s->schedule : "-");
    const char *text = "";
    if (mpk_failed(last)) {
        mpk_last_error(ctx, NULL, NULL, &text);
        printf("\"failed\": \"%s\"}\n", text);
    } else {
        mpk_factor_info_get(fac, &found);
        mpk_factor_block_info_get(fac, &blocks);
        printf("\"n\": %d, \"frames\": %d, \"blocks\": %lld, \"stages\": %d, \"rejected\": %lld, "
               "\"two_by_two\": %lld, \"positive\": %lld, \"negative\": %lld, \"gflop\": %.4g, "
               "\"componentwise\": %.3g, \"solved\": %d, \"cold_s\": %.6f, \"warm_s\": %.6f, "
               "\"solve_s\": %.6f, \"solves_s\": %.6f",
               (int)a.n, (int)blocks.block_rows, (long long)blocks.blocks, (int)blocks.stages,
               (long long)blocks.rejected, (long long)found.two_by_two,
               (long long)found.inertia.positive, (long long)found.inertia.negative,
               1e-9 * found.flops, info.componentwise, info.solved, cold, repeat ? best : cold, one,
               many);
        long long launches = 0;
        double queued = 0;
        for (int k = 0; k < 6; k++) {
            launches += (long long)(r.calls[k] - before.calls[k]);
            queued += r.time_s[k] - before.time_s[k];
        }
        if (r.calls[0])
            printf(", \"launches\": %lld, \"queued_s\": %.6f, \"waits\": %lld, \"wait_s\": %.6f, "
                   "\"megabytes\": %.4g, \"solved_there\": %lld",
                   launches, queued, (long long)(r.waits - before.waits), r.wait_s - before.wait_s,
                   1e-6 * (double)(r.bytes - before.bytes), (long long)(solved.solves - r.solves));
        printf("}\n");
    }
    fflush(stdout);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
    return mpk_failed(last);
}

int main(int argc, char **argv) {
    int at = 1, repeat = 3, failed = 0;
    const char *words[1] = {NULL};
    if (argc > 3 && !strcmp(argv[1], "--repeat")) repeat = atoi(argv[2]), at = 3;
    if (at >= argc) {
        fprintf(stderr, "usage: cuda-accelerator [--repeat N] MATRIX | generate WORDS WHERE ...\n");
        return 1;
    }
    const char *name = argv[at++];
    if (!strcmp(name, "generate") && at < argc) name = words[0] = argv[at++];
    for (; at < argc; at++) {
        const subject s = parse(argv[at]);
        failed += go(name, words, &s, repeat);
    }
    return failed ? 2 : 0;
}
