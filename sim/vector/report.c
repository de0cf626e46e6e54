/* SPDX-License-Identifier: BSD-3-Clause */
/* A sweep as text, as JSON, as CSV; events for a browser's tracing page. */
#include "sim/vector/sweep.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *threshold_text(int64_t threshold, char *room) {
    if (threshold < 0) return "none";
    snprintf(room, 24, "%" PRId64, threshold);
    return room;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_head(const vs_sweep *s, borg_sink *out) {
    const vs_sweep_options *o = s->options;
    const vs_machine *m = &o->machine;
    borg_put(out,
             "%s on %s: %d warps of %d to %d threads; a slot needs %d vector registers (%d values, "
             "%d of "
             "metadata, 1 of places) and %d masks: at most %d slots\n",
             s->program->name, m->name, s->nwarps, s->least_warp, s->most_warp,
             s->needs.vector_registers, s->needs.data, s->needs.metadata, s->needs.mask_registers,
             s->most_slots);
    if (m->cores > 1)
        borg_put(out, "%d cores share %g bytes of memory a cycle%s; slots are each one's\n",
                 m->cores, m->bandwidth, m->cache_kib ? " and the cache" : "");
    if (o->spills.predicates)
        borg_put(out,
                 "%d predicates in vector registers, for %d masks: %d instructions to write them, "
                 "%d to read, %d compares made again\n",
                 o->spills.predicates, o->masks, o->spills.stores, o->spills.loads,
                 o->spills.again);
    if (o->orders > 0)
        borg_put(out, "%d random orders, seed %" PRIu64, o->orders, o->seed);
    else
        borg_put(out, "the order as given");
    borg_put(out, "; %" PRId64 " values checked, the largest error %.3g of its bound\n\n",
             s->values, s->worst_error);
}

void vs_put_text(const vs_sweep *s, borg_sink *out) {
    char room[24];
    put_head(s, out);
    borg_put(
        out,
        "threshold  slots      cycles   deviation       least        most   used  vl    parts   "
        "instr.   fma  f/alu  a/st  ports  bound\n");
    for (int32_t i = 0; i < s->nsettings; ++i) {
        const vs_setting *x = &s->settings[i];
        borg_put(out, "%9s  %5d", threshold_text(x->threshold, room), x->slots);
        if (x->impossible) {
            borg_put(out, "  %s\n", x->impossible);
            continue;
        }
        borg_put(out,
                 "  %10.0f  %10.1f  %10.0f  %10.0f  %4.1f%%  %-5.1f %5.0f %8.0f  %4.1f%% %4.1f%% "
                 "%4.1f%% %4.1f%%  %5.2f\n",
                 x->cycles.mean, x->cycles.deviation, x->cycles.least, x->cycles.most,
                 100 * x->utilisation.mean, x->vl, x->partitions, x->instructions, 100 * x->busy[0],
                 100 * x->busy[1], 100 * x->busy[2], 100 * x->busy[3], x->cycles.mean / x->bound);
    }
    borg_put(out, "\nstalls, of the cycles of slots: threshold, slots: operand memory unit width "
                  "fetch drain\n");
    for (int32_t i = 0; i < s->nsettings; ++i) {
        const vs_setting *x = &s->settings[i];
        if (x->impossible) continue;
        borg_put(out, "%9s  %5d ", threshold_text(x->threshold, room), x->slots);
        for (int k = 0; k < VS_STALLS; ++k) borg_put(out, "  %5.1f%%", 100 * x->stalls[k]);
        borg_put(out, "\n");
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_string(const char *text, borg_sink *out) {
    borg_put(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; ++c) {
        if (*c == '"' || *c == '\\')
            borg_put(out, "\\%c", *c);
        else if (*c < 32 || *c > 126) /* names of files may be anything */
            borg_put(out, "\\u%04x", *c < 32 ? *c : 0xfffd);
        else
            borg_put(out, "%c", *c);
    }
    borg_put(out, "\"");
}

static void put_spread(const char *name, const vs_spread *x, borg_sink *out) {
    borg_put(out,
             "\"%s\": {\"mean\": %.17g, \"least\": %.17g, \"most\": %.17g, \"deviation\": %.17g}",
             name, x->mean, x->least, x->most, x->deviation);
}

static void put_setting(const vs_setting *x, int32_t pipelines, borg_sink *out) {
    static const char *const bounds[] = {"work", "memory", "path"};
    char room[24];
    bool none = x->threshold < 0;
    borg_put(out, "    {\"threshold\": %s%s%s, \"slots\": %d, ", none ? "\"" : "",
             threshold_text(x->threshold, room), none ? "\"" : "", x->slots);
    if (x->impossible) {
        borg_put(out, "\"impossible\": ");
        put_string(x->impossible, out);
        borg_put(out, "}");
        return;
    }
    put_spread("cycles", &x->cycles, out);
    borg_put(out, ", ");
    put_spread("utilisation", &x->utilisation, out);
    borg_put(out, ",\n     \"units\": {");
    for (int k = 0; k < VS_UNITS; ++k)
        borg_put(out, "%s\"%s\": %.17g", k ? ", " : "", vs_unit_text[k], x->busy[k]);
    borg_put(out, "}, \"pipelines\": [");
    for (int k = 0; k < pipelines; ++k) borg_put(out, "%s%.17g", k ? ", " : "", x->pipeline[k]);
    borg_put(out,
             "],\n     \"instructions\": %.17g, \"branches\": %.17g, \"vl\": %.17g, \"active\": "
             "%.17g, \"partitions\": %.17g, \"buckets\": %.17g, \"bytes\": %.17g, \"miss_rate\": "
             "%.17g,\n     \"stalls\": {",
             x->instructions, x->controls, x->vl, x->active, x->partitions, x->buckets, x->bytes,
             x->miss_rate);
    for (int k = 0; k < VS_STALLS; ++k)
        borg_put(out, "%s\"%s\": %.17g", k ? ", " : "", vs_stall_text[k], x->stalls[k]);
    borg_put(out, "}, \"bounds\": {");
    for (int k = 0; k < 3; ++k)
        borg_put(out, "%s\"%s\": %.17g", k ? ", " : "", bounds[k], x->bounds[k]);
    borg_put(out, "}}");
}

void vs_put_json(const vs_sweep *s, const char *input, borg_sink *out) {
    const vs_sweep_options *o = s->options;
    borg_put(out, "{\"schema\": \"metapack-vsim/1\", \"kernel\": ");
    put_string(s->program->name, out);
    borg_put(out, ", \"input\": ");
    put_string(input, out);
    borg_put(out, ", \"machine\": ");
    put_string(o->machine.name, out);
    borg_put(out,
             ", \"cores\": %d,\n  \"warps\": %d, \"least_threads\": %d, \"most_threads\": %d, "
             "\"orders\": %d, "
             "\"seed\": %" PRIu64 ",\n  \"registers\": {\"vector\": %d, \"mask\": %d, "
             "\"most_slots\": %d, \"table_bits\": %" PRId64
             "},\n  \"spills\": {\"predicates\": %d, "
             "\"stores\": %d, \"loads\": %d, \"compares\": %d},\n  \"values_checked\": %" PRId64
             ", \"worst_error\": %.17g, \"sizes\": [",
             o->machine.cores, s->nwarps, s->least_warp, s->most_warp, o->orders, o->seed,
             s->needs.vector_registers, s->needs.mask_registers, s->most_slots,
             vs_table_bits(&o->machine, &s->needs, s->most_slots), o->spills.predicates,
             o->spills.stores, o->spills.loads, o->spills.again, s->values, s->worst_error);
    /* [threads, warps], rising */
    int32_t *count = BORG_NEW(out->arena, s->most_warp + 1, int32_t);
    bool first = true;
    for (int32_t i = 0; i < s->nwarps; ++i) ++count[s->sizes[i]];
    for (int32_t k = 0; k <= s->most_warp; ++k) {
        if (!count[k]) continue;
        borg_put(out, "%s[%d, %d]", first ? "" : ", ", k, count[k]);
        first = false;
    }
    borg_put(out, "],\n  \"settings\": [\n");
    int32_t pipelines = o->machine.dispatch == VS_STRIPED ? 1 : o->machine.pipelines;
    for (int32_t i = 0; i < s->nsettings; ++i) {
        if (i) borg_put(out, ",\n");
        put_setting(&s->settings[i], pipelines, out);
    }
    borg_put(out, "\n  ]}\n");
}

/* ---- CSV ------------------------------------------------------------------------------------- */

void vs_put_csv(const vs_sweep *s, borg_sink *out) {
    char room[24];
    borg_put(out, "threshold,slots,possible,cycles_mean,cycles_least,cycles_most,cycles_deviation,"
                  "utilisation_mean,utilisation_least,utilisation_most,utilisation_deviation");
    for (int k = 0; k < VS_UNITS; ++k) borg_put(out, ",busy_%s", vs_unit_text[k]);
    borg_put(out, ",instructions,branches,vl,active,partitions,buckets,bytes,miss_rate");
    for (int k = 0; k < VS_STALLS; ++k) borg_put(out, ",stall_%s", vs_stall_text[k]);
    borg_put(out, ",bound_work,bound_memory,bound_path\n");
    for (int32_t i = 0; i < s->nsettings; ++i) {
        const vs_setting *x = &s->settings[i];
        const double list[] = {x->cycles.mean,
                               x->cycles.least,
                               x->cycles.most,
                               x->cycles.deviation,
                               x->utilisation.mean,
                               x->utilisation.least,
                               x->utilisation.most,
                               x->utilisation.deviation,
                               x->busy[0],
                               x->busy[1],
                               x->busy[2],
                               x->busy[3],
                               x->instructions,
                               x->controls,
                               x->vl,
                               x->active,
                               x->partitions,
                               x->buckets,
                               x->bytes,
                               x->miss_rate,
                               x->stalls[0],
                               x->stalls[1],
                               x->stalls[2],
                               x->stalls[3],
                               x->stalls[4],
                               x->stalls[5],
                               x->bounds[0],
                               x->bounds[1],
                               x->bounds[2]};
        borg_put(out, "%s,%d,%d", threshold_text(x->threshold, room), x->slots, !x->impossible);
        for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {
            if (x->impossible)
                borg_put(out, ",");
            else
                borg_put(out, ",%.10g", list[k]);
        }
        borg_put(out, "\n");
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

void vs_put_chrome(const vs_sweep *s, borg_sink *out) {
    enum { SLOTS = 1, UNITS = 2 };
    borg_put(
        out,
        "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
        "{\"ph\": \"M\", \"pid\": %d, \"name\": \"process_name\", \"args\": {\"name\": "
        "\"slots\"}},\n"
        "{\"ph\": \"M\", \"pid\": %d, \"name\": \"process_name\", \"args\": {\"name\": \"units\"}}",
        SLOTS, UNITS);
    for (size_t i = 0; i < s->log.count; ++i) {
        const vs_event *e = &s->log.events[i];
        borg_sink name = {.arena = out->arena};
        if (e->inst >= 0) {
            vr_print_inst(s->program, &s->program->insts[e->inst], &name);
        } else {
            borg_put(&name, "partition %d", e->part);
        }
        borg_put(out,
                 ",\n{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %" PRId64
                 ", \"dur\": %" PRId64 ", \"name\": ",
                 e->inst >= 0 ? UNITS : SLOTS, e->inst >= 0 ? 1000 * e->unit + e->number : e->slot,
                 e->start, e->end - e->start);
        put_string(name.text, out);
        borg_put(out, ", \"args\": {\"slot\": %d, \"partition\": %d", e->slot, e->part);
        if (e->inst >= 0) borg_put(out, ", \"unit\": \"%s %d\"", vs_unit_text[e->unit], e->number);
        borg_put(out, "}}");
    }
    borg_put(out, "\n]}\n");
}
