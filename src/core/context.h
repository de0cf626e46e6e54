/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CONTEXT_H
#define MPKI_CONTEXT_H
/** Inside of mpk_context, for the files that keep it: memory.c, error.c, trace.c, context.c. */
#include "lock.h"
#include "pool.h"
#include "trace.h"

enum { MPKI_TEXT_MAX = 512, MPKI_KEPT_MOST = 256 };

struct mpk_context {
    mpk_allocator allocator;
    _Atomic int64_t now_bytes, peak_bytes;
    _Atomic int64_t most_bytes;  /* that now_bytes has ever been */
    _Atomic int64_t bound_bytes; /* of now_bytes; 0: none */
    unsigned forks;              /* mpki_forks() at the last call */
    mpki_lock lock;              /* guards the error and the progress below */
    mpk_status status;
    char stage[32];
    int64_t index;
    char text[MPKI_TEXT_MAX];
    mpk_progress_fn progress;
    void *progress_user;
    _Atomic double progress_next_s;
    double progress_each_s;
    _Atomic(const char *) progress_stage; /* the last one told; stages are literals */
    _Atomic double progress_fraction;     /* likewise */
    _Atomic bool cancelled;
    mpki_pool *pool; /* NULL until threads are first wanted */
    int cores;       /* that threads may have; 0: not counted yet */
    bool takes_all;  /* cores were set: threads are not asked whether they pay */
    double wake_s;   /* what it takes to wake a thread; 0: not measured yet */
    void *device;    /* NULL until a device is first wanted */
    void (*device_close)(void *device);
    const void *engine; /* NULL: by options */
    void *own_engine;   /* the same where it belongs to the context, else NULL */
    void (*engine_close)(void *engine, mpk_context *ctx);
    struct mpki_trace *trace;  /* NULL: nothing is recorded */
    double symmetry_tolerance; /* below 0: the default */
    bool rank_asked;
    struct {
        mpki_lock lock;
        int count; /* oldest first */
        size_t bytes;
        struct mpki_block *block[MPKI_KEPT_MOST];
    } kept;
};

/** The caller's allocator; NULL: the C library. */
mpk_allocator mpki_allocator_of(const mpk_allocator *given);
/** Give back the freed blocks that wait for the next call. */
void mpki_kept_release(mpk_context *ctx);
#endif
