/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_BORG_MKL_H
#define BENCH_BORG_MKL_H
/** MKL's batched and compact BLAS, beside the kernels of the benchmark. The library is loaded where
 * BENCH_MKL names its file (libmkl_rt.so.3 of the package mkl of PyPI); nothing of it is needed to
 * build. One thread: MKL_THREADING_LAYER=SEQUENTIAL.
 *
 * Compact: matrices interleaved by the lanes of a vector. Packing them is not timed, in favour of
 * MKL. For trsv the upper factor is packed as D U, so that two solves are all there is. */
#include <dlfcn.h>

#include "common.h"

enum { /* of MKL's headers */
       MKL_COLUMNS = 102,
       MKL_PLAIN = 111,
       MKL_UPPER = 121,
       MKL_LOWER = 122,
       MKL_ANY_DIAGONAL = 131,
       MKL_UNIT_DIAGONAL = 132,
       MKL_LEFT = 141
};

typedef struct mkl {
    void *lib;
    bool compact;
    int form;        /* of the compact matrices */
    void *part[3];   /* compact matrices */
    void **where[3]; /* pointers to the matrices they are packed from */
    void *upper;     /* trsv: the factors with D U in place of U */
} mkl;

#define MKL_CALL(type, name, ...) ((type(*)(__VA_ARGS__))mkl_find(m, name))

static void *mkl_find(const mkl *m, const char *name) {
    void *f = dlsym(m->lib, name);
    if (!f) {
        fprintf(stderr, "driver: MKL has no %s\n", name);
        exit(3);
    }
    return f;
}

static bool mkl_has(const bench *b, bool compact) {
    if (is(b, "gemm") || is(b, "gemm_ab") || is(b, "trsv") || is(b, "ldus") || is(b, "ldu"))
        return true;
    return compact ? is(b, "llt") : is(b, "gema") || is(b, "ldu_partial");
}

#define MKL_SCALAR(T, s, S)                                                                        \
    static void mkl_batch_##s(const bench *b, const mkl *m) {                                      \
        const int n = b->n, nn = n * n, count = (int)b->count;                                     \
        T *x = b->part[0].now, *y = b->parts > 1 ? b->part[1].now : NULL,                          \
          *z = b->parts > 2 ? b->part[2].now : NULL;                                               \
        if (is(b, "gema"))                                                                         \
            MKL_CALL(void, "MKL_" #S "omatadd", char, char, char, size_t, size_t, T, const T *,    \
                     size_t, T, const T *, size_t, T *, size_t)                                    \
        ('C', 'N', 'N', (size_t)nn, (size_t)count, 1, y, (size_t)nn, 1, z, (size_t)nn, x,          \
         (size_t)nn);                                                                              \
        else if (starts(b, "gemm"))                                                                \
            MKL_CALL(void, "cblas_" #s "gemm_batch_strided", int, int, int, int, int, int, T,      \
                     const T *, int, int, const T *, int, int, T, T *, int, int,                   \
                     int)(MKL_COLUMNS, MKL_PLAIN, MKL_PLAIN, n, n, n, is(b, "gemm") ? 1 : -1, y,   \
                          n, nn, z, n, nn, is(b, "gemm") ? 0 : 1, x, n, nn, count);                \
        else if (is(b, "trsv")) {                                                                  \
            void (*solve)(int, int, int, int, int, int, int, T, const T *, int, int, T *, int,     \
                          int, int);                                                               \
            *(void **)&solve = mkl_find(m, "cblas_" #s "trsm_batch_strided");                      \
            solve(MKL_COLUMNS, MKL_LEFT, MKL_LOWER, MKL_PLAIN, MKL_UNIT_DIAGONAL, n, 1, 1, x, n,   \
                  nn, y, n, n, count);                                                             \
            for (int64_t g = 0; g < count; g++)                                                    \
                for (int i = 0; i < n; i++) y[g * n + i] /= x[g * nn + i * (n + 1)];               \
            solve(MKL_COLUMNS, MKL_LEFT, MKL_UPPER, MKL_PLAIN, MKL_UNIT_DIAGONAL, n, 1, 1, x, n,   \
                  nn, y, n, n, count);                                                             \
        }                                                                                          \
        else if (is(b, "ldu_partial"))                                                             \
            MKL_CALL(void, #s "getrf_batch_strided", const int *, const int *, T *, const int *,   \
                     const int *, int *, const int *, const int *,                                 \
                     int *)(&n, &n, x, &n, &nn, b->piv, &n, &count, b->info);                      \
        else MKL_CALL(void, #s "getrfnp_batch_strided", const int *, const int *, T *,             \
                      const int *, const int *, const int *,                                       \
                      int *)(&n, &n, x, &n, &nn, &count, b->info);                                 \
    }                                                                                              \
                                                                                                   \
    static void mkl_compact_##s(const bench *b, const mkl *m) {                                    \
        const int n = b->n, count = (int)b->count;                                                 \
        T *x = m->part[0], *y = m->part[1], *z = m->part[2];                                       \
        if (starts(b, "gemm")) {                                                                   \
            MKL_CALL(void, "mkl_" #s "gemm_compact", int, int, int, int, int, int, T, const T *,   \
                     int, const T *, int, T, T *, int, int, int)                                   \
            (MKL_COLUMNS, MKL_PLAIN, MKL_PLAIN, n, n, n, is(b, "gemm") ? 1 : -1, y, n, z, n,       \
             is(b, "gemm") ? 0 : 1, x, n, m->form, count);                                         \
        } else if (is(b, "trsv")) {                                                                \
            void (*solve)(int, int, int, int, int, int, int, T, const T *, int, T *, int, int,     \
                          int);                                                                    \
            *(void **)&solve = mkl_find(m, "mkl_" #s "trsm_compact");                              \
            solve(MKL_COLUMNS, MKL_LEFT, MKL_LOWER, MKL_PLAIN, MKL_UNIT_DIAGONAL, n, 1, 1, x, n,   \
                  y, n, m->form, count);                                                           \
            solve(MKL_COLUMNS, MKL_LEFT, MKL_UPPER, MKL_PLAIN, MKL_ANY_DIAGONAL, n, 1, 1, x, n, y, \
                  n, m->form, count);                                                              \
        } else if (is(b, "llt")) {                                                                 \
            MKL_CALL(void, "mkl_" #s "potrf_compact", int, int, int, T *, int, int *, int, int)    \
            (MKL_COLUMNS, MKL_LOWER, n, x, n, b->info, m->form, count);                            \
        } else {                                                                                   \
            MKL_CALL(void, "mkl_" #s "getrfnp_compact", int, int, int, T *, int, int *, int, int)  \
            (MKL_COLUMNS, n, n, x, n, b->info, m->form, count);                                    \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void mkl_move_##s(const bench *b, const mkl *m, int k, bool back) {                     \
        const int n = b->n, wide = b->part[k].each == n ? 1 : n;                                   \
        if (back)                                                                                  \
            MKL_CALL(void, "mkl_" #s "geunpack_compact", int, int, int, void *const *, int,        \
                     const T *, int, int, int)                                                     \
        (MKL_COLUMNS, n, wide, m->where[k], n, m->part[k], n, m->form, (int)b->count);             \
        else MKL_CALL(void, "mkl_" #s "gepack_compact", int, int, int, void *const *, int, T *,    \
                      int, int, int)(MKL_COLUMNS, n, wide, m->where[k], n, m->part[k], n, m->form, \
                                     (int)b->count);                                               \
    }
MKL_SCALAR(double, d, D)
MKL_SCALAR(float, s, S)

static void mkl_move(const bench *b, const mkl *m, int k, bool back) {
    if (b->single)
        mkl_move_s(b, m, k, back);
    else
        mkl_move_d(b, m, k, back);
}

static void mkl_call(const bench *b, const mkl *m) {
    if (b->single && m->compact)
        mkl_compact_s(b, m);
    else if (b->single)
        mkl_batch_s(b, m);
    else if (m->compact)
        mkl_compact_d(b, m);
    else
        mkl_batch_d(b, m);
}

/* before each call, outside of the time */
static void mkl_renew(const bench *b, const mkl *m) {
    for (int k = 0; m->compact && k < b->parts && k < 3; k++)
        if (b->part[k].first) mkl_move(b, m, k, false);
}

/* behind the call whose result is checked */
static void mkl_finish(const bench *b, const mkl *m) {
    if (m->compact) mkl_move(b, m, is(b, "trsv") ? 1 : 0, true);
}

static void mkl_scaled(const bench *b, mkl *m) {
    const int n = b->n;
    const int64_t nn = (int64_t)n * n;
    m->upper = room((size_t)entries(b, 0) * size_of(b));
    for (int64_t k = 0; k < entries(b, 0); k++) {
        const int64_t i = k % nn % n, j = k % nn / n;
        const double d = i < j ? get(b, 0, k / nn * nn + i * (n + 1), true) : 1;
        set(b, m->upper, k, d * get(b, 0, k, true));
    }
}

/* 0, 2: there is no such kernel, or no MKL */
static int mkl_start(const bench *b, mkl *m, bool compact) {
    const char *file = getenv("BENCH_MKL");
    if (!file || !mkl_has(b, compact)) return 2;
    m->lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!m->lib) {
        fprintf(stderr, "driver: %s\n", dlerror());
        return 3;
    }
    m->compact = compact;
    if (!compact) return 0;
    m->form = MKL_CALL(int, "mkl_get_format_compact", void)();
    if (is(b, "trsv")) mkl_scaled(b, m);
    for (int k = 0; k < b->parts && k < 3; k++) {
        const int wide = b->part[k].each == b->n ? 1 : b->n;
        const int bytes =
            MKL_CALL(int, b->single ? "mkl_sget_size_compact" : "mkl_dget_size_compact", int, int,
                     int, int)(b->n, wide, m->form, (int)b->count);
        char *from = m->upper && k == 0 ? m->upper : b->part[k].now;
        m->part[k] = room((size_t)bytes);
        m->where[k] = room((size_t)b->count * sizeof *m->where[k]);
        for (int64_t g = 0; g < b->count; g++)
            m->where[k][g] = from + (size_t)(g * b->part[k].each) * size_of(b);
        mkl_move(b, m, k, false);
    }
    return 0;
}

#endif
