/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend `llvm`: leaves, control and functions. */
#include "borg/emit/llvm/llvm.h"
#include <inttypes.h>
#include <string.h>

/* ---- leaves ---------------------------------------------------------------------------------- */

/* The groups' arrays lie one after the other, on the stack or in storage of the thread. What finds
 * a thread's storage may change any register, and LLVM up to 16 believes that zmm16 to zmm31 are
 * kept: so it is a function of its own, which is never inlined. */
static const char *array_name(const ll *e, int32_t i) {
    const char *name = e->m->locals[i].name;
    return borg_local_on_stack(e->m, i)
               ? borg_format(e->arena, "%%l_%s", name)
               : borg_format(e->arena, "@%s.%d.l_%s", e->function, e->m->pack, name);
}

static void put_arrays(ll *e, bool on_stack) {
    for (int32_t i = 0; i < e->m->nlocals; ++i) {
        const borg_local *d = &e->m->locals[i];
        const char *type = ll_type(e, d->elem, 1);
        if (borg_local_on_stack(e->m, i) != on_stack) continue;
        if (on_stack) {
            ll_line(e, "%s = alloca [%d x %s], align 64", array_name(e, i), e->m->pack * d->count,
                    type);
        } else {
            borg_put(e->out,
                     "%s = internal thread_local global [%d x %s] zeroinitializer, align 64\n"
                     "define internal ptr %s.own() noinline optnone {\n  ret ptr %s\n}\n",
                     array_name(e, i), e->m->pack * d->count, type, array_name(e, i),
                     array_name(e, i));
        }
    }
}

static void emit_leaf(ll *e, borg_inst *v) {
    int32_t items = ll_items(e, v->spread), groups = ll_groups(e, v->spread),
            lanes = items * groups;
    uint64_t *bits = BORG_NEW(e->arena, lanes, uint64_t);
    if (v->op == BORG_PARAM || v->op == BORG_G0) {
        ll_name(e, v, 0,
                v->op == BORG_G0 ? "%g0"
                                 : borg_format(e->arena, "%%p_%s", e->m->params[v->index].name));
        return;
    }
    if (v->op == BORG_LOCAL) {
        const borg_local *d = &e->m->locals[v->index];
        const char *first = array_name(e, v->index);
        if (!borg_local_on_stack(e->m, v->index)) first = ll_let(e, "call ptr %s.own()", first);
        for (int32_t g = 0; g < groups; ++g) bits[g] = (uint64_t)g * (uint64_t)d->count;
        ll_name(e, v, 0,
                ll_let(e, "getelementptr %s, ptr %s, %s %s", ll_type(e, d->elem, 1), first,
                       ll_type(e, BORG_I64, lanes), ll_constant(e, BORG_I64, bits, lanes)));
        return;
    }
    for (int32_t r = 0; r < v->rows; ++r) {
        for (int32_t w = 0; w < items; ++w)
            for (int32_t g = 0; g < groups; ++g)
                bits[ll_number(e, w, g, items)] = v->op == BORG_CONST
                                                      ? borg_const_bits(e->m, v, r, w)
                                                  : v->op == BORG_LID ? (uint64_t)w
                                                                      : (uint64_t)g;
        const char *text = ll_constant(e, v->type, bits, lanes);
        if (v->op == BORG_GID)
            text = ll_let(e, "add %s %s, %s", ll_type(e, BORG_I64, lanes),
                          ll_spread(e, BORG_I64, "%g0", lanes), text);
        ll_name(e, v, r, text);
    }
}

/* ---- control --------------------------------------------------------------------------------- */

static void emit_block(ll *e, borg_block *block);

static void begin(ll *e, const char *label) {
    borg_put(e->out, "%s:\n", label);
    e->label = label;
}

static const char *new_label(ll *e, const char *what) {
    return borg_format(e->arena, "%s%d", what, e->labels++);
}

/* The phis at the head of a loop name values of its body, so the body is written first, to a text
 * of its own. */
static void emit_loop(ll *e, borg_inst *v) {
    borg_block *head = v->block[0], *body = v->block[1];
    borg_sink *out = e->out, inner = {.arena = e->arena};
    const char *before = e->label, *top = new_label(e, "head"), *inside = new_label(e, "body");
    const char *after = new_label(e, "after");
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next)
        for (int32_t r = 0; r < p->rows; ++r)
            ll_name(e, p, r, borg_format(e->arena, "%%v%d_%d", p->id, r));
    ll_line(e, "br label %%%s", top);
    e->out = &inner;
    e->label = top;
    emit_block(e, head);
    ll_line(e, "br i1 %s, label %%%s, label %%%s", ll_get(head->last->args[0], 0), inside, after);
    begin(e, inside);
    emit_block(e, body);
    ll_line(e, "br label %%%s", top);
    const char *last = e->label;
    e->out = out;
    begin(e, top);
    borg_inst **next = body->last->args;
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next, ++next)
        for (int32_t r = 0; r < p->rows; ++r)
            ll_line(e, "%s = phi %s [%s, %%%s], [%s, %%%s]", ll_get(p, r),
                    ll_type(e, p->type, ll_lanes(e, p)), ll_get(p->args[0], r), before,
                    ll_get(*next, r), last);
    borg_put_text(e->out, inner.text, inner.length);
    begin(e, after);
}

static void emit_if(ll *e, borg_inst *v) {
    const char *side[2] = {new_label(e, "then"), new_label(e, "else")}, *last[2];
    const char *after = new_label(e, "after");
    ll_line(e, "br i1 %s, label %%%s, label %%%s", ll_get(v->args[0], 0), side[0], side[1]);
    for (int i = 0; i < 2; ++i) {
        begin(e, side[i]);
        emit_block(e, v->block[i]);
        ll_line(e, "br label %%%s", after);
        last[i] = e->label;
    }
    begin(e, after);
    const borg_inst *then = v->block[0]->last, *other = v->block[1]->last;
    const char ***names = BORG_NEW(e->arena, then->nargs + 1, const char **);
    v->aux = names;
    for (int32_t k = 0; k < then->nargs; ++k) {
        const borg_inst *x = then->args[k];
        names[k] = BORG_NEW(e->arena, x->rows, const char *);
        for (int32_t r = 0; r < x->rows; ++r)
            names[k][r] =
                ll_let(e, "phi %s [%s, %%%s], [%s, %%%s]", ll_type(e, x->type, ll_lanes(e, x)),
                       ll_get(x, r), last[0], ll_get(other->args[k], r), last[1]);
    }
}

static void emit_result(ll *e, borg_inst *v) {
    borg_inst *from = v->args[0];
    (void)e;
    if (from->op == BORG_LOOP) {
        const borg_inst *p = from->block[0]->first;
        for (int32_t i = 0; i < v->index; ++i) p = p->next;
        v->aux = p->aux;
    } else {
        v->aux = ((const char ***)from->aux)[v->index];
    }
}

static void emit_control(ll *e, borg_inst *v) {
    if (v->op == BORG_LOOP) emit_loop(e, v);
    if (v->op == BORG_IF) emit_if(e, v);
    if (v->op == BORG_RESULT) emit_result(e, v);
}

static void emit_block(ll *e, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->uses == 0 && borg_is_pure(v)) continue;
        switch (borg_op_table[v->op].class) {
        case BORG_LEAF:
            emit_leaf(e, v);
            break;
        case BORG_ELEM:
        case BORG_CONVERT:
            ll_elem(e, v);
            break;
        case BORG_LAYOUT:
            ll_layout(e, v);
            break;
        case BORG_REDUCE:
            ll_reduce(e, v);
            break;
        case BORG_MEMORY:
            ll_memory(e, v);
            break;
        case BORG_CONTROL:
            emit_control(e, v);
            break;
        }
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static void put_parameters(ll *e, const borg_module *m, bool declares) {
    for (int32_t i = 0; i < m->nparams; ++i) {
        const borg_param *p = &m->params[i];
        bool restricted = declares && p->type == BORG_PTR && p->restricted;
        borg_put(e->out, ", %s %s%%p_%s", ll_type(e, p->type, 1), restricted ? "noalias " : "",
                 p->name);
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

static void emit_pack(ll *e, borg_module *m, const char *name) {
    e->m = m;
    e->temps = e->labels = 0;
    borg_number(m);
    borg_count_uses(m);
    clear_block(m->body);
    e->function = name;
    put_arrays(e, false);
    borg_put(e->out, "define internal void @%s.%d(i64 %%g0", name, m->pack);
    put_parameters(e, m, true);
    borg_put(e->out, " {\n");
    begin(e, "entry");
    ll_line(e, "%%nowhere = alloca i64");
    put_arrays(e, true);
    emit_block(e, m->body);
    ll_line(e, "ret void");
    borg_put(e->out, "}\n\n");
}

/* Full packs from `first` on, then single groups. */
static void emit_function(ll *e, const borg_unit *u) {
    const borg_module *parts[] = {u->module, u->tail};
    borg_put(e->out, "define void @%s(i64 %%first, i64 %%last", u->name);
    put_parameters(e, u->module, true);
    borg_put(e->out, " {\nentry:\n  br label %%head0\n");
    for (int i = 0; i < 2 && parts[i]; ++i) {
        const char *from = i ? "%g0" : "%first", *before = i ? "head0" : "entry";
        borg_put(e->out, "head%d:\n  %%g%d = phi i64 [%s, %%%s], [%%n%d, %%body%d]\n", i, i, from,
                 before, i, i);
        borg_put(e->out, "  %%n%d = add i64 %%g%d, %d\n  %%c%d = icmp sle i64 %%n%d, %%last\n", i,
                 i, parts[i]->pack, i, i);
        borg_put(e->out, "  br i1 %%c%d, label %%body%d, label %%%s\n", i, i,
                 i == 0 && parts[1] ? "head1" : "done");
        borg_put(e->out, "body%d:\n  call void @%s.%d(i64 %%g%d", i, u->name, parts[i]->pack, i);
        put_parameters(e, parts[i], false);
        borg_put(e->out, "\n  br label %%head%d\n", i);
    }
    borg_put(e->out, "done:\n  ret void\n}\n\n");
}

static borg_status emit(const borg_unit *units, int32_t nunits, const borg_options *options,
                        borg_sink *sink, borg_diags *diags) {
    ll e = {.out = sink, .arena = sink->arena};
    (void)diags, (void)options;
    borg_put(sink, "; Made by borgc.\n@borg.zero = internal constant i64 0\n\n");
    for (int32_t i = 0; i < nunits; ++i) {
        emit_pack(&e, units[i].module, units[i].name);
        if (units[i].tail) emit_pack(&e, units[i].tail, units[i].name);
        emit_function(&e, &units[i]);
    }
    for (size_t i = 0; i < e.ndeclared; ++i)
        borg_put_text(sink, e.declared[i], strlen(e.declared[i]));
    return BORG_OK;
}

const borg_backend borg_backend_llvm = {
    .name = "llvm",
    .summary = "LLVM IR as text: any vector machine that llc knows",
    .suffix = ".ll",
    .machine =
        {.vector_bytes = 64, .registers = 32, .perm_cost = 1, .gather_cost = 2, .code = 4000},
    .takes = BORG_TAKES_ORDER | BORG_TAKES_WHOLE,
    .emit = emit,
};
