/* SPDX-License-Identifier: BSD-3-Clause */
/* The single-layer operator of the Helmholtz equation on triangles, piecewise constant. */
#include "acoustics.h"

#include <math.h>

static const double FOUR_PI = 12.566370614359172954;

/* Points of rules on a triangle: corners' shares and weights (Radon 1948, degree 5; Strang & Fix
 * 1973, degree 2). */
enum { FINE = 7, COARSE = 3 };
static const double fine[FINE][4] = {
    {1 / 3.0, 1 / 3.0, 1 / 3.0, 0.225},
    {0.101286507323456, 0.101286507323456, 0.797426985353088, 0.125939180544827},
    {0.101286507323456, 0.797426985353088, 0.101286507323456, 0.125939180544827},
    {0.797426985353088, 0.101286507323456, 0.101286507323456, 0.125939180544827},
    {0.470142064105115, 0.470142064105115, 0.059715871789770, 0.132394152788506},
    {0.470142064105115, 0.059715871789770, 0.470142064105115, 0.132394152788506},
    {0.059715871789770, 0.470142064105115, 0.470142064105115, 0.132394152788506},
};
static const double coarse[COARSE][4] = {
    {1 / 6.0, 1 / 6.0, 2 / 3.0, 1 / 3.0},
    {1 / 6.0, 2 / 3.0, 1 / 6.0, 1 / 3.0},
    {2 / 3.0, 1 / 6.0, 1 / 6.0, 1 / 3.0},
};

static void place(const surface *s, int t, const double rule[4], double x[3]) {
    for (int k = 0; k < 3; k++)
        x[k] = rule[0] * s->corner[t][0][k] + rule[1] * s->corner[t][1][k] +
               rule[2] * s->corner[t][2][k];
}

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double distance(const double a[3], const double b[3]) {
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(dot(d, d));
}

/* int over triangle t of 1 / |x - y| dy: a sum over its sides (Wilton et al. 1984, eq. 5). */
static double potential(const surface *s, int t, const double x[3]) {
    const double *n = s->normal[t];
    double sum = 0, height = 0;
    for (int e = 0; e < 3; e++) {
        const double *p = s->corner[t][e], *q = s->corner[t][(e + 1) % 3];
        const double length = distance(p, q);
        double along[3], from[3], across[3];
        for (int k = 0; k < 3; k++) along[k] = (q[k] - p[k]) / length, from[k] = p[k] - x[k];
        for (int k = 0; k < 3; k++)
            across[k] = along[(k + 1) % 3] * n[(k + 2) % 3] - along[(k + 2) % 3] * n[(k + 1) % 3];
        height = fabs(dot(from, n));
        const double side = dot(from, across), l0 = dot(from, along), l1 = l0 + length;
        const double square = side * side + height * height;
        if (square < 1e-24 * length * length) continue; /* on the side's line: it adds nothing */
        const double r0 = sqrt(square + l0 * l0), r1 = sqrt(square + l1 * l1);
        sum += side * (l0 + l1 >= 0 ? log((r1 + l1) / (r0 + l0)) : log((r0 - l0) / (r1 - l1)));
        sum -= height * (atan(side * l1 / (square + height * r1)) -
                         atan(side * l0 / (square + height * r0)));
    }
    return sum;
}

/* (exp(ikr) - 1) / r, smooth at 0. */
static double complex remainder_of(double k, double r) {
    const double kr = k * r;
    if (kr < 1e-4) return k * (I - kr / 2);
    return (cos(kr) - 1 + I * sin(kr)) / r;
}

static double complex near_pair(const surface *s, double k, int i, int j) {
    double still = 0, x[3], y[3];
    double complex moving = 0;
    for (int p = 0; p < FINE; p++) {
        place(s, i, fine[p], x);
        place(s, j, fine[p], y);
        still += fine[p][3] * (s->area[i] * potential(s, j, x) + s->area[j] * potential(s, i, y));
    }
    for (int p = 0; p < COARSE; p++)
        for (int q = 0; q < COARSE; q++) {
            place(s, i, coarse[p], x);
            place(s, j, coarse[q], y);
            moving += coarse[p][3] * coarse[q][3] * remainder_of(k, distance(x, y));
        }
    return (still / 2 + s->area[i] * s->area[j] * moving) / FOUR_PI;
}

static double complex middle_pair(const surface *s, double k, int i, int j) {
    double complex sum = 0;
    double x[3], y[3];
    for (int p = 0; p < COARSE; p++)
        for (int q = 0; q < COARSE; q++) {
            place(s, i, coarse[p], x);
            place(s, j, coarse[q], y);
            const double r = distance(x, y);
            sum += coarse[p][3] * coarse[q][3] * (cos(k * r) + I * sin(k * r)) / r;
        }
    return s->area[i] * s->area[j] * sum / FOUR_PI;
}

void boundary_matrix(const surface *s, double k, float complex *a) {
    const int n = s->count;
    const float wave = (float)k;
    for (int j = 0; j < n; j++) {
        float complex *column = a + (int64_t)j * n;
        const double *y = s->centre[j];
        const double scale = sqrt(s->area[j]) / FOUR_PI;
        for (int i = j; i < n; i++) { /* far pairs by their centres, and all for a start */
            const double *x = s->centre[i];
            const double u = x[0] - y[0], v = x[1] - y[1], w = x[2] - y[2];
            const float r = (float)sqrt(u * u + v * v + w * w + 1e-30);
            const float size = (float)(scale * sqrt(s->area[i])) / r;
            ((float *)&column[i])[0] = size * cosf(wave * r);
            ((float *)&column[i])[1] = size * sinf(wave * r);
        }
        for (int i = j; i < n; i++) {
            const double size = fmax(s->size[i], s->size[j]), r = distance(s->centre[i], y);
            if (r > 6 * size) continue;
            const double complex pair =
                r < 2.5 * size ? near_pair(s, k, i, j) : middle_pair(s, k, i, j);
            column[i] = (float complex)(pair / sqrt(s->area[i] * s->area[j]));
        }
    }
}

void boundary_wave(const surface *s, double k, float complex *b) {
    for (int i = 0; i < s->count; i++) {
        double complex sum = 0;
        double x[3];
        for (int p = 0; p < COARSE; p++) {
            place(s, i, coarse[p], x);
            sum += coarse[p][3] * (cos(k * x[2]) + I * sin(k * x[2]));
        }
        b[i] = (float complex)(-sqrt(s->area[i]) * sum);
    }
}

double complex boundary_field(const surface *s, double k, const float complex *x,
                              const double at[3]) {
    double complex sum = cos(k * at[2]) + I * sin(k * at[2]);
    for (int i = 0; i < s->count; i++) {
        const double r = distance(at, s->centre[i]);
        sum += sqrt(s->area[i]) * (cos(k * r) + I * sin(k * r)) / (FOUR_PI * r) * x[i];
    }
    return sum;
}

double boundary_sphere_error(const surface *s, double k, const float complex *x) {
    enum { MOST = 512 };
    double complex term[MOST];
    int terms = 0;
    /* spherical Hankel functions upwards: where j would lose its digits, y rules */
    double complex h0 = (sin(k) - I * cos(k)) / k, h1 = h0 / k - (cos(k) + I * sin(k)) / k;
    double complex power = 1;
    for (; terms < MOST && (terms < 2 || cabs(term[terms - 1]) > 1e-12); terms++, power *= I) {
        term[terms] = -(2 * terms + 1) * power * I / (k * h0);
        const double complex h2 = (2 * terms + 3) / k * h1 - h0;
        h0 = h1, h1 = h2;
    }
    double wrong = 0, all = 0;
    for (int i = 0; i < s->count; i++) {
        const double r = sqrt(dot(s->centre[i], s->centre[i])), c = s->centre[i][2] / r;
        double p0 = 1, p1 = c;
        double complex exact = 0;
        for (int l = 0; l < terms; l++) {
            exact += term[l] * p0;
            const double p2 = ((2 * l + 3) * c * p1 - (l + 1) * p0) / (l + 2);
            p0 = p1, p1 = p2;
        }
        const double complex found = -(double complex)x[i] / sqrt(s->area[i]);
        wrong += s->area[i] * pow(cabs(found - exact), 2);
        all += s->area[i] * pow(cabs(exact), 2);
    }
    return sqrt(wrong / all);
}
