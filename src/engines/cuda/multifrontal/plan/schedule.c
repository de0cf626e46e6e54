/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which blocks of threads take the tasks of one class and step
 * (multifrontal/plan/cut.h): that of a list schedule (Graham 1969, doi 10.1137/0117039) on as many
 * blocks as work side by side. In the order of the longest way to the root alone, blocks would
 * stand at parts of a contribution whose columns are not eliminated yet, and at fronts whose
 * children are not done, while others could be at work. */
#include "cut.h"

#include "core/heap.h"

static const char STAGE[] = "factorize";

enum { ENDS, OPENS }; /* what happens: a task or a part ends; the parts of a front may begin */

typedef struct plan_of_step {
    const mpki_cuda_cut *c;
    const int32_t *root;
    int32_t *place;  /* by front: 1 + its number in `root`; 0: not here */
    int32_t *waits;  /* by number: tasks, here, that it waits for */
    int32_t *opened; /* by number: its next part */
    int32_t *left;   /* by number: what of it has not ended */
    mpki_heap ready; /* by urgency; at: number */
    mpki_heap event; /* by time; at: number */
} plan_of_step;

/* The task that waits for task k, if it is here; -1. */
static int32_t above(const plan_of_step *z, int32_t k) {
    const mpki_cuda_made *m = &z->c->m;
    const int32_t up = m->parent[z->root[k]];
    return up < 0 ? -1 : z->place[z->c->root[up]] - 1;
}

static double urgency(const plan_of_step *z, int32_t k, bool part) {
    const int32_t s = z->root[k];
    return -(z->c->path[s] - (part ? z->c->time[s] : 0));
}

static void happen(plan_of_step *z, mpki_heap_entry x) {
    const int32_t k = x.at;
    if (x.what == OPENS) {
        mpki_heap_push(&z->ready, (mpki_heap_entry){urgency(z, k, true), k, OPENS});
        return;
    }
    if (--z->left[k] > 0) return;
    const int32_t up = above(z, k);
    if (up >= 0 && --z->waits[up] == 0)
        mpki_heap_push(&z->ready, (mpki_heap_entry){urgency(z, up, false), up, ENDS});
}

/* Begin what is most urgent, as far as blocks are free. Returns how many are free then. */
static int32_t begin(plan_of_step *z, double now, int32_t blocks, const int32_t *parts,
                     mpki_cuda_item *out, int32_t *next) {
    const mpki_cuda_made *m = &z->c->m;
    while (blocks > 0 && z->ready.count > 0) {
        const mpki_heap_entry x = z->ready.entry[0];
        const int32_t k = x.at, s = z->root[k];
        const double part_ns =
            MPKI_PART_NS + (double)MPKI_PART_CHILD_NS * (m->child_ptr[s + 1] - m->child_ptr[s]);
        double takes = z->c->time[s];
        if (x.what == ENDS) { /* the task itself */
            (void)mpki_heap_pop(&z->ready);
            out[(*next)++] = (mpki_cuda_item){s, -1};
            if (parts[k] > 0) { /* children are added up before the columns are there */
                const double open = takes > part_ns ? takes - part_ns : 0;
                mpki_heap_push(&z->event, (mpki_heap_entry){now + open, k, OPENS});
            }
        } else {
            out[(*next)++] = (mpki_cuda_item){s, z->opened[k]++};
            if (z->opened[k] == parts[k]) (void)mpki_heap_pop(&z->ready);
            takes = 2 * part_ns;
        }
        mpki_heap_push(&z->event, (mpki_heap_entry){now + takes, k, ENDS});
        blocks--;
    }
    return blocks;
}

mpk_status mpki_cuda_schedule(const mpki_cuda_cut *c, const int32_t *root, const int32_t *parts,
                              int32_t count, int32_t blocks, int32_t *place, mpki_cuda_item *out) {
    const mpki_cuda_made *m = &c->m;
    int32_t next = 0, free_blocks = blocks;
    plan_of_step z = {.c = c,
                      .root = root,
                      .place = place,
                      .waits = MPKI_ZNEW(m->ctx, STAGE, 3 * ((int64_t)count + 1), int32_t),
                      .ready.entry = MPKI_NEW(m->ctx, STAGE, (int64_t)count + 1, mpki_heap_entry),
                      .event.entry =
                          MPKI_NEW(m->ctx, STAGE, (int64_t)count + blocks + 1, mpki_heap_entry)};
    const bool all = z.waits && z.ready.entry && z.event.entry;
    for (int32_t k = 0; all && k < count; k++) z.place[root[k]] = 1 + k;
    if (all) z.opened = z.waits + count + 1, z.left = z.opened + count + 1;
    for (int32_t k = 0; all && k < count; k++) {
        const int32_t up = above(&z, k);
        if (up >= 0) z.waits[up]++;
        z.left[k] = 1 + parts[k];
    }
    for (int32_t k = 0; all && k < count; k++)
        if (z.waits[k] == 0)
            mpki_heap_push(&z.ready, (mpki_heap_entry){urgency(&z, k, false), k, ENDS});
    if (all) free_blocks = begin(&z, 0, free_blocks, parts, out, &next);
    while (all && z.event.count > 0) {
        const double now = z.event.entry[0].key;
        while (z.event.count > 0 && z.event.entry[0].key <= now) {
            const mpki_heap_entry x = mpki_heap_pop(&z.event);
            free_blocks += x.what == ENDS;
            happen(&z, x);
        }
        free_blocks = begin(&z, now, free_blocks, parts, out, &next);
    }
    for (int32_t k = 0; k < count; k++) place[root[k]] = 0;
    mpki_release(m->ctx, z.waits);
    mpki_release(m->ctx, z.ready.entry);
    mpki_release(m->ctx, z.event.entry);
    return mpki_failed(m->ctx);
}
