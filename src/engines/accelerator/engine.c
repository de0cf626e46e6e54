/* SPDX-License-Identifier: BSD-3-Clause */
/* An accelerator as the engine of a context: its table of slots, what it refuses, its memory. */
#include "offload.h"
#include "core/sizes.h"

#include <string.h>

static const char STAGE[] = "factorize";

static const mpki_accelerated *of(const mpk_context *ctx);

/* ---- memory ---------------------------------------------------------------------------------- */

/* What nobody needs once the factor is finished. */
static void release_work(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    mpk_context *ctx = f->stages->ctx;
    const mpk_accelerator *a = o->on->table;
    const int32_t frames = f->stages->blocking->nframes;
    mpki_offload_let_go(a, o->block, o->capacity);
    if (o->upper != o->block) mpki_offload_let_go(a, o->upper, o->capacity);
    mpki_offload_let_go(a, o->perm, frames);
    mpki_offload_let_go(a, o->columns, frames);
    mpki_offload_let_go(a, &o->state, 1);
    mpki_offload_let_go(a, o->turn, frames);
    mpki_offload_let_go(a, &o->minus, 1);
    mpki_offload_let_go(a, o->scratch, o->scratches);
    for (int k = 0; k < a->nbuffers; k++) {
        mpki_offload_let_go(a, o->buffer[k], a->buffers[k].of_pivot ? frames : o->capacity);
        mpki_release(ctx, o->buffer[k]);
        o->buffer[k] = NULL;
    }
    if (o->upper != o->block) mpki_release(ctx, o->upper);
    mpki_release(ctx, o->block);
    mpki_release(ctx, o->perm);
    mpki_release(ctx, o->columns);
    mpki_release(ctx, o->number);
    mpki_release(ctx, o->words);
    mpki_release(ctx, o->was_final);
    mpki_release(ctx, o->turn);
    mpki_release(ctx, o->scratch);
    mpki_release(ctx, o->staging);
    o->upper = o->block = NULL;
    o->perm = o->columns = o->turn = o->scratch = NULL;
    o->words = o->number = NULL, o->was_final = NULL, o->staging = o->state = o->minus = NULL;
    o->scratches = o->staging_capacity = 0;
    mpki_batch_lists_free(ctx, &o->batch);
    mpki_batch_lists_free(ctx, &o->other);
    mpki_batch_lists_free(ctx, &o->late);
}

static void offload_free(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    if (!o) return;
    mpki_offload_solves_free(f);
    release_work(f);
    mpki_release(f->stages->ctx, o);
    f->offload = NULL;
}

static void end(mpk_context *ctx, mpki_blocks **f) {
    if (*f) offload_free(*f);
    mpki_cpu_blocks.free(ctx, f);
}

/* `count` user buffers from number `from` on, zeroed. */
static mpk_status make_buffers(mpki_blocks *f, int k, int64_t from, int64_t count) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    const int64_t bytes = a->buffers[k].item_bytes;
    void **more = mpki_resize(f->stages->ctx, STAGE, o->buffer[k], count, sizeof *more);
    if (!more) return mpki_failed(f->stages->ctx);
    memset(more + from, 0, (size_t)(count - from) * sizeof *more);
    o->buffer[k] = more;
    void *zeros = mpki_calloc(f->stages->ctx, STAGE, bytes, 1);
    mpk_status status = zeros ? MPK_OK : mpki_failed(f->stages->ctx);
    for (int64_t i = from; i < count && !mpk_failed(status); i++) {
        status =
            mpki_offload_status(f, a->allocate(a->self, bytes, &more[i]), "memory for a buffer");
        if (!mpk_failed(status))
            status = mpki_offload_status(f, a->upload(a->self, more[i], zeros, bytes),
                                         "upload of zeros");
    }
    mpki_release(f->stages->ctx, zeros);
    return status;
}

static mpk_status grow_offload(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    const int64_t count = f->stages->index.nblocks, had = o->capacity;
    if (count <= had) return MPK_OK;
    for (int half = 0; half <= o->ldu; half++) {
        void ***at = half ? &o->upper : &o->block;
        void **more = mpki_resize(f->stages->ctx, STAGE, *at, count, sizeof *more);
        if (!more) return mpki_failed(f->stages->ctx);
        memset(more + had, 0, (size_t)(count - had) * sizeof *more);
        *at = more;
    }
    if (!o->ldu) o->upper = o->block;
    mpki_release(f->stages->ctx, o->number); /* it is made anew, as long */
    o->number = NULL;
    mpk_status status = MPK_OK;
    for (int k = 0; k < a->nbuffers && !mpk_failed(status); k++)
        if (!a->buffers[k].of_pivot) status = make_buffers(f, k, had, count);
    o->capacity = count;
    return status;
}

static mpk_status grow(mpki_blocks *f) {
    const mpk_status status = mpki_cpu_blocks.grow(f);
    return mpk_failed(status) ? status : grow_offload(f);
}

/* Memory for a permutation of each frame. */
static mpk_status make_permutations(mpki_blocks *f, void ***perm) {
    const mpk_accelerator *a = f->offload->on->table;
    const int32_t frames = f->stages->blocking->nframes;
    mpk_status status = MPK_OK;
    *perm = MPKI_ZNEW(f->stages->ctx, STAGE, frames, void *);
    if (!*perm) return mpki_failed(f->stages->ctx);
    for (int32_t k = 0; k < frames && !mpk_failed(status); k++)
        status = mpki_offload_status(
            f, a->allocate(a->self, f->offload->n * (int64_t)sizeof(int32_t), &(*perm)[k]),
            "memory for a permutation");
    return status;
}

/* A word for each frame, here and there. */
static mpk_status make_words(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    const int32_t frames = f->stages->blocking->nframes;
    o->words = MPKI_ZNEW(f->stages->ctx, STAGE, frames, int32_t);
    o->was_final = MPKI_ZNEW(f->stages->ctx, STAGE, frames, unsigned char);
    if (!o->words || !o->was_final) return mpki_failed(f->stages->ctx);
    return mpki_offload_status(f,
                               a->allocate(a->self, frames * (int64_t)sizeof *o->words, &o->state),
                               "memory for verdicts");
}

/* What belongs to frames, and the constant block. */
static mpk_status fill_offload(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    mpk_context *ctx = f->stages->ctx;
    const mpk_accelerator *a = o->on->table;
    const int32_t frames = f->stages->blocking->nframes;
    o->turn = MPKI_ZNEW(ctx, STAGE, frames, void *);
    o->staging = mpki_calloc(ctx, STAGE, 4, (size_t)mpki_offload_bytes(o));
    if (!o->turn || !o->staging) return mpki_failed(ctx);
    o->staging_capacity = 4;
    mpk_status status = grow_offload(f);
    for (int k = 0; k < a->nbuffers && !mpk_failed(status); k++)
        if (a->buffers[k].of_pivot) status = make_buffers(f, k, 0, frames);
    if (a->pivoting && !mpk_failed(status)) status = make_permutations(f, &o->perm);
    if (a->pivoting && o->ldu && !mpk_failed(status)) status = make_permutations(f, &o->columns);
    if (o->defers && !mpk_failed(status)) status = make_words(f);
    if (!mpk_failed(status)) status = mpki_offload_block(f, &o->minus);
    if (!mpk_failed(status)) {
        MPKI_DISPATCH(o->scalar, offload_minus)(f);
        status = mpki_offload_put(f, o->minus, o->staging);
    }
    return status;
}

/* ---- what it refuses ------------------------------------------------------------------------- */

/* The most rows of a block. */
static int32_t most_rows(const mpk_accelerator *a) {
    int32_t most = a->only_block > 0 ? a->only_block : a->largest_block;
    for (int k = 0; a->sizes && a->sizes[k]; k++) most = a->sizes[k];
    return most;
}

/* Rows of all blocks, where the largest frame has `largest`. */
static int32_t rows_of(const mpk_accelerator *a, int32_t largest) {
    for (int k = 0; a->sizes && a->sizes[k]; k++)
        if (a->sizes[k] >= largest) return a->sizes[k];
    return a->only_block > 0 ? a->only_block : largest;
}

static int type_of(const mpki_stages *s) {
    return s->ldu || s->symmetry == MPK_GENERAL ? MPK_TYPE_LDU : (int)s->options->factor_type;
}

/* Choices of which the machine has one: the others would stand in the report, and nobody would have
 * done them. */
static mpk_status check_words(const mpki_stages *s, const mpk_accelerator *a) {
    const mpk_pivoting pivots = a->pivoting ? MPK_PIVOTING_COMPLETE : MPK_PIVOTING_NONE;
    const mpk_schedule schedule = s->options->schedule;
    if (s->options->pivoting != pivots)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "%s does not take pivoting %s: it has %s", a->name,
                          mpk_option_word("pivoting", (int)s->options->pivoting),
                          mpk_option_word("pivoting", (int)pivots));
    if (schedule == MPK_SCHEDULE_JACOBI && s->options->jacobi_norm != MPK_JACOBI_NORM_MATRIX)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "%s does not take jacobi_norm %s: it has %s", a->name,
                          mpk_option_word("jacobi_norm", (int)s->options->jacobi_norm),
                          mpk_option_word("jacobi_norm", MPK_JACOBI_NORM_MATRIX));
    if (schedule == MPK_SCHEDULE_JACOBI || schedule == MPK_SCHEDULE_SUBSETS ||
        (a->atomics && schedule == MPK_SCHEDULE_ATOMIC))
        return MPK_OK;
    return mpki_error(
        s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1, "%s does not take schedule %s: it has %s", a->name,
        mpk_option_word("schedule", (int)schedule), a->atomics ? "atomic and subsets" : "subsets");
}

static mpk_status check(const mpki_stages *s, const mpk_accelerator *a) {
    static const char *const types[] = {"factor_type ldlt", "factor_type llt", "factor_type ldu"};
    static const char *const scalars[] = {"single precision", "double precision",
                                          "complex entries in single precision", "complex entries"};
    const int type = type_of(s);
    const bool knows = a->run ? a->types >> type & 1 : type == MPK_TYPE_LDLT;
    const bool computes = a->precisions >> s->stored & 1 && (a->run || s->stored == MPK_D);
    const char *what = !knows      ? types[type]
                       : !computes ? scalars[s->stored]
                       : a->load && s->stored != MPK_D
                           ? "a form of its own but for double precision"
                       : s->relaxed ? "method ssor"
                       : s->lifted  ? "methods diagonal and block_jacobi"
                                    : NULL;
    if (what)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1, "%s does not take %s", a->name,
                          what);
    if (!s->complete && !(a->run && a->drops))
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "%s drops nothing: drop_tolerance 0 and fill_factor 0 ask for that",
                          a->name);
    if (!s->complete && (type == MPK_TYPE_LLT || mpki_drops_by_whole(s)))
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1, "%s does not drop %s", a->name,
                          type == MPK_TYPE_LLT ? "entries of factor_type llt"
                                               : "by drop_norm whole");
    if (s->options->schedule == MPK_SCHEDULE_JACOBI &&
        !(a->run && s->complete && s->options->stages == 1))
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "%s does not take schedule jacobi%s", a->name,
                          !a->run        ? ""
                          : !s->complete ? " with dropping: drop_tolerance 0 and fill_factor 0"
                                         : " with outer pivoting: stages 1");
    const mpk_status status = check_words(s, a);
    if (mpk_failed(status)) return status;
    const int32_t most = most_rows(a);
    if (s->blocking->largest <= most) return MPK_OK;
    return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, s->blocking->largest,
                      "%s takes blocks of at most %d rows, there is one of %d: block %d would do",
                      a->name, most, s->blocking->largest, most);
}

/* Are there functions for all that `run` need not be called for? */
static bool has_six(const mpk_accelerator *a) {
    return a->factorize && a->solve && a->downdate && a->transpose && a->zero_out &&
           (!a->pivoting || a->permute);
}

/* What the factorization asks of the table. */
static void choose(struct mpki_offload *o, const mpki_stages *s) {
    const mpk_accelerator *a = o->on->table;
    o->n = rows_of(a, s->blocking->largest);
    o->scalar = s->stored;
    o->type = type_of(s);
    o->ldu = o->type == MPK_TYPE_LDU;
    o->hermitian = s->hermitian && (s->stored == MPK_C || s->stored == MPK_Z);
    o->pairs = a->run && a->pivoting && a->pairs && o->type == MPK_TYPE_LDLT;
    o->defers = a->run && a->judges && s->complete;
    o->tasks =
        o->pairs || o->defers || o->scalar != MPK_D || o->type != MPK_TYPE_LDLT || !has_six(a);
    o->late.late = true;
}

static mpk_status make(mpki_stages *s, mpki_blocks **out) {
    const mpki_accelerated *on = of(s->ctx);
    mpk_status status = check(s, on->table);
    if (!mpk_failed(status)) status = mpki_cpu_blocks.make(s, out);
    if (mpk_failed(status)) return status;
    struct mpki_offload *o = (*out)->offload = MPKI_ZNEW(s->ctx, STAGE, 1, struct mpki_offload);
    status = o ? MPK_OK : mpki_failed(s->ctx);
    if (o) {
        o->on = (mpki_accelerated *)on;
        choose(o, s);
        status = fill_offload(*out);
    }
    if (mpk_failed(status)) end(s->ctx, out);
    return status;
}

static mpk_status finish(mpki_blocks *f, mpki_block_counts *counts) {
    const mpk_status status = mpki_offload_finish(f, counts);
    if (!mpk_failed(status)) (f->offload->solves ? release_work : offload_free)(f);
    return status;
}

/* ---- slots, each with the machine to itself: threads may share it ---------------------------- */

static mpki_lock *lock_of(const mpki_blocks *f) {
    return f && f->offload ? &f->offload->on->lock : NULL;
}

static mpk_status make_locked(mpki_stages *s, mpki_blocks **out) {
    mpki_lock *lock = &((mpki_accelerated *)of(s->ctx))->lock;
    mpki_lock_take(lock);
    const mpk_status status = make(s, out);
    mpki_lock_give(lock);
    return status;
}

static void end_locked(mpk_context *ctx, mpki_blocks **f) {
    mpki_lock *lock = lock_of(*f);
    if (lock) mpki_lock_take(lock);
    end(ctx, f);
    if (lock) mpki_lock_give(lock);
}

#define LOCKED(name, slot)                                                                         \
    static mpk_status name(mpki_blocks *f) {                                                       \
        mpki_lock_take(lock_of(f));                                                                \
        const mpk_status status = slot(f);                                                         \
        mpki_lock_give(lock_of(f));                                                                \
        return status;                                                                             \
    }
LOCKED(grow_locked, grow)
LOCKED(stage_locked, mpki_offload_stage)
#undef LOCKED

static mpk_status sweeps_locked(mpki_blocks *f, double push, int32_t *fail) {
    mpki_lock_take(lock_of(f));
    const mpk_status status = mpki_offload_sweeps(f, push, fail);
    mpki_lock_give(lock_of(f));
    return status;
}

static mpk_status finish_locked(mpki_blocks *f, mpki_block_counts *counts) {
    mpki_lock *lock = lock_of(f); /* f may have no more of the machine afterwards */
    mpki_lock_take(lock);
    const mpk_status status = finish(f, counts);
    mpki_lock_give(lock);
    return status;
}

/* ---- the engine of a context ----------------------------------------------------------------- */

static const char *name(const mpk_context *ctx) {
    return of(ctx)->table->name;
}

static const mpki_accelerated *of(const mpk_context *ctx) {
    const mpki_accelerated *on = mpki_context_engine(ctx);
    return on && on->engine.name == name ? on : NULL;
}

/* Is the table whole? */
static bool is_whole(const mpk_accelerator *a) {
    const bool sizes = a->largest_block >= 1 && a->largest_block <= MPKI_BLOCK_MAX &&
                       a->only_block >= 0 && a->only_block <= a->largest_block &&
                       a->nbuffers >= 0 && a->nbuffers <= MPK_ACCELERATOR_BUFFERS;
    bool good = a->name && sizes && a->allocate && a->release && a->upload && a->download &&
                (has_six(a) || (a->run && a->judges)) && !a->load == !a->store &&
                !a->load == !a->stored_bytes;
    int32_t before = 0;
    for (int k = 0; good && a->sizes && a->sizes[k]; before = a->sizes[k], k++)
        good = a->sizes[k] > before && a->sizes[k] <= MPKI_BLOCK_MAX;
    good = good && (!a->judges || a->run) && (!a->pairs || (a->run && a->pivoting));
    for (int k = 0; good && k < a->nbuffers; k++)
        good = a->buffers[k].name && a->buffers[k].item_bytes > 0;
    return good;
}

static void forget(void *engine, mpk_context *ctx) {
    mpki_lock_end(&((mpki_accelerated *)engine)->lock);
    mpki_release(ctx, engine);
}

mpk_status mpk_context_use_accelerator(mpk_context *ctx, const mpk_accelerator *a) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_accelerator whole = {0};
    if (a && !(mpki_read_struct(&whole, sizeof whole, a, offsetof(mpk_accelerator, sizes)) &&
               is_whole(&whole)))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "accelerator", -1,
                          "the table of an accelerator lacks a function, a name or a size");
    mpki_accelerated *on = a ? MPKI_ZNEW(ctx, "accelerator", 1, mpki_accelerated) : NULL;
    if (a && !on) return mpki_failed(ctx);
    if (on && !mpki_lock_init(&on->lock)) {
        mpki_release(ctx, on);
        return mpki_error(ctx, MPK_ERR_MEMORY, "accelerator", -1, "no lock is left");
    }
    if (on) {
        on->own = whole;
        on->table = &on->own;
        on->blocks = mpki_cpu_blocks;
        on->blocks.renews = !a->pivoting;
        on->blocks.make = make_locked;
        on->blocks.free = end_locked;
        on->blocks.grow = grow_locked;
        on->blocks.stage = stage_locked;
        on->blocks.sweeps = sweeps_locked;
        on->blocks.finish = finish_locked;
        on->blocks.solver_make = mpki_offload_solver_make;
        on->blocks.solver_free = mpki_offload_solver_free;
        on->blocks.apply = mpki_offload_apply;
        on->engine = (mpki_engine){.name = name,
                                   .memory = MPK_HOST,
                                   .blocks = &on->blocks,
                                   .vectors = &mpki_cpu_vectors,
                                   .apart = true};
    }
    mpki_context_own_engine(ctx, on, forget);
    return MPK_OK;
}

mpk_status mpk_accelerator_report_get(const mpk_context *ctx, mpk_accelerator_report *report) {
    const mpki_accelerated *on = ctx && report ? of(ctx) : NULL;
    mpk_accelerator_report full = {0};
    if (!on ||
        !mpki_read_struct(&full, sizeof full, report, offsetof(mpk_accelerator_report, calls)))
        return MPK_ERR_ARGUMENT;
    const size_t size = report->struct_size;
    mpki_lock *const lock = (mpki_lock *)(uintptr_t)&on->lock; /* solves add to it */
    mpki_lock_take(lock);
    memcpy(report, &on->report, size < sizeof full ? size : sizeof full);
    mpki_lock_give(lock);
    report->struct_size = size;
    return MPK_OK;
}
