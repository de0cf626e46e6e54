/* SPDX-License-Identifier: BSD-3-Clause */
/* The transpose of a general matrix as the system of a solve. */
#include "turned.h"
#include "../problem/columns.h"
#include "../problem/full.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

void mpki_turned_free(mpk_context *ctx, mpki_turned *turned) {
    mpki_full_free(ctx, &turned->rows);
    mpki_release(ctx, turned->row_norm);
    mpki_release(ctx, turned->scale);
    *turned = (mpki_turned){0};
}

mpk_status mpki_solve_work_turn(mpk_context *ctx, mpki_solve_work *work, mpki_turned *turned) {
    mpki_system *s = &work->system;
    const mpk_factor *fac = work->m.fac;
    const size_t n = (size_t)s->a.n;
    *turned = (mpki_turned){0};
    if (!fac->form->transposed)
        return mpki_error(
            ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
            "a factor on blocks of a matrix that is not symmetric does not solve with "
            "its transpose: that of method ldlt does");
    mpk_status status = mpki_full_make(ctx, &s->a, 1, &turned->rows, NULL);
    turned->row_norm = MPKI_NEW(ctx, STAGE, s->a.n, double);
    turned->scale = MPKI_NEW(ctx, STAGE, 2 * (int64_t)s->a.n, double);
    if (mpk_failed(status) || mpk_failed(mpki_failed(ctx))) return mpki_failed(ctx);
    if (n > 0) {
        memcpy(turned->scale, work->scale + n, n * sizeof(double));
        memcpy(turned->scale + n, work->scale, n * sizeof(double));
    }
    s->a.ap = turned->rows.ptr;
    s->a.ai = turned->rows.col;
    s->a.ax = turned->rows.val;
    s->row_norm = turned->row_norm;
    s->norm_inf = mpki_row_sums(&s->a, turned->row_norm);
    work->scale = turned->scale;
    work->m.transposed = true;
    return MPK_OK;
}

/* The sum of the moduli of `count` entries. */
static double sum_of(mpk_scalar scalar, int64_t count, const char *ax) {
    enum { AT_ONCE = 256 };
    const size_t size = mpk_scalar_size(scalar);
    double moduli[AT_ONCE], sum = 0;
    for (int64_t k = 0; k < count; k += AT_ONCE) {
        const int64_t some = count - k < AT_ONCE ? count - k : AT_ONCE;
        MPKI_DISPATCH(scalar, column_moduli)(some, ax + (size_t)k * size, moduli);
        for (int64_t i = 0; i < some; i++) sum += moduli[i];
    }
    return sum;
}

double mpki_norm1(const mpki_solve_work *work) {
    const mpk_problem_view *a = &work->system.a;
    const size_t size = mpk_scalar_size(a->scalar);
    double most = 0;
    if (a->symmetry != MPK_GENERAL) return work->system.norm_inf;
    for (int32_t j = 0; j < a->n; j++)
        most = fmax(most, sum_of(a->scalar, a->ap[j + 1] - a->ap[j],
                                 (const char *)a->ax + (size_t)a->ap[j] * size));
    return most;
}
