/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend pipe, and its text. */
#include "borg/emit/pipe/pipe.h"
#include <inttypes.h>
#include <string.h>

static void write_head(const borg_pipeline *p, const char *name, borg_sink *out) {
    const borg_spatial_counts *c = &p->counts;
    borg_put(out, "pipeline %s, %d work-items, %d group%s at a time\n", name, p->module->size,
             p->module->pack, p->module->pack > 1 ? "s" : "");
    borg_put(out, "  depth                %d cycles, %d stages of %" PRId64 " instructions\n",
             p->depth, p->nstages, c->instructions);
    borg_put(out, "  initiation interval  %d\n", p->interval);
    borg_put(out, "  state                %" PRId64 " bits\n", c->state_bits);
    borg_put(out, "  registers            %" PRId64 " bits with a state for each instruction\n",
             c->bits_instructions);
    borg_put(out, "                       %" PRId64 " bits with a state for each cycle\n",
             c->bits_before);
    borg_put(out,
             "                       %" PRId64 " bits without those that hold no useful data\n",
             c->bits_after);
    borg_put(out, "  units               ");
    for (int k = 0; k < BORG_UNIT_KINDS; ++k)
        if (c->units[k]) borg_put(out, " %s %" PRId64, borg_unit_names[k], c->units[k]);
    borg_put(out, "\n  adders %" PRId64 ", multipliers %" PRId64 ", dividers %" PRId64 "\n",
             c->adders, c->multipliers, c->dividers);
    borg_put(out,
             "  wires                %" PRId64 " bits into units, %" PRId64 " from another lane\n",
             c->wires, c->moved);
    borg_put(out, "  ports                %" PRId64 " words in, %" PRId64 " out for each job\n",
             c->words_in, c->words_out);
    borg_put(out, "  area                 %" PRId64 " LUT, %" PRId64 " FF, %" PRId64 " DSP\n",
             c->lut, c->ff, c->dsp);
}

static void write_access(const borg_pipeline *p, const borg_access *a, borg_sink *out) {
    const borg_inst *v = a->inst;
    for (int32_t i = 0; i < a->nports; ++i) {
        const borg_port *port = &a->port[i];
        if (!a->store && p->net[port->value].dies < 0) continue;
        const char *where =
            borg_format(out->arena, "%s[%s%+" PRId64 "]", pipe_net(p, port->pointer, out->arena),
                        pipe_net(p, port->offset, out->arena), port->add);
        const char *value = pipe_net(p, port->value, out->arena);
        borg_put(out, "  %s %s = %s", a->store ? "out" : "in ", a->store ? where : value,
                 a->store ? value : where);
        if (borg_mask(v)) borg_put(out, " if %s", pipe_net(p, port->mask, out->arena));
        borg_put(out, "\n");
    }
}

static void write_steps(const borg_pipeline *p, const borg_step *s, borg_sink *out) {
    for (int32_t i = 0; i < s->nout; ++i) {
        if (p->net[s->out[i]].dies < 0 || s->inst->op == BORG_PARAM) continue;
        borg_put(out, "  %s = %s", pipe_net(p, s->out[i], out->arena),
                 borg_op_table[s->inst->op].text);
        if (s->inst->op == BORG_ICMP || s->inst->op == BORG_FCMP)
            borg_put(out, ".%s", borg_pred_text(s->inst->pred));
        for (int32_t k = 0; k < s->nin; ++k)
            borg_put(out, "%s %s", k ? "," : "",
                     pipe_net(p, s->in[(int64_t)i * s->nin + k], out->arena));
        borg_put(out, "\n");
    }
}

void pipe_text(const borg_pipeline *p, const char *name, borg_sink *out) {
    write_head(p, name, out);
    borg_put(out, "read-only\n");
    for (int32_t c = 0; c < p->ncontrol; ++c) write_steps(p, &p->control[c], out);
    for (int32_t b = 0, a = 0; b <= p->nstages; ++b) {
        if (a < p->naccesses && p->access[a].boundary <= b)
            borg_put(out, "boundary %d, cycle %d\n", b, borg_boundary_cycle(p, b));
        for (; a < p->naccesses && p->access[a].boundary <= b; ++a)
            write_access(p, &p->access[a], out);
        if (b == p->nstages) break;
        const borg_step *s = &p->stage[b];
        borg_put(out, "stage %d, cycles %d to %d: %s\n", b + 1, s->start, s->start + s->latency - 1,
                 borg_unit_names[s->kind]);
        if (s->kind != BORG_UNIT_load) write_steps(p, s, out);
    }
}

static borg_status emit(const borg_unit *units, int32_t nunits, const borg_options *options,
                        borg_sink *sink, borg_diags *diags) {
    borg_unit_cost costs[BORG_UNIT_KINDS];
    borg_budget budget;
    const char *format = options->format ? options->format : "text";
    if (!borg_costs_read(options->units, costs, diags) ||
        !borg_budget_read(options->budget, &budget, diags))
        return BORG_ERR_OPTION;
    const bool json = strcmp(format, "json") == 0, svg = strcmp(format, "svg") == 0;
    if (svg && nunits > 1) {
        borg_report(diags, BORG_ERROR, (borg_loc){0}, "a picture shows one kernel: choose it");
        return BORG_ERR_OPTION;
    }
    if (json) borg_put(sink, "[");
    for (int32_t i = 0; i < nunits; ++i) {
        const borg_pipeline *p = borg_pipeline_new(units[i].module, costs, diags);
        if (!p) return BORG_ERR_SOURCE;
        if (!borg_pipeline_budget(p, &budget, units[i].name, diags)) return BORG_ERR_BUDGET;
        if (json && i) borg_put(sink, ",\n");
        (json ? pipe_json : svg ? pipe_svg : pipe_text)(p, units[i].name, sink);
    }
    if (json) borg_put(sink, "]\n");
    return BORG_OK;
}

const borg_backend borg_backend_pipe = {
    .name = "pipe",
    .summary = "a spatial pipeline as a netlist: --format=text, json or svg",
    .suffix = ".pipe",
    .machine = {.registers = INT32_MAX},
    .takes = BORG_TAKES_UNITS | BORG_TAKES_FORMAT,
    .emit = emit,
};
