/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with A, residuals and row sums, for every precision. */
#include "../core/floats.h"
#include "product.h"
#include "skew.h"

#include "../core/sizes.h"

#include <string.h>

static const mpki_product_table *const tables[] = {&mpki_s_product, &mpki_d_product,
                                                   &mpki_c_product, &mpki_z_product};

mpk_status mpk_problem_multiply(mpk_context *ctx, const mpk_problem *problem, int32_t nrhs,
                                const void *x, int64_t ldx, void *y, int64_t ldy) {
    MPKI_CALM;
    static const char stage[] = "multiply";
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!problem) return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1, "the problem is NULL");
    const size_t size = mpk_scalar_size(problem->scalar);
    const mpki_sides sides = {
        .n = problem->n, .nrhs = nrhs, .size = size, .b = x, .ldb = ldx, .x = y, .ldx = ldy};
    if (mpk_failed(mpki_check_sides(ctx, stage, &sides))) return mpki_failed(ctx);
    if (nrhs == 0 || problem->n == 0) return MPK_OK;
    mpk_problem_view view;
    mpk_problem_view_get(problem, &view);
    const mpki_skew *skew = problem->values ? problem->values->skew : NULL;
    for (int32_t c = 0; c < nrhs; c++) {
        const char *xc = (const char *)x + (size_t)c * (size_t)ldx * size;
        char *yc = (char *)y + (size_t)c * (size_t)ldy * size;
        tables[problem->scalar]->multiply(&view, xc, yc);
        if (skew) mpki_skew_multiply(skew, &view, xc, yc);
    }
    return MPK_OK;
}

void mpki_residual(const mpk_problem_view *a, const void *x, const void *b, void *r, double *w,
                   double *work) {
    tables[a->scalar]->residual(a, x, b, r, w, work);
}

double mpki_row_sums(const mpk_problem_view *a, double *sums) {
    tables[a->scalar]->row_sums(a, sums);
    double norm = 0;
    for (int32_t i = 0; i < a->n; i++)
        if (!(sums[i] <= norm)) norm = sums[i];
    return norm;
}
