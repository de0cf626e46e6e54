/* SPDX-License-Identifier: BSD-3-Clause */
/* Lives, backwards over the blocks until nothing changes. */
#include "sim/vector/lives.h"
#include <string.h>

bool vr_falls_through(const vr_inst *v) {
    if (v->op == VR_EXIT) return false;
    return !((v->op == VR_BRA || v->op == VR_ALLBRA) && v->guard < 0);
}

int vr_readers(const vr_inst *v, int32_t list[6]) {
    int count = 0;
    if (v->guard >= 0) list[count++] = v->guard;
    if (v->base.kind == VR_REG) list[count++] = v->base.at;
    for (int k = 0; k < 3; ++k)
        if (v->a[k].kind == VR_REG) list[count++] = v->a[k].at;
    return count;
}

static void find_blocks(vr_lives *k, borg_arena *arena) {
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
void vr_enter_block(vr_lives *k, int32_t b) {
    const vr_inst *last = &k->p->insts[k->first[b + 1] - 1];
    memset(k->now, 0, (size_t)k->words * sizeof *k->now);
    for (int side = 0; side < 2; ++side) {
        int32_t to = side == 0 ? (vr_falls_through(last) ? b + 1 : -1)
                               : (last->target >= 0 ? k->block[last->target] : -1);
        if (to < 0 || to >= k->nblocks) continue;
        for (int32_t i = 0; i < k->words; ++i) k->now[i] |= k->in[(int64_t)to * k->words + i];
    }
}

/* From behind an instruction to before it. */
void vr_step_back(vr_lives *k, const vr_inst *v) {
    int32_t list[6];
    if (v->dst >= 0 && (v->guard < 0 || k->guarded))
        k->now[v->dst / 64] &= ~((uint64_t)1 << v->dst % 64);
    int count = vr_readers(v, list);
    for (int i = 0; i < count; ++i) k->now[list[i] / 64] |= (uint64_t)1 << list[i] % 64;
}

vr_lives vr_find_lives(const vr_program *p, borg_arena *arena, bool guarded) {
    vr_lives k = {.p = p, .words = (p->nregisters + 63) / 64, .guarded = guarded};
    bool changed = true;
    find_blocks(&k, arena);
    k.in = BORG_NEW(arena, (int64_t)k.nblocks * k.words + 1, uint64_t);
    k.now = BORG_NEW(arena, k.words + 1, uint64_t);
    while (changed) {
        changed = false;
        for (int32_t b = k.nblocks; b-- > 0;) {
            uint64_t *own = &k.in[(int64_t)b * k.words];
            vr_enter_block(&k, b);
            for (int32_t i = k.first[b + 1]; i-- > k.first[b];) vr_step_back(&k, &p->insts[i]);
            if (memcmp(own, k.now, (size_t)k.words * sizeof *own) == 0) continue;
            memcpy(own, k.now, (size_t)k.words * sizeof *own);
            changed = true;
        }
    }
    return k;
}
