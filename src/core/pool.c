/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of threads: a queue of tasks by priority, which may queue further tasks, and parallel
 * loops inside tasks. */
#define _GNU_SOURCE
#include "pool.h"

#include "lock.h"

enum { SPINS = 2000 }; /* about 20 microseconds of spinning before a worker blocks */

typedef struct task {
    double priority;
    int64_t order; /* equal priorities: first in, first out */
    mpki_task_fn fn;
    void *arg;
    int64_t item;
} task;

typedef struct loop {
    mpki_task_fn fn;
    void *arg;
    int64_t count;
    _Atomic int64_t next, done;
    int helpers; /* under the lock: workers that hold a pointer to this loop */
    struct loop *link;
} loop;

struct mpki_pool {
    mpk_context *ctx;
    int threads;
    int begun;      /* threads that the system started, besides the caller */
    unsigned forks; /* mpki_forks() where the threads were started: in a child there are none */
    mpki_lock lock;
    pthread_cond_t wake;
    _Atomic int64_t signals; /* changes whenever there may be new work */
    int sleepers;
    task *heap;
    int64_t queued, capacity, order;
    int running;
    bool stop;
    loop *loops;
    struct helper {
        mpki_pool *pool;
        int worker;
        pthread_t thread;
    } * helper; /* threads - 1 */
};

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

bool mpki_pool_is_lost(const mpki_pool *pool) {
    return pool->forks != mpki_forks();
}

static void notify(mpki_pool *pool) { /* under the lock */
    atomic_fetch_add_explicit(&pool->signals, 1, memory_order_release);
    if (pool->sleepers && !mpki_pool_is_lost(pool)) pthread_cond_broadcast(&pool->wake);
}

static bool before(const task *a, const task *b) {
    return a->priority != b->priority ? a->priority > b->priority : a->order < b->order;
}

static void heap_push(mpki_pool *pool, task item) {
    int64_t k = pool->queued++;
    while (k > 0 && before(&item, &pool->heap[(k - 1) / 2])) {
        pool->heap[k] = pool->heap[(k - 1) / 2];
        k = (k - 1) / 2;
    }
    pool->heap[k] = item;
}

static task heap_pop(mpki_pool *pool) {
    task top = pool->heap[0], last = pool->heap[--pool->queued];
    int64_t k = 0;
    for (int64_t child; (child = 2 * k + 1) < pool->queued; k = child) {
        if (child + 1 < pool->queued && before(&pool->heap[child + 1], &pool->heap[child])) child++;
        if (!before(&pool->heap[child], &last)) break;
        pool->heap[k] = pool->heap[child];
    }
    if (pool->queued > 0) pool->heap[k] = last;
    return top;
}

/* Spin a while, then block, until `signals` differs from `seen`. The lock is held before and
 * after. */
static void wait_for_news(mpki_pool *pool, int64_t seen) {
    mpki_lock_give(&pool->lock);
    for (int k = 0; k < SPINS; k++) {
        if (atomic_load_explicit(&pool->signals, memory_order_acquire) != seen) {
            mpki_lock_take(&pool->lock);
            return;
        }
        relax();
    }
    mpki_lock_take(&pool->lock);
    while (atomic_load(&pool->signals) == seen) {
        pool->sleepers++;
        pthread_cond_wait(&pool->wake, &pool->lock.mutex);
        pool->sleepers--;
    }
}

static void run_items(mpki_pool *pool, loop *l, int worker) {
    int64_t finished = 0;
    for (int64_t k; (k = atomic_fetch_add(&l->next, 1)) < l->count; finished++)
        l->fn(pool, worker, l->arg, k);
    if (finished) atomic_fetch_add_explicit(&l->done, finished, memory_order_acq_rel);
}

static loop *loop_with_work(mpki_pool *pool) {
    for (loop *l = pool->loops; l; l = l->link)
        if (atomic_load(&l->next) < l->count) return l;
    return NULL;
}

/* The caller (worker 0) leaves when nothing is queued or running; a helper when the pool ends. */
static void work(mpki_pool *pool, int worker) {
    mpki_lock_take(&pool->lock);
    for (;;) {
        int64_t seen = atomic_load(&pool->signals);
        loop *l;
        if (pool->queued > 0) {
            task t = heap_pop(pool);
            pool->running++;
            mpki_lock_give(&pool->lock);
            t.fn(pool, worker, t.arg, t.item);
            mpki_lock_take(&pool->lock);
            pool->running--;
            if (pool->running == 0 && pool->queued == 0) notify(pool);
        } else if (worker == 0 && pool->running == 0) {
            break;
        } else if ((l = loop_with_work(pool))) {
            l->helpers++;
            mpki_lock_give(&pool->lock);
            run_items(pool, l, worker);
            mpki_lock_take(&pool->lock);
            l->helpers--;
            notify(pool);
        } else if (pool->stop) {
            break;
        } else {
            wait_for_news(pool, seen);
        }
    }
    mpki_lock_give(&pool->lock);
}

static void *thread_main(void *arg) {
    struct helper *h = arg;
    work(h->pool, h->worker);
    return NULL;
}

mpki_pool *mpki_pool_create(mpk_context *ctx, int threads) {
    mpki_pool *pool = MPKI_ZNEW(ctx, "threads", 1, mpki_pool);
    struct helper *helper = MPKI_ZNEW(ctx, "threads", threads, struct helper);
    if (!pool || !helper || !mpki_lock_init(&pool->lock)) goto failed;
    if (pthread_cond_init(&pool->wake, NULL)) {
        mpki_lock_end(&pool->lock);
        goto failed;
    }
    pool->ctx = ctx;
    pool->forks = mpki_forks();
    pool->threads = threads;
    pool->helper = helper;
    for (; pool->begun < threads - 1; pool->begun++) {
        struct helper *h = &helper[pool->begun];
        h->pool = pool;
        h->worker = pool->begun + 1;
        if (pthread_create(&h->thread, NULL, thread_main, h)) break;
    }
    return pool;
failed:
    mpki_release(ctx, helper);
    mpki_release(ctx, pool);
    if (!mpk_failed(mpki_failed(ctx))) mpki_error(ctx, MPK_ERR_MEMORY, "threads", -1, "no mutex");
    return NULL;
}

void mpki_pool_destroy(mpki_pool **handle) {
    mpki_pool *pool = *handle;
    if (!pool) return;
    if (!mpki_pool_is_lost(pool)) {
        mpki_lock_take(&pool->lock);
        pool->stop = true;
        notify(pool);
        mpki_lock_give(&pool->lock);
        for (int k = 0; k < pool->begun; k++) pthread_join(pool->helper[k].thread, NULL);
        pthread_cond_destroy(&pool->wake);
        mpki_lock_end(&pool->lock);
    } /* else there is none to join; a condition with waiters that are gone is never destroyed */
    mpki_release(pool->ctx, pool->heap);
    mpki_release(pool->ctx, pool->helper);
    mpki_release(pool->ctx, pool);
    *handle = NULL;
}

bool mpki_pool_reserve(mpki_pool *pool, int64_t capacity) {
    if (capacity <= pool->capacity) return true;
    task *heap = MPKI_NEW(pool->ctx, "threads", capacity, task);
    if (!heap) return false;
    task *old = pool->heap; /* nothing is queued between runs */
    pool->heap = heap;      /* before it is freed: a child may find the pool at any moment */
    pool->capacity = capacity;
    mpki_release(pool->ctx, old);
    return true;
}

void mpki_pool_push(mpki_pool *pool, double priority, mpki_task_fn fn, void *arg, int64_t item) {
    mpki_lock_take(&pool->lock);
    heap_push(pool, (task){priority, pool->order++, fn, arg, item});
    notify(pool);
    mpki_lock_give(&pool->lock);
}

void mpki_pool_run(mpki_pool *pool) {
    work(pool, 0);
}

void mpki_pool_for(mpki_pool *pool, int worker, int64_t count, mpki_task_fn fn, void *arg) {
    if (!pool || pool->threads == 1 || count <= 1 || mpki_pool_is_lost(pool)) {
        for (int64_t k = 0; k < count; k++) fn(pool, worker, arg, k);
        return;
    }
    loop l = {.fn = fn, .arg = arg, .count = count};
    mpki_lock_take(&pool->lock);
    l.link = pool->loops;
    pool->loops = &l;
    notify(pool);
    mpki_lock_give(&pool->lock);
    run_items(pool, &l, worker);
    mpki_lock_take(&pool->lock);
    loop **at = &pool->loops;
    while (*at != &l) at = &(*at)->link;
    *at = l.link; /* no helper can join any more; wait for those at work */
    for (;;) {
        int64_t seen = atomic_load(&pool->signals);
        if (l.helpers == 0) break;
        wait_for_news(pool, seen);
    }
    mpki_lock_give(&pool->lock);
}

enum { SHARES = 64, LINE = 64 };

typedef struct shared_loop {
    mpki_task_fn fn;
    void *arg;
    int shares;
    struct {
        _Alignas(LINE) _Atomic int64_t next; /* of a share's items */
        int64_t end;
    } share[SHARES];
} shared_loop;

/* There are as many calls as items, so each finds one. */
static void share_item(mpki_pool *pool, int worker, void *arg, int64_t call) {
    (void)call;
    shared_loop *l = arg;
    for (int k = 0; k < l->shares; k++) {
        const int own = (worker + k) % l->shares;
        if (atomic_load_explicit(&l->share[own].next, memory_order_relaxed) >= l->share[own].end)
            continue;
        const int64_t item = atomic_fetch_add(&l->share[own].next, 1);
        if (item >= l->share[own].end) continue;
        l->fn(pool, worker, l->arg, item);
        return;
    }
}

void mpki_pool_for_near(mpki_pool *pool, int worker, int64_t count, mpki_task_fn fn, void *arg) {
    shared_loop l = {.fn = fn, .arg = arg, .shares = mpki_pool_threads(pool)};
    if (l.shares == 1 || count <= 1) {
        mpki_pool_for(pool, worker, count, fn, arg);
        return;
    }
    if (l.shares > SHARES) l.shares = SHARES;
    for (int k = 0; k < l.shares; k++) {
        atomic_init(&l.share[k].next, count * k / l.shares);
        l.share[k].end = count * (k + 1) / l.shares;
    }
    mpki_pool_for(pool, worker, count, share_item, &l);
}

int mpki_pool_threads(const mpki_pool *pool) {
    return pool ? pool->threads : 1;
}
