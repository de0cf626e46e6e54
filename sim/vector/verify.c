/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program must keep to beyond its types; how many registers are alive at once. */
#include "sim/vector/lives.h"
#include <string.h>

/* Registers of each kind in now: [0] of data, [1] predicates. */
static void count_alive(const vr_lives *k, int32_t count[2]) {
    count[0] = count[1] = 0;
    for (int32_t r = 0; r < k->p->nregisters; ++r)
        if (vr_alive(k, r)) ++count[k->p->registers[r].type == VR_PRED];
}

static int32_t greater(int32_t x, int32_t y) {
    return x > y ? x : y;
}

vr_needs vr_registers_needed(const vr_program *p, borg_arena *arena) {
    vr_lives k = vr_find_lives(p, arena, false);
    bool metas[VR_METAS] = {false};
    vr_needs needs = {0};
    for (int32_t b = 0; b < k.nblocks; ++b) {
        int32_t count[2], list[6];
        vr_enter_block(&k, b);
        count_alive(&k, count);
        for (int32_t i = k.first[b + 1]; i-- > k.first[b];) {
            const vr_inst *v = &p->insts[i];
            int32_t most[2] = {count[0], count[1]};
            if (v->dst >= 0 && !vr_alive(&k, v->dst)) /* nobody reads it, but it is written */
                ++most[p->registers[v->dst].type == VR_PRED];
            needs.data = greater(needs.data, most[0]);
            needs.predicates = greater(needs.predicates, most[1]);
            if (v->dst >= 0 && v->guard < 0 && vr_alive(&k, v->dst))
                --count[p->registers[v->dst].type == VR_PRED];
            if (v->dst >= 0 && v->guard < 0) k.now[v->dst / 64] &= ~((uint64_t)1 << v->dst % 64);
            int n = vr_readers(v, list);
            for (int j = 0; j < n; ++j) {
                if (vr_alive(&k, list[j])) continue;
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
    vr_lives k = vr_find_lives(p, p->arena, true);
    int32_t list[6];
    memset(k.now, 0, (size_t)k.words * sizeof *k.now);
    for (int32_t e = 0; e < p->nentries; ++e) /* what is alive where a kernel begins */
        for (int32_t i = 0; i < k.words; ++i)
            k.now[i] |= k.in[(int64_t)k.block[p->entries[e].first] * k.words + i];
    for (int32_t i = 0; i < p->ninsts; ++i) {
        int count = vr_readers(&p->insts[i], list);
        for (int j = 0; j < count; ++j) {
            if (!vr_alive(&k, list[j])) continue;
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
        if (vr_falls_through(last))
            borg_report(diags, BORG_ERROR, last->loc,
                        "the kernel goes on behind its last instruction: exit is missing");
        for (int32_t i = entry->first; i < end; ++i)
            if (p->insts[i].target >= 0) check_branch(p, i, end, diags);
    }
    if (!diags->errors) check_written(p, diags);
    return diags->errors == 0;
}
