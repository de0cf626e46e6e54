/* SPDX-License-Identifier: BSD-3-Clause */
/* 1000 quadratic programs of model predictive control at once: min x'Qx/2 + q'x, A x = b, |x| <= 1,
 * by an interior-point method whose steps are done for all of them together; each stops when it is
 * done. Then the same, one program after another.
 *   example_systems [PROGRAMS] [THREADS] */
#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 20, STATES = 4, CONTROLS = 2, EACH = STATES + CONTROLS };
enum { VARS = STEPS * EACH, ROWS = STEPS * STATES, N = VARS + ROWS, MOST_NNZ = 12 * N };
enum { ITERATIONS = 60 };

/* The KKT matrix [Q + Sigma, A'; A, 0], its lower triangle by columns: of a column of Q its
 * diagonal comes first, then that of A. Variables of a step: controls, then the states after it. */
static int64_t ap[N + 1];
static int32_t ai[MOST_NNZ];
static double q_diag[VARS], entry[MOST_NNZ];

static void put(int32_t row, double x, int64_t *nnz) {
    ai[*nnz] = row, entry[(*nnz)++] = x;
}

/* x(t + 1) = F x(t) + G u(t): two masses on springs, pushed */
static int64_t make_pattern(void) {
    static const double f[STATES][STATES] = {
        {0.9, 0.2, 0.05, 0}, {-0.3, 0.95, 0.1, 0}, {0.05, 0, 0.9, 0.2}, {0.1, 0, -0.3, 0.95}};
    static const double g[STATES][CONTROLS] = {{0.05, 0}, {0.4, 0.1}, {0, 0.05}, {0.1, 0.4}};
    int64_t nnz = 0;
    for (int t = 0; t < STEPS; t++)
        for (int v = 0; v < EACH; v++) {
            const int32_t j = t * EACH + v, next = VARS + (t + 1) * STATES;
            ap[j] = nnz;
            q_diag[j] = v < CONTROLS ? 0.1 : 1;
            put(j, q_diag[j], &nnz);
            for (int s = 0; v < CONTROLS && s < STATES; s++)
                if (g[s][v] != 0) put(VARS + t * STATES + s, -g[s][v], &nnz);
            if (v >= CONTROLS) put(VARS + t * STATES + v - CONTROLS, 1, &nnz);
            for (int s = 0; v >= CONTROLS && t + 1 < STEPS && s < STATES; s++)
                if (f[s][v - CONTROLS] != 0) put(next + s, -f[s][v - CONTROLS], &nnz);
        }
    for (int r = VARS; r <= N; r++) ap[r] = nnz;
    return nnz;
}

typedef struct program {
    double b[ROWS], x[VARS], y[ROWS], low[VARS], high[VARS]; /* multipliers of -1 <= x, x <= 1 */
    double mu;
    int steps, done;
} program;

static void start(program *p, int k) {
    memset(p, 0, sizeof *p);
    for (int s = 0; s < STATES; s++) /* where it is now, different for each */
        p->b[s] = 0.9 * sin(1 + 0.7 * k + s);
    for (int i = 0; i < VARS; i++) p->low[i] = p->high[i] = 1;
}

/* This program's values and right-hand side for the next step; done: there is none. */
static void prepare(program *p, int64_t nnz, double *ax, double *rhs) {
    double worst = 0, sum = 0;
    memcpy(ax, entry, (size_t)nnz * sizeof *ax);
    for (int r = 0; r < ROWS; r++) rhs[VARS + r] = p->b[r];
    for (int i = 0; i < VARS; i++) {
        double dual = q_diag[i] * p->x[i];
        for (int64_t k = ap[i] + 1; k < ap[i + 1]; k++) {
            rhs[ai[k]] -= entry[k] * p->x[i];
            dual += entry[k] * p->y[ai[k] - VARS];
        }
        rhs[i] = -dual;
        worst = fmax(worst, fabs(dual - p->low[i] + p->high[i]));
        sum += p->low[i] * (1 + p->x[i]) + p->high[i] * (1 - p->x[i]);
    }
    for (int r = 0; r < ROWS; r++) worst = fmax(worst, fabs(rhs[VARS + r]));
    p->mu = sum / (2 * VARS);
    p->done = (worst < 1e-8 && p->mu < 1e-9) || p->steps == ITERATIONS;
    for (int i = 0; i < VARS; i++) {
        const double below = 1 + p->x[i], above = 1 - p->x[i];
        ax[ap[i]] += p->low[i] / below + p->high[i] / above;
        rhs[i] += 0.1 * p->mu * (1 / below - 1 / above);
    }
}

/* A step along d, as far as the bounds let it. */
static void advance(program *p, const double *d) {
    double far = 1, dlow[VARS], dhigh[VARS];
    for (int i = 0; i < VARS; i++) {
        const double below = 1 + p->x[i], above = 1 - p->x[i], target = 0.1 * p->mu;
        dlow[i] = (target - p->low[i] * d[i]) / below - p->low[i];
        dhigh[i] = (target + p->high[i] * d[i]) / above - p->high[i];
        if (d[i] < 0) far = fmin(far, -0.99 * below / d[i]);
        if (d[i] > 0) far = fmin(far, 0.99 * above / d[i]);
        if (dlow[i] < 0) far = fmin(far, -0.99 * p->low[i] / dlow[i]);
        if (dhigh[i] < 0) far = fmin(far, -0.99 * p->high[i] / dhigh[i]);
    }
    for (int i = 0; i < VARS; i++) {
        p->x[i] += far * d[i];
        p->low[i] += far * dlow[i], p->high[i] += far * dhigh[i];
    }
    for (int r = 0; r < ROWS; r++) p->y[r] += far * d[VARS + r];
    p->steps++;
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All at once; the mask leaves out those that are done. */
static mpk_status together(mpk_context *ctx, const mpk_analysis *an, const mpk_options *o,
                           int count, int64_t nnz, program *p) {
    mpk_systems *s = NULL;
    mpk_systems_options how;
    mpk_systems_options_init(&how);
    how.keep = 0;
    double *ax = malloc((size_t)(count * nnz) * sizeof *ax);
    double *d = malloc((size_t)count * N * sizeof *d);
    uint8_t *mask = malloc((size_t)count);
    const mpk_batch_array values = {MPK_BATCH_STRIDED, MPK_HOST, ax, nnz, 1, 1};
    const mpk_batch_array sides = {MPK_BATCH_STRIDED, MPK_HOST, d, N, N, 1};
    mpk_status status =
        ax && d && mask ? mpk_systems_create(ctx, an, o, &how, count, &s) : MPK_ERR_MEMORY;
    for (int left = count; left > 0 && !mpk_failed(status);) {
        left = 0;
        for (int k = 0; k < count; k++) {
            if (!p[k].done) prepare(&p[k], nnz, ax + k * nnz, d + (size_t)k * N);
            mask[k] = !p[k].done;
            left += mask[k];
        }
        if (left == 0) break;
        status = mpk_systems_refactorize_solve(ctx, s, &values, 1, &sides, &sides, 0, mask, NULL);
        for (int k = 0; k < count && !mpk_failed(status); k++)
            if (mask[k]) advance(&p[k], d + (size_t)k * N);
    }
    mpk_systems_destroy(&s);
    free(ax), free(d), free(mask);
    return status;
}

static mpk_status in_turn(mpk_context *ctx, const mpk_analysis *an, const mpk_options *o, int count,
                          int64_t nnz, program *p) {
    static double ax[MOST_NNZ], d[N];
    mpk_factor *fac = NULL;
    mpk_status status = MPK_OK;
    for (int k = 0; k < count && !mpk_failed(status); k++)
        for (prepare(&p[k], nnz, ax, d); !p[k].done && !mpk_failed(status);
             prepare(&p[k], nnz, ax, d)) {
            status = mpk_factorize(ctx, an, ax, o, &fac);
            if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, d, N, d, N, o, NULL);
            if (!mpk_failed(status)) advance(&p[k], d);
        }
    mpk_factor_destroy(&fac);
    return status;
}

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 1000;
    const int64_t nnz = make_pattern();
    double first[MOST_NNZ], rhs[N], apart = 0;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_options o;
    program *p = malloc(2 * (size_t)(count + 1) * sizeof *p), *alone = p + count;
    if (count < 1 || !p || mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    for (int k = 0; k < count; k++) start(&p[k], k), start(&alone[k], k);
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = argc > 2 ? atoi(argv[2]) : 1;
    program typical = p[0];
    prepare(&typical, nnz, first, rhs);
    mpk_status status =
        mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, first, &problem);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    const double t0 = now_s();
    if (!mpk_failed(status)) status = together(ctx, an, &o, count, nnz, p);
    const double t1 = now_s();
    if (!mpk_failed(status)) status = in_turn(ctx, an, &o, count, nnz, alone);
    const double t2 = now_s();
    if (mpk_failed(status)) {
        const char *text = NULL;
        mpk_last_error(ctx, NULL, NULL, &text);
        fprintf(stderr, "%s\n", text);
    } else {
        int most = 0, least = ITERATIONS, wrong = 0;
        for (int k = 0; k < count; k++) {
            most = p[k].steps > most ? p[k].steps : most;
            least = p[k].steps < least ? p[k].steps : least;
            wrong += p[k].steps == ITERATIONS;
            for (int i = 0; i < VARS; i++) apart = fmax(apart, fabs(p[k].x[i] - alone[k].x[i]));
        }
        printf("%d programs, KKT matrices of order %d, %d to %d steps each\n", count, (int)N, least,
               most);
        printf("together    %8.1f ms\none by one  %8.1f ms\napart by    %8.0e\n", 1e3 * (t1 - t0),
               1e3 * (t2 - t1), apart);
        if (wrong || apart > 1e-6) status = MPK_ERR_NUMERIC;
    }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(p);
    return mpk_failed(status) ? 1 : 0;
}
