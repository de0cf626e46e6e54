/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_BORG_CUDA_HOST_H
#define TESTS_BORG_CUDA_HOST_H
/** What emitted CUDA C needs to run on a host: a block's threads are contexts that take turns, and
 * wait for each other where a warp's do. When all threads of a mask that have not left are there,
 * the last one gives each its result. Wrong use stops the process: threads that wait for ones that
 * never come, a value of a thread that does not take part, threads of one mask in different
 * operations, or in the same one at different places of the code. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

typedef bool b_bool;
typedef uint32_t b_i32;
typedef unsigned long long b_i64;
typedef int32_t b_s32;
typedef long long b_s64;
typedef char *b_ptr;

enum { HOST_STACK = 1 << 23, HOST_MOST = 1024 };
typedef enum host_op {
    HOST_SHFL = 1,
    HOST_BALLOT,
    HOST_SMAX,
    HOST_UMAX,
    HOST_SUM,
    HOST_SYNC
} host_op;

typedef struct host_copying {
    void *to;
    const void *from;
    size_t bytes;
} host_copying;

typedef struct host_thread {
    host_copying *copies; /* under way */
    size_t ncopies;
    ucontext_t context;
    bool left, waits;
    host_op op;
    unsigned mask, source, site;
    uint64_t value, result;
} host_thread;

typedef struct host_place {
    unsigned x;
} host_place;

static host_thread host_threads[HOST_MOST];
static ucontext_t host_home;
static host_place threadIdx, blockIdx;
static unsigned host_count, host_arrived, host_voted, host_vote, host_generation;
static void (*host_call)(void *const *, int64_t, int64_t);
static void *const *host_args;
static int64_t host_first, host_last;

static inline _Noreturn void host_wrong(const char *what) {
    fprintf(stderr, "emitted CUDA: %s, block %u, thread %u\n", what, blockIdx.x, threadIdx.x);
    abort();
}

static inline void host_yield(void) {
    unsigned me = threadIdx.x;
    swapcontext(&host_threads[me].context, &host_home);
    threadIdx.x = me;
}

/* All threads of the mask are there: each gets its result. */
static inline void host_finish(host_thread *warp, unsigned mask) {
    uint64_t all = 0;
    bool begun = false;
    for (unsigned l = 0; l < 32; ++l) {
        host_thread *t = &warp[l];
        if (!(mask >> l & 1) || t->left) continue;
        if (t->op == HOST_BALLOT) all |= (uint64_t)(t->value != 0) << l;
        if (t->op == HOST_SUM) all = (uint32_t)(all + t->value);
        if (t->op == HOST_SMAX && (!begun || (int32_t)t->value > (int32_t)all)) all = t->value;
        if (t->op == HOST_UMAX && (!begun || (uint32_t)t->value > (uint32_t)all)) all = t->value;
        begun = true;
    }
    for (unsigned l = 0; l < 32; ++l) {
        host_thread *t = &warp[l];
        if (!(mask >> l & 1) || t->left) continue;
        if (t->op == HOST_SHFL && (!(mask >> t->source & 1) || warp[t->source].left))
            host_wrong("a value of a thread that takes no part");
        t->result = t->op == HOST_SHFL ? warp[t->source].value : all;
    }
    for (unsigned l = 0; l < 32; ++l)
        if (mask >> l & 1) warp[l].waits = false;
}

static inline uint64_t host_meet(unsigned site, host_op op, unsigned mask, uint64_t value,
                                 unsigned source) {
    host_thread *warp = &host_threads[threadIdx.x / 32 * 32], *me = &host_threads[threadIdx.x];
    if (!(mask >> threadIdx.x % 32 & 1)) host_wrong("a thread outside of its own mask");
    me->op = op;
    me->mask = mask;
    me->value = value;
    me->source = source;
    me->site = site;
    me->waits = true;
    bool all = true;
    for (unsigned l = 0; l < 32; ++l) {
        const host_thread *t = &warp[l];
        if (!(mask >> l & 1) || t->left) continue;
        if (!t->waits || t->mask != mask) {
            all = false; /* elsewhere, in a branch of its pack, say */
        } else if (t->op != op || t->site != site) {
            host_wrong("threads of a mask in different operations");
        }
    }
    if (all) {
        host_finish(warp, mask);
    } else {
        while (me->waits) host_yield();
    }
    return me->result;
}

static inline bool host_any_of_block(bool x) {
    unsigned mine = host_generation, live = 0;
    for (unsigned t = 0; t < host_count; ++t) live += !host_threads[t].left;
    host_voted |= x;
    if (++host_arrived == live) {
        host_vote = host_voted;
        host_voted = host_arrived = 0;
        ++host_generation;
    }
    while (host_generation == mine) host_yield();
    return host_vote;
}

/* Copies arrive when they must, the last one first, and read only then. */
static inline void host_copy(void *to, const void *from, size_t bytes) {
    host_thread *me = &host_threads[threadIdx.x];
    me->copies = realloc(me->copies, (me->ncopies + 1) * sizeof *me->copies);
    if (!me->copies) abort();
    me->copies[me->ncopies++] = (host_copying){to, from, bytes};
}

static inline void host_copied(void) {
    host_thread *me = &host_threads[threadIdx.x];
    for (; me->ncopies > 0; --me->ncopies) {
        const host_copying *c = &me->copies[me->ncopies - 1];
        memcpy(c->to, c->from, c->bytes);
    }
}

static inline void host_thread_main(void) {
    host_call(host_args, host_first, host_last);
    free(host_threads[threadIdx.x].copies);
    host_threads[threadIdx.x].left = true;
    swapcontext(&host_threads[threadIdx.x].context, &host_home);
}

/* A thread that has left may have been the last that others waited for. */
static inline bool host_release(void) {
    for (unsigned t = 0; t < host_count; ++t) {
        host_thread *warp = &host_threads[t / 32 * 32], *me = &host_threads[t];
        if (me->left || !me->waits) continue;
        bool all = true;
        for (unsigned l = 0; l < 32; ++l)
            if (me->mask >> l & 1 && !warp[l].left &&
                (!warp[l].waits || warp[l].mask != me->mask || warp[l].op != me->op))
                all = false;
        if (!all) continue;
        host_finish(warp, me->mask);
        return true;
    }
    return false;
}

static inline void host_block(unsigned block, unsigned threads, char *stacks) {
    memset(host_threads, 0, sizeof host_threads);
    for (unsigned t = threads; t < HOST_MOST; ++t) host_threads[t].left = true;
    host_count = threads;
    host_arrived = host_voted = 0;
    blockIdx.x = block;
    for (unsigned t = 0; t < threads; ++t) {
        ucontext_t *c = &host_threads[t].context;
        getcontext(c);
        c->uc_stack.ss_sp = stacks + (size_t)t * HOST_STACK;
        c->uc_stack.ss_size = HOST_STACK;
        c->uc_link = &host_home;
        makecontext(c, host_thread_main, 0);
    }
    uint32_t chance = 1;
    for (unsigned left = 0, idle = 0; left < threads;) {
        bool ran = false, backward;
        chance = chance * 1664525u + 1013904223u;
        backward = chance >> 20 & 1;
        left = 0;
        for (unsigned k = 0; k < threads; ++k) { /* now the first, now the last one is ahead */
            unsigned t = backward ? threads - 1 - k : k;
            left += host_threads[t].left;
            if (host_threads[t].left || host_threads[t].waits) continue;
            threadIdx.x = t;
            swapcontext(&host_home, &host_threads[t].context);
            ran = true;
        }
        idle = ran || host_release() ? 0 : idle + 1;
        if (left < threads && idle > 1) host_wrong("threads wait for ever");
    }
}

static inline void host_launch(int threads, int groups,
                               void (*call)(void *const *, int64_t, int64_t), void *const *args,
                               int64_t first, int64_t last) {
    char *stacks = malloc((size_t)threads * HOST_STACK);
    if (!stacks) abort();
    host_call = call;
    host_args = args;
    host_first = first;
    host_last = last;
    for (int64_t g = first, block = 0; g < last; g += groups, ++block)
        host_block((unsigned)block, (unsigned)threads, stacks);
    free(stacks);
}

/* ---- the names that emitted code uses -------------------------------------------------------- */

typedef struct __attribute__((may_alias, aligned(16))) b_i128 {
    uint64_t x, y;
} b_i128;
#define b_copy(to, from) host_copy(to, from, sizeof *(to))
#define b_copied() host_copied()
#define B_ROLLED

#define B_KERNEL(threads, lanes) static void
#define B_FLAT(threads, lanes, blocks) static void
#define B_FN static inline
#define B_GLOBAL
#define B_LOCAL
#define B_SHARED static __attribute__((aligned(16)))
#define B_RESTRICT restrict
#define B_KEEP(p) ((void)(p))
#define B_ALIGNED(p) __builtin_assume_aligned(p, 16)
#define B_TABLE static const

#define HOST_REAL(type, T, U, sqrt_of, fma_of, fabs_of)                                            \
    B_FN T b_fadd_##type(T x, T y) {                                                               \
        return x + y;                                                                              \
    }                                                                                              \
    B_FN T b_fsub_##type(T x, T y) {                                                               \
        return x - y;                                                                              \
    }                                                                                              \
    B_FN T b_fmul_##type(T x, T y) {                                                               \
        return x * y;                                                                              \
    }                                                                                              \
    B_FN T b_fdiv_##type(T x, T y) {                                                               \
        return x / y;                                                                              \
    }                                                                                              \
    B_FN T b_rcp_##type(T x) {                                                                     \
        return 1 / x;                                                                              \
    }                                                                                              \
    B_FN T b_rcp_fast_##type(T x) {                                                                \
        return 1 / x;                                                                              \
    }                                                                                              \
    B_FN T b_sqrt_##type(T x) {                                                                    \
        return sqrt_of(x);                                                                         \
    }                                                                                              \
    B_FN T b_fma_##type(T x, T y, T z) {                                                           \
        return fma_of(x, y, z);                                                                    \
    }                                                                                              \
    B_FN T b_fabs_##type(T x) {                                                                    \
        return fabs_of(x);                                                                         \
    }                                                                                              \
    B_FN U b_bits_##type(T x) {                                                                    \
        U y;                                                                                       \
        memcpy(&y, &x, sizeof y);                                                                  \
        return y;                                                                                  \
    }                                                                                              \
    B_FN T b_of_bits_##type(U x) {                                                                 \
        T y;                                                                                       \
        memcpy(&y, &x, sizeof y);                                                                  \
        return y;                                                                                  \
    }
HOST_REAL(f64, double, b_i64, sqrt, fma, fabs)
HOST_REAL(f32, float, b_i32, sqrtf, fmaf, fabsf)

B_FN unsigned host_source(int lane, int width) {
    unsigned me = threadIdx.x % 32;
    return me / (unsigned)width * (unsigned)width + (unsigned)lane % (unsigned)width;
}
#define HOST_SHUFFLES(type, T, to, of)                                                             \
    B_FN T host_shfl_##type(unsigned site, unsigned mask, T x, int lane, int width) {              \
        return of(host_meet(site, HOST_SHFL, mask, to(x), host_source(lane, width)));              \
    }                                                                                              \
    B_FN T host_shfl_xor_##type(unsigned site, unsigned mask, T x, int h) {                        \
        return of(host_meet(site, HOST_SHFL, mask, to(x), (threadIdx.x % 32) ^ (unsigned)h));      \
    }
HOST_SHUFFLES(f64, double, b_bits_f64, b_of_bits_f64)
HOST_SHUFFLES(f32, float, b_bits_f32, b_of_bits_f32)
HOST_SHUFFLES(i64, b_i64, (uint64_t), (b_i64))
HOST_SHUFFLES(i32, b_i32, (uint64_t), (b_i32))
HOST_SHUFFLES(i1, b_bool, (uint64_t), (b_bool))
/* The two entries of a thread in a tile of 8x8: k by k, as the interpreter adds. */
B_FN void host_mma_f64(unsigned site, double *x, double *y, double a, double b, double c,
                       double d) {
    int l = (int)(threadIdx.x % 32), column = l % 4 * 8;
    for (int k = 0; k < 4; ++k) {
        double f = host_shfl_f64(site, ~0u, a, l / 4 * 4 + k, 32);
        c = fma(f, host_shfl_f64(site, ~0u, b, column + k, 32), c);
        d = fma(f, host_shfl_f64(site, ~0u, b, column + 4 + k, 32), d);
    }
    *x = c, *y = d;
}
#define b_mma_f64(...) host_mma_f64(__COUNTER__, __VA_ARGS__)
#define b_shfl_f64(...) host_shfl_f64(__COUNTER__, __VA_ARGS__)
#define b_shfl_f32(...) host_shfl_f32(__COUNTER__, __VA_ARGS__)
#define b_shfl_i64(...) host_shfl_i64(__COUNTER__, __VA_ARGS__)
#define b_shfl_i32(...) host_shfl_i32(__COUNTER__, __VA_ARGS__)
#define b_shfl_xor_f64(...) host_shfl_xor_f64(__COUNTER__, __VA_ARGS__)
#define b_shfl_xor_f32(...) host_shfl_xor_f32(__COUNTER__, __VA_ARGS__)
#define b_shfl_xor_i64(...) host_shfl_xor_i64(__COUNTER__, __VA_ARGS__)
#define b_shfl_xor_i32(...) host_shfl_xor_i32(__COUNTER__, __VA_ARGS__)
#define b_shfl_xor_i1(...) host_shfl_xor_i1(__COUNTER__, __VA_ARGS__)
#define b_ballot(mask, x) ((unsigned)host_meet(__COUNTER__, HOST_BALLOT, mask, (uint64_t)(x), 0))
#define b_syncwarp(mask) ((void)host_meet(__COUNTER__, HOST_SYNC, mask, 0, 0))
#define b_redux_sum(x) ((b_i32)host_meet(__COUNTER__, HOST_SUM, B_WARP, (b_i32)(x), 0))
#define b_redux_s32(x) ((b_s32)host_meet(__COUNTER__, HOST_SMAX, B_WARP, (b_i32)(x), 0))
#define b_redux_u32(x) ((b_i32)host_meet(__COUNTER__, HOST_UMAX, B_WARP, (b_i32)(x), 0))
#define b_any_of_block(x) host_any_of_block(x)
#define b_lowest(x) (__builtin_ffs((int)(x)) - 1)

#endif
