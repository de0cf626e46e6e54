/* SPDX-License-Identifier: BSD-3-Clause */
/* Symmetric equilibration in the infinity norm (D. Ruiz, RAL-TR-2001-034). */
#include "../analysis.h"
#include <float.h>
#include <math.h>

/* s_i s_j stays finite and not zero, and DBL_MAX can still be brought to 1 */
#define SCALE_MAX 0x1p+511
#define SCALE_MIN 0x1p-512

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* largest[i] = max_j |s_i a_ij s_j|; 0 only for rows of zeros */
static void row_maxima(int32_t n, const int64_t *ap, const int32_t *ai, const double *absval,
                       const double *s, double *largest) {
    for (int32_t i = 0; i < n; i++) largest[i] = 0;
    for (int32_t j = 0; j < n; j++) {
        double most = largest[j];
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            if (!(absval[k] > 0)) continue;
            int32_t i = ai[k];
            double a = clamp(absval[k] * (s[i] * s[j]), DBL_MIN, DBL_MAX);
            if (a > most) most = a;
            if (a > largest[i]) largest[i] = a;
        }
        if (most > largest[j]) largest[j] = most;
    }
}

mpk_status mpki_equilibrate(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                            const double *absval, int sweeps, double *scale) {
    double *largest = MPKI_NEW(ctx, "equilibrate", n, double);
    if (!largest) return mpki_failed(ctx);
    for (int sweep = 0; sweep < sweeps; sweep++) {
        row_maxima(n, ap, ai, absval, scale, largest);
        for (int32_t i = 0; i < n; i++)
            if (largest[i] > 0) scale[i] = clamp(scale[i] / sqrt(largest[i]), SCALE_MIN, SCALE_MAX);
    }
    mpki_release(ctx, largest);
    return MPK_OK;
}
