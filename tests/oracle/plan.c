/* SPDX-License-Identifier: BSD-3-Clause */
/* Which trials there are, and running them in processes of their own. */
#define _GNU_SOURCE
#include "plan.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- trials ---------------------------------------------------------------------------------- */

static int named(const plan *p, int k) {
    return p->named && (!*p->named || !strcmp(p->named, case_name(k)));
}

static int64_t named_count(const plan *p) {
    int64_t count = 0;
    for (int k = 0; k < cases_count(); k++) count += named(p, k);
    return count;
}

int64_t plan_count(const plan *p) {
    return named_count(p) + p->cases;
}

/* A path, by percentages. */
static int random_path(random_state *r) {
    static const int share[PATHS] = {26, 8, 8, 12, 12, 5, 4, 8, 8, 7, 2};
    int path = 0;
    for (int u = random_below(r, 100); u >= share[path]; path++) u -= share[path];
    return path;
}

/* Those that options.device moves; direct factors most of all. */
static int device_path(random_state *r) {
    static const int paths[] = {PATH_DIRECT,      PATH_DIRECT,   PATH_DIRECT, PATH_DIRECT_KRYLOV,
                                PATH_REFACTORIZE, PATH_ADAPTIVE, PATH_ILDLT};
    return paths[random_below(r, sizeof paths / sizeof *paths)];
}

static void random_trial(const plan *p, int64_t k, trial *t) {
    random_state r = random_start(p->seed, (uint64_t)k);
    const int family = random_below(&r, FAMILIES), path = random_path(&r);
    t->family = p->family >= 0 ? p->family : family;
    t->path = p->path >= 0 ? p->path : path;
    if (family_is_whole(t->family) && t->path > PATH_NONE) t->path = PATH_DIRECT;
    snprintf(t->name, sizeof t->name, "%s", family_name(t->family));
    family_make(t->family, &r, &t->eq);
    if (p->device == MPK_ON_CUDA && p->path < 0) t->path = device_path(&r);
    setup_random(&t->setup, t->path, &t->eq, family_is_spoilt(t->family), &r);
    t->setup.options.device = (mpk_device)p->device;
}

void plan_trial(const plan *p, int64_t k, trial *t) {
    *t = (trial){0};
    for (int c = 0; c < cases_count(); c++)
        if (named(p, c) && k-- == 0) {
            case_trial(c, t);
            return;
        }
    random_trial(p, p->first + k, t);
}

/* ---- processes ------------------------------------------------------------------------------- */

enum { JOBS = 256 };

typedef struct desk {
    int64_t at;     /* the trial that it runs; -1: none */
    double since_s; /* when it began */
} desk;

/* Memory shared by all processes. */
typedef struct floor_plan {
    tally sum;
    int64_t next;
    int stop;
    desk desk[JOBS];
} floor_plan;

typedef struct clerk {
    const plan *plan;
    floor_plan *floor;
    int64_t k;
} clerk;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int64_t add(int64_t *to) {
    return __atomic_add_fetch(to, 1, __ATOMIC_SEQ_CST);
}

static void count_one(void *self, const trial *t, int what) {
    const clerk *c = self;
    add(&c->floor->sum.counted[what][t->path]);
}

/* One line in one write, since other processes write too. */
static void tell(void *self, const trial *t, int what, const char *details) {
    static const char *const types[] = {"s", "d", "c", "z"};
    const clerk *c = self;
    char options[SETUP_TEXT], command[160], line[SETUP_TEXT + 1024];
    add(&c->floor->sum.by_family[t->family < 0 ? FAMILIES : t->family][what]);
    const int64_t nth = add(&c->floor->sum.wrong[what][t->path]);
    if (c->plan->most && nth > c->plan->most) return;
    setup_text(&t->setup, options);
    if (t->family < 0)
        snprintf(command, sizeof command, "--named %s", t->name);
    else
        snprintf(command, sizeof command, "--seed %llu --case %lld%s%s%s%s%s",
                 (unsigned long long)c->plan->seed,
                 (long long)(c->plan->first + c->k - named_count(c->plan)),
                 c->plan->family < 0 ? "" : " --family ", c->plan->family < 0 ? "" : t->name,
                 c->plan->path < 0 ? "" : " --path ", c->plan->path < 0 ? "" : path_name(t->path),
                 c->plan->device == MPK_ON_CUDA ? " --device cuda" : "");
    const int length = snprintf(line, sizeof line, "%s: %s %s %s%s n=%d nrhs=%d: %s [%s] %s\n",
                                wrong_name(what), t->name, path_name(t->path), types[t->eq.scalar],
                                t->eq.symmetry == MPK_HERMITIAN ? " hermitian" : "", t->eq.n,
                                t->eq.nrhs, details, options, command);
    if (write(STDOUT_FILENO, line,
              (size_t)(length < (int)sizeof line ? length : (int)sizeof line - 1)) < 0)
        return;
}

static void work(const plan *p, floor_plan *floor, desk *mine) {
    const int64_t count = plan_count(p);
    for (;;) {
        const int64_t k = add(&floor->next) - 1;
        if (k >= count || __atomic_load_n(&floor->stop, __ATOMIC_SEQ_CST)) return;
        clerk c = {p, floor, k};
        trial t;
        mine->since_s = now_s();
        __atomic_store_n(&mine->at, k, __ATOMIC_SEQ_CST);
        plan_trial(p, k, &t);
        verdicts v = {
            .trial = &t, .patience = p->patience, .tell = tell, .count = count_one, .self = &c};
        trial_run(&v);
        add(&floor->sum.trials[t.family < 0 ? FAMILIES : t.family][t.path]);
        __atomic_store_n(&mine->at, -1, __ATOMIC_SEQ_CST);
        trial_free(&t);
    }
}

static pid_t hire(const plan *p, floor_plan *floor, desk *mine) {
    mine->at = -1;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    work(p, floor, mine);
    exit(0);
}

/* A process has ended: unless it was done, report what ended it. */
static void mourn(const plan *p, floor_plan *floor, const desk *of, int status, int killed) {
    char details[96];
    trial t;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    snprintf(details, sizeof details, WIFSIGNALED(status) ? "signal %d" : "exit code %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (of->at < 0) {
        add(&floor->sum.wrong[WRONG_LEAK][0]);
        printf("leak: a process ended with %s after its last trial\n", details);
        return;
    }
    clerk c = {p, floor, of->at};
    plan_trial(p, of->at, &t);
    if (killed) snprintf(details, sizeof details, "not done after %.0f s", p->patience);
    tell(&c, &t, killed ? WRONG_HANG : WRONG_CRASH, details);
    add(&floor->sum.trials[t.family < 0 ? FAMILIES : t.family][t.path]);
    trial_free(&t);
}

static void show_progress(const plan *p, const floor_plan *floor, double start_s) {
    if (!isatty(STDERR_FILENO)) return;
    const int64_t count = plan_count(p), next = floor->next < count ? floor->next : count;
    fprintf(stderr, "\r%lld of %lld, %.0f s ", (long long)next, (long long)count,
            now_s() - start_s);
    if (next == count) fprintf(stderr, "\r\033[K");
}

void plan_run(const plan *p, tally *out) {
    floor_plan *floor =
        mmap(NULL, sizeof *floor, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid[JOBS];
    int killed[JOBS] = {0}, alive = 0;
    const double start_s = now_s();
    if (floor == MAP_FAILED) abort();
    for (int j = 0; j < p->jobs; j++, alive++) pid[j] = hire(p, floor, &floor->desk[j]);
    while (alive) {
        usleep(20000);
        if (p->seconds > 0 && now_s() - start_s > p->seconds)
            __atomic_store_n(&floor->stop, 1, __ATOMIC_SEQ_CST);
        for (int j = 0; j < p->jobs; j++) {
            desk *d = &floor->desk[j];
            int status = 0;
            if (pid[j] <= 0) continue;
            if (__atomic_load_n(&d->at, __ATOMIC_SEQ_CST) >= 0 && !killed[j] &&
                now_s() - d->since_s > p->patience)
                killed[j] = 1, kill(pid[j], SIGKILL);
            if (waitpid(pid[j], &status, WNOHANG) != pid[j]) continue;
            mourn(p, floor, d, status, killed[j]);
            killed[j] = 0;
            const int more = !floor->stop && floor->next < plan_count(p);
            pid[j] = more ? hire(p, floor, d) : 0;
            alive -= !more;
        }
        show_progress(p, floor, start_s);
    }
    *out = floor->sum;
    munmap(floor, sizeof *floor);
}

/* ---- one trial ------------------------------------------------------------------------------- */

static void tell_nobody(void *self, const trial *t, int what, const char *details) {
    (void)self, (void)t, (void)what, (void)details;
}

static void count_nothing(void *self, const trial *t, int what) {
    (void)self, (void)t, (void)what;
}

uint32_t trial_findings(const trial *t, double patience) {
    uint32_t *found =
        mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    if (found == MAP_FAILED) abort();
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        verdicts v = {
            .trial = t, .patience = patience, .tell = tell_nobody, .count = count_nothing};
        alarm((unsigned)ceil(patience));
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        trial_run(&v);
        *found = v.found;
        _exit(0);
    }
    waitpid(pid, &status, 0);
    uint32_t bits = *found;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        bits |= UINT32_C(1) << WRONG_HANG;
    else if (!WIFEXITED(status) || WEXITSTATUS(status))
        bits |= UINT32_C(1) << WRONG_CRASH;
    munmap(found, sizeof *found);
    return bits;
}
