/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's engine for factors on blocks (backends/sparse.h): brings a stage to the device, has the
 * module compute it, and takes back what factor/stages.c has to know. */
#include "../../core/pool.h"
#include "../../core/trace.h"
#include "blocks/blocks.h"
#include "engine.h"
#include "load.h"
#include "sweeps.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

/* Bytes of the work blocks of a portion: few beside the device's memory, many beside its caches. */
enum { PORTION_BYTES = 256 << 20 };

/* ---- device memory ------------------------------------------------------------------------------
 */

/* A piece of device memory. */
typedef struct piece {
    char *at;
    int64_t bytes;
} piece;

/* What a stage is made from but for the values of A; kept for other values where stages->plan says
 * so. Owned by that, or by one factor. */
struct mpki_block_plan {
    mpki_cuda_stage job;       /* its addresses */
    piece matrix, lists, work; /* A and its order; the index; what is due, and work space */
    int32_t *frame_order;      /* device, in `lists`: frames by level sets */
    mpki_cuda_portion *portion;
    bool ready;
};

struct mpki_blocks {
    mpk_context *ctx;
    mpki_stages *stages;
    const mpki_device *device;
    const mpki_cuda_blocks_table *module;
    mpki_cuda_stage job;
    mpki_block_plan *plan;
    bool owns_plan;
    piece frames, blocks, words, spare; /* by number; the arena; a generation of sweeps */
    int64_t held, room; /* bytes held, the plan's included; blocks that `blocks` has room for */
    mpki_cuda_store store;
    mpki_cuda_notes told;
    double norm1;      /* < 0: not known yet */
    uint32_t *entries; /* host, by block: made when it is asked for */
};

static mpk_status told(const mpki_blocks *f, int status) {
    return mpki_cuda_told(f->ctx, STAGE, status);
}

static void give(mpki_blocks *f, piece *p) {
    f->device->table->release(f->device->cuda, p->at);
    f->held -= p->bytes;
    *p = (piece){0};
}

/* What may still be taken under options.device_memory_limit; a large number where there is none. */
static int64_t left(const mpki_blocks *f) {
    const double limit = f->stages->options->device_memory_limit;
    return limit > 0 && limit < 0x1p62 ? (int64_t)limit - f->held : INT64_MAX;
}

/* Refuse what is beyond the limit before any of it is taken. */
static mpk_status check(const mpki_blocks *f, int64_t bytes) {
    if (bytes <= left(f)) return MPK_OK;
    return mpki_error(f->ctx, MPK_ERR_MEMORY, STAGE, f->held + bytes,
                      "the factorization needs %.3f GiB of device memory; device_memory_limit is "
                      "%.3f GiB",
                      (double)(f->held + bytes) * 0x1p-30,
                      f->stages->options->device_memory_limit * 0x1p-30);
}

static mpk_status take(mpki_blocks *f, piece *p, int64_t bytes) {
    if (p->at && p->bytes >= bytes) return MPK_OK;
    give(f, p);
    mpk_status status = check(f, bytes);
    if (mpk_failed(status)) return status;
    void *at = NULL;
    status = told(f, f->device->table->alloc(f->device->cuda, bytes, &at));
    if (mpk_failed(status)) return status;
    *p = (piece){at, bytes};
    f->held += bytes;
    return MPK_OK;
}

/* Copies: a call moves no more than this, for a row of a copy has less than 2^31 bytes. */
enum { COPY_MOST = 1 << 30 };

static mpk_status copy(const mpki_blocks *f, void *to, const void *from, int64_t bytes,
                       bool to_device) {
    const mpki_cuda_table *t = f->device->table;
    mpk_status status = MPK_OK;
    for (int64_t k = 0; k < bytes && !mpk_failed(status); k += COPY_MOST) {
        const int64_t n = bytes - k < COPY_MOST ? bytes - k : COPY_MOST;
        status = told(f, t->copy(f->device->cuda, (char *)to + k, n, (const char *)from + k, n, n,
                                 1, to_device, f->job.stream));
    }
    return status;
}

static mpk_status finish_copies(const mpki_blocks *f) {
    return told(f, f->device->table->synchronize(f->device->cuda, f->job.stream));
}

/* An array in a piece: where its address goes, what is sent there (NULL: nothing), and its size.
 * `at` is const in many: the device's kernels only read it. */
typedef struct array {
    void *at;
    const void *from;
    int64_t bytes;
} array;

static int64_t rounded(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static int64_t bytes_of(const array *arrays, int count) {
    int64_t bytes = 256;
    for (int k = 0; k < count; k++) bytes += rounded(arrays[k].bytes);
    return bytes;
}

/* Take the piece, and place the arrays in it. */
static mpk_status lay_out(mpki_blocks *f, piece *p, const array *arrays, int count) {
    mpk_status status = take(f, p, bytes_of(arrays, count));
    int64_t used = 0;
    for (int k = 0; k < count && !mpk_failed(status); k++) {
        char *at = p->at + used;
        memcpy(arrays[k].at, &at, sizeof at);
        used += rounded(arrays[k].bytes);
        if (arrays[k].from) status = copy(f, at, arrays[k].from, arrays[k].bytes, true);
    }
    return status;
}

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* A part of what is brought to page-locked memory. */
typedef struct piecewise {
    char *to;
    const char *from;
    int64_t bytes;
} piecewise;

enum { PIECE = 256 << 10 };

static void bring_piece(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const piecewise *p = arg;
    const int64_t begin = item * PIECE, left = p->bytes - begin;
    memcpy(p->to + begin, p->from + begin, (size_t)(left < PIECE ? left : PIECE));
}

/* Send much: by all threads into page-locked memory, from which it goes at full speed. */
static mpk_status send(mpki_blocks *f, const void *to, const void *from, int64_t bytes) {
    const int threads = f->stages->options->threads;
    mpk_status status = MPK_OK;
    mpki_pool *pool = NULL;
    if (threads > 1 && bytes > 16 * PIECE) {
        pool = mpki_context_pool(f->ctx, threads, 16);
        status = mpki_failed(f->ctx);
    }
    int64_t room = 0;
    for (int64_t k = 0, half = 0; k < bytes && !mpk_failed(status); k += room, half ^= 1) {
        void *memory = NULL;
        status = told(f, f->module->half(f->device->cuda, (int)half, &memory, &room));
        if (mpk_failed(status)) break;
        piecewise p = {memory, (const char *)from + k, bytes - k < room ? bytes - k : room};
        mpki_pool_for(pool, 0, (p.bytes + PIECE - 1) / PIECE, bring_piece, &p);
        status = told(
            f, f->module->send(f->device->cuda, (int)half, (char *)(uintptr_t)to + k, p.bytes));
    }
    return status;
}

/* ---- what is sent -------------------------------------------------------------------------------
 */

/* The pattern of A, and room for its values. */
static mpk_status send_pattern(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_blocking *b = s->blocking;
    mpki_cuda_stage *j = &f->job;
    const int64_t n = b->n, i4 = 4, i8 = 8, size = (int64_t)mpk_scalar_size(s->scalar);
    const mpki_full *a = s->a, *at = s->at ? s->at : s->a;
    const int64_t nnz = a->ptr[n], turned = s->at ? at->ptr[n] : 0, general = s->at ? n : 0;
    const array arrays[] = {
        {&j->a.ptr, a->ptr, (n + 1) * i8},
        {&j->a.col, NULL, nnz * i4},
        {&j->a.val, NULL, nnz * size},
        {&j->a.slot, NULL, nnz * i4},
        {&j->at.ptr, s->at ? at->ptr : NULL, s->at ? (n + 1) * i8 : 0},
        {&j->at.col, NULL, turned * i4},
        {&j->at.val, NULL, turned * size},
        {&j->at.slot, NULL, turned * i4},
        {&j->scale, NULL, n * i8},
        {&j->row_scale, NULL, general * i8},
        {&j->row_of, s->row_of, s->row_of ? n * i4 : 0},
        {&j->perm, b->perm, n * i4},
        {&j->iperm, b->iperm, n * i4},
        {&j->of, b->of, n * i4},
        {&j->pair, s->pair, s->pair ? n * i4 : 0},
    };
    mpk_status status = lay_out(f, &f->plan->matrix, arrays, COUNT(arrays));
    if (!mpk_failed(status)) status = send(f, j->a.col, a->col, nnz * i4);
    if (!mpk_failed(status) && s->at) status = send(f, j->at.col, at->col, turned * i4);
    if (!s->at) j->at = (mpki_cuda_rows){0};
    if (!s->row_of) j->row_of = NULL;
    if (!s->pair) j->pair = NULL;
    return status;
}

/* Its values, and their scales. */
static mpk_status send_values(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_cuda_stage *j = &f->job;
    const int64_t n = j->n, size = (int64_t)mpk_scalar_size(s->scalar);
    mpk_status status = send(f, j->a.val, s->a->val, s->a->ptr[n] * size);
    if (!mpk_failed(status)) status = send(f, j->scale, s->scale, n * 8);
    if (!s->at || mpk_failed(status)) return status;
    status = send(f, j->at.val, s->at->val, s->at->ptr[n] * size);
    return mpk_failed(status) ? status : send(f, j->row_scale, s->row_scale, n * 8);
}

/* By frame: what the factor keeps, and what stages write. */
static mpk_status make_frames(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    const int64_t m = j->m, n = j->n, size = (int64_t)mpk_scalar_size(j->scalar);
    const array arrays[] = {
        {&j->bptr, s->blocking->bptr, (m + 1) * 4},
        {&j->to.pivot, NULL, m * 8},
        {&j->to.pivot_n, NULL, s->ldu ? m * 8 : 0},
        {&j->to.d, NULL, 2 * n * size},
        {&j->to.dinv, NULL, 2 * n * size},
        {&j->pivots, NULL, m * (int64_t)sizeof *j->pivots},
        {&j->final, NULL, m},
        {&j->reject, NULL, m},
        {&j->told, NULL, (int64_t)sizeof *j->told},
    };
    if (f->frames.at) return MPK_OK;
    mpk_status status = lay_out(f, &f->frames, arrays, COUNT(arrays));
    if (!mpk_failed(status))
        status =
            told(f, f->module->set(f->device->cuda, j->pivots, 0, m * (int64_t)sizeof *j->pivots));
    if (!mpk_failed(status))
        status = told(f, f->module->set(f->device->cuda, j->to.pivot, 0xff, m * 8));
    if (!mpk_failed(status) && s->ldu)
        status = told(f, f->module->set(f->device->cuda, j->to.pivot_n, 0xff, m * 8));
    if (!s->ldu) j->to.pivot_n = j->to.pivot;
    return status;
}

/* By block, for as many as the index has now; those that were there stay as they are. */
static mpk_status make_blocks(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    const int64_t n = s->index.nblocks, had = f->room, two = s->ldu;
    if (f->blocks.at && n <= had) return MPK_OK;
    int64_t *lower = NULL, *upper = NULL;
    uint32_t *held = NULL, *held_u = NULL;
    const array arrays[] = {
        {&lower, NULL, n * 8},        {&upper, NULL, two * n * 8}, {&held, NULL, n * 4},
        {&held_u, NULL, two * n * 4}, {&j->capacity, NULL, n * 8}, {&j->want, NULL, n},
        {&j->stored, NULL, n},
    };
    const mpki_cuda_blocks_table *m = f->module;
    mpki_cuda *cuda = f->device->cuda;
    piece old = f->blocks;
    f->blocks = (piece){0};
    mpk_status status = lay_out(f, &f->blocks, arrays, COUNT(arrays));
    if (!mpk_failed(status)) status = told(f, m->set(cuda, lower, 0xff, n * 8));
    if (!mpk_failed(status)) status = told(f, m->set(cuda, upper, 0xff, two * n * 8));
    if (!mpk_failed(status)) status = told(f, m->set(cuda, held, 0, n * 4));
    if (!mpk_failed(status)) status = told(f, m->set(cuda, held_u, 0, two * n * 4));
    if (old.at && !mpk_failed(status)) {
        status = told(f, m->move(cuda, lower, j->to.lower, had * 8));
        if (!mpk_failed(status)) status = told(f, m->move(cuda, held, j->held, had * 4));
        if (two && !mpk_failed(status))
            status = told(f, m->move(cuda, upper, j->to.upper, had * 8));
        if (two && !mpk_failed(status)) status = told(f, m->move(cuda, held_u, j->held_u, had * 4));
        if (!mpk_failed(status)) status = finish_copies(f);
    }
    give(f, &old);
    if (mpk_failed(status)) return status;
    j->to.lower = lower, j->to.upper = two ? upper : lower;
    j->held = held, j->held_u = two ? held_u : held;
    j->nblocks = n;
    f->room = n;
    return MPK_OK;
}

/* The lists of the index, with the places of the frames across. */
static mpk_status send_lists(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    mpki_cuda_stage *j = &f->job;
    const int64_t entries = x->ptr[x->m], m = x->m;
    int64_t *block = MPKI_NEW(f->ctx, STAGE, entries, int64_t);
    int32_t *other = MPKI_NEW(f->ctx, STAGE, entries, int32_t);
    int32_t *there = MPKI_NEW(f->ctx, STAGE, entries, int32_t);
    mpk_status status = block && other && there ? MPK_OK : mpki_failed(f->ctx);
    if (!mpk_failed(status)) {
        for (int64_t e = 0; e < entries; e++) {
            other[e] = x->entry[e].other;
            block[e] = x->entry[e].block;
            there[e] = x->place[other[e]];
        }
        const array arrays[] = {
            {&j->ptr, x->ptr, (m + 1) * 8},  {&j->diagonal, x->diagonal, m * 8},
            {&j->block, block, entries * 8}, {&j->other, other, entries * 4},
            {&j->there, there, entries * 4}, {&j->place, x->place, m * 4},
            {&j->pushed, x->stage, m * 4},   {&f->plan->frame_order, NULL, m * 4},
        };
        status = lay_out(f, &f->plan->lists, arrays, COUNT(arrays));
        if (!mpk_failed(status)) status = finish_copies(f);
    }
    mpki_release(f->ctx, block);
    mpki_release(f->ctx, other);
    mpki_release(f->ctx, there);
    return status;
}

/* What is due in a stage, on the host. */
typedef struct due {
    int32_t *who, *item_who, whos;
    int64_t *first, *entry, *slot, items;
    int64_t work, most_items; /* of a portion: entries, items */
    int32_t most_whos;
} due;

static void due_free(const mpki_blocks *f, due *d) {
    mpki_release(f->ctx, d->who);
    mpki_release(f->ctx, d->item_who);
    mpki_release(f->ctx, d->first);
    mpki_release(f->ctx, d->entry);
    mpki_release(f->ctx, d->slot);
}

static int64_t words_of(int64_t rows, int64_t entries, int64_t size) {
    return (MPKI_STORE_HEAD(rows) + entries * size / 4 + 3) / 4 * 4;
}

/* Words that a block takes at most: all of it, or (but for what it gets from others) its capacity. */
static int64_t words_of_block(const mpki_stages *s, int64_t block, int64_t rows, int64_t cols,
                              bool whole) {
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), room = s->capacity[block];
    const int64_t all = rows * cols;
    return (1 + s->ldu) * words_of(rows, whole || room < 0 || room > all ? all : room, size);
}

static void end_portion(mpki_blocks *f, due *d, int64_t entries, int64_t words) {
    mpki_cuda_portion *p = &f->plan->portion[f->job.portions++];
    p->end = d->whos, p->end_item = d->items, p->entries = entries, p->words = words;
    if (entries > d->work) d->work = entries;
    if (p->end - p->first > d->most_whos) d->most_whos = p->end - p->first;
    if (d->items - p->first_item > d->most_items) d->most_items = d->items - p->first_item;
}

/* Frames with their items in portions: `levels` sets, in each of them the frames order[ptr[l]] ..
 * Sweeps: one set. */
static mpk_status list_due(mpki_blocks *f, int32_t levels, const int32_t *ptr, const int32_t *order,
                           due *d) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), all = levels ? ptr[levels] : 0;
    const int64_t most = PORTION_BYTES / size / (1 + s->ldu);
    const int64_t most_whos = PORTION_BYTES / size / f->job.pivot_stride + 1;
    mpki_release(f->ctx, f->plan->portion);
    f->job.portions = 0;
    d->who = MPKI_NEW(f->ctx, STAGE, all, int32_t);
    d->first = MPKI_NEW(f->ctx, STAGE, all + 1, int64_t);
    d->entry = MPKI_NEW(f->ctx, STAGE, x->nblocks, int64_t);
    d->item_who = MPKI_NEW(f->ctx, STAGE, x->nblocks, int32_t);
    d->slot = MPKI_NEW(f->ctx, STAGE, x->ptr[x->m], int64_t);
    /* at most one portion a level more than the bounds make, and never more than frames */
    f->plan->portion = MPKI_NEW(f->ctx, STAGE, all + 1, mpki_cuda_portion);
    if (!d->who || !d->first || !d->entry || !d->item_who || !d->slot || !f->plan->portion)
        return mpki_failed(f->ctx);
    memset(d->slot, 0xff, (size_t)x->ptr[x->m] * sizeof *d->slot);
    for (int32_t l = 0; l < levels; l++) {
        int64_t entries = 0, words = 0;
        mpki_cuda_portion *p = NULL;
        for (int32_t k = ptr[l]; k < ptr[l + 1]; k++) {
            const int32_t frame = order[k];
            const int64_t w = mpki_frame_rows(s->blocking, frame), begin = d->items;
            if (p && (entries >= most || d->whos - p->first >= most_whos)) {
                end_portion(f, d, entries, words);
                p = NULL;
            }
            if (!p) {
                p = &f->plan->portion[f->job.portions];
                *p = (mpki_cuda_portion){.level = l, .first = d->whos, .first_item = d->items};
                entries = words = 0;
            }
            for (int64_t e = x->diagonal[frame]; e < x->ptr[frame + 1]; e++) {
                const int64_t block = x->entry[e].block;
                const int32_t row = x->entry[e].other;
                if (!s->want[block]) continue;
                const int64_t rows = mpki_frame_rows(s->blocking, row);
                d->entry[d->items] = e;
                d->item_who[d->items++] = d->whos;
                d->slot[e] = entries;
                entries += rows * w;
                if (row == frame) continue;
                words += words_of_block(s, block, rows, w, true);
            }
            if (d->items == begin) continue;
            d->who[d->whos] = frame;
            d->first[d->whos++] = begin;
            if (s->final[frame]) continue;
            words += (1 + s->ldu) * words_of(w, w * w, size);
        }
        if (p && d->whos > p->first) end_portion(f, d, entries, words);
    }
    d->first[d->whos] = d->items;
    f->job.portion = f->plan->portion;
    return MPK_OK;
}

/* Words that all of it takes at most. */
static int64_t words_due(const mpki_stages *s) {
    const mpki_ibcsr *x = &s->index;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored);
    int64_t words = 0;
    for (int32_t f = 0; f < x->m; f++) {
        const int64_t w = mpki_frame_rows(s->blocking, f);
        if (!s->final[f]) words += (1 + s->ldu) * words_of(w, w * w, size);
        for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++)
            if (s->want[x->entry[e].block])
                words += words_of_block(s, x->entry[e].block,
                                        mpki_frame_rows(s->blocking, x->entry[e].other), w, false);
    }
    return words;
}

static array work_array(void *at, int64_t bytes) {
    return (array){at, NULL, bytes};
}

/* Bytes of a stage's work space, which is taken unless `only`. */
static mpk_status make_work(mpki_blocks *f, const due *d, bool only, int64_t *bytes) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), halves = 1 + s->ldu;
    const int64_t real = s->stored == MPK_S || s->stored == MPK_C ? 4 : 8;
    const int64_t where = halves * (d->most_items + d->most_whos) * 8;
    const array arrays[] = {
        {&j->who, d->who, d->whos * (int64_t)4},
        {&j->first, d->first, (d->whos + (int64_t)1) * 8},
        {&j->entry, d->entry, d->items * 8},
        {&j->item_who, d->item_who, d->items * 4},
        {&j->slot, d->slot, s->index.ptr[s->index.m] * 8},
        work_array(&j->work, d->work * size),
        work_array(&j->work_u, (halves - 1) * d->work * size),
        work_array(&j->pivot_work, d->most_whos * j->pivot_stride * size),
        work_array(&j->norm, d->most_items * halves * j->largest * real),
        work_array(&j->threshold, d->most_whos * halves * j->largest * real),
        work_array(&j->most, d->most_items * real),
        work_array(&j->need, d->most_items * 8),
        work_array(&j->where, where > f->module->sum_bytes() ? where : f->module->sum_bytes()),
    };
    *bytes = bytes_of(arrays, COUNT(arrays));
    if (only) return MPK_OK;
    mpk_status status = lay_out(f, &f->plan->work, arrays, COUNT(arrays));
    return mpk_failed(status) ? status : finish_copies(f);
}

/* ---- the arena ----------------------------------------------------------------------------------
 */

/* Room for `words` in all; what is used stays. */
static mpk_status grow_words(mpki_blocks *f, int64_t words) {
    if (words <= f->job.words && f->words.at) return MPK_OK;
    piece more = {0};
    mpk_status status = take(f, &more, words * 4 + 256);
    if (!mpk_failed(status) && f->words.at) {
        status = told(f, f->module->move(f->device->cuda, more.at, f->words.at, 4 * f->told.used));
        if (!mpk_failed(status)) status = finish_copies(f);
    }
    if (mpk_failed(status)) {
        give(f, &more);
        return status;
    }
    give(f, &f->words);
    f->words = more;
    f->job.words = words;
    f->job.to.words = (uint32_t *)(void *)more.at;
    return MPK_OK;
}

static mpk_status read_told(mpki_blocks *f) {
    mpk_status status = copy(f, &f->told, f->job.told, (int64_t)sizeof f->told, false);
    return mpk_failed(status) ? status : finish_copies(f);
}

static mpk_status write_told(mpki_blocks *f) {
    f->told.broken = f->told.failed = INT32_MAX;
    f->told.stop = f->told.overflow = 0;
    return copy(f, f->job.told, &f->told, (int64_t)sizeof f->told, true);
}

/* ---- a stage ------------------------------------------------------------------------------------
 */

/* Options and bounds of the stage. */
static void describe(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    j->pivoting = (int32_t)s->pivoting;
    j->last = s->last;
    j->floor = s->floor;
    j->bound = s->bound;
    j->diagonal_shift = s->diagonal_shift;
}

/* The lists, and what factor/stages.c says of frames and blocks. */
static mpk_status send_stage(mpki_blocks *f, bool ready) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    const int64_t m = j->m;
    mpk_status status = make_blocks(f);
    const int64_t n = s->index.nblocks;
    if (!mpk_failed(status) && !ready) status = send_lists(f);
    if (!mpk_failed(status))
        status = copy(f, (void *)(uintptr_t)j->capacity, s->capacity, n * 8, true);
    if (!mpk_failed(status)) status = copy(f, j->want, s->want, n, true);
    if (!mpk_failed(status)) status = copy(f, j->stored, s->stored_blocks, n, true);
    if (!mpk_failed(status)) status = copy(f, j->final, s->final, m, true);
    if (!mpk_failed(status)) status = told(f, f->module->set(f->device->cuda, j->reject, 0, m));
    if (!mpk_failed(status) && !ready) status = told(f, f->module->place(f->device->cuda, j));
    return status;
}

static mpk_status take_back(mpki_blocks *f) {
    mpki_stages *s = f->stages;
    const mpki_cuda_stage *j = &f->job;
    const int64_t m = j->m, n = s->index.nblocks;
    mpk_status status = copy(f, s->final, j->final, m, false);
    if (!mpk_failed(status)) status = copy(f, s->reject, j->reject, m, false);
    if (!mpk_failed(status)) status = copy(f, s->want, j->want, n, false);
    if (!mpk_failed(status)) status = copy(f, s->stored_blocks, j->stored, n, false);
    if (!mpk_failed(status)) status = read_told(f);
    return status;
}

/* The status for what kernels told. */
static mpk_status judge(mpki_blocks *f) {
    mpki_stages *s = f->stages;
    const mpki_cuda_notes *t = &f->told;
    s->broken_frame = t->broken < INT32_MAX ? t->broken : -1;
    if (t->broken < INT32_MAX) return MPK_ERR_NUMERIC;
    if (t->failed < INT32_MAX)
        return mpki_error(f->ctx, MPK_ERR_NUMERIC, STAGE, t->failed,
                          "block %d: its pivots overflow", t->failed);
    if (t->overflow)
        return mpki_error(f->ctx, MPK_ERR_INTERNAL, STAGE, -1, "the arena was too small");
    return MPK_OK;
}

static mpk_status stopped(mpki_blocks *f) {
    finish_copies(f);
    return mpki_error(f->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
}

/* All portions, where the arena is large enough for whatever they give. */
static mpk_status run_all(mpki_blocks *f, int32_t levels) {
    enum { EACH = 16 };
    const bool traced = mpki_trace_of(f->ctx) != NULL; /* then each is waited for */
    const int32_t each = traced ? 1 : EACH;
    mpk_status status = traced ? finish_copies(f) : MPK_OK;
    for (int32_t k = 0; k < f->job.portions && !mpk_failed(status); k += each) {
        const int32_t end = f->job.portions - k < each ? f->job.portions : k + each;
        const double began = mpki_trace_begin(f->ctx);
        status = told(f, f->module->run(f->device->cuda, &f->job, k, end));
        if (traced && !mpk_failed(status)) status = finish_copies(f);
        mpki_trace_end(f->ctx, MPKI_LANE_CALLER, "portion", f->job.portion[k].level, began);
        if (!mpk_failed(status) && levels &&
            mpki_progress(f->ctx, STAGE, (f->job.portion[end - 1].level + 1.0) / levels))
            status = stopped(f);
    }
    return status;
}

/* Portions, the arena growing before those that might not fit. */
static mpk_status run_growing(mpki_blocks *f) {
    mpk_status status = MPK_OK;
    int64_t sure = f->told.used; /* no more is in use */
    for (int32_t k = 0; k < f->job.portions && !mpk_failed(status); k++) {
        const int64_t words = f->job.portion[k].words;
        if (sure + words > f->job.words) {
            status = read_told(f);
            if (mpk_failed(status) || f->told.stop) break;
            sure = f->told.used;
            if (sure + words > f->job.words) status = grow_words(f, sure + words + sure / 4);
            if (status == MPK_ERR_MEMORY && sure / 4 > 0) {
                mpki_clear_error(f->ctx);
                status = grow_words(f, sure + words);
            }
            f->job.from = f->job.to;
        }
        sure += words;
        if (!mpk_failed(status))
            status = told(f, f->module->run(f->device->cuda, &f->job, k, k + 1));
        if (!mpk_failed(status) && mpki_progress(f->ctx, STAGE, (k + 1.0) / f->job.portions))
            status = stopped(f);
    }
    return status;
}

/* The arena for what is due: for all of it where there is room, else as it comes. */
static mpk_status make_words(mpki_blocks *f, bool *grows) {
    const int64_t all = f->told.used + words_due(f->stages);
    *grows = false;
    if (4 * all + 256 <= left(f)) {
        const mpk_status status = grow_words(f, all);
        if (status != MPK_ERR_MEMORY) return status;
        mpki_clear_error(f->ctx);
    }
    *grows = true;
    return MPK_OK;
}

/* The least that a stage takes, beside what is held: refused at once where that is too much. */
static mpk_status predict(mpki_blocks *f, const due *d) {
    const mpki_stages *s = f->stages;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), n = s->blocking->n;
    const int64_t nnz = s->a->ptr[n], blocks = s->index.nblocks;
    const int64_t entry = (int64_t)mpk_scalar_size(s->scalar) + 8;
    int64_t bytes = 0;
    make_work(f, d, true, &bytes);
    bytes -= f->plan->work.bytes;
    if (!f->plan->matrix.at) bytes += nnz * entry * (s->at ? 2 : 1) + 40 * n + 4 * n * size;
    if (blocks > f->room) bytes += (blocks - f->room) * (s->ldu ? 34 : 22);
    bytes += s->index.ptr[s->index.m] * 16 - f->plan->lists.bytes;
    return check(f, bytes > 0 ? bytes : 0);
}

/* The end of a step in a trace, which waits for the device; and the beginning of the next. */
static double spent(const mpki_blocks *f, const char *what, double began) {
    if (!mpki_trace_of(f->ctx)) return 0;
    finish_copies(f);
    mpki_trace_end(f->ctx, MPKI_LANE_CALLER, what, -1, began);
    return mpki_trace_begin(f->ctx);
}

/* ---- what is kept for other values --------------------------------------------------------------
 */

static int64_t plan_bytes(const mpki_block_plan *p) {
    return p->matrix.bytes + p->lists.bytes + p->work.bytes;
}

/* The plan of this stage: that of older values, which may be ready, or one of its own. */
static mpk_status find_plan(mpki_blocks *f) {
    mpki_block_plan **kept = f->stages->plan;
    if (f->plan) return MPK_OK;
    if (!kept || !*kept) f->plan = MPKI_ZNEW(f->ctx, STAGE, 1, mpki_block_plan);
    if (kept && !*kept) *kept = f->plan;
    if (kept) f->plan = *kept;
    f->owns_plan = !kept;
    if (!f->plan) return mpki_failed(f->ctx);
    f->held += plan_bytes(f->plan);
    return MPK_OK;
}

/* Take the addresses of a plan that is ready. False: it is not, or of another kind of factor. */
static bool take_plan(mpki_blocks *f) {
    mpki_cuda_stage *j = &f->job;
    const mpki_cuda_stage *p = &f->plan->job;
    if (!f->plan->ready || p->scalar != j->scalar || p->ldu != j->ldu || p->m != j->m ||
        p->nblocks != f->stages->index.nblocks)
        return false;
    j->a = p->a, j->at = p->at, j->scale = p->scale, j->row_scale = p->row_scale;
    j->row_of = p->row_of, j->perm = p->perm, j->iperm = p->iperm, j->of = p->of;
    j->pair = p->pair, j->place = p->place, j->pushed = p->pushed;
    j->ptr = p->ptr, j->diagonal = p->diagonal, j->block = p->block;
    j->other = p->other, j->there = p->there;
    j->who = p->who, j->first = p->first, j->entry = p->entry, j->item_who = p->item_who;
    j->slot = p->slot, j->portion = p->portion, j->portions = p->portions;
    j->work = p->work, j->work_u = p->work_u, j->pivot_work = p->pivot_work;
    j->norm = p->norm, j->threshold = p->threshold, j->most = p->most;
    j->need = p->need, j->where = p->where;
    return true;
}

/* All that a stage needs on the device, but the arena. */
static mpk_status prepare(mpki_blocks *f, int32_t levels, const int32_t *ptr,
                          const int32_t *order) {
    mpki_stages *s = f->stages;
    due d = {0};
    int64_t bytes;
    mpk_status status = find_plan(f);
    if (mpk_failed(status)) return status;
    double began = mpki_trace_begin(f->ctx);
    const bool ready = take_plan(f), again = f->frames.at != NULL;
    f->plan->ready = false;
    if (!ready) {
        status = list_due(f, levels, ptr, order, &d);
        began = spent(f, "items", began);
        if (!mpk_failed(status)) status = predict(f, &d);
        if (!mpk_failed(status) && !again) status = send_pattern(f);
    }
    if (!mpk_failed(status) && !again) status = make_frames(f);
    if (!mpk_failed(status) && !again) status = send_values(f);
    began = spent(f, "matrix", began);
    if (!mpk_failed(status)) status = send_stage(f, ready);
    began = spent(f, "index", began);
    if (!mpk_failed(status) && !ready) status = make_work(f, &d, false, &bytes);
    spent(f, "memory", began);
    due_free(f, &d);
    if (mpk_failed(status)) return status;
    f->plan->job = f->job;
    f->plan->ready = s->plan && !again;
    return MPK_OK;
}

static mpk_status stage(mpki_blocks *f) {
    mpki_stages *s = f->stages;
    if (s->border < s->index.m)
        return mpki_error(
            f->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
            "the last %d rows, which no stage accepts, would be one dense pivot, which "
            "the device does not have for factors on blocks; device = cpu has it",
            s->info.border_rows);
    bool grows = false;
    describe(f);
    f->job.sweep = 0;
    mpk_status status = prepare(f, s->levels.count, s->levels.ptr, s->levels.frame);
    if (!mpk_failed(status)) status = write_told(f);
    if (!mpk_failed(status)) status = make_words(f, &grows);
    f->job.from = f->job.to;
    if (!mpk_failed(status)) status = grows ? run_growing(f) : run_all(f, s->levels.count);
    const double began = mpki_trace_begin(f->ctx);
    if (!mpk_failed(status)) status = take_back(f);
    spent(f, "result", began);
    return mpk_failed(status) ? status : judge(f);
}

/* ---- sweeps -------------------------------------------------------------------------------------
 */

/* A second generation of values beside the factor's own. */
static mpk_status make_spare(mpki_blocks *f, int64_t words, mpki_cuda_values *v) {
    const mpki_stages *s = f->stages;
    const int64_t n = s->index.nblocks, size = (int64_t)mpk_scalar_size(s->stored);
    const array arrays[] = {
        work_array(&v->words, words * 4),
        work_array(&v->lower, n * 8),
        work_array(&v->upper, s->ldu ? n * 8 : 0),
        work_array(&v->d, 2 * (int64_t)f->job.n * size),
        work_array(&v->dinv, 2 * (int64_t)f->job.n * size),
    };
    mpk_status status = lay_out(f, &f->spare, arrays, COUNT(arrays));
    if (!s->ldu) v->upper = v->lower;
    v->pivot = f->job.to.pivot, v->pivot_n = f->job.to.pivot_n;
    if (!mpk_failed(status))
        status = told(f, f->module->set(f->device->cuda, v->lower, 0xff, n * 8));
    if (!mpk_failed(status) && s->ldu)
        status = told(f, f->module->set(f->device->cuda, v->upper, 0xff, n * 8));
    return status;
}

/* A sweep has its generation to itself. */
static mpk_status empty(mpki_blocks *f) {
    f->told.used = f->told.leftover = 0;
    f->told.dropped = 0;
    return write_told(f);
}

static mpk_status run_sweeps(mpki_blocks *f, bool may_reorder, bool *reorder) {
    mpki_stages *s = f->stages;
    const mpk_options *o = s->options;
    mpki_cuda_stage *j = &f->job;
    const int32_t m = s->index.m;
    mpki_cuda_values own = j->to, spare = {0}, *const two[] = {&own, &spare};
    mpk_status status = make_spare(f, j->words, &spare);
    if (!mpk_failed(status) && !(f->norm1 >= 0))
        status = told(f, f->module->norm(f->device->cuda, j, &f->norm1));
    /* the last sweep ends in the factor's own values */
    j->sweep = 1;
    j->to = *two[o->sweeps % 2];
    if (!mpk_failed(status)) status = empty(f);
    if (!mpk_failed(status)) status = told(f, f->module->start(f->device->cuda, j));
    double epsilon = o->jacobi_epsilon;
    for (int i = 1; !mpk_failed(status) && i <= o->sweeps; i++, epsilon *= o->jacobi_decay) {
        s->floor = epsilon * f->norm1;
        s->last = !(may_reorder && i == 1);
        describe(f);
        j->from = *two[(o->sweeps - i + 1) % 2], j->to = *two[(o->sweeps - i) % 2];
        j->sweep = i == o->sweeps ? 2 : 1;
        status = empty(f);
        if (!mpk_failed(status)) status = told(f, f->module->set(f->device->cuda, j->reject, 0, m));
        if (!mpk_failed(status)) status = told(f, f->module->set(f->device->cuda, j->final, 0, m));
        if (!mpk_failed(status)) status = run_all(f, 0);
        if (!mpk_failed(status)) status = copy(f, s->reject, j->reject, m, false);
        if (!mpk_failed(status)) status = read_told(f);
        int32_t rejected = 0;
        for (int32_t k = 0; !s->last && k < m && !mpk_failed(status); k++) rejected += s->reject[k];
        if (!mpk_failed(status) && (!rejected || o->factor_type == MPK_TYPE_LLT)) status = judge(f);
        if (!mpk_failed(status) && mpki_progress(f->ctx, STAGE, (double)i / o->sweeps))
            status = stopped(f);
        if (rejected && rejected < m && !mpk_failed(status)) {
            for (int32_t k = 0; k < m; k++) s->final[k] = !s->reject[k];
            *reorder = true;
            break;
        }
        if (rejected && !mpk_failed(status)) { /* no order is better: sweep 1 again */
            may_reorder = false;
            epsilon /= o->jacobi_decay;
            i--;
        }
    }
    j->to = own;
    return status;
}

static mpk_status sweeps(mpki_blocks *f, bool may_reorder, bool *reorder) {
    mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const int32_t ptr[2] = {0, x->m};
    *reorder = false;
    describe(f);
    memset(s->final, 0, (size_t)x->m);
    memset(s->want, 1, (size_t)x->nblocks);
    mpk_status status = prepare(f, 1, ptr, x->frame);
    int64_t words = 4;
    for (int32_t k = 0; k < f->job.portions && !mpk_failed(status); k++)
        words += f->job.portion[k].words; /* sweeps keep what is zero later */
    f->told.used = 0;
    if (!mpk_failed(status)) status = check(f, 8 * words - f->words.bytes);
    if (!mpk_failed(status)) status = grow_words(f, words);
    if (!mpk_failed(status)) status = run_sweeps(f, may_reorder, reorder);
    give(f, &f->spare);
    if (!mpk_failed(status) && !*reorder) status = take_back(f);
    if (!mpk_failed(status)) s->last = true;
    return status;
}

/* ---- the object ---------------------------------------------------------------------------------
 */

static void release_plan(mpk_context *ctx, mpki_block_plan *p) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    d->table->release(d->cuda, p->matrix.at);
    d->table->release(d->cuda, p->lists.at);
    d->table->release(d->cuda, p->work.at);
    mpki_release(ctx, p->portion);
    mpki_release(ctx, p);
}

static void plan_free(mpk_context *ctx, mpki_block_plan **plan) {
    if (*plan) release_plan(ctx, *plan);
    *plan = NULL;
}

static void end(mpk_context *ctx, mpki_blocks **handle) {
    mpki_blocks *f = *handle;
    if (!f) return;
    piece *const pieces[] = {&f->frames, &f->blocks, &f->words, &f->spare};
    for (int k = 0; k < COUNT(pieces); k++) give(f, pieces[k]);
    if (f->owns_plan && f->plan) release_plan(ctx, f->plan);
    mpki_release(ctx, f->entries);
    mpki_release(ctx, f);
    *handle = NULL;
}

/* What a device does not do. */
static mpk_status refuse(const mpki_stages *s) {
    if (s->blocking->largest > MPKI_STORE_ROWS)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, s->blocking->largest,
                          "frames of %d rows: a device takes at most %d (option block)",
                          s->blocking->largest, MPKI_STORE_ROWS);
    const mpk_schedule schedule = s->options->schedule;
    if (schedule == MPK_SCHEDULE_SUBSETS || schedule == MPK_SCHEDULE_ATOMIC)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "schedule %s does not run on a device; pull and jacobi do",
                          schedule == MPK_SCHEDULE_SUBSETS ? "subsets" : "atomic");
    if (s->options->drop_norm == MPK_DROP_NORM_WHOLE && !s->complete)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "drop_norm whole does not run on a device; below does");
    return MPK_OK;
}

static mpk_status make(mpki_stages *s, mpki_blocks **out) {
    *out = NULL;
    mpk_status status = refuse(s);
    if (mpk_failed(status)) return status;
    const mpki_device *device = mpki_cuda_kept(s->ctx);
    if (!device->table->blocks)
        return mpki_error(s->ctx, MPK_ERR_DEVICE, STAGE, -1,
                          "the CUDA module has no factorization on blocks");
    mpki_blocks *f = *out = MPKI_ZNEW(s->ctx, STAGE, 1, mpki_blocks);
    if (!f) return mpki_failed(s->ctx);
    f->ctx = s->ctx;
    f->stages = s;
    f->device = device;
    f->module = device->table->blocks;
    f->norm1 = -1;
    const mpk_options *o = s->options;
    const int32_t largest = s->blocking->largest > 0 ? s->blocking->largest : 1;
    f->job = (mpki_cuda_stage){.scalar = s->stored,
                               .a_scalar = s->scalar,
                               .n = s->blocking->n,
                               .m = s->index.m,
                               .largest = largest,
                               .ldu = s->ldu,
                               .hermitian = s->hermitian,
                               .a_hermitian = s->symmetry == MPK_HERMITIAN,
                               .type = (int32_t)o->factor_type,
                               .complete = s->complete,
                               .relaxed = s->relaxed,
                               .lifted = s->lifted,
                               .butterfly = o->butterfly == MPK_ON,
                               .seed = (int64_t)o->seed,
                               .size = s->size,
                               .omega = s->omega,
                               .drop_tolerance = o->drop_tolerance,
                               .shift = o->shift,
                               .stream = f->module->stream(device->cuda)};
    f->job.pivot_stride = f->module->pivot_stride(&f->job);
    return MPK_OK;
}

/* A later stage makes the room for its blocks. */
static mpk_status grow(mpki_blocks *f) {
    (void)f;
    return MPK_OK;
}

/* The arena as small as what is in it. */
static mpk_status shrink(mpki_blocks *f) {
    const int64_t bytes = 4 * f->told.used + 256;
    if (bytes + bytes / 8 >= f->words.bytes || bytes > left(f)) return MPK_OK;
    piece small = {0};
    mpk_status status = take(f, &small, bytes);
    if (status == MPK_ERR_MEMORY) { /* then it stays as it is */
        mpki_clear_error(f->ctx);
        return MPK_OK;
    }
    if (!mpk_failed(status))
        status = told(f, f->module->move(f->device->cuda, small.at, f->words.at, 4 * f->told.used));
    if (!mpk_failed(status)) status = finish_copies(f);
    if (mpk_failed(status)) {
        give(f, &small);
        return status;
    }
    give(f, &f->words);
    f->words = small;
    f->job.to.words = (uint32_t *)(void *)small.at;
    return MPK_OK;
}

static void fill_store(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_cuda_stage *j = &f->job;
    f->store = (mpki_cuda_store){.scalar = j->scalar,
                                 .n = j->n,
                                 .m = j->m,
                                 .ldu = s->ldu,
                                 .hermitian = s->hermitian,
                                 .bptr = j->bptr,
                                 .levels = s->levels.count,
                                 .level = s->levels.ptr,
                                 .frame = f->plan->frame_order,
                                 .ptr = j->ptr,
                                 .diagonal = j->diagonal,
                                 .other = j->other,
                                 .block = j->block,
                                 .nblocks = j->nblocks,
                                 .words = j->to.words,
                                 .lower = j->to.lower,
                                 .upper = j->to.upper,
                                 .pivot = j->to.pivot,
                                 .pivot_n = j->to.pivot_n,
                                 .d = j->to.d,
                                 .dinv = j->to.dinv};
}

static mpk_status finish(mpki_blocks *f, mpki_block_counts *c) {
    const mpki_stages *s = f->stages;
    mpki_cuda_held held;
    mpki_cuda_pivots_of p;
    const double began = mpki_trace_begin(f->ctx);
    *c = (mpki_block_counts){.smallest = INFINITY};
    mpk_status status = told(f, f->module->sum(f->device->cuda, &f->job, &held, &p));
    if (!mpk_failed(status) && s->levels.count > 0)
        status = copy(f, f->plan->frame_order, s->levels.frame,
                      (int64_t)s->levels.ptr[s->levels.count] * 4, true);
    if (!mpk_failed(status)) status = finish_copies(f);
    if (!f->plan->ready) { /* else it is for other values */
        give(f, &f->plan->matrix);
        give(f, &f->plan->work);
    }
    if (!mpk_failed(status)) status = shrink(f);
    spent(f, "finish", began);
    if (mpk_failed(status)) return status;
    fill_store(f);
    c->flops = (double)f->told.flops;
    c->dropped = (int64_t)f->told.dropped;
    c->kept = held.kept, c->dense = held.dense, c->bitmap = held.bitmap, c->rows = held.rows;
    c->fill_out = held.fill_out;
    c->positive = p.positive, c->negative = p.negative, c->zero = p.zero;
    c->two_by_two = p.two_by_two, c->perturbed = p.perturbed;
    c->smallest = p.smallest, c->largest = p.largest;
    c->bytes = f->held - (f->plan->ready ? f->plan->matrix.bytes + f->plan->work.bytes : 0) -
               s->index.ptr[s->index.m] * (int64_t)sizeof *s->index.entry;
    return MPK_OK;
}

static int64_t entries(const mpki_blocks *factor, int64_t block) {
    mpki_blocks *f = (mpki_blocks *)(uintptr_t)factor; /* it keeps what it is told */
    const int64_t n = f->job.nblocks;
    if (!f->entries) {
        f->entries = MPKI_NEW(f->ctx, STAGE, n, uint32_t);
        if (!f->entries) return 0;
        mpk_status status = copy(f, f->entries, f->job.held, n * 4, false);
        if (!mpk_failed(status)) status = finish_copies(f);
        if (mpk_failed(status)) memset(f->entries, 0, (size_t)n * 4);
    }
    return f->entries[block] & 0xffff;
}

const mpki_cuda_store *mpki_cuda_blocks_store(const mpki_blocks *f) {
    return &f->store;
}

int64_t mpki_cuda_blocks_words(const mpki_blocks *f) {
    return f->told.used;
}

static mpk_status solver_make(mpk_context *ctx, const mpki_blocks *f, int threads, int32_t columns,
                              mpki_block_solver **s, int32_t *takes) {
    (void)threads;
    return mpki_cuda_sweeps_make(ctx, f->stages, &f->store, columns, s, takes);
}

const mpki_block_engine mpki_cuda_blocks = {
    .plan_free = plan_free,
    .make = make,
    .free = end,
    .grow = grow,
    .stage = stage,
    .sweeps = sweeps,
    .finish = finish,
    .entries = entries,
    .solver_make = solver_make,
    .solver_free = mpki_cuda_sweeps_free,
    .apply = mpki_cuda_sweeps_apply,
};
