/* SPDX-License-Identifier: BSD-3-Clause */
/* MUMPS, symmetric general (SYM = 2), sequential MPI. Settings, joined by "+": "default", an
 * ordering "amd", "amf", "qamd", "pord", "scotch", "metis", "nomatching", or icN=V for any
 * ICNTL(N). It has no Hermitian matrices. Null pivots are detected (ICNTL(24) = 1); the workspace
 * grows when it asks for more. */
#include "bench.h"
#include <dmumps_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmumps_c.h>

const char *const bench_name = "mumps";
bool bench_refines = false;

/* Both BLAS threads and OpenMP threads follow `threads`; either library may be absent. */
void openblas_set_num_threads(int threads) __attribute__((weak));
void omp_set_num_threads(int threads) __attribute__((weak));

static DMUMPS_STRUC_C d;
static ZMUMPS_STRUC_C z;
static bool is_complex, started;
static int icntl[64], given; /* pairs */
static int *rows, *cols, thread_count;
static char text[64];

static int *controls(void) {
    return is_complex ? z.icntl : d.icntl;
}
static int *infog(void) {
    return is_complex ? z.infog : d.infog;
}

static const char *job(int what) {
    if (is_complex) {
        z.job = what;
        zmumps_c(&z);
    } else {
        d.job = what;
        dmumps_c(&d);
    }
    if (infog()[0] >= 0) return NULL;
    snprintf(text, sizeof text, "job %d: INFOG(1) = %d, (2) = %d", what, infog()[0], infog()[1]);
    return text;
}

const char *bench_start(int threads, const char *setting) {
    static const struct {
        const char *name;
        int control, value;
    } known[] = {{"amd", 7, 0},       {"amf", 7, 2},    {"scotch", 7, 3}, {"pord", 7, 4},
                 {"metis", 7, 5},     {"qamd", 7, 6},   {"auto", 7, 7},   {"nomatching", 6, 0},
                 {"compress", 12, 2}, {"default", 7, 7}};
    thread_count = threads;
    char copy[128];
    snprintf(copy, sizeof copy, "%s", setting);
    for (char *word = strtok(copy, "+"); word; word = strtok(NULL, "+")) {
        int control = 0, value = 0;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            if (!strcmp(word, known[k].name)) control = known[k].control, value = known[k].value;
        }
        if (!control && sscanf(word, "ic%d=%d", &control, &value) != 2) return "unknown setting";
        icntl[given++] = control;
        icntl[given++] = value;
    }
    return NULL;
}

const char *bench_prepare(const bench_matrix *a) {
    if (a->hermitian) return "no LDL^H";
    if (started) job(-2);
    free(rows);
    free(cols);
    rows = malloc(((size_t)a->nnz + 1) * sizeof *rows);
    cols = malloc(((size_t)a->nnz + 1) * sizeof *cols);
    if (!rows || !cols) return "no memory";
    for (int32_t j = 0; j < a->n; j++) {
        for (int64_t p = a->ap[j]; p < a->ap[j + 1]; p++) {
            rows[p] = a->ai[p] + 1;
            cols[p] = j + 1;
        }
    }
    is_complex = a->complex_values;
    started = true;
    d.comm_fortran = z.comm_fortran = -987654; /* MPI_COMM_WORLD of its sequential stand-in */
    d.par = z.par = 1;
    d.sym = z.sym = 2;
    const char *why = job(-1);
    if (why) return why;
    if (openblas_set_num_threads) openblas_set_num_threads(thread_count);
    if (omp_set_num_threads) omp_set_num_threads(thread_count);
    int *ic = controls();
    ic[0] = ic[1] = ic[2] = -1;
    ic[3] = 0;
    ic[13] = 40; /* workspace, % */
    ic[23] = 1;  /* null pivots */
    for (int k = 0; k < given; k += 2) ic[icntl[k] - 1] = icntl[k + 1];
    d.n = z.n = a->n;
    d.nnz = z.nnz = a->nnz;
    d.irn = z.irn = rows;
    d.jcn = z.jcn = cols;
    d.a = a->ax;
    z.a = (mumps_double_complex *)a->ax;
    return NULL;
}

const char *bench_analyse(const bench_matrix *a) {
    (void)a;
    return job(1);
}

const char *bench_factorize(const bench_matrix *a) {
    (void)a;
    const char *why = job(2);
    while (why && (infog()[0] == -8 || infog()[0] == -9) && controls()[13] < 3000) {
        controls()[13] *= 3;
        why = job(2);
    }
    return why;
}

const char *bench_solve_sides(const bench_matrix *a, int sides, const double *b, double *x) {
    memcpy(x, b, (size_t)a->n * (size_t)sides * (a->complex_values ? 2 : 1) * sizeof *x);
    d.rhs = x;
    z.rhs = (mumps_double_complex *)x;
    d.nrhs = z.nrhs = sides;
    d.lrhs = z.lrhs = a->n;
    controls()[26] = sides; /* as many together as there are */
    return job(3);
}

const char *bench_solve(const bench_matrix *a, const double *b, double *x) {
    return bench_solve_sides(a, 1, b, x);
}

void bench_tell(bench_facts *facts) {
    int *info = infog();
    snprintf(facts->version, sizeof facts->version, "%s, ordering %d",
             is_complex ? z.version_number : d.version_number, info[6]);
    facts->negative = is_complex ? -1 : info[11];
    facts->zero = info[27];
    facts->positive = is_complex ? -1 : d.n - info[11] - info[27];
    facts->factor_nnz = info[28] < 0 ? -1000000LL * info[28] : info[28];
    facts->flops = is_complex ? z.rinfog[2] : d.rinfog[2];
    facts->delayed = info[12];
}

void bench_finish(void) {
    if (started) job(-2);
    free(rows);
    free(cols);
}
