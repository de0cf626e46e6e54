/* SPDX-License-Identifier: BSD-3-Clause */
/* Symmetric equilibration in the infinity norm (D. Ruiz, RAL-TR-2001-034), and by least squares of
 * exponents (A. R. Curtis & J. K. Reid 1972). */
#include "../../core/pool.h"
#include "../analysis.h"
#include <float.h>
#include <math.h>
#include <string.h>

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* How scales lie in the range of doubles. */
typedef enum nearness {
    FAR,  /* products of two may leave it */
    NEAR, /* entries that are scaled by two may */
    CLOSE /* nor do these, but entries that are very large or small themselves */
} nearness;

/* Sweeps from even maxima, which change scales by 2^8 at most, after which these are close still: a
 * product of two is within 2^-480 and 2^480. */
enum { MILD_SWEEPS = 5 };

/* Are all of these between two positive numbers? By their bits, which are ordered as they are; NaN is
 * not, nor is 0. */
static bool all_between(int64_t count, const double *x, double least, double most) {
    uint64_t low, high, outside = 0; /* its sign: one of them is */
    memcpy(&low, &least, sizeof low);
    memcpy(&high, &most, sizeof high);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        outside |= (bits - low) | (high - bits);
    }
    return outside >> 63 == 0;
}

static bool are_close(int64_t count, const double *scale) {
    return all_between(count, scale, 0x1p-200, 0x1p+200);
}

static nearness nearness_of(int32_t n, const double *scale) {
    return are_close(n, scale) ? CLOSE : mpki_scales_near(n, scale) ? NEAR : FAR;
}

/* Entries whose scaled value is not 0 where scales are close, and they are not. */
static bool moderate(int64_t count, const double *entry) {
    bool all = true;
    for (int64_t k = 0; k < count; k++) all &= (entry[k] == 0) | (fabs(entry[k]) > 0x1p-500);
    return all;
}

/* Rows in blocks: what a part's columns do not reach, it does not look at. */
enum { BLOCK_BITS = 9, BLOCK = 1 << BLOCK_BITS };

static inline int64_t block_end(int64_t i, int64_t end) {
    const int64_t next = ((i >> BLOCK_BITS) + 1) << BLOCK_BITS;
    return next < end ? next : end;
}

/* largest[i] = max_j |s_i a_ij s_j| over columns begin .. end-1, of the rows begin .. rows-1 in the blocks
 * that these reach, NULL: all, for there are no others; 0 only for rows of zeros */
static inline __attribute__((always_inline)) void maxima(int32_t rows, int32_t begin, int32_t end,
                                                         const int64_t *ap, const int32_t *ai,
                                                         const double *entry, const double *s,
                                                         const nearness near, const char *reached,
                                                         double *largest) {
    for (int64_t i = begin, next; i < rows; i = next) {
        next = block_end(i, rows);
        if (reached && !reached[i >> BLOCK_BITS]) continue;
        memset(largest + i, 0, (size_t)(next - i) * sizeof *largest);
    }
    for (int32_t j = begin; j < end; j++) {
        const double sj = s[j];
        double most = largest[j];
        /* by selections: no branch could be foretold */
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            const int32_t i = ai[k];
            const double size = fabs(entry[k]);
            double a = near == FAR ? mpki_scaled(size, s[i], sj) : size * (s[i] * sj);
            if (near != CLOSE) a = size > 0 ? clamp(a, DBL_MIN, DBL_MAX) : 0;
            most = a > most ? a : most;
            largest[i] = a > largest[i] ? a : largest[i];
        }
        largest[j] = most > largest[j] ? most : largest[j];
    }
}

/* Threads share the columns; each has maxima of its own, of the rows that its columns reach, and the
 * largest of these does not depend on how many there are. More of them would spend their time on these. */
enum { PARTS = 16, WORTH_A_THREAD = 100000, ENTRIES_A_PART = 25000, MERGED = 1 << 12 };

typedef struct searching {
    int32_t n;
    const int64_t *ap;
    const int32_t *ai;
    const double *entry, *scale;
    nearness near;
    int parts;
    int32_t cut[PARTS + 1], rows[PARTS]; /* columns; where their rows end */
    int64_t at[PARTS]; /* where a part's maxima begin in own, less its first row */
    int64_t blocks;
    char *reached;         /* parts x blocks: of rows that a part's columns reach; NULL: one part */
    double *largest, *own; /* n; own: of the parts, where there are several */
    double *rescaled;
    /* of all rows: are their largest entries near 1; not near the ends of the range; not 0 */
    _Atomic bool even, inside, some;
    _Atomic bool close; /* all scales, after they have changed */
} searching;

static void search_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool, (void)worker;
    const searching *s = arg;
    double *largest = s->parts > 1 ? s->own + s->at[t] : s->largest;
    const int32_t rows = s->rows[t], begin = s->cut[t], end = s->cut[t + 1];
    const char *reached = s->reached ? s->reached + t * s->blocks : NULL;
    if (s->near == CLOSE)
        maxima(rows, begin, end, s->ap, s->ai, s->entry, s->scale, CLOSE, reached, largest);
    else if (s->near == NEAR)
        maxima(rows, begin, end, s->ap, s->ai, s->entry, s->scale, NEAR, reached, largest);
    else
        maxima(rows, begin, end, s->ap, s->ai, s->entry, s->scale, FAR, reached, largest);
}

static void rows_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool, (void)worker;
    searching *s = arg;
    char *reached = s->reached + t * s->blocks;
    int32_t last = s->cut[t + 1] - 1;
    for (int64_t j = s->cut[t]; j < s->cut[t + 1]; j = block_end(j, s->cut[t + 1]))
        reached[j >> BLOCK_BITS] = 1;
    for (int64_t k = s->ap[s->cut[t]]; k < s->ap[s->cut[t + 1]]; k++) {
        last = s->ai[k] > last ? s->ai[k] : last;
        reached[s->ai[k] >> BLOCK_BITS] = 1;
    }
    s->rows[t] = last + 1;
}

static void merge_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool, (void)worker;
    searching *s = arg;
    const int64_t begin = t * MERGED, end = begin + MERGED < s->n ? begin + MERGED : s->n;
    if (s->parts > 1) memset(s->largest + begin, 0, (size_t)(end - begin) * sizeof *s->largest);
    for (int p = 0; s->parts > 1 && p < s->parts; p++) {
        const double *own = s->own + s->at[p];
        const int64_t first = begin < s->cut[p] ? s->cut[p] : begin;
        const int64_t last = end < s->rows[p] ? end : s->rows[p];
        for (int64_t i = first, next; i < last; i = next) {
            next = block_end(i, last);
            if (!s->reached[p * s->blocks + (i >> BLOCK_BITS)]) continue;
            for (int64_t k = i; k < next; k++)
                s->largest[k] = own[k] > s->largest[k] ? own[k] : s->largest[k];
        }
    }
    const double *const largest = s->largest + begin;
    bool even = all_between(end - begin, largest, MPKI_EVEN_LEAST, MPKI_EVEN_MOST), some = true;
    bool inside = even || all_between(end - begin, largest, 0x1p-900, 0x1p+900);
    if (!inside) { /* there are zeros, or what is very large or small */
        even = inside = true;
        for (int64_t i = 0; i < end - begin; i++) {
            const double m = largest[i];
            even &= mpki_even(m);
            inside &= (m <= 0x1p+900) & ((m >= 0x1p-900) | (m == 0));
            some &= m > 0;
        }
    }
    if (!even) atomic_store(&s->even, false);
    if (!inside) atomic_store(&s->inside, false);
    if (!some) atomic_store(&s->some, false);
}

static void rescale_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool, (void)worker;
    searching *s = arg;
    const int64_t begin = t * MERGED, end = begin + MERGED < s->n ? begin + MERGED : s->n;
    const double *restrict largest = s->largest;
    double *restrict scale = s->rescaled;
    for (int64_t i = begin; i < end; i++) { /* by selections, for several rows at a time */
        const bool some = largest[i] > 0;
        const double old = scale[i], x = mpki_rescaled(old, some ? largest[i] : 1);
        scale[i] = some ? x : old;
    }
    if (!are_close(end - begin, scale + begin)) atomic_store(&s->close, false);
}

/* Columns in parts of about as many entries. */
static void cut_columns(searching *s) {
    for (int p = 0, j = 0; p <= s->parts; p++) {
        const int64_t aim = s->ap ? s->ap[s->n] / s->parts * p : 0;
        while (j < s->n && s->ap[j] < aim) j++;
        s->cut[p] = p == s->parts ? s->n : j;
    }
}

/* Each part clears and merges the rows that it reaches, and memory for them may be fresh: where they are many beside the
 * entries, two neighbours become one part, but four are left. case10000 takes 1.5 ms on one core, 0.75 in four
 * parts, 1.1 in sixteen. */
static void join_parts(searching *s) {
    enum { FEW = 7 };
    for (;;) {
        int64_t reached = 0;
        for (int64_t k = 0; k < s->parts * s->blocks; k++) reached += s->reached[k];
        if (s->parts < FEW || 3 * reached * BLOCK <= 2 * s->ap[s->n]) return;
        const int parts = (s->parts + 1) / 2;
        for (int p = 0; p < parts; p++) {
            const int from = 2 * p, other = from + 1 < s->parts ? from + 1 : from;
            const int32_t rows = s->rows[from] > s->rows[other] ? s->rows[from] : s->rows[other];
            for (int64_t k = 0; k < s->blocks; k++)
                s->reached[p * s->blocks + k] =
                    s->reached[from * s->blocks + k] | s->reached[other * s->blocks + k];
            s->cut[p] = s->cut[from];
            s->rows[p] = rows;
        }
        s->parts = parts;
        s->cut[parts] = s->n;
    }
}

static void find_maxima(searching *s, mpki_pool *pool, int64_t items) {
    atomic_store(&s->even, true);
    atomic_store(&s->inside, true);
    atomic_store(&s->some, true);
    mpki_pool_for(pool, 0, s->parts, search_item, s);
    mpki_pool_for(pool, 0, items, merge_item, s);
}

mpk_status mpki_equilibrate(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                            const double *entry, int sweeps, int threads, double *scale) {
    searching s = {
        .n = n, .ap = ap, .ai = ai, .entry = entry, .scale = scale, .rescaled = scale, .parts = 1};
    mpki_pool *pool = NULL;
    if (threads > 1 && n > 0 && ap[n] >= WORTH_A_THREAD) {
        const int64_t most = ap[n] / ENTRIES_A_PART;
        if (threads > most && !mpki_context_takes_all(ctx)) threads = (int)most;
        pool = mpki_context_pool(ctx, threads, 1);
        if (!pool) return mpki_failed(ctx);
        s.parts = mpki_pool_threads(pool) < PARTS ? mpki_pool_threads(pool) : PARTS;
    }
    cut_columns(&s);
    s.rows[0] = n;
    s.blocks = ((int64_t)n + BLOCK - 1) >> BLOCK_BITS;
    int64_t all = n;
    if (s.parts > 1 && !(s.reached = MPKI_ZNEW(ctx, "equilibrate", s.parts * s.blocks, char)))
        return mpki_failed(ctx);
    if (s.parts > 1) mpki_pool_for(pool, 0, s.parts, rows_item, &s);
    if (s.parts > 1) join_parts(&s);
    for (int p = 0; s.parts > 1 && p < s.parts; p++) {
        s.at[p] = all - n - s.cut[p];
        all += s.rows[p] - s.cut[p];
    }
    double *largest = s.largest = MPKI_NEW(ctx, "equilibrate", all, double);
    if (!largest) {
        mpki_release(ctx, s.reached);
        return mpki_failed(ctx);
    }
    s.own = largest + n;
    s.near = nearness_of(n, scale);
    bool looked = false, all_moderate = false;
    int left = MILD_SWEEPS;
    const int64_t items = ((int64_t)n + MERGED - 1) / MERGED;
    for (int sweep = 0; sweep < sweeps + MPKI_MORE_SWEEPS; sweep++) {
        if (mpki_stop_wanted(ctx, "analyse")) {
            mpki_release(ctx, largest);
            mpki_release(ctx, s.reached);
            return mpki_stopped(ctx, "equilibrate");
        }
        find_maxima(&s, pool, items);
        if (s.near == CLOSE && atomic_load(&s.inside) && !atomic_load(&s.some) && !looked) {
            all_moderate = moderate(ap[n], entry);
            looked = true;
        }
        if (s.near == CLOSE &&
            !(atomic_load(&s.inside) && (atomic_load(&s.some) || all_moderate))) {
            s.near = NEAR; /* with what keeps scaled entries within the range */
            find_maxima(&s, pool, items);
        }
        const bool all_even = atomic_load(&s.even);
        if (sweep >= sweeps && all_even) break;
        atomic_store(&s.close, true);
        mpki_pool_for(pool, 0, items, rescale_item, &s);
        if (s.near == CLOSE && all_even && left > 0) {
            left--;
        } else {
            s.near = atomic_load(&s.close) ? CLOSE : nearness_of(n, scale);
            left = MILD_SWEEPS;
        }
        /* where the largest entries were even they are so after a sweep: sqrt(m_i / m_j) or more */
        if (sweep + 1 >= sweeps && all_even) break;
    }
    mpki_release(ctx, largest);
    mpki_release(ctx, s.reached);
    return MPK_OK;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* y_i := sum over the entries of row i of (x_i + x_j); diagonal: their number, and one more for a
 * diagonal entry */
static void add_levels(int32_t n, const int64_t *ap, const int32_t *ai, const double *entry,
                       const double *x, double *y) {
    memset(y, 0, (size_t)n * sizeof *y);
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            if (!(fabs(entry[k]) > 0)) continue;
            const int32_t i = ai[k];
            y[i] += x[i] + x[j];
            if (i != j) y[j] += x[i] + x[j];
        }
}

/* log2 a to a tenth, by the bits; a > 0 */
static double level_of(double a) {
    uint64_t bits;
    if (a < DBL_MIN) return log2(a);
    memcpy(&bits, &a, sizeof bits);
    return (double)(bits >> 20) * 0x1p-32 - 1023;
}

/* rhs_i := -sum of log2 |a_ij|, weight_i := the diagonal of the normal equations */
static void exponents(int32_t n, const int64_t *ap, const int32_t *ai, const double *entry,
                      double *rhs, double *weight) {
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            const double size = fabs(entry[k]);
            if (!(size > 0)) continue;
            const double level = level_of(size);
            const int32_t i = ai[k];
            rhs[i] -= level, weight[i] += i == j ? 2 : 1;
            if (i != j) rhs[j] -= level, weight[j] += 1;
        }
}

mpk_status mpki_level(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                      const double *entry, double *scale) {
    enum { STEPS = 100 };
    const double ENOUGH = 0.1; /* square of an exponent's error, on average */
    double *work = MPKI_ZNEW(ctx, "equilibrate", 5 * (int64_t)n, double);
    if (!work) return mpki_failed(ctx);
    double *u = work, *r = work + n, *p = r + n, *q = p + n, *weight = q + n;
    double rho = 0;
    exponents(n, ap, ai, entry, r, weight);
    for (int32_t i = 0; i < n; i++) {
        p[i] = weight[i] > 0 ? r[i] / weight[i] : 0;
        rho += r[i] * p[i];
    }
    for (int step = 0; step < STEPS && rho > ENOUGH * n; step++) {
        double pq = 0, next = 0;
        add_levels(n, ap, ai, entry, p, q);
        for (int32_t i = 0; i < n; i++) pq += p[i] * q[i];
        if (!(pq > 0)) break;
        for (int32_t i = 0; i < n; i++) {
            u[i] += rho / pq * p[i];
            r[i] -= rho / pq * q[i];
            if (weight[i] > 0) next += r[i] * r[i] / weight[i];
        }
        for (int32_t i = 0; i < n; i++)
            p[i] = (weight[i] > 0 ? r[i] / weight[i] : 0) + next / rho * p[i];
        rho = next;
    }
    for (int32_t i = 0; i < n; i++) scale[i] = clamp(exp2(u[i]), MPKI_SCALE_LEAST, MPKI_SCALE_MOST);
    mpki_release(ctx, work);
    return MPK_OK;
}
