/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of a basis of A's kernel: lengths and products, in double. */
#include "null_space.h"
#include "../core/precision.h"

static double modulus(T x) {
    return MPKI_COMPLEX ? hypot((double)t_re(x), (double)t_im(x)) : fabs((double)t_re(x));
}

/* Sums in parts that do not wait for each other, and of so many terms each that rounding does not
 * grow with n; fixed, so bits are. */
enum { LANES = 8, PART = 256 };

/* sums of u_re y_re + u_im y_im and u_re y_im - u_im y_re over `count` entries, at most PART */
static void part_of(int32_t count, const T *u, const T *y, double sum[4]) {
    double rr[LANES] = {0}, ii[LANES] = {0}, ri[LANES] = {0}, ir[LANES] = {0};
    int32_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++) {
            rr[k] += (double)t_re(u[i + k]) * (double)t_re(y[i + k]);
            if (!MPKI_COMPLEX) continue;
            ii[k] += (double)t_im(u[i + k]) * (double)t_im(y[i + k]);
            ri[k] += (double)t_re(u[i + k]) * (double)t_im(y[i + k]);
            ir[k] += (double)t_im(u[i + k]) * (double)t_re(y[i + k]);
        }
    for (; i < count; i++) {
        rr[0] += (double)t_re(u[i]) * (double)t_re(y[i]);
        ii[0] += (double)t_im(u[i]) * (double)t_im(y[i]);
        ri[0] += (double)t_re(u[i]) * (double)t_im(y[i]);
        ir[0] += (double)t_im(u[i]) * (double)t_re(y[i]);
    }
    for (int k = 0; k < LANES; k++)
        sum[0] += rr[k], sum[1] += ii[k], sum[2] += ri[k], sum[3] += ir[k];
}

/* sum of conj(u_i) y_i; conjugate: of u_i y_i */
static void product(int32_t n, bool conjugate, const T *u, const T *y, double sum[2]) {
    const double side = conjugate ? -1 : 1;
    double all[4] = {0};
    for (int32_t first = 0; first < n; first += PART) {
        double part[4] = {0};
        part_of(n - first < PART ? n - first : PART, u + first, y + first, part);
        for (int k = 0; k < 4; k++) all[k] += part[k];
    }
    sum[0] = all[0] + side * all[1];
    sum[1] = all[2] - side * all[3];
}

/* y := y - u sum; conjugate: conj(u) */
static void subtract(int32_t n, bool conjugate, const T *u, const double sum[2], T *y) {
    const double side = conjugate ? -1 : 1;
    if (sum[0] == 0 && sum[1] == 0) return;
    for (int32_t i = 0; i < n; i++) {
        const double ur = (double)t_re(u[i]), ui = side * (double)t_im(u[i]);
        y[i] -= t_make((R)(ur * sum[0] - ui * sum[1]), (R)(ur * sum[1] + ui * sum[0]));
    }
}

double FN(null_unit)(int32_t n, void *vv) {
    T *v = vv;
    double most = 0, sum = 0;
    for (int32_t i = 0; i < n; i++) most = fmax(most, modulus(v[i]));
    if (!(most > 0) || !isfinite(most)) return 0;
    for (int32_t first = 0; first < n; first += PART) {
        const int32_t end = n - first < PART ? n : first + PART;
        double part = 0;
        for (int32_t i = first; i < end; i++)
            part += (modulus(v[i]) / most) * (modulus(v[i]) / most);
        sum += part;
    }
    const double length = most * sqrt(sum);
    for (int32_t i = 0; i < n; i++)
        v[i] = t_make((R)((double)t_re(v[i]) / length), (R)((double)t_im(v[i]) / length));
    return length;
}

void FN(null_leave)(int32_t n, int32_t count, const void *basis, int64_t ld, bool conjugate,
                    void *v) {
    const T *u = basis;
    for (int32_t j = 0; j < count; j++) {
        double sum[2];
        product(n, conjugate, u + j * ld, v, sum);
        subtract(n, conjugate, u + j * ld, sum, v);
    }
}

bool FN(null_join)(int32_t n, int32_t count, const void *basis, int64_t ld, bool deep, void *v) {
    static const double LEAST = 1e-4; /* of its length; less is another's */
    static const double ENOUGH = 0.7; /* as rounding then has no share (Kahan, Parlett 1980, 6.9) */
    /* of vectors whose entries cover many orders of magnitude each pass leaves rounding of the
     * largest, eps of it: deep, as many as double precision has orders, and some */
    const int passes = deep ? 50 : 3;
    if (!(FN(null_unit)(n, v) > 0)) return false;
    for (int pass = 0; pass < passes; pass++) {
        FN(null_leave)(n, count, basis, ld, false, v);
        const double left = FN(null_unit)(n, v);
        if (!(left > (deep ? 0 : LEAST))) return false;
        if (left > ENOUGH) return true;
    }
    return !deep;
}

double FN(null_orthogonality)(int32_t n, int32_t count, const void *basis, int64_t ld) {
    const T *u = basis;
    double worst = 0;
    for (int32_t j = 0; j < count; j++)
        for (int32_t k = 0; k <= j; k++) {
            double sum[2];
            product(n, false, u + k * ld, u + j * ld, sum);
            worst = mpki_larger(worst, hypot(sum[0] - (j == k), sum[1]));
        }
    return worst;
}

double FN(null_along)(int32_t n, int32_t count, const void *basis, int64_t ld, bool conjugate,
                      const void *x) {
    const T *u = basis;
    double norm = 0;
    for (int32_t j = 0; j < count; j++) {
        double sum[2];
        product(n, conjugate, u + j * ld, x, sum);
        norm = hypot(norm, hypot(sum[0], sum[1]));
    }
    return norm;
}

bool FN(null_orthogonal_to)(int32_t n, int32_t count, const void *basis, int64_t ld, bool conjugate,
                            double bound, const void *b, const double *w) {
    for (int32_t j = 0; j < count; j++) {
        const T *u = (const T *)basis + j * ld;
        double sum[2], all = 0;
        product(n, conjugate, u, b, sum);
        for (int32_t i = 0; i < n; i++) all += modulus(u[i]) * w[i];
        if (!(hypot(sum[0], sum[1]) <= bound * all)) return false;
    }
    return true;
}

void FN(null_mask)(int32_t n, const void *vmask, void *vy) {
    const T *mask = vmask;
    T *y = vy;
    for (int32_t i = 0; i < n; i++)
        if (t_abs1(mask[i]) > 0) y[i] = t_make(0, 0);
}
