/* SPDX-License-Identifier: BSD-3-Clause */
/** KSPSQMR, and MINRES beneath |D|. */
#include "check.h"

#include <math.h>

enum { N = 20 };

/* A grid's second difference, shifted into the middle of its spectrum. */
static PetscScalar shifted(PetscInt n, PetscInt i, PetscInt j) {
    (void)n;
    const PetscInt gap = i > j ? i - j : j - i;
    if (gap == 0) return 4 - 1.7;
    if (gap == N) return -1;
    return gap == 1 && PetscMax(i, j) % N ? -1 : 0;
}

#if defined(PETSC_USE_COMPLEX)
static PetscScalar damped(PetscInt n, PetscInt i, PetscInt j) {
    return shifted(n, i, j) + (i == j ? 0.3 * PETSC_i : 0);
}
static PetscScalar hermitian(PetscInt n, PetscInt i, PetscInt j) {
    return PetscExpComplex(PETSC_i * (PetscReal)(i - j)) * shifted(n, i, j);
}
#endif

/* What the monitor saw last. */
static PetscReal seen;
static PetscInt times;
static PetscErrorCode watch(KSP ksp, PetscInt it, PetscReal norm, void *ctx) {
    (void)ksp, (void)it, (void)ctx;
    seen = norm;
    times++;
    return 0;
}

/* One solve; the norm that monitors see is that of the residual itself. */
static PetscErrorCode solve_one(const char *name, entry_fn entry, PetscBool is_hermitian, PCType pc,
                                PCSide side, KSPNormType norm, PetscInt most) {
    KSPConvergedReason reason;
    PetscInt its;
    PetscReal residual, size;
    KSP ksp;
    PC preconditioner;
    Mat A;
    Vec x, b, r, z;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, N * N, 1, N, entry, &A));
    if (is_hermitian) PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
    PetscCall(vectors(A, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(VecDuplicate(b, &z));
    PetscCall(solver(A, "sqmr", pc, &ksp));
    PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 4000));
    PetscCall(KSPSetPCSide(ksp, side));
    PetscCall(KSPSetNormType(ksp, norm));
    PetscCall(KSPMonitorSet(ksp, watch, NULL, NULL));
    for (int guess = 0; guess < 2; guess++) {
        PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)guess));
        if (guess) PetscCall(VecScale(x, 0.5));
        times = 0;
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(KSPGetIterationNumber(ksp, &its));
        CHECK(reason == KSP_CONVERGED_RTOL && its <= most && times == its + 1,
              "%s side %d norm %d guess %d: %s, %d iterations", name, side, norm, guess,
              KSPConvergedReasons[reason], (int)its);
        PetscCall(MatMult(A, x, r));
        PetscCall(VecAYPX(r, -1, b));
        PetscCall(VecNorm(b, NORM_2, &size));
        if (norm == KSP_NORM_PRECONDITIONED) {
            PetscCall(KSPGetPC(ksp, &preconditioner));
            PetscCall(PCApply(preconditioner, r, z));
            PetscCall(VecCopy(z, r));
            PetscCall(PCApply(preconditioner, b, z));
            PetscCall(VecNorm(z, NORM_2, &size));
        }
        PetscCall(VecNorm(r, NORM_2, &residual));
        CHECK(residual <= 1.0001e-9 * size &&
                  fabs(residual - seen) <= 1e-3 * residual + 1e-12 * size,
              "%s side %d norm %d: residual %g, seen %g", name, side, norm,
              (double)(residual / size), (double)(seen / size));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&r));
    PetscCall(VecDestroy(&z));
    PetscFunctionReturn(0);
}

static PetscErrorCode norms(const char *name, entry_fn entry, PetscBool is_hermitian) {
    static const PCSide side[] = {PC_LEFT, PC_RIGHT};
    static const KSPNormType norm[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED};
    PetscFunctionBeginUser;
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < 2; k++)
            PetscCall(solve_one(name, entry, is_hermitian, PCICC, side[s], norm[k], 60));
    PetscCall(solve_one(name, entry, is_hermitian, PCNONE, PC_RIGHT, norm[1], 4000));
    PetscFunctionReturn(0);
}

/* How a solve ends. */
static PetscErrorCode ends(void) {
    KSPConvergedReason reason;
    PetscInt its;
    KSP ksp;
    Mat A;
    Vec x, b;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, N * N, 1, N, shifted, &A));
    PetscCall(vectors(A, &x, &b));
    PetscCall(solver(A, "sqmr", PCNONE, &ksp));
    PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 3));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    CHECK(reason == KSP_DIVERGED_ITS && its == 3, "%s", KSPConvergedReasons[reason]);
    PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason == KSP_CONVERGED_ITS, "%s", KSPConvergedReasons[reason]);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(solver(A, "sqmr", PCICC, &ksp));
    PetscCall(VecSet(b, 0));
    PetscCall(VecSet(x, 7));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason > 0, "zero right-hand side: %s", KSPConvergedReasons[reason]);
    PetscCall(VecSetValue(b, 3, NAN, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason == KSP_DIVERGED_NANORINF, "NaN: %s", KSPConvergedReasons[reason]);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* Zero on the diagonal, so that q^T A q = 0 for unit vectors; the last row is zero. */
static PetscScalar swap(PetscInt n, PetscInt i, PetscInt j) {
    if (i == j) return i > 1 && i < n - 1 ? (PetscScalar)i : 0;
    return i / 2 == j / 2 && i < 2 ? 1 : 0;
}

/* A breakdown that can be passed, and one of a singular matrix that cannot. */
static PetscErrorCode breakdowns(void) {
    KSPConvergedReason reason;
    PetscReal residual;
    char *text;
    size_t size;
    PetscViewer viewer;
    KSP ksp;
    Mat A;
    Vec x, b;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, 6, 1, 1, swap, &A));
    PetscCall(vectors(A, &x, &b));
    PetscCall(solver(A, "sqmr", PCNONE, &ksp));
    PetscCall(VecSet(b, 0));
    PetscCall(VecSetValue(b, 0, 1, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(relative_residual(A, x, b, &residual));
    CHECK(reason > 0 && residual < 1e-5, "%s, residual %g", KSPConvergedReasons[reason],
          (double)residual);
    FILE *file = open_memstream(&text, &size);
    PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
    PetscCall(KSPView(ksp, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    fclose(file);
    CHECK(strstr(text, "restarts in the last solve: 1"), "%s", text);
    free(text);
    PetscCall(VecSet(b, 0));
    PetscCall(VecSetValue(b, 5, 1, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason == KSP_DIVERGED_BREAKDOWN, "%s", KSPConvergedReasons[reason]);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* MINRES refuses an indefinite preconditioner, and takes it with |D|. */
static PetscErrorCode absolute(const char *type, PCType pc) {
    KSPConvergedReason reason;
    PetscReal residual;
    PetscScalar dot;
    PetscInt its;
    KSP ksp;
    PC preconditioner;
    Mat A;
    Vec x, b;
    PetscFunctionBeginUser;
    PetscCall(make(MATSEQAIJ, N * N, 1, N, shifted, &A));
    PetscCall(vectors(A, &x, &b));
    PetscCall(PetscOptionsSetValue(NULL, "-mat_metapack_absd", "yes"));
    PetscCall(solver(A, type, pc, &ksp));
    PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 500));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(relative_residual(A, x, b, &residual));
    CHECK(reason > 0 && residual < 1e-6 && its < (strcmp(pc, PCICC) ? 10 : 200),
          "%s %s: %s, %d iterations, residual %g", type, pc, KSPConvergedReasons[reason], (int)its,
          (double)residual);
    PetscCall(KSPGetPC(ksp, &preconditioner));
    for (int k = 0; k < 5; k++) {
        PetscCall(VecSetRandom(b, NULL));
        PetscCall(VecShift(b, -0.5));
        PetscCall(PCApply(preconditioner, b, x));
        PetscCall(VecDot(x, b, &dot));
        CHECK(PetscRealPart(dot) > 0, "%s: b^T |M|^-1 b = %g", pc, (double)PetscRealPart(dot));
    }
    PetscCall(PetscOptionsClearValue(NULL, "-mat_metapack_absd"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(norms("symmetric", shifted, PETSC_FALSE));
#if defined(PETSC_USE_COMPLEX)
    PetscCall(norms("damped", damped, PETSC_FALSE));
    PetscCall(norms("hermitian", hermitian, PETSC_TRUE));
#endif
    PetscCall(ends());
    PetscCall(breakdowns());
    PetscCall(absolute(KSPMINRES, PCICC));
    PetscCall(absolute(KSPMINRES, PCCHOLESKY));
    PetscCall(absolute(KSPSYMMLQ, PCCHOLESKY));
    PetscCall(PetscFinalize());
    return verdict();
}
