/* SPDX-License-Identifier: BSD-3-Clause */
/* A program as a machine can hold it. */
#include "sim/vector/sweep.h"

bool vs_fit(const vs_source *source, const vr_program **program, const vs_machine *m,
            int32_t *masks, vr_spills *spills, borg_diags *diags) {
    const vr_needs needs = vr_registers_needed(*program, diags->arena);
    *spills = (vr_spills){0};
    if (*masks == 0) { /* as many as there are for one slot */
        const vs_case *k = source->make(source, *program, NULL, diags);
        int32_t most = 1;
        if (!k) return false;
        for (int32_t i = 0; i < k->nwarps; ++i)
            if (k->warps[i].ntids > most) most = k->warps[i].ntids;
        const int32_t strips = (most + m->lanes - 1) / m->lanes;
        if ((int64_t)needs.mask_registers * strips <= m->mask_registers) return true;
        *masks = m->mask_registers / strips;
        if (*masks < 2) return true; /* what is lacking is told with the slots */
    }
    const borg_text told = diags->source;
    diags->source = (*program)->source;
    const vr_program *fitted = vr_spill(*program, *masks, spills, diags);
    if (!fitted) return false;
    diags->source = told;
    *program = fitted;
    return true;
}
