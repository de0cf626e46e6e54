/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in memory (__local volatile): of each group a piece of shared memory. Where groups of a
 * warp are interleaved, element e of group g is element e * P + g of the warp's piece, so that the
 * groups' indices never meet in a bank; else a group's elements are side by side.
 *
 * A value of a group is computed by all its threads, and so is what the last work-item does by
 * threads that have none: such a load must not see a later store of another thread, and must see an
 * earlier one. Where an array has stores of groups, or there are such threads, a sync stands
 * between.
 *
 * What is loaded from global memory only to be stored goes there by an asynchronous copy (CUDA),
 * so that a thread waits once for many: before it reads the array, writes it otherwise or writes to
 * global memory, and at a barrier. */
#include "borg/emit/simt/leaves.h"
#include <inttypes.h>
#include <string.h>

enum { MOST_TERMS = 4, MOST_DEPTH = 8, MOST_FACTOR = 1 << 16 };

struct simt_local {
    int32_t pitch;                      /* elements from group to group, or of a group */
    bool by_groups, by_items;           /* has stores of whole groups, of work-items */
    bool read, group_wrote, item_wrote; /* since the last sync */
    bool copies;                        /* some may be under way that are not in this list */
    const borg_inst **copied;           /* stores by copies that are under way */
    size_t ncopied, capacity;
};

/* ---- what there is --------------------------------------------------------------------------- */

static bool interleaved(const simt *e) {
    return e->m->order == BORG_WG_MINOR && !e->target->opencl;
}

static bool has_clones(const simt *e) {
    return e->lanes * e->rows > e->m->size;
}

static struct simt_local *local_of(const simt *e, const borg_inst *v) {
    return v->nargs > 0 && v->args[0]->op == BORG_LOCAL ? &e->locals[v->args[0]->index] : NULL;
}

/* A store of what is loaded for it alone, with nothing between that could change it. */
static bool is_copy(const simt *e, const borg_inst *v) {
    const borg_inst *x = borg_stored(v);
    if (e->target->opencl || e->options->stage || x->uses != 1 || x->parent != v->parent)
        return false;
    if ((x->op != BORG_LOAD && x->op != BORG_LOADA) || x->args[0]->op == BORG_LOCAL) return false;
    if (x->rows != 1 || x->spread != BORG_WI || borg_is_narrow(borg_access_type(e->m, x)))
        return false;
    if (borg_mask(x) && borg_mask(x) != borg_mask(v)) return false;
    for (const borg_inst *u = x->next; u != v; u = u->next) {
        if (borg_op_table[u->op].class == BORG_CONTROL || u->op == BORG_BARRIER) return false;
        if (borg_stored(u) && borg_may_meet(e->m, u, x)) return false;
    }
    return true;
}

static void find_stores(const simt *e, const borg_block *block) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        struct simt_local *a = v->op == BORG_STORE ? local_of(e, v) : NULL;
        if (a && is_copy(e, v)) e->copied[borg_stored(v)->id] = true;
        if (a && borg_stored(v)->spread == BORG_WI) a->by_items = true;
        if (a && borg_stored(v)->spread != BORG_WI) a->by_groups = true;
        for (int k = 0; k < 2; ++k)
            if (v->block[k]) find_stores(e, v->block[k]);
    }
}

void simt_plan_locals(simt *e) {
    const borg_module *m = e->m;
    e->locals = BORG_NEW(e->arena, m->nlocals + 1, struct simt_local);
    e->copied = BORG_NEW(e->arena, m->ninsts + 1, bool);
    for (int32_t i = 0; i < m->nlocals; ++i) {
        bool share_warp = e->lanes < 32 && !e->target->opencl;
        int32_t bytes = borg_type_bytes(m->locals[i].elem), count = m->locals[i].count;
        int32_t unit = 16 / bytes, banks = 128 / bytes;
        if (!share_warp)
            e->locals[i].pitch = (count + unit - 1) / unit * unit;
        else if (interleaved(e))
            e->locals[i].pitch = count;
        else /* an element of each thread: in different banks */
            e->locals[i].pitch = (count - e->lanes + banks - 1) / banks * banks + e->lanes;
    }
    find_stores(e, m->body);
}

int32_t simt_local_bytes(const simt *e) {
    int32_t bytes = 0;
    for (int32_t i = 0; i < e->m->nlocals; ++i)
        bytes += e->locals[i].pitch * borg_type_bytes(e->m->locals[i].elem);
    return bytes;
}

/* All arrays of a type are one: compilers then reach them from one address. */
void simt_put_locals(simt *e) {
    int32_t length[BORG_PTR] = {0}, groups = e->target->opencl ? e->m->pack : e->threads / e->lanes;
    for (int32_t i = 0; i < e->m->nlocals; ++i)
        length[e->m->locals[i].elem] += groups * e->locals[i].pitch;
    for (int t = BORG_I32; t < BORG_PTR; ++t)
        if (length[t])
            ctext_line(&e->c, "B_SHARED %s s_%s[%d];", e->target->types[t],
                       simt_suffix((borg_type)t), length[t]);
    memset(length, 0, sizeof length);
    for (int32_t i = 0; i < e->m->nlocals; ++i) {
        const borg_local *d = &e->m->locals[i];
        const char *own;
        int32_t pitch = e->locals[i].pitch;
        if (e->target->opencl) {
            own = borg_format(e->arena, " + b_own * %d", pitch);
        } else if (interleaved(e)) {
            own = e->threads == 32 ? " + b_base"
                                   : borg_format(e->arena, " + threadIdx.x / 32 * %d + b_base",
                                                 32 / e->lanes * pitch);
        } else if (groups == 1 || simt_holds(e)) {
            own = "";
        } else {
            own = borg_format(e->arena, " + threadIdx.x / %d * %d", e->lanes, pitch);
        }
        ctext_line(&e->c, "B_LOCAL %s *const l_%s = s_%s + %d%s;", e->target->types[d->elem],
                   d->name, simt_suffix(d->elem), length[d->elem], own);
        ctext_line(&e->c, "(void)l_%s;", d->name);
        length[d->elem] += groups * pitch;
    }
}

/* ---- indices -----------------------------------------------------------------------------------
 *
 * A sum of terms, what all have in common first, constants last: these become part of the
 * instruction. An index that would wrap is undefined. */
typedef struct sum {
    const borg_inst *term[MOST_TERMS];
    int64_t factor[MOST_TERMS], item, constant; /* item: factor of the work-item's number */
    int32_t count;
} sum;

/* v = a * work-item + b */
static bool by_item(const simt *e, const borg_inst *v, int64_t *a, int64_t *b) {
    *a = v->op == BORG_LID, *b = 0;
    if (v->op == BORG_LID) return true;
    if (v->op != BORG_CONST || v->rows != 1) return false;
    *b = (int32_t)borg_const_bits(e->m, v, 0, 0);
    if (e->m->size > 1) *a = (int32_t)borg_const_bits(e->m, v, 0, 1) - *b;
    for (int32_t w = 0; w < e->m->size; ++w)
        if ((int32_t)borg_const_bits(e->m, v, 0, w) != *a * w + *b) return false;
    return true;
}

static bool by_thread(const borg_inst *v) {
    return v->op == BORG_CONST && v->spread == BORG_WI && v->rows == 1;
}

static bool collect(const simt *e, sum *s, const borg_inst *v, int64_t factor, int depth) {
    int64_t a, b;
    while (v->op == BORG_BCAST) v = v->args[0];
    if (factor > MOST_FACTOR || factor < -MOST_FACTOR) return false;
    if (v->op == BORG_LID || by_thread(v)) {
        if (by_item(e, v, &a, &b)) {
            s->item += factor * a;
            s->constant += factor * b;
            return true;
        }
    } else if (borg_is_splat(v)) {
        s->constant += factor * (int32_t)v->bits[0];
        return true;
    }
    if (depth > 0 && v->rows == 1) {
        if (v->op == BORG_ADD || v->op == BORG_SUB)
            return collect(e, s, v->args[0], factor, depth - 1) &&
                   collect(e, s, v->args[1], v->op == BORG_ADD ? factor : -factor, depth - 1);
        if (v->op == BORG_MUL && borg_is_splat(v->args[1]))
            return collect(e, s, v->args[0], factor * (int32_t)v->args[1]->bits[0], depth - 1);
        if (v->op == BORG_SHL && borg_is_splat(v->args[1]) && v->args[1]->bits[0] < 16)
            return collect(e, s, v->args[0], factor * (1 << v->args[1]->bits[0]), depth - 1);
    }
    for (int32_t k = 0; k < s->count; ++k)
        if (s->term[k] == v) {
            s->factor[k] += factor;
            return true;
        }
    if (s->count == MOST_TERMS) return false;
    int32_t at = s->count++;
    for (; at > 0 && s->term[at - 1]->spread > v->spread; --at) {
        s->term[at] = s->term[at - 1];
        s->factor[at] = s->factor[at - 1];
    }
    s->term[at] = v;
    s->factor[at] = factor;
    return true;
}

static sum index_of(const simt *e, const borg_inst *access) {
    const borg_inst *v = access->args[1];
    sum s = {.count = 0};
    if (collect(e, &s, v, 1, MOST_DEPTH)) return s;
    return (sum){.term = {v}, .factor = {1}, .count = 1};
}

static void put_term(borg_sink *text, const char *x, int64_t factor) {
    if (factor == 0) return;
    borg_put(text, "%s%s", text->length ? " + " : "", x);
    if (factor != 1) borg_put(text, " * %" PRId64, factor);
}

/* The part of an index that the thread alone decides, in bytes, less the first thread's, which goes
 * to the sum's constant; where groups share a block, counted from where their arrays begin, `pitch`
 * bytes from one group to the next. It is a variable, made once and held in a register: compilers
 * would make it anew for each access. NULL: there is none. */
static const char *place(simt *e, sum *s, int32_t j, int32_t bytes, int32_t pitch) {
    simt_held *h = e->held;
    uint64_t *bits = BORG_NEW(e->arena, e->lanes, uint64_t);
    int64_t first = 0;
    bool any = false;
    for (int32_t l = 0; l < e->lanes; ++l) {
        int64_t at = s->item * (j * e->lanes + l);
        for (int32_t k = 0; k < s->count; ++k)
            if (by_thread(s->term[k]))
                at +=
                    s->factor[k] * (int32_t)borg_const_bits(e->m, s->term[k], 0, j * e->lanes + l);
        if (l == 0) first = at;
        bits[l] = (uint32_t)((at - first) * bytes);
        any = any || bits[l] != 0;
    }
    if (!any && pitch == 0) return NULL;
    s->constant += first;
    while (h && (memcmp(h->bits, bits, sizeof *bits * (size_t)e->lanes) || h->pitch != pitch))
        h = h->next;
    if (!h) {
        h = BORG_NEW(e->arena, 1, simt_held);
        *h = (simt_held){bits, pitch, e->held ? e->held->number + 1 : 0, e->held};
        e->held = h;
    }
    return borg_format(e->arena, "b_h%d", h->number);
}

bool simt_holds(const simt *e) {
    return e->m->nlocals > 0 && !has_clones(e) && !interleaved(e) && !e->target->opencl;
}

void simt_put_held(simt *e) {
    for (const simt_held *h = e->held; h; h = h->next) {
        uint64_t all = (uint64_t)h->pitch;
        for (int32_t l = 0; l < e->lanes; ++l) all |= h->bits[l];
        ctext_line(&e->c, "int b_h%d = (int)%s;", h->number, simt_by_lane(e, BORG_I32, h->bits));
        if (h->pitch)
            ctext_line(&e->c, "b_h%d += (int)threadIdx.x / %d * %d;", h->number, e->lanes,
                       h->pitch);
        ctext_line(&e->c, "B_HOLD(b_h%d);", h->number);
        if (h->pitch && all % 16 == 0) /* what is read by twos */
            ctext_line(&e->c, "b_h%d &= ~15;", h->number);
    }
}

/* The same by bytes. */
static const char *held_element(simt *e, const borg_inst *v, int32_t r, int32_t j) {
    const borg_local *d = &e->m->locals[v->args[0]->index];
    const int32_t bytes = borg_type_bytes(d->elem);
    sum s = index_of(e, v);
    borg_sink text = {.arena = e->arena};
    int32_t groups = e->threads / e->lanes,
            pitch = groups == 1 ? 0 : bytes * e->locals[v->args[0]->index].pitch;
    const char *own = place(e, &s, j, bytes, pitch);
    if (!own && s.count < 2) return NULL;
    if (own) borg_put(&text, "%s", own);
    for (int32_t k = 0; k < s.count; ++k) {
        int32_t each = simt_per_row(e, s.term[k]);
        int32_t i = (s.term[k]->rows == 1 ? 0 : r) * each + (each == 1 ? 0 : j);
        if (!by_thread(s.term[k]))
            put_term(&text, borg_format(e->arena, "(int)%s", simt_get(e, s.term[k], i)),
                     s.factor[k] * bytes);
    }
    if (s.constant != 0) borg_put(&text, " + %" PRId64, s.constant * bytes);
    return borg_format(e->arena, "B_AT(%s, l_%s, %s)", e->target->types[d->elem], d->name,
                       text.text);
}

/* The element of row r, work-item j of the thread. */
static const char *element(simt *e, const borg_inst *v, int32_t r, int32_t j) {
    if (simt_holds(e)) {
        const char *text = held_element(e, v, r, j);
        if (text) return text;
    }
    sum s = index_of(e, v);
    borg_sink text = {.arena = e->arena};
    int64_t step = interleaved(e) ? 32 / e->lanes : 1;
    for (int32_t k = 0; k < s.count; ++k) {
        int32_t own = simt_per_row(e, s.term[k]);
        int32_t i = (s.term[k]->rows == 1 ? 0 : r) * own + (own == 1 ? 0 : j);
        put_term(&text, borg_format(e->arena, "(int)%s", simt_get(e, s.term[k], i)),
                 s.factor[k] * step);
    }
    if (e->lanes == 1) {
        s.constant += s.item * j;
    } else if ((j + 1) * e->lanes <= e->m->size) {
        put_term(&text, "b_l", s.item * step);
        s.constant += s.item * j * e->lanes;
    } else {
        put_term(&text, simt_item(e, j), s.item * step);
    }
    if (s.constant != 0 || text.length == 0)
        borg_put(&text, "%s%" PRId64, text.length ? " + " : "", s.constant * step);
    return borg_format(e->arena, "l_%s[%s]", e->m->locals[v->args[0]->index].name, text.text);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void all_seen(const simt *e) {
    for (int32_t i = 0; i < e->m->nlocals; ++i)
        e->locals[i].read = e->locals[i].group_wrote = e->locals[i].item_wrote = false;
}

static bool under_way(const struct simt_local *a) {
    return a->copies || a->ncopied > 0;
}

static void wait_for_copies(simt *e) {
    ctext_line(&e->c, "b_copied();");
    for (int32_t i = 0; i < e->m->nlocals; ++i) {
        e->locals[i].copies = false;
        e->locals[i].ncopied = 0;
    }
}

void simt_local_wait(simt *e) {
    for (int32_t i = 0; i < e->m->nlocals; ++i)
        if (under_way(&e->locals[i])) wait_for_copies(e);
}

void simt_local_barrier(simt *e) {
    all_seen(e);
}

static void sync(simt *e) {
    simt_local_wait(e);
    ctext_line(&e->c, e->target->opencl ? "barrier(CLK_LOCAL_MEM_FENCE);" : "b_syncwarp(%s);",
               simt_mask(e));
    all_seen(e);
}

/* The constant part of the place of work-item w's element. */
static int64_t known_place(const simt *e, const sum *s, int32_t w) {
    int64_t at = s->constant + s->item * w;
    for (int32_t k = 0; k < s->count; ++k)
        if (s->term[k]->op == BORG_CONST)
            at += s->factor[k] * (int32_t)borg_const_bits(e->m, s->term[k], 0, w);
    return at;
}

static bool has_terms_of(const sum *s, const sum *t) {
    for (int32_t k = 0; k < t->count; ++k) {
        bool found = t->term[k]->op == BORG_CONST;
        for (int32_t i = 0; i < s->count; ++i)
            found = found || (t->term[k] == s->term[i] && t->factor[k] == s->factor[i]);
        if (!found) return false;
    }
    return true;
}

/* Do v and u access different elements in each work-item? */
static bool apart(const simt *e, const borg_inst *v, const borg_inst *u) {
    sum s = index_of(e, v), t = index_of(e, u);
    if (!has_terms_of(&s, &t) || !has_terms_of(&t, &s)) return false;
    for (int32_t w = 0; w < e->m->size; ++w)
        if (known_place(e, &s, w) == known_place(e, &t, w)) return false;
    return true;
}

static bool apart_from_copies(const simt *e, const struct simt_local *a, const borg_inst *v) {
    for (size_t i = 0; i < a->ncopied; ++i)
        if (!apart(e, v, a->copied[i])) return false;
    return true;
}

/* Is v the same in all turns of the innermost loop around `block`? */
static bool same_in_all_turns(const borg_inst *v, const borg_block *block) {
    const borg_inst *loop = block->owner;
    while (loop && loop->op != BORG_LOOP) loop = loop->parent->owner;
    if (!loop) return false;
    for (const borg_inst *o = v->parent->owner; o; o = o->parent->owner)
        if (o == loop) return false;
    return true;
}

static bool copies_to(const simt *e, const struct simt_local *a, const borg_block *block) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        if (local_of(e, v) == a && borg_stored(v) && e->copied[borg_stored(v)->id]) return true;
        for (int k = 0; k < 2; ++k)
            if (v->block[k] && copies_to(e, a, v->block[k])) return true;
    }
    return false;
}

void simt_local_enter(simt *e, const borg_inst *v) {
    for (int32_t i = 0; i < e->m->nlocals; ++i) {
        const struct simt_local *a = &e->locals[i];
        if (under_way(a) && (v->op == BORG_IF || !copies_to(e, a, v->block[1]))) wait_for_copies(e);
    }
    simt_local_touch(e, v);
}

static void touch(const simt *e, const borg_block *block) {
    for (const borg_inst *v = block->first; v; v = v->next) {
        struct simt_local *a = local_of(e, v);
        const borg_inst *value = borg_stored(v);
        if (a && !value) a->read = true;
        if (a && value && value->spread == BORG_WI) a->item_wrote = true;
        if (a && value && e->copied[value->id]) a->copies = true;
        if (a && value && value->spread != BORG_WI) a->group_wrote = true;
        for (int k = 0; k < 2; ++k)
            if (v->block[k]) touch(e, v->block[k]);
    }
}

void simt_local_touch(simt *e, const borg_inst *v) {
    for (int k = 0; k < 2; ++k) touch(e, v->block[k]);
}

/* Do several threads of a group do the same? */
static void before_load(simt *e, struct simt_local *a) {
    bool clones = has_clones(e);
    if (under_way(a)) wait_for_copies(e);
    if (e->lanes > 1 && (a->group_wrote || (clones && a->item_wrote))) sync(e);
    a->read = true;
}

static void before_store(simt *e, struct simt_local *a, bool group) {
    bool clones = has_clones(e), hurts = group ? a->read : a->group_wrote || (clones && a->read);
    if (e->lanes > 1 && hurts) sync(e);
    if (group) a->group_wrote = true;
    if (!group) a->item_wrote = true;
}

/* ---- accesses -------------------------------------------------------------------------------- */

static void load(simt *e, borg_inst *v) {
    const borg_inst *mask = borg_mask(v);
    int32_t per = simt_per_row(e, v);
    before_load(e, local_of(e, v));
    for (int32_t i = 0; i < simt_count(e, v); ++i) {
        const char *x = element(e, v, i / per, i % per);
        if (mask)
            x = borg_format(e->arena, "%s ? %s : %s", simt_get(e, mask, i), x,
                            simt_literal(e, v->type, 0));
        simt_let(e, v, i, x);
    }
}

/* Copies to one element may arrive in either order. Those of different turns of a loop are kept
 * apart only where they surely meet (language.md). */
static void before_copy(simt *e, struct simt_local *a, const borg_inst *v) {
    bool good = apart_from_copies(e, a, v) && !same_in_all_turns(v->args[1], v->parent);
    if (!good && under_way(a)) wait_for_copies(e);
    a->copied = borg_grow(e->arena, a->copied, a->ncopied + 1, &a->capacity, sizeof *a->copied);
    a->copied[a->ncopied++] = v;
}

/* Threads without a group have an array of their own, so they may store as the others do. */
static void store(simt *e, borg_inst *v) {
    const borg_inst *value = borg_stored(v), *mask = borg_mask(v);
    struct simt_local *a = local_of(e, v);
    bool copy = simt_is_copied(e, value);
    int32_t per = simt_per_row(e, value);
    before_store(e, a, value->spread != BORG_WI);
    if (copy) before_copy(e, a, v);
    if (!copy && (a->copies || !apart_from_copies(e, a, v))) wait_for_copies(e);
    for (int32_t i = 0; i < simt_count(e, value); ++i) {
        int32_t there = e->m->size - i % per * e->lanes;
        const char *x = element(e, v, i / per, i % per);
        const char *y = copy ? simt_element(e, value, value, i) : simt_get(e, value, i);
        borg_sink when = {.arena = e->arena};
        if (value->spread == BORG_WI && there <= 0) continue;
        if (value->spread == BORG_WI && there < e->lanes) borg_put(&when, "b_l < %d", there);
        if (mask) borg_put(&when, "%s%s", when.length ? " && " : "", simt_get(e, mask, i));
        const char *what = borg_format(e->arena, copy ? "b_copy(&%s, &%s)" : "%s = %s", x, y);
        if (when.length) {
            ctext_line(&e->c, "if (%s) %s;", when.text, what);
        } else {
            ctext_line(&e->c, "%s;", what);
        }
    }
}

/* By then a row's place may have been given to another. */
bool simt_is_copied(const simt *e, const borg_inst *v) {
    return v->id >= 0 && e->copied[v->id] && e->planned_rows == 0;
}

bool simt_local(simt *e, borg_inst *v) {
    if (!local_of(e, v)) {
        if (borg_stored(v)) simt_local_wait(e); /* it may write what is copied */
        return simt_is_copied(e, v);
    }
    if (v->op == BORG_LOAD) load(e, v);
    if (v->op == BORG_STORE) store(e, v);
    return true;
}
