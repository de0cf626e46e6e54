/* SPDX-License-Identifier: BSD-3-Clause */
/* What a parent made, in a forked child: solved with, computed anew, destroyed, to the same bits
 * and the last byte; of every form, for 1 to 8 threads, at small and large sizes, in a child of
 * a child, and while another thread of the parent is at work. A child that waits for what has
 * vanished is shot. */
#include "support.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitized.h"

enum { PATIENCE = 60, CODE = 40 };

/* ---- memory, counted: in a child, too ---- */

static void *take(void *user, size_t size) {
    __atomic_add_fetch((long *)user, 1, __ATOMIC_SEQ_CST);
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void give(void *user, void *ptr, size_t size) {
    (void)size;
    __atomic_sub_fetch((long *)user, 1, __ATOMIC_SEQ_CST);
    free(ptr);
}

/* ---- a factor with all that it needs ---- */

typedef struct objects {
    long held;
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options o;
    double *b, *x, *want;
} objects;

static void destroy(objects *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

static mpk_status solve(objects *s, mpk_context *ctx) {
    memset(s->x, 0, (size_t)s->a.n * sizeof *s->x);
    return mpk_solve(ctx, s->fac, 1, s->b, s->a.n, s->x, s->a.n, &s->o, NULL);
}

static bool same(const objects *s) {
    return !memcmp(s->x, s->want, (size_t)s->a.n * sizeof *s->x);
}

static void make(objects *s, const char *spec, mpk_method method, int threads) {
    const mpk_allocator allocator = {take, give, &s->held};
    memset(s, 0, sizeof *s);
    mpk_options_init(&s->o);
    s->o.method = method;
    s->o.threads = threads;
    s->o.ordering = MPK_ORDERING_ND;
    s->o.max_iterations = 20;
    if (method >= MPK_METHOD_ILDLT) s->o.krylov = MPK_KRYLOV_GMRES;
    assert_int_equal(mpk_context_create(&allocator, &s->ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(s->ctx, spec, 1, &s->problem), MPK_OK);
    mpk_problem_view_get(s->problem, &s->a);
    assert_true(mpk_analyse(s->ctx, s->problem, &s->o, &s->an) >= 0);
    assert_true(mpk_factorize(s->ctx, s->an, s->a.ax, &s->o, &s->fac) >= 0);
    s->b = calloc((size_t)s->a.n, sizeof *s->b);
    s->x = calloc((size_t)s->a.n, sizeof *s->x);
    s->want = calloc((size_t)s->a.n, sizeof *s->want);
    for (int64_t i = 0; i < s->a.n; i++) s->b[i] = (double)(i % 7) - 2.5;
    assert_true(solve(s, s->ctx) >= 0);
    memcpy(s->want, s->x, (size_t)s->a.n * sizeof *s->x);
}

static void end(objects *s) {
    destroy(s);
    assert_int_equal(s->held, 0);
    free(s->b), free(s->x), free(s->want);
}

/* ---- children ---- */

/* 0, or the number of what went wrong; runs in a child. */
typedef int errand_fn(void *arg);

static int child(errand_fn *errand, void *arg) {
    int code = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(PATIENCE);
        _exit(errand(arg));
    }
    if (pid < 0 || waitpid(pid, &code, 0) != pid) return CODE;
    return WIFEXITED(code) ? WEXITSTATUS(code) : CODE + 1;
}

static int ends(void *arg) {
    objects *s = arg;
    destroy(s);
    return s->held == 0 ? 0 : 1;
}

static int works(void *arg) {
    objects *s = arg;
    mpk_context *other = NULL;
    if (solve(s, s->ctx) < 0) return 2;
    if (!same(s)) return 3;
    if (mpk_refactorize(s->ctx, s->a.ax, &s->o, s->fac) < 0) return 4;
    if (solve(s, s->ctx) < 0 || !same(s)) return 5;
    if (mpk_context_create(NULL, &other) < 0) return 6;
    if (solve(s, other) < 0 || !same(s)) return 7;
    mpk_context_destroy(&other);
    s->o.threads = s->o.threads % 3 + 1; /* of another pool */
    if (solve(s, s->ctx) < 0 || !same(s)) return 8;
    return ends(s);
}

static int has_a_child(void *arg) {
    objects *s = arg;
    if (child(works, s)) return 9;
    return works(s) == 0 && child(ends, s) == 0 ? 0 : 10; /* the last of nothing */
}

static void test_every_form(void **unused) {
    (void)unused;
#if TEST_THREAD_SANITIZED
    skip();
#endif
    static const mpk_method methods[] = {
        MPK_METHOD_LDLT, MPK_METHOD_ILDLT,    MPK_METHOD_ILU0,         MPK_METHOD_JACOBI,
        MPK_METHOD_NONE, MPK_METHOD_DIAGONAL, MPK_METHOD_BLOCK_JACOBI, MPK_METHOD_SSOR};
    static const char *const specs[] = {"helmholtz 2d 5 0.3", "helmholtz 2d 40 0.3",
                                        "helmholtz 3d 12 0.3"};
    static const int threads[] = {1, 2, 3, 8};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (int k = 0; k < 3; k++)
            for (int t = 0; t < 4; t++) {
                if ((m + (size_t)k + (size_t)t) % (TEST_SANITIZED ? 6 : 1 + k)) continue;
                static objects s;
                make(&s, specs[k], methods[m], threads[t]);
                assert_int_equal(child(ends, &s), 0);
                assert_int_equal(child(works, &s), 0);
                if (t % 2) assert_int_equal(child(has_a_child, &s), 0);
                assert_true(solve(&s, s.ctx) >= 0 && same(&s)); /* the parent's are its own */
                end(&s);
            }
}

/* ---- what has no factor: dense and batched matrices, approximate inverses, iterations ---- */

enum { N = 600, MANY = 400, SMALL = 12 };

typedef struct others {
    long held;
    mpk_context *ctx;
    mpk_isai *isai;
    int64_t *ptr;
    int32_t *row;
    double *a, *f, *b, *x, *val;
    int threads;
} others;

static mpk_status product(void *self, const void *vx, void *vy) {
    const double *x = vx;
    double *y = vy;
    (void)self;
    for (int i = 0; i < N; i++)
        y[i] = (2 + i % 3) * x[i] + (i ? x[i - 1] : 0) + (i < N - 1 ? x[i + 1] : 0);
    return MPK_OK;
}

/* Everything once, sums of the results into `sum`. */
static int use(others *s, double sum[4]) {
    mpk_dense d;
    mpk_batch batch;
    mpk_dense_init(&d);
    d.n = N, d.threads = s->threads, d.method = MPK_DENSE_TILE;
    static int32_t pivots[N + MANY * SMALL];
    mpk_dense_factor f = {.struct_size = sizeof f, .f = s->f, .ldf = N, .pivots = pivots};
    if (mpk_dense_sysv(s->ctx, &d, s->a, N, &f, 1, s->b, N, s->x, N, NULL, 0, NULL) < 0) return 1;
    for (int i = 0; i < N; i++) sum[0] += s->x[i];
    mpk_batch_init(&batch);
    batch.count = MANY, batch.n = SMALL, batch.pivoting = MPK_PIVOTING_COMPLETE;
    batch.threads = s->threads;
    memcpy(s->f, s->a, MANY * SMALL * SMALL * sizeof *s->f);
    const mpk_batch_array array = {.data = s->f, .ld = SMALL, .stride = SMALL * SMALL};
    if (mpk_batch_ldlt(s->ctx, &batch, &array, pivots, NULL) < 0) return 2;
    for (int i = 0; i < MANY * SMALL * SMALL; i++) sum[1] += isfinite(s->f[i]) ? s->f[i] : 0;
    mpk_krylov_task task;
    mpk_krylov_task_init(&task);
    task.method = MPK_KRYLOV_MINRES, task.n = N, task.a.apply = product;
    memset(s->x, 0, N * sizeof *s->x);
    if (mpk_krylov_solve(s->ctx, &task, s->b, s->x, NULL) < 0) return 3;
    for (int i = 0; i < N; i++) sum[2] += s->x[i];
    if (mpk_isai_update(s->ctx, s->val, s->isai) < 0) return 4;
    if (mpk_isai_apply(s->ctx, s->isai, MPK_ISAI_AS_IS, 1, s->b, 9 * N, s->x, 9 * N) < 0) return 5;
    for (int i = 0; i < 9 * N; i++) sum[3] += s->x[i];
    return 0;
}

static double first[4];

static int uses(void *arg) {
    others *s = arg;
    double sum[4] = {0};
    const int code = use(s, sum);
    if (code) return code;
    if (memcmp(sum, first, sizeof sum)) return 6;
    mpk_isai_destroy(&s->isai);
    mpk_context_destroy(&s->ctx);
    return s->held == 0 ? 0 : 7;
}

static void test_without_a_factor(void **unused) {
    (void)unused;
#if TEST_THREAD_SANITIZED
    skip();
#endif
    for (int threads = 1; threads <= 8; threads += threads == 1 ? 1 : 3) {
        static others s;
        const mpk_allocator allocator = {take, give, &s.held};
        mpk_isai_options o;
        memset(&s, 0, sizeof s);
        s.threads = threads;
        assert_int_equal(mpk_context_create(&allocator, &s.ctx), MPK_OK);
        s.a = calloc(N * N, sizeof(double)), s.f = calloc(N * N, sizeof(double));
        s.b = calloc(9 * N, sizeof(double)), s.x = calloc(9 * N, sizeof(double));
        s.ptr = calloc(9 * N + 1, sizeof *s.ptr), s.row = calloc(36 * N, sizeof *s.row);
        s.val = calloc(36 * N, sizeof *s.val);
        for (int i = 0; i < N * N; i++) s.a[i] = uniform();
        for (int i = 0; i < 9 * N; i++) s.b[i] = uniform();
        for (int j = 0; j < 9 * N; j++) { /* four entries a column: worth threads */
            int64_t at = s.ptr[j];
            for (int i = j; i < j + 4 && i < 9 * N; i++)
                s.row[at] = i, s.val[at++] = i == j ? 3 : -.5;
            s.ptr[j + 1] = at;
        }
        mpk_isai_options_init(&o);
        o.threads = threads;
        assert_int_equal(mpk_isai_create(s.ctx, MPK_D, 9 * N, s.ptr, s.row, s.val, &o, &s.isai), 0);
        memset(first, 0, sizeof first);
        assert_int_equal(use(&s, first), 0);
        assert_int_equal(child(uses, &s), 0);
        assert_int_equal(uses(&s), 0);
        free(s.a), free(s.f), free(s.b), free(s.x), free(s.ptr), free(s.row), free(s.val);
    }
}

/* ---- in the middle of what another thread does ---- */

typedef struct busy {
    pthread_t thread;
    objects s;
    objects *shared; /* only read */
    _Atomic bool stop, wrong;
    _Atomic int rounds;
} busy;

static void *work_on(void *arg) {
    busy *w = arg;
    mpk_context *ctx = NULL;
    objects mine = *w->shared;
    mine.x = calloc((size_t)mine.a.n, sizeof *mine.x);
    if (mpk_context_create(NULL, &ctx) < 0) w->wrong = true;
    while (!w->stop && !w->wrong) {
        if (mpk_refactorize(w->s.ctx, w->s.a.ax, &w->s.o, w->s.fac) < 0 ||
            solve(&w->s, w->s.ctx) < 0 || !same(&w->s) || solve(&mine, ctx) < 0 || !same(&mine))
            w->wrong = true;
        w->rounds++;
    }
    mpk_context_destroy(&ctx);
    free(mine.x);
    return NULL;
}

/* What the thread was at work on answers, or says why not, and goes away; its context works on. */
static int takes_over(void *arg) {
    busy *w = arg;
    const char *text;
    const mpk_status status = solve(&w->s, w->s.ctx);
    mpk_last_error(w->s.ctx, NULL, NULL, &text);
    if (status < 0 && (status != MPK_ERR_ARGUMENT || !*text)) return 11;
    if (status >= 0 && !same(&w->s)) return 12;
    mpk_factor_destroy(&w->s.fac);
    if (mpk_factorize(w->s.ctx, w->s.an, w->s.a.ax, &w->s.o, &w->s.fac) < 0) return 13;
    if (solve(&w->s, w->s.ctx) < 0 || !same(&w->s)) return 14;
    destroy(&w->s);
    return works(w->shared);
}

static void test_amid_work(void **unused) {
    (void)unused;
#if TEST_SANITIZED
    skip(); /* the sanitizers' own locks do not follow either */
#endif
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT};
    for (int m = 0; m < 2; m++) {
        static busy w;
        static objects shared;
        memset(&w, 0, sizeof w);
        make(&w.s, "helmholtz 3d 9 0.3", methods[m], 3);
        make(&shared, "helmholtz 2d 20 0.3", methods[m], 2);
        w.shared = &shared;
        assert_int_equal(pthread_create(&w.thread, NULL, work_on, &w), 0);
        while (w.rounds < 2 && !w.wrong) usleep(100);
        for (int k = 0; k < 12; k++) {
            usleep((useconds_t)(97 * k % 1500));
            assert_int_equal(child(takes_over, &w), 0);
        }
        w.stop = true;
        assert_int_equal(pthread_join(w.thread, NULL), 0);
        assert_false(w.wrong);
        end(&w.s);
        end(&shared);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_form),
                                       cmocka_unit_test(test_without_a_factor),
                                       cmocka_unit_test(test_amid_work)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
