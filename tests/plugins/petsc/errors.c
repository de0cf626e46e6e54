/* SPDX-License-Identifier: BSD-3-Clause */
/** Bad input through PETSc: each gives PETSc's own kind of error with METAPACK's reason, and the
 *  program goes on. */
#define _GNU_SOURCE /* setenv */
#include "check.h"

#include <math.h>

static PetscScalar path(PetscInt n, PetscInt i, PetscInt j) {
    (void)n;
    return i == j ? 1e-3 : i - j == 1 || j - i == 1 ? 1 : 0;
}

/* Graph Laplacian of a path: constants are its null space. */
static PetscScalar laplacian(PetscInt n, PetscInt i, PetscInt j) {
    if (i == j) return i == 0 || i == n - 1 ? 1 : 2;
    return i - j == 1 || j - i == 1 ? -1 : 0;
}

static PetscScalar skewed(PetscInt n, PetscInt i, PetscInt j) {
    return path(n, i, j) + (i == 5 && j == 4 ? 1e-3 : 0);
}

static PetscErrorCode set_one(Mat A, PetscInt i, PetscInt j, PetscScalar value) {
    PetscFunctionBeginUser;
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(A, i, j, value, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* What a KSP makes of A now. */
static PetscErrorCode expect(KSP ksp, Vec b, Vec x, const char *what, KSPConvergedReason wanted,
                             const char *words) {
    KSPConvergedReason reason;
    PetscFunctionBeginUser;
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason == wanted, "%s: %s", what, KSPConvergedReasons[reason]);
    CHECK(words ? strstr(reason_of(ksp), words) != NULL : !*reason_of(ksp), "%s: \"%s\"", what,
          reason_of(ksp));
    PetscFunctionReturn(0);
}

static PetscErrorCode begin_again(KSP ksp, Mat A) {
    PetscFunctionBeginUser;
    PetscCall(KSPReset(ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscFunctionReturn(0);
}

/* A NaN, and the next values are good again: the factor recovers without a new analysis. */
static PetscErrorCode not_a_number(PCType pc) {
    KSP ksp;
    Mat A, F;
    Vec x, b;
    PetscReal residual;
    char *text;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, 30, 1, 1, path, &A));
    PetscCall(vectors(A, &x, &b));
    PetscCall(solver(A, KSPPREONLY, pc, &ksp));
    for (int round = 0; round < 2; round++) {
        PetscCall(set_one(A, 3, 4, NAN));
        PetscCall(expect(ksp, b, x, "NaN", KSP_DIVERGED_PC_FAILED, "(3, 4) is NaN"));
        PetscCall(factor_of(ksp, &F));
        PetscCall(view_of(F, &text));
        CHECK(strstr(text, "failed: "), "%s", text);
        free(text);
        PetscCall(set_one(A, 3, 4, 1));
        if (!strcmp(pc, PCICC)) PetscCall(begin_again(ksp, A)); /* PCICC forgets no failure */
        PetscCall(expect(ksp, b, x, "cured", KSP_CONVERGED_ITS, NULL));
        PetscCall(relative_residual(A, x, b, &residual));
        CHECK(residual < 1e-6, "%s after NaN: residual %g", pc, (double)residual);
    }
    PetscCall(begin_again(ksp, A));
    PetscCall(set_one(A, 3, 3, INFINITY));
    PetscCall(expect(ksp, b, x, "Inf", KSP_DIVERGED_PC_FAILED, "(3, 3) is NaN or Inf"));
    PetscCall(KSPDestroy(&ksp));
    /* and from the beginning */
    PetscCall(solver(A, KSPGMRES, pc, &ksp));
    PetscCall(expect(ksp, b, x, "Inf at once", KSP_DIVERGED_PC_FAILED, "(3, 3) is NaN or Inf"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(solver(A, KSPGMRES, pc, &ksp));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(catch_errors());
    const PetscErrorCode error = KSPSolve(ksp, b, x);
    PetscCall(release_errors());
    CHECK(error == PETSC_ERR_MAT_CH_ZRPVT && strstr(caught, "METAPACK: "), "%d: %s", error, caught);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* Without a word on null spaces: b of A's range is solved with, another fails by itself. */
static PetscErrorCode no_solution(Mat A, Vec x, Vec b) {
    static const PCType pcs[] = {PCCHOLESKY, PCLU};
    PetscReal residual;
    PetscErrorCode error;
    KSP ksp;
    Vec own;
    PetscFunctionBeginUser;
    for (int k = 0; k < 4; k++) {
        const PetscBool iterates = (PetscBool)(k >= 2);
        PetscCall(solver(A, iterates ? KSPGMRES : KSPPREONLY, pcs[k % 2], &ksp));
        for (int round = 0; round < 2; round++) {
            PetscCall(expect(ksp, b, x, "range", iterates ? KSP_CONVERGED_RTOL : KSP_CONVERGED_ITS,
                             NULL));
            PetscCall(relative_residual(A, x, b, &residual));
            CHECK(residual < 1e-10, "range: residual %g", (double)residual);
            PetscCall(VecSetValue(b, 3, 1, ADD_VALUES));
            PetscCall(VecAssemblyBegin(b));
            PetscCall(VecAssemblyEnd(b));
            PetscCall(expect(ksp, b, x, "no solution",
                             iterates ? KSP_DIVERGED_NANORINF : KSP_CONVERGED_ITS, "inconsistent"));
            PetscCall(VecNorm(x, NORM_INFINITY, &residual));
            CHECK(iterates || PetscIsInfOrNanReal(residual), "%g", (double)residual);
            PetscCall(VecSetValue(b, 3, -1, ADD_VALUES));
            PetscCall(VecAssemblyBegin(b));
            PetscCall(VecAssemblyEnd(b));
        }
        PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(solver(A, KSPPREONLY, PCLU, &ksp));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(VecDuplicate(b, &own)); /* an error in KSPSolve leaves its b locked */
    PetscCall(VecCopy(b, own));
    PetscCall(VecShift(own, 1));
    PetscCall(catch_errors());
    error = KSPSolve(ksp, own, x);
    PetscCall(release_errors());
    CHECK(error && strstr(caught, "inconsistent"), "%d: %s", error, caught);
    PetscCall(VecDestroy(&own));
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(0);
}

static PetscErrorCode singular(void) {
    PetscInt negative, zero, positive;
    PetscReal residual;
    MatNullSpace null_space;
    KSP ksp;
    Mat A, F;
    Vec x, b;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, 25, 1, 1, laplacian, &A));
    PetscCall(vectors(A, &x, &b));
    PetscCall(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &null_space));
    PetscCall(MatNullSpaceRemove(null_space, b));
    PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_accept_singular", "no"));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(expect(ksp, b, x, "singular", KSP_DIVERGED_PC_FAILED, "singular"));
    PetscCall(factor_of(ksp, &F));
    PetscCall(MatGetInertia(F, &negative, &zero, &positive));
    CHECK(negative == 0 && zero == 1 && positive == 24, "inertia %d %d %d", (int)negative,
          (int)zero, (int)positive);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_accept_singular", "yes"));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(expect(ksp, b, x, "accepted", KSP_CONVERGED_ITS, NULL));
    PetscCall(relative_residual(A, x, b, &residual));
    CHECK(residual < 1e-10, "consistent: residual %g", (double)residual);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_accept_singular"));
    PetscCall(no_solution(A, x, b));
    PetscCall(MatSetNullSpace(A, null_space));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(expect(ksp, b, x, "null space", KSP_CONVERGED_ITS, NULL));
    PetscCall(relative_residual(A, x, b, &residual));
    CHECK(residual < 1e-10, "null space: residual %g", (double)residual);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatNullSpaceDestroy(&null_space));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* A's own entries, with one in the upper triangle alone and one in the lower alone, both within the
 * tolerance: half of each is factorized, and A itself solved with by refinement. */
static PetscErrorCode lonely(void) {
    KSP ksp;
    Mat A;
    Vec x, b;
    PetscReal residual;
    PetscFunctionBeginUser;
    for (int kind = 0; kind < 2; kind++) {
        const MatType type = kind ? MATSEQBAIJ : MATSEQAIJ;
        const PetscInt bs = kind ? 4 : 1;
        PetscCall(make(type, 20, bs, 1, path, &A));
        PetscCall(set_one(A, 17, 2, 2e-3));
        PetscCall(set_one(A, 1, 13, 4e-3));
        PetscCall(vectors(A, &x, &b));
        PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_symmetry_tolerance", "0.01"));
        PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
        for (int again = 0; again < 2; again++) { /* the second time values alone */
            PetscCall(expect(ksp, b, x, "lonely", KSP_CONVERGED_ITS, NULL));
            PetscCall(relative_residual(A, x, b, &residual));
            CHECK(residual < 1e-12, "%s: residual %g", type, (double)residual);
            PetscCall(MatScale(A, 2));
        }
        PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_symmetry_tolerance"));
        PetscCall(KSPDestroy(&ksp));
        PetscCall(MatDestroy(&A));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&b));
    }
    PetscFunctionReturn(0);
}

/* Rows zeroed for boundary conditions, whatever stands on their diagonal, are no rounding; noise
 * is, and errors are those of A with it. */
static PetscErrorCode zeroed(void) {
    static const PetscReal diagonal[] = {1, 1e6, 1e30};
    const PetscInt rows[] = {0, 19};
    KSP ksp;
    Mat A;
    Vec x, b;
    PetscReal residual;
    PetscErrorCode error;
    PetscFunctionBeginUser;
    for (int k = 0; k < 4; k++) {
        PetscCall(make(MATSEQAIJ, 20, 1, 1, path, &A));
        PetscCall(vectors(A, &x, &b));
        if (k < 3)
            PetscCall(MatZeroRows(A, 2, rows, diagonal[k], NULL, NULL));
        else
            PetscCall(set_one(A, 5, 4, path(20, 5, 4) * (1 + 1e-11)));
        PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
        PetscCall(catch_errors());
        error = KSPSolve(ksp, b, x);
        PetscCall(release_errors());
        CHECK(error == (k < 3 ? PETSC_ERR_ARG_WRONG : 0), "diagonal %d: %d: %s", k, error, caught);
        if (k < 3) CHECK(strstr(caught, "MatZeroRows"), "%s", caught);
        PetscCall(relative_residual(A, x, b, &residual));
        if (k == 3) CHECK(residual < 1e-14, "noise: residual %g", (double)residual);
        PetscCall(KSPDestroy(&ksp));
        PetscCall(MatDestroy(&A));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&b));
    }
    PetscFunctionReturn(0);
}

/* -pc_type lu: LDL^T of a symmetric matrix, flagged or not; of another an error that says what to
 * type. */
static PetscErrorCode lu(void) {
    static const MatType types[] = {MATSEQAIJ, MATSEQBAIJ, MATSEQSBAIJ};
    KSP ksp;
    Mat A, F;
    PetscReal residual;
    PetscInt negative;
    Vec x, b;
    PetscErrorCode error;
    PetscFunctionBeginUser;
    for (int k = 0; k < 6; k++) {
        PetscCall(make(types[k % 3], 20, k % 3 ? 4 : 1, 1, path, &A));
        if (k >= 3) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
        PetscCall(vectors(A, &x, &b));
        PetscCall(solver(A, KSPPREONLY, PCLU, &ksp));
        for (int round = 0; round < 2; round++) { /* the second time values alone */
            PetscCall(expect(ksp, b, x, "lu", KSP_CONVERGED_ITS, NULL));
            PetscCall(relative_residual(A, x, b, &residual));
            CHECK(residual < 1e-12, "%s: residual %g", types[k % 3], (double)residual);
            PetscCall(KSPSolveTranspose(ksp, b, x));
            PetscCall(relative_residual(A, x, b, &residual));
            CHECK(residual < 1e-12, "%s transposed: residual %g", types[k % 3], (double)residual);
            PetscCall(MatScale(A, 2));
        }
        PetscCall(factor_of(ksp, &F));
        PetscCall(MatGetInertia(F, &negative, NULL, NULL));
        CHECK(negative == 10, "%d negative", (int)negative);
        PetscCall(KSPDestroy(&ksp));
        if (k < 2) { /* symmetric no more, pattern kept */
            PetscCall(set_one(A, 5, 4, 1e-3));
            PetscCall(solver(A, KSPPREONLY, PCLU, &ksp));
            PetscCall(catch_errors());
            error = KSPSolve(ksp, b, x);
            PetscCall(release_errors());
            CHECK(error == PETSC_ERR_ARG_WRONG && strstr(caught, "row 5, column 4") &&
                      strstr(caught, "use -pc_type cholesky"),
                  "%d: %s", error, caught);
            PetscCall(KSPDestroy(&ksp));
        }
        PetscCall(MatDestroy(&A));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&b));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode unsymmetric(void) {
    KSP ksp;
    Mat A;
    PetscReal residual;
    Vec x, b;
    PetscErrorCode error;
    PetscFunctionBeginUser;
    for (int kind = 0; kind < 2; kind++) {
        PetscCall(make(kind ? MATSEQBAIJ : MATSEQAIJ, 20, kind ? 4 : 1, 1, skewed, &A));
        PetscCall(vectors(A, &x, &b));
        PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
        PetscCall(catch_errors());
        error = KSPSolve(ksp, b, x);
        PetscCall(release_errors());
        CHECK(error == PETSC_ERR_ARG_WRONG && strstr(caught, "not symmetric") &&
                  strstr(caught, "row 5, column 4"),
              "%d: %s", error, caught);
        PetscCall(KSPDestroy(&ksp));
        PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_check_symmetry", "no"));
        PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
        PetscCall(expect(ksp, b, x, "unchecked", KSP_CONVERGED_ITS, NULL));
        PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_check_symmetry"));
        PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_symmetry_tolerance", "0.01"));
        PetscCall(KSPDestroy(&ksp));
        PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
        PetscCall(expect(ksp, b, x, "tolerated", KSP_CONVERGED_ITS, NULL));
        PetscCall(relative_residual(A, x, b, &residual));
        CHECK(residual < 1e-12, "tolerated: residual %g", (double)residual);
        PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_symmetry_tolerance"));
        PetscCall(KSPDestroy(&ksp));
        PetscCall(MatDestroy(&A));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&b));
    }
    /* a pattern of one triangle only */
    PetscCall(make(MATSEQAIJ, 20, 1, 1, path, &A));
    PetscCall(set_one(A, 19, 0, 1));
    PetscCall(vectors(A, &x, &b));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(catch_errors());
    error = KSPSolve(ksp, b, x);
    PetscCall(release_errors());
    CHECK(error == PETSC_ERR_ARG_WRONG && strstr(caught, "row 19, column 0"), "%d: %s", error,
          caught);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(set_one(A, 19, 0, 0));
    PetscCall(set_one(A, 2, 17, 1));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(catch_errors());
    error = KSPSolve(ksp, b, x);
    PetscCall(release_errors());
    CHECK(error == PETSC_ERR_ARG_WRONG && strstr(caught, "row 2, column 17"), "%d: %s", error,
          caught);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* Numeric with a matrix that was not analysed; solve before numeric. */
static PetscErrorCode wrong_order(void) {
    MatFactorInfo info;
    PetscErrorCode error;
    Mat A, other, F;
    Vec x, b;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, 20, 1, 1, path, &A));
    PetscCall(make(MATSEQAIJ, 20, 1, 2, path, &other));
    PetscCall(vectors(A, &x, &b));
    PetscCall(MatGetFactor(A, METAPACK, MAT_FACTOR_CHOLESKY, &F));
    PetscCall(MatFactorInfoInitialize(&info));
    PetscCall(MatCholeskyFactorSymbolic(F, A, NULL, &info));
    for (int k = 0; k < 2; k++) {
        PetscCall(catch_errors());
        error = MatCholeskyFactorNumeric(F, other, &info);
        PetscCall(release_errors());
        CHECK(error == PETSC_ERR_ARG_INCOMP && strstr(caught, "pattern has changed"), "%d: %s",
              error, caught);
        PetscCall(catch_errors());
        error = MatSolve(F, b, x);
        PetscCall(release_errors());
        CHECK(error != 0, "solved without a factorization");
        PetscCall(catch_errors());
        error = MatGetInertia(F, NULL, NULL, NULL);
        PetscCall(release_errors());
        CHECK(error != 0, "inertia without a factorization");
        PetscCall(MatCholeskyFactorNumeric(F, A, &info));
        PetscCall(MatSolve(F, b, x));
    }
    PetscCall(MatCholeskyFactorSymbolic(F, other, NULL, &info));
    PetscCall(MatCholeskyFactorNumeric(F, other, &info));
    PetscCall(MatSolve(F, b, x));
    PetscCall(MatDestroy(&F));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&other));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* Types that are not ours: PETSc's own words. */
static PetscErrorCode not_ours(void) {
    PetscErrorCode error;
    Mat A, F;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, 20, 1, 1, path, &A));
    PetscCall(MatConvert(A, MATSEQDENSE, MAT_INPLACE_MATRIX, &A));
    PetscCall(catch_errors());
    error = MatGetFactor(A, METAPACK, MAT_FACTOR_CHOLESKY, &F);
    PetscCall(release_errors());
    CHECK(error == PETSC_ERR_MISSING_FACTOR && strstr(caught, "seqdense"), "dense: %d: %s", error,
          caught);
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

static PetscErrorCode options(void) {
    static const char *const wrong[][3] = {
        {"-mat_metapack_pivot_threshold", "0.9", "pivot_threshold"},
        {"-mat_metapack_method", "auto", "one of ldlt"},
        {"-mat_metapack_ordering", "given", "no order to give"},
        {"-mat_metapack_ordering", "alphabetical", "alphabet"},
        {"-mat_metapack_seed", "9000000000000000001", "seed"},
        {"-mat_metapack_block", "1000", "block"}};
    PetscErrorCode error;
    KSP ksp;
    Mat A;
    Vec x, b;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, 200, 1, 1, path, &A));
    PetscCall(vectors(A, &x, &b));
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        PetscCall(PetscOptionsSetValue(NULL, wrong[k][0], wrong[k][1]));
        PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
        PetscCall(catch_errors());
        error = KSPSolve(ksp, b, x);
        PetscCall(release_errors());
        CHECK(error && strstr(caught, wrong[k][2]), "%s: %d: %s", wrong[k][0], error, caught);
        PetscCall(KSPDestroy(&ksp));
        PetscCall(PetscOptionsClearValue(NULL, wrong[k][0]));
    }
    PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_memory_limit", "5000"));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(expect(ksp, b, x, "memory", KSP_DIVERGED_PC_FAILED, "bytes"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_memory_limit"));
    /* 64 bits in every build of PETSc */
    PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_seed", "8999999999999999999"));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(expect(ksp, b, x, "seed", KSP_CONVERGED_ITS, NULL));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_seed"));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

#if defined(PETSC_USE_COMPLEX)
/* Hermitian or not is found from the values, flags and options; a wrong word is caught. */
static PetscErrorCode laws(void) {
    PetscErrorCode error;
    PetscInt negative;
    KSP ksp;
    Mat A, F;
    Vec x, b;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, 20, 1, 1, path, &A));
    PetscCall(vectors(A, &x, &b));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(expect(ksp, b, x, "real values", KSP_CONVERGED_ITS, NULL));
    PetscCall(factor_of(ksp, &F));
    PetscCall(MatGetInertia(F, &negative, NULL, NULL));
    CHECK(negative == 10, "%d negative", (int)negative);
    PetscCall(set_one(A, 3, 3, PETSC_i)); /* now complex symmetric, the pattern kept */
    PetscCall(expect(ksp, b, x, "complex values", KSP_CONVERGED_ITS, NULL));
    PetscReal residual;
    PetscCall(relative_residual(A, x, b, &residual));
    CHECK(residual < 1e-10, "residual %g", (double)residual);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_hermitian", "yes"));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(catch_errors());
    error = KSPSolve(ksp, b, x);
    PetscCall(release_errors());
    CHECK(error == PETSC_ERR_ARG_WRONG && strstr(caught, "real diagonal"), "%d: %s", error, caught);
    PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_hermitian"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(set_one(A, 3, 3, 1));
    PetscCall(set_one(A, 3, 4, 1 + PETSC_i));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(catch_errors());
    error = KSPSolve(ksp, b, x);
    PetscCall(release_errors());
    CHECK(error == PETSC_ERR_ARG_WRONG && strstr(caught, "nor Hermitian"), "%d: %s", error, caught);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}
#endif

/* -mat_metapack_device: one that is not there is PETSc's error with the reason; auto goes on. */
static PetscErrorCode device(PCType pc) {
    static const char *const words[] = {"cuda", "auto", "cpu"};
    PetscReal residual;
    KSP ksp;
    Mat A;
    Vec x, b;
    PetscFunctionBeginUser;
    setenv("METAPACK_CUDA_MODULE", "/nowhere/module.so", 1);
    PetscCall(make(MATSEQAIJ, 30, 1, 1, path, &A));
    PetscCall(vectors(A, &x, &b));
    for (int k = 0; k < 3; k++) {
        PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_device", words[k]));
        PetscCall(solver(A, KSPGMRES, pc, &ksp));
        if (k == 0) {
            PetscCall(catch_errors());
            const PetscErrorCode error = KSPSolve(ksp, b, x);
            PetscCall(release_errors());
            CHECK(error == PETSC_ERR_LIB && strstr(caught, "CUDA"), "%d: %s", error, caught);
        } else {
            PetscCall(KSPSolve(ksp, b, x));
            PetscCall(relative_residual(A, x, b, &residual));
            CHECK(residual < 1e-4, "%s: residual %g", words[k], (double)residual);
        }
        PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_device"));
    unsetenv("METAPACK_CUDA_MODULE");
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(not_a_number(PCCHOLESKY));
    PetscCall(not_a_number(PCICC));
    PetscCall(singular());
    PetscCall(zeroed());
    PetscCall(lu());
    PetscCall(unsymmetric());
    PetscCall(lonely());
    PetscCall(wrong_order());
    PetscCall(not_ours());
    PetscCall(options());
    PetscCall(device(PCCHOLESKY));
    PetscCall(device(PCICC));
#if defined(PETSC_USE_COMPLEX)
    PetscCall(laws());
#endif
    PetscCall(PetscFinalize());
    return verdict();
}
