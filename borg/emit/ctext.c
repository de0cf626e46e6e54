/* SPDX-License-Identifier: BSD-3-Clause */
/* C text that the backends for SIMD and for SIMT machines write alike. */
#include "borg/emit/ctext.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

void ctext_line(ctext *c, const char *format, ...) {
    va_list arguments;
    for (int32_t i = 0; i < c->depth; ++i) borg_put_text(c->out, "    ", 4);
    va_start(arguments, format);
    borg_vput(c->out, format, arguments);
    va_end(arguments);
    borg_put_text(c->out, "\n", 1);
}

void ctext_clear(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->aux = NULL;
        if (v->block[0]) ctext_clear(v->block[0]);
        if (v->block[1]) ctext_clear(v->block[1]);
    }
}

void ctext_name(ctext *c, borg_inst *v, int32_t i, const char *name) {
    if (!v->aux) v->aux = BORG_NEW(c->arena, c->count(c, v), const char *);
    ((const char **)v->aux)[i] = name;
}

const char *ctext_temp(ctext *c, const char *type, const char *expression) {
    const char *name = borg_format(c->arena, "t%d", c->temps++);
    ctext_line(c, "const %s %s = %s;", type, name, expression);
    return name;
}

static const char *parameter_type(const borg_param *p) {
    static const char *const types[][2] = {{"void", "void"},        {"uint8_t", "uint8_t"},
                                           {"int32_t", "uint32_t"}, {"int64_t", "uint64_t"},
                                           {"float", "float"},      {"double", "double"},
                                           {"void *", "void *"},    {"int8_t", "uint8_t"},
                                           {"int16_t", "uint16_t"}, {"uint16_t", "uint16_t"}};
    return types[p->type == BORG_PTR ? p->elem : p->type][p->uns];
}

void ctext_parameters(ctext *c, const borg_module *m, bool types) {
    for (int32_t i = 0; i < m->nparams; ++i) {
        const borg_param *p = &m->params[i];
        borg_put(c->out, ", ");
        if (types) {
            borg_put(c->out, "%s%s ", p->type == BORG_PTR && p->readonly ? "const " : "",
                     parameter_type(p));
            for (int32_t k = 0; k < (p->type == BORG_PTR ? p->depth : 0); ++k)
                borg_put(c->out, "*");
            if (p->type == BORG_PTR && p->restricted) borg_put(c->out, "restrict ");
        }
        borg_put(c->out, "p_%s", p->name);
    }
    borg_put(c->out, ")");
}

void ctext_param(ctext *c, const borg_module *m, borg_inst *v, const char *type) {
    const borg_param *p = &m->params[v->index];
    ctext_name(c, v, 0,
               v->type == BORG_PTR || borg_is_float(v->type)
                   ? borg_format(c->arena, "p_%s", p->name)
                   : borg_format(c->arena, "(%s)p_%s", type, p->name));
}

const ctext_literals ctext_c_literals = {
    .before = {"UINT32_C(", "UINT64_C("},
    .behind = {")", ")"},
    .nan = {"__builtin_nanf(\"\")", "__builtin_nan(\"\")"},
    .infinity = {"__builtin_inff()", "__builtin_inf()"},
};

const char *ctext_literal(const ctext *c, borg_type type, uint64_t bits) {
    const ctext_literals *t = c->literals;
    double x = 0;
    float f;
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case BORG_I1:
        return bits & 1 ? "1" : "0";
    case BORG_I32:
        return borg_format(c->arena, "%s%" PRIu32 "%s", t->before[0], low, t->behind[0]);
    case BORG_F32:
        memcpy(&f, &low, sizeof f);
        x = (double)f;
        break;
    case BORG_F64:
        memcpy(&x, &bits, sizeof x);
        break;
    default:
        return borg_format(c->arena, "%s%" PRIu64 "%s", t->before[1], bits, t->behind[1]);
    }
    bool wide = type == BORG_F64;
    if (isnan(x)) return t->nan[wide];
    if (isinf(x)) return borg_format(c->arena, "%s%s", x > 0 ? "" : "-", t->infinity[wide]);
    return borg_format(c->arena, wide ? "%a" : "%af", x);
}

/* ---- control --------------------------------------------------------------------------------- */

void ctext_phis(ctext *c, const borg_inst *v) {
    for (borg_inst *p = v->block[0]->first; p && p->op == BORG_PHI; p = p->next) {
        for (int32_t i = 0; i < c->count(c, p); ++i) {
            const char *name = borg_format(c->arena, "v%d_%d", p->id, i);
            ctext_line(c, "%s %s = %s;", c->type(c, p), name, c->part(c, p->args[0], i));
            ctext_name(c, p, i, name);
        }
    }
}

void ctext_loop(ctext *c, const borg_inst *v) {
    borg_block *head = v->block[0], *body = v->block[1];
    ctext_line(c, "for (;;) {");
    ++c->depth;
    c->block(c, head);
    c->block(c, body);
    borg_inst **next = body->last->args;
    int32_t first = c->temps, at = 0;
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next, ++at)
        for (int32_t i = 0; i < c->count(c, p); ++i)
            ctext_temp(c, c->type(c, p), c->part(c, next[at], i));
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next)
        for (int32_t i = 0; i < c->count(c, p); ++i)
            ctext_line(c, "%s = t%d;", c->part(c, p, i), first++);
    --c->depth;
    ctext_line(c, "}");
}

void ctext_results(ctext *c, borg_inst *v) {
    const borg_inst *yield = v->block[0]->last;
    const char ***names = BORG_NEW(c->arena, yield->nargs + 1, const char **);
    v->aux = names;
    for (int32_t k = 0; k < yield->nargs; ++k) {
        const borg_inst *x = yield->args[k];
        names[k] = BORG_NEW(c->arena, c->count(c, x), const char *);
        for (int32_t i = 0; i < c->count(c, x); ++i) {
            names[k][i] = borg_format(c->arena, "r%d_%d_%d", v->id, k, i);
            ctext_line(c, "%s %s;", c->type(c, x), names[k][i]);
        }
    }
}

void ctext_arm(ctext *c, const borg_inst *v, int32_t side) {
    const char ***names = v->aux;
    ctext_line(c, side ? "} else {" : "if (%s) {", side ? "" : c->part(c, v->args[0], 0));
    ++c->depth;
    c->block(c, v->block[side]);
    const borg_inst *yield = v->block[side]->last;
    for (int32_t k = 0; k < yield->nargs; ++k)
        for (int32_t i = 0; i < c->count(c, yield->args[k]); ++i)
            ctext_line(c, "%s = %s;", names[k][i], c->part(c, yield->args[k], i));
    --c->depth;
    if (side) ctext_line(c, "}");
}

/* A RESULT of a LOOP or an IF is another name for what that has left. */
static void result(ctext *c, borg_inst *v) {
    const borg_inst *from = v->args[0];
    const char **names;
    if (from->op == BORG_LOOP) {
        const borg_inst *p = from->block[0]->first;
        for (int32_t i = 0; i < v->index; ++i) p = p->next;
        names = p->aux;
    } else {
        names = ((const char ***)from->aux)[v->index];
    }
    for (int32_t i = 0; i < c->count(c, v); ++i) ctext_name(c, v, i, names[i]);
}

void ctext_control(ctext *c, borg_inst *v) {
    switch (v->op) {
    case BORG_LOOP:
        c->loop(c, v);
        break;
    case BORG_IF:
        c->branch(c, v);
        break;
    case BORG_RESULT:
        result(c, v);
        break;
    case BORG_WHILE:
        ctext_line(c, "if (!(%s)) break;", c->part(c, v->args[0], 0));
        break;
    default:
        break; /* PHI and YIELD are written with the LOOP or IF that they belong to */
    }
}
