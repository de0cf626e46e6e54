/* SPDX-License-Identifier: BSD-3-Clause */
/* From the text of a kernel to a program; a wrong statement is told and skipped. */
#include "sim/vector/lex.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    vr_lexer lexer;
    vr_token now;
    vr_program *p;
    borg_arena *arena;
    borg_diags *diags;
    vr_names names, constants;
    struct fixup *fixups; /* names of labels of branches */
    int32_t nfixups;
    size_t fixup_room;
} reader;

typedef struct fixup {
    int32_t inst;
    vr_token name;
} fixup;

static bool wrong(reader *r, borg_loc loc, const char *reason) {
    borg_report(r->diags, BORG_ERROR, loc, "%s", reason);
    return false;
}

static bool wrong_word(reader *r, const char *reason) {
    if (r->now.word == VR_END)
        return wrong(r, r->now.loc, borg_format(r->arena, "%s: the text ends here", reason));
    return wrong(r, r->now.loc, reason);
}

static void advance(reader *r) {
    r->now = vr_next(&r->lexer);
}

static bool accept(reader *r, const char *text) {
    if (r->now.word == VR_END || !vr_is(&r->now, text)) return false;
    advance(r);
    return true;
}

static bool expect(reader *r, const char *text) {
    if (accept(r, text)) return true;
    return wrong_word(r, borg_format(r->arena, "expected '%s'", text));
}

static char *copy(reader *r, const vr_token *t) {
    return borg_copy_text(r->arena, t->text, (size_t)t->length);
}

/* ---- types, literals ---------------------------------------------------------------------------
 */

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

static bool take_type(reader *r, vr_type *type) {
    if (!type_of(&r->now, type)) return wrong_word(r, "expected a type, as .f64");
    advance(r);
    return true;
}

static bool real_literal(reader *r, const char *text, vr_type type, bool negative, uint64_t *bits) {
    char *rest;
    uint64_t sign = type == VR_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    *bits = 0;
    errno = 0;
    if (text[0] == '0' && (text[1] == 'd' || text[1] == 'f')) {
        int digits = type == VR_F64 ? 16 : 8;
        if ((text[1] == 'd') != (type == VR_F64) || (int)strlen(text + 2) != digits)
            return wrong(r, r->now.loc,
                         type == VR_F64 ? "bits of an f64 are 0d and 16 hexadecimal digits"
                                        : "bits of an f32 are 0f and 8 hexadecimal digits");
        *bits = strtoull(text + 2, &rest, 16);
        if (*rest) return wrong(r, r->now.loc, "not a hexadecimal number");
    } else if (type == VR_F64) {
        double x = strtod(text, &rest);
        memcpy(bits, &x, sizeof x);
        if (*rest) return wrong(r, r->now.loc, "not a number");
    } else {
        float x = strtof(text, &rest);
        uint32_t low;
        memcpy(&low, &x, sizeof x);
        *bits = low;
        if (*rest) return wrong(r, r->now.loc, "not a number");
    }
    if (negative) *bits ^= sign;
    return true;
}

/* A literal with its sign as bits of the type. */
static bool take_literal(reader *r, vr_type type, uint64_t *bits) {
    bool negative = accept(r, "-");
    char *rest;
    if (r->now.word != VR_NUMBER) return wrong_word(r, "expected a number");
    const char *text = copy(r, &r->now);
    if (vr_is_float(type)) {
        if (!real_literal(r, text, type, negative, bits)) return false;
    } else {
        errno = 0;
        *bits = strtoull(text, &rest, text[0] == '0' && text[1] == 'x' ? 16 : 10);
        if (*rest) return wrong(r, r->now.loc, "not an integer");
        uint64_t most = type == VR_PRED ? 1 : vr_bytes(type) == 4 ? UINT32_MAX : UINT64_MAX;
        uint64_t least = vr_bytes(type) == 4 ? (uint64_t)1 << 31 : (uint64_t)1 << 63;
        if (errno || *bits > most || (negative && (*bits > least || type == VR_PRED)))
            return wrong(r, r->now.loc,
                         borg_format(r->arena, "out of the range of .%s", vr_type_text[type]));
        if (negative) *bits = 0 - *bits;
        if (vr_bytes(type) == 4) *bits = (uint32_t)*bits;
    }
    advance(r);
    return true;
}

/* The place of a constant in the program's list. */
static int32_t constant(reader *r, uint64_t bits) {
    vr_program *p = r->p;
    char name[24];
    snprintf(name, sizeof name, "%llx", (unsigned long long)bits);
    const vr_symbol *s = vr_look_up(&r->constants, name, strlen(name));
    if (s) return s->at;
    p->constants = borg_grow(r->arena, p->constants, (size_t)p->nconstants + 1, &p->room[0],
                             sizeof *p->constants);
    p->constants[p->nconstants] = bits;
    vr_add_name(&r->constants, borg_copy_text(r->arena, name, strlen(name)), VR_OF_CONST,
                p->nconstants);
    return p->nconstants++;
}

/* ---- declarations ------------------------------------------------------------------------------
 */

/* A new name of `kind`, the number `at`. */
static const char *new_name(reader *r, vr_word word, const char *what, vr_symbol_kind kind,
                            int32_t at) {
    if (r->now.word != word) {
        wrong_word(r, borg_format(r->arena, "expected the name of %s", what));
        return NULL;
    }
    if (vr_look_up(&r->names, r->now.text, (size_t)r->now.length)) {
        wrong(r, r->now.loc, borg_format(r->arena, "'%s' is there already", copy(r, &r->now)));
        return NULL;
    }
    const char *name = copy(r, &r->now);
    vr_add_name(&r->names, name, kind, at);
    advance(r);
    return name;
}

static bool add_register(reader *r, vr_type type, const char *name, borg_loc loc) {
    vr_program *p = r->p;
    if (p->nregisters == VR_MOST_REGISTERS) return wrong(r, loc, "more than 262144 registers");
    p->registers = borg_grow(r->arena, p->registers, (size_t)p->nregisters + 1, &p->room[1],
                             sizeof *p->registers);
    p->registers[p->nregisters++] = (vr_register){.name = name, .type = type, .loc = loc};
    return true;
}

/* .reg .f64 %a, %b<4>;  %b<4> stands for %b0 .. %b3 */
static bool take_registers(reader *r) {
    vr_type type;
    if (!take_type(r, &type)) return false;
    if (type > VR_F64) return wrong(r, r->now.loc, "a register is .pred .b32 .b64 .f32 or .f64");
    do {
        vr_token t = r->now;
        const char *name = NULL;
        if (t.word != VR_PERCENT) return wrong_word(r, "expected the name of a register, as %x");
        vr_lexer ahead = r->lexer;
        vr_token next = vr_next(&ahead);
        if (next.word == VR_SIGN && vr_is(&next, "<")) {
            uint64_t count;
            name = copy(r, &t);
            advance(r), advance(r);
            if (!take_literal(r, VR_U32, &count) || !expect(r, ">")) return false;
            if (count > VR_MOST_REGISTERS) return wrong(r, t.loc, "more than 262144 registers");
            for (uint64_t i = 0; i < count; ++i) {
                const char *one = borg_format(r->arena, "%s%d", name, (int)i);
                if (vr_look_up(&r->names, one, strlen(one)))
                    return wrong(r, t.loc, borg_format(r->arena, "'%s' is there already", one));
                vr_add_name(&r->names, one, VR_OF_REGISTER, r->p->nregisters);
                if (!add_register(r, type, one, t.loc)) return false;
            }
            continue;
        }
        name = new_name(r, VR_PERCENT, "a register", VR_OF_REGISTER, r->p->nregisters);
        if (!name || !add_register(r, type, name, t.loc)) return false;
    } while (accept(r, ","));
    return expect(r, ";");
}

/* .shared .f64 name[count];   .const .b64 name[count] = {1, 2, ...}; */
static bool take_array(reader *r, bool shared) {
    vr_program *p = r->p;
    int32_t *n = shared ? &p->nshared : &p->nconsts;
    vr_array **list = shared ? &p->shared : &p->consts, a = {.loc = r->now.loc};
    uint64_t count;
    if (!take_type(r, &a.type)) return false;
    if (a.type == VR_PRED || a.type > VR_F64)
        return wrong(r, a.loc, "elements are .b32 .b64 .f32 or .f64");
    a.loc = r->now.loc;
    a.name = new_name(r, VR_NAME, "an array", shared ? VR_OF_SHARED : VR_OF_CONST, *n);
    if (!a.name || !expect(r, "[") || !take_literal(r, VR_U32, &count) || !expect(r, "]"))
        return false;
    if (count < 1 || count > VR_MOST_ELEMENTS)
        return wrong(r, a.loc, "an array has 1 to 1048576 elements");
    a.count = (int32_t)count;
    if (!shared) {
        if (!expect(r, "=") || !expect(r, "{")) return false;
        size_t room = 0;
        for (uint64_t i = 0; i < count; ++i) {
            a.values = borg_grow(r->arena, a.values, (size_t)i + 1, &room, sizeof *a.values);
            if ((i && !expect(r, ",")) || !take_literal(r, a.type, &a.values[i])) return false;
        }
        if (!expect(r, "}")) return false;
    }
    *list = borg_grow(r->arena, *list, (size_t)*n + 1, &p->room[shared ? 2 : 3], sizeof a);
    (*list)[(*n)++] = a;
    return expect(r, ";");
}

/* .param .ptr.f64 x   .param .s32 n */
static bool take_param(reader *r) {
    vr_program *p = r->p;
    vr_param q = {.loc = r->now.loc};
    if (!expect(r, ".param")) return false;
    q.array = accept(r, ".ptr");
    borg_loc loc = r->now.loc;
    if (!take_type(r, &q.type)) return false;
    if (q.type == VR_PRED) return wrong(r, loc, "a parameter is no .pred");
    if (q.array && q.type > VR_F64) return wrong(r, loc, "elements are .b32 .b64 .f32 or .f64");
    if (p->nparams == VR_MOST_PARAMS) return wrong(r, q.loc, "more than 64 parameters");
    q.loc = r->now.loc;
    q.name = new_name(r, VR_NAME, "a parameter", VR_OF_PARAM, p->nparams);
    if (!q.name) return false;
    p->params[p->nparams++] = q;
    return true;
}

/* ---- operands ----------------------------------------------------------------------------------
 */

static int find_meta(const vr_token *t) {
    static const char *const names[] = {"$tid", "$wid", "$ntids"};
    for (int k = 0; k < VR_METAS; ++k)
        if (vr_is(t, names[k])) return k;
    return -1;
}

/* Width and kind agree: any register of 4 or 8 bytes may hold bits, integers are in .b registers. */
static bool fits(vr_type reg, vr_type as) {
    if (reg == VR_PRED || as == VR_PRED) return reg == as;
    if (vr_bytes(reg) != vr_bytes(as)) return false;
    return as == VR_B32 || as == VR_B64 || reg == VR_B32 || reg == VR_B64
               ? true
               : reg == as || (!vr_is_float(reg) && !vr_is_float(as));
}

static bool take_register(reader *r, vr_type type, int32_t *at) {
    if (r->now.word != VR_PERCENT) return wrong_word(r, "expected a register");
    const vr_symbol *s = vr_look_up(&r->names, r->now.text, (size_t)r->now.length);
    if (!s)
        return wrong(r, r->now.loc,
                     borg_format(r->arena, "no register '%s' (.reg)", copy(r, &r->now)));
    if (!fits(r->p->registers[s->at].type, type))
        return wrong(r, r->now.loc,
                     borg_format(r->arena, "'%s' is .%s, not .%s", s->name,
                                 vr_type_text[r->p->registers[s->at].type], vr_type_text[type]));
    *at = s->at;
    advance(r);
    return true;
}

static bool take_operand(reader *r, vr_type type, vr_operand *o) {
    if (r->now.word == VR_PERCENT) {
        o->kind = VR_REG;
        return take_register(r, type, &o->at);
    }
    if (r->now.word == VR_DOLLAR) {
        o->kind = VR_META;
        o->at = find_meta(&r->now);
        if (o->at < 0)
            return wrong(r, r->now.loc, "the metadata registers are $tid, $wid and $ntids");
        if (!fits(VR_B32, type))
            return wrong(
                r, r->now.loc,
                borg_format(r->arena, "a metadata register is .b32, not .%s", vr_type_text[type]));
        advance(r);
        return true;
    }
    if (r->now.word == VR_NAME) {
        const vr_symbol *s = vr_look_up(&r->names, r->now.text, (size_t)r->now.length);
        if (!s || s->kind != VR_OF_PARAM)
            return wrong(r, r->now.loc,
                         borg_format(r->arena, "no parameter '%s'", copy(r, &r->now)));
        const vr_param *q = &r->p->params[s->at];
        if (q->array ? type != VR_B64 && type != VR_U64 && type != VR_S64 : !fits(q->type, type))
            return wrong(r, r->now.loc,
                         borg_format(r->arena, "'%s' is %s.%s, not .%s", q->name,
                                     q->array ? "an array of " : "", vr_type_text[q->type],
                                     vr_type_text[type]));
        *o = (vr_operand){q->array ? VR_ARRAY : VR_SCALAR, s->at};
        advance(r);
        return true;
    }
    uint64_t bits;
    if (!take_literal(r, type, &bits)) return false;
    *o = (vr_operand){VR_IMM, constant(r, bits)};
    return true;
}

/* An index: .b32 with a sign, or .b64. */
static bool take_index(reader *r, vr_operand *o) {
    if (r->now.word == VR_PERCENT) {
        const vr_symbol *s = vr_look_up(&r->names, r->now.text, (size_t)r->now.length);
        bool narrow = s && vr_bytes(r->p->registers[s->at].type) == 4;
        return take_operand(r, narrow ? VR_S32 : VR_S64, o);
    }
    if (r->now.word == VR_NAME) {
        const vr_symbol *s = vr_look_up(&r->names, r->now.text, (size_t)r->now.length);
        bool narrow = s && s->kind == VR_OF_PARAM && vr_bytes(r->p->params[s->at].type) == 4;
        return take_operand(r, narrow ? VR_S32 : VR_S64, o);
    }
    return take_operand(r, r->now.word == VR_DOLLAR ? VR_S32 : VR_S64, o);
}

static bool take_address(reader *r, vr_inst *v) {
    if (!expect(r, "[")) return false;
    if (v->how == VR_GLOBAL && r->now.word == VR_PERCENT) {
        v->base.kind = VR_REG;
        if (!take_register(r, VR_B64, &v->base.at)) return false;
    } else {
        static const vr_symbol_kind kinds[] = {VR_OF_PARAM, VR_OF_SHARED, VR_OF_CONST};
        const vr_symbol *s = r->now.word == VR_NAME
                                 ? vr_look_up(&r->names, r->now.text, (size_t)r->now.length)
                                 : NULL;
        if (!s || s->kind != kinds[v->how] ||
            (s->kind == VR_OF_PARAM && !r->p->params[s->at].array))
            return wrong_word(r, v->how == VR_GLOBAL
                                     ? "expected an array among the parameters, or a register"
                                 : v->how == VR_SHARED ? "expected a .shared array"
                                                       : "expected a .const array");
        vr_type type = v->how == VR_GLOBAL   ? r->p->params[s->at].type
                       : v->how == VR_SHARED ? r->p->shared[s->at].type
                                             : r->p->consts[s->at].type;
        if (vr_bytes(type) != vr_bytes(v->type))
            return wrong(r, r->now.loc,
                         borg_format(r->arena, "elements of '%s' are .%s, not .%s", s->name,
                                     vr_type_text[type], vr_type_text[v->type]));
        v->base = (vr_operand){VR_ARRAY, s->at};
        advance(r);
    }
    if (accept(r, "+") && !take_index(r, &v->a[0])) return false;
    return expect(r, "]");
}

/* ---- instructions ------------------------------------------------------------------------------
 */

/* One of `count` words behind a point; -1: none of them. */
static int take_word(reader *r, const char *const *words, int count) {
    for (int k = 0; k < count; ++k)
        if (r->now.word == VR_DOT && (size_t)r->now.length == strlen(words[k]) + 1 &&
            memcmp(r->now.text + 1, words[k], strlen(words[k])) == 0) {
            advance(r);
            return k;
        }
    return -1;
}

static bool take_suffixes(reader *r, vr_inst *v) {
    static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const shuffles[] = {"idx", "up", "down", "xor"};
    static const char *const votes[] = {"any", "all"};
    static const char *const spaces[] = {"global", "shared", "const"};
    const vr_op_info *info = &vr_op_table[v->op];
    if (v->op == VR_SETP) v->how = take_word(r, compares, VR_COMPARES);
    if (v->op == VR_SHFL) v->how = take_word(r, shuffles, VR_SHUFFLES);
    if (v->op == VR_VOTE) v->how = take_word(r, votes, VR_VOTES);
    if (v->op == VR_LD || v->op == VR_ST) v->how = take_word(r, spaces, VR_SPACES);
    if (v->how < 0)
        return wrong_word(r, v->op == VR_SETP   ? "expected .eq .ne .lt .le .gt or .ge"
                             : v->op == VR_SHFL ? "expected .idx .up .down or .xor"
                             : v->op == VR_VOTE ? "expected .any or .all"
                                                : "expected .global .shared or .const");
    if (v->op == VR_ST && v->how == VR_CONST)
        return wrong(r, v->loc, "a .const array cannot be written");
    if (!info->types) return true;
    borg_loc loc = r->now.loc;
    if (!take_type(r, &v->type)) return false;
    if (!(info->types >> v->type & 1))
        return wrong(
            r, loc, borg_format(r->arena, "%s has no type .%s", info->text, vr_type_text[v->type]));
    if (v->op != VR_CVT) return true;
    loc = r->now.loc;
    if (!take_type(r, &v->from)) return false;
    if (!(info->types >> v->from & 1))
        return wrong(r, loc, borg_format(r->arena, "cvt has no type .%s", vr_type_text[v->from]));
    return true;
}

static bool take_sources(reader *r, vr_inst *v) {
    for (int k = 0; k < vr_op_table[v->op].sources; ++k) {
        vr_type type = v->type;
        if (v->op == VR_CVT) type = v->from;
        if (v->op == VR_SELP && k == 2) type = VR_PRED;
        if ((v->op == VR_SHFL || v->op == VR_SHL || v->op == VR_SHR) && k == 1) type = VR_U32;
        if (k && !expect(r, ",")) return false;
        if (!take_operand(r, type, &v->a[k])) return false;
    }
    return true;
}

static bool take_operands(reader *r, vr_inst *v) {
    switch (v->op) {
    case VR_JOIN:
    case VR_EXIT:
        return true;
    case VR_BRA:
    case VR_ALLBRA:
        if (r->now.word != VR_NAME) return wrong_word(r, "expected a label");
        r->fixups = borg_grow(r->arena, r->fixups, (size_t)r->nfixups + 1, &r->fixup_room,
                              sizeof *r->fixups);
        r->fixups[r->nfixups++] = (fixup){r->p->ninsts, r->now};
        advance(r);
        return true;
    case VR_ST:
        return take_address(r, v) && expect(r, ",") && take_operand(r, v->type, &v->a[1]);
    case VR_LD:
        return take_register(r, v->type, &v->dst) && expect(r, ",") && take_address(r, v);
    default:
        return take_register(r, v->op == VR_SETP ? VR_PRED : v->type, &v->dst) && expect(r, ",") &&
               take_sources(r, v);
    }
}

static bool take_instruction(reader *r) {
    vr_program *p = r->p;
    vr_inst v = {.guard = -1, .dst = -1, .target = -1, .op = VR_NOPS, .loc = r->now.loc};
    if (accept(r, "@")) {
        v.negated = accept(r, "!");
        if (!take_register(r, VR_PRED, &v.guard)) return false;
    }
    if (r->now.word != VR_NAME) return wrong_word(r, "expected an instruction");
    v.loc = r->now.loc;
    for (int k = 0; k < VR_NOPS; ++k)
        if (vr_is(&r->now, vr_op_table[k].text)) v.op = (vr_op)k;
    if (v.op == VR_NOPS)
        return wrong(r, v.loc, borg_format(r->arena, "no instruction '%s'", copy(r, &r->now)));
    advance(r);
    if (v.guard >= 0 && (v.op == VR_JOIN || v.op == VR_EXIT))
        return wrong(r, v.loc, borg_format(r->arena, "%s takes no guard", vr_op_table[v.op].text));
    if (!take_suffixes(r, &v) || !take_operands(r, &v)) return false;
    if (p->ninsts == VR_MOST_INSTRUCTIONS) return wrong(r, v.loc, "more than 1048576 instructions");
    p->insts = borg_grow(r->arena, p->insts, (size_t)p->ninsts + 1, &p->room[4], sizeof v);
    p->insts[p->ninsts++] = v;
    return expect(r, ";");
}

static bool take_label(reader *r) {
    vr_program *p = r->p;
    borg_loc loc = r->now.loc;
    const char *name = new_name(r, VR_NAME, "a label", VR_OF_LABEL, p->nlabels);
    if (!name) return false;
    p->labels =
        borg_grow(r->arena, p->labels, (size_t)p->nlabels + 1, &p->room[5], sizeof *p->labels);
    p->labels[p->nlabels++] = (vr_label){name, p->ninsts, loc};
    return expect(r, ":");
}

static bool take_statement(reader *r) {
    if (accept(r, ".reg")) return take_registers(r);
    if (accept(r, ".shared")) return take_array(r, true);
    if (accept(r, ".const")) return take_array(r, false);
    if (r->now.word == VR_NAME) {
        vr_lexer ahead = r->lexer;
        vr_token next = vr_next(&ahead);
        if (next.word == VR_SIGN && vr_is(&next, ":")) return take_label(r);
    }
    return take_instruction(r);
}

/* To behind the next semicolon. */
static void recover(reader *r) {
    while (r->now.word != VR_END && !vr_is(&r->now, ";") && !vr_is(&r->now, "}")) advance(r);
    accept(r, ";");
}

static void resolve(reader *r) {
    for (int32_t i = 0; i < r->nfixups; ++i) {
        const vr_token *t = &r->fixups[i].name;
        const vr_symbol *s = vr_look_up(&r->names, t->text, (size_t)t->length);
        if (!s || s->kind != VR_OF_LABEL) {
            wrong(r, t->loc, borg_format(r->arena, "no label '%s'", copy(r, t)));
        } else {
            r->p->insts[r->fixups[i].inst].target = r->p->labels[s->at].at;
        }
    }
}

static bool take_head(reader *r) {
    if (!expect(r, ".entry")) return false;
    if (r->now.word != VR_NAME) return wrong_word(r, "expected the name of the kernel");
    r->p->name = copy(r, &r->now);
    advance(r);
    if (!expect(r, "(")) return false;
    if (!accept(r, ")")) {
        do {
            if (!take_param(r)) return false;
        } while (accept(r, ","));
        if (!expect(r, ")")) return false;
    }
    return expect(r, "{");
}

vr_program *vr_assemble(const char *file, const char *text, size_t length, borg_diags *diags) {
    reader r = {.arena = diags->arena, .diags = diags};
    r.lexer = (vr_lexer){.text = text, .length = length, .line = 1};
    r.names.arena = r.constants.arena = r.arena;
    diags->source = (borg_text){file, text, length};
    r.p = BORG_NEW(r.arena, 1, vr_program);
    r.p->arena = r.arena;
    r.p->source = diags->source;
    r.p->params = BORG_NEW(r.arena, VR_MOST_PARAMS, vr_param);
    advance(&r);
    if (!take_head(&r)) return NULL;
    while (r.now.word != VR_END && !vr_is(&r.now, "}"))
        if (!take_statement(&r)) recover(&r);
    if (!expect(&r, "}")) return NULL;
    if (r.now.word != VR_END) wrong(&r, r.now.loc, "one kernel in a file: nothing may follow it");
    resolve(&r);
    if (diags->errors) return NULL;
    return vr_verify(r.p, diags) ? r.p : NULL;
}
