/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of vrPTX; a program as text. */
#include "sim/vector/vrptx.h"
#include <inttypes.h>
#include <string.h>

const vr_op_info vr_op_table[VR_NOPS] = {
#define X(name, text, sources, types, class) {text, sources, types, VR_ON_##class},
    VR_OPS(X)
#undef X
};
const char *const vr_type_text[VR_TYPES] = {"pred", "b32", "b64", "f32", "f64",
                                            "s32",  "u32", "s64", "u64"};
const char *const vr_class_text[VR_CLASSES] = {"alu",  "fma",   "divide", "complex",
                                               "load", "store", "control"};

static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
static const char *const shuffles[] = {"idx", "up", "down", "xor"};
static const char *const votes[] = {"any", "all"};
static const char *const spaces[] = {"global", "shared", "const"};
static const char *const metas[] = {"$tid", "$wid", "$ntids"};

vr_class vr_classify(const vr_inst *v) {
    bool real = vr_is_float(v->type);
    if (vr_op_table[v->op].class != VR_ON_ALU || !real) return vr_op_table[v->op].class;
    return v->op == VR_ADD || v->op == VR_SUB || v->op == VR_MUL ? VR_ON_FMA : VR_ON_ALU;
}

int32_t vr_entry_for(const vr_program *p, int32_t ntids) {
    int32_t any = -1;
    for (int32_t i = 0; i < p->nentries; ++i) {
        if (p->entries[i].ntids == ntids) return i;
        if (p->entries[i].ntids == 0) any = i;
    }
    return any;
}

int32_t vr_find_param(const vr_program *p, const char *name) {
    for (int32_t i = 0; i < p->nparams; ++i)
        if (strcmp(p->params[i].name, name) == 0) return i;
    return -1;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Bits as a literal of the type: integers in decimal, reals by their bits. */
static void put_literal(vr_type type, uint64_t bits, borg_sink *out) {
    switch (type) {
    case VR_F64:
        borg_put(out, "0d%016" PRIx64, bits);
        break;
    case VR_F32:
        borg_put(out, "0f%08" PRIx32, (uint32_t)bits);
        break;
    case VR_S32:
    case VR_B32:
        borg_put(out, "%" PRId32, (int32_t)(uint32_t)bits);
        break;
    case VR_S64:
    case VR_B64:
        borg_put(out, "%" PRId64, (int64_t)bits);
        break;
    default:
        borg_put(out, "%" PRIu64, bits);
        break;
    }
}

static void put_operand(const vr_program *p, vr_operand o, vr_type type, borg_sink *out) {
    switch (o.kind) {
    case VR_REG:
        borg_put(out, "%s", p->registers[o.at].name);
        break;
    case VR_META:
        borg_put(out, "%s", metas[o.at]);
        break;
    case VR_IMM:
        put_literal(type, p->constants[o.at], out);
        break;
    case VR_SCALAR:
    case VR_ARRAY:
        borg_put(out, "%s", p->params[o.at].name);
        break;
    default:
        break;
    }
}

/* The type in which source k is read. */
static vr_type source_type(const vr_inst *v, int k) {
    if (v->op == VR_CVT) return v->from;
    if (v->op == VR_SELP && k == 2) return VR_PRED;
    if ((v->op == VR_SHFL || v->op == VR_SHL || v->op == VR_SHR) && k == 1) return VR_U32;
    return v->type;
}

static void put_address(const vr_program *p, const vr_inst *v, borg_sink *out) {
    borg_put(out, "[");
    if (v->base.kind == VR_ARRAY && v->how != VR_GLOBAL)
        borg_put(out, "%s", (v->how == VR_SHARED ? p->shared : p->consts)[v->base.at].name);
    else
        put_operand(p, v->base, VR_B64, out);
    if (v->a[0].kind) {
        borg_put(out, " + ");
        put_operand(p, v->a[0], VR_S64, out);
    }
    borg_put(out, "]");
}

void vr_print_inst(const vr_program *p, const vr_inst *v, borg_sink *out) {
    if (v->guard >= 0) borg_put(out, "@%s%s ", v->negated ? "!" : "", p->registers[v->guard].name);
    borg_put(out, "%s", vr_op_table[v->op].text);
    if (v->op == VR_SETP) borg_put(out, ".%s", compares[v->how]);
    if (v->op == VR_SHFL) borg_put(out, ".%s", shuffles[v->how]);
    if (v->op == VR_VOTE) borg_put(out, ".%s", votes[v->how]);
    if (v->op == VR_LD || v->op == VR_ST) borg_put(out, ".%s", spaces[v->how]);
    if (vr_op_table[v->op].types) borg_put(out, ".%s", vr_type_text[v->type]);
    if (v->op == VR_CVT) borg_put(out, ".%s", vr_type_text[v->from]);
    if (v->target >= 0) {
        const char *name = "?";
        for (int32_t i = 0; i < p->nlabels; ++i)
            if (p->labels[i].at == v->target) name = p->labels[i].name;
        borg_put(out, " %s", name);
    }
    const char *comma = " ";
    if (v->dst >= 0) {
        borg_put(out, " %s", p->registers[v->dst].name);
        comma = ", ";
    }
    if (v->op == VR_LD || v->op == VR_ST) {
        borg_put(out, "%s", comma);
        put_address(p, v, out);
        if (v->op == VR_LD) return;
        borg_put(out, ", ");
        put_operand(p, v->a[1], v->type, out);
        return;
    }
    for (int k = 0; k < 3 && v->a[k].kind; ++k, comma = ", ") {
        borg_put(out, "%s", comma);
        put_operand(p, v->a[k], source_type(v, k), out);
    }
}

static void put_arrays(const vr_array *list, int32_t first, int32_t last, const char *space,
                       borg_sink *out) {
    for (int32_t i = first; i < last; ++i) {
        const vr_array *a = &list[i];
        borg_put(out, "    .%s .%s %s[%d]", space, vr_type_text[a->type], a->name, a->count);
        for (int32_t k = 0; a->values && k < a->count; ++k) {
            borg_put(out, "%s", k ? ", " : " = {");
            put_literal(a->type, a->values[k], out);
        }
        borg_put(out, a->values ? "};\n" : ";\n");
    }
}

static void put_entry(const vr_program *p, const vr_entry *e, borg_sink *out) {
    const vr_entry *end = e + 1;
    borg_put(out, ".entry %s (", e->name);
    for (int32_t i = 0; i < p->nparams; ++i)
        borg_put(out, "%s.param %s.%s %s", i ? ", " : "", p->params[i].array ? ".ptr" : "",
                 vr_type_text[p->params[i].type], p->params[i].name);
    borg_put(out, ")");
    if (e->ntids) borg_put(out, " .ntids %d", e->ntids);
    borg_put(out, "\n{\n");
    put_arrays(p->shared, e->shared, end->shared, "shared", out);
    put_arrays(p->consts, e->consts, end->consts, "const", out);
    for (int32_t i = e->registers; i < end->registers; ++i)
        borg_put(out, "    .reg .%s %s;\n", vr_type_text[p->registers[i].type],
                 p->registers[i].name);
    for (int32_t i = e->first, l = e->labels; i <= end->first; ++i) {
        for (; l < end->labels && p->labels[l].at == i; ++l)
            borg_put(out, "%s:\n", p->labels[l].name);
        if (i == end->first) break;
        borg_put(out, "    ");
        vr_print_inst(p, &p->insts[i], out);
        borg_put(out, ";\n");
    }
    borg_put(out, "}\n");
}

void vr_print(const vr_program *p, borg_sink *out) {
    for (int32_t i = 0; i < p->nentries; ++i) put_entry(p, &p->entries[i], out);
}
