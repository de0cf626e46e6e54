/* SPDX-License-Identifier: BSD-3-Clause */
/* Tickets of triangular solves as the device makes them (triangular/tasks.cuh): so many that sums
 * and the sort go over several pieces, and level sets so many that turns have two digits. On a GPU,
 * or on the module that computes on the host. */
#include "engines/cpu/block_factor/in_blocks.h"

#include "../batch/device_batch.h"
#undef mpk_batch_ldlt
#undef mpk_batch_solve
#undef mpk_batch_gemm
#undef mpk_batch_llt
#undef mpk_batch_ldu

#include "engines/cuda/triangular/state.h"
#include "engines/cpu/block_factor/block_factor.h"
#include "../device_store.h"
#include "factor/stages.h"

typedef struct run {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    device_store store;
    mpki_block_solver *solver;
    mpki_sweeps_task *ticket; /* host */
} run;

/* A chain of n frames of one row. reach: each row has one entry so far before the diagonal's
 * neighbour, too. */
static run chain(int32_t n, int32_t reach) {
    run r = {0};
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT, o.threads = 1;
    o.level = 0, o.block = 1, o.fill_factor = 0, o.drop_tolerance = 0;
    o.ordering = MPK_ORDERING_NATURAL, o.matching = MPK_OFF;
    assert_int_equal(mpk_context_create(NULL, &r.ctx), MPK_OK);
    int64_t *ap = malloc(((size_t)n + 1) * sizeof *ap), nnz = 0;
    int32_t *ai = malloc(3 * (size_t)n * sizeof *ai);
    double *ax = malloc(3 * (size_t)n * sizeof *ax);
    for (int32_t j = 0; j < n; j++) {
        ap[j] = nnz;
        ai[nnz] = j, ax[nnz++] = j % 5 == 2 ? -4 : 4;
        if (j + 1 < n) ai[nnz] = j + 1, ax[nnz++] = 1 + 0.01 * (j % 7);
        if (j + reach < n && reach > 1) ai[nnz] = j + reach, ax[nnz++] = 0.5;
    }
    ap[n] = nnz;
    assert_int_equal(
        mpk_problem_from_csc(r.ctx, n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &r.problem),
        MPK_OK);
    free(ap), free(ai), free(ax);
    in_blocks_begin();
    mpki_engine_use(r.ctx, &in_blocks);
    assert_false(mpk_failed(mpk_analyse(r.ctx, r.problem, &o, &r.an)));
    assert_false(mpk_failed(mpk_factorize(r.ctx, r.an, NULL, &o, &r.fac)));
    mpki_engine_use(r.ctx, NULL);
    const mpki_blocks *bf = r.fac->blocks->numbers;
    const mpki_device *d = mpki_cuda_keep(r.ctx, 0);
    int32_t takes = 0;
    assert_non_null(d);
    device_store_make(d, bf, &r.store);
    assert_false(r.store.failed);
    assert_int_equal(mpki_cuda_sweeps_make(r.ctx, bf->stages, &r.store.store, 1, &r.solver, &takes),
                     MPK_OK);
    const int64_t bytes = r.solver->task[2] * (int64_t)sizeof *r.ticket;
    r.ticket = malloc((size_t)bytes + 1);
    assert_int_equal(mpki_solver_copy(r.solver, r.ticket, r.solver->tasks, bytes, false), MPK_OK);
    assert_int_equal(mpki_solver_wait(r.solver), MPK_OK);
    return r;
}

static void end(run *r) {
    free(r->ticket);
    mpki_cuda_sweeps_free(r->ctx, &r->solver);
    device_store_free(&r->store);
    mpk_factor_destroy(&r->fac);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
    mpk_context_destroy(&r->ctx);
}

/* Packets of tickets follow each other from the first to the last byte. */
static void check_tickets(const run *r, int64_t least) {
    const mpki_block_solver *s = r->solver;
    int64_t before = -1;
    assert_true(s->task[1] >= least && s->task[2] >= 2 * least);
    assert_int_equal(r->ticket[0].at, 0);
    for (int64_t k = 0; k < s->task[2]; k++) {
        const mpki_sweeps_task t = r->ticket[k];
        assert_true((int64_t)t.at > before && t.size > 0);
        before = t.at;
        assert_true(16 * ((int64_t)t.at + t.size) <= s->packet_bytes);
        if (k + 1 < s->task[2]) assert_true(t.at + t.size <= r->ticket[k + 1].at);
    }
}

/* x := the factor's solution of b, here and there. */
static void check_solution(const run *r, int32_t n) {
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y), most = 0;
    for (int32_t i = 0; i < n; i++) x[i] = y[i] = sin(i + 1.0);
    assert_false(mpk_failed(mpk_solve_part(r->ctx, r->fac, MPK_PART_ALL, 1, x, n)));
    assert_int_equal(mpki_cuda_sweeps_apply(r->solver, MPK_PART_ALL, 1, y, n, y, n), MPK_OK);
    for (int32_t i = 0; i < n; i++)
        if (!(fabs(x[i] - y[i]) <= most)) most = fabs(x[i] - y[i]);
    assert_true(most <= 1e-12);
    free(x), free(y);
}

/* Each frame is a level set: turns of two digits, tickets for several chunks of the sort, units for
 * several of a thread's. */
static void test_chain(void **unused) {
    (void)unused;
    const int32_t n = 1300;
    run r = chain(n, 1);
    mpk_block_info info;
    mpk_factor_block_info_get(r.fac, &info);
    assert_int_equal(info.levels, n);
    check_tickets(&r, n - 1); /* the first one's M is I, too */
    check_solution(&r, n);
    end(&r);
}

/* The same tickets each time. */
static void test_again(void **unused) {
    (void)unused;
    run r = chain(300, 37), q = chain(300, 37);
    check_tickets(&r, 200);
    assert_int_equal(r.solver->task[2], q.solver->task[2]);
    assert_int_equal(r.solver->packet_bytes, q.solver->packet_bytes);
    assert_memory_equal(r.ticket, q.ticket, (size_t)r.solver->task[2] * sizeof *r.ticket);
    check_solution(&r, 300);
    end(&r), end(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_again),
    };
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
