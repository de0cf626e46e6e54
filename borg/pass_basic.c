/* SPDX-License-Identifier: BSD-3-Clause */
/* Fold, dead code, common subexpressions: what the others rely on. */
#include "borg/passes.h"
#include <string.h>

/* ---- replacing ------------------------------------------------------------------------------- */

/* aux of a replaced instruction names its successor; chains are followed. */
static borg_inst *successor(borg_inst *v) {
    while (v->aux) v = v->aux;
    return v;
}

static void clear_aux(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->aux = NULL;
        if (v->block[0]) clear_aux(v->block[0]);
        if (v->block[1]) clear_aux(v->block[1]);
    }
}

static void replace_in(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        for (int32_t i = 0; i < v->nargs; ++i) v->args[i] = successor(v->args[i]);
        if (v->block[0]) replace_in(v->block[0]);
        if (v->block[1]) replace_in(v->block[1]);
    }
}

void borg_replace_uses(borg_module *m) {
    replace_in(m->body);
}

/* ---- fold ------------------------------------------------------------------------------------ */

static void fold_block(borg_module *m, borg_block *block);

/* IF on a constant: the branch taken moves out, its values take the place of the results. */
static void inline_branch(borg_inst *v, borg_block *taken) {
    borg_inst *yield = taken->last;
    while (taken->first) {
        borg_inst *inst = taken->first;
        borg_unlink(inst);
        if (inst != yield) borg_insert(v->parent, v, inst);
    }
    v->aux = NULL;
    v->args[0] = yield; /* for its RESULTs, which come behind */
    v->mark = -1;
}

static void fold_block(borg_module *m, borg_block *block) {
    for (borg_inst *v = block->first, *next; v; v = next) {
        for (int32_t i = 0; i < v->nargs; ++i) v->args[i] = successor(v->args[i]);
        if (v->op == BORG_RESULT && v->args[0]->mark == -1) {
            next = v->next;
            v->aux = successor(v->args[0]->args[0]->args[v->index]);
            borg_unlink(v);
            continue;
        }
        if (v->op == BORG_IF && borg_is_splat(v->args[0])) {
            borg_block *taken = v->block[v->args[0]->bits[0] ? 0 : 1];
            borg_inst *first = taken->first;
            borg_inst *before = v->prev;
            inline_branch(v, taken);
            /* what moved out is folded in its turn */
            next = before ? before->next : block->first;
            if (first && first->op == BORG_YIELD) next = v->next;
            v->block[0]->first = v->block[0]->last = v->block[1]->first = v->block[1]->last = NULL;
            next = next == v ? v->next : next;
            borg_unlink(v);
            continue;
        }
        borg_builder b = {.module = m, .block = block, .before = v, .loc = v->loc};
        borg_inst *r = borg_simplify(&b, v);
        next = v->next;
        if (r != v) {
            if (r && !r->name && v->name && r->op != BORG_CONST && r->rows == v->rows) {
                r->name = v->name;
                r->ix = v->ix;
            }
            v->aux = r;
            borg_unlink(v);
            continue;
        }
        if (v->block[0]) fold_block(m, v->block[0]);
        if (v->block[1]) fold_block(m, v->block[1]);
    }
}

static void clear_marks(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        v->mark = 0;
        if (v->block[0]) clear_marks(v->block[0]);
        if (v->block[1]) clear_marks(v->block[1]);
    }
}

void borg_pass_fold(borg_module *m, const borg_options *options) {
    (void)options;
    clear_aux(m->body);
    clear_marks(m->body);
    fold_block(m, m->body);
    borg_replace_uses(m);
    clear_aux(m->body);
}

/* ---- dead code ------------------------------------------------------------------------------- */

static void mark_live(borg_inst *v);

static void mark_block_roots(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_STORE || v->op == BORG_STOREA || v->op == BORG_BARRIER) mark_live(v);
        /* a loop without results could go if it ends, but we cannot tell whether it does */
        if (v->op == BORG_LOOP || v->op == BORG_IF) {
            mark_block_roots(v->block[0]);
            mark_block_roots(v->block[1]);
        }
    }
}

static borg_inst *phi_at(const borg_inst *loop, int32_t n) {
    borg_inst *v = loop->block[0]->first;
    while (n-- > 0) v = v->next;
    return v;
}

static int32_t phi_index(const borg_inst *phi) {
    int32_t n = 0;
    while (phi->prev) phi = phi->prev, ++n;
    return n;
}

/* An explicit stack would be safer for long chains: the list `pending` is one, by aux. */
static borg_inst *push_live(borg_inst *list, borg_inst *v) {
    if (v->mark) return list;
    v->mark = 1;
    v->aux = list;
    return v;
}

static void mark_live(borg_inst *root) {
    borg_inst *list = push_live(NULL, root);
    while (list) {
        borg_inst *v = list;
        list = v->aux;
        v->aux = NULL;
        borg_inst *owner = v->parent ? v->parent->owner : NULL;
        if (owner) list = push_live(list, owner);
        if (v->op == BORG_LOOP) {
            list = push_live(list, v->block[0]->last);
            list = push_live(list, v->block[1]->last);
        } else if (v->op == BORG_IF) {
            list = push_live(list, v->block[0]->last);
            list = push_live(list, v->block[1]->last);
            list = push_live(list, v->args[0]);
        }
        if (v->op == BORG_YIELD) continue; /* its operands: by PHI and RESULT */
        if (v->op == BORG_RESULT) {
            borg_inst *from = v->args[0];
            list = push_live(list, from);
            if (from->op == BORG_LOOP) {
                list = push_live(list, phi_at(from, v->index));
            } else {
                list = push_live(list, from->block[0]->last->args[v->index]);
                list = push_live(list, from->block[1]->last->args[v->index]);
            }
            continue;
        }
        if (v->op == BORG_PHI)
            list = push_live(list, v->parent->owner->block[1]->last->args[phi_index(v)]);
        for (int32_t i = 0; i < v->nargs; ++i) list = push_live(list, v->args[i]);
    }
}

/* PHIs that keep their initial value, and RESULTs of them: replaced. True if there were any. */
static bool drop_constant_phis(borg_block *block) {
    bool changed = false;
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_LOOP) {
            borg_inst *yield = v->block[1]->last;
            int32_t n = 0;
            for (borg_inst *p = v->block[0]->first; p && p->op == BORG_PHI; p = p->next, ++n) {
                borg_inst *next = successor(yield->args[n]);
                if (!p->aux && (next == p || next == successor(p->args[0]))) {
                    p->aux = successor(p->args[0]);
                    changed = true;
                }
            }
        }
        if (v->op == BORG_RESULT && v->args[0]->op == BORG_LOOP && !v->aux) {
            borg_inst *p = phi_at(v->args[0], v->index);
            if (p->aux) {
                v->aux = successor(p);
                changed = true;
            }
        }
        if (v->block[0]) changed |= drop_constant_phis(v->block[0]);
        if (v->block[1]) changed |= drop_constant_phis(v->block[1]);
    }
    return changed;
}

/* RESULTs learn their new index, YIELDs lose the operands whose value nobody uses. */
static void renumber_results(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_RESULT && v->mark) {
            int32_t before = 0;
            const borg_inst *from = v->args[0];
            const int32_t *keep = from->map;
            for (int32_t i = 0; i < v->index; ++i) before += keep[i];
            v->index = before;
        }
        if (v->block[0]) renumber_results(v->block[0]);
        if (v->block[1]) renumber_results(v->block[1]);
    }
}

static void find_kept(borg_module *m, borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_LOOP || v->op == BORG_IF) {
            int32_t count = v->block[1]->last->nargs, n = 0;
            v->map = BORG_NEW(m->arena, count + 1, int32_t);
            if (v->op == BORG_LOOP)
                for (borg_inst *p = v->block[0]->first; p && p->op == BORG_PHI; p = p->next)
                    v->map[n++] = p->mark != 0;
        }
        if (v->op == BORG_RESULT && v->args[0]->op == BORG_IF && v->mark)
            v->args[0]->map[v->index] = 1;
        if (v->block[0]) find_kept(m, v->block[0]);
        if (v->block[1]) find_kept(m, v->block[1]);
    }
}

static void shrink_yield(borg_inst *yield, const int32_t *keep) {
    int32_t count = 0;
    for (int32_t i = 0; i < yield->nargs; ++i)
        if (keep[i]) yield->args[count++] = yield->args[i];
    yield->nargs = count;
}

static void sweep(borg_block *block) {
    for (borg_inst *v = block->first, *next; v; v = next) {
        next = v->next;
        if (!v->mark) {
            borg_unlink(v);
            continue;
        }
        if (v->op == BORG_LOOP) shrink_yield(v->block[1]->last, v->map);
        if (v->op == BORG_IF) {
            shrink_yield(v->block[0]->last, v->map);
            shrink_yield(v->block[1]->last, v->map);
        }
        if (v->op == BORG_LOOP || v->op == BORG_IF) v->map = NULL;
        if (v->block[0]) sweep(v->block[0]);
        if (v->block[1]) sweep(v->block[1]);
    }
}

/* A loop that computes nothing that is used goes only if it certainly ends. */
static void mark_endless(borg_block *block) {
    for (borg_inst *v = block->first; v; v = v->next) {
        if (v->op == BORG_LOOP && v->trip < 0) mark_live(v);
        if (v->block[0]) mark_endless(v->block[0]);
        if (v->block[1]) mark_endless(v->block[1]);
    }
}

void borg_pass_dce(borg_module *m, const borg_options *options) {
    (void)options;
    clear_aux(m->body);
    while (drop_constant_phis(m->body)) {}
    borg_replace_uses(m);
    clear_aux(m->body);
    clear_marks(m->body);
    mark_block_roots(m->body);
    mark_endless(m->body);
    find_kept(m, m->body);
    renumber_results(m->body);
    sweep(m->body);
    clear_aux(m->body);
}

/* ---- common subexpressions ------------------------------------------------------------------- */

typedef struct seen {
    borg_inst *inst;
    int32_t next; /* in the same bucket, -1: none */
} seen;

typedef struct subexpressions {
    borg_module *m;
    seen *list;
    size_t count, capacity;
    int32_t *bucket;
    size_t nbuckets;
    int32_t epoch; /* of memory: a store begins a new one */
} subexpressions;

static uint64_t mix(uint64_t h, uint64_t x) {
    return (h ^ x) * 0x9e3779b97f4a7c15u ^ (h >> 29);
}

static int32_t map_length(const borg_module *m, const borg_inst *v) {
    switch (v->op) {
    case BORG_ROWS:
        return v->rows;
    case BORG_LANE:
        return 2 * v->rows;
    case BORG_PERM:
        return 2 * v->rows * m->size;
    default:
        return 0;
    }
}

static uint64_t hash_of(const borg_module *m, const borg_inst *v) {
    uint64_t h = mix((uint64_t)v->op, (uint64_t)v->type * 8 + v->spread);
    h = mix(h, (uint64_t)v->rows * 64 + v->pred * 2 + v->uns);
    for (int32_t i = 0; i < v->nargs; ++i) h = mix(h, (uint64_t)(uintptr_t)v->args[i]);
    for (int32_t i = 0; i < v->ntable; ++i) h = mix(h, v->bits[i]);
    for (int32_t i = 0; i < map_length(m, v); ++i) h = mix(h, (uint64_t)v->map[i]);
    return mix(h, (uint64_t)v->index);
}

static bool equal(const borg_module *m, const borg_inst *x, const borg_inst *y) {
    if (x->op != y->op || x->type != y->type || x->spread != y->spread || x->rows != y->rows ||
        x->pred != y->pred || x->uns != y->uns || x->index != y->index || x->nargs != y->nargs ||
        x->ntable != y->ntable)
        return false;
    for (int32_t i = 0; i < x->nargs; ++i)
        if (x->args[i] != y->args[i]) return false;
    for (int32_t i = 0; i < x->ntable; ++i)
        if (x->bits[i] != y->bits[i]) return false;
    for (int32_t i = 0; i < map_length(m, x); ++i)
        if (x->map[i] != y->map[i]) return false;
    if (x->op == BORG_LOADA) {
        if (x->a != y->a || x->b != y->b) return false;
        for (int32_t r = 0; r < x->rows; ++r)
            if (x->c[r] != y->c[r]) return false;
    }
    return true;
}

static bool shareable(const borg_inst *v) {
    return v->type != BORG_VOID && borg_op_table[v->op].class != BORG_CONTROL;
}

static void cse_block(subexpressions *s, borg_block *block) {
    size_t visible = s->count;
    for (borg_inst *v = block->first, *next; v; v = next) {
        next = v->next;
        for (int32_t i = 0; i < v->nargs; ++i) v->args[i] = successor(v->args[i]);
        if (v->op == BORG_STORE || v->op == BORG_STOREA || v->op == BORG_BARRIER ||
            v->op == BORG_LOOP || v->op == BORG_IF)
            ++s->epoch;
        if (v->op == BORG_LOOP) {
            cse_block(s, v->block[0]); /* the head's values end with it here: simple, and enough */
            cse_block(s, v->block[1]);
            ++s->epoch;
        } else if (v->op == BORG_IF) {
            cse_block(s, v->block[0]);
            ++s->epoch;
            cse_block(s, v->block[1]);
            ++s->epoch;
        }
        if (!shareable(v)) continue;
        bool load = v->op == BORG_LOAD || v->op == BORG_LOADA;
        v->mark = load ? s->epoch : 0;
        size_t at = hash_of(s->m, v) & (s->nbuckets - 1);
        borg_inst *found = NULL;
        for (int32_t i = s->bucket[at]; i >= 0 && !found; i = s->list[i].next)
            if (equal(s->m, s->list[i].inst, v) && s->list[i].inst->mark == v->mark)
                found = s->list[i].inst;
        if (found) {
            v->aux = found;
            borg_unlink(v);
            continue;
        }
        s->list = borg_grow(s->m->arena, s->list, s->count + 1, &s->capacity, sizeof *s->list);
        s->list[s->count] = (seen){v, s->bucket[at]};
        s->bucket[at] = (int32_t)s->count++;
    }
    while (s->count > visible) { /* what stands in the block is not seen outside */
        --s->count;
        size_t at = hash_of(s->m, s->list[s->count].inst) & (s->nbuckets - 1);
        if (s->bucket[at] == (int32_t)s->count) s->bucket[at] = s->list[s->count].next;
    }
}

void borg_pass_cse(borg_module *m, const borg_options *options) {
    (void)options;
    subexpressions s = {.m = m, .nbuckets = 1024};
    while ((int64_t)s.nbuckets < m->ninsts && s.nbuckets < (1u << 18)) s.nbuckets *= 2;
    s.bucket = BORG_NEW(m->arena, s.nbuckets, int32_t);
    for (size_t i = 0; i < s.nbuckets; ++i) s.bucket[i] = -1;
    clear_aux(m->body);
    cse_block(&s, m->body);
    borg_replace_uses(m);
    clear_aux(m->body);
}
