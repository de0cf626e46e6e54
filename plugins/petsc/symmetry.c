/* SPDX-License-Identifier: BSD-3-Clause */
/** Is A symmetric or Hermitian? The flags set by its owner decide; without them both triangles are
 *  compared. */
#include "plugin.h"

#include <math.h>

/* One law that A may obey, and where it was first broken. */
typedef struct law {
    PetscBool holds;
    PetscInt i, j;
    PetscScalar here, there;
} law;

typedef struct comparison {
    PetscReal *scale; /* largest |entry| of each row */
    PetscReal tolerance;
    law symmetric, hermitian;
} comparison;

/* NaN and Inf are reported by the factorization. */
static void test(law *law, PetscReal bound, PetscInt i, PetscInt j, PetscScalar here,
                 PetscScalar there, PetscScalar mirror) {
    const PetscReal gap = PetscAbsScalar(here - mirror);
    if (!law->holds || !isfinite(gap) || gap <= bound) return;
    law->holds = PETSC_FALSE;
    law->i = i;
    law->j = j;
    law->here = here;
    law->there = there;
}

/* mpkp_visit */
static void compare(void *self, PetscInt i, PetscInt j, PetscScalar here, PetscScalar there) {
    comparison *c = self;
    const PetscReal bound = c->tolerance * PetscMax(c->scale[i], c->scale[j]);
    if (i != j) test(&c->symmetric, bound, i, j, here, there, there);
    test(&c->hermitian, bound, i, j, here, there, PetscConj(there));
}

/* mpkp_visit: of SBAIJ only the diagonal says something. */
static void compare_diagonal(void *self, PetscInt i, PetscInt j, PetscScalar here,
                             PetscScalar there) {
    if (i == j) compare(self, i, j, here, there);
}

/* mpkp_visit */
static void measure(void *self, PetscInt i, PetscInt j, PetscScalar here, PetscScalar there) {
    comparison *c = self;
    const PetscReal below = PetscAbsScalar(here), above = PetscAbsScalar(there);
    if (isfinite(below)) c->scale[i] = PetscMax(c->scale[i], below);
    if (isfinite(above)) c->scale[j] = PetscMax(c->scale[j], above);
}

/* Fill symmetric and hermitian. */
static PetscErrorCode examine(const mpkp_entries *e, comparison *c) {
    PetscFunctionBegin;
    c->symmetric.holds = c->hermitian.holds = PETSC_TRUE;
    PetscCall(PetscCalloc1(e->rows * e->bs, &c->scale));
    PetscCall(mpkp_walk(e, e->lower, measure, c));
    PetscCall(mpkp_walk(e, e->lower, e->lower ? compare : compare_diagonal, c));
    PetscCall(PetscFree(c->scale));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode refuse(const law *law, const char *word) {
    const PetscBool stored =
        (PetscBool)(law->here != (PetscScalar)0); /* else its mirror image is */
    const PetscInt i = stored ? law->i : law->j, j = stored ? law->j : law->i;
    const PetscScalar here = stored ? law->here : law->there;
    const PetscScalar there = stored ? law->there : law->here;
    PetscFunctionBegin;
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
            "METAPACK: the matrix is not %s: entry (%" PetscInt_FMT ", %" PetscInt_FMT
            ") is %g%+gi, its mirror image %g%+gi (boundary conditions by MatZeroRows keep no "
            "symmetry, those by MatZeroRowsColumns do; -mat_metapack_check_symmetry no takes the "
            "upper triangle for the matrix)",
            word, i, j, (double)PetscRealPart(here), (double)PetscImaginaryPart(here),
            (double)PetscRealPart(there), (double)PetscImaginaryPart(there));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Complex values without imaginary parts? Then both laws are one, and there is an inertia. */
static PetscBool is_real(const mpkp_entries *e) {
    const PetscInt count = e->ia[e->rows] * e->bs * e->bs;
    for (PetscInt k = 0; k < count; k++)
        if (PetscImaginaryPart(e->v[k]) != 0) return PETSC_FALSE;
    return PETSC_TRUE;
}

/* The option of the library, with its default. */
static PetscReal tolerance_of(const mpkp_choice *choice) {
    const double given = choice->mpk.symmetry_tolerance;
    return (PetscReal)(given >= 0 ? given : PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1.5e-6);
}

PetscErrorCode mpkp_symmetry(Mat A, const mpkp_choice *choice, mpkp_entries *entries,
                             mpk_symmetry *symmetry) {
    comparison c = {.tolerance = tolerance_of(choice)};
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
    const PetscBool found =
        (PetscBool)(!known && entries->lower && check && PetscDefined(USE_COMPLEX));
    c.symmetric.holds = c.hermitian.holds = PETSC_TRUE;
    if (check) PetscCall(examine(entries, &c));
    entries->both = (PetscBool)(entries->lower && check);
    if (found)
        hermitian = c.hermitian.holds;
    else if (!hermitian && !choice->hermitian_set)
        hermitian = is_real(entries);
    *symmetry = PetscDefined(USE_COMPLEX) && hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC;
    if (*symmetry == MPK_HERMITIAN && !c.hermitian.holds)
        PetscCall(refuse(&c.hermitian, "Hermitian"));
    if (*symmetry == MPK_SYMMETRIC && !c.symmetric.holds)
        PetscCall(refuse(&c.symmetric, found ? "symmetric, nor Hermitian" : "symmetric"));
    PetscFunctionReturn(PETSC_SUCCESS);
}
