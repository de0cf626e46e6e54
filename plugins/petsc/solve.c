/* SPDX-License-Identifier: BSD-3-Clause */
/** MatSolve and its variants: one or many right-hand sides, transposed or not. With a direct factor
 *  a solve is refined and its backward error computed; inside a parallel preconditioner only until
 *  a solution was accurate before refinement. An incomplete factor, or |D|, is applied as it is. */
#include "plugin.h"

#include <math.h>

/* Inf, as PETSc's MatSolve has it after a failure: every KSP but preonly, which looks at no vector,
 * diverges by it. PETSC_INFINITY is a number. */
static void no_numbers(PetscInt n, PetscScalar *x) {
    for (PetscInt i = 0; i < n; i++) x[i] = INFINITY;
}

/* A singular system without a solution; the reason is kept until the next solve. */
static PetscErrorCode no_solution(Mat F, const char *reason, PetscInt n, PetscScalar *x) {
    mpkp_solver *s = mpkp_solver_of(F);
    PetscFunctionBegin;
    PetscCall(PetscStrallocpy(reason, &s->reason));
    no_numbers(n, x);
    PetscCheck(!s->raise, PETSC_COMM_SELF, PETSC_ERR_MAT_CH_ZRPVT, "METAPACK: %s", reason);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns b of leading dimension ldb into x. */
static PetscErrorCode solve_columns(Mat F, int32_t nrhs, const PetscScalar *b, PetscInt ldb,
                                    PetscScalar *x, PetscInt ldx) {
    mpkp_solver *s = mpkp_solver_of(F);
    const mpkp_choice *c = &s->choice;
    const PetscInt n = F->rmap->n;
    mpk_solve_info info = {0};
    mpk_status status;
    PetscFunctionBegin;
    if (n == 0 || nrhs == 0) PetscFunctionReturn(PETSC_SUCCESS);
    if (s->careful && nrhs > 1) { /* each system has its own verdict */
        for (int32_t k = 0; k < nrhs; k++)
            PetscCall(solve_columns(F, 1, b + k * ldb, ldb, x + k * ldx, ldx));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCheck(s->usable, PETSC_COMM_SELF, PETSC_ERR_ORDER,
               "METAPACK: MatSolve before a numeric factorization that succeeded");
    s->solves += nrhs;
    PetscCall(PetscFree(s->reason));
    if (c->mpk.method == MPK_METHOD_LDLT && !c->absd &&
        (c->check_each || s->careful || !s->trusted)) {
        status = mpk_solve(s->ctx, s->factor, nrhs, b, ldb, x, ldx, &c->mpk, &info);
        s->checked += nrhs;
        s->trusted = (PetscBool)(info.unrefined <= PETSC_SQRT_MACHINE_EPSILON / 100);
        s->backward_error = PetscMax(s->backward_error, info.componentwise);
        if (status == MPK_SINGULAR && !info.solved) {
            s->inconsistent++;
            PetscCall(PetscInfo(F, "METAPACK: %s\n", mpkp_text(s->ctx)));
            if (s->careful) {
                PetscCall(no_solution(F, mpkp_text(s->ctx), n, x));
                PetscFunctionReturn(PETSC_SUCCESS);
            }
        }
        if (status == MPK_INACCURATE) {
            s->inaccurate++;
            PetscCall(
                PetscInfo(F, "METAPACK: backward error %g after refinement\n", info.componentwise));
        }
    } else {
        for (int32_t k = 0; k < nrhs; k++) PetscCall(PetscArraycpy(x + k * ldx, b + k * ldb, n));
        status =
            mpk_solve_part(s->ctx, s->factor, c->absd ? MPK_PART_ABS : MPK_PART_ALL, nrhs, x, ldx);
    }
    if (status == MPK_ERR_INPUT || status == MPK_ERR_NUMERIC) { /* so that any KSP understands it */
        PetscCall(PetscInfo(F, "METAPACK: %s\n", mpkp_text(s->ctx)));
        for (int32_t k = 0; k < nrhs; k++) no_numbers(n, x + k * ldx);
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (mpk_failed(status)) mpkp_misuse(s->ctx, status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve(Mat F, Vec b, Vec x) {
    const PetscScalar *b_array;
    PetscScalar *x_array;
    const PetscInt ld = PetscMax(F->rmap->n, 1);
    PetscFunctionBegin;
    PetscCall(VecGetArrayRead(b, &b_array));
    PetscCall(VecGetArrayWrite(x, &x_array));
    PetscCall(solve_columns(F, 1, b_array, ld, x_array, ld));
    PetscCall(VecRestoreArrayWrite(x, &x_array));
    PetscCall(VecRestoreArrayRead(b, &b_array));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool conjugates(Mat F) {
    return (PetscBool)(PetscDefined(USE_COMPLEX) && mpkp_solver_of(F)->symmetry == MPK_HERMITIAN);
}

/* An incomplete LDU of a symmetric matrix is not symmetric itself. */
static PetscErrorCode refuse_ldu(Mat F) {
    const mpk_options *o = &mpkp_solver_of(F)->choice.mpk;
    PetscFunctionBegin;
    PetscCheck(o->method == MPK_METHOD_LDLT || o->factor_type != MPK_TYPE_LDU, PETSC_COMM_SELF,
               PETSC_ERR_SUP, "METAPACK: no transposed solves with factor type ldu");
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T = A, or conj(A): then x = conj(A^-1 conj(b)). */
static PetscErrorCode solve_transpose(Mat F, Vec b, Vec x) {
    Vec copy;
    PetscFunctionBegin;
    PetscCall(refuse_ldu(F));
    if (!conjugates(F)) {
        PetscCall(solve(F, b, x));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(VecDuplicate(b, &copy));
    PetscCall(VecCopy(b, copy));
    PetscCall(VecConjugate(copy));
    PetscCall(solve(F, copy, x));
    PetscCall(VecConjugate(x));
    PetscCall(VecDestroy(&copy));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* X and B are dense and distinct. */
static PetscErrorCode mat_solve(Mat F, Mat B, Mat X) {
    const PetscScalar *b;
    PetscScalar *x;
    PetscInt columns, ldb, ldx;
    PetscBool dense, dense_x;
    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)B, MATSEQDENSE, &dense));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)X, MATSEQDENSE, &dense_x));
    PetscCheck(dense && dense_x, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "METAPACK: MatMatSolve takes dense matrices, not %s",
               ((PetscObject)(dense ? X : B))->type_name);
    PetscCall(MatGetSize(B, NULL, &columns));
    PetscCheck(columns <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "METAPACK: %" PetscInt_FMT " right-hand sides; the most are %d", columns, INT32_MAX);
    PetscCall(MatDenseGetLDA(B, &ldb));
    PetscCall(MatDenseGetLDA(X, &ldx));
    PetscCall(MatDenseGetArrayRead(B, &b));
    PetscCall(MatDenseGetArrayWrite(X, &x));
    PetscCall(solve_columns(F, (int32_t)columns, b, ldb, x, ldx));
    PetscCall(MatDenseRestoreArrayWrite(X, &x));
    PetscCall(MatDenseRestoreArrayRead(B, &b));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mat_solve_transpose(Mat F, Mat B, Mat X) {
    Mat copy;
    PetscFunctionBegin;
    PetscCall(refuse_ldu(F));
    if (!conjugates(F)) {
        PetscCall(mat_solve(F, B, X));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &copy));
    PetscCall(MatConjugate(copy));
    PetscCall(mat_solve(F, copy, X));
    PetscCall(MatConjugate(X));
    PetscCall(MatDestroy(&copy));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpkp_set_solves(Mat F) {
    PetscFunctionBegin;
    F->ops->solve = solve;
    F->ops->solvetranspose = solve_transpose;
    F->ops->matsolve = mat_solve;
    F->ops->matsolvetranspose = mat_solve_transpose;
    PetscFunctionReturn(PETSC_SUCCESS);
}
