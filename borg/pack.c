/* SPDX-License-Identifier: BSD-3-Clause */
/* What a group costs when the groups of a pack go together, in cycles of a processor: the larger of
 * work and memory, and a quarter of the work. Work is the larger of
 *   - instructions (order.c);
 *   - waiting: the longest chain of results that need each other, of which as many run side by side
 *     as the processor's window of instructions holds packs. A larger pack has more to do
 *     meanwhile;
 * Memory: what is read and written once, from outside the caches. Groups of a pack whose data are
 * more than some cache lines are read by turns, which prefetchers follow badly: measured, two to
 * four times the time of one group after the other (bench/results/borg-cpu.md). */
#include "borg/passes.h"
#include <string.h>

typedef struct chain {
    borg_module *m;
    const borg_machine *machine;
    double *at;              /* by id: when the result is there */
    double *bytes, *written; /* of each parameter: read and written, written alone */
    double end;
} chain;

static double later(double x, double y) {
    return x > y ? x : y;
}

static double steps_of(const chain *k, const borg_inst *v) {
    double steps = 0;
    for (int32_t n = 1; n < k->m->size; n *= 2) ++steps;
    return k->m->order == BORG_WG_MINOR && v->args[0]->spread == BORG_WI ? k->m->size : steps;
}

/* Cycles, of processors of today: 4 for arithmetic and for what crosses lanes. */
static double latency(const chain *k, const borg_inst *v) {
    switch (v->op) {
    case BORG_FADD:
    case BORG_FSUB:
    case BORG_FMUL:
    case BORG_FMA:
        return 4;
    case BORG_FDIV:
    case BORG_SQRT:
    case BORG_RCP:
        return 14;
    case BORG_LOAD:
    case BORG_LOADA:
        return 7;
    case BORG_BCAST:
    case BORG_LANE:
    case BORG_PERM:
        return k->m->order == BORG_WG_MINOR ? 0 : 4;
    case BORG_SHUFV:
    case BORG_PICKV:
        return 8;
    case BORG_RSUM:
    case BORG_RMAX:
    case BORG_RMIN:
    case BORG_RMAXIDX:
    case BORG_ANY:
    case BORG_ALL:
        return 4 + 6 * steps_of(k, v);
    case BORG_SDIV:
    case BORG_UDIV:
    case BORG_SREM:
    case BORG_UREM:
        return 20;
    default:
        return v->nargs && borg_is_float(v->type) ? 3 : v->nargs ? 1 : 0;
    }
}

static void count_bytes(chain *k, const borg_inst *v, double weight) {
    const bool load = v->op == BORG_LOAD || v->op == BORG_LOADA;
    if (!load && v->op != BORG_STORE && v->op != BORG_STOREA) return;
    if (v->args[0]->op == BORG_LOCAL) return;
    const borg_inst *value = load ? v : borg_stored(v);
    const int32_t each = borg_type_bytes(borg_access_type(k->m, v));
    const borg_inst *p = v->args[0];
    while (p->op != BORG_PARAM && p->nargs > 0) p = p->args[0]; /* arrays of pointers */
    if (p->op != BORG_PARAM) return;
    const double bytes = weight * (double)borg_lanes(k->m, value) * each;
    k->bytes[p->index] += bytes;
    if (!load) k->written[p->index] += bytes;
}

static void follow(chain *k, borg_block *block, double weight);

/* A loop's results come after as many turns as the slowest of its values takes for each. */
static void follow_loop(chain *k, borg_inst *v, double weight) {
    const double trips = v->trip > 0 ? (double)v->trip : 8;
    double begin = 0, turn = 0;
    for (borg_inst *u = v->block[0]->first; u; u = u->next)
        if (u->op == BORG_PHI) begin = later(begin, k->at[u->args[0]->id]);
    for (borg_inst *u = v->block[0]->first; u; u = u->next)
        if (u->op == BORG_PHI) k->at[u->id] = begin;
    follow(k, v->block[0], weight * trips);
    follow(k, v->block[1], weight * trips);
    const borg_inst *last = v->block[1]->last;
    for (int32_t i = 0; last && i < last->nargs; ++i)
        turn = later(turn, k->at[last->args[i]->id] - begin);
    k->at[v->id] = begin + trips * turn;
}

static void follow(chain *k, borg_block *block, double weight) {
    for (borg_inst *v = block->first; v; v = v->next) {
        double begin = 0;
        if (v->op == BORG_PHI) continue;
        for (int32_t i = 0; i < v->nargs; ++i) begin = later(begin, k->at[v->args[i]->id]);
        k->at[v->id] = begin + latency(k, v);
        count_bytes(k, v, weight);
        if (v->op == BORG_LOOP) follow_loop(k, v, weight);
        if (v->op == BORG_IF)
            for (int32_t arm = 0; arm < 2; ++arm) {
                follow(k, v->block[arm], weight / 2);
                const borg_inst *last = v->block[arm]->last;
                for (int32_t i = 0; last && i < last->nargs; ++i)
                    k->at[v->id] = later(k->at[v->id], k->at[last->args[i]->id]);
            }
        k->end = later(k->end, k->at[v->id]);
    }
}

static void start(chain *k, int32_t ids) {
    const int32_t n = k->m->nparams + 1;
    k->at = BORG_NEW(k->m->arena, ids, double);
    k->bytes = BORG_NEW(k->m->arena, n, double);
    k->written = BORG_NEW(k->m->arena, n, double);
    memset(k->at, 0, (size_t)ids * sizeof *k->at);
    memset(k->bytes, 0, (size_t)n * sizeof *k->bytes);
    memset(k->written, 0, (size_t)n * sizeof *k->written);
    ++k->at; /* what has no value has the number -1 */
}

/* How far a group's part of an array goes of which it reads some things several times: 0 where all
 * groups read the same, below 0 where that is not known. */
static double extent_of(const borg_module *m, const borg_block *block, int32_t param,
                        double extent) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        for (int32_t k = 0; k < 2; ++k)
            if (v->block[k]) extent = extent_of(m, v->block[k], param, extent);
        if (v->op != BORG_LOADA || v->args[0]->op != BORG_PARAM || v->args[0]->index != param)
            continue;
        const int32_t each = borg_type_bytes(borg_access_type(m, v));
        const double far = (double)(v->a < 0 ? -v->a : v->a) * each;
        if (v->spread == BORG_UNI || far > 0) extent = later(extent, far);
    }
    return extent;
}

double borg_bytes_of_group(borg_module *m) {
    chain k = {.m = m};
    const int32_t ids = borg_number(m) + 1;
    double all = 0;
    start(&k, ids);
    follow(&k, m->body, 1.0);
    for (int32_t i = 0; i < m->nparams; ++i) {
        const double extent = extent_of(m, m->body, i, -1), bytes = k.bytes[i] / m->pack;
        all += extent >= 0 && m->params[i].readonly && extent < bytes ? extent : bytes;
    }
    return all;
}

/* Measured on Zen 4: cycles of an instruction of order.c's; instructions that wait side by side;
 * cycles of a byte that comes from memory or goes there. */
#define INSTRUCTION 0.3
#define WINDOW 300
#define BYTE 0.08
#define SMALL_BYTE 0.03
enum {
    SMALL = 320
}; /* bytes that a group touches: batches of such are in a cache of the last level */
enum { NEAR = 512 }; /* bytes of a group's share of an array, up to which turns cost nothing */

typedef struct work {
    double instructions, waiting, bytes, most; /* cycles twice; bytes, the most of one array */
} work;

static work work_of(borg_module *m, const borg_machine *machine) {
    borg_machine roomy = *machine;
    roomy.code *= 3; /* where packs are chosen, code beyond the cache costs less than waiting */
    const double instructions = borg_cost(m, &roomy);
    const int32_t ids = borg_number(m) + 1;
    chain k = {.m = m, .machine = machine};
    work w = {.instructions = INSTRUCTION * instructions};
    start(&k, ids);
    follow(&k, m->body, 1.0);
    for (int32_t i = 0; i < m->nparams; ++i) {
        w.bytes += k.bytes[i];
        w.most = later(w.most, later(k.written[i], k.bytes[i] - k.written[i]));
    }
    w.waiting = k.end / (1 + WINDOW / (instructions + 1));
    return w;
}

bool borg_waits(borg_module *m, const borg_machine *machine) {
    const work w = work_of(m, machine);
    return w.waiting > w.instructions;
}

double borg_cost_of_group(borg_module *m, const borg_machine *machine) {
    const work w = work_of(m, machine);
    const bool turns = m->pack > 1 && w.most > NEAR * m->pack;
    const double work = later(w.instructions, w.waiting);
    const double byte = w.bytes <= SMALL * m->pack ? SMALL_BYTE : BYTE;
    const double memory = byte * w.bytes * (turns ? 3 : 1);
    return (later(work, memory) + work / 4) / m->pack; /* a quarter: data may lie in a cache */
}
