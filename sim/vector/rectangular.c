/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices by rows: part of a larger one, and Matrix Market files of matrices that are not square,
 * which the library does not read. */
#include "sim/vector/rectangular.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 1 << 28, MOST_ENTRIES = INT32_MAX };

typedef struct reader {
    const char *at, *end, *line;
    int32_t number;
    borg_diags *diags;
} reader;

static bool wrong(reader *r, const char *at, const char *reason) {
    borg_loc loc = {.line = r->number, .column = (int32_t)(at - r->line) + 1, .length = 1};
    borg_report(r->diags, BORG_ERROR, loc, "%s", reason);
    return false;
}

static void to_next_line(reader *r) {
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->at = r->line = newline ? newline + 1 : r->end;
    ++r->number;
}

/* To the next number, over empty lines and comments. */
static bool find(reader *r) {
    while (r->at < r->end) {
        if (*r->at == '\n' || (*r->at == '%' && r->at == r->line))
            to_next_line(r);
        else if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')
            ++r->at;
        else
            return true;
    }
    return wrong(r, r->at, "the file ends here, entries are missing");
}

static bool take_word(reader *r, char *word, size_t room, const char **start) {
    size_t n = 0;
    if (!find(r)) return false;
    *start = r->at;
    while (r->at < r->end && !strchr(" \t\r\n", *r->at) && *r->at) {
        if (n + 1 == room) return wrong(r, *start, "a word that is too long");
        word[n++] = *r->at++;
    }
    word[n] = '\0';
    return n > 0 ? true : wrong(r, *start, "a byte 0");
}

static bool take_count(reader *r, int64_t least, int64_t most, const char *what, int64_t *x) {
    char word[64], *rest;
    const char *start;
    if (!take_word(r, word, sizeof word, &start)) return false;
    errno = 0;
    *x = strtoll(word, &rest, 10);
    if (*rest || errno || *x < least || *x > most) return wrong(r, start, what);
    return true;
}

static bool take_value(reader *r, double *x) {
    char word[128], *rest;
    const char *start;
    if (!take_word(r, word, sizeof word, &start)) return false;
    *x = strtod(word, &rest);
    return !*rest && isfinite(*x) ? true : wrong(r, start, "not a finite number");
}

bool vs_is_rectangular(const char *text, size_t length) {
    static const char head[] = "%%MatrixMarket matrix coordinate ";
    const char *end = text + length;
    long rows, cols;
    if (length < sizeof head || memcmp(text, head, sizeof head - 1) != 0) return false;
    while (text < end && *text == '%') {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline ? newline + 1 : end;
    }
    char line[96];
    size_t n = 0;
    while (n + 1 < sizeof line && text + n < end && text[n] != '\n') {
        line[n] = text[n];
        ++n;
    }
    line[n] = '\0';
    char *rest;
    rows = strtol(line, &rest, 10);
    cols = strtol(rest, &rest, 10);
    return rows != cols;
}

/* Rows sorted by counting; entries of a row in the order of the file. */
static void by_rows(vs_matrix *a, const int32_t *row, const int32_t *col, const double *val,
                    int64_t nnz, borg_arena *arena) {
    a->row = BORG_NEW(arena, a->nrows + 2, int64_t);
    a->col = BORG_NEW(arena, nnz + 1, int32_t);
    a->val = BORG_NEW(arena, nnz + 1, double);
    for (int64_t k = 0; k < nnz; ++k) ++a->row[row[k] + 1];
    for (int32_t i = 0; i < a->nrows; ++i) a->row[i + 1] += a->row[i];
    int64_t *next = BORG_NEW(arena, a->nrows + 1, int64_t);
    for (int32_t i = 0; i < a->nrows; ++i) next[i] = a->row[i];
    for (int64_t k = 0; k < nnz; ++k) {
        int64_t at = next[row[k]]++;
        a->col[at] = col[k];
        a->val[at] = val[k];
    }
}

bool vs_matrix_read(vs_matrix *a, const char *file, const char *text, size_t length,
                    borg_diags *diags) {
    reader r = {.at = text, .end = text + length, .line = text, .number = 1, .diags = diags};
    borg_arena *arena = diags->arena;
    diags->source = (borg_text){file, text, length};
    const char *newline = memchr(text, '\n', length);
    size_t head = newline ? (size_t)(newline - text) : length;
    const char *line = borg_copy_text(arena, text, head);
    bool pattern = strstr(line, " pattern ") != NULL;
    if (!pattern && !strstr(line, " real ") && !strstr(line, " integer "))
        return wrong(&r, text, "values are real, integer or a pattern");
    if (!strstr(line, " general")) return wrong(&r, text, "a matrix that is not square is general");
    to_next_line(&r);
    int64_t rows, cols, nnz;
    if (!take_count(&r, 1, MOST_ROWS, "rows: expected 1 to 268435456", &rows) ||
        !take_count(&r, 1, MOST_ROWS, "columns: expected 1 to 268435456", &cols) ||
        !take_count(&r, 0, MOST_ENTRIES, "entries: expected 0 to 2147483647", &nnz))
        return false;
    if (nnz > (int64_t)length) return wrong(&r, r.at, "more entries than the file has bytes");
    int32_t *row = BORG_NEW(arena, nnz + 1, int32_t), *col = BORG_NEW(arena, nnz + 1, int32_t);
    double *val = BORG_NEW(arena, nnz + 1, double);
    for (int64_t k = 0; k < nnz; ++k) {
        int64_t i, j;
        if (!take_count(&r, 1, rows, "no row of the matrix", &i) ||
            !take_count(&r, 1, cols, "no column of the matrix", &j))
            return false;
        row[k] = (int32_t)(i - 1);
        col[k] = (int32_t)(j - 1);
        val[k] = 1;
        if (!pattern && !take_value(&r, &val[k])) return false;
    }
    a->nrows = (int32_t)rows;
    a->ncols = (int32_t)cols;
    by_rows(a, row, col, val, nnz, arena);
    return true;
}

vs_matrix vs_matrix_part(const vs_matrix *a, const int64_t rows[2], const int64_t cols[2],
                         borg_arena *arena) {
    vs_matrix b = {.nrows = (int32_t)(rows[1] - rows[0]), .ncols = (int32_t)(cols[1] - cols[0])};
    int64_t at = 0;
    b.row = BORG_NEW(arena, b.nrows + 1, int64_t);
    b.col = BORG_NEW(arena, a->row[rows[1]] - a->row[rows[0]] + 1, int32_t);
    b.val = BORG_NEW(arena, a->row[rows[1]] - a->row[rows[0]] + 1, double);
    for (int64_t i = rows[0]; i < rows[1]; ++i) {
        for (int64_t k = a->row[i]; k < a->row[i + 1]; ++k) {
            if (a->col[k] < cols[0] || a->col[k] >= cols[1]) continue;
            b.col[at] = (int32_t)(a->col[k] - cols[0]);
            b.val[at++] = a->val[k];
        }
        b.row[i - rows[0] + 1] = at;
    }
    return b;
}
