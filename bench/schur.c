/* SPDX-License-Identifier: BSD-3-Clause */
/* What a Schur complement costs beside a factorization, of one matrix: bench/schur.py runs it.
 *   schur FILE|SPEC K WHICH [SECONDS]     one line: name=value ..., seconds, one thread
 * WHICH: the last variables, random ones, or the `top` of the tree: the last in the order of the
 * whole factorization. Times are the least of several, in turn: numbers alone, by values of a known
 * pattern. Where MUMPS was found it does the same; it has no METIS here. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef BENCH_MUMPS
#include <dmumps_c.h>
#endif

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(mpk_context *ctx, mpk_status status) {
    const char *text;
    if (!mpk_failed(status)) return;
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("failed=%s\n", text);
    exit(0);
}

static void least(double *best, double seconds) {
    if (seconds < *best) *best = seconds;
}

static void choose(const char *which, int32_t n, int32_t k, const mpk_analysis *an, int32_t *list) {
    int32_t *all = malloc(((size_t)n + 1) * sizeof *all);
    uint64_t state = 1;
    if (!all) exit(1);
    for (int32_t i = 0; i < n; i++) all[i] = i;
    if (!strcmp(which, "top")) mpk_analysis_perm(an, all);
    for (int32_t i = 0; !strcmp(which, "random") && i < k; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int32_t at = n - 1 - i, pick = (int32_t)((state >> 33) % (uint64_t)(at + 1));
        const int32_t swap = all[at];
        all[at] = all[pick], all[pick] = swap;
    }
    memcpy(list, all + n - k, (size_t)k * sizeof *list);
    free(all);
}

#ifdef BENCH_MUMPS
/* Its time, alone or with S (k x k, lower triangle by rows). */
typedef struct mumps {
    DMUMPS_STRUC_C d;
    int *rows, *cols;
} mumps;

static int run(mumps *m, int job) {
    m->d.job = job;
    dmumps_c(&m->d);
    while (job == 2 && (m->d.infog[0] == -8 || m->d.infog[0] == -9) && m->d.icntl[13] < 3000) {
        m->d.icntl[13] *= 3;
        dmumps_c(&m->d);
    }
    return m->d.infog[0];
}

static int begin(mumps *m, const mpk_problem_view *a, int32_t k, const int32_t *list, double *s) {
    *m = (mumps){.rows = malloc(((size_t)a->nnz + 1) * sizeof(int)),
                 .cols = malloc(((size_t)a->nnz + 1) * sizeof(int))};
    m->d.comm_fortran = -987654;
    m->d.par = 1;
    m->d.sym = 2;
    if (!m->rows || !m->cols || run(m, -1) < 0) return -1;
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t p = a->ap[j]; p < a->ap[j + 1]; p++) {
            m->rows[p] = a->ai[p] + 1;
            m->cols[p] = j + 1;
        }
    m->d.icntl[0] = m->d.icntl[1] = m->d.icntl[2] = -1;
    m->d.icntl[3] = 0;
    m->d.icntl[13] = 40;
    m->d.n = a->n;
    m->d.nnz = a->nnz;
    m->d.irn = m->rows;
    m->d.jcn = m->cols;
    m->d.a = (double *)(uintptr_t)a->ax;
    if (k > 0) {
        int *outer = malloc((size_t)k * sizeof *outer);
        for (int32_t i = 0; outer && i < k; i++) outer[i] = list[i] + 1;
        m->d.icntl[18] = 1;
        m->d.size_schur = k;
        m->d.listvar_schur = outer;
        m->d.schur = s;
    }
    return run(m, 1);
}
#endif

int main(int argc, char **argv) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *plain = NULL, *an = NULL;
    mpk_factor *whole = NULL, *fac = NULL;
    mpk_factor_info of_whole, of_inner;
    mpk_options o;
    if (argc < 4) return fprintf(stderr, "schur FILE|SPEC K WHICH [SECONDS]\n"), 1;
    const double seconds = argc > 4 ? atof(argv[4]) : 1;
    int32_t k = atoi(argv[2]);
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = 1;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    need(ctx, access(argv[1], R_OK) ? mpk_problem_generate(ctx, argv[1], 1, &problem)
                                    : mpk_problem_read(ctx, argv[1], &problem));
    mpk_problem_view_get(problem, &a);
    if (a.scalar != MPK_D || a.symmetry != MPK_SYMMETRIC || 2 * k > a.n) {
        printf("failed=not real symmetric, or too small\n");
        return 0;
    }
    double start = now_s();
    need(ctx, mpk_analyse(ctx, problem, &o, &plain));
    const double plain_analysis = now_s() - start;
    int32_t *list = malloc((size_t)k * sizeof *list);
    double *s = malloc((size_t)k * (size_t)k * sizeof *s);
    double *t = malloc((size_t)k * (size_t)k * sizeof *t);
    double *b = malloc((size_t)a.n * sizeof *b), *x = malloc((size_t)a.n * sizeof *x);
    if (!list || !s || !t || !b || !x) return 1;
    choose(argv[3], a.n, k, plain, list);
    start = now_s();
    need(ctx, mpk_analyse_schur(ctx, problem, &o, k, list, &an));
    const double schur_analysis = now_s() - start;
    need(ctx, mpk_factorize(ctx, plain, NULL, &o, &whole));
    const mpk_status outcome = mpk_factorize(ctx, an, NULL, &o, &fac);
    need(ctx, outcome);
    double whole_s = INFINITY, schur_s = INFINITY, get_s = INFINITY, condense_s = INFINITY;
    double solve_s = INFINITY;
    const double begun = now_s();
    for (int round = 0; round < 3 || (round < 400 && now_s() - begun < seconds); round++) {
        start = now_s();
        need(ctx, mpk_refactorize(ctx, a.ax, &o, whole));
        least(&whole_s, now_s() - start);
        start = now_s();
        need(ctx, mpk_refactorize(ctx, a.ax, &o, fac));
        least(&schur_s, now_s() - start);
        start = now_s();
        if (mpk_failed(mpk_schur_get(ctx, fac, s, k))) break;
        least(&get_s, now_s() - start);
        for (int32_t i = 0; i < a.n; i++) b[i] = x[i] = 1;
        start = now_s();
        need(ctx, mpk_schur_condense(ctx, fac, 1, b, a.n, t, k));
        need(ctx, mpk_schur_expand(ctx, fac, 1, b, a.n, t, k, b, a.n));
        least(&condense_s, now_s() - start);
        start = now_s();
        need(ctx, mpk_solve_part(ctx, whole, MPK_PART_ALL, 1, x, a.n));
        least(&solve_s, now_s() - start);
    }
    mpk_factor_info_get(whole, &of_whole);
    mpk_factor_info_get(fac, &of_inner);
    printf("n=%d nnz=%lld outcome=%d zero=%lld plain_analysis=%.3e schur_analysis=%.3e plain=%.3e "
           "schur=%.3e get=%.3e over=%.3e solve=%.3e plain_flops=%.3e schur_flops=%.3e "
           "delayed=%lld schur_delayed=%lld",
           a.n, (long long)a.nnz, (int)outcome, (long long)of_inner.inertia.zero, plain_analysis,
           schur_analysis, whole_s, schur_s, get_s, condense_s, solve_s, of_whole.flops,
           of_inner.flops, (long long)of_whole.rejected, (long long)of_inner.rejected);
#ifdef BENCH_MUMPS
    mumps all, part;
    double mumps_s = INFINITY, mumps_schur_s = INFINITY, apart = 0, largest = 0;
    if (begin(&all, &a, 0, NULL, NULL) >= 0 && begin(&part, &a, k, list, t) >= 0) {
        const double at = now_s();
        bool good = true;
        for (int round = 0; good && (round < 3 || (round < 400 && now_s() - at < seconds));
             round++) {
            start = now_s();
            good = run(&all, 2) >= 0;
            least(&mumps_s, now_s() - start);
            start = now_s();
            good = good && run(&part, 2) >= 0;
            least(&mumps_schur_s, now_s() - start);
        }
        for (int32_t i = 0; i < k; i++)
            for (int32_t j = 0; j <= i; j++) {
                apart = fmax(apart, fabs(t[(size_t)i * (size_t)k + (size_t)j] -
                                         s[(size_t)j * (size_t)k + (size_t)i]));
                largest = fmax(largest, fabs(s[(size_t)j * (size_t)k + (size_t)i]));
            }
        if (good)
            printf(" mumps=%.3e mumps_schur=%.3e apart=%.1e", mumps_s, mumps_schur_s,
                   apart / largest);
    }
#endif
    printf("\n");
    mpk_factor_destroy(&fac);
    mpk_factor_destroy(&whole);
    mpk_analysis_destroy(&an);
    mpk_analysis_destroy(&plain);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(list), free(s), free(t), free(b), free(x);
    return 0;
}
