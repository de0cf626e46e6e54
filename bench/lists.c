/* SPDX-License-Identifier: BSD-3-Clause */
/* The symbolic half of the meta-algorithm on a cube of frames with 27 neighbours each, ordered by
 * AMD: fill, index, level sets, subsets, lists, push-back and merge, each checked; then how much of
 * the lists the inspector hides behind an executor that takes `ns` for each update.
 *  Times are the processor's, but for the inspector's.
 *
 *  bench_lists [SIDE 32] [LEVEL 2] [THREADS 2] [NS 100] */
#include "analysis/schedule/inspector.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static mpk_context *ctx;
static double last_s;

static void need(mpk_status status, const char *what) {
    const char *text;
    if (status == MPK_OK) return;
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("%s: %s\n", what, text);
    exit(1);
}

static double processor_s(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static void lap(const char *what, int64_t count) {
    double now = processor_s();
    printf("  %-12s %10lld  %8.1f ms\n", what, (long long)count, (now - last_s) * 1e3);
    last_s = processor_s();
}

static int32_t inside(int side, int x, int y, int z) {
    bool in = x >= 0 && y >= 0 && z >= 0 && x < side && y < side && z < side;
    return in ? (z * side + y) * side + x : -1;
}

/* Lower triangle of the grid. */
static int64_t grid(int side, int64_t *ap, int32_t *ai) {
    int64_t nnz = 0;
    int32_t column = 0;
    for (int z = 0; z < side; z++)
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++, column++) {
                ap[column] = nnz;
                for (int k = 13; k < 27; k++) { /* a point and those after it */
                    int32_t i = inside(side, x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1);
                    if (i >= column) ai[nnz++] = i;
                }
            }
    return ap[column] = nnz;
}

/* Each point a frame, in AMD's order. */
static mpki_blocking points(int32_t n, const int64_t *ap, const int32_t *ai) {
    mpki_blocking b = {.n = n, .nframes = n, .largest = 1};
    mpki_graph graph;
    mpk_ordering used;
    b.perm = calloc((size_t)n, sizeof *b.perm);
    b.bptr = calloc((size_t)n + 1, sizeof *b.bptr);
    need(mpki_graph_build(ctx, n, ap, ai, NULL, NULL, &graph), "graph");
    need(mpki_order(ctx, &graph, MPK_ORDERING_AMD, 1, 1, b.perm, &used), "order");
    for (int32_t f = 0; f <= n; f++) b.bptr[f] = f;
    mpki_graph_free(ctx, &graph);
    return b;
}

/* All lists, in portions of 256 frames; push: else pull. Returns updates. */
static int64_t list_all(const mpki_ibcsr *x, const mpki_levels *v, bool push, bool check) {
    unsigned char *final = malloc((size_t)x->m);
    mpki_updates batch = {0};
    int64_t updates = 0;
    memset(final, 1, (size_t)x->m);
    for (int32_t s = 0; s < v->count; s++)
        for (int32_t k = v->ptr[s]; k < v->ptr[s + 1]; k += 256) {
            int32_t count = v->ptr[s + 1] - k < 256 ? v->ptr[s + 1] - k : 256;
            need(push ? mpki_updates_push(ctx, x, NULL, count, v->frame + k, &batch)
                      : mpki_updates_pull(ctx, x, final, NULL, count, v->frame + k, &batch),
                 "lists");
            if (check) need(mpki_updates_check(ctx, &batch), "lists");
            updates += batch.ptr[batch.count];
        }
    mpki_updates_free(ctx, &batch);
    free(final);
    return updates;
}

static void inspect(const mpki_ibcsr *x, const mpki_levels *v, const int32_t *bptr, int threads,
                    double ns, int64_t expected) {
    mpki_inspection what = {.index = x,
                            .levels = v,
                            .due = x->m,
                            .bptr = bptr,
                            .schedule = MPK_SCHEDULE_PULL,
                            .budget = 1 << 17,
                            .threads = threads};
    mpki_inspector *inspector = NULL;
    mpki_inspector_times times;
    const mpki_portion *portion;
    int64_t updates = 0;
    double start = mpki_now_s();
    need(mpki_inspector_start(ctx, &what, &inspector), "inspector");
    for (;;) {
        need(mpki_inspector_next(inspector, &portion), "inspector");
        if (!portion) break;
        int64_t mine = portion->batch.ptr[portion->batch.count];
        for (double end = mpki_now_s() + ns * 1e-9 * (double)mine; mpki_now_s() < end;) {}
        updates += mine;
    }
    mpki_inspector_stop(&inspector, &times);
    if (updates != expected) need(MPK_ERR_INTERNAL, "the inspector's lists");
    printf("  inspector, %d thread%s: lists %.1f ms, waited for %.1f ms, in all %.1f ms\n", threads,
           threads > 1 ? "s" : "", times.work_s * 1e3, times.waited_s * 1e3,
           (mpki_now_s() - start) * 1e3);
}

int main(int argc, char **argv) {
    const int side = argc > 1 ? atoi(argv[1]) : 32, level = argc > 2 ? atoi(argv[2]) : 2;
    const int threads = argc > 3 ? atoi(argv[3]) : 2;
    const double ns = argc > 4 ? atof(argv[4]) : 100;
    const int32_t n = side * side * side;
    mpki_pattern a, filled, now;
    mpki_ibcsr x;
    mpki_levels levels, subsets;
    need(mpk_context_create(NULL, &ctx), "context");
    int64_t *ap = malloc(((size_t)n + 1) * sizeof *ap);
    int32_t *ai = malloc(14 * (size_t)n * sizeof *ai);
    const int64_t nnz = grid(side, ap, ai);
    mpki_blocking b = points(n, ap, ai);
    printf("%d frames, level %d\n", (int)n, level);
    last_s = processor_s();
    need(mpki_pattern_of_matrix(ctx, n, ap, ai, &b, &a), "pattern");
    lap("pattern", nnz);
    need(mpki_pattern_fill(ctx, &a, level, threads, 0, &filled), "fill");
    lap("fill", filled.ptr[n]);
    need(mpki_ibcsr_make(ctx, &filled, &x), "index");
    lap("index", x.nblocks);
    need(mpki_levels_make(ctx, &x, 0, &levels), "levels");
    lap("level sets", levels.count);
    need(mpki_subsets_make(ctx, &x, &levels, &subsets, NULL), "subsets");
    lap("subsets", subsets.count);
    need(mpki_ibcsr_check(ctx, &x), "index");
    need(mpki_levels_check(ctx, &x, &levels), "levels");
    need(mpki_subsets_check(ctx, &x, &subsets), "subsets");
    const int64_t pulled = list_all(&x, &levels, false, true);
    if (list_all(&x, &subsets, true, true) != pulled) need(MPK_ERR_INTERNAL, "pull and push");
    last_s = processor_s();
    lap("pull", list_all(&x, &levels, false, false));
    lap("push", list_all(&x, &subsets, true, false));
    inspect(&x, &levels, b.bptr, 1, ns, pulled);
    if (threads > 1) inspect(&x, &levels, b.bptr, threads, ns, pulled);

    int32_t *rejected = malloc((size_t)n * sizeof *rejected), count = 0;
    for (int32_t f = 0; f < n; f += 20) rejected[count++] = f;
    last_s = processor_s();
    need(mpki_ibcsr_push_back(ctx, &x, count, rejected), "push back");
    lap("push back", count);
    need(mpki_ibcsr_pattern(ctx, &x, &now, NULL), "pattern");
    lap("its pattern", now.ptr[n]);
    need(mpki_ibcsr_merge(ctx, &x, &now, NULL), "merge");
    lap("merge", x.nblocks);
    need(mpki_ibcsr_check(ctx, &x), "index");
    mpki_pattern_free(ctx, &a);
    mpki_pattern_free(ctx, &filled);
    mpki_pattern_free(ctx, &now);
    mpki_ibcsr_free(ctx, &x);
    mpki_levels_free(ctx, &levels);
    mpki_levels_free(ctx, &subsets);
    mpk_context_destroy(&ctx);
    free(ap), free(ai), free(b.perm), free(b.bptr), free(rejected);
    return 0;
}
