/* SPDX-License-Identifier: BSD-3-Clause */
/* A system whose matrix is never formed: -u'' - k^2 u on a line (indefinite), preconditioned by the
 * inverse of -u'' + 1, a tridiagonal solve, with MINRES; the residual is watched, and printed. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 200 };

typedef struct line {
    double below, diagonal; /* of the tridiagonal matrix */
    double pivot[N];        /* of its factorization, for a preconditioner */
} line;

static mpk_status multiply(void *self, const void *vx, void *vy) {
    const line *a = self;
    const double *x = vx;
    double *y = vy;
    for (int i = 0; i < N; i++)
        y[i] =
            a->diagonal * x[i] + a->below * ((i > 0 ? x[i - 1] : 0) + (i + 1 < N ? x[i + 1] : 0));
    return MPK_OK;
}

static void factorize(line *m) {
    m->pivot[0] = m->diagonal;
    for (int i = 1; i < N; i++) m->pivot[i] = m->diagonal - m->below * m->below / m->pivot[i - 1];
}

static mpk_status solve(void *self, const void *vx, void *vy) { /* y := M^-1 x */
    const line *m = self;
    const double *x = vx;
    double *y = vy;
    y[0] = x[0];
    for (int i = 1; i < N; i++) y[i] = x[i] - m->below / m->pivot[i - 1] * y[i - 1];
    for (int i = 0; i < N; i++) y[i] /= m->pivot[i];
    for (int i = N - 2; i >= 0; i--) y[i] -= m->below / m->pivot[i] * y[i + 1];
    return MPK_OK;
}

static int watch(void *user, int32_t iteration, double residual) {
    (void)user;
    if (iteration % 4 == 1) printf("%4d  %.1e\n", iteration, residual);
    return 0; /* anything else stops the solve */
}

int main(void) {
    static double b[N], x[N];
    const double h = 1.0 / (N + 1), k = 20;
    line a = {.below = -1 / (h * h), .diagonal = 2 / (h * h) - k * k};
    line m = {.below = -1 / (h * h), .diagonal = 2 / (h * h) + 1};
    factorize(&m);
    for (int i = 0; i < N; i++) b[i] = sin(3 * (i + 1) * h) + 1;
    mpk_context *ctx = NULL;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return EXIT_FAILURE;
    mpk_krylov_task task;
    mpk_krylov_task_init(&task);
    task.method = MPK_KRYLOV_MINRES;
    task.n = N;
    task.a = (mpk_operator){multiply, &a};
    task.m = (mpk_operator){solve, &m};
    task.tolerance = 1e-10;
    task.monitor = watch;
    mpk_krylov_info info = {0};
    mpk_status status = mpk_krylov_solve(ctx, &task, b, x, &info);
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("%s after %d iterations, %lld products: true relative residual %.1e %s\n",
           mpk_status_name(status), (int)info.iterations, (long long)info.products, info.residual,
           text);
    mpk_context_destroy(&ctx);
    return status == MPK_OK && info.residual <= 1e-10 ? EXIT_SUCCESS : EXIT_FAILURE;
}
