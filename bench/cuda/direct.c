/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal LDLT on a device: checks the answer, then times it.
 *
 *   direct [repeat=N] [nrhs=K] [cpu=1] [profile=1] [stamps=1] [hash=RUNS] [ordering=NAME]
 *   [queued=MOST] MATRIX...
 *
 * A MATRIX is a file or a generator's spec ("nlpkkt 40"). One line each: order, entries of A and of
 * L, fronts, steps, seconds of the analysis; backward error before and after refinement, inertia,
 * delayed columns (cpu=1: beside the processor's, and its time); milliseconds, medians of N:
 *   first    mpk_factorize, with what is made once for a pattern
 *   again    mpk_refactorize: values from the host, scaling, verdict
 *   engine   the engine alone, values from the host
 *   solve    one right-hand side with refinement, vectors on the host
 *   apply    one right-hand side, no refinement, vectors on the device; apply K
 *   refined  K right-hand sides with refinement, vectors on the device
 *   there    again and solve, with values and vectors on the device; at the line's end the stages of
 *            again: bringing and scaling the values, the engine; and those of apply; and by how
 *            much less memory is free there, kernels included that were loaded meanwhile, after
 *            refined solves of one right-hand side and after all
 * TFLOP/s of `engine`, bytes on the device, and those that mpk_factor_estimate() predicts.
 * profile=1: where the time goes, step by step; hash: a hash of D, the order and a solution after
 * each of so many runs, which must be one; stamps (2: front by front; 3: sweeps, piece by piece):
 * stamps.h. queued: columns of fronts that one kernel eliminates (kernels/pivot/queue.cuh), at most, after
 * the first factorization. */
#include "../../src/engines/cuda/multifrontal/state.h"
#include "../../src/engines/cuda/module/engine.h"
#include "../../src/factor/factor.h"
#include "stamps.h"

#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wishes {
    int repeat, nrhs, hash, stamps, queued;
    bool cpu, profile;
    const char *ordering;
} wishes;

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int count) {
    qsort(x, (size_t)count, sizeof *x, by_size);
    return x[count / 2];
}

static int complain(mpk_context *ctx, const char *what) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("%s: %s\n", what, text);
    fflush(stdout);
    return 1;
}

static uint64_t hash_of(uint64_t h, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t k = 0; k < bytes; k++) h = (h ^ p[k]) * UINT64_C(1099511628211);
    return h;
}

static void show_profile(const mpki_direct *f, int repeat) {
    static const char *const kind[] = {"task0", "task1", "task2", "task3", "large"};
    double sum[MPKI_CUDA_CLASSES + 1] = {0};
    for (int32_t l = 0; l < f->plan.steps; l++) {
        const mpki_cuda_step *step = &f->plan.step[l];
        printf("  step %d:", l);
        for (int k = 0; k <= MPKI_CUDA_CLASSES; k++) {
            const double ms = f->profile[l * (MPKI_CUDA_CLASSES + 1) + k] * 1e3 / repeat;
            const int32_t count = k < MPKI_CUDA_CLASSES ? step->task[k + 1] - step->task[k]
                                                        : step->large_last - step->large_first;
            sum[k] += ms;
            if (count) printf(" %s %d %.3f ms", kind[k], count, ms);
            if (k < MPKI_CUDA_CLASSES) continue;
            int32_t rows = 0, columns = 0;
            for (int32_t t = step->large_first; t < step->large_last; t++) {
                const mpki_cuda_node *node = &f->plan.node[f->plan.large[t]];
                if (node->own + node->rows > rows) rows = node->own + node->rows;
                if (node->own > columns) columns = node->own;
            }
            if (count) printf(" (to %d rows, %d columns)", rows, columns);
        }
        printf("\n");
    }
    printf("  sums:");
    for (int k = 0; k <= MPKI_CUDA_CLASSES; k++) printf(" %s %.3f", kind[k], sum[k]);
    printf(" ms\n");
}

/* The engine alone, `repeat` times; its time goes to ms. */
static int time_engine(mpk_factor *fac, int repeat, bool profile, double *ms) {
    mpki_direct *f = fac->direct;
    const mpki_pivot_rules rules = {.threshold = fac->options.pivot_threshold,
                                    .small =
                                        mpki_default_zero_tolerance(fac->an->scalar) * fac->size,
                                    .size = fac->size,
                                    .threads = 1};
    double *t = malloc((size_t)repeat * sizeof *t);
    mpki_numeric_result result;
    if (profile)
        f->profile = calloc((size_t)f->plan.steps * (MPKI_CUDA_CLASSES + 1), sizeof *f->profile);
    for (int k = 0; k < repeat; k++) {
        const double start = mpki_now_s();
        if (mpk_failed(mpki_cuda_direct.factorize(f, fac->ax, fac->scale, &rules, NULL, &result)))
            return 1;
        t[k] = (mpki_now_s() - start) * 1e3;
    }
    if (profile) show_profile(f, repeat);
    free(f->profile);
    f->profile = NULL;
    *ms = median(t, repeat);
    free(t);
    return 0;
}

/* M^-1, or a part of it, on vectors that lie on the device. */
static int time_apply(mpk_factor *fac, mpk_part part, int repeat, int32_t nrhs, double *ms) {
    mpk_context *ctx = fac->ctx;
    const mpki_device *d = mpki_cuda_kept(ctx);
    const int64_t n = fac->an->n, bytes = n * nrhs * (int64_t)mpk_scalar_size(fac->an->scalar);
    void *b = NULL, *x = NULL;
    mpki_direct_solver *s = NULL;
    double *t = malloc((size_t)repeat * sizeof *t);
    int failed = d->table->alloc(d->cuda, bytes, &b) || d->table->alloc(d->cuda, bytes, &x) ||
                 d->table->direct->clear(d->cuda, b, bytes) ||
                 mpk_failed(mpki_cuda_direct.solver_make(ctx, fac->direct, 1, nrhs, &s));
    for (int k = -1; k < repeat && !failed; k++) {
        const double start = mpki_now_s();
        failed = mpk_failed(mpki_cuda_direct.apply(s, part, nrhs, b, n, x, n)) ||
                 d->table->direct->wait(d->cuda);
        if (k >= 0) t[k] = (mpki_now_s() - start) * 1e3;
    }
    if (!failed) *ms = median(t, repeat);
    mpki_cuda_direct.solver_free(&s);
    d->table->release(d->cuda, b);
    d->table->release(d->cuda, x);
    free(t);
    return failed;
}

/* K right-hand sides, with refinement, in the device's memory: b is what each of them is. */
static int time_refined(mpk_factor *fac, const mpk_problem_view *a, const void *b, int32_t nrhs,
                        int repeat, const mpk_options *o, double *ms) {
    mpk_context *ctx = fac->ctx;
    const int64_t column = a->n * (int64_t)mpk_scalar_size(a->scalar), all = nrhs * column;
    void *db = NULL, *dx = NULL;
    double *t = malloc((size_t)repeat * sizeof *t);
    mpk_solve_info info;
    int failed = mpk_failed(mpk_device_alloc(ctx, 0, all, &db)) ||
                 mpk_failed(mpk_device_alloc(ctx, 0, all, &dx));
    for (int32_t k = 0; k < nrhs && !failed; k++)
        failed = mpk_failed(
            mpk_device_copy(ctx, 0, (char *)db + k * column, column, b, column, column, 1));
    for (int k = 0; k < repeat && !failed; k++) {
        const double start = mpki_now_s();
        failed = mpk_failed(mpk_solve(ctx, fac, nrhs, db, a->n, dx, a->n, o, &info));
        t[k] = (mpki_now_s() - start) * 1e3;
    }
    if (!failed) *ms = median(t, repeat);
    (void)mpk_device_free(ctx, 0, &db), (void)mpk_device_free(ctx, 0, &dx);
    free(t);
    return failed;
}

/* New values and a solve, with refinement, of arrays that lie on the device. */
static int time_there(mpk_factor *fac, const mpk_problem_view *a, const void *b, int repeat,
                      const mpk_options *o, double *again, double *solved, mpk_solve_info *told) {
    mpk_context *ctx = fac->ctx;
    const int64_t size = (int64_t)mpk_scalar_size(a->scalar);
    const int64_t values = a->nnz * size, column = a->n * size;
    void *ax = NULL, *db = NULL, *dx = NULL;
    double *t = malloc((size_t)repeat * sizeof *t);
    int failed = mpk_failed(mpk_device_alloc(ctx, 0, values, &ax)) ||
                 mpk_failed(mpk_device_alloc(ctx, 0, column, &db)) ||
                 mpk_failed(mpk_device_alloc(ctx, 0, column, &dx)) ||
                 mpk_failed(mpk_device_copy(ctx, 0, ax, values, a->ax, values, values, 1)) ||
                 mpk_failed(mpk_device_copy(ctx, 0, db, column, b, column, column, 1));
    for (int k = 0; k < repeat && !failed; k++) {
        const double start = mpki_now_s();
        failed = mpk_failed(mpk_refactorize(ctx, ax, o, fac));
        t[k] = (mpki_now_s() - start) * 1e3;
    }
    if (!failed) *again = median(t, repeat);
    for (int k = 0; k < repeat && !failed; k++) {
        const double start = mpki_now_s();
        failed = mpk_failed(mpk_solve(ctx, fac, 1, db, a->n, dx, a->n, o, told));
        t[k] = (mpki_now_s() - start) * 1e3;
    }
    if (!failed) *solved = median(t, repeat);
    (void)mpk_device_free(ctx, 0, &ax), (void)mpk_device_free(ctx, 0, &db);
    (void)mpk_device_free(ctx, 0, &dx);
    free(t);
    return failed;
}

/* The stages of a refactorization from values on the device. */
static int time_stages(mpk_factor *fac, const mpk_problem_view *a, int repeat, double *take,
                       double *engine) {
    mpk_context *ctx = fac->ctx;
    const int64_t values = a->nnz * (int64_t)mpk_scalar_size(a->scalar);
    const mpki_device *d = mpki_cuda_kept(ctx);
    const mpki_pivot_rules rules = {.threshold = fac->options.pivot_threshold,
                                    .small = mpki_default_zero_tolerance(fac->an->scalar),
                                    .size = 1,
                                    .threads = 1};
    mpki_numeric_result result;
    void *ax = NULL;
    double *t = malloc(2 * (size_t)repeat * sizeof *t);
    int failed = mpk_failed(mpk_device_alloc(ctx, 0, values, &ax)) ||
                 mpk_failed(mpk_device_copy(ctx, 0, ax, values, a->ax, values, values, 1));
    for (int k = 0; k < repeat && !failed; k++) {
        bool taken = false;
        const double start = mpki_now_s();
        failed = mpk_failed(fac->form->take(fac, &fac->options, ax, false, &taken)) || !taken ||
                 d->table->direct->wait(d->cuda);
        const double middle = mpki_now_s();
        failed = failed || mpk_failed(mpki_cuda_direct.factorize(fac->direct, NULL, NULL, &rules,
                                                                 NULL, &result));
        t[k] = (middle - start) * 1e3, t[repeat + k] = (mpki_now_s() - middle) * 1e3;
    }
    if (!failed) *take = median(t, repeat), *engine = median(t + repeat, repeat);
    (void)mpk_device_free(ctx, 0, &ax);
    free(t);
    return failed;
}

/* Run after run, one hash. */
static int hashes(mpk_context *ctx, mpk_factor *fac, int runs, const mpk_options *o) {
    const size_t n = (size_t)fac->an->n, size = mpk_scalar_size(fac->an->scalar);
    char *x = malloc((n + 1) * size), *d = malloc((2 * n + 1) * size);
    int32_t *perm = malloc((n + 1) * sizeof *perm);
    mpki_direct_solver *s = NULL;
    uint64_t first = 0;
    int different = 0;
    for (int k = 0; k < runs; k++) {
        uint64_t h = UINT64_C(14695981039346656037);
        if (mpk_failed(mpk_refactorize(ctx, NULL, o, fac)) ||
            mpk_failed(mpk_get(ctx, fac, MPK_GET_D, d, 2 * n * size)) ||
            mpk_failed(mpk_get(ctx, fac, MPK_GET_PERM, perm, n * sizeof *perm)) ||
            mpk_failed(mpki_cuda_direct.solver_make(ctx, fac->direct, 1, 1, &s)))
            return complain(ctx, "hash");
        memset(x, 0, n * size);
        for (size_t i = 0; i < n * size; i += size) {
            if (size == 4 || fac->an->scalar == MPK_C)
                *(float *)(void *)(x + i) = (float)(1 + i % 7);
            else
                *(double *)(void *)(x + i) = (double)(1 + i % 7);
        }
        if (mpk_failed(mpki_cuda_direct.apply(s, MPK_PART_ALL, 1, x, (int64_t)n, x, (int64_t)n)))
            return complain(ctx, "hash");
        mpki_cuda_direct.solver_free(&s);
        h = hash_of(hash_of(hash_of(h, d, 2 * n * size), perm, n * sizeof *perm), x, n * size);
        if (k == 0) first = h;
        different += h != first;
    }
    printf("  hash %016llx, %d of %d runs differ\n", (unsigned long long)first, different, runs);
    free(x), free(d), free(perm);
    return different > 0;
}

static int64_t free_bytes(mpk_context *ctx) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    int64_t now = 0;
    d->table->describe(d->cuda, NULL, 0, &now, NULL);
    return now;
}

static int row(const char *what, const wishes *w) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL, *twin = NULL;
    mpk_problem_view a;
    mpk_analysis_info shape;
    mpk_factor_info info, cpu;
    mpk_solve_info solve = {0}, there = {0};
    mpk_options o;
    FILE *file = fopen(what, "r");
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.device = MPK_ON_CUDA;
    if (w->ordering && mpk_failed(mpk_options_set(NULL, &o, "ordering", w->ordering)))
        return printf("ordering %s\n", w->ordering), 1;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    if (!mpki_cuda_keep(ctx, 0)) return complain(ctx, "device");
    const int64_t before = free_bytes(ctx);
    int64_t held = 0;
    mpk_status status =
        file ? mpk_problem_read(ctx, what, &problem) : mpk_problem_generate(ctx, what, 1, &problem);
    if (file) fclose(file);
    if (mpk_failed(status)) return complain(ctx, what);
    mpk_problem_view_get(problem, &a);
    double start = mpki_now_s();
    if (mpk_failed(mpk_analyse(ctx, problem, &o, &an))) return complain(ctx, what);
    const double analysis = mpki_now_s() - start;
    mpk_analysis_info_get(an, &shape);
    if (w->cpu) {
        mpk_options host = o;
        host.device = MPK_ON_CPU;
        if (mpk_failed(mpk_factorize(ctx, an, NULL, &host, &twin))) return complain(ctx, what);
        mpk_factor_info_get(twin, &cpu);
        mpk_factor_destroy(&twin);
    }
    mpk_estimate ahead;
    if (mpk_failed(mpk_factor_estimate(ctx, an, &o, &ahead))) return complain(ctx, what);
    start = mpki_now_s();
    status = mpk_factorize(ctx, an, NULL, &o, &fac);
    const double first = (mpki_now_s() - start) * 1e3;
    if (mpk_failed(status)) return complain(ctx, what);
    if (w->queued >= 0) {
        fac->direct->queued_most = w->queued;
        if (mpk_failed(mpk_refactorize(ctx, NULL, &o, fac))) return complain(ctx, what);
    }
    mpk_factor_info_get(fac, &info);
    const size_t size = mpk_scalar_size(a.scalar), n = (size_t)a.n;
    double *t = malloc((size_t)w->repeat * sizeof *t), again, alone = 0, solved, applied = 0,
           many = 0, refined = 0, again_there = 0, solved_there = 0, take = 0, engine = 0,
           lower = 0, upper = 0;
    char *b = calloc(n + 1, size), *x = malloc((n + 1) * size);
    for (size_t i = 0; i < n; i++) {
        if (size == 4 || a.scalar == MPK_C)
            *(float *)(void *)(b + i * size) = 1 + (float)(i % 5);
        else
            *(double *)(void *)(b + i * size) = 1 + (double)(i % 5);
    }
    void *values =
        malloc((size_t)a.nnz * size + 1); /* an array of their own, as those of a next step */
    if (!values) return 1;
    memcpy(values, a.ax, (size_t)a.nnz * size);
    for (int k = 0; k < w->repeat; k++) {
        start = mpki_now_s();
        if (mpk_failed(mpk_factorize_lower(ctx, an, values, &o, &fac))) return complain(ctx, what);
        t[k] = (mpki_now_s() - start) * 1e3;
    }
    free(values);
    again = median(t, w->repeat);
    for (int k = 0; k < w->repeat; k++) {
        start = mpki_now_s();
        if (mpk_failed(mpk_solve(ctx, fac, 1, b, a.n, x, a.n, &o, &solve)))
            return complain(ctx, what);
        t[k] = (mpki_now_s() - start) * 1e3;
    }
    solved = median(t, w->repeat);
    if (time_there(fac, &a, b, w->repeat, &o, &again_there, &solved_there, &there))
        return complain(ctx, what);
    held = before - free_bytes(ctx);
    if (time_stages(fac, &a, w->repeat, &take, &engine) ||
        time_engine(fac, w->repeat, false, &alone) ||
        time_apply(fac, MPK_PART_ALL, w->repeat, 1, &applied) ||
        time_apply(fac, MPK_PART_L, w->repeat, 1, &lower) ||
        time_apply(fac, MPK_PART_LT, w->repeat, 1, &upper) ||
        (w->nrhs > 1 && (time_apply(fac, MPK_PART_ALL, w->repeat, w->nrhs, &many) ||
                         time_refined(fac, &a, b, w->nrhs, w->repeat, &o, &refined))))
        return complain(ctx, what);
    printf("%s: n %d nnz %lld L %lld fronts %d steps %d largest %d, analysis %.5f s; omega %.1e "
           "%.1e, "
           "inertia %lld %lld %lld, delayed %lld",
           what, a.n, (long long)a.nnz, (long long)info.nnz, fac->direct->plan.fronts,
           fac->direct->plan.steps, info.max_front, analysis, solve.unrefined, solve.componentwise,
           (long long)info.inertia.positive, (long long)info.inertia.negative,
           (long long)info.inertia.zero, (long long)info.rejected);
    if (w->cpu)
        printf("; processor: %lld %lld %lld, %lld, %.1f ms%s", (long long)cpu.inertia.positive,
               (long long)cpu.inertia.negative, (long long)cpu.inertia.zero,
               (long long)cpu.rejected, cpu.time_s * 1e3,
               cpu.inertia.positive == info.inertia.positive &&
                       cpu.inertia.negative == info.inertia.negative
                   ? ""
                   : " DIFFERENT");
    printf("; first %.2f again %.3f engine %.3f solve %.3f apply %.3f", first, again, alone, solved,
           applied);
    if (w->nrhs > 1) printf(" apply %d %.3f refined %.3f", w->nrhs, many, refined);
    printf(" there: again %.3f solve %.3f ms, %.2f TFLOP/s, %.3f GB, predicted %.3f GB; omega "
           "there %.1e %.1e, %d steps; take %.3f engine %.3f, "
           "L %.3f LT %.3f, %.4f GB with one, %.4f GB less free\n",
           again_there, solved_there, info.flops / alone / 1e9, (double)info.bytes / 1e9,
           (double)ahead.device_bytes / 1e9, there.unrefined, there.componentwise, there.iterations,
           take, engine, lower, upper, (double)held / 1e9,
           (double)(before - free_bytes(ctx)) / 1e9);
    fflush(stdout);
    if (w->profile && time_engine(fac, w->repeat, true, &alone)) return complain(ctx, what);
    if (w->stamps == 3 && show_sweep_stamps(ctx, fac->direct)) return 1;
    if (w->stamps && w->stamps < 3 && show_stamps(fac->direct, w->stamps > 1)) return 1;
    const int bad = w->hash > 0 ? hashes(ctx, fac, w->hash, &o) : 0;
    fflush(stdout);
    free(t), free(b), free(x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return bad;
}

int main(int argc, char **argv) {
    wishes w = {.repeat = 5, .nrhs = 8, .queued = -1};
    int failed = 0;
    for (int k = 1; k < argc; k++) {
        if (sscanf(argv[k], "repeat=%d", &w.repeat) == 1 ||
            sscanf(argv[k], "stamps=%d", &w.stamps) == 1 ||
            sscanf(argv[k], "queued=%d", &w.queued) == 1 ||
            sscanf(argv[k], "nrhs=%d", &w.nrhs) == 1 || sscanf(argv[k], "hash=%d", &w.hash) == 1)
            continue;
        if (!strncmp(argv[k], "cpu=", 4))
            w.cpu = argv[k][4] == '1';
        else if (!strncmp(argv[k], "profile=", 8))
            w.profile = argv[k][8] == '1';
        else if (!strncmp(argv[k], "ordering=", 9))
            w.ordering = argv[k] + 9;
        else
            failed += row(argv[k], &w);
    }
    return failed > 0;
}
