/* SPDX-License-Identifier: BSD-3-Clause */
/* Path: one dense matrix by each of the dense methods. */
#include "paths.h"

#include <string.h>

typedef struct session {
    verdicts *v;
    mpk_context *ctx;
    const trial *t;
    mpk_dense dense;
    int64_t ld;
    void *a, *a_copy;
    mpk_dense_factor f;
    mpk_dense_info info;
    int sides_unseen; /* the factorization failed before they were read */
} session;

static size_t matrix_bytes(const session *s) {
    return (size_t)s->ld * (size_t)s->t->eq.n * mpk_scalar_size(s->t->eq.scalar);
}

/* The triangle that must not be read, and what lies beyond row n, is filled with ones in all bits:
 * NaN. */
static void fill_matrix(session *s) {
    const equations *eq = &s->t->eq;
    const size_t size = mpk_scalar_size(eq->scalar), bytes = matrix_bytes(s);
    s->a = must_alloc(bytes, 1);
    if (bytes) memset(s->a, 0xff, bytes);
    const int turn = s->t->setup.upper && eq->symmetry == MPK_HERMITIAN ? -1 : 1;
    const double zero[2] = {0, 0};
    for (int32_t j = 0; j < eq->n; j++)
        for (int32_t i = j; i < eq->n; i++) {
            const int64_t at = s->t->setup.upper ? j + i * s->ld : i + j * s->ld;
            numbers_store(eq->scalar, 1, zero, (char *)s->a + (size_t)at * size);
        }
    for (int64_t k = 0; k < eq->count; k++) {
        const quad_entry *e = &eq->entry[k];
        const int64_t at = s->t->setup.upper ? e->j + e->i * s->ld : e->i + e->j * s->ld;
        const double pair[2] = {e->re, turn * e->im};
        numbers_store(eq->scalar, 1, pair, (char *)s->a + (size_t)at * size);
    }
}

static void spoil_matrix(session *s) {
    const equations *eq = &s->t->eq;
    const int32_t j = s->t->setup.spoil_at % eq->n;
    char *at = (char *)s->a + (size_t)(j + j * s->ld) * mpk_scalar_size(eq->scalar);
    const double bad[2] = {spoil_number(&s->t->setup), 0}; /* if Hermitian, only this counts */
    if (s->t->setup.spoil == SPOIL_MATRIX) numbers_store(eq->scalar, 1, bad, at);
}

static void set_dense(session *s) {
    const setup *set = &s->t->setup;
    mpk_dense *d = &s->dense;
    mpk_dense_init(d);
    d->scalar = s->t->eq.scalar;
    d->symmetry = s->t->eq.symmetry;
    d->uplo = set->upper ? MPK_UPPER : MPK_LOWER;
    d->n = s->t->eq.n;
    d->method = (mpk_dense_method)set->dense_method;
    d->precision = (mpk_dense_precision)set->dense_precision;
    d->pivot_threshold = set->options.pivot_threshold;
    d->zero_tolerance = set->options.zero_tolerance;
    d->tile = set->tile;
    d->depth = set->depth;
    d->seed = set->options.seed;
    d->refine = set->options.refine;
    d->refinement = (mpk_dense_refinement)set->refinement;
    d->accuracy = set->options.accuracy;
    d->condition = set->options.condition;
    d->threads = set->options.threads;
}

static int factor_make(session *s) {
    mpk_dense_sizes sizes;
    const mpk_status status = mpk_dense_query(s->ctx, &s->dense, s->t->eq.nrhs, &sizes);
    if (judge_status(s->v, s->ctx, "dense_query", status)) return 0;
    s->f.struct_size = sizeof s->f;
    s->f.ldf = s->t->eq.n > 0 ? s->t->eq.n : 1;
    s->f.f = must_alloc((size_t)sizes.factor_bytes, 1);
    s->f.pivots = must_alloc((size_t)sizes.pivots, sizeof *s->f.pivots);
    if (sizes.extra_bytes)
        s->f.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 63) / 64 * 64);
    return 1;
}

/* The thresholds of a dense matrix are relative to its largest entry; method auto ends without
 * one. */
static void judge_zeros(session *s, const char *call, mpk_status status) {
    const double tolerance = s->dense.zero_tolerance;
    const int single = s->dense.precision != MPK_DENSE_WORKING;
    if (status != MPK_SINGULAR || tolerance > default_accuracy(s->t->eq.scalar)) return;
    if (s->dense.method == MPK_DENSE_AUTO && tolerance < 0 && !single)
        judge_singular(s->v, call, 1);
    else if (!single || (truth_condition(&s->v->truth, 0) < 1e5))
        judge_singular(s->v, call, 0);
}

/* A certificate, and the counts that it is about. Method auto ends with factors of a method that it
 * chose. */
static void judge_certificate(session *s) {
    mpk_inertia inertia = {0};
    if (s->dense.method == MPK_DENSE_AUTO) return;
    mpk_status status = mpk_dense_certify(s->ctx, &s->dense, s->a, s->ld, &s->f, NULL, 0, NULL);
    if (judge_status(s->v, s->ctx, "dense_certify", status)) return;
    status = mpk_dense_inertia(s->ctx, &s->dense, &s->f, NULL, 0, &inertia);
    if (!judge_status(s->v, s->ctx, "dense_inertia", status)) judge_inertia(s->v, &inertia, 0);
}

static mpk_status solve(session *s, sides *io) {
    const equations *eq = &s->t->eq;
    mpk_status status;
    pattern_fill(&s->info, sizeof s->info);
    if (!s->t->setup.apart || s->dense.method == MPK_DENSE_AUTO) {
        status = mpk_dense_sysv(s->ctx, &s->dense, s->a, s->ld, &s->f, eq->nrhs, io->b, io->ld,
                                io->x, io->ld, NULL, 0, &s->info);
        pattern_check(s->v, "dense_sysv", status, &s->info, sizeof s->info);
        return status;
    }
    status = mpk_dense_factorize(s->ctx, &s->dense, s->a, s->ld, &s->f, NULL, 0, &s->info);
    pattern_check(s->v, "dense_factorize", status, &s->info, sizeof s->info);
    if (mpk_failed(status)) {
        s->sides_unseen = 1;
        return status;
    }
    judge_status(s->v, s->ctx, "dense_factorize", status);
    judge_zeros(s, "dense_factorize", status);
    judge_certificate(s);
    return mpk_dense_solve(s->ctx, &s->dense, s->a, s->ld, &s->f, eq->nrhs, io->b, io->ld, io->x,
                           io->ld, NULL, 0, &s->info);
}

static void judge_call(session *s, const sides *io, mpk_status status) {
    const equations *eq = &s->t->eq;
    const double eps = is_single(eq->scalar) ? FLT_EPSILON : DBL_EPSILON;
    sides_check(io, s->v, "dense", status);
    const int seen = s->t->setup.spoil == SPOIL_MATRIX || (eq->nrhs > 0 && !s->sides_unseen);
    if (s->t->setup.spoil && eq->n > 0 && seen) {
        judge_spoilt(s->v, s->ctx, "dense", status);
        return;
    }
    if (judge_status(s->v, s->ctx, "dense", status)) return;
    judge_zeros(s, "dense", status);
    judge_inertia(s->v, &s->info.inertia, 0);
    if (!s->t->setup.apart) judge_certificate(s);
    const reported said = {.status = status,
                           .accuracy = s->dense.accuracy >= 0 ? s->dense.accuracy
                                                              : fmax(4, sqrt(eq->n)) * eps,
                           .tolerance = -1,
                           .measures = 1,
                           .plain = 1,
                           .normwise = s->info.normwise,
                           .componentwise = s->info.componentwise,
                           .relative = NAN};
    judge_solution(s->v, &said, io->x, io->ld);
}

void run_dense(verdicts *v, mpk_context *ctx) {
    session s = {.v = v, .ctx = ctx, .t = v->trial};
    const equations *eq = &s.t->eq;
    s.ld = (eq->n > 0 ? eq->n : 1) + s.t->setup.lead;
    set_dense(&s);
    fill_matrix(&s);
    sides io = sides_make(eq, &s.t->setup, s.t->setup.in_place);
    if (s.t->setup.spoil && eq->n > 0) {
        spoil_matrix(&s);
        if (s.t->setup.spoil != SPOIL_MATRIX && eq->nrhs > 0) {
            number_spoil(&s.t->setup, eq->scalar, eq->n, io.b);
            memcpy(io.b_copy, io.b, (size_t)io.ld * mpk_scalar_size(eq->scalar));
            if (io.x == io.b) memcpy(io.x_copy, io.b, (size_t)io.ld * mpk_scalar_size(eq->scalar));
        }
    }
    const size_t bytes = matrix_bytes(&s);
    s.a_copy = must_alloc(bytes, 1);
    if (bytes) memcpy(s.a_copy, s.a, bytes);
    if (factor_make(&s)) {
        const mpk_status status = solve(&s, &io);
        if (bytes && memcmp(s.a, s.a_copy, bytes))
            wrong(v, WRONG_OUTPUTS, "dense: a is not what it was");
        judge_call(&s, &io, status);
    }
    free(s.f.f);
    free(s.f.pivots);
    free(s.f.extra);
    free(s.a);
    free(s.a_copy);
    sides_free(&io);
}
