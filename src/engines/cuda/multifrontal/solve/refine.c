/* SPDX-License-Identifier: BSD-3-Clause */
/* Refinement of some vectors on the device: the loop of factor/refine_t.c, of which only numbers
 * come to the host, once a step for all of them. A's values are those that were factorized. */
#include "refining.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

typedef mpki_cuda_refining refining;

static bool did(mpk_context *ctx, const mpki_direct *f, int status) {
    const mpki_device *d = f->device;
    if (mpk_failed(status))
        mpki_error(ctx, (mpk_status)status, STAGE, -1, "%s", d->table->last_error(d->cuda));
    return !mpk_failed(status);
}

static bool is_single(const mpki_direct *f) {
    return f->tree.scalar == MPK_S || f->tree.scalar == MPK_C;
}

/* q [inout] but its `correction` and `outside`. Returns false: the host has to look, with its wider
 * range (problem/measure_t.c). */
static bool quality(const mpki_direct *f, const mpki_cuda_errors *e, mpki_reached *q) {
    const bool single = is_single(f);
    const double small = single ? 1e-30 : 1e-270, large = single ? 1e37 : 1e300;
    const double x = mpki_cuda_number(e->x_norm), b = mpki_cuda_number(e->b_norm),
                 r = mpki_cuda_number(e->r_norm);
    const double a = mpki_cuda_number(e->norm_inf);
    q->componentwise = mpki_cuda_number(e->omega1) + mpki_cuda_number(e->omega2);
    if (!e->odd && x == 0 && b == 0 && r == 0) { /* b = 0: x is no other */
        q->normwise = q->relative = q->growth = q->rows = q->unresolved = 0, q->missed = false;
        return q->componentwise == 0;
    }
    if (e->odd || !(x > small && x < large) || !(b > small && b < large) || !isfinite(r) ||
        !isfinite(q->componentwise))
        return false;
    q->normwise = r > 0 ? r / (a * x + b) : 0;
    q->relative = r > 0 ? sqrt(e->r2 / e->b2) : 0;
    q->growth = a * (x / b);
    const double rows_r = mpki_cuda_number(e->rows_r), rows_b = mpki_cuda_number(e->rows_b);
    q->rows = rows_r > 0 ? rows_b > 0 ? rows_r / rows_b : INFINITY : 0;
    q->unresolved = rows_b > 0 ? mpki_cuda_number(e->unresolved) / rows_b : 0;
    q->missed = e->missed;
    return isfinite(q->growth);
}

/* From which growth on the rounding of sums shows beside b, as problem/measure_t.c has it; deep: of
 * those in four times the precision. */
static double lost(const mpki_direct *f, bool deep) {
    return is_single(f) ? (deep ? 1e30 : 1e13) : deep ? 1e50 : 1e28;
}

_Static_assert((int)MPKI_REFINE_TOGETHER <= (int)MPKI_CUDA_REFINE_COLUMNS,
               "all that are refined together are measured together");

/* One right-hand side. */
typedef struct column {
    mpki_reached reached;
    double unrefined;
    int32_t iterations, most; /* steps taken, and that may be */
    bool deep;                /* residuals are formed in four times the precision */
} column;

typedef struct loop {
    mpk_context *ctx;
    const mpki_direct *f;
    mpki_direct_solver *s;
    refining *z;
    const mpki_cuda_refine_kind *kernels;
    int64_t vector; /* bytes */
    const char *b;
    char *kept_b;           /* b is a copy of the caller's there; or NULL */
    char *x, *best;         /* x before the last step, n each, where that was no better */
    int64_t b_step, x_step; /* bytes from one to the next */
    double tiny;
    column column[MPKI_REFINE_TOGETHER];
    /* those at work, and in r the residual of each in its place */
    int32_t active, number[MPKI_REFINE_TOGETHER];
} loop;

static char *x_of(const loop *l, int32_t c) {
    return l->x + c * l->x_step;
}

/* The vectors of these moves, so many bytes from one to the next. */
static bool move(const loop *l, mpki_cuda_moves *m, const char *from, int64_t from_step, char *to,
                 int64_t to_step) {
    const int64_t size = l->vector / l->f->tree.n;
    m->from_step = from_step / size, m->to_step = to_step / size;
    return m->count == 0 ||
           did(l->ctx, l->f, l->kernels->move(l->f->device->cuda, l->f->tree.n, m, from, to));
}

/* The first `count` vectors. */
static bool move_all(const loop *l, int32_t count, const char *from, int64_t from_step, char *to,
                     int64_t to_step) {
    mpki_cuda_moves m = {.count = count};
    for (int32_t k = 0; k < count; k++) m.source[k] = m.target[k] = (int8_t)k;
    return move(l, &m, from, from_step, to, to_step);
}

/* x := what it was before the last step, of these numbers. */
static bool put_back_steps(const loop *l, mpki_cuda_moves *m) {
    return move(l, m, l->best, l->vector, l->x, l->x_step);
}

/* The residuals in so many places, of those at work, and their errors, which are 0, as `a` has
 * them. step: x := x + r first; deep: as of all of them */
static bool queue_places(const loop *l, const mpki_cuda_refine *a, const int8_t *places,
                         int32_t count, int step, bool deep) {
    const refining *z = l->z;
    const int64_t size = l->vector / l->f->tree.n;
    mpki_cuda_columns c = {.count = count,
                           .before_step = l->f->tree.n,
                           .x_step = l->x_step / size,
                           .b_step = l->b_step / size,
                           .r_step = l->f->tree.n};
    if (count == 0) return true;
    for (int32_t k = 0; k < count; k++) {
        c.place[k] = places[k];
        c.number[k] = (int8_t)l->number[places[k]];
    }
    return did(l->ctx, l->f,
               l->kernels->measure(l->f->device->cuda, a, &c, l->tiny, step, deep, l->best, l->x,
                                   l->b, z->r));
}

/* Likewise in place k alone; `a` is that place's. */
static bool queue(const loop *l, const mpki_cuda_refine *a, int32_t k, int step) {
    const int8_t place = 0;
    loop one = *l;
    refining z = *l->z;
    one.z = &z, one.number[0] = l->number[k];
    z.r += k * l->vector;
    return queue_places(&one, a, &place, 1, step, l->column[l->number[k]].deep);
}

/* What is measured in place k. */
static mpki_cuda_refine place(const loop *l, int32_t k) {
    mpki_cuda_refine a = l->z->a;
    a.errors += k;
    a.partial += k * a.partials, a.piece += k * a.sums;
    if (a.report) a.report += k;
    return a;
}

/* `count` errors from place k on are 0. */
static bool clear(const loop *l, mpki_cuda_refine *a, int32_t k, int32_t count) {
    *a = place(l, k);
    return did(l->ctx, l->f, l->kernels->clear(l->f->device->cuda, a, count));
}

/* What became of a measurement. */
typedef enum measured {
    DEVICE_FAILED = -1,
    UNUSUAL, /* something that the host has to look at */
    MEASURED /* the errors are in their column */
} measured;

/* Errors of place k. */
static measured judge(loop *l, int32_t k, mpki_cuda_errors e) {
    column *c = &l->column[l->number[k]];
    if (c->iterations == 1 && mpki_cuda_number(e.step) > 0)
        c->reached.correction = mpki_cuda_number(e.step) / mpki_cuda_number(e.stepped);
    for (;;) {
        if (!quality(l->f, &e, &c->reached)) return UNUSUAL;
        if (c->reached.growth <= lost(l->f, c->deep)) return MEASURED;
        if (c->deep) return UNUSUAL;
        c->deep = true;
        mpki_cuda_refine a;
        if (!clear(l, &a, k, 1) || !queue(l, &a, k, 0) ||
            !did(l->ctx, l->f, l->kernels->report_to_host(l->f->device->cuda, &a, 1, &e)))
            return DEVICE_FAILED;
    }
}

/* All at work. Returns as judge(), the worst of all. */
static measured measure(loop *l, int step) {
    mpki_cuda_errors e[MPKI_REFINE_TOGETHER];
    mpki_cuda_refine a;
    int8_t places[2][MPKI_REFINE_TOGETHER]; /* deep or not */
    int32_t count[2] = {0, 0};
    for (int32_t k = 0; k < l->active; k++) {
        const bool deep = l->column[l->number[k]].deep;
        places[deep][count[deep]++] = (int8_t)k;
    }
    if (!clear(l, &a, 0, l->active)) return DEVICE_FAILED;
    for (int deep = 0; deep < 2; deep++)
        if (!queue_places(l, &a, places[deep], count[deep], step, deep)) return DEVICE_FAILED;
    if (!did(l->ctx, l->f, l->kernels->report_to_host(l->f->device->cuda, &l->z->a, l->active, e)))
        return DEVICE_FAILED;
    measured worst = MEASURED;
    for (int32_t k = 0; k < l->active && worst == MEASURED; k++) worst = judge(l, k, e[k]);
    return worst;
}

/* After a step with columns in half the precision that has not reached what is asked: x of before
 * it where it was no worse, with its residual; steps that follow read the panels. Returns as
 * judge(). */
static measured after_half_copies(loop *l, const column *before) {
    const double omega = before->reached.componentwise;
    const column tried = l->column[0];
    if (tried.reached.componentwise < omega) return MEASURED;
    mpki_cuda_moves one = {.count = 1};
    l->column[0] = *before;
    if (!put_back_steps(l, &one)) return DEVICE_FAILED;
    const measured good = measure(l, 0);
    l->column[0].iterations = tried.iterations;
    l->column[0].reached.correction = tried.reached.correction;
    return good;
}

/* One right-hand side, whose errors in both places have been cleared: its errors, and with them,
 * before the host has seen any, the step that they ask for: the device
 * takes it or not. before [out] errors before the step; *went [out] it was taken, and is to be
 *                               judged by them. Returns as
 * judge(). */
static measured measure_ahead(loop *l, const mpki_refine_wish *wish, column *before, bool *went) {
    mpki_cuda_errors e[2];
    mpki_cuda_refine first = place(l, 0), second = place(l, 1);
    bool half_copy = false;
    *went = false;
    first.accuracy = wish->accuracy, first.lost = lost(l->f, false);
    second.accuracy = first.accuracy, second.lost = first.lost, second.wanted = &first.errors->more;
    if (!queue(l, &first, 0, 0) ||
        mpk_failed(mpki_cuda_direct_apply_if(l->s, second.wanted, l->z->r, &half_copy)) ||
        !queue(l, &second, 0, 1) ||
        !did(l->ctx, l->f, l->kernels->report_to_host(l->f->device->cuda, &first, 2, e)))
        return DEVICE_FAILED;
    measured good = judge(l, 0, e[0]);
    l->column[0].unrefined = l->column[0].reached.componentwise;
    if (good != MEASURED || !e[0].more) return good;
    if (half_copy) mpki_cuda_direct_corrected(l->s);
    *before = l->column[0], *went = true;
    l->column[0].iterations = 1;
    good = judge(l, 0, e[1]);
    if (good != MEASURED || !half_copy || l->column[0].reached.componentwise <= wish->accuracy)
        return good;
    *went = false;
    return after_half_copies(l, before);
}

/* How nearly A takes these columns of v, by number, to nothing: near[which] of what each of them has
 * reached. e [out] by place. Returns as judge(). */
static measured measure_flatness(loop *l, const mpki_cuda_columns *c, const char *v, int which,
                                 mpki_cuda_errors *e) {
    mpki_cuda_refine a;
    if (!clear(l, &a, 0, c->count)) return DEVICE_FAILED;
    a.report = NULL; /* no kernel concludes */
    if (!did(l->ctx, l->f, l->kernels->flatness(l->f->device->cuda, &a, c, l->tiny, v, NULL)) ||
        !did(l->ctx, l->f, l->kernels->report_to_host(l->f->device->cuda, &a, c->count, e)))
        return DEVICE_FAILED;
    for (int32_t k = 0; k < c->count; k++)
        l->column[c->number[k]].reached.near[which] = mpki_cuda_near(&e[k]);
    return MEASURED;
}

static void add_column(mpki_cuda_columns *c, int32_t number) {
    c->place[c->count] = (int8_t)c->count;
    c->number[c->count++] = (int8_t)number;
}

/* How nearly A takes each x to nothing of which the verdict may ask that, and its large entries; of
 * a few columns the host looks at those sooner than kernels are waited for. Returns as judge(). */
static measured look_at_flatness(loop *l, const mpki_refine_wish *wish, int32_t nrhs) {
    const int64_t n = l->f->tree.n, x_step = l->x_step * n / l->vector;
    mpki_cuda_errors e[MPKI_REFINE_TOGETHER];
    mpki_cuda_columns all = {.x_step = x_step}, lost = {.x_step = x_step, .before_step = n};
    double largest[MPKI_REFINE_TOGETHER];
    const bool few = nrhs < MPKI_CUDA_LOST_TOGETHER;
    for (int32_t k = 0; k < nrhs; k++) {
        mpki_reached *q = &l->column[k].reached;
        for (int which = 0; which <= MPKI_CUTS; which++)
            q->near[which] = (mpki_near_zero){NAN, NAN, NAN};
        if (q->growth >= wish->large || (!few && q->unresolved > wish->lost)) add_column(&all, k);
    }
    if (all.count == 0) return MEASURED;
    measured good = measure_flatness(l, &all, l->x, 0, e);
    for (int32_t k = 0; k < all.count && good == MEASURED; k++) {
        const int32_t number = all.number[k];
        const mpki_reached *q = &l->column[number].reached;
        largest[number] = mpki_cuda_number(e[k].b_norm);
        if (!few && q->unresolved > wish->lost && !(q->near[0].eta <= wish->flat))
            add_column(&lost, number);
    }
    mpki_cuda_columns cut = lost;
    cut.x_step = n;
    for (int which = 0; which < MPKI_CUTS && good == MEASURED && lost.count > 0; which++) {
        mpki_cuda_least least;
        for (int32_t k = 0; k < lost.count; k++)
            least.of[lost.number[k]] = MPKI_CUT[which] * largest[lost.number[k]];
        if (!did(l->ctx, l->f,
                 l->kernels->cut(l->f->device->cuda, (int32_t)n, &lost, &least, l->x, l->best)))
            return DEVICE_FAILED;
        good = measure_flatness(l, &cut, l->best, 1 + which, e);
    }
    return good;
}

/* Those that need another step stay at work. before: their errors before the last one, by number;
 * NULL: there was none.
 * Returns false: the device failed. */
static bool sift(loop *l, double accuracy, const column *before) {
    const int32_t all = l->active;
    mpki_cuda_moves back = {0}, closer = {0}; /* of x, and of residuals to fewer places */
    l->active = 0;
    for (int32_t k = 0; k < all; k++) {
        const int32_t c = l->number[k];
        column *q = &l->column[c];
        if (before) {
            const double omega = before[c].reached.componentwise;
            if (!(q->reached.componentwise < omega)) { /* keep the one before */
                const column tried = *q;
                *q = before[c], q->iterations = tried.iterations;
                q->reached.correction = tried.reached.correction;
                back.source[back.count] = back.target[back.count] = (int8_t)c;
                back.count++;
                continue;
            }
            if (!(q->reached.componentwise <= 0.5 * omega)) continue; /* stagnation */
        }
        if (q->reached.componentwise <= accuracy || q->iterations >= q->most) continue;
        if (k != l->active) {
            closer.source[closer.count] = (int8_t)k;
            closer.target[closer.count++] = (int8_t)l->active;
        }
        l->number[l->active++] = c;
    }
    return put_back_steps(l, &back) && move(l, &closer, l->z->r, l->vector, l->z->r, l->vector);
}

static bool goes_ahead(int32_t nrhs, const mpki_refine_wish *wish) {
    return nrhs == 1 && wish->steps > 0;
}

/* The first `count` columns of b, and residuals by place. */
static mpki_cuda_columns columns_of(const loop *l, int32_t count) {
    const int64_t size = l->vector / l->f->tree.n;
    mpki_cuda_columns c = {.count = count, .b_step = l->b_step / size, .r_step = l->f->tree.n};
    for (int32_t k = 0; k < count; k++) c.place[k] = c.number[k] = (int8_t)k;
    return c;
}

/* Steps of those at work until none is left; with the kernel's vectors r loses what is not in A's
 * range. Returns as judge(). */
static measured take_steps(loop *l, double accuracy, const mpki_cuda_null *nulls) {
    const int32_t n = l->f->tree.n;
    column before[MPKI_REFINE_TOGETHER];
    measured good = MEASURED;
    while (good == MEASURED && l->active > 0) {
        const mpki_cuda_columns c = columns_of(l, l->active);
        memcpy(before, l->column, sizeof before);
        if ((nulls &&
             !did(l->ctx, l->f, l->kernels->deflate(l->f->device->cuda, nulls, &c, l->z->r))) ||
            mpk_failed(
                mpki_cuda_direct_apply(l->s, MPK_PART_ALL, l->active, l->z->r, n, l->z->r, n)))
            return DEVICE_FAILED;
        for (int32_t k = 0; k < l->active; k++) l->column[l->number[k]].iterations++;
        good = measure(l, 1);
        if (good == MEASURED && !sift(l, accuracy, before)) good = DEVICE_FAILED;
    }
    return good;
}

/* Have the kernel's vectors there. Returns as judge(). */
static measured bring_kernel(const loop *l, const mpki_kernel_source *source, bool all) {
    bool fits;
    if (mpk_failed(mpki_cuda_nulls_bring(l->ctx, l->f, source, all, &l->z->nulls, &fits)))
        return DEVICE_FAILED;
    return fits ? MEASURED : UNUSUAL;
}

/* Those of nrhs that steps have not brought to the accuracy: others without what is not in A's
 * range. Returns as judge(). */
static measured refine_deflated(loop *l, const mpki_refine_wish *wish, int32_t nrhs) {
    l->active = 0;
    for (int32_t c = 0; c < nrhs; c++) {
        column *q = &l->column[c];
        if (q->reached.componentwise <= wish->accuracy) continue;
        q->most = q->iterations + wish->kernel->steps;
        l->number[l->active++] = c;
    }
    if (l->active == 0 || wish->steps == 0) return MEASURED;
    measured good = bring_kernel(l, wish->kernel, true);
    if (good != MEASURED || l->z->nulls.on.count == 0) return good;
    good = measure(l, 0);
    if (good == MEASURED && !sift(l, wish->kernel->accuracy, NULL)) good = DEVICE_FAILED;
    return good == MEASURED ? take_steps(l, wish->kernel->accuracy, &l->z->nulls.on) : good;
}

/* Is each b in A's range, by the vectors that are there, or those that come at little cost? Returns
 * as judge(). */
static measured look_at_range(loop *l, const mpki_kernel_source *source, int32_t nrhs) {
    const mpki_device *d = l->f->device;
    const mpki_cuda_columns c = columns_of(l, nrhs);
    mpki_cuda_nulls *z = &l->z->nulls;
    int32_t outside[MPKI_REFINE_TOGETHER];
    const measured good = z->on.v ? MEASURED : bring_kernel(l, source, false);
    if (good != MEASURED || z->on.count == 0) return good;
    if (!did(l->ctx, l->f, l->kernels->in_range(d->cuda, &z->on, &c, source->within, l->b, z->w)) ||
        !did(l->ctx, l->f,
             d->table->direct->copy(d->cuda, outside, z->on.outside,
                                    nrhs * (int64_t)sizeof *outside, 0)) ||
        !did(l->ctx, l->f, d->table->direct->wait(d->cuda)))
        return DEVICE_FAILED;
    for (int32_t k = 0; k < nrhs; k++) l->column[k].reached.outside = outside[k];
    return MEASURED;
}

/* The loop of factor/refine_t.c. Returns as judge(). */
static measured refine(loop *l, const mpki_refine_wish *wish) {
    const int32_t nrhs = l->active;
    const bool ahead = goes_ahead(nrhs, wish);
    column before[1];
    bool went = false;
    measured good = ahead ? measure_ahead(l, wish, before, &went) : measure(l, 0);
    for (int32_t c = 0; c < nrhs && !ahead; c++)
        l->column[c].unrefined = l->column[c].reached.componentwise;
    if (good == MEASURED && !sift(l, wish->accuracy, went ? before : NULL)) good = DEVICE_FAILED;
    if (good == MEASURED) good = take_steps(l, wish->accuracy, NULL);
    if (good == MEASURED && wish->kernel) good = refine_deflated(l, wish, nrhs);
    if (good == MEASURED && wish->kernel) good = look_at_range(l, wish->kernel, nrhs);
    for (int32_t c = 0; c < nrhs && good == MEASURED; c++)
        if (l->column[c].reached.growth >= wish->doubt) good = UNUSUAL;
    return good == MEASURED && wish->each ? look_at_flatness(l, wish, nrhs) : good;
}

/* Do columns of b, and of x, so many bytes each, lie in different places? */
static bool apart(const loop *l, int32_t nrhs, const char *b, int64_t step) {
    const uintptr_t first = (uintptr_t)b, x = (uintptr_t)l->x;
    const int64_t all = (nrhs - 1) * step + l->vector, all_x = (nrhs - 1) * l->x_step + l->vector;
    return first + (uintptr_t)all <= x || x + (uintptr_t)all_x <= first;
}

static char *extra(const loop *l, int32_t nrhs, int which) {
    return mpki_cuda_refining_extra(l->f, l->s, l->z, nrhs, which);
}

/* Where all columns lie while they are refined: the caller's stay where they are, if they can. Returns
 * false: there is no memory for those that cannot. */
static bool find_places(loop *l, int32_t nrhs, const char *b, int64_t b_step, char *x,
                        int64_t x_step) {
    const mpki_device *d = l->f->device;
    const bool x_away = d->table->is_device(d->cuda, x);
    mpki_cuda_direct_lend_anew(l->s);
    l->z->r = extra(l, nrhs, MPKI_CUDA_EXTRA_R);
    l->x = x_away ? x : extra(l, nrhs, MPKI_CUDA_EXTRA_X);
    l->x_step = x_away ? x_step : l->vector;
    l->best = extra(l, nrhs, MPKI_CUDA_EXTRA_BEST);
    if (!l->z->r || !l->x || !l->best) return false;
    const bool stays = d->table->is_device(d->cuda, b) && apart(l, nrhs, b, b_step);
    l->kept_b = stays ? NULL : extra(l, nrhs, MPKI_CUDA_EXTRA_B);
    l->b = stays ? b : l->kept_b;
    l->b_step = stays ? b_step : l->vector;
    return l->b;
}

/* The caller's b to its place, and x from the device to the caller. Returns false: the device
 * failed. */
static bool bring_b(loop *l, int32_t nrhs, const char *b, int64_t step) {
    const mpki_device *d = l->f->device;
    if (!l->kept_b) return true;
    if (d->table->is_device(d->cuda, b)) return move_all(l, nrhs, b, step, l->kept_b, l->vector);
    for (int32_t c = 0; c < nrhs; c++)
        if (!did(l->ctx, l->f,
                 d->table->direct->copy(d->cuda, l->kept_b + c * l->vector, b + c * step, l->vector,
                                        1)))
            return false;
    return true;
}
static bool take_x(const loop *l, int32_t nrhs, char *x, int64_t step) {
    const mpki_device *d = l->f->device;
    for (int32_t c = 0; c < nrhs; c++)
        if (!did(l->ctx, l->f,
                 d->table->direct->copy(d->cuda, x + c * step, x_of(l, c), l->vector, 0)))
            return false;
    return true;
}
/* b where it was: x lies in its place. */
static bool put_back(const loop *l, int32_t nrhs) {
    return move_all(l, nrhs, l->kept_b, l->vector, l->x, l->x_step);
}

static void report(const loop *l, int32_t nrhs, mpki_refined *told, mpki_reached *each) {
    for (int32_t c = 0; c < nrhs; c++) {
        const mpki_reached *q = &l->column[c].reached;
        told->componentwise = fmax(told->componentwise, q->componentwise);
        told->normwise = fmax(told->normwise, q->normwise);
        told->unrefined = fmax(told->unrefined, l->column[c].unrefined);
        told->relative_residual = fmax(told->relative_residual, q->relative);
        told->correction = fmax(told->correction, q->correction);
        if (l->column[c].iterations > told->iterations) told->iterations = l->column[c].iterations;
        if (each) each[c] = *q;
    }
    told->done = nrhs;
}

mpk_status mpki_cuda_direct_refine(mpk_context *ctx, const mpki_direct *f, mpki_direct_solver *s,
                                   const mpki_refine_wish *wish, int32_t nrhs, const void *b,
                                   int64_t ldb, void *x, int64_t ldx, mpki_refined *told) {
    const int32_t n = f->tree.n;
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar);
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    const bool x_away = f->device->table->is_device(cuda, x);
    loop l = {.ctx = ctx, .f = f, .s = s, .vector = n * size};
    *told = (mpki_refined){0};
    nrhs = mpki_cuda_refined_together(f, s, nrhs);
    l.kernels = to->refine[f->tree.scalar];
    l.z = mpki_cuda_refining_take(f, nrhs);
    if (!l.z) return MPK_OK;
    if (!find_places(&l, nrhs, b, ldb * size, x, ldx * size) ||
        (wish->kernel && !mpki_cuda_nulls_make(f, l.z->columns, &l.z->nulls))) { /* no memory */
        mpki_cuda_refining_keep(f, l.z);
        return MPK_OK;
    }
    l.z->nulls.on.v = NULL; /* nothing is known of what was asked for before */
    l.z->a.by_rows = wish->each != NULL;
    l.z->a.w = wish->kernel ? l.z->nulls.w : NULL;
    l.tiny = 1000.0 * n * (is_single(f) ? 0x1p-24 : 0x1p-53);
    l.active = nrhs;
    for (int32_t c = 0; c < nrhs; c++) l.number[c] = c, l.column[c].most = wish->steps;
    measured good = DEVICE_FAILED;
    if (goes_ahead(nrhs, wish))
        mpki_cuda_direct_clear_with(s, l.z->a.errors, 2 * (int64_t)sizeof *l.z->a.errors);
    if (bring_b(&l, nrhs, b, ldb * size) &&
        !mpk_failed(mpki_cuda_direct_apply(s, MPK_PART_ALL, nrhs, l.b, l.b_step / size, l.x,
                                           x_away ? ldx : n)))
        good = refine(&l, wish);
    mpki_cuda_direct_clear_with(s, NULL, 0);
    if (good == UNUSUAL && x == b && x_away && !put_back(&l, nrhs)) good = DEVICE_FAILED;
    if (good == MEASURED && !x_away && !take_x(&l, nrhs, x, ldx * size)) good = DEVICE_FAILED;
    if (good != DEVICE_FAILED && !did(ctx, f, to->wait(cuda))) good = DEVICE_FAILED;
    if (good == MEASURED) report(&l, nrhs, told, wish->each);
    mpki_cuda_refining_keep(f, l.z);
    return good == DEVICE_FAILED ? mpki_failed(ctx) : MPK_OK;
}
