/* SPDX-License-Identifier: BSD-3-Clause */
#include "perm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096 };

/* What is known while the lines go by. */
typedef struct reader {
    mpk_context *ctx;
    const char *path;
    int64_t line;
    int32_t n, count;
    bool market, sized; /* a Matrix Market file; its size line has been seen */
    int32_t *perm;
} reader;

static mpk_status bad(const reader *r, const char *what) {
    return mpki_error(r->ctx, MPK_ERR_INPUT, "read", r->line, "%s:%lld: %s", r->path,
                      (long long)r->line, what);
}

/* The numbers of one line. */
static mpk_status take_line(reader *r, const char *text) {
    if (r->market && !r->sized) {
        long long rows, columns;
        if (sscanf(text, "%lld %lld", &rows, &columns) != 2 || rows * columns != r->n)
            return bad(r, "the order must have as many entries as the matrix has rows");
        r->sized = true;
        return MPK_OK;
    }
    for (;;) {
        char *end;
        double x = strtod(text, &end);
        if (end == text) break;
        if (!(x >= 0 && x <= r->n) || x != floor(x))
            return bad(r, "an entry of the order is no index of the matrix");
        if (r->count == r->n) return bad(r, "the order has more entries than the matrix has rows");
        r->perm[r->count++] = (int32_t)x;
        text = end;
    }
    while (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n') text++;
    return *text ? bad(r, "expected integers") : MPK_OK;
}

/* Count from 0, each index once. */
static mpk_status check(reader *r) {
    if (r->count < r->n) return bad(r, "the order has fewer entries than the matrix has rows");
    int32_t base = 1;
    for (int32_t k = 0; k < r->n; k++)
        if (r->perm[k] == 0) base = 0;
    char *seen = mpki_calloc(r->ctx, "read", r->n, 1);
    if (!seen) return MPK_ERR_MEMORY;
    mpk_status status = MPK_OK;
    for (int32_t k = 0; k < r->n && !status; k++) {
        int32_t i = r->perm[k] -= base;
        if (i >= r->n || seen[i])
            status = mpki_error(r->ctx, MPK_ERR_INPUT, "read", k,
                                "%s: entry %d: index %d is out of range or there twice", r->path,
                                k + 1, i + base);
        else
            seen[i] = 1;
    }
    mpki_release(r->ctx, seen);
    return status;
}

mpk_status mpki_perm_read(mpk_context *ctx, const char *path, int32_t n, int32_t **perm) {
    reader r = {.ctx = ctx, .path = path, .n = n};
    char text[LINE_MAX_BYTES];
    mpk_status status = MPK_OK;
    FILE *file = fopen(path, "r");
    if (!file) return mpki_error(ctx, MPK_ERR_FILE, "read", -1, "%s: cannot be opened", path);
    r.perm = MPKI_NEW(ctx, "read", n, int32_t);
    if (!r.perm) status = MPK_ERR_MEMORY;
    while (!status && fgets(text, sizeof text, file)) {
        r.line++;
        if (!strchr(text, '\n') && !feof(file)) status = bad(&r, "the line is too long");
        if (r.line == 1 && !strncmp(text, "%%MatrixMarket", 14)) r.market = true;
        if (!status && *text != '%' && *text != '#' && *text != '\n') status = take_line(&r, text);
    }
    if (!status && ferror(file))
        status = mpki_error(ctx, MPK_ERR_FILE, "read", r.line, "%s: cannot be read", path);
    fclose(file);
    if (!status) status = check(&r);
    if (status)
        mpki_release(ctx, r.perm);
    else
        *perm = r.perm;
    return status;
}

mpk_status mpki_perm_check(mpk_context *ctx, const char *stage, int32_t n, const int32_t *given) {
    if (!given)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1,
                          "ordering = given, but options.given_perm is NULL");
    char *seen = mpki_calloc(ctx, stage, n, 1);
    mpk_status status = seen ? MPK_OK : MPK_ERR_MEMORY;
    for (int32_t k = 0; !status && k < n; k++) {
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
