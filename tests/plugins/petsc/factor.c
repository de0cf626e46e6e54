/* SPDX-License-Identifier: BSD-3-Clause */
/** Complete factorizations through PETSc: types, symmetries, inertia, many right-hand sides,
 *  refactorization. */
#include "check.h"

#include <math.h>

static double shift = 1.3;

/* The second difference less a shift: eigenvalues 2 - 2 cos(k pi / (n + 1)) - shift. */
static PetscScalar difference(PetscInt n, PetscInt i, PetscInt j) {
    (void)n;
    return i == j ? 2 - shift : i - j == 1 || j - i == 1 ? -1 : 0;
}

static PetscInt negatives(PetscInt n) {
    PetscInt count = 0;
    for (PetscInt k = 1; k <= n; k++)
        count += 2 - 2 * cos((double)k * M_PI / (double)(n + 1)) - shift < 0;
    return count;
}

/* Zero diagonal: eigenvalues +-1 in pairs. */
static PetscScalar swap(PetscInt n, PetscInt i, PetscInt j) {
    (void)n;
    return i / 2 == j / 2 && i != j ? 1 : 0;
}

#if defined(PETSC_USE_COMPLEX)
/* Unit phases: D T D^H has the eigenvalues of T. */
static PetscScalar hermitian(PetscInt n, PetscInt i, PetscInt j) {
    return PetscExpComplex(PETSC_i * (PetscReal)(i - j)) * difference(n, i, j);
}

static PetscScalar complex_symmetric(PetscInt n, PetscInt i, PetscInt j) {
    return difference(n, i, j) * (1 + (i == j ? 1 : 2) * PETSC_i / 4);
}
#endif

/* Solve with preonly; inertia negative < 0: there is none. */
static PetscErrorCode solve_one(const char *name, MatType type, PetscInt n, PetscInt bs,
                                entry_fn entry, PetscInt wanted, PetscBool flag_hermitian) {
    PetscReal residual;
    PetscInt negative, zero, positive;
    KSP ksp;
    Mat A, F;
    Vec x, b;
    PetscFunctionBeginUser;
    PetscCall(make(type, n, bs, 1, entry, &A));
    if (flag_hermitian) PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
    PetscCall(vectors(A, &x, &b));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    if (n > 0) {
        PetscCall(relative_residual(A, x, b, &residual));
        CHECK(residual < 1e-12, "%s %s n=%d bs=%d: residual %g", name, type, (int)n, (int)bs,
              (double)residual);
    }
    PetscCall(factor_of(ksp, &F));
    if (wanted >= 0) {
        PetscCall(MatGetInertia(F, &negative, &zero, &positive));
        CHECK(negative == wanted && zero == 0 && positive == n - wanted,
              "%s %s n=%d bs=%d: inertia %d %d %d", name, type, (int)n, (int)bs, (int)positive,
              (int)negative, (int)zero);
    } else {
        PetscCall(catch_errors());
        const PetscErrorCode error = MatGetInertia(F, &negative, &zero, &positive);
        PetscCall(release_errors());
        CHECK(error == PETSC_ERR_SUP && strstr(caught, "complex symmetric"), "%s: %s", name,
              caught);
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

static PetscErrorCode types(void) {
    static const MatType type[] = {MATSEQAIJ, MATSEQBAIJ, MATSEQSBAIJ};
    static const PetscInt sizes[] = {1, 2, 3, 5};
    PetscFunctionBeginUser;
    for (int t = 0; t < 3; t++)
        for (int k = 0; k < 4; k++) {
            const PetscInt bs = t ? sizes[k] : 1, n = 60;
            PetscCall(
                solve_one("difference", type[t], n, bs, difference, negatives(n), PETSC_FALSE));
            PetscCall(solve_one("swap", type[t], n, bs, swap, n / 2, PETSC_FALSE));
#if defined(PETSC_USE_COMPLEX)
            PetscCall(
                solve_one("complex symmetric", type[t], n, bs, complex_symmetric, -1, PETSC_FALSE));
            if (t < 2 || bs == 1) /* PETSc multiplies no Hermitian sbaij of larger blocks */
                PetscCall(solve_one("hermitian", type[t], n, bs, hermitian, negatives(n),
                                    (PetscBool)(t == 2)));
#endif
        }
    PetscCall(solve_one("one", MATSEQAIJ, 1, 1, difference, negatives(1), PETSC_FALSE));
    PetscCall(solve_one("none", MATSEQAIJ, 0, 1, difference, 0, PETSC_FALSE));
    PetscFunctionReturn(0);
}

/* Blocks of right-hand sides with leading dimensions, and transposes. */
static PetscErrorCode many(entry_fn entry) {
    const PetscInt n = 50, columns = 7, ld = 53;
    PetscReal error, size;
    MatFactorInfo info;
    Mat A, F, B, X, Y;
    Vec x, b, y;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, n, 1, 1, entry, &A));
    PetscCall(MatGetFactor(A, METAPACK, MAT_FACTOR_CHOLESKY, &F));
    PetscCall(MatFactorInfoInitialize(&info));
    PetscCall(MatCholeskyFactorSymbolic(F, A, NULL, &info));
    PetscCall(MatCholeskyFactorNumeric(F, A, &info));
    PetscCall(MatCreate(PETSC_COMM_SELF, &B));
    PetscCall(MatSetSizes(B, n, columns, n, columns));
    PetscCall(MatSetType(B, MATSEQDENSE));
    PetscCall(MatSeqDenseSetPreallocation(B, NULL));
    PetscCall(MatSetRandom(B, NULL));
    PetscCall(MatCreate(PETSC_COMM_SELF, &X));
    PetscCall(MatSetSizes(X, n, columns, n, columns));
    PetscCall(MatSetType(X, MATSEQDENSE));
    PetscCall(MatDenseSetLDA(X, ld));
    PetscCall(MatSeqDenseSetPreallocation(X, NULL));
    for (int transpose = 0; transpose < 2; transpose++) {
        if (transpose)
            PetscCall(MatMatSolveTranspose(F, B, X));
        else
            PetscCall(MatMatSolve(F, B, X));
        if (transpose)
            PetscCall(MatTransposeMatMult(A, X, MAT_INITIAL_MATRIX, 1, &Y));
        else
            PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, 1, &Y));
        PetscCall(MatAXPY(Y, -1, B, SAME_NONZERO_PATTERN));
        PetscCall(MatNorm(Y, NORM_FROBENIUS, &error));
        CHECK(error < 1e-11, "MatMatSolve, transpose %d: %g", transpose, (double)error);
        PetscCall(MatDestroy(&Y));
    }
    PetscCall(vectors(A, &x, &b));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(MatSolveTranspose(F, b, x));
    PetscCall(MatMultTranspose(A, x, y));
    PetscCall(VecAXPY(y, -1, b));
    PetscCall(VecNorm(y, NORM_2, &error));
    PetscCall(VecNorm(b, NORM_2, &size));
    CHECK(error < 1e-12 * size, "MatSolveTranspose: %g", (double)(error / size));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&F));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&y));
    PetscFunctionReturn(0);
}

/* New values: no new analysis. New pattern: PETSc asks for one. */
static PetscErrorCode refactor(MatType type) {
    PetscReal residual;
    PetscInt negative;
    KSP ksp;
    Mat A, F;
    Vec x, b;
    MatInfo info;
    char *text;
    PetscFunctionBeginUser;
    PetscCall(make(type, 40, 1, 1, difference, &A));
    PetscCall(vectors(A, &x, &b));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    for (int k = 0; k < 3; k++) {
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(relative_residual(A, x, b, &residual));
        CHECK(residual < 1e-12, "%s, values %d: residual %g", type, k, (double)residual);
        PetscCall(factor_of(ksp, &F));
        PetscCall(MatGetInertia(F, &negative, NULL, NULL));
        CHECK(negative == negatives(40), "%s, values %d: %d negative", type, k, (int)negative);
        shift += 0.4;
        PetscCall(MatShift(A, -0.4));
    }
    shift = 1.3;
    PetscCall(view_of(F, &text));
    CHECK(strstr(text, "1 analyses, 3 factorizations, 3 solves"), "%s", text);
    CHECK(strstr(text, "not examined") && strstr(text, "backward error"), "%s", text);
    free(text);
    PetscCall(MatGetInfo(F, MAT_LOCAL, &info));
    CHECK(info.nz_used >= 79 && info.memory > 0, "nz_used %g, memory %g", info.nz_used,
          info.memory);
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(A, 0, 39, 0.5, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    if (!strcmp(type, MATSEQAIJ)) {
        PetscCall(MatSetValue(A, 39, 0, 0.5, INSERT_VALUES));
        PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(relative_residual(A, x, b, &residual));
    CHECK(residual < 1e-12, "%s, new pattern: residual %g", type, (double)residual);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* Solves that are not checked are right, too, and MatView knows of the first one's error alone. */
static PetscErrorCode unchecked(void) {
    PetscReal residual;
    KSP ksp;
    Mat A, F;
    Vec x, b;
    char *text;
    PetscFunctionBeginUser;
    PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_check_each", "no"));
    PetscCall(make(MATSEQAIJ, 40, 1, 1, difference, &A));
    PetscCall(vectors(A, &x, &b));
    PetscCall(solver(A, KSPPREONLY, PCCHOLESKY, &ksp));
    for (int k = 0; k < 3; k++) {
        PetscCall(VecShift(b, 1));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(relative_residual(A, x, b, &residual));
        CHECK(residual < 1e-12, "unchecked solve %d: %g", k, (double)residual);
    }
    PetscCall(factor_of(ksp, &F));
    PetscCall(view_of(F, &text));
    CHECK(strstr(text, "3 solves") && strstr(text, "1 checked"), "%s", text);
    free(text);
    PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_check_each"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* A program that asks for no solver type gets the one it got before. */
static PetscErrorCode defaults(void) {
    static const MatType type[] = {MATSEQAIJ, MATSEQBAIJ};
    MatSolverType solver_type;
    Mat A, F;
    PetscBool same;
    PetscFunctionBeginUser;
    for (int t = 0; t < 2; t++) {
        PetscCall(make(type[t], 12, 1, 1, difference, &A));
        PetscCall(MatGetFactor(A, NULL, MAT_FACTOR_LU, &F));
        PetscCall(MatFactorGetSolverType(F, &solver_type));
        PetscCall(PetscStrcmp(solver_type, MATSOLVERPETSC, &same));
        CHECK(same, "%s", solver_type);
        PetscCall(MatDestroy(&F));
        PetscCall(MatDestroy(&A));
    }
    PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(defaults());
    PetscCall(unchecked());
    PetscCall(types());
    PetscCall(many(difference));
#if defined(PETSC_USE_COMPLEX)
    PetscCall(many(hermitian));
    PetscCall(many(complex_symmetric));
#endif
    PetscCall(refactor(MATSEQAIJ));
    PetscCall(refactor(MATSEQSBAIJ));
    PetscCall(PetscFinalize());
    return verdict();
}
