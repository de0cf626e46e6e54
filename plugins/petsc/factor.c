/* SPDX-License-Identifier: BSD-3-Clause */
/** Symbolic and numeric factorization as PETSc calls them. A failure of the numbers is
 *  F->factorerrortype, so that a KSP ends with DIVERGED_PC_FAILED and the program goes on; it is
 *  an error only where PETSc is told so (-ksp_error_if_not_converged). A misuse is an error. */
#include "plugin.h"

static void release(mpkp_solver *s) {
    s->usable = PETSC_FALSE;
    mpk_factor_destroy(&s->factor);
    mpk_analysis_destroy(&s->analysis);
    mpk_problem_destroy(&s->problem);
}

static PetscErrorCode destroy(Mat F) {
    mpkp_solver *s = mpkp_solver_of(F);
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatMetapackGetReason_C", NULL));
    release(s);
    mpk_context_destroy(&s->ctx);
    PetscCall(PetscFree(s->reason));
    PetscCall(PetscFree(F->data));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numerical factorization failed: keep the reason, tell PETSc. */
static PetscErrorCode fail(Mat F, Mat A, MatFactorError kind, const char *reason) {
    mpkp_solver *s = mpkp_solver_of(F);
    PetscFunctionBegin;
    PetscCall(PetscFree(s->reason));
    PetscCall(PetscStrallocpy(reason, &s->reason));
    F->factorerrortype = kind;
    PetscCall(PetscInfo(F, "METAPACK: %s\n", reason));
    PetscCheck(!A->erroriffailure, PETSC_COMM_SELF,
               kind == MAT_FACTOR_OUTMEMORY ? PETSC_ERR_MEM : PETSC_ERR_MAT_CH_ZRPVT,
               "METAPACK: %s", reason);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A negative status of the library. PETSc tries the next values of the pattern only after a zero
 * pivot (NaN, too, may be gone then); for memory it wants a new symbolic factorization. */
static PetscErrorCode fail_status(Mat F, Mat A, mpk_status status) {
    mpk_context *ctx = mpkp_solver_of(F)->ctx;
    PetscFunctionBegin;
    if (status == MPK_ERR_MEMORY)
        PetscCall(fail(F, A, MAT_FACTOR_OUTMEMORY, mpkp_text(ctx)));
    else if (status == MPK_ERR_INPUT || status == MPK_ERR_NUMERIC)
        PetscCall(fail(F, A, MAT_FACTOR_NUMERIC_ZEROPIVOT, mpkp_text(ctx)));
    else
        mpkp_misuse(ctx, status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The problem of both triangles: entries of the lower one, then their mirror images. */
static PetscErrorCode whole_problem(mpkp_solver *s, PetscInt n, const int64_t *ap,
                                    const int32_t *ai, const PetscScalar *ax, mpk_status *status) {
    const int64_t nnz = ap[n];
    int32_t *rows, *cols;
    PetscFunctionBegin;
    PetscCall(PetscMalloc2(2 * nnz, &rows, 2 * nnz, &cols));
    for (PetscInt j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            rows[k] = cols[nnz + k] = ai[k];
            cols[k] = rows[nnz + k] = (int32_t)j;
        }
    *status = mpk_problem_from_triplets(s->ctx, n, MPKP_SCALAR, s->symmetry, MPK_FULL, 2 * nnz,
                                        rows, cols, ax, &s->problem);
    PetscCall(PetscFree2(rows, cols));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern, guided by the values, into problem and analysis. */
static PetscErrorCode analyse(Mat F, Mat A, const mpkp_entries *e) {
    mpkp_solver *s = mpkp_solver_of(F);
    int64_t *ap = NULL;
    int32_t *ai = NULL;
    PetscScalar *ax = NULL;
    PetscBool finite;
    PetscFunctionBegin;
    release(s);
    s->both = e->both;
    PetscCall(mpkp_gather(e, s->symmetry, &ap, &ai, &ax, &finite));
    mpk_status status =
        mpk_context_set_symmetry_tolerance(s->ctx, s->choice.mpk.symmetry_tolerance);
    if (!mpk_failed(status) && e->both)
        PetscCall(whole_problem(s, e->rows * e->bs, ap, ai, ax, &status));
    else if (!mpk_failed(status))
        status = mpk_problem_from_csc(s->ctx, e->rows * e->bs, MPKP_SCALAR, s->symmetry, MPK_LOWER,
                                      ap, ai, ax, &s->problem);
    PetscCall(PetscFree2(ai, ax));
    PetscCall(PetscFree(ap));
    if (!finite) PetscCall(PetscInfo(F, "METAPACK: analysis of a matrix with NaN or Inf\n"));
    if (status == MPK_ERR_INPUT) PetscCall(mpkp_refuse(F, e)); /* NaN apart: not symmetric */
    if (!mpk_failed(status)) status = mpk_analyse(s->ctx, s->problem, &s->choice.mpk, &s->analysis);
    s->analyses++;
    if (mpk_failed(status)) PetscCall(fail_status(F, A, status));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode symbolic(Mat F, Mat A, IS perm, const MatFactorInfo *info) {
    mpkp_solver *s = mpkp_solver_of(F);
    mpkp_entries e;
    PetscFunctionBegin;
    (void)perm; /* METAPACK orders by itself */
    F->factorerrortype = MAT_FACTOR_NOERROR;
    PetscCall(mpkp_choose(F, A, info, s->ctx, &s->choice));
    PetscCall(mpkp_entries_get(A, &e));
    PetscCall(mpkp_symmetry(A, &s->choice, &e, &s->symmetry));
    PetscCall(analyse(F, A, &e));
    PetscCall(mpkp_entries_restore(A, &e));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of A into the factor. */
static PetscErrorCode factorize(Mat F, Mat A, const mpkp_entries *e) {
    mpkp_solver *s = mpkp_solver_of(F);
    mpk_problem_view view;
    PetscScalar *ax;
    mpk_factor_info found;
    char text[160];
    PetscInt place[2];
    PetscFunctionBegin;
    mpk_problem_view_get(s->problem, &view);
    PetscCall(PetscMalloc1(e->both ? 2 * view.nnz : view.nnz, &ax));
    mpk_status status = MPK_OK;
    const PetscErrorCode changed = mpkp_gather_values(e, &view, ax, place);
    if (!changed && place[0] < 0)
        status = mpk_factorize(s->ctx, s->analysis, ax, &s->choice.mpk, &s->factor);
    PetscCall(PetscFree(ax));
    PetscCall(changed);
    if (place[0] >= 0) {
        PetscCall(PetscSNPrintf(text, sizeof text,
                                "entry (%" PetscInt_FMT ", %" PetscInt_FMT ") is NaN or Inf",
                                place[0], place[1]));
        PetscCall(fail(F, A, MAT_FACTOR_NUMERIC_ZEROPIVOT, text));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (status == MPK_ERR_INPUT) PetscCall(mpkp_refuse(F, e));
    s->factorizations++;
    s->usable = (PetscBool)(!mpk_failed(status));
    if (mpk_failed(status)) {
        PetscCall(fail_status(F, A, status));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    mpk_factor_info_get(s->factor, &found);
    s->asymmetry = found.asymmetry;
    if (found.asymmetry.pairs > 0)
        PetscCall(
            PetscInfo(F,
                      "METAPACK: %lld pairs of mirror images differ, by up to %g of the larger: "
                      "their mean is factorized, errors are measured in the matrix as given\n",
                      (long long)found.asymmetry.pairs, found.asymmetry.apart));
    PetscCall(PetscLogFlops((PetscLogDouble)found.flops));
    s->raise = A->erroriffailure;
    s->careful = (PetscBool)(status == MPK_SINGULAR && !s->choice.accept_singular);
    if (s->careful &&
        (s->choice.singular_set || s->choice.absd || s->choice.mpk.method != MPK_METHOD_LDLT)) {
        PetscCall(PetscSNPrintf(text, sizeof text,
                                "the matrix is singular: %lld zero pivots "
                                "(-mat_metapack_accept_singular goes on)",
                                (long long)found.inertia.zero));
        PetscCall(fail(F, A, MAT_FACTOR_NUMERIC_ZEROPIVOT, text));
    } else if (s->careful) {
        PetscCall(PetscInfo(F,
                            "METAPACK: the matrix is singular: %lld zero pivots; systems that have "
                            "a solution are solved\n",
                            (long long)found.inertia.zero));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode numeric(Mat F, Mat A, const MatFactorInfo *info) {
    mpkp_solver *s = mpkp_solver_of(F);
    mpkp_entries e;
    mpk_symmetry symmetry;
    PetscFunctionBegin;
    (void)info;
    F->factorerrortype = MAT_FACTOR_NOERROR;
    PetscCall(PetscFree(s->reason));
    s->usable = s->trusted = PETSC_FALSE;
    s->backward_error = 0;
    s->inconsistent = 0;
    PetscCall(mpkp_entries_get(A, &e));
    PetscCall(mpkp_symmetry(A, &s->choice, &e, &symmetry));
    if (symmetry != s->symmetry || e.both != s->both || !s->analysis) {
        s->symmetry = symmetry; /* complex values that were real when they were analysed; or flags
                                   of A were set since */
        PetscCall(analyse(F, A, &e));
    }
    if (!F->factorerrortype) PetscCall(factorize(F, A, &e));
    PetscCall(mpkp_entries_restore(A, &e));
    F->assembled = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode symbolic_lu(Mat F, Mat A, IS rows, IS cols, const MatFactorInfo *info) {
    PetscFunctionBegin;
    (void)cols;
    PetscCall(symbolic(F, A, rows, info));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solver_type(Mat F, MatSolverType *type) {
    PetscFunctionBegin;
    (void)F;
    *type = MPKP_NAME;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the last factorization failed; NULL: it did not. For programs, by PetscQueryFunction. */
static PetscErrorCode get_reason(Mat F, const char **reason) {
    PetscFunctionBegin;
    *reason = mpkp_solver_of(F)->reason;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpkp_get_factor(Mat A, MatFactorType ftype, Mat *result) {
    Mat F;
    mpkp_solver *s;
    PetscFunctionBegin;
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &F));
    PetscCall(MatSetSizes(F, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(PetscStrallocpy(MPKP_NAME, &((PetscObject)F)->type_name));
    PetscCall(MatSetUp(F));
    PetscCall(PetscCalloc1(1, &s));
    F->data = s;
    F->ops->destroy = destroy;
    const mpk_status made = mpk_context_create(NULL, &s->ctx);
    if (mpk_failed(made)) {
        PetscCall(MatDestroy(&F));
        PetscCheck(made == MPK_ERR_MEMORY, PETSC_COMM_SELF, PETSC_ERR_USER, "%s", mpkp_text(NULL));
        SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "METAPACK: no memory for a context");
    }
    if (ftype == MAT_FACTOR_CHOLESKY) {
        F->ops->choleskyfactorsymbolic = symbolic;
        F->ops->choleskyfactornumeric = numeric;
    } else if (ftype == MAT_FACTOR_LU) {
        F->ops->lufactorsymbolic = symbolic_lu;
        F->ops->lufactornumeric = numeric;
    } else {
        F->ops->iccfactorsymbolic = symbolic;
        F->ops->choleskyfactornumeric = numeric; /* ICC's, too */
    }
    PetscCall(mpkp_set_solves(F));
    PetscCall(mpkp_set_views(F));
    PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", solver_type));
    PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatMetapackGetReason_C", get_reason));
    PetscCall(PetscFree(F->solvertype));
    PetscCall(PetscStrallocpy(MPKP_NAME, &F->solvertype));
    F->factortype = ftype;
    F->canuseordering = PETSC_FALSE;
    *result = F;
    PetscFunctionReturn(PETSC_SUCCESS);
}
