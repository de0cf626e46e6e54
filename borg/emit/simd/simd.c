/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk over a module, and the functions of a file. */
#include "borg/emit/simd/simd.h"
#include "borg/emit/simd/leaves.h"
#include "borg/passes.h"
#include <string.h>

/* ---- control --------------------------------------------------------------------------------- */

static void emit_loop(ctext *c, borg_inst *v) {
    ctext_phis(c, v);
    ctext_loop(c, v);
}

static void emit_if(ctext *c, borg_inst *v) {
    ctext_results(c, v);
    ctext_arm(c, v, 0);
    ctext_arm(c, v, 1);
}

/* Elementwise instructions that follow each other. In a flat module of three registers or more some
 * are done for one register after the other: compilers keep the order for the most part, and what
 * the instructions in between need is there for one register at a time. FRCG with three has a third
 * fewer spills and takes 0.89 to 0.99 of the time; PADE with two, which waits for memory, takes
 * 1.01 to 1.08 times as long so. */
enum { FEW = 3 };

typedef struct run {
    borg_inst *of[16];
    int32_t count;
} run;

static void end_run(simd *e, run *r) {
    for (int32_t i = 0; r->count > 0 && i < simd_count(e, r->of[0]); ++i)
        for (int32_t k = 0; k < r->count; ++k) simd_elem(e, r->of[k], i);
    r->count = 0;
}

static void add_to_run(simd *e, run *r, borg_inst *v) {
    const int32_t most = (int32_t)(sizeof r->of / sizeof *r->of);
    if (r->count == most || (r->count > 0 && simd_count(e, r->of[0]) != simd_count(e, v)))
        end_run(e, r);
    r->of[r->count++] = v;
    if (!e->m->flat || simd_count(e, v) < FEW) end_run(e, r);
}

static void emit_block(ctext *c, borg_block *block) {
    simd *e = (simd *)c;
    run r = {.count = 0};
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->uses == 0 && borg_is_pure(v)) continue;
        const borg_class class = borg_op_table[v->op].class;
        if (class == BORG_ELEM || class == BORG_CONVERT) {
            add_to_run(e, &r, v);
            continue;
        }
        if (v->op != BORG_CONST) end_run(e, &r);
        switch (class) {
        case BORG_LEAF:
            simd_leaf(e, v);
            break;
        case BORG_ELEM:
        case BORG_CONVERT:
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
            ctext_control(c, v);
            break;
        }
    }
    end_run(e, &r);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The groups' arrays. */
static void put_arrays(simd *e) {
    const borg_module *m = e->m;
    for (int32_t i = 0; i < m->nlocals; ++i) {
        const borg_local *d = &m->locals[i];
        ctext_line(&e->c, "%s%s l_%s[%d] __attribute__((aligned(64)));",
                   borg_local_on_stack(m, i) ? "" : "static __thread ", simd_type(d->elem, true),
                   d->name, m->pack * d->count);
        ctext_line(&e->c, "(void)l_%s;", d->name);
    }
}

static bool any_past(const simd *e, const borg_block *block) {
    bool found = false;
    for (const borg_inst *v = block->first; v && !found; v = v->next)
        found = simd_past_caches(e, v) || (v->block[0] && any_past(e, v->block[0])) ||
                (v->block[1] && any_past(e, v->block[1]));
    return found;
}

/* Whether stores of this module may go past the caches. */
static bool goes_past(simd *e, borg_module *m) {
    e->m = m;
    return any_past(e, m->body);
}

static void find_written(simd *e, const borg_block *block) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        for (int32_t k = 0; k < 2; ++k)
            if (v->block[k]) find_written(e, v->block[k]);
        if (v->op != BORG_LOAD && v->op != BORG_LOADA) continue;
        const borg_inst *p = v->args[0];
        while (p->op != BORG_PARAM && p->nargs > 0) p = p->args[0];
        if (p->op == BORG_PARAM) e->only_written[p->index] = false;
    }
}

static void plan_stores(simd *e, const borg_unit *u) {
    const char *list = e->options->nontemporal;
    e->past = !e->target->nontemporal              ? SIMD_NEVER
              : !list || strcmp(list, "auto") == 0 ? SIMD_WHERE_FAR
              : strcmp(list, "never") == 0         ? SIMD_NEVER
                                                   : SIMD_NAMED;
    e->only_written = BORG_NEW(e->arena, u->module->nparams + 1, bool);
    for (int32_t i = 0; i < u->module->nparams; ++i) {
        const borg_param *p = &u->module->params[i];
        e->only_written[i] = p->type == BORG_PTR && p->depth == 1 && !p->readonly;
    }
    find_written(e, u->module->body);
}

static void emit_pack(simd *e, borg_module *m, const char *name, const char *suffix) {
    const bool past = goes_past(e, m);
    e->apart = m->order == BORG_WI_MINOR && m->pack > 1 && 2 * m->size > e->lanes;
    borg_number(m);
    borg_count_uses(m);
    ctext_clear(m->body);
    simd_mark_addresses(e);
    simd_skip_indices(e);
    borg_put(e->c.out, "static void %s_%s(int64_t g0", name, suffix);
    if (past) borg_put(e->c.out, ", uintptr_t b_past");
    ctext_parameters(&e->c, m, true);
    borg_put(e->c.out, " {\n");
    e->c.depth = 1;
    if (past) ctext_line(&e->c, "(void)b_past;");
    put_arrays(e);
    emit_block(&e->c, m->body);
    borg_put(e->c.out, "}\n\n");
}

static const char *number(simd *e, int32_t n) {
    return borg_format(e->arena, "%d", n);
}

static int32_t common_divisor(int32_t x, int32_t y) {
    return y ? common_divisor(y, x % y) : x;
}

/* The groups that have whole registers of elements together, g behind them. */
static void call_flat(simd *e, const borg_unit *u) {
    const borg_module *m = u->flat;
    const int32_t groups = m->size / common_divisor(m->size, m->flat);
    borg_put(e->c.out, "    if (g < last) g = last - (last - g) %% %d;\n", groups);
    borg_put(e->c.out, "    for (int64_t i = first * %d; i < g * %d; i += %d) %s_flat(i%s", m->flat,
             m->flat, m->size, u->name, goes_past(e, u->flat) ? ", b_past" : "");
    ctext_parameters(&e->c, m, false);
    borg_put(e->c.out, ";\n");
}

static void put_nontemporal(simd *e) {
    borg_put(e->c.out, "#if !defined(BORG_NONTEMPORAL)\n#define BORG_NONTEMPORAL\n%s#endif\n\n",
             e->target->nontemporal);
}

/* The bits of an address that are zero where a store may go past the caches: those in a line, or
 * all. */
static void put_past(simd *e, const borg_unit *u) {
    if (e->past == SIMD_NAMED)
        borg_put(e->c.out, "    const uintptr_t b_past = 63;\n");
    else
        borg_put(e->c.out,
                 "    const uintptr_t b_past = (double)(last - first) * %.0f > BORG_FAR ? 63 : "
                 "~(uintptr_t)0;\n",
                 borg_bytes_of_group(u->module));
}

static void emit_unit(simd *e, const borg_unit *u) {
    borg_module *parts[] = {u->module, u->tail};
    plan_stores(e, u);
    const bool past = (u->flat && goes_past(e, u->flat)) || goes_past(e, u->module) ||
                      (u->tail && goes_past(e, u->tail));
    if (past) put_nontemporal(e);
    borg_put(e->c.out, "/* %s: %d work-items, %d groups at a time, %s */\n", u->module->name,
             u->module->size, u->module->pack,
             u->module->order == BORG_WG_MINOR ? "interleaved" : "one after the other");
    if (u->flat) borg_put(e->c.out, "/* flat: %d elements at a time */\n", u->flat->size);
    if (u->flat) emit_pack(e, u->flat, u->name, "flat");
    emit_pack(e, u->module, u->name, number(e, u->module->pack));
    if (u->tail) emit_pack(e, u->tail, u->name, number(e, u->tail->pack));
    borg_put(e->c.out, "void %s(int64_t first, int64_t last", u->name);
    ctext_parameters(&e->c, u->module, true);
    borg_put(e->c.out, ";\nvoid %s(int64_t first, int64_t last", u->name);
    ctext_parameters(&e->c, u->module, true);
    borg_put(e->c.out, " {\n    int64_t g = first;\n");
    if (past) put_past(e, u);
    if (u->flat) call_flat(e, u);
    for (int32_t i = 0; i < 2 && parts[i]; ++i) {
        int32_t pack = parts[i]->pack;
        borg_put(e->c.out, "    for (; g + %d <= last; g += %d) %s_%d(g%s", pack, pack, u->name,
                 pack, goes_past(e, parts[i]) ? ", b_past" : "");
        ctext_parameters(&e->c, parts[i], false);
        borg_put(e->c.out, ";\n");
    }
    if (past && e->past == SIMD_NAMED) borg_put(e->c.out, "    b_streamed();\n");
    if (past && e->past == SIMD_WHERE_FAR)
        borg_put(e->c.out, "    if (b_past == 63) b_streamed();\n");
    borg_put(e->c.out, "}\n\n");
}

/* In a part of its own: files with and without it may be put together. */
static void put_reciprocals(simd *e, const borg_unit *units, int32_t nunits) {
    bool wanted = false;
    for (int32_t i = 0; i < nunits; ++i)
        wanted |= units[i].module->fast_rcp || (units[i].tail && units[i].tail->fast_rcp);
    if (!wanted || !e->target->reciprocals) return;
    borg_put(e->c.out, "#if !defined(BORG_RECIPROCALS)\n#define BORG_RECIPROCALS\n%s#endif\n\n",
             e->target->reciprocals);
}

static int32_t count_of(const ctext *c, const borg_inst *v) {
    return simd_count((const simd *)c, v);
}

static const char *type_of(const ctext *c, const borg_inst *v) {
    return simd_type(v->type, simd_scalar((const simd *)c, v));
}

static const char *part_of(const ctext *c, const borg_inst *v, int32_t i) {
    return simd_reg((const simd *)c, v, i);
}

borg_status simd_emit(const simd_target *target, const borg_unit *units, int32_t nunits,
                      const borg_options *options, borg_sink *sink) {
    simd e = {.c = {.arena = sink->arena,
                    .out = sink,
                    .literals = &ctext_c_literals,
                    .count = count_of,
                    .type = type_of,
                    .part = part_of,
                    .block = emit_block,
                    .loop = emit_loop,
                    .branch = emit_if},
              .target = target,
              .options = options,
              .arena = sink->arena};
    e.lanes = target->bytes / 4;
    for (int32_t i = 0; i < nunits; ++i)
        if (borg_has_doubles(units[i].module->body)) e.lanes = target->bytes / 8;
    /* the files of several kernels may be put together: what is the same stands once */
    borg_put(sink, "/* Made by borgc. */\n#if !defined(BORG_LANES)\n#define BORG_LANES %d\n",
             e.lanes);
    const char *const text[] = {simd_head_text,   simd_type_text, target->header,
                                simd_scalar_text, target->masks,  simd_vector_text,
                                target->functions};
    for (size_t i = 0; i < sizeof text / sizeof *text; ++i)
        borg_put_text(sink, text[i], strlen(text[i]));
    borg_put(sink, "#elif BORG_LANES != %d\n#error \"other vectors\"\n#endif\n\n", e.lanes);
    put_reciprocals(&e, units, nunits);
    for (int32_t i = 0; i < nunits; ++i) emit_unit(&e, &units[i]);
    return BORG_OK;
}
