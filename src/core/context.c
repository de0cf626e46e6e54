/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "core.h"
#include "pool.h"

#include <metapack/problem.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { TEXT_MAX = 512 };

struct mpk_context {
    mpk_allocator allocator;
    _Atomic int64_t now_bytes, peak_bytes;
    pthread_mutex_t mutex; /* guards the error and the progress below */
    mpk_status status;
    char stage[32];
    int64_t index;
    char text[TEXT_MAX];
    mpk_progress_fn progress;
    void *progress_user;
    _Atomic double progress_next_s;
    _Atomic(const char *) progress_stage; /* the last one told; stages are literals */
    _Atomic bool cancelled;
    mpki_pool *pool; /* NULL until threads are first wanted */
};

/* ---- the C library's memory, huge pages for large blocks ------------------------------------- */

enum { ALIGN = 64, HUGE_PAGE = 2 << 20 };

static void *default_alloc(void *user, size_t size) {
    (void)user;
    void *ptr = NULL;
    size_t align = size >= 4 * (size_t)HUGE_PAGE ? (size_t)HUGE_PAGE : ALIGN;
    if (posix_memalign(&ptr, align, size)) return NULL;
    if (align == HUGE_PAGE) madvise(ptr, size, MADV_HUGEPAGE);
    return ptr;
}

static void default_release(void *user, void *ptr, size_t size) {
    (void)user;
    (void)size;
    free(ptr);
}

mpk_status mpk_context_create(const mpk_allocator *allocator, mpk_context **out) {
    if (!out || *out) return MPK_ERR_ARGUMENT;
    if (allocator && (!allocator->alloc || !allocator->release)) return MPK_ERR_ARGUMENT;
    mpk_allocator chosen =
        allocator ? *allocator : (mpk_allocator){default_alloc, default_release, NULL};
    mpk_context *ctx = chosen.alloc(chosen.user, sizeof *ctx);
    if (!ctx) return MPK_ERR_MEMORY;
    memset(ctx, 0, sizeof *ctx);
    ctx->allocator = chosen;
    ctx->index = -1;
    if (pthread_mutex_init(&ctx->mutex, NULL)) {
        chosen.release(chosen.user, ctx, sizeof *ctx);
        return MPK_ERR_MEMORY;
    }
    *out = ctx;
    return MPK_OK;
}

void mpk_context_destroy(mpk_context **ctx) {
    if (!ctx || !*ctx) return;
    mpki_pool_destroy(&(*ctx)->pool);
    mpk_allocator allocator = (*ctx)->allocator;
    pthread_mutex_destroy(&(*ctx)->mutex);
    allocator.release(allocator.user, *ctx, sizeof **ctx);
    *ctx = NULL;
}

mpki_pool *mpki_context_pool(mpk_context *ctx, int threads, int64_t capacity) {
    if (ctx->pool && mpki_pool_threads(ctx->pool) != threads) mpki_pool_destroy(&ctx->pool);
    if (!ctx->pool) ctx->pool = mpki_pool_create(ctx, threads);
    return ctx->pool && mpki_pool_reserve(ctx->pool, capacity) ? ctx->pool : NULL;
}

/* ---- memory: a 64-byte header keeps the size of each block ------------------------------------
 */

typedef struct header {
    size_t size; /* of the whole block, header included */
} header;

static void account(mpk_context *ctx, int64_t bytes) {
    int64_t now = atomic_fetch_add(&ctx->now_bytes, bytes) + bytes;
    int64_t peak = atomic_load(&ctx->peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&ctx->peak_bytes, &peak, now)) {}
}

void *mpki_alloc(mpk_context *ctx, const char *stage, int64_t count, size_t size) {
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        bytes > (size_t)PTRDIFF_MAX - 2 * ALIGN) {
        mpki_error(ctx, MPK_ERR_SIZE, stage, count, "%lld entries of %zu bytes do not fit",
                   (long long)count, size);
        return NULL;
    }
    size_t whole = bytes + ALIGN;
    header *block = ctx->allocator.alloc(ctx->allocator.user, whole);
    if (!block) {
        mpki_error(ctx, MPK_ERR_MEMORY, stage, (int64_t)bytes, "cannot allocate %zu bytes", bytes);
        return NULL;
    }
    block->size = whole;
    account(ctx, (int64_t)whole);
    return (char *)block + ALIGN;
}

void *mpki_calloc(mpk_context *ctx, const char *stage, int64_t count, size_t size) {
    void *ptr = mpki_alloc(ctx, stage, count, size);
    if (ptr) memset(ptr, 0, (size_t)count * size);
    return ptr;
}

void *mpki_resize(mpk_context *ctx, const char *stage, void *old, int64_t count, size_t size) {
    void *ptr = mpki_alloc(ctx, stage, count, size);
    if (!ptr || !old) return ptr;
    size_t kept = ((header *)((char *)old - ALIGN))->size - ALIGN;
    memcpy(ptr, old, kept < (size_t)count * size ? kept : (size_t)count * size);
    mpki_release(ctx, old);
    return ptr;
}

void mpki_release(mpk_context *ctx, void *ptr) {
    if (!ptr) return;
    header *block = (header *)((char *)ptr - ALIGN);
    size_t whole = block->size;
    atomic_fetch_sub(&ctx->now_bytes, (int64_t)whole);
    ctx->allocator.release(ctx->allocator.user, block, whole);
}

void mpk_free(mpk_context *ctx, void **ptr) {
    if (!ctx || !ptr) return;
    mpki_release(ctx, *ptr);
    *ptr = NULL;
}

void mpk_memory_usage(const mpk_context *ctx, int64_t *now_bytes, int64_t *peak_bytes) {
    if (now_bytes) *now_bytes = ctx ? atomic_load(&ctx->now_bytes) : 0;
    if (peak_bytes) *peak_bytes = ctx ? atomic_load(&ctx->peak_bytes) : 0;
}

void mpk_memory_reset_peak(mpk_context *ctx) {
    if (ctx) atomic_store(&ctx->peak_bytes, atomic_load(&ctx->now_bytes));
}

int64_t mpki_memory_available(void) {
    int64_t best = INT64_MAX;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        long long kb;
        if (sscanf(line, "MemAvailable: %lld", &kb) == 1) best = (int64_t)kb * 1024;
    }
    if (file) fclose(file);
    long long limit, used;
    FILE *max = fopen("/sys/fs/cgroup/memory.max", "r");
    FILE *now = fopen("/sys/fs/cgroup/memory.current", "r");
    if (max && now && fscanf(max, "%lld", &limit) == 1 && fscanf(now, "%lld", &used) == 1 &&
        limit - used < best)
        best = limit > used ? limit - used : 0;
    if (max) fclose(max);
    if (now) fclose(now);
    return best;
}

/* ---- errors -----------------------------------------------------------------------------------
 */

mpk_status mpki_error(mpk_context *ctx, mpk_status status, const char *stage, int64_t index,
                      const char *format, ...) {
    if (!ctx) return status;
    pthread_mutex_lock(&ctx->mutex);
    if (ctx->status == MPK_OK) { /* what follows from the first failure hides nothing */
        ctx->status = status;
        ctx->index = index;
        snprintf(ctx->stage, sizeof ctx->stage, "%s", stage);
        va_list args;
        va_start(args, format);
        vsnprintf(ctx->text, sizeof ctx->text, format, args);
        va_end(args);
    }
    pthread_mutex_unlock(&ctx->mutex);
    return status;
}

void mpki_clear_error(mpk_context *ctx) {
    if (!ctx) return;
    ctx->status = MPK_OK;
    ctx->index = -1;
    ctx->stage[0] = ctx->text[0] = '\0';
    atomic_store(&ctx->cancelled, false);
}

mpk_status mpki_failed(const mpk_context *ctx) {
    return ctx ? ctx->status : MPK_ERR_ARGUMENT;
}

mpk_status mpk_last_error(const mpk_context *ctx, const char **stage, int64_t *index,
                          const char **text) {
    if (stage) *stage = ctx ? ctx->stage : "";
    if (index) *index = ctx ? ctx->index : -1;
    if (text) *text = ctx ? ctx->text : "no context";
    return ctx ? ctx->status : MPK_ERR_ARGUMENT;
}

/* ---- progress and time ------------------------------------------------------------------------
 */

void mpk_context_set_progress(mpk_context *ctx, mpk_progress_fn progress, void *user) {
    if (!ctx) return;
    ctx->progress = progress;
    ctx->progress_user = user;
}

bool mpki_progress(mpk_context *ctx, const char *stage, double fraction) {
    if (!ctx->progress) return false;
    if (atomic_load(&ctx->cancelled)) return true;
    double now = mpki_now_s();
    bool new_stage = stage != atomic_load(&ctx->progress_stage); /* told at once */
    if (now < atomic_load(&ctx->progress_next_s) && fraction > 0 && fraction < 1 && !new_stage)
        return false;
    if (pthread_mutex_trylock(&ctx->mutex)) return false; /* another thread is telling */
    atomic_store(&ctx->progress_next_s, now + 0.05);
    atomic_store(&ctx->progress_stage, stage);
    if (ctx->progress(stage, fraction, ctx->progress_user)) atomic_store(&ctx->cancelled, true);
    pthread_mutex_unlock(&ctx->mutex);
    return atomic_load(&ctx->cancelled);
}

double mpki_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
