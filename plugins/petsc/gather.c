/* SPDX-License-Identifier: BSD-3-Clause */
/** PETSc's rows into the library's columns. The upper triangle by rows, as PETSc has it, is the
 *  lower triangle by columns of the transpose: entries keep their order, Hermitian ones are
 *  conjugated. */
#include "plugin.h"

#include <math.h>

PetscErrorCode mpkp_entries_get(Mat A, mpkp_entries *e) {
    PetscBool aij, baij, sbaij, done;
    PetscInt n, rows, cols;
    PetscScalar *v = NULL;
    PetscFunctionBegin;
    PetscCall(MatGetSize(A, &rows, &cols));
    PetscCheck(rows == cols, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "METAPACK: matrix of %" PetscInt_FMT " x %" PetscInt_FMT " is not square", rows,
               cols);
    PetscCheck(rows <= INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "METAPACK: %" PetscInt_FMT " rows; the most are %d", rows, INT32_MAX);
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &aij));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQBAIJ, &baij));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQSBAIJ, &sbaij));
    PetscCheck(aij || baij || sbaij, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "METAPACK factorizes seqaij, seqbaij and seqsbaij, not %s",
               ((PetscObject)A)->type_name);
    e->bs = 1;
    if (!aij) PetscCall(MatGetBlockSize(A, &e->bs));
    e->lower = sbaij ? PETSC_FALSE : PETSC_TRUE;
    /* compressed: blocks of BAIJ; of AIJ it would be rows of equal pattern */
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, (PetscBool)!aij, &n, &e->ia, &e->ja, &done));
    PetscCheck(done && n * e->bs == rows, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "METAPACK: no access to the pattern of a matrix of type %s",
               ((PetscObject)A)->type_name);
    e->rows = n;
    if (aij)
        PetscCall(MatSeqAIJGetArrayRead(A, &e->v));
    else if (baij)
        PetscCall(MatSeqBAIJGetArray(A, &v));
    else
        PetscCall(MatSeqSBAIJGetArray(A, &v));
    if (!aij) e->v = v;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpkp_entries_restore(Mat A, mpkp_entries *e) {
    PetscBool aij, baij, done;
    PetscInt n;
    PetscScalar *v = (PetscScalar *)e->v;
    PetscObjectState state;
    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &aij));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQBAIJ, &baij));
    if (aij)
        PetscCall(MatSeqAIJRestoreArrayRead(A, &e->v));
    else if (baij)
        PetscCall(MatSeqBAIJRestoreArray(A, &v));
    else
        PetscCall(MatSeqSBAIJRestoreArray(A, &v));
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, (PetscBool)!aij, &n, &e->ia, &e->ja, &done));
    /* we have only read */
    PetscCall(PetscObjectStateSet((PetscObject)A, state));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries (i, j >= i) of row i in increasing j, one after another. */
typedef struct upper {
    const mpkp_entries *e;
    PetscInt i, at, end, c;
} upper;

static upper upper_of(const mpkp_entries *e, PetscInt i) {
    return (upper){e, i, e->ia[i / e->bs], e->ia[i / e->bs + 1], 0};
}

/* Next entry; false at the end of the row. */
static inline int upper_next(upper *u, PetscInt *j, PetscScalar *value) {
    const PetscInt bs = u->e->bs, own = u->i / bs, r = u->i % bs;
    for (; u->at < u->end; u->at++, u->c = 0) {
        const PetscInt column = u->e->ja[u->at];
        if (column < own) continue;
        if (column == own && u->c < r) u->c = r;
        if (u->c == bs) continue;
        *j = column * bs + u->c;
        *value = u->e->v[(u->at * bs + u->c) * bs + r];
        u->c++;
        return 1;
    }
    return 0;
}

/* PETSc's (i, j) as the library's (j, i). */
static inline PetscScalar mirrored(PetscScalar value, mpk_symmetry symmetry, int diagonal) {
#if defined(PETSC_USE_COMPLEX)
    if (symmetry == MPK_HERMITIAN)
        return diagonal ? PetscCMPLX(PetscRealPart(value), 0) : PetscConj(value);
#else
    (void)symmetry, (void)diagonal;
#endif
    return value;
}

PetscErrorCode mpkp_gather(const mpkp_entries *e, mpk_symmetry symmetry, int64_t **ap, int32_t **ai,
                           PetscScalar **ax, PetscBool *finite) {
    const PetscInt n = e->rows * e->bs;
    PetscInt j;
    PetscScalar value;
    int64_t nnz = 0;
    PetscFunctionBegin;
    *finite = PETSC_TRUE;
    PetscCall(PetscMalloc1(n + 1, ap));
    for (PetscInt i = 0; i < n; i++) {
        (*ap)[i] = nnz;
        for (upper u = upper_of(e, i); upper_next(&u, &j, &value);) nnz++;
    }
    (*ap)[n] = nnz;
    PetscCall(PetscMalloc2(nnz, ai, nnz, ax));
    int64_t k = 0;
    for (PetscInt i = 0; i < n; i++)
        for (upper u = upper_of(e, i); upper_next(&u, &j, &value); k++) {
            (*ai)[k] = (int32_t)j;
            if (PetscIsInfOrNanScalar(value)) *finite = PETSC_FALSE, value = 0;
            (*ax)[k] = mirrored(value, symmetry, i == j);
        }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpkp_gather_values(const mpkp_entries *e, const mpk_problem_view *view,
                                  PetscScalar *ax, PetscInt place[2]) {
    const PetscInt n = e->rows * e->bs;
    PetscInt j;
    PetscScalar value;
    PetscFunctionBegin;
    place[0] = place[1] = -1;
    PetscCheck(n == view->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "METAPACK: the matrix has %" PetscInt_FMT " rows, the analysed one had %d", n,
               (int)view->n);
    for (PetscInt i = 0; i < n; i++) {
        int64_t k = view->ap[i];
        for (upper u = upper_of(e, i); upper_next(&u, &j, &value); k++) {
            PetscCheck(k < view->ap[i + 1] && view->ai[k] == j, PETSC_COMM_SELF,
                       PETSC_ERR_ARG_INCOMP,
                       "METAPACK: the nonzero pattern has changed since the symbolic "
                       "factorization: entry (%" PetscInt_FMT ", %" PetscInt_FMT ")",
                       i, j);
            if (PetscIsInfOrNanScalar(value) && place[0] < 0) place[0] = i, place[1] = j;
            ax[k] = mirrored(value, view->symmetry, i == j);
        }
        PetscCheck(k == view->ap[i + 1], PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
                   "METAPACK: the nonzero pattern has changed since the symbolic factorization: "
                   "row %" PetscInt_FMT " has lost entries",
                   i);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}
