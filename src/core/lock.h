/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_LOCK_H
#define MPKI_LOCK_H
/** Locks that a fork does not leave shut. A forked child has the thread that forked and no
 *  other: what those others had locked would stay so for ever. A lock remembers in which process
 *  it was made, and its first use in a child makes it anew, open. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct mpki_lock {
    pthread_mutex_t mutex;
    _Atomic unsigned forks; /* mpki_forks() where it was made */
} mpki_lock;
/** An open lock, made where the program was loaded. */
#define MPKI_LOCK_OPEN ((mpki_lock){PTHREAD_MUTEX_INITIALIZER, 0})

/** Begin to count forks; false: no memory for it. Every context begins with it. */
bool mpki_count_forks(void);
/** Forks since then that lie before this process: another number than an object of the parent
 *  remembers tells a child that its threads are gone. */
unsigned mpki_forks(void);

/** False: the system has none left. */
bool mpki_lock_init(mpki_lock *lock);
void mpki_lock_end(mpki_lock *lock);
/** True: a thread had it that a fork has left behind, and what it guards may be half written. */
bool mpki_lock_take(mpki_lock *lock);
/** False: another thread has it. */
bool mpki_lock_try(mpki_lock *lock);
void mpki_lock_give(mpki_lock *lock);

#endif
