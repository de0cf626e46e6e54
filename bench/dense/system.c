/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_dense_sysv() on the device, all data there, or on the processor: time, split and errors for
 * methods and precisions.
 *
 *   system [OPTION...] N LETTER METHOD:PRECISION[:ACCURACY][,...]
 *
 *   --nrhs K        right-hand sides (1)
 *   --repeat K      runs, the quickest counts (3)
 *   --out FILE      JSON rows are appended to it
 *   --dominant      1.5 sqrt(n) of changing sign on the diagonal, well conditioned; else random
 *   --hermitian     of complex entries
 *   --transfers     the time counts A and B on their way there and X on its way back, all of them
 *                   from and to ordinary memory
 *   --host          on the processor, by all of its threads
 *   --npy A B       A and B from .npy files, Fortran order; N is theirs */
#include "../../src/core/core.h"
#include "../../src/core/random.h"
#include "../../src/engines/cuda/module/load.h"

#include <getopt.h>
#include <math.h>
#include <metapack/dense.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    int64_t n, size, bytes; /* bytes of an entry, of A */
    mpk_scalar scalar;
    char letter;
    int repeat, hermitian, transfers, host;
    int32_t nrhs;
    const char *matrix;
    FILE *rows;
    mpk_context *ctx;
    const mpki_device *d;
    char *A, *B, *X; /* on the host */
    void *a, *f, *b, *x;
} job;

static uint64_t seed = 1;
static double uniform(void) {
    return mpki_random_signed(&seed);
}

static _Noreturn void stop(const job *j, const char *what) {
    const char *text = "";
    if (j->ctx) mpk_last_error(j->ctx, NULL, NULL, &text);
    fprintf(stderr, "system: %s: %s\n", what, text);
    exit(1);
}

static int method_named(const char *name) {
    for (int m = 0; m < MPK_DENSE_COUNT; m++)
        if (!strcmp(name, mpk_dense_method_name((mpk_dense_method)m))) return m;
    return -1;
}

static int precision_named(const char *name) {
    for (int p = 0; p <= MPK_DENSE_HALF; p++)
        if (!strcmp(name, mpk_dense_precision_name((mpk_dense_precision)p))) return p;
    return -1;
}

/* memory where the job's matrices lie */
static void *take(job *j, int64_t bytes) {
    void *p = NULL;
    if (j->host)
        p = aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64);
    else if (j->d->table->alloc(j->d->cuda, bytes + 64, &p))
        p = NULL;
    if (!p) stop(j, "no memory");
    return p;
}

static void drop(job *j, void *p) {
    if (j->host)
        free(p);
    else
        j->d->table->release(j->d->cuda, p);
}

static void transfer(job *j, void *to, const void *from, int64_t bytes, int there) {
    if (j->host)
        memcpy(to, from, (size_t)bytes);
    else if (j->d->table->copy(j->d->cuda, to, bytes, from, bytes, bytes, 1, there, NULL) ||
             j->d->table->synchronize(j->d->cuda, NULL))
        stop(j, "copy");
}

static void fill(job *j, int dominant) {
    const int64_t n = j->n, parts = j->scalar >= MPK_C ? 2 : 1;
    const double diagonal = dominant ? 1.5 * sqrt((double)n) : 0;
    for (int64_t c = 0; c < n + j->nrhs; c++) {
        char *column = c < n ? j->A + c * n * j->size : j->B + (c - n) * n * j->size;
        for (int64_t i = 0; i < n * parts; i++) {
            double v = uniform();
            if (c < n && diagonal > 0 && i == c * parts) v = c & 1 ? diagonal : -diagonal;
            if (j->size / parts == 4)
                ((float *)(void *)column)[i] = (float)v;
            else
                ((double *)(void *)column)[i] = v;
        }
    }
}

/* the entries of a .npy file of format 1 */
static void read_npy(job *j, const char *path, char *to, int64_t bytes) {
    unsigned char head[10];
    FILE *file = fopen(path, "rb");
    if (!file || fread(head, 1, 10, file) != 10 || memcmp(head, "\x93NUMPY\1", 7) ||
        fseek(file, 10 + head[8] + 256 * head[9], SEEK_SET) ||
        fread(to, 1, (size_t)bytes, file) != (size_t)bytes)
        stop(j, path);
    fclose(file);
}

/* ||b - A x||_inf / (n ||A||_inf ||x||_inf) of the first right-hand side, A's lower triangle: the
 * measure of the paper's Tables 1 and 2; single complex matrices alone */
static double scaled_residual(const job *j) {
    const float *a = (const float *)(const void *)j->A, *b = (const float *)(const void *)j->B,
                *x = (const float *)(const void *)j->X;
    const int64_t n = j->n;
    double worst = 0, norm = 0, most = 0;
    double *r = calloc((size_t)n * 3, sizeof *r), *row = r + 2 * n;
    if (j->scalar != MPK_C || j->hermitian || !r) return free(r), NAN;
    for (int64_t i = 0; i < 2 * n; i++) r[i] = b[i];
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = c; i < n; i++) {
            const double re = a[2 * (i + c * n)], im = a[2 * (i + c * n) + 1];
            r[2 * i] -= re * x[2 * c] - im * x[2 * c + 1];
            r[2 * i + 1] -= re * x[2 * c + 1] + im * x[2 * c];
            row[i] += hypot(re, im);
            if (i == c) continue;
            r[2 * c] -= re * x[2 * i] - im * x[2 * i + 1];
            r[2 * c + 1] -= re * x[2 * i + 1] + im * x[2 * i];
            row[c] += hypot(re, im);
        }
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, hypot(r[2 * i], r[2 * i + 1])), norm = fmax(norm, row[i]);
        most = fmax(most, hypot(x[2 * i], x[2 * i + 1]));
    }
    free(r);
    return worst / ((double)n * norm * most);
}

static void tell(job *j, const char *method, const char *precision, mpk_status status,
                 double time_s, const mpk_dense_info *best) {
    const char *text = "";
    if (mpk_failed(status)) mpk_last_error(j->ctx, NULL, NULL, &text);
    const double residual = mpk_failed(status) ? NAN : scaled_residual(j);
    printf("%c%s %s:%s n=%lld nrhs=%d %s%s total %.3f ms factorize %.3f solve %.3f refine %.3f "
           "omega %.2e -> %.2e steps %d gmres %d %.2g %s\n",
           j->letter, j->hermitian ? "h" : "", method, precision, (long long)j->n, j->nrhs,
           j->host        ? "host "
           : j->transfers ? "transfers "
                          : "",
           mpk_status_name(status), time_s * 1e3, best->factorize_s * 1e3, best->solve_s * 1e3,
           best->refine_s * 1e3, best->unrefined, best->componentwise, best->iterations,
           best->gmres, residual, text);
    fflush(stdout);
    if (!j->rows) return;
    fprintf(j->rows,
            "{\"row\": \"system\", \"matrix\": \"%s\", \"letter\": \"%c\", \"hermitian\": %d, "
            "\"method\": \"%s\", \"precision\": \"%s\", \"n\": %lld, \"nrhs\": %d, "
            "\"transfers\": %d, \"host\": %d, \"status\": \"%s\", \"time_s\": %.6g, "
            "\"factorize_s\": %.6g, \"solve_s\": %.6g, \"refine_s\": %.6g, \"omega\": %.3g, "
            "\"omega_refined\": %.3g, \"steps\": %d, \"gmres\": %d, \"scaled_residual\": %.3g}\n",
            j->matrix, j->letter, j->hermitian, method, precision, (long long)j->n, j->nrhs,
            j->transfers, j->host, mpk_status_name(status), time_s, best->factorize_s,
            best->solve_s, best->refine_s, best->unrefined, best->componentwise, best->iterations,
            best->gmres, residual);
    fflush(j->rows);
}

/* METHOD[:PRECISION[:ACCURACY]] */
static void run(job *j, char *item) {
    char *precision = strchr(item, ':'), *accuracy = NULL;
    if (precision) *precision++ = 0, accuracy = strchr(precision, ':');
    if (accuracy) *accuracy++ = 0;
    if (!precision) precision = "working";
    const int64_t column = j->n * j->size * j->nrhs;
    mpk_dense dense;
    mpk_dense_sizes sizes;
    mpk_dense_info info, best;
    void *work = NULL, *pivots = NULL, *extra = NULL;
    double least = INFINITY;
    mpk_dense_init(&dense);
    dense.n = j->n, dense.scalar = j->scalar;
    dense.symmetry = j->hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC;
    dense.memory = j->host ? MPK_HOST : MPK_DEVICE;
    dense.method = (mpk_dense_method)method_named(item);
    dense.precision = (mpk_dense_precision)precision_named(precision);
    if (accuracy) dense.accuracy = atof(accuracy);
    memset(&best, 0, sizeof best);
    mpk_status status = mpk_dense_query(j->ctx, &dense, j->nrhs, &sizes);
    if (!mpk_failed(status)) {
        work = take(j, sizes.sysv_bytes);
        pivots = take(j, sizes.pivots * (int64_t)sizeof(int32_t));
        extra = take(j, sizes.extra_bytes);
    }
    for (int k = 0; k <= j->repeat && !mpk_failed(status); k++) {
        mpk_dense_factor factor = {.struct_size = sizeof factor, .f = j->f, .ldf = j->n};
        factor.pivots = pivots, factor.extra = extra;
        const double start = mpki_now_s();
        if (j->transfers) transfer(j, j->a, j->A, j->bytes, 1), transfer(j, j->b, j->B, column, 1);
        status = mpk_dense_sysv(j->ctx, &dense, j->a, j->n, &factor, j->nrhs, j->b, j->n, j->x,
                                j->n, work, sizes.sysv_bytes, &info);
        if (j->transfers) transfer(j, j->X, j->x, column, 0);
        const double t = mpki_now_s() - start;
        if (k && t < least) least = t, best = info;
        if (t > 20) break;
    }
    if (!mpk_failed(status)) transfer(j, j->X, j->x, column, 0);
    tell(j, item, precision, status, least, &best);
    if (work) drop(j, work), drop(j, pivots), drop(j, extra);
}

int main(int argc, char **argv) {
    static const struct option known[] = {
        {"nrhs", 1, 0, 'n'},     {"repeat", 1, 0, 'r'},    {"out", 1, 0, 'o'},
        {"dominant", 0, 0, 'd'}, {"hermitian", 0, 0, 'h'}, {"transfers", 0, 0, 't'},
        {"host", 0, 0, 'c'},     {"npy", 1, 0, 'y'},       {0, 0, 0, 0}};
    job j = {.repeat = 3, .nrhs = 1, .matrix = "random"};
    const char *file = NULL;
    int dominant = 0;
    for (int o; (o = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (o == 'n')
            j.nrhs = atoi(optarg);
        else if (o == 'r')
            j.repeat = atoi(optarg);
        else if (o == 'o')
            j.rows = fopen(optarg, "a");
        else if (o == 'd')
            dominant = 1, j.matrix = "dominant";
        else if (o == 'h')
            j.hermitian = 1;
        else if (o == 't')
            j.transfers = 1;
        else if (o == 'c')
            j.host = 1;
        else if (o == 'y')
            j.matrix = file = optarg;
        else
            return 2;
    }
    const char *right = file ? argv[optind++] : NULL;
    if (argc - optind < 3) return fprintf(stderr, "system [OPTION...] N LETTER METHODS\n"), 2;
    j.n = atoll(argv[optind]), j.letter = argv[optind + 1][0];
    j.scalar = j.letter == 's' ? MPK_S : j.letter == 'd' ? MPK_D : j.letter == 'c' ? MPK_C : MPK_Z;
    j.size = (int64_t)mpk_scalar_size(j.scalar), j.bytes = j.n * j.n * j.size;
    if (mpk_failed(mpk_context_create(NULL, &j.ctx))) return 1;
    if (!j.host && !(j.d = mpki_cuda_open(j.ctx, 0))) stop(&j, "device");
    const int64_t columns = j.n * j.size * j.nrhs;
    j.A = malloc((size_t)j.bytes), j.B = malloc((size_t)columns), j.X = malloc((size_t)columns);
    if (!j.A || !j.B || !j.X) stop(&j, "no memory");
    if (file)
        read_npy(&j, file, j.A, j.bytes), read_npy(&j, right, j.B, columns);
    else
        fill(&j, dominant);
    j.a = take(&j, j.bytes), j.f = take(&j, j.bytes);
    j.b = take(&j, columns), j.x = take(&j, columns);
    transfer(&j, j.a, j.A, j.bytes, 1), transfer(&j, j.b, j.B, columns, 1);
    for (char *item = strtok(argv[optind + 2], ","); item; item = strtok(NULL, ",")) run(&j, item);
    mpk_context_destroy(&j.ctx);
    return 0;
}
