/* SPDX-License-Identifier: BSD-3-Clause */
/* Staged parameters, for work-groups that lie in one thread each. Of such an array every group has
 * a piece of its own, the pieces lie one after the other, and what a warp's groups have is one run
 * of memory. Alone, a thread that reads its piece makes accesses that lie a piece apart, as many
 * lines as threads. So a warp copies its run to shared memory by accesses side by side, of 16 bytes
 * where pieces are a multiple of that, threads read and write their pieces there, an odd number of
 * such units apart, so that no two meet in a bank, and the run is copied back.
 *
 * Who names a parameter in --stage promises that it is aligned to 16 bytes, that nobody else writes
 * to the pieces meanwhile, and that they may be written whole: elements that the kernel does not
 * write are written with what they were. Sectors of 32 bytes that it does not touch are left out. A
 * piece of which all is written and nothing read is not copied in; where it is a few units
 * long it waits in registers. */
#include "borg/emit/simt/leaves.h"
#include <inttypes.h>
#include <string.h>

enum { UNIT = 16, SECTOR = 32, MOST_BYTES = 1024, MOST_HELD = 32, AT_ONCE = 8 };
enum { MOST_SHARED = 44 * 1024 }; /* a warp's */

typedef struct simt_stage {
    const borg_param *param;
    int32_t index, each;  /* number of the parameter, elements of a piece */
    int32_t units, pitch; /* of a piece, and from piece to piece */
    bool wide;            /* units of 16 bytes; else an element is one */
    bool in, out;         /* is copied in, back */
    bool held;            /* in registers */
    bool *read, *written, *sure;
    uint64_t wanted; /* which of up to 64 units are copied */
} simt_stage;

/* ---- what a kernel does with the array ------------------------------------------------------- */

/* v = a * g0 + c */
static bool by_group(const borg_inst *v, int64_t *a, int64_t *c) {
    int64_t x[2] = {0, 0}, y[2] = {0, 0};
    switch (v->op) {
    case BORG_BCAST:
        return by_group(v->args[0], a, c);
    case BORG_G0:
    case BORG_GID: /* a pack is one group */
        *a = 1, *c = 0;
        return true;
    case BORG_CONST:
        *a = 0, *c = (int64_t)v->bits[0];
        return borg_is_splat(v) && v->type == BORG_I64;
    case BORG_ADD:
    case BORG_MUL:
    case BORG_SHL:
        if (v->rows != 1 || !by_group(v->args[0], &x[0], &x[1]) ||
            !by_group(v->args[1], &y[0], &y[1]))
            return false;
        break;
    default:
        return false;
    }
    if (v->op == BORG_ADD) {
        *a = x[0] + y[0], *c = x[1] + y[1];
        return true;
    }
    if (v->op == BORG_SHL && (y[0] != 0 || y[1] < 0 || y[1] > 16)) return false;
    if (v->op == BORG_SHL) y[1] = (int64_t)1 << y[1];
    if (x[0] != 0 && y[0] != 0) return false;
    *a = x[0] * y[1] + y[0] * x[1], *c = x[1] * y[1];
    return x[1] < INT32_MAX && y[1] < INT32_MAX && x[1] >= 0 && y[1] >= 0;
}

static bool refuse(simt *e, const simt_stage *s, borg_loc loc, const char *why) {
    borg_report(e->diags, BORG_ERROR, loc, "'%s' cannot be staged: %s", s->param->name, why);
    return false;
}

static void mark(simt_stage *s, const borg_inst *v, int64_t at, bool surely) {
    if (borg_stored(v)) {
        s->written[at] = true;
        s->sure[at] = s->sure[at] || surely;
    } else {
        s->read[at] = true;
    }
}

/* All elements that v touches lie in the group's piece: marked. */
static bool look(simt *e, simt_stage *s, const borg_inst *v) {
    const borg_inst *value = borg_stored(v) ? borg_stored(v) : v, *mask = borg_mask(v);
    int64_t a, c;
    bool affine = v->op == BORG_LOADA || v->op == BORG_STOREA;
    if (value->type != s->param->elem) return refuse(e, s, v->loc, "elements of another type");
    if (!affine || !by_group(v->args[1], &a, &c))
        return refuse(e, s, v->loc,
                      "an index that is no constant and multiple of the group (--set?)");
    if (s->each == 0 && a > 0 && a * borg_type_bytes(value->type) <= MOST_BYTES) {
        s->each = (int32_t)a;
        s->read = BORG_NEW(e->arena, a, bool);
        s->written = BORG_NEW(e->arena, a, bool);
        s->sure = BORG_NEW(e->arena, a, bool);
    }
    if (a != s->each) return refuse(e, s, v->loc, "pieces of different lengths, of none, too long");
    int32_t items = value->spread == BORG_WI ? e->m->size : 1;
    for (int32_t i = 0; i < value->rows * items; ++i) {
        int32_t r = i / items, w = i % items;
        int64_t at = c + v->c[r] + (value->spread == BORG_WI ? v->b * w : 0);
        bool known = !mask || mask->op == BORG_CONST;
        if (mask && known && !(borg_const_bits(e->m, mask, mask->rows == 1 ? 0 : r, w) & 1))
            continue;
        if (at < 0 || at >= a) return refuse(e, s, v->loc, "an index outside of the group's piece");
        mark(s, v, at, known && v->parent == e->m->body);
    }
    return true;
}

static bool look_at_all(simt *e, simt_stage *s, const borg_block *block) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        bool access = borg_op_table[v->op].class == BORG_MEMORY && v->nargs > 0 &&
                      v->args[0]->op == BORG_PARAM && v->args[0]->index == s->index;
        if (access && !look(e, s, v)) return false;
        for (int k = 0; k < 2; ++k)
            if (v->block[k] && !look_at_all(e, s, v->block[k])) return false;
    }
    return true;
}

/* ---- how it lies ----------------------------------------------------------------------------- */

static void arrange(simt_stage *s) {
    int32_t bytes = borg_type_bytes(s->param->elem), each = s->each * bytes;
    bool whole = true;
    s->wide = each % UNIT == 0;
    s->units = s->wide ? each / UNIT : s->each;
    s->pitch = s->units | 1;
    s->wanted = ~(uint64_t)0;
    for (int32_t i = 0; i < s->each; ++i) {
        whole = whole && s->sure[i];
        s->in = s->in || s->read[i];
        s->out = s->out || s->written[i];
    }
    s->in = s->in || !whole;
    s->held = !s->in && s->wide && each <= MOST_HELD;
    if (!s->in || each % SECTOR != 0 || s->units > 64) return;
    s->wanted = 0;
    for (int32_t i = 0; i < s->each; ++i) {
        int32_t sector = i * bytes / SECTOR * (SECTOR / UNIT);
        if (s->read[i] || s->written[i]) s->wanted |= (uint64_t)3 << sector;
    }
    if (s->wanted == ~(uint64_t)0 >> (64 - s->units)) s->wanted = ~(uint64_t)0;
}

static bool plan(simt *e, simt_stage *s, const char *name, size_t length) {
    int32_t i = 0;
    const borg_module *m = e->m;
    while (i < m->nparams &&
           (strncmp(m->params[i].name, name, length) != 0 || m->params[i].name[length] != 0))
        ++i;
    if (i == m->nparams || m->params[i].type != BORG_PTR || m->params[i].depth != 1) {
        borg_report(e->diags, BORG_ERROR, (borg_loc){0},
                    "--stage: '%s' has no parameter '%.*s' that is a pointer", m->name, (int)length,
                    name);
        return false;
    }
    *s = (simt_stage){.param = &m->params[i], .index = i};
    if (borg_is_narrow(s->param->elem))
        return refuse(e, s, (borg_loc){0}, "its elements are char, short or half");
    if (e->target->opencl || e->lanes != 1 || m->pack != 1)
        return refuse(e, s, (borg_loc){0},
                      "not in CUDA with a group in each thread (--lane-order=wg)");
    for (int32_t k = 0; k < e->nstages; ++k)
        if (e->stages[k].index == i) return refuse(e, s, (borg_loc){0}, "it is named twice");
    if (!look_at_all(e, s, m->body)) return false;
    if (s->each == 0) return refuse(e, s, (borg_loc){0}, "nothing is done with it");
    arrange(s);
    return true;
}

bool simt_plan_stages(simt *e) {
    const char *list = e->options->stage;
    e->nstages = 0;
    e->stages = list ? BORG_NEW(e->arena, e->m->nparams, simt_stage) : NULL;
    while (list && *list) {
        size_t length = strcspn(list, ",");
        if (e->nstages == e->m->nparams || !plan(e, &e->stages[e->nstages], list, length))
            return false;
        ++e->nstages;
        if (simt_stage_bytes(e) > MOST_SHARED)
            return refuse(e, &e->stages[e->nstages - 1], (borg_loc){0}, "shared memory is short");
        list += length + (list[length] == ',');
    }
    return true;
}

static int32_t unit_bytes(const simt_stage *s) {
    return s->wide ? UNIT : borg_type_bytes(s->param->elem);
}

int32_t simt_stage_bytes(const simt *e) {
    int32_t bytes = 0;
    for (int32_t i = 0; i < e->nstages; ++i)
        if (!e->stages[i].held) bytes += 32 * e->stages[i].pitch * unit_bytes(&e->stages[i]);
    return bytes;
}

const char *simt_staged(simt *e, const borg_inst *v, int32_t row, int32_t item) {
    const borg_inst *value = borg_stored(v) ? borg_stored(v) : v;
    int64_t a = 0, c = 0;
    for (int32_t i = 0; i < e->nstages; ++i) {
        const simt_stage *s = &e->stages[i];
        if (v->args[0]->op != BORG_PARAM || v->args[0]->index != s->index) continue;
        by_group(v->args[1], &a, &c);
        int64_t at = c + v->c[row];
        if (value->spread == BORG_WI) at += v->b * (item < e->m->size ? item : e->m->size - 1);
        if (at < 0 || at >= s->each) at = 0; /* never touched */
        return borg_format(e->arena, s->held ? "b_q_%s.x[%" PRId64 "]" : "b_q_%s[%" PRId64 "]",
                           s->param->name, at);
    }
    return NULL;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Unit k * 32 + lane of the run: where it lies in shared memory. */
static const char *place(simt *e, const simt_stage *s, int32_t k) {
    int32_t n = s->units;
    if (32 % n == 0)
        return borg_format(e->arena, "b_lane / %d * %d + b_lane %% %d + %d", n, s->pitch, n,
                           k * (32 / n) * s->pitch);
    if (n % 32 == 0)
        return borg_format(e->arena, "b_lane + %d", k / (n / 32) * s->pitch + k % (n / 32) * 32);
    return borg_format(e->arena, "(b_lane + %d) / %d * %d + (b_lane + %d) %% %d", 32 * k, n,
                       s->pitch, 32 * k, n);
}

/* A condition in front of what is done with that unit, or "". */
static const char *wanted(simt *e, const simt_stage *s, const char *unit) {
    if (s->wanted == ~(uint64_t)0) return "";
    return borg_format(e->arena, "if ((b_i64)0x%" PRIx64 "u >> (%s) %% %d & 1u) ", s->wanted, unit,
                       s->units);
}

static const char *unit_type(const simt *e, const simt_stage *s) {
    return s->wide ? "b_i128" : e->target->types[s->param->elem];
}

/* The rest of a batch, fewer than 32 groups. Asynchronous copies: no turn waits for the one
 * before. */
static void put_rest(simt *e, const simt_stage *s, bool in) {
    const char *name = s->param->name;
    ctext_line(&e->c, "    B_ROLLED");
    ctext_line(&e->c, "    for (int q = b_lane; q < b_here * %d; q += 32)", s->units);
    const char *at = borg_format(e->arena, "b_all_%s[q / %d * %d + q %% %d]", name, s->units,
                                 s->pitch, s->units);
    const char *run = borg_format(e->arena, "b_run_%s[q]", name);
    ctext_line(&e->c, in ? "        %sb_copy(&%s, &%s);" : "        %s%s = %s;", wanted(e, s, "q"),
               in ? at : run, in ? run : at);
}

static void put_in(simt *e, const simt_stage *s) {
    const char *name = s->param->name, *type = unit_type(e, s);
    bool direct = s->units <= AT_ONCE; /* by registers: sooner there than an asynchronous copy */
    ctext_line(&e->c, "if (b_here == 32) {");
    for (int32_t k = 0; k < s->units; ++k) {
        const char *if_wanted = wanted(e, s, borg_format(e->arena, "b_lane + %d", 32 * k));
        if (direct) {
            ctext_line(&e->c, "    const %s c%d = b_run_%s[b_lane + %d];", type, k, name, 32 * k);
        } else {
            ctext_line(&e->c, "    %sb_copy(&b_all_%s[%s], &b_run_%s[b_lane + %d]);", if_wanted,
                       name, place(e, s, k), name, 32 * k);
        }
    }
    for (int32_t k = 0; direct && k < s->units; ++k)
        ctext_line(&e->c, "    b_all_%s[%s] = c%d;", name, place(e, s, k), k);
    ctext_line(&e->c, "} else {");
    put_rest(e, s, true);
    ctext_line(&e->c, "}");
}

static void put_out(simt *e, const simt_stage *s) {
    const char *name = s->param->name, *type = unit_type(e, s);
    ctext_line(&e->c, "if (b_here == 32) {");
    for (int32_t from = 0; from < s->units; from += AT_ONCE) {
        int32_t to = from + AT_ONCE < s->units ? from + AT_ONCE : s->units;
        for (int32_t k = from; k < to; ++k)
            ctext_line(&e->c, "    const %s c%d = b_all_%s[%s];", type, k, name, place(e, s, k));
        for (int32_t k = from; k < to; ++k)
            ctext_line(&e->c, "    %sb_run_%s[b_lane + %d] = c%d;",
                       wanted(e, s, borg_format(e->arena, "b_lane + %d", 32 * k)), name, 32 * k, k);
    }
    ctext_line(&e->c, "} else {");
    put_rest(e, s, false);
    ctext_line(&e->c, "}");
}

void simt_stage_in(simt *e) {
    bool copies = false;
    if (e->nstages == 0) return;
    ctext_line(&e->c, "const int b_lane = threadIdx.x %% 32;");
    ctext_line(&e->c, "const b_s64 b_first = b_g0 - b_lane;");
    ctext_line(&e->c, "const int b_here = b_last - b_first < 32 ? (int)(b_last - b_first) : 32;");
    ctext_line(&e->c, "(void)b_first, (void)b_here;");
    for (int32_t i = 0; i < e->nstages; ++i) {
        const simt_stage *s = &e->stages[i];
        const char *name = s->param->name, *type = e->target->types[s->param->elem];
        const char *unit = unit_type(e, s);
        if (s->held) {
            ctext_line(&e->c, "union { %s x[%d]; %s u[%d]; } b_q_%s;", type, s->each, unit,
                       s->units, name);
            continue;
        }
        ctext_line(&e->c, "B_SHARED %s b_stage_%s[%d];", unit, name, e->threads * s->pitch);
        ctext_line(&e->c, "B_LOCAL %s *const b_all_%s = b_stage_%s + threadIdx.x / 32 * %d;", unit,
                   name, name, 32 * s->pitch);
        ctext_line(&e->c, "B_LOCAL %s *const b_q_%s = (%s *)(b_all_%s + b_lane * %d);", type, name,
                   type, name, s->pitch);
        ctext_line(&e->c, "B_GLOBAL %s *const b_run_%s = (%s *)((%s *)p_%s + b_first * %d);", unit,
                   name, unit, type, name, s->each);
        if (s->in) put_in(e, s);
        copies = copies || s->in;
    }
    if (copies) ctext_line(&e->c, "b_copied();");
    ctext_line(&e->c, "b_syncwarp(B_WARP);");
    ctext_line(&e->c, "if (b_g0 < b_last) {");
}

void simt_stage_out(simt *e) {
    if (e->nstages == 0) return;
    for (int32_t i = 0; i < e->nstages; ++i) {
        const simt_stage *s = &e->stages[i];
        const char *name = s->param->name;
        for (int32_t k = 0; s->held && k < s->units; ++k)
            ctext_line(&e->c, "((b_i128 *)((%s *)p_%s + b_g0 * %d))[%d] = b_q_%s.u[%d];",
                       e->target->types[s->param->elem], name, s->each, k, name, k);
    }
    ctext_line(&e->c, "}");
    ctext_line(&e->c, "b_syncwarp(B_WARP);");
    for (int32_t i = 0; i < e->nstages; ++i)
        if (e->stages[i].out && !e->stages[i].held) put_out(e, &e->stages[i]);
}
