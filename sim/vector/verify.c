/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program must keep to beyond its types; which registers are alive where, and how many at
 * once. */
#include "sim/vector/vrptx.h"
#include <string.h>

static bool falls_through(const vr_inst *v) {
    if (v->op == VR_EXIT) return false;
    return !((v->op == VR_BRA || v->op == VR_ALLBRA) && v->guard < 0);
}

/* Call f for each register that is read. */
static int readers(const vr_inst *v, int32_t list[6]) {
    int count = 0;
    if (v->guard >= 0) list[count++] = v->guard;
    if (v->base.kind == VR_REG) list[count++] = v->base.at;
    for (int k = 0; k < 3; ++k)
        if (v->a[k].kind == VR_REG) list[count++] = v->a[k].at;
    return count;
}

/* ---- lives -------------------------------------------------------------------------------------
 *
 * Backwards over the blocks until nothing changes. A write under a guard ends no life; a write
 * while lanes wait elsewhere does: these are at another place, where that value is alive or not,
 * and writes leave their lanes alone. */

typedef struct lives {
    const vr_program *p;
    int32_t words, nblocks;
    int32_t *first; /* instruction of each block; one more: the end */
    int32_t *block; /* of each instruction that begins one, else -1 */
    uint64_t *in;   /* [nblocks][words]: read there or later */
    uint64_t *now;  /* [words] */
    bool guarded;   /* a guarded write ends a life, too */
} lives;

static void find_blocks(lives *k, borg_arena *arena) {
    const vr_program *p = k->p;
    bool *begins = BORG_NEW(arena, p->ninsts + 1, bool);
    for (int32_t i = 0; i < p->nentries; ++i)
        if (p->entries[i].first < p->ninsts) begins[p->entries[i].first] = true;
    for (int32_t i = 0; i < p->ninsts; ++i) {
        if (p->insts[i].target >= 0) begins[p->insts[i].target] = true;
        if (p->insts[i].target >= 0 || p->insts[i].op == VR_EXIT) begins[i + 1] = true;
    }
    k->first = BORG_NEW(arena, p->ninsts + 2, int32_t);
    k->block = BORG_NEW(arena, p->ninsts + 1, int32_t);
    for (int32_t i = 0; i < p->ninsts; ++i) {
        k->block[i] = begins[i] ? k->nblocks : -1;
        if (begins[i]) k->first[k->nblocks++] = i;
    }
    k->first[k->nblocks] = p->ninsts;
}

/* What is alive behind the block, into now. */
static void enter_block(lives *k, int32_t b) {
    const vr_inst *last = &k->p->insts[k->first[b + 1] - 1];
    memset(k->now, 0, (size_t)k->words * sizeof *k->now);
    for (int side = 0; side < 2; ++side) {
        int32_t to = side == 0 ? (falls_through(last) ? b + 1 : -1)
                               : (last->target >= 0 ? k->block[last->target] : -1);
        if (to < 0 || to >= k->nblocks) continue;
        for (int32_t i = 0; i < k->words; ++i) k->now[i] |= k->in[(int64_t)to * k->words + i];
    }
}

static inline bool alive(const lives *k, int32_t r) {
    return k->now[r / 64] >> r % 64 & 1;
}

/* From behind an instruction to before it. */
static void step_back(lives *k, const vr_inst *v) {
    int32_t list[6];
    if (v->dst >= 0 && (v->guard < 0 || k->guarded))
        k->now[v->dst / 64] &= ~((uint64_t)1 << v->dst % 64);
    int count = readers(v, list);
    for (int i = 0; i < count; ++i) k->now[list[i] / 64] |= (uint64_t)1 << list[i] % 64;
}

static lives find_lives(const vr_program *p, borg_arena *arena, bool guarded) {
    lives k = {.p = p, .words = (p->nregisters + 63) / 64, .guarded = guarded};
    bool changed = true;
    find_blocks(&k, arena);
    k.in = BORG_NEW(arena, (int64_t)k.nblocks * k.words + 1, uint64_t);
    k.now = BORG_NEW(arena, k.words + 1, uint64_t);
    while (changed) {
        changed = false;
        for (int32_t b = k.nblocks; b-- > 0;) {
            uint64_t *own = &k.in[(int64_t)b * k.words];
            enter_block(&k, b);
            for (int32_t i = k.first[b + 1]; i-- > k.first[b];) step_back(&k, &p->insts[i]);
            if (memcmp(own, k.now, (size_t)k.words * sizeof *own) == 0) continue;
            memcpy(own, k.now, (size_t)k.words * sizeof *own);
            changed = true;
        }
    }
    return k;
}

/* Registers of each kind in now: [0] of data, [1] predicates. */
static void count_alive(const lives *k, int32_t count[2]) {
    count[0] = count[1] = 0;
    for (int32_t r = 0; r < k->p->nregisters; ++r)
        if (alive(k, r)) ++count[k->p->registers[r].type == VR_PRED];
}

static int32_t greater(int32_t x, int32_t y) {
    return x > y ? x : y;
}

vr_needs vr_registers_needed(const vr_program *p, borg_arena *arena) {
    lives k = find_lives(p, arena, false);
    bool metas[VR_METAS] = {false};
    vr_needs needs = {0};
    for (int32_t b = 0; b < k.nblocks; ++b) {
        int32_t count[2], list[6];
        enter_block(&k, b);
        count_alive(&k, count);
        for (int32_t i = k.first[b + 1]; i-- > k.first[b];) {
            const vr_inst *v = &p->insts[i];
            int32_t most[2] = {count[0], count[1]};
            if (v->dst >= 0 && !alive(&k, v->dst)) /* nobody reads it, but it is written */
                ++most[p->registers[v->dst].type == VR_PRED];
            needs.data = greater(needs.data, most[0]);
            needs.predicates = greater(needs.predicates, most[1]);
            if (v->dst >= 0 && v->guard < 0 && alive(&k, v->dst))
                --count[p->registers[v->dst].type == VR_PRED];
            if (v->dst >= 0 && v->guard < 0) k.now[v->dst / 64] &= ~((uint64_t)1 << v->dst % 64);
            int n = readers(v, list);
            for (int j = 0; j < n; ++j) {
                if (alive(&k, list[j])) continue;
                k.now[list[j] / 64] |= (uint64_t)1 << list[j] % 64;
                ++count[p->registers[list[j]].type == VR_PRED];
            }
            for (int j = 0; j < 3; ++j)
                if (v->a[j].kind == VR_META) metas[v->a[j].at] = true;
        }
        needs.data = greater(needs.data, count[0]);
        needs.predicates = greater(needs.predicates, count[1]);
    }
    needs.metadata = metas[0] + metas[1] + metas[2];
    needs.vector_registers = needs.data + needs.metadata + 1;
    needs.mask_registers = needs.predicates + 1;
    return needs;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void check_branch(const vr_program *p, int32_t i, int32_t end, borg_diags *diags) {
    const vr_inst *v = &p->insts[i];
    if (v->target >= end) {
        borg_report(diags, BORG_ERROR, v->loc, "a branch to behind the last instruction");
        return;
    }
    if (v->op != VR_BRA) return;
    if (p->insts[v->target].op != VR_JOIN)
        borg_report(diags, BORG_ERROR, v->loc,
                    "bra may part lanes: a join must stand at its label (or use allbra)");
    /* lanes that go on wait behind it for those that went back */
    if (v->guard >= 0 && v->target <= i && (i + 1 >= end || p->insts[i + 1].op != VR_JOIN))
        borg_report(diags, BORG_ERROR, v->loc, "a join must stand behind a bra that goes back");
}

/* Is there a way from the start on which the register is read before it was written? */
static void check_written(vr_program *p, borg_diags *diags) {
    lives k = find_lives(p, p->arena, true);
    int32_t list[6];
    memset(k.now, 0, (size_t)k.words * sizeof *k.now);
    for (int32_t e = 0; e < p->nentries; ++e) /* what is alive where a kernel begins */
        for (int32_t i = 0; i < k.words; ++i)
            k.now[i] |= k.in[(int64_t)k.block[p->entries[e].first] * k.words + i];
    for (int32_t i = 0; i < p->ninsts; ++i) {
        int count = readers(&p->insts[i], list);
        for (int j = 0; j < count; ++j) {
            if (!alive(&k, list[j])) continue;
            borg_report(diags, BORG_ERROR, p->insts[i].loc,
                        "'%s' may be read before it was written", p->registers[list[j]].name);
            k.now[list[j] / 64] &= ~((uint64_t)1 << list[j] % 64);
        }
    }
}

bool vr_verify(vr_program *p, borg_diags *diags) {
    for (int32_t e = 0; e < p->nentries; ++e) {
        const vr_entry *entry = &p->entries[e];
        int32_t end = entry[1].first;
        if (end == entry->first) {
            borg_report(diags, BORG_ERROR, entry->loc, "there is no instruction");
            return false;
        }
        const vr_inst *last = &p->insts[end - 1];
        if (falls_through(last))
            borg_report(diags, BORG_ERROR, last->loc,
                        "the kernel goes on behind its last instruction: exit is missing");
        for (int32_t i = entry->first; i < end; ++i)
            if (p->insts[i].target >= 0) check_branch(p, i, end, diags);
    }
    if (!diags->errors) check_written(p, diags);
    return diags->errors == 0;
}
