/* SPDX-License-Identifier: BSD-3-Clause */
/* Many systems of one pattern beside the same one after another by the single engine: factorized
 * anew and solved, bare and refined. Values: those of the matrix, each times 1 + SPREAD u, u
 * uniform in (-1, 1), the two of a pair alike; b = A 1 of each system's own A. Times are of the
 * processor, the least of some rounds, so that a busy machine may be measured on: one thread.
 *   bench/systems [-d DEVICE] [-a DEVICE] [-o ORDERING] [-t THREADS] [-r SECONDS] [-s SPREAD]
 *                 [-x] [-m MATRIX_OR_SPEC]... COUNT...
 * On a device (-d cuda), where values, b and x then lie, and with more than one thread (-t), times
 * are those of a clock, and nothing is done one after another. -a: for which device the analysis
 * orders; default the processor, whose order has less fill. -o: that order, which then stays.
 * -x: all matrices in one object (mpk_systems_create_mixed), COUNT systems of each, beside an object of
 * each that are called one after another: the same bits are wanted.
 * Every answer is checked: a componentwise backward error above 1e-14 ends the run with status 1,
 * unless the single engine's is above it, too. bench/results/systems.md */
#include <math.h>
#include <metapack/metapack.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool by_clock;
static double round_s = 1; /* for which rounds go on */

static double now_s(void) {
    struct timespec t;
    clock_gettime(by_clock ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t state = 1;
static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) * 0x1p-52 - 1;
}

static void check(mpk_context *ctx, mpk_status status, const char *what) {
    const char *text = NULL;
    if (!mpk_failed(status)) return;
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "%s: %s\n", what, text);
    exit(1);
}

static mpk_problem *problem_of(mpk_context *ctx, const char *name) {
    mpk_problem *p = NULL;
    const bool file = strchr(name, '.') && strchr(name, '/');
    check(ctx, file ? mpk_problem_read(ctx, name, &p) : mpk_problem_generate(ctx, name, 1, &p),
          name);
    return p;
}

/* b := A 1 */
static void ones(const mpk_problem_view *v, const double *ax, double *b) {
    memset(b, 0, (size_t)v->n * sizeof *b);
    for (int32_t j = 0; j < v->n; j++)
        for (int64_t k = v->ap[j]; k < v->ap[j + 1]; k++) {
            b[v->ai[k]] += ax[k];
            if (v->ai[k] != j) b[j] += ax[k];
        }
}

/* An array of doubles where the systems are: there itself, or a copy of it on the device. */
static double *there(mpk_context *ctx, const mpk_options *o, const double *p, int64_t count) {
    void *copy = NULL;
    const int64_t bytes = count * (int64_t)sizeof *p;
    if (o->device != MPK_ON_CUDA) return (double *)(uintptr_t)p;
    check(ctx, mpk_device_alloc(ctx, 0, bytes, &copy), "device memory");
    check(ctx, mpk_device_copy(ctx, 0, copy, bytes, p, bytes, bytes, 1), "copy");
    return copy;
}
static void leave(mpk_context *ctx, const mpk_options *o, double *p) {
    void *q = p;
    if (o->device == MPK_ON_CUDA) check(ctx, mpk_device_free(ctx, 0, &q), "device memory");
}

typedef struct figures {
    double factor_s, bare_s, refined_s, both_s; /* least of some rounds */
    double omega;
    int64_t single, bytes;
    mpk_ordering ordering;
} figures;

static double less(double a, double b) {
    return a > 0 && a < b ? a : b;
}

enum { ROUNDS_MOST = 40 };

static figures at_once(mpk_context *ctx, const mpk_analysis *an, const mpk_options *o,
                       int64_t count, const mpk_batch_array *ax, const mpk_batch_array *b,
                       const mpk_batch_array *x) {
    figures f = {0};
    mpk_systems *s = NULL;
    double *omega = malloc((size_t)count * sizeof *omega);
    const mpk_systems_results results = {.omega = omega};
    mpk_systems_info info;
    check(ctx, mpk_systems_create(ctx, an, o, NULL, count, &s), "create");
    check(ctx, mpk_systems_factorize_solve(ctx, s, ax, 1, b, x, 0, NULL, &results), "first");
    const double end_s = now_s() + round_s;
    for (int round = 0; round < 2 || (round < ROUNDS_MOST && now_s() < end_s); round++) {
        double t[5];
        t[0] = now_s();
        check(ctx, mpk_systems_refactorize(ctx, s, ax, NULL, NULL), "refactorize");
        t[1] = now_s();
        check(ctx, mpk_systems_solve(ctx, s, 1, b, x, 1, NULL, NULL), "solve");
        t[2] = now_s();
        check(ctx, mpk_systems_solve(ctx, s, 1, b, x, 0, NULL, &results), "solve");
        t[3] = now_s();
        check(ctx, mpk_systems_refactorize_solve(ctx, s, ax, 1, b, x, 0, NULL, NULL), "both");
        t[4] = now_s();
        f.factor_s = less(f.factor_s, t[1] - t[0]);
        f.bare_s = less(f.bare_s, t[2] - t[1]);
        f.refined_s = less(f.refined_s, t[3] - t[2]);
        f.both_s = less(f.both_s, t[4] - t[3]);
    }
    for (int64_t k = 0; k < count; k++) f.omega = fmax(f.omega, omega[k]);
    mpk_systems_info_get(s, &info);
    f.single = info.by_single, f.bytes = info.bytes;
    f.ordering = (mpk_ordering)info.ordering;
    if (*info.reason) printf("# no template: %s\n", info.reason);
    mpk_systems_destroy(&s);
    free(omega);
    return f;
}

/* One after another: a factor that is refactorized. */
static figures in_turn(mpk_context *ctx, const mpk_analysis *an, const mpk_options *given,
                       int64_t count, const double *ax, int64_t nnz, const double *b, double *x,
                       int32_t n) {
    figures f = {0};
    mpk_options o = *given;
    mpk_factor *fac = NULL;
    mpk_solve_info info;
    o.threads = 1;
    check(ctx, mpk_factorize(ctx, an, ax, &o, &fac), "factorize");
    const double end_s = now_s() + round_s;
    for (int round = 0; round < 2 || (round < ROUNDS_MOST && now_s() < end_s); round++) {
        double factor = 0, bare = 0, refined = 0;
        for (int64_t k = 0; k < count; k++) {
            double t[4];
            t[0] = now_s();
            check(ctx, mpk_refactorize(ctx, ax + k * nnz, &o, fac), "refactorize");
            t[1] = now_s();
            memcpy(x, b + k * n, (size_t)n * sizeof *x);
            check(ctx, mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, x, n), "solve");
            t[2] = now_s();
            check(ctx, mpk_solve(ctx, fac, 1, b + k * n, n, x, n, &o, &info), "solve");
            t[3] = now_s();
            factor += t[1] - t[0], bare += t[2] - t[1], refined += t[3] - t[2];
            f.omega = fmax(f.omega, info.componentwise);
        }
        f.factor_s = less(f.factor_s, factor);
        f.bare_s = less(f.bare_s, bare);
        f.refined_s = less(f.refined_s, refined);
    }
    mpk_factor_destroy(&fac);
    return f;
}

/* ---- several patterns ------------------------------------------------------------------------ */

typedef struct pattern {
    mpk_problem *problem;
    mpk_problem_view v;
    mpk_analysis *an;
    mpk_systems *s;
} pattern;

/* Refactorize and solve: one object, or all of them one after another. */
static figures rounds(mpk_context *ctx, int objects, mpk_systems **s, const mpk_batch_array *ax,
                      const mpk_batch_array *b, const mpk_batch_array *x, double **omega) {
    figures f = {0};
    const double end_s = now_s() + round_s;
    for (int round = 0; round < 3 || (round < ROUNDS_MOST && now_s() < end_s); round++) {
        double t[4];
        t[0] = now_s();
        for (int k = 0; k < objects; k++)
            check(ctx, mpk_systems_refactorize(ctx, s[k], &ax[k], NULL, NULL), "refactorize");
        t[1] = now_s();
        for (int k = 0; k < objects; k++)
            check(ctx, mpk_systems_solve(ctx, s[k], 1, &b[k], &x[k], 1, NULL, NULL), "solve");
        t[2] = now_s();
        for (int k = 0; k < objects; k++) {
            const mpk_systems_results r = {.omega = omega[k]};
            check(ctx, mpk_systems_solve(ctx, s[k], 1, &b[k], &x[k], 0, NULL, &r), "solve");
        }
        t[3] = now_s();
        if (round == 0) continue; /* room is made */
        f.factor_s = less(f.factor_s, t[1] - t[0]);
        f.bare_s = less(f.bare_s, t[2] - t[1]);
        f.refined_s = less(f.refined_s, t[3] - t[2]);
    }
    return f;
}

/* System k has pattern k % many. Returns how many answers are wrong, or have other bits. */
static int several(const mpk_options *o, int many, char **const names, int64_t each) {
    mpk_context *ctx = NULL;
    pattern *p = calloc((size_t)many, sizeof *p);
    int64_t nnz = 1, n = 1;
    const int64_t count = each * many;
    check(NULL, mpk_context_create(NULL, &ctx), "context");
    const mpk_problem **problem = malloc((size_t)count * sizeof *problem);
    for (int q = 0; q < many; q++) {
        p[q].problem = problem_of(ctx, names[q]);
        mpk_problem_view_get(p[q].problem, &p[q].v);
        nnz = p[q].v.nnz > nnz ? p[q].v.nnz : nnz, n = p[q].v.n > n ? p[q].v.n : n;
    }
    double *ax = calloc((size_t)(count * nnz), 8), *b = calloc((size_t)(count * n), 8);
    double *x = calloc((size_t)(2 * count * n), 8), *omega = calloc((size_t)(2 * count), 8);
    for (int64_t k = 0; k < count; k++) {
        const mpk_problem_view *v = &p[k % many].v;
        problem[k] = p[k % many].problem;
        for (int64_t e = 0; e < v->nnz; e++)
            ax[k * nnz + e] = ((const double *)v->ax)[e] * (1 + 0.01 * uniform());
        ones(v, ax + k * nnz, b + k * n);
    }
    const mpk_memory memory = o->device == MPK_ON_CUDA ? MPK_DEVICE : MPK_HOST;
    double *dax = there(ctx, o, ax, count * nnz), *db = there(ctx, o, b, count * n),
           *dx[2] = {there(ctx, o, x, count * n), there(ctx, o, x + count * n, count * n)};
    mpk_systems **s = calloc((size_t)many + 1, sizeof *s);
    mpk_batch_array *va = calloc(3 * ((size_t)many + 1), sizeof *va), *vb = va + many + 1,
                    *vx = vb + many + 1;
    double **w = calloc((size_t)many + 1, sizeof *w);
    for (int q = 0; q <= many; q++) { /* the last: all of them */
        const int64_t first = q < many ? q : 0, step = q < many ? many : 1;
        va[q] = (mpk_batch_array){MPK_BATCH_STRIDED, memory, dax + first * nnz, step * nnz, 1, 1};
        vb[q] = (mpk_batch_array){MPK_BATCH_STRIDED,   memory, db + first * n, step * n,
                                  (int32_t)(step * n), 1};
        vx[q] = vb[q];
        vx[q].data = dx[q == many] + first * n;
        vb[q].ld = vx[q].ld = q < many ? p[q].v.n : (int32_t)n;
        w[q] = omega + (q < many ? q * each : count);
        if (q < many) {
            mpk_options of_analysis = *o;
            of_analysis.device = MPK_ON_CPU;
            check(ctx, mpk_problem_set_values(ctx, p[q].problem, ax + q * nnz), "values");
            check(ctx, mpk_analyse(ctx, p[q].problem, &of_analysis, &p[q].an), "analyse");
            check(ctx, mpk_systems_create(ctx, p[q].an, o, NULL, each, &s[q]), "create");
        } else {
            check(ctx, mpk_systems_create_mixed(ctx, count, problem, o, NULL, &s[q]), "create");
        }
    }
    const figures one = rounds(ctx, many, s, va, vb, vx, w),
                  all = rounds(ctx, 1, s + many, va + many, vb + many, vx + many, w + many);
    if (memory == MPK_DEVICE)
        for (int k = 0; k < 2; k++)
            check(ctx, mpk_device_copy(ctx, 0, x + k * count * n, 8, dx[k], 8, count * n * 8, 1),
                  "copy");
    int64_t other = 0, wrong = 0;
    for (int64_t k = 0; k < count; k++) {
        other += memcmp(x + k * n, x + (count + k) * n, (size_t)p[k % many].v.n * 8) != 0;
        wrong += !(omega[count + k] <= 1e-14);
    }
    mpk_systems_info info;
    mpk_systems_info_get(s[many], &info);
    const double us = 1e6 / (double)count;
    printf("%d patterns, %lld systems of each, us a system: one object %.2f + %.2f bare, %.2f "
           "refined; an "
           "object of each, in turn %.2f + %.2f, %.2f; times %.2f; single %lld, other bits %lld, "
           "above "
           "1e-14 %lld\n",
           many, (long long)each, all.factor_s * us, all.bare_s * us, all.refined_s * us,
           one.factor_s * us, one.bare_s * us, one.refined_s * us,
           (one.factor_s + one.bare_s) / (all.factor_s + all.bare_s), (long long)info.by_single,
           (long long)other, (long long)wrong);
    fflush(stdout);
    for (int q = 0; q <= many; q++) mpk_systems_destroy(&s[q]);
    for (int q = 0; q < many; q++)
        mpk_analysis_destroy(&p[q].an), mpk_problem_destroy(&p[q].problem);
    leave(ctx, o, dax), leave(ctx, o, db), leave(ctx, o, dx[0]), leave(ctx, o, dx[1]);
    mpk_context_destroy(&ctx);
    free(ax), free(b), free(x), free(omega), free(s), free(va), free(w), free(p), free(problem);
    return other + wrong > 0;
}

int main(int argc, char **argv) {
    mpk_options o;
    char *matrix[64];
    bool mixed = false;
    int64_t count[16];
    int matrices = 0, counts = 0, wrong = 0;
    double spread = 0.01;
    mpk_device analysed_for = MPK_ON_CPU;
    mpk_options_init(&o);
    o.threads = 1;
    o.method = MPK_METHOD_LDLT;
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "-s") && k + 1 < argc)
            spread = atof(argv[++k]);
        else if (!strcmp(argv[k], "-t") && k + 1 < argc)
            o.threads = atoi(argv[++k]);
        else if (!strcmp(argv[k], "-r") && k + 1 < argc)
            round_s = atof(argv[++k]);
        else if (!strcmp(argv[k], "-a") && k + 1 < argc)
            analysed_for = strcmp(argv[++k], "cuda") ? MPK_ON_CPU : MPK_ON_CUDA;
        else if (!strcmp(argv[k], "-d") && k + 1 < argc)
            o.device = strcmp(argv[++k], "cuda") ? MPK_ON_CPU : MPK_ON_CUDA;
        else if (!strcmp(argv[k], "-o") && k + 1 < argc)
            check(NULL, mpk_options_set(NULL, &o, "ordering", argv[++k]), "ordering");
        else if (!strcmp(argv[k], "-x"))
            mixed = true;
        else if (!strcmp(argv[k], "-m") && k + 1 < argc && matrices < 64)
            matrix[matrices++] = argv[++k];
        else if (counts < 16)
            count[counts++] = atoll(argv[k]);
    }
    by_clock = o.threads > 1 || o.device == MPK_ON_CUDA;
    for (int c = 0; mixed && c < counts; c++) wrong |= several(&o, matrices, matrix, count[c]);
    if (mixed) return wrong;
    printf("%-28s %6s %6s | %8s %8s %8s %8s | %8s %8s %8s | %6s %6s %7s %6s %6s %s\n", "matrix",
           "n", "count", "factor", "bare", "refined", "both", "f. each", "bare", "refined",
           "bare x", "ref. x", "omega", "single", "KiB", "order");
    for (int m = 0; m < matrices; m++) {
        mpk_context *ctx = NULL;
        mpk_analysis *an = NULL;
        mpk_problem_view v;
        check(NULL, mpk_context_create(NULL, &ctx), "context");
        mpk_problem *p = problem_of(ctx, matrix[m]);
        mpk_problem_view_get(p, &v);
        mpk_options of_analysis = o;
        of_analysis.device = analysed_for;
        check(ctx, mpk_analyse(ctx, p, &of_analysis, &an), "analyse");
        for (int c = 0; c < counts; c++) {
            const int64_t many = count[c];
            double *ax = malloc((size_t)(many * v.nnz) * sizeof *ax);
            double *b = malloc((size_t)(many * v.n) * sizeof *b),
                   *x = malloc((size_t)(many * v.n) * sizeof *x);
            for (int64_t k = 0; k < many * v.nnz; k++)
                ax[k] = ((const double *)v.ax)[k % v.nnz] * (1 + spread * uniform());
            for (int64_t k = 0; k < many; k++) ones(&v, ax + k * v.nnz, b + k * v.n);
            const mpk_memory memory = o.device == MPK_ON_CUDA ? MPK_DEVICE : MPK_HOST;
            double *dax = there(ctx, &o, ax, many * v.nnz), *db = there(ctx, &o, b, many * v.n),
                   *dx = there(ctx, &o, x, many * v.n);
            const mpk_batch_array va = {MPK_BATCH_STRIDED, memory, dax, v.nnz, 1, 1},
                                  vb = {MPK_BATCH_STRIDED, memory, db, v.n, v.n, 1},
                                  vx = {MPK_BATCH_STRIDED, memory, dx, v.n, v.n, 1};
            const figures f = at_once(ctx, an, &o, many, &va, &vb, &vx);
            const int64_t few = many < 64 ? many : 64; /* a system takes as long as another */
            const figures g =
                by_clock ? (figures){0} : in_turn(ctx, an, &o, few, ax, v.nnz, b, x, v.n);
            const double us = 1e6 / (double)many, each = 1e6 / (double)few;
            const char *name = strrchr(matrix[m], '/') ? strrchr(matrix[m], '/') + 1 : matrix[m];
            printf("%-28.28s %6d %6lld | %8.2f %8.2f %8.2f %8.2f | %8.1f %8.1f %8.1f | %6.2f %6.2f "
                   "%7.0e %6lld %6.0f %s\n",
                   name, v.n, (long long)many, f.factor_s * us, f.bare_s * us, f.refined_s * us,
                   f.both_s * us, g.factor_s * each, g.bare_s * each, g.refined_s * each,
                   (g.factor_s + g.bare_s) * each / ((f.factor_s + f.bare_s) * us),
                   (g.factor_s + g.refined_s) * each / (f.both_s * us), f.omega,
                   (long long)f.single, (double)f.bytes / 1024 / (double)many,
                   mpk_ordering_name(f.ordering));
            fflush(stdout);
            wrong |= f.omega > 1e-14 && (by_clock || f.omega > g.omega);
            leave(ctx, &o, dax), leave(ctx, &o, db), leave(ctx, &o, dx);
            free(ax), free(b), free(x);
        }
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
        mpk_context_destroy(&ctx);
    }
    return wrong;
}
