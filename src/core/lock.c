/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks, counted; locks that are made anew in a child. */
#define _GNU_SOURCE
#include "lock.h"

#include <sched.h>

/* What all contexts share; nobody but a child sets it, before it goes on. */
static _Atomic unsigned forks;
static bool counted;

enum { BEING_MADE = 1u << 31 }; /* by another thread of the child */

static void forked(void) {
    atomic_store(&forks, (atomic_load(&forks) + 1) & ~(unsigned)BEING_MADE);
}

static void begin(void) {
    counted = pthread_atfork(NULL, NULL, forked) == 0;
}

bool mpki_count_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    return counted;
}

unsigned mpki_forks(void) {
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

bool mpki_lock_init(mpki_lock *lock) {
    atomic_init(&lock->forks, mpki_forks());
    return pthread_mutex_init(&lock->mutex, NULL) == 0;
}

void mpki_lock_end(mpki_lock *lock) {
    if (atomic_load(&lock->forks) == mpki_forks()) pthread_mutex_destroy(&lock->mutex);
}

/* In a child: the first of its threads makes the lock, the others wait for it. True: it was
 * shut. */
static bool renew(mpki_lock *lock) {
    const unsigned now = mpki_forks();
    unsigned seen = atomic_load_explicit(&lock->forks, memory_order_acquire);
    if (seen == now) return false;
    if (seen != (now | BEING_MADE) &&
        atomic_compare_exchange_strong(&lock->forks, &seen, now | BEING_MADE)) {
        static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;
        const bool lost = pthread_mutex_trylock(&lock->mutex) != 0;
        lock->mutex = open;
        atomic_store_explicit(&lock->forks, now, memory_order_release);
        return lost;
    }
    while (atomic_load_explicit(&lock->forks, memory_order_acquire) != now) sched_yield();
    return false;
}

bool mpki_lock_take(mpki_lock *lock) {
    const bool lost = renew(lock);
    pthread_mutex_lock(&lock->mutex);
    return lost;
}

bool mpki_lock_try(mpki_lock *lock) {
    renew(lock);
    return pthread_mutex_trylock(&lock->mutex) == 0;
}

void mpki_lock_give(mpki_lock *lock) {
    /* taken before the fork, by the thread that has forked in between: the child's is open */
    if (atomic_load_explicit(&lock->forks, memory_order_relaxed) == mpki_forks())
        pthread_mutex_unlock(&lock->mutex);
}
