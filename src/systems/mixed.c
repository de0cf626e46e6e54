/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems of several patterns: those of one pattern are an object of their own, a part. Parts are
 * spread over the threads, or, where there are fewer of them than threads, have all threads one
 * after another. On a device each thread has a stream, and parts that are at work at the same time
 * share the threads. */
#include "../core/floats.h"
#include "../problem/certificate.h"
#include "../problem/problem.h"
#include "object.h"

#include <metapack/device.h>

#include <string.h>

static const char STAGE[] = "systems";

typedef struct mpki_mixed {
    mpk_scalar scalar;
    int32_t n;     /* the largest */
    int64_t given; /* values of a system, likewise */
    int64_t parts;
    mpk_analysis **an;         /* parts */
    mpk_systems **part;        /* parts */
    int *home;                 /* parts: the worker */
    int64_t *start, *member;   /* parts + 1, count: the systems of each part */
    int64_t *part_of, *number; /* count: a system's part, and its number there */
} mpki_mixed;

static void mixed_free(mpk_systems *s) {
    mpki_mixed *m = s->mixed;
    if (!m) return;
    for (int64_t p = 0; m->part && p < m->parts; p++) mpk_systems_destroy(&m->part[p]);
    for (int64_t p = 0; m->an && p < m->parts; p++) mpk_analysis_destroy(&m->an[p]);
    mpki_release(s->ctx, m->an);
    mpki_release(s->ctx, m->part);
    mpki_release(s->ctx, m->home);
    mpki_release(s->ctx, m->start);
    mpki_release(s->ctx, m->member);
    mpki_release(s->ctx, m->part_of);
    mpki_release(s->ctx, m->number);
    mpki_release(s->ctx, m);
    s->mixed = NULL;
}

/* ---- patterns -------------------------------------------------------------------------------- */

static size_t place_bytes(const mpki_layout *l) {
    return l->place ? (size_t)l->given * (l->wide ? sizeof(int64_t) : sizeof(int32_t)) : 0;
}

static uint64_t hash(const mpk_problem *p) {
    uint64_t h = mpki_certificate_hash((uint64_t)p->symmetry, p->ap,
                                       ((int64_t)p->n + 1) * (int64_t)sizeof *p->ap);
    h = mpki_certificate_hash(h, p->ai, p->nnz * (int64_t)sizeof *p->ai);
    return mpki_certificate_hash(h, p->layout->place, (int64_t)place_bytes(p->layout));
}

static bool same_bytes(const void *a, const void *b, size_t bytes) {
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static bool same_pattern(const mpk_problem *a, const mpk_problem *b) {
    const mpki_layout *la = a->layout, *lb = b->layout;
    return a->n == b->n && a->nnz == b->nnz && a->symmetry == b->symmetry &&
           la->triangle == lb->triangle && la->given == lb->given && la->wide == lb->wide &&
           la->duplicates == lb->duplicates && la->symmetry_tolerance == lb->symmetry_tolerance &&
           !la->place == !lb->place &&
           same_bytes(a->ap, b->ap, ((size_t)a->n + 1) * sizeof *a->ap) &&
           same_bytes(a->ai, b->ai, (size_t)a->nnz * sizeof *a->ai) &&
           same_bytes(la->place, lb->place, place_bytes(la));
}

/* Parts in the order in which their patterns first occur. */
static mpk_status group(mpk_systems *s, const mpk_problem *const *problem) {
    mpki_mixed *m = s->mixed;
    int64_t size = 1;
    while (size < 2 * s->count) size *= 2;
    m->part_of = MPKI_NEW(s->ctx, STAGE, s->count, int64_t);
    m->number = MPKI_NEW(s->ctx, STAGE, s->count, int64_t);
    m->member = MPKI_NEW(s->ctx, STAGE, s->count, int64_t);
    m->start = MPKI_ZNEW(s->ctx, STAGE, s->count + 1, int64_t);
    int64_t *table = MPKI_NEW(s->ctx, STAGE, size, int64_t); /* the first of each pattern */
    if (!m->part_of || !m->number || !m->member || !m->start || !table) {
        mpki_release(s->ctx, table);
        return mpki_failed(s->ctx);
    }
    for (int64_t k = 0; k < size; k++) table[k] = -1;
    for (int64_t b = 0; b < s->count; b++) {
        int64_t at = (int64_t)(hash(problem[b]) & (uint64_t)(size - 1));
        while (table[at] >= 0 && !same_pattern(problem[table[at]], problem[b]))
            at = (at + 1) & (size - 1);
        if (table[at] < 0) table[at] = b, m->part_of[b] = m->parts++;
        const int64_t p = m->part_of[b] = m->part_of[table[at]];
        m->number[b] = m->start[p + 1]++;
        if (problem[b]->n > m->n) m->n = problem[b]->n;
        if (problem[b]->layout->given > m->given) m->given = problem[b]->layout->given;
    }
    mpki_release(s->ctx, table);
    for (int64_t p = 0; p < m->parts; p++) m->start[p + 1] += m->start[p];
    for (int64_t b = 0; b < s->count; b++) m->member[m->start[m->part_of[b]] + m->number[b]] = b;
    return MPK_OK;
}

/* ---- parts on the threads -------------------------------------------------------------------- */

/* Where the columns of all systems begin, in the order of the parts. */
typedef struct places {
    void **here;
    void *there; /* of columns on a device: the same list there */
} places;

typedef struct mixed_job {
    mpk_systems *s;
    mpk_status (*work)(struct mixed_job *job, mpk_context *ctx, int64_t part);
    /* to create */
    const mpk_problem *const *problem;
    const mpk_systems_options *how;
    /* a verb; systems are in the order of `member` */
    const mpki_systems_job *verb;
    places ax, b, x;
    uint8_t *mask;
    const mpk_systems_results *results;
    _Atomic int failed;
    _Atomic int64_t done;
} mixed_job;

static void run_home(mpki_pool *pool, int worker, void *arg, int64_t home) {
    mixed_job *job = arg;
    const mpki_mixed *m = job->s->mixed;
    (void)pool, (void)worker;
    for (int64_t p = 0; p < m->parts && !job->failed; p++) {
        if (m->home[p] != home) continue;
        const mpk_status status = job->work(job, job->s->child[home], p);
        if (mpk_failed(status)) job->failed = status;
        const int64_t done = atomic_fetch_add(&job->done, 1) + 1;
        if (mpki_progress(job->s->ctx,
                          job->problem   ? "analyse"
                          : job->verb->b ? "solve"
                                         : "factorize",
                          (double)done / (double)m->parts) &&
            done < m->parts)
            job->failed = MPK_ERR_CANCELLED;
    }
}

static mpk_status run_all(mixed_job *job) {
    mpk_systems *s = job->s;
    mpki_pool *pool = NULL;
    if (s->workers > 1) {
        pool = mpki_context_pool(s->ctx, s->workers, 4);
        if (!pool) return mpki_failed(s->ctx);
    }
    mpki_pool_for(pool, 0, s->workers, run_home, job);
    if (!job->failed) return MPK_OK;
    if (job->failed == MPK_ERR_CANCELLED) return mpki_stopped(s->ctx, STAGE);
    return mpki_systems_blame(s, (mpk_status)job->failed);
}

/* ---- the verbs ------------------------------------------------------------------------------- */

static mpk_batch_array pointers(const mpk_batch_array *given, const places *all, int64_t at,
                                int32_t n, int32_t nrhs) {
    return (mpk_batch_array){.layout = MPK_BATCH_POINTERS,
                             .memory = given->memory,
                             .data = all->there ? (char *)all->there + at * (int64_t)sizeof(void *)
                                                : (void *)(all->here + at),
                             .ld = nrhs > 1 && given->ld > 0 ? given->ld : (n > 1 ? n : 1)};
}

static mpk_status run_part(mixed_job *job, mpk_context *ctx, int64_t p) {
    const mpki_mixed *m = job->s->mixed;
    const int64_t at = m->start[p];
    const int32_t n = m->an[p]->n, nrhs = job->verb->nrhs;
    mpki_systems_job own = *job->verb;
    mpk_batch_array ax, b, x;
    own.s = m->part[p];
    own.settled = true;
    if (own.ax) ax = pointers(own.ax, &job->ax, at, 1, 1), own.ax = &ax;
    if (own.b) b = pointers(own.b, &job->b, at, n, nrhs), own.b = &b;
    if (own.x) x = pointers(own.x, &job->x, at, n, nrhs), own.x = &x;
    mpk_systems_results r = *job->results;
    if (r.status) r.status += at;
    if (r.tier) r.tier += at;
    if (r.rank) r.rank += at;
    if (r.inertia) r.inertia += 3 * at;
    if (r.certified) r.certified += at;
    if (r.steps) r.steps += at;
    if (r.growth) r.growth += at;
    if (r.omega) r.omega += at;
    if (r.normwise) r.normwise += at;
    if (r.logdet) r.logdet += 3 * at;
    return mpki_systems_verb(ctx, &own, job->mask ? job->mask + at : NULL, &r);
}

/* A list of pointers between the host and the device: entries of eight bytes. */
static mpk_status move_list(mpk_systems *s, void *there, void **here, bool to_device) {
    const mpk_batch_array a = {.memory = MPK_DEVICE,
                               .data = there,
                               .layout = MPK_BATCH_STRIDED,
                               .stride = s->count,
                               .ld = 1,
                               .width = 1};
    return s->engine->move(s->ctx, MPK_D, &a, 0, s->count, 1, here, to_device);
}

/* The places of the caller's columns. NULL: there are none. */
static mpk_status find_places(mpk_systems *s, const mpk_batch_array *x, places *out) {
    const mpki_mixed *m = s->mixed;
    mpk_batch_array given = x ? *x : (mpk_batch_array){0};
    void **list = NULL;
    if (!x) return MPK_OK;
    out->here = MPKI_NEW(s->ctx, STAGE, s->count, void *);
    mpk_status status = out->here ? MPK_OK : mpki_failed(s->ctx);
    if (s->count == 0 || mpk_failed(status)) return status;
    const bool there = x->memory == MPK_DEVICE;
    if (there && x->layout == MPK_BATCH_POINTERS) {
        given.data = list = MPKI_NEW(s->ctx, STAGE, s->count, void *);
        status = list ? move_list(s, x->data, list, false) : mpki_failed(s->ctx);
    }
    for (int64_t k = 0; !mpk_failed(status) && k < s->count; k++)
        out->here[k] = mpki_strand_of(&given, m->member[k], mpk_scalar_size(m->scalar)).p;
    if (!mpk_failed(status) && there)
        status = mpk_device_alloc(s->ctx, s->options.device_number,
                                  s->count * (int64_t)sizeof(void *), &out->there);
    if (!mpk_failed(status) && there) status = move_list(s, out->there, out->here, true);
    mpki_release(s->ctx, list);
    return status;
}

static void forget(mpk_systems *s, places *p) {
    if (p->there) mpk_device_free(s->ctx, s->options.device_number, &p->there);
    mpki_release(s->ctx, p->here);
}

static mpk_status check_layout(mpk_context *ctx, const char *name, const mpk_batch_array *x) {
    if (x->layout != MPK_BATCH_INTERLEAVED) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                      "%s is interleaved: systems of several patterns are given by pointers or by "
                      "a stride",
                      name);
}

static mpk_status check(mpk_context *ctx, const mpki_systems_job *job) {
    const mpk_systems *s = job->s;
    const mpki_mixed *m = s->mixed;
    mpk_status status = MPK_OK;
    if (s->ctx != ctx)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the systems were made with another context");
    if (job->nrhs < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, job->nrhs, "nrhs is negative");
    if (job->ax && m->given > INT32_MAX)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, m->given, "more than 2^31 - 1 values");
    const struct {
        const char *name;
        const mpk_batch_array *x;
        int64_t rows, columns;
    } all[] = {{"ax", job->ax, m->given, 1},
               {"b", job->b, m->n, job->nrhs},
               {"x", job->x, m->n, job->nrhs}};
    for (int k = 0; k < 3 && !mpk_failed(status); k++) {
        const mpk_batch_array *x = all[k].x;
        if (!x) continue;
        const bool packed = x->layout == MPK_BATCH_POINTERS && x->ld == 0;
        status = mpki_systems_check_array(ctx, s->engine, m->scalar, s->count, all[k].name, x,
                                          all[k].rows,
                                          all[k].columns == 1 || packed ? -1 : all[k].columns);
        if (!mpk_failed(status)) status = check_layout(ctx, all[k].name, all[k].x);
    }
    return status;
}

/* The caller's results beside those of the parts, whose order is another. */
enum { FIELDS = 10 };
typedef struct field {
    void *caller, *own;
    size_t bytes; /* of a system */
} field;

static void list_fields(const mpk_systems_results *r, field f[FIELDS]) {
    const field all[FIELDS] = {
        {r->status, NULL, sizeof *r->status},       {r->tier, NULL, sizeof *r->tier},
        {r->rank, NULL, sizeof *r->rank},           {r->inertia, NULL, 3 * sizeof *r->inertia},
        {r->certified, NULL, sizeof *r->certified}, {r->steps, NULL, sizeof *r->steps},
        {r->growth, NULL, sizeof *r->growth},       {r->omega, NULL, sizeof *r->omega},
        {r->normwise, NULL, sizeof *r->normwise},   {r->logdet, NULL, 3 * sizeof *r->logdet}};
    memcpy(f, all, sizeof all);
}

static mpk_systems_results results_of(const field f[FIELDS]) {
    return (mpk_systems_results){f[0].own, f[1].own, f[2].own, f[3].own, f[4].own,
                                 f[5].own, f[6].own, f[7].own, f[8].own, f[9].own};
}

static void turn(const mpk_systems *s, const field *f, bool back) {
    const mpki_mixed *m = s->mixed;
    for (int64_t k = 0; k < s->count; k++) {
        char *theirs = (char *)f->caller + (size_t)m->member[k] * f->bytes;
        char *ours = (char *)f->own + (size_t)k * f->bytes;
        memcpy(back ? theirs : ours, back ? ours : theirs, f->bytes);
    }
}

static mpk_status run_verb(mixed_job *job, const uint8_t *mask) {
    mpk_systems *s = job->s;
    const mpki_mixed *m = s->mixed;
    const mpki_systems_job *verb = job->verb;
    const mpk_batch_array *const arrays[] = {verb->ax, verb->b, verb->x};
    places *const of[] = {&job->ax, &job->b, &job->x};
    bool there = false;
    for (int k = 0; k < 3; k++) there |= arrays[k] && arrays[k]->memory == MPK_DEVICE;
    if (there && mpk_failed(s->engine->settle(s->ctx))) return mpki_failed(s->ctx);
    for (int k = 0; k < 3; k++)
        if (mpk_failed(find_places(s, arrays[k], of[k]))) return mpki_failed(s->ctx);
    if (mask && !(job->mask = MPKI_NEW(s->ctx, STAGE, s->count, uint8_t)))
        return mpki_failed(s->ctx);
    for (int64_t k = 0; mask && k < s->count; k++) job->mask[k] = mask[m->member[k]];
    const mpk_status status = run_all(job);
    for (int64_t b = 0; b < s->count; b++) {
        const mpk_systems *part = m->part[m->part_of[b]];
        s->said[b] = part->said[m->number[b]];
        if (mpk_failed(status) && verb->ax && (!mask || mask[b]))
            mpki_slot_give_up(&part->slot[m->number[b]]);
    }
    return mpk_failed(status) ? status : mpki_systems_sum(s->ctx, s->said, s->count);
}

static mpk_status mixed_call(mpk_context *ctx, mpki_systems_job *verb, const uint8_t *mask,
                             const mpk_systems_results *results) {
    mpk_systems *s = verb->s;
    mpk_status status = check(ctx, verb);
    if (mpk_failed(status)) return status;
    field f[FIELDS];
    list_fields(results ? results : &(const mpk_systems_results){0}, f);
    for (int k = 0; k < FIELDS && !mpk_failed(status); k++) {
        if (!f[k].caller) continue;
        f[k].own = mpki_alloc(ctx, STAGE, s->count, f[k].bytes);
        if (f[k].own)
            turn(s, &f[k], false); /* what a call does not write stays */
        else
            status = mpki_failed(ctx);
    }
    const mpk_systems_results own = results_of(f);
    mixed_job job = {.s = s, .work = run_part, .verb = verb, .results = &own};
    if (!mpk_failed(status)) status = run_verb(&job, mask);
    for (int k = 0; k < FIELDS; k++) {
        if (!mpk_failed(status) && f[k].caller) turn(s, &f[k], true);
        mpki_release(ctx, f[k].own);
    }
    forget(s, &job.ax), forget(s, &job.b), forget(s, &job.x);
    mpki_release(ctx, job.mask);
    return status;
}

/* ---- looking at it --------------------------------------------------------------------------- */

static const mpk_systems *mixed_part(const mpk_systems *s, int64_t slot, int64_t *index) {
    const mpki_mixed *m = s->mixed;
    *index = m->number[slot];
    return m->part[m->part_of[slot]];
}

static void mixed_info(const mpk_systems *s, mpk_systems_info *info) {
    const mpki_mixed *m = s->mixed;
    info->count = s->count, info->patterns = m->parts;
    info->n = m->n, info->width = 1;
    for (int64_t p = 0; p < m->parts; p++) {
        mpk_systems_info one;
        mpk_systems_info_get(m->part[p], &one);
        info->by_template += one.by_template, info->by_single += one.by_single;
        info->by_own += one.by_own;
        if (one.width > info->width) info->width = one.width;
        if (one.max_front > info->max_front) info->max_front = one.max_front;
        if (*one.reason && !*info->reason) info->reason = one.reason;
        if (p == 0) info->ordering = one.ordering;
        info->factor_nnz += one.count * one.factor_nnz;
        info->flops += (double)one.count * one.flops;
        info->bytes += one.bytes;
    }
}

static const mpki_mixed_table TABLE = {mixed_call, mixed_part, mixed_info, mixed_free};

/* ---- making ---------------------------------------------------------------------------------- */

static mpk_status make_part(mixed_job *job, mpk_context *ctx, int64_t p) {
    mpk_systems *s = job->s;
    mpki_mixed *m = s->mixed;
    const int64_t count = m->start[p + 1] - m->start[p];
    mpk_options o = s->options;
    o.device = MPK_ON_CPU; /* whose order has less fill */
    const mpk_status status = mpk_analyse(ctx, job->problem[m->member[m->start[p]]], &o, &m->an[p]);
    if (mpk_failed(status)) return status;
    return mpki_systems_make(ctx, m->an[p], &s->options, job->how, count, true, count == 1,
                             &m->part[p]);
}

/* The worker of each part: where the least is to do so far. */
static mpk_status find_homes(mpk_systems *s, const mpk_problem *const *problem) {
    mpki_mixed *m = s->mixed;
    double *load = MPKI_ZNEW(s->ctx, STAGE, s->workers, double);
    if (!load) return mpki_failed(s->ctx);
    for (int64_t p = 0; p < m->parts; p++) {
        int home = 0;
        for (int w = 1; w < s->workers; w++)
            if (load[w] < load[home]) home = w;
        m->home[p] = home;
        load[home] +=
            (double)problem[m->member[m->start[p]]]->nnz * (double)(m->start[p + 1] - m->start[p]);
    }
    mpki_release(s->ctx, load);
    return MPK_OK;
}

static mpk_status make_all(mpk_systems *s, const mpk_problem *const *problem,
                           const mpk_systems_options *how) {
    s->mixed = MPKI_ZNEW(s->ctx, STAGE, 1, mpki_mixed);
    if (!s->mixed) return mpki_failed(s->ctx);
    s->of_mixed = &TABLE;
    mpki_mixed *m = s->mixed;
    mpk_status status = group(s, problem);
    if (mpk_failed(status)) return status;
    m->scalar = s->count ? problem[0]->scalar : MPK_D;
    s->said = MPKI_ZNEW(s->ctx, STAGE, s->count, mpki_said);
    m->an = MPKI_ZNEW(s->ctx, STAGE, m->parts, mpk_analysis *);
    m->part = MPKI_ZNEW(s->ctx, STAGE, m->parts, mpk_systems *);
    m->home = MPKI_NEW(s->ctx, STAGE, m->parts, int);
    if (!s->said || !m->an || !m->part || !m->home) return mpki_failed(s->ctx);
    if (m->parts >= s->workers) {
        s->options.threads = 1;
    } else if (s->options.device == MPK_ON_CUDA && m->parts > 0) {
        s->options.threads = s->workers / (int)m->parts;
        s->workers = (int)m->parts; /* each has a stream */
    } else {
        s->workers = 1; /* and each part has all threads */
    }
    mixed_job job = {.s = s, .work = make_part, .problem = problem, .how = how};
    status = mpki_systems_children(s);
    if (!mpk_failed(status) && s->options.device == MPK_ON_CUDA) status = mpki_device_open(s);
    if (!mpk_failed(status)) status = find_homes(s, problem);
    return mpk_failed(status) ? status : run_all(&job);
}

static mpk_status check_problems(mpk_context *ctx, int64_t count, const mpk_problem *const *problem,
                                 const mpk_options *o) {
    if (o->ordering == MPK_ORDERING_GIVEN)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "ordering = given is for systems of one pattern");
    for (int64_t b = 0; b < count; b++) {
        if (!problem[b])
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, b, "problem %lld is NULL",
                              (long long)b);
        if (problem[b]->scalar != problem[0]->scalar)
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, b,
                              "problem %lld has another scalar type than the first", (long long)b);
    }
    return MPK_OK;
}

mpk_status mpk_systems_create_mixed(mpk_context *ctx, int64_t count,
                                    const mpk_problem *const *problems, const mpk_options *options,
                                    const mpk_systems_options *how, mpk_systems **out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_systems_options full;
    mpk_options o;
    if ((!problems && count > 0) || !out || *out)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the problems are NULL, or out is, or *out is not");
    mpk_status status = mpki_systems_options_read(ctx, how, &full);
    if (!mpk_failed(status)) status = mpki_systems_check_count(ctx, count);
    if (!mpk_failed(status)) status = mpki_options_resolve(ctx, options, &o);
    if (!mpk_failed(status)) status = check_problems(ctx, count, problems, &o);
    if (mpk_failed(status)) return status;
    mpk_systems *s = MPKI_ZNEW(ctx, STAGE, 1, mpk_systems);
    if (!s) return mpki_failed(ctx);
    if (o.method == MPK_METHOD_AUTO) o.method = MPK_METHOD_LDLT;
    full.expected = 0; /* of all: a part knows its own */
    s->ctx = ctx, s->count = count, s->options = o;
    s->workers = mpki_context_threads(ctx, o.threads > 0 ? o.threads : mpki_threads_default());
    status = make_all(s, problems, &full);
    if (mpk_failed(status))
        mpk_systems_destroy(&s);
    else
        *out = s;
    return status;
}
