/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_adaptive "generate SPEC"|FILE THREADS: one call of mpk_solve_adaptive without the direct
 * solver, to a relative residual of 1e-6 by SQMR, on b = A times ones; in a fresh process, as a
 * user has it. One line of JSON: seconds of the call (cpu_s: of all its threads together), of the
 * analysis and of each attempt, and the
 * residual of the solution computed anew. By the public headers alone, so that bench/pairs.py can
 * link it with another build, too. */
#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(mpk_context *ctx) {
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "adaptive: %s\n", text ? text : "no memory");
    return 1;
}

static double norm(int32_t n, const double *x) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static double residual(mpk_context *ctx, const mpk_problem *problem, int32_t n, const double *x,
                       const double *b) {
    double *r = malloc(((size_t)n + 1) * sizeof *r), result = NAN;
    if (r && !mpk_failed(mpk_problem_multiply(ctx, problem, 1, x, n, r, n))) {
        for (int32_t i = 0; i < n; i++) r[i] -= b[i];
        result = norm(n, r) / norm(n, b);
    }
    free(r);
    return result;
}

static void print(mpk_status status, const mpk_problem_view *view, double seconds, double cpu_s,
                  double error, const mpk_adaptive *got) {
    mpk_analysis_info info = {0};
    if (got->analysis) mpk_analysis_info_get(got->analysis, &info);
    printf("{\"n\": %d, \"nnz\": %lld, \"status\": \"%s\", \"seconds\": %.6f, \"cpu_s\": %.6f, "
           "\"analyse_s\": %.6f, \"relative_residual\": %.3g, \"attempts\": [",
           view->n, (long long)view->nnz, mpk_status_name(status), seconds, cpu_s, info.time_s,
           isfinite(error) ? error : 1e300);
    for (int32_t k = 0; k < got->attempts; k++)
        printf("%s{\"level\": %d, \"drop_tolerance\": %g, \"iterations\": %d, \"time_s\": %.6f}",
               k ? ", " : "", got->attempt[k].level, got->attempt[k].drop_tolerance,
               got->attempt[k].iterations, got->attempt[k].time_s);
    printf("]}\n");
}

int main(int argc, char **argv) {
    static const char generate[] = "generate ";
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view view;
    mpk_options o;
    mpk_adaptive got = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: %s \"generate SPEC\"|FILE THREADS\n", argv[0]);
        return 2;
    }
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return fail(ctx);
    mpk_options_init(&o);
    o.threads = atoi(argv[2]);
    o.method = MPK_METHOD_AUTO;
    o.direct = MPK_OFF;
    o.krylov = MPK_KRYLOV_SQMR;
    o.tolerance = 1e-6;
    const int made = !strncmp(argv[1], generate, strlen(generate));
    mpk_status status = made ? mpk_problem_generate(ctx, argv[1] + strlen(generate), 1, &problem)
                             : mpk_problem_read(ctx, argv[1], &problem);
    if (mpk_failed(status)) return fail(ctx);
    mpk_problem_view_get(problem, &view);
    if (view.scalar != MPK_D) {
        fprintf(stderr, "adaptive: the matrix is not real\n");
        return 2;
    }
    const int32_t n = view.n;
    double *b = malloc(((size_t)n + 1) * sizeof *b), *x = malloc(((size_t)n + 1) * sizeof *x);
    if (!b || !x) return fail(ctx);
    for (int32_t i = 0; i < n; i++) x[i] = 1;
    if (mpk_failed(mpk_problem_multiply(ctx, problem, 1, x, n, b, n))) return fail(ctx);
    memset(x, 0, (size_t)n * sizeof *x);
    const double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    status = mpk_solve_adaptive(ctx, problem, &o, 1, b, n, x, n, NULL, 0, NULL, &got);
    const double seconds = now(CLOCK_MONOTONIC) - start;
    const double cpu_s = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (mpk_failed(status)) return fail(ctx);
    print(status, &view, seconds, cpu_s, residual(ctx, problem, n, x, b), &got);
    mpk_adaptive_clear(&got);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(b);
    free(x);
    return 0;
}
