/* SPDX-License-Identifier: BSD-3-Clause */
/** METAPACK as the direct linear solver of SCS (3.2): the functions of SCS's linsys.h, compiled with
 *  SCS in place of its linsys/cpu/direct/private.c. docs/guide/optimisers.md.
 *
 *  The system is [R_x + P, A'; A, -R_y], quasi-definite; SCS gives P's upper triangle, and changes R
 *  now and then. Entries go to METAPACK as triplets, those of R last: a new R is a new end of the
 *  array of values, and nothing is analysed anew. */
#include <linsys.h>
#include <scs_matrix.h>
#include <metapack/metapack.h>

struct SCS_LIN_SYS_WORK {
    scs_int n, order; /* columns of A; of the system */
    int64_t fixed;    /* entries before those of R */
    scs_float *values;
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options options;
};

static const mpk_scalar scalar = sizeof(scs_float) == sizeof(double) ? MPK_D : MPK_S;

static void set_r(ScsLinSysWork *w, const scs_float *diag_r) {
    scs_float *r = w->values + w->fixed;
    for (scs_int i = 0; i < w->order; i++) r[i] = i < w->n ? diag_r[i] : -diag_r[i];
}

/** Columns of a matrix as triplets from *at on, its rows moved down by `down`. */
static void put(const ScsMatrix *a, scs_int down, int32_t *rows, int32_t *cols, scs_float *values,
                int64_t *at) {
    for (scs_int j = 0; j < a->n; j++)
        for (scs_int k = a->p[j]; k < a->p[j + 1]; k++, ++*at) {
            rows[*at] = (int32_t)(a->i[k] + down);
            cols[*at] = (int32_t)j;
            values[*at] = a->x[k];
        }
}

static mpk_status say(const ScsLinSysWork *w, mpk_status status) {
    const char *text = NULL;
    if (status == MPK_OK) return status;
    mpk_last_error(w->ctx, NULL, NULL, &text);
    scs_printf("METAPACK: %s\n", text && *text ? text : mpk_status_text(status));
    return status;
}

ScsLinSysWork *scs_init_lin_sys_work(const ScsMatrix *A, const ScsMatrix *P,
                                     const scs_float *diag_r) {
    if ((int64_t)A->n + A->m > INT32_MAX) return SCS_NULL;
    ScsLinSysWork *w = scs_calloc(1, sizeof *w);
    if (!w) return SCS_NULL;
    w->n = A->n;
    w->order = A->n + A->m;
    w->fixed = (P ? P->p[P->n] : 0) + A->p[A->n];
    const int64_t all = w->fixed + w->order;
    int64_t at = 0;
    w->values = scs_calloc((size_t)all + 1, sizeof *w->values);
    int32_t *rows = scs_calloc(2 * (size_t)all + 2, sizeof *rows), *cols = rows + all;
    mpk_status status = w->values && rows ? MPK_OK : MPK_ERR_MEMORY;
    if (!mpk_failed(status)) {
        if (P) put(P, 0, rows, cols, w->values, &at);
        put(A, A->n, rows, cols, w->values, &at);
        for (scs_int i = 0; i < w->order; i++) rows[at + i] = cols[at + i] = (int32_t)i;
        set_r(w, diag_r);
        status = mpk_context_create(NULL, &w->ctx);
    }
    if (!mpk_failed(status)) {
        mpk_options_init(&w->options);
        status = mpk_problem_from_triplets(w->ctx, w->order, scalar, MPK_SYMMETRIC, MPK_EITHER, all,
                                           rows, cols, w->values, &w->problem);
    }
    if (!mpk_failed(status)) status = mpk_analyse(w->ctx, w->problem, &w->options, &w->an);
    if (!mpk_failed(status)) status = mpk_factorize(w->ctx, w->an, w->values, &w->options, &w->fac);
    scs_free(rows);
    if (say(w, status) == MPK_OK) return w;
    scs_free_lin_sys_work(w);
    return SCS_NULL;
}

scs_int scs_update_lin_sys_diag_r(ScsLinSysWork *w, const scs_float *diag_r) {
    set_r(w, diag_r);
    return say(w, mpk_factorize(w->ctx, w->an, w->values, &w->options, &w->fac)) == MPK_OK ? 0 : -1;
}

/** Without refinement: SCS measures what it reaches, and asks some thousand times. */
scs_int scs_solve_lin_sys(ScsLinSysWork *w, scs_float *b, const scs_float *s, scs_float tol) {
    (void)s, (void)tol;
    return say(w, mpk_solve_part(w->ctx, w->fac, MPK_PART_ALL, 1, b, w->order)) == MPK_OK ? 0 : -1;
}

void scs_free_lin_sys_work(ScsLinSysWork *w) {
    if (!w) return;
    mpk_factor_destroy(&w->fac);
    mpk_analysis_destroy(&w->an);
    mpk_problem_destroy(&w->problem);
    mpk_context_destroy(&w->ctx);
    scs_free(w->values);
    scs_free(w);
}

const char *scs_get_lin_sys_method(void) {
    return "sparse-direct-metapack";
}
