/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders of rows, and where their blocks and pivots begin: read from a file, checked. */
#include "perm.h"
#include "number.h"
#include "text.h"

static const char STAGE[] = "read";

/* The state of a reader between lines. */
typedef struct reader {
    mpki_text text;
    int32_t n, count;
    int32_t most;       /* entries: n; n + 1 where not all must be there */
    bool market, sized; /* a Matrix Market file; its size line has been seen */
    int32_t *perm;
} reader;

static mpk_status bad(const reader *r, const char *what) {
    return mpki_text_error(&r->text, MPK_ERR_INPUT, "%s", what);
}

/* The sizes of a Matrix Market array. */
static mpk_status take_sizes(reader *r, const char *p) {
    int64_t rows = 0, columns = 0, product;
    bool good = mpki_read_integer(&p, &rows);
    p = mpki_skip_blanks(p);
    good = good && mpki_read_integer(&p, &columns);
    p = mpki_skip_blanks(p);
    good = good && *p == '\n' && !__builtin_mul_overflow(rows, columns, &product);
    if (r->most == r->n && (!good || product != r->n))
        return bad(r, "the order must have as many entries as the matrix has rows");
    if (!good || product < 0 || product > r->most)
        return bad(r, "expected the size of an array, no longer than the matrix has rows");
    r->sized = true;
    r->text.cursor = p + 1;
    return MPK_OK;
}

/* The numbers of one line. */
static mpk_status take_line(reader *r, const char *p) {
    if (r->market && !r->sized) return take_sizes(r, p);
    while (*p != '\n') {
        double x;
        if (!mpki_read_real(&p, &x)) return bad(r, "expected integers");
        if (!(x >= 0 && x <= (double)r->most) || x != floor(x))
            return bad(r, "an entry of the order is no index of the matrix");
        if (r->count == r->most)
            return bad(r, "the order has more entries than the matrix has rows");
        r->perm[r->count++] = (int32_t)x;
        p = mpki_skip_blanks(p);
    }
    r->text.cursor = p + 1;
    return MPK_OK;
}

static mpk_status take_all(reader *r) {
    for (;;) {
        const char *start;
        mpk_status status = mpki_text_next(&r->text, &start);
        if (mpk_failed(status) || !start) return status;
        const char *p = mpki_skip_blanks(start);
        if (r->text.line == 1 && mpki_is_matrix_market(start)) r->market = true;
        if (*p == '%' || *p == '#' || *p == '\n')
            mpki_text_skip(&r->text, p);
        else
            status = take_line(r, p);
        if (mpk_failed(status)) return status;
    }
}

/* Count from 0, each index once. */
static mpk_status check(reader *r) {
    if (r->count < r->n) return bad(r, "the order has fewer entries than the matrix has rows");
    int32_t base = 1;
    for (int32_t k = 0; k < r->n; k++)
        if (r->perm[k] == 0) base = 0;
    char *seen = mpki_calloc(r->text.ctx, STAGE, r->n, 1);
    if (!seen) return mpki_failed(r->text.ctx);
    mpk_status status = MPK_OK;
    for (int32_t k = 0; k < r->n && !mpk_failed(status); k++) {
        int32_t i = r->perm[k] -= base;
        if (i >= r->n || seen[i])
            status = mpki_error(r->text.ctx, MPK_ERR_INPUT, STAGE, k,
                                "%s: entry %d: index %d is out of range or there twice",
                                mpki_stream_name(r->text.stream), k + 1, i + base);
        else
            seen[i] = 1;
    }
    mpki_release(r->text.ctx, seen);
    return status;
}

mpk_status mpki_perm_read_stream(mpk_context *ctx, mpki_stream *stream, int32_t n, int32_t **perm) {
    reader r = {.text = {.ctx = ctx, .stream = stream}, .n = n, .most = n};
    r.perm = MPKI_NEW(ctx, STAGE, n, int32_t);
    mpk_status status = r.perm ? take_all(&r) : mpki_failed(ctx);
    if (!mpk_failed(status)) status = check(&r);
    if (mpk_failed(status))
        mpki_release(ctx, r.perm);
    else
        *perm = r.perm;
    return status;
}

mpk_status mpki_perm_read(mpk_context *ctx, const char *path, int32_t n, int32_t **perm) {
    mpki_stream *stream = NULL;
    mpk_status status = mpki_stream_open(ctx, path, &stream);
    if (!mpk_failed(status)) status = mpki_perm_read_stream(ctx, stream, n, perm);
    mpki_stream_close(&stream);
    return status;
}

/* Count from 0, and add n. */
static mpk_status finish_starts(reader *r) {
    if (r->count == 0 || r->perm[0] > 1)
        return bad(r, "the first of these positions must be 0, or 1 if they are counted from 1");
    const int32_t base = r->perm[0];
    for (int32_t k = 0; k < r->count; k++) {
        r->perm[k] -= base;
        if ((k && r->perm[k] <= r->perm[k - 1]) || r->perm[k] > r->n)
            return mpki_error(r->text.ctx, MPK_ERR_INPUT, STAGE, k,
                              "%s: entry %d: position %d does not come after the one before, or is "
                              "beyond the matrix",
                              mpki_stream_name(r->text.stream), k + 1, r->perm[k] + base);
    }
    if (r->perm[r->count - 1] < r->n) r->perm[r->count++] = r->n;
    return MPK_OK;
}

mpk_status mpki_starts_read_stream(mpk_context *ctx, mpki_stream *stream, int32_t n,
                                   int32_t **start) {
    reader r = {.text = {.ctx = ctx, .stream = stream}, .n = n, .most = n + (n < INT32_MAX)};
    r.perm = MPKI_NEW(ctx, STAGE, (int64_t)n + 2, int32_t);
    mpk_status status = r.perm ? take_all(&r) : mpki_failed(ctx);
    if (!mpk_failed(status)) status = finish_starts(&r);
    if (mpk_failed(status))
        mpki_release(ctx, r.perm);
    else
        *start = r.perm;
    return status;
}

mpk_status mpki_starts_read(mpk_context *ctx, const char *path, int32_t n, int32_t **start) {
    mpki_stream *stream = NULL;
    mpk_status status = mpki_stream_open(ctx, path, &stream);
    if (!mpk_failed(status)) status = mpki_starts_read_stream(ctx, stream, n, start);
    mpki_stream_close(&stream);
    return status;
}

mpk_status mpki_perm_check(mpk_context *ctx, const char *stage, int32_t n, const int32_t *given) {
    if (!given)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1,
                          "ordering = given, but options.given_perm is NULL");
    char *seen = mpki_calloc(ctx, stage, n, 1);
    mpk_status status = seen ? MPK_OK : MPK_ERR_MEMORY;
    for (int32_t k = 0; !mpk_failed(status) && k < n; k++) {
        int32_t i = given[k];
        if (i < 0 || i >= n)
            status = mpki_error(ctx, MPK_ERR_ARGUMENT, stage, k,
                                "given_perm[%d] = %d is not in 0 .. %d", k, i, n - 1);
        else if (seen[i]++)
            status = mpki_error(ctx, MPK_ERR_ARGUMENT, stage, k,
                                "given_perm[%d] = %d appeared before: not a permutation", k, i);
    }
    mpki_release(ctx, seen);
    return status;
}
