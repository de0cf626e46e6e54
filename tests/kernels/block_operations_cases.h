/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kernel on blocks but the factorization against loops in double complex, for all formats,
 * fills and instruction sets, in the precision of the including file. */
#include "block_support.h"

static const int formats[] = {MPKI_EMPTY, MPKI_DENSE, MPKI_BITMAP, MPKI_ROWS};
static const double fills[] = {0.02, 0.1, 0.4, 1.0};

typedef void (*shape_test)(const FN(block_kernels) * kern, int rows, int cols, double fill,
                           int format);

/* odd shapes, small and large, every format and fill, all instruction sets */
static void shapes(shape_test test) {
    static const int shape[][2] = {{1, 1},   {1, 5},   {4, 4},   {3, 128}, {128, 3},   {7, 9},
                                   {8, 8},   {16, 16}, {17, 31}, {32, 32}, {33, 17},   {31, 33},
                                   {24, 64}, {64, 40}, {65, 63}, {97, 79}, {128, 128}, {5, 32}};
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (size_t s = 0; kern && s < sizeof shape / sizeof *shape; s++)
            for (int f = 0; f < 4; f++)
                for (int g = 0; g < 4; g++)
                    test(kern, shape[s][0], shape[s][1], fills[f], formats[g]);
    }
}

/* every length from 1 to 128, dense and not */
static void lengths(shape_test test) {
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (int n = 1; kern && n <= MPKI_BLOCK_MAX; n++) {
            test(kern, 1 + n % 7, n, 0.3, MPKI_BITMAP);
            test(kern, n, 1 + n % 11, 0.7, MPKI_BITMAP);
            test(kern, 1 + n % 9, n, 1, MPKI_DENSE);
            test(kern, n, 1 + n % 13, 0.5, MPKI_ROWS);
        }
    }
}

static T *empty_if(T *c, int rows, int cols, int format) {
    if (format == MPKI_EMPTY) memset(c, 0, (size_t)(rows * ld_of(cols)) * sizeof(T));
    return c;
}

/* [sum] of `terms` products of entries below 2 in modulus, started from one such */
static void near(T got, zz want, int terms) {
    double wrong = cabs(wide(got) - want);
    if (!(wrong <= (terms + 4) * 8 * (double)R_EPS))
        fail_msg("%g%+gi for %g%+gi (%d terms)", t_re(got), t_im(got), creal(want), cimag(want),
                 terms);
}

/* ---- store ---- */

static void store_case(const FN(block_kernels) * kern, int rows, int cols, double fill,
                       int format) {
    int ld = ld_of(cols), nonzeros = 0, held = 0;
    T *c = empty_if(random_block(rows, cols, fill, format == MPKI_ROWS), rows, cols, format);
    for (int r = 0; r < rows; r++) {
        int here = 0;
        for (int k = 0; k < cols; k++) here += t_abs1(c[r * ld + k]) > 0;
        nonzeros += here, held += here > 0;
    }
    mpki_block b = store(kern, rows, cols, c, format);
    assert_int_equal(b.scalar, MPKI_PRECISION);
    int want = format == MPKI_DENSE    ? rows * cols
               : format == MPKI_ROWS   ? held * cols
               : format == MPKI_BITMAP ? nonzeros
                                       : 0;
    assert_int_equal(b.nnz, want);
    size_t bytes[4], least = 0;
    for (int f = 0; f < 4; f++) bytes[f] = kern->bytes(rows, cols, c, ld, f);
    assert_int_equal(bytes[MPKI_EMPTY], 0);
    assert_int_equal(bytes[MPKI_DENSE], sizeof(T) * (size_t)(rows * cols));
    size_t row_words = (size_t)(rows + 31) / 32, col_words = (size_t)(cols + 31) / 32;
    assert_int_equal(bytes[MPKI_ROWS],
                     (row_words * 4 + 15) / 16 * 16 + sizeof(T) * (size_t)(held * cols));
    assert_int_equal(bytes[MPKI_BITMAP],
                     ((row_words + (size_t)held * col_words) * 4 + 15) / 16 * 16 +
                         sizeof(T) * (size_t)nonzeros);
    int best = kern->smallest(rows, cols, c, ld, &least);
    assert_int_equal(least, bytes[best]);
    for (int f = 1; f < 4 && nonzeros > 0; f++) assert_true(least <= bytes[f]);
    assert_int_equal(best == MPKI_EMPTY, nonzeros == 0);
    T *back = new_block(rows, cols);
    memset(back, 255, (size_t)(rows * ld) * sizeof(T));
    kern->unpack(&b, back, ld);
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < ld; k++)
            assert_true(wide(back[r * ld + k]) == (k < cols ? wide(c[r * ld + k]) : 0));
    free(c), free(back), free(b.data);
}

static void test_store(void **unused) {
    (void)unused;
    shapes(store_case);
    lengths(store_case);
}

/* NaN is a value like others: what is stored and what comes back holds it */
static void test_store_nan(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (int f = 1; kern && f < 4; f++) {
            T *c = new_block(3, 20), *back = new_block(3, 20);
            c[ld_of(20) + 17] = t_make((R)NAN, 0);
            mpki_block b = store(kern, 3, 20, c, f);
            kern->unpack(&b, back, ld_of(20));
            assert_true(t_re(back[ld_of(20) + 17]) != t_re(back[ld_of(20) + 17]));
            free(c), free(back), free(b.data);
        }
    }
}

/* ---- downdate, right, solve ---- */

static void downdate_case(const FN(block_kernels) * kern, int rows, int k, double fill,
                          int format) {
    static const int widths[] = {1, 3, 8, 16, 32, 31, 48, 63, 128, 100};
    int cols = widths[(rows + 3 * k + format) % 10];
    T *a = empty_if(random_block(rows, k, fill, format == MPKI_ROWS), rows, k, format);
    T *w = random_block(k, cols, 1, 0), *c = random_block(rows, cols, 1, 0);
    int ld = ld_of(cols);
    T *old = new_block(rows, cols);
    memcpy(old, c, (size_t)(rows * ld) * sizeof(T));
    mpki_block b = store(kern, rows, k, a, format);
    kern->downdate(&b, w, ld, cols, c, ld);
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < cols; j++) {
            zz want = wide(old[r * ld + j]);
            for (int i = 0; i < k; i++) want -= mul(wide(a[r * ld_of(k) + i]), wide(w[i * ld + j]));
            near(c[r * ld + j], want, k);
        }
    padding_is_zero(rows, cols, c);
    free(a), free(w), free(c), free(old), free(b.data);
}

static void test_downdate(void **unused) {
    (void)unused;
    shapes(downdate_case);
    lengths(downdate_case);
}

/* D with 1x1 and 2x2 blocks */
static void random_diagonal(int w, int hermitian, T *d) {
    for (int k = 0; k < w; k++) {
        d[2 * k] = random_entry(), d[2 * k + 1] = t_make(0, 0);
        if (hermitian) d[2 * k] = t_make(t_re(d[2 * k]), 0);
    }
    for (int k = 0; k + 1 < w; k += 1 + k % 3)
        if (k == 0 || t_abs1(d[2 * k - 1]) == 0) d[2 * k + 1] = random_entry();
}
static zz diagonal_at(const T *d, int hermitian, int i, int j) {
    if (i == j) return wide(d[2 * i]);
    if (i == j + 1) return wide(d[2 * j + 1]);
    return j == i + 1 ? wide(conj_if(hermitian, d[2 * i + 1])) : 0;
}

static void right_case(const FN(block_kernels) * kern, int rows, int k, double fill, int format) {
    T *b = empty_if(random_block(rows, k, fill, format == MPKI_ROWS), rows, k, format);
    T d[2 * MPKI_BLOCK_MAX];
    int ld = ld_of(rows);
    mpki_block stored = store(kern, rows, k, b, format);
    for (int mode = 0; mode < 4; mode++) {
        int hermitian = MPKI_COMPLEX && mode & 1, plain = mode & 2;
        random_diagonal(k, hermitian, d);
        T *w = new_block(k, rows);
        memset(w, 255, (size_t)(k * ld) * sizeof(T));
        kern->right(&stored, plain ? NULL : d, hermitian, w, ld);
        for (int i = 0; i < k; i++)
            for (int r = 0; r < rows; r++) {
                zz want = 0;
                for (int j = i > 0 ? i - 1 : 0; j < k && j < i + 2; j++)
                    want += (plain ? i == j : diagonal_at(d, hermitian, i, j)) *
                            wide(conj_if(hermitian, b[r * ld_of(k) + j]));
                near(w[i * ld + r], want, 3);
            }
        padding_is_zero(k, rows, w);
        free(w);
    }
    free(b), free(stored.data);
}

static void test_right(void **unused) {
    (void)unused;
    shapes(right_case);
    lengths(right_case);
}

static void solve_case(const FN(block_kernels) * kern, int rows, int w, double fill, int format) {
    if (format != MPKI_DENSE) return;
    int ld = ld_of(w);
    for (int hermitian = 0; hermitian <= MPKI_COMPLEX; hermitian++) {
        T *c = random_block(rows, w, fill, 0), *m = random_block(w, w, 1, 0);
        T *work = new_block(rows, w), *old = new_block(rows, w), dinv[2 * MPKI_BLOCK_MAX];
        R norm2[MPKI_BLOCK_MAX];
        double most = 0;
        random_diagonal(w, hermitian, dinv);
        memcpy(old, c, (size_t)(rows * ld) * sizeof(T));
        memset(work, 255, (size_t)(rows * ld) * sizeof(T));
        for (int k = 0; k < w; k++) norm2[k] = (R)k;
        R largest = kern->solve(rows, w, c, ld, m, ld, dinv, hermitian, work, norm2);
        for (int k = 0; k < w; k++) {
            double sum = k;
            for (int r = 0; r < rows; r++) {
                zz want = 0;
                for (int i = k > 0 ? k - 1 : 0; i < w && i < k + 2; i++) {
                    zz product = 0;
                    for (int j = 0; j < w; j++)
                        product += wide(old[r * ld + j]) * wide(conj_if(hermitian, m[i * ld + j]));
                    want += product * diagonal_at(dinv, hermitian, i, k);
                }
                near(c[r * ld + k], want, 3 * w);
                zz got = wide(c[r * ld + k]);
                sum += creal(got) * creal(got) + cimag(got) * cimag(got);
                if (cabs(got) > most) most = cabs(got);
            }
            assert_true(fabs(norm2[k] - sum) <= 4 * (rows + 4) * R_EPS * sum);
        }
        assert_true(fabs(largest - most) <= 4 * R_EPS * most);
        padding_is_zero(rows, w, c);
        c[(rows - 1) * ld + w - 1] = t_make((R)NAN, 0);
        largest = kern->solve(rows, w, c, ld, m, ld, dinv, hermitian, work, norm2);
        assert_true(largest != largest);
        free(c), free(m), free(work), free(old);
    }
}

static void test_solve(void **unused) {
    (void)unused;
    shapes(solve_case);
    lengths(solve_case);
}

/* ---- vectors ---- */

static T *random_vector(int n) {
    T *x = malloc((size_t)n * sizeof(T));
    for (int i = 0; i < n; i++) x[i] = random_entry();
    return x;
}

static void apply_case(const FN(block_kernels) * kern, int rows, int cols, double fill,
                       int format) {
    static const int counts[] = {1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17};
    T *a = empty_if(random_block(rows, cols, fill, format == MPKI_ROWS), rows, cols, format);
    mpki_block b = store(kern, rows, cols, a, format);
    for (int pass = 0; pass < 3; pass++) {
        int nrhs = pass ? counts[(rows + cols + pass) % 11] : 1,
            conjugate = MPKI_COMPLEX && pass & 1;
        T *x = random_vector(cols * nrhs), *y = random_vector(rows * nrhs);
        T *x0 = malloc((size_t)(cols * nrhs) * sizeof(T)),
          *y0 = malloc((size_t)(rows * nrhs) * sizeof(T));
        memcpy(x0, x, (size_t)(cols * nrhs) * sizeof(T));
        memcpy(y0, y, (size_t)(rows * nrhs) * sizeof(T));
        kern->apply(&b, x, nrhs, y);
        for (int i = 0; i < rows * nrhs; i++) {
            zz want = wide(y0[i]);
            for (int k = 0; k < cols; k++)
                want -= wide(a[i / nrhs * ld_of(cols) + k]) * wide(x[k * nrhs + i % nrhs]);
            near(y[i], want, cols);
        }
        kern->apply_t(&b, y0, nrhs, conjugate, x);
        for (int i = 0; i < cols * nrhs; i++) {
            zz want = wide(x0[i]);
            for (int k = 0; k < rows; k++)
                want -= wide(conj_if(conjugate, a[k * ld_of(cols) + i / nrhs])) *
                        wide(y0[k * nrhs + i % nrhs]);
            near(x[i], want, rows);
        }
        free(x), free(y), free(x0), free(y0);
    }
    free(a), free(b.data);
}

static void test_apply(void **unused) {
    (void)unused;
    shapes(apply_case);
    lengths(apply_case);
}

static void multiply_case(const FN(block_kernels) * kern, int w, int other, double fill,
                          int format) {
    static const int counts[] = {1, 2, 3, 4, 8, 16, 11};
    if (format != MPKI_DENSE) return;
    (void)fill;
    T *m = random_block(w, w, 1, 0);
    int ld = ld_of(w);
    for (int pass = 0; pass < 3; pass++) {
        int nrhs = pass ? counts[(w + other + pass) % 7] : 1, conjugate = MPKI_COMPLEX && pass & 1;
        T *x = random_vector(w * nrhs), *y = random_vector(w * nrhs);
        kern->multiply(w, m, ld, x, nrhs, y);
        for (int i = 0; i < w * nrhs; i++) {
            zz want = 0;
            for (int k = 0; k < w; k++)
                want += wide(m[i / nrhs * ld + k]) * wide(x[k * nrhs + i % nrhs]);
            near(y[i], want, w);
        }
        kern->multiply_t(w, m, ld, x, nrhs, conjugate, y);
        for (int i = 0; i < w * nrhs; i++) {
            zz want = 0;
            for (int k = 0; k < w; k++)
                want +=
                    wide(conj_if(conjugate, m[k * ld + i / nrhs])) * wide(x[k * nrhs + i % nrhs]);
            near(y[i], want, w);
        }
        free(x), free(y);
    }
    free(m);
}

static void test_multiply(void **unused) {
    (void)unused;
    shapes(multiply_case);
    lengths(multiply_case);
}

static void test_diagonal(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        for (int w = 1; kern && w <= MPKI_BLOCK_MAX; w += 1 + w / 8)
            for (int mode = 0; mode < 4; mode++) {
                int hermitian = MPKI_COMPLEX && mode & 1, absolute = mode >> 1;
                int nrhs = 1 + (w + mode) % 5;
                T d[2 * MPKI_BLOCK_MAX], *x = random_vector(w * nrhs);
                T *once = malloc((size_t)(w * nrhs) * sizeof(T));
                T *old = malloc((size_t)(w * nrhs) * sizeof(T));
                random_diagonal(w, hermitian, d);
                memcpy(old, x, (size_t)(w * nrhs) * sizeof(T));
                kern->diagonal(w, d, d, absolute, hermitian, nrhs, x);
                memcpy(once, x, (size_t)(w * nrhs) * sizeof(T));
                /* |D|: positive, and |D|^2 = D^H D */
                if (absolute) kern->diagonal(w, d, d, 1, hermitian, nrhs, x);
                for (int r = 0; r < nrhs; r++) {
                    double form = 0;
                    for (int i = 0; i < w; i++) {
                        zz want = 0;
                        form += creal(conj(wide(old[i * nrhs + r])) * wide(once[i * nrhs + r]));
                        for (int j = i > 0 ? i - 1 : 0; j < w && j < i + 2; j++) {
                            zz dx = 0; /* (D x)_j, or row j of D^H times D x */
                            if (!absolute)
                                dx = wide(old[j * nrhs + r]);
                            else
                                for (int l = j > 0 ? j - 1 : 0; l < w && l < j + 2; l++)
                                    dx += diagonal_at(d, hermitian, j, l) * wide(old[l * nrhs + r]);
                            want += (absolute ? conj(diagonal_at(d, hermitian, j, i))
                                              : diagonal_at(d, hermitian, i, j)) *
                                    dx;
                        }
                        near(x[i * nrhs + r], want, 16);
                    }
                    if (absolute) assert_true(form > 0);
                }
                free(x), free(once), free(old);
            }
    }
}

/* ---- drop ---- */

static int by_modulus(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Rounded by the last bits that do not count (MPKI_RANK_BITS): 9 of 24, 26 of 53. */
static double ranked(double x) {
    int exponent;
    const double m = frexp(x, &exponent);
    const int bits = sizeof(R) == 4 ? 15 : 27;
    return ldexp(floor(ldexp(m, bits) + 0.5), exponent - bits);
}

static void drop_case(const FN(block_kernels) * kern, int rows, int cols, double fill, int format) {
    if (format != MPKI_DENSE) return;
    int ld = ld_of(cols);
    for (int pass = 0; pass < 6; pass++) {
        T *c = random_block(rows, cols, fill, 0), *old = new_block(rows, cols);
        if (pass & 1) /* many ties, but for rounding */
            for (int i = 0; i < rows * ld; i++)
                c[i] = t_make((R)((int)(4 * t_re(c[i])) / (R)4 * (1 + 4 * (i % 3 - 1) * R_EPS)), 0);
        memcpy(old, c, (size_t)(rows * ld) * sizeof(T));
        R drop[MPKI_BLOCK_MAX];
        for (int k = 0; k < cols; k++) drop[k] = pass < 2 ? 0 : (R)fabs(uniform() / 2);
        if (pass == 3) /* bounds that entries meet exactly */
            for (int k = 0; k < cols; k++) drop[k] = t_abs(c[k]);
        int64_t n = 0;
        double *size = malloc((size_t)(rows * cols) * sizeof *size);
        for (int r = 0; r < rows; r++)
            for (int k = 0; k < cols; k++) {
                R x = t_abs(c[r * ld + k]);
                if (x > drop[k]) size[n++] = ranked(x);
            }
        int64_t capacity = pass == 5 ? -1 : pass == 4 ? 0 : n * (pass + 1) / 5, kept = 0;
        qsort(size, (size_t)n, sizeof *size, by_modulus);
        T *copy = new_block(rows, cols);
        memcpy(copy, c, (size_t)(rows * ld) * sizeof(T));
        assert_int_equal(kern->drop(rows, cols, copy, ld, drop, capacity, 1), n);
        for (int r = 0; r < rows; r++)
            for (int k = 0; k < cols; k++) {
                T x = old[r * ld + k];
                assert_true(wide(copy[r * ld + k]) == (t_abs(x) > drop[k] ? wide(x) : 0));
            }
        int64_t got = kern->drop(rows, cols, c, ld, drop, capacity, 0);
        int64_t want = capacity >= 0 && capacity < n ? capacity : n;
        assert_int_equal(got, want);
        double cut = want > 0 && want < n ? size[want - 1] : want ? 0 : INFINITY;
        int64_t ties = want;
        for (int64_t i = 0; i < n; i++) ties -= size[i] > cut;
        for (int r = 0; r < rows; r++)
            for (int k = 0; k < cols; k++) {
                T x = old[r * ld + k];
                const double s = ranked(t_abs(x));
                int stays = t_abs(x) > drop[k] && (s > cut || (s == cut && ties-- > 0));
                assert_true(wide(c[r * ld + k]) == (stays ? wide(x) : 0));
                kept += stays;
            }
        assert_int_equal(kept, want);
        padding_is_zero(rows, cols, c);
        free(c), free(old), free(copy), free(size);
    }
}

static void test_drop(void **unused) {
    (void)unused;
    shapes(drop_case);
    lengths(drop_case);
}

/* NaN and infinity are never dropped for smaller ones; tiny entries are judged by their modulus */
static void test_drop_extremes(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        const FN(block_kernels) *kern = kernels_of(k);
        if (!kern) continue;
        T *c = new_block(2, 4);
        R drop[4] = {0, 0, 0, 0}, tiny = sizeof(R) == 4 ? (R)1e-30 : (R)1e-200;
        c[0] = t_make(1, 0), c[1] = t_make(tiny, 0);
        c[2] = t_make((R)NAN, 0), c[ld_of(4)] = t_make(-2, 0), c[3] = t_make((R)INFINITY, 0);
        assert_int_equal(kern->drop(2, 4, c, ld_of(4), drop, -1, 0), 5);
        assert_int_equal(kern->drop(2, 4, c, ld_of(4), drop, 2, 0), 2);
        assert_true(t_re(c[2]) != t_re(c[2]) && isinf(t_re(c[3])) && t_abs1(c[0]) == 0);
        c[0] = t_make(tiny * 2, 0), c[1] = t_make(tiny, 0), c[2] = c[3] = t_make(0, 0);
        drop[0] = drop[1] = tiny;
        assert_int_equal(kern->drop(2, 4, c, ld_of(4), drop, -1, 0), 1);
        assert_true(t_abs1(c[0]) > 0 && t_abs1(c[1]) == 0);
        free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store),    cmocka_unit_test(test_store_nan),
        cmocka_unit_test(test_downdate), cmocka_unit_test(test_right),
        cmocka_unit_test(test_solve),    cmocka_unit_test(test_apply),
        cmocka_unit_test(test_multiply), cmocka_unit_test(test_diagonal),
        cmocka_unit_test(test_drop),     cmocka_unit_test(test_drop_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
