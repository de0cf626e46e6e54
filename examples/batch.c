/* SPDX-License-Identifier: BSD-3-Clause */
/** A thousand small KKT systems [H a; a' 0] at once: minimise x'Hx/2 with a'x = 1. Each has n
 *  positive and one negative eigenvalue; one of them is broken on purpose and does not harm the
 *  others. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>

enum { N = 7, COUNT = 1000, BROKEN = 500 };

static double a[COUNT][N][N], x[COUNT][N];
static int32_t pivots[COUNT][N], outcome[COUNT], inertia[COUNT][3];

int main(void) {
    for (int b = 0; b < COUNT; b++) {
        for (int j = 0; j < N - 1; j++) {
            a[b][j][j] = 1 + (b + j) % 10; /* column j of the lower triangle */
            a[b][j][N - 1] = 1;
        }
        x[b][N - 1] = 1; /* the right-hand side, and then the solution */
    }
    a[BROKEN][2][2] = NAN;

    mpk_context *ctx = NULL;
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.count = COUNT;
    batch.n = N;
    batch.pivoting = MPK_PIVOTING_PARTIAL;
    mpk_batch_array matrices = {MPK_BATCH_STRIDED, MPK_HOST, a, N * N, N, 1};
    mpk_batch_array vectors = {MPK_BATCH_STRIDED, MPK_HOST, x, N, N, 1};
    mpk_batch_results results = {outcome, &inertia[0][0]};
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = mpk_batch_ldlt(ctx, &batch, &matrices, &pivots[0][0], &results);
    printf("factorization: %s\n", mpk_status_text(status));
    if (!mpk_failed(status)) /* the broken one has no factors, and its solution is meaningless */
        mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &matrices, &pivots[0][0], 1, &vectors, NULL);

    int good = 0;
    double worst = 0;
    for (int b = 0; b < COUNT && !mpk_failed(status); b++) {
        if (outcome[b] != MPK_BATCH_OK) continue;
        good += inertia[b][0] == N - 1 && inertia[b][1] == 1;
        double sum = -1; /* a'x = 1 */
        for (int j = 0; j < N - 1; j++) sum += x[b][j];
        worst = fmax(worst, fabs(sum));
    }
    printf("%d of %d right, constraint kept to %.0e\n", good, COUNT, worst);
    mpk_context_destroy(&ctx);
    return !(status == MPK_PARTIAL && good == COUNT - 1 &&
             outcome[BROKEN] == MPK_BATCH_NOT_FINITE && worst < 1e-12);
}
