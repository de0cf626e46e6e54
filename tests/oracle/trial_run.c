/* SPDX-License-Identifier: BSD-3-Clause */
/* A context around a trial, whose memory is counted, and the vectors of the calls. */
#include "paths.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* In front of each block: whose it is, and its size. */
typedef struct mark {
    memory *owner;
    size_t size;
    char rest[64 - sizeof(memory *) - sizeof(size_t)];
} mark;

static void *marking_alloc(void *user, size_t size) {
    memory *m = user;
    mark *block = aligned_alloc(64, sizeof *block + (size + 63) / 64 * 64);
    if (!block) return NULL;
    block->owner = m;
    block->size = size;
    __atomic_add_fetch(&m->held, 1, __ATOMIC_SEQ_CST);
    return block + 1;
}

static void marking_release(void *user, void *ptr, size_t size) {
    memory *m = user;
    mark *block = (mark *)ptr - 1;
    if (block->owner != m) __atomic_add_fetch(&m->foreign, 1, __ATOMIC_SEQ_CST);
    if (block->size != size) __atomic_add_fetch(&m->missized, 1, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&block->owner->held, 1, __ATOMIC_SEQ_CST);
    free(block);
}

mpk_context *memory_context(verdicts *v, memory *m) {
    const mpk_allocator allocator = {marking_alloc, marking_release, m};
    mpk_context *ctx = NULL;
    const mpk_status status = mpk_context_create(&allocator, &ctx);
    if (mpk_failed(status))
        wrong(v, WRONG_REFUSED, "mpk_context_create: %s", mpk_status_name(status));
    return ctx;
}

void memory_end(verdicts *v, memory *m, mpk_context **ctx) {
    int64_t now = 0;
    if (*ctx) mpk_memory_usage(*ctx, &now, NULL);
    /* worker threads and an open device stay until the end */
    const mpk_options *o = &v->trial->setup.options;
    if (now < 0 || (now && o->threads == 1 && o->device == MPK_ON_CPU))
        wrong(v, WRONG_LEAK, "%lld bytes in use, by the context's account, with nothing left in it",
              (long long)now);
    mpk_context_destroy(ctx);
    if (m->held)
        wrong(v, WRONG_LEAK, "%lld blocks after the end of the context", (long long)m->held);
    if (m->foreign)
        wrong(v, WRONG_LEAK, "%lld blocks given back to another allocator than theirs",
              (long long)m->foreign);
    if (m->missized)
        wrong(v, WRONG_LEAK, "%lld blocks given back with another size", (long long)m->missized);
}

void trial_run(verdicts *v) {
    memory held = {0};
    v->truth = truth_make(&v->trial->eq);
    mpk_context *ctx = memory_context(v, &held);
    if (!ctx)
        ;
    else if (v->trial->path == PATH_KRYLOV)
        run_operator(v, ctx);
    else if (v->trial->path == PATH_DENSE)
        run_dense(v, ctx);
    else if (v->trial->path == PATH_BATCH)
        run_batch(v, ctx);
    else
        run_sparse(v, ctx);
    memory_end(v, &held, &ctx);
    truth_free(&v->truth);
}

/* ---- right-hand sides ------------------------------------------------------------------------ */

static size_t sides_bytes(const sides *s) {
    return (size_t)s->ld * (size_t)s->eq->nrhs * mpk_scalar_size(s->eq->scalar);
}

static void *copy_of(const void *bytes, size_t count) {
    void *copy = must_alloc(count, 1);
    if (count) memcpy(copy, bytes, count);
    return copy;
}

sides sides_make(const equations *eq, const setup *setup, int in_place) {
    sides s = {.eq = eq, .ld = (eq->n > 0 ? eq->n : 1) + setup->lead};
    const size_t bytes = sides_bytes(&s), size = mpk_scalar_size(eq->scalar);
    s.b = must_alloc(bytes, 1);
    if (bytes)
        memset(s.b, 0x41, bytes); /* 0x4141...: 12 or 2e6, so that what lies beyond n is not
                                            NaN */
    for (int32_t r = 0; r < eq->nrhs; r++)
        numbers_store(eq->scalar, eq->n, eq->b + 2 * (size_t)eq->n * (size_t)r,
                      (char *)s.b + (size_t)r * (size_t)s.ld * size);
    s.b_copy = copy_of(s.b, bytes);
    s.x = s.b;
    if (!in_place) {
        s.x = must_alloc(bytes, 1);
        if (bytes) memset(s.x, 0x42, bytes);
    }
    s.x_copy = copy_of(s.x, bytes);
    return s;
}

void sides_free(sides *s) {
    if (s->x != s->b) free(s->x);
    free(s->b);
    free(s->b_copy);
    free(s->x_copy);
    *s = (sides){0};
}

void sides_check(const sides *s, verdicts *v, const char *call, mpk_status status) {
    const size_t size = mpk_scalar_size(s->eq->scalar), used = (size_t)s->eq->n * size;
    const size_t column = (size_t)s->ld * size;
    if (sides_bytes(s) == 0) return;
    /* a call that overflows may have overwritten x, unless x was b */
    if (mpk_failed(status) && (status != MPK_ERR_NUMERIC || s->x == s->b) &&
        memcmp(s->x, s->x_copy, sides_bytes(s)))
        wrong(v, WRONG_OUTPUTS, "%s: %s, and x is not what it was", call, mpk_status_name(status));
    if (s->x != s->b && memcmp(s->b, s->b_copy, sides_bytes(s)))
        wrong(v, WRONG_OUTPUTS, "%s: b is not what it was", call);
    for (size_t r = 0; r < (size_t)s->eq->nrhs; r++)
        if (memcmp((char *)s->x + r * column + used, (char *)s->x_copy + r * column + used,
                   column - used))
            wrong(v, WRONG_OUTPUTS, "%s: x has changed beyond row n", call);
}

/* ---- reports --------------------------------------------------------------------------------- */

enum { PATTERN = 0x43 };

void pattern_fill(void *info, size_t bytes) {
    memset(info, PATTERN, bytes);
}

void pattern_check(verdicts *v, const char *call, mpk_status status, const void *info,
                   size_t bytes) {
    if (!mpk_failed(status)) return;
    for (size_t k = 0; k < bytes; k++)
        if (((const unsigned char *)info)[k] != PATTERN) {
            wrong(v, WRONG_OUTPUTS, "%s: %s, and the info has changed", call,
                  mpk_status_name(status));
            return;
        }
}
