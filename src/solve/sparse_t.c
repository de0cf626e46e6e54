/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns that are given by few rows. */
#include "sparse.h"
#include "../core/precision.h"

#include <string.h>

void FN(sparse_scatter)(const mpki_sparse_sides *sides, int64_t side, void *vb) {
    const T *value = sides->bval;
    T *b = vb;
    for (int64_t k = sides->bptr[side]; k < sides->bptr[side + 1]; k++)
        b[sides->brow[k]] += value[k];
}

void FN(sparse_gather)(const mpki_sparse_sides *sides, const void *vy, void *vx) {
    const T *y = vy;
    T *x = vx;
    for (int32_t i = 0; i < sides->wanted; i++) x[i] = y[sides->row ? sides->row[i] : i];
}

void FN(sparse_entry)(const void *ax, int64_t k, bool conjugate, void *value, int64_t at) {
    ((T *)value)[at] = conj_if(conjugate, ((const T *)ax)[k]);
}

double FN(sparse_error)(const mpki_few_rows *rows, const mpki_sparse_sides *sides, int64_t side,
                        const int32_t *index, const void *vx, void *vb) {
    const T *x = vx, *a = rows->value, *value = sides->bval;
    T *b = vb;
    const double tiny = 1000.0 * rows->n * (double)R_EPS / 2;
    double worst = 0, most = 0;
    for (int64_t k = sides->bptr[side]; k < sides->bptr[side + 1] && rows->norm > 0; k++)
        most = fmax(most, hypot((double)t_re(value[k]), (double)t_im(value[k])) / rows->norm);
    for (int32_t i = 0; i < rows->listed; i++)
        most = fmax(most, hypot((double)t_re(x[i]), (double)t_im(x[i])));
    memset(b, 0, (size_t)rows->count * sizeof(T));
    for (int64_t k = sides->bptr[side]; k < sides->bptr[side + 1]; k++)
        if (index[sides->brow[k]] >= 0) b[index[sides->brow[k]]] += value[k];
    for (int32_t i = 0; i < rows->count; i++) {
        double re = (double)t_re(b[i]), im = (double)t_im(b[i]), all = hypot(re, im);
        const double bi = all;
        double reach = 0;
        for (int64_t k = rows->ptr[i]; k < rows->ptr[i + 1]; k++) {
            const double ar = (double)t_re(a[k]), ai = (double)t_im(a[k]);
            const double xr = (double)t_re(x[rows->at[k]]), xi = (double)t_im(x[rows->at[k]]);
            re -= ar * xr - ai * xi;
            im -= ar * xi + ai * xr;
            all += hypot(ar, ai) * hypot(xr, xi);
            reach += hypot(ar, ai) * most;
        }
        if (!(all > tiny * (reach + bi))) all += reach - bi;
        const double error = hypot(re, im);
        if (error > 0 || error != error) worst = mpki_larger(worst, error / all);
    }
    return worst;
}
