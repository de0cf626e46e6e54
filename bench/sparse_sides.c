/* SPDX-License-Identifier: BSD-3-Clause */
/* What one entry of the inverse costs beside a solve: bench_sparse_sides SPEC|FILE ...
 *
 * For each matrix, on one thread, the least of several: one application of the factor in all rows
 * (mpk_solve_part); one entry of A^-1 by mpk_solve_sparse, of 64 random rows the mean and the worst;
 * 1024 right-hand sides of one row each, with 64 rows of x wanted, a side; the first call, which
 * notes where columns were eliminated. One line of a table. */
#include <metapack/metapack.h>
#include <metapack/solve_sparse.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 64, MANY = 1024 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t state = 1;
static int32_t any(int32_t n) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int32_t)((state >> 33) % (uint64_t)n);
}

static void die(mpk_context *ctx, const char *name) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "%s: %s\n", name, text);
}

static int measure(mpk_context *ctx, const char *name) {
    mpk_options o;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    mpk_factor_info f;
    mpk_sparse_info info;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.threads = 1;
    const int file = strstr(name, ".mtx") != NULL;
    mpk_status status =
        file ? mpk_problem_read(ctx, name, &problem) : mpk_problem_generate(ctx, name, 1, &problem);
    if (!mpk_failed(status)) mpk_problem_view_get(problem, &a);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &o, &fac);
    if (mpk_failed(status) || a.scalar != MPK_D) {
        if (mpk_failed(status)) die(ctx, name);
        mpk_factor_destroy(&fac), mpk_analysis_destroy(&an), mpk_problem_destroy(&problem);
        return mpk_failed(status);
    }
    mpk_factor_info_get(fac, &f);
    double *x = calloc((size_t)a.n, sizeof *x), full = HUGE_VAL;
    for (int turn = 0; turn < 7; turn++) {
        memset(x, 0, (size_t)a.n * sizeof *x);
        x[a.n / 2] = 1;
        const double begin = now_s();
        (void)mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, x, a.n);
        full = fmin(full, now_s() - begin);
    }
    static int64_t ptr[MANY + 1];
    static int32_t rows[MANY], wanted[PAIRS];
    static double ones[MANY], out[PAIRS * MANY];
    for (int k = 0; k < MANY; k++) ptr[k + 1] = k + 1, ones[k] = 1, rows[k] = any(a.n);
    double begin = now_s();
    (void)mpk_solve_sparse(ctx, fac, 1, ptr, rows, ones, 1, rows + 1, MPK_SPARSE_BARE, out, 1,
                           &info);
    const double first = now_s() - begin;
    double sum = 0, worst = 0, share = 0, worst_share = 0;
    for (int k = 0; k < PAIRS; k++) {
        double least = HUGE_VAL;
        for (int turn = 0; turn < 5; turn++) {
            begin = now_s();
            (void)mpk_solve_sparse(ctx, fac, 1, ptr, rows + 2 * k, ones, 1, rows + 2 * k + 1,
                                   MPK_SPARSE_BARE, out, 1, &info);
            least = fmin(least, now_s() - begin);
        }
        sum += least, worst = fmax(worst, least);
        share += info.share, worst_share = fmax(worst_share, info.share);
    }
    for (int k = 0; k < PAIRS; k++) wanted[k] = any(a.n);
    double many = HUGE_VAL;
    for (int turn = 0; turn < 2; turn++) {
        begin = now_s();
        (void)mpk_solve_sparse(ctx, fac, MANY, ptr, rows, ones, PAIRS, wanted, MPK_SPARSE_BARE, out,
                               PAIRS, &info);
        many = fmin(many, (now_s() - begin) / MANY);
    }
    const char *shown = strrchr(name, '/');
    printf("| %s | %d | %.2f | %.1f | %.1f | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f | %.1f "
           "%% |\n",
           file && shown ? shown + 1 : name, a.n, (double)f.nnz * 1e-6, 1e6 * full, 1e6 * first,
           100 * sum / PAIRS / full, 100 * share / PAIRS, 100 * worst / full, 100 * worst_share,
           1e6 * many, 100 * many / full);
    fflush(stdout);
    free(x);
    mpk_factor_destroy(&fac), mpk_analysis_destroy(&an), mpk_problem_destroy(&problem);
    return 0;
}

int main(int argc, char **argv) {
    mpk_context *ctx = NULL;
    int rc = mpk_context_create(NULL, &ctx) != MPK_OK;
    for (int k = 1; k < argc && !rc; k++) (void)measure(ctx, argv[k]);
    mpk_context_destroy(&ctx);
    return rc;
}
