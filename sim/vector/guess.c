/* SPDX-License-Identifier: BSD-3-Clause */
/* A run whose branches on data are decided by lot. */
#include "sim/vector/engine.h"
#include "sim/vector/pack.h"

bool vs_draw(vs_guess *guess) {
    return vs_random(&guess->state) >> 63;
}

bool vs_from_memory(const vr_inst *v, const bool *unknown) {
    bool from = (v->op == VR_LD && v->how != VR_CONST) || (v->guard >= 0 && unknown[v->guard]);
    for (int k = 0; k < 3; ++k) from = from || (v->a[k].kind == VR_REG && unknown[v->a[k].at]);
    return from;
}

void vs_note(vs_guess *guess, const vr_inst *v, bool all) {
    if (v->dst < 0) return;
    guess->unknown[v->dst] = vs_from_memory(v, guess->unknown) || (!all && guess->unknown[v->dst]);
}
