/* SPDX-License-Identifier: BSD-3-Clause */
/* The diagonal of A^-1 by MUMPS (ICNTL(30): Amestoy, Duff, L'Excellent, Robert, Rouet & Ucar 2012,
 * SIAM J. Sci. Comput. 34(4)), for bench/selected.py:
 *     selected_mumps IN OUT THREADS
 * IN: int64 n, nnz; int32 rows and columns of the lower triangle, from 1; doubles. OUT: n doubles.
 * Prints the seconds of analysis, factorization and inverse. */
#include <dmumps_c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void openblas_set_num_threads(int threads) __attribute__((weak));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double run(DMUMPS_STRUC_C *m, int job) {
    const double start = now();
    m->job = job;
    dmumps_c(m);
    if (m->infog[0] >= 0) return now() - start;
    printf("job %d: INFOG(1) = %d, (2) = %d\n", job, m->infog[0], m->infog[1]);
    exit(1);
}

static void *array(FILE *file, int64_t count, size_t size) {
    void *x = calloc((size_t)count + 1, size);
    if (!x || (file && fread(x, size, (size_t)count, file) != (size_t)count)) exit(1);
    return x;
}

int main(int argc, char **argv) {
    DMUMPS_STRUC_C m = {.comm_fortran = -987654, .par = 1, .sym = 2};
    int64_t size[2];
    FILE *in = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (!in || fread(size, sizeof *size, 2, in) != 2) return 2;
    const int n = (int)size[0];
    if (openblas_set_num_threads) openblas_set_num_threads(atoi(argv[3]));
    run(&m, -1);
    m.icntl[0] = m.icntl[1] = m.icntl[2] = -1;
    m.icntl[3] = 0;
    m.icntl[13] = 100; /* workspace, % */
    m.n = n;
    m.nnz = size[1];
    m.irn = array(in, size[1], sizeof(int));
    m.jcn = array(in, size[1], sizeof(int));
    m.a = array(in, size[1], sizeof(double));
    const double analysis = run(&m, 1), factorization = run(&m, 2);
    m.icntl[29] = 1;   /* entries of the inverse */
    m.icntl[26] = 128; /* right-hand sides at once */
    m.nz_rhs = m.nrhs = n;
    m.rhs_sparse = array(NULL, n, sizeof(double));
    m.irhs_sparse = array(NULL, n, sizeof(int));
    m.irhs_ptr = array(NULL, n + 1, sizeof(int));
    for (int k = 0; k <= n; k++) m.irhs_ptr[k] = k + 1;
    for (int k = 0; k < n; k++) m.irhs_sparse[k] = k + 1;
    printf("%.6f %.6f %.6f\n", analysis, factorization, run(&m, 3));
    FILE *out = fopen(argv[2], "wb");
    return !out || fwrite(m.rhs_sparse, sizeof(double), (size_t)n, out) != (size_t)n || fclose(out);
}
