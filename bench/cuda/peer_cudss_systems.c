/* SPDX-License-Identifier: BSD-3-Clause */
/* cuDSS's uniform batches (cudss.h) on what bench/systems.c does: systems of one pattern, values of
 * the matrix, each times 1 + 0.01 u, b = A 1 of each.
 *
 *   peer_cudss_systems [repeat=N] [matching=K] [-m MATRIX_OR_SPEC]... COUNT...
 *
 * A line each: microseconds for a system to refactorize and to solve (least of N, all on the
 * device), the same with two steps of refinement, the largest componentwise backward error over all
 * systems, and that of the last one, bare and refined. */
#include "../../src/engines/cuda/module/load.h"
#include "cudss.h"

#include <math.h>
#include <metapack/metapack.h>

static const mpki_device *device;

static uint64_t state = 1;
static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) * 0x1p-52 - 1;
}

static void *up(const void *host, int64_t bytes) {
    void *p = NULL;
    if (device->table->alloc(device->cuda, bytes, &p) ||
        device->table->copy(device->cuda, p, bytes, host, bytes, bytes, 1, 1, NULL) ||
        device->table->settle(device->cuda))
        return NULL;
    return p;
}

static void ones(const mpk_problem_view *v, const double *ax, double *b) {
    memset(b, 0, (size_t)v->n * sizeof *b);
    for (int32_t j = 0; j < v->n; j++)
        for (int64_t k = v->ap[j]; k < v->ap[j + 1]; k++) {
            b[v->ai[k]] += ax[k];
            if (v->ai[k] != j) b[j] += ax[k];
        }
}

typedef struct batch {
    mpk_problem_view v;
    int64_t count;
    double *ax, *b, *x, *r, *w; /* host */
    double *values, *db, *dx;   /* device */
    int32_t *begin, *index;
} batch;

static void errors(const batch *s, double *worst, double *last) {
    const int64_t n = s->v.n, bytes = s->count * n * 8;
    device->table->copy(device->cuda, s->x, bytes, s->dx, bytes, bytes, 1, 0, NULL);
    device->table->settle(device->cuda);
    *worst = 0;
    for (int64_t k = 0; k < s->count; k++) {
        *last = backward_error(&s->v, s->ax + k * s->v.nnz, s->x + k * n, s->b + k * n, s->r, s->w);
        *worst = fmax(*worst, *last);
    }
}

static int timed(const cudss *c, int phase, void *config, void *data, void *const m[3], int repeat,
                 double *us, int64_t count) {
    int status = 0;
    *us = INFINITY;
    for (int k = 0; k < repeat && !status; k++) {
        const double start = mpki_now_s();
        status = c->execute(c->handle, phase, config, data, m[0], m[1], m[2]);
        if (!status) status = device->table->settle(device->cuda);
        *us = fmin(*us, (mpki_now_s() - start) * 1e6 / (double)count);
    }
    return status;
}

static int run(const cudss *c, const char *name, const batch *s, int repeat, int matching) {
    const int64_t n = s->v.n;
    const int steps = 2, size = (int)s->count;
    void *config = NULL, *data = NULL, *m[3] = {NULL};
    double first, refactor = 0, solve = 0, refined = 0, worst = 0, last = 0, worst2 = 0, last2 = 0;
    int status = c->config_create(&config);
    if (!status) status = c->config_set(config, CONFIG_BATCH, &size, sizeof size);
    if (!status && matching >= 0)
        status = c->config_set(config, CONFIG_MATCHING, &matching, sizeof matching);
    if (!status)
        status = c->csr(&m[0], n, n, s->v.nnz, s->begin, NULL, s->index, s->values, R_32I, R_32I,
                        R_64F, SYMMETRIC, UPPER, ZERO);
    if (!status) status = c->dense(&m[1], n, 1, n, s->dx, R_64F, COLUMN_MAJOR);
    if (!status) status = c->dense(&m[2], n, 1, n, s->db, R_64F, COLUMN_MAJOR);
    if (!status) status = c->data_create(c->handle, &data);
    if (!status) status = timed(c, ANALYSIS, config, data, m, 1, &first, s->count);
    if (!status) status = timed(c, FACTORIZATION, config, data, m, 1, &first, s->count);
    if (!status) status = timed(c, REFACTORIZATION, config, data, m, repeat, &refactor, s->count);
    if (!status) status = timed(c, SOLVE, config, data, m, repeat, &solve, s->count);
    if (!status) errors(s, &worst, &last);
    int again = status;
    if (!again) again = c->config_set(config, CONFIG_REFINEMENT, &steps, sizeof steps);
    if (!again) again = timed(c, SOLVE, config, data, m, repeat, &refined, s->count);
    if (!again) errors(s, &worst2, &last2);
    if (status)
        printf("%-28.28s %6d %6lld | cuDSS says %d\n", name, s->v.n, (long long)s->count, status);
    else
        printf("%-28.28s %6d %6lld | %8.2f %8.2f | %8.2f | %8.1e %8.1e | %8.1e %8.1e%s\n", name,
               s->v.n, (long long)s->count, refactor, solve, refined, worst, last, worst2, last2,
               again ? " (refined: refused)" : "");
    fflush(stdout);
    for (int k = 0; k < 3; k++)
        if (m[k]) c->matrix_destroy(m[k]);
    if (data) c->data_destroy(c->handle, data);
    if (config) c->config_destroy(config);
    return status != 0;
}

static int row(const cudss *c, mpk_context *ctx, const char *what, int64_t count, int repeat,
               int matching) {
    mpk_problem *p = NULL;
    batch s = {.count = count};
    FILE *file = fopen(what, "r");
    const mpk_status read =
        file ? mpk_problem_read(ctx, what, &p) : mpk_problem_generate(ctx, what, 1, &p);
    if (file) fclose(file);
    if (mpk_failed(read)) return printf("%s: cannot be read\n", what), 1;
    mpk_problem_view_get(p, &s.v);
    const int64_t n = s.v.n, nnz = s.v.nnz;
    int32_t *begin = malloc((size_t)(n + 1) * sizeof *begin);
    s.ax = malloc((size_t)(count * nnz) * 8), s.b = malloc((size_t)(count * n) * 8);
    s.x = malloc((size_t)(count * n) * 8);
    s.r = malloc((size_t)n * 8), s.w = malloc((size_t)n * 8);
    for (int64_t j = 0; j <= n; j++) begin[j] = (int32_t)s.v.ap[j];
    for (int64_t k = 0; k < count * nnz; k++)
        s.ax[k] = ((const double *)s.v.ax)[k % nnz] * (1 + 0.01 * uniform());
    for (int64_t k = 0; k < count; k++) ones(&s.v, s.ax + k * nnz, s.b + k * n);
    /* the lower triangle by columns is the upper one by rows */
    s.begin = up(begin, (n + 1) * 4), s.index = up(s.v.ai, nnz * 4);
    s.values = up(s.ax, count * nnz * 8), s.db = up(s.b, count * n * 8);
    s.dx = up(s.b, count * n * 8);
    const char *name = strrchr(what, '/') ? strrchr(what, '/') + 1 : what;
    const int failed = s.begin && s.index && s.values && s.db && s.dx
                           ? run(c, name, &s, repeat, matching)
                           : (printf("%s: it does not fit the device\n", what), 1);
    void *const there[] = {s.begin, s.index, s.values, s.db, s.dx};
    for (size_t k = 0; k < sizeof there / sizeof *there; k++)
        if (there[k]) device->table->release(device->cuda, there[k]);
    free(begin), free(s.ax), free(s.b), free(s.x), free(s.r), free(s.w);
    mpk_problem_destroy(&p);
    return failed;
}

int main(int argc, char **argv) {
    int repeat = 5, matching = -1, failed = 0, matrices = 0, counts = 0;
    const char *matrix[64];
    int64_t count[16];
    mpk_context *ctx = NULL;
    cudss c;
    for (int k = 1; k < argc; k++)
        if (!strcmp(argv[k], "-m") && k + 1 < argc && matrices < 64)
            matrix[matrices++] = argv[++k];
        else if (sscanf(argv[k], "repeat=%d", &repeat) != 1 &&
                 sscanf(argv[k], "matching=%d", &matching) != 1 && counts < 16)
            count[counts++] = atoll(argv[k]);
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    device = mpki_cuda_keep(ctx, 0);
    if (!device || !load(&c)) return fprintf(stderr, "no device, or no cuDSS\n"), 1;
    printf("%-28s %6s %6s | %8s %8s | %8s | %8s %8s | %8s %8s\n", "cuDSS, matrix", "n", "count",
           "refactor", "solve", "refined", "omega", "last", "refined", "last");
    for (int m = 0; m < matrices; m++)
        for (int k = 0; k < counts; k++)
            failed += row(&c, ctx, matrix[m], count[k], repeat, matching);
    mpk_context_destroy(&ctx);
    return failed > 0;
}
