/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run asked for: kept by event, and written to a file. */
#define _GNU_SOURCE
#include "report.h"

#include "handles.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1000000 }; /* events that are kept: 100 MB */

static struct {
    pthread_mutex_t mutex;
    unsigned forks; /* ip_forks() where the mutex was made: a child keeps a run of its own */
    double began, written;
    ip_run run;
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const char *path(void) {
    const char *name = getenv("METAPACK_IPOPT_REPORT");
    return name && *name ? name : NULL;
}

bool ip_report_wanted(void) {
    return path() != NULL;
}

double ip_report_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void begin(void) {
    if (all.forks != ip_forks()) {
        pthread_mutex_init(&all.mutex, NULL);
        all.forks = ip_forks();
        all.run.count = 0;
        all.run.lost = 0;
    }
    pthread_mutex_lock(&all.mutex);
}

int ip_report_pattern(int n, int64_t nnz) {
    int number = 0;
    if (!ip_report_wanted()) return 0;
    begin();
    struct ip_shape *more = realloc(all.run.shape, (size_t)(all.run.patterns + 1) * sizeof *more);
    if (more) {
        all.run.shape = more;
        more[all.run.patterns] = (struct ip_shape){n, nnz};
        number = ++all.run.patterns;
    }
    pthread_mutex_unlock(&all.mutex);
    return number;
}

int ip_report_factorization(const ip_event *event) {
    int number = 0;
    begin();
    ip_run *run = &all.run;
    if (run->count == run->capacity && run->capacity < MOST) {
        const int capacity = run->capacity ? 2 * run->capacity : 256;
        ip_event *more = realloc(run->event, (size_t)capacity * sizeof *more);
        if (more) {
            run->event = more;
            run->capacity = capacity;
        }
    }
    if (run->count < run->capacity) {
        if (run->count == 0) all.began = ip_report_clock() - event->time_s - event->analysis_s;
        run->event[run->count] = *event;
        run->event[run->count].at_s = ip_report_clock() - all.began;
        number = ++run->count;
    } else {
        run->lost++;
    }
    pthread_mutex_unlock(&all.mutex);
    return number;
}

void ip_report_solve(int event, int sides, double seconds) {
    if (event < 1) return;
    begin();
    if (event <= all.run.count) {
        ip_event *e = &all.run.event[event - 1];
        e->solves++;
        e->sides += sides;
        e->solve_s += seconds;
    }
    pthread_mutex_unlock(&all.mutex);
}

/* Into a file beside it, then renamed: a reader never sees half of one. */
static void write_report(void) {
    const char *name = path();
    char file[1024], part[1100];
    if (!name) return;
    const char *end = strrchr(name, '.');
    const bool page = end && (!strcmp(end, ".html") || !strcmp(end, ".htm"));
    if (ip_forks() && end && !strchr(end, '/'))
        snprintf(file, sizeof file, "%.*s-%ld%s", (int)(end - name), name, (long)getpid(), end);
    else if (ip_forks())
        snprintf(file, sizeof file, "%s-%ld", name, (long)getpid());
    else
        snprintf(file, sizeof file, "%s", name);
    snprintf(part, sizeof part, "%s.part", file);
    FILE *out = all.run.count ? fopen(part, "w") : NULL;
    if (out) {
        locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = (locale_t)0;
        if (c) before = uselocale(c); /* points in numbers, not commas */
        (page ? ip_report_page : ip_report_text)(&all.run, out);
        if (c) {
            uselocale(before);
            freelocale(c);
        }
        const bool whole = !ferror(out);
        if (fclose(out) || !whole || rename(part, file)) remove(part);
    }
    all.written = ip_report_clock();
}

void ip_report_write(void) {
    begin();
    if (ip_report_clock() - all.written >= 1)
        write_report(); /* a thousand solvers are not a thousand files */
    pthread_mutex_unlock(&all.mutex);
}

__attribute__((destructor)) static void at_the_end(void) {
    begin();
    write_report();
    pthread_mutex_unlock(&all.mutex);
    free(all.run.event);
    free(all.run.shape);
    memset(&all.run, 0, sizeof all.run);
}
