/* SPDX-License-Identifier: BSD-3-Clause */
/** Is A symmetric or Hermitian? The flags set by its owner decide; without them complex values do,
 *  by the law that they are nearer to. Whether they obey it, and what is rounding, the library
 *  says. */
#include "plugin.h"

#include <math.h>

/* The largest differences from A^T and from A^H. */
typedef struct comparison {
    PetscReal symmetric, hermitian;
} comparison;

/* mpkp_visit. NaN and Inf are reported by the factorization. */
static void compare(void *self, PetscInt i, PetscInt j, PetscScalar here, PetscScalar there) {
    comparison *c = self;
    const PetscReal plain = i == j ? 0 : PetscAbsScalar(here - there);
    const PetscReal turned = PetscAbsScalar(here - PetscConj(there));
    if (isfinite(plain)) c->symmetric = PetscMax(c->symmetric, plain);
    if (isfinite(turned)) c->hermitian = PetscMax(c->hermitian, turned);
}

/* Complex values without imaginary parts? Then both laws are one, and there is an inertia. */
static PetscBool is_real(const mpkp_entries *e) {
    const PetscInt count = e->ia[e->rows] * e->bs * e->bs;
    for (PetscInt k = 0; k < count; k++)
        if (PetscImaginaryPart(e->v[k]) != 0) return PETSC_FALSE;
    return PETSC_TRUE;
}

PetscErrorCode mpkp_refuse(Mat F, const mpkp_entries *e) {
    const char *text = mpkp_text(mpkp_solver_of(F)->ctx);
    PetscFunctionBegin;
    PetscCheck(F->factortype != MAT_FACTOR_LU, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "METAPACK: %s%s (here -pc_type lu factorizes symmetric matrices alone, as -pc_type "
               "cholesky does: use -pc_type cholesky with -mat_metapack_check_symmetry no where "
               "the upper triangle is the matrix, another solver type where it is not)",
               e->found ? "the matrix is not symmetric, nor Hermitian: " : "", text);
    SETERRQ(
        PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
        "METAPACK: %s%s (boundary conditions by MatZeroRows keep no symmetry, those by "
        "MatZeroRowsColumns do; -mat_metapack_check_symmetry no takes the upper triangle for the "
        "matrix)",
        e->found ? "the matrix is not symmetric, nor Hermitian: " : "", text);
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpkp_symmetry(Mat A, const mpkp_choice *choice, mpkp_entries *entries,
                             mpk_symmetry *symmetry) {
    comparison c = {0, 0};
    PetscBool set, flag, symmetric = PETSC_FALSE, hermitian = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(MatIsSymmetricKnown(A, &set, &flag));
    symmetric = (PetscBool)(set && flag);
    PetscCall(MatIsHermitianKnown(A, &set, &flag));
    hermitian = (PetscBool)(set && flag);
    if (!PetscDefined(USE_COMPLEX)) hermitian = symmetric = (PetscBool)(symmetric || hermitian);
    const PetscBool known = (PetscBool)(symmetric || hermitian || choice->hermitian_set);
    PetscBool check = (PetscBool) !(symmetric || hermitian);
    if (choice->hermitian_set) hermitian = choice->hermitian, symmetric = (PetscBool)!hermitian;
    if (choice->check_set) check = choice->check_symmetry;
    const PetscBool found = entries->found =
        (PetscBool)(!known && entries->lower && check && PetscDefined(USE_COMPLEX));
    entries->checked = check;
    entries->both = (PetscBool)(entries->lower && check);
    if (found) {
        PetscCall(mpkp_walk(entries, PETSC_TRUE, compare, &c));
        hermitian = (PetscBool)(c.hermitian <= c.symmetric);
    } else if (!hermitian && !choice->hermitian_set) {
        hermitian = is_real(entries);
    }
    *symmetry = PetscDefined(USE_COMPLEX) && hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC;
    PetscFunctionReturn(PETSC_SUCCESS);
}
