/* SPDX-License-Identifier: BSD-3-Clause */
/* An order and its supernodes as text. */
#include "tree_file.h"
#include "../problem/number.h"
#include "../problem/sink.h"
#include "../problem/text.h"

static const char STAGE[] = "read";

/* ---- read ------------------------------------------------------------------------------------ */

typedef struct reader {
    mpki_text text;
    int32_t n, count;
    mpki_tree_file *t;
} reader;

static mpk_status bad(const reader *r, const char *what) {
    return mpki_text_error(&r->text, MPK_ERR_INPUT, "%s", what);
}

/* "row supernode parent" */
static mpk_status take_line(reader *r, const char *p) {
    mpki_tree_file *t = r->t;
    int64_t x[3];
    for (int k = 0; k < 3; k++) {
        if (!mpki_read_integer(&p, &x[k])) return bad(r, "expected a row, a supernode, its parent");
        p = mpki_skip_blanks(p);
    }
    if (*p != '\n') return bad(r, "expected three integers in a line");
    if (r->count == r->n) return bad(r, "the tree has more positions than the matrix has rows");
    if (x[0] < 1 || x[0] > r->n) return bad(r, "the matrix has no such row; they count from 1");
    const bool same = x[1] == t->supernodes && r->count > 0;
    if (!same && x[1] != (int64_t)t->supernodes + 1)
        return bad(r, "supernodes must be numbered 1, 2, ... in their order");
    if (x[2] < 0 || x[2] > r->n) return bad(r, "a parent is 0 or the number of a supernode");
    if (same && x[2] - 1 != t->parent[t->supernodes - 1])
        return bad(r, "a supernode has two parents");
    if (!same) {
        t->first[t->supernodes] = r->count;
        t->parent[t->supernodes++] = (int32_t)x[2] - 1;
    }
    t->perm[r->count++] = (int32_t)x[0] - 1;
    r->text.cursor = p + 1;
    return MPK_OK;
}

static mpk_status take_all(reader *r) {
    for (;;) {
        const char *start;
        mpk_status status = mpki_text_next(&r->text, &start);
        if (mpk_failed(status)) return status;
        if (!start) break;
        const char *p = mpki_skip_blanks(start);
        if (*p == '%' || *p == '#' || *p == '\n')
            mpki_text_skip(&r->text, p);
        else
            status = take_line(r, p);
        if (mpk_failed(status)) return status;
    }
    if (r->count < r->n) return bad(r, "the tree has fewer positions than the matrix has rows");
    r->t->first[r->t->supernodes] = r->n;
    return MPK_OK;
}

mpk_status mpki_tree_read(mpk_context *ctx, const char *path, int32_t n, mpki_tree_file *t) {
    mpki_stream *stream = NULL;
    *t = (mpki_tree_file){.perm = MPKI_NEW(ctx, STAGE, n, int32_t),
                          .first = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int32_t),
                          .parent = MPKI_NEW(ctx, STAGE, n, int32_t)};
    mpk_status status =
        t->perm && t->first && t->parent ? mpki_stream_open(ctx, path, &stream) : mpki_failed(ctx);
    reader r = {.text = {.ctx = ctx, .stream = stream}, .n = n, .t = t};
    if (!mpk_failed(status)) status = take_all(&r);
    mpki_stream_close(&stream);
    return status;
}

void mpki_tree_file_free(mpk_context *ctx, mpki_tree_file *t) {
    mpki_release(ctx, t->perm);
    mpki_release(ctx, t->first);
    mpki_release(ctx, t->parent);
    *t = (mpki_tree_file){0};
}

/* ---- write ----------------------------------------------------------------------------------- */

mpk_status mpki_tree_write(mpk_context *ctx, const char *path, const mpk_tree *tree) {
    mpki_sink *sink = NULL;
    if (!tree->perm)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "write", -1,
                          "%.300s: only the direct method has a tree", path);
    mpk_status status = mpki_sink_open(ctx, path, &sink);
    if (mpk_failed(status)) return status;
    status = mpki_sink_print(sink, "%% by position: row of A, supernode, its parent (0: a root); "
                                   "all from 1\n");
    for (int32_t s = 0; s < tree->supernodes && !mpk_failed(status); s++)
        for (int32_t k = tree->first[s]; k < tree->first[s + 1] && !mpk_failed(status); k++) {
            mpki_sink_integer(sink, (int64_t)tree->perm[k] + 1);
            mpki_sink_blank(sink);
            mpki_sink_integer(sink, (int64_t)s + 1);
            mpki_sink_blank(sink);
            mpki_sink_integer(sink, (int64_t)tree->parent[s] + 1);
            status = mpki_sink_end_line(sink);
        }
    return mpki_sink_close(&sink, status);
}
