/* SPDX-License-Identifier: BSD-3-Clause */
/* The factorization of a diagonal block against its definition M C M^T = D, against LAPACK's pivots
 * and eigenvalues, and on blocks that are hard, in the precision of the including file. */
#include "../sanitized.h"
#include "block_support.h"
#define lapack_complex_float float _Complex
#define lapack_complex_double double _Complex
#include <lapacke.h>

enum family { RANDOM, DEFINITE, ZERO_DIAGONAL, PAIRS, SINGULAR, GRADED, ZERO, FAMILIES };

/* w x w, both triangles; unsymmetric: for LDU */
static T *family_block(enum family family, int w, int hermitian, int unsymmetric) {
    T *c = new_block(w, w);
    int ld = ld_of(w);
    for (int i = 0; i < w; i++)
        for (int j = 0; j < (unsymmetric ? w : i + 1); j++) {
            T x = random_entry();
            if (i == j && hermitian) x = t_make(t_re(x), 0);
            switch (family) {
            case DEFINITE:
                if (i == j) x = t_make((R)(2 * w), 0);
                break;
            case ZERO_DIAGONAL:
                if (i == j) x = t_make(0, 0);
                break;
            case PAIRS: /* [0 1; 1 0] along the diagonal, coupled weakly; odd: a last 1 */
                if (i == j)
                    x = t_make(i == w - 1 && w % 2 ? 1 : 0, 0);
                else if (i / 2 == j / 2)
                    x = t_make(1, 0);
                else
                    x *= (R)(0.2 / w);
                break;
            case SINGULAR: /* a third of the rows and columns is zero */
                if (i % 3 == 2 || j % 3 == 2) x = t_make(0, 0);
                break;
            case GRADED:
                x *= (R)pow(10, -6.0 * (i + j) / (2.0 * w));
                break;
            case ZERO:
                x = t_make(0, 0);
                break;
            default:
                break;
            }
            c[i * ld + j] = x;
            if (!unsymmetric) c[j * ld + i] = conj_if(hermitian, x);
        }
    return c;
}

typedef struct result {
    int w, ld;
    T *m, *n, *d, *dinv;
    FN(pivot_report) report;
} result;

static result run(const FN(block_kernels) * kern, int w, const T *a, int type, int pivoting,
                  const int32_t *pair, R floor, const R *butterfly, int hermitian) {
    int ld = ld_of(w);
    result f = {w, ld, new_block(w, w), new_block(w, w), new_block(2, w), new_block(2, w), {0}};
    T *c = new_block(w, w), *work = new_block(4 * w, w);
    for (int k = 0; k < w * ld; k++) f.m[k] = f.n[k] = t_make(7, 0); /* all of it is written */
    for (int k = 0; k < 4 * w * ld; k++) work[k] = t_make((R)NAN, 0);
    memcpy(c, a, (size_t)w * (size_t)ld * sizeof(T));
    kern->factor(w, c, ld, type, pivoting, pair, floor, butterfly, hermitian, f.m, f.n, f.d, f.dinv,
                 work, &f.report);
    free(c), free(work);
    return f;
}

static void release(result *f) {
    free(f->m), free(f->n), free(f->d), free(f->dinv);
}

/* D(i, j) */
static zz d_at(const result *f, int hermitian, int i, int j) {
    if (i == j) return wide(f->d[2 * i]);
    if (i == j + 1) return wide(f->d[2 * j + 1]);
    if (j == i + 1) return wide(conj_if(hermitian, f->d[2 * i + 1]));
    return 0;
}

/* largest of |M C N^T - D| over w eps times the largest of |M| |C| |N^T| + |D| */
static double residual(const result *f, const T *a, int ldu, int hermitian) {
    int w = f->w, ld = f->ld;
    const T *n = ldu ? f->n : f->m;
    zz *mc = calloc((size_t)w * (size_t)w, sizeof *mc);
    double *mag = calloc((size_t)w * (size_t)w, sizeof *mag), worst = 0, scale = 0;
    for (int i = 0; i < w; i++)
        for (int k = 0; k < w; k++) {
            zz x = wide(f->m[i * ld + k]);
            double size = cabs(x);
            if (size == 0) continue;
            for (int j = 0; j < w; j++) {
                mc[i * w + j] += mul(x, wide(a[k * ld + j]));
                mag[i * w + j] += size * (fabs(t_re(a[k * ld + j])) + fabs(t_im(a[k * ld + j])));
            }
        }
    for (int i = 0; i < w; i++)
        for (int j = 0; j < w; j++) {
            zz sum = 0;
            double size = cabs(d_at(f, hermitian, i, j));
            for (int k = 0; k < w; k++) {
                zz x = wide(conj_if(hermitian, n[j * ld + k]));
                sum += mul(mc[i * w + k], x);
                size += mag[i * w + k] * (fabs(creal(x)) + fabs(cimag(x)));
            }
            double wrong = cabs(sum - d_at(f, hermitian, i, j));
            worst = wrong > worst || wrong != wrong ? wrong : worst;
            scale = size > scale ? size : scale;
        }
    free(mc), free(mag);
    return scale > 0 ? worst / (w * (double)R_EPS * scale) : worst;
}

/* D^-1 D = I, but for zero pivots */
static void check_dinv(const result *f, int hermitian, R floor) {
    for (int k = 0; k < f->w; k++) {
        zz d = wide(f->d[2 * k]), e = wide(f->dinv[2 * k]);
        if (k + 1 < f->w && t_abs1(f->d[2 * k + 1]) > 0) {
            zz o = wide(f->d[2 * k + 1]), c = wide(f->d[2 * k + 2]);
            zz eo = wide(f->dinv[2 * k + 1]), ec = wide(f->dinv[2 * k + 2]);
            zz oc = hermitian ? conj(o) : o, eoc = hermitian ? conj(eo) : eo;
            double size = (cabs(d) + cabs(o) + cabs(c)) * (cabs(e) + cabs(eo) + cabs(ec));
            assert_true(cabs(d * e + oc * eo - 1) <= 20 * R_EPS * size);
            assert_true(cabs(o * e + c * eo) <= 20 * R_EPS * size);
            assert_true(cabs(d * eoc + oc * ec) <= 20 * R_EPS * size);
            assert_true(cabs(o * eoc + c * ec - 1) <= 20 * R_EPS * size);
            k++;
        } else if (cabs(e) > 0) {
            assert_true(cabs(d * e - 1) <= 4 * R_EPS);
            assert_true(cabs(d) >= floor * (1 - 4 * R_EPS));
        } else
            assert_true(floor == 0 && cabs(d) <= R_TINY);
    }
}

/* largest |L| = |M^-1| */
static double largest_l(const result *f) {
    int w = f->w;
    zz *m = malloc((size_t)w * (size_t)w * sizeof *m);
    int *ipiv = malloc((size_t)w * sizeof *ipiv);
    double most = 0;
    for (int i = 0; i < w; i++)
        for (int k = 0; k < w; k++) m[i + k * w] = wide(f->m[i * f->ld + k]);
    assert_int_equal(LAPACKE_zgetrf(LAPACK_COL_MAJOR, w, w, m, w, ipiv), 0);
    assert_int_equal(LAPACKE_zgetri(LAPACK_COL_MAJOR, w, m, w, ipiv), 0);
    for (int i = 0; i < w * w; i++) most = cabs(m[i]) > most ? cabs(m[i]) : most;
    free(m), free(ipiv);
    return most;
}

static void check_inertia(const result *f, const T *a) {
    int w = f->w, positive = 0, negative = 0;
    zz *m = malloc((size_t)w * (size_t)w * sizeof *m);
    double *value = malloc((size_t)w * sizeof *value), most = 0, least = INFINITY;
    for (int i = 0; i < w; i++)
        for (int k = 0; k < w; k++) m[i + k * w] = wide(a[i * f->ld + k]);
    assert_int_equal(LAPACKE_zheev(LAPACK_COL_MAJOR, 'N', 'L', w, m, w, value), 0);
    for (int k = 0; k < w; k++) {
        most = fabs(value[k]) > most ? fabs(value[k]) : most;
        least = fabs(value[k]) < least ? fabs(value[k]) : least;
        positive += value[k] > 0, negative += value[k] < 0;
    }
    if (least > 1000 * w * R_EPS * most) {
        assert_int_equal(f->report.positive, positive);
        assert_int_equal(f->report.negative, negative);
    }
    free(m), free(value);
}

static void check_padding(const result *f) {
    padding_is_zero(f->w, f->w, f->m);
}

static void check_case(const FN(block_kernels) * kern, enum family family, int w, int type,
                       int pivoting, int hermitian, int with_butterfly) {
    int ldu = type == MPK_TYPE_LDU, zeros = family == SINGULAR || family == ZERO;
    T *a = family_block(family, w, hermitian, ldu);
    int32_t *pair = malloc((size_t)w * sizeof *pair);
    R *butterfly = malloc(2 * (size_t)w * sizeof *butterfly);
    for (int k = 0; k < w; k++) pair[k] = (k ^ 1) < w ? k ^ 1 : k;
    for (int k = 0; k < 2 * w; k++) butterfly[k] = (R)exp(uniform() / 20);
    result f =
        run(kern, w, a, type, pivoting, pair, 0, with_butterfly ? butterfly : NULL, hermitian);
    assert_int_equal(f.report.failed, -1);
    double wrong = residual(&f, a, ldu, hermitian);
    if (!(wrong <= 20))
        fail_msg("family %d w %d type %d pivoting %d hermitian %d butterfly %d: residual %g",
                 family, w, type, pivoting, hermitian, with_butterfly, wrong);
    check_dinv(&f, hermitian, 0);
    check_padding(&f);
    assert_true(fabs((double)f.report.norm_m) > 0);
    int sum = f.report.positive + f.report.negative + f.report.zero;
    if (!MPKI_COMPLEX || (hermitian && !ldu)) {
        assert_int_equal(sum, w);
        if (!ldu && !zeros) check_inertia(&f, a);
    } else
        assert_int_equal(f.report.positive + f.report.negative, 0);
    if (zeros && !with_butterfly) assert_int_equal(f.report.zero, family == ZERO ? w : w / 3);
    assert_int_equal(f.report.perturbed, 0);
    assert_true(f.report.smallest <= f.report.largest);
    int bounded = pivoting == MPK_PIVOTING_ROOK || pivoting == MPK_PIVOTING_COMPLETE;
    if (bounded && type == MPK_TYPE_LDLT && w <= 40 && !with_butterfly)
        assert_true(largest_l(&f) <= (MPKI_COMPLEX ? 4.2 : 2.79));
    if (pivoting == MPK_PIVOTING_NONE || ldu || type == MPK_TYPE_LLT)
        assert_int_equal(f.report.two_by_two, 0);
    if (type == MPK_TYPE_LLT)
        for (int k = 0; k < w; k++) assert_true(wide(f.d[2 * k]) == 1);
    if (pivoting == MPK_PIVOTING_STATIC && family == PAIRS && type == MPK_TYPE_LDLT &&
        !with_butterfly)
        assert_int_equal(f.report.two_by_two, w / 2);
    release(&f), free(a), free(pair), free(butterfly);
}

static void check_size(const FN(block_kernels) * kern, int w) {
    for (int hermitian = 0; hermitian <= MPKI_COMPLEX; hermitian++) {
        for (int pivoting = MPK_PIVOTING_PARTIAL; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
            for (int family = 0; family < FAMILIES; family++)
                check_case(kern, family, w, MPK_TYPE_LDLT, pivoting, hermitian, 0);
        for (int pivoting = 0; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
            check_case(kern, DEFINITE, w, MPK_TYPE_LDLT, pivoting, hermitian, 0);
        for (int pivoting = 0; pivoting <= MPK_PIVOTING_COMPLETE && (hermitian || !MPKI_COMPLEX);
             pivoting++)
            check_case(kern, DEFINITE, w, MPK_TYPE_LLT, pivoting, hermitian, 0);
        check_case(kern, PAIRS, w, MPK_TYPE_LDLT, MPK_PIVOTING_STATIC, hermitian, 0);
        check_case(kern, RANDOM, w, MPK_TYPE_LDLT, MPK_PIVOTING_COMPLETE, hermitian, 1);
        check_case(kern, DEFINITE, w, MPK_TYPE_LDLT, MPK_PIVOTING_NONE, hermitian, 1);
    }
    for (int family = 0; family < FAMILIES; family++) {
        check_case(kern, family, w, MPK_TYPE_LDU, MPK_PIVOTING_COMPLETE, 0, 0);
        if (family != SINGULAR) {
            check_case(kern, family, w, MPK_TYPE_LDU, MPK_PIVOTING_PARTIAL, 0, 0);
            check_case(kern, family, w, MPK_TYPE_LDU, MPK_PIVOTING_ROOK, 0, 0);
        }
    }
    check_case(kern, DEFINITE, w, MPK_TYPE_LDU, MPK_PIVOTING_NONE, 0, 0);
    check_case(kern, RANDOM, w, MPK_TYPE_LDU, MPK_PIVOTING_ROOK, 0, 1);
}

static void test_definition(void **unused) {
    (void)unused;
    static const int sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12, 15,
                                16, 17, 23, 31, 32, 33, 48, 63, 65, 128};
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (size_t s = 0; kern && s < sizeof sizes / sizeof *sizes - TEST_SANITIZED; s++)
            check_size(kern, sizes[s]);
    }
}

/* every width once, by rook, on a block without a diagonal */
static void test_every_width(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (int w = 1; kern && w <= MPKI_BLOCK_MAX; w++)
            check_case(kern, ZERO_DIAGONAL, w, MPK_TYPE_LDLT, MPK_PIVOTING_ROOK, 0, 0);
    }
}

/* the pivots of LAPACK's sytrf and sytrf_rook, entry for entry of D */
static void test_pivots_of_lapack(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++)
        for (int w = 1; w <= 48; w += 3)
            for (int which = 0; which < 2 * (1 + MPKI_COMPLEX); which++) {
                const FN(block_kernels) *kern = kernels_of(k);
                if (!kern || sizeof(R) == 4) continue; /* a rounding may choose another pivot */
                int use_rook = which & 1, hermitian = which >> 1;
                T *a = family_block(w % 2 ? RANDOM : ZERO_DIAGONAL, w, hermitian, 0);
                result f = run(kern, w, a, MPK_TYPE_LDLT,
                               use_rook ? MPK_PIVOTING_ROOK : MPK_PIVOTING_PARTIAL, NULL, 0, NULL,
                               hermitian);
                zz *l = malloc((size_t)w * (size_t)w * sizeof *l);
                double *lr = malloc((size_t)w * (size_t)w * sizeof *lr);
                int *ipiv = malloc((size_t)w * sizeof *ipiv);
                for (int i = 0; i < w; i++)
                    for (int j = 0; j < w; j++) {
                        l[i + j * w] = wide(a[i * ld_of(w) + j]);
                        lr[i + j * w] = creal(l[i + j * w]);
                    }
                if (!MPKI_COMPLEX && use_rook)
                    LAPACKE_dsytrf_rook(LAPACK_COL_MAJOR, 'L', w, lr, w, ipiv);
                else if (!MPKI_COMPLEX)
                    LAPACKE_dsytrf(LAPACK_COL_MAJOR, 'L', w, lr, w, ipiv);
                else if (hermitian && use_rook)
                    LAPACKE_zhetrf_rook(LAPACK_COL_MAJOR, 'L', w, l, w, ipiv);
                else if (hermitian)
                    LAPACKE_zhetrf(LAPACK_COL_MAJOR, 'L', w, l, w, ipiv);
                else if (use_rook)
                    LAPACKE_zsytrf_rook(LAPACK_COL_MAJOR, 'L', w, l, w, ipiv);
                else
                    LAPACKE_zsytrf(LAPACK_COL_MAJOR, 'L', w, l, w, ipiv);
                int doubles = 0;
                for (int i = 0; i < w; i++) {
                    zz want = MPKI_COMPLEX ? l[i + i * w] : lr[i + i * w];
                    assert_true(cabs(wide(f.d[2 * i]) - want) <= 1e-9 * w);
                    doubles += ipiv[i] < 0;
                }
                assert_int_equal(2 * f.report.two_by_two, doubles);
                release(&f), free(a), free(l), free(lr), free(ipiv);
            }
}

/* pivots at and below the floor: replaced by its modulus and their sign, and counted */
static void test_floor(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (int pivoting = 0; kern && pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
            for (int type = 0; type <= MPK_TYPE_LDU; type += 2) {
                T *a = new_block(4, 4);
                int ld = ld_of(4);
                a[0] = t_make(1, 0), a[ld + 1] = t_make((R)-1e-3, 0);
                a[2 * ld + 2] = t_make((R)0.25, 0), a[3 * ld + 3] = t_make(0, 0);
                int32_t pair[] = {0, 1, 2, 3};
                result f = run(kern, 4, a, type, pivoting, pair, (R)0.5, NULL, 0);
                assert_int_equal(f.report.perturbed, 3);
                assert_int_equal(f.report.zero, 0);
                if (!MPKI_COMPLEX) assert_int_equal(f.report.positive, 3);
                if (!MPKI_COMPLEX) assert_int_equal(f.report.negative, 1);
                assert_true(f.report.smallest == 0 && f.report.largest == 1);
                int halves = 0;
                for (int i = 0; i < 4; i++) halves += cabs(wide(f.d[2 * i])) == 0.5;
                assert_int_equal(halves, 3);
                check_dinv(&f, 0, (R)0.5);
                release(&f), free(a);
            }
        /* [0 t; t 0] has the eigenvalues +-t: both replaced, the inertia stays */
        for (int hermitian = 0; kern && hermitian <= MPKI_COMPLEX; hermitian++) {
            T *a = new_block(2, 2);
            int32_t pair[] = {1, 0};
            a[1] = t_make((R)0.125, MPKI_COMPLEX ? (R)0.125 : 0);
            a[ld_of(2)] = conj_if(hermitian, a[1]);
            for (int pivoting = 1; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++) {
                result f = run(kern, 2, a, MPK_TYPE_LDLT, pivoting, pair, (R)0.5, NULL, hermitian);
                assert_int_equal(f.report.perturbed, 2);
                if (!MPKI_COMPLEX || hermitian) {
                    assert_int_equal(f.report.positive, 1);
                    assert_int_equal(f.report.negative, 1);
                    assert_true(fabs(cabs(wide(f.d[1])) - 0.5) < 8 * R_EPS);
                    assert_true(cabs(wide(f.d[0])) < 8 * R_EPS);
                }
                check_dinv(&f, hermitian, (R)0.49);
                release(&f);
            }
            free(a);
        }
    }
}

/* Rounding where exact arithmetic has 0: what replaces such pivots does not depend on its signs,
 * nor on where it is largest. */
static void test_nothing(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (int pivoting = 0; kern && pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
            for (int type = 0; type <= MPK_TYPE_LDU; type += 2)
                for (int hermitian = 0; hermitian <= (MPKI_COMPLEX && type == 0); hermitian++) {
                    int32_t pair[] = {0, 1, 2, 4, 3};
                    result f[2];
                    for (int trial = 0; trial < 2; trial++) {
                        T *a = new_block(5, 5);
                        const int ld = ld_of(5);
                        for (int i = 0; i < 5; i++)
                            for (int j = 0; j <= i; j++) {
                                const R x = (R)(uniform() - 0.5) * R_EPS;
                                a[i * ld + j] = t_make(x, MPKI_COMPLEX && i > j ? x : 0);
                                a[j * ld + i] = conj_if(hermitian, a[i * ld + j]);
                            }
                        a[0] = t_make(1, 0), a[2 * ld + 2] = t_make((R)-0.75, 0);
                        f[trial] = run(kern, 5, a, type, pivoting, pair, (R)0.125, NULL, hermitian);
                        free(a);
                    }
                    assert_int_equal(f[0].report.perturbed, 3);
                    assert_int_equal(f[1].report.perturbed, 3);
                    if (!MPKI_COMPLEX) assert_int_equal(f[0].report.negative, 1);
                    if (!MPKI_COMPLEX) assert_int_equal(f[1].report.negative, 1);
                    for (int i = 0; i < 10; i++)
                        assert_true(cabs(wide(f[0].d[i]) - wide(f[1].d[i])) < 64 * R_EPS);
                    for (int i = 0; i < 5; i++)
                        for (int j = 0; j < 5; j++)
                            assert_true(cabs(wide(f[0].m[i * ld_of(5) + j]) -
                                             wide(f[1].m[i * ld_of(5) + j])) < 256 * R_EPS);
                    release(&f[0]), release(&f[1]);
                }
    }
}

/* Entries that are equal but for rounding, as are many that elimination makes of them: the same
 * pivots, whatever the rounding. */
static void test_equal(void **unused) {
    (void)unused;
    enum { W = 7 };
    int32_t pair[W] = {0, 2, 1, 4, 3, 5, 6};
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (int pivoting = MPK_PIVOTING_PARTIAL; kern && pivoting <= MPK_PIVOTING_COMPLETE;
             pivoting++)
            for (int type = 0; type <= MPK_TYPE_LDU; type += 2)
                for (int trial = 0; trial < 20; trial++) {
                    T *signs = new_block(W, W), *a = new_block(W, W);
                    const int ld = ld_of(W);
                    result f[2];
                    for (int i = 0; i < W; i++)
                        for (int j = 0; j < W; j++) {
                            const R x = uniform() < 0.5 ? -1 : 1;
                            signs[i * ld + j] = t_make(x, 0);
                            if (type != MPK_TYPE_LDU && j < i)
                                signs[i * ld + j] = signs[j * ld + i];
                        }
                    for (int turn = 0; turn < 2; turn++) {
                        for (int i = 0; i < W; i++)
                            for (int j = 0; j < W; j++) {
                                const R x = 1 + (R)(4 * (uniform() - 0.5)) * R_EPS;
                                a[i * ld + j] = signs[i * ld + j] * x;
                                if (type != MPK_TYPE_LDU && j < i) a[i * ld + j] = a[j * ld + i];
                            }
                        f[turn] = run(kern, W, a, type, pivoting, pair, (R)0.125, NULL, 0);
                    }
                    for (int i = 0; i < 2 * W; i++)
                        assert_true(cabs(wide(f[0].d[i]) - wide(f[1].d[i])) < 4096 * R_EPS);
                    for (int i = 0; i < W; i++)
                        for (int j = 0; j < W; j++)
                            assert_true(cabs(wide(f[0].m[i * ld + j]) - wide(f[1].m[i * ld + j])) <
                                        4096 * R_EPS);
                    free(signs), free(a), release(&f[0]), release(&f[1]);
                }
    }
}

/* one small eigenvalue of a 2x2 is raised, the other one stays */
static void test_floor_of_one(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (int hermitian = 0; kern && hermitian <= MPKI_COMPLEX; hermitian++)
            for (int trial = 0; trial < 20; trial++) {
                /* x x^H s + small rest; both diagonals below the floor */
                T *a = new_block(2, 2);
                int ld = ld_of(2);
                double t = uniform() * 3;
                T phase = MPKI_COMPLEX ? t_make((R)cos(t), (R)sin(t)) : t_make(1, 0);
                a[0] = t_make((R)0.2, 0), a[ld + 1] = t_make((R)0.19, 0);
                a[ld] = phase * (R)0.6, a[1] = conj_if(hermitian, a[ld]);
                int32_t pair[] = {1, 0};
                result f = run(kern, 2, a, MPK_TYPE_LDLT, MPK_PIVOTING_STATIC, pair, (R)0.5, NULL,
                               hermitian);
                if (hermitian || !MPKI_COMPLEX) { /* eigenvalues 0.195 +- 0.6000... */
                    double mean = 0.195, r = hypot(0.005, 0.6);
                    assert_int_equal(f.report.perturbed, 1);
                    assert_true(fabs(f.report.smallest - (r - mean)) < 1e-6);
                    double x = creal(wide(f.d[0])), z = creal(wide(f.d[2])), o = cabs(wide(f.d[1]));
                    double m2 = (x + z) / 2, r2 = hypot((x - z) / 2, o);
                    assert_true(fabs(m2 + r2 - (mean + r)) < 1e-6);
                    assert_true(fabs(m2 - r2 + 0.5) < 1e-6);
                } else { /* singular values: the larger one stays, the smaller one >= 0.5 */
                    zz x = wide(f.d[0]), o = wide(f.d[1]), z = wide(f.d[2]);
                    double sum = cabs(x) * cabs(x) + 2 * cabs(o) * cabs(o) + cabs(z) * cabs(z);
                    double det = cabs(x * z - o * o);
                    double small = sqrt((sum - sqrt(sum * sum - 4 * det * det)) / 2);
                    assert_true(small > 0.5 - 1e-6);
                }
                check_dinv(&f, hermitian, 0);
                release(&f), free(a);
            }
    }
}

/* a singular pair falls back: [1 1; 1 1] to a 1x1 and a zero, [0 0; 0 0] to two zeros */
static void test_singular_pair(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        if (!kern) continue;
        T *a = new_block(4, 4);
        int ld = ld_of(4);
        int32_t pair[] = {3, 2, 1, 0};
        a[0] = a[3] = a[3 * ld] = a[3 * ld + 3] = t_make(1, 0);
        result f = run(kern, 4, a, MPK_TYPE_LDLT, MPK_PIVOTING_STATIC, pair, 0, NULL, MPKI_COMPLEX);
        assert_int_equal(f.report.zero, 3);
        assert_int_equal(f.report.positive, 1);
        assert_int_equal(f.report.two_by_two, 0);
        assert_true(residual(&f, a, 0, MPKI_COMPLEX) <= 20);
        release(&f);
        int32_t wrong[] = {9, -4, 2, 0}; /* not pairs: taken as 1x1 */
        f = run(kern, 4, a, MPK_TYPE_LDLT, MPK_PIVOTING_STATIC, wrong, 0, NULL, 0);
        assert_int_equal(f.report.failed, -1);
        assert_int_equal(f.report.two_by_two, 0);
        release(&f), free(a);
    }
}

static void test_failures(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (int type = 0; kern && type <= MPK_TYPE_LDU; type++)
            for (int pivoting = 0; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
                for (int bad = 0; bad < 2; bad++) {
                    T *a = family_block(DEFINITE, 9, 0, type == MPK_TYPE_LDU);
                    a[5 * ld_of(9) + 3] = a[3 * ld_of(9) + 5] =
                        t_make(bad ? (R)NAN : (R)INFINITY, 0);
                    result f = run(kern, 9, a, type, pivoting, NULL, 0, NULL, 0);
                    assert_int_equal(f.report.failed, 0);
                    release(&f), free(a);
                }
        /* not definite at row 3 */
        T *a = kern ? new_block(5, 5) : NULL;
        for (int i = 0; kern && i < 5; i++) a[i * ld_of(5) + i] = t_make(i == 3 ? -1 : 1, 0);
        for (int pivoting = 0; kern && pivoting <= MPK_PIVOTING_PARTIAL; pivoting++) {
            result f = run(kern, 5, a, MPK_TYPE_LLT, pivoting, NULL, 0, NULL, 0);
            assert_int_equal(f.report.failed, 3);
            release(&f);
        }
        if (kern) { /* growth beyond the range: no pivoting, and no floor that would help */
            R tiny = sizeof(R) == 4 ? (R)1e-37 : (R)1e-300;
            a[0] = t_make(tiny, 0);
            for (int i = 1; i < 5; i++) a[i] = a[i * ld_of(5)] = t_make(1000, 0);
            tiny *= (R)1e-1 * (sizeof(R) == 4 ? (R)0.2 : (R)1e-7);
            for (int i = 1; i < 5; i++) a[i] = a[i * ld_of(5)] = t_make((R)1e20, 0);
            result f = run(kern, 5, a, MPK_TYPE_LDLT, MPK_PIVOTING_NONE, NULL, 0, NULL, 0);
            assert_true(f.report.failed >= 0);
            release(&f);
        }
        free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),       cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_pivots_of_lapack), cmocka_unit_test(test_floor),
        cmocka_unit_test(test_floor_of_one),     cmocka_unit_test(test_singular_pair),
        cmocka_unit_test(test_nothing),          cmocka_unit_test(test_equal),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
