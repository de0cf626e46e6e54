/* SPDX-License-Identifier: BSD-3-Clause */
/* One batched kernel, verified and then timed:
 *   driver KERNEL N s|d COUNT lib:FILE.so | blas | xsmm | batch   [rounds]   [cache]
 * lib: the function of the kernel's name in a shared object, with borgc's arguments; blas: a loop
 * over OpenBLAS or LAPACK; xsmm: LIBXSMM; batch: mpk_batch_*. One core. The least of `rounds` times
 * after two that do not count; "cache": few matrices again and again, the copy that renews them
 * taken off. Prints one JSON object; ends with 1 when the answer is wrong and with 2 when the
 * implementation has no such kernel. */
#include <cblas.h>
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <metapack/metapack.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

enum { MOST = 6 };

/* What a kernel reads and writes, each of `count` work-groups. */
typedef struct bench {
    const char *kernel;
    int n;
    bool single, cached;
    int64_t count;
    struct part {
        void *now, *first; /* the array, and what it was if the kernel changes it */
        int64_t each;      /* entries for each group; 0: shared, `shared` of them */
        int64_t shared;
    } part[MOST];
    int parts;
    int32_t *piv, *info;
    double tol;
} bench;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t state = 1;
static double uniform(void) { /* (0, 1) */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)((state ^ (state >> 29)) >> 11) / 9007199254740992.0;
}

static bool is(const bench *b, const char *name) {
    return !strcmp(b->kernel, name);
}

static bool starts(const bench *b, const char *name) {
    return !strncmp(b->kernel, name, strlen(name));
}

static size_t size_of(const bench *b) {
    return b->single ? sizeof(float) : sizeof(double);
}

static double get(const bench *b, int part, int64_t k, bool first) {
    const void *p = first && b->part[part].first ? b->part[part].first : b->part[part].now;
    return b->single ? ((const float *)p)[k] : ((const double *)p)[k];
}

static void set(const bench *b, void *p, int64_t k, double x) {
    if (b->single)
        ((float *)p)[k] = (float)x;
    else
        ((double *)p)[k] = x;
}

static int64_t entries(const bench *b, int part) {
    const struct part *p = &b->part[part];
    return p->each ? p->each * b->count : p->shared;
}

static void *room(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) fprintf(stderr, "driver: no memory\n"), exit(3);
    memset(p, 0, bytes);
    return p;
}

static int add(bench *b, int64_t each, int64_t shared, bool changes) {
    int k = b->parts++;
    b->part[k].each = each, b->part[k].shared = shared;
    size_t bytes = (size_t)entries(b, k) * size_of(b);
    b->part[k].now = room(bytes);
    b->part[k].first = changes ? room(bytes) : NULL;
    void *p = changes ? b->part[k].first : b->part[k].now;
    for (int64_t i = 0; i < entries(b, k); i++) set(b, p, i, uniform());
    return k;
}

/* matrices whose unpivoted factorization is sound; symmetric where asked */
static void dominant(bench *b, int part, bool symmetric, bool definite) {
    const int n = b->n;
    void *p = b->part[part].first ? b->part[part].first : b->part[part].now;
    for (int64_t g = 0; g < b->count; g++)
        for (int j = 0; j < n; j++) {
            set(b, p, (g * n + j) * n + j, (definite || j % 2 ? 1 : -1) * (n + uniform()));
            for (int i = j + 1; symmetric && i < n; i++)
                set(b, p, (g * n + i) * n + j, get(b, part, (g * n + j) * n + i, true));
        }
}

static void centred(bench *b, int part, bool symmetric) { /* entries in (-1, 1) */
    const int n = b->n;
    void *p = b->part[part].first;
    for (int64_t g = 0; g < b->count; g++)
        for (int j = 0; j < n; j++)
            for (int i = symmetric ? j : 0; i < n; i++) {
                double x = 2 * uniform() - 1;
                set(b, p, (g * n + j) * n + i, x);
                if (symmetric) set(b, p, (g * n + i) * n + j, x);
            }
}

static bool prepare(bench *b) {
    const int64_t n = b->n, nn = n * n;
    b->piv = room(sizeof(int32_t) * (size_t)(2 * n * b->count));
    b->info = room(sizeof(int32_t) * (size_t)(4 * b->count));
    b->tol = 4.0 * b->n * (b->single ? FLT_EPSILON : DBL_EPSILON);
    if (is(b, "gema") || is(b, "gemm")) {
        for (int k = 0; k < 3; k++) add(b, nn, 0, false);
    } else if (is(b, "gemm_ab") || is(b, "gemm_adb")) {
        for (int k = 0; k < 3; k++) add(b, nn, 0, k == 0);
        if (is(b, "gemm_adb")) {
            add(b, 2 * n, 0, false);
            for (int64_t k = 1; k < 2 * n * b->count; k += 2)
                if ((k / 2) % n % 2 || (k / 2) % n == n - 1) set(b, b->part[3].now, k, 0);
        }
    } else if (is(b, "trsv")) {
        add(b, nn, 0, false), add(b, n, 0, true);
        for (int64_t k = 0; k < nn * b->count; k++)
            set(b, b->part[0].now, k, k % nn % (n + 1) ? get(b, 0, k, false) / (double)n : 2);
    } else if (is(b, "ldus") || is(b, "ldu")) {
        add(b, nn, 0, true);
        dominant(b, 0, false, false);
    } else if (is(b, "llt") || is(b, "llt_complete") || is(b, "ldlt")) {
        add(b, nn, 0, true);
        dominant(b, 0, true, !is(b, "ldlt"));
    } else if (starts(b, "ldlt_") || starts(b, "ldu_")) {
        add(b, nn, 0, true);
        centred(b, 0, starts(b, "ldlt_"));
    } else if (is(b, "pade")) {
        add(b, n, 0, false), add(b, 10 * n, 0, false), add(b, n, 0, false), add(b, n, 0, false);
        add(b, 0, 10, false);
    } else if (is(b, "enum")) {
        add(b, n, 0, false), add(b, 0, 10, false), add(b, 0, 80, false), add(b, 0, 8, false);
        for (int r = 0; r < 8; r++) set(b, b->part[3].now, r, r - 4);
    } else if (is(b, "frcg")) {
        add(b, 2 * n, 0, true), add(b, 2 * n, 0, false);
        for (int64_t i = 0; i < n * b->count; i++)
            set(b, b->part[1].now, 2 * i + 1, 1 + get(b, 1, 2 * i + 1, false));
    } else {
        return false;
    }
    return true;
}

/* useful operations of a work-group */
static double flops(const bench *b) {
    const double n = b->n, n3 = n * n * n;
    return is(b, "gema")                           ? n * n
           : is(b, "trsv")                         ? 2 * n * n
           : starts(b, "gemm")                     ? 2 * n3
           : starts(b, "ldlt") || starts(b, "llt") ? n3 / 3
           : starts(b, "ldu")                      ? 2 * n3 / 3
           : is(b, "pade")                         ? 70 * n
           : is(b, "enum")                         ? 190 * n
                                                   : 1400 * n;
}

static void renew(bench *b) {
    for (int k = 0; k < b->parts; k++)
        if (b->part[k].first)
            memcpy(b->part[k].now, b->part[k].first, (size_t)entries(b, k) * size_of(b));
}

/* ---- implementations ---- */

typedef struct maker {
    void *function;
    mpk_context *ctx;
#ifdef HAVE_XSMM
    libxsmm_dmmfunction dmm;
    libxsmm_smmfunction smm;
#endif
} maker;

static int from_library(const bench *b, const char *file, maker *m) {
    void *lib = dlopen(file, RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "driver: %s\n", dlerror());
        return 3;
    }
    m->function = dlsym(lib, is(b, "enum") ? "enumerate" : b->kernel);
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
        void (*piv_s)(int64_t, int64_t, void *, int32_t, int64_t, int32_t *, int32_t *, float);
    } f;
    f.p = function;
    for (int k = 0; k < b->parts; k++) p[k] = b->part[k].now;
    if (is(b, "gema") || is(b, "gemm"))
        f.three(0, last, p[0], p[1], p[2]);
    else if (is(b, "trsv") || is(b, "frcg"))
        f.two(0, last, p[0], p[1]);
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
    else if (is(b, "llt") || is(b, "ldlt") || is(b, "ldu")) {
        if (b->single)
            f.plain_s(0, last, p[0], b->n, nn, b->info, (float)b->tol);
        else
            f.plain_d(0, last, p[0], b->n, nn, b->info, b->tol);
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
        return mpk_batch_gemm(m->ctx, &batch, &p, &y, with_d ? &d : NULL, &z, &x) < 0 ? 2 : 0;
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
    return status < 0 ? 2 : 0;
}

static int call(const bench *b, const char *how, maker *m) {
    if (!strncmp(how, "lib:", 4)) {
        call_library(b, m->function);
    } else if (!strcmp(how, "blas")) {
        if (b->single)
            blas_s(b);
        else
            blas_d(b);
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
    if (!strncmp(how, "lib:", 4)) return from_library(b, how + 4, m);
    if (!strcmp(how, "blas")) return blas_has(b) ? 0 : 2;
    if (!strcmp(how, "batch")) {
        if (!(starts(b, "gemm") || starts(b, "ld") || starts(b, "llt")) || is(b, "ldus")) return 2;
        return mpk_context_create(NULL, &m->ctx) ? 3 : 0;
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

/* ---- the check: worst error over its bound, of some work-groups ---- */

static double worst_product(const bench *b, int64_t g) {
    const int n = b->n;
    const int64_t at = g * n * n;
    double worst = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            double sum = 0, size = 1;
            for (int k = 0; k < n; k++) {
                double y = is(b, "gemm_adb") ? get(b, 3, g * 2 * n + 2 * k, true) *
                                                   get(b, 2, at + k * n + j, true)
                                             : get(b, 2, at + j * n + k, true);
                if (is(b, "gemm_adb") && k + 1 < n)
                    y += get(b, 3, g * 2 * n + 2 * k + 1, true) *
                         get(b, 2, at + (k + 1) * n + j, true);
                if (is(b, "gemm_adb") && k > 0)
                    y += get(b, 3, g * 2 * n + 2 * k - 1, true) *
                         get(b, 2, at + (k - 1) * n + j, true);
                sum += get(b, 1, at + k * n + i, true) * y;
                size += fabs(get(b, 1, at + k * n + i, true) * y);
            }
            if (!is(b, "gemm")) sum = get(b, 0, at + j * n + i, true) - sum;
            double e = fabs(get(b, 0, at + j * n + i, false) - sum) / (size * n);
            worst = e > worst || e != e ? e : worst;
        }
    return worst;
}

/* |P A Q - L D U| with unit L and U; `blas` leaves other forms, whose solutions are not checked */
static double worst_factor(const bench *b, int64_t g) {
    const int n = b->n;
    const int64_t at = g * n * n;
    const bool sym = !starts(b, "ldu"), root = starts(b, "llt"),
               piv = strchr(b->kernel, '_') != NULL;
    static double l[64][64], d[64][64], u[64][64];
    int row[64], col[64], marks = 0;
    double worst = 0, scale = 1;
    memset(l, 0, sizeof l), memset(d, 0, sizeof d), memset(u, 0, sizeof u);
    for (int k = 0; k < n; k++) {
        int p = !piv ? k : b->piv[g * n * (sym ? 1 : 2) + k];
        bool mark = piv && p < 0, first = mark && marks % 2 == 0;
        marks += mark;
        row[k] = p < 0 ? ~p : p;
        col[k] = sym || !piv ? row[k] : b->piv[g * n * 2 + n + k];
        d[k][k] = root ? 1 : get(b, 0, at + k * n + k, false);
        l[k][k] = root ? get(b, 0, at + k * n + k, false) : 1;
        u[k][k] = 1;
        for (int i = k + 1; i < n; i++) {
            l[i][k] = get(b, 0, at + k * n + i, false);
            if (!sym) u[k][i] = get(b, 0, at + i * n + k, false);
        }
        if (first) d[k + 1][k] = d[k][k + 1] = l[k + 1][k], l[k + 1][k] = 0;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < (sym ? i + 1 : n); j++) {
            double sum = 0, a = get(b, 0, at + col[j] * n + row[i], true);
            for (int k = 0; k < n; k++)
                for (int m = k > 0 ? k - 1 : 0; m < n && m <= k + 1; m++) {
                    double x = l[i][k] * d[k][m] * (sym ? l[j][m] : u[m][j]);
                    sum += x;
                    scale = fabs(x) > scale ? fabs(x) : scale;
                }
            double e = fabs(sum - a);
            worst = e > worst || e != e ? e : worst;
        }
    return worst / (scale * n);
}

static double worst_item(const bench *b, int64_t i) {
    double v;
    if (is(b, "pade")) {
        double x = get(b, 2, i, true), p = 0, q = 0, dp = 0, dq = 0, power = 1;
        for (int k = 0; k < 6; k++, power *= x) {
            p += get(b, 4, k, true) * power;
            if (k < 5) dp += (k + 1) * get(b, 4, k + 1, true) * power;
            if (k > 0 && k < 5) q += get(b, 4, 5 + k, true) * power;
            if (k < 4) dq += (k + 1) * get(b, 4, 6 + k, true) * power;
        }
        v = get(b, 3, i, true) *
            (dp / (1 + fabs(q)) - p * (q < 0 ? -1 : 1) * dq / (1 + fabs(q)) / (1 + fabs(q)));
        return fabs(get(b, 0, i, false) - v) / (20 + fabs(v));
    }
    if (is(b, "enum")) {
        double sum = 0, slack = 1e30;
        for (int k = 0; k < 10; k++)
            sum += get(b, 1, k, true) * ((int)((uint32_t)i >> 2 * k & 3) - 2);
        for (int r = 0; r < 8; r++) {
            double left = 0;
            for (int k = 0; k < 10; k++)
                left += get(b, 2, 10 * r + k, true) * ((int)((uint32_t)i >> 2 * k & 3) - 2);
            slack = fmin(slack, get(b, 3, r, true) - left);
        }
        if (fabs(slack) < 1e-4) return 0;
        v = get(b, 0, i, false);
        return slack < 0 ? v > -1e29 : fabs(v - sum) / 60;
    }
    double f[2]; /* frcg: it descends */
    for (int t = 0; t < 2; t++) {
        double x = get(b, 0, 2 * i, t == 0), y = get(b, 0, 2 * i + 1, t == 0);
        double w = get(b, 1, 2 * i, true) - x, z = y - x * x;
        f[t] = w * w + get(b, 1, 2 * i + 1, true) * z * z;
    }
    return f[1] <= 0.9 * f[0] + 1e-3 ? 0 : 1;
}

static double worst_other(const bench *b, int64_t g) {
    const int n = b->n;
    double worst = 0;
    if (is(b, "gema")) {
        for (int64_t k = g * n * n; k < (g + 1) * n * n; k++)
            worst =
                fmax(worst, fabs(get(b, 0, k, false) - get(b, 1, k, true) - get(b, 2, k, true)));
        return worst / 2;
    }
    if (is(b, "trsv")) { /* L D U x = b with L, U unit: form it from x */
        double y[64], z[64];
        for (int i = 0; i < n; i++) {
            y[i] = get(b, 1, g * n + i, false);
            for (int k = i + 1; k < n; k++)
                y[i] += get(b, 0, (g * n + k) * n + i, true) * get(b, 1, g * n + k, false);
            y[i] *= get(b, 0, (g * n + i) * n + i, true);
        }
        for (int i = 0; i < n; i++) {
            z[i] = y[i];
            for (int k = 0; k < i; k++) z[i] += get(b, 0, (g * n + k) * n + i, true) * y[k];
            worst = fmax(worst, fabs(z[i] - get(b, 1, g * n + i, true)));
        }
        return worst / n;
    }
    for (int i = 0; i < n; i++) worst = fmax(worst, worst_item(b, g * n + i));
    return worst;
}

/* in units of the roundoff; what a BLAS leaves in other forms counts as right if it is finite */
static double check(const bench *b, const char *how) {
    const double eps = b->single ? FLT_EPSILON : DBL_EPSILON;
    const bool other_form = !strcmp(how, "blas") && (starts(b, "ld") || starts(b, "llt"));
    double worst = 0;
    for (int64_t s = 0; s < 40; s++) {
        int64_t g = s < 20 ? s : b->count - 1 - (s - 20) * (b->count / 50 + 1);
        if (g < 0 || g >= b->count) continue;
        double e = 0;
        if (other_form)
            for (int k = 0; k < b->n * b->n; k++) e += 0 * get(b, 0, g * b->n * b->n + k, false);
        else if (starts(b, "gemm"))
            e = worst_product(b, g);
        else if (starts(b, "ld") || starts(b, "llt"))
            e = worst_factor(b, g);
        else
            e = worst_other(b, g);
        worst = e > worst || e != e ? e : worst;
    }
    return worst / eps;
}

/* ---- the clock ---- */

static double time_batch(bench *b, const char *how, maker *m, int rounds) {
    double best = 1e300;
    for (int r = 0; r < rounds + 2; r++) {
        renew(b);
        double t = now_s();
        call(b, how, m);
        t = now_s() - t;
        if (r >= 2 && t < best) best = t;
    }
    return best / (double)b->count;
}

static double time_cached(bench *b, const char *how, maker *m, int rounds) {
    double best = 1e300, copy = 1e300;
    int repeat = 1;
    for (double t = 0; t < 2e-3; repeat *= 2) {
        t = now_s();
        for (int k = 0; k < repeat; k++) renew(b), call(b, how, m);
        t = now_s() - t;
    }
    for (int r = 0; r < rounds + 2; r++) {
        double t0 = now_s();
        for (int k = 0; k < repeat; k++) renew(b);
        double t1 = now_s();
        for (int k = 0; k < repeat; k++) renew(b), call(b, how, m);
        double t2 = now_s();
        if (r >= 2 && t1 - t0 < copy) copy = t1 - t0;
        if (r >= 2 && t2 - t1 < best) best = t2 - t1;
    }
    return (best - copy) / repeat / (double)b->count;
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr,
                "usage: driver KERNEL N s|d COUNT lib:FILE|blas|xsmm|batch [rounds] [cache]\n");
        return 3;
    }
    bench b = {.kernel = argv[1], .n = atoi(argv[2]), .single = argv[3][0] == 's'};
    const char *how = argv[5];
    const int rounds = argc > 6 ? atoi(argv[6]) : 10;
    maker m = {0};
    b.count = atoll(argv[4]);
    b.cached = argc > 7;
    if (b.n < 1 || b.n > 64 || b.count < 1 || !prepare(&b)) return 3;
    int rc = start(&b, how, &m);
    if (rc) return rc;
    for (int k = 0; k < b.parts; k++) /* what is written must be written: not the last run's */
        if (!b.part[k].first && k < (is(&b, "pade") ? 2 : 1) && !is(&b, "trsv"))
            memset(b.part[k].now, 0xff, (size_t)entries(&b, k) * size_of(&b));
    renew(&b);
    if ((rc = call(&b, how, &m))) return rc;
    double error = check(&b, how);
    double time_s =
        error < 200 ? b.cached ? time_cached(&b, how, &m, rounds) : time_batch(&b, how, &m, rounds)
                    : 0;
    printf(
        "{\"kernel\": \"%s\", \"n\": %d, \"precision\": \"%s\", \"count\": %lld, \"cached\": %s, "
        "\"error_eps\": %.3g, \"time_ns\": %.4g, \"gflops\": %.4g}\n",
        b.kernel, b.n, b.single ? "single" : "double", (long long)b.count,
        b.cached ? "true" : "false", error, 1e9 * time_s,
        time_s > 0 ? 1e-9 * flops(&b) / time_s : 0);
    mpk_context_destroy(&m.ctx);
    return error < 200 ? 0 : 1;
}
