/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor's multifrontal engine: its table of slots; a factor is made, computed and freed
 * here. */
#include "general.h"
#include "paths.h"
#include "solve.h"
#include "tuning.h"

#include <math.h>

static const char STAGE[] = "factorize";

/* a node and its contribution's pointer: what analyses predict memory by */
_Static_assert(sizeof(mpki_node) + sizeof(void *) <= MPKI_NODE_BYTES,
               "MPKI_NODE_BYTES is too little");

static mpk_status make(mpk_context *ctx, const mpki_tree_view *tree, mpki_direct **out) {
    mpki_direct *f = MPKI_ZNEW(ctx, STAGE, 1, mpki_direct);
    mpki_node *node = MPKI_ZNEW(ctx, STAGE, tree->nsuper + 1, mpki_node);
    *out = NULL;
    if (!f || !node) {
        mpki_release(ctx, f);
        mpki_release(ctx, node);
        return mpki_failed(ctx);
    }
    if (!mpki_lock_init(&f->making)) {
        mpki_release(ctx, f);
        mpki_release(ctx, node);
        return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, -1, "the system has no lock left");
    }
    f->ctx = ctx;
    f->tree = *tree;
    f->node = node;
    *out = f;
    return MPK_OK;
}

static void clear(mpki_direct *f) {
    mpki_places_free(f);
    if (f->have_arena) mpki_arena_free(&f->arena);
    f->have_arena = false;
    mpki_walk_memory_free(f->ctx, &f->memory);
    mpki_kept_free(f->ctx, &f->kept);
    mpki_release(f->ctx, f->schur);
    f->schur = NULL;
}

static void end(mpki_direct **handle) {
    mpki_direct *f = *handle;
    if (!f) return;
    clear(f);
    mpki_lock_end(&f->making);
    mpki_release(f->ctx, f->node);
    mpki_release(f->ctx, f);
    *handle = NULL;
}

static void start_anew(mpki_direct *f) {
    mpki_arena_reset(&f->arena);
    if (f->kept) mpki_kept_touch_all(f->kept, &f->tree);
}

/* The numbers, in an arena that is empty but for what is kept. sax: room for the scaled values, to be
 * freed by the caller unless NULL [out]; NULL [in]: they are scaled as they are read. held: the bytes of
 * it, the arena and the nodes */
static mpk_status find_numbers(mpki_direct *f, const void *ax, void **sax, int64_t held,
                               const mpki_pivot_rules *rules, const mpki_stop *stop,
                               mpki_numeric_result *result) {
    const mpki_tree_view *tree = &f->tree;
    mpk_status status = mpki_walk_memory_make(f, rules->threads);
    if (mpk_failed(status)) return status;
    const bool several = f->memory.workers > 1;
    mpki_pool *pool = several ? mpki_context_pool(f->ctx, rules->threads, 1) : NULL;
    if (*sax) MPKI_DISPATCH(tree->scalar, scale_values)(tree, ax, f->scale, *sax, pool);
    if (!f->kept || !mpki_kept_touch(f->kept, tree, *sax, rules, mpki_arena_bytes(&f->arena)))
        start_anew(f);
    if (several && rules->memory_limit > 0)
        mpki_memory_bound(f->ctx, held + f->memory.bytes + (f->kept ? f->kept->bytes : 0),
                          rules->memory_limit);
    status = MPKI_DISPATCH(tree->scalar, walk)(f, ax, *sax, rules, stop, result);
    if (several) mpki_memory_bound(f->ctx, 0, 0);
    if (f->kept && !mpk_failed(status) && !result->runaway)
        mpki_kept_settle(f->kept, f->ctx, tree, sax, rules, mpki_arena_bytes(&f->arena), result);
    return status;
}

/* Several workers hold more contributions at a time than one does, for which the memory was
 * predicted: where memory_limit is too little for them, one goes over the tree, now and as long as
 * there is no more. */
static bool takes_one_worker(mpki_direct *f, mpk_status status, const mpki_pivot_rules *rules) {
    if (status != MPK_ERR_MEMORY || !(rules->memory_limit > 0) || f->memory.workers == 1)
        return false;
    mpki_clear_error(f->ctx);
    start_anew(f);
    f->pace = (mpki_pace){.workers = 1, .settled = true};
    f->limited = rules->memory_limit;
    return true;
}

/* Bytes of the factor that are known before: of nodes that are not kept in low rank. */
static int64_t whole_bytes(const mpki_tree_view *tree) {
    const int64_t size = (int64_t)mpk_scalar_size(tree->scalar);
    int64_t bytes = 0;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        mpki_node node = {.w = tree->sptr[s + 1] - tree->sptr[s]};
        node.nrows = node.w + tree->rptr[s + 1] - tree->rptr[s];
        if (!mpki_low_pays(node.nrows, node.w))
            bytes = mpki_arena_next(bytes, mpki_node_bytes(&node, (size_t)size));
    }
    return bytes;
}

/* Workers whose spaces take no more than half of what the limit leaves beside the factor: the other half is
 * for contributions. At least one. */
static int most_workers(const mpki_tree_view *tree, double limit, int64_t factor) {
    const double space = (double)mpki_front_work((int64_t)tree->n + tree->outer) *
                             (double)mpk_scalar_size(tree->scalar) +
                         (double)sizeof(mpki_run) * tree->max_front;
    return limit > 0 ? (int)fmin(fmax((limit - (double)factor) / (2 * space), 1), INT32_MAX) : 0;
}

static int64_t contribution(int64_t m) {
    return mpki_trapezoid(m, m);
}

static mpk_status factorize(mpki_direct *f, const void *ax, const double *scale,
                            const mpki_pivot_rules *rules, const mpki_stop *stop,
                            mpki_numeric_result *result) {
    mpk_context *ctx = f->ctx;
    const mpki_tree_view *tree = &f->tree;
    mpk_status status = MPK_OK;
    const bool low = rules->low_rank > 0 && mpki_direct_low(tree);
    const int64_t known = low ? whole_bytes(tree) : tree->factor_bytes;
    if (rules->memory_limit > 0) /* the analysis may have been made with another, or none */
        status = mpki_memory_check(ctx, STAGE, "the factor", (double)known, rules->memory_limit);
    if (mpk_failed(status)) return status;
    if (f->limited > 0 && !(rules->memory_limit > 0 && rules->memory_limit <= f->limited))
        f->pace = (mpki_pace){0}, f->limited = 0;
    f->most = most_workers(tree, rules->memory_limit, known);
    status = mpki_walk_memory_make(f, rules->threads); /* before there are numbers beside it */
    if (mpk_failed(status)) return status;
    const bool scaled = rules->keep || tree->symmetry == MPK_GENERAL;
    const int64_t values = scaled ? tree->nnz + (tree->outer ? tree->outer_ap[tree->n] : 0) : 0;
    void *sax = scaled ? mpki_alloc(ctx, STAGE, values, mpk_scalar_size(tree->scalar)) : NULL;
    if (scaled && !sax) return mpki_failed(ctx);
    if (tree->outer && !f->schur)
        f->schur = mpki_alloc(ctx, STAGE, mpki_trapezoid(tree->outer, tree->outer) + 8,
                              mpk_scalar_size(tree->scalar));
    if (tree->outer && !f->schur) {
        mpki_release(ctx, sax);
        return mpki_failed(ctx);
    }
    mpki_places_free(f);
    f->scale = scale;
    f->size = rules->size;
    if (!rules->keep) mpki_kept_free(ctx, &f->kept);
    if (rules->keep && !f->kept) {
        const bool general = tree->symmetry == MPK_GENERAL;
        status = mpki_kept_make(ctx, tree, general ? mpki_square_contribution : contribution,
                                rules->memory_limit, &f->kept);
    }
    if (mpk_failed(status)) {
        mpki_release(ctx, sax);
        return status;
    }
    double limit = rules->memory_limit; /* of what there is beside what is kept for later values */
    if (limit > 0 && f->kept) limit = fmax(limit - (double)f->kept->bytes, 1);
    if (f->have_arena) {
        f->arena.limit = limit;
    } else {
        const int threads = mpki_context_threads(ctx, rules->threads);
        const int64_t slabs = threads > 1 ? threads * (int64_t)MPKI_NUMBERS_SLAB : 0;
        status = mpki_arena_init(ctx, known + slabs + 4096, limit, &f->arena);
        if (low) f->arena.step = tree->factor_bytes / 64 + (1 << 20);
    }
    f->have_arena |= !mpk_failed(status);
    if (!mpk_failed(status)) {
        const int64_t held = (int64_t)mpki_alloc_bytes((double)mpki_arena_bytes(&f->arena)) +
                             values * (int64_t)mpk_scalar_size(tree->scalar) +
                             (tree->nsuper + 1) * (int64_t)sizeof *f->node;
        status = find_numbers(f, ax, &sax, held, rules, stop, result);
        if (takes_one_worker(f, status, rules))
            status = find_numbers(f, ax, &sax, held, rules, stop, result);
        if (!mpk_failed(status)) f->nnz = result->nnz, f->max_front = result->max_front;
    }
    mpki_release(ctx, sax);
    return mpk_failed(mpki_failed(ctx)) ? mpki_failed(ctx) : status;
}

/* Without the places of solves along paths, which come when the first of these asks. */
static int64_t bytes(const mpki_direct *f) {
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar);
    const int64_t schur = f->schur ? (mpki_trapezoid(f->tree.outer, f->tree.outer) + 8) * size : 0;
    return schur + (f->kept ? f->kept->bytes : 0) +
           (f->have_arena ? mpki_arena_bytes(&f->arena) : 0);
}

static mpk_status get_general(const mpki_direct *f, mpk_quantity what, void *out) {
    const mpk_scalar scalar = f->tree.scalar;
    if (what == MPK_GET_D) {
        MPKI_DISPATCH(scalar, general_get_d)(f, out);
        return MPK_OK;
    }
    int32_t *work = MPKI_NEW(f->ctx, "get", f->tree.n, int32_t);
    if (!work) return mpki_failed(f->ctx);
    MPKI_DISPATCH(scalar, general_get_logdet)(f, work, out);
    mpki_release(f->ctx, work);
    return MPK_OK;
}

static mpk_status get(const mpki_direct *f, mpk_quantity what, void *out) {
    if (f->tree.symmetry == MPK_GENERAL && what != MPK_GET_PERM) return get_general(f, what, out);
    if (what == MPK_GET_D) {
        MPKI_DISPATCH(f->tree.scalar, get_d)(f, out);
    } else if (what == MPK_GET_LOGDET) {
        MPKI_DISPATCH(f->tree.scalar, get_logdet)(f, out);
    } else {
        int32_t *perm = out;
        for (int32_t s = 0; s < f->tree.nsuper; s++)
            for (int32_t k = 0; k < f->node[s].nelim; k++)
                *perm++ = f->tree.perm[mpki_node_names(&f->tree, &f->node[s])[k]];
    }
    return MPK_OK;
}

static void nodes(const mpki_direct *f, int32_t *node) {
    for (int32_t s = 0; s < f->tree.nsuper; s++)
        for (int32_t k = 0; k < f->node[s].nelim; k++)
            node[mpki_node_names(&f->tree, &f->node[s])[k]] = s;
}

static void at_zeros(const mpki_direct *f, void *y) {
    MPKI_DISPATCH(f->tree.scalar, at_zeros)(f, y);
}

static int zeros(const mpki_direct *f, int64_t all, int most, mpki_weak_pivot *list) {
    return MPKI_DISPATCH(f->tree.scalar, zero_pivots)(f, all, most, list);
}

static int weak(const mpki_direct *f, double bound, int most, mpki_weak_pivot *list) {
    return MPKI_DISPATCH(f->tree.scalar, weak_pivots)(f, bound, most, list);
}

static void to_zero(mpki_direct *f, const mpki_weak_pivot *list, int count) {
    MPKI_DISPATCH(f->tree.scalar, weak_to_zero)(f, list, count);
}

static mpk_status selected_inverse(mpk_context *ctx, const mpki_direct *f,
                                   const mpki_selected_wish *wish, mpki_selected_done *done) {
    return MPKI_DISPATCH(f->tree.scalar, selected_inverse)(ctx, f, wish, done);
}

static void schur(const mpki_direct *f, void *c, int64_t ldc) {
    MPKI_DISPATCH(f->tree.scalar, get_schur)(f, c, ldc);
}

const mpki_direct_engine mpki_cpu_direct = {
    .make = make,
    .free = end,
    .clear = clear,
    .factorize = factorize,
    .bytes = bytes,
    .get = get,
    .nodes = nodes,
    .at_zeros = at_zeros,
    .zeros = zeros,
    .weak = weak,
    .to_zero = to_zero,
    .solver_make = mpki_direct_solver_make,
    .solver_free = mpki_direct_solver_free,
    .by_pivots = mpki_direct_by_pivots,
    .apply = mpki_direct_apply,
    .selected_inverse = selected_inverse,
    .schur = schur,
    .outer = mpki_direct_outer,
    .sparse = mpki_direct_sparse,
    .transposed = mpki_direct_transposed,
    .null_vector = mpki_direct_null,
    .low_rank = mpki_direct_low,
    .save = mpki_direct_save,
    .load = mpki_direct_load,
};
