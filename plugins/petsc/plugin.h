/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPK_PETSC_PLUGIN_H
#define MPK_PETSC_PLUGIN_H
/** METAPACK in PETSc: the matrix solver type `metapack` and the Krylov method `sqmr`.
 *  Compiled against the user's PETSc (3.18 or later), real or complex, 32- or 64-bit indices, and
 *  loaded by -dll_append; docs/guide/petsc.md. A factor's private headers are PETSc's own, which
 *  every PETSc installs. What the files share: */
#include <petsc/private/kspimpl.h>
#include <petsc/private/matimpl.h>
#include <metapack/metapack.h>

#if PETSC_VERSION_LT(3, 18, 0)
#error "METAPACK's plug-in needs PETSc 3.18 or later"
#endif
#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif
#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *mpkp_items;
#else
typedef PetscOptionItems mpkp_items;
#endif
#if defined(PETSC_USE_REAL___FLOAT128) || defined(PETSC_USE_REAL___FP16)
#error "METAPACK has single and double precision"
#elif defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_SINGLE)
#define MPKP_SCALAR MPK_C
#elif defined(PETSC_USE_COMPLEX)
#define MPKP_SCALAR MPK_Z
#elif defined(PETSC_USE_REAL_SINGLE)
#define MPKP_SCALAR MPK_S
#else
#define MPKP_SCALAR MPK_D
#endif

#define MPKP_NAME "metapack"

/** What a user may choose besides mpk_options. */
typedef struct mpkp_choice {
    mpk_options mpk;
    PetscBool absd;                          /**< solves with |D| */
    PetscBool singular_set, accept_singular; /**< zero pivots: none is a failure, or each is */
    PetscBool check_each; /**< refine and check each direct solve; else the first alone */
    PetscBool check_set, check_symmetry;
    PetscBool hermitian_set, hermitian;
} mpkp_choice;

/** F->data of a factor. */
typedef struct mpkp_solver {
    mpk_context *ctx;
    mpk_problem *problem; /**< the pattern: the lower triangle by columns */
    mpk_analysis *analysis;
    mpk_factor *factor;
    mpkp_choice choice;
    mpk_symmetry symmetry;
    PetscBool both;    /**< the pattern is that of both triangles */
    PetscBool usable;  /**< the factor has values, if of a singular matrix */
    PetscBool careful; /**< of a singular one: a system that has no solution is a failure, */
    PetscBool raise;   /**< and that an error */
    PetscInt analyses, factorizations, solves, checked, inaccurate, inconsistent;
    mpk_asymmetry asymmetry; /**< of the values */
    PetscBool trusted;       /**< a solve with these values was right before it was refined */
    double backward_error;   /**< the worst componentwise one since the factorization */
    char *reason;            /**< why the last factorization failed, or NULL */
} mpkp_solver;

static inline mpkp_solver *mpkp_solver_of(Mat F) {
    return (mpkp_solver *)F->data;
}

/** Entries of a sequential AIJ, BAIJ or SBAIJ matrix as PETSc holds them, by block rows. */
typedef struct mpkp_entries {
    PetscInt rows, bs;       /**< block rows; rows and columns of a block (1: AIJ) */
    const PetscInt *ia, *ja; /**< block rows' beginnings; block columns, increasing */
    const PetscScalar *v;    /**< blocks, column-major */
    PetscBool lower;         /**< both triangles are there */
    PetscBool both;          /**< and both are given to the library; else the upper one alone */
    PetscBool found;         /**< which law it obeys was found by its values */
    PetscBool checked;       /**< a Hermitian diagonal is to be real; else its real part counts */
    PetscErrorCode (*give)(Mat); /**< how v is given back */
} mpkp_entries;

PetscErrorCode mpkp_entries_get(Mat A, mpkp_entries *entries);
PetscErrorCode mpkp_entries_restore(Mat A, mpkp_entries *entries);

/** What is done with the entries (i, j), below the diagonal or on it, and (j, i). */
typedef void mpkp_visit(void *self, PetscInt i, PetscInt j, PetscScalar below, PetscScalar above);
/** Visit all pairs of mirror images, in each column j by increasing i; one that is not stored is 0.
 *  both [in] false: only the upper triangle is read, and given twice. */
PetscErrorCode mpkp_walk(const mpkp_entries *entries, PetscBool both, mpkp_visit *visit,
                         void *self);

/** Say what A is: by the options, by its flags, else by its values; set entries->both and
 *  checked. */
PetscErrorCode mpkp_symmetry(Mat A, const mpkp_choice *choice, mpkp_entries *entries,
                             mpk_symmetry *symmetry);
/** PETSc's error for an A that is not symmetric or Hermitian, with the context's text. */
PetscErrorCode mpkp_refuse(Mat F, const mpkp_entries *entries);
/** The lower triangle by columns; arrays by PetscMalloc. With entries->both ax has as many values
 *  more:
 *  the mirror images in the same order, 0 for those of the diagonal. finite [out] false: NaN or Inf
 *  were met and replaced by 0, which is good enough for an analysis. */
PetscErrorCode mpkp_gather(const mpkp_entries *entries, mpk_symmetry symmetry, int64_t **ap,
                           int32_t **ai, PetscScalar **ax, PetscBool *finite);
/** The same values in the order of view's pattern; a pattern that is not view's is PETSc's error.
 *  place [out] row and column of the first NaN or Inf; -1: there is none. */
PetscErrorCode mpkp_gather_values(const mpkp_entries *entries, const mpk_problem_view *view,
                                  PetscScalar *ax, PetscInt place[2]);

/** Defaults for a factor type, then PETSc's options database under F's prefix. */
PetscErrorCode mpkp_choose(Mat F, Mat A, const MatFactorInfo *info, mpk_context *ctx,
                           mpkp_choice *choice);

/** The text of the context's last error. */
static inline const char *mpkp_text(const mpk_context *ctx) {
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    return text && *text ? text : "no reason was recorded";
}
/** A misuse: PETSc's error with the library's reason. */
#define mpkp_misuse(ctx, status)                                                                   \
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "METAPACK: %s (%s)", mpkp_text(ctx),                   \
            mpk_status_name(status))

PetscErrorCode mpkp_set_solves(Mat F);
PetscErrorCode mpkp_set_views(Mat F);
PetscErrorCode mpkp_sqmr_create(KSP ksp);

/** MatGetFactor's constructor for CHOLESKY, LU (LDL^T as well) and ICC. */
PetscErrorCode mpkp_get_factor(Mat A, MatFactorType ftype, Mat *F);

#endif
