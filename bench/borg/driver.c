/* SPDX-License-Identifier: BSD-3-Clause */
/* Implementations of one batched kernel, verified and then timed by turns:
 *   driver KERNEL N s|d COUNT [--rounds R] [--seconds S] [--within F] [--cache] HOW...
 * HOW is lib:FILE.so | borg:FILE.so | blas | mkl | compact | xsmm | batch. lib: the function of the
 * kernel's name in a shared object, with borgc's arguments; borg: the same, and what it tells of
 * each matrix is checked, too; blas: a loop over OpenBLAS or LAPACK; mkl, compact: mkl.h; xsmm:
 * LIBXSMM; batch: mpk_batch_*. One core. The least of R times (10) after two that do not count;
 * what has taken S seconds (2) counts from three times on. --within: of borg: and of lib:, those
 * that twice took more than F times what the fastest of their kind took stop. --cache: few matrices
 * again and again, the copy that renews them taken off. Prints one JSON object for each HOW that
 * has such a kernel; ends with 1 when an answer is wrong. */
#include "common.h"
#include "mkl.h"

#include <cblas.h>
#include <dlfcn.h>
#include <metapack/metapack.h>
#include <time.h>
#ifdef HAVE_XSMM
#include <libxsmm.h>
#endif

extern void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
extern void sgetrf_(const int *, const int *, float *, const int *, int *, int *);
extern void dpotrf_(const char *, const int *, double *, const int *, int *);
extern void spotrf_(const char *, const int *, float *, const int *, int *);
#define SYTRF(name, type)                                                                          \
    extern void name(const char *, const int *, type *, const int *, int *, type *, const int *,   \
                     int *)
SYTRF(dsytrf_, double);
SYTRF(ssytrf_, float);
SYTRF(dsytrf_rook_, double);
SYTRF(ssytrf_rook_, float);

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- implementations ---- */

typedef struct maker {
    void *lib, *function;
    mpk_context *ctx;
    mkl mkl;
#ifdef HAVE_XSMM
    libxsmm_dmmfunction dmm;
    libxsmm_smmfunction smm;
#endif
} maker;

static void renew(bench *b, const maker *m) {
    for (int k = 0; k < b->parts; k++)
        if (b->part[k].first)
            memcpy(b->part[k].now, b->part[k].first, (size_t)entries(b, k) * size_of(b));
    mkl_renew(b, &m->mkl);
}

static int from_library(const bench *b, const char *file, maker *m) {
    m->lib = dlopen(file, RTLD_NOW);
    if (!m->lib) {
        fprintf(stderr, "driver: %s\n", dlerror());
        return 3;
    }
    m->function = dlsym(m->lib, is(b, "enum") ? "enumerate" : b->kernel);
    return m->function ? 0 : 2;
}

static void call_library(const bench *b, void *function) {
    void *p[MOST];
    const int64_t last = b->count, nn = (int64_t)b->n * b->n;
    union {
        void *p;
        void (*three)(int64_t, int64_t, void *, void *, void *);
        void (*two)(int64_t, int64_t, void *, void *);
        void (*one)(int64_t, int64_t, void *);
        void (*four)(int64_t, int64_t, void *, void *, void *, void *);
        void (*pade)(int64_t, int64_t, void *, void *, void *, void *, void *, int64_t);
        void (*ab)(int64_t, int64_t, void *, int32_t, int64_t, void *, int32_t, int64_t, void *,
                   int32_t, int64_t);
        void (*adb)(int64_t, int64_t, void *, int32_t, int64_t, void *, int32_t, int64_t, void *,
                    void *, int32_t, int64_t);
        void (*plain_d)(int64_t, int64_t, void *, int32_t, int64_t, int32_t *, double);
        void (*plain_s)(int64_t, int64_t, void *, int32_t, int64_t, int32_t *, float);
        void (*piv_d)(int64_t, int64_t, void *, int32_t, int64_t, int32_t *, int32_t *, double);
        void (*work_d)(int64_t, int64_t, void *, int32_t, int64_t, int32_t *, int32_t *, double,
                       void *);
        void (*work_s)(int64_t, int64_t, void *, int32_t, int64_t, int32_t *, int32_t *, float,
                       void *);
        void (*piv_s)(int64_t, int64_t, void *, int32_t, int64_t, int32_t *, int32_t *, float);
        void (*two_strided)(int64_t, int64_t, void *, int32_t, int64_t, void *, int32_t, int64_t);
        void (*trsm)(int64_t, int64_t, void *, int32_t, int64_t, void *, int32_t, int64_t, void *);
        void (*solve)(int64_t, int64_t, void *, int32_t, int64_t, int32_t *, void *, int32_t,
                      int64_t, int32_t, int32_t *);
    } f;
    f.p = function;
    for (int k = 0; k < b->parts; k++) p[k] = b->part[k].now;
    if (is(b, "gema") || is(b, "gemm"))
        f.three(0, last, p[0], p[1], p[2]);
    else if (is(b, "trsv") || is(b, "frcg") || is(b, "invert_diagonal"))
        f.two(0, last, p[0], p[1]);
    else if (is(b, "gema5"))
        f.four(0, last, p[0], p[1], p[2], b->piv);
    else if (is(b, "ldus"))
        f.one(0, last, p[0]);
    else if (is(b, "pade"))
        f.pade(0, last, p[0], p[1], p[2], p[3], p[4], b->count * b->n);
    else if (is(b, "enum"))
        f.four(0, last, p[0], p[1], p[2], p[3]);
    else if (is(b, "gemm_ab"))
        f.ab(0, last, p[0], b->n, nn, p[1], b->n, nn, p[2], b->n, nn);
    else if (is(b, "gemm_adb"))
        f.adb(0, last, p[0], b->n, nn, p[1], b->n, nn, p[3], p[2], b->n, nn);
    else if (is(b, "trsm"))
        f.trsm(0, last, p[0], b->n, nn, p[1], b->n, nn, p[2]);
    else if (is(b, "invert_triangle"))
        f.two_strided(0, last, p[0], b->n, nn, p[1], b->n, nn);
    else if (is(b, "ldlt_solve"))
        f.solve(0, last, p[1], b->n, nn, b->piv, p[0], b->n, (int64_t)RHS * b->n, RHS, b->info);
    else if (is(b, "llt") || is(b, "ldlt") || is(b, "ldu")) {
        if (b->single)
            f.plain_s(0, last, p[0], b->n, nn, b->info, (float)b->tol);
        else
            f.plain_d(0, last, p[0], b->n, nn, b->info, b->tol);
    } else if (is(b, "ldlt_partial") && b->n > 8) { /* with room in memory: -D WG_PACK=1 */
        static double work[3 * 64 * 64] __attribute__((aligned(64)));
        if (b->single)
            f.work_s(0, last, p[0], b->n, nn, b->piv, b->info, (float)b->tol, work);
        else
            f.work_d(0, last, p[0], b->n, nn, b->piv, b->info, b->tol, work);
    } else if (b->single) {
        f.piv_s(0, last, p[0], b->n, nn, b->piv, b->info, (float)b->tol);
    } else {
        f.piv_d(0, last, p[0], b->n, nn, b->piv, b->info, b->tol);
    }
}

static bool blas_has(const bench *b) {
    static const char *const names[] = {"gema", "gemm",         "gemm_ab",   "trsv",       "ldus",
                                        "llt",  "ldlt_partial", "ldlt_rook", "ldu_partial"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (is(b, names[k])) return true;
    return false;
}

#define BLAS(T, s, beta_type)                                                                      \
    static void blas_##s(const bench *b) {                                                         \
        const int n = b->n, nn = n * n, lwork = 64 * 64;                                           \
        T *x = b->part[0].now, *y = b->parts > 1 ? b->part[1].now : NULL,                          \
          *z = b->parts > 2 ? b->part[2].now : NULL;                                               \
        static T work[64 * 64];                                                                    \
        int rc;                                                                                    \
        if (is(b, "gema")) {                                                                       \
            cblas_##s##copy((int)(nn * b->count), y, 1, x, 1);                                     \
            cblas_##s##axpy((int)(nn * b->count), 1, z, 1, x, 1);                                  \
            return;                                                                                \
        }                                                                                          \
        for (int64_t g = 0; g < b->count; g++) {                                                   \
            if (starts(b, "gemm"))                                                                 \
                cblas_##s##gemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n,                \
                                is(b, "gemm") ? 1 : -1, y + g * nn, n, z + g * nn, n,              \
                                is(b, "gemm") ? 0 : 1, x + g * nn, n);                             \
            else if (is(b, "trsv")) {                                                              \
                const T *a = x + g * nn;                                                           \
                T *v = y + g * n;                                                                  \
                cblas_##s##trsv(CblasColMajor, CblasLower, CblasNoTrans, CblasUnit, n, a, n, v,    \
                                1);                                                                \
                for (int i = 0; i < n; i++) v[i] /= a[i * (n + 1)];                                \
                cblas_##s##trsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasUnit, n, a, n, v,    \
                                1);                                                                \
            } else if (is(b, "ldus") || is(b, "ldu_partial"))                                      \
                s##getrf_(&n, &n, x + g * nn, &n, b->piv + g * n, &rc);                            \
            else if (is(b, "llt"))                                                                 \
                s##potrf_("L", &n, x + g * nn, &n, &rc);                                           \
            else if (is(b, "ldlt_rook"))                                                           \
                s##sytrf_rook_("L", &n, x + g * nn, &n, b->piv + g * n, work, &lwork, &rc);        \
            else                                                                                   \
                s##sytrf_("L", &n, x + g * nn, &n, b->piv + g * n, work, &lwork, &rc);             \
        }                                                                                          \
    }
BLAS(double, d, double)
BLAS(float, s, float)

/* mpk_batch_*: every kernel that the library has */
static int batch_call(const bench *b, maker *m) {
    mpk_batch batch;
    const int64_t nn = (int64_t)b->n * b->n;
    mpk_batch_init(&batch);
    batch.scalar = b->single ? MPK_S : MPK_D;
    batch.count = b->count, batch.n = b->n, batch.threads = 1;
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, b->part[0].now, nn, b->n, 1}, y = x, z = x, d;
    if (starts(b, "gemm")) {
        const bool plain = is(b, "gemm"), with_d = is(b, "gemm_adb");
        mpk_batch_product p = {b->n, b->n, b->n, NULL, with_d, plain ? 1 : -1, plain ? 0 : 1};
        y.data = b->part[1].now, z.data = b->part[2].now;
        d = (mpk_batch_array){MPK_BATCH_STRIDED, MPK_HOST, with_d ? b->part[3].now : NULL,
                              2 * b->n,          2,        1};
        if (mpk_failed(mpk_batch_gemm(m->ctx, &batch, &p, &y, with_d ? &d : NULL, &z, &x)))
            return 2;
        return 0;
    }
    const char *end = strchr(b->kernel, '_');
    batch.pivoting = !end                        ? MPK_PIVOTING_NONE
                     : !strcmp(end, "_partial")  ? MPK_PIVOTING_PARTIAL
                     : !strcmp(end, "_rook")     ? MPK_PIVOTING_ROOK
                     : !strcmp(end, "_complete") ? MPK_PIVOTING_COMPLETE
                                                 : MPK_PIVOTING_STATIC;
    mpk_status status = MPK_ERR_UNSUPPORTED;
    if (starts(b, "llt"))
        status = mpk_batch_llt(m->ctx, &batch, &x, b->piv, NULL);
    else if (starts(b, "ldlt"))
        status = mpk_batch_ldlt(m->ctx, &batch, &x, b->piv, NULL);
    else if (starts(b, "ldu"))
        status = mpk_batch_ldu(m->ctx, &batch, &x, b->piv, NULL);
    return mpk_failed(status) ? 2 : 0;
}

static const char *file_of(const char *how) {
    const char *colon = strchr(how, ':');
    return colon ? colon + 1 : NULL;
}

static int call(const bench *b, const char *how, maker *m) {
    if (file_of(how)) {
        call_library(b, m->function);
    } else if (!strcmp(how, "blas")) {
        if (b->single)
            blas_s(b);
        else
            blas_d(b);
    } else if (m->mkl.lib) {
        mkl_call(b, &m->mkl);
    } else if (!strcmp(how, "batch")) {
        return batch_call(b, m);
#ifdef HAVE_XSMM
    } else if (!strcmp(how, "xsmm")) {
        const int64_t nn = (int64_t)b->n * b->n;
        for (int64_t g = 0; g < b->count; g++) {
            if (b->single)
                m->smm((float *)b->part[1].now + g * nn, (float *)b->part[2].now + g * nn,
                       (float *)b->part[0].now + g * nn);
            else
                m->dmm((double *)b->part[1].now + g * nn, (double *)b->part[2].now + g * nn,
                       (double *)b->part[0].now + g * nn);
        }
#endif
    } else {
        return 2;
    }
    return 0;
}

static int start(const bench *b, const char *how, maker *m) {
    if (file_of(how)) return from_library(b, file_of(how), m);
    if (!strcmp(how, "blas")) return blas_has(b) ? 0 : 2;
    if (!strcmp(how, "mkl") || !strcmp(how, "compact"))
        return mkl_start(b, &m->mkl, !strcmp(how, "compact"));
    if (!strcmp(how, "batch")) {
        if (!(starts(b, "gemm") || starts(b, "ld") || starts(b, "llt")) || is(b, "ldus")) return 2;
        return mpk_failed(mpk_context_create(NULL, &m->ctx)) ? 3 : 0;
    }
#ifdef HAVE_XSMM
    if (!strcmp(how, "xsmm") && (is(b, "gemm") || is(b, "gemm_ab"))) {
        const double alpha = is(b, "gemm") ? 1 : -1, beta = is(b, "gemm") ? 0 : 1;
        const float salpha = (float)alpha, sbeta = (float)beta;
        libxsmm_init();
        if (b->single)
            m->smm = libxsmm_smmdispatch(b->n, b->n, b->n, NULL, NULL, NULL, &salpha, &sbeta, NULL,
                                         NULL);
        else
            m->dmm =
                libxsmm_dmmdispatch(b->n, b->n, b->n, NULL, NULL, NULL, &alpha, &beta, NULL, NULL);
        return (b->single ? (void *)m->smm != NULL : (void *)m->dmm != NULL) ? 0 : 2;
    }
#endif
    return 2;
}

/* ---- the clock ---- */

typedef struct candidate {
    const char *how;
    maker m;
    bool there, stopped;
    int repeat, rounds;            /* calls in a round; rounds so far, two of which do not count */
    double best, copy, last, took; /* s */
    double error;
} candidate;

typedef struct settings {
    int rounds;
    double seconds, within;
} settings;

static void repeat_for(bench *b, candidate *c) {
    c->repeat = 1;
    for (double t = 0; b->cached && t < 2e-3; c->repeat *= 2) {
        t = now_s();
        for (int k = 0; k < c->repeat; k++) renew(b, &c->m), call(b, c->how, &c->m);
        t = now_s() - t;
    }
}

static void one_round(bench *b, candidate *c) {
    double t0 = now_s();
    for (int k = 0; k < c->repeat; k++) renew(b, &c->m);
    double t1 = now_s(), copy = b->cached ? t1 - t0 : 0;
    for (int k = 0; k < c->repeat; k++) {
        if (b->cached) renew(b, &c->m);
        call(b, c->how, &c->m);
    }
    c->last = now_s() - t1;
    c->took += now_s() - t0;
    if (c->rounds++ < 2) return;
    c->copy = fmin(c->copy, copy);
    c->best = fmin(c->best, c->last);
}

static bool same_kind(const candidate *x, const candidate *y) {
    return file_of(x->how) && file_of(y->how) && x->how[0] == y->how[0];
}

static bool finished(const settings *s, const candidate *all, int count, const candidate *c) {
    if (c->rounds >= s->rounds + 2 || (c->rounds >= 5 && c->took > s->seconds)) return true;
    for (int k = 0; c->rounds >= 4 && s->within > 0 && k < count; k++)
        if (all[k].there && same_kind(&all[k], c) && all[k].rounds > 2 &&
            c->best - c->copy > s->within * (all[k].best - all[k].copy))
            return true;
    return false;
}

static int verify(bench *b, candidate *c) {
    for (int k = 0; k < b->parts;
         k++) /* what a kernel writes must be of this run, not left from the last */
        if (!b->part[k].first && k < (is(b, "pade") ? 2 : 1) && !is(b, "trsv"))
            memset(b->part[k].now, 0xff, (size_t)entries(b, k) * size_of(b));
    renew(b, &c->m);
    int rc = call(b, c->how, &c->m);
    if (rc) return rc;
    mkl_finish(b, &c->m.mkl);
    b->told = !strncmp(c->how, "borg:", 5);
    c->error = check(b, (c->m.mkl.lib || !strcmp(c->how, "blas")) && factorizes(b));
    return c->error < 200 ? 0 : 1;
}

static void print(const bench *b, const candidate *c) {
    const double time_s = (c->best - c->copy) / c->repeat / (double)b->count;
    printf("{\"how\": \"%s\", \"kernel\": \"%s\", \"n\": %d, \"precision\": \"%s\", "
           "\"count\": %lld, \"cached\": %s, \"rounds\": %d, \"error_eps\": %.3g, "
           "\"time_ns\": %.4g, \"gflops\": %.4g}\n",
           c->how, b->kernel, b->n, b->single ? "single" : "double", (long long)b->count,
           b->cached ? "true" : "false", c->rounds - 2, c->error, 1e9 * time_s,
           1e-9 * flops(b) / time_s);
}

/* 0, 1: a wrong answer, 3: something else went wrong */
static int compare(bench *b, const settings *s, candidate *all, int count) {
    for (int k = 0; k < count; k++) {
        candidate *c = &all[k];
        c->best = c->copy = 1e300;
        int rc = start(b, c->how, &c->m);
        if (!rc) rc = verify(b, c);
        if (rc == 1) fprintf(stderr, "driver: %s is wrong, by %g eps\n", c->how, c->error);
        if (rc && rc != 2) return rc;
        c->there = !rc;
        if (c->there) repeat_for(b, c);
    }
    for (bool more = true; more;) {
        more = false;
        for (int k = 0; k < count; k++) {
            if (!all[k].there || all[k].stopped) continue;
            one_round(b, &all[k]);
            all[k].stopped = finished(s, all, count, &all[k]);
            more |= !all[k].stopped;
        }
    }
    for (int k = 0; k < count; k++)
        if (all[k].there) print(b, &all[k]);
    return 0;
}

static int usage(void) {
    fprintf(stderr,
            "usage: driver KERNEL N s|d COUNT [--rounds R] [--seconds S] [--within F] [--cache] "
            "HOW...\nHOW: lib:FILE|borg:FILE|blas|mkl|compact|xsmm|batch\n");
    return 3;
}

int main(int argc, char **argv) {
    if (argc < 6) return usage();
    bench b = {.kernel = argv[1], .n = atoi(argv[2]), .single = argv[3][0] == 's'};
    settings s = {10, 2, 0};
    int at = 5, rc = 3;
    b.count = atoll(argv[4]);
    for (; at < argc && !strncmp(argv[at], "--", 2); at++) {
        const bool valued = at + 1 < argc;
        if (!strcmp(argv[at], "--cache"))
            b.cached = true;
        else if (valued && !strcmp(argv[at], "--rounds"))
            s.rounds = atoi(argv[++at]);
        else if (valued && !strcmp(argv[at], "--seconds"))
            s.seconds = atof(argv[++at]);
        else if (valued && !strcmp(argv[at], "--within"))
            s.within = atof(argv[++at]);
        else
            return usage();
    }
    const int count = argc - at;
    if (b.n < 1 || b.n > 64 || b.count < 1 || s.rounds < 1 || count < 1) return usage();
    candidate *all = calloc((size_t)count, sizeof *all);
    if (!all) return 3;
    b.odd = true; /* a few matrices that differ from the others, where outcomes are told */
    for (int k = 0; k < count; k++) {
        all[k].how = argv[at + k];
        b.odd &= !strncmp(all[k].how, "borg:", 5);
    }
    if (prepare(&b)) rc = compare(&b, &s, all, count);
    for (int k = 0; k < count; k++) {
        mpk_context_destroy(&all[k].m.ctx);
        if (all[k].m.lib) dlclose(all[k].m.lib);
    }
    free(all);
    release(&b);
    return rc;
}
