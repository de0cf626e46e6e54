/* SPDX-License-Identifier: BSD-3-Clause */
/* Inertia and condition in quadruple precision. */
#include "spectrum.h"

#include <limits.h>
#include <string.h>

/* The scaled matrix, both triangles by columns. Imaginary parts are there for complex ones only. */
typedef struct scaled {
    int32_t n;
    quad *re, *im;
    int *power; /* scaled(i, j) = a(i, j) 2^(power[i] + power[j]) */
} scaled;

quad quad_scale(quad a, int power) {
    for (; power > 512; power -= 512) a *= (quad)0x1p512;
    for (; power < -512; power += 512) a *= (quad)0x1p-512;
    return a * (quad)ldexp(1, power);
}

/* Exponent of an entry; INT_MIN / 4 for zero. */
static int exponent_of(const quad_entry *e) {
    int power;
    const double most = fmax(fabs(e->re), fabs(e->im));
    if (!(most > 0)) return INT_MIN / 4;
    frexp(most, &power);
    return power;
}

/* Halve each row's remaining exponent, again and again. */
static void even_out_largest(int32_t n, int64_t count, const quad_entry *all, int *power) {
    int *most = must_alloc((size_t)n, sizeof *most);
    for (int sweep = 0; sweep < 24; sweep++) {
        for (int32_t i = 0; i < n; i++) most[i] = INT_MIN / 4;
        for (int64_t k = 0; k < count; k++) {
            const int e = exponent_of(&all[k]) + power[all[k].i] + power[all[k].j];
            if (e > most[all[k].i]) most[all[k].i] = e;
        }
        for (int32_t i = 0; i < n; i++)
            if (most[i] > INT_MIN / 8) power[i] -= (most[i] > 0 ? most[i] + 1 : most[i]) / 2;
    }
    free(most);
}

/* Bring the exponents of all entries near 0 in the sense of least squares (Curtis & Reid 1972). */
static void even_out_all(int32_t n, int64_t count, const quad_entry *all, int *power) {
    double *s = must_alloc((size_t)n, sizeof *s), *sum = must_alloc((size_t)n, sizeof *sum);
    double *weight = must_alloc((size_t)n, sizeof *weight);
    for (int sweep = 0; sweep < 200; sweep++) {
        for (int32_t i = 0; i < n; i++) sum[i] = weight[i] = 0;
        for (int64_t k = 0; k < count; k++) {
            const int e = exponent_of(&all[k]), twice = all[k].i == all[k].j ? 2 : 1;
            if (e <= INT_MIN / 8) continue;
            sum[all[k].i] += twice * (e + s[all[k].i] + s[all[k].j]);
            weight[all[k].i] += twice * (twice + 1); /* so that all rows may move at once */
        }
        for (int32_t i = 0; i < n; i++)
            if (weight[i] > 0) s[i] -= sum[i] / weight[i];
    }
    for (int32_t i = 0; i < n; i++) power[i] = (int)nearbyint(s[i]);
    free(weight);
    free(sum);
    free(s);
}

static scaled scaled_make(const equations *eq, enum scaling scaling) {
    const size_t n = (size_t)eq->n;
    int64_t count;
    quad_entry *all = equations_whole(eq, &count);
    scaled s = {eq->n, must_alloc(n * n, sizeof(quad)), NULL, must_alloc(n, sizeof(int))};
    if (is_complex(eq->scalar)) s.im = must_alloc(n * n, sizeof(quad));
    if (scaling == BY_ALL) even_out_all(eq->n, count, all, s.power);
    even_out_largest(eq->n, count, all, s.power);
    for (int64_t k = 0; k < count; k++) {
        const size_t at = (size_t)all[k].i + (size_t)all[k].j * n;
        const int power = s.power[all[k].i] + s.power[all[k].j];
        s.re[at] = quad_scale(all[k].re, power);
        if (s.im) s.im[at] = quad_scale(all[k].im, power);
    }
    free(all);
    return s;
}

static void scaled_free(scaled *s) {
    free(s->re);
    free(s->im);
    free(s->power);
}

static quad size1(const scaled *s, size_t at) {
    return quad_abs1(s->re[at]) + (s->im ? quad_abs1(s->im[at]) : 0);
}

/* ---- L D L^H --------------------------------------------------------------------------------- */

static void swap_quads(quad *a, quad *b) {
    const quad t = *a;
    *a = *b;
    *b = t;
}

/* Rows and columns p and q change places. */
static void swap_places(scaled *s, int32_t p, int32_t q) {
    const size_t n = (size_t)s->n;
    for (size_t k = 0; p != q && k < n; k++) {
        swap_quads(&s->re[(size_t)p + k * n], &s->re[(size_t)q + k * n]);
        if (s->im) swap_quads(&s->im[(size_t)p + k * n], &s->im[(size_t)q + k * n]);
    }
    for (size_t k = 0; p != q && k < n; k++) {
        swap_quads(&s->re[k + (size_t)p * n], &s->re[k + (size_t)q * n]);
        if (s->im) swap_quads(&s->im[k + (size_t)p * n], &s->im[k + (size_t)q * n]);
    }
}

/* a(i, j) -= d x_i conj(y_j) for i >= j >= from, where x and y are columns p and q. */
static void downdate(scaled *s, int32_t from, int32_t p, int32_t q, quad d_re, quad d_im) {
    const size_t n = (size_t)s->n;
    const quad *xr = s->re + (size_t)p * n, *yr = s->re + (size_t)q * n;
    const quad *xi = s->im ? s->im + (size_t)p * n : NULL,
               *yi = s->im ? s->im + (size_t)q * n : NULL;
    for (int32_t j = from; j < s->n; j++) {
        const quad fr = xi ? yr[j] * d_re + yi[j] * d_im : yr[j] * d_re;
        const quad fi = xi ? yr[j] * d_im - yi[j] * d_re : 0;
        if (fr == 0 && fi == 0) continue;
        quad *re = s->re + (size_t)j * n, *im = xi ? s->im + (size_t)j * n : NULL;
        for (int32_t i = j; i < s->n; i++) {
            re[i] -= xi ? xr[i] * fr - xi[i] * fi : xr[i] * fr;
            if (xi) im[i] -= xr[i] * fi + xi[i] * fr;
        }
    }
}

/* Copy the lower triangle to the upper one. */
static void mirror(scaled *s, int32_t from) {
    const size_t n = (size_t)s->n;
    for (size_t j = (size_t)from; j < n; j++)
        for (size_t i = j + 1; i < n; i++) {
            s->re[j + i * n] = s->re[i + j * n];
            if (s->im) s->im[j + i * n] = -s->im[i + j * n];
        }
}

static void count_pivot(spectrum *out, quad value) {
    const double size = (double)quad_abs1(value);
    if (value > 0)
        out->positive++;
    else
        out->negative++;
    if (size < out->smallest) out->smallest = size;
}

static void pivot1(scaled *s, int32_t k, spectrum *out) {
    const quad d = s->re[(size_t)k + (size_t)k * (size_t)s->n];
    count_pivot(out, d);
    downdate(s, k + 1, k, k, 1 / d, 0);
    mirror(s, k + 1);
}

/* A pivot [a conj(c); c b] with |a b| < |c|^2: one eigenvalue of each sign. Its inverse is applied
 * as four downdates. */
static void pivot2(scaled *s, int32_t k, spectrum *out) {
    const size_t n = (size_t)s->n, at = (size_t)k + (size_t)k * n;
    const quad a = s->re[at], b = s->re[at + n + 1], cr = s->re[at + 1],
               ci = s->im ? s->im[at + 1] : 0;
    const quad det = a * b - (cr * cr + ci * ci), half = (a - b) / 2, mean = (a + b) / 2;
    const quad radius = quad_sqrt(half * half + cr * cr + ci * ci);
    const quad larger = mean >= 0 ? mean + radius : mean - radius;
    count_pivot(out, larger);
    count_pivot(out, det / larger);
    const quad keep_re = cr / det, keep_im = ci / det;
    /* D^-1 = [b -conj(c); -c a] / det, so A -= x b/det x^H - x conj(c)/det y^H - ... */
    downdate(s, k + 2, k, k, b / det, 0);
    downdate(s, k + 2, k + 1, k + 1, a / det, 0);
    downdate(s, k + 2, k, k + 1, -keep_re, keep_im);
    downdate(s, k + 2, k + 1, k, -keep_re, -keep_im);
    mirror(s, k + 2);
}

spectrum spectrum_of(const equations *eq, enum scaling scaling) {
    scaled s = scaled_make(eq, scaling);
    const size_t n = (size_t)eq->n;
    const quad alpha = (quad)0.6403882032022076; /* (1 + sqrt 17) / 8 */
    spectrum out = {.smallest = INFINITY};
    quad growth = 1;
    for (int32_t k = 0; k < eq->n;) {
        quad diagonal = 0, most = 0;
        int32_t d = k, p = k, q = k;
        for (int32_t j = k; j < eq->n; j++)
            for (int32_t i = j; i < eq->n; i++) {
                const quad a = size1(&s, (size_t)i + (size_t)j * n);
                if (i == j && a > diagonal) diagonal = a, d = i;
                if (i != j && a > most) most = a, p = i, q = j;
            }
        if (diagonal > growth) growth = diagonal;
        if (most > growth) growth = most;
        if (diagonal == 0 && most == 0) {
            out.zero = eq->n - k;
            out.smallest = 0;
            break;
        }
        if (diagonal >= alpha * most) {
            swap_places(&s, k, d);
            pivot1(&s, k, &out);
            k++;
        } else {
            swap_places(&s, k, q); /* q < p: this moves p only if p is k, to q */
            swap_places(&s, k + 1, p);
            pivot2(&s, k, &out);
            k += 2;
        }
    }
    out.sure = out.zero == 0 && out.smallest > 1e-24 * (double)growth;
    scaled_free(&s);
    return out;
}

/* ---- the inverse ----------------------------------------------------------------------------- */

/* x := x y, complex */
static void multiply(quad *re, quad *im, quad yr, quad yi) {
    const quad r = *re * yr - *im * yi;
    *im = *re * yi + *im * yr;
    *re = r;
}

/* Row i -= f row k, of s (by columns) and of the inverse that is being formed. */
static void subtract_row(scaled *s, int32_t i, int32_t k, quad fr, quad fi) {
    const size_t n = (size_t)s->n;
    for (size_t j = 0; j < n; j++) {
        const size_t to = (size_t)i + j * n, from = (size_t)k + j * n;
        if (s->re[from] == 0 && (!s->im || s->im[from] == 0)) continue;
        s->re[to] -= fr * s->re[from] - (s->im ? fi * s->im[from] : 0);
        if (s->im) s->im[to] -= fr * s->im[from] + fi * s->re[from];
    }
}

static void scale_row(scaled *s, int32_t k, quad fr, quad fi) {
    const size_t n = (size_t)s->n;
    for (size_t j = 0; j < n; j++) {
        quad im = s->im ? s->im[(size_t)k + j * n] : 0;
        multiply(&s->re[(size_t)k + j * n], &im, fr, fi);
        if (s->im) s->im[(size_t)k + j * n] = im;
    }
}

static void swap_rows(scaled *s, int32_t p, int32_t q) {
    const size_t n = (size_t)s->n;
    for (size_t j = 0; p != q && j < n; j++) {
        swap_quads(&s->re[(size_t)p + j * n], &s->re[(size_t)q + j * n]);
        if (s->im) swap_quads(&s->im[(size_t)p + j * n], &s->im[(size_t)q + j * n]);
    }
}

/* inverse := a^-1 by Gauss and Jordan; a is overwritten. False: a pivot is zero. */
static int invert(scaled *a, scaled *inverse) {
    const size_t n = (size_t)a->n;
    for (size_t i = 0; i < n; i++) inverse->re[i + i * n] = 1;
    for (int32_t k = 0; k < a->n; k++) {
        int32_t pivot = k;
        for (int32_t i = k + 1; i < a->n; i++)
            if (size1(a, (size_t)i + (size_t)k * n) > size1(a, (size_t)pivot + (size_t)k * n))
                pivot = i;
        swap_rows(a, k, pivot);
        swap_rows(inverse, k, pivot);
        const size_t at = (size_t)k + (size_t)k * n;
        const quad re = a->re[at], im = a->im ? a->im[at] : 0, square = re * re + im * im;
        if (!(square > 0)) return 0;
        scale_row(a, k, re / square, -im / square);
        scale_row(inverse, k, re / square, -im / square);
        for (int32_t i = 0; i < a->n; i++) {
            const size_t below = (size_t)i + (size_t)k * n;
            const quad fr = a->re[below], fi = a->im ? a->im[below] : 0;
            if (i == k || (fr == 0 && fi == 0)) continue;
            subtract_row(a, i, k, fr, fi);
            subtract_row(inverse, i, k, fr, fi);
        }
    }
    return 1;
}

/* ||.||_inf of s, each entry times 2^(sign (power[i] + power[j])). */
static quad norm_inf(const scaled *s, int sign) {
    const size_t n = (size_t)s->n;
    quad most = 0;
    for (size_t i = 0; i < n; i++) {
        quad sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += quad_scale(quad_modulus(s->re[i + j * n], s->im ? s->im[i + j * n] : 0),
                              sign * (s->power[i] + s->power[j]));
        if (sum > most) most = sum;
    }
    return most;
}

static double to_double(quad a) {
    return a > (quad)DBL_MAX ? INFINITY : (double)a;
}

/* The largest entry of A^-1 B = S inverse S B. */
static double largest_solution(const scaled *inverse, const equations *eq) {
    const size_t n = (size_t)eq->n;
    quad most = 0;
    for (size_t r = 0; r < (size_t)eq->nrhs; r++)
        for (size_t i = 0; i < n; i++) {
            quad re = 0, im = 0;
            for (size_t j = 0; j < n; j++) {
                const double *b = eq->b + 2 * (r * n + j);
                quad xr = quad_scale(b[0], inverse->power[i] + inverse->power[j]);
                quad xi = quad_scale(b[1], inverse->power[i] + inverse->power[j]);
                multiply(&xr, &xi, inverse->re[i + j * n],
                         inverse->im ? inverse->im[i + j * n] : 0);
                re += xr;
                im += xi;
            }
            const quad size = quad_modulus(re, im);
            if (size > most) most = size;
        }
    return to_double(most);
}

quad_inverse quad_inverse_of(const equations *eq, enum scaling scaling) {
    const size_t n = (size_t)eq->n;
    quad_inverse out = {0};
    if (eq->n == 0) return (quad_inverse){1, 1, 1, 0};
    scaled a = scaled_make(eq, scaling);
    scaled inverse = {eq->n, must_alloc(n * n, sizeof(quad)), NULL, must_alloc(n, sizeof(int))};
    memcpy(inverse.power, a.power, n * sizeof *inverse.power);
    if (a.im) inverse.im = must_alloc(n * n, sizeof(quad));
    const quad norm = norm_inf(&a, 0), plain = norm_inf(&a, -1);
    out.found = invert(&a, &inverse);
    if (out.found) {
        out.scaled = to_double(norm * norm_inf(&inverse, 0));
        out.plain = to_double(plain * norm_inf(&inverse, 1));
        out.largest = largest_solution(&inverse, eq);
    }
    scaled_free(&a);
    scaled_free(&inverse);
    return out;
}

/* ---- the left kernel ------------------------------------------------------------------------- */

static void swap_columns(scaled *s, int32_t p, int32_t q) {
    const size_t n = (size_t)s->n;
    for (size_t i = 0; p != q && i < n; i++) {
        swap_quads(&s->re[i + (size_t)p * n], &s->re[i + (size_t)q * n]);
        if (s->im) swap_quads(&s->im[i + (size_t)p * n], &s->im[i + (size_t)q * n]);
    }
}

quad *quad_left_kernel(const equations *eq, int32_t rank, int *power) {
    const size_t n = (size_t)eq->n;
    scaled a = scaled_make(eq, BY_LARGEST);
    scaled t = {eq->n, must_alloc(n * n, sizeof(quad)), NULL, NULL}; /* t A = what a becomes */
    if (a.im) t.im = must_alloc(n * n, sizeof(quad));
    for (size_t i = 0; i < n; i++) t.re[i + i * n] = 1;
    for (int32_t k = 0; k < rank; k++) {
        size_t best = (size_t)k + (size_t)k * n;
        for (size_t j = (size_t)k; j < n; j++)
            for (size_t i = (size_t)k; i < n; i++)
                if (size1(&a, i + j * n) > size1(&a, best)) best = i + j * n;
        if (size1(&a, best) == 0) break;
        swap_columns(&a, k, (int32_t)(best / n));
        swap_rows(&a, k, (int32_t)(best % n));
        swap_rows(&t, k, (int32_t)(best % n));
        const size_t at = (size_t)k + (size_t)k * n;
        const quad re = a.re[at], im = a.im ? a.im[at] : 0, square = re * re + im * im;
        for (int32_t i = k + 1; i < eq->n; i++) {
            const size_t below = (size_t)i + (size_t)k * n;
            quad fr = a.re[below], fi = a.im ? a.im[below] : 0;
            if (fr == 0 && fi == 0) continue;
            multiply(&fr, &fi, re / square, -im / square);
            subtract_row(&a, i, k, fr, fi);
            subtract_row(&t, i, k, fr, fi);
        }
    }
    quad *y = must_alloc(2 * n * (n - (size_t)rank), sizeof *y);
    for (size_t v = (size_t)rank; v < n; v++)
        for (size_t i = 0; i < n; i++) {
            quad *to = y + 2 * ((v - (size_t)rank) * n + i);
            to[0] = t.re[v + i * n];
            to[1] = t.im ? t.im[v + i * n] : 0;
        }
    memcpy(power, a.power, n * sizeof *power);
    scaled_free(&a);
    scaled_free(&t);
    return y;
}
