/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of a kernel on a SIMT machine: geometry, parameters, shared memory. */
#include "borg/emit/simt/simt.h"
#include "borg/emit/simt/leaves.h"
#include "borg/emit/simt/walk.h"
#include <inttypes.h>
#include <string.h>

/* ---- the frame ------------------------------------------------------------------------------- */

static const char *element_type(const borg_param *p) {
    static const char *const types[][2] = {{"void", "void"},
                                           {"b_bool", "b_bool"},
                                           {"b_s32", "b_i32"},
                                           {"b_s64", "b_i64"},
                                           {"float", "float"},
                                           {"double", "double"},
                                           {"b_i64", "b_i64"},
                                           {"signed char", "unsigned char"},
                                           {"short", "unsigned short"},
                                           {"unsigned short", "unsigned short"}};
    return types[p->type == BORG_PTR ? p->elem : p->type][p->uns];
}

static void put_parameters(simt *e) {
    for (int32_t i = 0; i < e->m->nparams; ++i) {
        const borg_param *p = &e->m->params[i];
        if (p->type == BORG_PTR && p->depth > 1 && e->target->opencl) {
            borg_put(e->c.out, "B_GLOBAL const b_i64 *");
        } else if (p->type == BORG_PTR && p->depth > 1) {
            borg_put(e->c.out, "%s%s *const *", p->readonly ? "const " : "", element_type(p));
        } else if (p->type == BORG_PTR) {
            borg_put(e->c.out, "B_GLOBAL %s%s *%s", p->readonly ? "const " : "", element_type(p),
                     p->restricted ? "B_RESTRICT " : "");
        } else {
            borg_put(e->c.out, "%s ", element_type(p));
        }
        borg_put(e->c.out, "p_%s, ", p->name);
    }
    borg_put(e->c.out, "b_s64 b_from, b_s64 b_last)");
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
        ctext_line(&e->c, "const int b_base = threadIdx.x %% %d;", e->step);
        ctext_line(&e->c, "const unsigned b_group = 0x%" PRIx32 "u << b_base;", each_step(e, 1));
        ctext_line(&e->c, "const unsigned b_pack = 0x%" PRIx32 "u << b_base / %d * %d;",
                   each_step(e, pack), pack, pack);
        ctext_line(&e->c, "(void)b_base, (void)b_group, (void)b_pack;");
        return;
    }
    ctext_line(&e->c, "const int b_base = threadIdx.x %% 32 / %d * %d;", e->lanes, e->lanes);
    if (e->lanes == 32) {
        ctext_line(&e->c, "const unsigned b_group = B_WARP;");
    } else {
        ctext_line(&e->c, "const unsigned b_group = ((1u << %d) - 1) << b_base;", e->lanes);
    }
    if (e->units <= 1) {
        ctext_line(&e->c, "const unsigned b_pack = B_WARP;");
    } else {
        ctext_line(&e->c,
                   "const unsigned b_pack = ((1u << %d) - 1) << (threadIdx.x %% 32 / %d * %d);",
                   width, width, width);
    }
    ctext_line(&e->c, "(void)b_base, (void)b_group, (void)b_pack;");
}

/* Where this thread is. CUDA: several packs in a warp, one, or several warps for a pack. In a flat
 * module an element of each thread, and no thread waits for another. */
static void put_place(simt *e) {
    int32_t pack = e->m->pack, width = e->lanes * pack;
    if (e->m->flat) {
        ctext_line(&e->c, "const int b_at = threadIdx.x %% 32;");
        ctext_line(
            &e->c,
            "const b_s64 b_g0 = b_from * %d + (b_s64)blockIdx.x * %d + threadIdx.x / 32 * %d;",
            e->m->flat, e->threads * e->rows, e->m->size);
        ctext_line(&e->c, "if (b_g0 + b_at >= b_last * %d) return;", e->m->flat);
    } else if (e->target->opencl) {
        ctext_line(&e->c, "const int b_at = (int)get_local_id(0);");
        ctext_line(&e->c, "const b_s64 b_g0 = b_from + (b_s64)get_group_id(0) * %d;", pack);
    } else if (e->units == 0) {
        ctext_line(&e->c, "const int b_at = threadIdx.x;");
        ctext_line(&e->c, "const b_s64 b_g0 = b_from + (b_s64)blockIdx.x * %d;", pack);
    } else if (e->step > 1) {
        ctext_line(&e->c, "const b_s64 b_warp = (b_s64)blockIdx.x * %d + threadIdx.x / 32;",
                   e->threads / 32);
        ctext_line(&e->c,
                   "const b_s64 b_g0 = b_from + (b_warp * %d + threadIdx.x %% %d / %d) * %d;",
                   e->units, e->step, pack, pack);
    } else if (e->units * width == 32) {
        ctext_line(&e->c, "const int b_at = threadIdx.x %% %d;", width);
        ctext_line(&e->c, "const b_s64 b_unit = (b_s64)blockIdx.x * %d + threadIdx.x / %d;",
                   e->threads / width, width);
        ctext_line(&e->c, "const b_s64 b_g0 = b_from + b_unit * %d;", pack);
    } else {
        ctext_line(&e->c, "const int b_part = threadIdx.x %% 32 / %d;", width);
        ctext_line(&e->c, "const int b_at = threadIdx.x %% 32 %% %d;", width);
        ctext_line(&e->c, "const b_s64 b_warp = (b_s64)blockIdx.x * %d + threadIdx.x / 32;",
                   e->threads / 32);
        ctext_line(&e->c, "const b_s64 b_g0 = b_from + (b_warp * %d + b_part) * %d;", e->units,
                   pack);
        ctext_line(&e->c, "if (b_part >= %d) return;", e->units);
    }
    if (e->nstages == 0 && !e->m->flat) ctext_line(&e->c, "if (b_g0 >= b_last) return;");
    if (e->step > 1) {
        ctext_line(&e->c, "const int b_l = threadIdx.x %% 32 / %d, b_own = threadIdx.x %% %d;",
                   e->step, pack);
    } else {
        if (simt_holds(e) &&
            e->lanes < 32) { /* a variable: the compiler would compute the remainder at each use */
            ctext_line(&e->c, "int b_l0 = (int)threadIdx.x / %d * %d;", e->lanes, e->lanes);
            ctext_line(&e->c, "B_HOLD(b_l0);");
            ctext_line(&e->c, "const int b_l = (int)threadIdx.x - b_l0;");
        } else {
            ctext_line(&e->c, "const int b_l = b_at %% %d;", e->lanes);
        }
        ctext_line(&e->c, "const int b_own = b_at / %d;", e->lanes);
    }
    if (pack == 1) {
        ctext_line(&e->c, "const int b_wg = 0;");
    } else {
        const char *beyond = e->threads > width && e->units == 0
                                 ? borg_format(e->arena, "(b_own < %d) & ", pack)
                                 : "";
        ctext_line(&e->c, "const b_bool b_there = %s(b_g0 + b_own < b_last);", beyond);
        ctext_line(&e->c, "const b_s64 b_end = b_last - 1 - b_g0;");
        ctext_line(&e->c, "const int b_wg = b_there ? b_own : b_end < %d ? (int)b_end : %d;",
                   pack - 1, pack - 1);
    }
    put_masks(e, width);
    ctext_line(&e->c, "const b_bool b_first_of_group = %s(b_l == 0);",
               pack > 1 ? "b_there & " : "");
    ctext_line(&e->c, "const b_bool b_first_of_pack = b_first_of_group & (b_own == 0);");
    ctext_line(&e->c, "(void)b_first_of_pack, (void)b_wg, (void)b_own;");
}

static void put_items(simt *e) {
    if (e->lanes == 1) return;
    for (int32_t j = 0; j < e->rows; ++j) {
        int32_t from = j * e->lanes, size = e->m->size;
        bool all = from + e->lanes <= size;
        if (e->m->flat && j > 0) { /* beyond the last element: the first one again */
            ctext_line(&e->c, "const b_bool b_on%d = b_g0 + b_l + %d < b_last * %d;", j, from,
                       e->m->flat);
            ctext_line(&e->c, "const int b_w%d = b_on%d ? b_l + %d : b_l;", j, j, from);
        } else if (all) {
            ctext_line(&e->c, "const int b_w%d = b_l + %d;", j, from);
        } else {
            ctext_line(&e->c, "const int b_w%d = b_l + %d < %d ? b_l + %d : %d;", j, from, size,
                       from, size - 1);
            ctext_line(&e->c, "const b_bool b_on%d = (b_l + %d < %d)%s;", j, from, size,
                       e->m->pack > 1 ? " & b_there" : "");
            ctext_line(&e->c, "(void)b_on%d;", j);
        }
        ctext_line(&e->c, "(void)b_w%d;", j);
    }
}

/* A group's part of shared memory: its work-items, each with its slots. */
static void put_slots(simt *e) {
    for (int t = BORG_I32; t < BORG_PTR; ++t) {
        if (!e->slots[t]) continue;
        const char *suffix = simt_suffix((borg_type)t), *type = e->target->types[t];
        int32_t each = e->lanes * e->rows * e->stride[t];
        ctext_line(&e->c, "B_SHARED %s b_s%s[%d];", type, suffix,
                   each * (e->target->opencl ? e->m->pack : e->threads / e->lanes));
        ctext_line(&e->c, "B_LOCAL %s *const b_x%s = b_s%s + %s * %d;", type, suffix, suffix,
                   e->target->opencl ? "b_own"
                                     : borg_format(e->arena, "threadIdx.x / %d", e->lanes),
                   each);
    }
    for (int t = BORG_I32; t < BORG_PTR; ++t) {
        if (e->wholes[t]) {
            const char *suffix = simt_suffix((borg_type)t), *type = e->target->types[t];
            int32_t each = e->wholes[t] * simt_row_length(e, (borg_type)t);
            ctext_line(&e->c, "B_SHARED %s b_alls%s[%d];", type, suffix,
                       e->threads / e->lanes * each);
            ctext_line(&e->c,
                       "B_LOCAL %s *const b_all%s = B_ALIGNED(b_alls%s + threadIdx.x / %d * %d);",
                       type, suffix, suffix, e->lanes, each);
        }
        for (int place = 0; place < 2 && e->has_rows[t]; ++place) {
            const char *suffix = simt_suffix((borg_type)t), *type = e->target->types[t];
            int32_t each = simt_row_length(e, (borg_type)t);
            ctext_line(&e->c, "B_SHARED %s b_rows%s%d[%d];", type, suffix, place,
                       e->threads / e->lanes * each);
            ctext_line(&e->c, "B_LOCAL %s *const b_row%s%d = b_rows%s%d + threadIdx.x / %d * %d;",
                       type, suffix, place, suffix, place, e->lanes, each);
        }
    }
    simt_put_places(e);
    simt_put_locals(e);
    simt_put_held(e);
    if (!e->target->opencl) return;
    for (int t = BORG_I1; t < BORG_PTR; ++t)
        ctext_line(&e->c, "B_SHARED %s b_r%s[%d];", e->target->types[t], simt_suffix((borg_type)t),
                   e->m->size * e->m->pack);
}

/* Bytes of a group: those known before the geometry is chosen, and below those of rows, which are
 * known when all is emitted. */
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

/* Bytes of a block: with more arrays than the first a block gets fewer warps, with more memory than
 * the second the kernel is refused. */
enum { MOST_ARRAYS = 16 * 1024, MOST_SHARED = 48 * 1024, MOST_THREADS = 512 };

/* Threads of a block that does whole groups of a flat module, whole warps; 0: there is no such
 *   block. */
static int32_t flat_threads(const borg_module *m) {
    int32_t threads = 32;
    while (threads <= MOST_THREADS && (threads < 128 || threads * (m->size / 32) % m->flat))
        threads += 32;
    return threads <= MOST_THREADS ? threads : 0;
}

/* Blocks of a flat module that a multiprocessor must hold: compilers else keep what all items read
 * in registers until few warps are left. A thread with several items needs more registers and fewer
 * others beside it. */
static int32_t flat_blocks(const simt *e) {
    enum { REGISTERS = 65536, OF_ONE = 64, OF_SEVERAL = 128 };
    const int32_t blocks = REGISTERS / (e->rows > 1 ? OF_SEVERAL : OF_ONE) / e->threads;
    return blocks > 1 ? blocks : 1;
}

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
    simt_plan_maxima(e);
    simt_plan_slots(e, simt_local_bytes(e));
    int32_t width = e->lanes * m->pack;
    e->units = width > 32 ? 0 : 32 / width;
    if (!simt_plan_stages(e)) return false;
    if (m->flat) {
        e->threads = flat_threads(m);
        e->groups = e->threads * e->rows / m->flat;
    } else if (e->target->opencl) {
        e->threads = width;
        e->groups = m->pack;
    } else if (e->units == 0) {
        e->threads = (width + 31) / 32 * 32;
        e->groups = m->pack;
    } else {
        /* where there are arrays a warp has a block for itself: then their address is a constant */
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
    const bool flat = u->flat && !e->target->opencl && flat_threads(u->flat) && !e->options->stage;
    borg_module *m = e->m = flat ? u->flat : u->module;
    e->name = u->name;
    e->tables = e->c.temps = e->loops = e->branches = 0;
    e->places = NULL;
    e->held = NULL;
    e->shared = NULL;
    e->pointers = NULL;
    e->unseen = false;
    memset(e->has_rows, 0, sizeof e->has_rows);
    borg_number(m);
    borg_count_uses(m);
    ctext_clear(m->body);
    if (!choose_geometry(e)) return false;
    borg_sink body = {.arena = e->arena}, frame = {.arena = e->arena};
    e->head = e->c.out;
    e->c.out = &body;
    e->c.depth = 1;
    simt_block(&e->c, m->body);
    e->c.out = &frame;
    int32_t bytes = e->threads / e->lanes * (shared_bytes(e) + row_bytes(e)) +
                    e->threads / 32 * simt_stage_bytes(e);
    if (m->nlocals > 0 && bytes > MOST_SHARED) {
        borg_report(e->diags, BORG_ERROR, (borg_loc){0},
                    "'%s': a block of %d threads needs %d bytes of shared memory for %d groups' "
                    "__local volatile arrays and what they exchange, and has %d",
                    m->name, e->threads, bytes, e->threads / e->lanes, MOST_SHARED);
        return false;
    }
    if (flat) borg_put(&frame, "/* flat: a group is %d elements, each in a thread */\n", m->flat);
    borg_put(
        &frame,
        "/* %s: %d work-items, %d groups in a pack; a group in %d threads, %d work-items each\n",
        m->name, m->size, m->pack, e->lanes, e->rows);
    borg_put(&frame, " * borg-launch: threads=%d groups=%d shared=%d */\n", e->threads, e->groups,
             bytes);
    if (flat)
        borg_put(&frame, "B_FLAT(%d, %d, %d) %s(", e->threads, e->lanes, flat_blocks(e), u->name);
    else
        borg_put(&frame, "B_KERNEL(%d, %d) %s(", e->threads, e->lanes, u->name);
    put_parameters(e);
    borg_put(&frame, " {\n");
    put_place(e);
    put_items(e);
    put_slots(e);
    simt_stage_in(e);
    e->c.out = e->head;
    borg_put_text(e->c.out, frame.text, frame.length);
    if (body.text) borg_put_text(e->c.out, body.text, body.length);
    simt_stage_out(e);
    borg_put(e->c.out, "}\n\n");
    return true;
}

static int32_t count_of(const ctext *c, const borg_inst *v) {
    return simt_count((const simt *)c, v);
}

static const char *type_of(const ctext *c, const borg_inst *v) {
    return ((const simt *)c)->target->types[v->type];
}

static const char *part_of(const ctext *c, const borg_inst *v, int32_t i) {
    return simt_get((const simt *)c, v, i);
}

static const ctext_literals literals[2] = {{.before = {"", "(b_i64)"},
                                            .behind = {"u", "ull"},
                                            .nan = {"b_nan_f32()", "b_nan_f64()"},
                                            .infinity = {"b_infinity_f32()", "b_infinity_f64()"}},
                                           {.before = {"", "(b_i64)"},
                                            .behind = {"u", "ul"},
                                            .nan = {"b_nan_f32()", "b_nan_f64()"},
                                            .infinity = {"b_infinity_f32()", "b_infinity_f64()"}}};

borg_status simt_emit(const simt_target *target, const borg_unit *units, int32_t nunits,
                      const borg_options *options, borg_sink *sink, borg_diags *diags) {
    simt e = {.c = {.arena = sink->arena,
                    .out = sink,
                    .literals = &literals[target->opencl],
                    .count = count_of,
                    .type = type_of,
                    .part = part_of,
                    .block = simt_block,
                    .loop = simt_loop,
                    .branch = simt_if},
              .target = target,
              .options = options,
              .arena = sink->arena,
              .diags = diags};
    borg_put(sink, "/* Made by borgc. */\n");
    borg_put_text(sink, target->header, strlen(target->header));
    borg_put_text(sink, simt_prelude_text, strlen(simt_prelude_text));
    for (int32_t i = 0; i < nunits; ++i)
        if (!emit_unit(&e, &units[i])) return BORG_ERR_OPTION;
    return BORG_OK;
}
