/* SPDX-License-Identifier: BSD-3-Clause */
/* Records in arrays, and the cache of what they stand for. */
#define _GNU_SOURCE
#include "arrays.h"

#include "handles.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A record is this and the triplets behind it, irn and jcn; a number is its beginning. */
typedef struct number {
    int32_t magic;
    uint32_t low, high;
} number;

typedef struct header {
    number number;
    int32_t n, nz, ordering;
    ip_request request; /* of a factor */
} header;

enum { MAGIC = 0x4b504d6d, HEADER = sizeof(header) / sizeof(int) };
_Static_assert(sizeof(number) == IP_NUMBER * sizeof(int), "a number is IP_NUMBER ints");

typedef struct entry {
    number number;
    const int *where; /* the array, and its length: compared, never followed */
    int64_t length;
    uint64_t used; /* when */
    int users;     /* calls in progress: such an entry is not lost */
    ip_triplet *triplet;
    bool is_factor;
    ip_factor *fac;
    pthread_mutex_t mutex; /* of fac */
    unsigned forks;        /* ip_forks() where it was made */
} entry;

static struct {
    pthread_mutex_t mutex;
    entry *list[IP_MOST];
    int count;
    uint64_t last, clock;
} cache = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void) {
    pthread_mutex_lock(&cache.mutex);
}

static void after_fork(void) {
    pthread_mutex_unlock(&cache.mutex);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork, after_fork);
}

static void lock_cache(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&cache.mutex);
}

/* In a forked child a thread of the parent may have it for ever: it is made anew. */
static void lock_entry(entry *e) {
    if (e->forks != ip_forks()) pthread_mutex_init(&e->mutex, NULL);
    e->forks = ip_forks();
    pthread_mutex_lock(&e->mutex);
}

static void destroy(entry *e) {
    if (!e) return;
    ip_factor_free(&e->fac);
    ip_triplet_release(e->triplet);
    if (e->forks == ip_forks()) pthread_mutex_destroy(&e->mutex);
    free(e);
}

/* ---- which entries are dead ------------------------------------------------------------------ */

/* Does the number still stand there? The kernel reads it: memory that was freed is no fault. True
 * where that cannot be found out. */
static bool stands(const entry *e) {
    number found;
    const struct iovec to = {&found, sizeof found}, from = {(void *)e->where, sizeof found};
    const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (got < 0) return errno != EFAULT;
    return got == sizeof found && !memcmp(&found, &e->number, sizeof found);
}

/* Under the mutex: off the list, to be destroyed without it. */
static entry *take_off(int k) {
    entry *e = cache.list[k];
    cache.list[k] = cache.list[--cache.count];
    return e;
}

/* Under the mutex: what is dead comes off the list, and the oldest where there is no room for one
 * more. Returns how many went to dead[IP_MOST]. */
static int sweep(entry **dead) {
    int gone = 0;
    for (int k = cache.count - 1; k >= 0; k--)
        if (cache.list[k]->users == 0 && !stands(cache.list[k])) dead[gone++] = take_off(k);
    if (cache.count < IP_MOST) return gone;
    int oldest = -1;
    for (int k = 0; k < cache.count; k++)
        if (cache.list[k]->users == 0 &&
            (oldest < 0 || cache.list[k]->used < cache.list[oldest]->used))
            oldest = k;
    if (oldest >= 0) dead[gone++] = take_off(oldest);
    return gone;
}

/* Under the mutex: array[length] is somebody's now, so what was written into it before is dead. */
static int sweep_array(const int *array, int64_t length, const entry *but, entry **dead) {
    const uintptr_t from = (uintptr_t)array, to = (uintptr_t)(array + length);
    int gone = 0;
    for (int k = cache.count - 1; k >= 0; k--) {
        const entry *e = cache.list[k];
        const uintptr_t first = (uintptr_t)e->where, last = (uintptr_t)(e->where + e->length);
        if (e != but && e->users == 0 && first < to && from < last) dead[gone++] = take_off(k);
    }
    return gone;
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* The entry of the number in array, in use until let_go; NULL: there is none. here: only one that
 * was written to this place. Elsewhere the caller may never have set the array. */
static entry *find(const int *array, int64_t length, bool is_factor, bool here) {
    entry *found = NULL;
    if (length < IP_NUMBER) return NULL;
    lock_cache();
    for (int k = cache.count - 1; k >= 0 && !found; k--) {
        entry *e = cache.list[k];
        if (e->is_factor == is_factor && (!here || e->where == array) &&
            !memcmp(&e->number, array, sizeof e->number))
            found = e;
    }
    if (found) {
        found->users++;
        found->used = ++cache.clock;
        found->where = array; /* it may have moved */
        found->length = length;
    }
    pthread_mutex_unlock(&cache.mutex);
    return found;
}

static void let_go(entry *e) {
    if (!e) return;
    lock_cache();
    e->users--;
    pthread_mutex_unlock(&cache.mutex);
}

/* A new entry, not yet listed and in use; NULL: out of memory. */
static entry *create(ip_triplet *triplet, bool is_factor) {
    entry *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    if (pthread_mutex_init(&e->mutex, NULL)) {
        free(e);
        return NULL;
    }
    e->forks = ip_forks();
    e->triplet = ip_triplet_share(triplet);
    e->is_factor = is_factor;
    e->users = 1;
    return e;
}

/* Give e a new number, written to array[length], and list it if it is not; false: no room, where
 * IP_MOST calls are in progress. */
static bool publish(entry *e, bool listed, int *array, int64_t length) {
    entry *dead[2 * IP_MOST];
    lock_cache();
    int gone = sweep_array(array, length, e, dead);
    if (!listed) gone += sweep(dead + gone);
    const bool room = listed || cache.count < IP_MOST;
    if (room) {
        if (!cache.last) cache.last = (uint64_t)getpid() << 32;
        const uint64_t next = ++cache.last;
        e->number = (number){MAGIC, (uint32_t)next, (uint32_t)(next >> 32)};
        e->where = array;
        e->length = length;
        e->used = ++cache.clock;
        if (!listed) cache.list[cache.count++] = e;
        memcpy(array, &e->number, sizeof e->number);
    }
    pthread_mutex_unlock(&cache.mutex);
    for (int k = 0; k < gone; k++) destroy(dead[k]);
    return room;
}

int ip_array_count(void) {
    lock_cache();
    const int count = cache.count;
    pthread_mutex_unlock(&cache.mutex);
    return count;
}

void ip_array_clear(void) {
    entry *dead[IP_MOST];
    int gone = 0;
    lock_cache();
    for (int k = cache.count - 1; k >= 0; k--)
        if (cache.list[k]->users == 0) dead[gone++] = take_off(k);
    pthread_mutex_unlock(&cache.mutex);
    for (int k = 0; k < gone; k++) destroy(dead[k]);
}

/* ---- records --------------------------------------------------------------------------------- */

int64_t ip_record_size(int nz) {
    return HEADER + 2 * (int64_t)nz;
}

/* The record in array; false: there is none. */
static bool read_header(const int *array, int64_t length, header *h) {
    if (length < HEADER) return false;
    memcpy(h, array, sizeof *h);
    return h->number.magic == MAGIC && h->nz >= 0 && ip_record_size(h->nz) <= length;
}

/* All but the number; behind the header only what is new. */
static void write_record(int *array, const ip_triplet *t, const ip_request *request, bool whole) {
    header h = {{0, 0, 0}, 0, 0, 0, {0, 0, 0}};
    const int *irn, *jcn;
    mpk_ordering ordering;
    ip_triplet_get(t, &h.n, &h.nz, &irn, &jcn, &ordering);
    h.ordering = (int32_t)ordering;
    if (request) h.request = *request;
    memcpy(array, &h, sizeof h);
    if (h.nz == 0 || !whole) return;
    memcpy(array + HEADER, irn, (size_t)h.nz * sizeof *irn);
    memcpy(array + HEADER + h.nz, jcn, (size_t)h.nz * sizeof *jcn);
}

mpk_status ip_array_analyse(int *array, int64_t length, bool whole, int n, int nz, const int *irn,
                            const int *jcn, mpk_ordering ordering, ip_triplet **triplet) {
    *triplet = NULL;
    entry *e = find(array, length, false, true);
    if (e && ip_triplet_equal(e->triplet, n, nz, irn, jcn, ordering))
        *triplet = ip_triplet_share(e->triplet);
    let_go(e);
    if (*triplet) return MPK_OK;
    mpk_status status = ip_triplet_create(n, nz, irn, jcn, ordering, triplet);
    if (mpk_failed(status)) return status;
    if (whole) write_record(array, *triplet, NULL, true);
    e = create(*triplet, false);
    if (e && publish(e, false, array, length)) {
        let_go(e);
        return MPK_OK;
    }
    destroy(e);
    ip_triplet_release(*triplet);
    *triplet = NULL;
    return MPK_ERR_MEMORY;
}

mpk_status ip_array_recall(int *array, int64_t length, int n, int nz, ip_triplet **triplet) {
    header h;
    *triplet = NULL;
    if (!read_header(array, length, &h) || h.n != n || h.nz != nz) return MPK_ERR_ARGUMENT;
    const int *irn = array + HEADER;
    return ip_array_analyse(array, length, true, n, nz, irn, irn + nz, (mpk_ordering)h.ordering,
                            triplet);
}

/* ---- factors --------------------------------------------------------------------------------- */

mpk_status ip_array_factorize(int *array, int64_t length, ip_triplet *t, const double *a,
                              const ip_request *request, ip_outcome *outcome) {
    entry *e = find(array, length, true, true);
    if (e && e->triplet != t) { /* of another matrix: publish() takes it off the list */
        let_go(e);
        e = NULL;
    }
    const bool listed = e != NULL;
    if (!e) e = create(t, true);
    if (!e) return MPK_ERR_MEMORY;
    lock_entry(e);
    memset(array, 0, IP_NUMBER * sizeof *array);
    mpk_status status = ip_triplet_factorize(t, a, request, &e->fac);
    if (!mpk_failed(status)) {
        ip_factor_info(e->fac, &outcome->factor, &outcome->analysis);
        write_record(array, t, request, !listed);
        if (!publish(e, listed, array, length)) {
            memset(array, 0, IP_NUMBER * sizeof *array);
            status = MPK_ERR_MEMORY;
        }
    }
    pthread_mutex_unlock(&e->mutex);
    let_go(e);
    if (mpk_failed(status) && !listed) destroy(e);
    return status; /* a listed one without a number that stands is swept up later */
}

/* The factor of the record in array, made again. */
static mpk_status rebuild(int *array, int64_t length, int n, const double *a, int64_t la) {
    header h;
    ip_triplet *t = NULL;
    ip_outcome ignored;
    if (!read_header(array, length, &h) || h.n != n || la < h.nz) return MPK_ERR_ARGUMENT;
    const int *irn = array + HEADER;
    mpk_status status = ip_triplet_create(n, h.nz, irn, irn + h.nz, (mpk_ordering)h.ordering, &t);
    if (mpk_failed(status)) return status;
    status = ip_array_factorize(array, length, t, a, &h.request, &ignored);
    ip_triplet_release(t);
    return status;
}

mpk_status ip_array_solve(int *array, int64_t length, int n, const double *a, int64_t la, int job,
                          int nrhs, double *x, int ldx) {
    mpk_status status = MPK_OK;
    entry *e = find(array, length, true, false);
    if (!e) {
        status = rebuild(array, length, n, a, la);
        if (mpk_failed(status)) return status;
        e = find(array, length, true, false);
        if (!e) return MPK_ERR_MEMORY; /* others needed its place at once */
    }
    lock_entry(e);
    header h;
    const bool whole = read_header(array, length, &h) && h.n == n && e->fac;
    status = whole ? ip_solve(e->fac, job, nrhs, x, ldx) : MPK_ERR_ARGUMENT;
    pthread_mutex_unlock(&e->mutex);
    let_go(e);
    return status;
}
