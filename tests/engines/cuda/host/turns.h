/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_CUDA_HOST_TURNS_H
#define TESTS_CUDA_HOST_TURNS_H
#ifndef __x86_64__
#include <ucontext.h>
#endif

// The threads of a block, or of a cluster's blocks, on the host: contexts that take turns, a pass over the warps after the
// other. What a thread says when it meets others is a bit in its warp, so that nobody is looked for.

host_place threadIdx, blockIdx, blockDim, gridDim;
alignas(16) static char rooms[HOST_CLUSTER_MOST][HOST_SHARED]; // of the blocks that are at work
char *host_room = rooms[0];

enum { HOST_WARPS = HOST_MOST / 32, HOST_STACK = 1 << 17, HOST_APART = 320 };

// ---- contexts ----

// Where one goes on; at first in `run`, on a stack of its own.
#ifdef __x86_64__
typedef struct host_context {
    void *at[3];
} host_context;

static void context_begin(host_context *c, void (*run)(), char *stack, size_t bytes) {
    void **top = (void **)((uintptr_t)(stack + bytes) / 16 * 16) - 1; // as after a call
    *top = NULL;
    c->at[0] = NULL, c->at[1] = (void *)run, c->at[2] = top;
}

// Leaves its place in `from` and goes on in `to`. Not by a call: threads that do the same return where the one before them
// was called from, which the processor foresees as long as it sees a call for each return.
static inline __attribute__((always_inline)) void context_switch(host_context *from,
                                                                 host_context *to) {
    __asm__ volatile("movq %%rbp, (%0)\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rax, 8(%0)\n\t"
                     "movq %%rsp, 16(%0)\n\t"
                     "movq (%1), %%rbp\n\t"
                     "movq 16(%1), %%rsp\n\t"
                     "jmp *8(%1)\n"
                     "1:"
                     : "+d"(from), "+c"(to)
                     :
                     : "rax", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
                       "r15", "memory", "cc");
}
#else
typedef struct host_context {
    void *at[5];
    void (*run)();
    char *stack;
} host_context;

static void context_begin(host_context *c, void (*run)(), char *stack, size_t bytes) {
    c->run = run, c->stack = stack, c->at[0] = (void *)bytes;
}

// Not in a function that is jumped into, which the compiler's own jumps ask for.
[[noreturn]] __attribute__((noinline)) static void context_jump(host_context *to) {
    if (!to->run) __builtin_longjmp(to->at, 1);
    ucontext_t c;
    getcontext(&c);
    c.uc_stack.ss_sp = to->stack, c.uc_stack.ss_size = (size_t)to->at[0], c.uc_link = NULL;
    makecontext(&c, to->run, 0);
    to->run = NULL;
    setcontext(&c);
    abort();
}

__attribute__((noinline)) static void context_switch(host_context *from, host_context *to) {
    if (!__builtin_setjmp(from->at)) context_jump(to); // keeps no signals
}
#endif

// ---- threads ----

static struct {
    host_context turn;
    bool begun;
} threads[HOST_MOST];
// Of a warp: bits of lanes that are in an operation of it, at the block's barrier, at their end; of those in an operation,
// which one by which lanes it is, the value they bring, whose they want; what they get.
static struct {
    unsigned waits, stands, left;
    uint8_t source[32];
    uint64_t said[32], value[32], result[32];
} warps[HOST_WARPS];
static unsigned each, together;   // threads of a block, of all blocks at work
static unsigned ended, clustered; // of these: at their end, at the cluster's barrier
static struct {
    unsigned standing, ended; // threads of the block: at its barrier, at their end
    uint64_t gathered, told;  // what threads say at its barrier, at the one before
} parts[HOST_CLUSTER_MOST];
static unsigned running; // the thread, of all at work
static unsigned first_block;
static host_context home;
// this pass's warp, which of its lanes have not had their turn, from which end they come, its block and that one's first thread
static struct {
    unsigned w, rest;
    bool backwards;
    unsigned part, first;
} now;
static void (*entry)(void *);
static void *argument;

[[noreturn]] static void wrong(const char *what) {
    fprintf(stderr, "kernel on the host: %s, block %u, thread %u\n", what, blockIdx.x, threadIdx.x);
    abort();
}

static uint64_t said(host_op op, unsigned mask) {
    return (uint64_t)mask << 8 | op;
}

// All of the mask are there: their results.
static void finish(unsigned w, host_op op, unsigned mask) {
    auto *warp = &warps[w];
    const unsigned there = mask & ~warp->left;
    uint64_t all = 0;
    warp->waits &= ~there;
    if (op == HOST_SYNC) return;
    if (op == HOST_SHFL) {
        bool takes_part = true;
        for (unsigned l = 0; l < 32; ++l) {
            takes_part &= (there >> l & 1) <= (there >> warp->source[l] & 1);
            if (there >> l & 1) warp->result[l] = warp->value[warp->source[l]];
        }
        if (!takes_part) wrong("a value of a thread that takes no part");
        return;
    }
    for (unsigned l = 0; l < 32; ++l) {
        if (!(there >> l & 1)) continue;
        const uint64_t value = warp->value[l];
        if (op == HOST_BALLOT) all |= (uint64_t)(value != 0) << l;
        if (op == HOST_MAX && value > all) all = value;
        if (op == HOST_SUM) all = (uint32_t)(all + value);
        if (op == HOST_OR) all |= value;
    }
    for (unsigned l = 0; l < 32; ++l)
        if (there >> l & 1) warp->result[l] = all;
}

static bool warp_is_there(unsigned w, host_op op, unsigned mask) {
    const auto *warp = &warps[w];
    const unsigned there = mask & ~warp->left;
    if (there & ~warp->waits) return false;
    for (unsigned l = 0; l < 32; ++l) {
        if (!(there >> l & 1) || warp->said[l] == said(op, mask)) continue;
        if (warp->said[l] >> 8 != mask) return false;
        wrong("threads of a mask in different operations");
    }
    return true;
}

static bool block_is_there(unsigned part) {
    auto *p = &parts[part];
    if (p->standing == 0 || p->standing + p->ended < each) return false;
    for (unsigned w = part * each / 32; w < (part + 1) * each / 32; ++w) warps[w].stands = 0;
    p->standing = 0;
    p->told = p->gathered, p->gathered = 0;
    return true;
}

static bool cluster_is_there() {
    if (clustered == 0 || clustered + ended < together) return false;
    for (unsigned w = 0; w < together / 32; ++w) warps[w].stands = 0;
    clustered = 0;
    return true;
}

static void thread_main();

// On a stack that is kept. Their frames are in cache lines of their own: equal places of pages share few.
static void begin(unsigned x) {
    char *stack = (char *)malloc(HOST_STACK);
    if (!stack) wrong("no memory");
    threads[x].begun = true;
    context_begin(&threads[x].turn, thread_main, stack, HOST_STACK - x % 32 * HOST_APART);
}

// The warp's next thread, or where the warps are gone through.
static inline __attribute__((always_inline)) host_context *next() {
    if (now.rest == 0) return &home;
    const unsigned lane =
        (unsigned)(now.backwards ? 31 - __builtin_clz(now.rest) : __builtin_ctz(now.rest));
    now.rest &= ~(1u << lane);
    const unsigned x = running = 32 * now.w + lane;
    threadIdx.x = x - now.first;
    if (!threads[x].begun) begin(x);
    return &threads[x].turn;
}

// A context serves all threads of its number: to make one takes longer than most threads run.
static void thread_main() {
    const unsigned x = running;
    for (;;) {
        entry(argument);
        warps[x / 32].left |= 1u << x % 32;
        ++ended, ++parts[x / each].ended;
        context_switch(&threads[x].turn, next());
    }
}

uint64_t host_meet(host_op op, unsigned mask, uint64_t value, unsigned source) {
    const unsigned x = running, lane = x % 32, bit = 1u << lane, part = now.part;
    auto *warp = &warps[now.w];
    if (op == HOST_BLOCK) {
        warp->stands |= bit;
        ++parts[part].standing;
        parts[part].gathered |= value;
        block_is_there(part);
    } else if (op == HOST_CLUSTER) {
        warp->stands |= bit;
        ++clustered;
        cluster_is_there();
    } else {
        if (!(mask & bit)) wrong("a thread outside of its own mask");
        warp->said[lane] = said(op, mask), warp->value[lane] = value;
        warp->source[lane] = (uint8_t)source;
        warp->waits |= bit;
        if (warp_is_there(now.w, op, mask)) finish(now.w, op, mask);
    }
    // the others' turn, even where this was the last one: who runs on first is nobody's right
    context_switch(&threads[x].turn, next());
    // the next barrier needs this thread, too
    return op == HOST_BLOCK ? parts[part].told : warp->result[lane];
}

// One that left may have been the last that others waited for.
static bool release() {
    for (unsigned part = 0; part < together / each; ++part)
        if (block_is_there(part)) return true;
    if (cluster_is_there()) return true;
    for (unsigned w = 0; w < together / 32; ++w)
        for (unsigned rest = warps[w].waits; rest; rest &= rest - 1) {
            const uint64_t all = warps[w].said[__builtin_ctz(rest)];
            const host_op op = (host_op)(all & 0xff);
            if (!warp_is_there(w, op, (unsigned)(all >> 8))) continue;
            finish(w, op, (unsigned)(all >> 8));
            return true;
        }
    return false;
}

// Each of a block that can run, once; true if one did.
static bool pass(unsigned part, bool backwards) {
    const unsigned first = part * each / 32, some = each / 32;
    bool ran = false;
    now.backwards = backwards, now.part = part, now.first = part * each;
    blockIdx.x = first_block + part, host_room = rooms[part];
    for (unsigned k = 0; k < some; ++k) {
        const unsigned w = first + (backwards ? some - 1 - k : k);
        now.w = w;
        now.rest = ~(warps[w].waits | warps[w].stands | warps[w].left);
        if (now.rest == 0) continue;
        ran = true;
        context_switch(&home, next()); // once each, one after the other
    }
    return ran;
}

void host_launch(unsigned blocks, unsigned n, size_t bytes, void (*call)(void *), void *arg,
                 unsigned cluster) {
    if (n * cluster > HOST_MOST || n % 32 || bytes > host_shared_most() ||
        cluster > HOST_CLUSTER_MOST || blocks % cluster)
        wrong("a launch");
    entry = call, argument = arg, each = n, together = n * cluster;
    blockDim.x = n, gridDim.x = blocks;
    for (first_block = 0; first_block < blocks; first_block += cluster) {
        for (unsigned w = 0; w < together / 32; ++w)
            warps[w].waits = warps[w].stands = warps[w].left = 0;
        for (unsigned part = 0; part < cluster; ++part) {
            memset(rooms[part], 0xff, bytes);
            parts[part].standing = parts[part].ended = 0;
        }
        ended = clustered = 0;
        const bool backwards = first_block / cluster % 2; // every other time: no order is promised
        while (ended < together) {
            bool ran =
                false; // a block goes on until it waits for others, which come into no step with it
            for (unsigned k = 0; k < cluster; ++k)
                while (pass(backwards ? cluster - 1 - k : k, backwards)) ran = true;
            if (!ran && ended < together && !release()) wrong("threads wait for ever");
        }
    }
}

#endif
