/* SPDX-License-Identifier: BSD-3-Clause */
/** Reads Rutherford-Boeing files: I. S. Duff, R. G. Grimes, J. G. Lewis, "The Rutherford-Boeing
 *  Sparse Matrix Collection", RAL-TR-97-031, 1997; and its ancestor Harwell-Boeing (ACM TOMS 15,
 *  1989), whose right-hand sides are skipped. Type 'u' is a general matrix, unless its values are
 *  symmetric. */
#include "fortran.h"
#include "number.h"

#include <ctype.h>

typedef struct header {
    char type[4]; /* "rsa" */
    int64_t rows, cols, nnz, rhs_cards;
    mpki_fortran pointers, indices, values;
} header;

static bool is_type(const char *line) {
    return strchr("rcpiqRCPIQ", line[0]) && strchr("suhzrSUHZR", line[1]) &&
           strchr("aeAE", line[2]) && mpki_is_blank(line[3]);
}

/* Up to `most` counts from a string; returns how many there are before something else. */
static int read_counts(const char *line, int64_t *counts, int most) {
    char text[256 + MPKI_NUMBER_SLACK] = "";
    size_t size = strlen(line);
    if (size > 255) size = 255;
    memcpy(text, line, size);
    text[size] = '\n';
    const char *p = mpki_skip_blanks(text);
    int count = 0;
    while (count < most && mpki_read_integer(&p, &counts[count])) {
        p = mpki_skip_blanks(p);
        count++;
    }
    return count;
}

static mpk_status not_this_format(const mpki_text *text) {
    return mpki_text_error(text, MPK_ERR_FORMAT,
                           "neither Matrix Market (no %%%%MatrixMarket in the first line) nor "
                           "Rutherford-Boeing (no type as 'rsa' in the third)");
}

/* Types that are not square, or not lists of entries. */
static mpk_status check_type(const mpki_text *text, header *h) {
    for (int k = 0; k < 3; k++) h->type[k] = (char)tolower((unsigned char)h->type[k]);
    const char *why = h->type[1] == 'r'   ? "rectangular"
                      : h->type[2] == 'e' ? "in unassembled finite elements"
                      : h->type[0] == 'q' ? "a pattern whose values are in another file"
                      : h->type[0] == 'p' && h->type[1] == 'z' ? "a skew-symmetric pattern"
                                                               : NULL;
    if (why)
        return mpki_text_error(text, MPK_ERR_INPUT, "type '%s': the matrix is %s", h->type, why);
    return MPK_OK;
}

static mpk_status read_formats(mpki_text *text, header *h) {
    char line[128];
    bool found;
    mpk_status status = mpki_text_copy(text, line, sizeof line, &found);
    if (mpk_failed(status)) return status;
    const char *p = line;
    bool good = mpki_fortran_parse(&p, &h->pointers) && mpki_fortran_parse(&p, &h->indices);
    good = good && h->pointers.letter == 'I' && h->indices.letter == 'I';
    if (good && h->type[0] != 'p') good = mpki_fortran_parse(&p, &h->values);
    if (!good)
        return mpki_text_error(text, MPK_ERR_FORMAT,
                               "expected Fortran formats like (10I8) (10I8) (4E20.12): '%.60s'",
                               line);
    return MPK_OK;
}

/* Lines 2 to 4, and 5 where Harwell-Boeing has right-hand sides. */
static mpk_status read_header(mpki_text *text, header *h) {
    char second[256], third[256];
    bool found;
    int64_t cards[5] = {0}, sizes[3];
    mpk_status status = mpki_text_copy(text, second, sizeof second, &found);
    if (!mpk_failed(status) && found) status = mpki_text_copy(text, third, sizeof third, &found);
    if (mpk_failed(status)) return status;
    if (!found || strlen(third) < 4 || !is_type(third)) return not_this_format(text);
    memcpy(h->type, third, 3);
    status = check_type(text, h);
    if (mpk_failed(status)) return status;
    if (read_counts(third + 3, sizes, 3) < 3)
        return mpki_text_error(text, MPK_ERR_FORMAT,
                               "expected the type, then rows, columns and entries");
    h->rows = sizes[0];
    h->cols = sizes[1];
    h->nnz = sizes[2];
    h->rhs_cards = read_counts(second, cards, 5) == 5 ? cards[4] : 0;
    status = mpki_text_order(text, h->rows, h->cols, h->nnz);
    if (!mpk_failed(status)) status = read_formats(text, h);
    if (!mpk_failed(status) && h->rhs_cards > 0)
        status = mpki_text_copy(text, third, sizeof third, &found);
    return status;
}

/* Column pointers, 1-based in the file; *ptr is allocated. */
static mpk_status read_pointers(mpki_text *text, const header *h, int64_t **ptr) {
    mpki_fields fields = {.text = text, .format = &h->pointers, .what = "column pointers"};
    const int64_t count = h->cols + 1;
    int64_t capacity = count < 65536 ? count : 65536, last = 1;
    *ptr = MPKI_NEW(text->ctx, "read", capacity, int64_t);
    if (!*ptr) return mpki_failed(text->ctx);
    for (int64_t k = 0; k < count; k++) {
        if (k == capacity) {
            capacity = capacity < count / 2 ? 2 * capacity : count;
            int64_t *more = mpki_resize(text->ctx, "read", *ptr, capacity, sizeof *more);
            if (!more) return mpki_failed(text->ctx);
            *ptr = more;
        }
        int64_t p;
        mpk_status status = mpki_fields_integer(&fields, &p);
        if (mpk_failed(status)) return status;
        if (p < last || (k == 0 && p != 1) || p > h->nnz + 1)
            return mpki_text_error(text, MPK_ERR_FORMAT,
                                   "column pointer %lld is %lld: they start with 1, do not "
                                   "decrease and end with %lld",
                                   (long long)k + 1, (long long)p, (long long)h->nnz + 1);
        (*ptr)[k] = last = p;
    }
    if (last != h->nnz + 1)
        return mpki_text_error(text, MPK_ERR_FORMAT, "the column pointers end with %lld, not %lld",
                               (long long)last, (long long)h->nnz + 1);
    mpki_fields_end(&fields);
    return MPK_OK;
}

static mpk_status read_rows(mpki_text *text, const header *h, const int64_t *ptr, mpk_scalar scalar,
                            mpki_entries *e) {
    mpki_fields fields = {.text = text, .format = &h->indices, .what = "row indices"};
    int64_t col = 0;
    for (; e->count < h->nnz; e->count++) {
        int64_t row;
        mpk_status status = mpki_fields_integer(&fields, &row);
        while (ptr[col + 1] - 1 <= e->count) col++;
        if (!mpk_failed(status) && (row < 1 || row > h->rows))
            status = mpki_text_error(
                text, MPK_ERR_INPUT, "row %lld, column %lld is outside the %lld x %lld matrix",
                (long long)row, (long long)col + 1, (long long)h->rows, (long long)h->cols);
        if (!mpk_failed(status) && e->count == e->capacity)
            status = mpki_text_grow(text, scalar, h->nnz, e);
        if (mpk_failed(status)) return status;
        e->row[e->count] = (int32_t)(row - 1);
        e->col[e->count] = (int32_t)col;
    }
    mpki_fields_end(&fields);
    return MPK_OK;
}

static mpk_status read_values(mpki_text *text, const header *h, mpk_scalar scalar,
                              mpki_entries *e) {
    mpki_fields fields = {.text = text, .format = &h->values, .what = "values"};
    const int parts = scalar == MPK_Z ? 2 : 1;
    double *value = e->value;
    for (int64_t k = 0; k < parts * e->count; k++) {
        if (h->type[0] == 'p') {
            value[k] = 1;
            continue;
        }
        mpk_status status = mpki_fields_real(&fields, &value[k]);
        if (mpk_failed(status)) return status;
        if (!isfinite(value[k]))
            return mpki_text_error(text, MPK_ERR_INPUT,
                                   "row %lld, column %lld: NaN, infinite or too large for a double",
                                   (long long)e->row[k / parts] + 1,
                                   (long long)e->col[k / parts] + 1);
    }
    mpki_fields_end(&fields);
    return MPK_OK;
}

mpk_status mpki_read_rutherford_boeing(mpki_text *text, mpk_problem **problem) {
    header h = {0};
    mpki_entries e = {0};
    int64_t *ptr = NULL;
    mpk_status status = read_header(text, &h);
    if (mpk_failed(status)) goto done;
    const mpk_scalar scalar = h.type[0] == 'c' ? MPK_Z : MPK_D;
    status = mpki_text_entries(text, scalar, h.nnz, 1, &e);
    if (!mpk_failed(status)) status = read_pointers(text, &h, &ptr);
    if (!mpk_failed(status)) status = read_rows(text, &h, ptr, scalar, &e);
    if (!mpk_failed(status)) status = read_values(text, &h, scalar, &e);
    if (mpk_failed(status)) goto done;
    mpki_assembly how = {
        .stage = "read",
        .source = mpki_stream_name(text->stream),
        .base = 1,
        .n = (int32_t)h.rows,
        .scalar = scalar,
        .symmetry = scalar == MPK_Z && h.type[1] == 'h' ? MPK_HERMITIAN : MPK_SYMMETRIC,
        .triangle = h.type[1] == 'u' ? MPK_FULL : MPK_EITHER,
        .either_symmetry = h.type[1] == 'u',
        .or_general = h.type[1] == 'u',
    };
    if (h.type[1] == 'z') {
        how.symmetry = MPK_GENERAL;
        how.triangle = MPK_FULL;
        status = mpki_entries_skew(text->ctx, &how, &e);
    }
    if (!mpk_failed(status)) status = mpki_assemble(text->ctx, &how, &e, problem);
done:
    mpki_release(text->ctx, ptr);
    mpki_entries_free(text->ctx, &e);
    return status;
}
