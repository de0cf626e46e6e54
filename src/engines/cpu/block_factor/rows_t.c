/* SPDX-License-Identifier: BSD-3-Clause */
/* A finished factor as scalar rows: the entries of its blocks, counted and copied. */
#include "core/precision.h"
#include "rows.h"

#include <string.h>

/* A stored block, row after row. */
typedef struct reader {
    const mpki_block *block;
    const uint32_t *row_mask, *col_mask;
    const T *value;
} reader;

static reader reader_of(const mpki_block *b) {
    reader r = {b, NULL, NULL, b->data};
    int held = 0;
    if (b->format == MPKI_EMPTY || b->format == MPKI_DENSE) return r;
    r.row_mask = b->data;
    for (int k = 0; k < (b->rows + 31) / 32; k++) held += __builtin_popcount(r.row_mask[k]);
    if (b->format == MPKI_BITMAP) r.col_mask = r.row_mask + (b->rows + 31) / 32;
    r.value = (const T *)(const void *)((const char *)b->data +
                                        mpki_block_mask_bytes(b->format, b->rows, b->cols, held));
    return r;
}

static bool is_zero(T x) {
    return t_re(x) == 0 && t_im(x) == 0;
}

/* The entries of row `row` that are not zero; rows have to be asked for in their order. */
static int read_row(reader *r, int row, uint8_t *col, T *value) {
    const int cols = r->block->cols;
    int count = 0;
    if (r->block->format == MPKI_EMPTY) return 0;
    if (r->row_mask && !(r->row_mask[row >> 5] >> (row & 31) & 1)) return 0;
    if (!r->col_mask) {
        for (int c = 0; c < cols; c++) {
            value[count] = r->value[c], col[count] = (uint8_t)c;
            count += !is_zero(r->value[c]);
        }
        r->value += cols;
        return count;
    }
    for (int k = 0; k < (cols + 31) / 32; k++)
        for (uint32_t bits = *r->col_mask++; bits; bits &= bits - 1) {
            value[count] = *r->value++, col[count] = (uint8_t)(32 * k + __builtin_ctz(bits));
            count += !is_zero(value[count]);
        }
    return count;
}

/* The blocks of a frame's rows in one half: entries begin .. end-1 of the index. */
static void list(const mpki_rows_making *w, int32_t f, int64_t *begin, int64_t *end) {
    const mpki_ibcsr *x = &w->bf->stages->index;
    *begin = w->half ? x->diagonal[f] + 1 : x->ptr[f];
    *end = w->half ? x->ptr[f + 1] : x->diagonal[f];
}

static const mpki_block *block_at(const mpki_rows_making *w, int64_t e) {
    const int64_t b = w->bf->stages->index.entry[e].block;
    return w->half ? &w->bf->upper[b] : &w->bf->lower[b];
}

/* Is this -M the negative identity? */
static bool is_identity(const mpki_block *m) {
    uint8_t col[MPKI_BLOCK_MAX];
    T value[MPKI_BLOCK_MAX];
    reader r = reader_of(m);
    for (int k = 0; k < m->rows; k++) {
        const int count = read_row(&r, k, col, value);
        if (count != 1 || col[0] != k || t_re(value[0]) != -1 || t_im(value[0]) != 0) return false;
    }
    return true;
}

/* ---- M and its inverse ----------------------------------------------------------------------- */

/* M = L_ii^-1 P, with L_ii unit lower triangular. What remains of an entry of L_ii after its terms
 * have cancelled to a few units of rounding is taken as zero: it is one in exact arithmetic, or as
 * good as that. */

/* l (w x w) := L_ii without its diagonal, by rows; returns the largest entry of M times that of
 * L_ii. */
static R invert(const mpki_block *m, const uint8_t *step, T *l) {
    const int w = m->rows;
    uint8_t col[MPKI_BLOCK_MAX];
    T value[MPKI_BLOCK_MAX];
    R size[MPKI_PURE_MOST], largest_m = 1, largest_l = 1;
    reader r = reader_of(m);
    for (int k = 0; k < w; k++) {
        T *row = l + k * w;
        const int count = read_row(&r, k, col, value);
        for (int j = 0; j < k; j++) row[j] = t_make(0, 0), size[j] = 0;
        for (int e = 0; e < count; e++) {
            const int i = step[col[e]];
            const T *known = l + i * w, u = value[e]; /* -M */
            const R modulus = t_abs1(u);
            if (i >= k) continue;
            if (modulus > largest_m) largest_m = modulus;
            row[i] += u, size[i] += modulus;
            for (int j = 0; j < i; j++) {
                row[j] += t_mul(u, known[j]);
                size[j] += modulus * t_abs1(known[j]);
            }
        }
        for (int j = 0; j < k; j++) {
            if (t_abs1(row[j]) <= 8 * R_EPS * size[j]) row[j] = t_make(0, 0);
            if (!(t_abs1(row[j]) <= largest_l)) largest_l = t_abs1(row[j]);
        }
    }
    return largest_m * largest_l;
}

static const mpki_block *m_of(const mpki_rows_making *w, int32_t f) {
    return w->half ? &w->bf->frame[f].n : &w->bf->frame[f].m;
}

bool FN(rows_invertible)(const mpki_rows_making *w, int32_t f) {
    const mpki_block *m = m_of(w, f);
    const int32_t at = w->bf->stages->blocking->bptr[f];
    uint8_t *pivot = w->pivot[w->half] + at, *step = w->step[w->half] + at, col[MPKI_BLOCK_MAX];
    T value[MPKI_BLOCK_MAX], l[MPKI_PURE_MOST * MPKI_PURE_MOST];
    bool seen[MPKI_BLOCK_MAX] = {false};
    if (m->rows > MPKI_PURE_MOST) return false;
    reader r = reader_of(m);
    for (int k = 0; k < m->rows; k++) {
        int fresh = 0, which = 0;
        const int count = read_row(&r, k, col, value);
        for (int e = 0; e < count; e++)
            if (!seen[col[e]]) fresh++, which = e;
        if (fresh != 1 || t_re(value[which]) != -1 || t_im(value[which]) != 0) return false;
        seen[col[which]] = true;
        pivot[k] = col[which];
        step[col[which]] = (uint8_t)k;
    }
    uint8_t *inner = w->inner[w->half] + at;
    memset(inner, 0, m->rows);
    if (m->rows == 1) return true;
    if (!(invert(m, step, l) <= r_cbrt(1 / R_EPS))) return false;
    for (int k = 0; k < m->rows; k++)
        for (int j = 0; j < k; j++) inner[w->half ? j : k] += !is_zero(l[k * m->rows + j]);
    return true;
}

/* ---- counting, copying ----------------------------------------------------------------------- */

/* Where the rows of a frame lie among its slots: `to` (w), of its rows in blocks of this half. */
static void places(const mpki_rows_making *w, int32_t f, uint8_t *to) {
    const int32_t at = w->bf->stages->blocking->bptr[f];
    const int rows = w->bf->stages->blocking->bptr[f + 1] - at;
    for (int k = 0; k < rows; k++)
        to[k] = (uint8_t)(!w->pure ? k : w->half ? rows - 1 - k : w->step[0][at + k]);
}

/* Places of the rows of frame f across, which are columns of this half. */
static void places_across(const mpki_rows_making *w, int32_t f, uint8_t *to) {
    const int32_t at = w->bf->stages->blocking->bptr[f];
    const int rows = w->bf->stages->blocking->bptr[f + 1] - at;
    for (int k = 0; k < rows; k++)
        to[k] = (uint8_t)(!w->pure || !w->half ? k : rows - 1 - w->step[1][at + k]);
}

static void count_block(const mpki_rows_making *w, const mpki_block *b, const uint8_t *place,
                        int64_t *to) {
    uint8_t col[MPKI_BLOCK_MAX];
    T value[MPKI_BLOCK_MAX];
    reader r = reader_of(b);
    for (int k = 0; k < b->rows; k++) {
        const int count = read_row(&r, k, col, value);
        if (!w->half) to[place[k]] += count;
        for (int i = 0; w->half && i < count; i++) to[place[col[i]]]++;
    }
}

/* Append rows of L_ii or its transpose: next[row] is where the next entry of a row goes. */
static void inner_rows(const mpki_rows_making *w, int32_t f, int64_t *next) {
    const mpki_block *m = m_of(w, f);
    mpki_triangle *t = &w->rows->half[w->half];
    T l[MPKI_PURE_MOST * MPKI_PURE_MOST], *val = t->val;
    const int rows = m->rows;
    const int32_t first = w->first[f];
    if (rows == 1) return;
    invert(m, w->step[w->half] + w->bf->stages->blocking->bptr[f], l);
    for (int k = 0; k < rows; k++)
        for (int j = 0; j < k; j++) {
            const T v = l[k * rows + j];
            const int row = w->half ? rows - 1 - j : k, col = w->half ? rows - 1 - k : j;
            if (is_zero(v)) continue;
            t->col[next[row]] = first + col;
            val[next[row]++] = conj_if(w->half && w->bf->stages->hermitian, v);
        }
}

void FN(rows_count)(const mpki_rows_making *w, int32_t j0, int32_t j1) {
    mpki_triangle *t = &w->rows->half[w->half];
    uint8_t place[MPKI_BLOCK_MAX];
    for (int32_t j = j0; j < j1; j++) {
        const int32_t f = w->order[j];
        const mpki_block *m = m_of(w, f);
        int64_t begin, end, *to = t->ptr + w->first[f] + 1;
        list(w, f, &begin, &end);
        places(w, f, place);
        for (int64_t e = begin; e < end; e++) {
            const mpki_block *b = block_at(w, e);
            if (b->format == MPKI_EMPTY) continue;
            if (w->pure || mpki_as_rows(b))
                count_block(w, b, place, to);
            else
                t->kept_ptr[j + 1]++;
        }
        for (int k = 0; w->pure && k < m->rows; k++)
            to[w->half ? m->rows - 1 - k : k] +=
                w->inner[w->half][w->bf->stages->blocking->bptr[f] + k];
        if (w->pure) continue;
        if (!w->rooted && mpki_as_rows(m) && !is_identity(m))
            count_block(w, m, place, t->m_ptr + w->first[f] + 1);
    }
}

/* Append the entries of a block to rows: next[row] is where the next one of a row goes. */
static void put_block(const mpki_rows_making *w, const mpki_block *b, const uint8_t *place,
                      const uint8_t *across, int32_t from, bool negate, int64_t *next,
                      int32_t *to_col, T *to_val) {
    const int conjugate = w->half && w->bf->stages->hermitian;
    uint8_t col[MPKI_BLOCK_MAX];
    T value[MPKI_BLOCK_MAX];
    reader r = reader_of(b);
    for (int k = 0; k < b->rows; k++) {
        const int count = read_row(&r, k, col, value);
        for (int i = 0; i < count; i++) {
            const int64_t at = next[place[w->half ? col[i] : k]]++;
            const T v = conj_if(conjugate, value[i]);
            to_col[at] = from + across[w->half ? k : col[i]];
            to_val[at] = negate ? -v : v;
        }
    }
}

/* The header of a block that stays, with its values in their new place. */
static mpki_block moved(const mpki_rows_making *w, const mpki_block *b, int64_t number) {
    mpki_block to = *b;
    to.data = (char *)w->rows->values + w->moved[number];
    return to;
}

/* M of a frame of one row. */
static T root_of(const mpki_rows_making *w, int32_t f) {
    return -*(const T *)w->bf->frame[f].m.data;
}

void FN(rows_fill)(const mpki_rows_making *w, int32_t j0, int32_t j1) {
    mpki_triangle *t = &w->rows->half[w->half];
    const mpki_ibcsr *x = &w->bf->stages->index;
    const int64_t other = w->bf->upper != w->bf->lower && w->half ? x->nblocks + x->m : 0;
    int64_t next[MPKI_BLOCK_MAX];
    uint8_t place[MPKI_BLOCK_MAX], across[MPKI_BLOCK_MAX], same[MPKI_BLOCK_MAX];
    for (int k = 0; k < MPKI_BLOCK_MAX; k++) same[k] = (uint8_t)k;
    for (int32_t j = j0; j < j1; j++) {
        const int32_t f = w->order[j], r0 = t->start[j], rows = t->start[j + 1] - r0;
        const mpki_block *m = m_of(w, f);
        int64_t begin, end, kept = t->kept_ptr[j];
        list(w, f, &begin, &end);
        places(w, f, place);
        memcpy(next, t->ptr + r0, (size_t)rows * sizeof *next);
        for (int64_t e = begin; e < end; e++) {
            const mpki_block *b = block_at(w, e);
            const int32_t from = w->first[x->entry[e].other];
            if (b->format == MPKI_EMPTY) continue;
            if (w->pure || mpki_as_rows(b)) {
                places_across(w, x->entry[e].other, across);
                const int64_t before = next[0];
                put_block(w, b, place, across, from, false, next, t->col, t->val);
                if (w->rooted && next[0] > before)
                    ((T *)t->val)[before] =
                        t_mul(((T *)t->val)[before], root_of(w, w->half ? f : x->entry[e].other));
            } else
                t->kept[kept++] = (mpki_kept){moved(w, b, other + x->entry[e].block), from};
        }
        if (w->pure) inner_rows(w, f, next);
        if (!t->m_ptr) continue;
        memcpy(next, t->m_ptr + r0, (size_t)rows * sizeof *next);
        t->pivot[j] = (mpki_block){.format = MPKI_EMPTY};
        if (m->format != MPKI_EMPTY && !mpki_as_rows(m))
            t->pivot[j] = moved(w, m, other + x->nblocks + f);
        else if (!is_identity(m))
            put_block(w, m, same, same, 0, true, next, t->m_col, t->m_val);
    }
}

void FN(rows_pivots)(const mpki_rows_making *w) {
    mpki_rows *rows = w->rows;
    const mpki_stages *s = w->bf->stages;
    const mpki_triangle *t = &rows->half[!rows->pairs];
    T *to = rows->dinv;
    for (int32_t k = 0; k < rows->n; k++) {
        const int32_t p = t->position[k], f = s->blocking->of[p];
        const T *dinv = (const T *)w->bf->frame[f].dinv + 2 * (p - s->blocking->bptr[f]);
        if (!to)
            rows->pairs |= !is_zero(dinv[1]);
        else if (rows->pairs)
            to[2 * (int64_t)k] = dinv[0], to[2 * (int64_t)k + 1] = dinv[1];
        else
            to[k] = w->rooted ? t_mul(dinv[0], t_mul(root_of(w, f), root_of(w, f))) : dinv[0];
    }
    for (int32_t k = 0; to && w->rooted && k < rows->n; k++)
        ((T *)rows->root)[k] = root_of(w, s->blocking->of[rows->half[0].position[k]]);
}

/* Row k and column k of a frame stand in the same slot, in either half: so one half is the
 * transpose of the other, renumbered. */
void FN(rows_count_transposed)(const mpki_rows_making *w) {
    const mpki_triangle *from = &w->rows->half[0];
    int64_t *ptr = w->rows->half[1].ptr;
    for (int64_t k = 0; k < from->ptr[w->rows->n]; k++) ptr[w->other[from->col[k]] + 1]++;
}

void FN(rows_transpose)(const mpki_rows_making *w, int64_t *next) {
    const mpki_triangle *from = &w->rows->half[0];
    mpki_triangle *to = &w->rows->half[1];
    const T *val = from->val;
    T *to_val = to->val;
    const int hermitian = w->bf->stages->hermitian;
    memcpy(next, to->ptr, (size_t)w->rows->n * sizeof *next);
    for (int32_t r = w->rows->n - 1; r >= 0; r--) { /* so that columns come in about their order */
        const int32_t col = w->other[r];
        for (int64_t k = from->ptr[r]; k < from->ptr[r + 1]; k++) {
            const int64_t at = next[w->other[from->col[k]]]++;
            to->col[at] = col;
            to_val[at] = conj_if(hermitian, val[k]);
        }
    }
}

void FN(rows_scale)(const mpki_rows_making *w) {
    const mpki_triangle *t = &w->rows->half[w->half];
    R *scale = t->scale;
    for (int32_t k = 0; k < w->rows->n; k++) scale[k] = (R)w->bf->stages->scale[t->problem[k]];
}
