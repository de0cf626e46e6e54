/* SPDX-License-Identifier: BSD-3-Clause */
/* Path: mpk_krylov_solve around the matrix as the caller's operator. */
#include "paths.h"

#include <string.h>

/* y := A x, or y := |diagonal|^-1 x, summed in double and rounded to the type. */
typedef struct operator_data {
    const equations *eq;
    const quad_entry *whole;
    int64_t count;
    double *in, *out, *diagonal;
} operator_data;

static mpk_status apply_matrix(void *self, const void *x, void *y) {
    operator_data *op = self;
    numbers_load(op->eq->scalar, op->eq->n, x, op->in);
    memset(op->out, 0, 2 * (size_t)op->eq->n * sizeof *op->out);
    for (int64_t k = 0; k < op->count; k++) {
        const quad_entry *e = &op->whole[k];
        const double *xj = op->in + 2 * e->j;
        double *yi = op->out + 2 * e->i;
        yi[0] += e->re * xj[0] - e->im * xj[1];
        yi[1] += e->re * xj[1] + e->im * xj[0];
    }
    numbers_store(op->eq->scalar, op->eq->n, op->out, y);
    return MPK_OK;
}

static mpk_status apply_diagonal(void *self, const void *x, void *y) {
    operator_data *op = self;
    numbers_load(op->eq->scalar, op->eq->n, x, op->in);
    for (int32_t k = 0; k < 2 * op->eq->n; k++) op->in[k] *= op->diagonal[k / 2];
    numbers_store(op->eq->scalar, op->eq->n, op->in, y);
    return MPK_OK;
}

/* 1 / |a_ii|, or 1 where a_ii is too small to divide by. */
static void set_diagonal(operator_data *op) {
    const double most = is_single(op->eq->scalar) ? 0x1p60 : 0x1p500;
    for (int32_t i = 0; i < op->eq->n; i++) op->diagonal[i] = 1;
    for (int64_t k = 0; k < op->count; k++) {
        const quad_entry *e = &op->whole[k];
        const double size = fabs(e->re) + fabs(e->im);
        if (e->i == e->j && size > 1 / most && size < most) op->diagonal[e->i] = 1 / size;
    }
}

static mpk_krylov_task task_of(const trial *t, operator_data *op) {
    const mpk_options *o = &t->setup.options;
    mpk_krylov_task task;
    mpk_krylov_task_init(&task);
    task.method = o->krylov == MPK_KRYLOV_AUTO ? MPK_KRYLOV_SQMR : o->krylov;
    task.scalar = t->eq.scalar;
    task.symmetry = t->eq.symmetry;
    task.n = t->eq.n;
    task.a = (mpk_operator){apply_matrix, op};
    if (t->setup.diagonal) task.m = (mpk_operator){apply_diagonal, op};
    if (o->tolerance >= 0) task.tolerance = o->tolerance;
    task.max_iterations = o->max_iterations;
    task.restart = o->restart;
    task.shadow = o->shadow;
    task.check = t->setup.check;
    task.seed = o->seed;
    return task;
}

/* Fill x with the first guess. */
static void set_guess(const trial *t, sides *io) {
    const size_t bytes = (size_t)io->ld * mpk_scalar_size(t->eq.scalar);
    double *pairs = must_alloc(2 * (size_t)t->eq.n, sizeof *pairs);
    random_state r = random_start((uint64_t)t->setup.guess, 6);
    for (int32_t k = 0; t->setup.guess && k < 2 * t->eq.n; k++) pairs[k] = random_signed(&r);
    numbers_store(t->eq.scalar, t->eq.n, pairs, io->x);
    memcpy(io->x_copy, io->x, bytes);
    free(pairs);
}

void run_operator(verdicts *v, mpk_context *ctx) {
    /* one right-hand side: the others would only repeat it */
    trial one = *v->trial;
    if (one.eq.nrhs == 0) return;
    one.eq.nrhs = 1;
    const trial *whole = v->trial;
    v->trial = &one;
    v->truth.eq = &one.eq;
    const size_t n = (size_t)one.eq.n;
    operator_data op = {&one.eq, v->truth.whole, v->truth.count, NULL, NULL, NULL};
    op.in = must_alloc(2 * n, sizeof *op.in);
    op.out = must_alloc(2 * n, sizeof *op.out);
    op.diagonal = must_alloc(n, sizeof *op.diagonal);
    set_diagonal(&op);
    sides io = sides_make(&one.eq, &one.setup, 0);
    const size_t bytes = (size_t)io.ld * mpk_scalar_size(one.eq.scalar);
    if (n > 0) set_guess(&one, &io);
    if (one.setup.spoil && n > 0) {
        number_spoil(&one.setup, one.eq.scalar, one.eq.n, io.b);
        memcpy(io.b_copy, io.b, bytes);
    }
    mpk_krylov_info info;
    pattern_fill(&info, sizeof info);
    const mpk_krylov_task task = task_of(&one, &op);
    const mpk_status status = mpk_krylov_solve(ctx, &task, io.b, io.x, &info);
    sides_check(&io, v, "krylov_solve", status);
    pattern_check(v, "krylov_solve", status, &info, sizeof info);
    if (one.setup.spoil && n > 0) {
        judge_spoilt(v, ctx, "krylov_solve", status);
    } else if (!judge_status(v, ctx, "krylov_solve", status)) {
        const reported said = {.status = status,
                               .accuracy = -1,
                               .tolerance = task.tolerance,
                               .has_krylov = 1,
                               .krylov = info.residual};
        judge_solution(v, &said, io.x, io.ld);
    }
    sides_free(&io);
    free(op.in);
    free(op.out);
    free(op.diagonal);
    v->trial = whole;
    v->truth.eq = &whole->eq;
}
