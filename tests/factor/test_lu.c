/* SPDX-License-Identifier: BSD-3-Clause */
/* The direct factor of matrices that are not symmetric, beside dense elimination with complete
 * pivoting: solutions with A and its transposes, the rank, the determinant, whatever the threads. */
#include "support.h"

#include "core/pool.h"
#include "factor/factor.h"
#include <metapack/selected.h>

static mpk_context *ctx;

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct table {
    int n;
    double complex *a; /* n x n, by columns */
    char *there;       /* entries that are stored */
} table;

static table table_new(int n) {
    const size_t size = (size_t)n * n + 1;
    return (table){n, calloc(size, sizeof(double complex)), calloc(size, 1)};
}

static void table_free(table *t) {
    free(t->a), free(t->there);
}

static void set(table *t, int i, int j, double complex x) {
    t->a[i + (size_t)j * t->n] = x, t->there[i + (size_t)j * t->n] = 1;
}

static int below(int n) {
    return n ? (int)(fabs(uniform()) * n) % n : 0;
}

static double complex number(mpk_scalar scalar) {
    const double re = uniform(), im = uniform();
    return scalar >= MPK_C ? re + im * I : re;
}

/* Rows and columns in disorder. */
static void shuffle(table *t, bool columns) {
    for (int i = t->n - 1; i > 0; i--) {
        const int k = below(i + 1);
        for (int j = 0; j < t->n; j++) {
            const size_t x = columns ? j + (size_t)i * t->n : i + (size_t)j * t->n;
            const size_t y = columns ? j + (size_t)k * t->n : k + (size_t)j * t->n;
            const double complex a = t->a[x];
            const char there = t->there[x];
            t->a[x] = t->a[y], t->there[x] = t->there[y];
            t->a[y] = a, t->there[y] = there;
        }
    }
}

enum {
    SCATTERED,  /* few entries, zeros on the diagonal */
    SADDLE,     /* [F, B; C, 0] */
    TRIANGULAR, /* permuted */
    CONVECTION, /* on a grid, with an upwind term */
    CIRCUIT,    /* a few full rows and columns */
    SCALED,     /* sparse, rows and columns by powers of ten */
    HOLLOW,     /* structurally singular: rows on few columns */
    LACKING,    /* numerically singular: a row is a sum of others */
    GROWING,    /* Wilkinson's: pivots of the diagonal alone grow */
    FULL,
    KINDS
};

static table make(int kind, int n, mpk_scalar scalar) {
    table t = table_new(n);
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const int side = (int)sqrt((double)n), entries = n * (2 + below(4));
    for (int k = 0; kind != FULL && kind != GROWING && kind != CONVECTION && k < entries; k++) {
        int i = below(n), j = below(n);
        if (kind == SADDLE && i >= 2 * n / 3 && j >= 2 * n / 3) continue;
        if (kind == TRIANGULAR && i < j) continue;
        if (kind == HOLLOW && i >= n - 3) j = below(2);
        set(&t, i, j, number(scalar));
    }
    for (int i = 0; i < n; i++) {
        if (kind == SADDLE || kind == TRIANGULAR || kind == CIRCUIT) {
            if (kind != SADDLE || i < 2 * n / 3) set(&t, i, i, 1 + number(scalar) / 2);
            if (kind == SADDLE && i >= 2 * n / 3)
                set(&t, i, i - n / 3, 1), set(&t, i - n / 3, i, 1 + number(scalar) / 2);
        } else if (kind == SCATTERED || kind == SCALED || kind == LACKING) {
            set(&t, (i * 7 + 3) % n, i, 1 + number(scalar) / 4);
        } else if (kind == CONVECTION) {
            set(&t, i, i, 4 + (scalar >= MPK_C ? I : 0));
            if (i % side) set(&t, i, i - 1, -1.9), set(&t, i - 1, i, -0.1);
            if (i >= side) set(&t, i, i - side, -1), set(&t, i - side, i, -1.0);
        } else if (kind == GROWING) {
            for (int j = 0; j < i; j++) set(&t, i, j, -1);
            set(&t, i, i, 1), set(&t, i, n - 1, 1);
        } else if (kind == FULL) {
            for (int j = 0; j < n; j++) set(&t, i, j, number(scalar));
        }
        if (kind == CIRCUIT && n > 4) set(&t, i, 1, number(scalar)), set(&t, 2, i, number(scalar));
    }
    if (kind == SCALED)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                t.a[i + (size_t)j * n] *=
                    pow(10, (i * 5 % 7 - 3) * (single ? 1 : 4) + (j * 3 % 5 - 2));
    if (kind == LACKING && n > 3)
        for (int j = 0; j < n; j++) {
            const size_t at = (size_t)j * n;
            if (t.there[1 + at] || t.there[2 + at])
                set(&t, 0, j, t.a[1 + at] + t.a[2 + at]);
            else
                t.a[at] = 0, t.there[at] = 0;
        }
    if (kind != CONVECTION && kind != SADDLE) shuffle(&t, true), shuffle(&t, false);
    return t;
}

static mpk_problem *problem_of(const table *t, mpk_scalar scalar) {
    mpk_problem *p = NULL;
    int64_t *ap = calloc((size_t)t->n + 1, sizeof *ap), nnz = 0;
    int32_t *ai = malloc(((size_t)t->n * t->n + 1) * sizeof *ai);
    void *ax = malloc(((size_t)t->n * t->n + 1) * mpk_scalar_size(scalar));
    for (int j = 0; j < t->n; j++) {
        for (int i = 0; i < t->n; i++) {
            const size_t at = i + (size_t)j * t->n;
            if (!t->there[at]) continue;
            scalar_store(scalar, ax, nnz, t->a[at]);
            t->a[at] = scalar_load(scalar, ax, nnz);
            ai[nnz++] = i;
        }
        ap[j + 1] = nnz;
    }
    assert_int_equal(mpk_problem_from_csc(ctx, t->n, scalar, MPK_GENERAL, MPK_FULL, ap, ai, ax, &p),
                     MPK_OK);
    free(ap), free(ai), free(ax);
    return p;
}

/* ---- dense elimination ----------------------------------------------------------------------- */

typedef struct oracle {
    int rank;            /* by pivots above 1e-13 of the first, rows and columns equilibrated */
    double log_abs;      /* of the determinant */
    double complex sign; /* likewise */
} oracle;

static oracle eliminate(const table *t) {
    const int n = t->n;
    double complex *a = malloc(((size_t)n * n + 1) * sizeof *a);
    oracle o = {0, 0, 1};
    double first = 0;
    memcpy(a, t->a, (size_t)n * n * sizeof *a);
    for (int sweep = 0; sweep < 40; sweep++)
        for (int i = 0; i < n; i++) {
            double row = 0, column = 0;
            for (int j = 0; j < n; j++) row = fmax(row, cabs(a[i + (size_t)j * n]));
            if (row > 0) o.log_abs += log(row);
            for (int j = 0; j < n && row > 0; j++) a[i + (size_t)j * n] /= row;
            for (int j = 0; j < n; j++) column = fmax(column, cabs(a[j + (size_t)i * n]));
            if (column > 0) o.log_abs += log(column);
            for (int j = 0; j < n && column > 0; j++) a[j + (size_t)i * n] /= column;
        }
    for (int k = 0; k < n; k++, o.rank++) {
        int p = k, q = k;
        for (int j = k; j < n; j++)
            for (int i = k; i < n; i++)
                if (cabs(a[i + (size_t)j * n]) > cabs(a[p + (size_t)q * n])) p = i, q = j;
        const double size = cabs(a[p + (size_t)q * n]);
        if (k == 0) first = size;
        if (!(size > 1e-13 * first)) break;
        for (int j = 0; j < n && p != k; j++) {
            const double complex x = a[p + (size_t)j * n];
            a[p + (size_t)j * n] = a[k + (size_t)j * n], a[k + (size_t)j * n] = x;
        }
        for (int i = 0; i < n && q != k; i++) {
            const double complex x = a[i + (size_t)q * n];
            a[i + (size_t)q * n] = a[i + (size_t)k * n], a[i + (size_t)k * n] = x;
        }
        if ((p != k) != (q != k)) o.sign = -o.sign;
        const double complex d = a[k + (size_t)k * n];
        o.log_abs += log(size), o.sign *= d / size;
        for (int j = k + 1; j < n; j++) {
            const double complex u = a[k + (size_t)j * n] / d;
            for (int i = k + 1; u != 0 && i < n; i++)
                a[i + (size_t)j * n] -= a[i + (size_t)k * n] * u;
        }
    }
    free(a);
    return o;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static mpk_options direct(int threads) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = threads;
    return o;
}

/* max_i |b - op(A) x|_i / (|op(A)| |x| + |b| + sum_j |op(A)_ij| max |x|)_i; op 0: A, 1: A^T, 2:
 * A^H */
static double error_of(const table *t, mpk_scalar scalar, int op, const void *b, const void *x) {
    double worst = 0, most = 0;
    for (int i = 0; i < t->n; i++) most = fmax(most, cabs(scalar_load(scalar, x, i)));
    for (int i = 0; i < t->n; i++) {
        double complex r = scalar_load(scalar, b, i);
        double w = cabs(r);
        for (int j = 0; j < t->n; j++) {
            double complex a = op ? t->a[j + (size_t)i * t->n] : t->a[i + (size_t)j * t->n];
            if (op == 2) a = conj(a);
            r -= a * scalar_load(scalar, x, j);
            w += cabs(a) * (cabs(scalar_load(scalar, x, j)) + most);
        }
        if (w > 0) worst = fmax(worst, cabs(r) / w);
    }
    return worst;
}

/* Solves with A and its transposes, one right-hand side and several: what has a good status is
 * good. Returns how many had. */
static int check_solves(const table *t, mpk_scalar scalar, const mpk_factor *fac, bool regular) {
    enum { MOST = 11 };
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const size_t size = mpk_scalar_size(scalar);
    const int n = t->n;
    char *b = malloc((size_t)(n + 3) * MOST * size + 1),
         *x = malloc((size_t)(n + 1) * MOST * size + 1);
    const mpk_options o = direct(2);
    int good = 0;
    for (int op = 0; op < 3; op++)
        for (int nrhs = 1; nrhs <= MOST; nrhs += MOST - 1) {
            mpk_solve_info info;
            for (int64_t k = 0; k < (int64_t)(n + 3) * nrhs; k++)
                scalar_store(scalar, b, k, number(scalar));
            const mpk_status status = op == 0
                                          ? mpk_solve(ctx, fac, nrhs, b, n + 3, x, n + 1, &o, &info)
                                          : mpk_solve_transposed(ctx, fac, (mpk_transpose)op, nrhs,
                                                                 b, n + 3, x, n + 1, &o, &info);
            if (regular) assert_int_equal(status, MPK_OK);
            if (status != MPK_OK) continue;
            good++;
            for (int r = 0; r < nrhs; r++) {
                const double error = error_of(t, scalar, op, b + (size_t)(n + 3) * r * size,
                                              x + (size_t)(n + 1) * r * size);
                if (!(error <= (single ? 1e-5 : 1e-12)))
                    fail_msg("op %d, side %d of %d: error %.2g, told %.2g", op, r, nrhs, error,
                             info.componentwise);
            }
        }
    free(b), free(x);
    return good;
}

static void check_determinant(const mpk_factor *fac, const oracle *dense, double tolerance) {
    double out[3];
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, out, sizeof out), MPK_OK);
    const double complex sign = out[1] + out[2] * I;
    if (!(fabs(out[0] - dense->log_abs) <= tolerance) || !(cabs(sign - dense->sign) <= tolerance))
        fail_msg("determinant e^%.10g (%g %+gi), not e^%.10g (%g %+gi)", out[0], out[1], out[2],
                 dense->log_abs, creal(dense->sign), cimag(dense->sign));
}

/* One matrix, its status beside the rank that complete pivoting finds. */
static void check_matrix(int kind, int n, mpk_scalar scalar) {
    const bool single = scalar == MPK_S || scalar == MPK_C;
    table t = make(kind, n, scalar);
    mpk_problem *p = problem_of(&t, scalar);
    const oracle dense = eliminate(&t);
    mpk_options o = direct(1 + below(2));
    if (below(4) == 0) o.pivot_threshold = 0.5;
    if (below(5) == 0) o.matching = MPK_OFF;
    if (below(5) == 0) o.ordering = MPK_ORDERING_NATURAL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    assert_false(mpk_failed(mpk_analyse(ctx, p, &o, &an)));
    const mpk_status status = mpk_factorize(ctx, an, NULL, &o, &fac);
    if (mpk_failed(status)) {
        const char *text;
        mpk_last_error(ctx, NULL, NULL, &text);
        fail_msg("kind %d, n %d, scalar %d: %s", kind, n, (int)scalar, text);
    }
    mpk_factor_info_get(fac, &info);
    assert_int_equal(info.inertia.positive + info.inertia.negative, 0);
    if (status == MPK_SINGULAR && dense.rank == n && !single)
        fail_msg("kind %d, n %d, scalar %d: singular, but of rank %d", kind, n, (int)scalar,
                 dense.rank);
    const bool plain = kind == CONVECTION || (kind == FULL && n < 100 && !single);
    if (plain) assert_int_equal(dense.rank, n);
    const int good = check_solves(&t, scalar, fac, plain);
    if (dense.rank < n && good && (kind == HOLLOW || kind == LACKING))
        fail_msg("kind %d, n %d, scalar %d: rank %d, and %d good solves", kind, n, (int)scalar,
                 dense.rank, good);
    if (plain && !single) check_determinant(fac, &dense, 1e-9 * (n + 1));
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    table_free(&t);
}

static void beside_dense_elimination(void **state) {
    (void)state;
    const char *more = getenv("METAPACK_LU_MATRICES");
    const int rounds = more ? atoi(more) : 3, largest = more ? 90 : 60;
    if (more) support_state = (uint64_t)rounds * 7919 + 1;
    for (int round = 0; round < rounds; round++)
        for (int kind = 0; kind < KINDS; kind++)
            for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
                check_matrix(kind, 6 + below(largest), scalar);
    check_matrix(FULL, 300, MPK_D);
    check_matrix(SADDLE, 260, MPK_Z);
    check_matrix(CIRCUIT, 280, MPK_D);
}

/* ---- what does not depend on the matrix ------------------------------------------------------ */

static mpk_problem *generate(const char *spec) {
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_generate(ctx, spec, 5, &p), MPK_OK);
    return p;
}

static mpk_factor *factorize(const mpk_problem *p, const mpk_options *o, mpk_analysis **an) {
    mpk_factor *fac = NULL;
    *an = NULL;
    assert_false(mpk_failed(mpk_analyse(ctx, p, o, an)));
    assert_false(mpk_failed(mpk_factorize(ctx, *an, NULL, o, &fac)));
    return fac;
}

/* The same bits of solutions for any number of threads, one right-hand side and several; fronts
 * that workers share, and columns that are delayed. */
static void same_bits(void **state) {
    (void)state;
    static const char *const specs[] = {"convection 90", "convection 14 dimension=3d",
                                        "random 900 density=0.01 entries=general"};
    for (int k = 0; k < 3; k++) {
        mpk_problem *p = generate(specs[k]);
        mpk_problem_view v;
        mpk_problem_view_get(p, &v);
        const size_t count = (size_t)v.n * 19;
        double *b = malloc(count * sizeof *b), *first = malloc(count * sizeof *b),
               *x = malloc(count * sizeof *b);
        for (size_t i = 0; i < count; i++) b[i] = uniform();
        for (int threads = 1; threads <= 3; threads++) {
            mpk_options o = direct(threads);
            if (k == 2) o.matching = MPK_OFF, o.pivot_threshold = 0.5;
            mpk_analysis *an;
            mpk_factor *fac = factorize(p, &o, &an);
            mpk_factor_info info;
            mpk_factor_info_get(fac, &info);
            assert_true(k < 2 || info.rejected > 0);
            double *y = threads == 1 ? first : x;
            o.refine = 0;
            assert_true(mpk_solve(ctx, fac, 18, b, v.n, y, v.n, &o, NULL) >= 0);
            const size_t last = (size_t)v.n * 18;
            assert_true(mpk_solve_transposed(ctx, fac, MPK_TRANSPOSE, 1, b, v.n, y + last, v.n, &o,
                                             NULL) >= 0);
            if (threads > 1) assert_memory_equal(x, first, count * sizeof *x);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
        }
        free(b), free(first), free(x);
        mpk_problem_destroy(&p);
    }
}

/* New values, of another kind too: a diagonal that becomes zero. */
static void new_values(void **state) {
    (void)state;
    mpk_options o = direct(2);
    mpk_analysis *an;
    mpk_problem *p = generate("convection 20");
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    mpk_factor *fac = factorize(p, &o, &an);
    double *ax = malloc((size_t)v.nnz * sizeof *ax), *b = malloc((size_t)v.n * sizeof *b),
           *x = malloc((size_t)v.n * sizeof *x);
    for (int round = 0; round < 6; round++) {
        for (int32_t j = 0; j < v.n; j++)
            for (int64_t k = v.ap[j]; k < v.ap[j + 1]; k++) {
                ax[k] = round == 5 ? 0 : uniform();
                if (v.ai[k] == j && round % 2) ax[k] = 0;
            }
        const mpk_status status = mpk_refactorize(ctx, ax, &o, fac);
        if (round == 5) {
            assert_int_equal(status, MPK_SINGULAR);
            continue;
        }
        assert_true(status >= 0);
        mpk_problem *other = NULL;
        assert_int_equal(
            mpk_problem_from_csc(ctx, v.n, MPK_D, MPK_GENERAL, MPK_FULL, v.ap, v.ai, ax, &other),
            MPK_OK);
        for (int32_t i = 0; i < v.n; i++) x[i] = 1 + i % 3;
        assert_int_equal(mpk_problem_multiply(ctx, other, 1, x, v.n, b, v.n), MPK_OK);
        mpk_solve_info info;
        assert_int_equal(mpk_solve(ctx, fac, 1, b, v.n, x, v.n, &o, &info), MPK_OK);
        assert_true(info.componentwise <= 1e-14);
        mpk_problem_destroy(&other);
    }
    ax[0] = NAN;
    assert_int_equal(mpk_refactorize(ctx, ax, &o, fac), MPK_ERR_INPUT);
    free(ax), free(b), free(x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

static mpk_problem *of_entries(int n, int count, const int32_t *rows, const int32_t *cols,
                               const double *values) {
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_from_triplets(ctx, n, MPK_D, MPK_GENERAL, MPK_FULL, count, rows,
                                               cols, values, &p),
                     MPK_OK);
    return p;
}

static void smallest(void **state) {
    (void)state;
    const int32_t at[] = {0, 1};
    const double values[] = {3, 4};
    for (int n = 0; n < 2; n++)
        for (int count = 0; count <= n; count++) {
            const mpk_options o = direct(1);
            mpk_analysis *an;
            mpk_problem *p = of_entries(n, count, at, at, values);
            mpk_factor *fac = factorize(p, &o, &an);
            double b[1] = {6}, x[1];
            const mpk_status status = mpk_solve(ctx, fac, 1, b, 1, x, 1, &o, NULL);
            assert_int_equal(status, n > count ? MPK_SINGULAR : MPK_OK);
            if (count) assert_true(x[0] == 2);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&p);
        }
}

/* A shift replaces what fails: nothing is delayed, the status says so. */
static void shifted(void **state) {
    (void)state;
    const int32_t rows[] = {0, 1, 2, 2, 0}, cols[] = {1, 1, 0, 2, 2};
    const double values[] = {1, 1, 2, 1, 1};
    mpk_options o = direct(1);
    mpk_analysis *an;
    o.static_shift = 1e-8;
    o.matching = MPK_OFF;
    mpk_problem *p = of_entries(3, 3, rows, cols, values); /* column 2 is empty */
    mpk_factor *fac = factorize(p, &o, &an);
    mpk_factor_info info;
    mpk_factor_info_get(fac, &info);
    assert_true(info.perturbed > 0 && info.rejected == 0);
    assert_int_equal(info.inertia.zero, 0);
    double b[3] = {1, 1, 1}, x[3];
    assert_true(mpk_solve(ctx, fac, 1, b, 3, x, 3, &o, NULL) > 0);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

static void assert_says(const char *part) {
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (!text || !strstr(text, part)) fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void refused(void **state) {
    (void)state;
    mpk_options o = direct(1);
    mpk_analysis *an;
    mpk_problem *p = generate("convection 8");
    mpk_factor *fac = factorize(p, &o, &an);
    double x[64] = {0}, out[128];
    int64_t counts[3];
    int32_t order[64];
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_INERTIA, counts, sizeof counts),
                     MPK_ERR_UNSUPPORTED);
    assert_says("no inertia");
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_PERM, order, sizeof order), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, out, sizeof out), MPK_OK);
    for (int part = MPK_PART_L; part <= MPK_PART_ABS; part++) {
        if (part == MPK_PART_ALL) continue;
        assert_int_equal(mpk_solve_part(ctx, fac, (mpk_part)part, 1, x, 64), MPK_ERR_UNSUPPORTED);
        assert_says("as a whole");
    }
    assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, x, 64), MPK_OK);
    assert_int_equal(
        mpk_selected_inverse(ctx, fac, MPK_SELECT_DIAGONAL, out, sizeof out, NULL, NULL),
        MPK_ERR_UNSUPPORTED);
    assert_says("entries of the inverse are of matrices that are");
    assert_int_equal(mpk_solve_transposed(ctx, fac, (mpk_transpose)3, 1, x, 64, x, 64, &o, NULL),
                     MPK_ERR_ARGUMENT);
    o.krylov = MPK_KRYLOV_GMRES;
    assert_int_equal(mpk_solve_transposed(ctx, fac, MPK_TRANSPOSE, 1, x, 64, x, 64, &o, NULL),
                     MPK_ERR_UNSUPPORTED);
    for (int i = 0; i < 64; i++) x[i] = 1;
    assert_int_equal(mpk_solve(ctx, fac, 1, x, 64, out, 64, &o, NULL), MPK_OK); /* around L U */
    mpk_factor_destroy(&fac);
    o = direct(1);
    o.precision = MPK_PRECISION_SINGLE;
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_ERR_UNSUPPORTED);
    assert_says("precision = single");
    o = direct(1);
    o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_ERR_UNSUPPORTED);
    assert_says("not factorized directly on");
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

/* Transposes of what is symmetric or Hermitian, and of a factor on blocks. */
static void of_other_factors(void **state) {
    (void)state;
    for (int hermitian = 0; hermitian < 2; hermitian++) {
        const double complex off = 2 + 3 * I, ax[] = {4, off, hermitian ? 1 : 1 + I};
        const int64_t ap[] = {0, 2, 3};
        const int32_t ai[] = {0, 1, 1};
        mpk_problem *p = NULL;
        mpk_analysis *an;
        const mpk_options o = direct(1);
        assert_int_equal(mpk_problem_from_csc(ctx, 2, MPK_Z,
                                              hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC, MPK_LOWER,
                                              ap, ai, ax, &p),
                         MPK_OK);
        mpk_factor *fac = factorize(p, &o, &an);
        for (int op = 1; op < 3; op++) {
            double complex a[2][2] = {{ax[0], hermitian ? conj(off) : off}, {off, ax[2]}};
            double complex b[2] = {1 + I, 2 - I}, x[2];
            assert_int_equal(
                mpk_solve_transposed(ctx, fac, (mpk_transpose)op, 1, b, 2, x, 2, &o, NULL), MPK_OK);
            for (int i = 0; i < 2; i++) {
                double complex sum = -b[i];
                for (int j = 0; j < 2; j++) sum += (op == 2 ? conj(a[j][i]) : a[j][i]) * x[j];
                assert_true(cabs(sum) <= 1e-14);
            }
        }
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
    }
    mpk_options o = direct(1);
    mpk_analysis *an;
    o.method = MPK_METHOD_ILU0;
    mpk_problem *p = generate("convection 8");
    mpk_factor *fac = factorize(p, &o, &an);
    double x[64] = {0};
    assert_int_equal(mpk_solve_transposed(ctx, fac, MPK_TRANSPOSE, 1, x, 64, x, 64, &o, NULL),
                     MPK_ERR_UNSUPPORTED);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

/* Every allocation fails once: no crash, no leak, b as it was. */
static void memory_runs_out(void **state) {
    (void)state;
    const mpk_options o = direct(1);
    bool done = false;
    for (int64_t k = 1; !done; k += 1 + k / 40) {
        failing f = {0};
        const mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *own = NULL;
        mpk_problem *p = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        double b[300];
        assert_int_equal(mpk_context_create(&allocator, &own), MPK_OK);
        f.fail_at = f.calls + k;
        mpk_status status =
            mpk_problem_generate(own, "random 300 density=0.01 entries=general", 5, &p);
        if (!mpk_failed(status)) status = mpk_analyse(own, p, &o, &an);
        if (!mpk_failed(status)) status = mpk_factorize(own, an, NULL, &o, &fac);
        for (int i = 0; i < 300; i++) b[i] = 1;
        if (!mpk_failed(status))
            status = mpk_solve_transposed(own, fac, MPK_TRANSPOSE, 1, b, 300, b, 300, &o, NULL);
        done = !mpk_failed(status);
        if (!done) assert_int_equal(status, MPK_ERR_MEMORY);
        for (int i = 0; !done && fac && i < 300; i++) assert_true(b[i] == 1);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
        mpk_context_destroy(&own);
        assert_int_equal(f.held, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_dense_elimination),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(new_values),
        cmocka_unit_test(smallest),
        cmocka_unit_test(shifted),
        cmocka_unit_test(refused),
        cmocka_unit_test(of_other_factors),
        cmocka_unit_test(memory_runs_out),
    };
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 64);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpk_context_destroy(&ctx);
    return failed;
}
