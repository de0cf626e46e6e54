/* SPDX-License-Identifier: BSD-3-Clause */
/* cuDSS (cudss.h) on the matrices of direct.c, for a comparison on one machine.
 *
 *   peer_cudss [repeat=N] [nrhs=K] MATRIX...
 *
 * Real symmetric matrices, double precision. Each is solved with the default, with Bunch-Kaufman
 * pivots, with matching 5 and with both; where none of these is right (componentwise backward error
 * up to 1e-8), with the other matchings; and the quickest right one without Bunch-Kaufman again with
 * products of doubles emulated by integers (52 bits). One line each: analysis (a second one, so that nothing is loaded
 * in it), factor, refactor, solve, solve with two steps of refinement, these two with K right-hand
 * sides, in ms (medians of N, the analysis once); the error of both solutions, inertia, and by how
 * much less memory is free after refined solves of one right-hand side, and after all. */
#include "../../src/engines/cuda/module/load.h"
#include "cudss.h"

#include <math.h>
#include <metapack/metapack.h>

enum { BUNCH_KAUFMAN = 6, MANTISSA = 52, STEPS = 2 };

/* -1: as it comes */
typedef struct setting {
    int pivots, matching, mantissa;
} setting;

static const double RIGHT = 1e-8; /* largest componentwise backward error */

static const mpki_device *device;

static void *up(const void *host, int64_t bytes) {
    void *p = NULL;
    if (device->table->alloc(device->cuda, bytes, &p) ||
        device->table->copy(device->cuda, p, bytes, host, bytes, bytes, 1, 1, NULL) ||
        device->table->settle(device->cuda))
        return NULL;
    return p;
}

static int64_t free_bytes(void) {
    int64_t now = 0;
    device->table->describe(device->cuda, NULL, 0, &now, NULL);
    return now;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A phase, `repeat` times; its median in ms. */
static int timed(const cudss *c, int phase, void *config, void *data, void *const m[3], int repeat,
                 double *ms) {
    double *t = malloc((size_t)repeat * sizeof *t);
    int status = 0;
    for (int k = 0; k < repeat && !status; k++) {
        const double start = mpki_now_s();
        status = c->execute(c->handle, phase, config, data, m[0], m[1], m[2]);
        if (!status) status = device->table->settle(device->cuda);
        t[k] = (mpki_now_s() - start) * 1e3;
    }
    qsort(t, (size_t)repeat, sizeof *t, by_size);
    *ms = t[repeat / 2];
    free(t);
    return status;
}

/* A matrix with K right-hand sides, on the device. */
typedef struct system_there {
    int64_t n, nnz;
    int nrhs;
    int32_t *begin, *index;
    double *values, *b, *x; /* b, x: n x nrhs */
} system_there;

/* What a setting did. */
typedef struct outcome {
    double analysis, factor, refactor, solve, refined, many, many_refined; /* ms */
    double omega, omega_refined, bytes_one, bytes;
    int inertia[2];
    bool told; /* the inertia */
} outcome;

static double error_of(const mpk_problem_view *a, const system_there *s, const double *b,
                       double *x) {
    device->table->copy(device->cuda, x, s->n * 8, s->x, s->n * 8, s->n * 8, 1, 0, NULL);
    device->table->settle(device->cuda);
    double *r = malloc((size_t)a->n * sizeof *r), *w = malloc((size_t)a->n * sizeof *w);
    const double error = backward_error(a, a->ax, x, b, r, w);
    free(r), free(w);
    return error;
}

static int configure(const cudss *c, void *config, const setting *w) {
    int status = 0;
    if (w->matching >= 0)
        status = c->config_set(config, CONFIG_MATCHING, &w->matching, sizeof w->matching);
    if (!status && w->pivots >= 0)
        status = c->config_set(config, CONFIG_PIVOTS, &w->pivots, sizeof w->pivots);
    if (!status && w->mantissa >= 0)
        status = c->config_set(config, CONFIG_EMULATION, &w->mantissa, sizeof w->mantissa);
    return status;
}

/* One right-hand side and K, without refinement and with it. */
static int solves(const cudss *c, const mpk_problem_view *a, const system_there *s, const double *b,
                  double *x, void *config, void *data, void *const one[3], void *const all[3],
                  int repeat, int64_t before, outcome *o) {
    const int steps = STEPS, none = 0;
    int status = timed(c, SOLVE, config, data, one, repeat, &o->solve);
    if (!status) o->omega = error_of(a, s, b, x);
    if (!status) status = c->config_set(config, CONFIG_REFINEMENT, &steps, sizeof steps);
    if (!status) status = timed(c, SOLVE, config, data, one, repeat, &o->refined);
    if (!status) o->omega_refined = error_of(a, s, b, x);
    o->bytes_one = (double)(before - free_bytes());
    if (!status) status = c->config_set(config, CONFIG_REFINEMENT, &none, sizeof none);
    if (!status) status = timed(c, SOLVE, config, data, all, repeat, &o->many);
    if (!status) status = c->config_set(config, CONFIG_REFINEMENT, &steps, sizeof steps);
    if (!status) status = timed(c, SOLVE, config, data, all, repeat, &o->many_refined);
    return status;
}

static int attempt(const cudss *c, const mpk_problem_view *a, const system_there *s,
                   const double *b, double *x, int repeat, const setting *w, outcome *o) {
    void *config = NULL, *data = NULL, *m[5] = {NULL}; /* A, x, b, and x, b of all columns */
    const int64_t before = free_bytes();
    size_t written = 0;
    int status = c->config_create(&config);
    if (!status) status = configure(c, config, w);
    if (!status)
        status = c->csr(&m[0], s->n, s->n, s->nnz, s->begin, NULL, s->index, s->values, R_32I,
                        R_32I, R_64F, SYMMETRIC, UPPER, ZERO);
    for (int k = 1; k < 5 && !status; k++)
        status = c->dense(&m[k], s->n, k < 3 ? 1 : s->nrhs, s->n, k % 2 ? s->x : s->b, R_64F,
                          COLUMN_MAJOR);
    for (int k = 0; k < 2 && !status; k++) {
        if (data) c->data_destroy(c->handle, data);
        data = NULL;
        status = c->data_create(c->handle, &data);
        if (!status) status = timed(c, ANALYSIS, config, data, m, 1, &o->analysis);
    }
    if (!status) status = timed(c, FACTORIZATION, config, data, m, 1, &o->factor);
    if (!status) status = timed(c, FACTORIZATION, config, data, m, repeat, &o->factor);
    if (!status) status = timed(c, REFACTORIZATION, config, data, m, repeat, &o->refactor);
    if (!status)
        status = solves(c, a, s, b, x, config, data, m, (void *const[3]){m[0], m[3], m[4]}, repeat,
                        before, o);
    if (!status) {
        o->bytes = (double)(before - free_bytes());
        o->told =
            !c->data_get(c->handle, data, DATA_INERTIA, o->inertia, sizeof o->inertia, &written);
    }
    for (int k = 0; k < 5; k++)
        if (m[k]) c->matrix_destroy(m[k]);
    if (data) c->data_destroy(c->handle, data);
    if (config) c->config_destroy(config);
    return status;
}

/* Tries a setting and prints its line; true: its answer is right. */
static bool try_setting(const cudss *c, const char *what, const mpk_problem_view *a,
                        const system_there *s, const double *b, double *x, int repeat,
                        const setting *w, outcome *o) {
    const char *pivots = w->pivots == BUNCH_KAUFMAN ? "Bunch-Kaufman" : "default";
    char words[80];
    int used = snprintf(words, sizeof words, "%s", pivots);
    if (w->matching >= 0)
        used += snprintf(words + used, sizeof words - (size_t)used, " matching %d", w->matching);
    if (w->mantissa >= 0) snprintf(words + used, sizeof words - (size_t)used, " emulated");
    *o = (outcome){0};
    const int status = attempt(c, a, s, b, x, repeat, w, o);
    if (status) {
        printf("%s: cuDSS [%s] says %d\n", what, words, status);
    } else {
        printf("%s: cuDSS [%s] analysis %.1f factor %.3f refactor %.3f solve %.3f refined %.3f "
               "many %.3f refined %.3f ms, omega %.1e %.1e, inertia %d %d%s, %.4f GB with one, "
               "%.4f GB\n",
               what, words, o->analysis, o->factor, o->refactor, o->solve, o->refined, o->many,
               o->many_refined, o->omega, o->omega_refined, o->inertia[0], o->inertia[1],
               o->told ? "" : " (not told)", o->bytes_one / 1e9, o->bytes / 1e9);
    }
    fflush(stdout);
    return !status && o->omega <= RIGHT;
}

static int try_settings(const cudss *c, const char *what, const mpk_problem_view *a,
                        const system_there *s, const double *b, double *x, int repeat) {
    static const setting settings[] = {{-1, -1, -1}, {BUNCH_KAUFMAN, -1, -1},
                                       {-1, 5, -1},  {BUNCH_KAUFMAN, 5, -1},
                                       {-1, 1, -1},  {-1, 2, -1},
                                       {-1, 3, -1},  {-1, 4, -1}};
    const int count = (int)(sizeof settings / sizeof *settings), usual = 4;
    outcome o;
    double least = INFINITY;
    int right = 0,
        plain = -1; /* the quickest right one without Bunch-Kaufman, which is not emulated */
    for (int k = 0; k < count && (k < usual || !right); k++) {
        if (!try_setting(c, what, a, s, b, x, repeat, &settings[k], &o)) continue;
        right++;
        if (settings[k].pivots < 0 && o.refactor < least) least = o.refactor, plain = k;
    }
    if (!right) return 0;
    setting emulated = plain < 0 ? settings[0] : settings[plain];
    emulated.mantissa = MANTISSA;
    (void)try_setting(c, what, a, s, b, x, repeat, &emulated, &o);
    return 0;
}

static int row(const cudss *c, mpk_context *ctx, const char *what, int repeat, int nrhs) {
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    FILE *file = fopen(what, "r");
    const mpk_status read =
        file ? mpk_problem_read(ctx, what, &problem) : mpk_problem_generate(ctx, what, 1, &problem);
    if (file) fclose(file);
    if (mpk_failed(read)) return printf("%s: cannot be read\n", what), 1;
    mpk_problem_view_get(problem, &a);
    int failed = 1;
    if (a.scalar != MPK_D || a.symmetry != MPK_SYMMETRIC || a.nnz > INT32_MAX) {
        printf("%s: not a real symmetric matrix\n", what);
    } else {
        const int64_t n = a.n, all = n * nrhs;
        int32_t *begin = malloc((size_t)(n + 1) * sizeof *begin);
        double *b = malloc((size_t)all * sizeof *b), *x = malloc((size_t)n * sizeof *x);
        for (int64_t j = 0; j <= n; j++) begin[j] = (int32_t)a.ap[j];
        for (int64_t i = 0; i < all; i++) b[i] = 1 + (double)(i % n % 5);
        /* the lower triangle by columns is the upper one by rows */
        system_there s = {n,
                          a.nnz,
                          nrhs,
                          up(begin, (n + 1) * 4),
                          up(a.ai, a.nnz * 4),
                          up(a.ax, a.nnz * 8),
                          up(b, all * 8),
                          up(b, all * 8)};
        failed = s.begin && s.index && s.values && s.b && s.x
                     ? try_settings(c, what, &a, &s, b, x, repeat)
                     : (printf("%s: it does not fit the device\n", what), 1);
        void *const there[] = {s.begin, s.index, s.values, s.b, s.x};
        for (size_t k = 0; k < sizeof there / sizeof *there; k++)
            if (there[k]) device->table->release(device->cuda, there[k]);
        free(begin), free(b), free(x);
    }
    fflush(stdout);
    mpk_problem_destroy(&problem);
    return failed;
}

int main(int argc, char **argv) {
    int repeat = 5, nrhs = 64, failed = 0;
    mpk_context *ctx = NULL;
    cudss c;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    device = mpki_cuda_keep(ctx, 0);
    if (!device || !load(&c)) return fprintf(stderr, "no device, or no cuDSS\n"), 1;
    for (int k = 1; k < argc; k++)
        if (sscanf(argv[k], "repeat=%d", &repeat) != 1 && sscanf(argv[k], "nrhs=%d", &nrhs) != 1)
            failed += row(&c, ctx, argv[k], repeat, nrhs);
    mpk_context_destroy(&ctx);
    return failed > 0;
}
