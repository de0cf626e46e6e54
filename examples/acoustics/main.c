/* SPDX-License-Identifier: BSD-3-Clause */
/** A plane sound wave meets a soft obstacle: boundary elements, one dense complex symmetric system
 * in single precision, solved by LDL^T without pivoting or another method, and by LU where LAPACK
 * is at hand. The application of Baboulin, Dongarra, Remy, Tomov & Yamazaki 2017, sec. 3.2, whose
 *  obstacles are a head (n = 10424) and an engine (n = 15135).
 *
 *      acoustics [sphere|head|engine] [TRIANGLES] [K] [METHOD] [PICTURE.png] [A.npy B.npy]
 *      acoustics head 4000 6 none head.png
 *      acoustics head 10424 10 tile:cuda
 *      acoustics engine 15134 12 off - A.npy B.npy
 *
 *  METHOD off: nothing is solved. PICTURE -: none. A.npy, B.npy: the system, for other programs.
 *
 *  On the sphere the answer is compared with the series: it must be within 6 %, or the exit code is
 *  1. Wavelength: 2 pi / K radii; some ten triangles each are wise. */
#include "acoustics.h"

#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef ACOUSTICS_LAPACK
void cgetrf_(const int *m, const int *n, float complex *a, const int *lda, int *ipiv, int *info);
void cgetrs_(const char *trans, const int *n, const int *nrhs, const float complex *a,
             const int *lda, const int *ipiv, float complex *b, const int *ldb, int *info);
#endif

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ||b - A x||_inf / (n ||A||_inf ||x||_inf), the measure of Tables 1 and 2 there. */
static double residual(int n, const float complex *a, const float complex *x,
                       const float complex *b) {
    double worst = 0, norm = 0, size = 0, *row = calloc((size_t)n, sizeof *row);
    double complex *r = malloc((size_t)n * sizeof *r);
    if (!row || !r) exit(6);
    for (int i = 0; i < n; i++) r[i] = b[i], size = fmax(size, cabsf(x[i]));
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            const float complex entry = a[(int64_t)j * n + i];
            r[i] -= (double complex)entry * x[j];
            row[i] += cabsf(entry);
            if (i == j) continue;
            r[j] -= (double complex)entry * x[i];
            row[j] += cabsf(entry);
        }
    for (int i = 0; i < n; i++) worst = fmax(worst, cabs(r[i])), norm = fmax(norm, row[i]);
    free(row);
    free(r);
    return worst / (n * norm * size);
}

/* "tile", or "tile:cuda" for a GPU */
static mpk_dense_method method_of(const char *name, mpk_memory *memory) {
    const size_t length = strcspn(name, ":");
    *memory = !strcmp(name + length, ":cuda") ? MPK_DEVICE : MPK_HOST;
    if (name[length] && *memory == MPK_HOST) return MPK_DENSE_COUNT;
    for (int m = 0; m < MPK_DENSE_COUNT; m++) {
        const char *word = mpk_dense_method_name((mpk_dense_method)m);
        if (strlen(word) == length && !strncmp(name, word, length)) return (mpk_dense_method)m;
    }
    return MPK_DENSE_COUNT;
}

/* Solve a x = b on GPU 0: a copy of all of it goes there, and x comes back. */
static mpk_status solve_there(mpk_context *ctx, const mpk_dense *dense,
                              const mpk_dense_sizes *sizes, const float complex *a,
                              const float complex *b, float complex *x, mpk_dense_info *info) {
    enum { A, B, X, F, EXTRA, PIVOTS, ALL };
    const int64_t n = dense->n, column = n * (int64_t)sizeof *b, whole = n * column;
    const int64_t bytes[ALL] = {whole,
                                column,
                                column,
                                sizes->factor_bytes,
                                sizes->extra_bytes + 64,
                                sizes->pivots * (int64_t)sizeof(int32_t)};
    void *there[ALL] = {NULL};
    mpk_status status = MPK_OK;
    for (int k = 0; k < ALL && !mpk_failed(status); k++)
        status = mpk_device_alloc(ctx, 0, bytes[k], &there[k]);
    if (!mpk_failed(status)) status = mpk_device_copy(ctx, 0, there[A], whole, a, whole, whole, 1);
    if (!mpk_failed(status))
        status = mpk_device_copy(ctx, 0, there[B], column, b, column, column, 1);
    mpk_dense_factor f = {.struct_size = sizeof f, .f = there[F], .ldf = n};
    f.pivots = there[PIVOTS], f.extra = there[EXTRA];
    if (!mpk_failed(status))
        status =
            mpk_dense_sysv(ctx, dense, there[A], n, &f, 1, there[B], n, there[X], n, NULL, 0, info);
    if (mpk_failed(status)) return status; /* the program ends with its text */
    const mpk_status moved = mpk_device_copy(ctx, 0, x, column, there[X], column, column, 1);
    for (int k = 0; k < ALL; k++) mpk_device_free(ctx, 0, &there[k]);
    return mpk_failed(moved) ? moved : status;
}

static void by_lu(int n, const float complex *a, float complex *f, int *pivots,
                  const float complex *b, double symmetric_s) {
#ifdef ACOUSTICS_LAPACK
    const int one = 1;
    int info;
    float complex *x = malloc((size_t)n * sizeof *x);
    if (!x) exit(6);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            f[(int64_t)j * n + i] = f[(int64_t)i * n + j] = a[(int64_t)j * n + i];
    memcpy(x, b, (size_t)n * sizeof *x);
    const double start = now();
    cgetrf_(&n, &n, f, &n, pivots, &info);
    if (!info) cgetrs_("N", &n, &one, f, &n, pivots, x, &n, &info);
    const double time_s = now() - start;
    printf("LU       %.3f s, residual %.2g, symmetric over it: %.2f times as fast\n", time_s,
           residual(n, a, x, b), time_s / symmetric_s);
    free(x);
#else
    (void)n, (void)a, (void)f, (void)pivots, (void)b, (void)symmetric_s;
    printf("LU       built without LAPACK\n");
#endif
}

int main(int argc, char **argv) {
    const char *shape = argc > 1 ? argv[1] : "sphere", *name = argc > 4 ? argv[4] : "none";
    const int n = argc > 2 ? atoi(argv[2]) : 640;
    const double k = argc > 3 ? atof(argv[3]) : 2;
    mpk_dense dense;
    mpk_dense_sizes sizes;
    mpk_dense_info info;
    mpk_dense_factor factor = {.struct_size = sizeof factor};
    mpk_context *ctx = NULL;
    surface s;
    int code = 1;
    mpk_dense_init(&dense);
    dense.scalar = MPK_C;
    dense.n = n;
    const int off = !strcmp(name, "off");
    dense.method = method_of(off ? "none" : name, &dense.memory);
    if (argc == 7 || argc > 8 || surface_make(shape, n, &s) || !(k > 0) ||
        dense.method == MPK_DENSE_COUNT) {
        fprintf(stderr,
                "acoustics [sphere|head|engine] [TRIANGLES] [K] [METHOD] [PICTURE.png] [A.npy "
                "B.npy]\n"
                "TRIANGLES: even, from 32; K > 0; METHOD: auto, tile, none, ...; tile:cuda on a "
                "GPU; off\n");
        return 1;
    }
    float complex *a = malloc((size_t)n * (size_t)n * sizeof *a);
    float complex *b = malloc((size_t)n * sizeof *b), *x = malloc((size_t)n * sizeof *x);
    if (!a || !b || !x || mpk_failed(mpk_context_create(NULL, &ctx))) goto done;

    double start = now();
    boundary_matrix(&s, k, a);
    boundary_wave(&s, k, b);
    printf("%-8s %d triangles, k = %g, %.1f triangles a wavelength; assembled in %.3f s\n", shape,
           n, k, 6.283185307 / k / sqrt(12.566370614 / n * 2.3), now() - start);

    if (argc == 8 && (matrix_write(argv[6], n, a) || vector_write(argv[7], n, b))) {
        fprintf(stderr, "acoustics: %s or %s: cannot be written\n", argv[6], argv[7]);
        code = 2;
        goto done;
    }
    if (off) {
        code = 0;
        goto done;
    }
    mpk_status status = mpk_dense_query(ctx, &dense, 1, &sizes);
    if (mpk_failed(status)) goto done;
    factor.f = malloc((size_t)sizes.factor_bytes + 1);
    factor.ldf = n;
    factor.pivots = malloc((size_t)(sizes.pivots > n ? sizes.pivots : n) * sizeof *factor.pivots);
    factor.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 64) / 64 * 64);
    if (!factor.f || !factor.pivots || !factor.extra) goto done;
    start = now();
    status = dense.memory == MPK_DEVICE
                 ? solve_there(ctx, &dense, &sizes, a, b, x, &info)
                 : mpk_dense_sysv(ctx, &dense, a, n, &factor, 1, b, n, x, n, NULL, 0, &info);
    const double time_s = now() - start;
    if (mpk_failed(status)) goto done;
    printf("LDL^T    %.3f s by %s, %s: factorize %.3f s (%.1f GFLOP/s), refine %d steps, residual "
           "%.2g, "
           "omega %.2g: %s\n",
           time_s, mpk_dense_method_name(info.method), info.engine, info.factorize_s,
           4e-9 / 3 * n * n * (double)n / info.factorize_s, info.iterations, residual(n, a, x, b),
           info.componentwise, mpk_status_name(status));
    by_lu(n, a, factor.f, factor.pivots, b, time_s);
    code = 0;
    if (!strcmp(shape, "sphere")) {
        const double error = boundary_sphere_error(&s, k, x);
        printf("series   relative error of du/dn on the surface: %.2g\n", error);
        code = error <= 0.06 ? 0 : 1;
    }
    if (argc > 5 && strcmp(argv[5], "-") && picture_write(argv[5], &s, k, x)) {
        fprintf(stderr, "acoustics: %s: cannot be written\n", argv[5]);
        code = 2;
    }
done:
    if (code == 1 && ctx) {
        const char *text = NULL;
        mpk_last_error(ctx, NULL, NULL, &text);
        if (text && *text) fprintf(stderr, "acoustics: %s\n", text);
    }
    free(factor.f);
    free(factor.pivots);
    free(factor.extra);
    free(a);
    free(b);
    free(x);
    surface_free(&s);
    mpk_context_destroy(&ctx);
    return code;
}
