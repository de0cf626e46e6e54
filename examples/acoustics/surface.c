/* SPDX-License-Identifier: BSD-3-Clause */
/* Closed surfaces with any even number of triangles: points on rings around the axis, as many on
 * each as its length takes, and triangles between neighbouring rings. */
#include "acoustics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double sphere(const double d[3]) {
    (void)d;
    return 1;
}

/* A bump of this height and width (radians) around a direction. */
static double bump(const double d[3], double x, double y, double z, double height, double width) {
    const double c = (d[0] * x + d[1] * y + d[2] * z) / sqrt(x * x + y * y + z * z);
    const double angle = acos(c > 1 ? 1 : c < -1 ? -1 : c);
    return height * exp(-angle * angle / (width * width));
}

static double head(const double d[3]) {
    const double ellipsoid = 1 / sqrt(d[0] * d[0] / 0.81 + d[1] * d[1] / 0.64 + d[2] * d[2] / 1.44);
    return ellipsoid + bump(d, 1, 0, -0.1, 0.22, 0.22) + bump(d, 0.8, 0, -0.8, 0.1, 0.3) +
           bump(d, 0, 1, 0, 0.15, 0.2) + bump(d, 0, -1, 0, 0.15, 0.2);
}

static double engine(const double d[3]) {
    const double half[3] = {1.1, 0.6, 0.6};
    double sum = 0, radius = 0;
    for (int k = 0; k < 3; k++) sum += pow(fabs(d[k]) / half[k], 8);
    radius = pow(sum, -1.0 / 8);
    for (int c = 0; c < 4; c++) radius += bump(d, -0.75 + 0.5 * c, 0, 0.65, 0.15, 0.17);
    return radius + bump(d, 1, 0, -0.2, 0.2, 0.25);
}

static void add(surface *s, const double a[3], const double b[3], const double c[3]) {
    double(*corner)[3] = s->corner[s->count];
    double *centre = s->centre[s->count], *normal = s->normal[s->count], u[3], v[3];
    memcpy(corner[0], a, sizeof u);
    memcpy(corner[1], b, sizeof u);
    memcpy(corner[2], c, sizeof u);
    for (int k = 0; k < 3; k++) {
        centre[k] = (a[k] + b[k] + c[k]) / 3;
        u[k] = b[k] - a[k];
        v[k] = c[k] - a[k];
    }
    for (int k = 0; k < 3; k++)
        normal[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    const double twice = sqrt(dot(normal, normal));
    if (dot(normal, centre) < 0) { /* the other way round */
        memcpy(corner[1], c, sizeof u);
        memcpy(corner[2], b, sizeof u);
        for (int k = 0; k < 3; k++) normal[k] = -normal[k];
    }
    double longest = 0;
    for (int k = 0; k < 3; k++) {
        const double *p = corner[k], *q = corner[(k + 1) % 3];
        const double side[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
        longest = fmax(longest, dot(side, side));
        normal[k] /= twice;
    }
    s->area[s->count] = twice / 2;
    s->size[s->count++] = sqrt(longest);
}

/* Triangles between two rings: step along whichever is behind. */
static void zip(surface *s, const double (*a)[3], int na, const double (*b)[3], int nb,
                const double turn[2]) {
    for (int i = 0, j = 0; i < na || j < nb;) {
        const double next_a = (i + 1 + turn[0]) / na, next_b = (j + 1 + turn[1]) / nb;
        if (j == nb || (i < na && next_a <= next_b)) {
            add(s, a[i % na], a[(i + 1) % na], b[j % nb]);
            i++;
        } else {
            add(s, a[i % na], b[(j + 1) % nb], b[j % nb]);
            j++;
        }
    }
}

/* Points of each ring, at least 3, `points` in all, as even as it goes. */
static void deal_out(int rings, int points, int *on) {
    double whole = 0, sum = 0;
    int given = 0, fullest = rings / 2;
    for (int r = 0; r < rings; r++) whole += sin(PI * (r + 1) / (rings + 1));
    for (int r = 0; r < rings; r++) {
        sum += sin(PI * (r + 1) / (rings + 1));
        on[r] = (int)lround(points * sum / whole) - given;
        if (on[r] < 3) on[r] = 3;
        given += on[r];
    }
    on[fullest] += points - given;
}

void surface_free(surface *s) {
    free(s->corner);
    free(s->centre);
    free(s->normal);
    free(s->area);
    free(s->size);
    memset(s, 0, sizeof *s);
}

int surface_make(const char *name, int count, surface *s) {
    const int points = count / 2; /* without the poles: F = 2 V - 4 */
    const int rings = (int)lround(sqrt(PI * points / 4)) - 1;
    memset(s, 0, sizeof *s);
    s->radius = !strcmp(name, "sphere")   ? sphere
                : !strcmp(name, "head")   ? head
                : !strcmp(name, "engine") ? engine
                                          : NULL;
    if (!s->radius || count < 32 || count % 2) return -1;
    const size_t n = (size_t)count;
    s->corner = malloc(n * sizeof *s->corner);
    s->centre = malloc(n * sizeof *s->centre);
    s->normal = malloc(n * sizeof *s->normal);
    s->area = malloc(n * sizeof *s->area);
    s->size = malloc(n * sizeof *s->size);
    int *on = malloc((size_t)rings * sizeof *on);
    double(*point)[3] = malloc((size_t)points * sizeof *point);
    int status = -1;
    if (!s->corner || !s->centre || !s->normal || !s->area || !s->size || !on || !point) goto done;
    deal_out(rings, points, on);
    double pole[2][3] = {{0, 0, 1}, {0, 0, -1}};
    for (int p = 0; p < 2; p++) pole[p][2] *= s->radius(pole[p]);
    double(*ring)[3] = point;
    for (int r = 0; r < rings; r++) {
        const double theta = PI * (r + 1) / (rings + 1);
        for (int j = 0; j < on[r]; j++) {
            const double phi = 2 * PI * (j + r % 2 * 0.5) / on[r];
            const double d[3] = {sin(theta) * cos(phi), sin(theta) * sin(phi), cos(theta)};
            for (int k = 0; k < 3; k++) ring[j][k] = d[k] * s->radius(d);
        }
        for (int j = 0; (r == 0 || r == rings - 1) && j < on[r]; j++) /* the caps */
            add(s, pole[r > 0], ring[j], ring[(j + 1) % on[r]]);
        const double turn[2] = {(r + 1) % 2 * 0.5, r % 2 * 0.5};
        if (r > 0)
            zip(s, (const double(*)[3])(ring - on[r - 1]), on[r - 1], (const double(*)[3])ring,
                on[r], turn);
        ring += on[r];
    }
    status = s->count == count ? 0 : -1;
done:
    free(on);
    free(point);
    if (status) surface_free(s);
    return status;
}
