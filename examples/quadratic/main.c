/* SPDX-License-Identifier: BSD-3-Clause */
/** Convex quadratic programs by an interior-point method, its linear systems on a GPU where there
 *  is
 *  one:  minimise 1/2 x^T H x + c^T x  subject to  A x = b,  l <= x <= u  (bounds may be infinite).
 *
 *      quadratic [--device cpu|cuda|auto] [--delta D] [--seeds K] [--only
 *      whole|condensed|systems] [SPEC...] SPEC: "random N M", "linear N M", "degenerate N M",
 *      "control N", "infeasible N M", "unbounded N M", "dependent N M"
 *
 *  Each program is solved twice: with the whole KKT system, whose pivots are chosen by the library
 *  and whose inertia says whether the step is one of descent; and condensed, as codes do that have
 *  no such factorization: H + Theta + A^T A / delta, positive definite, for the system with -delta
 *  I in its corner. Both are the predictor-corrector method of Mehrotra (SIAM J. Optim. 2, 1992):
 *  two solves with each factorization. Of the values only those of the diagonal travel to the
 *  device. --only systems: of a linear program the whole system, the reduced one and the Schur
 *  complement side by side at each step (three.h). */
#include "method.h"
#include "three.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mpk_status run(mpk_context *ctx, const program *p, const mpk_options *options, bool whole,
                      double delta, bool *right) {
    kkt k = {.ctx = ctx, .p = p, .whole = whole, .delta = whole ? 0 : delta, .options = *options};
    outcome end;
    mpk_status status = minimise(&k, &end);
    const int count = k.factorizations > 0 ? k.factorizations : 1;
    if (mpk_failed(status)) {
        const char *text = NULL;
        mpk_last_error(ctx, NULL, NULL, &text);
        printf("  %-9s failed after %d steps: %s: %s\n", whole ? "whole" : "condensed", end.steps,
               mpk_status_name(status), text);
    } else {
        printf("  %-9s %s in %d steps, %d factorizations%s; residuals %.0e %.0e, gap %.0e",
               whole ? "whole" : "condensed", end.end, end.steps, k.factorizations,
               k.raised ? " (held)" : "", end.primal, end.dual, end.gap);
        if (p->known) printf(", objective off by %.0e", end.error);
        printf("\n            %s, order %d; ms: before %.1f, each", mpk_factor_engine(k.fac),
               k.order, 1e3 * k.analysis);
        for (int s = 0; s < STAGES; s++) printf(" %s %.2f", stage_name[s], 1e3 * k.time[s] / count);
        printf("\n");
    }
    fflush(stdout);
    *right = !mpk_failed(status) && !strcmp(end.end, p->ends) && !(end.error > 100 * TOLERANCE);
    kkt_free(&k);
    return status;
}

int main(int argc, char **argv) {
    static const char *const usual[] = {"random 2000 800", "control 300", "dependent 500 200",
                                        "infeasible 300 100", "unbounded 300 100"};
    const char *spec[64], *only = "";
    int specs = 0, seeds = 2, wrong = 0;
    double delta = 1e-8;
    mpk_context *ctx = NULL;
    mpk_options options;
    mpk_options_init(&options);
    options.method = MPK_METHOD_LDLT;
    options.device = MPK_ON_AUTO;
    mpk_status status = mpk_context_create(NULL, &ctx);
    for (int k = 1; k < argc && !mpk_failed(status); k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (argv[k][0] != '-' && specs < 64)
            spec[specs++] = argv[k];
        else if (!strcmp(argv[k], "--delta"))
            delta = atof(value), k++;
        else if (!strcmp(argv[k], "--seeds"))
            seeds = atoi(value), k++;
        else if (!strcmp(argv[k], "--only"))
            only = value, k++;
        else
            status = mpk_options_set(ctx, &options, argv[k] + strspn(argv[k], "-"), value), k++;
    }
    if (mpk_failed(status) || !(delta > 0 && delta < 1) || seeds < 1) {
        const char *text = "delta lies between 0 and 1, seeds are at least 1";
        if (mpk_failed(status)) mpk_last_error(ctx, NULL, NULL, &text);
        fprintf(stderr, "quadratic: %s\n", text);
        mpk_context_destroy(&ctx);
        return mpk_exit_code(MPK_ERR_ARGUMENT);
    }
    for (; specs == 0 || (spec[0] == usual[0] && specs < 5); specs++) spec[specs] = usual[specs];
    for (int s = 0; s < specs * seeds && !mpk_failed(status); s++) {
        program p = {0};
        bool right = true;
        if (!program_of(&p, spec[s / seeds], 1 + s % seeds)) {
            fprintf(stderr,
                    "quadratic: '%s' is no program: random N M with 3 <= M <= N, control N ...\n",
                    spec[s / seeds]);
            status = MPK_ERR_ARGUMENT;
            break;
        }
        printf("%s, seed %d: %d unknowns, %d constraints, %s\n", spec[s / seeds], 1 + s % seeds,
               p.n, p.m, p.known ? "a solution is known" : p.ends);
        if (!strcmp(only, "systems")) {
            status = three_systems(ctx, &p, &options, &right);
            wrong += !right;
            program_free(&p);
            continue;
        }
        if (strcmp(only, "condensed") != 0) {
            status = run(ctx, &p, &options, true, delta, &right);
            wrong += !right;
        }
        if (strcmp(only, "whole") != 0 && !mpk_failed(status))
            (void)run(ctx, &p, &options, false, delta, &right);
        program_free(&p);
    }
    mpk_context_destroy(&ctx);
    return mpk_failed(status) ? mpk_exit_code(status) : wrong > 0;
}
