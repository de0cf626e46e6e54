/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_CUDA_HOST_TURNS_H
#define TESTS_CUDA_HOST_TURNS_H
// The threads of a block, or of a cluster's blocks, on the host: contexts that take turns, a pass over the warps after the
// other. What a thread says when it meets others is a bit in its warp, so that nobody is looked for.

host_place threadIdx, blockIdx, blockDim, gridDim;
alignas(16) static char rooms[HOST_CLUSTER_MOST][HOST_SHARED]; // of the blocks that are at work
char *host_room = rooms[0];

enum { HOST_WARPS = HOST_MOST / 32 };

static host_thread threads[HOST_MOST];
static ucontext_t firsts[HOST_MOST];
static struct {
    unsigned waits, stands,
        left; // bits: in an operation of the warp, at the block's barrier, at their end
} warps[HOST_WARPS];
static unsigned each, together;   // threads of a block, of all blocks at work
static unsigned ended, clustered; // of these: at their end, at the cluster's barrier
static struct {
    unsigned standing, ended; // threads of the block: at its barrier, at their end
    uint64_t gathered, told;  // what threads say at its barrier, at the one before
} parts[HOST_CLUSTER_MOST];
static unsigned running; // the thread, of all at work
static unsigned first_block;
static void *home[5];
static ucontext_t start;
// this pass's warp, which of its lanes have not had their turn, from which end they come
static struct {
    unsigned w, rest;
    bool backwards;
} now;
static void (*entry)(void *);
static void *argument;

[[noreturn]] static void go_on();

[[noreturn]] static void wrong(const char *what) {
    fprintf(stderr, "kernel on the host: %s, block %u, thread %u\n", what, blockIdx.x, threadIdx.x);
    abort();
}

// All of the mask are there: their results.
static void finish(unsigned w, unsigned mask) {
    host_thread *warp = &threads[32 * w];
    const unsigned there = mask & ~warps[w].left;
    uint64_t all = 0;
    for (unsigned rest = there; rest; rest &= rest - 1) {
        const host_thread *t = &warp[__builtin_ctz(rest)];
        if (t->op == HOST_BALLOT) all |= (uint64_t)(t->value != 0) << __builtin_ctz(rest);
        if (t->op == HOST_MAX && t->value > all) all = t->value;
        if (t->op == HOST_SUM) all = (uint32_t)(all + t->value);
        if (t->op == HOST_OR) all |= t->value;
    }
    for (unsigned rest = there; rest; rest &= rest - 1) {
        host_thread *t = &warp[__builtin_ctz(rest)];
        if (t->op == HOST_SHFL && !(there >> t->source & 1))
            wrong("a value of a thread that takes no part");
        t->result = t->op == HOST_SHFL ? warp[t->source].value : all;
    }
    warps[w].waits &= ~there;
}

static bool warp_is_there(unsigned w, unsigned mask, host_op op) {
    const unsigned there = mask & ~warps[w].left;
    if (there & ~warps[w].waits) return false;
    for (unsigned rest = there; rest; rest &= rest - 1) {
        const host_thread *t = &threads[32 * w + (unsigned)__builtin_ctz(rest)];
        if (t->mask != mask) return false;
        if (t->op != op) wrong("threads of a mask in different operations");
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

// A context serves all threads of its number: to make one takes longer than most threads run.
static void thread_main() {
    const unsigned x = running;
    for (;;) {
        entry(argument);
        warps[x / 32].left |= 1u << x % 32;
        ++ended, ++parts[x / each].ended;
        if (!__builtin_setjmp(threads[x].turn)) go_on();
    }
}

[[noreturn]] static void begin(unsigned x) {
    ucontext_t *first = &firsts[x];
    threads[x].begun = true;
    getcontext(first);
    // their frames in cache lines of their own: equal places of pages share few
    const size_t apart = x % 32 * HOST_APART;
    first->uc_stack.ss_sp = malloc(HOST_STACK); // kept
    first->uc_stack.ss_size = HOST_STACK - apart;
    first->uc_link = NULL;
    if (!first->uc_stack.ss_sp) wrong("no memory");
    makecontext(first, thread_main, 0);
    swapcontext(&start, first);
    abort();
}

// To the warp's next, or to where the warps are gone through. Not in a function that is jumped into, which the compiler's
// own jumps ask for.
[[noreturn]] __attribute__((noinline)) static void go_on() {
    if (now.rest == 0) __builtin_longjmp(home, 1);
    const unsigned lane =
        (unsigned)(now.backwards ? 31 - __builtin_clz(now.rest) : __builtin_ctz(now.rest));
    now.rest &= ~(1u << lane);
    const unsigned x = running = 32 * now.w + lane;
    threadIdx.x = x % each, blockIdx.x = first_block + x / each;
    host_room = rooms[x / each];
    if (threads[x].begun) __builtin_longjmp(threads[x].turn, 1);
    begin(x);
}

uint64_t host_meet(host_op op, unsigned mask, uint64_t value, unsigned source) {
    const unsigned x = running, w = x / 32, bit = 1u << x % 32, part = x / each;
    host_thread *me = &threads[x];
    if (op == HOST_BLOCK) {
        warps[w].stands |= bit;
        ++parts[part].standing;
        parts[part].gathered |= value;
        block_is_there(part);
    } else if (op == HOST_CLUSTER) {
        warps[w].stands |= bit;
        ++clustered;
        cluster_is_there();
    } else {
        if (!(mask & bit)) wrong("a thread outside of its own mask");
        me->op = op, me->mask = mask, me->value = value, me->source = source;
        warps[w].waits |= bit;
        if (warp_is_there(w, mask, op)) finish(w, mask);
    }
    // the others' turn, even where this was the last one: who runs on first is nobody's right
    if (!__builtin_setjmp(me->turn)) go_on();
    // the next barrier needs this thread, too
    return op == HOST_BLOCK ? parts[part].told : me->result;
}

// Those of a warp that can run, once, one after the other.
__attribute__((noinline)) static void turn() {
    if (!__builtin_setjmp(home)) go_on();
}

// One that left may have been the last that others waited for.
static bool release() {
    for (unsigned part = 0; part < together / each; ++part)
        if (block_is_there(part)) return true;
    if (cluster_is_there()) return true;
    for (unsigned w = 0; w < together / 32; ++w)
        for (unsigned rest = warps[w].waits; rest; rest &= rest - 1) {
            const host_thread *t = &threads[32 * w + (unsigned)__builtin_ctz(rest)];
            if (!warp_is_there(w, t->mask, t->op)) continue;
            finish(w, t->mask);
            return true;
        }
    return false;
}

// Each of a block that can run, once; true if one did.
static bool pass(unsigned part, bool backwards) {
    const unsigned first = part * each / 32, some = each / 32;
    bool ran = false;
    for (unsigned k = 0; k < some; ++k) {
        const unsigned w = first + (backwards ? some - 1 - k : k);
        now.w = w, now.backwards = backwards;
        now.rest = ~(warps[w].waits | warps[w].stands | warps[w].left);
        if (now.rest == 0) continue;
        ran = true;
        turn();
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
        memset(warps, 0, together / 32 * sizeof *warps);
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
