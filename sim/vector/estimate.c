/* SPDX-License-Identifier: BSD-3-Clause */
/* How many instructions a warp of each size executes. */
#include "sim/vector/engine.h"
#include "sim/vector/pack.h"
#include <string.h>

enum { TRIALS = 32 };                                 /* of a size */
enum { MOST_STEPS = 1 << 22, MOST_BY_LOT = 1 << 16 }; /* of a program that does not end, of lots */

/* Registers that may ever hold what comes of memory. */
static bool *find_unknown(const vr_program *p, borg_arena *arena) {
    bool *unknown = BORG_NEW(arena, p->nregisters + 1, bool), changed = true;
    while (changed) {
        changed = false;
        for (int32_t i = 0; i < p->ninsts; ++i) {
            const vr_inst *v = &p->insts[i];
            if (v->dst < 0 || unknown[v->dst] || !vs_from_memory(v, unknown)) continue;
            unknown[v->dst] = changed = true;
        }
    }
    return unknown;
}

static bool branches_on(const vr_program *p, const bool *unknown) {
    for (int32_t i = 0; i < p->ninsts; ++i) {
        const vr_inst *v = &p->insts[i];
        if (vr_op_table[v->op].class == VR_ON_CONTROL && v->guard >= 0 && unknown[v->guard])
            return true;
    }
    return false;
}

/* The mean over trials, each with its own lots, the same for all sizes. */
static int64_t by_lot(vs_engine *e, int32_t ntids, bool *unknown, int trials) {
    const vs_warp warp = {.wid = 0, .ntids = ntids};
    const int64_t limit = e->limit;
    vs_guess guess = {.unknown = unknown};
    int64_t sum = 0;
    const int64_t most = trials > 1 ? MOST_BY_LOT : MOST_STEPS;
    if (e->limit > most) e->limit = most;
    e->guess = &guess;
    for (int k = 0; k < trials && sum >= 0; ++k) {
        guess.state = (uint64_t)k;
        memset(unknown, 0, (size_t)e->program->nregisters * sizeof *unknown);
        const int64_t steps = vs_run(e, &warp, 1, NULL);
        sum = steps < 0 ? -1 : sum + steps;
    }
    e->guess = NULL;
    e->limit = limit;
    return sum < 0 ? -1 : (sum + trials / 2) / trials;
}

vs_counts *vs_count(vs_engine *engine, const vs_warp *warps, int32_t count, vs_estimate how,
                    borg_arena *arena) {
    vs_counts *c = BORG_NEW(arena, 1, vs_counts);
    bool *unknown = find_unknown(engine->program, arena);
    const int trials = branches_on(engine->program, unknown) ? TRIALS : 1;
    for (int32_t i = 0; i < count; ++i)
        if (warps[i].ntids > c->most) c->most = warps[i].ntids;
    c->of = BORG_NEW(arena, c->most + 1, int64_t);
    c->entry = BORG_NEW(arena, c->most + 1, int32_t);
    int64_t *runs = BORG_NEW(arena, c->most + 1, int64_t);
    for (int32_t i = 0; i < count; ++i) {
        const int32_t size = warps[i].ntids;
        if (runs[size]++ && how != VS_BY_ALL) continue;
        const int64_t steps = how == VS_BY_LOT ? by_lot(engine, size, unknown, trials)
                                               : vs_run(engine, &warps[i], 1, NULL);
        if (steps < 0) return NULL;
        c->of[size] += steps;
        c->entry[size] = vs_entry_of(engine, size);
    }
    for (int32_t s = 0; how == VS_BY_ALL && s <= c->most; ++s)
        if (runs[s]) c->of[s] = (c->of[s] + runs[s] / 2) / runs[s];
    return c;
}
