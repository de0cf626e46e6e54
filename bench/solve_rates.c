/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_solve_rates THREADS SECONDS SPEC|FILE...: solves beside what the machine gives to as many threads. First a line `machine`: bytes
 * read in a second (a sum), of a triad, GFLOP/s of our update kernel (a front's rows times a packed block of 128, all in memory), and of
 * OpenBLAS's dgemm, 0 where it is not linked. Then a line for each matrix: n; entries of L; milliseconds of one side and of 64 by
 * mpk_solve without refinement (with its verdict), and by the factor alone (mpk_solve_part). Least of as many runs as SECONDS allow. */
#define MPKI_PRECISION 1
#include "kernels/kernels.h"
#include <math.h>
#include <metapack/metapack.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

const FN(kernels) * FN(cpu_kernels)(void);
#ifdef HAVE_OPENBLAS
extern void dgemm_(const char *, const char *, const int *, const int *, const int *,
                   const double *, const double *, const int *, const double *, const int *,
                   const double *, double *, const int *);
extern void openblas_set_num_threads(int);
#endif

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what the machine gives --------------------------------------------------------------------- */

enum { BLOCK = 128, ROWS = 6000, COLUMNS = 1024, STRIP = 384, RATES = 3, MOST_THREADS = 256 };
enum { READ, TRIAD, UPDATE };

typedef struct crew {
    pthread_barrier_t barrier;
    int count;
    double seconds, rate[RATES][MOST_THREADS];
} crew;
typedef struct member {
    crew *of;
    int number;
    pthread_t thread;
} member;

static double *memory(size_t count) {
    const size_t bytes = count * sizeof(double);
    double *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(1);
    madvise(p, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < count; i++) p[i] = 1e-3 * (double)(i % 7) - 2e-3;
    return p;
}

/* One part of a measurement; returns its bytes or operations. */
static double part(int what, int64_t *row, int64_t *column, double *a, double *b, double *c,
                   double *packed) {
    const int64_t at = *column * ROWS;
    double sum[8] = {0};
    switch (what) {
    case READ:
        for (int64_t i = at; i < at + BLOCK * ROWS; i += 8)
            for (int k = 0; k < 8; k++) sum[k] += a[i + k];
        packed[0] +=
            1e-300 * (sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7]);
        *column = (*column + BLOCK) % COLUMNS;
        return 8.0 * BLOCK * ROWS;
    case TRIAD:
        for (int64_t i = at; i < at + BLOCK * ROWS; i++) c[i] = a[i] + 0.5 * b[i];
        *column = (*column + BLOCK) % COLUMNS;
        return 24.0 * BLOCK * ROWS;
    default:
        FN(cpu_kernels)
        ()->multiply(STRIP, BLOCK, BLOCK, a + at + *row, ROWS, packed, c + at + *row, ROWS, 0,
                     ROWS);
        *row += STRIP;
        if (*row + STRIP > ROWS) *row = 0, *column = (*column + BLOCK) % COLUMNS;
        return 2.0 * STRIP * BLOCK * BLOCK;
    }
}

static void *measure(void *arg) {
    const member *m = arg;
    crew *w = m->of;
    const size_t count = (size_t)ROWS * COLUMNS;
    double *a = memory(count), *b = memory(count), *c = memory(count),
           *packed = memory(2 * BLOCK * BLOCK);
    FN(cpu_kernels)()->pack(BLOCK, BLOCK, a, ROWS, NULL, 0, packed);
    for (int what = 0; what < RATES; what++) {
        int64_t row = 0, column = 0;
        double did = 0, begin, took = 0;
        pthread_barrier_wait(&w->barrier);
        for (begin = now_s(); took < w->seconds; took = now_s() - begin)
            did += part(what, &row, &column, a, b, c, packed);
        w->rate[what][m->number] = 1e-9 * did / took;
        pthread_barrier_wait(&w->barrier);
    }
    munmap(a, count * sizeof *a), munmap(b, count * sizeof *b), munmap(c, count * sizeof *c);
    munmap(packed, 2 * BLOCK * BLOCK * sizeof *packed);
    return NULL;
}

/* GFLOP/s of a square product; 0: there is no dgemm. */
static double dgemm_rate(int threads, double seconds) {
    double best = 0;
#ifdef HAVE_OPENBLAS
    const int n = 4096;
    const double one = 1, zero = 0;
    const size_t count = (size_t)n * (size_t)n;
    double *a = memory(count), *b = memory(count), *c = memory(count);
    openblas_set_num_threads(threads);
    for (double begin = now_s(), t = begin; t - begin < seconds;) {
        dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
        const double end = now_s();
        best = fmax(best, 2e-9 * n * n * (double)n / (end - t));
        t = end;
    }
    munmap(a, count * sizeof *a), munmap(b, count * sizeof *b), munmap(c, count * sizeof *c);
#endif
    (void)threads, (void)seconds;
    return best;
}

static void machine(int threads, double seconds) {
    static crew w;
    static member m[MOST_THREADS];
    double sum[RATES] = {0};
    w.count = threads, w.seconds = seconds;
    pthread_barrier_init(&w.barrier, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++) {
        m[t].of = &w, m[t].number = t;
        if (pthread_create(&m[t].thread, NULL, measure, &m[t])) exit(1);
    }
    for (int t = 0; t < threads; t++) pthread_join(m[t].thread, NULL);
    for (int what = 0; what < RATES; what++)
        for (int t = 0; t < threads; t++) sum[what] += w.rate[what][t];
    printf("machine %d %.1f %.1f %.1f %.1f\n", threads, sum[READ], sum[TRIAD], sum[UPDATE],
           dgemm_rate(threads, 2 * seconds));
    fflush(stdout);
}

/* ---- solves ------------------------------------------------------------------------------------- */

typedef struct run {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options options;
    int64_t n;
    double *b, *x;
} run;

enum { SIDES = 64 };

/* Least milliseconds; by the factor alone, or with the verdict. */
static double least(run *r, int sides, bool alone, double seconds) {
    double best = INFINITY, all = 0;
    mpk_solve_info info;
    for (int k = 0; k < 100 && (k < 3 || all < seconds); k++) {
        const double begin = now_s();
        const mpk_status status =
            alone ? mpk_solve_part(r->ctx, r->fac, MPK_PART_ALL, sides, r->x, r->n)
                  : mpk_solve(r->ctx, r->fac, sides, r->b, r->n, r->x, r->n, &r->options, &info);
        if (mpk_failed(status)) return NAN;
        const double took = now_s() - begin;
        all += took;
        best = fmin(best, took);
    }
    return 1e3 * best;
}

static void solves(const char *what, int threads, double seconds) {
    run r = {0};
    mpk_problem_view view;
    mpk_factor_info info;
    const char *slash = strrchr(what, '/');
    if (mpk_failed(mpk_context_create(NULL, &r.ctx))) return;
    mpk_status status = slash ? mpk_problem_read(r.ctx, what, &r.problem)
                              : mpk_problem_generate(r.ctx, what, 1, &r.problem);
    mpk_options_init(&r.options);
    r.options.threads = threads, r.options.method = MPK_METHOD_LDLT, r.options.refine = 0;
    if (!mpk_failed(status)) status = mpk_analyse(r.ctx, r.problem, &r.options, &r.an);
    if (!mpk_failed(status)) status = mpk_factorize(r.ctx, r.an, NULL, &r.options, &r.fac);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(r.problem, &view);
        mpk_factor_info_get(r.fac, &info);
        r.n = view.n;
        const size_t count = (size_t)r.n * SIDES * (view.scalar == MPK_Z ? 2 : 1);
        r.b = calloc(count, sizeof *r.b), r.x = calloc(count, sizeof *r.x);
        if (!r.b || !r.x) exit(1);
        for (size_t i = 0; i < count; i++) r.b[i] = (double)(i * 2654435761u % 1000) - 500;
        const double one = least(&r, 1, false, seconds), many = least(&r, SIDES, false, seconds);
        memcpy(r.x, r.b, count * sizeof *r.x);
        const double one_alone = least(&r, 1, true, seconds);
        memcpy(r.x, r.b, count * sizeof *r.x);
        printf("%-32.32s %lld %lld %.3f %.3f %.3f %.3f\n", slash ? slash + 1 : what, (long long)r.n,
               (long long)info.nnz, one, one_alone, many, least(&r, SIDES, true, seconds));
    } else {
        printf("%-32.32s failed: %s\n", what, mpk_status_text(status));
    }
    fflush(stdout);
    free(r.b), free(r.x);
    mpk_factor_destroy(&r.fac);
    mpk_analysis_destroy(&r.an);
    mpk_problem_destroy(&r.problem);
    mpk_context_destroy(&r.ctx);
}

int main(int argc, char **argv) {
    const int threads = argc > 1 ? atoi(argv[1]) : 0;
    if (argc < 4 || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: %s THREADS SECONDS SPEC|FILE...\n", argv[0]);
        return 1;
    }
    machine(threads, atof(argv[2]));
    for (int k = 3; k < argc; k++) solves(argv[k], threads, atof(argv[2]));
    return 0;
}
