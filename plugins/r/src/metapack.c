/* SPDX-License-Identifier: BSD-3-Clause */
/** METAPACK for R: what the functions of R/metapack.R call. An object of R's owns a pattern (context,
 *  problem, analysis) or a factor, which keeps its pattern alive; both are freed by R's collector,
 *  also where error() leaves a function. */
#define R_NO_REMAP
#include <metapack/metapack.h>
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pattern {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_options options;
    int32_t n;
    int general;
} pattern;

typedef struct factor {
    mpk_factor *fac;
    mpk_solve_info last;
} factor;

static void free_pattern(SEXP object) {
    pattern *p = R_ExternalPtrAddr(object);
    if (!p) return;
    mpk_analysis_destroy(&p->an);
    mpk_problem_destroy(&p->problem);
    mpk_context_destroy(&p->ctx);
    free(p);
    R_ClearExternalPtr(object);
}

static void free_factor(SEXP object) {
    factor *f = R_ExternalPtrAddr(object);
    if (!f) return;
    mpk_factor_destroy(&f->fac);
    free(f);
    R_ClearExternalPtr(object);
}

static void check(const pattern *p, mpk_status status) {
    const char *text = NULL;
    if (status == MPK_OK) return;
    mpk_last_error(p->ctx, NULL, NULL, &text);
    if (!text || !*text) text = mpk_status_text(status);
    if (mpk_failed(status)) Rf_error("metapack: %s", text);
    Rf_warning("metapack: %s", text);
}

/** The factor behind an object, and its pattern. A loaded workspace has none. */
static factor *the(SEXP object, pattern **p) {
    factor *f = TYPEOF(object) == EXTPTRSXP ? R_ExternalPtrAddr(object) : NULL;
    if (!f) Rf_error("metapack: the factor is gone (it cannot be saved in a workspace)");
    *p = R_ExternalPtrAddr(R_ExternalPtrProtected(object));
    return f;
}

static SEXP new_factor(SEXP of, const double *x) {
    const pattern *p = R_ExternalPtrAddr(of);
    factor *f = calloc(1, sizeof *f);
    if (!f) Rf_error("metapack: no memory");
    SEXP object = PROTECT(R_MakeExternalPtr(f, Rf_install("metapack_factor"), of));
    R_RegisterCFinalizer(object, free_factor);
    check(p, mpk_factorize(p->ctx, p->an, x, &p->options, &f->fac));
    UNPROTECT(1);
    return object;
}

/** keys, words [in] options by name
 *  symmetry     [in] 0: symmetric if it is, else general; 1: symmetric; 2: general */
static SEXP make(SEXP n, SEXP ap, SEXP ai, SEXP ax, SEXP triangle, SEXP symmetry, SEXP keys,
                 SEXP words) {
    const int order = Rf_asInteger(n), kind = Rf_asInteger(symmetry);
    const R_xlen_t nnz = XLENGTH(ax);
    int64_t *wide = (int64_t *)R_alloc((size_t)order + 1, sizeof *wide);
    for (int j = 0; j <= order; j++) wide[j] = INTEGER(ap)[j];
    if (wide[order] != nnz || XLENGTH(ai) != nnz) Rf_error("metapack: the matrix is not valid");
    pattern *p = calloc(1, sizeof *p);
    if (!p) Rf_error("metapack: no memory");
    SEXP of = PROTECT(R_MakeExternalPtr(p, Rf_install("metapack_pattern"), R_NilValue));
    R_RegisterCFinalizer(of, free_pattern);
    check(p, mpk_context_create(NULL, &p->ctx));
    mpk_options_init(&p->options);
    for (R_xlen_t k = 0; k < XLENGTH(keys); k++)
        check(p, mpk_options_set(p->ctx, &p->options, CHAR(STRING_ELT(keys, k)),
                                 CHAR(STRING_ELT(words, k))));
    const mpk_triangle given = (mpk_triangle)Rf_asInteger(triangle);
    mpk_status status = MPK_ERR_INPUT;
    if (kind != 2)
        status = mpk_problem_from_csc(p->ctx, order, MPK_D, MPK_SYMMETRIC, given, wide, INTEGER(ai),
                                      REAL(ax), &p->problem);
    if (kind == 2 || (kind == 0 && given == MPK_FULL && status == MPK_ERR_INPUT)) {
        p->general = 1;
        status = mpk_problem_from_csc(p->ctx, order, MPK_D, MPK_GENERAL, MPK_FULL, wide,
                                      INTEGER(ai), REAL(ax), &p->problem);
    }
    check(p, status);
    status = mpk_analyse(p->ctx, p->problem, &p->options, &p->an);
    if (mpk_failed(status)) check(p, status); /* structurally singular: the factorization says it */
    p->n = order;
    SEXP object = new_factor(of, REAL(ax));
    UNPROTECT(1);
    return object;
}

static SEXP again(SEXP object, SEXP ax) {
    pattern *p;
    the(object, &p);
    return new_factor(R_ExternalPtrProtected(object), REAL(ax));
}

static SEXP solve(SEXP object, SEXP b, SEXP columns, SEXP transposed) {
    pattern *p;
    factor *f = the(object, &p);
    const int nrhs = Rf_asInteger(columns);
    SEXP x = PROTECT(Rf_duplicate(b));
    if (p->n > 0 && nrhs > 0)
        check(p, Rf_asLogical(transposed) == 1
                     ? mpk_solve_transposed(p->ctx, f->fac, MPK_TRANSPOSE, nrhs, REAL(b), p->n,
                                            REAL(x), p->n, &p->options, &f->last)
                     : mpk_solve(p->ctx, f->fac, nrhs, REAL(b), p->n, REAL(x), p->n, &p->options,
                                 &f->last));
    UNPROTECT(1);
    return x;
}

/** Row k of R z, with R R^T = D^-1 of a definite D: of order 2, D = C C^T and R = C^-T. */
static void root(int32_t n, const double *d, double *z) {
    for (int32_t k = 0; k < n; k++) {
        const double below = d[2 * k + 1], c1 = sqrt(d[2 * k]), c2 = below / c1;
        if (!(d[2 * k] > 0))
            Rf_error("metapack: the matrix is not positive definite: it has no samples");
        if (below == 0) {
            z[k] /= c1;
            continue;
        }
        const double rest = d[2 * k + 2] - c2 * c2;
        if (!(rest > 0))
            Rf_error("metapack: the matrix is not positive definite: it has no samples");
        z[k + 1] /= sqrt(rest);
        z[k] = z[k] / c1 - c2 / c1 * z[k + 1];
        k++;
    }
}

static SEXP sample(SEXP object, SEXP normal, SEXP columns) {
    pattern *p;
    factor *f = the(object, &p);
    const int nrhs = Rf_asInteger(columns);
    if (p->general) Rf_error("metapack: the matrix is not symmetric: it has no samples");
    double *d = (double *)R_alloc(2 * (size_t)p->n + 2, sizeof *d);
    check(p, mpk_get(p->ctx, f->fac, MPK_GET_D, d, 2 * (size_t)p->n * sizeof *d));
    SEXP x = PROTECT(Rf_duplicate(normal));
    for (int j = 0; j < nrhs; j++) root(p->n, d, REAL(x) + (R_xlen_t)j * p->n);
    if (p->n > 0 && nrhs > 0)
        check(p, mpk_solve_part(p->ctx, f->fac, MPK_PART_LT, nrhs, REAL(x), p->n));
    UNPROTECT(1);
    return x;
}

static SEXP variances(SEXP object) {
    pattern *p;
    factor *f = the(object, &p);
    SEXP d = PROTECT(Rf_allocVector(REALSXP, p->n));
    check(p, mpk_selected_inverse(p->ctx, f->fac, MPK_SELECT_DIAGONAL, REAL(d),
                                  (size_t)p->n * sizeof(double), &p->options, NULL));
    UNPROTECT(1);
    return d;
}

static SEXP log_determinant(SEXP object) {
    pattern *p;
    factor *f = the(object, &p);
    SEXP found = PROTECT(Rf_allocVector(REALSXP, 3));
    check(p, mpk_get(p->ctx, f->fac, MPK_GET_LOGDET, REAL(found), 3 * sizeof(double)));
    UNPROTECT(1);
    return found;
}

/** Order, eigenvalues of each sign, iterations and componentwise error of the last solve; NaN where there are none. */
static SEXP numbers(SEXP object) {
    pattern *p;
    factor *f = the(object, &p);
    mpk_factor_info info;
    mpk_factor_info_get(f->fac, &info);
    SEXP found = PROTECT(Rf_allocVector(REALSXP, 6));
    const mpk_inertia *k = &info.inertia;
    const double all[6] = {p->n,
                           p->general ? NAN : (double)k->positive,
                           p->general ? NAN : (double)k->negative,
                           (double)k->zero,
                           f->last.iterations,
                           f->last.componentwise};
    memcpy(REAL(found), all, sizeof all);
    UNPROTECT(1);
    return found;
}

void R_init_metapack(DllInfo *info);
void R_init_metapack(DllInfo *info) {
    static const R_CallMethodDef calls[] = {{"C_make", (DL_FUNC)&make, 8},
                                            {"C_again", (DL_FUNC)&again, 2},
                                            {"C_solve", (DL_FUNC)&solve, 4},
                                            {"C_sample", (DL_FUNC)&sample, 3},
                                            {"C_variances", (DL_FUNC)&variances, 1},
                                            {"C_log_determinant", (DL_FUNC)&log_determinant, 1},
                                            {"C_numbers", (DL_FUNC)&numbers, 1},
                                            {NULL, NULL, 0}};
    R_registerRoutines(info, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
}
