/* SPDX-License-Identifier: BSD-3-Clause */
#include "../backends/cpu/cpu.h"
#include "triangular.h"

#include <string.h>

int64_t FN(sweep_work)(const mpk_factor *fac, int nrhs) {
    return ((int64_t)fac->info.max_front + 8) * nrhs + MPKI_PANEL * (int64_t)(nrhs + 16);
}

void FN(permute_in)(const mpk_factor *fac, int nrhs, const void *vx, int64_t ldx, void *vy) {
    const T *x = vx;
    T *y = vy;
    const int32_t *perm = fac->an->perm;
    for (int32_t k = 0; k < fac->an->n; k++) {
        R s = (R)fac->scale[perm[k]];
        for (int r = 0; r < nrhs; r++) y[(int64_t)k * nrhs + r] = x[perm[k] + r * ldx] * s;
    }
}

void FN(permute_out)(const mpk_factor *fac, int nrhs, const void *vy, void *vx, int64_t ldx) {
    T *x = vx;
    const T *y = vy;
    const int32_t *perm = fac->an->perm;
    for (int32_t k = 0; k < fac->an->n; k++) {
        R s = (R)fac->scale[perm[k]];
        for (int r = 0; r < nrhs; r++) x[perm[k] + r * ldx] = y[(int64_t)k * nrhs + r] * s;
    }
}

/* ---- one right-hand side -----------------------------------------------------------------------
 */

static void forward_node(const FN(kernels) * k, const mpki_node *node, const int32_t *ridx, T *y,
                         T *v) {
    const int32_t e = node->nelim, w = node->w;
    const int64_t n = node->nrows;
    for (int32_t i = 0; i < e; i++) v[i] = y[node->id[i]];
    for (int64_t i = e; i < n; i++) v[i] = t_make(0, 0);
    for (int32_t j0 = 0; j0 < e; j0 += MPKI_PANEL) {
        const int32_t j1 = e - j0 < MPKI_PANEL ? e : j0 + MPKI_PANEL;
        const int64_t ld = node->ld0 - j0;
        const T *a = (const T *)node->a + mpki_panel_offset(node->ld0, j0 / MPKI_PANEL) - j0;
        for (int32_t j = j0; j + 1 < j1; j++) {
            const T *l = a + (j - j0) * ld, x = v[j];
            for (int32_t i = j + 1; i < j1; i++) v[i] -= t_mul(l[i], x);
        }
        if (n > j1) k->gemv(n - j1, j1 - j0, a + j1, ld, v + j0, v + j1);
    }
    for (int32_t i = 0; i < e; i++) y[node->id[i]] = v[i];
    for (int32_t i = e; i < w; i++) y[node->id[i]] += v[i];
    for (int64_t i = w; i < n; i++) y[ridx[i - w]] += v[i];
}

static void backward_node(const FN(kernels) * k, const mpki_node *node, const int32_t *ridx,
                          int hermitian, T *y, T *v) {
    const int32_t e = node->nelim, w = node->w;
    const int64_t n = node->nrows;
    for (int32_t i = 0; i < w; i++) v[i] = y[node->id[i]];
    for (int64_t i = w; i < n; i++) v[i] = y[ridx[i - w]];
    for (int32_t j0 = (e - 1) / MPKI_PANEL * MPKI_PANEL; e > 0 && j0 >= 0; j0 -= MPKI_PANEL) {
        const int32_t j1 = e - j0 < MPKI_PANEL ? e : j0 + MPKI_PANEL;
        const int64_t ld = node->ld0 - j0;
        const T *a = (const T *)node->a + mpki_panel_offset(node->ld0, j0 / MPKI_PANEL) - j0;
        if (n > j1) k->gemvt(n - j1, j1 - j0, a + j1, ld, v + j1, v + j0, hermitian);
        for (int32_t j = j1 - 2; j >= j0; j--) {
            const T *l = a + (j - j0) * ld;
            T sum = v[j];
            for (int32_t i = j + 1; i < j1; i++) sum -= t_mul(conj_if(hermitian, l[i]), v[i]);
            v[j] = sum;
        }
    }
    for (int32_t i = 0; i < e; i++) y[node->id[i]] = v[i];
}

/* ---- a block of right-hand sides, rows of nr ---------------------------------------------------
 */

static void forward_block(const FN(kernels) * k, const mpki_node *node, const int32_t *ridx, int nr,
                          T *y, T *v) {
    const int32_t e = node->nelim, w = node->w;
    const int64_t n = node->nrows;
    T *packed = v + (n + 8) * nr;
    /* v by columns here: C of the kernel; the solved rows are packed as its right factor */
    for (int r = 0; r < nr; r++) {
        for (int32_t i = 0; i < e; i++) v[i + r * n] = y[(int64_t)node->id[i] * nr + r];
        for (int64_t i = e; i < n; i++) v[i + r * n] = t_make(0, 0);
    }
    for (int32_t j0 = 0; j0 < e; j0 += MPKI_PANEL) {
        const int32_t j1 = e - j0 < MPKI_PANEL ? e : j0 + MPKI_PANEL;
        const int64_t ld = node->ld0 - j0;
        const T *a = (const T *)node->a + mpki_panel_offset(node->ld0, j0 / MPKI_PANEL) - j0;
        for (int r = 0; r < nr; r++)
            for (int32_t j = j0; j + 1 < j1; j++) {
                const T *l = a + (j - j0) * ld, x = v[j + r * n];
                for (int32_t i = j + 1; i < j1; i++) v[i + r * n] -= t_mul(l[i], x);
            }
        if (n <= j1) continue;
        for (int32_t j = j0; j < j1; j++) /* rows of nr, in slivers of nc */
            for (int r = 0; r < nr; r += k->nc)
                for (int c = 0; c < k->nc; c++)
                    packed[(int64_t)r * (j1 - j0) + (int64_t)(j - j0) * k->nc + c] =
                        r + c < nr ? v[j + (r + c) * n] : t_make(0, 0);
        k->multiply(n - j1, nr, j1 - j0, a + j1, ld, packed, v + j1, n, 0, INT64_MAX / 2);
    }
    for (int r = 0; r < nr; r++) {
        for (int32_t i = 0; i < e; i++) y[(int64_t)node->id[i] * nr + r] = v[i + r * n];
        for (int32_t i = e; i < w; i++) y[(int64_t)node->id[i] * nr + r] += v[i + r * n];
        for (int64_t i = w; i < n; i++) y[(int64_t)ridx[i - w] * nr + r] += v[i + r * n];
    }
}

static void backward_block(const mpki_node *node, const int32_t *ridx, int hermitian, int nr, T *y,
                           T *v) {
    const int32_t e = node->nelim, w = node->w;
    const int64_t n = node->nrows;
    for (int32_t i = 0; i < w; i++)
        memcpy(v + (int64_t)i * nr, y + (int64_t)node->id[i] * nr, nr * sizeof(T));
    for (int64_t i = w; i < n; i++)
        memcpy(v + i * nr, y + (int64_t)ridx[i - w] * nr, nr * sizeof(T));
    for (int32_t j = e - 1; j >= 0; j--) {
        const int32_t j0 = j / MPKI_PANEL * MPKI_PANEL;
        const T *l = (const T *)node->a + mpki_panel_offset(node->ld0, j0 / MPKI_PANEL) +
                     (j - j0) * (node->ld0 - j0) - j0;
        T *x = v + (int64_t)j * nr;
        for (int64_t i = j + 1; i < n; i++) {
            T m = conj_if(hermitian, l[i]);
            const T *z = v + i * nr;
            for (int r = 0; r < nr; r++) x[r] -= t_mul(m, z[r]);
        }
    }
    for (int32_t i = 0; i < e; i++)
        memcpy(y + (int64_t)node->id[i] * nr, v + (int64_t)i * nr, nr * sizeof(T));
}

/* ---- the sweeps ---------------------------------------------------------------------------------
 */

void FN(forward)(const mpk_factor *fac, int nrhs, void *y, void *work) {
    const mpk_analysis *an = fac->an;
    const FN(kernels) *k = FN(cpu_kernels)();
    for (int32_t s = 0; s < an->nsuper; s++) {
        const int32_t *ridx = an->ridx + an->rptr[s];
        if (nrhs == 1)
            forward_node(k, &fac->node[s], ridx, y, work);
        else
            forward_block(k, &fac->node[s], ridx, nrhs, y, work);
    }
}

void FN(backward)(const mpk_factor *fac, int nrhs, void *y, void *work) {
    const mpk_analysis *an = fac->an;
    const FN(kernels) *k = FN(cpu_kernels)();
    const int hermitian = an->symmetry == MPK_HERMITIAN;
    for (int32_t s = an->nsuper - 1; s >= 0; s--) {
        const int32_t *ridx = an->ridx + an->rptr[s];
        if (nrhs == 1)
            backward_node(k, &fac->node[s], ridx, hermitian, y, work);
        else
            backward_block(&fac->node[s], ridx, hermitian, nrhs, y, work);
    }
}

void FN(diagonal)(const mpk_factor *fac, int nrhs, void *vy) {
    T *y = vy;
    const int hermitian = fac->an->symmetry == MPK_HERMITIAN;
    for (int32_t s = 0; s < fac->an->nsuper; s++) {
        const mpki_node *node = &fac->node[s];
        const T *d = node->dinv;
        for (int32_t k = 0; k < node->nelim; k++) {
            T *x1 = y + (int64_t)node->id[k] * nrhs;
            if (t_abs1(d[2 * k + 1]) > 0) {
                T *x2 = y + (int64_t)node->id[k + 1] * nrhs, off = d[2 * k + 1];
                for (int r = 0; r < nrhs; r++) {
                    T a = x1[r], b = x2[r];
                    x1[r] = t_mul(d[2 * k], a) + t_mul(conj_if(hermitian, off), b);
                    x2[r] = t_mul(off, a) + t_mul(d[2 * k + 2], b);
                }
                k++;
            } else {
                for (int r = 0; r < nrhs; r++) x1[r] = t_mul(d[2 * k], x1[r]);
            }
        }
    }
}
