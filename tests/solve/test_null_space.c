/* SPDX-License-Identifier: BSD-3-Clause */
/* Bases of the kernel and shortest solutions, beside dense algebra. */
#include "support.h"

#include <math.h>
#include <stdbool.h>

static mpk_context *ctx;

enum { MOST = 400 };

static int64_t index_told(void) {
    int64_t index = -2;
    mpk_last_error(ctx, NULL, &index, NULL);
    return index;
}

static const char *text_told(void) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    return text;
}

static double eps_of(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? 0x1p-24 : 0x1p-53;
}

static double bound_of(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? 0x1p29 * 1e-14 : 1e-14;
}

static mpk_factor *factorize(const dense *m, mpk_analysis **an) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    mpk_problem *problem = dense_problem(ctx, m, 0);
    mpk_factor *fac = NULL;
    assert_non_null(problem);
    *an = NULL;
    assert_true(mpk_analyse(ctx, problem, &o, an) >= 0);
    assert_true(mpk_factorize(ctx, *an, NULL, &o, &fac) >= 0);
    mpk_problem_destroy(&problem);
    return fac;
}

/* max_i |A v|_i / (|A| |v|)_i, in double, of rows in which v is more than noise */
static double eta_of(const dense *m, const double complex *v) {
    double worst = 0, most = 0;
    for (int i = 0; i < m->n; i++) most = fmax(most, cabs(v[i]));
    for (int i = 0; i < m->n; i++) {
        double complex sum = 0;
        double all = 0;
        for (int j = 0; j < m->n; j++) {
            sum += dense_get(m, i, j) * v[j];
            all += cabs(dense_get(m, i, j)) * cabs(v[j]);
        }
        if (all > 1000 * m->n * eps_of(m->scalar) * most) worst = fmax(worst, cabs(sum) / all);
    }
    return worst;
}

static void fetch(const dense *m, const void *basis, int64_t ld, int k, double complex *v) {
    for (int i = 0; i < m->n; i++) v[i] = scalar_load(m->scalar, basis, k * ld + i);
}

/* How far the basis' span is from that of the orthonormal columns u: ||u - V V^H u||, the worst. */
static double apart(const dense *m, int count, const void *basis, int64_t ld, int dimension,
                    const double complex *u) {
    const int n = m->n;
    double worst = 0;
    double complex *w = malloc((size_t)n * sizeof *w), *v = malloc((size_t)n * sizeof *v);
    for (int c = 0; c < dimension; c++) {
        memcpy(w, u + (size_t)c * n, (size_t)n * sizeof *w);
        for (int k = 0; k < count; k++) {
            double complex sum = 0;
            fetch(m, basis, ld, k, v);
            for (int i = 0; i < n; i++) sum += conj(v[i]) * u[(size_t)c * n + i];
            for (int i = 0; i < n; i++) w[i] -= sum * v[i];
        }
        double norm = 0;
        for (int i = 0; i < n; i++) norm = hypot(norm, cabs(w[i]));
        worst = fmax(worst, norm);
    }
    free(w), free(v);
    return worst;
}

/* Right singular vectors of A: those of the `dimension` least values, and A^+ b. */
static void decompose(const dense *m, int dimension, double complex *kernel,
                      const double complex *b, double complex *x) {
    const int n = m->n;
    double complex *a = malloc((size_t)n * n * sizeof *a), *u = malloc((size_t)n * n * sizeof *u),
                   *vt = malloc((size_t)n * n * sizeof *vt);
    double *s = malloc((size_t)n * sizeof *s);
    memcpy(a, m->a, (size_t)n * n * sizeof *a);
    assert_int_equal(LAPACKE_zgesdd(LAPACK_COL_MAJOR, 'A', n, n, a, n, s, u, n, vt, n), 0);
    for (int k = 0; k < dimension; k++)
        for (int i = 0; i < n; i++)
            kernel[i + (size_t)k * n] = conj(vt[(n - dimension + k) + (size_t)i * n]);
    for (int i = 0; i < n; i++) x[i] = 0;
    for (int k = 0; k < n - dimension; k++) {
        double complex sum = 0;
        for (int i = 0; i < n; i++) sum += conj(u[i + (size_t)k * n]) * b[i];
        for (int i = 0; i < n; i++) x[i] += conj(vt[k + (size_t)i * n]) * sum / s[k];
    }
    free(a), free(u), free(vt), free(s);
}

/* Kernel and shortest solutions of m, whose kernel has `dimension` dimensions. hard: its smallest
 * singular value that is not 0, beside the largest */
static void check(const dense *m, int dimension, double hard) {
    const int n = m->n;
    const int64_t ld = n + 3;
    const size_t size = mpk_scalar_size(m->scalar);
    const double eps = eps_of(m->scalar), bound = bound_of(m->scalar);
    double complex *kernel = calloc((size_t)n * (dimension + 1), sizeof *kernel),
                   *b = malloc((size_t)n * sizeof *b), *x = malloc((size_t)n * sizeof *x),
                   *v = malloc((size_t)n * sizeof *v);
    char *basis = malloc((size_t)ld * (dimension + 3) * size), *rhs = malloc((size_t)n * 2 * size);
    double eta[MOST];
    mpk_analysis *an;
    mpk_factor *fac = factorize(m, &an);
    for (int i = 0; i < n; i++) b[i] = uniform() + (m->scalar >= MPK_C ? uniform() * I : 0);
    for (int i = 0; i < n; i++) { /* as it is stored */
        scalar_store(m->scalar, rhs, i, b[i]);
        scalar_store(m->scalar, rhs, n + i, b[i]);
        b[i] = scalar_load(m->scalar, rhs, i);
    }
    decompose(m, dimension, kernel, b, x);
    for (int orthonormal = 0; orthonormal < 2; orthonormal++) {
        mpk_null_info info;
        assert_int_equal(
            mpk_null_space(ctx, fac, 0, dimension + 3, orthonormal, basis, ld, eta, &info), MPK_OK);
        assert_int_equal(info.dimension, dimension);
        assert_int_equal(info.zero_pivots, dimension);
        assert_int_equal(info.refused, 0);
        assert_int_equal(info.certified, 1);
        assert_true(info.miss_bound < 1e-8);
        for (int k = 0; k < dimension; k++) {
            fetch(m, basis, ld, k, v);
            assert_true(eta[k] <= (orthonormal ? 100 : 1) * bound && eta[k] <= info.eta);
            assert_true(eta_of(m, v) <= eta[k] + 4e-16 * n); /* this product's own rounding */
        }
    }
    mpk_null_info info;
    assert_int_equal(mpk_null_space(ctx, fac, 0, dimension, 1, basis, ld, NULL, &info), MPK_OK);
    assert_true(info.orthogonality <= 20 * eps);
    assert_true(apart(m, dimension, basis, ld, dimension, kernel) <= 100 * n * eps / hard);
    /* all of it given: nothing is searched for, and it comes back */
    assert_int_equal(mpk_null_space(ctx, fac, dimension, dimension, 1, basis, ld, NULL, &info),
                     MPK_OK);
    assert_int_equal(info.given, dimension);
    assert_int_equal(info.certified, dimension > 0); /* nothing was asked for */
    assert_true(apart(m, dimension, basis, ld, dimension, kernel) <= 200 * n * eps / hard);
    /* one of them given: the others are found */
    if (dimension > 1) {
        for (int orthonormal = 0; orthonormal < 2; orthonormal++) {
            assert_int_equal(
                mpk_null_space(ctx, fac, 1, dimension, orthonormal, basis, ld, NULL, &info),
                MPK_OK);
            assert_int_equal(info.dimension, dimension);
        }
        assert_true(apart(m, dimension, basis, ld, dimension, kernel) <= 200 * n * eps / hard);
        /* given twice */
        memcpy(basis + (size_t)ld * size, basis, (size_t)n * size);
        assert_int_equal(mpk_null_space(ctx, fac, 2, dimension, 0, basis, ld, NULL, &info),
                         MPK_ERR_INPUT);
        assert_int_equal(index_told(), 1);
        assert_int_equal(mpk_null_space(ctx, fac, 0, dimension, 1, basis, ld, NULL, &info), MPK_OK);
    }
    /* A^+ b, with the basis and without */
    for (int own = 0; own < 2; own++) {
        mpk_minimum_norm_info found;
        char *y = malloc((size_t)n * 2 * size);
        assert_int_equal(mpk_solve_minimum_norm(ctx, fac, dimension, own ? NULL : basis, ld, 2, rhs,
                                                n, y, n, NULL, &found),
                         MPK_OK);
        double error = 0, most = 0;
        for (int i = 0; i < 2 * n; i++) {
            error = fmax(error, cabs(scalar_load(m->scalar, y, i) - x[i % n]));
            most = fmax(most, cabs(x[i % n]));
        }
        assert_true(error <= 100 * n * eps / hard * most);
        assert_int_equal(found.dimension, dimension);
        assert_int_equal(found.consistent, dimension > 0 ? -1 : 1);
        assert_true(found.along <= 20 * eps);
        assert_true(found.outside >= (dimension > 0 ? 1e-3 : 0) && found.outside <= 1);
        /* of b in the range: A y, whose shortest solution is y */
        for (int i = 0; i < n; i++) {
            double complex sum = 0;
            for (int j = 0; j < n; j++) sum += dense_get(m, i, j) * x[j];
            scalar_store(m->scalar, rhs, i, sum);
        }
        assert_int_equal(mpk_solve_minimum_norm(ctx, fac, dimension, own ? NULL : basis, ld, 1, rhs,
                                                n, rhs, n, NULL, &found),
                         MPK_OK);
        assert_int_equal(found.consistent, 1);
        assert_true(found.outside <= 100 * n * eps);
        error = 0;
        for (int i = 0; i < n; i++)
            error = fmax(error, cabs(scalar_load(m->scalar, rhs, i) - x[i]));
        assert_true(error <= 100 * n * eps / hard * most);
        for (int i = 0; i < n; i++) scalar_store(m->scalar, rhs, i, b[i]);
        free(y);
    }
    /* a vector that is none of the kernel */
    for (int i = 0; i < n; i++) scalar_store(m->scalar, basis, dimension * ld + i, b[i]);
    if (dimension < n) {
        assert_int_equal(
            mpk_null_space(ctx, fac, dimension + 1, dimension + 1, 0, basis, ld, NULL, &info),
            MPK_ERR_INPUT);
        assert_int_equal(index_told(), dimension);
    }
    free(kernel), free(b), free(x), free(v), free(basis), free(rhs);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    free(m->a);
}

/* ---- the matrices ---------------------------------------------------------------------------- */

enum { KINDS = 6 }; /* s, d, Hermitian c and z, complex symmetric c and z */

static mpk_scalar scalar_of(int kind) {
    return kind < 4 ? (mpk_scalar)kind : (mpk_scalar)(kind - 2);
}

static mpk_symmetry symmetry_of(int kind) {
    return kind == 2 || kind == 3 ? MPK_HERMITIAN : MPK_SYMMETRIC;
}

/* m += w d d^H (d d^T), for d with `count` entries */
static void add(dense *m, double complex w, int count, const int *at, const double complex *d) {
    for (int p = 0; p < count; p++)
        for (int q = 0; q <= p; q++) {
            const int i = at[p] > at[q] ? p : q, j = at[p] > at[q] ? q : p;
            const double complex other = m->symmetry == MPK_HERMITIAN ? conj(d[j]) : d[j];
            dense_set(m, at[i], at[j], dense_get(m, at[i], at[j]) + w * d[i] * other);
        }
}

/* Components of a graph, each a cycle with chords; of every other entry the phase is turned, and
 * edges weigh 1 or -1 times some power of two. */
static dense laplacian(int kind, int components, int each, bool signs) {
    static const double complex turn[] = {1, I, -1, -I};
    const mpk_scalar scalar = scalar_of(kind);
    dense m = dense_new(components * each, scalar, symmetry_of(kind));
    for (int c = 0; c < components; c++)
        for (int i = 0; i < each; i++)
            for (int chord = 1; chord < 4; chord += 2) {
                const int j = (i + chord) % each;
                const int at[] = {c * each + i, c * each + j};
                const bool complex_ = scalar >= MPK_C;
                const double complex d[] = {complex_ ? turn[i % 4] : 1,
                                            complex_ ? -turn[j % 4] : -1};
                add(&m, (1 << (i + c) % 4) * (signs && (i * 7 + c) % 5 == 0 ? -1 : 1), 2, at, d);
            }
    return m;
}

static void test_laplacians(void **unused) {
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        dense m = laplacian(kind, 1, 40, false);
        check(&m, 1, 1e-2);
        m = laplacian(kind, 7, 12, false);
        check(&m, 7, 1e-2);
        m = laplacian(kind, 5, 16, true);
        check(&m, 5, 1e-3);
    }
}

/* Free frames of springs on a grid: 3 motions of a rigid body in the plane, 6 in space. They are
 * given, too, as a program has them, and are taken. */
static void test_rigid_bodies(void **unused) {
    (void)unused;
    for (int kind = 0; kind < 2; kind++)
        for (int space = 2; space <= 3; space++) {
            const int side = space == 2 ? 6 : 3,
                      nodes = space == 2 ? side * side : side * side * side;
            const int n = nodes * space, motions = space == 2 ? 3 : 6;
            dense m = dense_new(n, (mpk_scalar)kind, MPK_SYMMETRIC);
            int place[64][3];
            for (int p = 0; p < nodes; p++)
                place[p][0] = p % side, place[p][1] = p / side % side,
                place[p][2] = p / side / side;
            for (int p = 0; p < nodes; p++)
                for (int q = 0; q < p; q++) {
                    double d[3], length = 0;
                    for (int k = 0; k < 3; k++) d[k] = place[p][k] - place[q][k];
                    for (int k = 0; k < 3; k++) length += d[k] * d[k];
                    if (length > 3.5) continue;
                    double complex e[6];
                    int at[6];
                    for (int k = 0; k < space; k++) {
                        at[k] = p * space + k, e[k] = d[k];
                        at[space + k] = q * space + k, e[space + k] = -d[k];
                    }
                    add(&m, 1, 2 * space, at, e);
                }
            char *given = calloc((size_t)n * motions, mpk_scalar_size(m.scalar));
            for (int p = 0; p < nodes; p++) {
                int column = 0;
                for (int k = 0; k < space; k++, column++)
                    scalar_store(m.scalar, given, column * n + p * space + k, 1);
                for (int j = 0; j < space; j++)
                    for (int k = 0; k < j; k++, column++) {
                        scalar_store(m.scalar, given, column * n + p * space + j, place[p][k]);
                        scalar_store(m.scalar, given, column * n + p * space + k, -place[p][j]);
                    }
            }
            mpk_analysis *an;
            mpk_factor *fac = factorize(&m, &an);
            mpk_null_info info;
            double eta[6];
            for (int orthonormal = 0; orthonormal < 2; orthonormal++) {
                assert_int_equal(
                    mpk_null_space(ctx, fac, motions, motions, orthonormal, given, n, eta, &info),
                    MPK_OK);
                assert_int_equal(info.given, motions);
                assert_int_equal(info.certified, 1);
                assert_true(info.eta <= (orthonormal ? 100 : 0.1) * bound_of(m.scalar));
            }
            assert_true(info.orthogonality <= 10 * eps_of(m.scalar));
            scalar_store(m.scalar, given, n + 5, 2);
            assert_int_equal(mpk_null_space(ctx, fac, motions, motions, 1, given, n, NULL, &info),
                             MPK_ERR_INPUT);
            assert_int_equal(index_told(), 1);
            assert_non_null(strstr(text_told(), "vector 2 is none of the kernel"));
            char b[3 * 64 * 8], x[3 * 64 * 8];
            for (int i = 0; i < n; i++) scalar_store(m.scalar, b, i, uniform());
            assert_int_equal(
                mpk_solve_minimum_norm(ctx, fac, motions, given, n, 1, b, n, x, n, NULL, NULL),
                MPK_ERR_INPUT);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            free(given);
            check(&m, motions, 1e-2);
        }
}

/* B diag(+-) B^H with B sparse, integer and of less than full rank: kernels that no pivot's row
 * shows alone. */
static void test_deficient(void **unused) {
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int lack = 1; lack < 30; lack += 14) {
            enum { N = 60 };
            dense m = dense_new(N, scalar_of(kind), symmetry_of(kind));
            for (int r = 0; r < N - lack; r++) {
                const int at[] = {r, (r * 7 + 3) % N, (r * 5 + 11) % N};
                const double complex d[] = {1, 2, m.scalar >= MPK_C ? I : -1};
                if (at[0] == at[1] || at[1] == at[2] || at[0] == at[2]) continue;
                add(&m, r % 3 ? 1 : -2, 3, at, d);
            }
            /* what rank that has, dense algebra says */
            double complex *a = malloc(sizeof(double complex) * N * N), none[1];
            double s[N];
            memcpy(a, m.a, sizeof(double complex) * N * N);
            assert_int_equal(LAPACKE_zgesdd(LAPACK_COL_MAJOR, 'N', N, N, a, N, s, none, 1, none, 1),
                             0);
            int dimension = 0;
            while (dimension < N && s[N - 1 - dimension] <= 1e-12 * s[0]) dimension++;
            const double hard = s[N - 1 - dimension] / s[0];
            free(a);
            assert_true(dimension >= lack && hard > 1e-5);
            check(&m, dimension, hard);
        }
}

/* Regular, all zero, of one row, of none. */
static void test_ends(void **unused) {
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        dense m = dense_new(30, scalar_of(kind), symmetry_of(kind));
        for (int i = 0; i < 30; i++) dense_set(&m, i, i, i % 2 ? 2 : -3);
        for (int i = 1; i < 30; i++) dense_set(&m, i, i - 1, 0.5);
        check(&m, 0, 0.1);
        m = dense_new(25, scalar_of(kind), symmetry_of(kind));
        check(&m, 25, 1);
        m = dense_new(1, scalar_of(kind), symmetry_of(kind));
        check(&m, 1, 1);
        m = dense_new(6, scalar_of(kind), symmetry_of(kind));
        dense_set(&m, 3, 1, 2);
        check(&m, 4, 1);
    }
    dense m = dense_new(0, MPK_D, MPK_SYMMETRIC);
    mpk_analysis *an;
    mpk_factor *fac = factorize(&m, &an);
    mpk_null_info info;
    double basis[1];
    assert_int_equal(mpk_null_space(ctx, fac, 0, 1, 1, basis, 1, NULL, &info), MPK_OK);
    assert_int_equal(info.dimension, 0);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    free(m.a);
}

/* The pressure of an enclosed flow is known but for a constant. */
static void test_stokes(void **unused) {
    (void)unused;
    mpk_options o;
    mpk_options_init(&o);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    assert_int_equal(mpk_problem_read(ctx, METAPACK_DATA "/saddle/stokes64.mtx.xz", &problem),
                     MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_true(mpk_analyse(ctx, problem, &o, &an) >= 0);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_SINGULAR);
    double *basis = malloc((size_t)a.n * 2 * sizeof *basis), *x = malloc((size_t)a.n * sizeof *x);
    mpk_null_info info;
    mpk_minimum_norm_info found;
    assert_int_equal(mpk_null_space(ctx, fac, 0, 2, 1, basis, a.n, NULL, &info), MPK_OK);
    assert_int_equal(info.dimension, 2);
    assert_int_equal(info.certified, 1);
    assert_true(info.eta <= 1e-14 && info.orthogonality <= 1e-14);
    for (int32_t i = 0; i < a.n; i++) x[i] = uniform();
    assert_int_equal(
        mpk_solve_minimum_norm(ctx, fac, 2, basis, a.n, 1, x, a.n, x, a.n, NULL, &found), MPK_OK);
    assert_int_equal(found.consistent, -1);
    assert_true(found.residual <= 1e-12 && found.along <= 1e-14);
    free(basis), free(x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
}

/* Entries over many orders of magnitude: next to nothing is left beside the first vector. */
static void test_graded(void **unused) {
    (void)unused;
    enum { N = 5 };
    for (int spread = 10; spread <= 100; spread += 30) {
        const int at[N] = {0, 1, 2, 3, 4};
        const double complex u[N] = {ldexp(1, -spread), 3, ldexp(-1, spread), ldexp(5, spread / 2),
                                     ldexp(1, spread - 3)};
        dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
        add(&m, 1, N, at, u);
        mpk_analysis *an;
        mpk_factor *fac = factorize(&m, &an);
        double basis[N * N], b[N], x[N];
        mpk_null_info info;
        mpk_minimum_norm_info found;
        assert_int_equal(mpk_null_space(ctx, fac, 0, N, 1, basis, N, NULL, &info), MPK_OK);
        assert_int_equal(info.dimension, N - 1);
        assert_true(info.orthogonality < 1e-14 && info.eta < 1e-14);
        /* b = u u_2 is in the range, and its x is u u_2 / ||u||^2 */
        double norm = 0;
        for (int i = 0; i < N; i++) norm += creal(u[i]) * creal(u[i]);
        for (int i = 0; i < N; i++) b[i] = creal(u[i]) * creal(u[2]);
        assert_int_equal(mpk_solve_minimum_norm(ctx, fac, 0, NULL, 0, 1, b, N, x, N, NULL, &found),
                         MPK_OK);
        assert_int_equal(found.dimension, N - 1);
        for (int i = 0; i < N; i++)
            assert_true(fabs(x[i] - creal(u[i]) * creal(u[2]) / norm) < 1e-14);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        free(m.a);
    }
}

/* Vectors that are flat, but whose difference is not: two components with a weak edge between. */
static void test_given_near(void **unused) {
    (void)unused;
    enum { N = 4 };
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int k = 0; k < N - 1; k++) {
        const int at[] = {k, k + 1};
        const double complex d[] = {1, -1};
        add(&m, k == 1 ? 0x1p-30 : 1, 2, at, d);
    }
    mpk_analysis *an;
    mpk_factor *fac = factorize(&m, &an);
    for (int orthonormal = 0; orthonormal < 2; orthonormal++) {
        double basis[N * N], before[2 * N];
        for (int i = 0; i < N; i++) basis[i] = 1, basis[N + i] = i < 2 ? 1 + 0x1p-11 : 1 - 0x1p-11;
        memcpy(before, basis, sizeof before);
        mpk_null_info info;
        assert_int_equal(mpk_null_space(ctx, fac, 2, N, orthonormal, basis, N, NULL, &info),
                         MPK_ERR_INPUT);
        assert_int_equal(index_told(), 1);
        assert_memory_equal(before, basis, sizeof before);
        /* a vector that leaves nothing new to be found: no other is refused in its place */
        const mpk_status status =
            mpk_null_space(ctx, fac, 1, N, orthonormal, basis + N, N, NULL, NULL);
        assert_true(status == MPK_OK || status == MPK_INACCURATE);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    free(m.a);
}

/* Pivots that are rounding, and no zeros: with and without a basis the same shortest x. */
static void test_beyond(void **unused) {
    (void)unused;
    enum { N = 40, LACK = 5 };
    int more = 0, none = 0;
    for (int round = 0; round < 20; round++) {
        dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
        int at[N];
        for (int i = 0; i < N; i++) at[i] = i;
        for (int r = 0; r < N - (round % 2 ? LACK : 1); r++) {
            double complex d[N];
            for (int i = 0; i < N; i++) d[i] = uniform();
            add(&m, r % 3 ? 1 : -1, N, at, d);
        }
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.zero_tolerance = 1e-30;
        mpk_problem *problem = dense_problem(ctx, &m, 0);
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        assert_true(mpk_analyse(ctx, problem, &o, &an) >= 0);
        assert_true(mpk_factorize(ctx, an, NULL, &o, &fac) >= 0);
        static double basis[N * N];
        double b[N], x[N], y[N];
        mpk_null_info info;
        mpk_minimum_norm_info found;
        for (int i = 0; i < N; i++) b[i] = uniform();
        assert_true(mpk_null_space(ctx, fac, 0, N, 1, basis, N, NULL, &info) >= 0);
        more += info.beyond > 0;
        none += info.beyond > 0 && info.zero_pivots == 0;
        const mpk_status with =
            mpk_solve_minimum_norm(ctx, fac, info.dimension, basis, N, 1, b, N, x, N, NULL, NULL);
        const mpk_status without =
            mpk_solve_minimum_norm(ctx, fac, 0, NULL, 0, 1, b, N, y, N, NULL, &found);
        assert_int_equal(with, without);
        assert_int_equal(found.dimension, info.dimension);
        assert_true(without == MPK_INACCURATE || found.residual <= 0.1);
        for (int i = 0; i < N && without == MPK_OK; i++)
            assert_true(fabs(x[i] - y[i]) <= 1e-8 * (1 + fabs(x[i])));
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        free(m.a);
    }
    assert_true(more > 0 && none > 0);
}

/* Less room than the kernel needs, arguments that do not go together, another method. */
static void test_refused(void **unused) {
    (void)unused;
    enum { N = 48 };
    dense m = laplacian(1, 4, 12, false);
    mpk_analysis *an;
    mpk_factor *fac = factorize(&m, &an);
    static double basis[N * 4], b[N], x[N];
    mpk_null_info info = {.dimension = 7};
    assert_int_equal(mpk_null_space(ctx, fac, 0, 0, 1, NULL, 0, NULL, &info), MPK_OK);
    assert_int_equal(info.dimension, 0);
    assert_int_equal(info.zero_pivots, 4);
    assert_int_equal(mpk_null_space(ctx, fac, 0, 3, 1, basis, N, NULL, &info), MPK_OK);
    assert_int_equal(info.dimension, 3);
    assert_int_equal(info.certified, 0);
    assert_int_equal(mpk_null_space(NULL, fac, 0, 3, 1, basis, N, NULL, &info), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_null_space(ctx, NULL, 0, 3, 1, basis, N, NULL, &info), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_null_space(ctx, fac, 0, 3, 1, NULL, N, NULL, &info), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_null_space(ctx, fac, 0, 3, 1, basis, N - 1, NULL, &info),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_null_space(ctx, fac, 4, 3, 1, basis, N, NULL, &info), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_null_space(ctx, fac, -1, 3, 1, basis, N, NULL, &info), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_null_space(ctx, fac, 0, 4, 0, basis, N, NULL, &info), MPK_OK);
    for (int i = 0; i < N; i++) b[i] = uniform();
    assert_int_equal(/* of length sqrt(12) */
                     mpk_solve_minimum_norm(ctx, fac, 4, basis, N, 1, b, N, x, N, NULL, NULL),
                     MPK_ERR_INPUT);
    assert_non_null(strstr(text_told(), "not orthonormal"));
    assert_int_equal(mpk_solve_minimum_norm(ctx, fac, 4, basis, N - 1, 1, b, N, x, N, NULL, NULL),
                     MPK_ERR_ARGUMENT);
    /* a part of the kernel: what is left of it keeps A x = b' from having a solution */
    assert_int_equal(mpk_null_space(ctx, fac, 0, 4, 1, basis, N, NULL, &info), MPK_OK);
    assert_int_equal(mpk_solve_minimum_norm(ctx, fac, 3, basis, N, 1, b, N, x, N, NULL, NULL),
                     MPK_INACCURATE);
    b[3] = NAN;
    assert_int_equal(mpk_solve_minimum_norm(ctx, fac, 4, basis, N, 1, b, N, x, N, NULL, NULL),
                     MPK_ERR_INPUT);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT;
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    assert_true(mpk_analyse(ctx, problem, &o, &an) >= 0);
    if (mpk_factorize(ctx, an, NULL, &o, &fac) >= 0)
        assert_int_equal(mpk_null_space(ctx, fac, 0, 3, 1, basis, N, NULL, &info),
                         MPK_ERR_UNSUPPORTED);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    free(m.a);
}

/* Whichever allocation fails, the call says so and holds nothing. */
static void test_memory(void **unused) {
    (void)unused;
    enum { N = 48 };
    failing f = {.fail_at = -1};
    const mpk_allocator own = {failing_alloc, failing_release, &f};
    mpk_context *const others = ctx;
    ctx = NULL;
    assert_int_equal(mpk_context_create(&own, &ctx), MPK_OK);
    dense m = laplacian(1, 4, 12, false);
    mpk_analysis *an;
    mpk_factor *fac = factorize(&m, &an);
    double basis[N * 5], b[N], x[N];
    mpk_null_info info;
    for (int i = 0; i < N; i++) b[i] = uniform();
    assert_int_equal(mpk_null_space(ctx, fac, 0, 4, 0, basis, N, NULL, &info), MPK_OK);
    for (int call = 0; call < 3; call++)
        for (int64_t k = 1;; k++) {
            const int64_t held = f.held;
            f.calls = 0, f.fail_at = k;
            const mpk_status status =
                call == 0 ? mpk_null_space(ctx, fac, 1, 5, 0, basis, N, NULL, &info)
                : call == 1
                    ? mpk_null_space(ctx, fac, 1, 4, 1, basis, N, NULL, &info)
                    : mpk_solve_minimum_norm(ctx, fac, 0, NULL, N, 1, b, N, x, N, NULL, NULL);
            const bool reached = f.calls >= k;
            f.fail_at = -1;
            assert_int_equal(f.held, held);
            if (!reached) {
                assert_int_equal(status, MPK_OK);
                break;
            }
            assert_int_equal(status, MPK_ERR_MEMORY);
            assert_true(k < 100);
        }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_context_destroy(&ctx);
    assert_int_equal(f.held, 0);
    ctx = others;
    free(m.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laplacians), cmocka_unit_test(test_rigid_bodies),
        cmocka_unit_test(test_deficient),  cmocka_unit_test(test_ends),
        cmocka_unit_test(test_stokes),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_graded),     cmocka_unit_test(test_given_near),
        cmocka_unit_test(test_beyond),     cmocka_unit_test(test_memory),
    };
    if (mpk_context_create(NULL, &ctx) != MPK_OK) return 1;
    const int rc = cmocka_run_group_tests(tests, NULL, NULL);
    mpk_context_destroy(&ctx);
    return rc;
}
