/* SPDX-License-Identifier: BSD-3-Clause */
/* A scalar for each net, in the order of stages and ports. */
#include "borg/emit/hls/hls.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct writer {
    const borg_pipeline *p;
    borg_sink *out;
    borg_arena *arena;
} writer;

static const char *type_text(borg_type type) {
    static const char *const texts[] = {
        [BORG_I1] = "uint8_t", [BORG_I32] = "uint32_t", [BORG_I64] = "uint64_t",
        [BORG_F32] = "float",  [BORG_F64] = "double",   [BORG_PTR] = "char *"};
    return texts[type];
}

static const char *element_text(const borg_param *p) {
    if (!p->uns && p->elem == BORG_I32) return "int32_t";
    if (!p->uns && p->elem == BORG_I64) return "int64_t";
    return type_text(p->elem);
}

static const char *literal(const writer *w, borg_type type, uint64_t bits) {
    double x;
    float y;
    const uint32_t low = (uint32_t)bits;
    memcpy(&x, &bits, sizeof x);
    memcpy(&y, &low, sizeof y);
    switch (type) {
    case BORG_F64:
        return isfinite(x) ? borg_format(w->arena, "%a", x)
                           : borg_format(w->arena, "b_of_f64(0x%" PRIx64 "u)", bits);
    case BORG_F32:
        return isfinite(y) ? borg_format(w->arena, "%af", (double)y)
                           : borg_format(w->arena, "b_of_f32(0x%" PRIx32 "u)", low);
    case BORG_I64:
        return borg_format(w->arena, "UINT64_C(%" PRIu64 ")", bits);
    default:
        return borg_format(w->arena, "%" PRIu64 "u", bits);
    }
}

static const char *text(const writer *w, int32_t net) {
    const borg_net *n = &w->p->net[net];
    if (n->kind == BORG_NET_CONST) return literal(w, n->inst->type, n->bits);
    if (n->inst->op == BORG_PARAM) {
        const borg_param *p = &w->p->module->params[n->inst->index];
        if (p->type == BORG_PTR) return p->name;
        return borg_format(w->arena, "(%s)%s", type_text(p->type), p->name);
    }
    return borg_format(w->arena, "n%d", net);
}

/* ---- operations ------------------------------------------------------------------------------ */

static const char *binary(borg_op op) {
    switch (op) {
    case BORG_ADD:
    case BORG_FADD:
        return "+";
    case BORG_SUB:
    case BORG_FSUB:
        return "-";
    case BORG_MUL:
    case BORG_FMUL:
        return "*";
    case BORG_FDIV:
        return "/";
    case BORG_AND:
        return "&";
    case BORG_OR:
        return "|";
    case BORG_XOR:
        return "^";
    default:
        return NULL;
    }
}

static const char *helper(borg_op op) {
    switch (op) {
    case BORG_SDIV:
        return "b_sdiv";
    case BORG_UDIV:
        return "b_udiv";
    case BORG_SREM:
        return "b_srem";
    case BORG_UREM:
        return "b_urem";
    default:
        return NULL;
    }
}

static const char *signed_text(borg_type type) {
    return type == BORG_I32 ? "(int32_t)" : "(int64_t)";
}

/* Operations whose C names the signs of their operands, or compares. */
static const char *other(const writer *w, const borg_inst *v, borg_type from, const char *x,
                         const char *y, const char *z) {
    static const char *const preds[] = {"==", "!=", "<", "<=", ">", ">="};
    const char *t = borg_type_text(from), *s = borg_is_int(from) ? signed_text(from) : "";
    const char *bits = from == BORG_I32 ? "31" : "63";
    borg_arena *a = w->arena;
    switch (v->op) {
    case BORG_SHL:
        return borg_format(a, "%s << (%s & %s)", x, y, bits);
    case BORG_LSHR:
        return borg_format(a, "%s >> (%s & %s)", x, y, bits);
    case BORG_ASHR:
        return borg_format(a, "(%s)(%s%s >> (%s & %s))", type_text(from), s, x, y, bits);
    case BORG_NOT:
        return from == BORG_I1 ? borg_format(a, "%s ^ 1u", x) : borg_format(a, "~%s", x);
    case BORG_NEG:
        return borg_format(a, "0u - %s", x);
    case BORG_ABS:
        return borg_format(a, "%s%s < 0 ? 0u - %s : %s", s, x, x, x);
    case BORG_SMIN:
        return borg_format(a, "%s%s < %s%s ? %s : %s", s, y, s, x, y, x);
    case BORG_SMAX:
        return borg_format(a, "%s%s < %s%s ? %s : %s", s, x, s, y, y, x);
    case BORG_UMIN:
    case BORG_FMIN:
        return borg_format(a, "%s < %s ? %s : %s", y, x, y, x);
    case BORG_UMAX:
    case BORG_FMAX:
        return borg_format(a, "%s < %s ? %s : %s", x, y, y, x);
    case BORG_FNEG:
        return borg_format(a, "b_neg_%s(%s)", t, x);
    case BORG_FABS:
        return borg_format(a, "%s(%s)", from == BORG_F64 ? "fabs" : "fabsf", x);
    case BORG_SQRT:
        return borg_format(a, "%s(%s)", from == BORG_F64 ? "sqrt" : "sqrtf", x);
    case BORG_RCP:
        return borg_format(a, "1 / %s", x);
    case BORG_FMA:
        return borg_format(a, "%s(%s, %s, %s)", from == BORG_F64 ? "fma" : "fmaf", x, y, z);
    case BORG_ICMP:
        if (v->uns || from == BORG_I1) return borg_format(a, "%s %s %s", x, preds[v->pred], y);
        return borg_format(a, "%s%s %s %s%s", s, x, preds[v->pred], s, y);
    case BORG_FCMP:
        return borg_format(a, "%s %s %s", x, preds[v->pred], y);
    case BORG_SELECT:
        return borg_format(a, "%s ? %s : %s", x, y, z);
    default: /* conversions that C does by itself: zext, trunc, fpext, fptrunc, uitofp */
        return x;
    }
}

static const char *convert(const writer *w, const borg_inst *v, borg_type from, const char *x) {
    const char *to = type_text(v->type);
    switch (v->op) {
    case BORG_SEXT:
        return borg_format(w->arena, "(%s)(int64_t)(int32_t)%s", to, x);
    case BORG_SITOFP:
        return borg_format(w->arena, "(%s)%s%s", to, signed_text(from), x);
    case BORG_FPTOSI:
        return borg_format(w->arena, "b_fptosi_%s(%s)", borg_type_text(v->type), x);
    case BORG_FPTOUI:
        return borg_format(w->arena, "b_fptoui_%s(%s)", borg_type_text(v->type), x);
    case BORG_MAGNITUDE:
        return borg_format(w->arena, "b_magnitude_%s(%s)", borg_type_text(from), x);
    default:
        return borg_format(w->arena, "(%s)%s", to, x);
    }
}

static const char *operation(const writer *w, const borg_inst *v, const int32_t *in) {
    const borg_type from = v->args[v->op == BORG_SELECT ? 1 : 0]->type;
    const char *x = text(w, in[0]), *y = v->nargs > 1 ? text(w, in[1]) : "";
    const char *z = v->nargs > 2 ? text(w, in[2]) : "";
    if (borg_op_table[v->op].class == BORG_CONVERT) return convert(w, v, from, x);
    if (binary(v->op)) return borg_format(w->arena, "%s %s %s", x, binary(v->op), y);
    if (helper(v->op))
        return borg_format(w->arena, "%s_%s(%s, %s)", helper(v->op), borg_type_text(from), x, y);
    return other(w, v, from, x, y, z);
}

static void reduction(const writer *w, const borg_step *s, int32_t i) {
    const borg_inst *v = s->inst;
    const borg_type from = v->args[0]->type;
    const bool unsigned_order = v->uns && borg_is_int(from);
    const char *t = unsigned_order ? (from == BORG_I32 ? "u32" : "u64") : borg_type_text(from);
    const int32_t net = s->out[i], *in = s->in + (int64_t)i * s->nin;
    if (v->op >= BORG_ANY) {
        borg_put(w->out, "        const uint8_t n%d = ", net);
        const char *sign = v->op == BORG_ANY || v->op == BORG_ANYP ? "|" : "&";
        for (int32_t k = 0; k < s->nin; ++k)
            borg_put(w->out, "%s%s", k ? borg_format(w->arena, " %s ", sign) : "", text(w, in[k]));
        borg_put(w->out, ";\n");
        return;
    }
    const bool order = v->op != BORG_RSUM, least = v->op == BORG_RMIN;
    borg_put(w->out, "        %s x%d[%d] = {", type_text(from), net, s->nin);
    for (int32_t k = 0; k < s->nin; ++k)
        borg_put(w->out, order && borg_is_float(from) ? "%sb_as_%s_%s(%s)" : "%s%.0s%.0s%s",
                 k ? ", " : "", least ? "high" : "low", borg_type_text(from), text(w, in[k]));
    borg_put(w->out, "};\n        const %s n%d = ", type_text(v->type), net);
    if (!order)
        borg_put(w->out, "b_rsum_%s(x%d, %d)%s;\n", t, net, s->nin, from == BORG_I1 ? " & 1u" : "");
    else if (v->op == BORG_RMAXIDX)
        borg_put(w->out, "b_rmaxidx_%s(x%d, %d);\n", t, net, s->nin);
    else
        borg_put(w->out, "x%d[b_r%sidx_%s(x%d, %d)];\n", net, least ? "min" : "max", t, net,
                 s->nin);
}

static void write_step(const writer *w, const borg_step *s) {
    const borg_inst *v = s->inst;
    for (int32_t i = 0; i < s->nout; ++i) {
        const int32_t net = s->out[i];
        if (w->p->net[net].dies < 0) continue;
        if (borg_op_table[v->op].class == BORG_REDUCE) {
            reduction(w, s, i);
        } else {
            borg_put(w->out, "        const %s n%d = (%s)(%s);\n", type_text(v->type), net,
                     type_text(v->type), operation(w, v, s->in + (int64_t)i * s->nin));
        }
    }
}

/* ---- memory, control ------------------------------------------------------------------------- */

/* p[index], p of this element type. */
static const char *place(const writer *w, const borg_inst *v, const borg_port *port) {
    const borg_inst *value = borg_stored(v) ? borg_stored(v) : v;
    const borg_net *offset = &w->p->net[port->offset];
    const char *index =
        offset->inst->type == BORG_I32
            ? borg_format(w->arena, "(int64_t)(int32_t)%s", text(w, port->offset))
        : offset->kind == BORG_NET_CONST
            ? borg_format(w->arena, "%" PRId64, (int64_t)(offset->bits + (uint64_t)port->add))
            : borg_format(w->arena, "(int64_t)(%s + UINT64_C(%" PRIu64 "))", text(w, port->offset),
                          (uint64_t)port->add);
    const borg_net *pointer = &w->p->net[port->pointer];
    if (pointer->inst->op == BORG_PARAM) {
        const borg_param *p = &w->p->module->params[pointer->inst->index];
        if (p->elem == value->type || (borg_is_int(p->elem) && p->elem == value->type))
            return borg_format(w->arena, "%s[%s]", p->name, index);
    }
    return borg_format(w->arena, "((%s%s *)%s)[%s]", borg_stored(v) ? "" : "const ",
                       type_text(value->type), text(w, port->pointer), index);
}

static void write_access(const writer *w, const borg_access *a) {
    const borg_inst *v = a->inst;
    for (int32_t i = 0; i < a->nports; ++i) {
        const borg_port *port = &a->port[i];
        const borg_net *mask = port->mask < 0 ? NULL : &w->p->net[port->mask];
        const bool always = !mask || (mask->kind == BORG_NET_CONST && mask->bits);
        const char *condition = always ? "" : text(w, port->mask);
        if (a->store) {
            borg_put(w->out, always ? "        %s" : "        if (%s) ", condition);
            const borg_type type = borg_stored(v)->type;
            const char *cast = type == BORG_I32 ? "(int32_t)" : type == BORG_I64 ? "(int64_t)" : "";
            const borg_net *pointer = &w->p->net[port->pointer];
            const bool uns =
                pointer->inst->op != BORG_PARAM || w->p->module->params[pointer->inst->index].uns;
            borg_put(w->out, "%s = %s%s;\n", place(w, v, port), uns ? "" : cast,
                     text(w, port->value));
        } else if (w->p->net[port->value].dies >= 0) {
            borg_put(w->out, "        const %s n%d = (%s)", type_text(v->type), port->value,
                     type_text(v->type));
            if (always)
                borg_put(w->out, "%s;\n", place(w, v, port));
            else
                borg_put(w->out, "(%s ? %s : 0);\n", condition, place(w, v, port));
        }
    }
}

static void write_control(const writer *w, const borg_step *s) {
    const borg_inst *v = s->inst;
    for (int32_t i = 0; i < s->nout; ++i) {
        const int32_t net = s->out[i], *in = s->in + (int64_t)i * s->nin;
        if (w->p->net[net].dies < 0 || v->op == BORG_PARAM) continue;
        if (v->op == BORG_GID || v->op == BORG_G0) {
            borg_put(w->out, "        const uint64_t n%d = (uint64_t)g0", net);
            if (v->op == BORG_GID) borg_put(w->out, " + %du", i);
            borg_put(w->out, ";\n");
        } else if (v->type == BORG_PTR) { /* a pointer out of an array of them */
            const borg_inst *mask = borg_mask(v);
            const int64_t add = v->op == BORG_LOADA ? v->c[0] + v->a * i : 0;
            borg_put(w->out, "        char *const n%d = ", net);
            if (mask) borg_put(w->out, "!%s ? NULL : ", text(w, in[v->nargs - 1]));
            borg_put(w->out, "(char *)%s[(int64_t)(%s + UINT64_C(%" PRIu64 "))];\n", text(w, in[0]),
                     text(w, in[1]), (uint64_t)add);
        } else {
            borg_step one = *s;
            one.out += i, one.in = (int32_t *)in, one.nout = 1;
            write_step(w, &one);
        }
    }
}

/* ---- the function ---------------------------------------------------------------------------- */

static void write_parameters(const writer *w) {
    const borg_module *m = w->p->module;
    for (int32_t i = 0; i < m->nparams; ++i) {
        const borg_param *p = &m->params[i];
        if (p->type == BORG_PTR && p->depth == 2)
            borg_put(w->out, ", %s%s *const *%s", p->readonly ? "const " : "", element_text(p),
                     p->name);
        else if (p->type == BORG_PTR)
            borg_put(w->out, ", %s%s *%s", p->readonly ? "const " : "", element_text(p), p->name);
        else
            borg_put(w->out, ", %s %s",
                     p->uns || !borg_is_int(p->type) ? type_text(p->type)
                     : p->type == BORG_I32           ? "int32_t"
                                                     : "int64_t",
                     p->name);
    }
}

static void write_module(const writer *w, const char *name, const char *first, const char *last) {
    const borg_pipeline *p = w->p;
    const borg_module *m = p->module;
    borg_put(w->out,
             "    for (int64_t g0 = %s; g0 < %s; g0 += %d) { /* %s: %d cycles, a job every %d */\n"
             "#pragma HLS PIPELINE II=%d\n",
             first, last, m->pack, name, p->depth, p->interval, p->interval);
    for (int32_t c = 0; c < p->ncontrol; ++c) write_control(w, &p->control[c]);
    for (int32_t b = 0, a = 0; b <= p->nstages; ++b) {
        for (; a < p->naccesses && p->access[a].boundary <= b; ++a) write_access(w, &p->access[a]);
        if (b < p->nstages && p->stage[b].kind != BORG_UNIT_load) write_step(w, &p->stage[b]);
    }
    borg_put(w->out, "    }\n");
}

static borg_status emit(const borg_unit *units, int32_t nunits, const borg_options *options,
                        borg_sink *sink, borg_diags *diags) {
    borg_unit_cost costs[BORG_UNIT_KINDS];
    borg_budget budget;
    if (!borg_costs_read(options->units, costs, diags) ||
        !borg_budget_read(options->budget, &budget, diags))
        return BORG_ERR_OPTION;
    borg_put(sink, "/* made by borgc: C for high-level synthesis */\n%s", hls_prelude);
    for (int32_t i = 0; i < nunits; ++i) {
        writer w = {NULL, sink, sink->arena};
        const borg_pipeline *p = borg_pipeline_new(units[i].module, costs, diags);
        const borg_pipeline *tail =
            p && units[i].tail ? borg_pipeline_new(units[i].tail, costs, diags) : NULL;
        if (!p || (units[i].tail && !tail)) return BORG_ERR_SOURCE;
        if (!borg_pipeline_budget(p, &budget, units[i].name, diags)) return BORG_ERR_BUDGET;
        w.p = p;
        const borg_module *m = p->module;
        borg_put(sink, "\nvoid %s(int64_t first, int64_t last", units[i].name);
        write_parameters(&w);
        borg_put(sink, ");\nvoid %s(int64_t first, int64_t last", units[i].name);
        write_parameters(&w);
        borg_put(sink, ") {\n");
        for (int32_t k = 0; k < m->nparams; ++k)
            if (m->params[k].type == BORG_PTR)
                borg_put(sink, "#pragma HLS INTERFACE m_axi port=%s bundle=%s\n", m->params[k].name,
                         m->params[k].name);
        if (tail)
            borg_put(sink, "    const int64_t middle = last - (last - first) %% %d;\n", m->pack);
        write_module(&w, units[i].name, "first", tail ? "middle" : "last");
        w.p = tail;
        if (tail) write_module(&w, "what is left", "middle", "last");
        for (int32_t k = 0; k < m->nparams; ++k)
            borg_put(sink, "    (void)%s;\n", m->params[k].name);
        borg_put(sink, "}\n");
    }
    return BORG_OK;
}

const borg_backend borg_backend_hls = {
    .name = "hls",
    .summary = "C with pragmas for high-level synthesis: a spatial pipeline",
    .suffix = ".c",
    .machine = {.registers = INT32_MAX}, /* none are vectors, and there are as many as it takes */
    .takes = BORG_TAKES_WHOLE | BORG_TAKES_UNITS,
    .emit = emit,
};
