/* SPDX-License-Identifier: BSD-3-Clause */
/* From a sparse matrix on a device to its approximate inverse there: transposes, patterns, columns.
 */
#include "make.h"

#include <string.h>

/* ---- what is done where ---------------------------------------------------------------------- */

mpk_status mpki_cuda_isai_job_begin(mpk_context *ctx, const char *stage, mpk_scalar scalar,
                                    int32_t n, mpki_isai_job *job) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    if (!d->table->isai)
        return mpki_error(ctx, MPK_ERR_DEVICE, stage, -1,
                          "the CUDA module has no approximate inverses");
    *job = (mpki_isai_job){.ctx = ctx, .d = d, .t = d->table->isai, .stage = stage};
    job->scalar = scalar, job->n = n;
    job->stream = job->t->stream(d->cuda);
    job->info.first_fallback = -1;
    return MPK_OK;
}

/* A call moves no more than this, for a row of a copy has less than 2^31 bytes. */
enum { COPY_MOST = 1 << 30 };

static mpk_status copy(const mpki_isai_job *job, void *to, const void *from, int64_t bytes,
                       int to_device) {
    int status = MPK_OK;
    for (int64_t k = 0; k < bytes && !mpk_failed(status); k += COPY_MOST) {
        const int64_t w = bytes - k < COPY_MOST ? bytes - k : COPY_MOST;
        status = job->d->table->copy(job->d->cuda, (char *)to + k, w, (const char *)from + k, w, w,
                                     1, to_device, job->stream);
    }
    return mpki_cuda_isai_status(job, status);
}

mpk_status mpki_cuda_isai_wait(const mpki_isai_job *job) {
    return mpki_cuda_isai_status(job, job->d->table->synchronize(job->d->cuda, job->stream));
}

mpk_status mpki_cuda_isai_to_device(const mpki_isai_job *job, void *to, const void *from,
                                    int64_t bytes) {
    return copy(job, to, from, bytes, 1);
}

mpk_status mpki_cuda_isai_to_host(const mpki_isai_job *job, void *to, const void *from,
                                  int64_t bytes) {
    const mpk_status status = copy(job, to, from, bytes, 0);
    return mpk_failed(status) ? status : mpki_cuda_isai_wait(job);
}

/* ---- matrices -------------------------------------------------------------------------------- */

static int64_t pointers(const mpki_isai_job *job) {
    return ((int64_t)job->n + 1) * (int64_t)sizeof(int64_t);
}

static int64_t value_bytes(const mpki_isai_job *job, int64_t entries) {
    return entries * (int64_t)mpk_scalar_size(job->scalar);
}

int64_t mpki_cuda_isai_sparse_bytes(const mpki_isai_job *job, int64_t entries, bool values,
                                    bool from) {
    return mpki_cuda_isai_rounded(pointers(job)) +
           mpki_cuda_isai_rounded(entries * (int64_t)sizeof(int32_t)) +
           (values ? mpki_cuda_isai_rounded(value_bytes(job, entries)) : 0) +
           (from ? mpki_cuda_isai_rounded(entries * (int64_t)sizeof(int64_t)) : 0);
}

mpk_status mpki_cuda_isai_sparse_make(mpki_isai_job *job, int64_t entries, bool values, bool from,
                                      mpki_isai_sparse *a) {
    const int64_t index = entries * (int64_t)sizeof(int32_t);
    int64_t used = 0;
    *a = (mpki_isai_sparse){.entries = entries};
    mpk_status status = mpki_cuda_isai_take(
        job, mpki_cuda_isai_rounded(pointers(job)) + mpki_cuda_isai_rounded(index), &a->pattern);
    if (!mpk_failed(status) && values)
        status = mpki_cuda_isai_take(job, value_bytes(job, entries), &a->values);
    if (!mpk_failed(status) && from)
        status = mpki_cuda_isai_take(job, entries * (int64_t)sizeof *a->from, &a->map);
    if (mpk_failed(status)) {
        mpki_cuda_isai_give_sparse(job, a);
        return status;
    }
    a->a.ptr = mpki_cuda_isai_place(&a->pattern, &used, pointers(job));
    a->a.index = mpki_cuda_isai_place(&a->pattern, &used, index);
    a->a.val = a->values.at;
    a->from = (int64_t *)(void *)a->map.at;
    return MPK_OK;
}

void mpki_cuda_isai_strip(mpki_isai_job *job, bool pattern, bool values, mpki_isai_sparse *a) {
    if (!pattern) mpki_cuda_isai_give(job, &a->pattern);
    if (!values) mpki_cuda_isai_give(job, &a->values);
    mpki_cuda_isai_give(job, &a->map);
    if (!pattern) a->a.ptr = NULL, a->a.index = NULL;
    if (!values) a->a.val = NULL;
    a->from = NULL;
}

mpk_status mpki_cuda_isai_again(mpki_isai_job *job, const mpki_isai_sparse *a,
                                mpki_isai_sparse *t) {
    return mpki_cuda_isai_status(
        job, job->t->move(job->d->cuda, job->scalar, t->entries, t->from, a->a.val, t->a.val));
}

int64_t mpki_cuda_isai_turn_bytes(int32_t n, int64_t entries) {
    const int64_t eight = (int64_t)sizeof(int64_t);
    return 2 * mpki_cuda_isai_rounded(((int64_t)n + 1) * eight) +
           mpki_cuda_isai_rounded(entries * (int64_t)sizeof(int32_t)) +
           mpki_cuda_isai_rounded(entries * eight) +
           mpki_cuda_isai_rounded(mpki_isai_sums(n) * eight);
}

mpk_status mpki_cuda_isai_turn(mpki_isai_job *job, const mpki_isai_sparse *a, mpki_isai_sparse *t) {
    const int64_t four = (int64_t)sizeof(int32_t), eight = (int64_t)sizeof(int64_t);
    mpki_isai_turning turning = {.n = job->n, .entries = a->entries, .ptr = a->a.ptr};
    mpki_isai_piece work = {0};
    int64_t used = 0;
    mpk_status status = mpki_cuda_isai_sparse_make(job, a->entries, true, true, t);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_borrow(job, mpki_cuda_isai_turn_bytes(job->n, a->entries), &work);
    if (mpk_failed(status)) goto done;
    turning.index = a->a.index;
    turning.to_ptr = t->a.ptr, turning.to_index = t->a.index, turning.from = t->from;
    turning.next = mpki_cuda_isai_place(&work, &used, pointers(job));
    turning.longs = mpki_cuda_isai_place(&work, &used, pointers(job));
    turning.other = mpki_cuda_isai_place(&work, &used, a->entries * four);
    turning.other_from = mpki_cuda_isai_place(&work, &used, a->entries * eight);
    turning.sums = mpki_cuda_isai_place(&work, &used, mpki_isai_sums(job->n) * eight);
    status = mpki_cuda_isai_status(job, job->t->turn(job->d->cuda, &turning));
    if (!mpk_failed(status) && a->a.val) status = mpki_cuda_isai_again(job, a, t);
done:
    mpki_cuda_isai_give(job, &work);
    if (mpk_failed(status)) mpki_cuda_isai_give_sparse(job, t);
    return status;
}

/* ---- patterns -------------------------------------------------------------------------------- */

static mpk_status over_limit(mpki_isai_job *job, const mpki_isai_powers *p, int32_t column) {
    int64_t count = 0;
    const mpk_status status =
        mpki_cuda_isai_to_host(job, &count, p->to_ptr + column + 1, sizeof count);
    if (mpk_failed(status)) return status;
    return mpki_error(job->ctx, MPK_ERR_ARGUMENT, job->stage, column,
                      "column %d of the approximate inverse would have %lld entries, the limit is "
                      "%d",
                      column + 1, (long long)count + 1, p->limit);
}

/* Columns that the first kernel has left. */
static mpk_status far_columns(mpki_isai_job *job, const mpki_isai_notes *notes, mpki_isai_powers *p,
                              mpki_isai_piece *marks) {
    enum { SLOTS = 264, BYTES = 1 << 28 };
    const int64_t each = (int64_t)job->n * (int64_t)sizeof(int32_t);
    if (notes->far == 0) return MPK_OK;
    int64_t used = 0, slots = notes->far < SLOTS ? notes->far : SLOTS;
    if (slots * each > BYTES) slots = each > BYTES ? 1 : BYTES / each;
    mpk_status status = MPK_OK;
    if (!marks->at)
        status = mpki_cuda_isai_borrow(job, 2 * mpki_cuda_isai_rounded(slots * each), marks);
    if (mpk_failed(status)) return status;
    p->slots = (int32_t)slots;
    p->seen = mpki_cuda_isai_place(marks, &used, slots * each);
    p->reach = mpki_cuda_isai_place(marks, &used, slots * each);
    return mpki_cuda_isai_status(job, job->t->far(job->d->cuda, p));
}

/* Memory for what the first pass finds, unless memory is short: then the second one searches
 * again. */
static mpk_status allocate_found(mpki_isai_job *job, bool triangle, mpki_isai_powers *p,
                                 mpki_isai_piece *found) {
    enum { ASK = 1 << 28 }; /* so much is tried without a question, which takes long */
    char text[256];
    int64_t there = 0, all = 0;
    const int32_t each = mpki_isai_found_each(job->n, p->entries, p->power, triangle);
    const int64_t bytes = (int64_t)job->n * each * (int64_t)sizeof *p->found;
    mpk_status status = MPK_OK;
    if (p->block > 0 || bytes == 0) return MPK_OK;
    if (bytes > ASK)
        status = mpki_cuda_isai_status(
            job, job->d->table->describe(job->d->cuda, text, sizeof text, &there, &all));
    if (mpk_failed(status) || (there > 0 && bytes > there / 4)) return status;
    if (job->limit > 0 && 2 * (double)bytes > job->limit - (double)job->bytes) return MPK_OK;
    status = mpki_cuda_isai_borrow(job, bytes, found);
    if (status == MPK_ERR_MEMORY) {
        mpki_clear_error(job->ctx);
        return MPK_OK;
    }
    if (!mpk_failed(status)) p->found_each = each, p->found = (int32_t *)(void *)found->at;
    return status;
}

/* For M by columns; of an approximate inverse by itself with what M by rows will take. */
static mpk_status allocate_pattern(mpki_isai_job *job, int64_t entries, mpki_isai_sparse *m) {
    mpk_status status = MPK_OK;
    if (job->held[0].all.at && !job->held[1].all.at)
        status = mpki_cuda_isai_set_aside(job,
                                          mpki_cuda_isai_sparse_bytes(job, entries, true, false) +
                                              mpki_cuda_isai_sparse_bytes(job, entries, true, true),
                                          &job->held[1]);
    return mpk_failed(status) ? status : mpki_cuda_isai_sparse_make(job, entries, true, false, m);
}

/* Counts, sums, rows. */
static mpk_status power_pattern(mpki_isai_job *job, mpki_isai_powers *p, mpk_isai_over over,
                                bool triangle, mpki_isai_sparse *m) {
    const int64_t four = (int64_t)sizeof(int32_t), eight = (int64_t)sizeof(int64_t);
    const int64_t sum_bytes = mpki_isai_sums(job->n) * eight;
    mpki_isai_piece work = {0}, marks = {0}, found = {0};
    mpki_isai_notes notes = {.first_over = job->n};
    int64_t used = 0, entries = 0;
    mpk_status status = mpki_cuda_isai_borrow(job,
                                              mpki_cuda_isai_rounded(pointers(job)) +
                                                  2 * mpki_cuda_isai_rounded(job->n * four) +
                                                  mpki_cuda_isai_rounded(sum_bytes) + 256,
                                              &work);
    if (mpk_failed(status)) return status;
    p->to_ptr = mpki_cuda_isai_place(&work, &used, pointers(job));
    p->mid = mpki_cuda_isai_place(&work, &used, job->n * four);
    p->far = mpki_cuda_isai_place(&work, &used, job->n * four);
    int64_t *const sums = mpki_cuda_isai_place(&work, &used, sum_bytes);
    p->notes = mpki_cuda_isai_place(&work, &used, sizeof notes);
    status = allocate_found(job, triangle, p, &found);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_device(job, p->notes, &notes, sizeof notes);
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, job->t->powers(job->d->cuda, p));
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, &notes, p->notes, sizeof notes);
    if (!mpk_failed(status)) status = far_columns(job, &notes, p, &marks);
    if (!mpk_failed(status) && notes.far > 0)
        status = mpki_cuda_isai_to_host(job, &notes, p->notes, sizeof notes);
    if (!mpk_failed(status) && over == MPK_ISAI_REFUSE && notes.first_over < job->n)
        status = over_limit(job, p, notes.first_over);
    job->info.over += notes.cut;
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(job, job->t->sum(job->d->cuda, job->n, p->to_ptr, sums));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, &entries, p->to_ptr + job->n, sizeof entries);
    if (!mpk_failed(status)) status = allocate_pattern(job, entries, m);
    if (status == MPK_ERR_MEMORY && found.at) { /* then the second pass searches again */
        mpki_clear_error(job->ctx);
        mpki_cuda_isai_give(job, &found);
        p->found_each = 0, p->found = NULL;
        status = allocate_pattern(job, entries, m);
    }
    if (!mpk_failed(status)) {
        p->to_index = m->a.index;
        status = mpki_cuda_isai_status(job, job->t->powers(job->d->cuda, p));
    }
    if (!mpk_failed(status)) status = far_columns(job, &notes, p, &marks);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(
            job, job->t->clone(job->d->cuda, m->a.ptr, p->to_ptr, pointers(job)));
    mpki_cuda_isai_give(job, &found);
    mpki_cuda_isai_give(job, &marks);
    mpki_cuda_isai_give(job, &work);
    if (mpk_failed(status)) mpki_cuda_isai_give_sparse(job, m);
    return status;
}

/* A pattern that is the graph's own. */
static mpk_status borrow(mpki_isai_job *job, const mpki_isai_sparse *graph, mpki_isai_sparse *m) {
    *m = (mpki_isai_sparse){.entries = graph->entries};
    const mpk_status status =
        mpki_cuda_isai_take(job, value_bytes(job, graph->entries), &m->values);
    if (mpk_failed(status)) return status;
    m->a = (mpki_isai_matrix){graph->a.ptr, graph->a.index, m->values.at};
    return MPK_OK;
}

mpk_status mpki_cuda_isai_pattern(mpki_isai_job *job, const mpki_isai_sparse *graph, bool own,
                                  const mpki_isai_shape *shape, mpki_isai_sparse *m) {
    if (own && !shape->blocks && shape->power == 1 && shape->limit == 0)
        return borrow(job, graph, m);
    mpki_isai_powers p = {.n = job->n, .keep = shape->keep, .power = shape->power};
    p.block = shape->blocks ? shape->block : 0;
    p.limit = shape->limit, p.less = shape->over == MPK_ISAI_LESS;
    p.entries = graph->entries;
    p.ptr = graph->a.ptr, p.index = graph->a.index, p.group = shape->group;
    return power_pattern(job, &p, shape->over, own, m);
}

/* ---- columns --------------------------------------------------------------------------------- */

void mpki_cuda_isai_count(mpki_isai_job *job, const mpki_isai_sparse *m) {
    for (int k = 0; k < MPK_ISAI_CLASSES; k++) job->info.columns[k] += job->columns[k];
    if (job->longest > job->info.longest) job->info.longest = (int32_t)job->longest;
    job->info.entries += m->entries + job->n;
}

mpk_status mpki_cuda_isai_classify(mpki_isai_job *job, const mpki_isai_sparse *m, int32_t *list,
                                   int64_t count[MPK_ISAI_CLASSES], int64_t *longest) {
    int64_t counted[MPK_ISAI_CLASSES + 1] = {0};
    mpki_isai_classes c = {.n = job->n, .ptr = m->a.ptr};
    mpki_isai_piece work = {0};
    mpk_status status = mpki_cuda_isai_borrow(job, 512, &work);
    c.count = (int64_t *)(void *)work.at;
    c.next = c.count + MPK_ISAI_CLASSES + 1;
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, job->t->classes(job->d->cuda, &c));
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, counted, c.count, sizeof counted);
    for (int k = 0; k + 1 < MPK_ISAI_CLASSES; k++) c.first[k + 1] = c.first[k] + counted[k];
    c.list = list;
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, job->t->classes(job->d->cuda, &c));
    memcpy(count, counted, sizeof *count * MPK_ISAI_CLASSES);
    memcpy(job->columns, count, sizeof job->columns);
    job->longest = counted[MPK_ISAI_CLASSES];
    *longest = counted[MPK_ISAI_CLASSES];
    mpki_cuda_isai_give(job, &work);
    return status;
}

mpk_status mpki_cuda_isai_invert(mpki_isai_job *job, const mpki_isai_triangle *t,
                                 mpki_isai_sparse *m) {
    const int64_t four = (int64_t)sizeof(int32_t);
    mpki_isai_inversion v = {.scalar = job->scalar, .n = job->n, .upper = t->upper};
    mpki_isai_piece work = {0};
    int64_t used = 0;
    int32_t bad = job->n;
    mpk_status status =
        mpki_cuda_isai_borrow(job, mpki_cuda_isai_rounded(job->n * four) + 256, &work);
    if (mpk_failed(status)) return status;
    int32_t *const list = mpki_cuda_isai_place(&work, &used, job->n * four);
    v.rows = t->rows->a, v.columns = t->columns->a, v.dinv = t->dinv, v.m = m->a, v.list = list;
    v.bad = mpki_cuda_isai_place(&work, &used, sizeof bad);
    status = mpki_cuda_isai_to_device(job, v.bad, &bad, sizeof bad);
    if (!mpk_failed(status)) status = mpki_cuda_isai_classify(job, m, list, v.count, &v.longest);
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, job->t->invert(job->d->cuda, &v));
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, &bad, v.bad, sizeof bad);
    mpki_cuda_isai_give(job, &work);
    if (mpk_failed(status)) return status;
    if (bad < job->n)
        return mpki_error(job->ctx, MPK_ERR_NUMERIC, job->stage, bad,
                          "column %d of the approximate inverse is not finite", bad + 1);
    return MPK_OK;
}

/* Columns over the limit keep their largest entries: a pattern of its own. */
static mpk_status prune(mpki_isai_job *job, int32_t limit, mpki_isai_sparse *m) {
    const int64_t eight = (int64_t)sizeof(int64_t), sum_bytes = mpki_isai_sums(job->n) * eight;
    mpki_isai_pruning p = {.scalar = job->scalar, .n = job->n, .limit = limit};
    mpki_isai_piece work = {0};
    mpki_isai_sparse cut = {0};
    int64_t used = 0, entries = 0;
    mpk_status status = mpki_cuda_isai_borrow(job,
                                              mpki_cuda_isai_rounded(pointers(job)) +
                                                  mpki_cuda_isai_rounded(m->entries) +
                                                  mpki_cuda_isai_rounded(sum_bytes),
                                              &work);
    if (mpk_failed(status)) return status;
    p.ptr = m->a.ptr, p.index = m->a.index, p.val = m->a.val;
    p.to_ptr = mpki_cuda_isai_place(&work, &used, pointers(job));
    p.stays = mpki_cuda_isai_place(&work, &used, m->entries);
    int64_t *const sums = mpki_cuda_isai_place(&work, &used, sum_bytes);
    status = mpki_cuda_isai_status(job, job->t->prune(job->d->cuda, &p));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(job, job->t->sum(job->d->cuda, job->n, p.to_ptr, sums));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, &entries, p.to_ptr + job->n, sizeof entries);
    if (!mpk_failed(status)) status = mpki_cuda_isai_sparse_make(job, entries, true, false, &cut);
    p.to_index = cut.a.index;
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, job->t->prune(job->d->cuda, &p));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(
            job, job->t->clone(job->d->cuda, cut.a.ptr, p.to_ptr, pointers(job)));
    mpki_cuda_isai_give(job, &work);
    if (mpk_failed(status)) {
        mpki_cuda_isai_give_sparse(job, &cut);
        return status;
    }
    mpki_cuda_isai_give_sparse(job, m);
    *m = cut;
    return MPK_OK;
}

/* How many columns are over the limit. */
static mpk_status count_over(mpki_isai_job *job, int32_t limit, const mpki_isai_sparse *m,
                             int64_t *over) {
    int64_t *const ptr = MPKI_NEW(job->ctx, job->stage, (int64_t)job->n + 1, int64_t);
    if (!ptr) return mpki_failed(job->ctx);
    const mpk_status status = mpki_cuda_isai_to_host(job, ptr, m->a.ptr, pointers(job));
    *over = 0;
    for (int32_t j = 0; j < job->n && !mpk_failed(status); j++)
        *over += ptr[j + 1] - ptr[j] >= limit;
    mpki_release(job->ctx, ptr);
    return status;
}

mpk_status mpki_cuda_isai_cut(mpki_isai_job *job, const mpki_isai_shape *shape, mpki_isai_sparse *m,
                              bool *again) {
    int64_t over = 0;
    mpk_status status = MPK_OK;
    *again = false;
    if (shape->limit == 0 || shape->over != MPK_ISAI_LARGEST) return MPK_OK;
    status = count_over(job, shape->limit, m, &over);
    if (mpk_failed(status) || over == 0) return status;
    job->info.over += over;
    *again = true;
    return prune(job, shape->limit, m);
}

mpk_status mpki_cuda_isai_rows(mpki_isai_job *job, const mpki_isai_triangle *t,
                               const mpki_isai_sparse *m, mpki_isai_sparse *rows) {
    const bool turned = t && t->rows->from == NULL; /* the triangle was given by rows */
    if (!t || m->a.ptr != t->columns->a.ptr) return mpki_cuda_isai_turn(job, m, rows);
    *rows = (mpki_isai_sparse){.entries = m->entries};
    mpk_status status = mpki_cuda_isai_take(job, value_bytes(job, m->entries), &rows->values);
    if (!mpk_failed(status) && turned)
        status = mpki_cuda_isai_take(job, m->entries * (int64_t)sizeof *rows->from, &rows->map);
    if (mpk_failed(status)) return status;
    rows->a = (mpki_isai_matrix){t->rows->a.ptr, t->rows->a.index, rows->values.at};
    rows->from = t->rows->from;
    if (turned) {
        rows->from = (int64_t *)(void *)rows->map.at;
        status = mpki_cuda_isai_status(
            job, job->t->reverse(job->d->cuda, m->entries, t->columns->from, rows->from));
    }
    return mpk_failed(status) ? status : mpki_cuda_isai_again(job, m, rows);
}

mpk_status mpki_cuda_isai_to_single(mpki_isai_job *job, int64_t entries, const void *val,
                                    void *single) {
    mpki_isai_piece flag = {0};
    int32_t bad = 0;
    mpk_status status = mpki_cuda_isai_borrow(job, sizeof bad, &flag);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_device(job, flag.at, &bad, sizeof bad);
    if (!mpk_failed(status))
        status =
            mpki_cuda_isai_status(job, job->t->to_single(job->d->cuda, job->scalar, entries, val,
                                                         single, (int32_t *)(void *)flag.at));
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, &bad, flag.at, sizeof bad);
    mpki_cuda_isai_give(job, &flag);
    if (mpk_failed(status) || !bad) return status;
    return mpki_error(job->ctx, MPK_ERR_NUMERIC, job->stage, -1,
                      "the approximate inverse does not fit into single precision");
}
