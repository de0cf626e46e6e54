/* SPDX-License-Identifier: BSD-3-Clause */
/** -mat_metapack_*: PETSc's options database into mpk_options. A key is the field's name. */
#include "plugin.h"

#include <stdio.h>

enum kind { WORD, WHOLE, REAL };
enum { WORDS_MAX = 16 };

/* What makes sense beneath PETSc, which has its own Krylov methods. */
static const struct row {
    const char *key;
    enum kind kind;
    size_t offset;
    const char *help;
} table[] = {
#define AT(field) #field, offsetof(mpk_options, field)
#define ROW(kind, field, help)                                                                     \
    { #field, kind, offsetof(mpk_options, field), help }
    ROW(WORD, method, "what is factorized: complete (ldlt) or incomplete (ildlt, jacobi, ilu0)"),
    ROW(WORD, ordering, "fill-reducing ordering"),
    ROW(WORD, matching, "maximum-product matching for scaling and 2x2 pivots"),
    ROW(WORD, scaling, "symmetric scaling"),
    ROW(REAL, pivot_threshold, "u: accepted pivots give |L| <= 1/u"),
    ROW(REAL, zero_tolerance, "a pivot column not above this is zero; < 0: from the precision"),
    ROW(REAL, static_shift, "> 0: perturb failed pivots to this times the norm of A"),
    ROW(WHOLE, threads, "threads; 0: one under mpiexec, else those the process may use"),
    ROW(WHOLE, refine, "most steps of iterative refinement in a direct solve"),
    ROW(REAL, accuracy, "componentwise backward error to refine to; < 0: a few roundoffs"),
    ROW(WORD, deterministic, "the same bits for any number of threads"),
    ROW(REAL, memory_limit, "bytes; 0: what the machine has free"),
    ROW(WORD, strategy, "how rows are gathered into blocks"),
    ROW(WHOLE, block, "most rows of a block"),
    ROW(WORD, grid, "all blocks of the same size"),
    ROW(REAL, similarity, "cosine from which rows are gathered into a block"),
    ROW(WHOLE, level, "level of fill; -1: complete"),
    ROW(REAL, fill_factor, "entries a row of L may keep, times those of A's row; 0: any number"),
    ROW(REAL, drop_tolerance, "entries below this times their row's norm are dropped"),
    ROW(WORD, factor_type, "what the incomplete factorization makes"),
    ROW(WORD, pivoting, "inside a diagonal block"),
    ROW(WHOLE, stages, "of outer pivoting; 1: none"),
    ROW(WORD, butterfly, "random butterflies on rejected diagonal blocks"),
    ROW(WORD, schedule, "in which order blocks are computed"),
    ROW(WHOLE, sweeps, "of the fixed-point factorization (schedule jacobi)"),
    ROW(REAL, jacobi_epsilon, "damping of its pivots"),
    ROW(REAL, jacobi_decay, "of the damping, a sweep"),
    ROW(REAL, shift, "added to the scaled diagonal, with its sign"),
    ROW(WORD, precision, "of the stored factor"),
    ROW(WHOLE, solve_sweeps, "triangular solves by Jacobi sweeps; 0: exact"),
#undef ROW
#undef AT
};
enum { TABLE_SIZE = sizeof table / sizeof *table };

static PetscErrorCode set(mpk_context *ctx, mpk_options *options, const char *key,
                          const char *value) {
    PetscFunctionBegin;
    const mpk_status status = mpk_options_set(ctx, options, key, value);
    if (status) mpkp_misuse(ctx, status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row of the table from PETSc's database. */
static PetscErrorCode read_row(mpkp_items PetscOptionsObject, const struct row *row,
                               mpk_context *ctx, mpk_options *options) {
    char name[64], text[64];
    const char *words[WORDS_MAX];
    void *field = (char *)options + row->offset;
    PetscInt count = 0, number = 0;
    PetscReal real = 0;
    PetscBool given = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(PetscSNPrintf(name, sizeof name, "-mat_metapack_%s", row->key));
    switch (row->kind) {
    case WORD:
        for (; count < WORDS_MAX; count++) {
            words[count] = mpk_option_word(row->key, (int)count);
            if (!strcmp(words[count], "unknown")) break;
        }
        number = *(int *)field;
        PetscCall(PetscOptionsEList(name, row->help, "docs/petsc.md", words, count, words[number],
                                    &number, &given));
        if (given) PetscCall(set(ctx, options, row->key, words[number]));
        break;
    case WHOLE:
        PetscCall(
            PetscOptionsInt(name, row->help, "docs/petsc.md", *(int *)field, &number, &given));
        snprintf(text, sizeof text, "%lld", (long long)number);
        if (given) PetscCall(set(ctx, options, row->key, text));
        break;
    case REAL:
        PetscCall(PetscOptionsReal(name, row->help, "docs/petsc.md", (PetscReal) * (double *)field,
                                   &real, &given));
        snprintf(text, sizeof text, "%.17g", (double)real);
        if (given) PetscCall(set(ctx, options, row->key, text));
        break;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is the plug-in's own. */
static PetscErrorCode read_own(mpkp_items PetscOptionsObject, mpkp_choice *c) {
    PetscFunctionBegin;
    PetscCall(PetscOptionsBool("-mat_metapack_absd",
                               "solve with |D|: definite, as minres, symmlq and cg ask for",
                               "docs/petsc.md", c->absd, &c->absd, NULL));
    PetscCall(PetscOptionsBool("-mat_metapack_check_each",
                               "refine and check each direct solve; no: only until one was right",
                               "docs/petsc.md", c->check_each, &c->check_each, NULL));
    PetscCall(PetscOptionsBool("-mat_metapack_accept_singular",
                               "a singular matrix is no failure: consistent systems are solved",
                               "docs/petsc.md", c->accept_singular, &c->accept_singular, NULL));
    PetscCall(PetscOptionsBool(
        "-mat_metapack_check_symmetry", "compare both triangles; default: unless A's flags say it",
        "docs/petsc.md", c->check_symmetry, &c->check_symmetry, &c->check_set));
    PetscCall(PetscOptionsReal("-mat_metapack_symmetry_tolerance",
                               "differences up to this times the rows' largest entry are rounding",
                               "docs/petsc.md", c->symmetry_tolerance, &c->symmetry_tolerance,
                               NULL));
#if defined(PETSC_USE_COMPLEX)
    PetscCall(PetscOptionsBool("-mat_metapack_hermitian",
                               "A = A^H (yes) or A = A^T (no); default: by flags, then by values",
                               "docs/petsc.md", c->hermitian, &c->hermitian, &c->hermitian_set));
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
    *choice = (mpkp_choice){.check_each = (PetscBool)(ranks == 1),
                            .symmetry_tolerance = 100 * PETSC_SQRT_MACHINE_EPSILON};
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
    for (int k = 0; k < TABLE_SIZE && !error; k++)
        error = read_row(PetscOptionsObject, &table[k], ctx, &choice->mpk);
    PetscOptionsEnd();
    PetscCall(error);
    PetscCheck(choice->mpk.method != MPK_METHOD_AUTO && choice->mpk.method != MPK_METHOD_NONE,
               PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "METAPACK: -mat_metapack_method is one of ldlt, ildlt, jacobi, ilu0");
    PetscCheck(choice->mpk.ordering != MPK_ORDERING_GIVEN, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "METAPACK: PETSc has no order to give; -mat_metapack_ordering is another");
    if (ranks > 1 && choice->mpk.threads == 0) choice->mpk.threads = 1;
    PetscFunctionReturn(PETSC_SUCCESS);
}
