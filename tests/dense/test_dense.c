/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of metapack/dense.h: the ladder, mixed precision, refinement, condition, refactoring in
 * place, and every way to be refused. */
#include "support.h"

#include <stdbool.h>

enum { N = 130 };

typedef struct fixture {
    mpk_context *ctx;
    mpk_dense d;
    mpk_dense_sizes sizes;
    mpk_dense_factor f;
    double *a, *b, *x;
    void *work;
    int64_t n, lda;
} fixture;

static fixture open_fixture(int64_t n, mpk_dense_method method, const mpk_allocator *allocator) {
    fixture t = {.n = n, .lda = n + 1};
    if (mpk_context_create(allocator, &t.ctx) != MPK_OK) return t;
    mpk_dense_init(&t.d);
    t.d.n = n, t.d.method = method, t.d.threads = 2;
    if (mpk_dense_query(t.ctx, &t.d, 3, &t.sizes) != MPK_OK) return t;
    t.a = malloc(sizeof(double) * (size_t)(t.lda * n) + 8);
    t.b = malloc(sizeof(double) * (size_t)(3 * n) + 8);
    t.x = malloc(sizeof(double) * (size_t)(3 * n) + 8);
    for (int64_t k = 0; k < t.lda * n; k++) t.a[k] = uniform();
    for (int64_t k = 0; k < 3 * n; k++) t.b[k] = uniform(), t.x[k] = 77;
    t.f = (mpk_dense_factor){.struct_size = sizeof t.f, .ldf = n > 0 ? n : 1};
    t.f.f = malloc((size_t)t.sizes.factor_bytes + 8);
    t.f.pivots = malloc((size_t)t.sizes.pivots * sizeof(int32_t) + 8);
    t.f.extra = aligned_alloc(64, ((size_t)t.sizes.extra_bytes + 127) / 64 * 64);
    t.work = aligned_alloc(64, ((size_t)t.sizes.sysv_bytes + 127) / 64 * 64);
    return t;
}

static void close_fixture(fixture *t) {
    free(t->a), free(t->b), free(t->x), free(t->f.f), free(t->f.pivots), free(t->f.extra);
    free(t->work);
    mpk_context_destroy(&t->ctx);
}

static double omega(const fixture *t, const double *x, const double *b) {
    double worst = 0;
    for (int64_t i = 0; i < t->n; i++) {
        double r = b[i], w = fabs(b[i]);
        for (int64_t j = 0; j < t->n; j++) {
            double a = i >= j ? t->a[i + j * t->lda] : t->a[j + i * t->lda];
            r -= a * x[j], w += fabs(a * x[j]);
        }
        if (!(fabs(r) <= worst * w)) worst = fabs(r) / w;
    }
    return worst;
}

static mpk_status sysv(fixture *t, mpk_dense_info *info) {
    return mpk_dense_sysv(t->ctx, &t->d, t->a, t->lda, &t->f, 3, t->b, t->n, t->x, t->n, t->work,
                          t->sizes.sysv_bytes, info);
}

static void test_every_method(void **unused) {
    (void)unused;
    for (int method = 0; method < MPK_DENSE_COUNT; method++) {
        fixture t = open_fixture(N, (mpk_dense_method)method, NULL);
        mpk_dense_info info;
        assert_int_equal(sysv(&t, &info), MPK_OK);
        for (int c = 0; c < 3; c++) assert_true(omega(&t, t.x + c * N, t.b + c * N) <= 1e-14);
        assert_true(info.componentwise <= 1e-14);
        if (method != MPK_DENSE_AUTO) assert_int_equal(info.method, method);
        assert_int_equal(info.method, t.f.method);
        assert_string_not_equal(mpk_dense_method_name(info.method), "unknown");
        mpk_inertia in;
        assert_int_equal(mpk_dense_inertia(t.ctx, &t.d, &t.f, NULL, 0, &in), MPK_OK);
        assert_int_equal(in.positive + in.negative + in.zero, N);
        close_fixture(&t);
    }
}

/* rows beneath the rounding errors of single precision: up a rung; beneath those of double: to the
 * last one, which takes no small pivot for zero */
static void test_ladder_falls_back(void **unused) {
    (void)unused;
    fixture t = open_fixture(1100, MPK_DENSE_AUTO, NULL);
    mpk_dense_info info;
    assert_int_equal(sysv(&t, &info), MPK_OK);
    assert_int_equal(info.precision, MPK_DENSE_SINGLE);
    assert_int_equal(info.fallbacks, 0);
    assert_true(info.iterations > 0 && info.componentwise <= 1e-14);
    for (int64_t j = 0; j < t.n; j++)
        for (int64_t i = j; i < t.n; i++)
            t.a[i + j * t.lda] *= (i % 2 ? 1e-5 : 1) * (j % 2 ? 1e-5 : 1);
    assert_int_equal(sysv(&t, &info), MPK_OK);
    assert_int_equal(info.precision, MPK_DENSE_WORKING);
    assert_int_equal(info.fallbacks, 1);
    assert_int_equal(info.attempts, 2);
    assert_int_not_equal(info.attempt[0].status, MPK_OK);
    assert_true(info.componentwise <= 1e-14);
    assert_true(omega(&t, t.x, t.b) <= 1e-14);
    for (int64_t j = 0; j < t.n; j++)
        for (int64_t i = j; i < t.n; i++)
            t.a[i + j * t.lda] *= (i % 2 ? 1e-5 : 1) * (j % 2 ? 1e-5 : 1);
    assert_int_equal(sysv(&t, &info), MPK_OK);
    assert_int_equal(info.method, MPK_DENSE_ROOK);
    assert_int_equal(info.fallbacks, 2);
    assert_true(omega(&t, t.x, t.b) <= 1e-14);
    close_fixture(&t);
}

static void test_mixed(void **unused) {
    (void)unused;
    static const mpk_dense_method methods[] = {MPK_DENSE_TILE, MPK_DENSE_BUNCH_KAUFMAN,
                                               MPK_DENSE_AASEN, MPK_DENSE_BUTTERFLY};
    for (int k = 0; k < 4; k++)
        for (int how = MPK_DENSE_REFINE_AUTO; how <= MPK_DENSE_REFINE_GMRES; how++)
            for (int huge = 0; huge < 2; huge++) {
                fixture t = open_fixture(N, methods[k], NULL);
                mpk_dense_info info;
                t.d.precision = MPK_DENSE_SINGLE;
                t.d.refinement = (mpk_dense_refinement)how;
                if (huge) /* beyond single precision's range, and yet nothing is lost */
                    for (int64_t i = 0; i < t.lda * N; i++) t.a[i] *= 1e150;
                if (huge)
                    for (int64_t i = 0; i < 3 * N; i++) t.b[i] *= 1e-50;
                assert_int_equal(sysv(&t, &info), MPK_OK);
                assert_int_equal(info.precision, MPK_DENSE_SINGLE);
                assert_true(info.componentwise <= 1e-14);
                assert_true(info.unrefined > info.componentwise);
                if (how == MPK_DENSE_REFINE_GMRES) assert_true(info.gmres > 0);
                if (how == MPK_DENSE_REFINE_CLASSIC) assert_int_equal(info.gmres, 0);
                close_fixture(&t);
            }
}

static void test_condition(void **unused) {
    (void)unused;
    fixture t = open_fixture(60, MPK_DENSE_TILE, NULL);
    mpk_dense_info info;
    t.d.condition = MPK_ON;
    for (int64_t j = 0; j < 60; j++)
        for (int64_t i = j; i < 60; i++)
            t.a[i + j * t.lda] = i == j ? (i % 2 ? -1 : 1) * pow(10, -6.0 * (double)i / 59) : 0;
    assert_int_equal(sysv(&t, &info), MPK_OK);
    assert_true(info.condition > 0.9e6 && info.condition < 1.1e6);
    close_fixture(&t);
}

static void test_refactor_in_place(void **unused) {
    (void)unused;
    fixture t = open_fixture(N, MPK_DENSE_TILE, NULL);
    double *kept = malloc(sizeof(double) * (size_t)(t.lda * N));
    mpk_dense_factor f = t.f;
    f.f = t.a, f.ldf = t.lda;
    memcpy(kept, t.a, sizeof(double) * (size_t)(t.lda * N));
    for (int round = 0; round < 2; round++) { /* the same memory again */
        memcpy(t.a, kept, sizeof(double) * (size_t)(t.lda * N));
        assert_int_equal(
            mpk_dense_factorize(t.ctx, &t.d, t.a, t.lda, &f, t.work, t.sizes.factorize_bytes, NULL),
            MPK_OK);
        memcpy(t.x, t.b, sizeof(double) * N); /* and x over b */
        mpk_dense_info info;
        assert_int_equal(mpk_dense_solve(t.ctx, &t.d, kept, t.lda, &f, 1, t.x, N, t.x, N, t.work,
                                         t.sizes.solve_bytes, &info),
                         MPK_OK);
        assert_true(info.componentwise <= 1e-14);
    }
    memcpy(t.a, kept, sizeof(double) * (size_t)(t.lda * N));
    assert_true(omega(&t, t.x, t.b) <= 1e-14);
    /* sysv in place: no second attempt, no refinement, the answer all the same */
    t.d.method = MPK_DENSE_AUTO;
    assert_int_equal(mpk_dense_sysv(t.ctx, &t.d, t.a, t.lda, &f, 1, t.b, N, t.x, N, NULL, 0, NULL),
                     MPK_OK);
    memcpy(t.a, kept, sizeof(double) * (size_t)(t.lda * N));
    assert_true(omega(&t, t.x, t.b) <= 1e-11);
    free(kept);
    close_fixture(&t);
}

static const char *reason(const fixture *t) {
    const char *text = NULL;
    mpk_last_error(t->ctx, NULL, NULL, &text);
    return text ? text : "";
}

#define REFUSED(status, call)                                                                      \
    do {                                                                                           \
        assert_int_equal(call, status);                                                            \
        assert_true(strlen(reason(&t)) > 0);                                                       \
    } while (0)

static void test_refused(void **unused) {
    (void)unused;
    fixture t = open_fixture(N, MPK_DENSE_TILE, NULL);
    mpk_dense d = t.d;
    mpk_dense_factor f = t.f;
    double *kept = malloc(sizeof(double) * (size_t)(t.lda * N));
    memcpy(kept, t.a, sizeof(double) * (size_t)(t.lda * N));
#define FACTORIZE(d, a, lda, f, w, bytes) mpk_dense_factorize(t.ctx, d, a, lda, f, w, bytes, NULL)
    assert_int_equal(mpk_dense_factorize(NULL, &d, t.a, t.lda, &f, NULL, 0, NULL),
                     MPK_ERR_ARGUMENT);
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(NULL, t.a, t.lda, &f, NULL, 0));
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, NULL, t.lda, &f, NULL, 0));
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, N - 1, &f, NULL, 0));
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, NULL, NULL, 0));
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, t.work, 100));
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, (char *)t.work + 8, 1 << 30));
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, t.a, (int64_t)t.lda * N * 8));
    f.f = t.a + 1, f.ldf = t.lda; /* overlaps, and is not a */
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, NULL, 0));
    f.f = t.a, f.ldf = t.lda - 1;
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, NULL, 0));
    f = t.f, f.pivots = NULL;
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, NULL, 0));
    f = t.f, f.struct_size = 0;
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, NULL, 0));
    f = t.f;
    struct {
        size_t offset;
        int value;
    } bad[] = {{offsetof(mpk_dense, scalar), 7},     {offsetof(mpk_dense, symmetry), 2},
               {offsetof(mpk_dense, symmetry), 1},   {offsetof(mpk_dense, uplo), MPK_FULL},
               {offsetof(mpk_dense, method), 99},    {offsetof(mpk_dense, precision), 4},
               {offsetof(mpk_dense, refinement), 3}, {offsetof(mpk_dense, tile), 16},
               {offsetof(mpk_dense, depth), 3},      {offsetof(mpk_dense, refine), -1},
               {offsetof(mpk_dense, memory), 2},     {offsetof(mpk_dense, threads), -2}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        d = t.d;
        *(int *)((char *)&d + bad[k].offset) = bad[k].value;
        REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, NULL, 0));
    }
    d = t.d, d.n = -1;
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, NULL, 0));
    d = t.d, d.n = (int64_t)1 << 40;
    REFUSED(MPK_ERR_SIZE, FACTORIZE(&d, t.a, d.n, &f, NULL, 0));
    d = t.d, d.pivot_threshold = 0;
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&d, t.a, t.lda, &f, NULL, 0));
    d = t.d, d.precision = MPK_DENSE_TF32;
    REFUSED(MPK_ERR_UNSUPPORTED, FACTORIZE(&d, t.a, t.lda, &f, NULL, 0));
    d = t.d;
    for (int k = 0; k < 2; k++) { /* what is not finite; the other triangle may be anything */
        t.a[5 + 100 * t.lda] = NAN;
        assert_int_equal(FACTORIZE(&d, t.a, t.lda, &f, NULL, 0), MPK_OK);
        t.a[100 + 5 * t.lda] = k ? INFINITY : NAN;
        REFUSED(MPK_ERR_INPUT, FACTORIZE(&d, t.a, t.lda, &f, NULL, 0));
        memcpy(t.a, kept, sizeof(double) * (size_t)(t.lda * N));
    }
    assert_int_equal(FACTORIZE(&d, t.a, t.lda, &f, NULL, 0), MPK_OK);
#define SOLVE(nrhs, b, ldb, x, ldx)                                                                \
    mpk_dense_solve(t.ctx, &d, t.a, t.lda, &f, nrhs, b, ldb, x, ldx, NULL, 0, NULL)
    const double was = t.b[7];
    for (int k = 0; k < 2; k++) { /* with the matrix and without it */
        t.b[7] = k ? INFINITY : NAN;
        REFUSED(MPK_ERR_INPUT, SOLVE(1, t.b, N, t.x, N));
        REFUSED(MPK_ERR_INPUT,
                mpk_dense_solve(t.ctx, &d, NULL, t.lda, &f, 1, t.b, N, t.x, N, NULL, 0, NULL));
    }
    t.b[7] = 1e300; /* its square overflows, it does not */
    double y[N];
    assert_true(mpk_dense_solve(t.ctx, &d, NULL, t.lda, &f, 1, t.b, N, y, N, NULL, 0, NULL) >= 0);
    t.b[7] = was;
    REFUSED(MPK_ERR_ARGUMENT, SOLVE(-1, t.b, N, t.x, N));
    REFUSED(MPK_ERR_ARGUMENT, SOLVE(1, NULL, N, t.x, N));
    REFUSED(MPK_ERR_ARGUMENT, SOLVE(1, t.b, N - 1, t.x, N));
    REFUSED(MPK_ERR_ARGUMENT, SOLVE(2, t.b, N, t.b + N, N));
    REFUSED(MPK_ERR_ARGUMENT, SOLVE(1, t.b, N, t.a, N));
    assert_int_equal(SOLVE(0, NULL, N, NULL, N), MPK_OK);
    d.n = N - 1;
    REFUSED(MPK_ERR_ARGUMENT, SOLVE(1, t.b, N, t.x, N));
    d = t.d, f.method = MPK_DENSE_AUTO;
    REFUSED(MPK_ERR_ARGUMENT, SOLVE(1, t.b, N, t.x, N));
    t.d.method = MPK_DENSE_AUTO; /* a ladder that would lose b */
    REFUSED(MPK_ERR_ARGUMENT,
            mpk_dense_sysv(t.ctx, &t.d, t.a, t.lda, &t.f, 1, t.b, N, t.b, N, NULL, 0, NULL));
    for (int k = 0; k < 3 * N; k++) assert_true(t.x[k] == 77); /* nothing was ever written */
    free(kept);
    close_fixture(&t);
}

/* what Aasen keeps beside L may share memory with nothing */
static void test_extra_overlaps(void **unused) {
    (void)unused;
    fixture t = open_fixture(N, MPK_DENSE_AASEN, NULL);
    mpk_dense_factor f = t.f;
    assert_true(t.sizes.extra_bytes > 0);
    f.extra = NULL;
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&t.d, t.a, t.lda, &f, NULL, 0));
    f.extra = t.work;
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&t.d, t.a, t.lda, &f, t.work, t.sizes.factorize_bytes));
    f.extra = (void *)(((uintptr_t)t.a + 63) / 64 * 64);
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&t.d, t.a, t.lda, &f, NULL, 0));
    f.extra = (void *)(((uintptr_t)t.f.f + 63) / 64 * 64);
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&t.d, t.a, t.lda, &f, NULL, 0));
    f.extra = (char *)t.f.extra + 8;
    REFUSED(MPK_ERR_ARGUMENT, FACTORIZE(&t.d, t.a, t.lda, &f, NULL, 0));
    assert_int_equal(FACTORIZE(&t.d, t.a, t.lda, &t.f, t.work, t.sizes.factorize_bytes), MPK_OK);
    close_fixture(&t);
}

static void test_absent_device(void **unused) {
    (void)unused;
    fixture t = open_fixture(N, MPK_DENSE_TILE, NULL);
    t.d.memory = MPK_DEVICE;
    t.d.device = 4711; /* wherever this runs, there is none of that number */
    mpk_dense_sizes sizes;
    REFUSED(MPK_ERR_DEVICE, mpk_dense_query(t.ctx, &t.d, 1, &sizes));
    REFUSED(MPK_ERR_DEVICE, FACTORIZE(&t.d, t.a, t.lda, &t.f, NULL, 0));
    close_fixture(&t);
}

static void test_empty_and_tiny(void **unused) {
    (void)unused;
    for (int method = 0; method < MPK_DENSE_COUNT; method++)
        for (int64_t n = 0; n < 3; n++) {
            fixture t = open_fixture(n, (mpk_dense_method)method, NULL);
            mpk_dense_info info;
            if (n == 2) t.a[0] = t.a[1 + t.lda] = 1e-3, t.a[1] = 1;
            assert_int_equal(sysv(&t, &info), MPK_OK);
            for (int c = 0; c < 3; c++) assert_true(omega(&t, t.x + c * n, t.b + c * n) <= 1e-14);
            close_fixture(&t);
        }
}

static void test_allocation(void **unused) {
    (void)unused;
    for (int method = 0; method < MPK_DENSE_COUNT; method++) {
        mpk_status status = MPK_ERR_MEMORY;
        for (int64_t k = 1; status == MPK_ERR_MEMORY && k < 100; k++) {
            failing state = {.fail_at = k};
            mpk_allocator allocator = {failing_alloc, failing_release, &state};
            fixture t = open_fixture(40, (mpk_dense_method)method, &allocator);
            mpk_dense_info info;
            t.d.condition = MPK_ON;
            status = t.work ? mpk_dense_sysv(t.ctx, &t.d, t.a, t.lda, &t.f, 1, t.b, 40, t.x, 40,
                                             NULL, 0, &info)
                            : MPK_ERR_MEMORY;
            close_fixture(&t);
            assert_int_equal(state.held, 0);
        }
        assert_int_equal(status, MPK_OK);
    }
}

/* an allocator that a switch makes refuse everything, however often it is asked */
typedef struct refusing {
    bool refuse;
    int64_t asked; /* while it refuses */
} refusing;

static void *refusing_alloc(void *user, size_t size) {
    refusing *r = user;
    if (r->refuse) __atomic_add_fetch(&r->asked, 1, __ATOMIC_SEQ_CST);
    return r->refuse ? NULL : aligned_alloc(64, (size + 63) / 64 * 64);
}

static void refusing_release(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}

/* with work given, a factorization, a solve with all that it may do, the inertia and sysv allocate
 * nothing once the context has its threads */
static void test_no_allocation(void **unused) {
    (void)unused;
    for (int method = 0; method < MPK_DENSE_COUNT; method++)
        for (int how = MPK_DENSE_REFINE_AUTO; how <= MPK_DENSE_REFINE_GMRES; how++) {
            refusing state = {false, 0};
            mpk_allocator allocator = {refusing_alloc, refusing_release, &state};
            fixture t = open_fixture(N, (mpk_dense_method)method, &allocator);
            mpk_dense_info info;
            mpk_inertia in;
            t.d.condition = MPK_ON;
            t.d.refinement = (mpk_dense_refinement)how;
            double *b = malloc(sizeof(double) * 7 * N), *x = malloc(sizeof(double) * 7 * N);
            for (int k = 0; k < 7 * N; k++) b[k] = uniform();
            mpk_dense_sizes sizes; /* for 7 right-hand sides: the blocked ways */
            assert_int_equal(mpk_dense_query(t.ctx, &t.d, 7, &sizes), MPK_OK);
            void *work = aligned_alloc(64, ((size_t)sizes.sysv_bytes + 63) / 64 * 64);
            assert_int_equal(sysv(&t, NULL), MPK_OK); /* the threads are there now */
            state.refuse = true;
            assert_int_equal(mpk_dense_factorize(t.ctx, &t.d, t.a, t.lda, &t.f, work,
                                                 sizes.factorize_bytes, &info),
                             MPK_OK);
            assert_int_equal(mpk_dense_solve(t.ctx, &t.d, t.a, t.lda, &t.f, 7, b, N, x, N, work,
                                             sizes.solve_bytes, &info),
                             MPK_OK);
            assert_true(info.condition > 1 && info.componentwise <= 1e-14);
            for (int c = 0; c < 7; c++) assert_true(omega(&t, x + c * N, b + c * N) <= 1e-14);
            assert_int_equal(mpk_dense_inertia(t.ctx, &t.d, &t.f, work, sizes.sysv_bytes, &in),
                             MPK_OK);
            assert_int_equal(mpk_dense_sysv(t.ctx, &t.d, t.a, t.lda, &t.f, 7, b, N, x, N, work,
                                            sizes.sysv_bytes, &info),
                             MPK_OK);
            assert_int_equal(state.asked, 0);
            state.refuse = false;
            free(b), free(x), free(work);
            close_fixture(&t);
        }
}

/* the condition beside the true one: a lower bound, seldom off by three */
static void test_condition_of_random(void **unused) {
    (void)unused;
    static const mpk_dense_method methods[] = {MPK_DENSE_TILE, MPK_DENSE_BUNCH_KAUFMAN,
                                               MPK_DENSE_ROOK, MPK_DENSE_AASEN};
    for (int k = 0; k < 4; k++) {
        fixture t = open_fixture(N, methods[k], NULL);
        mpk_dense_info info;
        double *full = malloc(sizeof(double) * N * N), *x = calloc(N * N, sizeof(double));
        int *ipiv = malloc(sizeof(int) * N);
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                full[i + j * N] = i >= j ? t.a[i + j * t.lda] : t.a[j + i * t.lda];
        const double norm = LAPACKE_dlange(LAPACK_COL_MAJOR, '1', N, N, full, N);
        for (int i = 0; i < N; i++) x[i + i * N] = 1;
        assert_int_equal(LAPACKE_dgesv(LAPACK_COL_MAJOR, N, N, full, N, ipiv, x, N), 0);
        const double truth = norm * LAPACKE_dlange(LAPACK_COL_MAJOR, '1', N, N, x, N);
        t.d.condition = MPK_ON;
        assert_int_equal(sysv(&t, &info), MPK_OK);
        if (!(info.condition <= 1.0001 * truth && info.condition >= truth / 3))
            fail_msg("%s: condition %g, is %g", mpk_dense_method_name(methods[k]), info.condition,
                     truth);
        free(full), free(x), free(ipiv);
        close_fixture(&t);
    }
}

static void test_wrong_answers_are_told(void **unused) { /* no pivots, no refinement */
    (void)unused;
    fixture t = open_fixture(N, MPK_DENSE_NONE, NULL);
    mpk_dense_info info;
    t.d.refine = 0;
    t.a[0] = 1e-14;
    assert_int_equal(sysv(&t, &info), MPK_INACCURATE);
    assert_true(info.componentwise > 1e-10);
    t.d.method = MPK_DENSE_NONE;
    for (int64_t j = 0; j < N; j++) t.a[j + j * t.lda] = 0;
    assert_int_equal(sysv(&t, &info), MPK_ERR_NUMERIC);
    close_fixture(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_method),
                                       cmocka_unit_test(test_ladder_falls_back),
                                       cmocka_unit_test(test_mixed),
                                       cmocka_unit_test(test_condition),
                                       cmocka_unit_test(test_condition_of_random),
                                       cmocka_unit_test(test_refactor_in_place),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_extra_overlaps),
                                       cmocka_unit_test(test_absent_device),
                                       cmocka_unit_test(test_empty_and_tiny),
                                       cmocka_unit_test(test_allocation),
                                       cmocka_unit_test(test_no_allocation),
                                       cmocka_unit_test(test_wrong_answers_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
