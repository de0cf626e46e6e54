/* SPDX-License-Identifier: BSD-3-Clause */
/* From a module to stages, ports and nets; which nets are needed where. */
#include "borg/spatial/pipeline.h"
#include <string.h>

typedef struct builder {
    borg_module *m;
    borg_pipeline *p;
    borg_diags *diags;
    const borg_unit_cost *costs;
    size_t nets, stages, accesses, controls; /* capacities */
    bool failed;
} builder;

static int32_t items(const borg_module *m, const borg_inst *v) {
    return v->spread == BORG_WI ? m->size : 1;
}

static int32_t groups(const borg_module *m, const borg_inst *v) {
    return v->spread == BORG_UNI ? 1 : m->pack;
}

/* inst->aux: the nets of its lanes, in the order (row, work-item, group). */
static int32_t *net_of(const borg_module *m, const borg_inst *v, int32_t r, int32_t w, int32_t g) {
    const int32_t nw = items(m, v), ng = groups(m, v);
    return (int32_t *)v->aux + ((int64_t)r * nw + (nw == 1 ? 0 : w)) * ng + (ng == 1 ? 0 : g);
}

static void refuse(builder *b, const borg_inst *v, const char *reason) {
    borg_report(b->diags, BORG_ERROR, v->loc, "no pipeline: %s", reason);
    b->failed = true;
}

static int32_t new_net(builder *b, const borg_inst *v, int32_t lane, borg_net_kind kind) {
    borg_pipeline *p = b->p;
    p->net = borg_grow(b->m->arena, p->net, (size_t)p->nnets + 1, &b->nets, sizeof *p->net);
    p->net[p->nnets] = (borg_net){
        .inst = v, .lane = lane, .kind = kind, .stage = -1, .born = p->nstages, .dies = -1};
    return p->nnets++;
}

/* ---- what an instruction is ------------------------------------------------------------------ */

static bool is_data(const builder *b, const borg_inst *v) {
    const int32_t lanes = borg_lanes(b->m, v);
    for (int32_t l = 0; l < lanes; ++l)
        if (b->p->net[((int32_t *)v->aux)[l]].kind == BORG_NET_DATA) return true;
    return false;
}

static bool any_data(const builder *b, const borg_inst *v) {
    for (int32_t i = 0; i < v->nargs; ++i)
        if (is_data(b, v->args[i])) return true;
    return false;
}

static enum borg_unit_kind float_kind(const borg_inst *v, borg_type type) {
    const bool wide = type == BORG_F64;
    switch (v->op) {
    case BORG_FADD:
    case BORG_FSUB:
    case BORG_RSUM:
        return wide ? BORG_UNIT_add_f64 : BORG_UNIT_add_f32;
    case BORG_FMUL:
        return wide ? BORG_UNIT_mul_f64 : BORG_UNIT_mul_f32;
    case BORG_FDIV:
    case BORG_RCP:
        return wide ? BORG_UNIT_div_f64 : BORG_UNIT_div_f32;
    case BORG_SQRT:
        return wide ? BORG_UNIT_sqrt_f64 : BORG_UNIT_sqrt_f32;
    case BORG_FMA:
        return wide ? BORG_UNIT_fma_f64 : BORG_UNIT_fma_f32;
    case BORG_FNEG:
    case BORG_FABS:
    case BORG_MAGNITUDE:
        return BORG_UNIT_sign;
    case BORG_SELECT:
        return BORG_UNIT_select;
    default:
        return wide ? BORG_UNIT_cmp_f64 : BORG_UNIT_cmp_f32;
    }
}

static enum borg_unit_kind unit_kind(const borg_inst *v) {
    const borg_type from = v->args[v->op == BORG_SELECT ? 1 : 0]->type;
    if (v->op == BORG_LOAD || v->op == BORG_LOADA) return BORG_UNIT_load;
    if (borg_op_table[v->op].class == BORG_CONVERT && v->op != BORG_MAGNITUDE)
        return v->op == BORG_ZEXT || v->op == BORG_SEXT || v->op == BORG_TRUNC ? BORG_UNIT_sign
                                                                               : BORG_UNIT_convert;
    if (borg_is_float(from)) return float_kind(v, from);
    switch (v->op) {
    case BORG_ADD:
    case BORG_SUB:
    case BORG_NEG:
    case BORG_ABS:
        return BORG_UNIT_add_int;
    case BORG_RSUM:
        return from == BORG_I1 ? BORG_UNIT_logic : BORG_UNIT_add_int;
    case BORG_MUL:
        return BORG_UNIT_mul_int;
    case BORG_SDIV:
    case BORG_UDIV:
    case BORG_SREM:
    case BORG_UREM:
        return BORG_UNIT_div_int;
    case BORG_SHL:
    case BORG_LSHR:
    case BORG_ASHR:
        return BORG_UNIT_shift;
    case BORG_SELECT:
        return BORG_UNIT_select;
    case BORG_ICMP:
    case BORG_SMIN:
    case BORG_SMAX:
    case BORG_UMIN:
    case BORG_UMAX:
    case BORG_RMAX:
    case BORG_RMIN:
    case BORG_RMAXIDX:
        return BORG_UNIT_cmp_int;
    default:
        return BORG_UNIT_logic;
    }
}

/* ---- wiring ---------------------------------------------------------------------------------- */

static int32_t source(builder *b, const borg_inst *v, int32_t r, int32_t w, int32_t g) {
    const borg_module *m = b->m;
    const borg_inst *x = v->args[0];
    const int32_t *map = v->map;
    switch (v->op) {
    case BORG_BCAST:
        return *net_of(m, x, r, w, g);
    case BORG_ROWS:
        return *net_of(m, v->args[r], map[r], w, g);
    case BORG_PERM:
        map += 2 * (r * m->size + w);
        return *net_of(m, x, map[0], map[1], g);
    case BORG_LANE:
        return *net_of(m, x, map[2 * r], map[2 * r + 1], g);
    default: { /* SHUFV, PICKV: their index must be known now */
        const borg_net *index =
            &b->p->net[*net_of(m, v->args[1], v->op == BORG_PICKV ? 0 : r, w, g)];
        const uint64_t most = (uint64_t)(v->op == BORG_SHUFV ? m->size : x->rows);
        if (index->kind != BORG_NET_CONST || index->bits >= most) {
            refuse(b, v,
                   v->op == BORG_SHUFV
                       ? "a shuffle by an index that is known at run time alone"
                       : "a choice of array elements by an index that is known at run time alone");
            return 0;
        }
        return v->op == BORG_SHUFV ? *net_of(m, x, r, (int32_t)index->bits, g)
                                   : *net_of(m, x, (int32_t)index->bits, w, g);
    }
    }
}

static void wire(builder *b, borg_inst *v) {
    const borg_module *m = b->m;
    for (int32_t r = 0; r < v->rows && !b->failed; ++r)
        for (int32_t w = 0; w < items(m, v); ++w)
            for (int32_t g = 0; g < groups(m, v); ++g)
                *net_of(m, v, r, w, g) = source(b, v, r, w, g);
}

/* A selection by constants is wiring, too: the masks of a triangle, for one. */
static bool wire_select(const builder *b, borg_inst *v) {
    const int32_t lanes = borg_lanes(b->m, v);
    const int32_t *c = v->args[0]->aux, *x = v->args[1]->aux, *y = v->args[2]->aux;
    for (int32_t l = 0; l < lanes; ++l)
        if (b->p->net[c[l]].kind != BORG_NET_CONST) return false;
    for (int32_t l = 0; l < lanes; ++l) ((int32_t *)v->aux)[l] = b->p->net[c[l]].bits ? x[l] : y[l];
    return true;
}

/* Sums and votes over one lane. */
static bool wire_reduction(const builder *b, borg_inst *v) {
    const borg_inst *x = v->args[0];
    const int32_t lanes = borg_lanes(b->m, v);
    if (borg_op_table[v->op].class != BORG_REDUCE || borg_lanes(b->m, x) != lanes) return false;
    if (v->op == BORG_RMAX || v->op == BORG_RMIN || v->op == BORG_RMAXIDX) return false; /* NaN */
    memcpy(v->aux, x->aux, (size_t)lanes * sizeof(int32_t));
    return true;
}

/* ---- leaves, control, stages ----------------------------------------------------------------- */

static void add_constants(builder *b, borg_inst *v) {
    const borg_module *m = b->m;
    for (int32_t r = 0, l = 0; r < v->rows; ++r) {
        for (int32_t w = 0; w < items(m, v); ++w) {
            for (int32_t g = 0; g < groups(m, v); ++g, ++l) {
                const int32_t net = new_net(b, v, l, BORG_NET_CONST);
                b->p->net[net].bits = v->op == BORG_CONST ? borg_const_bits(m, v, r, w)
                                      : v->op == BORG_LID ? (uint64_t)w
                                                          : (uint64_t)g;
                *net_of(m, v, r, w, g) = net;
            }
        }
    }
}

/* Operands of lane (r, w, g): of a reduction, all lanes that go into it. */
static void operands(const builder *b, const borg_inst *v, int32_t r, int32_t w, int32_t g,
                     int32_t *in) {
    const borg_module *m = b->m;
    const borg_inst *x = v->args[0];
    if (borg_op_table[v->op].class != BORG_REDUCE) {
        for (int32_t i = 0; i < v->nargs; ++i) in[i] = *net_of(m, v->args[i], r, w, g);
        return;
    }
    const bool pack = v->spread == BORG_UNI;
    for (int32_t i = 0; i < items(m, x); ++i)
        for (int32_t h = pack ? 0 : g; h < (pack ? groups(m, x) : g + 1); ++h)
            *in++ = *net_of(m, x, r, i, h);
}

static borg_step new_step(builder *b, borg_inst *v) {
    const borg_module *m = b->m;
    const bool reduce = borg_op_table[v->op].class == BORG_REDUCE;
    borg_step s = {.inst = v, .nout = borg_lanes(m, v), .nin = v->nargs};
    if (reduce) s.nin = items(m, v->args[0]) * (v->spread == BORG_UNI ? groups(m, v->args[0]) : 1);
    s.out = BORG_NEW(m->arena, s.nout, int32_t);
    s.in = BORG_NEW(m->arena, (int64_t)s.nout * s.nin + 1, int32_t);
    return s;
}

static void fill_step(builder *b, borg_step *s, borg_net_kind kind) {
    const borg_module *m = b->m;
    borg_inst *v = s->inst;
    for (int32_t r = 0, l = 0; r < v->rows; ++r) {
        for (int32_t w = 0; w < items(m, v); ++w) {
            for (int32_t g = 0; g < groups(m, v); ++g, ++l) {
                if (s->nin) operands(b, v, r, w, g, s->in + (int64_t)l * s->nin);
                s->out[l] = new_net(b, v, l, kind);
                *net_of(m, v, r, w, g) = s->out[l];
            }
        }
    }
}

static void add_control(builder *b, borg_inst *v) {
    borg_pipeline *p = b->p;
    borg_step s = new_step(b, v);
    fill_step(b, &s, BORG_NET_CONTROL);
    p->control = borg_grow(b->m->arena, p->control, (size_t)p->ncontrol + 1, &b->controls,
                           sizeof *p->control);
    p->control[p->ncontrol++] = s;
}

static int32_t tree_height(int32_t leaves) {
    int32_t height = 0;
    while (leaves > 1) leaves = (leaves + 1) / 2, ++height;
    return height;
}

/* A new stage; ports of a load fill its nets otherwise. */
static borg_step *add_stage(builder *b, borg_inst *v) {
    borg_pipeline *p = b->p;
    borg_step s = new_step(b, v);
    s.kind = unit_kind(v);
    const bool reduce = borg_op_table[v->op].class == BORG_REDUCE;
    s.latency = b->costs[s.kind].latency * (reduce && s.nin > 1 ? tree_height(s.nin) : 1);
    s.interval = b->costs[s.kind].interval;
    s.start = p->depth;
    const int32_t before = p->nnets, number = p->nstages;
    p->depth += s.latency;
    if (s.interval > p->interval) p->interval = s.interval;
    p->nstages = number + 1; /* what it makes is born behind it */
    if (s.kind != BORG_UNIT_load) fill_step(b, &s, BORG_NET_DATA);
    for (int32_t k = before; k < p->nnets; ++k) p->net[k].stage = number;
    p->stage = borg_grow(b->m->arena, p->stage, (size_t)number + 1, &b->stages, sizeof *p->stage);
    p->stage[number] = s;
    return &p->stage[number];
}

/* ---- memory ---------------------------------------------------------------------------------- */

static borg_port port_of(const builder *b, const borg_inst *v, const borg_inst *value, int32_t r,
                         int32_t w, int32_t g) {
    const borg_module *m = b->m;
    const borg_inst *mask = borg_mask(v);
    borg_port port = {.value = *net_of(m, value, r, w, g),
                      .pointer = *net_of(m, v->args[0], 0, w, g),
                      .mask = mask ? *net_of(m, mask, r, w, g) : -1};
    if (v->op == BORG_LOAD || v->op == BORG_STORE) {
        port.offset = *net_of(m, v->args[1], r, w, g);
    } else {
        port.offset = *net_of(m, v->args[1], 0, w, g);
        port.add = (int64_t)((uint64_t)v->c[r] + (uint64_t)v->b * (uint64_t)w +
                             (uint64_t)v->a * (uint64_t)g);
    }
    return port;
}

static void add_access(builder *b, borg_inst *v, int32_t boundary) {
    borg_pipeline *p = b->p;
    const borg_module *m = b->m;
    const borg_inst *stored = borg_stored(v), *value = stored ? stored : v;
    borg_access a = {.inst = v, .boundary = boundary, .store = stored != NULL};
    a.port = BORG_NEW(m->arena, borg_lanes(m, value), borg_port);
    for (int32_t r = 0; r < value->rows; ++r) /* in the order in which the interpreter stores */
        for (int32_t g = 0; g < groups(m, value); ++g)
            for (int32_t w = 0; w < items(m, value); ++w) {
                const borg_port port = port_of(b, v, value, r, w, g);
                const borg_net *mask = port.mask < 0 ? NULL : &p->net[port.mask];
                if (stored && mask && mask->kind == BORG_NET_CONST && !mask->bits) continue;
                a.port[a.nports++] = port;
            }
    p->access =
        borg_grow(m->arena, p->access, (size_t)p->naccesses + 1, &b->accesses, sizeof *p->access);
    p->access[p->naccesses++] = a;
}

static void add_load(builder *b, borg_inst *v) {
    const int32_t lanes = borg_lanes(b->m, v);
    if (v->type == BORG_PTR && !any_data(b, v)) {
        add_control(b, v);
        return;
    }
    const int32_t boundary = b->p->nstages;
    const bool staged = any_data(b, v);
    borg_step *s = staged ? add_stage(b, v) : NULL;
    for (int32_t l = 0; l < lanes; ++l) {
        const int32_t net = new_net(b, v, l, BORG_NET_DATA);
        ((int32_t *)v->aux)[l] = net;
        if (s) s->out[l] = net;
        b->p->net[net].stage = s ? boundary : -1;
    }
    if (s) s->nin = 0;
    add_access(b, v, boundary);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void add(builder *b, borg_inst *v) {
    if (v->op == BORG_BARRIER) return;
    v->aux = v->type == BORG_VOID ? NULL : BORG_NEW(b->m->arena, borg_lanes(b->m, v), int32_t);
    switch (borg_op_table[v->op].class) {
    case BORG_LEAF:
        if (v->op == BORG_LOCAL)
            refuse(b, v, "an array in memory; one in registers (no __local) would do");
        else if (v->op == BORG_CONST || v->op == BORG_LID || v->op == BORG_WGID)
            add_constants(b, v);
        else
            add_control(b, v);
        break;
    case BORG_LAYOUT:
        if (v->op == BORG_MMA)
            refuse(b, v, "a matrix instruction");
        else
            wire(b, v);
        break;
    case BORG_MEMORY:
        if (borg_stored(v))
            add_access(b, v, b->p->nstages);
        else
            add_load(b, v);
        break;
    case BORG_CONTROL:
        refuse(b, v, "a loop at run time");
        break;
    default:
        if ((v->op == BORG_SELECT && wire_select(b, v)) || wire_reduction(b, v)) break;
        if (any_data(b, v))
            add_stage(b, v);
        else
            add_control(b, v);
    }
}

/* ---- what is needed -------------------------------------------------------------------------- */

static void need(borg_pipeline *p, int32_t net, int32_t boundary) {
    if (net >= 0 && p->net[net].dies < boundary) p->net[net].dies = boundary;
}

static void need_access(borg_pipeline *p, const borg_access *a) {
    for (int32_t i = 0; i < a->nports; ++i) {
        const borg_port *port = &a->port[i];
        if (!a->store && p->net[port->value].dies < 0) continue;
        if (a->store) need(p, port->value, a->boundary);
        need(p, port->pointer, a->boundary);
        need(p, port->offset, a->boundary);
        need(p, port->mask, a->boundary);
    }
}

/* Backwards: stages and ports in the order of the program, so what uses a net has been seen. */
static void find_needs(borg_pipeline *p) {
    int32_t a = p->naccesses - 1;
    for (int32_t s = p->nstages; s >= 0; --s) {
        /* ports at the boundary before stage s, behind all that stand before it */
        for (; a >= 0 && p->access[a].boundary >= s; --a) need_access(p, &p->access[a]);
        if (s == 0) break;
        const borg_step *step = &p->stage[s - 1];
        for (int32_t i = 0; i < step->nout; ++i) {
            if (p->net[step->out[i]].dies < 0) continue;
            for (int32_t k = 0; k < step->nin; ++k)
                need(p, step->in[(int64_t)i * step->nin + k], s - 1);
        }
    }
    for (int32_t c = p->ncontrol - 1; c >= 0; --c) {
        const borg_step *step = &p->control[c];
        for (int64_t i = 0; i < step->nout; ++i)
            for (int32_t k = 0; k < step->nin && p->net[step->out[i]].dies >= 0; ++k)
                need(p, step->in[i * step->nin + k], 0);
    }
}

borg_pipeline *borg_pipeline_new(borg_module *m, const borg_unit_cost costs[BORG_UNIT_KINDS],
                                 borg_diags *diags) {
    if (!borg_predicate(m, diags)) return NULL;
    builder b = {.m = m, .diags = diags, .costs = costs};
    b.p = BORG_NEW(m->arena, 1, borg_pipeline);
    b.p->module = m;
    b.p->interval = 1;
    for (borg_inst *v = m->body->first; v && !b.failed; v = v->next) add(&b, v);
    if (b.failed) return NULL;
    find_needs(b.p);
    borg_pipeline_count(b.p, costs);
    return b.p;
}
