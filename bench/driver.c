/* SPDX-License-Identifier: BSD-3-Clause */
/* Time one solver on one matrix: `bench_SOLVER FILE.raw THREADS [SETTING [REPEATS [SECONDS [CLOCK [SIDES]]]]]`
 * prints one JSON object. After a warm-up it analyses, factorizes and solves REPEATS times or more
 * (fewer once SECONDS are used up), and then as often factorizes with the last analysis and solves
 * (`refactor...`). CLOCK is `wall`, or `cpu`: the time of all threads on the processor, for a
 * machine that others use. The right-hand side is A times ones. Up to two steps of
 * refinement, until the componentwise backward error is at most 1e-14, are taken for each solver
 * that does not refine by itself; the time of their solves is counted, that of their residuals is
 * not. A solver that refines by itself pays for its residuals. With SIDES it also solves for so many
 * right-hand sides together, where the solver does that. */
#include "bench.h"
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_REPEATS = 64, MAX_STEPS = 2 };

static clockid_t clock_used = CLOCK_MONOTONIC;

static double clock_s(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now_s(void) {
    return clock_s(clock_used);
}

/* A field of /proc/self/status in kB. */
static double status_kb(const char *field) {
    char line[256];
    double value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, field, strlen(field))) value = strtod(line + strlen(field) + 1, NULL);
    }
    if (file) fclose(file);
    return value;
}

static void reset_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

static bool read_raw(const char *path, bench_matrix *a) {
    int64_t head[5]; /* "MPKRAW1\0", n, nnz, complex, hermitian */
    FILE *file = fopen(path, "rb");
    bool good = file && fread(head, sizeof head, 1, file) == 1 && !memcmp(head, "MPKRAW1", 8);
    if (good) {
        a->n = (int32_t)head[1];
        a->nnz = head[2];
        a->complex_values = head[3] != 0;
        a->hermitian = head[4] != 0;
        size_t n = (size_t)a->n, nnz = (size_t)a->nnz, width = a->complex_values ? 2 : 1;
        a->ap = malloc((n + 1) * sizeof *a->ap);
        a->ai = malloc((nnz + 1) * sizeof *a->ai);
        a->ax = malloc((nnz + 1) * width * sizeof *a->ax);
        good = a->ap && a->ai && a->ax && fread(a->ap, sizeof *a->ap, n + 1, file) == n + 1 &&
               fread(a->ai, sizeof *a->ai, nnz, file) == nnz &&
               fread(a->ax, width * sizeof *a->ax, nnz, file) == nnz;
    }
    if (file) fclose(file);
    return good;
}

static void free_raw(bench_matrix *a) {
    free(a->ap);
    free(a->ai);
    free(a->ax);
}

/* r = b - A x and w = |A| |x| + |b|, row_norm = sum_j |a_ij|, accumulated in long double. */
static void residual(const bench_matrix *a, const double *b, const double *x, long double *r,
                     double *w, double *row_norm) {
    size_t width = a->complex_values ? 2 : 1;
    for (int32_t i = 0; i < a->n; i++) {
        for (size_t c = 0; c < width; c++) r[width * i + c] = b[width * i + c];
        w[i] = width == 2 ? hypot(b[2 * i], b[2 * i + 1]) : fabs(b[i]);
        row_norm[i] = 0;
    }
    for (int32_t j = 0; j < a->n; j++) {
        for (int64_t p = a->ap[j]; p < a->ap[j + 1]; p++) {
            int32_t i = a->ai[p];
            if (width == 1) {
                long double v = a->ax[p];
                double m = fabs(a->ax[p]);
                r[i] -= v * x[j];
                w[i] += m * fabs(x[j]);
                row_norm[i] += m;
                if (i == j) continue;
                r[j] -= v * x[i];
                w[j] += m * fabs(x[i]);
                row_norm[j] += m;
            } else {
                long double re = a->ax[2 * p], im = a->ax[2 * p + 1];
                double m = hypot(a->ax[2 * p], a->ax[2 * p + 1]);
                r[2 * i] -= re * x[2 * j] - im * x[2 * j + 1];
                r[2 * i + 1] -= re * x[2 * j + 1] + im * x[2 * j];
                w[i] += m * hypot(x[2 * j], x[2 * j + 1]);
                row_norm[i] += m;
                if (i == j) continue;
                if (a->hermitian) im = -im;
                r[2 * j] -= re * x[2 * i] - im * x[2 * i + 1];
                r[2 * j + 1] -= re * x[2 * i + 1] + im * x[2 * i];
                w[j] += m * hypot(x[2 * i], x[2 * i + 1]);
                row_norm[j] += m;
            }
        }
    }
}

/* Componentwise backward error, omega_1 + omega_2 of Arioli, Demmel & Duff 1989 (eq. 2.13). */
static double backward_error(const bench_matrix *a, const double *b, const double *x,
                             long double *r, double *w, double *row_norm) {
    size_t width = a->complex_values ? 2 : 1;
    double x_norm = 0, omega[2] = {0, 0};
    residual(a, b, x, r, w, row_norm);
    for (int32_t i = 0; i < a->n; i++) {
        double m = width == 2 ? hypot(x[2 * i], x[2 * i + 1]) : fabs(x[i]);
        if (!(m <= x_norm)) x_norm = m;
    }
    for (int32_t i = 0; i < a->n; i++) {
        double ri = width == 2 ? hypot((double)r[2 * i], (double)r[2 * i + 1]) : fabs((double)r[i]);
        double bi = width == 2 ? hypot(b[2 * i], b[2 * i + 1]) : fabs(b[i]);
        int kind = w[i] > 1000.0 * a->n * 2.3e-16 * (row_norm[i] * x_norm + bi) ? 0 : 1;
        double den = kind == 0 ? w[i] : w[i] - bi + row_norm[i] * x_norm;
        if (!isfinite(ri)) return INFINITY;
        if (ri > 0 && !(ri / den <= omega[kind])) omega[kind] = ri / den;
    }
    return omega[0] + omega[1];
}

/* The vectors of a measurement. */
typedef struct work {
    double *b, *x, *d, *rd, *w, *row_norm;
    long double *r;
} work;

static bool work_make(const bench_matrix *a, work *v) {
    size_t n = (size_t)a->n + 1, m = n * 2;
    v->b = calloc(m, sizeof *v->b);
    v->x = calloc(m, sizeof *v->x);
    v->d = calloc(m, sizeof *v->d);
    v->rd = calloc(m, sizeof *v->rd);
    v->w = calloc(n, sizeof *v->w);
    v->row_norm = calloc(n, sizeof *v->row_norm);
    v->r = calloc(m, sizeof *v->r);
    if (!v->b || !v->x || !v->d || !v->rd || !v->w || !v->row_norm || !v->r) return false;
    size_t width = a->complex_values ? 2 : 1;
    for (size_t i = 0; i < (size_t)a->n; i++) v->x[width * i] = 1; /* b = A 1: minus the residual */
    residual(a, v->b, v->x, v->r, v->w, v->row_norm);
    for (size_t i = 0; i < width * (size_t)a->n; i++) v->b[i] = -(double)v->r[i];
    return true;
}

static void work_free(work *v) {
    free(v->b);
    free(v->x);
    free(v->d);
    free(v->rd);
    free(v->w);
    free(v->row_norm);
    free(v->r);
}

typedef struct result {
    double plain_s, solve_s, unrefined, error;
    int steps;
} result;

static const char *solve(const bench_matrix *a, work *v, result *out) {
    size_t count = (size_t)a->n * (a->complex_values ? 2 : 1);
    double start = now_s();
    const char *why = bench_solve(a, v->b, v->x);
    if (why) return why;
    out->plain_s = out->solve_s = now_s() - start;
    out->steps = 0;
    out->unrefined = out->error = backward_error(a, v->b, v->x, v->r, v->w, v->row_norm);
    while (!bench_refines && out->steps < MAX_STEPS && !(out->error <= 1e-14)) {
        for (size_t i = 0; i < count; i++) v->rd[i] = (double)v->r[i];
        start = now_s();
        if ((why = bench_solve(a, v->rd, v->d))) return why;
        for (size_t i = 0; i < count; i++) v->x[i] += v->d[i];
        out->solve_s += now_s() - start;
        double error = backward_error(a, v->b, v->x, v->r, v->w, v->row_norm);
        if (!(error < out->error)) break; /* a step that does not help is counted, too */
        out->error = error;
        out->steps++;
    }
    return NULL;
}

static int compare(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/* The least of three solves of so many sides together; NaN where the solver has no such call. */
static const char *solve_sides(const bench_matrix *a, int sides, double limit_s, double *sides_s) {
    enum { TIMES = 3 };
    const size_t count = (size_t)a->n * (a->complex_values ? 2 : 1) * (size_t)sides;
    *sides_s = NAN;
    if (!bench_solve_sides) return NULL;
    double *b = malloc((count + 1) * sizeof *b), *x = malloc((count + 1) * sizeof *x);
    const char *why = b && x ? NULL : "no memory";
    for (size_t i = 0; b && i < count; i++) b[i] = (double)(i % 1000) - 500;
    const double begin = clock_s(CLOCK_MONOTONIC);
    for (int k = 0; k < TIMES && !why; k++) {
        const double start = now_s();
        why = bench_solve_sides(a, sides, b, x);
        *sides_s = fmin(*sides_s, now_s() - start); /* of NaN and a number it is this */
        if (clock_s(CLOCK_MONOTONIC) - begin > limit_s) break;
    }
    free(b);
    free(x);
    return why;
}

/* Loads the solver's code and starts its threads on a tridiagonal matrix, so that they count
 * neither as time nor as memory of the problem. */
static const char *warm_up(bool complex_values) {
    enum { N = 50 };
    int64_t ap[N + 1];
    int32_t ai[2 * N];
    double ax[4 * N] = {0}, b[2 * N] = {0}, x[2 * N];
    bench_matrix a = {N, 0, complex_values, false, ap, ai, ax};
    size_t width = complex_values ? 2 : 1;
    for (int32_t j = 0; j < N; j++) {
        ap[j] = a.nnz;
        for (int32_t i = j; i < N && i <= j + 1; i++, a.nnz++) {
            ai[a.nnz] = i;
            ax[width * (size_t)a.nnz] = i == j ? (j % 3 ? 3 : -4) : 1;
        }
        b[j] = 1;
    }
    ap[N] = a.nnz;
    const char *why = bench_prepare(&a);
    if (!why) why = bench_analyse(&a);
    if (!why) why = bench_factorize(&a);
    if (!why) why = bench_solve(&a, b, x);
    return why;
}

/* Times of a round, each over all rounds. */
typedef struct times {
    double analyse_s[MAX_REPEATS], factor_s[MAX_REPEATS], solve_s[MAX_REPEATS];
    double plain_s[MAX_REPEATS], both_s[MAX_REPEATS];
    int analysed, done;
} times;

/* Rounds: `repeats`, more where these are quick, fewer where `limit_s` are used up. analyses: each
 * round begins with one. */
static const char *rounds(const bench_matrix *a, bool analyses, int repeats, double limit_s,
                          work *v, result *res, times *t) {
    const char *why = NULL;
    const double begin = clock_s(CLOCK_MONOTONIC);
    for (int k = -1; t->done < MAX_REPEATS;
         k++) { /* -1: a run that counts only if there is no time for another */
        const double used = clock_s(CLOCK_MONOTONIC) - begin;
        if (t->done >= repeats && used > fmin(limit_s, 0.3))
            break; /* small matrices are run more often */
        const double start = now_s();
        if (analyses) why = bench_analyse(a);
        const double middle = now_s();
        if (!why) why = bench_factorize(a);
        const double end = now_s();
        if (!why) why = solve(a, v, res);
        if (why) return why;
        const bool last = clock_s(CLOCK_MONOTONIC) - begin > limit_s;
        if (k < 0 && !last) continue;
        t->analyse_s[t->analysed++] = middle - start;
        t->factor_s[t->done] = end - middle;
        t->plain_s[t->done] = res->plain_s;
        t->solve_s[t->done] = res->solve_s;
        t->both_s[t->done] = t->factor_s[t->done] + t->solve_s[t->done];
        t->done++;
        if (last) break;
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr,
                "usage: %s FILE.raw THREADS [SETTING [REPEATS [SECONDS [wall|cpu [SIDES]]]]]\n",
                argv[0]);
        return 1;
    }
    int threads = atoi(argv[2]);
    const char *setting = argc > 3 ? argv[3] : "default";
    int repeats = argc > 4 ? atoi(argv[4]) : 5;
    double limit_s = argc > 5 ? atof(argv[5]) : 30;
    if (argc > 6 && !strcmp(argv[6], "cpu")) clock_used = CLOCK_PROCESS_CPUTIME_ID;
    const int sides = argc > 7 ? atoi(argv[7]) : 0;
    if (repeats > MAX_REPEATS) repeats = MAX_REPEATS;

    bench_matrix a = {0};
    work v = {0};
    if (!read_raw(argv[1], &a) || !work_make(&a, &v)) {
        fprintf(stderr, "%s: not a matrix file, or no memory\n", argv[1]);
        return 2;
    }
    const char *why = bench_start(threads, setting);
    if (!why) why = warm_up(a.complex_values);
    if (!why) why = bench_prepare(&a);
    reset_peak();
    double before_kb = status_kb("VmRSS");

    result res = {0};
    times first = {0}, later = {0};
    if (!why) why = rounds(&a, true, repeats, limit_s, &v, &res, &first);
    double peak_kb = status_kb("VmHWM") - before_kb;
    if (!why) why = rounds(&a, false, repeats, limit_s, &v, &res, &later);
    double sides_s = NAN;
    if (!why && sides > 0) why = solve_sides(&a, sides, limit_s, &sides_s);
    bench_facts f = {-1, -1, -1, -1, -1, -1, -1, -1, res.unrefined, res.steps, "?"};
    bench_tell(&f);
    printf("{\"solver\": \"%s\", \"version\": \"%s\", \"setting\": \"%s\", \"threads\": %d, \"n\": "
           "%d, "
           "\"nnz\": %lld, ",
           bench_name, f.version, setting, threads, a.n, (long long)a.nnz);
    if (why) {
        printf("\"failed\": \"%s\"}\n", why);
    } else {
        printf("\"repeats\": %d, \"analyse_s\": %.6f, \"factor_s\": %.6f, \"solve_s\": %.6f, "
               "\"plain_solve_s\": %.6f, \"factor_solve_s\": %.6f, \"refactor_s\": %.6f, "
               "\"refactor_solve_s\": %.6f, ",
               first.done, median(first.analyse_s, first.analysed),
               median(first.factor_s, first.done), median(first.solve_s, first.done),
               median(first.plain_s, first.done), median(first.both_s, first.done),
               median(later.factor_s, later.done), median(later.both_s, later.done));
        printf(
            "\"min_analyse_s\": %.6f, \"min_factor_s\": %.6f, \"min_solve_s\": %.6f, "
            "\"min_plain_solve_s\": %.6f, \"min_factor_solve_s\": %.6f, \"min_refactor_s\": %.6f, "
            "\"min_refactor_solve_s\": %.6f, \"clock\": \"%s\", \"peak_mb\": %.1f, ",
            first.analyse_s[0], first.factor_s[0], first.solve_s[0], first.plain_s[0],
            first.both_s[0], later.factor_s[0], later.both_s[0],
            clock_used == CLOCK_MONOTONIC ? "wall" : "cpu", peak_kb / 1024);
        if (f.told_kb >= 0) printf("\"told_mb\": %.1f, ", f.told_kb / 1024);
        if (isfinite(sides_s)) printf("\"sides\": %d, \"sides_s\": %.6f, ", sides, sides_s);
        printf("\"unrefined\": %.3e, \"backward_error\": %.3e, \"steps\": %d, ",
               isfinite(f.unrefined) ? f.unrefined : 1e300, isfinite(res.error) ? res.error : 1e300,
               (int)f.steps);
        printf("\"inertia\": [%lld, %lld, %lld], \"factor_nnz\": %lld, \"flops\": %.4e, "
               "\"delayed\": %lld, "
               "\"perturbed\": %lld}\n",
               (long long)f.positive, (long long)f.negative, (long long)f.zero,
               (long long)f.factor_nnz, f.flops, (long long)f.delayed, (long long)f.perturbed);
    }
    fflush(stdout);
    bench_finish();
    work_free(&v);
    free_raw(&a);
    return why ? 3 : 0;
}
