/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks: fill, values of A, butterflies. */
#include <math.h>
#include <string.h>
#include "parts.h"

enum { NEVER = 0x7fffffff };

/* ---- butterflies: B = [R0 R1; R0 -R1] / sqrt(2) on the rows of a frame ----------------------- */

void solver_new_turn(solver *s, int frame) {
    uint64_t state = 0x9E3779B97F4A7C15u * (uint64_t)(frame + 1) + (uint64_t)++s->turns[frame];
    double *r = &s->turn[(size_t)frame * BLOCK];
    for (int k = 0; k < BLOCK; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        r[k] = exp(((double)(state >> 11) * 0x1p-53 - 0.5) / 10) * sqrt(0.5);
    }
}

void solver_turn(const solver *s, int frame, int transposed, double *v, int step) {
    const double *r = &s->turn[(size_t)frame * BLOCK];
    int half = 0;
    if (s->turns[frame] == 0) return;
    while (half < BLOCK && s->column[frame * BLOCK + half] >= 0) half++;
    half /= 2; /* pairs k, k + half, but for padding */
    for (int k = 0; k < half; k++) {
        double *x = &v[k * step], *y = &v[(k + half) * step];
        const double p = transposed ? *x + *y : r[k] * *x + r[k + half] * *y;
        const double q = transposed ? *x - *y : r[k] * *x - r[k + half] * *y;
        *x = transposed ? r[k] * p : p;
        *y = transposed ? r[k + half] * q : q;
    }
}

/* ---- fill ------------------------------------------------------------------------------------ */

typedef struct symbolic {
    int32_t *level, *list; /* of the present column, by place; its rows */
    int64_t *inside;       /* by place: the next column that has a block in this row ... */
    int32_t *levels;       /* of all blocks */
    int64_t *next;         /* of blocks: the one in front of it in its row */
    int32_t *owner;        /* of blocks: their columns */
    int64_t capacity;
    int count;
} symbolic;

static void reach(symbolic *y, int row, int level) {
    if (y->level[row] == NEVER) y->list[y->count++] = row;
    if (level < y->level[row]) y->level[row] = level;
}

static int compare(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int grow(solver *s, symbolic *y, int64_t need) {
    if (need <= y->capacity) return 0;
    const int64_t more = 2 * need + 1024;
    int32_t *row = realloc(s->row, (size_t)more * sizeof *row);
    if (row) s->row = row;
    int32_t *levels = realloc(y->levels, (size_t)more * sizeof *levels);
    if (levels) y->levels = levels;
    int64_t *next = realloc(y->next, (size_t)more * sizeof *next);
    if (next) y->next = next;
    int32_t *owner = realloc(y->owner, (size_t)more * sizeof *owner);
    if (owner) y->owner = owner;
    y->capacity = row && levels && next && owner ? more : y->capacity;
    return y->capacity == more ? 0 : -1;
}

/* Blocks of column k: those of A, and those that columns before it make. */
static int fill_column(solver *s, symbolic *y, int k) {
    const graph *g = &s->frames;
    y->count = 0;
    const int frame = s->order[k];
    for (int64_t e = g->ptr[frame]; e < g->ptr[frame + 1]; e++)
        if (s->place[g->adj[e]] > k) reach(y, s->place[g->adj[e]], 0);
    for (int64_t b = y->inside[k]; b >= 0; b = y->next[b]) {
        const int j = y->owner[b];
        for (int64_t e = b + 1; e < s->ptr[j + 1]; e++) {
            const int level = y->levels[b] + y->levels[e] + 1;
            if (LEVEL < 0 || level <= LEVEL) reach(y, s->row[e], LEVEL < 0 ? 0 : level);
        }
    }
    qsort(y->list, (size_t)y->count, sizeof *y->list, compare);
    int64_t to = s->ptr[k];
    if (grow(s, y, to + y->count)) return -1;
    for (int c = 0; c < y->count; c++, to++) {
        const int row = y->list[c];
        s->row[to] = row, y->owner[to] = k, y->levels[to] = y->level[row];
        y->next[to] = y->inside[row], y->inside[row] = to;
        y->level[row] = NEVER;
    }
    s->ptr[k + 1] = to;
    return 0;
}

int solver_fill(solver *s) {
    const size_t m = (size_t)s->m;
    symbolic y = {.level = get(m, sizeof *y.level),
                  .list = get(m, sizeof *y.list),
                  .inside = get(m, sizeof *y.inside)};
    int status = y.level && y.list && y.inside ? 0 : -1;
    free(s->row), s->row = NULL;
    for (size_t k = 0; k < m && !status; k++) y.level[k] = NEVER, y.inside[k] = -1;
    for (int k = 0; k < s->m && !status; k++) status = fill_column(s, &y, k);
    free(y.level), free(y.list), free(y.inside), free(y.levels), free(y.next), free(y.owner);
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int64_t find(const solver *s, int i, int k) {
    int64_t low = s->ptr[k], high = s->ptr[k + 1];
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (s->row[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->ptr[k + 1] && s->row[low] == i ? low : -1;
}

void solver_release(solver *s) {
    double **const all[] = {&s->block, &s->upper, &s->pivots, &s->uppers, &s->diags};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        if (*all[k]) kernel_release(*all[k]);
        *all[k] = NULL;
    }
    free(s->dense.l), free(s->dense.diag);
    if (s->dense.u != s->dense.l) free(s->dense.u);
    s->dense = (pivot){0};
}

int solver_values(solver *s) {
    const size_t blocks = (size_t)s->info.blocks, m = (size_t)s->m, each = EACH * sizeof(double);
    solver_release(s);
    s->block = kernel_memory(blocks * each + each);
    s->pivots = kernel_memory(m * each);
    s->diags = kernel_memory(m * OWN * sizeof(double));
    if (TYPE == LDU) s->upper = kernel_memory(blocks * each + each);
    s->uppers = kernel_memory(TYPE == LDU ? m * each : 8);
    if (!s->block || !s->pivots || !s->diags || !s->uppers || (TYPE == LDU && !s->upper)) return -1;
    for (int i = 0; i < s->n; i++)
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++) {
            const int r = s->at[s->with[i]], c = s->at[s->rj[e]];
            const int p = s->place[r / BLOCK], q = s->place[c / BLOCK];
            const double v = s->rx[e] * s->rscale[i] * s->cscale[s->rj[e]];
            const int inside = r % BLOCK * BLOCK + c % BLOCK;
            const int mirrored = c % BLOCK * BLOCK + r % BLOCK;
            if (p == q)
                s->pivots[(size_t)p * EACH + inside] += v;
            else if (p > q)
                s->block[(size_t)find(s, p, q) * EACH + inside] += v;
            else if (TYPE == LDU)
                s->upper[(size_t)find(s, q, p) * EACH + mirrored] += v;
        }
    for (int k = 0; k < s->m; k++) {
        double *d = s->pivots + (size_t)k * EACH;
        for (int r = 0; r < BLOCK; r++)
            if (s->column[s->order[k] * BLOCK + r] < 0) d[r * (BLOCK + 1)] = 1;
        for (int r = 0; r < BLOCK; r++) solver_turn(s, s->order[k], 1, d + r * BLOCK, 1);
        for (int c = 0; c < BLOCK; c++) solver_turn(s, s->order[k], 1, d + c, BLOCK);
        for (int64_t e = s->ptr[k]; e < s->ptr[k + 1]; e++)
            for (int side = 0; side < (TYPE == LDU ? 2 : 1); side++) {
                double *b = (side ? s->upper : s->block) + (size_t)e * EACH;
                for (int r = 0; r < BLOCK; r++) solver_turn(s, s->order[k], 1, b + r * BLOCK, 1);
                for (int c = 0; c < BLOCK; c++)
                    solver_turn(s, s->order[s->row[e]], 1, b + c, BLOCK);
            }
    }
    return 0;
}

void solver_exchange(const solver *s, void (*move)(void *values, size_t bytes)) {
    const size_t blocks = (size_t)s->info.blocks * EACH, m = (size_t)s->m;
    move(s->block, blocks * sizeof(double)), move(s->pivots, m * EACH * sizeof(double));
    move(s->diags, m * OWN * sizeof(double));
    if (TYPE != LDU) return;
    move(s->upper, blocks * sizeof(double)), move(s->uppers, m * EACH * sizeof(double));
}

pivot solver_pivot(const solver *s, int k) {
    double *l = s->pivots + (size_t)k * EACH;
    return (pivot){BLOCK, l, TYPE == LDU ? s->uppers + (size_t)k * EACH : l,
                   s->diags + (size_t)k * OWN};
}
