/* SPDX-License-Identifier: BSD-3-Clause */
/* Emission for SIMT machines: names, leaves, control and the frame of a kernel. */
#include "borg/emit/simt/simt.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- scalars -----------------------------------------------------------------------------------
 */

int32_t simt_per_row(const simt *e, const borg_inst *v) {
    return v->spread == BORG_WI ? e->rows : 1;
}

int32_t simt_count(const simt *e, const borg_inst *v) {
    return v->rows * simt_per_row(e, v);
}

const char *simt_get(const simt *e, const borg_inst *v, int32_t i) {
    const char *far = simt_far(e, v, i);
    return far ? far : ((const char *const *)v->aux)[i];
}

void simt_name(simt *e, borg_inst *v, int32_t i, const char *name) {
    if (!v->aux) v->aux = BORG_NEW(e->arena, simt_count(e, v), const char *);
    ((const char **)v->aux)[i] = name;
}

const char *simt_suffix(borg_type type) {
    static const char *const text[] = {"void", "i1", "i32", "i64", "f32", "f64", "ptr"};
    return text[type];
}

void simt_line(simt *e, const char *format, ...) {
    va_list arguments;
    for (int32_t i = 0; i < e->depth; ++i) borg_put_text(e->out, "    ", 4);
    va_start(arguments, format);
    borg_vput(e->out, format, arguments);
    va_end(arguments);
    borg_put_text(e->out, "\n", 1);
}

void simt_let(simt *e, borg_inst *v, int32_t i, const char *expression) {
    const char *name = simt_count(e, v) == 1 ? borg_format(e->arena, "v%d", v->id)
                                             : borg_format(e->arena, "v%d_%d", v->id, i);
    simt_line(e, "%s%s %s = %s;", v->type == BORG_PTR ? "" : "const ", e->target->types[v->type],
              name, expression);
    simt_name(e, v, i, name);
}

const char *simt_temp(simt *e, borg_type type, const char *expression) {
    const char *name = borg_format(e->arena, "t%d", e->temps++);
    simt_line(e, "const %s %s = %s;", e->target->types[type], name, expression);
    return name;
}

/* Branches part the packs of a warp. */
const char *simt_mask(const simt *e) {
    return e->branches > 0 && e->units > 1 ? "b_pack" : "B_WARP";
}

const char *simt_item(const simt *e, int32_t j) {
    return e->lanes == 1 ? borg_format(e->arena, "%d", j < e->m->size ? j : e->m->size - 1)
                         : borg_format(e->arena, "b_w%d", j);
}

const char *simt_on(const simt *e, int32_t j) {
    bool all = (j + 1) * e->lanes <= e->m->size;
    if (all) return e->m->pack > 1 ? "b_there" : NULL;
    return borg_format(e->arena, "b_on%d", j);
}

const char *simt_shuffled(const simt *e, borg_type type, const char *x, const char *lane) {
    const char *suffix = simt_suffix(type), *mask = simt_mask(e);
    if (e->step == 1)
        return borg_format(e->arena, "b_shfl_%s(%s, %s, %s, %d)", suffix, mask, x, lane, e->lanes);
    return borg_format(e->arena, "b_shfl_%s(%s, %s, b_base + (%s) * %d, 32)", suffix, mask, x, lane,
                       e->step);
}

const char *simt_thread_of_group(const simt *e, const char *text) {
    if (e->step == 1) return borg_format(e->arena, "(b_i32)(%s - b_base)", text);
    return borg_format(e->arena, "(b_i32)(%s) / %du", text, e->step);
}

/* ---- constants ---------------------------------------------------------------------------------
 */

const char *simt_literal(simt *e, borg_type type, uint64_t bits) {
    double x = 0;
    float f;
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case BORG_I1:
        return bits & 1 ? "1" : "0";
    case BORG_I32:
        return borg_format(e->arena, "%" PRIu32 "u", low);
    case BORG_F32:
        memcpy(&f, &low, sizeof f);
        if (isnan(f)) return "b_nan_f32()";
        if (isinf(f)) return f > 0 ? "b_infinity_f32()" : "-b_infinity_f32()";
        return borg_format(e->arena, "%af", (double)f);
    case BORG_F64:
        memcpy(&x, &bits, sizeof x);
        if (isnan(x)) return "b_nan_f64()";
        if (isinf(x)) return x > 0 ? "b_infinity_f64()" : "-b_infinity_f64()";
        return borg_format(e->arena, "%a", x);
    default:
        return borg_format(e->arena, "(b_i64)%" PRIu64 "u%s", bits, e->target->opencl ? "l" : "ll");
    }
}

static const char *truth_by_lane(simt *e, const uint64_t *bits) {
    int32_t n = e->lanes, count = 0, low = n, high = -1;
    uint64_t mask = 0;
    for (int32_t l = 0; l < n; ++l) {
        if (!bits[l]) continue;
        ++count;
        high = l;
        if (low == n) low = l;
        if (l < 64) mask |= (uint64_t)1 << l;
    }
    if (count == high - low + 1) {
        if (low == high) return borg_format(e->arena, "(b_l == %d)", low);
        if (low == 0) return borg_format(e->arena, "(b_l <= %d)", high);
        if (high == n - 1) return borg_format(e->arena, "(b_l >= %d)", low);
        return borg_format(e->arena, "((b_l >= %d) & (b_l <= %d))", low, high);
    }
    if (count == n - 1)
        for (int32_t l = 0; l < n; ++l)
            if (!bits[l]) return borg_format(e->arena, "(b_l != %d)", l);
    if (n <= 32) return borg_format(e->arena, "(b_bool)(0x%" PRIx64 "u >> b_l & 1u)", mask);
    if (n <= 64)
        return borg_format(e->arena, "(b_bool)((b_i64)0x%" PRIx64 "u%s >> b_l & 1u)", mask,
                           e->target->opencl ? "l" : "ll");
    return NULL;
}

/* a * x + b with x = thread, or its work-item. */
static const char *affine_by_lane(simt *e, borg_type type, const uint64_t *bits) {
    for (int32_t clamp = 0; clamp < 2; ++clamp) {
        uint64_t a = bits[1] - bits[0], cut = type == BORG_I32 ? UINT32_MAX : UINT64_MAX;
        bool good = true;
        for (int32_t l = 0; l < e->lanes && good; ++l) {
            int32_t x = clamp && l >= e->m->size ? e->m->size - 1 : l;
            good = ((bits[0] + a * (uint64_t)x) & cut) == (bits[l] & cut);
        }
        if (!good) continue;
        const char *x = clamp ? "b_w0" : "b_l", *t = e->target->types[type];
        a &= cut;
        if (a == 1 && bits[0] == 0) return borg_format(e->arena, "(%s)%s", t, x);
        return borg_format(e->arena, "(%s * (%s)%s + %s)", simt_literal(e, type, a), t, x,
                           simt_literal(e, type, bits[0]));
    }
    return NULL;
}

/* a * (x / d) + b * (x % d) + c: places in tiles. */
static const char *tile_by_lane(simt *e, borg_type type, const uint64_t *bits) {
    uint64_t cut = type == BORG_I32 ? UINT32_MAX : UINT64_MAX;
    for (int32_t d = 2; d < e->m->size && d < e->lanes; ++d) {
        uint64_t a = bits[d] - bits[0], b = bits[1] - bits[0];
        bool good = true;
        for (int32_t l = 0; l < e->lanes && good; ++l) {
            int32_t x = l >= e->m->size ? e->m->size - 1 : l;
            good = ((bits[0] + a * (uint64_t)(x / d) + b * (uint64_t)(x % d)) & cut) ==
                   (bits[l] & cut);
        }
        if (!good) continue;
        const char *t = e->target->types[type];
        return borg_format(e->arena, "(%s * (%s)(b_w0 / %d) + %s * (%s)(b_w0 %% %d) + %s)",
                           simt_literal(e, type, a & cut), t, d, simt_literal(e, type, b & cut), t,
                           d, simt_literal(e, type, bits[0]));
    }
    return NULL;
}

/* a * (x / d) + h[x % d] + c with a few h: a place of its own for each thread of d. */
static const char *choice_by_lane(simt *e, borg_type type, const uint64_t *bits) {
    enum { MOST_ITEMS = 8, MOST_CHOICES = 3 };
    uint64_t cut = type == BORG_I32 ? UINT32_MAX : UINT64_MAX;
    for (int32_t d = 2; d <= MOST_ITEMS && d < e->m->size && d < e->lanes; ++d) {
        uint64_t a = bits[d] - bits[0];
        int32_t choices = 1;
        bool good = true;
        for (int32_t l = 0; l < e->lanes && good; ++l) {
            int32_t x = l >= e->m->size ? e->m->size - 1 : l;
            good = ((a * (uint64_t)(x / d) + bits[x % d]) & cut) == (bits[l] & cut);
        }
        for (int32_t i = 1; i < d; ++i) choices += bits[i] != bits[i - 1];
        if (!good || choices > MOST_CHOICES) continue;
        const char *h = simt_literal(e, type, (bits[d - 1] - bits[0]) & cut);
        for (int32_t i = d - 2; i >= 0; --i)
            if (bits[i] != bits[i + 1])
                h = borg_format(e->arena, "b_w0 %% %d < %d ? %s : %s", d, i + 1,
                                simt_literal(e, type, (bits[i] - bits[0]) & cut), h);
        return borg_format(e->arena, "(%s * (%s)(b_w0 / %d) + (%s) + %s)",
                           simt_literal(e, type, a & cut), e->target->types[type], d, h,
                           simt_literal(e, type, bits[0]));
    }
    return NULL;
}

/* A table of what is added to the first thread's, a few bits each: others that differ from it by a
 * constant share it. */
static const char *table_like(simt *e, borg_type type, const uint64_t *bits) {
    simt_table *t = e->shared;
    int32_t *more = BORG_NEW(e->arena, e->lanes, int32_t);
    for (int32_t l = 0; l < e->lanes; ++l) {
        int64_t difference = type == BORG_I32 ? (int32_t)(uint32_t)(bits[l] - bits[0])
                                              : (int64_t)(bits[l] - bits[0]);
        more[l] = (int32_t)difference;
        if (more[l] != difference) return NULL;
    }
    while (t && memcmp(t->more, more, (size_t)e->lanes * sizeof *more) != 0) t = t->next;
    if (!t) {
        t = BORG_NEW(e->arena, 1, simt_table);
        *t = (simt_table){.more = more, .number = e->tables++, .next = e->shared};
        e->shared = t;
        borg_put(e->head, "B_TABLE b_s32 b_table_%s_%d[%d] = {", e->name, t->number, e->lanes);
        for (int32_t l = 0; l < e->lanes; ++l)
            borg_put(e->head, "%s%" PRId32, l ? ", " : "", more[l]);
        borg_put(e->head, "};\n");
    }
    return borg_format(e->arena, "((%s)b_table_%s_%d[b_l] + %s)", e->target->types[type], e->name,
                       t->number, simt_literal(e, type, bits[0]));
}

const char *simt_by_lane(simt *e, borg_type type, const uint64_t *bits) {
    bool equal = true;
    const char *text = NULL;
    for (int32_t l = 1; l < e->lanes; ++l) equal = equal && bits[l] == bits[0];
    if (equal) return simt_literal(e, type, bits[0]);
    if (type == BORG_I1) text = truth_by_lane(e, bits);
    if (borg_is_int(type)) text = affine_by_lane(e, type, bits);
    if (!text && borg_is_int(type)) text = tile_by_lane(e, type, bits);
    if (!text && borg_is_int(type)) text = choice_by_lane(e, type, bits);
    if (text) return text;
    const char *shared = borg_is_int(type) ? table_like(e, type, bits) : NULL;
    if (shared) return shared;
    borg_put(e->head, "B_TABLE %s b_table_%s_%d[%d] = {", e->target->types[type], e->name,
             e->tables, e->lanes);
    for (int32_t l = 0; l < e->lanes; ++l)
        borg_put(e->head, "%s%s", l ? ", " : "", simt_literal(e, type, bits[l]));
    borg_put(e->head, "};\n");
    return borg_format(e->arena, "b_table_%s_%d[b_l]", e->name, e->tables++);
}

/* ---- leaves ------------------------------------------------------------------------------------
 */

static void emit_items(simt *e, borg_inst *v) {
    uint64_t *bits = BORG_NEW(e->arena, e->lanes, uint64_t);
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        int32_t r = i / e->rows, j = i % e->rows;
        for (int32_t l = 0; l < e->lanes; ++l) {
            int32_t w = j * e->lanes + l;
            if (w >= e->m->size) w = e->m->size - 1;
            bits[l] = v->op == BORG_LID ? (uint64_t)w : borg_const_bits(e->m, v, r, w);
        }
        const char *text = simt_by_lane(e, v->type, bits);
        bool named = v->mark || strchr(text, '[') || strchr(text, '*');
        if (named && v->type == BORG_I32 && simt_holds(e)) {
            const char *name = borg_format(e->arena, "v%d_%d", v->id, i);
            simt_line(e, "b_i32 %s = %s;", name, text);
            simt_line(e, "B_HOLD(%s);", name);
            simt_name(e, v, i, name);
        } else if (named) {
            simt_let(e, v, i, text);
        } else {
            simt_name(e, v, i, text);
        }
    }
}

static void emit_leaf(simt *e, borg_inst *v) {
    const borg_param *p;
    switch (v->op) {
    case BORG_PARAM:
        p = &e->m->params[v->index];
        simt_name(e, v, 0,
                  borg_is_int(v->type)
                      ? borg_format(e->arena, "(%s)p_%s", e->target->types[v->type], p->name)
                      : borg_format(e->arena, "p_%s", p->name));
        break;
    case BORG_G0:
        simt_name(e, v, 0, "(b_i64)b_g0");
        break;
    case BORG_GID:
        simt_name(e, v, 0, "(b_i64)(b_g0 + b_wg)");
        break;
    case BORG_WGID:
        simt_name(e, v, 0, "(b_i32)b_wg");
        break;
    case BORG_LOCAL:
        break; /* local.c */
    case BORG_CONST:
        if (v->spread != BORG_WI) {
            for (int32_t r = 0; r < v->rows; ++r)
                simt_name(e, v, r, simt_literal(e, v->type, borg_const_bits(e->m, v, r, 0)));
            break;
        }
        emit_items(e, v);
        break;
    default:
        emit_items(e, v);
        break;
    }
}

/* ---- control -----------------------------------------------------------------------------------
 */

static void emit_block(simt *e, borg_block *block);

/* The same for all threads there are, whatever the data: constants, parameters, counters. */
static bool same_for_all(const borg_inst *v, const borg_inst *phi, int depth) {
    if (v == phi || v->op == BORG_CONST || v->op == BORG_PARAM) return true;
    if (depth == 0 || v->spread != BORG_UNI || v->rows != 1) return false;
    if (v->op == BORG_PHI) {
        const borg_inst *p = v->parent->first, *loop = v->parent->owner;
        int32_t at = 0;
        if (phi) return false; /* one counter at a time */
        for (; p != v; p = p->next) ++at;
        return same_for_all(v->args[0], v, depth - 1) &&
               same_for_all(loop->block[1]->last->args[at], v, depth - 1);
    }
    if (borg_op_table[v->op].class != BORG_ELEM && borg_op_table[v->op].class != BORG_CONVERT)
        return false;
    for (int32_t k = 0; k < v->nargs; ++k)
        if (!same_for_all(v->args[k], phi, depth - 1)) return false;
    return true;
}

static void emit_loop(simt *e, borg_inst *v) {
    borg_block *head = v->block[0], *body = v->block[1];
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next) {
        for (int32_t i = 0; i < simt_count(e, p); ++i) {
            const char *name = borg_format(e->arena, "v%d_%d", p->id, i);
            simt_line(e, "%s %s = %s;", e->target->types[p->type], name,
                      simt_get(e, p->args[0], i));
            simt_name(e, p, i, name);
        }
    }
    int32_t parts = !same_for_all(head->last->args[0], NULL, 8);
    simt_see_slots(e); /* none are written in loops */
    simt_local_enter(e, v);
    simt_line(e, "for (;;) {");
    ++e->depth, e->branches += parts;
    emit_block(e, head);
    emit_block(e, body);
    borg_inst **next = body->last->args;
    int32_t first = e->temps, at = 0;
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next, ++at)
        for (int32_t i = 0; i < simt_count(e, p); ++i)
            simt_temp(e, p->type, simt_get(e, next[at], i));
    for (borg_inst *p = head->first; p && p->op == BORG_PHI; p = p->next)
        for (int32_t i = 0; i < simt_count(e, p); ++i)
            simt_line(e, "%s = t%d;", simt_get(e, p, i), first++);
    --e->depth, e->branches -= parts;
    simt_line(e, "}");
    simt_local_touch(e, v);
}

/* The RESULTs of an IF stand after it: their variables are declared before. */
static void emit_if(simt *e, borg_inst *v) {
    const borg_inst *yield = v->block[0]->last;
    const char ***names = BORG_NEW(e->arena, yield->nargs + 1, const char **);
    v->aux = names;
    for (int32_t k = 0; k < yield->nargs; ++k) {
        const borg_inst *x = yield->args[k];
        names[k] = BORG_NEW(e->arena, simt_count(e, x), const char *);
        for (int32_t i = 0; i < simt_count(e, x); ++i) {
            names[k][i] = borg_format(e->arena, "r%d_%d_%d", v->id, k, i);
            simt_line(e, "%s %s;", e->target->types[x->type], names[k][i]);
        }
    }
    int32_t parts = !same_for_all(v->args[0], NULL, 8);
    bool unseen = false;
    simt_see_slots(e); /* while all are together */
    simt_local_enter(e, v);
    e->branches += parts;
    for (int32_t side = 0; side < 2; ++side) {
        simt_line(e, side ? "} else {" : "if (%s) {", side ? "" : simt_get(e, v->args[0], 0));
        ++e->depth;
        emit_block(e, v->block[side]);
        yield = v->block[side]->last;
        for (int32_t k = 0; k < yield->nargs; ++k)
            for (int32_t i = 0; i < simt_count(e, yield->args[k]); ++i)
                simt_line(e, "%s = %s;", names[k][i], simt_get(e, yield->args[k], i));
        --e->depth;
        unseen = unseen || e->unseen;
        e->unseen = false;
    }
    e->unseen = unseen;
    e->branches -= parts;
    simt_line(e, "}");
    simt_local_touch(e, v);
}

static void emit_result(simt *e, borg_inst *v) {
    borg_inst *from = v->args[0];
    const char **names;
    if (from->op == BORG_LOOP) {
        const borg_inst *p = from->block[0]->first;
        for (int32_t i = 0; i < v->index; ++i) p = p->next;
        names = p->aux;
    } else {
        names = ((const char ***)from->aux)[v->index];
    }
    for (int32_t i = 0; i < simt_count(e, v); ++i) simt_name(e, v, i, names[i]);
}

static void emit_control(simt *e, borg_inst *v) {
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
        simt_line(e, "if (!(%s)) break;", simt_get(e, v->args[0], 0));
        break;
    default:
        break; /* PHI, YIELD: the owner's work */
    }
}

static void emit_inst(simt *e, borg_inst *v) {
    switch (borg_op_table[v->op].class) {
    case BORG_LEAF:
        emit_leaf(e, v);
        break;
    case BORG_ELEM:
    case BORG_CONVERT:
        simt_elem(e, v);
        break;
    case BORG_LAYOUT:
        simt_layout(e, v);
        break;
    case BORG_REDUCE:
        simt_reduce(e, v);
        break;
    case BORG_MEMORY:
        simt_memory(e, v);
        break;
    case BORG_CONTROL:
        emit_control(e, v);
        break;
    }
}

static void emit_block(simt *e, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->uses == 0 && borg_is_pure(v)) continue;
        if (v->id >= 0) e->now = v->id;
        emit_inst(e, v);
        if (v->type != BORG_VOID) simt_publish(e, v);
    }
}

/* ---- the frame ---------------------------------------------------------------------------------
 */

static const char *element_type(const borg_param *p) {
    static const char *const types[][2] = {
        {"void", "void"},   {"b_bool", "b_bool"}, {"b_s32", "b_i32"}, {"b_s64", "b_i64"},
        {"float", "float"}, {"double", "double"}, {"b_i64", "b_i64"}};
    return types[p->type == BORG_PTR ? p->elem : p->type][p->uns];
}

static void put_parameters(simt *e) {
    for (int32_t i = 0; i < e->m->nparams; ++i) {
        const borg_param *p = &e->m->params[i];
        if (p->type == BORG_PTR && p->depth > 1 && e->target->opencl) {
            borg_put(e->out, "B_GLOBAL const b_i64 *");
        } else if (p->type == BORG_PTR && p->depth > 1) {
            borg_put(e->out, "%s%s *const *", p->readonly ? "const " : "", element_type(p));
        } else if (p->type == BORG_PTR) {
            borg_put(e->out, "B_GLOBAL %s%s *%s", p->readonly ? "const " : "", element_type(p),
                     p->restricted ? "B_RESTRICT " : "");
        } else {
            borg_put(e->out, "%s ", element_type(p));
        }
        borg_put(e->out, "p_%s, ", p->name);
    }
    borg_put(e->out, "b_s64 b_from, b_s64 b_last)");
}

/* Bits 0 .. count-1 of each thread of an interleaved group. */
static uint32_t each_step(const simt *e, int32_t count) {
    uint32_t bits = 0;
    for (int32_t l = 0; l < e->lanes; ++l)
        bits |= (uint32_t)(((uint64_t)1 << count) - 1) << l * e->step;
    return bits;
}

static void put_masks(simt *e, int32_t width) {
    if (e->target->opencl) return;
    if (e->step > 1) {
        int32_t pack = e->m->pack;
        simt_line(e, "const int b_base = threadIdx.x %% %d;", e->step);
        simt_line(e, "const unsigned b_group = 0x%" PRIx32 "u << b_base;", each_step(e, 1));
        simt_line(e, "const unsigned b_pack = 0x%" PRIx32 "u << b_base / %d * %d;",
                  each_step(e, pack), pack, pack);
        simt_line(e, "(void)b_base, (void)b_group, (void)b_pack;");
        return;
    }
    simt_line(e, "const int b_base = threadIdx.x %% 32 / %d * %d;", e->lanes, e->lanes);
    if (e->lanes == 32) {
        simt_line(e, "const unsigned b_group = B_WARP;");
    } else {
        simt_line(e, "const unsigned b_group = ((1u << %d) - 1) << b_base;", e->lanes);
    }
    if (e->units <= 1) {
        simt_line(e, "const unsigned b_pack = B_WARP;");
    } else {
        simt_line(e, "const unsigned b_pack = ((1u << %d) - 1) << (threadIdx.x %% 32 / %d * %d);",
                  width, width, width);
    }
    simt_line(e, "(void)b_base, (void)b_group, (void)b_pack;");
}

/* Where this thread is. CUDA: several packs in a warp, one, or several warps for a pack. */
static void put_place(simt *e) {
    int32_t pack = e->m->pack, width = e->lanes * pack;
    if (e->target->opencl) {
        simt_line(e, "const int b_at = (int)get_local_id(0);");
        simt_line(e, "const b_s64 b_g0 = b_from + (b_s64)get_group_id(0) * %d;", pack);
    } else if (e->units == 0) {
        simt_line(e, "const int b_at = threadIdx.x;");
        simt_line(e, "const b_s64 b_g0 = b_from + (b_s64)blockIdx.x * %d;", pack);
    } else if (e->step > 1) {
        simt_line(e, "const b_s64 b_warp = (b_s64)blockIdx.x * %d + threadIdx.x / 32;",
                  e->threads / 32);
        simt_line(e, "const b_s64 b_g0 = b_from + (b_warp * %d + threadIdx.x %% %d / %d) * %d;",
                  e->units, e->step, pack, pack);
    } else if (e->units * width == 32) {
        simt_line(e, "const int b_at = threadIdx.x %% %d;", width);
        simt_line(e, "const b_s64 b_unit = (b_s64)blockIdx.x * %d + threadIdx.x / %d;",
                  e->threads / width, width);
        simt_line(e, "const b_s64 b_g0 = b_from + b_unit * %d;", pack);
    } else {
        simt_line(e, "const int b_part = threadIdx.x %% 32 / %d;", width);
        simt_line(e, "const int b_at = threadIdx.x %% 32 %% %d;", width);
        simt_line(e, "const b_s64 b_warp = (b_s64)blockIdx.x * %d + threadIdx.x / 32;",
                  e->threads / 32);
        simt_line(e, "const b_s64 b_g0 = b_from + (b_warp * %d + b_part) * %d;", e->units, pack);
        simt_line(e, "if (b_part >= %d) return;", e->units);
    }
    if (e->nstages == 0) simt_line(e, "if (b_g0 >= b_last) return;");
    if (e->step > 1) {
        simt_line(e, "const int b_l = threadIdx.x %% 32 / %d, b_own = threadIdx.x %% %d;", e->step,
                  pack);
    } else {
        if (simt_holds(e) && e->lanes < 32) { /* a remainder would be taken again at each use */
            simt_line(e, "int b_l0 = (int)threadIdx.x / %d * %d;", e->lanes, e->lanes);
            simt_line(e, "B_HOLD(b_l0);");
            simt_line(e, "const int b_l = (int)threadIdx.x - b_l0;");
        } else {
            simt_line(e, "const int b_l = b_at %% %d;", e->lanes);
        }
        simt_line(e, "const int b_own = b_at / %d;", e->lanes);
    }
    if (pack == 1) {
        simt_line(e, "const int b_wg = 0;");
    } else {
        const char *beyond = e->threads > width && e->units == 0
                                 ? borg_format(e->arena, "(b_own < %d) & ", pack)
                                 : "";
        simt_line(e, "const b_bool b_there = %s(b_g0 + b_own < b_last);", beyond);
        simt_line(e, "const b_s64 b_end = b_last - 1 - b_g0;");
        simt_line(e, "const int b_wg = b_there ? b_own : b_end < %d ? (int)b_end : %d;", pack - 1,
                  pack - 1);
    }
    put_masks(e, width);
    simt_line(e, "const b_bool b_first_of_group = %s(b_l == 0);", pack > 1 ? "b_there & " : "");
    simt_line(e, "const b_bool b_first_of_pack = b_first_of_group & (b_own == 0);");
    simt_line(e, "(void)b_first_of_pack, (void)b_wg, (void)b_own;");
}

static void put_items(simt *e) {
    if (e->lanes == 1) return;
    for (int32_t j = 0; j < e->rows; ++j) {
        int32_t from = j * e->lanes, size = e->m->size;
        bool all = from + e->lanes <= size;
        if (all) {
            simt_line(e, "const int b_w%d = b_l + %d;", j, from);
        } else {
            simt_line(e, "const int b_w%d = b_l + %d < %d ? b_l + %d : %d;", j, from, size, from,
                      size - 1);
            simt_line(e, "const b_bool b_on%d = (b_l + %d < %d)%s;", j, from, size,
                      e->m->pack > 1 ? " & b_there" : "");
            simt_line(e, "(void)b_on%d;", j);
        }
        simt_line(e, "(void)b_w%d;", j);
    }
}

/* A group's part of shared memory: its work-items, each with its slots. */
static void put_slots(simt *e) {
    for (int t = BORG_I32; t < BORG_PTR; ++t) {
        if (!e->slots[t]) continue;
        const char *suffix = simt_suffix((borg_type)t), *type = e->target->types[t];
        int32_t each = e->lanes * e->rows * e->stride[t];
        simt_line(e, "B_SHARED %s b_s%s[%d];", type, suffix,
                  each * (e->target->opencl ? e->m->pack : e->threads / e->lanes));
        simt_line(e, "B_LOCAL %s *const b_x%s = b_s%s + %s * %d;", type, suffix, suffix,
                  e->target->opencl ? "b_own" : borg_format(e->arena, "threadIdx.x / %d", e->lanes),
                  each);
    }
    for (int t = BORG_I32; t < BORG_PTR; ++t) {
        if (e->wholes[t]) {
            const char *suffix = simt_suffix((borg_type)t), *type = e->target->types[t];
            int32_t each = e->wholes[t] * simt_row_length(e, (borg_type)t);
            simt_line(e, "B_SHARED %s b_alls%s[%d];", type, suffix, e->threads / e->lanes * each);
            simt_line(e, "B_LOCAL %s *const b_all%s = B_ALIGNED(b_alls%s + threadIdx.x / %d * %d);",
                      type, suffix, suffix, e->lanes, each);
        }
        for (int place = 0; place < 2 && e->has_rows[t]; ++place) {
            const char *suffix = simt_suffix((borg_type)t), *type = e->target->types[t];
            int32_t each = simt_row_length(e, (borg_type)t);
            simt_line(e, "B_SHARED %s b_rows%s%d[%d];", type, suffix, place,
                      e->threads / e->lanes * each);
            simt_line(e, "B_LOCAL %s *const b_row%s%d = b_rows%s%d + threadIdx.x / %d * %d;", type,
                      suffix, place, suffix, place, e->lanes, each);
        }
    }
    simt_put_places(e);
    simt_put_locals(e);
    simt_put_held(e);
    if (!e->target->opencl) return;
    for (int t = BORG_I1; t < BORG_PTR; ++t)
        simt_line(e, "B_SHARED %s b_r%s[%d];", e->target->types[t], simt_suffix((borg_type)t),
                  e->m->size * e->m->pack);
}

static void clear_block(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->aux = NULL;
        if (v->block[0]) clear_block(v->block[0]);
        if (v->block[1]) clear_block(v->block[1]);
    }
}

/* Of a group: what is known before the geometry is chosen, and rows, known when all is emitted. */
static int32_t shared_bytes(const simt *e) {
    int32_t bytes = simt_local_bytes(e);
    for (int t = BORG_I32; t < BORG_PTR; ++t) {
        int32_t row = simt_row_length(e, (borg_type)t);
        bytes += (e->lanes * e->rows * e->stride[t] + e->wholes[t] * row) *
                 borg_type_bytes((borg_type)t);
    }
    return bytes;
}

static int32_t row_bytes(const simt *e) {
    int32_t bytes = 0;
    for (int t = BORG_I32; t < BORG_PTR; ++t)
        if (e->has_rows[t])
            bytes += 2 * simt_row_length(e, (borg_type)t) * borg_type_bytes((borg_type)t);
    return bytes;
}

/* Of a block: beyond the first its warps are fewer, beyond the second it cannot be. */
enum { MOST_ARRAYS = 16 * 1024, MOST_SHARED = 48 * 1024 };

/* How the work-items lie in threads, packs in warps and warps in blocks. False: not as was asked.
 */
static bool choose_geometry(simt *e) {
    const borg_module *m = e->m;
    bool interleaved = m->order == BORG_WG_MINOR;
    e->lanes = e->step = 1;
    if (e->target->opencl) {
        e->lanes = m->size;
    } else {
        int32_t most = e->options->lanes > 0 ? e->options->lanes : interleaved ? 1 : 32;
        while (e->lanes < m->size && e->lanes < most) e->lanes *= 2;
        if (interleaved && e->lanes > 1) e->step = 32 / e->lanes;
    }
    e->rows = (m->size + e->lanes - 1) / e->lanes;
    if (e->step > 1 && e->step % m->pack != 0) {
        borg_report(e->diags, BORG_ERROR, (borg_loc){0},
                    "'%s': of interleaved groups in %d threads each a warp holds %d: WG_PACK must "
                    "divide that",
                    m->name, e->lanes, e->step);
        return false;
    }
    simt_plan_locals(e);
    simt_plan_slots(e);
    int32_t width = e->lanes * m->pack;
    e->units = width > 32 ? 0 : 32 / width;
    if (!simt_plan_stages(e)) return false;
    if (e->target->opencl) {
        e->threads = width;
        e->groups = m->pack;
    } else if (e->units == 0) {
        e->threads = (width + 31) / 32 * 32;
        e->groups = m->pack;
    } else {
        /* with arrays a warp for itself: its own part of them needs no address of its own */
        e->threads = m->nlocals > 0 && e->lanes == 32 ? 32 : 128;
        while (e->threads > 32 && (e->threads / e->lanes * shared_bytes(e) > 44 * 1024 ||
                                   e->threads / e->lanes * simt_local_bytes(e) > MOST_ARRAYS ||
                                   e->threads / 32 * simt_stage_bytes(e) > 24 * 1024))
            e->threads /= 2;
        e->groups = e->threads / 32 * e->units * m->pack;
    }
    return true;
}

static bool emit_unit(simt *e, const borg_unit *u) {
    borg_module *m = e->m = u->module;
    e->name = u->name;
    e->tables = e->temps = e->loops = e->branches = 0;
    e->places = NULL;
    e->held = NULL;
    e->shared = NULL;
    e->pointers = NULL;
    e->unseen = false;
    memset(e->has_rows, 0, sizeof e->has_rows);
    borg_number(m);
    borg_count_uses(m);
    clear_block(m->body);
    if (!choose_geometry(e)) return false;
    borg_sink body = {.arena = e->arena}, frame = {.arena = e->arena};
    e->head = e->out;
    e->out = &body;
    e->depth = 1;
    emit_block(e, m->body);
    e->out = &frame;
    int32_t bytes = e->threads / e->lanes * (shared_bytes(e) + row_bytes(e)) +
                    e->threads / 32 * simt_stage_bytes(e);
    if (m->nlocals > 0 && bytes > MOST_SHARED) {
        borg_report(e->diags, BORG_ERROR, (borg_loc){0},
                    "'%s': a block of %d threads needs %d bytes of shared memory for %d groups' "
                    "__local volatile arrays and what they exchange, and has %d",
                    m->name, e->threads, bytes, e->threads / e->lanes, MOST_SHARED);
        return false;
    }
    borg_put(
        &frame,
        "/* %s: %d work-items, %d groups in a pack; a group in %d threads, %d work-items each\n",
        m->name, m->size, m->pack, e->lanes, e->rows);
    borg_put(&frame, " * borg-launch: threads=%d groups=%d shared=%d */\n", e->threads, e->groups,
             bytes);
    borg_put(&frame, "B_KERNEL(%d) %s(", e->threads, u->name);
    put_parameters(e);
    borg_put(&frame, " {\n");
    put_place(e);
    put_items(e);
    put_slots(e);
    simt_stage_in(e);
    e->out = e->head;
    borg_put_text(e->out, frame.text, frame.length);
    if (body.text) borg_put_text(e->out, body.text, body.length);
    simt_stage_out(e);
    borg_put(e->out, "}\n\n");
    return true;
}

borg_status simt_emit(const simt_target *target, const borg_unit *units, int32_t nunits,
                      const borg_options *options, borg_sink *sink, borg_diags *diags) {
    simt e = {
        .target = target, .options = options, .out = sink, .arena = sink->arena, .diags = diags};
    borg_put(sink, "/* Made by borgc. */\n");
    borg_put_text(sink, target->header, strlen(target->header));
    borg_put_text(sink, simt_prelude_text, strlen(simt_prelude_text));
    for (int32_t i = 0; i < nunits; ++i)
        if (!emit_unit(&e, &units[i])) return BORG_ERR_OPTION;
    return BORG_OK;
}
