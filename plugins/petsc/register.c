/* SPDX-License-Identifier: BSD-3-Clause */
/** What PETSc calls when it has loaded libmetapack_petsc.so. */
#include "plugin.h"

PETSC_EXTERN MPK_API PetscErrorCode PetscDLLibraryRegister_metapack_petsc(void);

PetscErrorCode PetscDLLibraryRegister_metapack_petsc(void) {
    static const MatType types[] = {MATSEQAIJ, MATSEQSBAIJ, MATSEQBAIJ};
    PetscFunctionBegin;
    /* PETSc's own come first: asked for no solver type in particular, it takes the first that knows
     * the matrix type, for whichever factorization */
    PetscCall(MatInitializePackage());
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        PetscCall(MatSolverTypeRegister(MPKP_NAME, types[k], MAT_FACTOR_CHOLESKY, mpkp_get_factor));
        PetscCall(MatSolverTypeRegister(MPKP_NAME, types[k], MAT_FACTOR_ICC, mpkp_get_factor));
    }
    PetscCall(KSPRegister("sqmr", mpkp_sqmr_create));
    PetscFunctionReturn(PETSC_SUCCESS);
}
