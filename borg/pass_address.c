/* SPDX-License-Identifier: BSD-3-Clause */
/* Affine addresses: a LOAD or STORE whose index is  off + c[r] + b*wi + a*wg  becomes LOADA or
 * STOREA, from which backends see contiguous, strided and broadcast accesses. Sums, products and
 * shifts by constants are looked through; 32-bit indices too, if they are signed: an int index that
 * overflows is undefined in the language. */
#include "borg/passes.h"
#include <string.h>

enum { MAX_TERMS = BORG_SUM_TERMS, MAX_DEPTH = 64 };

typedef struct term {
    borg_inst *value; /* UNI or WG, any number of rows */
    int32_t row;
    int64_t scale;
} term;

typedef struct affine {
    const borg_module *m;
    term terms[MAX_TERMS];
    int32_t nterms;
    int64_t a;                 /* per group */
    int64_t at[BORG_MAX_SIZE]; /* by work-item: constants */
} affine;

static int64_t mul(int64_t x, int64_t y) {
    return (int64_t)((uint64_t)x * (uint64_t)y);
}
static int64_t add(int64_t x, int64_t y) {
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static int64_t signed_bits(const borg_inst *v, uint64_t bits) {
    return v->type == BORG_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}

static bool add_term(affine *f, borg_inst *v, int32_t row, int64_t scale) {
    if (v->rows == 1) row = 0;
    for (int32_t i = 0; i < f->nterms; ++i) {
        if (f->terms[i].value != v || f->terms[i].row != row) continue;
        f->terms[i].scale = add(f->terms[i].scale, scale);
        return true;
    }
    if (f->nterms == MAX_TERMS) return false;
    f->terms[f->nterms++] = (term){v, row, scale};
    return true;
}

static bool decompose(affine *f, borg_inst *v, int32_t row, int64_t scale, int depth) {
    const borg_module *m = f->m;
    if (depth > MAX_DEPTH) return false;
    switch (v->op) {
    case BORG_CONST:
        for (int32_t w = 0; w < m->size; ++w)
            f->at[w] = add(f->at[w], mul(scale, signed_bits(v, borg_const_bits(m, v, row, w))));
        return true;
    case BORG_LID:
        for (int32_t w = 0; w < m->size; ++w) f->at[w] = add(f->at[w], mul(scale, w));
        return true;
    case BORG_WGID:
        f->a = add(f->a, scale);
        return true;
    case BORG_BCAST:
    case BORG_SEXT:
        return decompose(f, v->args[0], row, scale, depth + 1);
    case BORG_ROWS:
        return decompose(f, v->args[row], v->map[row], scale, depth + 1);
    case BORG_ADD:
        return decompose(f, v->args[0], row, scale, depth + 1) &&
               decompose(f, v->args[1], row, scale, depth + 1);
    case BORG_SUB:
        return decompose(f, v->args[0], row, scale, depth + 1) &&
               decompose(f, v->args[1], row, mul(scale, -1), depth + 1);
    case BORG_NEG:
        return decompose(f, v->args[0], row, mul(scale, -1), depth + 1);
    case BORG_SHL:
        if (!borg_is_splat(v->args[1]) || v->args[1]->bits[0] > 31) break;
        return decompose(f, v->args[0], row, mul(scale, (int64_t)1 << v->args[1]->bits[0]),
                         depth + 1);
    case BORG_MUL:
        for (int i = 0; i < 2; ++i) {
            const borg_inst *k = v->args[1 - i];
            if (k->op != BORG_CONST || (k->ntable > 1 && k->spread == BORG_WI)) continue;
            int64_t factor = signed_bits(k, borg_const_bits(m, k, row, 0));
            return decompose(f, v->args[i], row, mul(scale, factor), depth + 1);
        }
        break;
    default:
        break;
    }
    return v->spread <= BORG_WG && add_term(f, v, row, scale);
}

/* c + b * wi, or no */
static bool linear(const affine *f, int64_t *b, int64_t *c) {
    *c = f->at[0];
    *b = f->m->size > 1 ? add(f->at[1], mul(f->at[0], -1)) : 0;
    for (int32_t w = 0; w < f->m->size; ++w)
        if (f->at[w] != add(*c, mul(*b, w))) return false;
    return true;
}

static bool same_terms(const affine *x, const affine *y) {
    if (x->nterms != y->nterms || x->a != y->a) return false;
    for (int32_t i = 0; i < x->nterms; ++i)
        if (x->terms[i].value != y->terms[i].value || x->terms[i].row != y->terms[i].row ||
            x->terms[i].scale != y->terms[i].scale)
            return false;
    return true;
}

bool borg_counts_groups(const borg_module *m, borg_inst *v, int32_t row, int64_t *a, int64_t *b,
                        int64_t *c) {
    affine f = {.m = m};
    if (!decompose(&f, v, row, 1, 0) || f.nterms != 1 || f.terms[0].value->op != BORG_GID)
        return false;
    *a = f.terms[0].scale;
    return linear(&f, b, c);
}

bool borg_sum_of(const borg_module *m, borg_inst *v, borg_sum *sum) {
    affine f = {.m = m};
    *sum = (borg_sum){.n = 0};
    if (v->rows != 1 || v->spread != BORG_UNI || !decompose(&f, v, 0, 1, 0)) return false;
    sum->constant = f.at[0];
    for (int32_t i = 0; i < f.nterms; ++i) {
        const term *t = &f.terms[i];
        if (t->value->op == BORG_G0) {
            sum->groups = add(sum->groups, t->scale);
        } else if (t->value->rows == 1 && t->value->type == BORG_I64) {
            sum->value[sum->n] = t->value;
            sum->scale[sum->n++] = t->scale;
        } else {
            return false;
        }
    }
    return true;
}

static borg_inst *widened(borg_builder *b, borg_inst *v) {
    return v->type == BORG_I64 ? v : borg_emit_elem(b, BORG_SEXT, BORG_I64, v, NULL, NULL);
}

/* The sum of the terms; the group's number splits into g0 and wg. */
static borg_inst *offset(borg_builder *b, affine *f) {
    borg_inst *sum = NULL;
    for (int spread = BORG_UNI; spread <= BORG_WG; ++spread) {
        if (sum && spread == BORG_WG) {
            bool any = false;
            for (int32_t i = 0; i < f->nterms; ++i)
                any = any ||
                      (f->terms[i].value->spread == BORG_WG && f->terms[i].value->op != BORG_GID);
            if (!any) break;
            sum = borg_emit_bcast(b, sum, BORG_WG);
        }
        for (int32_t i = 0; i < f->nterms; ++i) {
            term t = f->terms[i];
            bool gid = t.value->op == BORG_GID;
            if ((gid ? BORG_UNI : t.value->spread) != (borg_spread)spread) continue;
            borg_inst *v = t.value;
            if (gid) {
                v = borg_emit(b, BORG_G0, BORG_I64, BORG_UNI, 1, 0);
                f->a = add(f->a, t.scale);
            } else if (v->rows > 1) {
                v = borg_emit_rows(b, 1, &v, &t.row);
            }
            v = widened(b, v);
            if (t.scale != 1) {
                borg_inst *k = borg_emit_const(b, BORG_I64, v->spread, 1, (uint64_t)t.scale);
                v = borg_emit_elem(b, BORG_MUL, BORG_I64, v, k, NULL);
            }
            sum = sum ? borg_emit_elem(b, BORG_ADD, BORG_I64, sum, v, NULL) : v;
        }
    }
    return sum ? sum : borg_emit_const(b, BORG_I64, BORG_UNI, 1, 0);
}

static void convert(borg_module *m, borg_inst *v) {
    const borg_inst *value = borg_stored(v) ? borg_stored(v) : v;
    affine first = {.m = m}, next;
    int64_t *c = BORG_NEW(m->arena, value->rows, int64_t), b = 0, b2 = 0;
    for (int32_t r = 0; r < value->rows; ++r) {
        next = (affine){.m = m};
        if (!decompose(&next, v->args[1], r, 1, 0)) return;
        /* the spread of the value may be narrow: then the work-item does not matter */
        if (!linear(&next, &b2, &c[r])) return;
        if (r == 0) {
            first = next;
            b = b2;
        }
        if (b2 != b || !same_terms(&first, &next)) return;
    }
    if (value->spread == BORG_UNI && first.a != 0) return;
    borg_builder at = {.module = m, .block = v->parent, .before = v, .loc = v->loc};
    borg_inst *off = offset(&at, &first);
    if (off->spread > value->spread) return;
    v->args[1] = off;
    v->a = first.a;
    v->b = b;
    v->c = c;
    v->op = v->op == BORG_LOAD ? BORG_LOADA : BORG_STOREA;
}

static void visit(borg_module *m, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if ((v->op == BORG_LOAD || v->op == BORG_STORE) && v->args[0]->op != BORG_LOCAL)
            convert(m, v);
        if (v->block[0]) visit(m, v->block[0]);
        if (v->block[1]) visit(m, v->block[1]);
    }
}

/* gid / d and gid % d where d is a multiple of the pack: the groups of a pack agree, g0 tells. */
static void split_group(borg_module *m, borg_block *block) {
    for (borg_inst *v = block->first, *next; v; v = next) {
        next = v->next;
        if (v->block[0]) split_group(m, v->block[0]);
        if (v->block[1]) split_group(m, v->block[1]);
        bool division = v->op == BORG_SDIV || v->op == BORG_UDIV;
        if (!division && v->op != BORG_SREM && v->op != BORG_UREM) continue;
        if (v->args[0]->op != BORG_GID || !borg_is_splat(v->args[1])) continue;
        int64_t d = (int64_t)v->args[1]->bits[0];
        if (d <= 0 || d % m->pack) continue;
        borg_builder b = {.module = m, .block = block, .before = v, .loc = v->loc};
        borg_inst *g0 = borg_emit(&b, BORG_G0, BORG_I64, BORG_UNI, 1, 0);
        borg_inst *k = borg_emit_const(&b, BORG_I64, BORG_UNI, 1, (uint64_t)d);
        borg_inst *r = borg_emit_elem(&b, v->op, BORG_I64, g0, k, NULL);
        r = borg_emit_bcast(&b, r, BORG_WG);
        if (!division && m->pack > 1) {
            borg_inst *wg = borg_emit(&b, BORG_WGID, BORG_I32, BORG_WG, 1, 0);
            wg = borg_emit_elem(&b, BORG_SEXT, BORG_I64, wg, NULL, NULL);
            r = borg_emit_elem(&b, BORG_ADD, BORG_I64, r, wg, NULL);
        }
        v->aux = r;
        borg_unlink(v);
    }
}

static void clear_aux(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->aux = NULL;
        if (v->block[0]) clear_aux(v->block[0]);
        if (v->block[1]) clear_aux(v->block[1]);
    }
}

void borg_pass_address(borg_module *m, const borg_options *options) {
    (void)options;
    clear_aux(m->body);
    split_group(m, m->body);
    borg_replace_uses(m);
    clear_aux(m->body);
    visit(m, m->body);
}
