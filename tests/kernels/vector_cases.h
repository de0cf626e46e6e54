/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix times vector of the solve with one right-hand side, in every instruction set, against sums
 * in double precision: all shapes around a vector's width, op = conj or not, leading dimensions
 * larger than the rows, and nothing written beside y. */
#include "block_support.h"

enum { MOST_ROWS = 37, MOST_COLS = 11, GUARD = 3 };

static const FN(kernels) * table_of(int k) {
    if (!kernels_of(k)) return NULL;
    setenv("METAPACK_CPU", mpki_cpu_words[k], 1);
    const FN(kernels) *table = FN(cpu_kernels)();
    unsetenv("METAPACK_CPU");
    assert_string_equal(table->isa, mpki_cpu_words[k]);
    return table;
}

/* |y - want| <= 4 (terms + 1) eps size, entry by entry */
static void compare(int count, const T *y, const zz *want, const double *size, int terms) {
    for (int i = 0; i < count; i++)
        assert_true(cabs(wide(y[i]) - want[i]) <= 4 * (terms + 1) * R_EPS * size[i]);
}

static void one(const FN(kernels) * k, int rows, int cols, int lda, int transposed, int conjugate) {
    T a[(MOST_ROWS + GUARD) * MOST_COLS], x[MOST_ROWS], y[MOST_ROWS + GUARD] = {0};
    const int in = transposed ? rows : cols, out = transposed ? cols : rows;
    zz want[MOST_ROWS];
    double size[MOST_ROWS];
    for (int i = 0; i < lda * cols; i++) a[i] = random_entry();
    for (int i = 0; i < in; i++) x[i] = random_entry();
    for (int i = 0; i < out + GUARD; i++) y[i] = random_entry();
    T after[GUARD];
    memcpy(after, y + out, sizeof after);
    for (int i = 0; i < out; i++) {
        want[i] = wide(y[i]);
        size[i] = cabs(want[i]);
        for (int j = 0; j < in; j++) {
            zz entry = wide(transposed ? a[j + i * lda] : a[i + j * lda]);
            if (conjugate) entry = conj(entry);
            want[i] -= mul(entry, wide(x[j]));
            size[i] += 2 * cabs(entry) * cabs(wide(x[j]));
        }
    }
    if (transposed)
        k->gemvt(rows, cols, a, lda, x, y, conjugate);
    else
        k->gemv(rows, cols, a, lda, x, y);
    compare(out, y, want, size, in);
    assert_memory_equal(after, y + out, sizeof after);
}

static void matrix_times_vector(void **unused) {
    (void)unused;
    for (int isa = 0; isa < 3; isa++) {
        const FN(kernels) *k = table_of(isa);
        for (int rows = 0; k && rows <= MOST_ROWS; rows++)
            for (int cols = 0; cols <= MOST_COLS; cols++)
                for (int more = 0; more <= GUARD; more += GUARD) {
                    one(k, rows, cols, rows + more, 0, 0);
                    one(k, rows, cols, rows + more, 1, 0);
                    if (MPKI_COMPLEX) one(k, rows, cols, rows + more, 1, 1);
                }
    }
}

/* Workers share a product by its columns, 32 at a time: each column has the bits that it has in the
 * whole. */
static void shares_have_the_same_bits(void **unused) {
    (void)unused;
    enum { ROWS = 29, COLS = 45, SHARE = 32 };
    static T a[ROWS * COLS], x[ROWS], whole[COLS], shared[COLS];
    for (int isa = 0; isa < 3; isa++) {
        const FN(kernels) *k = table_of(isa);
        if (!k) continue;
        for (int i = 0; i < ROWS * COLS; i++) a[i] = random_entry();
        for (int i = 0; i < ROWS; i++) x[i] = random_entry();
        for (int i = 0; i < COLS; i++) shared[i] = whole[i] = random_entry();
        k->gemvt(ROWS, COLS, a, ROWS, x, whole, MPKI_COMPLEX);
        k->gemvt(ROWS, SHARE, a, ROWS, x, shared, MPKI_COMPLEX);
        k->gemvt(ROWS, COLS - SHARE, a + SHARE * ROWS, ROWS, x, shared + SHARE, MPKI_COMPLEX);
        assert_memory_equal(whole, shared, sizeof whole);
    }
}

/* Rows of right-hand sides against sums in double precision: A and A^T, triangles, all widths around a
 * vector's. Each side has the bits that it has alone, each row those of a share of rows. */
static void rows_of_sides(const FN(kernels) * k, int rows, int depth, int nr, int transposed,
                          int conjugate) {
    enum { MOST = 19, LD = 23 };
    T a[LD * LD], x[LD * MOST], y[LD * MOST + GUARD], alone[LD], part[LD * MOST];
    for (int i = 0; i < LD * LD; i++) a[i] = random_entry();
    for (int i = 0; i < depth * nr; i++) x[i] = random_entry();
    for (int i = 0; i < rows * nr + GUARD; i++) y[i] = random_entry();
    memcpy(part, y, (size_t)(rows * nr) * sizeof(T));
    T before[LD * MOST + GUARD];
    memcpy(before, y, sizeof before);
    const int64_t down = transposed ? LD : 1, along = transposed ? 1 : LD;
    k->rows(rows, depth, a, down, along, conjugate, nr, x, y);
    assert_memory_equal(before + rows * nr, y + rows * nr, GUARD * sizeof(T));
    for (int i = 0; i < rows; i++)
        for (int r = 0; r < nr; r++) {
            zz want = wide(before[i * nr + r]);
            double size = cabs(want);
            for (int j = 0; j < depth; j++) {
                zz entry = wide(a[i * down + j * along]);
                if (conjugate) entry = conj(entry);
                want -= mul(entry, wide(x[j * nr + r]));
                size += 2 * cabs(entry) * cabs(wide(x[j * nr + r]));
            }
            compare(1, &y[i * nr + r], &want, &size, depth);
        }
    if (rows > 3) { /* shares */
        k->rows(3, depth, a, down, along, conjugate, nr, x, part);
        k->rows(rows - 3, depth, a + 3 * down, down, along, conjugate, nr, x, part + 3 * nr);
        assert_memory_equal(part, y, (size_t)(rows * nr) * sizeof(T));
    }
    T one[LD];
    for (int i = 0; i < depth; i++) one[i] = x[i * nr + nr - 1];
    for (int i = 0; i < rows; i++) alone[i] = before[i * nr + nr - 1];
    k->rows(rows, depth, a, down, along, conjugate, 1, one, alone);
    for (int i = 0; i < rows; i++) assert_memory_equal(&alone[i], &y[i * nr + nr - 1], sizeof(T));
}

/* L L^-1 v = v, and the same of op(L)^T. */
static void triangles_of_sides(const FN(kernels) * k, int n, int nr, int conjugate) {
    enum { MOST = 19, LD = 23 };
    T a[LD * LD], v[LD * MOST], w[LD * MOST];
    for (int i = 0; i < LD * LD; i++) a[i] = random_entry() / (R)4;
    for (int i = 0; i < n * nr; i++) v[i] = w[i] = random_entry();
    for (int transposed = 0; transposed < 2; transposed++) {
        if (transposed)
            k->lower_t(n, a, LD, conjugate, nr, w);
        else
            k->lower(n, a, LD, nr, w);
        for (int i = 0; i < n; i++)
            for (int r = 0; r < nr; r++) {
                zz back = wide(w[i * nr + r]);
                double size = cabs(back);
                for (int j = transposed ? i + 1 : 0; j < (transposed ? n : i); j++) {
                    zz entry = wide(transposed ? a[j + i * LD] : a[i + j * LD]);
                    if (transposed && conjugate) entry = conj(entry);
                    back += mul(entry, wide(w[j * nr + r]));
                    size += 2 * cabs(entry) * cabs(wide(w[j * nr + r]));
                }
                compare(1, &v[i * nr + r], &back, &size, n);
            }
        memcpy(w, v, sizeof v);
    }
}

static void sides(void **unused) {
    (void)unused;
    for (int isa = 0; isa < 3; isa++) {
        const FN(kernels) *k = table_of(isa);
        for (int nr = 1; k && nr <= 19; nr++)
            for (int n = 0; n <= 21; n += 1 + nr % 3) {
                for (int how = 0; how < 2 + MPKI_COMPLEX; how++)
                    rows_of_sides(k, n, (n * 5 + nr) % 22, nr, how > 0, how > 1);
                triangles_of_sides(k, n, nr, 0);
                if (MPKI_COMPLEX) triangles_of_sides(k, n, nr, 1);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(matrix_times_vector),
                                       cmocka_unit_test(sides),
                                       cmocka_unit_test(shares_have_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
