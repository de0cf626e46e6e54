/* SPDX-License-Identifier: BSD-3-Clause */
/* What the host knows of the fronts (multifrontal/factor/walk.h). Most are what the plan makes of
 * them; the device lists the others, so that the host neither reads nor goes over all of them. */
#include "walk.h"

static const char STAGE[] = "factorize";

/* A front of which no column was delayed, by it or to it. */
static mpki_cuda_front_state as_planned(const mpki_direct *f, int32_t front) {
    const mpki_cuda_node *node = &f->plan.node[front];
    return (mpki_cuda_front_state){f->on.arena + node->panel,
                                   node->own,
                                   node->own,
                                   mpki_cuda_leading(node->own + node->rows),
                                   MPKI_CUDA_DONE,
                                   node->parts,
                                   node->parts_up};
}

static bool is_as_planned(const mpki_direct *f, int32_t front) {
    const int32_t own = f->plan.node[front].own;
    const mpki_cuda_front_state *x = &f->state[front];
    return x->done == MPKI_CUDA_DONE && x->w == own && x->nelim == own;
}

void mpki_cuda_direct_as_planned(mpki_direct *f) {
    for (int32_t k = 0; k < f->plan.fronts; k++) f->state[k] = as_planned(f, k);
    f->changed = 0;
}

/* Fronts from `first` on are as planned. */
static void forget(mpki_direct *f, int32_t first) {
    int32_t kept = 0;
    if (f->changed < 0) mpki_cuda_direct_as_planned(f);
    for (int32_t k = 0; k < f->changed; k++) {
        const int32_t front = f->change[k];
        if (front < first)
            f->change[kept++] = front;
        else
            f->state[front] = as_planned(f, front);
    }
    f->changed = kept;
}

void mpki_cuda_direct_note(mpki_direct *f, int32_t front, const mpki_cuda_front_state *state) {
    f->state[front] = *state;
    if (!is_as_planned(f, front)) f->change[f->changed++] = front;
}

/* All of them, since the list is too short. */
static mpk_status read_all(mpki_direct *f, int32_t first, int32_t last) {
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    if (!MPKI_CUDA_DID(f, to->copy(cuda, f->state + first, f->on.state + first,
                                   (last - first) * (int64_t)sizeof *f->state, 0)) ||
        !MPKI_CUDA_DID(f, to->wait(cuda))) {
        f->changed = -1; /* some of it may be there */
        return mpki_failed(f->ctx);
    }
    for (int32_t k = first; k < last; k++)
        if (!is_as_planned(f, k)) f->change[f->changed++] = k;
    return MPK_OK;
}

mpk_status mpki_cuda_direct_read(mpki_direct *f, int32_t first, int32_t last) {
    const mpki_cuda_report *report;
    forget(f, first);
    if (!MPKI_CUDA_DID(f, f->device->table->direct->report_to_host(f->device->cuda, &f->on, first,
                                                                   last, last == f->plan.fronts,
                                                                   &report)))
        return mpki_failed(f->ctx);
    f->flags = report->flags;
    if (f->flags.numeric)
        return mpki_error(f->ctx, MPK_ERR_NUMERIC, STAGE, -1,
                          "a pivot column holds NaN or Inf: overflow");
    if (report->changes > f->on.listed) return read_all(f, first, last);
    for (int32_t k = 0; k < report->changes; k++)
        mpki_cuda_direct_note(f, report->change[k].front, &report->change[k].state);
    return MPK_OK;
}

/* The supernode of position k. */
static int32_t supernode_of(const mpki_tree_view *tree, int32_t k) {
    int32_t low = 0, high = tree->nsuper;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        *(tree->sptr[middle] <= k ? &low : &high) = middle;
    }
    return low;
}

bool mpki_cuda_direct_late(mpki_direct *f, int32_t *where) {
    bool some = false;
    if (!f->valid || f->plan.larges > 0) return false;
    for (int32_t k = 0; k < f->changed && !some; k++) { /* not to another piece of a supernode */
        const mpki_cuda_front_state *x = &f->state[f->change[k]];
        some = f->plan.kind[f->change[k]] == MPKI_CUDA_SUPERNODE && x->w > x->nelim;
    }
    if (!some || mpk_failed(mpki_cuda_direct_fetch(f)) || f->at[f->plan.units] != f->tree.n)
        return false;
    for (int32_t u = 0; u < f->plan.units; u++) {
        const int32_t s = supernode_of(&f->tree, f->plan.node[f->plan.unit[u]].first);
        for (int32_t k = f->at[u]; k < f->at[u + 1]; k++) where[f->id[k]] = s;
    }
    return true;
}
