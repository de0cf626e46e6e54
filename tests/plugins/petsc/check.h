/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHECK_H
#define CHECK_H
/** What the tests of the PETSc plug-in share. They know PETSc only; PETSC_OPTIONS loads the
 *  plug-in. A failure is told and counted, and the next case runs. */
#include <petscksp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METAPACK "metapack"

static int failures, cases;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        cases++;                                                                                   \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                 \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)

/* The text of the first error that PETSc raised since catch_errors(). */
static char caught[2048];

static PetscErrorCode keep(MPI_Comm comm, int line, const char *fun, const char *file,
                           PetscErrorCode n, PetscErrorType p, const char *text, void *ctx) {
    (void)comm, (void)line, (void)fun, (void)file, (void)p, (void)ctx;
    if (!*caught && text) snprintf(caught, sizeof caught, "%s", text);
    return n;
}

static inline PetscErrorCode catch_errors(void) {
    *caught = 0;
    return PetscPushErrorHandler(keep, NULL);
}
static inline PetscErrorCode release_errors(void) {
    return PetscPopErrorHandler();
}

/* Entry (i, j) of a test matrix. */
typedef PetscScalar (*entry_fn)(PetscInt n, PetscInt i, PetscInt j);

/* n x n with a full pattern of bandwidth `band`, both triangles or (sbaij) the upper one. */
static inline PetscErrorCode make(MatType type, PetscInt n, PetscInt bs, PetscInt band,
                                  entry_fn entry, Mat *A) {
    PetscBool upper;
    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_SELF, A));
    PetscCall(MatSetSizes(*A, n, n, n, n));
    PetscCall(MatSetBlockSize(*A, bs));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSeqAIJSetPreallocation(*A, 2 * band + 1, NULL));
    PetscCall(MatSeqBAIJSetPreallocation(*A, bs, 2 * (band / bs + 1) + 1, NULL));
    PetscCall(MatSeqSBAIJSetPreallocation(*A, bs, band / bs + 2, NULL));
    PetscCall(PetscStrcmp(type, MATSEQSBAIJ, &upper));
    for (PetscInt i = 0; i < n; i++)
        for (PetscInt j = PetscMax(0, i - band); j < PetscMin(n, i + band + 1); j++)
            if (!upper || j >= i) PetscCall(MatSetValue(*A, i, j, entry(n, i, j), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* ||A x - b|| / ||b|| */
static inline PetscErrorCode relative_residual(Mat A, Vec x, Vec b, PetscReal *residual) {
    Vec r;
    PetscReal norm;
    PetscFunctionBeginUser;
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAXPY(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    *residual /= norm;
    PetscCall(VecDestroy(&r));
    PetscFunctionReturn(0);
}

/* A random right-hand side and room for a solution. */
static inline PetscErrorCode vectors(Mat A, Vec *x, Vec *b) {
    PetscRandom random;
    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(A, x, b));
    PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
    PetscCall(PetscRandomSetFromOptions(random));
    PetscCall(VecSetRandom(*b, random));
    PetscCall(PetscRandomDestroy(&random));
    PetscFunctionReturn(0);
}

/* A KSP with a factorization of METAPACK, PCCHOLESKY or PCICC. */
static inline PetscErrorCode solver(Mat A, KSPType ksp_type, PCType pc_type, KSP *ksp) {
    PC pc;
    PetscFunctionBeginUser;
    PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPSetType(*ksp, ksp_type));
    PetscCall(KSPGetPC(*ksp, &pc));
    PetscCall(PCSetType(pc, pc_type));
    if (strcmp(pc_type, PCNONE)) PetscCall(PCFactorSetMatSolverType(pc, METAPACK));
    PetscFunctionReturn(0);
}

static inline PetscErrorCode factor_of(KSP ksp, Mat *F) {
    PC pc;
    PetscFunctionBeginUser;
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCFactorGetMatrix(pc, F));
    PetscFunctionReturn(0);
}

/* Why METAPACK could not factorize; "" if it could. */
static inline const char *reason_of(KSP ksp) {
    PetscErrorCode (*get)(Mat, const char **) = NULL;
    const char *reason = NULL;
    Mat F;
    if (factor_of(ksp, &F)) return "no factor";
    if (PetscObjectQueryFunction((PetscObject)F, "MatMetapackGetReason_C", &get) || !get)
        return "no reason";
    if (get(F, &reason)) return "no answer";
    return reason ? reason : "";
}

/* What MatView says of a factor; to be freed. */
static inline PetscErrorCode view_of(Mat F, char **text) {
    size_t size;
    PetscViewer viewer;
    PetscFunctionBeginUser;
    FILE *file = open_memstream(text, &size);
    PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
    PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
    PetscCall(MatView(F, viewer));
    PetscCall(PetscViewerPopFormat(viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    fclose(file);
    PetscFunctionReturn(0);
}

/* Tells the count; the exit code of a test program. */
static inline int verdict(void) {
    printf("%d checks, %d failed\n", cases, failures);
    return failures != 0;
}

#endif
