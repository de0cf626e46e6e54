/* SPDX-License-Identifier: BSD-3-Clause */
/* Which fronts of a tree are tasks, alone or together, and which are large; the parts of
 * contributions; how long each takes (multifrontal/plan/cut.h). */
#include "cut.h"

double mpki_cuda_front_ns(const mpki_cuda_cut *c, int32_t s) {
    const double own = c->m.own[s], nrows = own + c->m.rows[s];
    const double children = c->m.child_ptr[s + 1] - c->m.child_ptr[s];
    return mpki_task_front_ns(c->panel[s], own, nrows, children);
}

int32_t mpki_cuda_rows_up(const mpki_cuda_cut *c, int32_t s, int32_t *parts) {
    const mpki_cuda_made *m = &c->m;
    const int32_t all = (m->rows[s] + MPKI_FRONT_CONTRIBUTION - 1) / MPKI_FRONT_CONTRIBUTION;
    int32_t up = 0, high = m->rows[s];
    while (m->parent[s] >= 0 && up < high) {
        const int32_t middle = up + (high - up) / 2;
        if (m->list[m->rel[s] + middle] < m->own[m->parent[s]])
            up = middle + 1;
        else
            high = middle;
    }
    const int32_t panels = (up + MPKI_FRONT_CONTRIBUTION - 1) / MPKI_FRONT_CONTRIBUTION;
    *parts = c->panel[s] ? panels * all - panels * (panels - 1) / 2 : 0;
    return up;
}

int32_t mpki_cuda_parts_of(const mpki_cuda_cut *c, int32_t s) {
    const int32_t n = (c->m.rows[s] + MPKI_FRONT_CONTRIBUTION - 1) / MPKI_FRONT_CONTRIBUTION;
    return c->panel[s] ? n * (n + 1) / 2 : 0;
}

/* Which fronts fit into a block's shared memory, as a whole or as columns alone (size, panel).
 * Returns how long a subtree that is one task may take, ns: where there are more blocks than such
 * tasks, these are smaller, and side by side. */
static double find_sizes(mpki_cuda_cut *c) {
    const mpki_cuda_made *m = &c->m;
    double sum = 0;
    for (int32_t s = 0; s < m->count; s++) {
        const int size = mpki_cuda_class_of(m, m->own[s], m->rows[s]);
        c->panel[s] = size == MPKI_CUDA_CLASSES && m->own[s] <= MPKI_CUDA_PANEL_MOST &&
                      mpki_cuda_panel_fits(m, m->own[s], m->rows[s]);
        c->size[s] = (int8_t)(c->panel[s] ? MPKI_CUDA_CLASSES - 1 : size);
        if (c->size[s] < MPKI_CUDA_CLASSES) sum += mpki_cuda_front_ns(c, s);
    }
    const double share = sum / m->capacity->blocks[1];
    return share < MPKI_TASK_LEAST_NS ? MPKI_TASK_LEAST_NS
           : share < MPKI_TASK_NS     ? share
                                      : MPKI_TASK_NS;
}

void mpki_cuda_find_tasks(mpki_cuda_cut *c) {
    const mpki_cuda_made *m = &c->m;
    const double limit = find_sizes(c);
    for (int32_t at = 0; at < m->count; at++) {
        const int32_t s = m->post[at];
        double sum = 0, most = 0;
        int size = c->size[s];
        bool joins = size < MPKI_CUDA_CLASSES && !c->panel[s];
        c->begin[s] = at;
        for (int32_t k = m->child_ptr[s]; k < m->child_ptr[s + 1]; k++) {
            const int32_t child = m->child[k];
            joins = joins && c->size[child] < MPKI_CUDA_CLASSES && !c->panel[child];
            sum += c->time[child];
            most = c->time[child] > most ? c->time[child] : most;
            if (c->begin[child] < c->begin[s]) c->begin[s] = c->begin[child];
        }
        const double mine = mpki_cuda_front_ns(c, s);
        joins = joins && (sum + mine <= limit || sum - most <= MPKI_TASK_BRANCH_NS);
        c->time[s] = mine + (joins ? sum : 0);
        c->root[s] = s;
        for (int32_t k = m->child_ptr[s]; joins && k < m->child_ptr[s + 1]; k++) {
            const int32_t child = m->child[k];
            c->root[child] = s; /* of a task's root; followed up below */
            if (c->size[child] > size) size = c->size[child];
        }
        c->size[s] = (int8_t)size;
    }
    for (int32_t at = m->count - 1; at >= 0; at--) { /* parents first */
        const int32_t s = m->post[at];
        if (c->root[s] != s) {
            c->root[s] = c->root[c->root[s]];
            c->size[s] = c->size[c->root[s]];
            continue;
        }
        c->path[s] = c->time[s] + (m->parent[s] < 0 ? 0 : c->path[c->root[m->parent[s]]]);
        if (c->size[s] < MPKI_CUDA_CLASSES)
            c->plan->tasks += 1 + mpki_cuda_parts_of(c, s);
        else
            c->plan->larges++;
    }
}
