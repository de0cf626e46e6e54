/* SPDX-License-Identifier: BSD-3-Clause */
/* A system A X = B as the judge holds it, and its parts as the library takes them. */
#include "equations.h"

#include <stdio.h>
#include <string.h>

void *must_alloc(size_t count, size_t size) {
    void *ptr = calloc(count ? count : 1, size);
    if (!ptr) {
        fprintf(stderr, "oracle: no memory\n");
        abort();
    }
    return ptr;
}

void equations_free(equations *eq) {
    free(eq->entry);
    free(eq->b);
    *eq = (equations){0};
}

equations equations_copy(const equations *eq) {
    equations copy = *eq;
    const size_t sides = 2 * (size_t)eq->n * (size_t)eq->nrhs;
    copy.entry = must_alloc((size_t)eq->count, sizeof *copy.entry);
    copy.b = must_alloc(sides, sizeof *copy.b);
    if (eq->count) memcpy(copy.entry, eq->entry, (size_t)eq->count * sizeof *copy.entry);
    if (sides) memcpy(copy.b, eq->b, sides * sizeof *copy.b);
    return copy;
}

quad_entry *equations_whole(const equations *eq, int64_t *count) {
    quad_entry *all = must_alloc(2 * (size_t)eq->count, sizeof *all);
    const double mirror = eq->symmetry == MPK_HERMITIAN ? -1 : 1;
    *count = 0;
    for (int64_t k = 0; k < eq->count; k++) {
        const quad_entry e = eq->entry[k];
        all[(*count)++] = e;
        if (e.i != e.j && !eq->whole) all[(*count)++] = (quad_entry){e.j, e.i, e.re, mirror * e.im};
    }
    return all;
}

double equations_skewness(const equations *eq) {
    const size_t n = (size_t)eq->n;
    const double turn = eq->symmetry == MPK_HERMITIAN ? -1 : 1;
    double most = 0, *a = must_alloc(eq->whole ? 2 * n * n : 0, sizeof *a);
    for (int64_t k = 0; eq->whole && k < eq->count; k++) {
        const quad_entry *e = &eq->entry[k];
        double *to = a + 2 * ((size_t)e->i + (size_t)e->j * n);
        to[0] += e->re;
        to[1] += e->im;
    }
    for (size_t j = 0; eq->whole && j < n; j++)
        for (size_t i = j; i < n; i++) {
            const double *l = a + 2 * (i + j * n), *u = a + 2 * (j + i * n);
            const double size = fmax(hypot(l[0], l[1]), hypot(u[0], u[1]));
            const double off = hypot(l[0] - u[0], l[1] - turn * u[1]);
            if (size > 0) most = fmax(most, off / size);
        }
    free(a);
    return most;
}

void numbers_store(mpk_scalar scalar, int64_t count, const double *pairs, void *array) {
    const int step = is_complex(scalar) ? 1 : 2;
    for (int64_t k = 0; k < 2 * count; k += step) {
        if (is_single(scalar))
            ((float *)array)[k / step] = (float)pairs[k];
        else
            ((double *)array)[k / step] = pairs[k];
    }
}

void numbers_load(mpk_scalar scalar, int64_t count, const void *array, double *pairs) {
    const int step = is_complex(scalar) ? 1 : 2;
    for (int64_t k = 0; k < 2 * count; k++) {
        if (k % step)
            pairs[k] = 0;
        else if (is_single(scalar))
            pairs[k] = ((const float *)array)[k / step];
        else
            pairs[k] = ((const double *)array)[k / step];
    }
}

double number_rounded(mpk_scalar scalar, double x) {
    return is_single(scalar) ? (double)(float)x : x;
}
