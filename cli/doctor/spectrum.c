/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the eigenvalues lie: Lanczos' method with full orthogonalization from random vectors, whose
 * Ritz values and weights are a quadrature of the spectrum (Golub & Meurant 2010, ch. 4 and 7). */
#include "doctor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS = 4 };
static const double MOST_NUMBERS = 2e8; /* of the vectors that are kept */

/* Eigenvalues of the symmetric tridiagonal (d, e), with the first components of its vectors in z: QL
 * with implicit shifts (Bowdler, Martin, Reinsch & Wilkinson 1968). Returns whether it ended. */
static bool tridiagonal(int n, double *d, double *e, double *z) {
    enum { SWEEPS = 60 };
    for (int k = 0; k < n; k++) z[k] = k == 0;
    e[n - 1] = 0;
    for (int l = 0; l < n; l++)
        for (int sweep = 0;; sweep++) {
            int m = l;
            while (m < n - 1 && fabs(e[m]) > 0x1p-53 * (fabs(d[m]) + fabs(d[m + 1]))) m++;
            if (m == l) break;
            if (sweep == SWEEPS) return false;
            double g = (d[l + 1] - d[l]) / (2 * e[l]), s = 1, c = 1, p = 0;
            g = d[m] - d[l] + e[l] / (g + copysign(hypot(g, 1), g));
            int i = m - 1;
            for (; i >= l; i--) {
                double f = s * e[i], b = c * e[i];
                const double r = hypot(f, g);
                e[i + 1] = r;
                if (r == 0) break;
                s = f / r, c = g / r;
                g = d[i + 1] - p;
                const double t = (d[i] - g) * s + 2 * c * b;
                p = s * t;
                d[i + 1] = g + p;
                g = c * t - b;
                f = z[i + 1];
                z[i + 1] = s * z[i] + c * f;
                z[i] = c * z[i] - s * f;
            }
            if (i >= l) {
                d[i + 1] -= p;
                e[m] = 0;
                continue;
            }
            d[l] -= p;
            e[l] = g, e[m] = 0;
        }
    return true;
}

/* ---- vectors: n real parts, then n imaginary ones where A is complex --------------------------- */

typedef struct lanczos {
    const doctor_rows *r;
    const double *scale; /* NULL: none */
    int exponent;        /* without a scale: A / 2^exponent, whose largest entry is near 1 */
    size_t n, length;
    double *v; /* steps + 1 vectors */
    uint64_t state;
} lanczos;

static double draw(lanczos *l) { /* SplitMix64, in (-1, 1) */
    uint64_t z = l->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1;
}

static void multiply(const lanczos *l, const double *x, double *y) {
    const doctor_rows *r = l->r;
    const double left = ldexp(1, -(l->exponent / 2));
    const double right = ldexp(1, -(l->exponent - l->exponent / 2));
    for (int32_t i = 0; i < r->n; i++) {
        double re = 0, im = 0;
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
            const int32_t j = r->col[e];
            const double s = l->scale ? l->scale[i] : left, t = l->scale ? l->scale[j] : right;
            const double a = s * r->re[e] * t, b = r->im ? s * r->im[e] * t : 0;
            re += a * x[j] - (r->im ? b * x[l->n + (size_t)j] : 0);
            if (r->im) im += a * x[l->n + (size_t)j] + b * x[j];
        }
        y[i] = re;
        if (r->im) y[l->n + (size_t)i] = im;
    }
}

/* Re (x^H y); with imag also the imaginary part. */
static double dot(const lanczos *l, const double *x, const double *y, double *imag) {
    double re = 0, im = 0;
    for (size_t k = 0; k < l->length; k++) re += x[k] * y[k];
    if (l->length > l->n)
        for (size_t k = 0; k < l->n; k++) im += x[k] * y[l->n + k] - x[l->n + k] * y[k];
    if (imag) *imag = im;
    return re;
}

/* y -= (re + i im) x */
static void subtract(const lanczos *l, double re, double im, const double *x, double *y) {
    if (l->length == l->n) {
        for (size_t k = 0; k < l->n; k++) y[k] -= re * x[k];
        return;
    }
    for (size_t k = 0; k < l->n; k++) {
        y[k] -= re * x[k] - im * x[l->n + k];
        y[l->n + k] -= re * x[l->n + k] + im * x[k];
    }
}

/* One start of at most `steps`; the Ritz values go to the spectrum. Returns the steps made; 0: none
 * of use. */
static int start(lanczos *l, int steps, doctor_spectrum *s, bool *closed) {
    double d[DOCTOR_STEPS], e[DOCTOR_STEPS], z[DOCTOR_STEPS], largest = 0;
    int made = 0;
    for (size_t k = 0; k < l->length; k++) l->v[k] = draw(l);
    double norm = sqrt(dot(l, l->v, l->v, NULL));
    for (size_t k = 0; k < l->length; k++) l->v[k] /= norm;
    while (made < steps) {
        double *x = l->v + (size_t)made * l->length, *y = x + l->length;
        multiply(l, x, y);
        d[made] = dot(l, x, y, NULL);
        for (int twice = 0; twice < 2; twice++)
            for (int k = 0; k <= made; k++) {
                double im;
                const double *q = l->v + (size_t)k * l->length;
                const double re = dot(l, q, y, &im);
                subtract(l, re, im, q, y);
            }
        norm = sqrt(dot(l, y, y, NULL));
        largest = fmax(largest, fmax(fabs(d[made]), norm));
        e[made++] = norm;
        if (!isfinite(norm)) return 0;
        *closed = !(norm > 1e-13 * largest) || (size_t)made == l->n;
        if (*closed) break;
        for (size_t k = 0; k < l->length; k++) y[k] /= norm;
    }
    if (!tridiagonal(made, d, e, z)) return 0;
    for (int k = 0; k < made; k++)
        if (!isfinite(d[k] = ldexp(d[k], l->exponent))) return 0;
    for (int k = 0; k < made; k++) {
        s->value[s->count] = d[k];
        s->weight[s->count++] = z[k] * z[k];
    }
    return made;
}

/* As many steps as a small part of the time allows, at the least a few; 0: not even these. Products
 * take 2 ns an entry, orthogonalization 1.2 ns a number. */
static int affordable(const doctor *d, size_t length) {
    static const int choices[] = {DOCTOR_STEPS, 32, 16, 8};
    static const double PART = 0.05;
    const double nnz = (double)d->facts.look.nonzeros, n = (double)length;
    double cost_s = 0;
    for (int k = 0; k < 4; k++) {
        const double s = fmin(choices[k], d->facts.a.n);
        cost_s = STARTS * s * (2e-9 * nnz + 2.4e-9 * n * s);
        const bool fits = n * (s + 1) <= MOST_NUMBERS && doctor_has_time(d, cost_s);
        if (fits && (cost_s < PART * d->facts.seconds || k == 3)) return (int)s;
    }
    return 0;
}

mpk_status doctor_spectrum_find(doctor *d) {
    const doctor_facts *f = &d->facts;
    doctor_spectrum *s = &d->facts.spectrum;
    const bool complex = f->a.scalar == MPK_C || f->a.scalar == MPK_Z;
    const size_t n = (size_t)f->a.n, length = n * (complex ? 2 : 1);
    if (!doctor_is_hermitian(&f->a) || f->look.nonzeros == 0) return MPK_OK;
    const int steps = affordable(d, length);
    if (steps == 0 && 9 * (double)length > MOST_NUMBERS) {
        doctor_leave_out(d, "the estimate of the spectrum, whose vectors are too long to be kept");
        return MPK_OK;
    }
    if (steps == 0) {
        doctor_no_time(d, "the estimate of the spectrum");
        return MPK_OK;
    }
    lanczos l = {.r = &d->rows, .n = n, .length = length, .state = (uint64_t)d->args->options.seed};
    double *scale = NULL;
    s->balanced = f->look.spread > 3;
    l.v = malloc(length * ((size_t)steps + 1) * sizeof *l.v);
    if (s->balanced) scale = malloc((n + 1) * sizeof *scale);
    if (!l.v || (s->balanced && !scale)) {
        free(l.v);
        free(scale);
        return MPK_ERR_MEMORY;
    }
    if (scale) doctor_balance(&d->rows, scale);
    if (!scale) (void)frexp(f->look.most, &l.exponent);
    l.scale = scale;
    for (int k = 0; k < STARTS; k++) {
        bool closed = false;
        const int made = start(&l, steps, s, &closed);
        s->steps = made > s->steps ? made : s->steps;
        s->starts += made > 0;
        s->exact = closed && made > 0;
        if (closed) break;
    }
    if (s->starts == 0)
        doctor_leave_out(d, "the estimate of the spectrum, whose numbers leave the range of double "
                            "precision or do not settle");
    for (int k = 0; k < s->count; k++) s->weight[k] /= s->starts;
    free(l.v);
    free(scale);
    return MPK_OK;
}
