/* SPDX-License-Identifier: BSD-3-Clause */
/* One analysis, factorized in two places: trees [device=cuda] [threads=N] [solve=1] MATRIX...
 * orders each matrix, a file or a generator's spec, and merges its fronts as for the device,
 * factorizes there and on the processor, and prints an object of JSON a line. What differs then is
 * the elimination, and not the tree. solve: with a right-hand side, and the errors before and after
 * refinement. Exit code 0; 1 with the reason where something failed. */
#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const mpk_context *ctx, const char *what) {
    const char *text = "", *stage = "";
    mpk_last_error(ctx, &stage, NULL, &text);
    fprintf(stderr, "trees: %s: %s: %s\n", what, stage ? stage : "", text);
    return 1;
}

/* JSON has no infinity. */
static const char *number(double x, char text[32]) {
    snprintf(text, 32, isfinite(x) ? "%.3g" : "null", x);
    return text;
}

static void print(mpk_status status, const mpk_factor_info *info) {
    const mpk_inertia *i = &info->inertia;
    printf("{\"status\": \"%s\", ", mpk_status_text(status));
    printf("\"inertia\": {\"positive\": %lld, \"negative\": %lld, \"zero\": %lld, \"certified\": "
           "%s}, ",
           (long long)i->positive, (long long)i->negative, (long long)i->zero,
           i->certified ? "true" : "false");
    printf("\"rejected\": %lld, \"two_by_two\": %lld, \"stages\": %d, \"nnz\": %lld, "
           "\"max_front\": %d, ",
           (long long)info->rejected, (long long)info->two_by_two, (int)info->stages,
           (long long)info->nnz, (int)info->max_front);
    char growth[32], least[32];
    printf("\"growth\": %s, \"min_pivot\": %s, \"time_s\": %.4g", number(info->growth, growth),
           number(info->min_pivot, least), info->time_s);
}

static mpk_status solve(mpk_context *ctx, const mpk_factor *fac, const mpk_problem_view *a,
                        const mpk_options *o) {
    const size_t size = mpk_scalar_size(a->scalar);
    const int single = a->scalar == MPK_S || a->scalar == MPK_C;
    char *x = calloc((size_t)a->n + 1, size);
    mpk_solve_info info;
    char before[32], after[32];
    mpk_status status = MPK_ERR_MEMORY;
    for (int32_t i = 0; x && i < a->n; i++) {
        const double b = 1 + i % 5;
        const float f = (float)b;
        memcpy(x + (size_t)i * size, single ? (const void *)&f : (const void *)&b,
               single ? sizeof f : sizeof b);
    }
    if (x) status = mpk_solve(ctx, fac, 1, x, a->n, x, a->n, o, &info);
    if (!mpk_failed(status))
        printf(", \"solved\": \"%s\", \"unrefined\": %s, \"componentwise\": %s, \"steps\": %d",
               mpk_status_text(status), number(info.unrefined, before),
               number(info.componentwise, after), (int)info.iterations);
    free(x);
    return status;
}

/* The device's factor, then the processor's. */
static int both(mpk_context *ctx, const char *what, const mpk_problem *problem,
                const mpk_analysis *an, mpk_options o, int solves) {
    mpk_problem_view a;
    mpk_problem_view_get(problem, &a);
    for (int place = 0; place < 2; place++) {
        mpk_factor *fac = NULL;
        mpk_factor_info info;
        if (place == 1) o.device = MPK_ON_CPU;
        mpk_status status = mpk_factorize(ctx, an, NULL, &o, &fac);
        if (mpk_failed(status)) return fail(ctx, what);
        if (mpk_failed(mpk_certify(ctx, fac, NULL))) return fail(ctx, what);
        mpk_factor_info_get(fac, &info);
        printf(", \"%s\": ", place ? "processor" : "device");
        print(status, &info);
        if (solves) status = solve(ctx, fac, &a, &o);
        printf("}");
        mpk_factor_destroy(&fac);
        if (mpk_failed(status)) return fail(ctx, what);
    }
    return 0;
}

static int matrix(const char *what, mpk_options o, int solves) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_analysis_info tree;
    FILE *file = fopen(what, "r");
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    mpk_status status =
        file ? mpk_problem_read(ctx, what, &problem) : mpk_problem_generate(ctx, what, 1, &problem);
    if (file) fclose(file);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    int failed = mpk_failed(status) ? fail(ctx, what) : 0;
    if (!failed) {
        mpk_analysis_info_get(an, &tree);
        printf("{\"matrix\": \"%s\", \"n\": %d, \"fronts\": %d", what, (int)tree.n,
               (int)tree.supernodes);
        failed = both(ctx, what, problem, an, o, solves);
        printf("}\n");
        fflush(stdout);
    }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0, solves = 0;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.device = MPK_ON_CUDA;
    for (int k = 1; k < argc; k++) {
        const char *key = !strncmp(argv[k], "device=", 7)    ? "device"
                          : !strncmp(argv[k], "threads=", 8) ? "threads"
                                                             : NULL;
        if (!strncmp(argv[k], "solve=", 6)) {
            solves = argv[k][6] == '1';
        } else if (!key) {
            failed += matrix(argv[k], o, solves);
        } else if (mpk_failed(mpk_options_set(NULL, &o, key, argv[k] + strlen(key) + 1))) {
            fprintf(stderr, "trees: %s\n", argv[k]);
            return 2;
        }
    }
    return failed > 0;
}
