/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_PRODUCT_H
#define MPKI_PROBLEM_PRODUCT_H
/** Products with the matrix, one table for each scalar (product_t.c). */
#include "problem.h"

typedef struct mpki_product_table {
    void (*multiply)(const mpk_problem_view *a, const void *x, void *y);
    void (*residual)(const mpk_problem_view *a, const void *x, const void *b, void *r, double *w,
                     double *work);
    /* adds those of the columns begin .. end-1 */
    void (*row_sums)(const mpk_problem_view *a, int32_t begin, int32_t end, double *sums);
} mpki_product_table;

extern const mpki_product_table mpki_s_product, mpki_d_product, mpki_c_product, mpki_z_product;

#endif
