/* SPDX-License-Identifier: BSD-3-Clause */
/* SSIDS (SPRAL). Settings: "default" (METIS, no scaling), "scaled" (METIS, matching scaling by the
 * Hungarian algorithm), "matching" (ordering from the matching, with its scaling). Real matrices
 * only. It asks for OMP_CANCELLATION=TRUE and OMP_PROC_BIND in the environment. */
#include "bench.h"
#include <omp.h>
#include <spral.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_name = "ssids";
bool bench_refines = false;

static struct spral_ssids_options options;
static struct spral_ssids_inform inform;
static void *akeep, *fkeep;
static double *scale;
static int order;
static char text[64];

static const char *check(const char *where) {
    if (inform.flag >= 0) return NULL;
    snprintf(text, sizeof text, "%s: flag %d", where, inform.flag);
    return text;
}

const char *bench_start(int threads, const char *setting) {
    omp_set_num_threads(threads);
    spral_ssids_default_options(&options);
    options.array_base = 0;
    options.print_level = -1;
    options.use_gpu = false;
    options.action = true; /* go on when singular */
    options.ignore_numa = true;
    if (!strcmp(setting, "scaled")) {
        options.scaling = 1;
    } else if (!strcmp(setting, "matching")) {
        options.ordering = 2;
        options.scaling = 3;
    } else if (strcmp(setting, "default")) {
        return "unknown setting";
    }
    return NULL;
}

const char *bench_prepare(const bench_matrix *a) {
    if (a->complex_values) return "real matrices only";
    free(scale);
    scale = malloc(((size_t)a->n + 1) * sizeof *scale);
    return scale ? NULL : "no memory";
}

const char *bench_analyse(const bench_matrix *a) {
    spral_ssids_free(&akeep, &fkeep);
    order = a->n;
    spral_ssids_analyse(false, a->n, NULL, a->ap, a->ai, a->ax, &akeep, &options, &inform);
    return check("analyse");
}

const char *bench_factorize(const bench_matrix *a) {
    spral_ssids_factor(false, a->ap, a->ai, a->ax, options.scaling ? scale : NULL, akeep, &fkeep,
                       &options, &inform);
    return check("factor");
}

const char *bench_solve(const bench_matrix *a, const double *b, double *x) {
    memcpy(x, b, (size_t)a->n * sizeof *x);
    spral_ssids_solve1(0, x, akeep, fkeep, &options, &inform);
    return check("solve");
}

const char *bench_solve_sides(const bench_matrix *a, int sides, const double *b, double *x) {
    memcpy(x, b, (size_t)a->n * (size_t)sides * sizeof *x);
    spral_ssids_solve(0, sides, x, a->n, akeep, fkeep, &options, &inform);
    return check("solve");
}

void bench_tell(bench_facts *facts) {
    snprintf(facts->version, sizeof facts->version, "SPRAL, PyPI cmeel-spral");
    facts->factor_nnz = inform.num_factor;
    facts->flops = (double)inform.num_flops;
    facts->negative = inform.num_neg;
    facts->positive = inform.matrix_rank - inform.num_neg;
    facts->zero = order - inform.matrix_rank;
    facts->delayed = inform.num_delay;
}

void bench_finish(void) {
    spral_ssids_free(&akeep, &fkeep);
    free(scale);
}
