/* SPDX-License-Identifier: BSD-3-Clause */
/** What PETSc calls when it has loaded libmetapack_petsc.so. */
#include "plugin.h"

PETSC_EXTERN MPK_API PetscErrorCode PetscDLLibraryRegister_metapack_petsc(void);

/* Is the PETSc that loads us the one we were compiled for? Its functions answer for it, the macros
 * for us. */
static PetscErrorCode check_build(void) {
    PetscDataType scalar;
    PetscBool known;
    size_t size;
    PetscInt major, minor;
    PetscFunctionBegin;
    PetscCall(PetscDataTypeFromString("scalar", &scalar, &known));
    PetscCall(PetscDataTypeGetSize(PETSC_INT, &size));
    PetscCheck(known && scalar == PETSC_SCALAR && size == sizeof(PetscInt), PETSC_COMM_SELF,
               PETSC_ERR_LIB,
               "METAPACK: this plug-in was compiled for a PETSc with %s scalars and %d-bit "
               "indices; metapack petsc-env lists the others",
               PetscDefined(USE_COMPLEX) ? "complex" : "real", (int)(8 * sizeof(PetscInt)));
    PetscCall(PetscGetVersionNumber(&major, &minor, NULL, NULL));
    PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF,
               PETSC_ERR_LIB, "METAPACK: this plug-in was compiled for PETSc %d.%d",
               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR);
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscDLLibraryRegister_metapack_petsc(void) {
    static const MatType types[] = {MATSEQAIJ, MATSEQSBAIJ, MATSEQBAIJ};
    static const MatFactorType factors[] = {MAT_FACTOR_CHOLESKY, MAT_FACTOR_LU, MAT_FACTOR_ICC};
    PetscFunctionBegin;
    PetscCall(check_build());
    /* PETSc's own come first: asked for no solver type in particular, it takes the first that knows
     * the matrix type, for whichever factorization */
    PetscCall(MatInitializePackage());
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
            PetscCall(MatSolverTypeRegister(MPKP_NAME, types[k], factors[f], mpkp_get_factor));
    }
    PetscCall(KSPRegister("sqmr", mpkp_sqmr_create));
    PetscFunctionReturn(PETSC_SUCCESS);
}
