/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterations of Krylov methods on the device without the host: a batch of them is queued kernel by
 * kernel, or replayed as a graph. */
#include "space.h"

enum {
    PLAIN_FIRST = 2, /* batches before a graph is made: operators may try out what suits them */
    /* and more of them but for gmres, whose first ones are not short (solve/krylov/steps_t.c) */
    PLAIN_SHORT = 2,
    ATTEMPTS_MOST = 2 /* captures, of operators that the host has to wait for */
};

static bool of_sqmr(const mpki_batch *b) {
    return b->method == MPK_KRYLOV_SQMR;
}

/* gmres: the basis, the iterate, M^-1 of the newest vector of the basis (fgmres: of all of them),
 * then that vector and its product; fgmres: and M^-1 of it once more. */
static mpki_cuda_batch_vectors vectors_of_cycle(const mpki_space *s, const mpki_batch *b) {
    void *const *v = b->v;
    const bool flexible = b->method == MPK_KRYLOV_FGMRES;
    const int32_t m = b->cycle, own = m + 2 + (flexible ? m : 1);
    void *const z = flexible ? v[own + 2] : v[m + 2];
    const int64_t apart = (char *)v[1] - (char *)v[0];
    return (mpki_cuda_batch_vectors){.basis = v[0],
                                     .kept = flexible ? v[m + 2] : NULL,
                                     .stride = apart / (int64_t)mpk_scalar_size(s->at.scalar),
                                     .q = v[own],
                                     .m_of = v[own],
                                     .u = b->m->apply ? z : v[own],
                                     .t = v[own + 1]};
}

/* What the kernels of an iteration work on; numbers are those of the
 * methods' files in solve/krylov/. */
static mpki_cuda_batch_vectors vectors_of(const mpki_space *s, const mpki_batch *b) {
    void *const *v = b->v;
    if (b->cycle) return vectors_of_cycle(s, b);
    if (of_sqmr(b))
        return (mpki_cuda_batch_vectors){.r = v[0],
                                         .q = v[1],
                                         .t = v[2],
                                         .u = b->m->apply ? v[3] : v[0],
                                         .m_of = v[0],
                                         .d = v[4],
                                         .s = v[5],
                                         .x = b->x,
                                         .hermitian = b->hermitian};
    if (b->method == MPK_KRYLOV_MINRES)
        return (mpki_cuda_batch_vectors){.r1 = v[0],
                                         .r2 = v[1],
                                         .t = v[2],
                                         .u = b->m->apply ? v[2] : v[1],
                                         .m_of = v[1],
                                         .q = v[3],
                                         .w2 = v[4],
                                         .w1 = v[5],
                                         .r = v[7],
                                         .x = b->x,
                                         .hermitian = 1};
    if (b->method == MPK_KRYLOV_BICGSTAB)
        return (mpki_cuda_batch_vectors){.r = v[0],
                                         .shadow = v[1],
                                         .q = v[2],
                                         .m_of = v[2],
                                         .u = b->m->apply ? v[4] : v[2],
                                         .t = v[3],
                                         .u2 = b->m->apply ? v[6] : v[0],
                                         .t2 = v[5],
                                         .x = b->x,
                                         .hermitian = 1};
    return (mpki_cuda_batch_vectors){.r = v[0],
                                     .m_of = v[0],
                                     .q = v[2],
                                     .t = v[3],
                                     .u = b->m->apply ? v[1] : v[0],
                                     .x = b->x,
                                     .hermitian = 1};
}

static mpk_status queue_part(mpki_space *s, const mpki_cuda_batch_vectors *v, mpki_cuda_part part,
                             int last) {
    return good(s, s->k->step(s->d->cuda, &s->at, part, v, last)) ? MPK_OK : s->status;
}

static void mark(mpki_space *s, bool timed, int k) {
    if (timed) good(s, s->f->mark(s->d->cuda, &s->at, k));
}

static mpk_status queue_product(mpki_space *s, mpki_batch *b, const mpki_cuda_batch_vectors *v,
                                mpki_cuda_part part, bool timed) {
    mpk_status status = MPK_OK;
    mark(s, timed, 0);
    if (b->matrix) {
        if (!good(s, s->k->multiply_step(s->d->cuda, &s->at, part, &b->matrix->rows, v)))
            status = s->status;
        mark(s, timed, 1);
        return status;
    }
    const bool second = part == MPKI_CUDA_BICG_OMEGA;
    const bool of_u = part == MPKI_CUDA_BICG_ALPHA || part == MPKI_CUDA_CYCLE_PRODUCT;
    const void *const x = second ? v->u2 : of_u ? v->u : v->q;
    status = b->a->apply(b->a->self, x, second ? v->t2 : v->t);
    mark(s, timed, 1);
    if (mpk_failed(status)) b->end = MPKI_BATCH_A_FAILED;
    return mpk_failed(status) ? status : queue_part(s, v, part, 0);
}

static mpk_status queue_preconditioner(mpki_space *s, mpki_batch *b,
                                       const mpki_cuda_batch_vectors *v, bool timed) {
    if (!b->m->apply) return MPK_OK;
    mark(s, timed, 2);
    const mpk_status status = b->m->apply(b->m->self, v->m_of, (void *)(uintptr_t)v->u);
    mark(s, timed, 3);
    if (mpk_failed(status)) b->end = MPKI_BATCH_M_FAILED;
    return status;
}

static mpk_status queue_sqmr(mpki_space *s, mpki_batch *b, const mpki_cuda_batch_vectors *v,
                             bool last, bool timed) {
    mpk_status status = queue_part(s, v, MPKI_CUDA_SQMR_DIRECTION, 0);
    if (!mpk_failed(status)) status = queue_product(s, b, v, MPKI_CUDA_SQMR_ALPHA, timed);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_SQMR_RESIDUAL, 0);
    if (!mpk_failed(status)) status = queue_preconditioner(s, b, v, timed);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_SQMR_ITERATE, last);
    return status;
}

static mpk_status queue_cg(mpki_space *s, mpki_batch *b, const mpki_cuda_batch_vectors *v,
                           bool last, bool timed) {
    mpk_status status = queue_preconditioner(s, b, v, timed);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_CG_BETA, 0);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_CG_DIRECTION, 0);
    if (!mpk_failed(status)) status = queue_product(s, b, v, MPKI_CUDA_CG_ALPHA, timed);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_CG_ITERATE, last);
    return status;
}

static mpk_status queue_minres(mpki_space *s, mpki_batch *b, const mpki_cuda_batch_vectors *v,
                               bool last, bool timed) {
    mpk_status status = queue_part(s, v, MPKI_CUDA_MINRES_DIRECTION, 0);
    if (!mpk_failed(status)) status = queue_product(s, b, v, MPKI_CUDA_MINRES_ALPHA, timed);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_MINRES_LANCZOS, 0);
    if (!mpk_failed(status)) status = queue_preconditioner(s, b, v, timed);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_MINRES_BETA, 0);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_MINRES_ITERATE, last);
    return status;
}

/* The second product and preconditioner of an iteration are not timed: they take as long as the
 * first. */
static mpk_status queue_bicgstab(mpki_space *s, mpki_batch *b, const mpki_cuda_batch_vectors *v,
                                 bool last, bool timed) {
    mpki_cuda_batch_vectors second = *v;
    second.m_of = v->r, second.u = v->u2;
    mpk_status status = queue_part(s, v, MPKI_CUDA_BICG_DIRECTION, 0);
    if (!mpk_failed(status)) status = queue_preconditioner(s, b, v, timed);
    if (!mpk_failed(status)) status = queue_product(s, b, v, MPKI_CUDA_BICG_ALPHA, timed);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_BICG_HALF, 0);
    if (!mpk_failed(status)) status = queue_preconditioner(s, b, &second, false);
    if (!mpk_failed(status)) status = queue_product(s, b, v, MPKI_CUDA_BICG_OMEGA, false);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_BICG_ITERATE, last);
    return status;
}

static mpk_status queue_cycle(mpki_space *s, mpki_batch *b, const mpki_cuda_batch_vectors *v,
                              bool last, bool timed) {
    (void)last;
    mpk_status status = queue_preconditioner(s, b, v, timed);
    if (!mpk_failed(status)) status = queue_product(s, b, v, MPKI_CUDA_CYCLE_PRODUCT, timed);
    if (!mpk_failed(status)) status = queue_part(s, v, MPKI_CUDA_CYCLE_PROJECT, 0);
    return status;
}

/* The kernels of an iteration of a method. */
typedef mpk_status queue_fn(mpki_space *s, mpki_batch *b, const mpki_cuda_batch_vectors *v,
                            bool last, bool timed);
static queue_fn *queue_of(mpk_krylov method) {
    switch (method) {
    case MPK_KRYLOV_SQMR:
        return queue_sqmr;
    case MPK_KRYLOV_MINRES:
        return queue_minres;
    case MPK_KRYLOV_BICGSTAB:
        return queue_bicgstab;
    case MPK_KRYLOV_GMRES:
    case MPK_KRYLOV_FGMRES:
        return queue_cycle;
    default:
        return queue_cg;
    }
}

/* All kernels of some iterations; the times of the last one are taken where that is asked for. */
static mpk_status queue(mpki_space *s, mpki_batch *b, int steps, bool timed) {
    const mpki_cuda_batch_vectors v = vectors_of(s, b);
    mpk_status status = b->cycle || good(s, s->f->begin(s->d->cuda, &s->at)) ? MPK_OK : s->status;
    for (int k = 0; k < steps && !mpk_failed(status); k++) {
        const bool last = k == steps - 1;
        status = queue_of(b->method)(s, b, &v, last, timed && last);
        if (!mpk_failed(status)) status = s->status;
    }
    return status;
}

/* A batch of gmres is some graphs of `unit` steps, and what is left kernel by kernel: neither
 * cycles nor checks are multiples of the other. */
static mpk_status run_cycle(mpki_space *s, mpki_batch *b, int steps, bool timed) {
    const mpki_cuda_batch_vectors v = vectors_of(s, b);
    mpk_status status = good(s, s->f->begin(s->d->cuda, &s->at)) ? MPK_OK : s->status;
    for (; s->at.graph && steps >= b->unit && !mpk_failed(status); steps -= b->unit)
        status = good(s, s->f->replay(s->d->cuda, &s->at)) ? MPK_OK : s->status;
    if (!mpk_failed(status)) status = queue(s, b, steps, timed);
    return mpk_failed(status) ? status : queue_part(s, &v, MPKI_CUDA_CYCLE_REPORT, 1);
}

/* Record a whole batch as a graph. Where an operator does what cannot be recorded, batches are
 * queued kernel by kernel as before. */
static void record(mpki_space *s, mpki_batch *b, int steps) {
    s->attempts++;
    if (mpk_failed(s->f->capture(s->d->cuda, &s->at))) return;
    const mpk_status status = queue(s, b, steps, false);
    const int made = s->f->captured(s->d->cuda, &s->at, !mpk_failed(status));
    if (mpk_failed(status) || mpk_failed(made)) { /* nobody's error */
        mpki_clear_error(s->ctx);
        s->status = MPK_OK;
        b->end = MPKI_BATCH_GO;
    }
}

static mpk_status start(mpki_space *s, const mpki_batch *b) {
    mpki_cuda_state first = {.b_norm = b->b_norm, .tau = b->tau, .target = b->target};
    first.rho[0] = b->rho.re, first.rho[1] = b->rho.im;
    first.beta[0] = first.phibar = b->beta, first.cs = -1; /* minres */
    first.column = -1;                                     /* gmres */
    if (b->cycle) {
        const int64_t bytes = s->bytes + s->f->cycle_bytes(&s->at, b->cycle);
        const mpk_status status = mpki_cuda_within(s->ctx, "the method", bytes, s->limit);
        if (mpk_failed(status)) return s->status = status;
        if (!good(s, s->f->cycle(s->d->cuda, &s->at, b->cycle))) return s->status;
    }
    return good(s, s->f->set(s->d->cuda, &s->at, &first)) ? MPK_OK : s->status;
}

static void take_times(mpki_space *s, const mpki_batch *b) {
    if (!good(s, s->f->wait(s->d->cuda, &s->at))) return;
    good(s, s->f->between(s->d->cuda, 0, &s->product_s));
    if (b->m->apply) good(s, s->f->between(s->d->cuda, 2, &s->precondition_s));
}

mpk_status mpki_cuda_iterate(mpki_space *s, mpki_batch *b) {
    const int whole = b->steps < MPKI_CUDA_STEPS ? b->steps : MPKI_CUDA_STEPS;
    bool timed = false;
    mpk_status status = s->status;
    b->end = MPKI_BATCH_GO;
    if (!mpk_failed(status) && b->first) status = start(s, b);
    if (mpk_failed(status)) return status;
    s->f->aim(s->d->cuda, &s->at, b->target);
    const int plain = PLAIN_FIRST + (b->cycle ? 0 : PLAIN_SHORT);
    if (b->queued && b->repeats && !s->at.graph && s->plain >= plain && s->attempts < ATTEMPTS_MOST)
        record(s, b, b->cycle ? b->unit : whole);
    if (b->cycle) {
        timed = !s->at.graph && s->plain++ == 0;
        status = run_cycle(s, b, whole, timed);
    } else if (b->repeats && s->at.graph) {
        status = good(s, s->f->replay(s->d->cuda, &s->at)) ? MPK_OK : s->status;
    } else {
        timed = s->plain++ == 0;
        status = queue(s, b, whole, timed);
    }
    if (mpk_failed(status)) return status;
    if (!good(s, s->f->end(s->d->cuda, &s->at, &s->state))) return s->status;
    if (timed) take_times(s, b);
    b->called = b->method == MPK_KRYLOV_BICGSTAB ? 2 * whole : whole;
    b->steps = s->state.steps;
    b->end = (mpki_batch_end)s->state.end;
    b->recurred = s->state.recurred;
    b->quasi = s->state.quasi;
    b->a_norm = s->state.a_norm;
    b->product_s = s->product_s, b->precondition_s = s->precondition_s;
    return s->status;
}

_Static_assert((int)MPKI_BATCH_REACHED == MPKI_CUDA_REACHED &&
                   (int)MPKI_BATCH_HALF == MPKI_CUDA_HALF &&
                   (int)MPKI_BATCH_INVARIANT == MPKI_CUDA_INVARIANT,
               "the same numbers");
