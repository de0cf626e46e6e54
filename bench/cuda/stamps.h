/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CUDA_STAMPS_H
#define BENCH_CUDA_STAMPS_H
/* Where the time of fronts in tasks goes, by the device's clocks: of the last factorization, by
 * class, and along the way of fronts that each waited for the latest of its children. Of a module
 * with the points of src/engines/cuda/multifrontal/kernels/stamps.cuh
 * (METAPACK_CUDA_FLAGS=-DMPKI_STAMPS; of sweeps -DMPKI_SWEEP_STAMPS), named by
 * METAPACK_CUDA_MODULE. */
#include "../../src/engines/cuda/multifrontal/state.h"
#include "../../src/engines/cuda/multifrontal/solve/lists.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAMP_PHASES = 11,
    STAMP_BEGUN = STAMP_PHASES,
    STAMP_READY,
    STAMP_DONE,
    STAMP_PARTS,
    STAMPS
};

static const char *const stamp_phase[STAMP_PHASES] = {
    "entries", "wait", "gather", "load", "tile", "full", "rows", "back", "update", "search", "out"};

static int64_t stamp_end(const int64_t *s) {
    return s[STAMP_PARTS] > s[STAMP_DONE] ? s[STAMP_PARTS] : s[STAMP_DONE];
}

/* By class: means of a front. */
static void stamps_by_class(const mpki_cuda_plan *plan, const int64_t *s, double ns) {
    for (int size = 0; size < MPKI_CUDA_CLASSES; size++)
        for (int alone = 0; alone < 2; alone++) {
            double sum[STAMP_PHASES] = {0}, own = 0, rows = 0;
            int32_t count = 0;
            for (int32_t t = 0; t < plan->tasks; t++) {
                const mpki_cuda_task *task = &plan->task[t];
                if (task->size != size || task->part != (alone ? MPKI_CUDA_PANEL : MPKI_CUDA_WHOLE))
                    continue;
                for (int32_t k = task->first; k <= task->last; k++) {
                    if (s[(int64_t)k * STAMPS + STAMP_DONE] == 0) continue;
                    count++, own += plan->node[k].own, rows += plan->node[k].rows;
                    for (int p = 0; p < STAMP_PHASES; p++)
                        sum[p] += ns * (double)s[(int64_t)k * STAMPS + p];
                }
            }
            if (count == 0) continue;
            printf("  class %d%s: %d fronts, %.1f columns, %.1f rows below; us each:", size,
                   alone ? " columns" : "", count, own / count, rows / count);
            for (int p = 0; p < STAMP_PHASES; p++)
                printf(" %s %.2f", stamp_phase[p], sum[p] / count * 1e-3);
            printf("\n");
        }
}

/* From the front that ended last back to a leaf. */
static void stamps_on_path(const mpki_cuda_plan *plan, const int64_t *s, double ns, bool each) {
    double sum[STAMP_PHASES] = {0}, late = 0, hand = 0, parts = 0, columns = 0;
    int32_t at = -1, fronts = 0;
    int64_t last = 0, begun = 0;
    for (int32_t k = 0; k < plan->fronts; k++)
        if (stamp_end(s + (int64_t)k * STAMPS) > last)
            last = stamp_end(s + (int64_t)k * STAMPS), at = k;
    while (at >= 0) {
        const mpki_cuda_node *node = &plan->node[at];
        const int64_t *x = s + (int64_t)at * STAMPS;
        int32_t child = -1;
        int64_t ready = 0;
        if (x[STAMP_DONE] == 0) break; /* not one of a task */
        for (int32_t k = 0; k < node->children; k++) {
            const int32_t c = plan->child[node->child + k];
            const int64_t end = stamp_end(s + (int64_t)c * STAMPS);
            if (end > ready) ready = end, child = c;
        }
        begun = x[STAMP_BEGUN];
        if (child >= 0 && begun > ready) late += (double)(begun - ready);
        hand += (double)(x[STAMP_READY] - (ready > begun ? ready : begun));
        for (int p = STAMP_PHASES - 1; p >= 2; p--) sum[p] += ns * (double)x[p];
        parts += (double)(stamp_end(x) - x[STAMP_DONE]);
        fronts++, columns += node->own;
        if (each) {
            printf("    front %d: %d columns, %d below, %d children; late %.1f", at, node->own,
                   node->rows, node->children,
                   child >= 0 && begun > ready ? (begun - ready) * 1e-3 : 0);
            printf(" ready after %.1f",
                   (double)(x[STAMP_READY] - (ready > begun ? ready : begun)) * 1e-3);
            for (int p = 2; p < STAMP_PHASES; p++)
                printf(" %s %.1f", stamp_phase[p], ns * (double)x[p] * 1e-3);
            printf(" parts %.1f\n", (double)(stamp_end(x) - x[STAMP_DONE]) * 1e-3);
        }
        at = child;
    }
    printf("  path: %d fronts, %.0f columns, %.0f us: begun late %.0f, ready %.0f,", fronts,
           columns, (double)(last - begun) * 1e-3, late * 1e-3, hand * 1e-3);
    for (int p = 2; p < STAMP_PHASES; p++) printf(" %s %.0f,", stamp_phase[p], sum[p] * 1e-3);
    printf(" parts %.0f\n", parts * 1e-3);
}

/* each: every front of the path. Returns 1 where the module has no stamps. */
static int show_stamps(const mpki_direct *f, bool each) {
    const mpki_cuda_plan *plan = &f->plan;
    const char *name = getenv("METAPACK_CUDA_MODULE");
    void *module = name ? dlopen(name, RTLD_LAZY) : NULL;
    int (*get)(int64_t *, int) = NULL;
    if (module) *(void **)(void *)&get = dlsym(module, "mpki_cuda_stamps");
    int64_t *s = calloc((size_t)plan->fronts * STAMPS + 1, sizeof *s), ticks = 0, spent = 0;
    if (!get || !s || get(s, plan->fronts)) {
        printf("  no stamps: METAPACK_CUDA_MODULE names no module that was built with them\n");
        free(s);
        return 1;
    }
    for (int32_t k = 0; k < plan->fronts; k++) {
        const int64_t *x = s + (int64_t)k * STAMPS;
        if (x[STAMP_DONE] == 0) continue;
        for (int p = 0; p < STAMP_PHASES; p++) ticks += x[p];
        spent += x[STAMP_DONE] - x[STAMP_BEGUN];
    }
    const double ns = ticks > 0 ? (double)spent / (double)ticks : 0;
    printf("  %.3f ns a tick\n", ns);
    stamps_by_class(plan, s, ns);
    stamps_on_path(plan, s, ns, each);
    free(s);
    return 0;
}

enum { SWEEP_STAMPS = 3 };

/* The pieces of the last sweeps of doubles, in the order in which blocks took them, of a module
 * with MPKI_SWEEP_STAMPS: kind, front, the front above it, number, columns and rows below them,
 * nanoseconds since the first when it was taken and when it was done, its multiprocessor. Returns 1
 * where the module has no stamps. */
static int show_sweep_stamps(mpk_context *ctx, const mpki_direct *f) {
    const char *name = getenv("METAPACK_CUDA_MODULE");
    void *module = name ? dlopen(name, RTLD_LAZY) : NULL;
    int (*get)(int64_t *, int, int) = NULL;
    mpki_cuda_sweep_lists l;
    int failed = 1;
    if (module) *(void **)(void *)&get = dlsym(module, "mpki_d_cuda_sweep_stamps");
    if (mpk_failed(mpki_cuda_sweep_lists_make(ctx, f, &l))) {
        mpki_cuda_sweep_lists_free(ctx, &l);
        return 1;
    }
    printf("  sweeps: %d and %d pieces, %d chains, %d strips\n", l.downs, l.ups, l.chains,
           l.squares);
    const int32_t most = l.downs > l.ups ? l.downs : l.ups;
    int64_t *s = calloc((size_t)most * SWEEP_STAMPS + 1, sizeof *s);
    for (int back = 0; back < 2 && s && get; back++) {
        const int32_t count = back ? l.ups : l.downs;
        failed = get(s, back, count);
        if (failed) break;
        printf("  sweep %d\n", back);
        for (int32_t k = 0; k < count; k++) {
            const mpki_cuda_piece *p = back ? &l.up[k] : &l.down[k];
            const bool task = p->kind == MPKI_CUDA_TASK || p->kind == MPKI_CUDA_WARPS;
            const int32_t front = task ? p->last : l.chain[p->first].top;
            const int64_t *x = s + (int64_t)k * SWEEP_STAMPS;
            printf("  piece %d %d %d %d %d %d %lld %lld %lld\n", p->kind, front, l.parent[front],
                   task ? p->last - p->first + 1 : p->last, f->state[front].nelim,
                   f->state[front].w + f->plan.node[front].rows - f->state[front].nelim,
                   (long long)(x[0] - s[0]), (long long)(x[1] - s[0]), (long long)x[2]);
        }
    }
    mpki_cuda_sweep_lists_free(ctx, &l);
    free(s);
    return failed;
}

#endif
