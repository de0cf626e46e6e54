/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the elements lie that work-items load and store in global memory. */
#include "borg/emit/simt/leaves.h"
#include <inttypes.h>
#include <string.h>

/* The array, as a pointer to elements of `type`. */
static const char *array(simt *e, const borg_inst *v, borg_type type) {
    const borg_inst *p = v->args[0];
    const char *name = simt_get(e, p, 0);
    bool floats = p->op == BORG_PARAM && borg_is_float(type);
    if (floats) return name;
    bool loads = v->op == BORG_LOAD || v->op == BORG_LOADA;
    const borg_type elem = borg_access_type(e->m, v);
    if (borg_is_narrow(elem))
        return borg_format(e->arena, "((B_GLOBAL %sunsigned %s *)%s)", loads ? "const " : "",
                           elem == BORG_I8 ? "char" : "short", name);
    return borg_format(e->arena, "((B_GLOBAL %s%s *)%s)", loads ? "const " : "",
                       e->target->types[type == BORG_PTR ? BORG_I64 : type], name);
}

/* ---- addresses ---------------------------------------------------------------------------------
 *
 * A sum of terms is added to the pointer one after the other, those that many accesses have in
 * common first: compilers then keep what is common as one pointer, and add to it the product of a
 * leading dimension by a constant in one instruction. */
enum { MOST_TERMS = 4 };
typedef struct terms {
    const borg_inst *term[MOST_TERMS];
    int32_t count;
} terms;

/* How many accesses share it. */
static int32_t shared_by(const borg_inst *v) {
    return v->spread == BORG_WI ? v->uses : 2 * v->uses;
}

static void collect(const borg_inst *v, terms *t, int32_t room) {
    while (v->op == BORG_BCAST) v = v->args[0];
    bool sum = v->op == BORG_ADD && v->type == BORG_I64 && room > 0 && v->rows == 1;
    if (sum) {
        collect(v->args[0], t, room - 1);
        collect(v->args[1], t, MOST_TERMS - 1 - t->count);
        return;
    }
    int32_t at = t->count++;
    for (; at > 0 && shared_by(t->term[at - 1]) < shared_by(v); --at) t->term[at] = t->term[at - 1];
    t->term[at] = v;
}

/* An index of 32 bits that would wrap is undefined, so a product may as well be one of 64. */
static const char *term_text(simt *e, const borg_inst *v, int32_t r, int32_t j) {
    const borg_inst *x = v->op == BORG_SEXT ? v->args[0] : v;
    bool product = x != v && x->op == BORG_MUL && x->spread != BORG_WI && x->rows == 1;
    for (int32_t k = 0; k < 2 && product; ++k)
        if (borg_is_splat(x->args[k]))
            return borg_format(e->arena, "(b_s64)(b_s32)%s * %" PRId32,
                               simt_get(e, x->args[1 - k], 0), (int32_t)x->args[k]->bits[0]);
    if (simt_count(e, v) == 1) return borg_format(e->arena, "(b_s64)%s", simt_get(e, v, 0));
    int32_t own = simt_per_row(e, v);
    return borg_format(e->arena, "(b_s64)%s",
                       simt_get(e, v, (v->rows == 1 ? 0 : r) * own + (own == 1 ? 0 : j)));
}

/* A multiple of what is the same for all, such as a column further on. */
static bool steps(const borg_inst *v) {
    const borg_inst *x = v->op == BORG_SEXT ? v->args[0] : v;
    return v->spread == BORG_UNI && v->rows == 1 && (x->op == BORG_MUL || x->op == BORG_PARAM);
}

/* The name of a pointer that the compiler must not take apart again. */
static const char *common_pointer(simt *e, const char *text, bool wanted) {
    simt_pointer *p = e->pointers;
    if (e->target->opencl) return text;
    for (; p; p = p->next)
        if (strcmp(p->text, text) == 0) return p->name;
    if (!wanted || e->c.depth > 1) return text;
    p = BORG_NEW(e->arena, 1, simt_pointer);
    *p = (simt_pointer){.text = text, .next = e->pointers};
    p->name = borg_format(e->arena, "a%d", e->c.temps++);
    e->pointers = p;
    ctext_line(&e->c, "__typeof__(%s) %s = %s;", text, p->name, text);
    ctext_line(&e->c, "B_KEEP(%s);", p->name);
    return p->name;
}

/* The element of scalar i: row i / per, work-item i % per of the thread. */
const char *simt_element(simt *e, const borg_inst *v, const borg_inst *value, int32_t i) {
    int32_t per = simt_per_row(e, value), r = i / per, j = i % per;
    const char *staged = simt_staged(e, v, r, j);
    if (staged) return staged;
    bool affine = v->op == BORG_LOADA || v->op == BORG_STOREA;
    terms t = {.count = 0};
    borg_sink text = {.arena = e->arena};
    collect(v->args[1], &t, v->args[1]->rows == 1 ? 2 : 0);
    borg_put(&text, "(%s", array(e, v, value->type));
    int64_t c = affine ? v->c[r] : 0;
    if (affine && value->spread == BORG_WI && v->b != 0) {
        if (e->lanes == 1) {
            c += v->b * (j < e->m->size ? j : e->m->size - 1);
        } else if (v->b == 1) {
            borg_put(&text, " + %s", simt_item(e, j));
        } else {
            borg_put(&text, " + %" PRId64 " * (b_s64)%s", v->b, simt_item(e, j));
        }
    }
    if (affine && value->spread != BORG_UNI && v->a != 0 && e->m->pack > 1)
        borg_put(&text, " + %" PRId64 " * (b_s64)b_wg", v->a);
    bool apart = t.count > 1 && steps(t.term[t.count - 1]);
    for (int32_t k = 0; k < t.count - apart; ++k)
        borg_put(&text, " + %s", term_text(e, t.term[k], r, j));
    borg_put(&text, ")");
    const char *from = common_pointer(e, text.text, apart);
    if (apart)
        return borg_format(e->arena, "(%s + %s)[%" PRId64 "]", from,
                           term_text(e, t.term[t.count - 1], r, j), c);
    return borg_format(e->arena, "%s[%" PRId64 "]", from, c);
}
