/* SPDX-License-Identifier: BSD-3-Clause */
/* The diagonal of A Z, for a Z that is known on A's pattern. */
#include "selected.h"
#include "../core/precision.h"

#include <string.h>

typedef struct sums {
    double *re, *im, *size;
} sums;

/* a_ij z_ji, or with both conjugated: what the other triangle has. */
static void add(const sums *s, int32_t row, T a, T z, int conjugate_a, int conjugate_z) {
    const double complex x = (double)t_re(a) + (conjugate_a ? -1 : 1) * (double)t_im(a) * I;
    const double complex y = (double)t_re(z) + (conjugate_z ? -1 : 1) * (double)t_im(z) * I;
    const double re = creal(x) * creal(y) - cimag(x) * cimag(y);
    const double im = creal(x) * cimag(y) + cimag(x) * creal(y);
    s->re[row] += re;
    s->im[row] += im;
    s->size[row] += MPKI_COMPLEX ? hypot(re, im) : fabs(re);
}

bool FN(selected_check)(const mpk_problem_view *a, const void *vz, const void *vdiagonal,
                        double *work, mpk_selected_info *info) {
    const T *ax = a->ax, *z = vz, *diagonal = vdiagonal;
    const int32_t n = a->n;
    const int hermitian = a->symmetry == MPK_HERMITIAN;
    const sums s = {work, work + n, work + 2 * (int64_t)n};
    memset(work, 0, 3 * (size_t)n * sizeof *work);
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            add(&s, i, ax[k], z[k], 0, hermitian);
            if (i != j) add(&s, j, ax[k], z[k], hermitian, 0);
        }
    info->error = info->deviation = 0;
    info->row = n > 0 ? 0 : -1;
    for (int32_t i = 0; i < n; i++) {
        const double off = hypot(s.re[i] - 1, s.im[i]);
        if (!isfinite(off) || !isfinite(s.size[i])) return false;
        /* it may be where A has no entry, and is in no product then */
        if (diagonal && !(isfinite(t_re(diagonal[i])) && isfinite(t_im(diagonal[i])))) return false;
        if (off > info->deviation) info->deviation = off, info->row = i;
        /* a row with nothing in it is off by 1, of nothing */
        info->error = fmax(info->error, off > 0 ? off / s.size[i] : 0);
    }
    return true;
}

void FN(selected_none)(int64_t count, void *vx) {
    T *x = vx;
    for (int64_t k = 0; k < count; k++) x[k] = t_make((R)NAN, MPKI_COMPLEX ? (R)NAN : 0);
}
