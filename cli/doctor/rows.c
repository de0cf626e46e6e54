/* SPDX-License-Identifier: BSD-3-Clause */
/* The nonzero entries of a problem by rows, both triangles, whatever its type. */
#include "doctor.h"

#include <stdlib.h>
#include <string.h>

static void value(const mpk_problem_view *a, int64_t e, double *re, double *im) {
    *im = 0;
    switch (a->scalar) {
    case MPK_S:
        *re = ((const float *)a->ax)[e];
        return;
    case MPK_D:
        *re = ((const double *)a->ax)[e];
        return;
    case MPK_C:
        *re = ((const float *)a->ax)[2 * e], *im = ((const float *)a->ax)[2 * e + 1];
        return;
    default:
        *re = ((const double *)a->ax)[2 * e], *im = ((const double *)a->ax)[2 * e + 1];
        return;
    }
}

static void put(doctor_rows *r, int32_t i, int32_t j, double re, double im) {
    const int64_t at = r->ptr[i]++;
    r->col[at] = j;
    r->re[at] = re;
    if (r->im) r->im[at] = im;
}

/* Columns are read in order, so that each row gets its entries in order: those of the lower triangle
 * of row i come with columns below i, and the mirrored ones of column i behind them. */
mpk_status doctor_rows_make(const mpk_problem_view *a, doctor_rows *r) {
    const bool mirrored = a->symmetry != MPK_GENERAL;
    const bool complex = a->scalar == MPK_C || a->scalar == MPK_Z;
    const double sign = a->symmetry == MPK_HERMITIAN ? -1 : 1;
    const size_t n = (size_t)a->n, most = (size_t)a->nnz * (mirrored ? 2 : 1) + 1;
    *r = (doctor_rows){.n = a->n};
    r->ptr = calloc(n + 2, sizeof *r->ptr);
    r->col = malloc(most * sizeof *r->col);
    r->re = malloc(most * sizeof *r->re);
    r->im = complex ? malloc(most * sizeof *r->im) : NULL;
    if (!r->ptr || !r->col || !r->re || (complex && !r->im)) return MPK_ERR_MEMORY;
    double re, im;
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t e = a->ap[j]; e < a->ap[j + 1]; e++) {
            value(a, e, &re, &im);
            if (re == 0 && im == 0) continue;
            r->ptr[a->ai[e] + 2]++;
            if (mirrored && a->ai[e] != j) r->ptr[j + 2]++;
        }
    for (size_t i = 2; i < n + 2; i++) r->ptr[i] += r->ptr[i - 1];
    r->ptr++; /* row i begins at r->ptr[i] while rows fill up */
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t e = a->ap[j]; e < a->ap[j + 1]; e++) {
            value(a, e, &re, &im);
            if (re == 0 && im == 0) continue;
            put(r, a->ai[e], j, re, im);
        }
    if (mirrored)
        for (int32_t j = 0; j < a->n; j++)
            for (int64_t e = a->ap[j]; e < a->ap[j + 1]; e++) {
                value(a, e, &re, &im);
                if ((re != 0 || im != 0) && a->ai[e] != j) put(r, j, a->ai[e], re, sign * im);
            }
    r->ptr--;
    return MPK_OK;
}

void doctor_rows_free(doctor_rows *r) {
    free(r->ptr);
    free(r->col);
    free(r->re);
    free(r->im);
    *r = (doctor_rows){0};
}
