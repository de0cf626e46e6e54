/* SPDX-License-Identifier: BSD-3-Clause */
/* MKL PARDISO; mtype -2, 6 (complex symmetric) or -4 (Hermitian). Settings, joined by "+":
 * "default" (METIS, no scaling), "matching" (scaling and weighted matching, as its manual advises
 * for very indefinite matrices), "md", "pnd" (minimum degree, parallel METIS), or iN=V for
 * iparm(N), counted from 1. Pivots are perturbed, not delayed. */
#include "bench.h"
#include <mkl_pardiso.h>
#include <mkl_service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_name = "pardiso";
bool bench_refines = false;

static void *handle[64];
static MKL_INT iparm[64], mtype, *ia, *ja;
static int given[64], count, order;
static double *values;
static char text[64];

const char *bench_start(int threads, const char *setting) {
    mkl_set_num_threads(threads);
    mkl_set_dynamic(0);
    char copy[128];
    snprintf(copy, sizeof copy, "%s", setting);
    for (char *word = strtok(copy, "+"); word; word = strtok(NULL, "+")) {
        int index, value;
        if (!strcmp(word, "default")) continue;
        if (!strcmp(word, "matching")) {
            int pairs[] = {11, 1, 13, 1};
            memcpy(given + count, pairs, sizeof pairs);
            count += 4;
        } else if (!strcmp(word, "md") || !strcmp(word, "pnd")) {
            given[count++] = 2;
            given[count++] = word[0] == 'm' ? 0 : 3;
        } else if (sscanf(word, "i%d=%d", &index, &value) == 2) {
            given[count++] = index;
            given[count++] = value;
        } else {
            return "unknown setting";
        }
    }
    return NULL;
}

static const char *phase_of(int what, int nrhs, const double *b, double *x) {
    MKL_INT one = 1, quiet = 0, error = 0, which = what, n = order, sides = nrhs, dummy = 0;
    pardiso(handle, &one, &one, &mtype, &which, &n, values, ia, ja, &dummy, &sides, iparm, &quiet,
            (void *)b, x, &error);
    if (error == 0) return NULL;
    snprintf(text, sizeof text, "phase %d: error %d", what, (int)error);
    return text;
}

static const char *phase(int what, const double *b, double *x) {
    return phase_of(what, 1, b, x);
}

/* Rows of the upper triangle are columns of the lower one (conjugated when Hermitian); the diagonal
 * must be there. */
const char *bench_prepare(const bench_matrix *a) {
    size_t width = a->complex_values ? 2 : 1, most = (size_t)a->nnz + (size_t)a->n + 1;
    bench_finish();
    order = a->n;
    ia = malloc(((size_t)a->n + 1) * sizeof *ia);
    ja = malloc(most * sizeof *ja);
    values = calloc(most * width, sizeof *values);
    if (!ia || !ja || !values) return "no memory";
    size_t at = 0;
    for (int32_t j = 0; j < a->n; j++) {
        ia[j] = (MKL_INT)at;
        int64_t p = a->ap[j];
        if (p == a->ap[j + 1] || a->ai[p] != j) ja[at++] = j;
        for (; p < a->ap[j + 1]; p++, at++) {
            ja[at] = a->ai[p];
            memcpy(values + width * at, a->ax + width * (size_t)p, width * sizeof *values);
            if (a->hermitian) values[2 * at + 1] = -values[2 * at + 1];
        }
    }
    ia[a->n] = (MKL_INT)at;
    mtype = !a->complex_values ? -2 : a->hermitian ? -4 : 6;
    memset(handle, 0, sizeof handle);
    pardisoinit(handle, &mtype, iparm);
    iparm[0] = 1;
    iparm[17] = -1; /* report entries of the factor */
    iparm[34] = 1;  /* 0-based */
    for (int k = 0; k < count; k += 2) iparm[given[k] - 1] = given[k + 1];
    return NULL;
}

const char *bench_analyse(const bench_matrix *a) {
    (void)a;
    phase(-1, NULL, NULL);
    return phase(11, NULL, NULL);
}

const char *bench_factorize(const bench_matrix *a) {
    (void)a;
    return phase(22, NULL, NULL);
}

const char *bench_solve(const bench_matrix *a, const double *b, double *x) {
    (void)a;
    return phase(33, b, x);
}

const char *bench_solve_sides(const bench_matrix *a, int sides, const double *b, double *x) {
    (void)a;
    return phase_of(33, sides, b, x);
}

void bench_tell(bench_facts *facts) {
    MKLVersion v;
    mkl_get_version(&v);
    snprintf(facts->version, sizeof facts->version, "MKL %d.%d.%d, %.28s", v.MajorVersion,
             v.MinorVersion, v.UpdateVersion, v.Processor);
    if (mtype == -2 || mtype == -4) {
        facts->positive = iparm[21];
        facts->negative = iparm[22];
        facts->zero = order - iparm[21] - iparm[22];
    }
    facts->factor_nnz = iparm[17];
    facts->perturbed = iparm[13];
    const double later = (double)iparm[15] + (double)iparm[16]; /* than the analysis */
    facts->told_kb = iparm[14] > later ? iparm[14] : later;
}

void bench_finish(void) {
    if (ia) phase(-1, NULL, NULL);
    free(ia);
    free(ja);
    free(values);
    ia = ja = NULL;
    values = NULL;
}
