/* SPDX-License-Identifier: BSD-3-Clause */
/** Is A symmetric or Hermitian? The flags set by its owner decide; without them both triangles are
 *  compared, in one pass over the rows: a cursor in each row moves on to the entry that mirrors the
 *  present one, since mirror images appear in increasing order. */
#include "plugin.h"

#include <math.h>

/* One law that A may obey, and where it was first broken. */
typedef struct law {
    PetscBool holds;
    PetscInt i, j;
    PetscScalar here, there;
} law;

typedef struct comparison {
    const mpkp_entries *e;
    PetscReal *scale; /* largest |entry| of each row */
    PetscInt *cursor; /* into row j: the place of its next entry that wants a mirror image */
    PetscReal tolerance;
    law symmetric, hermitian;
} comparison;

/* Place t of row i: 0 .. length - 1, columns increasing. */
static inline PetscInt length(const mpkp_entries *e, PetscInt i) {
    return (e->ia[i / e->bs + 1] - e->ia[i / e->bs]) * e->bs;
}
static inline PetscInt column(const mpkp_entries *e, PetscInt i, PetscInt t) {
    return e->ja[e->ia[i / e->bs] + t / e->bs] * e->bs + t % e->bs;
}
static inline PetscScalar entry(const mpkp_entries *e, PetscInt i, PetscInt t) {
    const PetscInt block = e->ia[i / e->bs] + t / e->bs;
    return e->v[(block * e->bs + t % e->bs) * e->bs + i % e->bs];
}

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

static void compare(comparison *c, PetscInt i, PetscInt j, PetscScalar here, PetscScalar there) {
    const PetscReal bound = c->tolerance * PetscMax(c->scale[i], c->scale[j]);
    if (i != j) test(&c->symmetric, bound, i, j, here, there, there);
    test(&c->hermitian, bound, i, j, here, there, PetscConj(there));
}

static void compare_row(comparison *c, PetscInt i) {
    const mpkp_entries *e = c->e;
    PetscInt t = 0, j;
    for (; t < length(e, i) && (j = column(e, i, t)) < i; t++) {
        PetscScalar there = 0;
        for (; c->cursor[j] < length(e, j) && column(e, j, c->cursor[j]) < i; c->cursor[j]++)
            compare(c, j, column(e, j, c->cursor[j]), entry(e, j, c->cursor[j]), 0);
        if (c->cursor[j] < length(e, j) && column(e, j, c->cursor[j]) == i)
            there = entry(e, j, c->cursor[j]++);
        compare(c, i, j, entry(e, i, t), there);
    }
    if (t < length(e, i) && column(e, i, t) == i) {
        compare(c, i, i, entry(e, i, t), entry(e, i, t));
        t++;
    }
    c->cursor[i] = t;
}

/* Fill symmetric and hermitian. Of SBAIJ only the diagonal says something. */
static PetscErrorCode examine(comparison *c) {
    const mpkp_entries *e = c->e;
    const PetscInt n = e->rows * e->bs;
    PetscFunctionBegin;
    c->symmetric.holds = c->hermitian.holds = PETSC_TRUE;
    PetscCall(PetscCalloc2(n, &c->scale, n, &c->cursor));
    for (PetscInt i = 0; i < n; i++)
        for (PetscInt t = 0; t < length(e, i); t++) {
            const PetscReal size = PetscAbsScalar(entry(e, i, t));
            if (isfinite(size)) c->scale[i] = PetscMax(c->scale[i], size);
        }
    if (e->lower) {
        for (PetscInt i = 0; i < n; i++) compare_row(c, i);
        for (PetscInt i = 0; i < n; i++)
            for (PetscInt t = c->cursor[i]; t < length(e, i); t++)
                compare(c, i, column(e, i, t), entry(e, i, t), 0);
    } else {
        for (PetscInt i = 0; i < n; i++)
            for (PetscInt t = 0; t < length(e, i); t++)
                if (column(e, i, t) == i) compare(c, i, i, entry(e, i, t), entry(e, i, t));
    }
    PetscCall(PetscFree2(c->scale, c->cursor));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode refuse(const law *law, const char *word) {
    PetscFunctionBegin;
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
            "METAPACK: the matrix is not %s: entry (%" PetscInt_FMT ", %" PetscInt_FMT
            ") is %g%+gi, its mirror image %g%+gi (boundary conditions by MatZeroRows keep no "
            "symmetry, those by MatZeroRowsColumns do; -mat_metapack_check_symmetry no takes the "
            "upper triangle for the matrix)",
            word, law->i, law->j, (double)PetscRealPart(law->here),
            (double)PetscImaginaryPart(law->here), (double)PetscRealPart(law->there),
            (double)PetscImaginaryPart(law->there));
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

PetscErrorCode mpkp_symmetry(Mat A, const mpkp_choice *choice, const mpkp_entries *entries,
                             mpk_symmetry *symmetry) {
    comparison c = {.e = entries, .tolerance = tolerance_of(choice)};
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
    if (check) PetscCall(examine(&c));
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
