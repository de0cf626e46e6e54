/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user waits for where factorizations on blocks and solves follow each other on a device:
 * each factorization and the solve after it, as wholes; then a solve by each Krylov method, on the
 * device and on the processor, and how many iterations it takes with other roundings: for b times
 * 1.1, 1.2, ... 1.9.
 *
 *     cuda-repeats SPEC [key=value ...]       # SPEC as mpk_problem_generate() has it
 *
 * A row is printed once its answer's residual is known; "OTHER BITS": two solves differ. */
#include <metapack/metapack.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct bench {
    mpk_context *ctx;
    mpk_problem *problem;
    int32_t n;
    double *b, *x, *before;
    char **words;
} bench;

static void check(const bench *b, mpk_status status, const char *what) {
    const char *text = "";
    if (!mpk_failed(status)) return;
    mpk_last_error(b->ctx, NULL, NULL, &text);
    fprintf(stderr, "%s: %s\n", what, text);
    exit(1);
}

static void options_of(const bench *b, const char *device, mpk_options *o) {
    mpk_options_init(o);
    for (char **w = b->words; *w; w++) {
        char word[128];
        snprintf(word, sizeof word, "%s", *w);
        char *value = strchr(word, '=');
        if (value) *value++ = '\0';
        check(b, value ? mpk_options_set(b->ctx, o, word, value) : MPK_ERR_ARGUMENT, *w);
    }
    check(b, mpk_options_set(b->ctx, o, "device", device), device);
}

/* Seconds of a solve by a method; twice, with the same bits? */
static double solve(bench *b, mpk_factor *fac, const mpk_options *o, int times,
                    mpk_solve_info *info, bool *same) {
    double best = 1e30;
    *same = true;
    for (int k = 0; k < times; k++) {
        const double began = now_s();
        check(b, mpk_solve(b->ctx, fac, 1, b->b, b->n, b->x, b->n, o, info), "solve");
        const double spent = now_s() - began;
        if (spent < best) best = spent;
        if (k > 0) *same &= !memcmp(b->x, b->before, (size_t)b->n * sizeof *b->x);
        memcpy(b->before, b->x, (size_t)b->n * sizeof *b->x);
    }
    return best;
}

static void factorizations(bench *b) {
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    options_of(b, "cuda", &o);
    check(b, mpk_analyse(b->ctx, b->problem, &o, &an), "analysis");
    for (int k = 0; k < 4; k++) {
        mpk_solve_info info;
        bool same;
        const double began = now_s();
        check(b, mpk_factorize(b->ctx, an, NULL, &o, &fac), "factorization");
        const double factorized = now_s(), solved = solve(b, fac, &o, 1, &info, &same);
        printf("factorize %8.1f ms, solve %8.1f ms, %d iterations, residual %.1e\n",
               1e3 * (factorized - began), 1e3 * solved, info.krylov.iterations,
               info.relative_residual);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
}

/* Iterations for multiples of b, which differ from `steps` by what roundings do. */
static void spread(bench *b, mpk_factor *fac, const mpk_options *o, int32_t steps) {
    enum { MULTIPLES = 9, MOST_STEPS = 400 };
    if (steps > MOST_STEPS) return;
    printf("     b times 1.1 to 1.9:");
    for (int k = 1; k <= MULTIPLES; k++) {
        mpk_solve_info info;
        for (int32_t i = 0; i < b->n; i++) b->before[i] = (1 + 0.1 * k) * b->b[i];
        check(b, mpk_solve(b->ctx, fac, 1, b->before, b->n, b->x, b->n, o, &info), "solve");
        printf(" %d", info.krylov.iterations);
    }
    printf("\n");
}

static void methods(bench *b, const char *device) {
    static const char *const names[] = {"sqmr", "minres", "gmres", "fgmres", "bicgstab", "idr"};
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    options_of(b, device, &o);
    check(b, mpk_analyse(b->ctx, b->problem, &o, &an), "analysis");
    check(b, mpk_factorize(b->ctx, an, NULL, &o, &fac), "factorization");
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        mpk_solve_info info;
        bool same;
        check(b, mpk_options_set(b->ctx, &o, "krylov", names[m]), names[m]);
        solve(b, fac, &o, strcmp(device, "cpu") ? 3 : 1, &info, &same);
        const int32_t steps = info.krylov.iterations;
        printf("%-4s %-9s %5d iterations, %8.1f us each, residual %.1e%s\n", device, names[m],
               steps, 1e6 * info.krylov.time_s / (steps > 0 ? steps : 1), info.relative_residual,
               same ? "" : ", OTHER BITS");
        spread(b, fac, &o, steps);
        fflush(stdout);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
}

int main(int argc, char **argv) {
    bench b = {0};
    mpk_problem_view view;
    if (argc < 2) return fprintf(stderr, "cuda-repeats SPEC [key=value ...]\n"), 2;
    b.words = argv + 2;
    check(&b, mpk_context_create(NULL, &b.ctx), "context");
    check(&b, mpk_problem_generate(b.ctx, argv[1], 1, &b.problem), argv[1]);
    mpk_problem_view_get(b.problem, &view);
    b.n = view.n;
    const size_t bytes = (size_t)b.n * sizeof(double) + 1;
    double *one = malloc(bytes);
    b.b = malloc(bytes), b.x = malloc(bytes), b.before = malloc(bytes);
    if (!one || !b.b || !b.x || !b.before || view.scalar != MPK_D)
        return fprintf(stderr, "no memory, or not real in double precision\n"), 1;
    for (int32_t i = 0; i < b.n; i++) one[i] = 1;
    check(&b, mpk_problem_multiply(b.ctx, b.problem, 1, one, b.n, b.b, b.n), "product");
    factorizations(&b);
    methods(&b, "cuda");
    methods(&b, "cpu");
    free(one), free(b.b), free(b.x), free(b.before);
    mpk_problem_destroy(&b.problem);
    mpk_context_destroy(&b.ctx);
    return 0;
}
