/* SPDX-License-Identifier: BSD-3-Clause */
/* Path: copies of one small matrix as a batch. */
#include "paths.h"

#include <string.h>

/* Without refinement, and with pivoting that bounds L, the normwise backward error stays below
 * this. */
static double bound_of(mpk_scalar scalar) {
    return is_single(scalar) ? 1e-3 : 1e-11;
}

typedef struct session {
    verdicts *v;
    mpk_context *ctx;
    const trial *t;
    mpk_batch batch;
    mpk_batch_array a, b, kept; /* kept: the matrices, which factors overwrite */
    void *a_pointer[3], *b_pointer[3], *kept_pointer[3];
    int32_t outcome[3], inertia[9];
    int32_t *pivots;
} session;

static size_t place(const mpk_batch_array *array, int copy, int i, int j) {
    const size_t inner = (size_t)i + (size_t)j * (size_t)array->ld;
    if (array->layout == MPK_BATCH_INTERLEAVED)
        return (size_t)(copy / array->width) * (size_t)array->stride +
               inner * (size_t)array->width + (size_t)(copy % array->width);
    return (size_t)copy * (size_t)array->stride + inner;
}

/* rows x columns for each copy; the pointers' layout points into one array. */
static mpk_batch_array array_make(session *s, int rows, int columns, void **pointer, void **data) {
    const size_t size = mpk_scalar_size(s->t->eq.scalar);
    mpk_batch_array array = {.layout = (mpk_batch_layout)s->t->setup.layout};
    array.ld = (rows > 0 ? rows : 1) + s->t->setup.lead;
    array.width = array.layout == MPK_BATCH_INTERLEAVED ? 2 : 1;
    array.stride = (int64_t)array.ld * (columns > 0 ? columns : 1) * array.width;
    const size_t entries = (size_t)array.stride * 3;
    *data = must_alloc(entries, size);
    memset(*data, 0x41, entries * size);
    for (int copy = 0; copy < 3; copy++)
        pointer[copy] = (char *)*data + (size_t)copy * (size_t)array.stride * size;
    array.data = *data;
    return array;
}

static void store(const session *s, const mpk_batch_array *array, void *data, int copy, int i,
                  int j, const double *pair) {
    const mpk_scalar scalar = s->t->eq.scalar;
    numbers_store(scalar, 1, pair,
                  (char *)data + place(array, copy, i, j) * mpk_scalar_size(scalar));
}

static void fill(session *s, void *a, void *b) {
    const equations *eq = &s->t->eq;
    const double zero[2] = {0, 0};
    for (int copy = 0; copy < s->t->setup.copies; copy++) {
        for (int32_t j = 0; j < eq->n; j++)
            for (int32_t i = 0; i < eq->n; i++) store(s, &s->a, a, copy, i, j, zero);
        for (int64_t k = 0; k < s->v->truth.count; k++) {
            const quad_entry *e = &s->v->truth.whole[k];
            const double pair[2] = {e->re, e->im};
            store(s, &s->a, a, copy, e->i, e->j, pair);
        }
        for (int32_t r = 0; r < eq->nrhs; r++)
            for (int32_t i = 0; i < eq->n; i++)
                store(s, &s->b, b, copy, i, r, eq->b + 2 * ((size_t)r * (size_t)eq->n + (size_t)i));
        if (s->t->setup.spoil && eq->n > 0) {
            const double bad[2] = {spoil_number(&s->t->setup), 0};
            store(s, &s->a, a, copy, eq->n - 1, 0, bad);
        }
    }
    if (s->a.layout == MPK_BATCH_POINTERS) s->a.data = s->a_pointer, s->b.data = s->b_pointer;
}

static void judge_factors(session *s, mpk_status status) {
    const equations *eq = &s->t->eq;
    const int pivoted =
        s->batch.pivoting >= MPK_PIVOTING_ROOK ||
        (s->batch.pivoting == MPK_PIVOTING_PARTIAL && s->t->setup.batch_method == MPK_BATCH_LDLT);
    for (int copy = 0; copy < s->t->setup.copies; copy++) {
        const int32_t *in = s->inertia + 3 * copy;
        const int outcome = s->outcome[copy];
        if (outcome != s->outcome[0]) wrong(s->v, WRONG_OUTPUTS, "batch: copies fare differently");
        if (outcome == MPK_BATCH_SINGULAR &&
            !(s->batch.zero_tolerance > default_accuracy(eq->scalar)))
            judge_singular(s->v, "batch", 0);
        if ((outcome == MPK_BATCH_OK || outcome == MPK_BATCH_SINGULAR) && has_inertia(eq) &&
            s->t->setup.batch_method != MPK_BATCH_LDU && in[0] + in[1] + in[2] != eq->n)
            wrong(s->v, WRONG_INERTIA_SUM, "batch: %d + %d + %d, n = %d", in[0], in[1], in[2],
                  eq->n);
        if (s->t->setup.batch_method == MPK_BATCH_LDU || outcome != MPK_BATCH_OK) continue;
        /* these counts come without a bound: they are judged only where there is no doubt */
        if (pivoted && has_inertia(eq) &&
            truth_condition(&s->v->truth, 0) < (is_single(eq->scalar) ? 1e3 : 1e10))
            judge_inertia(s->v, &(mpk_inertia){in[0], in[1], in[2], 1, 1}, 1);
    }
    if ((status == MPK_OK) != (s->outcome[0] == MPK_BATCH_OK))
        wrong(s->v, WRONG_SILENT, "batch: %s, and outcome %d", mpk_status_name(status),
              s->outcome[0]);
}

static void judge_certificates(session *s, const int32_t *pivots) {
    const mpk_batch_method method = (mpk_batch_method)s->t->setup.batch_method;
    mpk_certificate found[3] = {{0}};
    if (method == MPK_BATCH_LDU || !has_inertia(&s->t->eq)) return;
    const mpk_status status =
        mpk_batch_certify(s->ctx, &s->batch, method, &s->kept, &s->a, pivots, found);
    if (judge_status(s->v, s->ctx, "batch_certify", status)) return;
    for (int copy = 0; copy < s->t->setup.copies; copy++) {
        const int32_t *in = s->inertia + 3 * copy;
        if (found[copy].certified)
            judge_inertia(s->v, &(mpk_inertia){in[0], in[1], in[2], 1, 1}, 1);
    }
}

/* Do all numbers lie well within the range? */
static int moderate(session *s) {
    const equations *eq = &s->t->eq;
    const double top = is_single(eq->scalar) ? 0x1p50 : 0x1p400;
    if (!(truth_condition(&s->v->truth, 1) < 1e24) || s->v->truth.inverse.largest > top) return 0;
    for (int64_t k = 0; k < eq->count; k++) {
        const double size = fmax(fabs(eq->entry[k].re), fabs(eq->entry[k].im));
        if (size != 0 && (size > top || size < 1 / top)) return 0;
    }
    for (int64_t k = 0; k < 2 * (int64_t)eq->n * eq->nrhs; k++)
        if (eq->b[k] != 0 && (fabs(eq->b[k]) > top || fabs(eq->b[k]) < 1 / top)) return 0;
    return 1;
}

static void judge_solve(session *s, const void *b, int pivoted) {
    const equations *eq = &s->t->eq;
    const size_t size = mpk_scalar_size(eq->scalar);
    const reported said = {.status = MPK_OK,
                           .accuracy = -1,
                           .tolerance = -1,
                           .normwise_bound = pivoted && moderate(s) ? bound_of(eq->scalar) : 0};
    char *x = must_alloc((size_t)eq->n * (size_t)eq->nrhs, size);
    for (int32_t r = 0; r < eq->nrhs; r++)
        for (int32_t i = 0; i < eq->n; i++)
            memcpy(x + ((size_t)r * (size_t)eq->n + (size_t)i) * size,
                   (const char *)b + place(&s->b, 0, i, r) * size, size);
    judge_solution(s->v, &said, x, eq->n);
    free(x);
}

void run_batch(verdicts *v, mpk_context *ctx) {
    typedef mpk_status (*verb)(mpk_context *, const mpk_batch *, const mpk_batch_array *, int32_t *,
                               const mpk_batch_results *);
    static const verb verbs[] = {mpk_batch_llt, mpk_batch_ldlt, mpk_batch_ldu};
    session s = {.v = v, .ctx = ctx, .t = v->trial};
    const equations *eq = &s.t->eq;
    const setup *set = &s.t->setup;
    if (eq->n > MPK_BATCH_MAX_N) return;
    void *a, *b, *kept;
    mpk_batch_init(&s.batch);
    s.batch.scalar = eq->scalar;
    s.batch.symmetry = eq->symmetry;
    s.batch.count = set->copies;
    s.batch.n = eq->n;
    s.batch.pivoting = set->options.pivoting;
    s.batch.zero_tolerance = set->options.zero_tolerance;
    s.batch.threads = set->options.threads;
    s.a = array_make(&s, eq->n, eq->n, s.a_pointer, &a);
    s.b = array_make(&s, eq->n, eq->nrhs, s.b_pointer, &b);
    s.pivots = must_alloc((size_t)(2 * eq->n * set->copies), sizeof *s.pivots);
    s.kept = array_make(&s, eq->n, eq->n, s.kept_pointer, &kept);
    fill(&s, a, b);
    memcpy(kept, a, 3 * (size_t)s.a.stride * mpk_scalar_size(eq->scalar));
    if (s.kept.layout == MPK_BATCH_POINTERS) s.kept.data = s.kept_pointer;
    int32_t *pivots = set->options.pivoting == MPK_PIVOTING_NONE ? NULL : s.pivots;
    const mpk_batch_results results = {s.outcome, s.inertia};
    const mpk_status status = verbs[set->batch_method](ctx, &s.batch, &s.a, pivots, &results);
    /* LLT of an indefinite matrix is not stable, whatever the pivots */
    const int pivoted =
        set->options.pivoting >= MPK_PIVOTING_ROOK && set->batch_method != MPK_BATCH_LLT;
    if (set->spoil && eq->n > 0) {
        if (status != MPK_PARTIAL || s.outcome[0] != MPK_BATCH_NOT_FINITE)
            wrong(v, WRONG_ACCEPTED, "batch: %s, outcome %d", mpk_status_name(status),
                  s.outcome[0]);
        else
            counted(v, COUNT_INVALID);
    } else if (!judge_status(v, ctx, "batch", status)) {
        judge_factors(&s, status);
        judge_certificates(&s, pivots);
        const int usable = s.outcome[0] == MPK_BATCH_OK || s.outcome[0] == MPK_BATCH_SINGULAR;
        const mpk_status solved =
            usable ? mpk_batch_solve(ctx, &s.batch, (mpk_batch_method)set->batch_method, &s.a,
                                     pivots, eq->nrhs, &s.b, &results)
                   : MPK_PARTIAL;
        if (usable && !judge_status(v, ctx, "batch_solve", solved) && solved == MPK_OK)
            judge_solve(&s, b, pivoted);
    }
    free(s.pivots);
    free(a);
    free(b);
    free(kept);
}
