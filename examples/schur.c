/* SPDX-License-Identifier: BSD-3-Clause */
/** A two-stage program by its Schur complement: 20 decisions x are taken now, and in each of 1000
 *  scenarios 6 more, y_s, when the demand h_s is known:
 *      min 1/2 x'x + sum_s 1/2 y_s' Q_s y_s - g'x   where   T_s x + W y_s = h_s.
 *  Its KKT matrix is an arrow: a block [Q_s W'; W 0] for each scenario, and the rows of x. With all
 *  scenarios as the interior S is 20 x 20, x follows from it alone, and the scenarios from x. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST = 20, SCENARIOS = 1000, SECOND = 6, ROWS = 3, BLOCK = SECOND + ROWS };
enum { N = FIRST + SCENARIOS * BLOCK };
enum { MOST = FIRST + SCENARIOS * (SECOND + ROWS * SECOND + ROWS * 4) };

/* The same numbers everywhere, in (-1, 1). */
static double number(void) {
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return state / 2147483648.0 - 1;
}

/* Triplets of the lower triangle: x has the rows 0 .. FIRST-1. */
typedef struct kkt {
    int64_t count;
    int32_t row[MOST], col[MOST];
    double value[MOST], b[N];
} kkt;

static void put(kkt *k, int32_t row, int32_t col, double value) {
    k->row[k->count] = row, k->col[k->count] = col;
    k->value[k->count++] = value;
}

static void make(kkt *k) {
    double w[ROWS][SECOND];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < SECOND; j++) w[i][j] = (i == j) + 0.3 * number();
    for (int i = 0; i < FIRST; i++) {
        put(k, i, i, 1);
        k->b[i] = 1 + 0.1 * i; /* g */
    }
    for (int s = 0; s < SCENARIOS; s++) {
        const int32_t y = FIRST + s * BLOCK, lambda = y + SECOND;
        for (int j = 0; j < SECOND; j++) put(k, y + j, y + j, (1.5 + number()) / SCENARIOS);
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < SECOND; j++) put(k, lambda + i, y + j, w[i][j]);
            for (int t = 0; t < 4; t++) /* T_s: four of the decisions */
                put(k, lambda + i, (7 * s + 3 * i + 5 * t) % FIRST, number());
            k->b[lambda + i] = 10 + 3 * number(); /* h_s */
        }
    }
}

/* S x = c */
static mpk_status solve_small(mpk_context *ctx, double *s, const double *c, double *x) {
    mpk_dense dense;
    mpk_dense_sizes sizes;
    mpk_dense_factor f = {.struct_size = sizeof f, .ldf = FIRST};
    mpk_dense_init(&dense);
    dense.n = FIRST;
    mpk_status status = mpk_dense_query(ctx, &dense, 1, &sizes);
    if (mpk_failed(status)) return status;
    f.f = malloc((size_t)sizes.factor_bytes);
    f.pivots = malloc((size_t)sizes.pivots * sizeof *f.pivots);
    f.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
    status = f.f && f.pivots && f.extra
                 ? mpk_dense_sysv(ctx, &dense, s, FIRST, &f, 1, c, FIRST, x, FIRST, NULL, 0, NULL)
                 : MPK_ERR_MEMORY;
    free(f.f);
    free(f.pivots);
    free(f.extra);
    return status;
}

int main(void) {
    static kkt k;
    static double x[N], y[N];
    double s[FIRST * FIRST], c[FIRST], first[FIRST], apart = 0, largest = 0;
    int32_t decisions[FIRST];
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL, *whole = NULL;
    mpk_factor *fac = NULL, *of_all = NULL;
    mpk_factor_info info = {0};
    make(&k);
    for (int i = 0; i < FIRST; i++) decisions[i] = i;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_triplets(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, k.count, k.row,
                                           k.col, k.value, &a);

    /* by parts: the scenarios are eliminated, x is solved for, they follow */
    if (!mpk_failed(status)) status = mpk_analyse_schur(ctx, a, NULL, FIRST, decisions, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, NULL, &fac);
    if (!mpk_failed(status)) status = mpk_schur_get(ctx, fac, s, FIRST);
    if (!mpk_failed(status)) status = mpk_schur_condense(ctx, fac, 1, k.b, N, c, FIRST);
    if (!mpk_failed(status)) status = solve_small(ctx, s, c, first);
    if (!mpk_failed(status)) status = mpk_schur_expand(ctx, fac, 1, k.b, N, first, FIRST, x, N);
    mpk_factor_info_get(fac, &info);

    /* and all at once */
    if (!mpk_failed(status)) status = mpk_analyse(ctx, a, NULL, &whole);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, whole, NULL, NULL, &of_all);
    if (!mpk_failed(status)) status = mpk_solve(ctx, of_all, 1, k.b, N, y, N, NULL, NULL);
    for (int i = 0; i < N; i++) {
        apart = fmax(apart, fabs(x[i] - y[i]));
        largest = fmax(largest, fabs(y[i]));
    }
    const int convex = info.inertia.positive == SCENARIOS * SECOND &&
                       info.inertia.negative == SCENARIOS * ROWS && info.inertia.zero == 0;
    if (!mpk_failed(status)) {
        printf("%d scenarios, %d unknowns; S is %d x %d\n", SCENARIOS, N, FIRST, FIRST);
        printf("inertia of the scenarios: %lld %lld %lld, %s\n", (long long)info.inertia.positive,
               (long long)info.inertia.negative, (long long)info.inertia.zero,
               convex ? "each is convex and its rows independent" : "not as it should be");
        printf("x by parts and at once: %.1e apart of %.1e\n", apart, largest);
    } else {
        fprintf(stderr, "%s\n", mpk_status_text(status));
    }
    mpk_factor_destroy(&of_all);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&whole);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) || !convex || !(apart <= 1e-9 * largest);
}
