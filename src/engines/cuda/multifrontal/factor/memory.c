/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of the device's multifrontal factor (multifrontal/factor/walk.h): one piece for the
 * plan and its numbers, and further pieces where fronts grow. */
#include "walk.h"

#include "engines/cuda/module/engine.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

#define DID(call) MPKI_CUDA_DID(f, call)

static const mpki_cuda_direct_table *functions(const mpki_direct *f) {
    return f->device->table->direct;
}

static void device_release(const mpki_direct *f, void *ptr) {
    if (ptr) f->device->table->release(f->device->cuda, ptr);
}

/* Take device memory, inside the limit. */
static mpk_status take(mpki_direct *f, int64_t bytes, void **ptr) {
    *ptr = NULL;
    if (f->limit > 0 && (double)mpki_cuda_direct_held(f) + (double)bytes > f->limit)
        return mpki_error(f->ctx, MPK_ERR_MEMORY, STAGE, mpki_cuda_direct_held(f) + bytes,
                          "the factorization needs %.4g bytes of device memory; "
                          "device_memory_limit allows %.4g",
                          (double)mpki_cuda_direct_held(f) + (double)bytes, f->limit);
    return mpki_cuda_status(f->ctx, STAGE, f->device->table->alloc(f->device->cuda, bytes, ptr));
}

/* Bytes of the arena's part in use that panels have taken. f->flags is what the device has. */
static int64_t taken_of_part(const mpki_direct *f) {
    const unsigned long long to = f->flags.used < f->flags.end ? f->flags.used : f->flags.end;
    return to > f->part ? (int64_t)(to - f->part) : 0;
}

/* One further piece of the arena in place of what it has grown by, or of one that was far too large:
 * the next numbers find there as much as these took, and a little more. */
bool mpki_cuda_direct_joins(const mpki_direct *f) {
    enum { FAR = 4 << 20 };
    const int64_t bytes = f->filled + taken_of_part(f);
    const bool large =
        f->chunks == 1 && f->chunk[0].bytes - bytes > FAR && bytes < f->chunk[0].bytes / 2;
    /* fresh: nothing is known of what numbers take */
    return !f->fresh && (f->filled > 0 || large);
}

void mpki_cuda_direct_join_chunks(mpki_direct *f) {
    int64_t bytes = f->filled + taken_of_part(f);
    void *ptr;
    const bool joins = mpki_cuda_direct_joins(f);
    f->fresh = false;
    if (!joins) return;
    bytes += bytes / 16 + 65536;
    for (int k = 0; k < f->chunks; k++) device_release(f, f->chunk[k].ptr);
    f->chunks = 0, f->filled = 0;
    if (mpk_failed(take(f, bytes, &ptr))) /* it grows again, as it did */
        mpki_clear_error(f->ctx);
    else
        f->chunk[f->chunks++] = (mpki_cuda_chunk){ptr, bytes};
}

void mpki_cuda_direct_drop_device(mpki_direct *f) {
    mpki_cuda_direct_drop_spare(f);
    mpki_cuda_direct_drop_refining(f);
    mpki_cuda_direct_drop_taking(f);
    mpki_cuda_direct_drop_rows(f);
    for (int k = 0; k < f->chunks; k++) device_release(f, f->chunk[k].ptr);
    f->chunks = 0;
    device_release(f, f->work_more.ptr);
    f->work_more = (mpki_cuda_chunk){0};
    device_release(f, f->slices.ptr);
    f->slices = (mpki_cuda_chunk){0};
    device_release(f, f->memory);
    f->memory = NULL;
    f->memory_bytes = 0;
    f->filled = 0;
    f->changed = -1;
    f->planned = f->valid = f->fetched = f->has_begun = false;
}

void mpki_cuda_direct_drop_host(mpki_direct *f) {
    mpk_context *ctx = f->ctx;
    mpki_release(ctx, f->state);
    mpki_release(ctx, f->change);
    mpki_release(ctx, f->large);
    mpki_release(ctx, f->d); /* and what lies behind it */
    mpki_release(ctx, f->at);
    f->state = NULL, f->change = NULL, f->large = NULL, f->summed = false;
    f->d = f->dinv = NULL, f->id = f->at = NULL;
    f->fetched = false;
}

/* A part of the one piece of device memory. */
typedef struct part {
    void *to; /* where its address goes: a pointer to a pointer */
    int64_t bytes;
    const void *from; /* host: what is copied there; NULL: nothing */
} part;

enum { PARTS = 15 };

/* Bytes that panels are expected to grow into, each anew where columns are delayed. A column is
 * delayed with the same probability anywhere, half of the trial elimination's, which mostly gives
 * up more than a factorization does: 33488 for 11002 on stokes mac 183, 1194 for 452 on stocfor3,
 * 402 for 401 on pilot87. At most as much again as all panels. */
static int64_t expected_growth(const mpki_direct *f) {
    const mpki_cuda_plan *plan = &f->plan;
    const double rate = f->tree.n > 0 ? (double)f->tree.failing / f->tree.n / 2 : 0;
    const double size = (double)mpk_scalar_size(f->tree.scalar);
    double bytes = 0;
    for (int32_t k = 0; rate > 0 && k < plan->fronts; k++) {
        const mpki_cuda_node *node = &plan->node[k];
        double below = 0;
        for (int32_t c = 0; c < node->children; c++)
            below += plan->node[plan->child[node->child + c]].own;
        if (below == 0) continue;
        const double some = -expm1(-rate * below), w = node->own + rate * below / some;
        bytes += some * w * (w + node->rows + 4) * size; /* D, its inverse */
    }
    return bytes < (double)plan->panel_bytes ? (int64_t)bytes : plan->panel_bytes;
}

/* Bytes for panels that grow that are there in any case. */
static int64_t little_growth(const mpki_direct *f) {
    const int64_t most = 16 << 20, bytes = f->plan.panel_bytes / 32;
    return bytes < most ? bytes : most;
}

/* Is half of the bytes enough for each place of an entry? */
static bool is_short(const mpki_direct *f) {
    if (f->tree.nnz > UINT32_MAX) return false;
    for (int32_t k = 0; k < f->plan.fronts; k++) {
        const mpki_cuda_node *node = &f->plan.node[k];
        if (node->shift + node->own > MPKI_CUDA_SHORT_COLUMNS ||
            node->shift + node->own + node->rows > MPKI_CUDA_SHORT_ROWS)
            return false;
    }
    return true;
}

/* The places of entries, in half the bytes or not, where the tree has them otherwise; to be released.
 * NULL: no memory */
static void *entries_of(const mpki_direct *f, bool narrow) {
    const int64_t count = f->tree.scatter_ptr[f->tree.nsuper];
    void *all = mpki_alloc(f->ctx, STAGE, count + 1,
                           narrow ? sizeof(mpki_short_scatter) : sizeof(mpki_scatter));
    const mpki_scatter_list to = {narrow ? NULL : all, narrow ? all : NULL};
    for (int64_t k = 0; all && k < count; k++)
        mpki_scatter_put(&to, k, mpki_scatter_at(&f->tree.scatter, k));
    return all;
}

/* A piece of its own for columns that are delayed, as many as are expected: the second factorization
 * gives back what the first one has not used. 0: the little that is there anyway will do. */
static int64_t reserve_of(const mpki_direct *f) {
    const int64_t growth = expected_growth(f);
    return growth > little_growth(f) ? growth + 65536 : 0;
}

/* Stands for the list of entries, whichever it is. */
static const char ENTRIES;

/* What lies there: fills `parts` (PARTS). Returns the bytes of all. */
static int64_t list_parts(mpki_direct *f, part *parts) {
    const mpki_tree_view *tree = &f->tree;
    const mpki_cuda_plan *plan = &f->plan;
    const int64_t size = (int64_t)mpk_scalar_size(tree->scalar), n = tree->n;
    const int64_t entries = tree->scatter_ptr[tree->nsuper];
    f->growth_bytes = little_growth(f) + 65536;
    f->idle_bytes = plan->contribution_entries * size;
    mpki_cuda_tree *on = &f->on;
    const bool narrow = is_short(f);
    const part all[] = {
        {&on->node, plan->fronts * (int64_t)sizeof(mpki_cuda_node), plan->node},
        {&on->child, plan->children * (int64_t)sizeof(int32_t), plan->child},
        {&on->rel, plan->rows * (int64_t)sizeof(int32_t), plan->rel},
        {&on->ridx, plan->positions * (int64_t)sizeof(int32_t), plan->ridx},
        {narrow ? (void *)&on->short_scatter : (void *)&on->scatter,
         entries * (int64_t)(narrow ? sizeof(mpki_cuda_short_entry) : sizeof(mpki_cuda_entry)),
         &ENTRIES},
        {&f->perm, n * (int64_t)sizeof(int32_t), tree->perm},
        {&f->given_scale, n * (int64_t)sizeof(double), NULL},
        {&on->scale, n * (int64_t)sizeof(double), NULL},
        {&f->ax, tree->nnz * size, NULL},
        {&on->state,
         plan->fronts * (int64_t)sizeof(mpki_cuda_front_state) + mpki_cuda_ticket_bytes(plan),
         NULL},
        {&on->way, plan->fronts, NULL},
        {&f->task, plan->tasks * (int64_t)sizeof(mpki_cuda_task), plan->task},
        {&on->flags, sizeof(mpki_cuda_flags), NULL},
        {&on->arena, plan->panel_bytes + plan->contribution_entries * size, NULL},
        {&f->growth, f->growth_bytes, NULL},
    };
    _Static_assert(sizeof all / sizeof *all == PARTS, "all of them");
    _Static_assert(sizeof(mpki_cuda_entry) == sizeof(mpki_scatter), "one is copied as the other");
    _Static_assert(sizeof(mpki_cuda_short_entry) == sizeof(mpki_short_scatter), "likewise");
    _Static_assert((int)MPKI_CUDA_SHORT_ROWS == (int)MPKI_SHORT_ROWS &&
                       (int)MPKI_CUDA_SHORT_COLUMNS == (int)MPKI_SHORT_COLUMNS,
                   "they hold as much");
    int64_t bytes = 0;
    memcpy(parts, all, sizeof all);
    for (int k = 0; k < PARTS; k++) bytes += (parts[k].bytes + 255) & ~(int64_t)255;
    return bytes;
}

mpk_status mpki_cuda_direct_place(mpki_direct *f) {
    const mpki_tree_view *tree = &f->tree;
    const mpki_cuda_plan *plan = &f->plan;
    mpki_cuda_tree *on = &f->on;
    part parts[PARTS];
    const int64_t bytes = list_parts(f, parts);
    int64_t reserve = reserve_of(f), available = 0;
    void *memory = NULL;
    if (f->limit <= 0 &&
        !DID(f->device->table->describe(f->device->cuda, NULL, 0, &available, NULL)))
        return mpki_failed(f->ctx);
    if ((double)(bytes + reserve) >
        (f->limit > 0 ? f->limit - (double)mpki_cuda_direct_held(f) : (double)available))
        reserve = 0; /* it may do without */
    if (f->limit <= 0) {
        if (bytes > available)
            return mpki_error(f->ctx, MPK_ERR_MEMORY, STAGE, bytes,
                              "the factorization needs %.4g bytes of device memory; %.4g are free",
                              (double)bytes, (double)available);
    }
    const bool narrow = is_short(f);
    const void *given = narrow ? (const void *)tree->scatter.few : tree->scatter.wide;
    void *own = given ? NULL : entries_of(f, narrow);
    if (!given && !own) return mpki_failed(f->ctx);
    if (mpk_failed(take(f, bytes, &memory))) {
        mpki_release(f->ctx, own);
        return mpki_failed(f->ctx);
    }
    f->memory = memory, f->memory_bytes = bytes;
    on->scatter = NULL, on->short_scatter = NULL;
    bool sent = true;
    char *at = f->memory;
    for (int k = 0; k < PARTS && sent; k++) {
        const void *from = parts[k].from != &ENTRIES ? parts[k].from : given ? given : own;
        memcpy(parts[k].to, &at, sizeof at);
        sent = !from || DID(functions(f)->copy(f->device->cuda, at, from, parts[k].bytes, 1));
        at += (parts[k].bytes + 255) & ~(int64_t)255;
    }
    sent = sent && DID(functions(f)->clear(f->device->cuda, on->way, plan->fronts));
    /* what was asked for is done before the copy of its source goes */
    sent = DID(functions(f)->wait(f->device->cuda)) && sent;
    mpki_release(f->ctx, own);
    if (!sent) return mpki_failed(f->ctx);
    f->ticket = (int32_t *)(void *)(on->state + plan->fronts);
    on->contribution = on->arena;
    f->idle = on->arena + ((plan->panel_bytes + 255) & ~(int64_t)255);
    f->idle_bytes = f->growth - f->idle;
    on->ax = f->ax;
    on->scalar = tree->scalar, on->hermitian = tree->symmetry == MPK_HERMITIAN;
    on->n = tree->n, on->fronts = plan->fronts, on->listed = MPKI_CUDA_CHANGES;
    f->fresh = true;
    if (reserve > 0) {
        if (mpk_failed(take(f, reserve, &memory)))
            mpki_clear_error(f->ctx);
        else
            f->chunk[f->chunks++] = (mpki_cuda_chunk){memory, reserve};
    }
    f->planned = true;
    return MPK_OK;
}

mpk_status mpki_cuda_direct_host_arrays(mpki_direct *f) {
    const mpki_cuda_plan *plan = &f->plan;
    if (f->state) return MPK_OK;
    f->state = MPKI_ZNEW(f->ctx, STAGE, (int64_t)plan->fronts + 1, mpki_cuda_front_state);
    /* between two reads the large fronts of a step are noted, too */
    f->change = MPKI_NEW(f->ctx, STAGE, (int64_t)plan->fronts + plan->larges + 1, int32_t);
    f->changed = -1;
    if (!f->state || !f->change) mpki_cuda_direct_drop_host(f);
    return mpki_failed(f->ctx);
}

/* More memory for panels that grow, at least `bytes`. f->flags is what the device has. */
mpk_status mpki_cuda_direct_grow_arena(mpki_direct *f, int64_t bytes) {
    int64_t size = 2 << 20, grown = 0;
    for (int k = 0; k < f->chunks; k++) grown += f->chunk[k].bytes;
    if (size < grown / 4) size = grown / 4;
    if (size < f->plan.panel_bytes / 16) size = f->plan.panel_bytes / 16;
    if (f->limit > 0 && (double)mpki_cuda_direct_held(f) + (double)size > f->limit) size = bytes;
    if (size < bytes) size = bytes;
    if (f->chunks == MPKI_CUDA_CHUNKS)
        return mpki_error(f->ctx, MPK_ERR_MEMORY, STAGE, bytes, "delayed columns take all memory");
    mpki_cuda_chunk *c = &f->chunk[f->chunks];
    if (mpk_failed(take(f, size, &c->ptr))) return mpki_failed(f->ctx);
    c->bytes = size;
    f->chunks++;
    f->filled += taken_of_part(f);
    if (f->filled == 0) f->filled = 1; /* it has grown */
    f->part = mpki_cuda_address(c->ptr);
    f->flags.used = mpki_cuda_address(c->ptr),
    f->flags.end = f->flags.used + (unsigned long long)size;
    return MPK_OK;
}

mpk_status mpki_cuda_direct_send_flags(mpki_direct *f) {
    (void)DID(functions(f)->copy(f->device->cuda, f->on.flags, &f->flags, sizeof f->flags, 1));
    return mpki_failed(f->ctx);
}

/* A piece of at least `bytes` in place of *piece, where that is less; what it had is lost. */
static mpk_status at_least(mpki_direct *f, int64_t bytes, mpki_cuda_chunk *piece) {
    if (bytes <= piece->bytes) return MPK_OK;
    if (!DID(functions(f)->wait(f->device->cuda))) return mpki_failed(f->ctx);
    device_release(f, piece->ptr);
    *piece = (mpki_cuda_chunk){0};
    if (mpk_failed(take(f, bytes, &piece->ptr))) return mpki_failed(f->ctx);
    piece->bytes = bytes;
    return MPK_OK;
}

/* Memory of `bytes` for what large fronts work in. */
mpk_status mpki_cuda_direct_work_memory(mpki_direct *f, int64_t bytes, char **at) {
    *at = f->work;
    if (bytes <= f->work_bytes) return MPK_OK;
    const mpk_status status = at_least(f, bytes, &f->work_more);
    *at = f->work_more.ptr;
    return status;
}

mpk_status mpki_cuda_direct_slice_memory(mpki_direct *f, int64_t bytes, char **at) {
    mpk_status status = at_least(f, bytes, &f->slices);
    if (status == MPK_ERR_MEMORY && f->emulation == MPK_AUTO) {
        mpki_clear_error(f->ctx);
        status = MPK_OK;
    }
    *at = f->slices.ptr;
    return status;
}

int64_t mpki_cuda_direct_memory_bytes(mpki_direct *f, bool reserve) {
    part parts[PARTS];
    return list_parts(f, parts) + (reserve ? reserve_of(f) : 0);
}

mpk_status mpki_cuda_direct_foretell(mpk_context *ctx, mpki_direct *f, int32_t columns,
                                     int64_t *bytes) {
    const int64_t n = f->tree.n, nnz = f->tree.nnz, size = (int64_t)mpk_scalar_size(f->tree.scalar);
    memset(bytes, 0, MPKI_CUDA_HELD_KINDS * sizeof *bytes);
    if (f->plan.fronts == 0) return MPK_OK;
    const int64_t all = mpki_cuda_direct_memory_bytes(f, true);
    bytes[MPKI_CUDA_HELD_PANELS] = f->plan.panel_bytes;
    bytes[MPKI_CUDA_HELD_GROWTH] = all - mpki_cuda_direct_memory_bytes(f, false) + f->growth_bytes;
    bytes[MPKI_CUDA_HELD_WORK] = f->plan.contribution_entries * size;
    bytes[MPKI_CUDA_HELD_VALUES] = nnz * size + n * 20;
    bytes[MPKI_CUDA_HELD_TREE] = all;
    for (int k = 0; k < MPKI_CUDA_HELD_TREE; k++) bytes[MPKI_CUDA_HELD_TREE] -= bytes[k];
    bytes[MPKI_CUDA_HELD_ROWS] = mpki_cuda_direct_rows_bytes(f);
    return mpki_cuda_direct_solver_bytes(ctx, f, columns, true, &bytes[MPKI_CUDA_HELD_SWEEPS],
                                         &bytes[MPKI_CUDA_HELD_VECTORS]);
}
