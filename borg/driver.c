/* SPDX-License-Identifier: BSD-3-Clause */
/* The pipeline, on one screen:
 *     lex -> parse -> check -> for each kernel: lower -> passes -> unit        then: backend */
#include "borg/ast.h"
#include "borg/options.h"
#include "borg/passes.h"
#include <stdlib.h>
#include <string.h>

/* Measured (bench/results/borg.md): at 0.28 to 0.57 of the unrolled code's cost, which counts its
 * length, loops are as fast or faster; at 0.73 to 0.83 of it they take 1.4 times as long. */
#define MUCH_CHEAPER 0.6

/* Of a flat module, where the machine is to choose: registers side by side; stores, up to which it
 * is one. */
enum { MOST_SIDE_BY_SIDE = 3, MOST_STREAMS = 4 };

static bool wants(const borg_options *o, const char *what) {
    return o->dump && o->dump_to && strcmp(o->dump, what) == 0;
}

/* One kernel for one pack and order; NULL if there were errors. */
static borg_module *make_once(borg_program *p, const borg_function *kernel, const borg_options *o,
                              int32_t pack, borg_order order, borg_plan *plan,
                              borg_status *status) {
    borg_module *m = borg_lower(kernel, &p->arena, o, pack, order, plan, &p->diags);
    *status = m ? BORG_OK : BORG_ERR_SOURCE;
    if (!m) return NULL;
    if (wants(o, "ssa")) borg_print(m, o->dump_to);
    if (borg_run_passes(m, o, &p->diags)) return m;
    *status = BORG_ERR_INTERNAL;
    return NULL;
}

/* A matrix in each lane: measured, the stores and loads of loops then cost more than spilled
 * registers do. */
static bool in_lanes(const borg_machine *machine, int32_t pack, borg_order order) {
    return order == BORG_WG_MINOR && pack * 8 >= machine->vector_bytes;
}

/* All unrolled; and where that is longer than the machine's instruction cache, with loops that stay
 * loops, if that makes it much cheaper. */
static borg_module *make_module(borg_program *p, const borg_function *kernel, const borg_options *o,
                                int32_t pack, borg_order order, borg_status *status) {
    const borg_machine *machine = o->backend ? &o->backend->machine : NULL;
    if (!machine || !machine->rolls || o->loops == BORG_LOOPS_NEVER ||
        (in_lanes(machine, pack, order) && o->loops == BORG_LOOPS_AUTO))
        return make_once(p, kernel, o, pack, order, NULL, status);
    borg_options trial = *o;
    trial.dump_to = NULL; /* only what is chosen is dumped */
    borg_plan *plan = borg_plan_new(&p->arena, kernel);
    borg_module *m = make_once(p, kernel, &trial, pack, order, plan, status), *rolled = NULL;
    if (!m) return NULL;
    const double cost = borg_cost(m, machine);
    const borg_diags told = p->diags;
    borg_status ignored;
    const bool always = o->loops == BORG_LOOPS_ALWAYS;
    if ((always || borg_code(m, machine) > machine->code) && borg_plan_arrays(plan, m, machine))
        rolled = make_once(p, kernel, &trial, pack, order, plan, &ignored);
    p->diags = told; /* what the first one said is enough */
    if (told.last) told.last->next = NULL;
    if (rolled &&
        (borg_plan_failed(plan) || (!always && borg_cost(rolled, machine) > MUCH_CHEAPER * cost)))
        rolled = NULL;
    const bool keeps = rolled != NULL;
    if (keeps) m = rolled;
    if (o->dump_to) m = make_once(p, kernel, o, pack, order, keeps ? plan : NULL, status);
    if (m) m->rolled = keeps;
    return m;
}

static borg_module *make_ordered(borg_program *p, const borg_function *kernel,
                                 const borg_options *o, int32_t pack, borg_status *status) {
    borg_order order = o->order == BORG_ORDER_AUTO ? BORG_WI_MINOR : o->order;
    borg_module *m = make_module(p, kernel, o, pack, order, status);
    if (!m || o->order != BORG_ORDER_AUTO || !o->backend) return m;
    /* values do not depend on the lane order: the module can be given the other one as it is */
    m->order = borg_choose_order(m, &o->backend->machine);
    if (m->nlocals && in_lanes(&o->backend->machine, pack, m->order))
        m = make_module(p, kernel, o, pack, m->order, status);
    return m;
}

static bool crosses_lanes(const borg_module *m) {
    for (const borg_inst *v = m->body->first; v; v = v->next) {
        const borg_class class = borg_op_table[v->op].class;
        const bool moves = class == BORG_LAYOUT && v->op != BORG_BCAST && v->op != BORG_ROWS;
        if (moves || class == BORG_REDUCE || class == BORG_CONTROL || v->op == BORG_BARRIER)
            return true;
    }
    return m->nlocals > 0;
}

/* The same kernel by elements side by side; NULL where its lanes have to do with each other
 * (pass_flat.c), or on an error, which the other modules had, too. */
static borg_module *flat_of(borg_program *p, const borg_function *kernel, const borg_options *o,
                            int32_t lanes) {
    const borg_diags told = p->diags;
    borg_options flat = *o;
    borg_status status;
    flat.dump_to = NULL;
    flat.flat_lanes = lanes;
    borg_module *m = make_once(p, kernel, &flat, 1, BORG_WI_MINOR, NULL, &status);
    p->diags = told;
    if (told.last) told.last->next = NULL;
    return m && m->flat ? m : NULL;
}

static double cost_of_element(borg_module *m, const borg_machine *machine) {
    return borg_cost_of_group(m, machine) / m->size;
}

/* On GPUs: an item in a thread, or several, which share what all read and ask for memory together.
 * Measured (bench/results/borg.md), four are faster where an item has few operations for each
 * access, and slower by a third where it has hundreds. What is read by an index from memory stays
 * single: items beyond the last would read anywhere. */
static int32_t items_of_thread(const borg_module *m, int32_t wanted) {
    enum { SEVERAL = 4, OPERATIONS = 16 };
    int64_t accesses = 0, operations = 0;
    for (const borg_inst *v = m->body->first; v; v = v->next) {
        const borg_class class = borg_op_table[v->op].class;
        if (v->op == BORG_LOAD && v->spread == BORG_WI) return 1;
        if (class == BORG_MEMORY) accesses += borg_stored(v) ? borg_stored(v)->rows : v->rows;
        if (class == BORG_ELEM && v->spread == BORG_WI) operations += v->rows;
    }
    if (wanted > 0) return wanted;
    return operations <= OPERATIONS * accesses ? SEVERAL : 1;
}

/* Stores of a module: each writes a stream of its own. */
static int32_t stores_of(const borg_module *m) {
    int32_t stores = 0;
    for (const borg_inst *v = m->body->first; v; v = v->next) stores += borg_stored(v) != NULL;
    return stores;
}

/* For machines that want it: one register after the other; two where many streams are written
 * (measured, PADE past the caches of a Xeon: two lines of each at a time take 0.7 of the time);
 * some side by side where results wait for each other: of FRCG two are fastest on a Xeon, four on
 * an EPYC, three within a tenth on both. */
static borg_module *make_flat(borg_program *p, const borg_function *kernel, const borg_options *o,
                              const borg_module *module) {
    const borg_machine *machine = o->backend ? &o->backend->machine : NULL;
    if (!machine || !machine->flat || o->flat < 0 || o->optimise < 0 ||
        (machine->simt && (o->lanes || o->stage)) || crosses_lanes(module))
        return NULL;
    if (machine->simt) return flat_of(p, kernel, o, 32 * items_of_thread(module, o->flat));
    const int32_t lanes = machine->vector_bytes / (borg_has_doubles(module->body) ? 8 : 4);
    borg_module *m = flat_of(p, kernel, o, lanes * (o->flat ? o->flat : 1));
    if (m && o->flat == 0 && stores_of(m) > MOST_STREAMS) return flat_of(p, kernel, o, lanes * 2);
    for (int32_t k = 2; m && o->flat == 0 && k <= MOST_SIDE_BY_SIDE && borg_waits(m, machine); ++k)
        m = flat_of(p, kernel, o, lanes * k);
    return m;
}

static borg_status make_unit(borg_program *p, const borg_function *kernel, const borg_options *o) {
    int32_t pack = o->pack ? o->pack : 1;
    borg_unit *unit = &p->units[p->nunits];
    unit->name = o->name ? o->name : kernel->name;
    borg_status status;
    if (o->size == BORG_ANY_SIZE) { /* the backend takes the tree */
        unit->tree = kernel;
        ++p->nunits;
        return BORG_OK;
    }
    unit->module = make_ordered(p, kernel, o, pack, &status);
    if (!unit->module) return status;
    if (pack > 1 && !o->whole_packs) {
        borg_options quiet = *o; /* only the module of the pack is dumped */
        quiet.dump_to = NULL;
        quiet.order = BORG_WI_MINOR; /* one group: the orders are the same */
        unit->tail = make_ordered(p, kernel, &quiet, 1, &status);
        if (!unit->tail) return status;
    }
    unit->flat = make_flat(p, kernel, o, unit->module);
    if (wants(o, "infreg")) {
        borg_print_groups(unit->module, o->dump_to);
        borg_print_lanes(unit->module, o->dump_to);
        if (unit->tail) borg_print(unit->tail, o->dump_to);
    }
    ++p->nunits;
    return BORG_OK;
}

/* -D's and the constants that are always there. */
static const char *const *all_defines(borg_program *p, const borg_options *o) {
    size_t count = 0;
    while (o->defines && o->defines[count]) ++count;
    const char **list = BORG_NEW(&p->arena, count + 5, const char *);
    for (size_t i = 0; i < count; ++i) list[i] = o->defines[i];
    list[count] = o->size == BORG_ANY_SIZE ? "WG_SIZE=get_local_size()"
                                           : borg_format(&p->arena, "WG_SIZE=%d", o->size);
    list[count + 1] = borg_format(&p->arena, "WG_PACK=%d", o->pack ? o->pack : 1);
    /* 0: a machine whose work-items have registers of their own, or none was named */
    list[count + 2] =
        borg_format(&p->arena, "WG_VECTOR_BYTES=%d",
                    o->backend && !o->backend->machine.simt ? o->backend->machine.vector_bytes : 0);
    if (o->backend && o->backend->machine.simt) list[count + 3] = "BORG_SIMT=1";
    return list;
}

static borg_status compile_packed(borg_program *p, const borg_options *o) {
    borg_status status = BORG_OK;
    borg_token *tokens = borg_lex(&p->arena, all_defines(p, o), o->reader, &p->diags);
    borg_function *file = borg_parse_source(&p->arena, tokens, &p->diags);
    borg_check(file, &p->arena, o->size, &p->diags);
    if (wants(o, "ast")) borg_print_tree(file, o->dump_to);
    if (p->diags.errors) return BORG_ERR_SOURCE;
    int32_t kernels = 0;
    for (const borg_function *f = file; f; f = f->next) kernels += f->kernel;
    p->units = BORG_NEW(&p->arena, kernels, borg_unit);
    for (const borg_function *f = file; f; f = f->next) {
        if (!f->kernel || (o->kernel && strcmp(o->kernel, f->name) != 0)) continue;
        borg_status s = make_unit(p, f, o);
        if (s) status = s; /* the errors of the other kernels, too */
    }
    if (!status && p->nunits == 0) {
        borg_report(&p->diags, BORG_ERROR, (borg_loc){0},
                    o->kernel ? "there is no kernel '%s'" : "there is no kernel", o->kernel);
        status = BORG_ERR_SOURCE;
    }
    if (!status && o->name && p->nunits > 1) {
        borg_report(&p->diags, BORG_ERROR, (borg_loc){0},
                    "one name for %d kernels: choose one (--kernel)", p->nunits);
        status = BORG_ERR_OPTION;
    }
    return status;
}

/* The cost of a group when `pack` of them go together; below 0: that cannot be compiled. */
static double cost_of_pack(borg_program *p, const borg_options *o, int32_t pack) {
    const borg_diags told = p->diags;
    borg_options trial = *o;
    double cost = 0;
    trial.pack = pack;
    trial.whole_packs = true;
    trial.dump = NULL;
    if (compile_packed(p, &trial)) cost = -1;
    for (int32_t i = 0; cost >= 0 && i < p->nunits; ++i)
        cost += p->units[i].flat ? cost_of_element(p->units[i].flat, &o->backend->machine) *
                                       p->units[i].flat->flat
                                 : borg_cost_of_group(p->units[i].module, &o->backend->machine);
    p->diags = told;
    p->units = NULL;
    p->nunits = 0;
    return cost;
}

/* WG_PACK=auto: the pack whose groups cost least, at most a matrix in each lane. A larger pack has
 * more code, so it must save a tenth. */
static int32_t choose_pack(borg_program *p, const borg_options *o) {
    int32_t best = 1, most = o->backend ? o->backend->machine.vector_bytes / 4 : 0;
    if (!o->backend || o->backend->machine.simt) return best;
    double least = cost_of_pack(p, o, 1);
    for (int32_t pack = 2; least >= 0 && pack <= most; pack *= 2) {
        double cost = cost_of_pack(p, o, pack);
        if (cost < 0) break;
        if (cost < 0.9 * least) {
            least = cost;
            best = pack;
        }
    }
    return best;
}

static borg_status compile(borg_program *p, const borg_options *o) {
    borg_status status = borg_check_source(p, o);
    if (status) return status;
    borg_options chosen = *o;
    if (o->pack == BORG_PACK_AUTO) chosen.pack = choose_pack(p, o);
    status = compile_packed(p, &chosen);
    return status ? status : borg_check_made(p, o);
}

static borg_status compile_ir(borg_program *p, const borg_options *o) {
    const char *text = p->diags.source.text;
    size_t length = p->diags.source.length, at = 0, capacity = 0;
    borg_status refused = borg_check_text(p, o);
    if (refused) return refused;
    while (at < length) {
        size_t end = 0;
        borg_module *m = borg_parse(&p->arena, text + at, length - at, &p->diags, &end);
        if (!m) return BORG_ERR_SOURCE;
        at += end;
        m->fast_rcp = m->fast_rcp || o->fast_rcp;
        borg_unit *last = p->nunits ? &p->units[p->nunits - 1] : NULL;
        if (last && !last->tail && last->module->pack > 1 && m->pack == 1 &&
            last->module->size == m->size && strcmp(last->module->name, m->name) == 0) {
            last->tail = m;
            continue;
        }
        p->units =
            borg_grow(&p->arena, p->units, (size_t)p->nunits + 1, &capacity, sizeof *p->units);
        p->units[p->nunits++] = (borg_unit){.module = m, .name = o->name ? o->name : m->name};
    }
    for (int32_t i = 0; i < p->nunits; ++i)
        if (o->optimise > 0 &&
            !(borg_run_passes(p->units[i].module, o, &p->diags) &&
              (!p->units[i].tail || borg_run_passes(p->units[i].tail, o, &p->diags))))
            return BORG_ERR_INTERNAL;
    return BORG_OK;
}

static borg_status start(const char *file, const char *source, size_t length,
                         const borg_options *options, const borg_allocator *allocator,
                         borg_program **program,
                         borg_status (*work)(borg_program *, const borg_options *)) {
    borg_program *p = allocator ? allocator->alloc(allocator->self, sizeof *p) : malloc(sizeof *p);
    *program = NULL;
    if (!p) return BORG_ERR_MEMORY;
    memset(p, 0, sizeof *p);
    borg_arena_init(&p->arena, allocator, (size_t)4 << 30);
    p->diags = (borg_diags){.arena = &p->arena, .source.file = file};
    if (setjmp(p->arena.oom)) {
        borg_program_free(p);
        return BORG_ERR_MEMORY;
    }
    p->diags.source.text = borg_copy_text(&p->arena, source, length);
    p->diags.source.length = length;
    borg_status status = work(p, options);
    *program = p;
    return status;
}

borg_status borg_compile(const char *file, const char *source, size_t length,
                         const borg_options *options, const borg_allocator *allocator,
                         borg_program **program) {
    return start(file, source, length, options, allocator, program, compile);
}

borg_status borg_compile_ir(const char *file, const char *text, size_t length,
                            const borg_options *options, const borg_allocator *allocator,
                            borg_program **program) {
    return start(file, text, length, options, allocator, program, compile_ir);
}

void borg_program_free(borg_program *p) {
    if (!p) return;
    const borg_allocator *allocator = p->arena.allocator;
    borg_arena_free(&p->arena);
    if (allocator) {
        allocator->release(allocator->self, p);
    } else {
        free(p);
    }
}

/* A kind of moves that --disable names and the kernel has none of: whoever measures wants to know. */
static void tell_idle(borg_program *p, const borg_backend *backend, const borg_options *options,
                      const borg_sink *made) {
    for (int32_t bit = 1; bit <= BORG_STREAM; bit *= 2) {
        if (!(options->disable & bit)) continue;
        borg_options with = *options;
        borg_sink other = {.arena = &p->arena};
        const borg_diags told = p->diags;
        with.disable &= ~bit;
        const borg_status status = backend->emit(p->units, p->nunits, &with, &other, &p->diags);
        p->diags = told;
        if (told.last) told.last->next = NULL;
        if (status == BORG_OK && other.length == made->length &&
            memcmp(other.text, made->text, made->length) == 0)
            borg_report(&p->diags, BORG_WARNING, (borg_loc){0},
                        "--disable=%s changes nothing: the backend %s finds nothing of that kind "
                        "in '%s'",
                        borg_disable_text(bit), backend->name, p->units[0].name);
    }
}

borg_status borg_program_emit(borg_program *p, const borg_backend *backend,
                              const borg_options *options, const char **text, size_t *length) {
    borg_sink *volatile sink = NULL;
    if (setjmp(p->arena.oom)) return BORG_ERR_MEMORY;
    sink = BORG_NEW(&p->arena, 1, borg_sink);
    sink->arena = &p->arena;
    *text = "";
    *length = 0;
    borg_status refused = borg_check_emit(p, options, backend);
    if (refused) return refused;
    borg_options now = *options; /* IR may come here without passes */
    now.backend = backend;
    for (int32_t i = 0; i < p->nunits; ++i) {
        if (p->units[i].tree) continue;
        borg_pass_mma(p->units[i].module, &now);
        if (p->units[i].tail) borg_pass_mma(p->units[i].tail, &now);
    }
    borg_status status = backend->emit(p->units, p->nunits, options, sink, &p->diags);
    if (status == BORG_OK && options->disable) tell_idle(p, backend, options, sink);
    *text = sink->text ? sink->text : "";
    *length = sink->length;
    return status;
}

const char *borg_program_messages(borg_program *p) {
    if (setjmp(p->arena.oom)) return "out of memory\n";
    borg_sink *sink = BORG_NEW(&p->arena, 1, borg_sink);
    sink->arena = &p->arena;
    borg_diags_print(&p->diags, sink);
    return sink->text ? sink->text : "";
}
