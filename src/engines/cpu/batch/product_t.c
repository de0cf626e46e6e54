/* SPDX-License-Identifier: BSD-3-Clause */
/* C := beta C + alpha A D op(B), one matrix after the other: -alpha D op(B) is formed, and its
 * product with A is subtracted where C lies; for square matrices by borgc's kernel for their order,
 * else by the block kernel of the direct solver. */
#include "engines/cpu/isa/cpu.h"
#include "access.h"
#include "emitted.h"

enum { MAX = MPK_BATCH_MAX_N };

static int64_t rounded(int64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* bytes: copies of A, B, C and D op(B), the packed form of that, and rounding up to slivers */
int64_t FN(batch_gemm_bytes)(const mpki_batch_job *job) {
    (void)job;
    return 5 * rounded((int64_t)MAX * (MAX + 16) * (int64_t)sizeof(T));
}

/* x := alpha D op(B), k x n with leading dimension k */
static void right_factor(const mpki_batch_job *job, R factor, int n, int k, FN(view) b,
                         const FN(view) * d, T *x) {
    const int how = job->product->transpose_b, herm = job->batch.symmetry == MPK_HERMITIAN;
    const T alpha = t_make(factor, 0);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < k; i++) {
            T v = how ? b.p[(j + i * b.ld) * b.step] : b.p[(i + j * b.ld) * b.step];
            x[i + j * k] = t_mul(alpha, conj_if(how == 2, v));
        }
    if (!d) return;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < k; i++) {
            const T *di = d->p + i * d->ld * d->step;
            T *y = x + i + j * k, d11 = di[0], d21 = di[d->step];
            if (i + 1 < k && t_abs1(d21) > 0) {
                T d22 = di[d->ld * d->step], y1 = y[0], y2 = y[1];
                y[0] = t_mul(d11, y1) + t_mul(conj_if(herm, d21), y2);
                y[1] = t_mul(d21, y1) + t_mul(d22, y2);
                i++;
            } else {
                y[0] = t_mul(d11, y[0]);
            }
        }
}

/* pack -x in slivers of nc columns */
static void pack(int n, int k, int nc, const T *x, T *packed) {
    for (int j = 0; j < n; j += nc)
        for (int i = 0; i < k; i++)
            for (int l = 0; l < nc; l++) *packed++ = j + l < n ? -x[i + (j + l) * k] : t_make(0, 0);
}

static void scale(R beta, int m, int n, T *c, int64_t ld) {
    if (beta == 1) return;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) c[i + j * ld] = beta == 0 ? t_make(0, 0) : c[i + j * ld] * beta;
}

static void one(const mpki_batch_job *job, int64_t matrix, const FN(kernels) * kernels,
                T *part[5]) {
    const mpk_batch_product *p = job->product;
    const int32_t *sizes = p->sizes ? p->sizes + 3 * matrix : NULL;
    const int m = sizes ? sizes[0] : p->m, n = sizes ? sizes[1] : p->n, k = sizes ? sizes[2] : p->k;
    if (m == 0 || n == 0) return;
    FN(view) a = {0}, b = {0}, c = FN(view_of)(job->c, matrix), d = {0}, where = c;
    if (job->c->layout == MPK_BATCH_INTERLEAVED) {
        if (p->beta != 0) FN(fetch)(where, m, n, false, part[2], m);
        c = (FN(view)){part[2], m, 1};
    }
    scale((R)p->beta, m, n, c.p, c.ld);
    if (k > 0 && p->alpha != 0) {
        a = FN(view_of)(job->a, matrix), b = FN(view_of)(job->b, matrix);
        if (job->d) d = FN(view_of)(job->d, matrix);
        if (job->a->layout == MPK_BATCH_INTERLEAVED) {
            FN(fetch)(a, m, k, false, part[0], m);
            a = (FN(view)){part[0], m, 1};
        }
        const R alpha = (R)p->alpha;
        FN(batch_product_fn) emitted = m == n && n == k ? FN(batch_emitted_product)(n) : NULL;
        if (a.ld > FN(batch_emitted_ld) || b.ld > FN(batch_emitted_ld) ||
            c.ld > FN(batch_emitted_ld))
            emitted = NULL;
        if (emitted && alpha == -1 && !job->d && !p->transpose_b && b.step == 1) {
            emitted(0, 1, c.p, (int32_t)c.ld, 0, a.p, (int32_t)a.ld, 0, b.p, (int32_t)b.ld, 0);
        } else if (emitted) {
            right_factor(job, -alpha, n, k, b, job->d ? &d : NULL, part[3]);
            emitted(0, 1, c.p, (int32_t)c.ld, 0, a.p, (int32_t)a.ld, 0, part[3], k, 0);
        } else {
            right_factor(job, alpha, n, k, b, job->d ? &d : NULL, part[3]);
            pack(n, k, kernels->nc, part[3], part[4]);
            kernels->multiply(m, n, k, a.p, a.ld, part[4], c.p, c.ld, 0, (int64_t)1 << 40);
        }
    }
    if (where.p != c.p) FN(bring)(where, m, n, false, c.p, m);
}

void FN(batch_gemm_chunk)(mpki_batch_job *job, int64_t first, int64_t last, void *work) {
    const FN(kernels) *kernels = FN(cpu_kernels)();
    T *part[5];
    for (int i = 0; i < 5; i++)
        part[i] = (T *)((char *)work + i * rounded((int64_t)MAX * (MAX + 16) * (int64_t)sizeof(T)));
    for (int64_t k = first; k < last; k++) one(job, k, kernels, part);
}
