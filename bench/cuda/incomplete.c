/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_cuda_incomplete [-t THREADS] [-r REPEATS] [-s 1] CASE ...: factorize A and solve A x = A 1, in one
 * process, as a program does that has many such systems. A case is FILE or "generate SPEC", then
 * " key=value,...", device=cuda among them for a GPU; PREPROCESSED before it: A is S A S first,
 * with the scaling S of its maximum-product matching, as Thuerck et al. 2018 prepared their
 * matrices (section V), so that b = S A S 1 and residuals are those of S A S, too; SINGLE before
 * that: A and b are rounded to single precision, and factor, vectors and products are in it, as
 * their code has it where a table says so; residuals stay in double. For each a line of JSON:
 * seconds of the first factorization and solution, and of later ones with the same pattern
 * (medians); iterations, the relative residual of the solution computed anew, its backward error,
 * bytes of the factor. With -s also by the residual that split SQMR sees, as the code of 2018 stops:
 * iterations until L^-1 r is below the tolerance times L^-1 b, and the true residual there. The
 * analysis does not count. By the public headers alone. */
#include "cases.h"
#include <math.h>
#include <stdbool.h>

enum { MOST_REPEATS = 50 };

static int failed(mpk_context *ctx, const char *text) {
    const char *why = "";
    mpk_last_error(ctx, NULL, NULL, &why);
    printf("{\"case\": \"%s\", \"failed\": \"%s\"}\n", text, why);
    fflush(stdout);
    return 1;
}

typedef struct system_ {
    mpk_problem *problem;
    mpk_problem *rounded; /* the same in single precision, or NULL */
    mpk_analysis *an;
    mpk_factor *fac;
    double *b, *x, *r;
} system_;

static void end(system_ *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_problem_destroy(&s->rounded);
    free(s->b), free(s->x), free(s->r);
}

static double norm(int32_t n, const double *x) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static const char PREPROCESSED[] = "preprocessed ", SINGLE[] = "single ";

/* Rounds the values of s->problem to single precision, and makes s->rounded of them. */
static mpk_status round_values(mpk_context *ctx, system_ *s) {
    mpk_problem_view a;
    mpk_problem_view_get(s->problem, &a);
    float *low = malloc(((size_t)a.nnz + 1) * sizeof *low);
    double *ax = malloc(((size_t)a.nnz + 1) * sizeof *ax);
    if (!low || !ax) exit(1);
    for (int64_t k = 0; k < a.nnz; k++) ax[k] = low[k] = (float)((const double *)a.ax)[k];
    mpk_status status = mpk_problem_set_lower(ctx, s->problem, ax);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(ctx, a.n, MPK_S, MPK_SYMMETRIC, MPK_LOWER, a.ap, a.ai, low,
                                      &s->rounded);
    free(low), free(ax);
    return status;
}

/* A x = b in the precision of the factor. */
static mpk_status solve_in(mpk_context *ctx, system_ *s, int32_t n, const mpk_options *o,
                           mpk_solve_info *info) {
    if (!s->rounded) return mpk_solve(ctx, s->fac, 1, s->b, n, s->x, n, o, info);
    float *low = calloc((size_t)n + 1, 2 * sizeof *low);
    if (!low) exit(1);
    for (int32_t i = 0; i < n; i++) low[i] = (float)s->b[i];
    const mpk_status status = mpk_solve(ctx, s->fac, 1, low, n, low + n, n, o, info);
    for (int32_t i = 0; i < n; i++) s->b[i] = low[i], s->x[i] = low[n + i];
    free(low);
    return status;
}

/* A := S A S, with the scaling S that a factorization of A with options o has. */
static mpk_status preprocess(mpk_context *ctx, mpk_problem *problem, const mpk_options *o) {
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view_get(problem, &a);
    double *scale = malloc(((size_t)a.n + 1) * sizeof *scale);
    double *ax = malloc(((size_t)a.nnz + 1) * sizeof *ax);
    if (!scale || !ax) exit(1);
    mpk_status status = mpk_analyse(ctx, problem, o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, o, &fac);
    if (!mpk_failed(status))
        status = mpk_get(ctx, fac, MPK_GET_SCALE, scale, (size_t)a.n * sizeof *scale);
    for (int32_t j = 0; !mpk_failed(status) && j < a.n; j++)
        for (int64_t k = a.ap[j]; k < a.ap[j + 1]; k++)
            ax[k] = scale[a.ai[k]] * ((const double *)a.ax)[k] * scale[j];
    if (!mpk_failed(status)) status = mpk_problem_set_lower(ctx, problem, ax);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    free(scale), free(ax);
    return status;
}

/* s->r = b - A x; its norm. */
static double residual_of(mpk_context *ctx, system_ *s, int32_t n) {
    if (mpk_failed(mpk_problem_multiply(ctx, s->problem, 1, s->x, n, s->r, n))) return HUGE_VAL;
    for (int32_t i = 0; i < n; i++) s->r[i] = s->b[i] - s->r[i];
    return norm(n, s->r);
}

static double split_norm(mpk_context *ctx, system_ *s, int32_t n) {
    if (mpk_failed(mpk_solve_part(ctx, s->fac, MPK_PART_L, 1, s->r, n))) return HUGE_VAL;
    return norm(n, s->r);
}

/* The fewest of `most` iterations whose split residual is small enough, found by halving, as it
 * falls; *residual: the true one there. */
static int split_iterations(mpk_context *ctx, system_ *s, int32_t n, mpk_options o, int most,
                            double *residual) {
    int least = 0; /* not enough; most: taken to be enough */
    const double tolerance = o.tolerance;
    memcpy(s->r, s->b, (size_t)n * sizeof *s->r);
    const double b = norm(n, s->b), split_b = split_norm(ctx, s, n);
    o.tolerance = 1e-16;
    *residual = HUGE_VAL;
    while (most - least > 1 || *residual >= HUGE_VAL) {
        mpk_solve_info info;
        o.max_iterations = most - least > 1 ? least + (most - least) / 2 : most;
        if (mpk_failed(solve_in(ctx, s, n, &o, &info))) return -1;
        const double r = residual_of(ctx, s, n) / b;
        if (split_norm(ctx, s, n) <= tolerance * split_b)
            most = (int)o.max_iterations, *residual = r;
        else if (o.max_iterations == most)
            return -1;
        else
            least = (int)o.max_iterations;
    }
    return most;
}

static int one(mpk_context *ctx, const char *text, int threads, int repeats, bool split) {
    const bool single = !strncmp(text, SINGLE, strlen(SINGLE));
    const char *rest = text + (single ? strlen(SINGLE) : 0);
    const bool first_scaled = !strncmp(rest, PREPROCESSED, strlen(PREPROCESSED));
    system_ s = {0};
    mpk_options o;
    mpk_problem_view view;
    mpk_solve_info info;
    mpk_factor_info factor;
    mpk_block_info blocks;
    double factorize[MOST_REPEATS], solve[MOST_REPEATS], first[2] = {0};
    mpk_status status =
        case_parse(ctx, rest + (first_scaled ? strlen(PREPROCESSED) : 0), &s.problem, &o);
    if (mpk_failed(status)) return failed(ctx, text);
    o.threads = threads;
    mpk_problem_view_get(s.problem, &view);
    const int32_t n = view.n;
    if (view.scalar != MPK_D) {
        fprintf(stderr, "%s: the matrix is not real\n", text);
        end(&s);
        return 1;
    }
    if ((first_scaled && mpk_failed(preprocess(ctx, s.problem, &o))) ||
        (single && mpk_failed(round_values(ctx, &s)))) {
        end(&s);
        return failed(ctx, text);
    }
    if (single) o.precision = MPK_PRECISION_DOUBLE; /* that of the matrix */
    mpk_problem_view_get(s.problem, &view);
    s.b = malloc(((size_t)n + 1) * sizeof *s.b), s.x = malloc(((size_t)n + 1) * sizeof *s.x);
    s.r = malloc(((size_t)n + 1) * sizeof *s.r);
    if (!s.b || !s.x || !s.r) exit(1);
    for (int32_t i = 0; i < n; i++) s.x[i] = 1;
    status = mpk_problem_multiply(ctx, s.problem, 1, s.x, n, s.b, n);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, single ? s.rounded : s.problem, &o, &s.an);
    if (single) mpk_problem_view_get(s.rounded, &view);
    for (int k = -1; k < repeats && !mpk_failed(status); k++) {
        double start = case_now();
        status = k < 0 ? mpk_factorize(ctx, s.an, view.ax, &o, &s.fac)
                       : mpk_refactorize(ctx, view.ax, &o, s.fac);
        *(k < 0 ? &first[0] : &factorize[k]) = case_now() - start;
        if (mpk_failed(status)) break;
        start = case_now();
        status = solve_in(ctx, &s, n, &o, &info);
        *(k < 0 ? &first[1] : &solve[k]) = case_now() - start;
    }
    if (mpk_failed(status)) {
        end(&s);
        return failed(ctx, text);
    }
    const double residual = residual_of(ctx, &s, n) / norm(n, s.b);
    mpk_factor_info_get(s.fac, &factor);
    mpk_factor_block_info_get(s.fac, &blocks);
    printf("{\"case\": \"%s\", \"engine\": \"%s\", \"threads\": %d, \"n\": %d, \"nnz\": %lld, "
           "\"first\": [%.6f, %.6f], \"again\": [%.6f, %.6f], \"iterations\": %d, "
           "\"relative_residual\": %.3g, \"normwise\": %.3g, \"bytes\": %lld, \"levels\": %d, "
           "\"kept\": %lld, "
           "\"stages\": %d, \"numeric_s\": %.6f",
           text, mpk_factor_engine(s.fac), factor.threads, n, (long long)view.nnz, first[0],
           first[1], repeats ? case_median(factorize, repeats) : first[0],
           repeats ? case_median(solve, repeats) : first[1], info.krylov.iterations,
           isfinite(residual) ? residual : 1e300, isfinite(info.normwise) ? info.normwise : 1e300,
           (long long)factor.bytes, blocks.levels, (long long)blocks.kept, blocks.stages,
           blocks.time_numeric_s);
    if (split && !s.rounded) {
        double there;
        const int count = split_iterations(ctx, &s, n, o, info.krylov.iterations, &there);
        printf(", \"split_iterations\": %d, \"split_residual\": %.3g", count,
               isfinite(there) ? there : 1e300);
    }
    printf("}\n");
    fflush(stdout);
    end(&s);
    return 0;
}

int main(int argc, char **argv) {
    int threads = 0, repeats = 3, bad = 0, split = 0, k = 1;
    mpk_context *ctx = NULL;
    for (; k + 1 < argc && argv[k][0] == '-'; k += 2) {
        if (!strcmp(argv[k], "-t"))
            threads = atoi(argv[k + 1]);
        else if (!strcmp(argv[k], "-r"))
            repeats = atoi(argv[k + 1]);
        else if (!strcmp(argv[k], "-s"))
            split = atoi(argv[k + 1]);
        else
            repeats = -1;
    }
    if (k >= argc || threads < 0 || repeats < 0 || repeats > MOST_REPEATS) {
        fprintf(stderr, "usage: %s [-t THREADS] [-r REPEATS] [-s 1] CASE ...\n", argv[0]);
        return 2;
    }
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    for (; k < argc; k++) bad |= one(ctx, argv[k], threads, repeats, split);
    mpk_context_destroy(&ctx);
    return bad;
}
