/* SPDX-License-Identifier: BSD-3-Clause */
/** Entries -> sorted lower triangle by columns. An entry of the upper triangle is moved to its
 *  mirror place and its row index is complemented (~row), so that the two halves of a full matrix
 *  become neighbours and can be compared. The entries of a general matrix stay in their places. */
#include "law.h"

#include <string.h>

static inline int32_t plain(int32_t i) {
    return i < 0 ? ~i : i;
}

/* Columns under construction. */
typedef struct columns {
    int64_t *ptr; /* n + 1 */
    int32_t *idx; /* row, or ~row when it came from the upper triangle */
    T *val;
} columns;

static void columns_free(mpk_context *ctx, columns *c) {
    mpki_release(ctx, c->ptr);
    mpki_release(ctx, c->idx);
    mpki_release(ctx, c->val);
    *c = (columns){0};
}

static bool columns_new(mpk_context *ctx, const char *stage, int32_t n, int64_t nnz, columns *c) {
    c->ptr = MPKI_ZNEW(ctx, stage, (int64_t)n + 1, int64_t);
    c->idx = MPKI_NEW(ctx, stage, nnz, int32_t);
    c->val = MPKI_NEW(ctx, stage, nnz, T);
    return c->ptr && c->idx && c->val;
}

/* Mirror the upper triangle, drop what does not count. Returns whether (col, row) then strictly
 * increases without a mirrored entry: nothing is left to sort or sum. */
static bool fold(mpki_asking *asking, const mpki_assembly *how, mpki_entries *e) {
    T *val = e->value;
    int64_t kept = 0;
    int32_t last_col = -1, last_row = -1;
    bool sorted = true;
    for (int64_t k = 0; k < e->count; k++) {
        int32_t r = e->row[k], c = e->col[k];
        if (mpki_asks(asking, 1)) return false;
        if (r > c && how->triangle == MPK_UPPER) continue;
        if (r < c && how->triangle == MPK_LOWER) continue;
        bool upper = r < c && how->symmetry != MPK_GENERAL;
        if (upper) {
            int32_t t = r;
            r = c;
            c = t;
        }
        sorted &= !upper && (c > last_col || (c == last_col && r > last_row));
        last_col = c;
        last_row = r;
        e->row[kept] = upper ? ~r : r;
        e->col[kept] = c;
        val[kept++] = val[k];
    }
    e->count = kept;
    return sorted;
}

/* ptr[j + 1] counts column j -> ptr[j] is where column j starts. */
static void prefix_sum(int32_t n, int64_t *ptr) {
    for (int32_t j = 0; j < n; j++) ptr[j + 1] += ptr[j];
}

/* After ptr[j] was used as a running end of column j: back to starts. */
static void shift_back(int32_t n, int64_t *ptr) {
    memmove(ptr + 1, ptr, (size_t)n * sizeof *ptr);
    ptr[0] = 0;
}

/* Counting sort by column, stable. */
static void bucket(mpki_asking *asking, int32_t n, const mpki_entries *e, columns *out) {
    const T *val = e->value;
    for (int64_t k = 0; k < e->count; k++) out->ptr[e->col[k] + 1]++;
    prefix_sum(n, out->ptr);
    for (int64_t k = 0; k < e->count; k++) {
        int64_t at = out->ptr[e->col[k]]++;
        if (mpki_asks(asking, 4)) return;
        out->idx[at] = e->row[k];
        out->val[at] = val[k];
    }
    shift_back(n, out->ptr);
}

/* out = in^T, stable: twice makes every column sorted. */
static void transpose(mpki_asking *asking, int32_t n, const columns *in, columns *out) {
    memset(out->ptr, 0, ((size_t)n + 1) * sizeof *out->ptr);
    for (int64_t k = 0; k < in->ptr[n]; k++) out->ptr[plain(in->idx[k]) + 1]++;
    prefix_sum(n, out->ptr);
    for (int32_t j = 0; j < n; j++) {
        if (mpki_asks(asking, 4 * (in->ptr[j + 1] - in->ptr[j]))) return;
        for (int64_t k = in->ptr[j]; k < in->ptr[j + 1]; k++) {
            int64_t at = out->ptr[plain(in->idx[k])]++;
            out->idx[at] = in->idx[k] < 0 ? ~j : j;
            out->val[at] = in->val[k];
        }
    }
    shift_back(n, out->ptr);
}

/* out := what `in` was before its upper triangle was mirrored. Columns of `in` are taken in order,
 * and column j of the result gets its rows before j from those before j: so it is sorted. */
static void unfold(int32_t n, const columns *in, columns *out) {
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = in->ptr[j]; k < in->ptr[j + 1]; k++)
            out->ptr[1 + (in->idx[k] < 0 ? ~in->idx[k] : j)]++;
    prefix_sum(n, out->ptr);
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = in->ptr[j]; k < in->ptr[j + 1]; k++) {
            const bool upper = in->idx[k] < 0;
            const int64_t at = out->ptr[upper ? ~in->idx[k] : j]++;
            out->idx[at] = upper ? j : in->idx[k];
            out->val[at] = in->val[k];
        }
    shift_back(n, out->ptr);
}

static bool sorted_columns(int32_t n, const columns *c) {
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = c->ptr[j] + 1; k < c->ptr[j + 1]; k++)
            if (plain(c->idx[k - 1]) > plain(c->idx[k])) return false;
    return true;
}

/* Sums of the entries at one place: as given in the lower triangle and in the upper one. */
typedef struct place {
    int32_t row;
    T lower, upper;
    bool has_lower, has_upper;
} place;

/* Gather the place that starts at k of a sorted column; returns where the next one starts. */
static int64_t next_place(const columns *c, int64_t k, int64_t end, place *p) {
    *p = (place){.row = plain(c->idx[k])};
    for (; k < end && plain(c->idx[k]) == p->row; k++) {
        if (c->idx[k] < 0) {
            p->upper = p->has_upper ? p->upper + c->val[k] : c->val[k];
            p->has_upper = true;
        } else {
            p->lower = p->has_lower ? p->lower + c->val[k] : c->val[k];
            p->has_lower = true;
        }
    }
    return k;
}

/* Does every place obey the law to the last bit? MPK_EITHER: one half only, or that is an error. */
static mpk_status look(mpk_context *ctx, const mpki_assembly *how, const columns *c, bool hermitian,
                       bool *exact) {
    *exact = true;
    for (int32_t j = 0; j < how->n; j++)
        for (int64_t k = c->ptr[j]; k < c->ptr[j + 1];) {
            place p;
            k = next_place(c, k, c->ptr[j + 1], &p);
            if (p.row == j)
                *exact &= !hermitian || t_im(p.lower) == 0;
            else if (how->triangle == MPK_FULL)
                *exact &= p.lower == conj_if(hermitian, p.upper);
            else if (how->triangle == MPK_EITHER && p.has_lower && p.has_upper)
                return complain(ctx, how, p.row, j,
                                "given in both triangles; a symmetric matrix gives each pair once");
        }
    return MPK_OK;
}

/* scale[n] := the largest entry of each row. */
static void scale_rows(const mpki_assembly *how, const columns *c, double *scale) {
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t j = 0; j < how->n; j++)
            for (int64_t k = c->ptr[j]; k < c->ptr[j + 1];) {
                place p;
                k = next_place(c, k, c->ptr[j + 1], &p);
                if (pass == 0)
                    scale_by(scale, p.row, j, p.lower, p.upper);
                else
                    count_in(scale, p.row, j, p.lower, p.upper);
            }
        if (pass == 0) negate(how->n, scale);
    }
}

static breach find_worst(const mpki_assembly *how, const columns *c, const double *scale,
                         bool hermitian) {
    const law l = law_of(how->tolerance);
    breach worst = {0};
    for (int32_t j = 0; j < how->n; j++)
        for (int64_t k = c->ptr[j]; k < c->ptr[j + 1];) {
            place p;
            k = next_place(c, k, c->ptr[j + 1], &p);
            if (p.row == j)
                compare(&l, scale, j, j, p.lower, p.lower, hermitian, &worst);
            else if (how->triangle == MPK_FULL)
                compare(&l, scale, p.row, j, p.lower, p.upper, hermitian, &worst);
        }
    return worst;
}

/* Which law holds, up to rounding; `hermitian` comes in as the one that is asked for. *general
 * [out] none does, and that is allowed. *sizes [out] the rows' largest entries, allocated, if the
 * law does not hold to the last bit; else NULL. */
static mpk_status check(mpk_context *ctx, const mpki_assembly *how, const columns *c,
                        bool *hermitian, bool *general, double **sizes) {
    bool exact;
    mpk_status status = look(ctx, how, c, *hermitian, &exact);
    if (mpk_failed(status) || exact) return status;
    double *scale = *sizes = MPKI_ZNEW(ctx, how->stage, how->n, double);
    if (!scale) return mpki_failed(ctx);
    scale_rows(how, c, scale);
    breach worst = find_worst(how, c, scale, *hermitian);
    if (how->either_symmetry && MPKI_COMPLEX && !*hermitian) {
        const breach other = find_worst(how, c, scale, true);
        if (other.ratio < worst.ratio && other.ratio <= 1) {
            worst = other;
            *hermitian = true;
        }
    }
    *general = !(worst.ratio <= 1) && how->or_general;
    return worst.ratio <= 1 || *general ? MPK_OK : unsymmetric(ctx, how, &worst, *hermitian);
}

/* One entry for each place, in place; general: places are not those of pairs.
 * sizes [in] of rows, or NULL: pairs are equal; skew [out] what they differ by */
static mpk_status merge(mpk_context *ctx, const mpki_assembly *how, columns *c, bool hermitian,
                        bool general, const double *sizes, mpki_skew **skew) {
    const law l = law_of(how->tolerance);
    int64_t at = 0, k = 0;
    for (int32_t j = 0; j < how->n; j++) {
        int64_t end = c->ptr[j + 1];
        c->ptr[j] = at;
        while (k < end) {
            place p;
            k = next_place(c, k, end, &p);
            T x = p.has_lower ? p.lower : conj_if(hermitian, p.upper);
            if (how->triangle == MPK_FULL && p.row != j && !general)
                x = mean(p.lower, p.upper, hermitian);
            if (p.row == j && hermitian) x = t_make(t_re(x), 0);
            if (!finite_entry(x))
                return complain(ctx, how, p.row, j, "the sum of the duplicates overflows");
            const bool pair = p.row == j || how->triangle == MPK_FULL;
            if (sizes && !general && pair &&
                mpk_failed(keep_apart(ctx, how->stage, &l, sizes, at, p.row, j, p.lower,
                                      p.row == j ? p.lower : p.upper, hermitian, skew)))
                return mpki_failed(ctx);
            c->idx[at] = p.row;
            c->val[at++] = x;
        }
    }
    c->ptr[how->n] = at;
    return MPK_OK;
}

/* Sorted columns out of folded entries; the entries are used up. */
static mpk_status sort(mpk_context *ctx, mpki_asking *asking, const mpki_assembly *how,
                       mpki_entries *e, bool sorted, columns *c) {
    const int32_t n = how->n;
    columns other = {0};
    if (sorted) { /* as most files are: the arrays stay where they are */
        c->ptr = MPKI_ZNEW(ctx, how->stage, (int64_t)n + 1, int64_t);
        if (!c->ptr) return mpki_failed(ctx);
        for (int64_t k = 0; k < e->count; k++) c->ptr[e->col[k] + 1]++;
        prefix_sum(n, c->ptr);
        c->idx = e->row;
        c->val = e->value;
        e->row = NULL;
        e->value = NULL;
        mpki_entries_free(ctx, e);
        return MPK_OK;
    }
    int64_t count = e->count;
    if (!columns_new(ctx, how->stage, n, count, c)) return mpki_failed(ctx);
    bucket(asking, n, e, c);
    mpki_entries_free(ctx, e);
    if (mpki_cancelled(ctx)) return mpki_stopped(ctx, how->stage);
    if (sorted_columns(n, c)) return MPK_OK;
    if (!columns_new(ctx, how->stage, n, count, &other)) {
        columns_free(ctx, &other);
        return mpki_failed(ctx);
    }
    transpose(asking, n, c, &other);
    if (!mpki_cancelled(ctx)) transpose(asking, n, &other, c);
    columns_free(ctx, &other);
    return mpki_cancelled(ctx) ? mpki_stopped(ctx, how->stage) : MPK_OK;
}

/* Give back what duplicates, mirror entries and growth left unused, where that is much. */
static mpk_status shrink(mpk_context *ctx, const char *stage, int64_t nnz, int64_t held,
                         columns *c) {
    if (held - nnz <= nnz / 8 + 64) return MPK_OK;
    int32_t *idx = mpki_resize(ctx, stage, c->idx, nnz, sizeof *idx);
    if (!idx) return mpki_failed(ctx);
    c->idx = idx;
    T *val = mpki_resize(ctx, stage, c->val, nnz, sizeof *val);
    if (!val) return mpki_failed(ctx);
    c->val = val;
    return MPK_OK;
}

/* Columns of the matrix as it was given, in place of mirrored ones. */
static mpk_status to_general(mpk_context *ctx, const mpki_assembly *how, columns *c) {
    columns all = {0};
    const bool room = columns_new(ctx, how->stage, how->n, c->ptr[how->n], &all);
    if (room) {
        unfold(how->n, c, &all);
        columns_free(ctx, c);
        *c = all;
        return MPK_OK;
    }
    columns_free(ctx, &all);
    return mpki_failed(ctx);
}

mpk_status FN(assemble)(mpk_context *ctx, const mpki_assembly *how, mpki_entries *entries,
                        mpki_assembled *made) {
    columns c = {0};
    double *sizes = NULL;
    mpki_skew *skew = NULL;
    bool hermitian = MPKI_COMPLEX && how->symmetry == MPK_HERMITIAN;
    bool general = how->symmetry == MPK_GENERAL;
    int64_t held = entries->capacity;
    mpki_asking asking = {ctx, "read", 0};
    bool sorted = fold(&asking, how, entries);
    mpk_status status = mpki_cancelled(ctx) ? mpki_stopped(ctx, how->stage) : MPK_OK;
    if (!mpk_failed(status)) status = sort(ctx, &asking, how, entries, sorted, &c);
    if (mpk_failed(status)) goto done;
    if (!sorted) held = c.ptr[how->n];
    if (!general) {
        status = check(ctx, how, &c, &hermitian, &general, &sizes);
        if (!mpk_failed(status) && general) {
            status = to_general(ctx, how, &c);
            hermitian = false;
        }
    }
    if (mpk_failed(status)) goto done;
    status = merge(ctx, how, &c, hermitian, general, sizes, &skew);
    if (!mpk_failed(status)) status = shrink(ctx, how->stage, c.ptr[how->n], held, &c);
    if (mpk_failed(status)) goto done;
    *made = (mpki_assembled){.nnz = c.ptr[how->n],
                             .symmetry = general     ? MPK_GENERAL
                                         : hermitian ? MPK_HERMITIAN
                                                     : MPK_SYMMETRIC,
                             .ap = c.ptr,
                             .ai = c.idx,
                             .ax = c.val,
                             .skew = skew};
    c = (columns){0};
    skew = NULL;
done:
    columns_free(ctx, &c);
    mpki_release(ctx, sizes);
    mpki_skew_free(ctx, &skew);
    return status;
}
