/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk over a module, and the functions of a file. */
#include "borg/emit/simd/simd.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- values and their registers ----------------------------------------------------------------
 */

bool simd_apart(const simd *e, const borg_inst *v) {
    return v->spread == BORG_WG && (e->apart || v->mark == SIMD_ADDRESS);
}

bool simd_scalar(const simd *e, const borg_inst *v) {
    return simd_apart(e, v) || borg_row_lanes(e->m, v) == 1;
}

int32_t simd_row_count(const simd *e, const borg_inst *v) {
    return simd_apart(e, v) ? e->m->pack : borg_row_registers(e->m, v, e->lanes);
}

int32_t simd_count(const simd *e, const borg_inst *v) {
    return v->rows * simd_row_count(e, v);
}

void simd_place(const simd *e, const borg_inst *v, int32_t reg, int32_t lane, int32_t *wi,
                int32_t *wg) {
    int32_t in_row = reg % simd_row_count(e, v);
    borg_lane_place(e->m, v, simd_apart(e, v) ? in_row : in_row * e->lanes + lane, wi, wg);
}

int32_t simd_used(const simd *e, const borg_inst *v, int32_t reg) {
    if (simd_apart(e, v)) return 1;
    int32_t left = borg_row_lanes(e->m, v) - reg % borg_row_registers(e->m, v, e->lanes) * e->lanes;
    return left < e->lanes ? left : e->lanes;
}

uint64_t simd_bits(int32_t count) {
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

const char *simd_reg(const simd *e, const borg_inst *v, int32_t i) {
    (void)e;
    return ((const char *const *)v->aux)[i];
}

void simd_name(simd *e, borg_inst *v, int32_t i, const char *name) {
    if (!v->aux) v->aux = BORG_NEW(e->arena, simd_count(e, v), const char *);
    ((const char **)v->aux)[i] = name;
}

const char *simd_suffix(borg_type type) {
    return type == BORG_PTR ? "i64" : borg_type_text(type);
}

const char *simd_type(borg_type type, bool scalar) {
    static const char *const scalars[] = {"void",  "bool",   "uint32_t", "uint64_t",
                                          "float", "double", "uint64_t"};
    static const char *const vectors[] = {"void", "vm", "vi32", "vi64", "vf32", "vf64", "vi64"};
    return scalar ? scalars[type] : vectors[type];
}

void simd_line(simd *e, const char *format, ...) {
    va_list arguments;
    for (int32_t i = 0; i < e->depth; ++i) borg_put_text(e->out, "    ", 4);
    va_start(arguments, format);
    borg_vput(e->out, format, arguments);
    va_end(arguments);
    borg_put_text(e->out, "\n", 1);
}

void simd_let(simd *e, borg_inst *v, int32_t i, const char *expression) {
    const char *name = simd_count(e, v) == 1 ? borg_format(e->arena, "v%d", v->id)
                                             : borg_format(e->arena, "v%d_%d", v->id, i);
    const bool stream = e->options->disable & BORG_STREAM && borg_is_float(v->type);
    simd_line(e, "const %s%s %s = %s;", stream ? "volatile " : "",
              simd_type(v->type, simd_scalar(e, v)), name, expression);
    simd_name(e, v, i, name);
}

const char *simd_temp(simd *e, borg_type type, bool scalar, const char *expression) {
    const char *name = borg_format(e->arena, "t%d", e->temps++);
    simd_line(e, "const %s %s = %s;", simd_type(type, scalar), name, expression);
    return name;
}

/* ---- constants ---------------------------------------------------------------------------------
 */

const char *simd_literal(simd *e, borg_type type, uint64_t bits) {
    double x = 0;
    float f;
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case BORG_I1:
        return bits & 1 ? "1" : "0";
    case BORG_I32:
        return borg_format(e->arena, "UINT32_C(%" PRIu32 ")", low);
    case BORG_F32:
        memcpy(&f, &low, sizeof f);
        if (isnan(f)) return "__builtin_nanf(\"\")";
        if (isinf(f)) return f > 0 ? "__builtin_inff()" : "-__builtin_inff()";
        return borg_format(e->arena, "%af", (double)f);
    case BORG_F64:
        memcpy(&x, &bits, sizeof x);
        if (isnan(x)) return "__builtin_nan(\"\")";
        if (isinf(x)) return x > 0 ? "__builtin_inf()" : "-__builtin_inf()";
        return borg_format(e->arena, "%a", x);
    default:
        return borg_format(e->arena, "UINT64_C(%" PRIu64 ")", bits);
    }
}

const char *simd_splat(simd *e, borg_type type, const char *scalar) {
    return borg_format(e->arena, "b_splat_%s(%s)", simd_suffix(type), scalar);
}

const char *simd_lane(simd *e, borg_type type, const char *reg, int32_t lane) {
    if (type == BORG_I1) return borg_format(e->arena, "b_bit(%s, %d)", reg, lane);
    return borg_format(e->arena, "%s[%d]", reg, lane);
}

const char *simd_literals(simd *e, borg_type type, const uint64_t *bits, int32_t used) {
    uint64_t mask = 0;
    bool equal = true;
    for (int32_t i = 0; i < used; ++i) {
        equal = equal && bits[i] == bits[0];
        mask |= (bits[i] & 1) << i;
    }
    if (type == BORG_I1 && e->target->bits) return borg_format(e->arena, "0x%" PRIx64, mask);
    if (equal) return simd_splat(e, type, simd_literal(e, type, bits[0]));
    borg_sink text = {.arena = e->arena};
    borg_put(&text, "(%s){", simd_type(type, false));
    for (int32_t i = 0; i < e->lanes; ++i) {
        uint64_t x = i < used ? bits[i] : 0;
        borg_put(&text, "%s%s%s", i ? ", " : "", type == BORG_I1 && x ? "-" : "",
                 simd_literal(e, type, x));
    }
    borg_put(&text, "}");
    return text.text;
}

/* ---- leaves ------------------------------------------------------------------------------------
 */

static uint64_t leaf_bits(const simd *e, const borg_inst *v, int32_t r, int32_t w, int32_t g) {
    return v->op == BORG_CONST ? borg_const_bits(e->m, v, r, w)
           : v->op == BORG_LID ? (uint64_t)w
                               : (uint64_t)g;
}

simd_mask simd_mask_kind(const simd *e, const borg_inst *mask, int32_t reg) {
    if (!mask) return SIMD_ALL;
    if (mask->op != BORG_CONST) return SIMD_SOME;
    int32_t per_row = simd_row_count(e, mask), used = simd_used(e, mask, reg);
    int32_t ones = 0, w, g;
    for (int32_t l = 0; l < used; ++l) {
        simd_place(e, mask, reg, l, &w, &g);
        ones += borg_const_bits(e->m, mask, reg / per_row, w) & 1;
    }
    return ones == used ? SIMD_ALL : ones == 0 ? SIMD_NONE : SIMD_SOME;
}

static void emit_constants(simd *e, borg_inst *v) {
    int32_t per_row = simd_row_count(e, v);
    const char **seen = BORG_NEW(e->arena, simd_count(e, v), const char *);
    for (int32_t i = 0; i < simd_count(e, v); ++i) {
        uint64_t bits[BORG_MAX_VECTOR];
        int32_t used = simd_used(e, v, i), w, g;
        for (int32_t l = 0; l < used; ++l) {
            simd_place(e, v, i, l, &w, &g);
            bits[l] = leaf_bits(e, v, i / per_row, w, g);
        }
        if (simd_scalar(e, v)) {
            simd_name(e, v, i, simd_literal(e, v->type, bits[0]));
            continue;
        }
        const char *text = seen[i] = simd_literals(e, v->type, bits, used);
        int32_t same = 0;
        while (same < i && strcmp(seen[same], text) != 0) ++same;
        if (same < i) {
            simd_name(e, v, i, simd_reg(e, v, same));
        } else if (text[0] == '(') {
            simd_let(e, v, i, text);
        } else {
            simd_name(e, v, i, text);
        }
    }
}

static void emit_gid(simd *e, borg_inst *v) {
    uint64_t bits[BORG_MAX_VECTOR];
    if (simd_scalar(e, v)) {
        for (int32_t i = 0; i < simd_count(e, v); ++i)
            simd_name(e, v, i, borg_format(e->arena, "((uint64_t)g0 + %d)", i));
        return;
    }
    for (int32_t i = 0; i < simd_count(e, v); ++i) {
        for (int32_t l = 0; l < e->lanes; ++l) bits[l] = (uint64_t)(i * e->lanes + l);
        simd_let(e, v, i,
                 borg_format(e->arena, "b_splat_i64((uint64_t)g0) + %s",
                             simd_literals(e, BORG_I64, bits, simd_used(e, v, i))));
    }
}

static void emit_leaf(simd *e, borg_inst *v) {
    const borg_param *p;
    switch (v->op) {
    case BORG_PARAM:
        p = &e->m->params[v->index];
        simd_name(e, v, 0,
                  v->type == BORG_PTR || borg_is_float(v->type)
                      ? borg_format(e->arena, "p_%s", p->name)
                      : borg_format(e->arena, "(%s)p_%s", simd_type(v->type, true), p->name));
        break;
    case BORG_G0:
        simd_name(e, v, 0, "(uint64_t)g0");
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

/* ---- elementwise -------------------------------------------------------------------------------
 */

static const char *function_of(simd *e, const borg_inst *v) {
    const char *prefix = simd_scalar(e, v) ? "s" : "b", *from = simd_suffix(v->args[0]->type);
    if (v->op == BORG_ICMP || v->op == BORG_FCMP)
        return borg_format(e->arena, "%s_%s%s_%s", prefix, v->uns ? "u" : "",
                           borg_pred_text(v->pred), from);
    if (borg_op_table[v->op].class == BORG_CONVERT)
        return borg_format(e->arena, "%s_%s_%s_%s", prefix, borg_op_table[v->op].text, from,
                           simd_suffix(v->type));
    return borg_format(e->arena, "%s_%s_%s", prefix, borg_op_table[v->op].text,
                       simd_suffix(v->type));
}

static const borg_inst *negated(const borg_inst *x) {
    return x->op == BORG_FNEG ? x->args[0] : NULL;
}

/* One instruction, whatever is negated: compilers keep a negation apart where it has several uses.
 */
static bool emit_fma(simd *e, borg_inst *v) {
    if (v->op != BORG_FMA || simd_scalar(e, v)) return false;
    const borg_inst *x = v->args[0], *y = v->args[1], *z = v->args[2];
    bool minus = (negated(x) != NULL) != (negated(y) != NULL);
    if (!negated(x) && !negated(y) && !negated(z)) return false;
    const char *name = minus ? negated(z) ? "fnms" : "fnma" : negated(z) ? "fms" : "fma";
    x = negated(x) ? negated(x) : x;
    y = negated(y) ? negated(y) : y;
    z = negated(z) ? negated(z) : z;
    for (int32_t i = 0; i < simd_count(e, v); ++i)
        simd_let(e, v, i,
                 borg_format(e->arena, "b_%s_%s(%s, %s, %s)", name, simd_suffix(v->type),
                             simd_reg(e, x, i), simd_reg(e, y, i), simd_reg(e, z, i)));
    return true;
}

static void emit_elem(simd *e, borg_inst *v) {
    const char *function = function_of(e, v);
    if (emit_fma(e, v)) return;
    for (int32_t i = 0; i < simd_count(e, v); ++i) {
        borg_sink text = {.arena = e->arena};
        simd_mask known = v->op == BORG_SELECT ? simd_mask_kind(e, v->args[0], i) : SIMD_SOME;
        if (known != SIMD_SOME) {
            simd_name(e, v, i, simd_reg(e, v->args[known == SIMD_ALL ? 1 : 2], i));
            continue;
        }
        borg_put(&text, "%s(", function);
        for (int32_t k = 0; k < v->nargs; ++k)
            borg_put(&text, "%s%s", k ? ", " : "", simd_reg(e, v->args[k], i));
        borg_put(&text, ")");
        simd_let(e, v, i, text.text);
    }
}

/* ---- control -----------------------------------------------------------------------------------
 */

static void emit_block(simd *e, borg_block *block);

/* Variables for a value that is given elsewhere. */
static void declare(simd *e, borg_inst *v, const borg_inst *initial) {
    for (int32_t i = 0; i < simd_count(e, v); ++i) {
        const char *name = borg_format(e->arena, "v%d_%d", v->id, i);
        simd_line(e, "%s %s%s%s;", simd_type(v->type, simd_scalar(e, v)), name,
                  initial ? " = " : "", initial ? simd_reg(e, initial, i) : "");
        simd_name(e, v, i, name);
    }
}

static void emit_loop(simd *e, borg_inst *v) {
    borg_block *head = v->block[0], *body = v->block[1];
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next) declare(e, p, p->args[0]);
    simd_line(e, "for (;;) {");
    ++e->depth;
    emit_block(e, head);
    emit_block(e, body);
    borg_inst **next = body->last->args;
    int32_t at = 0, first = e->temps;
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next, ++at)
        for (int32_t i = 0; i < simd_count(e, p); ++i)
            simd_temp(e, p->type, simd_scalar(e, p), simd_reg(e, next[at], i));
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next)
        for (int32_t i = 0; i < simd_count(e, p); ++i)
            simd_line(e, "%s = t%d;", simd_reg(e, p, i), first++);
    --e->depth;
    simd_line(e, "}");
}

/* The RESULTs of an IF stand after it: their variables are declared before. */
static void emit_if(simd *e, borg_inst *v) {
    const borg_inst *yield = v->block[0]->last;
    const char ***names = BORG_NEW(e->arena, yield->nargs + 1, const char **);
    v->aux = names;
    for (int32_t k = 0; k < yield->nargs; ++k) {
        const borg_inst *x = yield->args[k];
        names[k] = BORG_NEW(e->arena, simd_count(e, x), const char *);
        for (int32_t i = 0; i < simd_count(e, x); ++i) {
            names[k][i] = borg_format(e->arena, "r%d_%d_%d", v->id, k, i);
            simd_line(e, "%s %s;", simd_type(x->type, simd_scalar(e, x)), names[k][i]);
        }
    }
    for (int32_t side = 0; side < 2; ++side) {
        simd_line(e, side ? "} else {" : "if (%s) {", side ? "" : simd_reg(e, v->args[0], 0));
        ++e->depth;
        emit_block(e, v->block[side]);
        yield = v->block[side]->last;
        for (int32_t k = 0; k < yield->nargs; ++k)
            for (int32_t i = 0; i < simd_count(e, yield->args[k]); ++i)
                simd_line(e, "%s = %s;", names[k][i], simd_reg(e, yield->args[k], i));
        --e->depth;
    }
    simd_line(e, "}");
}

static void emit_result(simd *e, borg_inst *v) {
    borg_inst *from = v->args[0];
    if (from->op == BORG_LOOP) {
        const borg_inst *p = from->block[0]->first;
        for (int32_t i = 0; i < v->index; ++i) p = p->next;
        v->aux = p->aux;
    } else {
        v->aux = ((const char ***)from->aux)[v->index];
    }
    (void)e;
}

static void emit_control(simd *e, borg_inst *v) {
    switch (v->op) {
    case BORG_LOOP:
        emit_loop(e, v);
        break;
    case BORG_IF:
        emit_if(e, v);
        break;
    case BORG_RESULT:
        emit_result(e, v);
        break;
    case BORG_WHILE:
        simd_line(e, "if (!(%s)) break;", simd_reg(e, v->args[0], 0));
        break;
    default:
        break; /* PHI, YIELD: the owner's work */
    }
}

static void emit_block(simd *e, borg_block *block) {
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
            simd_layout(e, v);
            break;
        case BORG_REDUCE:
            simd_reduce(e, v);
            break;
        case BORG_MEMORY:
            simd_memory(e, v);
            break;
        case BORG_CONTROL:
            emit_control(e, v);
            break;
        }
    }
}

/* ---- functions ---------------------------------------------------------------------------------
 */

static const char *parameter_type(const borg_param *p) {
    static const char *const types[][2] = {{"void", "void"},        {"uint8_t", "uint8_t"},
                                           {"int32_t", "uint32_t"}, {"int64_t", "uint64_t"},
                                           {"float", "float"},      {"double", "double"},
                                           {"void *", "void *"}};
    return types[p->type == BORG_PTR ? p->elem : p->type][p->uns];
}

static void put_parameters(simd *e, const borg_module *m, bool types) {
    for (int32_t i = 0; i < m->nparams; ++i) {
        const borg_param *p = &m->params[i];
        borg_put(e->out, ", ");
        if (types) {
            borg_put(e->out, "%s%s ", p->type == BORG_PTR && p->readonly ? "const " : "",
                     parameter_type(p));
            for (int32_t k = 0; k < (p->type == BORG_PTR ? p->depth : 0); ++k)
                borg_put(e->out, "*");
            if (p->type == BORG_PTR && p->restricted) borg_put(e->out, "restrict ");
        }
        borg_put(e->out, "p_%s", p->name);
    }
    borg_put(e->out, ")");
}

static void clear_block(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->aux = NULL;
        if (v->block[0]) clear_block(v->block[0]);
        if (v->block[1]) clear_block(v->block[1]);
    }
}

/* The groups' arrays. */
static void put_arrays(simd *e) {
    const borg_module *m = e->m;
    for (int32_t i = 0; i < m->nlocals; ++i) {
        const borg_local *d = &m->locals[i];
        simd_line(e, "%s%s l_%s[%d] __attribute__((aligned(64)));",
                  borg_local_on_stack(m, i) ? "" : "static __thread ", simd_type(d->elem, true),
                  d->name, m->pack * d->count);
        simd_line(e, "(void)l_%s;", d->name);
    }
}

static void emit_pack(simd *e, borg_module *m, const char *name) {
    e->m = m;
    e->apart = m->order == BORG_WI_MINOR && m->pack > 1 && 2 * m->size > e->lanes;
    borg_number(m);
    borg_count_uses(m);
    clear_block(m->body);
    simd_mark_addresses(e);
    borg_put(e->out, "static void %s_%d(int64_t g0", name, m->pack);
    put_parameters(e, m, true);
    borg_put(e->out, " {\n");
    e->depth = 1;
    put_arrays(e);
    emit_block(e, m->body);
    borg_put(e->out, "}\n\n");
}

static void emit_unit(simd *e, const borg_unit *u) {
    borg_put(e->out, "/* %s: %d work-items, %d groups at a time, %s */\n", u->module->name,
             u->module->size, u->module->pack,
             u->module->order == BORG_WG_MINOR ? "interleaved" : "one after the other");
    emit_pack(e, u->module, u->name);
    if (u->tail) emit_pack(e, u->tail, u->name);
    borg_put(e->out, "void %s(int64_t first, int64_t last", u->name);
    put_parameters(e, u->module, true);
    borg_put(e->out, ";\nvoid %s(int64_t first, int64_t last", u->name);
    put_parameters(e, u->module, true);
    borg_put(e->out, " {\n    int64_t g = first;\n");
    const borg_module *parts[] = {u->module, u->tail};
    for (int32_t i = 0; i < 2 && parts[i]; ++i) {
        int32_t pack = parts[i]->pack;
        borg_put(e->out, "    for (; g + %d <= last; g += %d) %s_%d(g", pack, pack, u->name, pack);
        put_parameters(e, parts[i], false);
        borg_put(e->out, ";\n");
    }
    borg_put(e->out, "}\n\n");
}

/* Doubles anywhere among the lanes: the widest type gives the number of lanes. */
static bool has_doubles(const borg_module *m, const borg_block *block) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        if (v->type == BORG_F64 && v->spread != BORG_UNI) return true;
        if (v->block[0] && has_doubles(m, v->block[0])) return true;
        if (v->block[1] && has_doubles(m, v->block[1])) return true;
    }
    return false;
}

borg_status simd_emit(const simd_target *target, const borg_unit *units, int32_t nunits,
                      const borg_options *options, borg_sink *sink) {
    simd e = {.target = target, .options = options, .out = sink, .arena = sink->arena};
    e.lanes = target->bytes / 4;
    for (int32_t i = 0; i < nunits; ++i)
        if (has_doubles(units[i].module, units[i].module->body)) e.lanes = target->bytes / 8;
    /* the files of several kernels may be put together: what is the same stands once */
    borg_put(sink, "/* Made by borgc. */\n#if !defined(BORG_LANES)\n#define BORG_LANES %d\n",
             e.lanes);
    const char *const text[] = {simd_head_text,   simd_type_text, target->header,
                                simd_scalar_text, target->masks,  simd_vector_text,
                                target->functions};
    for (size_t i = 0; i < sizeof text / sizeof *text; ++i)
        borg_put_text(sink, text[i], strlen(text[i]));
    borg_put(sink, "#elif BORG_LANES != %d\n#error \"other vectors\"\n#endif\n\n", e.lanes);
    for (int32_t i = 0; i < nunits; ++i) emit_unit(&e, &units[i]);
    return BORG_OK;
}
