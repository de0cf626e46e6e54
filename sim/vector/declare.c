/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a kernel that are no instructions: literals, types, what is declared. */
#include "sim/vector/reader.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool vr_wrong(vr_reader *r, borg_loc loc, const char *reason) {
    borg_report(r->diags, BORG_ERROR, loc, "%s", reason);
    return false;
}

bool vr_wrong_word(vr_reader *r, const char *reason) {
    if (r->now.word == VR_END)
        return vr_wrong(r, r->now.loc, borg_format(r->arena, "%s: the text ends here", reason));
    return vr_wrong(r, r->now.loc, reason);
}

void vr_advance(vr_reader *r) {
    r->now = vr_next(&r->lexer);
}

bool vr_accept(vr_reader *r, const char *text) {
    if (r->now.word == VR_END || !vr_is(&r->now, text)) return false;
    vr_advance(r);
    return true;
}

bool vr_expect(vr_reader *r, const char *text) {
    if (vr_accept(r, text)) return true;
    return vr_wrong_word(r, borg_format(r->arena, "expected '%s'", text));
}

char *vr_copy(vr_reader *r, const vr_token *t) {
    return borg_copy_text(r->arena, t->text, (size_t)t->length);
}

/* ---- types, literals ------------------------------------------------------------------------- */

/* The type that a .word names; false: none. */
static bool type_of(const vr_token *t, vr_type *type) {
    if (t->word != VR_DOT) return false;
    for (int k = 0; k < VR_TYPES; ++k)
        if ((size_t)t->length == strlen(vr_type_text[k]) + 1 &&
            memcmp(t->text + 1, vr_type_text[k], (size_t)t->length - 1) == 0) {
            *type = (vr_type)k;
            return true;
        }
    return false;
}

bool vr_take_type(vr_reader *r, vr_type *type) {
    if (!type_of(&r->now, type)) return vr_wrong_word(r, "expected a type, as .f64");
    vr_advance(r);
    return true;
}

static bool real_literal(vr_reader *r, const char *text, vr_type type, bool negative,
                         uint64_t *bits) {
    char *rest;
    uint64_t sign = type == VR_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    *bits = 0;
    errno = 0;
    if (text[0] == '0' && (text[1] == 'd' || text[1] == 'f')) {
        int digits = type == VR_F64 ? 16 : 8;
        if ((text[1] == 'd') != (type == VR_F64) || (int)strlen(text + 2) != digits)
            return vr_wrong(r, r->now.loc,
                            type == VR_F64 ? "bits of an f64 are 0d and 16 hexadecimal digits"
                                           : "bits of an f32 are 0f and 8 hexadecimal digits");
        *bits = strtoull(text + 2, &rest, 16);
        if (*rest) return vr_wrong(r, r->now.loc, "not a hexadecimal number");
    } else if (type == VR_F64) {
        double x = strtod(text, &rest);
        memcpy(bits, &x, sizeof x);
        if (*rest) return vr_wrong(r, r->now.loc, "not a number");
    } else {
        float x = strtof(text, &rest);
        uint32_t low;
        memcpy(&low, &x, sizeof x);
        *bits = low;
        if (*rest) return vr_wrong(r, r->now.loc, "not a number");
    }
    if (negative) *bits ^= sign;
    return true;
}

/* A literal with its sign as bits of the type. */
bool vr_take_literal(vr_reader *r, vr_type type, uint64_t *bits) {
    bool negative = vr_accept(r, "-");
    char *rest;
    if (r->now.word != VR_NUMBER) return vr_wrong_word(r, "expected a number");
    const char *text = vr_copy(r, &r->now);
    if (vr_is_float(type)) {
        if (!real_literal(r, text, type, negative, bits)) return false;
    } else {
        errno = 0;
        *bits = strtoull(text, &rest, text[0] == '0' && text[1] == 'x' ? 16 : 10);
        if (*rest) return vr_wrong(r, r->now.loc, "not an integer");
        uint64_t most = type == VR_PRED ? 1 : vr_bytes(type) == 4 ? UINT32_MAX : UINT64_MAX;
        uint64_t least = vr_bytes(type) == 4 ? (uint64_t)1 << 31 : (uint64_t)1 << 63;
        if (errno || *bits > most || (negative && (*bits > least || type == VR_PRED)))
            return vr_wrong(r, r->now.loc,
                            borg_format(r->arena, "out of the range of .%s", vr_type_text[type]));
        if (negative) *bits = 0 - *bits;
        if (vr_bytes(type) == 4) *bits = (uint32_t)*bits;
    }
    vr_advance(r);
    return true;
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* A new name of `kind`, the number `at`. */
const char *vr_new_name(vr_reader *r, vr_word word, const char *what, vr_symbol_kind kind,
                        int32_t at) {
    if (r->now.word != word) {
        vr_wrong_word(r, borg_format(r->arena, "expected the name of %s", what));
        return NULL;
    }
    if (vr_look_up(&r->names, r->now.text, (size_t)r->now.length)) {
        vr_wrong(r, r->now.loc,
                 borg_format(r->arena, "'%s' is there already", vr_copy(r, &r->now)));
        return NULL;
    }
    const char *name = vr_copy(r, &r->now);
    vr_add_name(&r->names, name, kind, at);
    vr_advance(r);
    return name;
}

static bool add_register(vr_reader *r, vr_type type, const char *name, borg_loc loc) {
    vr_program *p = r->p;
    if (p->nregisters == VR_MOST_REGISTERS) return vr_wrong(r, loc, "more than 262144 registers");
    p->registers = borg_grow(r->arena, p->registers, (size_t)p->nregisters + 1, &p->room[1],
                             sizeof *p->registers);
    p->registers[p->nregisters++] = (vr_register){.name = name, .type = type, .loc = loc};
    return true;
}

/* .reg .f64 %a, %b<4>;  %b<4> stands for %b0 .. %b3 */
bool vr_take_registers(vr_reader *r) {
    vr_type type;
    if (!vr_take_type(r, &type)) return false;
    if (type > VR_F64) return vr_wrong(r, r->now.loc, "a register is .pred .b32 .b64 .f32 or .f64");
    do {
        vr_token t = r->now;
        const char *name = NULL;
        if (t.word != VR_PERCENT) return vr_wrong_word(r, "expected the name of a register, as %x");
        vr_lexer ahead = r->lexer;
        vr_token next = vr_next(&ahead);
        if (next.word == VR_SIGN && vr_is(&next, "<")) {
            uint64_t count;
            name = vr_copy(r, &t);
            vr_advance(r), vr_advance(r);
            if (!vr_take_literal(r, VR_U32, &count) || !vr_expect(r, ">")) return false;
            if (count > VR_MOST_REGISTERS) return vr_wrong(r, t.loc, "more than 262144 registers");
            for (uint64_t i = 0; i < count; ++i) {
                const char *one = borg_format(r->arena, "%s%d", name, (int)i);
                if (vr_look_up(&r->names, one, strlen(one)))
                    return vr_wrong(r, t.loc, borg_format(r->arena, "'%s' is there already", one));
                vr_add_name(&r->names, one, VR_OF_REGISTER, r->p->nregisters);
                if (!add_register(r, type, one, t.loc)) return false;
            }
            continue;
        }
        name = vr_new_name(r, VR_PERCENT, "a register", VR_OF_REGISTER, r->p->nregisters);
        if (!name || !add_register(r, type, name, t.loc)) return false;
    } while (vr_accept(r, ","));
    return vr_expect(r, ";");
}

/* .shared .f64 name[count];   .const .b64 name[count] = {1, 2, ...}; */
bool vr_take_array(vr_reader *r, bool shared) {
    vr_program *p = r->p;
    int32_t *n = shared ? &p->nshared : &p->nconsts;
    vr_array **list = shared ? &p->shared : &p->consts, a = {.loc = r->now.loc};
    uint64_t count;
    if (!vr_take_type(r, &a.type)) return false;
    if (a.type == VR_PRED || a.type > VR_F64)
        return vr_wrong(r, a.loc, "elements are .b32 .b64 .f32 or .f64");
    a.loc = r->now.loc;
    a.name = vr_new_name(r, VR_NAME, "an array", shared ? VR_OF_SHARED : VR_OF_CONST, *n);
    if (!a.name || !vr_expect(r, "[") || !vr_take_literal(r, VR_U32, &count) || !vr_expect(r, "]"))
        return false;
    if (count < 1 || count > VR_MOST_ELEMENTS)
        return vr_wrong(r, a.loc, "an array has 1 to 1048576 elements");
    a.count = (int32_t)count;
    if (!shared) {
        if (!vr_expect(r, "=") || !vr_expect(r, "{")) return false;
        size_t room = 0;
        for (uint64_t i = 0; i < count; ++i) {
            a.values = borg_grow(r->arena, a.values, (size_t)i + 1, &room, sizeof *a.values);
            if ((i && !vr_expect(r, ",")) || !vr_take_literal(r, a.type, &a.values[i]))
                return false;
        }
        if (!vr_expect(r, "}")) return false;
    }
    *list = borg_grow(r->arena, *list, (size_t)*n + 1, &p->room[shared ? 2 : 3], sizeof a);
    (*list)[(*n)++] = a;
    return vr_expect(r, ";");
}

/* .param .ptr.f64 x   .param .s32 n */
bool vr_take_param(vr_reader *r) {
    vr_program *p = r->p;
    vr_param q = {.loc = r->now.loc};
    if (!vr_expect(r, ".param")) return false;
    q.array = vr_accept(r, ".ptr");
    borg_loc loc = r->now.loc;
    if (!vr_take_type(r, &q.type)) return false;
    if (q.type == VR_PRED) return vr_wrong(r, loc, "a parameter is no .pred");
    if (q.array && q.type > VR_F64) return vr_wrong(r, loc, "elements are .b32 .b64 .f32 or .f64");
    if (p->nparams == VR_MOST_PARAMS) return vr_wrong(r, q.loc, "more than 64 parameters");
    q.loc = r->now.loc;
    q.name = vr_new_name(r, VR_NAME, "a parameter", VR_OF_PARAM, p->nparams);
    if (!q.name) return false;
    p->params[p->nparams++] = q;
    return true;
}
