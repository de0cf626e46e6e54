/* SPDX-License-Identifier: BSD-3-Clause */
/** Dense blocks of right-hand sides and solutions, from and to Matrix Market and .npy files. */
#include "../core/floats.h"
#include "../core/sizes.h"
#include "matrix_market.h"
#include "npy.h"
#include "sink.h"

static const char STAGE[] = "read";

/* Does a block of this header fit n rows and the wanted scalar? */
static mpk_status check_block(const mpki_text *text, const mpki_mm_header *h, int32_t n,
                              mpk_scalar scalar) {
    if (h->law != MPKI_MM_GENERAL || h->field == MPKI_MM_PATTERN)
        return mpki_text_error(text, MPK_ERR_INPUT,
                               "a block of vectors is 'general' and has values");
    if (h->rows != n)
        return mpki_text_error(text, MPK_ERR_INPUT, "%lld rows, but the matrix has %d",
                               (long long)h->rows, n);
    if (h->cols < 1) return mpki_text_error(text, MPK_ERR_INPUT, "there is no column");
    /* a sparse block grows when it is made dense: not from a few bytes to gigabytes */
    if (h->cols > INT32_MAX || (!h->array && h->cols - 1024 > h->nnz))
        return mpki_text_error(text, MPK_ERR_SIZE, "%lld columns are too many", (long long)h->cols);
    if (h->field == MPKI_MM_COMPLEX && scalar != MPK_C && scalar != MPK_Z)
        return mpki_text_error(text, MPK_ERR_INPUT, "complex values, but the matrix is real");
    return MPK_OK;
}

/* b(row, col) += value for each entry; b is zero before. */
static void scatter(const mpki_entries *e, bool complex, int64_t n, mpk_scalar scalar, void *b) {
    const double *value = e->value;
    for (int64_t k = 0; k < e->count; k++) {
        const int64_t at = e->col[k] * n + e->row[k];
        const double re = complex ? value[2 * k] : value[k], im = complex ? value[2 * k + 1] : 0;
        switch (scalar) {
        case MPK_S:
            ((float *)b)[at] += (float)re;
            break;
        case MPK_D:
            ((double *)b)[at] += re;
            break;
        case MPK_C:
            ((float *)b)[2 * at] += (float)re;
            ((float *)b)[2 * at + 1] += (float)im;
            break;
        default:
            ((double *)b)[2 * at] += re;
            ((double *)b)[2 * at + 1] += im;
        }
    }
}

mpk_status mpki_rhs_read_stream(mpk_context *ctx, mpki_stream *stream, int32_t n, mpk_scalar scalar,
                                int32_t *nrhs, void **b) {
    mpki_text text = {.ctx = ctx, .stream = stream};
    char first[256];
    mpki_mm_header h = {0};
    mpki_entries e = {0};
    void *block = NULL;
    bool npy = false;
    mpk_status status = mpki_npy_is(stream, &npy);
    if (npy) return mpki_npy_read_rhs(ctx, stream, n, scalar, nrhs, b);
    if (!mpk_failed(status)) status = mpki_text_first(&text, first, sizeof first);
    if (!mpk_failed(status) && !mpki_is_matrix_market(first))
        status = mpki_text_error(
            &text, MPK_ERR_FORMAT,
            "not a Matrix Market file, whose first line has %%%%MatrixMarket, and no .npy");
    if (!mpk_failed(status)) status = mpki_mm_sizes(&text, first, &h);
    if (!mpk_failed(status)) status = check_block(&text, &h, n, scalar);
    if (!mpk_failed(status)) status = mpki_mm_entries(&text, &h, &e);
    if (mpk_failed(status)) goto done;
    const int64_t size = n * h.cols;
    block = mpki_calloc(ctx, STAGE, size, mpk_scalar_size(scalar));
    if (!block) {
        status = mpki_failed(ctx);
        goto done;
    }
    scatter(&e, h.field == MPKI_MM_COMPLEX, n, scalar, block);
    int64_t bad = mpki_first_nonfinite(scalar, size, block);
    if (bad >= 0) {
        status = mpki_error(ctx, MPK_ERR_INPUT, STAGE, bad % n + 1,
                            "%s: row %lld, column %lld is too large for its type",
                            mpki_stream_name(stream), (long long)(bad % n + 1),
                            (long long)(bad / n + 1));
        goto done;
    }
    *nrhs = (int32_t)h.cols;
    *b = block;
    block = NULL;
done:
    mpki_release(ctx, block);
    mpki_entries_free(ctx, &e);
    return status;
}

mpk_status mpk_rhs_read(mpk_context *ctx, const char *path, int32_t n, mpk_scalar scalar,
                        int32_t *nrhs, void **b) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!path || !nrhs || !b || *b || n < 0 || (unsigned)scalar > MPK_Z)
        return mpki_error(
            ctx, MPK_ERR_ARGUMENT, STAGE, -1,
            "path, nrhs or b is NULL, *b is not, n is negative or the scalar unknown");
    mpki_stream *stream = NULL;
    mpk_status status = mpki_stream_open(ctx, path, &stream);
    if (!mpk_failed(status)) status = mpki_rhs_read_stream(ctx, stream, n, scalar, nrhs, b);
    mpki_stream_close(&stream);
    return status;
}

mpk_status mpk_rhs_write(mpk_context *ctx, const char *path, int32_t n, mpk_scalar scalar,
                         int32_t nrhs, const void *x, int64_t ldx) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!path || n < 0 || nrhs < 0 || ldx < n || (unsigned)scalar > MPK_Z ||
        (!x && n > 0 && nrhs > 0))
        return mpki_error(
            ctx, MPK_ERR_ARGUMENT, "write", -1,
            "path or x is NULL, n or nrhs is negative, ldx < n or the scalar unknown");
    if (n > 0 && !mpki_fits(nrhs, ldx, mpk_scalar_size(scalar)))
        return mpki_error(ctx, MPK_ERR_SIZE, "write", ldx,
                          "%d columns that lie ldx = %lld entries apart do not fit any memory",
                          nrhs, (long long)ldx);
    const bool complex = scalar == MPK_C || scalar == MPK_Z;
    mpki_sink *sink = NULL;
    mpk_status status = mpki_sink_open(ctx, path, &sink);
    if (!mpk_failed(status) && mpki_npy_named(path)) {
        status = mpki_npy_write_rhs(sink, n, scalar, nrhs, x, ldx);
        return mpki_sink_close(&sink, status);
    }
    if (!mpk_failed(status))
        status = mpki_sink_print(sink, "%%%%MatrixMarket matrix array %s general\n%d %d\n",
                                 complex ? "complex" : "real", n, nrhs);
    for (int64_t c = 0; c < nrhs && !mpk_failed(status); c++)
        for (int64_t i = 0; i < n && !mpk_failed(status); i++) {
            mpki_sink_value(sink, scalar, x, c * ldx + i);
            status = mpki_sink_end_line(sink);
        }
    return mpki_sink_close(&sink, status);
}
