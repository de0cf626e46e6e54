/* SPDX-License-Identifier: BSD-3-Clause */
/** ma27, ma57 and mc19 as Fortran calls them: triplets of both triangles, workspace that is too
 *  small, arrays that are moved, copied and freed without a word. */
#include "../../../plugins/ipopt/arrays.h"
#include "../../../plugins/ipopt/fortran.h"
#include "../../sanitized.h"
#include "lower.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NRHS = 3 };

/* A full matrix as triplets, shuffled, of either triangle, the diagonal in two parts. */
typedef struct triplets {
    int n, nz, *irn, *jcn;
    double *a;
} triplets;

static void swap(int *u, int *v) {
    const int w = *u;
    *u = *v, *v = w;
}

static triplets triplets_make(int n, const double *full) {
    const size_t most = (size_t)n * n + n;
    triplets t = {n, 0, calloc(most, sizeof(int)), calloc(most, sizeof(int)),
                  calloc(most, sizeof(double))};
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            const double v = full[i * n + j];
            if (v == 0 && i != j) continue;
            for (int part = 0; part <= (i == j); part++) {
                t.irn[t.nz] = i + 1, t.jcn[t.nz] = j + 1;
                if ((i + j) % 3 == 0) swap(&t.irn[t.nz], &t.jcn[t.nz]);
                t.a[t.nz++] = i != j ? v : part ? v - 0.25 : 0.25;
            }
        }
    for (int k = t.nz - 1; k > 0; k--) {
        const int other = (int)((uniform() + 1) / 2 * k);
        const double v = t.a[k];
        swap(&t.irn[k], &t.irn[other]), swap(&t.jcn[k], &t.jcn[other]);
        t.a[k] = t.a[other], t.a[other] = v;
    }
    return t;
}

static void triplets_free(triplets *t) {
    free(t->irn), free(t->jcn), free(t->a);
}

/* All arrays of a caller of ma57. */
typedef struct ma57 {
    int n, ne, lkeep, lfact, lifact, icntl[20], info[40], *keep, *ifact, *iwork;
    double cntl[5], rinfo[20], *fact;
} ma57;

static ma57 ma57_make(const triplets *t) {
    ma57 s = {.n = t->n, .ne = t->nz};
    s.lkeep = 5 * s.n + s.ne + (s.n > s.ne ? s.n : s.ne) + 42;
    s.keep = calloc((size_t)s.lkeep, sizeof(int));
    s.iwork = calloc(5 * (size_t)s.n, sizeof(int));
    ma57id_(s.cntl, s.icntl);
    s.cntl[0] = 1e-8;
    ma57ad_(&s.n, &s.ne, t->irn, t->jcn, &s.lkeep, s.keep, s.iwork, s.icntl, s.info, s.rinfo);
    assert_true(s.info[0] >= 0);
    s.lfact = s.info[8], s.lifact = s.info[9];
    s.fact = calloc((size_t)s.lfact, sizeof(double));
    s.ifact = calloc((size_t)s.lifact, sizeof(int));
    return s;
}

static int ma57_factor(ma57 *s, const double *a) {
    ma57bd_(&s->n, &s->ne, a, s->fact, &s->lfact, s->ifact, &s->lifact, &s->lkeep, s->keep,
            s->iwork, s->icntl, s->cntl, s->info, s->rinfo);
    return s->info[0];
}

static int ma57_solve(ma57 *s, int job, int nrhs, double *x, int ldx) {
    const int lwork = s->n * nrhs;
    double *work = calloc((size_t)lwork + 1, sizeof *work);
    ma57cd_(&job, &s->n, s->fact, &s->lfact, s->ifact, &s->lifact, &nrhs, x, &ldx, work, &lwork,
            s->iwork, s->icntl, s->info);
    free(work);
    return s->info[0];
}

/* With refinement; work has n entries, as HiOp gives them. */
static int ma57_refine(ma57 *s, const triplets *t, int job, int steps, const double *b, double *x,
                       double *r) {
    double *work = calloc((size_t)s->n, sizeof *work);
    s->icntl[8] = steps;
    ma57dd_(&job, &s->n, &s->ne, t->a, t->irn, t->jcn, s->fact, &s->lfact, s->ifact, &s->lifact, b,
            x, r, work, s->iwork, s->icntl, s->cntl, s->info, s->rinfo);
    free(work);
    return s->info[0];
}

static void ma57_free(ma57 *s) {
    free(s->keep), free(s->ifact), free(s->iwork), free(s->fact);
}

/* All arrays of a caller of ma27. */
typedef struct ma27 {
    int n, nz, la, liw, icntl[30], info[20], *ikeep, *iw, *iw1, nsteps, maxfrt;
    const int *irn, *jcn;
    double cntl[5], *a;
} ma27;

static ma27 ma27_make(const triplets *t) {
    ma27 s = {.n = t->n, .nz = t->nz, .irn = t->irn, .jcn = t->jcn};
    const int iflag = 0;
    double ops;
    s.ikeep = calloc(3 * (size_t)s.n, sizeof(int));
    s.iw1 = calloc(2 * (size_t)s.n, sizeof(int));
    ma27id_(s.icntl, s.cntl);
    s.cntl[0] = 1e-8;
    ma27ad_(&s.n, &s.nz, s.irn, s.jcn, NULL, &s.liw, s.ikeep, s.iw1, &s.nsteps, &iflag, s.icntl,
            s.cntl, s.info, &ops);
    assert_true(s.info[0] >= 0);
    s.la = s.info[4], s.liw = s.info[5];
    s.a = calloc((size_t)s.la, sizeof(double));
    s.iw = calloc((size_t)s.liw, sizeof(int));
    return s;
}

static int ma27_factor(ma27 *s, const double *a) {
    if (a) memcpy(s->a, a, (size_t)s->nz * sizeof *a);
    ma27bd_(&s->n, &s->nz, s->irn, s->jcn, s->a, &s->la, s->iw, &s->liw, s->ikeep, &s->nsteps,
            &s->maxfrt, s->iw1, s->icntl, s->cntl, s->info);
    return s->info[0];
}

static int ma27_solve(ma27 *s, double *x) {
    int *info = calloc(1, sizeof *info); /* INFO(1) and no more: see ma27cd_ */
    ma27cd_(&s->n, s->a, &s->la, s->iw, &s->liw, NULL, &s->maxfrt, x, s->iw1, &s->nsteps, s->icntl,
            info);
    const int flag = *info;
    free(info);
    return flag;
}

static void ma27_free(ma27 *s) {
    free(s->a), free(s->iw), free(s->iw1), free(s->ikeep);
}

static void random_rhs(int count, double *x, double *b) {
    for (int k = 0; k < count; k++) x[k] = b[k] = uniform();
}

static void run(int n, int m) {
    const int size = n + m, ld = size + 1;
    double *full = kkt_full(n, m), *b = calloc((size_t)ld * NRHS, sizeof *b),
           *x = calloc((size_t)ld * NRHS, sizeof *x);
    triplets t = triplets_make(size, full);
    ma57 s = ma57_make(&t);
    ma27 r = ma27_make(&t);
    assert_int_equal(s.info[0], 2); /* the diagonal came in parts */
    assert_int_equal(s.info[3], size);
    assert_int_equal(r.info[0], 0); /* which ma27 does not tell */
    for (int round = 0; round < 3; round++) {
        lower a = lower_make(size, 0, full);
        const int negative = negative_eigenvalues(size, full);
        assert_int_equal(ma57_factor(&s, t.a), 0);
        assert_int_equal(s.info[23], negative);
        assert_int_equal(s.info[24], size);
        random_rhs(ld * NRHS, x, b);
        assert_int_equal(ma57_solve(&s, 1, NRHS, x, ld), 0);
        assert_true(residual(&a, NRHS, x, ld, b) < 1e-8);
        random_rhs(ld * NRHS, x, b);
        for (int job = 2; job <= 4; job++) assert_int_equal(ma57_solve(&s, job, NRHS, x, ld), 0);
        assert_true(residual(&a, NRHS, x, ld, b) < 1e-8);
        assert_int_equal(ma27_factor(&r, t.a), 0);
        assert_int_equal(r.info[14], negative);
        random_rhs(size, x, b);
        assert_int_equal(ma27_solve(&r, x), 0);
        assert_true(residual(&a, 1, x, size, b) < 1e-8);
        lower_free(&a);
        for (int k = 0; k < t.nz; k++) t.a[k] *= t.irn[k] == t.jcn[k] ? -1 : 1.5;
        for (int k = 0; k < size * size; k++) full[k] *= k % (size + 1) ? 1.5 : -1;
    }
    ma57_free(&s), ma27_free(&r), triplets_free(&t);
    free(full), free(b), free(x);
}

static void both_solve(void **state) {
    (void)state;
    run(1, 0), run(2, 1), run(12, 5), run(70, 30);
}

/* ma57dd_: from nothing, as HiOp calls it, and from an x that is near; a factor of other values. */
static void refinement_reaches_rounding(void **state) {
    (void)state;
    const int n = 100;
    double *full = kkt_full(70, 30), b[100], x[100], r[100], older[100];
    triplets t = triplets_make(n, full);
    ma57 s = ma57_make(&t);
    lower a = lower_make(n, 0, full);
    assert_int_equal(ma57_factor(&s, t.a), 0);
    random_rhs(n, older, b);
    for (int job = 0; job < 3; job++)
        for (int steps = 1; steps <= 10; steps += 9) {
            for (int i = 0; i < n; i++) x[i] = job == 2 ? older[i] : job == 1 ? b[i] : NAN;
            assert_int_equal(ma57_refine(&s, &t, job, steps, b, x, r), 0);
            assert_true(residual(&a, 1, x, n, b) < 1e-12);
            double worst = 0;
            for (int i = 0; i < n; i++) worst = fmax(worst, fabs(r[i]));
            assert_true(worst < 1e-9);
            for (int i = 0; i < n; i++) older[i] = x[i] + 1e-3 * uniform();
        }
    for (int k = 0; k < t.nz; k++) t.a[k] *= 1 + 1e-3 * uniform();
    assert_int_equal(ma57_refine(&s, &t, 0, 10, b, x, r), 0); /* the triplets are the system */
    double worst = 0;
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(r[i]));
    assert_true(worst < 1e-3);
    ma57 none = s;
    none.n = 0;
    assert_int_equal(ma57_refine(&none, &t, 0, 1, b, x, r), MA57_N);
    lower_free(&a), ma57_free(&s), triplets_free(&t);
    free(full);
}

static void singular_matrices_are_told(void **state) {
    (void)state;
    double full[9] = {4, 2, 0, 2, 1, 0, 0, 0, 5}, x[3] = {6, 3, 5};
    triplets t = triplets_make(3, full);
    ma57 s = ma57_make(&t);
    ma27 r = ma27_make(&t);
    assert_int_equal(ma57_factor(&s, t.a), MA57_WARN_SINGULAR);
    assert_int_equal(s.info[24], 2);
    assert_int_equal(ma57_solve(&s, 1, 1, x, 3), 0); /* consistent */
    assert_true(fabs(4 * x[0] + 2 * x[1] - 6) < 1e-12 && fabs(x[2] - 1) < 1e-12);
    assert_int_equal(ma27_factor(&r, t.a), MA27_WARN_SINGULAR);
    assert_int_equal(r.info[1], 2);
    memset(t.a, 0, (size_t)t.nz * sizeof *t.a);
    assert_int_equal(ma57_factor(&s, t.a), MA57_WARN_SINGULAR);
    assert_int_equal(s.info[24], 0);
    ma57_free(&s), ma27_free(&r), triplets_free(&t);
}

static void workspace_grows(void **state) {
    (void)state;
    double *full = kkt_full(10, 4), b[14], x[14];
    triplets t = triplets_make(14, full);
    lower a = lower_make(14, 0, full);
    ma57 s = ma57_make(&t);
    ma27 r = ma27_make(&t);
    for (int ic = 0; ic < 2; ic++) { /* as Ipopt does it, the lengths in INFO */
        const int enough = ic ? s.lifact : s.lfact, flag = ic ? MA57_IFACT : MA57_FACT;
        *(ic ? &s.lifact : &s.lfact) = 5;
        assert_int_equal(ma57_factor(&s, t.a), flag);
        assert_int_equal(s.info[1], 5);
        assert_int_equal(s.info[ic ? 17 : 16], enough);
        int dummy;
        double real;
        *(ic ? &s.lifact : &s.lfact) = enough;
        void *more = calloc((size_t)enough, ic ? sizeof(int) : sizeof(double));
        ma57ed_(&s.n, &ic, s.keep, s.fact, &s.info[1], ic ? &real : more, &enough, s.ifact,
                &s.info[1], ic ? more : &dummy, &enough, s.info);
        assert_int_equal(s.info[0], 0);
        if (ic)
            free(s.ifact), s.ifact = more;
        else
            free(s.fact), s.fact = more;
        ma57ed_(&s.n, &ic, s.keep, s.fact, &enough, s.fact, &enough, s.ifact, &enough, s.ifact,
                &enough, s.info);
        assert_int_equal(s.info[0], MA57_COPY);
        r.liw = ic ? s.lifact : 5, r.la = ic ? 5 : t.nz;
        assert_int_equal(ma27_factor(&r, NULL), ic ? MA27_A : MA27_IW);
        assert_int_equal(r.info[1], ic ? t.nz : s.lifact);
    }
    r.la = t.nz;
    assert_int_equal(ma57_factor(&s, t.a), 0);
    assert_int_equal(ma27_factor(&r, t.a), 0);
    random_rhs(14, x, b);
    assert_int_equal(ma57_solve(&s, 1, 1, x, 14), 0);
    assert_true(residual(&a, 1, x, 14, b) < 1e-8);
    ma57_free(&s), ma27_free(&r), triplets_free(&t), lower_free(&a), free(full);
}

static void bad_calls_are_told(void **state) {
    (void)state;
    double full[4] = {2, 1, 1, -3}, x[4] = {1, 1, 1, 1};
    triplets t = triplets_make(2, full);
    ma57 s = ma57_make(&t), none = s;
    ma27 r = ma27_make(&t), nobody = r;
    assert_int_equal(ma57_solve(&s, 1, 1, x, 2), MA57_OTHER); /* no factor */
    assert_true(isnan(x[0]) && isnan(x[1]) && x[2] == 1);
    x[0] = x[1] = 1;
    assert_int_equal(ma27_solve(&r, x), MA27_OTHER);
    assert_true(isnan(x[0]) && isnan(x[1]));
    none.keep = calloc((size_t)none.lkeep, sizeof(int)); /* no analysis */
    assert_int_equal(ma57_factor(&none, t.a), MA57_KEEP);
    free(none.keep);
    s.icntl[6] = 2;
    assert_int_equal(ma57_factor(&s, t.a), MA57_PIVOTING);
    s.icntl[6] = 1;
    const double kept = t.a[0];
    t.a[0] = NAN;
    assert_int_equal(ma57_factor(&s, t.a), MA57_OTHER);
    assert_int_equal(ma27_factor(&r, t.a), MA27_OTHER);
    assert_int_equal(ma57_solve(&s, 1, 1, x, 2), MA57_OTHER);
    t.a[0] = kept;
    assert_int_equal(ma57_factor(&s, t.a), 0);
    assert_int_equal(ma57_solve(&s, 1, 0, x, 2), MA57_NRHS);
    assert_int_equal(ma57_solve(&s, 1, 1, x, 1), MA57_LRHS);
    const int one = 1;
    ma57cd_(&one, &s.n, s.fact, &s.lfact, s.ifact, &s.lifact, &one, x, &s.n, x, &one, s.iwork,
            s.icntl, s.info);
    assert_int_equal(s.info[0], MA57_WORK);
    none = s;
    none.n = 0;
    assert_int_equal(ma57_factor(&none, t.a), MA57_N);
    none.n = 2, none.ne = -1;
    assert_int_equal(ma57_factor(&none, t.a), MA57_NE);
    nobody.n = 0;
    assert_int_equal(ma27_factor(&nobody, NULL), MA27_N);
    nobody.n = 2, nobody.nz = -1;
    assert_int_equal(ma27_factor(&nobody, NULL), MA27_NZ);
    t.irn[0] = 7; /* an entry that is nowhere */
    ma57ad_(&s.n, &s.ne, t.irn, t.jcn, &s.lkeep, s.keep, s.iwork, s.icntl, s.info, s.rinfo);
    assert_int_equal(s.info[0] & 1, 1);
    assert_int_equal(s.info[2], 1);
    s.lkeep--;
    ma57ad_(&s.n, &s.ne, t.irn, t.jcn, &s.lkeep, s.keep, s.iwork, s.icntl, s.info, s.rinfo);
    assert_int_equal(s.info[0], MA57_KEEP);
    ma57_free(&s), ma27_free(&r), triplets_free(&t);
}

/* Copies live on when the originals are gone, also when the cache has lost what they stand for. */
static void arrays_hold_the_truth(void **state) {
    (void)state;
    double *full = kkt_full(20, 8), b[28], x[28];
    triplets t = triplets_make(28, full);
    lower a = lower_make(28, 0, full);
    ma57 s = ma57_make(&t), copy = s;
    assert_int_equal(ma57_factor(&s, t.a), 0);
    copy.keep = calloc((size_t)s.lkeep, sizeof(int));
    copy.fact = calloc((size_t)s.lfact, sizeof(double));
    copy.ifact = calloc((size_t)s.lifact, sizeof(int));
    memcpy(copy.keep, s.keep, (size_t)s.lkeep * sizeof(int));
    memcpy(copy.fact, s.fact, (size_t)s.lfact * sizeof(double));
    memcpy(copy.ifact, s.ifact, (size_t)s.lifact * sizeof(int));
    for (int round = 0; round < 3; round++) {
        random_rhs(28, x, b);
        assert_int_equal(ma57_solve(&copy, 1, 1, x, 28), 0);
        assert_true(residual(&a, 1, x, 28, b) < 1e-8);
        if (round == 0) { /* new values in the original: the copy keeps the old ones */
            double *other = calloc((size_t)t.nz, sizeof *other);
            for (int k = 0; k < t.nz; k++) other[k] = 3 * t.a[k];
            assert_int_equal(ma57_factor(&s, other), 0);
            free(other);
        } else if (round == 1) { /* and the original forgotten among many */
            for (int k = 0; k < 2 * IP_MOST; k++) {
                double one[1] = {k + 1.0};
                triplets small = triplets_make(1, one);
                ma57 brief = ma57_make(&small);
                assert_int_equal(ma57_factor(&brief, small.a), 0);
                ma57_free(&brief), triplets_free(&small);
            }
        }
    }
    assert_int_equal(ma57_factor(&copy, t.a), 0);
    free(copy.keep), free(copy.fact), free(copy.ifact);
    ma57_free(&s), triplets_free(&t), lower_free(&a), free(full);
    assert_true(ip_array_count() <= IP_MOST);
}

/* Instances in several threads do not meet, and there are more of them than the cache holds. */
static void *instances(void *arg) {
    enum { N = 12, MANY = 60 };
    double full[N * N] = {0}, x[N], b[N], worst = 0;
    ma27 r[MANY];
    for (int i = 0; i < N; i++) {
        full[i * N + i] = (i + *(int *)arg) % 3 ? 4 : -4;
        if (i) full[i * N + i - 1] = full[(i - 1) * N + i] = 1;
        b[i] = i % 7 - 3;
    }
    lower a = lower_make(N, 1, full);
    triplets t = {N, 0, calloc(2 * N, sizeof(int)), calloc(2 * N, sizeof(int)),
                  calloc(2 * N, sizeof(double))};
    for (int j = 0; j < N; j++)
        for (int k = a.ptr[j] - 1; k < a.ptr[j + 1] - 1; k++)
            t.irn[t.nz] = a.row[k], t.jcn[t.nz] = j + 1, t.a[t.nz++] = a.val[k];
    for (int k = 0; k < MANY; k++) {
        r[k] = ma27_make(&t);
        if (ma27_factor(&r[k], t.a)) worst = INFINITY;
    }
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < MANY; k++) {
            memcpy(x, b, sizeof x);
            if (ma27_solve(&r[k], x)) worst = INFINITY;
            worst = fmax(worst, residual(&a, 1, x, N, b));
        }
    for (int k = 0; k < MANY; k++) ma27_free(&r[k]);
    lower_free(&a), triplets_free(&t);
    return worst < 1e-10 ? arg : NULL;
}

static void threads_and_children_do_not_meet(void **state) {
    (void)state;
    enum { THREADS = 6 };
    pthread_t thread[THREADS];
    int seed[THREADS];
    for (int t = 0; t < THREADS; t++) {
        seed[t] = t;
        assert_int_equal(pthread_create(&thread[t], NULL, instances, &seed[t]), 0);
    }
    /* while they are at it; AddressSanitizer's allocator does not stand that */
    pid_t child = TEST_SANITIZED ? -1 : fork();
    if (child == 0) _exit(instances(&seed[1]) ? 0 : 1);
    for (int t = 0; t < THREADS; t++) {
        void *result = NULL;
        pthread_join(thread[t], &result);
        assert_non_null(result);
    }
    int status = 1;
    if (TEST_SANITIZED) child = fork();
    if (child == 0) _exit(instances(&seed[1]) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(ip_array_count() <= IP_MOST);
}

/* The least squares are solved: in each row and column the scaled logarithms add up to nothing. */
static void mc19_scales(void **state) {
    (void)state;
    enum { N = 40, NZ = 6 * N };
    int irn[NZ], icn[NZ], n = N, nz = NZ;
    float r[N], c[N], w[5 * N];
    double a[NZ], rows[N] = {0}, cols[N] = {0};
    for (int k = 0; k < NZ; k++) {
        irn[k] = 1 + k % (N - 1); /* the last row is empty */
        icn[k] = k < N ? k + 1 : 1 + (int)((uniform() + 1) / 2 * (N - 1));
        a[k] = k == 7 ? 0 : exp(8 * uniform() + irn[k] * 0.5 - icn[k] * 0.3);
    }
    mc19ad_(&n, &nz, a, irn, icn, r, c, w);
    for (int k = 0; k < NZ; k++) {
        if (a[k] == 0) continue;
        const double f = log(a[k]) + (double)r[irn[k] - 1] + (double)c[icn[k] - 1];
        rows[irn[k] - 1] += f, cols[icn[k] - 1] += f;
    }
    for (int i = 0; i < N; i++) assert_true(fabs(rows[i]) < 0.05 && fabs(cols[i]) < 0.05);
    assert_true(r[N - 1] == 0);
}

static int clear(void **state) {
    (void)state;
    ip_array_clear();
    return ip_array_count();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_solve),
        cmocka_unit_test(refinement_reaches_rounding),
        cmocka_unit_test(singular_matrices_are_told),
        cmocka_unit_test(workspace_grows),
        cmocka_unit_test(bad_calls_are_told),
        cmocka_unit_test(arrays_hold_the_truth),
        cmocka_unit_test(threads_and_children_do_not_meet),
        cmocka_unit_test(mc19_scales),
    };
    return cmocka_run_group_tests(tests, NULL, clear);
}
