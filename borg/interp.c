/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter, which says what InfReg-IR means: lane by lane. */
#include "borg/ir.h"
#include <inttypes.h>
#include <string.h>

typedef struct machine {
    borg_module *m;
    const borg_arg *args;
    borg_diags *diags;
    borg_arena *arena;
    int64_t g0, steps;
    char **locals; /* the groups' arrays one after the other */
    bool failed;
} machine;

/* A value's lanes lie at inst->aux as patterns, always in the order (row, work-item, group). */
static inline int32_t items(const machine *k, const borg_inst *v) {
    return v->spread == BORG_WI ? k->m->size : 1;
}
static inline int32_t groups(const machine *k, const borg_inst *v) {
    return v->spread == BORG_UNI ? 1 : k->m->pack;
}
static inline uint64_t *lane(const machine *k, const borg_inst *v, int32_t r, int32_t w,
                             int32_t g) {
    int32_t nw = items(k, v), ng = groups(k, v);
    return (uint64_t *)v->aux + ((int64_t)r * nw + (nw == 1 ? 0 : w)) * ng + (ng == 1 ? 0 : g);
}

static bool trap(machine *k, const borg_inst *v, const char *reason) {
    if (!k->failed)
        borg_report(k->diags, BORG_ERROR, v->loc, "interpreting %s, group %" PRId64 ": %s: %s",
                    k->m->name, k->g0, borg_op_table[v->op].text, reason);
    k->failed = true;
    return false;
}

static void make_room(machine *k, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->aux = NULL;
        if (v->type != BORG_VOID)
            v->aux = BORG_NEW(k->arena, (int64_t)v->rows * items(k, v) * groups(k, v), uint64_t);
        if (v->block[0]) make_room(k, v->block[0]);
        if (v->block[1]) make_room(k, v->block[1]);
    }
}

static size_t local_bytes(const borg_local *d) {
    return (size_t)d->count * (size_t)borg_type_bytes(d->elem);
}

static void run_leaf(machine *k, borg_inst *v) {
    for (int32_t r = 0; r < v->rows; ++r) {
        for (int32_t w = 0; w < items(k, v); ++w) {
            for (int32_t g = 0; g < groups(k, v); ++g) {
                uint64_t bits = 0;
                switch (v->op) {
                case BORG_PARAM:
                    bits = v->type == BORG_PTR ? (uint64_t)(uintptr_t)k->args[v->index].data
                                               : k->args[v->index].bits;
                    break;
                case BORG_LOCAL:
                    bits = (uint64_t)(uintptr_t)(k->locals[v->index] +
                                                 g * local_bytes(&k->m->locals[v->index]));
                    break;
                case BORG_CONST:
                    bits = borg_const_bits(k->m, v, r, w);
                    break;
                case BORG_LID:
                    bits = (uint64_t)w;
                    break;
                case BORG_WGID:
                    bits = (uint64_t)g;
                    break;
                case BORG_GID:
                    bits = (uint64_t)(k->g0 + g);
                    break;
                default:
                    bits = (uint64_t)k->g0;
                    break;
                }
                *lane(k, v, r, w, g) = bits;
            }
        }
    }
}

static void run_elem(machine *k, borg_inst *v) {
    int64_t count = (int64_t)v->rows * items(k, v) * groups(k, v);
    const uint64_t *x = v->args[0]->aux, *y = v->nargs > 1 ? v->args[1]->aux : NULL;
    const uint64_t *z = v->nargs > 2 ? v->args[2]->aux : NULL;
    borg_type from = v->args[v->op == BORG_SELECT ? 1 : 0]->type;
    uint64_t *out = v->aux;
    for (int64_t l = 0; l < count; ++l)
        out[l] = borg_evaluate(v, from, x[l], y ? y[l] : 0, z ? z[l] : 0);
}

static uint64_t mma_lane(machine *k, const borg_inst *v, int32_t r, int32_t w, int32_t g) {
    const borg_inst step = {.op = BORG_FMA, .type = v->type};
    uint64_t c = *lane(k, v->args[2], r, w, g);
    for (int32_t i = 0; i < 4; ++i) {
        uint64_t a = *lane(k, v->args[0], r, 4 * (w / 4) + i, g);
        uint64_t b = *lane(k, v->args[1], r, 4 * (2 * (w % 4) + v->index) + i, g);
        c = borg_evaluate(&step, v->type, a, b, c);
    }
    return c;
}

static uint64_t layout_lane(machine *k, const borg_inst *v, int32_t r, int32_t w, int32_t g) {
    const borg_inst *x = v->args[0];
    const int32_t *map = v->map;
    int32_t size = k->m->size;
    switch (v->op) {
    case BORG_BCAST:
        return *lane(k, x, r, w, g);
    case BORG_ROWS:
        return *lane(k, v->args[r], map[r], w, g);
    case BORG_PERM: {
        const int32_t *from = &map[2 * (r * size + w)];
        return *lane(k, x, from[0], from[1], g);
    }
    case BORG_LANE:
        return *lane(k, x, map[2 * r], map[2 * r + 1], g);
    case BORG_SHUFV: {
        uint64_t index = *lane(k, v->args[1], r, w, g);
        if (index >= (uint64_t)size) return trap(k, v, "no such work-item");
        return *lane(k, x, r, (int32_t)index, g);
    }
    case BORG_MMA:
        return mma_lane(k, v, r, w, g);
    default: {
        uint64_t index = *lane(k, v->args[1], 0, w, g);
        if (index >= (uint64_t)x->rows) return trap(k, v, "no such element");
        return *lane(k, x, (int32_t)index, w, g);
    }
    }
}

static void run_layout(machine *k, borg_inst *v) {
    for (int32_t r = 0; r < v->rows; ++r)
        for (int32_t w = 0; w < items(k, v); ++w)
            for (int32_t g = 0; g < groups(k, v); ++g)
                *lane(k, v, r, w, g) = layout_lane(k, v, r, w, g);
}

static void run_reduce(machine *k, borg_inst *v) {
    const borg_inst *x = v->args[0];
    uint64_t list[BORG_MAX_SIZE * BORG_MAX_PACK];
    bool pack = v->spread == BORG_UNI;
    for (int32_t r = 0; r < v->rows; ++r) {
        for (int32_t g = 0; g < groups(k, v); ++g) {
            int32_t count = 0;
            for (int32_t w = 0; w < items(k, x); ++w)
                for (int32_t h = pack ? 0 : g; h < (pack ? groups(k, x) : g + 1); ++h)
                    list[count++] = *lane(k, x, r, w, h);
            *lane(k, v, r, 0, g) = borg_reduce(v->op, x->type, v->uns, list, count);
        }
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t element(const machine *k, const borg_inst *v, int32_t r, int32_t w, int32_t g) {
    if (v->op == BORG_LOAD || v->op == BORG_STORE) {
        uint64_t index = *lane(k, v->args[1], r, w, g);
        return v->args[1]->type == BORG_I32 ? (int32_t)(uint32_t)index : (int64_t)index;
    }
    uint64_t off = *lane(k, v->args[1], 0, w, g);
    return (int64_t)(off + (uint64_t)v->c[r] + (uint64_t)v->b * (uint64_t)w +
                     (uint64_t)v->a * (uint64_t)g);
}

static bool in_bounds(machine *k, const borg_inst *v, int64_t index) {
    const borg_inst *p = v->args[0];
    if (p->op == BORG_LOCAL) {
        const borg_local *d = &k->m->locals[p->index];
        if (index >= 0 && index < d->count) return true;
        return trap(k, v,
                    borg_format(k->arena, "index %" PRId64 " of '%s', which has %d elements", index,
                                d->name, d->count));
    }
    if (p->op != BORG_PARAM) return true;
    int64_t count = k->args[p->index].count;
    if (count < 0 || (index >= 0 && index < count)) return true;
    return trap(k, v,
                borg_format(k->arena, "%s[%" PRId64 "] of %" PRId64 " elements",
                            k->m->params[p->index].name, index, count));
}

/* Where lane (r, w, g) of a load or store finds its element; NULL: nowhere, as its mask or a trap
 * says. */
static char *address(machine *k, const borg_inst *v, borg_type type, int32_t r, int32_t w,
                     int32_t g) {
    const borg_inst *mask = borg_mask(v);
    if (mask && !*lane(k, mask, r, w, g)) return NULL;
    int64_t index = element(k, v, r, w, g);
    if (!in_bounds(k, v, index)) return NULL;
    char *base = (char *)(uintptr_t)*lane(k, v->args[0], 0, w, g);
    if (!base) {
        trap(k, v, "NULL pointer");
        return NULL;
    }
    return base + index * (int64_t)borg_type_bytes(type);
}

static void access(machine *k, borg_inst *v, const borg_inst *value, int32_t r, int32_t w,
                   int32_t g) {
    bool store = value != v;
    uint64_t bits = 0;
    const borg_type type = borg_access_type(k->m, v);
    size_t bytes = (size_t)borg_type_bytes(type);
    char *at = address(k, v, type, r, w, g);
    if (at && store) memcpy(at, lane(k, value, r, w, g), bytes);
    if (at && !store) memcpy(&bits, at, bytes); /* little endian */
    if (!store) *lane(k, v, r, w, g) = bits;
}

static bool is_nan(borg_type type, uint64_t bits) {
    uint64_t sign = type == BORG_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    uint64_t infinity = type == BORG_F64 ? (uint64_t)0x7ff << 52 : 0x7f800000;
    return borg_is_float(type) && (bits & ~sign) > infinity;
}

/* Any of the lanes that write one address may win: what a machine leaves there for the caller is
 * then a matter of chance, unless they write the same (any NaN is). A group's own array may have a
 * place that nobody reads. */
static void check_won(machine *k, const borg_inst *v, const borg_inst *value, int32_t r, int32_t w,
                      int32_t g) {
    const borg_type type = borg_access_type(k->m, v);
    const char *at = address(k, v, type, r, w, g);
    uint64_t mine = *lane(k, value, r, w, g), there = mine;
    if (!at) return;
    memcpy(&there, at, (size_t)borg_type_bytes(type));
    if (there == mine || (is_nan(value->type, there) && is_nan(value->type, mine))) return;
    trap(k, v, "another lane of this store writes another value to the same address");
}

static void run_memory(machine *k, borg_inst *v) {
    if (v->op == BORG_BARRIER) return;
    const borg_inst *value = borg_stored(v) ? borg_stored(v) : v;
    for (int32_t r = 0; r < value->rows && !k->failed; ++r)
        for (int32_t g = 0; g < groups(k, value); ++g)
            for (int32_t w = 0; w < items(k, value); ++w) access(k, v, value, r, w, g);
    for (int32_t r = 0; r < value->rows && value != v && v->args[0]->op != BORG_LOCAL && !k->failed;
         ++r)
        for (int32_t g = 0; g < groups(k, value); ++g)
            for (int32_t w = 0; w < items(k, value); ++w) check_won(k, v, value, r, w, g);
}

/* ---- control --------------------------------------------------------------------------------- */

static void run_block(machine *k, borg_block *block);

static size_t bytes_of(const machine *k, const borg_inst *v) {
    return (size_t)v->rows * (size_t)items(k, v) * (size_t)groups(k, v) * sizeof(uint64_t);
}

static void run_loop(machine *k, borg_inst *v) {
    borg_block *head = v->block[0], *body = v->block[1];
    size_t total = 0, at = 0;
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next) {
        memcpy(p->aux, p->args[0]->aux, bytes_of(k, p));
        total += bytes_of(k, p);
    }
    if (!v->aux) v->aux = borg_alloc(k->arena, total + 1, 1);
    for (;;) {
        run_block(k, head);
        if (k->failed || !*(uint64_t *)head->last->args[0]->aux) return;
        run_block(k, body);
        if (k->failed) return;
        borg_inst **next = body->last->args; /* all lanes at once, so by way of a copy */
        at = 0;
        for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next, ++next) {
            memcpy((char *)v->aux + at, (*next)->aux, bytes_of(k, p));
            at += bytes_of(k, p);
        }
        at = 0;
        for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next) {
            memcpy(p->aux, (char *)v->aux + at, bytes_of(k, p));
            at += bytes_of(k, p);
        }
        if (--k->steps <= 0) trap(k, v, "too many steps");
    }
}

static void run_result(machine *k, borg_inst *v) {
    const borg_inst *from = v->args[0], *value;
    if (from->op == BORG_LOOP) {
        value = from->block[0]->first;
        for (int32_t i = 0; i < v->index; ++i) value = value->next;
    } else {
        value = from->block[from->mark ? 0 : 1]->last->args[v->index];
    }
    memcpy(v->aux, value->aux, bytes_of(k, v));
}

static void run_control(machine *k, borg_inst *v) {
    switch (v->op) {
    case BORG_LOOP:
        run_loop(k, v);
        break;
    case BORG_IF:
        v->mark = *(uint64_t *)v->args[0]->aux != 0;
        run_block(k, v->block[v->mark ? 0 : 1]);
        break;
    case BORG_RESULT:
        run_result(k, v);
        break;
    default:
        break; /* PHI, WHILE and YIELD are done with the LOOP or IF that they belong to */
    }
}

static void run_block(machine *k, borg_block *block) {
    for (borg_inst *v = block->first; v && !k->failed; v = v->next) {
        if (--k->steps <= 0) {
            trap(k, v, "too many steps");
            return;
        }
        switch (borg_op_table[v->op].class) {
        case BORG_LEAF:
            run_leaf(k, v);
            break;
        case BORG_ELEM:
        case BORG_CONVERT:
            run_elem(k, v);
            break;
        case BORG_LAYOUT:
            run_layout(k, v);
            break;
        case BORG_REDUCE:
            run_reduce(k, v);
            break;
        case BORG_MEMORY:
            run_memory(k, v);
            break;
        case BORG_CONTROL:
            run_control(k, v);
            break;
        }
    }
}

static bool run_packs(machine *k, borg_module *m, int64_t first, int64_t last) {
    if (first >= last) return true;
    k->m = m;
    make_room(k, m->body);
    k->locals = BORG_NEW(k->arena, m->nlocals + 1, char *);
    for (int32_t i = 0; i < m->nlocals; ++i)
        k->locals[i] = borg_alloc(k->arena, local_bytes(&m->locals[i]) * (size_t)m->pack, 8);
    for (k->g0 = first; k->g0 + m->pack <= last && !k->failed; k->g0 += m->pack) {
        for (int32_t i = 0; i < m->nlocals; ++i)
            memset(k->locals[i], 0, local_bytes(&m->locals[i]) * (size_t)m->pack);
        run_block(k, m->body);
    }
    return !k->failed;
}

bool borg_interpret(borg_module *m, borg_module *tail, const borg_arg *args, int64_t first,
                    int64_t last, int64_t steps, borg_diags *diags) {
    borg_arena arena;
    borg_arena_init(&arena, m->arena->allocator, 0);
    machine k = {.args = args, .diags = diags, .arena = &arena};
    k.steps = steps ? steps : 1000000000;
    if (setjmp(arena.oom)) {
        borg_arena_free(&arena);
        borg_report(diags, BORG_ERROR, (borg_loc){0}, "interpreting %s: out of memory", m->name);
        return false;
    }
    int64_t middle = last - (last - first) % m->pack;
    bool good = run_packs(&k, m, first, middle);
    if (good && middle < last) {
        if (tail) {
            good = run_packs(&k, tail, middle, last);
        } else {
            good = false;
            borg_report(diags, BORG_ERROR, (borg_loc){0},
                        "interpreting %s: no module for the groups after the last full pack",
                        m->name);
        }
    }
    borg_arena_free(&arena);
    return good;
}
