/* SPDX-License-Identifier: BSD-3-Clause */
/* What each kernel of the accelerator interface means, in plain loops, for one precision. The order
 * of operations on an entry is that of the systolic programs and of the kernels for pipelines. Each
 * operation rounds by itself; those of a GPU may be fused. */
#include "core/precision.h"
#include "cpu.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if MPKI_COMPLEX
#define QUOTIENT(x, d) t_mul(x, t_inv(d))
#else
#define QUOTIENT(x, d) ((x) / (d))
#endif

typedef struct pivot_job {
    int n, rows; /* pivots are looked for in the first `rows` */
    T *a;
    R small;
    bool positive, hermitian, replace;
    int32_t *perm, *columns; /* NULL: none are looked for */
    bool along, pairs, ldu;  /* along the diagonal alone; pairs as well; L and U */
    /* out */
    R largest;
    int32_t trouble, replaced;
} pivot_job;

/* The larger modulus; a NaN stays. */
static R larger(R most, T x) {
    const R size = t_abs(x);
    return most != most || size <= most ? most : size;
}

static void exchange_rows(int n, T *a, int i, int j) {
    for (int k = 0; k < n; k++) {
        const T t = a[i * n + k];
        a[i * n + k] = a[j * n + k], a[j * n + k] = t;
    }
}

static void exchange_columns(int n, T *a, int i, int j) {
    for (int k = 0; k < n; k++) {
        const T t = a[k * n + i];
        a[k * n + i] = a[k * n + j], a[k * n + j] = t;
    }
}

static void exchange_numbers(int32_t *perm, int i, int j) {
    const int32_t t = perm[i];
    perm[i] = perm[j], perm[j] = t;
}

/* Row and column `from` come to place k. */
static void bring(pivot_job *p, int k, int from) {
    if (from == k) return;
    exchange_numbers(p->perm, k, from);
    exchange_rows(p->n, p->a, k, from);
    exchange_columns(p->n, p->a, k, from);
}

/* Is d good for a pivot? Where it is not and may be replaced, it is. */
static bool accept(pivot_job *p, int k) {
    T *d = &p->a[k * (p->n + 1)];
    if (p->hermitian) *d = t_make(t_re(*d), 0);
    const R size = t_abs(*d);
    if (isfinite(size) && (p->positive ? t_re(*d) > p->small : size > p->small)) return true;
    if (p->replace && isfinite(size) && !p->positive) {
        *d = t_make(t_re(*d) < 0 ? -p->small : p->small, 0);
        p->replaced++;
        if (p->small > 0) return true;
    }
    if (!p->trouble) p->trouble = k + 1;
    return false;
}

static void eliminate(pivot_job *p, int k) {
    const int n = p->n;
    T *a = p->a;
    const T d = a[k * n + k];
    for (int j = k + 1; j < n; j++) a[k * n + j] = QUOTIENT(a[k * n + j], d);
    for (int i = k + 1; i < n; i++)
        for (int j = k + 1; j < n; j++) a[i * n + j] -= t_mul(a[i * n + k], a[k * n + j]);
    for (int i = k + 1; i < n; i++) {
        T *l = &a[i * n + k];
        *l = QUOTIENT(*l, d);
        p->largest = larger(p->largest, *l);
        if (p->ldu) p->largest = larger(p->largest, a[k * n + i]);
    }
}

/* Rows and columns k and k + 1 as one pivot, whose entry off the diagonal is the largest of all. */
static void eliminate_pair(pivot_job *p, int k) {
    const int n = p->n;
    T *a = p->a, *u = a + k * n, *v = u + n;
    const T upper = u[k + 1], lower = v[k];
    const T r = QUOTIENT(u[k], lower), s = QUOTIENT(v[k + 1], upper);
    const T t = t_inv(t_mul(r, s) - 1);
    for (int i = k + 2; i < n; i++) {
        T *row = a + i * n;
        const T x = QUOTIENT(row[k], lower), y = QUOTIENT(row[k + 1], upper);
        const T l = t_mul(t, t_mul(x, s) - y), m = t_mul(t, t_mul(y, r) - x);
        for (int j = k + 2; j < n; j++) row[j] = row[j] - t_mul(l, u[j]) - t_mul(m, v[j]);
        row[k] = l, row[k + 1] = m;
        p->largest = larger(larger(p->largest, l), m);
    }
    v[k] = t_make(0, 0);
}

/* Bunch & Parlett 1971: the largest entry of the diagonal, or the largest of all and its two rows.
 * Returns how many columns the pivot takes. */
static int choose(pivot_job *p, int k) {
    const R alpha = (R)0.6403882032022076; /* (1 + sqrt(17)) / 8 */
    const int n = p->n;
    int best = k, row = k, column = k;
    R one = -1, two = -1;
    for (int i = k; i < p->rows; i++) {
        const R size = t_abs(p->a[i * (n + 1)]);
        if (size > one) one = size, best = i;
    }
    for (int i = k; i < p->rows; i++)
        for (int j = i + 1; j < p->rows; j++) {
            const R size = t_abs(p->a[i * n + j]);
            if (size > two) two = size, row = i, column = j;
        }
    if (!(two > p->small) || one >= alpha * two) {
        bring(p, k, best);
        return 1;
    }
    bring(p, k, row);
    bring(p, k + 1, column); /* row < column: it has not moved */
    return 2;
}

/* The largest of all that is left, rows and columns apart. */
static void choose_apart(pivot_job *p, int k) {
    const int n = p->n;
    int row = k, column = k;
    R most = -1;
    for (int i = k; i < p->rows; i++)
        for (int j = k; j < p->rows; j++) {
            const R size = t_abs(p->a[i * n + j]);
            if (size > most) most = size, row = i, column = j;
        }
    if (row != k) exchange_numbers(p->perm, k, row), exchange_rows(n, p->a, k, row);
    if (column != k) exchange_numbers(p->columns, k, column), exchange_columns(n, p->a, k, column);
}

static void choose_diagonal(pivot_job *p, int k) {
    int best = k;
    for (int i = k + 1; i < p->rows; i++)
        if (t_abs(p->a[i * (p->n + 1)]) > t_abs(p->a[best * (p->n + 1)])) best = i;
    bring(p, k, best);
}

static void factor(pivot_job *p) {
    const int n = p->n;
    T *a = p->a;
    bool begins[MPKI_ACCELERATOR_MOST] = {false}; /* a pair */
    for (int k = 0; p->perm && k < n; k++) p->perm[k] = k;
    for (int k = 0; p->columns && k < n; k++) p->columns[k] = k;
    for (int k = 0, width; k < n; k += width) {
        width = 1;
        if (p->columns && k < p->rows)
            choose_apart(p, k);
        else if (p->pairs && k < p->rows)
            width = choose(p, k);
        else if (p->along && k < p->rows)
            choose_diagonal(p, k);
        if (width == 2) {
            begins[k] = true;
            eliminate_pair(p, k);
        } else {
            if (!accept(p, k)) return;
            eliminate(p, k);
        }
    }
    for (int k = 0; p->pairs && k + 1 < n; k++)
        if (!begins[k]) a[k * n + k + 1] = t_make(0, 0);
}

/* The verdict on a frame, where the accelerator judges. */
static void judge(const mpk_accelerator_task *t, int64_t i, bool failed, int32_t replaced,
                  double largest) {
    int32_t *word = &t->state[t->frame[i]];
    const bool factorizes = t->kernel == MPK_ACCELERATOR_FACTORIZE;
    if (failed || !isfinite(largest) || (!t->last && !(largest <= t->bound)))
        *word |= factorizes ? MPK_ACCELERATOR_PIVOT_FAILS : MPK_ACCELERATOR_COLUMN_FAILS;
    *word += MPK_ACCELERATOR_REPLACED * replaced;
}

/* Is the item one of a frame that fails? */
static bool is_rejected(const mpk_accelerator_task *t, int64_t i) {
    const int32_t fails = t->kernel == MPK_ACCELERATOR_SOLVE
                              ? MPK_ACCELERATOR_PIVOT_FAILS
                              : MPK_ACCELERATOR_PIVOT_FAILS | MPK_ACCELERATOR_COLUMN_FAILS;
    return t->state && t->state[t->frame[i]] & fails;
}

void FN(accelerator_factorize)(const mpk_accelerator_task *t) {
    const mpk_accelerator_batch *b = t->batch;
    T work[MPKI_ACCELERATOR_MOST * MPKI_ACCELERATOR_MOST];
    const int n = t->batch->n;
    const size_t bytes = (size_t)n * (size_t)n * sizeof(T);
    const bool ldu = t->type == MPK_TYPE_LDU, positive = t->type == MPK_TYPE_LLT;
    const bool two = b->perm && t->pairs && !ldu && !positive;
    for (int64_t i = 0; i < b->count; i++) {
        pivot_job p = {.n = n,
                       .rows = t->rows ? t->rows[i] : n,
                       .a = work,
                       .small = (R)b->small,
                       .positive = positive,
                       .hermitian = MPKI_COMPLEX && t->hermitian,
                       .replace = t->state && t->last,
                       .perm = b->perm ? b->perm[i] : NULL,
                       .columns = b->perm && ldu && t->columns ? t->columns[i] : NULL,
                       .along = b->perm && !two && !ldu,
                       .pairs = two,
                       .ldu = ldu};
        memcpy(work, b->block[0][i], bytes);
        factor(&p);
        if (t->state)
            judge(t, i, p.trouble != 0, p.replaced, (double)p.largest);
        else
            b->trouble[i] = p.trouble, b->largest[i] = (double)p.largest;
        if (p.trouble) continue;
        memcpy(b->block[0][i], work, bytes);
        for (int r = 0; ldu && r < n; r++)
            for (int c = 0; c < n; c++) ((T *)b->block[1][i])[r * n + c] = work[c * n + r];
    }
}

/* ---- the others ------------------------------------------------------------------------------ */

/* D(k, k + 1) of a pair that begins at k; else 0. */
static T beside(const mpk_accelerator_task *t, const T *f, int k) {
    return t->pairs && k >= 0 && k + 1 < t->batch->n ? f[k * (t->batch->n + 1) + 1] : t_make(0, 0);
}

/* m := the transpose of D L^T, lower: x m^T = row is solved forward. */
static void times_diagonal(const mpk_accelerator_task *t, const T *f, T *m) {
    const int n = t->batch->n;
    for (int k = 0; k < n; k++) {
        const T d = f[k * (n + 1)], right = beside(t, f, k), left = beside(t, f, k - 1);
        m[k * (n + 1)] = d;
        for (int r = k + 1; r < n; r++) {
            const T *l = f + r * n;
            T x = t_mul(conj_if(t->hermitian, l[k]), d);
            if (right != 0 && r > k + 1) x += t_mul(conj_if(t->hermitian, l[k + 1]), right);
            if (left != 0) x += t_mul(conj_if(t->hermitian, l[k - 1]), conj_if(t->hermitian, left));
            m[r * n + k] = x;
        }
    }
}

/* The two unknowns of a pair, from their right-hand sides. */
static void solve_pair(const mpk_accelerator_task *t, const T *f, int k, T *c) {
    const int n = t->batch->n;
    const T e = f[k * (n + 1) + 1], over = conj_if(t->hermitian, e);
    const T r = QUOTIENT(f[k * (n + 1)], e), s = QUOTIENT(f[(k + 1) * (n + 1)], over);
    const T det = t_inv(t_mul(r, s) - 1), x = c[k], y = c[k + 1];
    c[k] = t_mul(det, QUOTIENT(t_mul(x, s) - y, e));
    c[k + 1] = t_mul(det, QUOTIENT(t_mul(y, r) - x, over));
}

void FN(accelerator_solve)(const mpk_accelerator_task *t) {
    const mpk_accelerator_batch *b = t->batch;
    const int n = t->batch->n;
    T m[MPKI_ACCELERATOR_MOST * MPKI_ACCELERATOR_MOST];
    for (int64_t i = 0; i < b->count; i++) {
        const T *f = b->pivot[i];
        T *c = b->block[0][i];
        R most = 0;
        if (is_rejected(t, i)) continue;
        times_diagonal(t, f, m);
        for (int row = 0; row < n; row++, c += n) {
            for (int r = 0; r < n; r++) {
                const bool first = beside(t, f, r) != 0, second = beside(t, f, r - 1) != 0;
                T s = c[r];
                for (int k = 0; k < r - second; k++) s -= t_mul(m[r * n + k], c[k]);
                c[r] = first || second ? s : QUOTIENT(s, m[r * n + r]);
                if (second) solve_pair(t, f, r - 1, c);
            }
            for (int r = 0; r < n; r++) most = larger(most, c[r]);
        }
        if (t->state)
            judge(t, i, false, 0, (double)most);
        else
            b->largest[i] = (double)most;
    }
}

/* c -= x D y^T of item i. */
static void downdate(const mpk_accelerator_task *t, int64_t i, T *c) {
    const mpk_accelerator_batch *b = t->batch;
    const T *x = b->block[1][i], *y = b->block[2][i], *f = b->pivot[i];
    const int n = b->n;
    T w[MPKI_ACCELERATOR_MOST * MPKI_ACCELERATOR_MOST];
    for (int k = 0; k < n; k++) {
        const T d = f[k * (n + 1)], right = beside(t, f, k), left = beside(t, f, k - 1);
        for (int j = 0; j < n; j++) {
            const T *l = y + j * n;
            T p = t_mul(d, conj_if(t->hermitian, l[k]));
            if (right != 0) p += t_mul(right, conj_if(t->hermitian, l[k + 1]));
            if (left != 0) p += t_mul(conj_if(t->hermitian, left), conj_if(t->hermitian, l[k - 1]));
            w[k * n + j] = p;
        }
    }
    for (int r = 0; r < n; r++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[r * n + j] -= t_mul(x[r * n + k], w[k * n + j]);
}

void FN(accelerator_downdate)(const mpk_accelerator_task *t) {
    for (int64_t k = 0; k < t->batch->count; k++)
        for (int64_t i = t->first ? t->first[k] : k, end = t->first ? t->first[k + 1] : k + 1;
             i < end; i++)
            if (!is_rejected(t, i)) downdate(t, i, t->batch->block[0][k]);
}

void FN(accelerator_transpose)(const mpk_accelerator_task *t) {
    const mpk_accelerator_batch *b = t->batch;
    const int n = t->batch->n;
    for (int64_t i = 0; i < b->count; i++) {
        T *c = b->block[0][i];
        for (int r = 0; r < n; r++)
            for (int k = 0; k <= r; k++) {
                const T below = conj_if(t->hermitian, c[r * n + k]);
                c[r * n + k] = conj_if(t->hermitian, c[k * n + r]), c[k * n + r] = below;
            }
    }
}

void FN(accelerator_zero_out)(const mpk_accelerator_task *t) {
    const mpk_accelerator_batch *b = t->batch;
    for (int64_t i = 0; i < b->count; i++)
        memset(b->block[0][i], 0, (size_t)b->n * (size_t)b->n * sizeof(T));
}

void FN(accelerator_permute)(const mpk_accelerator_task *t) {
    const mpk_accelerator_batch *b = t->batch;
    const int n = t->batch->n;
    T row[MPKI_ACCELERATOR_MOST];
    for (int64_t i = 0; i < b->count; i++) {
        T *c = b->block[0][i];
        if (is_rejected(t, i)) continue;
        for (int r = 0; r < n; r++, c += n) {
            memcpy(row, c, (size_t)n * sizeof *row);
            for (int k = 0; k < n; k++) c[k] = row[b->perm[i][k]];
        }
    }
}

/* ---- dropping -------------------------------------------------------------------------------- */

void FN(accelerator_measure)(const mpk_accelerator_task *t) {
    const mpk_accelerator_batch *b = t->batch;
    const int n = b->n;
    for (int64_t i = 0; i < b->count; i++) {
        const T *c = b->block[0][i];
        double *norm2 = t->norm2 + i * n;
        memset(norm2, 0, (size_t)n * sizeof *norm2);
        for (int r = 0; r < n; r++)
            for (int k = 0; k < n; k++) {
                const double size = (double)t_abs(c[r * n + k]);
                norm2[k] += size * size;
            }
    }
}

typedef struct sized {
    R size;
    int at;
} sized;

/* The largest first, of equals that which stands first. */
static int by_size(const void *x, const void *y) {
    const sized *a = x, *b = y;
    if (a->size != b->size) return a->size < b->size ? 1 : -1;
    return a->at - b->at;
}

void FN(accelerator_drop)(const mpk_accelerator_task *t) {
    const mpk_accelerator_batch *b = t->batch;
    const int n = b->n;
    sized left[MPKI_ACCELERATOR_MOST * MPKI_ACCELERATOR_MOST];
    for (int64_t i = 0; i < b->count; i++) {
        T *c = b->block[0][i];
        const double *limit = t->limit + i * n;
        int64_t count = 0;
        for (int k = 0; k < n * n; k++) {
            const R size = t_abs(c[k]);
            if (size > (R)limit[k % n])
                left[count++] = (sized){size, k};
            else if (t->keep)
                c[k] = 0;
        }
        t->kept[i] = count;
        if (!t->keep || t->keep[i] < 0 || count <= t->keep[i]) continue;
        qsort(left, (size_t)count, sizeof *left, by_size);
        for (int64_t k = t->keep[i]; k < count; k++) c[left[k].at] = 0;
        t->kept[i] = t->keep[i];
    }
}
