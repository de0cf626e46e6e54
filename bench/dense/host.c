/* SPDX-License-Identifier: BSD-3-Clause */
/* One dense method on the processor, checked and then timed: a JSON row for bench/dense.py.
 *
 *      host METHOD N [FAMILY] [TYPE] [THREADS] [REPEATS] [PRECISION] [NRHS]
 *
 *  METHOD: mpk_dense's names, or lapack-sytrf, lapack-sytrf-rook, lapack-sytrf-aa, lapack-potrf,
 *  lapack-getrf of the BLAS it was linked to. The matrix is diagonally shifted for potrf. TYPE: d,
 * z. A row has the factorization's times and, of a solve with one right-hand side, omega before and
 *  after refinement. */
#include "../../src/core/random.h"

#include <complex.h>
#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define lapack_complex_float float _Complex
#define lapack_complex_double double _Complex
#include <lapacke.h>

void openblas_set_num_threads(int threads);

static clockid_t watch =
    CLOCK_MONOTONIC; /* one thread: the time of this thread alone, whatever else runs */

static double now_s(void) {
    struct timespec t;
    clock_gettime(watch, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t state = 1;
static double uniform(void) {
    return mpki_random_signed(&state);
}

static double complex entry(const char *family, int n, int i, int j, int z) {
    const int m = n - n / 3;
    double complex x = uniform() + (z ? uniform() * I : 0);
    if (!strcmp(family, "zero-diagonal")) return i == j ? 0 : x;
    if (!strcmp(family, "fiedler")) return i - j;
    if (!strcmp(family, "graded")) return x * pow(10, -4.0 * (i + j) / (2.0 * n));
    if (!strcmp(family, "saddle")) return j >= m ? 0 : i >= m ? x : i == j ? 2 + x : 0;
    if (!strcmp(family, "late-ipm"))
        return i == j ? (j < m ? pow(10, 12 * fabs(creal(x)) - 6) : -1e-8)
                      : (j >= m || i < m ? 0 : x);
    return x;
}

typedef struct system {
    int n, z, threads, repeats, nrhs;
    int hermitian; /* potrf in complex: the lower triangle, conjugated above */
    size_t size;
    void *a, *f, *b, *x;
    int32_t *pivots;
    double *time, whole_s; /* factorizations; least of factorize, solve and refine */
} system_t;

static int by_time(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

/* omega of x by long sums; a: both triangles */
static double omega(const system_t *s, const void *a) {
    double worst = 0;
    for (int i = 0; i < s->n; i++) {
        long double w;
        double complex r = s->z ? ((double complex *)s->b)[i] : ((double *)s->b)[i];
        w = cabs(r);
        for (int j = 0; j < s->n; j++) {
            size_t at = (size_t)(i > j ? i : j) + (size_t)(i > j ? j : i) * (size_t)s->n;
            double complex e = s->z ? ((const double complex *)a)[at] : ((const double *)a)[at];
            if (s->hermitian && i < j) e = conj(e);
            double complex x = s->z ? ((double complex *)s->x)[j] : ((double *)s->x)[j];
            r -= e * x, w += cabs(e) * cabs(x);
        }
        if (!(cabs(r) <= worst * (double)w)) worst = cabs(r) / (double)w;
    }
    return worst;
}

static void print(const system_t *s, const char *method, const char *family, const char *precision,
                  double before, double after, double solve_s, double refine_s, int steps,
                  long delayed, int status) {
    qsort(s->time, (size_t)s->repeats, sizeof *s->time, by_time);
    printf(
        "{\"method\": \"%s\", \"n\": %d, \"family\": \"%s\", \"type\": \"%s\", \"precision\": "
        "\"%s\", \"threads\": %d, \"nrhs\": %d, \"median_s\": %.6g, \"least_s\": %.6g, "
        "\"whole_s\": %.6g, "
        "\"solve_s\": %.6g, \"refine_s\": %.6g, \"steps\": %d, \"omega0\": %.4g, \"omega\": %.4g, "
        "\"delayed\": %ld, \"status\": %d}\n",
        method, s->n, family, s->z ? "z" : "d", precision, s->threads, s->nrhs,
        s->time[s->repeats / 2], s->time[0], s->whole_s, solve_s, refine_s, steps, before, after,
        delayed, status);
}

static int ours(system_t *s, const char *method, const char *family, const char *precision) {
    mpk_dense d;
    mpk_dense_sizes sizes;
    mpk_dense_info info, first = {0};
    mpk_context *ctx = NULL;
    mpk_dense_init(&d);
    d.n = s->n, d.scalar = s->z ? MPK_Z : MPK_D, d.threads = s->threads;
    d.method = MPK_DENSE_COUNT;
    for (int k = 0; k < MPK_DENSE_COUNT; k++)
        if (!strcmp(method, mpk_dense_method_name((mpk_dense_method)k)))
            d.method = (mpk_dense_method)k;
    if (!strcmp(precision, "single")) d.precision = MPK_DENSE_SINGLE;
    if (mpk_failed(mpk_context_create(NULL, &ctx)) ||
        mpk_failed(mpk_dense_query(ctx, &d, s->nrhs, &sizes)))
        return 1;
    mpk_dense_factor f = {.struct_size = sizeof f, .f = s->f, .ldf = s->n};
    f.pivots = malloc((size_t)sizes.pivots * 4 + 64);
    f.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
    void *work = aligned_alloc(64, ((size_t)sizes.sysv_bytes + 127) / 64 * 64);
    int status = 0;
    for (int k = -1; k < s->repeats && !mpk_failed(status); k++) {
        double start = now_s();
        status = mpk_dense_sysv(ctx, &d, s->a, s->n, &f, s->nrhs, s->b, s->n, s->x, s->n, work,
                                sizes.sysv_bytes, &info);
        start = now_s() - start;
        if (k < 0) first = info;
        if (k >= 0) s->time[k] = start;
        if (k >= 0 && (k == 0 || start < s->whole_s)) s->whole_s = start;
    }
    /* factorizations are timed in place, as LAPACK's are */
    for (int k = 0;
         k < s->repeats && !mpk_failed(status) && d.method != MPK_DENSE_AUTO && !d.precision; k++) {
        mpk_dense_factor place = f;
        place.pivots = f.pivots, place.extra = f.extra;
        memcpy(s->f, s->a, (size_t)s->n * (size_t)s->n * s->size);
        double start = now_s();
        mpk_dense_factorize(ctx, &d, s->f, s->n, &place, work, sizes.sysv_bytes, NULL);
        s->time[k] = now_s() - start;
    }
    for (int k = 0; k < s->repeats && !mpk_failed(status) && d.precision; k++) {
        double start = now_s();
        mpk_dense_factorize(ctx, &d, s->a, s->n, &f, work, sizes.sysv_bytes, NULL);
        s->time[k] = now_s() - start;
    }
    if (mpk_failed(status)) {
        printf("{\"method\": \"%s\", \"n\": %d, \"family\": \"%s\", \"status\": %d}\n", method,
               s->n, family, status);
        return 0;
    }
    print(s, method, family, precision, first.unrefined, omega(s, s->a), info.solve_s,
          info.refine_s, info.iterations, (long)info.delayed, status);
    free(f.pivots), free(f.extra), free(work);
    mpk_context_destroy(&ctx);
    return 0;
}

static int factor(const system_t *s, const char *method) {
    const int n = s->n;
#define PICK(name, ...)                                                                            \
    (s->z ? LAPACKE_z##name(LAPACK_COL_MAJOR, __VA_ARGS__)                                         \
          : LAPACKE_d##name(LAPACK_COL_MAJOR, __VA_ARGS__))
    if (!strcmp(method, "lapack-sytrf")) return PICK(sytrf, 'L', n, s->f, n, s->pivots);
    if (!strcmp(method, "lapack-sytrf-rook")) return PICK(sytrf_rook, 'L', n, s->f, n, s->pivots);
    if (!strcmp(method, "lapack-sytrf-aa")) return PICK(sytrf_aa, 'L', n, s->f, n, s->pivots);
    if (!strcmp(method, "lapack-potrf")) return PICK(potrf, 'L', n, s->f, n);
    if (!strcmp(method, "lapack-getrf")) return PICK(getrf, n, n, s->f, n, s->pivots);
    return -99;
}

static int back(const system_t *s, const char *method) {
    const int n = s->n;
    if (!strcmp(method, "lapack-sytrf")) return PICK(sytrs, 'L', n, 1, s->f, n, s->pivots, s->x, n);
    if (!strcmp(method, "lapack-sytrf-rook"))
        return PICK(sytrs_rook, 'L', n, 1, s->f, n, s->pivots, s->x, n);
    if (!strcmp(method, "lapack-sytrf-aa"))
        return PICK(sytrs_aa, 'L', n, 1, s->f, n, s->pivots, s->x, n);
    if (!strcmp(method, "lapack-potrf")) return PICK(potrs, 'L', n, 1, s->f, n, s->x, n);
    return PICK(getrs, 'N', n, 1, s->f, n, s->pivots, s->x, n);
}

static int theirs(system_t *s, const char *method, const char *family) {
    const size_t bytes = (size_t)s->n * (size_t)s->n * s->size;
    int info = 0;
    double solve_s = 0;
    s->hermitian = s->z && !strcmp(method, "lapack-potrf");
    if (!strcmp(method, "lapack-potrf")) /* positive definite */
        for (int k = 0; k < s->n; k++) {
            const size_t at = (size_t)k * (size_t)(s->n + 1);
            if (s->z)
                ((double complex *)s->a)[at] = creal(((double complex *)s->a)[at]) + 4 * s->n;
            else
                ((double *)s->a)[at] += 2 * s->n;
        }
    for (int k = -1; k < s->repeats; k++) {
        memcpy(s->f, s->a, bytes);
        double start = now_s();
        info = factor(s, method);
        start = now_s() - start;
        if (k >= 0) s->time[k] = start;
        if (k >= 0 && (k == 0 || start < s->whole_s)) s->whole_s = start;
    }
    memcpy(s->x, s->b, (size_t)s->n * s->size);
    solve_s = now_s();
    if (!info) back(s, method);
    solve_s = now_s() - solve_s;
    const double w = omega(s, s->a);
    qsort(s->time, (size_t)s->repeats, sizeof *s->time, by_time);
    s->whole_s = s->time[0] + solve_s;
    print(s, method, family, "working", w, w, solve_s, 0, 0, 0, info);
    return 0;
}

int main(int argc, char **argv) {
    system_t s = {.n = argc > 2 ? atoi(argv[2]) : 0};
    if (s.n < 1) return 1;
    const char *method = argv[1], *family = argc > 3 ? argv[3] : "random";
    s.z = argc > 4 && *argv[4] == 'z';
    s.threads = argc > 5 ? atoi(argv[5]) : 2;
    s.repeats = argc > 6 ? atoi(argv[6]) : 3;
    const char *precision = argc > 7 ? argv[7] : "working";
    s.nrhs = argc > 8 ? atoi(argv[8]) : 1;
    s.size = s.z ? 16 : 8;
    const size_t count = (size_t)s.n * (size_t)s.n;
    enum { BEYOND = 1 << 16 }; /* OpenBLAS 0.3.21: zgemv reads past the end of its matrix */
    s.a = malloc(count * s.size + BEYOND), s.f = malloc(count * s.size + BEYOND);
    s.b = malloc((size_t)s.n * (size_t)s.nrhs * s.size);
    s.x = malloc((size_t)s.n * (size_t)s.nrhs * s.size);
    s.pivots = malloc((size_t)s.n * 8), s.time = malloc(sizeof(double) * (size_t)s.repeats);
    if (!s.a || !s.f || !s.b || !s.x || !s.pivots || !s.time || s.repeats < 1) return 1;
    openblas_set_num_threads(s.threads);
    if (s.threads == 1) watch = CLOCK_THREAD_CPUTIME_ID;
    for (int j = 0; j < s.n; j++)
        for (int i = j; i < s.n; i++) {
            double complex e = entry(family, s.n, i, j, s.z);
            for (int h = 0; h < 2; h++) {
                size_t at =
                    h ? (size_t)j + (size_t)i * (size_t)s.n : (size_t)i + (size_t)j * (size_t)s.n;
                if (s.z)
                    ((double complex *)s.a)[at] = e;
                else
                    ((double *)s.a)[at] = creal(e);
            }
        }
    for (size_t k = 0; k < (size_t)s.n * (size_t)s.nrhs * s.size / 8; k++)
        ((double *)s.b)[k] = uniform();
    return strncmp(method, "lapack-", 7) ? ours(&s, method, family, precision)
                                         : theirs(&s, method, family);
}
