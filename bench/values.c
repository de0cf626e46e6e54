/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_values "generate SPEC"|FILE key=value,...: a factorization on one thread and four more of
 * other values of the same pattern. One line of JSON: processor seconds of each, and
 * those of fill and index (by the clock). By the public
 * headers alone, so that bench/points.py can link it with another build, too. */
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    enum { TURNS = 5 };
    static const char generate[] = "generate ";
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view view;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    double took[TURNS] = {0}, fill[TURNS] = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: %s \"generate SPEC\"|FILE key=value,...\n", argv[0]);
        return 2;
    }
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    mpk_options_init(&o);
    mpk_status status = !strncmp(argv[1], generate, strlen(generate))
                            ? mpk_problem_generate(ctx, argv[1] + strlen(generate), 1, &problem)
                            : mpk_problem_read(ctx, argv[1], &problem);
    for (char *rest = argv[2], *word; !mpk_failed(status) && (word = strsep(&rest, ","));) {
        char *value = strchr(word, '=');
        if (value) *value++ = 0;
        status = mpk_options_set(ctx, &o, word, value ? value : "on");
    }
    o.threads = 1;
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    if (mpk_failed(status)) goto done;
    mpk_problem_view_get(problem, &view);
    double *ax = malloc(((size_t)view.nnz + 1) * sizeof *ax);
    if (!ax || view.scalar != MPK_D) return 1;
    for (int turn = 0; turn < TURNS && !mpk_failed(status); turn++) {
        for (int64_t k = 0; k < view.nnz; k++) /* the given order is that of the view here */
            ax[k] = ((const double *)view.ax)[k] * (1 + 1e-3 * turn);
        const double start = now();
        status = mpk_factorize(ctx, an, ax, &o, &fac);
        took[turn] = now() - start;
        mpk_block_info info;
        mpk_factor_block_info_get(fac, &info);
        fill[turn] = info.time_fill_s;
    }
    free(ax);
done:
    if (mpk_failed(status)) {
        fprintf(stderr, "values: %s\n", mpk_status_text(status));
        return 1;
    }
    for (int turn = 0; turn < TURNS; turn++)
        printf("%s%.6f", turn ? ", " : "{\"seconds\": [", took[turn]);
    for (int turn = 0; turn < TURNS; turn++)
        printf("%s%.6f", turn ? ", " : "], \"fill_s\": [", fill[turn]);
    puts("]}");
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return 0;
}
