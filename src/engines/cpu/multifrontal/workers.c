/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers that pay, from the plan of a walk. */
#include "workers.h"

#include "core/pool.h"
#include "engines/cpu/front/storage.h"
#include "tuning.h"

/* Numbers that are tried: the same ones however many there are, so that who offers more is not expected to wait
 * longer. */
static int next_number(int workers) {
    int step = 1;
    while (step * 16 <= workers) step *= 2;
    return workers + step;
}

/* A quarter less, at least one. */
static int number_below(int workers) {
    return workers - (workers < 8 ? 1 : workers / 4);
}

/* ---- what a node costs ----------------------------------------------------------------------- */

static bool is_leaf(const mpki_tree_view *tree, int32_t s) {
    return tree->child_ptr[s] == tree->child_ptr[s + 1];
}

static void rows_of(const mpki_tree_view *tree, int32_t s, double *w, double *m) {
    *w = tree->sptr[s + 1] - tree->sptr[s];
    *m = (double)(tree->rptr[s + 1] - tree->rptr[s]);
}

double mpki_walk_cost(const mpki_tree_view *tree, int32_t s) {
    double w, m;
    rows_of(tree, s, &w, &m);
    return mpki_node_cost(w, m, tree->flops[s], is_leaf(tree, s));
}

double mpki_sweep_cost(const mpki_tree_view *tree, int32_t s) {
    double w, m;
    rows_of(tree, s, &w, &m);
    if (is_leaf(tree, s) && w == 1) return 130 + 36 * (1 + m);
    return 1100 + 24 * (w + m) + 4 * w * (w + m);
}

/* The same for eight right-hand sides together. */
static double sides_cost(const mpki_tree_view *tree, int32_t s) {
    double w, m;
    rows_of(tree, s, &w, &m);
    if (is_leaf(tree, s) && w == 1) return 210 + 230 * (1 + m);
    return 1800 + 64 * (w + m) + 7 * w * (w + m);
}

/* ---- a plan ---------------------------------------------------------------------------------- */

/* Costs of nodes, and of them what a node does alone; `share`: what one more worker has to get of a front;
 * walks over the tree. */
typedef struct plan {
    const mpki_tree_view *tree;
    double *cost, *alone, *path; /* nsuper */
    double all, share;
    double gain;   /* of time: another worker has to leave less than this */
    double beside; /* of the shorter of path and share, which do not wholly overlap */
    int walks;
} plan;

static double longest_path(const plan *p, int workers) {
    const mpki_tree_view *tree = p->tree;
    double longest = 0;
    for (int32_t s = tree->nsuper - 1; s >= 0; s--) {
        const double helpers = 1 + p->cost[s] / p->share,
                     above = tree->parent[s] >= 0 ? p->path[tree->parent[s]] : 0;
        p->path[s] = above + p->alone[s] + p->cost[s] / (helpers < workers ? helpers : workers);
        if (p->path[s] > longest) longest = p->path[s];
    }
    return longest;
}

/* From so many workers on the path does not get shorter. */
static double most_helpers(const plan *p) {
    double most = 1;
    for (int32_t s = 0; s < p->tree->nsuper; s++)
        if (p->cost[s] > (most - 1) * p->share) most = 1 + p->cost[s] / p->share;
    return most;
}

/* So many, `most` at most, and the seconds that they are expected to take. */
static int useful(const plan *p, int most, double wake, double *time_s) {
    static const double LOSS = 0.05; /* of each worker's time */
    /* what a worker who is woken beside others adds to the time, in wakes; and all of them together */
    static const double EACH = 1, ALL = 3;
    static const double RATE = 1e6 * MPKI_COSTS_A_MICROSECOND;
    const double helpers = most_helpers(p);
    double path = longest_path(p, 1);
    int best = 1;
    *time_s = p->all / RATE;
    for (int before = 1, k; (k = next_number(before)) <= most; before = k) {
        if (before < helpers) path = longest_path(p, k);
        const double share = p->all / k, longer = share > path ? share : path;
        const double time = (longer + p->beside * (share + path - longer) + LOSS * share) / RATE +
                            p->walks * (EACH * k + ALL) * wake;
        if (time < p->gain * *time_s) best = k, *time_s = time;
    }
    return best;
}

static void plan_factor(plan *p) {
    p->share = MPKI_SHARE_FACTOR;
    p->gain = 0.95;
    p->beside = 0.2;
    p->walks = 1;
    p->all = 0;
    for (int32_t s = 0; s < p->tree->nsuper; s++) {
        p->all += p->cost[s] = mpki_walk_cost(p->tree, s);
        p->alone[s] = 0;
    }
}

/* A part of what a node costs is for its parent, which takes what thousands of leaves may have for it one
 * after the other. */
static void plan_solve(plan *p, bool several) {
    const double child = several ? MPKI_CHILD_SIDES : MPKI_CHILD_SOLVE;
    p->share = MPKI_SHARE_SOLVE;
    p->gain = 0.95;
    p->beside = 0.1;
    p->walks = 2;
    p->all = 0;
    for (int32_t s = 0; s < p->tree->nsuper; s++) p->alone[s] = 0;
    for (int32_t s = 0; s < p->tree->nsuper; s++) {
        const int32_t up = p->tree->parent[s];
        const double cost = several ? sides_cost(p->tree, s) : mpki_sweep_cost(p->tree, s);
        p->cost[s] = up < 0 ? cost : cost - child;
        if (up >= 0) p->alone[up] += child;
        p->all += cost;
    }
}

mpki_useful mpki_useful_of_plan(mpk_context *ctx, const mpki_tree_view *tree, int threads,
                                double wake) {
    mpki_useful found = MPKI_USEFUL(1);
    plan p = {.tree = tree};
    p.cost = mpki_alloc(ctx, "factorize", 3 * (int64_t)tree->nsuper + 1, sizeof *p.cost);
    if (!p.cost) return found;
    p.path = p.cost + tree->nsuper;
    p.alone = p.path + tree->nsuper;
    plan_factor(&p);
    found.factor = useful(&p, p.all < MPKI_WORTH_THREADS ? 1 : threads, wake, &found.factor_s);
    plan_solve(&p, false);
    found.solve = useful(&p, p.all < MPKI_SOLVE_WORTH ? 1 : found.factor, wake, &found.solve_s);
    plan_solve(&p, true);
    found.sides = useful(&p, p.all < MPKI_SOLVE_WORTH ? 1 : found.factor, wake, &found.sides_s);
    mpki_release(ctx, p.cost);
    return found;
}

mpki_useful mpki_useful_workers(mpk_context *ctx, const mpki_tree_view *tree, int threads) {
    double cost = 0;
    threads = mpki_context_threads(ctx, threads);
    if (mpki_context_takes_all(ctx)) return MPKI_USEFUL(threads);
    for (int32_t s = 0; s < tree->nsuper; s++) cost += mpki_walk_cost(tree, s);
    if (threads < 2 || cost < MPKI_WORTH_THREADS) return MPKI_USEFUL(1);
    const mpki_useful most = mpki_useful_of_plan(ctx, tree, threads, 0);
    if (most.factor == 1) return most; /* nor need it be measured */
    return mpki_useful_of_plan(ctx, tree, threads, mpki_context_wake_s(ctx, threads));
}

/* ---- what walks have shown ------------------------------------------------------------------- */

void mpki_pace_learn(mpki_pace *pace, int workers, double wall_s, double busy_s) {
    static const double IDLE = 0.4, SLOWER = 1.03;
    if (workers == 1 || pace->settled) return;
    if (pace->workers != workers) pace->workers = workers, pace->walks = 0;
    if (pace->walks++ == 0) return;
    if (pace->best > workers && wall_s > SLOWER * pace->best_s) {
        pace->workers = pace->best;
        pace->settled = true;
        return;
    }
    if (pace->best == 0 || wall_s < pace->best_s) pace->best = workers, pace->best_s = wall_s;
    if (busy_s < IDLE * workers * wall_s) {
        pace->workers = number_below(workers);
        pace->walks = 0;
    }
}
