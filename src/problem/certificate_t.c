/* SPDX-License-Identifier: BSD-3-Clause */
/* The vectors of a certificate, and what a solve leaves of one. */
#include "certificate.h"
#include "../core/precision.h"
#include "../core/random.h"

/* ---- Gaussian numbers ------------------------------------------------------------------------ */

/* The ziggurat of Marsaglia & Tsang 2000 (J. Stat. Softw. 5(8)), with 53 bits and a box chosen by
 * others than these (Doornik 2005). */

enum { BOXES = 128 };
static const double TAIL = 3.442619855899, AREA = 9.91256303526217e-3;

/* Edges of the boxes, and the share of each that lies under the density whatever the height. */
typedef struct ziggurat {
    double edge[BOXES + 1], inside[BOXES];
} ziggurat;

static void build(ziggurat *z) {
    double density = exp(-0.5 * TAIL * TAIL);
    z->edge[0] = AREA / density;
    z->edge[1] = TAIL;
    for (int k = 2; k < BOXES; k++) {
        z->edge[k] = sqrt(-2 * log(AREA / z->edge[k - 1] + density));
        density = exp(-0.5 * z->edge[k] * z->edge[k]);
    }
    z->edge[BOXES] = 0;
    for (int k = 0; k < BOXES; k++) z->inside[k] = z->edge[k + 1] / z->edge[k];
}

/* In (0, 1). */
static double open_unit(uint64_t *state) {
    return mpki_random_unit(mpki_random_next(state)) + 0x1p-54;
}

static double beyond_tail(uint64_t *state) {
    for (;;) {
        const double x = -log(open_unit(state)) / TAIL, y = -log(open_unit(state));
        if (2 * y > x * x) return TAIL + x;
    }
}

static double gaussian(const ziggurat *z, uint64_t *state) {
    for (;;) {
        const uint64_t bits = mpki_random_next(state);
        const int k = (int)(bits & (BOXES - 1));
        const double u = (double)((int64_t)bits >> 7) * 0x1p-56, x = u * z->edge[k];
        if (fabs(u) < z->inside[k]) return x;
        if (k == 0) return u < 0 ? -beyond_tail(state) : beyond_tail(state);
        const double below = exp(-0.5 * (z->edge[k] * z->edge[k] - x * x));
        const double above = exp(-0.5 * (z->edge[k + 1] * z->edge[k + 1] - x * x));
        if (above + open_unit(state) * (below - above) < 1) return x;
    }
}

void FN(gaussian)(int64_t n, const double *scale, uint64_t *state, void *vz) {
    ziggurat zig;
    T *z = vz;
    build(&zig);
    for (int64_t i = 0; i < n; i++) {
        const double s = scale ? scale[i] : 1, re = gaussian(&zig, state);
        z[i] = t_make((R)(s * re), MPKI_COMPLEX ? (R)(s * gaussian(&zig, state)) : 0);
    }
}

/* Symmetric equilibration in the maximum norm (Ruiz 2001, RAL-TR-2001-034). */
void FN(certificate_scale)(int64_t n, const void *va, int64_t lda, bool upper, double *scale,
                           double *work) {
    enum { SWEEPS = 8 };
    bool even = false;
    for (int64_t i = 0; i < n; i++) scale[i] = 1;
    for (int sweep = 0; sweep < SWEEPS && !even; sweep++) {
        const T *a = va;
        for (int64_t i = 0; i < n; i++) work[i] = 0;
        for (int64_t j = 0; j < n; j++) {
            const int64_t i0 = upper ? 0 : j, i1 = upper ? j + 1 : n;
            const T *column = lda > 0 ? (const T *)va + j * lda : a - i0;
            for (int64_t i = i0; i < i1; i++) {
                const double size = scale[i] * (double)t_abs1(column[i]) * scale[j];
                work[i] = fmax(work[i], size);
                work[j] = fmax(work[j], size);
            }
            a += i1 - i0;
        }
        even = true;
        for (int64_t i = 0; i < n; i++) {
            int exponent;
            if (!(work[i] > 0 && work[i] < INFINITY)) continue;
            even &= work[i] > 0.1 && work[i] < 10;
            frexp(work[i], &exponent);
            scale[i] = ldexp(scale[i], -(exponent / 2));
        }
    }
}

double FN(contraction)(int64_t n, const double *scale, const void *vz, const void *vy) {
    const T *z = vz, *y = vy;
    double all = 0, left = 0;
    for (int64_t i = 0; i < n; i++) {
        const double s = scale ? 1 / scale[i] : 1;
        const double re = (double)t_re(z[i]) * s, im = (double)t_im(z[i]) * s;
        const double dr = ((double)t_re(z[i]) + (double)t_re(y[i])) * s;
        const double di = ((double)t_im(z[i]) + (double)t_im(y[i])) * s;
        all += re * re + im * im;
        left += dr * dr + di * di;
    }
    return sqrt((double)n * left / all);
}
