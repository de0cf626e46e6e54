/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's half: order, blocks, fill, level sets, stages; solves and refinement. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "solver.h"

enum { EACH = BLOCK * BLOCK, NEVER = 60000 };

struct solver {
    int n, m; /* rows; frames of BLOCK rows */
    const int64_t *ap;
    const int32_t *ai;
    const double *ax;
    int64_t *gp; /* A in both triangles: column i has gi[gp[i]] .. gi[gp[i+1]-1] */
    int32_t *gi;
    double *gx, *scale;     /* values; powers of two that bring rows near 1 */
    int32_t *perm, *iperm;  /* rows by position, and back */
    int32_t *order, *place; /* frames by place, and back; a stage moves rejected ones to the end */
    int32_t *turns;         /* by frame: butterflies it went through */
    double *turn;           /* by frame: the present one's 2 BLOCK numbers */
    uint16_t *level;        /* m x m by places: of fill, NEVER: no block */
    double **block;         /* m x m by places, lower: values */
    solver_info info;
};

static void *get(size_t count, size_t size) {
    return calloc(count ? count : 1, size);
}

/* ---- A in both triangles, its scaling, its order --------------------------------------------- */

static int mirror(solver *s) {
    const int n = s->n;
    s->gp = get((size_t)n + 2, sizeof *s->gp);
    if (!s->gp) return -1;
    for (int j = 0; j < n; j++)
        for (int64_t e = s->ap[j]; e < s->ap[j + 1]; e++) {
            s->gp[j + 2]++;
            if (s->ai[e] != j) s->gp[s->ai[e] + 2]++;
        }
    for (int j = 0; j < n; j++) s->gp[j + 2] += s->gp[j + 1];
    const size_t count = (size_t)s->gp[n + 1];
    s->gi = get(count, sizeof *s->gi);
    s->gx = get(count, sizeof *s->gx);
    s->scale = get((size_t)n, sizeof *s->scale);
    if (!s->gi || !s->gx || !s->scale) return -1;
    for (int j = 0; j < n; j++)
        for (int64_t e = s->ap[j]; e < s->ap[j + 1]; e++) {
            const int i = s->ai[e];
            if (!isfinite(s->ax[e])) return -1;
            s->gi[s->gp[j + 1]] = i, s->gx[s->gp[j + 1]++] = s->ax[e];
            if (i != j) s->gi[s->gp[i + 1]] = j, s->gx[s->gp[i + 1]++] = s->ax[e];
        }
    for (int i = 0; i < n; i++) s->scale[i] = 1;
    for (int pass = 0; pass < 5; pass++) /* Ruiz 2001, in powers of two */
        for (int i = 0; i < n; i++) {
            double most = 0;
            for (int64_t e = s->gp[i]; e < s->gp[i + 1]; e++)
                most = fmax(most, fabs(s->gx[e]) * s->scale[i] * s->scale[s->gi[e]]);
            if (most > 0) s->scale[i] *= exp2(round(-log2(most) / 2));
        }
    return 0;
}

/* Reverse Cuthill-McKee, from a row of least degree in each component. */
static int make_order(solver *s) {
    const int n = s->n;
    char *seen = get((size_t)n, 1);
    s->perm = get((size_t)n, sizeof *s->perm);
    s->iperm = get((size_t)n, sizeof *s->iperm);
    if (!seen || !s->perm || !s->iperm) return free(seen), -1;
    int head = 0, tail = 0;
#define DEGREE(i) (s->gp[(i) + 1] - s->gp[i])
    for (int from = 0; from < n; from++) {
        if (seen[from]) continue;
        int best = from, begin = tail;
        for (int pass = 0; pass < 2;
             pass++) { /* find the component's row of least degree, then go */
            const int start = best;
            for (int k = begin; k < tail; k++) seen[s->perm[k]] = 0;
            head = begin, tail = begin;
            s->perm[tail++] = start, seen[start] = 1;
            for (; head < tail; head++) {
                const int i = s->perm[head], first = tail;
                if (DEGREE(i) < DEGREE(best)) best = i;
                for (int64_t e = s->gp[i]; e < s->gp[i + 1]; e++)
                    if (!seen[s->gi[e]]) {
                        const int j = s->gi[e];
                        int at = tail++;
                        seen[j] = 1;
                        for (; at > first && DEGREE(s->perm[at - 1]) > DEGREE(j); at--)
                            s->perm[at] = s->perm[at - 1];
                        s->perm[at] = j;
                    }
            }
        }
    }
    for (int k = 0; k < n / 2; k++) {
        const int t = s->perm[k];
        s->perm[k] = s->perm[n - 1 - k], s->perm[n - 1 - k] = t;
    }
    for (int k = 0; k < n; k++) s->iperm[s->perm[k]] = k;
    free(seen);
    return 0;
}

/* ---- butterflies: B = [R0 R1; R0 -R1] / sqrt(2) on the rows of a frame ----------------------- */

static void new_turn(solver *s, int frame) {
    uint64_t state = 0x9E3779B97F4A7C15u * (uint64_t)(frame + 1) + (uint64_t)++s->turns[frame];
    double *r = &s->turn[(size_t)frame * BLOCK];
    for (int k = 0; k < BLOCK; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        r[k] = exp(((double)(state >> 11) * 0x1p-53 - 0.5) / 10) * sqrt(0.5);
    }
}

/* Which rows of a frame the butterfly takes: pairs k, k + half. */
static int half_of(const solver *s, int frame) {
    const int w = s->n - frame * BLOCK < BLOCK ? s->n - frame * BLOCK : BLOCK;
    return s->turns[frame] ? w / 2 : 0;
}

/* v := B^T v, or B v; elements `step` apart. */
static void turn(const solver *s, int frame, int transposed, double *v, int step) {
    const double *r = &s->turn[(size_t)frame * BLOCK];
    const int half = half_of(s, frame);
    for (int k = 0; k < half; k++) {
        double *x = &v[k * step], *y = &v[(k + half) * step];
        const double p = transposed ? *x + *y : r[k] * *x + r[k + half] * *y;
        const double q = transposed ? *x - *y : r[k] * *x - r[k + half] * *y;
        *x = transposed ? r[k] * p : p;
        *y = transposed ? r[k + half] * q : q;
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

#define AT(i, j) ((size_t)(i) * (size_t)s->m + (size_t)(j))

/* Which blocks A has, at the present places, and fill. */
static void make_fill(solver *s) {
    const int m = s->m;
    for (size_t k = 0; k < (size_t)m * (size_t)m; k++) s->level[k] = NEVER;
    for (int i = 0; i < s->n; i++)
        for (int64_t e = s->gp[i]; e < s->gp[i + 1]; e++) {
            const int p = s->place[s->iperm[i] / BLOCK], q = s->place[s->iperm[s->gi[e]] / BLOCK];
            if (p >= q) s->level[AT(p, q)] = 0;
        }
    for (int k = 0; k < m; k++) s->level[AT(k, k)] = 0;
    for (int k = 0; k < m; k++)
        for (int j = k + 1; j < m; j++) {
            if (s->level[AT(j, k)] == NEVER) continue;
            for (int i = j; i < m; i++) {
                if (s->level[AT(i, k)] == NEVER) continue;
                const int level = LEVEL < 0 ? 1 : s->level[AT(i, k)] + s->level[AT(j, k)] + 1;
                if ((LEVEL < 0 || level <= LEVEL) && level < s->level[AT(i, j)])
                    s->level[AT(i, j)] = (uint16_t)level;
            }
        }
}

/* Blocks := A, scaled, through the butterflies of their frames. */
static int fill_blocks(solver *s) {
    const int m = s->m;
    s->info.blocks = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            double **b = &s->block[AT(i, j)];
            if (s->level[AT(i, j)] == NEVER) {
                kernel_release(*b);
                *b = NULL;
                continue;
            }
            s->info.blocks++;
            if (!*b) *b = kernel_memory(EACH * sizeof(double));
            if (!*b) return -1;
            memset(*b, 0, EACH * sizeof(double));
        }
    for (int i = 0; i < s->n; i++)
        for (int64_t e = s->gp[i]; e < s->gp[i + 1]; e++) {
            const int r = s->iperm[i], c = s->iperm[s->gi[e]];
            const int p = s->place[r / BLOCK], q = s->place[c / BLOCK];
            if (p < q) continue;
            s->block[AT(p, q)][r % BLOCK * BLOCK + c % BLOCK] +=
                s->gx[e] * s->scale[i] * s->scale[s->gi[e]];
        }
    for (int r = s->n; r < m * BLOCK; r++) { /* padding */
        const int p = s->place[r / BLOCK];
        s->block[AT(p, p)][r % BLOCK * (BLOCK + 1)] = 1;
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            double *b = s->block[AT(i, j)];
            for (int k = 0; b && k < BLOCK; k++) turn(s, s->order[j], 1, b + k * BLOCK, 1);
            for (int k = 0; b && k < BLOCK; k++) turn(s, s->order[i], 1, b + k, BLOCK);
        }
    return 0;
}

/* ---- a stage --------------------------------------------------------------------------------- */

typedef struct batch {
    double **block;
    const double **a, **b, **pivot;
    int32_t *frame, *trouble, *row;
    double *largest;
    int64_t count;
} batch;

static void add(batch *t, double *block, const double *a, const double *b, const double *pivot,
                int place) {
    const int64_t k = t->count++;
    t->block[k] = block, t->a[k] = a, t->b[k] = b, t->pivot[k] = pivot, t->frame[k] = place;
}

/* The host replaces what is too small: in the last stage only. */
static int factor_here(solver *s, double *a, double small) {
    for (int k = 0; k < BLOCK; k++) {
        double d = a[k * (BLOCK + 1)];
        if (!isfinite(d)) return -1;
        if (!(fabs(d) > small)) d = a[k * (BLOCK + 1)] = d < 0 ? -small : small, s->info.replaced++;
        for (int i = k + 1; i < BLOCK; i++) {
            const double l = a[i * BLOCK + k] / d;
            for (int j = k + 1; j < BLOCK; j++) a[i * BLOCK + j] -= l * a[k * BLOCK + j];
            a[i * BLOCK + k] = l;
        }
    }
    return 0;
}

/* Level sets of the frames; returns how many. */
static int level_sets(const solver *s, int32_t *set) {
    int most = 0;
    for (int k = 0; k < s->m; k++) {
        set[k] = 0;
        for (int j = 0; j < k; j++)
            if (s->level[AT(k, j)] != NEVER && set[j] >= set[k]) set[k] = set[j] + 1;
        if (set[k] >= most) most = set[k] + 1;
    }
    return most;
}

/* All frames, level set by level set; those that fail are marked in reject, unless `last`. */
static int run_stage(solver *s, batch *t, const int32_t *set, int sets, char *reject, int last) {
    const double small = 1e-14, bound = last ? INFINITY : 100;
    const int m = s->m;
    for (int level = 0; level < sets; level++) {
        t->count = 0; /* phase I */
        for (int k = 0; k < m; k++)
            if (set[k] == level && !reject[k]) add(t, s->block[AT(k, k)], NULL, NULL, NULL, k);
        run_factorize(t->count, t->block, small, t->trouble, t->largest);
        for (int64_t k = 0; k < t->count; k++) {
            if (t->trouble[k] && last && factor_here(s, t->block[k], small)) return -1;
            if (!last && (t->trouble[k] || !(t->largest[k] <= 1e8))) reject[t->frame[k]] = 1;
        }
        t->count = 0; /* phase II */
        for (int k = 0; k < m; k++)
            for (int i = k + 1; i < m && set[k] == level && !reject[k]; i++)
                if (s->block[AT(i, k)])
                    add(t, s->block[AT(i, k)], NULL, NULL, s->block[AT(k, k)], k);
        run_solve(t->count, t->block, t->pivot, t->largest);
        for (int64_t k = 0; k < t->count; k++) {
            if (last && !isfinite(t->largest[k])) return -1;
            if (!(t->largest[k] <= bound)) reject[t->frame[k]] = 1;
        }
        for (int k = 0; k < m; k++) { /* phase III: the targets of one column differ */
            t->count = 0;
            for (int j = k + 1; j < m && set[k] == level && !reject[k]; j++)
                for (int i = j; i < m && s->block[AT(j, k)]; i++)
                    if (s->block[AT(i, k)] && s->block[AT(i, j)])
                        add(t, s->block[AT(i, j)], s->block[AT(i, k)], s->block[AT(j, k)],
                            s->block[AT(k, k)], k);
            if (t->count) run_downdate(t->count, t->block, t->a, t->b, t->pivot);
        }
    }
    return 0;
}

/* Rejected frames go to the end, each with a new butterfly. Returns how many. */
static int push_back(solver *s, const char *reject) {
    int kept = 0, count = 0;
    int32_t *late = get((size_t)s->m, sizeof *late);
    if (!late) return -1;
    for (int k = 0; k < s->m; k++) {
        if (reject[k])
            late[count++] = s->order[k];
        else
            s->order[kept++] = s->order[k];
    }
    for (int k = 0; k < count; k++) {
        s->order[kept + k] = late[k];
        new_turn(s, late[k]);
    }
    for (int k = 0; k < s->m; k++) s->place[s->order[k]] = k;
    free(late);
    return count;
}

/* Stages until nothing is rejected, or the last one, which replaces pivots. What later stages owe
 * to those before them is computed anew with the new order: the same numbers. */
static int run_stages(solver *s, batch *t) {
    int32_t *set = get((size_t)s->m, sizeof *set);
    char *reject = get((size_t)s->m, 1);
    int status = set && reject ? 0 : -1;
    for (int stage = 1; !status; stage++) {
        s->info.stages = stage;
        s->info.replaced = 0;
        memset(reject, 0, (size_t)s->m);
        make_fill(s);
        status = fill_blocks(s);
        if (!status) status = run_stage(s, t, set, level_sets(s, set), reject, stage == STAGES);
        const int count = status ? -1 : push_back(s, reject);
        if (count < 0) status = -1;
        if (count <= 0) break;
        s->info.rejected += count;
    }
    free(set);
    free(reject);
    return status;
}

static int factorize(solver *s) {
    const size_t m = (size_t)s->m, most = m * (m + 1) / 2 + 1;
    batch t = {.block = kernel_memory(most * sizeof *t.block),
               .a = kernel_memory(most * sizeof *t.a),
               .b = kernel_memory(most * sizeof *t.b),
               .pivot = kernel_memory(most * sizeof *t.pivot),
               .frame = get(most, sizeof *t.frame),
               .trouble = kernel_memory(most * sizeof *t.trouble),
               .largest = kernel_memory(most * sizeof *t.largest)};
    int status = t.block && t.a && t.b && t.pivot && t.frame && t.trouble && t.largest
                     ? run_stages(s, &t)
                     : -1;
    for (int k = 0; k < s->m && !status; k++) {
        const int rows = s->n - s->order[k] * BLOCK;
        for (int r = 0; r < BLOCK && r < rows; r++) {
            const double d = s->block[AT(k, k)][r * (BLOCK + 1)];
            *(d > 0 ? &s->info.positive : &s->info.negative) += 1;
        }
    }
    kernel_release(t.block), kernel_release((void *)t.a), kernel_release((void *)t.b);
    kernel_release((void *)t.pivot), free(t.frame), kernel_release(t.trouble);
    kernel_release(t.largest);
    return status;
}

int solver_make(int n, const int64_t *ap, const int32_t *ai, const double *ax, solver **out) {
    solver *s = *out = get(1, sizeof *s);
    if (!s) return -1;
    s->n = n, s->m = (n + BLOCK - 1) / BLOCK, s->ap = ap, s->ai = ai, s->ax = ax;
    const size_t m = (size_t)s->m;
    s->order = get(m, sizeof *s->order);
    s->place = get(m, sizeof *s->place);
    s->turns = get(m, sizeof *s->turns);
    s->turn = get(m * BLOCK, sizeof *s->turn);
    s->level = get(m * m, sizeof *s->level);
    s->block = get(m * m, sizeof *s->block);
    int status = s->order && s->place && s->turns && s->turn && s->level && s->block ? 0 : -1;
    for (int k = 0; k < s->m && !status; k++) s->order[k] = s->place[k] = k;
    if (!status) status = mirror(s);
    if (!status) status = make_order(s);
    if (!status) status = factorize(s);
    if (status) solver_free(out);
    return status;
}

void solver_free(solver **handle) {
    solver *s = *handle;
    if (!s) return;
    for (size_t k = 0; s->block && k < (size_t)s->m * (size_t)s->m; k++)
        kernel_release(s->block[k]);
    free(s->gp), free(s->gi), free(s->gx), free(s->scale), free(s->perm), free(s->iperm);
    free(s->order), free(s->place), free(s->turns), free(s->turn), free(s->level), free(s->block);
    free(s);
    *handle = NULL;
}

const solver_info *solver_tell(const solver *s) {
    return &s->info;
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* y -= C x, or C^T x, for a block. */
static void multiply(const double *c, const double *x, int transposed, double *y) {
    for (int i = 0; i < BLOCK; i++)
        for (int k = 0; k < BLOCK; k++)
            y[transposed ? k : i] -= c[i * BLOCK + k] * x[transposed ? i : k];
}

void solver_apply(const solver *s, const double *b, double *x) {
    const int m = s->m;
    double *y = get((size_t)m * BLOCK, sizeof *y); /* by places */
    if (!y) {                                      /* NaN tells it */
        for (int i = 0; i < s->n; i++) x[i] = NAN;
        return;
    }
    for (int i = 0; i < s->n; i++) {
        const int r = s->iperm[i];
        y[s->place[r / BLOCK] * BLOCK + r % BLOCK] = b[i] * s->scale[i];
    }
    for (int k = 0; k < m; k++) turn(s, s->order[k], 1, y + k * BLOCK, 1);
    for (int k = 0; k < m; k++) { /* L y = b */
        const double *l = s->block[AT(k, k)];
        double *v = y + k * BLOCK;
        for (int i = 0; i < BLOCK; i++)
            for (int j = 0; j < i; j++) v[i] -= l[i * BLOCK + j] * v[j];
        for (int i = k + 1; i < m; i++)
            if (s->block[AT(i, k)]) multiply(s->block[AT(i, k)], v, 0, y + i * BLOCK);
    }
    for (int k = 0; k < m; k++)
        for (int i = 0; i < BLOCK; i++) y[k * BLOCK + i] /= s->block[AT(k, k)][i * (BLOCK + 1)];
    for (int k = m - 1; k >= 0; k--) { /* L^T x = y */
        const double *l = s->block[AT(k, k)];
        double *v = y + k * BLOCK;
        for (int i = k + 1; i < m; i++)
            if (s->block[AT(i, k)]) multiply(s->block[AT(i, k)], y + i * BLOCK, 1, v);
        for (int i = BLOCK - 1; i >= 0; i--)
            for (int j = i + 1; j < BLOCK; j++) v[i] -= l[j * BLOCK + i] * v[j];
    }
    for (int k = 0; k < m; k++) turn(s, s->order[k], 0, y + k * BLOCK, 1);
    for (int i = 0; i < s->n; i++) {
        const int r = s->iperm[i];
        x[i] = y[s->place[r / BLOCK] * BLOCK + r % BLOCK] * s->scale[i];
    }
    free(y);
}

/* r := b - A x; returns max |r| / (|A| |x| + |b|). */
static double residual(const solver *s, const double *b, const double *x, double *r) {
    double worst = 0;
    for (int i = 0; i < s->n; i++) {
        long double sum = b[i];
        double size = fabs(b[i]);
        for (int64_t e = s->gp[i]; e < s->gp[i + 1]; e++) {
            sum -= (long double)s->gx[e] * x[s->gi[e]];
            size += fabs(s->gx[e] * x[s->gi[e]]);
        }
        r[i] = (double)sum;
        if (!(fabs(r[i]) <= worst * size)) worst = size > 0 ? fabs(r[i]) / size : fabs(r[i]);
    }
    return worst;
}

double solver_solve(const solver *s, const double *b, double *x) {
    enum { STEPS = 50 };
    double *r = get((size_t)s->n, sizeof *r), *y = get((size_t)s->n, sizeof *y);
    double error = NAN;
    if (r && y) {
        solver_apply(s, b, x);
        error = residual(s, b, x, r);
        for (int step = 0; step < STEPS && error > 2 * DBL_EPSILON; step++) {
            double *old = y;
            solver_apply(s, r, r);
            for (int i = 0; i < s->n; i++) old[i] = x[i], x[i] += r[i];
            const double now = residual(s, b, x, r);
            if (!(now < error)) { /* no better: what was before */
                memcpy(x, old, (size_t)s->n * sizeof *x);
                break;
            }
            error = now;
        }
    }
    free(r), free(y);
    return error;
}
