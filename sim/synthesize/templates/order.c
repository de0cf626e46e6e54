/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of elimination: pairs are one node; frames are cut from it, and but for reverse
 * Cuthill-McKee ordered once more (strategy RBR of Thuerck 2021, sec. 8.5). */
#include <string.h>
#include "parts.h"

void solver_graph_free(graph *g) {
    free(g->ptr), free(g->adj);
}

int solver_graph(const solver *s, const int32_t *group, int n, graph *g) {
    const size_t entries = 2 * (size_t)s->rp[s->n];
    int32_t *mark = get((size_t)n, sizeof *mark);
    int64_t *fill = get((size_t)n + 2, sizeof *fill);
    g->n = n;
    g->ptr = get((size_t)n + 1, sizeof *g->ptr);
    g->adj = get(entries, sizeof *g->adj);
    int32_t *raw = get(entries, sizeof *raw);
    const int good = mark && fill && g->ptr && g->adj && raw;
    for (int pass = 0; pass < 2 && good; pass++) {
        for (int i = 0; i < s->n; i++)
            for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++) {
                const int a = group[s->with[i]], b = group[s->rj[e]];
                if (a == b) continue;
                if (pass == 0)
                    fill[a + 2]++, fill[b + 2]++;
                else
                    raw[fill[a + 1]++] = b, raw[fill[b + 1]++] = a;
            }
        for (int k = 0; k < n && pass == 0; k++) fill[k + 2] += fill[k + 1];
    }
    for (int k = 0; k < n && good; k++) mark[k] = -1;
    for (int k = 0; k < n && good; k++) {
        int64_t to = g->ptr[k];
        for (int64_t e = fill[k]; e < fill[k + 1]; e++)
            if (mark[raw[e]] != k) mark[raw[e]] = k, g->adj[to++] = raw[e];
        g->ptr[k + 1] = to;
    }
    int32_t *less = good ? realloc(g->adj, ((size_t)g->ptr[n] + 1) * sizeof *less) : NULL;
    if (less) g->adj = less;
    free(mark), free(fill), free(raw);
    return good ? 0 : -1;
}

/* ---- breadth first --------------------------------------------------------------------------- */

typedef struct search {
    const graph *g;
    int32_t *part, *seen; /* only nodes of part `mine`; seen: by a number of each search */
    int32_t mine, number;
    int32_t *list, *level;
    int levels;
} search;

static int degree(const graph *g, int k) {
    return (int)(g->ptr[k + 1] - g->ptr[k]);
}

/* list := the nodes that `start` reaches, in the order of Cuthill & McKee; returns how many. */
static int breadth_first(search *f, int start) {
    int head = 0, tail = 1;
    f->number++;
    f->list[0] = start, f->seen[start] = f->number, f->level[start] = 0;
    for (; head < tail; head++) {
        const int i = f->list[head], first = tail;
        for (int64_t e = f->g->ptr[i]; e < f->g->ptr[i + 1]; e++) {
            const int j = f->g->adj[e];
            if (f->seen[j] == f->number || f->part[j] != f->mine) continue;
            int at = tail++;
            f->seen[j] = f->number, f->level[j] = f->level[i] + 1;
            for (; at > first && degree(f->g, f->list[at - 1]) > degree(f->g, j); at--)
                f->list[at] = f->list[at - 1];
            f->list[at] = j;
        }
    }
    f->levels = f->level[f->list[tail - 1]] + 1;
    return tail;
}

/* The same from a node at the rim: the last of few neighbours, as long as levels grow. */
static int from_rim(search *f, int start) {
    int count = breadth_first(f, start);
    for (int pass = 0, levels = 0; pass < 8 && f->levels > levels; pass++) {
        int end = f->list[count - 1];
        levels = f->levels;
        for (int k = count; k-- > 0 && f->level[f->list[k]] == levels - 1;)
            if (degree(f->g, f->list[k]) < degree(f->g, end)) end = f->list[k];
        count = breadth_first(f, end);
    }
    return count;
}

/* order: reverse Cuthill-McKee, each component from its rim. */
static void rcm(search *f, int32_t *order) {
    int at = f->g->n;
    for (int k = 0; k < f->g->n; k++) {
        if (f->part[k] != 0) continue;
        const int count = from_rim(f, k);
        for (int c = 0; c < count; c++) order[--at] = f->list[c], f->part[f->list[c]] = -1;
    }
}

/* Nested dissection by level structures (George & Liu 1978): the middle level of a search separates
 * what is before it from what is behind; parts of at most LEAF nodes stay as they are. */
static void dissect(search *f, int32_t *order) {
    enum { LEAF = 32 };
    int at = f->g->n, parts = 1;
    for (int k = f->g->n - 1; k >= 0;) { /* what is ordered is in part -1 */
        if (f->part[k] < 0) {
            k--;
            continue;
        }
        f->mine = f->part[k];
        const int count = from_rim(f, k);
        if (count <= LEAF || f->levels < 3) {
            for (int c = 0; c < count; c++) order[--at] = f->list[c], f->part[f->list[c]] = -1;
            continue;
        }
        const int middle = f->level[f->list[count / 2]];
        const int cut = middle == 0 ? 1 : middle == f->levels - 1 ? middle - 1 : middle;
        const int before = parts++, behind = parts++;
        for (int c = 0; c < count; c++) {
            const int i = f->list[c];
            if (f->level[i] == cut)
                order[--at] = i, f->part[i] = -1;
            else
                f->part[i] = f->level[i] < cut ? before : behind;
        }
    }
}

/* ---- minimum degree -------------------------------------------------------------------------- */

/* The quotient graph: node k has variables var[ptr[k]] .. and elements elem[k][..]; an element has
 * its variables, and later the element that took it in. */
typedef struct quotient {
    int n;
    int64_t *ptr;
    int32_t *var, *nvar, *nelem, *degree, *head, *next, *last, *mark, *parent, *size;
    int32_t **elem, **members;
    int64_t *weight; /* of an element in this step: members outside the new one */
} quotient;

static void unlink_node(quotient *q, int i) {
    if (q->last[i] >= 0)
        q->next[q->last[i]] = q->next[i];
    else
        q->head[q->degree[i]] = q->next[i];
    if (q->next[i] >= 0) q->last[q->next[i]] = q->last[i];
}

static void link_node(quotient *q, int i, int degree) {
    q->degree[i] = degree;
    q->last[i] = -1, q->next[i] = q->head[degree];
    if (q->next[i] >= 0) q->last[q->next[i]] = i;
    q->head[degree] = i;
}

/* p becomes an element: of its variables and those of its elements, which are taken in. */
static int make_element(quotient *q, int p, int stamp) {
    int count = 0, most = q->nvar[p];
    for (int k = 0; k < q->nelem[p]; k++) most += q->size[q->elem[p][k]];
    int32_t *list = q->members[p] = get((size_t)most, sizeof *list);
    if (!list) return -1;
    q->mark[p] = stamp;
    for (int k = -1; k < q->nelem[p]; k++) {
        const int e = k < 0 ? -1 : q->elem[p][k];
        const int32_t *from = k < 0 ? q->var + q->ptr[p] : q->members[e];
        const int have = k < 0 ? q->nvar[p] : q->size[e];
        for (int c = 0; c < have; c++)
            if (q->degree[from[c]] >= 0 && q->mark[from[c]] != stamp)
                q->mark[from[c]] = stamp, list[count++] = from[c];
        if (e >= 0) q->parent[e] = p, free(q->members[e]), q->members[e] = NULL;
    }
    q->size[p] = count;
    return 0;
}

/* The members of p forget each other, and get their new, approximate degrees (Amestoy, Davis &
 * Duff 1996). */
static int renew_members(quotient *q, int p, int stamp, int left) {
    const int32_t *list = q->members[p];
    for (int c = 0; c < q->size[p]; c++)
        for (int k = 0; k < q->nelem[list[c]]; k++) {
            const int e = q->elem[list[c]][k];
            if (q->parent[e] >= 0) continue;
            if (q->weight[e] >> 32 != stamp) q->weight[e] = (int64_t)stamp << 32 | q->size[e];
            q->weight[e]--;
        }
    for (int c = 0; c < q->size[p]; c++) {
        const int i = list[c];
        int kept = 0;
        int64_t sum = q->size[p] - 1;
        for (int k = 0; k < q->nelem[i]; k++) {
            const int e = q->elem[i][k];
            if (q->parent[e] >= 0) continue;
            const int32_t outside = (int32_t)(q->weight[e] & 0x7fffffff);
            if (outside == 0) { /* all of it is in p */
                q->parent[e] = p;
                continue;
            }
            q->elem[i][kept++] = e, sum += outside;
        }
        int32_t *more = realloc(q->elem[i], (size_t)(kept + 1) * sizeof *more);
        if (!more) return -1;
        q->elem[i] = more, more[kept] = p, q->nelem[i] = kept + 1;
        kept = 0;
        for (int k = 0; k < q->nvar[i]; k++) {
            const int j = q->var[q->ptr[i] + k];
            if (q->degree[j] >= 0 && q->mark[j] != stamp) q->var[q->ptr[i] + kept++] = j;
        }
        q->nvar[i] = kept, sum += kept;
        const int64_t grown = q->degree[i] + (int64_t)q->size[p] - 1;
        sum = sum < grown ? sum : grown, sum = sum < left - 1 ? sum : left - 1;
        unlink_node(q, i), link_node(q, i, sum < 0 ? 0 : (int)sum);
    }
    return 0;
}

static int eliminate_all(quotient *q) {
    int least = 0;
    for (int k = 0; k < q->n; k++) {
        while (least < q->n && q->head[least] < 0) least++;
        const int p = q->head[least];
        unlink_node(q, p);
        q->degree[p] = -1;
        if (make_element(q, p, k + 1) || renew_members(q, p, k + 1, q->n - k - 1)) return -1;
        least = least > 0 ? least - 1 : 0;
        for (int c = 0; c < q->size[p]; c++)
            if (q->degree[q->members[p][c]] < least) least = q->degree[q->members[p][c]];
    }
    return 0;
}

/* order: a postorder of the tree of elements, so that what fills alike is side by side. */
static void postorder(quotient *q, int32_t *order) {
    int32_t *child = q->head, *sibling = q->next, *stack = q->last; /* their work is done */
    int at = 0, depth = 0;
    for (int k = 0; k < q->n; k++) child[k] = -1;
    for (int k = q->n; k-- > 0;)
        if (q->parent[k] >= 0) sibling[k] = child[q->parent[k]], child[q->parent[k]] = k;
    for (int k = 0; k < q->n; k++) {
        if (q->parent[k] >= 0) continue;
        for (stack[depth++] = k; depth;) {
            const int top = stack[depth - 1];
            if (child[top] >= 0)
                stack[depth++] = child[top], child[top] = sibling[child[top]];
            else
                order[at++] = top, depth--;
        }
    }
}

static int amd(const graph *g, int32_t *order) {
    const size_t n = (size_t)g->n;
    int32_t *work = get(9 * n + 1, sizeof *work);
    quotient q = {.n = g->n,
                  .ptr = g->ptr,
                  .var = get((size_t)g->ptr[n], sizeof *q.var),
                  .elem = get(n, sizeof *q.elem),
                  .members = get(n, sizeof *q.members),
                  .weight = get(n, sizeof *q.weight)};
    int status = work && q.var && q.elem && q.members && q.weight ? 0 : -1;
    if (!status) {
        q.nvar = work, q.nelem = work + n, q.degree = work + 2 * n, q.head = work + 3 * n;
        q.next = work + 4 * n + 1, q.last = q.next + n, q.mark = q.last + n;
        q.parent = q.mark + n, q.size = q.parent + n;
        memcpy(q.var, g->adj, (size_t)g->ptr[n] * sizeof *q.var);
        for (int k = 0; k <= g->n; k++) q.head[k] = -1;
        for (int k = 0; k < g->n; k++) {
            q.nvar[k] = degree(g, k), q.parent[k] = -1;
            link_node(&q, k, q.nvar[k]);
        }
        status = eliminate_all(&q);
    }
    if (!status) postorder(&q, order);
    for (size_t k = 0; k < n; k++) {
        if (q.elem) free(q.elem[k]);
        if (q.members) free(q.members[k]);
    }
    free(work), free(q.var), free(q.elem), free(q.members), free(q.weight);
    return status;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static int order_graph(const graph *g, int32_t *order) {
    if (ORDERING == 1) return amd(g, order);
    int32_t *work = get(4 * (size_t)g->n, sizeof *work);
    if (!work) return -1;
    search f = {.g = g,
                .part = work,
                .seen = work + g->n,
                .list = work + 2 * (size_t)g->n,
                .level = work + 3 * (size_t)g->n};
    if (ORDERING == 2)
        dissect(&f, order);
    else
        rcm(&f, order);
    free(work);
    return 0;
}

/* Nodes in order, cut into frames of at most BLOCK columns; frame_of[column]. Returns how many. */
static int cut(const solver *s, const int32_t *order, int nodes, const int32_t *first,
               int32_t *frame_of) {
    int frame = 0, used = 0;
    for (int k = 0; k < nodes; k++) {
        const int j = first[order[k]], other = s->mate[j], size = other < 0 ? 1 : 2;
        if (used + size > BLOCK && used) frame++, used = 0;
        frame_of[j] = frame;
        if (other >= 0) { /* a pair is apart in blocks of one row alone */
            if (used + size > BLOCK) frame++, used = -1;
            frame_of[other] = frame;
        }
        used += size;
    }
    return nodes ? frame + 1 : 0;
}

/* Positions of columns: frames in `order`, columns of a frame as they were cut. */
static int put(solver *s, const int32_t *order, const int32_t *frame_of) {
    const size_t m = (size_t)s->m;
    s->column = get(m * BLOCK, sizeof *s->column);
    int32_t *used = get(m, sizeof *used), *rank = get(m, sizeof *rank);
    if (s->column && used && rank) {
        for (int k = 0; k < s->m; k++) rank[order[k]] = k;
        for (size_t k = 0; k < m * BLOCK; k++) s->column[k] = -1;
        for (int j = 0; j < s->n; j++) {
            const int f = frame_of[j];
            s->at[j] = rank[f] * BLOCK + used[f]++;
            s->column[s->at[j]] = j;
        }
    }
    const int status = s->column && used && rank ? 0 : -1;
    free(used), free(rank);
    return status;
}

int solver_order(solver *s) {
    const size_t n = (size_t)s->n;
    graph g = {0}, h = {0};
    int32_t *work = get(4 * n, sizeof *work);
    int nodes = 0, status = work ? 0 : -1;
    int32_t *group = work, *first = work + n, *order = work + 2 * n, *frame_of = work + 3 * n;
    for (int j = 0; j < s->n && !status; j++) {
        const int other = s->mate[j];
        group[j] = other >= 0 && other < j ? group[other] : nodes;
        if (group[j] == nodes) first[nodes++] = j;
    }
    if (!status) status = solver_graph(s, group, nodes, &g);
    if (!status) status = order_graph(&g, order);
    if (!status) s->m = cut(s, order, nodes, first, frame_of);
    for (int k = 0; k < s->m && !status; k++) order[k] = k;
    if (ORDERING != 0) {
        if (!status) status = solver_graph(s, frame_of, s->m, &h);
        if (!status) status = order_graph(&h, order);
    }
    if (!status) status = put(s, order, frame_of);
    for (int j = 0; j < s->n && !status; j++) frame_of[j] = s->at[j] / BLOCK;
    if (!status) status = solver_graph(s, frame_of, s->m, &s->frames);
    solver_graph_free(&g), solver_graph_free(&h), free(work);
    return status;
}
