/* SPDX-License-Identifier: BSD-3-Clause */
/* Backward errors of a solution in quadruple precision, from files in Matrix Market's plain text;
 * nothing of the library takes part. judge A.mtx b.mtx x.mtx    prints: componentwise normwise
 * relative judge A.mtx                prints b = A 1, correctly rounded, as a Matrix Market array
 */
#include "../oracle/quad.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct table {
    int complex_values, pattern, coordinate, general, hermitian, skew;
    long rows, columns, count;
    quad_entry *entry; /* as given; of an array in its order */
} table;

static void fail(const char *path, const char *what) {
    fprintf(stderr, "judge: %s: %s\n", path, what);
    exit(2);
}

static double next_number(FILE *file, const char *path) {
    char word[128], *end;
    if (fscanf(file, "%127s", word) != 1) fail(path, "ends too early");
    const double x = strtod(word, &end);
    if (*end) fail(path, "holds a word where a number should be");
    return x;
}

static table load(const char *path) {
    table t = {0};
    char line[2048];
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) fail(path, "cannot be read");
    for (char *c = line; *c; c++) *c = (char)tolower((unsigned char)*c);
    t.complex_values = strstr(line, "complex") != NULL;
    t.pattern = strstr(line, "pattern") != NULL;
    t.coordinate = strstr(line, "coordinate") != NULL;
    t.general = strstr(line, "general") != NULL;
    t.hermitian = strstr(line, "hermitian") != NULL;
    if (strstr(line, "skew")) fail(path, "is skew");
    do {
        if (!fgets(line, sizeof line, file)) fail(path, "ends too early");
    } while (line[0] == '%' || strspn(line, " \t\r\n") == strlen(line));
    if (sscanf(line, "%ld %ld %ld", &t.rows, &t.columns, &t.count) < (t.coordinate ? 3 : 2))
        fail(path, "has no size");
    if (!t.coordinate) t.count = t.general ? t.rows * t.columns : t.rows * (t.rows + 1) / 2;
    t.entry = calloc((size_t)t.count + 1, sizeof *t.entry);
    if (!t.entry) fail(path, "is too large");
    long i = 0, j = 0;
    for (long k = 0; k < t.count; k++) {
        quad_entry *e = &t.entry[k];
        if (t.coordinate) {
            i = (long)next_number(file, path) - 1;
            j = (long)next_number(file, path) - 1;
        }
        if (i < 0 || j < 0 || i >= t.rows || j >= t.columns)
            fail(path, "has an index out of range");
        *e = (quad_entry){(int32_t)i, (int32_t)j, t.pattern ? 1 : next_number(file, path), 0};
        if (t.complex_values) e->im = next_number(file, path);
        if (!t.coordinate && ++i == t.rows) i = t.general ? (++j, 0) : ++j;
    }
    fclose(file);
    return t;
}

/* both triangles */
static void expand(table *a, const char *path) {
    if (a->rows != a->columns) fail(path, "is not square");
    if (a->general) return;
    quad_entry *all = calloc(2 * (size_t)a->count + 1, sizeof *all);
    long count = 0;
    if (!all) fail(path, "is too large");
    for (long k = 0; k < a->count; k++) {
        const quad_entry e = a->entry[k];
        all[count++] = e;
        if (e.i != e.j) all[count++] = (quad_entry){e.j, e.i, e.re, a->hermitian ? -e.im : e.im};
    }
    free(a->entry);
    a->entry = all;
    a->count = count;
}

static double *vector(const char *path, long n) {
    table t = load(path);
    double *v = calloc(2 * (size_t)n + 1, sizeof *v);
    if (t.rows != n || t.columns != 1) fail(path, "is no vector of the matrix's order");
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
    table a = load(argv[1]);
    expand(&a, argv[1]);
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
