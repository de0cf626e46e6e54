/* SPDX-License-Identifier: BSD-3-Clause */
/* What metapack doctor counts, beside plain counts of dense copies and LAPACK's eigenvalues. */
#include "support.h"

#include <lapacke.h>

enum { MOST = 9 };
static outcome o;

typedef struct dense {
    int n;
    double a[MOST][MOST];
} dense;

static uint64_t draw(uint64_t *state) { /* SplitMix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Small whole numbers, a third or half of the places, with rows emptied and repeated. */
static void make(uint64_t *state, dense *d, bool symmetric) {
    *d = (dense){.n = 1 + (int)(draw(state) % MOST)};
    const int sparse = 2 + (int)(draw(state) % 3);
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < d->n; k++)
            if (draw(state) % (uint64_t)sparse == 0) d->a[i][k] = (double)(draw(state) % 7) - 3;
    if (draw(state) % 2 && d->n > 2)
        for (int k = 0; k < d->n; k++) d->a[1][k] = -2 * d->a[0][k];
    for (int i = 0; symmetric && i < d->n; i++)
        for (int k = 0; k < i; k++) d->a[k][i] = d->a[i][k];
    if (draw(state) % 3 == 0)
        for (int k = 0; k < d->n; k++) d->a[0][k] = d->a[k][0] = 0;
}

static void write_dense(const dense *d, bool symmetric) {
    char text[4096];
    int used = 0, count = 0;
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < (symmetric ? i + 1 : d->n); k++) count += d->a[i][k] != 0;
    used += snprintf(text, sizeof text, "%%%%MatrixMarket matrix coordinate real %s\n%d %d %d\n",
                     symmetric ? "symmetric" : "general", d->n, d->n, count);
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < (symmetric ? i + 1 : d->n); k++)
            if (d->a[i][k] != 0)
                used += snprintf(text + used, sizeof text - (size_t)used, "%d %d %g\n", i + 1,
                                 k + 1, d->a[i][k]);
    write_text("a.mtx", text);
}

/* The number behind "key": in the object; -9: there is none. */
static int told(const char *key) {
    char name[64];
    snprintf(name, sizeof name, "\"%s\": ", key);
    const char *at = strstr(o.out, name);
    return at ? atoi(at + strlen(name)) : -9;
}

static int count_zero_rows(const dense *d) {
    int count = 0;
    for (int i = 0; i < d->n; i++) {
        bool zero = true;
        for (int k = 0; k < d->n; k++) zero = zero && d->a[i][k] == 0;
        count += zero;
    }
    return count;
}

/* Is row i a multiple of row k, both not zero? */
static bool is_multiple(const dense *d, int i, int k) {
    bool zero = true;
    for (int a = 0; a < d->n; a++) {
        zero = zero && d->a[i][a] == 0 && d->a[k][a] == 0;
        if ((d->a[i][a] == 0) != (d->a[k][a] == 0)) return false;
        for (int b = 0; b < d->n; b++)
            if (d->a[i][a] * d->a[k][b] != d->a[i][b] * d->a[k][a]) return false;
    }
    return !zero;
}

static int count_repeated(const dense *d) {
    int count = 0;
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < i; k++)
            if (is_multiple(d, i, k)) {
                count++;
                break;
            }
    return count;
}

static void mark(const dense *d, int i, bool *seen) {
    seen[i] = true;
    for (int k = 0; k < d->n; k++)
        if (!seen[k] && (d->a[i][k] != 0 || d->a[k][i] != 0)) mark(d, k, seen);
}

static int count_components(const dense *d) {
    bool seen[MOST] = {false};
    int count = 0;
    for (int i = 0; i < d->n; i++)
        if (!seen[i]) count++, mark(d, i, seen);
    return count;
}

static bool augment(const dense *d, int i, bool *tried, int *row_of) {
    for (int k = 0; k < d->n; k++) {
        if (d->a[i][k] == 0 || tried[k]) continue;
        tried[k] = true;
        if (row_of[k] < 0 || augment(d, row_of[k], tried, row_of)) {
            row_of[k] = i;
            return true;
        }
    }
    return false;
}

static int structural_rank(const dense *d) {
    int row_of[MOST], count = 0;
    for (int k = 0; k < MOST; k++) row_of[k] = -1;
    for (int i = 0; i < d->n; i++) {
        bool tried[MOST] = {false};
        count += augment(d, i, tried, row_of);
    }
    return count;
}

/* Eigenvalues away from zero bind what is certified, and what kind is named. */
static void compare_inertia(const dense *d) {
    double a[MOST * MOST], w[MOST];
    int positive = 0, negative = 0;
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < d->n; k++) a[i * d->n + k] = d->a[i][k];
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', d->n, a, d->n, w), 0);
    for (int i = 0; i < d->n; i++) positive += w[i] > 1e-11, negative += w[i] < -1e-11;
    const char *at = strstr(o.out, "\"inertia\": ");
    int p, n, z;
    assert_non_null(at);
    assert_int_equal(
        sscanf(at, "\"inertia\": { \"positive\": %d, \"negative\": %d, \"zero\": %d", &p, &n, &z),
        3);
    assert_int_equal(p, positive);
    assert_int_equal(n, negative);
    assert_int_equal(z, d->n - positive - negative);
    if (strstr(o.out, "\"kind\": \"positive-")) assert_int_equal(negative, 0);
    if (strstr(o.out, "\"kind\": \"negative-")) assert_int_equal(positive, 0);
    if (told("kernel_vectors") > 0)
        assert_true(told("kernel_vectors") <= d->n - positive - negative);
}

static void counts(void **state) {
    (void)state;
    enum { TIMES = 30 };
    uint64_t random = 47;
    for (int k = 0; k < TIMES; k++) {
        const bool symmetric = k % 3 != 0;
        dense d;
        make(&random, &d, symmetric);
        write_dense(&d, symmetric);
        RUN(&o, NULL, "doctor", "a.mtx", "--json", "-q");
        assert_true(o.code == 0 || o.code == 3);
        assert_true(json_valid(o.out));
        assert_int_equal(told("zero_rows"), count_zero_rows(&d));
        assert_int_equal(told("repeated_rows"), count_repeated(&d));
        assert_int_equal(told("components"), count_components(&d));
        assert_int_equal(told("structural_rank"), structural_rank(&d));
        if (strstr(o.out, "\"symmetry\": \"symmetric\"")) compare_inertia(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(counts, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
