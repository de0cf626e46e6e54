/* SPDX-License-Identifier: BSD-3-Clause */
/** SLEPc slices a spectrum by the inertias that METAPACK counts: all eigenvalues of the Laplacian
 *  of a square grid in an interval, against their formula. */
#include "../check.h"

#include <slepceps.h>

#include <math.h>

static PetscErrorCode laplacian(PetscInt m, Mat *A) {
    PetscFunctionBeginUser;
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m * m, m * m, 5, NULL, A));
    for (PetscInt k = 0; k < m * m; k++) {
        PetscCall(MatSetValue(*A, k, k, 4, INSERT_VALUES));
        const PetscInt next[] = {k % m ? k - 1 : -1, k % m < m - 1 ? k + 1 : -1, k - m,
                                 k + m < m * m ? k + m : -1};
        for (int l = 0; l < 4; l++)
            if (next[l] >= 0) PetscCall(MatSetValue(*A, k, next[l], -1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static int increasing(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The formula's eigenvalues, sorted; to be freed. */
static double *spectrum(PetscInt m) {
    double *values = malloc(sizeof(double) * (size_t)(m * m));
    for (PetscInt i = 0; i < m; i++)
        for (PetscInt j = 0; j < m; j++)
            values[i * m + j] = 4 - 2 * cos((double)(i + 1) * M_PI / (double)(m + 1)) -
                                2 * cos((double)(j + 1) * M_PI / (double)(m + 1));
    qsort(values, (size_t)(m * m), sizeof(double), increasing);
    return values;
}

static PetscErrorCode slicer(Mat A, PetscReal from, PetscReal to, EPS *eps, PC *pc) {
    ST st;
    KSP ksp;
    PetscFunctionBeginUser;
    PetscCall(EPSCreate(PETSC_COMM_SELF, eps));
    PetscCall(EPSSetOperators(*eps, A, NULL));
    PetscCall(EPSSetProblemType(*eps, EPS_HEP));
    PetscCall(EPSSetType(*eps, EPSKRYLOVSCHUR));
    PetscCall(EPSSetWhichEigenpairs(*eps, EPS_ALL));
    PetscCall(EPSSetInterval(*eps, from, to));
    PetscCall(EPSKrylovSchurSetDetectZeros(*eps, PETSC_TRUE));
    PetscCall(EPSGetST(*eps, &st));
    PetscCall(STSetType(st, STSINVERT));
    PetscCall(EPSKrylovSchurGetKSP(*eps, &ksp));
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(KSPGetPC(ksp, pc));
    PetscCall(PCSetType(*pc, PCCHOLESKY));
    PetscCall(PCFactorSetMatSolverType(*pc, METAPACK));
    PetscCall(EPSSetFromOptions(*eps));
    PetscFunctionReturn(0);
}

static PetscErrorCode slice(PetscInt m, PetscReal from, PetscReal to) {
    double *values = spectrum(m);
    PetscInt below = 0, wanted = 0, found, count, *inertias;
    PetscReal *shifts;
    PetscScalar value;
    MatSolverType type;
    EPS eps;
    PC pc;
    Mat A;
    PetscFunctionBeginUser;
    while (values[below] < from - 1e-9) below++;
    while (below + wanted < m * m && values[below + wanted] <= to + 1e-9) wanted++;
    PetscCall(laplacian(m, &A));
    PetscCall(slicer(A, from, to, &eps, &pc));
    PetscCall(EPSSolve(eps));
    PetscCall(EPSGetConverged(eps, &found));
    CHECK(found == wanted, "[%g, %g]: %d eigenvalues found, %d are there", (double)from, (double)to,
          (int)found, (int)wanted);
    for (PetscInt k = 0; k < PetscMin(found, wanted); k++) {
        PetscCall(EPSGetEigenvalue(eps, k, &value, NULL));
        CHECK(fabs(PetscRealPart(value) - values[below + k]) < 1e-7, "eigenvalue %d: %.10g, %.10g",
              (int)k, (double)PetscRealPart(value), values[below + k]);
    }
    PetscCall(EPSKrylovSchurGetInertias(eps, &count, &shifts, &inertias));
    for (PetscInt k = 0; k < count; k++) {
        PetscInt smaller = 0;
        while (smaller < m * m && values[smaller] < shifts[k] - 1e-9) smaller++;
        CHECK(inertias[k] == smaller, "below %g: %d, not %d", (double)shifts[k], (int)inertias[k],
              (int)smaller);
    }
    PetscCall(PCFactorGetMatSolverType(pc, &type));
    CHECK(!strcmp(type, METAPACK), "%s", type);
    PetscCall(PetscFree(shifts));
    PetscCall(PetscFree(inertias));
    PetscCall(EPSDestroy(&eps));
    PetscCall(MatDestroy(&A));
    free(values);
    PetscFunctionReturn(0);
}

/* An end that is an eigenvalue: the zero pivots reach SLEPc, which says so itself. */
static PetscErrorCode end_at_eigenvalue(void) {
    EPS eps;
    PC pc;
    Mat A;
    PetscFunctionBeginUser;
    PetscCall(PetscOptionsSetValue(NULL, "-st_mat_metapack_accept_singular", "yes"));
    PetscCall(laplacian(9, &A));
    PetscCall(slicer(A, 4, 5.1, &eps, &pc)); /* 4 is one, nine times */
    PetscCall(catch_errors());
    const PetscErrorCode error = EPSSolve(eps);
    PetscCall(release_errors());
    CHECK(error && strstr(caught, "singular matrix"), "%d: %s", error, caught);
    PetscCall(EPSDestroy(&eps));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscOptionsClearValue(NULL, "-st_mat_metapack_accept_singular"));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
    PetscFunctionBeginUser;
    PetscCall(SlepcInitialize(&argc, &argv, NULL, NULL));
    PetscCall(slice(20, 1.1, 1.9));
    PetscCall(slice(20, 3.5, 4.05));
    PetscCall(slice(35, 1.1, 1.3));
    PetscCall(end_at_eigenvalue());
    PetscCall(SlepcFinalize());
    return verdict();
}
