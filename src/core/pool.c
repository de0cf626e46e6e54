/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of threads: a queue of tasks by priority, which may queue further tasks, and parallel
 * loops inside tasks. A worker without work waits to be called: whoever has some calls one worker
 * for a task, and as many as a loop has items. */
#define _GNU_SOURCE
#include "pool.h"

#include "flow.h"
#include "lock.h"
#include "relax.h"

#include <stdlib.h>
#include <string.h>

enum {
    SPINS = 64,       /* between two looks at the clock */
    SLEEPERS_EACH = 2 /* that are woken for a loop; each of them wakes others if there is more */
};
static const double SPIN_S = 20e-6; /* a worker that waits spins so long, then it sleeps */

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
    const mpki_flow *flow; /* work that comes up part after part; NULL: items */
    int helpers;           /* under the lock: workers that hold a pointer to this loop */
    int owner;
    bool owner_waits; /* for the last of them, or for another part */
    struct loop *link;
} loop;

/* A worker; all but `called` is under the lock. */
typedef struct member {
    mpki_pool *pool;
    int worker;
    pthread_t thread; /* not of worker 0, which is the caller */
    pthread_cond_t wake;
    bool waits;   /* for work */
    bool asleep;  /* not spinning any more */
    bool waking;  /* it slept when it was called, and has not answered yet */
    double since; /* it is at work */
    _Alignas(64) _Atomic bool called;
} member;

struct mpki_pool {
    mpk_context *ctx;
    int threads;
    int team;       /* of them take part: workers 0 .. team-1 */
    int begun;      /* threads that the system started, besides the caller */
    unsigned forks; /* mpki_forks() where the threads were started: in a child there are none */
    mpki_lock lock;
    task *heap;
    int64_t queued, capacity, order;
    int running;
    bool stop;
    loop *loops;
    int waking, idle_count;
    int *idle; /* workers of the team that wait, the last one to begin on top */
    double busy_s;
    mpki_pool_counts counts;
    int took;       /* the largest team that has run anything since mpki_pool_took() */
    member *member; /* threads */
};

bool mpki_pool_is_lost(const mpki_pool *pool) {
    return pool->forks != mpki_forks();
}

/* ---- calls, under the lock ------------------------------------------------------------------- */

static void call(mpki_pool *pool, member *m) {
    if (mpki_pool_is_lost(pool)) return;
    m->waits = false;
    atomic_store_explicit(&m->called, true, memory_order_release);
    if (!m->asleep) return;
    m->asleep = false;
    m->waking = true;
    pool->waking++;
    pool->counts.wakes++;
    pthread_cond_signal(&m->wake);
}

/* At most `most` of those who wait, first those who spin. */
static void call_some(mpki_pool *pool, int64_t most) {
    int asleep = 0;
    while (most-- > 0 && pool->idle_count > 0) {
        member *m = &pool->member[pool->idle[pool->idle_count - 1]];
        if (m->asleep && asleep++ == SLEEPERS_EACH) break;
        pool->idle_count--;
        call(pool, m);
    }
}

/* The run ends: worker 0 alone has to know. */
static void call_first(mpki_pool *pool) {
    for (int k = 0; k < pool->idle_count; k++)
        if (pool->idle[k] == 0) {
            memmove(pool->idle + k, pool->idle + k + 1,
                    (size_t)(--pool->idle_count - k) * sizeof *pool->idle);
            call(pool, &pool->member[0]);
            return;
        }
}

/* Until somebody calls: spin a while, then sleep. The lock is held before and after. */
static void wait_for_call(mpki_pool *pool, member *m) {
    const double begin = mpki_now_s();
    mpki_lock_give(&pool->lock);
    while (!atomic_load_explicit(&m->called, memory_order_acquire)) {
        for (int k = 0; k < SPINS && !atomic_load_explicit(&m->called, memory_order_relaxed); k++)
            mpki_relax();
        if (mpki_now_s() - begin > SPIN_S) break;
    }
    mpki_lock_take(&pool->lock);
    m->asleep = !atomic_load(&m->called);
    while (!atomic_load(&m->called)) pthread_cond_wait(&m->wake, &pool->lock.mutex);
    atomic_store(&m->called, false);
}

/* The same for any work; true: the worker slept, and there may be more work than for itself. */
static bool wait_for_work(mpki_pool *pool, member *m) {
    const double begin = mpki_now_s();
    if (m->worker > 0) pool->busy_s += begin - m->since;
    m->waits = true;
    if (m->worker < pool->team) pool->idle[pool->idle_count++] = m->worker;
    wait_for_call(pool, m);
    const bool slept = m->waking;
    pool->waking -= slept;
    m->waking = false;
    m->since = mpki_now_s();
    if (m->worker == 0) pool->busy_s -= m->since - begin;
    return slept;
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

static void run_items(mpki_pool *pool, loop *l, int worker) {
    int64_t finished = 0;
    for (int64_t k; (k = atomic_fetch_add(&l->next, 1)) < l->count; finished++)
        l->fn(pool, worker, l->arg, k);
    if (finished) atomic_fetch_add_explicit(&l->done, finished, memory_order_acq_rel);
}

static int64_t left_of(const loop *l) {
    return l->flow ? atomic_load(&l->flow->ready) : l->count - atomic_load(&l->next);
}

static loop *loop_with_work(mpki_pool *pool) {
    for (loop *l = pool->loops; l; l = l->link)
        if (left_of(l) > 0) return l;
    return NULL;
}

static int64_t work_left(const mpki_pool *pool) {
    int64_t left = pool->queued;
    for (const loop *l = pool->loops; l; l = l->link) {
        const int64_t of = left_of(l);
        if (of > 0) left += of;
    }
    return left;
}

static bool call_owner(mpki_pool *pool, loop *l) {
    if (!l->owner_waits) return false;
    l->owner_waits = false;
    call(pool, &pool->member[l->owner]);
    return true;
}

static void help(mpki_pool *pool, int worker, loop *l) {
    l->helpers++;
    mpki_lock_give(&pool->lock);
    if (l->flow)
        l->fn(pool, worker, l->arg, 0);
    else
        run_items(pool, l, worker);
    mpki_lock_take(&pool->lock);
    if (--l->helpers == 0) call_owner(pool, l);
}

/* The caller (worker 0) leaves when nothing is queued or running; a helper when the pool ends. */
static void work(mpki_pool *pool, int worker) {
    member *m = &pool->member[worker];
    bool slept = false;
    mpki_lock_take(&pool->lock);
    m->since = mpki_now_s();
    for (;;) {
        const bool takes = worker < pool->team;
        loop *l;
        if (takes && pool->queued > 0) {
            task t = heap_pop(pool);
            pool->running++;
            if (slept) call_some(pool, work_left(pool) - pool->waking);
            mpki_lock_give(&pool->lock);
            t.fn(pool, worker, t.arg, t.item);
            mpki_lock_take(&pool->lock);
            if (--pool->running == 0 && pool->queued == 0) call_first(pool);
            slept = false;
        } else if (worker == 0 && pool->running == 0) {
            break;
        } else if (takes && (l = loop_with_work(pool))) {
            if (slept) call_some(pool, work_left(pool) - 1 - pool->waking);
            help(pool, worker, l);
            slept = false;
        } else if (pool->stop) {
            break;
        } else {
            slept = wait_for_work(pool, m);
        }
    }
    mpki_lock_give(&pool->lock);
}

static void *thread_main(void *arg) {
    member *m = arg;
    work(m->pool, m->worker);
    return NULL;
}

static bool begin_members(mpki_pool *pool) {
    int made = 0;
    for (; made < pool->threads; made++) {
        member *m = &pool->member[made];
        m->pool = pool;
        m->worker = made;
        if (pthread_cond_init(&m->wake, NULL)) break;
    }
    if (made == pool->threads) return true;
    while (made > 0) pthread_cond_destroy(&pool->member[--made].wake);
    return false;
}

mpki_pool *mpki_pool_create(mpk_context *ctx, int threads) {
    mpki_pool *pool = MPKI_ZNEW(ctx, "threads", 1, mpki_pool);
    member *members = MPKI_ZNEW(ctx, "threads", threads, member);
    int *idle = MPKI_NEW(ctx, "threads", threads, int);
    if (!pool || !members || !idle || !mpki_lock_init(&pool->lock)) goto failed;
    pool->ctx = ctx;
    pool->forks = mpki_forks();
    pool->threads = pool->team = threads;
    pool->member = members;
    pool->idle = idle;
    if (!begin_members(pool)) {
        mpki_lock_end(&pool->lock);
        goto failed;
    }
    for (; pool->begun < threads - 1; pool->begun++) {
        member *m = &members[pool->begun + 1];
        if (pthread_create(&m->thread, NULL, thread_main, m)) break;
    }
    return pool;
failed:
    mpki_release(ctx, idle);
    mpki_release(ctx, members);
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
        for (int k = 1; k < pool->threads; k++)
            if (pool->member[k].waits) call(pool, &pool->member[k]);
        mpki_lock_give(&pool->lock);
        for (int k = 1; k <= pool->begun; k++) pthread_join(pool->member[k].thread, NULL);
        for (int k = 0; k < pool->threads; k++) pthread_cond_destroy(&pool->member[k].wake);
        mpki_lock_end(&pool->lock);
    } /* else there is none to join; a condition with waiters that are gone is never destroyed */
    mpki_release(pool->ctx, pool->heap);
    mpki_release(pool->ctx, pool->idle);
    mpki_release(pool->ctx, pool->member);
    mpki_release(pool->ctx, pool);
    *handle = NULL;
}

int mpki_pool_set_team(mpki_pool *pool, int team) {
    if (!pool) return 1;
    mpki_lock_take(&pool->lock);
    const int before = pool->team;
    if (team > pool->threads) team = pool->threads;
    if (team != before) {
        pool->team = team;
        pool->idle_count = 0;
        for (int k = team - 1; k > 0; k--)
            if (pool->member[k].waits) pool->idle[pool->idle_count++] = k;
    }
    mpki_lock_give(&pool->lock);
    return before;
}

int mpki_pool_most(const mpki_pool *pool) {
    return pool->threads;
}

mpki_pool_counts mpki_pool_count(mpki_pool *pool) {
    mpki_lock_take(&pool->lock);
    mpki_pool_counts counts = pool->counts;
    counts.busy_s = pool->busy_s;
    mpki_lock_give(&pool->lock);
    return counts;
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
    pool->counts.pushes++;
    if (pool->running > 0 || pool->loops)
        call_some(pool, 1); /* else the run calls for all at once */
    mpki_lock_give(&pool->lock);
}

/* The lock is held. */
static void note_team(mpki_pool *pool) {
    if (pool->team > pool->took) pool->took = pool->team;
}

int mpki_pool_took(mpki_pool *pool) {
    if (!pool) return 1;
    mpki_lock_take(&pool->lock);
    const int took = pool->took > 1 ? pool->took : 1;
    pool->took = 0;
    mpki_lock_give(&pool->lock);
    return took;
}

/* For what is queued, but for so many tasks of it. */
static void call_for_queued(mpki_pool *pool, int64_t but) {
    mpki_lock_take(&pool->lock);
    if (pool->queued > 1) note_team(pool);
    call_some(pool, pool->queued - but);
    mpki_lock_give(&pool->lock);
}

void mpki_pool_run(mpki_pool *pool) {
    call_for_queued(pool, 1);
    work(pool, 0);
}

/* The three steps of a loop: the lock is held after the first and the second, before the second and
 * the third. */
static void begin_loop(mpki_pool *pool, loop *l) {
    mpki_lock_take(&pool->lock);
    l->link = pool->loops;
    pool->loops = l;
    pool->counts.loops++;
    note_team(pool);
    call_some(pool, left_of(l) - 1);
}

static void wait_for_helpers(mpki_pool *pool, loop *l) {
    const double begin = mpki_now_s();
    member *owner = &pool->member[l->owner];
    l->owner_waits = true;
    wait_for_call(pool, owner);
    pool->busy_s -= mpki_now_s() - begin;
    pool->waking -= owner->waking;
    owner->waking = false;
}

static void end_loop(mpki_pool *pool, loop *l) {
    loop **at = &pool->loops;
    while (*at != l) at = &(*at)->link;
    *at = l->link; /* no helper can join any more; wait for those at work */
    if (l->helpers > 0) wait_for_helpers(pool, l);
    mpki_lock_give(&pool->lock);
}

static bool serial(const mpki_pool *pool) {
    return !pool || pool->team == 1 || mpki_pool_is_lost(pool);
}

void mpki_pool_for(mpki_pool *pool, int worker, int64_t count, mpki_task_fn fn, void *arg) {
    if (count <= 1 || serial(pool)) {
        for (int64_t k = 0; k < count; k++) fn(pool, worker, arg, k);
        return;
    }
    loop l = {.fn = fn, .arg = arg, .count = count, .owner = worker};
    begin_loop(pool, &l);
    mpki_lock_give(&pool->lock);
    run_items(pool, &l, worker);
    mpki_lock_take(&pool->lock);
    end_loop(pool, &l);
}

void mpki_pool_flow(mpki_pool *pool, int worker, mpki_flow *flow, mpki_task_fn fn, void *arg) {
    if (serial(pool)) {
        fn(pool, worker, arg, 0);
        return;
    }
    loop l = {.fn = fn, .arg = arg, .flow = flow, .owner = worker};
    begin_loop(pool, &l);
    for (;;) {
        if (left_of(&l) > 0) {
            mpki_lock_give(&pool->lock);
            fn(pool, worker, arg, 0);
            mpki_lock_take(&pool->lock);
        } else if (l.helpers > 0) {
            wait_for_helpers(pool, &l);
        } else {
            break;
        }
    }
    end_loop(pool, &l);
}

void mpki_pool_more(mpki_pool *pool, const mpki_flow *flow, int64_t parts) {
    if (parts <= 0 || serial(pool)) return;
    mpki_lock_take(&pool->lock);
    for (loop *l = pool->loops; l; l = l->link)
        if (l->flow == flow && call_owner(pool, l)) parts--;
    call_some(pool, parts);
    mpki_lock_give(&pool->lock);
}

/* ---- what waking a worker costs -------------------------------------------------------------- */

static void answer(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker, (void)item;
    atomic_store((_Atomic bool *)arg, true);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double mpki_pool_wake_s(mpki_pool *pool) {
    enum { TIMES = 7 };
    static const double LEAST = 1e-6, MOST = 200e-6, ALL = 1e-3;
    double took[TIMES];
    int count = 0;
    for (double start = mpki_now_s(); count < TIMES && mpki_now_s() - start < ALL; count++) {
        _Atomic bool answered = false;
        const double rest = mpki_now_s();
        while (mpki_now_s() - rest < 1.5 * SPIN_S) mpki_relax(); /* all sleep now */
        const double begin = mpki_now_s();
        mpki_pool_push(pool, 0, answer, &answered, 0);
        call_for_queued(pool, 0);
        while (!atomic_load(&answered) && mpki_now_s() - begin < MOST) mpki_relax();
        took[count] = mpki_now_s() - begin;
        mpki_pool_run(pool);
    }
    qsort(took, (size_t)count, sizeof *took, by_size);
    const double middle = count ? took[count / 2] : MOST;
    return middle < LEAST ? LEAST : middle > MOST ? MOST : middle;
}

/* ---- items that lie together ------------------------------------------------------------------ */

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
    return pool ? pool->team : 1;
}
