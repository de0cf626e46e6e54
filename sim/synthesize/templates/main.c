/* SPDX-License-Identifier: BSD-3-Clause */
/* solve A.mtx [b.mtx] [x.mtx]: a real Matrix Market file, plain, symmetric unless the solver is L D
 * U; without b, A times ones. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "solver.h"

static int fail(const char *what, const char *file) {
    fprintf(stderr, "solve: %s: %s\n", file, what);
    return 2;
}

/* The lower triangle by columns, or for L D U all of A; NULL, or what is wrong. */
static const char *read_matrix(FILE *f, int *n, int64_t **ap, int32_t **ai, double **ax) {
    char line[1024], field[64], symmetry[64];
    long rows, columns, count, i, j;
    if (!fgets(line, sizeof line, f) ||
        sscanf(line, "%%%%MatrixMarket matrix coordinate %63s %63s", field, symmetry) != 2)
        return "no coordinate Matrix Market file";
    const int general = strcmp(symmetry, "general") == 0, half = strcmp(symmetry, "symmetric") == 0;
    if ((!half && (TYPE != LDU || !general)) || (strcmp(field, "real") && strcmp(field, "integer")))
        return TYPE == LDU ? "not real, general or symmetric" : "not real and symmetric";
    do {
        if (!fgets(line, sizeof line, f)) return "it ends before the sizes";
    } while (line[0] == '%' || line[strspn(line, " \t\r\n")] == 0);
    if (sscanf(line, "%ld %ld %ld", &rows, &columns, &count) != 3 || rows != columns || rows < 1 ||
        rows > 1 << 24 || count < 0)
        return "bad sizes";
    *n = (int)rows;
    *ap = calloc((size_t)rows + 2, sizeof **ap);
    *ai = calloc(2 * (size_t)count + 1, sizeof **ai);
    *ax = calloc(2 * (size_t)count + 1, sizeof **ax);
    int32_t *at = calloc(2 * (size_t)count + 1, sizeof *at);
    double *value = calloc((size_t)count + 1, sizeof *value);
    if (!*ap || !*ai || !*ax || !at || !value) return free(at), free(value), "no memory";
    for (long k = 0; k < count; k++) {
        if (fscanf(f, "%ld %ld %lf", &i, &j, &value[k]) != 3 || i < 1 || j < 1 || i > rows ||
            j > rows)
            return free(at), free(value), "a bad entry";
        if (half && i < j) {
            const long t = i;
            i = j, j = t;
        }
        at[2 * k] = (int32_t)i - 1, at[2 * k + 1] = (int32_t)j - 1;
        (*ap)[j + 1]++;
        if (TYPE == LDU && half && i != j) (*ap)[i + 1]++;
    }
    for (long k = 0; k < rows; k++) (*ap)[k + 2] += (*ap)[k + 1];
    for (long k = 0; k < count; k++)
        for (int side = 0; side < (TYPE == LDU && half && at[2 * k] != at[2 * k + 1] ? 2 : 1);
             side++) {
            const int64_t to = (*ap)[at[2 * k + !side] + 1]++;
            (*ai)[to] = at[2 * k + side], (*ax)[to] = value[k];
        }
    free(at), free(value);
    return NULL;
}

/* An array file of n numbers. */
static const char *read_vector(FILE *f, int n, double *x) {
    char line[1024];
    long rows, columns;
    if (!fgets(line, sizeof line, f) || !strstr(line, "array")) return "no array file";
    do {
        if (!fgets(line, sizeof line, f)) return "it ends before the sizes";
    } while (line[0] == '%');
    if (sscanf(line, "%ld %ld", &rows, &columns) != 2 || rows != n || columns != 1)
        return "not one column as long as the matrix";
    for (int k = 0; k < n; k++)
        if (fscanf(f, "%lf", &x[k]) != 1) return "a bad number";
    return NULL;
}

int main(int argc, char **argv) {
    int n = 0;
    int64_t *ap = NULL;
    int32_t *ai = NULL;
    double *ax = NULL;
    solver *s = NULL;
    if (argc < 2 || argc > 4) {
        fputs("usage: solve A.mtx [b.mtx|-] [x.mtx]\n", stderr);
        return 1;
    }
    FILE *f = fopen(argv[1], "r");
    const char *wrong = f ? read_matrix(f, &n, &ap, &ai, &ax) : "cannot be read";
    if (f) fclose(f);
    if (wrong) return fail(wrong, argv[1]);
    double *b = calloc((size_t)n, sizeof *b), *x = calloc((size_t)n, sizeof *x);
    if (!b || !x) return fail("no memory", argv[1]);
    if (argc > 2 && strcmp(argv[2], "-")) {
        f = fopen(argv[2], "r");
        wrong = f ? read_vector(f, n, b) : "cannot be read";
        if (f) fclose(f);
        if (wrong) return fail(wrong, argv[2]);
    } else {
        for (int j = 0; j < n; j++)
            for (int64_t e = ap[j]; e < ap[j + 1]; e++) {
                b[ai[e]] += ax[e];
                if (TYPE != LDU && ai[e] != j) b[j] += ax[e];
            }
    }
    const int status = solver_make(n, ap, ai, ax, &s);
    if (status) {
        fail(status == -1   ? "no memory"
             : status == -3 ? "not positive definite: L L^T does not exist"
                            : "values that overflow",
             argv[1]);
        return status == -1 ? 6 : 5;
    }
    const double error = solver_solve(s, b, x);
    const solver_info *info = solver_tell(s);
    fprintf(
        stderr,
        "%d rows, blocks of %d: %lld of L, %d stages, %d frames pushed back, a dense pivot of %d "
        "rows at the end\n%lld pivots replaced, growth %.3g\n",
        n, BLOCK, (long long)info->blocks, info->stages, info->rejected, info->dense,
        (long long)info->replaced, info->growth);
    if (TYPE != LDU)
        fprintf(stderr, "inertia %lld %lld %lld (%s%s)\n", (long long)info->positive,
                (long long)info->negative, (long long)info->zero,
                info->certain ? "certain" : "not certain: ", info->certain ? "" : info->why_not);
    fprintf(stderr, "backward error %.3g after %d steps%s\n", error, info->steps,
            error <= 1e-10 ? "" : ": NO ANSWER, x is not accurate");
    if (argc > 3) {
        f = fopen(argv[3], "w");
        if (!f) return fail("cannot be written", argv[3]);
        fprintf(f, "%%%%MatrixMarket matrix array real general\n%d 1\n", n);
        for (int k = 0; k < n; k++) fprintf(f, "%.17g\n", x[k]);
        if (fclose(f)) return fail("cannot be written", argv[3]);
    }
    solver_free(&s);
    free(ap), free(ai), free(ax), free(b), free(x);
    return error <= 1e-10 ? 0 : 5;
}
