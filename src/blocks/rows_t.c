/* SPDX-License-Identifier: BSD-3-Clause */
/* A finished factor as scalar rows: the entries of its blocks, counted and copied. */
#include "../core/precision.h"
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

static void count_block(const mpki_rows_making *w, const mpki_block *b, int64_t *to) {
    uint8_t col[MPKI_BLOCK_MAX];
    T value[MPKI_BLOCK_MAX];
    reader r = reader_of(b);
    for (int k = 0; k < b->rows; k++) {
        const int count = read_row(&r, k, col, value);
        if (!w->half) to[k] += count;
        for (int i = 0; w->half && i < count; i++) to[col[i]]++;
    }
}

void FN(rows_count)(const mpki_rows_making *w, int32_t j0, int32_t j1) {
    mpki_triangle *t = &w->rows->half[w->half];
    for (int32_t j = j0; j < j1; j++) {
        const int32_t f = w->order[j];
        const mpki_block *m = w->half ? &w->bf->frame[f].n : &w->bf->frame[f].m;
        int64_t begin, end;
        list(w, f, &begin, &end);
        for (int64_t e = begin; e < end; e++) {
            const mpki_block *b = block_at(w, e);
            if (b->format == MPKI_EMPTY) continue;
            if (mpki_as_rows(b))
                count_block(w, b, t->ptr + w->first[f] + 1);
            else
                t->kept_ptr[j + 1]++;
        }
        if (mpki_as_rows(m) && !is_identity(m)) count_block(w, m, t->m_ptr + w->first[f] + 1);
    }
}

/* Append the entries of a block to rows: next[row] is where the next one of a row goes. */
static void put_block(const mpki_rows_making *w, const mpki_block *b, int32_t from, bool negate,
                      int64_t *next, int32_t *to_col, T *to_val) {
    const int conjugate = w->half && w->bf->stages->hermitian;
    uint8_t col[MPKI_BLOCK_MAX];
    T value[MPKI_BLOCK_MAX];
    reader r = reader_of(b);
    for (int k = 0; k < b->rows; k++) {
        const int count = read_row(&r, k, col, value);
        for (int i = 0; i < count; i++) {
            const int64_t at = next[w->half ? col[i] : k]++;
            const T v = conj_if(conjugate, value[i]);
            to_col[at] = from + (w->half ? k : col[i]);
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

void FN(rows_fill)(const mpki_rows_making *w, int32_t j0, int32_t j1) {
    mpki_triangle *t = &w->rows->half[w->half];
    const mpki_ibcsr *x = &w->bf->stages->index;
    const int64_t other = w->bf->upper != w->bf->lower && w->half ? x->nblocks + x->m : 0;
    int64_t next[MPKI_BLOCK_MAX];
    for (int32_t j = j0; j < j1; j++) {
        const int32_t f = w->order[j], r0 = t->start[j], rows = t->start[j + 1] - r0;
        const mpki_block *m = w->half ? &w->bf->frame[f].n : &w->bf->frame[f].m;
        int64_t begin, end, kept = t->kept_ptr[j];
        list(w, f, &begin, &end);
        memcpy(next, t->ptr + r0, (size_t)rows * sizeof *next);
        for (int64_t e = begin; e < end; e++) {
            const mpki_block *b = block_at(w, e);
            const int32_t from = w->first[x->entry[e].other];
            if (b->format == MPKI_EMPTY) continue;
            if (mpki_as_rows(b))
                put_block(w, b, from, false, next, t->col, t->val);
            else
                t->kept[kept++] = (mpki_kept){moved(w, b, other + x->entry[e].block), from};
        }
        if (!t->m_ptr) continue;
        memcpy(next, t->m_ptr + r0, (size_t)rows * sizeof *next);
        t->pivot[j] = (mpki_block){.format = MPKI_EMPTY};
        if (m->format != MPKI_EMPTY && !mpki_as_rows(m))
            t->pivot[j] = moved(w, m, other + x->nblocks + f);
        else if (!is_identity(m))
            put_block(w, m, 0, true, next, t->m_col, t->m_val);
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
            to[k] = dinv[0];
    }
}

void FN(rows_scale)(const mpki_rows_making *w) {
    const mpki_triangle *t = &w->rows->half[w->half];
    R *scale = t->scale;
    for (int32_t k = 0; k < w->rows->n; k++) scale[k] = (R)w->bf->stages->scale[t->problem[k]];
}
