/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipeline as a JSON object. */
#include "borg/emit/pipe/pipe.h"
#include <inttypes.h>

static void put_counts(const borg_pipeline *p, borg_sink *out) {
    const borg_spatial_counts *c = &p->counts;
    const struct {
        const char *name;
        int64_t value;
    } list[] = {{"instructions", c->instructions},
                {"stages", p->nstages},
                {"depth", p->depth},
                {"interval", p->interval},
                {"state_bits", c->state_bits},
                {"bits_instructions", c->bits_instructions},
                {"bits_before", c->bits_before},
                {"bits_after", c->bits_after},
                {"registers_before", c->lanes_before},
                {"registers_after", c->lanes_after},
                {"adders", c->adders},
                {"multipliers", c->multipliers},
                {"dividers", c->dividers},
                {"wires", c->wires},
                {"moved", c->moved},
                {"words_in", c->words_in},
                {"words_out", c->words_out},
                {"lut", c->lut},
                {"ff", c->ff},
                {"dsp", c->dsp}};
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k)
        borg_put(out, ", \"%s\": %" PRId64, list[k].name, list[k].value);
    borg_put(out, ", \"units\": {");
    for (int k = 0, first = 1; k < BORG_UNIT_KINDS; ++k)
        if (c->units[k]) {
            borg_put(out, "%s\"%s\": %" PRId64, first ? "" : ", ", borg_unit_names[k], c->units[k]);
            first = 0;
        }
    borg_put(out, "}");
}

static void put_ports(const borg_pipeline *p, borg_sink *out) {
    borg_put(out, ", \"ports\": [");
    for (int32_t a = 0, first = 1; a < p->naccesses; ++a) {
        const borg_access *access = &p->access[a];
        for (int32_t i = 0; i < access->nports; ++i) {
            const borg_port *port = &access->port[i];
            if (!access->store && p->net[port->value].dies < 0) continue;
            borg_put(out,
                     "%s\n  {\"boundary\": %d, \"out\": %s, \"net\": \"%s\", \"pointer\": \"%s\", "
                     "\"offset\": \"%s\", \"add\": %" PRId64 "}",
                     first ? "" : ",", access->boundary, access->store ? "true" : "false",
                     pipe_net(p, port->value, out->arena), pipe_net(p, port->pointer, out->arena),
                     pipe_net(p, port->offset, out->arena), port->add);
            first = 0;
        }
    }
    borg_put(out, "]");
}

void pipe_json(const borg_pipeline *p, const char *name, borg_sink *out) {
    borg_put(out, "{\"kernel\": \"%s\", \"size\": %d, \"pack\": %d", name, p->module->size,
             p->module->pack);
    put_counts(p, out);
    put_ports(p, out);
    borg_put(out, ", \"netlist\": [");
    for (int32_t s = 0; s < p->nstages; ++s) {
        const borg_step *step = &p->stage[s];
        borg_put(
            out,
            "%s\n  {\"op\": \"%s\", \"unit\": \"%s\", \"start\": %d, \"latency\": %d, \"nets\": [",
            s ? "," : "", borg_op_table[step->inst->op].text, borg_unit_names[step->kind],
            step->start, step->latency);
        for (int32_t i = 0, first = 1; i < step->nout; ++i) {
            if (p->net[step->out[i]].dies < 0) continue;
            borg_put(out, "%s[\"%s\"", first ? "" : ", ", pipe_net(p, step->out[i], out->arena));
            for (int32_t k = 0; k < step->nin; ++k)
                borg_put(out, ", \"%s\"",
                         pipe_net(p, step->in[(int64_t)i * step->nin + k], out->arena));
            borg_put(out, "]");
            first = 0;
        }
        borg_put(out, "]}");
    }
    borg_put(out, "]}");
}
