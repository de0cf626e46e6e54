/* SPDX-License-Identifier: BSD-3-Clause */
/* Refinement of a vector that lies on the device: the loop of factor/refine_t.c, of which only numbers come
 * to the host. A's values are those that were factorized; its rows, as places among them, are made and
 * sent with the first solve, and kept for the next ones. */
#include "direct_factor.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

typedef struct mpki_cuda_refining {
    mpki_cuda_refine a;
    void *room;      /* device: all */
    char *b, *r, *x; /* n each: right-hand side, residual, best x so far */
} refining;

static void release(const mpki_direct *f, refining *z) {
    if (!z) return;
    if (z->room) f->device->table->release(f->device->cuda, z->room);
    mpki_release(f->ctx, z);
}

static void keep(const mpki_direct *f, refining *z) {
    /* what a factor keeps for its next solve is no part of it */
    release(f, atomic_exchange(&((mpki_direct *)(uintptr_t)f)->refining, z));
}

void mpki_cuda_direct_drop_refining(mpki_direct *f) {
    keep(f, NULL);
}

static bool did(mpk_context *ctx, const mpki_direct *f, int status) {
    const mpki_device *d = f->device;
    if (mpk_failed(status))
        mpki_error(ctx, (mpk_status)status, STAGE, -1, "%s", d->table->last_error(d->cuda));
    return !mpk_failed(status);
}

/* A by rows in host memory: ptr (n + 1), then columns and places of each entry. Row i has column i's
 * entries, and those of the other triangle. Returns false: no memory. */
static bool rows_of(const mpki_direct *f, int64_t *ptr, int32_t *col, int32_t *src) {
    const mpki_tree_view *a = &f->tree;
    int64_t *next = mpki_alloc(f->ctx, STAGE, (int64_t)a->n + 1, sizeof *next);
    if (!next) return false;
    memset(ptr, 0, ((size_t)a->n + 1) * sizeof *ptr);
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            ptr[a->ai[k] + 1]++;
            if (a->ai[k] != j) ptr[j + 1]++;
        }
    for (int32_t i = 0; i < a->n; i++) ptr[i + 1] += ptr[i], next[i] = ptr[i];
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            col[next[i]] = j, src[next[i]++] = (int32_t)k;
            if (i != j) col[next[j]] = i, src[next[j]++] = (int32_t)~k;
        }
    mpki_release(f->ctx, next);
    return true;
}

/* Entries in both triangles. */
static int64_t both(const mpki_tree_view *a) {
    int64_t diagonal = 0;
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) diagonal += a->ai[k] == j;
    return 2 * a->nnz - diagonal;
}

static bool send(const mpki_direct *f, refining *z, int64_t entries) {
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    const int64_t n = f->tree.n;
    int64_t *ptr = mpki_alloc(f->ctx, STAGE, n + 1, sizeof *ptr);
    int32_t *col = mpki_alloc(f->ctx, STAGE, entries + 1, sizeof *col);
    int32_t *src = mpki_alloc(f->ctx, STAGE, entries + 1, sizeof *src);
    const bool sent =
        ptr && col && src && rows_of(f, ptr, col, src) &&
        !mpk_failed(to->copy(cuda, (void *)(uintptr_t)z->a.ptr, ptr, (n + 1) * 8, 1)) &&
        !mpk_failed(to->copy(cuda, (void *)(uintptr_t)z->a.col, col, entries * 4, 1)) &&
        !mpk_failed(to->copy(cuda, (void *)(uintptr_t)z->a.src, src, entries * 4, 1)) &&
        !mpk_failed(to->wait(cuda));
    mpki_release(f->ctx, ptr);
    mpki_release(f->ctx, col);
    mpki_release(f->ctx, src);
    return sent;
}

/* The lists of an earlier solve, or new ones. NULL: there is no memory for them, here or there, which is
 * no error. */
static refining *make(const mpki_direct *f) {
    refining *z = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->refining, NULL);
    const int64_t n = f->tree.n, size = (int64_t)mpk_scalar_size(f->tree.scalar);
    if (z || f->tree.nnz > INT32_MAX) return z;
    const int64_t entries = both(&f->tree), blocks = n / MPKI_CUDA_REFINE_ROWS + 1;
    const int64_t part[] = {
        (n + 1) * 8, entries * 4, entries * 4, 2 * blocks * 8, (int64_t)sizeof(mpki_cuda_errors),
        n * size,    n * size,    n * size};
    enum { PARTS = sizeof part / sizeof *part };
    char *at[PARTS];
    int64_t bytes = 0;
    for (int k = 0; k < PARTS; k++) bytes += (part[k] + 255) & ~(int64_t)255;
    if (f->limit > 0 && (double)bytes + (double)f->room_bytes > f->limit) return NULL;
    z = mpki_alloc(f->ctx, STAGE, 1, sizeof *z);
    if (z) memset(z, 0, sizeof *z);
    if (!z || mpk_failed(f->device->table->alloc(f->device->cuda, bytes, &z->room))) {
        if (z) z->room = NULL;
        release(f, z);
        return NULL;
    }
    char *next = z->room;
    for (int k = 0; k < PARTS; k++) at[k] = next, next += (part[k] + 255) & ~(int64_t)255;
    z->a = (mpki_cuda_refine){.n = f->tree.n,
                              .hermitian = f->tree.symmetry == MPK_HERMITIAN,
                              .ptr = (const int64_t *)(void *)at[0],
                              .col = (const int32_t *)(void *)at[1],
                              .src = (const int32_t *)(void *)at[2],
                              .partial = (double *)(void *)at[3],
                              .errors = (mpki_cuda_errors *)(void *)at[4]};
    z->b = at[5], z->r = at[6], z->x = at[7];
    if (!send(f, z, entries)) {
        release(f, z);
        return NULL;
    }
    return z;
}

static double number(unsigned long long bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* false: the host has to look, with its wider range (problem/measure_t.c). */
static bool quality(const mpki_direct *f, const mpki_cuda_errors *e, double growth,
                    mpki_refined *q) {
    const bool single = f->tree.scalar == MPK_S || f->tree.scalar == MPK_C;
    const double small = single ? 1e-30 : 1e-270, large = single ? 1e37 : 1e300;
    const double x = number(e->x_norm), b = number(e->b_norm), r = number(e->r_norm);
    const double a = number(e->norm_inf);
    q->componentwise = number(e->omega1) + number(e->omega2);
    if (e->odd || !(x > small && x < large) || !(b > small && b < large) || !isfinite(r) ||
        !isfinite(q->componentwise))
        return false;
    q->normwise = r > 0 ? r / (a * x + b) : 0;
    q->relative_residual = r > 0 ? sqrt(e->r2 / e->b2) : 0;
    return a * (x / b) <= growth;
}

typedef struct loop {
    mpk_context *ctx;
    const mpki_direct *f;
    mpki_direct_solver *s;
    refining *z;
    const mpki_cuda_refine_kind *kernels;
    void *x;
    double growth;
} loop;

/* Returns 1: errors are in *q; 0: unusual; -1: the device failed */
static int measure(const loop *l, mpki_refined *q) {
    const bool single = l->f->tree.scalar == MPK_S || l->f->tree.scalar == MPK_C;
    const double tiny = 1000.0 * l->f->tree.n * (single ? 0x1p-24 : 0x1p-53);
    mpki_cuda_errors e;
    if (!did(l->ctx, l->f,
             l->kernels->measure(l->f->device->cuda, &l->z->a, tiny, l->x, l->z->b, l->z->r, &e)))
        return -1;
    return quality(l->f, &e, l->growth, q);
}

/* The loop of factor/refine_t.c. */
static int refine(const loop *l, const mpki_refine_wish *wish, mpki_refined *q) {
    const mpki_direct *f = l->f;
    const int32_t n = f->tree.n;
    mpki_cuda *cuda = f->device->cuda;
    int good = measure(l, q);
    q->unrefined = q->componentwise;
    while (good == 1 && !(q->componentwise <= wish->accuracy) && q->iterations < wish->steps) {
        const mpki_refined kept = *q;
        if (!did(l->ctx, f, l->kernels->move(cuda, n, l->x, l->z->x)) ||
            mpk_failed(mpki_cuda_direct_apply(l->s, MPK_PART_ALL, 1, l->z->r, n, l->z->r, n)) ||
            !did(l->ctx, f, l->kernels->add(cuda, n, l->z->r, l->x)))
            return -1;
        good = measure(l, q);
        q->iterations++;
        if (good == 1 && !(q->componentwise < kept.componentwise)) { /* keep the one before */
            const int32_t steps = q->iterations;
            *q = kept, q->iterations = steps;
            return did(l->ctx, f, l->kernels->move(cuda, n, l->z->x, l->x)) ? 1 : -1;
        }
        if (!(q->componentwise <= 0.5 * kept.componentwise)) break; /* stagnation */
    }
    return good;
}

mpk_status mpki_cuda_direct_refine(mpk_context *ctx, const mpki_direct *f, mpki_direct_solver *s,
                                   const mpki_refine_wish *wish, const void *b, void *x,
                                   mpki_refined *told) {
    const int32_t n = f->tree.n;
    mpki_cuda *cuda = f->device->cuda;
    loop l = {.ctx = ctx, .f = f, .s = s, .x = x, .growth = wish->growth};
    *told = (mpki_refined){0};
    l.kernels = f->device->table->direct->refine[f->tree.scalar];
    l.z = make(f);
    if (!l.z) return MPK_OK;
    l.z->a.ax = f->ax;
    int good = -1;
    if (did(ctx, f, l.kernels->move(cuda, n, b, l.z->b)) &&
        !mpk_failed(mpki_cuda_direct_apply(s, MPK_PART_ALL, 1, l.z->b, n, x, n)))
        good = refine(&l, wish, told);
    if (good == 0 && x == b && !did(ctx, f, l.kernels->move(cuda, n, l.z->b, x))) good = -1;
    if (good >= 0 && !did(ctx, f, f->device->table->direct->wait(cuda))) good = -1;
    told->done = good == 1;
    keep(f, l.z);
    return good < 0 ? mpki_failed(ctx) : MPK_OK;
}
