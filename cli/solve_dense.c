/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack solve of a dense matrix: an array file, or any with --dense. */
#include "cli.h"
#include "dense.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const methods[] = {"auto",  "tile",      "bunch-kaufman", "rook",
                                      "aasen", "butterfly", "none",          NULL};

int cli_dense_method(const char *word) {
    for (int k = 0; methods[k]; k++)
        if (!strcmp(word, methods[k])) return k;
    if (!strcmp(word, "on")) return MPK_DENSE_AUTO;
    return -1;
}

bool cli_dense_reads(const cli_args *args, int method, const char *key) {
    const bool automatic = method == MPK_DENSE_AUTO; /* it may come to any of them */
    const bool random = method == MPK_DENSE_BUTTERFLY || method == MPK_DENSE_NONE;
    if (!strcmp(key, "pivot_threshold")) return automatic || method == MPK_DENSE_TILE;
    if (!strcmp(key, "zero_tolerance")) return !random;
    if (!strcmp(key, "seed")) return automatic || method == MPK_DENSE_BUTTERFLY;
    return strcmp(key, "deterministic") || args->options.deterministic != MPK_OFF;
}

bool cli_is_array(const char *path) {
    char line[128] = "";
    struct stat there;
    if (!path || !strcmp(path, "-")) return false;
    if (stat(path, &there) || !S_ISREG(there.st_mode)) return false; /* a pipe is read once */
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool array = fgets(line, sizeof line, file) && !strncmp(line, "%%MatrixMarket", 14) &&
                 strstr(line, " array ") != NULL;
    fclose(file);
    return array;
}

/* The lower triangle of a problem, column-major, zeros where nothing is stored. */
static void *dense_of(const mpk_problem_view *p) {
    const size_t size = mpk_scalar_size(p->scalar);
    char *a = calloc((size_t)p->n * (size_t)p->n + 1, size);
    if (!a) return NULL;
    for (int32_t j = 0; j < p->n; j++)
        for (int64_t k = p->ap[j]; k < p->ap[j + 1]; k++)
            memcpy(a + ((size_t)p->ai[k] + (size_t)j * (size_t)p->n) * size,
                   (const char *)p->ax + (size_t)k * size, size);
    return a;
}

typedef struct work {
    mpk_problem *problem;
    void *a, *b, *x, *f, *extra;
    int32_t *pivots;
    int32_t nrhs;
    mpk_asymmetry asymmetry;
    double read_s;
    char message[160]; /* of errors found here, not in the library */
} work;

/* Refuse what takes more than memory_limit, or than the machine has free: A, if it is not there
 * yet, and what else is needed. */
static mpk_status check_memory(const cli_args *args, const mpk_problem_view *p, double more,
                               work *w) {
    const bool limited = args->options.memory_limit > 0;
    const double a = (double)p->n * p->n * (double)mpk_scalar_size(p->scalar);
    const double bytes = (limited || !w->a ? a : 0) + more;
    const double limit = limited ? args->options.memory_limit : (double)mpk_memory_available();
    if (bytes <= limit) return MPK_OK;
    snprintf(w->message, sizeof w->message,
             "as a dense matrix it would take %.0f bytes: more than the %.0f that %s", bytes, limit,
             limited ? "memory_limit allows" : "this machine has free");
    return MPK_ERR_MEMORY;
}

static mpk_status load(cli_args *args, const mpk_job *job, work *w, mpk_problem_view *p) {
    mpk_status status =
        mpk_context_set_symmetry_tolerance(args->ctx, args->options.symmetry_tolerance);
    if (!mpk_failed(status))
        status = job->matrix ? mpk_problem_read(args->ctx, job->matrix, &w->problem)
                             : mpk_problem_generate(args->ctx, job->generate, args->options.seed,
                                                    &w->problem);
    if (mpk_failed(status)) return status;
    mpk_problem_view_get(w->problem, p);
    mpk_problem_asymmetry_get(w->problem, &w->asymmetry);
    if (p->symmetry == MPK_GENERAL) {
        snprintf(w->message, sizeof w->message,
                 "the matrix is not symmetric, and dense methods are for matrices that are: "
                 "--dense off solves it as a sparse one");
        return MPK_ERR_UNSUPPORTED;
    }
    status = check_memory(args, p, 0, w);
    if (mpk_failed(status)) return status;
    w->a = dense_of(p);
    if (!w->a) return MPK_ERR_MEMORY;
    if (job->rhs) return mpk_rhs_read(args->ctx, job->rhs, p->n, p->scalar, &w->nrhs, &w->b);
    w->nrhs = 1; /* A times ones */
    const size_t size = mpk_scalar_size(p->scalar);
    char *ones = calloc((size_t)p->n + 1, size);
    w->b = calloc((size_t)p->n + 1, size);
    if (!ones || !w->b) status = MPK_ERR_MEMORY;
    for (int32_t i = 0; i < p->n && ones; i++) {
        if (p->scalar == MPK_S || p->scalar == MPK_C)
            *(float *)(void *)(ones + (size_t)i * size) = 1;
        else
            *(double *)(void *)(ones + (size_t)i * size) = 1;
    }
    if (!mpk_failed(status))
        status = mpk_problem_multiply(args->ctx, w->problem, 1, ones, p->n, w->b, p->n);
    free(ones);
    return status;
}

static mpk_status run(cli_args *args, const mpk_problem_view *p, work *w, mpk_dense *d,
                      mpk_dense_info *info) {
    mpk_dense_sizes sizes;
    mpk_status status = mpk_dense_query(args->ctx, d, w->nrhs, &sizes);
    if (!mpk_failed(status))
        status = check_memory(
            args, p,
            (double)sizes.factor_bytes + (double)sizes.extra_bytes + (double)sizes.sysv_bytes, w);
    if (mpk_failed(status)) return status;
    w->f = malloc((size_t)sizes.factor_bytes + 64);
    w->pivots = malloc((size_t)sizes.pivots * sizeof(int32_t) + 64);
    w->extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
    w->x = malloc((size_t)p->n * (size_t)w->nrhs * mpk_scalar_size(p->scalar) + 64);
    if (!w->f || !w->pivots || !w->extra || !w->x) return MPK_ERR_MEMORY;
    mpk_dense_factor f = {.struct_size = sizeof f, .f = w->f, .ldf = p->n > 0 ? p->n : 1};
    f.pivots = w->pivots, f.extra = w->extra;
    status = mpk_dense_sysv(args->ctx, d, w->a, f.ldf, &f, w->nrhs, w->b, p->n, w->x, p->n, NULL, 0,
                            info);
    if (!mpk_failed(status) && info->method == MPK_DENSE_AASEN) {
        mpk_status counted = mpk_dense_inertia(args->ctx, d, &f, NULL, 0, &info->inertia);
        if (mpk_failed(counted)) return counted;
    }
    return status;
}

/* ---- words ----------------------------------------------------------------------------------- */

static const char *field(const mpk_problem_view *p) {
    return p->symmetry == MPK_HERMITIAN               ? "Hermitian"
           : p->scalar == MPK_C || p->scalar == MPK_Z ? "complex symmetric"
                                                      : "real symmetric";
}

static void tell(const cli_args *args, const char *source, const mpk_problem_view *p, const work *w,
                 const mpk_dense_info *i, mpk_status status) {
    const double n = p->n, flops = n * n * n / 3 * (p->scalar >= MPK_C ? 4 : 1);
    if (args->quiet) return;
    fprintf(stderr, "Matrix        %s\n              n = %d, dense %s\n", source, p->n, field(p));
    if (w->asymmetry.pairs > 0)
        fprintf(
            stderr,
            "              %lld pairs of entries differ, by up to %.1e of the larger: the mean of "
            "the triangles is solved, errors are measured in that\n",
            (long long)w->asymmetry.pairs, w->asymmetry.apart);
    for (int k = 0; k < i->attempts; k++)
        fprintf(stderr, "Attempt       %s in %s precision: %s, backward error %.3g, %.3g s\n",
                mpk_dense_method_name(i->attempt[k].method),
                mpk_dense_precision_name(i->attempt[k].precision),
                mpk_status_name(i->attempt[k].status), i->attempt[k].componentwise,
                i->attempt[k].time_s);
    fprintf(stderr, "Factor        %s in %s precision, %s; %.3g GFLOP/s\n",
            mpk_dense_method_name(i->method), mpk_dense_precision_name(i->precision), i->engine,
            i->factorize_s > 0 ? flops / i->factorize_s * 1e-9 : 0);
    fprintf(stderr, "Pivots        %lld of 2x2, %lld columns delayed, %lld zero; growth %.3g\n",
            (long long)i->two_by_two, (long long)i->delayed, (long long)i->zero_pivots, i->growth);
    if (p->scalar < MPK_C || p->symmetry == MPK_HERMITIAN)
        fprintf(stderr, "Inertia       %lld positive, %lld negative, %lld zero%s\n",
                (long long)i->inertia.positive, (long long)i->inertia.negative,
                (long long)i->inertia.zero,
                i->inertia.certified                         ? "; certified"
                : i->inertia.examined || i->inertia.zero > 0 ? "; NOT certified"
                                                             : "; not examined");
    fprintf(stderr, "Solution      %d right-hand side%s, %d steps of refinement\n", w->nrhs,
            w->nrhs == 1 ? "" : "s", i->iterations);
    fprintf(stderr, "Accuracy      componentwise backward error %.3g (%.3g before refinement)\n",
            i->componentwise, i->unrefined);
    fprintf(stderr, "              normwise backward error %.3g\n", i->normwise);
    if (i->condition > 0) fprintf(stderr, "Condition     %.3g\n", i->condition);
    fprintf(stderr, "Time          factorize %.3g s, solve %.3g s, refine %.3g s\n", i->factorize_s,
            i->solve_s, i->refine_s);
    fprintf(stderr, "Result        %s%s\n", status == MPK_OK ? "good" : mpk_status_text(status),
            status != MPK_SINGULAR ? ""
            : i->solved            ? "; the system is consistent, x is not unique"
                                   : "; the system is inconsistent: no x solves it");
}

static void number(const char *key, double x) { /* JSON knows no infinity */
    if (x - x == 0)
        printf(", \"%s\": %.6g", key, x);
    else
        printf(", \"%s\": null", key);
}

static void print_json(const char *source, const mpk_problem_view *p, const work *w,
                       const mpk_dense_info *i, mpk_status status) {
    printf("{\"format\": \"metapack-dense/1\", \"status\": \"%s\", \"source\": ",
           mpk_status_name(status));
    cli_print_json_string(stdout, source);
    printf(", \"n\": %d, \"field\": \"%s\", \"nrhs\": %d, \"engine\": \"%s\", \"method\": \"%s\", "
           "\"precision\": \"%s\", \"fallbacks\": %d, \"attempts\": [",
           p->n, field(p), w->nrhs, i->engine, mpk_dense_method_name(i->method),
           mpk_dense_precision_name(i->precision), i->fallbacks);
    for (int k = 0; k < i->attempts; k++) {
        const mpk_dense_attempt *t = &i->attempt[k];
        printf("%s{\"method\": \"%s\", \"precision\": \"%s\", \"status\": \"%s\"", k ? ", " : "",
               mpk_dense_method_name(t->method), mpk_dense_precision_name(t->precision),
               mpk_status_name(t->status));
        number("componentwise", t->componentwise);
        number("time_s", t->time_s);
        printf("}");
    }
    printf(
        "], \"inertia\": {\"positive\": %lld, \"negative\": %lld, \"zero\": %lld, \"certified\": "
        "%s, \"examined\": %s}, \"two_by_two\": %lld, \"delayed\": %lld, \"iterations\": %d",
        (long long)i->inertia.positive, (long long)i->inertia.negative, (long long)i->inertia.zero,
        i->inertia.certified ? "true" : "false", i->inertia.examined ? "true" : "false",
        (long long)i->two_by_two, (long long)i->delayed, i->iterations);
    number("growth", i->growth), number("max_l", i->max_l), number("unrefined", i->unrefined);
    number("componentwise", i->componentwise), number("normwise", i->normwise);
    number("condition", i->condition), number("factorize_s", i->factorize_s);
    number("solve_s", i->solve_s), number("refine_s", i->refine_s);
    printf(", \"solved\": %s", i->solved ? "true" : "false");
    if (w->asymmetry.pairs > 0) {
        printf(", \"asymmetry\": {\"pairs\": %lld, \"rough\": %lld", (long long)w->asymmetry.pairs,
               (long long)w->asymmetry.rough);
        number("apart", w->asymmetry.apart);
        printf("}");
    }
    printf("}\n");
}

int cli_solve_dense(cli_args *args, const mpk_job *job, int method) {
    work w = {0};
    mpk_problem_view p = {0};
    mpk_dense d;
    mpk_dense_info info = {.engine = ""};
    const char *source = job->matrix ? job->matrix : job->generate, *text = NULL;
    mpk_dense_init(&d);
    mpk_status status = load(args, job, &w, &p);
    /* only the file asked for this; and dense methods know one triangle, sparse ones both */
    const bool apart = !mpk_failed(status) && w.asymmetry.pairs > 0;
    if ((status == MPK_ERR_UNSUPPORTED || apart) && !args->dense) {
        if (job->rhs)
            mpk_free(args->ctx, &w.b);
        else
            free(w.b);
        free(w.a);
        mpk_problem_destroy(&w.problem);
        return cli_run(args, job, NULL);
    }
    if (!mpk_failed(status)) {
        d.scalar = p.scalar, d.symmetry = p.symmetry, d.n = p.n;
        d.method = (mpk_dense_method)method, d.threads = args->options.threads;
        d.precision =
            args->options.precision == MPK_PRECISION_SINGLE ? MPK_DENSE_SINGLE : MPK_DENSE_WORKING;
        if (args->options.pivot_threshold > 0) d.pivot_threshold = args->options.pivot_threshold;
        d.zero_tolerance = args->options.zero_tolerance;
        d.refine = args->options.refine, d.accuracy = args->options.accuracy;
        d.condition = args->options.condition, d.seed = args->options.seed;
        status = run(args, &p, &w, &d, &info);
    }
    if (!mpk_failed(status) && job->output) {
        mpk_status written = mpk_rhs_write(args->ctx, job->output, p.n, p.scalar, w.nrhs, w.x, p.n);
        if (mpk_failed(written)) status = written;
    }
    if (mpk_failed(status)) {
        mpk_last_error(args->ctx, NULL, NULL, &text);
        if (w.message[0]) text = w.message;
        if (!text || !*text) text = mpk_status_text(status);
        fprintf(stderr, "metapack %s: %s\n", args->name, text);
        cli_print_failure(args, status, text);
    } else {
        tell(args, source, &p, &w, &info, status);
        cli_tell_written(args, stderr);
        if (args->json) print_json(source, &p, &w, &info, status);
    }
    if (job->rhs)
        mpk_free(args->ctx, &w.b);
    else
        free(w.b);
    free(w.a), free(w.x), free(w.f), free(w.extra), free(w.pivots);
    mpk_problem_destroy(&w.problem);
    return mpk_exit_code(status);
}
