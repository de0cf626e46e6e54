/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-th allocation fails, for every k, through every public verb that allocates: the status says
 * memory, outputs are as they were, nothing is lost, and the same call succeeds afterwards with the
 * same bits. Once with that one failure, once with memory that is gone from then on. */
#include "support.h"
#include "folder.h"

#include <stdbool.h>
#include <unistd.h>

#include "../sanitized.h" /* then later ones are taken in steps */

/* ---- memory that fails ---- */

typedef struct purse {
    int64_t calls, fail_at; /* 0: never */
    bool for_good;          /* and all calls after it */
    int64_t held;
} purse;

static void *purse_alloc(void *user, size_t size) {
    purse *p = user;
    const int64_t call = __atomic_add_fetch(&p->calls, 1, __ATOMIC_SEQ_CST);
    if (p->fail_at && (call == p->fail_at || (p->for_good && call > p->fail_at))) return NULL;
    void *ptr = aligned_alloc(64, (size + 63) / 64 * 64);
    if (ptr) __atomic_add_fetch(&p->held, 1, __ATOMIC_SEQ_CST);
    return ptr;
}

static void purse_release(void *user, void *ptr, size_t size) {
    (void)size;
    __atomic_sub_fetch(&((purse *)user)->held, 1, __ATOMIC_SEQ_CST);
    free(ptr);
}

/* ---- one call in its world ---- */

enum {
    ROOM = 4096,
    PARTS_FROM = 75,     /* kinds from here on are methods that take parts of A */
    AGAIN = 5,           /* after one failure in so many the call is repeated */
    THREADS_BYTES = 4096 /* most that a context holds of its own: its threads */
};

/* What stands before the call, what it reads, what it writes. */
typedef struct world {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_report *report;
    mpk_problem_view a;
    mpk_options o;
    double b[ROOM];
    /* outputs */
    unsigned char out[ROOM * sizeof(double)];
    mpk_problem *new_problem;
    mpk_analysis *new_an;
    mpk_factor *new_fac;
    mpk_report *new_report;
    void *new_rhs;
    mpk_block_stats stats;
    mpk_adaptive adaptive;
} world;

typedef struct scenario {
    const char *name;
    void (*prepare)(world *w);    /* what it needs; may be NULL */
    mpk_status (*verb)(world *w); /* the call; writes to w->out and w->new_... */
    int kind;                     /* of the case, for prepare and verb */
    bool may_recover;             /* may succeed in spite of the failure: it has another way */
} scenario;

static int kind; /* of the scenario at work */

static void clear(world *w) {
    mpk_adaptive_clear(&w->adaptive);
    mpk_block_stats_clear(w->ctx, &w->stats);
    mpk_report_destroy(&w->new_report);
    mpk_factor_destroy(&w->new_fac);
    mpk_analysis_destroy(&w->new_an);
    mpk_problem_destroy(&w->new_problem);
    mpk_free(w->ctx, &w->new_rhs);
    memset(w->out, 0x5a, sizeof w->out);
}

static void assert_untouched(const scenario *s, const world *w, int64_t k) {
    bool clean = !w->new_problem && !w->new_an && !w->new_fac && !w->new_report && !w->new_rhs &&
                 !w->stats.row;
    for (size_t i = 0; i < sizeof w->out; i++) clean &= w->out[i] == 0x5a;
    if (!clean) fail_msg("%s: allocation %lld failed, and outputs changed", s->name, (long long)k);
}

static void assert_error(const scenario *s, const world *w, mpk_status status) {
    const char *text = NULL;
    const mpk_status last = mpk_last_error(w->ctx, NULL, NULL, &text);
    if (mpk_failed(status) ? last != status || !*text : mpk_failed(last))
        fail_msg("%s: status %s, but the last error is %s: %s", s->name, mpk_status_name(status),
                 mpk_status_name(last), text);
}

static void open_world(const scenario *s, purse *p, world *w) {
    mpk_allocator allocator = {purse_alloc, purse_release, p};
    memset(w, 0, sizeof *w);
    kind = s->kind;
    assert_int_equal(mpk_context_create(&allocator, &w->ctx), MPK_OK);
    mpk_options_init(&w->o);
    w->o.threads = 1;
    for (int i = 0; i < ROOM; i++) w->b[i] = i % 7 - 2.5;
    if (s->prepare) s->prepare(w);
    clear(w);
}

/* What the context still holds without any object: its threads. */
static int64_t close_world(world *w) {
    int64_t now = -1;
    clear(w);
    mpk_report_destroy(&w->report);
    mpk_factor_destroy(&w->fac);
    mpk_analysis_destroy(&w->an);
    mpk_problem_destroy(&w->problem);
    mpk_memory_usage(w->ctx, &now, NULL);
    mpk_context_destroy(&w->ctx);
    return now;
}

/* One run; returns whether the allocation that should fail was reached.
 *  want [in] what comes out where nothing fails */
static bool attempt(const scenario *s, int64_t k, bool for_good, const unsigned char *want) {
    static world w;
    purse p = {0};
    open_world(s, &p, &w);
    p.calls = 0;
    p.fail_at = k;
    p.for_good = for_good;
    mpk_status status = s->verb(&w);
    const bool reached = p.calls >= k;
    p.fail_at = 0;
    if (status == MPK_ERR_MEMORY) {
        if (!reached) fail_msg("%s: no memory, but none was refused", s->name);
        assert_untouched(s, &w, k);
    } else if (reached && !s->may_recover) {
        fail_msg("%s: allocation %lld failed%s: %s", s->name, (long long)k,
                 for_good ? " and all after it" : "", mpk_status_name(status));
    } else {
        assert_true(!mpk_failed(status));
        if (!reached) assert_memory_equal(w.out, want, sizeof w.out);
    }
    assert_error(s, &w, status);
    if (mpk_failed(status) && k % AGAIN == 1) { /* what is left is as good as before */
        clear(&w);
        status = s->verb(&w);
        if (mpk_failed(status))
            fail_msg("%s: not even afterwards: %s", s->name, mpk_status_name(status));
        assert_memory_equal(w.out, want, sizeof w.out);
    }
    const int64_t now = close_world(&w);
    if (now > THREADS_BYTES) fail_msg("%s: %lld bytes are not given back", s->name, (long long)now);
    if (p.held)
        fail_msg("%s: allocation %lld failed: %lld lost", s->name, (long long)k, (long long)p.held);
    return reached;
}

/* Returns how many allocations the call makes. */
static int64_t sweep(const scenario *s) {
    static unsigned char want[ROOM * sizeof(double)];
    static world w;
    purse p = {0};
    open_world(s, &p, &w);
    const mpk_status status = s->verb(&w);
    if (mpk_failed(status) && status != MPK_ERR_UNSUPPORTED)
        fail_msg("%s: %s", s->name, mpk_status_name(status));
    memcpy(want, w.out, sizeof want);
    assert_true(close_world(&w) <= THREADS_BYTES);
    assert_int_equal(p.held, 0);
    int64_t k = 1;
    for (int for_good = 0; !mpk_failed(status) && for_good < 2; for_good++)
        for (k = 1; attempt(s, k, for_good, want);) {
            k++;
#if TEST_SANITIZED
            k += k / (test_all_cases() ? 8 : 4);
#endif
        }
    return k - 1;
}

/* ---- problems ---- */

static void generate(world *w, const char *spec) {
    assert_int_equal(mpk_problem_generate(w->ctx, spec, 1, &w->problem), MPK_OK);
    mpk_problem_view_get(w->problem, &w->a);
    assert_true(2 * w->a.n <= ROOM);
}

static const char *const specs[] = {"nlpkkt 2", "helmholtz 2d 8 0", "random 50 0.06 0.3 hermitian",
                                    "random 40 0.08 0.3 complex", "stokes mac 5"};

static mpk_status make_arrays(world *w) {
    const int64_t ap[] = {0, 3, 6, 9};
    const int32_t ai[] = {2, 0, 1, 0, 1, 2, 1, 2, 0}, at[] = {2, 0, 1, 1, 0};
    const double ax[] = {4, 1, 2, 2, 3, 5, 5, 6, 4};
    return kind ? mpk_problem_from_triplets(w->ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_EITHER, 5, at, at,
                                            ax, &w->new_problem)
                : mpk_problem_from_csc(w->ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_FULL, ap, ai, ax,
                                       &w->new_problem);
}

static mpk_status make_generated(world *w) {
    return mpk_problem_generate(w->ctx, specs[kind], 1, &w->new_problem);
}

static mpk_status read_file(world *w) {
    static const char *const names[] = {"/tiny/kkt.rb", "/tiny/hermitian.mtx",
                                        "/definite/bcsstk03.mtx.xz", "/tiny/array.mtx"};
    char path[512];
    snprintf(path, sizeof path, "%s%s", METAPACK_DATA, names[kind]);
    return mpk_problem_read(w->ctx, path, &w->new_problem);
}

static void prepare_written(world *w) {
    generate(w, specs[2]);
}

static mpk_status write_file(world *w) {
    return mpk_problem_write(w->ctx, w->problem, in_folder(kind ? "a.rb" : "a.mtx.gz"));
}

static mpk_status read_rhs(world *w) {
    return mpk_rhs_read(w->ctx, METAPACK_DATA "/tiny/kkt_b.mtx", 5, kind ? MPK_Z : MPK_S,
                        (int32_t *)w->out, &w->new_rhs);
}

static mpk_status write_rhs(world *w) {
    return mpk_rhs_write(w->ctx, in_folder("x.mtx.gz"), 100, MPK_Z, 2, w->b, 150);
}

/* ---- analysis, factors, solutions ---- */

static void options_of_kind(mpk_options *o) {
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT, MPK_METHOD_JACOBI,
                                         MPK_METHOD_ILU0, MPK_METHOD_NONE};
    o->method = methods[kind % 5];
    if (kind >= PARTS_FROM) o->method = (mpk_method)(MPK_METHOD_DIAGONAL + kind % 3);
    o->level = kind / 5 % 3 - 1;
    o->threads = kind / 5 % 3 == 2 ? 2 : 1;
    o->stages = kind / 5 % 3 + 1;
    o->factor_type = kind / 5 % 3 == 1 ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
    o->schedule = kind / 5 % 3 == 2 ? MPK_SCHEDULE_SUBSETS : MPK_SCHEDULE_PULL;
    if (o->factor_type == MPK_TYPE_LDU) o->krylov = MPK_KRYLOV_GMRES;
    o->block = 6;
    if (o->method != MPK_METHOD_LDLT) o->ordering = MPK_ORDERING_AUTO;
}

static void prepare_problem(world *w) {
    generate(w, specs[kind % 4]);
}

/* METIS and SCOTCH take memory of their own, which does not fail here. */
static mpk_status analyse_direct(world *w) {
    static const mpk_ordering orderings[] = {MPK_ORDERING_AMD,    MPK_ORDERING_ND,
                                             MPK_ORDERING_RCM,    MPK_ORDERING_NATURAL,
                                             MPK_ORDERING_SCOTCH, MPK_ORDERING_METIS};
    mpk_options o = w->o;
    o.method = MPK_METHOD_LDLT;
    o.ordering = orderings[kind % 6];
    o.matching = kind % 2 ? MPK_ON : MPK_OFF;
    o.threads = 1 + kind % 2;
    const mpk_status status = mpk_analyse(w->ctx, w->problem, &o, &w->new_an);
    if (!mpk_failed(status)) mpk_analysis_perm(w->new_an, (int32_t *)w->out);
    return status;
}

static mpk_status analyse_blocks(world *w) {
    mpk_options o = w->o;
    o.method = MPK_METHOD_ILDLT;
    o.strategy = (mpk_strategy)(kind % 4);
    o.block = 5;
    o.ordering = kind / 4 ? MPK_ORDERING_GMC : MPK_ORDERING_AUTO;
    const mpk_status status = mpk_analyse(w->ctx, w->problem, &o, &w->new_an);
    if (!mpk_failed(status)) mpk_analysis_perm(w->new_an, (int32_t *)w->out);
    return status;
}

static mpk_status block_statistics(world *w) {
    const int32_t levels[] = {0, 1, -1};
    return mpk_block_statistics(w->ctx, w->problem, &w->o, levels, 3, kind % 2, &w->stats);
}

static void prepare_analysis(world *w) {
    prepare_problem(w);
    options_of_kind(&w->o);
    assert_true(mpk_analyse(w->ctx, w->problem, &w->o, &w->an) >= 0);
}

static mpk_status factorize(world *w) {
    const mpk_status status = mpk_factorize(w->ctx, w->an, w->a.ax, &w->o, &w->new_fac);
    if (!mpk_failed(status)) mpk_get(w->ctx, w->new_fac, MPK_GET_SCALE, w->out, sizeof w->out);
    return status;
}

static void prepare_factor(world *w) {
    prepare_analysis(w);
    assert_true(mpk_factorize(w->ctx, w->an, w->a.ax, &w->o, &w->fac) >= 0);
}

static mpk_status refactorize(world *w) {
    const mpk_status status = mpk_refactorize(w->ctx, w->a.ax, &w->o, w->fac);
    if (!mpk_failed(status)) mpk_get(w->ctx, w->fac, MPK_GET_SCALE, w->out, sizeof w->out);
    return status;
}

/* A grid whose diagonal was strong when it was analysed and is gone: the order is given up, and the
 * matrix analysed anew. */
static void prepare_reanalysis(world *w) {
    enum { SIDE = 50, N = SIDE * SIDE };
    static int32_t row[3 * N], col[3 * N];
    static double value[3 * N];
    int64_t nnz = 0;
    support_state = 7;
    for (int32_t j = 0; j < N; j++) {
        const int32_t to[] = {j, j % SIDE == SIDE - 1 ? N : j + 1, j + SIDE};
        for (int k = 0; k < 3; k++)
            if (to[k] < N) {
                row[nnz] = to[k], col[nnz] = j;
                value[nnz++] = (k ? 0.6 : 5) + 0.4 * uniform();
            }
    }
    assert_int_equal(mpk_problem_from_triplets(w->ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, nnz, row,
                                               col, value, &w->problem),
                     MPK_OK);
    mpk_problem_view_get(w->problem, &w->a);
    assert_int_equal(mpk_analyse(w->ctx, w->problem, &w->o, &w->an), MPK_OK);
    assert_int_equal(mpk_factorize(w->ctx, w->an, w->a.ax, &w->o, &w->fac), MPK_OK);
}

static mpk_status reanalyse(world *w) {
    static double ax[3 * 2500];
    assert_true(w->a.nnz <= 3 * 2500);
    memcpy(ax, w->a.ax, (size_t)w->a.nnz * sizeof *ax);
    for (int32_t j = 0; j < w->a.n; j++) ax[w->a.ap[j]] = 0;
    const mpk_status status = mpk_refactorize(w->ctx, ax, &w->o, w->fac);
    if (!mpk_failed(status)) mpk_get(w->ctx, w->fac, MPK_GET_INERTIA, w->out, sizeof w->out);
    return status;
}

static void test_reanalysis_happens(void **unused) {
    (void)unused;
    static world w;
    mpk_factor_info info;
    purse p = {0};
    const scenario s = {.prepare = prepare_reanalysis};
    open_world(&s, &p, &w);
    assert_int_equal(reanalyse(&w), MPK_OK);
    mpk_factor_info_get(w.fac, &info);
    assert_int_equal(info.stages, 2);
    close_world(&w);
}

static mpk_status solve(world *w) {
    static const mpk_krylov methods[] = {MPK_KRYLOV_AUTO,   MPK_KRYLOV_SQMR,     MPK_KRYLOV_MINRES,
                                         MPK_KRYLOV_SYMMLQ, MPK_KRYLOV_CG,       MPK_KRYLOV_GMRES,
                                         MPK_KRYLOV_FGMRES, MPK_KRYLOV_BICGSTAB, MPK_KRYLOV_IDR};
    mpk_options o = w->o;
    const int32_t nrhs = kind % 3 + 1;
    o.max_iterations = 20;
    if (o.krylov == MPK_KRYLOV_AUTO) o.krylov = methods[kind % 9];
    if (kind % 4 == 3 && o.krylov >= MPK_KRYLOV_MINRES && o.krylov <= MPK_KRYLOV_CG)
        o.krylov = MPK_KRYLOV_SQMR; /* they are not for complex symmetric matrices */
    o.condition = kind % 2 ? MPK_ON : MPK_OFF;
    return mpk_solve(w->ctx, w->fac, nrhs, w->b, w->a.n, w->out, w->a.n, &o, NULL);
}

static mpk_status part(world *w) {
    const int32_t n = w->a.n, nrhs = 2;
    static double x[ROOM];
    memcpy(x, w->b, sizeof x);
    const mpk_status status = mpk_solve_part(w->ctx, w->fac, (mpk_part)(1 + kind / 15), nrhs, x, n);
    if (mpk_failed(status)) assert_memory_equal(x, w->b, sizeof x);
    if (!mpk_failed(status)) memcpy(w->out, x, sizeof x);
    return status;
}

static mpk_status adaptive(world *w) {
    mpk_options o = w->o;
    double history[20];
    int32_t count = -7;
    o.method = MPK_METHOD_AUTO;
    o.direct = kind % 2 ? MPK_OFF : MPK_AUTO;
    o.threads = 1 + kind / 2 % 2;
    o.max_iterations = 60;
    const mpk_status status = mpk_solve_adaptive(w->ctx, w->problem, &o, 1, w->b, w->a.n, w->out,
                                                 w->a.n, history, 20, &count, &w->adaptive);
    return status;
}

/* ---- Krylov methods on their own ---- */

static mpk_status laplacian(void *self, const void *x, void *y) {
    const int32_t n = *(int32_t *)self;
    const double *from = x;
    double *to = y;
    for (int32_t i = 0; i < n; i++)
        to[i] = 2.5 * from[i] - (i ? from[i - 1] : 0) - (i + 1 < n ? from[i + 1] : 0);
    return MPK_OK;
}

static mpk_status krylov(world *w) {
    int32_t n = 60;
    double history[10], x[60] = {0};
    mpk_krylov_task task;
    mpk_krylov_info info;
    mpk_krylov_task_init(&task);
    task.method = (mpk_krylov)(MPK_KRYLOV_SQMR + kind);
    task.n = n;
    task.a = (mpk_operator){laplacian, &n};
    task.history = history;
    task.history_size = 10;
    task.restart = 20;
    const mpk_status status = mpk_krylov_solve(w->ctx, &task, w->b, x, &info);
    if (!mpk_failed(status)) memcpy(w->out, x, sizeof x);
    for (int i = 0; mpk_failed(status) && i < n; i++) assert_true(x[i] == 0);
    return status;
}

/* ---- reports and jobs ---- */

static void run_of(world *w, mpk_run *run) {
    static const double history[] = {1, 0.1, 1e-7};
    *run =
        (mpk_run){.source = "name", .message = "text", .backend = "cpu", .status = MPK_INACCURATE};
    run->problem = w->a;
    run->have_analysis = run->have_factor = run->have_solve = kind != 0;
    mpk_analysis_info_get(w->an, &run->analysis);
    mpk_factor_info_get(w->fac, &run->factor);
    mpk_factor_block_info_get(w->fac, &run->block);
    run->history = history;
    run->history_count = 3;
    run->solve.krylov.method = MPK_KRYLOV_SQMR;
    run->options = w->o;
}

static mpk_status report(world *w) {
    mpk_run run;
    run_of(w, &run);
    return mpk_report_create(w->ctx, &run, &w->new_report);
}

static void prepare_report(world *w) {
    mpk_run run;
    prepare_factor(w);
    run_of(w, &run);
    assert_int_equal(mpk_report_create(w->ctx, &run, &w->report), MPK_OK);
}

static mpk_status plot(world *w) {
    return mpk_report_plot(w->ctx, w->report, w->problem, w->an, w->fac, in_folder("p.svg"));
}

/* The report of a failure is an output, too: it says so. */
static mpk_status job(world *w) {
    mpk_report *made = NULL;
    mpk_options o = w->o;
    mpk_job j = {.struct_size = sizeof j,
                 .goal = kind % 5 == 4 ? MPK_GOAL_READ : MPK_GOAL_SOLVE,
                 .matrix = METAPACK_DATA "/tiny/kkt.mtx",
                 .rhs = kind % 2 ? METAPACK_DATA "/tiny/kkt_b.mtx" : NULL,
                 .output = in_folder("x.mtx"),
                 .plot = kind < 2 ? in_folder("p.svg") : NULL};
    options_of_kind(&o);
    o.threads = 1;
    if (kind == 0) j.perm = in_folder("perm"), o.ordering = MPK_ORDERING_GIVEN;
    if (kind == 5) o.method = MPK_METHOD_AUTO;
    unlink(j.output);
    if (j.plot) unlink(j.plot);
    const mpk_status status = mpk_job_run(w->ctx, &j, &o, &made);
    if (mpk_failed(status)) {
        assert_true(!made || mpk_report_run(made)->status == status);
        /* only the plot may be missing beside a solution that is whole */
        if (j.plot) assert_int_not_equal(access(j.plot, F_OK), 0);
    } else {
        assert_int_equal(access(j.output, F_OK), 0);
        if (j.plot) assert_int_equal(access(j.plot, F_OK), 0);
    }
    mpk_report_destroy(&made);
    return status;
}

/* Entries of the inverse: the diagonal, the pattern. */
static mpk_status job_inverse(world *w) {
    mpk_report *made = NULL;
    mpk_options o = w->o;
    const mpk_job j = {.struct_size = sizeof j,
                       .goal = MPK_GOAL_INVERSE,
                       .matrix = METAPACK_DATA "/tiny/kkt.mtx",
                       .output = in_folder("x.mtx"),
                       .selection = kind};
    o.method = MPK_METHOD_LDLT, o.threads = 1;
    unlink(j.output);
    const mpk_status status = mpk_job_run(w->ctx, &j, &o, &made);
    if (!mpk_failed(status)) assert_int_equal(access(j.output, F_OK), 0);
    mpk_report_destroy(&made);
    return status;
}

static mpk_status job_auto(world *w) {
    kind = 5;
    return job(w);
}

/* ---- dense matrices and batches, which allocate where no work is given ---- */

enum { DENSE_N = 20 };

static void dense_matrix(double *a) {
    for (int j = 0; j < DENSE_N; j++)
        for (int i = 0; i < DENSE_N; i++)
            a[i + j * DENSE_N] = (i * j + i + j) % 5 - 2 + (i == j ? (i % 2 ? 9 : -9) : 0);
}

static mpk_status dense_call(world *w) {
    static double a[DENSE_N * DENSE_N], f[DENSE_N * DENSE_N], x[DENSE_N];
    static int32_t pivots[4 * DENSE_N];
    static _Alignas(64) unsigned char extra[1 << 16];
    mpk_dense d;
    mpk_dense_sizes sizes;
    mpk_inertia inertia = {0};
    mpk_dense_init(&d);
    d.n = DENSE_N;
    d.method = (mpk_dense_method)(kind % MPK_DENSE_COUNT);
    d.threads = 1 + kind % 2;
    d.condition = MPK_ON;
    dense_matrix(a);
    mpk_status status = mpk_dense_query(w->ctx, &d, 1, &sizes);
    if (mpk_failed(status)) return status;
    assert_true(sizes.pivots <= 4 * DENSE_N && sizes.extra_bytes <= (int64_t)sizeof extra);
    mpk_dense_factor factor = {
        .struct_size = sizeof factor, .f = f, .ldf = DENSE_N, .pivots = pivots, .extra = extra};
    if (kind / MPK_DENSE_COUNT == 0) {
        status = mpk_dense_sysv(w->ctx, &d, a, DENSE_N, &factor, 1, w->b, DENSE_N, x, DENSE_N, NULL,
                                0, NULL);
    } else {
        status = mpk_dense_factorize(w->ctx, &d, a, DENSE_N, &factor, NULL, 0, NULL);
        if (!mpk_failed(status))
            status = mpk_dense_solve(w->ctx, &d, a, DENSE_N, &factor, 1, w->b, DENSE_N, x, DENSE_N,
                                     NULL, 0, NULL);
        if (!mpk_failed(status)) status = mpk_dense_inertia(w->ctx, &d, &factor, NULL, 0, &inertia);
    }
    if (!mpk_failed(status)) memcpy(w->out, x, sizeof x);
    return status;
}

static mpk_status batch_call(world *w) {
    enum { COUNT = 7, N = 5 };
    static double a[COUNT * N * N], b[COUNT * N];
    static int32_t pivots[2 * COUNT * N];
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.count = COUNT;
    batch.n = N;
    batch.threads = 1 + kind % 2;
    batch.pivoting = kind % 3 ? MPK_PIVOTING_COMPLETE : MPK_PIVOTING_NONE;
    for (int i = 0; i < COUNT * N * N; i++) a[i] = i % N == i / N % N ? 9 + i % 3 : (i % 5) / 5.0;
    memcpy(b, w->b, sizeof b);
    const mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, a, N * N, N, 1};
    const mpk_batch_array y = {MPK_BATCH_STRIDED, MPK_HOST, b, N, N, 1};
    int32_t *p = kind % 3 ? pivots : NULL;
    const mpk_batch_method method = (mpk_batch_method)(kind % 3);
    mpk_status status = (method == MPK_BATCH_LLT    ? mpk_batch_llt
                         : method == MPK_BATCH_LDLT ? mpk_batch_ldlt
                                                    : mpk_batch_ldu)(w->ctx, &batch, &x, p, NULL);
    if (!mpk_failed(status)) status = mpk_batch_solve(w->ctx, &batch, method, &x, p, 1, &y, NULL);
    if (!mpk_failed(status)) {
        const mpk_batch_product product = {N, 1, N, NULL, 0, 1, 0};
        static double c[COUNT * N];
        const mpk_batch_array z = {MPK_BATCH_STRIDED, MPK_HOST, c, N, N, 1};
        status = mpk_batch_gemm(w->ctx, &batch, &product, &x, NULL, &y, &z);
        if (!mpk_failed(status)) memcpy(w->out, c, sizeof c);
    }
    return status;
}

/* ---- the tests ---- */

static void each(scenario s, int kinds) {
    int64_t allocations = 0;
    for (s.kind = 0; s.kind < kinds; s.kind++) {
        char name[64];
        scenario one = s;
        snprintf(name, sizeof name, "%s, case %d", s.name, s.kind);
        one.name = name;
        allocations += sweep(&one);
    }
    assert_true(allocations > kinds); /* else nothing was tested */
}

static void one(scenario s, int of_kind) {
    s.kind = of_kind;
    assert_true(sweep(&s) > 1);
}

static void test_context(void **unused) {
    (void)unused;
    for (int64_t k = 1; k < 3; k++) {
        purse p = {.fail_at = k};
        mpk_allocator allocator = {purse_alloc, purse_release, &p};
        mpk_context *ctx = NULL;
        const mpk_status status = mpk_context_create(&allocator, &ctx);
        assert_int_equal(status, k == 1 ? MPK_ERR_MEMORY : MPK_OK);
        assert_int_equal(ctx != NULL, k > 1);
        mpk_context_destroy(&ctx);
        assert_int_equal(p.held, 0);
    }
}

static void test_problems(void **unused) {
    (void)unused;
    each((scenario){.name = "from arrays", .verb = make_arrays}, 2);
    each((scenario){.name = "generate", .verb = make_generated}, 5);
    each((scenario){.name = "read", .verb = read_file}, 4);
    each((scenario){.name = "write", .prepare = prepare_written, .verb = write_file}, 2);
    each((scenario){.name = "read a right-hand side", .verb = read_rhs}, 2);
    each((scenario){.name = "write a solution", .verb = write_rhs}, 1);
}

static void test_analyses(void **unused) {
    (void)unused;
    each((scenario){.name = "analyse", .prepare = prepare_problem, .verb = analyse_direct}, 6);
    each((scenario){.name = "analyse blocks", .prepare = prepare_problem, .verb = analyse_blocks},
         8);
    each((scenario){.name = "block statistics",
                    .prepare = prepare_problem,
                    .verb = block_statistics},
         2);
}

static void test_factors(void **unused) {
    (void)unused;
    each((scenario){.name = "factorize", .prepare = prepare_analysis, .verb = factorize}, 15);
    each((scenario){.name = "refactorize", .prepare = prepare_factor, .verb = refactorize}, 15);
    for (int k = PARTS_FROM; k < PARTS_FROM + 3; k++) {
        one((scenario){.name = "factorize parts", .prepare = prepare_analysis, .verb = factorize},
            k);
        one((scenario){.name = "solve with parts", .prepare = prepare_factor, .verb = solve}, k);
    }
    each((scenario){.name = "refactorize anew", .prepare = prepare_reanalysis, .verb = reanalyse},
         1);
}

static void test_solves(void **unused) {
    (void)unused;
    /* without memory for rows a factor on blocks is applied by its blocks */
    each((scenario){.name = "solve", .prepare = prepare_factor, .verb = solve, .may_recover = true},
         45);
    each((scenario){.name = "solve a part", .prepare = prepare_factor, .verb = part}, 75);
    each((scenario){.name = "Krylov", .verb = krylov}, 8);
}

/* Memory that the direct solver lacks sends it to the iterative ones: an answer is no failure. */
static void test_adaptive(void **unused) {
    (void)unused;
    each(
        (scenario){
            .name = "adaptive", .prepare = prepare_problem, .verb = adaptive, .may_recover = true},
        4);
}

static void test_reports(void **unused) {
    (void)unused;
    each((scenario){.name = "report", .prepare = prepare_factor, .verb = report}, 2);
    each((scenario){.name = "plot", .prepare = prepare_report, .verb = plot}, 3);
    each((scenario){.name = "job", .verb = job}, 5);
    each((scenario){.name = "job, inverse", .verb = job_inverse}, 2);
    each((scenario){.name = "job, method auto", .verb = job_auto, .may_recover = true}, 1);
}

static void test_dense_and_batches(void **unused) {
    (void)unused;
    each((scenario){.name = "dense", .verb = dense_call}, 2 * MPK_DENSE_COUNT);
    each((scenario){.name = "batch", .verb = batch_call}, 6);
}

static int enter(void **unused) {
    (void)unused;
    if (!mkdtemp(folder)) return 1;
    FILE *file = fopen(in_folder("perm"), "w");
    return !file || fputs("5 4 3 2 1\n", file) < 0 || fclose(file);
}

static int leave(void **unused) {
    (void)unused;
    static const char *const names[] = {"perm", "a.rb", "a.mtx.gz", "x.mtx.gz", "x.mtx", "p.svg"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) unlink(in_folder(names[k]));
    return rmdir(folder); /* nothing half-written may be left */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_context),
                                       cmocka_unit_test(test_problems),
                                       cmocka_unit_test(test_analyses),
                                       cmocka_unit_test(test_factors),
                                       cmocka_unit_test(test_reanalysis_happens),
                                       cmocka_unit_test(test_solves),
                                       cmocka_unit_test(test_adaptive),
                                       cmocka_unit_test(test_reports),
                                       cmocka_unit_test(test_dense_and_batches)};
    return cmocka_run_group_tests(tests, enter, leave);
}
