/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders times thresholds times slots, by as many threads as asked for; what each gives lies at its
 * own place, so that no result depends on them. */
#include "sim/vector/sweep.h"
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* What one order gives for one setting. */
typedef struct sample {
    vs_times times;
    int32_t partitions, buckets;
} sample;

typedef struct work {
    const vs_source *source;
    const vr_program *program;
    const vs_sweep_options *o;
    int32_t most_slots, norders, next;
    sample *samples; /* [orders][thresholds][slots] */
    double worst;
    int64_t values;
    char message[1024]; /* of what failed first */
    int32_t failed_order;
    bool failed, memory;
    pthread_mutex_t lock;
    vs_log *log;             /* NULL: nothing is logged */
    const vs_counts *counts; /* where they do not depend on the order; NULL: they do */
} work;

static int32_t strips_of(const vs_machine *m, int32_t threads) {
    return (threads + m->lanes - 1) / m->lanes;
}

/* ---- one order ------------------------------------------------------------------------------- */

/* The greatest error over its bound; a NaN is beyond any. */
static double check(const vs_case *k, int64_t *values) {
    double worst = 0;
    for (int32_t e = 0; e < k->nexpects; ++e) {
        const struct vs_expect *x = &k->expects[e];
        const vs_array *a = &k->memory.arrays[x->array];
        double most = 0;
        for (int64_t i = 0; i < x->count; ++i) most = fmax(most, fabs(x->value[i]));
        for (int64_t i = 0; i < x->count; ++i) {
            double got = a->type == VR_F64   ? ((const double *)a->data)[i]
                         : a->type == VR_F32 ? (double)((const float *)a->data)[i]
                         : a->type == VR_B32 ? (double)((const int32_t *)a->data)[i]
                                             : (double)((const int64_t *)a->data)[i];
            double bound = x->tolerance * (x->size ? x->size[i] : most);
            double error = got == x->value[i] ? 0
                           : bound > 0        ? fabs(got - x->value[i]) / bound
                                              : INFINITY;
            if (!(error <= worst)) worst = isnan(error) ? INFINITY : error;
        }
        *values += x->count;
    }
    return worst;
}

/* Pack each stage for itself. ends [out] partitions up to the end of each stage. */
static vs_packing **pack(const vs_case *k, const vs_counts *counts, const vs_sweep_options *o,
                         int64_t threshold, int32_t *ends, borg_arena *arena) {
    vs_packing **list = BORG_NEW(arena, k->nstages, vs_packing *);
    int32_t total = 0;
    for (int32_t s = 0; s < k->nstages; ++s) {
        list[s] = vs_pack(k->warps + k->stage[s], k->stage[s + 1] - k->stage[s], counts,
                          o->machine.lanes, threshold, o->sort, arena);
        ends[s] = total += list[s]->nparts;
    }
    return list;
}

static bool replay_all(work *w, int32_t order, int32_t threshold, const vs_trace *trace,
                       const int32_t *ends, const vs_case *k, int32_t buckets, borg_diags *diags) {
    const vs_sweep_options *o = w->o;
    for (int32_t j = 0; j < o->nslots; ++j) {
        sample *s = &w->samples[((int64_t)order * o->nthresholds + threshold) * o->nslots + j];
        if (o->slots[j] > w->most_slots) continue;
        s->partitions = trace->nparts;
        s->buckets = buckets;
        if (!vs_replay(&o->machine, w->program, trace, ends, k->nstages, o->slots[j], &s->times,
                       w->log, diags))
            return false;
    }
    return true;
}

static bool run_order(work *w, int32_t order, borg_diags *diags, double *worst, int64_t *values) {
    const vs_sweep_options *o = w->o;
    borg_arena *arena = diags->arena;
    int32_t *shuffled = NULL;
    if (o->orders > 0) {
        shuffled = BORG_NEW(arena, w->source->nwarps + 1, int32_t);
        vs_shuffle(shuffled, w->source->nwarps, o->seed + (uint64_t)order * 0x9e3779b97f4a7c15u);
    }
    vs_case *k = w->source->make(w->source, w->program, shuffled, diags);
    if (!k) return false;
    int32_t most = o->machine.lanes;
    for (int32_t i = 0; i < k->nwarps; ++i)
        if (k->warps[i].ntids > most) most = k->warps[i].ntids;
    vs_engine *engine =
        vs_engine_new(w->program, o->machine.lanes, most, &k->memory, k->args, diags);
    vs_limit_steps(engine, o->max_steps);
    vs_trace trace = {0};
    int32_t *ends = BORG_NEW(arena, k->nstages + 1, int32_t);
    const vs_counts *counts = w->counts;
    for (int32_t t = 0; t < o->nthresholds; ++t) {
        vs_case *fresh = t ? w->source->make(w->source, w->program, shuffled, diags) : k;
        if (!fresh) return false;
        for (int32_t a = 0; a < k->memory.count; ++a) k->memory.arrays[a] = fresh->memory.arrays[a];
        if (!counts) { /* on data that a stage has not changed yet: the case is made anew behind it */
            counts = vs_count(engine, k->warps, k->nwarps, o->estimate, arena);
            if (!counts) return false;
            fresh = w->source->make(w->source, w->program, shuffled, diags);
            if (!fresh) return false;
            for (int32_t a = 0; a < k->memory.count; ++a)
                k->memory.arrays[a] = fresh->memory.arrays[a];
        }
        vs_packing **packed = pack(k, counts, o, o->thresholds[t], ends, arena);
        vs_trace_reset(&trace);
        for (int32_t s = 0; s < k->nstages; ++s)
            for (int32_t p = 0; p < packed[s]->nparts; ++p)
                if (vs_run(engine, packed[s]->warps + packed[s]->parts[p].first,
                           packed[s]->parts[p].count, &trace) < 0)
                    return false;
        double error = check(k, values);
        if (error > *worst) *worst = error;
        if (error > 1) {
            borg_report(diags, BORG_ERROR, (borg_loc){0},
                        "wrong result: an error of %.3g times its bound (order %d)", error, order);
            return false;
        }
        if (!replay_all(w, order, t, &trace, ends, k, packed[0]->nbuckets, diags)) return false;
    }
    return true;
}

/* ---- all orders, by threads ------------------------------------------------------------------ */

static bool do_order(work *w, int32_t order, borg_arena *arena) {
    borg_diags diags = {.arena = arena, .source = w->program->source};
    double worst = 0;
    int64_t values = 0;
    borg_sink told = {.arena = arena};
    bool good = run_order(w, order, &diags, &worst, &values);
    if (!good) borg_diags_print(&diags, &told);
    pthread_mutex_lock(&w->lock);
    if (!good && (!w->failed || order < w->failed_order)) { /* of several the first in order */
        snprintf(w->message, sizeof w->message, "%s", told.text ? told.text : "");
        w->failed = true;
        w->failed_order = order;
    }
    if (worst > w->worst) w->worst = worst;
    w->values += values;
    pthread_mutex_unlock(&w->lock);
    return good;
}

/* An arena for each order; returns false when there are no more. */
static bool do_next(work *w) {
    borg_arena arena;
    pthread_mutex_lock(&w->lock);
    int32_t order = w->failed ? w->norders : w->next++;
    pthread_mutex_unlock(&w->lock);
    if (order >= w->norders) return false;
    borg_arena_init(&arena, w->o->allocator, 0);
    if (setjmp(arena.oom)) {
        pthread_mutex_lock(&w->lock);
        w->failed = w->memory = true;
        pthread_mutex_unlock(&w->lock);
        borg_arena_free(&arena);
        return false;
    }
    bool good = do_order(w, order, &arena);
    borg_arena_free(&arena);
    return good;
}

static void *worker(void *argument) {
    while (do_next(argument)) {}
    return NULL;
}

/* False after a message. */
static bool run_work(work *w, borg_diags *diags) {
    enum { MOST = 64 };
    pthread_t threads[MOST];
    int32_t count = 0, wanted = w->o->threads < w->norders ? w->o->threads : w->norders;
    pthread_mutex_init(&w->lock, NULL);
    while (count < wanted - 1 && count < MOST &&
           pthread_create(&threads[count], NULL, worker, w) == 0)
        ++count;
    worker(w);
    for (int32_t i = 0; i < count; ++i) pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&w->lock);
    if (w->memory) longjmp(diags->arena->oom, 1);
    if (w->failed) {
        size_t length = strlen(w->message);
        if (length && w->message[length - 1] == '\n') w->message[length - 1] = '\0';
        diags->source = (borg_text){.file = "while it ran"};
        borg_report(diags, BORG_ERROR, (borg_loc){0}, "%s", w->message);
    }
    return !w->failed;
}

/* ---- sums over the orders -------------------------------------------------------------------- */

static vs_spread spread_of(const double *x, int32_t count) {
    vs_spread s = {.least = INFINITY, .most = -INFINITY};
    for (int32_t i = 0; i < count; ++i) {
        s.mean += x[i] / count;
        if (x[i] < s.least) s.least = x[i];
        if (x[i] > s.most) s.most = x[i];
    }
    for (int32_t i = 0; i < count; ++i) s.deviation += (x[i] - s.mean) * (x[i] - s.mean);
    s.deviation = count > 1 ? sqrt(s.deviation / (count - 1)) : 0;
    return s;
}

static double share_of(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

static void add(vs_setting *s, const sample *x, double weight) {
    const vs_times *t = &x->times;
    double bounds[3] = {(double)t->bound_work, (double)t->bound_memory, (double)t->bound_path},
           best = 0;
    for (int k = 0; k < VS_UNITS; ++k)
        s->busy[k] += weight * share_of((double)t->busy[k], (double)t->cycles * t->units[k]);
    int32_t per = (t->units[0] + t->units[1] + t->units[2]) / t->pipelines;
    for (int k = 0; k < t->pipelines; ++k)
        s->pipeline[k] += weight * share_of((double)t->pipeline_busy[k], (double)t->cycles * per);
    for (int k = 0; k < VS_STALLS; ++k)
        s->stalls[k] += weight * share_of((double)t->stalls[k], (double)t->slot_cycles);
    for (int k = 0; k < 3; ++k) {
        s->bounds[k] += weight * bounds[k];
        if (bounds[k] > best) best = bounds[k];
    }
    s->bound += weight * best;
    s->instructions += weight * (double)t->issued;
    s->controls += weight * (double)t->controls;
    s->vl += weight * share_of((double)t->lanes, (double)t->issued);
    s->active += weight * share_of((double)t->active, (double)t->issued);
    s->bytes += weight * (double)t->bytes;
    s->miss_rate += weight * share_of((double)t->misses, (double)t->lookups);
    s->partitions += weight * x->partitions;
    s->buckets += weight * x->buckets;
}

static void summarise(vs_sweep *sweep, const work *w, borg_arena *arena) {
    const vs_sweep_options *o = w->o;
    double *cycles = BORG_NEW(arena, w->norders + 1, double),
           *used = BORG_NEW(arena, w->norders + 1, double);
    sweep->best = -1;
    for (int32_t t = 0; t < o->nthresholds; ++t)
        for (int32_t j = 0; j < o->nslots; ++j) {
            int32_t at = t * o->nslots + j;
            vs_setting *s = &sweep->settings[at];
            if (s->impossible) continue;
            for (int32_t k = 0; k < w->norders; ++k) {
                const sample *x = &w->samples[((int64_t)k * o->nthresholds + t) * o->nslots + j];
                int64_t busy = x->times.busy[0] + x->times.busy[1] + x->times.busy[2];
                int32_t units = x->times.units[0] + x->times.units[1] + x->times.units[2];
                cycles[k] = (double)x->times.cycles;
                used[k] = share_of((double)busy, cycles[k] * units);
                add(s, x, 1.0 / w->norders);
            }
            s->cycles = spread_of(cycles, w->norders);
            s->utilisation = spread_of(used, w->norders);
            if (sweep->best < 0 || s->cycles.mean < sweep->settings[sweep->best].cycles.mean)
                sweep->best = at;
        }
}

/* Events of the best setting, in the first order once more. */
static bool run_log(vs_sweep *sweep, const work *w, int64_t cycles, borg_diags *diags) {
    vs_sweep_options one = *w->o;
    const vs_setting *s = &sweep->settings[sweep->best];
    sample x = {0};
    work again = {.source = w->source,
                  .program = w->program,
                  .o = &one,
                  .most_slots = w->most_slots,
                  .norders = 1,
                  .counts = w->counts,
                  .samples = &x,
                  .log = &sweep->log};
    one.thresholds = &s->threshold;
    one.slots = &s->slots;
    one.nthresholds = one.nslots = one.threads = 1;
    sweep->log.until = cycles;
    double worst = 0;
    int64_t values = 0;
    return run_order(&again, 0, diags, &worst, &values);
}

/* Sizes of the warps, and what of a machine they need. False: not even one slot is possible.
 * counts [out] by lot: no order changes them */
static bool measure(vs_sweep *sweep, const vs_source *source, const vs_counts **counts,
                    const char **why, borg_diags *diags) {
    vs_case *k = source->make(source, sweep->program, NULL, diags);
    if (!k) return false;
    if (k->nwarps == 0) {
        borg_report(diags, BORG_ERROR, (borg_loc){0}, "there is no warp");
        return false;
    }
    sweep->nwarps = k->nwarps;
    sweep->sizes = BORG_NEW(diags->arena, k->nwarps, int32_t);
    sweep->least_warp = INT32_MAX;
    for (int32_t i = 0; i < k->nwarps; ++i) {
        int32_t n = sweep->sizes[i] = k->warps[i].ntids;
        if (n > sweep->most_warp) sweep->most_warp = n;
        if (n < sweep->least_warp) sweep->least_warp = n;
    }
    if (sweep->most_warp > UINT16_MAX / 2) {
        borg_report(diags, BORG_ERROR, (borg_loc){0}, "a warp of %d threads: at most 32767",
                    sweep->most_warp);
        return false;
    }
    const vs_machine *m = &sweep->options->machine;
    sweep->most_slots =
        vs_most_slots(m, &sweep->needs, strips_of(m, sweep->most_warp), diags->arena, why);
    if (sweep->most_slots <= 0) {
        borg_report(diags, BORG_ERROR, (borg_loc){0}, "%s: %s", m->name, *why);
        return false;
    }
    if (sweep->options->estimate != VS_BY_LOT) return true;
    vs_engine *e =
        vs_engine_new(sweep->program, m->lanes, sweep->most_warp, &k->memory, k->args, diags);
    vs_limit_steps(e, sweep->options->max_steps);
    *counts = vs_count(e, k->warps, k->nwarps, VS_BY_LOT, diags->arena);
    return *counts != NULL;
}

vs_sweep *vs_run_sweep(const vs_source *source, const vr_program *program,
                       const vs_sweep_options *o, int64_t log_cycles, borg_diags *diags) {
    borg_arena *arena = diags->arena;
    vs_sweep *sweep = BORG_NEW(arena, 1, vs_sweep);
    const vs_counts *counts = NULL;
    const char *why;
    *sweep = (vs_sweep){.options = o, .program = program, .nsettings = o->nthresholds * o->nslots};
    sweep->needs = vr_registers_needed(program, arena);
    if (!measure(sweep, source, &counts, &why, diags)) return NULL;
    sweep->settings = BORG_NEW(arena, sweep->nsettings, vs_setting);
    for (int32_t i = 0; i < sweep->nsettings; ++i) {
        vs_setting *s = &sweep->settings[i];
        s->threshold = o->thresholds[i / o->nslots];
        s->slots = o->slots[i % o->nslots];
        if (s->slots > sweep->most_slots)
            s->impossible =
                borg_format(arena,
                            "slots = %d: the registers of %s (%d vector, %d mask) and its %d fetch "
                            "units are enough for %d",
                            s->slots, o->machine.name, o->machine.vector_registers,
                            o->machine.mask_registers, o->machine.slots, sweep->most_slots);
    }
    work w = {.source = source,
              .program = program,
              .o = o,
              .most_slots = sweep->most_slots,
              .counts = counts};
    w.norders = o->orders > 0 ? o->orders : 1;
    w.samples = BORG_NEW(arena, (int64_t)w.norders * sweep->nsettings, sample);
    if (!run_work(&w, diags)) return NULL;
    sweep->worst_error = w.worst;
    sweep->values = w.values;
    summarise(sweep, &w, arena);
    if (log_cycles > 0 && sweep->best >= 0 && !run_log(sweep, &w, log_cycles, diags)) return NULL;
    return sweep;
}

int64_t vs_table_bits(const vs_machine *m, const vr_needs *needs, int32_t slots) {
    int64_t vector = 1, mask = 1; /* bits of a physical register's number */
    while ((INT64_C(1) << vector) < m->vector_registers) ++vector;
    while ((INT64_C(1) << mask) < m->mask_registers) ++mask;
    return slots * (needs->vector_registers * vector + needs->mask_registers * mask);
}
