/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns and factors for the calls of all interfaces, made with METAPACK. */
#define _GNU_SOURCE
#include "system.h"

#include "handles.h"
#include "report.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ip_pattern {
    mpk_allocator allocator; /* alloc NULL: the C library's */
    _Atomic int references;
    int n, base;
    int64_t nnz;
    int *ptr, *row; /* as given */
    mpk_ordering ordering;
    unsigned forks;        /* ip_forks() where the mutex was made */
    pthread_mutex_t mutex; /* guards what follows */
    mpk_context *ctx;
    mpk_analysis *an;
    double analysis_s; /* of analyses that no factorization has told yet */
    int number;        /* in the report, 0: none */
    double *last;      /* the values before, for the report */
};

struct ip_factor {
    ip_pattern *pattern;
    mpk_context *ctx;
    mpk_factor *fac;
    int event; /* in the report, 0: none */
};

/* ---- memory ---------------------------------------------------------------------------------- */

static void *take(const mpk_allocator *from, int64_t count, size_t size) {
    size_t bytes = (size_t)(count ? count : 1) * size; /* counts are those of int arrays: no wrap */
    void *ptr = from->alloc ? from->alloc(from->user, bytes) : malloc(bytes);
    if (ptr) memset(ptr, 0, bytes);
    return ptr;
}

static void give(const mpk_allocator *from, void *ptr, int64_t count, size_t size) {
    if (!ptr) return;
    if (from->alloc)
        from->release(from->user, ptr, (size_t)(count ? count : 1) * size);
    else
        free(ptr);
}

static mpk_status new_context(const mpk_allocator *allocator, mpk_context **ctx) {
    return mpk_context_create(allocator->alloc ? allocator : NULL, ctx);
}

/* In a forked child a thread of the parent may have it for ever: it is made anew. */
static void lock(ip_pattern *p) {
    if (p->forks != ip_forks()) pthread_mutex_init(&p->mutex, NULL);
    p->forks = ip_forks();
    pthread_mutex_lock(&p->mutex);
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* Sorted rows of the lower triangle in every column? */
static bool well_formed(int n, const int *ptr, const int *row, int base) {
    if (ptr[0] != base) return false;
    for (int j = 0; j < n; j++) {
        if (ptr[j + 1] < ptr[j]) return false;
        int last = j - 1;
        for (int k = ptr[j] - base; k < ptr[j + 1] - base; k++) {
            int i = row[k] - base;
            if (i <= last || i >= n) return false;
            last = i;
        }
    }
    return true;
}

static void destroy(ip_pattern *p) {
    mpk_allocator from = p->allocator;
    if (p->number) ip_report_write();
    free(p->last);
    mpk_analysis_destroy(&p->an);
    mpk_context_destroy(&p->ctx);
    give(&from, p->ptr, (int64_t)p->n + 1, sizeof *p->ptr);
    give(&from, p->row, p->nnz, sizeof *p->row);
    if (p->forks == ip_forks()) pthread_mutex_destroy(&p->mutex);
    give(&from, p, 1, sizeof *p);
}

mpk_status ip_pattern_create(const mpk_allocator *allocator, int n, const int *ptr, const int *row,
                             int base, mpk_ordering ordering, ip_pattern **out) {
    const mpk_allocator from = allocator ? *allocator : (mpk_allocator){0};
    *out = NULL;
    if (n < 0 || !ptr || (!row && n > 0 && ptr[n] != ptr[0])) return MPK_ERR_ARGUMENT;
    if (!well_formed(n, ptr, row, base)) return MPK_ERR_FORMAT;
    ip_pattern *p = take(&from, 1, sizeof *p);
    if (!p) return MPK_ERR_MEMORY;
    if (pthread_mutex_init(&p->mutex, NULL)) {
        give(&from, p, 1, sizeof *p);
        return MPK_ERR_MEMORY;
    }
    p->allocator = from;
    p->forks = ip_forks();
    atomic_init(&p->references, 1);
    p->n = n;
    p->base = base;
    p->nnz = ptr[n] - base;
    p->ordering = ordering;
    p->ptr = take(&from, (int64_t)n + 1, sizeof *p->ptr);
    p->row = take(&from, p->nnz, sizeof *p->row);
    const mpk_status made = p->ptr && p->row ? new_context(&from, &p->ctx) : MPK_ERR_MEMORY;
    if (mpk_failed(made)) {
        destroy(p);
        return made;
    }
    memcpy(p->ptr, ptr, ((size_t)n + 1) * sizeof *ptr);
    if (p->nnz) memcpy(p->row, row, (size_t)p->nnz * sizeof *row);
    p->number = ip_report_pattern(n, p->nnz);
    *out = p;
    return MPK_OK;
}

void ip_pattern_release(ip_pattern *p) {
    if (p && atomic_fetch_sub(&p->references, 1) == 1) destroy(p);
}

int ip_pattern_n(const ip_pattern *p) {
    return p->n;
}

bool ip_pattern_equal(const ip_pattern *p, const int *ptr, const int *row, int base) {
    if (!ptr && !row) return true;
    if (!ptr || (!row && p->nnz) || base != p->base) return false;
    return !memcmp(ptr, p->ptr, ((size_t)p->n + 1) * sizeof *ptr) &&
           (p->nnz == 0 || !memcmp(row, p->row, (size_t)p->nnz * sizeof *row));
}

/* The number of threads, for which Ipopt has no option. */
static int threads_wanted(void) {
    const char *text = getenv("METAPACK_THREADS");
    long threads = text ? strtol(text, NULL, 10) : 0;
    return threads >= 1 && threads <= 1024 ? (int)threads : 0;
}

/* METAPACK_OPTIONS="device=cuda memory_limit=2e10": the library's options by their keys, but for
 * those that are the caller's own. A word that is none is a failure: half of a wish is nobody's
 * wish. */
static mpk_status read_environment(mpk_context *ctx, mpk_options *options) {
    static const char *const not_here[] = {"method", "static_shift", "pivot_threshold",
                                           "zero_tolerance"};
    static const char between[] = " ,\t\n";
    options->threads = threads_wanted();
    for (const char *text = getenv("METAPACK_OPTIONS"); text && *text;) {
        char word[128];
        text += strspn(text, between);
        const size_t length = strcspn(text, between);
        if (length == 0) break;
        if (length >= sizeof word) return MPK_ERR_UNSUPPORTED;
        memcpy(word, text, length);
        word[length] = '\0';
        text += length;
        char *value = strchr(word, '=');
        if (!value) return MPK_ERR_UNSUPPORTED;
        *value++ = '\0';
        for (size_t k = 0; k < sizeof not_here / sizeof *not_here; k++)
            if (!strcmp(word, not_here[k])) return MPK_ERR_UNSUPPORTED;
        if (mpk_failed(mpk_options_set(ctx, options, word, value))) return MPK_ERR_UNSUPPORTED;
    }
    return MPK_OK;
}

/* The matrix as METAPACK's problem. */
static mpk_status make_problem(const ip_pattern *p, mpk_context *ctx, const double *val,
                               mpk_problem **problem) {
    mpk_status status = MPK_ERR_MEMORY;
    int64_t *ap = take(&p->allocator, (int64_t)p->n + 1, sizeof *ap);
    int32_t *ai = take(&p->allocator, p->nnz, sizeof *ai);
    if (ap && ai) {
        for (int j = 0; j <= p->n; j++) ap[j] = p->ptr[j] - p->base;
        for (int64_t k = 0; k < p->nnz; k++) ai[k] = p->row[k] - p->base;
        status =
            mpk_problem_from_csc(ctx, p->n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, val, problem);
    }
    give(&p->allocator, ap, (int64_t)p->n + 1, sizeof *ap);
    give(&p->allocator, ai, p->nnz, sizeof *ai);
    return status;
}

/* METAPACK_IPOPT_DUMP=FOLDER: each matrix that is factorized, as FOLDER/ipopt-PID-NUMBER.mtx, for
 * reports of what went wrong. Without that folder, or room in it, nothing happens. */
static void dump(const ip_pattern *p, mpk_context *ctx, const double *val) {
    static _Atomic int number;
    const char *folder = getenv("METAPACK_IPOPT_DUMP");
    char path[1024];
    mpk_problem *problem = NULL;
    if (!folder || mpk_failed(make_problem(p, ctx, val, &problem))) return;
    int length = snprintf(path, sizeof path, "%s/ipopt-%ld-%05d.mtx", folder, (long)getpid(),
                          atomic_fetch_add(&number, 1));
    if (length < (int)sizeof path) mpk_problem_write(ctx, problem, path);
    mpk_problem_destroy(&problem);
}

/* Under the mutex. */
static mpk_status analyse(ip_pattern *p, const double *val) {
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_options options;
    mpk_options_init(&options);
    mpk_status status = read_environment(p->ctx, &options);
    if (!mpk_failed(status)) status = make_problem(p, p->ctx, val, &problem);
    if (mpk_failed(status)) return status;
    options.method = MPK_METHOD_LDLT;
    if (p->ordering != MPK_ORDERING_AUTO) options.ordering = p->ordering;
    const double begin = p->number ? ip_report_clock() : 0;
    status = mpk_analyse(p->ctx, problem, &options, &an);
    if (p->number) p->analysis_s += ip_report_clock() - begin;
    if (!mpk_failed(status)) {
        mpk_analysis_destroy(&p->an);
        p->an = an;
    }
    mpk_problem_destroy(&problem);
    return status;
}

mpk_status ip_pattern_analyse(ip_pattern *p, const double *val) {
    lock(p);
    mpk_status status = analyse(p, val);
    pthread_mutex_unlock(&p->mutex);
    return status;
}

/* ---- factors --------------------------------------------------------------------------------- */

void ip_factor_free(ip_factor **handle) {
    ip_factor *f = *handle;
    if (!f) return;
    ip_pattern *p = f->pattern;
    const mpk_allocator from = p->allocator;
    mpk_factor_destroy(&f->fac);
    mpk_context_destroy(&f->ctx);
    give(&from, f, 1, sizeof *f);
    ip_pattern_release(p);
    *handle = NULL;
}

static mpk_status create(ip_pattern *p, ip_factor **out) {
    ip_factor *f = take(&p->allocator, 1, sizeof *f);
    if (!f) return MPK_ERR_MEMORY;
    const mpk_status made = new_context(&p->allocator, &f->ctx);
    if (mpk_failed(made)) {
        give(&p->allocator, f, 1, sizeof *f);
        return made;
    }
    f->pattern = p;
    atomic_fetch_add(&p->references, 1);
    *out = f;
    return MPK_OK;
}

/* Ipopt begins with u = 1e-8 and raises it in steps of u^0.75 to 1e-4 when its refinement fails:
 * here 0.001, 0.006, 0.025 and 0.04. Smaller ones let L grow until the inertia is noise (at 1e-8 a
 * robot arm's first matrix is solved to 2 % only), larger ones delay more pivots and save no
 * iteration. */
static double threshold(double u) {
    const double least = 1e-3, start = 1e-8;
    if (!(u > start)) return least;
    double more = least * pow(u / start, 0.4);
    return more < 0.5 ? more : 0.5;
}

/* Ipopt's 1e-20 means: zeros alone. But a zero that rounding has blurred is about 1e-17 of the
 * scaled matrix, and taken for a pivot it can send the multipliers to infinity, by which Ipopt then
 * divides its errors: a wrong point would pass for a solution. docs/guide/ipopt.md has what larger
 * ones cost. */
static double zero_tolerance(double small) {
    const double noise = 3e-17;
    return small > noise ? small : noise;
}

/* The diagonal beside the one of the matrix before, if all else is as it was: what Ipopt adds to make
 * the inertia right, and takes from it to make the Jacobian's rows independent. Under the mutex. */
static void compare(ip_pattern *p, const double *val, double *shift) {
    const size_t bytes = (size_t)p->nnz * sizeof *val;
    bool same = p->last && p->nnz > 0;
    for (int j = 0; same && j < p->n; j++)
        for (int k = p->ptr[j] - p->base; same && k < p->ptr[j + 1] - p->base; k++) {
            const double more = val[k] - p->last[k];
            if (p->row[k] - p->base != j)
                same = more == 0;
            else if (more > shift[0])
                shift[0] = more;
            else if (-more > shift[1])
                shift[1] = -more;
        }
    if (!same) shift[0] = shift[1] = 0;
    if (!p->last) p->last = malloc(bytes ? bytes : 1);
    if (p->last) memcpy(p->last, val, bytes);
}

/* The factorization for the report. */
static void tell(ip_factor *f, const double *val, double u, mpk_status status, double seconds) {
    ip_pattern *p = f->pattern;
    ip_event event = {.pattern = p->number, .time_s = seconds, .u = u, .status = status};
    lock(p);
    event.analysis_s = p->analysis_s;
    p->analysis_s = 0;
    compare(p, val, event.shift);
    pthread_mutex_unlock(&p->mutex);
    if (f->fac) {
        mpk_factor_info info;
        mpk_factor_info_get(f->fac, &info);
        event.positive = info.inertia.positive;
        event.negative = info.inertia.negative;
        event.zero = info.inertia.zero;
        event.nnz = info.nnz;
        event.delayed = info.rejected;
    }
    f->event = ip_report_factorization(&event);
}

mpk_status ip_factorize(ip_pattern *p, const double *val, const ip_request *request,
                        ip_factor **handle) {
    mpk_status status = MPK_OK;
    if (*handle && (*handle)->pattern != p) ip_factor_free(handle);
    if (!*handle && mpk_failed(status = create(p, handle))) return status;
    ip_factor *f = *handle;
    dump(p, f->ctx, val);
    lock(p);
    if (!p->an) status = analyse(p, val);
    pthread_mutex_unlock(&p->mutex);
    if (mpk_failed(status)) return status;
    mpk_options options;
    mpk_options_init(&options);
    status = read_environment(f->ctx, &options);
    if (mpk_failed(status)) {
        mpk_factor_destroy(&f->fac);
        return status;
    }
    options.method = MPK_METHOD_LDLT;
    options.static_shift = request->static_shift > 0 ? request->static_shift : 0;
    options.pivot_threshold = threshold(request->u);
    options.zero_tolerance = zero_tolerance(request->small);
    const double begin = p->number ? ip_report_clock() : 0;
    status = mpk_factorize(f->ctx, p->an, val, &options, &f->fac);
    if (mpk_failed(status))
        mpk_factor_destroy(&f->fac); /* old values must not pass for the new ones */
    if (p->number) tell(f, val, request->u, status, ip_report_clock() - begin);
    return status;
}

void ip_factor_info(const ip_factor *f, mpk_factor_info *info, mpk_analysis_info *analysis) {
    mpk_factor_info_get(f->fac, info);
    mpk_analysis_info_get(f->pattern->an, analysis);
}

double ip_factor_logdet(const ip_factor *f) {
    double value[3] = {0};
    if (mpk_failed(mpk_get(f->ctx, f->fac, MPK_GET_LOGDET, value, sizeof value))) return 0;
    return value[0];
}

void ip_factor_scale(ip_factor *f, double *scale) {
    const size_t bytes = (size_t)f->pattern->n * sizeof *scale;
    if (!f->fac || mpk_failed(mpk_get(f->ctx, f->fac, MPK_GET_SCALE, scale, bytes)))
        for (int i = 0; i < f->pattern->n; i++) scale[i] = 1;
}

mpk_status ip_solve(ip_factor *f, int job, int nrhs, double *x, int ldx) {
    static const mpk_part part[] = {MPK_PART_ALL, MPK_PART_L, MPK_PART_D, MPK_PART_LT, MPK_PART_D};
    const double begin = f->event ? ip_report_clock() : 0;
    mpk_status status = mpk_solve_part(f->ctx, f->fac, part[job], nrhs, x, ldx);
    if (!mpk_failed(status) && job == 4)
        status = mpk_solve_part(f->ctx, f->fac, MPK_PART_LT, nrhs, x, ldx);
    if (f->event) ip_report_solve(f->event, nrhs, ip_report_clock() - begin);
    return status;
}
