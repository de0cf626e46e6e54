/* SPDX-License-Identifier: BSD-3-Clause */
/** Matrix Market exchange format: R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market
 *  Exchange Formats: Initial Design", NISTIR 5935, 1996. Taken beyond it: comments and blank lines
 *  anywhere, one
 *  '%' before the banner, either triangle in a symmetric file, duplicates (summed), D exponents. */
#include "matrix_market.h"
#include "number.h"

#include <strings.h>

/* ---- banner and sizes ------------------------------------------------------------------------ */

static const char *after_banner(const char *line) {
    if (*line != '%') return NULL;
    line += line[1] == '%' ? 2 : 1;
    return strncasecmp(line, "MatrixMarket", 12) ? NULL : line + 12;
}

bool mpki_is_matrix_market(const char *line) {
    return after_banner(line) != NULL;
}

/* Copy the next word of a string; false: there is none. */
static bool next_word(const char **p, char *word, size_t size) {
    while (mpki_is_blank(**p)) ++*p;
    size_t length = 0;
    for (; **p && !mpki_is_blank(**p); ++*p)
        if (length + 1 < size) word[length++] = **p;
    word[length] = '\0';
    return length > 0;
}

/* Position of a word in a list that ends with NULL, -1 if absent. */
static int find_word(const char *word, const char *const *list) {
    for (int k = 0; list[k]; k++)
        if (!strcasecmp(word, list[k])) return k;
    return -1;
}

static mpk_status parse_banner(const mpki_text *text, const char *line, mpki_mm_header *h) {
    static const char *const formats[] = {"coordinate", "array", NULL};
    static const char *const fields[] = {"real", "integer", "complex", "pattern", "double", NULL};
    static const char *const laws[] = {"general", "symmetric", "hermitian", "skew-symmetric", NULL};
    char object[32], format[32], entry[32], symmetry[32];
    const char *p = after_banner(line);
    next_word(&p, object, sizeof object);
    next_word(&p, format, sizeof format);
    next_word(&p, entry, sizeof entry);
    next_word(&p, symmetry, sizeof symmetry);
    int f = find_word(format, formats), e = find_word(entry, fields), l = find_word(symmetry, laws);
    if (strcasecmp(object, "matrix") || f < 0 || e < 0 || l < 0)
        return mpki_text_error(
            text, MPK_ERR_FORMAT,
            "'%s %s %s %s': expected matrix, then coordinate or array, then real, integer, "
            "complex or pattern, then general, symmetric, hermitian or skew-symmetric",
            object, format, entry, symmetry);
    h->array = f == 1;
    h->field = e == 4 ? MPKI_MM_REAL : (mpki_mm_field)e;
    h->law = (mpki_mm_law)l;
    if (h->law == MPKI_MM_SKEW && h->field == MPKI_MM_PATTERN)
        return mpki_text_error(text, MPK_ERR_FORMAT, "a skew-symmetric pattern has no signs");
    if (h->array && h->field == MPKI_MM_PATTERN)
        return mpki_text_error(text, MPK_ERR_FORMAT, "an array has no pattern form");
    return MPK_OK;
}

/* The next line that is neither blank nor a comment; NULL at the end of the text. */
static mpk_status next_content(mpki_text *text, const char **start) {
    for (;;) {
        mpk_status status = mpki_text_next(text, start);
        if (mpk_failed(status) || !*start) return status;
        const char *p = mpki_skip_blanks(*start);
        if (*p != '%' && *p != '\n') {
            *start = p;
            return MPK_OK;
        }
        mpki_text_skip(text, p);
    }
}

/* Finish the line at p: nothing but blanks may be left. */
static mpk_status end_line(mpki_text *text, const char *p) {
    p = mpki_skip_blanks(p);
    if (*p != '\n')
        return mpki_text_error(text, MPK_ERR_FORMAT, "there is something after the last number");
    text->cursor = p + 1;
    return MPK_OK;
}

/* Entries of an array file: all, or the lower triangle by columns, if skew without its diagonal. */
static mpk_status count_array(const mpki_text *text, mpki_mm_header *h) {
    int64_t product;
    if (h->law != MPKI_MM_GENERAL && h->rows != h->cols)
        return mpki_text_error(text, MPK_ERR_INPUT, "the matrix is not square: %lld x %lld",
                               (long long)h->rows, (long long)h->cols);
    const int64_t factor = h->law == MPKI_MM_GENERAL ? h->cols
                           : h->law == MPKI_MM_SKEW  ? h->cols - 1
                                                     : h->cols + 1;
    if (__builtin_mul_overflow(h->rows, factor, &product))
        return mpki_text_error(text, MPK_ERR_SIZE, "%lld x %lld entries are too many",
                               (long long)h->rows, (long long)h->cols);
    h->nnz = h->law == MPKI_MM_GENERAL ? product : product / 2;
    return MPK_OK;
}

static mpk_status parse_sizes(mpki_text *text, mpki_mm_header *h) {
    const char *p;
    mpk_status status = next_content(text, &p);
    if (mpk_failed(status)) return status;
    if (!p) return mpki_text_error(text, MPK_ERR_FORMAT, "the file ends before the sizes");
    bool good = mpki_read_integer(&p, &h->rows);
    p = mpki_skip_blanks(p);
    good = good && mpki_read_integer(&p, &h->cols);
    p = mpki_skip_blanks(p);
    if (!h->array) good = good && mpki_read_integer(&p, &h->nnz);
    if (!good)
        return mpki_text_error(text, MPK_ERR_FORMAT, "expected the sizes: %s",
                               h->array ? "rows columns" : "rows columns entries");
    status = end_line(text, p);
    if (!mpk_failed(status) && h->array) status = count_array(text, h);
    return status;
}

/* Only blank lines and comments may follow the last entry. */
static mpk_status expect_end(mpki_text *text, const mpki_mm_header *h) {
    const char *p;
    mpk_status status = next_content(text, &p);
    if (mpk_failed(status) || !p) return status;
    return mpki_text_error(text, MPK_ERR_FORMAT, "more than the %lld entries that are declared",
                           (long long)h->nnz);
}

static mpk_status truncated(const mpki_text *text, const mpki_mm_header *h, int64_t count) {
    return mpki_text_error(text, MPK_ERR_FORMAT,
                           "the file ends after %lld of %lld entries: is it cut off?",
                           (long long)count, (long long)h->nnz);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* The value of the entry (row, col), 1-based, at *p: one number, two, or none. */
static inline mpk_status parse_value(const mpki_text *text, mpki_mm_field kind, int64_t row,
                                     int64_t col, const char **p, double value[2]) {
    value[0] = 1;
    value[1] = 0;
    if (kind == MPKI_MM_PATTERN) return MPK_OK;
    for (int part = 0; part < (kind == MPKI_MM_COMPLEX ? 2 : 1); part++) {
        *p = mpki_skip_blanks(*p);
        if (!mpki_read_real(p, &value[part]))
            return mpki_text_error(
                text, MPK_ERR_FORMAT, "row %lld, column %lld: expected a number%s", (long long)row,
                (long long)col, kind == MPKI_MM_COMPLEX ? " (two for each entry)" : "");
        if (!isfinite(value[part]))
            return mpki_text_error(text, MPK_ERR_INPUT,
                                   "row %lld, column %lld: NaN, infinite or too large for a double",
                                   (long long)row, (long long)col);
    }
    return MPK_OK;
}

/* Row and column of a coordinate entry at *p. */
static inline mpk_status parse_place(const mpki_text *text, const mpki_mm_header *h, const char **p,
                                     int64_t *row, int64_t *col) {
    const char *q = *p;
    bool good = mpki_read_integer(&q, row);
    q = mpki_skip_blanks(q);
    if (!good || !mpki_read_integer(&q, col))
        return mpki_text_error(text, MPK_ERR_FORMAT, "expected a row and a column number");
    if (*row < 1 || *row > h->rows || *col < 1 || *col > h->cols)
        return mpki_text_error(
            text, MPK_ERR_INPUT, "row %lld, column %lld is outside the %lld x %lld matrix",
            (long long)*row, (long long)*col, (long long)h->rows, (long long)h->cols);
    *p = q;
    return MPK_OK;
}

static inline void store(mpki_entries *e, bool complex, int64_t row, int64_t col,
                         const double value[2]) {
    int64_t k = e->count++;
    e->row[k] = (int32_t)(row - 1);
    e->col[k] = (int32_t)(col - 1);
    if (complex) {
        ((double *)e->value)[2 * k] = value[0];
        ((double *)e->value)[2 * k + 1] = value[1];
    } else {
        ((double *)e->value)[k] = value[0];
    }
}

/* The place of the next entry of an array file: down the column, from its top or its diagonal. */
static inline void next_place(const mpki_mm_header *h, int64_t *row, int64_t *col) {
    if (++*row <= h->rows) return;
    ++*col;
    *row = h->law == MPKI_MM_GENERAL ? 1 : h->law == MPKI_MM_SKEW ? *col + 1 : *col;
}

/* All entries; those of an array come by columns, the place is counted and not read. */
static mpk_status read_entries(mpki_text *text, const mpki_mm_header *h, mpk_scalar scalar,
                               mpki_entries *e) {
    const bool complex = scalar == MPK_Z;
    int64_t row = h->law == MPKI_MM_SKEW, col = 1;
    while (e->count < h->nnz) {
        const char *p;
        double value[2];
        mpk_status status = next_content(text, &p);
        if (mpk_failed(status)) return status;
        if (!p) return truncated(text, h, e->count);
        if (h->array) {
            next_place(h, &row, &col);
        } else {
            status = parse_place(text, h, &p, &row, &col);
        }
        if (!mpk_failed(status)) status = parse_value(text, h->field, row, col, &p, value);
        if (!mpk_failed(status)) status = end_line(text, p);
        if (!mpk_failed(status) && e->count == e->capacity)
            status = mpki_text_grow(text, scalar, h->nnz, e);
        if (mpk_failed(status)) return status;
        store(e, complex, row, col, value);
    }
    return expect_end(text, h);
}

mpk_status mpki_mm_sizes(mpki_text *text, const char *first, mpki_mm_header *h) {
    mpk_status status = parse_banner(text, first, h);
    return mpk_failed(status) ? status : parse_sizes(text, h);
}

mpk_status mpki_mm_entries(mpki_text *text, const mpki_mm_header *h, mpki_entries *e) {
    int64_t bytes = h->array ? 2 : h->field == MPKI_MM_PATTERN ? 4 : 6; /* "1 1 1\n" */
    mpk_status status = mpki_text_entries(text, mpki_mm_scalar(h), h->nnz, bytes, e);
    return mpk_failed(status) ? status : read_entries(text, h, mpki_mm_scalar(h), e);
}

mpk_status mpki_read_matrix_market(mpki_text *text, const char *first, mpk_problem **problem) {
    mpki_mm_header h = {0};
    mpki_entries e = {0};
    mpk_status status = mpki_mm_sizes(text, first, &h);
    if (!mpk_failed(status)) status = mpki_text_order(text, h.rows, h.cols, h.nnz);
    if (!mpk_failed(status)) status = mpki_mm_entries(text, &h, &e);
    if (mpk_failed(status)) goto done;
    mpk_scalar scalar = mpki_mm_scalar(&h);
    mpki_assembly how = {
        .stage = "read",
        .source = mpki_stream_name(text->stream),
        .base = 1,
        .n = (int32_t)h.rows,
        .scalar = scalar,
        .symmetry = scalar == MPK_Z && h.law == MPKI_MM_HERMITIAN ? MPK_HERMITIAN : MPK_SYMMETRIC,
        .triangle = h.law == MPKI_MM_GENERAL ? MPK_FULL : MPK_EITHER,
        .either_symmetry = h.law == MPKI_MM_GENERAL,
        .or_general = h.law == MPKI_MM_GENERAL,
    };
    if (h.law == MPKI_MM_SKEW) {
        how.symmetry = MPK_GENERAL;
        how.triangle = MPK_FULL;
        status = mpki_entries_skew(text->ctx, &how, &e);
    }
    if (!mpk_failed(status)) status = mpki_assemble(text->ctx, &how, &e, problem);
done:
    mpki_entries_free(text->ctx, &e);
    return status;
}
