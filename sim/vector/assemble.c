/* SPDX-License-Identifier: BSD-3-Clause */
/* From the text of kernels to a program; a wrong statement is told and skipped. */
#include "sim/vector/reader.h"
#include <stdio.h>
#include <string.h>

/* The place of a constant in the program's list. */
static int32_t constant(vr_reader *r, uint64_t bits) {
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

/* ---- operands -------------------------------------------------------------------------------- */

static int find_meta(const vr_token *t) {
    static const char *const names[] = {"$tid", "$wid", "$ntids"};
    for (int k = 0; k < VR_METAS; ++k)
        if (vr_is(t, names[k])) return k;
    return -1;
}

/* Width and kind agree: any register of 4 or 8 bytes may hold bits, integers are in .b
 * registers. */
static bool fits(vr_type reg, vr_type as) {
    if (reg == VR_PRED || as == VR_PRED) return reg == as;
    if (vr_bytes(reg) != vr_bytes(as)) return false;
    return as == VR_B32 || as == VR_B64 || reg == VR_B32 || reg == VR_B64
               ? true
               : reg == as || (!vr_is_float(reg) && !vr_is_float(as));
}

static bool take_register(vr_reader *r, vr_type type, int32_t *at) {
    if (r->now.word != VR_PERCENT) return vr_wrong_word(r, "expected a register");
    const vr_symbol *s = vr_look_up(&r->names, r->now.text, (size_t)r->now.length);
    if (!s)
        return vr_wrong(r, r->now.loc,
                        borg_format(r->arena, "no register '%s' (.reg)", vr_copy(r, &r->now)));
    if (!fits(r->p->registers[s->at].type, type))
        return vr_wrong(r, r->now.loc,
                        borg_format(r->arena, "'%s' is .%s, not .%s", s->name,
                                    vr_type_text[r->p->registers[s->at].type], vr_type_text[type]));
    *at = s->at;
    vr_advance(r);
    return true;
}

static bool take_operand(vr_reader *r, vr_type type, vr_operand *o) {
    if (r->now.word == VR_PERCENT) {
        o->kind = VR_REG;
        return take_register(r, type, &o->at);
    }
    if (r->now.word == VR_DOLLAR) {
        o->kind = VR_META;
        o->at = find_meta(&r->now);
        if (o->at < 0)
            return vr_wrong(r, r->now.loc, "the metadata registers are $tid, $wid and $ntids");
        if (!fits(VR_B32, type))
            return vr_wrong(
                r, r->now.loc,
                borg_format(r->arena, "a metadata register is .b32, not .%s", vr_type_text[type]));
        vr_advance(r);
        return true;
    }
    if (r->now.word == VR_NAME) {
        const vr_symbol *s = vr_look_up(&r->names, r->now.text, (size_t)r->now.length);
        if (!s || s->kind != VR_OF_PARAM)
            return vr_wrong(r, r->now.loc,
                            borg_format(r->arena, "no parameter '%s'", vr_copy(r, &r->now)));
        const vr_param *q = &r->p->params[s->at];
        if (q->array ? type != VR_B64 && type != VR_U64 && type != VR_S64 : !fits(q->type, type))
            return vr_wrong(r, r->now.loc,
                            borg_format(r->arena, "'%s' is %s.%s, not .%s", q->name,
                                        q->array ? "an array of " : "", vr_type_text[q->type],
                                        vr_type_text[type]));
        *o = (vr_operand){q->array ? VR_ARRAY : VR_SCALAR, s->at};
        vr_advance(r);
        return true;
    }
    uint64_t bits;
    if (!vr_take_literal(r, type, &bits)) return false;
    *o = (vr_operand){VR_IMM, constant(r, bits)};
    return true;
}

/* An index: .b32 with a sign, or .b64. */
static bool take_index(vr_reader *r, vr_operand *o) {
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

static bool take_address(vr_reader *r, vr_inst *v) {
    if (!vr_expect(r, "[")) return false;
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
            return vr_wrong_word(r, v->how == VR_GLOBAL
                                        ? "expected an array among the parameters, or a register"
                                    : v->how == VR_SHARED ? "expected a .shared array"
                                                          : "expected a .const array");
        vr_type type = v->how == VR_GLOBAL   ? r->p->params[s->at].type
                       : v->how == VR_SHARED ? r->p->shared[s->at].type
                                             : r->p->consts[s->at].type;
        if (vr_bytes(type) != vr_bytes(v->type))
            return vr_wrong(r, r->now.loc,
                            borg_format(r->arena, "elements of '%s' are .%s, not .%s", s->name,
                                        vr_type_text[type], vr_type_text[v->type]));
        v->base = (vr_operand){VR_ARRAY, s->at};
        vr_advance(r);
    }
    if (vr_accept(r, "+") && !take_index(r, &v->a[0])) return false;
    return vr_expect(r, "]");
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* One of `count` words behind a point; -1: none of them. */
static int take_word(vr_reader *r, const char *const *words, int count) {
    for (int k = 0; k < count; ++k)
        if (r->now.word == VR_DOT && (size_t)r->now.length == strlen(words[k]) + 1 &&
            memcmp(r->now.text + 1, words[k], strlen(words[k])) == 0) {
            vr_advance(r);
            return k;
        }
    return -1;
}

static bool take_suffixes(vr_reader *r, vr_inst *v) {
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
        return vr_wrong_word(r, v->op == VR_SETP   ? "expected .eq .ne .lt .le .gt or .ge"
                                : v->op == VR_SHFL ? "expected .idx .up .down or .xor"
                                : v->op == VR_VOTE ? "expected .any or .all"
                                                   : "expected .global .shared or .const");
    if (v->op == VR_ST && v->how == VR_CONST)
        return vr_wrong(r, v->loc, "a .const array cannot be written");
    if (!info->types) return true;
    borg_loc loc = r->now.loc;
    if (!vr_take_type(r, &v->type)) return false;
    if (!(info->types >> v->type & 1))
        return vr_wrong(
            r, loc, borg_format(r->arena, "%s has no type .%s", info->text, vr_type_text[v->type]));
    if (v->op != VR_CVT) return true;
    loc = r->now.loc;
    if (!vr_take_type(r, &v->from)) return false;
    if (!(info->types >> v->from & 1))
        return vr_wrong(r, loc,
                        borg_format(r->arena, "cvt has no type .%s", vr_type_text[v->from]));
    return true;
}

static bool take_sources(vr_reader *r, vr_inst *v) {
    for (int k = 0; k < vr_op_table[v->op].sources; ++k) {
        vr_type type = v->type;
        if (v->op == VR_CVT) type = v->from;
        if (v->op == VR_SELP && k == 2) type = VR_PRED;
        if ((v->op == VR_SHFL || v->op == VR_SHL || v->op == VR_SHR) && k == 1) type = VR_U32;
        if (k && !vr_expect(r, ",")) return false;
        if (!take_operand(r, type, &v->a[k])) return false;
    }
    return true;
}

static bool take_operands(vr_reader *r, vr_inst *v) {
    switch (v->op) {
    case VR_JOIN:
    case VR_EXIT:
        return true;
    case VR_BRA:
    case VR_ALLBRA:
        if (r->now.word != VR_NAME) return vr_wrong_word(r, "expected a label");
        r->fixups = borg_grow(r->arena, r->fixups, (size_t)r->nfixups + 1, &r->fixup_room,
                              sizeof *r->fixups);
        r->fixups[r->nfixups++] = (fixup){r->p->ninsts, r->now};
        vr_advance(r);
        return true;
    case VR_ST:
        return take_address(r, v) && vr_expect(r, ",") && take_operand(r, v->type, &v->a[1]);
    case VR_LD:
        return take_register(r, v->type, &v->dst) && vr_expect(r, ",") && take_address(r, v);
    default:
        return take_register(r, v->op == VR_SETP ? VR_PRED : v->type, &v->dst) &&
               vr_expect(r, ",") && take_sources(r, v);
    }
}

static bool take_instruction(vr_reader *r) {
    vr_program *p = r->p;
    vr_inst v = {.guard = -1, .dst = -1, .target = -1, .op = VR_NOPS, .loc = r->now.loc};
    if (vr_accept(r, "@")) {
        v.negated = vr_accept(r, "!");
        if (!take_register(r, VR_PRED, &v.guard)) return false;
    }
    if (r->now.word != VR_NAME) return vr_wrong_word(r, "expected an instruction");
    v.loc = r->now.loc;
    for (int k = 0; k < VR_NOPS; ++k)
        if (vr_is(&r->now, vr_op_table[k].text)) v.op = (vr_op)k;
    if (v.op == VR_NOPS)
        return vr_wrong(r, v.loc,
                        borg_format(r->arena, "no instruction '%s'", vr_copy(r, &r->now)));
    vr_advance(r);
    if (v.guard >= 0 && (v.op == VR_JOIN || v.op == VR_EXIT))
        return vr_wrong(r, v.loc,
                        borg_format(r->arena, "%s takes no guard", vr_op_table[v.op].text));
    if (!take_suffixes(r, &v) || !take_operands(r, &v)) return false;
    if (p->ninsts == VR_MOST_INSTRUCTIONS)
        return vr_wrong(r, v.loc, "more than 1048576 instructions");
    p->insts = borg_grow(r->arena, p->insts, (size_t)p->ninsts + 1, &p->room[4], sizeof v);
    p->insts[p->ninsts++] = v;
    return vr_expect(r, ";");
}

static bool take_label(vr_reader *r) {
    vr_program *p = r->p;
    borg_loc loc = r->now.loc;
    const char *name = vr_new_name(r, VR_NAME, "a label", VR_OF_LABEL, p->nlabels);
    if (!name) return false;
    p->labels =
        borg_grow(r->arena, p->labels, (size_t)p->nlabels + 1, &p->room[5], sizeof *p->labels);
    p->labels[p->nlabels++] = (vr_label){name, p->ninsts, loc};
    return vr_expect(r, ":");
}

static bool take_statement(vr_reader *r) {
    if (vr_accept(r, ".reg")) return vr_take_registers(r);
    if (vr_accept(r, ".shared")) return vr_take_array(r, true);
    if (vr_accept(r, ".const")) return vr_take_array(r, false);
    if (r->now.word == VR_NAME) {
        vr_lexer ahead = r->lexer;
        vr_token next = vr_next(&ahead);
        if (next.word == VR_SIGN && vr_is(&next, ":")) return take_label(r);
    }
    return take_instruction(r);
}

/* To behind the next semicolon. */
static void recover(vr_reader *r) {
    while (r->now.word != VR_END && !vr_is(&r->now, ";") && !vr_is(&r->now, "}")) vr_advance(r);
    vr_accept(r, ";");
}

static void resolve(vr_reader *r) {
    for (int32_t i = 0; i < r->nfixups; ++i) {
        const vr_token *t = &r->fixups[i].name;
        const vr_symbol *s = vr_look_up(&r->names, t->text, (size_t)t->length);
        if (!s || s->kind != VR_OF_LABEL) {
            vr_wrong(r, t->loc, borg_format(r->arena, "no label '%s'", vr_copy(r, t)));
        } else {
            r->p->insts[r->fixups[i].inst].target = r->p->labels[s->at].at;
        }
    }
}

/* The parameters of a further kernel are those of the first. */
static bool same_params(vr_reader *r, const vr_param *given, int32_t count) {
    const vr_program *p = r->p;
    bool same = count == p->nparams;
    for (int32_t i = 0; i < count && same; ++i)
        same = strcmp(given[i].name, p->params[i].name) == 0 &&
               given[i].type == p->params[i].type && given[i].array == p->params[i].array;
    return same ? true : vr_wrong(r, r->now.loc, "the kernels of a file have the same parameters");
}

/* Names are the kernel's own but for those of parameters. */
static bool take_params(vr_reader *r) {
    vr_program *p = r->p;
    vr_param *first = p->params;
    int32_t count = p->nparams;
    p->params = BORG_NEW(r->arena, VR_MOST_PARAMS, vr_param);
    p->nparams = 0;
    if (!vr_expect(r, "(")) return false;
    if (!vr_accept(r, ")")) {
        do {
            if (!vr_take_param(r)) return false;
        } while (vr_accept(r, ","));
        if (!vr_expect(r, ")")) return false;
    }
    return p->nentries == 0 || same_params(r, first, count);
}

static void mark_entry(vr_program *p, vr_entry *e) {
    e->first = p->ninsts;
    e->registers = p->nregisters;
    e->shared = p->nshared;
    e->consts = p->nconsts;
    e->labels = p->nlabels;
}

/* .entry name ( parameters ) [ .ntids N ] { */
static bool take_head(vr_reader *r) {
    vr_program *p = r->p;
    vr_entry e = {.loc = r->now.loc};
    uint64_t ntids = 0;
    r->names = (vr_names){.arena = r->arena};
    if (!vr_expect(r, ".entry")) return false;
    if (r->now.word != VR_NAME) return vr_wrong_word(r, "expected the name of the kernel");
    e.name = vr_copy(r, &r->now);
    e.loc = r->now.loc;
    vr_advance(r);
    if (!take_params(r)) return false;
    if (vr_accept(r, ".ntids")) {
        borg_loc loc = r->now.loc;
        if (!vr_take_literal(r, VR_U32, &ntids)) return false;
        if (ntids < 1 || ntids > 32767) return vr_wrong(r, loc, "a warp has 1 to 32767 threads");
    }
    e.ntids = (int32_t)ntids;
    for (int32_t i = 0; i < p->nentries; ++i)
        if (p->entries[i].ntids == e.ntids)
            return vr_wrong(r, e.loc, "there is a kernel for warps of this size already (.ntids)");
    if (p->nentries == VR_MOST_ENTRIES) return vr_wrong(r, e.loc, "more than 1024 kernels");
    mark_entry(p, &e);
    p->entries = borg_grow(r->arena, p->entries, (size_t)p->nentries + 2, &p->room[6], sizeof e);
    p->entries[p->nentries++] = e;
    return vr_expect(r, "{");
}

static bool take_kernel(vr_reader *r) {
    if (!take_head(r)) return false;
    r->nfixups = 0;
    while (r->now.word != VR_END && !vr_is(&r->now, "}"))
        if (!take_statement(r)) recover(r);
    if (!vr_expect(r, "}")) return false;
    resolve(r);
    mark_entry(r->p, &r->p->entries[r->p->nentries]);
    return true;
}

vr_program *vr_assemble(const char *file, const char *text, size_t length, borg_diags *diags) {
    vr_reader r = {.arena = diags->arena, .diags = diags};
    r.lexer = (vr_lexer){.text = text, .length = length, .line = 1};
    r.constants.arena = r.arena;
    diags->source = (borg_text){file, text, length};
    r.p = BORG_NEW(r.arena, 1, vr_program);
    r.p->arena = r.arena;
    r.p->source = diags->source;
    vr_advance(&r);
    do {
        if (!take_kernel(&r)) return NULL;
    } while (r.now.word != VR_END);
    r.p->name = r.p->entries[0].name;
    if (diags->errors) return NULL;
    return vr_verify(r.p, diags) ? r.p : NULL;
}
