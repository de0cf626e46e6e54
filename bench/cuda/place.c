/* SPDX-License-Identifier: BSD-3-Clause */
/* Where is a matrix factorized and solved sooner, on the processor or on a device, and what does
 * device = auto take?
 *
 *   place [repeat=N] [threads=N] MATRIX...
 *
 * A MATRIX is a file or a generator's spec ("nlpkkt 20"). One line each: order, entries of A, those
 * of L and flops as the processor's analysis predicts them; milliseconds, medians of N, of new
 * values and one solve with refinement (mpk_refactorize, mpk_solve; all arrays on the host) on the
 * processor and on the device, each with the analysis made for it; what auto took, its time, and
 * whether that was the quicker place. At last in how many cases it was, and the geometric mean of
 * auto's times over the lesser ones. Answers are checked. */
#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of `repeat` cycles at `device`, in ms; negative: it failed, and why was printed.
 * engine [out]. */
static double time_at(const mpk_problem *problem, mpk_device device, int threads, int repeat,
                      mpk_analysis_info *info, char engine[32]) {
    mpk_context *ctx = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = device, o.threads = threads;
    mpk_problem_view_get(problem, &a);
    double *b = calloc((size_t)a.n + 1, sizeof *b), *x = calloc((size_t)a.n + 1, sizeof *x);
    double *ms = calloc((size_t)repeat, sizeof *ms), result = -1;
    mpk_status status = b && x && ms ? mpk_context_create(NULL, &ctx) : MPK_ERR_MEMORY;
    for (int32_t i = 0; b && i < a.n; i++) b[i] = 1 + i % 7;
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &o, &fac);
    for (int k = -1; k < repeat && !mpk_failed(status); k++) { /* the first one warms up */
        mpk_solve_info solved = {0};
        const double start = now_ms();
        status = mpk_refactorize(ctx, a.ax, &o, fac);
        if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, a.n, x, a.n, &o, &solved);
        if (k >= 0) ms[k] = now_ms() - start;
        if (!mpk_failed(status) && status != MPK_SINGULAR && !(solved.normwise <= 1e-10)) {
            printf("backward error %.1e\n", solved.normwise);
            status = MPK_ERR_NUMERIC;
        }
    }
    if (mpk_failed(status)) {
        const char *text = "";
        if (ctx) mpk_last_error(ctx, NULL, NULL, &text);
        printf("%s: %s\n", mpk_status_name(status), text);
    } else {
        qsort(ms, (size_t)repeat, sizeof *ms, by_size);
        result = ms[repeat / 2];
        mpk_analysis_info_get(an, info);
        snprintf(engine, 32, "%s", strncmp(mpk_factor_engine(fac), "cuda", 4) ? "cpu" : "cuda");
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_context_destroy(&ctx);
    free(b), free(x), free(ms);
    return result;
}

static mpk_status open_matrix(mpk_context *ctx, const char *name, mpk_problem **problem) {
    FILE *file = fopen(name, "rb");
    if (file) fclose(file);
    return file ? mpk_problem_read(ctx, name, problem)
                : mpk_problem_generate(ctx, name, 1, problem);
}

int main(int argc, char **argv) {
    int repeat = 5, threads = 0, cases = 0, right = 0, failed = 0;
    double lost = 0;
    printf("%-26s %9s %9s %9s %8s %9s %9s %9s\n", "matrix", "n", "nnz(A)", "nnz(L)", "GFLOP",
           "cpu ms", "cuda ms", "auto ms");
    for (int k = 1; k < argc; k++) {
        if (sscanf(argv[k], "repeat=%d", &repeat) == 1 ||
            sscanf(argv[k], "threads=%d", &threads) == 1)
            continue;
        mpk_context *ctx = NULL;
        mpk_problem *problem = NULL;
        mpk_problem_view a;
        mpk_analysis_info info = {0}, other = {0};
        char cpu_engine[32] = "", cuda_engine[32] = "", took[32] = "";
        if (repeat < 1 || mpk_context_create(NULL, &ctx) != MPK_OK) return 1;
        if (mpk_failed(open_matrix(ctx, argv[k], &problem))) {
            const char *text = "";
            mpk_last_error(ctx, NULL, NULL, &text);
            printf("%s: %s\n", argv[k], text);
            mpk_context_destroy(&ctx);
            return 1;
        }
        mpk_problem_view_get(problem, &a);
        const double cpu = time_at(problem, MPK_ON_CPU, threads, repeat, &info, cpu_engine);
        const double cuda = time_at(problem, MPK_ON_CUDA, threads, repeat, &other, cuda_engine);
        const double chosen = time_at(problem, MPK_ON_AUTO, threads, repeat, &other, took);
        failed += cpu < 0 || cuda < 0 || chosen < 0;
        if (cpu >= 0 && cuda >= 0 && chosen >= 0) {
            const double mine = strcmp(took, "cpu") ? cuda : cpu, least = fmin(cpu, cuda);
            const char *name = strrchr(argv[k], '/') ? strrchr(argv[k], '/') + 1 : argv[k];
            cases++, right += mine <= least, lost += log(chosen / least);
            printf("%-26s %9d %9lld %9lld %8.3f %9.3f %9.3f %9.3f  %-4s %s\n", name, (int)a.n,
                   (long long)a.nnz, (long long)info.factor_nnz, 1e-9 * info.factor_flops, cpu,
                   cuda, chosen, took, mine <= least ? "quicker" : "SLOWER");
            fflush(stdout);
        }
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
    if (cases)
        printf(
            "auto took the quicker place in %d of %d cases; its time over the lesser one: %.3f\n",
            right, cases, exp(lost / cases));
    return failed != 0;
}
