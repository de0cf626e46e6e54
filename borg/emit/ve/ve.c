/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend `ve`: leaves, elementwise instructions, the walk, functions. */
#include "borg/emit/ve/core.h"
#include "borg/emit/simd/core.h"
#include <inttypes.h>
#include <string.h>

/* ---- leaves ---------------------------------------------------------------------------------- */

static uint64_t word_of(borg_type type, uint64_t bits) {
    return type == BORG_F32 ? bits << 32 : bits;
}

static void emit_constants(ve *e, borg_inst *v) {
    const int32_t per_row = ve_per_row(e, v);
    for (int32_t i = 0; i < ve_count(e, v); ++i) {
        uint64_t word[VE_LANES] = {0};
        const int32_t used = ve_used(e, v, i);
        for (int32_t l = 0; l < used; ++l) {
            int32_t w, g;
            ve_place(e, v, i, l, &w, &g);
            word[l] = v->op == BORG_CONST ? borg_const_bits(e->m, v, i / per_row, w)
                      : v->op == BORG_LID ? (uint64_t)w
                                          : (uint64_t)g;
            if (!ve_scalar(e, v)) word[l] = word_of(v->type, word[l]);
        }
        if (ve_scalar(e, v)) {
            ctext_name(&e->c, v, i, ctext_literal(&e->c, v->type, word[0]));
            continue;
        }
        const char *text = ve_close(e, v->type, ve_words(e, word, used), used);
        if (v->mark == VE_IN_MEMORY)
            ctext_name(&e->c, v, i, text);
        else
            ve_let(e, v, i, text);
    }
}

static void emit_gid(ve *e, borg_inst *v) {
    for (int32_t i = 0; i < ve_count(e, v); ++i) {
        uint64_t word[VE_LANES];
        const int32_t used = ve_used(e, v, i);
        if (ve_scalar(e, v)) {
            ctext_name(&e->c, v, i, "(uint64_t)g0");
            continue;
        }
        for (int32_t l = 0; l < used; ++l) {
            int32_t w, g;
            ve_place(e, v, i, l, &w, &g);
            word[l] = (uint64_t)g;
        }
        ve_let(e, v, i,
               borg_format(e->arena, "b_add_i64(%s, %s, %d)",
                           ve_splat(e, BORG_I64, "(uint64_t)g0", used), ve_words(e, word, used),
                           used));
    }
}

static void emit_leaf(ve *e, borg_inst *v) {
    switch (v->op) {
    case BORG_PARAM:
        ctext_param(&e->c, e->m, v, ve_type(v->type, true));
        break;
    case BORG_G0:
        ctext_name(&e->c, v, 0, "(uint64_t)g0");
        break;
    case BORG_GID:
        emit_gid(e, v);
        break;
    case BORG_LOCAL: /* named where it is used */
        break;
    default:
        emit_constants(e, v);
        break;
    }
}

/* ---- elementwise ----------------------------------------------------------------------------- */

static const char *function_of(const ve *e, const borg_inst *v) {
    const char *prefix = ve_scalar(e, v) ? "s" : "b", *from = ve_suffix(v->args[0]->type);
    if (v->op == BORG_SQRT || v->op == BORG_FMA) prefix = ve_scalar(e, v) ? "v" : "b";
    if (v->op == BORG_ICMP || v->op == BORG_FCMP)
        return borg_format(e->arena, "%s_%s%s_%s", prefix, v->uns ? "u" : "",
                           borg_pred_text(v->pred), from);
    if (borg_op_table[v->op].class == BORG_CONVERT)
        return borg_format(e->arena, "%s_%s_%s_%s", prefix, borg_op_table[v->op].text, from,
                           ve_suffix(v->type));
    return borg_format(e->arena, "%s_%s_%s", prefix, borg_op_table[v->op].text, ve_suffix(v->type));
}

/* x y - z is one instruction. One that negates the product would negate a zero, too. */
static bool subtracts(const ve *e, const borg_inst *v) {
    return v->op == BORG_FMA && !ve_scalar(e, v) && v->args[2]->op == BORG_FNEG;
}

static void emit_elem(ve *e, borg_inst *v) {
    const bool minus = subtracts(e, v);
    for (int32_t i = 0; i < ve_count(e, v); ++i) {
        borg_sink text = {.arena = e->arena};
        if (minus)
            borg_put(&text, "b_fms_%s(", ve_suffix(v->type));
        else
            borg_put(&text, "%s(", function_of(e, v));
        for (int32_t k = 0; k < v->nargs; ++k)
            borg_put(&text, "%s%s", k ? ", " : "",
                     ve_reg(e, minus && k == 2 ? v->args[2]->args[0] : v->args[k], i));
        if (!ve_scalar(e, v)) borg_put(&text, ", %d", ve_used(e, v, i));
        borg_put(&text, ")");
        ve_let(e, v, i, text.text);
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void emit_loop(ctext *c, borg_inst *v) {
    ctext_phis(c, v);
    ctext_loop(c, v);
}

static void emit_if(ctext *c, borg_inst *v) {
    ctext_results(c, v);
    ctext_arm(c, v, 0);
    ctext_arm(c, v, 1);
}

static void emit_block(ctext *c, borg_block *block) {
    ve *e = (ve *)c;
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->uses == 0 && borg_is_pure(v)) continue;
        switch (borg_op_table[v->op].class) {
        case BORG_LEAF:
            emit_leaf(e, v);
            break;
        case BORG_ELEM:
        case BORG_CONVERT:
            emit_elem(e, v);
            break;
        case BORG_LAYOUT:
            ve_layout(e, v);
            break;
        case BORG_REDUCE:
            ve_reduce(e, v);
            break;
        case BORG_MEMORY:
            ve_memory(e, v);
            break;
        case BORG_CONTROL:
            ctext_control(c, v);
            break;
        }
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static void put_arrays(ve *e) {
    for (int32_t i = 0; i < e->m->nlocals; ++i) {
        const borg_local *d = &e->m->locals[i];
        ctext_line(&e->c, "%s%s l_%s[%d];", borg_local_on_stack(e->m, i) ? "" : "static __thread ",
                   ve_type(d->elem, true), d->name, e->m->pack * d->count);
    }
}

static void emit_pack(ve *e, borg_module *m, const char *name) {
    borg_sink body = {.arena = e->arena}, *out = e->c.out;
    e->m = m;
    e->tables = NULL;
    borg_number(m);
    borg_count_uses(m);
    ve_choose_spills(e);
    ctext_clear(m->body);
    e->c.out = &body;
    e->c.depth = 1;
    put_arrays(e);
    const int32_t first = e->ntables;
    emit_block(&e->c, m->body);
    e->c.out = out;
    for (int32_t number = first; number < e->ntables; ++number) {
        const ve_table *t = e->tables;
        while (t->number != number) t = t->next;
        borg_put(out, "static const uint64_t b_table%d[256] = {", number);
        for (int32_t l = 0; l < VE_LANES; ++l)
            borg_put(out, "%s%" PRIu64 "u", l ? l % 16 ? ", " : ",\n    " : "", t->word[l]);
        borg_put(out, "};\n");
    }
    borg_put(out, "static void %s_%d(int64_t g0", name, m->pack);
    ctext_parameters(&e->c, m, true);
    borg_put(out, " {\n    (void)g0;\n");
    if (body.text) borg_put_text(out, body.text, body.length);
    borg_put(out, "}\n\n");
}

static void emit_unit(ve *e, const borg_unit *u) {
    borg_module *parts[] = {u->module, u->tail};
    borg_put(e->c.out, "/* %s: %d work-items, %d groups at a time, %s */\n", u->module->name,
             u->module->size, u->module->pack,
             u->module->order == BORG_WG_MINOR ? "interleaved" : "one after the other");
    for (int32_t i = 0; i < 2 && parts[i]; ++i) emit_pack(e, parts[i], u->name);
    for (int32_t k = 0; k < 2; ++k) {
        borg_put(e->c.out, "void %s(int64_t first, int64_t last", u->name);
        ctext_parameters(&e->c, u->module, true);
        borg_put(e->c.out, k ? " {\n    int64_t g = first;\n" : ";\n");
    }
    for (int32_t i = 0; i < 2 && parts[i]; ++i) {
        const int32_t pack = parts[i]->pack;
        borg_put(e->c.out, "    for (; g + %d <= last; g += %d) %s_%d(g", pack, pack, u->name,
                 pack);
        ctext_parameters(&e->c, parts[i], false);
        borg_put(e->c.out, ";\n");
    }
    borg_put(e->c.out, "}\n\n");
}

static int32_t count_of(const ctext *c, const borg_inst *v) {
    return ve_count((const ve *)c, v);
}

static const char *type_of(const ctext *c, const borg_inst *v) {
    return ve_type(v->type, ve_scalar((const ve *)c, v));
}

static const char *part_of(const ctext *c, const borg_inst *v, int32_t i) {
    return ve_reg((const ve *)c, v, i);
}

static borg_status emit(const borg_unit *units, int32_t nunits, const borg_options *options,
                        borg_sink *sink, borg_diags *diags) {
    ve e = {.c = {.arena = sink->arena,
                  .out = sink,
                  .literals = &ctext_c_literals,
                  .count = count_of,
                  .type = type_of,
                  .part = part_of,
                  .block = emit_block,
                  .loop = emit_loop,
                  .branch = emit_if},
            .arena = sink->arena,
            .options = options};
    (void)diags;
    borg_put(sink, "/* Made by borgc. */\n");
    borg_put_text(sink, simd_head_text, strlen(simd_head_text));
    borg_put_text(sink, simd_scalar_text, strlen(simd_scalar_text));
    borg_put_text(sink, ve_prelude_text, strlen(ve_prelude_text));
    for (int32_t i = 0; i < nunits; ++i) emit_unit(&e, &units[i]);
    return BORG_OK;
}

const borg_backend borg_backend_ve = {
    .name = "ve",
    .summary = "C with velintrin.h, for NEC's SX-Aurora",
    .suffix = ".c",
    .machine = {.vector_bytes = 2048, .registers = 60, .perm_cost = 4, .gather_cost = 1},
    .takes = BORG_TAKES_ORDER | BORG_TAKES_WHOLE,
    .disables = BORG_DISABLE_ALL,
    .emit = emit,
};
