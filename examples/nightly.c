/* SPDX-License-Identifier: BSD-3-Clause */
/** A service that factorizes once a night and solves all day: the night's job saves the factor, and
 * each process of the day loads it in place of a factorization. A file that does not do - another
 * version of the library, another basin, a disk that failed - is told of, and the day factorizes
 * for itself.
 *     nightly night FILE     factorize and save
 *     nightly day FILE       load, and answer requests
 *     nightly                both, by way of a file in /tmp */
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What night and day both know: here waves in a basin. */
static mpk_status basin(mpk_context *ctx, mpk_problem **a) {
    return mpk_problem_generate(ctx, "helmholtz 2d 60 0.3", 1, a);
}

static const char *why(const mpk_context *ctx) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    return text;
}

static mpk_status night(mpk_context *ctx, const mpk_problem *a, const char *path) {
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_status status = mpk_analyse(ctx, a, NULL, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, NULL, &fac);
    if (!mpk_failed(status)) mpk_certify(ctx, fac, NULL); /* the day need not ask again */
    if (!mpk_failed(status)) status = mpk_factor_save(ctx, fac, path);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    return status;
}

static mpk_status day(mpk_context *ctx, const mpk_problem *a, const char *path) {
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view view;
    mpk_factor_info info;
    mpk_problem_view_get(a, &view);
    mpk_status status = mpk_analysis_load(ctx, a, path, &an); /* a factor's file has both */
    if (!mpk_failed(status)) status = mpk_factor_load(ctx, an, path, &fac);
    if (mpk_failed(status)) {
        printf("no factor from last night: %s\n", why(ctx));
        mpk_analysis_destroy(&an);
        status = mpk_analyse(ctx, a, NULL, &an);
        if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, NULL, &fac);
    }
    mpk_factor_info_get(fac, &info);
    double *x = malloc((size_t)view.n * sizeof *x), worst = 0;
    for (int request = 0; x && !mpk_failed(status) && request < 5; request++) {
        mpk_solve_info solved;
        for (int32_t i = 0; i < view.n; i++) x[i] = (i + request) % 7 - 3; /* what is asked */
        status = mpk_solve(ctx, fac, 1, x, view.n, x, view.n, NULL, &solved);
        if (solved.componentwise > worst) worst = solved.componentwise;
    }
    if (!mpk_failed(status))
        printf("5 requests answered; inertia %lld/%lld/%lld%s, backward error %s 1e-14\n",
               (long long)info.inertia.positive, (long long)info.inertia.negative,
               (long long)info.inertia.zero, info.inertia.certified ? ", certified" : "",
               worst <= 1e-14 ? "at most" : "above");
    free(x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    return status;
}

int main(int argc, char **argv) {
    char own[] = "/tmp/nightly-XXXXXX";
    const char *path = argc > 2 ? argv[2] : own;
    const int file = argc > 2 ? -1 : mkstemp(own);
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status)) status = basin(ctx, &a);
    if (!mpk_failed(status) && (argc < 2 || !strcmp(argv[1], "night")))
        status = night(ctx, a, path);
    if (!mpk_failed(status) && (argc < 2 || !strcmp(argv[1], "day"))) status = day(ctx, a, path);
    if (mpk_failed(status)) fprintf(stderr, "nightly: %s\n", why(ctx));
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
    if (file >= 0) {
        close(file);
        unlink(own);
    }
    return mpk_failed(status);
}
