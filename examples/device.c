/* SPDX-License-Identifier: BSD-3-Clause */
/** A sparse KKT system on a GPU where there is one: factorized, given other values, solved, and
 *  what computed it named.
 *      device [--device cpu|cuda|cuda:1|auto] [--method ldlt|ildlt]
 *  With auto, the default, the library decides, and a machine without a GPU is none of the
 *  program's business. With cuda a device that is not there, or a method that it cannot do, is an
 *  error that says so: nothing moves to the processor in silence. */
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 3 };

/* Minimise over 2 n^3 unknowns with n^3 constraints: what nlpkkt's matrices come from. */
static const char system_of[] = "nlpkkt 12";

/* Other values of the same pattern, and a solution that is known. */
static mpk_status solve_again(mpk_context *ctx, const mpk_problem_view *a,
                              const mpk_options *options, mpk_factor *fac) {
    const size_t n = (size_t)a->n;
    double *ax = malloc((size_t)a->nnz * sizeof *ax), *x = malloc(n * sizeof *x);
    mpk_status status = ax && x ? MPK_OK : MPK_ERR_MEMORY;
    for (int k = 1; k <= VALUES && !mpk_failed(status); k++) {
        mpk_solve_info info = {0};
        mpk_factor_info made;
        for (int64_t p = 0; p < a->nnz; p++) ax[p] = k * ((const double *)a->ax)[p];
        for (size_t i = 0; i < n; i++) x[i] = (double)(i % 7);
        /* ax and x may as well lie in the GPU's memory: they are found there by the pointer */
        status = mpk_refactorize(ctx, ax, options, fac);
        if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, x, a->n, x, a->n, options, &info);
        if (mpk_failed(status)) break;
        mpk_factor_info_get(fac, &made);
        printf("%d A: inertia %lld+ %lld-, factorized in %.1f ms, solved in %.1f ms, "
               "backward error %.1e\n",
               k, (long long)made.inertia.positive, (long long)made.inertia.negative,
               1e3 * made.time_s, 1e3 * info.time_s, info.normwise);
        if (!(info.normwise <= 1e-6)) status = MPK_ERR_INTERNAL;
    }
    free(ax);
    free(x);
    return status;
}

int main(int argc, char **argv) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options options;
    mpk_options_init(&options);
    options.method = MPK_METHOD_LDLT;
    options.device = MPK_ON_AUTO;
    mpk_status status = mpk_context_create(NULL, &ctx);
    for (int k = 1; k + 1 < argc && !mpk_failed(status); k += 2)
        status = mpk_options_set(ctx, &options, argv[k] + strspn(argv[k], "-"), argv[k + 1]);
    if (!mpk_failed(status)) status = mpk_problem_generate(ctx, system_of, 1, &problem);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &options, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &options, &fac);
    if (!mpk_failed(status)) {
        mpk_problem_view a;
        mpk_problem_view_get(problem, &a);
        printf("%s, n = %d, %lld entries: %s\n", system_of, a.n, (long long)a.nnz,
               mpk_factor_engine(fac));
        status = solve_again(ctx, &a, &options, fac);
    }
    if (mpk_failed(status)) {
        const char *text = NULL;
        mpk_last_error(ctx, NULL, NULL, &text);
        fprintf(stderr, "%s: %s\n", mpk_status_name(status), text);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return mpk_exit_code(status);
}
