/* SPDX-License-Identifier: BSD-3-Clause */
/* NumPy's format (numpy.lib.format): the magic string, two bytes of version, the length of the
 * header in 2 bytes (version 1) or 4, the header, a literal of Python's, then the entries. */
#include "npy.h"
#include "assemble.h"

#include <stdio.h>
#include <string.h>

static const char STAGE[] = "read";
static const char MAGIC[] = "\x93NUMPY";

enum {
    MAGIC_SIZE = 6,
    HEADER_MOST = 16384, /* NumPy itself takes 10000 */
    PIECE = 1 << 16,     /* bytes that are read at once */
    ALIGNED = 64
};

/* What a header says. */
typedef struct shape {
    mpk_scalar scalar;
    bool swapped, by_columns;
    int dimensions;
    int64_t rows, cols;
} shape;

static mpk_status bad(mpk_context *ctx, const mpki_stream *s, mpk_status status, const char *what) {
    return mpki_error(ctx, status, STAGE, -1, "%s: %s", mpki_stream_name(s), what);
}

mpk_status mpki_npy_is(mpki_stream *stream, bool *so) {
    return mpki_stream_begins(stream, MAGIC, MAGIC_SIZE, so);
}

/* ---- the header ------------------------------------------------------------------------------ */

static bool big_endian(void) {
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 0;
}

static const char *skip(const char *p) {
    while (*p == ' ' || *p == '\t' || *p == '\n') p++;
    return p;
}

/* This character, with blanks around it; NULL: it is another one. */
static const char *pass(const char *p, char c) {
    if (!p) return NULL;
    p = skip(p);
    return *p == c ? skip(p + 1) : NULL;
}

/* 'text' or "text", at most size - 1 characters. */
static const char *quoted(const char *p, char *text, size_t size) {
    p = skip(p);
    const char quote = *p;
    if (quote != '\'' && quote != '"') return NULL;
    const size_t length = strcspn(p + 1, quote == '"' ? "\"" : "'");
    if (p[1 + length] != quote || length >= size) return NULL;
    memcpy(text, p + 1, length);
    text[length] = '\0';
    return skip(p + 2 + length);
}

/* (), (n,), (n, k) or longer; of each number the first two are kept. */
static const char *tuple(const char *p, shape *of) {
    int64_t size[2] = {1, 1};
    of->dimensions = 0;
    p = pass(p, '(');
    while (p && *p != ')') {
        int64_t value = 0;
        if (*p < '0' || *p > '9') return NULL;
        for (; *p >= '0' && *p <= '9'; p++)
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, *p - '0', &value))
                return NULL;
        if (*p == 'L') p++; /* of Python 2 */
        if (of->dimensions < 2) size[of->dimensions] = value;
        of->dimensions++;
        p = skip(p);
        if (*p == ')') break;
        p = pass(p, ',');
    }
    of->rows = size[0], of->cols = size[1];
    return pass(p, ')');
}

static const char *truth(const char *p, bool *value) {
    *value = !strncmp(p, "True", 4);
    return *value ? skip(p + 4) : !strncmp(p, "False", 5) ? skip(p + 5) : NULL;
}

/* "<f8" */
static bool type_of(const char *descr, shape *of) {
    static const char *const names[] = {"f4", "f8", "c8", "c16"};
    const bool marked = *descr && strchr("<>=|", *descr);
    of->swapped = marked && ((*descr == '<' && big_endian()) || (*descr == '>' && !big_endian()));
    for (int k = 0; k < 4; k++)
        if (!strcmp(descr + marked, names[k])) {
            of->scalar = (mpk_scalar)k;
            return true;
        }
    return false;
}

/* {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } in any order of the keys. */
static bool parse(const char *p, char descr[32], shape *of) {
    bool have[3] = {false, false, false};
    p = pass(p, '{');
    while (p && *p != '}') {
        char name[32];
        p = quoted(p, name, sizeof name);
        p = pass(p, ':');
        if (!p) return false;
        const int key = !strcmp(name, "descr")           ? 0
                        : !strcmp(name, "fortran_order") ? 1
                        : !strcmp(name, "shape")         ? 2
                                                         : -1;
        if (key < 0 || have[key]) return false;
        have[key] = true;
        if (key == 0 && *p == '[') { /* fields by name: no number */
            strcpy(descr, "a structure");
            return true;
        }
        p = key == 0 ? quoted(p, descr, 32) : key == 1 ? truth(p, &of->by_columns) : tuple(p, of);
        if (!p) return false;
        if (*p != '}') p = pass(p, ',');
    }
    p = pass(p, '}');
    return p && !*p && have[0] && have[1] && have[2];
}

static mpk_status read_header(mpk_context *ctx, mpki_stream *s, shape *of) {
    unsigned char first[MAGIC_SIZE + 6];
    char header[HEADER_MOST + 1], descr[32] = "";
    size_t got;
    mpk_status status = mpki_stream_bytes(s, first, MAGIC_SIZE + 4, &got);
    if (mpk_failed(status)) return status;
    if (got < MAGIC_SIZE + 4) return bad(ctx, s, MPK_ERR_FORMAT, "the .npy header is cut off");
    const int version = first[MAGIC_SIZE];
    if (version < 1 || version > 3)
        return mpki_error(ctx, MPK_ERR_FORMAT, STAGE, version,
                          "%s: version %d of the .npy format; 1 to 3 are read", mpki_stream_name(s),
                          version);
    size_t length = first[MAGIC_SIZE + 2] + ((size_t)first[MAGIC_SIZE + 3] << 8);
    if (version > 1) {
        status = mpki_stream_bytes(s, first + MAGIC_SIZE + 4, 2, &got);
        if (mpk_failed(status)) return status;
        if (got < 2) return bad(ctx, s, MPK_ERR_FORMAT, "the .npy header is cut off");
        length += ((size_t)first[MAGIC_SIZE + 4] << 16) + ((size_t)first[MAGIC_SIZE + 5] << 24);
    }
    if (length > HEADER_MOST)
        return bad(ctx, s, MPK_ERR_FORMAT, "the .npy header is too long for an array of numbers");
    status = mpki_stream_bytes(s, header, length, &got);
    if (mpk_failed(status)) return status;
    header[got] = '\0';
    if (got < length) return bad(ctx, s, MPK_ERR_FORMAT, "the .npy header is cut off");
    if (strlen(header) < length || !parse(header, descr, of))
        return bad(ctx, s, MPK_ERR_FORMAT,
                   "the .npy header is not {'descr': ..., 'fortran_order': ..., 'shape': ...}");
    if (!type_of(descr, of))
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, -1,
                          "%s: entries of type '%s'; f4, f8, c8 and c16 are read",
                          mpki_stream_name(s), descr);
    return MPK_OK;
}

/* ---- the entries ----------------------------------------------------------------------------- */

static void swap(char *bytes, size_t count, size_t width) {
    for (size_t k = 0; k < count; k++, bytes += width)
        for (size_t i = 0; i < width / 2; i++) {
            const char c = bytes[i];
            bytes[i] = bytes[width - 1 - i], bytes[width - 1 - i] = c;
        }
}

static size_t real_size(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? 4 : 8;
}

/* All entries, in the order of the file; grows with what is read. */
static mpk_status read_entries(mpk_context *ctx, mpki_stream *s, const shape *of, char **out) {
    const size_t size = mpk_scalar_size(of->scalar), width = real_size(of->scalar);
    int64_t count, bytes;
    size_t got = 0;
    char extra;
    if (__builtin_mul_overflow(of->rows, of->cols, &count) ||
        __builtin_mul_overflow(count, (int64_t)size, &bytes))
        return bad(ctx, s, MPK_ERR_SIZE, "the array is too large for any memory");
    const int64_t left = mpki_stream_left(s);
    if (left >= 0 && bytes > left)
        return mpki_error(ctx, MPK_ERR_FORMAT, STAGE, left,
                          "%s: the entries take %lld bytes, but only %lld follow the header",
                          mpki_stream_name(s), (long long)bytes, (long long)left);
    mpk_status status = MPK_OK;
    int64_t room = left >= 0 || bytes < PIECE ? bytes : PIECE, at = 0;
    char *data = mpki_alloc(ctx, STAGE, room + 1, 1);
    while (data && at < bytes) {
        if (at == room) {
            room = room < bytes / 2 ? 2 * room : bytes;
            char *more = mpki_resize(ctx, STAGE, data, room + 1, 1);
            if (!more) status = mpki_failed(ctx);
            if (!more) break;
            data = more;
        }
        const int64_t piece = room - at < 16 * PIECE ? room - at : 16 * PIECE;
        status = mpki_stream_bytes(s, data + at, (size_t)piece, &got);
        at += (int64_t)got;
        if (mpk_failed(status) || (int64_t)got < piece) break;
    }
    if (!data) return mpki_failed(ctx);
    if (!mpk_failed(status) && at < bytes)
        status = mpki_error(ctx, MPK_ERR_FORMAT, STAGE, at,
                            "%s: the entries take %lld bytes, but only %lld follow the header",
                            mpki_stream_name(s), (long long)bytes, (long long)at);
    if (!mpk_failed(status)) status = mpki_stream_bytes(s, &extra, 1, &got);
    if (!mpk_failed(status) && got > 0)
        status = bad(ctx, s, MPK_ERR_FORMAT, "there is something after the last entry");
    if (!mpk_failed(status) && of->swapped) swap(data, (size_t)bytes / width, width);
    const int64_t wild = mpk_failed(status) ? -1 : mpki_first_nonfinite(of->scalar, count, data);
    if (wild >= 0) {
        const int64_t inner = of->by_columns ? of->rows : of->cols;
        const int64_t major = wild / inner, minor = wild % inner;
        status =
            mpki_error(ctx, MPK_ERR_INPUT, STAGE, wild, "%s: entry [%lld, %lld] is NaN or infinite",
                       mpki_stream_name(s), (long long)(of->by_columns ? minor : major),
                       (long long)(of->by_columns ? major : minor));
    }
    if (mpk_failed(status)) {
        mpki_release(ctx, data);
        return status;
    }
    *out = data;
    return MPK_OK;
}

mpk_status mpki_npy_read(mpk_context *ctx, mpki_stream *s, mpk_problem **problem) {
    shape of = {0};
    mpki_entries e = {0};
    char *data = NULL;
    mpk_status status = read_header(ctx, s, &of);
    if (mpk_failed(status)) return status;
    if (of.dimensions != 2 || of.rows != of.cols)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, -1,
                          "%s: an array of %d dimension%s, %lld x %lld: a matrix is square",
                          mpki_stream_name(s), of.dimensions, of.dimensions == 1 ? "" : "s",
                          (long long)of.rows, (long long)of.cols);
    if (of.rows > INT32_MAX - 8)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, of.rows, "%s: %lld rows: at most %d can be had",
                          mpki_stream_name(s), (long long)of.rows, INT32_MAX - 8);
    const double n = (double)of.rows;
    status = mpki_memory_check(ctx, STAGE, "a matrix of so many entries",
                               mpki_assemble_bytes(n, n * n, of.scalar, false), 0);
    if (!mpk_failed(status)) status = read_entries(ctx, s, &of, &data);
    if (!mpk_failed(status))
        status = mpki_entries_reserve(ctx, STAGE, of.scalar, &e, of.rows * of.cols);
    if (mpk_failed(status)) goto done;
    const size_t size = mpk_scalar_size(of.scalar);
    for (int64_t j = 0; j < of.cols; j++)
        for (int64_t i = 0; i < of.rows; i++, e.count++) {
            e.row[e.count] = (int32_t)i, e.col[e.count] = (int32_t)j;
            memcpy((char *)e.value + (size_t)e.count * size,
                   data + (size_t)(of.by_columns ? i + j * of.rows : j + i * of.cols) * size, size);
        }
    const mpki_assembly how = {.stage = STAGE,
                               .source = mpki_stream_name(s),
                               .base = 0,
                               .n = (int32_t)of.rows,
                               .scalar = of.scalar,
                               .symmetry = MPK_SYMMETRIC,
                               .triangle = MPK_FULL,
                               .either_symmetry = true,
                               .or_general = true};
    mpki_release(ctx, data);
    data = NULL;
    status = mpki_assemble(ctx, &how, &e, problem);
done:
    mpki_release(ctx, data);
    mpki_entries_free(ctx, &e);
    return status;
}

/* Part `part` of entry k, as a double. */
static double number(mpk_scalar scalar, const void *data, int64_t k, int part) {
    if (scalar < MPK_C && part) return 0;
    if (scalar >= MPK_C) k = 2 * k + part;
    return real_size(scalar) == 4 ? (double)((const float *)data)[k] : ((const double *)data)[k];
}

mpk_status mpki_npy_read_rhs(mpk_context *ctx, mpki_stream *s, int32_t n, mpk_scalar scalar,
                             int32_t *nrhs, void **b) {
    shape of = {0};
    char *data = NULL;
    mpk_status status = read_header(ctx, s, &of);
    if (mpk_failed(status)) return status;
    if (of.dimensions < 1 || of.dimensions > 2 || of.rows != n)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, -1,
                          "%s: an array of %d dimension%s with %lld rows: expected one of shape "
                          "(%d,) or (%d, k)",
                          mpki_stream_name(s), of.dimensions, of.dimensions == 1 ? "" : "s",
                          (long long)of.rows, n, n);
    if (of.cols < 1) return bad(ctx, s, MPK_ERR_INPUT, "there is no column");
    if (of.cols > INT32_MAX || (n == 0 && of.cols > 1024))
        return bad(ctx, s, MPK_ERR_SIZE, "there are too many columns");
    if (of.scalar >= MPK_C && scalar < MPK_C)
        return bad(ctx, s, MPK_ERR_INPUT, "complex values, but the matrix is real");
    status = read_entries(ctx, s, &of, &data);
    if (mpk_failed(status)) return status;
    const int parts = scalar >= MPK_C ? 2 : 1;
    char *block = mpki_calloc(ctx, STAGE, n * of.cols, mpk_scalar_size(scalar));
    for (int64_t j = 0; block && j < of.cols; j++)
        for (int64_t i = 0; i < n; i++)
            for (int part = 0; part < parts; part++) {
                const int64_t from = of.by_columns ? i + j * n : j + i * of.cols;
                const int64_t to = (i + j * n) * parts + part;
                const double x = number(of.scalar, data, from, part);
                if (real_size(scalar) == 4)
                    ((float *)(void *)block)[to] = (float)x;
                else
                    ((double *)(void *)block)[to] = x;
            }
    mpki_release(ctx, data);
    if (!block) return mpki_failed(ctx);
    const int64_t wild = mpki_first_nonfinite(scalar, n * of.cols, block);
    if (wild >= 0) {
        mpki_release(ctx, block);
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, wild % n,
                          "%s: entry [%lld, %lld] is too large for its type", mpki_stream_name(s),
                          (long long)(wild % n), (long long)(wild / n));
    }
    *nrhs = (int32_t)of.cols;
    *b = block;
    return MPK_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

bool mpki_npy_named(const char *path) {
    return mpki_name_ends(path, ".npy") || mpki_name_ends(path, ".npy.gz") ||
           mpki_name_ends(path, ".npy.xz");
}

double mpki_npy_bytes(double n, double columns, mpk_scalar scalar) {
    return 2 * ALIGNED + n * columns * (double)mpk_scalar_size(scalar);
}

/* Version 1; what follows is aligned to 64 bytes. columns < 0: a vector */
static mpk_status write_header(mpki_sink *sink, mpk_scalar scalar, int64_t n, int64_t columns) {
    static const char *const names[] = {"f4", "f8", "c8", "c16"};
    char header[2 * ALIGNED] = "", shape_of[48];
    if (columns < 0)
        snprintf(shape_of, sizeof shape_of, "(%lld,)", (long long)n);
    else
        snprintf(shape_of, sizeof shape_of, "(%lld, %lld)", (long long)n, (long long)columns);
    char *text = header + MAGIC_SIZE + 4;
    int length =
        snprintf(text, sizeof header - MAGIC_SIZE - 4,
                 "{'descr': '%c%s', 'fortran_order': %s, 'shape': %s, }", big_endian() ? '>' : '<',
                 names[scalar], columns < 0 ? "False" : "True", shape_of);
    const int64_t whole = (MAGIC_SIZE + 4 + length + 1 + ALIGNED - 1) / ALIGNED * ALIGNED;
    memcpy(header, MAGIC, MAGIC_SIZE);
    header[MAGIC_SIZE] = 1;
    const int64_t after = whole - MAGIC_SIZE - 4;
    header[MAGIC_SIZE + 2] = (char)(after & 0xff), header[MAGIC_SIZE + 3] = (char)(after >> 8);
    for (; length < after - 1; length++) text[length] = ' ';
    text[length] = '\n';
    return mpki_sink_bytes(sink, header, whole);
}

mpk_status mpki_npy_write_rhs(mpki_sink *sink, int32_t n, mpk_scalar scalar, int32_t nrhs,
                              const void *x, int64_t ldx) {
    const int64_t size = (int64_t)mpk_scalar_size(scalar);
    mpk_status status = write_header(sink, scalar, n, nrhs == 1 ? -1 : nrhs);
    for (int64_t c = 0; c < nrhs && !mpk_failed(status); c++)
        status = mpki_sink_bytes(sink, (const char *)x + c * ldx * size, n * size);
    return status;
}

/* to[at] := values[k], or its conjugate */
static void put(mpk_scalar scalar, void *to, int64_t at, const void *values, int64_t k,
                bool conjugate) {
    const size_t size = mpk_scalar_size(scalar);
    char *entry = (char *)to + (size_t)at * size;
    memcpy(entry, (const char *)values + (size_t)k * size, size);
    if (!conjugate) return;
    if (scalar == MPK_C) ((float *)(void *)entry)[1] *= -1;
    if (scalar == MPK_Z) ((double *)(void *)entry)[1] *= -1;
}

mpk_status mpki_npy_write(mpki_sink *sink, mpk_context *ctx, const mpk_problem *p) {
    const int64_t n = p->n, size = (int64_t)mpk_scalar_size(p->scalar);
    mpk_status status = mpki_memory_check(ctx, "write", "the matrix with all its zeros",
                                          mpki_npy_bytes((double)n, (double)n, p->scalar), 0);
    char *full = mpk_failed(status) ? NULL : mpki_calloc(ctx, "write", n * n, (size_t)size);
    if (!full) return mpki_failed(ctx);
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = p->ap[j]; k < p->ap[j + 1]; k++) {
            const int64_t i = p->ai[k];
            put(p->scalar, full, i + j * n, p->ax, k, false);
            if (i != j && p->symmetry != MPK_GENERAL)
                put(p->scalar, full, j + i * n, p->ax, k, p->symmetry == MPK_HERMITIAN);
        }
    status = write_header(sink, p->scalar, n, n);
    if (!mpk_failed(status)) status = mpki_sink_bytes(sink, full, n * n * size);
    mpki_release(ctx, full);
    return status;
}
