/* SPDX-License-Identifier: BSD-3-Clause */
/* Backward errors of a solution in quadruple precision, from files in Matrix Market's plain text;
 * nothing of the library takes part. judge A.mtx b.mtx x.mtx    prints: componentwise normwise
 * relative judge A.mtx                prints b = A 1, correctly rounded, as a Matrix Market array
 */
#include "table.h"

static double *vector(const char *path, long n) {
    table t = table_load(path);
    double *v = calloc(2 * (size_t)n + 1, sizeof *v);
    if (t.rows != n || t.columns != 1) table_fail(path, "is no vector of the matrix's order");
    for (long k = 0; v && k < t.count; k++) {
        v[2 * t.entry[k].i] += t.entry[k].re;
        v[2 * t.entry[k].i + 1] += t.entry[k].im;
    }
    free(t.entry);
    return v;
}

static void print_row_sums(const table *a) {
    quad *sum = calloc(2 * (size_t)a->rows + 1, sizeof *sum);
    for (long k = 0; k < a->count; k++) {
        sum[2 * a->entry[k].i] += a->entry[k].re;
        sum[2 * a->entry[k].i + 1] += a->entry[k].im;
    }
    printf("%%%%MatrixMarket matrix array %s general\n%ld 1\n",
           a->complex_values ? "complex" : "real", a->rows);
    for (long i = 0; i < a->rows; i++) {
        printf("%.17g", (double)sum[2 * i]);
        if (a->complex_values) printf(" %.17g", (double)sum[2 * i + 1]);
        printf("\n");
    }
    free(sum);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "judge A.mtx b.mtx x.mtx | judge A.mtx\n");
        return 2;
    }
    table a = table_load(argv[1]);
    table_expand(&a, argv[1]);
    if (argc == 2) {
        print_row_sums(&a);
    } else {
        double *b = vector(argv[2], a.rows), *x = vector(argv[3], a.rows);
        const quad_errors q = quad_judge((int32_t)a.rows, a.count, a.entry, x, b, DBL_EPSILON);
        printf("%.6e %.6e %.6e\n", q.componentwise, q.normwise, q.relative);
        free(b);
        free(x);
    }
    free(a.entry);
    return 0;
}
