/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of handles that callers hold, so that an unknown or stale pointer is recognized. */
#include "handles.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* The only state that all instances share; a handle is its address. */
static struct {
    pthread_mutex_t mutex;
    struct entry {
        const void *handle;
        ip_kind kind;
    } * list;
    int count, capacity;
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* A fork waits until the list is whole, so that the child finds it so, and unlocked. */
static unsigned forks;

static void before_fork(void) {
    pthread_mutex_lock(&table.mutex);
}

static void after_fork(void) {
    pthread_mutex_unlock(&table.mutex);
}

static void in_child(void) {
    forks++;
    pthread_mutex_unlock(&table.mutex);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork, in_child);
}

unsigned ip_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return forks;
}

/* Under the mutex: where it is listed, or -1. The newest are looked at first. */
static int find(const void *handle, ip_kind kind) {
    int k = table.count - 1;
    while (k >= 0 && !(table.list[k].handle == handle && table.list[k].kind == kind)) k--;
    return k;
}

bool ip_handle_add(const void *handle, ip_kind kind) {
    bool room = true;
    ip_forks();
    pthread_mutex_lock(&table.mutex);
    if (table.count == table.capacity) {
        int capacity = table.capacity ? 2 * table.capacity : 16;
        struct entry *list = realloc(table.list, (size_t)capacity * sizeof *list);
        room = list != NULL;
        if (room) {
            table.list = list;
            table.capacity = capacity;
        }
    }
    if (room) table.list[table.count++] = (struct entry){handle, kind};
    pthread_mutex_unlock(&table.mutex);
    return room;
}

bool ip_handle_is(const void *handle, ip_kind kind) {
    pthread_mutex_lock(&table.mutex);
    bool found = handle && find(handle, kind) >= 0;
    pthread_mutex_unlock(&table.mutex);
    return found;
}

bool ip_handle_remove(const void *handle, ip_kind kind) {
    pthread_mutex_lock(&table.mutex);
    int k = handle ? find(handle, kind) : -1;
    if (k >= 0) table.list[k] = table.list[--table.count];
    if (table.count == 0) { /* the last instance frees the list */
        free(table.list);
        table.list = NULL;
        table.capacity = 0;
    }
    pthread_mutex_unlock(&table.mutex);
    return k >= 0;
}

int ip_handle_count(void) {
    pthread_mutex_lock(&table.mutex);
    int count = table.count;
    pthread_mutex_unlock(&table.mutex);
    return count;
}
