/* SPDX-License-Identifier: BSD-3-Clause */
/** A problem to a file, Matrix Market, Rutherford-Boeing or .npy by the ending of its name. */
#include "../core/floats.h"
#include "npy.h"
#include "problem.h"
#include "sink.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char STAGE[] = "write";

static bool is_complex(const mpk_problem *p) {
    return p->scalar == MPK_C || p->scalar == MPK_Z;
}

/* By mpk_symmetry: as Matrix Market says it, and the letter of Rutherford-Boeing. */
static const char *const LAW[] = {"symmetric", "hermitian", "general"};
static const char LETTER[] = {'s', 'h', 'u'};

static mpk_status write_matrix_market(mpki_sink *sink, const mpk_problem *p) {
    mpk_status status = mpki_sink_print(
        sink, "%%%%MatrixMarket matrix coordinate %s %s\n%d %d %lld\n",
        is_complex(p) ? "complex" : "real", LAW[p->symmetry], p->n, p->n, (long long)p->nnz);
    for (int32_t j = 0; j < p->n && !mpk_failed(status); j++)
        for (int64_t k = p->ap[j]; k < p->ap[j + 1] && !mpk_failed(status); k++) {
            mpki_sink_integer(sink, (int64_t)p->ai[k] + 1);
            mpki_sink_blank(sink);
            mpki_sink_integer(sink, (int64_t)j + 1);
            mpki_sink_blank(sink);
            mpki_sink_value(sink, p->scalar, p->ax, k);
            status = mpki_sink_end_line(sink);
        }
    return status;
}

/* ---- Rutherford-Boeing -------------------------------------------------------------------- */

enum { CARD = 80, VALUE_WIDTH = 25, VALUES_PER_CARD = 3 };

static int digits(int64_t x) {
    int count = 1;
    while (x /= 10) count++;
    return count;
}

/* A block of `count` integers, `width` wide, as many to a card as fit. */
typedef struct layout {
    int width, per_card;
    int64_t count, cards;
} layout;

static layout layout_of(int64_t count, int width, int per_card) {
    return (layout){width, per_card, count, (count + per_card - 1) / per_card};
}

static mpk_status write_field(mpki_sink *sink, const layout *l, int64_t k, int64_t value) {
    for (int pad = l->width - digits(value); pad > 0; pad--) mpki_sink_blank(sink);
    mpki_sink_integer(sink, value);
    bool full = (k + 1) % l->per_card == 0 || k + 1 == l->count;
    return full ? mpki_sink_end_line(sink) : MPK_OK;
}

static mpk_status write_value(mpki_sink *sink, const layout *l, int64_t k, double value) {
    mpk_status status = mpki_sink_print(sink, "%25.16E", value);
    bool full = (k + 1) % l->per_card == 0 || k + 1 == l->count;
    return full && !mpk_failed(status) ? mpki_sink_end_line(sink) : status;
}

/* The k-th real number of the values, complex ones being pairs. */
static double part(const mpk_problem *p, int64_t k) {
    return p->scalar == MPK_S || p->scalar == MPK_C ? ((const float *)p->ax)[k]
                                                    : ((const double *)p->ax)[k];
}

static mpk_status write_header(mpki_sink *sink, const mpk_problem *p, const layout *pointers,
                               const layout *rows, const layout *values) {
    char format[3][24];
    snprintf(format[0], sizeof format[0], "(%dI%d)", pointers->per_card, pointers->width);
    snprintf(format[1], sizeof format[1], "(%dI%d)", rows->per_card, rows->width);
    snprintf(format[2], sizeof format[2], "(1P,%dE%d.16)", values->per_card, values->width);
    mpk_status status = mpki_sink_print(sink, "%-72s%-8s\n", "METAPACK", "MATRIX");
    if (!mpk_failed(status))
        status = mpki_sink_print(sink, "%14lld%14lld%14lld%14lld\n",
                                 (long long)(pointers->cards + rows->cards + values->cards),
                                 (long long)pointers->cards, (long long)rows->cards,
                                 (long long)values->cards);
    if (!mpk_failed(status))
        status = mpki_sink_print(sink, "%c%ca%11s%14d%14d%14lld%14d\n", is_complex(p) ? 'c' : 'r',
                                 LETTER[p->symmetry], "", p->n, p->n, (long long)p->nnz, 0);
    if (!mpk_failed(status))
        status = mpki_sink_print(sink, "%-16s%-16s%-20s\n", format[0], format[1], format[2]);
    return status;
}

static mpk_status write_rutherford_boeing(mpki_sink *sink, const mpk_problem *p) {
    int wide = digits(p->nnz + 1) + 1, narrow = digits(p->n) + 1;
    layout pointers = layout_of((int64_t)p->n + 1, wide, CARD / wide);
    layout rows = layout_of(p->nnz, narrow, CARD / narrow);
    layout values = layout_of(is_complex(p) ? 2 * p->nnz : p->nnz, VALUE_WIDTH, VALUES_PER_CARD);
    mpk_status status = write_header(sink, p, &pointers, &rows, &values);
    for (int64_t k = 0; k < pointers.count && !mpk_failed(status); k++)
        status = write_field(sink, &pointers, k, p->ap[k] + 1);
    for (int64_t k = 0; k < rows.count && !mpk_failed(status); k++)
        status = write_field(sink, &rows, k, (int64_t)p->ai[k] + 1);
    for (int64_t k = 0; k < values.count && !mpk_failed(status); k++)
        status = write_value(sink, &values, k, part(p, k));
    return status;
}

/* ---- by name ------------------------------------------------------------------------------ */

typedef mpk_status writer(mpki_sink *sink, const mpk_problem *problem);

static writer *writer_for(const char *path) {
    static const struct {
        const char *end;
        writer *write;
    } formats[] = {{".mtx", write_matrix_market},       {".mtx.gz", write_matrix_market},
                   {".mtx.xz", write_matrix_market},    {".rb", write_rutherford_boeing},
                   {".rb.gz", write_rutherford_boeing}, {".rb.xz", write_rutherford_boeing}};
    struct stat there;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (mpki_name_ends(path, formats[k].end)) return formats[k].write;
    /* standard output, a pipe or a device has the name that it has */
    const bool file = strcmp(path, "-") && (stat(path, &there) || S_ISREG(there.st_mode));
    return file ? NULL : write_matrix_market;
}

bool mpki_problem_sparse_named(const char *path) {
    return !mpki_npy_named(path) && writer_for(path);
}

mpk_status mpk_problem_write(mpk_context *ctx, const mpk_problem *problem, const char *path) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!problem || !path)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the problem or the path is NULL");
    const bool npy = mpki_npy_named(path);
    writer *write = npy ? NULL : writer_for(path);
    if (!write && !npy)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "%s: the name says no format: .mtx, .rb or .npy, each also .gz or .xz",
                          path);
    mpki_sink *sink = NULL;
    mpk_status status = mpki_sink_open(ctx, path, &sink);
    if (!mpk_failed(status))
        status = npy ? mpki_npy_write(sink, ctx, problem) : write(sink, problem);
    return mpki_sink_close(&sink, status);
}

/* ---- how much it will be ------------------------------------------------------------------- */

static int value_length(const mpk_problem *p, int64_t k) {
    char text[64];
    const double x = part(p, k);
    const bool single = p->scalar == MPK_S || p->scalar == MPK_C;
    return snprintf(text, sizeof text, single ? "%.9g" : "%.17g", x);
}

double mpki_problem_text_bytes(const mpk_problem *p, const char *path) {
    if (mpki_npy_named(path)) return mpki_npy_bytes(p->n, p->n, p->scalar);
    enum { SAMPLE = 4096 };
    const int parts = is_complex(p) ? 2 : 1;
    const int64_t count = p->nnz * parts, step = count / SAMPLE + 1;
    const bool boeing = path && writer_for(path) == write_rutherford_boeing;
    double length = 0, taken = 0;
    if (boeing)
        return (double)p->nnz * (digits(p->n) + 1 + VALUE_WIDTH * parts) +
               (double)p->n * (digits(p->nnz) + 1);
    for (int64_t k = 0; k < count; k += step, taken++) length += 1 + value_length(p, k);
    return (double)p->nnz * (2 * digits(p->n) + 2) +
           (taken > 0 ? length / taken : 0) * (double)count;
}
