/* SPDX-License-Identifier: BSD-3-Clause */
/** -mat_metapack_*: PETSc's options database into mpk_options. A key is the field's name. */
#include "plugin.h"

#include <stdio.h>

/* Not offered: PETSc has Krylov methods of its own, and there is no method auto here. */
static const char *const not_here[] = {"krylov", "tolerance", "max_iterations", "restart",
                                       "shadow", "direct",    "condition"};

static PetscErrorCode set(mpk_context *ctx, mpk_options *options, const char *key,
                          const char *value) {
    PetscFunctionBegin;
    const mpk_status status = mpk_options_set(ctx, options, key, value);
    if (mpk_failed(status)) mpkp_misuse(ctx, status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row of the library's table of options from PETSc's database. */
static PetscErrorCode read_row(mpkp_items PetscOptionsObject, const mpk_option *row,
                               mpk_context *ctx, mpk_options *options) {
    char name[64], text[64];
    const double value = mpk_option_value(row, options);
    const long long whole = (long long)mpk_option_integer(row, options);
    PetscInt number = 0;
    PetscReal real = 0;
    PetscBool given = PETSC_FALSE;
    PetscFunctionBegin;
    for (size_t k = 0; k < sizeof not_here / sizeof *not_here; k++)
        if (!strcmp(row->key, not_here[k])) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscSNPrintf(name, sizeof name, "-mat_metapack_%s", row->key));
    if (row->kind == MPK_OPTION_CHOICE) {
        PetscCall(PetscOptionsEList(name, row->text, "docs/reference/options.md", row->words,
                                    (PetscInt)row->count, row->words[whole], &number, &given));
        snprintf(text, sizeof text, "%s", row->words[number]);
    } else if (row->kind == MPK_OPTION_REAL) {
        PetscCall(PetscOptionsReal(name, row->text, "docs/reference/options.md", (PetscReal)value,
                                   &real, &given));
        snprintf(text, sizeof text, "%.17g", (double)real);
    } else if (row->kind == MPK_OPTION_INT64) { /* which a PetscInt may not hold */
        snprintf(text, sizeof text, "%lld", whole);
        PetscCall(PetscOptionsString(name, row->text, "docs/reference/options.md", text, text,
                                     sizeof text, &given));
    } else {
        PetscCall(PetscOptionsInt(name, row->text, "docs/reference/options.md", (PetscInt)whole,
                                  &number, &given));
        snprintf(text, sizeof text, "%lld", (long long)number);
    }
    if (given) PetscCall(set(ctx, options, row->key, text));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plug-in's own options. */
static PetscErrorCode read_own(mpkp_items PetscOptionsObject, mpkp_choice *c) {
    PetscFunctionBegin;
    PetscCall(PetscOptionsBool("-mat_metapack_absd",
                               "solve with |D|: definite, as minres, symmlq and cg ask for",
                               "docs/guide/petsc.md", c->absd, &c->absd, NULL));
    PetscCall(PetscOptionsBool("-mat_metapack_check_each",
                               "refine and check each direct solve; no: only until one was right",
                               "docs/guide/petsc.md", c->check_each, &c->check_each, NULL));
    PetscCall(PetscOptionsBool(
        "-mat_metapack_accept_singular",
        "a singular matrix: yes, go on, also where a system has no solution; no: a "
        "failure; default: solve the systems that have a solution",
        "docs/guide/petsc.md", c->accept_singular, &c->accept_singular, &c->singular_set));
    PetscCall(PetscOptionsBool(
        "-mat_metapack_check_symmetry", "compare both triangles; default: unless A's flags say it",
        "docs/guide/petsc.md", c->check_symmetry, &c->check_symmetry, &c->check_set));
#if defined(PETSC_USE_COMPLEX)
    PetscCall(PetscOptionsBool("-mat_metapack_hermitian",
                               "A = A^H (yes) or A = A^T (no); default: by flags, then by values",
                               "docs/guide/petsc.md", c->hermitian, &c->hermitian,
                               &c->hermitian_set));
#endif
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpkp_choose(Mat F, Mat A, const MatFactorInfo *info, mpk_context *ctx,
                           mpkp_choice *choice) {
    PetscMPIInt ranks;
    MatNullSpace null_space;
    PetscErrorCode error = PETSC_SUCCESS;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    *choice = (mpkp_choice){.check_each = (PetscBool)(ranks == 1)};
    mpk_options_init(&choice->mpk);
    choice->mpk.method = F->factortype == MAT_FACTOR_ICC ? MPK_METHOD_ILDLT : MPK_METHOD_LDLT;
    if (F->factortype == MAT_FACTOR_ICC && info && info->levels > 0)
        choice->mpk.level = (int)info->levels;
    PetscCall(MatGetNullSpace(A, &null_space));
    choice->accept_singular = null_space ? PETSC_TRUE : PETSC_FALSE;
    PetscOptionsBegin(PetscObjectComm((PetscObject)F), ((PetscObject)F)->prefix, "METAPACK options",
                      "Mat");
    /* an error waits for the end, which frees what PETSc has begun */
    error = read_own(PetscOptionsObject, choice);
    for (int k = 0; mpk_option_at(k) && !error; k++)
        error = read_row(PetscOptionsObject, mpk_option_at(k), ctx, &choice->mpk);
    PetscOptionsEnd();
    PetscCall(error);
    PetscCheck(choice->mpk.method != MPK_METHOD_AUTO && choice->mpk.method != MPK_METHOD_NONE,
               PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "METAPACK: -mat_metapack_method is one of ldlt, ildlt, jacobi, ilu0, diagonal, "
               "block_jacobi, ssor");
    PetscCheck(choice->mpk.ordering != MPK_ORDERING_GIVEN, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "METAPACK: PETSc has no order to give; -mat_metapack_ordering is another");
    if (ranks > 1 && choice->mpk.threads == 0) choice->mpk.threads = 1;
    PetscFunctionReturn(PETSC_SUCCESS);
}
