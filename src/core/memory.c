/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory from the caller's allocator or the C library; freed blocks wait for the next call. */
#define _GNU_SOURCE
#include "context.h"
#include "pages.h"

#include <metapack/problem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Freed blocks of at least KEPT_LEAST bytes wait for the next call, up to KEPT_LIMIT in all: pages
 * fresh from the system cost a small problem as much as its factorization. They fill what is below
 * the most that the context has ever had in use, and beyond() above it: so the process never holds
 * more than that. Not under AddressSanitizer, from which it would hide errors. */
enum { KEPT_LEAST = 1 << 15 };
#if defined(__SANITIZE_ADDRESS__)
static const size_t KEPT_LIMIT = 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
static const size_t KEPT_LIMIT = 0;
#else
static const size_t KEPT_LIMIT = (size_t)128 << 20;
#endif
#else
static const size_t KEPT_LIMIT = (size_t)128 << 20;
#endif

/* ---- the system's memory, huge pages for large blocks ---------------------------------------- */

enum { ALIGN = 64, HUGE_PAGE = 2 << 20, LARGE = 4 * HUGE_PAGE, PAGES_LEAST = 1 << 17 };

/* From here on a block has pages of its own, which the system has back as soon as it is released: the
 * C library keeps the place of a block below others, and its pages with it. Not where blocks are not
 * kept: AddressSanitizer watches the C library's. */
static bool has_pages(size_t size) {
    return size >= PAGES_LEAST && KEPT_LIMIT > 0;
}

static size_t page(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t size) {
    return (size + page() - 1) / page() * page();
}

/* What follows the header of a large block begins with a huge page: the header, which the caller of
 * mpki_alloc() writes, lies in a small one before it, so that whoever writes the first numbers, and
 * not the caller, waits until the system has cleared that page. */
static void *large_pages(size_t size) {
    const size_t all = whole_pages(size) + 2 * (size_t)HUGE_PAGE;
    char *base = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    char *numbers = base + 2 * (size_t)HUGE_PAGE - (uintptr_t)base % HUGE_PAGE;
    char *end = numbers + whole_pages(size - ALIGN);
    munmap(base, (size_t)(numbers - base) - page());
    munmap(end, (size_t)(base + all - end));
    madvise(numbers, size - ALIGN, MADV_HUGEPAGE);
    return numbers - ALIGN;
}

/* So is a block which is what was left of such a one: by its header, not by its size. */
static bool is_large(const void *header) {
    return (uintptr_t)header % page() != 0;
}

static void *default_alloc(void *user, size_t size) {
    (void)user;
    void *ptr = NULL;
    if (!has_pages(size)) return posix_memalign(&ptr, ALIGN, size) ? NULL : ptr;
    if (size >= LARGE) return large_pages(size);
    ptr = mmap(NULL, whole_pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

static void default_release(void *user, void *ptr, size_t size) {
    (void)user;
    if (!has_pages(size))
        free(ptr);
    else if (is_large(ptr))
        munmap((char *)ptr + ALIGN - page(), page() + whole_pages(size - ALIGN));
    else
        munmap(ptr, whole_pages(size));
}

/* ---- blocks kept for the next call: a 64-byte header keeps the size of each ------------------ */

typedef struct mpki_block {
    size_t size; /* of the whole block, header included */
} header;

/* Round sizes to steps of an eighth or less, so that a kept block fits the next request. */
static size_t kept_size(size_t whole) {
    size_t step = 4096;
    if (whole < KEPT_LEAST || KEPT_LIMIT == 0) return whole;
    while (step * 16 <= whole) step *= 2;
    return (whole + step - 1) / step * step;
}

double mpki_alloc_bytes(double bytes) {
    return bytes < 1e18 ? (double)kept_size((size_t)bytes + ALIGN) : bytes;
}

/* Blocks that another thread was about to move when this process forked are given up. */
static void lock_kept(mpk_context *ctx) {
    if (!mpki_lock_take(&ctx->kept.lock)) return;
    ctx->kept.count = 0;
    ctx->kept.bytes = 0;
}

static void remove_kept(mpk_context *ctx, int k) { /* under the lock */
    ctx->kept.bytes -= ctx->kept.block[k]->size;
    ctx->kept.count--;
    for (; k < ctx->kept.count; k++) ctx->kept.block[k] = ctx->kept.block[k + 1];
}

static void drop_oldest(mpk_context *ctx) {
    header *block = ctx->kept.block[0];
    remove_kept(ctx, 0);
    ctx->allocator.release(ctx->allocator.user, block, block->size);
}

static header *take_kept(mpk_context *ctx, size_t whole) {
    header *found = NULL;
    int best = -1;
    if (whole < KEPT_LEAST || KEPT_LIMIT == 0) return NULL;
    lock_kept(ctx);
    for (int k = 0; k < ctx->kept.count; k++) {
        size_t size = ctx->kept.block[k]->size;
        if (size >= whole && size <= whole + whole / 4 &&
            (best < 0 || size < ctx->kept.block[best]->size))
            best = k;
    }
    if (best >= 0) {
        found = ctx->kept.block[best];
        remove_kept(ctx, best);
    }
    mpki_lock_give(&ctx->kept.lock);
    return found;
}

/* ---- kept pages for another size: what is fresh from the system has to be cleared --------------- */

static bool is_range(size_t size) {
    return has_pages(size) && size < LARGE;
}

/* A part of a kept block that is not wanted: kept where that is worth it. Under the lock */
static void keep_rest(mpk_context *ctx, char *at, size_t size) {
    header *rest = (header *)(void *)at;
    if (is_range(size) && ctx->kept.count < MPKI_KEPT_MOST) {
        rest->size = size;
        ctx->kept.block[ctx->kept.count++] = rest;
        ctx->kept.bytes += size;
    } else if (size > 0) {
        munmap(at, size);
    }
}

/* Bytes of its header that lie before its pages. */
static size_t before_pages(const void *header) {
    return is_large(header) ? ALIGN : 0;
}

/* found, a block of so many bytes, as one of `whole`; NULL: it is gone. */
static header *continued(header *found, size_t had, size_t whole) {
    const size_t extra = before_pages(found);
    char *old = (char *)found + extra;
    void *to = MAP_FAILED;
    if (whole < LARGE) {
        to = mremap(old, whole_pages(had), whole_pages(whole), MREMAP_MAYMOVE);
        if (to != MAP_FAILED) return to;
    }
    char *place = whole < LARGE ? NULL : large_pages(whole);
    if (place)
        to = mremap(old, whole_pages(had - extra), whole_pages(whole - extra),
                    MREMAP_MAYMOVE | MREMAP_FIXED, place + extra);
    if (to == MAP_FAILED) {
        default_release(NULL, found, had);
        if (place) default_release(NULL, place, whole);
        return NULL;
    }
    munmap(old - page(), page());
    return (header *)(void *)place;
}

/* The rest of the smallest block of the same kind that is larger is kept; else the largest is
 * continued. */
static header *recut_kept(mpk_context *ctx, size_t whole) {
    header *found = NULL;
    size_t had = 0;
    int best = -1;
    if (ctx->allocator.alloc != default_alloc || !has_pages(whole)) return NULL;
    lock_kept(ctx);
    for (int k = 0; k < ctx->kept.count; k++) {
        const header *block = ctx->kept.block[k];
        const size_t size = block->size;
        const bool fits = !has_pages(size)  ? false
                          : is_range(whole) ? !is_large(block)
                                            : is_large(block) && size < 2 * whole;
        const bool better = best < 0 || (had > whole ? size > whole && size < had : size > had);
        if (fits && better) best = k, had = size;
    }
    if (best >= 0) {
        found = ctx->kept.block[best];
        remove_kept(ctx, best);
    }
    if (had > whole) {
        const size_t extra = before_pages(found), first = whole_pages(whole - extra);
        keep_rest(ctx, (char *)found + extra + first, whole_pages(had - extra) - first);
    }
    mpki_lock_give(&ctx->kept.lock);
    return found && had < whole ? continued(found, had, whole) : found;
}

/* Bytes kept above the most in use: a 64th, or a quarter of what is little. */
static int64_t beyond(int64_t most) {
    static const int64_t LITTLE = 1 << 20;
    return most / 64 > LITTLE ? most / 64 : most / 4 < LITTLE ? most / 4 : LITTLE;
}

/* A block fresh from the system takes the place of kept ones that did not fit, the oldest: else what
 * an analysis has freed would lie beside the factor, and what is kept beyond memory_limit. */
static void make_place(mpk_context *ctx, size_t whole) {
    if (whole < KEPT_LEAST || KEPT_LIMIT == 0) return;
    const int64_t next = atomic_load(&ctx->now_bytes) + (int64_t)whole;
    const int64_t most = atomic_load(&ctx->most_bytes), bound = atomic_load(&ctx->bound_bytes);
    int64_t kept = beyond(most);
    if (most > next) kept += most - next;
    if (bound > 0 && kept > bound - next) kept = bound - next;
    lock_kept(ctx);
    while (ctx->kept.count > 0 && (int64_t)ctx->kept.bytes > kept) drop_oldest(ctx);
    mpki_lock_give(&ctx->kept.lock);
}

static bool keep(mpk_context *ctx, header *block) {
    if (block->size < KEPT_LEAST || block->size > KEPT_LIMIT / 2) return false;
    lock_kept(ctx);
    while (ctx->kept.count == MPKI_KEPT_MOST || ctx->kept.bytes + block->size > KEPT_LIMIT)
        drop_oldest(ctx);
    ctx->kept.block[ctx->kept.count++] = block;
    ctx->kept.bytes += block->size;
    mpki_lock_give(&ctx->kept.lock);
    return true;
}

mpk_allocator mpki_allocator_of(const mpk_allocator *given) {
    return given ? *given : (mpk_allocator){default_alloc, default_release, NULL};
}

void mpki_kept_release(mpk_context *ctx) {
    lock_kept(ctx);
    while (ctx->kept.count > 0) drop_oldest(ctx);
    mpki_lock_give(&ctx->kept.lock);
}

/* ---- what the library asks for --------------------------------------------------------------- */

static void account(mpk_context *ctx, int64_t bytes) {
    int64_t now = atomic_fetch_add(&ctx->now_bytes, bytes) + bytes;
    int64_t peak = atomic_load(&ctx->peak_bytes), most = atomic_load(&ctx->most_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&ctx->peak_bytes, &peak, now)) {}
    while (now > most && !atomic_compare_exchange_weak(&ctx->most_bytes, &most, now)) {}
}

/* mpki_alloc(); *zero [out] it is all zeros, as pages that the system has just given are */
static void *take(mpk_context *ctx, const char *stage, int64_t count, size_t size, bool *zero) {
    size_t bytes;
    *zero = false;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        bytes > (size_t)PTRDIFF_MAX - 2 * ALIGN) {
        if (stage)
            mpki_error(ctx, MPK_ERR_SIZE, stage, count, "%lld entries of %zu bytes do not fit",
                       (long long)count, size);
        return NULL;
    }
    size_t whole = kept_size(bytes + ALIGN);
    const int64_t bound = atomic_load(&ctx->bound_bytes);
    if (bound > 0 && atomic_load(&ctx->now_bytes) + (int64_t)whole > bound) {
        if (stage)
            mpki_error(ctx, MPK_ERR_MEMORY, stage, (int64_t)bytes,
                       "%zu bytes more are needed, and that is more than memory_limit allows",
                       bytes);
        return NULL;
    }
    header *block = take_kept(ctx, whole);
    if (block) {
        account(ctx, (int64_t)block->size);
        return (char *)block + ALIGN;
    }
    block = recut_kept(ctx, whole);
    make_place(ctx, whole);
    if (!block) {
        block = ctx->allocator.alloc(ctx->allocator.user, whole);
        *zero = block && ctx->allocator.alloc == default_alloc && has_pages(whole);
    }
    if (!block) {
        if (stage)
            mpki_error(ctx, MPK_ERR_MEMORY, stage, (int64_t)bytes, "cannot allocate %zu bytes",
                       bytes);
        return NULL;
    }
    block->size = whole;
    account(ctx, (int64_t)whole);
    return (char *)block + ALIGN;
}

void *mpki_alloc(mpk_context *ctx, const char *stage, int64_t count, size_t size) {
    bool zero;
    return take(ctx, stage, count, size, &zero);
}

void *mpki_calloc(mpk_context *ctx, const char *stage, int64_t count, size_t size) {
    bool zero;
    void *ptr = take(ctx, stage, count, size, &zero);
    if (ptr && !zero) memset(ptr, 0, (size_t)count * size);
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

void mpki_shrink(mpk_context *ctx, void *ptr, int64_t bytes) {
    header *block = (header *)((char *)ptr - ALIGN);
    const size_t had = block->size, fits = kept_size((size_t)bytes + ALIGN);
    const size_t whole = has_pages(fits) ? fits : PAGES_LEAST;
    if (ctx->allocator.alloc != default_alloc || !has_pages(had) || whole >= had) return;
    const size_t extra = before_pages(block), first = whole_pages(whole - extra);
    const size_t rest = whole_pages(had - extra) - first;
    block->size = whole;
    account(ctx, (int64_t)whole - (int64_t)had);
    lock_kept(ctx);
    if (ctx->kept.bytes + rest <= KEPT_LIMIT)
        keep_rest(ctx, (char *)block + extra + first, rest);
    else if (rest > 0)
        munmap((char *)block + extra + first, rest);
    mpki_lock_give(&ctx->kept.lock);
}

void mpki_release(mpk_context *ctx, void *ptr) {
    if (!ptr) return;
    header *block = (header *)((char *)ptr - ALIGN);
    size_t whole = block->size;
    atomic_fetch_sub(&ctx->now_bytes, (int64_t)whole);
    if (!keep(ctx, block)) ctx->allocator.release(ctx->allocator.user, block, whole);
}

void mpki_memory_bound(mpk_context *ctx, int64_t held, double limit) {
    const double bound =
        limit > 0 ? (double)atomic_load(&ctx->now_bytes) - (double)held + limit : 0;
    atomic_store(&ctx->bound_bytes, bound < 9e18 ? (int64_t)bound : 0);
}

int64_t mpki_memory_left(const mpk_context *ctx) {
    const int64_t bound = atomic_load(&ctx->bound_bytes);
    return bound > 0 ? bound - atomic_load(&ctx->now_bytes) : INT64_MAX;
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
    int64_t best = INT64_MAX, cached = 0;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        long long kb;
        if (sscanf(line, "MemAvailable: %lld", &kb) == 1) best = (int64_t)kb * 1024;
    }
    if (file) fclose(file);
    long long limit, used;
    FILE *stat = fopen("/sys/fs/cgroup/memory.stat", "r");
    while (stat && fgets(line, sizeof line, stat)) { /* files that the system drops when asked */
        long long bytes;
        if (sscanf(line, "inactive_file %lld", &bytes) == 1) cached = bytes;
    }
    if (stat) fclose(stat);
    FILE *max = fopen("/sys/fs/cgroup/memory.max", "r");
    FILE *now = fopen("/sys/fs/cgroup/memory.current", "r");
    if (max && now && fscanf(max, "%lld", &limit) == 1 && fscanf(now, "%lld", &used) == 1 &&
        limit - used + cached < best)
        best = limit - used + cached > 0 ? limit - used + cached : 0;
    if (max) fclose(max);
    if (now) fclose(now);
    return best;
}

int64_t mpk_memory_available(void) {
    return mpki_memory_available();
}

mpk_status mpki_memory_check(mpk_context *ctx, const char *stage, const char *what, double bytes,
                             double limit) {
    static const double TRIFLE = 4e6;
    const bool given = limit > 0;
    if (!given && bytes <= TRIFLE) return MPK_OK;
    if (!given) limit = (double)mpki_memory_available();
    if (bytes <= limit) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_MEMORY, stage, bytes < 9e18 ? (int64_t)bytes : INT64_MAX,
                      "%s would take %.0f bytes (%.3g GB): more than the %.3g GB that %s", what,
                      bytes, bytes * 1e-9, limit * 1e-9,
                      given ? "memory_limit allows" : "this machine has free");
}

bool mpki_clear_slowly(mpki_asking *a, void *ptr, size_t bytes) {
    static const size_t PART = (size_t)1 << 22;
    for (size_t at = 0; at < bytes; at += PART) {
        memset((char *)ptr + at, 0, bytes - at < PART ? bytes - at : PART);
        if (bytes > PART && mpki_asks(a, MPKI_ASK)) return true;
    }
    return false;
}
