/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots and threshold chosen by themselves: trials on a sample of the warps. */
#include "sim/vector/sweep.h"
#include <string.h>

/* The case of the source behind it, with warps evenly spaced in their order; values are not
 * checked, for not all are computed. */
static vs_case *make_sampled(const vs_source *source, const vr_program *program,
                             const int32_t *order, borg_diags *diags) {
    vs_case *k = source->base->make(source->base, program, order, diags);
    if (!k) return NULL;
    int32_t kept = 0, stages = 0, first = 0;
    for (int32_t s = 0; s < k->nstages; ++s) {
        int32_t start = kept, count = k->stage[s + 1] - first;
        int32_t wanted = (int32_t)(((int64_t)count * source->sample + k->nwarps - 1) / k->nwarps);
        if (wanted > count) wanted = count;
        for (int32_t i = 0; i < wanted; ++i)
            k->warps[kept++] = k->warps[first + (int32_t)((int64_t)i * count / wanted)];
        first = k->stage[s + 1];
        if (kept > start) source->stages[++stages] = kept;
    }
    k->stage = source->stages;
    k->nstages = stages;
    k->nwarps = kept;
    k->nexpects = 0;
    return k;
}

/* 1, 2, 4, ... and the most; how many. */
static int32_t all_slots(int32_t most, int32_t *list) {
    int32_t n = 0;
    for (int32_t t = 1; t < most; t *= 2) list[n++] = t;
    list[n++] = most;
    return n;
}

/* None, 0 and the differences of counts to the least one; how many. */
static int32_t all_thresholds(const vs_counts *c, int64_t *list, int32_t room) {
    int64_t least = INT64_MAX;
    int32_t n = 0;
    for (int32_t s = 0; s <= c->most; ++s)
        if (c->of[s] && c->of[s] < least) least = c->of[s];
    list[n++] = VS_NO_PACKING;
    for (int32_t s = 0; s <= c->most && n < room; ++s) {
        int32_t i = 1;
        if (!c->of[s]) continue;
        while (i < n && list[i] != c->of[s] - least) ++i;
        if (i == n) list[n++] = c->of[s] - least;
    }
    return n;
}

/* Most slots and the thresholds worth a trial. */
static bool find_candidates(const vs_source *source, const vr_program *program,
                            const vs_sweep_options *o, int32_t *most_slots, int64_t *thresholds,
                            int32_t *n, borg_diags *diags) {
    enum { ROOM = 16 };
    const vs_machine *m = &o->machine;
    borg_arena *arena = diags->arena;
    vs_case *k = source->make(source, program, NULL, diags);
    if (!k) return false;
    int32_t most = m->lanes;
    for (int32_t i = 0; i < k->nwarps; ++i)
        if (k->warps[i].ntids > most) most = k->warps[i].ntids;
    vs_engine *engine = vs_engine_new(program, m->lanes, most, &k->memory, k->args, diags);
    vs_limit_steps(engine, o->max_steps);
    vs_counts *counts = vs_count(engine, k->warps, k->nwarps, o->estimate, arena);
    if (!counts) return false;
    vr_needs needs = vr_registers_needed(program, arena);
    const char *why;
    *most_slots = vs_most_slots(m, &needs, (counts->most + m->lanes - 1) / m->lanes, arena, &why);
    *n = all_thresholds(counts, thresholds, ROOM);
    if (*most_slots > 0) return true;
    borg_report(diags, BORG_ERROR, (borg_loc){0}, "%s: %s", m->name, why);
    return false;
}

bool vs_choose(const vs_source *source, const vr_program *program, const vs_sweep_options *options,
               int32_t sample, int64_t *threshold, int32_t *slots, borg_diags *diags) {
    vs_sweep_options o = *options;
    int64_t thresholds[16];
    int32_t list[64], most;
    if (!find_candidates(source, program, options, &most, thresholds, &o.nthresholds, diags))
        return false;
    vs_source part = {
        .make = make_sampled, .nwarps = source->nwarps, .base = source, .sample = sample};
    part.stages = BORG_NEW(diags->arena, source->nwarps + 2, int32_t);
    o.nslots = all_slots(most, list);
    o.slots = list;
    o.thresholds = thresholds;
    o.orders = 0;
    o.threads = 1; /* the sample's stages are one array */
    if (*threshold != VS_AUTO) {
        o.thresholds = threshold;
        o.nthresholds = 1;
    }
    if (*slots > 0) {
        o.slots = slots;
        o.nslots = 1;
    }
    vs_sweep *sweep = vs_run_sweep(&part, program, &o, 0, diags);
    if (!sweep) return false;
    if (sweep->best < 0) {
        borg_report(diags, BORG_ERROR, (borg_loc){0}, "%s", sweep->settings[0].impossible);
        return false;
    }
    int64_t best = sweep->settings[sweep->best].threshold;
    *slots = sweep->settings[sweep->best].slots;
    *threshold = best;
    return true;
}
