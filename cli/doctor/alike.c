/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that are multiples of others, and the components of the graph. */
#include "doctor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct mark {
    uint64_t hash; /* of the columns, and of the entries over the first one */
    int32_t row;
} mark;

static uint64_t mix(uint64_t h, uint64_t x) {
    h ^= x + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
    h *= UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 33;
}

/* A ratio to some 40 bits, so that rounding seldom tells multiples apart. */
static uint64_t rough(double x) {
    const float high = (float)x;
    uint64_t bits = 0;
    memcpy(&bits, &high, sizeof high);
    return x == 0 ? 0 : bits;
}

static void ratio(const doctor_rows *r, int64_t e, int64_t first, double *re, double *im) {
    const double a = r->re[first], b = r->im ? r->im[first] : 0;
    const double x = r->re[e], y = r->im ? r->im[e] : 0;
    const double scale = hypot(a, b), c = a / scale, s = b / scale;
    *re = (x / scale) * c + (y / scale) * s;
    *im = (y / scale) * c - (x / scale) * s;
}

static uint64_t hash_row(const doctor_rows *r, int32_t i) {
    uint64_t h = (uint64_t)(r->ptr[i + 1] - r->ptr[i]);
    for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
        double re, im;
        ratio(r, e, r->ptr[i], &re, &im);
        h = mix(mix(mix(h, (uint64_t)r->col[e]), rough(re)), rough(im));
    }
    return h;
}

static bool alike(const doctor_rows *r, int32_t i, int32_t k) {
    const int64_t length = r->ptr[i + 1] - r->ptr[i], a = r->ptr[i], b = r->ptr[k];
    if (length != r->ptr[k + 1] - b) return false;
    for (int64_t e = 0; e < length; e++) {
        double x, y, u, v;
        if (r->col[a + e] != r->col[b + e]) return false;
        ratio(r, a + e, a, &x, &y);
        ratio(r, b + e, b, &u, &v);
        if (!(hypot(x - u, y - v) <= 8 * DBL_EPSILON * hypot(x, y))) return false;
    }
    return true;
}

static int by_hash(const void *p, const void *q) {
    const mark *a = p, *b = q;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

mpk_status doctor_find_repeated(const doctor_rows *r, doctor_look *look) {
    mark *marks = malloc(((size_t)r->n + 1) * sizeof *marks);
    int32_t count = 0, first = 0;
    if (!marks) return MPK_ERR_MEMORY;
    for (int32_t i = 0; i < r->n; i++)
        if (r->ptr[i + 1] > r->ptr[i]) marks[count++] = (mark){hash_row(r, i), i};
    qsort(marks, (size_t)count, sizeof *marks, by_hash);
    look->repeated = 0;
    for (int32_t k = 1; k < count; k++) {
        if (marks[k].hash != marks[first].hash || !alike(r, marks[first].row, marks[k].row)) {
            first = k;
            continue;
        }
        if (look->repeated++ == 0 || marks[k].row < look->repeated_row)
            look->repeated_row = marks[k].row, look->repeated_of = marks[first].row;
    }
    free(marks);
    return MPK_OK;
}

/* ---- components ------------------------------------------------------------------------------ */

static int32_t root_of(int32_t *parent, int32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

mpk_status doctor_find_components(const doctor_rows *r, doctor_look *look) {
    int32_t *parent = malloc(((size_t)r->n + 1) * sizeof *parent);
    int32_t *size = calloc((size_t)r->n + 1, sizeof *size);
    if (!parent || !size) {
        free(parent);
        free(size);
        return MPK_ERR_MEMORY;
    }
    for (int32_t i = 0; i < r->n; i++) parent[i] = i;
    for (int32_t i = 0; i < r->n; i++)
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
            const int32_t a = root_of(parent, i), b = root_of(parent, r->col[e]);
            if (a != b) parent[a > b ? a : b] = a > b ? b : a;
        }
    for (int32_t i = 0; i < r->n; i++) size[root_of(parent, i)]++;
    for (int32_t i = 0; i < r->n; i++) {
        int32_t s = size[i];
        if (s == 0) continue;
        look->components++;
        look->single += s == 1;
        for (int k = 0; k < DOCTOR_SIZES; k++) /* the largest ones, in falling order */
            if (s > look->size[k]) {
                const int32_t moved = look->size[k];
                look->size[k] = s, s = moved;
            }
    }
    free(parent);
    free(size);
    return MPK_OK;
}
