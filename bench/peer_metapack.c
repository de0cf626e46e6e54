/* SPDX-License-Identifier: BSD-3-Clause */
/* METAPACK through its public interface. Settings, joined by "+": "default" or any option as
 * KEY=VALUE, as in "ordering=metis+matching=off". It refines and checks by itself, and pays for
 * that inside its solve time; "bare": it solves alone, and is refined and judged as its peers. */
#include "bench.h"
#include <metapack/metapack.h>
#include <stdio.h>
#include <string.h>

const char *const bench_name = "metapack";
bool bench_refines = true;

static mpk_context *ctx;
static mpk_options options;
static mpk_problem *problem;
static mpk_analysis *analysis;
static mpk_factor *factor;
static mpk_solve_info last;

/* NULL, or why a call failed; a numerical outcome can be used and is judged by its backward error.
 */
static const char *check(mpk_status status) {
    const char *text = NULL;
    if (!mpk_failed(status)) return NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    return text && *text ? text : mpk_status_text(status);
}

const char *bench_start(int threads, const char *setting) {
    char copy[256];
    mpk_status status = mpk_context_create(NULL, &ctx);
    mpk_options_init(&options);
    options.threads = threads;
    snprintf(copy, sizeof copy, "%s", setting);
    for (char *word = strtok(copy, "+"); word && !mpk_failed(status); word = strtok(NULL, "+")) {
        if (!strcmp(word, "default")) continue;
        if (!strcmp(word, "bare")) {
            bench_refines = false;
            continue;
        }
        char *value = strchr(word, '=');
        if (!value) return "unknown setting";
        *value++ = 0;
        status = mpk_options_set(ctx, &options, word, value);
    }
    return check(status);
}

static void release(void) {
    mpk_factor_destroy(&factor);
    mpk_analysis_destroy(&analysis);
}

const char *bench_prepare(const bench_matrix *a) {
    release();
    mpk_problem_destroy(&problem);
    return check(mpk_problem_from_csc(ctx, a->n, a->complex_values ? MPK_Z : MPK_D,
                                      a->hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC, MPK_LOWER,
                                      a->ap, a->ai, a->ax, &problem));
}

const char *bench_analyse(const bench_matrix *a) {
    (void)a;
    release();
    return check(mpk_analyse(ctx, problem, &options, &analysis));
}

const char *bench_factorize(const bench_matrix *a) {
    (void)a;
    return check(mpk_factorize(ctx, analysis, NULL, &options, &factor));
}

const char *bench_solve(const bench_matrix *a, const double *b, double *x) {
    if (!bench_refines) {
        memcpy(x, b, (size_t)a->n * (a->complex_values ? 2 : 1) * sizeof *x);
        return check(mpk_solve_part(ctx, factor, MPK_PART_ALL, 1, x, a->n));
    }
    return check(mpk_solve(ctx, factor, 1, b, a->n, x, a->n, &options, &last));
}

void bench_tell(bench_facts *facts) {
    snprintf(facts->version, sizeof facts->version, "%s", mpk_version());
    if (bench_refines) facts->unrefined = last.unrefined, facts->steps = last.iterations;
    if (!factor) return;
    mpk_factor_info info;
    mpk_factor_info_get(factor, &info);
    facts->positive = info.inertia.positive;
    facts->negative = info.inertia.negative;
    facts->zero = info.inertia.zero;
    facts->factor_nnz = info.nnz;
    facts->flops = info.flops;
    facts->delayed = info.rejected;
    facts->perturbed = info.perturbed;
}

void bench_finish(void) {
    release();
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}
