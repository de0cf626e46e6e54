/* SPDX-License-Identifier: BSD-3-Clause */
/** PETSc's rows into the library's columns: the lower triangle of A, column by column, and where
 *  both are wanted the mirror images beside it; else the upper one, mirrored. */
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
    e->both = PETSC_FALSE;
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

/* ---- pairs of mirror images ------------------------------------------------------------------ */

/* Place t of row i: 0 .. length - 1, columns increasing. bs is e->bs, as a constant where it is 1: the
 * divisions by it would otherwise take longer than all the rest. */
#define ONCE_FOR_EACH_BS static inline __attribute__((always_inline))
ONCE_FOR_EACH_BS PetscInt length(const mpkp_entries *e, PetscInt bs, PetscInt i) {
    return (e->ia[i / bs + 1] - e->ia[i / bs]) * bs;
}
ONCE_FOR_EACH_BS PetscInt column(const mpkp_entries *e, PetscInt bs, PetscInt i, PetscInt t) {
    return e->ja[e->ia[i / bs] + t / bs] * bs + t % bs;
}
ONCE_FOR_EACH_BS PetscScalar entry(const mpkp_entries *e, PetscInt bs, PetscInt i, PetscInt t) {
    const PetscInt block = e->ia[i / bs] + t / bs;
    return e->v[(block * bs + t % bs) * bs + i % bs];
}

/* Visit the entries of row j of the upper triangle, from cursor[j] on, that stand before `end` and
 * have no mirror image. */
ONCE_FOR_EACH_BS void lonely(const mpkp_entries *e, PetscInt bs, PetscInt j, PetscInt end,
                             PetscInt *cursor, mpkp_visit *visit, void *self) {
    for (; *cursor < length(e, bs, j) && column(e, bs, j, *cursor) < end; ++*cursor)
        visit(self, column(e, bs, j, *cursor), j, 0, entry(e, bs, j, *cursor));
}

/* Row i of both triangles; cursor[j]: into row j, the place of its next entry that wants a mirror
 * image, and these appear in increasing order. */
ONCE_FOR_EACH_BS void walk_row(const mpkp_entries *e, PetscInt bs, PetscInt i, PetscInt *cursor,
                               mpkp_visit *visit, void *self) {
    PetscInt t = 0, j;
    for (; t < length(e, bs, i) && (j = column(e, bs, i, t)) < i; t++) {
        PetscScalar above = 0;
        lonely(e, bs, j, i, &cursor[j], visit, self);
        if (cursor[j] < length(e, bs, j) && column(e, bs, j, cursor[j]) == i)
            above = entry(e, bs, j, cursor[j]++);
        visit(self, i, j, entry(e, bs, i, t), above);
    }
    if (t < length(e, bs, i) && column(e, bs, i, t) == i) {
        visit(self, i, i, entry(e, bs, i, t), entry(e, bs, i, t));
        t++;
    }
    cursor[i] = t;
}

/* cursor: NULL, or as many zeros as there are rows, for both triangles. */
ONCE_FOR_EACH_BS void walk(const mpkp_entries *e, PetscInt bs, PetscInt *cursor, mpkp_visit *visit,
                           void *self) {
    const PetscInt n = e->rows * bs;
    for (PetscInt i = 0; !cursor && i < n; i++)
        for (PetscInt t = 0; t < length(e, bs, i); t++)
            if (column(e, bs, i, t) >= i)
                visit(self, column(e, bs, i, t), i, entry(e, bs, i, t), entry(e, bs, i, t));
    for (PetscInt i = 0; cursor && i < n; i++) walk_row(e, bs, i, cursor, visit, self);
    for (PetscInt j = 0; cursor && j < n; j++) lonely(e, bs, j, n, &cursor[j], visit, self);
}

PetscErrorCode mpkp_walk(const mpkp_entries *e, PetscBool both, mpkp_visit *visit, void *self) {
    PetscInt *cursor = NULL;
    PetscFunctionBegin;
    if (both) PetscCall(PetscCalloc1(e->rows * e->bs + 1, &cursor));
    if (e->bs == 1)
        walk(e, 1, cursor, visit, self);
    else
        walk(e, e->bs, cursor, visit, self);
    PetscCall(PetscFree(cursor));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* What a walk fills: column j of the lower triangle is complete up to next[j]. */
typedef struct columns {
    mpk_symmetry symmetry;
    PetscBool both, checked;
    int64_t *next;        /* n */
    const int64_t *end;   /* n: where columns end; NULL: not known yet */
    int32_t *row;         /* written, or */
    const int32_t *known; /* compared */
    PetscScalar *value;   /* with `both` the mirror images follow, `apart` places behind */
    int64_t apart;
    PetscInt bad[2];   /* the first NaN or Inf */
    PetscInt extra[2]; /* the first entry that the known pattern has not */
} columns;

/* PETSc's (j, i) as the library's (i, j). */
static inline PetscScalar mirrored(PetscScalar value, mpk_symmetry symmetry, PetscBool real) {
#if defined(PETSC_USE_COMPLEX)
    if (symmetry == MPK_HERMITIAN)
        return real ? PetscCMPLX(PetscRealPart(value), 0) : PetscConj(value);
#else
    (void)symmetry, (void)real;
#endif
    return value;
}

/* mpkp_visit */
static void count(void *self, PetscInt i, PetscInt j, PetscScalar below, PetscScalar above) {
    columns *c = self;
    (void)i, (void)below, (void)above;
    c->next[j]++;
}

/* mpkp_visit. An analysis takes 0 for what is not finite. */
static void put(void *self, PetscInt i, PetscInt j, PetscScalar below, PetscScalar above) {
    columns *c = self;
    const int64_t k = c->next[j];
    PetscScalar value =
        c->both ? below : mirrored(above, c->symmetry, (PetscBool)(i == j && !c->checked));
    PetscScalar image = c->both && i != j ? above : 0;
    if (c->known && (k >= c->end[j] || c->known[k] != i)) {
        if (c->extra[0] < 0) c->extra[0] = j, c->extra[1] = i;
        return;
    }
    if (PetscIsInfOrNanScalar(value) || PetscIsInfOrNanScalar(image)) {
        if (c->bad[0] < 0) c->bad[0] = j, c->bad[1] = i;
        if (!c->known) value = image = 0;
    }
    if (!c->known) c->row[k] = (int32_t)i;
    c->value[k] = value;
    if (c->both) c->value[k + c->apart] = image;
    c->next[j]++;
}

PetscErrorCode mpkp_gather(const mpkp_entries *e, mpk_symmetry symmetry, int64_t **ap, int32_t **ai,
                           PetscScalar **ax, PetscBool *finite) {
    const PetscInt n = e->rows * e->bs;
    columns c = {.symmetry = symmetry, .both = e->both, .checked = e->checked, .bad = {-1, -1}};
    int64_t nnz = 0;
    PetscFunctionBegin;
    PetscCall(PetscMalloc1(n + 1, ap));
    PetscCall(PetscCalloc1(n + 1, &c.next));
    PetscCall(mpkp_walk(e, e->both, count, &c));
    for (PetscInt j = 0; j < n; j++) {
        (*ap)[j] = nnz;
        nnz += c.next[j];
        c.next[j] = (*ap)[j];
    }
    (*ap)[n] = nnz;
    PetscCall(PetscMalloc2(nnz, ai, e->both ? 2 * nnz : nnz, ax));
    c.row = *ai;
    c.value = *ax;
    c.apart = nnz;
    PetscCall(mpkp_walk(e, e->both, put, &c));
    PetscCall(PetscFree(c.next));
    *finite = (PetscBool)(c.bad[0] < 0);
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mpkp_gather_values(const mpkp_entries *e, const mpk_problem_view *view,
                                  PetscScalar *ax, PetscInt place[2]) {
    const PetscInt n = e->rows * e->bs;
    columns c = {.symmetry = view->symmetry,
                 .both = e->both,
                 .checked = e->checked,
                 .apart = view->nnz,
                 .end = view->ap + 1,
                 .known = view->ai,
                 .value = ax,
                 .bad = {-1, -1},
                 .extra = {-1, -1}};
    PetscInt lost = -1;
    PetscFunctionBegin;
    PetscCheck(n == view->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "METAPACK: the matrix has %" PetscInt_FMT " rows, the analysed one had %d", n,
               (int)view->n);
    PetscCall(PetscMalloc1(n + 1, &c.next));
    memcpy(c.next, view->ap, ((size_t)n + 1) * sizeof *c.next);
    PetscCall(mpkp_walk(e, e->both, put, &c));
    for (PetscInt j = 0; j < n && lost < 0; j++)
        if (c.next[j] != view->ap[j + 1]) lost = j;
    PetscCall(PetscFree(c.next));
    PetscCheck(c.extra[0] < 0, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "METAPACK: the nonzero pattern has changed since the symbolic factorization: "
               "entry (%" PetscInt_FMT ", %" PetscInt_FMT ")",
               c.extra[0], c.extra[1]);
    PetscCheck(lost < 0, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "METAPACK: the nonzero pattern has changed since the symbolic factorization: "
               "row %" PetscInt_FMT " has lost entries",
               lost);
    place[0] = c.bad[0];
    place[1] = c.bad[1];
    PetscFunctionReturn(PETSC_SUCCESS);
}
