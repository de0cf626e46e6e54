/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows added and removed, beside dense algebra: solutions, inertia, certificates, for all kinds of
 * scalars and any order of changes; a changed matrix that is singular, an A that is; limits, refusals,
 * failures. */
#include "../sanitized.h"
#include "factor/systems.h"

#include <stdbool.h>

enum { MOST = 24 };

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static mpk_options options_of(int threads) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = threads;
    return o;
}

static bool single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* A changed matrix, and the same in dense form: rows of A and all places; `is` tells which are rows
 * now. */
typedef struct changed {
    system_of s;
    dense m;
    int n, all;
    char is[512];
    int removed;
    mpk_bordered *w;
} changed;

/* c.w is NULL where the factor has zero pivots. */
static changed begin(const dense *a, int capacity, int threads) {
    changed c = {.s = of_dense(a, options_of(threads)), .n = a->n, .all = a->n + capacity};
    const bool singular = c.s.info.inertia.zero > 0;
    assert_true(c.all <= 512);
    c.m = dense_new(c.all, a->scalar, a->symmetry);
    for (int j = 0; j < a->n; j++)
        for (int i = j; i < a->n; i++) dense_set(&c.m, i, j, dense_get(a, i, j));
    for (int i = 0; i < a->n; i++) c.is[i] = 1;
    assert_int_equal(mpk_bordered_create(c.s.ctx, c.s.fac, capacity, &c.s.o, &c.w),
                     singular ? MPK_ERR_UNSUPPORTED : MPK_OK);
    return c;
}

static void finish(changed *c) {
    mpk_bordered_destroy(&c->w);
    assert_null(c->w);
    free(c->m.a);
    end(&c->s);
}

static double complex number(const changed *c) {
    const double re = uniform(), im = uniform();
    return c->m.scalar >= MPK_C ? re + im * I : re;
}

/* A row with about `many` entries in rows that are there. */
static int add(changed *c, int many, double complex diagonal) {
    int32_t row[512], index = -1;
    char value[512 * 16], corner[16];
    int count = 0;
    double complex kept[512];
    for (int i = 0; i < c->all; i++) {
        if (c->is[i] != 1 || fabs(uniform()) * c->all > many) continue;
        kept[count] = number(c);
        row[count] = i;
        scalar_store(c->m.scalar, value, count, kept[count]);
        kept[count] = scalar_load(c->m.scalar, value, count);
        count++;
    }
    for (int k = count - 1; k > 0; k--) { /* in any order */
        const int j = (int)(fabs(uniform()) * (k + 1)) % (k + 1);
        const int32_t r = row[k];
        const double complex v = kept[k];
        row[k] = row[j], row[j] = r, kept[k] = kept[j], kept[j] = v;
    }
    for (int k = 0; k < count; k++) scalar_store(c->m.scalar, value, k, kept[k]);
    scalar_store(c->m.scalar, corner, 0, diagonal);
    const mpk_status status = mpk_bordered_add(c->s.ctx, c->w, count, row, value, corner, &index);
    assert_int_equal(status, MPK_OK);
    assert_true(index >= c->n && index < c->all && !c->is[index]);
    for (int i = 0; i < c->all; i++)
        dense_set(&c->m, index > i ? index : i, index > i ? i : index, 0);
    for (int k = 0; k < count; k++) {
        /* the new column's entry in row r; below the diagonal stands its transpose */
        const bool below = row[k] > index;
        const double complex x = below || c->m.symmetry != MPK_HERMITIAN ? kept[k] : conj(kept[k]);
        dense_set(&c->m, below ? row[k] : index, below ? index : row[k], x);
    }
    dense_set(&c->m, index, index, scalar_load(c->m.scalar, corner, 0));
    c->is[index] = 1;
    return index;
}

static void take_away(changed *c, int index) {
    assert_int_equal(mpk_bordered_remove(c->s.ctx, c->w, index), MPK_OK);
    c->is[index] = index < c->n ? 2 : 0;
    c->removed += index < c->n;
}

static void restore(changed *c, int index) {
    assert_int_equal(mpk_bordered_restore(c->s.ctx, c->w, index), MPK_OK);
    c->is[index] = 1;
    c->removed--;
}

/* What is there now. */
static dense rows_of(const changed *c, int *at) {
    int count = 0;
    for (int i = 0; i < c->all; i++)
        if (c->is[i] == 1) at[count++] = i;
    dense d = dense_new(count, c->m.scalar, c->m.symmetry);
    for (int j = 0; j < count; j++)
        for (int i = j; i < count; i++) dense_set(&d, i, j, dense_get(&c->m, at[i], at[j]));
    return d;
}

/* Errors as told, and solutions as far as the condition lets them be. */
static mpk_status check_solve(changed *c, double times) {
    enum { SIDES = 3 };
    int at[512];
    dense d = rows_of(c, at);
    const double eps = single(c->m.scalar) ? 0x1p-23 : 0x1p-52;
    char *b = malloc((size_t)c->all * SIDES * 16 + 1), *x = malloc((size_t)c->all * SIDES * 16 + 1);
    double complex truth[SIDES][512], right[SIDES][512];
    for (int i = 0; i < c->all * SIDES; i++) scalar_store(c->m.scalar, b, i, NAN); /* not read */
    for (int r = 0; r < SIDES; r++) {
        for (int i = 0; i < d.n; i++) truth[r][i] = number(c);
        for (int i = 0; i < d.n; i++) {
            double complex sum = 0;
            for (int j = 0; j < d.n; j++) sum += dense_get(&d, i, j) * truth[r][j];
            scalar_store(c->m.scalar, b, at[i] + (int64_t)r * c->all, sum);
            right[r][i] = scalar_load(c->m.scalar, b, at[i] + (int64_t)r * c->all);
        }
    }
    mpk_solve_info info;
    const mpk_status status =
        mpk_bordered_solve(c->s.ctx, c->w, SIDES, b, c->all, x, c->all, &info);
    assert_false(mpk_failed(status));
    double worst = 0, error = 0;
    for (int r = 0; r < SIDES; r++) {
        int seen = 0;
        for (int i = 0; i < c->all; i++) {
            const double complex xi = scalar_load(c->m.scalar, x, i + (int64_t)r * c->all);
            if (c->is[i] != 1) assert_true(xi == 0);
            if (c->is[i] == 1) error = fmax(error, cabs(xi - truth[r][seen++]));
        }
        for (int i = 0; i < d.n; i++) {
            double complex sum = right[r][i];
            double size = cabs(sum);
            for (int j = 0; j < d.n; j++) {
                const double complex t =
                    dense_get(&d, i, j) * scalar_load(c->m.scalar, x, at[j] + (int64_t)r * c->all);
                sum -= t, size += cabs(t);
            }
            if (size > 0) worst = fmax(worst, cabs(sum) / size);
        }
    }
    if (status == MPK_OK) {
        assert_true(info.componentwise <= (single(c->m.scalar) ? 0x1p29 * 1e-14 : 1e-14));
        assert_true(worst <= 4 * (info.componentwise + 40 * eps));
        assert_true(info.solved);
        if (times > 0) assert_true(error <= times * eps);
    }
    free(b), free(x), free(d.a);
    return status;
}

/* The inertia, and that a certificate says so. needed: it has to be certified */
static void check_inertia(changed *c, bool needed) {
    mpk_bordered_info info;
    mpk_certificate found;
    assert_int_equal(mpk_bordered_certify(c->s.ctx, c->w, &found), MPK_OK);
    mpk_bordered_info_get(c->w, &info);
    const bool has = c->m.scalar <= MPK_D || c->m.symmetry == MPK_HERMITIAN;
    assert_true(info.inertia.examined && info.inertia.certified == found.certified);
    assert_true(has || !found.certified);
    if (has && needed) assert_true(found.certified);
    if (!found.certified) return;
    int at[512];
    dense d = rows_of(c, at);
    const mpk_inertia truth = dense_inertia(&d, 0);
    assert_int_equal(info.inertia.positive, truth.positive);
    assert_int_equal(info.inertia.negative, truth.negative);
    assert_int_equal(info.inertia.zero, 0);
    free(d.a);
}

static int some_row(const changed *c, int kind, int from, int to) {
    for (int tries = 0; tries < 1000; tries++) {
        const int i = from + (int)(fabs(uniform()) * (to - from)) % (to - from);
        if (c->is[i] == kind) return i;
    }
    return -1;
}

static void test_changes_beside_dense_algebra(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (int family = 0; family < FAMILY_COUNT; family++) {
            if (test_sanitizer_skips(k * FAMILY_COUNT + family, 3) || family == GRADED_KKT)
                continue;
            dense a =
                family_matrix((enum support_family)family, 60, kinds[k].scalar, kinds[k].symmetry);
            for (int i = 0; i < a.n; i++) /* away from singular */
                dense_set(&a, i, i, dense_get(&a, i, i) + (i % 3 ? 4 : -4));
            changed c = begin(&a, MOST, 1 + 3 * (k % 2));
            check_inertia(&c, true);
            for (int step = 0; step < 40; step++) {
                mpk_bordered_info info;
                mpk_bordered_info_get(c.w, &info);
                const double pick = fabs(uniform());
                const bool room = info.added + info.removed < MOST;
                int i = -1;
                if (pick < 0.45 && room)
                    add(&c, step % 4 ? 5 : 60, step % 2 ? 3 : -3);
                else if (pick < 0.7 && room)
                    take_away(&c, some_row(&c, 1, 0, c.n));
                else if (pick < 0.85 && info.added > 0)
                    take_away(&c, some_row(&c, 1, c.n, c.all));
                else if (info.removed > 0 && (i = some_row(&c, 2, 0, c.n)) >= 0)
                    restore(&c, i);
                if (step % 5 == 4) {
                    assert_int_equal(check_solve(&c, 0), MPK_OK);
                    check_inertia(&c, false);
                }
            }
            mpk_bordered_info info;
            mpk_bordered_info_get(c.w, &info);
            assert_true(info.capacity == MOST && info.bytes > 0);
            finish(&c);
            free(a.a);
        }
}

/* Back where it began: the factor's own inertia and solutions, and no places taken. */
static void test_and_back(void **state) {
    (void)state;
    dense a = family_matrix(SPARSE, 50, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < 50; i++) dense_set(&a, i, i, i % 3 ? 4 : -4);
    changed c = begin(&a, 4, 1);
    const mpk_inertia before = c.s.info.inertia;
    for (int round = 0; round < 20; round++) {
        const int one = add(&c, 6, 2), two = add(&c, 6, -2);
        take_away(&c, 3 + round);
        take_away(&c, two);
        const int three = add(&c, 9, 0);
        assert_int_equal(three, two);
        assert_int_equal(check_solve(&c, 1e5), MPK_OK);
        restore(&c, 3 + round);
        take_away(&c, one), take_away(&c, three);
    }
    assert_int_equal(check_solve(&c, 1e5), MPK_OK);
    mpk_bordered_info info;
    mpk_bordered_info_get(c.w, &info);
    assert_true(info.added == 0 && info.removed == 0 && !info.refactorize);
    assert_true(info.inertia.positive == before.positive &&
                info.inertia.negative == before.negative);
    finish(&c);
    free(a.a);
}

/* A diagonal with rows added so that the whole is singular; nearly; and regular again. */
static void test_singular_changes(void **state) {
    (void)state;
    enum { N = 20 };
    dense a = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < N; i++) dense_set(&a, i, i, i % 2 ? 2 : -1);
    changed c = begin(&a, 4, 1);
    const int32_t rows[] = {1};
    const double values[] = {2};
    double corner = 2; /* [2 2; 2 2] */
    int32_t index;
    assert_int_equal(mpk_bordered_add(c.s.ctx, c.w, 1, rows, values, &corner, &index), MPK_OK);
    double b[N + 4], x[N + 4];
    mpk_solve_info info;
    for (int i = 0; i < N + 4; i++) b[i] = 1 + i;
    assert_int_equal(mpk_bordered_solve(c.s.ctx, c.w, 1, b, N + 4, x, N + 4, &info), MPK_SINGULAR);
    assert_int_equal(info.solved, 0); /* inconsistent */
    b[index] = b[1];
    assert_int_equal(mpk_bordered_solve(c.s.ctx, c.w, 1, b, N + 4, x, N + 4, &info), MPK_SINGULAR);
    assert_int_equal(info.solved, 1);
    mpk_certificate found;
    assert_int_equal(mpk_bordered_certify(c.s.ctx, c.w, &found), MPK_OK);
    assert_int_equal(found.certified, 0);
    mpk_bordered_info told;
    mpk_bordered_info_get(c.w, &told);
    assert_int_equal(told.inertia.zero, 1);
    /* another row makes it regular */
    const int32_t both[] = {1, index};
    const double more[] = {1, -1};
    int32_t second;
    corner = 0;
    assert_int_equal(mpk_bordered_add(c.s.ctx, c.w, 2, both, more, &corner, &second), MPK_OK);
    b[second] = 3;
    assert_int_equal(mpk_bordered_solve(c.s.ctx, c.w, 1, b, N + 4, x, N + 4, &info), MPK_OK);
    assert_true(fabs(x[1] - x[index] - 3) < 1e-13);
    finish(&c);
    free(a.a);
}

/* Copies of rows: the Schur complement is rounding, as large as terms that cancel make it, and no
 * pivot, whatever b is. */
static void test_copied_rows(void **state) {
    (void)state;
    enum { N = 9, ROUNDS = 60 };
    for (int round = 0; round < ROUNDS; round++) {
        dense a = dense_new(N, MPK_D, MPK_SYMMETRIC);
        int32_t rows[N];
        for (int j = 0; j < N; j++) {
            rows[j] = j;
            for (int i = j; i < N; i++) /* thirds: neither sums nor pivots are exact */
                dense_set(&a, i, j, floor(12 * uniform()) / 3 + (i == j ? j % 2 ? 7. : -7. : 0));
        }
        changed c = begin(&a, 2, 1);
        if (c.w) {
            const int of = round % N;
            double copy[N], b[N + 2], x[N + 2];
            for (int i = 0; i < N; i++)
                copy[i] = creal(dense_get(&a, i > of ? i : of, i > of ? of : i));
            int32_t index;
            assert_int_equal(mpk_bordered_add(c.s.ctx, c.w, N, rows, copy, &copy[of], &index),
                             MPK_OK);
            for (int i = 0; i < N + 2; i++) b[i] = 1 + i;
            b[index] = b[of]; /* consistent */
            mpk_solve_info info;
            assert_int_equal(mpk_bordered_solve(c.s.ctx, c.w, 1, b, N + 2, x, N + 2, &info),
                             MPK_SINGULAR);
            mpk_bordered_info told;
            mpk_bordered_info_get(c.w, &told);
            assert_int_equal(told.inertia.zero, 1);
        }
        finish(&c);
        free(a.a);
    }
}

/* A is singular: its factor has zero pivots, and is refused with a word on what to do. */
static void test_singular_a(void **state) {
    (void)state;
    dense a = dense_new(3, MPK_D, MPK_SYMMETRIC);
    for (int j = 0; j < 3; j++)
        for (int i = j; i < 3; i++) dense_set(&a, i, j, 1);
    system_of s = of_dense(&a, options_of(1));
    mpk_bordered *w = NULL;
    assert_int_equal(s.status, MPK_SINGULAR);
    assert_int_equal(mpk_bordered_create(s.ctx, s.fac, 2, &s.o, &w), MPK_ERR_UNSUPPORTED);
    const char *text;
    mpk_last_error(s.ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "zero pivots"));
    assert_null(w);
    end(&s);
    free(a.a);
}

/* A regular only just: no wrong solution passes as right. */
static void test_nearly_singular_a(void **state) {
    (void)state;
    for (int power = 8; power <= 15; power++) {
        dense a = dense_new(30, MPK_D, MPK_SYMMETRIC);
        for (int j = 0; j < 30; j++)
            for (int i = j; i < 30; i++) dense_set(&a, i, j, (i == j) + uniform());
        for (int i = 0; i < 30; i++) dense_set(&a, 29, i, dense_get(&a, 28, i));
        dense_set(&a, 29, 29, dense_get(&a, 28, 28) + pow(10, -power));
        dense_set(&a, 29, 28, dense_get(&a, 28, 28));
        changed c = begin(&a, 4, 1);
        if (!c.w) {
            finish(&c);
            free(a.a);
            continue;
        }
        take_away(&c, 29); /* what is left is well conditioned, which A was not */
        const mpk_status status = check_solve(&c, power < 12 ? 1e6 : 0);
        assert_true(status == MPK_OK || status == MPK_INACCURATE);
        if (power < 12) assert_int_equal(status, MPK_OK);
        check_inertia(&c, false);
        mpk_bordered_info info;
        mpk_bordered_info_get(c.w, &info);
        assert_true(info.refactorize == (status == MPK_INACCURATE));
        finish(&c);
        free(a.a);
    }
}

static void test_refused(void **state) {
    (void)state;
    dense a = family_matrix(BANDED, 12, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < 12; i++) dense_set(&a, i, i, 9);
    changed c = begin(&a, 2, 1);
    mpk_context *ctx = c.s.ctx;
    const double ones[] = {1, 1, NAN}, bad = INFINITY;
    const int32_t twice[] = {3, 3}, beyond[] = {1, 14}, free_one[] = {12}, rows[] = {0, 1, 2};
    int32_t index = -1;
    double x[14] = {0};
    assert_int_equal(mpk_bordered_add(ctx, c.w, 2, twice, ones, NULL, &index), MPK_ERR_INPUT);
    assert_int_equal(mpk_bordered_add(ctx, c.w, 2, beyond, ones, NULL, &index), MPK_ERR_INPUT);
    assert_int_equal(mpk_bordered_add(ctx, c.w, 1, free_one, ones, NULL, &index), MPK_ERR_INPUT);
    assert_int_equal(mpk_bordered_add(ctx, c.w, 3, rows, ones, NULL, &index), MPK_ERR_INPUT);
    assert_int_equal(mpk_bordered_add(ctx, c.w, 1, rows, ones, &bad, &index), MPK_ERR_INPUT);
    assert_int_equal(mpk_bordered_add(ctx, c.w, -1, rows, ones, NULL, &index), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_bordered_add(ctx, c.w, 1, NULL, ones, NULL, &index), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_bordered_add(ctx, c.w, 1, rows, ones, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_bordered_remove(ctx, c.w, 12), MPK_ERR_INPUT);
    assert_int_equal(mpk_bordered_remove(ctx, c.w, -1), MPK_ERR_INPUT);
    assert_int_equal(mpk_bordered_restore(ctx, c.w, 0), MPK_ERR_INPUT);
    assert_int_equal(check_solve(&c, 1e4), MPK_OK); /* as it was */
    take_away(&c, 5);
    assert_int_equal(mpk_bordered_remove(ctx, c.w, 5), MPK_ERR_INPUT);
    take_away(&c, 7);
    assert_int_equal(mpk_bordered_add(ctx, c.w, 2, rows, ones, NULL, &index), MPK_ERR_SIZE);
    assert_int_equal(mpk_bordered_remove(ctx, c.w, 8), MPK_ERR_SIZE);
    mpk_bordered_info info;
    mpk_bordered_info_get(c.w, &info);
    assert_true(info.refactorize && info.removed == 2);
    assert_int_equal(check_solve(&c, 1e4), MPK_OK);
    x[3] = NAN;
    assert_int_equal(mpk_bordered_solve(ctx, c.w, 1, x, 14, x, 14, NULL), MPK_ERR_INPUT);
    x[3] = 1, x[5] = NAN; /* not a row */
    assert_int_equal(mpk_bordered_solve(ctx, c.w, 1, x, 14, x, 14, NULL), MPK_OK);
    assert_int_equal(mpk_bordered_solve(ctx, c.w, 1, x, 13, x, 14, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_bordered_solve(ctx, NULL, 1, x, 14, x, 14, NULL), MPK_ERR_ARGUMENT);
    mpk_bordered *w = NULL;
    assert_int_equal(mpk_bordered_create(ctx, c.s.fac, 0, NULL, &w), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_bordered_create(ctx, NULL, 2, NULL, &w), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_bordered_create(ctx, c.s.fac, 2, NULL, NULL), MPK_ERR_ARGUMENT);
    /* other numbers in the factor */
    assert_int_equal(mpk_refactorize(ctx, NULL, &c.s.o, c.s.fac), MPK_OK);
    assert_int_equal(mpk_bordered_remove(ctx, c.w, 8), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_bordered_solve(ctx, c.w, 1, x, 14, x, 14, NULL), MPK_ERR_ARGUMENT);
    finish(&c);
    free(a.a);
}

/* The same bits for any number of threads. */
static void test_threads(void **state) {
    (void)state;
    double first[3 * 3 * 3 * 40], x[3 * 3 * 3 * 40];
    for (int threads = 1; threads <= 4; threads += 3) {
        system_of s = of_spec("nlpkkt 5", options_of(threads));
        mpk_bordered *w = NULL;
        int32_t index, rows[] = {1, 30, 77};
        const double values[] = {1, -2, 3};
        assert_int_equal(mpk_bordered_create(s.ctx, s.fac, 5, &s.o, &w), MPK_OK);
        assert_int_equal(mpk_bordered_add(s.ctx, w, 3, rows, values, NULL, &index), MPK_OK);
        assert_int_equal(mpk_bordered_remove(s.ctx, w, 50), MPK_OK);
        assert_true(s.a.n + 5 <= (int)(sizeof x / sizeof *x));
        for (int i = 0; i < s.a.n + 5; i++) x[i] = 1 + i % 7;
        assert_int_equal(mpk_bordered_solve(s.ctx, w, 1, x, s.a.n + 5, x, s.a.n + 5, NULL), MPK_OK);
        if (threads == 1) memcpy(first, x, sizeof x);
        assert_memory_equal(first, x, (size_t)(s.a.n + 5) * sizeof *x);
        mpk_bordered_destroy(&w);
        end(&s);
    }
}

/* Memory fails at every place once: each call leaves what there was. */
static void test_failures(void **state) {
    (void)state;
    failing f = {0};
    const mpk_allocator allocator = {failing_alloc, failing_release, &f};
    system_of s = {.o = options_of(1)};
    assert_int_equal(mpk_context_create(&allocator, &s.ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(s.ctx, "nlpkkt 2", 7, &s.problem), MPK_OK);
    factorize(&s);
    const int n = s.a.n + 4;
    double *x = malloc((size_t)n * sizeof *x);
    const double values[] = {1, 2};
    const int32_t rows[] = {1, 7};
    mpk_status status = MPK_ERR_MEMORY;
    for (int k = 1; status != MPK_OK; k++) {
        mpk_bordered *w = NULL;
        int32_t index;
        assert_true(k < 1000);
        f.calls = 0, f.fail_at = k;
        status = mpk_bordered_create(s.ctx, s.fac, 4, &s.o, &w);
        if (status == MPK_OK) status = mpk_bordered_add(s.ctx, w, 2, rows, values, NULL, &index);
        if (status == MPK_OK) status = mpk_bordered_remove(s.ctx, w, 2);
        for (int i = 0; i < n; i++) x[i] = i;
        if (status == MPK_OK) status = mpk_bordered_solve(s.ctx, w, 1, x, n, x, n, NULL);
        if (status == MPK_OK) status = mpk_bordered_certify(s.ctx, w, NULL);
        f.fail_at = 0;
        assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
        if (w && status != MPK_OK) { /* it goes on */
            mpk_bordered_info info;
            mpk_bordered_info_get(w, &info);
            if (!info.removed) assert_int_equal(mpk_bordered_remove(s.ctx, w, 2), MPK_OK);
            for (int i = 0; i < n; i++) x[i] = i;
            assert_int_equal(mpk_bordered_solve(s.ctx, w, 1, x, n, x, n, NULL), MPK_OK);
        }
        mpk_bordered_destroy(&w);
    }
    free(x);
    end(&s);
    assert_int_equal(f.held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_beside_dense_algebra),
        cmocka_unit_test(test_and_back),
        cmocka_unit_test(test_singular_changes),
        cmocka_unit_test(test_copied_rows),
        cmocka_unit_test(test_singular_a),
        cmocka_unit_test(test_nearly_singular_a),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
