/* SPDX-License-Identifier: BSD-3-Clause */
/* What no schedule can be faster than: the work of the units, the bytes of memory, the longest
 * chain of a partition. */
#include "sim/vector/core.h"
#include <string.h>

static int64_t greatest(int64_t x, int64_t y) {
    return x > y ? x : y;
}

static int64_t share(int64_t work, int64_t units) {
    return units ? (work + units - 1) / units : 0;
}

/* Cycles of the steps of a class on their units, whichever unit takes which. */
static int64_t bound_of_work(const vs_machine *m, const vr_program *p, const vs_trace *t,
                             const vs_times *times, size_t from, size_t to) {
    int64_t work[VR_CLASSES] = {0}, issued = 0;
    for (size_t i = from; i < to; ++i) {
        vr_class class = vr_classify(&p->insts[t->steps[i].inst & ~VS_STRIP]);
        if (class == VR_ON_CONTROL) continue;
        work[class] += vs_holds(m, class, &t->steps[i]);
        ++issued;
    }
    const int32_t *n = times->units;
    int64_t fma = work[VR_ON_FMA] + work[VR_ON_DIVIDE],
            odd = work[VR_ON_COMPLEX] + work[VR_ON_STORE];
    int64_t bound = share(work[VR_ON_LOAD], n[VS_PORT]);
    bound = greatest(bound, share(fma, n[VS_FMA_UNIT] + n[VS_FMA_ALU_UNIT]));
    bound = greatest(bound, share(odd, n[VS_ALU_STORE_UNIT]));
    bound =
        greatest(bound, share(odd + work[VR_ON_ALU], n[VS_ALU_STORE_UNIT] + n[VS_FMA_ALU_UNIT]));
    bound = greatest(bound, share(fma + odd + work[VR_ON_ALU],
                                  n[VS_FMA_UNIT] + n[VS_FMA_ALU_UNIT] + n[VS_ALU_STORE_UNIT]));
    return greatest(bound, share(issued, (int64_t)m->issue_width * m->cores));
}

/* The controllers' time, shared evenly; with a cache a miss takes more. */
static int64_t bound_of_memory(const vs_machine *m, const vs_trace *t, size_t from, size_t to) {
    int64_t cost = 0;
    for (size_t i = from; i < to; ++i)
        for (uint32_t k = 0; k < t->steps[i].nspans; ++k)
            cost += vs_span_cost(m, &t->spans[t->steps[i].span + k]);
    return cost / 256 / m->controllers;
}

/* The chain of operands, each step in its turn, with units and memory free at once. */
static int64_t path(const vs_machine *m, const vr_program *p, const vs_trace *t, int32_t part,
                    int64_t *ready) {
    int64_t now = 0, done = 0;
    memset(ready, 0, (size_t)(p->nregisters + 1) * sizeof *ready);
    for (size_t i = t->first[part]; i < t->first[part + 1]; ++i) {
        const vs_step *step = &t->steps[i];
        const vr_inst *v = &p->insts[step->inst & ~VS_STRIP];
        vr_class class = vr_classify(v);
        if (v->guard >= 0) now = greatest(now, ready[v->guard]);
        if (v->base.kind == VR_REG) now = greatest(now, ready[v->base.at]);
        for (int k = 0; k < 3; ++k)
            if (v->a[k].kind == VR_REG) now = greatest(now, ready[v->a[k].at]);
        if (class == VR_ON_CONTROL) continue;
        int64_t end = now + vs_holds(m, class, step);
        if (class == VR_ON_LOAD && step->nspans) end += m->load_latency;
        if (v->dst >= 0) ready[v->dst] = greatest(ready[v->dst], end);
        done = greatest(done, end);
    }
    return done;
}

void vs_bound(const vs_machine *m, const vr_program *p, const vs_trace *t, const int32_t *ends,
              int32_t nstages, vs_times *times, borg_arena *arena) {
    int64_t *ready = BORG_NEW(arena, p->nregisters + 1, int64_t);
    int32_t first = 0;
    times->bound_work = times->bound_memory = times->bound_path = 0;
    for (int32_t k = 0; k < (ends ? nstages : 1); ++k) {
        int32_t last = ends ? ends[k] : t->nparts;
        int64_t longest = 0;
        for (int32_t part = first; part < last; ++part)
            longest = greatest(longest, path(m, p, t, part, ready));
        times->bound_work += bound_of_work(m, p, t, times, t->first[first], t->first[last]);
        times->bound_memory += bound_of_memory(m, t, t->first[first], t->first[last]);
        times->bound_path += longest;
        first = last;
    }
}
