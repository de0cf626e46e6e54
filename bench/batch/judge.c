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
    if (pivoting_of(b) == MPK_PIVOTING_STATIC) return -1;
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
        batch.pivoting = pivoting_of(b), batch.symmetry = MPK_HERMITIAN;
        mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, mine, b->each, n, 1};
        const mpk_batch_method method = method_of(b);
        row_must(b, (method == MPK_BATCH_LLT   ? mpk_batch_llt
                     : method == MPK_BATCH_LDU ? mpk_batch_ldu
                                               : mpk_batch_ldlt)(b->ctx, &batch, &x, piv, NULL));
        double most = 0, off = 0;
        for (int j = 0; j < order; j++)
            for (int i = method == MPK_BATCH_LDU ? 0 : j; i < order; i++) {
                const double complex u = get(b, mine, i + (int64_t)j * n),
                                     v = get(b, got, at(b, slot(b, q), i, j));
                most = fmax(most, cabs(u));
                off = !(cabs(u - v) <= off) ? cabs(u - v) : off;
            }
        worst = !(off / most <= worst) ? off / most : worst;
    }
    free(got), free(mine);
    return worst;
}

typedef struct factors {
    double complex l[MPK_BATCH_MAX_N][MPK_BATCH_MAX_N], m[MPK_BATCH_MAX_N][MPK_BATCH_MAX_N];
} factors;

/* L and M = D L^H, L^H or D U of a matrix whose factors are number k of what came from the device.
 * piv: places of rows, complements for 2x2 pivots, whose entry of D lies where L has none. */
static void read_factors(const bench *b, const void *got, const int32_t *piv, int64_t k, int n,
                         factors *f) {
    const mpk_batch_method method = method_of(b);
    memset(f, 0, sizeof *f);
    for (int j = 0; j < n; j++) {
        f->l[j][j] = method == MPK_BATCH_LLT ? get(b, got, at(b, k, j, j)) : 1;
        for (int i = j + 1; i < n; i++) f->l[i][j] = get(b, got, at(b, k, i, j));
    }
    for (int s = 0; s < n; s++) {
        const int two = method == MPK_BATCH_LDLT && piv && piv[s] < 0;
        const double complex d = method == MPK_BATCH_LLT ? 1 : get(b, got, at(b, k, s, s)),
                             e = two ? get(b, got, at(b, k, s + 1, s)) : 0,
                             g = two ? get(b, got, at(b, k, s + 1, s + 1)) : 0;
        if (two) f->l[s + 1][s] = 0;
        for (int j = 0; j < n; j++) {
            if (method == MPK_BATCH_LDU) {
                const double complex u = j > s ? get(b, got, at(b, k, s, j)) : j == s;
                f->m[s][j] = d * u;
                continue;
            }
            const double complex u = conj(f->l[j][s]), v = two ? conj(f->l[j][s + 1]) : 0;
            f->m[s][j] = d * u + conj(e) * v;
            if (two) f->m[s + 1][j] = e * u + g * v;
        }
        s += two;
    }
}

/* P A Q - L D U of matrix `given` of the host, whose factors are number k of what came from the
 * device: its largest entry over A's. */
static double residual(const bench *b, const void *got, const int32_t *piv, int64_t k,
                       int64_t given, int order) {
    static factors f;
    const int general = method_of(b) == MPK_BATCH_LDU;
    double most = 0, off = 0;
    read_factors(b, got, piv, k, order, &f);
    for (int j = 0; j < order; j++)
        for (int i = general ? 0 : j; i < order; i++) {
            const int p = !piv ? i : piv[i] < 0 ? ~piv[i] : piv[i];
            const int q = !piv ? j : general ? piv[b->n + j] : piv[j] < 0 ? ~piv[j] : piv[j];
            double complex x = get(b, b->host, at(b, given, p, q));
            most = fmax(most, cabs(x));
            for (int s = 0; s < order; s++) x -= f.l[i][s] * f.m[s][j];
            off = !(cabs(x) <= off) ? cabs(x) : off;
        }
    return off / most;
}

double row_backward(bench *b) {
    const size_t each = (size_t)b->n * (method_of(b) == MPK_BATCH_LDU ? 2 : 1);
    void *got = fetch(b);
    int32_t *piv = malloc((size_t)b->count * each * 4);
    double worst = 0;
    NEED(cudaMemcpy(piv, b->pivots, (size_t)b->count * each * 4, cudaMemcpyDeviceToHost));
    for (int64_t q = 0; q < CHECKED && q < b->count; q++) {
        const int64_t k = looked_at(b, q);
        const double x =
            residual(b, got, pivoting_of(b) == MPK_PIVOTING_NONE ? NULL : piv + (size_t)k * each,
                     slot(b, q), origin(b, k), order_of(b, k));
        worst = !(x <= worst) ? x : worst;
    }
    free(got), free(piv);
    const double unit = b->scalar == MPK_S || b->scalar == MPK_C ? 0x1p-24 : 0x1p-53;
    if (!(worst <= 1e3 * b->n * unit * (pivoting_of(b) == MPK_PIVOTING_STATIC ? 1000 : 1))) {
        fprintf(stderr, "%s %c %s kernels %d n %d: backward error %g\n", b->verb, "sdcz"[b->scalar],
                b -> layout, (int)b -> kernels, b -> n, worst);
        if (b->lenient) return -1;
        exit(5);
    }
    return worst;
}
