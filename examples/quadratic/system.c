/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole KKT system or the condensed one: values, factorization, inertia, solves. */
#include "system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const stage_name[STAGES] = {"values", "factorize", "inertia", "solve", "vectors"};

double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A^T A / delta, lower triangle */
static void add_square(sparse *k, const program *p, double delta) {
    int64_t *first = room((size_t)p->m + 2, sizeof *first),
            *order = room((size_t)p->a.count, sizeof *order);
    for (int64_t e = 0; e < p->a.count; e++) first[p->a.row[e] + 2]++;
    for (int32_t i = 0; i < p->m; i++) first[i + 2] += first[i + 1];
    for (int64_t e = 0; e < p->a.count; e++) order[first[p->a.row[e] + 1]++] = e;
    for (int32_t i = 0; i < p->m; i++)
        for (int64_t e = first[i]; e < first[i + 1]; e++)
            for (int64_t f = first[i]; f < first[i + 1]; f++) {
                const int32_t r = p->a.col[order[e]], s = p->a.col[order[f]];
                if (r >= s) put(k, r, s, p->a.value[order[e]] * p->a.value[order[f]] / delta);
            }
    free(first), free(order);
}

/* Values may stay on the device where no two of them are for one place. So entries of a place
 * become one; what is constant on the diagonal goes to `fixed`, and the first `order` entries are
 * for the diagonal's values. */
static void merge(sparse *e, int32_t order, double *fixed) {
    int64_t *first = room((size_t)order + 2, sizeof *first);
    int64_t *list = room((size_t)e->count, sizeof *list);
    int64_t *place =
        room((size_t)order, sizeof *place); /* 1 + that of a row's entry in this column */
    sparse one = {0};
    for (int64_t k = 0; k < e->count; k++) first[e->col[k] + 2]++;
    for (int32_t j = 0; j < order; j++) first[j + 2] += first[j + 1];
    for (int64_t k = 0; k < e->count; k++) list[first[e->col[k] + 1]++] = k;
    for (int32_t j = 0; j < order; j++) put(&one, j, j, 1);
    for (int32_t j = 0; j < order; j++) {
        const int64_t begun = one.count;
        for (int64_t l = first[j]; l < first[j + 1]; l++) {
            const int32_t i = e->row[list[l]];
            const double x = e->value[list[l]];
            if (i == j) {
                fixed[j] += x;
            } else if (place[i] > begun) {
                one.value[place[i] - 1] += x;
            } else {
                put(&one, i, j, x);
                place[i] = one.count;
            }
        }
    }
    free(e->row), free(e->col), free(e->value);
    free(first), free(list), free(place);
    *e = one;
}

void kkt_free(kkt *k) {
    (void)mpk_device_free(k->ctx, k->options.device_number, &k->device_values);
    (void)mpk_device_free(k->ctx, k->options.device_number, &k->device_rhs);
    mpk_factor_destroy(&k->fac);
    mpk_analysis_destroy(&k->an);
    mpk_problem_destroy(&k->problem);
    free(k->grow), free(k->fixed), free(k->rhs), free(k->values);
}

/* The entries that change, the diagonal's, come first, so that new ones are one copy. The first
 * factorization, of the diagonal as it is in `grow`, tells where it runs. */
mpk_status kkt_make(kkt *k) {
    const program *p = k->p;
    sparse e = {0};
    k->order = p->n + (k->whole ? p->m : 0);
    k->rhs = room((size_t)k->order, sizeof(double)),
    k->grow = room((size_t)k->order, sizeof(double)),
    k->fixed = room((size_t)k->order, sizeof(double));
    for (int64_t h = 0; h < p->h.count; h++) put(&e, p->h.row[h], p->h.col[h], p->h.value[h]);
    for (int64_t a = 0; k->whole && a < p->a.count; a++)
        put(&e, p->n + p->a.row[a], p->a.col[a], p->a.value[a]);
    if (!k->whole) add_square(&e, p, k->delta);
    merge(&e, k->order, k->fixed);
    for (int32_t j = 0; j < k->order; j++)
        e.value[j] = k->grow[j] = k->fixed[j] + (j < p->n ? 1 : -k->delta);
    const double start = now();
    mpk_status status = mpk_problem_from_triplets(k->ctx, k->order, MPK_D, MPK_SYMMETRIC, MPK_LOWER,
                                                  e.count, e.row, e.col, e.value, &k->problem);
    if (!mpk_failed(status)) status = mpk_analyse(k->ctx, k->problem, &k->options, &k->an);
    if (!mpk_failed(status)) status = mpk_factorize(k->ctx, k->an, NULL, &k->options, &k->fac);
    k->analysis = now() - start;
    k->there = k->fac && !strncmp(mpk_factor_engine(k->fac), "cuda", 4);
    k->entries = e.count, k->values = e.value;
    e.value = NULL;
    if (!mpk_failed(status) && k->there) {
        const int64_t bytes = k->entries * (int64_t)sizeof(double);
        status = mpk_device_alloc(k->ctx, k->options.device_number, bytes, &k->device_values);
        if (!mpk_failed(status))
            status = mpk_device_alloc(k->ctx, k->options.device_number,
                                      k->order * (int64_t)sizeof(double), &k->device_rhs);
        if (!mpk_failed(status))
            status = mpk_device_copy(k->ctx, k->options.device_number, k->device_values, bytes,
                                     k->values, bytes, bytes, 1);
    }
    free(e.row), free(e.col);
    return mpk_failed(status) ? status : MPK_OK;
}

double lap(kkt *k, int stage, double since) {
    const double t = now();
    k->time[stage] += t - since;
    return t;
}

/* Factorize with theta on the diagonal. An inertia other than (n, m, 0) means that A's rows depend
 * on each other, or that H is flat where nothing else holds x: then both are held by little, and
 * more. */
mpk_status kkt_factorize(kkt *k, const double *theta) {
    const int32_t n = k->p->n;
    const int64_t bytes = k->order * (int64_t)sizeof(double);
    for (int again = 0; again < 8; again++) {
        double t = now();
        mpk_factor_info info;
        mpk_status status = MPK_OK;
        for (int32_t j = 0; j < k->order; j++)
            k->grow[j] = k->fixed[j] + (j < n ? theta[j] + k->rho : -k->delta);
        if (k->there)
            status = mpk_device_copy(k->ctx, k->options.device_number, k->device_values, bytes,
                                     k->grow, bytes, bytes, 1);
        else
            memcpy(k->values, k->grow, (size_t)bytes);
        t = lap(k, 0, t);
        if (!mpk_failed(status))
            status = mpk_refactorize(k->ctx, k->there ? k->device_values : k->values, &k->options,
                                     k->fac);
        if (mpk_failed(status)) return status;
        t = lap(k, 1, t);
        mpk_factor_info_get(k->fac, &info);
        lap(k, 2, t);
        k->factorizations++;
        if (info.inertia.positive == n && info.inertia.negative == k->order - n) return MPK_OK;
        k->raised++;
        k->rho = fmax(100 * k->rho, 1e-10);
        if (k->whole) k->delta = fmax(100 * k->delta, 1e-10);
    }
    return MPK_ERR_NUMERIC;
}

mpk_status kkt_solve(kkt *k, const double *f, const double *g, double *dx, double *dy) {
    const program *p = k->p;
    const int64_t bytes = k->order * (int64_t)sizeof(double);
    const double t = now();
    double *scaled = k->whole ? NULL : room((size_t)p->m, sizeof(double));
    mpk_status status = MPK_OK;
    memcpy(k->rhs, f, (size_t)p->n * sizeof *f);
    if (k->whole) {
        memcpy(k->rhs + p->n, g, (size_t)p->m * sizeof *g);
    } else {
        for (int32_t i = 0; i < p->m; i++) scaled[i] = g[i] / k->delta;
        multiply(&p->a, true, false, 1, scaled, k->rhs);
    }
    if (k->there)
        status = mpk_device_copy(k->ctx, k->options.device_number, k->device_rhs, bytes, k->rhs,
                                 bytes, bytes, 1);
    void *x = k->there ? k->device_rhs : k->rhs;
    if (!mpk_failed(status))
        status = mpk_solve(k->ctx, k->fac, 1, x, k->order, x, k->order, &k->options, NULL);
    if (!mpk_failed(status) && k->there)
        status = mpk_device_copy(k->ctx, k->options.device_number, k->rhs, bytes, k->device_rhs,
                                 bytes, bytes, 1);
    memcpy(dx, k->rhs, (size_t)p->n * sizeof *dx);
    for (int32_t i = 0; i < p->m; i++) dy[i] = k->whole ? -k->rhs[p->n + i] : scaled[i];
    if (!k->whole) {
        for (int32_t i = 0; i < p->m; i++) scaled[i] = 0;
        multiply(&p->a, false, false, 1, dx, scaled);
        for (int32_t i = 0; i < p->m; i++) dy[i] -= scaled[i] / k->delta;
    }
    free(scaled);
    lap(k, 3, t);
    return mpk_failed(status) ? status : MPK_OK;
}
