/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel: its parameters, then its body. */
#include "borg/lower/leaves.h"
#include "borg/lower/walk.h"
#include <stdlib.h>
#include <string.h>

/* What --set says of an integer parameter: false if nothing. */
static bool set_to(const borg_options *options, const borg_param *p, uint64_t *bits) {
    size_t length = strlen(p->name);
    for (const char *const *s = options->set; s && *s; ++s) {
        if (strncmp(*s, p->name, length) != 0 || (*s)[length] != '=') continue;
        *bits = (uint64_t)strtoll(*s + length + 1, NULL, 0);
        if (p->type == BORG_I32) *bits = (uint32_t)*bits;
        return borg_is_int(p->type);
    }
    return false;
}

static bool holds(const borg_param *p, int64_t value) {
    if (p->type == BORG_I64) return !p->uns || value >= 0;
    return p->uns ? value >= 0 && value <= UINT32_MAX : value >= INT32_MIN && value <= INT32_MAX;
}

void borg_params_of(const borg_function *kernel, borg_module *m) {
    int32_t i = 0;
    m->nparams = 0;
    for (const borg_decl *d = kernel->params; d; d = d->next) ++m->nparams;
    m->params = BORG_NEW(m->arena, m->nparams, borg_param);
    for (const borg_decl *d = kernel->params; d; d = d->next) {
        borg_param *p = &m->params[i++];
        p->name = d->name;
        p->type = d->depth ? BORG_PTR : borg_ctype_ir(d->type);
        p->elem = d->depth ? borg_ctype_memory(d->type) : BORG_VOID;
        p->uns = d->type == BORG_C_UINT || d->type == BORG_C_ULONG ||
                 (d->depth && (d->type == BORG_C_UCHAR || d->type == BORG_C_USHORT));
        p->depth = d->depth;
        p->readonly = d->depth && d->constant;
        p->restricted = d->restricted;
    }
}

static void make_params(borg_lowerer *l) {
    borg_module *m = l->m;
    uint64_t bits;
    borg_params_of(l->kernel, m);
    l->params = BORG_NEW(l->arena, m->nparams, borg_inst *);
    int32_t i = 0;
    for (const borg_decl *d = l->kernel->params; d; d = d->next, ++i) {
        const borg_param *p = &m->params[i];
        if (d->depth) continue;
        borg_inst *v;
        if (set_to(l->options, p, &bits)) {
            v = borg_lower_const(l, p->type, bits);
        } else {
            v = borg_emit(&l->b, BORG_PARAM, p->type, BORG_UNI, 1, 0);
            v->index = i;
        }
        if (borg_ctype_narrow(d->type)) /* it comes as an int, a float */
            v = borg_lower_convert(l, v, d->type == BORG_C_HALF ? BORG_C_FLOAT : BORG_C_INT,
                                   d->type);
        l->params[i] = v;
        *borg_lower_cell(l, d, 0) = (borg_cell){v, 0};
    }
    for (const char *const *s = l->options->set; s && *s; ++s) {
        bool found = false;
        for (i = 0; i < m->nparams; ++i) {
            const borg_param *p = &m->params[i];
            size_t length = strlen(p->name);
            if (!borg_is_int(p->type) || strncmp(*s, p->name, length) != 0 || (*s)[length] != '=')
                continue;
            found = true;
            if (!holds(p, strtoll(*s + length + 1, NULL, 0)))
                borg_report(l->diags, BORG_ERROR, l->kernel->loc,
                            "'%s' of '%s' is an integer that cannot be set to this: %s", p->name,
                            l->kernel->name, *s);
        }
        if (!found)
            borg_report(l->diags, BORG_ERROR, l->kernel->loc,
                        "'%s' has no integer parameter to set: %s", l->kernel->name, *s);
    }
}

borg_module *borg_lower(const borg_function *kernel, borg_arena *arena, const borg_options *options,
                        int32_t pack, borg_order order, borg_plan *plan, borg_diags *diags) {
    borg_lowerer *l = BORG_NEW(arena, 1, borg_lowerer);
    int32_t errors = diags->errors;
    l->arena = arena;
    l->m = borg_module_new(arena, kernel->name, options->size, pack, order);
    l->m->strict = options->strict;
    l->m->fast_rcp = options->fast_rcp;
    l->b = (borg_builder){.module = l->m, .block = l->m->body};
    l->options = options;
    l->kernel = kernel;
    l->alias = BORG_NEW(arena, kernel->numbers + 1, const borg_decl *);
    l->diags = diags;
    l->plan = plan;
    l->budget = options->unroll_budget > 0 ? options->unroll_budget : 200000;
    make_params(l);
    borg_lower_stmt(l, kernel->body);
    return diags->errors == errors ? l->m : NULL;
}
