/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of every rank: whatever method made the factors, counts that are wrong are never told as
 * certified, no x is called good where there is none, and the ladder keeps the zero pivots that one
 * of its rungs met. */
#include "../sanitized.h"
#include "support.h"

#include <metapack/dense.h>
#include <stdbool.h>

enum { N = 48, METHODS = MPK_DENSE_COUNT };

typedef struct known {
    int positive, negative, zero; /* positive -1: not known, or without meaning */
} known;

typedef struct matrix {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    double complex a[N][N];
    known is;
} matrix;

static double complex entry(const matrix *m) {
    const double re = uniform();
    return m->scalar >= MPK_C ? re + uniform() * I : re;
}

static double complex mirror(const matrix *m, double complex v) {
    return m->symmetry == MPK_HERMITIAN ? conj(v) : v;
}

/* U D U^T with r columns, integers where asked for, rows of sizes down to 1 / range. */
static void low_rank(matrix *m, int r, bool integers, double range) {
    for (int k = 0; k < r; k++) {
        double complex u[N];
        for (int i = 0; i < N; i++) {
            u[i] = entry(m);
            if (integers) u[i] = rint(4 * creal(u[i])) + rint(4 * cimag(u[i])) * I;
            u[i] *= pow(range, -(double)i / N);
        }
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) m->a[i][j] += (k % 2 ? -1 : 1) * u[i] * mirror(m, u[j]);
    }
    m->is = (known){r - r / 2, r / 2, N - r};
}

/* A random block of order r; all rows are copies of its own, or zero. */
static void repeated(matrix *m, int r, bool copies) {
    double complex(*b)[N] = calloc(N, sizeof *b);
    assert_non_null(b);
    for (int j = 0; j < r; j++)
        for (int i = j; i < r; i++) {
            b[i][j] = i == j && m->symmetry == MPK_HERMITIAN ? creal(entry(m)) : entry(m);
            b[j][i] = mirror(m, b[i][j]);
        }
    for (int j = 0; j < N && r > 0; j++)
        for (int i = 0; i < N; i++)
            if (copies || (i < r && j < r)) m->a[i][j] = b[i % r][j % r];
    free(b);
    m->is = (known){-1, -1, N - r};
}

/* [I B^T; B 0] with constraints of which some say what others do. */
static void saddle(matrix *m, int r) {
    enum { M = 2 * N / 3 };
    const int rank = r <= M ? 0 : r - M;
    for (int i = 0; i < M; i++) m->a[i][i] = 1;
    for (int k = 0; k < rank; k++) {
        double complex left[N], right[N];
        for (int i = 0; i < N; i++) left[i] = entry(m), right[i] = entry(m);
        for (int i = M; i < N; i++)
            for (int j = 0; j < M; j++) {
                m->a[i][j] += left[i] * right[j];
                m->a[j][i] = mirror(m, m->a[i][j]);
            }
    }
    m->is = (known){M, rank, N - M - rank};
}

enum { FAMILIES = 6 };
static const char *const families[FAMILIES] = {"low rank", "integers", "graded",
                                               "copies",   "zeros",    "saddle"};

static void make(matrix *m, int family, int rank) {
    memset(m->a, 0, sizeof m->a);
    if (family < 3)
        low_rank(m, rank, family == 1, family == 2 ? 1e4 : 1);
    else if (family < 5)
        repeated(m, rank, family == 3);
    else
        saddle(m, rank);
    if (m->scalar >= MPK_C && m->symmetry == MPK_SYMMETRIC) m->is.positive = -1;
}

typedef struct outcome {
    mpk_status status;
    mpk_inertia inertia;
    int zero_pivots;
    bool certified; /* by mpk_dense_certify */
} outcome;

static outcome solve(mpk_context *ctx, const matrix *m, mpk_dense_method method, bool consistent) {
    mpk_dense d;
    mpk_dense_sizes sizes;
    mpk_dense_info info;
    const size_t size = mpk_scalar_size(m->scalar);
    mpk_dense_init(&d);
    d.scalar = m->scalar, d.symmetry = m->symmetry, d.n = N, d.method = method, d.threads = 1;
    assert_int_equal(mpk_dense_query(ctx, &d, 1, &sizes), MPK_OK);
    void *a = malloc(N * N * size), *b = malloc(N * size), *x = malloc(N * size);
    mpk_dense_factor f = {.struct_size = sizeof f, .ldf = N};
    f.f = malloc((size_t)sizes.factor_bytes);
    f.pivots = malloc((size_t)sizes.pivots * sizeof(int32_t) + 8);
    f.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
    assert_true(a && b && x && f.f && f.pivots && f.extra);
    for (int i = 0; i < N; i++) {
        double complex sum = 0;
        for (int j = 0; j < N; j++) {
            scalar_store(m->scalar, a, i + (int64_t)j * N, m->a[i][j]);
            sum += m->a[i][j];
        }
        scalar_store(m->scalar, b, i, consistent ? sum : entry(m));
    }
    outcome o = {.status = mpk_dense_sysv(ctx, &d, a, N, &f, 1, b, N, x, N, NULL, 0, &info)};
    if (!mpk_failed(o.status)) {
        o.inertia = info.inertia, o.zero_pivots = (int)info.zero_pivots;
        assert_int_equal(f.inertia.certified, info.inertia.certified);
        mpk_certificate found;
        assert_int_equal(mpk_dense_certify(ctx, &d, a, N, &f, NULL, 0, &found), MPK_OK);
        o.certified = found.certified;
    }
    free(a), free(b), free(x), free(f.f), free(f.pivots), free(f.extra);
    return o;
}

static bool wrong(const outcome *o, const known *is) {
    if (o->inertia.zero != is->zero) return true;
    return is->positive >= 0 &&
           (o->inertia.positive != is->positive || o->inertia.negative != is->negative);
}

static void check(mpk_context *ctx, const matrix *m, const char *what, bool consistent) {
    int met = 0;                                            /* zero pivots of the tile method */
    for (int method = METHODS - 1; method >= 0; method--) { /* auto last */
        const outcome o = solve(ctx, m, (mpk_dense_method)method, consistent);
        const char *const name = mpk_dense_method_name((mpk_dense_method)method);
        if (mpk_failed(o.status)) {
            if (method == MPK_DENSE_AUTO) fail_msg("%s: auto failed", what);
            continue;
        }
        if (method == MPK_DENSE_TILE) met = o.status == MPK_SINGULAR ? o.zero_pivots : 0;
        if ((o.certified || o.inertia.certified) && (m->is.zero > 0 || wrong(&o, &m->is)))
            fail_msg("%s, %s: wrong counts are certified", what, name);
        if (!consistent && m->is.zero > 0 && o.status == MPK_OK)
            fail_msg("%s, %s: no x solves it, and one is called good", what, name);
        if (method != MPK_DENSE_AUTO) continue;
        if (!consistent && m->is.zero > 0 && o.inertia.zero == 0 && !o.inertia.examined)
            fail_msg("%s: the counts of auto look like those of a regular matrix", what);
        if (o.status == MPK_SINGULAR && met > 0 && o.inertia.zero == 0)
            fail_msg("%s: singular, without the zero pivots of tile", what);
        if (met > 0 && o.inertia.zero == 0 && !o.inertia.examined)
            fail_msg("%s: tile met zero pivots, and auto says nothing of it", what);
    }
}

static void every_rank(void **state) {
    (void)state;
    static const int ranks[] = {0, 1, 2, 5, 20, 30, N - 3, N - 1, N};
    mpk_context *ctx = NULL;
    matrix *m = calloc(1, sizeof *m);
    assert_non_null(m);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int kind = 0; kind < 6; kind++)
        for (int family = 0; family < FAMILIES; family++)
            for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
                char what[96];
                m->scalar = (mpk_scalar)(kind < 4 ? kind : kind - 2);
                m->symmetry = kind < 4 ? MPK_SYMMETRIC : MPK_HERMITIAN;
                if (family == 5 && ranks[k] < 2 * N / 3) continue;
                /* single precision does the same, compiled without optimization there */
                if (TEST_SANITIZED && (m->scalar == MPK_S || m->scalar == MPK_C)) continue;
                if (TEST_SANITIZED && k % 3 != 0) continue;
                support_state = 100 * (uint64_t)family + k + 1;
                make(m, family, ranks[k]);
                snprintf(what, sizeof what, "%s, rank %d, %c%s", families[family], ranks[k],
                         "sdcz"[m->scalar], kind < 4 ? "" : " Hermitian");
                check(ctx, m, what, k % 2 == 0);
                check(ctx, m, what, k % 2 != 0);
            }
    mpk_context_destroy(&ctx);
    free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rank)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
