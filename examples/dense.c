/* SPDX-License-Identifier: BSD-3-Clause */
/** A dense symmetric indefinite system, |i - j| off the diagonal and zero on it: one positive
 *  eigenvalue, no pivot to begin with. The method is left to the ladder. */
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 400 };

int main(void) {
    static double a[N][N], f[N][N], b[N], x[N]; /* column j of the lower triangle: a[j] */
    mpk_context *ctx = NULL;
    mpk_dense dense;
    mpk_dense_sizes sizes;
    mpk_dense_info info;
    for (int j = 0; j < N; j++) {
        b[j] = 1;
        for (int i = j; i < N; i++) a[j][i] = i - j;
    }
    mpk_dense_init(&dense);
    dense.n = N;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status)) status = mpk_dense_query(ctx, &dense, 1, &sizes);
    if (mpk_failed(status)) return 1;
    mpk_dense_factor factor = {.struct_size = sizeof factor, .f = f, .ldf = N};
    factor.pivots = malloc((size_t)sizes.pivots * sizeof(int32_t));
    status = mpk_dense_sysv(ctx, &dense, a, N, &factor, 1, b, N, x, N, NULL, 0, &info);
    if (!mpk_failed(status))
        printf("%s by %s: backward error %.0e, %lld positive and %lld negative eigenvalues\n",
               mpk_status_text(status), mpk_dense_method_name(info.method), info.componentwise,
               (long long)info.inertia.positive, (long long)info.inertia.negative);
    free(factor.pivots);
    mpk_context_destroy(&ctx);
    return !(status == MPK_OK && info.inertia.positive == 1 && info.inertia.negative == N - 1);
}
