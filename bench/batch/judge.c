/* SPDX-License-Identifier: BSD-3-Clause */
/* Are a row's factors right? */
#include "rows.h"

/* The number of the q-th matrix that is looked at; where it lies in what fetch() gave and in what
 * the host has. */
static int64_t looked_at(const bench *b, int64_t q) {
    return q * (b->count - 1) / CHECKED;
}
static int64_t slot(const bench *b, int64_t q) {
    return follows(b) ? q : looked_at(b, q);
}
static int64_t origin(const bench *b, int64_t k) {
    return follows(b) ? k % b->different : k;
}

/* Of strided matrices those that are looked at, else all. */
static void *fetch(const bench *b) {
    const size_t one = (size_t)b->each * size_of(b), all = (size_t)b->total * size_of(b);
    if (!follows(b)) {
        void *got = malloc(all);
        NEED(cudaMemcpy(got, b->a, all, cudaMemcpyDeviceToHost));
        return got;
    }
    char *got = malloc(CHECKED * one);
    for (int64_t q = 0; q < CHECKED && q < b->count; q++)
        NEED(cudaMemcpyAsync(got + (size_t)q * one, (char *)b->a + (size_t)looked_at(b, q) * one,
                             one, cudaMemcpyDeviceToHost, b->stream));
    NEED(cudaStreamSynchronize(b->stream));
    return got;
}

/* Some matrices once more on the host: the largest difference of the factors over their largest
 * entry; pivots may differ where two candidates are as good. */
double row_apart(bench *b) {
    const int n = b->n;
    void *got = fetch(b), *mine = malloc((size_t)b->each * size_of(b));
    int32_t piv[2 * MPK_BATCH_MAX_N] = {0};
    double worst = 0;
    for (int64_t q = 0; q < CHECKED && q < b->count; q++) {
        const int64_t k = looked_at(b, q);
        const int order = order_of(b, k);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                memcpy((char *)mine + (size_t)(i + j * n) * size_of(b),
                       (char *)b->host + (size_t)at(b, origin(b, k), i, j) * size_of(b),
                       size_of(b));
        mpk_batch batch;
        mpk_batch_init(&batch);
        batch.scalar = b->scalar, batch.count = 1, batch.n = order, batch.threads = 1;
        batch.pivoting = pivoting_of(b);
        mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, mine, b->each, n, 1};
        const mpk_batch_method method = method_of(b);
        row_must(b, (method == MPK_BATCH_LLT   ? mpk_batch_llt
                     : method == MPK_BATCH_LDU ? mpk_batch_ldu
                                               : mpk_batch_ldlt)(b->ctx, &batch, &x, piv, NULL));
        double most = 0, off = 0;
        for (int j = 0; j < order; j++)
            for (int i = method == MPK_BATCH_LDU ? 0 : j; i < order; i++) {
                const double u = get(b, mine, i + (int64_t)j * n),
                             v = get(b, got, at(b, slot(b, q), i, j));
                most = fmax(most, fabs(u));
                off = !(fabs(u - v) <= off) ? fabs(u - v) : off;
            }
        worst = !(off / most <= worst) ? off / most : worst;
    }
    free(got), free(mine);
    return worst;
}

/* P A P^T - L D L^T of real matrix `given` of the host, whose factors are number k of what came
 * from the device: its largest entry over A's. piv: places of rows, complements for 2x2 pivots,
 * whose entry of D lies where L has none. */
static double residual(const bench *b, const void *got, const int32_t *piv, int64_t k,
                       int64_t given, int order) {
    double l[MPK_BATCH_MAX_N][MPK_BATCH_MAX_N] = {{0}}, m[MPK_BATCH_MAX_N][MPK_BATCH_MAX_N] = {{0}};
    double most = 0, off = 0;
    for (int j = 0; j < order; j++) {
        l[j][j] = 1;
        for (int i = j + 1; i < order; i++) l[i][j] = get(b, got, at(b, k, i, j));
    }
    for (int s = 0; s < order; s++) { /* M = L D */
        const int two = piv && piv[s] < 0;
        const double d = get(b, got, at(b, k, s, s)), e = two ? get(b, got, at(b, k, s + 1, s)) : 0,
                     f = two ? get(b, got, at(b, k, s + 1, s + 1)) : 0;
        if (two) l[s + 1][s] = 0;
        for (int i = 0; i < order; i++) {
            m[i][s] = l[i][s] * d + (two ? l[i][s + 1] * e : 0);
            if (two) m[i][s + 1] = l[i][s] * e + l[i][s + 1] * f;
        }
        s += two;
    }
    for (int j = 0; j < order; j++)
        for (int i = j; i < order; i++) {
            const int p = !piv ? i : piv[i] < 0 ? ~piv[i] : piv[i];
            const int q = !piv ? j : piv[j] < 0 ? ~piv[j] : piv[j];
            const double a = get(b, b->host, at(b, given, p > q ? p : q, p > q ? q : p));
            double x = a;
            for (int s = 0; s < order; s++) x -= m[i][s] * l[j][s];
            most = fmax(most, fabs(a));
            off = !(fabs(x) <= off) ? fabs(x) : off;
        }
    return off / most;
}

/* The worst one of some matrices; below 0: not an LDLT of real numbers. */
double row_backward(bench *b) {
    if (!starts(b, "ldlt") || b->scalar > MPK_D) return -1;
    void *got = fetch(b);
    int32_t *piv = malloc((size_t)(b->count * b->n) * 4);
    double worst = 0;
    NEED(cudaMemcpy(piv, b->pivots, (size_t)(b->count * b->n) * 4, cudaMemcpyDeviceToHost));
    for (int64_t q = 0; q < CHECKED && q < b->count; q++) {
        const int64_t k = looked_at(b, q);
        const double x =
            residual(b, got, pivoting_of(b) < MPK_PIVOTING_PARTIAL ? NULL : piv + k * b->n,
                     slot(b, q), origin(b, k), order_of(b, k));
        worst = !(x <= worst) ? x : worst;
    }
    free(got), free(piv);
    const double unit = b->scalar == MPK_S ? 0x1p-24 : 0x1p-53;
    if (!(worst <= 1e3 * b->n * unit)) {
        fprintf(stderr, "%s %s n %d: backward error %g\n", b->verb, b->layout, b->n, worst);
        exit(5);
    }
    return worst;
}
