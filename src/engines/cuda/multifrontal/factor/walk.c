/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's multifrontal engine: the walk over the steps of the plan. The kernels
 * are in kernels/; where columns are delayed, fronts grow: small ones find a place by themselves,
 * for large ones the host reads the counts once a step. A task whose front does not fit stops, and
 * so do those above it; the front is then eliminated as a large one, or the arena grows, and the
 * step goes on. */
#include "walk.h"

#include "core/random.h"
#include "engines/cuda/module/engine.h"

#include <math.h>

static const char STAGE[] = "factorize";

#define DID(call) MPKI_CUDA_DID(f, call)

static const mpki_cuda_direct_table *functions(const mpki_direct *f) {
    return f->device->table->direct;
}

/* What the plan of a tree counts on. */
static mpki_cuda_capacity capacity_of(const mpki_device *device) {
    const mpki_cuda_direct_table *table = device->table->direct;
    mpki_cuda_capacity capacity = {.task_bytes = table->task_bytes};
    for (int k = 0; k < MPKI_CUDA_CLASSES; k++) {
        capacity.bytes[k] = table->class_bytes(device->cuda, k);
        capacity.blocks[k] = table->class_blocks(device->cuda, k);
    }
    return capacity;
}

static mpk_status make_anew(mpk_context *ctx, const mpki_tree_view *tree, mpki_direct **out) {
    *out = NULL;
    mpki_direct *f = MPKI_ZNEW(ctx, STAGE, 1, mpki_direct);
    if (!f) return mpki_failed(ctx);
    f->ctx = ctx;
    f->device = mpki_cuda_kept(ctx);
    if (!f->device->table->direct) {
        mpki_release(ctx, f);
        return mpki_error(ctx, MPK_ERR_DEVICE, STAGE, -1,
                          "the CUDA module was built without the direct solver");
    }
    f->tree = *tree;
    f->half_copy_least = MPKI_HALF_COPY_LEAST;
    f->apart_most = MPKI_CUDA_APART;
    f->queued_least = MPKI_FRONT_TILE_128 + 1;
    f->queued_most =
        tree->failing > 0 ? MPKI_FRONT_QUEUED : 0; /* else tiles of 128 will mostly stand */
    const mpki_cuda_capacity capacity = capacity_of(f->device);
    const mpk_status status = mpki_cuda_plan_make(ctx, tree, &capacity, false, &f->plan);
    if (mpk_failed(status)) {
        mpki_release(ctx, f);
        return status;
    }
    *out = f;
    return MPK_OK;
}

static void clear(mpki_direct *f) {
    mpki_cuda_direct_drop_device(f);
    mpki_cuda_direct_drop_host(f);
    mpki_release(f->ctx, f->between);
    f->between = NULL;
}

static void end(mpki_direct **handle) {
    mpki_direct *f = *handle;
    if (!f) return;
    clear(f);
    mpki_cuda_plan_free(f->ctx, &f->plan);
    mpki_release(f->ctx, f);
    *handle = NULL;
}

/* What the analysis has made ahead, if it has. */
static mpk_status make(mpk_context *ctx, const mpki_tree_view *tree, mpki_direct **out) {
    mpki_direct *f = mpki_cuda_take_ahead(ctx, tree->perm);
    if (f && f->tree.scalar != tree->scalar) end(&f);
    *out = f;
    return f ? MPK_OK : make_anew(ctx, tree, out);
}

typedef struct walk {
    mpki_direct *f;
    const mpki_stop *stop;
    mpki_numeric_result *result;
    int32_t known; /* fronts before this one are in f->state */
    int32_t counted;
    int32_t queued; /* steps whose tasks are queued before the walk */
    double flops;   /* of the fronts before `counted` */
    bool recut;     /* given up: the plan is to be another one */
} walk;

/* ---- the steps ------------------------------------------------------------------------------- */

/* What kernels know a step by: the more the earlier. */
static int32_t depth_of(const mpki_direct *f, int32_t l) {
    return f->plan.steps - 1 - l;
}

static bool children_are_done(const mpki_direct *f, int32_t front) {
    const mpki_cuda_node *node = &f->plan.node[front];
    for (int32_t k = 0; k < node->children; k++)
        if (f->state[f->plan.child[node->child + k]].done != MPKI_CUDA_DONE) return false;
    return true;
}

/* Columns that fail go from the first columns of a cut front to the next ones, and are tried again
 * and again. Is it so many that the front had better not be cut? That is so where pivots must be
 * looked for among all its columns: of a matrix like A^T A + small I, say. */
static bool cuts_cost_too_much(const mpki_direct *f) {
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar);
    int64_t delayed = 0;
    for (int32_t k = 0; !f->whole && k < f->changed; k++) {
        const mpki_cuda_front_state *x = &f->state[f->change[k]];
        if (f->plan.kind[f->change[k]] == MPKI_CUDA_LOWER && x->done == MPKI_CUDA_DONE)
            delayed += (x->w - x->nelim) * (int64_t)x->ld * size;
    }
    return delayed > f->plan.panel_bytes / 4;
}

/* The fronts at which tasks of a step have stopped: those that are too large for the largest class
 * are listed, for the others *want bytes of the arena. Returns how many were listed. */
static int32_t stopped_at(const mpki_direct *f, const mpki_cuda_step *at, int32_t *list,
                          int64_t *want) {
    const mpki_cuda_plan *plan = &f->plan;
    int32_t count = 0;
    for (int32_t t = at->task[0]; t < at->task[MPKI_CUDA_CLASSES]; t++) {
        int32_t front = plan->task[t].first;
        if (plan->task[t].part >= 0) continue;
        while (front <= plan->task[t].last && f->state[front].done == MPKI_CUDA_DONE) front++;
        if (front > plan->task[t].last || !children_are_done(f, front)) continue;
        const mpki_cuda_node *node = &plan->node[front];
        const int32_t w = node->own + mpki_cuda_direct_delayed(f, front), nrows = w + node->rows;
        if (functions(f)->task_bytes(f->tree.scalar, nrows, w, 0) >
            functions(f)->class_bytes(f->device->cuda, MPKI_CUDA_CLASSES - 1))
            list[count++] = front;
        else
            *want += mpki_cuda_panel_bytes(f->tree.scalar, nrows, w);
    }
    return count;
}

/* The step whose tasks have stopped goes on: the arena grows; fronts that are too large even for
 * the largest class of blocks become large ones. *step [out]: where */
static mpk_status unstick(walk *z, int32_t *step) {
    mpki_direct *f = z->f;
    mpki_cuda *cuda = f->device->cuda;
    const mpki_cuda_plan *plan = &f->plan;
    const int32_t l = plan->steps - f->flags.stuck; /* stuck: 1 + depth */
    const mpki_cuda_step *at = &plan->step[l];
    const int32_t tasks = at->task[MPKI_CUDA_CLASSES] - at->task[0];
    int32_t *list = MPKI_NEW(f->ctx, STAGE, (int64_t)tasks + 1, int32_t);
    int64_t want = 0;
    mpk_status status = list ? MPK_OK : mpki_failed(f->ctx);
    z->recut = cuts_cost_too_much(f);
    if (mpk_failed(status) || z->recut) {
        mpki_release(f->ctx, list);
        return status;
    }
    const int32_t count = stopped_at(f, at, list, &want);
    f->flags.stuck = f->flags.reason = 0;
    f->flags.sums = (mpki_cuda_pivot_sums){.min_d = INFINITY};
    /* not where tasks had only grown beyond their class */
    if (f->flags.used + (unsigned long long)want > f->flags.end)
        status = mpki_cuda_direct_grow_arena(f, want);
    if (!mpk_failed(status)) status = mpki_cuda_direct_send_flags(f);
    if (!mpk_failed(status) &&
        (!DID(functions(f)->unmark(cuda, &f->on, at->first, at->last)) ||
         !DID(functions(f)->clear(cuda, f->ticket + (int64_t)l * MPKI_CUDA_CLASSES,
                                  MPKI_CUDA_CLASSES * (int64_t)sizeof *f->ticket))))
        status = mpki_failed(f->ctx);
    if (!mpk_failed(status) && count > 0)
        status = mpki_cuda_direct_eliminate(f, list, NULL, count, depth_of(f, l));
    mpki_release(f->ctx, list);
    *step = l;
    return status;
}

/* What of a front's size goes into the hash of all. */
static uint64_t shape_of(int32_t front, int32_t w, int32_t nelim) {
    return mpki_random_mix(mpki_random_at((uint64_t)front) ^ (uint64_t)(uint32_t)w << 32 ^
                           (uint64_t)(uint32_t)nelim);
}

/* What a front of w columns, of which nelim are eliminated, adds to the sums: sign 1, or takes
 * away: -1. */
static void add_front(const mpki_direct *f, int32_t front, int32_t w, int32_t nelim, int sign,
                      mpki_numeric_result *r, uint64_t *shape) {
    const int64_t e = nelim, nrows = w + f->plan.node[front].rows;
    *shape += (uint64_t)sign * shape_of(front, w, nelim);
    if (f->plan.kind[front] == MPKI_CUDA_HELPER) return;
    if (f->plan.kind[front] == MPKI_CUDA_SUPERNODE) r->delayed += sign * (w - nelim);
    r->flops += sign * mpki_front_flops((double)e, (double)(nrows - e));
    r->nnz += sign * (e * nrows - e * (e - 1) / 2);
    if (sign > 0 && nrows > r->max_front) r->max_front = (int32_t)nrows;
}

/* The sums while nothing is delayed, once. */
static void add_up_planned(mpki_direct *f) {
    if (f->summed) return;
    f->planned_sums = (mpki_numeric_result){0}, f->planned_shape = 0;
    for (int32_t k = 0; k < f->plan.fronts; k++)
        add_front(f, k, f->plan.node[k].own, f->plan.node[k].own, 1, &f->planned_sums,
                  &f->planned_shape);
    f->summed = true;
}

/* What the sizes of the fronts tell. Beside the planned ones those alone count of which they are not
 * true: they have grown, or left columns. */
static void add_up_fronts(mpki_direct *f, mpki_numeric_result *r) {
    add_up_planned(f);
    *r = f->planned_sums;
    f->shape = f->planned_shape;
    for (int32_t k = 0; k < f->changed; k++) { /* flops are integers: exact in any order */
        const mpki_cuda_front_state *x = &f->state[f->change[k]];
        const int32_t front = f->change[k], own = f->plan.node[front].own;
        add_front(f, front, own, own, -1, r, &f->shape);
        add_front(f, front, x->w, x->nelim, 1, r, &f->shape);
    }
}

/* Take note of fronts that are done; is it time to give up? */
static mpk_status note(walk *z, int32_t until) {
    mpki_direct *f = z->f;
    /* as long as all is as in an earlier run that was not too dear, it need not be counted */
    const bool fits =
        f->summed && f->changed == 0 && z->stop && f->planned_sums.flops <= z->stop->flops;
    if (z->stop && !fits && z->counted == 0 && until == f->plan.fronts) {
        mpki_numeric_result all;
        add_up_fronts(f, &all);
        z->flops = all.flops, z->counted = until;
    }
    for (; z->stop && !fits && z->counted < until; z->counted++) {
        const mpki_cuda_front_state *x = &f->state[z->counted];
        z->flops += mpki_front_flops(x->nelim, x->w + f->plan.node[z->counted].rows - x->nelim);
    }
    z->known = until;
    if (z->stop &&
        (z->flops > z->stop->flops || (double)f->flags.rejected > (double)z->stop->rejected))
        z->result->runaway = true;
    if (mpki_progress(f->ctx, STAGE, 0.999 * until / f->plan.fronts))
        return mpki_error(f->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    return MPK_OK;
}

/* All fronts before `until` done and known. *step [inout]: where to go on if some were not */
static mpk_status settle(walk *z, int32_t until, int32_t *step, bool *again) {
    *again = false;
    if (mpk_failed(mpki_cuda_direct_read(z->f, z->known, until))) return mpki_failed(z->f->ctx);
    if (!z->f->flags.stuck) return note(z, until);
    *again = true;
    return unstick(z, step);
}

/* The large fronts from place k on that are eliminated together: up to the one returned. */
static int32_t together(const mpki_direct *f, int32_t k, int32_t last) {
    int64_t work = 0;
    for (int32_t first = k; k < last; k++) {
        const mpki_cuda_node *node = &f->plan.node[f->plan.large[k]];
        const int32_t w = node->own + mpki_cuda_direct_delayed(f, f->plan.large[k]);
        work += mpki_cuda_front_work(f->tree.scalar, w + node->rows, w);
        if (work > MPKI_CUDA_TOGETHER && k > first) break;
    }
    return k;
}

/* bench/cuda asks how long each kind of a step's fronts takes. */
static double clock_of(const mpki_direct *f) {
    if (!f->profile) return 0;
    (void)functions(f)->wait(f->device->cuda);
    return mpki_now_s();
}

static void add_time(const mpki_direct *f, int32_t l, int kind, double since) {
    if (f->profile) f->profile[l * (MPKI_CUDA_CLASSES + 1) + kind] += clock_of(f) - since;
}

/* Large fronts of a step that are not done. */
static mpk_status large_ones(mpki_direct *f, int32_t l) {
    const mpki_cuda_plan *plan = &f->plan;
    const mpki_cuda_step *step = &plan->step[l];
    const double since = clock_of(f);
    f->work = f->on.arena + step->work;
    f->work_bytes = step->work_bytes;
    for (int32_t k = step->large_first, next; k < step->large_last; k = next) {
        next = together(f, k, step->large_last);
        if (mpk_failed(mpki_cuda_direct_eliminate(f, plan->large + k, plan->round + k, next - k,
                                                  depth_of(f, l))))
            break;
    }
    f->work_bytes = 0; /* contributions of this step's tasks may lie there */
    if (mpk_failed(mpki_failed(f->ctx))) return mpki_failed(f->ctx);
    add_time(f, l, MPKI_CUDA_CLASSES, since);
    return MPK_OK;
}

/* Tasks of a step. again: as far as they are not done; all by blocks of the largest class then,
 * since some have grown. */
static mpk_status small_ones(mpki_direct *f, int32_t l, bool again) {
    const mpki_cuda_step *step = &f->plan.step[l];
    if (again) {
        (void)DID(functions(f)->tasks(f->device->cuda, &f->on, f->task + step->task[0],
                                      step->task[MPKI_CUDA_CLASSES] - step->task[0],
                                      MPKI_CUDA_CLASSES - 1, depth_of(f, l),
                                      f->ticket + (int64_t)l * MPKI_CUDA_CLASSES, 0));
        return mpki_failed(f->ctx);
    }
    bool beside = false;
    for (int size = 0; size < MPKI_CUDA_CLASSES; size++) {
        const double since = clock_of(f);
        const int32_t leaves = size == 0 ? step->leaves : 0, first = step->task[size] + leaves;
        if (leaves > 0 &&
            !DID(functions(f)->leaves(f->device->cuda, &f->on, f->plan.task[step->task[0]].first,
                                      leaves, depth_of(f, l))))
            return mpki_failed(f->ctx);
        beside = !f->profile && (beside || leaves > 0);
        if (!DID(functions(f)->tasks(f->device->cuda, &f->on, f->task + first,
                                     step->task[size + 1] - first, size, depth_of(f, l),
                                     f->ticket + (int64_t)l * MPKI_CUDA_CLASSES + size, beside)))
            return mpki_failed(f->ctx);
        beside = !f->profile && (beside || step->task[size + 1] > first);
        add_time(f, l, size, since);
    }
    return MPK_OK;
}

static mpk_status go(walk *z) {
    mpki_direct *f = z->f;
    const mpki_cuda_plan *plan = &f->plan;
    int32_t l = 0, larges = -1; /* larges: the last step whose large fronts are done */
    while (!z->result->runaway) {
        bool again = false;
        const bool last = l == plan->steps;
        const mpki_cuda_step *step = &plan->step[l];
        if (last || (step->large_last > step->large_first && larges < l)) {
            if (mpk_failed(settle(z, last ? plan->fronts : step->first, &l, &again)))
                return mpki_failed(f->ctx);
            if (z->result->runaway || z->recut || (last && !again)) break;
            if (!again) {
                if (mpk_failed(large_ones(f, l))) return mpki_failed(f->ctx);
                larges = l;
            }
        }
        if ((again || l >= z->queued) && mpk_failed(small_ones(f, l, again)))
            return mpki_failed(f->ctx);
        l++;
    }
    return MPK_OK;
}

/* ---- the begin ------------------------------------------------------------------------------- */

/* Are updates of these numbers emulated? auto: where the device's units for doubles are few. */
static mpk_switch emulation_of(const mpki_direct *f, mpk_switch asked) {
    if (f->tree.scalar != MPK_D || asked != MPK_AUTO)
        return f->tree.scalar == MPK_D ? asked : MPK_OFF;
    return functions(f)->doubles_slower(f->device->cuda) >= MPKI_SCARCE_DOUBLES ? MPK_AUTO
                                                                                : MPK_OFF;
}

/* What the device begins with. */
static mpki_cuda_beginning beginning(const mpki_direct *f) {
    mpki_cuda_beginning what = {.state = f->on.state,
                                .ticket = f->ticket,
                                .fronts = f->on.fronts,
                                .tickets = f->plan.steps * MPKI_CUDA_CLASSES,
                                .to = f->on.flags};
    what.flags = (mpki_cuda_flags){.used = mpki_cuda_address(f->growth),
                                   .end = mpki_cuda_address(f->growth + f->growth_bytes),
                                   .sums.min_d = INFINITY};
    if (f->chunks > 0) {
        what.flags.used = mpki_cuda_address(f->chunk[0].ptr);
        what.flags.end = what.flags.used + (unsigned long long)f->chunk[0].bytes;
    }
    return what;
}

static mpki_cuda_rules rules_of(const mpki_direct *f, const mpki_pivot_rules *rules) {
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar);
    const double eps = size == 4 || f->tree.scalar == MPK_C ? 0x1p-23 : 0x1p-52;
    return (mpki_cuda_rules){.threshold = rules->threshold < eps ? eps : rules->threshold,
                             .small = rules->small,
                             .shift = rules->shift,
                             .noise = eps * rules->size * (f->emulation ? MPKI_EMULATED_NOISE : 1)};
}

static bool same_rules(const mpki_cuda_rules *a, const mpki_cuda_rules *b) {
    return a->threshold == b->threshold && a->small == b->small && a->shift == b->shift &&
           a->noise == b->noise;
}

static void set_rules(mpki_cuda_tree *tree, const mpki_cuda_rules *rules) {
    tree->threshold = rules->threshold, tree->small = rules->small;
    tree->shift = rules->shift, tree->noise = rules->noise;
}

/* Can the next numbers begin as soon as their values are there, by the rules of the last ones? Not
 * where the walk would do more first, or takes times. */
static bool may_begin(const mpki_direct *f) {
    return f->planned && !f->between && !f->cut_badly && !f->profile && f->plan.fronts > 0 &&
           f->expected.threshold > 0 && !mpki_cuda_direct_joins(f);
}

/* The first tasks, by these rules. */
static mpk_status first_tasks(mpki_direct *f) {
    const mpki_cuda_plan *plan = &f->plan;
    const mpki_cuda_tree last = f->on;
    set_rules(&f->on, &f->expected);
    for (f->queued = 0; f->queued < plan->steps; f->queued++) {
        const mpki_cuda_step *step = &plan->step[f->queued];
        if (step->large_last > step->large_first || mpk_failed(small_ones(f, f->queued, false)))
            break;
    }
    f->on = last; /* of the numbers that there are, should these values be refused */
    return mpki_failed(f->ctx);
}

static mpk_status take(mpki_direct *f, const mpki_given_view *given, bool *taken) {
    const bool early = given->begin && may_begin(f);
    const mpki_cuda_beginning next = early ? beginning(f) : (mpki_cuda_beginning){0};
    return mpki_cuda_direct_take(f, given, early ? &next : NULL, first_tasks, taken);
}

/* *queued [out] steps whose tasks are queued */
static mpk_status begin(mpki_direct *f, const void *ax, const double *scale,
                        const mpki_pivot_rules *rules, int32_t *queued) {
    mpki_cuda *cuda = f->device->cuda;
    const int64_t n = f->tree.n, size = (int64_t)mpk_scalar_size(f->tree.scalar);
    const mpki_cuda_beginning what = beginning(f);
    f->emulation = emulation_of(f, rules->fp64_emulation), f->emulated = 0;
    const mpki_cuda_rules by = rules_of(f, rules);
    const bool has_begun = f->has_begun && !ax && same_rules(&by, &f->expected);
    f->flags = what.flags;
    f->part = f->flags.used, f->filled = 0;
    set_rules(&f->on, &by);
    if (f->first) f->expected = by;
    f->has_begun = f->first = false;
    *queued = has_begun ? f->queued : 0;
    if (has_begun) return MPK_OK;
    if ((ax &&
         (!DID(functions(f)->copy(cuda, f->ax, ax, f->tree.nnz * size, 1)) ||
          !DID(functions(f)->copy(cuda, f->given_scale, scale, n * (int64_t)sizeof *scale, 1)) ||
          !DID(functions(f)->scale(cuda, f->tree.n, f->perm, f->given_scale,
                                   (double *)(uintptr_t)f->on.scale)))) ||
        !DID(functions(f)->begin(cuda, &what)))
        return mpki_failed(f->ctx);
    return MPK_OK;
}

/* Counts from D, on the device; the rest from the fronts. */
static void add_up(walk *z) {
    mpki_direct *f = z->f;
    mpki_numeric_result *r = z->result;
    add_up_fronts(f, r);
    const mpki_cuda_pivot_sums *sums = &f->flags.sums;
    r->positive = (int64_t)sums->positive, r->negative = (int64_t)sums->negative;
    r->zero = (int64_t)sums->zero, r->two_by_two = (int64_t)sums->pairs;
    r->max_d = sums->max_d, r->min_d = sums->min_d;
    r->perturbed = (int64_t)f->flags.perturbed, r->rejected = (int64_t)f->flags.rejected;
    r->emulated = f->emulated;
}

/* Another plan, of this tree; whole: no front is cut in it. *f is as it was where that fails. */
static mpk_status plan_anew(mpki_direct *f, const mpki_tree_view *tree, bool whole) {
    mpki_cuda_plan plan;
    const mpki_cuda_capacity capacity = capacity_of(f->device);
    const mpk_status status = mpki_cuda_plan_make(f->ctx, tree, &capacity, whole, &plan);
    if (mpk_failed(status)) return status;
    mpki_cuda_direct_drop_device(f);
    mpki_cuda_direct_drop_host(f);
    mpki_cuda_plan_free(f->ctx, &f->plan);
    f->tree = *tree, f->plan = plan, f->whole = whole, f->cut_badly = false;
    return MPK_OK;
}

/* Scaling and values that only the device has, in host memory, one after the other: *values, to be
 * released. */
static mpk_status fetch_values(mpki_direct *f, char **values) {
    const int64_t n = f->tree.n, size = (int64_t)mpk_scalar_size(f->tree.scalar);
    *values = mpki_alloc(f->ctx, STAGE, n * 8 + f->tree.nnz * size, 1);
    return *values ? mpki_cuda_direct_give(f, *values + n * 8, (double *)(void *)*values)
                   : mpki_failed(f->ctx);
}

static mpk_status retree(mpki_direct *f, const mpki_tree_view *tree) {
    char *values = NULL;
    mpk_status status = f->taken ? fetch_values(f, &values) : MPK_OK;
    if (!mpk_failed(status)) status = plan_anew(f, tree, f->whole);
    if (mpk_failed(status)) {
        mpki_release(f->ctx, values);
        return status;
    }
    mpki_release(f->ctx, f->between);
    f->between = values;
    return MPK_OK;
}

static mpk_status walk_once(walk *z, const void *ax, const double *scale,
                            const mpki_pivot_rules *rules) {
    mpki_direct *f = z->f;
    if (mpk_failed(mpki_cuda_direct_host_arrays(f))) return mpki_failed(f->ctx);
    if (!f->planned && mpk_failed(mpki_cuda_direct_place(f))) {
        mpki_cuda_direct_drop_device(f);
        return mpki_failed(f->ctx);
    }
    mpki_cuda_direct_join_chunks(f);
    if (mpk_failed(begin(f, ax, scale, rules, &z->queued)) || mpk_failed(go(z))) {
        (void)functions(f)->wait(f->device->cuda);
        return mpki_failed(f->ctx);
    }
    return MPK_OK;
}

/* The same with values in host memory that were taken from the device before its memory was. */
static mpk_status walk_between(walk *z, char *values, const mpki_pivot_rules *rules) {
    mpki_direct *f = z->f;
    mpk_status status = walk_once(z, values + f->tree.n * 8, (const double *)(void *)values, rules);
    if (!mpk_failed(status)) status = functions(f)->wait(f->device->cuda);
    f->taken = !mpk_failed(status);
    return status;
}

/* The same, and all of it once more, by another plan. Values that only the device has are kept on
 * the host meanwhile. */
static mpk_status walk_whole(walk *z, const void *ax, const double *scale,
                             const mpki_pivot_rules *rules) {
    mpki_direct *f = z->f;
    char *values = NULL;
    mpk_status status = ax ? MPK_OK : fetch_values(f, &values);
    if (!mpk_failed(status)) status = plan_anew(f, &f->tree, true);
    if (!mpk_failed(status))
        status = ax ? walk_once(z, ax, scale, rules) : walk_between(z, values, rules);
    mpki_release(f->ctx, values);
    return status;
}

/* By a new tree (retree). */
static mpk_status walk_retreed(walk *z, const mpki_pivot_rules *rules) {
    mpki_direct *f = z->f;
    char *values = f->between;
    f->between = NULL;
    const mpk_status status = walk_between(z, values, rules);
    mpki_release(f->ctx, values);
    return status;
}

static mpk_status factorize(mpki_direct *f, const void *ax, const double *scale,
                            const mpki_pivot_rules *rules, const mpki_stop *stop,
                            mpki_numeric_result *result) {
    walk z = {.f = f, .stop = stop, .result = result};
    *result = (mpki_numeric_result){.min_d = INFINITY};
    f->valid = f->fetched = false;
    f->turn++;
    atomic_store(&f->squared, false);
    atomic_store(&f->half_copied, false);
    atomic_store(&f->corrections, 0);
    f->scale = scale, f->size = rules->size, f->limit = rules->device_memory_limit;
    if (f->fresh && f->limit > 0 && (double)mpki_cuda_direct_held(f) > f->limit)
        mpki_cuda_direct_drop_device(f); /* it was made ahead, without that limit: it fails again */
    if (ax) {
        f->taken = false;
        mpki_release(f->ctx, f->between);
        f->between = NULL;
    }
    const bool retreed = f->between != NULL;
    if (!ax && !f->taken && !retreed)
        return mpki_error(f->ctx, MPK_ERR_INTERNAL, STAGE, -1, "no values were taken");
    if (f->plan.fronts == 0) {
        f->valid = true;
        return MPK_OK;
    }
    if (mpk_failed(retreed ? walk_retreed(&z, rules)
                           : (f->cut_badly ? walk_whole : walk_once)(&z, ax, scale, rules)))
        return mpki_failed(f->ctx);
    if (z.recut) {
        z = (walk){.f = f, .stop = stop, .result = result};
        if (mpk_failed(walk_whole(&z, ax, scale, rules))) return mpki_failed(f->ctx);
    }
    if (!result->runaway) add_up(&z);
    f->cut_badly = !result->runaway && cuts_cost_too_much(f);
    f->valid = !result->runaway;
    return MPK_OK;
}

static void end_ahead(void *ahead) {
    mpki_direct *f = ahead;
    end(&f);
}

void mpki_cuda_direct_prepare(mpk_context *ctx, const mpki_tree_view *tree, double limit) {
    mpki_direct *f = NULL;
    mpki_cuda_drop_ahead(ctx, NULL); /* its memory may be wanted */
    mpk_status status = make_anew(ctx, tree, &f);
    if (mpk_failed(status) || f->plan.fronts == 0) {
        end(&f);
        return;
    }
    f->limit = limit;
    status = mpki_cuda_direct_host_arrays(f);
    if (!mpk_failed(status)) status = mpki_cuda_direct_place(f);
    if (!mpk_failed(status))
        status = mpki_cuda_status(ctx, STAGE, functions(f)->load(f->device->cuda, tree->scalar));
    if (mpk_failed(status)) {
        end(&f);
        return;
    }
    mpki_cuda_direct_as_planned(f);
    add_up_planned(f);
    mpki_cuda_set_ahead(ctx, f, tree->perm, end_ahead);
}

static int64_t bytes(const mpki_direct *f) {
    return mpki_cuda_direct_held(f);
}

/* Bytes of slices while nothing is delayed. */
static int64_t planned_slices(const mpki_direct *f) {
    const mpki_cuda_plan *plan = &f->plan;
    int64_t most = 0;
    for (int32_t l = 0; l < plan->steps; l++)
        for (int32_t k = plan->step[l].large_first, next; k < plan->step[l].large_last; k = next) {
            next = together(f, k, plan->step[l].large_last);
            const int64_t bytes = mpki_cuda_direct_slice_bytes(f, plan->large + k, next - k);
            most = bytes > most ? bytes : most;
        }
    return most;
}

/* The bytes of a factor of which as much is delayed as expected, and of its solves. */
static mpk_status estimate(mpk_context *ctx, const mpki_tree_view *tree, mpk_switch emulation,
                           int64_t *bytes_out, int64_t *delayed_bytes, double *time_s) {
    mpki_direct *f = NULL;
    int64_t lists = 0, solve = 0;
    mpk_status status = make_anew(ctx, tree, &f);
    *bytes_out = *delayed_bytes = 0, *time_s = 0;
    if (!mpk_failed(status)) status = mpki_cuda_direct_host_arrays(f);
    if (!mpk_failed(status)) {
        for (int32_t k = 0; k < f->plan.fronts; k++)
            f->state[k].w = f->state[k].nelim = f->plan.node[k].own;
        const int64_t all = f->plan.fronts > 0 ? mpki_cuda_direct_memory_bytes(f, true) : 0;
        status = mpki_cuda_direct_solver_bytes(ctx, f, 1, false, &lists, &solve);
        solve += lists;
        if (all > 0) {
            *bytes_out = all + solve;
            *delayed_bytes = *bytes_out - solve - mpki_cuda_direct_memory_bytes(f, false);
            if (emulation_of(f, emulation)) *bytes_out += planned_slices(f);
        }
    }
    end(&f);
    return status;
}

const mpki_direct_engine mpki_cuda_direct = {
    .make = make,
    .free = end,
    .clear = clear,
    .factorize = factorize,
    .bytes = bytes,
    .beside = mpki_cuda_direct_beside,
    .late = mpki_cuda_direct_late,
    .retree = retree,
    .get = mpki_cuda_direct_get,
    .at_zeros = mpki_cuda_direct_at_zeros,
    .zeros = mpki_cuda_direct_zeros,
    .weak = mpki_cuda_direct_weak,
    .to_zero = mpki_cuda_direct_to_zero,
    .solver_make = mpki_cuda_direct_solver_make,
    .solver_free = mpki_cuda_direct_solver_free,
    .by_pivots = mpki_cuda_direct_by_pivots,
    .apply = mpki_cuda_direct_apply,
    .refine = mpki_cuda_direct_refine,
    .take = take,
    .give = mpki_cuda_direct_give,
    .flatness = mpki_cuda_direct_flatness,
    .estimate = estimate,
};
