/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CUDA_CASES_H
#define BENCH_CUDA_CASES_H
/** What the drivers of this folder share: cases, as texts, and times. */
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double case_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int case_by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** The middle one of count numbers, which are put in order. */
static inline double case_median(double *x, int count) {
    qsort(x, (size_t)count, sizeof *x, case_by_size);
    return x[count / 2];
}

/** FILE or "generate SPEC", then " key=value,...": the problem, made with the options' seed, and
 *  options, which begin with ildlt and frames of at most 32 rows. */
static inline mpk_status case_parse(mpk_context *ctx, const char *text, mpk_problem **problem,
                                    mpk_options *o) {
    char name[1000], *options;
    snprintf(name, sizeof name, "%s", text);
    options = strrchr(name, ' ');
    if (options && strchr(options, '='))
        *options++ = '\0';
    else
        options = NULL;
    mpk_options_init(o);
    o->method = MPK_METHOD_ILDLT;
    o->block = 32;
    mpk_status status = MPK_OK;
    for (char *word; !mpk_failed(status) && (word = strsep(&options, ","));) {
        char *value = strchr(word, '=');
        if (value) *value++ = '\0';
        status = mpk_options_set(ctx, o, word, value ? value : "on");
    }
    if (mpk_failed(status)) return status;
    return strncmp(name, "generate ", 9) ? mpk_problem_read(ctx, name, problem)
                                         : mpk_problem_generate(ctx, name + 9, o->seed, problem);
}

#endif
