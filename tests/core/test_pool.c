/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks that push tasks, loops inside tasks, one pool for many runs. */
#include "support.h"

#include "core/flow.h"
#include "core/lock.h"

#include <sys/mman.h>
#include <unistd.h>

typedef struct count {
    _Atomic int64_t tasks, items;
    int64_t depth;
    _Atomic int worst_worker;
} count;

static void item(mpki_pool *pool, int worker, void *arg, int64_t k) {
    count *c = arg;
    assert_true(worker < mpki_pool_threads(pool));
    atomic_fetch_add(&c->items, k);
}

/* a binary tree of tasks, a loop at each leaf */
static void branch(mpki_pool *pool, int worker, void *arg, int64_t level) {
    count *c = arg;
    atomic_fetch_add(&c->tasks, 1);
    if (level < c->depth) {
        mpki_pool_push(pool, (double)level, branch, c, level + 1);
        mpki_pool_push(pool, -(double)level, branch, c, level + 1);
    } else {
        mpki_pool_for(pool, worker, 50, item, c);
    }
}

static void test_tree_of_tasks(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 100);
    for (int threads = 1; threads <= 5; threads++)
        for (int run = 0; run < 50; run++) {
            count c = {.depth = 6};
            mpki_pool *pool = mpki_context_pool(ctx, threads, 256);
            assert_non_null(pool);
            assert_int_equal(mpki_pool_threads(pool), threads);
            mpki_pool_push(pool, 0, branch, &c, 0);
            mpki_pool_run(pool);
            assert_int_equal(c.tasks, 127);
            assert_int_equal(c.items, 64 * (49 * 50 / 2));
        }
    mpk_context_destroy(&ctx);
}

/* Items that lie together: all of them, once; and others take what a worker that is held up has
 * left. */
enum { NEAR = 257 };
typedef struct near {
    _Atomic int seen[NEAR], done;
    int count;
    bool hold;
} near;

static void near_item(mpki_pool *pool, int worker, void *arg, int64_t k) {
    near *c = arg;
    assert_true(worker < mpki_pool_threads(pool));
    atomic_fetch_add(&c->seen[k], 1);
    const double late = mpki_now_s() + 20;
    while (c->hold && k == 0 && c->done < c->count - 1 && mpki_now_s() < late) {}
    if (k == 0 && c->hold) assert_int_equal(c->done, c->count - 1);
    atomic_fetch_add(&c->done, 1);
}

static void test_near(void **unused) {
    (void)unused;
    static const int counts[] = {0, 1, 2, 5, 64, NEAR};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 100);
    for (int threads = 1; threads <= 67; threads += threads == 5 ? 62 : 1) /* more than shares */
        for (int q = 0; q < 6; q++) {
            near c = {.count = counts[q], .hold = threads == 3};
            mpki_pool_for_near(mpki_context_pool(ctx, threads, 16), 0, c.count, near_item, &c);
            for (int k = 0; k < NEAR; k++) assert_int_equal(c.seen[k], k < c.count);
        }
    near c = {.count = NEAR};
    mpki_pool_for_near(NULL, 0, c.count, near_item, &c);
    assert_int_equal(c.done, NEAR);
    mpk_context_destroy(&ctx);
}

/* Parts that come up as others are done: each of WIDE chains, and all wait for one part after every
 * LONG-th of theirs, which one worker does. */
enum { WIDE = 7, LONG = 5, ROUNDS = 40 };
typedef struct growing {
    mpki_flow flow;
    mpki_lock lock;
    int round, at[WIDE], open[WIDE], done; /* of this round */
    bool gate;
    _Atomic int64_t parts;
    _Atomic int inside; /* the gate */
} growing;

static void open_all(growing *g) {
    for (int k = 0; k < WIDE; k++) g->at[k] = 0, g->open[k] = 1;
    g->done = 0;
    atomic_fetch_add(&g->flow.ready, WIDE);
}

static void take_parts(mpki_pool *pool, int worker, void *arg, int64_t item) {
    growing *g = arg;
    int64_t more = 0;
    (void)item;
    assert_true(worker < mpki_pool_threads(pool));
    mpki_lock_take(&g->lock);
    for (;;) {
        int k = 0;
        while (k < WIDE && !g->open[k]) k++;
        const bool gate = g->gate;
        if (!gate && k == WIDE) break;
        if (gate)
            g->gate = false;
        else
            g->open[k] = 0;
        atomic_fetch_sub(&g->flow.ready, 1);
        mpki_lock_give(&g->lock);
        mpki_pool_more(pool, &g->flow, more);
        if (gate) assert_int_equal(atomic_fetch_add(&g->inside, 1), 0);
        for (const double end = mpki_now_s() + 5e-6; mpki_now_s() < end;) {}
        if (gate) atomic_fetch_sub(&g->inside, 1);
        atomic_fetch_add(&g->parts, 1);
        mpki_lock_take(&g->lock);
        more = 0;
        if (gate) {
            if (++g->round < ROUNDS) open_all(g), more = WIDE - 1;
        } else if (++g->at[k] < LONG) {
            g->open[k] = 1;
            atomic_fetch_add(&g->flow.ready, 1);
        } else if (++g->done == WIDE) {
            g->gate = true;
            atomic_fetch_add(&g->flow.ready, 1);
        }
    }
    mpki_lock_give(&g->lock);
}

static void grow(mpki_pool *pool, int worker, void *arg, int64_t count) {
    (void)arg;
    for (; count > 0; count--) {
        growing g = {0};
        assert_true(mpki_lock_init(&g.lock));
        open_all(&g);
        mpki_pool_flow(pool, worker, &g.flow, take_parts, &g);
        assert_int_equal(g.parts, ROUNDS * (WIDE * LONG + 1));
        assert_int_equal(g.flow.ready, 0);
        mpki_lock_end(&g.lock);
    }
}

/* Outside a run, in tasks, several at once; and beside loops. */
static void test_flow(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 100);
    grow(NULL, 0, NULL, 1);
    for (int threads = 1; threads <= 9; threads += threads == 4 ? 5 : 1)
        for (int run = 0; run < 3; run++) {
            count c = {.depth = 4};
            mpki_pool *pool = mpki_context_pool(ctx, threads, 256);
            assert_non_null(pool);
            grow(pool, 0, NULL, 1);
            for (int k = 0; k < 4; k++) mpki_pool_push(pool, k, grow, NULL, 2);
            mpki_pool_push(pool, 2, branch, &c, 0);
            mpki_pool_run(pool);
            assert_int_equal(c.tasks, 31);
        }
    mpk_context_destroy(&ctx);
}

/* All pages of fresh memory are there afterwards, with zeros, and nothing beside them is written. */
static void test_touch(void **unused) {
    (void)unused;
    enum { BYTES = (9 << 20) + 12345, OFF = 4096 + 64 };
    const int64_t page = sysconf(_SC_PAGESIZE), pages = (OFF + BYTES + page - 1) / page;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 8);
    unsigned char *there = malloc((size_t)pages);
    for (int threads = 2; threads <= 8; threads *= 2) {
        char *memory = mmap(NULL, (size_t)(pages * page), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(memory, MAP_FAILED);
        memory[OFF - 1] = 7;
        mpki_touch_shared(memory + OFF, BYTES, mpki_context_pool(ctx, threads, 16), 0);
        assert_int_equal(mincore(memory, (size_t)(pages * page), there), 0);
        for (int64_t k = OFF / page; k < pages; k++) assert_true(there[k] & 1);
        assert_int_equal(memory[OFF - 1], 7);
        for (int64_t k = OFF; k < pages * page; k++) assert_int_equal(memory[k], 0);
        munmap(memory, (size_t)(pages * page));
    }
    free(there);
    mpk_context_destroy(&ctx);
}

static int order[8], ordered;
static void note(mpki_pool *pool, int worker, void *arg, int64_t k) {
    (void)pool, (void)worker, (void)arg;
    order[ordered++] = (int)k;
}

static void test_priority(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_pool *pool = mpki_context_pool(ctx, 1, 8);
    const double priority[5] = {1, 5, 3, 5, 2};
    for (int k = 0; k < 5; k++) mpki_pool_push(pool, priority[k], note, NULL, k);
    mpki_pool_run(pool);
    const int want[5] = {1, 3, 2, 4, 0}; /* equal ones as they came */
    assert_int_equal(ordered, 5);
    assert_memory_equal(order, want, sizeof want);
    mpki_pool_run(pool); /* nothing queued: returns */
    mpk_context_destroy(&ctx);
}

static void test_without_pool(void **unused) {
    (void)unused;
    count c = {0};
    mpki_pool_for(NULL, 0, 10, item, &c);
    assert_int_equal(c.items, 45);
    assert_int_equal(mpki_pool_threads(NULL), 1);
}

static void test_allocation(void **unused) {
    (void)unused;
    int succeeded = 0;
    for (int64_t k = 2; !succeeded && k < 20; k++) {
        failing f = {.fail_at = k};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *ctx = NULL;
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        mpki_context_set_cores(ctx, 2);
        succeeded = mpki_context_pool(ctx, 2, 10) != NULL;
        if (!succeeded) assert_int_equal(mpk_last_error(ctx, NULL, NULL, NULL), MPK_ERR_MEMORY);
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
    }
    assert_true(succeeded);
}

/* No more threads than cores, whatever is asked for. */
static void test_cores(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const int cores = mpki_cores();
    assert_int_equal(mpki_context_threads(ctx, 1), 1);
    assert_int_equal(mpki_context_threads(ctx, cores + 5), cores);
    assert_int_equal(mpki_pool_threads(mpki_context_pool(ctx, cores + 5, 4)), cores);
    assert_false(mpki_context_takes_all(ctx));
    mpki_context_set_cores(ctx, cores + 2);
    assert_true(mpki_context_takes_all(ctx));
    assert_int_equal(mpki_pool_threads(mpki_context_pool(ctx, cores + 5, 4)), cores + 2);
    mpk_context_destroy(&ctx);
}

/* A part of the workers works; the others do not take anything. */
static void team_item(mpki_pool *pool, int worker, void *arg, int64_t k) {
    count *c = arg;
    (void)k;
    if (worker > c->worst_worker) c->worst_worker = worker;
    if (c->depth-- > 0) mpki_pool_push(pool, 0, team_item, c, 0);
}

static void test_team(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 100);
    mpki_pool *pool = mpki_context_pool(ctx, 9, 256);
    for (int team = 1; team <= 9; team += 2)
        for (int run = 0; run < 20; run++) {
            count c = {.depth = 6};
            assert_int_equal(mpki_pool_set_team(pool, team), 9);
            assert_int_equal(mpki_pool_threads(pool), team);
            mpki_pool_push(pool, 0, branch, &c, 0); /* whose items look at their workers */
            mpki_pool_run(pool);
            assert_int_equal(c.items, 64 * (49 * 50 / 2));
            count chain = {.depth = 100};
            mpki_pool_push(pool, 0, team_item, &chain, 0);
            mpki_pool_run(pool);
            assert_true(chain.worst_worker < team);
            assert_int_equal(mpki_pool_set_team(pool, 9), team);
        }
    assert_ptr_equal(mpki_context_pool(ctx, 3, 256), pool); /* a smaller team of the same */
    assert_int_equal(mpki_pool_threads(pool), 3);
    assert_int_equal(mpki_pool_most(pool), 9);
    mpk_context_destroy(&ctx);
}

static void sleep_a_while(void) {
    for (const double begin = mpki_now_s(); mpki_now_s() - begin < 0.02;) {}
}

/* Who has work calls as many as it is for, not all that sleep. */
static void test_wakes(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 100);
    mpki_pool *pool = mpki_context_pool(ctx, 16, 256);
    sleep_a_while();
    mpki_pool_counts before = mpki_pool_count(pool);
    for (int k = 0; k < 10; k++) {
        count chain = {.depth = 0};
        mpki_pool_push(pool, 0, team_item, &chain, 0);
        mpki_pool_run(pool);
        sleep_a_while();
    }
    mpki_pool_counts after = mpki_pool_count(pool);
    assert_int_equal(after.pushes - before.pushes, 10);
    assert_true(after.wakes - before.wakes <= 20); /* one for each, and the caller if it slept */
    count c = {0};
    before = after;
    mpki_pool_for(pool, 0, 3, item, &c);
    sleep_a_while();
    after = mpki_pool_count(pool);
    assert_int_equal(after.loops - before.loops, 1);
    assert_true(after.wakes - before.wakes <= 3); /* two others, and the caller */
    mpk_context_destroy(&ctx);
}

/* What waking takes is found once, and is a time. */
static void test_wake_time(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 2);
    const double wake = mpki_context_wake_s(ctx, 2);
    assert_true(wake >= 1e-6 && wake <= 200e-6);
    assert_true(mpki_context_wake_s(ctx, 2) == wake);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_of_tasks), cmocka_unit_test(test_near),
        cmocka_unit_test(test_flow),          cmocka_unit_test(test_touch),
        cmocka_unit_test(test_priority),      cmocka_unit_test(test_without_pool),
        cmocka_unit_test(test_cores),         cmocka_unit_test(test_team),
        cmocka_unit_test(test_wakes),         cmocka_unit_test(test_wake_time),
        cmocka_unit_test(test_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
