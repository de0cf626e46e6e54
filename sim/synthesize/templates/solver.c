/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's half: A by rows, level sets, stages, the dense pivot at the end. */
#include <math.h>
#include <string.h>
#include "parts.h"

#ifndef DENSE
#define DENSE 2048 /* rows of the dense pivot at the end, at most */
#endif
enum { MOST = 1 << 14 };
static const double SMALL = 1e-14; /* what a pivot must be above, and becomes at the end */
static const double bound = 100;   /* entries of L below a pivot that is accepted */
static const double inside = 1e8;  /* and in it: of L and U */

/* ---- A by rows and by columns ---------------------------------------------------------------- */

static int by_rows(solver *s, const int64_t *ap, const int32_t *ai, const double *ax) {
    const int n = s->n;
    s->rp = get((size_t)n + 2, sizeof *s->rp);
    if (!s->rp) return -1;
    for (int j = 0; j < n; j++)
        for (int64_t e = ap[j]; e < ap[j + 1]; e++) {
            if (!isfinite(ax[e])) return -2;
            s->rp[ai[e] + 2]++;
            if (TYPE != LDU && ai[e] != j) s->rp[j + 2]++;
        }
    for (int i = 0; i < n; i++) s->rp[i + 2] += s->rp[i + 1];
    s->rj = get((size_t)s->rp[n + 1], sizeof *s->rj);
    s->rx = get((size_t)s->rp[n + 1], sizeof *s->rx);
    if (!s->rj || !s->rx) return -1;
    for (int j = 0; j < n; j++)
        for (int64_t e = ap[j]; e < ap[j + 1]; e++) {
            const int i = ai[e];
            s->rj[s->rp[i + 1]] = j, s->rx[s->rp[i + 1]++] = ax[e];
            if (TYPE != LDU && i != j) s->rj[s->rp[j + 1]] = i, s->rx[s->rp[j + 1]++] = ax[e];
        }
    return 0;
}

/* Duplicates added up: the matching and the scaling look at entries one by one. */
static int add_up(solver *s) {
    int64_t *last = get((size_t)s->n, sizeof *last), to = 0;
    if (!last) return -1;
    for (int j = 0; j < s->n; j++) last[j] = -1;
    for (int i = 0; i < s->n; i++) {
        const int64_t from = s->rp[i], end = s->rp[i + 1], begin = to;
        s->rp[i] = begin;
        for (int64_t e = from; e < end; e++) {
            const int j = s->rj[e];
            if (last[j] >= begin) {
                s->rx[last[j]] += s->rx[e];
            } else {
                last[j] = to;
                s->rj[to] = j, s->rx[to++] = s->rx[e];
            }
        }
    }
    s->rp[s->n] = to;
    free(last);
    return 0;
}

/* ---- a stage --------------------------------------------------------------------------------- */

/* Updates of blocks, as they are found; and as they are sent: those of one block one after the other. */
typedef struct update {
    double *block;
    const double *a, *b, *diag;
    int32_t target; /* number of the block in the batch */
} update;

typedef struct batch {
    double **block, **other, **own;
    const double **a, **b, **diag;
    double *largest;
    int32_t *trouble, *place, *set;
    int64_t count;
    update *found;
    double **to;
    const double **sent_a, **sent_b, **sent_diag;
    int64_t *first; /* by target, its updates among those that are sent */
    int64_t *stamp; /* of a block: `begin` and its number, where it is one of the batch */
    int64_t updates, targets, begin;
    char *reject;
    int last;
} batch;

/* A pivot that no kernel takes, by the host. */
static int replace_pivot(solver *s, pivot *p) {
    kernel_fetch(p->l, EACH * sizeof(double));
    const int status = solver_dense(p, PIVOTING, SMALL, &s->info.replaced);
    kernel_send(p->l, EACH * sizeof(double)), kernel_send(p->diag, OWN * sizeof(double));
    if (TYPE == LDU) kernel_send(p->u, EACH * sizeof(double));
    return status;
}

static int run_pivots(solver *s, batch *t) {
    run_factorize(t->count, t->block, t->other, t->own, SMALL, t->trouble, t->largest);
    for (int64_t c = 0; c < t->count; c++) {
        const int k = t->place[c];
        pivot p = solver_pivot(s, k);
        const int failed = t->trouble[c] || !isfinite(t->largest[c]);
        if (failed && t->last) {
            const int status = replace_pivot(s, &p);
            if (status) return status;
        } else if (failed || (!t->last && !(t->largest[c] <= inside))) {
            t->reject[k] = 1;
        }
    }
    t->count = 0;
    return 0;
}

static int run_columns(batch *t) {
    run_solve(t->count, t->block, t->a, t->diag, t->b, t->largest);
    for (int64_t c = 0; c < t->count; c++) {
        if (t->last && !isfinite(t->largest[c])) return -2;
        if (!t->last && !(t->largest[c] <= bound)) t->reject[t->place[c]] = 1;
    }
    t->count = 0;
    return 0;
}

static void run_updates(batch *t) {
    int64_t *first = t->first + 1;
    if (t->updates == 0) return;
    memset(t->first, 0, (size_t)(t->targets + 2) * sizeof *first);
    for (int64_t e = 0; e < t->updates; e++) first[t->found[e].target + 1]++;
    for (int64_t k = 0; k < t->targets; k++) first[k + 1] += first[k];
    for (int64_t e = 0; e < t->updates; e++) {
        const update *u = &t->found[e];
        const int64_t at = first[u->target]++;
        t->to[at] = u->block, t->sent_a[at] = u->a, t->sent_b[at] = u->b;
        t->sent_diag[at] = u->diag;
    }
    run_downdate(t->targets, t->first, t->to, t->sent_a, t->sent_b, t->sent_diag);
    t->begin += t->targets, t->updates = t->targets = 0;
}

/* target -= a D b^T, after what was found before. */
static void add_update(batch *t, int64_t target, double *block, const double *a, const double *b,
                       const double *diag) {
    if (t->updates == MOST) run_updates(t);
    if (t->stamp[target] < t->begin) t->stamp[target] = t->begin + t->targets++;
    t->found[t->updates++] = (update){block, a, b, diag, (int32_t)(t->stamp[target] - t->begin)};
}

/* What column k does to the columns behind it. */
static void push(solver *s, batch *t, int k) {
    const double *d = s->diags + (size_t)k * OWN;
    const int64_t blocks = s->info.blocks;
    for (int64_t f = s->ptr[k]; f < s->ptr[k + 1]; f++) {
        const int j = s->row[f];
        const double *x = s->block + f * EACH, *u = TYPE == LDU ? s->upper + f * EACH : x;
        add_update(t, blocks + j, s->pivots + (size_t)j * EACH, x, u, d);
        int64_t to = s->ptr[j];
        for (int64_t e = f + 1; e < s->ptr[k + 1]; e++) {
            while (to < s->ptr[j + 1] && s->row[to] < s->row[e]) to++;
            if (to == s->ptr[j + 1]) break;
            if (s->row[to] != s->row[e]) continue;
            add_update(t, to, s->block + to * EACH, s->block + e * EACH, u, d);
            if (TYPE == LDU)
                add_update(t, blocks + s->m + to, s->upper + to * EACH, s->upper + e * EACH, x, d);
        }
    }
}

static int run_level(solver *s, batch *t, const int32_t *list, int count) {
    int status = 0;
    for (int c = 0; c < count && !status; c++) { /* phase I */
        const pivot p = solver_pivot(s, list[c]);
        const int64_t at = t->count++;
        t->block[at] = p.l, t->other[at] = p.u, t->own[at] = p.diag, t->place[at] = list[c];
        if (t->count == MOST || c + 1 == count) status = run_pivots(s, t);
    }
    for (int c = 0; c < count && !status; c++) { /* phase II */
        const int k = list[c];
        const pivot p = solver_pivot(s, k);
        for (int64_t e = s->ptr[k]; e < s->ptr[k + 1] && !t->reject[k] && !status; e++)
            for (int side = 0; side < (TYPE == LDU ? 2 : 1) && !status; side++) {
                const int64_t at = t->count++;
                t->block[at] = (side ? s->upper : s->block) + e * EACH;
                t->a[at] = side ? p.l : p.u, t->diag[at] = p.diag, t->place[at] = k;
                t->b[at] = p.diag + (side ? 4 : 5) * BLOCK;
                if (t->count == MOST) status = run_columns(t);
            }
    }
    if (!status) status = run_columns(t);
    for (int c = 0; c < count && !status; c++) /* phase III */
        if (!t->reject[list[c]]) push(s, t, list[c]);
    if (!status) run_updates(t);
    return status;
}

/* The frames at the end as one dense matrix; it becomes their pivot. */
static int end_dense(solver *s) {
    const int first = s->m - s->tail, n = s->tail * BLOCK;
    if (s->tail == 0) return 0;
    pivot *p = &s->dense;
    p->n = n, p->l = get((size_t)n * n, sizeof(double)),
    p->diag = get(6 * (size_t)n, sizeof(double));
    p->u = TYPE == LDU ? get((size_t)n * n, sizeof(double)) : p->l;
    if (!p->l || !p->u || !p->diag) return -1;
#define DENSE_AT(i, j, r, c)                                                                       \
    p->l[((size_t)((i)-first) * BLOCK + (size_t)(r)) * n + (size_t)((j)-first) * BLOCK +           \
         (size_t)(c)]
    for (int k = first; k < s->m; k++)
        for (int r = 0; r < BLOCK; r++)
            for (int c = 0; c < BLOCK; c++) {
                DENSE_AT(k, k, r, c) = s->pivots[(size_t)k * EACH + r * BLOCK + c];
                for (int64_t e = s->ptr[k]; e < s->ptr[k + 1]; e++) {
                    const int i = s->row[e];
                    const double v = s->block[e * EACH + r * BLOCK + c];
                    DENSE_AT(i, k, r, c) = v;
                    DENSE_AT(k, i, c, r) = TYPE == LDU ? s->upper[e * EACH + r * BLOCK + c] : v;
                }
            }
    return solver_dense(p, 1, SMALL, &s->info.replaced);
}

/* All frames, level set by level set; those that fail are marked in reject. */
static int run_stage(solver *s, batch *t) {
    const int m = s->m - s->tail;
    int sets = 0, status = 0;
    int32_t *list = get((size_t)s->m + 1, sizeof *list),
            *from = get((size_t)s->m + 2, sizeof *from);
    if (!list || !from) status = -1;
    memset(t->set, 0, (size_t)s->m * sizeof *t->set);
    for (int k = 0; k < m && !status; k++) {
        for (int64_t e = s->ptr[k]; e < s->ptr[k + 1]; e++)
            if (t->set[s->row[e]] <= t->set[k]) t->set[s->row[e]] = t->set[k] + 1;
        if (t->set[k] >= sets) sets = t->set[k] + 1;
        from[t->set[k] + 2]++;
    }
    for (int k = 0; k < sets && !status; k++) from[k + 2] += from[k + 1];
    for (int k = 0; k < m && !status; k++) list[from[t->set[k] + 1]++] = k;
    for (int k = 0; k < sets && !status; k++)
        status = run_level(s, t, list + from[k], from[k + 1] - from[k]);
    free(list), free(from);
    return status;
}

/* Rejected frames go to the end. Where what is there is small enough it becomes one dense pivot;
 * else they are frames of the next stage, with new butterflies. Returns how many there are. */
static int push_back(solver *s, const char *reject) {
    int kept = 0, count = 0;
    int32_t *late = get((size_t)s->m, sizeof *late);
    if (!late) return -1;
    for (int k = 0; k < s->m; k++) {
        if (reject[k] && k < s->m - s->tail)
            late[count++] = s->order[k];
        else
            s->order[kept++] = s->order[k];
    }
    for (int k = 0; k < count; k++) s->order[kept + k] = late[k];
    for (int k = 0; k < s->m; k++) s->place[s->order[k]] = k;
    if (TYPE != LLT && (s->tail + count) * BLOCK <= DENSE) {
        s->tail += count;
    } else {
        s->tail = 0;
        for (int k = 0; k < count && BUTTERFLY; k++) solver_new_turn(s, late[k]);
    }
    free(late);
    return count;
}

/* Stages until nothing is rejected, or the last one, which replaces pivots. What later stages owe
 * to those before them is computed anew with the new order: with complete fill the same numbers but
 * for rounding. */
static int run_stages(solver *s, batch *t) {
    int stuck = 0, before = s->m;
    for (int stage = 1;; stage++) {
        s->info.stages = stage, s->info.replaced = 0;
        int status = solver_fill(s);
        s->info.blocks = s->ptr[s->m];
        if (!status) status = solver_values(s);
        if (!status) solver_exchange(s, kernel_send);
        const size_t targets = (size_t)(2 * s->info.blocks + s->m);
        t->stamp = status ? NULL : get(targets, sizeof *t->stamp);
        if (!status && !t->stamp) status = -1;
        t->begin = 1, t->updates = t->targets = 0; /* a stamp of 0 is of no batch */
        t->count = 0, t->last = stage >= STAGES || stuck;
        memset(t->reject, 0, (size_t)s->m);
        if (!status) status = run_stage(s, t);
        free(t->stamp);
        const int count = status ? 0 : push_back(s, t->reject);
        if (!status && count < 0) status = -1;
        if (!status && count == 0) {
            solver_exchange(s, kernel_fetch);
            status = end_dense(s);
        }
        if (status || count == 0) return status;
        stuck = s->tail == 0 && count > before - before / 8; /* hardly any was accepted */
        s->info.rejected += count, before = count;
    }
}

/* Pivots by sign, and the largest of D. */
static void count_signs(solver *s, const pivot *p, int padding) {
    const double *d = p->diag, *e = p->diag + p->n;
    for (int k = 0; k < p->n; k++) {
        const double root = p->l[(size_t)k * (size_t)p->n + (size_t)k]; /* of L L^T's pivot */
        const double size = TYPE == LLT ? root * root : fmax(fabs(d[k]), fabs(e[k]));
        s->info.growth = fmax(s->info.growth, size / s->most);
        if (TYPE == LDU) continue;
        if (e[k] != 0) /* complete pivoting takes one of each sign, or neither */
            s->info.positive++, s->info.negative++, k++;
        else if (fabs(d[k]) == SMALL) /* L L^T has d of replaced pivots alone */
            s->info.zero++;
        else
            *(d[k] > 0 || TYPE == LLT ? &s->info.positive : &s->info.negative) += 1;
    }
    s->info.positive -= TYPE == LDU ? 0 : padding;
}

static void count_pivots(solver *s) {
    for (int k = 0, padding = 0; k < s->m; k++) {
        const int dense = k >= s->m - s->tail;
        for (int r = 0; r < BLOCK; r++) padding += s->column[s->order[k] * BLOCK + r] < 0;
        if (dense && k + 1 < s->m) continue;
        const pivot p = dense ? s->dense : solver_pivot(s, k);
        count_signs(s, &p, padding);
        padding = 0;
    }
    s->info.dense = s->dense.n;
}

static int factorize(solver *s) {
    const size_t m = (size_t)s->m;
    double **lists = get(10 * MOST, sizeof *lists);
    batch t = {.largest = get(MOST, sizeof *t.largest),
               .trouble = get(MOST, sizeof *t.trouble),
               .first = get(MOST + 2, sizeof *t.first),
               .found = get(MOST, sizeof *t.found),
               .place = get(MOST, sizeof *t.place),
               .set = get(m, sizeof *t.set),
               .reject = get(m, 1)};
    int status =
        lists && t.largest && t.trouble && t.first && t.found && t.place && t.set && t.reject ? 0
                                                                                              : -1;
    if (!status) {
        t.block = lists, t.other = lists + MOST, t.own = lists + 2 * MOST;
        t.a = (const double **)lists + 3 * MOST, t.b = (const double **)lists + 4 * MOST;
        t.diag = (const double **)lists + 5 * MOST;
        t.to = lists + 6 * MOST, t.sent_a = (const double **)lists + 7 * MOST;
        t.sent_b = (const double **)lists + 8 * MOST;
        t.sent_diag = (const double **)lists + 9 * MOST;
        status = run_stages(s, &t);
    }
    if (!status) count_pivots(s);
    free(lists), free(t.largest), free(t.trouble), free(t.first), free(t.found);
    free(t.place), free(t.set), free(t.reject);
    return status;
}

int solver_make(int n, const int64_t *ap, const int32_t *ai, const double *ax, solver **out) {
    solver *s = *out = get(1, sizeof *s);
    if (!s) return -1;
    const size_t size = (size_t)n;
    s->n = n;
    s->rscale = get(size, sizeof(double)), s->cscale = get(size, sizeof(double));
    s->with = get(size, sizeof(int32_t)), s->mate = get(size, sizeof(int32_t));
    s->at = get(size, sizeof(int32_t));
    int status = s->rscale && s->cscale && s->with && s->mate && s->at ? 0 : -1;
    if (!status) status = by_rows(s, ap, ai, ax);
    if (!status) status = add_up(s);
    if (!status) status = solver_match(s);
    if (!status) status = solver_order(s);
    const size_t m = (size_t)s->m;
    if (!status) {
        s->order = get(m, sizeof *s->order), s->place = get(m, sizeof *s->place);
        s->turns = get(m, sizeof *s->turns), s->turn = get(m * BLOCK, sizeof *s->turn);
        s->ptr = get(m + 1, sizeof *s->ptr);
        status = s->order && s->place && s->turns && s->turn && s->ptr ? 0 : -1;
    }
    for (int k = 0; k < s->m && !status; k++) s->order[k] = s->place[k] = k;
    if (!status) status = factorize(s);
    if (!status) solver_certify(s);
    if (status) solver_free(out);
    return status;
}

void solver_free(solver **handle) {
    solver *s = *handle;
    if (!s) return;
    solver_release(s), solver_graph_free(&s->frames);
    free(s->rp), free(s->rj), free(s->rx), free(s->rscale), free(s->cscale), free(s->with);
    free(s->mate), free(s->column), free(s->at), free(s->order), free(s->place), free(s->turns);
    free(s->turn), free(s->ptr), free(s->row), free(s);
    *handle = NULL;
}

const solver_info *solver_tell(const solver *s) {
    return &s->info;
}
