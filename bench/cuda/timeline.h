/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CUDA_TIMELINE_H
#define BENCH_CUDA_TIMELINE_H
/* What a sweep reads, level set by level set, and, with a module that has the points of
 * src/engines/cuda/triangular/kernels/stamps.cuh (METAPACK_CUDA_FLAGS=-DMPKI_STAMPS), when: of the
 * last application, by level set, and along the way of tasks that each waited for the latest of its
 * columns. */
#include "engines/cuda/module/load.h"
#include "engines/cuda/triangular/solve.h"
#include "engines/cuda/triangular/kernels/triangular.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LINE_FOLDED = 1,
    LINE_OF_M = 4,
    LINE_TILES = 8,
    LINE_DENSE = 16 | 32
};                                                                   /* sweeps/packet.cuh */
enum { LINE_BEGUN, LINE_ASKED, LINE_READY, LINE_DONE, LINE_STAMPS }; /* stamps.cuh, ns */

typedef struct line_packet {
    uint32_t next;
    uint16_t columns;
    uint8_t steps, flags;
    int32_t slot, part, first_part, parts;
    uint16_t rows, size;
    uint32_t unused;
} line_packet;

/* A task as it was packed. */
typedef struct line_task {
    int32_t half, level, unit, rows; /* level: of its unit as early as can be; unit: first slot */
    int32_t packets, late, late_columns, late_steps, columns, steps;
    int32_t critical; /* the task that the last of its columns came from; -1: none */
    int64_t bytes;
    bool final;
} line_task;

typedef struct line_level {
    int64_t tasks, units, bytes, late, late_columns, late_steps, entries_steps;
    int32_t most_late, most_columns, most_steps, most_parts;
    int64_t first_ready, last_ready, first_done, last_done;
} line_level;

typedef struct timeline {
    int64_t tasks, n;
    line_task *task;
    int32_t *owner[2], *level[2]; /* of slots */
    int32_t *part_task;
    char *packets;
    int64_t *stamp;
} timeline;

static void *line_array(int64_t count, size_t size) {
    void *p = calloc((size_t)count + 1, size);
    if (!p) exit(1);
    return p;
}

static const uint32_t *line_list(const line_packet *p, size_t size) {
    const size_t quad = 128 + 128 * size;
    if (p->flags & LINE_DENSE) return (const uint32_t *)(p + 1);
    return (const uint32_t *)((const char *)p + 32 + (p->flags & LINE_FOLDED ? 128 : 0) +
                              p->steps / 2 * (quad / 2));
}

/* Task t, after all those that it waits for. */
static void line_read(timeline *l, int64_t t, const mpki_sweeps_task *at, size_t size, int half) {
    line_task *k = &l->task[t];
    const char *place = l->packets + (int64_t)at->at * 16;
    const int32_t *level = l->level[half];
    int32_t before = -1;
    k->half = half;
    for (int turn = 0; turn < 2; turn++) {
        const char *next = place;
        for (const line_packet *p;; next += p->size * 16) {
            p = (const line_packet *)next;
            if (!(p->flags & (LINE_OF_M | LINE_TILES))) {
                const uint32_t *slot = line_list(p, size);
                int32_t due = 0;
                for (int c = 0; c < p->columns; c++) {
                    if (!turn && level[slot[c]] > before) before = level[slot[c]];
                    due += level[slot[c]] == before;
                }
                if (turn && due) {
                    k->late++, k->late_columns += due;
                    k->late_steps += p->flags & LINE_DENSE ? 0 : p->steps;
                }
                if (turn) k->columns += p->columns, k->steps += p->steps;
            }
            if (!turn) k->bytes += p->size * 16, k->packets++;
            k->unit = p->slot, k->rows = p->rows, k->final = p->part < 0;
            if (!p->next) {
                if (!turn)
                    for (int q = 0; q < p->parts; q++) {
                        const line_task *of = &l->task[l->part_task[p->first_part + q]];
                        if (of->level - 1 > before) before = of->level - 1;
                    }
                if (turn && p->part >= 0) l->part_task[p->part] = (int32_t)t;
                if (turn && p->part < 0)
                    for (int r = 0; r < p->rows; r++)
                        l->owner[half][p->slot + r] = (int32_t)t,
                                                 l->level[half][p->slot + r] = before + 1;
                break;
            }
        }
    }
    k->level = before + 1;
}

static void line_levels(const timeline *l, int half, int32_t levels, bool each) {
    line_level *v = line_array(levels, sizeof *v);
    for (int64_t t = 0; t < l->tasks; t++) {
        const line_task *k = &l->task[t];
        line_level *x = &v[k->level];
        if (k->half != half) continue;
        x->tasks++, x->units += k->final, x->bytes += k->bytes;
        x->late += k->late, x->late_columns += k->late_columns, x->late_steps += k->late_steps;
        x->entries_steps += k->steps;
        if (k->late > x->most_late) x->most_late = k->late;
        if (k->late_columns > x->most_columns) x->most_columns = k->late_columns;
        if (k->late_steps > x->most_steps) x->most_steps = k->late_steps;
        if (!l->stamp || !k->final) continue;
        const int64_t *s = l->stamp + t * LINE_STAMPS;
        if (!x->first_ready || s[LINE_READY] < x->first_ready) x->first_ready = s[LINE_READY];
        if (s[LINE_READY] > x->last_ready) x->last_ready = s[LINE_READY];
        if (!x->first_done || s[LINE_DONE] < x->first_done) x->first_done = s[LINE_DONE];
        if (s[LINE_DONE] > x->last_done) x->last_done = s[LINE_DONE];
    }
    int64_t narrow = 0, narrow_bytes = 0, wide = 0, wide_bytes = 0, begin = 0, before = 0;
    double narrow_ns = 0, wide_ns = 0;
    for (int32_t k = 0; k < levels; k++) {
        const line_level *x = &v[k];
        const bool thin = x->units <= 132;
        if (!begin) begin = before = x->first_ready;
        const double ns = (double)(x->last_done - before);
        *(thin ? &narrow : &wide) += 1;
        *(thin ? &narrow_bytes : &wide_bytes) += x->bytes;
        *(thin ? &narrow_ns : &wide_ns) += ns;
        if (each)
            printf(
                "   %d %3d: units %lld tasks %lld KB %lld late packets %.2f most %d columns %.0f "
                "most %d steps %.1f most %d | first ready %lld last %lld first done %lld last "
                "%lld, more %.0f ns\n",
                half, k, (long long)x->units, (long long)x->tasks, (long long)x->bytes / 1024,
                (double)x->late / (double)x->tasks, x->most_late,
                (double)x->late_columns / (double)x->tasks, x->most_columns,
                (double)x->late_steps / (double)x->tasks, x->most_steps,
                (long long)(x->first_ready - begin), (long long)(x->last_ready - begin),
                (long long)(x->first_done - begin), (long long)(x->last_done - begin), ns);
        before = x->last_done;
    }
    printf("  %s: %lld level sets of at most 132 units, %.1f MB, %.1f us; %lld wider, %.1f MB, "
           "%.1f us\n",
           half ? "LT" : "L", (long long)narrow, 1e-6 * (double)narrow_bytes, 1e-3 * narrow_ns,
           (long long)wide, 1e-6 * (double)wide_bytes, 1e-3 * wide_ns);
    free(v);
}

/* From the task that ended last back to one that waited for none. */
static void line_path(const timeline *l, const mpki_sweeps_task *tasks, size_t size, int half,
                      bool each) {
    int64_t at = -1;
    double begun = 0, hop = 0, own = 0, asked = 0;
    int32_t count = 0, idle = 0;
    for (int64_t t = 0; t < l->tasks; t++)
        if (l->task[t].half == half && (at < 0 || l->stamp[t * LINE_STAMPS + LINE_DONE] >
                                                      l->stamp[at * LINE_STAMPS + LINE_DONE]))
            at = t;
    while (at >= 0) {
        const int64_t *s = l->stamp + at * LINE_STAMPS;
        const line_task *k = &l->task[at];
        int64_t last = -1;
        const char *next = l->packets + (int64_t)tasks[at].at * 16;
        for (const line_packet *p;; next += p->size * 16) {
            p = (const line_packet *)next;
            const uint32_t *slot = line_list(p, size);
            for (int c = 0; c < (p->flags & (LINE_OF_M | LINE_TILES) ? 0 : p->columns); c++) {
                const int32_t t = l->owner[half][slot[c]];
                if (last < 0 || l->stamp[(int64_t)t * LINE_STAMPS + LINE_DONE] >
                                    l->stamp[last * LINE_STAMPS + LINE_DONE])
                    last = t;
            }
            for (int q = 0; q < (p->next ? 0 : p->parts); q++) {
                const int32_t t = l->part_task[p->first_part + q];
                if (last < 0 || l->stamp[(int64_t)t * LINE_STAMPS + LINE_DONE] >
                                    l->stamp[last * LINE_STAMPS + LINE_DONE])
                    last = t;
            }
            if (!p->next) break;
        }
        const int64_t from = last < 0 ? s[LINE_BEGUN] : l->stamp[last * LINE_STAMPS + LINE_DONE];
        const int64_t late = s[LINE_BEGUN] > from ? s[LINE_BEGUN] - from : 0;
        const int64_t ask = s[LINE_ASKED] > from + late ? s[LINE_ASKED] - from - late : 0;
        begun += (double)late, asked += (double)ask, idle += late > 0;
        hop += (double)(s[LINE_READY] - from - late - ask),
            own += (double)(s[LINE_DONE] - s[LINE_READY]);
        count++;
        if (each)
            printf("   path %d level %d task %lld rows %d packets %d late %d columns %d steps "
                   "%d%s: late begun %lld ask %lld "
                   "ready %lld done %lld\n",
                   half, k->level, (long long)at, k->rows, k->packets, k->late, k->late_columns,
                   k->late_steps, k->final ? "" : " part", (long long)late, (long long)ask,
                   (long long)(s[LINE_READY] - from - late - ask),
                   (long long)(s[LINE_DONE] - s[LINE_READY]));
        at = last;
    }
    printf("  %s: the way of %d tasks: us each: begun late %.3f (%d tasks), asked late %.3f, until "
           "its columns are there %.3f, "
           "from there to its result %.3f\n",
           half ? "LT" : "L", count, 1e-3 * begun / count, idle, 1e-3 * asked / count,
           1e-3 * hop / count, 1e-3 * own / count);
}

static void *line_down(const mpki_device *d, const void *from, int64_t bytes) {
    void *to = line_array(bytes, 1);
    if (mpk_failed(d->table->copy(d->cuda, to, bytes, from, bytes, bytes, 1, 0, NULL)) ||
        mpk_failed(d->table->synchronize(d->cuda, NULL)))
        exit(1);
    return to;
}

/* size: of an entry; each: level by level, task by task */
static void show_timeline(const mpki_device *d, const mpki_cuda_sweeps_numbers *s, int32_t n,
                          size_t size, int32_t levels, bool each) {
    timeline l = {.tasks = s->tasks, .n = n};
    const int64_t ticket[3] = {0, s->forward, s->tasks};
    mpki_sweeps_task *tasks = line_down(d, s->ticket, l.tasks * (int64_t)sizeof *tasks);
    l.task = line_array(l.tasks, sizeof *l.task);
    l.part_task = line_array(s->parts, sizeof *l.part_task);
    l.packets = line_down(d, s->packet, s->packets);
    for (int half = 0; half < 2; half++) {
        l.owner[half] = line_array(l.n, sizeof(int32_t)),
        l.level[half] = line_array(l.n, sizeof(int32_t));
        for (int64_t t = ticket[half]; t < ticket[half + 1]; t++)
            line_read(&l, t, &tasks[t], size, half);
    }
    const char *module = getenv("METAPACK_CUDA_MODULE");
    void *so = module ? dlopen(module, RTLD_NOW | RTLD_NOLOAD) : NULL;
    int (*get)(int64_t *, int) = NULL;
    if (so) *(void **)&get = dlsym(so, "mpki_cuda_sweeps_stamps");
    if (get) {
        l.stamp = line_array(l.tasks * LINE_STAMPS, sizeof *l.stamp);
        if (get(l.stamp, (int)l.tasks)) exit(1);
    }
    for (int half = 0; half < 2; half++) {
        line_levels(&l, half, levels, each);
        if (get) line_path(&l, tasks, size, half, each);
    }
    free(tasks), free(l.task), free(l.part_task), free(l.packets), free(l.stamp);
    for (int half = 0; half < 2; half++) free(l.owner[half]), free(l.level[half]);
}

#endif
