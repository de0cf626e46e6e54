/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that was predicted beside memory that was taken, of one matrix: bench/memory.py runs it.
 *   memory FILE|SPEC [THREADS]        one line: name=value ..., bytes
 * What is taken is read from the context, which counts all that METAPACK allocates itself, and from
 * the system (resident pages, which count what METIS and SCOTCH allocate as well). At last a context
 * of its own analyses, factorizes and solves twice: what its process holds at most in each of them,
 * beyond what it held with the matrix alone. */
#include "problem/generate/generate.h"
#include "problem/problem.h"

#include <malloc.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double status_kb(const char *key) {
    char line[256];
    double kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) kb = strtod(line + strlen(key), NULL);
    if (f) fclose(f);
    return kb;
}

/* From here on VmHWM is the most since now. */
static double reset(void) {
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f || fputs("5", f) < 0 || fclose(f)) {
        fprintf(stderr, "memory: /proc/self/clear_refs cannot be written\n");
        exit(1);
    }
    return status_kb("VmRSS:");
}

static double grown(double before_kb) {
    return 1024 * (status_kb("VmHWM:") - before_kb);
}

static void need(mpk_context *ctx, mpk_status status) {
    const char *text;
    if (!mpk_failed(status)) return;
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "memory: %s\n", text);
    exit(1);
}

/* The matrix as arrays of the C library, apart from the context that has read it. */
typedef struct matrix {
    mpk_problem_view view;
    int64_t *ap;
    int32_t *ai;
    void *ax;
} matrix;

static void *copy_of(const void *from, size_t bytes) {
    void *to = malloc(bytes + 1);
    if (!to) exit(1);
    memcpy(to, from, bytes);
    return to;
}

static matrix copy(const mpk_problem *problem) {
    matrix m;
    mpk_problem_view_get(problem, &m.view);
    m.ap = copy_of(m.view.ap, ((size_t)m.view.n + 1) * sizeof *m.ap);
    m.ai = copy_of(m.view.ai, (size_t)m.view.nnz * sizeof *m.ai);
    m.ax = copy_of(m.view.ax, (size_t)m.view.nnz * mpk_scalar_size(m.view.scalar));
    return m;
}

static void more(double *most, double before_kb) {
    const double now = grown(before_kb);
    if (now > *most) *most = now;
    reset();
}

static void whole(const matrix *m, const mpk_options *o) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    const int32_t n = m->view.n;
    const size_t size = mpk_scalar_size(m->view.scalar);
    double most[3] = {0}, first = 0;
    int64_t nnz = 0;
    char *b = calloc((size_t)n + 1, size), *x = calloc((size_t)n + 1, size);
    if (!b || !x || mpk_failed(mpk_context_create(NULL, &ctx))) exit(1);
    memset(x, 1, (size_t)n * size); /* its pages are there */
    for (int32_t i = 0; i < n; i++) {
        if (m->view.scalar == MPK_S || m->view.scalar == MPK_C)
            ((float *)(void *)b)[(size_t)i * size / sizeof(float)] = 1;
        else
            ((double *)(void *)b)[(size_t)i * size / sizeof(double)] = 1;
    }
    need(ctx, mpk_problem_from_csc(ctx, n, m->view.scalar, m->view.symmetry, MPK_LOWER, m->ap,
                                   m->ai, m->ax, &problem));
    const double before = reset();
    for (int again = 0; again < 2; again++) {
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_factor_info info;
        need(ctx, mpk_analyse(ctx, problem, o, &an));
        more(&most[0], before);
        if (!again) first = most[0];
        need(ctx, mpk_factorize(ctx, an, NULL, o, &fac));
        more(&most[1], before);
        need(ctx, mpk_solve(ctx, fac, 1, b, n, x, n, o, NULL));
        more(&most[2], before);
        mpk_factor_info_get(fac, &info);
        nnz = info.nnz;
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
    }
    printf(" analysis_resident=%.0f entries=%.0f whole_analyse=%.0f whole_factorize=%.0f "
           "whole_solve=%.0f",
           first, (double)nnz * (double)size, most[0], most[1], most[2]);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(b), free(x);
}

int main(int argc, char **argv) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_analysis_info predicted;
    mpk_factor_info found;
    mpk_options o;
    int64_t before, peak, least = 0;
    if (argc < 2) return fprintf(stderr, "memory FILE|SPEC [THREADS]\n"), 1;
    const bool file = !access(argv[1], R_OK);
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = argc > 2 ? atoi(argv[2]) : 1;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;

    double rss = reset();
    need(ctx, file ? mpk_problem_read(ctx, argv[1], &problem)
                   : mpk_problem_generate(ctx, argv[1], 1, &problem));
    const double read_rss = grown(rss);
    mpk_memory_usage(ctx, NULL, &peak);
    mpk_problem_view_get(problem, &a);
    const double entries = file ? mpki_assemble_bytes(0, (double)a.nnz, a.scalar, true)
                                : mpki_assemble_bytes(a.n, (double)a.nnz, a.scalar, true);
    printf("n=%d nnz=%lld made_said=%.0f made_counted=%lld made_resident=%.0f", a.n,
           (long long)a.nnz, entries, (long long)peak, read_rss);

    /* the least that an analysis says to need: the number with which it refuses a limit of 1
     * byte */
    o.memory_limit = 1;
    if (mpk_analyse(ctx, problem, &o, &an) != MPK_ERR_MEMORY) return 1;
    mpk_last_error(ctx, NULL, &least, NULL);
    o.memory_limit = 0;
    mpk_memory_usage(ctx, &before, NULL);
    mpk_memory_reset_peak(ctx);
    need(ctx, mpk_analyse(ctx, problem, &o, &an));
    mpk_memory_usage(ctx, NULL, &peak);
    mpk_analysis_info_get(an, &predicted);
    printf(" ordering=%s analysis_said=%lld analysis_counted=%lld",
           mpk_ordering_name(predicted.ordering), (long long)least, (long long)(peak - before));

    need(ctx, mpk_factorize(ctx, an, NULL, &o, &fac));
    mpk_factor_info_get(fac, &found);
    printf(" peak_said=%lld peak_counted=%lld factor_said=%lld "
           "factor_counted=%lld delayed=%lld stages=%d zero=%lld",
           (long long)predicted.peak_bytes, (long long)found.peak_bytes,
           (long long)predicted.factor_bytes, (long long)found.bytes, (long long)found.rejected,
           found.stages, (long long)found.inertia.zero);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    const matrix m = copy(problem);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    malloc_trim(0);
    whole(&m, &o);
    printf("\n");
    return 0;
}
