/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of warps and named arrays: `scalar`, `array`, `warps`, `expect`, each with its numbers. */
#include "sim/vector/sweep.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARRAYS = 256, MOST_ELEMENTS = 1 << 28, MOST_WARPS = 1 << 24, MOST_THREADS = 1 << 15 };

typedef struct named {
    const char *name;
    vr_type type;
    bool scalar;
    int64_t count;
    uint64_t *bits;   /* what it begins with */
    double *expected; /* NULL: nothing */
    double tolerance;
    borg_loc loc;
} named;

struct vs_list {
    named *names;
    int32_t count;
    vs_warp *warps;
    int32_t nwarps, nstages, *stage;
};

typedef struct word {
    const char *text; /* NULL: the end */
    borg_loc loc;
} word;

typedef struct reader {
    const char *at, *end, *line_start;
    int32_t line;
    word now;
    borg_diags *diags;
    borg_arena *arena;
    struct vs_list *list;
    size_t warps_room, stage_room;
} reader;

static void advance(reader *r) {
    while (r->at < r->end) {
        if (*r->at == '#') {
            while (r->at < r->end && *r->at != '\n') ++r->at;
        } else if (*r->at == '\n') {
            r->line_start = ++r->at;
            ++r->line;
        } else if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r') {
            ++r->at;
        } else {
            break;
        }
    }
    const char *from = r->at;
    while (r->at < r->end && !strchr(" \t\r\n#", *r->at) && *r->at) ++r->at;
    if (r->at == from && r->at < r->end) ++r->at; /* a byte 0 */
    r->now.loc = (borg_loc){.line = r->line,
                            .column = (int32_t)(from - r->line_start) + 1,
                            .length = (int32_t)(r->at - from)};
    r->now.text = from == r->at ? NULL : borg_copy_text(r->arena, from, (size_t)(r->at - from));
}

static bool wrong(reader *r, borg_loc loc, const char *reason) {
    borg_report(r->diags, BORG_ERROR, loc, "%s", reason);
    return false;
}

static bool is(const reader *r, const char *text) {
    return r->now.text && strcmp(r->now.text, text) == 0;
}

static bool at_keyword(const reader *r) {
    return !r->now.text || is(r, "scalar") || is(r, "array") || is(r, "warps") || is(r, "expect");
}

static bool take_integer(reader *r, int64_t least, int64_t most, const char *what, int64_t *value) {
    char *rest = NULL;
    errno = 0;
    if (r->now.text) *value = strtoll(r->now.text, &rest, 10);
    if (!r->now.text || rest == r->now.text || *rest || errno || *value < least || *value > most)
        return wrong(r, r->now.loc,
                     borg_format(r->arena, "%s: expected an integer from %" PRId64 " to %" PRId64,
                                 what, least, most));
    advance(r);
    return true;
}

static bool take_real(reader *r, double *value) {
    char *rest = NULL;
    if (r->now.text) *value = strtod(r->now.text, &rest);
    if (!r->now.text || rest == r->now.text || *rest)
        return wrong(r, r->now.loc, "expected a number");
    advance(r);
    return true;
}

static bool take_bits(reader *r, vr_type type, uint64_t *bits) {
    double x;
    int64_t i;
    *bits = 0;
    if (!vr_is_float(type)) {
        int64_t least = type == VR_B32 ? INT32_MIN : INT64_MIN,
                most = type == VR_B32 ? UINT32_MAX : INT64_MAX;
        if (!take_integer(r, least, most, "a value", &i)) return false;
        *bits = type == VR_B32 ? (uint32_t)i : (uint64_t)i;
        return true;
    }
    if (!take_real(r, &x)) return false;
    if (type == VR_F64) {
        memcpy(bits, &x, sizeof x);
    } else {
        float f = (float)x;
        memcpy(bits, &f, sizeof f);
    }
    return true;
}

static bool take_type(reader *r, vr_type *type) {
    static const vr_type types[] = {VR_B32, VR_B64, VR_F32, VR_F64};
    for (int k = 0; k < 4; ++k)
        if (is(r, vr_type_text[types[k]])) {
            *type = types[k];
            advance(r);
            return true;
        }
    return wrong(r, r->now.loc, "expected b32, b64, f32 or f64");
}

static named *find(const struct vs_list *list, const char *name) {
    for (int32_t i = 0; i < list->count; ++i)
        if (strcmp(list->names[i].name, name) == 0) return &list->names[i];
    return NULL;
}

/* array NAME TYPE COUNT values (one: for all)   scalar NAME TYPE value */
static bool take_named(reader *r, bool scalar) {
    struct vs_list *list = r->list;
    if (at_keyword(r)) return wrong(r, r->now.loc, "expected a name");
    if (find(list, r->now.text)) return wrong(r, r->now.loc, "this name is there already");
    if (list->count == MOST_ARRAYS) return wrong(r, r->now.loc, "more than 256 names");
    named n = {.name = r->now.text, .loc = r->now.loc, .scalar = scalar, .count = 1};
    advance(r);
    if (!take_type(r, &n.type)) return false;
    if (!scalar && !take_integer(r, 0, MOST_ELEMENTS, "the number of elements", &n.count))
        return false;
    size_t room = 0;
    int64_t given = 0;
    for (; !at_keyword(r); ++given) {
        if (given == n.count && given != 0)
            return wrong(r, r->now.loc, "more values than elements");
        n.bits = borg_grow(r->arena, n.bits, (size_t)given + 1, &room, sizeof *n.bits);
        if (!take_bits(r, n.type, &n.bits[given])) return false;
    }
    if (given != n.count && given != 1)
        return wrong(r, n.loc,
                     borg_format(r->arena,
                                 "'%s' has %" PRId64 " elements, %" PRId64
                                 " values are given (or one for all)",
                                 n.name, n.count, given));
    if (given < n.count) {
        uint64_t one = n.bits[0];
        n.bits = BORG_NEW(r->arena, n.count, uint64_t);
        for (int64_t i = 0; i < n.count; ++i) n.bits[i] = one;
    }
    list->names[list->count++] = n;
    return true;
}

/* warps sizes: a stage, which begins when the one before has ended */
static bool take_warps(reader *r) {
    struct vs_list *list = r->list;
    borg_loc loc = r->now.loc;
    if (at_keyword(r)) return wrong(r, loc, "a stage has at least one warp");
    while (!at_keyword(r)) {
        int64_t size;
        if (!take_integer(r, 1, MOST_THREADS, "threads of a warp", &size)) return false;
        if (list->nwarps == MOST_WARPS) return wrong(r, loc, "more than 16777216 warps");
        list->warps = borg_grow(r->arena, list->warps, (size_t)list->nwarps + 1, &r->warps_room,
                                sizeof *list->warps);
        list->warps[list->nwarps] = (vs_warp){list->nwarps, (int32_t)size};
        ++list->nwarps;
    }
    list->stage = borg_grow(r->arena, list->stage, (size_t)list->nstages + 2, &r->stage_room,
                            sizeof *list->stage);
    list->stage[++list->nstages] = list->nwarps;
    return true;
}

/* expect NAME tolerance values */
static bool take_expect(reader *r) {
    named *n = r->now.text ? find(r->list, r->now.text) : NULL;
    borg_loc loc = r->now.loc;
    if (!n || n->scalar) return wrong(r, loc, "expected an array that was given before");
    if (n->expected) return wrong(r, loc, "what is expected was given before");
    advance(r);
    if (!take_real(r, &n->tolerance)) return false;
    if (!(n->tolerance >= 0)) return wrong(r, loc, "a tolerance is not negative");
    n->expected = BORG_NEW(r->arena, n->count + 1, double);
    for (int64_t i = 0; i < n->count; ++i)
        if (!take_real(r, &n->expected[i])) return false;
    return true;
}

static bool take_statement(reader *r) {
    bool scalar = is(r, "scalar"), array = is(r, "array"), warps = is(r, "warps");
    if (at_keyword(r))
        advance(r);
    else
        return wrong(r, r->now.loc, "expected scalar, array, warps or expect");
    return scalar || array ? take_named(r, scalar) : warps ? take_warps(r) : take_expect(r);
}

/* ---- a case ---------------------------------------------------------------------------------- */

static void *typed_data(const named *n, borg_arena *arena) {
    size_t bytes = (size_t)vr_bytes(n->type);
    char *data = borg_alloc(arena, (size_t)n->count + 1, bytes);
    for (int64_t i = 0; i < n->count; ++i) memcpy(data + i * (int64_t)bytes, &n->bits[i], bytes);
    return data;
}

static bool give_arguments(vs_case *k, const struct vs_list *list, const vr_program *program,
                           borg_diags *diags) {
    for (int32_t i = 0; i < program->nparams; ++i) {
        const vr_param *p = &program->params[i];
        const named *n = find(list, p->name);
        if (!n || n->scalar == p->array || vr_bytes(n->type) != vr_bytes(p->type) ||
            vr_is_float(n->type) != vr_is_float(p->type)) {
            borg_report(diags, BORG_ERROR, p->loc, "the input has no %s '%s' of .%s",
                        p->array ? "array" : "scalar", p->name, vr_type_text[p->type]);
            return false;
        }
        if (!p->array) {
            k->args[i].bits = n->bits[0];
            continue;
        }
        int32_t at = k->memory.count++;
        k->args[i].array = at;
        k->memory.arrays[at] = (vs_array){.name = p->name,
                                          .type = p->type,
                                          .count = n->count,
                                          .data = typed_data(n, diags->arena)};
        if (n->expected)
            k->expects[k->nexpects++] =
                (struct vs_expect){at, n->count, n->expected, NULL, n->tolerance};
    }
    return true;
}

static vs_case *make(const vs_source *source, const vr_program *program, const int32_t *order,
                     borg_diags *diags) {
    const struct vs_list *list = source->list;
    borg_arena *arena = diags->arena;
    vs_case *k = BORG_NEW(arena, 1, vs_case);
    k->args = BORG_NEW(arena, program->nparams + 1, vs_arg);
    k->memory.arrays = BORG_NEW(arena, program->nparams + 1, vs_array);
    k->expects = BORG_NEW(arena, program->nparams + 1, struct vs_expect);
    if (!give_arguments(k, list, program, diags)) return NULL;
    k->nwarps = list->nwarps;
    k->nstages = list->nstages;
    k->stage = list->stage;
    k->warps = BORG_NEW(arena, k->nwarps + 1, vs_warp);
    int32_t *next = BORG_NEW(arena, k->nstages + 1, int32_t),
            *stage_of = BORG_NEW(arena, k->nwarps + 1, int32_t);
    for (int32_t s = 0; s < k->nstages; ++s) {
        next[s] = k->stage[s];
        for (int32_t i = k->stage[s]; i < k->stage[s + 1]; ++i) stage_of[i] = s;
    }
    for (int32_t i = 0; i < k->nwarps; ++i) { /* in the order, each to its stage */
        int32_t from = order ? order[i] : i;
        k->warps[next[stage_of[from]]++] = list->warps[from];
    }
    vs_place_arrays(&k->memory);
    return k;
}

bool vs_source_read(vs_source *source, const char *file, const char *text, size_t length,
                    borg_diags *diags) {
    borg_arena *arena = diags->arena;
    reader r = {.at = text,
                .end = text + length,
                .line_start = text,
                .line = 1,
                .diags = diags,
                .arena = arena};
    diags->source = (borg_text){file, text, length};
    r.list = BORG_NEW(arena, 1, struct vs_list);
    r.list->names = BORG_NEW(arena, MOST_ARRAYS, named);
    advance(&r);
    while (r.now.text)
        if (!take_statement(&r)) return false;
    if (r.list->nwarps == 0) return wrong(&r, (borg_loc){0}, "there is no warp");
    *source = (vs_source){.make = make, .nwarps = r.list->nwarps, .list = r.list};
    return true;
}
