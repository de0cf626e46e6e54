/* SPDX-License-Identifier: BSD-3-Clause */
/* Scaling; and where MATCHING a permutation that maximizes the product of the entries that it
 * brings to the diagonal (Duff & Koster 2001), by shortest augmenting paths. Of a symmetric A its
 * cycles give pairs that are likely to be 2x2 pivots (Duff & Pralet 2005). */
#include <math.h>
#include <string.h>
#include "parts.h"

typedef struct heap {
    int32_t *item, *where;
    double *key;
    int count;
} heap;

static void sift(heap *h, int at) {
    const int32_t item = h->item[at];
    for (; at > 0 && h->key[h->item[(at - 1) / 2]] > h->key[item]; at = (at - 1) / 2)
        h->item[at] = h->item[(at - 1) / 2], h->where[h->item[at]] = at;
    for (int next; (next = 2 * at + 1) < h->count; at = next) {
        if (next + 1 < h->count && h->key[h->item[next + 1]] < h->key[h->item[next]]) next++;
        if (!(h->key[h->item[next]] < h->key[item])) break;
        h->item[at] = h->item[next], h->where[h->item[at]] = at;
    }
    h->item[at] = item, h->where[item] = at;
}

static void lower_key(heap *h, int item, double key) {
    h->key[item] = key;
    if (h->where[item] < 0) h->where[item] = h->count, h->item[h->count++] = item;
    sift(h, h->where[item]);
}

static int pop(heap *h) {
    const int32_t item = h->item[0];
    h->where[item] = -1;
    if (--h->count) h->item[0] = h->item[h->count], h->where[h->item[0]] = 0, sift(h, 0);
    return item;
}

typedef struct match {
    const solver *s;
    double *cost;  /* by entries of rows: log of the row's largest by it */
    double *u, *v; /* duals of rows and columns: cost - u - v >= 0, 0 where matched */
    int32_t *row_of, *column_of, *from, *seen, *touched;
    heap h;
} match;

/* A shortest path from row `start` to a free column; it becomes matched. */
static int augment(match *m, int start) {
    const solver *s = m->s;
    int i = start, end = -1, seen = 0, touched = 0;
    double at = 0;
    m->h.count = 0;
    for (;;) {
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++) {
            const int j = s->rj[e];
            /* no less than `at`, whatever rounding says: what was popped stays so */
            const double d = at + fmax(m->cost[e] - m->u[i] - m->v[j], 0);
            if (!(d < m->h.key[j])) continue;
            if (m->h.key[j] == INFINITY) m->touched[touched++] = j;
            m->from[j] = i;
            lower_key(&m->h, j, d);
        }
        if (m->h.count == 0) break;
        const int j = pop(&m->h);
        at = m->h.key[j];
        if (m->row_of[j] < 0) {
            end = j;
            break;
        }
        m->seen[seen++] = j;
        i = m->row_of[j];
    }
    if (end >= 0) {
        m->u[start] += at;
        for (int k = 0; k < seen; k++) {
            const int j = m->seen[k];
            m->u[m->row_of[j]] += at - m->h.key[j];
            m->v[j] -= at - m->h.key[j];
        }
        for (int j = end; j >= 0;) {
            const int row = m->from[j], next = m->column_of[row];
            m->row_of[j] = row, m->column_of[row] = j;
            j = row == start ? -1 : next;
        }
    }
    for (int k = 0; k < touched; k++)
        m->h.key[m->touched[k]] = INFINITY, m->h.where[m->touched[k]] = -1;
    return end >= 0;
}

/* A matching of as many rows as can be; returns how many. */
static int find(match *m) {
    const solver *s = m->s;
    int count = 0;
    for (int i = 0; i < s->n; i++) {
        double most = 0;
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++) most = fmax(most, fabs(s->rx[e]));
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++)
            m->cost[e] = s->rx[e] == 0 ? INFINITY : log(most / fabs(s->rx[e]));
        m->row_of[i] = m->column_of[i] = m->h.where[i] = -1;
        m->h.key[i] = INFINITY, m->v[i] = INFINITY;
    }
    for (int i = 0; i < s->n; i++) /* duals that are feasible, and a first matching */
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++)
            m->v[s->rj[e]] = fmin(m->v[s->rj[e]], m->cost[e]);
    for (int j = 0; j < s->n; j++)
        if (m->v[j] == INFINITY) m->v[j] = 0;
    for (int i = 0; i < s->n; i++) {
        m->u[i] = INFINITY;
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++)
            m->u[i] = fmin(m->u[i], m->cost[e] - m->v[s->rj[e]]);
        if (m->u[i] == INFINITY) m->u[i] = 0;
        for (int64_t e = s->rp[i]; e < s->rp[i + 1] && m->column_of[i] < 0; e++) {
            const int j = s->rj[e];
            if (m->row_of[j] < 0 && m->cost[e] - m->u[i] - m->v[j] <= 0)
                m->row_of[j] = i, m->column_of[i] = j, count++;
        }
    }
    for (int i = 0; i < s->n; i++)
        if (m->column_of[i] < 0) count += augment(m, i);
    return count;
}

/* Pairs along the cycles of a symmetric matrix' matching; what is left over stands alone. */
static void make_pairs(solver *s, const match *m) {
    for (int from = 0; from < s->n; from++) {
        int i = from;
        while (s->mate[i] == -1) {
            const int j = m->column_of[i];
            if (j < 0 || j == i || s->mate[j] != -1) {
                s->mate[i] = -2; /* alone */
                break;
            }
            s->mate[i] = j, s->mate[j] = i;
            i = m->column_of[j] < 0 ? i : m->column_of[j];
        }
    }
    for (int i = 0; i < s->n; i++)
        if (s->mate[i] == -2) s->mate[i] = -1;
}

/* Rows and columns of an A that is not symmetric: the matched ones, the others as they come. */
static void make_rows(solver *s, const match *m) {
    int free_column = 0;
    for (int i = 0; i < s->n; i++) {
        while (m->column_of[i] < 0 && m->row_of[free_column] >= 0) free_column++;
        s->with[i] = m->column_of[i] < 0 ? free_column++ : m->column_of[i];
    }
}

static double power_of_two(double log_scale) {
    const double e = round(log_scale / M_LN2);
    return ldexp(1, e < -500 ? -500 : e > 500 ? 500 : (int)e);
}

/* Rows and columns by the square root of their largest entries, several times (Ruiz 2001). */
static void equilibrate(solver *s, double *rows, double *columns) {
    for (int pass = 0; pass < 5; pass++) {
        memset(rows, 0, (size_t)s->n * sizeof *rows);
        memset(columns, 0, (size_t)s->n * sizeof *columns);
        for (int i = 0; i < s->n; i++)
            for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++) {
                const double v = fabs(s->rx[e]) * s->rscale[i] * s->cscale[s->rj[e]];
                rows[i] = fmax(rows[i], v), columns[s->rj[e]] = fmax(columns[s->rj[e]], v);
            }
        for (int i = 0; i < s->n; i++) {
            if (rows[i] > 0) s->rscale[i] *= power_of_two(-log(rows[i]) / 2);
            if (columns[i] > 0) s->cscale[i] *= power_of_two(-log(columns[i]) / 2);
        }
    }
}

static void use(solver *s, match *m) {
    const int count = find(m);
    for (int i = 0; i < s->n && count == s->n; i++) {
        double most = 0;
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++) most = fmax(most, fabs(s->rx[e]));
        m->u[i] -= log(most); /* |a| exp(u + v) <= 1 */
    }
    for (int i = 0; i < s->n && count == s->n; i++) {
        s->rscale[i] = power_of_two(TYPE == LDU ? m->u[i] : (m->u[i] + m->v[i]) / 2);
        s->cscale[i] = power_of_two(TYPE == LDU ? m->v[i] : (m->u[i] + m->v[i]) / 2);
    }
    if (TYPE == LDU)
        make_rows(s, m);
    else if (TYPE == LDLT)
        make_pairs(s, m);
}

int solver_match(solver *s) {
    const size_t n = (size_t)s->n;
    double *real = get(3 * n + (size_t)s->rp[n], sizeof *real);
    int32_t *whole = get(7 * n, sizeof *whole);
    for (int i = 0; i < s->n; i++) s->rscale[i] = s->cscale[i] = 1, s->with[i] = i, s->mate[i] = -1;
    if (real && whole && MATCHING && TYPE != LLT) {
        match m = {.s = s,
                   .u = real,
                   .v = real + n,
                   .cost = real + 3 * n,
                   .row_of = whole,
                   .column_of = whole + n,
                   .from = whole + 2 * n,
                   .seen = whole + 3 * n,
                   .touched = whole + 4 * n,
                   .h = {whole + 5 * n, whole + 6 * n, real + 2 * n, 0}};
        use(s, &m);
    }
    if (real && whole) equilibrate(s, real, real + n);
    for (int i = 0; i < s->n; i++)
        for (int64_t e = s->rp[i]; e < s->rp[i + 1]; e++)
            s->most = fmax(s->most, fabs(s->rx[e]) * s->rscale[i] * s->cscale[s->rj[e]]);
    const int status = real && whole ? 0 : -1;
    free(real), free(whole);
    return status;
}
