/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MATRICES_TABLE_H
#define MATRICES_TABLE_H
/** A matrix from a file in Matrix Market's plain text; nothing of the library takes part. */
#include "../oracle/quad.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct table {
    int complex_values, pattern, coordinate, general, hermitian, skew;
    long rows, columns, count;
    quad_entry *entry; /* as given; of an array in its order */
} table;

static inline void table_fail(const char *path, const char *what) {
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

static inline double table_number(FILE *file, const char *path) {
    char word[128], *end;
    if (fscanf(file, "%127s", word) != 1) table_fail(path, "ends too early");
    const double x = strtod(word, &end);
    if (*end) table_fail(path, "holds a word where a number should be");
    return x;
}

static inline table table_load(const char *path) {
    table t = {0};
    char line[2048];
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) table_fail(path, "cannot be read");
    for (char *c = line; *c; c++) *c = (char)tolower((unsigned char)*c);
    t.complex_values = strstr(line, "complex") != NULL;
    t.pattern = strstr(line, "pattern") != NULL;
    t.coordinate = strstr(line, "coordinate") != NULL;
    t.general = strstr(line, "general") != NULL;
    t.hermitian = strstr(line, "hermitian") != NULL;
    if (strstr(line, "skew")) table_fail(path, "is skew");
    do {
        if (!fgets(line, sizeof line, file)) table_fail(path, "ends too early");
    } while (line[0] == '%' || strspn(line, " \t\r\n") == strlen(line));
    if (sscanf(line, "%ld %ld %ld", &t.rows, &t.columns, &t.count) < (t.coordinate ? 3 : 2))
        table_fail(path, "has no size");
    if (!t.coordinate) t.count = t.general ? t.rows * t.columns : t.rows * (t.rows + 1) / 2;
    t.entry = calloc((size_t)t.count + 1, sizeof *t.entry);
    if (!t.entry) table_fail(path, "is too large");
    long i = 0, j = 0;
    for (long k = 0; k < t.count; k++) {
        quad_entry *e = &t.entry[k];
        if (t.coordinate) {
            i = (long)table_number(file, path) - 1;
            j = (long)table_number(file, path) - 1;
        }
        if (i < 0 || j < 0 || i >= t.rows || j >= t.columns)
            table_fail(path, "has an index out of range");
        *e = (quad_entry){(int32_t)i, (int32_t)j, t.pattern ? 1 : table_number(file, path), 0};
        if (t.complex_values) e->im = table_number(file, path);
        if (!t.coordinate && ++i == t.rows) i = t.general ? (++j, 0) : ++j;
    }
    fclose(file);
    return t;
}

/* both triangles */
static inline void table_expand(table *a, const char *path) {
    if (a->rows != a->columns) table_fail(path, "is not square");
    if (a->general) return;
    quad_entry *all = calloc(2 * (size_t)a->count + 1, sizeof *all);
    long count = 0;
    if (!all) table_fail(path, "is too large");
    for (long k = 0; k < a->count; k++) {
        const quad_entry e = a->entry[k];
        all[count++] = e;
        if (e.i != e.j) all[count++] = (quad_entry){e.j, e.i, e.re, a->hermitian ? -e.im : e.im};
    }
    free(a->entry);
    a->entry = all;
    a->count = count;
}

#endif
