/* SPDX-License-Identifier: BSD-3-Clause */
/* What the entries show without any elimination: rows, diagonal, sizes, the mirror image. */
#include "doctor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_length(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int32_t median_length(const doctor_rows *r) {
    int32_t *length = malloc(((size_t)r->n + 1) * sizeof *length);
    if (!length) return -1;
    for (int32_t i = 0; i < r->n; i++) length[i] = (int32_t)(r->ptr[i + 1] - r->ptr[i]);
    qsort(length, (size_t)r->n, sizeof *length, by_length);
    const int32_t median = r->n ? length[r->n / 2] : 0;
    free(length);
    return median;
}

/* log10 of the largest over the least row; s NULL: as they are. */
static double spread(const doctor_rows *r, const double *s, doctor_look *look) {
    double least = HUGE_VAL, most = 0;
    for (int32_t i = 0; i < r->n; i++) {
        double norm = 0;
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
            const double v = doctor_modulus(r, e) * (s ? s[i] * s[r->col[e]] : 1);
            if (v > norm) norm = v;
        }
        if (norm > 0 && norm < least) {
            least = norm;
            if (look) look->least_row_at = i;
        }
        if (norm > most) {
            most = norm;
            if (look) look->most_row_at = i;
        }
    }
    if (look) look->least_row = most > 0 ? least : 0, look->most_row_norm = most;
    return most > 0 ? log10(most) - log10(least) : 0;
}

/* Rows and columns divided by the root of their largest entry, a few times (Ruiz 2001, with the
 * largest moduli). */
void doctor_balance(const doctor_rows *r, double *scale) {
    enum { ROUNDS = 8 };
    double *norm = malloc(((size_t)r->n + 1) * sizeof *norm);
    for (int32_t i = 0; i < r->n; i++) scale[i] = 1;
    for (int round = 0; norm && round < ROUNDS; round++) {
        for (int32_t i = 0; i < r->n; i++) norm[i] = 0;
        for (int32_t i = 0; i < r->n; i++)
            for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
                const double v = doctor_modulus(r, e) * scale[i] * scale[r->col[e]];
                if (v > norm[i]) norm[i] = v;
                if (v > norm[r->col[e]]) norm[r->col[e]] = v;
            }
        for (int32_t i = 0; i < r->n; i++)
            if (norm[i] > 0) scale[i] /= sqrt(norm[i]);
    }
    free(norm);
}

static void look_at_row(const doctor_rows *r, int32_t i, doctor_look *k) {
    const int32_t length = (int32_t)(r->ptr[i + 1] - r->ptr[i]);
    double diagonal = 0, beside = 0, signed_diagonal = 0;
    if (length > k->longest) k->longest = length, k->longest_row = i;
    if (length == 0 && k->zero_rows++ == 0) k->first_zero_row = i;
    if (length > 16 && length > 10 * sqrt((double)r->n)) k->dense_rows++;
    for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
        const double v = doctor_modulus(r, e);
        const int32_t apart = abs(r->col[e] - i);
        if (apart > k->bandwidth) k->bandwidth = apart;
        if (v < k->least) k->least = v;
        if (v > k->most) k->most = v;
        if (r->col[e] == i)
            diagonal = v, signed_diagonal = r->re[e];
        else
            beside += v;
    }
    k->diagonal_zero += diagonal == 0;
    k->diagonal_positive += signed_diagonal > 0;
    k->diagonal_negative += signed_diagonal < 0;
    k->dominant_rows += diagonal > 0 && diagonal >= beside;
}

static mpk_status count_zero_columns(const doctor_rows *r, doctor_look *k) {
    char *there = calloc((size_t)r->n + 1, 1);
    if (!there) return MPK_ERR_MEMORY;
    for (int64_t e = 0; e < r->ptr[r->n]; e++) there[r->col[e]] = 1;
    for (int32_t j = 0; j < r->n; j++) k->zero_columns += !there[j];
    free(there);
    return MPK_OK;
}

mpk_status doctor_look_at(const mpk_problem_view *a, const doctor_rows *r, doctor_look *k) {
    *k = (doctor_look){.first_zero_row = -1, .repeated = -1, .least = HUGE_VAL};
    k->nonzeros = r->ptr[r->n];
    int64_t diagonal = 0;
    for (int32_t i = 0; i < r->n; i++) {
        look_at_row(r, i, k);
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) diagonal += r->col[e] == i;
    }
    const int64_t stored =
        a->symmetry == MPK_GENERAL ? k->nonzeros : (k->nonzeros - diagonal) / 2 + diagonal;
    k->explicit_zeros = a->nnz - stored;
    if (k->nonzeros == 0) k->least = 0;
    k->median_row = median_length(r);
    k->spread = spread(r, NULL, k);
    double *scale = malloc(((size_t)r->n + 1) * sizeof *scale);
    if (!scale || k->median_row < 0) {
        free(scale);
        return MPK_ERR_MEMORY;
    }
    doctor_balance(r, scale);
    k->spread_balanced = spread(r, scale, NULL);
    free(scale);
    return count_zero_columns(r, k);
}

/* ---- the mirror image ------------------------------------------------------------------------ */

/* Entry (i, j), by bisection; 0 where there is none. */
static void entry(const doctor_rows *r, int32_t i, int32_t j, double *re, double *im) {
    int64_t low = r->ptr[i], high = r->ptr[i + 1];
    *re = *im = 0;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (r->col[mid] < j)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == r->ptr[i + 1] || r->col[low] != j) return;
    *re = r->re[low];
    *im = r->im ? r->im[low] : 0;
}

/* The largest |a_ij - a_ji| over the largest entry of rows i and j. */
static double tolerance_of(const doctor_rows *r) {
    double worst = 0;
    double *norm = calloc((size_t)r->n + 1, sizeof *norm);
    for (int32_t i = 0; norm && i < r->n; i++)
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++)
            norm[i] = fmax(norm[i], doctor_modulus(r, e));
    for (int32_t i = 0; norm && i < r->n; i++)
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
            double re, im;
            entry(r, r->col[e], i, &re, &im);
            const double d = hypot(r->re[e] - re, (r->im ? r->im[e] : 0) - im);
            worst = fmax(worst, d / fmax(norm[i], norm[r->col[e]]));
        }
    worst = norm ? worst : HUGE_VAL;
    free(norm);
    return worst;
}

/* Sums of squares over the largest entry, so that none overflows. */
mpk_status doctor_mirror_get(const mpk_problem_view *a, const doctor_rows *r, doctor_mirror *m) {
    double largest = 0, all = 0, apart = 0, skew = 0, hermitian = 0;
    (void)a;
    *m = (doctor_mirror){.hermitian = -1};
    for (int64_t e = 0; e < r->ptr[r->n]; e++) largest = fmax(largest, doctor_modulus(r, e));
    if (largest == 0) return MPK_OK;
    for (int32_t i = 0; i < r->n; i++)
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
            const int32_t j = r->col[e];
            double re, im;
            entry(r, j, i, &re, &im);
            const double x = r->re[e], y = r->im ? r->im[e] : 0;
            const bool lone = re == 0 && im == 0;
            const double twice = lone ? 2 : 1; /* the place (j, i) is not met by itself */
            const double d = hypot(x - re, y - im);
            all += pow(hypot(x, y) / largest, 2);
            apart += twice * pow(d / largest, 2);
            skew += twice * pow(hypot(x + re, y + im) / largest, 2);
            hermitian += twice * pow(hypot(x - re, y + im) / largest, 2);
            if (i == j) continue;
            m->alone += lone;
            if (i > j || lone) m->pairs++, m->differ += d > 0;
            if (d > m->largest) {
                m->largest = d;
                m->row = i, m->column = j;
                m->there = hypot(x, y), m->mirrored = hypot(re, im);
            }
        }
    m->tolerance = tolerance_of(r);
    m->relative = sqrt(apart / all);
    m->skew = sqrt(skew / all);
    if (r->im) m->hermitian = sqrt(hermitian / all);
    return MPK_OK;
}
