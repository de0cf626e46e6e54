/* SPDX-License-Identifier: BSD-3-Clause */
/** Sound scattered by a dense ball: the Helmholtz equation -Laplace(p) - k^2 p = f in a cube of N^3
 *  cells, 4 wavelengths across, whose walls absorb; waves are slower in the ball, by a third. A is
 *  complex symmetric and indefinite. With all of L and in low rank: memory of the factor, and how far
 *  the two fields are apart.
 *
 *      scattering [N]     default 28; the larger, the more low rank saves */
#include <metapack/metapack.h>
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SOURCES = 2 };

/* A: 7 points, h^2 times the equation; cells at a wall let waves out (Sommerfeld). By columns, lower
 * triangle. */
static void helmholtz(int n, int64_t *ap, int32_t *ai, double complex *ax) {
    const double k = 2 * 3.14159265358979 * 4 / n; /* of the surroundings, times h */
    int64_t nnz = 0;
    ap[0] = 0;
    for (int z = 0, j = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++, j++) {
                const double from = hypot(hypot(x - n / 2., y - n / 2.), z - n / 2.);
                const double here = from < n / 5. ? 1.5 * k : k;
                const int walls =
                    (x == 0) + (x == n - 1) + (y == 0) + (y == n - 1) + (z == 0) + (z == n - 1);
                ai[nnz] = j, ax[nnz++] = 6 - here * here - walls / (1 - here * I);
                if (x + 1 < n) ai[nnz] = j + 1, ax[nnz++] = -1;
                if (y + 1 < n) ai[nnz] = j + n, ax[nnz++] = -1;
                if (z + 1 < n) ai[nnz] = j + n * n, ax[nnz++] = -1;
                ap[j + 1] = nnz;
            }
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 28;
    if (n < 4 || n > 200) return 2;
    const int32_t cells = n * n * n, source[SOURCES] = {cells / 2 + n / 2, n * n * n / 4 + n + 1};
    int64_t *ap = malloc((size_t)(cells + 1) * sizeof *ap);
    int32_t *ai = malloc(4 * (size_t)cells * sizeof *ai);
    double complex *ax = malloc(4 * (size_t)cells * sizeof *ax);
    double complex *x[2] = {calloc(SOURCES * (size_t)cells, sizeof *x[0]),
                            calloc(SOURCES * (size_t)cells, sizeof *x[0])};
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_options o;
    mpk_factor_info info[2];
    mpk_solve_info solved[2];
    mpk_status status = ap && ai && ax && x[0] && x[1] ? MPK_OK : MPK_ERR_MEMORY;
    if (!mpk_failed(status)) helmholtz(n, ap, ai, ax);
    if (!mpk_failed(status)) status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_problem_from_csc(ctx, cells, MPK_Z, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &a);
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    for (int low = 0; low < 2 && !mpk_failed(status); low++) {
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        o.low_rank_tolerance = low ? 1e-7 : 0; /* counts for the analysis, too */
        for (int r = 0; r < SOURCES; r++) x[low][source[r] + (int64_t)r * cells] = 1;
        status = mpk_analyse(ctx, a, &o, &an);
        if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &o, &fac);
        if (!mpk_failed(status)) {
            mpk_factor_info_get(fac, &info[low]);
            status = mpk_solve(ctx, fac, SOURCES, x[low], cells, x[low], cells, &o, &solved[low]);
        }
        if (!mpk_failed(status))
            printf("%s: %.0f MB, %.1f thousand million operations, backward error %.0e\n",
                   low ? "in low rank" : "all of L  ", 1e-6 * (double)info[low].bytes,
                   1e-9 * info[low].low_rank_flops, solved[low].componentwise);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
    }
    double most = 0, apart = 0;
    for (int64_t k = 0; k < SOURCES * (int64_t)cells && !mpk_failed(status); k++) {
        most = fmax(most, cabs(x[0][k]));
        apart = fmax(apart, cabs(x[0][k] - x[1][k]));
    }
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (mpk_failed(status)) printf("scattering: %s\n", text);
    if (!mpk_failed(status) && info[1].low_rank_tolerance == 0)
        printf("no front is large enough for blocks in low rank: scattering 48\n");
    const int fine = !mpk_failed(status) && apart <= 1e-9 * most;
    if (fine) printf("the fields differ by %.0e of the largest pressure\n", apart / most);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    free(ap), free(ai), free(ax), free(x[0]), free(x[1]);
    return fine ? 0 : 1;
}
