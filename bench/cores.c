/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_cores THREADS[,THREADS...] SECONDS [model=N] [sides=N] [team=1] FILE|"generate SPEC"...: the direct
 * solver on several numbers of threads, ordered for N (model_threads); a line for each matrix and number: analysis, refactorization, one right-hand
 * side without and with refinement, eight together, in milliseconds, minima of as many runs as
 * SECONDS allow (three or more; one where a run takes longer than that); threads that the
 * factorization took; the backward error; the hash of D and x, which must not depend on threads;
 * flops; sixty-four sides together (unless sides=N is less); the peak of memory beyond the input of the first analysis,
 * factorization and solve, in MB, which only a matrix's first row has for itself; and the largest team of workers that
 * each of the six steps called, 1: none. With team=1 all threads are taken, whether or not they pay. */
#include <math.h>
#include "core/pool.h"

#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { MOST = 64 };

/* A field of /proc/self/status in kB. */
static double status_kb(const char *field) {
    char line[256];
    double value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, field, strlen(field))) value = strtod(line + strlen(field) + 1, NULL);
    if (file) fclose(file);
    return value;
}

static void reset_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

typedef struct run {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_problem_view view;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options options;
    mpk_solve_info solved;
    double *b, *x;
} run;

static mpk_status analyse(run *r) {
    mpk_factor_destroy(&r->fac);
    mpk_analysis_destroy(&r->an);
    return mpk_analyse(r->ctx, r->problem, &r->options, &r->an);
}
static mpk_status refactorize(run *r) {
    return mpk_refactorize(r->ctx, NULL, &r->options, r->fac);
}
static mpk_status solve(run *r) {
    return mpk_solve(r->ctx, r->fac, 1, r->b, r->view.n, r->x, r->view.n, &r->options, &r->solved);
}
static mpk_status solve_eight(run *r) {
    return mpk_solve(r->ctx, r->fac, 8, r->b, r->view.n, r->x, r->view.n, &r->options, &r->solved);
}
static mpk_status solve_many(run *r) {
    return mpk_solve(r->ctx, r->fac, MOST, r->b, r->view.n, r->x, r->view.n, &r->options,
                     &r->solved);
}

/* Least time of some calls, in ms, and workers that they took; NaN after a failure. */
static double least(run *r, mpk_status (*call)(run *), double seconds, int *took) {
    double best = INFINITY, all = 0;
    (void)mpki_context_took(r->ctx);
    for (int k = 0; k < 200 && (k < 3 || all < seconds) && !(k > 0 && all > 3 * seconds); k++) {
        const double begin = now_s();
        if (mpk_failed(call(r))) return NAN;
        const double took = now_s() - begin;
        all += took;
        if (took < best) best = took;
    }
    *took = mpki_context_took(r->ctx);
    return 1e3 * best;
}

static uint64_t hash(const void *data, size_t bytes, uint64_t h) {
    const uint8_t *p = data;
    for (size_t k = 0; k < bytes; k++) h = (h ^ p[k]) * 0x100000001b3u;
    return h;
}

/* sides: how many together are of interest, at most; of more the time is told as 0 */
static void measure(run *r, const char *name, int threads, double seconds, int sides, bool forced) {
    const size_t n = (size_t)r->view.n, width = r->view.scalar == MPK_Z ? 2 : 1;
    mpk_factor_info info;
    r->options.threads = threads;
    if (forced) mpki_context_set_cores(r->ctx, threads);
    r->options.method = MPK_METHOD_LDLT;
    mpk_status status = MPK_OK;
    reset_peak();
    const double before_kb = status_kb("VmRSS");
    status = analyse(r);
    if (!mpk_failed(status)) status = mpk_factorize(r->ctx, r->an, NULL, &r->options, &r->fac);
    if (!mpk_failed(status)) status = solve(r);
    const double peak_mb = (status_kb("VmHWM") - before_kb) / 1024;
    if (mpk_failed(status)) {
        printf("%-32.32s %2d failed: %s\n", name, threads, mpk_status_text(status));
        return;
    }
    int took[6] = {1, 1, 1, 1, 1, 1}; /* analysis, refactorization, one side, refined, eight, 64 */
    const double analysed = least(r, analyse, seconds, &took[0]);
    status = mpk_factorize(r->ctx, r->an, NULL, &r->options, &r->fac);
    const double factored = mpk_failed(status) ? NAN : least(r, refactorize, 2 * seconds, &took[1]);
    mpk_factor_info_get(r->fac, &info);
    double *d = calloc(2 * n * width + 1, sizeof *d);
    uint64_t h = 0xcbf29ce484222325u;
    if (d && !mpk_failed(mpk_get(r->ctx, r->fac, MPK_GET_D, d, 2 * n * width * sizeof *d)))
        h = hash(d, 2 * n * width * sizeof *d, h);
    free(d);
    const int32_t refine = r->options.refine;
    r->options.refine = 0;
    const double applied = least(r, solve, seconds, &took[2]);
    h = hash(r->x, n * width * sizeof(double), h);
    const double eight = sides < 8 ? 0 : least(r, solve_eight, seconds, &took[4]);
    const double many = sides < MOST ? 0 : least(r, solve_many, seconds, &took[5]);
    r->options.refine = refine;
    const double refined = least(r, solve, seconds, &took[3]);
    printf("%-32.32s %2d %10.3f %10.3f %9.3f %9.3f %9.3f  %2d %8.1e %08x %.2e %9.3f %7.1f  %d %d "
           "%d %d %d %d\n",
           name, threads, analysed, factored, applied, refined, eight, info.threads,
           r->solved.componentwise, (unsigned)(h ^ h >> 32), info.flops, many, peak_mb, took[0],
           took[1], took[2], took[3], took[4], took[5]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(
            stderr,
            "usage: %s THREADS[,THREADS...] SECONDS [model=N] [sides=N] [team=1] FILE|\"generate "
            "SPEC\"...\n",
            argv[0]);
        return 1;
    }
    int model = 0, sides = MOST;
    bool forced = false;
    for (int k = 3; k < argc; k++) {
        run r = {0};
        if (!strncmp(argv[k], "model=", 6)) {
            model = atoi(argv[k] + 6);
            continue;
        }
        if (!strncmp(argv[k], "sides=", 6)) {
            sides = atoi(argv[k] + 6);
            continue;
        }
        if (!strncmp(argv[k], "team=", 5)) {
            forced = atoi(argv[k] + 5) > 0;
            continue;
        }
        const char *spec = strncmp(argv[k], "generate ", 9) ? NULL : argv[k] + 9;
        const char *slash = strrchr(argv[k], '/'), *name = spec    ? spec
                                                           : slash ? slash + 1
                                                                   : argv[k];
        mpk_status status = mpk_context_create(NULL, &r.ctx);
        if (!mpk_failed(status))
            status = spec ? mpk_problem_generate(r.ctx, spec, 1, &r.problem)
                          : mpk_problem_read(r.ctx, argv[k], &r.problem);
        mpk_problem_view_get(r.problem, &r.view);
        mpk_options_init(&r.options);
        if (model > 0) r.options.model_threads = model;
        const size_t count = (size_t)r.view.n * 2 * MOST;
        r.b = calloc(count + 1, sizeof *r.b), r.x = calloc(count + 1, sizeof *r.x);
        for (size_t i = 0; r.b && i < count; i++) r.b[i] = (double)(i * 2654435761u % 1000) - 500;
        char *list = strdup(argv[1]);
        for (char *word = list ? strtok(list, ",") : NULL;
             word && r.b && r.x && !mpk_failed(status); word = strtok(NULL, ","))
            measure(&r, name, atoi(word), atof(argv[2]), sides, forced);
        if (mpk_failed(status)) printf("%s: %s\n", name, mpk_status_text(status));
        free(list);
        free(r.b), free(r.x);
        mpk_factor_destroy(&r.fac);
        mpk_analysis_destroy(&r.an);
        mpk_problem_destroy(&r.problem);
        mpk_context_destroy(&r.ctx);
    }
    return 0;
}
