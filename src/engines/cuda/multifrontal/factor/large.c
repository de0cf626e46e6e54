/* SPDX-License-Identifier: BSD-3-Clause */
/* Large fronts of a step, many blocks for each (multifrontal/factor/walk.h): described by the host,
 * then eliminated block by block of columns. */
#include "walk.h"

#include <string.h>

static const char STAGE[] = "factorize";

#define DID(call) MPKI_CUDA_DID(f, call)

static const mpki_cuda_direct_table *functions(const mpki_direct *f) {
    return f->device->table->direct;
}

int32_t mpki_cuda_direct_delayed(const mpki_direct *f, int32_t front) {
    const mpki_cuda_node *node = &f->plan.node[front];
    int32_t delayed = 0;
    for (int32_t k = 0; k < node->children; k++) {
        const mpki_cuda_front_state *c = &f->state[f->plan.child[node->child + k]];
        delayed += c->w - c->nelim;
    }
    return delayed;
}

/* Does one kernel for a block of columns pay? Where fronts are few, of several tiles, and small, so
 * that launches take longer than the work between them. */
static bool queue_pays(const mpki_direct *f, const int32_t *list, int32_t count) {
    int32_t most = 0;
    int64_t rows = 0;
    for (int32_t k = 0; k < count; k++) {
        const mpki_cuda_node *node = &f->plan.node[list[k]];
        const int32_t w = node->own + mpki_cuda_direct_delayed(f, list[k]);
        most = w > most ? w : most, rows += w + node->rows;
    }
    return most >= f->queued_least && most <= f->queued_most && rows <= MPKI_FRONT_QUEUES;
}

static int32_t cut_by(int32_t n, int32_t by) {
    return (n + by - 1) / by;
}

/* Lists of blocks: lists[0] begins anew with each round of assembly, so that it is one longer for
 * each. */
enum { LISTS = 4 };

/* Blocks of kernels for front k, after those for the fronts before it. rounds: before its own */
static void count_blocks(const mpki_cuda_front *x, int32_t k, int32_t rounds,
                         int32_t *const lists[LISTS]) {
    const int32_t m = x->nrows - x->w, rows = cut_by(x->nrows, MPKI_FRONT_OUTER);
    const int32_t columns = cut_by(x->w, MPKI_FRONT_OUTER), below = cut_by(m, MPKI_FRONT_OUTER);
    lists[0][k + rounds + 1] = lists[0][k + rounds] + cut_by(x->nrows, MPKI_FRONT_COLUMNS);
    lists[1][k + 1] = lists[1][k] + cut_by(x->nrows, MPKI_FRONT_ROWS);
    lists[2][k + 1] =
        lists[2][k] + 1 + cut_by(x->nrows, MPKI_FRONT_INNER) * cut_by(x->block, MPKI_FRONT_INNER);
    lists[3][k + 1] =
        lists[3][k] + mpki_front_tiles(rows, columns) + mpki_front_tiles(below, below);
}

/* Where the lists of so many fronts begin. */
static void find_lists(int32_t *first, int32_t count, int32_t *lists[LISTS]) {
    lists[0] = first;
    for (int k = 1; k < LISTS; k++) lists[k] = first + (k + 1) * (count + 1);
}

int64_t mpki_cuda_direct_slice_bytes(const mpki_direct *f, const int32_t *list, int32_t count) {
    int64_t work = 0, bytes = 0;
    int32_t blocks = 0;
    for (int32_t k = 0; k < count; k++) {
        const mpki_cuda_node *node = &f->plan.node[list[k]];
        const int32_t w = node->own, nrows = w + node->rows, block = mpki_cuda_front_block(w);
        const int32_t mine = w > 0 ? cut_by(w, block) : 0;
        work += mpki_cuda_front_work(f->tree.scalar, nrows, w);
        blocks = mine > blocks ? mine : blocks;
        bytes += mpki_cuda_slice_bytes(mpki_cuda_leading(nrows), block);
    }
    return mpki_cuda_front_buffers(&f->plan, work, blocks) * bytes;
}

/* Room for slices of all fronts, where their updates are to be emulated. A root that is one block of
 * columns keeps L D of its last tiles alone, and has no rows to update. */
static mpk_status place_slices(mpki_direct *f, mpki_cuda_large *large) {
    const int32_t buffers = large->ahead ? 2 : 1;
    int64_t bytes = 0;
    char *at = NULL;
    large->emulated = f->emulation != MPK_OFF;
    for (int32_t k = 0; k < large->count; k++) {
        const mpki_cuda_front *x = &f->large[k];
        if (x->block > MPKI_FRONT_BLOCK) large->emulated = 0;
        bytes += buffers * mpki_cuda_slice_bytes(x->ldw, x->block);
    }
    if (!large->emulated) return MPK_OK;
    if (mpk_failed(mpki_cuda_direct_slice_memory(f, bytes, &at))) return mpki_failed(f->ctx);
    large->emulated = at != NULL;
    for (int32_t k = 0; at && k < large->count; k++) {
        f->large[k].slices = at;
        at += buffers * mpki_cuda_slice_bytes(f->large[k].ldw, f->large[k].block);
    }
    if (large->emulated) f->emulated += large->count;
    return MPK_OK;
}

/* Describe some large fronts, whose children are known, and give each a place. list [in] fronts;
 * round: of each; NULL: one for all */
static mpk_status describe(mpki_direct *f, const int32_t *list, const int32_t *round, int32_t count,
                           mpki_cuda_large *large) {
    const mpki_cuda_plan *plan = &f->plan;
    const mpk_scalar scalar = f->tree.scalar;
    const size_t size = mpk_scalar_size(scalar);
    const int64_t head = mpki_cuda_description_bytes(count);
    int64_t bytes = head;
    int32_t blocks = 0; /* of columns, of the front that has most */
    char *at;
    mpki_release(f->ctx, f->large);
    f->large = mpki_alloc(f->ctx, STAGE, head, 1);
    if (!f->large) return mpki_failed(f->ctx);
    memset(f->large, 0, (size_t)head);
    large->queued = queue_pays(f, list, count);
    for (int32_t k = 0; k < count; k++) {
        const mpki_cuda_node *node = &plan->node[list[k]];
        mpki_cuda_front *x = &f->large[k];
        x->index = list[k];
        x->own = node->own, x->w = node->own + mpki_cuda_direct_delayed(f, list[k]);
        x->nrows = x->w + node->rows, x->ld = x->ldw = mpki_cuda_leading(x->nrows);
        x->block = mpki_cuda_front_block(x->w);
        /* a root that is eliminated by one kernel is one block; beside others, which may have two L
         * D, it would want as much memory for each of them as it has columns */
        if (large->queued && count == 1 && x->w == x->nrows)
            x->block = cut_by(x->w, MPKI_FRONT_TILE) * MPKI_FRONT_TILE;
        bytes += mpki_cuda_front_work(scalar, x->nrows, x->w);
        const int32_t mine = x->w > 0 ? cut_by(x->w, x->block) : 0;
        blocks = mine > blocks ? mine : blocks;
    }
    const int32_t buffers = mpki_cuda_front_buffers(plan, bytes - head, blocks);
    large->ahead = buffers > 1, large->turn = 0;
    bytes = head + buffers * (bytes - head);
    if (mpk_failed(mpki_cuda_direct_work_memory(f, bytes, &at))) return mpki_failed(f->ctx);
    int32_t *lists[LISTS], rounds = 0;
    find_lists((int32_t *)(f->large + count), count, lists);
    const char *on = at;
    /* No task was queued since f->flags was read: the arena is used up to what it says. */
    bool grown = false;
    at += head;
    for (int32_t k = 0; k < count && !grown; k++) grown = f->large[k].w > f->large[k].own;
    for (int32_t k = 0; k < count; k++) {
        mpki_cuda_front *x = &f->large[k];
        const mpki_cuda_node *node = &plan->node[x->index];
        x->a = f->on.arena + node->panel;
        if (x->w > x->own) {
            const int64_t panel = mpki_cuda_panel_bytes(scalar, x->nrows, x->w);
            if (f->flags.used + (unsigned long long)panel > f->flags.end &&
                mpk_failed(mpki_cuda_direct_grow_arena(f, panel)))
                return mpki_failed(f->ctx);
            x->a = (void *)(uintptr_t)f->flags.used;
            f->flags.used += (unsigned long long)panel;
        }
        x->c = (char *)f->on.contribution + node->contribution * (int64_t)size;
        x->W = at;
        x->tile = at + buffers * (int64_t)x->ldw * mpki_cuda_front_block(x->w) * (int64_t)size;
        at += buffers * mpki_cuda_front_work(scalar, x->nrows, x->w);
        x->end = x->w;
        if (x->own == 0) x->phase = MPKI_CUDA_ELIMINATED;         /* it only adds up */
        if (k > 0 && round && round[k] != round[k - 1]) rounds++; /* the list is 0 there */
        count_blocks(x, k, rounds, lists);
    }
    large->count = count;
    if (mpk_failed(place_slices(f, large))) return mpki_failed(f->ctx);
    large->front = (mpki_cuda_front *)(uintptr_t)on;
    const int32_t *list_on = (const int32_t *)(on + count * (int64_t)sizeof(mpki_cuda_front));
    large->assembly = list_on, large->rows = list_on + (lists[1] - lists[0]);
    large->inner = list_on + (lists[2] - lists[0]), large->outer = list_on + (lists[3] - lists[0]);
    large->rows_blocks = lists[1][count];
    large->inner_blocks = lists[2][count], large->outer_blocks = lists[3][count];
    if (grown && !DID(functions(f)->copy(f->device->cuda, &f->on.flags->used, &f->flags.used,
                                         2 * (int64_t)sizeof f->flags.used, 1))) /* and `end` */
        return mpki_failed(f->ctx);
    (void)DID(functions(f)->copy(f->device->cuda, large->front, f->large, head, 1));
    return mpki_failed(f->ctx);
}

static bool any_in_phase(const mpki_direct *f, int32_t count, int32_t phase) {
    for (int32_t k = 0; k < count; k++)
        if (f->large[k].phase == phase) return true;
    return false;
}

/* columns: what tiles have left is tried at once, so that nothing waits for the host where that is
 * little. */
static mpk_status read_fronts(mpki_direct *f, const mpki_cuda_large *large, bool columns) {
    mpki_cuda *cuda = f->device->cuda;
    if (!DID(functions(f)->block(cuda, &f->on, large, 0)) ||
        (columns && !DID(functions(f)->columns(cuda, &f->on, large))) ||
        !DID(functions(f)->copy(cuda, f->large, large->front,
                                large->count * (int64_t)sizeof *f->large, 0)) ||
        !DID(functions(f)->wait(cuda)))
        return mpki_failed(f->ctx);
    return MPK_OK;
}

/* Round by round: the contributions of one may lie on what those before it have taken. */
static mpk_status assemble(mpki_direct *f, const int32_t *round, int32_t count,
                           const mpki_cuda_large *large, int32_t depth) {
    int32_t *lists[LISTS], rounds = 0;
    find_lists((int32_t *)(f->large + count), count, lists);
    for (int32_t k = 0, next; k < count; k = next, rounds++) {
        for (next = k + 1; next < count && (!round || round[next] == round[k]);) next++;
        mpki_cuda_large some = *large;
        some.count = next - k, some.front += k, some.assembly += k + rounds;
        some.assembly_blocks = lists[0][next + rounds];
        if (!DID(functions(f)->assemble(f->device->cuda, &f->on, &some, depth)))
            return mpki_failed(f->ctx);
    }
    return MPK_OK;
}

/* Tiles of a front's columns from `column` on, those of its contribution included. */
static int32_t tiles_from(const mpki_cuda_front *x, int32_t column) {
    const int32_t rows = cut_by(x->nrows, MPKI_FRONT_OUTER), below = x->nrows - x->w;
    const int32_t columns = cut_by(x->w, MPKI_FRONT_OUTER), first = column / MPKI_FRONT_OUTER;
    const int32_t m = cut_by(below, MPKI_FRONT_OUTER), left = columns > first ? columns - first : 0;
    return mpki_front_tiles(rows - first, left) + mpki_front_tiles(m, m);
}

/* So many of a front's tiles for each one that is left, at most. */
static void bound_share(int32_t *share, int32_t all, int32_t left) {
    if (left > 0 && all / left < *share) *share = all / left;
}

/* After block `turn` of a front that has this block: as many thread blocks as its update has tiles
 * if no column fails. Where one does, the first update has all tiles, so it gets at least one
 * thread block for four. */
static void count_tiles(const mpki_cuda_front *x, int32_t turn, mpki_cuda_large *large) {
    const int32_t q = x->p + turn * x->block, qe = q + x->block, to = qe + x->block;
    const int32_t whole = tiles_from(x, 0), all = tiles_from(x, qe < x->end ? qe : x->end);
    const int32_t rest = large->ahead ? tiles_from(x, to < x->w ? to : x->w) : 0;
    bound_share(&large->share, whole, all - rest > all / 4 ? all - rest : all / 4);
    bound_share(&large->share_rest, whole, rest);
}

/* Queue blocks of columns: of each front that is at its tiles as many as it has if no column fails,
 * less `done`. */
static mpk_status blocks_ahead(mpki_direct *f, mpki_cuda_large *large, int32_t done) {
    for (int32_t turn = done;; turn++) {
        int32_t tiles = 0;
        large->share = large->share_rest = INT32_MAX;
        if (large->tiles) large->tiles = MPKI_TILES_128;
        for (int32_t k = 0; k < large->count; k++) {
            const mpki_cuda_front *x = &f->large[k];
            const int32_t left = x->end - x->p - turn * x->block;
            const int32_t mine = cut_by(left < x->block ? left : x->block, MPKI_FRONT_TILE);
            if (x->phase != MPKI_CUDA_IN_TILES || left <= 0) continue;
            if (mine > tiles) tiles = mine;
            count_tiles(x, turn, large);
            if (large->tiles && left <= x->block && x->w == x->nrows)
                large->tiles = MPKI_TILES_128_THEN_32;
        }
        if (tiles == 0) return MPK_OK;
        if (!DID(functions(f)->block(f->device->cuda, &f->on, large, tiles)))
            return mpki_failed(f->ctx);
        large->turn++;
    }
}

/* Do tiles of 128 pay? A tile takes a multiprocessor, so that where fronts are many and narrow they
 * wait for each other. */
static bool tiles_of_128_pay(const mpki_direct *f, int32_t count) {
    int32_t most = 0;
    for (int32_t k = 0; k < count; k++) most = f->large[k].w > most ? f->large[k].w : most;
    return most > MPKI_FRONT_TILE_128 && count <= MPKI_FRONT_TILE_128_FRONTS;
}

/* Are tiles of 128 to be tried after a block in tiles of 32? */
static bool tiles_of_128_again(const mpki_direct *f, int32_t count) {
    for (int32_t k = 0; k < count; k++)
        if (f->large[k].phase == MPKI_CUDA_IN_TILES &&
            (f->large[k].pass > 0 || f->large[k].misses >= MPKI_FRONT_MISSES))
            return false;
    return true;
}

/* Assemble and eliminate some large fronts of a step, all at once. */
mpk_status mpki_cuda_direct_eliminate(mpki_direct *f, const int32_t *list, const int32_t *round,
                                      int32_t count, int32_t depth) {
    mpki_cuda *cuda = f->device->cuda;
    mpki_cuda_large large = {0};
    if (mpk_failed(describe(f, list, round, count, &large)) ||
        mpk_failed(assemble(f, round, count, &large, depth)))
        return mpki_failed(f->ctx);
    const bool tiles_of_128 = !large.queued && tiles_of_128_pay(f, count);
    large.tiles = tiles_of_128 ? MPKI_TILES_128 : MPKI_TILES_32;
    if (mpk_failed(blocks_ahead(f, &large, 0)) || mpk_failed(read_fronts(f, &large, large.queued)))
        return mpki_failed(f->ctx);
    while (
        any_in_phase(f, count, MPKI_CUDA_IN_TILES)) { /* a block in tiles of 32, then the others */
        large.tiles = MPKI_TILES_32;
        large.share = large.share_rest = 1;
        if (!DID(functions(f)->block(cuda, &f->on, &large, MPKI_FRONT_BLOCK / MPKI_FRONT_TILE)))
            return mpki_failed(f->ctx);
        large.turn++;
        if (tiles_of_128 && tiles_of_128_again(f, count)) large.tiles = MPKI_TILES_128;
        if ((large.tiles || large.queued) && mpk_failed(blocks_ahead(f, &large, 1)))
            return mpki_failed(f->ctx);
        if (mpk_failed(read_fronts(f, &large, large.queued))) return mpki_failed(f->ctx);
        if (mpki_progress(f->ctx, STAGE, 0))
            return mpki_error(f->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    while (any_in_phase(f, count, MPKI_CUDA_BY_COLUMNS)) {
        if (!DID(functions(f)->columns(cuda, &f->on, &large)) ||
            mpk_failed(read_fronts(f, &large, false)))
            return mpki_failed(f->ctx);
        if (mpki_progress(f->ctx, STAGE, 0))
            return mpki_error(f->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    for (int32_t k = 0; k < count; k++) {
        const mpki_cuda_front *x = &f->large[k];
        const mpki_cuda_node *node = &f->plan.node[x->index];
        mpki_cuda_direct_note(f, x->index,
                              &(mpki_cuda_front_state){x->a, x->w, x->own > 0 ? x->p : 0, x->ld, 1,
                                                       node->parts, node->parts_up});
    }
    (void)DID(functions(f)->finish(cuda, &f->on, &large));
    return mpki_failed(f->ctx);
}
