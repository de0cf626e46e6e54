/* SPDX-License-Identifier: BSD-3-Clause */
/* Refinement of a vector that lies on the device: the loop of factor/refine_t.c, of which only numbers come
 * to the host, once a step. A's values are those that were factorized. */
#include "direct_factor.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

typedef struct mpki_cuda_refining {
    mpki_cuda_refine a;
    void *room; /* device: all */
    char *b, *r, *x,
        *y; /* n each: right-hand side, residual, best x so far, x where the caller's is on the host */
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

/* The vectors of an earlier solve, or new ones. NULL: there is no memory for them or for the rows, here or there,
 * which is no error. */
static refining *make(const mpki_direct *f) {
    refining *z = atomic_exchange(&((mpki_direct *)(uintptr_t)f)->refining, NULL);
    const int64_t n = f->tree.n, size = (int64_t)mpk_scalar_size(f->tree.scalar);
    const mpki_cuda_by_rows *rows = z ? NULL : mpki_cuda_direct_rows(f);
    if (!rows) return z;
    const int64_t blocks = (n + rows->longs) / MPKI_CUDA_REFINE_ROWS + 2;
    const int64_t part[] = {2 * blocks * 8,
                            rows->pieces * (int64_t)MPKI_CUDA_REFINE_SUMS * 8,
                            (int64_t)sizeof(mpki_cuda_errors),
                            n * size,
                            n * size,
                            n * size,
                            n * size};
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
    z->a = (mpki_cuda_refine){.a = *rows,
                              .ax = f->ax,
                              .scale = f->given_scale,
                              .partial = (double *)(void *)at[0],
                              .piece = (double *)(void *)at[1],
                              .errors = (mpki_cuda_errors *)(void *)at[2]};
    z->b = at[3], z->r = at[4], z->x = at[5], z->y = at[6];
    return z;
}

static double number(unsigned long long bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool is_single(const mpki_direct *f) {
    return f->tree.scalar == MPK_S || f->tree.scalar == MPK_C;
}

/* *growth [out] ||A|| ||x|| / ||b||. Returns false: the host has to look, with its wider range
 * (problem/measure_t.c). */
static bool quality(const mpki_direct *f, const mpki_cuda_errors *e, mpki_refined *q,
                    double *growth) {
    const bool single = is_single(f);
    const double small = single ? 1e-30 : 1e-270, large = single ? 1e37 : 1e300;
    const double x = number(e->x_norm), b = number(e->b_norm), r = number(e->r_norm);
    const double a = number(e->norm_inf);
    q->componentwise = number(e->omega1) + number(e->omega2);
    if (e->odd || !(x > small && x < large) || !(b > small && b < large) || !isfinite(r) ||
        !isfinite(q->componentwise))
        return false;
    q->normwise = r > 0 ? r / (a * x + b) : 0;
    q->relative_residual = r > 0 ? sqrt(e->r2 / e->b2) : 0;
    *growth = a * (x / b);
    return isfinite(*growth);
}

/* From which growth on the rounding of sums shows beside b, as problem/measure_t.c has it; deep: of those in four
 * times the precision. */
static double lost(const mpki_direct *f, bool deep) {
    return is_single(f) ? (deep ? 1e30 : 1e13) : deep ? 1e50 : 1e28;
}

typedef struct loop {
    mpk_context *ctx;
    const mpki_direct *f;
    mpki_direct_solver *s;
    refining *z;
    const mpki_cuda_refine_kind *kernels;
    void *x;
    double tiny, growth;
    bool deep; /* residuals are formed in four times the precision */
} loop;

/* step: x := x + r first. Returns 1: errors are in *q; 0: unusual; -1: the device failed */
static int measure(loop *l, int step, mpki_refined *q) {
    const mpki_direct *f = l->f;
    for (;; step = 0, l->deep = true) {
        mpki_cuda_errors e;
        if (!did(l->ctx, f,
                 l->kernels->measure(f->device->cuda, &l->z->a, l->tiny, step, l->deep, l->z->x,
                                     l->x, l->z->b, l->z->r, &e)))
            return -1;
        if (!quality(f, &e, q, &l->growth)) return 0;
        if (l->growth <= lost(f, l->deep)) return 1;
        if (l->deep) return 0;
    }
}

/* May x be a vector that A takes to nothing (solve/solve.c)? Then the host looks at it in all scalings. Returns as
 * measure(). */
static int look(const loop *l, const mpki_refine_wish *wish) {
    mpki_cuda_errors e;
    if (!(l->growth >= wish->doubt)) return 1;
    if (!did(l->ctx, l->f, l->kernels->flatness(l->f->device->cuda, &l->z->a, l->tiny, l->x, &e)))
        return -1;
    const double most = number(e.x_norm), flat = number(e.omega1);
    return most > 0 && isfinite(most) && isfinite(flat) && flat <= wish->flat ? 0 : 1;
}

/* The loop of factor/refine_t.c. */
static int refine(loop *l, const mpki_refine_wish *wish, mpki_refined *q) {
    const mpki_direct *f = l->f;
    const int32_t n = f->tree.n;
    mpki_cuda *cuda = f->device->cuda;
    int good = measure(l, 0, q);
    q->unrefined = q->componentwise;
    while (good == 1 && !(q->componentwise <= wish->accuracy) && q->iterations < wish->steps) {
        const mpki_refined kept = *q;
        const double growth = l->growth;
        if (mpk_failed(mpki_cuda_direct_apply(l->s, MPK_PART_ALL, 1, l->z->r, n, l->z->r, n)))
            return -1;
        good = measure(l, 1, q);
        q->iterations++;
        if (good == 1 && !(q->componentwise < kept.componentwise)) { /* keep the one before */
            const int32_t steps = q->iterations;
            *q = kept, q->iterations = steps, l->growth = growth;
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
    const int64_t bytes = n * (int64_t)mpk_scalar_size(f->tree.scalar);
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    const bool b_away = f->device->table->is_device(cuda, b);
    const bool x_away = f->device->table->is_device(cuda, x);
    loop l = {.ctx = ctx, .f = f, .s = s, .x = x};
    *told = (mpki_refined){0};
    l.kernels = to->refine[f->tree.scalar];
    l.z = make(f);
    if (!l.z) return MPK_OK;
    if (!x_away) l.x = l.z->y;
    l.tiny = 1000.0 * n * (is_single(f) ? 0x1p-24 : 0x1p-53);
    int good = -1;
    if (did(ctx, f,
            b_away ? l.kernels->move(cuda, n, b, l.z->b) : to->copy(cuda, l.z->b, b, bytes, 1)) &&
        !mpk_failed(mpki_cuda_direct_apply(s, MPK_PART_ALL, 1, l.z->b, n, l.x, n)))
        good = refine(&l, wish, told);
    if (good == 1) good = look(&l, wish);
    if (good == 0 && x == b && x_away && !did(ctx, f, l.kernels->move(cuda, n, l.z->b, x)))
        good = -1;
    if (good == 1 && !x_away && !did(ctx, f, to->copy(cuda, x, l.x, bytes, 0))) good = -1;
    if (good >= 0 && !did(ctx, f, to->wait(cuda))) good = -1;
    told->done = good == 1;
    keep(f, l.z);
    return good < 0 ? mpki_failed(ctx) : MPK_OK;
}
